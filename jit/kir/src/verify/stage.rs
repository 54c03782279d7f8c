//! What each [`Stage`] allows, and the module's own rules: variables and kernels.

use super::immediate::power_of_two;
use super::{Checker, VerifyError, each_inst};
use crate::entities::{Block, Inst};
use crate::function::Stage;
use crate::inst::{Imm, MemScope};
use crate::module::Module;
use crate::ops::{AddressOp, CallOp, CollectiveOp, LaneOp, LeafOp, MemoryOp, OpClass, Opcode, SyncOp};
use crate::types::{Space, Type};

/// Types of the entry parameters from the looped stage on: context, argument block, first group, group count.
pub const LOOPED_PARAMS: [Type; 4] = [Type::ptr(Space::Host), Type::ptr(Space::Host), Type::I64, Type::I64];

/// Types of the entry parameters of called functions from the looped stage on: context, record.
pub(super) const CALLED_PARAMS: [Type; 2] = [Type::ptr(Space::Host), Type::ptr(Space::Private)];

/// The function's stage and, if it is a kernel, its form.
pub(super) fn check(report: &mut Checker<'_>, module: &Module) {
    let func = report.func;
    for (slot, data) in &func.slots {
        if let Err(message) = power_of_two(data.align.into()) {
            report.function(format!("{slot}: {message}"));
        }
    }
    for (block, inst) in each_inst(func) {
        if let Err(message) = allowed(report, module, block, inst) {
            report.inst(block, inst, message);
        }
    }
    // By name: a function being rewritten is not (yet) the module's.
    let named = |id| module.funcs.get(id).is_some_and(|f| f.name == func.name);
    let kernel = module.kernels.iter().find(|k| named(k.func));
    let looped = func.stage >= Stage::Looped;
    if !(looped || kernel.is_some()) {
        return;
    }
    let params = func.param_types();
    let wanted: &[Type] = if looped { &LOOPED_PARAMS } else { &[] };
    let is_called = looped && kernel.is_none() && params == CALLED_PARAMS;
    if params != wanted && !is_called {
        report.function(format!("parameters of a kernel are {wanted:?} at this stage, not {params:?}"));
    }
    if !func.returns.is_empty() {
        report.function("a kernel returns nothing");
    }
    let Some(kernel) = kernel else { return };
    for (block, inst) in each_inst(func) {
        let data = func.dfg.inst(inst);
        let Imm::Offset(offset) = data.imm else { continue };
        let size =
            if data.op == Opcode::Arg { func.dfg.single_result(inst).map_or(0, |v| func.dfg.ty(v).bytes()) } else { 0 };
        if u64::from(offset) + u64::from(size) > u64::from(kernel.arg_block_bytes) {
            report.inst(block, inst, format!("lies beyond the argument block of {} bytes", kernel.arg_block_bytes));
        }
    }
}

fn allowed(report: &Checker<'_>, module: &Module, block: Block, inst: Inst) -> Result<(), String> {
    let func = report.func;
    let data = func.dfg.inst(inst);
    let gone_since = |stage: Stage| {
        if func.stage >= stage {
            let name = Stage::ALL.iter().find(|(s, _)| *s == stage).map_or("", |(_, name)| name);
            Err(format!("does not exist from stage `{name}` on"))
        } else {
            Ok(())
        }
    };
    match data.op.class() {
        OpClass::Leaf(op) => match op {
            LeafOp::Const | LeafOp::Undef => Ok(()),
            // Places in the backend's stack frame.
            LeafOp::SlotAddr if func.stage == Stage::Legal => Ok(()),
            LeafOp::Arg | LeafOp::ArgAddr | LeafOp::SlotAddr => gone_since(Stage::Looped),
            LeafOp::GlobalAddr => {
                if let Imm::Global(id) = data.imm
                    && module.globals.get(id).is_some_and(|g| g.space == Space::Local)
                {
                    gone_since(Stage::Looped)
                } else {
                    Ok(())
                }
            }
        },
        OpClass::Lane(LaneOp::ExtractDyn | LaneOp::InsertDyn | LaneOp::Reduce)
        | OpClass::Address(AddressOp::InSpace) => gone_since(Stage::Legal),
        OpClass::Query(_) | OpClass::Image(_) => gone_since(Stage::Looped),
        OpClass::Collective(op) => match op {
            CollectiveOp::PackAny | CollectiveOp::GroupBallot | CollectiveOp::GroupShuffle => {
                gone_since(Stage::Widened)
            }
            CollectiveOp::GroupReduce | CollectiveOp::GroupScan | CollectiveOp::GroupScanExclusive => {
                if let Imm::Group(info) = &data.imm
                    && info.scope == MemScope::SubGroup
                {
                    return gone_since(Stage::Widened);
                } else {
                    gone_since(Stage::Looped)?
                }
                if func.stage >= Stage::Regioned && func.layout.insts(block).iter().rev().nth(1) != Some(&inst) {
                    return Err(
                        "a work-group's operation stands right before its block's terminator at this stage".to_owned()
                    );
                }
                Ok(())
            }
        },
        OpClass::Sync(op) => match op {
            SyncOp::Barrier => {
                gone_since(Stage::Looped)?;
                let group = matches!(&data.imm, Imm::Barrier(info) if info.execution == MemScope::WorkGroup);
                let insts = func.layout.insts(block);
                if func.stage >= Stage::Regioned && group && insts.iter().rev().nth(1) != Some(&inst) {
                    return Err("a barrier stands right before its block's terminator at this stage".to_owned());
                }
                Ok(())
            }
            // Their places are not bound to blocks: the regions of such kernels are found when the loops are made.
            SyncOp::NamedBarrier | SyncOp::Yield => gone_since(Stage::Looped),
            SyncOp::Deadlock => Ok(()),
        },
        OpClass::Call(op) => match op {
            CallOp::Call if func.stage >= Stage::Canonical => {
                let types: Vec<Type> = data.args.iter().map(|&v| func.dfg.ty(v)).collect();
                match (&types[..], func.dfg.results(inst)) {
                    ([record], []) if *record == Type::ptr(Space::Private) => Ok(()),
                    _ => Err("takes the address of a record and returns nothing at this stage".to_owned()),
                }
            }
            // Format, descriptors, their count, data.
            CallOp::Printf if func.stage == Stage::Legal => {
                let types: Vec<Type> = data.args.iter().map(|&v| func.dfg.ty(v)).collect();
                match *types {
                    [_, descriptors, Type::I64, values] if descriptors.is_ptr() && values.is_ptr() => Ok(()),
                    _ => Err("takes a format, descriptors, their count and the data at this stage".to_owned()),
                }
            }
            // Number, the other operands in memory, their count.
            CallOp::Request if func.stage == Stage::Legal => {
                let types: Vec<Type> = data.args.iter().map(|&v| func.dfg.ty(v)).collect();
                match *types {
                    [Type::I32, operands, Type::I64] if operands.is_ptr() => Ok(()),
                    _ => Err("takes a number, operands in memory and their count at this stage".to_owned()),
                }
            }
            CallOp::Call | CallOp::LibCall | CallOp::Printf | CallOp::Request | CallOp::Clock | CallOp::Check => Ok(()),
        },
        // They are there at stage *legal* if the backend has them, for vectors: one element is accessed behind a branch.
        OpClass::Memory(MemoryOp::MaskedLoad | MemoryOp::MaskedStore | MemoryOp::Gather | MemoryOp::Scatter)
            if func.stage == Stage::Legal =>
        {
            let accessed = |ty: Type| match ty.is_vector() {
                true => Ok(()),
                false => Err(format!("accesses a vector at this stage, not {ty}")),
            };
            match func.dfg.results(inst) {
                [result] => accessed(func.dfg.ty(*result)),
                _ => data.args.get(1).map_or(Ok(()), |&value| accessed(func.dfg.ty(value))),
            }
        }
        OpClass::Int(_)
        | OpClass::Float(_)
        | OpClass::Convert(_)
        | OpClass::Lane(_)
        | OpClass::Address(AddressOp::Addr)
        | OpClass::Memory(_)
        | OpClass::Terminator(_) => Ok(()),
    }
}

/// Variables and kernels of a module.
pub(super) fn module(module: &Module, errors: &mut Vec<VerifyError>) {
    let mut wrong = |message: String| {
        errors.push(VerifyError { function: String::new(), block: None, inst: None, message });
    };
    for (id, global) in &module.globals {
        if let Err(message) = power_of_two(global.align.into()) {
            wrong(format!("{id}: {message}"));
        }
        match global.space {
            Space::Global | Space::Constant => {}
            Space::Local => {
                if !global.init.bytes.is_empty() || !global.init.addresses.is_empty() {
                    wrong(format!("{id}: local memory has no initial content"));
                }
            }
            Space::Private | Space::Generic | Space::Host => {
                wrong(format!("{id}: a variable is in global, constant or local memory, not {}", global.space.name()));
            }
        }
        if global.init.bytes.len() as u64 > global.size {
            wrong(format!("{id}: more initial bytes than its size"));
        }
        for &(offset, target, _) in &global.init.addresses {
            if offset.checked_add(8).is_none_or(|end| end > global.size) {
                wrong(format!("{id}: initial address at {offset} lies beyond its size"));
            }
            match module.globals.get(target) {
                None => wrong(format!("{id}: initial address of {target}, which does not exist")),
                Some(data) if data.space == Space::Local => {
                    wrong(format!("{id}: initial address of {target}, which is a work-group's"));
                }
                Some(_) => {}
            }
        }
    }
    for (i, kernel) in module.kernels.iter().enumerate() {
        let Some(func) = module.funcs.get(kernel.func) else {
            wrong(format!("kernel {i}: the module has no {}", kernel.func));
            continue;
        };
        if module.kernels[..i].iter().any(|k| module.funcs.get(k.func).is_some_and(|f| f.name == func.name)) {
            wrong(format!("kernel {i}: the name `{}` occurs twice", func.name));
        }
        if kernel.required_local_size.is_some_and(|size| size.contains(&0)) {
            wrong(format!("kernel {i}: a required size of 0"));
        }
    }
}
