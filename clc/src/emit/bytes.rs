//! Constants as bytes, for unions: a value of one member is the contents of another.

use super::Id;
use super::module::ModuleBuilder;
use crate::tree::Constant;
use crate::types::{Scalar, Ty, TypeKind};
use spirv::Op;

impl ModuleBuilder<'_> {
    /// Stores a constant of a type at an offset. `None` if it contains an address.
    pub(super) fn store_bytes(&self, ty: Ty, constant: &Constant, at: u64, bytes: &mut [u8]) -> Option<()> {
        let types = &self.source.types;
        let mut put = |at: u64, width: u64, bits: u64| {
            for (index, byte) in bits.to_le_bytes().into_iter().take(width as usize).enumerate() {
                if let Some(place) = bytes.get_mut(at as usize + index) {
                    *place = byte;
                }
            }
        };
        match constant {
            Constant::Zero | Constant::Undefined => {}
            Constant::Scalar(bits) => put(at, types.layout(ty)?.size, *bits),
            Constant::Vector(lanes) => {
                let width = u64::from(types.lanes(ty)?.0.bytes());
                lanes.iter().zip(0..).for_each(|(bits, lane)| put(at + lane * width, width, *bits));
            }
            Constant::Bytes(list) => list.iter().zip(0..).for_each(|(byte, index)| put(at + index, 1, (*byte).into())),
            Constant::Aggregate(parts) => {
                if let TypeKind::Record(id) = types.kind(ty) {
                    for (part, field) in parts.iter().zip(&types.record(*id).fields) {
                        self.store_bytes(field.ty.ty, part, at + field.offset, bytes)?;
                    }
                }
                if let TypeKind::Array(element, _) = types.kind(ty) {
                    let size = types.layout(element.ty)?.size;
                    for (part, index) in parts.iter().zip(0..) {
                        self.store_bytes(element.ty, part, at + size * index, bytes)?;
                    }
                }
            }
            Constant::Union(field, value) => {
                if let TypeKind::Record(id) = types.kind(ty) {
                    let field = types.record(*id).fields.get(*field as usize)?;
                    self.store_bytes(field.ty.ty, value, at, bytes)?;
                }
            }
            Constant::Address(_) => return None,
        }
        Some(())
    }

    /// The constant in memory of a type whose contents are bytes.
    pub(super) fn constant_from_bytes(&mut self, ty: Ty, bytes: &[u8], at: u64) -> Id {
        let source = self.source;
        let size = source.types.layout(ty).map_or(0, |layout| layout.size);
        let part = bytes.get(at as usize..(at + size) as usize).unwrap_or(&[]);
        if part.iter().all(|byte| *byte == 0) {
            return self.memory_zero(ty);
        }
        let read = |at: u64, width: u64| {
            let bytes = bytes.iter().skip(at as usize).take(width as usize);
            bytes.rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
        };
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other types are those of single values")]
        match source.types.kind(ty) {
            TypeKind::Array(element, Some(count)) => {
                let step = source.types.layout(element.ty).map_or(0, |layout| layout.size);
                let ids: Vec<Id> =
                    (0..*count).map(|index| self.constant_from_bytes(element.ty, bytes, at + index * step)).collect();
                let ty = self.memory_type_id(ty);
                self.unique(Op::ConstantComposite, ty, &ids)
            }
            TypeKind::Record(id) => {
                let struct_id = self.memory_type_id(ty);
                let Some(map) = self.records.get(id).cloned() else { return self.memory_zero(ty) };
                let mut end = at;
                let mut ids = Vec::with_capacity(map.members.len());
                for (member, origin) in map.members.iter().zip(&map.origins) {
                    let field = origin.and_then(|field| source.types.record(*id).fields.get(field as usize));
                    let size = self.memory_layout(*member).size;
                    match field {
                        Some(field) => {
                            end = at + field.offset;
                            ids.push(self.constant_from_bytes(field.ty.ty, bytes, end));
                        }
                        None => ids.push(self.byte_array(*member, bytes, end, size)),
                    }
                    end += size;
                }
                self.unique(Op::ConstantComposite, struct_id, &ids)
            }
            _ => match source.types.lanes(ty) {
                Some((scalar, lanes)) if lanes > 1 => {
                    let width = u64::from(scalar.bytes());
                    let ids: Vec<Id> =
                        (0..u64::from(lanes)).map(|lane| self.scalar(scalar, read(at + lane * width, width))).collect();
                    let ty = self.memory_type_id(ty);
                    self.unique(Op::ConstantComposite, ty, &ids)
                }
                _ => self.memory_constant(ty, &Constant::Scalar(read(at, size))),
            },
        }
    }

    fn byte_array(&mut self, ty: Id, bytes: &[u8], at: u64, size: u64) -> Id {
        let ids: Vec<Id> = (at..at + size)
            .map(|at| self.scalar(Scalar::UChar, bytes.get(at as usize).copied().unwrap_or(0).into()))
            .collect();
        self.unique(Op::ConstantComposite, ty, &ids)
    }
}
