//! Divergence analysis: which values are the same for all work-items of a scope, and which branches are divergent.
//!
//! This is a forward analysis over one function at stage *canonical*. Values start at the bottom of the lattice of [`Shape`] and
//! rise according to the op table's uniformity column until nothing changes. Each branch whose condition is not uniform in the
//! scope adds two rules:
//!
//! - where paths from its targets meet, block parameters that get different values vary (*joins*);
//! - when work-items leave a loop in different iterations because of it, values that are defined inside and used outside vary
//!   (*loop exits*).
//!
//! "The same" refers to one dynamic instance: work-items that together reach the n-th execution of an instruction. The analysis
//! records why a value varies, so that a report can name the instruction that breaks uniformity. It does not look through memory:
//! beyond a pack, whose lanes load at the same time, a load is uniform only if nothing that the kernel does could write the
//! memory that it reads, or nothing between the same two barriers (`workgroup::stable_loads`).

mod branches;

use clift_kir::analysis::{Cfg, DomTree, LoopForest, LoopId, Users, cyclic_components};
use clift_kir::inst::Imm;
use clift_kir::ops::Uniformity;
use clift_kir::{Block, Function, Inst, InstData, MemScope, Opcode, Space, Type, Value};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::affine::{Affine, Offsets};
use super::assumptions::{Assume, Tests};
use super::known_bits::LowBits;
use super::ranges::Ranges;
use super::shape::{Assumptions, Check, Conditional, Scope, Shape};
use super::transfer::{LaneForm, TransferFunctions};

/// Why a value is not more uniform than it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The value is uniform for the launch.
    None,
    /// The instruction itself: a query, an atomic, a private address.
    Op(Inst),
    /// An operand or block argument.
    Operand(Value),
    /// An index that may wrap or be clamped within a pack, which a check can exclude; see [`Divergence::conditional`].
    Check(Inst),
    /// A load of memory that the given instruction may write.
    Written(Inst),
    /// A parameter of a block where paths from this divergent branch meet.
    Join(Inst),
    /// Defined in a loop that work-items leave in different iterations because of this branch.
    LoopExit(Inst),
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Fact {
    /// `None` while nothing is known: the value is unreached, or depends on itself only.
    form: Option<LaneForm>,
    reason: Reason,
}

/// The result of the analysis: shapes of values, divergence of branches.
#[derive(Clone, PartialEq, Debug)]
pub struct Divergence {
    scope: Scope,
    facts: SecondaryMap<Value, Fact>,
    /// The checks on which forms depend, by the instructions that need them.
    checks: FxHashMap<Inst, SmallVec<[Check; 2]>>,
    /// The instructions about which something was assumed and the tests of that, in the order of the code.
    assumed: Vec<(Inst, Tests)>,
    divergent: EntitySet<Block>,
    in_divergent_region: EntitySet<Block>,
}

/// The state of the analysis while it runs.
struct Solver<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    post: DomTree,
    loops: LoopForest,
    scope: Scope,
    transfer: TransferFunctions<'a>,
    users: Users,
    writers: Vec<Writer>,
    /// Loads of memory that no work-item writes at the same time.
    stable: Option<&'a EntitySet<Inst>>,
    /// For each block in a cycle of an irreducible graph, the number of its strongly connected component; empty if the graph is
    /// reducible.
    irreducible_cycles: SecondaryMap<Block, u32>,
    facts: SecondaryMap<Value, Fact>,
    /// For each join of a divergent branch, that branch.
    joins: SecondaryMap<Block, PackedOption<Inst>>,
    divergent: EntitySet<Block>,
    in_divergent_region: EntitySet<Block>,
    /// Loops that work-items leave in different iterations.
    divergent_loops: FxHashSet<LoopId>,
    /// Irreducible components that have been made varying.
    varying_cycles: FxHashSet<u32>,
    /// Blocks that the coarse treatment has reached.
    coarse: EntitySet<Block>,
    /// Blocks labelled so far.
    labelled: usize,
    /// Instructions that have not been visited since an operand has changed.
    stale: EntitySet<Inst>,
    work: Vec<Work>,
    /// How often a form was raised or found to be high enough.
    #[cfg(test)]
    raised: usize,
}

/// What has to be visited.
#[derive(Clone, Copy)]
enum Work {
    Inst(Inst),
    /// The value is passed to the parameter.
    Argument(Value, Value),
}

/// The effect of a divergent branch on control flow.
#[derive(Default)]
struct DivergentRegion {
    /// Blocks between the branch and the point where all paths from it have met, including that point.
    reached: Vec<Block>,
    /// Blocks at which different paths meet.
    joins: Vec<Block>,
}

/// How many blocks are labelled for all branches together before the coarse treatment takes over.
const MAX_LABELLED: usize = 500_000;

/// An instruction that writes memory that other work-items may see.
struct Writer {
    inst: Inst,
    space: Space,
    alias: u32,
}

impl Divergence {
    /// Analyses a function: a branch is divergent if its condition is not uniform in `scope`. The result holds where the
    /// assumptions do.
    pub fn new(func: &Function, cfg: &Cfg, scope: Scope, assumptions: &Assumptions) -> Divergence {
        Divergence::assuming(func, cfg, scope, assumptions, Assume::Nothing)
    }

    /// Analyses a function in the scope of the group. No work-item writes what the `stable` loads read while others read it.
    pub(crate) fn of_groups(func: &Function, cfg: &Cfg, stable: &EntitySet<Inst>) -> Divergence {
        let mut solver = Solver::new(func, cfg, Scope::Group, Assumptions::default(), Assume::Nothing);
        solver.stable = Some(stable);
        Divergence::solved(solver)
    }

    /// As [`Divergence::new`], with assumptions that run-time tests establish ([`Divergence::assumed`]).
    pub(crate) fn assuming(
        func: &Function,
        cfg: &Cfg,
        scope: Scope,
        assumptions: &Assumptions,
        assume: Assume<'_>,
    ) -> Divergence {
        Divergence::solved(Solver::new(func, cfg, scope, *assumptions, assume))
    }

    fn solved(mut solver: Solver<'_>) -> Divergence {
        solver.run();
        let checks = solver.checks();
        let assumed = solver.assumed();
        Divergence {
            scope: solver.scope,
            facts: solver.facts,
            checks,
            assumed,
            divergent: solver.divergent,
            in_divergent_region: solver.in_divergent_region,
        }
    }

    /// The instructions whose results have their form by assumption only, each with the tests of the assumption, in the order of
    /// the code.
    pub(crate) fn assumed(&self) -> &[(Inst, Tests)] {
        &self.assumed
    }

    /// The scope of the analysis.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The shape of a value.
    pub fn shape(&self, value: Value) -> Shape {
        match self.facts[value].form {
            None => Shape::Uniform(Scope::Launch),
            Some(LaneForm::Affine(Affine { stride: 0, scope, .. })) => Shape::Uniform(scope),
            Some(LaneForm::Affine(Affine { stride, low_bits, .. })) => {
                Shape::Affine { stride, align: low_bits.align() }
            }
            Some(LaneForm::AffineIf(..) | LaneForm::Offsets(_) | LaneForm::Varying) => Shape::Varying,
        }
    }

    /// The conditions under which a value of shape [`Shape::Varying`] is affine, if a few comparisons can establish them.
    pub fn conditional(&self, value: Value) -> Option<Conditional> {
        let Some(LaneForm::AffineIf(Affine { stride, low_bits, .. }, conditions)) = self.facts[value].form else {
            return None;
        };
        let checks = conditions.iter().flat_map(|inst| self.checks[&inst].iter().copied()).collect();
        Some(Conditional { stride, align: low_bits.align(), checks })
    }

    /// The offsets of the lanes of a value of shape [`Shape::Varying`], if they are constant.
    pub(crate) fn offsets(&self, value: Value) -> Option<Offsets> {
        match self.facts[value].form {
            Some(LaneForm::Offsets(offsets)) => Some(offsets),
            Some(LaneForm::Affine(_) | LaneForm::AffineIf(..) | LaneForm::Varying) | None => None,
        }
    }

    /// Whether the lanes of a value of shape [`Shape::Varying`] have known distances, always or if checks succeed.
    pub(crate) fn has_known_distances(&self, value: Value) -> bool {
        matches!(self.facts[value].form, Some(LaneForm::AffineIf(..) | LaneForm::Offsets(_)))
    }

    /// A power of two that divides a uniform value, or the first lane's value of an affine one.
    pub fn align(&self, value: Value) -> u32 {
        match self.facts[value].form {
            Some(LaneForm::Affine(affine)) => affine.low_bits.align(),
            Some(LaneForm::AffineIf(..) | LaneForm::Offsets(_) | LaneForm::Varying) | None => 1,
        }
    }

    /// Whether a value is the same for all work-items of the scope.
    pub fn is_uniform(&self, value: Value) -> bool {
        self.shape(value).is_uniform(self.scope)
    }

    /// Whether work-items of the scope may leave a block for different targets.
    pub fn diverges(&self, block: Block) -> bool {
        self.divergent.contains(block)
    }

    /// Whether a block lies between a divergent branch and the point where all paths from it have met again. Then only some
    /// work-items of the scope may execute it, or each a different number of times.
    pub fn in_divergent_region(&self, block: Block) -> bool {
        self.in_divergent_region.contains(block)
    }

    /// Why a value is not more uniform than it is.
    pub fn reason(&self, value: Value) -> Reason {
        self.facts[value].reason
    }

    /// Follows operands to the first value that is not uniform by itself; returns it and the reason.
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
        Fact { form: None, reason: Reason::None }
    }
}

impl<'a> Solver<'a> {
    fn new(func: &'a Function, cfg: &'a Cfg, scope: Scope, assumptions: Assumptions, assume: Assume<'a>) -> Solver<'a> {
        let dom = DomTree::new(cfg);
        let loops = LoopForest::new(cfg, &dom);
        // One instruction for each kind of memory is enough.
        let mut writers: Vec<Writer> = Vec::new();
        let mut written: FxHashSet<(Space, u32)> = FxHashSet::default();
        for &block in cfg.rpo() {
            for &inst in func.layout.insts(block) {
                writers.extend(writer(func, inst).filter(|writer| written.insert((writer.space, writer.alias))));
            }
        }
        let irreducible_cycles = if loops.irreducible() { cyclic_components(cfg) } else { SecondaryMap::new() };
        Solver {
            func,
            cfg,
            post: DomTree::post(cfg),
            loops,
            scope,
            transfer: TransferFunctions { func, assumptions, ranges: Ranges::new(func, cfg, assumptions), assume },
            users: Users::new(func, cfg.rpo()),
            writers,
            stable: None,
            irreducible_cycles,
            facts: SecondaryMap::with_capacity(func.dfg.value_count()),
            joins: SecondaryMap::new(),
            divergent: EntitySet::new(),
            in_divergent_region: EntitySet::new(),
            divergent_loops: FxHashSet::default(),
            varying_cycles: FxHashSet::default(),
            coarse: EntitySet::new(),
            labelled: 0,
            stale: EntitySet::with_capacity(func.dfg.inst_count()),
            work: Vec::new(),
            #[cfg(test)]
            raised: 0,
        }
    }

    fn run(&mut self) {
        let func = self.func;
        // Parameters of the entry come from outside: nothing is known about them.
        for &param in func.layout.entry().map(|entry| func.dfg.params(entry)).unwrap_or_default() {
            self.raise(param, LaneForm::Varying, Reason::None);
        }
        for &block in self.cfg.rpo().iter().rev() {
            for &inst in func.layout.insts(block).iter().rev() {
                self.stale.insert(inst);
                self.work.push(Work::Inst(inst));
            }
        }
        while let Some(work) = self.work.pop() {
            match work {
                Work::Inst(inst) if self.stale.remove(inst) => self.visit(inst),
                Work::Inst(_) => {}
                Work::Argument(arg, param) => {
                    if let Some(form) = self.facts[arg].form {
                        self.raise(param, form.as_block_argument(), Reason::Operand(arg));
                    }
                }
            }
        }
    }

    /// Raises a value's form; if it changes, what depends on the value is visited again.
    fn raise(&mut self, value: Value, form: LaneForm, reason: Reason) {
        #[cfg(test)]
        {
            self.raised += 1;
        }
        let old = self.facts[value];
        let new = old.form.map_or(form, |old| old.join(form));
        if old.form == Some(new) {
            return;
        }
        self.facts[value] = Fact { form: Some(new), reason };
        for &user in self.users.of(value) {
            self.stale.insert(user);
            self.work.push(Work::Inst(user));
        }
        self.work.extend(self.users.arguments(value).iter().map(|argument| Work::Argument(value, argument.param)));
    }

    fn visit(&mut self, inst: Inst) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        if data.op.is_terminator() {
            self.visit_terminator(inst);
            return;
        }
        let mut operands: SmallVec<[LaneForm; 4]> = SmallVec::new();
        for &arg in &data.args {
            match self.facts[arg].form {
                Some(form) => operands.push(form),
                None => return, // visited again when it is known
            }
        }
        let shared = |scope| LaneForm::Affine(Affine::uniform(scope, self.query_low_bits(inst)));
        let (form, reason) = match data.op.info().uniformity {
            Uniformity::Launch => (shared(Scope::Launch), Reason::None),
            Uniformity::Group => (shared(Scope::Group), Reason::Op(inst)),
            Uniformity::Pack => (shared(Scope::Pack), Reason::Op(inst)),
            Uniformity::Scope => (reduction_form(data), Reason::Op(inst)),
            Uniformity::Choice => match (operands.first(), operands.last()) {
                (Some(LaneForm::Affine(affine)), _) if affine.is_uniform() => {
                    (LaneForm::Affine(*affine), Reason::Operand(data.args[0]))
                }
                (_, Some(LaneForm::Affine(affine))) if affine.is_uniform() => {
                    (LaneForm::uniform(Scope::Pack), Reason::Op(inst))
                }
                _ => (LaneForm::Varying, Reason::Op(inst)),
            },
            Uniformity::Vote => match operands.first() {
                Some(LaneForm::Affine(affine)) if affine.is_uniform() => {
                    (LaneForm::Affine(*affine), Reason::Operand(data.args[0]))
                }
                _ => (LaneForm::uniform(Scope::Pack), Reason::Op(inst)),
            },
            // The region of a single lane: one work-item of a pack executes it.
            Uniformity::Varying if data.op == Opcode::Call => (LaneForm::uniform(Scope::Pack), Reason::Op(inst)),
            Uniformity::Varying => (self.query_form(inst), Reason::Op(inst)),
            Uniformity::Operands => {
                let ty = func.dfg.single_result(inst).map(|v| func.dfg.ty(v));
                let form = self.transfer.result(inst, ty, &operands);
                if let LaneForm::AffineIf(_, conditions) = &form
                    && conditions.iter().any(|by| by == inst)
                {
                    (form, Reason::Check(inst))
                } else {
                    (form, self.worst_operand(&data.args))
                }
            }
            Uniformity::Memory => self.load_form(inst, &operands),
        };
        for &result in func.dfg.results(inst) {
            self.raise(result, form, reason);
        }
    }

    /// The forms of values that the op table calls varying.
    fn query_form(&self, inst: Inst) -> LaneForm {
        let data = self.func.dfg.inst(inst);
        let Assumptions { width, packs_aligned, .. } = self.transfer.assumptions;
        let by_one = |from| LaneForm::Affine(Affine::strided(1, from));
        let pack = LowBits::multiple_of(width.into());
        let aligned = if packs_aligned { pack } else { LowBits::NONE };
        match (data.op, &data.imm) {
            (Opcode::GlobalId, Imm::Dim(0)) => by_one(aligned),
            (Opcode::LocalId, Imm::Dim(0)) => by_one(pack),
            // A pack lies within a row, unless a work-group is one row; then no other ids are left.
            (Opcode::GlobalId | Opcode::LocalId, _) => LaneForm::uniform(Scope::Pack),
            (Opcode::LocalLinearId, _) => by_one(aligned),
            // Rows of the launch may have any length.
            (Opcode::GlobalLinearId, _) => by_one(LowBits::NONE),
            // Lanes that read from one address do so at the same time.
            (Opcode::AtomicLoad, _) if self.scope == Scope::Pack => match self.facts[data.args[0]].form {
                Some(LaneForm::Affine(affine)) if affine.is_uniform() => LaneForm::uniform(Scope::Pack),
                Some(_) | None => LaneForm::Varying,
            },
            (Opcode::SubGroupLocalId, _) => by_one(LowBits::exact(0).narrowed(32)),
            // The copies of a pack's lanes are contiguous.
            (Opcode::SlotAddr, &Imm::Slot(slot)) if self.scope == Scope::Pack => {
                let data = self.func.slots[slot];
                let align = u64::from(data.align.max(1));
                match data.size.next_multiple_of(align) {
                    0 => LaneForm::uniform(Scope::Pack),
                    stride => LaneForm::Affine(Affine::strided(stride as i64, LowBits::multiple_of(align))),
                }
            }
            _ => LaneForm::Varying,
        }
    }

    /// Known bits of constants and of uniform queries.
    fn query_low_bits(&self, inst: Inst) -> LowBits {
        let data = self.func.dfg.inst(inst);
        let Assumptions { width, packs_aligned, .. } = self.transfer.assumptions;
        match (data.op, &data.imm) {
            (Opcode::Const, _) => {
                let value = self.func.dfg.result(inst);
                let bits = self.func.dfg.ty(value).elem.bits();
                self.func.dfg.as_splat_bits(value).map_or(LowBits::NONE, |known| LowBits::exact(known).narrowed(bits))
            }
            (Opcode::LocalSize | Opcode::EnqueuedLocalSize | Opcode::GlobalOffset, Imm::Dim(0)) if packs_aligned => {
                LowBits::multiple_of(width.into())
            }
            // A pack is a sub-group, and all sub-groups of whole packs have the same size. Between packs, the width is not known.
            (Opcode::MaxSubGroupSize, _) if self.scope == Scope::Pack => LowBits::exact(width.into()).narrowed(32),
            (Opcode::SubGroupSize, _) if self.scope == Scope::Pack && packs_aligned => {
                LowBits::exact(width.into()).narrowed(32)
            }
            _ => LowBits::NONE,
        }
    }

    /// The form of a load's result. The lanes of a pack load at the same time, so that they get the same value from one address
    /// no matter who writes there. Work-items of different packs get the same value only from memory that nothing writes.
    fn load_form(&self, load: Inst, operands: &[LaneForm]) -> (LaneForm, Reason) {
        let data = self.func.dfg.inst(load);
        let mut scope = Scope::Group;
        for operand in operands {
            match operand {
                LaneForm::Affine(affine) if affine.is_uniform() => scope = scope.max(affine.scope),
                LaneForm::Affine(_) | LaneForm::AffineIf(..) | LaneForm::Offsets(_) | LaneForm::Varying => {
                    return (LaneForm::Varying, self.worst_operand(&data.args));
                }
            }
        }
        let Some(writer) = self.written_by(load) else {
            return (LaneForm::uniform(scope), self.worst_operand(&data.args));
        };
        let at_once = match self.func.dfg.ty(data.args[0]).elem.space() {
            Some(Space::Global | Space::Local | Space::Generic | Space::Constant | Space::Host) => {
                matches!(&data.imm, Imm::Mem(mem) if !mem.volatile)
            }
            // One address of private memory means a different location for each work-item.
            Some(Space::Private) | None => false,
        };
        (if at_once { LaneForm::uniform(Scope::Pack) } else { LaneForm::Varying }, Reason::Written(writer))
    }

    /// The checks on which the forms depend.
    fn checks(&mut self) -> FxHashMap<Inst, SmallVec<[Check; 2]>> {
        let mut checks = FxHashMap::default();
        for (_, fact) in self.facts.iter() {
            let Some(LaneForm::AffineIf(_, conditions)) = fact.form else { continue };
            for inst in conditions.iter() {
                checks.entry(inst).or_insert_with(|| {
                    let form = |&arg: &Value| self.facts[arg].form.unwrap_or(LaneForm::Varying);
                    let operands: SmallVec<[LaneForm; 4]> = self.func.dfg.inst(inst).args.iter().map(form).collect();
                    self.transfer.checks(inst, &operands)
                });
            }
        }
        checks
    }

    /// The assumptions on which the forms depend.
    fn assumed(&mut self) -> Vec<(Inst, Tests)> {
        let (func, cfg) = (self.func, self.cfg);
        let mut assumed = Vec::new();
        for &inst in cfg.rpo().iter().flat_map(|&block| func.layout.insts(block)) {
            let data = func.dfg.inst(inst);
            let scalar = |&ty: &Type| !ty.is_vector() && !ty.is_float();
            let ty = func.dfg.single_result(inst).map(|value| func.dfg.ty(value)).filter(scalar);
            let (true, Some(ty)) = (self.transfer.assume.of(inst).is_some(), ty) else { continue };
            if data.op.info().uniformity != Uniformity::Operands {
                continue;
            }
            let form = |&arg: &Value| self.facts[arg].form;
            let Some(operands) = data.args.iter().map(form).collect::<Option<SmallVec<[LaneForm; 4]>>>() else {
                continue;
            };
            let plain = self.transfer.scalar(inst, ty, &operands);
            assumed.extend(self.transfer.assumption(inst, plain, &operands).map(|(_, tests)| (inst, tests)));
        }
        assumed
    }

    /// The operand that is least uniform, as a reason.
    fn worst_operand(&self, args: &[Value]) -> Reason {
        let rank = |&value: &Value| match self.facts[value].form {
            None => 0,
            Some(LaneForm::Affine(affine)) if affine.is_uniform() => 1 + affine.scope as u32,
            Some(LaneForm::Affine(_)) => 5,
            Some(LaneForm::AffineIf(..) | LaneForm::Offsets(_)) => 6,
            Some(LaneForm::Varying) => 7,
        };
        args.iter().copied().max_by_key(rank).map_or(Reason::None, Reason::Operand)
    }

    /// An instruction that may write the memory that a load reads, if there is one.
    fn written_by(&self, load: Inst) -> Option<Inst> {
        let data = self.func.dfg.inst(load);
        let Imm::Mem(mem) = data.imm else { return Some(load) };
        let Some(space) = self.func.dfg.ty(data.args[0]).elem.space() else { return Some(load) };
        if mem.volatile {
            return Some(load);
        }
        if mem.invariant || self.stable.is_some_and(|stable| stable.contains(load)) {
            return None;
        }
        match space {
            Space::Constant | Space::Host => None,
            // A private address differs from work-item to work-item; a generic one may be private.
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
        let Some(&selector) = func.dfg.inst(inst).args.first() else { return };
        let shared =
            |form| matches!(form, LaneForm::Affine(affine) if affine.is_uniform() && affine.scope <= self.scope);
        let divergent = self.facts[selector].form.is_some_and(|form| !shared(form));
        // The operands of a return select no target. Two targets may be the same block with different arguments.
        if divergent && func.dfg.targets(inst).len() > 1 && !self.divergent.contains(block) {
            self.diverge(block, inst);
        }
    }
}

/// The form of the result of a reduction over work-items.
fn reduction_form(data: &InstData) -> LaneForm {
    let Imm::Group(info) = &data.imm else { unreachable!("broken invariant: a reduction with {:?}", data.imm) };
    if info.cluster != 0 {
        return LaneForm::Varying;
    }
    LaneForm::uniform(if info.scope == MemScope::WorkGroup { Scope::Group } else { Scope::Pack })
}

/// The memory of other work-items that an instruction may write.
fn writer(func: &Function, inst: Inst) -> Option<Writer> {
    use clift_kir::Effects;
    let data = func.dfg.inst(inst);
    let writes = match data.op.info().effects {
        Effects::Write | Effects::ReadWrite => true,
        Effects::Pure | Effects::Read | Effects::Convergent | Effects::Terminator => false,
    };
    if !writes || matches!(data.op, Opcode::Fence | Opcode::Printf | Opcode::Request | Opcode::Clock | Opcode::Check) {
        return None;
    }
    if data.op == Opcode::Call {
        return Some(Writer { inst, space: Space::Generic, alias: 0 });
    }
    // The address is the first operand of every other op that writes.
    let space = func.dfg.ty(*data.args.first()?).elem.space()?;
    let alias = if let Imm::Mem(mem) = &data.imm { mem.alias } else { 0 };
    (space != Space::Private).then_some(Writer { inst, space, alias })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use clift_kir::text;

    use super::*;

    /// A loop through which a value passes from each of its parameters to the next one.
    fn chain(params: usize) -> Function {
        let mut text =
            "function f0 \"k\" canonical {\nb0:\n    v1: i64 = global_id 0\n    v2: i64 = const 0\n".to_owned();
        let list = |item: &dyn Fn(usize) -> String| (0..params).map(item).collect::<Vec<_>>().join(", ");
        let name = |i: usize| format!("v{}", 10 + i);
        let _ = writeln!(text, "    v3: b1 = icmp ult v1, v2\n    jump b1({})", list(&|_| "v2".to_owned()));
        let next = list(&|i| if i == 0 { "v1".to_owned() } else { name(i - 1) });
        let _ = writeln!(text, "b1({}):", list(&|i| name(i) + ": i64"));
        let _ = writeln!(text, "    branch v3, b1({next}), b2\nb2:\n    ret\n}}");
        text::parse_function(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
    }

    /// The work is proportional to the edges of values, not to the square of a block's parameters.
    #[test]
    fn a_changed_argument_concerns_one_parameter() {
        let raised = |params| {
            let func = chain(params);
            let cfg = Cfg::new(&func);
            let mut solver = Solver::new(&func, &cfg, Scope::Pack, Assumptions::default(), Assume::Nothing);
            solver.run();
            let last = *func.dfg.params(func.layout.blocks()[1]).last().unwrap();
            assert!(matches!(solver.facts[last].form, Some(LaneForm::Varying)), "{:?}", solver.facts[last]);
            solver.raised
        };
        let (some, more) = (raised(50), raised(500));
        assert!(more <= 10 * some + some / 2, "{some} for 50 parameters, {more} for 500");
    }

    /// Instructions whose operands are known before them are visited once.
    #[test]
    fn straight_line_code_is_visited_once() {
        let mut text = "function f0 \"k\" canonical {\nb0:\n    v1: i64 = global_id 0\n".to_owned();
        let count = 100;
        for i in 2..=count {
            let _ = writeln!(text, "    v{i}: i64 = iadd v{}, v{}", i - 1, i / 2);
        }
        text += "    ret\n}";
        let func = text::parse_function(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let cfg = Cfg::new(&func);
        let mut solver = Solver::new(&func, &cfg, Scope::Pack, Assumptions::default(), Assume::Nothing);
        solver.run();
        assert_eq!(solver.raised, count);
    }
}
