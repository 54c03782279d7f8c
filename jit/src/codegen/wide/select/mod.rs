//! Instruction selection: legal functions as instructions over virtual registers.
//!
//! One [`Selector`] per function walks the blocks in order; the ops are split by class into files, each with an exhaustive match
//! of its own ops.
//!
//! - Integers, truth values (0 or 1) and addresses are in scalar registers. Of those of 8 and 16 bits only the low bits count: who
//!   depends on the others extends first.
//! - Floats and vectors are in vector registers, from the first lane on; nothing depends on what is above the last lane.
//! - Masks have a bit per lane in a mask register; nothing depends on the bits above.
//! - Constants are made where they are used, mostly as an operand in memory that stands for all lanes. Addresses that only
//!   accesses use become part of those.
//!
//! Deliberately not here: how instructions look in memory (`encode.rs`), and which registers they use (`regalloc2`).

mod call;
mod control;
mod convert;
mod float;
mod int;
mod lanes;
mod memory;

pub(super) use int::native as native_int;

use clift_kir::analysis::UseCounts;
use clift_kir::dfg::ConstData;
use clift_kir::{Block, Elem, Function, Imm, Inst, Loc, Opcode, Slot, Type, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use regalloc2::{Operand, PReg, PRegSet, RegClass, VReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::code::{ARGUMENTS, Base, Cond, Field, GPR, Kind, MASK, MachBlock, MachFunc, MachInst, Plain, Source, ZMM};
use super::encode::{Row, Size};
use super::pool::Pool;
use super::table as t;
use crate::codegen::data::ProgramData;

/// A function over virtual registers.
pub(super) struct Selected {
    pub(super) code: MachFunc,
    pub(super) pool: Pool,
    /// Bytes of the kernel's variables on the stack.
    pub(super) variables: u32,
}

/// Selects the instructions of a legal function.
pub(super) fn run(func: &Function, data: &ProgramData) -> Selected {
    let mut selector = Selector {
        legal: func,
        data,
        blocks: Vec::new(),
        order: Vec::new(),
        current: 0,
        vregs: 0,
        values: SecondaryMap::new(),
        targets: SecondaryMap::new(),
        uses: UseCounts::new(func),
        needed: needed(func),
        homes: SecondaryMap::new(),
        block: Block::from_u32(0),
        preds: SecondaryMap::new(),
        addresses: addresses(func),
        fused: fused(func),
        pool: Pool::default(),
        slots: FxHashMap::default(),
        variables: 0,
        loc: Loc::default(),
    };
    selector.function();
    let Selector { blocks, order, vregs, pool, variables, .. } = selector;
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

/// Instructions that have an effect, and those that they depend on.
fn needed(func: &Function) -> EntitySet<Inst> {
    let mut found: EntitySet<Inst> = EntitySet::new();
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let mut work: Vec<Inst> = insts.copied().filter(|&inst| !func.dfg.inst(inst).op.is_pure()).collect();
    found.extend(work.iter().copied());
    while let Some(inst) = work.pop() {
        func.dfg.for_each_use(inst, |value| {
            if let Some(def) = func.dfg.def_inst(value)
                && found.insert(def)
            {
                work.push(def);
            }
        });
    }
    found
}

/// Addresses that are only used by accesses of any block.
fn addresses(func: &Function) -> EntitySet<Value> {
    let mut found = EntitySet::new();
    let mut others: EntitySet<Value> = EntitySet::new();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            if matches!(data.op, Opcode::Addr | Opcode::SlotAddr) {
                found.insert(func.dfg.result(inst));
            }
            let accessed = match data.op {
                Opcode::Load | Opcode::Store | Opcode::MaskedLoad | Opcode::MaskedStore => Some(data.args[0]),
                _ => None,
            };
            let mut first = true;
            func.dfg.for_each_use(inst, |value| {
                if !(first && accessed == Some(value)) {
                    others.insert(value);
                }
                first = false;
            });
        }
    }
    for value in others.iter().collect::<Vec<_>>() {
        found.remove(value);
    }
    found
}

/// Comparisons and tests that stand just before the branch that alone uses them.
fn fused(func: &Function) -> EntitySet<Value> {
    let uses = UseCounts::new(func);
    let mut found = EntitySet::new();
    for &block in func.layout.blocks() {
        let [.., before, last] = func.layout.insts(block) else { continue };
        let (test, branch) = (func.dfg.inst(*before), func.dfg.inst(*last));
        let compares = match test.op {
            Opcode::Icmp => !func.dfg.ty(test.args[0]).is_vector() && !func.dfg.ty(test.args[0]).is_bool(),
            Opcode::Any | Opcode::All => true,
            _ => false,
        };
        if branch.op == Opcode::Branch && compares && branch.args[0] == func.dfg.result(*before) {
            let value = branch.args[0];
            let mut count = 0;
            func.dfg.for_each_use(*last, |used| count += u32::from(used == value));
            if uses.get(value) == 1 && count == 1 {
                found.insert(value);
            }
        }
    }
    found
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
            self.blocks.push(MachBlock { params, cold: legal.layout.is_rare(block), ..MachBlock::default() });
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

    // -- registers and instructions --

    fn fresh(&mut self, class: RegClass) -> VReg {
        let register = VReg::new(self.vregs, class);
        self.vregs += 1;
        register
    }

    fn push(&mut self, kind: Kind, operands: SmallVec<[Operand; 4]>) {
        self.push_clobbering(kind, operands, PRegSet::empty());
    }

    fn push_clobbering(&mut self, kind: Kind, operands: SmallVec<[Operand; 4]>, clobbers: PRegSet) {
        let loc = self.loc;
        self.blocks[self.current].insts.push(MachInst { kind, operands, clobbers, loc });
    }

    /// Appends an instruction that is a row of the table, with a result of a class or none; `reg` is an operand in the register
    /// field that is no result.
    #[allow(clippy::too_many_arguments, reason = "an instruction's fields, all at one place")]
    fn plain(
        &mut self,
        row: Row,
        size: Size,
        result: Option<VReg>,
        reg: Option<VReg>,
        digit: u8,
        source: From,
        more: More,
    ) {
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        let mut add = |operand: Operand| {
            operands.push(operand);
            operands.len() as u8 - 1
        };
        let mut field = Field::Digit(digit);
        if let Some(tied) = more.tied {
            add(Operand::reg_use(tied));
        }
        // A digit takes the register field; the result is then the second register, or the tied one in the last field.
        let mut result_at = None;
        if let Some(result) = result {
            let operand =
                if more.tied.is_some() { Operand::reg_reuse_def(result, 0) } else { Operand::reg_def(result) };
            result_at = Some(add(operand));
        }
        if let Some(reg) = reg {
            field = Field::Operand(add(Operand::reg_use(reg)));
        }
        let mut second = more.second.map(|register| add(Operand::reg_use(register)));
        let mask = more.mask.map(|register| add(Operand::reg_use(register)));
        let mut broadcast = false;
        let mut source = match source {
            From::Register(register) => Source::Operand(add(Operand::reg_use(register))),
            From::Memory(address) => {
                let base = match address.base {
                    Start::Register(base) => Base::Operand(add(Operand::reg_use(base))),
                    Start::Stack(offset) => Base::Stack(offset),
                };
                let index = address.index.map(|(index, scale)| (add(Operand::reg_use(index)), scale));
                Source::Memory(base, index, address.disp)
            }
            From::Bytes(constant) => Source::Constant(constant),
            From::Lane(constant) => {
                broadcast = true;
                Source::Constant(constant)
            }
            From::Result => Source::Operand(result_at.unwrap_or(0)),
        };
        match (result_at, reg.is_some(), digit) {
            (None, ..) => {}
            // The result is where the operand in the register field is not.
            (Some(at), true, _) => source = Source::Operand(at),
            (Some(at), false, NO_DIGIT) => field = Field::Operand(at),
            (Some(at), false, _) if row.format == super::encode::Format::Evex => second = Some(at),
            (Some(at), false, _) => source = Source::Operand(at),
        }
        let More { zeroing, immediate, .. } = more;
        self.push(
            Kind::Plain(Plain {
                row,
                size,
                reg: field,
                second,
                source,
                mask,
                zeroing,
                broadcast,
                immediate,
                locked: false,
            }),
            operands,
        );
    }

    /// An instruction with a result in the register field.
    fn make(&mut self, class: RegClass, row: Row, size: Size, source: From, more: More) -> VReg {
        let result = self.fresh(class);
        self.plain(row, size, Some(result), None, NO_DIGIT, source, more);
        result
    }

    /// A vector instruction of one operand.
    fn v1(&mut self, row: Row, size: Size, source: From) -> VReg {
        self.make(ZMM, row, size, source, More::default())
    }

    /// A vector instruction of two operands.
    fn v2(&mut self, row: Row, size: Size, a: VReg, b: From) -> VReg {
        self.make(ZMM, row, size, b, More { second: Some(a), ..More::default() })
    }

    /// A vector instruction of two operands and an immediate byte.
    fn v2_imm(&mut self, row: Row, size: Size, a: VReg, b: From, immediate: i64) -> VReg {
        self.make(ZMM, row, size, b, More { second: Some(a), immediate: Some((immediate, 1)), ..More::default() })
    }

    /// A vector instruction of one operand and an immediate byte.
    fn v1_imm(&mut self, row: Row, size: Size, source: From, immediate: i64) -> VReg {
        self.make(ZMM, row, size, source, More { immediate: Some((immediate, 1)), ..More::default() })
    }

    /// A shift of vectors by a number, which a digit tells from others.
    fn shifted(&mut self, row: Row, digit: u8, size: Size, a: VReg, count: i64) -> VReg {
        let result = self.fresh(ZMM);
        let more = More { immediate: Some((count, 1)), ..More::default() };
        self.plain(row, size, Some(result), None, digit, From::Register(a), more);
        result
    }

    /// A vector instruction whose result replaces its first operand.
    fn v3(&mut self, row: Row, size: Size, tied: VReg, a: VReg, b: From) -> VReg {
        self.make(ZMM, row, size, b, More { tied: Some(tied), second: Some(a), ..More::default() })
    }

    /// A scalar instruction whose result replaces its first operand.
    fn g2(&mut self, row: Row, size: Size, tied: VReg, b: From) -> VReg {
        self.make(GPR, row, size, b, More { tied: Some(tied), ..More::default() })
    }

    /// A scalar instruction of one operand.
    fn g1(&mut self, row: Row, size: Size, source: From) -> VReg {
        self.make(GPR, row, size, source, More::default())
    }

    /// A scalar instruction that replaces its operand, which a digit tells from others.
    fn g_digit(&mut self, row: Row, digit: u8, size: Size, tied: VReg, immediate: Option<(i64, u8)>) -> VReg {
        let result = self.fresh(GPR);
        let more = More { tied: Some(tied), immediate, ..More::default() };
        self.plain(row, size, Some(result), None, digit, From::Result, more);
        result
    }

    /// A scalar operation with an immediate.
    fn g_imm(&mut self, operation: Immediate, size: Size, a: VReg, value: i64) -> VReg {
        self.g_digit(t::ALU_IMM, operation as u8, size, a, Some((value, 4)))
    }

    /// An instruction of two scalars that only sets flags.
    fn flags(&mut self, row: Row, size: Size, a: VReg, b: From) {
        self.plain(row, size, None, Some(a), NO_DIGIT, b, More::default());
    }

    /// Compares a scalar with a number.
    fn compare_imm(&mut self, size: Size, a: VReg, value: i64) {
        let more = More { immediate: Some((value, 4)), ..More::default() };
        self.plain(t::ALU_IMM, size, None, None, 7, From::Register(a), more);
    }

    /// A truth value from the flags.
    fn truth(&mut self, cond: Cond) -> VReg {
        let byte = self.fresh(GPR);
        let row = Row { opcode: t::SETCC.opcode | cond as u8, ..t::SETCC };
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        operands.push(Operand::reg_def(byte));
        let plain = Plain {
            row,
            size: Size::S8,
            reg: Field::Digit(0),
            second: None,
            source: Source::Operand(0),
            mask: None,
            zeroing: false,
            broadcast: false,
            immediate: None,
            locked: false,
        };
        self.push(Kind::Plain(plain), operands);
        self.g1(t::MOVZX8, Size::S32, From::Register(byte))
    }

    /// `a` where the flags say so, else `b`.
    fn choose(&mut self, cond: Cond, size: Size, a: VReg, b: VReg) -> VReg {
        let row = Row { opcode: t::CMOVCC.opcode | cond as u8, ..t::CMOVCC };
        self.g2(row, size, b, From::Register(a))
    }

    /// Moves a value into the only operand of a given register: nothing for the allocator to know.
    fn fixed_use(register: VReg, place: PReg) -> Operand {
        Operand::reg_fixed_use(register, place)
    }

    // -- values --

    /// The constant that a value is.
    fn constant(&self, value: Value) -> Option<&'a ConstData> {
        self.legal.dfg.as_const(value)
    }

    /// A scalar constant of so few bits that instructions have it as an immediate.
    fn small(&self, value: Value) -> Option<i64> {
        let data = self.constant(value)?;
        if data.ty.is_vector() || !(data.ty.elem.is_int() || data.ty.elem.is_ptr()) {
            return None;
        }
        let bits = data.ty.elem.bits();
        let extended = (data.lane(0) as i64) << (64 - bits) >> (64 - bits);
        i32::try_from(extended).ok().map(i64::from)
    }

    /// A value in a register.
    fn get(&mut self, value: Value) -> VReg {
        if let Some(data) = self.constant(value) {
            return self.materialize(data);
        }
        match self.values[value] {
            Some(Held::Register(register)) => register,
            Some(Held::Address(address)) => self.address_of(address),
            None => unreachable!("broken invariant: {value} used before its definition"),
        }
    }

    /// A value as the last operand of an instruction on vectors (or scalar floats), whose lanes have so many bits.
    fn operand(&mut self, value: Value) -> From {
        let Some(data) = self.constant(value) else { return From::Register(self.get(value)) };
        if data.ty.is_bool() || class(data.ty) != ZMM {
            return From::Register(self.materialize(data));
        }
        let bytes = data.ty.elem.bytes() as usize;
        let whole = |lanes: &mut dyn Iterator<Item = u64>| {
            lanes.flat_map(|bits| bits.to_le_bytes().into_iter().take(bytes)).collect::<Vec<u8>>()
        };
        match data.as_splat() {
            _ if !data.ty.is_vector() => {
                let constant = whole(&mut std::iter::once(data.lane(0)));
                From::Bytes(self.pool.add(&constant))
            }
            Some(bits) if bytes >= 4 => {
                let constant = whole(&mut std::iter::once(bits));
                From::Lane(self.pool.add(&constant))
            }
            _ => {
                let mut constant = whole(&mut (0..data.ty.lanes()).map(|lane| data.lane(lane)));
                // What an instruction reads.
                let size = match size(data.ty) {
                    Size::Y => 32,
                    Size::Z => 64,
                    Size::S8 | Size::S16 | Size::S32 | Size::S64 | Size::X => 16,
                };
                constant.resize(size, 0);
                From::Bytes(self.pool.add(&constant))
            }
        }
    }

    /// A constant in a register.
    fn materialize(&mut self, data: &ConstData) -> VReg {
        let ty = data.ty;
        match class(ty) {
            GPR => self.number(data.lane(0) as i64, ty.elem.bits().max(8)),
            MASK => {
                if data.as_splat() == Some(1) {
                    let result = self.fresh(MASK);
                    self.push(Kind::Ones, SmallVec::from_slice(&[Operand::reg_def(result)]));
                    return result;
                }
                let bits = (0..ty.lanes()).fold(0, |bits, lane| bits | (data.lane(lane) & 1) << lane);
                let bits = self.number(bits as i64, 64);
                self.mask_from_bits(bits)
            }
            _ => self.vector_constant(data),
        }
    }

    fn vector_constant(&mut self, data: &ConstData) -> VReg {
        let ty = data.ty;
        let result = self.fresh(ZMM);
        if data.as_splat() == Some(0) {
            self.push(Kind::Zero, SmallVec::from_slice(&[Operand::reg_def(result)]));
            return result;
        }
        if data.as_splat() == Some(ty.elem.mask()) {
            self.push(Kind::Ones, SmallVec::from_slice(&[Operand::reg_def(result)]));
            return result;
        }
        let bytes = ty.elem.bytes() as usize;
        if let Some(bits) = data.as_splat().filter(|_| ty.is_vector()) {
            let lane = self.pool.add(&bits.to_le_bytes()[..bytes]);
            return self.v1(broadcast_row(bytes), size(ty), From::Bytes(lane));
        }
        let place = if ty.is_vector() {
            let lanes = (0..ty.lanes()).flat_map(|lane| data.lane(lane).to_le_bytes().into_iter().take(bytes));
            let constant: Vec<u8> = lanes.collect();
            let mut constant = constant;
            constant.resize(constant.len().next_power_of_two().max(16), 0);
            From::Bytes(self.pool.add(&constant))
        } else {
            From::Bytes(self.pool.add(&data.lane(0).to_le_bytes()[..bytes]))
        };
        match (ty.is_vector(), bytes) {
            (false, 4) => self.v1(t::VMOVSS, Size::X, place),
            (false, _) => self.v1(t::VMOVSD, Size::X, place),
            (true, _) => self.v1(t::VMOVUPS, size(ty), place),
        }
    }

    /// A vector constant of equal lanes.
    fn lanes_of(&mut self, ty: Type, bits: u64) -> From {
        let bytes = ty.elem.bytes() as usize;
        if bytes >= 4 {
            return From::Lane(self.pool.add(&bits.to_le_bytes()[..bytes]));
        }
        let data = ConstData::splat(ty, bits);
        From::Register(self.vector_constant(&data))
    }

    /// A number in a scalar register.
    fn number(&mut self, value: i64, bits: u32) -> VReg {
        let value = if bits < 64 { value << (64 - bits) >> (64 - bits) } else { value };
        let result = self.fresh(GPR);
        let operands: SmallVec<[Operand; 4]> = SmallVec::from_slice(&[Operand::reg_def(result)]);
        if i32::try_from(value).is_ok() {
            // Of values of 32 bits at most nobody reads the upper half.
            let size = if bits == 64 && value < 0 { Size::S64 } else { Size::S32 };
            let plain = Plain {
                row: t::MOV_IMM,
                size,
                reg: Field::Digit(0),
                second: None,
                source: Source::Operand(0),
                mask: None,
                zeroing: false,
                broadcast: false,
                immediate: Some((value, 4)),
                locked: false,
            };
            self.push(Kind::Plain(plain), operands);
        } else {
            self.push(Kind::Long(value), operands);
        }
        result
    }

    /// A mask from bits in a scalar register.
    fn mask_from_bits(&mut self, bits: VReg) -> VReg {
        self.make(MASK, t::KMOVQ_FROM_SCALAR, Size::X, From::Register(bits), More::default())
    }

    /// The bits of a mask in a scalar register.
    fn bits_of_mask(&mut self, mask: VReg) -> VReg {
        self.make(GPR, t::KMOVQ_TO_SCALAR, Size::X, From::Register(mask), More::default())
    }

    /// Type of an operand.
    fn arg_type(&self, inst: Inst, index: usize) -> Type {
        self.legal.dfg.ty(self.legal.dfg.inst(inst).args[index])
    }

    /// Type of the only result.
    fn result_type(&self, inst: Inst) -> Type {
        self.legal.dfg.ty(self.legal.dfg.result(inst))
    }

    /// Notes the only result of an instruction.
    fn set(&mut self, inst: Inst, register: VReg) {
        let result = self.legal.dfg.result(inst);
        debug_assert_eq!(
            register.class(),
            class(self.legal.dfg.ty(result)),
            "broken invariant: class of {:?}",
            self.legal.dfg.inst(inst)
        );
        self.values[result] = Some(Held::Register(register));
        self.homes[result] = Some(self.block);
    }

    /// Whether the instruction being translated is the last to need a value: the only one, in the same block.
    fn ends_here(&self, value: Value) -> bool {
        self.uses.get(value) == 1 && self.homes[value] == Some(self.block) && self.constant(value).is_none()
    }

    fn inst(&mut self, inst: Inst) {
        use Opcode as O;
        match self.legal.dfg.inst(inst).op {
            // Made where it is used.
            O::Const => {}
            O::Undef
            | O::Splat
            | O::Extract
            | O::Insert
            | O::Shuffle
            | O::Vec
            | O::Select
            | O::Any
            | O::MaskBits
            | O::All
            | O::Bitcast => self.lane_op(inst),
            O::Iadd
            | O::Isub
            | O::Imul
            | O::Umulh
            | O::Smulh
            | O::Udiv
            | O::Sdiv
            | O::Urem
            | O::Srem
            | O::Ineg
            | O::Iabs
            | O::UaddSat
            | O::SaddSat
            | O::UsubSat
            | O::SsubSat
            | O::Umin
            | O::Umax
            | O::Smin
            | O::Smax
            | O::And
            | O::Or
            | O::Xor
            | O::Not
            | O::Shl
            | O::Lshr
            | O::Ashr
            | O::Rotl
            | O::Clz
            | O::Ctz
            | O::Popcnt
            | O::Bitrev
            | O::Icmp => self.int_op(inst),
            O::Fadd
            | O::Fsub
            | O::Fmul
            | O::Fdiv
            | O::Fma
            | O::Fneg
            | O::Fabs
            | O::Fcopysign
            | O::Fmin
            | O::Fmax
            | O::Sqrt
            | O::Ceil
            | O::Floor
            | O::Trunc
            | O::Rint
            | O::Fcmp => self.float_op(inst),
            O::Itrunc
            | O::Zext
            | O::Sext
            | O::FptoS
            | O::FptoU
            | O::StoFp
            | O::UtoFp
            | O::FptoFp
            | O::PtrToInt
            | O::IntToPtr
            | O::SpaceCast => self.convert_op(inst),
            O::GlobalAddr
            | O::SlotAddr
            | O::Addr
            | O::Load
            | O::Store
            | O::MaskedLoad
            | O::MaskedStore
            | O::Gather
            | O::Scatter
            | O::AtomicLoad
            | O::AtomicStore
            | O::AtomicRmw
            | O::AtomicCmpxchg
            | O::Fence => self.memory_op(inst),
            O::LibCall | O::Memcpy | O::Memset | O::Printf | O::Clock | O::Deadlock => self.call_op(inst),
            O::Jump | O::Branch | O::Switch | O::Ret | O::Unreachable => self.control_op(inst),
            O::Arg
            | O::ArgAddr
            | O::InSpace
            | O::ExtractDyn
            | O::InsertDyn
            | O::Reduce
            | O::WorkDim
            | O::GlobalSize
            | O::GlobalOffset
            | O::NumGroups
            | O::EnqueuedLocalSize
            | O::LocalSize
            | O::GroupId
            | O::GlobalId
            | O::LocalId
            | O::GlobalLinearId
            | O::LocalLinearId
            | O::SubGroupSize
            | O::MaxSubGroupSize
            | O::NumSubGroups
            | O::EnqueuedNumSubGroups
            | O::SubGroupId
            | O::SubGroupLocalId
            | O::Barrier
            | O::NamedBarrier
            | O::GroupReduce
            | O::GroupScan
            | O::GroupScanExclusive
            | O::PackAny
            | O::GroupBallot
            | O::GroupShuffle
            | O::ImageRead
            | O::ImageWrite
            | O::Call => {
                unreachable!("broken invariant: {} in a legal function", self.legal.dfg.inst(inst).op.info().name)
            }
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
