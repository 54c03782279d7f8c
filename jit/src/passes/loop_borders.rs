//! Loop versioning at borders: a loop that treats borders gets a copy without the treatment, for when no iteration is at one.
//!
//! ```text
//!                                             at_border = any iteration has x + k < 0 or x + k > w - 1
//!                                             branch pack_any(at_border), slow, fast
//! for (k = -r; k <= r; k++)                   fast: for (k = -r; k <= r; k++)
//!     sum += row[clamp(x + k, 0, w - 1)]                sum += row[x + k] * f[k + r];
//!            * f[k + r];              ->      slow (cold): as before
//! ```
//!
//! Filters of images look at a pixel's neighbours, and most pixels have all of them. What is compared grows by a constant in each
//! iteration, so that its comparison with a bound has the same result in all iterations if it has it in the first and in the last
//! one. That is tested before the loop. The fast copy accesses rows without tests and masks.
//!
//! **What is expected**: a minimum or maximum is the operand that grows; a branch goes where more is done; a choice between
//! addresses takes the one that grows, forwards if both do. What a comparison is expected to give follows from its uses.
//!
//! Of what grows against its bound, the comparison matters at one end: `x + k >= 0` in the first iteration, `x + k < w` in the
//! last. Where the source does not promise that no iteration wraps, all is computed in 64 bits, in which it does not, and must
//! lie in the type that is compared.
//!
//! **Cost model.** Innermost loops of at most [`MAX_INSTS`] instructions that access memory and whose number of iterations is
//! known before; at most [`MAX_TESTS`] comparisons, and [`MAX_GROWTH`] more instructions in a function.

use clift_kir::analysis::{Cfg, Cold, DomTree, Loop, LoopForest, LoopId};
use clift_kir::clone::Cloner;
use clift_kir::dfg::ValueDef;
use clift_kir::{
    Block, BlockCall, Builder, Effects, Elem, Function, Imm, Inst, IntCond, Opcode, Type, Value, WrapFlags,
};
use rustc_hash::FxHashMap;

use super::{Changed, loop_form, trip_count};

/// The most instructions of a loop that is copied.
const MAX_INSTS: usize = 100;
/// The most comparisons that are tested before a loop.
const MAX_TESTS: usize = 8;
/// The most instructions that copies add to a function.
const MAX_GROWTH: usize = 600;
/// Loops with so few iterations are not worth the tests.
const FEW_ITERATIONS: u64 = 3;
/// How many definitions deep values are looked through.
const MAX_DEPTH: u32 = 16;
/// How deeply the terms of a condition may be nested.
const MAX_TERMS: u32 = 8;
/// The most by which a value grows in each iteration, so that 64 bits hold the last one.
const MAX_STEP: i64 = 1 << 20;

/// Copies all loops for which that is worth it.
pub(super) fn run(func: &mut Function) -> Changed {
    let may_gain = |inst: &Inst| matches!(func.dfg.inst(*inst).op, Opcode::Icmp | Opcode::Smax | Opcode::Smin);
    if !func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)).any(may_gain) {
        return Changed(false);
    }
    let Some(analyses) = loop_form::run(func) else { return Changed(false) };
    let cold = Cold::new(func, &analyses.0);
    let mut growth = 0;
    let mut plans = Vec::new();
    for (id, data) in analyses.2.iter() {
        if cold.contains(data.header) {
            continue;
        }
        if let Some(plan) = BorderPlan::new(func, (&analyses.0, &analyses.1, &analyses.2), id)
            && growth + plan.size <= MAX_GROWTH
        {
            growth += plan.size;
            plans.push(plan);
        }
    }
    for plan in &plans {
        plan.apply(func, analyses.2.get(plan.id));
    }
    Changed(!plans.is_empty())
}

/// What a loop does at its end to decide whether there is another iteration.
#[derive(Clone, Copy, Debug)]
struct ExitTest {
    /// What is compared, and by how much it grows.
    counter: Value,
    step: i64,
    /// Whether the source promises that it does not wrap.
    promised: bool,
    /// With what.
    limit: Value,
    /// How, for another iteration.
    cond: IntCond,
}

/// What is expected of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// A comparison's result.
    Truth(bool),
    /// Which operand a minimum or maximum is.
    Operand(usize),
}

/// A comparison that must hold in the first and in the last iteration.
#[derive(Clone, Copy, Debug)]
struct EndTest {
    cond: IntCond,
    operands: [Value; 2],
    steps: [i64; 2],
    /// Whether the source promises that no operand wraps in any iteration.
    promised: bool,
}

struct BorderPlan {
    id: LoopId,
    preheader: Block,
    exit: ExitTest,
    expected: FxHashMap<Inst, Expected>,
    tests: Vec<EndTest>,
    size: usize,
}

impl BorderPlan {
    fn new(func: &Function, analyses: (&Cfg, &DomTree, &LoopForest), id: LoopId) -> Option<BorderPlan> {
        let (cfg, dom, loops) = analyses;
        let data = loops.get(id);
        let &[latch] = data.latches.as_slice() else { return None };
        let insts = || data.blocks.iter().flat_map(|&block| func.layout.insts(block)).copied();
        let size = insts().take(MAX_INSTS + 1).count();
        let is_innermost = data.blocks.iter().all(|&block| loops.innermost(block) == Some(id));
        if size > MAX_INSTS || !is_innermost {
            return None;
        }
        let accesses = insts().any(|inst| matches!(func.dfg.inst(inst).op, Opcode::Load | Opcode::Store));
        let converges = insts().any(|inst| func.dfg.inst(inst).op.info().effects == Effects::Convergent);
        let few = trip_count::of_loop(func, analyses, id, FEW_ITERATIONS).is_some();
        if !accesses || converges || few {
            return None;
        }
        let preheader = loop_form::preheader(cfg, data)?;
        let expected = FxHashMap::default();
        let mut view = LoopView { func, dom, loops, id, data, latch, expected, is_left_at_end: false };
        let leaves = |&&block: &&Block| cfg.succs(block).iter().any(|&succ| !loops.contains(id, succ));
        let mut exits = data.blocks.iter().filter(leaves);
        view.is_left_at_end =
            exits.next().is_some_and(|&block| cfg.succs(block).contains(&latch)) && exits.next().is_none();
        let exit = data
            .blocks
            .iter()
            .filter(|&&block| dom.dominates(block, latch))
            .find_map(|&block| view.exit_test(block))?;
        view.expect(cfg);
        let mut tests: Vec<EndTest> = Vec::new();
        for (&inst, &expected) in &view.expected {
            tests.push(view.test(inst, expected)?);
        }
        // In the order of the code.
        tests.sort_by_key(|test| test.operands);
        let expected = view.expected;
        let plan = BorderPlan { id, preheader, exit, expected, tests, size };
        (!plan.tests.is_empty() && plan.tests.len() <= MAX_TESTS).then_some(plan)
    }

    fn apply(&self, func: &mut Function, data: &Loop) {
        let Some(jump) = func.layout.terminator(self.preheader) else { return };
        let loc = func.locs[jump];
        let Some(entry) = func.dfg.targets(jump).first().map(|&call| call.clone()) else { return };
        func.layout.remove_inst(jump);
        let mut firsts = Cloner::within();
        for (&param, &arg) in func.dfg.params(data.header).iter().zip(&entry.args) {
            firsts.set_value(param, arg);
        }
        let mut at = Before { func, data, block: self.preheader, firsts };
        let mut all = Vec::new();
        let mut more = None;
        for test in &self.tests {
            let narrow = test.promised.then(|| at.holds_by_promise(test, &self.exit)).flatten();
            all.push(narrow.unwrap_or_else(|| {
                let more = *more.get_or_insert_with(|| at.iterations(&self.exit));
                at.holds(test, more)
            }));
        }
        if let Some(more) = more {
            all.push(at.is_exact(&self.exit, more));
        }
        let holds = all.into_iter().reduce(|one, other| at.builder().int2(Opcode::And, one, other));
        let Some(holds) = holds else { unreachable!("broken invariant: a plan without tests") };
        let fast = self.copy(func, data);
        let mut b = Builder::at_end(func, self.preheader);
        b.set_loc(loc);
        let fails = b.int1(Opcode::Not, holds);
        let any = b.value(Opcode::PackAny, &[fails], Imm::None, Type::B1);
        b.branch(any, entry.clone(), BlockCall::new(fast, &entry.args));
        for &block in &data.blocks {
            func.layout.set_cold(block);
        }
    }

    /// Copies the loop with what is expected. Returns the header.
    fn copy(&self, func: &mut Function, data: &Loop) -> Block {
        let mut cloner = Cloner::within();
        let copies: Vec<Block> = data.blocks.iter().map(|&block| cloner.copy_block(func, block)).collect();
        // In reverse postorder, so that definitions come before their uses, except in arguments of the back edge, whose
        // definitions have been copied by then, too.
        for (&block, &copy) in data.blocks.iter().zip(&copies) {
            func.layout.append_block(copy);
            // Most iterations are those of the copy, with all that it contains.
            func.layout.clear_cold(copy);
            for inst in func.layout.insts(block).to_vec() {
                match self.expected.get(&inst) {
                    Some(&Expected::Truth(truth)) => {
                        let loc = func.locs[inst];
                        let mut b = Builder::at_end(func, copy);
                        b.set_loc(loc);
                        let known = b.iconst(Type::B1, i64::from(truth));
                        cloner.set_value(func.dfg.result(inst), known);
                    }
                    Some(&Expected::Operand(number)) => {
                        let operand = func.dfg.inst(inst).args[number];
                        cloner.set_value(func.dfg.result(inst), cloner.value_or_same(operand));
                    }
                    None => {
                        cloner.append(func, copy, inst);
                    }
                }
            }
        }
        // The header is the first block.
        copies[0]
    }
}

/// A loop, and what is expected in it.
struct LoopView<'a> {
    func: &'a Function,
    dom: &'a DomTree,
    loops: &'a LoopForest,
    id: LoopId,
    data: &'a Loop,
    latch: Block,
    expected: FxHashMap<Inst, Expected>,
    /// Whether the loop is left at the end of iterations only.
    is_left_at_end: bool,
}

impl LoopView<'_> {
    fn inside(&self, value: Value) -> bool {
        let home = self.func.def_block(value);
        home.is_some_and(|home| self.loops.contains(self.id, home))
    }

    /// The instruction in the loop that defines a value.
    fn inst_of(&self, value: Value) -> Option<Inst> {
        self.func.dfg.def_inst(value).filter(|_| self.inside(value))
    }

    /// By how much an integer grows in each iteration, as long as what is expected holds.
    fn step(&self, value: Value) -> Option<i64> {
        self.step_within(value, &mut FxHashMap::default(), MAX_DEPTH)
    }

    /// As [`Self::step`]; `known` has the values that have been looked at.
    fn step_within(&self, value: Value, known: &mut FxHashMap<Value, Option<i64>>, depth: u32) -> Option<i64> {
        if !self.inside(value) || self.func.dfg.as_const(value).is_some() {
            return Some(0);
        }
        if let Some(&known) = known.get(&value) {
            return known;
        }
        let step = self.step_of_inst(value, known, depth.checked_sub(1)?);
        known.insert(value, step);
        step
    }

    fn step_of_inst(&self, value: Value, known: &mut FxHashMap<Value, Option<i64>>, depth: u32) -> Option<i64> {
        let mut of = |value: Value| self.step_within(value, known, depth);
        let Some(inst) = self.inst_of(value) else {
            let ValueDef::Param(home, index) = self.func.dfg.def(value) else { return None };
            let next = loop_form::args_of_edge(self.func, self.latch, self.data.header)?;
            let next = *next.get(usize::from(index)).filter(|_| home == self.data.header)?;
            if next == value {
                return Some(0);
            }
            let data = self.func.dfg.inst(self.inst_of(next)?);
            let (Opcode::Iadd | Opcode::Isub, &[from, by]) = (data.op, data.args.as_slice()) else { return None };
            let by = constant(self.func, by).filter(|_| from == value)?;
            return if data.op == Opcode::Iadd { Some(by) } else { by.checked_neg() };
        };
        let data = self.func.dfg.inst(inst);
        if let Some(&Expected::Operand(number)) = self.expected.get(&inst) {
            return of(data.args[number]);
        }
        let step = match (data.op, data.args.as_slice()) {
            (Opcode::Iadd, &[a, b]) => of(a)?.checked_add(of(b)?),
            (Opcode::Isub, &[a, b]) => of(a)?.checked_sub(of(b)?),
            (Opcode::Imul, &[a, b]) => match (constant(self.func, a), constant(self.func, b)) {
                (_, Some(by)) => of(a)?.checked_mul(by),
                (Some(by), None) => of(b)?.checked_mul(by),
                (None, None) => (of(a)? == 0 && of(b)? == 0).then_some(0),
            },
            (Opcode::Ineg, &[a]) => of(a)?.checked_neg(),
            (Opcode::Itrunc, &[a]) => of(a),
            (Opcode::Sext, &[a]) => match of(a)? {
                0 => Some(0),
                step => self.never_wraps(a).then_some(step),
            },
            (Opcode::Select, &[cond, a, b]) => match self.truth(cond, MAX_TERMS) {
                Some(true) => of(a),
                Some(false) => of(b),
                None => None,
            },
            _ if data.op.is_pure() && !data.args.is_empty() => {
                data.args.iter().all(|&arg| of(arg) == Some(0)).then_some(0)
            }
            _ => None,
        };
        step.filter(|step| (-MAX_STEP..=MAX_STEP).contains(step))
    }

    /// Whether the source promises that an integer that grows does not wrap.
    fn never_wraps(&self, value: Value) -> bool {
        let inst = match self.func.dfg.def(value) {
            ValueDef::Result(inst, _) => Some(inst),
            ValueDef::Param(_, index) => {
                let next = loop_form::args_of_edge(self.func, self.latch, self.data.header);
                next.and_then(|next| next.get(usize::from(index))).and_then(|&next| self.func.dfg.def_inst(next))
            }
        };
        inst.is_some_and(|inst| {
            let data = self.func.dfg.inst(inst);
            data.imm.wrap().contains(WrapFlags::NO_SIGNED)
                && matches!(data.op, Opcode::Iadd | Opcode::Isub | Opcode::Imul)
        })
    }

    /// Whether a value is computed in each iteration, and the source promises that it does not wrap.
    fn is_computed_always(&self, value: Value) -> bool {
        // What is expected of it is tested, too.
        if let Some(inst) = self.func.dfg.def_inst(value)
            && let Some(&Expected::Operand(number)) = self.expected.get(&inst)
        {
            return self.is_computed_always(self.func.dfg.inst(inst).args[number]);
        }
        self.func.def_block(value).is_some_and(|home| self.dom.dominates(home, self.latch)) && self.never_wraps(value)
    }

    /// What a condition is expected to be, if it is not nested too deeply.
    fn truth(&self, cond: Value, depth: u32) -> Option<bool> {
        let inst = self.inst_of(cond).filter(|_| depth > 0)?;
        if let Some(&Expected::Truth(truth)) = self.expected.get(&inst) {
            return Some(truth);
        }
        let data = self.func.dfg.inst(inst);
        let of = |number: usize| self.truth(data.args[number], depth - 1);
        if data.op == Opcode::Not {
            return of(0).map(|truth| !truth);
        }
        let (Opcode::And | Opcode::Or) = data.op else { return None };
        // One operand of this truth decides; else both have to be known.
        let decides = data.op == Opcode::Or;
        match (of(0), of(1)) {
            (Some(a), Some(b)) => Some(if a == decides { a } else { b }),
            (Some(known), None) | (None, Some(known)) => (known == decides).then_some(known),
            (None, None) => None,
        }
    }

    /// The test at the end of a block by which the loop goes on or is left.
    fn exit_test(&self, block: Block) -> Option<ExitTest> {
        let func = self.func;
        let branch = func.dfg.inst(func.layout.terminator(block)?);
        let Imm::Branch(calls) = &branch.imm else { return None };
        let stays = match [0, 1].map(|target: usize| self.loops.contains(self.id, calls[target].block)) {
            [true, false] => true,
            [false, true] => false,
            [true, true] | [false, false] => return None,
        };
        let test = func.dfg.inst(self.inst_of(branch.args[0])?);
        let (Opcode::Icmp, &Imm::IntCond(cond), &[a, b]) = (test.op, &test.imm, test.args.as_slice()) else {
            return None;
        };
        let cond = if stays { cond } else { cond.inverse() };
        let is_counter = |value: Value| self.step(value).is_some_and(|step| step != 0);
        let (counter, limit, cond) = if is_counter(a) { (a, b, cond) } else { (b, a, cond.swapped()) };
        if self.step(limit) != Some(0) || func.dfg.ty(counter).is_vector() {
            return None;
        }
        let step = self.step(counter)?;
        let suits = match cond {
            IntCond::Eq => false,
            IntCond::Ne => step.abs() == 1,
            IntCond::Slt | IntCond::Sle | IntCond::Ult | IntCond::Ule => step > 0,
            IntCond::Sgt | IntCond::Sge | IntCond::Ugt | IntCond::Uge => step < 0,
        };
        let promised = self.never_wraps(counter);
        suits.then_some(ExitTest { counter, step, promised, limit, cond })
    }

    /// Finds out what is expected, in the order of the code.
    fn expect(&mut self, cfg: &Cfg) {
        let data = self.data;
        for &block in &data.blocks {
            for &inst in self.func.layout.insts(block) {
                self.expect_of(cfg, block, inst);
            }
        }
    }

    fn expect_of(&mut self, cfg: &Cfg, block: Block, inst: Inst) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        match (data.op, &data.imm) {
            (Opcode::Smax | Opcode::Smin, _) => {
                let steps = [data.args[0], data.args[1]].map(|arg| self.step(arg));
                let grows = match steps {
                    [Some(0), Some(0)] => None,
                    [Some(_), Some(0)] => Some(0),
                    [Some(0), Some(_)] => Some(1),
                    _ => None,
                };
                if let Some(number) = grows.filter(|_| is_compared(func, data.args[0])) {
                    self.expected.insert(inst, Expected::Operand(number));
                }
            }
            (Opcode::Select, _) if func.dfg.ty(data.args[1]).is_int() => {
                let steps = [data.args[1], data.args[2]].map(|arg| self.step(arg));
                let chosen = match steps {
                    [Some(a), Some(b)] if a.signum() != b.signum() => Some(a > b),
                    [Some(a), None] if a != 0 => Some(true),
                    [None, Some(b)] if b != 0 => Some(false),
                    _ => None,
                };
                if let Some(truth) = chosen {
                    self.expect_truth(data.args[0], truth, MAX_TERMS);
                }
            }
            (Opcode::Branch, Imm::Branch(calls)) => {
                let work = |call: &BlockCall| {
                    let is_side = self.loops.contains(self.id, call.block) && *cfg.preds(call.block) == [block];
                    if is_side { func.layout.insts(call.block).len() } else { 0 }
                };
                let leaves = calls.iter().any(|call| !self.loops.contains(self.id, call.block));
                let (one, other) = (work(&calls[0]), work(&calls[1]));
                if !leaves && one != other {
                    self.expect_truth(data.args[0], one > other, MAX_TERMS);
                }
            }
            _ => {}
        }
    }

    /// Expects a condition to be true or false: all terms of a conjunction, or none of a disjunction.
    fn expect_truth(&mut self, cond: Value, truth: bool, depth: u32) {
        let Some(inst) = self.inst_of(cond).filter(|_| depth > 0) else { return };
        let data = self.func.dfg.inst(inst);
        let args = data.args.clone();
        if data.op == Opcode::Not {
            self.expect_truth(args[0], !truth, depth - 1);
        } else if data.op == if truth { Opcode::And } else { Opcode::Or } {
            args.iter().for_each(|&arg| self.expect_truth(arg, truth, depth - 1));
        } else if self.test(inst, Expected::Truth(truth)).is_some() {
            self.expected.entry(inst).or_insert(Expected::Truth(truth));
        }
    }

    /// The comparison that has to hold at both ends for an expectation.
    fn test(&self, inst: Inst, expected: Expected) -> Option<EndTest> {
        let data = self.func.dfg.inst(inst);
        let operands = match *data.args.as_slice() {
            [a, b] if is_compared(self.func, a) => [a, b],
            _ => return None,
        };
        let cond = match (expected, data.op, &data.imm) {
            (Expected::Truth(truth), Opcode::Icmp, &Imm::IntCond(cond)) => {
                if truth {
                    cond
                } else {
                    cond.inverse()
                }
            }
            (Expected::Operand(0), Opcode::Smax, _) | (Expected::Operand(1), Opcode::Smin, _) => IntCond::Sge,
            (Expected::Operand(_), Opcode::Smax | Opcode::Smin, _) => IntCond::Sle,
            _ => return None,
        };
        if matches!(cond, IntCond::Eq | IntCond::Ne) {
            return None;
        }
        let steps = [self.step(operands[0])?, self.step(operands[1])?];
        let is_promised = |(&value, &step): (&Value, &i64)| step == 0 || self.is_computed_always(value);
        let promised = self.is_left_at_end && operands.iter().zip(&steps).all(is_promised);
        (steps != [0, 0]).then_some(EndTest { cond, operands, steps, promised })
    }
}

/// Whether the integers of this type are compared in 64 bits without wrapping.
fn is_compared(func: &Function, value: Value) -> bool {
    let ty = func.dfg.ty(value);
    ty.is_int() && !ty.is_vector() && ty.elem.bits() >= 8
}

/// A constant as a signed number.
fn constant(func: &Function, value: Value) -> Option<i64> {
    let bits = func.dfg.as_splat_bits(value).filter(|_| func.dfg.ty(value).is_int())?;
    let unused = 64 - func.dfg.ty(value).elem.bits();
    Some((bits << unused).cast_signed() >> unused)
}

fn is_signed(cond: IntCond) -> bool {
    match cond {
        IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge | IntCond::Eq | IntCond::Ne => true,
        IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge => false,
    }
}

/// What is computed before a loop.
struct Before<'a> {
    func: &'a mut Function,
    data: &'a Loop,
    block: Block,
    /// Makes copies for the first iteration.
    firsts: Cloner<'static>,
}

impl Before<'_> {
    /// A value in the first iteration.
    fn first(&mut self, value: Value) -> Value {
        let (data, block) = (self.data, self.block);
        let inside = |func: &Function, inst| func.layout.block_of(inst).is_some_and(|at| data.blocks.contains(&at));
        self.firsts.computed(self.func, value, &inside, &mut |func, copy| func.layout.append_inst(block, copy))
    }

    fn builder(&mut self) -> Builder<'_> {
        Builder::at_end(self.func, self.block)
    }

    /// In 64 bits.
    fn wide(&mut self, value: Value, signed: bool) -> Value {
        let value = self.first(value);
        self.builder().int_resize(value, Elem::I64, signed)
    }

    /// The most iterations after the first one; a huge number if the counter would wrap.
    fn iterations(&mut self, exit: &ExitTest) -> Value {
        let signed = is_signed(exit.cond);
        let (from, to) = (self.wide(exit.counter, signed), self.wide(exit.limit, signed));
        let mut b = self.builder();
        let (low, high) = if exit.step > 0 { (from, to) } else { (to, from) };
        let distance = b.int2(Opcode::Isub, high, low);
        // A loop that tests for equality goes on until then; others have been entered whatever the test says.
        let zero = b.iconst(Type::I64, 0);
        let least = b.int2(Opcode::Smax, distance, zero);
        let more = match exit.cond {
            IntCond::Ne => {
                let grows = b.icmp(IntCond::Sge, distance, zero);
                let endless = b.iconst(Type::I64, i64::from(u32::MAX));
                return b.select(grows, distance, endless);
            }
            IntCond::Eq | IntCond::Slt | IntCond::Sgt | IntCond::Ult | IntCond::Ugt => least,
            IntCond::Sle | IntCond::Sge | IntCond::Ule | IntCond::Uge => {
                let one = b.iconst(Type::I64, 1);
                let inclusive = b.int2(Opcode::Iadd, distance, one);
                b.int2(Opcode::Smax, inclusive, zero)
            }
        };
        let step = exit.step.unsigned_abs();
        if step == 1 {
            return more;
        }
        let by = b.iconst(Type::I64, step.cast_signed());
        let last = b.iconst(Type::I64, step.cast_signed() - 1);
        let rounded = b.int2(Opcode::Iadd, more, last);
        b.int2(Opcode::Udiv, rounded, by)
    }

    /// Whether a comparison holds at the end where it matters, if no operand wraps, and the number of iterations is known in the
    /// type of the operands.
    fn holds_by_promise(&mut self, test: &EndTest, exit: &ExitTest) -> Option<Value> {
        let grows = test.steps[0] - test.steps[1];
        let at_first = match test.cond {
            IntCond::Sge | IntCond::Sgt => grows > 0,
            IntCond::Sle | IntCond::Slt => grows < 0,
            IntCond::Eq | IntCond::Ne | IntCond::Uge | IntCond::Ugt | IntCond::Ule | IntCond::Ult => return None,
        };
        let firsts = test.operands.map(|operand| self.first(operand));
        if at_first {
            return Some(self.builder().icmp(test.cond, firsts[0], firsts[1]));
        }
        // How many iterations follow: exactly, if the counter changes by one and is compared for equality or does not wrap.
        let types = [exit.counter, test.operands[0]].map(|value| self.func.dfg.ty(value));
        let inclusive = match exit.cond {
            IntCond::Ne => false,
            IntCond::Slt | IntCond::Sgt if exit.promised => false,
            IntCond::Sle | IntCond::Sge if exit.promised => true,
            IntCond::Slt | IntCond::Sgt | IntCond::Sle | IntCond::Sge => return None,
            IntCond::Eq | IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge => return None,
        };
        // The distance between the ends of a narrow type may not be one of it.
        if exit.step.abs() != 1 || types[0] != types[1] || types[0].elem.bits() < 32 {
            return None;
        }
        let (from, to) = (self.first(exit.counter), self.first(exit.limit));
        let mut b = self.builder();
        let (low, high) = if exit.step > 0 { (from, to) } else { (to, from) };
        let mut more = b.int2(Opcode::Isub, high, low);
        if inclusive {
            let one = b.iconst(types[0], 1);
            more = b.int2(Opcode::Iadd, more, one);
        }
        if exit.cond != IntCond::Ne {
            // The loop may have been entered whatever the test says.
            let zero = b.iconst(types[0], 0);
            more = b.int2(Opcode::Smax, more, zero);
        }
        let mut lasts = firsts;
        for (last, &step) in lasts.iter_mut().zip(&test.steps) {
            if step != 0 {
                let by = b.iconst(types[0], step);
                let grown = b.int2(Opcode::Imul, more, by);
                *last = b.int2(Opcode::Iadd, *last, grown);
            }
        }
        Some(b.icmp(test.cond, lasts[0], lasts[1]))
    }

    /// Whether the loop has at most `more` iterations after the first one: whether its counter does not wrap.
    fn is_exact(&mut self, exit: &ExitTest, more: Value) -> Value {
        let signed = is_signed(exit.cond);
        let bits = self.func.dfg.ty(exit.counter).elem.bits();
        let first = self.wide(exit.counter, signed);
        let mut b = self.builder();
        let limit = b.iconst(Type::I64, i64::from(u32::MAX));
        // Then all products and sums fit.
        let few = b.icmp(IntCond::Ult, more, limit);
        let last = after(&mut b, first, exit.step, more);
        let mut exact = fits(&mut b, last, (signed, bits));
        if bits == 64 {
            let first = fits(&mut b, first, (signed, bits));
            exact = b.int2(Opcode::And, exact, first);
            // From such a counter to a limit far from the ends, the distance does not wrap. Where the two have to become equal,
            // a distance that wraps has been counted as endless.
            if exit.cond != IntCond::Ne {
                let limit = self.wide(exit.limit, signed);
                let mut b = self.builder();
                let limit = fits(&mut b, limit, (signed, bits));
                exact = b.int2(Opcode::And, exact, limit);
            }
        }
        self.builder().int2(Opcode::And, few, exact)
    }

    /// Whether a comparison holds in the first and in the last one of `more` iterations after it, and no operand wraps between.
    fn holds(&mut self, test: &EndTest, more: Value) -> Value {
        let signed = is_signed(test.cond);
        let bits = self.func.dfg.ty(test.operands[0]).elem.bits();
        let firsts = test.operands.map(|operand| self.wide(operand, signed));
        let mut b = self.builder();
        let mut holds = b.icmp(test.cond, firsts[0], firsts[1]);
        let mut lasts = firsts;
        for ((first, last), &step) in firsts.into_iter().zip(&mut lasts).zip(&test.steps) {
            *last = after(&mut b, first, step, more);
            // The last value of a narrow type must be one of the type; those of 64 bits must be far from its ends.
            let checked: &[Value] = match (bits, step) {
                (64, 0) => &[first],
                (64, _) => &[first, *last],
                (_, 0) => &[],
                (..) => &[*last],
            };
            for &value in checked {
                let fits = fits(&mut b, value, (signed, bits));
                holds = b.int2(Opcode::And, holds, fits);
            }
        }
        let last = b.icmp(test.cond, lasts[0], lasts[1]);
        b.int2(Opcode::And, holds, last)
    }
}

/// A value after some more iterations, in 64 bits.
fn after(b: &mut Builder<'_>, first: Value, step: i64, more: Value) -> Value {
    if step == 0 {
        return first;
    }
    let by = b.iconst(Type::I64, step);
    let grown = b.int2(Opcode::Imul, more, by);
    b.int2(Opcode::Iadd, first, grown)
}

/// Whether a number of 64 bits is one of fewer bits; of those that are compared in 64 bits, whether it is far from their ends.
fn fits(b: &mut Builder<'_>, value: Value, (signed, bits): (bool, u32)) -> Value {
    let (low, range) = match (signed, bits) {
        (true, 64) => (-(1i64 << 61), 1i64 << 62),
        (false, 64) => (0, 1i64 << 61),
        (true, bits) => (-(1i64 << (bits - 1)), (1i64 << bits) - 1),
        (false, bits) => (0, (1i64 << bits) - 1),
    };
    let (low, range) = (b.iconst(Type::I64, low), b.iconst(Type::I64, range));
    let above = b.int2(Opcode::Isub, value, low);
    b.icmp(IntCond::Ule, above, range)
}
