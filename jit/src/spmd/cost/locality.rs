//! Accesses that share cache lines with those of other work-items, but not with the next ones of the same work-item.
//!
//! In `for (i = get_global_id(0); i < n; i += get_global_size(0)) a[i * stride] = 0`, neighbouring work-items access neighbouring
//! elements, while a work-item goes on far away. The lanes of a pack use a line together, even if the stride is not known and the
//! access is scattered. Work-items that are executed one after the other miss the cache in each iteration.

use clift_kir::analysis::LoopId;
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Imm, Opcode, Space, Value};
use rustc_hash::FxHashMap;

use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Shape;
use crate::spmd::transform::normalize::NormalForm;

/// Bytes of a cache line.
const LINE: u64 = 64;
/// How many definitions deep an address is followed.
const MAX_DEPTH: u32 = 24;

/// The analysis of a kernel's addresses.
pub(super) struct Locality<'a> {
    normal: &'a NormalForm,
    divergence: &'a Divergence,
    /// Whether values are linear in the lane.
    linear: FxHashMap<Value, bool>,
    /// What each iteration of a loop adds to values.
    steps: FxHashMap<(LoopId, Value), Option<i64>>,
}

impl<'a> Locality<'a> {
    pub(super) fn new(normal: &'a NormalForm, divergence: &'a Divergence) -> Locality<'a> {
        Locality { normal, divergence, linear: FxHashMap::default(), steps: FxHashMap::default() }
    }

    /// Whether an access in `block` at the address `pointer`, which is scattered, is of this kind.
    pub(super) fn misses_alone(&mut self, block: Block, pointer: Value) -> bool {
        let Some(id) = self.normal.loops.innermost(block) else { return false };
        let neighbours = match self.divergence.shape(pointer) {
            Shape::Affine { stride, .. } => stride.unsigned_abs() < LINE,
            Shape::Varying => self.is_linear(pointer, MAX_DEPTH),
            Shape::Uniform(_) => false,
        };
        neighbours && self.step(id, pointer, MAX_DEPTH).is_none_or(|step| step.unsigned_abs() >= LINE)
    }

    /// Whether an access in `block` at the address `pointer`, which is scattered, takes a cache line of memory for each lane, and
    /// another one in the next iteration.
    pub(super) fn takes_lines(&mut self, block: Block, pointer: Value) -> bool {
        let apart = match self.divergence.shape(pointer) {
            Shape::Affine { stride, .. } => stride.unsigned_abs() >= LINE,
            Shape::Varying => self.is_linear(pointer, MAX_DEPTH),
            Shape::Uniform(_) => false,
        };
        let is_global = self.normal.func.dfg.ty(pointer).elem.space() == Some(Space::Global);
        let goes_on = |this: &mut Self| {
            let step = this.normal.loops.innermost(block).and_then(|id| this.step(id, pointer, MAX_DEPTH));
            step.is_none_or(|step| step.unsigned_abs() >= LINE)
        };
        apart && is_global && goes_on(self)
    }

    /// Whether a value is linear in the lane, with a stride that need not be known.
    fn is_linear(&mut self, value: Value, depth: u32) -> bool {
        let varies = self.divergence.shape(value) == Shape::Varying;
        if !varies || depth == 0 {
            return !varies;
        }
        if let Some(&known) = self.linear.get(&value) {
            return known;
        }
        // What a loop carries is linear if nothing else is added to it.
        self.linear.insert(value, true);
        let func = &self.normal.func;
        let linear = match func.dfg.def(value) {
            ValueDef::Result(inst, _) => {
                let data = func.dfg.inst(inst);
                let args = &data.args;
                let sums = [Opcode::Iadd, Opcode::Isub, Opcode::Addr];
                let same =
                    [Opcode::Zext, Opcode::Sext, Opcode::Itrunc, Opcode::PtrToInt, Opcode::IntToPtr, Opcode::SpaceCast];
                let is_uniform = |value: Value| matches!(self.divergence.shape(value), Shape::Uniform(_));
                if sums.contains(&data.op) || same.contains(&data.op) {
                    args.iter().all(|&arg| self.is_linear(arg, depth - 1))
                } else if data.op == Opcode::Imul && is_uniform(args[0]) {
                    self.is_linear(args[1], depth - 1)
                } else if [Opcode::Imul, Opcode::Shl].contains(&data.op) && is_uniform(args[1]) {
                    self.is_linear(args[0], depth - 1)
                } else {
                    false
                }
            }
            ValueDef::Param(block, index) => {
                let preds = self.normal.cfg.preds(block);
                self.normal.loops.headed_by(block).is_some()
                    && preds.iter().all(|&pred| {
                        let target =
                            func.layout.terminator(pred).map(|inst| func.dfg.targets(inst)).unwrap_or_default();
                        let mut calls = target.iter().filter(|call| call.block == block);
                        calls.all(|call| self.is_linear(call.args[usize::from(index)], depth - 1))
                    })
            }
        };
        self.linear.insert(value, linear);
        linear
    }

    /// What each iteration of a loop adds to a value, if that is constant.
    fn step(&mut self, id: LoopId, value: Value, depth: u32) -> Option<i64> {
        if !self.normal.loops.contains(id, self.normal.func.def_block(value)?) {
            return Some(0);
        }
        if let Some(&known) = self.steps.get(&(id, value)) {
            return known;
        }
        let step = self.step_by_definition(id, value, depth);
        self.steps.insert((id, value), step);
        step
    }

    /// As [`Self::step`], for a value that the loop defines and that has not been looked at.
    fn step_by_definition(&mut self, id: LoopId, value: Value, depth: u32) -> Option<i64> {
        let NormalForm { func, loops, .. } = self.normal;
        let mut step = |value| self.step(id, value, depth.checked_sub(1)?);
        match func.dfg.def(value) {
            ValueDef::Result(inst, _) => {
                let data = func.dfg.inst(inst);
                let args = &data.args;
                let factor = |at: usize| func.dfg.as_splat_bits(args[at]).map(|bits| bits as i64);
                let scaled = |steps: Option<i64>, by: Option<i64>| match steps? {
                    0 => Some(0),
                    steps => Some(steps.wrapping_mul(by?)),
                };
                match (data.op, &data.imm) {
                    (Opcode::Const, _) => Some(0),
                    (Opcode::Iadd, _) => Some(step(args[0])?.wrapping_add(step(args[1])?)),
                    (Opcode::Isub, _) => Some(step(args[0])?.wrapping_sub(step(args[1])?)),
                    (Opcode::Imul, _) if step(args[0]) == Some(0) => scaled(step(args[1]), factor(0)),
                    (Opcode::Imul, _) if step(args[1]) == Some(0) => scaled(step(args[0]), factor(1)),
                    (Opcode::Shl, _) => scaled(step(args[0]), factor(1).map(|count| 1i64.wrapping_shl(count as u32))),
                    (Opcode::Zext | Opcode::Sext | Opcode::Itrunc, _) => step(args[0]),
                    (Opcode::PtrToInt | Opcode::IntToPtr | Opcode::SpaceCast, _) => step(args[0]),
                    (Opcode::Addr, &Imm::Addr { scale, .. }) => {
                        let index = args.get(1).map_or(Some(0), |&index| step(index));
                        Some(step(args[0])?.wrapping_add(scaled(index, Some(scale as i64))?))
                    }
                    (op, _) => (op.is_pure() && args.iter().all(|&arg| step(arg) == Some(0))).then_some(0),
                }
            }
            ValueDef::Param(block, index) => {
                let data = loops.get(id);
                let &[latch] = data.latches.as_slice() else { return None };
                let terminator = func.layout.terminator(latch).filter(|_| block == data.header)?;
                let targets = func.dfg.targets(terminator);
                let call = targets.iter().find(|call| call.block == block)?;
                self.increment(call.args[usize::from(index)], value)
            }
        }
    }

    /// The constant that is added to `param` to get `next`.
    fn increment(&self, next: Value, param: Value) -> Option<i64> {
        if next == param {
            return Some(0);
        }
        let dfg = &self.normal.func.dfg;
        let data = dfg.inst(dfg.def_inst(next)?);
        let constant = |value: Value| dfg.as_splat_signed(value);
        match (data.op, data.args.as_slice(), &data.imm) {
            (Opcode::Iadd, &[a, b], _) if a == param => constant(b),
            (Opcode::Iadd, &[a, b], _) if b == param => constant(a),
            (Opcode::Isub, &[a, b], _) if a == param => constant(b).map(i64::wrapping_neg),
            (Opcode::Addr, &[a], &Imm::Addr { disp, .. }) if a == param => Some(disp),
            _ => None,
        }
    }
}
