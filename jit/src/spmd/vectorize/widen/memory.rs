//! Loads and stores: contiguous, strided, or scattered.

mod overlapping;
mod parts;
mod records;

use clift_kir::dfg::ConstData;
use clift_kir::inst::{BlockCall, Imm, MemInfo};
use clift_kir::{Elem, Inst, Opcode, Slot, Space, Type, Value};
use records::{Records, Window};
use smallvec::SmallVec;

use super::forms::{Packs, WideForm};
use super::{Mask, Widener};
use crate::spmd::analysis::shape::{Bound, Check, Scope};
use crate::spmd::report::Access;
pub(crate) use overlapping::overlapping_pieces;
pub(crate) use records::{record_step, record_step_at_once};

/// OpenCL vectors of a pack stay in memory order if they have at most so many components in all, or if they have at most
/// [`Type::MAX_LANES`] and nothing takes them apart.
const MAX_FLAT_COMPONENTS: u32 = Type::MAX_LANES / 2;

/// Volatile variables of at most so many elements are accessed as a whole.
const MAX_WHOLE_ELEMENTS: u64 = 16;

/// If more lanes than this access one element of a window, combining their masks costs more than a gather.
const MAX_SHARERS: usize = 2;

/// The memory layout of the lanes' elements.
enum Pattern {
    /// All lanes access one address.
    Same(Value),
    /// One record per lane, contiguous.
    Records(Records),
    /// Contiguous records if the condition holds, any addresses otherwise.
    RecordsIf(Value, Records),
    /// Elements that overlap those of the neighbouring lanes: the first one's address, and the stride.
    Overlapping(Value, u32),
    /// Single elements within a few neighbours.
    Window(Window),
    /// Any addresses.
    Scattered,
}

impl Widener<'_> {
    fn mem(&self, inst: Inst) -> MemInfo {
        let imm = &self.func.dfg.inst(inst).imm;
        let Imm::Mem(mem) = *imm else { unreachable!("broken invariant: access with {imm:?}") };
        mem
    }

    /// The properties of an access to one element.
    fn element(mem: MemInfo, ty: Type) -> MemInfo {
        MemInfo { align: mem.align.min(ty.elem.bytes()).max(1), ..mem }
    }

    /// The properties of a pack's access under a mask. The accesses to private memory are not observable in between, so other
    /// lanes' elements may be read and written back, even if accesses are volatile.
    fn masked_mem(&self, pointer: Value, mem: MemInfo, mask: Mask) -> MemInfo {
        MemInfo { volatile: mem.volatile && (mask.is_none() || !self.is_private(pointer)), ..mem }
    }

    fn is_private(&self, pointer: Value) -> bool {
        self.func.dfg.ty(pointer).elem.space() == Some(Space::Private)
    }

    fn pattern(&mut self, pointer: Value, ty: Type, volatile: bool) -> Pattern {
        if volatile && !self.is_uniform(pointer) && !self.is_private(pointer) {
            return Pattern::Scattered;
        }
        match self.form(pointer) {
            // Guards are chosen by shape. If a pointer turned out to be uniform only here, it may be accessed without active
            // lanes.
            WideForm::Uniform(shared) if self.shape(pointer).is_uniform(Scope::Pack) => Pattern::Same(shared),
            WideForm::Affine { base, stride } => match self.records(base, stride, ty) {
                Some(records) => Pattern::Records(records),
                None if overlapping_pieces(stride, ty).is_some() && !volatile => {
                    Pattern::Overlapping(base, stride as u32)
                }
                None => Pattern::Scattered,
            },
            WideForm::FirstLane(base) => {
                let Some(on) = self.divergence.conditional(pointer) else {
                    return self.window(pointer, base, ty).map_or(Pattern::Scattered, Pattern::Window);
                };
                let Some(records) = self.records(base, on.stride, ty) else { return Pattern::Scattered };
                let mut holds: Option<Value> = None;
                for check in on.checks {
                    if check.matters(self.func.dfg.ty(check.value)) {
                        let one = self.check(check);
                        holds = Some(holds.map_or(one, |all| self.at().int2(Opcode::And, all, one)));
                    }
                }
                holds.map_or(Pattern::Records(records), |holds| Pattern::RecordsIf(holds, records))
            }
            WideForm::Uniform(_) | WideForm::Flat(_) | WideForm::Packs(_) => Pattern::Scattered,
        }
    }

    /// Reports a scattered access. In a cold block, a test has found the pack to be an unusual one, so the access counts as
    /// tested.
    fn note_scattered(&mut self, pointer: Value, write: bool) {
        let access = self.access(pointer);
        let report = &mut self.report;
        let list = if self.func.layout.is_cold(self.block) {
            &mut report.tested
        } else if write {
            &mut report.scatters
        } else {
            &mut report.gathers
        };
        list.push(access);
    }

    /// The current access, for the report.
    fn access(&self, pointer: Value) -> Access {
        Access::new(self.func, self.divergence, pointer, self.loc)
    }

    /// Whether a check succeeds.
    fn check(&mut self, check: Check) -> Value {
        let value = self.scalar(check.value);
        let bound = match check.bound {
            Bound::Bits(bits) => {
                let mut b = self.at();
                let ty = b.ty(value);
                b.iconst(ty, bits as i64)
            }
            Bound::Shared(bound) => self.scalar(bound),
        };
        let mut b = self.at();
        let ty = b.ty(value);
        let value = if check.plus == 0 {
            value
        } else {
            let plus = b.iconst(ty, check.plus);
            b.int2(Opcode::Iadd, value, plus)
        };
        b.icmp(check.cond, value, bound)
    }

    /// The most components that a value may have in memory order.
    fn most_components(&self, value: Value) -> u32 {
        if self.lanewise_throughout.contains(value) { Type::MAX_LANES } else { MAX_FLAT_COMPONENTS }
    }

    pub(super) fn load(&mut self, inst: Inst, mask: Mask) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let result = func.dfg.result(inst);
        let ty = func.dfg.ty(result);
        let mem = self.mem(inst);
        let pointer = data.args[0];
        let element = Self::element(mem, ty);
        if let Some(granule) = self.interleaved.granule_at(pointer) {
            let size = ty.elem.bytes();
            let packs = (0..ty.lanes())
                .map(|c| {
                    if size < granule {
                        self.load_part(pointer, c * size, granule, ty, element, mask)
                    } else {
                        self.load_interleaved(pointer, c * granule, ty, element, mask)
                    }
                })
                .collect();
            self.set(result, WideForm::Packs(packs));
            return;
        }
        if self.interleaved.is_shared_at(pointer) {
            let packs = match (self.form(pointer), mask) {
                (WideForm::Uniform(place), None) => {
                    let width = self.width;
                    let mut b = self.at();
                    let loaded = b.load(ty, place, mem);
                    let components = (0..ty.lanes()).map(|component| {
                        let scalar = if ty.is_vector() { b.extract(loaded, component) } else { loaded };
                        b.splat(scalar, width)
                    });
                    components.collect()
                }
                (_, _) => {
                    self.note_scattered(pointer, false);
                    self.gather(pointer, ty, element, mask)
                }
            };
            return self.set(result, WideForm::Packs(packs));
        }
        let element = self.masked_mem(pointer, element, mask);
        let form = match self.pattern(pointer, ty, mem.volatile) {
            Pattern::Same(pointer) => WideForm::Uniform(self.at().load(ty, pointer, mem)),
            Pattern::Records(records)
                if ty.is_vector()
                    && records.step == ty.lanes()
                    && records.step * self.width <= self.most_components(result) =>
            {
                WideForm::Flat(self.load_whole(records, ty, element, mask))
            }
            Pattern::Records(records) => WideForm::Packs(self.load_records(records, ty, element, mask)),
            Pattern::RecordsIf(holds, records) => {
                let access = self.access(pointer);
                self.report.tested.push(access);
                WideForm::Packs(self.if_else(
                    holds,
                    |this| this.load_records(records, ty, element, mask),
                    |this| this.gather(pointer, ty, element, mask),
                ))
            }
            Pattern::Overlapping(base, stride) => {
                let pack = self.load_overlapping(base, stride, ty, mem, mask);
                WideForm::Packs(SmallVec::from_slice(&[pack]))
            }
            // Masks of elements that many lanes share take more instructions than a load for each lane.
            Pattern::Window(window) if mask.is_none() || window.sharers() <= MAX_SHARERS => {
                WideForm::Packs(SmallVec::from_slice(&[self.load_window(&window, ty, element, mask)]))
            }
            Pattern::Window(_) | Pattern::Scattered => {
                self.note_scattered(pointer, false);
                let rows = if mask.is_none() { self.rows(pointer, ty, mem) } else { None };
                if let Some(rows) = rows {
                    let packs = self.load_rows(&rows, ty, element);
                    return self.set(result, WideForm::Packs(packs));
                }
                WideForm::Packs(self.gather(pointer, ty, element, mask))
            }
        };
        self.set(result, form);
    }

    /// Loads one component from an interleaved variable, `offset` bytes into the lane's own copy.
    fn load_interleaved(&mut self, pointer: Value, offset: u32, ty: Type, element: MemInfo, mask: Mask) -> Value {
        let pack = self.pack_type(ty);
        let disp = i64::from(offset * self.width);
        if let Some(place) = self.granule_address(pointer, disp, ty) {
            return match mask {
                None => self.at().load(pack, place, element),
                Some(_) if self.is_accessed_whole(pointer, offset + ty.lane().bytes()) => {
                    self.at().load(pack, place, element)
                }
                Some(mask) => {
                    let element = self.masked_mem(pointer, element, Some(mask));
                    let mut b = self.at();
                    let other = b.undef(pack);
                    b.value(Opcode::MaskedLoad, &[place, mask, other], Imm::Mem(element), pack)
                }
            };
        }
        self.note_scattered(pointer, false);
        let pointers = self.packs(pointer)[0];
        let address = self.displaced(pointers, offset * self.width);
        let lanes = self.mask_or_all(mask);
        let other = self.at().undef(pack);
        self.emit(Opcode::Gather, &[address, lanes, other], Imm::Mem(element), pack)
    }

    fn store_interleaved(&mut self, pointer: Value, offset: u32, pack: Value, element: MemInfo, mask: Mask) {
        let disp = i64::from(offset * self.width);
        let ty = self.out.dfg.ty(pack).lane();
        if let Some(place) = self.granule_address(pointer, disp, ty) {
            match mask {
                None => drop(self.at().store(place, pack, element)),
                // Processors forward a store's data to a later load of the same bytes, but not parts of it.
                Some(mask) if self.is_accessed_whole(pointer, offset + ty.lane().bytes()) => {
                    let all = self.pack_type(ty);
                    let mut b = self.at();
                    let old = b.load(all, place, element);
                    let new = b.select(mask, pack, old);
                    b.store(place, new, element);
                }
                Some(mask) => {
                    let element = self.masked_mem(pointer, element, Some(mask));
                    self.at().inst(Opcode::MaskedStore, &[place, pack, mask], Imm::Mem(element), &[]);
                }
            }
            return;
        }
        self.note_scattered(pointer, true);
        let pointers = self.packs(pointer)[0];
        let address = self.displaced(pointers, offset * self.width);
        let lanes = self.mask_or_all(mask);
        self.at().inst(Opcode::Scatter, &[address, pack, lanes], Imm::Mem(element), &[]);
    }

    /// Finds the interleaved variables that are accessed as a whole even under masks: volatile ones, which are not kept in
    /// registers, with accesses at constant offsets.
    pub(super) fn find_whole_slots(&mut self) {
        let func = self.func;
        for &inst in self.plan.order.iter().flat_map(|&block| func.layout.insts(block)) {
            let data = func.dfg.inst(inst);
            let (Opcode::Load | Opcode::Store, Imm::Mem(MemInfo { volatile: true, .. })) = (data.op, &data.imm) else {
                continue;
            };
            if let Some(slot) = self.variable(data.args[0], 1)
                && let Some(granule) = self.interleaved.granule(slot)
                && func.slots[slot].size <= MAX_WHOLE_ELEMENTS * u64::from(granule)
            {
                self.whole_slots.insert(slot);
            }
        }
    }

    /// Whether an access to so many bytes at a pointer is to a variable that is accessed as a whole.
    fn is_accessed_whole(&self, pointer: Value, bytes: u32) -> bool {
        self.variable(pointer, bytes).is_some_and(|slot| self.whole_slots.contains(&slot))
    }

    /// The private variable that contains so many bytes at a pointer, if the offset is constant.
    fn variable(&self, pointer: Value, bytes: u32) -> Option<Slot> {
        let dfg = &self.func.dfg;
        let (mut at, mut place) = (pointer, 0i64);
        loop {
            let data = dfg.inst(dfg.def_inst(at)?);
            match (&data.imm, &data.args[..]) {
                (&Imm::Slot(slot), _) => {
                    let size = self.func.slots[slot].size;
                    let end = place.checked_add(i64::from(bytes))?;
                    return (place >= 0 && end as u64 <= size).then_some(slot);
                }
                (&Imm::Addr { disp, .. }, &[base]) => (at, place) = (base, place.checked_add(disp)?),
                _ => return None,
            }
        }
    }

    /// Initializes a variable that is accessed as a whole, for lanes that have not written to it yet.
    pub(super) fn clear_slot(&mut self, slot: Slot, base: Value) {
        let Some(granule) = self.interleaved.granule(slot) else { return };
        let Some(elem) = Elem::int(8 * granule) else { return };
        let pack = Type::vector(elem, self.width);
        let zero = self.at().iconst(pack, 0);
        for place in 0..self.func.slots[slot].size / u64::from(granule) {
            let disp = place * u64::from(granule * self.width);
            let mut b = self.at();
            let address = if disp == 0 { base } else { b.addr(base, None, 1, disp as i64) };
            b.store(address, zero, MemInfo::aligned(granule));
        }
    }

    /// The address of one granule of all lanes, if these are contiguous.
    fn granule_address(&mut self, pointer: Value, disp: i64, ty: Type) -> Option<Value> {
        match self.form(pointer) {
            WideForm::Affine { base, stride } if stride == i64::from(ty.elem.bytes()) => {
                Some(if disp == 0 { base } else { self.at().addr(base, None, 1, disp) })
            }
            WideForm::Uniform(_)
            | WideForm::Affine { .. }
            | WideForm::FirstLane(_)
            | WideForm::Flat(_)
            | WideForm::Packs(_) => None,
        }
    }

    /// Loads from an address per lane.
    fn gather(&mut self, pointer: Value, ty: Type, element: MemInfo, mask: Mask) -> Packs {
        let pointers = self.packs(pointer)[0];
        let lanes = self.mask_or_all(mask);
        let pack = self.pack_type(ty);
        let mut packs = Packs::new();
        while (packs.len() as u32) < ty.lanes() {
            let component = packs.len() as u32;
            let count = self.accessed_together(ty, component, element);
            let address = self.displaced(pointers, component * ty.elem.bytes());
            let whole = Self::together(ty.elem, count).map_or(pack, |elem| pack.with_elem(elem));
            let other = self.at().undef(whole);
            let loaded = self.emit(Opcode::Gather, &[address, lanes, other], Imm::Mem(element), whole);
            if count == 1 {
                packs.push(loaded);
                continue;
            }
            let all = pack.with_lanes(count * self.width);
            let flat = self.at().cast(Opcode::Bitcast, loaded, all);
            for i in 0..count {
                let numbers: SmallVec<[u8; 16]> = (0..self.width).map(|lane| (lane * count + i) as u8).collect();
                packs.push(self.at().shuffle(flat, flat, &numbers));
            }
        }
        packs
    }

    /// How many components of a vector, starting with the given one, are accessed as one integer.
    fn accessed_together(&self, ty: Type, component: u32, mem: MemInfo) -> u32 {
        let bytes = ty.elem.bytes();
        if mem.volatile || ty.is_bool() || ty.is_ptr() {
            return 1;
        }
        let limit = (8 / bytes).min(ty.lanes() - component).min(Type::MAX_LANES / self.width);
        1 << limit.max(1).ilog2()
    }

    /// The integer that contains so many components, if there are several.
    fn together(elem: Elem, count: u32) -> Option<Elem> {
        if count == 1 { None } else { Elem::int(count * elem.bits()) }
    }

    /// Emits two alternatives for the same packs, chosen by a condition of the whole pack.
    fn if_else(
        &mut self,
        holds: Value,
        yes: impl FnOnce(&mut Self) -> Packs,
        no: impl FnOnce(&mut Self) -> Packs,
    ) -> Packs {
        let before = self.split();
        let after = self.here;
        let (then, otherwise) = (self.out.append_block(), self.out.append_block());
        self.ending(before).branch(holds, BlockCall::new(then, &[]), BlockCall::new(otherwise, &[]));
        self.here = then;
        let packs = yes(self);
        let last = self.here;
        self.ending(last).jump(after, &packs);
        self.here = otherwise;
        let others = no(self);
        let last = self.here;
        self.ending(last).jump(after, &others);
        self.here = after;
        packs
            .iter()
            .map(|&pack| {
                let ty = self.out.dfg.ty(pack);
                self.out.dfg.append_param(after, ty)
            })
            .collect()
    }

    fn reverse(&mut self, pack: Value) -> Value {
        let lanes: SmallVec<[u8; 16]> = (0..self.width).rev().map(|lane| lane as u8).collect();
        self.at().shuffle(pack, pack, &lanes)
    }

    fn displaced(&mut self, pointers: Value, bytes: u32) -> Value {
        if bytes == 0 {
            return pointers;
        }
        let ty = self.out.dfg.ty(pointers);
        self.emit(Opcode::Addr, &[pointers], Imm::Addr { scale: 1, disp: i64::from(bytes) }, ty)
    }

    fn mask_or_all(&mut self, mask: Mask) -> Value {
        match mask {
            Some(mask) => mask,
            None => {
                let ty = Type::B1.with_lanes(self.width);
                self.at().constant(ConstData::splat(ty, 1))
            }
        }
    }

    pub(super) fn store(&mut self, inst: Inst, mask: Mask) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let (pointer, value) = (data.args[0], data.args[1]);
        let ty = func.dfg.ty(value);
        let mem = self.mem(inst);
        let element = Self::element(mem, ty);
        if let Some(granule) = self.interleaved.granule_at(pointer) {
            let packs = self.packs(value);
            let size = ty.elem.bytes();
            for (c, &pack) in (0..).zip(&packs) {
                if size < granule {
                    self.store_part(pointer, c * size, granule, pack, element, mask);
                } else {
                    self.store_interleaved(pointer, c * granule, pack, element, mask);
                }
            }
            return;
        }
        if self.interleaved.is_shared_at(pointer) {
            // All active lanes store the same, and all lanes of the block are active but those beyond the end of a row.
            let (place, value) = (self.scalar(pointer), self.scalar(value));
            self.at().store(place, value, mem);
            return;
        }
        let element = self.masked_mem(pointer, element, mask);
        match self.pattern(pointer, ty, mem.volatile) {
            Pattern::Same(place) if self.is_uniform(value) => {
                let value = self.scalar(value);
                self.at().store(place, value, mem);
            }
            Pattern::Same(place) if mask.is_none() => {
                // The lanes race; the last one wins.
                let value = self.lane(value, self.width - 1);
                self.at().store(place, value, mem);
            }
            Pattern::Same(place)
                if let Some(mask) = mask
                    && !mem.volatile
                    && !ty.is_ptr() =>
            {
                self.store_last(place, value, mem, mask)
            }
            Pattern::Records(records) if records.step == ty.lanes() => {
                self.store_records(records, value, element, mask)
            }
            Pattern::RecordsIf(holds, records) if records.step == ty.lanes() => {
                let access = self.access(pointer);
                self.report.tested.push(access);
                self.if_else(
                    holds,
                    |this| {
                        this.store_records(records, value, element, mask);
                        Packs::new()
                    },
                    |this| {
                        this.scatter(pointer, value, element, mask);
                        Packs::new()
                    },
                );
            }
            Pattern::Records(records) if self.stores_beside_gaps(records, ty, mem, mask) => {
                self.store_beside_gaps(records, value, element, mask)
            }
            Pattern::Records(records)
                if !ty.is_vector() && self.can_store_window(&records.window(self.width), pointer, mask) =>
            {
                let pack = self.packs(value)[0];
                self.store_window(&records.window(self.width), pack, element, mask);
            }
            Pattern::Window(window) if self.can_store_window(&window, pointer, mask) => {
                let pack = self.packs(value)[0];
                self.store_window(&window, pack, element, mask);
            }
            Pattern::Same(_)
            | Pattern::Records(_)
            | Pattern::RecordsIf(..)
            | Pattern::Overlapping(..)
            | Pattern::Window(_)
            | Pattern::Scattered => {
                self.note_scattered(pointer, true);
                let rows = if mask.is_none() { self.row_addresses(pointer, ty, mem) } else { None };
                match rows {
                    Some(rows) => {
                        let packs = self.packs(value);
                        self.store_rows(&rows, &packs, ty, element);
                    }
                    None => self.scatter(pointer, value, element, mask),
                }
            }
        }
    }

    /// Stores the value of the last active lane. The block is executed only if a lane is active.
    fn store_last(&mut self, place: Value, value: Value, mem: MemInfo, mask: Value) {
        let packs = self.packs(value);
        let mut b = self.at();
        let bits = b.mask_bits(mask);
        let zeros = b.int1(Opcode::Clz, bits);
        let highest = b.iconst(Type::I64, 63);
        let last = b.int2(Opcode::Xor, highest, zeros);
        let last = b.int_resize(last, Elem::I32, false);
        let components: Packs = packs
            .iter()
            .map(|&pack| {
                let ty = b.ty(pack).lane();
                b.value(Opcode::ExtractDyn, &[pack, last], Imm::None, ty)
            })
            .collect();
        let value = b.vec(&components);
        b.store(place, value, mem);
    }

    /// Stores to an address per lane.
    fn scatter(&mut self, pointer: Value, value: Value, element: MemInfo, mask: Mask) {
        let pointers = self.packs(pointer)[0];
        let packs = self.packs(value);
        let lanes = self.mask_or_all(mask);
        let ty = self.func.dfg.ty(value);
        let mut component = 0;
        while component < ty.lanes() {
            let count = self.accessed_together(ty, component, element);
            let address = self.displaced(pointers, component * ty.elem.bytes());
            let mut whole = self.interleave(&packs[component as usize..(component + count) as usize]);
            if let Some(elem) = Self::together(ty.elem, count) {
                let integers = Type::vector(elem, self.width);
                whole = self.at().cast(Opcode::Bitcast, whole, integers);
            }
            self.at().inst(Opcode::Scatter, &[address, whole, lanes], Imm::Mem(element), &[]);
            component += count;
        }
    }
}
