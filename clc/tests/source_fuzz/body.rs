//! The bodies of the fuzz targets of the front end: shared by the test that damages known sources and the `cargo fuzz` targets.

use std::sync::Arc;

use clift_clc::diagnostics::WarningOptions;
use clift_clc::options::{Profile, Version};
use clift_clc::{Options, compile, preprocess_to_text};

/// What the front end says of itself when it panicked.
const INTERNAL: &str = "internal error";

/// Options: the version depends on the source, so that all are met.
fn options(source: &[u8]) -> Options {
    let versions = [Version::V1_0, Version::V1_1, Version::V1_2, Version::V2_0, Version::V3_0, Version::V3_1];
    let version = versions[source.len() % versions.len()];
    // Files of the machine have nothing to do with it.
    let main_name = "/nowhere/fuzz.cl".to_owned();
    let header: Arc<[u8]> = Arc::from(&b"#ifndef H\n#define H\nint h;\n#include \"fuzz.h\"\n#endif\n"[..]);
    Options {
        version,
        main_name,
        headers: vec![("fuzz.h".to_owned(), header)],
        warnings: WarningOptions { groups: vec![("everything".to_owned(), true)], ..WarningOptions::default() },
        profile: Arc::new(Profile::full()),
        ..Options::default()
    }
}

/// Any bytes are preprocessed, and the result means the same if it is preprocessed again.
pub(crate) fn preprocess(source: &[u8]) {
    let options = options(source);
    let (first, log) = preprocess_to_text(source, &options, false);
    assert!(!log.contains(INTERNAL), "{log}");
    // A `#` at the beginning of a line would be a directive.
    let is_plain = log.is_empty() && !first.iter().any(|byte| matches!(byte, b'#' | b'\\' | b'?' | b'%' | b'_' | b'@'));
    if is_plain {
        let (second, log) = preprocess_to_text(&first, &options, false);
        let words = |text: &[u8]| -> Vec<Vec<u8>> {
            text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
        };
        assert_eq!(words(&first), words(&second), "{}\n{log}", String::from_utf8_lossy(&first));
    }
    let (_, log) = preprocess_to_text(source, &options, true);
    assert!(!log.contains(INTERNAL), "{log}");
}

/// Any bytes are compiled: either there is a module, or an error.
pub(crate) fn compile_source(source: &[u8]) {
    let output = compile(source, &options(source));
    assert!(!output.log.contains(INTERNAL), "{}", output.log);
    assert!(output.words.is_some() || output.log.contains("error:"), "{}", output.log);
}
