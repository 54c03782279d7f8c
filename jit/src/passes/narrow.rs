//! 64-bit values of which only the lowest bits are used become as narrow as that. Compilers like to compute in the width of
//! addresses what the program computes in fewer bits, and cut it down at each use. In its own width a sum is one addition, and
//! many of them fit in a vector; multiplications of 64 bits vectors often lack altogether.
//!
//! Each such value becomes the extension of a narrow one, made of the lowest bits of its operands; `simplify` then cancels
//! extensions against cuts. Sums without an operand that is narrow anyway are left alone: cutting their operands costs more.

use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Builder, Elem, Function, Imm, Inst, Opcode, Value};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::Changed;
use super::util::Replacements;

/// As narrow as values become: in less, machines do not compute faster.
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
            if !(carries(func.dfg.inst(inst).op) || is_shift && small) {
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

/// Whether the lowest bits of an op's result follow from as many of its operands.
fn carries(op: Opcode) -> bool {
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

/// Whether a value is an extension of something no wider than what is narrow here.
fn is_extension(func: &Function, value: Value) -> bool {
    func.dfg.def_inst(value).is_some_and(|inst| {
        let data = func.dfg.inst(inst);
        [Opcode::Zext, Opcode::Sext].contains(&data.op) && func.dfg.ty(data.args[0]).elem.bits() <= NARROW.bits()
    })
}

/// The terminators that lead to each block.
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

/// How many of its lowest bits matter to the users of each value.
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

/// How many of an operand's lowest bits matter, when `used` of the result do.
fn bits_of_operand(func: &Function, inst: Inst, operand: usize, used: u32) -> u32 {
    let data = func.dfg.inst(inst);
    let bits = func.dfg.single_result(inst).map_or(u32::MAX, |result| func.dfg.ty(result).elem.bits());
    if used == 0 && data.op.is_pure() {
        0
    } else if let (Opcode::And, 0, Some(mask)) = (data.op, operand, constant(func, inst)) {
        used.min(64 - mask.leading_zeros())
    } else if let (Opcode::Shl, 0, Some(count)) = (data.op, operand, constant(func, inst)) {
        if used > bits { bits } else { used.saturating_sub(count as u32 % bits).max(1) }
    } else if carries(data.op) {
        used
    } else if data.op == Opcode::Itrunc {
        used.min(bits)
    } else {
        u32::MAX
    }
}

/// The second operand, if it is a constant.
fn constant(func: &Function, inst: Inst) -> Option<u64> {
    func.dfg.inst(inst).args.get(1).and_then(|&arg| func.dfg.as_splat_bits(arg))
}

/// A narrow parameter in place of a wide one; gives its extension at the start of the block.
fn narrow_param(func: &mut Function, block: Block, param: Value, terminators: &[Inst]) -> Value {
    let Some(index) = func.dfg.params(block).iter().position(|&p| p == param) else {
        unreachable!("broken invariant: {param} is no parameter of {block}")
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

/// An op on the lowest bits of its operands, at the end of a block, and the extension of its result. Gives the extension.
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
