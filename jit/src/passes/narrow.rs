//! Narrows 64-bit values of which only the low bits are used. Compilers tend to compute in the width of addresses what the
//! program computes with fewer bits, and truncate at each use. A narrow operation is cheaper: more lanes fit in a vector, and
//! many vector units have no 64-bit multiplication.
//!
//! Each such value becomes the extension of a narrow value, computed from the low bits of its operands; `simplify` then cancels
//! extensions and truncations. Sums without a narrow operand are not changed, because truncating their operands costs more.

use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Builder, Elem, Function, Imm, Inst, Opcode, Value};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::Changed;
use super::util::Replacements;

/// The narrowest type used. Narrower operations are not faster.
const NARROW: Elem = Elem::I32;

/// Narrows every value that allows it.
pub(super) fn run(func: &mut Function) -> Changed {
    let edges = edges(func);
    let used = used_bits(func, &edges);
    let narrow = |func: &Function, value: Value| {
        func.dfg.ty(value).elem == Elem::I64 && (1..=NARROW.bits()).contains(&used[value])
    };
    let mut replacements = Replacements::default();
    let entry = func.layout.entry();
    for block in func.layout.blocks().to_vec() {
        for param in func.dfg.params(block).to_vec() {
            if Some(block) != entry && narrow(func, param) {
                replacements.set(param, narrow_param(func, block, param, &edges[block]));
            }
        }
        for inst in func.layout.take_insts(block) {
            func.layout.append_inst(block, inst);
            let Some(value) = func.dfg.single_result(inst) else { continue };
            if !narrow(func, value) {
                continue;
            }
            let is_shift = func.dfg.inst(inst).op == Opcode::Shl;
            let small = constant(func, inst).is_some_and(|count| count < NARROW.bits().into());
            if !(is_low_bits_op(func.dfg.inst(inst).op) || is_shift && small) {
                continue;
            }
            if func.dfg.inst(inst).args.iter().any(|&arg| narrow(func, arg) || is_extension(func, arg)) {
                replacements.set(value, narrow_op(func, block, inst));
            }
        }
    }
    replacements.apply(func);
    Changed(replacements.any())
}

/// Whether the low bits of an op's result depend only on the same number of low bits of its operands.
fn is_low_bits_op(op: Opcode) -> bool {
    matches!(
        op,
        Opcode::Iadd
            | Opcode::Isub
            | Opcode::Imul
            | Opcode::Ineg
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Not
    )
}

/// Whether a value is an extension of a value that is at most as wide as [`NARROW`].
fn is_extension(func: &Function, value: Value) -> bool {
    func.dfg.def_inst(value).is_some_and(|inst| {
        let data = func.dfg.inst(inst);
        [Opcode::Zext, Opcode::Sext].contains(&data.op) && func.dfg.ty(data.args[0]).elem.bits() <= NARROW.bits()
    })
}

/// The terminators that branch to each block.
fn edges(func: &Function) -> SecondaryMap<Block, Vec<Inst>> {
    let mut edges: SecondaryMap<Block, Vec<Inst>> = SecondaryMap::with_capacity(func.dfg.block_count());
    for &block in func.layout.blocks() {
        let Some(terminator) = func.layout.terminator(block) else { continue };
        for call in func.dfg.targets(terminator) {
            if edges[call.block].last() != Some(&terminator) {
                edges[call.block].push(terminator);
            }
        }
    }
    edges
}

/// By value: the number of low bits that its users need.
fn used_bits(func: &Function, edges: &SecondaryMap<Block, Vec<Inst>>) -> SecondaryMap<Value, u32> {
    let mut used: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(func.dfg.value_count());
    let mut work: Vec<Inst> = Vec::new();
    for &block in func.layout.blocks() {
        work.extend(func.layout.insts(block));
    }
    while let Some(inst) = work.pop() {
        let data = func.dfg.inst(inst);
        let mut raised: SmallVec<[Value; 4]> = SmallVec::new();
        let of_result = func.dfg.single_result(inst).map_or(u32::MAX, |result| used[result]);
        for (i, &arg) in data.args.iter().enumerate() {
            let bits = bits_of_operand(func, inst, i, of_result);
            if bits > used[arg] {
                used[arg] = bits;
                raised.push(arg);
            }
        }
        for call in func.dfg.targets(inst) {
            for (&arg, &param) in call.args.iter().zip(func.dfg.params(call.block)) {
                if used[param] > used[arg] {
                    used[arg] = used[param];
                    raised.push(arg);
                }
            }
        }
        for value in raised {
            match func.dfg.def(value) {
                ValueDef::Result(inst, _) => work.push(inst),
                ValueDef::Param(block, _) => work.extend(&edges[block]),
            }
        }
    }
    used
}

/// The number of low bits of an operand that are needed if `used` low bits of the result are.
fn bits_of_operand(func: &Function, inst: Inst, operand: usize, used: u32) -> u32 {
    let data = func.dfg.inst(inst);
    let bits = func.dfg.single_result(inst).map_or(u32::MAX, |result| func.dfg.ty(result).elem.bits());
    if used == 0 && data.op.is_pure() {
        0
    } else if let (Opcode::And, 0, Some(mask)) = (data.op, operand, constant(func, inst)) {
        used.min(64 - mask.leading_zeros())
    } else if let (Opcode::Shl, 0, Some(count)) = (data.op, operand, constant(func, inst)) {
        if used > bits { bits } else { used.saturating_sub(count as u32 % bits).max(1) }
    } else if is_low_bits_op(data.op) {
        used
    } else if data.op == Opcode::Itrunc {
        used.min(bits)
    } else {
        u32::MAX
    }
}

/// The second operand, if it is constant.
fn constant(func: &Function, inst: Inst) -> Option<u64> {
    func.dfg.inst(inst).args.get(1).and_then(|&arg| func.dfg.as_splat_bits(arg))
}

/// Replaces a wide parameter by a narrow one. Returns its extension at the start of the block.
fn narrow_param(func: &mut Function, block: Block, param: Value, terminators: &[Inst]) -> Value {
    let Some(index) = func.dfg.params(block).iter().position(|&p| p == param) else {
        unreachable!("broken invariant: {param} is not a parameter of {block}")
    };
    let ty = func.dfg.ty(param);
    for &terminator in terminators {
        let Some(from) = func.layout.block_of(terminator) else { continue };
        let calls = func.dfg.targets(terminator).into_iter().enumerate().filter(|(_, call)| call.block == block);
        let args: Vec<(usize, Value)> = calls.map(|(n, call)| (n, call.args[index])).collect();
        for (n, arg) in args {
            let at = func.layout.insts(from).len() - 1;
            let mut b = Builder::before(func, from, at);
            b.set_loc(b.func.locs[terminator]);
            let kept = b.cast(Opcode::Itrunc, arg, ty.with_elem(NARROW));
            let args = &mut func.dfg.targets_mut(terminator)[n].args;
            args.remove(index);
            args.push(kept);
        }
    }
    func.dfg.remove_param(block, index);
    let kept = func.dfg.append_param(block, ty.with_elem(NARROW));
    if let Some(name) = func.names.remove(&param) {
        func.names.insert(kept, name);
    }
    Builder::before(func, block, 0).cast(Opcode::Zext, kept, ty)
}

/// Appends an op on the low bits of its operands to the block, and the extension of its result. Returns the extension.
fn narrow_op(func: &mut Function, block: Block, inst: Inst) -> Value {
    let data = func.dfg.inst(inst).clone();
    let ty = func.dfg.ty(func.dfg.result(inst));
    let loc = func.locs[inst];
    let mut b = Builder::at_end(func, block);
    b.set_loc(loc);
    let args: SmallVec<[Value; 2]> =
        data.args.iter().map(|&arg| b.cast(Opcode::Itrunc, arg, ty.with_elem(NARROW))).collect();
    let made = b.value(data.op, &args, Imm::None, ty.with_elem(NARROW));
    b.cast(Opcode::Zext, made, ty)
}
