//! Accesses to records and to windows: one vector access and shuffles for what the lanes access side by side.

use clift_kir::inst::{Imm, MemInfo};
use clift_kir::{Elem, Opcode, Space, Type, Value};
use smallvec::SmallVec;

use crate::spmd::vectorize::widen::forms::Packs;
use crate::spmd::vectorize::widen::{Mask, Widener};

/// Records of at most so many elements are loaded as a whole and deinterleaved.
const MAX_RECORD_ELEMENTS: u32 = 4;

/// Records of `step` elements per lane, of which the first ones are accessed, starting at the lowest address.
#[derive(Clone, Copy)]
pub(super) struct Records {
    start: Value,
    pub(super) step: u32,
    /// Whether the last lane's record is the lowest.
    reversed: bool,
}

impl Records {
    /// The first elements of all lanes' records, as a window.
    pub(super) fn window(self, width: u32) -> Window {
        let Records { start, step, reversed } = self;
        let place = |lane: u32| (step * if reversed { width - 1 - lane } else { lane }) as u8;
        Window { start, count: step * (width - 1) + 1, places: (0..width).map(place).collect() }
    }
}

/// A few neighbouring elements, starting at the lowest address. Each lane accesses one of them.
pub(super) struct Window {
    start: Value,
    /// The number of elements from the lowest to the highest.
    count: u32,
    /// The element that each lane accesses.
    places: SmallVec<[u8; 16]>,
}

impl Window {
    /// The largest number of lanes that access the same element.
    pub(super) fn sharers(&self) -> usize {
        let sharers = |place: &u8| self.places.iter().filter(|other| *other == place).count();
        self.places.iter().map(sharers).max().unwrap_or(0)
    }

    /// For each element, a lane that accesses it, after skipping so many such lanes.
    fn nth_lanes(&self, skip: usize) -> SmallVec<[Option<u8>; 64]> {
        let nth = |place: usize| {
            let mut lanes = (0..).zip(&self.places).filter(|(_, at)| usize::from(**at) == place).map(|(lane, _)| lane);
            lanes.nth(skip)
        };
        (0..self.count as usize).map(nth).collect()
    }

    /// For each element, the last lane that accesses it.
    pub(super) fn lanes(&self) -> SmallVec<[Option<u8>; 64]> {
        let mut lanes = SmallVec::from_elem(None, self.count as usize);
        for (&place, lane) in self.places.iter().zip(0..) {
            lanes[usize::from(place)] = Some(lane);
        }
        lanes
    }
}

/// The distance in elements between the records of neighbouring lanes, if accesses of `ty` with such a stride are handled as
/// records: those of all lanes at once, or those of each half of the lanes.
pub(crate) fn record_step(stride: i64, ty: Type, width: u32) -> Option<u32> {
    let in_halves = || {
        let step = record_step_at_once(stride, ty, width / 2)?;
        (ty.is_vector() && stride > 0 && step <= MAX_RECORD_ELEMENTS).then_some(step)
    };
    record_step_at_once(stride, ty, width).or_else(in_halves)
}

/// As [`record_step`], if those of all lanes are accessed at once.
pub(crate) fn record_step_at_once(stride: i64, ty: Type, width: u32) -> Option<u32> {
    let bytes = i64::from(ty.elem.bytes());
    let step = u32::try_from((stride / bytes).unsigned_abs()).ok()?;
    let fits = stride % bytes == 0
        && step >= ty.lanes()
        && step <= MAX_RECORD_ELEMENTS.max(ty.lanes())
        && u64::from(step) * u64::from(width - 1) + u64::from(ty.lanes()) <= u64::from(Type::MAX_LANES)
        && (stride > 0 || (step == 1 && ty.lanes() == 1));
    fits.then_some(step)
}

impl Widener<'_> {
    /// The window of accesses at constant offsets from the first lane's address.
    pub(super) fn window(&mut self, pointer: Value, first: Value, ty: Type) -> Option<Window> {
        let offsets = self.divergence.offsets(pointer).filter(|_| !ty.is_vector())?;
        let bytes = i64::from(ty.elem.bytes());
        let (least, most) = offsets.reach();
        let count = (most - least) / bytes + 1;
        let near = count <= i64::from(MAX_RECORD_ELEMENTS * self.width).min(Type::MAX_LANES.into());
        if !near || (0..self.width).any(|lane| offsets.by(lane) % bytes != 0) {
            return None;
        }
        let places = (0..self.width).map(|lane| ((offsets.by(lane) - least) / bytes) as u8).collect();
        let start = if least == 0 { first } else { self.at().addr(first, None, 1, least) };
        Some(Window { start, count: count as u32, places })
    }

    /// The records that accesses of `ty` at `base` with the given stride form, if they do.
    pub(super) fn records(&mut self, base: Value, stride: i64, ty: Type) -> Option<Records> {
        let (step, reversed) = (record_step(stride, ty, self.width)?, stride < 0);
        let start = if reversed {
            let back = stride * i64::from(self.width - 1);
            self.at().addr(base, None, 1, back)
        } else {
            base
        };
        Some(Records { start, step, reversed })
    }

    /// Loads a window and selects each lane's element.
    pub(super) fn load_window(&mut self, window: &Window, ty: Type, mem: MemInfo, mask: Mask) -> Value {
        let whole = ty.with_lanes(window.count);
        let loaded = match mask {
            // The first and the last element are accessed, and everything between is on their pages.
            None => self.at().load(whole, window.start, mem),
            Some(mask) => {
                let mask = self.mask_of_window(window, mask);
                let mut b = self.at();
                let other = b.undef(whole);
                b.value(Opcode::MaskedLoad, &[window.start, mask, other], Imm::Mem(mem), whole)
            }
        };
        self.at().shuffle(loaded, loaded, &window.places)
    }

    /// The elements of a window that active lanes access. An element that several lanes share is accessed if one of them is
    /// active.
    fn mask_of_window(&mut self, window: &Window, mask: Value) -> Value {
        let none = self.mask_constant(false);
        let mut accessed: Option<Value> = None;
        for skip in 0..window.sharers() {
            let lanes = window.nth_lanes(skip);
            let lanes: SmallVec<[u8; 64]> = lanes.iter().map(|lane| lane.unwrap_or(self.width as u8)).collect();
            let by_these = self.at().shuffle(mask, none, &lanes);
            accessed = Some(accessed.map_or(by_these, |others| self.at().int2(Opcode::Or, others, by_these)));
        }
        accessed.unwrap_or(none)
    }

    /// Stores a window in which each lane has its own element. Other elements may be written back, so the memory must belong to
    /// the worker.
    pub(super) fn store_window(&mut self, window: &Window, pack: Value, mem: MemInfo, mask: Mask) {
        let lanes = window.lanes();
        let places: SmallVec<[u8; 64]> = lanes.iter().map(|lane| lane.unwrap_or(0)).collect();
        let whole = self.at().shuffle(pack, pack, &places);
        if mask.is_none() && lanes.iter().all(Option::is_some) {
            self.at().store(window.start, whole, mem);
            return;
        }
        let mask = self.mask_or_all(mask);
        let mask = self.mask_of_window(window, mask);
        self.at().inst(Opcode::MaskedStore, &[window.start, whole, mask], Imm::Mem(mem), &[]);
    }

    /// Whether a window can be stored as a whole: each lane has its own element, and either all elements are stored, or the
    /// memory belongs to the worker.
    pub(super) fn can_store_window(&self, window: &Window, pointer: Value, mask: Mask) -> bool {
        let lanes = window.lanes();
        let own = match self.func.dfg.ty(pointer).elem.space() {
            Some(Space::Local | Space::Private) => true,
            Some(Space::Global | Space::Constant | Space::Generic | Space::Host) | None => false,
        };
        let apart = lanes.iter().flatten().count() == self.width as usize;
        apart && (own || mask.is_none() && lanes.iter().all(Option::is_some))
    }

    /// Whether the records of all lanes are too long for one vector.
    pub(super) fn is_in_halves(&self, records: Records) -> bool {
        records.step * (self.width - 1) >= Type::MAX_LANES
    }

    /// Does something for each half of the lanes, with their records and their mask.
    fn for_halves<T>(
        &mut self,
        records: Records,
        elem: Elem,
        mask: Mask,
        mut access: impl FnMut(&mut Self, usize, Records, Mask) -> T,
    ) -> [T; 2] {
        let (whole, half) = (self.width, self.width / 2);
        [0, 1].map(|number| {
            let mask = mask.map(|mask| self.half(mask, number));
            let bytes = i64::from(number as u32 * half * records.step * elem.bytes());
            let start = if bytes == 0 { records.start } else { self.at().addr(records.start, None, 1, bytes) };
            self.width = half;
            let done = access(self, number, Records { start, ..records }, mask);
            self.width = whole;
            done
        })
    }

    /// The first or second half of a pack's lanes.
    fn half(&mut self, pack: Value, number: usize) -> Value {
        let half = self.out.dfg.ty(pack).lanes() / 2;
        let lanes: SmallVec<[u8; 64]> = (0..half).map(|lane| (number as u32 * half + lane) as u8).collect();
        self.at().shuffle(pack, pack, &lanes)
    }

    /// The halves of packs.
    fn halves(&mut self, packs: &[Value]) -> [Packs; 2] {
        [0, 1].map(|number| packs.iter().map(|&pack| self.half(pack, number)).collect())
    }

    /// Loads records and deinterleaves them.
    pub(super) fn load_records(&mut self, records: Records, ty: Type, mem: MemInfo, mask: Mask) -> Packs {
        if self.is_in_halves(records) {
            let [first, second] = self
                .for_halves(records, ty.elem, mask, |this, _, records, mask| this.load_records(records, ty, mem, mask));
            let lanes = self.concatenation(1);
            return first.iter().zip(&second).map(|(&a, &b)| self.at().shuffle(a, b, &lanes)).collect();
        }
        let Records { step, reversed, .. } = records;
        let loaded = self.load_whole(records, ty, mem, mask);
        if step == 1 && ty.lanes() == 1 {
            let loaded = if reversed { self.reverse(loaded) } else { loaded };
            return SmallVec::from_slice(&[loaded]);
        }
        (0..ty.lanes())
            .map(|component| {
                let lanes: SmallVec<[u8; 16]> = (0..self.width).map(|lane| (lane * step + component) as u8).collect();
                self.at().shuffle(loaded, loaded, &lanes)
            })
            .collect()
    }

    /// Loads records without deinterleaving them.
    pub(super) fn load_whole(&mut self, records: Records, ty: Type, mem: MemInfo, mask: Mask) -> Value {
        let Records { start, step, reversed } = records;
        let mask = if reversed { mask.map(|mask| self.reverse(mask)) } else { mask };
        // Nothing beyond the last lane's components is accessed.
        let count = step * (self.width - 1) + ty.lanes();
        let whole = ty.with_lanes(count);
        match mask {
            None if step == ty.lanes() => self.at().load(whole, start, mem),
            _ => {
                // Nothing between the wanted components is accessed.
                let mask = self.mask_or_all(mask);
                let mask = self.spread_mask(mask, step, ty.lanes(), count);
                let mut b = self.at();
                let other = b.undef(whole);
                b.value(Opcode::MaskedLoad, &[start, mask, other], Imm::Mem(mem), whole)
            }
        }
    }

    /// Turns a mask of lanes into one of elements of records: the wanted components of active lanes.
    fn spread_mask(&mut self, mask: Value, step: u32, components: u32, count: u32) -> Value {
        if step == 1 {
            return mask;
        }
        let ty = Type::B1.with_lanes(self.width);
        let none = self.at().iconst(ty, 0);
        let lanes: SmallVec<[u8; 64]> =
            (0..count).map(|i| if i % step < components { (i / step) as u8 } else { self.width as u8 }).collect();
        self.at().shuffle(mask, none, &lanes)
    }

    /// Stores records without gaps.
    pub(super) fn store_records(&mut self, records: Records, value: Value, element: MemInfo, mask: Mask) {
        if self.is_in_halves(records) {
            let packs = self.packs(value);
            let elem = self.out.dfg.ty(packs[0]).elem;
            let halves = self.halves(&packs);
            self.for_halves(records, elem, mask, |this, number, records, mask| {
                let whole = this.interleave(&halves[number]);
                this.store_interleaved_records(records, whole, element, mask);
            });
            return;
        }
        let reversed = records.reversed;
        let mut mask = mask;
        let flat = if self.is_flat(value) { self.flat(value) } else { None };
        let whole = if let Some(flat) = flat {
            flat
        } else {
            let mut packs = self.packs(value);
            if reversed {
                packs = packs.iter().map(|&pack| self.reverse(pack)).collect();
                mask = mask.map(|mask| self.reverse(mask));
            }
            self.interleave(&packs)
        };
        self.store_interleaved_records(records, whole, element, mask);
    }

    /// Whether the first elements of records, but not all of them, are stored at once: under a mask that leaves the gaps alone.
    pub(super) fn stores_beside_gaps(&self, records: Records, ty: Type, mem: MemInfo, mask: Mask) -> bool {
        let Records { step, reversed, .. } = records;
        // The mask of lanes is spread to the elements of records: as much work as a scatter of one element of four.
        let is_dense = mask.is_none() || step <= 2 * ty.lanes();
        let plain = !mem.volatile && !ty.is_bool();
        step > ty.lanes() && is_dense && plain && !reversed && self.machine.masks_stores(ty.elem.bits())
    }

    /// Stores the first elements of records.
    pub(super) fn store_beside_gaps(&mut self, records: Records, value: Value, element: MemInfo, mask: Mask) {
        let packs = self.packs(value);
        let elem = self.out.dfg.ty(packs[0]).elem;
        if !self.is_in_halves(records) {
            return self.store_packs_beside_gaps(records, &packs, element, mask);
        }
        let halves = self.halves(&packs);
        self.for_halves(records, elem, mask, |this, number, records, mask| {
            this.store_packs_beside_gaps(records, &halves[number], element, mask);
        });
    }

    fn store_packs_beside_gaps(&mut self, records: Records, packs: &[Value], element: MemInfo, mask: Mask) {
        let Records { start, step, .. } = records;
        let stored = packs.len() as u32;
        let count = step * (self.width - 1) + stored;
        let whole = if let &[only] = packs {
            let lanes: SmallVec<[u8; 64]> = (0..count).map(|i| (i / step) as u8).collect();
            self.at().shuffle(only, only, &lanes)
        } else {
            let ty = self.out.dfg.ty(packs[0]);
            let mut all = Packs::from_slice(packs);
            for _ in stored..step {
                let gap = self.at().undef(ty);
                all.push(gap);
            }
            let whole = self.interleave(&all);
            let lanes: SmallVec<[u8; 64]> = (0..count).map(|i| i as u8).collect();
            self.at().shuffle(whole, whole, &lanes)
        };
        let mask = self.mask_or_all(mask);
        let mask = self.spread_mask(mask, step, stored, count);
        self.at().inst(Opcode::MaskedStore, &[start, whole, mask], Imm::Mem(element), &[]);
    }

    fn store_interleaved_records(&mut self, records: Records, whole: Value, element: MemInfo, mask: Mask) {
        let Records { start, step, .. } = records;
        let lanes = mask.map(|mask| self.spread_mask(mask, step, step, step * self.width));
        match lanes {
            None => drop(self.at().store(start, whole, element)),
            Some(lanes) => {
                self.at().inst(Opcode::MaskedStore, &[start, whole, lanes], Imm::Mem(element), &[]);
            }
        }
    }

    /// Interleaves components to contiguous records.
    pub(super) fn interleave(&mut self, packs: &[Value]) -> Value {
        if let [only] = packs {
            return *only;
        }
        let width = self.width as usize;
        let words = self.out.dfg.ty(packs[0]).elem.bytes() >= 4;
        if words && packs.len() > 2 && packs.len().is_multiple_of(2) {
            // Even and odd components first, whose lanes then alternate. Shuffles of smaller lanes of two registers are slow.
            let half = |first: usize| -> Packs { packs.iter().copied().skip(first).step_by(2).collect() };
            let (even, odd) = (self.interleave(&half(0)), self.interleave(&half(1)));
            let count = packs.len() / 2 * width;
            let lanes: SmallVec<[u8; 64]> = (0..count).flat_map(|i| [i as u8, (count + i) as u8]).collect();
            return self.at().shuffle(even, odd, &lanes);
        }
        // Components are concatenated first; the last shuffle sorts them by lane.
        let mut joined: Vec<(Value, usize)> = packs.iter().map(|&pack| (pack, 1)).collect();
        while joined.len() > 2 {
            joined = joined
                .chunks(2)
                .map(|pair| match *pair {
                    [(a, n), (b, m)] => {
                        let b = self.padded(b, m, n);
                        let lanes: SmallVec<[u8; 64]> = self.concatenation(n + m);
                        (self.at().shuffle(a, b, &lanes), n + m)
                    }
                    _ => pair[0],
                })
                .collect();
        }
        let [(a, n), (b, m)] = joined[..] else { unreachable!("broken invariant: components were joined to two") };
        let lanes: SmallVec<[u8; 64]> = (0..width)
            .flat_map(|lane| {
                let first = (0..n).map(move |c| c * width + lane);
                let second = (0..m).map(move |c| n * width + c * width + lane);
                first.chain(second)
            })
            .map(|i| i as u8)
            .collect();
        let b = self.padded(b, m, n);
        self.at().shuffle(a, b, &lanes)
    }

    /// Pads a concatenation of packs to more packs, because the operands of a shuffle have one type.
    fn padded(&mut self, vector: Value, packs: usize, wanted: usize) -> Value {
        if packs == wanted {
            return vector;
        }
        let last = packs * self.width as usize - 1;
        let fill: SmallVec<[u8; 64]> = (0..wanted * self.width as usize).map(|i| i.min(last) as u8).collect();
        self.at().shuffle(vector, vector, &fill)
    }

    /// The lane numbers of as many concatenated packs.
    fn concatenation(&self, packs: usize) -> SmallVec<[u8; 64]> {
        (0..packs * self.width as usize).map(|i| i as u8).collect()
    }
}
