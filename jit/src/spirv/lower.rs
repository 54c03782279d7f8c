//! The state of importing one function: values of ids, constants and variables on demand, aggregates as sequences of leaves.
//!
//! `ops/` translates each instruction; this file maps ids to kir values. It checks that the definition of each id dominates its
//! uses and that each result has the declared type, so that the output is well-formed for any input.

use std::cell::{Cell, RefCell};

use clift_kir::{
    Block, Builder, FpFlags, Function, Global, GlobalData, IntCond, Loc, MemInfo, Opcode, Slot, SlotData, Space, Type,
    Value, WrapFlags,
};
use cranelift_entity::PrimaryMap;
use rspirv::spirv::{BuiltIn, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::cfg::Cfg;
use super::consts::{self, MAX_INIT_BYTES};
use super::function::Edges;
use super::function::InlinedCopies;
use super::types::{MAX_VARIABLE_ALIGN, TypeInfo};
use super::unit::{ModuleVariable, Unit};
use super::words::{Inst, InstError};

/// Maximum size of a private variable or temporary in bytes.
pub(crate) const MAX_SLOT_BYTES: u64 = 1 << 30;

/// Kir values that make up an aggregate.
pub(crate) type Leaves = SmallVec<[Value; 1]>;

/// The value of an id in a function.
#[derive(Clone, Debug)]
pub(crate) enum Val {
    /// Its leaves; one for scalars, vectors and pointers, none for void.
    Leaves(Leaves),
    /// An aggregate too large for leaves: the address of a copy that is not modified any more.
    Memory(Value),
    /// The address of a built-in variable, or of a part of it.
    BuiltIn(BuiltInPointer),
}

impl Val {
    /// A single value.
    pub(crate) fn one(value: Value) -> Val {
        Val::Leaves(smallvec![value])
    }
}

/// A pointer to a built-in variable or to a part of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltInPointer {
    /// Which variable.
    pub(crate) built_in: BuiltIn,
    /// The variable's type.
    pub(crate) whole: u32,
    /// The pointee type.
    pub(crate) ty: u32,
    /// The place in the variable that it points to.
    pub(crate) at: BuiltInPlace,
}

/// A place in a built-in variable.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BuiltInPlace {
    /// An offset in bytes.
    Bytes(u64),
    /// The component at a dynamic index.
    Component(Value),
}

/// State that all functions of a build share.
#[derive(Debug)]
pub(crate) struct SharedState {
    /// Variables of the kir module.
    pub(crate) globals: RefCell<PrimaryMap<Global, GlobalData>>,
    /// Bytes of initializers so far.
    pub(crate) init_bytes: Cell<u64>,
    /// Bytes of variables so far.
    pub(crate) variable_bytes: Cell<u64>,
    /// Fast-math flags of the build options.
    pub(crate) fp: FpFlags,
    /// Whether multiply-add may contract even where a kernel says `ContractionOff`.
    pub(crate) force_contract: bool,
    /// Local variables that are zero when a work-group begins.
    pub(crate) zeroed: RefCell<Vec<Global>>,
    /// The number of named barriers that have been initialized, and the array that they are in.
    pub(crate) named_barriers: Cell<Option<(Global, Global)>>,
}

impl SharedState {
    /// Adds a variable and counts the bytes of its initializer.
    pub(crate) fn add_global(&self, data: GlobalData) -> Result<Global, InstError> {
        self.count_init(data.init.bytes.len() as u64)?;
        Ok(self.globals.borrow_mut().push(data))
    }

    /// Adds to the bytes of initializers and checks the limit.
    pub(crate) fn count_init(&self, bytes: u64) -> Result<(), InstError> {
        let total = self.init_bytes.get().saturating_add(bytes);
        self.init_bytes.set(total);
        if total > MAX_INIT_BYTES { Err(consts::too_large()) } else { Ok(()) }
    }
}

/// Properties of a memory access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemAccess {
    /// Alignment of the address in bytes.
    pub(crate) align: u32,
    /// Whether the access is volatile.
    pub(crate) volatile: bool,
}

impl MemAccess {
    /// A non-volatile access.
    pub(crate) fn aligned(align: u32) -> MemAccess {
        MemAccess { align, volatile: false }
    }
}

/// A function being imported.
pub(crate) struct FuncCx<'a> {
    /// The module it is from.
    pub(crate) unit: &'a Unit,
    /// State that all functions share.
    pub(crate) shared: &'a SharedState,
    /// The builder of the kir function.
    pub(crate) b: Builder<'a>,
    /// Its control flow.
    pub(crate) cfg: &'a Cfg,
    /// The SPIR-V block being imported.
    pub(crate) block: usize,
    /// First kir block of each SPIR-V block.
    pub(crate) blocks: Vec<Option<Block>>,
    /// Phis of each SPIR-V block.
    pub(crate) phis: Vec<Vec<Phi>>,
    /// The values that the phis of a block take on each edge.
    pub(crate) edges: Edges,
    /// The number of copies of the function that kernels contain.
    pub(crate) copies: InlinedCopies,
    /// Type of the function's result; `None` for void.
    pub(crate) return_type: Option<u32>,
    /// The address for the function's result, if that is too large for values.
    pub(crate) result_address: Option<Value>,
    vals: FxHashMap<u32, (Val, usize)>,
    consts: (Option<Block>, FxHashMap<u32, Val>),
    /// Whether LLVM's optimizer ran on the function, if LLVM compiled it.
    pub(crate) is_optimized: bool,
    /// See [`super::paired_angles`].
    pub(crate) paired: FxHashSet<u32>,
    contract: bool,
    line: (u32, u32),
}

/// A phi and the destination of its value on edges.
#[derive(Clone, Debug)]
pub(crate) struct Phi {
    /// Index of its instruction.
    pub(crate) inst: usize,
    /// For a type too large for block parameters: address that predecessors copy to.
    pub(crate) staging: Option<Value>,
}

impl<'a> FuncCx<'a> {
    /// The state for a function whose entry block already exists.
    pub(crate) fn new(
        unit: &'a Unit,
        shared: &'a SharedState,
        func: &'a mut Function,
        cfg: &'a Cfg,
        entry: Block,
    ) -> Self {
        let blocks = vec![None; cfg.count];
        let phis = vec![Vec::new(); cfg.count];
        FuncCx {
            unit,
            shared,
            b: Builder::at_end(func, entry),
            cfg,
            block: 0,
            blocks,
            phis,
            edges: Edges::default(),
            copies: InlinedCopies::One,
            return_type: None,
            result_address: None,
            vals: FxHashMap::default(),
            consts: (None, FxHashMap::default()),
            is_optimized: true,
            paired: FxHashSet::default(),
            contract: shared.force_contract || !unit.contraction_off,
            line: (0, 0),
        }
    }

    // -- positions --

    /// Sets the source position of the instructions created from now on to that of a SPIR-V instruction.
    pub(crate) fn set_loc(&mut self, inst: &Inst) {
        let word = u32::try_from(inst.word + 1).unwrap_or(u32::MAX);
        self.b.set_loc(Loc { word, line: self.line.0, column: self.line.1, call: 0 });
    }

    /// Sets the source line from here on.
    pub(crate) fn set_line(&mut self, line: u32, column: u32) {
        self.line = (line, column);
    }

    // -- types --

    /// The type of a type id.
    pub(crate) fn type_info(&self, ty: u32) -> Result<&'a TypeInfo, InstError> {
        self.unit.types.get(ty)
    }

    /// The kir type of a type id that is a single value.
    pub(crate) fn kir_type(&self, ty: u32) -> Result<Type, InstError> {
        self.unit.types.value(ty)
    }

    /// The type id of a value's id.
    pub(crate) fn type_of(&self, id: u32) -> Result<u32, InstError> {
        let inst = self.unit.module.def(id);
        inst.and_then(|inst| inst.dr.result_type)
            .ok_or_else(|| InstError::malformed(format!("{} is not a value", self.unit.module.describe(id))))
    }

    /// The pointee type of a pointer.
    pub(crate) fn pointee(&self, pointer: u32) -> Result<u32, InstError> {
        Ok(self.unit.types.pointer(self.type_of(pointer)?)?.1)
    }

    /// The pointee type of a pointer, or the accessed type if the pointer is untyped.
    pub(crate) fn pointee_or(&self, pointer: u32, accessed: u32) -> Result<u32, InstError> {
        Ok(self.unit.types.any_pointer(self.type_of(pointer)?)?.1.unwrap_or(accessed))
    }

    // -- values --

    /// The value of an id.
    pub(crate) fn val(&mut self, id: u32) -> Result<Val, InstError> {
        if let Some((val, block)) = self.vals.get(&id) {
            if !self.cfg.dominates(*block, self.block) {
                let name = self.unit.module.describe(id);
                return Err(InstError::malformed(format!("{name} is not defined on every path to its use")));
            }
            return Ok(val.clone());
        }
        if let Some(val) = self.variable(id) {
            return Ok(val);
        }
        if self.unit.consts.get(id).is_none() {
            let name = self.unit.module.describe(id);
            let reason = match self.unit.module.def(id) {
                None => format!("{name} is not defined"),
                Some(inst) if inst.dr.result_type.is_none() => format!("{name} is not a value"),
                Some(_) => format!("{name} is not defined before its use"),
            };
            return Err(InstError::malformed(reason));
        }
        let block = Some(self.b.block());
        if self.consts.0 != block {
            self.consts = (block, FxHashMap::default());
        }
        if let Some(val) = self.consts.1.get(&id) {
            return Ok(val.clone());
        }
        for part in self.unit.consts.computed(id, &self.unit.module)? {
            if !self.consts.1.contains_key(&part) {
                let val = self.compute(part)?;
                self.consts.1.insert(part, val);
            }
        }
        if let Some(val) = self.consts.1.get(&id) {
            return Ok(val.clone());
        }
        let val = self.constant(id)?;
        self.consts.1.insert(id, val.clone());
        Ok(val)
    }

    /// The single value of an id.
    pub(crate) fn value(&mut self, id: u32) -> Result<Value, InstError> {
        match self.val(id)? {
            Val::Leaves(leaves) if leaves.len() == 1 => {
                // A struct or array of one leaf is not a scalar.
                self.kir_type(self.type_of(id)?)?;
                Ok(leaves[0])
            }
            Val::BuiltIn(input) => {
                let (class, _) = self.unit.types.any_pointer(self.type_of(id)?)?;
                super::ops::built_in::address(self, input, class)
            }
            Val::Leaves(_) | Val::Memory(_) => Err(InstError::malformed(format!(
                "{} is not a scalar, vector or pointer",
                self.unit.module.describe(id)
            ))),
        }
    }

    /// A value that must be a scalar integer.
    pub(crate) fn scalar_int(&mut self, id: u32) -> Result<Value, InstError> {
        let value = self.value(id)?;
        let ty = self.b.ty(value);
        if !ty.is_int() || ty.is_vector() {
            return Err(InstError::malformed(format!("{} is not a scalar integer", self.unit.module.describe(id))));
        }
        Ok(value)
    }

    /// A value that must be a pointer.
    pub(crate) fn pointer(&mut self, id: u32) -> Result<Value, InstError> {
        let value = self.value(id)?;
        if !self.b.ty(value).is_ptr() {
            return Err(InstError::malformed(format!("{} is not a pointer", self.unit.module.describe(id))));
        }
        Ok(value)
    }

    /// Two values that must have the same type.
    pub(crate) fn pair(&mut self, a: u32, b: u32) -> Result<(Value, Value), InstError> {
        let (a, b) = (self.value(a)?, self.value(b)?);
        if self.b.ty(a) != self.b.ty(b) {
            let (a, b) = (self.b.ty(a), self.b.ty(b));
            return Err(InstError::malformed(format!("the operands have different types: {a} and {b}")));
        }
        Ok((a, b))
    }

    /// Defines the instruction's result as a single value.
    pub(crate) fn set(&mut self, inst: &Inst, value: Value) -> Result<(), InstError> {
        let (declared, found) = (self.kir_type(inst.result_type()?)?, self.b.ty(value));
        if declared != found {
            return Err(InstError::malformed(format!("the result has type {found}, but {declared} is declared")));
        }
        if let Some(name) = self.unit.module.names.get(&inst.result()?) {
            self.b.func.names.insert(value, name.clone());
        }
        self.define(inst.result()?, Val::one(value));
        Ok(())
    }

    /// Defines the instruction's result as leaves or an address, which must have the declared type.
    pub(crate) fn set_val(&mut self, inst: &Inst, val: Val) -> Result<(), InstError> {
        if let Val::Leaves(leaves) = &val {
            let info = self.type_info(inst.result_type()?)?;
            let found = leaves.iter().map(|&leaf| self.b.ty(leaf));
            if !found.eq(info.leaves.iter().map(|leaf| leaf.ty)) {
                return Err(InstError::malformed("the result does not have the declared type"));
            }
        }
        self.define(inst.result()?, val);
        Ok(())
    }

    /// Defines an id in the current block.
    pub(crate) fn define(&mut self, id: u32, val: Val) {
        self.vals.insert(id, (val, self.block));
    }

    /// Defines an id in a block.
    pub(crate) fn define_in(&mut self, id: u32, val: Val, block: usize) {
        self.vals.insert(id, (val, block));
    }

    fn variable(&mut self, id: u32) -> Option<Val> {
        match *self.unit.variables.get(&id)? {
            ModuleVariable::Global { global, space } => Some(Val::one(self.b.global_addr(global, space))),
            ModuleVariable::BuiltIn { built_in, ty } => {
                Some(Val::BuiltIn(BuiltInPointer { built_in, whole: ty, ty, at: BuiltInPlace::Bytes(0) }))
            }
        }
    }

    // -- constants --

    /// Computes a constant by its instruction at the current position. Its operands have been computed in this block.
    fn compute(&mut self, id: u32) -> Result<Val, InstError> {
        let Some(inst) = self.unit.module.def(id) else {
            unreachable!("broken invariant: a constant has a definition")
        };
        let fp = self.b.fp_flags();
        super::ops::lower(self, inst)?;
        self.b.set_fp_flags(fp);
        let (val, _) = self.vals.remove(&id).unwrap_or_else(|| unreachable!("broken invariant: constants have values"));
        Ok(val)
    }

    /// Creates the value of a constant at the current position.
    fn constant(&mut self, id: u32) -> Result<Val, InstError> {
        let unit = self.unit;
        let Some(constant) = unit.consts.get(id) else {
            return Err(InstError::malformed(format!("%{id} is not a constant")));
        };
        let info = unit.types.get(constant.ty)?;
        Ok(match &constant.value {
            consts::ConstValue::Flat(leaves) => {
                let values = leaves.iter().zip(&info.leaves);
                Val::Leaves(values.map(|(value, leaf)| self.plain_constant(value, leaf.ty)).collect())
            }
            value @ (consts::ConstValue::Lanes(_) | consts::ConstValue::Address { .. }) => {
                Val::one(self.plain_constant(value, unit.types.value(constant.ty)?))
            }
            consts::ConstValue::Undef if info.is_flat() => {
                Val::Leaves(info.leaves.iter().map(|leaf| self.b.undef(leaf.ty)).collect())
            }
            consts::ConstValue::Null if info.is_flat() => {
                Val::Leaves(info.leaves.iter().map(|leaf| self.b.iconst(leaf.ty, 0)).collect())
            }
            consts::ConstValue::Composite(parts) if info.is_flat() => {
                let mut leaves = Leaves::new();
                for &part in parts {
                    match self.val(part)? {
                        Val::Leaves(inner) => leaves.extend(inner),
                        Val::Memory(_) | Val::BuiltIn(_) => leaves.push(self.value(part)?),
                    }
                }
                if let Some(vector) = info.value {
                    for value in &mut leaves {
                        *value = self.retyped(*value, vector.lane());
                    }
                    return Ok(Val::one(self.b.vec(&leaves)));
                }
                // Parts may be integers instead of pointers (`Types::same_layout`).
                for (value, leaf) in leaves.iter_mut().zip(&info.leaves) {
                    *value = self.retyped(*value, leaf.ty);
                }
                Val::Leaves(leaves)
            }
            consts::ConstValue::Undef | consts::ConstValue::Null | consts::ConstValue::Composite(_) => {
                let (init, computed) = unit.consts.store(id, &unit.types)?;
                if info.size > MAX_SLOT_BYTES {
                    return Err(InstError::unsupported(format!("constants of {} bytes", info.size)));
                }
                let (name, space, align) = (format!("constant.{id}"), Space::Constant, info.align);
                let global = self.shared.add_global(GlobalData { name, space, size: info.size, align, init })?;
                let address = self.b.global_addr(global, space);
                if computed.is_empty() {
                    return Ok(Val::Memory(address));
                }
                let slot = self.copy_to_slot(address, info, MemAccess::aligned(info.align))?;
                for (part, offset) in computed {
                    let (val, ty) = (self.val(part)?, self.type_of(part)?);
                    let address = self.offset(slot, offset);
                    let access = MemAccess::aligned(self.type_info(ty)?.align.min(info.align));
                    self.store(ty, address, &val, access)?;
                }
                Val::Memory(slot)
            }
            consts::ConstValue::Computed => {
                unreachable!("broken invariant: what a constant depends on is computed before it")
            }
        })
    }

    /// Converts between 64-bit integers and pointers, and between pointer types.
    fn retyped(&mut self, value: Value, ty: Type) -> Value {
        let op = match (self.b.ty(value), ty) {
            (found, wanted) if found == wanted => return value,
            (found, wanted) if found.is_ptr() && wanted.is_ptr() => Opcode::SpaceCast,
            (found, _) if found.is_ptr() => Opcode::PtrToInt,
            (_, _) => Opcode::IntToPtr,
        };
        self.b.cast(op, value, ty)
    }

    /// A constant that is a single value.
    fn plain_constant(&mut self, value: &consts::ConstValue, ty: Type) -> Value {
        match value {
            consts::ConstValue::Lanes(data) => self.b.constant(data.clone()),
            consts::ConstValue::Undef => self.b.undef(ty),
            consts::ConstValue::Null => self.b.iconst(ty, 0),
            &consts::ConstValue::Address { global, space, offset, ty } => {
                let mut address = self.b.global_addr(global, space);
                if offset != 0 {
                    address = self.b.addr(address, None, 1, offset);
                }
                self.retyped(address, ty)
            }
            consts::ConstValue::Composite(_) | consts::ConstValue::Flat(_) | consts::ConstValue::Computed => {
                unreachable!("broken invariant: composites are made of their parts")
            }
        }
    }

    // -- aggregates --

    /// The address of new private memory for a value of a type.
    pub(crate) fn slot(&mut self, size: u64, align: u32) -> Result<Value, InstError> {
        let slot = self.b.func.slots.push(SlotData { size: 0, align: align.clamp(1, MAX_VARIABLE_ALIGN) });
        self.enlarge(slot, size)?;
        Ok(self.b.slot_addr(slot))
    }

    /// Sets the size of private memory.
    pub(crate) fn enlarge(&mut self, slot: Slot, size: u64) -> Result<(), InstError> {
        if size > MAX_SLOT_BYTES {
            return Err(InstError::unsupported(format!("private variables of {size} bytes")));
        }
        self.b.func.slots[slot].size = size;
        Ok(())
    }

    /// The address of a private copy of memory that holds a value of a type.
    pub(crate) fn copy_to_slot(&mut self, from: Value, info: &TypeInfo, access: MemAccess) -> Result<Value, InstError> {
        let slot = self.slot(info.size, info.align)?;
        self.copy(slot, from, info.size, access);
        Ok(slot)
    }

    /// Copies bytes.
    pub(crate) fn copy(&mut self, to: Value, from: Value, bytes: u64, access: MemAccess) {
        let count = self.b.iconst(Type::I64, bytes as i64);
        let mem = MemInfo { volatile: access.volatile, ..MemInfo::aligned(access.align) };
        self.b.memcpy(to, from, count, mem);
    }

    /// The properties of an access to a leaf.
    fn mem_info(&self, pointer: Value, access: MemAccess, offset: u64) -> MemInfo {
        let offset_align = if offset == 0 { access.align } else { 1 << offset.trailing_zeros().min(31) };
        MemInfo {
            align: access.align.min(offset_align).max(1),
            volatile: access.volatile,
            invariant: self.b.ty(pointer) == Type::ptr(Space::Constant) && !access.volatile,
            alias: 0,
        }
    }

    /// Loads a leaf at an offset from a pointer.
    pub(crate) fn load_leaf(&mut self, ty: Type, pointer: Value, offset: u64, access: MemAccess) -> Value {
        let mem = self.mem_info(pointer, access, offset);
        let address = self.offset(pointer, offset);
        if !ty.is_bool() {
            return self.b.load(ty, address, mem);
        }
        let bytes = self.b.load(ty.as_int(), address, mem);
        let zero = self.b.iconst(ty.as_int(), 0);
        self.b.icmp(IntCond::Ne, bytes, zero)
    }

    /// Stores a leaf at an offset from a pointer.
    pub(crate) fn store_leaf(&mut self, pointer: Value, offset: u64, value: Value, access: MemAccess) {
        // Modules may store to what they call constant.
        let mem = MemInfo { invariant: false, ..self.mem_info(pointer, access, offset) };
        let address = self.offset(pointer, offset);
        let ty = self.b.ty(value);
        let value = if ty.is_bool() { self.b.cast(Opcode::Zext, value, ty.as_int()) } else { value };
        self.b.store(address, value, mem);
    }

    /// A pointer plus constant bytes.
    pub(crate) fn offset(&mut self, pointer: Value, offset: u64) -> Value {
        if offset == 0 { pointer } else { self.b.addr(pointer, None, 1, offset as i64) }
    }

    /// Loads a value of any type.
    pub(crate) fn load(&mut self, ty: u32, pointer: Value, access: MemAccess) -> Result<Val, InstError> {
        let info = self.type_info(ty)?;
        if !info.is_sized() {
            return Err(InstError::malformed(format!("type %{ty} has no values")));
        }
        if !info.is_flat() {
            return Ok(Val::Memory(self.copy_to_slot(pointer, info, access)?));
        }
        let leaves = info.leaves.iter().map(|leaf| self.load_leaf(leaf.ty, pointer, leaf.offset, access)).collect();
        Ok(Val::Leaves(leaves))
    }

    /// Stores a value of any type.
    pub(crate) fn store(&mut self, ty: u32, pointer: Value, val: &Val, access: MemAccess) -> Result<(), InstError> {
        let info = self.type_info(ty)?;
        match val {
            Val::Leaves(leaves) => {
                if leaves.len() != info.leaves.len() {
                    return Err(InstError::malformed("the value does not have the type that the pointer points to"));
                }
                for (&value, leaf) in leaves.iter().zip(&info.leaves) {
                    self.store_leaf(pointer, leaf.offset, value, access);
                }
            }
            &Val::Memory(from) => {
                self.copy(pointer, from, info.size, MemAccess { align: access.align.min(info.align), ..access })
            }
            &Val::BuiltIn(input) => {
                let (class, _) = self.unit.types.any_pointer(ty)?;
                let value = super::ops::built_in::address(self, input, class)?;
                self.store_leaf(pointer, 0, value, access);
            }
        }
        Ok(())
    }

    /// The address of memory that holds a value, for parts of it to be read.
    pub(crate) fn in_memory(&mut self, ty: u32, val: &Val) -> Result<Value, InstError> {
        if let &Val::Memory(address) = val {
            return Ok(address);
        }
        let info = self.type_info(ty)?;
        let slot = self.slot(info.size, info.align)?;
        self.store(ty, slot, val, MemAccess::aligned(info.align))?;
        Ok(slot)
    }

    // -- facts --

    /// Sets the fast-math flags for the float ops of an instruction.
    pub(crate) fn set_fp(&mut self, inst: &Inst) {
        let decorations = inst.dr.result_id.map(|id| self.unit.module.decorations.of(id));
        let mut flags = self.shared.fp;
        flags.set(FpFlags::CONTRACT, self.contract);
        if let Some(decorations) = decorations {
            if let Some(mode) = decorations.fast_math {
                flags |= super::ops::arith::fast_math_flags(mode);
            }
            if decorations.no_contraction {
                flags.remove(FpFlags::CONTRACT);
            }
        }
        self.b.set_fp_flags(flags);
    }

    /// The no-wrap flags of an integer operation.
    pub(crate) fn wrap_flags(&self, inst: &Inst) -> WrapFlags {
        inst.dr.result_id.map_or(WrapFlags::empty(), |id| self.unit.module.decorations.of(id).wrap)
    }

    /// The value's defining op, if an instruction defines it.
    pub(crate) fn def_op(&self, value: Value) -> Option<(Opcode, &clift_kir::InstData)> {
        let inst = self.b.func.dfg.def_inst(value)?;
        let data = self.b.func.dfg.inst(inst);
        Some((data.op, data))
    }

    /// One lane of a vector; the element itself if a `vec` op defines the vector.
    pub(crate) fn extract(&mut self, vector: Value, lane: u32) -> Value {
        match self.def_op(vector) {
            Some((Opcode::Vec, data)) => data.args[lane as usize],
            Some(_) | None => self.b.extract(vector, lane),
        }
    }
}

/// Whether an instruction only sets the source position.
pub(crate) fn is_position(op: Op) -> bool {
    matches!(op, Op::Line | Op::NoLine)
}
