//! Programs and what they must do, faults included.

use super::{
    FaultKind, Geometry, GroupLaunch, Interleave, InterpError, InterpOptions, Interpreter, Lanes, Memory, NoObserver,
    Observer, Outcome, PreparedModule, PrintfCall, SimMemory, SimOptions, load_globals, read_c_string,
};
use crate::entities::Func;
use crate::module::Module;
use crate::text::parse_module;
use crate::types::{Space, Type};
use crate::verify;

fn module(text: &str) -> Module {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify::module(&module).unwrap_or_else(|e| panic!("{e}\n{text}"));
    module
}

/// A kernel `k` (f0) with one or more pointer arguments of 8 bytes each.
fn kernel(body: &str, globals: &str) -> Module {
    module(&format!("{globals}\nfunction \"k\" canonical {{\n{body}\n}}\nkernel f0 args 32\n"))
}

fn words(memory: &SimMemory, address: u64) -> Vec<i32> {
    let bytes = memory.bytes(address).unwrap();
    bytes.chunks_exact(4).map(|c| i32::from_le_bytes(c.try_into().unwrap())).collect()
}

/// Runs all groups over one buffer of `words` words, zero at first; the buffer and the outcome.
fn run_with(module: &Module, geometry: Geometry, size: usize, options: &InterpOptions) -> (Vec<i32>, Outcome) {
    let mut memory = SimMemory::new(SimOptions::default());
    let globals = load_globals(module, &mut memory).unwrap();
    let buffer = memory.allocate(Space::Global, size as u64 * 4, 128).unwrap();
    memory.initialize(buffer, &vec![0; size * 4]).unwrap();
    let mut args = [0; 32];
    args[..8].copy_from_slice(&buffer.to_le_bytes());
    let prepared = PreparedModule::new(module);
    let launch = GroupLaunch { geometry, group: [0; 3], args: &args, local_base: 0 };
    let used = memory.used();
    let interpreter = Interpreter::new(module, &prepared);
    let func = Func::from_u32(0);
    let outcome = interpreter.run_launch(func, &launch, &globals, options, &mut memory, &mut NoObserver).unwrap();
    assert_eq!(memory.used(), used, "everything is released");
    (words(&memory, buffer), outcome)
}

fn run(module: &Module, global: u64, local: u64, size: usize) -> (Vec<i32>, Outcome) {
    run_with(module, Geometry::linear(global, local), size, &InterpOptions::default())
}

fn kinds(outcome: &Outcome) -> Vec<FaultKind> {
    outcome.faults.iter().map(|r| r.fault.kind()).collect()
}

const STORE_GID: &str = "
    v0: ptr(global) = arg 0
    v1: i64 = global_id 0
    v2: ptr(global) = addr scale 4 v0, v1
    v3: i32 = itrunc v1
";

#[test]
fn every_work_item_runs_once() {
    let m = kernel(&format!("b0:{STORE_GID} store align 4 v2, v3\n ret"), "");
    let (data, outcome) = run(&m, 10, 4, 10);
    assert_eq!(data, (0..10).collect::<Vec<i32>>());
    assert!(outcome.is_clean());
    assert_eq!(outcome.steps, 60);
}

#[test]
fn loops_and_calls() {
    // f1(n) = n == 0 ? 0 : n + f1(n - 1), by loop and by recursion.
    let m = module(
        "function f0 \"k\" imported {
        b0:
            v0: ptr(global) = arg 0
            v1: i64 = global_id 0
            v2: ptr(global) = addr scale 4 v0, v1
            v3: i32 = itrunc v1
            v4: i32 = call f1 v3
            v5: i32 = const 0
            jump b1(v3, v5)
        b1(v6: i32, v7: i32):
            v8: b1 = icmp eq v6, v5
            branch v8, b3, b2
        b2:
            v9: i32 = const -1
            v10: i32 = iadd v6, v9
            v11: i32 = iadd v7, v6
            jump b1(v10, v11)
        b3:
            v12: i32 = isub v7, v4
            v13: i32 = const 1000
            v14: i32 = imul v12, v13
            v15: i32 = iadd v14, v7
            store align 4 v2, v15
            ret
        }
        function f1 \"sum\" imported -> i32 {
        b0(v0: i32):
            v1: i32 = const -1
            switch v0, [0: b1(v0)], b2
        b1(v2: i32):
            ret v2
        b2:
            v3: i32 = iadd v0, v1
            v4: i32 = call f1 v3
            v5: i32 = iadd v0, v4
            ret v5
        }
        kernel f0 args 32",
    );
    let (data, outcome) = run(&m, 6, 2, 6);
    assert_eq!(data, [0, 1, 3, 6, 10, 15]);
    assert!(outcome.is_clean());
    let (_, outcome) = run(&m, 400, 1, 400);
    assert_eq!(kinds(&outcome), [FaultKind::CallDepth]);
}

#[test]
fn barriers_order_local_memory() {
    // Each group reverses its ids through local memory.
    let body = "b0:
        v0: ptr(global) = arg 0
        v1: i64 = global_id 0
        v2: i64 = local_id 0
        v3: ptr(local) = global_addr g0
        v4: ptr(local) = addr scale 4 v3, v2
        v5: i32 = itrunc v1
        store align 4 v4, v5
        BARRIER
        v6: i64 = local_size 0
        v7: i64 = isub v6, v2
        v8: ptr(local) = addr scale 4 disp -4 v3, v7
        v9: i32 = load align 4 v8
        v10: ptr(global) = addr scale 4 v0, v1
        store align 4 v10, v9
        ret";
    let tile = "global g0 \"tile\" local size 64 align 16";
    let right = kernel(&body.replace("BARRIER", "barrier 0 work_group work_group local"), tile);
    for seed in 0..20 {
        for interleave in [Interleave::Barriers, Interleave::Accesses] {
            let options = InterpOptions { seed, interleave, ..InterpOptions::default() };
            let (data, outcome) = run_with(&right, Geometry::linear(10, 4), 10, &options);
            assert_eq!(data, [3, 2, 1, 0, 7, 6, 5, 4, 9, 8]);
            assert!(outcome.is_clean());
        }
    }
    let global_only = kernel(&body.replace("BARRIER", "barrier 0 work_group work_group global"), tile);
    assert_eq!(kinds(&run(&global_only, 10, 4, 10).1)[0], FaultKind::Race);
    let missing = kernel(&body.replace("BARRIER", ""), tile);
    let options = InterpOptions { seed: 3, interleave: Interleave::Accesses, ..InterpOptions::default() };
    let faults = kinds(&run_with(&missing, Geometry::linear(10, 4), 10, &options).1);
    assert!(faults.contains(&FaultKind::Race) || faults.contains(&FaultKind::Uninitialized), "{faults:?}");
}

#[test]
fn divergent_barriers_are_reported_and_passed() {
    let body = "b0:
        v0: ptr(global) = arg 0
        v1: i64 = global_id 0
        v2: ptr(global) = addr scale 4 v0, v1
        v3: i64 = const 2
        v4: b1 = icmp ult v1, v3
        branch v4, b1, b2
    b1:
        barrier 0 work_group work_group local
        jump b3
    b2:
        OTHER
    b3:
        v5: i32 = const 7
        store align 4 v2, v5
        ret";
    let m = kernel(&body.replace("OTHER", "barrier 1 work_group work_group local\njump b3"), "");
    let (data, outcome) = run(&m, 4, 4, 4);
    assert_eq!(kinds(&outcome), [FaultKind::DivergentBarrier; 2]);
    assert_eq!(data, [7; 4]);
    assert!(outcome.faults[0].to_string().contains("2 of 4 work-items wait here"), "{}", outcome.faults[0]);
    assert!(run(&m, 2, 2, 2).1.is_clean(), "uniform at this size");
    // Those that have ended are not waited for.
    for other in ["jump b3", "ret"] {
        let (data, outcome) = run(&kernel(&body.replace("OTHER", other), ""), 4, 4, 4);
        assert!(outcome.is_clean(), "{other}: {:?}", outcome.faults);
        assert_eq!(data[..2], [7, 7]);
    }
}

#[test]
fn sub_groups_meet_by_themselves() {
    let body = "b0:
        v0: ptr(global) = arg 0
        v1: i32 = sub_group_id
        v2: i32 = const 0
        v3: b1 = icmp eq v1, v2
        branch v3, b1, b2
    b1:
        barrier 0 sub_group sub_group local
        jump b2
    b2:
        barrier 1 work_group work_group global
        v4: i32 = sub_group_local_id
        v5: i32 = sub_group_size
        v6: i32 = num_sub_groups
        v7: i32 = max_sub_group_size
        v8: i32 = enqueued_num_sub_groups
        v9: i32 = const 10
        v10: i32 = imul v1, v9
        v11: i32 = iadd v10, v4
        v12: i32 = imul v11, v9
        v13: i32 = iadd v12, v5
        v14: i32 = imul v13, v9
        v15: i32 = iadd v14, v6
        v16: i32 = imul v15, v9
        v17: i32 = iadd v16, v7
        v18: i32 = imul v17, v9
        v19: i32 = iadd v18, v8
        v20: i64 = global_id 0
        v21: ptr(global) = addr scale 4 v0, v20
        store align 4 v21, v19
        ret";
    let m = kernel(body, "");
    let options = InterpOptions { sub_group_size: 4, ..InterpOptions::default() };
    let (data, outcome) = run_with(&m, Geometry::linear(8, 6), 8, &options);
    assert!(outcome.is_clean(), "{:?}", outcome.faults);
    assert_eq!(data, [4242, 14242, 24242, 34242, 102242, 112242, 2142, 12142]);
}

#[test]
fn geometry_in_three_dimensions() {
    let mut body = String::from("b0:\n v0: ptr(global) = arg 0\n v90: i64 = global_linear_id\n v91: i64 = const 0\n");
    let mut sum = 91;
    for (i, query) in [
        "global_size",
        "global_offset",
        "num_groups",
        "enqueued_local_size",
        "local_size",
        "group_id",
        "global_id",
        "local_id",
    ]
    .iter()
    .enumerate()
    {
        for dim in 0..3 {
            let n = 100 + (i * 3 + dim) * 10;
            body += &format!(
                " v{n}: i64 = {query} {dim}\n v{}: i64 = const {}\n v{}: i64 = imul v{n}, v{}\n v{}: i64 = iadd v{sum}, v{}\n",
                n + 1,
                n,
                n + 2,
                n + 1,
                n + 3,
                n + 2
            );
            sum = n + 3;
        }
    }
    body += &format!(
        " v92: i64 = local_linear_id\n v93: i64 = iadd v{sum}, v92\n v94: i32 = work_dim\n v95: i64 = zext v94\n \
         v96: i64 = iadd v93, v95\n v97: i32 = itrunc v96\n v98: ptr(global) = addr scale 4 v0, v90\n \
         store align 4 v98, v97\n ret"
    );
    let geometry = Geometry { work_dim: 3, global_size: [5, 4, 3], global_offset: [10, 20, 30], local_size: [2, 3, 2] };
    let (data, outcome) = run_with(&kernel(&body, ""), geometry, 60, &InterpOptions::default());
    assert!(outcome.is_clean());
    for z in 0..3 {
        for y in 0..4 {
            for x in 0..5 {
                let id = [x, y, z];
                let group = [x / 2, y / 3, z / 2];
                let local = [x % 2, y % 3, z % 2];
                let size = [if x == 4 { 1 } else { 2 }, if y == 3 { 1 } else { 3 }, if z == 2 { 1 } else { 2 }];
                let facts: [[usize; 3]; 8] = [
                    [5, 4, 3],
                    [10, 20, 30],
                    [3, 2, 2],
                    [2, 3, 2],
                    size,
                    group,
                    [id[0] + 10, id[1] + 20, id[2] + 30],
                    local,
                ];
                let weighted = facts.iter().flatten().enumerate().map(|(i, fact)| fact * (100 + i * 10)).sum::<usize>();
                let linear = (local[2] * size[1] + local[1]) * size[0] + local[0];
                assert_eq!(data[(z * 4 + y) * 5 + x], (weighted + linear + 3) as i32, "{id:?}");
            }
        }
    }
}

#[test]
fn faults_of_memory() {
    let gid = STORE_GID;
    for (lines, globals, expected) in [
        // One word beyond the buffer of 4 words; null; a released variable.
        ("store align 4 v2, v3", "", &[FaultKind::OutOfBounds][..]),
        ("v4: ptr(global) = const 0\n v5: i32 = load align 4 v4", "", &[FaultKind::OutOfBounds]),
        ("v4: ptr(global) = addr disp 1 v0\n v5: i16 = load align 2 v4", "", &[FaultKind::Misaligned]),
        ("v4: ptr(private) = slot_addr s0\n v5: i64 = load align 8 v4", "", &[FaultKind::Uninitialized]),
        (
            "v4: ptr(private) = slot_addr s0\n store align 4 v4, v3\n v5: i64 = load align 8 v4",
            "",
            &[FaultKind::Uninitialized],
        ),
        ("v4: ptr(private) = slot_addr s0\n store align 8 v4, v1\n v5: i64 = load align 8 v4", "", &[]),
        (
            "v4: ptr(constant) = global_addr g0\n store align 4 v4, v3",
            "global g0 \"\" constant size 4 align 4",
            &[FaultKind::ReadOnly],
        ),
        ("store align 4 v0, v3", "", &[FaultKind::Race]),
        ("v4: i32 = const 0\n store align 4 v0, v4", "", &[]),
        ("v4: i32 = atomic_rmw add relaxed device v0, v3", "", &[]),
        ("v4: i32 = atomic_rmw add relaxed device v0, v3\n v5: i32 = load align 4 v0", "", &[FaultKind::Race]),
        ("v4: ptr(global) = addr disp 2 v0\n v5: i32 = atomic_load relaxed device v4", "", &[FaultKind::Misaligned]),
        ("v4: i64 = const -1\n v5: i8 = const 1\n memset align 1 v0, v5, v4", "", &[FaultKind::OutOfBounds]),
        ("v4: ptr(private) = slot_addr s0\n v5: i64 = const 8\n memcpy align 1 v4, v4, v5", "", &[]),
    ] {
        let m = kernel(&format!("slot s0 size 8 align 8\nb0:{gid}\n {lines}\n ret"), globals);
        let (_, outcome) = run(&m, 5, 5, 4);
        assert_eq!(kinds(&outcome), expected, "{lines}");
    }
    // Fault reports name the place.
    let m = kernel(&format!("b0:{gid} store align 4 v2, v3 @9:8:7\n ret"), "");
    let (_, outcome) = run(&m, 7, 7, 4);
    assert_eq!(outcome.faults.len(), 1);
    let report = &outcome.faults[0];
    assert_eq!((report.count, report.loc.word, report.loc.line), (3, 9, 8));
    assert_eq!(report.item.unwrap().global, [4, 0, 0]);
    assert!(report.to_string().contains("offset 16 of 16 bytes of global memory"), "{report}");
}

#[test]
fn unreachable_ends_the_work_item() {
    let m = kernel(
        &format!(
            "b0:{STORE_GID} store align 4 v2, v3\n v4: i32 = const 2\n v5: b1 = icmp eq v3, v4\n branch v5, b1, b2\nb1:\n unreachable\nb2:\n v6: i32 = ineg v3\n store align 4 v2, v6\n ret"
        ),
        "",
    );
    let (data, outcome) = run(&m, 4, 4, 4);
    assert_eq!((data, kinds(&outcome)), (vec![0, -1, 2, -3], vec![FaultKind::Unreachable]));
}

#[test]
fn fuel_and_fault_limits() {
    let m = kernel("b0:\n jump b1\nb1:\n jump b1", "");
    let options = InterpOptions { fuel: 1000, ..InterpOptions::default() };
    let (_, outcome) = run_with(&m, Geometry::linear(4, 2), 1, &options);
    assert!(outcome.out_of_fuel && !outcome.is_clean() && outcome.steps == 1000);
    let m = kernel("b0:\n v0: ptr(global) = const 0\n v1: i8 = load align 1 v0\n v2: i8 = load align 1 v0\n ret", "");
    let options = InterpOptions { max_faults: 1, ..InterpOptions::default() };
    let (_, outcome) = run_with(&m, Geometry::linear(4, 2), 1, &options);
    assert!(outcome.too_many_faults && outcome.faults.len() == 1);
}

#[test]
fn atomics_and_generic_pointers() {
    let body = "b0:
        v0: ptr(global) = arg 0
        v1: i64 = local_id 0
        v2: i32 = itrunc v1
        v3: i32 = atomic_rmw add relaxed device v0, v2
        v4: ptr(global) = addr disp 4 v0
        v5: i32 = atomic_rmw smax relaxed device v4, v2
        v6: ptr(global) = addr disp 8 v0
        v7: i32 = const 0
        v8: i32 = const 42
        v9: i32 = atomic_cmpxchg seq_cst device v6, v7, v8
        v10: ptr(global) = addr disp 12 v0
        atomic_store release device v10, v8
        v11: ptr(generic) = spacecast v0
        v12: b1 = in_space global v11
        v13: b1 = in_space local v11
        v14: ptr(local) = global_addr g0
        v15: ptr(generic) = spacecast v14
        v16: b1 = in_space local v15
        v17: ptr(private) = slot_addr s0
        v18: ptr(generic) = spacecast v17
        v19: b1 = in_space private v18
        v20: b1x4 = vec v12, v13, v16, v19
        v21: i32x4 = zext v20
        v22: i32 = reduce add v21
        v23: b1 = any v20
        v24: b1 = all v20
        v25: i32 = sext v23
        v26: i32 = sext v24
        v27: i32 = isub v22, v25
        v28: i32 = isub v27, v26
        v29: ptr(global) = addr disp 16 v0
        v30: i32 = atomic_rmw xchg relaxed device v29, v28
        fence acq_rel device
        ret";
    let m = kernel(&format!("slot s0 size 4 align 4\n{body}"), "global g0 \"\" local size 4 align 4");
    for seed in 0..5 {
        let options = InterpOptions { seed, interleave: Interleave::Accesses, ..InterpOptions::default() };
        let (data, outcome) = run_with(&m, Geometry::linear(8, 8), 5, &options);
        assert!(outcome.is_clean(), "{}", outcome.faults[0]);
        assert_eq!(data, [28, 7, 42, 42, 4]);
    }
}

#[test]
fn lanes_and_masks() {
    let body = "b0:
        v0: ptr(global) = arg 0
        v1: i32x4 = const [10, 20, 30, 40]
        v2: i32x4 = const [1, 2, 3, 4]
        v3: i32x3 = shuffle [7, 0, 2] v1, v2
        v4: i32 = const 3
        v5: i32 = extract_dyn v1, v4
        v6: i32 = const 5
        v7: i32x4 = insert_dyn v2, v5, v4
        v8: i32x4 = insert_dyn v7, v4, v6
        v9: b1x4 = icmp slt v8, v1
        v10: i32x4 = select v9, v8, v1
        v11: i32 = extract 1 v10
        v12: i32x4 = insert 0 v10, v6
        store align 16 v0, v12
        v13: ptr(global) = addr disp 16 v0
        v14: b1x4 = const [true, false, true, false]
        masked_store align 4 v13, v1, v14
        v15: i32x4 = masked_load align 4 v13, v14, v2
        v16: ptr(global) = addr disp 32 v0
        store align 4 v16, v15
        v17: i64x4 = const [3, 2, 1, 0]
        v18: ptr(global)x4 = addr scale 4 v16, v17
        v19: i32x4 = gather align 4 v18, v14, v1
        v20: ptr(global)x4 = addr disp 16 v18
        v21: b1x4 = not v14
        scatter align 4 v20, v19, v21
        v22: i64x2 = bitcast v1
        v23: i64 = extract 1 v22
        v24: i64x2 = splat v23
        v25: ptr(global) = addr disp 64 v0
        store align 16 v25, v24
        ret";
    let (data, outcome) = run(&kernel(body, ""), 1, 1, 20);
    assert!(outcome.is_clean(), "{}", outcome.faults[0]);
    assert_eq!(data[..4], [5, 2, 3, 40]);
    assert_eq!(data[4..8], [10, 0, 30, 0]);
    assert_eq!(data[8..12], [10, 2, 30, 4]);
    // gather: lanes 0 and 2 from words 3 and 1; scatter: lanes 1 and 3 to words 2 and 0.
    assert_eq!(data[12..16], [40, 0, 20, 0]);
    assert_eq!(data[16..20], [30, 40, 30, 40]);
}

#[test]
fn argument_block_and_globals() {
    let m = module(
        "global g0 \"table\" constant size 12 align 4 bytes \"0100000002000000\"
        global g1 \"pointer\" global size 8 align 8 address 0 g0 4
        function \"k\" canonical {
        b0:
            v0: ptr(global) = arg 0
            v1: ptr(host) = arg_addr 8
            v2: i32x2 = load align 8 v1
            v3: i32x2 = arg 8
            v4: i32x2 = iadd v2, v3
            store align 8 v0, v4
            v5: ptr(global) = global_addr g1
            v6: ptr(constant) = load align 8 v5
            v7: i32x2 = load align 4 v6
            v8: ptr(global) = addr disp 8 v0
            store align 8 v8, v7
            ret
        }
        kernel f0 args 16",
    );
    let mut memory = SimMemory::new(SimOptions::default());
    let globals = load_globals(&m, &mut memory).unwrap();
    let buffer = memory.allocate(Space::Global, 16, 16).unwrap();
    let mut args = buffer.to_le_bytes().to_vec();
    args.extend([5, 0, 0, 0, 9, 0, 0, 0]);
    let prepared = PreparedModule::new(&m);
    let launch = GroupLaunch { geometry: Geometry::linear(1, 1), group: [0; 3], args: &args, local_base: 0 };
    let outcome = Interpreter::new(&m, &prepared)
        .run_group(Func::from_u32(0), &launch, &globals, &InterpOptions::default(), &mut memory, &mut NoObserver)
        .unwrap();
    assert!(outcome.is_clean(), "{}", outcome.faults[0]);
    assert_eq!(words(&memory, buffer), [10, 18, 2, 0]);
}

struct Printer(Vec<String>);

impl Observer for Printer {
    fn printf(&mut self, memory: &mut dyn Memory, call: &PrintfCall) -> i32 {
        let format = String::from_utf8(read_c_string(memory, call.format, 100)).unwrap();
        self.0.push(format!("{format} {:?}", call.values.iter().map(|v| (v.ty, v.bits.clone())).collect::<Vec<_>>()));
        -1
    }
}

#[test]
fn plain_functions_and_printf() {
    let m = module(
        "global g0 \"\" constant size 4 align 1 bytes \"256400\"
        function \"f\" looped {
        b0(v0: ptr(host), v1: ptr(host), v2: i64, v3: i64):
            v4: ptr(constant) = global_addr g0
            v5: i32 = printf v4, v2, v3
            ret
        }
        function \"g\" imported -> i32, f32x2 {
        b0(v0: i32, v1: f32x2):
            v2: f32x2 = fadd v1, v1
            v3: ptr(constant) = global_addr g0
            v4: i32 = printf v3
            v5: i32 = iadd v0, v4
            ret v5, v2
        }",
    );
    let mut memory = SimMemory::new(SimOptions::default());
    let globals = load_globals(&m, &mut memory).unwrap();
    let prepared = PreparedModule::new(&m);
    let interpreter = Interpreter::new(&m, &prepared);
    let mut printer = Printer(Vec::new());
    let scalar = |ty, bits| Lanes { ty, bits: vec![bits] };
    let host = Type::ptr(Space::Host);
    let args = [scalar(host, 0), scalar(host, 0), scalar(Type::I64, 3), scalar(Type::I64, 4)];
    let options = InterpOptions::default();
    let (outcome, returned) =
        interpreter.run_function(Func::from_u32(0), &args, &globals, &options, &mut memory, &mut printer).unwrap();
    assert!(outcome.is_clean() && returned.is_empty());
    let pair = Lanes { ty: Type::F32.with_lanes(2), bits: vec![0x3f80_0000, 0x4000_0000] };
    let (_, returned) = interpreter
        .run_function(Func::from_u32(1), &[scalar(Type::I32, 5), pair], &globals, &options, &mut memory, &mut printer)
        .unwrap();
    assert_eq!((returned[0].bits[0], &*returned[1].bits), (4, &[0x4000_0000, 0x4080_0000][..]));
    assert_eq!(printer.0, ["%d [(i64, [3]), (i64, [4])]", "%d []"]);
    let wrong = interpreter.run_function(Func::from_u32(1), &[], &globals, &options, &mut memory, &mut NoObserver);
    assert!(matches!(wrong, Err(InterpError::BadLaunch(_))));
    let none = interpreter.run_function(Func::from_u32(9), &[], &globals, &options, &mut memory, &mut NoObserver);
    assert_eq!(none, Err(InterpError::NoFunction(Func::from_u32(9))));
}

#[test]
fn printf_of_the_legal_stage() {
    let m = module(
        "global g0 \"\" constant size 4 align 1 bytes \"256400\"
        global g1 \"\" constant size 24 align 8 bytes \"010402000000000000080100080000000208010010000000\"
        global g2 \"\" constant size 24 align 8 bytes \"0000803f000000400500000000000000ff00000000000000\"
        function \"f\" legal {
        b0(v0: ptr(host), v1: ptr(host), v2: i64, v3: i64):
            v4: ptr(constant) = global_addr g0
            v5: ptr(constant) = global_addr g1
            v6: ptr(constant) = global_addr g2
            v7: i64 = const 3
            v8: i32 = printf v4, v5, v7, v6
            ret
        }",
    );
    let mut memory = SimMemory::new(SimOptions::default());
    let globals = load_globals(&m, &mut memory).unwrap();
    let prepared = PreparedModule::new(&m);
    let mut printer = Printer(Vec::new());
    let args =
        [Type::ptr(Space::Host), Type::ptr(Space::Host), Type::I64, Type::I64].map(|ty| Lanes { ty, bits: vec![0] });
    let (outcome, _) = Interpreter::new(&m, &prepared)
        .run_function(Func::from_u32(0), &args, &globals, &InterpOptions::default(), &mut memory, &mut printer)
        .unwrap();
    assert!(outcome.is_clean());
    assert_eq!(printer.0, ["%d [(f32x2, [1065353216, 1073741824]), (i64, [5]), (ptr(generic), [255])]"]);
}

#[test]
fn memory_limits_are_tool_failures() {
    let m = kernel("slot s0 size 4000000000 align 8\nb0:\n ret", "");
    let prepared = PreparedModule::new(&m);
    let launch = GroupLaunch { geometry: Geometry::linear(1, 1), group: [0; 3], args: &[], local_base: 0 };
    let mut memory = SimMemory::new(SimOptions::default());
    let interpreter = Interpreter::new(&m, &prepared);
    let result = interpreter.run_group(
        Func::from_u32(0),
        &launch,
        &super::GlobalAddresses::default(),
        &InterpOptions::default(),
        &mut memory,
        &mut NoObserver,
    );
    assert!(matches!(result, Err(InterpError::Memory(_))));
}
