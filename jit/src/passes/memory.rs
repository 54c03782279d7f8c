//! What accesses to memory may overlap, and which instructions write memory that others read.
//!
//! An address is followed back to its *root*: a private variable, a program-scope or `__local` variable, a `__local` argument, or
//! something unknown. Different variables do not overlap, nor do different alias classes, nor address spaces that have no memory
//! in common, nor accesses at different constant distances from the same address. An unknown address does not lead into a private
//! variable whose address never [escapes](Escapes).
//!
//! Atomics, fences and barriers order memory: what other work-items wrote becomes visible there, so nothing that is known about
//! memory that work-items share holds any longer.

use clift_kir::analysis::{LoopForest, LoopId};
use clift_kir::{Effects, Function, Global, Imm, Inst, MemInfo, Opcode, Slot, Space, Type, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashSet;

/// How many address computations a root is followed through.
const MAX_DEPTH: u32 = 32;

/// What an address is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Root {
    /// A private variable.
    Slot(Slot),
    /// A program-scope or `__local` variable.
    Variable(Global),
    /// The `__local` argument at this offset.
    LocalArg(u32),
    /// Anything else.
    Unknown,
}

/// A range of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    root: Root,
    space: Space,
    /// The alias class; 0 is unknown.
    class: u32,
    /// The address without its displacement: base, index and scale.
    address: (Value, Option<Value>, u64),
    /// The displacement.
    disp: i64,
    /// The number of bytes, if it is constant.
    bytes: Option<u32>,
}

impl Place {
    /// The range of an access of type `ty` to an address.
    pub(crate) fn of_access(func: &Function, pointer: Value, mem: &MemInfo, ty: Type) -> Place {
        Place::new(func, pointer, mem.alias, Some(ty.bytes()))
    }

    fn new(func: &Function, pointer: Value, class: u32, bytes: Option<u32>) -> Place {
        let mut place = Place {
            root: Root::Unknown,
            space: func.dfg.ty(pointer).elem.space().unwrap_or(Space::Generic),
            class,
            address: (pointer, None, 1),
            disp: 0,
            bytes,
        };
        if func.dfg.ty(pointer).is_vector() {
            place.bytes = None;
            return place;
        }
        let mut at = pointer;
        for depth in 0..MAX_DEPTH {
            let Some(inst) = func.dfg.def_inst(at) else { break };
            let data = func.dfg.inst(inst);
            if let Imm::Addr { scale, disp } = data.imm
                && depth == 0
            {
                place.address = (data.args[0], data.args.get(1).copied(), scale);
                place.disp = disp;
            }
            if is_followed(data.op) {
                at = data.args[0];
                continue;
            }
            let is_local = func.dfg.ty(at).elem.space() == Some(Space::Local);
            if let Imm::Slot(slot) = data.imm {
                place.root = Root::Slot(slot);
            } else if let Imm::Global(global) = data.imm {
                place.root = Root::Variable(global);
            } else if let Imm::Offset(offset) = data.imm
                && data.op == Opcode::Arg
                && is_local
            {
                place.root = Root::LocalArg(offset);
            }
            break;
        }
        place.space = func.dfg.ty(at).elem.space().unwrap_or(Space::Generic);
        place
    }

    /// The place of so many bytes that begins some bytes after this one.
    pub(super) fn part(&self, offset: u32, bytes: u32) -> Option<Place> {
        Some(Place { disp: self.disp.checked_add(i64::from(offset))?, bytes: Some(bytes), ..*self })
    }

    /// How many bytes after another place it begins, if both are at constant distances from one address.
    pub(super) fn distance(&self, other: &Place) -> Option<i64> {
        let comparable = (self.root, self.space, self.address) == (other.root, other.space, other.address);
        if comparable { self.disp.checked_sub(other.disp) } else { None }
    }

    /// Whether the two may have bytes in common.
    pub(super) fn may_overlap(&self, other: &Place, escapes: &Escapes) -> bool {
        let ends_before = |a: &Place, b: &Place| {
            a.bytes.is_some_and(|bytes| a.disp.checked_add(i64::from(bytes)).is_some_and(|end| end <= b.disp))
        };
        self.may_share_object(other, escapes)
            && !(self.address == other.address && (ends_before(self, other) || ends_before(other, self)))
    }

    /// Whether the two may be in one object, of which they may be different parts.
    pub(crate) fn may_share_object(&self, other: &Place, escapes: &Escapes) -> bool {
        if !self.space.may_alias(other.space) || (self.class != other.class && self.class != 0 && other.class != 0) {
            return false;
        }
        let hidden = |root: Root| matches!(root, Root::Slot(slot) if !escapes.0.contains(slot));
        match (self.root, other.root) {
            (Root::Unknown, known) | (known, Root::Unknown) if hidden(known) => return false,
            (Root::Unknown, _) | (_, Root::Unknown) => {}
            (a, b) if a != b => return false,
            (
                Root::Slot(_) | Root::Variable(_) | Root::LocalArg(_),
                Root::Slot(_) | Root::Variable(_) | Root::LocalArg(_),
            ) => {}
        }
        true
    }

    /// Whether it is in a private variable whose address does not escape.
    fn is_hidden(&self, escapes: &Escapes) -> bool {
        matches!(self.root, Root::Slot(slot) if !escapes.0.contains(slot))
    }

    /// Base, index and scale of the address.
    pub(super) fn address(&self) -> (Value, Option<Value>, u64) {
        self.address
    }

    /// Whether it contains all bytes of another place, which is at a constant distance.
    pub(super) fn covers(&self, other: &Place) -> bool {
        let (Some(distance), Some(bytes), Some(others)) = (other.distance(self), self.bytes, other.bytes) else {
            return false;
        };
        distance >= 0 && distance.saturating_add(others.into()) <= bytes.into()
    }

    /// Whether only this work-item accesses the memory.
    pub(super) fn is_private(&self) -> bool {
        self.space == Space::Private
    }
}

/// Whether an op gives an address in the same variable as its first operand.
fn is_followed(op: Opcode) -> bool {
    matches!(op, Opcode::Addr | Opcode::SpaceCast)
}

/// The address, the type and the properties of a load or store that is neither volatile nor by lanes.
pub(crate) fn plain_access(func: &Function, inst: Inst) -> Option<(Value, Type, MemInfo)> {
    let data = func.dfg.inst(inst);
    let ty = if data.op == Opcode::Load {
        func.dfg.ty(func.dfg.result(inst))
    } else if data.op == Opcode::Store {
        func.dfg.ty(data.args[1])
    } else {
        return None;
    };
    let &Imm::Mem(mem @ MemInfo { volatile: false, .. }) = &data.imm else { return None };
    let pointer = data.args[0];
    (!func.dfg.ty(pointer).is_vector()).then_some((pointer, ty, mem))
}

#[cfg(test)]
thread_local! {
    /// How many instructions this thread has looked at to find addresses that escape.
    pub(crate) static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Private variables whose address goes where its uses are no longer seen.
#[derive(Clone, Debug)]
pub(crate) struct Escapes(EntitySet<Slot>);

impl Escapes {
    /// Looks at all uses of addresses of private variables.
    pub(crate) fn new(func: &Function) -> Escapes {
        let mut escaped = EntitySet::new();
        if func.slots.is_empty() {
            return Escapes(escaped);
        }
        let mut slots: SecondaryMap<Value, Option<Slot>> = SecondaryMap::new();
        // A definition may come after its use in the order of the layout: then the address is taken to escape.
        let mut late: Vec<Value> = Vec::new();
        for &block in func.layout.blocks() {
            #[cfg(test)]
            LOOKED_AT.set(LOOKED_AT.get() + func.layout.insts(block).len());
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                if let Imm::Slot(slot) = data.imm {
                    slots[func.dfg.result(inst)] = Some(slot);
                    continue;
                }
                if is_followed(data.op) {
                    slots[func.dfg.result(inst)] = slots[data.args[0]];
                }
                // The first operands, through which the op accesses memory at most.
                let followed = if data.op == Opcode::Memcpy {
                    2
                } else {
                    usize::from(
                        is_followed(data.op) || matches!(data.op, Opcode::Load | Opcode::Store | Opcode::Memset),
                    )
                };
                let mut number = 0;
                func.dfg.for_each_use(inst, |value| {
                    if number >= followed {
                        match slots[value] {
                            Some(slot) => {
                                escaped.insert(slot);
                            }
                            None => late.push(value),
                        }
                    } else if slots[value].is_none() && func.dfg.ty(value).elem.space().is_some() {
                        late.push(value);
                    }
                    number += 1;
                });
            }
        }
        for value in late {
            if let Some(slot) = slots[value] {
                escaped.insert(slot);
            }
        }
        Escapes(escaped)
    }
}

/// What an instruction does to memory that others may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Write {
    /// Where it writes.
    place: Option<Place>,
    /// Whether it orders accesses of work-items.
    orders: bool,
    /// Whether it is a call, which may write whatever the function can reach.
    calls: bool,
}

impl Write {
    /// The write of an instruction, if it is one.
    pub(crate) fn of(func: &Function, inst: Inst) -> Option<Write> {
        let data = func.dfg.inst(inst);
        let class = if let Imm::Mem(mem) = &data.imm { mem.alias } else { 0 };
        let through = |bytes: Option<u32>| Some(Place::new(func, data.args[0], class, bytes));
        match data.op.info().effects {
            Effects::Pure | Effects::Read | Effects::Terminator => return None,
            Effects::Convergent if !matches!(data.op, Opcode::Barrier | Opcode::NamedBarrier | Opcode::Yield) => {
                return None;
            }
            Effects::Write | Effects::ReadWrite | Effects::Convergent => {}
        }
        if data.op == Opcode::Check {
            // It reads nothing that the kernel writes, and writes nothing that the kernel reads.
            return None;
        }
        let (place, orders) = if matches!(data.op, Opcode::Store | Opcode::MaskedStore) {
            (through(Some(func.dfg.ty(data.args[1]).bytes())), false)
        } else if data.op == Opcode::Scatter {
            (through(None), false)
        } else if matches!(data.op, Opcode::Memset | Opcode::Memcpy) {
            let bytes = func.dfg.as_splat_bits(data.args[2]).and_then(|bytes| u32::try_from(bytes).ok());
            (through(bytes), false)
        } else if matches!(data.op, Opcode::AtomicStore | Opcode::AtomicRmw | Opcode::AtomicCmpxchg) {
            (through(None), true)
        } else {
            (None, true)
        };
        Some(Write { place, orders, calls: data.op == Opcode::Call })
    }

    /// Whether it neither orders accesses nor is a call, which may read.
    pub(super) fn only_writes(&self) -> bool {
        self.place.is_some() && !self.orders && !self.calls
    }

    /// How many bytes after a place it writes, if both are at constant distances from one address.
    pub(super) fn distance(&self, place: &Place) -> Option<i64> {
        self.place.and_then(|written| written.distance(place))
    }

    /// Whether what an earlier read or write of `place` tells no longer holds after this.
    pub(crate) fn may_change(&self, place: &Place, escapes: &Escapes) -> bool {
        (self.orders && !place.is_private()) || self.may_write(place, escapes)
    }

    /// Whether it may write to `place` itself.
    pub(crate) fn may_write(&self, place: &Place, escapes: &Escapes) -> bool {
        (self.calls && !place.is_hidden(escapes))
            || self.place.is_some_and(|written| written.may_overlap(place, escapes))
    }
}

/// The most writes of a loop that are told apart.
const MAX_WRITES: usize = 64;

/// The writes in each loop.
#[derive(Clone, Debug)]
pub(super) struct LoopWrites(SecondaryMap<LoopId, LoopWrite>);

/// The writes in one loop, those in inner loops included.
#[derive(Clone, Debug, Default)]
struct LoopWrite {
    writes: FxHashSet<Write>,
    /// Whether there are too many.
    anything: bool,
}

impl LoopWrites {
    /// Collects the writes of a function.
    pub(super) fn new(func: &Function, loops: &LoopForest) -> LoopWrites {
        let mut of: SecondaryMap<LoopId, LoopWrite> = SecondaryMap::new();
        for &block in func.layout.blocks() {
            let Some(innermost) = loops.innermost(block) else { continue };
            for write in func.layout.insts(block).iter().filter_map(|&inst| Write::of(func, inst)) {
                let mut at = Some(innermost);
                while let Some(id) = at {
                    let list = &mut of[id];
                    if list.anything || list.writes.contains(&write) {
                        break;
                    }
                    list.anything = list.writes.len() == MAX_WRITES;
                    list.writes.insert(write);
                    at = loops.get(id).parent;
                }
            }
        }
        LoopWrites(of)
    }

    /// Whether an iteration of the loop may change what a read of `place` gives.
    pub(super) fn may_change(&self, id: LoopId, place: &Place, escapes: &Escapes) -> bool {
        let list = &self.0[id];
        list.anything || list.writes.iter().any(|write| write.may_change(place, escapes))
    }
}
