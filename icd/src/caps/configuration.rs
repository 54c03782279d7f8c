//! What the driver found on this machine and in the environment, as text: the answer to `CL_DEVICE_CONFIGURATION_CLIFT`.
//!
//! For people, through `clift-info`. Programs use the ordinary queries.

use clift_jit::BackendChoice;
use clift_runtime::pool::{self, Processors};

use super::limits;
use crate::config::config;
use crate::frontend::Compiler;

/// One line for each fact: its name, a tab, a text.
pub fn text() -> String {
    let facts = [("backend", backend()), ("threads", threads()), ("front end", front_ends()), ("cache", cache())];
    facts.iter().map(|(name, text)| format!("{name}\t{text}\n")).collect()
}

/// Which code is generated.
pub(crate) fn backend() -> String {
    let bytes = limits().vector_bytes;
    let lanes = config().width.map(|lanes| format!(", {lanes} lanes (CLIFT_WIDTH)")).unwrap_or_default();
    match config().backend {
        BackendChoice::Interp => "interpreter".to_owned(),
        BackendChoice::Auto | BackendChoice::Skylake | BackendChoice::Avx2 | BackendChoice::Cranelift => {
            // The x86 backend is for processors with AVX-512 or AVX2; all others have vectors of 128 bits.
            let backend = match bytes {
                64 => "x86 (AVX-512)",
                32 => "x86 (AVX2)",
                _ => "Cranelift",
            };
            format!("{backend}, vectors of {} bits{lanes}", bytes * 8)
        }
    }
}

fn threads() -> String {
    let Processors { mask, quota } = pool::processors();
    let quota = quota.map_or_else(|| "none".to_owned(), |quota| format!("{quota} processors"));
    let chosen = if config().threads.is_some() { ", CLIFT_THREADS is set" } else { "" };
    format!("{} (affinity mask: {mask} processors, CPU quota: {quota}{chosen})", pool::worker_count())
}

fn front_ends() -> String {
    let names = Compiler::get().identities();
    if names.is_empty() { "none: only SPIR-V can be built".to_owned() } else { names.join(", then ") }
}

fn cache() -> String {
    let limit = config().cache_bytes >> 20;
    let shown = |directory: &std::path::Path| format!("{} (at most {limit} MiB)", directory.display());
    Compiler::get().cache_directory().map_or_else(|| "none".to_owned(), shown)
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_line_has_a_name_and_a_text() {
        for line in super::text().lines() {
            let (name, text) = line.split_once('\t').expect("a tab");
            assert!(!name.is_empty() && !text.is_empty(), "{line}");
        }
    }
}
