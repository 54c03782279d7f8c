//! Functions and kernels.

use spirv::{Capability, Decoration, ExecutionMode, FunctionControl, FunctionParameterAttribute, LinkageType, Op};

use super::Id;
use super::function::FunctionEmitter;
use super::module::ModuleBuilder;
use super::order;
use super::places::Storage;
use super::types::storage_class;
use crate::tree::{Function, FunctionId, Kernel, Linkage};
use crate::types::{AddressSpace, QualTy, Scalar, Ty, TypeKind};

impl<'a> ModuleBuilder<'a> {
    /// A function that is called. It is emitted later. A kernel that is called is emitted twice: SPIR-V does not allow to call an
    /// entry point.
    pub(crate) fn function(&mut self, id: FunctionId) -> Id {
        let index = id.0 as usize;
        match self.function_ids.get(index).copied() {
            Some(0) => {
                let made = self.fresh();
                self.function_ids[index] = made;
                self.pending_functions.push(id);
                made
            }
            Some(found) => found,
            None => 0,
        }
    }

    /// Emits the functions that are used, and those that these use.
    pub(super) fn emit_pending(&mut self) {
        let mut next = 0;
        while let Some(id) = self.pending_functions.get(next).copied() {
            next += 1;
            let source: &'a crate::tree::Module = self.source;
            let Some(function) = source.functions.get(id.0 as usize) else { continue };
            let result = self.function_ids.get(id.0 as usize).copied().unwrap_or(0);
            let is_block = self.block_functions.contains(&id);
            self.define(result, function, if is_block { Role::Block } else { Role::Called });
        }
        self.pending_functions.clear();
    }

    /// Emits a kernel.
    pub(super) fn kernel(&mut self, function: &'a Function, kernel: &Kernel) {
        let id = self.fresh();
        self.define(id, function, Role::Kernel);
        self.entry_point(id, &function.link_name);
        let mut mode = |mode: ExecutionMode, operands: &[u32]| {
            self.modes.push_parts(Op::ExecutionMode, &[&[id, mode as u32], operands]);
        };
        if let Some(size) = kernel.required_size {
            mode(ExecutionMode::LocalSize, &size);
        }
        if let Some(size) = kernel.size_hint {
            mode(ExecutionMode::LocalSizeHint, &size);
        }
        if let Some(size) = kernel.required_sub_group_size {
            mode(ExecutionMode::SubgroupSize, &[size]);
        }
        if let Some((scalar, lanes)) = kernel.vector_hint.and_then(|ty| self.source.types.lanes(ty)) {
            let element = match scalar {
                Scalar::Bool | Scalar::Char | Scalar::UChar => 0,
                Scalar::Short | Scalar::UShort => 1,
                Scalar::Int | Scalar::UInt => 2,
                Scalar::Long | Scalar::ULong => 3,
                Scalar::Half => 4,
                Scalar::Float => 5,
                Scalar::Double => 6,
            };
            self.modes
                .push(Op::ExecutionMode, &[id, ExecutionMode::VecTypeHint as u32, u32::from(lanes) << 16 | element]);
        }
        if kernel.required_sub_group_size.is_some() {
            self.capability(Capability::SubgroupDispatch);
        }
        if self.session.options.kernel_arg_info {
            self.argument_texts(function, kernel);
        }
    }

    /// What `clGetKernelArgInfo` reports, in the strings by which producers of SPIR-V tell it.
    fn argument_texts(&mut self, function: &Function, kernel: &Kernel) {
        let name = &function.link_name;
        let mut types = format!("kernel_arg_type.{name}.");
        let mut qualifiers = format!("kernel_arg_type_qual.{name}.");
        for argument in &kernel.arguments {
            types += &argument.type_name;
            types.push(',');
            let words = [(1, "const"), (2, "restrict"), (4, "volatile"), (8, "pipe")];
            let words = words.iter().filter(|(bit, _)| argument.type_qualifiers & bit != 0).map(|(_, word)| *word);
            qualifiers += &words.collect::<Vec<_>>().join(" ");
            qualifiers.push(',');
        }
        self.string(&types);
        self.string(&qualifiers);
    }

    /// Emits a function's definition or declaration.
    fn define(&mut self, id: Id, function: &'a Function, role: Role) {
        self.name(id, &function.link_name);
        self.linkage_of(id, function, role);
        let parameters = function.locals.get(..function.parameters as usize).unwrap_or(&function.locals);
        let parameter_types: Vec<Id> = parameters
            .iter()
            .enumerate()
            .map(|(index, parameter)| self.parameter_type(parameter.ty, role, index))
            .collect();
        let result = self.type_id(function.result);
        let ty = self.function_type(result, &parameter_types);
        let control = match function.inline {
            Some(true) => FunctionControl::INLINE,
            Some(false) => FunctionControl::DONT_INLINE,
            None => FunctionControl::empty(),
        };
        let mut head = super::words::Section::default();
        head.push(Op::Function, &[result, id, control.bits(), ty]);
        let mut ids = Vec::with_capacity(parameters.len());
        for (parameter, ty) in parameters.iter().zip(&parameter_types) {
            let parameter_id = self.fresh();
            head.push(Op::FunctionParameter, &[*ty, parameter_id]);
            if let Some(name) = parameter.name {
                let session = self.session;
                self.name(parameter_id, session.names.text(name));
            }
            self.parameter_attributes(parameter_id, parameter.ty, role);
            ids.push(parameter_id);
        }
        let Some(body) = &function.body else {
            head.push(Op::FunctionEnd, &[]);
            self.declarations.words.append(&mut head.words);
            return;
        };
        let mut emitter = FunctionEmitter::new(self, function);
        let first = emitter.current_block();
        emitter.parameters(&ids, role);
        emitter.at(function.span);
        emitter.statements(body);
        if emitter.is_open() {
            emitter.at(function.end);
            emitter.return_nothing();
        }
        let FunctionEmitter { variables, prologue, body, mut decorations, needs_order, edges, .. } = emitter;
        let too_long = variables.too_long | prologue.too_long | body.too_long;
        let mut words = Vec::with_capacity(2 + variables.words.len() + prologue.words.len() + body.words.len());
        words.extend([2 << 16 | Op::Label as u32, first]);
        words.extend(variables.words);
        words.extend(prologue.words);
        words.extend(body.words);
        if needs_order {
            words = order::order(&words, &edges);
            decorations.words = order::of_results(&decorations.words, &words);
        }
        self.decorations.words.append(&mut decorations.words);
        self.functions.too_long |= too_long;
        self.functions.words.append(&mut head.words);
        self.functions.words.append(&mut words);
        self.functions.push(Op::FunctionEnd, &[]);
    }

    fn linkage_of(&mut self, id: Id, function: &Function, role: Role) {
        let linkage = match (function.linkage, function.body.is_some()) {
            (_, false) => LinkageType::Import,
            _ if role != Role::Called || self.session.options.whole_program => return,
            (Linkage::Internal, true) => return,
            (Linkage::External, true) => LinkageType::Export,
            (Linkage::LinkOnce, true) => LinkageType::LinkOnceODR,
        };
        self.linkage(id, &function.link_name, linkage);
    }

    fn parameter_type(&mut self, ty: QualTy, role: Role, index: usize) -> Id {
        if role == Role::Block && index == 0 {
            return self.block_type();
        }
        if role == Role::Kernel && self.is_by_pointer(ty.ty) {
            return self.pointer_to(AddressSpace::Private, ty.ty);
        }
        self.type_id(ty.ty)
    }

    /// Whether a kernel gets an argument as a pointer to a copy.
    fn is_by_pointer(&self, ty: Ty) -> bool {
        matches!(self.source.types.kind(ty), TypeKind::Record(_))
    }

    fn parameter_attributes(&mut self, id: Id, ty: QualTy, role: Role) {
        let attribute = |attribute: FunctionParameterAttribute| [attribute as u32];
        if role == Role::Kernel && self.is_by_pointer(ty.ty) {
            let align = self.source.types.layout(ty.ty).map_or(1, |layout| layout.align);
            self.decorate(id, Decoration::FuncParamAttr, &attribute(FunctionParameterAttribute::ByVal));
            self.decorate(id, Decoration::Alignment, &[align]);
        }
        if ty.quals.is_restrict && matches!(self.source.types.kind(ty.ty), TypeKind::Pointer(_)) {
            self.decorate(id, Decoration::FuncParamAttr, &attribute(FunctionParameterAttribute::NoAlias));
        }
    }
}

/// What a function is emitted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A function that is called.
    Called,
    /// An entry point.
    Kernel,
    /// The body of a block.
    Block,
}

impl FunctionEmitter<'_, '_> {
    /// Takes the parameters' values.
    fn parameters(&mut self, ids: &[Id], role: Role) {
        let function = self.function;
        for (index, (id, local)) in ids.iter().zip(&function.locals).enumerate() {
            let ty = local.ty.ty;
            let kind = self.module.source.types.kind(ty);
            let storage = if matches!(kind, TypeKind::Image(..) | TypeKind::Sampler | TypeKind::Pipe(..)) {
                Storage::Value(*id)
            } else if role == Role::Kernel && matches!(kind, TypeKind::Record(_)) {
                Storage::Memory(*id)
            } else if role == Role::Block
                && index == 0
                && let TypeKind::Pointer(to) = kind
            {
                Storage::Parameter(self.captures(*id, *to, ty))
            } else {
                Storage::Parameter(*id)
            };
            self.locals[index] = storage;
        }
    }

    /// The first parameter of a block's function as the pointer to the captures that the function takes it for.
    fn captures(&mut self, id: Id, to: QualTy, ty: Ty) -> Id {
        let wanted = self.module.type_id(ty);
        let pointee = self.module.memory_type_id(to.ty);
        let generic = self.module.pointer_type(spirv::StorageClass::Generic, pointee);
        let mut pointer = self.module.fresh();
        self.prologue.push(Op::Bitcast, &[generic, pointer, id]);
        if storage_class(to.quals.space) != spirv::StorageClass::Generic {
            let cast = self.module.fresh();
            self.prologue.push(Op::GenericCastToPtr, &[wanted, cast, pointer]);
            pointer = cast;
        }
        pointer
    }
}
