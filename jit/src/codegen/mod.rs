//! Code generation: from looped functions to something that runs.
//!
//! - [`Backend`] is the trait all backends implement, [`VectorCaps`] what a backend says about its vector unit;
//! - [`legalize`] rewrites looped functions for given capabilities, for all backends that make machine code;
//! - `clif` is the backend that goes through Cranelift, `interp` the reference interpreter as a backend;
//! - `wide` is the backend for machines with vectors of 512 bits;
//! - `native` is what these two have in common: functions compiled with the program or when they are called (`late`), what they call
//!   (`host`), how they are shown (`listing`);
//! - `data` owns the program-scope variables.
//!
//! Deliberately not here: anything about OpenCL (gone after `spmd`), optimization above single instructions, and threads.
//! `docs/add-a-backend.md` says what a further backend has to bring.

mod code_memory;
pub(crate) mod cranelift;
pub(crate) mod data;
mod host;
pub(crate) mod interp;
mod lazy;
pub(crate) mod legalize;
mod listing;
mod native;
pub(crate) mod x86;

use std::any::Any;
use std::sync::Arc;

use clift_include::abi::{KernelEntry, Resources};
use clift_kir::{Elem, Func, Function, Imm, Module, Opcode, Type};

use super::BuildError;
use super::target::machine::Machine;
use data::ProgramData;

/// A kernel on its way into a backend.
#[derive(Debug)]
pub(crate) struct KernelCode {
    /// Its name, for messages.
    pub(crate) name: String,
    /// Its function for any work-group; the module's own is the canonical one.
    pub(crate) general: Body,
    /// Its legal function for work-groups made of whole packs.
    pub(crate) packed: Option<Function>,
}

/// A function that a backend gets.
#[derive(Debug)]
pub(crate) enum Body {
    /// Stage *legal*.
    Legal(Box<Function>),
    /// Few launches need it: the backend compiles it when one does.
    Deferred(Box<dyn Deferred>),
    /// The backend takes the kernel's function of the module, stage *canonical*, and runs it with sub-groups of this size.
    Canonical(Func, u32),
}

/// Makes the functions of a kernel that serve the launches its packed function does not take, each when it is first needed.
pub(crate) trait Deferred: std::fmt::Debug + Send + Sync {
    /// What launches provide for the kernel.
    fn resources(&self) -> &Resources;

    /// The function for any work-group, stage *legal*.
    ///
    /// # Errors
    /// [`BuildError::Internal`] when a stage broke an invariant.
    fn general(&self) -> Result<Function, BuildError>;

    /// A function for groups whose rows are whole packs of `lanes` lanes, stage *legal*, and what it needs. `None` where the kernel
    /// can tell how large its packs are.
    ///
    /// # Errors
    /// As [`Deferred::general`]; [`BuildError::Limit`] when it would need too much memory.
    fn narrower(&self, lanes: u32) -> Result<Option<(Function, Resources)>, BuildError>;
}

/// What a backend made of a program's kernels.
#[derive(Debug)]
pub(crate) struct Executable {
    /// One entry per kernel, in the order they were given.
    pub(crate) entries: Vec<KernelEntry>,
    /// What was asked to be dumped.
    pub(crate) log: String,
    /// Keeps code and data alive.
    pub(crate) memory: Arc<dyn Any + Send + Sync>,
}

/// At which stage a backend takes functions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<'a> {
    /// One work-item's code, as the canonical passes leave it in the module.
    Canonical,
    /// Whole work-groups, legalized for these capabilities.
    Legal(&'a VectorCaps),
}

/// Makes kernels executable.
pub(crate) trait Backend: Sync {
    /// Its name, for messages and traces.
    fn name(&self) -> &'static str;

    /// The stage at which it takes functions.
    fn input(&self) -> Input<'_>;

    /// Makes the kernels of a module executable, all of them in the module's order; `data` holds the module's variables,
    /// `dump` names what goes to the log.
    ///
    /// # Errors
    /// [`BuildError::Limit`] when a kernel is too large for the backend, [`BuildError::Internal`] when it breaks an
    /// invariant; both name the kernel.
    fn compile(
        &'static self,
        module: &Module,
        kernels: Vec<KernelCode>,
        data: Arc<ProgramData>,
        dump: &[String],
    ) -> Result<Executable, BuildError>;
}

/// What a backend's vector unit can do, for the legalizer. Scalars need no capabilities: every backend does all ops on
/// scalars of all elements but `f16` (which is legalized to integers and `f32`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorCaps {
    /// Bits of a vector register; 0 when there are no vectors.
    pub(crate) register_bits: u32,
    /// Vector registers.
    pub(crate) registers: u32,
    /// Whether the backend does an op on vectors of up to a register. Operand and result element are those of the first
    /// operand and of the result (for ops without a result: of the stored value).
    pub(crate) native: fn(op: Opcode, imm: &Imm, from: Elem, to: Elem) -> bool,
    /// Whether a shift or rotation of an element takes a count of its own in every lane. All that `native` says of them is meant
    /// for counts that are the same in every lane.
    pub(crate) varying_shifts: fn(op: Opcode, elem: Elem) -> bool,
    /// Whether any lanes of two registers take one instruction, not only those of simple patterns.
    pub(crate) any_shuffle: bool,
}

impl VectorCaps {
    /// A backend without vectors.
    pub(crate) const SCALAR: VectorCaps = VectorCaps {
        register_bits: 0,
        registers: 0,
        native: |_, _, _, _| false,
        varying_shifts: |_, _| false,
        any_shuffle: false,
    };

    /// What packs are made for. Without vectors that is what machines have in common.
    pub(crate) fn machine(&self) -> Machine {
        if self.register_bits == 0 {
            return Machine::COMMON;
        }
        Machine { register_bits: self.register_bits, registers: self.registers }
    }

    /// Lanes of the parts that a value is split into: those of a register, fewer when the value has no more (rounded up to a
    /// power of two).
    pub(crate) fn part_lanes(&self, ty: Type) -> u32 {
        // A mask's natural width is that of 32-bit elements; comparisons give theirs the width of what they compare.
        let bits = if ty.is_bool() { 32 } else { ty.elem.bits() };
        (self.register_bits / bits).max(1).min(ty.lanes().next_power_of_two())
    }
}

/// An op that legalization has replaced.
fn not_legal(op: impl Into<Opcode>) -> ! {
    unreachable!("broken invariant: {} in a legal function", op.into().info().name)
}
