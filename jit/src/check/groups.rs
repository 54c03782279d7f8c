//! Races and barriers. Races are followed in shadow memory (`races`) if that is possible; otherwise the launch's checker is
//! called at accesses to shared memory and at barriers, and follows the work-items of a group (`runtime/src/check/group.rs`).
//! Calls at barriers, and at the end of each work-item, find divergent barriers, unless all work-items are known to pass the
//! same ones.
//!
//! The checker is called for accesses to an argument that the kernel does not write only if the argument shares memory with one
//! that it writes, which the launch knows.

use clift_include::check::{
    CheckKind, DIGEST_SHIFT, MOST_RACE_BYTES, NO_SITE, OFFSET_BITS, OFFSET_SHIFT, ORDERS_GLOBAL, ORDERS_LOCAL, PACKED,
    SiteKind,
};
use clift_kir::analysis::Cfg;
use clift_kir::{
    AtomicOp, Block, BlockCall, Builder, Effects, Elem, Function, Imm, Inst, IntCond, Loc, Meeting, MemOrder, MemScope,
    Opcode, Space, SpaceSet, Type, Value,
};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::SHADOW_CLASS;
use super::accesses::{Bytes, pointers};
use super::provenance::{Object, Place, Provenance};
use super::races::{BatchKey, Changes, Races};
use super::sites::Sites;
use crate::options::Checks;
use crate::spmd::analysis::divergence::Divergence;

/// Instruments a kernel. The accesses in `unfollowed` blocks are not followed.
pub(super) fn run(func: &mut Function, sites: &mut Sites<'_>, checks: Checks, unfollowed: &EntitySet<Block>) {
    let provenance = Provenance::new(func);
    let mut accesses: FxHashMap<Inst, Accesses> = FxHashMap::default();
    let (mut orders, mut ordered_otherwise, mut has_sub_group_barriers) = (0, false, false);
    let mut barriers: Vec<Block> = Vec::new();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            if checks.race && !unfollowed.contains(block) {
                let list = accesses_of(func, inst, &provenance, sites);
                if !list.is_empty() {
                    accesses.insert(inst, list);
                }
            }
            match participants(func, inst) {
                Some(Participants::Group(spaces)) => orders |= spaces,
                Some(Participants::SubGroup) => (has_sub_group_barriers, ordered_otherwise) = (true, true),
                Some(Participants::SomeOfSubGroup) => ordered_otherwise = true,
                None => {
                    ordered_otherwise |= self::orders(func, inst);
                    continue;
                }
            }
            barriers.push(block);
        }
    }
    let races = if checks.race { Races::new(func, sites, &accesses) } else { None };
    let shared_by_unknown = accesses.values().flatten().any(|access| {
        access.kind != SiteKind::Load && !matches!(access.object, Some(Object::Argument(..) | Object::Variable(..)))
    });
    let may_diverge = checks.barrier && !barriers.is_empty() && {
        let cfg = Cfg::new(func);
        let divergence = Divergence::of_groups(func, &cfg, &EntitySet::new());
        barriers.iter().any(|&block| divergence.in_divergent_region(block))
    };
    let follows = if !checks.race {
        Follows::Nothing
    } else if races.is_some() {
        Follows::InShadows
    } else {
        Follows::ByCalls
    };
    let may_call = accesses.values().flatten().any(is_global);
    let blocks = func.layout.blocks().to_vec();
    let mut pass = Pass {
        func,
        sites,
        accesses,
        shared_by_unknown,
        has_sub_group_barriers,
        follows,
        may_call,
        finds_divergence: may_diverge,
        races: races.unwrap_or_default(),
        calls: Vec::new(),
        batch: Batch::default(),
    };
    if follows == Follows::InShadows {
        pass.races.begin(pass.func, Changes { orders, may_lose_stamps: ordered_otherwise });
    }
    for block in blocks {
        pass.block(block);
    }
}

/// How accesses are followed for races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    /// Not at all.
    Nothing,
    /// In shadow memory; those to global memory by calls in launches that say so.
    InShadows,
    /// By a call for each.
    ByCalls,
}

/// An access to memory that other work-items can access, too.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) kind: SiteKind,
    pub(super) pointer: Value,
    pub(super) object: Option<Object>,
    pub(super) place: Place,
    pub(super) bytes: Bytes,
}

/// The accesses of an instruction.
pub(super) type Accesses = SmallVec<[Access; 2]>;

/// The accesses of an instruction to shared memory.
fn accesses_of(func: &Function, inst: Inst, provenance: &Provenance, sites: &Sites<'_>) -> Accesses {
    let data = func.dfg.inst(inst);
    if matches!(data.imm, Imm::Mem(mem) if mem.alias == SHADOW_CLASS || mem.invariant) {
        return Accesses::new();
    }
    let is_shared = |pointer: Value| match provenance.object(pointer) {
        Some(Object::Slot(_) | Object::ByValue(_)) => false,
        Some(Object::Argument(offset, _)) if sites.is_of_driver(offset) => false,
        Some(Object::Variable(_, space) | Object::Argument(_, space)) => space != Space::Constant,
        None => matches!(func.dfg.ty(pointer).elem.space(), Some(Space::Global | Space::Local | Space::Generic)),
    };
    pointers(func, inst)
        .into_iter()
        .filter(|(_, pointer, _)| is_shared(*pointer))
        .map(|(kind, pointer, bytes)| {
            let object = provenance.object(pointer);
            Access { kind, pointer, object, place: Place::new(func, pointer), bytes }
        })
        .collect()
}

/// Who meets at an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Participants {
    /// All of the work-group, and the memory that is ordered.
    Group(u64),
    /// All of a sub-group, at a barrier of their own or at a named one.
    SubGroup,
    /// Those of a sub-group that get there.
    SomeOfSubGroup,
}

/// Who meets at an instruction, if it is a place to meet.
pub(super) fn participants(func: &Function, inst: Inst) -> Option<Participants> {
    Some(match func.dfg.inst(inst).meeting()? {
        Meeting::Barrier(info) if info.execution == MemScope::WorkGroup => {
            let local = if info.spaces.contains(SpaceSet::LOCAL) { ORDERS_LOCAL } else { 0 };
            let global = if info.spaces.contains(SpaceSet::GLOBAL) { ORDERS_GLOBAL } else { 0 };
            Participants::Group(local | global)
        }
        Meeting::Barrier(_) | Meeting::NamedBarrier(_) => Participants::SubGroup,
        Meeting::Exchange(MemScope::WorkGroup) => Participants::Group(ORDERS_LOCAL | ORDERS_GLOBAL),
        Meeting::Exchange(_) => Participants::SomeOfSubGroup,
    })
}

/// Whether an instruction orders accesses of its work-item in ways that the checker does not follow.
fn orders(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    data.op == Opcode::Fence || matches!(&data.imm, Imm::Atomic(info) if info.order != MemOrder::Relaxed)
}

struct Pass<'f, 'a> {
    func: &'f mut Function,
    sites: &'f mut Sites<'a>,
    accesses: FxHashMap<Inst, Accesses>,
    /// Whether the kernel writes through a pointer whose object is unknown.
    shared_by_unknown: bool,
    /// Whether the kernel has barriers of sub-groups, or named ones.
    has_sub_group_barriers: bool,
    follows: Follows,
    /// Whether accesses that are followed in shadow memory may be followed by calls in some launches.
    may_call: bool,
    /// Whether barriers may diverge, and that is to be found.
    finds_divergence: bool,
    races: Races,
    /// The accesses of the block so far for which launches may want calls.
    calls: Vec<(Inst, Access)>,
    batch: Batch,
}

/// The most loads of a batch.
const MAX_BATCH: usize = 16;

/// Neighbouring loads of a block that are followed together in shadow memory, behind the last one. (Stores are not: one may find
/// another one's stamps before the sites of these are in shadow memory.)
#[derive(Default)]
struct Batch {
    key: Option<BatchKey>,
    accesses: Vec<(Inst, usize, Access)>,
}

impl Pass<'_, '_> {
    fn block(&mut self, block: Block) {
        let mut here = block;
        for inst in self.func.layout.take_insts(block) {
            let loc = self.func.locs[inst];
            let accesses = self.accesses.get(&inst).cloned().unwrap_or_default();
            match self.follows {
                Follows::Nothing => {}
                Follows::InShadows if accesses.is_empty() => {
                    let op = self.func.dfg.inst(inst).op;
                    if !op.is_pure() && !matches!(op, Opcode::Load | Opcode::Store) {
                        here = self.end_batch(here);
                    }
                }
                Follows::InShadows => {
                    self.calls.extend(
                        accesses.iter().filter(|access| is_global(access)).map(|access| (inst, access.clone())),
                    );
                    if self.func.dfg.inst(inst).op == Opcode::Load {
                        here = self.in_batch(here, inst, accesses);
                        continue;
                    }
                    here = self.end_batch(here);
                    here = self.one_by_one(here, inst, accesses);
                }
                Follows::ByCalls => {
                    for access in &accesses {
                        here = self.access(here, inst, access);
                    }
                }
            }
            let participants = participants(self.func, inst);
            let orders = participants.is_none() && orders(self.func, inst);
            if participants.is_some() || orders || self.func.dfg.inst(inst).op.info().effects == Effects::Terminator {
                here = self.made_calls(here);
            }
            if let Some(participants) = participants {
                here = self.meet(here, loc, participants);
            } else if orders {
                here = self.order(here, loc);
            } else if self.func.dfg.inst(inst).op == Opcode::Ret && self.finds_divergence {
                self.end(here, loc);
            }
            self.func.layout.append_inst(here, inst);
        }
    }

    /// Emits what follows the accesses of an instruction in shadow memory, in front of it. Returns the block that follows.
    fn one_by_one(&mut self, here: Block, inst: Inst, accesses: Accesses) -> Block {
        let accesses = accesses.into_iter().enumerate();
        accesses.fold(here, |here, (number, access)| self.races.follow(self.func, here, &[(inst, number, access)]))
    }

    /// Emits a load that is followed in shadow memory, together with its neighbours. Returns the block that follows.
    fn in_batch(&mut self, here: Block, inst: Inst, accesses: Accesses) -> Block {
        let mut here = here;
        // Compared with nothing if it has no key.
        if let Some(key) = self.races.batch(inst, 0) {
            if self.batch.key != Some(key) || self.batch.accesses.len() >= MAX_BATCH {
                here = self.end_batch(here);
            }
            self.batch.key = Some(key);
            self.batch.accesses.extend(accesses.into_iter().enumerate().map(|(number, access)| (inst, number, access)));
        }
        self.func.layout.append_inst(here, inst);
        here
    }

    /// Emits what follows the loads of the batch. Returns the block that follows.
    fn end_batch(&mut self, here: Block) -> Block {
        let Batch { accesses, .. } = std::mem::take(&mut self.batch);
        self.races.follow(self.func, here, &accesses)
    }

    /// Emits the calls of the checker that only some launches make. Returns the block that follows.
    fn made_calls(&mut self, here: Block) -> Block {
        let calls = std::mem::take(&mut self.calls);
        if calls.is_empty() {
            return here;
        }
        self.if_by_calls(here, |pass, here| {
            let mut operands = Vec::with_capacity(calls.len());
            for (inst, access) in &calls {
                let loc = pass.func.locs[*inst];
                let site = pass.sites.add(pass.func, CheckKind::Race, access.kind, access.object, loc);
                operands.push((loc, pass.operands(here, *inst, access, site)));
            }
            // Next to one another: all in one loop over the lanes.
            for (loc, operands) in operands {
                let mut b = Builder::at_end(pass.func, here);
                b.set_loc(loc);
                check(&mut b, operands);
            }
        })
    }

    /// Emits code for launches whose accesses are followed by calls. Returns the block that follows.
    fn if_by_calls(&mut self, here: Block, emit: impl FnOnce(&mut Self, Block)) -> Block {
        match self.follows {
            Follows::Nothing => return here,
            Follows::ByCalls => {
                emit(self, here);
                return here;
            }
            Follows::InShadows if !self.may_call => return here,
            Follows::InShadows => {}
        }
        let [follow, after] = [true, self.func.layout.is_cold(here)].map(|cold| {
            let block = self.func.append_block();
            if cold {
                self.func.layout.set_cold(block);
            }
            block
        });
        let in_shadows = self.races.in_shadows();
        Builder::at_end(self.func, here).branch(in_shadows, BlockCall::new(after, &[]), BlockCall::new(follow, &[]));
        emit(self, follow);
        Builder::at_end(self.func, follow).jump(after, &[]);
        after
    }

    /// Emits a call of the checker with a place and a size.
    fn call(
        &mut self,
        here: Block,
        check: CheckKind,
        kind: SiteKind,
        loc: Loc,
        operands: impl FnOnce(&mut Builder<'_>) -> [Value; 2],
    ) {
        let site = self.sites.add(self.func, check, kind, None, loc);
        let mut b = Builder::at_end(self.func, here);
        b.set_loc(loc);
        let operands = operands(&mut b);
        call_site(&mut b, site, operands);
    }

    /// A work-item orders its accesses in ways that are not followed.
    fn order(&mut self, here: Block, loc: Loc) -> Block {
        self.races.lose_stamp(self.func, here);
        self.if_by_calls(here, |pass, here| {
            pass.call(here, CheckKind::Order, SiteKind::Barrier, loc, |b| [b.iconst(Type::I64, 0); 2]);
        })
    }

    fn meet(&mut self, here: Block, loc: Loc, participants: Participants) -> Block {
        match participants {
            Participants::Group(spaces) => {
                self.races.pass(self.func, here, spaces);
                let call = |pass: &mut Self, here: Block| {
                    pass.call(here, CheckKind::Barrier, SiteKind::Barrier, loc, |b| {
                        [spaces as i64, 0].map(|operand| b.iconst(Type::I64, operand))
                    });
                };
                if self.finds_divergence {
                    call(self, here);
                    here
                } else {
                    self.if_by_calls(here, call)
                }
            }
            Participants::SubGroup | Participants::SomeOfSubGroup => {
                let here = self.order(here, loc);
                if matches!(participants, Participants::SubGroup) && self.finds_divergence {
                    self.call(here, CheckKind::Barrier, SiteKind::Barrier, loc, |b| {
                        [b.iconst(Type::I64, 0), sub_group(b)]
                    });
                }
                here
            }
        }
    }

    /// Emits the call at the end of a work-item.
    fn end(&mut self, here: Block, loc: Loc) {
        let with_sub_group = self.has_sub_group_barriers;
        self.call(here, CheckKind::End, SiteKind::Barrier, loc, |b| {
            let zero = b.iconst(Type::I64, 0);
            [zero, if with_sub_group { sub_group(b) } else { zero }]
        });
    }

    /// Emits the call for an access. Returns the block that follows.
    fn access(&mut self, here: Block, inst: Inst, access: &Access) -> Block {
        let loc = self.func.locs[inst];
        let site = self.sites.add(self.func, CheckKind::Race, access.kind, access.object, loc);
        let unwritten = match access.object {
            Some(Object::Argument(offset, Space::Global)) => !self.sites.is_written(offset),
            _ => false,
        };
        if !unwritten || self.shared_by_unknown {
            self.follow(here, inst, access, site);
            return here;
        }
        let shared = self.sites.shared();
        let [follow, after] = [true, self.func.layout.is_cold(here)].map(|cold| {
            let block = self.func.append_block();
            if cold {
                self.func.layout.set_cold(block);
            }
            block
        });
        let mut b = Builder::at_end(self.func, here);
        b.set_loc(loc);
        let shared = b.arg(shared, Type::I64);
        let zero = b.iconst(Type::I64, 0);
        let shared = b.icmp(IntCond::Ne, shared, zero);
        b.branch(shared, BlockCall::new(follow, &[]), BlockCall::new(after, &[]));
        self.follow(follow, inst, access, site);
        Builder::at_end(self.func, follow).jump(after, &[]);
        after
    }

    /// Emits the call for an access that is always followed by calls.
    fn follow(&mut self, here: Block, inst: Inst, access: &Access, site: usize) {
        let operands = self.operands(here, inst, access, site);
        let mut b = Builder::at_end(self.func, here);
        b.set_loc(b.func.locs[inst]);
        check(&mut b, operands);
    }

    /// Emits the operands of the call for an access.
    fn operands(&mut self, here: Block, inst: Inst, access: &Access, site: usize) -> [Value; 4] {
        let data = self.func.dfg.inst(inst).clone();
        let mut b = Builder::at_end(self.func, here);
        b.set_loc(b.func.locs[inst]);
        let address = b.cast(Opcode::PtrToInt, access.pointer, Type::I64);
        let mut packed = packed_place(&mut b, access);
        if data.op == Opcode::Store && !b.ty(data.args[1]).is_ptr() {
            let digest = digest(&mut b, data.args[1]);
            packed = b.int2(Opcode::Or, packed, digest);
        }
        let mark = b.iconst(Type::I64, PACKED.cast_signed());
        let packed = b.int2(Opcode::Or, packed, mark);
        site_operands(&mut b, site, [address, packed])
    }
}

/// Whether an access is to memory that other arguments may share.
fn is_global(access: &Access) -> bool {
    matches!(access.object, Some(Object::Argument(_, Space::Global) | Object::Variable(_, Space::Global)))
}

/// Emits a call of the checker for a site, with its place and its size.
pub(super) fn call_site(b: &mut Builder<'_>, site: usize, operands: [Value; 2]) {
    let operands = site_operands(b, site, operands);
    check(b, operands);
}

/// Emits the operands of a check.
pub(super) fn site_operands(b: &mut Builder<'_>, site: usize, [place, bytes]: [Value; 2]) -> [Value; 4] {
    let site = b.iconst(Type::I64, site as i64);
    let item = b.query_linear(Opcode::GlobalLinearId);
    [site, place, bytes, item]
}

/// As [`site_operands`], of a check that reports only under a condition.
pub(super) fn site_operands_if(b: &mut Builder<'_>, condition: Value, site: usize, about: [Value; 2]) -> [Value; 4] {
    let mut operands = site_operands(b, site, about);
    let nothing = b.iconst(Type::I64, NO_SITE.cast_signed());
    operands[0] = b.select(condition, operands[0], nothing);
    operands
}

/// Emits a check. Its result is of type `i32`.
pub(super) fn check(b: &mut Builder<'_>, operands: [Value; 4]) -> Value {
    b.value(Opcode::Check, &operands, Imm::None, Type::I32)
}

/// Emits the offset and the size of an access in their places in a packed access.
pub(super) fn packed_place(b: &mut Builder<'_>, access: &Access) -> Value {
    let bytes = match access.bytes {
        Bytes::Constant(bytes) => b.iconst(Type::I64, bytes.min(MOST_RACE_BYTES) as i64),
        Bytes::Value(bytes) => {
            let most = b.iconst(Type::I64, MOST_RACE_BYTES as i64);
            b.int2(Opcode::Umin, bytes, most)
        }
    };
    let Some(object) = access.object else { return bytes };
    let offset = access.place.offset(b, object);
    // The bits in front of the offset are for flags.
    let unused = 64 - OFFSET_BITS;
    let left = b.iconst(Type::I64, unused.into());
    let right = b.iconst(Type::I64, (unused - OFFSET_SHIFT).into());
    let offset = b.int2(Opcode::Shl, offset, left);
    let offset = b.int2(Opcode::Lshr, offset, right);
    b.int2(Opcode::Or, offset, bytes)
}

/// Emits 1 plus the number of the work-item's sub-group.
fn sub_group(b: &mut Builder<'_>) -> Value {
    let number = b.value(Opcode::SubGroupId, &[], Imm::None, Type::I32);
    let number = b.int_resize(number, Elem::I64, false);
    let one = b.iconst(Type::I64, 1);
    b.int2(Opcode::Iadd, number, one)
}

/// Emits the digest of a value in its place in a packed access. Work-items may write the same value to the same place.
fn digest(b: &mut Builder<'_>, value: Value) -> Value {
    let ty = b.ty(value);
    let mut bits = if ty.is_float() { b.cast(Opcode::Bitcast, value, ty.as_int()) } else { value };
    if ty.is_vector() {
        bits = b.reduce(AtomicOp::Xor, bits);
    }
    let bits = b.int_resize(bits, Elem::I64, false);
    let factor = b.iconst(Type::I64, 0x9e37_79b9_7f4a_7c15_u64.cast_signed());
    let mixed = b.int2(Opcode::Imul, bits, factor);
    // The highest bits, in place of the lowest ones of the digest; never 0.
    let shift = b.iconst(Type::I64, 53);
    let high = b.int2(Opcode::Lshr, mixed, shift);
    let place = b.iconst(Type::I64, i64::from(DIGEST_SHIFT) + 1);
    let high = b.int2(Opcode::Shl, high, place);
    let known = b.iconst(Type::I64, 1 << DIGEST_SHIFT);
    b.int2(Opcode::Or, high, known)
}
