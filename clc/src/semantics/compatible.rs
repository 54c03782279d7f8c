//! Compatible and composite types.

use super::Checker;
use crate::types::{FunctionType, QualTy, Quals, Ty, TypeKind};

impl Checker<'_, '_> {
    /// Whether two types are compatible, their outermost qualifiers aside.
    pub(crate) fn is_compatible(&self, a: Ty, b: Ty) -> bool {
        if a == b {
            return true;
        }
        let types = &self.module.types;
        match (types.kind(a), types.kind(b)) {
            (TypeKind::Error, _) | (_, TypeKind::Error) => true,
            (TypeKind::Pointer(a), TypeKind::Pointer(b)) => self.is_compatible_qualified(*a, *b),
            (TypeKind::FunctionPointer(a), TypeKind::FunctionPointer(b))
            | (TypeKind::BlockPointer(a), TypeKind::BlockPointer(b))
            | (TypeKind::Atomic(a), TypeKind::Atomic(b)) => self.is_compatible(*a, *b),
            (TypeKind::Pipe(a, one), TypeKind::Pipe(b, other)) => one == other && self.is_compatible(*a, *b),
            (TypeKind::Array(a, one), TypeKind::Array(b, other)) => {
                (one.is_none() || other.is_none() || one == other) && self.is_compatible(a.ty, b.ty)
            }
            (TypeKind::Function(a), TypeKind::Function(b)) => {
                a.is_variadic == b.is_variadic
                    && self.is_compatible(a.result, b.result)
                    && a.parameters.len() == b.parameters.len()
                    && a.parameters.iter().zip(&b.parameters).all(|(a, b)| self.is_compatible(a.ty, b.ty))
            }
            // An enumeration is compatible with the integer type that represents it.
            (TypeKind::Enum(id), TypeKind::Scalar(scalar)) | (TypeKind::Scalar(scalar), TypeKind::Enum(id)) => {
                types.enumeration(*id).scalar == *scalar
            }
            _ => false,
        }
    }

    /// Whether two qualified types are compatible.
    pub(crate) fn is_compatible_qualified(&self, a: QualTy, b: QualTy) -> bool {
        (Quals { align: 0, ..a.quals }) == (Quals { align: 0, ..b.quals }) && self.is_compatible(a.ty, b.ty)
    }

    /// The type that knows what each of two compatible types knows.
    pub(crate) fn composite(&mut self, a: Ty, b: Ty) -> Ty {
        if a == b {
            return a;
        }
        match (self.module.types.kind(a).clone(), self.module.types.kind(b).clone()) {
            (TypeKind::Error, _) => b,
            (TypeKind::Array(one, count), TypeKind::Array(other, other_count)) => {
                let ty = self.composite(one.ty, other.ty);
                let kind = TypeKind::Array(QualTy { ty, ..one }, count.or(other_count));
                self.module.types.intern(kind)
            }
            (TypeKind::Pointer(one), TypeKind::Pointer(other)) => {
                let ty = self.composite(one.ty, other.ty);
                self.module.types.pointer(QualTy { ty, ..one })
            }
            (TypeKind::Function(one), TypeKind::Function(other)) if one.parameters.len() == other.parameters.len() => {
                let result = self.composite(one.result, other.result);
                let pairs = one.parameters.iter().zip(&other.parameters);
                let parameters = pairs.map(|(a, b)| QualTy { ty: self.composite(a.ty, b.ty), ..*a }).collect();
                let function = FunctionType { result, parameters, is_variadic: one.is_variadic };
                self.module.types.intern(TypeKind::Function(Box::new(function)))
            }
            _ => a,
        }
    }
}
