//! Functions compiled when they are first called: those that few launches need.
//!
//! The entry is one function for all of them, which finds what to compile by the context's entry data. Whoever comes first
//! compiles, the others wait. What cannot be compiled ends the launch with a fault that says so.

#![allow(unsafe_code, reason = "entries get their data through a pointer")]

use std::sync::{Arc, OnceLock};

use clift_include::abi::{GroupRunFn, WgContext};
use clift_kir::Function;
use parking_lot::Mutex;

use super::ClifBackend;
use super::place::{Placed, Placement};
use crate::codegen::data::ProgramData;
use crate::codegen::finish;
use crate::{BuildError, Options};

/// A function on the way: stage *looped*, then machine code.
#[derive(Debug)]
pub(super) struct Late {
    name: String,
    /// Taken by who compiles.
    looped: Mutex<Option<(Function, Options)>>,
    data: Arc<ProgramData>,
    code: OnceLock<Result<Placed, BuildError>>,
}

impl Late {
    /// A function that nobody has called.
    pub(super) fn new(name: &str, looped: Function, options: Options, data: Arc<ProgramData>) -> Late {
        Late { name: name.to_owned(), looped: Mutex::new(Some((looped, options))), data, code: OnceLock::new() }
    }

    fn compiled(&self) -> Result<GroupRunFn, &BuildError> {
        let code = self.code.get_or_init(|| {
            let started = std::time::Instant::now();
            let made = self.compile().map_err(|error| error.in_kernel(&self.name));
            let micros = started.elapsed().as_micros() as u64;
            tracing::debug!(target: "clift::time", stage = "late", what = self.name, micros);
            made
        });
        code.as_ref().map(|placed| placed.functions[0])
    }

    fn compile(&self) -> Result<Placed, BuildError> {
        let Some((looped, options)) = self.looped.lock().take() else {
            unreachable!("broken invariant: compiled twice")
        };
        let backend = ClifBackend::host()?;
        super::guarded(|| {
            let legal = finish(looped, &backend.caps, &options);
            let mut place = Placement::new(backend.isas.clone(), false, false);
            place.define(&self.name, backend.translate(&legal, &self.data, false))?;
            place.finish(self.data.clone())
        })
    }
}

/// The entry of every late function.
///
/// # Safety
/// As [`GroupRunFn`]; the context's entry data is a [`Late`].
pub(super) unsafe extern "C" fn enter(ctx: *const WgContext, args: *const u8, first_group: u64, group_count: u64) {
    // SAFETY: the caller keeps the context alive and unchanged during the call; its entry data is the one of this entry, which
    // lives as long as the program.
    let (context, late) = unsafe { (&*ctx, &*(*ctx).entry_data.cast::<Late>()) };
    match late.compiled() {
        // SAFETY: it takes what this function takes.
        Ok(run) => unsafe { run(ctx, args, first_group, group_count) },
        Err(error) => {
            let message = error.to_string();
            // SAFETY: the context carries the runtime's callbacks; the message lives during the call.
            unsafe { ((*context.callbacks).fault)(ctx, message.as_ptr(), message.len() as u64) }
        }
    }
}
