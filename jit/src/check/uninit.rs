//! Finds uses of private and local memory that has not been written.
//!
//! The pass runs over inlined kernels before their private variables become values. Each variable gets a *shadow* of the same
//! layout, in which a bit is set while the bit of the variable is uninitialized. An access to the variable accesses its shadow
//! in the same way, so that the later passes treat both alike: the shadow of a variable that becomes a value becomes a value,
//! too, which is mostly constant, and the shadow of an array is vectorized like the array.
//!
//! Values that are only copied (also as parts of vectors) keep their shadow, because a copy of a structure or vector may copy
//! what has not been initialized. The operations on whole vectors give vectors with shadows. Any other use is tested.
//!
//! Where the lifetime of a variable begins ([`lifetimes`]), as in each iteration of a loop that declares it, it is
//! uninitialized again.
//!
//! Variables whose address goes where its uses are not seen are left alone, and so is memory that several kernels share.

use clift_include::check::{CheckKind, SiteKind};
use std::ops::Range;

use clift_kir::analysis::Cfg;
use clift_kir::ops::{ConvertOp, IntOp, LaneOp, MemoryOp, OpClass};
use clift_kir::{
    BarrierInfo, Block, BlockCall, Builder, Effects, Function, GlobalData, GlobalInit, Imm, Inst, InstData, IntCond,
    Loc, MemInfo, MemScope, Opcode, SlotData, Space, SpaceSet, Type, Value, WrapFlags,
};
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::SHADOW_CLASS;
use super::groups::{check, site_operands_if};
use super::provenance::{Object, Place, Provenance};
use super::sites::Sites;
use crate::passes::lifetimes;

/// The most stores that make the shadow of a private variable uninitialized; more are a loop.
const MAX_STORES: u64 = 32;

/// The most tests that share a branch.
const MAX_TESTS: usize = 16;

/// Instruments a kernel.
pub(super) fn run(func: &mut Function, sites: &mut Sites<'_>) {
    let provenance = Provenance::new(func);
    let shadows = shadows(func, &provenance, sites);
    if shadows.is_empty() {
        return;
    }
    let suspects = suspects(func, &provenance, &shadows);
    prepend(func, sites, &shadows);
    let mut pass = Pass {
        func,
        sites,
        provenance,
        shadows,
        suspects,
        of: SecondaryMap::new(),
        origins: SecondaryMap::new(),
        tests: Vec::new(),
    };
    pass.rewrite();
}

/// Where the shadow of an object is.
#[derive(Clone, Copy, Debug)]
enum Shadow {
    /// In a variable of its own.
    Object(Object),
    /// Behind the local memory of the launch: the offset of the distance in the argument block, and that of the object's size.
    Behind(u32, u32),
}

#[derive(Clone, Copy, Debug)]
struct Shadowed {
    shadow: Shadow,
    /// Bytes of the smallest element that is accessed.
    elem: u32,
}

type Shadows = FxHashMap<Object, Shadowed>;

/// Whether all of an object's uses can be seen, provided that its address does not go elsewhere.
fn can_have_shadow(object: Object) -> bool {
    match object {
        Object::Slot(_) | Object::Variable(_, Space::Local) | Object::Argument(_, Space::Local) => true,
        Object::Variable(..) | Object::Argument(..) | Object::ByValue(_) => false,
    }
}

/// Makes the shadows of a kernel's objects.
fn shadows(func: &mut Function, provenance: &Provenance, sites: &mut Sites<'_>) -> Shadows {
    let mut found: Vec<(Object, u32)> = Vec::new();
    let mut hidden: FxHashSet<Object> = FxHashSet::default();
    let object = |value: Value| provenance.object(value).filter(|object| can_have_shadow(*object));
    for &inst in func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)) {
        let data = func.dfg.inst(inst);
        for (number, &value) in data.args.iter().enumerate() {
            let Some(object) = object(value) else { continue };
            if is_followed(func, inst, data, number, object, provenance) {
                found.extend(accessed(func, inst, data, number).map(|bytes| (object, bytes)));
            } else {
                hidden.insert(object);
            }
        }
        for call in func.dfg.targets(inst) {
            for (&param, &arg) in func.dfg.params(call.block).iter().zip(&call.args) {
                if let Some(object) = object(arg)
                    && provenance.object(param) != Some(object)
                {
                    hidden.insert(object);
                }
            }
        }
    }
    let mut shadows = Shadows::default();
    for (object, elem) in found {
        if hidden.contains(&object) {
            continue;
        }
        if let Some(known) = shadows.get_mut(&object) {
            known.elem = known.elem.min(elem);
            continue;
        }
        let shadow = match object {
            Object::Slot(slot) => {
                let SlotData { size, align } = func.slots[slot];
                Shadow::Object(Object::Slot(func.slots.push(SlotData { size, align })))
            }
            Object::Variable(global, space) => {
                let GlobalData { size, align, .. } = sites.globals[global];
                let (name, init) = (String::new(), GlobalInit::default());
                let data = GlobalData { name, space, size, align, init };
                Shadow::Object(Object::Variable(sites.globals.push(data), space))
            }
            Object::Argument(offset, _) => match sites.size_of_argument(offset) {
                Some(size) => Shadow::Behind(sites.local_shadow(), size),
                None => continue,
            },
            Object::ByValue(_) => continue,
        };
        shadows.insert(object, Shadowed { shadow, elem });
    }
    shadows
}

/// Whether the use of an object's address is followed.
fn is_followed(
    func: &Function,
    inst: Inst,
    data: &InstData,
    number: usize,
    object: Object,
    provenance: &Provenance,
) -> bool {
    let followed = if matches!(data.op, Opcode::Addr | Opcode::SpaceCast | Opcode::Select) {
        func.dfg.results(inst).iter().all(|&result| provenance.object(result) == Some(object))
    } else {
        matches!(data.op, Opcode::Icmp | Opcode::InSpace) || is_access(data.op)
    };
    let pointers = if data.op == Opcode::Memcpy { 2 } else { 1 };
    let through = !is_access(data.op) || number < pointers;
    followed && through
}

/// Whether an op accesses memory through its first operand (copies: the first two).
fn is_access(op: Opcode) -> bool {
    matches!(op, Opcode::Load | Opcode::Store | Opcode::Memcpy | Opcode::Memset) || is_atomic(op)
}

fn is_atomic(op: Opcode) -> bool {
    matches!(op, Opcode::AtomicLoad | Opcode::AtomicStore | Opcode::AtomicRmw | Opcode::AtomicCmpxchg)
}

/// The bytes of the elements that an instruction accesses through an operand.
fn accessed(func: &Function, inst: Inst, data: &InstData, number: usize) -> Option<u32> {
    if !is_access(data.op) || number > 0 || lifetimes::is_start(&func.dfg, inst) {
        return None;
    }
    let value = match func.dfg.results(inst) {
        [result] => *result,
        _ => *data.args.get(1)?,
    };
    Some(if matches!(data.op, Opcode::Memcpy | Opcode::Memset) { 1 } else { func.dfg.ty(value).elem.bytes() })
}

/// Whether values of a type have shadows: integers of their size, for pointers, too.
fn has_shadow(ty: Type) -> bool {
    !ty.is_bool()
}

/// Which operands have bits that an op copies.
enum Copied {
    None,
    /// Those of these numbers.
    Operands(Range<usize>),
    /// All that are not constant, if the one of this number is.
    WithConstant(usize),
    /// As [`Self::WithConstant`], if any is.
    WithAnyConstant,
}

/// The operands of an op such that the same op on their shadows gives the result's.
fn copied(op: Opcode) -> Copied {
    match op.class() {
        OpClass::Int(op) => match op {
            IntOp::Shl | IntOp::Lshr => Copied::WithConstant(1),
            IntOp::And => Copied::WithAnyConstant,
            IntOp::Or => Copied::Operands(0..2),
            IntOp::Iadd
            | IntOp::Isub
            | IntOp::Imul
            | IntOp::Umulh
            | IntOp::Smulh
            | IntOp::Udiv
            | IntOp::Sdiv
            | IntOp::Urem
            | IntOp::Srem
            | IntOp::Ineg
            | IntOp::Iabs
            | IntOp::UaddSat
            | IntOp::SaddSat
            | IntOp::UsubSat
            | IntOp::SsubSat
            | IntOp::Umin
            | IntOp::Umax
            | IntOp::Smin
            | IntOp::Smax
            | IntOp::Xor
            | IntOp::Not
            | IntOp::Ashr
            | IntOp::Rotl
            | IntOp::Clz
            | IntOp::Ctz
            | IntOp::Popcnt
            | IntOp::Bitrev
            | IntOp::Icmp => Copied::None,
        },
        OpClass::Convert(op) => match op {
            ConvertOp::Bitcast | ConvertOp::Itrunc | ConvertOp::Zext | ConvertOp::SpaceCast => Copied::Operands(0..1),
            ConvertOp::Sext
            | ConvertOp::FptoS
            | ConvertOp::FptoU
            | ConvertOp::StoFp
            | ConvertOp::UtoFp
            | ConvertOp::FptoFp
            | ConvertOp::PtrToInt
            | ConvertOp::IntToPtr => Copied::None,
        },
        OpClass::Lane(op) => match op {
            LaneOp::Select => Copied::Operands(1..3),
            LaneOp::ExtractDyn => Copied::Operands(0..1),
            LaneOp::InsertDyn => Copied::Operands(0..2),
            LaneOp::Extract | LaneOp::Insert | LaneOp::Shuffle | LaneOp::Vec | LaneOp::Splat => {
                Copied::Operands(0..usize::MAX)
            }
            LaneOp::Lookup | LaneOp::Any | LaneOp::All | LaneOp::MaskBits | LaneOp::Reduce => Copied::None,
        },
        OpClass::Leaf(_)
        | OpClass::Float(_)
        | OpClass::Address(_)
        | OpClass::Memory(_)
        | OpClass::Image(_)
        | OpClass::Query(_)
        | OpClass::Sync(_)
        | OpClass::Collective(_)
        | OpClass::Call(_)
        | OpClass::Terminator(_) => Copied::None,
    }
}

/// Whether an instruction copies bits of operands.
fn copies(func: &Function, data: &InstData) -> bool {
    let constant = |&value: &Value| func.dfg.as_const(value).is_some();
    match copied(data.op) {
        Copied::None => false,
        Copied::Operands(_) => true,
        Copied::WithConstant(number) => constant(&data.args[number]),
        Copied::WithAnyConstant => data.args.iter().any(constant),
    }
}

/// Whether an instruction that copies bits copies those of an operand, by the operand's number.
fn is_copied(func: &Function, data: &InstData, number: usize) -> bool {
    match copied(data.op) {
        Copied::None => false,
        Copied::Operands(numbers) => numbers.contains(&number),
        Copied::WithConstant(_) | Copied::WithAnyConstant => func.dfg.as_const(data.args[number]).is_none(),
    }
}

/// The operands whose bits an op copies.
fn copied_operands(func: &Function, data: &InstData) -> SmallVec<[Value; 4]> {
    (0..data.args.len()).filter(|&number| is_copied(func, data, number)).map(|number| data.args[number]).collect()
}

/// Whether an op works on the elements of vectors one by one.
fn is_lanewise(func: &Function, inst: Inst, data: &InstData) -> bool {
    let Some(result) = func.dfg.single_result(inst) else { return false };
    let ty = func.dfg.ty(result);
    data.op.info().effects == Effects::Pure
        && ty.is_vector()
        && has_shadow(ty)
        && data.args.iter().all(|&arg| func.dfg.ty(arg).lanes() == ty.lanes())
}

/// The values that may be uninitialized, at least in part.
fn suspects(func: &Function, provenance: &Provenance, shadows: &Shadows) -> EntitySet<Value> {
    let mut suspects: EntitySet<Value> = EntitySet::new();
    let mut changed = true;
    while changed {
        changed = false;
        for &inst in func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)) {
            let data = func.dfg.inst(inst);
            if let Some(result) = func.dfg.single_result(inst)
                && has_shadow(func.dfg.ty(result))
            {
                let suspect = if data.op == Opcode::Load || is_atomic(data.op) {
                    provenance.object(data.args[0]).is_some_and(|object| shadows.contains_key(&object))
                } else if copies(func, data) {
                    copied_operands(func, data).into_iter().any(|value| suspects.contains(value))
                } else {
                    is_lanewise(func, inst, data) && data.args.iter().any(|&value| suspects.contains(value))
                };
                changed |= suspect && suspects.insert(result);
            }
            for call in func.dfg.targets(inst) {
                for (&param, &arg) in func.dfg.params(call.block).iter().zip(&call.args) {
                    changed |= suspects.contains(arg) && suspects.insert(param);
                }
            }
        }
    }
    suspects
}

/// How shadows are accessed.
fn shadow_mem(align: u32) -> MemInfo {
    MemInfo { alias: SHADOW_CLASS, ..MemInfo::aligned(align) }
}

/// Emits the address of an object's shadow.
fn shadow_address(b: &mut Builder<'_>, object: Object, shadow: Shadow) -> Value {
    match shadow {
        Shadow::Object(shadow) => shadow.address(b),
        Shadow::Behind(distance, _) => {
            let address = object.address(b);
            let distance = b.arg(distance, Type::I64);
            b.addr(address, Some(distance), 1, 0)
        }
    }
}

/// At the start of a kernel all variables are uninitialized. The first work-item of a group says so for local memory.
fn prepend(func: &mut Function, sites: &mut Sites<'_>, shadows: &Shadows) {
    let Some(entry) = func.layout.entry() else { unreachable!("broken invariant: a kernel has a body") };
    let body = func.layout.take_insts(entry);
    let mut objects: Vec<(Object, Shadowed)> = shadows.iter().map(|(object, shadowed)| (*object, *shadowed)).collect();
    objects.sort_by_key(|(object, _)| match object {
        Object::Slot(slot) => (0, slot.as_u32()),
        Object::Variable(global, _) => (1, global.as_u32()),
        Object::Argument(offset, _) | Object::ByValue(offset) => (2, *offset),
    });
    let (local, private): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|(object, _)| !matches!(object, Object::Slot(_)));
    let mut here = entry;
    for (object, shadowed) in private {
        let Object::Slot(slot) = object else { continue };
        here = fill_private(func, here, func.slots[slot], object, shadowed);
    }
    if !local.is_empty() {
        let (fill, rest) = (func.append_block(), func.append_block());
        let id = func.fresh_barrier();
        let mut b = Builder::at_end(func, here);
        let item = b.query_linear(Opcode::LocalLinearId);
        let zero = b.iconst(Type::I64, 0);
        let is_first = b.icmp(IntCond::Eq, item, zero);
        b.branch(is_first, BlockCall::new(fill, &[]), BlockCall::new(rest, &[]));
        b.switch_to(fill);
        let byte = b.iconst(Type::I8, -1);
        for (object, shadowed) in local {
            let address = shadow_address(&mut b, object, shadowed.shadow);
            let size = match (object, shadowed.shadow) {
                (Object::Variable(global, _), _) => b.iconst(Type::I64, sites.globals[global].size as i64),
                (_, Shadow::Behind(_, size)) => b.arg(size, Type::I64),
                (_, Shadow::Object(_)) => continue,
            };
            b.memset(address, byte, size, shadow_mem(1));
        }
        b.jump(rest, &[]);
        b.switch_to(rest);
        let scope = MemScope::WorkGroup;
        b.barrier(BarrierInfo { id, execution: scope, memory: scope, spaces: SpaceSet::LOCAL });
        here = rest;
    }
    for inst in body {
        func.layout.append_inst(here, inst);
    }
}

/// Emits the code that makes a private variable uninitialized. Returns the block that follows. Stores of elements, and not one
/// of bytes, because arrays that are accessed by elements are laid out for lanes.
fn fill_private(func: &mut Function, here: Block, slot: SlotData, object: Object, shadowed: Shadowed) -> Block {
    let elem = u64::from(shadowed.elem);
    let count = slot.size / elem;
    let mut b = Builder::at_end(func, here);
    let address = shadow_address(&mut b, object, shadowed.shadow);
    let Some(int) = clift_kir::Elem::int(shadowed.elem * 8).and_then(|elem| Type::new(elem, 1)) else { return here };
    let mem = shadow_mem(slot.align.min(shadowed.elem));
    if !slot.size.is_multiple_of(elem) || elem == 1 && count > MAX_STORES {
        let (byte, size) = (b.iconst(Type::I8, -1), b.iconst(Type::I64, slot.size as i64));
        b.memset(address, byte, size, mem);
        return here;
    }
    if count <= MAX_STORES {
        store_ones(&mut b, address, int, count, mem);
        return here;
    }
    let (body, after) = (b.func.append_block(), b.func.append_block());
    let number = b.func.dfg.append_param(body, Type::I64);
    let zero = b.iconst(Type::I64, 0);
    b.jump(body, &[zero]);
    b.switch_to(body);
    let ones = b.iconst(int, -1);
    let to = b.addr(address, Some(number), elem, 0);
    b.store(to, ones, mem);
    let one = b.iconst(Type::I64, 1);
    let next = b.int2(Opcode::Iadd, number, one);
    let end = b.iconst(Type::I64, count as i64);
    let more = b.icmp(IntCond::Ult, next, end);
    b.branch(more, BlockCall::new(body, &[next]), BlockCall::new(after, &[]));
    after
}

/// Emits stores that make elements uninitialized.
fn store_ones(b: &mut Builder<'_>, address: Value, int: Type, count: u64, mem: MemInfo) {
    let ones = b.iconst(int, -1);
    for number in 0..count {
        let to = b.addr(address, None, 1, (number * u64::from(int.bytes())) as i64);
        b.store(to, ones, mem);
    }
}

/// From where a value was read.
#[derive(Clone, Debug)]
struct Origin {
    object: Object,
    place: Place,
    bytes: u64,
    loc: Loc,
}

/// A test whose result is not used yet.
struct Test {
    inst: Inst,
    /// Whether the value is uninitialized.
    bad: Value,
    site: usize,
    origin: Option<Origin>,
}

struct Pass<'f, 'a> {
    func: &'f mut Function,
    sites: &'f mut Sites<'a>,
    provenance: Provenance,
    shadows: Shadows,
    suspects: EntitySet<Value>,
    /// The shadows of suspects.
    of: SecondaryMap<Value, Option<Value>>,
    origins: SecondaryMap<Value, Option<Origin>>,
    /// The tests of the block so far.
    tests: Vec<Test>,
}

impl Pass<'_, '_> {
    fn rewrite(&mut self) {
        let order = Cfg::new(self.func).rpo().to_vec();
        for &block in &order {
            for param in self.func.dfg.params(block).to_vec() {
                if self.suspects.contains(param) {
                    let ty = self.func.dfg.ty(param).as_int();
                    self.of[param] = Some(self.func.dfg.append_param(block, ty));
                }
            }
        }
        for &block in &order {
            self.block(block);
        }
    }

    fn block(&mut self, block: Block) {
        let mut here = block;
        let mut tested: FxHashSet<Value> = FxHashSet::default();
        for inst in self.func.layout.take_insts(block) {
            let data = self.func.dfg.inst(inst).clone();
            if self.tests.len() >= MAX_TESTS || !(data.op.info().effects == Effects::Pure || is_access(data.op)) {
                here = self.report(here);
            }
            if matches!(data.imm, Imm::Mem(mem) if mem.alias == SHADOW_CLASS) {
                self.func.layout.append_inst(here, inst);
                continue;
            }
            for value in self.used(inst, &data) {
                if self.suspects.contains(value) && tested.insert(value) {
                    self.test(here, inst, value, None);
                }
            }
            if data.op.info().effects == Effects::Terminator {
                here = self.report(here);
                let added: Vec<Vec<Value>> =
                    self.func.dfg.targets(inst).iter().map(|call| call.args.to_vec()).collect();
                let blocks: Vec<Block> = self.func.dfg.targets(inst).iter().map(|call| call.block).collect();
                let mut more: Vec<Vec<Value>> = Vec::new();
                for (target, args) in blocks.into_iter().zip(added) {
                    // The parameters of shadows follow the others.
                    let params = self.func.dfg.params(target).to_vec();
                    let shadows = params.iter().zip(&args).filter(|(param, _)| self.suspects.contains(**param));
                    let args: Vec<Value> = shadows.map(|(_, &arg)| arg).collect();
                    more.push(args.into_iter().map(|arg| self.shadow_of(here, arg)).collect());
                }
                for (call, more) in self.func.dfg.targets_mut(inst).into_iter().zip(more) {
                    call.args.extend(more);
                }
            }
            self.func.layout.append_inst(here, inst);
            self.follow(here, inst, &data);
        }
    }

    fn builder(&mut self, here: Block, inst: Inst) -> Builder<'_> {
        let loc = self.func.locs[inst];
        let mut b = Builder::at_end(self.func, here);
        b.set_loc(loc);
        b
    }

    /// The shadow of a value.
    fn shadow_of(&mut self, here: Block, value: Value) -> Value {
        if let Some(shadow) = self.of[value] {
            return shadow;
        }
        let ty = self.func.dfg.ty(value).as_int();
        Builder::at_end(self.func, here).iconst(ty, 0)
    }

    /// The values that an instruction uses otherwise than by copying them.
    fn used(&self, inst: Inst, data: &InstData) -> SmallVec<[Value; 4]> {
        let has_shadow = |value: Value| {
            let object = self.provenance.object(value);
            object.is_some_and(|object| self.shadows.contains_key(&object))
        };
        let copied = if data.op == Opcode::Store && has_shadow(data.args[0]) {
            SmallVec::from_slice(&[data.args[1]])
        } else if copies(self.func, data) {
            copied_operands(self.func, data)
        } else if is_lanewise(self.func, inst, data) {
            data.args.iter().copied().collect()
        } else {
            SmallVec::new()
        };
        data.args.iter().copied().filter(|value| !copied.contains(value)).collect()
    }

    /// Emits a test of a suspect, or of the result of an atomic, for the next [report](Self::report).
    fn test(&mut self, here: Block, inst: Inst, value: Value, shadow: Option<Value>) {
        let shadow = match shadow {
            Some(shadow) => shadow,
            None => self.shadow_of(here, value),
        };
        let origin = self.origins[value].clone();
        let loc = origin.as_ref().map_or(self.func.locs[inst], |origin| origin.loc);
        let kind = if is_atomic(self.func.dfg.inst(inst).op) { SiteKind::Atomic } else { SiteKind::Load };
        let object = origin.as_ref().map(|origin| origin.object);
        let site = self.sites.add(self.func, CheckKind::Uninit, kind, object, loc);
        let mut b = self.builder(here, inst);
        let ty = b.ty(shadow);
        let zero = b.iconst(ty, 0);
        let mut bad = b.icmp(IntCond::Ne, shadow, zero);
        if ty.is_vector() {
            bad = b.any(bad);
        }
        self.tests.push(Test { inst, bad, site, origin });
    }

    /// Emits a branch to the calls of the checker that report the tests which have found something. Returns the block that
    /// follows.
    fn report(&mut self, here: Block) -> Block {
        let tests = std::mem::take(&mut self.tests);
        let Some(last) = tests.last() else { return here };
        let (report, after) = (self.func.append_block(), self.func.append_block());
        self.func.layout.set_cold(report);
        if self.func.layout.is_cold(here) {
            self.func.layout.set_cold(after);
        }
        let mut b = self.builder(here, last.inst);
        let mut any = last.bad;
        for test in &tests[..tests.len() - 1] {
            any = b.int2(Opcode::Or, any, test.bad);
        }
        let any = b.value(Opcode::PackAny, &[any], Imm::None, Type::B1);
        b.branch(any, BlockCall::new(report, &[]), BlockCall::new(after, &[]));
        let mut calls = Vec::with_capacity(tests.len());
        for Test { inst, bad, site, origin } in tests {
            let mut b = self.builder(report, inst);
            let (place, bytes) = match &origin {
                Some(origin) => (origin.place.offset(&mut b, origin.object), origin.bytes),
                None => (b.iconst(Type::I64, 0), 0),
            };
            let bytes = b.iconst(Type::I64, bytes as i64);
            calls.push((inst, site_operands_if(&mut b, bad, site, [place, bytes])));
        }
        // Next to one another: all in one loop over the lanes.
        for (inst, operands) in calls {
            check(&mut self.builder(report, inst), operands);
        }
        Builder::at_end(self.func, report).jump(after, &[]);
        after
    }

    /// Emits what an instruction does to shadows.
    fn follow(&mut self, here: Block, inst: Inst, data: &InstData) {
        let align = if let Imm::Mem(mem) = data.imm { mem.align } else { 1 };
        let OpClass::Memory(op) = data.op.class() else {
            self.value(here, inst, data);
            return;
        };
        match op {
            MemoryOp::Load => {
                let result = self.func.dfg.result(inst);
                if let Some((object, shadow, place)) = self.shadowed(data.args[0])
                    && self.suspects.contains(result)
                {
                    let ty = self.func.dfg.ty(result);
                    let mut b = self.builder(here, inst);
                    let from = shadow_place(&mut b, object, shadow, &place);
                    self.of[result] = Some(b.load(ty.as_int(), from, shadow_mem(align)));
                    self.origins[result] =
                        Some(Origin { object, place, bytes: ty.bytes().into(), loc: self.func.locs[inst] });
                }
            }
            MemoryOp::Store => {
                if let Some((object, shadow, place)) = self.shadowed(data.args[0]) {
                    let value = self.shadow_of(here, data.args[1]);
                    let mut b = self.builder(here, inst);
                    let to = shadow_place(&mut b, object, shadow, &place);
                    b.store(to, value, shadow_mem(align));
                }
            }
            MemoryOp::Memset if lifetimes::is_start(&self.func.dfg, inst) => {
                self.begin(here, inst, data.args[0], data.args[2])
            }
            MemoryOp::Memset => self.clear(here, inst, data.args[0], data.args[2], align),
            MemoryOp::Memcpy => match (self.shadowed(data.args[0]), self.shadowed(data.args[1])) {
                (Some((object, shadow, place)), Some((from_object, from_shadow, from_place))) => {
                    let mut b = self.builder(here, inst);
                    let to = shadow_place(&mut b, object, shadow, &place);
                    let from = shadow_place(&mut b, from_object, from_shadow, &from_place);
                    b.memcpy(to, from, data.args[2], shadow_mem(align));
                }
                (Some(_), None) => self.clear(here, inst, data.args[0], data.args[2], align),
                (None, Some(_) | None) => {}
            },
            MemoryOp::AtomicLoad | MemoryOp::AtomicStore | MemoryOp::AtomicRmw | MemoryOp::AtomicCmpxchg => {
                self.atomic(here, inst, data);
            }
            // Masks exist in packs only.
            MemoryOp::MaskedLoad | MemoryOp::MaskedStore | MemoryOp::Gather | MemoryOp::Scatter => {
                unreachable!("broken invariant: {op:?} before work-items become lanes")
            }
            MemoryOp::Fence => {}
        }
    }

    /// The object behind a pointer, if it has a shadow.
    fn shadowed(&self, pointer: Value) -> Option<(Object, Shadow, Place)> {
        let object = self.provenance.object(pointer)?;
        let shadowed = self.shadows.get(&object)?;
        Some((object, shadowed.shadow, Place::new(self.func, pointer)))
    }

    /// The lifetime of a private variable begins, in which it is uninitialized.
    fn begin(&mut self, here: Block, inst: Inst, to: Value, count: Value) {
        let Some((object @ Object::Slot(slot), shadow, place)) = self.shadowed(to) else { return };
        let SlotData { size, align } = self.func.slots[slot];
        let elem = self.shadows[&object].elem;
        let mem = shadow_mem(align.min(elem));
        let int = clift_kir::Elem::int(elem * 8).and_then(|elem| Type::new(elem, 1));
        let mut b = self.builder(here, inst);
        let to = shadow_place(&mut b, object, shadow, &place);
        match int {
            Some(int) if size.is_multiple_of(elem.into()) && size / u64::from(elem) <= MAX_STORES => {
                store_ones(&mut b, to, int, size / u64::from(elem), mem);
            }
            Some(_) | None => {
                let byte = b.iconst(Type::I8, -1);
                b.memset(to, byte, count, mem);
            }
        }
    }

    /// Bytes become initialized.
    fn clear(&mut self, here: Block, inst: Inst, to: Value, count: Value, align: u32) {
        if let Some((object, shadow, place)) = self.shadowed(to) {
            let mut b = self.builder(here, inst);
            let to = shadow_place(&mut b, object, shadow, &place);
            let zero = b.iconst(Type::I8, 0);
            b.memset(to, zero, count, shadow_mem(align));
        }
    }

    /// An atomic uses what it reads, and initializes it.
    fn atomic(&mut self, here: Block, inst: Inst, data: &InstData) {
        let Some((object, shadow, place)) = self.shadowed(data.args[0]) else { return };
        let result = self.func.dfg.single_result(inst);
        let ty = self.func.dfg.ty(result.unwrap_or(data.args[data.args.len() - 1])).as_int();
        let mut b = self.builder(here, inst);
        let at = shadow_place(&mut b, object, shadow, &place);
        let before = result.map(|_| b.load(ty, at, shadow_mem(ty.bytes())));
        let zero = b.iconst(ty, 0);
        b.store(at, zero, shadow_mem(ty.bytes()));
        let (Some(result), Some(before)) = (result, before) else { return };
        self.of[result] = Some(zero);
        self.origins[result] = Some(Origin { object, place, bytes: ty.bytes().into(), loc: self.func.locs[inst] });
        self.test(here, inst, result, Some(before));
    }

    /// Emits the shadow of a value that is copied from others, or computed element by element.
    fn value(&mut self, here: Block, inst: Inst, data: &InstData) {
        let Some(result) = self.func.dfg.single_result(inst).filter(|&result| self.suspects.contains(result)) else {
            return;
        };
        let ty = self.func.dfg.ty(result).as_int();
        self.origins[result] = data.args.iter().find_map(|&arg| self.origins[arg].clone());
        let shadow = match copies(self.func, data) {
            true => {
                let mut args = data.args.clone();
                for number in 0..args.len() {
                    if !is_copied(self.func, data, number) {
                        continue;
                    }
                    args[number] = self.shadow_of(here, data.args[number]);
                }
                let mut b = self.builder(here, inst);
                let imm = if let Imm::Wrap(_) = data.imm { WrapFlags::empty().imm() } else { data.imm.clone() };
                if matches!(data.op, Opcode::Bitcast | Opcode::SpaceCast) && b.ty(args[0]) == ty {
                    args[0]
                } else {
                    b.value(data.op, &args, imm, ty)
                }
            }
            false => {
                let mut sum: Option<Value> = None;
                let suspects: SmallVec<[Value; 4]> =
                    data.args.iter().copied().filter(|&arg| self.suspects.contains(arg)).collect();
                for arg in suspects {
                    let shadow = self.shadow_of(here, arg);
                    let mut b = self.builder(here, inst);
                    let zero = b.iconst(b.ty(shadow), 0);
                    let bad = b.icmp(IntCond::Ne, shadow, zero);
                    sum = Some(match sum {
                        Some(sum) => b.int2(Opcode::Or, sum, bad),
                        None => bad,
                    });
                }
                let Some(bad) = sum else { return };
                self.builder(here, inst).cast(Opcode::Sext, bad, ty)
            }
        };
        self.of[result] = Some(shadow);
    }
}

/// Emits the address of a place in the shadow of an object.
fn shadow_place(b: &mut Builder<'_>, object: Object, shadow: Shadow, place: &Place) -> Value {
    let start = shadow_address(b, object, shadow);
    place.moved(b, object, start, 1)
}
