//! The translation of a function, and what all classes of ops share.

use clift_kir::analysis::{Cfg, Cold, UseCounts};
use clift_kir::ops::{AddressOp, OpClass, SyncOp};
use clift_kir::{Block, Elem, Function, Imm, Inst, IntCond, Opcode, Slot, Stage, Type, Value};
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_codegen::isa::TargetIsa;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cold::exchange::{self, FunctionRole};
use super::cold::outline::OutlinedFunctions;
use super::cold::placement::ColdPlacement;
use super::constants::{ConstantPlacement, PoolVectors};
use super::isa::Features;
use super::source::source_loc;
use crate::codegen::data::ProgramData;
use crate::codegen::not_legal;

/// The Cranelift form of a value. A mask may have lanes of any width; across blocks it has the type [`clif_type`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Lowered {
    /// The value.
    pub(super) value: ir::Value,
    /// A displacement to be added, for addresses that only accesses use.
    pub(super) disp: i32,
}

/// Translates one function.
pub(super) struct Translator<'a> {
    pub(super) legal: &'a Function,
    pub(super) pos: FuncCursor<'a>,
    pub(super) features: Features,
    pub(super) data: &'a ProgramData,
    values: SecondaryMap<Value, Option<Lowered>>,
    blocks: SecondaryMap<Block, PackedOption<ir::Block>>,
    pub(super) slots: FxHashMap<Slot, ir::StackSlot>,
    pub(super) signatures: FxHashMap<ir::Signature, ir::SigRef>,
    /// The shuffle patterns used so far.
    pub(super) patterns: FxHashMap<[u8; 16], ir::Immediate>,
    pub(super) call_conv: cranelift_codegen::isa::CallConv,
    uses: UseCounts,
    /// Scalars of 8 and 16 bits whose users need them zero-extended.
    extended: EntitySet<Value>,
    /// Those of them that were loaded, extended to 64 bits.
    pub(super) long: FxHashMap<Value, ir::Value>,
    /// Float vector comparisons in the current block: operands, condition, result.
    pub(super) comparisons: FxHashMap<(Value, Value, u8), Value>,
    /// Whether instructions get source locations.
    locate: bool,
    /// The block being translated, and the block in which each value translated so far is defined.
    current: Block,
    homes: SecondaryMap<Value, PackedOption<Block>>,
    /// The cold blocks, and how values are kept from being hoisted out of them.
    pub(super) cold: ColdPlacement,
    /// Where vector constants are.
    pub(super) constants: ConstantPlacement,
    /// The outlined cold functions.
    pub(super) outline: OutlinedFunctions,
    /// Whether the function is an entry or an outlined cold function.
    pub(super) role: FunctionRole,
}

/// A function in Cranelift's IR.
pub(super) struct Translated {
    /// The function. Its calls of outlined functions are bound later, with [`exchange::bind_outlined`].
    pub(super) func: ir::Function,
    /// The outlined cold functions.
    pub(super) outlined: Vec<ir::Function>,
    /// Its constant pool, which must stay at its address.
    pub(super) pool: PoolVectors,
}

impl<'a> Translator<'a> {
    /// Translates a function into Cranelift's IR.
    pub(super) fn run(
        func: &Function,
        isa: &dyn TargetIsa,
        features: Features,
        data: &ProgramData,
        locate: bool,
    ) -> Translated {
        debug_assert_eq!(func.stage, Stage::Legal);
        let cfg = Cfg::new(func);
        let cold = Cold::new(func, &cfg);
        let outline = OutlinedFunctions::new(func, &cfg, &cold);
        let call_conv = isa.default_call_conv();
        let mut signature = ir::Signature::new(call_conv);
        for ty in func.param_types() {
            signature.params.push(ir::AbiParam::new(clif_type(ty)));
        }
        for &ty in &func.returns {
            signature.returns.push(ir::AbiParam::new(clif_type(ty)));
        }
        let outlined =
            outline.functions().map(|func| Translator::outlined_function(func, isa, features, data)).collect();
        let mut ir = ir::Function::with_name_signature(ir::UserFuncName::default(), signature);
        let constants =
            if features.x86 { ConstantPlacement::new(func, &cfg, &cold) } else { ConstantPlacement::default() };
        let translator = Translator::new(func, &mut ir, call_conv, (features, data), cold);
        let mut translator = Translator { locate, outline, constants, ..translator };
        translator.function();
        let pool = translator.finish_pool();
        Translated { func: ir, outlined, pool }
    }

    /// Translates an outlined cold function. It has no source locations, because several functions may share it.
    fn outlined_function(func: &Function, isa: &dyn TargetIsa, features: Features, data: &ProgramData) -> ir::Function {
        let cold = Cold::new(func, &Cfg::new(func));
        let mut ir = ir::Function::with_name_signature(ir::UserFuncName::default(), exchange::outlined_signature());
        let translator = Translator::new(func, &mut ir, isa.default_call_conv(), (features, data), cold);
        Translator { role: FunctionRole::Outlined { place: None }, ..translator }.function();
        ir
    }

    fn new(
        legal: &'a Function,
        ir: &'a mut ir::Function,
        call_conv: cranelift_codegen::isa::CallConv,
        (features, data): (Features, &'a ProgramData),
        cold: Cold,
    ) -> Translator<'a> {
        Translator {
            legal,
            pos: FuncCursor::new(ir),
            features,
            data,
            values: SecondaryMap::new(),
            blocks: SecondaryMap::new(),
            slots: FxHashMap::default(),
            signatures: FxHashMap::default(),
            patterns: FxHashMap::default(),
            call_conv,
            uses: UseCounts::new(legal),
            extended: extended(legal),
            long: FxHashMap::default(),
            comparisons: FxHashMap::default(),
            locate: false,
            current: Block::from_u32(0),
            homes: SecondaryMap::new(),
            cold: ColdPlacement::new(cold),
            constants: ConstantPlacement::default(),
            outline: OutlinedFunctions::default(),
            role: FunctionRole::Entry { exchange: None },
        }
    }

    fn function(&mut self) {
        let legal = self.legal;
        for &block in legal.layout.blocks() {
            let new = self.pos.func.dfg.make_block();
            self.pos.func.layout.append_block(new);
            self.blocks[block] = Some(new).into();
            if legal.layout.entry() == Some(block) && matches!(self.role, FunctionRole::Outlined { .. }) {
                self.read_outlined_inputs(new, legal.dfg.params(block));
                continue;
            }
            for &param in legal.dfg.params(block) {
                let ty = clif_type(legal.dfg.ty(param));
                let value = self.pos.func.dfg.append_block_param(new, ty);
                self.set_param(param, value);
            }
        }
        if self.locate {
            // All locations are stored relative to the first, which must not be unknown.
            self.pos.set_srcloc(ir::SourceLoc::new(0));
        }
        for &block in legal.layout.blocks() {
            let new = self.block(block);
            self.pos.goto_bottom(new);
            self.current = block;
            self.comparisons.clear();
            self.enter_constants();
            if self.outline.contains(block) {
                self.call_outlined(block, new);
                continue;
            }
            self.enter_cold_block(block, new);
            for &inst in legal.layout.insts(block) {
                if self.locate {
                    self.pos.set_srcloc(source_loc(legal.locs[inst]));
                }
                self.inst(inst);
            }
        }
    }

    /// Sets the value of a block parameter.
    pub(super) fn set_param(&mut self, param: Value, value: ir::Value) {
        self.values[param] = Some(Lowered { value, disp: 0 });
    }

    /// The Cranelift block for a block.
    pub(super) fn block(&self, block: Block) -> ir::Block {
        self.blocks[block].expand().unwrap_or_else(|| unreachable!("broken invariant: {block} not laid out"))
    }

    /// The stored form of a value.
    pub(super) fn lowered(&self, value: Value) -> Lowered {
        self.values[value].unwrap_or_else(|| unreachable!("broken invariant: {value} used before its definition"))
    }

    /// The value, with its displacement added.
    pub(super) fn get(&mut self, value: Value) -> ir::Value {
        if let Some(here) = self.constant_here(value) {
            return here;
        }
        let lowered = self.lowered(value);
        if lowered.disp == 0 {
            lowered.value
        } else {
            self.pos.ins().iadd_imm_s(lowered.value, i64::from(lowered.disp))
        }
    }

    /// All value operands of an instruction.
    pub(super) fn args(&mut self, inst: Inst) -> SmallVec<[ir::Value; 4]> {
        let legal = self.legal;
        legal.dfg.inst(inst).args.iter().map(|&arg| self.get(arg)).collect()
    }

    /// The type of an operand.
    pub(super) fn arg_type(&self, inst: Inst, index: usize) -> Type {
        self.legal.dfg.ty(self.legal.dfg.inst(inst).args[index])
    }

    /// The type of the only result.
    pub(super) fn result_type(&self, inst: Inst) -> Type {
        self.legal.dfg.ty(self.legal.dfg.result(inst))
    }

    /// Sets the only result of an instruction.
    pub(super) fn set(&mut self, inst: Inst, value: ir::Value) {
        self.set_lowered(inst, Lowered { value, disp: 0 });
    }

    /// Sets the only result of an instruction, in its stored form.
    pub(super) fn set_lowered(&mut self, inst: Inst, lowered: Lowered) {
        let result = self.legal.dfg.result(inst);
        let ty = self.legal.dfg.ty(result);
        debug_assert!(
            (ty.is_bool() && ty.is_vector()) || self.ty(lowered.value) == clif_type(ty),
            "broken invariant: type {} of {:?}",
            self.ty(lowered.value),
            self.legal.dfg.inst(inst)
        );
        self.values[result] = Some(lowered);
        self.homes[result] = Some(self.current).into();
    }

    /// Whether this is the last use of a value: the only use, in the block that defines the value.
    pub(super) fn ends_here(&self, value: Value) -> bool {
        self.is_only_use(value) && self.homes[value].expand() == Some(self.current)
    }

    /// Whether this is the only use of a value.
    pub(super) fn is_only_use(&self, value: Value) -> bool {
        self.uses.get(value) == 1
    }

    /// Whether users of an 8-bit or 16-bit scalar need it zero-extended.
    pub(super) fn is_extended(&self, value: Value) -> bool {
        self.extended.contains(value)
    }

    /// The block being translated.
    pub(super) fn current(&self) -> Block {
        self.current
    }

    /// Type of a value of the new function.
    pub(super) fn ty(&self, value: ir::Value) -> ir::Type {
        self.pos.func.dfg.value_type(value)
    }

    /// An integer constant in every lane.
    pub(super) fn int(&mut self, ty: ir::Type, value: i64) -> ir::Value {
        if ty.is_vector() {
            let bytes = (ty.lane_bits() / 8) as usize;
            let lane = &value.to_le_bytes()[..bytes];
            return self.vector_constant(ty, u128::from_le_bytes(std::array::from_fn(|i| lane[i % bytes])));
        }
        let bits = ty.bits();
        let value = if bits < 64 { value & ((1 << bits) - 1) } else { value };
        self.pos.ins().iconst(ty, value)
    }

    /// `a` where the condition is true, else `b`. The condition is a Boolean for scalars and a mask for vectors.
    pub(super) fn choose(&mut self, cond: ir::Value, a: ir::Value, b: ir::Value) -> ir::Value {
        let ty = self.ty(a);
        if !self.ty(cond).is_vector() {
            return self.pos.ins().select(cond, a, b);
        }
        let cond = self.mask_of_width(cond, ty.lane_bits());
        if !self.features.x86 {
            let int = self.ty(cond);
            let (a, b) = (self.recast(a, int), self.recast(b, int));
            let value = self.pos.ins().bitselect(cond, a, b);
            return self.recast(value, ty);
        }
        // Instruction selection supports three widths; for integers, bytes suffice.
        let int = if ty.lane_type().is_float() { self.ty(cond) } else { types::I8X16 };
        let (cond, a, b) = (self.recast(cond, int), self.recast(a, int), self.recast(b, int));
        let value = self.pos.ins().blendv(cond, a, b);
        self.recast(value, ty)
    }

    /// The same 128 bits as lanes of another type.
    pub(super) fn recast(&mut self, value: ir::Value, ty: ir::Type) -> ir::Value {
        if self.ty(value) == ty {
            return value;
        }
        self.pos.ins().bitcast(ty, little_endian(), value)
    }

    fn inst(&mut self, inst: Inst) {
        let op = self.legal.dfg.inst(inst).op;
        match op.class() {
            OpClass::Leaf(op) => self.leaf_op(op, inst),
            OpClass::Int(op) => self.int_op(op, inst),
            OpClass::Float(op) => self.float_op(op, inst),
            OpClass::Convert(op) => self.convert_op(op, inst),
            OpClass::Lane(op) => self.lane_op(op, inst),
            OpClass::Address(AddressOp::Addr) => self.addr(inst),
            OpClass::Memory(op) => self.memory_op(op, inst),
            OpClass::Sync(SyncOp::Deadlock) => self.deadlock(),
            OpClass::Call(op) => self.call_op(op, inst),
            OpClass::Terminator(op) => self.control_op(op, inst),
            OpClass::Address(AddressOp::InSpace)
            | OpClass::Sync(SyncOp::Barrier | SyncOp::NamedBarrier | SyncOp::Yield)
            | OpClass::Image(_)
            | OpClass::Query(_)
            | OpClass::Collective(_) => not_legal(op),
        }
    }
}

/// Scalars of 8 and 16 bits that are zero-extended or select the case of a switch.
fn extended(func: &Function) -> EntitySet<Value> {
    let mut found = EntitySet::new();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            if matches!(data.op, Opcode::Zext | Opcode::Switch) {
                let ty = func.dfg.ty(data.args[0]);
                if !ty.is_vector() && matches!(ty.elem, Elem::I8 | Elem::I16) {
                    found.insert(data.args[0]);
                }
            }
        }
    }
    found
}

/// The Cranelift type for a legal type.
pub(super) fn clif_type(ty: Type) -> ir::Type {
    let lane = match ty.elem {
        // The type in which masks cross between blocks.
        Elem::B1 if ty.is_vector() => return mask_type(ty.lanes()),
        Elem::B1 | Elem::I8 => types::I8,
        Elem::I16 => types::I16,
        Elem::I32 => types::I32,
        Elem::I64 | Elem::Ptr(_) => types::I64,
        Elem::F32 => types::F32,
        Elem::F64 => types::F64,
        Elem::F16 => unreachable!("broken invariant: f16 in a legal function"),
    };
    if ty.is_vector() { vector_of(lane) } else { lane }
}

/// The type of a full register with the given lanes.
pub(super) fn vector_of(lane: ir::Type) -> ir::Type {
    lane.by(128 / lane.bits()).unwrap_or_else(|| unreachable!("broken invariant: vector of {lane}"))
}

/// The type of a mask that crosses between blocks.
fn mask_type(lanes: u32) -> ir::Type {
    match lanes {
        2 => types::I64X2,
        4 => types::I32X4,
        8 => types::I16X8,
        16 => types::I8X16,
        other => unreachable!("broken invariant: mask of {other} lanes"),
    }
}

/// Memory flags for a bit cast between lane types.
pub(super) fn little_endian() -> ir::MemFlagsData {
    ir::MemFlagsData::new().with_endianness(ir::Endianness::Little)
}

/// Cranelift's condition code.
pub(super) fn int_cc(cond: IntCond) -> ir::condcodes::IntCC {
    use ir::condcodes::IntCC;
    match cond {
        IntCond::Eq => IntCC::Equal,
        IntCond::Ne => IntCC::NotEqual,
        IntCond::Ult => IntCC::UnsignedLessThan,
        IntCond::Ule => IntCC::UnsignedLessThanOrEqual,
        IntCond::Ugt => IntCC::UnsignedGreaterThan,
        IntCond::Uge => IntCC::UnsignedGreaterThanOrEqual,
        IntCond::Slt => IntCC::SignedLessThan,
        IntCond::Sle => IntCC::SignedLessThanOrEqual,
        IntCond::Sgt => IntCC::SignedGreaterThan,
        IntCond::Sge => IntCC::SignedGreaterThanOrEqual,
    }
}

/// Called when an immediate does not have the form that the op requires.
pub(super) fn wrong_imm(imm: &Imm) -> ! {
    unreachable!("broken invariant: immediate {imm:?}")
}
