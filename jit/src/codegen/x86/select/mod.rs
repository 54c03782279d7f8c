//! Instruction selection: translates legal functions to instructions over virtual registers.
//!
//! One [`Selector`] per function visits the blocks in order. The ops are split by class into files, each with an exhaustive match
//! over its own ops. `scan.rs` has analyses of the whole function, `build.rs` constructs instructions, `values.rs` has constants
//! and registers. Instructions that do the work of several ops are in `loads.rs`, `masks.rs`, `ternary.rs` and `products.rs`;
//! `estimate.rs` has divisions that become several instructions.
//!
//! - Integers, Booleans (0 or 1) and addresses are in scalar registers. Only the low bits of those of 8 and 16 bits are defined;
//!   an instruction that depends on more extends its operand first.
//! - Floats and vectors are in vector registers, starting at the first lane. Nothing depends on the lanes above the last one.
//! - Masks have one bit per lane in a mask register, or without AVX-512 are vectors (`avx2`). Nothing depends on what is above.
//! - Without AVX-512, the rows of vector instructions are taken in their VEX form (`push_row`).
//! - Constants are materialized where they are used, mostly as a broadcast operand in memory. Addresses that only accesses use
//!   are folded into the accesses.
//! - Scalars computed from lanes are selected at their first use (`on_demand.rs`), next values of counters after the counter's
//!   last one (`sink.rs`).
//! - Comparisons that only branches and choices of scalars use set the flags for each of them (`scan.rs`).
//!
//! Deliberately not here: the encoding of instructions (`encode.rs`), and the assignment of registers (`regalloc2`).

mod avx2;
mod build;
mod call;
mod control;
mod convert;
mod estimate;
mod float;
mod int;
mod lanes;
mod loads;
mod masks;
mod memory;
mod on_demand;
mod products;
mod scan;
mod sink;
mod ternary;
mod values;
mod vectors;

pub(super) use avx2::varying_shift;
pub(super) use vectors::native as native_int;

use clift_kir::analysis::UseCounts;
use clift_kir::ops::{AddressOp, OpClass, SyncOp};
use clift_kir::{Block, Elem, Function, Imm, Inst, Loc, Slot, Type, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use regalloc2::{Operand, RegClass, VReg};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Level;
use super::code::{self, ARGUMENTS, Cond, GPR, InstKind, MASK, MachBlock, MachFunc, ZMM};
use super::encode::{InstRow, OperandSize};
use super::loop_values;
use super::pool::ConstantPool;
use super::table as t;
use crate::codegen::data::ProgramData;
use crate::codegen::not_legal;

/// A function over virtual registers.
pub(super) struct Selected {
    pub(super) code: MachFunc,
    pub(super) pool: ConstantPool,
    /// Bytes of the kernel's variables on the stack.
    pub(super) variables: u32,
}

/// Selects the instructions of a legal function.
pub(super) fn run(func: &Function, data: &ProgramData, level: Level) -> Selected {
    let uses = UseCounts::new(func);
    let mut selector = Selector {
        legal: func,
        data,
        level,
        blocks: Vec::new(),
        order: Vec::new(),
        current: 0,
        vregs: 0,
        values: SecondaryMap::new(),
        targets: SecondaryMap::new(),
        needed: scan::needed(func),
        homes: SecondaryMap::new(),
        block: Block::from_u32(0),
        preds: SecondaryMap::new(),
        addresses: scan::addresses(func),
        fused: scan::fused(func, &uses),
        taken_apart: scan::taken_apart(func),
        deferred: on_demand::deferred(func, &uses),
        cones: if level == Level::Avx2 { FxHashMap::default() } else { ternary::cones(func, &uses) },
        uses,
        pieces: FxHashMap::default(),
        masks: avx2::Masks::default(),
        high_multiplies: products::high_multiplies(func),
        products: FxHashMap::default(),
        scaled: FxHashMap::default(),
        loads: FxHashMap::default(),
        writes: 0,
        kept: Vec::new(),
        flags: None,
        pool: ConstantPool::default(),
        slots: FxHashMap::default(),
        variables: 0,
        loc: Loc::default(),
    };
    selector.function();
    let Selector { mut blocks, order, vregs, kept, pool, variables, .. } = selector;
    code::remove_dead_instructions(&mut blocks, &order, vregs, &kept);
    let mut code = MachFunc::new(blocks, &order, vregs, level.vector_bytes());
    loop_values::split_at_loops(&mut code, level);
    Selected { code, pool, variables }
}

/// An address in the form of a memory operand.
#[derive(Clone, Copy, Debug)]
struct MemAddress {
    base: AddressBase,
    index: Option<(VReg, u8)>,
    disp: i32,
}

/// The base of an address.
#[derive(Clone, Copy, Debug)]
enum AddressBase {
    Register(VReg),
    /// An offset into the stack memory of the kernel's variables.
    Stack(u32),
}

/// The location of a value.
#[derive(Clone, Copy, Debug)]
enum ValueLocation {
    Register(VReg),
    /// An address that is folded into the accesses that use it.
    Address(MemAddress),
}

/// The flags after some instruction.
#[derive(Clone, Copy, Debug)]
struct KnownFlags {
    /// The Boolean that they were set by, and the condition on them that holds if it is true.
    by: Value,
    cond: Cond,
    /// The block, and how many instructions it had when they were set.
    block: usize,
    end: usize,
}

/// The register or memory operand of an instruction.
#[derive(Clone, Copy, Debug)]
enum RegMem {
    Register(VReg),
    Memory(MemAddress),
    /// A lane in memory, which is broadcast.
    Broadcast(MemAddress),
    /// A constant in the pool.
    Bytes(super::pool::PoolOffset),
    /// A constant of one lane in the pool, which is broadcast.
    Lane(super::pool::PoolOffset),
    /// The register of the result: the instruction overwrites its only operand.
    Result,
}

/// The optional operands of an instruction that is a row of the table.
#[derive(Clone, Copy, Debug, Default)]
struct ExtraOperands {
    /// The operand that the result overwrites.
    tied: Option<VReg>,
    second: Option<VReg>,
    mask: Option<VReg>,
    /// Whether lanes outside the mask become zero.
    zeroing: bool,
    immediate: Option<(i64, u8)>,
}

pub(super) struct Selector<'a> {
    legal: &'a Function,
    data: &'a ProgramData,
    /// The vector extensions of the machine.
    level: Level,
    blocks: Vec<MachBlock>,
    /// The order of the blocks.
    order: Vec<usize>,
    /// The block that instructions are appended to.
    current: usize,
    vregs: usize,
    values: SecondaryMap<Value, Option<ValueLocation>>,
    targets: SecondaryMap<Block, usize>,
    uses: UseCounts,
    /// Instructions that have an effect, and those they depend on.
    needed: EntitySet<Inst>,
    homes: SecondaryMap<Value, Option<Block>>,
    /// The block being translated.
    block: Block,
    /// The number of edges to each block.
    preds: SecondaryMap<Block, u32>,
    /// Addresses that only accesses use.
    addresses: EntitySet<Value>,
    /// Conditions that are used only by the branch that directly follows them.
    fused: EntitySet<Value>,
    /// Vectors many of whose lanes a block extracts.
    taken_apart: FxHashSet<(Block, Value)>,
    /// Instructions that are selected when their results are first asked for.
    deferred: EntitySet<Inst>,
    /// Bitwise ops that absorb others, by result.
    cones: FxHashMap<Value, ternary::Cone>,
    /// Masks that are vectors.
    masks: avx2::Masks,
    /// The pieces of those that the current block has extracted so far.
    pieces: FxHashMap<(Value, lanes::Piece), VReg>,
    /// The factors of which blocks compute upper halves of products.
    high_multiplies: FxHashSet<products::Factors>,
    /// Products that the current block has computed so far; `true` for signed ones.
    products: FxHashMap<(products::Factors, bool), products::Products>,
    /// Indices that the current block has multiplied by the size of an element so far: which index, and by what.
    scaled: FxHashMap<(VReg, u64), VReg>,
    /// The loads of the current block whose values have one use.
    loads: FxHashMap<Value, loads::PlainLoad>,
    /// The instructions so far that may write memory.
    writes: u32,
    /// Registers that volatile loads define; the loads are executed even if nothing uses them.
    kept: Vec<VReg>,
    /// What the flags say, as long as the instructions that follow keep them.
    flags: Option<KnownFlags>,
    pool: ConstantPool,
    slots: FxHashMap<Slot, u32>,
    variables: u32,
    loc: Loc,
}

/// The register class for a type.
fn class(ty: Type) -> RegClass {
    match ty.elem {
        Elem::B1 if ty.is_vector() => MASK,
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) if !ty.is_vector() => GPR,
        // Halves occur only as operands and results of their arithmetic and of conversions.
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => ZMM,
        Elem::F16 | Elem::F32 | Elem::F64 => ZMM,
    }
}

/// The operand size of instructions for a type.
fn size(ty: Type) -> OperandSize {
    if let GPR = class(ty) {
        OperandSize::scalar(ty.elem.bits())
    } else {
        OperandSize::vector(ty.lanes() * ty.elem.bits())
    }
}

impl<'a> Selector<'a> {
    fn function(&mut self) {
        let legal = self.legal;
        for &block in legal.layout.blocks() {
            self.targets[block] = self.blocks.len();
            let params = legal.dfg.params(block).iter();
            let params: Vec<VReg> = params.map(|&param| self.param(legal.dfg.ty(param))).collect();
            for (&param, &register) in legal.dfg.params(block).iter().zip(&params) {
                self.values[param] = Some(ValueLocation::Register(register));
                self.homes[param] = Some(block);
            }
            self.blocks.push(MachBlock { params, cold: legal.layout.is_cold(block), ..MachBlock::default() });
            if let Some(last) = legal.layout.terminator(block) {
                for target in legal.dfg.targets(last) {
                    self.preds[target.block] += 1;
                }
            }
        }
        let order = sink::order(legal);
        for (number, &block) in legal.layout.blocks().iter().enumerate() {
            self.block = block;
            self.pieces.clear();
            self.masks.enter_block();
            self.products.clear();
            self.scaled.clear();
            self.loads.clear();
            self.current = self.targets[block];
            self.order.push(self.current);
            if number == 0 {
                // The allocator does not support parameters of the entry block; its first instruction defines them.
                let params = std::mem::take(&mut self.blocks[self.current].params);
                let operands =
                    params.iter().zip(ARGUMENTS).map(|(&param, register)| Operand::reg_fixed_def(param, register));
                let operands = operands.collect();
                self.push(InstKind::Arguments, operands);
            }
            for &inst in &order[block] {
                if self.needed.contains(inst) && !self.deferred.contains(inst) {
                    self.loc = legal.locs[inst];
                    self.inst(inst);
                    self.count_write(legal.dfg.inst(inst).op);
                }
            }
        }
    }

    /// A register for a block parameter.
    fn param(&mut self, ty: Type) -> VReg {
        let register = self.fresh(self.register_class(ty));
        if self.masks_are_vectors() && class(ty) == MASK {
            self.masks.define(register, avx2::param_bytes(ty.lanes()));
        }
        register
    }

    fn inst(&mut self, inst: Inst) {
        let op = self.legal.dfg.inst(inst).op;
        match op.class() {
            OpClass::Leaf(op) => self.leaf_op(op, inst),
            OpClass::Int(op) => self.int_op(op, inst),
            OpClass::Float(op) => self.float_op(op, inst),
            OpClass::Convert(op) => self.convert_op(op, inst),
            OpClass::Lane(op) => self.lane_op(op, inst),
            OpClass::Address(AddressOp::Addr) => {
                let address = self.address_inst(inst);
                self.set_address(inst, address);
            }
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

/// The register field has an operand, not an opcode extension.
const NO_DIGIT: u8 = u8::MAX;

/// Operations of a scalar and an immediate, with their opcode extensions.
#[derive(Clone, Copy, Debug)]
enum Immediate {
    Or = 1,
    And = 4,
    Xor = 6,
}

/// The broadcast of a lane of a given size in bytes from memory.
fn broadcast_row(bytes: usize) -> InstRow {
    match bytes {
        1 => t::VPBROADCASTB,
        2 => t::VPBROADCASTW,
        4 => t::VPBROADCASTD,
        _ => t::VPBROADCASTQ,
    }
}

/// Called when an immediate does not have the form that the op requires.
fn wrong_imm(imm: &Imm) -> ! {
    unreachable!("broken invariant: immediate {imm:?}")
}
