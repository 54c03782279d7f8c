//! Tests of generated code against the meaning of the ops.

#![allow(unsafe_code, reason = "generated code is called")]

mod bounds;
mod demotion;
mod listing;
mod outline;
mod random;
mod shuffles;
mod sweep;

use std::any::Any;
use std::ffi::c_void;
use std::sync::{Arc, LazyLock};

use clift_include::abi::{Callbacks, KernelEntry, PrintfArg, WgContext, unprotected};
use clift_kir::{Block, BlockCall, Builder, Function, IntCond, MemInfo, Module, Space, Stage, Type, Value};

use super::{CraneliftBackend, isa};
use crate::BuildError;
use crate::codegen::data::ProgramData;
use crate::codegen::x86::X86Backend;
use crate::codegen::{AcceptedStage, Backend, KernelCode, KernelFunction, demote, legalize};
use crate::target::caps::VectorCaps;

/// A compiled function.
pub(super) struct CompiledFunction {
    /// The backend's name.
    pub(super) backend: &'static str,
    entry: KernelEntry,
    /// Keeps the code alive.
    _memory: Arc<dyn Any + Send + Sync>,
}

/// The backends that make machine code for the host.
fn backends() -> Vec<&'static dyn Backend> {
    let cranelift: &dyn Backend = CraneliftBackend::host().unwrap();
    let x86 = X86Backend::host().unwrap().map(|backend| -> &dyn Backend { backend });
    // The host also supports all lower levels.
    let lower = X86Backend::lower_levels().unwrap().into_iter().map(|backend| -> &dyn Backend { backend });
    let single_pass = X86Backend::single_pass().unwrap().map(|backend| -> &dyn Backend { backend });
    [Some(cranelift), x86, single_pass].into_iter().flatten().chain(lower).collect()
}

/// Legalizes and compiles a looped function of a module.
fn compile_for(
    backend: &'static dyn Backend,
    module: &Module,
    func: &Function,
) -> Result<CompiledFunction, BuildError> {
    let AcceptedStage::Legal(caps) = backend.accepted_stage() else { unreachable!() };
    let legal = legal(module, func, caps);
    let data = Arc::new(ProgramData::new(module)?);
    let code = KernelCode {
        name: func.name.clone(),
        general: KernelFunction::Legal(Box::new(legal)),
        packed: None,
        keeps_lanes: true,
    };
    let mut compiled = backend.compile(module, vec![code], data, &[])?;
    Ok(CompiledFunction { backend: backend.name(), entry: compiled.entries.remove(0)?, _memory: compiled.memory })
}

/// Legalizes and verifies.
pub(super) fn legal(module: &Module, func: &Function, caps: &VectorCaps) -> Function {
    if let Err(errors) = clift_kir::verify::function(module, func) {
        panic!("{errors}\n{func}");
    }
    let mut legal = legalize::run(func, caps);
    demote::run(&mut legal, caps.demotion);
    if let Err(errors) = clift_kir::verify::function(module, &legal) {
        panic!("{errors}\n{func}\n{legal}");
    }
    legal
}

/// Compiles a function with each backend of the host.
pub(super) fn compile(func: &Function) -> Vec<CompiledFunction> {
    let by = |backend: &&'static dyn Backend| {
        compile_for(*backend, &Module::default(), func)
            .unwrap_or_else(|error| panic!("{}: {error}\n{func}", backend.name()))
    };
    backends().iter().map(by).collect()
}

/// Compiles for all other targets; the machine code is not executed.
pub(super) fn compile_elsewhere(func: &Function) {
    let module = Module::default();
    for (name, backend) in OTHERS.iter() {
        let AcceptedStage::Legal(caps) = backend.accepted_stage() else { unreachable!() };
        let data = ProgramData::new(&module).unwrap();
        let made = backend.translate(&legal(&module, func, caps), &data, false);
        for func in made.outlined.into_iter().chain([made.func]) {
            let mut context = cranelift_codegen::Context::for_function(func);
            let mut control = cranelift_codegen::control::ControlPlane::default();
            if let Err(error) = context.compile(&*backend.isas.backtracking, &mut control) {
                panic!("{name}: {:?}", error.inner);
            }
        }
    }
}

/// Targets besides the host: another architecture, and x86-64 processors with fewer features than the host.
static OTHERS: LazyLock<Vec<(&str, CraneliftBackend)>> = LazyLock::new(|| {
    let sse = ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt", "has_cmpxchg16b"];
    [("aarch64", &[][..]), ("x86_64", &[]), ("x86_64", &sse)]
        .map(|(name, features)| (name, CraneliftBackend::for_target(isa::other(name, features).unwrap())))
        .into()
});

unsafe extern "C" fn no_printf(_: *const WgContext, _: *const u8, _: *const PrintfArg, _: u64, _: *const u8) -> i32 {
    -1
}

unsafe extern "C" fn no_fault(_: *const WgContext, _: *const u8, _: u64) {}

extern "C" fn no_check(_: *const WgContext, _: u64, _: u64, _: u64, _: u64) -> i32 {
    1
}

extern "C" fn no_clock() -> u64 {
    0
}

unsafe extern "C" fn no_request(_: *const WgContext, _: u32, _: *const u64, _: u64) -> u64 {
    0
}

pub(super) static CALLBACKS: Callbacks = Callbacks {
    printf: no_printf,
    fault: no_fault,
    request: no_request,
    clock: no_clock,
    enter: unprotected::enter,
    copy: unprotected::copy,
    check: no_check,
};

/// The context of a launch.
pub(super) fn context(local: &mut [u8], scratch: &mut [u8], launch: *const c_void) -> WgContext {
    WgContext {
        work_dim: 1,
        reserved: 0,
        global_size: [1; 3],
        global_offset: [0; 3],
        local_size: [1; 3],
        num_groups: [1; 3],
        group_y: 0,
        group_z: 0,
        local_mem: local.as_mut_ptr(),
        local_mem_bytes: local.len() as u64,
        scratch: scratch.as_mut_ptr(),
        scratch_bytes: scratch.len() as u64,
        callbacks: &CALLBACKS,
        launch,
        entry_data: std::ptr::null(),
    }
}

impl CompiledFunction {
    /// Calls it with an argument block of 64-bit words.
    pub(super) fn call(&self, args: &[u64], first: u64, count: u64) {
        self.call_in(&context(&mut [], &mut [], std::ptr::null()), args, first, count);
    }

    pub(super) fn call_in(&self, context: &WgContext, args: &[u64], first: u64, count: u64) {
        // SAFETY: the tests build functions that stay within what their arguments point to.
        unsafe { (self.entry.run)(context, args.as_ptr().cast(), first, count) }
    }
}

/// A looped function under construction.
pub(super) struct KernelBuilder {
    pub(super) func: Function,
    pub(super) block: Block,
    pub(super) args: Value,
}

impl KernelBuilder {
    pub(super) fn new(name: &str) -> KernelBuilder {
        let mut func = Function::new(name, &[]);
        func.stage = Stage::Looped;
        let block = func.append_block();
        func.dfg.append_param(block, Type::ptr(Space::Host));
        let args = func.dfg.append_param(block, Type::ptr(Space::Host));
        func.dfg.append_param(block, Type::I64);
        func.dfg.append_param(block, Type::I64);
        KernelBuilder { func, block, args }
    }

    pub(super) fn at(&mut self) -> Builder<'_> {
        Builder::at_end(&mut self.func, self.block)
    }

    /// The n-th word of the argument block, as a global pointer.
    pub(super) fn pointer(&mut self, index: usize) -> Value {
        self.word(index, Type::ptr(Space::Global))
    }

    pub(super) fn word(&mut self, index: usize, ty: Type) -> Value {
        let args = self.args;
        let mut at = self.at();
        let address = at.addr(args, None, 1, 8 * index as i64);
        at.load(ty, address, MemInfo::invariant(8))
    }

    /// A loop whose body runs with the numbers from 0 to `count - 1`.
    pub(super) fn repeat(&mut self, count: u64, body: impl FnOnce(&mut KernelBuilder, Value)) {
        let (head, inside, after) = (self.func.append_block(), self.func.append_block(), self.func.append_block());
        let index = self.func.dfg.append_param(head, Type::I64);
        let mut at = self.at();
        let zero = at.iconst(Type::I64, 0);
        at.jump(head, &[zero]);
        at.switch_to(head);
        let end = at.iconst(Type::I64, count as i64);
        let more = at.icmp(IntCond::Ult, index, end);
        at.branch(more, BlockCall::new(inside, &[]), BlockCall::new(after, &[]));
        self.block = inside;
        body(self, index);
        let mut at = self.at();
        let one = at.iconst(Type::I64, 1);
        let next = at.int2(clift_kir::Opcode::Iadd, index, one);
        at.jump(head, &[next]);
        self.block = after;
    }

    pub(super) fn finish(mut self) -> Function {
        self.at().ret(&[]);
        self.func
    }
}
