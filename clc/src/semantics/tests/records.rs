//! `struct`, `union`, `enum`.

use super::{check, expect, expect_tree, options};
use crate::options::Version::{V1_2, V2_0, V3_0};

#[test]
fn layout_obeys_attributes_and_pragmas() {
    expect(
        V2_0,
        r#"
        struct m { int q; } __attribute__((aligned(16)));
        struct a { int x; union { int y; float z; }; struct { int w; }; };
        struct n { char c; float3 v; char d; };
        union o { char c[5]; int i; };
        struct q { char c; int i __attribute__((packed)); };
        struct r { char c; int i __attribute__((aligned(8))); };
        #pragma pack(push, 2)
        struct s { char c; int i; double d; };
        #pragma pack(pop)
        struct __attribute__((packed, aligned(4))) u { char c; int i; };
        typedef struct { char a; double b; } __attribute__((packed)) v;
        struct g { int n; int a[]; };
        typedef struct { char a; } w __attribute__((aligned(8)));
        struct x { char c; w ww; };
        typedef int loose __attribute__((aligned(1)));
        typedef int tight __attribute__((aligned(8)));
        struct la { char c; loose x[2]; };
        struct tp { char c; tight x; } __attribute__((packed));
        struct tf { char c; tight x __attribute__((aligned(2))); };
        int one(loose *p); int one(int *p);
        _Static_assert(_Alignof(loose) == 1 && sizeof(struct la) == 9, "");
        _Static_assert(sizeof(struct tp) == 5 && sizeof(struct tf) == 16, "");
        _Static_assert(sizeof(struct m) == 16, "");
        _Static_assert(sizeof(struct a) == 12, "");
        _Static_assert(sizeof(struct n) == 48 && __builtin_offsetof(struct n, v) == 16, "");
        _Static_assert(sizeof(union o) == 8, "");
        _Static_assert(sizeof(struct q) == 5, "");
        _Static_assert(sizeof(struct r) == 16, "");
        _Static_assert(sizeof(struct s) == 14, "");
        _Static_assert(sizeof(struct u) == 8, "");
        _Static_assert(sizeof(v) == 9, "");
        _Static_assert(sizeof(struct g) == 4, "");
        _Static_assert(sizeof(struct x) == 16, "");
        _Static_assert(sizeof(struct { char c; half h; long l; int3 i; }) == 32, "");"#,
        "",
    );
}

#[test]
fn members_have_distinct_names_and_complete_types() {
    expect(
        V2_0,
        "struct a { int a; int a; };
         struct b { int x; struct { int x; }; };
         struct c { int; };
         struct f { int a[]; int b; };
         struct h { struct h s; };
         struct i { struct i *s; int f(void); };
         struct j { global int x; constant int *y; };
         struct k { void v; };
         struct l { int x : 3; };
         struct o { image2d_t i; sampler_t s; event_t e; };
         struct q { float kernel; int a; };
         struct r { kernel float a; };",
        "1: error: duplicate member 'a'
         2: error: member of anonymous struct redeclares 'x'
         3: warning: declaration does not declare anything
         4: error: flexible array member 'a' with type 'int[]' is not at the end of struct
         5: error: field has incomplete type 'struct h'
         6: error: field 'f' declared as a function
         7: error: field may not be qualified with an address space
         8: error: field has incomplete type 'void'
         9: error: bit-fields are not supported in OpenCL
         10: error: the '__read_only image2d_t' type cannot be used to declare a structure or union field
         10: error: the 'sampler_t' type cannot be used to declare a structure or union field
         10: error: the 'event_t' type cannot be used to declare a structure or union field
         11: warning: declaration does not declare anything
         12: error: '__kernel' can only appear on functions",
    );
}

#[test]
fn tags_have_scopes() {
    expect(
        V2_0,
        "struct s { int a; };
         struct s { int b; };
         union s x;
         void f(void) { struct s { float f; }; struct s y; y.f = 1.0f; }
         void g(void) { struct s y; y.a = 1; struct s; struct s *p; p->a; }",
        "2: error: redefinition of 's'
         3: error: use of 's' with tag type that does not match previous declaration
         5: error: incomplete definition of type 'struct s'",
    );
}

#[test]
fn enumerations_choose_their_type() {
    expect(
        V1_2,
        r#"
        enum e1 { A, B = 5, C };
        enum e2 { D = -1, E };
        enum e3 { F = 0x80000000, G };
        enum e4 { H = 0x7fffffffffffffffL };
        enum e5 { I = 1.5 };
        enum e6 { A };
        _Static_assert(C == 6 && E == 0, "");
        _Static_assert((enum e1)-1 > 0, "unsigned");
        _Static_assert((enum e2)-1 < 0, "signed");
        _Static_assert(sizeof(enum e3) == 4 && sizeof(enum e4) == 8, "");
        _Static_assert(G == 0x80000001, "");"#,
        "6: error: integer constant expression must have integer type, not 'double'
         7: error: redefinition of enumerator 'A'",
    );
    expect_tree(V1_2, "enum e { A = 3 }; constant enum e x = A;", "(global @x constant enum.e 3)");
}

#[test]
fn types_of_too_many_parts() {
    let chain = |first: &str, next: &dyn Fn(usize) -> String| {
        (1..3000).fold(first.to_owned(), |text, level| text + &next(level))
    };
    let (_, found) = check(&chain("typedef int *A0;", &|n| format!("typedef A{} *A{n};", n - 1)), &options(V3_0));
    assert_eq!(found[0], "1: error: type exceeds the maximum of 1024 parts");
    let arrays = chain("typedef int A0[1];", &|n| format!("typedef A{} A{n}[1];", n - 1));
    let (_, found) = check(&arrays, &options(V3_0));
    assert_eq!(found[0], "1: error: type exceeds the maximum of 1024 parts");
    let addresses = chain("void f(int *a0) {", &|n| format!("__auto_type a{n} = &a{};", n - 1)) + "}";
    let (_, found) = check(&addresses, &options(V3_0));
    assert_eq!(found[0], "1: error: type exceeds the maximum of 1024 parts");
    let records = chain("struct A0 { int x; };", &|n| format!("struct A{n} {{ struct A{} x; }};", n - 1));
    let (_, found) = check(&records, &options(V3_0));
    assert!(found.contains(&"1: error: structures are nested more than 1024 deep".to_owned()), "{found:?}");
}
