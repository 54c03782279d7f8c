//! Ids of work-items and packs, which follow from the counters of the loops around them.

use clift_kir::{Block, Opcode, Slot, Type, Value};

use super::{GroupEnv, ItemKey, LevelKey, Levels};
use crate::spmd::workgroup::context::SlotLocation;

impl GroupEnv<'_> {
    /// A value of the work-item or pack, made once in each nest of loops.
    pub(super) fn memoize_item(
        &mut self,
        levels: &mut Levels,
        key: ItemKey,
        make: impl FnOnce(&mut Self, &mut Levels) -> Value,
    ) -> Value {
        if let Some(&value) = levels.memo.get(&key) {
            return value;
        }
        let value = make(self, levels);
        levels.memo.insert(key, value);
        value
    }

    /// The sum of a value and an id, which may be absent.
    fn plus_id(&mut self, base: Value, id: Option<Value>, level: Block) -> Value {
        match id {
            None => base,
            Some(id) => self.at(level).int2(Opcode::Iadd, base, id),
        }
    }

    pub(super) fn local_id(&mut self, levels: &Levels, dim: u8) -> Value {
        match levels.ids[usize::from(dim)] {
            Some(id) => id,
            None => self.int(0),
        }
    }

    pub(super) fn global_id(&mut self, levels: &mut Levels, dim: u8) -> Value {
        self.memoize_item(levels, ItemKey::GlobalId(dim), |env, levels| {
            let origin = env.origin(dim);
            let level = if dim == 0 { levels.item } else { levels.blocks[usize::from(dim)] };
            env.plus_id(origin, levels.ids[usize::from(dim)], level)
        })
    }

    /// The local linear id of the first work-item in the row.
    fn row(&mut self, levels: &mut Levels) -> Value {
        self.memoize_item(levels, ItemKey::Row, |env, levels| {
            if levels.ids[1].is_none() && levels.ids[2].is_none() {
                return env.int(0);
            }
            let level = levels.blocks[1];
            let rows = env.row_number(levels);
            let width = env.group_size(0);
            env.at(level).int2(Opcode::Imul, rows, width)
        })
    }

    /// The number of the row, multiplied by the number of lanes in its packs.
    fn padded_row(&mut self, levels: &mut Levels) -> Value {
        if self.packing.whole {
            return self.row(levels);
        }
        let width = i64::from(self.packing.lanes);
        let row = self.row_number(levels);
        let packs = self.packs_per_row();
        let level = levels.blocks[1];
        let lanes = self.int(width);
        let mut b = self.at(level);
        let packs = b.int2(Opcode::Imul, row, packs);
        b.int2(Opcode::Imul, packs, lanes)
    }

    /// The number of packs in a row of this group.
    fn packs_per_row(&mut self) -> Value {
        let size = self.loop_size(0);
        self.memoize(LevelKey::PacksPerRow, |env| {
            let group = env.group;
            env.packs_for(size, group)
        })
    }

    /// The number of packs for so many work-items of a row.
    fn packs_for(&mut self, items: Value, level: Block) -> Value {
        if self.packing.lanes == 1 {
            return items;
        }
        let rest = self.int(i64::from(self.packing.lanes - 1));
        let shift = self.int(i64::from(self.packing.lanes.trailing_zeros()));
        let mut b = self.at(level);
        let up = b.int2(Opcode::Iadd, items, rest);
        b.int2(Opcode::Lshr, up, shift)
    }

    /// The number of the row within the group.
    fn row_number(&mut self, levels: &mut Levels) -> Value {
        let level = levels.blocks[1];
        let plane = levels.ids[2].map(|z| {
            let height = self.group_size(1);
            self.at(level).int2(Opcode::Imul, z, height)
        });
        match (plane, levels.ids[1]) {
            (Some(plane), Some(y)) => self.at(level).int2(Opcode::Iadd, plane, y),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => self.int(0),
        }
    }

    /// The number of packs in a group of the given sizes.
    pub(super) fn packs_of(&mut self, sizes: [Value; 3], level: Block) -> Value {
        if self.packing.one_row {
            let items = self.items_of(sizes, level);
            return self.packs_for(items, level);
        }
        let row = self.packs_for(sizes[0], level);
        let mut b = self.at(level);
        let rows = b.int2(Opcode::Imul, sizes[2], sizes[1]);
        b.int2(Opcode::Imul, rows, row)
    }

    /// The number of the pack within the group.
    pub(super) fn pack_number(&mut self, levels: &mut Levels) -> Value {
        let row = self.row_number(levels);
        let packs = self.packs_per_row();
        let shift = self.int(i64::from(self.packing.lanes.trailing_zeros()));
        let (x, item) = (self.local_id(levels, 0), levels.item);
        let mut b = self.at(item);
        let before = b.int2(Opcode::Imul, row, packs);
        let within = b.int2(Opcode::Lshr, x, shift);
        b.int2(Opcode::Iadd, before, within)
    }

    /// The number of work-items in the pack, and the level of that value.
    pub(super) fn pack_items(&mut self, levels: &mut Levels) -> (Value, Block) {
        let lanes = self.int(i64::from(self.packing.lanes));
        if self.packing.whole {
            return (lanes, self.entry);
        }
        let (x, size, item) = (self.local_id(levels, 0), self.loop_size(0), levels.item);
        let mut b = self.at(item);
        let left = b.int2(Opcode::Isub, size, x);
        (b.int2(Opcode::Umin, left, lanes), item)
    }

    pub(super) fn local_linear(&mut self, levels: &mut Levels) -> Value {
        self.memoize_item(levels, ItemKey::LocalLinear, |env, levels| {
            if levels.ids[1].is_none() && levels.ids[2].is_none() {
                return env.local_id(levels, 0);
            }
            let row = env.row(levels);
            env.plus_id(row, levels.ids[0], levels.item)
        })
    }

    pub(super) fn global_linear(&mut self, levels: &mut Levels) -> Value {
        self.memoize_item(levels, ItemKey::GlobalLinear, |env, levels| {
            let level = levels.blocks[1];
            let [x, y, z] = [0, 1, 2].map(|dim| env.group_origin(dim));
            let z = env.plus_id(z, levels.ids[2], level);
            let y = env.plus_id(y, levels.ids[1], level);
            let [width, height] = [0u8, 1].map(|dim| env.field(field!(global_size, dim), Type::I64));
            let mut b = env.at(level);
            let plane = b.int2(Opcode::Imul, z, height);
            let rows = b.int2(Opcode::Iadd, plane, y);
            let row = b.int2(Opcode::Imul, rows, width);
            let row = b.int2(Opcode::Iadd, row, x);
            env.plus_id(row, levels.ids[0], levels.item)
        })
    }

    /// The address of the work-item's record in the scratch arena.
    pub(crate) fn record(&mut self, levels: &mut Levels) -> Value {
        self.memoize_item(levels, ItemKey::Record, |env, levels| {
            let records = env.memoize(LevelKey::Records, |env| {
                let base = env.scratch_base();
                let (entry, disp) = (env.entry, env.context.fixed_bytes as i64);
                env.at(entry).addr(base, None, 1, disp)
            });
            let bytes = env.context.item_bytes;
            let row = env.padded_row(levels);
            let level = levels.blocks[1];
            let row = env.at(level).addr(records, Some(row), bytes, 0);
            match levels.ids[0] {
                None => row,
                Some(x) => env.at(levels.item).addr(row, Some(x), bytes, 0),
            }
        })
    }

    pub(super) fn slot_addr(&mut self, levels: &mut Levels, slot: Slot) -> Value {
        match self.context.places[slot] {
            Some(SlotLocation::Item(offset)) => self.memoize_item(levels, ItemKey::ItemSlot(slot), |env, levels| {
                let record = env.record(levels);
                env.at(levels.item).addr(record, None, 1, offset as i64)
            }),
            Some(SlotLocation::Fixed(offset)) => self.memoize(LevelKey::FixedSlot(slot), |env| {
                let base = env.scratch_base();
                let entry = env.entry;
                env.at(entry).addr(base, None, 1, offset as i64)
            }),
            None => unreachable!("broken invariant: {slot} is used and has no place"),
        }
    }
}
