//! Indices in the width of addresses, where the source promises that they fit in fewer bits.
//!
//! `a[i * stride + k]` with `int` indices extends a 32-bit sum. That it does not wrap is a promise of the source (signed overflow is
//! undefined), but one that binds only work-items that come there: a pack computes one scalar for its lanes from the first
//! lane's operands, and that lane may be switched off. So the promises are used up here, once and before packs are made: the
//! extension of a sum becomes a sum of extensions, which is the same for each work-item that keeps its word, and a straight line
//! whatever the others do. Only what counts along the lanes is rewritten; for indices that vary, fewer bits are better.
//!
//! Masks that keep the lowest bits of a counting value become extensions, which can be checked at run time
//! ([`Divergence::conditional`]).

use clift_kir::dfg::{ConstData, ValueDef};
use clift_kir::{Block, Function, Imm, Inst, InstData, Opcode, Type, Value, WrapFlags};
use rustc_hash::FxHashMap;

use super::normalize::Prepared;
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Shape;

/// How many definitions deep a sum is taken apart.
const DEPTH: u32 = 32;

/// Rewrites a kernel's indices for packs of `lanes`. No promise about wrapping is left.
pub(crate) fn run(prepared: &mut Prepared, lanes: u32) {
    let Prepared { func, cfg, .. } = &*prepared;
    let candidates: Vec<Inst> =
        cfg.rpo().iter().flat_map(|&block| func.layout.insts(block)).copied().filter(|&i| candidate(func, i)).collect();
    if !candidates.is_empty() {
        let divergence = prepared.divergence(lanes, false);
        let mut widener = Widener {
            func: &mut prepared.func,
            divergence: &divergence,
            wide: FxHashMap::default(),
            at_start: FxHashMap::default(),
            behind: FxHashMap::default(),
        };
        for inst in candidates {
            widener.rewrite(inst);
        }
        widener.place();
    }
    let Prepared { func, cfg, .. } = prepared;
    for &block in cfg.rpo() {
        for i in 0..func.layout.insts(block).len() {
            let data = func.dfg.inst_mut(func.layout.insts(block)[i]);
            if let Imm::Wrap(_) = data.imm {
                data.imm = Imm::None;
            }
        }
    }
}

/// The width to which an extension or a mask leaves bits as they are.
fn mask_elem(func: &Function, inst: Inst) -> Option<clift_kir::Elem> {
    let data = func.dfg.inst(inst);
    let mask = func.dfg.as_splat_bits(*data.args.get(1)?)?;
    let narrow = clift_kir::Elem::int(mask.trailing_ones()).filter(|elem| elem.is_int() && elem.mask() == mask)?;
    (data.op == Opcode::And && narrow.bits() < func.dfg.ty(data.args[0]).elem.bits()).then_some(narrow)
}

/// Whether there is something to gain from an instruction.
fn candidate(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    let promises = |value: Value| func.dfg.def_inst(value).map(|def| func.dfg.inst(def).imm.wrap()).unwrap_or_default();
    promise(data.op).is_some_and(|promise| promises(data.args[0]).contains(promise)) || mask_elem(func, inst).is_some()
}

/// The promise that lets an extension into a sum.
fn promise(op: Opcode) -> Option<WrapFlags> {
    if op == Opcode::Sext {
        Some(WrapFlags::NO_SIGNED)
    } else if op == Opcode::Zext {
        Some(WrapFlags::NO_UNSIGNED)
    } else {
        None
    }
}

struct Widener<'a> {
    func: &'a mut Function,
    divergence: &'a Divergence,
    /// Extensions of values, by extension and type; each stands right behind the value.
    wide: FxHashMap<(Value, Opcode, Type), Value>,
    /// New instructions that have no place yet: at the start of a block, and behind an instruction.
    at_start: FxHashMap<Block, Vec<Inst>>,
    behind: FxHashMap<Inst, Vec<Inst>>,
}

impl Widener<'_> {
    fn rewrite(&mut self, inst: Inst) {
        let data = self.func.dfg.inst(inst).clone();
        let ty = self.func.dfg.ty(self.func.dfg.result(inst));
        if self.divergence.shape(self.func.dfg.result(inst)) != Shape::Varying || !self.counts(data.args[0]) {
            return;
        }
        if let Some(narrow) = mask_elem(self.func, inst) {
            let kept = self.behind(data.args[0], Opcode::Itrunc, ty.with_elem(narrow));
            let data = InstData { op: Opcode::Zext, args: [kept].into_iter().collect(), imm: Imm::None };
            self.func.dfg.replace_inst(inst, data);
        } else if let Some(data) = self.taken_apart(data.args[0], data.op, ty, DEPTH) {
            self.func.dfg.replace_inst(inst, data);
        }
    }

    /// Whether a value grows along the lanes, always or where checks hold.
    fn counts(&self, value: Value) -> bool {
        matches!(self.divergence.shape(value), Shape::Affine { .. }) || self.divergence.conditional(value).is_some()
    }

    /// The extension of a sum, difference or product as one of extensions, if the source promises that they are the same.
    fn taken_apart(&mut self, value: Value, op: Opcode, ty: Type, depth: u32) -> Option<InstData> {
        let inst = self.func.dfg.def_inst(value)?;
        let data = self.func.dfg.inst(inst).clone();
        if !data.imm.wrap().contains(promise(op)?) || depth == 0 || !self.counts(value) {
            return None;
        }
        // A shift's count stays the number it is, below the narrow width.
        let last = if data.op == Opcode::Shl {
            let count = self.func.dfg.as_splat_bits(data.args[1])? % u64::from(self.func.dfg.ty(value).elem.bits());
            self.constant_behind(data.args[1], ty, count)
        } else {
            self.extended(data.args[1], op, ty, depth - 1)
        };
        let first = self.extended(data.args[0], op, ty, depth - 1);
        Some(InstData { op: data.op, args: [first, last].into_iter().collect(), imm: Imm::None })
    }

    /// A value's extension.
    fn extended(&mut self, value: Value, op: Opcode, ty: Type, depth: u32) -> Value {
        if let Some(&wide) = self.wide.get(&(value, op, ty)) {
            return wide;
        }
        if let Some(bits) = self.func.dfg.as_splat_bits(value) {
            let unused = 64 - self.func.dfg.ty(value).elem.bits();
            let bits = if op == Opcode::Sext { ((bits << unused) as i64 >> unused) as u64 } else { bits };
            return self.constant_behind(value, ty, bits);
        }
        match self.taken_apart(value, op, ty, depth) {
            Some(data) => {
                let wide = self.insert_behind(value, data, ty);
                self.wide.insert((value, op, ty), wide);
                wide
            }
            None => self.behind(value, op, ty),
        }
    }

    /// A conversion of a value, right behind it.
    fn behind(&mut self, value: Value, op: Opcode, ty: Type) -> Value {
        if let Some(&made) = self.wide.get(&(value, op, ty)) {
            return made;
        }
        let data = InstData { op, args: [value].into_iter().collect(), imm: Imm::None };
        let made = self.insert_behind(value, data, ty);
        self.wide.insert((value, op, ty), made);
        made
    }

    fn constant_behind(&mut self, value: Value, ty: Type, bits: u64) -> Value {
        let id = self.func.dfg.make_const(ConstData::splat(ty, bits & ty.elem.mask()));
        let data = InstData { op: Opcode::Const, args: Default::default(), imm: Imm::Const(id) };
        self.insert_behind(value, data, ty)
    }

    /// A new instruction right behind a value; it is there once [`Self::place`] has run.
    fn insert_behind(&mut self, value: Value, data: InstData, ty: Type) -> Value {
        let Function { dfg, locs, .. } = &mut *self.func;
        let inst = dfg.make_inst(data, &[ty]);
        match dfg.def(value) {
            ValueDef::Param(block, _) => self.at_start.entry(block).or_default().push(inst),
            ValueDef::Result(def, _) => {
                locs[inst] = locs[def];
                self.behind.entry(def).or_default().push(inst);
            }
        }
        self.func.dfg.result(inst)
    }

    /// Puts the new instructions in their places, the last one made first.
    fn place(&mut self) {
        for block in self.func.layout.blocks().to_vec() {
            let mut next: Vec<Inst> = self.func.layout.take_insts(block);
            next.reverse();
            next.extend(self.at_start.remove(&block).unwrap_or_default());
            while let Some(inst) = next.pop() {
                self.func.layout.append_inst(block, inst);
                next.extend(self.behind.remove(&inst).unwrap_or_default());
            }
        }
    }
}
