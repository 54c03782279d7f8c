//! A function: data flow, layout, private variables, and source positions.

use cranelift_entity::{PrimaryMap, SecondaryMap};
use rustc_hash::FxHashMap;

use crate::dfg::{DataFlowGraph, ValueDef};
use crate::entities::{Block, Inst, Slot, Value};
use crate::layout::Layout;
use crate::types::Type;

/// The stage of a function. The verifier has rules for each stage.
///
/// | stage | properties |
/// |---|---|
/// | imported | the importer's output, with calls |
/// | canonical | calls only of functions that take a record; variables promoted; one work-item's code |
/// | widened | one pack's code: varying values have W lanes, queries are those of the first |
/// | regioned | barriers end their blocks |
/// | looped | runs whole work-groups: entry parameters are context, argument block, first group, group count; no work-item queries, barriers, slots or arguments ops |
/// | legal | only types and ops of the backend; slots are its stack frame, `printf` takes format, descriptors, their count, data |
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[allow(missing_docs, reason = "described in the table above")]
pub enum Stage {
    Imported,
    Canonical,
    Widened,
    Regioned,
    Looped,
    Legal,
}

impl Stage {
    /// All stages in order, with their text form.
    pub const ALL: [(Stage, &'static str); 6] = [
        (Stage::Imported, "imported"),
        (Stage::Canonical, "canonical"),
        (Stage::Widened, "widened"),
        (Stage::Regioned, "regioned"),
        (Stage::Looped, "looped"),
        (Stage::Legal, "legal"),
    ];
}

/// A private variable in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotData {
    /// Bytes.
    pub size: u64,
    /// Alignment in bytes, a power of two.
    pub align: u32,
}

/// The source position of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loc {
    /// Word offset in the SPIR-V module plus one; 0 when unknown.
    pub word: u32,
    /// Source line; 0 when unknown.
    pub line: u32,
    /// Source column; 0 when unknown.
    pub column: u32,
    /// The inlined call that the instruction comes from: an index of [`Function::inlined_calls`] plus one; 0 for none.
    pub call: u32,
}

/// A call that has been inlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedCall {
    /// The name of the called function.
    pub callee: String,
    /// The position of the call, which may itself come from an inlined call.
    pub loc: Loc,
}

/// A function of a module.
///
/// A *kernel* takes no parameters: it reads its arguments with `arg` and `arg_addr`. Parameters of other functions (and of the
/// looped form) are those of the entry block.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name; kernels are found by it.
    pub name: String,
    /// Its stage.
    pub stage: Stage,
    /// Result types.
    pub returns: Vec<Type>,
    /// Values, instructions, constants.
    pub dfg: DataFlowGraph,
    /// Blocks and their instructions.
    pub layout: Layout,
    /// Private variables in memory.
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Source positions of instructions.
    pub locs: SecondaryMap<Inst, Loc>,
    /// The calls that have been inlined, if somebody asked for them to be kept.
    pub inlined_calls: Vec<InlinedCall>,
    /// Names for readers.
    pub names: FxHashMap<Value, String>,
    /// The next barrier's id.
    pub next_barrier: u32,
    /// Offsets of pointer arguments of a kernel: what is accessed through one of them, and written at all, is accessed through no
    /// other one of them (`restrict`).
    pub noalias_args: Vec<u32>,
}

impl Function {
    /// An empty function at the first stage.
    pub fn new(name: impl Into<String>, returns: &[Type]) -> Function {
        Function {
            name: name.into(),
            stage: Stage::Imported,
            returns: returns.to_vec(),
            dfg: DataFlowGraph::default(),
            layout: Layout::default(),
            slots: PrimaryMap::new(),
            locs: SecondaryMap::new(),
            inlined_calls: Vec::new(),
            names: FxHashMap::default(),
            next_barrier: 0,
            noalias_args: Vec::new(),
        }
    }

    /// Types of the parameters: those of the entry block.
    pub fn param_types(&self) -> Vec<Type> {
        let entry = self.layout.entry();
        entry.map(|b| self.dfg.params(b).iter().map(|&v| self.dfg.ty(v)).collect()).unwrap_or_default()
    }

    /// A new block at the end.
    pub fn append_block(&mut self) -> Block {
        let block = self.dfg.make_block();
        self.layout.append_block(block);
        block
    }

    /// Blocks that a block may go to next, in the order of its terminator's targets; a block may occur twice.
    pub fn successors(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        let targets = self.layout.terminator(block).map(|inst| self.dfg.targets(inst)).unwrap_or_default();
        targets.into_iter().map(|call| call.block)
    }

    /// The block where a value is defined; `None` if its instruction is in no block.
    pub fn def_block(&self, value: Value) -> Option<Block> {
        match self.dfg.def(value) {
            ValueDef::Result(inst, _) => self.layout.block_of(inst),
            ValueDef::Param(block, _) => Some(block),
        }
    }

    /// The inlined calls that an instruction at a position comes from, the innermost first.
    pub fn calls_of(&self, loc: Loc) -> impl Iterator<Item = &InlinedCall> {
        let call = |loc: Loc| (loc.call as usize).checked_sub(1).and_then(|index| self.inlined_calls.get(index));
        std::iter::successors(call(loc), move |inner| call(inner.loc))
    }

    /// Drops what is known of inlined calls.
    pub fn forget_inlined_calls(&mut self) {
        if !std::mem::take(&mut self.inlined_calls).is_empty() {
            self.locs.values_mut().for_each(|loc| loc.call = 0);
        }
    }

    /// A fresh barrier id.
    pub fn fresh_barrier(&mut self) -> u32 {
        self.next_barrier += 1;
        self.next_barrier - 1
    }
}
