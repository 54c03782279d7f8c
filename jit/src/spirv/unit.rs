//! One module of a build with everything at module scope resolved: types, constants, variables, and the callees of its functions.

use clift_include::pipe;
use clift_kir::{Func, Global, GlobalData, GlobalInit, Space, Type};
use rspirv::dr::Operand;
use rspirv::spirv::{BuiltIn, ExecutionMode, FPFastMathMode, Op, StorageClass};
use rustc_hash::FxHashMap;

use super::MAX_GLOBAL_VARIABLE_BYTES;
use super::consts::{self, Constant, Consts, SpecValues};
use super::lower::{MAX_SLOT_BYTES, SharedState};
use super::module::{FunctionDef, Module};
use super::ops;
use super::specialize;
use super::types::{self, TypeKind, Types};
use super::words::{Inst, InstError};
use crate::ImportError;

/// A module-scope variable.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ModuleVariable {
    /// A variable in memory.
    Global {
        /// The kir variable; that of the exporting module for an import.
        global: Global,
        /// Its address space.
        space: Space,
    },
    /// A built-in variable, which is a work-item query, whatever its storage class.
    BuiltIn {
        /// The built-in.
        built_in: BuiltIn,
        /// Its type.
        ty: u32,
    },
}

/// The kir signature of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// Parameters. The first is the address of the result if the result type is too large for values.
    pub(crate) params: Vec<Type>,
    /// Results.
    pub(crate) returns: Vec<Type>,
}

/// A function that can be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callee {
    /// The kir function.
    pub(crate) func: Func,
}

/// A module ready for the import of its functions.
#[derive(Debug)]
pub(crate) struct Unit {
    /// The module.
    pub(crate) module: Module,
    /// Its types.
    pub(crate) types: Types,
    /// Its constants, addresses of variables included.
    pub(crate) consts: Consts,
    /// Its variables.
    pub(crate) variables: FxHashMap<u32, ModuleVariable>,
    /// Reachable functions by id; an import is mapped to the function of the exporting module.
    pub(crate) callees: FxHashMap<u32, Callee>,
    /// Numbers of the child kernels by the ids of their functions here.
    pub(crate) children: FxHashMap<u32, u32>,
    /// Whether a kernel forbids contraction.
    pub(crate) contraction_off: bool,
    /// Whether our own front end compiled it.
    pub(crate) compiled_here: bool,
}

impl Unit {
    /// A unit before anything at module scope is resolved.
    pub(crate) fn new(module: Module, compiled_here: bool) -> Unit {
        let contraction_off = module
            .entry_points
            .iter()
            .any(|entry| module.modes_of(entry.function).any(|(mode, _)| mode == ExecutionMode::ContractionOff));
        Unit {
            module,
            types: Types::default(),
            consts: Consts::default(),
            variables: FxHashMap::default(),
            callees: FxHashMap::default(),
            children: FxHashMap::default(),
            contraction_off,
            compiled_here,
        }
    }

    /// Resolves types, constants and variables in order. `globals` maps each `OpVariable` in memory to its kir variable.
    pub(crate) fn resolve(
        &mut self,
        shared: &SharedState,
        spec_values: SpecValues<'_>,
        globals: &ModuleGlobals,
    ) -> Result<(), ImportError> {
        for index in self.module.globals.clone() {
            self.resolve_one(index, shared, spec_values, globals)
                .map_err(|error| error.at(&self.module.insts[index]))?;
        }
        // A default fast-math mode without `AllowContract` forbids contraction.
        for entry in &self.module.entry_points {
            for (mode, inst) in self.module.modes_of(entry.function) {
                if mode == ExecutionMode::FPFastMathDefault {
                    let flags = inst.id(3).and_then(|id| self.consts.integer(id)).map_err(|error| error.at(inst))?;
                    let flags = FPFastMathMode::from_bits_truncate(flags as u32);
                    self.contraction_off |= !flags.contains(FPFastMathMode::ALLOW_CONTRACT);
                }
            }
        }
        Ok(())
    }

    fn resolve_one(
        &mut self,
        index: usize,
        shared: &SharedState,
        spec_values: SpecValues<'_>,
        globals: &ModuleGlobals,
    ) -> Result<(), InstError> {
        let inst = &self.module.insts[index];
        if inst.spec_op {
            let constant = specialize::fold(self, shared, inst)?;
            let id = inst.result()?;
            self.consts.insert(id, constant);
            return Ok(());
        }
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other globals are constants, or refused as such")]
        match inst.op() {
            Op::Variable | Op::UntypedVariableKHR => {
                let (id, variable, constant) = self.variable(inst, shared, globals)?;
                self.variables.insert(id, variable);
                if let Some(constant) = constant {
                    self.consts.insert(id, constant);
                }
                Ok(())
            }
            op if op.is_type() || op == Op::TypeForwardPointer => {
                self.types.define(inst, &self.module.decorations, |id| self.consts.integer(id))
            }
            Op::ConstantPipeStorage => {
                let (id, constant) = self.pipe_storage(inst, shared)?;
                self.consts.insert(id, constant);
                Ok(())
            }
            _ => {
                let spec_id = inst.dr.result_id.and_then(|id| self.module.decorations.of(id).spec_id);
                self.consts.define(inst, &self.types, spec_id, spec_values)
            }
        }
    }

    /// Resolves a module-scope variable; its address as a constant, if it has one.
    fn variable(
        &self,
        inst: &Inst,
        shared: &SharedState,
        globals: &ModuleGlobals,
    ) -> Result<(u32, ModuleVariable, Option<Constant>), InstError> {
        let (id, ty) = (inst.result()?, inst.result_type()?);
        let (class, pointee, initializer) = declared(inst, &self.types)?;
        let decorations = self.module.decorations.of(id);
        if let Some(built_in) = decorations.built_in {
            return Ok((id, ModuleVariable::BuiltIn { built_in, ty: pointee }, None));
        }
        if class == StorageClass::Input {
            return Err(InstError::malformed("a variable of storage class Input has no BuiltIn decoration"));
        }
        let space = variable_space(class)?;
        let info = self.types.get(pointee)?;
        if !info.is_sized() {
            return Err(InstError::malformed("the variable's type has no size"));
        }
        let literal_sampler = space == Space::Constant && info.kind == TypeKind::Sampler && initializer.is_some();
        if !literal_sampler
            && matches!(
                info.kind,
                TypeKind::Image { .. }
                    | TypeKind::Sampler
                    | TypeKind::SampledImage { .. }
                    | TypeKind::Pipe { .. }
                    | TypeKind::Queue
            )
        {
            return Err(InstError::unsupported("variables of this type"));
        }
        let Some(&(global, ownership)) = globals.get(&id) else {
            unreachable!("broken invariant: every variable in memory has been counted")
        };
        let address =
            Constant { ty, value: consts::ConstValue::Address { global, space, offset: 0, ty: Type::ptr(space) } };
        let variable = ModuleVariable::Global { global, space };
        if ownership == Ownership::Imported {
            if initializer.is_some() {
                return Err(InstError::malformed("an imported variable has an initializer"));
            }
            return Ok((id, variable, Some(address)));
        }
        let mut init = GlobalInit::default();
        if let Some(initializer) = initializer {
            let constant = self.consts.get(initializer);
            let found = constant
                .ok_or_else(|| InstError::malformed(format!("the initializer %{initializer} is not a constant")))?;
            self.types.check_initializer(found.ty, pointee)?;
            if space != Space::Local {
                init = self.consts.initialize(initializer, &self.types)?;
            } else if !self.consts.is_undefined(initializer) {
                let GlobalInit { bytes, addresses } = self.consts.initialize(initializer, &self.types)?;
                if !addresses.is_empty() || bytes.iter().any(|&byte| byte != 0) {
                    return Err(InstError::unsupported("a local variable with an initializer other than null"));
                }
                shared.zeroed.borrow_mut().push(global);
            }
        }
        if space == Space::Global && info.size > MAX_GLOBAL_VARIABLE_BYTES {
            let most = MAX_GLOBAL_VARIABLE_BYTES;
            return Err(InstError::unsupported(format!(
                "a global variable of {} bytes (the limit is {most})",
                info.size
            )));
        }
        shared.count_init(init.bytes.len() as u64)?;
        shared.count_variable(info.size)?;
        let align = info.align.max(decorations.alignment.unwrap_or(1)).min(types::MAX_VARIABLE_ALIGN);
        let name = self.module.names.get(&id).cloned().unwrap_or_else(|| format!("variable.{id}"));
        shared.globals.borrow_mut()[global] = GlobalData { name, space, size: info.size, align, init };
        Ok((id, variable, Some(address)))
    }

    /// A pipe in program scope: a variable that contains an empty pipe. The constant is its address.
    fn pipe_storage(&self, inst: &Inst, shared: &SharedState) -> Result<(u32, Constant), InstError> {
        let (id, ty) = (inst.result()?, inst.result_type()?);
        if self.types.get(ty)?.kind != TypeKind::PipeStorage {
            return Err(InstError::malformed("the result type is not pipe storage"));
        }
        let (packet_bytes, _) = ops::pipe::packet(inst.literal(0)?.into(), inst.literal(1)?.into())?;
        let (packet_bytes, capacity) = (packet_bytes as u32, inst.literal(2)?);
        if capacity == 0 {
            return Err(InstError::malformed("the capacity is 0"));
        }
        let bytes = pipe::bytes(packet_bytes, capacity);
        let size = bytes.ok_or_else(|| InstError::unsupported(format!("a pipe of {capacity} packets")))?;
        let init = GlobalInit { bytes: pipe::empty(packet_bytes, capacity).to_vec(), ..GlobalInit::default() };
        shared.count_variable(size)?;
        let name = self.module.names.get(&id).cloned().unwrap_or_else(|| format!("pipe.{id}"));
        let data = GlobalData { name, space: Space::Global, size, align: types::MAX_ALIGN, init };
        let global = shared.add_global(data)?;
        let (space, ty_value) = (Space::Global, Type::ptr(Space::Global));
        Ok((id, Constant { ty, value: consts::ConstValue::Address { global, space, offset: 0, ty: ty_value } }))
    }

    /// Result type and parameter types of a function.
    pub(crate) fn function_type(&self, function: &FunctionDef) -> Result<(u32, &[u32]), InstError> {
        let inst = &self.module.insts[function.inst];
        let TypeKind::Function { ret, params } = &self.types.get(inst.id(1)?)?.kind else {
            return Err(InstError::malformed("the function's type is not a function type"));
        };
        if *ret != inst.result_type()? {
            return Err(InstError::malformed("the result type differs from the function type's"));
        }
        if params.len() != function.params.len() {
            let (declared, found) = (params.len(), function.params.len());
            return Err(InstError::malformed(format!("{found} parameters for a function type of {declared}")));
        }
        Ok((*ret, params))
    }

    /// The kir signature of a function.
    pub(crate) fn signature(&self, function: &FunctionDef) -> Result<Signature, InstError> {
        let (ret, param_types) = self.function_type(function)?;
        let (mut params, mut returns) = (Vec::new(), Vec::new());
        let info = self.types.get(ret)?;
        if info.is_flat() {
            returns.extend(info.leaves.iter().map(|leaf| leaf.ty));
        } else {
            params.push(Type::ptr(Space::Private));
        }
        for &param in param_types {
            let info = self.types.get(param)?;
            if info.is_flat() {
                params.extend(info.leaves.iter().map(|leaf| leaf.ty));
            } else {
                params.push(Type::ptr(Space::Private));
            }
        }
        Ok(Signature { params, returns })
    }
}

/// The declaration of a variable: storage class, type, initializer.
pub(crate) fn declared(inst: &Inst, types: &Types) -> Result<(StorageClass, u32, Option<u32>), InstError> {
    let (class, pointee) = types.any_pointer(inst.result_type()?)?;
    let Operand::StorageClass(declared) = *inst.operand(0)? else {
        return Err(InstError::malformed("the storage class is missing"));
    };
    if declared != class {
        return Err(InstError::malformed(format!(
            "the variable has storage class {declared:?}, its pointer type {class:?}"
        )));
    }
    let untyped = inst.op() == Op::UntypedVariableKHR;
    let ty = match pointee {
        _ if untyped => inst.id(1)?,
        Some(pointee) => pointee,
        None => return Err(InstError::malformed(format!("type %{} is not a typed pointer", inst.result_type()?))),
    };
    let place = if untyped { 2 } else { 1 };
    let initializer = if inst.len() > place { Some(inst.id(place)?) } else { None };
    Ok((class, ty, initializer))
}

/// The kir variables of a module's variables in memory, by id.
pub(crate) type ModuleGlobals = FxHashMap<u32, (Global, Ownership)>;

/// Whether a module provides a variable or uses another module's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// This module defines it.
    Defined,
    /// Another module defines it, or no module in a check without linking.
    Imported,
}

/// The space of a module-scope variable in memory.
pub(crate) fn variable_space(class: StorageClass) -> Result<Space, InstError> {
    match types::space(class)? {
        space @ (Space::Global | Space::Constant | Space::Local) => Ok(space),
        Space::Private | Space::Generic | Space::Host => {
            Err(InstError::malformed(format!("a module-scope variable has storage class {class:?}")))
        }
    }
}

impl SharedState {
    /// Adds to the bytes of variables and checks the limit.
    fn count_variable(&self, bytes: u64) -> Result<(), InstError> {
        let total = self.variable_bytes.get().saturating_add(bytes);
        self.variable_bytes.set(total);
        if total > MAX_SLOT_BYTES {
            return Err(InstError::unsupported(format!("more than {MAX_SLOT_BYTES} bytes of variables")));
        }
        Ok(())
    }
}
