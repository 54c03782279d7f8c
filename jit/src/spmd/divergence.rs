//! Divergence analysis: which values are the same for all work-items of a scope, which branches send them different ways.
//!
//! A forward analysis over one function at stage *canonical*. Values start at the bottom of the lattice of [`Shape`] and rise
//! by the op table's uniformity column until nothing changes. Control flow adds two rules, for each branch whose condition is
//! not uniform in the scope:
//!
//! - where paths from its targets meet, parameters that get different values vary (*joins*);
//! - when work-items leave a loop in different iterations because of it, values defined inside and used outside vary
//!   (*loop exits*).
//!
//! "The same" is meant for one dynamic instance: work-items that together came to the n-th execution of an instruction. The
//! analysis keeps why a value varies, so that a report can name the instruction that broke uniformity. It does not look
//! through memory: beyond a pack, whose lanes load together, a load is uniform only if nothing the kernel does could write what
//! it reads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use clift_kir::analysis::{Cfg, DomTree, LoopForest, LoopId};
use clift_kir::dfg::ValueDef;
use clift_kir::inst::Imm;
use clift_kir::ops::Uniformity;
use clift_kir::{Block, Function, Inst, InstData, MemScope, Opcode, Space, Value};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};

use super::shape::{Assumptions, MAX_ALIGN, Scope, Shape};

/// Why a value is no more uniform than it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Nothing took anything away: uniform for the launch.
    None,
    /// The instruction says so: a query, an atomic, a private address.
    Op(Inst),
    /// An operand or block argument.
    Operand(Value),
    /// A load of memory that the other instruction may write.
    Written(Inst),
    /// A parameter of a block where the ways from this divergent branch meet.
    Join(Inst),
    /// Defined in a loop that work-items leave in different iterations because of this branch.
    LoopExit(Inst),
}

#[derive(Clone, Copy, Debug)]
struct Fact {
    /// `None` while nothing is known: unreached, or in a cycle with itself.
    shape: Option<Shape>,
    reason: Reason,
}

/// The analysis: shapes of values, divergence of branches.
#[derive(Clone, Debug)]
pub struct Divergence {
    scope: Scope,
    facts: SecondaryMap<Value, Fact>,
    divergent: EntitySet<Block>,
    parted: EntitySet<Block>,
}

/// Work in progress.
struct Solver<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    post: DomTree,
    loops: LoopForest,
    scope: Scope,
    assumptions: Assumptions,
    /// Instructions that use a value, as operand or as argument of a target.
    users: SecondaryMap<Value, Vec<Inst>>,
    writers: Vec<Writer>,
    /// Components of an irreducible graph's cycles; empty when the graph is reducible.
    tangled: SecondaryMap<Block, u32>,
    facts: SecondaryMap<Value, Fact>,
    /// Joins that a divergent branch made: the branch.
    joins: SecondaryMap<Block, PackedOption<Inst>>,
    divergent: EntitySet<Block>,
    parted: EntitySet<Block>,
    /// Loops that work-items leave in different iterations.
    left: FxHashSet<LoopId>,
    /// Components in which nothing is uniform any more.
    loosened: FxHashSet<u32>,
    /// Blocks that the coarse treatment has come to.
    coarse: EntitySet<Block>,
    /// Blocks labelled so far.
    steps: usize,
    work: Vec<Inst>,
}

/// What a divergent branch does to control flow.
#[derive(Default)]
struct Ways {
    /// Blocks between the branch and where all its ways have met, that one included.
    reached: Vec<Block>,
    /// Those at which different ways meet.
    joins: Vec<Block>,
}

/// Blocks that may be labelled for all branches together before the coarse treatment takes over.
const STEPS: usize = 500_000;

/// An instruction that writes memory other work-items may see.
struct Writer {
    inst: Inst,
    space: Space,
    alias: u32,
}

impl Divergence {
    /// Analyses a function: a branch is divergent when its condition is not uniform in `scope`. What it finds holds where the
    /// assumptions do.
    pub fn new(func: &Function, cfg: &Cfg, scope: Scope, assumptions: &Assumptions) -> Divergence {
        let mut solver = Solver::new(func, cfg, scope, *assumptions);
        solver.run();
        Divergence { scope, facts: solver.facts, divergent: solver.divergent, parted: solver.parted }
    }

    /// The scope that was asked about.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// A value's shape.
    pub fn shape(&self, value: Value) -> Shape {
        self.facts[value].shape.unwrap_or(Shape::Uniform(Scope::Launch))
    }

    /// Whether a value is the same for all work-items of the scope.
    pub fn is_uniform(&self, value: Value) -> bool {
        self.shape(value).is_uniform(self.scope)
    }

    /// Whether work-items of the scope may leave a block for different targets.
    pub fn diverges(&self, block: Block) -> bool {
        self.divergent.contains(block)
    }

    /// Whether a block lies between a divergent branch and where all ways from there have met again: only some work-items of
    /// the scope may execute it, or each a different number of times.
    pub fn is_parted(&self, block: Block) -> bool {
        self.parted.contains(block)
    }

    /// Why a value is no more uniform than it is.
    pub fn reason(&self, value: Value) -> Reason {
        self.facts[value].reason
    }

    /// Follows operands to the first value that is not uniform by itself, and why.
    pub fn root(&self, value: Value) -> (Value, Reason) {
        let (mut at, mut steps) = (value, 0);
        while let Reason::Operand(next) = self.reason(at) {
            at = next;
            steps += 1;
            if steps > 10_000 {
                break;
            }
        }
        (at, self.reason(at))
    }
}

impl Default for Fact {
    fn default() -> Fact {
        Fact { shape: None, reason: Reason::None }
    }
}

impl<'a> Solver<'a> {
    fn new(func: &'a Function, cfg: &'a Cfg, scope: Scope, assumptions: Assumptions) -> Solver<'a> {
        let dom = DomTree::new(cfg);
        let loops = LoopForest::new(cfg, &dom);
        let mut users: SecondaryMap<Value, Vec<Inst>> = SecondaryMap::with_capacity(func.dfg.value_count());
        let mut writers = Vec::new();
        for &block in cfg.rpo() {
            for &inst in func.layout.insts(block) {
                func.dfg.for_each_use(inst, |value| users[value].push(inst));
                writers.extend(writer(func, inst));
            }
        }
        let tangled = if loops.irreducible() { components(cfg) } else { SecondaryMap::new() };
        Solver {
            func,
            cfg,
            post: DomTree::post(cfg),
            loops,
            scope,
            assumptions,
            users,
            writers,
            tangled,
            facts: SecondaryMap::with_capacity(func.dfg.value_count()),
            joins: SecondaryMap::new(),
            divergent: EntitySet::new(),
            parted: EntitySet::new(),
            left: FxHashSet::default(),
            loosened: FxHashSet::default(),
            coarse: EntitySet::new(),
            steps: 0,
            work: Vec::new(),
        }
    }

    fn run(&mut self) {
        let func = self.func;
        // Parameters of the entry come from outside: nothing is known.
        for &param in func.layout.entry().map(|entry| func.dfg.params(entry)).unwrap_or_default() {
            self.facts[param] = Fact { shape: Some(Shape::Varying), reason: Reason::None };
        }
        for &block in self.cfg.rpo().iter().rev() {
            self.work.extend(func.layout.insts(block).iter().rev());
        }
        while let Some(inst) = self.work.pop() {
            self.visit(inst);
        }
    }

    /// Raises a value's shape; a change puts its users back to work.
    fn raise(&mut self, value: Value, shape: Shape, reason: Reason) {
        let old = self.facts[value];
        let new = old.shape.map_or(shape, |old| old.join(shape));
        if old.shape == Some(new) {
            return;
        }
        self.facts[value] = Fact { shape: Some(new), reason };
        self.work.extend(&self.users[value]);
    }

    fn visit(&mut self, inst: Inst) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        if data.op.is_terminator() {
            self.visit_terminator(inst);
            return;
        }
        let mut operands: Vec<Shape> = Vec::with_capacity(data.args.len());
        for &arg in &data.args {
            match self.facts[arg].shape {
                Some(shape) => operands.push(shape),
                None => return, // comes again when it is known
            }
        }
        let (shape, reason) = match data.op.info().uniformity {
            Uniformity::Launch => (Shape::Uniform(Scope::Launch), Reason::None),
            Uniformity::Group => (Shape::Uniform(Scope::Group), Reason::Op(inst)),
            Uniformity::Pack => (Shape::Uniform(Scope::Pack), Reason::Op(inst)),
            Uniformity::Scope => (group_shape(data), Reason::Op(inst)),
            Uniformity::Choice => match (operands.first(), operands.last()) {
                (Some(&Shape::Uniform(scope)), _) => (Shape::Uniform(scope), Reason::Operand(data.args[0])),
                (_, Some(Shape::Uniform(_))) => (Shape::Uniform(Scope::Pack), Reason::Op(inst)),
                _ => (Shape::Varying, Reason::Op(inst)),
            },
            Uniformity::Varying => (self.query_shape(inst), Reason::Op(inst)),
            Uniformity::Operands => {
                let ty = func.dfg.single_result(inst).map(|v| func.dfg.ty(v));
                let shape = Shape::of_operands(data, ty, &operands, |i| func.dfg.as_splat_bits(data.args[i]));
                (shape, self.worst_operand(&data.args))
            }
            Uniformity::Memory => self.load_shape(inst, &operands),
        };
        for &result in func.dfg.results(inst) {
            self.raise(result, shape, reason);
        }
    }

    /// Shapes of the values that the op table calls varying.
    fn query_shape(&self, inst: Inst) -> Shape {
        let data = self.func.dfg.inst(inst);
        let Assumptions { width, packs_aligned, ids_below: _ } = self.assumptions;
        let by_one = |align| Shape::Affine { stride: 1, align };
        let aligned = if packs_aligned { width } else { 1 };
        match (data.op, &data.imm) {
            (Opcode::GlobalId, Imm::Dim(0)) => by_one(aligned),
            (Opcode::LocalId, Imm::Dim(0)) => by_one(width),
            // A pack lies within a row.
            (Opcode::GlobalId | Opcode::LocalId, _) => Shape::Uniform(Scope::Pack),
            (Opcode::LocalLinearId, _) => by_one(aligned),
            // Rows of the launch may have any length.
            (Opcode::GlobalLinearId, _) => by_one(1),
            (Opcode::SubGroupLocalId, _) => by_one(MAX_ALIGN),
            _ => Shape::Varying,
        }
    }

    /// The shape of what a load gives. The lanes of a pack load together, so that from one address they get one value, whoever
    /// writes there; work-items of different packs get the same only from memory that nobody writes.
    fn load_shape(&self, load: Inst, operands: &[Shape]) -> (Shape, Reason) {
        let data = self.func.dfg.inst(load);
        let all = operands.iter().copied().reduce(Shape::join).unwrap_or(Shape::Varying);
        let writer = self.written_by(load);
        let scope = match all {
            Shape::Uniform(scope) => scope.max(Scope::Group),
            Shape::Affine { .. } | Shape::Varying => return (Shape::Varying, self.worst_operand(&data.args)),
        };
        let Some(writer) = writer else { return (Shape::Uniform(scope), self.worst_operand(&data.args)) };
        let at_once = match self.func.dfg.ty(data.args[0]).elem.space() {
            Some(Space::Global | Space::Local | Space::Generic | Space::Constant | Space::Host) => {
                matches!(&data.imm, Imm::Mem(mem) if !mem.volatile)
            }
            // An address of private memory means another place for each work-item.
            Some(Space::Private) | None => false,
        };
        (if at_once { Shape::Uniform(Scope::Pack) } else { Shape::Varying }, Reason::Written(writer))
    }

    /// The operand that is least uniform.
    fn worst_operand(&self, args: &[Value]) -> Reason {
        let rank = |&value: &Value| match self.facts[value].shape {
            None => 0,
            Some(Shape::Uniform(scope)) => 1 + scope as u32,
            Some(Shape::Affine { .. }) => 5,
            Some(Shape::Varying) => 6,
        };
        args.iter().copied().max_by_key(rank).map_or(Reason::None, Reason::Operand)
    }

    /// An instruction that may write what a load reads, if there is one.
    fn written_by(&self, load: Inst) -> Option<Inst> {
        let data = self.func.dfg.inst(load);
        let Imm::Mem(mem) = data.imm else { return Some(load) };
        let Some(space) = self.func.dfg.ty(data.args[0]).elem.space() else { return Some(load) };
        if mem.volatile {
            return Some(load);
        }
        if mem.invariant {
            return None;
        }
        match space {
            Space::Constant | Space::Host => None,
            // A private address differs from work-item to work-item anyway; a generic one may be private.
            Space::Private | Space::Generic => Some(load),
            Space::Global | Space::Local => {
                let clash =
                    |w: &&Writer| w.space.may_alias(space) && (w.alias == 0 || mem.alias == 0 || w.alias == mem.alias);
                self.writers.iter().find(clash).map(|w| w.inst)
            }
        }
    }

    fn visit_terminator(&mut self, inst: Inst) {
        let func = self.func;
        let Some(block) = func.layout.block_of(inst) else { return };
        for target in func.dfg.targets(inst) {
            for i in 0..target.args.len() {
                let arg = target.args[i];
                let param = func.dfg.params(target.block)[i];
                if let Some(shape) = self.facts[arg].shape {
                    self.raise(param, shape, Reason::Operand(arg));
                }
            }
        }
        let Some(&selector) = func.dfg.inst(inst).args.first() else { return };
        let known = self.facts[selector].shape;
        let divergent = known.is_some_and(|shape| !shape.is_uniform(self.scope));
        // A return's operands choose no way. Two targets may be one block with different arguments.
        if divergent && func.dfg.targets(inst).len() > 1 && !self.divergent.contains(block) {
            self.diverge(block, inst);
        }
    }

    /// A branch turned out to be divergent: marks joins and loop exits.
    fn diverge(&mut self, branch: Block, inst: Inst) {
        self.divergent.insert(branch);
        let coarse = self.steps > STEPS;
        let mut ways = if coarse { self.coarse_ways(branch) } else { self.ways(branch) };
        // A block that is the target twice is once among the successors.
        let targets: Vec<Block> = self.func.dfg.targets(inst).iter().map(|call| call.block).collect();
        ways.joins.extend(targets.iter().enumerate().filter(|(i, target)| targets[..*i].contains(target)).map(|t| t.1));
        for &join in &ways.joins {
            self.join(join, inst);
        }
        let mut up = self.loops.innermost(branch);
        while let Some(id) = up {
            let leaves = coarse || ways.reached.iter().any(|&b| !self.loops.contains(id, b));
            if leaves && self.left.insert(id) {
                let inside = self.loops.get(id).blocks.clone();
                self.vary_outside(&inside, inst, |solver, block| solver.loops.contains(id, block));
            }
            up = self.loops.get(id).parent;
        }
        self.tangle(branch, inst);
    }

    /// Where the ways from a branch lead until all have met again. Each block is labelled with the target, or the join since,
    /// through which all ways come to it; where labels differ is a join.
    fn ways(&mut self, branch: Block) -> Ways {
        let stop = self.post.parent(branch);
        let mut labels: FxHashMap<Block, Block> = FxHashMap::default();
        let mut joins: FxHashSet<Block> = FxHashSet::default();
        // Lowest position in reverse postorder first.
        let mut queue: BinaryHeap<(Reverse<u32>, Block)> = BinaryHeap::new();
        let mut arrive = |at: Block, label: Block, queue: &mut BinaryHeap<_>, labels: &mut FxHashMap<Block, Block>| {
            let changed = match labels.insert(at, label) {
                None => true,
                Some(old) if old == label => false,
                Some(old) => {
                    joins.insert(at);
                    labels.insert(at, at);
                    old != at
                }
            };
            if changed && Some(at) != stop {
                queue.push((Reverse(self.cfg.number(at).unwrap_or(u32::MAX)), at));
            }
        };
        for &succ in self.cfg.succs(branch) {
            arrive(succ, succ, &mut queue, &mut labels);
        }
        while let Some((_, at)) = queue.pop() {
            let label = labels[&at];
            for &succ in self.cfg.succs(at) {
                arrive(succ, label, &mut queue, &mut labels);
            }
        }
        self.steps += labels.len();
        self.parted.extend(labels.keys().copied().filter(|&b| Some(b) != stop));
        Ways { reached: labels.into_keys().collect(), joins: joins.into_iter().collect() }
    }

    /// As [`Self::ways`] for functions with very many divergent branches: whatever can be reached is taken to be parted, and
    /// every meeting of ways there a join. All such branches together cost one walk over the function.
    fn coarse_ways(&mut self, branch: Block) -> Ways {
        let mut ways = Ways::default();
        let mut stack = self.cfg.succs(branch).to_vec();
        while let Some(block) = stack.pop() {
            if self.coarse.insert(block) {
                self.parted.insert(block);
                ways.reached.push(block);
                stack.extend(self.cfg.succs(block));
                if self.cfg.preds(block).len() > 1 {
                    ways.joins.push(block);
                }
            }
        }
        ways
    }

    /// A divergent branch in a cycle with several entries, where nothing tells iterations apart: only uses in the block of the
    /// definition are safe.
    fn tangle(&mut self, branch: Block, inst: Inst) {
        let component = self.tangled[branch];
        if component == 0 || !self.loosened.insert(component) {
            return;
        }
        let blocks = self.cfg.rpo();
        for &block in blocks {
            if self.tangled[block] != component {
                continue;
            }
            for &param in self.func.dfg.params(block) {
                self.raise(param, Shape::Varying, Reason::Join(inst));
            }
            self.vary_outside(&[block], inst, |_, at| at == block);
        }
    }

    /// Parameters of a join vary unless all edges bring the same value.
    fn join(&mut self, block: Block, branch: Inst) {
        if self.joins[block].is_some() {
            return;
        }
        self.joins[block] = Some(branch).into();
        let func = self.func;
        for (i, &param) in func.dfg.params(block).iter().enumerate() {
            let mut args = self.arguments(block, i);
            let first = args.next();
            let differ = args.any(|arg| Some(arg) != first);
            drop(args);
            if differ {
                self.raise(param, Shape::Varying, Reason::Join(branch));
            }
        }
    }

    /// Values defined in `blocks` vary when they are used where `inside` does not hold; parameters there that get them vary in
    /// their place.
    fn vary_outside(&mut self, blocks: &[Block], branch: Inst, inside: impl Fn(&Solver<'_>, Block) -> bool) {
        let func = self.func;
        for &block in blocks {
            let results = func.layout.insts(block).iter().flat_map(|&inst| func.dfg.results(inst));
            for &value in func.dfg.params(block).iter().chain(results) {
                if self.is_invariant(value, &inside, 6) {
                    continue;
                }
                let mut varies = Vec::new();
                for &user in &self.users[value] {
                    if !func.layout.block_of(user).is_some_and(|at| inside(self, at)) {
                        varies.push(value);
                        continue;
                    }
                    for target in func.dfg.targets(user) {
                        if !inside(self, target.block) {
                            let params = func.dfg.params(target.block).iter().zip(&target.args);
                            varies.extend(params.filter(|&(_, &arg)| arg == value).map(|(&param, _)| param));
                        }
                    }
                }
                for value in varies {
                    self.raise(value, Shape::Varying, Reason::LoopExit(branch));
                }
            }
        }
    }

    /// Whether a value is the same in every iteration of the cycle made up of the blocks for which `inside` holds. Looks at
    /// most `depth` definitions deep.
    fn is_invariant(&self, value: Value, inside: &impl Fn(&Solver<'_>, Block) -> bool, depth: u32) -> bool {
        let func = self.func;
        match func.dfg.def(value) {
            ValueDef::Result(inst, _) => {
                let data = func.dfg.inst(inst);
                if !func.layout.block_of(inst).is_some_and(|at| inside(self, at)) {
                    return true;
                }
                let invariant = |&arg: &Value| self.is_invariant(arg, inside, depth - 1);
                data.op.is_pure() && (data.args.is_empty() || depth > 0 && data.args.iter().all(invariant))
            }
            ValueDef::Param(block, _) if !inside(self, block) => true,
            // A parameter that gets itself or always the same other value.
            ValueDef::Param(block, index) => {
                let mut others = self.arguments(block, usize::from(index)).filter(|&arg| arg != value);
                let Some(first) = others.next() else { return false };
                depth > 0 && others.all(|arg| arg == first) && self.is_invariant(first, inside, depth - 1)
            }
        }
    }

    /// What all edges to a block bring for its parameter.
    fn arguments(&self, block: Block, index: usize) -> impl Iterator<Item = Value> + '_ {
        let func = self.func;
        self.cfg.preds(block).iter().flat_map(move |&pred| {
            let targets = func.layout.terminator(pred).map(|t| func.dfg.targets(t)).unwrap_or_default();
            targets.into_iter().filter(move |call| call.block == block).map(move |call| call.args[index])
        })
    }
}

/// The shape of what a reduction over work-items gives.
fn group_shape(data: &InstData) -> Shape {
    match &data.imm {
        Imm::Group(info) if info.cluster != 0 => Shape::Varying,
        Imm::Group(info) if info.scope == MemScope::WorkGroup => Shape::Uniform(Scope::Group),
        _ => Shape::Uniform(Scope::Pack),
    }
}

/// What an instruction writes that other work-items may see.
fn writer(func: &Function, inst: Inst) -> Option<Writer> {
    use clift_kir::Effects;
    let data = func.dfg.inst(inst);
    let writes = match data.op.info().effects {
        Effects::Write | Effects::ReadWrite => true,
        Effects::Pure | Effects::Read | Effects::Convergent | Effects::Terminator => false,
    };
    if !writes || data.op == Opcode::Fence || data.op == Opcode::Printf {
        return None;
    }
    // The address comes first in every op that writes.
    let space = func.dfg.ty(*data.args.first()?).elem.space()?;
    let alias = if let Imm::Mem(mem) = &data.imm { mem.alias } else { 0 };
    (space != Space::Private).then_some(Writer { inst, space, alias })
}

/// Numbers the strongly connected components that contain a cycle, from 1; 0 elsewhere.
fn components(cfg: &Cfg) -> SecondaryMap<Block, u32> {
    let mut component: SecondaryMap<Block, u32> = SecondaryMap::new();
    let mut done: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut next = 0;
    // Kosaraju: the reverse postorder is already there; walk the reversed graph from each block not yet taken.
    for &root in cfg.rpo() {
        if done[root] {
            continue;
        }
        let mut members = Vec::new();
        let mut stack = vec![root];
        done[root] = true;
        while let Some(block) = stack.pop() {
            members.push(block);
            for &pred in cfg.preds(block) {
                if !done[pred] {
                    done[pred] = true;
                    stack.push(pred);
                }
            }
        }
        if members.len() > 1 || cfg.succs(root).contains(&root) {
            next += 1;
            for block in members {
                component[block] = next;
            }
        }
    }
    component
}
