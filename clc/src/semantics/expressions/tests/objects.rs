//! Pipes, queues, atomic objects, blocks.

use super::check;
use crate::options::Version;

#[test]
fn enqueue() {
    check(
        Version::V2_0,
        r#"
kernel void f(global int *o, queue_t q, int i) {
  ndrange_t n = ndrange_1D(1);
  clk_event_t e;
  enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, n, ^{ o[0] = 1; });
  enqueue_kernel(q, 0, n, 1, &e, &e, ^{ o[0] = 1; });
  enqueue_kernel(q, 0, n, 0, 0, 0, ^{ o[0] = 1; });
  enqueue_kernel(q, 0, n, ^(local void *a) { o[0] = 1; }, 4);
  enqueue_kernel(q, 0, n, ^(local void *a, local void *b) { o[0] = 1; }, 4); // error: mismatch in number of block parameters and local size arguments passed
  enqueue_kernel(q, 0, n, ^(local int *a) { o[0] = 1; }, 4);
  enqueue_kernel(q, 0, n, ^(global int *a) { o[0] = 1; }, 4); // error: blocks used in enqueue_kernel call are expected to have parameters of type 'local void*'
  enqueue_kernel(q, 0, n, ^{ o[0] = 1; }, 4); // error: mismatch in number of block parameters and local size arguments passed
  enqueue_kernel(q, 0, n, 1, &i, &e, ^{ o[0] = 1; }); // error: illegal call to 'enqueue_kernel', expected 'clk_event_t *' argument type
  enqueue_kernel(q, 1.0f, n, ^{ o[0] = 1; }); // error: illegal call to 'enqueue_kernel', expected 'kernel_enqueue_flags_t' (i.e. uint) argument type
  enqueue_kernel(i, 0, n, ^{ o[0] = 1; }); // error: illegal call to 'enqueue_kernel', expected 'queue_t' argument type
  enqueue_kernel(q, 0, i, ^{ o[0] = 1; }); // error: illegal call to 'enqueue_kernel', expected 'ndrange_t' argument type
  enqueue_kernel(q, 0, n, i); // error: illegal call to 'enqueue_kernel', expected block argument type
  enqueue_kernel(q, 0, n); // error: too few arguments to function call, expected at least 4, have 3
  enqueue_kernel(q, 0, n, ^(local void *a) { o[0] = 1; }, 4.0f); // error: illegal call to enqueue_kernel, parameter needs to be specified as integer type
  i = get_kernel_work_group_size(^{ o[0] = 1; });
  i = get_kernel_work_group_size(i); // error: illegal call to 'get_kernel_work_group_size', expected block argument type
  i = e == e; // warning: self-comparison always evaluates to true
}
"#,
    );
}

#[test]
fn pipes() {
    check(
        Version::V2_0,
        r#"
kernel void f(read_only pipe int p, write_only pipe int q, global int *o, int x, float y) {
  reserve_id_t r = reserve_read_pipe(p, 2);
  read_pipe(p, &x);
  read_pipe(p, o);
  read_pipe(p, &y); // error: invalid argument type to function 'read_pipe' (expecting 'int *' having '__private float *')
  read_pipe(q, &x); // error: invalid pipe access modifier (expecting read_only)
  write_pipe(q, &x);
  write_pipe(p, &x); // error: invalid pipe access modifier (expecting write_only)
  read_pipe(p); // error: invalid number of arguments to function: 'read_pipe'
  read_pipe(p, r, 0, &x);
  read_pipe(p, x, 0, &x); // error: invalid argument type to function 'read_pipe' (expecting 'reserve_id_t' having 'int')
  read_pipe(x, &x); // error: first argument to 'read_pipe' must be a pipe type
  r = reserve_read_pipe(p, y); // error: invalid argument type to function 'reserve_read_pipe' (expecting 'unsigned int' having 'float')
  commit_read_pipe(p, r);
  x = get_pipe_num_packets(p) + is_valid_reserve_id(r);
  r == r; // warning: self-comparison always evaluates to true | error: invalid operands to binary expression ('reserve_id_t' and 'reserve_id_t')
}
"#,
    );
}

#[test]
fn atomics() {
    check(
        Version::V2_0,
        r#"
global atomic_int ga;
void f(global int *g, int i, constant int *c) {
  atomic_fetch_add(&ga, 1);
  i = atomic_load_explicit(&ga, memory_order_relaxed, memory_scope_device);
  ga = 1; // error: atomic variable can be assigned to a variable only in global address space
  i = ga; // error: invalid operands to binary expression ('int' and '__global _Atomic(int)')
  ga += 1; // error: invalid operands to binary expression ('__global _Atomic(int)' and 'int')
  ga++; // error: invalid argument type '__global _Atomic(int)' to unary expression
  i = ga == 1; // error: invalid operands to binary expression ('__global _Atomic(int)' and 'int')
  global int *t = to_global(g);
  local int *l = to_global(g); // error: initializing '__local int *' with an expression of type '__global int *' changes address space of pointer
  to_local(c); // error: invalid argument '__constant int *' to function: 'to_local', expecting a generic pointer argument
  to_private(i); // error: invalid argument 'int' to function: 'to_private', expecting a generic pointer argument
}
"#,
    );
}

#[test]
fn blocks() {
    check(
        Version::V2_0,
        r#"
void f(int i, float4 v) {
  int (^b)(int) = ^(int a) { return a + i; };
  i = b(1);
  i = b(); // error: too few arguments to block call, expected 1, have 0
  i = b(1, 2); // error: too many arguments to block call, expected 1, have 2
  i = b(v); // error: passing 'float4' to parameter of incompatible type 'int'
  b = 0; // error: invalid operands to binary expression ('int (^)(int)' and 'int')
  i = i ? b : b; // error: block type cannot be used as expression in ternary expression in OpenCL
  void (^c)(void) = ^{ i = 2; }; // error: variable is not assignable (missing __block type specifier)
  void (^d)(void) = ^{ &i; }; // error: taking address of a capture is not allowed
}
"#,
    );
}

/// In versions without atomic types, programs that enable the extension count on what it adds to.
#[test]
fn atomics_of_float_atomics_in_earlier_versions() {
    const SOURCE: &str = r#"
inline float add(volatile global float *p, float v) {
  return atomic_fetch_add_explicit((volatile global atomic_float *)p, v, memory_order_relaxed, memory_scope_device);
}
float extreme(volatile local atomic_float *p, memory_order order) {
  atomic_store(p, 0.0f);
  return atomic_fetch_max_explicit(p, 1.0f, order, memory_scope_work_group);
}
kernel void k(global float *a, global int *n, global atomic_int *m) {
  local atomic_float x;
  a[0] = add(a, 1.0f) + extreme(&x, memory_order_relaxed);
  atomic_add(n, 1);
  int old = 0;
  atomic_compare_exchange_strong_explicit(m, &old, 1, memory_order_relaxed, memory_order_relaxed, memory_scope_device);
}
"#;
    for version in [Version::V1_0, Version::V1_1, Version::V1_2, Version::V2_0, Version::V3_0] {
        check(version, &format!("#pragma OPENCL EXTENSION cl_ext_float_atomics : enable\n{SOURCE}"));
    }
    check(
        Version::V1_2,
        "void f(global int *p) { memory_order_relaxed; } // error: use of undeclared identifier 'memory_order_relaxed'",
    );
    // The names are free for the program all the same.
    check(
        Version::V1_2,
        r#"
#pragma OPENCL EXTENSION cl_ext_float_atomics : enable
#define memory_order_relaxed 0
typedef volatile global float *atomic_float;
float atomic_fetch_add(atomic_float p, float v) { return *p + v; }
kernel void k(global float *a) { a[0] = atomic_fetch_add(a, memory_order_relaxed); }
"#,
    );
}
