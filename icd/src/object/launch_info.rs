//! What all launches of a kernel share: the cost estimate, and what messages about faults say, which are the kernel's name and
//! the memory that its arguments refer to.
//!
//! Nothing is prepared for messages: all is looked up after a fault, from the argument block and what the command keeps alive.

use std::any::Any;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use clift_jit::{ArgInfo, ArgKind, Work};
use clift_runtime::fault::{ItemWork, KnownMemory, LaunchInfo};
use clift_runtime::launch::KernelCost;

use super::buffer::Mem;
use super::context::Context;
use super::program::unit::Executable;
use super::repeated_launches::RepeatedLaunches;
use crate::config::{SpecializeChoice, config};
use crate::ffi::handle::Object;

/// A kernel, as far as messages need it.
#[derive(Debug)]
pub struct KernelInfo {
    /// The executable it is part of.
    pub executable: Arc<Executable>,
    /// Its index there.
    pub index: usize,
    /// The context, whose allocations the kernel can access.
    pub context: Weak<Object<Context>>,
}

/// The launches of a kernel of a program so far, from whatever kernel object.
#[derive(Debug)]
pub struct KernelLaunches {
    /// The cost estimate.
    pub cost: KernelCost,
    /// Those that repeat, if code of their own could be faster.
    pub repeated: Option<RepeatedLaunches>,
    /// Whether a kernel object has been created, so that launches are likely.
    pub has_object: AtomicBool,
}

impl KernelLaunches {
    /// No launches.
    pub fn none(kernel: &clift_jit::Kernel) -> Self {
        let deciding = kernel.specializations.as_ref().map(|all| all.deciding_constants());
        let repeated =
            deciding.filter(|_| config().specialize != SpecializeChoice::Never).and_then(RepeatedLaunches::watch);
        Self { cost: KernelCost::default(), repeated, has_object: AtomicBool::new(false) }
    }
}

impl KernelInfo {
    fn kernel(&self) -> &clift_jit::Kernel {
        &self.executable.program.kernels[self.index]
    }

    /// The launches so far.
    pub fn launches(&self) -> &KernelLaunches {
        &self.executable.launches[self.index]
    }
}

impl LaunchInfo for KernelInfo {
    fn cost(&self) -> &KernelCost {
        &self.launches().cost
    }

    fn failed(&self, message: &str) {
        if let Some(context) = self.context.upgrade() {
            context.report(message);
        }
    }

    fn kernel(&self) -> &str {
        &self.kernel().name
    }

    fn work(&self, args: &[u8]) -> Option<ItemWork> {
        let (Work { float_operations, int_operations, bytes }, is_bound) = self.kernel().work.as_ref()?.of_launch(args);
        Some(ItemWork { float_operations, int_operations, bytes, is_bound })
    }

    fn memory(&self, args: &[u8], kept: &[Arc<dyn Any + Send + Sync>]) -> Vec<KnownMemory> {
        let buffers: Vec<Arc<Object<Mem>>> = kept.iter().filter_map(|kept| kept.clone().downcast().ok()).collect();
        let buffers = || buffers.iter().filter(|mem| mem.as_image().is_none()).map(|mem| mem.bytes());
        let context = self.context.upgrade();
        let mut known = Vec::new();
        for (number, info) in self.kernel().args.iter().enumerate() {
            if !matches!(info.kind, ArgKind::GlobalPointer | ArgKind::ConstantPointer) {
                continue;
            }
            let place = info.slot.offset as usize;
            let Some(address) = args.get(place..).and_then(|bytes| bytes.first_chunk()) else { continue };
            let address = u64::from_le_bytes(*address) as usize;
            let name = argument(info, number);
            if address == 0 {
                known.push(KnownMemory { name: format!("{name}, a null pointer"), start: 0, len: 0 });
                continue;
            }
            let inside = |start: usize, len: usize| address.wrapping_sub(start) < len.max(1);
            let buffer = buffers().map(|bytes| (bytes.as_ptr().addr(), bytes.len()));
            let found = buffer.clone().find(|&(start, _)| start == address).or_else(|| {
                buffer.clone().find(|&(start, len)| inside(start, len)).or_else(|| {
                    let allocation = context.as_ref()?.allocations().at(address)?;
                    Some((allocation.start(), allocation.bytes.len()))
                })
            });
            if let Some((start, len)) = found {
                known.push(KnownMemory { name, start, len });
            }
        }
        // Memory that the kernel reaches otherwise.
        for bytes in buffers() {
            let start = bytes.as_ptr().addr();
            if !known.iter().any(|known| known.start == start) {
                known.push(KnownMemory { name: "a buffer".to_owned(), start, len: bytes.len() });
            }
        }
        known
    }
}

/// An argument in a message.
fn argument(info: &ArgInfo, number: usize) -> String {
    match &info.name {
        Some(name) => format!("argument `{name}`"),
        None => format!("argument {number}"),
    }
}
