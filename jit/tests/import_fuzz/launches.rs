//! The body of the fuzz target for launches: shared by the test that mutates known modules and the `cargo fuzz` target.

use std::sync::mpsc;
use std::time::Duration;

use clift_jit::testing::{canonicalize, launch};
use clift_jit::{ArgKind, ModuleInput, Options, spirv};
use clift_kir::interp::{Geometry, Interleave, InterpOptions};
use clift_kir::testing::run::{Arg, Fill, RunCase, RunResult, compare, interpret_once};
use clift_kir::{Imm, Module, Opcode, Stage, Type};

/// Instructions that the interpreter executes at most for a work-group; a launch that takes more is not compared.
const FUEL: u64 = 50_000;
/// Bytes of the private variables of a work-item, and of the variables of a module, at most.
const MOST_BYTES: u64 = 1 << 16;
/// Bytes of a buffer.
const BUFFER_BYTES: usize = 4096;
/// What a launch may take that the interpreter ends within its fuel.
const LIMIT: Duration = Duration::from_secs(120);

/// Takes any words through the import, and runs the kernels of what it accepts: a launch without undefined behaviour, as the
/// interpreter finds, has the same results in all ways.
pub(crate) fn run(words: &[u32]) {
    let options = Options::default();
    let Ok(mut imported) = spirv::import(&[ModuleInput::new(words)], &options) else { return };
    // Functions of other modules would have to be linked.
    let is_linked = imported.module.funcs.values().all(|func| !func.layout.blocks().is_empty());
    if !is_linked || depends_on_addresses(&imported.module) || is_large(&imported.module) {
        return;
    }
    if canonicalize(&mut imported.module, &options).is_err() {
        return;
    }
    for kernel in imported.kernels.iter().filter(|kernel| !kernel.is_child) {
        let mut args = Vec::new();
        for arg in &kernel.args {
            let value = match arg.kind {
                ArgKind::GlobalPointer | ArgKind::ConstantPointer => {
                    Arg::Buffer { ty: Type::I8, count: BUFFER_BYTES, fill: Fill::Range(1, 37) }
                }
                ArgKind::LocalPointer { .. } => Arg::Local(1024),
                ArgKind::Value => {
                    let bytes = arg.slot.size as usize;
                    let lanes = clift_kir::interp::Lanes {
                        ty: Type::I8,
                        bits: (0..bytes as u64).map(|i| (i == 0).into()).collect(),
                    };
                    Arg::Value(lanes)
                }
                ArgKind::Image { .. } | ArgKind::Sampler | ArgKind::Pipe | ArgKind::Queue => return,
            };
            args.push((arg.slot.offset, value));
        }
        let local_size = kernel.required_local_size.unwrap_or([16, 1, 1]);
        let items: u64 = local_size.iter().product();
        if !(1..=256).contains(&items)
            || kernel.required_sub_groups.is_some()
            || kernel.required_sub_group_size.is_some()
        {
            continue;
        }
        let global_size = [local_size[0] * 2, local_size[1], local_size[2]];
        let geometry = Geometry { work_dim: 3, global_size, global_offset: [0; 3], local_size };
        launches(&imported.module, &RunCase::new(&kernel.name, geometry, args));
    }
}

/// Takes any text of the kernel IR, and runs launches of its kernels in the same way, if it is well-formed.
pub(crate) fn run_text(text: &str, cases: &[RunCase]) {
    let Ok(module) = clift_kir::text::parse_module(text) else { return };
    let is_canonical = module.funcs.values().all(|func| func.stage == Stage::Canonical);
    if !is_canonical || clift_kir::verify::module(&module).is_err() {
        return;
    }
    if depends_on_addresses(&module) || claims_more(&module) || is_large(&module) {
        return;
    }
    for case in cases.iter().filter(|case| module.kernel(&case.kernel).is_some()) {
        launches(&module, case);
    }
}

/// Whether loads claim that nothing changes their memory, which the interpreter does not check.
fn claims_more(module: &Module) -> bool {
    module.funcs.values().any(|func| {
        let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
        insts.into_iter().any(|&inst| matches!(&func.dfg.inst(inst).imm, Imm::Mem(info) if info.invariant))
    })
}

/// Runs a launch in all ways, and compares, if its result is defined.
fn launches(module: &Module, case: &RunCase) {
    let orders = [(0, Interleave::Barriers), (2, Interleave::Accesses)];
    let mut wanted: Option<RunResult> = None;
    for (seed, interleave) in orders {
        let sub_group_size = case.sub_group_size;
        let options = InterpOptions { seed, interleave, fuel: FUEL, sub_group_size, ..InterpOptions::default() };
        let Ok(result) = interpret_once(module, case, &options) else { return };
        if !result.faults.is_empty() || wanted.as_ref().is_some_and(|wanted| differ(wanted, &result).is_some()) {
            return;
        }
        wanted.get_or_insert(result);
    }
    let Some(wanted) = wanted else { return };
    let ways = ["cranelift", "host, 16 lanes", "avx2, 8 lanes"];
    for how in launch::ways().filter(|how| ways.contains(&how.name) && how.suits(module, case)) {
        let (sender, receiver) = mpsc::channel();
        let (of_thread, case_of_thread) = (module.clone(), case.clone());
        std::thread::spawn(move || sender.send(launch::execute(&of_thread, &case_of_thread, how)));
        match receiver.recv_timeout(LIMIT) {
            Err(error) => panic!("{}: a launch that should end does not, or panicked: {error}\n{module}", how.name),
            Ok(Err(error)) => panic!("{}: {error}\n{module}", how.name),
            Ok(Ok(found)) => {
                if let Some(difference) = differ(&wanted, &found) {
                    panic!("{}: kernel {}: {difference}\n{module}", how.name, case.kernel);
                }
            }
        }
    }
}

/// How two results differ; all NaNs are equal, whatever the type of the elements.
fn differ(wanted: &RunResult, found: &RunResult) -> Option<String> {
    for ((offset, wanted), (_, found)) in wanted.buffers.iter().zip(&found.buffers) {
        let differences = [Type::F16, Type::F32, Type::F64].map(|ty| compare(ty, wanted, found));
        if let [Err(difference), Err(_), Err(_)] = differences {
            return Some(format!("buffer {offset}: {difference}"));
        }
    }
    None
}

/// Whether results may depend on where objects are, or on what is undefined.
fn depends_on_addresses(module: &Module) -> bool {
    let insts = module.funcs.values().flat_map(|func| {
        let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
        insts.map(move |&inst| (func, inst))
    });
    insts.into_iter().any(|(func, inst)| {
        let data = func.dfg.inst(inst);
        let has_flags = match data.imm {
            Imm::Fp(flags) | Imm::FloatCond(_, flags) => !flags.is_empty(),
            Imm::Wrap(flags) => !flags.is_empty(),
            // What numbers become that are out of range.
            Imm::Convert(how) => !how.saturate && matches!(data.op, Opcode::FptoS | Opcode::FptoU),
            _ => false,
        };
        let accesses_pointer = data.op == Opcode::Load && func.dfg.ty(func.dfg.result(inst)).is_ptr()
            || data.op == Opcode::Store && func.dfg.ty(data.args[1]).is_ptr();
        has_flags
            || accesses_pointer
            || [Opcode::PtrToInt, Opcode::IntToPtr, Opcode::Undef, Opcode::Request, Opcode::Clock, Opcode::Printf]
                .contains(&data.op)
    })
}

/// Whether a module's variables take much memory.
fn is_large(module: &Module) -> bool {
    let globals: u64 = module.globals.values().map(|global| global.size).fold(0, u64::saturating_add);
    let slots = |func: &clift_kir::Function| func.slots.values().map(|slot| slot.size).fold(0, u64::saturating_add);
    globals > MOST_BYTES || module.funcs.values().any(|func| slots(func) > MOST_BYTES)
}
