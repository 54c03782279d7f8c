//! The body of the import fuzz target: shared by the test that mutates known modules and the `cargo fuzz` target.

use clift_jit::{BackendChoice, BuildError, ModuleInput, Options, spirv};

/// Takes any words through everything that looks at SPIR-V. Whatever they are, there is an answer; what is accepted is
/// well-formed.
pub(crate) fn import(words: &[u32]) {
    let input = ModuleInput::new(words);
    let options = Options { arg_info: true, ..Options::default() };
    let summary = spirv::inspect(words);
    let checked = spirv::check(&input, &options);
    assert!(summary.is_ok() || checked.is_err(), "checked although it cannot be inspected");
    if let Ok(imported) = spirv::import(&[input], &options) {
        assert_eq!(imported.module.kernels.len(), imported.kernels.len());
        if let Err(errors) = clift_kir::verify::module(&imported.module) {
            panic!("what was imported is not well-formed: {errors}\n{}", imported.module);
        }
    }
}

/// Compiles any words with all backends. What the import accepts becomes code, or is too large.
pub(crate) fn compile(words: &[u32]) {
    let input = || ModuleInput::new(words);
    if spirv::import(&[input()], &Options::default()).is_err() {
        return;
    }
    for backend in [BackendChoice::Auto, BackendChoice::Cranelift, BackendChoice::Interp] {
        let options = Options { backend, ..Options::default() };
        if let Err(error @ BuildError::Internal(_)) = clift_jit::compile(&[input()], &options) {
            panic!("{backend:?}: {error}");
        }
    }
}
