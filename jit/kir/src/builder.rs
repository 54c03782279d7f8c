//! Creates instructions: a cursor into a function that appends (or inserts before an instruction) and infers result types.
//!
//! There is one method per shape of op instead of per op: `int2(Opcode::Iadd, a, b)`; ops that many passes create have methods of
//! their own. Types are inferred from operands by the op's [`TypeRule`](crate::ops::TypeRule) where it determines them.

use crate::dfg::ConstData;
use crate::entities::{Block, Func, Global, Inst, Slot, Value};
use crate::function::{Function, Loc};
use crate::inst::{
    AtomicInfo, AtomicOp, BarrierInfo, BlockCall, Convert, FloatCond, FpFlags, GroupInfo, Imm, InstData, IntCond,
    MemInfo, Operands, SwitchData, WrapFlags,
};
use crate::libfn::LibFn;
use crate::ops::Opcode;
use crate::types::{Elem, Space, Type};

/// Where a [`Builder`] puts the next instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    End(Block),
    Before(Block, usize),
}

/// A cursor that makes instructions.
#[derive(Debug)]
pub struct Builder<'f> {
    /// The function being edited.
    pub func: &'f mut Function,
    position: Position,
    loc: Loc,
    fp: FpFlags,
}

impl<'f> Builder<'f> {
    /// A cursor at the end of a block.
    pub fn at_end(func: &'f mut Function, block: Block) -> Builder<'f> {
        Builder { func, position: Position::End(block), loc: Loc::default(), fp: FpFlags::default() }
    }

    /// A cursor before the instruction at a position of a block; it stays before that instruction.
    pub fn before(func: &'f mut Function, block: Block, index: usize) -> Builder<'f> {
        Builder { func, position: Position::Before(block, index), loc: Loc::default(), fp: FpFlags::default() }
    }

    /// Moves to the end of a block.
    pub fn switch_to(&mut self, block: Block) {
        self.position = Position::End(block);
    }

    /// The block the cursor is in.
    pub fn block(&self) -> Block {
        match self.position {
            Position::End(block) | Position::Before(block, _) => block,
        }
    }

    /// Where the cursor stands in its block: the index the next instruction gets.
    pub fn index(&self) -> usize {
        match self.position {
            Position::End(block) => self.func.layout.insts(block).len(),
            Position::Before(_, index) => index,
        }
    }

    /// Location given to the instructions made from now on.
    pub fn set_loc(&mut self, loc: Loc) {
        self.loc = loc;
    }

    /// Sets the fast-math flags of the float ops created from now on.
    pub fn set_fp_flags(&mut self, flags: FpFlags) {
        self.fp = flags;
    }

    /// The current fast-math flags.
    pub fn fp_flags(&self) -> FpFlags {
        self.fp
    }

    /// Type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.func.dfg.ty(value)
    }

    /// Makes any instruction. All other methods end here.
    pub fn inst(&mut self, op: Opcode, args: &[Value], imm: Imm, result_types: &[Type]) -> Inst {
        debug_assert!(op.info().imm.matches(&imm), "broken invariant: {op:?} with {imm:?}");
        let data = InstData { op, args: args.iter().copied().collect::<Operands>(), imm };
        let inst = self.func.dfg.make_inst(data, result_types);
        self.func.locs[inst] = self.loc;
        match &mut self.position {
            Position::End(block) => self.func.layout.append_inst(*block, inst),
            Position::Before(block, index) => {
                self.func.layout.insert_inst(*block, *index, inst);
                *index += 1;
            }
        }
        inst
    }

    /// Makes an instruction with one result.
    pub fn value(&mut self, op: Opcode, args: &[Value], imm: Imm, ty: Type) -> Value {
        let inst = self.inst(op, args, imm, &[ty]);
        self.func.dfg.result(inst)
    }

    // -- constants and addresses --

    /// A constant.
    pub fn constant(&mut self, data: ConstData) -> Value {
        let ty = data.ty;
        let id = self.func.dfg.make_const(data);
        self.value(Opcode::Const, &[], Imm::Const(id), ty)
    }

    /// The same integer (or Boolean, or address) in every lane; bits beyond the element are dropped.
    pub fn iconst(&mut self, ty: Type, value: i64) -> Value {
        self.constant(ConstData::splat(ty, value as u64))
    }

    /// The same float in every lane, rounded to the element.
    pub fn fconst(&mut self, ty: Type, value: f64) -> Value {
        let bits = crate::eval::convert::round_f64(ty.elem, value, crate::inst::Rounding::NearestEven);
        self.constant(ConstData::splat(ty, bits))
    }

    /// An unspecified value.
    pub fn undef(&mut self, ty: Type) -> Value {
        self.value(Opcode::Undef, &[], Imm::None, ty)
    }

    /// A kernel argument by its offset in the argument block.
    pub fn arg(&mut self, offset: u32, ty: Type) -> Value {
        self.value(Opcode::Arg, &[], Imm::Offset(offset), ty)
    }

    /// Address of a kernel argument.
    pub fn arg_addr(&mut self, offset: u32) -> Value {
        self.value(Opcode::ArgAddr, &[], Imm::Offset(offset), Type::ptr(Space::Host))
    }

    /// Address of a private variable.
    pub fn slot_addr(&mut self, slot: Slot) -> Value {
        self.value(Opcode::SlotAddr, &[], Imm::Slot(slot), Type::ptr(Space::Private))
    }

    /// Address of a module's variable that lives in `space`.
    pub fn global_addr(&mut self, global: Global, space: Space) -> Value {
        self.value(Opcode::GlobalAddr, &[], Imm::Global(global), Type::ptr(space))
    }

    /// `base + index * scale + disp`. The result has as many lanes as the operand with more.
    pub fn addr(&mut self, base: Value, index: Option<Value>, scale: u64, disp: i64) -> Value {
        let lanes = index.map_or(1, |i| self.ty(i).lanes()).max(self.ty(base).lanes());
        let ty = self.ty(base).with_lanes(lanes);
        let imm = Imm::Addr { scale, disp };
        match index {
            Some(index) => self.value(Opcode::Addr, &[base, index], imm, ty),
            None => self.value(Opcode::Addr, &[base], imm, ty),
        }
    }

    // -- lane-wise --

    /// One operand, result of the same type: integer and bit ops.
    pub fn int1(&mut self, op: Opcode, a: Value) -> Value {
        let ty = self.ty(a);
        self.value(op, &[a], Imm::None, ty)
    }

    /// Two operands of one type, result of the same: integer and bit ops.
    pub fn int2(&mut self, op: Opcode, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        self.value(op, &[a, b], Imm::None, ty)
    }

    /// As [`Self::int2`], for an op with no-wrap flags.
    pub fn int2_wrap(&mut self, op: Opcode, a: Value, b: Value, flags: WrapFlags) -> Value {
        let ty = self.ty(a);
        self.value(op, &[a, b], flags.imm(), ty)
    }

    /// One operand, result of the same type: float ops, with the current fast-math flags.
    pub fn float1(&mut self, op: Opcode, a: Value) -> Value {
        let (ty, fp) = (self.ty(a), self.fp);
        self.value(op, &[a], Imm::Fp(fp), ty)
    }

    /// Two operands of one type, result of the same: float ops, with the current fast-math flags.
    pub fn float2(&mut self, op: Opcode, a: Value, b: Value) -> Value {
        let (ty, fp) = (self.ty(a), self.fp);
        self.value(op, &[a, b], Imm::Fp(fp), ty)
    }

    /// What an atomic operation, or a step of a reduction, makes of two values.
    pub fn combine(&mut self, op: AtomicOp, old: Value, operand: Value) -> Value {
        match op.combines_by() {
            None => operand,
            Some(op) if self.ty(old).is_float() => self.float2(op, old, operand),
            Some(op) => self.int2(op, old, operand),
        }
    }

    /// `a * b + c`, rounded once.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        let (ty, fp) = (self.ty(a), self.fp);
        self.value(Opcode::Fma, &[a, b, c], Imm::Fp(fp), ty)
    }

    /// Comparison of integers, Booleans or pointers.
    pub fn icmp(&mut self, cond: IntCond, a: Value, b: Value) -> Value {
        let ty = self.ty(a).as_mask();
        self.value(Opcode::Icmp, &[a, b], Imm::IntCond(cond), ty)
    }

    /// Comparison of floats.
    pub fn fcmp(&mut self, cond: FloatCond, a: Value, b: Value) -> Value {
        let (ty, fp) = (self.ty(a).as_mask(), self.fp);
        self.value(Opcode::Fcmp, &[a, b], Imm::FloatCond(cond, fp), ty)
    }

    /// `a` where the condition (b1, or a mask of the same lanes) is true, else `b`.
    pub fn select(&mut self, cond: Value, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        self.value(Opcode::Select, &[cond, a, b], Imm::None, ty)
    }

    /// An integer, pointer or bit conversion to a stated type.
    pub fn cast(&mut self, op: Opcode, a: Value, ty: Type) -> Value {
        self.value(op, &[a], Imm::None, ty)
    }

    /// A conversion from or to floats.
    pub fn convert(&mut self, op: Opcode, a: Value, ty: Type, how: Convert) -> Value {
        self.value(op, &[a], Imm::Convert(how), ty)
    }

    /// The integer lanes in another width: truncated, zero-extended or sign-extended as needed.
    pub fn int_resize(&mut self, a: Value, elem: Elem, signed: bool) -> Value {
        let from = self.ty(a);
        let to = from.with_elem(elem);
        match from.elem.bits().cmp(&elem.bits()) {
            std::cmp::Ordering::Equal => a,
            std::cmp::Ordering::Greater => self.cast(Opcode::Itrunc, a, to),
            std::cmp::Ordering::Less => self.cast(if signed { Opcode::Sext } else { Opcode::Zext }, a, to),
        }
    }

    /// Whether a pointer points to an address space.
    pub fn in_space(&mut self, pointer: Value, space: Space) -> Value {
        let ty = self.ty(pointer).as_mask();
        self.value(Opcode::InSpace, &[pointer], Imm::Space(space), ty)
    }

    /// A library function, lane by lane.
    pub fn lib_call(&mut self, function: LibFn, args: &[Value]) -> Value {
        let ty = function.signature().result(self.ty(args[0]));
        self.value(Opcode::LibCall, args, Imm::Lib(function), ty)
    }

    // -- lanes --

    /// A scalar in every one of `lanes` lanes; the scalar itself for one lane.
    pub fn splat(&mut self, a: Value, lanes: u32) -> Value {
        if lanes == 1 {
            return a;
        }
        let ty = self.ty(a).with_lanes(lanes);
        self.value(Opcode::Splat, &[a], Imm::None, ty)
    }

    /// One lane by constant number; the value itself if it is a scalar.
    pub fn extract(&mut self, vector: Value, lane: u32) -> Value {
        let ty = self.ty(vector);
        if !ty.is_vector() {
            return vector;
        }
        self.value(Opcode::Extract, &[vector], Imm::Lane(lane as u8), ty.lane())
    }

    /// The vector with one lane replaced; the element itself if the vector is a scalar.
    pub fn insert(&mut self, vector: Value, element: Value, lane: u32) -> Value {
        let ty = self.ty(vector);
        if !ty.is_vector() {
            return element;
        }
        self.value(Opcode::Insert, &[vector, element], Imm::Lane(lane as u8), ty)
    }

    /// One lane by an i32 number.
    pub fn extract_dyn(&mut self, vector: Value, lane: Value) -> Value {
        let ty = self.ty(vector).lane();
        self.value(Opcode::ExtractDyn, &[vector, lane], Imm::None, ty)
    }

    /// The vector with the lane of an i32 number replaced.
    pub fn insert_dyn(&mut self, vector: Value, element: Value, lane: Value) -> Value {
        let ty = self.ty(vector);
        self.value(Opcode::InsertDyn, &[vector, element, lane], Imm::None, ty)
    }

    /// Lanes of `a` followed by `b`, by number; a scalar when one is asked for.
    pub fn shuffle(&mut self, a: Value, b: Value, lanes: &[u8]) -> Value {
        let ty = self.ty(a).with_lanes(lanes.len() as u32);
        self.value(Opcode::Shuffle, &[a, b], Imm::Lanes(lanes.into()), ty)
    }

    /// A vector of scalars of one type; the scalar itself for one.
    pub fn vec(&mut self, elements: &[Value]) -> Value {
        if let [only] = *elements {
            return only;
        }
        let ty = self.ty(elements[0]).with_lanes(elements.len() as u32);
        self.value(Opcode::Vec, elements, Imm::None, ty)
    }

    /// Whether any lane of a mask is true.
    pub fn any(&mut self, mask: Value) -> Value {
        self.value(Opcode::Any, &[mask], Imm::None, Type::B1)
    }

    /// Whether all lanes of a mask are true.
    pub fn all(&mut self, mask: Value) -> Value {
        self.value(Opcode::All, &[mask], Imm::None, Type::B1)
    }

    /// A bit of an i64 for each lane of a mask.
    pub fn mask_bits(&mut self, mask: Value) -> Value {
        self.value(Opcode::MaskBits, &[mask], Imm::None, Type::I64)
    }

    /// All lanes combined.
    pub fn reduce(&mut self, op: AtomicOp, vector: Value) -> Value {
        let ty = self.ty(vector).lane();
        self.value(Opcode::Reduce, &[vector], Imm::Reduce(op), ty)
    }

    // -- memory --

    /// Reads a value.
    pub fn load(&mut self, ty: Type, pointer: Value, mem: MemInfo) -> Value {
        self.value(Opcode::Load, &[pointer], Imm::Mem(mem), ty)
    }

    /// Writes a value.
    pub fn store(&mut self, pointer: Value, value: Value, mem: MemInfo) -> Inst {
        self.inst(Opcode::Store, &[pointer, value], Imm::Mem(mem), &[])
    }

    /// Copies bytes between memory that does not overlap.
    pub fn memcpy(&mut self, to: Value, from: Value, bytes: Value, mem: MemInfo) -> Inst {
        self.inst(Opcode::Memcpy, &[to, from, bytes], Imm::Mem(mem), &[])
    }

    /// Fills bytes.
    pub fn memset(&mut self, to: Value, byte: Value, bytes: Value, mem: MemInfo) -> Inst {
        self.inst(Opcode::Memset, &[to, byte, bytes], Imm::Mem(mem), &[])
    }

    /// The beginning of a private variable's lifetime: a fill with an undefined byte.
    pub fn lifetime_start(&mut self, slot: Slot, address: Value) -> Inst {
        let (byte, bytes) = (self.undef(Type::I8), self.iconst(Type::I64, self.func.slots[slot].size as i64));
        self.memset(address, byte, bytes, MemInfo::aligned(1))
    }

    /// Atomic read.
    pub fn atomic_load(&mut self, ty: Type, pointer: Value, info: AtomicInfo) -> Value {
        self.value(Opcode::AtomicLoad, &[pointer], Imm::Atomic(info), ty)
    }

    /// Atomic write.
    pub fn atomic_store(&mut self, pointer: Value, value: Value, info: AtomicInfo) -> Inst {
        self.inst(Opcode::AtomicStore, &[pointer, value], Imm::Atomic(info), &[])
    }

    /// Atomic read-modify-write; the old value.
    pub fn atomic_rmw(&mut self, pointer: Value, value: Value, info: AtomicInfo) -> Value {
        let ty = self.ty(value);
        self.value(Opcode::AtomicRmw, &[pointer, value], Imm::Atomic(info), ty)
    }

    /// Atomic compare-exchange; the old value.
    pub fn atomic_cmpxchg(&mut self, pointer: Value, expected: Value, new: Value, info: AtomicInfo) -> Value {
        let ty = self.ty(new);
        self.value(Opcode::AtomicCmpxchg, &[pointer, expected, new], Imm::Atomic(info), ty)
    }

    /// Memory fence.
    pub fn fence(&mut self, info: AtomicInfo) -> Inst {
        self.inst(Opcode::Fence, &[], Imm::Atomic(info), &[])
    }

    // -- work-items and calls --

    /// A work-item query of a dimension (i64).
    pub fn query(&mut self, op: Opcode, dim: u8) -> Value {
        self.value(op, &[], Imm::Dim(dim), Type::I64)
    }

    /// A work-item query without a dimension, of the type its rule gives.
    pub fn query_linear(&mut self, op: Opcode) -> Value {
        let ty = if op.info().rule == crate::ops::TypeRule::Query32 { Type::I32 } else { Type::I64 };
        self.value(op, &[], Imm::None, ty)
    }

    /// A barrier.
    pub fn barrier(&mut self, info: BarrierInfo) -> Inst {
        self.inst(Opcode::Barrier, &[], Imm::Barrier(info), &[])
    }

    /// A named barrier that lies at an address.
    pub fn named_barrier(&mut self, at: Value, info: BarrierInfo) -> Inst {
        self.inst(Opcode::NamedBarrier, &[at], Imm::Barrier(info), &[])
    }

    /// A reduction or scan over work-items: `group_reduce`, `group_scan`, `group_scan_exclusive`.
    pub fn group(&mut self, op: Opcode, info: GroupInfo, value: Value) -> Value {
        let ty = self.ty(value);
        self.value(op, &[value], Imm::Group(info), ty)
    }

    /// The ballot of the sub-group: a bit for each active work-item with a true value.
    pub fn group_ballot(&mut self, value: Value) -> Value {
        self.value(Opcode::GroupBallot, &[value], Imm::None, Type::I32.with_lanes(4))
    }

    /// The value of the work-item of the sub-group with an i32 number.
    pub fn group_shuffle(&mut self, value: Value, number: Value) -> Value {
        let ty = self.ty(value);
        self.value(Opcode::GroupShuffle, &[value, number], Imm::None, ty)
    }

    /// Calls a function of the module that returns values of the given types.
    pub fn call(&mut self, function: Func, args: &[Value], returns: &[Type]) -> Inst {
        self.inst(Opcode::Call, args, Imm::Func(function), returns)
    }

    /// `printf`: pointer to the format, values.
    pub fn printf(&mut self, format: Value, values: &[Value]) -> Value {
        let args: Operands = std::iter::once(format).chain(values.iter().copied()).collect();
        self.value(Opcode::Printf, &args, Imm::None, Type::I32)
    }

    /// A request to the runtime: its number, operands.
    pub fn request(&mut self, number: u32, operands: &[Value]) -> Value {
        let number = self.iconst(Type::I32, number.into());
        let args: Operands = std::iter::once(number).chain(operands.iter().copied()).collect();
        self.value(Opcode::Request, &args, Imm::None, Type::I64)
    }

    // -- terminators --

    /// Goes to a block.
    pub fn jump(&mut self, block: Block, args: &[Value]) -> Inst {
        self.inst(Opcode::Jump, &[], Imm::Jump(BlockCall::new(block, args)), &[])
    }

    /// Goes to one of two blocks.
    pub fn branch(&mut self, cond: Value, then: BlockCall, otherwise: BlockCall) -> Inst {
        self.inst(Opcode::Branch, &[cond], Imm::Branch(Box::new([then, otherwise])), &[])
    }

    /// Goes to the block of the equal case.
    pub fn switch(&mut self, selector: Value, cases: Vec<(u64, BlockCall)>, default: BlockCall) -> Inst {
        self.inst(Opcode::Switch, &[selector], Imm::Switch(Box::new(SwitchData { cases, default })), &[])
    }

    /// Returns.
    pub fn ret(&mut self, values: &[Value]) -> Inst {
        self.inst(Opcode::Ret, values, Imm::None, &[])
    }

    /// Never reached.
    pub fn unreachable(&mut self) -> Inst {
        self.inst(Opcode::Unreachable, &[], Imm::None, &[])
    }
}
