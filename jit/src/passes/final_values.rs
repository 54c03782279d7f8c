//! Loops that only count are executed once, with the values that their last iteration has: a division by repeated subtraction is
//! one division, and a sum of equal terms is one product.
//!
//! ```text
//! preheader:  jump head(x, 0)                     preheader:  d = isub x, 640; more = udiv (d - L - 1), 640 + 1, or 0
//! head(x, n): y = isub x, 640; m = iadd n, 1                  jump head(x - more * 640, more)
//!             branch y > L, head(y, m), exit      head(x, n): y = isub x, 640; m = iadd n, 1
//!                                                             jump exit
//! ```
//!
//! All parameters of the header grow by constants, and one of them is compared with something invariant at the only place where
//! the loop is left. The number of further iterations is exact: where the counter could wrap on its way to the limit, the loop
//! stays as it is. So do loops around others, and those that read memory, whose work is more than counting.

use clift_kir::analysis::{Cfg, DomTree, LoopForest, LoopId};
use clift_kir::dfg::ConstData;
use clift_kir::{Block, BlockCall, Builder, Function, Imm, IntCond, Opcode, Value, WrapFlags};

use super::idle::LoopView;
use super::{Changed, loop_form, util};

/// The largest step of a counter.
const MAX_STEP: i64 = 1 << 20;

/// Replaces all such loops.
pub(super) fn run(func: &mut Function) -> Changed {
    let Some((cfg, dom, loops)) = loop_form::run(func) else { return Changed(false) };
    let plans: Vec<Plan> = loops.iter().filter_map(|(id, _)| Plan::new(func, (&cfg, &dom, &loops), id)).collect();
    for plan in &plans {
        plan.apply(func);
    }
    Changed(!plans.is_empty())
}

/// What to make of a loop.
struct Plan {
    preheader: Block,
    header: Block,
    /// The block whose branch leaves the loop, and where to.
    exiting: Block,
    exit: BlockCall,
    /// By how much each parameter of the header grows.
    steps: Vec<i64>,
    limit: Limit,
}

/// When the loop is left.
struct Limit {
    /// The place of the counter among the parameters.
    counter: usize,
    /// Whether the counter of the next iteration is compared, not that of this one.
    is_next: bool,
    /// The loop goes on while this holds.
    cond: IntCond,
    limit: Value,
}

impl Plan {
    fn new(func: &Function, (cfg, dom, loops): (&Cfg, &DomTree, &LoopForest), id: LoopId) -> Option<Plan> {
        let view = LoopView::new(func, cfg, loops, id)?;
        let data = view.data;
        let &[latch] = data.latches.as_slice() else { return None };
        let only_counts = data.blocks.iter().all(|&block| {
            let insts = func.layout.insts(block);
            let computes = insts[..insts.len() - 1].iter().all(|&inst| func.dfg.inst(inst).op.is_pure());
            computes && loops.innermost(block) == Some(id)
        });
        let mut exits = data.blocks.iter().filter(|&&block| {
            let succs = cfg.succs(block);
            succs.is_empty() || succs.iter().any(|&succ| !view.inside(succ))
        });
        let (Some(&exiting), None) = (exits.next(), exits.next()) else { return None };
        if !only_counts || !dom.dominates(exiting, latch) {
            return None;
        }
        let params = func.dfg.params(data.header);
        let next = loop_form::args_of_edge(func, latch, data.header)?;
        let steps: Vec<i64> =
            params.iter().zip(next).map(|(&param, &next)| step(func, param, next)).collect::<Option<_>>()?;
        let branch = func.dfg.inst(func.layout.terminator(exiting)?);
        let Imm::Branch(calls) = &branch.imm else { return None };
        let stays = calls.iter().position(|call| view.inside(call.block))?;
        let limit = Limit::new(&view, branch.args[0], stays == 0, next)?;
        limit.is_exact(func, &view, steps[limit.counter]).then(|| Plan {
            preheader: view.preheader,
            header: data.header,
            exiting,
            exit: calls[1 - stays].clone(),
            steps,
            limit,
        })
    }

    fn apply(&self, func: &mut Function) {
        let Some(enters) = func.layout.terminator(self.preheader) else { return };
        let Some(starts) = loop_form::args_of_edge(func, self.preheader, self.header).map(<[Value]>::to_vec) else {
            return;
        };
        let loc = func.locs[enters];
        let at = func.layout.insts(self.preheader).len() - 1;
        let mut b = Builder::before(func, self.preheader, at);
        b.set_loc(loc);
        let more = self.limit.further_iterations(&mut b, starts[self.limit.counter], self.steps[self.limit.counter]);
        let counted = b.ty(more).elem;
        let last: Vec<Value> = starts
            .iter()
            .zip(&self.steps)
            .map(|(&start, &step)| {
                let ty = b.ty(start);
                let more = match ty.elem.bits().cmp(&counted.bits()) {
                    std::cmp::Ordering::Less => b.cast(Opcode::Itrunc, more, ty),
                    std::cmp::Ordering::Equal => more,
                    std::cmp::Ordering::Greater => b.cast(Opcode::Zext, more, ty),
                };
                let by = b.iconst(ty, step);
                let grown = b.int2(Opcode::Imul, more, by);
                b.int2(Opcode::Iadd, start, grown)
            })
            .collect();
        for call in func.dfg.targets_mut(enters) {
            call.args = last.iter().copied().collect();
        }
        if let Some(leaves) = func.layout.terminator(self.exiting) {
            util::set_jump(func, leaves, self.exit.clone());
        }
    }
}

/// By how much a parameter grows, from what it is in the next iteration.
fn step(func: &Function, param: Value, next: Value) -> Option<i64> {
    let data = func.dfg.inst(func.dfg.def_inst(next)?);
    let step = match (data.op, data.args.as_slice()) {
        (Opcode::Iadd, &[from, by]) if from == param => signed(func, by)?,
        (Opcode::Isub, &[from, by]) if from == param => signed(func, by)?.checked_neg()?,
        _ => return None,
    };
    let counts = !func.dfg.ty(param).is_vector() && func.dfg.ty(param).elem.is_int();
    (counts && (-MAX_STEP..=MAX_STEP).contains(&step)).then_some(step)
}

/// A constant of moderate size as a signed number.
fn signed(func: &Function, value: Value) -> Option<i64> {
    let bits = func.dfg.as_splat_bits(value)?;
    let unused = 64 - func.dfg.ty(value).elem.bits();
    Some((bits << unused) as i64 >> unused)
}

impl Limit {
    fn new(view: &LoopView<'_>, condition: Value, holds: bool, next: &[Value]) -> Option<Limit> {
        let func = view.func;
        let data = func.dfg.inst(view.inst_of(condition)?);
        let (&Imm::IntCond(cond), &[left, right]) = (&data.imm, data.args.as_slice()) else { return None };
        let cond = if holds { cond } else { cond.inverse() };
        let is_constant = |value: Value| func.dfg.as_splat_bits(value).is_some();
        let outside = |value: Value| is_constant(value) || func.def_block(value).is_none_or(|home| !view.inside(home));
        let (compared, limit, cond) = match (outside(left), outside(right)) {
            (false, true) => (left, right, cond),
            (true, false) => (right, left, cond.swapped()),
            (false, false) | (true, true) => return None,
        };
        let params = func.dfg.params(view.data.header);
        let counter = params.iter().zip(next).position(|(&param, &next)| compared == param || compared == next)?;
        Some(Limit { counter, is_next: compared == next[counter], cond, limit })
    }

    /// Whether a counter that the comparison lets pass does not wrap with the next step, so that it reaches the limit.
    fn is_exact(&self, func: &Function, view: &LoopView<'_>, step: i64) -> bool {
        let param = func.dfg.params(view.data.header)[self.counter];
        let bits = func.dfg.ty(param).elem.bits();
        let (max, signed_max) = (u64::MAX >> (64 - bits), i64::MAX >> (64 - bits));
        let flags = func
            .dfg
            .def_inst(self.next_of(view, param))
            .map_or(WrapFlags::empty(), |inst| func.dfg.inst(inst).imm.wrap());
        let unsigned = func.dfg.as_splat_bits(self.limit);
        let number = signed(func, self.limit);
        let by = step.unsigned_abs();
        match self.cond {
            IntCond::Eq => false,
            // Each number comes once.
            IntCond::Ne => by == 1,
            IntCond::Ult => step > 0 && (by == 1 || unsigned.is_some_and(|limit| limit <= max - (by - 1))),
            IntCond::Ule => step > 0 && unsigned.is_some_and(|limit| limit <= max - by),
            IntCond::Ugt => step < 0 && (by == 1 || unsigned.is_some_and(|limit| limit >= by - 1)),
            IntCond::Uge => step < 0 && unsigned.is_some_and(|limit| limit >= by),
            IntCond::Slt => {
                step > 0 && (by == 1 || number.is_some_and(|limit| limit <= signed_max - (step - 1)) || promises(flags))
            }
            IntCond::Sle => step > 0 && (number.is_some_and(|limit| limit <= signed_max - step) || promises(flags)),
            IntCond::Sgt => {
                step < 0
                    && (by == 1 || number.is_some_and(|limit| limit >= -signed_max - 1 - (step + 1)) || promises(flags))
            }
            IntCond::Sge => {
                step < 0 && (number.is_some_and(|limit| limit >= -signed_max - 1 - step) || promises(flags))
            }
        }
    }

    /// What the parameter is in the next iteration.
    fn next_of(&self, view: &LoopView<'_>, param: Value) -> Value {
        let next =
            view.data.latches.first().and_then(|&latch| loop_form::args_of_edge(view.func, latch, view.data.header));
        next.and_then(|next| next.get(self.counter).copied()).unwrap_or(param)
    }

    /// How often the loop goes on after its first iteration.
    fn further_iterations(&self, b: &mut Builder<'_>, start: Value, step: i64) -> Value {
        let ty = b.ty(start);
        // A constant may be one of the loop's.
        let limit = match b.func.dfg.as_splat_bits(self.limit) {
            Some(bits) => b.constant(ConstData::splat(ty, bits)),
            None => self.limit,
        };
        let first = if self.is_next {
            let by = b.iconst(ty, step);
            b.int2(Opcode::Iadd, start, by)
        } else {
            start
        };
        let (high, low) = if step > 0 { (limit, first) } else { (first, limit) };
        let distance = b.int2(Opcode::Isub, high, low);
        if matches!(self.cond, IntCond::Ne) {
            return distance;
        }
        let or_equal = matches!(self.cond, IntCond::Ule | IntCond::Uge | IntCond::Sle | IntCond::Sge);
        let [one, minus_one, zero] = [1, -1, 0].map(|constant| b.iconst(ty, constant));
        let times = if or_equal { distance } else { b.int2(Opcode::Iadd, distance, minus_one) };
        let by = b.iconst(ty, step.abs());
        let times = if step.abs() == 1 { times } else { b.int2(Opcode::Udiv, times, by) };
        let times = b.int2(Opcode::Iadd, times, one);
        let goes_on = b.icmp(self.cond, first, limit);
        b.select(goes_on, times, zero)
    }
}

/// Whether growing without wrapping is promised.
fn promises(flags: WrapFlags) -> bool {
    flags.contains(WrapFlags::NO_SIGNED)
}
