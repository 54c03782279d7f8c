//! The reference interpreter as a backend. The entry interprets the canonical kernel, one work-group after the other, in the
//! application's own memory. It is slow. Undefined behaviour that it detects is reported to the launch as a fault.
//!
//! Deliberately not here: the meaning of any op (the interpreter defines it), and checks against the bounds of buffers, which
//! only the runtime knows.

#![allow(unsafe_code, reason = "interpreted kernels access the application's memory by address")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use clift_include::abi::{KernelEntry, PrintfArg, PrintfArgKind, WgContext};
use clift_include::check::PACKED;
use clift_kir::interp::{
    Accessor, Fault, Geometry, GlobalAddresses, GroupLaunch, InterpError, InterpOptions, Interpreter, Memory,
    NearbyAllocation, Observer, PreparedModule, PrintfCall, Report,
};
use clift_kir::{Elem, Func, Function, Module, Opcode, Space};

use super::data::{PlacedFunction, ProgramData};
use super::{AcceptedStage, Backend, CompiledKernels, KernelCode, KernelFunction};
use crate::BuildError;
use crate::guard::panic_text;

/// The interpreter as a backend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InterpBackend;

/// What all kernels of a program share.
#[derive(Debug)]
struct InterpProgram {
    module: Module,
    prepared: PreparedModule,
    globals: GlobalAddresses,
    /// Keeps the memory behind the addresses in `globals` alive.
    _data: Arc<ProgramData>,
}

/// A kernel; an entry's data points to it.
#[derive(Debug)]
struct InterpKernel {
    shared: Arc<InterpProgram>,
    func: Func,
    arg_block_bytes: usize,
    sub_group_size: u32,
    /// Whether it has checks, which find divergent barriers if they are to be found.
    checked: bool,
}

impl Backend for InterpBackend {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn accepted_stage(&self) -> AcceptedStage<'_> {
        AcceptedStage::Canonical
    }

    fn compile(
        &'static self,
        module: &Module,
        kernels: Vec<KernelCode>,
        data: Arc<ProgramData>,
        _dump: &[String],
    ) -> Result<CompiledKernels, BuildError> {
        let mut globals = GlobalAddresses::default();
        for (global, variable) in &module.globals {
            if variable.space != Space::Local {
                globals.set(global, data.address(global));
            }
        }
        let module = module.clone();
        let shared = Arc::new(InterpProgram { prepared: PreparedModule::new(&module), module, globals, _data: data });
        let kernels: Vec<Box<InterpKernel>> = kernels
            .iter()
            .map(|code| {
                let KernelFunction::Canonical(func, sub_group_size) = code.general else {
                    unreachable!("broken invariant: code for another backend");
                };
                let kernel = shared.module.kernels.iter().find(|kernel| kernel.func == func);
                let arg_block_bytes = kernel.map_or(0, |kernel| kernel.arg_block_bytes as usize);
                let checked = has_checks(&shared.module.funcs[func]);
                Box::new(InterpKernel { shared: shared.clone(), func, arg_block_bytes, sub_group_size, checked })
            })
            .collect();
        let entries = kernels
            .iter()
            .map(|kernel| Ok(KernelEntry { run, packed: None, data: std::ptr::from_ref(&**kernel).cast() }))
            .collect();
        Ok(CompiledKernels { entries, log: String::new(), memory: Arc::new(kernels) })
    }

    fn compile_called(
        &'static self,
        func: &Function,
        _data: &Arc<ProgramData>,
        _dump: &[String],
    ) -> Result<(PlacedFunction, String), BuildError> {
        unreachable!("broken invariant: `{}` is interpreted, not compiled", func.name)
    }
}

/// Whether a kernel is a checked one.
fn has_checks(func: &Function) -> bool {
    let mut insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.any(|&inst| func.dfg.inst(inst).op == Opcode::Check)
}

/// The most different faults of a checked kernel, whose divergent barriers do not end it.
const MOST_FAULTS: usize = 1 << 10;

/// The entry of every interpreted kernel.
///
/// # Safety
/// As [`clift_include::abi::GroupRunFn`]; the context's entry data is that of an [`InterpBackend`] program.
unsafe extern "C" fn run(ctx: *const WgContext, args: *const u8, first_group: u64, group_count: u64) {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller keeps the context alive and unchanged during the call.
        let context = unsafe { &*ctx };
        // SAFETY: the entry's data is a kernel of a program that is alive while it runs.
        let kernel = unsafe { &*context.entry_data.cast::<InterpKernel>() };
        let args = if kernel.arg_block_bytes == 0 {
            &[]
        } else {
            // SAFETY: the argument block has the size that the kernel states.
            unsafe { std::slice::from_raw_parts(args, kernel.arg_block_bytes) }
        };
        (first_group..first_group.saturating_add(group_count)).all(|group| run_group(context, kernel, args, group))
    }));
    if let Err(payload) = outcome {
        // SAFETY: as above.
        report(unsafe { &*ctx }, &format!("interpreter: {}", panic_text(&*payload)));
    }
}

/// Runs a work-group. Returns whether the run may continue.
fn run_group(context: &WgContext, kernel: &InterpKernel, args: &[u8], group: u64) -> bool {
    let shared = &*kernel.shared;
    let launch = GroupLaunch {
        geometry: Geometry {
            work_dim: context.work_dim,
            global_size: context.global_size,
            global_offset: context.global_offset,
            local_size: context.local_size,
        },
        group: [group, context.group_y, context.group_z],
        args,
        local_base: context.local_mem as u64,
    };
    let sub_group_size = kernel.sub_group_size;
    let max_faults = if kernel.checked { MOST_FAULTS } else { 1 };
    let options = InterpOptions { fuel: u64::MAX, max_faults, sub_group_size, ..InterpOptions::default() };
    let allocations = Allocations::default();
    let mut memory = HostMemory { context, allocations: &allocations };
    let mut observer = Reporter { context, allocations: &allocations, faulted: false, checked: kernel.checked };
    let interpreter = Interpreter::new(&shared.module, &shared.prepared);
    let outcome = interpreter.run_group(kernel.func, &launch, &shared.globals, &options, &mut memory, &mut observer);
    if let Err(error) = outcome {
        report(context, &error.to_string());
        return false;
    }
    !observer.faulted
}

/// Reports an error to the launch.
fn report(context: &WgContext, message: &str) {
    // SAFETY: the context's callbacks are valid while the kernel runs, and so is the text.
    unsafe { ((*context.callbacks).fault)(context, message.as_ptr(), message.len() as u64) }
}

/// Passes faults, `printf` calls and requests to the launch, and the launch's clock to the kernel.
struct Reporter<'a> {
    context: &'a WgContext,
    allocations: &'a Allocations,
    faulted: bool,
    checked: bool,
}

impl Observer for Reporter<'_> {
    fn fault(&mut self, fault: &Report) {
        if self.checked && matches!(fault.fault, Fault::DivergentBarrier { .. }) {
            return;
        }
        self.faulted = true;
        report(self.context, &fault.to_string());
    }

    fn printf(&mut self, _memory: &mut dyn Memory, call: &PrintfCall) -> i32 {
        let mut data = Vec::new();
        let mut args = Vec::new();
        for value in &call.values {
            let (kind, elem_bytes) = match value.ty.elem {
                Elem::F16 | Elem::F32 | Elem::F64 => (PrintfArgKind::Float, value.ty.elem.bytes()),
                Elem::Ptr(_) => (PrintfArgKind::Pointer, 8),
                // Booleans are printed as `int`.
                Elem::B1 => (PrintfArgKind::Int, 4),
                Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 => (PrintfArgKind::Int, value.ty.elem.bytes()),
            };
            let offset = data.len() as u32;
            for bits in &value.bits {
                data.extend_from_slice(&bits.to_le_bytes()[..elem_bytes as usize]);
            }
            data.resize(data.len().next_multiple_of(8), 0);
            let (elem_bytes, lanes) = (elem_bytes as u8, value.ty.lanes() as u8);
            args.push(PrintfArg { kind, elem_bytes, lanes, reserved: 0, offset });
        }
        // SAFETY: the callbacks are valid while the kernel runs. The kernel is responsible for the format's address.
        unsafe {
            ((*self.context.callbacks).printf)(
                self.context,
                call.format as *const u8,
                args.as_ptr(),
                args.len() as u64,
                data.as_ptr(),
            )
        }
    }

    fn request(&mut self, number: u32, operands: &[u64]) -> u64 {
        // SAFETY: the callbacks are valid while the kernel runs. The kernel is responsible for the addresses.
        unsafe { ((*self.context.callbacks).request)(self.context, number, operands.as_ptr(), operands.len() as u64) }
    }

    fn check(&mut self, [site, place, bytes, item]: [u64; 4]) -> bool {
        // If the object is not known, the place is an address, and the launch's checker does not know of these allocations.
        // Offsets are smaller than addresses.
        let near =
            self.allocations.borrow().range(..=place).next_back().map(|(&base, &(layout, _))| (base, layout.size()));
        // Packed accesses are not judged by their address.
        if bytes & PACKED == 0
            && near.is_some_and(|(base, size)| bytes <= size as u64 && place - base <= size as u64 - bytes)
        {
            return true;
        }
        // SAFETY: the callbacks are valid while the kernel runs.
        unsafe { ((*self.context.callbacks).check)(self.context, site, place, bytes, item) != 0 }
    }

    fn clock(&mut self) -> u64 {
        // SAFETY: the callbacks are valid while the kernel runs.
        unsafe { ((*self.context.callbacks).clock)() }
    }
}

/// The application's memory, and the memory that the interpreter allocates.
struct HostMemory<'a> {
    context: &'a WgContext,
    allocations: &'a Allocations,
}

/// The memory that the interpreter has allocated, by address.
type Allocations = RefCell<BTreeMap<u64, (Layout, Space)>>;

/// Lower addresses are never mapped: accesses there go through a null pointer.
const NULL_PAGE: u64 = 4096;

impl HostMemory<'_> {
    /// Checks that an access is possible at all.
    fn check(&self, address: u64, size: u64, write: bool) -> Result<(), Fault> {
        let fault = |near| Fault::OutOfBounds { address, size, write, near };
        if address < NULL_PAGE || address.checked_add(size).is_none() {
            return Err(fault(None));
        }
        // An access that starts in one of our own allocations must end there.
        let allocations = self.allocations.borrow();
        if let Some((&base, &(layout, space))) = allocations.range(..=address).next_back() {
            let end = base + layout.size() as u64;
            if address < end && address + size > end {
                return Err(fault(Some(NearbyAllocation { space, base, size: layout.size() as u64 })));
            }
        }
        Ok(())
    }

    /// Copies between the interpreter and the kernel's memory; `None` if that memory cannot be accessed.
    fn copy(&self, to: *mut u8, from: *const u8, bytes: usize) -> Option<()> {
        // SAFETY: one side is the interpreter's; the kernel is responsible for the other, as in compiled code. The context's
        // callbacks are valid while the kernel runs.
        unsafe { ((*self.context.callbacks).copy)(to, from, bytes as u64) }.then_some(())
    }

    fn owned_in(&self, space: Space, address: u64) -> bool {
        let allocations = self.allocations.borrow();
        let below = allocations.range(..=address).next_back();
        below.is_some_and(|(&base, &(layout, owner))| owner == space && address - base < layout.size() as u64)
    }
}

impl Memory for HostMemory<'_> {
    fn allocate(&mut self, space: Space, size: u64, align: u32) -> Result<u64, InterpError> {
        let error = || InterpError::Memory(format!("{size} bytes of {} memory", space.name()));
        let bytes = usize::try_from(size.max(1)).map_err(|_| error())?;
        let layout = Layout::from_size_align(bytes, align.max(16) as usize).map_err(|_| error())?;
        // SAFETY: the size is not zero.
        let address = unsafe { alloc_zeroed(layout) } as u64;
        if address == 0 {
            return Err(error());
        }
        self.allocations.borrow_mut().insert(address, (layout, space));
        Ok(address)
    }

    fn release(&mut self, address: u64) {
        let removed = self.allocations.borrow_mut().remove(&address);
        if let Some((layout, _)) = removed {
            // SAFETY: allocated with this layout, and released once.
            unsafe { dealloc(address as *mut u8, layout) };
        }
    }

    fn initialize(&mut self, address: u64, bytes: &[u8]) -> Result<(), InterpError> {
        self.write(&Accessor::default(), address, bytes).map_err(|fault| InterpError::Memory(fault.to_string()))
    }

    fn read(&mut self, _access: &Accessor, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        self.check(address, bytes.len() as u64, false)?;
        self.copy(bytes.as_mut_ptr(), address as *const u8, bytes.len()).ok_or(Fault::OutOfBounds {
            address,
            size: bytes.len() as u64,
            write: false,
            near: None,
        })
    }

    fn write(&mut self, _access: &Accessor, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.check(address, bytes.len() as u64, true)?;
        self.copy(address as *mut u8, bytes.as_ptr(), bytes.len()).ok_or(Fault::OutOfBounds {
            address,
            size: bytes.len() as u64,
            write: true,
            near: None,
        })
    }

    fn update(
        &mut self,
        _access: &Accessor,
        address: u64,
        size: u32,
        old: &mut u64,
        new: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<(), Fault> {
        self.check(address, u64::from(size), true)?;
        // Whether the memory can be accessed at all.
        let mut probe = [0; 8];
        self.copy(probe.as_mut_ptr(), address as *const u8, (size as usize).min(probe.len()))
            .ok_or(Fault::OutOfBounds { address, size: u64::from(size), write: true, near: None })?;
        macro_rules! update {
            ($atomic:ty, $int:ty) => {{
                // SAFETY: the interpreter checked the alignment, and the kernel guarantees that the address is valid.
                let place = unsafe { <$atomic>::from_ptr(address as *mut $int) };
                let mut seen = place.load(Ordering::SeqCst);
                loop {
                    let Some(wanted) = new(u64::from(seen)) else { break };
                    match place.compare_exchange_weak(seen, wanted as $int, Ordering::SeqCst, Ordering::SeqCst) {
                        Ok(_) => break,
                        Err(now) => seen = now,
                    }
                }
                *old = u64::from(seen);
            }};
        }
        match size {
            1 => update!(AtomicU8, u8),
            2 => update!(AtomicU16, u16),
            4 => update!(AtomicU32, u32),
            8 => update!(AtomicU64, u64),
            other => unreachable!("broken invariant: atomic of {other} bytes"),
        }
        Ok(())
    }

    fn fence(&mut self) {
        fence(Ordering::SeqCst);
    }

    fn is_in(&self, space: Space, address: u64) -> bool {
        let context = self.context;
        let local = address.wrapping_sub(context.local_mem as u64) < context.local_mem_bytes
            || self.owned_in(Space::Local, address);
        let private = self.owned_in(Space::Private, address);
        match space {
            Space::Local => local,
            Space::Private => private,
            Space::Global => !local && !private,
            Space::Constant | Space::Generic | Space::Host => false,
        }
    }
}

impl Drop for HostMemory<'_> {
    fn drop(&mut self) {
        for (address, (layout, _)) in self.allocations.take() {
            // SAFETY: allocated with this layout, and not released yet.
            unsafe { dealloc(address as *mut u8, layout) };
        }
    }
}
