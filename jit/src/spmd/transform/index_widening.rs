//! Index widening: indices are computed in the width of addresses where the source promises that they do not wrap.
//!
//! `a[i * stride + k]` with `int` indices extends a 32-bit sum. The source promises that the sum does not wrap (signed overflow
//! is undefined), but the promise binds only work-items that execute it. A pack computes one scalar for its lanes from the first
//! lane's operands, and that lane may be inactive. So the promises are used here, once, before packs are made: the extension of a
//! sum becomes a sum of extensions. Both are equal for each work-item that keeps the promise, and the latter is affine for all
//! lanes. Only affine values are rewritten; for varying indices, fewer bits are better.
//!
//! A mask that keeps the lowest bits of an affine value becomes an extension, which can be checked at run time
//! ([`Divergence::conditional`]).

use clift_kir::dfg::{ConstData, ValueDef};
use clift_kir::{Block, Function, Imm, Inst, InstData, Opcode, Type, Value, WrapFlags};
use rustc_hash::FxHashMap;

use super::normalize::NormalForm;
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Shape;

/// How many definitions deep the operands of a sum are rewritten.
const MAX_DEPTH: u32 = 32;

/// Rewrites a kernel's indices for packs of `lanes` lanes. No `nsw` or `nuw` flag is left afterwards.
pub(crate) fn run(normal: &mut NormalForm, lanes: u32) {
    let candidates = candidates(normal, lanes);
    if !candidates.is_empty() {
        let divergence = normal.divergence(lanes, false);
        let mut widener = IndexWidener {
            func: normal.func_mut(),
            divergence: &divergence,
            converted: FxHashMap::default(),
            at_start: FxHashMap::default(),
            after: FxHashMap::default(),
        };
        for inst in candidates {
            widener.rewrite(inst);
        }
        widener.place();
    }
    // Divergence does not depend on the flags.
    let NormalForm { func, cfg, .. } = normal;
    for &block in cfg.rpo() {
        for i in 0..func.layout.insts(block).len() {
            let data = func.dfg.inst_mut(func.layout.insts(block)[i]);
            if let Imm::Wrap(_) = data.imm {
                data.imm = Imm::None;
            }
        }
    }
}

/// The extensions and masks that hide from packs of `lanes` lanes that their operands are affine.
fn candidates(normal: &NormalForm, lanes: u32) -> Vec<Inst> {
    let NormalForm { func, cfg, .. } = normal;
    let insts = cfg.rpo().iter().flat_map(|&block| func.layout.insts(block)).copied();
    let candidates: Vec<Inst> = insts.filter(|&inst| candidate(func, inst)).collect();
    if candidates.is_empty() {
        return candidates;
    }
    let divergence = normal.divergence(lanes, false);
    let hides = |&inst: &Inst| {
        divergence.shape(func.dfg.result(inst)) == Shape::Varying && is_affine(&divergence, func.dfg.inst(inst).args[0])
    };
    candidates.into_iter().filter(hides).collect()
}

/// The integer type to which a mask truncates its operand.
fn mask_elem(func: &Function, inst: Inst) -> Option<clift_kir::Elem> {
    let data = func.dfg.inst(inst);
    let mask = func.dfg.as_splat_bits(*data.args.get(1)?)?;
    let narrow = clift_kir::Elem::int(mask.trailing_ones()).filter(|elem| elem.is_int() && elem.mask() == mask)?;
    (data.op == Opcode::And && narrow.bits() < func.dfg.ty(data.args[0]).elem.bits()).then_some(narrow)
}

/// Whether an instruction is an extension or mask worth looking at.
fn candidate(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    let flags = |value: Value| func.dfg.def_inst(value).map(|def| func.dfg.inst(def).imm.wrap()).unwrap_or_default();
    required_flag(data.op).is_some_and(|flag| flags(data.args[0]).contains(flag)) || mask_elem(func, inst).is_some()
}

/// The flag that a sum must have so that an extension distributes over it.
fn required_flag(op: Opcode) -> Option<WrapFlags> {
    if op == Opcode::Sext {
        Some(WrapFlags::NO_SIGNED)
    } else if op == Opcode::Zext {
        Some(WrapFlags::NO_UNSIGNED)
    } else {
        None
    }
}

/// Whether the lanes of a value have constant distances, always or where checks succeed.
fn is_affine(divergence: &Divergence, value: Value) -> bool {
    matches!(divergence.shape(value), Shape::Affine { .. }) || divergence.conditional(value).is_some()
}

struct IndexWidener<'a> {
    func: &'a mut Function,
    divergence: &'a Divergence,
    /// Extensions and truncations made so far, by operand, op and type; each follows the definition of its operand.
    converted: FxHashMap<(Value, Opcode, Type), Value>,
    /// New instructions without a place yet: at the start of a block, and after an instruction.
    at_start: FxHashMap<Block, Vec<Inst>>,
    after: FxHashMap<Inst, Vec<Inst>>,
}

impl IndexWidener<'_> {
    fn rewrite(&mut self, inst: Inst) {
        let data = self.func.dfg.inst(inst).clone();
        let ty = self.func.dfg.ty(self.func.dfg.result(inst));
        if let Some(narrow) = mask_elem(self.func, inst) {
            let kept = self.convert(data.args[0], Opcode::Itrunc, ty.with_elem(narrow));
            let data = InstData { op: Opcode::Zext, args: [kept].into_iter().collect(), imm: Imm::None };
            self.func.dfg.replace_inst(inst, data);
        } else if let Some(data) = self.distribute(data.args[0], data.op, ty, MAX_DEPTH) {
            self.func.dfg.replace_inst(inst, data);
        }
    }

    /// Distributes an extension over a sum, difference or product, if the source promises that the result is the same.
    fn distribute(&mut self, value: Value, op: Opcode, ty: Type, depth: u32) -> Option<InstData> {
        let inst = self.func.dfg.def_inst(value)?;
        let data = self.func.dfg.inst(inst).clone();
        if !data.imm.wrap().contains(required_flag(op)?) || depth == 0 || !is_affine(self.divergence, value) {
            return None;
        }
        // A shift's count stays the same number, below the narrow width.
        let last = if data.op == Opcode::Shl {
            let count = self.func.dfg.as_splat_bits(data.args[1])? % u64::from(self.func.dfg.ty(value).elem.bits());
            self.constant_after(data.args[1], ty, count)
        } else {
            self.extend(data.args[1], op, ty, depth - 1)
        };
        let first = self.extend(data.args[0], op, ty, depth - 1);
        Some(InstData { op: data.op, args: [first, last].into_iter().collect(), imm: Imm::None })
    }

    /// The extension of a value.
    fn extend(&mut self, value: Value, op: Opcode, ty: Type, depth: u32) -> Value {
        if let Some(&wide) = self.converted.get(&(value, op, ty)) {
            return wide;
        }
        let dfg = &self.func.dfg;
        let constant = if op == Opcode::Sext {
            dfg.as_splat_signed(value).map(|number| number as u64)
        } else {
            dfg.as_splat_bits(value)
        };
        if let Some(bits) = constant {
            return self.constant_after(value, ty, bits);
        }
        match self.distribute(value, op, ty, depth) {
            Some(data) => {
                let wide = self.insert_after(value, data, ty);
                self.converted.insert((value, op, ty), wide);
                wide
            }
            None => self.convert(value, op, ty),
        }
    }

    /// A conversion of a value, inserted after its definition.
    fn convert(&mut self, value: Value, op: Opcode, ty: Type) -> Value {
        if let Some(&made) = self.converted.get(&(value, op, ty)) {
            return made;
        }
        let data = InstData { op, args: [value].into_iter().collect(), imm: Imm::None };
        let made = self.insert_after(value, data, ty);
        self.converted.insert((value, op, ty), made);
        made
    }

    fn constant_after(&mut self, value: Value, ty: Type, bits: u64) -> Value {
        let id = self.func.dfg.make_const(ConstData::splat(ty, bits & ty.elem.mask()));
        let data = InstData { op: Opcode::Const, args: Default::default(), imm: Imm::Const(id) };
        self.insert_after(value, data, ty)
    }

    /// A new instruction right after the definition of a value. It stands in the function once [`Self::place`] has run.
    fn insert_after(&mut self, value: Value, data: InstData, ty: Type) -> Value {
        let Function { dfg, locs, .. } = &mut *self.func;
        let inst = dfg.make_inst(data, &[ty]);
        match dfg.def(value) {
            ValueDef::Param(block, _) => self.at_start.entry(block).or_default().push(inst),
            ValueDef::Result(def, _) => {
                locs[inst] = locs[def];
                self.after.entry(def).or_default().push(inst);
            }
        }
        self.func.dfg.result(inst)
    }

    /// Places the new instructions; of those at one place, the last one made comes first.
    fn place(&mut self) {
        for block in self.func.layout.blocks().to_vec() {
            let mut next: Vec<Inst> = self.func.layout.take_insts(block);
            next.reverse();
            next.extend(self.at_start.remove(&block).unwrap_or_default());
            while let Some(inst) = next.pop() {
                self.func.layout.append_inst(block, inst);
                next.extend(self.after.remove(&inst).unwrap_or_default());
            }
        }
    }
}
