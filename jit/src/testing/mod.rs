//! Running stages and compiled kernels without OpenCL: for the tests of this crate and for `kirc`.

pub mod launch;

use clift_kir::{Module, Stage};

use crate::{BuildError, Options, passes};

/// Takes every kernel of a module from *imported* to *canonical*.
///
/// # Errors
/// [`BuildError::Limit`] when inlining makes a kernel too large.
pub fn canonicalize(module: &mut Module, options: &Options) -> Result<(), BuildError> {
    passes::inline(module)?;
    for kernel in &module.kernels {
        let func = &mut module.funcs[kernel.func];
        if func.stage == Stage::Imported {
            passes::canonicalize(func, &module.globals, options, &mut |_, _| ());
            func.stage = Stage::Canonical;
        }
    }
    Ok(())
}
