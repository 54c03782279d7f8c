//! The state of importing one function: values of ids, constants and variables on demand, aggregates as rows of leaves.
//!
//! `ops/` says what each instruction does; this file knows how ids become kir values. Every id used is checked to be defined on
//! all ways to its use, and every result to have the declared type, so that what comes out is well-formed whatever goes in.

use std::cell::{Cell, RefCell};

use clift_kir::{
    Block, Builder, FpFlags, Func, Function, Global, GlobalData, IntCond, Loc, MemInfo, Opcode, SlotData, Space, Type,
    Value, WrapFlags,
};
use cranelift_entity::PrimaryMap;
use rspirv::spirv::{BuiltIn, Op};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::alias::Seeds;
use super::cfg::Cfg;
use super::consts::{self, MAX_INIT_BYTES};
use super::function::Copies;
use super::function::Edges;
use super::types::{MAX_ALIGN, TypeInfo};
use super::unit::{Unit, Variable};
use super::words::{Fault, Inst};

/// Largest private variable or temporary in bytes.
pub(crate) const MAX_SLOT_BYTES: u64 = 1 << 30;

/// Kir values that make up an aggregate.
pub(crate) type Leaves = SmallVec<[Value; 1]>;

/// What an id stands for in a function.
#[derive(Clone, Debug)]
pub(crate) enum Val {
    /// Its leaves; one for scalars, vectors and pointers, none for void.
    Leaves(Leaves),
    /// An aggregate too large for leaves: address of a copy that nothing writes any more.
    Memory(Value),
    /// The address of a built-in variable, or of a part of it.
    Input(Input),
}

impl Val {
    /// A single value.
    pub(crate) fn one(value: Value) -> Val {
        Val::Leaves(smallvec![value])
    }
}

/// A pointer to a built-in variable or into one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    /// Which variable.
    pub(crate) built_in: BuiltIn,
    /// The variable's type.
    pub(crate) whole: u32,
    /// Type of what is pointed to.
    pub(crate) ty: u32,
    /// Where in the variable it points.
    pub(crate) at: Part,
}

/// A place in a built-in variable.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// Bytes behind its start.
    Bytes(u64),
    /// The component of a number known only when the kernel runs.
    Component(Value),
}

/// What all functions of a build share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Variables of the kir module.
    pub(crate) globals: RefCell<PrimaryMap<Global, GlobalData>>,
    /// Bytes of initializers so far.
    pub(crate) init_bytes: Cell<u64>,
    /// Bytes of variables so far.
    pub(crate) variable_bytes: Cell<u64>,
    /// Floating-point liberties of the build options.
    pub(crate) fp: FpFlags,
    /// Whether multiply-add may contract even where a kernel says `ContractionOff`.
    pub(crate) force_contract: bool,
    /// The next alias class.
    pub(crate) next_alias: Cell<u32>,
    /// Alias classes of the parameters of functions that are called once.
    pub(crate) param_alias: RefCell<FxHashMap<Func, Vec<u32>>>,
    /// Local variables that are zero when a work-group begins.
    pub(crate) zeroed: RefCell<Vec<Global>>,
}

impl Shared {
    /// Adds a variable; counts its initializer.
    pub(crate) fn add_global(&self, data: GlobalData) -> Result<Global, Fault> {
        self.count_init(data.init.bytes.len() as u64)?;
        Ok(self.globals.borrow_mut().push(data))
    }

    /// Counts bytes of an initializer.
    pub(crate) fn count_init(&self, bytes: u64) -> Result<(), Fault> {
        let total = self.init_bytes.get().saturating_add(bytes);
        self.init_bytes.set(total);
        if total > MAX_INIT_BYTES { Err(consts::too_large()) } else { Ok(()) }
    }

    /// A fresh alias class.
    pub(crate) fn fresh_alias(&self) -> u32 {
        let class = self.next_alias.get();
        self.next_alias.set(class.saturating_add(1));
        class
    }
}

/// What is known about an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// Alignment of the address in bytes.
    pub(crate) align: u32,
    /// Must happen as written.
    pub(crate) volatile: bool,
}

impl Access {
    /// An ordinary access.
    pub(crate) fn aligned(align: u32) -> Access {
        Access { align, volatile: false }
    }
}

/// A function being imported.
pub(crate) struct FuncCx<'a> {
    /// The module it is from.
    pub(crate) unit: &'a Unit,
    /// What all functions share.
    pub(crate) shared: &'a Shared,
    /// Where instructions go.
    pub(crate) b: Builder<'a>,
    /// Its control flow.
    pub(crate) cfg: &'a Cfg,
    /// The SPIR-V block being imported.
    pub(crate) block: usize,
    /// First kir block of each SPIR-V block.
    pub(crate) blocks: Vec<Option<Block>>,
    /// Phis of each SPIR-V block.
    pub(crate) phis: Vec<Vec<Phi>>,
    /// What the phis of a block take on each edge.
    pub(crate) edges: Edges,
    /// Pointers whose alias class is known.
    pub(crate) alias_seeds: Seeds,
    /// Calls of functions whose only call they are: callee and arguments.
    pub(crate) only_calls: Vec<(Func, Vec<Value>)>,
    /// How many copies of the function kernels contain.
    pub(crate) copies: Copies,
    /// Type of the function's result; `None` for void.
    pub(crate) return_type: Option<u32>,
    /// Where the function puts its result, if that is too large for values.
    pub(crate) result_address: Option<Value>,
    vals: FxHashMap<u32, (Val, usize)>,
    consts: (Option<Block>, FxHashMap<u32, Val>),
    /// Whether LLVM's optimizer has seen the function, where LLVM made it.
    pub(crate) is_optimized: bool,
    contract: bool,
    line: (u32, u32),
}

/// A phi and where its value goes on the edges.
#[derive(Clone, Debug)]
pub(crate) struct Phi {
    /// Index of its instruction.
    pub(crate) inst: usize,
    /// For a type too large for block parameters: address that predecessors copy to.
    pub(crate) staging: Option<Value>,
}

impl<'a> FuncCx<'a> {
    /// A function whose entry block exists already.
    pub(crate) fn new(unit: &'a Unit, shared: &'a Shared, func: &'a mut Function, cfg: &'a Cfg, entry: Block) -> Self {
        let blocks = vec![None; cfg.reached.len()];
        let phis = vec![Vec::new(); cfg.reached.len()];
        FuncCx {
            unit,
            shared,
            b: Builder::at_end(func, entry),
            cfg,
            block: 0,
            blocks,
            phis,
            edges: Edges::default(),
            only_calls: Vec::new(),
            copies: Copies::One,
            return_type: None,
            result_address: None,
            vals: FxHashMap::default(),
            consts: (None, FxHashMap::default()),
            alias_seeds: Seeds::new(),
            is_optimized: true,
            contract: shared.force_contract || !unit.contraction_off,
            line: (0, 0),
        }
    }

    // -- positions --

    /// Gives the instructions made from now on the place of a SPIR-V instruction.
    pub(crate) fn set_loc(&mut self, inst: &Inst) {
        let word = u32::try_from(inst.word + 1).unwrap_or(u32::MAX);
        self.b.set_loc(Loc { word, line: self.line.0, column: self.line.1 });
    }

    /// The source line from here on.
    pub(crate) fn set_line(&mut self, line: u32, column: u32) {
        self.line = (line, column);
    }

    // -- types --

    /// The type of a type id.
    pub(crate) fn type_info(&self, ty: u32) -> Result<&'a TypeInfo, Fault> {
        self.unit.types.get(ty)
    }

    /// The kir type of a type id that is a single value.
    pub(crate) fn kir_type(&self, ty: u32) -> Result<Type, Fault> {
        self.unit.types.value(ty)
    }

    /// The type id of a value's id.
    pub(crate) fn type_of(&self, id: u32) -> Result<u32, Fault> {
        let inst = self.unit.module.def(id);
        inst.and_then(|inst| inst.dr.result_type)
            .ok_or_else(|| Fault::malformed(format!("{} is not a value", self.unit.module.describe(id))))
    }

    /// What a pointer's id points to.
    pub(crate) fn pointee(&self, pointer: u32) -> Result<u32, Fault> {
        Ok(self.unit.types.pointer(self.type_of(pointer)?)?.1)
    }

    /// What a pointer's id points to, or what an access says if it is a pointer without a type.
    pub(crate) fn pointee_or(&self, pointer: u32, accessed: u32) -> Result<u32, Fault> {
        Ok(self.unit.types.any_pointer(self.type_of(pointer)?)?.1.unwrap_or(accessed))
    }

    // -- values --

    /// What an id stands for.
    pub(crate) fn val(&mut self, id: u32) -> Result<Val, Fault> {
        if let Some((val, block)) = self.vals.get(&id) {
            if !self.cfg.dominates(*block, self.block) {
                let name = self.unit.module.describe(id);
                return Err(Fault::malformed(format!("{name} is not defined on every path to its use")));
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
            return Err(Fault::malformed(reason));
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
    pub(crate) fn value(&mut self, id: u32) -> Result<Value, Fault> {
        match self.val(id)? {
            Val::Leaves(leaves) if leaves.len() == 1 => {
                // A struct or array of one leaf is no scalar.
                self.kir_type(self.type_of(id)?)?;
                Ok(leaves[0])
            }
            Val::Input(input) => {
                let (class, _) = self.unit.types.any_pointer(self.type_of(id)?)?;
                super::ops::built_in::address(self, input, class)
            }
            Val::Leaves(_) | Val::Memory(_) => {
                Err(Fault::malformed(format!("{} is not a scalar, vector or pointer", self.unit.module.describe(id))))
            }
        }
    }

    /// A value that must be a scalar integer.
    pub(crate) fn scalar_int(&mut self, id: u32) -> Result<Value, Fault> {
        let value = self.value(id)?;
        let ty = self.b.ty(value);
        if !ty.is_int() || ty.is_vector() {
            return Err(Fault::malformed(format!("{} is not a scalar integer", self.unit.module.describe(id))));
        }
        Ok(value)
    }

    /// A value that must be a pointer.
    pub(crate) fn pointer(&mut self, id: u32) -> Result<Value, Fault> {
        let value = self.value(id)?;
        if !self.b.ty(value).is_ptr() {
            return Err(Fault::malformed(format!("{} is not a pointer", self.unit.module.describe(id))));
        }
        Ok(value)
    }

    /// Two values that must have the same type.
    pub(crate) fn pair(&mut self, a: u32, b: u32) -> Result<(Value, Value), Fault> {
        let (a, b) = (self.value(a)?, self.value(b)?);
        if self.b.ty(a) != self.b.ty(b) {
            let (a, b) = (self.b.ty(a), self.b.ty(b));
            return Err(Fault::malformed(format!("the operands have different types: {a} and {b}")));
        }
        Ok((a, b))
    }

    /// The single value that is the instruction's result.
    pub(crate) fn set(&mut self, inst: &Inst, value: Value) -> Result<(), Fault> {
        let (declared, found) = (self.kir_type(inst.result_type()?)?, self.b.ty(value));
        if declared != found {
            return Err(Fault::malformed(format!("the result has type {found}, but {declared} is declared")));
        }
        if let Some(name) = self.unit.module.names.get(&inst.result()?) {
            self.b.func.names.insert(value, name.clone());
        }
        self.define(inst.result()?, Val::one(value));
        Ok(())
    }

    /// The leaves or the address that are the instruction's result, already of the declared type.
    pub(crate) fn set_val(&mut self, inst: &Inst, val: Val) -> Result<(), Fault> {
        if let Val::Leaves(leaves) = &val {
            let info = self.type_info(inst.result_type()?)?;
            let found = leaves.iter().map(|&leaf| self.b.ty(leaf));
            if !found.eq(info.leaves.iter().map(|leaf| leaf.ty)) {
                return Err(Fault::malformed("the result does not have the declared type"));
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
            Variable::Global { global, space } => Some(Val::one(self.b.global_addr(global, space))),
            Variable::Input { built_in, ty } => Some(Val::Input(Input { built_in, whole: ty, ty, at: Part::Bytes(0) })),
        }
    }

    // -- constants --

    /// The value of a constant that its instruction computes, here. What it depends on has been computed in this block.
    fn compute(&mut self, id: u32) -> Result<Val, Fault> {
        let Some(inst) = self.unit.module.def(id) else {
            unreachable!("broken invariant: a constant has a definition")
        };
        let fp = self.b.fp_flags();
        super::ops::lower(self, inst)?;
        self.b.set_fp_flags(fp);
        let (val, _) = self.vals.remove(&id).unwrap_or_else(|| unreachable!("broken invariant: constants have values"));
        Ok(val)
    }

    /// The value of a constant, made here.
    fn constant(&mut self, id: u32) -> Result<Val, Fault> {
        let unit = self.unit;
        let Some(constant) = unit.consts.get(id) else {
            return Err(Fault::malformed(format!("%{id} is not a constant")));
        };
        let info = unit.types.get(constant.ty)?;
        Ok(match &constant.value {
            consts::Value::Flat(leaves) => {
                let values = leaves.iter().zip(&info.leaves);
                Val::Leaves(values.map(|(value, leaf)| self.plain_constant(value, leaf.ty)).collect())
            }
            value @ (consts::Value::Lanes(_) | consts::Value::Address { .. }) => {
                Val::one(self.plain_constant(value, unit.types.value(constant.ty)?))
            }
            consts::Value::Undef if info.is_flat() => {
                Val::Leaves(info.leaves.iter().map(|leaf| self.b.undef(leaf.ty)).collect())
            }
            consts::Value::Null if info.is_flat() => {
                Val::Leaves(info.leaves.iter().map(|leaf| self.b.iconst(leaf.ty, 0)).collect())
            }
            consts::Value::Composite(parts) if info.is_flat() => {
                let mut leaves = Leaves::new();
                for &part in parts {
                    match self.val(part)? {
                        Val::Leaves(inner) => leaves.extend(inner),
                        Val::Memory(_) | Val::Input(_) => leaves.push(self.value(part)?),
                    }
                }
                if let Some(vector) = info.value {
                    for value in &mut leaves {
                        *value = self.retyped(*value, vector.lane());
                    }
                    return Ok(Val::one(self.b.vec(&leaves)));
                }
                // Parts may be integers in the place of pointers (`Types::same_layout`).
                for (value, leaf) in leaves.iter_mut().zip(&info.leaves) {
                    *value = self.retyped(*value, leaf.ty);
                }
                Val::Leaves(leaves)
            }
            consts::Value::Undef | consts::Value::Null | consts::Value::Composite(_) => {
                let (init, computed) = unit.consts.store(id, &unit.types)?;
                if info.size > MAX_SLOT_BYTES {
                    return Err(Fault::unsupported(format!("constants of {} bytes", info.size)));
                }
                let (name, space, align) = (format!("constant.{id}"), Space::Constant, info.align);
                let global = self.shared.add_global(GlobalData { name, space, size: info.size, align, init })?;
                let address = self.b.global_addr(global, space);
                if computed.is_empty() {
                    return Ok(Val::Memory(address));
                }
                let slot = self.copy_to_slot(address, info, Access::aligned(info.align))?;
                for (part, offset) in computed {
                    let (val, ty) = (self.val(part)?, self.type_of(part)?);
                    let address = self.offset(slot, offset);
                    let access = Access::aligned(self.type_info(ty)?.align.min(info.align));
                    self.store(ty, address, &val, access)?;
                }
                Val::Memory(slot)
            }
            consts::Value::Computed => {
                unreachable!("broken invariant: what a constant depends on is computed before it")
            }
        })
    }

    /// A 64-bit integer or a pointer as another such type.
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
    fn plain_constant(&mut self, value: &consts::Value, ty: Type) -> Value {
        match value {
            consts::Value::Lanes(data) => self.b.constant(data.clone()),
            consts::Value::Undef => self.b.undef(ty),
            consts::Value::Null => self.b.iconst(ty, 0),
            &consts::Value::Address { global, space, offset, ty } => {
                let mut address = self.b.global_addr(global, space);
                if offset != 0 {
                    address = self.b.addr(address, None, 1, offset);
                }
                self.retyped(address, ty)
            }
            consts::Value::Composite(_) | consts::Value::Flat(_) | consts::Value::Computed => {
                unreachable!("broken invariant: composites are made of their parts")
            }
        }
    }

    // -- aggregates --

    /// The address of fresh private memory for a value of a type.
    pub(crate) fn slot(&mut self, size: u64, align: u32) -> Result<Value, Fault> {
        if size > MAX_SLOT_BYTES {
            return Err(Fault::unsupported(format!("private variables of {size} bytes")));
        }
        let slot = self.b.func.slots.push(SlotData { size, align: align.clamp(1, MAX_ALIGN) });
        Ok(self.b.slot_addr(slot))
    }

    /// The address of a private copy of memory that holds a value of a type.
    pub(crate) fn copy_to_slot(&mut self, from: Value, info: &TypeInfo, access: Access) -> Result<Value, Fault> {
        let slot = self.slot(info.size, info.align)?;
        self.copy(slot, from, info.size, access);
        Ok(slot)
    }

    /// Copies bytes.
    pub(crate) fn copy(&mut self, to: Value, from: Value, bytes: u64, access: Access) {
        let count = self.b.iconst(Type::I64, bytes as i64);
        let mem = MemInfo { volatile: access.volatile, ..MemInfo::aligned(access.align) };
        self.b.memcpy(to, from, count, mem);
    }

    /// Facts about an access to a leaf.
    fn mem_info(&self, pointer: Value, access: Access, offset: u64) -> MemInfo {
        let offset_align = if offset == 0 { access.align } else { 1 << offset.trailing_zeros().min(31) };
        MemInfo {
            align: access.align.min(offset_align).max(1),
            volatile: access.volatile,
            invariant: self.b.ty(pointer) == Type::ptr(Space::Constant) && !access.volatile,
            alias: 0,
        }
    }

    /// Reads one leaf at an offset from a pointer.
    pub(crate) fn load_leaf(&mut self, ty: Type, pointer: Value, offset: u64, access: Access) -> Value {
        let mem = self.mem_info(pointer, access, offset);
        let address = self.offset(pointer, offset);
        if !ty.is_bool() {
            return self.b.load(ty, address, mem);
        }
        let bytes = self.b.load(ty.as_int(), address, mem);
        let zero = self.b.iconst(ty.as_int(), 0);
        self.b.icmp(IntCond::Ne, bytes, zero)
    }

    /// Writes one leaf at an offset from a pointer.
    pub(crate) fn store_leaf(&mut self, pointer: Value, offset: u64, value: Value, access: Access) {
        let mem = self.mem_info(pointer, access, offset);
        let address = self.offset(pointer, offset);
        let ty = self.b.ty(value);
        let value = if ty.is_bool() { self.b.cast(Opcode::Zext, value, ty.as_int()) } else { value };
        self.b.store(address, value, mem);
    }

    /// A pointer plus constant bytes.
    pub(crate) fn offset(&mut self, pointer: Value, offset: u64) -> Value {
        if offset == 0 { pointer } else { self.b.addr(pointer, None, 1, offset as i64) }
    }

    /// Reads a value of any type.
    pub(crate) fn load(&mut self, ty: u32, pointer: Value, access: Access) -> Result<Val, Fault> {
        let info = self.type_info(ty)?;
        if !info.is_sized() {
            return Err(Fault::malformed(format!("type %{ty} has no values")));
        }
        if !info.is_flat() {
            return Ok(Val::Memory(self.copy_to_slot(pointer, info, access)?));
        }
        let leaves = info.leaves.iter().map(|leaf| self.load_leaf(leaf.ty, pointer, leaf.offset, access)).collect();
        Ok(Val::Leaves(leaves))
    }

    /// Writes a value of any type.
    pub(crate) fn store(&mut self, ty: u32, pointer: Value, val: &Val, access: Access) -> Result<(), Fault> {
        let info = self.type_info(ty)?;
        match val {
            Val::Leaves(leaves) => {
                if leaves.len() != info.leaves.len() {
                    return Err(Fault::malformed("the value does not have the type that the pointer points to"));
                }
                for (&value, leaf) in leaves.iter().zip(&info.leaves) {
                    self.store_leaf(pointer, leaf.offset, value, access);
                }
            }
            &Val::Memory(from) => {
                self.copy(pointer, from, info.size, Access { align: access.align.min(info.align), ..access })
            }
            &Val::Input(input) => {
                let (class, _) = self.unit.types.any_pointer(ty)?;
                let value = super::ops::built_in::address(self, input, class)?;
                self.store_leaf(pointer, 0, value, access);
            }
        }
        Ok(())
    }

    /// The address of memory that holds a value, for parts of it to be read.
    pub(crate) fn in_memory(&mut self, ty: u32, val: &Val) -> Result<Value, Fault> {
        if let &Val::Memory(address) = val {
            return Ok(address);
        }
        let info = self.type_info(ty)?;
        let slot = self.slot(info.size, info.align)?;
        self.store(ty, slot, val, Access::aligned(info.align))?;
        Ok(slot)
    }

    // -- facts --

    /// Sets the liberties for the float ops of an instruction.
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

    /// What the source promises about an integer operation.
    pub(crate) fn wrap_flags(&self, inst: &Inst) -> WrapFlags {
        inst.dr.result_id.map_or(WrapFlags::empty(), |id| self.unit.module.decorations.of(id).wrap)
    }

    /// The value's defining op, if an instruction defines it.
    pub(crate) fn def_op(&self, value: Value) -> Option<(Opcode, &clift_kir::InstData)> {
        let inst = self.b.func.dfg.def_inst(value)?;
        let data = self.b.func.dfg.inst(inst);
        Some((data.op, data))
    }

    /// One lane of a vector; the element itself when the vector was just put together.
    pub(crate) fn extract(&mut self, vector: Value, lane: u32) -> Value {
        match self.def_op(vector) {
            Some((Opcode::Vec, data)) => data.args[lane as usize],
            Some(_) | None => self.b.extract(vector, lane),
        }
    }
}

/// Whether an instruction only tells about source positions.
pub(crate) fn is_position(op: Op) -> bool {
    matches!(op, Op::Line | Op::NoLine)
}
