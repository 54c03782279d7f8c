//! The body of the fuzz target for the text form: shared by the test that damages known files and the `cargo fuzz` target.

use clift_kir::{text, verify};

/// Reads any text. What is accepted, and is well-formed, is printed in the form from which it is read again.
pub(crate) fn read(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = text::parse_function(&text);
    let Ok(module) = text::parse_module(&text) else { return };
    if verify::module(&module).is_err() {
        return;
    }
    let printed = module.to_string();
    match text::parse_module(&printed) {
        Ok(again) => assert_eq!(again.to_string(), printed),
        Err(error) => panic!("what was printed is not accepted: {error}\n{printed}"),
    }
}
