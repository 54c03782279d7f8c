//! The state of the function that is being checked.

use rustc_hash::FxHashMap;

use crate::source::{Span, Symbol};
use crate::tree::{Constant, Expr, FunctionId, LabelId, Local, LocalId};
use crate::types::{RecordId, Scalar, Ty};

/// What is known of a function besides what the tree says.
#[derive(Clone, Debug)]
pub(crate) struct FunctionInfo {
    /// Its type, a [`crate::types::TypeKind::Function`].
    pub ty: Ty,
    /// `overloadable`
    pub is_overloadable: bool,
    /// `noreturn`
    pub is_noreturn: bool,
    /// The message of `deprecated`.
    pub deprecated: Option<String>,
    /// The message of `unavailable`.
    pub unavailable: Option<String>,
    /// `warn_unused_result`
    pub warn_unused_result: bool,
    /// `pure` or `const`: a call whose value is unused is worth a warning.
    pub is_pure: bool,
    /// Whether it is a block's.
    pub is_block: bool,
}

impl FunctionInfo {
    /// What is known of a function without attributes.
    pub(crate) fn new(ty: Ty) -> Self {
        Self {
            ty,
            is_overloadable: false,
            is_noreturn: false,
            deprecated: None,
            unavailable: None,
            warn_unused_result: false,
            is_pure: false,
            is_block: false,
        }
    }
}

/// A label that `goto` names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedLabel {
    /// Its number.
    pub id: LabelId,
    /// Where it is defined.
    pub defined: Option<Span>,
    /// Where it is used first.
    pub used: Option<Span>,
}

/// A `switch` around the statement that is checked.
#[derive(Debug)]
pub(crate) struct SwitchState {
    /// The type of the condition.
    pub scalar: Scalar,
    /// The cases: first, last, label, and where.
    pub cases: Vec<(i128, i128, LabelId, Span)>,
    /// `default`, and where.
    pub default: Option<(LabelId, Span)>,
}

/// What a block literal has besides a function.
#[derive(Debug)]
pub(crate) struct BlockState {
    /// The record of the captures.
    pub record: RecordId,
    /// Captured locals: the local, the index of its function in the states, and the member of the record.
    pub captured: Vec<(LocalId, usize, u32)>,
    /// The values of the captures, in the function around.
    pub values: Vec<Expr>,
    /// Whether the result type is still to be found from the first `return`.
    pub infers_result: bool,
}

/// The state of the function that is being checked.
#[derive(Debug)]
pub(crate) struct FunctionState {
    /// The function.
    pub id: FunctionId,
    /// The type of its result.
    pub result: Ty,
    /// Parameters, variables, and temporaries.
    pub locals: Vec<Local>,
    /// Number of labels.
    pub labels: u32,
    /// Labels with names.
    pub named_labels: FxHashMap<Symbol, NamedLabel>,
    /// The order in which labels with names were seen.
    pub label_order: Vec<Symbol>,
    /// How many loops and switches `break` can leave.
    pub breakable: u32,
    /// How many loops `continue` can continue.
    pub continuable: u32,
    /// The switches around, the innermost last.
    pub switches: Vec<SwitchState>,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// The scope of the function's outermost block.
    pub scope: u32,
    /// Whether contraction is allowed at this point.
    pub contract: bool,
    /// The values of `const` variables that are constant.
    pub constants: FxHashMap<LocalId, Constant>,
    /// What a block literal has.
    pub block: Option<BlockState>,
}

impl FunctionState {
    /// The state at the beginning of a function that is neither a kernel nor a block literal's.
    pub(crate) fn new(id: FunctionId, result: Ty, locals: Vec<Local>, contract: bool) -> Self {
        Self {
            id,
            result,
            locals,
            labels: 0,
            named_labels: FxHashMap::default(),
            label_order: Vec::new(),
            breakable: 0,
            continuable: 0,
            switches: Vec::new(),
            is_kernel: false,
            scope: 0,
            contract,
            constants: FxHashMap::default(),
            block: None,
        }
    }
}
