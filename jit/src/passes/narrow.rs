//! Narrows values of which only the low bits are used: from 64 to 32 bits, and from 32 to 16 or 8. Compilers tend to compute in
//! the width of addresses what the program computes with fewer bits, and truncate at each use; C computes with bytes as `int`.
//! A narrow operation is cheaper: more lanes fit in a vector, and many vector units have no 64-bit multiplication. They do not
//! multiply bytes either, and what is computed with bytes has operands of bytes only, so that no other one is truncated.
//!
//! Each such value becomes the extension of a narrow value, computed from the low bits of its operands; `simplify` then cancels
//! extensions and truncations. Sums without a narrow operand are not changed, because truncating their operands costs more.
//! A choice is narrowed if it is one among narrow values and constants.

use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Builder, Elem, Function, Imm, Inst, Opcode, Type, Value};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::Changed;
use super::util::Replacements;

/// Narrows every value that allows it.
pub(super) fn run(func: &mut Function) -> Changed {
    let edges = edges(func);
    let used = used_bits(func, &edges);
    let narrow = |func: &Function, value: Value| narrower(func.dfg.ty(value).elem, used[value]);
    let mut replacements = Replacements::default();
    let entry = func.layout.entry();
    for block in func.layout.blocks().to_vec() {
        for param in func.dfg.params(block).to_vec() {
            // Loops do not count in less than 32 bits.
            if Some(block) != entry
                && let Some(elem) = narrow(func, param)
                && (elem == Elem::I32 || !is_counter(func, block, param, &edges[block]))
            {
                replacements.set(param, narrow_param(func, block, param, elem, &edges[block]));
            }
        }
        for inst in func.layout.take_insts(block) {
            func.layout.append_inst(block, inst);
            let Some(value) = func.dfg.single_result(inst) else { continue };
            if keeps_low_bits(func, inst, used[value]) {
                let source = func.dfg.inst(inst).args[0];
                replacements.set(value, replacements.get(source));
                continue;
            }
            if used[value] <= Elem::I8.bits()
                && let Some(op) = byte_op(func, inst, used[value], &replacements)
            {
                replacements.set(value, narrow_op(func, block, inst, op, Elem::I8));
                continue;
            }
            let Some(elem) = narrow(func, value) else { continue };
            // The count of a left shift, or of a right shift that moves only bits that stay.
            let op = func.dfg.inst(inst).op;
            let most = if op == Opcode::Shl {
                Some(elem.bits() - 1)
            } else {
                matches!(op, Opcode::Lshr | Opcode::Ashr).then(|| elem.bits() - used[value])
            };
            let small = most.zip(constant(func, inst)).is_some_and(|(most, count)| count <= most.into());
            let is_narrow = |arg: Value| narrow(func, arg) == Some(elem) || is_extension(func, arg, elem);
            let args = func.dfg.inst(inst).args.as_slice();
            let pays = if op == Opcode::Select {
                let is_constant = |arg: Value| func.dfg.as_splat_bits(arg).is_some();
                args[1..].iter().all(|&arg| is_narrow(arg) || is_constant(arg))
            } else {
                (is_low_bits_op(op) || small) && args.iter().any(|&arg| is_narrow(arg))
            };
            if pays {
                replacements.set(value, narrow_op(func, block, inst, op, elem));
            }
        }
    }
    replacements.apply(func);
    Changed(replacements.any())
}

/// Whether an edge passes to a parameter what it was plus or minus a constant.
fn is_counter(func: &Function, block: Block, param: Value, terminators: &[Inst]) -> bool {
    let Some(index) = func.dfg.params(block).iter().position(|&p| p == param) else { return false };
    let steps = |value: Value| {
        // Bytes and shorts are cut off after each step.
        let mut at = value;
        while let Some(inst) = func.dfg.def_inst(at) {
            let data = func.dfg.inst(inst);
            let is_cut = matches!(data.op, Opcode::Zext | Opcode::Sext | Opcode::Itrunc)
                || data.op == Opcode::And && constant(func, inst).is_some();
            let is_step = matches!(data.op, Opcode::Iadd | Opcode::Isub) && constant(func, inst).is_some();
            if !is_cut && !is_step {
                break;
            }
            at = data.args[0];
        }
        at == param && value != param
    };
    terminators
        .iter()
        .flat_map(|&inst| func.dfg.targets(inst))
        .any(|call| call.block == block && steps(call.args[index]))
}

/// Whether a mask keeps all bits of its operand that are used.
fn keeps_low_bits(func: &Function, inst: Inst, used: u32) -> bool {
    func.dfg.inst(inst).op == Opcode::And
        && (1..64).contains(&used)
        && constant(func, inst).is_some_and(|mask| mask.trailing_ones() >= used)
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

/// The op on bytes that gives the `used` low bits of a wider op, if its operands are bytes.
fn byte_op(func: &Function, inst: Inst, used: u32, replacements: &Replacements) -> Option<Opcode> {
    let data = func.dfg.inst(inst);
    let extended = |arg: Value| {
        let inst = func.dfg.def_inst(replacements.get(arg))?;
        let data = func.dfg.inst(inst);
        if data.op == Opcode::And {
            return constant(func, inst).filter(|&mask| mask <= Elem::I8.mask()).map(|_| Opcode::Zext);
        }
        let is_extension = matches!(data.op, Opcode::Zext | Opcode::Sext);
        (is_extension && func.dfg.ty(data.args[0]).elem == Elem::I8).then_some(data.op)
    };
    let bits = Elem::I8.bits();
    let is_int = |value: Value| matches!(func.dfg.ty(value).elem, Elem::I16 | Elem::I32 | Elem::I64);
    if data.op == Opcode::Select {
        let fits = |&arg: &Value| func.dfg.as_splat_bits(arg).is_some() || extended(arg).is_some();
        return (is_int(data.args[1]) && data.args[1..].iter().all(fits)).then_some(Opcode::Select);
    }
    if !is_int(*data.args.first()?) {
        return None;
    }
    if data.op == Opcode::And && constant(func, inst).is_some() && func.dfg.as_splat_bits(data.args[0]).is_none() {
        // Whoever uses the masked bits cuts them off.
        return Some(Opcode::And);
    }
    if is_low_bits_op(data.op) && data.op != Opcode::Imul {
        let is_constant = |arg: Value| func.dfg.as_splat_bits(arg).is_some();
        let fit = data.args.iter().all(|&arg| is_constant(arg) || extended(arg).is_some());
        return (fit && !data.args.iter().all(|&arg| is_constant(arg))).then_some(data.op);
    }
    let count = constant(func, inst).filter(|&count| count < bits.into())? as u32;
    let extension = extended(data.args[0])?;
    if data.op == Opcode::Shl {
        return Some(Opcode::Shl);
    }
    // Zeros are shifted in, or those above the signs are not used. Signs take longer with bytes than with words.
    let unsigned = extension == Opcode::Zext && data.op == Opcode::Ashr;
    let logical = data.op == Opcode::Lshr && (extension == Opcode::Zext || used + count <= bits);
    (unsigned || logical).then_some(Opcode::Lshr)
}

/// The type in which to compute a value of which so many low bits are used, if it is narrower.
fn narrower(elem: Elem, used: u32) -> Option<Elem> {
    let half = match elem {
        Elem::I64 => Elem::I32,
        Elem::I32 => Elem::I16,
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::F16 | Elem::F32 | Elem::F64 | Elem::Ptr(_) => return None,
    };
    (1..=half.bits()).contains(&used).then_some(half)
}

/// Whether a value is an extension of a value that is at most as wide as `elem`.
fn is_extension(func: &Function, value: Value, elem: Elem) -> bool {
    func.dfg.def_inst(value).is_some_and(|inst| {
        let data = func.dfg.inst(inst);
        [Opcode::Zext, Opcode::Sext].contains(&data.op) && func.dfg.ty(data.args[0]).elem.bits() <= elem.bits()
    })
}

/// The terminators that branch to each block.
pub(super) fn edges(func: &Function) -> SecondaryMap<Block, Vec<Inst>> {
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
    } else if let (Opcode::Lshr | Opcode::Ashr, 0, Some(count)) = (data.op, operand, constant(func, inst)) {
        used.saturating_add(count as u32 % bits).min(bits)
    } else if is_low_bits_op(data.op) || data.op == Opcode::Select && operand > 0 {
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
fn narrow_param(func: &mut Function, block: Block, param: Value, elem: Elem, terminators: &[Inst]) -> Value {
    let ty = func.dfg.ty(param);
    let narrow = ty.with_elem(elem);
    let kept = replace_param(func, block, param, narrow, terminators, |b, arg| b.cast(Opcode::Itrunc, arg, narrow));
    Builder::before(func, block, 0).cast(Opcode::Zext, kept, ty)
}

/// Replaces a parameter by one of another type, to which the terminators pass what `converted` makes of their arguments.
pub(super) fn replace_param(
    func: &mut Function,
    block: Block,
    param: Value,
    ty: Type,
    terminators: &[Inst],
    converted: impl Fn(&mut Builder<'_>, Value) -> Value,
) -> Value {
    let Some(index) = func.dfg.params(block).iter().position(|&p| p == param) else {
        unreachable!("broken invariant: {param} is not a parameter of {block}")
    };
    for &terminator in terminators {
        let Some(from) = func.layout.block_of(terminator) else { continue };
        let calls = func.dfg.targets(terminator).into_iter().enumerate().filter(|(_, call)| call.block == block);
        let args: Vec<(usize, Value)> = calls.map(|(n, call)| (n, call.args[index])).collect();
        for (n, arg) in args {
            let at = func.layout.insts(from).len() - 1;
            let mut b = Builder::before(func, from, at);
            b.set_loc(b.func.locs[terminator]);
            let kept = converted(&mut b, arg);
            let args = &mut func.dfg.targets_mut(terminator)[n].args;
            args.remove(index);
            args.push(kept);
        }
    }
    func.dfg.remove_param(block, index);
    let kept = func.dfg.append_param(block, ty);
    if let Some(name) = func.names.remove(&param) {
        func.names.insert(kept, name);
    }
    kept
}

/// Appends an op on the low bits of its operands to the block, and the extension of its result. Returns the extension.
fn narrow_op(func: &mut Function, block: Block, inst: Inst, op: Opcode, elem: Elem) -> Value {
    let data = func.dfg.inst(inst).clone();
    let ty = func.dfg.ty(func.dfg.result(inst));
    let loc = func.locs[inst];
    let mut b = Builder::at_end(func, block);
    b.set_loc(loc);
    let cut = |(n, &arg): (usize, &Value)| {
        let chooses = op == Opcode::Select && n == 0;
        if chooses { arg } else { b.cast(Opcode::Itrunc, arg, ty.with_elem(elem)) }
    };
    let args: SmallVec<[Value; 3]> = data.args.iter().enumerate().map(cut).collect();
    let made = b.value(op, &args, Imm::None, ty.with_elem(elem));
    b.cast(Opcode::Zext, made, ty)
}
