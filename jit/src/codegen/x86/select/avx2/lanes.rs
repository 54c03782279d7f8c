//! Selection, movement between lanes, and masked accesses.

use clift_kir::dfg::ConstData;
use clift_kir::{Elem, Inst, Type};
use regalloc2::VReg;

use super::masks::int_of;
use super::param_bytes;
use crate::codegen::x86::code::{GPR, ZMM};
use crate::codegen::x86::encode::{InstRow, OperandSize};
use crate::codegen::x86::select::{ExtraOperands, NO_DIGIT, RegMem, Selector, broadcast_row, class, size};
use crate::codegen::x86::table as t;

/// A byte that a byte shuffle makes zero.
const ZERO: u64 = 0x80;
/// Exchanges the halves of a register of 256 bits, by `VPERMQ`.
const EXCHANGE_HALVES: i64 = 0x4e;

/// Blends by vectors, for lanes of a given size in bytes.
fn blend_row(bytes: u32) -> InstRow {
    match bytes {
        1 | 2 => t::VPBLENDVB,
        4 => t::VBLENDVPS,
        _ => t::VBLENDVPD,
    }
}

/// The halves of two vectors of 256 bits, as the immediate of the instruction that puts two of them together, if lanes are such
/// halves.
fn halves(from: Type, lanes: &[u32]) -> Option<i64> {
    let half = from.lanes() / 2;
    if from.elem.bits() * from.lanes() != 256 || lanes.len() as u32 != from.lanes() {
        return None;
    }
    let mut immediate = 0;
    for (at, lanes) in lanes.chunks(half as usize).enumerate() {
        if !lanes[0].is_multiple_of(half) || !lanes.iter().zip(lanes[0]..).all(|(&lane, at)| lane == at) {
            return None;
        }
        immediate |= i64::from(lanes[0] / half) << (4 * at);
    }
    Some(immediate)
}

impl Selector<'_> {
    /// 32-bit words of a register by number.
    pub(super) fn permuted_words(&mut self, a: VReg, words: &[u64; 8]) -> VReg {
        let numbers = self.vector_constant(&ConstData::new(Type::vector(Elem::I32, 8), words));
        self.v2(t::VPERMD, OperandSize::Y, numbers, RegMem::Register(a))
    }

    /// The upper 128 bits.
    pub(super) fn upper_128(&mut self, a: VReg) -> VReg {
        let result = self.fresh(ZMM);
        let more = ExtraOperands { immediate: Some((1, 1)), ..ExtraOperands::default() };
        self.push_row(t::VEXTRACTI32X4, OperandSize::Y, Some(result), Some(a), NO_DIGIT, RegMem::Result, more);
        result
    }

    /// `a` where the mask, whose lanes have the width of the type's, is true, else `b`.
    pub(in crate::codegen::x86::select) fn vector_blend(&mut self, ty: Type, mask: VReg, a: VReg, b: VReg) -> VReg {
        self.blend_by(blend_row(ty.elem.bytes()), size(ty), mask, a, b)
    }

    /// A select of vectors, masks or scalar floats.
    pub(in crate::codegen::x86::select) fn vector_select(&mut self, inst: Inst, to: Type) -> VReg {
        let args = &self.legal.dfg.inst(inst).args;
        let by_lanes = self.arg_type(inst, 0).is_vector();
        let is_mask = to.is_bool();
        let bytes = match is_mask {
            true if by_lanes => self.common_width(args),
            true => self.common_width(&args[1..]),
            false => to.elem.bytes(),
        };
        let (mask, inverted) = if by_lanes {
            let mask = self.signed_mask(args[0], bytes);
            (mask.register, mask.is_complement)
        } else {
            let cond = self.get(args[0]);
            (self.vector_mask_of_bool(cond, to.lanes(), bytes), false)
        };
        let (chosen, other) = if inverted { (args[2], args[1]) } else { (args[1], args[2]) };
        if is_mask {
            let (a, b) = (self.mask_lanes(chosen, bytes), self.mask_lanes(other, bytes));
            let result = self.blend_by(t::VPBLENDVB, OperandSize::Y, mask, a, b);
            return self.as_mask(result, bytes);
        }
        if self.legal.dfg.as_splat_bits(other) == Some(0) {
            let a = if to.bytes() < 16 { RegMem::Register(self.get(chosen)) } else { self.operand(chosen) };
            return self.v2(t::VPANDD, size(to), mask, a);
        }
        if self.legal.dfg.as_splat_bits(chosen) == Some(0) {
            let b = self.get(other);
            return self.v2(t::VPANDN, size(to), mask, RegMem::Register(b));
        }
        let (a, b) = (self.get(chosen), self.get(other));
        self.vector_blend(to, mask, a, b)
    }

    /// A scalar in all lanes.
    pub(in crate::codegen::x86::select) fn vector_splat(&mut self, a: VReg, to: Type) -> VReg {
        if to.is_bool() {
            return self.vector_mask_of_bool(a, to.lanes(), param_bytes(to.lanes()));
        }
        let bytes = to.elem.bytes();
        let first = if a.class() == ZMM { a } else { self.first_of(a, bytes) };
        self.v1(broadcast_row(bytes as usize), size(to), RegMem::Register(first))
    }

    /// A scalar integer as the first lane.
    fn first_of(&mut self, a: VReg, bytes: u32) -> VReg {
        let size = if bytes == 8 { OperandSize::S64 } else { OperandSize::S32 };
        self.v1(t::VMOVD_FROM_SCALAR, size, RegMem::Register(a))
    }

    /// A lane of four or eight bytes in the first 128 bits of a register.
    pub(in crate::codegen::x86::select) fn extract_word(&mut self, a: VReg, from: Type, lane: u32) -> VReg {
        let bytes = from.elem.bytes();
        if class(from.lane()) == GPR {
            if lane == 0 {
                return self.first_lane(a, from.lane());
            }
            let result = self.fresh(GPR);
            let more = ExtraOperands { immediate: Some((lane.into(), 1)), ..ExtraOperands::default() };
            let (row, size) = if bytes == 8 { (t::VPEXTRQ, OperandSize::S64) } else { (t::VPEXTRD, OperandSize::S32) };
            self.push_row(row, size, Some(result), Some(a), NO_DIGIT, RegMem::Result, more);
            return result;
        }
        match (lane, bytes) {
            (0, _) => a,
            (lane, 4) => self.v1_imm(t::VPSHUFD, OperandSize::X, RegMem::Register(a), i64::from(lane) * 0x55),
            _ => self.v1_imm(t::VPSHUFD, OperandSize::X, RegMem::Register(a), 0xee),
        }
    }

    /// A vector with another lane.
    pub(in crate::codegen::x86::select) fn vector_insert(
        &mut self,
        a: VReg,
        element: VReg,
        ty: Type,
        lane: u32,
    ) -> VReg {
        if ty.is_bool() {
            let bytes = self.masks.lane_bytes(a);
            let element = self.g_digit(t::GROUP3, 3, OperandSize::S64, element, None);
            let result = self.vector_insert(a, element, Type::vector(int_of(bytes), ty.lanes()), lane);
            return self.as_mask(result, bytes);
        }
        let bytes = ty.elem.bytes();
        if bytes >= 4 {
            let all = self.vector_splat(element, ty);
            let words = bytes / 4;
            let immediate = ((1 << words) - 1) << (lane * words);
            return self.v2_imm(t::VPBLENDD, size(ty), a, RegMem::Register(all), immediate);
        }
        let each = 16 / bytes;
        let (quarter, at) = (lane / each, lane % each);
        let source = if quarter == 0 { a } else { self.upper_128(a) };
        let row = if bytes == 1 { t::VPINSRB } else { t::VPINSRW };
        let more = ExtraOperands { second: Some(source), immediate: Some((at.into(), 1)), ..ExtraOperands::default() };
        let part = self.make(ZMM, row, OperandSize::S32, RegMem::Register(element), more);
        if let OperandSize::Y = size(ty) {
            self.v2_imm(t::VINSERTI32X4, OperandSize::Y, a, RegMem::Register(part), quarter.into())
        } else {
            part
        }
    }

    /// A permutation of the lanes of one or two vectors.
    pub(in crate::codegen::x86::select) fn permute_vectors(
        &mut self,
        [a, b]: [VReg; 2],
        from: Type,
        to: Type,
        lanes: &[u32],
    ) -> VReg {
        let count = from.lanes();
        let size = size(from).max(size(to));
        let own = |source: u32| move |&lane: &u32| (lane / count == source).then_some(lane % count);
        let first: Vec<Option<u32>> = lanes.iter().map(own(0)).collect();
        let second: Vec<Option<u32>> = lanes.iter().map(own(1)).collect();
        let alone = second.iter().all(Option::is_none);
        let bytes = from.elem.bytes();
        if bytes < 4 {
            let crosses = |(&lane, at): (&u32, u32)| lane % count * bytes / 16 != at * bytes / 16;
            if size == OperandSize::Y
                && lanes.iter().zip(0..).any(crosses)
                && let Some(result) = self.permute_by_words([a, b], from, lanes)
            {
                return result;
            }
            let first = self.permute_to_bytes(a, bytes, size, &first);
            if alone {
                return first;
            }
            let second = self.permute_to_bytes(b, bytes, size, &second);
            return self.v2(t::VPORD, size, first, RegMem::Register(second));
        }
        if let Some(immediate) = halves(from, lanes).filter(|_| !alone && size == OperandSize::Y) {
            return self.v2_imm(t::VPERM2I128, size, a, RegMem::Register(b), immediate);
        }
        if !alone
            && size == OperandSize::Y
            && let Some(result) = self.permute_pairs([a, b], from, lanes)
        {
            return result;
        }
        let words = bytes / 4;
        let first_register = self.permute_to_words(a, words, size, &first);
        if alone {
            return first_register;
        }
        let second_register = self.permute_to_words(b, words, size, &second);
        let each = (1i64 << words) - 1;
        let immediate = second.iter().zip(0..).fold(0, |bits, (lane, at)| match lane {
            Some(_) => bits | each << (at * words),
            None => bits,
        });
        self.v2_imm(t::VPBLENDD, size, first_register, RegMem::Register(second_register), immediate)
    }

    /// A permutation of two vectors each of whose results' eight bytes come from the same 128 bits, and all of those from one
    /// vector from the same places there: every other lane, for example. `None` if there is another way only.
    fn permute_pairs(&mut self, [a, b]: [VReg; 2], from: Type, lanes: &[u32]) -> Option<VReg> {
        let words = from.elem.bytes() / 4;
        // The words of a vector.
        let held = words * from.lanes();
        let word = |at: u32| lanes.get((at / words) as usize).map(|&lane| lane * words + at % words);
        // The places of the two words of eight bytes in their 128 bits, by vector; and for each eight bytes of the result its
        // own.
        let mut places: [Option<(u32, u32)>; 2] = [None; 2];
        let mut order = 0;
        for pair in (0..4).rev() {
            let (Some(first), Some(second)) = (word(2 * pair), word(2 * pair + 1)) else { continue };
            let [(source, first), (other, second)] = [first, second].map(|word| (word / held, word % held));
            let half = first / 4;
            if other != source || second / 4 != half {
                return None;
            }
            if *places[source as usize].get_or_insert((first % 4, second % 4)) != (first % 4, second % 4) {
                return None;
            }
            order |= i64::from(2 * half + source) << (2 * pair);
        }
        let [Some((a_first, a_second)), Some((b_first, b_second))] = places else { return None };
        let immediate = a_first | a_second << 2 | b_first << 4 | b_second << 6;
        let together = self.v2_imm(t::VSHUFPS, OperandSize::Y, a, RegMem::Register(b), immediate.into());
        const IN_ORDER: i64 = 0xe4;
        if order == IN_ORDER {
            return Some(together);
        }
        Some(self.v1_imm(t::VPERMQ_IMM, OperandSize::Y, RegMem::Register(together), order))
    }

    /// Lanes of one or two words by number; any where there is none.
    fn permute_to_words(&mut self, a: VReg, words: u32, size: OperandSize, lanes: &[Option<u32>]) -> VReg {
        let fits = |first: u32| lanes.iter().zip(first..).all(|(lane, at)| lane.is_none_or(|lane| lane == at));
        if fits(0) {
            return a;
        }
        let word = |at: u32| {
            let lane = lanes.get((at / words) as usize).copied().flatten();
            lane.map_or(at, |lane| lane * words + at % words)
        };
        let within = (0..4).all(|at| word(at) < 4);
        let immediate = |numbers: &[u32], bits: u32| {
            numbers.iter().rev().fold(0, |immediate, &number| immediate << bits | i64::from(number))
        };
        if size == OperandSize::X {
            let numbers: Vec<u32> = (0..4).map(word).collect();
            return self.v1_imm(t::VPSHUFD, OperandSize::X, RegMem::Register(a), immediate(&numbers, 2));
        }
        // The same exchange in both halves.
        if within && (4..8).all(|at| word(at) == word(at - 4) + 4) {
            let numbers: Vec<u32> = (0..4).map(word).collect();
            return self.v1_imm(t::VPSHUFD, OperandSize::Y, RegMem::Register(a), immediate(&numbers, 2));
        }
        if words == 2 {
            let numbers: Vec<u32> = (0..4).map(|at| word(2 * at) / 2).collect();
            return self.v1_imm(t::VPERMQ_IMM, OperandSize::Y, RegMem::Register(a), immediate(&numbers, 2));
        }
        let numbers = std::array::from_fn(|at| u64::from(word(at as u32)));
        self.permuted_words(a, &numbers)
    }

    /// Lanes of one or two bytes by number; zero where there is none.
    fn permute_to_bytes(&mut self, a: VReg, bytes: u32, size: OperandSize, lanes: &[Option<u32>]) -> VReg {
        let held = if size == OperandSize::Y { 32 } else { 16 };
        let byte = |at: u32| {
            let lane = lanes.get((at / bytes) as usize).copied().flatten();
            lane.map(|lane| lane * bytes + at % bytes)
        };
        // The numbers of bytes from the same half of the register, or from the other one.
        let from_half = |other: bool| {
            let number = move |at: u32| match byte(at) {
                Some(number) if (number / 16 != at / 16) == other => u64::from(number % 16),
                _ => ZERO,
            };
            (0..held).map(number).collect::<Vec<u64>>()
        };
        let shuffle = |this: &mut Self, source: VReg, numbers: &[u64]| {
            let numbers = this.vector_constant(&ConstData::new(Type::vector(Elem::I8, held), numbers));
            this.v2(t::VPSHUFB, size, source, RegMem::Register(numbers))
        };
        let (same, other) = (from_half(false), from_half(true));
        let is_empty = |numbers: &[u64]| numbers.iter().all(|&number| number == ZERO);
        if is_empty(&other) {
            return shuffle(self, a, &same);
        }
        let exchanged = self.v1_imm(t::VPERMQ_IMM, OperandSize::Y, RegMem::Register(a), EXCHANGE_HALVES);
        let crossing = shuffle(self, exchanged, &other);
        if is_empty(&same) {
            return crossing;
        }
        let staying = shuffle(self, a, &same);
        self.v2(t::VPORD, size, staying, RegMem::Register(crossing))
    }

    /// A permutation of lanes of one or two bytes of which each four bytes of the result come from the same 128 bits: by a
    /// shuffle within these and a permutation of words. `None` if there is another way only.
    fn permute_by_words(&mut self, sources: [VReg; 2], from: Type, lanes: &[u32]) -> Option<VReg> {
        const HELD: u32 = 32;
        let (bytes, count) = (from.elem.bytes(), from.lanes());
        let total = lanes.len() as u32 * bytes;
        if !total.is_multiple_of(4) {
            return None;
        }
        let source_of = |at: u32| {
            let lane = lanes[(at / bytes) as usize];
            (lane / count, lane % count * bytes + at % bytes)
        };
        // The numbers for the shuffle of each source, and for each word of the result its source and its place after the shuffle.
        let mut numbers = [[ZERO; HELD as usize]; 2];
        let mut taken = [0u8; 2];
        let mut places = Vec::new();
        for word in 0..total / 4 {
            let (source, first) = source_of(4 * word);
            let half = first / 16;
            if (1..4).any(|at| {
                let (other, byte) = source_of(4 * word + at);
                other != source || byte / 16 != half
            }) {
                return None;
            }
            let is_free = |&slot: &u32| taken[source as usize] >> (4 * half + slot) & 1 == 0;
            let slot = std::iter::once(word % 4).chain(0..4).find(is_free)?;
            let place = 4 * half + slot;
            taken[source as usize] |= 1 << place;
            for at in 0..4 {
                numbers[source as usize][(4 * place + at) as usize] = u64::from(source_of(4 * word + at).1 % 16);
            }
            places.push((source, place));
        }
        let shuffled = [0, 1].map(|source| {
            if taken[source] == 0 {
                return sources[source];
            }
            let numbers = self.vector_constant(&ConstData::new(Type::vector(Elem::I8, HELD), &numbers[source]));
            self.v2(t::VPSHUFB, OperandSize::Y, sources[source], RegMem::Register(numbers))
        });
        let words = Type::vector(Elem::I32, HELD / 4);
        if taken[0] & taken[1] != 0 {
            let lanes: Vec<u32> = places.iter().map(|&(source, place)| 8 * source + place).collect();
            return Some(self.permute_vectors(shuffled, words, words, &lanes));
        }
        let together = match taken {
            [_, 0] => shuffled[0],
            [0, _] => shuffled[1],
            [_, second] => {
                self.v2_imm(t::VPBLENDD, OperandSize::Y, shuffled[0], RegMem::Register(shuffled[1]), second.into())
            }
        };
        let lanes: Vec<Option<u32>> = places.iter().map(|&(_, place)| Some(place)).collect();
        Some(self.permute_to_words(together, 1, OperandSize::Y, &lanes))
    }

    /// Shuffles masks, as vectors of integers.
    pub(in crate::codegen::x86::select) fn shuffle_vector_masks(
        &mut self,
        [a, b]: [VReg; 2],
        count: u32,
        to: u32,
        lanes: &[u32],
    ) -> VReg {
        let widest = self.masks.lane_bytes(a).max(self.masks.lane_bytes(b));
        let bytes = widest.min(32 / to.max(count).next_power_of_two().max(4));
        let (first, second) = (self.mask_of_width(a, count, bytes), self.mask_of_width(b, count, bytes));
        let vector = |lanes| Type::vector(int_of(bytes), lanes);
        let result = self.shuffle(first, second, vector(count), vector(to), lanes);
        // A copy of the register may already be a mask.
        self.as_mask(result, bytes)
    }

    // -- masked accesses --

    /// A mask for the lanes of a type; all other lanes of the register are false.
    fn lanes_of_access(&mut self, mask: clift_kir::Value, ty: Type) -> VReg {
        let bytes = ty.elem.bytes();
        let register = self.mask_lanes(mask, bytes);
        if ty.bits() >= 128 {
            return register;
        }
        let held = 16 / bytes;
        let lanes: Vec<u64> = (0..held).map(|lane| if lane < ty.lanes() { u64::MAX } else { 0 }).collect();
        let within = self.vector_constant(&ConstData::new(Type::vector(int_of(bytes), held), &lanes));
        self.v2(t::VPANDD, OperandSize::X, register, RegMem::Register(within))
    }

    pub(in crate::codegen::x86::select) fn vector_masked_load(&mut self, inst: Inst) {
        let args = &self.legal.dfg.inst(inst).args;
        let ty = self.result_type(inst);
        let (address, mask) = (self.address(args[0]), self.lanes_of_access(args[1], ty));
        let row = if ty.elem.bytes() == 8 { t::VMASKMOVPD } else { t::VMASKMOVPS };
        let mut value = self.v2(row, size(ty), mask, RegMem::Memory(address));
        if self.constant(args[2]).is_none_or(|data| data.as_splat() != Some(0)) {
            let other = self.get(args[2]);
            value = self.vector_blend(ty, mask, value, other);
        }
        self.set(inst, value);
    }

    pub(in crate::codegen::x86::select) fn vector_masked_store(&mut self, inst: Inst) {
        let args = &self.legal.dfg.inst(inst).args;
        let ty = self.arg_type(inst, 1);
        let (address, value) = (self.address(args[0]), self.get(args[1]));
        let mask = self.lanes_of_access(args[2], ty);
        let row = if ty.elem.bytes() == 8 { t::VMASKMOVPD_TO } else { t::VMASKMOVPS_TO };
        let more = ExtraOperands { second: Some(mask), ..ExtraOperands::default() };
        self.push_row(row, size(ty), None, Some(value), NO_DIGIT, RegMem::Memory(address), more);
    }
}
