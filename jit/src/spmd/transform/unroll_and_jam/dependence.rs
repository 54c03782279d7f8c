//! Which values of a pack's code depend on the row, and which branches do.

use clift_kir::analysis::{Cfg, DomTree};
use clift_kir::ops::QueryOp;
use clift_kir::{Block, Effects, Function, Imm, Inst, IntCond, MemInfo, Opcode, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;

use super::{FEW, MUCH, row_step};
use crate::spmd::class::{Class, class};
use crate::spmd::transform::transposed_items::depends_on_order;

/// The most blocks between a branch that depends on the row and the beginning of its loop, in the dominator tree.
const MAX_CLIMB: usize = 16;

/// How often an instruction is executed for several rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Times {
    /// Once.
    Once,
    /// Once if none of its operands depends on the row.
    ByOperands,
    /// For each row.
    Each,
}

/// How often an instruction is executed; `None` if it is not supported.
fn times(func: &Function, inst: Inst) -> Option<Times> {
    let data = func.dfg.inst(inst);
    let volatile = matches!(data.imm, Imm::Mem(MemInfo { volatile: true, .. }));
    match class(data.op) {
        Class::Constant | Class::Arg | Class::ArgAddr | Class::GlobalAddr | Class::InSpace | Class::Cheap => {
            Some(Times::ByOperands)
        }
        Class::SlotAddr => Some(Times::Each),
        Class::Query(_) if row_step(func, inst).is_some() => Some(Times::Each),
        // Packs at the end of a row have the same idle lanes in all rows.
        Class::Query(QueryOp::SubGroupSize) => Some(Times::Once),
        Class::Query(query) => (!depends_on_order(query)).then_some(Times::Once),
        Class::Load if volatile => Some(Times::Each),
        Class::Load => Some(Times::ByOperands),
        Class::Barrier | Class::Branch | Class::End => Some(Times::Once),
        Class::Plain if data.op == Opcode::Fence => Some(Times::Once),
        Class::Plain => match data.op.info().effects {
            Effects::Pure => Some(Times::ByOperands),
            Effects::Read | Effects::Write if volatile || func.dfg.inst(inst).args.is_empty() => Some(Times::Each),
            Effects::Read => Some(Times::ByOperands),
            Effects::Write | Effects::ReadWrite => Some(Times::Each),
            Effects::Convergent | Effects::Terminator => None,
        },
        Class::NamedBarrier | Class::Yield | Class::Collective | Class::Image => None,
    }
}

/// The paths between a branch whose condition depends on the row and the block where they meet.
#[derive(Clone, Debug)]
pub(super) struct DivergentPaths {
    /// The block that ends in the branch.
    at: Block,
    /// Their blocks, in reverse postorder.
    pub(super) blocks: Vec<Block>,
    /// Where they meet.
    pub(super) join: Block,
    /// Other blocks of them that end in a branch whose condition depends on the row, and that do not dominate all that follows
    /// up to the block where they meet: those of a loop that rows leave after different numbers of iterations, for example.
    inner: Vec<Block>,
    /// Whether the blocks are also there for all rows together.
    pub(super) together: bool,
}

impl DivergentPaths {
    /// Whether a value is computed on the paths.
    pub(super) fn defines(&self, func: &Function, value: Value) -> bool {
        func.def_block(value).is_some_and(|block| self.blocks.contains(&block))
    }
}

/// What of a pack's code depends on the row.
pub(super) struct RowDependence {
    values: EntitySet<Value>,
    /// The paths after branches that depend on the row.
    pub(super) divergent: Vec<DivergentPaths>,
    /// The blocks that are there for all rows together, in reverse postorder.
    pub(super) together: Vec<Block>,
}

impl RowDependence {
    /// `None` if the function can observe an order of work-items, or if paths do not meet as `if` statements do.
    pub(super) fn of(func: &Function) -> Option<RowDependence> {
        let cfg = Cfg::new(func);
        let mut search = Search {
            func,
            dom: DomTree::new(&cfg),
            post: DomTree::post(&cfg),
            cfg,
            values: EntitySet::new(),
            found: Vec::new(),
        };
        while search.step()? {}
        search.finish()
    }

    /// Whether a value depends on the row.
    pub(super) fn depends(&self, value: Value) -> bool {
        self.values.contains(value)
    }

    /// Whether an instruction is executed once for all rows.
    pub(super) fn is_once(&self, func: &Function, inst: Inst) -> bool {
        is_once(&self.values, func, inst)
    }

    /// The divergent paths that begin at the end of a block, by their number.
    pub(super) fn divergent_at(&self, block: Block) -> Option<usize> {
        self.divergent.iter().position(|paths| paths.at == block)
    }
}

/// The mask of which a condition asks whether any or all of its lanes are active; if that is the negation of another one, that as
/// well, and so on. All rows that agree about the last one agree about the others.
pub(super) fn asked_lanes(func: &Function, condition: Value) -> SmallVec<[Value; 2]> {
    let operand = |value: Value, ops: &[Opcode]| {
        let data = func.dfg.inst(func.dfg.def_inst(value)?);
        ops.contains(&data.op).then(|| data.args[0])
    };
    std::iter::successors(operand(condition, &[Opcode::Any, Opcode::All]), |&mask| operand(mask, &[Opcode::Not]))
        .collect()
}

fn is_once(values: &EntitySet<Value>, func: &Function, inst: Inst) -> bool {
    match times(func, inst) {
        Some(Times::Once) => true,
        Some(Times::ByOperands) => !func.dfg.inst(inst).args.iter().any(|&arg| values.contains(arg)),
        Some(Times::Each) | None => false,
    }
}

/// What combines comparisons.
const BOOLEAN: [Opcode; 4] = [Opcode::And, Opcode::Or, Opcode::Xor, Opcode::Not];
/// What may be between the number of a row and a comparison, or between a comparison and a branch.
const LINEAR: [Opcode; 8] =
    [Opcode::Iadd, Opcode::Isub, Opcode::Itrunc, Opcode::Sext, Opcode::Zext, Opcode::Splat, Opcode::Any, Opcode::All];

struct Search<'a> {
    func: &'a Function,
    cfg: Cfg,
    dom: DomTree,
    post: DomTree,
    values: EntitySet<Value>,
    found: Vec<DivergentPaths>,
}

impl Search<'_> {
    /// Visits all instructions, and returns whether anything new depends on the row. `None` as in [`RowDependence::of`].
    fn step(&mut self) -> Option<bool> {
        let func = self.func;
        let mut changed = false;
        for index in 0..self.cfg.rpo().len() {
            let block = self.cfg.rpo()[index];
            for &inst in func.layout.insts(block) {
                times(func, inst)?;
                if !is_once(&self.values, func, inst) {
                    for &result in func.dfg.results(inst) {
                        changed |= self.values.insert(result);
                    }
                }
            }
            let last = func.layout.terminator(block)?;
            let divergent = func.dfg.inst(last).args.iter().any(|&arg| self.values.contains(arg));
            let is_found = |paths: &DivergentPaths| paths.at == block || paths.inner.contains(&block);
            if divergent && !self.found.iter().any(is_found) {
                let paths = self.paths_around(block)?;
                changed = true;
                match self.found.iter_mut().find(|other| other.at == paths.at) {
                    Some(other) => other.inner.push(block),
                    None => self.found.push(paths),
                }
            }
            for target in func.dfg.targets(last) {
                for (&param, &arg) in func.dfg.params(target.block).iter().zip(&target.args) {
                    if self.values.contains(arg) {
                        changed |= self.values.insert(param);
                    }
                }
            }
        }
        for index in 0..self.found.len() {
            changed |= self.choose_by_row(index);
        }
        Some(changed)
    }

    /// The paths from a branch to where they meet. If there is a way back to the branch, they begin before the loop.
    fn paths_around(&self, branch: Block) -> Option<DivergentPaths> {
        let mut at = branch;
        for _ in 0..MAX_CLIMB {
            if let Some(paths) = self.paths_from(at)
                && (at == branch || paths.blocks.contains(&branch))
            {
                let inner = if at == branch { Vec::new() } else { vec![branch] };
                return Some(DivergentPaths { inner, ..paths });
            }
            at = self.dom.parent(at)?;
        }
        None
    }

    /// The paths from a branch to where they meet.
    fn paths_from(&self, at: Block) -> Option<DivergentPaths> {
        let join = self.post.parent(at)?;
        let mut inside: EntitySet<Block> = EntitySet::new();
        let mut work: Vec<Block> = self.cfg.succs(at).to_vec();
        while let Some(block) = work.pop() {
            if block == join || !inside.insert(block) {
                continue;
            }
            let barrier = |&inst: &Inst| class(self.func.dfg.inst(inst).op) == Class::Barrier;
            if block == at || !self.dom.dominates(at, block) || self.func.layout.insts(block).iter().any(barrier) {
                return None;
            }
            work.extend(self.cfg.succs(block));
        }
        let blocks = self.cfg.rpo().iter().copied().filter(|&block| inside.contains(block)).collect();
        Some(DivergentPaths { at, blocks, join, inner: Vec::new(), together: false })
    }

    /// What the block where paths meet gets depends on the row, if they compute it, or if it is not the same from all of them.
    fn choose_by_row(&mut self, number: usize) -> bool {
        let (func, paths) = (self.func, &self.found[number]);
        let mut changed = false;
        for (place, &param) in func.dfg.params(paths.join).iter().enumerate() {
            let from = paths.blocks.iter().copied().chain([paths.at]);
            let lasts = from.filter_map(|block| func.layout.terminator(block));
            let calls = lasts.flat_map(|last| func.dfg.targets(last)).filter(|call| call.block == paths.join);
            let args: Vec<Value> = calls.map(|call| call.args[place]).collect();
            let same = args.iter().all(|&arg| arg == args[0] && !paths.defines(func, arg));
            if !same {
                changed |= self.values.insert(param);
            }
        }
        changed
    }

    /// Whether the condition of a branch compares the number of the row with something, so that most neighbouring rows agree.
    fn is_border_test(&self, at: Block) -> bool {
        let dfg = &self.func.dfg;
        let mut work: Vec<Value> = match self.func.layout.terminator(at) {
            Some(last) => dfg.inst(last).args.to_vec(),
            None => return false,
        };
        let mut seen: EntitySet<Value> = EntitySet::new();
        while let Some(value) = work.pop() {
            if !self.values.contains(value) || !seen.insert(value) {
                continue;
            }
            let Some(inst) = dfg.def_inst(value) else { return false };
            let data = dfg.inst(inst);
            let compares = data.op == Opcode::Icmp && !matches!(data.imm, Imm::IntCond(IntCond::Eq | IntCond::Ne));
            let combines = BOOLEAN.contains(&data.op) && dfg.ty(value).is_bool();
            if !(compares || combines || LINEAR.contains(&data.op) || row_step(self.func, inst).is_some()) {
                return false;
            }
            work.extend(data.args.iter().copied());
        }
        true
    }

    /// Whether rows that agree about the lanes for which a branch asks agree about another branch, which asks for the same lanes.
    fn follows(&self, at: Block, inner: Block) -> bool {
        let mask = |block: Block| {
            let last = self.func.layout.terminator(block)?;
            let &[condition] = self.func.dfg.inst(last).args.as_slice() else { return None };
            asked_lanes(self.func, condition).last().copied()
        };
        mask(at).is_some() && mask(at) == mask(inner)
    }

    /// Decides which paths are there for all rows together.
    fn finish(mut self) -> Option<RowDependence> {
        let func = self.func;
        let count = |blocks: &[Block]| blocks.iter().map(|&block| func.layout.insts(block).len()).sum::<usize>();
        let all = count(self.cfg.rpo());
        let mut only_by_row: EntitySet<Block> = EntitySet::new();
        let mut found = std::mem::take(&mut self.found);
        for paths in &mut found {
            let own = count(&paths.blocks);
            let agree = paths.inner.iter().all(|&inner| self.follows(paths.at, inner));
            paths.together = agree && own > FEW && own > all / MUCH && self.is_border_test(paths.at);
            if !paths.together {
                only_by_row.extend(paths.blocks.iter().copied());
            }
        }
        self.found = found;
        let mut users: SecondaryMap<Value, Vec<Block>> = SecondaryMap::new();
        for &block in self.cfg.rpo() {
            for &inst in func.layout.insts(block) {
                func.dfg.for_each_use(inst, |value| users[value].push(block));
            }
        }
        for paths in &self.found {
            let results = |&inst: &Inst| func.dfg.results(inst).to_vec();
            for &block in &paths.blocks {
                let params = func.dfg.params(block).iter().copied();
                let values = params.chain(func.layout.insts(block).iter().flat_map(results));
                if values.into_iter().any(|value| users[value].iter().any(|user| !paths.blocks.contains(user))) {
                    return None;
                }
            }
        }
        let together = self.cfg.rpo().iter().copied().filter(|&block| !only_by_row.contains(block)).collect();
        Some(RowDependence { values: self.values, divergent: self.found, together })
    }
}
