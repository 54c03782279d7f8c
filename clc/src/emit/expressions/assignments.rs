//! Stores, initializers, and aggregates.

use spirv::Op;

use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::emit::places::{Memory, Storage, Target};
use crate::tree::{BinaryOp, Constant, Expr, ExprKind, Place, PlaceKind};
use crate::types::{FloatFormat, QualTy, Scalar, Ty, TypeKind};

impl FunctionEmitter<'_, '_> {
    /// `place = value`; the value stored, if it is used.
    pub(super) fn assign(&mut self, place: &Place, value: &Expr, is_used: bool) -> Id {
        if let Some(from) = self.copied(value) {
            let source = self.place(from);
            let target = self.place(place);
            self.at(place.span);
            if let (Target::Memory(target), Target::Memory(source)) = (&target, &source) {
                self.copy(target, source);
                return if is_used { self.read_memory(target) } else { 0 };
            }
            let value = self.read(&source, from.ty.ty);
            self.write(&target, value, place.ty.ty);
            return value;
        }
        let stored = self.value(value);
        let target = self.place(place);
        self.at(place.span);
        self.write(&target, stored, place.ty.ty);
        stored
    }

    /// The place that an assignment copies as memory, if it does.
    fn copied<'e>(&mut self, value: &'e Expr) -> Option<&'e Place> {
        let ExprKind::Load(place) = &value.kind else { return None };
        self.is_copied(value.ty).then_some(place)
    }

    /// Initializes a variable.
    pub(super) fn init(&mut self, place: &Place, value: &Expr) {
        if let PlaceKind::Local(local) = place.kind {
            let index = local.0 as usize;
            // Samplers do not change, and have no memory in SPIR-V.
            if let TypeKind::Sampler = self.module.source.types.kind(place.ty.ty) {
                let sampler = self.value(value);
                if let Some(storage) = self.locals.get_mut(index) {
                    *storage = Storage::Value(sampler);
                }
                return;
            }
            if let TypeKind::BlockPointer(_) = self.module.source.types.kind(place.ty.ty) {
                self.know_block(local, value);
            }
            if self.make_table(local, place.ty.ty, value) {
                return;
            }
        }
        if let Target::Memory(memory) = self.place(place) {
            self.at(value.span);
            self.initialize(&memory, value);
        }
    }

    /// Stores an initial value: aggregates member by member.
    pub(crate) fn initialize(&mut self, memory: &Memory, value: &Expr) {
        if let ExprKind::Aggregate(members) = &value.kind {
            self.initialize_members(memory, members, value.ty);
        } else if let ExprKind::Constant(constant) = &value.kind {
            if *constant != Constant::Undefined {
                let constant = self.module.memory_constant(value.ty, constant);
                self.write_bytes(memory, constant);
            }
        } else if let Some(from) = self.copied(value) {
            let source = self.place(from);
            match source {
                Target::Memory(source) => self.copy(memory, &source),
                Target::Lanes(..) | Target::Lane(..) | Target::Value(_) => {
                    let value = self.read(&source, value.ty);
                    self.write_memory(memory, value);
                }
            }
        } else {
            let value = self.value(value);
            self.write_memory(memory, value);
        }
    }

    fn initialize_members(&mut self, memory: &Memory, members: &[(u32, Expr)], ty: Ty) {
        let source = self.module.source;
        let (is_union, count) = if let TypeKind::Record(id) = source.types.kind(ty) {
            let record = source.types.record(*id);
            (record.is_union, record.fields.len() as u64)
        } else if let TypeKind::Array(_, count) = source.types.kind(ty) {
            (false, count.unwrap_or(0))
        } else {
            return;
        };
        // Members that are not given are zeros.
        let is_zeroed = if is_union { members.is_empty() } else { (members.len() as u64) < count };
        if is_zeroed {
            let zero = self.module.memory_zero(ty);
            self.write_bytes(memory, zero);
        }
        for (index, value) in members {
            if is_zeroed && matches!(&value.kind, ExprKind::Constant(one) if crate::emit::constants::is_zero(one)) {
                continue;
            }
            let Some(member) = source.types.member(ty, *index) else { continue };
            let part = if matches!(source.types.kind(ty), TypeKind::Record(_)) {
                self.field(memory.clone(), *index, member)
            } else {
                self.element(memory, u64::from(*index), member)
            };
            self.initialize(&part, value);
        }
    }

    pub(super) fn compound_assign(
        &mut self,
        place: &Place,
        op: BinaryOp,
        computed: Ty,
        value: &Expr,
        expr: &Expr,
    ) -> Id {
        let product = self.product(op, value).map(|product| self.factors(&product));
        let right = if product.is_some() { 0 } else { self.value(value) };
        let target = self.place(place);
        self.at(expr.span);
        let old = self.read(&target, place.ty.ty);
        let old = self.convert_value(old, place.ty.ty, computed);
        let new = match product {
            Some(factors) => self.add_product(op, old, factors, computed),
            None => self.binary(op, computed, old, right, value.ty),
        };
        let new = self.convert_value(new, computed, place.ty.ty);
        self.write(&target, new, place.ty.ty);
        new
    }

    pub(super) fn pointer_assign(&mut self, place: &Place, index: &Expr, expr: &Expr) -> Id {
        let index = self.value(index);
        let target = self.place(place);
        self.at(expr.span);
        let old = self.read(&target, place.ty.ty);
        let new = self.pointer_add(old, place.ty.ty, index, place.ty.ty);
        self.write(&target, new, place.ty.ty);
        new
    }

    pub(super) fn increment(&mut self, place: &Place, post: bool, decrement: bool, expr: &Expr) -> Id {
        let target = self.place(place);
        self.at(expr.span);
        let ty = self.unqualified_atomic(place.ty);
        let old = self.read(&target, ty);
        let types = &self.module.source.types;
        let new = match (types.kind(ty), types.lanes(ty)) {
            (TypeKind::Pointer(_), _) => {
                let step = self.module.size(if decrement { u64::MAX } else { 1 });
                self.pointer_add(old, ty, step, ty)
            }
            // `++` of a `bool` makes it true, `--` inverts it.
            (_, Some((Scalar::Bool, _))) if !decrement => self.module.scalar(Scalar::Bool, 1),
            (_, Some((Scalar::Bool, _))) => {
                let ty = self.module.bool_type();
                self.op(Op::LogicalNot, ty, &[old])
            }
            (_, Some((scalar, lanes))) => {
                let one = scalar.float_format().map_or(1, FloatFormat::one);
                let one = self.module.splat(scalar, lanes.into(), one);
                let op = if decrement { BinaryOp::Sub } else { BinaryOp::Add };
                self.binary(op, ty, old, one, ty)
            }
            (_, None) => old,
        };
        self.write(&target, new, ty);
        if post { old } else { new }
    }

    fn unqualified_atomic(&self, ty: QualTy) -> Ty {
        self.module.source.types.kind(ty.ty).atomic_value().unwrap_or(ty.ty)
    }
}
