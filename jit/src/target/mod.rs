//! Properties of the machine that decide how kernels are compiled: what its vector unit can do as a backend uses it ([`caps`]),
//! how many lanes it wants ([`machine`]), what operations cost ([`costs`]), and what
//! processors of one instruction set do differently ([`processor`]). This module does not depend on a backend or on
//! functions of the IR.

pub(crate) mod caps;
pub mod costs;
pub mod machine;
pub(crate) mod processor;
