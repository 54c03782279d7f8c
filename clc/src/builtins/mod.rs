//! OpenCL C's built-in functions: one table of names, generic signatures, conditions and lowerings, expanded when a name is used.

mod lowering;

pub use lowering::Lowering;

use crate::options::{Profile, Version};
use crate::types::{QualTy, Ty, TypeTable};

/// What decides which functions there are.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'a> {
    /// The language version.
    pub version: Version,
    /// The device.
    pub profile: &'a Profile,
}

/// One overload of a function, with actual types.
#[derive(Clone, Debug)]
pub struct Overload {
    /// The result.
    pub result: Ty,
    /// The parameters.
    pub parameters: Vec<QualTy>,
    /// Whether more arguments may follow (`printf`).
    pub is_variadic: bool,
    /// What a call becomes.
    pub lowering: Lowering,
}

/// What is known of a name.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// The overloads that the environment has.
    pub overloads: Vec<Overload>,
    /// If there are none: what they need (`requires OpenCL C 2.0 or the extension ...`).
    pub missing: Option<String>,
}

/// The built-in function of a name; `None` if no version and no extension has it.
pub fn find(name: &str, environment: Environment<'_>, types: &mut TypeTable) -> Option<Function> {
    let _ = (name, environment, types);
    None
}
