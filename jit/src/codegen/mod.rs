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

pub(crate) mod clif;
pub(crate) mod data;
mod host;
pub(crate) mod interp;
mod late;
pub(crate) mod legalize;
mod listing;
mod native;
pub(crate) mod wide;

use std::any::Any;
use std::sync::Arc;

use clift_include::abi::{KernelEntry, Resources};
use clift_kir::{Elem, Func, Function, Imm, Module, Opcode, Type};

use crate::spmd::machine::Machine;
use crate::{BuildError, Options, passes, spmd};
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
    /// Few launches need it, so that the backend may leave the last stages and its own work until one does.
    Late(Box<Rest>),
    /// The backend takes the kernel's function of the module, stage *canonical*, and runs it with sub-groups of this size.
    Canonical(Func, u32),
}

/// What serves the launches that a kernel's packed function does not take.
#[derive(Debug)]
pub(crate) struct Rest {
    /// For any work-group, stage *looped*.
    pub(crate) general: Function,
    /// The kernel at stage *canonical*, to be packed more narrowly.
    pub(crate) module: Arc<Module>,
    /// Its number in the module.
    pub(crate) kernel: usize,
    /// What launches provide for it.
    pub(crate) needs: Resources,
    /// How it is built.
    pub(crate) options: Options,
}

impl Rest {
    /// The function for any work-group, stage *legal*.
    pub(crate) fn general(&self, caps: &VectorCaps) -> Function {
        finish(self.general.clone(), caps, &self.options)
    }

    /// A function for groups whose rows are whole packs of `lanes` lanes, stage *legal*, and what it needs. `None` where the kernel
    /// can tell how large its packs are.
    ///
    /// # Errors
    /// As [`spmd::narrower`].
    pub(crate) fn narrower(&self, lanes: u32, caps: &VectorCaps) -> Result<Option<(Function, Resources)>, BuildError> {
        let kernel = &self.module.kernels[self.kernel];
        let made = spmd::narrower(&self.module, kernel, &self.options, &caps.machine(), lanes)?;
        Ok(made.map(|made| (finish(made.func, caps, &self.options), made.resources)))
    }
}

/// The last stages before a backend's own: from *looped* to *legal*.
fn finish(mut looped: Function, caps: &VectorCaps, options: &Options) -> Function {
    passes::clean(&mut looped, options);
    legalize::run(&looped, caps)
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
pub(crate) trait Backend {
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
        &self,
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
