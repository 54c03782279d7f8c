//! The instructions of one function. An instruction goes to the end of the current block; when that has ended (after a jump),
//! what follows cannot be reached, and is dropped until a block begins that something jumps to.

use rustc_hash::FxHashSet;
use spirv::{Decoration, MemoryAccess, Op, StorageClass};

use super::Id;
use super::lines::Lines;
use super::math;
use super::module::ModuleBuilder;
use super::places::Storage;
use super::statements::Exits;
use super::tables::Tables;
use super::words::Section;
use crate::tree::{Function, LabelId};
use crate::types::Ty;

/// Emits one function's instructions into its current block.
#[derive(Debug)]
pub(crate) struct FunctionEmitter<'m, 'a> {
    /// The module.
    pub module: &'m mut ModuleBuilder<'a>,
    /// The function.
    pub function: &'a Function,
    /// Where its variables are, by their number.
    pub(super) locals: Vec<Storage>,
    /// `OpVariable`s, which come first in the first block.
    pub(super) variables: Section,
    /// Parameters that are stored to their variables, after that.
    pub(super) prologue: Section,
    pub(super) body: Section,
    /// Decorations of the body's instructions.
    pub(super) decorations: Section,
    pub(super) is_open: bool,
    current: Id,
    /// Blocks that something jumps to.
    targets: FxHashSet<Id>,
    /// Whether a block was begun that may be unreachable, or that may precede the block that dominates it.
    pub(super) needs_order: bool,
    /// Jumps between blocks, in the order of the blocks.
    pub(super) edges: Vec<(Id, Id)>,
    /// Whether contraction of products and sums is allowed here.
    pub(super) contract: bool,
    pub(super) labels: Vec<Id>,
    pub(super) exits: Exits,
    pub(super) lines: Lines,
    pub(super) tables: Tables,
    pub(super) blocks: Vec<Option<super::expressions::blocks::KnownBlock>>,
}

impl<'m, 'a> FunctionEmitter<'m, 'a> {
    /// An emitter for a function, at the beginning of its first block.
    pub(super) fn new(module: &'m mut ModuleBuilder<'a>, function: &'a Function) -> Self {
        let current = module.fresh();
        Self {
            module,
            function,
            locals: vec![Storage::Unused; function.locals.len()],
            variables: Section::default(),
            prologue: Section::default(),
            body: Section::default(),
            decorations: Section::default(),
            is_open: true,
            current,
            targets: FxHashSet::default(),
            needs_order: false,
            edges: Vec::new(),
            contract: function.contract,
            labels: vec![0; function.labels as usize],
            exits: Exits::default(),
            lines: Lines::default(),
            tables: Tables::default(),
            blocks: Vec::new(),
        }
    }

    /// Emits an instruction with a result.
    pub(crate) fn op(&mut self, op: Op, result_type: Id, operands: &[u32]) -> Id {
        let id = self.module.fresh();
        if self.is_open {
            self.line();
            self.body.push_parts(op, &[&[result_type, id], operands]);
            if self.module.fast_math != 0 && math::is_arithmetic(op) {
                let mode = self.module.fast_math;
                self.decorate(id, Decoration::FPFastMathMode, &[mode]);
            }
        }
        id
    }

    /// Decorates the result of an instruction that was just emitted, unless it was dropped.
    pub(crate) fn decorate(&mut self, id: Id, decoration: Decoration, operands: &[u32]) {
        if self.is_open {
            self.decorations.push_parts(Op::Decorate, &[&[id, decoration as u32], operands]);
        }
    }

    /// Declares that a signed operation does not overflow, if the device has the decoration.
    pub(crate) fn no_signed_wrap(&mut self, id: Id) {
        if self.is_open && self.module.has_no_signed_wrap(id) {
            self.decorate(id, Decoration::NoSignedWrap, &[]);
        }
    }

    /// Emits an instruction without a result.
    pub(crate) fn op_void(&mut self, op: Op, operands: &[u32]) {
        if self.is_open {
            self.line();
            self.body.push(op, operands);
        }
    }

    /// Emits an instruction of `OpenCL.std`.
    pub(crate) fn ext(&mut self, number: u32, result_type: Id, operands: &[u32]) -> Id {
        let id = self.module.fresh();
        if self.is_open {
            self.line();
            let set = self.module.opencl();
            self.body.push_parts(Op::ExtInst, &[&[result_type, id, set, number], operands]);
            if self.module.fast_math != 0 && self.module.is_float(result_type) {
                let mode = self.module.fast_math;
                self.decorate(id, Decoration::FPFastMathMode, &[mode]);
            }
        }
        id
    }

    /// Ends the current block with a branch on a condition (`OpTypeBool`).
    pub(crate) fn branch_to(&mut self, condition: Id, then: Id, otherwise: Id) {
        self.end_block(Op::BranchConditional, &[condition, then, otherwise], &[then, otherwise]);
    }

    /// Ends the current block with a jump.
    pub(crate) fn jump(&mut self, label: Id) {
        self.end_block(Op::Branch, &[label], &[label]);
    }

    /// Ends the current block with an instruction that may continue at some blocks.
    pub(crate) fn end_block(&mut self, op: Op, operands: &[u32], targets: &[Id]) {
        if self.is_open {
            self.op_void(op, operands);
            self.targets.extend(targets);
            self.edges.extend(targets.iter().map(|target| (self.current, *target)));
            self.is_open = false;
        }
    }

    /// Begins a block; the current one, unless it has ended, branches to it.
    pub(crate) fn begin_block(&mut self, label: Id) {
        self.jump(label);
        if self.targets.contains(&label) {
            self.open_block(label);
        }
    }

    /// Begins a block that jumps may lead to that come later.
    pub(super) fn begin_target(&mut self, label: Id) {
        self.jump(label);
        if !self.targets.contains(&label) {
            self.needs_order = true;
        }
        self.open_block(label);
    }

    fn open_block(&mut self, label: Id) {
        self.body.push(Op::Label, &[label]);
        self.lines.reset();
        self.current = label;
        self.is_open = true;
    }

    /// A new block's label.
    pub(crate) fn label(&mut self) -> Id {
        self.module.fresh()
    }

    /// Whether instructions are emitted here: the place can be reached.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// The label of the current block.
    pub(crate) fn current_block(&self) -> Id {
        self.current
    }

    /// Keeps blocks that the current one names without jumping to them.
    pub(super) fn keep_blocks(&mut self, labels: &[Id]) {
        self.edges.extend(labels.iter().map(|label| (self.current, *label)));
    }

    /// Marks a block as one that something jumps to.
    pub(super) fn mark_target(&mut self, label: Id) {
        self.targets.insert(label);
    }

    /// The value that comes from one of several blocks.
    pub(crate) fn phi(&mut self, result_type: Id, values: &[(Id, Id)]) -> Id {
        let operands: smallvec::SmallVec<[u32; 8]> =
            values.iter().flat_map(|(value, block)| [*value, *block]).collect();
        self.op(Op::Phi, result_type, &operands)
    }

    /// A new variable in private memory for an object of a type; the pointer to it.
    pub(crate) fn variable(&mut self, ty: Ty, align: u32) -> Id {
        let memory_type = self.module.memory_type_id(ty);
        let natural = self.module.source.types.layout(ty).map_or(1, |layout| layout.align);
        let pointer = self.module.pointer_type(StorageClass::Function, memory_type);
        let id = self.module.fresh();
        self.variables.push(Op::Variable, &[pointer, id, StorageClass::Function as u32]);
        let align = align.max(natural);
        if align != self.module.memory_layout(memory_type).align {
            self.module.decorate(id, Decoration::Alignment, &[align]);
        }
        id
    }

    /// Reads memory, of the pointee's type.
    pub(crate) fn load(&mut self, memory_type: Id, pointer: Id, align: u32, is_volatile: bool) -> Id {
        let access = memory_access(align, is_volatile);
        self.op(Op::Load, memory_type, &[pointer, access[0], access[1]])
    }

    /// Writes memory.
    pub(crate) fn store(&mut self, pointer: Id, value: Id, align: u32, is_volatile: bool) {
        let access = memory_access(align, is_volatile);
        self.op_void(Op::Store, &[pointer, value, access[0], access[1]]);
    }

    /// The label of a `goto` or `case`.
    pub(super) fn target(&mut self, label: LabelId) -> Id {
        let fresh = self.module.fresh();
        match self.labels.get_mut(label.0 as usize) {
            Some(id) => {
                if *id == 0 {
                    *id = fresh;
                }
                *id
            }
            None => fresh,
        }
    }
}

/// Memory operands.
pub(super) fn memory_access(align: u32, is_volatile: bool) -> [u32; 2] {
    let volatile = if is_volatile { MemoryAccess::VOLATILE } else { MemoryAccess::empty() };
    [(MemoryAccess::ALIGNED | volatile).bits(), align]
}
