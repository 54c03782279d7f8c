//! What a work-item keeps between regions, and where: the layout of the scratch arena.
//!
//! A value that is live into a region is
//!
//! - *recomputed* there if that is cheap and depends only on constants, arguments, queries and addresses;
//! - *carried* in SSA form from loop to loop if it is uniform in the group and all work-items go from region to region together;
//! - *shared* in one location of the arena if it is the result of a reduction over the group, and work-items do not go together;
//! - otherwise kept in a *context slot* of the work-item. Two values that are never both live into one region may have the same
//!   slot.
//!
//! The arena contains, in this order: the counters of round-robin scheduling, one copy of each private variable that needs no
//! more, shared values, then one record per work-item with its next region (if work-items do not go together), its private
//! variables and its context slots.

use clift_kir::analysis::Liveness;
use clift_kir::inst::Imm;
use clift_kir::{Block, Elem, Slot, Type, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashMap;

use super::Packing;
use super::private::{self, SlotCopies};
use super::regions::{EntryRule, Region, RegionId, Regions};
use crate::BuildError;
use crate::spmd::class::{Class, class, varies_along_x};

/// How a value reaches the regions that it is live into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// It is recomputed.
    Recomputed,
    /// It is passed along in SSA form, once for the group.
    Carried,
    /// At this offset of the arena, once for the group: the result of a reduction over the group.
    Shared(u64),
    /// In a context slot, at this offset of the work-item's record.
    Slot(u64),
}

/// The location of a private variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SlotLocation {
    /// At an offset of the arena.
    Fixed(u64),
    /// At an offset of the work-item's record.
    Item(u64),
}

/// The counters of a group for round-robin scheduling, 4 bytes each, at offsets of the arena. All are zero when a group begins.
#[derive(Clone, Debug)]
pub(crate) struct RoundRobinCounters {
    /// Passes over the packs since one of them made progress.
    pub(crate) idle_passes: u64,
    /// Packs that have reached the end of the kernel.
    pub(crate) ended: u64,
    /// For each region that all packs run together, how many have arrived.
    pub(crate) arrived: Vec<Option<u64>>,
}

impl RoundRobinCounters {
    /// The offsets of all counters.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = u64> + '_ {
        [self.idle_passes, self.ended].into_iter().chain(self.arrived.iter().copied().flatten())
    }
}

/// The layout of scratch memory, and how each value that is live across a region boundary is kept.
#[derive(Debug)]
pub(crate) struct ContextLayout {
    /// The values that are live into each region, including parameters of its start.
    pub(crate) live: Vec<Vec<Value>>,
    /// The same in ascending order.
    live_sorted: Vec<Vec<Value>>,
    /// How each of them is kept.
    pub(crate) kept: SecondaryMap<Value, Option<Kept>>,
    /// The locations of private variables.
    pub(crate) places: SecondaryMap<Slot, Option<SlotLocation>>,
    /// The offset in a record of the next region's number.
    pub(crate) state: u64,
    /// The counters for round-robin scheduling, if it is used and the kernel has barriers.
    pub(crate) round_robin: Option<RoundRobinCounters>,
    /// Bytes before the records.
    pub(crate) fixed_bytes: u64,
    /// Bytes per record.
    pub(crate) item_bytes: u64,
    /// The alignment that the arena needs: 1 if it is empty.
    pub(crate) align: u64,
    /// Bytes of private variables per work-item.
    pub(crate) private_bytes: u64,
}

impl ContextLayout {
    /// Lays out the scratch arena for a kernel.
    ///
    /// # Errors
    /// [`BuildError::Limit`] if private variables overflow any address space.
    pub(crate) fn new(regions: &Regions, packing: Packing) -> Result<ContextLayout, BuildError> {
        let func = &regions.func;
        let mut starts: EntitySet<Block> = EntitySet::new();
        starts.extend(regions.list.iter().map(|region| region.start));
        // Nothing is alive at the entry; of kernels without barriers, large loops need not be searched.
        let several = regions.list.iter().any(|region| Some(region.start) != func.layout.entry());
        let liveness = several.then(|| Liveness::of(func, &regions.cfg, |_| true, |block| starts.contains(block)));
        let live: Vec<Vec<Value>> = regions
            .list
            .iter()
            .map(|region| {
                let live_in = liveness.as_ref().map_or(&[][..], |liveness| liveness.live_in(region.start));
                let mut values: Vec<Value> = live_in.to_vec();
                values.extend(func.dfg.params(region.start));
                values
            })
            .collect();
        // Not sets with a bit for each value of the function: there may be thousands of regions.
        let mut live_sorted = live.clone();
        live_sorted.iter_mut().for_each(|values| values.sort_unstable());
        let mut context = ContextLayout {
            live,
            live_sorted,
            kept: SecondaryMap::new(),
            places: SecondaryMap::new(),
            state: 0,
            round_robin: None,
            fixed_bytes: 0,
            item_bytes: 0,
            align: 1,
            private_bytes: 0,
        };
        let mut fixed = Area::default();
        let mut item = Area::default();
        if !regions.lockstep {
            context.state = item.take(4, 4)?;
        }
        let is_limited = |region: &Region| match region.entry_rule {
            EntryRule::Any => false,
            EntryRule::All | EntryRule::Checked => true,
        };
        if regions.round_robin && regions.list.iter().any(is_limited) {
            let (idle_passes, ended) = (fixed.take(4, 4)?, fixed.take(4, 4)?);
            let arrived = regions
                .list
                .iter()
                .map(|region| (region.entry_rule == EntryRule::All).then(|| fixed.take(4, 4)).transpose());
            context.round_robin =
                Some(RoundRobinCounters { idle_passes, ended, arrived: arrived.collect::<Result<_, _>>()? });
        }
        context.place_slots(regions, &mut fixed, &mut item)?;
        context.keep_values(regions, &mut fixed, &mut item)?;
        let align = fixed.align.max(item.align).max(1);
        context.align = align;
        let lanes = u64::from(packing.lanes);
        context.fixed_bytes = round_up(fixed.bytes, item.align)?;
        // The size of a pack's record is given per work-item.
        context.item_bytes = round_up(item.bytes, item.align.max(lanes))? / lanes;
        Ok(context)
    }

    fn place_slots(&mut self, regions: &Regions, fixed: &mut Area, item: &mut Area) -> Result<(), BuildError> {
        let copies = private::copies(regions);
        let mut slots: Vec<Slot> = regions.func.slots.keys().collect();
        slots.sort_by_key(|&slot| std::cmp::Reverse(regions.func.slots[slot].align));
        for slot in slots {
            let data = regions.func.slots[slot];
            self.places[slot] = match copies[slot] {
                SlotCopies::None => continue,
                SlotCopies::One => Some(SlotLocation::Fixed(fixed.take(data.size, u64::from(data.align))?)),
                SlotCopies::PerItem => Some(SlotLocation::Item(item.take(data.size, u64::from(data.align))?)),
            };
            self.private_bytes += data.size;
        }
        Ok(())
    }

    fn keep_values(&mut self, regions: &Regions, fixed: &mut Area, item: &mut Area) -> Result<(), BuildError> {
        let costs = costs(regions);
        // For each value that needs a slot, the regions that it is live into.
        let mut spilled: Vec<(Value, EntitySet<RegionIndex>)> = Vec::new();
        let mut index: SecondaryMap<Value, usize> = SecondaryMap::new();
        for (id, values) in self.live.iter().enumerate() {
            for &value in values {
                let kept = match self.kept[value] {
                    Some(kept) => kept,
                    None if costs[value].is_some() => Kept::Recomputed,
                    None if regions.lockstep && regions.divergence.is_uniform(value) => Kept::Carried,
                    None if regions.is_reduction_result(value) => {
                        let (align, bytes) = slot_layout(regions.func.dfg.ty(value));
                        Kept::Shared(fixed.take(bytes, align)?)
                    }
                    None => {
                        spilled.push((value, EntitySet::new()));
                        index[value] = spilled.len() - 1;
                        Kept::Slot(0)
                    }
                };
                self.kept[value] = Some(kept);
                if let Kept::Slot(_) = kept {
                    spilled[index[value]].1.insert(RegionIndex::from_u32(id as u32));
                }
            }
        }
        // The largest first, so that no padding is needed.
        spilled.sort_by_key(|(value, _)| std::cmp::Reverse(slot_layout(regions.func.dfg.ty(*value))));
        let wanted: FxHashMap<Value, &EntitySet<RegionIndex>> =
            spilled.iter().map(|(value, at)| (*value, at)).collect();
        let related_values = related_values(regions, |value| wanted.contains_key(&value));
        let mut slots: Vec<ContextSlot> = Vec::new();
        let mut slot_of: FxHashMap<Value, usize> = FxHashMap::default();
        for (value, wanted) in &spilled {
            let (align, bytes) = slot_layout(regions.func.dfg.ty(*value));
            let fits = |slot: &ContextSlot| {
                slot.bytes == bytes && slot.align >= align && wanted.iter().all(|id| !slot.taken.contains(id))
            };
            // A value that is passed to a block parameter costs nothing if both have the same slot.
            let related =
                related_values.get(value).into_iter().flatten().filter_map(|related| slot_of.get(related).copied());
            let index = related.into_iter().find(|&i| fits(&slots[i])).or_else(|| slots.iter().position(fits));
            let index = match index {
                Some(index) => index,
                None => {
                    let offset = item.take(bytes, align)?;
                    slots.push(ContextSlot { offset, bytes, align, taken: EntitySet::new() });
                    slots.len() - 1
                }
            };
            slots[index].taken.extend(wanted.iter());
            slot_of.insert(*value, index);
            self.kept[*value] = Some(Kept::Slot(slots[index].offset));
        }
        Ok(())
    }

    /// Whether a value is live into a region.
    pub(crate) fn live_into(&self, region: RegionId, value: Value) -> bool {
        self.live_sorted[region].binary_search(&value).is_ok()
    }

    /// The values that must be passed on the way into a region: those that are live into it and carried.
    pub(crate) fn carried_into(&self, region: RegionId) -> impl Iterator<Item = Value> + '_ {
        self.live[region].iter().copied().filter(|&v| self.kept[v] == Some(Kept::Carried))
    }
}

/// A location in the work-item's record, and the regions that its values are live into.
struct ContextSlot {
    offset: u64,
    bytes: u64,
    align: u64,
    taken: EntitySet<RegionIndex>,
}

/// For each wanted value, the block parameters that get it and the arguments that it gets.
fn related_values(regions: &Regions, wanted: impl Fn(Value) -> bool) -> FxHashMap<Value, Vec<Value>> {
    let func = &regions.func;
    let mut related_values: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    for &block in regions.cfg.rpo() {
        let targets = func.layout.terminator(block).map(|inst| func.dfg.targets(inst)).unwrap_or_default();
        for target in targets {
            for (&param, &arg) in func.dfg.params(target.block).iter().zip(&target.args) {
                if wanted(param) && wanted(arg) {
                    related_values.entry(param).or_default().push(arg);
                    related_values.entry(arg).or_default().push(param);
                }
            }
        }
    }
    related_values
}

/// A [`RegionId`] as an element of a set.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RegionIndex(u32);
cranelift_entity::entity_impl!(RegionIndex);

/// The type of a value in a context slot: Booleans become bytes.
pub(crate) fn memory_type(ty: Type) -> Type {
    if ty.is_bool() { ty.with_elem(Elem::I8) } else { ty }
}

/// The alignment and the size of a context slot.
fn slot_layout(ty: Type) -> (u64, u64) {
    let ty = memory_type(ty);
    (u64::from(slot_align(ty)), u64::from(ty.bytes()))
}

/// The alignment of a context slot: vectors with a power of two of lanes are aligned as a whole, up to a cache line.
pub(crate) fn slot_align(ty: Type) -> u32 {
    let ty = memory_type(ty);
    if ty.lanes().is_power_of_two() { ty.bytes().min(64) } else { ty.elem.bytes() }
}

/// Memory that is allocated from the front.
#[derive(Default)]
struct Area {
    bytes: u64,
    align: u64,
}

impl Area {
    fn take(&mut self, bytes: u64, align: u64) -> Result<u64, BuildError> {
        let offset = round_up(self.bytes, align)?;
        self.bytes = offset.checked_add(bytes).filter(|&end| end <= i64::MAX as u64).ok_or_else(too_large)?;
        self.align = self.align.max(align);
        Ok(offset)
    }
}

/// The next multiple of an alignment (0 counts as 1).
pub(crate) fn round_up(bytes: u64, align: u64) -> Result<u64, BuildError> {
    bytes.checked_next_multiple_of(align.max(1)).filter(|&n| n <= i64::MAX as u64).ok_or_else(too_large)
}

fn too_large() -> BuildError {
    BuildError::Limit("its private or local variables are too large".to_owned())
}

/// The cost of recomputing a value, beyond constants, arguments and queries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cost {
    /// All instructions.
    all: u32,
    /// Instructions that depend on the position in the row. The others are hoisted out of the innermost loop.
    inner: u32,
    /// Whether the value depends on the position in the row.
    varies: bool,
}

impl Cost {
    const FREE: Cost = Cost { all: 0, inner: 0, varies: false };

    fn plus(self, other: Cost) -> Cost {
        Cost { all: self.all + other.all, inner: self.inner + other.inner, varies: self.varies || other.varies }
    }
}

/// The most instructions of a recomputed value that are executed for each work-item, and the most in total.
const LIMITS: (u32, u32) = (4, 12);
/// The same for Booleans, which take more instructions to store and load: as bytes.
const BOOLEAN_LIMITS: (u32, u32) = (8, 16);

/// The cost of recomputing each value; `None` if keeping it is cheaper, or if it depends on anything else.
fn costs(regions: &Regions) -> SecondaryMap<Value, Option<Cost>> {
    let func = &regions.func;
    let mut costs: SecondaryMap<Value, Option<Cost>> = SecondaryMap::with_capacity(func.dfg.value_count());
    // In this order, operands come before their users. Block parameters are not recomputed; they stay `None`.
    for &inst in regions.cfg.rpo().iter().flat_map(|&block| func.layout.insts(block)) {
        let data = func.dfg.inst(inst);
        let Some(result) = func.dfg.single_result(inst) else { continue };
        let own = match class(data.op) {
            Class::Constant | Class::Arg | Class::ArgAddr | Class::GlobalAddr => Cost::FREE,
            Class::SlotAddr => Cost { varies: true, ..Cost::FREE },
            Class::Query(query) => Cost { varies: varies_along_x(query, &data.imm), ..Cost::FREE },
            Class::Cheap => Cost { all: 1, ..Cost::FREE },
            Class::Load => {
                if let Imm::Mem(mem) = data.imm
                    && mem.invariant
                    && !mem.volatile
                {
                    Cost { all: 1, ..Cost::FREE }
                } else {
                    continue;
                }
            }
            Class::InSpace
            | Class::Plain
            | Class::Barrier
            | Class::NamedBarrier
            | Class::Yield
            | Class::Collective
            | Class::Branch
            | Class::End
            | Class::Image => continue,
        };
        let cost = data.args.iter().try_fold(own, |sum, &arg| Some(sum.plus(costs[arg]?)));
        costs[result] = cost
            .map(|cost| if cost.varies { Cost { inner: cost.inner + own.all, ..cost } } else { cost })
            .filter(|cost| {
                let (inner, all) = if func.dfg.ty(result).is_bool() { BOOLEAN_LIMITS } else { LIMITS };
                cost.inner <= inner && cost.all <= all
            });
    }
    costs
}
