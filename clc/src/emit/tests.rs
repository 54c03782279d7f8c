//! Small programs: what their modules contain. If `spirv-val` is installed, it has to accept each.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use spirv::Op;

use crate::options::{Options, Profile, Version};

/// The instructions of a module.
struct Listing(Vec<(Op, Vec<u32>)>);

impl Listing {
    fn count(&self, op: Op) -> usize {
        self.0.iter().filter(|(one, _)| *one == op).count()
    }

    /// The operands of the only instruction of a kind.
    fn only(&self, op: Op) -> &[u32] {
        assert_eq!(self.count(op), 1, "{op:?}");
        self.0.iter().find(|(one, _)| *one == op).map(|(_, operands)| &operands[..]).unwrap()
    }
}

fn options() -> Options {
    let features = [
        "__opencl_c_generic_address_space",
        "__opencl_c_program_scope_global_variables",
        "__opencl_c_fp64",
        "__opencl_c_int64",
        "__opencl_c_images",
        "__opencl_c_device_enqueue",
    ];
    let profile = Profile {
        opencl_version: 300,
        extensions: vec!["cl_khr_fp64", "cl_khr_fp16"],
        features: features.to_vec(),
        images: true,
        bits_64: true,
        ..Profile::default()
    };
    Options { version: Version::V3_0, profile: Arc::new(profile), kernel_arg_info: false, ..Options::default() }
}

fn module(source: &str) -> Listing {
    with(source, &options())
}

fn with(source: &str, options: &Options) -> Listing {
    let output = crate::compile(source.as_bytes(), options);
    let words = output.words.unwrap_or_else(|| panic!("{}", output.log));
    validate(&words, source);
    let mut list = Vec::new();
    let mut at = 5;
    while at < words.len() {
        let count = (words[at] >> 16) as usize;
        list.push((Op::from_u32(words[at] & 0xffff).unwrap(), words[at + 1..at + count].to_vec()));
        at += count;
    }
    Listing(list)
}

fn validate(words: &[u32], source: &str) {
    let mut command = Command::new("spirv-val");
    command
        .args(["--target-env", "opencl2.2", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else { return };
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{source}");
}

#[test]
fn conditions_stay_booleans() {
    let list = module("kernel void k(global int *p, int n) { if (!(n < 3 && n != 1) || p[0]) p[1] = 1; }");
    assert_eq!(list.count(Op::Select), 0);
    // `n != 1` is evaluated in vain rather than branched around, `p[0]` is not.
    assert_eq!(list.count(Op::LogicalAnd), 1);
    assert_eq!(list.count(Op::BranchConditional), 2);
    let list = module("kernel void k(global int *p, int n) { p[0] = n < 3; }");
    assert_eq!(list.count(Op::Select), 1);
}

#[test]
fn unreachable_code_is_not_emitted() {
    let list = module(
        "kernel void k(global int *p) { while (1) { p[0] = 1; break; p[1] = 2; } return; p[2] = 3; if (p[3]) p[4] = 1; }",
    );
    assert_eq!(list.count(Op::Store), 2);
    assert_eq!(list.count(Op::BranchConditional), 0);
}

#[test]
fn goto_into_and_out_of_loops() {
    let list = module(
        "kernel void k(global int *p, int n) {
             goto second;
         first: p[0] = 1; goto end;
         second: if (n) goto first;
             for (;;) { inner: if (p[1] > 9) break; p[1]++; if (n == 7) goto inner; }
             return;
         dead: p[2] = 3;
         end: ;
         }",
    );
    // The parameters, and two others.
    assert_eq!(list.count(Op::Store), 4);
}

#[test]
fn unused_functions_and_variables_are_not_emitted() {
    let source = "constant int table[2] = {1, 2}; int f(int x) { return table[x]; } kernel void k() { int unused[9]; }";
    let list = module(source);
    assert_eq!((list.count(Op::Function), list.count(Op::Variable)), (1, 0));
    // Here the kernel also has a function that other units may call.
    let list = with(source, &Options { whole_program: false, ..options() });
    assert_eq!((list.count(Op::Function), list.count(Op::Variable)), (3, 2));
}

#[test]
fn records_have_exact_layout() {
    let list = module(
        "struct __attribute__((packed)) P { char c; int i; };
         struct L { struct L *next; int v; };
         typedef union { int i; float4 f; uchar b[20]; } U;
         kernel void k(global struct P *p, global struct L *l, U u, global int *r) {
             struct L local_node; local_node.next = &local_node; local_node.v = 3;
             U copy = u; copy.b[3] = 1; U other; other = copy;
             p[1].i = other.i; l->v = local_node.next->v; r[0] = (int)copy.f.y;
         }",
    );
    // Bytes at an odd offset; copies of unions are copies of bytes.
    assert!(list.0.iter().any(|(op, operands)| *op == Op::Store && operands.last() == Some(&1)));
    assert_eq!(list.count(Op::CopyMemorySized), 2);
}

#[test]
fn lanes_of_shared_vectors_are_written_alone() {
    let list = module(
        "kernel void k(global float4 *p) { p->zx = (float2)(1.0f, 2.0f); float4 v = 0.0f; v.zx = 3.0f; p[1] = v; }",
    );
    assert_eq!(list.count(Op::VectorShuffle), 1);
    // Two lanes, a parameter, the variable twice, the last vector.
    assert_eq!(list.count(Op::Store), 6);
}

#[test]
fn a_kernel_that_is_called_is_there_twice() {
    let list = module("kernel void a(global int *p) { p[0] = 1; } kernel void b(global int *p) { a(p); }");
    assert_eq!((list.count(Op::Function), list.count(Op::EntryPoint)), (3, 2));
}

#[test]
fn switches_list_small_ranges_and_compare_large_ones() {
    let list = module(
        "kernel void k(global int *p, int n) {
             switch (n) { case 1 ... 3: p[0] = 1; break; case -5: case 1000 ... 90000: p[1] = 2; default: p[2] = 3; }
         }",
    );
    assert_eq!(list.only(Op::Switch).len(), 2 + 2 * 4);
    assert_eq!(list.count(Op::BranchConditional), 1);
}

#[test]
fn loops_with_hints_have_a_merge() {
    let list = module(
        "kernel void k(global int *p) {
             #pragma unroll
             for (int i = 0; i < 4; i++) p[i] = i;
             __attribute__((opencl_unroll_hint(1)))
             do { p[9]++; break; } while (1);
             while (p[8]) p[8]--;
         }",
    );
    assert_eq!(list.count(Op::LoopMerge), 2);
}

#[test]
fn contraction_is_forbidden_everywhere_if_somewhere() {
    let on = "kernel void k(global float *p) { p[0] = p[1] * p[2] + p[3]; }";
    let off = "kernel void k(global float *p) { {
        #pragma OPENCL FP_CONTRACT OFF
        p[0] = p[1] * p[2] + p[3]; } }";
    assert_eq!(module(on).count(Op::ExecutionMode), 0);
    assert_eq!(module(off).count(Op::ExecutionMode), 1);
}

#[test]
fn fast_math_is_decorated() {
    let mut fast = options();
    fast.math.fast_relaxed_math = true;
    let list = with("kernel void k(global float *p) { p[0] = p[1] / p[2] + sin(p[3]); }", &fast);
    let modes = list.0.iter().filter(|(op, operands)| *op == Op::Decorate && operands[1] == 40).count();
    assert_eq!(modes, 3);
}

#[test]
fn initializers_may_contain_addresses() {
    let list = module(
        "constant int table[4] = {1, 2, 3, 4};
         constant int *constant inside = &table[2];
         global struct { int a; global int *p; } object = {3, 0};
         union { int i; char c[8]; } global u = {0x01020304};
         constant char text[] = \"abc\";
         kernel void k(global int *r) { r[0] = *inside + object.a + u.c[1] + text[r[1]]; }",
    );
    assert!(list.count(Op::SpecConstantOp) >= 2);
}

#[test]
fn initializers_that_need_their_own_variable_are_errors() {
    for objects in [
        "global void *p = &p;",
        "struct s { global struct s *next; }; static global struct s r[2] = { { r + 1 }, { &r[0] } }; global struct s *p = r;",
        "struct s { constant struct s *o; }; extern constant struct s a; constant struct s p = { &a }, a = { &p };",
    ] {
        let source = format!("{objects}\nkernel void k(global long *o) {{ *o = (long)&p; }}");
        let output = crate::compile(source.as_bytes(), &options());
        assert!(output.words.is_none(), "{source}");
        assert!(output.log.contains("program.cl:1:") && output.log.contains("its own initializer"), "{}", output.log);
    }
}

#[test]
fn long_initializers_are_split() {
    let numbers = "7,".repeat(70_000);
    let list = module(&format!("constant int t[] = {{{numbers}}}; kernel void k(global int *r) {{ r[0] = t[r[1]]; }}"));
    assert_eq!(list.count(Op::ConstantComposite), 3);
}

#[test]
fn lines_are_those_of_the_source() {
    let list = module("kernel void k(global int *p) {\n  p[0] = 1;\n  p[1] = p[2] +\n         p[3];\n}\n");
    let lines: Vec<u32> = list.0.iter().filter(|(op, _)| *op == Op::Line).map(|(_, operands)| operands[1]).collect();
    assert!(lines.contains(&2) && lines.contains(&3) && lines.len() < 8, "{lines:?}");
}

#[test]
fn constant_arrays_are_tables() {
    let list = module(
        "int f(const int *p) { return p[1]; }
         kernel void k(global int *p, int n) {
             const int table[2][20] = {{1, 2}, {3}};
             p[0] = table[1][0] + table[n][1];
             const float taken[40] = {1.0f, 2.0f};
             p[1] = (int)taken[1];
             const int passed[33] = {1, 2, 3};
             p[2] = f(passed);
         }",
    );
    // Three parameters, the array that is passed, and the one that is indexed. Known elements are constants.
    assert_eq!(list.count(Op::Variable), 3 + 1 + 1);
}

#[test]
fn products_in_sums_are_contracted() {
    let fused = |source: &str| {
        let list = module(source);
        (list.count(Op::ExtInst), list.count(Op::FMul), list.count(Op::FNegate))
    };
    assert_eq!(fused("kernel void k(global float *p) { p[0] = p[1] * p[2] + p[3]; p[4] += p[5] * p[6]; }"), (2, 0, 0));
    assert_eq!(fused("kernel void k(global float *p) { p[0] = p[1] * p[2] - p[3]; p[4] -= p[5] * p[6]; }"), (2, 0, 2));
    assert_eq!(fused("kernel void k(global float *p) { p[0] = -(p[1] * p[2]) + p[3] * p[4]; }"), (1, 1, 1));
    assert_eq!(fused("kernel void k(global float4 *p) { p[0] = p[3] - p[1] * p[2]; }"), (1, 0, 1));
    // Not across statements, and not where it is forbidden.
    assert_eq!(fused("kernel void k(global float *p) { float x = p[1] * p[2]; p[0] = x + p[3]; }"), (0, 1, 0));
    let forbidden = "#pragma OPENCL FP_CONTRACT OFF\nkernel void k(global float *p) { p[0] = p[1] * p[2] + p[3]; }";
    assert_eq!(fused(forbidden), (0, 1, 0));
    assert_eq!(fused("kernel void k(global int *p) { p[0] = p[1] * p[2] + p[3]; }"), (0, 0, 0));
}

#[test]
fn accesses_have_the_alignment_of_a_typedef() {
    let list = module(
        "typedef int packed_int __attribute__((aligned(1)));
         typedef float4 loose __attribute__((aligned(4)));
         struct s { char c; packed_int x; };
         kernel void k(global char *p, global loose *v, int i) {
             global packed_int *q = (global packed_int *)p;
             q[i] = 1;
             v[i] = 2.0f;
             ((global struct s *)p)[i].x = 3;
             private packed_int a[2]; a[i] = *(private packed_int *)(a + 1);
         }",
    );
    let aligned = |op, wanted: u32| {
        list.0.iter().filter(|(one, operands)| *one == op && operands.last() == Some(&wanted)).count()
    };
    assert_eq!((aligned(Op::Store, 1), aligned(Op::Load, 1)), (3, 1));
    // `i` and the vector.
    assert_eq!((aligned(Op::Store, 4), aligned(Op::Store, 16)), (2, 0));
}

#[test]
fn unreachable_code_ends_blocks() {
    let list = module(
        "int f(int x) { switch (x) { case 1: return 2; case 2: __builtin_trap(); } __builtin_unreachable(); }
         kernel void k(global int *p) { p[0] = f(p[1]); int n = p[2]; __builtin_assume(n > 3); __builtin_assume(p[3]++); }",
    );
    assert_eq!((list.count(Op::Unreachable), list.count(Op::AssumeTrueKHR), list.count(Op::Undef)), (2, 0, 0));
    let mut options = options();
    Arc::make_mut(&mut options.profile).spirv_extensions.push("SPV_KHR_expect_assume");
    let list = with(
        "kernel void k(global int *p) { int n = p[2]; __builtin_assume(n > 3); __builtin_assume(p[3]++); }",
        &options,
    );
    assert_eq!((list.count(Op::AssumeTrueKHR), list.count(Op::IAdd)), (1, 0));
}

/// A variable without an initializer has no value in the next iteration. In a function's outermost scope nothing is gained by
/// that.
#[test]
fn lifetimes_begin_in_loops() {
    let body = "float4 a; a.x = *p; for (int i = 0; i < 9; i++) { float4 b; float c = i, d[2]; b.y = c; d[0] = c; *p += b.y + d[0]; }";
    let listing = module(&format!("kernel void k(global float *p) {{ {body} *p += a.x; }}"));
    assert_eq!(listing.count(Op::LifetimeStart), 2, "b and d");
    let listing =
        module("kernel void k(global int *p) { while (*p) { const int table[2] = {1, 2}; *p = table[*p & 1]; } }");
    assert_eq!(listing.count(Op::LifetimeStart), 0);
}

#[test]
fn handles_are_compared_by_their_bits() {
    let list = module(
        "kernel void k(global int *p) {
             clk_event_t a = create_user_event(), b = a;
             queue_t q = get_default_queue();
             p[0] = (a == b) + 2 * (q != get_default_queue());
         }",
    );
    assert_eq!((list.count(Op::IEqual), list.count(Op::INotEqual), list.count(Op::IsValidEvent)), (1, 1, 0));
}
