//! Loop unswitching, where it needs no copy of the loop: a loop that does nothing unless a loop-invariant condition holds is entered
//! only if it does, and a loop that never does anything is removed.
//!
//! ```text
//!                                          preheader: branch row_is_inside, enter, exit
//! preheader: jump head(0)                  enter:     jump head(0)
//! head(j):   branch inside, body, latch    head(j):   branch column_is_inside, body, latch
//! ```
//!
//! Filters of images test for each of a pixel's neighbours whether it lies inside the image; the half of the test that concerns the
//! row is the same for a whole row of neighbours. The condition may be a conjunction of which some terms are invariant, or a
//! disjunction under which the loop does nothing.
//!
//! A loop does nothing if no block that it can reach has effects, it can be left, whether it is left does not depend on memory that
//! others may write, and no value that changes in it is used outside.

use clift_kir::analysis::{Cfg, Loop, LoopForest, LoopId};
use clift_kir::clone::Cloner;
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, BlockCall, Builder, Effects, Function, Imm, Inst, Opcode, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::util::set_jump;
use super::{Changed, loop_form};

/// How often it is repeated: a condition may consist of several branches.
const ROUNDS: usize = 3;
/// The most branches of a loop that are tried.
const MAX_BRANCHES: usize = 16;
/// The most instructions of an invariant term that are computed before the loop.
const MAX_TERM: usize = 12;

/// Unswitches all loops.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut changed = false;
    for _ in 0..ROUNDS {
        let Some((cfg, _, loops)) = loop_form::run(func) else { break };
        let plans: Vec<Plan> = loops.iter().filter_map(|(id, _)| Plan::new(func, &cfg, &loops, id)).collect();
        if plans.is_empty() {
            break;
        }
        changed = true;
        for plan in plans {
            plan.apply(func, &loops);
        }
    }
    Changed(changed)
}

/// What is done to a loop.
struct Plan {
    id: LoopId,
    preheader: Block,
    /// Where control goes instead of into the loop.
    exit: BlockCall,
    /// When; `None` for always.
    test: Option<Test>,
}

/// Invariant terms of a condition, and the value that makes the loop do nothing if one of them has it.
struct Test {
    terms: Vec<Value>,
    idle: bool,
}

impl Plan {
    fn new(func: &Function, cfg: &Cfg, loops: &LoopForest, id: LoopId) -> Option<Plan> {
        let data = loops.get(id);
        let preheader = loop_form::preheader(cfg, data)?;
        let view = LoopView { func, loops, id, data, preheader };
        if let Some(exit) = view.exit_if_idle(None) {
            return Some(Plan { id, preheader, exit, test: None });
        }
        let branches = data.blocks.iter().filter_map(|&block| {
            let last = func.layout.terminator(block)?;
            (func.dfg.inst(last).op == Opcode::Branch).then(|| (block, func.dfg.inst(last).args[0]))
        });
        for (block, cond) in branches.take(MAX_BRANCHES) {
            // The second target is taken if a conjunction has a false term, the first one if a disjunction has a true one.
            for (op, idle, taken) in [(Opcode::And, false, 1), (Opcode::Or, true, 0)] {
                let mut terms = Vec::new();
                view.invariant_terms(cond, op, &mut terms);
                if terms.is_empty() {
                    continue;
                }
                if let Some(exit) = view.exit_if_idle(Some((block, taken))) {
                    return Some(Plan { id, preheader, exit, test: Some(Test { terms, idle }) });
                }
            }
        }
        None
    }

    fn apply(self, func: &mut Function, loops: &LoopForest) {
        let Some(jump) = func.layout.terminator(self.preheader) else { return };
        let Some(Test { terms, idle }) = self.test else {
            return set_jump(func, jump, self.exit);
        };
        let loc = func.locs[jump];
        func.layout.remove_inst(jump);
        let inside = |func: &Function, inst| func.layout.block_of(inst).is_some_and(|at| loops.contains(self.id, at));
        let mut place = |func: &mut Function, copy| func.layout.append_inst(self.preheader, copy);
        let mut cloner = Cloner::within();
        let computed: Vec<Value> = terms.iter().map(|&term| cloner.computed(func, term, &inside, &mut place)).collect();
        let enter = func.dfg.make_block();
        func.layout.insert_block_after(enter, self.preheader);
        if func.layout.is_cold(self.preheader) {
            func.layout.set_cold(enter);
        }
        let mut b = Builder::at_end(func, self.preheader);
        b.set_loc(loc);
        let op = if idle { Opcode::Or } else { Opcode::And };
        let cond = computed.into_iter().reduce(|all, term| b.int2(op, all, term));
        let Some(cond) = cond else { unreachable!("broken invariant: a test without terms") };
        let enters = BlockCall::new(enter, &[]);
        if idle {
            b.branch(cond, self.exit, enters)
        } else {
            b.branch(cond, enters, self.exit)
        };
        b.switch_to(enter);
        let known = b.iconst(Type::B1, i64::from(!idle));
        func.layout.append_inst(enter, jump);
        for &block in &loops.get(self.id).blocks {
            for inst in func.layout.insts(block).to_vec() {
                func.dfg.map_uses(inst, |value| if terms.contains(&value) { known } else { value });
            }
        }
    }
}

/// A loop, and what is asked about it.
struct LoopView<'a> {
    func: &'a Function,
    loops: &'a LoopForest,
    id: LoopId,
    data: &'a Loop,
    preheader: Block,
}

/// The edges that are reached within a loop.
#[derive(Default)]
struct Reached<'a> {
    /// By target, without those that leave the loop.
    within: FxHashMap<Block, Vec<&'a BlockCall>>,
    /// Those that leave the loop.
    leaving: Vec<&'a BlockCall>,
    /// The instructions that decide between several edges, in blocks with an edge that leaves the loop.
    exit_tests: Vec<Inst>,
    reads: bool,
}

impl<'a> LoopView<'a> {
    fn inside(&self, block: Block) -> bool {
        self.loops.contains(self.id, block)
    }

    /// The instruction in the loop that defines a value, if there is one.
    fn inst_of(&self, value: Value) -> Option<Inst> {
        let inst = self.func.dfg.def_inst(value)?;
        self.func.layout.block_of(inst).is_some_and(|block| self.inside(block)).then_some(inst)
    }

    /// Whether a value is, or could be, computed before the loop.
    fn is_invariant(&self, value: Value, budget: &mut usize) -> bool {
        if let ValueDef::Param(home, _) = self.func.dfg.def(value) {
            return !self.inside(home);
        }
        let Some(inst) = self.inst_of(value) else { return true };
        let data = self.func.dfg.inst(inst);
        if *budget == 0 || !data.op.is_pure() || self.func.dfg.results(inst).len() != 1 {
            return false;
        }
        *budget -= 1;
        data.args.iter().all(|&arg| self.is_invariant(arg, budget))
    }

    /// The invariant terms of a conjunction or disjunction, constants apart.
    fn invariant_terms(&self, value: Value, op: Opcode, terms: &mut Vec<Value>) {
        if self.func.dfg.as_const(value).is_some() || self.func.dfg.ty(value) != Type::B1 {
            return;
        }
        if self.is_invariant(value, &mut { MAX_TERM }) {
            terms.push(value);
            return;
        }
        if let Some(inst) = self.inst_of(value)
            && self.func.dfg.inst(inst).op == op
        {
            for &term in &self.func.dfg.inst(inst).args {
                self.invariant_terms(term, op, terms);
            }
        }
    }

    /// Where control goes from the preheader, with which arguments, if the loop does nothing; `forced` is a block and which of its
    /// targets it takes.
    fn exit_if_idle(&self, forced: Option<(Block, usize)>) -> Option<BlockCall> {
        let reached = self.reached(forced)?;
        let (first, others) = reached.leaving.split_first()?;
        if others.iter().any(|call| call.block != first.block) || reached.reads && self.exits_by_memory(&reached) {
            return None;
        }
        let entered = loop_form::args_of_edge(self.func, self.preheader, self.data.header)?;
        let mut sources = Sources { view: self, reached: &reached, known: FxHashMap::default() };
        let mut args = Vec::new();
        for (index, &arg) in first.args.iter().enumerate() {
            let source = sources.of(arg)?;
            if others.iter().any(|call| sources.of(call.args[index]) != Some(source)) {
                return None;
            }
            args.push(match self.func.dfg.def(source) {
                ValueDef::Param(home, number) if home == self.data.header => {
                    let number = usize::from(number);
                    let back = reached.within.get(&home).map_or(&[][..], |edges| edges.as_slice());
                    if back.iter().any(|call| sources.of(call.args[number]) != Some(source)) {
                        return None;
                    }
                    entered[number]
                }
                ValueDef::Param(..) | ValueDef::Result(..) => source,
            });
        }
        Some(BlockCall::new(first.block, &args))
    }

    /// What the loop reaches; `None` if that has effects.
    fn reached(&self, forced: Option<(Block, usize)>) -> Option<Reached<'a>> {
        let mut reached = Reached::default();
        let mut seen = FxHashSet::from_iter([self.data.header]);
        let mut stack = vec![self.data.header];
        while let Some(block) = stack.pop() {
            let last = self.func.layout.terminator(block)?;
            for &inst in self.func.layout.insts(block) {
                let data = self.func.dfg.inst(inst);
                match data.op.info().effects {
                    Effects::Pure => {}
                    Effects::Read if matches!(&data.imm, Imm::Mem(mem) if !mem.volatile) => reached.reads = true,
                    Effects::Terminator if inst == last => {}
                    Effects::Read | Effects::Write | Effects::ReadWrite | Effects::Convergent | Effects::Terminator => {
                        return None;
                    }
                }
            }
            let targets = self.func.dfg.targets(last);
            if targets.is_empty() {
                return None;
            }
            let taken = forced.filter(|&(from, _)| from == block).map(|(_, taken)| taken);
            let mut leaves = false;
            for (number, call) in targets.into_iter().enumerate() {
                if taken.is_some_and(|taken| taken != number) {
                    continue;
                }
                if !self.inside(call.block) {
                    leaves = true;
                    reached.leaving.push(call);
                    continue;
                }
                reached.within.entry(call.block).or_default().push(call);
                if seen.insert(call.block) {
                    stack.push(call.block);
                }
            }
            if leaves {
                reached.exit_tests.push(last);
            }
        }
        Some(reached)
    }

    /// Whether it depends on memory when the loop is left.
    fn exits_by_memory(&self, reached: &Reached<'_>) -> bool {
        let operands = |inst: Inst| self.func.dfg.inst(inst).args.iter().copied();
        let mut stack: Vec<Value> = reached.exit_tests.iter().flat_map(|&inst| operands(inst)).collect();
        let mut seen = FxHashSet::default();
        while let Some(value) = stack.pop() {
            if !seen.insert(value) {
                continue;
            }
            match self.func.dfg.def(value) {
                ValueDef::Param(home, number) if self.inside(home) => {
                    let edges = reached.within.get(&home).into_iter().flatten();
                    stack.extend(edges.map(|call| call.args[usize::from(number)]));
                    // Which edge is taken may decide, too.
                    if home != self.data.header {
                        return true;
                    }
                }
                ValueDef::Param(..) => {}
                ValueDef::Result(..) => {
                    let Some(inst) = self.inst_of(value) else { continue };
                    if !self.func.dfg.inst(inst).op.is_pure() {
                        return true;
                    }
                    stack.extend(operands(inst));
                }
            }
        }
        false
    }
}

/// Where values of a loop come from in an iteration that does nothing.
struct Sources<'a, 'v> {
    view: &'v LoopView<'a>,
    reached: &'v Reached<'a>,
    known: FxHashMap<Value, Option<Value>>,
}

impl Sources<'_, '_> {
    /// The value from outside, or parameter of the header, that a value is equal to.
    fn of(&mut self, value: Value) -> Option<Value> {
        let ValueDef::Param(home, number) = self.view.func.dfg.def(value) else {
            return self.view.inst_of(value).is_none().then_some(value);
        };
        if home == self.view.data.header || !self.view.inside(home) {
            return Some(value);
        }
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        // Parameters of inner loops depend on themselves.
        self.known.insert(value, None);
        let edges = self.reached.within.get(&home)?;
        let mut sources =
            edges.iter().map(|call| self.of(call.args[usize::from(number)])).collect::<Vec<_>>().into_iter();
        let first = sources.next().flatten()?;
        let found = sources.all(|source| source == Some(first)).then_some(first);
        self.known.insert(value, found);
        found
    }
}
