//! Simplification: folds constants and applies algebraic identities. The rules lead to one canonical form, and no rule makes code
//! worse: it yields an existing value, a constant, or one cheaper instruction.
//!
//! The rules are split by class of op: [`int`] with [`bools`], [`float`], [`convert`], [`lanes`].

mod bools;
mod convert;
mod division;
mod float;
mod fold;
mod int;
mod lanes;
mod permuted_bytes;

pub(super) use bools::is_flag;
pub(super) use fold::evaluate;

use clift_kir::dfg::ConstData;
use clift_kir::ops::OpClass;
use clift_kir::{Builder, Function, Imm, Inst, InstData, Opcode, Type, Value};

use super::Changed;
use super::util::Replacements;

/// The most rounds. Each may enable further simplifications; few are needed.
const MAX_ROUNDS: u32 = 6;

/// Simplifies until nothing changes.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut changed = false;
    for _ in 0..MAX_ROUNDS {
        if !round(func) {
            break;
        }
        changed = true;
        super::dce::run(func);
    }
    Changed(changed)
}

fn round(func: &mut Function) -> bool {
    let mut replacements = Replacements::default();
    let mut changed = false;
    for block in clift_kir::analysis::Cfg::new(func).rpo().to_vec() {
        for inst in func.layout.take_insts(block) {
            func.dfg.map_uses(inst, |v| replacements.get(v));
            changed |= in_place(func, inst);
            if func.dfg.inst(inst).op.is_pure() && func.dfg.inst(inst).op != Opcode::Const {
                let loc = func.locs[inst];
                let mut b = Builder::at_end(func, block);
                b.set_loc(loc);
                if let Some(value) = simplify(&mut b, inst) {
                    let result = func.dfg.result(inst);
                    replacements.set(result, value);
                    changed = true;
                }
            }
            func.layout.append_inst(block, inst);
        }
    }
    replacements.apply(func);
    changed
}

/// Changes that keep the instruction: a branch on an inverted condition swaps its targets.
fn in_place(func: &mut Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    if let (Opcode::Branch, Imm::Branch(calls)) = (data.op, &data.imm)
        && let Some(not) = func.dfg.def_inst(data.args[0])
        && func.dfg.inst(not).op == Opcode::Not
    {
        let [then, otherwise] = (**calls).clone();
        let cond = func.dfg.inst(not).args[0];
        let imm = Imm::Branch(Box::new([otherwise, then]));
        func.dfg.replace_inst(inst, InstData { op: Opcode::Branch, args: [cond].into_iter().collect(), imm });
        return true;
    }
    false
}

/// A value to replace the instruction's result.
fn simplify(b: &mut Builder<'_>, inst: Inst) -> Option<Value> {
    let data = b.func.dfg.inst(inst).clone();
    let ty = b.func.dfg.ty(b.func.dfg.single_result(inst)?);
    if let Some(constant) = fold::fold(b, &data, ty) {
        return Some(constant);
    }
    // A constant becomes the right operand.
    if data.op.commutes() && splat_bits(b, data.args[0]).is_some() && splat_bits(b, data.args[1]).is_none() {
        let mut args = data.args;
        args.swap(0, 1);
        return Some(b.value(data.op, &args, data.imm, ty));
    }
    match data.op.class() {
        OpClass::Int(op) => int::rules(b, op, &data, ty),
        OpClass::Float(op) => float::rules(b, op, &data, ty),
        OpClass::Convert(op) => convert::rules(b, op, &data, ty),
        OpClass::Lane(_) | OpClass::Address(_) => lanes::rules(b, &data, ty),
        OpClass::Leaf(_)
        | OpClass::Memory(_)
        | OpClass::Image(_)
        | OpClass::Query(_)
        | OpClass::Sync(_)
        | OpClass::Collective(_)
        | OpClass::Call(_)
        | OpClass::Terminator(_) => None,
    }
}

/// The instruction that defines a value, if it has the opcode `op`.
fn defined_by<'f>(b: &'f Builder<'_>, value: Value, op: Opcode) -> Option<&'f InstData> {
    let data = b.func.dfg.inst(b.func.dfg.def_inst(value)?);
    (data.op == op).then_some(data)
}

/// The bits of a constant whose lanes are all equal.
fn splat_bits(b: &Builder<'_>, value: Value) -> Option<u64> {
    b.func.dfg.as_splat_bits(value)
}

/// Whether a value is a constant with these bits in every lane.
fn is_bits(b: &Builder<'_>, value: Value, bits: u64) -> bool {
    splat_bits(b, value) == Some(bits)
}

/// A constant with these bits in every lane.
fn splat(b: &mut Builder<'_>, ty: Type, bits: u64) -> Value {
    b.constant(ConstData::splat(ty, bits))
}
