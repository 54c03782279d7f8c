//! What calls of built-in functions become.

/// What a call becomes. The types of the arguments and of the result say the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lowering {
    /// An instruction of the extended instruction set `OpenCL.std`, by its number: arguments in order, scalars that stand for vectors
    /// already splat.
    Ext(u32),
}
