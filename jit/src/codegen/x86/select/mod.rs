//! Instruction selection: legal functions as instructions over virtual registers.
//!
//! One [`Selector`] per function walks the blocks in order; the ops are split by class into files, each with an exhaustive match
//! of its own ops; `scan.rs` asks what concerns the whole function, `build.rs` makes instructions, `values.rs` has constants and
//! registers.
//!
//! - Integers, truth values (0 or 1) and addresses are in scalar registers. Of those of 8 and 16 bits only the low bits count: who
//!   depends on the others extends first.
//! - Floats and vectors are in vector registers, from the first lane on; nothing depends on what is above the last lane.
//! - Masks have a bit per lane in a mask register; nothing depends on the bits above.
//! - Constants are made where they are used, mostly as an operand in memory that stands for all lanes. Addresses that only
//!   accesses use become part of those.
//!
//! Deliberately not here: how instructions look in memory (`encode.rs`), and which registers they use (`regalloc2`).

mod build;
mod call;
mod control;
mod convert;
mod estimate;
mod float;
mod int;
mod lanes;
mod memory;
mod scan;
mod values;
mod vectors;

pub(super) use vectors::native as native_int;

use clift_kir::analysis::UseCounts;
use clift_kir::ops::{AddressOp, OpClass, SyncOp};
use clift_kir::{Block, Elem, Function, Imm, Inst, Loc, Slot, Type, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use regalloc2::{Operand, RegClass, VReg};
use rustc_hash::FxHashMap;

use super::Level;
use super::code::{self, ARGUMENTS, GPR, Kind, MASK, MachBlock, MachFunc, ZMM};
use super::encode::{Row, Size};
use super::pool::Pool;
use super::table as t;
use crate::codegen::data::ProgramData;
use crate::codegen::not_legal;

/// A function over virtual registers.
pub(super) struct Selected {
    pub(super) code: MachFunc,
    pub(super) pool: Pool,
    /// Bytes of the kernel's variables on the stack.
    pub(super) variables: u32,
}

/// Selects the instructions of a legal function.
pub(super) fn run(func: &Function, data: &ProgramData, level: Level) -> Selected {
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
        uses: UseCounts::new(func),
        needed: scan::needed(func),
        homes: SecondaryMap::new(),
        block: Block::from_u32(0),
        preds: SecondaryMap::new(),
        addresses: scan::addresses(func),
        fused: scan::fused(func),
        pool: Pool::default(),
        slots: FxHashMap::default(),
        variables: 0,
        loc: Loc::default(),
    };
    selector.function();
    let Selector { mut blocks, order, vregs, pool, variables, .. } = selector;
    code::sweep(&mut blocks, &order, vregs);
    Selected { code: MachFunc::new(blocks, &order, vregs), pool, variables }
}

/// An address as accesses take it.
#[derive(Clone, Copy, Debug)]
struct Address {
    base: Start,
    index: Option<(VReg, u8)>,
    disp: i32,
}

/// Where an address begins.
#[derive(Clone, Copy, Debug)]
enum Start {
    Register(VReg),
    /// A byte of the kernel's variables on the stack.
    Stack(u32),
}

/// What became of a value.
#[derive(Clone, Copy, Debug)]
enum Held {
    Register(VReg),
    /// Part of the accesses that use it.
    Address(Address),
}

/// The last operand of an instruction.
#[derive(Clone, Copy, Debug)]
enum From {
    Register(VReg),
    Memory(Address),
    /// A constant as it stands in memory.
    Bytes(super::pool::Constant),
    /// A constant of one lane, for all.
    Lane(super::pool::Constant),
    /// Where the result is: the instruction has one operand, which it replaces.
    Result,
}

/// What an instruction that is a row of the table has besides row and size.
#[derive(Clone, Copy, Debug, Default)]
struct More {
    /// The operand that the result replaces.
    tied: Option<VReg>,
    second: Option<VReg>,
    mask: Option<VReg>,
    /// Lanes outside the mask become zero.
    zeroing: bool,
    immediate: Option<(i64, u8)>,
}

pub(super) struct Selector<'a> {
    legal: &'a Function,
    data: &'a ProgramData,
    /// What the machine has.
    level: Level,
    blocks: Vec<MachBlock>,
    /// The blocks as they follow each other.
    order: Vec<usize>,
    /// The block that instructions are appended to.
    current: usize,
    vregs: usize,
    values: SecondaryMap<Value, Option<Held>>,
    targets: SecondaryMap<Block, usize>,
    uses: UseCounts,
    /// Instructions that something depends on.
    needed: EntitySet<Inst>,
    homes: SecondaryMap<Value, Option<Block>>,
    /// The block being translated.
    block: Block,
    /// How many edges lead to each block.
    preds: SecondaryMap<Block, u32>,
    /// Addresses that only accesses use.
    addresses: EntitySet<Value>,
    /// Conditions that the branch behind them alone needs.
    fused: EntitySet<Value>,
    pool: Pool,
    slots: FxHashMap<Slot, u32>,
    variables: u32,
    loc: Loc,
}

/// The class of registers that a type's values are in.
fn class(ty: Type) -> RegClass {
    match ty.elem {
        Elem::B1 if ty.is_vector() => MASK,
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) if !ty.is_vector() => GPR,
        Elem::F16 => unreachable!("broken invariant: f16 in a legal function"),
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) | Elem::F32 | Elem::F64 => ZMM,
    }
}

/// The size of an instruction on a type's values.
fn size(ty: Type) -> Size {
    match class(ty) {
        GPR => Size::scalar(ty.elem.bits()),
        _ => Size::vector(ty.lanes() * ty.elem.bits()),
    }
}

impl<'a> Selector<'a> {
    fn function(&mut self) {
        let legal = self.legal;
        for &block in legal.layout.blocks() {
            self.targets[block] = self.blocks.len();
            let params = legal.dfg.params(block).iter();
            let params: Vec<VReg> = params.map(|&param| self.fresh(class(legal.dfg.ty(param)))).collect();
            for (&param, &register) in legal.dfg.params(block).iter().zip(&params) {
                self.values[param] = Some(Held::Register(register));
                self.homes[param] = Some(block);
            }
            self.blocks.push(MachBlock { params, cold: legal.layout.is_cold(block), ..MachBlock::default() });
            if let Some(last) = legal.layout.terminator(block) {
                for target in legal.dfg.targets(last) {
                    self.preds[target.block] += 1;
                }
            }
        }
        for (number, &block) in legal.layout.blocks().iter().enumerate() {
            self.block = block;
            self.current = self.targets[block];
            self.order.push(self.current);
            if number == 0 {
                // The allocator takes no parameters of the entry: they are what its first instruction gives.
                let params = std::mem::take(&mut self.blocks[self.current].params);
                let operands =
                    params.iter().zip(ARGUMENTS).map(|(&param, register)| Operand::reg_fixed_def(param, register));
                let operands = operands.collect();
                self.push(Kind::Arguments, operands);
            }
            for &inst in legal.layout.insts(block) {
                if self.needed.contains(inst) {
                    self.loc = legal.locs[inst];
                    self.inst(inst);
                }
            }
        }
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
            | OpClass::Sync(SyncOp::Barrier | SyncOp::NamedBarrier)
            | OpClass::Image(_)
            | OpClass::Query(_)
            | OpClass::Collective(_) => not_legal(op),
        }
    }
}

/// No digit: the register field has an operand.
const NO_DIGIT: u8 = u8::MAX;

/// Operations of a scalar and an immediate, by their digit.
#[derive(Clone, Copy, Debug)]
enum Immediate {
    Or = 1,
    And = 4,
    Xor = 6,
}

/// The broadcast of one lane of so many bytes in memory.
fn broadcast_row(bytes: usize) -> Row {
    match bytes {
        1 => t::VPBROADCASTB,
        2 => t::VPBROADCASTW,
        4 => t::VPBROADCASTD,
        _ => t::VPBROADCASTQ,
    }
}

/// The immediate is not what the op's row asks for.
fn wrong_imm(imm: &Imm) -> ! {
    unreachable!("broken invariant: immediate {imm:?}")
}
