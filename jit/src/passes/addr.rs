//! Folds index arithmetic into addresses: constant parts of an index become displacements, constant factors become scales, and an
//! address based on an address becomes one; if lanes' addresses are moved together, their common base is moved. All of it is
//! exact, because addresses wrap at 64 bits as the index arithmetic does. The computation of an index with fewer bits is folded
//! only if its flags, or bits that are known to be clear, say that it does not wrap.

use clift_kir::{Builder, Function, Imm, Inst, InstData, Opcode, Value, WrapFlags};

use super::Changed;
use super::util::Replacements;

/// Folds until nothing changes.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut changed = false;
    while round(func) {
        changed = true;
    }
    Changed(changed)
}

fn round(func: &mut Function) -> bool {
    let mut replacements = Replacements::default();
    for block in func.layout.blocks().to_vec() {
        for inst in func.layout.take_insts(block) {
            func.dfg.map_uses(inst, |v| replacements.get(v));
            let loc = func.locs[inst];
            let mut b = Builder::at_end(func, block);
            b.set_loc(loc);
            if let Some(value) = fold(&mut b, inst) {
                let result = func.dfg.result(inst);
                replacements.set(result, value);
            } else {
                func.layout.append_inst(block, inst);
            }
        }
    }
    replacements.apply(func);
    replacements.any()
}

fn fold(b: &mut Builder<'_>, inst: Inst) -> Option<Value> {
    let data = b.func.dfg.inst(inst);
    let Imm::Addr { scale, disp } = data.imm else { return None };
    let base = data.args[0];
    let index = data.args.get(1).copied();
    let constant = |b: &Builder<'_>, v: Value| b.func.dfg.as_splat_bits(v);
    let def = |b: &Builder<'_>, v: Value| b.func.dfg.def_inst(v).map(|i| b.func.dfg.inst(i).clone());
    if let Some(index) = index {
        // A scalar constant index is a displacement. A vector of constants stays an index.
        if (!b.ty(index).is_vector() || b.ty(base).is_vector())
            && let Some(bits) = constant(b, index)
        {
            let disp = disp.wrapping_add(bits.wrapping_mul(scale) as i64);
            return Some(b.addr(base, None, 1, disp));
        }
        if let Some(inner) = def(b, index)
            && let [x, y] = *inner.args.as_slice()
        {
            let right = constant(b, y);
            match (inner.op, right) {
                (Opcode::Iadd, Some(bits)) => {
                    return Some(b.addr(base, Some(x), scale, disp.wrapping_add(bits.wrapping_mul(scale) as i64)));
                }
                (Opcode::Imul, Some(bits)) => return Some(b.addr(base, Some(x), scale.wrapping_mul(bits), disp)),
                (Opcode::Shl, Some(bits)) => {
                    return Some(b.addr(base, Some(x), scale.wrapping_shl((bits % 64) as u32), disp));
                }
                _ => (),
            }
        }
        if let Some(value) = fold_extended(b, base, index, scale, disp) {
            return Some(value);
        }
        if scale == 0 && !b.ty(index).is_vector() {
            return Some(b.addr(base, None, 1, disp));
        }
    } else if disp == 0 {
        return Some(base);
    }
    // The base is an address with only a displacement: fold it.
    if let Some(inner) = def(b, base)
        && let Imm::Addr { scale: inner_scale, disp: inner_disp } = inner.imm
    {
        match (inner.args.as_slice(), index) {
            (&[inner_base], _) => return Some(b.addr(inner_base, index, scale, disp.wrapping_add(inner_disp))),
            (&[inner_base, inner_index], None) => {
                return Some(b.addr(inner_base, Some(inner_index), inner_scale, disp.wrapping_add(inner_disp)));
            }
            // base + i*s + c with a further index: move the displacement outward, where it can combine with others.
            (&[inner_base, inner_index], Some(_)) if inner_disp != 0 => {
                let inner = b.addr(inner_base, Some(inner_index), inner_scale, 0);
                return Some(b.addr(inner, index, scale, disp.wrapping_add(inner_disp)));
            }
            // Lanes' addresses, all moved by the same index: a scalar base is moved instead, so that the lanes have one index
            // each.
            (&[inner_base, inner_index], Some(shared))
                if b.ty(inner_index).is_vector() && !b.ty(inner_base).is_vector() && !b.ty(shared).is_vector() =>
            {
                let moved = b.addr(inner_base, Some(shared), scale, disp.wrapping_add(inner_disp));
                return Some(b.addr(moved, Some(inner_index), inner_scale, 0));
            }
            _ => (),
        }
    }
    None
}

/// Whether a sum adds a constant to bits that a shift has cleared, so that it cannot wrap: `2 * i + 1`.
fn fills_clear_bits(b: &Builder<'_>, sum: &InstData) -> bool {
    let (Opcode::Iadd, &[x, y]) = (sum.op, sum.args.as_slice()) else { return false };
    let shift = b.func.dfg.def_inst(x).map(|inst| b.func.dfg.inst(inst)).filter(|shift| shift.op == Opcode::Shl);
    let count = shift.and_then(|shift| b.func.dfg.as_splat_bits(shift.args[1]));
    let added = b.func.dfg.as_splat_bits(y);
    count.zip(added).is_some_and(|(count, added)| count < u64::from(b.ty(x).elem.bits()) && added < 1 << count)
}

/// An index computed with fewer bits that does not wrap, as a flag or the bits say: the constant part of the sum or product can
/// still be folded into the address.
fn fold_extended(b: &mut Builder<'_>, base: Value, index: Value, scale: u64, disp: i64) -> Option<Value> {
    let def = |b: &Builder<'_>, v: Value| b.func.dfg.def_inst(v).map(|i| b.func.dfg.inst(i).clone());
    let extension = def(b, index)?;
    let (Opcode::Sext | Opcode::Zext) = extension.op else { return None };
    let signed = extension.op == Opcode::Sext;
    let promise = if signed { WrapFlags::NO_SIGNED } else { WrapFlags::NO_UNSIGNED };
    let inner = def(b, extension.args[0])?;
    if !inner.imm.wrap().contains(promise) && !fills_clear_bits(b, &inner) {
        return None;
    }
    let bits = b.func.dfg.as_splat_bits(inner.args[1])?;
    let unused = 64 - b.ty(inner.args[0]).elem.bits();
    let constant = if signed { ((bits << unused) as i64 >> unused) as u64 } else { bits };
    let (scale, disp) = if inner.op == Opcode::Iadd {
        (scale, disp.wrapping_add(constant.wrapping_mul(scale) as i64))
    } else if inner.op == Opcode::Imul {
        (scale.wrapping_mul(constant), disp)
    } else if inner.op == Opcode::Shl {
        (scale.wrapping_shl(bits as u32 % (64 - unused)), disp)
    } else {
        return None;
    };
    let ty = b.ty(index);
    let index = b.cast(extension.op, inner.args[0], ty);
    Some(b.addr(base, Some(index), scale, disp))
}
