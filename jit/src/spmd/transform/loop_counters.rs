//! Iteration counters of divergent loops: the value that a lane's counter had when the lane left the loop. Runs on the code of a
//! pack.
//!
//! A counter that is uniform in the loop is a scalar. If lanes leave the loop in different iterations, the loop keeps the value
//! for each lane that has left: `left = select(active, splat(counter), left)` in every iteration. If nothing was kept before the
//! loop, counting lane by lane takes less: `left = left + (active ? step : 0)`, with a start value one step back. A lane that is
//! inactive once stays inactive, so its count does not change any more.

use clift_kir::analysis::{Cfg, DomTree, Loop, LoopForest};
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Builder, Function, Imm, Inst, InstData, Opcode, Value};

/// A counter that a loop keeps for lanes that have left.
struct KeptCounter {
    /// The selection between the counter and the kept value, and its mask.
    select: Inst,
    active: Value,
    /// The header's parameter for the kept value.
    param: Value,
    /// The counter's value before the loop, and the constant that each iteration adds to it.
    before: Value,
    step: u64,
    /// Whether the kept value is the counter after its step.
    ahead: bool,
}

/// Replaces kept counters by counting per lane, where that is cheaper.
pub(crate) fn run(func: &mut Function) {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(&cfg);
    let loops = LoopForest::new(&cfg, &dom);
    let found: Vec<(Block, KeptCounter)> = loops
        .iter()
        .filter_map(|(_, data)| {
            let &[latch] = data.latches.as_slice() else { return None };
            let mut outside = cfg.preds(data.header).iter().filter(|&&pred| pred != latch);
            let (Some(&preheader), None) = (outside.next(), outside.next()) else { return None };
            Some((data, preheader, latch))
        })
        .flat_map(|(data, preheader, latch)| {
            let simple = SimpleLoop { func, dom: &dom, data, preheader, latch };
            let params = func.dfg.params(data.header).iter();
            params.filter_map(|&param| Some((preheader, simple.kept_counter(param)?))).collect::<Vec<_>>()
        })
        .collect();
    for (preheader, kept) in found {
        count_per_lane(func, preheader, &kept);
    }
}

/// A loop with one entering edge and one latch.
struct SimpleLoop<'a> {
    func: &'a Function,
    dom: &'a DomTree,
    data: &'a Loop,
    preheader: Block,
    latch: Block,
}

impl SimpleLoop<'_> {
    /// The counter that a parameter of the header keeps for lanes that have left, if it does.
    fn kept_counter(&self, param: Value) -> Option<KeptCounter> {
        let func = self.func;
        let ty = func.dfg.ty(param);
        if !ty.is_vector() || !ty.elem.is_int() || !self.is_undef(self.argument(self.preheader, param)?) {
            return None;
        }
        let select = func.dfg.def_inst(self.argument(self.latch, param)?)?;
        let data = func.dfg.inst(select);
        let (Opcode::Select, &[active, chosen, kept]) = (data.op, data.args.as_slice()) else { return None };
        let every_time = func.layout.block_of(select).is_some_and(|at| self.dom.dominates(at, self.latch));
        if kept != param || !every_time || !self.only_shrinks(active) {
            return None;
        }
        let splat = func.dfg.inst(func.dfg.def_inst(chosen)?);
        if splat.op != Opcode::Splat {
            return None;
        }
        // The counter itself, or the counter after its step; only the start value depends on which.
        let shared = splat.args[0];
        let (counter, ahead) = match self.stepped(shared) {
            Some((counter, step)) => (counter, step),
            None => (shared, 0),
        };
        let before = self.argument(self.preheader, counter)?;
        let (again, step) = self.stepped(self.argument(self.latch, counter)?)?;
        let fits = again == counter && (ahead == 0 || ahead == step);
        fits.then_some(KeptCounter { select, active, param, before, step, ahead: ahead != 0 })
    }

    /// The argument that a predecessor of the header passes for a parameter.
    fn argument(&self, pred: Block, param: Value) -> Option<Value> {
        let ValueDef::Param(home, index) = self.func.dfg.def(param) else { return None };
        let terminator = self.func.layout.terminator(pred)?;
        let mut calls = self.func.dfg.targets(terminator).into_iter().filter(|call| call.block == home);
        let (first, None) = (calls.next()?, calls.next()) else { return None };
        (home == self.data.header).then(|| first.args[usize::from(index)])
    }

    fn is_undef(&self, value: Value) -> bool {
        self.func.dfg.def_inst(value).is_some_and(|inst| self.func.dfg.inst(inst).op == Opcode::Undef)
    }

    /// The value and the constant of an addition.
    fn stepped(&self, value: Value) -> Option<(Value, u64)> {
        let data = self.func.dfg.inst(self.func.dfg.def_inst(value)?);
        let step = data.args.get(1).and_then(|&step| self.func.dfg.as_splat_bits(step))?;
        (data.op == Opcode::Iadd).then(|| (data.args[0], step))
    }

    /// Whether lanes that are clear in a mask in one iteration are clear in all later ones.
    fn only_shrinks(&self, mask: Value) -> bool {
        let Some(next) = self.argument(self.latch, mask) else { return false };
        self.is_subset(next, mask, 4)
    }

    /// Whether the lanes set in one mask are a subset of those set in another.
    fn is_subset(&self, part: Value, of: Value, depth: u32) -> bool {
        if part == of {
            return true;
        }
        let Some(inst) = self.func.dfg.def_inst(part) else { return false };
        let data = self.func.dfg.inst(inst);
        data.op == Opcode::And && depth > 0 && data.args.iter().any(|&arg| self.is_subset(arg, of, depth - 1))
    }
}

fn count_per_lane(func: &mut Function, preheader: Block, kept: &KeptCounter) {
    let &KeptCounter { select, active, param, before, step, ahead } = kept;
    let ty = func.dfg.ty(param);
    let at = func.layout.insts(preheader).len() - 1;
    let mut b = Builder::before(func, preheader, at);
    let first = if ahead {
        before
    } else {
        let step = b.iconst(ty.lane(), step as i64);
        b.int2(Opcode::Isub, before, step)
    };
    let first = b.splat(first, ty.lanes());
    let (ValueDef::Param(header, index), Some(terminator)) = (func.dfg.def(param), func.layout.terminator(preheader))
    else {
        unreachable!("broken invariant: a loop without a way in")
    };
    for call in func.dfg.targets_mut(terminator).into_iter().filter(|call| call.block == header) {
        call.args[usize::from(index)] = first;
    }
    let Some(home) = func.layout.block_of(select) else { unreachable!("broken invariant: a selection nowhere") };
    let Some(at) = func.layout.insts(home).iter().position(|&inst| inst == select) else {
        unreachable!("broken invariant: a selection that its block does not know")
    };
    let mut b = Builder::before(func, home, at);
    // A set lane of a mask is -1 as an integer.
    let minus = b.cast(Opcode::Sext, active, ty);
    let less = if step == 1 {
        minus
    } else {
        let step = b.iconst(ty, step as i64);
        b.int2(Opcode::And, minus, step)
    };
    let op = if step == 1 { Opcode::Isub } else { Opcode::Iadd };
    func.dfg.replace_inst(select, InstData { op, args: [param, less].into_iter().collect(), imm: Imm::None });
}
