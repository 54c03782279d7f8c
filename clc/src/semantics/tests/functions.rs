//! Functions, overloads, calls, blocks.

use super::{check, expect, expect_tree, options, tree};
use crate::options::Version::{V1_2, V2_0};

#[test]
fn declarations_agree() {
    expect(
        V1_2,
        "int fun(int a); float fun(int a);
         int one(int a) { return 1; } int one(int a) { return 1; }
         int two(int a); int two(float a);
         static int three(int); int three(int a) { return a; }
         int four(int); static int four(int a) { return a; }
         int five(); int five(int a) { return a; }
         int six(const int a); int six(int a) { return a; }
         int var; int var(void);
         void p(int a, float a);
         int main(void) { return 0; }
         int va(int a, ...);",
        "1: error: conflicting types for 'fun'
         2: error: redefinition of 'one'
         3: error: conflicting types for 'two'
         5: error: static declaration of 'four' follows non-static declaration
         6: error: conflicting types for 'five'
         8: error: program scope variable must reside in constant address space
                  8: error: redefinition of 'var' as different kind of symbol
         9: error: redefinition of parameter 'a'
         10: error: function cannot be called 'main'
         11: error: invalid prototype, variadic arguments are not allowed in OpenCL",
    );
}

#[test]
fn types_of_functions() {
    expect(
        V2_0,
        "typedef int (*fp)(int);
         int arr(void)[3];
         int fn(void)(void);
         int fa[2](void);
         void args2(void x);
         void args3(static int x);
         global int res(void);",
        "1: error: pointers to functions are not allowed
         2: error: function cannot return array type 'int[3]'
         3: error: function cannot return function type 'int (void)'
         4: error: 'fa' declared as array of functions of type 'int (void)'
         5: error: argument may not have 'void' type
         6: error: invalid storage class specifier in function declarator
         7: error: return type cannot be qualified with address space",
    );
}

#[test]
fn linkage_follows_storage() {
    expect_tree(
        V1_2,
        "int a(void) { return 1; } static int b(void) { return 1; } inline int c(void) { return 1; }
         static inline int d(void) { return 1; } extern inline int e(void) { return 1; }",
        "(function @a int ()
         (internal function @b int ()
         (linkonce function @c int ()
         (internal function @d int ()
         (function @e int ()",
    );
}

#[test]
fn overloads_are_mangled() {
    expect_tree(
        V2_0,
        "struct s { int a; };
         void __attribute__((overloadable)) f(void) {}
         void __attribute__((overloadable)) f(int a, uint4 b, uint4 c) {}
         void __attribute__((overloadable)) f(global const float *a, global const float *b, local char *c) {}
         void __attribute__((overloadable)) f(struct s a, constant struct s *b, int *c, double d, half e) {}
         void __attribute__((overloadable)) f(image2d_t a, sampler_t b, write_only image2d_array_t c, event_t d) {}",
        "(function @_Z1fv void ())
         (function @_Z1fiDv4_jS_ void ((%a int) (%b uint4) (%c uint4)))
         (function @_Z1fPU3AS1KfS0_PU3AS3c void ((%a *const global float) (%b *const global float) (%c *local char)))
         (function @_Z1f1sPU3AS2S_PU3AS4idDh void ((%a struct.s) (%b *constant struct.s) (%c *generic int) (%d double) (%e half)))
         (function @_Z1f14ocl_image2d_ro11ocl_sampler20ocl_image2d_array_wo9ocl_event void ((%a image2d_t.ro) (%b sampler) (%c image2d_array_t.wo) (%d event)))",
    );
    expect(
        V1_2,
        "__attribute__((overloadable)) float ov(float); float ov(float);",
        "1: error: redeclaration of 'ov' must have the 'overloadable' attribute",
    );
}

#[test]
fn recursion_and_missing_definitions_have_a_line() {
    expect(
        V1_2,
        "int b(int n);
         int a(int n) { return n ? b(n - 1) : 0; }
         int b(int n) { return a(n); }
         int unused(int n) { return unused(n); }
         kernel void k(global int *p) { *p = a(*p); }",
        "3: error: recursive call of 'a': OpenCL C has no recursion",
    );
    let source = "int lib(int n); static int none(int n);
         int twice(int n) { return lib(lib(n)); }
         kernel void k(global int *p) { *p = twice(*p); }";
    expect(V1_2, source, "2: error: undefined reference to 'lib'");
    let mut library = options(V1_2);
    library.whole_program = false;
    assert_eq!(check(source, &library).1, Vec::<String>::new());
    let recursive = check("int r(int n) { return r(n); }", &library).1;
    assert_eq!(recursive, ["1: error: recursive call of 'r': OpenCL C has no recursion"]);
}

#[test]
fn an_enqueued_block_may_call_the_function_that_enqueues_it() {
    let source = "void f(int n) {
            enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ f(n - 1); g(n); });
         }
         kernel void k(void) { f(3); }";
    let definition = "void g(int n); ";
    expect(V2_0, &format!("{definition}{source}"), "2: error: undefined reference to 'g'");
    expect(V2_0, &format!("void g(int n) {{}} {source}"), "");
}

#[test]
fn a_declared_builtin_is_the_builtin() {
    let text = tree(V1_2, "int printf(constant char *f, ...); float sin(float x); kernel void k(float a) { sin(a); }");
    assert!(text.contains("builtin float"), "{text}");
    let text = tree(V1_2, "float sin(float x); kernel void k(float a) { sin(a); } float sin(float x) { return x; }");
    assert!(text.contains("(call @sin"), "{text}");
}

#[test]
fn blocks_capture_by_value() {
    expect_tree(
        V2_0,
        "void f(int n, float x) { int (^b)(int) = ^(int a) { return a + n; }; b(3); void (^c)(void) = ^{ float y = x; }; }",
        "(init %b (block-literal @__f_block_invoke_1 (load %n)))
         (internal function @__f_block_invoke_1 int ((%0 *generic struct.0) (%a int))
         (return (add (load %a) (load (field 3 (deref (load %0)))))))",
    );
    expect(
        V2_0,
        "void f(void) { int a[3]; int n = 0; void (^b)(void) = ^{ a[0] = 1; }; void (^c)(void) = ^{ n = 1; }; }",
        "1: error: read-only variable is not assignable
         1: error: variable is not assignable (missing __block type specifier)",
    );
    expect(
        V1_2,
        "void f(void) { ^{ }; }",
        "1: error: blocks support disabled - compile with -fblocks or for OpenCL C 2.0 or OpenCL C 3.0 with __opencl_c_device_enqueue feature",
    );
}

#[test]
fn calls_that_do_not_take_place() {
    let source = "
        int declared(int);
        int own(void) { return sizeof(own()) + _Generic(own(), int: 1); }
        kernel void k(global int *p) {
            typeof(declared(1)) x = _Alignof(declared(2));
            *p = sizeof(declared(3)) + vec_step(declared(4)) + _Generic(declared(5), int: x) + own();
        }
    ";
    expect(V2_0, source, "");
}
