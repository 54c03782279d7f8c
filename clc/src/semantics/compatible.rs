//! Compatible and composite types.

use super::Checker;
use crate::types::{QualTy, Ty};

impl Checker<'_, '_> {
    /// Whether two types are compatible, their outermost qualifiers aside.
    pub(crate) fn is_compatible(&self, a: Ty, b: Ty) -> bool {
        a == b
    }

    /// Whether two qualified types are compatible.
    pub(crate) fn is_compatible_qualified(&self, a: QualTy, b: QualTy) -> bool {
        a.quals == b.quals && self.is_compatible(a.ty, b.ty)
    }

    /// The type that knows what each of two compatible types knows.
    pub(crate) fn composite(&mut self, a: Ty, b: Ty) -> Ty {
        let _ = b;
        a
    }
}
