//! Versioning: a fast copy of a piece of code for packs for which an assumption holds, as it does for most, and a slow one for
//! the others.
//!
//! A piece of the kernel is copied if its accesses are contiguous, or its branches uniform, provided that no lane is clamped, no
//! index wraps or no comparison differs within the pack ([`crate::spmd::analysis::assumptions`]). All its assumptions are tested
//! once, before it:
//!
//! ```text
//!       D: ... i, i - 1, max(i - 1, 0) ...          D: ... i, i - 1
//!          load a[max(i - 1, 0)]                       m' = max(i - 1, 0)     assumed to clamp nothing
//!          ...                                         branch (first lane's i - 1 >= 0) F, S
//!                                                   F: load a[m'] ...         contiguous
//!                                                   S: m = max(i - 1, 0)
//!                                                      load a[m] ...          as before
//! ```
//!
//! The piece begins in the block of the first assumption, after the operands of the tests, and has no other entry. It ends where
//! nothing more is gained, or at barriers: the packs of a group take different paths here and have to meet there. A function for
//! ids of any size has no versions, since few checks could succeed.
//!
//! If lanes exchange values at a distance that is a power of two known only at launch, no distance is the usual one. Then the
//! slow copy has versions again, one for each power that is smaller than a pack.
//!
//! If a piece gains from equal quotients, as kernels do that compute a row and a column from one index, and from comparisons with
//! a border as well, the slow copy has another version for packs that touch a border but lie in one row: there the accesses are
//! contiguous, under a mask.
//!
//! If the bounds of a loop are selects, minima or maxima, it is not known which operand is the usual one: the loops of
//! `max(x - r, 0) .. min(x + r, w)` move with the lanes in most packs, those of `max(x + r - w, 0) .. min(x + r, r)` do not. So
//! the slow copy has a version for packs in which all lanes have the uniform operands.

mod plan;

use clift_kir::analysis::{Cfg, Frontiers};
use clift_kir::clone::Cloner;
use clift_kir::dfg::{ConstData, ValueDef};
use clift_kir::inst::Imm;
use clift_kir::ssa::SsaBuilder;
use clift_kir::{Block, BlockCall, Builder, Function, Inst, IntCond, MemScope, Opcode, Type, Value};
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};

use self::plan::{HeadParts, PiecePlan, PiecePlans};
use super::normalize::{self, KnownOfPacks, NormalForm};
use crate::spmd::analysis::assumptions::{BORDERS, BOUNDS, MAX_ALTERNATIVES, Test, Tests};
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::{Excludes, Scope, Shape};
use crate::spmd::class::{Class, class};

/// The most instructions of a kernel, which is analysed several times for each piece.
const MAX_KERNEL: usize = 50_000;
/// The most pieces of a kernel that are copied.
const MAX_PIECES: usize = 4;

/// Versions the pieces of a kernel that gain from it in packs of `lanes` lanes; `None` if none does.
pub(crate) fn run(kernel: &NormalForm, lanes: u32, known_of_packs: KnownOfPacks) -> Option<NormalForm> {
    let packs = (lanes, known_of_packs);
    let insts = |&block: &Block| kernel.func.layout.insts(block).len();
    if kernel.func.layout.blocks().iter().map(insts).sum::<usize>() > MAX_KERNEL {
        return None;
    }
    let gains = Gains::new(kernel, packs, |_| true, 0);
    if gains.assumptions.is_empty() {
        return None;
    }
    let mut func = kernel.func.clone();
    let (mut normal, mut known) =
        if split_at_barriers(&mut func) { (normalize::run_owned(func)?, None) } else { (kernel.clone(), Some(gains)) };
    let mut done: EntitySet<Block> = EntitySet::new();
    let mut pieces = 0;
    while pieces < MAX_PIECES {
        let gains = known.take().unwrap_or_else(|| Gains::new(&normal, packs, |block| !done.contains(block), 0));
        let Some(mut slow) = version_first_piece(&mut normal, &gains, &mut done) else { break };
        pieces += 1;
        let powers = if gains.have_alternatives() { 1..=MAX_ALTERNATIVES } else { 0..=0 };
        let borders = gains.have_borders().then_some(BORDERS);
        let bounds = gains.bounds.then_some(BOUNDS);
        for which in powers.filter(|&which| which > 0).chain(borders).chain(bounds) {
            let gains = Gains::new(&normal, packs, |block| slow.contains(&block), which);
            // All other assumptions are made in the first version.
            let worth = which == BORDERS || which == BOUNDS || gains.have_alternatives();
            let next = worth.then(|| version_first_piece(&mut normal, &gains, &mut done)).flatten();
            if let Some(next) = next {
                slow = next;
            }
        }
        // What has gained nothing so far does not gain from versions of other pieces.
        if gains.homes.iter().all(|&home| done.contains(home)) {
            break;
        }
    }
    normal.pieces = pieces;
    normal.several.clone_from(&kernel.several);
    normal.single_lane = kernel.single_lane.clone();
    (pieces > 0).then_some(normal)
}

/// Divergence where all assumptions hold that versions could make: a lower bound of what scatters in any version.
pub(crate) fn best_case(normal: &NormalForm, lanes: u32) -> Divergence {
    assuming_all(normal, (lanes, KnownOfPacks::Whole), normal.cfg.rpo(), 0)
}

/// Divergence under all assumptions, by one of the alternatives, about the instructions of some blocks.
fn assuming_all(normal: &NormalForm, (lanes, known): (u32, KnownOfPacks), blocks: &[Block], which: u8) -> Divergence {
    let mut assumed = normal.assumed.clone();
    for &inst in blocks.iter().flat_map(|&block| normal.func.layout.insts(block)) {
        assumed.entry(inst).or_insert(which);
    }
    normal.divergence_assuming(lanes, known, &assumed)
}

/// Copies the first piece that can be copied. Returns the blocks of the slow copy.
fn version_first_piece(normal: &mut NormalForm, gains: &Gains, done: &mut EntitySet<Block>) -> Option<Vec<Block>> {
    let mut plans = PiecePlans::new(normal, gains);
    let plan = gains.homes.iter().find_map(|&at| plans.of(at))?;
    let (func, piece) = copy_piece(normal, gains, plan);
    let (assumed, copies) = (std::mem::take(&mut normal.assumed), std::mem::take(&mut normal.copies));
    *normal = normalize::run_owned(func)?.with_regions(normal.single_lane.clone());
    (normal.assumed, normal.copies) = (assumed, copies);
    normal.assumed.extend(piece.assumed);
    normal.copies.extend(piece.copies);
    // Blocks that normalization has added in cold code are cold.
    for &block in normal.cfg.rpo() {
        let preds = normal.cfg.preds(block);
        if !preds.is_empty() && preds.iter().all(|&pred| normal.func.layout.is_cold(pred)) {
            normal.func.layout.set_cold(block);
        }
    }
    done.extend(piece.blocks);
    Some(piece.slow)
}

/// Whether all work-items of a group have to reach an instruction together.
fn synchronizes_group(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    match class(data.op) {
        Class::Barrier | Class::NamedBarrier | Class::Yield => true,
        Class::Collective => matches!(&data.imm, Imm::Group(info) if info.scope == MemScope::WorkGroup),
        Class::Constant
        | Class::Arg
        | Class::ArgAddr
        | Class::SlotAddr
        | Class::GlobalAddr
        | Class::Query(_)
        | Class::InSpace
        | Class::Cheap
        | Class::Load
        | Class::Plain
        | Class::Branch
        | Class::End
        | Class::Image => false,
    }
}

/// Splits blocks so that barriers are the first instructions of theirs; whether there were any to split.
fn split_at_barriers(func: &mut Function) -> bool {
    let mut any = false;
    for block in func.layout.blocks().to_vec().into_iter().rev() {
        let insts = func.layout.insts(block).iter().enumerate().skip(1);
        let starts: Vec<usize> =
            insts.filter(|&(_, &inst)| synchronizes_group(func, inst)).map(|(index, _)| index).collect();
        let rests: Vec<Block> = starts.iter().map(|_| func.append_block()).collect();
        any |= !rests.is_empty();
        // From the end, so that each instruction moves once.
        for (&index, &rest) in starts.iter().zip(&rests).rev() {
            func.layout.split_off(block, index, rest);
        }
        for (&rest, &before) in rests.iter().zip([block].iter().chain(&rests)) {
            Builder::at_end(func, before).jump(rest, &[]);
        }
    }
    any
}

/// What a kernel gains from assumptions.
struct Gains {
    /// The tests of the assumptions that something depends on.
    assumptions: FxHashMap<Inst, Tests>,
    /// The shapes under all assumptions.
    with: Divergence,
    /// The blocks in which something is gained.
    blocks: EntitySet<Block>,
    /// Those of them with accesses or branches that gain. Indices alone are worth nothing: where the versions join, after a
    /// piece, they are as before.
    paying: EntitySet<Block>,
    /// The addresses of those accesses and the conditions of those branches, with their blocks.
    roots: Vec<(Block, Value)>,
    /// The blocks with relevant assumptions, in the order of the code.
    homes: Vec<Block>,
    /// Which alternative is assumed.
    which: u8,
    /// Whether branches depend on which operand selects, minima or maxima give.
    bounds: bool,
}

impl Gains {
    /// Considers the open blocks only.
    fn new(normal: &NormalForm, packs: (u32, KnownOfPacks), open: impl Fn(Block) -> bool, which: u8) -> Gains {
        let NormalForm { func, cfg, .. } = normal;
        let open: Vec<Block> = cfg.rpo().iter().copied().filter(|&block| open(block)).collect();
        let with = assuming_all(normal, packs, &open, which);
        let matters = |test: &Test| match test {
            Test::Check(check) => check.matters(func.dfg.ty(check.value)),
            Test::SameComparison { .. }
            | Test::Is { .. }
            | Test::NeverEqual { .. }
            | Test::Bits { .. }
            | Test::WithinMask { .. }
            | Test::SameQuotient { .. } => true,
        };
        let mut all: FxHashMap<Inst, Tests> = FxHashMap::default();
        for (inst, tests) in with.assumed() {
            if !normal.assumed.contains_key(inst) {
                all.insert(*inst, tests.clone());
            }
        }
        let mut gains = Gains {
            assumptions: FxHashMap::default(),
            with,
            blocks: EntitySet::new(),
            paying: EntitySet::new(),
            roots: Vec::new(),
            homes: Vec::new(),
            which,
            bounds: false,
        };
        if !all.values().flatten().any(matters) {
            return gains;
        }
        let without = normal.divergence_in(packs.0, packs.1);
        let Roots { mut accesses, conditions } = gains.find_roots(normal, &without, &open);
        let chooses = |test: &Test| match test {
            Test::Is { .. } => true,
            Test::Check(check) => check.excludes == Excludes::Clamps,
            Test::SameComparison { .. }
            | Test::NeverEqual { .. }
            | Test::Bits { .. }
            | Test::WithinMask { .. }
            | Test::SameQuotient { .. } => false,
        };
        let sources = pure_sources(func, cfg, conditions.iter().map(|&(_, condition)| condition));
        gains.bounds = sources.keys().any(|inst| all.get(inst).is_some_and(|tests| tests.iter().any(chooses)));
        if which == BOUNDS {
            // An access at a bound is one of the few at a border; a loop between bounds is executed by all packs.
            accesses.clear();
        }
        gains.roots = accesses.into_iter().chain(conditions).collect();
        for (inst, carried) in pure_sources(func, cfg, gains.roots.iter().map(|&(_, root)| root)) {
            // What an access needs no check for is lost where blocks join.
            let needed = all.get(&inst).is_some_and(|tests| carried || tests.iter().any(matters));
            gains.assumptions.extend(all.remove(&inst).filter(|_| needed).map(|tests| (inst, tests)));
        }
        for &block in &open {
            if func.layout.insts(block).iter().any(|inst| gains.assumptions.contains_key(inst)) {
                gains.homes.push(block);
            }
        }
        gains
    }

    /// Whether an assumption is one of several about the same instruction. Masks that wrap indices around are larger than
    /// packs, so that the alternatives, which are for smaller ones, would not be taken.
    fn have_alternatives(&self) -> bool {
        let any = |is: fn(&Test) -> bool| self.assumptions.values().flatten().any(is);
        any(|test| matches!(test, Test::Bits { .. })) && !any(|test| matches!(test, Test::WithinMask { .. }))
    }

    /// Whether quotients are assumed to be equal together with results of comparisons.
    fn have_borders(&self) -> bool {
        let any = |is: fn(&Test) -> bool| self.assumptions.values().flatten().any(is);
        any(|test| matches!(test, Test::SameQuotient { .. }))
            && any(|test| matches!(test, Test::SameComparison { .. } | Test::NeverEqual { .. }))
    }

    /// Records the blocks in which something is gained. Returns the addresses and conditions that gain.
    fn find_roots(&mut self, normal: &NormalForm, without: &Divergence, open: &[Block]) -> Roots {
        let NormalForm { func, cfg, .. } = normal;
        let is_access = |inst: Inst| [Opcode::Load, Opcode::Store].contains(&func.dfg.inst(inst).op);
        let scattered = |value: Value| {
            without.shape(value) == Shape::Varying
                && without.offsets(value).is_none()
                && without
                    .conditional(value)
                    .is_none_or(|affine| affine.checks.iter().any(|check| check.matters(func.dfg.ty(check.value))))
        };
        let with_it = |value: Value| self.with.shape(value) != Shape::Varying || self.with.offsets(value).is_some();
        let mut roots = Roots::default();
        // Paths on which lanes would stay together, if there is an access.
        let rejoined = |&&block: &&Block| without.in_divergent_region(block) && !self.with.in_divergent_region(block);
        let worth = open.iter().filter(rejoined).any(|&b| func.layout.insts(b).iter().any(|&inst| is_access(inst)));
        for &block in open {
            let (mut pays, mut gain) = (false, false);
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                if is_access(inst) && scattered(data.args[0]) && with_it(data.args[0]) {
                    roots.accesses.push((block, data.args[0]));
                    pays = true;
                }
                let better = |&value: &Value| {
                    without.shape(value) == Shape::Varying
                        && without.conditional(value).is_none()
                        && without.offsets(value).is_none()
                        && with_it(value)
                };
                gain |= func.dfg.results(inst).iter().any(better);
            }
            if worth && without.diverges(block) && !self.with.diverges(block) {
                let condition = func.layout.terminator(block).map(|inst| func.dfg.inst(inst).args[0]);
                roots.conditions.extend(condition.map(|condition| (block, condition)));
                pays = true;
            }
            pays |= rejoined(&&block) && func.layout.insts(block).iter().any(|&inst| is_access(inst));
            if pays {
                self.paying.insert(block);
            }
            if pays || gain {
                self.blocks.insert(block);
            }
        }
        debug_assert!(open.iter().all(|&block| cfg.reaches(block)));
        roots
    }
}

/// The values that gain from assumptions, with the blocks that use them.
#[derive(Default)]
struct Roots {
    /// Addresses of accesses that become contiguous or uniform.
    accesses: Vec<(Block, Value)>,
    /// Conditions of branches that lanes take together.
    conditions: Vec<(Block, Value)>,
}

/// The pure instructions by which values are computed, and whether a block parameter carries their results.
fn pure_sources(func: &Function, cfg: &Cfg, roots: impl Iterator<Item = Value>) -> FxHashMap<Inst, bool> {
    let mut found: FxHashMap<Inst, bool> = FxHashMap::default();
    let mut seen: FxHashSet<(Value, bool)> = FxHashSet::default();
    let mut work: Vec<(Value, bool)> = roots.map(|root| (root, false)).collect();
    while let Some((value, carried)) = work.pop() {
        if !seen.insert((value, carried)) {
            continue;
        }
        match func.dfg.def(value) {
            ValueDef::Result(inst, _) if func.dfg.inst(inst).op.is_pure() => {
                *found.entry(inst).or_default() |= carried;
                work.extend(func.dfg.inst(inst).args.iter().map(|&arg| (arg, carried)));
            }
            ValueDef::Result(..) => {}
            ValueDef::Param(block, index) => {
                for &pred in cfg.preds(block) {
                    let targets = func.layout.terminator(pred).map(|t| func.dfg.targets(t)).unwrap_or_default();
                    let to_here = targets.iter().filter(|call| call.block == block);
                    work.extend(to_here.map(|call| (call.args[usize::from(index)], true)));
                }
            }
        }
    }
    found
}

/// A piece that has been copied.
struct VersionedPiece {
    /// The copies of the instructions about which something is assumed, and which alternative.
    assumed: Vec<(Inst, u8)>,
    /// The blocks of the slow copy.
    slow: Vec<Block>,
    /// Those of the fast copy, each with the slow one.
    copies: Vec<(Block, Block)>,
    /// All blocks of both copies, and the one before them.
    blocks: Vec<Block>,
}

/// Copies the piece that begins with the first assumptions of a block.
fn copy_piece(normal: &NormalForm, gains: &Gains, plan: PiecePlan) -> (Function, VersionedPiece) {
    let PiecePlan { at, hoisted, parts, mut blocks } = plan;
    let mut func = normal.func.clone();
    hoisted.iter().for_each(|&inst| func.layout.remove_inst(inst));
    let head = func.append_block();
    func.layout.set_insts(at, parts.before.clone());
    func.layout.set_insts(head, parts.shared.iter().chain(&parts.after).copied().collect());
    blocks.insert(0, head);
    // Copies of the assumed instructions and their dependents, before the test.
    let mut cloner = Cloner::within();
    let mut assumed = Vec::new();
    for &inst in &parts.shared {
        let new = match parts.assumed.contains(&inst).then(|| known_result(&func, gains, inst)).flatten() {
            Some(value) => {
                let id = func.dfg.make_const(ConstData::splat(Type::B1, u64::from(value)));
                let data = clift_kir::InstData { op: Opcode::Const, args: Default::default(), imm: Imm::Const(id) };
                cloner.copy_as(&mut func, inst, data)
            }
            None => copy_with_names(&mut cloner, &mut func, inst),
        };
        func.layout.append_inst(at, new);
        if parts.assumed.contains(&inst) {
            assumed.push((new, gains.which));
        }
    }
    let holds = emit_tests(&mut func, gains, &parts, at, &cloner);
    // The copy of the piece.
    let copies: Vec<Block> = blocks.iter().map(|&block| cloner.copy_block(&mut func, block)).collect();
    for (&block, &copy) in blocks.iter().zip(&copies) {
        func.layout.append_block(copy);
        // Most packs execute the copy, with all that it contains.
        func.layout.clear_cold(copy);
        for inst in func.layout.insts(block).to_vec() {
            if block == head && parts.shared.contains(&inst) {
                continue;
            }
            let new = copy_with_names(&mut cloner, &mut func, inst);
            func.layout.append_inst(copy, new);
        }
    }
    let Some(fast) = cloner.block(head) else { unreachable!("broken invariant: a piece contains its head") };
    Builder::at_end(&mut func, at).branch(holds, BlockCall::new(fast, &[]), BlockCall::new(head, &[]));
    join(&mut func, &blocks, &copies, &cloner);
    // The assumption fails for few packs, so the slow copy is cold.
    if gains.which > 0 {
        func.layout.clear_cold(at);
    }
    for &block in &blocks {
        func.layout.set_cold(block);
    }
    let all = blocks.iter().chain(&copies).copied().chain([at]).collect();
    let copies = copies.into_iter().zip(blocks.iter().copied()).collect();
    (func, VersionedPiece { assumed, slow: blocks, copies, blocks: all })
}

/// The result of an instruction, if its assumption implies it.
fn known_result(func: &Function, gains: &Gains, inst: Inst) -> Option<bool> {
    let differ = gains.assumptions[&inst].iter().any(|test| matches!(test, Test::NeverEqual { .. }));
    if let Imm::IntCond(cond) = func.dfg.inst(inst).imm
        && differ
    {
        Some(cond == IntCond::Ne)
    } else {
        None
    }
}

/// Copies an instruction and the names of its results; the copy is not in the layout yet.
fn copy_with_names(cloner: &mut Cloner<'_>, func: &mut Function, inst: Inst) -> Inst {
    let new = cloner.copy(func, inst);
    for (old, copy) in func.dfg.results(inst).iter().zip(func.dfg.results(new)) {
        if let Some(name) = func.names.get(old).cloned() {
            func.names.insert(*copy, name);
        }
    }
    new
}

/// Emits code at the end of a block that computes whether all assumptions hold.
fn emit_tests(func: &mut Function, gains: &Gains, parts: &HeadParts, at: Block, cloner: &Cloner<'_>) -> Value {
    let mut b = Builder::at_end(func, at);
    let zero = b.iconst(Type::I32, 0);
    let mut firsts: FxHashMap<Value, Value> = FxHashMap::default();
    let mut made: Vec<Test> = Vec::new();
    let mut holds: Option<Value> = None;
    for &test in parts.assumed.iter().flat_map(|inst| &gains.assumptions[inst]) {
        if made.contains(&test) {
            continue;
        }
        made.push(test);
        let one = test.emit(&mut b, |b, value| {
            let here = cloner.value_or_same(value);
            if gains.with.shape(value).is_uniform(Scope::Pack) {
                return here;
            }
            *firsts.entry(here).or_insert_with(|| b.group_shuffle(here, zero))
        });
        holds = Some(holds.map_or(one, |all| b.int2(Opcode::And, all, one)));
    }
    holds.unwrap_or_else(|| b.iconst(Type::B1, 1))
}

/// Lets uses after the piece get their values from the version that was executed.
fn join(func: &mut Function, blocks: &[Block], copies: &[Block], cloner: &Cloner<'_>) {
    let mut homes: FxHashMap<Value, Block> = FxHashMap::default();
    for &block in blocks {
        homes.extend(func.dfg.params(block).iter().map(|&param| (param, block)));
        let results = func.layout.insts(block).iter().flat_map(|&inst| func.dfg.results(inst));
        homes.extend(results.map(|&value| (value, block)));
    }
    let inside: FxHashSet<Block> = blocks.iter().chain(copies).copied().collect();
    let cfg = Cfg::new(func);
    let graph = Frontiers::new(&cfg);
    let mut ssa = SsaBuilder::new();
    let mut vars = FxHashMap::default();
    for &block in cfg.rpo() {
        if inside.contains(&block) {
            continue;
        }
        for inst in func.layout.insts(block).to_vec() {
            let mut used = Vec::new();
            func.dfg.for_each_use(inst, |value| used.extend(homes.get(&value).map(|&home| (value, home))));
            for (value, home) in used {
                let var = *vars.entry(value).or_insert_with(|| {
                    let var = ssa.declare(func.dfg.ty(value));
                    ssa.define(var, home, value);
                    if let (Some(copy), Some(new)) = (cloner.block(home), cloner.value(value)) {
                        ssa.define(var, copy, new);
                    }
                    var
                });
                let joined = ssa.value_at_start(func, &graph, var, block);
                func.dfg.map_uses(inst, |old| if old == value { joined } else { old });
            }
        }
    }
}
