//! The typed tree in, SPIR-V words out.
//!
//! | file | content |
//! |---|---|
//! | `words.rs` | instructions as words |
//! | `module.rs` | [`module::ModuleBuilder`]: sections, capabilities, what exists once |
//! | `types.rs`, `records.rs` | types |
//! | `constants.rs`, `bytes.rs` | constants |
//! | `globals.rs` | objects and their initializers |
//! | `functions.rs` | functions and kernels |
//! | `function.rs` | [`function::FunctionEmitter`]: blocks and instructions of one function, what everything else uses |
//! | `lines.rs`, `math.rs` | source lines, flags of arithmetic |
//! | `order.rs` | the order of blocks |
//! | `statements.rs` | control flow |
//! | `tables.rs` | constant arrays of functions |
//! | `expressions/`, `places.rs` | values and addresses |
//! | `builtins/` | calls of built-in functions, by their [`crate::builtins::Lowering`] |
//!
//! Variables are in memory, and nothing is optimized: the compiler behind this does that. But conditions stay Booleans, constants
//! are made once, and code that cannot be reached is not emitted.

pub(crate) mod builtins;
mod bytes;
mod constants;
mod expressions;
pub(crate) mod function;
mod functions;
mod globals;
mod lines;
mod math;
pub(crate) mod module;
mod order;
mod places;
mod records;
mod statements;
mod tables;
#[cfg(test)]
mod tests;
mod types;
mod words;

use crate::preprocess::Session;
use crate::source::Span;
use crate::tree::{FunctionId, GlobalId, Linkage, Module};

/// The number of a SPIR-V result.
pub(crate) type Id = u32;

/// Emits a module that was checked without errors.
///
/// # Errors
/// The place and the text of an error: what SPIR-V cannot express.
pub fn emit(session: &Session<'_>, module: &Module) -> Result<Vec<u32>, (Span, String)> {
    let mut builder = module::ModuleBuilder::new(session, module);
    for function in &module.functions {
        if let (Some(kernel), Some(_)) = (&function.kernel, &function.body) {
            builder.kernel(function, kernel);
        }
    }
    if !session.options.whole_program {
        for (index, function) in module.functions.iter().enumerate() {
            // Of a kernel, the function that kernels of other units call: an entry point cannot be called.
            if function.body.is_some() && function.linkage != Linkage::Internal {
                builder.function(FunctionId(index as u32));
            }
        }
        for (index, global) in module.globals.iter().enumerate() {
            if global.is_defined && global.linkage != Linkage::Internal {
                builder.global(GlobalId(index as u32));
            }
        }
    }
    builder.emit_pending();
    builder.finish()
}
