//! Runs of accesses that are tested together.
//!
//! A *run* consists of neighbouring accesses of a block whose addresses do not depend on one another, and of the instructions in
//! between that depend on them. All others are computed before the test.

use clift_include::abi::MAX_LOCAL_SIZE;
use clift_include::check::{CheckKind, SiteKind};
use clift_kir::analysis::Cfg;
use clift_kir::clone::Cloner;
use clift_kir::dfg::ConstData;
use clift_kir::{Block, BlockCall, Builder, Effects, Function, Imm, Inst, IntCond, Loc, Opcode, Type, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::SHADOW_CLASS;
use super::accesses::{Bytes, pointers};
use super::groups::{check, site_operands};
use super::provenance::{Object, Place, Provenance, Sum};
use super::sites::{Check, Sites, Size};
use crate::passes::Replacements;
use crate::spmd::analysis::ranges::Ranges;
use crate::spmd::analysis::shape::Assumptions;

/// The most accesses of a run.
const MAX_ACCESSES: usize = 16;

/// The most instructions of a run, which exist twice afterwards.
const MAX_BODY: usize = 64;

/// A pointer through which an instruction accesses memory, and its check.
#[derive(Clone, Debug)]
struct Access {
    kind: SiteKind,
    pointer: Value,
    bytes: Bytes,
    place: Place,
    check: Check,
    /// For an access to the shadow of an argument: where the argument block contains the distance.
    shadow: Option<u32>,
    is_shadow: bool,
}

impl Access {
    fn object(&self) -> Option<Object> {
        match self.check {
            Check::Object(object, ..) => Some(object),
            Check::None | Check::Lookup => None,
        }
    }

    fn check_kind(&self) -> CheckKind {
        if self.is_shadow { CheckKind::Shadow } else { CheckKind::Memory }
    }
}

/// The accesses of an instruction.
type Accesses = SmallVec<[Access; 2]>;

/// Rewrites all accesses of a function. Returns the blocks of accesses that may leave their objects.
pub(super) fn run(func: &mut Function, sites: &mut Sites<'_>) -> EntitySet<Block> {
    let provenance = Provenance::new(func);
    let cfg = Cfg::new(func);
    let mut ranges =
        Ranges::new(func, &cfg, Assumptions { local_below: Some(MAX_LOCAL_SIZE), ..Assumptions::lanes(u32::MAX) });
    let mut of: FxHashMap<Inst, Accesses> = FxHashMap::default();
    let mut uses: SecondaryMap<Value, u32> = SecondaryMap::new();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            func.dfg.for_each_use(inst, |value| uses[value] += 1);
            let accesses = accesses(func, inst, &provenance, &mut ranges, sites);
            for access in &accesses {
                // The tests are outside of the runs that compute these values.
                access.place.values().for_each(|value| uses[value] += 1);
                uses[access.pointer] += 1;
                if let Bytes::Value(bytes) = access.bytes {
                    uses[bytes] += 1;
                }
            }
            if !accesses.is_empty() {
                of.insert(inst, accesses);
            }
        }
    }
    let mut rewriter = Rewriter { func, sites, of, uses, replaced: Replacements::default(), slow: EntitySet::new() };
    for block in rewriter.func.layout.blocks().to_vec() {
        rewriter.block(block);
    }
    let Rewriter { func, replaced, slow, .. } = rewriter;
    replaced.apply(func);
    slow
}

/// The accesses of an instruction that are to be checked.
fn accesses(
    func: &Function,
    inst: Inst,
    provenance: &Provenance,
    ranges: &mut Ranges<'_>,
    sites: &mut Sites<'_>,
) -> Accesses {
    let data = func.dfg.inst(inst);
    let mut accesses = Accesses::new();
    let is_shadow = matches!(data.imm, Imm::Mem(mem) if mem.alias == SHADOW_CLASS);
    for (kind, pointer, bytes) in pointers(func, inst) {
        let place = Place::new(func, pointer);
        let constant = match bytes {
            Bytes::Constant(0) => continue,
            Bytes::Constant(bytes) => Some(bytes),
            Bytes::Value(_) => None,
        };
        let object = provenance.object(pointer);
        let shadow =
            if is_shadow && matches!(object, Some(Object::Argument(..))) { sites.checks.local_shadow } else { None };
        match sites.check(func, object, place.reach(ranges), constant) {
            Check::None => {}
            check @ (Check::Object(..) | Check::Lookup) => {
                accesses.push(Access { kind, pointer, bytes, place, check, shadow, is_shadow });
            }
        }
    }
    accesses
}

/// Instructions that are tested together.
#[derive(Default)]
struct Run {
    body: Vec<Inst>,
    /// The results of the body.
    defined: FxHashSet<Value>,
    /// Number of checked accesses.
    accesses: usize,
}

struct Rewriter<'f, 'a> {
    func: &'f mut Function,
    sites: &'f mut Sites<'a>,
    of: FxHashMap<Inst, Accesses>,
    /// Number of uses of each value, those by tests included.
    uses: SecondaryMap<Value, u32>,
    replaced: Replacements,
    /// The blocks of accesses that may leave their objects.
    slow: EntitySet<Block>,
}

impl Rewriter<'_, '_> {
    fn block(&mut self, block: Block) {
        let cold = self.func.layout.is_cold(block);
        let mut here = block;
        let mut run = Run::default();
        for inst in self.func.layout.take_insts(block) {
            let data = self.func.dfg.inst(inst);
            let mut depends = false;
            self.func.dfg.for_each_use(inst, |value| depends |= run.defined.contains(&value));
            let effects = data.op.info().effects;
            let Some(accesses) = self.of.get(&inst) else {
                let is_access = self.is_plain_access(inst);
                if effects == Effects::Pure && !depends || is_access && run.body.is_empty() {
                    self.func.layout.append_inst(here, inst);
                } else if (effects == Effects::Pure || is_access) && run.body.len() < MAX_BODY {
                    self.put(&mut run, inst);
                } else {
                    here = self.finish(here, &mut run, cold);
                    self.func.layout.append_inst(here, inst);
                }
                continue;
            };
            let by_lookup = accesses.iter().any(|access| matches!(access.check, Check::Lookup));
            let operands = accesses.iter().any(|access| {
                let size = if let Bytes::Value(bytes) = access.bytes { run.defined.contains(&bytes) } else { false };
                size || run.defined.contains(&access.pointer)
            });
            if by_lookup || operands || run.accesses >= MAX_ACCESSES || run.body.len() >= MAX_BODY {
                here = self.finish(here, &mut run, cold);
            }
            if by_lookup {
                here = self.lookup(here, inst, cold);
            } else {
                run.accesses += 1;
                self.put(&mut run, inst);
            }
        }
    }

    fn put(&self, run: &mut Run, inst: Inst) {
        run.defined.extend(self.func.dfg.results(inst));
        run.body.push(inst);
    }

    /// Whether an instruction accesses memory and needs no check.
    fn is_plain_access(&self, inst: Inst) -> bool {
        matches!(
            self.func.dfg.inst(inst).op,
            Opcode::Load
                | Opcode::Store
                | Opcode::Memcpy
                | Opcode::Memset
                | Opcode::AtomicLoad
                | Opcode::AtomicStore
                | Opcode::AtomicRmw
                | Opcode::AtomicCmpxchg
        )
    }

    /// A block right behind another one, as cold as the code that is rewritten, or colder.
    fn new_block(&mut self, cold: bool) -> Block {
        let block = self.func.append_block();
        if cold {
            self.func.layout.set_cold(block);
        }
        block
    }

    /// Emits a run behind `here`. Returns the block that follows.
    fn finish(&mut self, here: Block, run: &mut Run, cold: bool) -> Block {
        let Run { body, .. } = std::mem::take(run);
        if body.is_empty() {
            return here;
        }
        let checked = body.iter().filter_map(|&inst| Some((inst, self.of.get(&inst)?.clone())));
        let checked: Vec<(Inst, Accesses)> = checked.collect();
        let mut bad: Option<Value> = None;
        for test in tests(&checked) {
            let Check::Object(object, size, start) = test.first.check else { continue };
            let mut b = Builder::at_end(self.func, here);
            b.set_loc(b.func.locs[test.inst]);
            let offset = offset(&mut b, test.first, object, start);
            let outside = outside(&mut b, offset, test.bytes, size);
            bad = Some(match bad {
                Some(bad) => b.int2(Opcode::Or, bad, outside),
                None => outside,
            });
        }
        let outputs: Vec<Value> = self.outputs(&body);
        let [fast, slow] = [cold, true].map(|cold| self.new_block(cold));
        let after = self.new_block(cold);
        let mut b = Builder::at_end(self.func, here);
        let Some(bad) = bad else { unreachable!("broken invariant: a run without an access") };
        let some = b.value(Opcode::PackAny, &[bad], Imm::None, Type::B1);
        b.branch(some, BlockCall::new(slow, &[]), BlockCall::new(fast, &[]));

        let mut cloner = Cloner::within();
        for &inst in &body {
            cloner.append(self.func, fast, inst);
        }
        self.leave(fast, after, &outputs, &cloner);

        let mut cloner = Cloner::within();
        let mut at = slow;
        let first_slow = self.func.layout.blocks().len();
        self.slow.insert(slow);
        let mut permitted = self.asked(slow, &checked).into_iter();
        for &inst in &body {
            match self.of.contains_key(&inst).then(|| permitted.next()).flatten() {
                None => {
                    cloner.append(self.func, at, inst);
                }
                Some(permitted) => at = self.if_permitted(at, inst, permitted, &mut cloner, true),
            }
        }
        for number in first_slow..self.func.layout.blocks().len() {
            self.slow.insert(self.func.layout.blocks()[number]);
        }
        self.leave(at, after, &outputs, &cloner);
        for &output in &outputs {
            let ty = self.func.dfg.ty(output);
            let param = self.func.dfg.append_param(after, ty);
            self.replaced.set(output, param);
        }
        after
    }

    /// Emits an access whose object is unknown. Returns the block that follows.
    fn lookup(&mut self, here: Block, inst: Inst, cold: bool) -> Block {
        let accesses = self.of[&inst].clone();
        let mut cloner = Cloner::within();
        let permitted = self.asked(here, &[(inst, accesses)])[0];
        let after = self.if_permitted(here, inst, permitted, &mut cloner, cold);
        for &result in self.func.dfg.results(inst) {
            self.replaced.set(result, cloner.value_or_same(result));
        }
        after
    }

    /// Emits the questions to the checker about the accesses of instructions, next to one another: all in one loop over the
    /// lanes. Returns for each instruction whether it may be executed.
    fn asked(&mut self, here: Block, insts: &[(Inst, Accesses)]) -> Vec<Value> {
        let mut offsets: FxHashMap<Value, Value> = FxHashMap::default();
        let mut questions: Vec<(Loc, [Value; 4])> = Vec::new();
        let needs_question = |access: &Access| !(access.is_shadow && access.object().is_some());
        for (inst, accesses) in insts {
            let loc = self.func.locs[*inst];
            for access in accesses {
                if let Check::Object(object, _, start) = access.check {
                    let mut b = Builder::at_end(self.func, here);
                    b.set_loc(loc);
                    offsets.entry(access.pointer).or_insert_with(|| offset(&mut b, access, object, start));
                }
                if !needs_question(access) {
                    continue;
                }
                let site = self.sites.add(self.func, access.check_kind(), access.kind, access.object(), loc);
                let mut b = Builder::at_end(self.func, here);
                b.set_loc(loc);
                let place = offsets.get(&access.pointer).copied();
                let place = place.unwrap_or_else(|| b.cast(Opcode::PtrToInt, access.pointer, Type::I64));
                let bytes = match access.bytes {
                    Bytes::Constant(bytes) => b.iconst(Type::I64, bytes as i64),
                    Bytes::Value(bytes) => bytes,
                };
                questions.push((loc, site_operands(&mut b, site, [place, bytes])));
            }
        }
        let mut answers: Vec<Value> = Vec::with_capacity(questions.len());
        for (loc, operands) in questions {
            let mut b = Builder::at_end(self.func, here);
            b.set_loc(loc);
            answers.push(check(&mut b, operands));
        }
        let mut answers = answers.into_iter();
        let mut permitted = Vec::with_capacity(insts.len());
        for (inst, accesses) in insts {
            let mut b = Builder::at_end(self.func, here);
            b.set_loc(b.func.locs[*inst]);
            let mut all: Option<Value> = None;
            for access in accesses {
                let answer = match (access.check, offsets.get(&access.pointer)) {
                    // A bad access to a shadow is not reported.
                    (Check::Object(_, size, _), Some(&offset)) if access.is_shadow => {
                        let outside = outside(&mut b, offset, access.bytes, size);
                        let yes = b.iconst(Type::B1, 1);
                        b.int2(Opcode::Xor, outside, yes)
                    }
                    (Check::None | Check::Object(..) | Check::Lookup, _) => {
                        let Some(answer) = answers.next() else {
                            unreachable!("broken invariant: an access without a question")
                        };
                        let zero = b.iconst(Type::I32, 0);
                        b.icmp(IntCond::Ne, answer, zero)
                    }
                };
                all = Some(match all {
                    Some(all) => b.int2(Opcode::And, all, answer),
                    None => answer,
                });
            }
            let Some(all) = all else { unreachable!("broken invariant: an access without a check") };
            permitted.push(all);
        }
        permitted
    }

    /// Emits an instruction that is executed if it is permitted. Returns the block that follows.
    fn if_permitted(
        &mut self,
        here: Block,
        inst: Inst,
        permitted: Value,
        cloner: &mut Cloner<'_>,
        cold: bool,
    ) -> Block {
        let loc = self.func.locs[inst];
        let [access, after] = [(); 2].map(|()| self.new_block(cold));
        let result = self.func.dfg.single_result(inst);
        let nothing: SmallVec<[Value; 1]> = result
            .map(|value| {
                let ty = self.func.dfg.ty(value);
                Builder::at_end(self.func, here).constant(ConstData::splat(ty, 0))
            })
            .into_iter()
            .collect();
        let mut b = Builder::at_end(self.func, here);
        b.set_loc(loc);
        b.branch(permitted, BlockCall::new(access, &[]), BlockCall::new(after, &nothing));
        cloner.append(self.func, access, inst);
        let made: SmallVec<[Value; 1]> = result.iter().map(|&value| cloner.value_or_same(value)).collect();
        Builder::at_end(self.func, access).jump(after, &made);
        if let Some(result) = result {
            let ty = self.func.dfg.ty(result);
            let param = self.func.dfg.append_param(after, ty);
            cloner.set_value(result, param);
        }
        after
    }

    fn leave(&mut self, block: Block, after: Block, outputs: &[Value], cloner: &Cloner<'_>) {
        let values: Vec<Value> = outputs.iter().map(|&value| cloner.value_or_same(value)).collect();
        Builder::at_end(self.func, block).jump(after, &values);
    }

    /// The results of a run that are used outside of it.
    fn outputs(&self, body: &[Inst]) -> Vec<Value> {
        let mut inside: FxHashMap<Value, u32> = FxHashMap::default();
        for &inst in body {
            self.func.dfg.for_each_use(inst, |value| *inside.entry(value).or_default() += 1);
        }
        let results = body.iter().flat_map(|&inst| self.func.dfg.results(inst).iter().copied());
        results.filter(|value| self.uses[*value] > inside.get(value).copied().unwrap_or(0)).collect()
    }
}

/// A test of accesses at constant distances from one another, as of one access to all of what is between them.
struct Test<'a> {
    inst: Inst,
    /// The one with the lowest displacement.
    first: &'a Access,
    bytes: Bytes,
}

/// The largest distance between accesses that share a test.
const MOST_DISTANCE: i128 = 1 << 31;

/// The tests of accesses.
fn tests(checked: &[(Inst, Accesses)]) -> Vec<Test<'_>> {
    let mut tests: Vec<Test<'_>> = Vec::new();
    let mut alike: FxHashMap<(Option<Object>, bool, Sum), usize> = FxHashMap::default();
    for (inst, access) in checked.iter().flat_map(|(inst, accesses)| accesses.iter().map(|access| (*inst, access))) {
        let test = Test { inst, first: access, bytes: access.bytes };
        let Bytes::Constant(bytes) = access.bytes else {
            tests.push(test);
            continue;
        };
        let key = (access.object(), access.is_shadow, access.place.sum());
        let Some(known) = alike.get(&key).map(|&number| &mut tests[number]) else {
            alike.insert(key, tests.len());
            tests.push(test);
            continue;
        };
        let Bytes::Constant(known_bytes) = known.bytes else {
            unreachable!("broken invariant: accesses that share a test have constant sizes")
        };
        let ends = |access: &Access, bytes: u64| {
            let start = i128::from(access.place.disp());
            (start, start + i128::from(bytes))
        };
        let ((start, end), (known_start, known_end)) = (ends(access, bytes), ends(known.first, known_bytes));
        let distance = end.max(known_end) - start.min(known_start);
        if distance > MOST_DISTANCE {
            tests.push(test);
            continue;
        }
        known.bytes = Bytes::Constant(distance as u64);
        if start < known_start {
            (known.inst, known.first) = (inst, access);
        }
    }
    tests
}

/// The offset of an access from the start of its object.
fn offset(b: &mut Builder<'_>, access: &Access, object: Object, start: u64) -> Value {
    let mut offset = access.place.offset(b, object);
    if let Some(at) = access.shadow {
        let distance = b.arg(at, Type::I64);
        offset = b.int2(Opcode::Isub, offset, distance);
    }
    if start == 0 {
        return offset;
    }
    let start = b.iconst(Type::I64, start as i64);
    b.int2(Opcode::Iadd, offset, start)
}

/// Whether an access at `offset` leaves an object.
fn outside(b: &mut Builder<'_>, offset: Value, bytes: Bytes, size: Size) -> Value {
    let (offset, total) = match size {
        Size::Constant(total) => (offset, b.iconst(Type::I64, total as i64)),
        Size::Bounds(at) => {
            let before = b.arg(at, Type::I64);
            let total = b.arg(at + 8, Type::I64);
            (b.int2(Opcode::Iadd, offset, before), total)
        }
    };
    match bytes {
        Bytes::Constant(bytes) => {
            let more = b.iconst(Type::I64, bytes as i64 - 1);
            let limit = b.int2(Opcode::UsubSat, total, more);
            b.icmp(IntCond::Uge, offset, limit)
        }
        Bytes::Value(bytes) => {
            let zero = b.iconst(Type::I64, 0);
            let any = b.icmp(IntCond::Ne, bytes, zero);
            let rest = b.int2(Opcode::UsubSat, total, offset);
            let over = b.icmp(IntCond::Ugt, bytes, rest);
            b.int2(Opcode::And, any, over)
        }
    }
}
