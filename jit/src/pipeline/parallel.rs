//! The kernels of large modules, each of which is compiled by itself, at the same time.

use clift_kir::Module;
use parking_lot::Mutex;

use super::PANIC;
use crate::guard::guarded;
use crate::{BuildError, Options};

/// Modules with fewer instructions are not worth the threads: these build in less than ten milliseconds.
const LEAST_INSTS: usize = 2000;

/// Instructions of the kernels of a module.
pub(super) fn insts(module: &Module) -> usize {
    let funcs = module.kernels.iter().map(|kernel| &module.funcs[kernel.func]);
    let insts = funcs.flat_map(|func| func.layout.blocks().iter().map(|&block| func.layout.insts(block).len()));
    insts.sum()
}

/// Applies `work` to the items, one for each of some kernels that have `insts` instructions together. The results have the order
/// of the items.
///
/// # Errors
/// The first one in the order of the items; [`BuildError::Internal`] when [`Options::parallel`] left out some work.
pub(super) fn map<T: Send, R: Send>(
    items: Vec<T>,
    insts: usize,
    options: &Options,
    work: impl Fn(T) -> Result<R, BuildError> + Sync,
) -> Result<Vec<R>, BuildError> {
    // Together, they may take as much memory as one kernel may.
    if items.len() < 2 || insts < LEAST_INSTS || insts > options.most_insts() {
        return items.into_iter().map(work).collect();
    }
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let results: Vec<Mutex<Option<Result<R, BuildError>>>> = items.iter().map(|_| Mutex::default()).collect();
    (options.parallel.0)(items.len(), &|number| {
        let taken = items[number].lock().take();
        if let Some(item) = taken {
            let result = guarded(PANIC, || work(item));
            *results[number].lock() = Some(result);
        }
    });
    let missing = || Err(BuildError::Internal(format!("{PANIC}: work on a kernel was not done")));
    results.into_iter().map(|result| result.into_inner().unwrap_or_else(missing)).collect()
}
