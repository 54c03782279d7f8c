//! Verifies, dumps and times each stage, and verifies after each pass. Only debug builds verify.

use std::fmt::Write;
use std::time::Instant;

use clift_kir::{Function, Module, verify};
use tracing::Level;

use crate::specialize::Transposition;
use crate::spmd::report::{Remark, VectorizationReport, ranges};
use crate::{BuildError, Options};

/// The target of the messages that describe compiled kernels as data, for traces. One with the field `kernel` describes a
/// kernel; those with the field `remark` follow, one for each remark of the vectorizer's report.
const KERNELS: &str = "clift::kernel";

/// Whether a trace wants to know of kernels.
pub(super) fn describes_kernels() -> bool {
    tracing::enabled!(target: KERNELS, Level::TRACE)
}

/// Observes the stages of one build.
pub(super) struct StageObserver<'a> {
    options: &'a Options,
    /// The text for the build log.
    pub(super) log: String,
    started: Instant,
}

impl<'a> StageObserver<'a> {
    /// An observer of a build that began at `started`.
    pub(super) fn new(options: &'a Options, started: Instant) -> StageObserver<'a> {
        StageObserver { options, log: String::new(), started }
    }

    /// Adds what the observer of one kernel has recorded.
    pub(super) fn append(&mut self, of_kernel: StageObserver<'_>) {
        self.log += &of_kernel.log;
    }

    /// Begins the time of the next stage.
    pub(super) fn restart(&mut self) {
        self.started = Instant::now();
    }

    /// Records the time since the last stage.
    pub(super) fn passed(&mut self, stage: &str, what: &str) {
        let now = Instant::now();
        tracing::debug!(target: "clift::time", stage, what, micros = (now - self.started).as_micros() as u64);
        self.started = now;
    }

    /// Records the vectorizer's report on a kernel.
    pub(super) fn report(&mut self, kernel: &str, report: &VectorizationReport) {
        tracing::debug!(target: "clift::vectorize", "kernel {kernel}: {report}");
        if self.options.reports_vectorization() {
            let _ = writeln!(self.log, "kernel {kernel}: {report}");
        }
    }

    /// Describes a kernel to a trace, if there is one: what the vectorizer did.
    pub(super) fn describe(&self, kernel: &str, report: &VectorizationReport, lanes: u32, backend: &str) {
        if !describes_kernels() {
            return;
        }
        let VectorizationReport { scalar, groups, .. } = report;
        tracing::trace!(target: KERNELS, kernel, lanes, backend, groups, one_lane = scalar.as_deref());
        for Remark { kind, lines, text } in report.remarks() {
            tracing::trace!(target: KERNELS, remark = kind, of = kernel, lines = ranges(&lines), text);
        }
    }

    /// Reports that launches of a kernel are transposed.
    pub(super) fn report_transposed(&mut self, kernel: &str, how: Transposition) {
        let Transposition { exchange, lanes, coalesces, is_faster: _ } = how;
        let along = exchange.name();
        let what = format!(
            "launches whose {} a multiple of {} work-items along {along} run with x and {along} exchanged: neighbours along {along} \
             access neighbouring elements; {lanes} lanes per pack",
            if coalesces { "work-groups, several together if they are small, have" } else { "work-groups have" },
            (lanes / 2).max(1)
        );
        tracing::debug!(target: "clift::vectorize", "kernel {kernel}: {what}");
        if self.options.reports_vectorization() {
            let _ = writeln!(self.log, "kernel {kernel}: {what}");
        }
    }

    fn dumps(&self, stage: &str) -> bool {
        self.options.dump.iter().any(|name| name == stage)
    }

    /// Observes a stage that concerns the whole module.
    pub(super) fn module(&mut self, stage: &str, module: &Module) -> Result<(), BuildError> {
        self.passed(stage, "module");
        if self.dumps(stage) {
            let _ = writeln!(self.log, "; {stage}\n{module}");
        }
        if cfg!(debug_assertions) {
            verify::module(module).map_err(|errors| broken("stage", stage, &errors))?;
        }
        self.started = Instant::now();
        Ok(())
    }

    /// Observes a stage that concerns one function.
    pub(super) fn function(&mut self, stage: &str, module: &Module, func: &Function) -> Result<(), BuildError> {
        self.passed(stage, &func.name);
        if self.dumps(stage) {
            let _ = writeln!(self.log, "; {stage}\n{func}");
        }
        if cfg!(debug_assertions) {
            verify::function(module, func).map_err(|errors| broken("stage", stage, &errors))?;
        }
        self.started = Instant::now();
        Ok(())
    }

    /// Runs passes over a function and verifies it after each.
    pub(super) fn passes(
        &self,
        module: &Module,
        func: &mut Function,
        run: impl FnOnce(&mut Function, &mut dyn FnMut(&str, &Function)),
    ) -> Result<(), BuildError> {
        let mut result = Ok(());
        run(func, &mut |pass, func| {
            if cfg!(debug_assertions) && result.is_ok() {
                result = verify::function(module, func).map_err(|errors| broken("pass", pass, &errors));
            }
        });
        result
    }
}

fn broken(kind: &str, name: &str, errors: &dyn std::fmt::Display) -> BuildError {
    BuildError::Internal(format!("after {kind} {name}: {errors}"))
}
