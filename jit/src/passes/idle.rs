//! Which loops do nothing, given the values of some Booleans.
//!
//! A loop does nothing if no block that it can reach has effects, it can be left, whether it is left does not depend on memory
//! that others may write, and no value that changes in it is used outside.

use clift_kir::analysis::{Cfg, Loop, LoopForest, LoopId};
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, BlockCall, Effects, Elem, Function, Imm, Inst, Opcode, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::loop_form;

/// How many definitions deep the value of a Boolean is looked for.
const MAX_DEPTH: u32 = 16;
/// The most branches of a loop that are tried.
const MAX_BRANCHES: usize = 16;
/// The most Booleans that are looked at for what decides them.
const MAX_SEEN: usize = 64;
/// The most instructions of an invariant term that are computed before the loop.
pub(super) const MAX_TERM: usize = 12;

/// What is known of Booleans: scalars, and vectors that are the same in all lanes.
pub(super) struct Truths<'a> {
    func: &'a Function,
    known: FxHashMap<Value, Option<bool>>,
    /// What comparisons give.
    compared: &'a dyn Fn(Inst) -> Option<bool>,
}

impl<'a> Truths<'a> {
    /// `compared` says what is known of comparisons of integers.
    pub(super) fn new(func: &'a Function, compared: &'a dyn Fn(Inst) -> Option<bool>) -> Truths<'a> {
        Truths { func, known: FxHashMap::default(), compared }
    }

    /// Nothing but that a value is known.
    pub(super) fn of_one(func: &'a Function, value: Value, truth: bool) -> Truths<'a> {
        Truths { func, known: FxHashMap::from_iter([(value, Some(truth))]), compared: &|_| None }
    }

    /// The value of a Boolean, if it is known.
    fn get(&mut self, value: Value, depth: u32) -> Option<bool> {
        if self.func.dfg.ty(value).elem != Elem::B1 || depth == 0 {
            return None;
        }
        if let Some(bits) = self.func.dfg.as_splat_bits(value) {
            return Some(bits != 0);
        }
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        let inst = self.func.dfg.def_inst(value)?;
        let data = self.func.dfg.inst(inst);
        let mut of = |number: usize| self.get(data.args[number], depth - 1);
        let truth = if data.op == Opcode::And {
            match (of(0), of(1)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), other) | (other, Some(true)) => other,
                (None, None) => None,
            }
        } else if data.op == Opcode::Or {
            match (of(0), of(1)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), other) | (other, Some(false)) => other,
                (None, None) => None,
            }
        } else if data.op == Opcode::Xor {
            of(0).zip(of(1)).map(|(a, b)| a != b)
        } else if data.op == Opcode::Not {
            of(0).map(|truth| !truth)
        } else if matches!(data.op, Opcode::Splat | Opcode::Any | Opcode::All) {
            of(0)
        } else if data.op == Opcode::Icmp {
            (self.compared)(inst)
        } else {
            None
        };
        self.known.insert(value, truth);
        truth
    }
}

/// What decides the branches of a loop.
#[derive(Default)]
pub(super) struct Terms {
    /// Booleans that are, or could be, computed before the loop.
    pub(super) invariant: Vec<Value>,
    /// Comparisons of integers in the loop.
    pub(super) comparisons: Vec<Inst>,
    seen: FxHashSet<Value>,
}

/// A loop, and what is asked about it.
pub(super) struct LoopView<'a> {
    pub(super) func: &'a Function,
    pub(super) loops: &'a LoopForest,
    pub(super) id: LoopId,
    pub(super) data: &'a Loop,
    pub(super) preheader: Block,
}

/// What a block does besides computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockEffects {
    None,
    /// It reads memory.
    Reads,
    Some,
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
    /// A loop in the form of [`loop_form`].
    pub(super) fn new(func: &'a Function, cfg: &Cfg, loops: &'a LoopForest, id: LoopId) -> Option<LoopView<'a>> {
        let data = loops.get(id);
        Some(LoopView { func, loops, id, data, preheader: loop_form::preheader(cfg, data)? })
    }

    pub(super) fn inside(&self, block: Block) -> bool {
        self.loops.contains(self.id, block)
    }

    /// The instruction in the loop that defines a value, if there is one.
    pub(super) fn inst_of(&self, value: Value) -> Option<Inst> {
        let inst = self.func.dfg.def_inst(value)?;
        self.func.layout.block_of(inst).is_some_and(|block| self.inside(block)).then_some(inst)
    }

    /// Whether a value is, or could be, computed before the loop.
    pub(super) fn is_invariant(&self, value: Value, budget: &mut usize) -> bool {
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

    /// The scalar Booleans outside the loop, or invariant in it, and the comparisons in it, that decide a condition.
    pub(super) fn terms(&self, cond: Value, terms: &mut Terms) {
        let mut stack = vec![cond];
        while let Some(value) = stack.pop() {
            if self.func.dfg.as_const(value).is_some() || !terms.seen.insert(value) || terms.seen.len() > MAX_SEEN {
                continue;
            }
            if self.func.dfg.ty(value) == Type::B1 && self.is_invariant(value, &mut { MAX_TERM }) {
                terms.invariant.push(value);
                continue;
            }
            let Some(inst) = self.inst_of(value) else { continue };
            let data = self.func.dfg.inst(inst);
            if matches!(
                data.op,
                Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not | Opcode::Splat | Opcode::Any | Opcode::All
            ) {
                stack.extend(data.args.iter().rev());
            } else if data.op == Opcode::Icmp {
                terms.comparisons.push(inst);
            }
        }
    }

    /// What decides the branches of the loop.
    pub(super) fn terms_of_branches(&self) -> Terms {
        let mut terms = Terms::default();
        let branches = self.data.blocks.iter().filter_map(|&block| {
            let last = self.func.dfg.inst(self.func.layout.terminator(block)?);
            (last.op == Opcode::Branch).then(|| last.args[0])
        });
        for cond in branches.take(MAX_BRANCHES) {
            self.terms(cond, &mut terms);
        }
        terms
    }

    /// Where control goes from the preheader, with which arguments, if the loop does nothing while what is known of Booleans
    /// holds.
    pub(super) fn exit_if_idle(&self, truths: &mut Truths<'_>) -> Option<BlockCall> {
        let reached = self.reached(truths)?;
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

    /// Whether control may go through the loop, and leave it, without effects. If not, nothing that is known of Booleans helps.
    pub(super) fn may_be_idle(&self) -> bool {
        let mut seen = FxHashSet::default();
        let mut stack = vec![self.data.header];
        while let Some(block) = stack.pop() {
            if !self.inside(block) {
                return true;
            }
            if seen.insert(block) && self.effects(block) != BlockEffects::Some {
                stack.extend(self.func.successors(block));
            }
        }
        false
    }

    /// What a block does.
    fn effects(&self, block: Block) -> BlockEffects {
        let last = self.func.layout.terminator(block);
        let mut found = BlockEffects::None;
        for &inst in self.func.layout.insts(block) {
            let data = self.func.dfg.inst(inst);
            match data.op.info().effects {
                Effects::Pure => {}
                Effects::Read if matches!(&data.imm, Imm::Mem(mem) if !mem.volatile) => found = BlockEffects::Reads,
                Effects::Terminator if Some(inst) == last => {}
                Effects::Read | Effects::Write | Effects::ReadWrite | Effects::Convergent | Effects::Terminator => {
                    return BlockEffects::Some;
                }
            }
        }
        found
    }

    /// What the loop reaches; `None` if that has effects.
    fn reached(&self, truths: &mut Truths<'_>) -> Option<Reached<'a>> {
        let mut reached = Reached::default();
        let mut seen = FxHashSet::from_iter([self.data.header]);
        let mut stack = vec![self.data.header];
        while let Some(block) = stack.pop() {
            let last = self.func.layout.terminator(block)?;
            match self.effects(block) {
                BlockEffects::None => {}
                BlockEffects::Reads => reached.reads = true,
                BlockEffects::Some => return None,
            }
            let targets = self.func.dfg.targets(last);
            if targets.is_empty() {
                return None;
            }
            let branch = self.func.dfg.inst(last);
            let truth = (branch.op == Opcode::Branch).then(|| truths.get(branch.args[0], MAX_DEPTH)).flatten();
            let taken = truth.map(|truth| usize::from(!truth));
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
