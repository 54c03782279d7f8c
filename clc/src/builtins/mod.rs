//! OpenCL C's built-in functions: one table of names, generic signatures, conditions and lowerings, expanded when a name is used.
//!
//! | file | content |
//! |---|---|
//! | `table/` | the functions, by class |
//! | `signature.rs` | generic signatures and their expansion |
//! | `condition.rs` | what functions need |
//! | `generated.rs` | `convert_` and `as_`, whose names say everything |
//! | `index.rs` | rows by name |
//! | `lowering.rs` | what calls become |
//! | `ext.rs` | instruction numbers of `OpenCL.std` |

mod condition;
pub(crate) mod ext;
mod generated;
mod index;
mod lowering;
mod signature;
mod table;
#[cfg(test)]
mod tests;

pub use lowering::{
    AtomicForm, AtomicOp, ByteDot, EnqueueOp, FenceKind, GroupOperator, ImageQuery, Lowering, NamedBarrierOp, PipeOp,
};

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
    let mut function = Function::default();
    let mut reasons: Vec<String> = Vec::new();
    let mut is_known = false;
    for (group, lowering) in index::rows(name) {
        is_known = true;
        let missing = group.when.missing(environment);
        if missing.is_empty() {
            signature::expand(group, lowering, environment, types, &mut function.overloads);
        } else if !reasons.contains(&missing) {
            reasons.push(missing);
        }
    }
    if !is_known {
        function.overloads = generated::find(name, environment, types)?;
    }
    if function.overloads.is_empty() {
        let needed = if reasons.is_empty() { "an optional type".to_owned() } else { reasons.join(" or ") };
        function.missing = Some(format!("requires {needed}"));
    }
    Some(function)
}

/// The names of the table, in its order, each once.
pub(crate) fn names<'n>() -> impl Iterator<Item = &'n str> {
    let mut seen = rustc_hash::FxHashSet::default();
    let groups = table::TABLES.iter().copied().flatten();
    groups.flat_map(|group| group.functions.iter().map(|(name, _)| *name)).filter(move |name| seen.insert(*name))
}
