//! Rules for kernels, and what the host can ask about them.

use super::{expect, expect_tree};
use crate::options::Version::{V1_2, V2_0};

#[test]
fn parameters_are_what_the_host_can_pass() {
    let source = "kernel void k0(int *p) {}
        kernel void k1(private int *q) {}
        kernel void k2(global int * global *pp) {}
        kernel void k3(bool b) {}
        kernel void k5(size_t s) {}
        kernel void k6(event_t e) {}
        struct q { global int *p; };
        kernel void k7(struct q qs) {}
        kernel void k8(int a[]) {}
        kernel void k9(local int *l, constant int *c, sampler_t s, read_only image2d_t i, float4 v, int a) {}
        struct qb { bool b; };
        kernel void k12(struct qb b) {}
        typedef size_t mine; typedef uint other;
        kernel void k16(mine p, other o) {}
        kernel void k18(float (*a)[4]) {}
        kernel int k19(void) { return 0; }
        static kernel void k20(void) {}";
    let first = "1: error: pointer arguments to kernel functions must reside in '__global', '__constant' or '__local' address space
         2: error: pointer arguments to kernel functions must reside in '__global', '__constant' or '__local' address space
         3: error: kernel parameter cannot be declared as a pointer to a pointer
         4: error: '__private bool' cannot be used as the type of a kernel parameter
         5: error: '__private size_t' cannot be used as the type of a kernel parameter
         6: error: '__private event_t' cannot be used as the type of a kernel parameter
         8: error: struct kernel parameters may not contain pointers
         9: error: pointer arguments to kernel functions must reside in '__global', '__constant' or '__local' address space
         12: error: 'struct qb' cannot be used as the type of a kernel parameter
         14: error: '__private mine' cannot be used as the type of a kernel parameter
         15: error: pointer arguments to kernel functions must reside in '__global', '__constant' or '__local' address space
         16: error: kernel must have void return type
         17: error: kernel functions cannot be declared static";
    expect(V1_2, source, first);
    let without = |line: &str| !line.trim_start().starts_with("3:") && !line.trim_start().starts_with("8:");
    let later: Vec<&str> = first.lines().filter(|line| without(line)).collect();
    expect(V2_0, source, &later.join("\n"));
}

#[test]
fn records_have_no_members_that_mean_nothing_to_the_host() {
    let source = "struct A { int *p; }; struct B { global int *p; }; typedef size_t st; struct C { st s; };
        kernel void a(struct A x) {}
        kernel void b(struct B x) {}
        kernel void c(struct C x) {}
        struct F { float *a[3]; }; struct G { struct F f; };
        kernel void g(struct G x) {}
        kernel void h(private int * global *i) {}";
    expect(
        V2_0,
        source,
        "2: error: struct kernel parameters may not contain pointers
         4: error: 'struct C' cannot be used as the type of a kernel parameter
         6: error: struct kernel parameters may not contain pointers
         7: error: pointer arguments to kernel functions must reside in '__global', '__constant' or '__local' address space",
    );
}

#[test]
fn attributes_are_checked_and_kept() {
    expect(
        V2_0,
        "__attribute__((reqd_work_group_size(1,2,3))) void notk(void) {}
         __attribute__((reqd_work_group_size(0,2,3))) kernel void k0(void) {}
         __attribute__((reqd_work_group_size(1,2))) kernel void k1(void) {}
         __attribute__((vec_type_hint(bool))) kernel void k3(void) {}
         __attribute__((vec_type_hint)) kernel void k5(void) {}
         __attribute__((intel_reqd_sub_group_size(0))) kernel void k7(void) {}
         __attribute__((work_group_size_hint(-1,1,1))) kernel void k8(void) {}
         __attribute__((foo)) kernel void k9(void) {}
         __attribute__((__unused__)) int a __attribute__((aligned(3)));",
        "1: error: attribute 'reqd_work_group_size' can only be applied to an OpenCL kernel function
         2: error: 'reqd_work_group_size' attribute must be greater than 0
         3: error: 'reqd_work_group_size' attribute requires exactly 3 arguments
         4: error: a non-vector or non-vectorizable scalar type is an invalid argument to attribute 'vec_type_hint'
         5: error: 'vec_type_hint' attribute takes one argument
         6: error: 'intel_reqd_sub_group_size' attribute must be greater than 0
         7: error: 'work_group_size_hint' attribute requires a non-negative integral compile time constant expression
         8: warning: unknown attribute 'foo' ignored
         9: error: requested alignment is not a power of 2",
    );
    expect_tree(
        V2_0,
        "__attribute__((reqd_work_group_size(4,4,4))) __attribute__((work_group_size_hint(4,5,6)))
         __attribute__((vec_type_hint(uint4))) __attribute__((intel_reqd_sub_group_size(8))) kernel void k(void) {}",
        "(kernel @k void () (attributes vec_type_hint(uint4) work_group_size_hint(4,5,6) reqd_work_group_size(4,4,4) intel_reqd_sub_group_size(8)))",
    );
}

#[test]
fn arguments_are_described_as_they_are_written() {
    expect_tree(
        V2_0,
        "typedef float real; typedef const global float *cgf; typedef struct { int a; } T; struct S { int b; };
         typedef unsigned int myuint; typedef image2d_t img;
         kernel void a(unsigned int a, uint b, unsigned char c, long d, myuint e, real f, T g, struct S h) {}
         kernel void b(global unsigned *a, const global int *restrict b, volatile global T *c, constant int *d) {}
         kernel void c(local float4 *a, global struct S b[], cgf c, const int d, global void *e) {}
         kernel void d(write_only image2d_t a, img b, sampler_t c, read_only pipe float4 d, read_write image1d_t e) {}",
        "(kernel @a void ((%a uint) (%b uint) (%c uchar) (%d long) (%e uint) (%f float) (%g struct.T) (%h struct.S)) \
         (argument uint 0 Private) (argument uint 0 Private) (argument uchar 0 Private) (argument long 0 Private) \
         (argument myuint 0 Private) (argument real 0 Private) (argument T 0 Private) (argument structS 0 Private))
         (kernel @b void ((%a *global uint) (%b restrict *const global int) (%c *volatile global struct.T) (%d *constant int)) \
         (argument uint* 0 Global) (argument int* 3 Global) (argument T* 4 Global) (argument int* 1 Constant))
         (kernel @c void ((%a *local float4) (%b *global struct.S) (%c *const global float) (%d const int) (%e *global void)) \
         (argument float4* 0 Local) (argument structS* 0 Global) (argument float* 1 Global) (argument int 0 Private) \
         (argument void* 0 Global))
         (kernel @d void ((%a image2d_t.wo) (%b image2d_t.ro) (%c sampler) (%d pipe.ro.float4) (%e image1d_t.rw)) \
         (argument image2d_t 0 WriteOnly) (argument img 0 ReadOnly) (argument sampler_t 0 Private) \
         (argument float4 8 ReadOnly) (argument image1d_t 0 ReadWrite))",
    );
}
