//! Reductions: values that every iteration of a loop combines with another one, in an order that does not matter.
//!
//! ```text
//! for (k = 0; k < n; k++)                    lanes = 0, 0, ...
//!     if (a[k] > 0) sum += a[k];             for packs of iterations: lanes += (a[k] > 0) ? a[k] : 0
//!                                            sum += all lanes
//! ```
//!
//! All values between the parameter of the header and what the latch passes to it come from the parameter by one associative and
//! commutative op, and nothing else uses them. So with the identity in place of the parameter, an iteration computes what it
//! contributes. Sums and products of floats depend on the order, unless they may be reassociated.

use clift_kir::dfg::{ConstData, ValueDef};
use clift_kir::{AtomicOp, Block, Builder, FpFlags, Function, Imm, Inst, Opcode, Type, Value, eval};
use cranelift_entity::EntitySet;

use super::countable::CountableLoop;
use crate::spmd::transform::normalize::NormalForm;
use crate::spmd::transform::reduction_ops::{FLOAT_REDUCTIONS, INTEGER_REDUCTIONS};

/// A reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    /// The parameter of the header.
    pub(super) param: Value,
    /// Its value before the loop.
    pub(super) start: Value,
    /// What the latch passes to the parameter.
    pub(super) next: Value,
    op: AtomicOp,
    /// Whether no operand is a NaN, as flags promise.
    no_nan: bool,
}

/// The reductions of a loop; `None` if it has a parameter that is neither one nor an induction variable.
pub(super) fn all(normal: &NormalForm, counted: &CountableLoop) -> Option<Vec<Reduction>> {
    let func = &normal.func;
    let params = func.dfg.params(counted.header);
    let others = params.iter().enumerate().filter(|&(_, &param)| counted.induction(param).is_none());
    others.map(|(index, &param)| Reduction::of(normal, counted, param, index)).collect()
}

impl Reduction {
    fn of(normal: &NormalForm, counted: &CountableLoop, param: Value, index: usize) -> Option<Reduction> {
        let func = &normal.func;
        let ty = func.dfg.ty(param);
        let is_number = ty.is_int() || ty.is_float();
        let next = counted.next_of(func, param)?;
        if !is_number || ty.is_vector() || next == param {
            return None;
        }
        let start = crate::passes::loop_form::args_of_edge(func, counted.preheader, counted.header)?[index];
        let mut web = Web { normal, counted, values: EntitySet::new(), op: None };
        web.values.insert(param);
        while web.grows()? {}
        let op = web.op?;
        let no_nan = web.no_nan();
        (web.values.contains(next) && web.is_closed(param, next)).then_some(Reduction {
            param,
            start,
            next,
            op,
            no_nan,
        })
    }

    /// What changes nothing.
    pub(super) fn identity(&self, b: &mut Builder<'_>, ty: Type) -> Value {
        let of_numbers = eval::identity(self.op, ty.elem);
        let bits = if is_extreme(self.op) && !self.no_nan {
            // If all values are NaNs, so is the least of them. An infinity with the highest bit of its fraction is a quiet NaN.
            of_numbers | eval::identity(AtomicOp::Fmin, ty.elem) >> 1
        } else {
            of_numbers
        };
        b.constant(ConstData::splat(ty, bits))
    }

    /// Combines two values, or two vectors of them.
    pub(super) fn combine(&self, b: &mut Builder<'_>, a: Value, c: Value) -> Value {
        b.combine(self.op, a, c)
    }

    /// The value after all iterations that the lanes stand for, from what it was before.
    pub(super) fn finish(&self, b: &mut Builder<'_>, before: Value, lanes: Value) -> Value {
        let all = b.reduce(self.op, lanes);
        b.combine(self.op, before, all)
    }
}

/// Whether a reduction finds the least or the greatest float.
fn is_extreme(op: AtomicOp) -> bool {
    matches!(op, AtomicOp::Fmin | AtomicOp::Fmax)
}

/// The values in a loop that come from a parameter of its header by one op.
struct Web<'a> {
    normal: &'a NormalForm,
    counted: &'a CountableLoop,
    values: EntitySet<Value>,
    op: Option<AtomicOp>,
}

impl Web<'_> {
    fn func(&self) -> &Function {
        &self.normal.func
    }

    fn blocks(&self) -> &[Block] {
        &self.normal.loops.get(self.counted.id).blocks
    }

    /// Adds what comes from the values; whether there is anything new. `None` if another op uses one of them.
    fn grows(&mut self) -> Option<bool> {
        let mut new: Vec<Value> = Vec::new();
        for &block in self.blocks() {
            for &inst in self.func().layout.insts(block) {
                self.visit(inst, &mut new)?;
            }
        }
        let before = new.len();
        for value in new {
            self.values.insert(value);
        }
        let op = self.found_op()?;
        self.op = op;
        Some(before > 0)
    }

    /// The op of the instructions that have been accepted, which is one; `None` if there are several.
    fn found_op(&self) -> Option<Option<AtomicOp>> {
        let mut found: Option<AtomicOp> = None;
        for &block in self.blocks() {
            for &inst in self.func().layout.insts(block) {
                let Some(op) = self.combines(inst) else { continue };
                if found.is_some_and(|found| found != op) {
                    return None;
                }
                found = Some(op);
            }
        }
        Some(found)
    }

    /// Whether an instruction that combines the values says that they are not NaNs.
    fn no_nan(&self) -> bool {
        let insts = self.blocks().iter().flat_map(|&block| self.func().layout.insts(block));
        let combining =
            insts.filter(|&&inst| self.combines(inst).is_some()).map(|&inst| &self.func().dfg.inst(inst).imm);
        combining.into_iter().any(|imm| matches!(imm, Imm::Fp(flags) if flags.contains(FpFlags::NO_NAN)))
    }

    /// How an instruction combines one of the values with another value.
    fn combines(&self, inst: Inst) -> Option<AtomicOp> {
        let data = self.func().dfg.inst(inst);
        let all = INTEGER_REDUCTIONS.iter().chain(&FLOAT_REDUCTIONS);
        let &(op, by) = all.into_iter().find(|&&(op, _)| op == data.op)?;
        let used = |arg: usize| self.values.contains(data.args[arg]);
        let is_one = if matches!(op, Opcode::Isub | Opcode::Fsub) {
            used(0) && !used(1)
        } else if op == Opcode::Fma {
            used(2) && !used(0) && !used(1)
        } else {
            used(0) != used(1)
        };
        let in_any_order =
            if let Imm::Fp(flags) = &data.imm { flags.contains(FpFlags::REASSOC) || is_extreme(by) } else { true };
        (is_one && in_any_order).then_some(by)
    }

    /// Adds the results of an instruction to `new` if it passes on one of the values.
    fn visit(&self, inst: Inst, new: &mut Vec<Value>) -> Option<()> {
        let func = self.func();
        let data = func.dfg.inst(inst);
        for call in func.dfg.targets(inst) {
            let params = func.dfg.params(call.block).iter().zip(&call.args);
            let leaves = !self.normal.loops.contains(self.counted.id, call.block);
            if leaves || call.block == self.counted.header {
                continue;
            }
            new.extend(params.filter(|&(&param, &arg)| self.is_new(arg, param)).map(|(&param, _)| param));
        }
        if data.op.is_terminator() || !data.args.iter().any(|&arg| self.values.contains(arg)) {
            return Some(());
        }
        let passes_on = data.op == Opcode::Select && !self.values.contains(data.args[0]);
        if !passes_on && self.combines(inst).is_none() {
            return None;
        }
        let result = func.dfg.result(inst);
        if !self.values.contains(result) {
            new.push(result);
        }
        Some(())
    }

    fn is_new(&self, from: Value, to: Value) -> bool {
        self.values.contains(from) && !self.values.contains(to)
    }

    /// Whether all that the values are chosen from are values as well, and only `next` is used after the loop and in the next
    /// iteration.
    fn is_closed(&self, header_param: Value, next: Value) -> bool {
        let func = self.func();
        let mut closed = true;
        for &block in self.blocks() {
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                if data.op == Opcode::Select && self.values.contains(func.dfg.result(inst)) {
                    closed &= data.args[1..].iter().all(|&arg| self.values.contains(arg));
                }
                if data.op.is_terminator() {
                    closed &= !data.args.iter().any(|&arg| self.values.contains(arg));
                }
                for call in func.dfg.targets(inst) {
                    for (&param, &arg) in func.dfg.params(call.block).iter().zip(&call.args) {
                        let is_value = self.values.contains(arg);
                        closed &= if call.block == self.counted.header {
                            (param == header_param) == is_value
                        } else if self.normal.loops.contains(self.counted.id, call.block) {
                            self.values.contains(param) == is_value
                        } else {
                            !is_value || arg == next
                        };
                    }
                }
            }
        }
        let is_param =
            |value: Value| matches!(func.dfg.def(value), ValueDef::Param(block, _) if block == self.counted.header);
        closed && !is_param(next)
    }
}
