//! The parts of a SPIR-V module, and what is shared by its functions: types, constants, built-in variables.

use spirv::{BuiltIn, Capability};

use super::Id;
use crate::tree::Module;
use crate::types::{Scalar, Ty};

/// A SPIR-V module that is being built. Types and constants exist once.
#[derive(Debug)]
pub(crate) struct ModuleBuilder<'a> {
    /// What is emitted.
    pub source: &'a Module,
}

#[expect(unused_variables, clippy::unused_self, reason = "interface first")]
impl ModuleBuilder<'_> {
    /// The type of values of a type. A `bool` is `OpTypeBool` as a value, and an 8-bit integer in memory.
    pub(crate) fn type_id(&mut self, ty: Ty) -> Id {
        0
    }

    /// The type of objects of a type in memory.
    pub(crate) fn memory_type_id(&mut self, ty: Ty) -> Id {
        0
    }

    /// A constant of a scalar type from its bits.
    pub(crate) fn scalar(&mut self, scalar: Scalar, bits: u64) -> Id {
        0
    }

    /// An `int` constant: scopes, memory semantics.
    pub(crate) fn int(&mut self, value: u32) -> Id {
        0
    }

    /// A zero of any type.
    pub(crate) fn zero(&mut self, ty: Ty) -> Id {
        0
    }

    /// A built-in variable of a type: the pointer to it, in the `Input` storage class. It becomes part of the interfaces.
    pub(crate) fn built_in(&mut self, built_in: BuiltIn, ty: Ty) -> Id {
        0
    }

    /// Declares that a capability is needed.
    pub(crate) fn capability(&mut self, capability: Capability) {}

    /// Declares that an extension is needed.
    pub(crate) fn extension(&mut self, name: &'static str) {}
}
