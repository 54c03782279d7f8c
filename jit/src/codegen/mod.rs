//! Code generation: from looped functions to executable code.
//!
//! - [`Backend`] is the trait of all backends, [`VectorCaps`] a backend's description of its vector unit;
//! - [`constant_tables`] makes permutations of gathers from small constant tables;
//! - [`legalize`] rewrites looped functions for given capabilities, for all backends that make machine code;
//! - [`demote`] keeps values of large functions in stack slots where far more are alive than there are registers;
//! - [`cranelift`] is the backend that uses Cranelift, with 128-bit vectors;
//! - [`x86`] is the backend for x86-64 machines with AVX-512 or AVX2, with vectors of 512 or 256 bits;
//! - [`interp`] is the reference interpreter as a backend;
//! - [`native`] has what `cranelift` and `x86` share: functions compiled with the program or lazily ([`lazy`]), host functions
//!   that the code calls ([`host`]), executable memory ([`code_memory`]), where code is ([`code_map`]), and listings
//!   ([`listing`]);
//! - [`symbols`] tells profilers and debuggers the names and lines of functions, on request;
//! - [`process_lock`] has the locks of what the whole process shares, for threads that fork;
//! - [`data`] owns the program-scope variables.
//!
//! Deliberately not here: OpenCL (nothing of it is left after `spmd`), optimizations beyond single instructions, and threads.
//! `docs/add-a-backend.md` describes what a new backend has to provide.

pub(crate) mod code_map;
mod code_memory;
pub(crate) mod constant_tables;
pub(crate) mod cranelift;
pub(crate) mod data;
pub(crate) mod demote;
mod host;
pub(crate) mod interp;
mod lazy;
pub(crate) mod legalize;
mod listing;
mod native;
pub(crate) mod process_lock;
pub(crate) mod symbols;
pub(crate) mod x86;

use std::any::Any;
use std::sync::Arc;

use clift_include::abi::{KernelEntry, Resources};
use clift_kir::ops::IntOp;
use clift_kir::{Func, Function, Module, Opcode};

use super::BuildError;
use super::spmd::Ids;
use super::target::caps::VectorCaps;
use data::{PlacedFunction, ProgramData};
pub(crate) use lazy::ShortPacks;

/// A kernel to be compiled by a backend.
#[derive(Debug)]
pub(crate) struct KernelCode {
    /// Its name, for messages.
    pub(crate) name: String,
    /// Its function for any work-group.
    pub(crate) general: KernelFunction,
    /// Its function for work-groups that consist of whole packs, at stage *legal*.
    pub(crate) packed: Option<Function>,
    /// Whether it keeps its lanes, whatever they cost; others are given up if their stack frames are too large to be fast.
    pub(crate) keeps_lanes: bool,
}

/// The form in which a backend gets a function.
#[derive(Debug)]
pub(crate) enum KernelFunction {
    /// A function at stage *legal*.
    Legal(Box<Function>),
    /// The source of functions that few launches need; the backend compiles them when they are first called.
    Lazy(Box<dyn LazySource>),
    /// The kernel's function in the module, at stage *canonical*, and the sub-group size to run it with.
    Canonical(Func, u32),
}

/// Makes the functions that serve the launches a kernel's packed function does not take, each when it is first needed.
pub(crate) trait LazySource: std::fmt::Debug + Send + Sync {
    /// The resources that launches provide for the kernel.
    fn resources(&self) -> &Resources;

    /// The function for any work-group of launches with such ids, at stage *legal*.
    ///
    /// # Errors
    /// [`BuildError::Internal`] when a stage broke an invariant.
    fn general(&self, ids: Ids) -> Result<Function, BuildError>;

    /// Whether [`Self::general`] depends on the ids.
    fn depends_on_ids(&self) -> bool;

    /// Whether the work-groups of several rows that are not whole packs need the function [`Self::one_row`].
    fn has_one_row(&self) -> bool;

    /// The function for any work-group as one row, at stage *legal*.
    ///
    /// # Errors
    /// As [`LazySource::general`].
    fn one_row(&self) -> Result<Function, BuildError>;

    /// A function for groups with such packs, at stage *legal*, and the resources it needs. `None` if
    /// the kernel can observe the number of lanes per pack.
    ///
    /// # Errors
    /// As [`LazySource::general`]; also [`BuildError::Limit`] when the function would need too much memory.
    fn narrower(&self, packs: ShortPacks) -> Result<Option<(Function, Resources)>, BuildError>;
}

/// The executable form of a program's kernels.
#[derive(Debug)]
pub(crate) struct CompiledKernels {
    /// One entry per kernel, in the order of the kernels given. [`BuildError::Limit`], which names the kernel, for one that is
    /// too large for the backend.
    pub(crate) entries: Vec<Result<KernelEntry, BuildError>>,
    /// The dumps that were requested.
    pub(crate) log: String,
    /// Keeps code and data alive.
    pub(crate) memory: Arc<dyn Any + Send + Sync>,
}

/// The stage at which a backend takes functions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AcceptedStage<'a> {
    /// Stage *canonical*: one work-item's code.
    Canonical,
    /// Stage *legal*: whole work-groups, legalized for these capabilities.
    Legal(&'a VectorCaps),
}

/// Makes kernels executable.
pub(crate) trait Backend: Sync {
    /// The name for messages and traces.
    fn name(&self) -> &'static str;

    /// The stage at which it takes functions.
    fn accepted_stage(&self) -> AcceptedStage<'_>;

    /// Makes the kernels of a module executable, in the module's order. `data` holds the module's variables, `dump` lists what
    /// goes to the log.
    ///
    /// # Errors
    /// [`BuildError::Limit`] when there is no memory for the code. Errors of single kernels are in the result.
    fn compile(
        &'static self,
        module: &Module,
        kernels: Vec<KernelCode>,
        data: Arc<ProgramData>,
        dump: &[String],
    ) -> Result<CompiledKernels, BuildError>;

    /// Compiles a function that kernels call, at stage *legal*; `data` holds what it calls itself. Also returns what `dump`
    /// asks for.
    ///
    /// # Errors
    /// [`BuildError::Limit`] when the function is too large for the backend, [`BuildError::Internal`] when it breaks an
    /// invariant.
    fn compile_called(
        &'static self,
        func: &Function,
        data: &Arc<ProgramData>,
        dump: &[String],
    ) -> Result<(PlacedFunction, String), BuildError>;
}

/// Called for an op that does not occur in legal functions.
fn not_legal(op: impl Into<Opcode>) -> ! {
    unreachable!("broken invariant: {} in a legal function", op.into().info().name)
}

/// Shifts and rotations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shift {
    Left,
    Right,
    ArithmeticRight,
    RotateLeft,
}

impl Shift {
    fn of(op: Opcode) -> Shift {
        let shifts = [
            (Opcode::Shl, Shift::Left),
            (Opcode::Lshr, Shift::Right),
            (Opcode::Ashr, Shift::ArithmeticRight),
            (Opcode::Rotl, Shift::RotateLeft),
        ];
        let found = shifts.into_iter().find(|&(each, _)| each == op);
        found.unwrap_or_else(|| unreachable!("broken invariant: {} is not a shift", op.info().name)).1
    }
}

/// Sums and differences that clamp to the range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Saturating {
    Sum,
    Difference,
    SignedSum,
    SignedDifference,
}

impl Saturating {
    fn of(op: Opcode) -> Saturating {
        let ops = [
            (Opcode::UaddSat, Saturating::Sum),
            (Opcode::UsubSat, Saturating::Difference),
            (Opcode::SaddSat, Saturating::SignedSum),
            (Opcode::SsubSat, Saturating::SignedDifference),
        ];
        let found = ops.into_iter().find(|&(each, _)| each == op);
        found.unwrap_or_else(|| unreachable!("broken invariant: {} does not saturate", op.info().name)).1
    }
}

/// The integer ops that Booleans and masks have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BooleanOp {
    And,
    Or,
    Xor,
    Not,
    Compare,
}

impl BooleanOp {
    /// The op of Booleans that an integer op is.
    fn of(op: IntOp) -> BooleanOp {
        match op {
            IntOp::And => BooleanOp::And,
            IntOp::Or => BooleanOp::Or,
            IntOp::Xor => BooleanOp::Xor,
            IntOp::Not => BooleanOp::Not,
            IntOp::Icmp => BooleanOp::Compare,
            IntOp::Iadd
            | IntOp::Isub
            | IntOp::Imul
            | IntOp::Umulh
            | IntOp::Smulh
            | IntOp::Udiv
            | IntOp::Sdiv
            | IntOp::Urem
            | IntOp::Srem
            | IntOp::Ineg
            | IntOp::Iabs
            | IntOp::UaddSat
            | IntOp::SaddSat
            | IntOp::UsubSat
            | IntOp::SsubSat
            | IntOp::Umin
            | IntOp::Umax
            | IntOp::Smin
            | IntOp::Smax
            | IntOp::Shl
            | IntOp::Lshr
            | IntOp::Ashr
            | IntOp::Rotl
            | IntOp::Clz
            | IntOp::Ctz
            | IntOp::Popcnt
            | IntOp::Bitrev => unreachable!("broken invariant: {} of Booleans", Opcode::from(op).info().name),
        }
    }
}
