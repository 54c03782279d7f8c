//! Row loops: several iterations at once of loops in which each lane walks along a row of its own.
//!
//! ```text
//! for (k = first; k != limit; k++)           for (; limit - k >= 4; k += 4)
//!     sum += a[i * n + k];                       four = elements k to k + 3 of the row; sum += four.x; ...
//!                                            for (; k != limit; k++)
//!                                                sum += a[i * n + k];
//! ```
//!
//! Neighbouring lanes are a row apart, so an access to one element of each row is a gather or scatter. Several elements of one
//! row are a vector, which is accessed whole ([rows](crate::spmd::vectorize::widen)). The loop must be one block that lanes leave
//! together, after a number of iterations that is known before.
//!
//! On machines with longer registers, a piece of a row is as long as one, at most as a cache line: lines of many rows whose
//! distance is a power of two replace each other in the first-level cache before their other elements are used. What is left of
//! such iterations is executed four at once.
//!
//! In the code of a single lane (see [`super::one_lane`]), more iterations are executed at once, and every access to neighbouring
//! elements counts.
//!
//! An index that is extended must not wrap before. Of signed ones the source promises that; of others, such as the `uint` index
//! `i * n + k`, a test before the loop shows it.
//!
//! Loads move to the start of the four iterations, and stores to their end. No access that they pass may be to the same memory:
//! either it cannot be, or a test before the loop shows for the iterations to come that it is not.

mod reductions;

use clift_kir::analysis::{Loop, LoopId};
use clift_kir::clone::Cloner;
use clift_kir::{
    Block, BlockCall, Builder, Effects, Elem, Function, Imm, Inst, IntCond, MemInfo, Opcode, Space, Type, Value,
    WrapFlags,
};
use rustc_hash::{FxHashMap, FxHashSet};

use self::reductions::Reduction;
use super::normalize::{self, NormalForm, Several};
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::{Scope, Shape};
use crate::spmd::vectorize::widen::record_step_at_once;

/// Iterations at once, for packs, of what longer pieces leave.
const ITERATIONS: i64 = 4;
/// The shortest elements of rows that packs access in longer pieces.
const LEAST_BYTES: i64 = 4;
/// Bytes of the longest piece: a cache line.
const LINE_BYTES: i64 = 64;
/// The most iterations at once for a single lane, and the most instructions in them.
const MAX_ITERATIONS: i64 = 16;
const MAX_COPIES: i64 = 512;
/// Bytes of a vector that is accessed whole.
const PIECE_BYTES: u32 = 16;
/// The most instructions of an iteration.
const MAX_INSTS: usize = 64;
/// The most pairs of accesses that a test before the loop compares.
const MAX_TESTS: usize = 4;
/// The most extensions of indices that a test before the loop covers.
const MAX_EXTENSIONS: usize = 4;
/// The most by which a tested index grows in each iteration, so that 64 bits hold its end.
const MAX_TESTED_GROWTH: i64 = 1 << 20;
/// How many definitions deep addresses are looked through.
const MAX_DEPTH: u32 = 24;

/// Executes several iterations of row loops at once in a kernel, for packs of `lanes` lanes in registers of so many bits.
/// `None` if it has no such loops.
pub(crate) fn run(normal: &NormalForm, lanes: u32, register_bits: u32) -> Option<NormalForm> {
    if lanes == 1 {
        return None;
    }
    let longest = i64::from(register_bits / 8).min(LINE_BYTES);
    let long = run_within(normal, lanes, longest, |_| true)?;
    let is_rest = |body: Block| {
        long.several.values().any(|several| several.rest == body && i64::from(several.iterations) > ITERATIONS)
    };
    let Some(mut whole) = run_within(&long, lanes, PIECE_BYTES.into(), is_rest) else { return Some(long) };
    for (header, several) in long.several {
        let before = whole.several.values_mut().find(|other| other.rest == several.rest);
        if let Some(before) = before {
            before.at_most = Some(several.iterations / before.iterations - 1);
        }
        whole.several.insert(header, several);
    }
    Some(whole)
}

/// As [`run`], of the loops whose body `accepts` takes, in pieces of so many bytes at most.
fn run_within(
    normal: &NormalForm,
    lanes: u32,
    piece_bytes: i64,
    accepts: impl Fn(Block) -> bool,
) -> Option<NormalForm> {
    let loops = normal.loops.iter().filter_map(|(id, data)| CountedLoop::of(normal, id, data));
    let loops: Vec<CountedLoop> = loops.filter(|counted| accepts(counted.body)).collect();
    if !loops.iter().any(|counted| counted.walks(&normal.func)) {
        return None;
    }
    let divergence = normal.divergence(lanes, true);
    let plan = |counted: CountedLoop| RowPlan::of(normal, &divergence, counted, (lanes, piece_bytes));
    let plans: Vec<RowPlan> = loops.into_iter().filter_map(plan).collect();
    if plans.is_empty() {
        return None;
    }
    let mut func = normal.func.clone();
    let several: FxHashMap<Block, Several> = plans.iter().filter_map(|plan| plan.apply(&mut func)).collect();
    Some(normalize::run(&func)?.with_several(several).with_regions(normal.single_lane.clone()))
}

/// Loops of several iterations: the number of each, its block, and what it executes.
type SeveralLoops = Vec<(usize, Block, Several)>;

/// Executes several iterations at once of those loops of a kernel with one lane that store a row, or reduce one to an integer,
/// and that `accepts` takes by their numbers. Returns the kernel, and the block of several iterations of each loop with its
/// number.
pub(crate) fn run_one_lane(
    normal: &NormalForm,
    finished: &FxHashSet<Block>,
    accepts: impl Fn(usize) -> bool,
) -> Option<(Function, SeveralLoops)> {
    let open = normal.loops.iter().filter(|(_, data)| !finished.contains(&data.header));
    let loops = open.filter_map(|(id, data)| CountedLoop::of(normal, id, data));
    let divergence = normal.divergence(1, true);
    let plans = loops.filter_map(|counted| RowPlan::of(normal, &divergence, counted, (1, PIECE_BYTES.into())));
    let mut func = normal.func.clone();
    let mut blocks = Vec::new();
    for (number, plan) in plans.enumerate() {
        let gains = !plan.reductions.is_empty() || plan.rows.iter().any(|row| row.is_store);
        if gains && accepts(number) {
            blocks.extend(plan.apply(&mut func).map(|(block, several)| (number, block, several)));
        }
    }
    (!blocks.is_empty()).then_some((func, blocks))
}

/// A loop of one block whose number of iterations is known before.
struct CountedLoop {
    /// The only block besides the latch.
    body: Block,
    latch: Block,
    preheader: Block,
    /// The counter, which grows by one.
    counter: Value,
    /// The next counter with which the loop is left.
    limit: Value,
    /// Which of the branch's targets leaves the loop.
    leaves: usize,
}

impl CountedLoop {
    fn of(normal: &NormalForm, id: LoopId, data: &Loop) -> Option<CountedLoop> {
        let NormalForm { func, cfg, loops, .. } = normal;
        let (&[latch], body) = (data.latches.as_slice(), data.header) else { return None };
        let jumps = func.layout.insts(latch).len() == 1;
        if data.blocks.len() != 2 || latch == body || !jumps || func.layout.is_cold(body) {
            return None;
        }
        if func.layout.insts(body).len() > MAX_INSTS {
            return None;
        }
        let preheader = cfg.preds(body).iter().copied().find(|&pred| pred != latch)?;
        let branch = func.dfg.inst(func.layout.terminator(body)?);
        let Imm::Branch(calls) = &branch.imm else { return None };
        let leaves = match [loops.contains(id, calls[0].block), loops.contains(id, calls[1].block)] {
            [false, true] => 0,
            [true, false] => 1,
            [true, true] | [false, false] => return None,
        };
        let test = func.dfg.inst(func.dfg.def_inst(branch.args[0])?);
        let ends_when_equal = match (&test.imm, leaves) {
            (Imm::IntCond(IntCond::Eq), 0) | (Imm::IntCond(IntCond::Ne), 1) => test.op == Opcode::Icmp,
            _ => false,
        };
        let &[a, b] = test.args.as_slice() else { return None };
        if !ends_when_equal {
            return None;
        }
        let outside = |value: Value| func.def_block(value).is_none_or(|at| !loops.contains(id, at));
        let (next, limit) = if outside(b) { (a, b) } else { (b, a) };
        let step = func.dfg.inst(func.dfg.def_inst(next)?);
        let (Opcode::Iadd, &[counter, one]) = (step.op, step.args.as_slice()) else { return None };
        let index = func.dfg.params(body).iter().position(|&param| param == counter)?;
        let counted = outside(limit)
            && func.dfg.as_splat_bits(one) == Some(1)
            && passed(func, body, latch, body, index) == Some(next);
        counted.then_some(CountedLoop { body, latch, preheader, counter, limit, leaves })
    }

    /// Whether there is an access to neighbouring elements in successive iterations.
    fn walks(&self, func: &Function) -> bool {
        func.layout.insts(self.body).iter().any(|&inst| {
            let data = func.dfg.inst(inst);
            let accessed = if data.op == Opcode::Load {
                func.dfg.result(inst)
            } else if data.op == Opcode::Store {
                data.args[1]
            } else {
                return false;
            };
            self.growth(func, data.args[0], &mut Vec::new()) == Some(func.dfg.ty(accessed).bytes().into())
        })
    }

    /// What a parameter of the body becomes in the next iteration.
    fn next_of(&self, func: &Function, param: Value) -> Option<Value> {
        let index = func.dfg.params(self.body).iter().position(|&other| other == param)?;
        passed(func, self.body, self.latch, self.body, index)
    }

    /// By how much a value grows in each iteration, if it is the same in all as long as the indices `extended` do not wrap.
    fn growth(&self, func: &Function, value: Value, extended: &mut Vec<ExtendedIndex>) -> Option<i64> {
        self.growth_within(func, value, (extended, &mut FxHashMap::default()), MAX_DEPTH)
    }

    /// As [`Self::growth`]; `known` has the values that have been looked at.
    fn growth_within(
        &self,
        func: &Function,
        value: Value,
        (extended, known): (&mut Vec<ExtendedIndex>, &mut FxHashMap<Value, Option<i64>>),
        depth: u32,
    ) -> Option<i64> {
        if func.def_block(value) != Some(self.body) {
            return Some(0);
        }
        if let Some(&known) = known.get(&value) {
            return known;
        }
        let growth = self.growth_of_inst(func, value, (extended, known), depth);
        known.insert(value, growth);
        growth
    }

    fn growth_of_inst(
        &self,
        func: &Function,
        value: Value,
        (extended, known): (&mut Vec<ExtendedIndex>, &mut FxHashMap<Value, Option<i64>>),
        depth: u32,
    ) -> Option<i64> {
        let mut of = |value: Value| self.growth_within(func, value, (extended, known), depth.checked_sub(1)?);
        let Some(inst) = func.dfg.def_inst(value) else {
            let next = self.next_of(func, value)?;
            if next == value {
                return Some(0);
            }
            let data = func.dfg.inst(func.dfg.def_inst(next)?);
            return match (data.op, data.args.as_slice(), &data.imm) {
                (Opcode::Iadd, &[from, by], _) if from == value => func.dfg.as_splat_signed(by),
                (Opcode::Addr, &[from], &Imm::Addr { disp, .. }) if from == value => Some(disp),
                _ => None,
            };
        };
        let data = func.dfg.inst(inst);
        match (data.op, data.args.as_slice()) {
            (Opcode::Iadd, &[a, b]) => of(a)?.checked_add(of(b)?),
            (Opcode::Isub, &[a, b]) => of(a)?.checked_sub(of(b)?),
            (Opcode::Imul, &[a, b]) => match (of(a)?, of(b)?) {
                (0, 0) => Some(0),
                (growth, 0) => growth.checked_mul(func.dfg.as_splat_signed(b)?),
                (0, growth) => growth.checked_mul(func.dfg.as_splat_signed(a)?),
                _ => None,
            },
            (Opcode::Shl, &[a, count]) => {
                let count = func.dfg.as_splat_bits(count)? % u64::from(func.dfg.ty(value).elem.bits());
                of(a)?.checked_mul(1 << Some(count).filter(|&count| count < 32)?)
            }
            (Opcode::Addr, &[base]) => of(base),
            (Opcode::Addr, &[base, index]) => {
                let &Imm::Addr { scale, .. } = &data.imm else { return None };
                of(base)?.checked_add(of(index)?.checked_mul(i64::try_from(scale).ok()?)?)
            }
            (Opcode::SpaceCast, &[from]) => of(from),
            (Opcode::Sext | Opcode::Zext, &[from]) => {
                let growth = of(from)?;
                let is_signed = data.op == Opcode::Sext;
                let promised = if is_signed { WrapFlags::NO_SIGNED } else { WrapFlags::NO_UNSIGNED };
                if growth != 0 && !self.never_wraps(func, from, promised, depth) {
                    let counter_bits = func.dfg.ty(self.counter).elem.bits();
                    let fits = func.dfg.ty(from).elem.bits() <= 32 && counter_bits <= 32;
                    if !fits || func.dfg.ty(from).is_vector() || !(1..=MAX_TESTED_GROWTH).contains(&growth) {
                        return None;
                    }
                    extended.push(ExtendedIndex { value: from, growth, is_signed });
                }
                Some(growth)
            }
            _ if data.op.is_pure() && !data.args.is_empty() => {
                let same = data.args.iter().all(|&arg| of(arg) == Some(0));
                same.then_some(0)
            }
            _ => None,
        }
    }

    /// Whether a value does not wrap in the iterations that are executed at once: the counter is tested before, and of other
    /// values the source promises it.
    fn never_wraps(&self, func: &Function, value: Value, flag: WrapFlags, depth: u32) -> bool {
        if value == self.counter || func.def_block(value) != Some(self.body) {
            return true;
        }
        let Some(inst) = func.dfg.def_inst(value).filter(|_| depth > 0) else { return false };
        let data = func.dfg.inst(inst);
        data.imm.wrap().contains(flag) && matches!(data.op, Opcode::Iadd | Opcode::Isub | Opcode::Imul | Opcode::Shl)
    }
}

/// An index that is extended after it has grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExtendedIndex {
    /// Before the extension.
    value: Value,
    /// By how much it grows in each iteration.
    growth: i64,
    is_signed: bool,
}

/// What one block passes to a parameter of another one through a third.
fn passed(func: &Function, from: Block, through: Block, to: Block, index: usize) -> Option<Value> {
    let jump = func.dfg.targets(func.layout.terminator(through)?).into_iter().find(|call| call.block == to)?;
    let arg = *jump.args.get(index)?;
    let Some(param) = func.dfg.params(through).iter().position(|&param| param == arg) else { return Some(arg) };
    let edge = func.dfg.targets(func.layout.terminator(from)?).into_iter().find(|call| call.block == through)?;
    edge.args.get(param).copied()
}

/// An access of the loop.
#[derive(Clone, Copy)]
struct Access {
    inst: Inst,
    is_store: bool,
    pointer: Value,
    ty: Type,
    mem: MemInfo,
    /// By how many bytes the address grows in each iteration.
    growth: Option<i64>,
    /// Whether lanes access elements of rows that are next to each other in successive iterations.
    is_row: bool,
}

impl Access {
    fn bytes(&self) -> i64 {
        self.ty.bytes().into()
    }

    /// Whether the two touch different memory in all iterations, whatever the addresses are, or the same element in one
    /// iteration, `in_order` of which load and store are moved.
    fn is_apart(&self, func: &Function, other: &Access, in_order: bool) -> bool {
        let space = |access: &Access| func.dfg.ty(access.pointer).elem.space().unwrap_or(Space::Generic);
        let classes = self.mem.alias != other.mem.alias && self.mem.alias != 0 && other.mem.alias != 0;
        let same_element =
            self.pointer == other.pointer && self.ty.bytes() == other.ty.bytes() && self.is_row && in_order;
        classes || !space(self).may_alias(space(other)) || same_element
    }
}

/// What becomes of a loop.
struct RowPlan {
    counted: CountedLoop,
    /// Iterations at once.
    iterations: i64,
    /// Bytes of a vector that is accessed whole.
    piece_bytes: u32,
    /// Whether the kernel has one lane.
    single: bool,
    /// The accesses to rows.
    rows: Vec<Access>,
    /// Pairs of accesses that a test has to find apart.
    tests: Vec<(Access, Access)>,
    /// Indices that a test has to find not to wrap.
    extended: Vec<ExtendedIndex>,
    /// The reductions of the loop, if the kernel has one lane.
    reductions: Vec<Reduction>,
}

impl RowPlan {
    fn of(
        normal: &NormalForm,
        divergence: &Divergence,
        counted: CountedLoop,
        (lanes, piece_bytes): (u32, i64),
    ) -> Option<RowPlan> {
        let func = &normal.func;
        let is_uniform = |value: Value| divergence.shape(value).is_uniform(Scope::Pack);
        if !is_uniform(counted.counter) || !is_uniform(counted.limit) {
            return None;
        }
        let mut accesses = Vec::new();
        for &inst in func.layout.insts(counted.body) {
            let data = func.dfg.inst(inst);
            match data.op.info().effects {
                Effects::Pure | Effects::Terminator => continue,
                Effects::Read | Effects::Write if matches!(data.op, Opcode::Load | Opcode::Store) => {}
                Effects::Read | Effects::Write | Effects::ReadWrite | Effects::Convergent => return None,
            }
            let Imm::Mem(mem) = data.imm else { return None };
            if mem.volatile {
                return None;
            }
            let (is_store, pointer) = (data.op == Opcode::Store, data.args[0]);
            let ty = func.dfg.ty(if is_store { data.args[1] } else { func.dfg.result(inst) });
            let growth = counted.growth(func, pointer, &mut Vec::new());
            let mut access = Access { inst, is_store, pointer, ty, mem, growth, is_row: false };
            access.is_row = is_row(func, divergence, &access, lanes);
            accesses.push(access);
        }
        let mut tests = Vec::new();
        // An access that passes another one which may touch the same memory stays where it is.
        for at in 0..accesses.len() {
            if !accesses[at].is_row {
                continue;
            }
            let row = accesses[at];
            let mut own = Vec::new();
            let mut possible = true;
            for (place, other) in accesses.iter().enumerate() {
                // Loads of rows become earlier, stores later.
                let (earlier, later) = if place < at { (other, &row) } else { (&row, other) };
                let in_order = !earlier.is_store || later.is_store;
                let both_load = !other.is_store && !row.is_store;
                if place == at || both_load || row.is_apart(func, other, in_order) {
                    continue;
                }
                possible &= other.growth.is_some_and(|growth| growth >= 0) && other.ty.bytes() > 0;
                own.push((row, *other));
            }
            own.retain(|&(a, b): &(Access, Access)| {
                !tests.iter().any(|&(c, d): &(Access, Access)| (c.inst, d.inst) == (b.inst, a.inst))
            });
            if possible && tests.len() + own.len() <= MAX_TESTS {
                tests.append(&mut own);
            } else {
                accesses[at].is_row = false;
            }
        }
        // Nor does a store to an element to which a later one, which stays, stores as well: it would overtake that one.
        for at in (0..accesses.len()).rev() {
            let Access { is_store, pointer, .. } = accesses[at];
            let stays = |later: &Access| later.is_store && !later.is_row && later.pointer == pointer;
            if is_store && accesses[at + 1..].iter().any(stays) {
                accesses[at].is_row = false;
            }
        }
        let rows: Vec<Access> = accesses.into_iter().filter(|access| access.is_row).collect();
        let single = lanes == 1;
        let insts = func.layout.insts(counted.body).len() as i64;
        let mut iterations = ITERATIONS;
        if let Some(widest) = rows.iter().map(Access::bytes).max().filter(|&bytes| !single && bytes >= LEAST_BYTES) {
            // Transposed in squares.
            iterations = (piece_bytes / widest).min(lanes.into()).max(ITERATIONS);
            while iterations > ITERATIONS && iterations * insts > MAX_COPIES {
                iterations /= 2;
            }
        }
        if single {
            let narrowest = rows.iter().map(Access::bytes).min().unwrap_or(1);
            iterations = (i64::from(PIECE_BYTES) / narrowest).clamp(ITERATIONS, MAX_ITERATIONS);
            if iterations * insts > MAX_COPIES {
                return None;
            }
        }
        let mut extended = Vec::new();
        for access in rows.iter().chain(tests.iter().flat_map(|(a, b)| [a, b])) {
            let mut own = Vec::new();
            counted.growth(func, access.pointer, &mut own);
            own.retain(|index| !extended.contains(index));
            extended.append(&mut own);
        }
        let possible = !rows.is_empty() && extended.len() <= MAX_EXTENSIONS;
        let piece_bytes = piece_bytes as u32;
        let reductions = if single { Reduction::all(func, &counted) } else { Vec::new() };
        possible.then_some(RowPlan { counted, iterations, piece_bytes, single, rows, tests, extended, reductions })
    }

    /// Inserts the loop of several iterations before the loop, which remains for the rest. Returns its block.
    fn apply(&self, func: &mut Function) -> Option<(Block, Several)> {
        let CountedLoop { body, preheader, limit, leaves, .. } = self.counted;
        let entry = func.layout.terminator(preheader)?;
        let edge = func.dfg.targets(entry).into_iter().find(|call| call.block == body).cloned()?;
        let branch = func.layout.terminator(body)?;
        func.layout.remove_inst(entry);
        let mut at_start = Cloner::within();
        for (&param, &arg) in func.dfg.params(body).iter().zip(&edge.args) {
            at_start.set_value(param, arg);
        }
        // Before the loop: the rows' addresses, and whether there are enough iterations of accesses that are apart.
        let starts: Vec<Value> =
            self.rows.iter().map(|row| self.computed(func, preheader, row.pointer, &mut at_start)).collect();
        let counter = at_start.value_or_same(self.counted.counter);
        let mut possible = self.enough(func, preheader, counter, true);
        let mut obstacles = Vec::new();
        for (a, b) in &self.tests {
            obstacles.push(self.overlap(func, preheader, (a, b), counter, &mut at_start));
        }
        for index in &self.extended {
            obstacles.push(self.wraps(func, preheader, index, counter, &mut at_start));
        }
        for obstacle in obstacles {
            let mut at = Builder::at_end(func, preheader);
            let any = if self.single { obstacle } else { at.value(Opcode::PackAny, &[obstacle], Imm::None, Type::B1) };
            let none = at.int1(Opcode::Not, any);
            possible = at.int2(Opcode::And, possible, none);
        }
        let (several, rest) = (func.append_block(), func.append_block());
        let params: Vec<Value> = func.dfg.params(body).to_vec();
        let mut values = Cloner::within();
        values.copy_params(func, body, several);
        let done = func.dfg.append_param(several, Type::I64);
        let mut accumulators = Vec::new();
        let mut at = Builder::at_end(func, preheader);
        let zero = at.iconst(Type::I64, 0);
        let mut into: Vec<Value> = edge.args.iter().copied().chain([zero]).collect();
        for reduction in &self.reductions {
            let start = reduction.start(&mut at, self.iterations as u32);
            into.push(start);
            accumulators.push(at.func.dfg.append_param(several, at.ty(start)));
        }
        at.branch(possible, BlockCall::new(several, &into), edge);
        let mut exit = func.dfg.targets(branch)[leaves].clone();
        let stores = self.iterations(func, several, (&starts, done), &mut accumulators, &mut values, &mut exit.args);
        for (row, (start, stored)) in self.rows.iter().zip(starts.iter().zip(stores)) {
            if row.is_store {
                self.store(func, several, row, (*start, done), &stored);
            }
        }
        // Again, or the rest.
        let counter = values.value_or_same(self.counted.counter);
        let again = self.enough(func, several, counter, false);
        let args: Vec<Value> = params.iter().map(|&param| values.value_or_same(param)).collect();
        let mut at = Builder::at_end(func, several);
        let four = at.iconst(Type::I64, self.iterations);
        let more = at.int2(Opcode::Iadd, done, four);
        let around: Vec<Value> = args.iter().copied().chain([more]).chain(accumulators.iter().copied()).collect();
        at.branch(again, BlockCall::new(several, &around), BlockCall::new(rest, &[]));
        let mut at = Builder::at_end(func, rest);
        let mut args = args;
        for (reduction, &accumulated) in self.reductions.iter().zip(&accumulators) {
            let before = values.value_or_same(reduction.param);
            let after = reduction.finish(&mut at, before, accumulated);
            for arg in args.iter_mut().chain(&mut exit.args).filter(|arg| **arg == before) {
                *arg = after;
            }
        }
        let ended = at.icmp(IntCond::Eq, counter, limit);
        at.branch(ended, exit, BlockCall::new(body, &args));
        Some((several, Several { iterations: self.iterations as u32, rest: body, at_most: None }))
    }

    /// Whether several iterations remain. Before the first ones, also whether the counter reaches its limit without wrapping.
    fn enough(&self, func: &mut Function, block: Block, counter: Value, first: bool) -> Value {
        let limit = self.counted.limit;
        let mut at = Builder::at_end(func, block);
        let ty = at.ty(counter);
        let left = at.int2(Opcode::Isub, limit, counter);
        let four = at.iconst(ty, self.iterations);
        let mut enough = at.icmp(IntCond::Uge, left, four);
        if first {
            for cond in [IntCond::Slt, IntCond::Ult] {
                let grows = at.icmp(cond, counter, limit);
                enough = at.int2(Opcode::And, enough, grows);
            }
        }
        enough
    }

    /// Whether an index wraps in the iterations to come.
    fn wraps(
        &self,
        func: &mut Function,
        block: Block,
        index: &ExtendedIndex,
        counter: Value,
        values: &mut Cloner<'_>,
    ) -> Value {
        let start = self.computed(func, block, index.value, values);
        let mut at = Builder::at_end(func, block);
        let bits = at.ty(start).elem.bits();
        let start = at.int_resize(start, Elem::I64, index.is_signed);
        let left = at.int2(Opcode::Isub, self.counted.limit, counter);
        let left = at.int_resize(left, Elem::I64, false);
        let growth = at.iconst(Type::I64, index.growth);
        let length = at.int2(Opcode::Imul, left, growth);
        let end = at.int2(Opcode::Iadd, start, length);
        let last = at.iconst(Type::I64, 1i64 << if index.is_signed { bits - 1 } else { bits });
        at.icmp(IntCond::Sgt, end, last)
    }

    /// Whether two accesses overlap in the iterations to come.
    fn overlap(
        &self,
        func: &mut Function,
        block: Block,
        (a, b): (&Access, &Access),
        counter: Value,
        values: &mut Cloner<'_>,
    ) -> Value {
        let mut range = |func: &mut Function, access: &Access| {
            let start = self.computed(func, block, access.pointer, values);
            let mut at = Builder::at_end(func, block);
            let start = at.cast(Opcode::PtrToInt, start, Type::I64);
            let left = at.int2(Opcode::Isub, self.counted.limit, counter);
            let left = at.int_resize(left, Elem::I64, false);
            let growth = at.iconst(Type::I64, access.growth.unwrap_or(0));
            let length = at.int2(Opcode::Imul, left, growth);
            let last = at.iconst(Type::I64, access.bytes());
            let length = at.int2(Opcode::Iadd, length, last);
            (start, at.int2(Opcode::Iadd, start, length))
        };
        let ((start_a, end_a), (start_b, end_b)) = (range(func, a), range(func, b));
        let mut at = Builder::at_end(func, block);
        let first = at.icmp(IntCond::Ult, start_a, end_b);
        let second = at.icmp(IntCond::Ult, start_b, end_a);
        at.int2(Opcode::And, first, second)
    }

    /// A value of the body, computed at the end of another block from what `values` says.
    fn computed(&self, func: &mut Function, block: Block, value: Value, values: &mut Cloner<'_>) -> Value {
        let inside = |func: &Function, inst| func.layout.block_of(inst) == Some(self.counted.body);
        values.computed(func, value, &inside, &mut |func, copy| func.layout.append_inst(block, copy))
    }

    /// Copies the iterations into a block. `values` has the parameters' values before them, and after them, except that
    /// reductions keep theirs and change `accumulators`; `exit` becomes what the last one passes to the loop's exit. Returns
    /// the values that each row's store has in the iterations.
    fn iterations(
        &self,
        func: &mut Function,
        block: Block,
        (starts, done): (&[Value], Value),
        accumulators: &mut [Value],
        values: &mut Cloner<'_>,
        exit: &mut [Value],
    ) -> Vec<Vec<Value>> {
        let body = self.counted.body;
        let mut loaded: FxHashMap<Inst, Vec<Value>> = FxHashMap::default();
        for (row, &start) in self.rows.iter().zip(starts) {
            if !row.is_store {
                loaded.insert(row.inst, self.load(func, block, row, (start, done)));
            }
        }
        let mut stored: Vec<Vec<Value>> = vec![Vec::new(); self.rows.len()];
        let insts: Vec<Inst> = func.layout.insts(body).to_vec();
        let params: Vec<Value> = func.dfg.params(body).to_vec();
        let mut contributions: Vec<Vec<Value>> = vec![Vec::new(); self.reductions.len()];
        for iteration in 0..self.iterations as usize {
            for &inst in &insts {
                let data = func.dfg.inst(inst);
                if data.op.info().effects == Effects::Terminator
                    || self.reductions.iter().any(|reduction| reduction.contains(func, inst))
                {
                    continue;
                }
                if let Some(elements) = loaded.get(&inst) {
                    values.set_value(func.dfg.result(inst), elements[iteration]);
                } else if let Some(row) = self.rows.iter().position(|row| row.inst == inst) {
                    stored[row].push(values.value_or_same(data.args[1]));
                } else {
                    values.append(func, block, inst);
                }
            }
            for (reduction, contributions) in self.reductions.iter().zip(&mut contributions) {
                let mut at = Builder::at_end(func, block);
                contributions.push(reduction.contribution(&mut at, |value| values.value_or_same(value)));
                values.set_value(reduction.next, values.value_or_same(reduction.param));
            }
            if iteration + 1 == self.iterations as usize {
                for arg in &mut *exit {
                    *arg = values.value_or_same(*arg);
                }
            }
            let next: Vec<Option<Value>> = params.iter().map(|&param| self.counted.next_of(func, param)).collect();
            let next: Vec<Value> =
                next.iter().zip(&params).map(|(next, &param)| values.value_or_same(next.unwrap_or(param))).collect();
            for (&param, next) in params.iter().zip(next) {
                values.set_value(param, next);
            }
        }
        for ((reduction, contributions), accumulated) in self.reductions.iter().zip(contributions).zip(accumulators) {
            let mut at = Builder::at_end(func, block);
            let more = at.vec(&contributions);
            *accumulated = reduction.combine(&mut at, *accumulated, more);
        }
        stored
    }

    /// The pieces of a row in several iterations: the type of each, and the bytes from the first one.
    fn pieces(&self, row: &Access) -> (Type, Vec<i64>) {
        // Vectors that are computed with are longer in the code of a single lane.
        let whole = self.iterations as u32;
        let count = if self.single { whole } else { (self.piece_bytes / row.ty.bytes()).min(whole) };
        let ty = row.ty.with_lanes(count);
        (ty, (0..self.iterations).step_by(count as usize).map(|first| first * row.bytes()).collect())
    }

    /// Loads the elements of a row in several iterations.
    fn load(&self, func: &mut Function, block: Block, row: &Access, (start, done): (Value, Value)) -> Vec<Value> {
        let (ty, places) = self.pieces(row);
        let loc = func.locs[row.inst];
        let mut at = Builder::at_end(func, block);
        at.set_loc(loc);
        let mut elements = Vec::new();
        for disp in places {
            let address = at.addr(start, Some(done), row.bytes() as u64, disp);
            let piece = at.load(ty, address, row.mem);
            elements.extend((0..ty.lanes()).map(|lane| at.extract(piece, lane)));
        }
        elements
    }

    /// Stores the elements of a row in several iterations.
    fn store(&self, func: &mut Function, block: Block, row: &Access, (start, done): (Value, Value), values: &[Value]) {
        let (ty, places) = self.pieces(row);
        let loc = func.locs[row.inst];
        let mut at = Builder::at_end(func, block);
        at.set_loc(loc);
        for (disp, piece) in places.into_iter().zip(values.chunks(ty.lanes() as usize)) {
            let address = at.addr(start, Some(done), row.bytes() as u64, disp);
            let piece = at.vec(piece);
            at.store(address, piece, row.mem);
        }
    }
}

/// Whether an access is to an element of a row: in successive iterations to neighbouring elements, and in neighbouring lanes to
/// elements that are far from each other.
fn is_row(func: &Function, divergence: &Divergence, access: &Access, lanes: u32) -> bool {
    let ty = access.ty;
    let private = func.dfg.ty(access.pointer).elem.space() == Some(Space::Private);
    if private || ty.is_vector() || ty.is_ptr() || ty.is_bool() || access.growth != Some(access.bytes()) {
        return false;
    }
    if lanes == 1 {
        return true;
    }
    match divergence.shape(access.pointer) {
        Shape::Uniform(_) => false,
        Shape::Affine { stride, .. } => record_step_at_once(stride, ty, lanes).is_none(),
        Shape::Varying => match divergence.conditional(access.pointer) {
            Some(on) => record_step_at_once(on.stride, ty, lanes).is_none(),
            None => !divergence.has_known_distances(access.pointer),
        },
    }
}
