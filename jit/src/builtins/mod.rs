//! The OpenCL.std extended instruction set as kernel IR.
//!
//! The SPIR-V importer calls [`expand`] for each `OpExtInst` of the set; what comes back is plain kir, so builtins widen with the
//! kernel like everything else.

use clift_kir::{Builder, Type, Value};

/// An instruction of the OpenCL.std set.
pub use rspirv::spirv::OpenclStd100Op as ClOp;

/// An operand of an OpenCL.std instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A value; an OpenCL vector is a kir vector.
    Value(Value),
    /// A literal number in the instruction stream (vector sizes, rounding modes).
    Literal(u32),
}

/// Emits what `op` does at the builder's cursor and gives its result; `result` is the declared result type, `None` for void.
/// May create blocks: continue at `b.block()`.
///
/// # Errors
/// A reason why the instruction cannot be built, for the build log.
pub fn expand(
    b: &mut Builder<'_>,
    op: ClOp,
    args: &[Operand],
    result: Option<Type>,
) -> Result<Option<Value>, String> {
    let _ = (b, args, result);
    Err(format!("OpenCL.std instruction {op:?} is not available"))
}
