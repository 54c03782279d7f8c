//! Build, compile, link.
//!
//! After the checks, the work of each of the three is a closure over immutable inputs that returns a [`BuildOutcome`]. [`run`]
//! executes it, and does not wait for it if the application requests a notification.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use clift_include::cl::*;
use clift_jit::{BuildError, Options, Parallel};
use clift_runtime::background;

use super::all_devices_of;
use crate::caps;
use crate::config::config;
use crate::error::ClError::{
    self, BuildProgramFailure, CompileProgramFailure, CompilerNotAvailable, InvalidBinary, InvalidBuildOptions,
    InvalidCompilerOptions, InvalidContext, InvalidLinkerOptions, InvalidOperation, InvalidValue, LinkProgramFailure,
};
use crate::error::{ClResult, ensure};
use crate::ffi::callback::ObjectNotify;
use crate::ffi::entry::WithError;
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::pointer::{InArray, Text, UserData};
use crate::frontend::headers::is_safe_name;
use crate::frontend::options::BuildCall;
use crate::frontend::{BuildOptions, Compiler, Header};
use crate::object::context::Context;
use crate::object::device::Device;
use crate::object::program::binary::{BinaryKind, Contents};
use crate::object::program::unit::{Executable, FrontEndContext, Unit};
use crate::object::program::{BuildOutcome, Origin, Product, Program, Started};

/// `pfn_notify` with its `user_data`.
type Notify = (ObjectNotify<Program>, UserData);

/// `clBuildProgram`
pub fn build(
    handle: Handle<Program>,
    num_devices: cl_uint,
    device_list: InArray<Handle<Device>>,
    options: Text,
    notify: ObjectNotify<Program>,
    user_data: UserData,
) -> ClResult<()> {
    // CL_INVALID_PROGRAM if program is not a valid program object
    let program = handle.get()?;
    // CL_INVALID_VALUE, CL_INVALID_DEVICE: see `checked_targets`
    checked_targets(program.context(), num_devices, device_list, (notify, user_data))?;
    let product = program.last_product();
    let text = match (program.origin(), &product) {
        // CL_INVALID_BINARY if program is created with a binary and the device has no valid (executable) one loaded
        (Origin::Binary, Some(product)) => {
            ensure(product.contents.kind == BinaryKind::Executable, InvalidBinary)?;
            // Without options, those with which the binary was built
            options.lossy().unwrap_or_else(|| product.contents.options.clone())
        }
        (Origin::Binary, None) => return Err(InvalidBinary),
        (Origin::Source(_) | Origin::Il { .. } | Origin::Link, _) => options.lossy().unwrap_or_default(),
    };
    // CL_INVALID_BUILD_OPTIONS if the build options specified by options are invalid
    let options = parsed(&text, BuildCall::Compile, InvalidBuildOptions, |reason| program.refuse_options(reason))?;
    // CL_COMPILER_NOT_AVAILABLE if program is created from source and a compiler is not available
    ensure_compiler(&program)?;
    // CL_INVALID_OPERATION if program was not created with source, IL or a binary
    ensure(!matches!(program.origin(), Origin::Link), InvalidOperation)?;
    // CL_INVALID_OPERATION if a build has not completed, or kernel objects are attached: see `Started::begin`
    let started = Started::begin(&program, &text)?;

    let work = move |program: &Program| match program.origin() {
        Origin::Source(_) | Origin::Il { .. } => {
            let built = with_unit(program, &text, &options, None, |unit| {
                Executable::link(vec![unit], None, &compiler_options())
            });
            match built {
                Ok(((executable, remarks), log)) => {
                    BuildOutcome { log: log + &remarks, product: Some(Product::executable(text, executable)) }
                }
                Err(log) => BuildOutcome::failed(log),
            }
        }
        Origin::Binary | Origin::Link => {
            linked(product.map(|product| product.contents.units.clone()).unwrap_or_default(), None, text)
        }
    };
    // CL_BUILD_PROGRAM_FAILURE if there is a failure to build the program executable
    run(started, (notify, user_data), work, BuildProgramFailure)
}

/// The program's executable. A program created from an executable binary is built on demand: applications that use cached
/// binaries do not always build them.
pub fn built(program: &Ref<Program>) -> Option<Arc<Executable>> {
    let executable = program.executable();
    if executable.is_some() || !matches!(program.origin(), Origin::Binary) {
        return executable;
    }
    let product = program.product().filter(|product| product.contents.kind == BinaryKind::Executable)?;
    if program.report().status != CL_BUILD_NONE {
        return None;
    }
    let text = product.contents.options.clone();
    // If another thread is building the program, its executable is waited for.
    if let Ok(started) = Started::begin(program, &text) {
        let _ = execute(started, move |_| linked(product.contents.units.clone(), None, text));
    }
    program.executable()
}

/// `clCompileProgram`
#[allow(clippy::too_many_arguments, reason = "the arguments of the C function")]
pub fn compile(
    handle: Handle<Program>,
    num_devices: cl_uint,
    device_list: InArray<Handle<Device>>,
    options: Text,
    num_input_headers: cl_uint,
    input_headers: InArray<Handle<Program>>,
    header_include_names: InArray<Text<'static>>,
    notify: ObjectNotify<Program>,
    user_data: UserData,
) -> ClResult<()> {
    // CL_INVALID_PROGRAM if program is not a valid program object
    let program = handle.get()?;
    let from_il = matches!(program.origin(), Origin::Il { .. });
    let mut headers: Vec<Header> = Vec::new();
    // For a program created with IL the three header arguments are ignored
    if !from_il {
        for (header, name) in
            input_headers.iter(num_input_headers as usize).zip(header_include_names.iter(num_input_headers as usize))
        {
            // CL_INVALID_PROGRAM for a header that is not a valid program
            let header = header.get()?;
            // CL_INVALID_CONTEXT if the context associated with program and programs in input_headers are not the same
            ensure(Ref::ptr_eq(header.context(), program.context()), InvalidContext)?;
            // CL_INVALID_VALUE for a name that is NULL or leads out of the headers
            let name = name.lossy().filter(|name| is_safe_name(name)).ok_or(InvalidValue)?;
            // CL_INVALID_OPERATION for a header that has no source
            let Origin::Source(text) = header.origin() else { return Err(InvalidOperation) };
            if !headers.iter().any(|known| known.name == name) {
                headers.push(Header { name, text: text.to_vec() });
            }
        }
        // CL_INVALID_VALUE if num_input_headers is zero and header_include_names or input_headers are not NULL, or if it
        // is not zero and header_include_names or input_headers are NULL
        let none = num_input_headers == 0;
        ensure(input_headers.is_null() == none && header_include_names.is_null() == none, InvalidValue)?;
    }
    // CL_INVALID_VALUE, CL_INVALID_DEVICE: see `checked_targets`
    checked_targets(program.context(), num_devices, device_list, (notify, user_data))?;
    let text = options.lossy().unwrap_or_default();
    // CL_INVALID_COMPILER_OPTIONS if the compiler options specified by options are invalid
    let options = parsed(&text, BuildCall::Compile, InvalidCompilerOptions, |reason| program.refuse_options(reason))?;
    // CL_COMPILER_NOT_AVAILABLE if a compiler is not available
    ensure_compiler(&program)?;
    // CL_INVALID_OPERATION if program has no source or IL available
    ensure(matches!(program.origin(), Origin::Source(_) | Origin::Il { .. }), InvalidOperation)?;
    // CL_INVALID_OPERATION if a compilation or build has not completed, or kernel objects are attached: see
    // `Started::begin`
    let started = Started::begin(&program, &text)?;

    let work = move |program: &Program| {
        let checked = with_unit(program, &text, &options, Some(&headers), |unit| {
            unit.check(&compiler_options())?;
            Ok(unit)
        });
        match checked {
            Ok((unit, log)) => {
                let contents = Contents { kind: BinaryKind::CompiledObject, options: text, units: vec![unit] };
                BuildOutcome { log, product: Some(Product::new(contents)) }
            }
            Err(log) => BuildOutcome::failed(log),
        }
    };
    // CL_COMPILE_PROGRAM_FAILURE if there is a failure to compile the program source
    run(started, (notify, user_data), work, CompileProgramFailure)
}

/// `clLinkProgram`
#[allow(clippy::too_many_arguments, reason = "the arguments of the C function")]
pub fn link(
    context: Handle<Context>,
    num_devices: cl_uint,
    device_list: InArray<Handle<Device>>,
    options: Text,
    num_input_programs: cl_uint,
    input_programs: InArray<Handle<Program>>,
    notify: ObjectNotify<Program>,
    user_data: UserData,
) -> ClResult<WithError<Program>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_VALUE, CL_INVALID_DEVICE: see `checked_targets`
    checked_targets(&context, num_devices, device_list, (notify, user_data))?;
    // CL_INVALID_VALUE if num_input_programs is zero or input_programs is NULL
    ensure(num_input_programs != 0 && !input_programs.is_null(), InvalidValue)?;
    let mut inputs = Vec::new();
    for input in input_programs.iter(num_input_programs as usize) {
        // CL_INVALID_PROGRAM if programs specified in input_programs are not valid program objects
        let input = input.get()?;
        // CL_INVALID_CONTEXT if the context associated with programs in input_programs is not the same as context
        ensure(Ref::ptr_eq(input.context(), &context), InvalidContext)?;
        inputs.push(input);
    }
    // CL_INVALID_LINKER_OPTIONS if the linker options specified by options are invalid
    let given = options.lossy();
    let given_options = given.as_deref().unwrap_or_default();
    // No program has a build log yet that could say why.
    let options = parsed(given_options, BuildCall::Link, InvalidLinkerOptions, |reason| context.report(reason))?;
    let mut units: Vec<Arc<Unit>> = Vec::new();
    for input in &inputs {
        // CL_INVALID_OPERATION if the compilation or build of an input has not completed
        ensure(!input.is_in_progress(), InvalidOperation)?;
        // CL_INVALID_OPERATION if an input has no compiled binary or library
        let product = input.product().ok_or(InvalidOperation)?;
        ensure(matches!(product.contents.kind, BinaryKind::CompiledObject | BinaryKind::Library), InvalidOperation)?;
        units.extend(product.contents.units.iter().cloned());
    }
    // CL_LINKER_NOT_AVAILABLE if a linker is not available: it is a part of the driver

    let text = given.unwrap_or_default();
    let program = Object::create(Program::new(context, Origin::Link));
    let started = Started::begin(&program, &text)?;
    let work = move |_: &Program| {
        if options.create_library {
            let contents = Contents { kind: BinaryKind::Library, options: text, units };
            return BuildOutcome { log: String::new(), product: Some(Product::new(contents)) };
        }
        linked(units, Some(&options), text)
    };
    // CL_LINK_PROGRAM_FAILURE if there is a failure to link; the program object tells more
    let error = run(started, (notify, user_data), work, LinkProgramFailure).err();
    Ok(WithError { object: program, error })
}

/// The outcome of compiling units to code.
fn linked(units: Vec<Arc<Unit>>, link_options: Option<&BuildOptions>, text: String) -> BuildOutcome {
    match Executable::link(units, link_options, &compiler_options()) {
        Ok((executable, log)) => BuildOutcome { log, product: Some(Product::executable(text, executable)) },
        Err(error) => BuildOutcome::failed(format!("{error}\n")),
    }
}

/// Checks common to build, compile and link.
fn checked_targets(
    context: &Ref<Context>,
    num_devices: cl_uint,
    device_list: InArray<Handle<Device>>,
    (notify, user_data): Notify,
) -> ClResult<()> {
    // CL_INVALID_VALUE if device_list is NULL and num_devices is greater than zero, or the other way round
    ensure(device_list.is_null() == (num_devices == 0), InvalidValue)?;
    // CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL
    ensure(!notify.is_null() || user_data.is_null(), InvalidValue)?;
    // CL_INVALID_DEVICE if any device in device_list is not in the list of devices associated with program or context
    all_devices_of(context, device_list, num_devices)
}

/// Parses an option string, and passes on why it is refused.
fn parsed(text: &str, stage: BuildCall, error: ClError, refused: impl FnOnce(&str)) -> ClResult<BuildOptions> {
    BuildOptions::parse(text, stage).map_err(|reason| {
        refused(&reason);
        error
    })
}

/// Checks that a program from source can be compiled.
fn ensure_compiler(program: &Program) -> ClResult<()> {
    if matches!(program.origin(), Origin::Source(_)) && !Compiler::get().is_available() {
        program.context().report(crate::frontend::clang::NO_CLANG);
        return Err(CompilerNotAvailable);
    }
    Ok(())
}

/// Creates the unit of a program from source or SPIR-V and calls `then` with it. If a front end cannot compile the source, or its
/// module cannot be compiled, the next way is tried ([`Compiler::attempts`]). Without `headers` the source is a whole program.
/// Returns the result and the log.
fn with_unit<T>(
    program: &Program,
    text: &str,
    options: &BuildOptions,
    headers: Option<&[Header]>,
    mut then: impl FnMut(Arc<Unit>) -> Result<T, BuildError>,
) -> Result<(T, String), String> {
    let source = match program.origin() {
        Origin::Source(source) => source,
        Origin::Il { words, .. } => {
            let constants = program.spec_constants();
            let unit = Unit::from_il(words.clone(), constants, text.to_owned(), options.clone());
            let result = then(Arc::new(unit)).map_err(|error| format!("{error}\n"))?;
            return Ok((result, String::new()));
        }
        Origin::Binary | Origin::Link => unreachable!("broken invariant: only source and SPIR-V become units"),
    };
    let context = FrontEndContext { compiler: Compiler::get(), profile: caps::profile().clone() };
    let mut attempts = context.compiler.attempts(options).peekable();
    // The log of the first front end that rejects the source, and remarks on what failed.
    let (mut rejected, mut notes) = (None, String::new());
    while let Some(attempt) = attempts.next() {
        let (source, given) = (source.clone(), headers.unwrap_or_default().to_vec());
        let how = (attempt, headers.is_none());
        let compiled = Unit::from_source(&context, source, given, text.to_owned(), options.clone(), how);
        let (unit, log) = match compiled {
            Ok(compiled) => compiled,
            Err(log) if rejected.is_none() && context.compiler.has_other(attempt) => {
                notes.push_str(&format!("clift: rejected by {}:\n{log}", context.compiler.name(attempt)));
                rejected = Some(log);
                continue;
            }
            Err(log) => return Err(rejected.unwrap_or(log)),
        };
        match then(Arc::new(unit)) {
            Ok(result) => {
                if !notes.is_empty() {
                    tracing::info!(target: "clift::build", notes);
                }
                return Ok((result, log));
            }
            Err(error @ (BuildError::Import(_) | BuildError::Internal(_))) if attempts.peek().is_some() => {
                let (name, level) = (context.compiler.name(attempt), attempt.level);
                notes.push_str(&format!("clift: SPIR-V of {name} at -O{level} could not be compiled: {error}\n"));
            }
            Err(error) => return Err(format!("{log}{notes}{error}\n")),
        }
    }
    Err(rejected.unwrap_or(notes))
}

/// The kernel compiler's options that do not come from the application.
fn compiler_options() -> Options {
    let config = config();
    let (backend, width, rows, loop_lanes) = (config.backend, config.width, config.rows, config.loop_lanes);
    let (checks, inline_limit) = (config.checks, config.inline_limit);
    // Reports name arguments.
    let arg_info = !checks.is_empty();
    Options {
        backend,
        width,
        checks,
        rows,
        loop_lanes,
        inline_limit,
        arg_info,
        dump: config.dumps(),
        separate_args: true,
        parallel: Parallel(background::for_each),
        build_memory: Some(caps::limits().host.memory_bytes / 4),
        ..Options::default()
    }
}

/// Does the work of a build, on a thread with a large stack, and stores its outcome. Returns whether it succeeded.
fn execute(started: Started, work: impl FnOnce(&Program) -> BuildOutcome + Send) -> bool {
    let program = started.program().clone();
    let begun = Instant::now();
    let outcome = background::run(|| catch_unwind(AssertUnwindSafe(|| work(&program)))).unwrap_or_else(|_| {
        BuildOutcome::failed(
            "clift: internal error: the compiler panicked (CLIFT_DEBUG=build prints the location)\n".to_owned(),
        )
    });
    tracing::debug!(target: "clift::time", stage = "whole build", micros = begun.elapsed().as_micros() as u64);
    started.finish(outcome)
}

/// Does the work of a build: before it returns, or some time later if the application requests a notification. `failure` is the
/// error for a build that has failed before the call returns.
fn run(
    started: Started,
    (notify, user_data): Notify,
    work: impl FnOnce(&Program) -> BuildOutcome + Send + 'static,
    failure: ClError,
) -> ClResult<()> {
    let job = move || {
        let program = started.program().clone();
        let success = execute(started, work);
        notify.call(program.handle(), user_data);
        success
    };
    if notify.is_null() {
        return ensure(job(), failure);
    }
    background::start(move || {
        job();
    });
    Ok(())
}
