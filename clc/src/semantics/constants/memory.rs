//! Addresses, and reading constant objects.

use super::arithmetic;
use crate::semantics::Checker;
use crate::tree::{Address, AddressBase, Constant, Place, PlaceKind};
use crate::types::{AddressSpace, QualTy, Ty, TypeKind};

impl Checker<'_, '_> {
    /// The address of a place, if the linker knows it.
    pub(super) fn constant_address(&self, place: &Place, depth: u32) -> Option<Address> {
        let depth = depth.checked_sub(1)?;
        match &place.kind {
            // Each work-group has its own variables.
            PlaceKind::Global(_) if place.ty.quals.space == AddressSpace::Local => None,
            PlaceKind::Global(id) => Some(Address { base: AddressBase::Global(*id), offset: 0 }),
            PlaceKind::Deref(pointer) => self.pointer_value(&self.evaluate_within(pointer, depth)?),
            PlaceKind::Index(array, index) => {
                let mut address = self.constant_address(array, depth)?;
                let TypeKind::Array(element, _) = self.module.types.kind(array.ty.ty) else { return None };
                let size = i64::try_from(self.module.types.layout(element.ty)?.size).ok()?;
                let index = self.index_value(index, depth)?;
                address.offset = address.offset.checked_add(index.checked_mul(size)?)?;
                Some(address)
            }
            PlaceKind::Field(record, index) => {
                let mut address = self.constant_address(record, depth)?;
                let TypeKind::Record(id) = self.module.types.kind(record.ty.ty) else { return None };
                let field = self.module.types.record(*id).fields.get(*index as usize)?;
                address.offset = address.offset.checked_add(i64::try_from(field.offset).ok()?)?;
                Some(address)
            }
            PlaceKind::Local(_) | PlaceKind::Lanes(..) | PlaceKind::Lane(..) | PlaceKind::Temporary(..) => None,
        }
    }

    fn index_value(&self, index: &crate::tree::Expr, depth: u32) -> Option<i64> {
        let scalar = self.module.types.lanes(index.ty)?.0;
        let bits = self.evaluate_within(index, depth)?.scalar()?;
        i64::try_from(arithmetic::integer(bits, scalar)).ok()
    }

    /// The value of a place that never changes.
    pub(super) fn read_place(&self, place: &Place, depth: u32) -> Option<Constant> {
        let depth = depth.checked_sub(1)?;
        // Samplers are not values to compute with.
        if place.ty.quals.is_volatile || *self.module.types.kind(place.ty.ty) == TypeKind::Sampler {
            return None;
        }
        match &place.kind {
            PlaceKind::Local(local) => self.states.last()?.constants.get(local).cloned(),
            PlaceKind::Global(id) => {
                let global = self.module.globals.get(id.0 as usize)?;
                // A literal at file scope is named only where it initializes something.
                if !is_constant(global.ty) && !global.name.is_empty() {
                    return None;
                }
                // What is not initialized here may be in another unit.
                global.init.as_ref().filter(|value| **value != Constant::Undefined).cloned()
            }
            PlaceKind::Index(array, index) => {
                let index = usize::try_from(self.index_value(index, depth)?).ok()?;
                self.constant_element(array, index, depth)
            }
            PlaceKind::Field(record, index) => {
                let value = self.read_place(record, depth)?;
                self.member_of(record.ty.ty, &value, *index)
            }
            PlaceKind::Lanes(vector, chosen) => {
                let (_, count) = self.module.types.lanes(vector.ty.ty)?;
                let lanes = self.read_place(vector, depth)?.lanes(count)?;
                let pick = |lane: &u8| lanes.get(usize::from(*lane)).copied().unwrap_or(0);
                Some(Constant::of_lanes(chosen.iter().map(pick).collect()))
            }
            PlaceKind::Lane(vector, index) => {
                let (_, count) = self.module.types.lanes(vector.ty.ty)?;
                let index = usize::try_from(self.index_value(index, depth)?).ok()?;
                Some(Constant::Scalar(*self.read_place(vector, depth)?.lanes(count)?.get(index)?))
            }
            PlaceKind::Temporary(_, value) => self.evaluate_within(value, depth),
            PlaceKind::Deref(pointer) => {
                let address = self.pointer_value(&self.evaluate_within(pointer, depth)?)?;
                let AddressBase::Global(id) = address.base else { return None };
                let global = self.module.globals.get(id.0 as usize)?;
                if !is_constant(global.ty) {
                    return None;
                }
                let value = global.init.as_ref().filter(|value| **value != Constant::Undefined)?;
                self.read_at(global.ty.ty, value, u64::try_from(address.offset).ok()?, place.ty.ty)
            }
        }
    }

    /// An element of an array that never changes; the array itself is not copied.
    fn constant_element(&self, array: &Place, index: usize, depth: u32) -> Option<Constant> {
        let TypeKind::Array(_, Some(count)) = self.module.types.kind(array.ty.ty) else { return None };
        if index as u64 >= *count {
            return None;
        }
        if let PlaceKind::Global(id) = &array.kind {
            let global = self.module.globals.get(id.0 as usize)?;
            let init = global.init.as_ref().filter(|_| is_constant(global.ty))?;
            return element_of(init, index);
        }
        element_of(&self.read_place(array, depth)?, index)
    }

    /// A member of a constant record.
    pub(super) fn member_of(&self, ty: Ty, value: &Constant, index: u32) -> Option<Constant> {
        match value {
            Constant::Zero => Some(Constant::Zero),
            Constant::Union(member, value) => (*member == index).then(|| (**value).clone()),
            Constant::Aggregate(members) => {
                let TypeKind::Record(id) = self.module.types.kind(ty) else { return None };
                let known = (index as usize) < self.module.types.record(*id).fields.len();
                known.then(|| members.get(index as usize).cloned().unwrap_or(Constant::Zero))
            }
            Constant::Undefined
            | Constant::Scalar(_)
            | Constant::Vector(_)
            | Constant::Bytes(_)
            | Constant::Address(_) => None,
        }
    }

    /// The object of a type at an offset of a constant object.
    fn read_at(&self, ty: Ty, value: &Constant, offset: u64, wanted: Ty) -> Option<Constant> {
        if ty == wanted && offset == 0 {
            return Some(value.clone());
        }
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other types have no parts that could be read")]
        match self.module.types.kind(ty) {
            TypeKind::Array(element, Some(count)) => {
                let size = self.module.types.layout(element.ty)?.size;
                let index = offset.checked_div(size)?;
                if index >= *count {
                    return None;
                }
                let inner = element_of(value, usize::try_from(index).ok()?)?;
                self.read_at(element.ty, &inner, offset % size, wanted)
            }
            TypeKind::Record(id) => {
                let fields = &self.module.types.record(*id).fields;
                let inside = |field: &crate::types::Field| {
                    let size = self.module.types.layout(field.ty.ty).map_or(0, |layout| layout.size);
                    field.offset <= offset && offset < field.offset.saturating_add(size)
                };
                let index = fields.iter().position(inside)?;
                let inner = self.member_of(ty, value, index as u32)?;
                self.read_at(fields.get(index)?.ty.ty, &inner, offset - fields.get(index)?.offset, wanted)
            }
            TypeKind::Vector(scalar, count) if wanted == self.module.types.scalar(*scalar) => {
                let lanes = value.lanes(*count)?;
                let index = usize::try_from(offset / u64::from(scalar.bytes())).ok()?;
                offset
                    .is_multiple_of(u64::from(scalar.bytes()))
                    .then(|| lanes.get(index).copied().map(Constant::Scalar))?
            }
            _ => None,
        }
    }
}

/// Whether an object never changes.
fn is_constant(ty: QualTy) -> bool {
    !ty.quals.is_volatile && (ty.quals.is_const || ty.quals.space == AddressSpace::Constant)
}

/// An element of a constant array.
fn element_of(value: &Constant, index: usize) -> Option<Constant> {
    match value {
        Constant::Zero => Some(Constant::Zero),
        Constant::Bytes(bytes) => Some(Constant::Scalar(u64::from(bytes.get(index).copied().unwrap_or(0)))),
        Constant::Aggregate(elements) => Some(elements.get(index).cloned().unwrap_or(Constant::Zero)),
        Constant::Undefined
        | Constant::Scalar(_)
        | Constant::Vector(_)
        | Constant::Union(..)
        | Constant::Address(_) => None,
    }
}
