//! Records as `OpTypeStruct` with exactly the layout that the language gives them: where the natural layout of the members
//! differs, padding is a member, and a structure that must not have alignment is packed. Consumers need no offsets.

use spirv::{Decoration, Op};

use super::Id;
use super::module::ModuleBuilder;
use super::types::MemoryLayout;
use crate::types::{Record, RecordId};

/// How a field is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldPlace {
    /// It is a member of the structure.
    Member(u32),
    /// It lies at its offset, in bytes of other members.
    Bytes,
}

/// A record's type.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordMap {
    /// How its fields are reached.
    pub fields: Vec<FieldPlace>,
    /// The types of all members, padding included.
    pub members: Vec<Id>,
    /// The field that each member is; `None` for padding.
    pub origins: Vec<Option<u32>>,
}

/// Members under construction.
struct Layouter {
    packed: bool,
    end: u64,
    align: u32,
    is_plain: bool,
    map: RecordMap,
}

impl Layouter {
    fn new(packed: bool, fields: usize) -> Self {
        let map = RecordMap { fields: vec![FieldPlace::Bytes; fields], ..RecordMap::default() };
        Self { packed, end: 0, align: 1, is_plain: true, map }
    }

    /// Adds a member if its natural place is not behind `offset`; before that, padding.
    fn member(&mut self, module: &mut ModuleBuilder<'_>, field: u32, ty: Id, offset: u64) -> bool {
        let layout = module.memory_layout(ty);
        let align = if self.packed { 1 } else { layout.align };
        let natural = |end: u64| end.checked_next_multiple_of(align.into()).unwrap_or(u64::MAX);
        if natural(self.end) < offset {
            self.pad(module, offset - self.end);
        }
        if natural(self.end) != offset {
            return false;
        }
        if let Some(place) = self.map.fields.get_mut(field as usize) {
            *place = FieldPlace::Member(self.map.members.len() as u32);
        }
        self.map.members.push(ty);
        self.map.origins.push(Some(field));
        self.end = offset.saturating_add(layout.size);
        self.align = self.align.max(align);
        self.is_plain &= layout.is_plain;
        true
    }

    fn pad(&mut self, module: &mut ModuleBuilder<'_>, bytes: u64) {
        let byte = module.int_type(8);
        let padding = module.array_type(byte, bytes);
        self.map.members.push(padding);
        self.map.origins.push(None);
        self.end += bytes;
        self.is_plain = false;
    }

    /// Pads to the whole size; whether that is possible.
    fn finish(&mut self, module: &mut ModuleBuilder<'_>, size: u64) -> bool {
        let natural = self.end.checked_next_multiple_of(self.align.into()).unwrap_or(u64::MAX);
        if natural < size {
            self.pad(module, size - self.end);
        }
        self.end.checked_next_multiple_of(self.align.into()) == Some(size)
    }
}

impl ModuleBuilder<'_> {
    /// The type of a record.
    pub(super) fn record_type(&mut self, id: RecordId) -> Id {
        let record = self.source.types.record(id);
        if !record.is_complete {
            return self.int_type(8);
        }
        self.open_records.push(id);
        let mut types = Vec::with_capacity(record.fields.len());
        for field in &record.fields {
            let Some(ty) = self.nested(|this| this.memory_type_id(field.ty.ty)) else { break };
            types.push(ty);
        }
        self.open_records.pop();
        let layouter = match self.lay_out(record, &types, record.is_packed) {
            Some(layouter) => layouter,
            // Alignments above the record's, by `#pragma pack` or `aligned`: every byte is placed explicitly.
            None => self.lay_out(record, &types, true).unwrap_or_else(|| Layouter::new(true, record.fields.len())),
        };
        let Layouter { packed, align, is_plain, map, .. } = layouter;
        let struct_id = self.fresh();
        self.globals.push_parts(Op::TypeStruct, &[&[struct_id], &map.members]);
        if packed {
            self.decorate(struct_id, Decoration::CPacked, &[]);
        }
        let name = record.name.map_or("", |name| self.session.names.text(name));
        if !name.is_empty() {
            let kind = if record.is_union { "union." } else { "struct." };
            self.name(struct_id, &format!("{kind}{name}"));
        }
        self.layouts.insert(struct_id, MemoryLayout { size: record.layout.size, align, is_plain });
        self.records.insert(id, map);
        let mut index = 0;
        while let Some(&(class, to, pointer)) = self.forward_pointers.get(index) {
            if to == id {
                self.forward_pointers.remove(index);
                self.adopt(Op::TypePointer, &[class as u32, struct_id], pointer);
            } else {
                index += 1;
            }
        }
        struct_id
    }

    fn lay_out(&mut self, record: &Record, types: &[Id], packed: bool) -> Option<Layouter> {
        let mut layouter = Layouter::new(packed, record.fields.len());
        if record.is_union {
            // The most aligned field, and of these the largest, stands for all; the others are reached through its bytes.
            let layout = |ty: &Id| {
                let layout = self.memory_layout(*ty);
                (layout.align, layout.size)
            };
            let main = types.iter().enumerate().max_by_key(|(index, ty)| (layout(ty), std::cmp::Reverse(*index)));
            if let Some((index, ty)) = main
                && self.source.types.layout(record.fields[index].ty.ty).is_some_and(|layout| layout.size > 0)
                && !layouter.member(self, index as u32, *ty, 0)
            {
                return None;
            }
            if record.fields.len() > 1 {
                layouter.is_plain = false;
            }
        } else {
            for (index, (field, ty)) in record.fields.iter().zip(types).enumerate() {
                // Flexible array members have no bytes of their own.
                let is_empty = self.source.types.layout(field.ty.ty).is_none_or(|layout| layout.size == 0);
                if !is_empty && !layouter.member(self, index as u32, *ty, field.offset) {
                    return None;
                }
            }
        }
        layouter.finish(self, record.layout.size).then_some(layouter)
    }
}
