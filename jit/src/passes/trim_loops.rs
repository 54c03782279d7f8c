//! Loops end before the iterations that do nothing because a counter has reached a bound, and are then unswitched: whether a
//! row has any work-items with something to do is the same for all of them.
//!
//! ```text
//!                                           limit' = min(limit, max(n - base, 0))
//! preheader:  jump head(0)                  preheader: branch limit' > 0, enter, exit
//! head(y):    branch base + y < n, body, latch
//! body:       ...                           (the same)
//! latch:      branch y + 1 < limit, head(y + 1), exit       latch: branch y + 1 < limit', ...
//! ```
//!
//! Launches are rounded up to whole work-groups, and algorithms on shrinking ranges (eliminations, factorizations, reductions in
//! several launches) execute most work-items only for a guard to send them away. After work-items have become loops, such a guard
//! compares a counter of a loop over packs or rows.
//!
//! The new limit is exact only if the counter does not wrap on its way to the old one. That is tested before the loop, and the
//! old limit stays if it could. What it means that a loop does nothing is said in [`super::idle`]; whoever counts in a loop has
//! effects there, so only loops whose sole parameter is the counter are changed.
//!
//! **Cost model.** Loops around others that count, and those within trimmed ones: rows of work-items, and the packs of such
//! rows. Where only the innermost loop would end earlier, most launches have few items behind the bound, and the code would not
//! be worth it.

use clift_kir::analysis::{Cfg, LoopForest, LoopId};
use clift_kir::clone::Cloner;
use clift_kir::dfg::ConstData;
use clift_kir::{Block, BlockCall, Builder, Elem, Function, Imm, Inst, IntCond, Opcode, Type, Value};
use rustc_hash::FxHashSet;

use super::idle::{LoopView, MAX_TERM, Truths};
use super::{Changed, loop_form, unswitch};

/// How many definitions deep values are looked through.
const MAX_DEPTH: u32 = 16;
/// The largest constant that lanes of a pack, or its last work-item, add to what is compared.
const MAX_OFFSET: u64 = 1 << 20;
/// A counter of at least 32 bits that starts below this and has fewer steps to its limit does not wrap, nor do its sums with
/// offsets.
const MAX_START: i64 = 1 << 29;
/// More than any bound that a counter can reach.
const MAX_BOUND: i64 = 1 << 31;

/// Trims and unswitches all loops.
pub(super) fn run(func: &mut Function) -> Changed {
    let Some(analyses) = loop_form::run(func) else { return Changed(false) };
    let (cfg, _, loops) = &analyses;
    let counters: Vec<(LoopId, Counter)> = loops
        .iter()
        .filter_map(|(id, _)| Some((id, Counter::new(&LoopView::new(func, cfg, loops, id)?, cfg)?)))
        .collect();
    // A loop is of interest if it is in one that is planned, or has a counter in it.
    let parent = |id: LoopId| loops.get(id).parent;
    let mut around: FxHashSet<LoopId> = FxHashSet::default();
    for &(id, _) in &counters {
        let _ =
            std::iter::successors(parent(id), |&outer| parent(outer)).take_while(|&outer| around.insert(outer)).count();
    }
    let mut planned: FxHashSet<LoopId> = FxHashSet::default();
    let mut plans: Vec<Plan> = Vec::new();
    for &(id, counter) in &counters {
        let mut outer = std::iter::successors(parent(id), |&outer| parent(outer));
        if (around.contains(&id) || !planned.is_empty() && outer.any(|outer| planned.contains(&outer)))
            && let Some(plan) = LoopView::new(func, cfg, loops, id).and_then(|view| Plan::new(&view, counter))
        {
            planned.insert(id);
            plans.push(plan);
        }
    }
    for plan in &plans {
        plan.apply(func, loops);
    }
    let Changed(unswitched) = unswitch::run_on(func, plans.is_empty().then_some(analyses));
    Changed(unswitched || !plans.is_empty())
}

/// How a loop counts: its header has one parameter, which grows by a constant until it is not below the limit.
#[derive(Clone, Copy)]
struct Counter {
    param: Value,
    start: Value,
    step: i64,
    limit: Value,
    /// The comparison at the only place where the loop is left.
    test: Inst,
}

impl Counter {
    fn new(view: &LoopView<'_>, cfg: &Cfg) -> Option<Counter> {
        let LoopView { func, data, .. } = *view;
        let (&[param], &[latch]) = (func.dfg.params(data.header), data.latches.as_slice()) else { return None };
        let &[start] = loop_form::args_of_edge(func, view.preheader, data.header)? else { return None };
        let &[next] = loop_form::args_of_edge(func, latch, data.header)? else { return None };
        let mut exits = data.blocks.iter().filter(|&&block| cfg.succs(block).iter().any(|&succ| !view.inside(succ)));
        let (Some(&exit), None) = (exits.next(), exits.next()) else { return None };
        let branch = func.dfg.inst(func.layout.terminator(exit)?);
        let Imm::Branch(calls) = &branch.imm else { return None };
        let test = view.inst_of(branch.args[0])?;
        let compare = func.dfg.inst(test);
        let (Imm::IntCond(IntCond::Ult), &[compared, limit]) = (&compare.imm, compare.args.as_slice()) else {
            return None;
        };
        let grows = func.dfg.inst(view.inst_of(next)?);
        let (Opcode::Iadd, &[from, by]) = (grows.op, grows.args.as_slice()) else { return None };
        let step = i64::try_from(func.dfg.as_splat_bits(by)?).ok().filter(|step| (1..1 << 16).contains(step))?;
        let counts = func.dfg.ty(param) == Type::I64
            && compared == next
            && from == param
            && view.inside(calls[0].block)
            && calls[1].args.is_empty()
            && view.inst_of(limit).is_none()
            && limit != param;
        counts.then_some(Counter { param, start, step, limit, test })
    }
}

/// A scalar that grows with the counter, and the bound at which the loop does nothing any more.
#[derive(Clone, Copy)]
struct Bounded {
    value: Value,
    /// A scalar, or a constant vector with equal lanes.
    bound: Value,
    /// Whether they are compared as signed numbers.
    signed: bool,
    /// Whether the bound itself is within bounds.
    inclusive: bool,
}

impl Bounded {
    /// What a comparison compares, and what it gives as long as the value is within bounds. Lanes may add what they want to the
    /// value: the comparison is what it says for the least of them, and all others are further on.
    fn of_comparison(view: &LoopView<'_>, inst: Inst) -> Option<(Bounded, bool)> {
        let data = view.func.dfg.inst(inst);
        let (&Imm::IntCond(cond), &[a, b]) = (&data.imm, data.args.as_slice()) else { return None };
        let is_invariant = |value| view.is_invariant(value, &mut { MAX_TERM });
        let (cond, value, bound) = match (is_invariant(a), is_invariant(b)) {
            (false, true) => (cond, a, b),
            (true, false) => (cond.swapped(), b, a),
            (true, true) | (false, false) => return None,
        };
        let (signed, inclusive, within) = match cond {
            IntCond::Slt => (true, false, true),
            IntCond::Sle => (true, true, true),
            IntCond::Sgt => (true, true, false),
            IntCond::Sge => (true, false, false),
            IntCond::Ult => (false, false, true),
            IntCond::Ule => (false, true, true),
            IntCond::Ugt => (false, true, false),
            IntCond::Uge => (false, false, false),
            IntCond::Eq | IntCond::Ne => return None,
        };
        let (value, bound) = (first_of_lanes(view.func, value)?, splatted(view.func, bound)?);
        Some((Bounded { value, bound, signed, inclusive }, within))
    }

    /// What a comparison gives once the value is out of bounds.
    fn beyond(&self, view: &LoopView<'_>, inst: Inst) -> Option<bool> {
        let (other, within) = Bounded::of_comparison(view, inst)?;
        let bits = |value| view.func.dfg.as_splat_bits(value);
        let same_bound = other.bound == self.bound || bits(other.bound).is_some_and(|b| Some(b) == bits(self.bound));
        let same = other.value == self.value && same_bound && other.signed == self.signed;
        (same && (self.inclusive || !other.inclusive)).then_some(!within)
    }
}

/// The scalar to which the lanes of a value, or a scalar, add constants that are not negative; the least may be above 0.
fn first_of_lanes(func: &Function, mut value: Value) -> Option<Value> {
    for _ in 0..MAX_DEPTH {
        let Some(inst) = func.dfg.def_inst(value) else { break };
        let data = func.dfg.inst(inst);
        let is_offset = |value: Value| {
            let count = func.dfg.ty(value).lanes();
            func.dfg.as_const(value).is_some_and(|lanes| (0..count).all(|lane| lanes.lane(lane) < MAX_OFFSET))
        };
        value = match (data.op, data.args.as_slice()) {
            (Opcode::Splat, &[scalar]) => scalar,
            (Opcode::Iadd, &[base, offset]) if is_offset(offset) => base,
            (Opcode::Iadd, &[offset, base]) if is_offset(offset) => base,
            _ => break,
        };
    }
    (!func.dfg.ty(value).is_vector()).then_some(value)
}

/// The scalar that all lanes of a value have, a constant vector with equal lanes, or a scalar itself.
fn splatted(func: &Function, value: Value) -> Option<Value> {
    let splat = func.dfg.def_inst(value).map(|inst| func.dfg.inst(inst)).filter(|data| data.op == Opcode::Splat);
    let scalar = splat.map_or(value, |data| data.args[0]);
    (!func.dfg.ty(scalar).is_vector() || func.dfg.as_splat_bits(scalar).is_some()).then_some(scalar)
}

/// What is done to a loop.
struct Plan {
    id: LoopId,
    preheader: Block,
    exit: BlockCall,
    counter: Counter,
    bounded: Bounded,
}

impl Plan {
    fn new(view: &LoopView<'_>, counter: Counter) -> Option<Plan> {
        let LoopView { func, id, preheader, .. } = *view;
        if !view.may_be_idle() {
            return None;
        }
        let comparisons = view.terms_of_branches().comparisons;
        comparisons.into_iter().filter(|&inst| inst != counter.test).find_map(|inst| {
            let (bounded, _) = Bounded::of_comparison(view, inst)?;
            let ring = strip_extension(func, bounded.value);
            if func.dfg.ty(ring).elem.bits() < 32 || step_of(view, counter, ring, MAX_DEPTH) != Some(counter.step) {
                return None;
            }
            let compared = |inst| bounded.beyond(view, inst);
            let exit = view.exit_if_idle(&mut Truths::new(func, &compared))?;
            Some(Plan { id, preheader, exit, counter, bounded })
        })
    }

    fn apply(&self, func: &mut Function, loops: &LoopForest) {
        let Some(jump) = func.layout.terminator(self.preheader) else { return };
        let loc = func.locs[jump];
        func.layout.remove_inst(jump);
        let Plan { counter, bounded, preheader, .. } = *self;
        let inside = |func: &Function, inst| func.layout.block_of(inst).is_some_and(|at| loops.contains(self.id, at));
        let mut place = |func: &mut Function, copy| func.layout.append_inst(preheader, copy);
        let mut cloner = Cloner::within();
        cloner.set_value(counter.param, counter.start);
        let first = cloner.computed(func, bounded.value, &inside, &mut place);
        let bound = cloner.computed(func, bounded.bound, &inside, &mut place);
        let enter = func.dfg.make_block();
        func.layout.insert_block_after(enter, preheader);
        if func.layout.is_cold(preheader) {
            func.layout.set_cold(enter);
        }
        let mut b = Builder::at_end(func, preheader);
        b.set_loc(loc);
        let bound = match b.func.dfg.as_splat_bits(bound) {
            Some(bits) => b.constant(ConstData::splat(b.ty(first), bits)),
            None => bound,
        };
        // The difference of extended numbers does not wrap.
        let narrow = b.ty(first) != Type::I64;
        let wide = |b: &mut Builder<'_>, value| b.int_resize(value, Elem::I64, bounded.signed);
        let (first, bound) = (wide(&mut b, first), wide(&mut b, bound));
        let zero = b.iconst(Type::I64, 0);
        let bound = if narrow { bound } else { near_bound(&mut b, bound, bounded.signed) };
        let one = b.iconst(Type::I64, 1);
        let end = if bounded.inclusive { b.int2(Opcode::Iadd, bound, one) } else { bound };
        let left = b.int2(Opcode::Isub, end, first);
        let left = b.int2(Opcode::Smax, left, zero);
        let span = b.int2(Opcode::Isub, counter.limit, counter.start);
        let largest = b.int2(Opcode::Umax, first, span);
        let most = b.iconst(Type::I64, MAX_START);
        let is_exact = b.icmp(IntCond::Ult, largest, most);
        let last = b.int2(Opcode::Iadd, counter.start, left);
        let limit = b.int2(Opcode::Umin, counter.limit, last);
        let limit = b.select(is_exact, limit, counter.limit);
        let idle = b.icmp(IntCond::Eq, left, zero);
        let idle = b.int2(Opcode::And, is_exact, idle);
        b.branch(idle, self.exit.clone(), BlockCall::new(enter, &[]));
        func.layout.append_inst(enter, jump);
        func.dfg.map_uses(counter.test, |value| if value == counter.limit { limit } else { value });
    }
}

/// A bound of 64 bits, or a nearer one that cannot be reached either.
fn near_bound(b: &mut Builder<'_>, bound: Value, signed: bool) -> Value {
    let most = b.iconst(Type::I64, MAX_BOUND);
    if !signed {
        return b.int2(Opcode::Umin, bound, most);
    }
    let bound = b.int2(Opcode::Smin, bound, most);
    let zero = b.iconst(Type::I64, 0);
    b.int2(Opcode::Smax, bound, zero)
}

/// What an integer is before it is extended.
fn strip_extension(func: &Function, value: Value) -> Value {
    let data = func.dfg.def_inst(value).map(|inst| func.dfg.inst(inst));
    data.filter(|data| matches!(data.op, Opcode::Sext | Opcode::Zext)).map_or(value, |data| data.args[0])
}

/// By how much a sum of the counter and invariant terms grows in each iteration, modulo the numbers of its type.
fn step_of(view: &LoopView<'_>, counter: Counter, value: Value, depth: u32) -> Option<i64> {
    if value == counter.param {
        return Some(counter.step);
    }
    if view.is_invariant(value, &mut { MAX_TERM }) {
        return Some(0);
    }
    let data = view.func.dfg.inst(view.inst_of(value)?);
    let depth = depth.checked_sub(1)?;
    let of = |number: usize| step_of(view, counter, data.args[number], depth);
    if data.op == Opcode::Iadd {
        of(0)?.checked_add(of(1)?)
    } else if data.op == Opcode::Isub {
        of(0)?.checked_sub(of(1)?)
    } else if data.op == Opcode::Itrunc {
        of(0)
    } else {
        None
    }
}
