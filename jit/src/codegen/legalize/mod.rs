//! Legalization: rewrites a looped function so that it uses only types and ops that a backend supports.
//!
//! Every value becomes one or more *parts* ([`SplitValue`]): scalars, or vectors of at most a register. If the number of lanes is
//! not a power of two, the last part has unused lanes; nothing may depend on their content. An op is applied part by part if the
//! backend supports it, else lane by lane. In the result:
//!
//! - vectors have a power of two of lanes and fit a register; `f16` is carried as `i16`, and cast to `f16` for instructions on
//!   halves;
//! - masks have as many lanes as the values that they were made from; the width of a mask's lanes is up to the backend;
//! - conversions round as the hardware does (float to integer toward zero, all others to nearest even), and 8-bit and 16-bit
//!   integers are converted from and to floats through 32 bits;
//! - `reduce`, `in_space`, dynamic lanes, and atomics on floats and pointers are gone; so are `masked_load`, `masked_store`,
//!   `gather` and `scatter` unless the backend supports them; `memcpy` and `memset` of few bytes are loads and stores;
//! - slots are in the backend's stack frame; the operands of `printf` are the format, the descriptors ([`PrintfArg`]), their
//!   count, and the data.
//!
//! [`PrintfArg`]: clift_include::abi::PrintfArg
//!
//! The ops are split by class. This file has the driver and the parts. [`arith`] has lane-wise ops, [`vector`] expansions of
//! integer ops on vectors, [`divide`] divisions by constants, [`divide_floats`] those through floats, [`float`] expansions for
//! `f16` and for rounding modes. [`lanes`] has movement between lanes, [`shuffle`] shuffles. [`memory`] has accesses, [`masked`]
//! masked and scattered accesses that the backend supports, [`address_vectors`] the vectors of their addresses, [`lane_accesses`]
//! accesses that the backend does not support, [`forwarding`] scattered ones to private variables, [`atomic`] atomics.
//! [`control`] has control flow and calls.
//!
//! Deliberately not here: which instructions a backend has (its [`VectorCaps`]) and general optimizations.

mod address_vectors;
mod arith;
mod atomic;
mod control;
mod divide;
mod divide_floats;
mod float;
mod forwarding;
mod lane_accesses;
mod lanes;
mod masked;
mod memory;
mod shuffle;
mod vector;

use std::collections::VecDeque;

use clift_kir::analysis::Cfg;
use clift_kir::dfg::ConstData;
use clift_kir::ops::{AddressOp, CallOp, ConvertOp, LaneOp, LeafOp, MemoryOp, OpClass, SyncOp};
use clift_kir::{
    Block, Builder, Elem, FpFlags, Function, Imm, Inst, Loc, Opcode, Slot, SlotData, Space, Stage, Type, Value,
};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::target::caps::VectorCaps;
use crate::target::processor::ScatteredAccesses;

/// A value of the function being legalized, in parts.
#[derive(Clone, Debug)]
struct SplitValue {
    /// Its type before legalization.
    ty: Type,
    /// Lanes of each part.
    chunk: u32,
    /// `lanes / chunk` parts, rounded up.
    parts: SmallVec<[Value; 4]>,
}

impl SplitValue {
    fn scalar(ty: Type, value: Value) -> SplitValue {
        SplitValue { ty, chunk: 1, parts: SmallVec::from_slice(&[value]) }
    }

    /// The only part of a value that has one.
    fn only(&self) -> Value {
        match *self.parts {
            [value] => value,
            ref other => unreachable!("broken invariant: {} parts of a {}", other.len(), self.ty),
        }
    }

    /// The same parts as lanes of another element with the same carrier.
    fn viewed_as(&self, elem: Elem) -> SplitValue {
        debug_assert_eq!(carrier(self.ty.elem), carrier(elem));
        SplitValue { ty: self.ty.with_elem(elem), ..self.clone() }
    }

    /// The number of used lanes of a part.
    fn used(&self, part: usize) -> u32 {
        (self.ty.lanes() - part as u32 * self.chunk).min(self.chunk)
    }
}

/// The element that represents an element in the legal form.
fn carrier(elem: Elem) -> Elem {
    match elem {
        Elem::F16 => Elem::I16,
        Elem::B1
        | Elem::I8
        | Elem::I16
        | Elem::I32
        | Elem::I64
        | Elem::F32
        | Elem::F64
        | Elem::Ptr(Space::Private | Space::Global | Space::Constant | Space::Local | Space::Generic | Space::Host) => {
            elem
        }
    }
}

/// The most scattered accesses of a function that are worth an access for each lane, some 300 bytes of code each: beyond, the
/// code leaves the second-level cache, and loading it takes as long as the gather instructions do.
const MAX_LANE_BY_LANE: usize = 256;

/// The capabilities to use for a function.
fn for_function(func: &Function, caps: VectorCaps) -> VectorCaps {
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let scattered = insts.filter(|&&inst| matches!(func.dfg.inst(inst).op, Opcode::Gather | Opcode::Scatter)).count();
    let scattered = if scattered > MAX_LANE_BY_LANE { ScatteredAccesses::FAST } else { caps.scattered };
    VectorCaps { scattered, ..caps }
}

/// Rewrites a looped function for a backend with the given capabilities.
pub(crate) fn run(func: &Function, caps: &VectorCaps) -> Function {
    debug_assert_eq!(func.stage, Stage::Looped);
    let mut new = Function::new(func.name.clone(), &func.returns);
    new.stage = Stage::Legal;
    let cfg = Cfg::new(func);
    let caps = &for_function(func, *caps);
    let forwards = forwarding::is_needed(func, caps);
    let mut legalizer = Legalizer {
        old: func,
        caps,
        block: new.append_block(),
        new,
        values: SecondaryMap::new(),
        blocks: SecondaryMap::new(),
        context: None.into(),
        loc: Loc::default(),
        dummy: None,
        reached: FxHashMap::default(),
        forwards,
        gathered: if forwards { forwarding::gathered(func) } else { FxHashSet::default() },
        updates: if forwards { forwarding::updates(func) } else { FxHashMap::default() },
        private_addresses: FxHashMap::default(),
        scaled_indices: FxHashMap::default(),
        fields: address_vectors::fields(func),
        private_lanes: VecDeque::new(),
        halves: FxHashMap::default(),
    };
    legalizer.function(&cfg);
    legalizer.new
}

struct Legalizer<'a> {
    old: &'a Function,
    caps: &'a VectorCaps,
    new: Function,
    /// Where instructions are appended.
    block: Block,
    values: SecondaryMap<Value, Option<SplitValue>>,
    blocks: SecondaryMap<Block, PackedOption<Block>>,
    /// The entry's first parameter: the launch context.
    context: PackedOption<Value>,
    loc: Loc,
    /// Stack memory that inactive lanes store to.
    dummy: Option<Slot>,
    /// By pointer of the old function: the number of bytes from there that earlier accesses of the same block touch.
    reached: FxHashMap<Value, u32>,
    /// Whether scattered accesses to private variables go lane by lane (`forwarding.rs`).
    forwards: bool,
    /// Addresses of gathers from private variables.
    gathered: FxHashSet<Value>,
    /// Updates of elements of private variables: by their gather and their scatter, the operation.
    updates: FxHashMap<Inst, Inst>,
    /// By vector of addresses of the old function in private variables: the addresses as vectors of integers.
    private_addresses: FxHashMap<Value, SplitValue>,
    /// The last products of vectors of indices and sizes of records.
    scaled_indices: FxHashMap<(Value, u64), address_vectors::ScaledIndex>,
    /// How many vectors of addresses a block computes from a vector of indices and a size of records.
    fields: FxHashMap<(Block, Value, u64), u32>,
    /// The addresses of scattered accesses to private variables that are on the stack.
    private_lanes: VecDeque<forwarding::StoredAddresses>,
    /// Lanes of values of the old function that shuffles of the same block have extracted: their distance and the first one.
    halves: FxHashMap<(Value, (u32, u32)), SplitValue>,
}

impl Legalizer<'_> {
    fn function(&mut self, cfg: &Cfg) {
        for (i, &old) in cfg.rpo().iter().enumerate() {
            let block = if i == 0 { self.block } else { self.new.append_block() };
            self.blocks[old] = Some(block).into();
            if self.old.layout.is_cold(old) {
                self.new.layout.set_cold(block);
            }
            for &param in self.old.dfg.params(old) {
                let ty = self.old.dfg.ty(param);
                let chunk = self.caps.part_lanes(ty);
                let part = self.part_type(ty.elem, chunk);
                let parts = (0..ty.lanes().div_ceil(chunk)).map(|_| self.new.dfg.append_param(block, part)).collect();
                self.values[param] = Some(SplitValue { ty, chunk, parts });
            }
        }
        if let Some(&context) = self.new.dfg.params(self.block).first() {
            self.context = Some(context).into();
        }
        for &old in cfg.rpo() {
            self.block = self.blocks[old]
                .expand()
                .unwrap_or_else(|| unreachable!("broken invariant: block without a counterpart"));
            self.reached.clear();
            self.halves.clear();
            self.forget_lane_addresses();
            for &inst in self.old.layout.insts(old) {
                self.loc = self.old.locs[inst];
                self.instruction(inst);
            }
        }
        // Blocks made for control flow inside a block are at the end. Reverse postorder puts definitions before uses.
        let order = Cfg::new(&self.new).rpo().to_vec();
        self.new.layout.set_order(order);
    }

    /// A cursor at the end of the current block.
    fn at(&mut self) -> Builder<'_> {
        let mut builder = Builder::at_end(&mut self.new, self.block);
        builder.set_loc(self.loc);
        builder
    }

    /// The legal type of a part of `lanes` lanes.
    fn part_type(&self, elem: Elem, lanes: u32) -> Type {
        Type::vector(carrier(elem), lanes)
    }

    /// The parts of an operand.
    fn get(&self, value: Value) -> SplitValue {
        match &self.values[value] {
            Some(split) => split.clone(),
            None => unreachable!("broken invariant: {value} used before its definition"),
        }
    }

    /// The only part of a scalar operand.
    fn get_scalar(&self, value: Value) -> Value {
        self.get(value).only()
    }

    fn operands(&self, inst: Inst) -> SmallVec<[SplitValue; 4]> {
        self.old.dfg.inst(inst).args.iter().map(|&arg| self.get(arg)).collect()
    }

    /// Records the parts of an instruction's only result. Parts have the natural number of lanes, except those of masks and of
    /// pointers, which are mostly computed and used one by one.
    fn set(&mut self, inst: Inst, split: SplitValue) {
        let result = self.old.dfg.result(inst);
        debug_assert_eq!(split.ty, self.old.dfg.ty(result), "broken invariant: type of {:?}", self.old.dfg.inst(inst));
        let free = split.ty.is_bool() || split.ty.is_ptr();
        let split = if free { split } else { self.regroup(&split, self.caps.part_lanes(split.ty)) };
        self.values[result] = Some(split);
    }

    /// Appends an instruction with one result to the new function.
    fn emit(&mut self, op: Opcode, args: &[Value], imm: Imm, ty: Type) -> Value {
        self.at().value(op, args, imm, ty)
    }

    /// A constant of any type, in parts.
    fn constant(&mut self, data: &ConstData) -> SplitValue {
        let (ty, chunk) = (data.ty, self.caps.part_lanes(data.ty));
        let part_type = self.part_type(ty.elem, chunk);
        let parts = (0..ty.lanes().div_ceil(chunk))
            .map(|part| {
                let part_data = match data.as_splat() {
                    Some(bits) => ConstData::splat(part_type, bits),
                    None => {
                        // Unused lanes repeat the last lane.
                        let lane = |i: u32| data.lane((part * chunk + i).min(ty.lanes() - 1));
                        ConstData::new(part_type, &(0..chunk).map(lane).collect::<Vec<_>>())
                    }
                };
                self.at().constant(part_data)
            })
            .collect();
        SplitValue { ty, chunk, parts }
    }

    /// A value with the same bits in every lane.
    fn splat_bits(&mut self, ty: Type, bits: u64) -> SplitValue {
        self.constant(&ConstData::splat(ty, bits))
    }

    /// Allocates a stack slot.
    fn stack(&mut self, size: u64, align: u32) -> Slot {
        self.new.slots.push(SlotData { size, align })
    }

    /// The launch context.
    fn context(&self) -> Value {
        self.context.expand().unwrap_or_else(|| unreachable!("broken invariant: looped function without a context"))
    }

    fn instruction(&mut self, inst: Inst) {
        let op = self.old.dfg.inst(inst).op;
        match op.class() {
            OpClass::Leaf(op) => self.leaf(op, inst),
            OpClass::Int(_) | OpClass::Float(_) => self.lanewise_inst(inst),
            OpClass::Convert(ConvertOp::Bitcast) => self.bitcast_inst(inst),
            OpClass::Convert(_) => self.lanewise_inst(inst),
            OpClass::Lane(op) => self.lane_op(op, inst),
            OpClass::Address(AddressOp::Addr) => self.addr(inst),
            OpClass::Address(AddressOp::InSpace) => self.in_space(inst),
            OpClass::Memory(op) => self.memory_op(op, inst),
            OpClass::Sync(SyncOp::Deadlock) => self.copied(inst),
            OpClass::Call(CallOp::LibCall) => self.lanewise_inst(inst),
            OpClass::Call(CallOp::Printf) => self.printf(inst),
            OpClass::Call(CallOp::Request) => self.request(inst),
            OpClass::Call(CallOp::Clock) => {
                let time = self.emit(op, &[], Imm::None, Type::I64);
                self.set(inst, SplitValue::scalar(Type::I64, time));
            }
            OpClass::Call(CallOp::Check) => {
                let args: Vec<Value> = self.operands(inst).iter().map(SplitValue::only).collect();
                let allowed = self.emit(op, &args, Imm::None, Type::I32);
                self.set(inst, SplitValue::scalar(Type::I32, allowed));
            }
            OpClass::Call(CallOp::Call) => {
                let data = self.old.dfg.inst(inst);
                let (record, callee) = (self.get_scalar(data.args[0]), data.imm.clone());
                self.at().inst(op, &[record], callee, &[]);
            }
            OpClass::Terminator(_) => self.terminator(inst),
            OpClass::Sync(SyncOp::Barrier | SyncOp::NamedBarrier | SyncOp::Yield)
            | OpClass::Image(_)
            | OpClass::Query(_)
            | OpClass::Collective(_) => not_looped(op),
        }
    }

    fn leaf(&mut self, op: LeafOp, inst: Inst) {
        let old = self.old;
        let data = old.dfg.inst(inst);
        let ty = old.dfg.ty(old.dfg.result(inst));
        let split = match op {
            LeafOp::Const => {
                let Imm::Const(id) = data.imm else { unreachable!("broken invariant: const without a constant") };
                self.constant(old.dfg.constant(id))
            }
            LeafOp::Undef => self.splat_bits(ty, 0),
            LeafOp::GlobalAddr => {
                let value = self.emit(data.op, &[], data.imm.clone(), ty);
                SplitValue::scalar(ty, value)
            }
            LeafOp::Arg | LeafOp::ArgAddr | LeafOp::SlotAddr => not_looped(data.op),
        };
        self.set(inst, split);
    }

    fn lanewise_inst(&mut self, inst: Inst) {
        let old = self.old;
        let data = old.dfg.inst(inst);
        let args = self.operands(inst);
        let ty = old.dfg.ty(old.dfg.result(inst));
        let split = self.lanewise(data.op, &data.imm, &args, ty);
        self.set(inst, split);
    }

    fn lane_op(&mut self, op: LaneOp, inst: Inst) {
        match op {
            LaneOp::Select => self.select_inst(inst),
            LaneOp::Splat => self.splat_inst(inst),
            LaneOp::Extract => self.extract_inst(inst),
            LaneOp::Insert => self.insert_inst(inst),
            LaneOp::ExtractDyn => self.extract_dyn(inst),
            LaneOp::InsertDyn => self.insert_dyn(inst),
            LaneOp::Lookup => self.lookup(inst),
            LaneOp::Shuffle => self.shuffle_inst(inst),
            LaneOp::Vec => self.vec_inst(inst),
            LaneOp::Any | LaneOp::All => self.mask_test(inst),
            LaneOp::MaskBits => self.mask_bits(inst),
            LaneOp::Reduce => self.reduce(inst),
        }
    }

    fn memory_op(&mut self, op: MemoryOp, inst: Inst) {
        match op {
            MemoryOp::Load => self.load(inst),
            MemoryOp::Store => self.store(inst),
            MemoryOp::MaskedLoad => self.masked_load(inst),
            MemoryOp::MaskedStore => self.masked_store(inst),
            MemoryOp::Gather => self.gather(inst),
            MemoryOp::Scatter => self.scatter(inst),
            MemoryOp::Memcpy => self.memcpy(inst),
            MemoryOp::Memset => self.memset(inst),
            MemoryOp::AtomicLoad => self.atomic_load(inst),
            MemoryOp::AtomicStore => self.atomic_store(inst),
            MemoryOp::AtomicRmw => self.atomic_rmw(inst),
            MemoryOp::AtomicCmpxchg => self.atomic_cmpxchg(inst),
            MemoryOp::Fence => self.copied(inst),
        }
    }

    /// Copies an instruction without operands and results.
    fn copied(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        self.at().inst(data.op, &[], data.imm.clone(), &[]);
    }
}

/// Called for an op that does not occur in looped functions.
fn not_looped(op: Opcode) -> ! {
    unreachable!("broken invariant: {} in a looped function", op.info().name)
}

/// Whether backends with vectors support a lane op: all except those that legalization replaces.
pub(super) fn native_lane(op: LaneOp) -> bool {
    match op {
        LaneOp::Select
        | LaneOp::Splat
        | LaneOp::Extract
        | LaneOp::Insert
        | LaneOp::Shuffle
        | LaneOp::Vec
        | LaneOp::Any
        | LaneOp::All
        | LaneOp::MaskBits => true,
        LaneOp::ExtractDyn | LaneOp::InsertDyn | LaneOp::Lookup | LaneOp::Reduce => false,
    }
}

/// The immediate of arithmetic without flags.
fn without_flags(op: Opcode) -> Imm {
    if matches!(op.class(), OpClass::Float(_)) { Imm::Fp(FpFlags::empty()) } else { Imm::None }
}

/// Whether backends with vectors support an op without operands.
pub(super) fn native_leaf(op: LeafOp) -> bool {
    match op {
        LeafOp::Const | LeafOp::Undef => true,
        LeafOp::Arg | LeafOp::ArgAddr | LeafOp::SlotAddr | LeafOp::GlobalAddr => false,
    }
}
