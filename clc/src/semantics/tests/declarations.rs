//! Objects and their address spaces.

use super::{expect, expect_tree};
use crate::options::Version::{V1_2, V2_0, V3_0};

#[test]
fn objects_at_file_scope_lie_where_the_version_says() {
    let source = "
        __constant int a;
        int b = 3;
        static int c;
        extern int d;
        __constant int e = 5;
        const sampler_t s0 = 0;
        sampler_t s1 = 0;
        __local int li;
        __private int pi;";
    expect(
        V1_2,
        source,
        "2: error: variable in constant address space must be initialized
         3: error: program scope variable must reside in constant address space
         4: error: program scope variable must reside in constant address space
         5: error: extern variable must reside in constant address space
         8: error: global sampler requires a const or constant address space qualifier
         9: error: program scope variable must reside in constant address space
         10: error: program scope variable must reside in constant address space",
    );
    let later = "2: error: variable in constant address space must be initialized
         8: error: global sampler requires a const or constant address space qualifier
         9: error: program scope variable must reside in global or constant address space
         10: error: program scope variable must reside in global or constant address space";
    expect(V2_0, source, later);
    expect(V3_0, source, later);
    expect_tree(
        V2_0,
        "int a; static int b = 2; constant int c = 3; extern int d; const sampler_t s = 5; int t[]; int t[3];",
        "(global @a global int)
         (internal global @b global int 2)
         (global @c constant int 3)
         (extern global @d global int)
         (global @s const constant sampler 5)
         (global @t global [3]int)",
    );
}

#[test]
fn objects_of_functions_lie_where_the_version_says() {
    let source = "void f(void) {
        __constant int k = 3;
        __local int z;
        static int s;
        __global int g;
        { __local int q; }
        __generic int gg;
        }
        kernel void kk(void) {
        __constant int k = 3;
        __constant int nok;
        __local int z = 3;
        { __local int q; __constant int kk = 3; }
        for (int i = 0; i < 2; ++i) { __local int q; }
        }";
    expect(
        V2_0,
        source,
        "2: error: non-kernel function variable cannot be declared in constant address space
         3: error: non-kernel function variable cannot be declared in local address space
         5: error: function scope variable cannot be declared in global address space
         6: error: non-kernel function variable cannot be declared in local address space
         7: error: automatic variable qualified with an invalid address space
         11: error: variable in constant address space must be initialized
         12: error: '__local' variable cannot have an initializer
         13: warning: variables in the local address space can only be declared in the outermost scope of a kernel function
         13: warning: variables in the constant address space can only be declared in the outermost scope of a kernel function
         14: warning: variables in the local address space can only be declared in the outermost scope of a kernel function",
    );
    expect(
        V1_2,
        "void f(void) { static int s; static constant int t = 1; }",
        "1: error: variables in function scope cannot be declared static
         1: error: variables in function scope cannot be declared static",
    );
    expect_tree(
        V2_0,
        "kernel void k(void) { local int l[4]; static int s = 2; constant int c = 3; int p = 1; }",
        "(internal global @k.l local [4]int)
         (internal global @k.s global int 2)
         (internal global @k.c constant int 3)
         (declare %p int)",
    );
}

#[test]
fn pointers_point_to_private_or_generic_objects() {
    expect_tree(V1_2, "void f(int *p) {}", "(function @f void ((%p *int)))");
    expect_tree(V2_0, "void f(int *p, int a[3]) {}", "(function @f void ((%p *generic int) (%a *int)))");
    expect_tree(
        V3_0,
        "typedef global int gi; typedef int i; void f(gi *p, i *q, constant char *const restrict r) {}",
        "(function @f void ((%p *global int) (%q *generic int) (%r const restrict *constant char)))",
    );
    expect(
        V1_2,
        "void f(generic int *p);",
        "1: error: OpenCL C version 1.2 does not support the '__generic' type qualifier",
    );
}

#[test]
fn a_name_has_one_meaning_in_a_scope() {
    expect(
        V2_0,
        "int A; float A;
         typedef int T; typedef float T;
         typedef int T;
         void T(void);
         void g(void) { int x; float x; typedef int T; T T; enum { Q }; int Q; }
         void h(int a) { int a; { int a; } }
         global int v = 1; global int v = 2;
         static int s; int s;",
        "1: error: redefinition of 'A' with a different type: '__global float' vs '__global int'
         2: error: typedef redefinition with different types ('float' vs 'int')
         3: warning: redefinition of typedef 'T' is a C11 feature
         4: error: redefinition of 'T' as different kind of symbol
         5: error: redefinition of 'x'
         5: error: redefinition of 'T' as different kind of symbol
         5: error: redefinition of 'Q' as different kind of symbol
         6: error: redefinition of 'a'
         7: error: redefinition of 'v'
         8: error: non-static declaration of 's' follows static declaration",
    );
}

#[test]
fn objects_need_complete_types() {
    expect(
        V2_0,
        "struct inc; struct inc g;
         void f(void) { struct inc x; struct inc *p; int a[]; int b[-1]; void v; int c[1.5]; struct inc d[2]; }
         int tentative[];
         void vl(int n) { const int two = 2; int fine[two]; int vla[n]; }
         void h(void) { half fine; int e[0]; }",
        "1: error: tentative definition has type '__global struct inc' that is never completed
         2: error: variable has incomplete type 'struct inc'
         2: error: definition of variable with array type needs an explicit size or an initializer
         2: error: 'b' declared as an array with a negative size
         2: error: variable has incomplete type 'void'
         2: error: size of array has non-integer type 'double'
         2: error: array has incomplete element type 'struct inc'
         3: warning: tentative array definition assumed to have one element
         4: error: variable length arrays are not supported in OpenCL",
    );
}

#[test]
fn opaque_types_have_their_places() {
    expect(
        V2_0,
        "image2d_t im;
         void f(void) { image2d_t i; sampler_t t = 3; event_t e; queue_t q; }
         image2d_t g(void);
         void p(image2d_t *i, sampler_t *s, event_t *e);
         void ar(image2d_t i[2], sampler_t s[2]);
         void acc(read_only int i, global write_only float4 *p, read_only global int *q, __read_write float *r);
         void pi(read_write pipe int r);
         event_t ev;",
        "1: error: type '__global __read_only image2d_t' can only be used as a function parameter in OpenCL
         2: error: type '__private __read_only image2d_t' can only be used as a function parameter in OpenCL
         3: error: declaring function return value of type '__read_only image2d_t' is not allowed
         4: error: pointer to type '__read_only image2d_t' is invalid in OpenCL
         4: error: pointer to type 'sampler_t' is invalid in OpenCL
         5: error: array of '__read_only image2d_t' type is invalid in OpenCL
         5: error: array of 'sampler_t' type is invalid in OpenCL
         6: warning: 'read_only' ignored: only images and pipes have an access qualifier
         6: warning: 'write_only' ignored: only images and pipes have an access qualifier
         6: warning: 'read_only' ignored: only images and pipes have an access qualifier
         6: warning: 'read_write' ignored: only images and pipes have an access qualifier
         7: error: access qualifier 'read_write' cannot be used for 'read_write pipe int'
         8: error: the '__global event_t' type cannot be used to declare a program scope variable",
    );
    expect(
        V1_2,
        "void f(read_write image2d_t i);",
        "1: error: access qualifier 'read_write' cannot be used for '__read_write image2d_t' prior to OpenCL C version 2.0 or in version 3.0 and without __opencl_c_read_write_images feature",
    );
}

#[test]
fn specifiers_combine() {
    expect_tree(
        V2_0,
        "unsigned long int a; long unsigned b; short c; unsigned d; signed char e; long long f; double g; unsigned short int h;",
        "(global @a global ulong)
         (global @b global ulong)
         (global @c global short)
         (global @d global uint)
         (global @e global char)
         (global @f global long)
         (global @g global double)
         (global @h global ushort)",
    );
    expect(
        V2_0,
        "unsigned char signed a;
         short long b;
         unsigned float c;
         static d;
         restrict int e;
         typedef static int f;
         auto int g;",
        "1: error: cannot combine with previous 'unsigned' declaration specifier
         2: error: cannot combine with previous 'short' declaration specifier
         3: error: 'unsigned float' is invalid
         4: error: type specifier missing, defaults to 'int'; ISO C99 and later do not support implicit int
         5: error: restrict requires a pointer or reference ('int' is invalid)
         6: error: cannot combine with previous 'typedef' declaration specifier
         7: error: OpenCL C version 2.0 does not support the 'auto' storage class specifier",
    );
}

#[test]
fn typeof_and_auto_take_the_type_of_an_expression() {
    expect_tree(
        V2_0,
        "void f(float4 v, global int *p) { typeof(v) a = v; __auto_type b = v.x; __typeof__(*p) c = 1; typeof(int[3]) d; }",
        "(declare %a float4)
         (declare %b float)
         (declare %c int)
         (declare %d [3]int)",
    );
}

#[test]
fn predeclared_constants_are_there_from_2_0() {
    expect_tree(
        V2_0,
        "constant int a = memory_order_seq_cst; constant int b = memory_scope_work_group;",
        "(global @a constant int 5)
         (global @b constant int 1)",
    );
    expect(
        V1_2,
        "constant int a = memory_order_seq_cst;",
        "1: error: use of undeclared identifier 'memory_order_seq_cst'",
    );
}

#[test]
fn an_attribute_names_an_address_space_by_its_number() {
    let declarations = "
        #define SPACE(n) __attribute__((address_space(n)))
        SPACE(2) int table[1] = {3};
        kernel void k(SPACE(1) int *p, SPACE(3) int *q, global SPACE(1) int *same) {
            SPACE(1) int *moved = p + 1;
            int SPACE(3) *other = q;
            global int *plain = moved;
            plain = same;
            local int *of_group = other;
            global int *wrong = q;
            SPACE(1) local int *both;
            SPACE(9) int *unknown;
            *moved = *of_group + table[0] + *(SPACE(1) int *)p + sizeof(SPACE(3) int);
        }";
    expect(
        V3_0,
        declarations,
        "10: error: initializing '__global int *' with an expression of type '__local int *' changes address space of pointer
         11: error: multiple address spaces specified for type
         12: error: the device has the address spaces 0 to 4 only",
    );
}
