//! Races and barriers: calls of the launch's checker at accesses to shared memory, at barriers, and at the end of each work-item. The
//! checker (`runtime/src/check/group.rs`) follows the work-items of a group.
//!
//! Accesses to an argument that the kernel does not write are followed only if the argument shares memory with one that it writes,
//! which the launch knows.

use clift_include::check::{
    CheckKind, DIGEST_SHIFT, MOST_RACE_BYTES, OFFSET_SHIFT, ORDERS_GLOBAL, ORDERS_LOCAL, PACKED, SiteKind,
};
use clift_kir::{
    AtomicOp, Block, BlockCall, Builder, Elem, Function, Imm, Inst, IntCond, Loc, Meeting, MemOrder, MemScope, Opcode,
    Space, SpaceSet, Type, Value,
};
use smallvec::SmallVec;

use super::SHADOW_CLASS;
use super::accesses::{Bytes, pointers};
use super::provenance::{Object, Place, Provenance};
use super::sites::Sites;
use crate::options::Checks;

/// Instruments a kernel.
pub(super) fn run(func: &mut Function, sites: &mut Sites<'_>, checks: Checks) {
    let provenance = Provenance::new(func);
    let insts = || func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let accesses: Vec<(Inst, Accesses)> = if checks.race {
        insts()
            .map(|&inst| (inst, accesses(func, inst, &provenance, sites)))
            .filter(|(_, list)| !list.is_empty())
            .collect()
    } else {
        Vec::new()
    };
    let shared_by_unknown = accesses.iter().flat_map(|(_, list)| list).any(|access| {
        access.kind != SiteKind::Load && !matches!(access.object, Some(Object::Argument(..) | Object::Variable(..)))
    });
    let accesses: rustc_hash::FxHashMap<Inst, Accesses> = accesses.into_iter().collect();
    let has_sub_group_barriers = insts().any(|&inst| matches!(participants(func, inst), Some(Participants::SubGroup)));
    let mut pass = Pass { func, sites, accesses, shared_by_unknown, has_sub_group_barriers };
    for block in pass.func.layout.blocks().to_vec() {
        pass.block(block, checks);
    }
}

/// An access to memory that other work-items can access, too.
#[derive(Clone, Debug)]
struct Access {
    kind: SiteKind,
    pointer: Value,
    object: Option<Object>,
    place: Place,
    bytes: Bytes,
}

type Accesses = SmallVec<[Access; 2]>;

/// The accesses of an instruction to shared memory.
fn accesses(func: &Function, inst: Inst, provenance: &Provenance, sites: &Sites<'_>) -> Accesses {
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
enum Participants {
    /// All of the work-group, and the memory that is ordered.
    Group(u64),
    /// All of a sub-group, at a barrier of their own or at a named one.
    SubGroup,
    /// Those of a sub-group that get there.
    SomeOfSubGroup,
}

/// Who meets at an instruction, if it is a place to meet.
fn participants(func: &Function, inst: Inst) -> Option<Participants> {
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
    accesses: rustc_hash::FxHashMap<Inst, Accesses>,
    /// Whether the kernel writes through a pointer whose object is unknown.
    shared_by_unknown: bool,
    /// Whether the kernel has barriers of sub-groups, or named ones.
    has_sub_group_barriers: bool,
}

impl Pass<'_, '_> {
    fn block(&mut self, block: Block, checks: Checks) {
        let mut here = block;
        for inst in self.func.layout.take_insts(block) {
            let loc = self.func.locs[inst];
            for access in self.accesses.get(&inst).cloned().unwrap_or_default() {
                here = self.access(here, inst, &access);
            }
            if let Some(participants) = participants(self.func, inst) {
                self.meet(here, loc, participants, checks);
            } else if checks.race && orders(self.func, inst) {
                self.call(here, CheckKind::Order, SiteKind::Barrier, loc, |b| [b.iconst(Type::I64, 0); 2]);
            } else if self.func.dfg.inst(inst).op == Opcode::Ret {
                self.end(here, loc);
            }
            self.func.layout.append_inst(here, inst);
        }
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
        self.call_site(here, site, loc, operands);
    }

    fn call_site(&mut self, here: Block, site: usize, loc: Loc, operands: impl FnOnce(&mut Builder<'_>) -> [Value; 2]) {
        let mut b = Builder::at_end(self.func, here);
        b.set_loc(loc);
        let [place, bytes] = operands(&mut b);
        let site = b.iconst(Type::I64, site as i64);
        let item = b.query_linear(Opcode::GlobalLinearId);
        b.value(Opcode::Check, &[site, place, bytes, item], Imm::None, Type::I32);
    }

    fn meet(&mut self, here: Block, loc: Loc, participants: Participants, checks: Checks) {
        match participants {
            Participants::Group(spaces) => self.call(here, CheckKind::Barrier, SiteKind::Barrier, loc, |b| {
                [spaces as i64, 0].map(|operand| b.iconst(Type::I64, operand))
            }),
            Participants::SubGroup | Participants::SomeOfSubGroup => {
                if checks.race {
                    self.call(here, CheckKind::Order, SiteKind::Barrier, loc, |b| [b.iconst(Type::I64, 0); 2]);
                }
                if matches!(participants, Participants::SubGroup) {
                    self.call(here, CheckKind::Barrier, SiteKind::Barrier, loc, |b| {
                        [b.iconst(Type::I64, 0), sub_group(b)]
                    });
                }
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

    fn follow(&mut self, here: Block, inst: Inst, access: &Access, site: usize) {
        let loc = self.func.locs[inst];
        let data = self.func.dfg.inst(inst).clone();
        self.call_site(here, site, loc, |b| {
            let address = b.cast(Opcode::PtrToInt, access.pointer, Type::I64);
            let bytes = match access.bytes {
                Bytes::Constant(bytes) => b.iconst(Type::I64, bytes.min(MOST_RACE_BYTES) as i64),
                Bytes::Value(bytes) => {
                    let most = b.iconst(Type::I64, MOST_RACE_BYTES as i64);
                    b.int2(Opcode::Umin, bytes, most)
                }
            };
            let mut packed = match access.object {
                Some(object) => {
                    let offset = access.place.offset(b, object);
                    let shift = b.iconst(Type::I64, OFFSET_SHIFT.into());
                    let offset = b.int2(Opcode::Shl, offset, shift);
                    b.int2(Opcode::Or, offset, bytes)
                }
                None => bytes,
            };
            if data.op == Opcode::Store && !b.ty(data.args[1]).is_ptr() {
                let digest = digest(b, data.args[1]);
                packed = b.int2(Opcode::Or, packed, digest);
            }
            let mark = b.iconst(Type::I64, PACKED.cast_signed());
            [address, b.int2(Opcode::Or, packed, mark)]
        });
    }
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
