//! Runs kernels through all stages after the import, and executes them as a launch does, with machine code and with the
//! interpreter.

#![allow(unsafe_code, reason = "compiled kernels are called")]

use std::ffi::c_void;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clift_include::abi::{ARENA_ALIGN, Callbacks, PrintfArg, PrintfArgKind, WgContext, unprotected};
use clift_kir::interp::Geometry;
use clift_kir::{Module, text};

use crate::codegen::x86::X86Backend;
use crate::spirv::{Imported, KernelDesc};
use crate::spmd::tests::generate::{Barriers, Rng, kernel};
use crate::spmd::tests::harness::Launch;
use crate::spmd::tests::{launches, seeds};
use crate::{BackendChoice, BuildError, Checks, Kernel, Options, Parallel, Program};

/// A handwritten module as if it had been imported.
pub(crate) fn imported(module: Module) -> Imported {
    let kernels = module
        .kernels
        .iter()
        .map(|kernel| KernelDesc { name: module.funcs[kernel.func].name.clone(), ..KernelDesc::default() })
        .collect();
    Imported { module, kernels }
}

fn parse(source: &str) -> Module {
    text::parse_module(source).unwrap_or_else(|error| panic!("{error}"))
}

fn build(module: &Module, backend: BackendChoice) -> Program {
    build_at(module, backend, None)
}

fn build_at(module: &Module, backend: BackendChoice, width: Option<u32>) -> Program {
    let options = Options { backend, width, ..Options::default() };
    super::build(imported(module.clone()), &options).unwrap_or_else(|error| panic!("{error}\n{module}"))
}

/// Memory aligned as the arenas are.
pub(crate) struct Arena {
    words: Vec<u128>,
    skip: usize,
    bytes: usize,
}

impl Arena {
    pub(crate) fn new(bytes: usize) -> Arena {
        let words = vec![u128::MAX / 3; (bytes + 2 * ARENA_ALIGN) / 16];
        let skip = words.as_ptr().align_offset(ARENA_ALIGN) * 16;
        Arena { words, skip, bytes }
    }

    pub(crate) fn base(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast::<u8>().wrapping_add(self.skip)
    }
}

/// What the callbacks of a launch recorded.
#[derive(Debug, Default)]
pub(crate) struct CallbackLog {
    faults: Mutex<Vec<String>>,
    printed: Mutex<Vec<String>>,
}

unsafe extern "C" fn printf(
    ctx: *const WgContext,
    format: *const u8,
    args: *const PrintfArg,
    count: u64,
    data: *const u8,
) -> i32 {
    // SAFETY: the test's context points to the record; the code passes what the ABI specifies.
    unsafe {
        let log = &*(*ctx).launch.cast::<CallbackLog>();
        let format = std::ffi::CStr::from_ptr(format.cast()).to_string_lossy().into_owned();
        let mut line = format;
        for i in 0..count as usize {
            let arg = *args.add(i);
            for lane in 0..usize::from(arg.lanes) {
                let at = data.add(arg.offset as usize + lane * usize::from(arg.elem_bytes));
                let mut word = [0u8; 8];
                std::ptr::copy_nonoverlapping(at, word.as_mut_ptr(), usize::from(arg.elem_bytes));
                let kind = match arg.kind {
                    PrintfArgKind::Int => 'i',
                    PrintfArgKind::Float => 'f',
                    PrintfArgKind::Pointer => 'p',
                };
                line += &format!(" {kind}{}:{:x}", arg.elem_bytes, u64::from_le_bytes(word));
            }
        }
        log.printed.lock().unwrap().push(line);
    }
    7
}

unsafe extern "C" fn fault(ctx: *const WgContext, message: *const u8, len: u64) {
    // SAFETY: as above.
    unsafe {
        let log = &*(*ctx).launch.cast::<CallbackLog>();
        let message = std::slice::from_raw_parts(message, len as usize);
        log.faults.lock().unwrap().push(String::from_utf8_lossy(message).into_owned());
    }
}

extern "C" fn check(_: *const WgContext, _: u64, _: u64, _: u64, _: u64) -> i32 {
    1
}

unsafe extern "C" fn request(_: *const WgContext, _: u32, _: *const u64, _: u64) -> u64 {
    0
}

extern "C" fn clock() -> u64 {
    0
}

static CALLBACKS: Callbacks =
    Callbacks { printf, fault, request, clock, enter: unprotected::enter, copy: unprotected::copy, check };

/// Runs all groups of a launch, in runs of at most `run` groups.
pub(crate) fn launch(kernel: &Kernel, geometry: &Geometry, local_bytes: u64, args: &[u8], run: u64) -> CallbackLog {
    let log = CallbackLog::default();
    let scratch_bytes = kernel.resources.scratch_bytes_for(geometry.local_size).unwrap();
    let local_bytes = kernel.resources.local_bytes + local_bytes;
    let (mut scratch, mut local) = (Arena::new(scratch_bytes as usize), Arena::new(local_bytes as usize));
    let mut block = Arena::new(args.len());
    // SAFETY: the arena has that size.
    unsafe { std::ptr::copy_nonoverlapping(args.as_ptr(), block.base(), args.len()) };
    let [groups_x, groups_y, groups_z] = geometry.num_groups();
    let packed_groups =
        kernel.resources.packed_groups(geometry.global_size, geometry.global_offset, geometry.local_size);
    for z in 0..groups_z {
        for y in 0..groups_y {
            let mut first = 0;
            while first < groups_x {
                let groups = run.min(groups_x - first);
                let (entry, count) = match kernel.entry.packed {
                    Some(packed) => {
                        let (count, whole) = kernel.resources.next_call(first, groups, packed_groups);
                        (if whole { packed } else { kernel.entry.run }, count)
                    }
                    None => (kernel.entry.run, groups),
                };
                let context = WgContext {
                    work_dim: geometry.work_dim,
                    reserved: 0,
                    global_size: geometry.global_size,
                    global_offset: geometry.global_offset,
                    local_size: geometry.local_size,
                    num_groups: geometry.num_groups(),
                    group_y: y,
                    group_z: z,
                    local_mem: local.base(),
                    local_mem_bytes: local.bytes as u64,
                    scratch: scratch.base(),
                    scratch_bytes: scratch.bytes as u64,
                    callbacks: &CALLBACKS,
                    launch: (&raw const log).cast::<c_void>(),
                    entry_data: kernel.entry.data,
                };
                // SAFETY: the context and the argument block satisfy the kernel's resources.
                unsafe { entry(&context, block.base(), first, count) };
                first += count;
            }
        }
    }
    log
}

const BACKENDS: [BackendChoice; 3] = [BackendChoice::Auto, BackendChoice::Cranelift, BackendChoice::Interp];

fn block(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

const ADD: &str = r#"
function f0 "add" canonical {
b0:
    v0: i64 = global_id 0
    v1: ptr(global) = arg 0
    v2: ptr(global) = arg 8
    v3: i32 = arg 16
    v4: ptr(global) = addr scale 4 v1, v0
    v5: i32 = load align 4 v4
    v6: i32 = iadd v5, v3
    v7: ptr(global) = addr scale 4 v2, v0
    store align 4 v7, v6
    ret
}
kernel f0 args 24
"#;

#[test]
fn a_kernel_adds() {
    let module = parse(ADD);
    for backend in BACKENDS {
        let program = build(&module, backend);
        assert_eq!(program.kernels[0].name, "add");
        let input: Vec<i32> = (0..37).collect();
        let mut output = vec![0i32; 37];
        let args = block(&[input.as_ptr() as u64, output.as_mut_ptr() as u64, 100]);
        let log = launch(&program.kernels[0], &Geometry::linear(37, 8), 0, &args, u64::MAX);
        assert!(log.faults.lock().unwrap().is_empty());
        assert_eq!(output, (100..137).collect::<Vec<i32>>(), "{backend:?}");
    }
}

const VARIABLES: &str = r#"
global g0 "table" constant size 16 align 4 bytes "01000000020000000300000004000000"
global g1 "counter" global size 8 align 8
function f0 "count" canonical {
b0:
    v0: i64 = global_id 0
    v1: ptr(constant) = global_addr g0
    v2: ptr(global) = global_addr g1
    v3: i64 = const 3
    v4: i64 = and v0, v3
    v5: ptr(constant) = addr scale 4 v1, v4
    v6: i32 = load align 4 v5
    v7: i64 = zext v6
    v8: i64 = atomic_rmw add relaxed device v2, v7
    v9: ptr(global) = arg 0
    v10: i64 = atomic_load relaxed device v2
    store align 8 v9, v10
    ret
}
kernel f0 args 8
"#;

#[test]
fn variables_live_between_launches() {
    let module = parse(VARIABLES);
    for backend in BACKENDS {
        let program = build(&module, backend);
        assert_eq!(program.global_variable_bytes, 8);
        let mut total = 0u64;
        let args = block(&[&raw mut total as u64]);
        for launches in 1..=3 {
            launch(&program.kernels[0], &Geometry::linear(8, 4), 0, &args, 1);
            assert_eq!(total, 20 * launches, "{backend:?}");
        }
    }
}

const PRINT: &str = r#"
global g0 "format" constant size 8 align 1 bytes "2564202566000000"
function f0 "print" canonical {
b0:
    v0: i64 = global_id 0
    v1: i32 = itrunc v0
    v2: ptr(constant) = global_addr g0
    v3: f32x3 = const [1.0, 2.0, 0.5]
    v4: i8 = const 9
    v5: i32 = printf v2, v1, v3, v4, v2
    v6: ptr(global) = arg 0
    v7: ptr(global) = addr scale 4 v6, v0
    store align 4 v7, v5
    ret
}
kernel f0 args 8
"#;

#[test]
fn printf_passes_its_values() {
    let module = parse(PRINT);
    for backend in BACKENDS {
        let program = build(&module, backend);
        let mut results = [0i32; 2];
        let args = block(&[results.as_mut_ptr() as u64]);
        let log = launch(&program.kernels[0], &Geometry::linear(2, 1), 0, &args, u64::MAX);
        assert_eq!(results, [7, 7]);
        let printed = log.printed.lock().unwrap();
        for (i, line) in printed.iter().enumerate() {
            let start = format!("%d %f i4:{i:x} f4:3f800000 f4:40000000 f4:3f000000 i1:9 p8:");
            assert!(line.starts_with(&start), "{backend:?}: {line}");
        }
        assert_eq!(printed.len(), 2);
    }
}

#[test]
fn the_interpreter_reports_faults() {
    let module = parse(ADD);
    let program = build(&module, BackendChoice::Interp);
    let log = launch(&program.kernels[0], &Geometry::linear(4, 2), 0, &block(&[0, 0, 0]), u64::MAX);
    let faults = log.faults.lock().unwrap();
    assert!(!faults.is_empty() && faults[0].contains("out-of-bounds"), "{faults:?}");
}

#[test]
fn broken_invariants_are_build_errors() {
    let mut module = parse(ADD);
    module.kernels[0].func = clift_kir::Func::from_u32(99);
    let result = super::build(Imported { kernels: imported(parse(ADD)).kernels, module }, &Options::default());
    assert!(matches!(result, Err(BuildError::Internal(_))), "{result:?}");
}

#[test]
fn dumps_go_to_the_log() {
    let module = parse(ADD);
    let dump = super::DUMPS.iter().map(|&name| name.to_owned()).collect();
    let checks = Checks { memory: true, ..Checks::default() };
    let options = Options { dump, checks, backend: BackendChoice::Cranelift, ..Options::default() };
    let program = super::build(imported(module), &options).unwrap();
    for stage in super::DUMPS {
        assert!(program.log.contains(&format!("; {stage}")), "{stage}");
    }
}

/// The contents of the buffers of a launch after all its groups have run.
fn run_generated(program: &Program, launch_of: &Launch) -> Vec<Vec<u8>> {
    let mut buffers = launch_of.buffers.clone();
    let local_offset = program.kernels[0].resources.local_bytes.next_multiple_of(128);
    let words: Vec<u64> = buffers.iter_mut().map(|b| b.as_mut_ptr() as u64).chain([local_offset]).collect();
    let mut args = block(&words);
    args.extend(&launch_of.rest);
    let log = launch(&program.kernels[0], &launch_of.geometry, launch_of.local_bytes + 128, &args, 2);
    assert_eq!(*log.faults.lock().unwrap(), Vec::<String>::new());
    buffers
}

#[test]
fn generated_kernels_agree_between_backends() {
    for mode in [Barriers::None, Barriers::Uniform, Barriers::Hidden] {
        for seed in seeds(25) {
            let module = kernel(seed, mode);
            let interpreted = build(&module, BackendChoice::Interp);
            // The usual width and another one.
            let widths = [None, Some([1, 2, 4, 8, 16, 32][seed as usize % 6])];
            let variants =
                widths.into_iter().flat_map(|width| [(BackendChoice::Auto, width), (BackendChoice::Cranelift, width)]);
            let compiled: Vec<_> =
                variants.map(|(backend, width)| (backend, width, build_at(&module, backend, width))).collect();
            for launch in launches(&mut Rng::new(seed), 3) {
                let wanted = run_generated(&interpreted, &launch);
                for (backend, width, compiled) in &compiled {
                    let got = run_generated(compiled, &launch);
                    let what = format!("{backend:?}, {width:?} lanes, {mode:?} seed {seed}");
                    assert!(got == wanted, "{what}: {:?}\n{module}", launch.geometry);
                }
            }
        }
    }
}

#[test]
fn packs_that_take_too_much_of_the_stack_are_given_up() {
    // All values are loaded before the first one is stored, so that those of a pack take more than the stack frame may have.
    let count = 17_000;
    let mut text = String::from(
        "function f1 \"k\" canonical {\nb0:\n    v0: i64 = global_id 0\n    v1: ptr(global) = arg 0\n    v2: ptr(global) = arg 8\n",
    );
    for (pass, base) in ["v1", "v2"].iter().enumerate() {
        for i in 0..count {
            let (address, value) = (3 + pass * 2 * count + i, 3 + count + i);
            let disp = i * 65536;
            let _ = writeln!(text, "    v{address}: ptr(global) = addr scale 4 disp {disp} {base}, v0");
            let _ = match pass {
                0 => writeln!(text, "    v{value}: f32x2 = load align 4 v{address}"),
                _ => writeln!(text, "    store align 4 v{address}, v{value}"),
            };
        }
    }
    // Nor do the iterations of its loop become packs then.
    let at = |index: usize| format!("v{}", 3 + 3 * count + index);
    let _ = write!(
        text,
        "    {}: i64 = const 0\n    {}: i64 = const 1\n    {}: i64 = const 1000\n    jump b1({})\nb1({}: i64):\n",
        at(0),
        at(1),
        at(2),
        at(0),
        at(3)
    );
    let _ = write!(
        text,
        "    {}: ptr(global) = addr scale 4 v2, {}\n    {}: i32 = itrunc {}\n    store align 4 {}, {}\n    {}: i64 = iadd {}, {}\n",
        at(4),
        at(3),
        at(5),
        at(3),
        at(4),
        at(5),
        at(6),
        at(3),
        at(1)
    );
    let _ = write!(
        text,
        "    {}: b1 = icmp ult {}, {}\n    branch {}, b1({}), b2\nb2:\n",
        at(7),
        at(6),
        at(2),
        at(7),
        at(6)
    );
    let (add, kernel) = ADD.split_once("kernel").unwrap();
    let program =
        build(&parse(&format!("{add}{text}    ret\n}}\nkernel{kernel}kernel f1 args 16\n")), BackendChoice::Auto);
    if X86Backend::host().unwrap().is_some() {
        assert_eq!(program.kernels[1].resources.width, 1);
    }
    // Other kernels keep their packs.
    let alone = build(&parse(ADD), BackendChoice::Auto);
    assert_eq!(program.kernels[0].resources, alone.kernels[0].resources);
    assert_ne!(program.kernels[0].resources.width, 1);
}

/// What passes have replaced would stay in the tables and copies of all later stages.
#[test]
fn canonical_kernels_contain_only_their_code() {
    let mut module = parse(
        r#"
function f0 "k" imported {
b0:
    v1: ptr(global) = arg 0
    v2: i32 = const 0
    v3: i32 = const 1
    v4: i32 = const 4
    jump b1(v2)
b1(v5: i32):
    v6: i64 = sext v5
    v7: ptr(global) = addr scale 4 v1, v6
    store align 4 v7, v5
    v8: i32 = iadd v5, v3
    v9: b1 = icmp ult v8, v4
    branch v9, b1(v8), b2
b2:
    ret
}
kernel f0 args 8
"#,
    );
    let (kernel, options) = (module.kernels[0].func, Options::default());
    let observer = super::observer::StageObserver::new(&options, std::time::Instant::now());
    super::module::finish_canonical(&observer, &mut module, kernel, &options).unwrap();
    let func = &module.funcs[kernel];
    let blocks = func.layout.blocks();
    let insts = blocks.iter().map(|&block| func.layout.insts(block).len()).sum::<usize>();
    assert_eq!((blocks.len(), insts), (func.dfg.block_count(), func.dfg.inst_count()), "{func}");
}

/// A module with kernels of many instructions, which differ.
fn large_module() -> Module {
    let mut source = String::new();
    for kernel in 0..5 {
        let _ = writeln!(source, "function f{kernel} \"k{kernel}\" imported {{\nb0:\n    v0: ptr(global) = arg 0");
        let _ = writeln!(source, "    v1: i64 = global_id 0\n    v2: ptr(global) = addr scale 4 v0, v1");
        let _ = writeln!(source, "    v3: i32 = load align 4 v2\n    v4: i32 = const {}", 3 + kernel);
        for value in 5..1000 {
            let op = ["imul", "iadd", "xor"][value % 3];
            let _ = writeln!(source, "    v{value}: i32 = {op} v{}, v{}", value - 1, value - 2);
        }
        let _ = writeln!(source, "    store align 4 v2, v999\n    ret\n}}");
    }
    for kernel in 0..5 {
        let _ = writeln!(source, "kernel f{kernel} args 8");
    }
    parse(&source)
}

/// Kernels that are compiled at the same time have the code, and the lines of the log, of those that are compiled one after the
/// other.
#[test]
fn parallel_builds_give_the_same() {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    let parallel = Parallel(|count, work| {
        std::thread::scope(|scope| {
            for number in (0..count).rev() {
                THREADS.fetch_add(1, Ordering::Relaxed);
                scope.spawn(move || work(number));
            }
        });
    });
    let module = large_module();
    let dump = ["canonical", "looped", "asm", super::REPORT].map(str::to_owned).to_vec();
    let [one, several] = [Parallel::default(), parallel].map(|parallel| {
        let options = Options { parallel, dump: dump.clone(), ..Options::default() };
        super::build(imported(module.clone()), &options).unwrap_or_else(|error| panic!("{error}"))
    });
    assert!(THREADS.load(Ordering::Relaxed) >= 5 * 3, "the module counts as small");
    assert_eq!(one.log, several.log);
    let resources = |program: &Program| program.kernels.iter().map(|kernel| kernel.resources).collect::<Vec<_>>();
    assert_eq!(resources(&one), resources(&several));
}

/// Kernels that nothing has compiled are an error of the build.
#[test]
fn parallel_builds_report_missing_work() {
    let idle = Parallel(|_, _| {});
    let options = Options { parallel: idle, ..Options::default() };
    let error = super::build(imported(large_module()), &options).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "internal error: compiler: work on a kernel was not done");
}
