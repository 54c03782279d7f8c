//! What the backends that make machine code share: compiling functions one by one, some of them lazily.
//!
//! Deliberately not here: instruction selection, and how code gets into executable memory (`code_memory.rs`).

use std::sync::Arc;

use clift_include::abi::KernelEntry;
use clift_kir::{Function, Imm};

use super::code_memory::PlacedCode;
use super::data::{PlacedFunction, ProgramData};
use super::lazy::{self, LazyKernel};
use super::{CompiledKernels, KernelCode, KernelFunction};
use crate::BuildError;
use crate::guard::guarded;

/// A backend that makes machine code.
pub(super) trait NativeBackend: Send + Sync {
    /// A session, which compiles the functions of one program and logs what `dump` lists.
    fn session(&'static self, dump: &[String]) -> Box<dyn Session>;

    /// The largest stack frame in bytes with which a kernel is worth having where it need not have its lanes.
    fn largest_useful_frame(&self) -> u32 {
        MAX_FRAME
    }
}

/// The functions of one program until they are in executable memory.
pub(super) trait Session {
    /// Compiles a legal function.
    ///
    /// # Errors
    /// As [`super::Backend::compile`]; the message does not name the kernel.
    fn define(&mut self, name: &str, func: &Function, data: &ProgramData) -> Result<DefinedFunction, BuildError>;

    /// Makes all functions executable.
    ///
    /// # Errors
    /// [`BuildError::Limit`] when there is no memory for them.
    fn finish(self: Box<Self>, data: Arc<ProgramData>) -> Result<PlacedCode, BuildError>;
}

/// A function that has been compiled.
#[derive(Clone, Copy, Debug)]
pub(super) struct DefinedFunction {
    /// Its index in [`PlacedCode::functions`].
    pub(super) number: usize,
    /// Bytes of its stack frame.
    pub(super) frame: u32,
}

/// Prefix of the message for a panic in a library. Libraries panic when they have no rule for an instruction.
pub(super) const PANIC: &str = "code generation";

/// The largest stack frame of a function in bytes: half of the stacks on which kernels run.
pub(super) const MAX_FRAME: u32 = 4 << 20;

/// Parameters of blocks times arguments of all edges from which regalloc2's thorough allocator takes seconds, because it goes
/// through the arguments of other parameters for each one (the family `uniform-loops` of `icd/examples/growth` from some 6,000
/// loops on).
pub(super) const COSTLY_PARAMS: usize = 1 << 26;

/// The most bytes of stack of a called function with all that it calls: half of what a kernel's frame leaves.
const MAX_STACK_OF_CALLED: u64 = 2 << 20;

/// The error of a function that needs a frame of so many bytes, more than `most`.
pub(super) fn frame_too_large(bytes: u64, most: u32) -> BuildError {
    BuildError::Limit(format!("its variables and spilled values need {bytes} bytes of stack, more than {most}"))
}

/// Implements [`super::Backend::compile_called`].
pub(super) fn compile_called(
    backend: &'static dyn NativeBackend,
    func: &Function,
    data: &Arc<ProgramData>,
    dump: &[String],
) -> Result<(PlacedFunction, String), BuildError> {
    let mut session = backend.session(dump);
    let defined = guarded(PANIC, || session.define(&func.name, func, data))?;
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let callees = insts.filter_map(|&inst| {
        if let Imm::Func(callee) = func.dfg.inst(inst).imm { Some(data.stack_of(callee)) } else { None }
    });
    let stack = u64::from(defined.frame) + callees.max().unwrap_or(0);
    if stack > MAX_STACK_OF_CALLED {
        return Err(frame_too_large(stack, MAX_STACK_OF_CALLED as u32));
    }
    let PlacedCode { functions, log, memory } = session.finish(data.clone())?;
    let address = functions[defined.number] as usize as u64;
    Ok((PlacedFunction { address, stack, _memory: Arc::new(memory) }, log))
}

/// How a kernel's function for any work-group is entered.
enum GeneralEntry {
    /// Compiled with the program; the index of the function.
    Placed(usize),
    /// Compiled when it is first called.
    Lazy(Arc<LazyKernel>),
}

/// Implements [`super::Backend::compile`].
pub(super) fn compile(
    backend: &'static dyn NativeBackend,
    kernels: Vec<KernelCode>,
    data: Arc<ProgramData>,
    dump: &[String],
) -> Result<CompiledKernels, BuildError> {
    let mut session = backend.session(dump);
    let mut define = |kernel: KernelCode| {
        let KernelCode { name, general, packed, keeps_lanes } = kernel;
        let most = if keeps_lanes { MAX_FRAME } else { backend.largest_useful_frame() };
        let mut define = |name: &str, func: &Function| {
            let defined = guarded(PANIC, || session.define(name, func, &data));
            let fits = defined.and_then(|defined| match defined.frame <= most {
                true => Ok(defined.number),
                false => Err(frame_too_large(defined.frame.into(), most)),
            });
            fits.map_err(|error| error.in_kernel(name))
        };
        let general = match general {
            KernelFunction::Legal(func) => GeneralEntry::Placed(define(&name, &func)?),
            KernelFunction::Lazy(source) => {
                GeneralEntry::Lazy(Arc::new(LazyKernel::new(backend, &name, source, data.clone())))
            }
            KernelFunction::Canonical(..) => unreachable!("broken invariant: kernel without code"),
        };
        let packed = packed.map(|func| define(&format!("{name} (whole packs)"), &func)).transpose()?;
        Ok((general, packed))
    };
    let defined: Vec<Result<_, BuildError>> = kernels.into_iter().map(&mut define).collect();
    let PlacedCode { functions, log, memory } = session.finish(data)?;
    let mut lazy_kernels: Vec<Arc<LazyKernel>> = Vec::new();
    let mut enter = |general: GeneralEntry, packed: Option<usize>| {
        let packed = packed.map(|number| functions[number]);
        match general {
            GeneralEntry::Placed(number) => KernelEntry { run: functions[number], packed, data: std::ptr::null() },
            GeneralEntry::Lazy(lazy) => {
                let data = Arc::as_ptr(&lazy).cast();
                lazy_kernels.push(lazy);
                KernelEntry { run: lazy::enter, packed, data }
            }
        }
    };
    let entries = defined.into_iter().map(|kernel| kernel.map(|(general, packed)| enter(general, packed))).collect();
    Ok(CompiledKernels { entries, log, memory: Arc::new((memory, lazy_kernels)) })
}
