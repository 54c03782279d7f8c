//! Clift's kernel IR (*kir*): an SSA form for OpenCL kernels from import to code generation.
//!
//! - [`entities`], [`types`], [`ops`]: ids, types, and the op table, which defines each operation's name, operands, typing,
//!   effects, uniformity and semantics;
//! - [`inst`], [`dfg`], [`layout`], [`function`], [`module`]: the data structures (data flow apart from order, ids instead of
//!   references, facts in side tables);
//! - [`builder`], [`clone`]: create instructions, and copies of them;
//! - [`analysis`], [`ssa`]: analyses of functions, and SSA construction;
//! - [`text`]: the text form;
//! - [`verify`]: the verifier, with the rules of each stage;
//! - [`interp`]: the reference interpreter;
//! - [`eval`]: the semantics of ops whose result depends only on their operands, shared by the constant folder and the
//!   interpreter.
//!
//! Deliberately not here: SPIR-V, OpenCL, Cranelift, and analysis results stored in the IR. The crate forbids `unsafe`.
//! `docs/kernel-ir.md` is the reference.
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

pub mod analysis;
pub mod builder;
pub mod clone;
pub mod dfg;
pub mod entities;
pub mod eval;
pub mod function;
pub mod inst;
pub mod interp;
pub mod layout;
pub mod libfn;
pub mod meeting;
pub mod module;
pub mod ops;
pub mod ssa;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod types;
pub mod verify;

pub use builder::Builder;
pub use dfg::DataFlowGraph;
pub use entities::{Block, Const, Func, Global, Inst, Slot, Value};
pub use function::{Function, InlinedCall, Loc, SlotData, Stage};
pub use inst::{
    AtomicInfo, AtomicOp, BarrierInfo, BlockCall, Convert, FloatCond, FpFlags, GroupInfo, ImageDims, ImageFlags,
    ImageInfo, Imm, InstData, IntCond, MemInfo, MemOrder, MemScope, Rounding, SpaceSet, SwitchData, WrapFlags,
};
pub use layout::Layout;
pub use libfn::LibFn;
pub use meeting::Meeting;
pub use module::{GlobalData, GlobalInit, KernelData, Module};
pub use ops::{Effects, OpClass, OpInfo, Opcode};
pub use types::{Elem, Space, Type};
