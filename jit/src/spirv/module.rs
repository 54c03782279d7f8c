//! The index of a module: which instruction defines which id, the sections, functions and their blocks.
//!
//! Building it checks the logical layout of the module: each instruction is in its section, each id has one definition, functions
//! have an end, and blocks have a terminator. Types and semantics are checked later.

use rspirv::dr::Operand;
use rspirv::spirv::{AddressingModel, ExecutionMode, ExecutionModel, MemoryModel, Op};
use rustc_hash::FxHashMap;

use super::caps::{ExtSet, accepts_capability, accepts_extension};
use super::decorations::DecorationTable;
use super::families::AnnotationInst;
use super::words::{Inst, InstError, Parsed};
use crate::ImportError;

/// An entry point.
#[derive(Clone, Debug)]
pub(crate) struct EntryPoint {
    /// Index of its instruction.
    pub(crate) inst: usize,
    /// The function.
    pub(crate) function: u32,
    /// Its name.
    pub(crate) name: String,
}

/// A block of a function.
#[derive(Clone, Debug)]
pub(crate) struct BlockDef {
    /// Its label's id.
    pub(crate) label: u32,
    /// Indices of its instructions after the label, the terminator included.
    pub(crate) insts: std::ops::Range<usize>,
}

/// A function. Without blocks it is a declaration.
#[derive(Clone, Debug)]
pub(crate) struct FunctionDef {
    /// Index of its `OpFunction`.
    pub(crate) inst: usize,
    /// Its id.
    pub(crate) id: u32,
    /// Indices of its `OpFunctionParameter`s.
    pub(crate) params: Vec<usize>,
    /// Its blocks, the entry first.
    pub(crate) blocks: Vec<BlockDef>,
}

/// A parsed module with its index.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    /// SPIR-V version (major, minor).
    pub(crate) version: (u8, u8),
    /// Number of the tool that made it.
    pub(crate) generator: u32,
    /// All instructions.
    pub(crate) insts: Vec<Inst>,
    /// The instruction that defines an id.
    pub(crate) defs: FxHashMap<u32, usize>,
    /// Imported extended instruction sets.
    pub(crate) ext_sets: FxHashMap<u32, ExtSet>,
    /// `OpName`.
    pub(crate) names: FxHashMap<u32, String>,
    /// Texts of `OpString`s.
    pub(crate) strings: Vec<String>,
    /// Entry points in order.
    pub(crate) entry_points: Vec<EntryPoint>,
    /// Indices of the execution mode instructions.
    pub(crate) modes: Vec<usize>,
    /// Decorations.
    pub(crate) decorations: DecorationTable,
    /// Indices of types, constants and module-scope variables, in order.
    pub(crate) globals: Vec<usize>,
    /// Functions in order.
    pub(crate) functions: Vec<FunctionDef>,
    /// Index in `functions` by id.
    pub(crate) function_index: FxHashMap<u32, usize>,
}

/// Sections of the logical layout of a module. Annotations and debug information are one section because some producers mix them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Capability,
    Extension,
    ExtInstImport,
    MemoryModel,
    EntryPoint,
    ExecutionMode,
    Debug,
    Globals,
    Functions,
}

/// The section of an instruction; `None` if several sections may contain it.
fn section(op: Op) -> Option<Section> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other instructions are in functions")]
    Some(match op {
        Op::Capability | Op::ConditionalCapabilityINTEL => Section::Capability,
        Op::Extension | Op::ConditionalExtensionINTEL => Section::Extension,
        Op::ExtInstImport => Section::ExtInstImport,
        Op::MemoryModel => Section::MemoryModel,
        Op::EntryPoint | Op::ConditionalEntryPointINTEL => Section::EntryPoint,
        Op::ExecutionMode | Op::ExecutionModeId => Section::ExecutionMode,
        Op::String | Op::Name | Op::MemberName => Section::Debug,
        op if AnnotationInst::of(op).is_some() => Section::Debug,
        Op::AliasDomainDeclINTEL | Op::AliasScopeDeclINTEL | Op::AliasScopeListDeclINTEL => return None,
        Op::Line | Op::NoLine | Op::Undef | Op::Variable | Op::UntypedVariableKHR => return None,
        Op::ExtInst | Op::ExtInstWithForwardRefsKHR => return None,
        Op::TypeForwardPointer | Op::ConstantPipeStorage => Section::Globals,
        op if op.is_type() || op.is_constant() => Section::Globals,
        _ => Section::Functions,
    })
}

impl Module {
    /// Builds the index.
    pub(crate) fn new(parsed: Parsed) -> Result<Module, ImportError> {
        let Parsed { version, generator, insts } = parsed;
        let mut module = Module {
            version,
            generator,
            insts: Vec::new(),
            defs: FxHashMap::default(),
            ext_sets: FxHashMap::default(),
            names: FxHashMap::default(),
            strings: Vec::new(),
            entry_points: Vec::new(),
            modes: Vec::new(),
            decorations: DecorationTable::default(),
            globals: Vec::new(),
            functions: Vec::new(),
            function_index: FxHashMap::default(),
        };
        let mut state = LayoutCheck { section: Section::Capability, open: None, memory_model: false };
        for (index, inst) in insts.iter().enumerate() {
            module.take(&mut state, index, inst).map_err(|error| error.at(inst))?;
        }
        let end = |reason: &str| ImportError::malformed(insts.last().map_or(5, |i| i.word), reason);
        if state.open.is_some() {
            return Err(end("the last function has no OpFunctionEnd"));
        }
        if !state.memory_model {
            return Err(end("the module has no OpMemoryModel"));
        }
        for entry in &module.entry_points {
            let defined = module.function_index.get(&entry.function).map(|&f| &module.functions[f]);
            if defined.is_none_or(|f| f.blocks.is_empty()) {
                let reason = format!("entry point `{}` does not name a function with a body", entry.name);
                return Err(InstError::malformed(reason).at(&insts[entry.inst]));
            }
        }
        module.insts = insts;
        Ok(module)
    }

    /// The instruction that defines an id.
    pub(crate) fn def(&self, id: u32) -> Option<&Inst> {
        self.defs.get(&id).map(|&index| &self.insts[index])
    }

    /// An id with its name, for messages.
    pub(crate) fn describe(&self, id: u32) -> String {
        match self.names.get(&id) {
            Some(name) => format!("%{id} ({name})"),
            None => format!("%{id}"),
        }
    }

    /// The function of an id.
    pub(crate) fn function(&self, id: u32) -> Option<&FunctionDef> {
        self.function_index.get(&id).map(|&index| &self.functions[index])
    }

    /// Whether an extended instruction belongs to a debug information set.
    pub(crate) fn is_debug(&self, inst: &Inst) -> Result<bool, InstError> {
        Ok(self.ext_sets.get(&inst.id(0)?).is_some_and(|set| set.is_debug()))
    }

    /// Adds the next instruction to the index.
    fn take(&mut self, state: &mut LayoutCheck, index: usize, inst: &Inst) -> Result<(), InstError> {
        if let Some(id) = inst.dr.result_id
            && self.defs.insert(id, index).is_some()
        {
            return Err(InstError::malformed(format!("id {id} is defined twice")));
        }
        if state.open.is_some() {
            return self.take_in_function(state, index, inst);
        }
        let here = if inst.spec_op { Some(Section::Globals) } else { section(inst.op()) };
        match here {
            Some(section) if section < state.section => {
                return Err(InstError::malformed("the instruction follows a later section of the module"));
            }
            Some(section) => state.section = section,
            None => {}
        }
        if inst.spec_op {
            self.globals.push(index);
            return Ok(());
        }
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "all other instructions define globals, or are in functions"
        )]
        match inst.op() {
            Op::Capability => {
                let Operand::Capability(capability) = *inst.operand(0)? else {
                    return Err(InstError::malformed("the capability is missing"));
                };
                if !accepts_capability(capability) {
                    return Err(InstError::unsupported(format!("capability {capability:?}")));
                }
            }
            Op::Extension => {
                let name = inst.string(0)?;
                if !accepts_extension(name) {
                    return Err(InstError::unsupported(format!("extension {name}")));
                }
            }
            Op::ExtInstImport => {
                let name = inst.string(0)?;
                let set = ExtSet::from_name(name)
                    .ok_or_else(|| InstError::unsupported(format!("extended instruction set {name}")))?;
                self.ext_sets.insert(inst.result()?, set);
            }
            Op::MemoryModel => {
                if state.memory_model {
                    return Err(InstError::malformed("the module has a second memory model"));
                }
                state.memory_model = true;
                match (inst.operand(0)?, inst.operand(1)?) {
                    (
                        Operand::AddressingModel(AddressingModel::Physical64),
                        Operand::MemoryModel(MemoryModel::OpenCL),
                    ) => {}
                    (Operand::AddressingModel(addressing), Operand::MemoryModel(memory)) => {
                        return Err(InstError::unsupported(format!(
                            "addressing model {addressing:?} with memory model {memory:?}; this device supports Physical64 \
                             with OpenCL"
                        )));
                    }
                    _ => return Err(InstError::malformed("the addressing model and the memory model are missing")),
                }
            }
            Op::EntryPoint => {
                let Operand::ExecutionModel(model) = *inst.operand(0)? else {
                    return Err(InstError::malformed("the execution model is missing"));
                };
                if model != ExecutionModel::Kernel {
                    return Err(InstError::unsupported(format!("execution model {model:?}")));
                }
                let name = inst.string(2)?.to_owned();
                if self.entry_points.iter().any(|entry| entry.name == name) {
                    return Err(InstError::malformed(format!("entry point `{name}` is declared twice")));
                }
                self.entry_points.push(EntryPoint { inst: index, function: inst.id(1)?, name });
            }
            Op::ExecutionMode | Op::ExecutionModeId => {
                let target = inst.id(0)?;
                if !self.entry_points.iter().any(|entry| entry.function == target) {
                    return Err(InstError::malformed("the target is not an entry point"));
                }
                if !matches!(inst.operand(1)?, Operand::ExecutionMode(_)) {
                    return Err(InstError::malformed("the execution mode is missing"));
                }
                self.modes.push(index);
            }
            Op::String => self.strings.push(inst.string(0)?.to_owned()),
            Op::Name => {
                self.names.insert(inst.id(0)?, inst.string(1)?.to_owned());
            }
            // Debug information and aliasing hints that are not used.
            Op::MemberName
            | Op::Line
            | Op::NoLine
            | Op::AliasDomainDeclINTEL
            | Op::AliasScopeDeclINTEL
            | Op::AliasScopeListDeclINTEL => {}
            op if AnnotationInst::of(op).is_some() => self.decorations.add(inst)?,
            Op::Variable | Op::UntypedVariableKHR | Op::Undef => {
                if state.section > Section::Globals {
                    return Err(InstError::malformed("the instruction is outside a function"));
                }
                state.section = Section::Globals;
                self.globals.push(index);
            }
            Op::ExtInst | Op::ExtInstWithForwardRefsKHR => {
                if !self.is_debug(inst)? {
                    return Err(InstError::malformed("the instruction is outside a function"));
                }
            }
            Op::Function => {
                let id = inst.result()?;
                self.function_index.insert(id, self.functions.len());
                self.functions.push(FunctionDef { inst: index, id, params: Vec::new(), blocks: Vec::new() });
                state.open = Some(FunctionPosition::Header);
            }
            _ if state.section == Section::Globals => self.globals.push(index),
            _ => return Err(InstError::malformed("the instruction is outside a function")),
        }
        Ok(())
    }

    /// Adds an instruction between `OpFunction` and `OpFunctionEnd`.
    fn take_in_function(&mut self, state: &mut LayoutCheck, index: usize, inst: &Inst) -> Result<(), InstError> {
        let Some(function) = self.functions.last_mut() else {
            unreachable!("broken invariant: an open function is in the list")
        };
        let Some(open) = state.open else { unreachable!("broken invariant: a function is open") };
        match (inst.op(), open) {
            _ if inst.spec_op => return Err(InstError::malformed("the instruction is not allowed inside a function")),
            (Op::Line | Op::NoLine, _) => {}
            (Op::ExtInst | Op::ExtInstWithForwardRefsKHR, FunctionPosition::Header | FunctionPosition::Between)
                if self.ext_sets.get(&inst.id(0)?).is_some_and(|set| set.is_debug()) => {}
            (Op::FunctionParameter, FunctionPosition::Header) => function.params.push(index),
            (Op::FunctionEnd, FunctionPosition::Header | FunctionPosition::Between) => state.open = None,
            (Op::Label, FunctionPosition::Header | FunctionPosition::Between) => {
                function.blocks.push(BlockDef { label: inst.result()?, insts: index + 1..index + 1 });
                state.open = Some(FunctionPosition::Block);
            }
            (
                Op::FunctionParameter | Op::FunctionEnd | Op::Label,
                FunctionPosition::Between | FunctionPosition::Block,
            ) => {
                return Err(InstError::malformed("the preceding block has no terminator"));
            }
            (op, FunctionPosition::Block)
                if matches!(section(op), None | Some(Section::Functions)) && op != Op::Function =>
            {
                if is_terminator(op) {
                    let Some(block) = function.blocks.last_mut() else {
                        unreachable!("broken invariant: an open block is in the list")
                    };
                    block.insts.end = index + 1;
                    state.open = Some(FunctionPosition::Between);
                }
            }
            (_, FunctionPosition::Header | FunctionPosition::Between) => {
                return Err(InstError::malformed("the instruction is outside a block"));
            }
            (_, FunctionPosition::Block) => {
                return Err(InstError::malformed("the instruction is not allowed inside a function"));
            }
        }
        Ok(())
    }

    /// Execution modes of an entry point's function: the mode and its instruction.
    pub(crate) fn modes_of(&self, function: u32) -> impl Iterator<Item = (ExecutionMode, &Inst)> {
        self.modes.iter().map(|&index| &self.insts[index]).filter_map(move |inst| match inst.dr.operands[..] {
            [Operand::IdRef(target), Operand::ExecutionMode(mode), ..] if target == function => Some((mode, inst)),
            _ => None,
        })
    }
}

/// Whether an instruction ends a block.
pub(crate) fn is_terminator(op: Op) -> bool {
    matches!(
        op,
        Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::Kill
            | Op::Return
            | Op::ReturnValue
            | Op::Unreachable
            | Op::TerminateInvocation
    )
}

/// State of the layout check while it walks over the module.
struct LayoutCheck {
    section: Section,
    open: Option<FunctionPosition>,
    memory_model: bool,
}

/// Position of the layout check in a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FunctionPosition {
    /// Before the first block.
    Header,
    /// In a block.
    Block,
    /// After a terminator.
    Between,
}
