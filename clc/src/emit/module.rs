//! The parts of a SPIR-V module, and what is shared by its functions: identifiers, capabilities, types, constants, built-in
//! variables. Types are in `types.rs` and `records.rs`, constants in `constants.rs`, objects in `globals.rs`.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{BuiltIn, Capability, Decoration, ExecutionModel, MemoryModel, Op, StorageClass};

use super::Id;
use super::records::RecordMap;
use super::words::Section;
use crate::options::Version;
use crate::preprocess::Session;
use crate::source::Span;
use crate::tree::{FunctionId, Module};
use crate::types::{RecordId, Ty};

/// Version 1.2: the last of OpenCL 2.2.
const VERSION: u32 = 0x0001_0200;
/// The tool number in the header: none is registered.
const GENERATOR: u32 = 0;

/// A SPIR-V module that is being built. Types and constants exist once.
#[derive(Debug)]
pub(crate) struct ModuleBuilder<'a> {
    /// What is emitted.
    pub source: &'a Module,
    /// Options, files and names.
    pub session: &'a Session<'a>,
    /// What cannot be expressed, and where: the first of such errors.
    pub error: Option<(Span, String)>,
    pub(super) bound: Id,
    version: u32,
    capabilities: Vec<Capability>,
    extensions: Vec<&'static str>,
    opencl: Id,
    entry_points: Section,
    pub(super) modes: Section,
    strings: Section,
    string_ids: FxHashMap<Box<str>, Id>,
    names: Section,
    pub(super) decorations: Section,
    /// Types, constants and variables.
    pub(super) globals: Section,
    /// Functions without a body, which come before all others.
    pub(super) declarations: Section,
    pub(super) functions: Section,
    /// Types and constants by their instruction.
    unique: FxHashMap<Box<[u32]>, Id>,
    /// Types by their number: of values, and of objects in memory.
    pub(super) value_types: Vec<Id>,
    pub(super) memory_types: Vec<Id>,
    /// Size and alignment of types in memory, as consumers derive them from the type.
    pub(super) layouts: FxHashMap<Id, super::types::MemoryLayout>,
    pub(super) records: FxHashMap<RecordId, RecordMap>,
    /// Types that are being made around the current one.
    pub(super) type_depth: usize,
    /// Records whose type is being made, and pointers to them that were declared before it.
    pub(super) open_records: Vec<RecordId>,
    pub(super) forward_pointers: Vec<(StorageClass, RecordId, Id)>,
    /// Variables of built-ins, by the built-in: the variable, and the type it points to.
    built_ins: Vec<(BuiltIn, Id, Id)>,
    /// Kernels: function and name. Their interfaces are known at the end.
    kernels: Vec<(Id, String)>,
    /// The mode of floating-point arithmetic that options set.
    pub(super) fast_math: u32,
    /// Whether contraction is forbidden somewhere: SPIR-V can only forbid it everywhere in a kernel.
    pub(super) contraction_off: bool,
    /// Constants; with their bits if they are integers.
    constant_ids: FxHashMap<Id, Option<u64>>,
    float_types: FxHashSet<Id>,
    pub(super) global_ids: Vec<Id>,
    pub(super) function_ids: Vec<Id>,
    /// Functions that are used and not emitted yet.
    pub(super) pending_functions: Vec<FunctionId>,
    /// Functions that are the bodies of blocks: their first parameter is an untyped pointer.
    pub(super) block_functions: FxHashSet<FunctionId>,
}

impl<'a> ModuleBuilder<'a> {
    /// An empty module.
    pub(crate) fn new(session: &'a Session<'a>, source: &'a Module) -> Self {
        Self {
            source,
            session,
            error: None,
            // The import of OpenCL.std is the first.
            bound: 2,
            version: VERSION,
            capabilities: vec![Capability::Addresses, Capability::Kernel],
            extensions: Vec::new(),
            opencl: 1,
            entry_points: Section::default(),
            modes: Section::default(),
            strings: Section::default(),
            string_ids: FxHashMap::default(),
            names: Section::default(),
            decorations: Section::default(),
            globals: Section::default(),
            declarations: Section::default(),
            functions: Section::default(),
            unique: FxHashMap::default(),
            value_types: Vec::new(),
            memory_types: Vec::new(),
            layouts: FxHashMap::default(),
            records: FxHashMap::default(),
            type_depth: 0,
            open_records: Vec::new(),
            forward_pointers: Vec::new(),
            built_ins: Vec::new(),
            kernels: Vec::new(),
            fast_math: super::math::fast_math_mode(&session.options.math),
            contraction_off: false,
            constant_ids: FxHashMap::default(),
            float_types: FxHashSet::default(),
            global_ids: vec![0; source.globals.len()],
            function_ids: vec![0; source.functions.len()],
            pending_functions: Vec::new(),
            block_functions: FxHashSet::default(),
        }
    }

    /// A fresh identifier.
    pub(crate) fn fresh(&mut self) -> Id {
        let id = self.bound;
        self.bound += 1;
        id
    }

    /// Remembers that the module cannot express something.
    pub(crate) fn fail(&mut self, span: Span, text: impl Into<String>) {
        if self.error.is_none() {
            self.error = Some((span, text.into()));
        }
    }

    /// Declares that a capability is needed.
    pub(crate) fn capability(&mut self, capability: Capability) {
        if !self.capabilities.contains(&capability) {
            self.capabilities.push(capability);
        }
    }

    /// Declares that an extension is needed.
    pub(crate) fn extension(&mut self, name: &'static str) {
        if !self.extensions.contains(&name) {
            self.extensions.push(name);
        }
    }

    /// Declares that at least a version of SPIR-V is needed: `(1, 3)`.
    pub(crate) fn require_version(&mut self, major: u32, minor: u32) {
        self.version = self.version.max(major << 16 | minor << 8);
    }

    /// The import of `OpenCL.std`.
    pub(crate) fn opencl(&self) -> Id {
        self.opencl
    }

    /// An `OpString`.
    pub(crate) fn string(&mut self, text: &str) -> Id {
        if let Some(id) = self.string_ids.get(text) {
            return *id;
        }
        let id = self.fresh();
        self.strings.push_text(Op::String, &[id], text, &[]);
        self.string_ids.insert(text.into(), id);
        id
    }

    /// Names an identifier, for readers.
    pub(crate) fn name(&mut self, id: Id, name: &str) {
        if !name.is_empty() {
            self.names.push_text(Op::Name, &[id], name, &[]);
        }
    }

    /// Decorates an identifier.
    pub(crate) fn decorate(&mut self, id: Id, decoration: Decoration, operands: &[u32]) {
        self.decorations.push_parts(Op::Decorate, &[&[id, decoration as u32], operands]);
    }

    /// Whether the device has the decoration that a signed operation does not overflow, and it is not folded.
    pub(super) fn has_no_signed_wrap(&mut self, id: Id) -> bool {
        const EXTENSION: &str = "SPV_KHR_no_integer_wrap_decoration";
        // Constants are folded: they have no instruction of their own, and may be shared.
        let has =
            self.session.options.profile.spirv_extensions.contains(&EXTENSION) && !self.constant_ids.contains_key(&id);
        if has {
            self.extension(EXTENSION);
        }
        has
    }

    /// Decorates a function or a variable with its linkage.
    pub(crate) fn linkage(&mut self, id: Id, name: &str, linkage: spirv::LinkageType) {
        self.capability(Capability::Linkage);
        if linkage == spirv::LinkageType::LinkOnceODR {
            self.extension("SPV_KHR_linkonce_odr");
        }
        let before = [id, Decoration::LinkageAttributes as u32];
        self.decorations.push_text(Op::Decorate, &before, name, &[linkage as u32]);
    }

    /// The result of an instruction at module scope that has a result type; the same for the same instruction.
    pub(crate) fn unique(&mut self, op: Op, result_type: Id, operands: &[u32]) -> Id {
        self.unique_with(op, Some(result_type), operands)
    }

    /// The result of an instruction at module scope that declares a type; the same for the same instruction.
    pub(crate) fn unique_type(&mut self, op: Op, operands: &[u32]) -> Id {
        self.unique_with(op, None, operands)
    }

    fn unique_with(&mut self, op: Op, result_type: Option<Id>, operands: &[u32]) -> Id {
        let mut key = smallvec::SmallVec::<[u32; 8]>::new();
        key.push(op as u32);
        key.extend(result_type);
        key.extend_from_slice(operands);
        if let Some(id) = self.unique.get(&key[..]) {
            return *id;
        }
        let id = self.fresh();
        match &result_type {
            Some(ty) => self.globals.push_parts(op, &[&[*ty, id], operands]),
            None => self.globals.push_parts(op, &[&[id], operands]),
        }
        self.unique.insert(key.into_boxed_slice(), id);
        id
    }

    /// Declares a type with an identifier that was given before.
    pub(super) fn adopt(&mut self, op: Op, operands: &[u32], id: Id) {
        self.globals.push_parts(op, &[&[id], operands]);
        let key: Vec<u32> = std::iter::once(op as u32).chain(operands.iter().copied()).collect();
        self.unique.insert(key.into_boxed_slice(), id);
    }

    /// A built-in variable of a type: the pointer to it, in the `Input` storage class. It becomes part of the interfaces.
    pub(crate) fn built_in(&mut self, built_in: BuiltIn, ty: Ty) -> Id {
        let pointee = self.type_id(ty);
        self.built_in_of(built_in, pointee)
    }

    /// As [`ModuleBuilder::built_in`], of a SPIR-V type.
    pub(crate) fn built_in_of(&mut self, built_in: BuiltIn, pointee: Id) -> Id {
        let found = self.built_ins.iter().find(|(one, _, ty)| *one == built_in && *ty == pointee);
        if let Some((_, id, _)) = found {
            return *id;
        }
        let pointer = self.pointer_type(StorageClass::Input, pointee);
        let id = self.fresh();
        self.globals.push(Op::Variable, &[pointer, id, StorageClass::Input as u32]);
        self.decorate(id, Decoration::BuiltIn, &[built_in as u32]);
        self.decorate(id, Decoration::Constant, &[]);
        self.built_ins.push((built_in, id, pointee));
        id
    }

    /// Declares an entry point.
    pub(super) fn entry_point(&mut self, function: Id, name: &str) {
        self.kernels.push((function, name.to_owned()));
    }

    /// Remembers the value of a constant.
    pub(super) fn remember_constant(&mut self, id: Id, bits: Option<u64>) {
        self.constant_ids.insert(id, bits);
    }

    /// Whether an identifier is a scalar or vector constant.
    pub(crate) fn is_constant(&self, id: Id) -> bool {
        self.constant_ids.contains_key(&id)
    }

    /// The bits of an integer constant.
    pub(crate) fn constant_bits(&self, id: Id) -> Option<u64> {
        self.constant_ids.get(&id).copied().flatten()
    }

    /// Remembers that a type is a floating-point type, or a vector of such.
    pub(super) fn remember_float(&mut self, ty: Id) {
        self.float_types.insert(ty);
    }

    /// Whether a type is a floating-point type, or a vector of such.
    pub(crate) fn is_float(&self, ty: Id) -> bool {
        self.float_types.contains(&ty)
    }

    /// All words in the order of a module.
    pub(crate) fn finish(mut self) -> Result<Vec<u32>, (Span, String)> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut head = Section::default();
        if self.kernels.is_empty() {
            // Only a library has no entry points.
            self.capability(Capability::Linkage);
        }
        self.capabilities.sort_by_key(|capability| *capability as u32);
        for capability in &self.capabilities {
            head.push(Op::Capability, &[*capability as u32]);
        }
        for extension in &self.extensions {
            head.push_text(Op::Extension, &[], extension, &[]);
        }
        head.push_text(Op::ExtInstImport, &[self.opencl], "OpenCL.std", &[]);
        let addressing = match self.source.types.pointer_bytes {
            4 => spirv::AddressingModel::Physical32,
            _ => spirv::AddressingModel::Physical64,
        };
        head.push(Op::MemoryModel, &[addressing as u32, MemoryModel::OpenCL as u32]);
        let interface: Vec<Id> = self.built_ins.iter().map(|(_, id, _)| *id).collect();
        for (function, name) in &self.kernels {
            let before = [ExecutionModel::Kernel as u32, *function];
            self.entry_points.push_text(Op::EntryPoint, &before, name, &interface);
            if self.contraction_off {
                self.modes.push(Op::ExecutionMode, &[*function, spirv::ExecutionMode::ContractionOff as u32]);
            }
        }
        let mut source = Section::default();
        let version = match self.session.options.version {
            Version::V1_0 => 100_000,
            Version::V1_1 => 101_000,
            Version::V1_2 => 102_000,
            Version::V2_0 => 200_000,
            Version::V3_0 => 300_000,
            Version::V3_1 => 301_000,
        };
        source.push(Op::Source, &[spirv::SourceLanguage::OpenCL_C as u32, version]);
        let sections = [
            &head,
            &self.entry_points,
            &self.modes,
            &self.strings,
            &source,
            &self.names,
            &self.decorations,
            &self.globals,
            &self.declarations,
            &self.functions,
        ];
        if sections.iter().any(|section| section.too_long) {
            return Err((
                Span::NONE,
                "the program is too large for SPIR-V: an instruction has too many operands".into(),
            ));
        }
        let mut words = Vec::with_capacity(5 + sections.iter().map(|section| section.words.len()).sum::<usize>());
        words.extend([spirv::MAGIC_NUMBER, self.version, GENERATOR, self.bound, 0]);
        for section in sections {
            words.extend_from_slice(&section.words);
        }
        Ok(words)
    }
}
