//! The libraries of repairs as LLVM bitcode. Each is compiled by the clang that links it, when it is first needed, and is cached
//! in the process and on disk.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::Clang;
use crate::frontend::Failure;
use crate::frontend::cache::{DiskCache, Key};
use crate::frontend::child::{self, End};
use crate::frontend::probe::Candidate;
use crate::frontend::repairs::Repair;

/// The stored form of a library.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Library {
    bitcode: Vec<u8>,
}

/// Bitcode by the row's name and the compiler's identity.
type Libraries = HashMap<(&'static str, String), Arc<[u8]>>;

/// The libraries compiled so far.
static LIBRARIES: LazyLock<Mutex<Libraries>> = LazyLock::new(Mutex::default);

/// Arguments to compile a library: all language features, and no optimization, which happens after linking.
const ARGUMENTS: [&str; 17] = [
    "-cc1",
    "-triple",
    "spirv64",
    "-x",
    "cl",
    "-cl-std=CL3.0",
    "-cl-ext=+all",
    "-O2",
    "-disable-llvm-passes",
    "-emit-llvm-bc",
    "-ffp-contract=on",
    "-finclude-default-header",
    "-fdeclare-opencl-builtins",
    "-w",
    "-o",
    "-",
    "-",
];

impl Clang {
    /// The bitcode of a row's definitions.
    pub(super) fn library(
        &self,
        candidate: &Candidate,
        row: &'static Repair,
        cache: Option<&DiskCache>,
    ) -> Result<Arc<[u8]>, Failure> {
        let name = (row.name, candidate.identity.clone());
        if let Some(bitcode) = LIBRARIES.lock().get(&name) {
            return Ok(bitcode.clone());
        }
        let source = row.source();
        let key = Key::of_parts(&[b"library", candidate.identity.as_bytes(), source.as_bytes()]);
        let stored = cache.and_then(|cache| cache.get::<Library>(&key));
        let library = match stored {
            Some(library) => library,
            None => {
                let library = self.compile_library(candidate, row, source)?;
                if let Some(cache) = cache {
                    cache.put(&key, &library);
                }
                library
            }
        };
        let bitcode: Arc<[u8]> = library.bitcode.into();
        LIBRARIES.lock().insert(name, bitcode.clone());
        Ok(bitcode)
    }

    fn compile_library(&self, candidate: &Candidate, row: &Repair, source: &str) -> Result<Library, Failure> {
        let arguments = ARGUMENTS.map(str::to_owned);
        let finished = child::run(&candidate.path, &arguments, source.as_bytes(), self.limit)
            .map_err(|error| Failure::host(&format!("cannot run '{}'", candidate.path.display()), &error))?;
        tracing::debug!(row.name, end = ?finished.end, "library compiled");
        if !matches!(finished.end, End::Exit(0) | End::Unknown) || finished.output.is_empty() {
            let log =
                format!("clift: clang could not compile Clift's library '{}':\n{}", row.name, finished.diagnostics);
            return Err(Failure { log });
        }
        Ok(Library { bitcode: finished.output })
    }
}
