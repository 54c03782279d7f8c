//! Lanes and masks: selection, movement between lanes, and movement between lanes and scalars.

use std::ops::Range;

use clift_kir::dfg::ConstData;
use clift_kir::ops::{LaneOp, LeafOp};
use clift_kir::{Elem, Imm, Inst, InstData, Opcode, Type, Value};
use regalloc2::VReg;

use super::convert::mask_to_lanes;
use super::float::is_lanewise as is_lanewise_float;
use super::vectors::is_lanewise as is_lanewise_int;
use super::{ExtraOperands, Immediate, NO_DIGIT, RegMem, Selector, class, size, wrong_imm};
use crate::codegen::not_legal;
use crate::codegen::x86::Level;
use crate::codegen::x86::code::{Cond, GPR, MASK, MachInst, ZMM};
use crate::codegen::x86::encode::{InstRow, OperandSize};
use crate::codegen::x86::table as t;

/// A piece of a vector, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Piece {
    /// 128 bits, in a vector register.
    Quarter(u32),
    /// 64 bits, in a scalar register.
    EightBytes(u32),
}

/// Blends of lanes of a given size in bytes.
fn blend_row(bytes: u32) -> InstRow {
    match bytes {
        1 => t::VPBLENDMB,
        2 => t::VPBLENDMW,
        4 => t::VPBLENDMD,
        _ => t::VPBLENDMQ,
    }
}

/// Broadcasts of a scalar register to lanes of a given size in bytes.
fn splat_row(bytes: u32) -> InstRow {
    match bytes {
        1 => t::VPBROADCASTB_SCALAR,
        2 => t::VPBROADCASTW_SCALAR,
        4 => t::VPBROADCASTD_SCALAR,
        _ => t::VPBROADCASTQ_SCALAR,
    }
}

/// The instruction that inserts an integer or a float, from a register or from memory, into a lane of at most 128 bits: its row,
/// the size of its operand, and its immediate. `None` if none does. From memory it reads no more than the scalar.
fn insertion(bytes: u32, is_integer: bool, in_memory: bool, lane: u32) -> Option<(InstRow, OperandSize, Option<i64>)> {
    let place = i64::from(lane);
    match (bytes, is_integer) {
        (1, true) => Some((t::VPINSRB, OperandSize::S32, Some(place))),
        (2, true) => Some((t::VPINSRW, OperandSize::S32, Some(place))),
        (4, true) => Some((t::VPINSRD, OperandSize::S32, Some(place))),
        (_, true) => Some((t::VPINSRD, OperandSize::S64, Some(place))),
        (4, false) => Some((t::VINSERTPS, OperandSize::X, Some(place << 4))),
        // `VUNPCKLPD` would read 16 bytes.
        (8, false) if lane == 1 && in_memory => Some((t::VMOVHPD, OperandSize::X, None)),
        (8, false) if lane == 1 => Some((t::VUNPCKLPD, OperandSize::X, None)),
        (_, false) => None,
    }
}

/// How far back an operation can be for being moved and masked.
const MAX_DISTANCE: usize = 64;

/// Bits of a vector of a size.
fn bits(size: OperandSize) -> u32 {
    match size {
        OperandSize::S8 | OperandSize::S16 | OperandSize::S32 | OperandSize::S64 | OperandSize::X => 128,
        OperandSize::Y => 256,
        OperandSize::Z => 512,
    }
}

/// The instruction that interleaves one half of each 128 bits of two vectors, if `lanes` are that. Lanes of the second vector
/// follow those of the first.
fn interleaving(from: Type, lanes: &[u32]) -> Option<InstRow> {
    let bytes = from.elem.bytes();
    let held = 16 / bytes.max(1);
    if bytes < 4 || from.is_bool() || from.lanes() < held {
        return None;
    }
    let rows = [(4, 0, t::VPUNPCKLDQ), (4, 8, t::VPUNPCKHDQ), (8, 0, t::VPUNPCKLQDQ), (8, 8, t::VPUNPCKHQDQ)];
    let matches = |unit: u32, start: u32| {
        let expected = |lane: u32| {
            let (first, group) = (lane / held * held, lane % held / unit);
            first + start + group / 2 * unit + lane % unit + if group % 2 == 1 { from.lanes() } else { 0 }
        };
        lanes.iter().zip(0..).all(|(&lane, at)| lane == expected(at))
    };
    let fits = |&&(unit, start, _): &&(u32, u32, InstRow)| unit >= bytes && matches(unit / bytes, start / bytes);
    rows.iter().find(fits).map(|&(_, _, row)| row)
}

/// The pieces of 128 bits, as the immediate of the instruction that takes the first half of its result from one vector and the
/// second from another, if lanes are such pieces.
fn pieces(from: Type, lanes: &[u32]) -> Option<i64> {
    let held = 16 / from.elem.bytes().max(1);
    let count = from.lanes() / held;
    if from.is_bool() || !(2..=4).contains(&count) || lanes.len() as u32 != from.lanes() {
        return None;
    }
    let mut immediate = 0;
    for (at, piece) in (0..).zip(lanes.chunks(held as usize)) {
        let is_straight = piece[0].is_multiple_of(held) && piece.iter().zip(piece[0]..).all(|(&lane, at)| lane == at);
        let own = (piece[0] / held).checked_sub(if at < count / 2 { 0 } else { count })?;
        if !is_straight || own >= count {
            return None;
        }
        immediate |= i64::from(own) << (at * count / 2);
    }
    Some(immediate)
}

/// The permutations of lanes of so many bytes: of one register and of two.
fn permute_rows(bytes: u32) -> [InstRow; 2] {
    match bytes {
        1 => [t::VPERMB, t::VPERMI2B],
        2 => [t::VPERMW, t::VPERMI2W],
        4 => [t::VPERMD, t::VPERMI2D],
        _ => [t::VPERMQ, t::VPERMI2Q],
    }
}

impl Selector<'_> {
    pub(super) fn leaf_op(&mut self, op: LeafOp, inst: Inst) {
        use LeafOp as O;
        match op {
            // Materialized where it is used.
            O::Const => {}
            O::Undef => {
                let to = self.result_type(inst);
                if !self.fused.contains(self.legal.dfg.result(inst)) {
                    let register = self.materialize(&ConstData::splat(to, 0));
                    self.set(inst, register);
                }
            }
            O::GlobalAddr => self.global_addr(inst),
            O::SlotAddr => self.slot_addr(inst),
            O::Arg | O::ArgAddr => not_legal(op),
        }
    }

    pub(super) fn lane_op(&mut self, op: LaneOp, inst: Inst) {
        use LaneOp as O;
        let data = self.legal.dfg.inst(inst);
        let to = self.result_type(inst);
        if self.fused.contains(self.legal.dfg.result(inst)) {
            return;
        }
        let register = match op {
            O::Splat => match self.loaded_scalar(data.args[0]).map(|(operand, _)| operand) {
                Some(scalar) => self.v1(super::broadcast_row(to.elem.bytes() as usize), size(to), scalar),
                None => {
                    let a = self.get(data.args[0]);
                    self.splat(a, to)
                }
            },
            O::Extract => {
                let Imm::Lane(lane) = data.imm else { wrong_imm(&data.imm) };
                let (vector, from) = (data.args[0], self.arg_type(inst, 0));
                if self.taken_apart.contains(&(self.block, vector)) {
                    self.piece_lane(vector, from, lane.into())
                } else {
                    let a = self.get(vector);
                    self.extract(a, from, lane.into())
                }
            }
            O::Insert => {
                let Imm::Lane(lane) = data.imm else { wrong_imm(&data.imm) };
                let (a, element) = (self.get(data.args[0]), self.get(data.args[1]));
                self.insert(a, element, to, lane.into())
            }
            O::Vec => {
                let parts = &data.args;
                if to.is_bool() { self.mask_of(parts) } else { self.vector(to, |this, lane| this.element(parts[lane])) }
            }
            O::Shuffle => {
                let Imm::Lanes(lanes) = &data.imm else { wrong_imm(&data.imm) };
                let (a, b) = (self.get(data.args[0]), self.get(data.args[1]));
                let lanes: Vec<u32> = lanes.iter().map(|&lane| lane.into()).collect();
                self.shuffle(a, b, self.arg_type(inst, 0), to, &lanes)
            }
            O::Select => self.select(inst, to),
            O::Any | O::All => {
                let cond = self.test_mask(inst);
                self.bool_from_flags(cond)
            }
            O::MaskBits => {
                let a = self.get(data.args[0]);
                if self.masks_are_vectors() {
                    let bits = self.bits_of_vector_mask(a, self.arg_type(inst, 0).lanes());
                    return self.set(inst, bits);
                }
                let all = self.bits_of_mask(a);
                match self.arg_type(inst, 0).lanes() {
                    64 => all,
                    32 => self.g1(t::MOV, OperandSize::S32, RegMem::Register(all)),
                    lanes => self.g_imm(Immediate::And, OperandSize::S32, all, (1 << lanes) - 1),
                }
            }
            O::ExtractDyn | O::InsertDyn | O::Reduce => not_legal(op),
            O::Lookup => {
                let numbers = self.get(data.args[1]);
                let table = self.operand(data.args[0]);
                self.v2(permute_rows(to.elem.bytes())[0], OperandSize::Z, numbers, table)
            }
        };
        self.set(inst, register);
    }

    /// `a` where the mask is true, else `b`; for scalars the first bit decides.
    pub(super) fn blend(&mut self, ty: Type, mask: VReg, a: VReg, b: VReg) -> VReg {
        if self.masks_are_vectors() {
            return self.vector_blend(ty, mask, a, b);
        }
        let more = ExtraOperands { second: Some(b), mask: Some(mask), ..ExtraOperands::default() };
        self.make(ZMM, blend_row(ty.elem.bytes()), size(ty), RegMem::Register(a), more)
    }

    /// A mask whose bits all have the value of a Boolean.
    fn mask_of_bool(&mut self, value: VReg) -> VReg {
        let all = self.g_digit(t::GROUP3, 3, OperandSize::S64, value, None);
        self.mask_from_bits(all)
    }

    /// A mask whose first bit has the value of a Boolean. A comparison of floats gives it without a general register.
    fn mask_of_scalar(&mut self, cond: Value) -> VReg {
        let compared = self.legal.dfg.def_inst(cond).map(|def| self.legal.dfg.inst(def));
        if let Some(&InstData { imm: Imm::FloatCond(condition, _), ref args, .. }) = compared {
            return self.compare_floats(condition, self.legal.dfg.ty(args[0]), args[0], args[1], None);
        }
        let cond = self.get(cond);
        self.mask_from_bits(cond)
    }

    /// Moves the operation that computes a value without other uses here and restricts it to the lanes of a mask. The other lanes
    /// come from another register, or are zero. `None` if that is impossible.
    fn masked_producer(&mut self, value: Value, mask: VReg, others: Option<VReg>, ty: Type) -> Option<VReg> {
        let op = self.legal.dfg.inst(self.legal.dfg.def_inst(value)?).op;
        if !self.ends_here(value) || !(is_lanewise_int(op) || is_lanewise_float(op)) {
            return None;
        }
        let register = self.get(value);
        // Instructions change their places.
        self.flags = None;
        let insts = &mut self.blocks[self.current].insts;
        let gives = |inst: &MachInst| inst.operands.iter().any(|operand| operand.vreg() == register);
        let at = insts.len() - 1 - insts.iter().rev().take(MAX_DISTANCE).position(gives)?;
        let made = insts[at].masked(register, mask, others, size(ty))?;
        insts.remove(at);
        insts.push(made);
        Some(register)
    }

    fn select(&mut self, inst: Inst, to: Type) -> VReg {
        let args = &self.legal.dfg.inst(inst).args;
        let by_lanes = self.arg_type(inst, 0).is_vector();
        if by_lanes == to.is_vector()
            && let Some(register) = self.chosen_extreme(args[0], args[1], args[2])
        {
            return register;
        }
        if class(to) != GPR && self.masks_are_vectors() {
            return self.vector_select(inst, to);
        }
        if class(to) == GPR {
            return self.scalar_select(args[0], args[1], args[2], to);
        }
        let mask = match by_lanes {
            true => self.get(args[0]),
            false if to.is_vector() => {
                let cond = self.get(args[0]);
                self.mask_of_bool(cond)
            }
            false => self.mask_of_scalar(args[0]),
        };
        if class(to) == MASK {
            let (a, b) = (self.get(args[1]), self.get(args[2]));
            let chosen = self.mask2(t::KANDQ, mask, a);
            let others = self.mask2(t::KANDNQ, mask, b);
            return self.mask2(t::KORQ, chosen, others);
        }
        let whole = to.is_vector() && to.elem.bytes() >= 4;
        if whole && by_lanes && self.legal.dfg.as_splat_bits(args[2]) == Some(0) {
            return match self.masked_producer(args[1], mask, None, to) {
                Some(register) => register,
                None => {
                    let a = self.get(args[1]);
                    let more =
                        ExtraOperands { second: Some(a), mask: Some(mask), zeroing: true, ..ExtraOperands::default() };
                    self.make(ZMM, blend_row(to.elem.bytes()), size(to), RegMem::Register(a), more)
                }
            };
        }
        let b = self.get(args[2]);
        if whole
            && by_lanes
            && let Some(register) = self.masked_producer(args[1], mask, Some(b), to)
        {
            return register;
        }
        let a = if whole { self.operand(args[1]) } else { RegMem::Register(self.get(args[1])) };
        let a = if matches!(a, RegMem::Bytes(_)) && to.bytes() < 16 { RegMem::Register(self.get(args[1])) } else { a };
        let more = ExtraOperands { second: Some(b), mask: Some(mask), ..ExtraOperands::default() };
        self.make(ZMM, blend_row(to.elem.bytes()), size(to), a, more)
    }

    /// A choice between scalars.
    fn scalar_select(&mut self, cond: Value, then: Value, otherwise: Value, ty: Type) -> VReg {
        match (self.small(then), self.small(otherwise)) {
            (Some(1), Some(0)) => return self.boolean(cond, false),
            (Some(0), Some(1)) => return self.boolean(cond, true),
            _ => {}
        }
        // The result overwrites the second operand.
        let swapped = self.ends_here(then) && !self.ends_here(otherwise) && self.constant(otherwise).is_none();
        let (a, b) = (self.get(then), self.get(otherwise));
        let flags = self.set_flags(cond);
        match swapped {
            true => self.choose(flags.inverse(), size(ty), b, a),
            false => self.choose(flags, size(ty), a, b),
        }
    }

    /// A Boolean, or its negation, in a register.
    fn boolean(&mut self, cond: Value, negated: bool) -> VReg {
        if self.fused.contains(cond) {
            let flags = self.set_flags(cond);
            return self.bool_from_flags(if negated { flags.inverse() } else { flags });
        }
        let register = self.get(cond);
        if negated { self.g_imm(Immediate::Xor, OperandSize::S32, register, 1) } else { register }
    }

    /// Sets the flags by a mask and returns the condition on them.
    pub(super) fn test_mask(&mut self, inst: Inst) -> Cond {
        if self.masks_are_vectors() {
            return self.test_vector_mask(inst);
        }
        let data = self.legal.dfg.inst(inst);
        let mask = self.get(data.args[0]);
        let lanes = self.arg_type(inst, 0).lanes();
        let any = data.op == Opcode::Any;
        let row = match lanes {
            8 => Some(t::KORTESTB),
            16 => Some(t::KORTESTW),
            32 => Some(t::KORTESTD),
            64 => Some(t::KORTESTQ),
            _ => None,
        };
        if let Some(row) = row {
            self.flags(row, OperandSize::X, mask, RegMem::Register(mask));
            // The carry flag: all lanes are true.
            return if any { Cond::NotEqual } else { Cond::Below };
        }
        let all = self.bits_of_mask(mask);
        let used = self.g_imm(Immediate::And, OperandSize::S32, all, (1 << lanes) - 1);
        if any {
            // The flags are those of the operation itself.
            self.flags(t::TEST, OperandSize::S32, used, RegMem::Register(used));
            return Cond::NotEqual;
        }
        self.compare_imm(OperandSize::S32, RegMem::Register(used), (1 << lanes) - 1);
        Cond::Equal
    }

    fn splat(&mut self, a: VReg, to: Type) -> VReg {
        if self.masks_are_vectors() {
            return self.vector_splat(a, to);
        }
        if to.is_bool() {
            return self.mask_of_bool(a);
        }
        let bytes = to.elem.bytes();
        let row = if a.class() == ZMM { super::broadcast_row(bytes as usize) } else { splat_row(bytes) };
        self.v1(row, size(to), RegMem::Register(a))
    }

    /// A register that has a lane in its first 128 bits, and the lane's number there.
    fn quarter(&mut self, a: VReg, from: Type, lane: u32) -> (VReg, u32) {
        let each = 128 / from.elem.bits();
        match lane / each {
            0 => (a, lane),
            quarter => (self.part(a, size(from), quarter), lane % each),
        }
    }

    /// 128 bits of a longer vector.
    fn part(&mut self, a: VReg, size: OperandSize, quarter: u32) -> VReg {
        let result = self.fresh(ZMM);
        let more = ExtraOperands { immediate: Some((quarter.into(), 1)), ..ExtraOperands::default() };
        self.push_row(t::VEXTRACTI32X4, size, Some(result), Some(a), NO_DIGIT, RegMem::Result, more);
        result
    }

    /// A lane of a vector most of whose lanes are extracted: shared pieces take fewer shuffles, of which processors with long
    /// vectors begin one in a cycle, than moving each lane to the first place.
    fn piece_lane(&mut self, vector: Value, from: Type, lane: u32) -> VReg {
        let lanes_of_eight_bytes = 8 / from.elem.bytes();
        let scalar = self.piece(vector, from, Piece::EightBytes(lane / lanes_of_eight_bytes));
        match (lanes_of_eight_bytes, lane % lanes_of_eight_bytes) {
            (1, _) => scalar,
            (_, 0) => self.g1(t::MOV, OperandSize::S32, RegMem::Register(scalar)),
            _ => self.g_digit(t::SHIFT_IMM, 5, OperandSize::S64, scalar, Some((32, 1))),
        }
    }

    /// A piece of a vector, which is extracted when the block first asks for it.
    fn piece(&mut self, vector: Value, from: Type, piece: Piece) -> VReg {
        if let Some(&register) = self.pieces.get(&(vector, piece)) {
            return register;
        }
        let register = match piece {
            Piece::Quarter(0) => self.get(vector),
            Piece::Quarter(quarter) => {
                let whole = self.get(vector);
                self.part(whole, size(from), quarter)
            }
            Piece::EightBytes(number) => {
                let quarter = self.piece(vector, from, Piece::Quarter(number / 2));
                if number % 2 == 0 {
                    self.first_lane(quarter, Type::I64)
                } else {
                    let result = self.fresh(GPR);
                    let more = ExtraOperands { immediate: Some((1, 1)), ..ExtraOperands::default() };
                    let source = Some(quarter);
                    self.push_row(t::VPEXTRQ, OperandSize::S64, Some(result), source, NO_DIGIT, RegMem::Result, more);
                    result
                }
            }
        };
        self.pieces.insert((vector, piece), register);
        register
    }

    /// Whether a scalar is a lane of a vector.
    pub(super) fn is_extracted(&self, value: Value) -> bool {
        self.legal.dfg.def_inst(value).is_some_and(|def| self.legal.dfg.inst(def).op == Opcode::Extract)
    }

    fn extract(&mut self, a: VReg, from: Type, lane: u32) -> VReg {
        let to = from.lane();
        if from.is_bool() {
            let all = match self.masks_are_vectors() {
                true => self.bits_of_vector_mask(a, from.lanes()),
                false => self.bits_of_mask(a),
            };
            let moved = match lane {
                0 => all,
                lane => self.g_digit(t::SHIFT_IMM, 5, OperandSize::S64, all, Some((lane.into(), 1))),
            };
            return self.g_imm(Immediate::And, OperandSize::S32, moved, 1);
        }
        if from.elem.bytes() < 4 {
            let (a, lane) = self.quarter(a, from, lane);
            let result = self.fresh(GPR);
            let row = if from.elem.bytes() == 1 { t::VPEXTRB } else { t::VPEXTRW };
            let more = ExtraOperands { immediate: Some((lane.into(), 1)), ..ExtraOperands::default() };
            self.push_row(row, OperandSize::S32, Some(result), Some(a), NO_DIGIT, RegMem::Result, more);
            return result;
        }
        if self.masks_are_vectors() {
            let (a, lane) = self.quarter(a, from, lane);
            return self.extract_word(a, from, lane);
        }
        let first = match lane {
            0 => a,
            lane => {
                let row = if from.elem.bytes() == 4 { t::VALIGND } else { t::VALIGNQ };
                self.v2_imm(row, size(from), a, RegMem::Register(a), lane.into())
            }
        };
        if class(to) == GPR { self.first_lane(first, to) } else { first }
    }

    fn insert(&mut self, a: VReg, element: VReg, ty: Type, lane: u32) -> VReg {
        if self.masks_are_vectors() {
            return self.vector_insert(a, element, ty, lane);
        }
        if ty.is_bool() {
            let all = self.bits_of_mask(a);
            let others = self.number(!(1i64 << lane), 64);
            let all = self.g2(t::AND, OperandSize::S64, all, RegMem::Register(others));
            let bit = self.g_digit(t::SHIFT_IMM, 4, OperandSize::S64, element, Some((lane.into(), 1)));
            let all = self.g2(t::OR, OperandSize::S64, all, RegMem::Register(bit));
            return self.mask_from_bits(all);
        }
        let bytes = ty.elem.bytes();
        if size(ty) == OperandSize::X
            && let Some((row, operand_size, immediate)) = insertion(bytes, element.class() != ZMM, false, lane)
        {
            let more = ExtraOperands {
                second: Some(a),
                immediate: immediate.map(|immediate| (immediate, 1)),
                ..ExtraOperands::default()
            };
            return self.make(ZMM, row, operand_size, RegMem::Register(element), more);
        }
        let bit = self.number(1 << lane, 64);
        let mask = self.mask_from_bits(bit);
        let row = if element.class() == ZMM { super::broadcast_row(bytes as usize) } else { splat_row(bytes) };
        let more = ExtraOperands { tied: Some(a), mask: Some(mask), ..ExtraOperands::default() };
        self.make(ZMM, row, size(ty), RegMem::Register(element), more)
    }

    /// A mask of Booleans.
    fn mask_of(&mut self, parts: &[Value]) -> VReg {
        let parts: Vec<VReg> = parts.iter().map(|&part| self.get(part)).collect();
        if self.masks_are_vectors() {
            return self.vector_mask_of(&parts);
        }
        let mut all = parts[0];
        for (lane, &part) in parts.iter().enumerate().skip(1) {
            let bit = self.g_digit(t::SHIFT_IMM, 4, OperandSize::S64, part, Some((lane as i64, 1)));
            all = self.g2(t::OR, OperandSize::S64, all, RegMem::Register(bit));
        }
        self.mask_from_bits(all)
    }

    /// A vector of scalars, which are asked for in order.
    pub(super) fn vector(&mut self, to: Type, element: impl Fn(&mut Self, usize) -> RegMem) -> VReg {
        let (lanes, each) = (to.lanes() as usize, (128 / to.elem.bits()) as usize);
        let mut groups: Vec<VReg> = Vec::new();
        for first in (0..lanes).step_by(each) {
            groups.push(self.group(to, first..lanes.min(first + each), &element));
        }
        if groups.len() > 1 {
            groups = groups.chunks(2).map(|pair| self.joined(t::VINSERTI32X4, OperandSize::Y, pair)).collect();
        }
        self.joined(t::VINSERTI64X4, OperandSize::Z, &groups)
    }

    fn joined(&mut self, row: InstRow, size: OperandSize, pair: &[VReg]) -> VReg {
        match *pair {
            [low, high] => self.v2_imm(row, size, low, RegMem::Register(high), 1),
            _ => pair[0],
        }
    }

    /// Some elements of a vector, at most 128 bits of them, as a vector.
    fn group(&mut self, to: Type, lanes: Range<usize>, element: &impl Fn(&mut Self, usize) -> RegMem) -> VReg {
        let (bytes, in_integers) = (to.elem.bytes(), class(to.lane()) == GPR);
        let wide = if bytes == 8 { OperandSize::S64 } else { OperandSize::S32 };
        let first = element(self, lanes.start);
        let mut vector = if let RegMem::Register(first) = first
            && !in_integers
        {
            first
        } else if let RegMem::Memory(address) = first
            && bytes < 4
        {
            // The first element brings the bytes beside it, up to four.
            let first = self.load(to.lane(), address);
            self.v1(t::VMOVD_FROM_SCALAR, wide, RegMem::Register(first))
        } else {
            self.v1(t::VMOVD_FROM_SCALAR, wide, first)
        };
        for (place, lane) in lanes.enumerate().skip(1) {
            let part = element(self, lane);
            let in_memory = matches!(part, RegMem::Memory(_));
            let Some((row, size, immediate)) = insertion(bytes, in_integers, in_memory, place as u32) else {
                unreachable!("broken invariant: a lane other than the first has an insertion")
            };
            let more = ExtraOperands {
                second: Some(vector),
                immediate: immediate.map(|immediate| (immediate, 1)),
                ..ExtraOperands::default()
            };
            vector = self.make(ZMM, row, size, part, more);
        }
        vector
    }

    /// Shuffles lanes of two vectors by number.
    pub(super) fn shuffle(&mut self, a: VReg, b: VReg, from: Type, to: Type, lanes: &[u32]) -> VReg {
        let count = from.lanes();
        if lanes.iter().all(|&lane| lane >= count) {
            let lanes: Vec<u32> = lanes.iter().map(|&lane| lane - count).collect();
            return self.shuffle(b, b, from, to, &lanes);
        }
        let joins = lanes.iter().zip(0..).all(|(&lane, wanted)| lane == wanted) && to.lanes() == 2 * count;
        let alone = a == b || lanes.iter().all(|&lane| lane < count);
        // If both vectors are the same, lanes of the second are renumbered as lanes of the first.
        let lanes: Vec<u32> = if a == b { lanes.iter().map(|lane| lane % count).collect() } else { lanes.to_vec() };
        let straight = |first: u32| lanes.iter().zip(first..).all(|(&lane, wanted)| lane == wanted);
        if !to.is_vector() {
            let (source, lane) = if lanes[0] < count { (a, lanes[0]) } else { (b, lanes[0] - count) };
            return self.extract(source, from, lane);
        }
        if straight(0) && to.lanes() <= count {
            return a;
        }
        if from.is_bool() {
            return self.shuffle_masks(a, b, count, to.lanes(), &lanes);
        }
        let part = to.elem.bits() * to.lanes();
        if joins && part >= 256 {
            let (row, size) =
                if part == 256 { (t::VINSERTI32X4, OperandSize::Y) } else { (t::VINSERTI64X4, OperandSize::Z) };
            return self.joined(row, size, &[a, b]);
        }
        if straight(lanes[0]) && alone && part == 128 && lanes[0].is_multiple_of(to.lanes()) {
            return self.part(a, size(from), lanes[0] / to.lanes());
        }
        if straight(to.lanes()) && alone && part == 256 {
            return self.upper_half(a);
        }
        let words = from.elem.bytes() == 4 && alone;
        if words && size(from) == OperandSize::X && size(to) == OperandSize::X {
            let immediate = lanes.iter().rev().fold(0, |bits, &lane| bits << 2 | i64::from(lane));
            return self.v1_imm(t::VPSHUFD, OperandSize::X, RegMem::Register(a), immediate);
        }
        if let Some(row) = interleaving(from, &lanes).filter(|_| to.lanes() == count) {
            return self.v2(row, size(to), a, RegMem::Register(b));
        }
        if let Some(immediate) = pieces(from, &lanes).filter(|_| to.lanes() == count && self.level != Level::Avx2) {
            return self.v2_imm(t::VSHUFI32X4, size(to), a, RegMem::Register(b), immediate);
        }
        self.permute(a, b, from, to, &lanes, alone)
    }

    /// A permutation of the lanes of one or two vectors.
    fn permute(&mut self, a: VReg, b: VReg, from: Type, to: Type, lanes: &[u32], alone: bool) -> VReg {
        if self.level == Level::Avx2 {
            return self.permute_vectors([a, b], from, to, lanes);
        }
        let bytes = from.elem.bytes();
        if bytes == 1 && self.level == Level::Skylake {
            return self.permute_bytes(a, b, from, to, lanes, alone);
        }
        let least = if alone && bytes >= 4 { OperandSize::Y } else { OperandSize::X };
        let size = size(from).max(size(to)).max(least);
        let held = bits(size) / from.elem.bits();
        let index = |&lane: &u32| u64::from(if lane < from.lanes() { lane } else { held + lane - from.lanes() });
        let mut numbers: Vec<u64> = lanes.iter().map(index).collect();
        numbers.resize(held as usize, 0);
        let elem = Elem::int(from.elem.bits()).unwrap_or(Elem::I64);
        let numbers = self.vector_constant(&ConstData::new(Type::vector(elem, held), &numbers));
        let rows = permute_rows(bytes);
        if alone {
            return self.v2(rows[0], size, numbers, RegMem::Register(a));
        }
        self.v3(rows[1], size, numbers, a, RegMem::Register(b))
    }

    /// A permutation of bytes without an instruction for it. Within 16 bytes there is one; otherwise it is done on words.
    fn permute_bytes(&mut self, a: VReg, b: VReg, from: Type, to: Type, lanes: &[u32], alone: bool) -> VReg {
        /// The words of a register.
        const WORDS: u32 = 32;
        if from.lanes() <= 16 && to.lanes() <= 16 {
            let first = self.shuffle_within_16_bytes(a, 0..from.lanes(), lanes);
            if alone {
                return first;
            }
            let second = self.shuffle_within_16_bytes(b, from.lanes()..2 * from.lanes(), lanes);
            return self.v2(t::VPORD, OperandSize::X, first, RegMem::Register(second));
        }
        // Each source as words, 32 per register; lanes of the second source follow those of the first.
        let each = from.lanes().div_ceil(WORDS);
        let sources = if alone { vec![a] } else { vec![a, b] };
        let words: Vec<VReg> = sources
            .iter()
            .flat_map(|&source| (0..each).map(move |part| (source, part)))
            .map(|(source, part)| {
                let half = if part == 0 { source } else { self.upper_half(source) };
                self.v1(t::VPMOVZXBW, OperandSize::Z, RegMem::Register(half))
            })
            .collect();
        let place = |&lane: &u32| match lane.checked_sub(from.lanes()) {
            None => lane,
            Some(lane) => each * WORDS + lane,
        };
        let parts: Vec<VReg> = lanes
            .chunks(WORDS as usize)
            .map(|part| {
                let places: Vec<u32> = part.iter().map(place).collect();
                let permuted = self.permute_words(&words, &places);
                let result = self.fresh(ZMM);
                self.push_row(
                    t::VPMOVWB,
                    OperandSize::Z,
                    Some(result),
                    Some(permuted),
                    NO_DIGIT,
                    RegMem::Result,
                    ExtraOperands::default(),
                );
                result
            })
            .collect();
        self.joined(t::VINSERTI64X4, OperandSize::Z, &parts)
    }

    /// A byte shuffle within 16 bytes, whose numbers are `own`; zero for all other numbers.
    fn shuffle_within_16_bytes(&mut self, a: VReg, own: Range<u32>, lanes: &[u32]) -> VReg {
        const ZERO: u64 = 0x80;
        let number = |lane: &u32| if own.contains(lane) { u64::from(lane - own.start) } else { ZERO };
        let mut numbers: Vec<u64> = lanes.iter().map(number).collect();
        numbers.resize(16, ZERO);
        let numbers = self.vector_constant(&ConstData::new(Type::vector(Elem::I8, 16), &numbers));
        self.v2(t::VPSHUFB, OperandSize::X, a, RegMem::Register(numbers))
    }

    /// A permutation of the words of one to four registers, numbered across all of them.
    fn permute_words(&mut self, words: &[VReg], places: &[u32]) -> VReg {
        let held = 32;
        let of_pair = |pair: u32| places.iter().map(move |&place| (place / (2 * held) == pair, place % (2 * held)));
        let mut result = None;
        for (pair, registers) in (0..).zip(words.chunks(2)) {
            if of_pair(pair).all(|(own, _)| !own) {
                continue;
            }
            let mut numbers: Vec<u64> = of_pair(pair).map(|(_, place)| place.into()).collect();
            numbers.resize(held as usize, 0);
            let numbers = self.vector_constant(&ConstData::new(Type::vector(Elem::I16, held), &numbers));
            let made = match *registers {
                [low, high] => self.v3(t::VPERMI2W, OperandSize::Z, numbers, low, RegMem::Register(high)),
                _ => self.v2(t::VPERMW, OperandSize::Z, numbers, RegMem::Register(registers[0])),
            };
            result = Some(match result {
                None => made,
                Some(others) => {
                    let bits =
                        of_pair(pair).enumerate().fold(0, |bits, (lane, (own, _))| bits | i64::from(own) << lane);
                    let bits = self.number(bits, 64);
                    let mask = self.mask_from_bits(bits);
                    let more = ExtraOperands { second: Some(others), mask: Some(mask), ..ExtraOperands::default() };
                    self.make(ZMM, t::VPBLENDMW, OperandSize::Z, RegMem::Register(made), more)
                }
            });
        }
        result.unwrap_or(words[0])
    }

    /// The upper 256 bits.
    fn upper_half(&mut self, a: VReg) -> VReg {
        let result = self.fresh(ZMM);
        let more = ExtraOperands { immediate: Some((1, 1)), ..ExtraOperands::default() };
        self.push_row(t::VEXTRACTI64X4, OperandSize::Z, Some(result), Some(a), NO_DIGIT, RegMem::Result, more);
        result
    }

    fn shuffle_masks(&mut self, a: VReg, b: VReg, count: u32, to: u32, lanes: &[u32]) -> VReg {
        if self.masks_are_vectors() {
            return self.shuffle_vector_masks([a, b], count, to, lanes);
        }
        let straight = |first: u32| lanes.iter().zip(first..).all(|(&lane, wanted)| lane == wanted);
        if straight(lanes[0]) && lanes.iter().all(|&lane| lane < count) {
            let more = ExtraOperands { immediate: Some((lanes[0].into(), 1)), ..ExtraOperands::default() };
            return self.make(MASK, t::KSHIFTRQ, OperandSize::X, RegMem::Register(a), more);
        }
        let unpack = match count {
            8 => Some(t::KUNPCKBW),
            16 => Some(t::KUNPCKWD),
            32 => Some(t::KUNPCKDQ),
            _ => None,
        };
        if let Some(row) = unpack.filter(|_| straight(0) && to == 2 * count) {
            return self.make(
                MASK,
                row,
                OperandSize::X,
                RegMem::Register(a),
                ExtraOperands { second: Some(b), ..ExtraOperands::default() },
            );
        }
        let (from, result) = (Type::vector(Elem::I8, count), Type::vector(Elem::I8, to));
        let size = size(from).max(size(result));
        let alone = lanes.iter().all(|&lane| lane < count);
        let first = self.v1(mask_to_lanes(1), size, RegMem::Register(a));
        let second = if alone { first } else { self.v1(mask_to_lanes(1), size, RegMem::Register(b)) };
        let bytes = self.permute(first, second, from, result, lanes, alone);
        self.make(MASK, t::VPMOVB2M, size, RegMem::Register(bytes), ExtraOperands::default())
    }

    /// The same bits as another type.
    pub(super) fn bitcast(&mut self, a: VReg, to: Type) -> VReg {
        match (a.class() == GPR, class(to) == GPR) {
            (true, false) => {
                let size = if to.bits() == 64 { OperandSize::S64 } else { OperandSize::S32 };
                self.v1(t::VMOVD_FROM_SCALAR, size, RegMem::Register(a))
            }
            (false, true) => self.first_lane(a, to),
            _ => a,
        }
    }
}
