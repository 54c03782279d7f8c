//! A program: its source, and the result of its last build, compilation or link.
//!
//! - [`mod@unit`]: modules and executables, which are immutable;
//! - [`binary`]: their stored form.
//!
//! All mutable state is protected by one lock, which is never held while code is compiled or a callback runs. A build has three
//! steps: [`Started::begin`] marks the program as in progress (two concurrent builds are an error of the application, reported to
//! the second), the work is done on immutable inputs, and [`Started::finish`] stores the outcome. A build that ends otherwise (by
//! a panic) counts as failed.
//!
//! There is one kind of device, so what the specification keeps per device is kept once.

pub mod binary;
pub mod unit;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use clift_include::cl;
use clift_jit::ModuleSummary;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::context::Context;
use crate::error::ClError::InvalidOperation;
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Ref, cl_object};
use binary::{BinaryKind, Contents};
use unit::Executable;

/// A program.
#[derive(Debug)]
pub struct Program {
    context: Ref<Context>,
    origin: Origin,
    state: Mutex<State>,
    /// Notified when a build has ended.
    build_ended: Condvar,
}

cl_object!(Program, b"prog", InvalidProgram);

/// What a program was created from.
#[derive(Debug)]
pub enum Origin {
    /// OpenCL C: the concatenated strings.
    Source(Arc<Vec<u8>>),
    /// SPIR-V.
    Il {
        /// The bytes as given.
        bytes: Vec<u8>,
        /// The module.
        words: Vec<u32>,
        /// What it declares.
        summary: ModuleSummary,
    },
    /// A Clift binary; its contents are the program's first [`Product`].
    Binary,
    /// A link.
    Link,
}

/// The result of a build, compilation or link, or a given binary.
#[derive(Debug)]
pub struct Product {
    /// The units and how they may be used.
    pub contents: Contents,
    /// The code, for an executable that was built in this process.
    pub executable: Option<Arc<Executable>>,
    /// The program binary, created when it is first queried.
    bytes: OnceLock<Vec<u8>>,
}

impl Product {
    /// A product without code.
    pub fn new(contents: Contents) -> Self {
        Self { contents, executable: None, bytes: OnceLock::new() }
    }

    /// An executable.
    pub fn executable(options: String, executable: Executable) -> Self {
        let units = executable.units.clone();
        let contents = Contents { kind: BinaryKind::Executable, options, units };
        Self { contents, executable: Some(Arc::new(executable)), bytes: OnceLock::new() }
    }

    /// The program binary.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get_or_init(|| self.contents.seal())
    }
}

/// The mutable state.
#[derive(Debug)]
struct State {
    spec_constants: BTreeMap<u32, Vec<u8>>,
    status: cl::cl_build_status,
    options: String,
    log: String,
    product: Option<Arc<Product>>,
    /// Number of kernel objects. While there are any, the program may not be built again.
    kernels: usize,
    /// The process that executes the build in progress. In a child process, a parent's build never ends.
    builder: u32,
}

/// The outcome of the last build, for `clGetProgramBuildInfo`.
#[derive(Clone, Debug)]
pub struct BuildReport {
    /// `CL_PROGRAM_BUILD_STATUS`.
    pub status: cl::cl_build_status,
    /// `CL_PROGRAM_BUILD_OPTIONS`.
    pub options: String,
    /// `CL_PROGRAM_BUILD_LOG`.
    pub log: String,
}

impl Program {
    /// A program that has not been built.
    pub fn new(context: Ref<Context>, origin: Origin) -> Self {
        Self::with_product(context, origin, None)
    }

    /// A program created from a binary.
    pub fn from_binary(context: Ref<Context>, contents: Contents) -> Self {
        Self::with_product(context, Origin::Binary, Some(Arc::new(Product::new(contents))))
    }

    fn with_product(context: Ref<Context>, origin: Origin, product: Option<Arc<Product>>) -> Self {
        let state = State {
            spec_constants: BTreeMap::new(),
            status: cl::CL_BUILD_NONE,
            options: String::new(),
            log: String::new(),
            product,
            kernels: 0,
            builder: 0,
        };
        Self { context, origin, state: Mutex::new(state), build_ended: Condvar::new() }
    }

    /// The state after the build in progress, if there is one: applications use programs whose build they have started without
    /// having waited for its notification.
    fn settled(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        while state.status == cl::CL_BUILD_IN_PROGRESS && state.builder == std::process::id() {
            self.build_ended.wait(&mut state);
        }
        state
    }

    /// Its context.
    pub fn context(&self) -> &Ref<Context> {
        &self.context
    }

    /// What it was created from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The result of the last build, or the given binary. Waits for a build in progress.
    pub fn product(&self) -> Option<Arc<Product>> {
        self.settled().product.clone()
    }

    /// As [`Program::product`], but of the last build that has ended.
    pub fn last_product(&self) -> Option<Arc<Product>> {
        self.state.lock().product.clone()
    }

    /// The executable, if there is one with code. Waits for a build in progress.
    pub fn executable(&self) -> Option<Arc<Executable>> {
        self.settled().product.as_ref()?.executable.clone()
    }

    /// The outcome of the last build.
    pub fn report(&self) -> BuildReport {
        let state = self.state.lock();
        BuildReport { status: state.status, options: state.options.clone(), log: state.log.clone() }
    }

    /// Reports why a call refuses its options, to the context's callback and as the build log: applications show the log after
    /// any error, although such a call builds nothing and leaves all else as it was.
    pub fn refuse_options(&self, reason: &str) {
        self.context.report(reason);
        let mut state = self.state.lock();
        if state.status != cl::CL_BUILD_IN_PROGRESS {
            state.log = format!("clift: {reason}\n");
        }
    }

    /// Whether a build, compilation or link is in progress.
    pub fn is_in_progress(&self) -> bool {
        self.state.lock().status == cl::CL_BUILD_IN_PROGRESS
    }

    /// Sets a specialization constant for later builds.
    pub fn set_spec_constant(&self, id: u32, value: Vec<u8>) {
        self.state.lock().spec_constants.insert(id, value);
    }

    /// The specialization constants set so far.
    pub fn spec_constants(&self) -> Vec<(u32, Vec<u8>)> {
        self.state.lock().spec_constants.iter().map(|(id, value)| (*id, value.clone())).collect()
    }

    /// Returns the executable for a new kernel object, and counts that object until [`Program::detach`]. Both happen in one step,
    /// so that no build can start in between. Waits for a build in progress.
    pub fn attach(&self) -> Option<Arc<Executable>> {
        let mut state = self.settled();
        let executable = state.product.as_ref()?.executable.clone()?;
        state.kernels += 1;
        Some(executable)
    }

    /// Undoes [`Program::attach`].
    pub fn detach(&self) {
        let mut state = self.state.lock();
        state.kernels = state.kernels.saturating_sub(1);
    }
}

/// A build in progress.
#[derive(Debug)]
pub struct Started {
    program: Ref<Program>,
    finished: bool,
}

/// The outcome of a build: its log, and its product if it succeeded.
#[derive(Debug)]
pub struct BuildOutcome {
    /// The build log.
    pub log: String,
    /// The product; `None` when the build failed.
    pub product: Option<Product>,
}

impl BuildOutcome {
    /// A failed build. Its log is not empty.
    pub fn failed(log: String) -> Self {
        let log = if log.trim().is_empty() { "clift: the build failed without diagnostics\n".to_owned() } else { log };
        Self { log, product: None }
    }
}

impl Started {
    /// Marks the program as being built with these options. The last build's product remains until the new build ends.
    ///
    /// # Errors
    /// [`InvalidOperation`] when a build is in progress, or kernel objects exist.
    pub fn begin(program: &Ref<Program>, options: &str) -> ClResult<Self> {
        let mut state = program.state.lock();
        // CL_INVALID_OPERATION if a build by a previous call has not completed
        ensure(state.status != cl::CL_BUILD_IN_PROGRESS, InvalidOperation)?;
        // CL_INVALID_OPERATION if there are kernel objects attached to program
        ensure(state.kernels == 0, InvalidOperation)?;
        state.status = cl::CL_BUILD_IN_PROGRESS;
        state.builder = std::process::id();
        options.clone_into(&mut state.options);
        state.log.clear();
        drop(state);
        Ok(Self { program: program.clone(), finished: false })
    }

    /// The program.
    pub fn program(&self) -> &Ref<Program> {
        &self.program
    }

    /// Ends the build and returns whether it succeeded.
    pub fn finish(mut self, outcome: BuildOutcome) -> bool {
        self.store(outcome)
    }

    fn store(&mut self, outcome: BuildOutcome) -> bool {
        self.finished = true;
        let BuildOutcome { log, product } = outcome;
        let success = product.is_some();
        tracing::debug!(target: "clift::build", success, log, "build ended");
        let product = product.map(Arc::new);
        let mut state = self.program.state.lock();
        state.status = if success { cl::CL_BUILD_SUCCESS } else { cl::CL_BUILD_ERROR };
        state.log = log;
        let old = if success || !matches!(self.program.origin, Origin::Binary) {
            std::mem::replace(&mut state.product, product)
        } else {
            // A binary whose build failed is still a binary.
            None
        };
        drop(state);
        self.program.build_ended.notify_all();
        // Code is freed without the lock.
        drop(old);
        success
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if !self.finished {
            self.store(BuildOutcome::failed("clift: internal error: the build did not finish\n".to_owned()));
        }
    }
}
