//! Lanes of vectors.

use smallvec::SmallVec;
use spirv::Op;

use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::tree::{Expr, ExprKind};
use crate::types::{Scalar, Ty};

impl FunctionEmitter<'_, '_> {
    /// A vector from scalars and smaller vectors.
    pub(super) fn vector(&mut self, parts: &[Expr], ty: Ty) -> Id {
        let values: SmallVec<[Id; 16]> = parts.iter().map(|part| self.value(part)).collect();
        let id = self.module.type_id(ty);
        if let ([value], [part]) = (&values[..], parts)
            && part.ty == ty
        {
            return *value;
        }
        let lanes = self.module.source.types.lanes(ty).map_or(0, |(_, lanes)| lanes);
        if values.len() == usize::from(lanes) && values.iter().all(|value| self.module.is_constant(*value)) {
            return self.module.unique(Op::ConstantComposite, id, &values);
        }
        self.op(Op::CompositeConstruct, id, &values)
    }

    /// Chosen lanes of a vector of type `from`; a scalar for one. Lanes that the vector does not have are undefined.
    pub(crate) fn swizzle(&mut self, vector: Id, from: Ty, lanes: &[u8], ty: Ty) -> Id {
        let ty = self.module.type_id(ty);
        let count = self.module.source.types.lanes(from).map_or(1, |(_, lanes)| lanes);
        if let [lane] = lanes {
            if *lane >= count {
                return self.module.undefined(ty);
            }
            return self.op(Op::CompositeExtract, ty, &[vector, (*lane).into()]);
        }
        let mut operands: SmallVec<[u32; 18]> = SmallVec::from_slice(&[vector, vector]);
        operands.extend(lanes.iter().map(|lane| if *lane < count { u32::from(*lane) } else { u32::MAX }));
        self.op(Op::VectorShuffle, ty, &operands)
    }

    /// Lanes of two vectors.
    pub(super) fn shuffle(&mut self, left: &Expr, right: &Expr, lanes: &[Option<u8>], expr: &Expr) -> Id {
        let left_value = self.value(left);
        let right_value = self.value(right);
        self.at(expr.span);
        let ty = self.module.type_id(expr.ty);
        let count = self.module.source.types.lanes(left.ty).map_or(1, |(_, lanes)| lanes);
        if let [lane] = lanes {
            return match lane {
                Some(lane) if *lane < count => self.op(Op::CompositeExtract, ty, &[left_value, (*lane).into()]),
                Some(lane) => self.op(Op::CompositeExtract, ty, &[right_value, u32::from(*lane) - u32::from(count)]),
                None => self.module.undefined(ty),
            };
        }
        let mut operands: SmallVec<[u32; 18]> = SmallVec::from_slice(&[left_value, right_value]);
        operands.extend(lanes.iter().map(|lane| lane.map_or(u32::MAX, u32::from)));
        self.op(Op::VectorShuffle, ty, &operands)
    }

    /// `condition ? left : right` by lanes, by the sign bits of the condition.
    pub(super) fn select_lanes(&mut self, condition: &Expr, left: &Expr, right: &Expr, expr: &Expr) -> Id {
        let Some((scalar, lanes)) = self.module.source.types.lanes(condition.ty) else { return self.value(left) };
        if let ExprKind::Compare(op, one, other) = &condition.kind {
            let is_set = self.compare(*op, one, other, condition.span);
            let left = self.value(left);
            let right = self.value(right);
            self.at(expr.span);
            let ty = self.module.type_id(expr.ty);
            return self.op(Op::Select, ty, &[is_set, left, right]);
        }
        let value = self.value(condition);
        let left = self.value(left);
        let right = self.value(right);
        self.at(expr.span);
        let truths = self.module.lanes_type(Scalar::Bool, lanes.into());
        let zero = self.module.zero(condition.ty);
        let is_set = if scalar == Scalar::Bool { value } else { self.op(Op::SLessThan, truths, &[value, zero]) };
        let ty = self.module.type_id(expr.ty);
        self.op(Op::Select, ty, &[is_set, left, right])
    }
}
