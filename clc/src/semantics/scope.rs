//! What names mean.

use crate::tree::{FunctionId, GlobalId, LocalId};
use crate::types::{QualTy, Ty};

/// What an ordinary name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entity {
    /// A parameter or an automatic variable of the function that is checked.
    Local(LocalId),
    /// A global, or a `static` or `local` variable of a function.
    Global(GlobalId),
    /// Functions of the program: several if they are `overloadable`.
    Functions(Vec<FunctionId>),
    /// A `typedef`.
    Typedef(QualTy),
    /// A constant of an enumeration: its value, and its type in expressions.
    EnumConstant(i64, Ty),
}
