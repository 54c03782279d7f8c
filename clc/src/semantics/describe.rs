//! Types as diagnostics print them.

use super::Checker;
use crate::types::{QualTy, Ty};

impl Checker<'_, '_> {
    /// A qualified type as clang prints it in quotes: `'__global int *'`.
    pub(crate) fn describe(&self, ty: QualTy) -> String {
        format!("'{}'", self.spell(ty))
    }

    /// A type without qualifiers, likewise.
    pub(crate) fn describe_ty(&self, ty: Ty) -> String {
        self.describe(QualTy::plain(ty))
    }

    /// A type as clang prints it, without quotes.
    pub(crate) fn spell(&self, ty: QualTy) -> String {
        let _ = ty;
        String::new()
    }
}
