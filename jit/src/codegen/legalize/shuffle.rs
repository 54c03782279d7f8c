//! Shuffles of values in several parts, as few shuffles of two registers each, in patterns that vector units have instructions
//! for.
//!
//! Arrays of structures are the important case: each part of a result takes lanes from as many parts as the structure has
//! members. With 32-bit words, any four lanes need at most three shuffles; each takes the lower half from one register and the
//! upper half from another. Transpositions share all but the last of them. Smaller elements are first sorted within each register
//! so that whole words move. If the vector unit can select any lanes of two registers in one instruction, each further register
//! takes one shuffle; but lanes at even distances are halved step by step into even and odd ones, which the other components of
//! the same structures share.

use clift_kir::dfg::ConstData;
use clift_kir::{Elem, Imm, Inst, Opcode, Type, Value};
use smallvec::SmallVec;

use super::{Legalizer, SplitValue, carrier};

/// The source of a lane of a shuffle's result: the index of a part, counted over both operands, and the lane in it. `None` if the
/// lane is unused.
type LaneSource = Option<(usize, u32)>;

/// A lane of a register.
type RegisterLane = (Value, u32);

impl Legalizer<'_> {
    pub(super) fn shuffle_inst(&mut self, inst: Inst) {
        let old = self.old;
        let data = old.dfg.inst(inst);
        let Imm::Lanes(numbers) = &data.imm else { unreachable!("broken invariant: shuffle without lanes") };
        if let Some(split) = self.strided_lanes(data.args[0], numbers) {
            return self.set(inst, split);
        }
        let (a, b) = (self.get(data.args[0]), self.get(data.args[1]));
        let b = self.regroup(&b, a.chunk);
        let lanes = a.ty.lanes();
        let sources: Vec<LaneSource> = numbers
            .iter()
            .map(|&number| {
                let number = u32::from(number);
                let (first, number) = if number < lanes { (0, number) } else { (a.parts.len(), number - lanes) };
                Some((first + (number / a.chunk) as usize, number % a.chunk))
            })
            .collect();
        let parts: SmallVec<[Value; 8]> = a.parts.iter().chain(&b.parts).copied().collect();
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        let split = self.gather_lanes(ty, &parts, a.chunk, &sources);
        self.set(inst, split);
    }

    /// Lanes of one value at a constant even distance, if they come from more than two registers.
    fn strided_lanes(&mut self, value: Value, numbers: &[u8]) -> Option<SplitValue> {
        let ty = self.old.dfg.ty(value);
        let (&[first, second, ..], true) = (numbers, self.caps.any_shuffle && !ty.is_bool()) else { return None };
        let (mut offset, mut step) = (u32::from(first), u32::from(second.checked_sub(first)?));
        let regular = numbers.iter().zip(0..).all(|(&number, i)| u32::from(number) == offset + i * step);
        if !regular || u32::from(*numbers.last()?) >= ty.lanes() {
            return None;
        }
        let chunk = self.caps.part_lanes(ty);
        if chunk * ty.elem.bits() != self.caps.register_bits {
            return None;
        }
        let mut half = (1, 0);
        let mut split = self.get(value);
        while step.is_multiple_of(2) && split.parts.len() > 2 {
            half = (2 * half.0, half.1 + half.0 * (offset % 2));
            split = match self.halves.get(&(value, half)) {
                Some(known) => known.clone(),
                None => {
                    let made = self.every_other_lane(&split, offset % 2);
                    self.halves.insert((value, half), made.clone());
                    made
                }
            };
            (offset, step) = (offset / 2, step / 2);
        }
        if half.0 == 1 {
            return None;
        }
        let sources: Vec<LaneSource> = (0..numbers.len() as u32)
            .map(|i| {
                let lane = offset + i * step;
                Some(((lane / split.chunk) as usize, lane % split.chunk))
            })
            .collect();
        Some(self.gather_lanes(ty.with_lanes(numbers.len() as u32), &split.parts, split.chunk, &sources))
    }

    /// Every second lane, starting with the lane `first` (0 or 1).
    pub(super) fn every_other_lane(&mut self, split: &SplitValue, first: u32) -> SplitValue {
        let split = self.regroup(split, self.caps.part_lanes(split.ty));
        let ty = split.ty.with_lanes((split.ty.lanes() + 1 - first) / 2);
        let sources: Vec<LaneSource> = (0..ty.lanes())
            .map(|i| {
                let lane = 2 * i + first;
                Some(((lane / split.chunk) as usize, lane % split.chunk))
            })
            .collect();
        self.gather_lanes(ty, &split.parts, split.chunk, &sources)
    }

    /// A value whose lanes come from given lanes of parts, which have `from` lanes each.
    pub(super) fn gather_lanes(&mut self, ty: Type, parts: &[Value], from: u32, sources: &[LaneSource]) -> SplitValue {
        let chunk = self.caps.part_lanes(ty);
        let native = from > 1 && chunk > 1;
        if !native || !(self.caps.native)(Opcode::Shuffle, &Imm::None, carrier(ty.elem), carrier(ty.elem)) {
            let mut last = None;
            let lanes: Vec<Value> = sources
                .iter()
                .map(|&source| {
                    let (part, lane) = source.unwrap_or((0, 0));
                    let value = match (source, last) {
                        (None, Some(value)) => value,
                        _ => self.part_lane(parts[part], lane),
                    };
                    last = Some(value);
                    value
                })
                .collect();
            return self.join_lanes(ty, &lanes);
        }
        let result =
            sources.chunks(chunk as usize).map(|wanted| self.gather_part(parts, from, chunk, wanted)).collect();
        SplitValue { ty, chunk, parts: result }
    }

    /// One part of `chunk` lanes; `wanted` has the sources of the first of them.
    fn gather_part(&mut self, parts: &[Value], from: u32, chunk: u32, wanted: &[LaneSource]) -> Value {
        // A part that is used unchanged.
        let whole = |i: usize, source: &LaneSource| match (wanted[0], *source) {
            (Some((first, 0)), Some((part, lane))) => part == first && lane == i as u32,
            (Some((_, 0)), None) => true,
            _ => false,
        };
        if from == chunk && wanted.iter().enumerate().all(|(i, source)| whole(i, source)) {
            return parts[wanted[0].map_or(0, |(part, _)| part)];
        }
        let elem = self.new.dfg.ty(parts[0]).elem;
        let full = elem != Elem::B1 && from * elem.bits() == self.caps.register_bits;
        if !self.caps.any_shuffle && full && chunk <= from {
            let whole = self.gather_register(parts, elem, wanted);
            if chunk == from {
                return whole;
            }
            let first: SmallVec<[u8; 16]> = (0..chunk as u8).collect();
            return self.at().shuffle(whole, whole, &first);
        }
        let mut used: SmallVec<[usize; 4]> = SmallVec::new();
        for &(part, _) in wanted.iter().flatten() {
            if !used.iter().any(|&u| parts[u] == parts[part]) {
                used.push(part);
            }
        }
        let position = |part: usize| used.iter().position(|&u| parts[u] == parts[part]).unwrap_or(0) as u32;
        // Unused lanes repeat their own number, which keeps the pattern simple.
        let lane_of = |i: u32, bases: &dyn Fn(usize, u32) -> Option<u32>| -> u8 {
            match wanted.get(i as usize).copied().flatten() {
                Some((part, lane)) => bases(part, lane).unwrap_or(i % from) as u8,
                None => (i % from) as u8,
            }
        };
        match *used {
            [] => parts[0],
            [one] => {
                let lanes: SmallVec<[u8; 16]> = (0..chunk).map(|i| lane_of(i, &|_, lane| Some(lane))).collect();
                self.at().shuffle(parts[one], parts[one], &lanes)
            }
            [_, _, _, ..] if from > chunk => {
                // Shuffle at the width of the operands, then take the first lanes.
                let whole = self.gather_part(parts, from, from, wanted);
                let first: SmallVec<[u8; 16]> = (0..chunk as u8).collect();
                self.at().shuffle(whole, whole, &first)
            }
            [one, two, ..] => {
                let first = |part: usize, lane: u32| match position(part) {
                    0 => Some(lane),
                    1 => Some(from + lane),
                    _ => None,
                };
                let lanes: SmallVec<[u8; 16]> = (0..chunk).map(|i| lane_of(i, &first)).collect();
                let mut value = self.at().shuffle(parts[one], parts[two], &lanes);
                // Each further part adds its lanes.
                for (n, &part) in used.iter().enumerate().skip(2) {
                    let extra = if from == chunk {
                        parts[part]
                    } else {
                        let lanes: SmallVec<[u8; 16]> = (0..chunk).map(|i| (i % from) as u8).collect();
                        self.at().shuffle(parts[part], parts[part], &lanes)
                    };
                    let lanes: SmallVec<[u8; 16]> = (0..chunk)
                        .map(|i| match wanted.get(i as usize).copied().flatten() {
                            Some((p, lane)) if position(p) as usize == n => (chunk + lane) as u8,
                            _ => i as u8,
                        })
                        .collect();
                    value = self.at().shuffle(value, extra, &lanes);
                }
                value
            }
        }
    }

    /// A full register with the given lanes of full registers.
    fn gather_register(&mut self, parts: &[Value], elem: Elem, wanted: &[LaneSource]) -> Value {
        let count = (self.caps.register_bits / elem.bits()) as usize;
        let wanted: SmallVec<[Option<RegisterLane>; 16]> =
            (0..count).map(|i| wanted.get(i).copied().flatten().map(|(part, lane)| (parts[part], lane))).collect();
        let used = registers(&wanted);
        if used.len() <= 2 && (used.len() < 2 || count == 2 || is_cheap(&wanted, &used, elem.bytes())) {
            return self.two_registers(&wanted, &used, parts[0]);
        }
        if elem.bytes() == 4 {
            return self.four_words(&wanted);
        }
        if let Some(words) = self.as_words(&wanted, elem) {
            let whole = self.gather_words(&words);
            return self.at().cast(Opcode::Bitcast, whole, Type::vector(elem, count as u32));
        }
        // Extract the lanes of each register, with zeros elsewhere, and combine them.
        let ty = Type::vector(elem, count as u32);
        let zero = self.at().constant(ConstData::splat(ty, 0));
        let mut whole = None;
        for &register in &used {
            let numbers: SmallVec<[u8; 16]> = wanted
                .iter()
                .map(|lane| match lane {
                    &Some((from, lane)) if from == register => lane as u8,
                    _ => count as u8,
                })
                .collect();
            let some = self.at().shuffle(register, zero, &numbers);
            whole = Some(match whole {
                None => some,
                Some(whole) => self.at().int2(Opcode::Or, whole, some),
            });
        }
        whole.unwrap_or(zero)
    }

    /// A single shuffle of at most two registers. Unused lanes keep their place.
    fn two_registers(&mut self, wanted: &[Option<RegisterLane>], used: &[Value], nothing: Value) -> Value {
        let a = used.first().copied().unwrap_or(nothing);
        let b = used.get(1).copied().unwrap_or(a);
        let count = wanted.len() as u32;
        let numbers: SmallVec<[u8; 16]> = wanted
            .iter()
            .zip(0..)
            .map(|(lane, i)| match *lane {
                Some((from, lane)) => (if from == a { lane } else { count + lane }) as u8,
                None => i,
            })
            .collect();
        if numbers.iter().zip(0..).all(|(&number, i)| number == i) { a } else { self.at().shuffle(a, b, &numbers) }
    }

    /// Any words of any registers, as integers.
    fn gather_words(&mut self, wanted: &[Option<RegisterLane>]) -> Value {
        let used = registers(wanted);
        if used.len() <= 2 && (used.len() < 2 || is_cheap(wanted, &used, 4)) {
            return self.two_registers(wanted, &used, used[0]);
        }
        self.four_words(wanted)
    }

    /// Four words of more than two registers, or of two without a simple pattern.
    fn four_words(&mut self, wanted: &[Option<RegisterLane>]) -> Value {
        let (low, one, two) = self.pair(wanted[0], wanted[1]);
        let (high, three, four) = self.pair(wanted[2], wanted[3]);
        match (low, high) {
            (Some(low), Some(high)) => self.at().shuffle(low, high, &[one, two, 4 + three, 4 + four]),
            (Some(low), None) => self.at().shuffle(low, low, &[one, two, 2, 3]),
            (None, Some(high)) => self.at().shuffle(high, high, &[0, 1, three, four]),
            (None, None) => unreachable!("broken invariant: shuffle of nothing"),
        }
    }

    /// A register that contains two given words, and their lanes in it.
    fn pair(&mut self, one: Option<RegisterLane>, two: Option<RegisterLane>) -> (Option<Value>, u8, u8) {
        let (one, two) = match (one, two) {
            (Some(one), Some(two)) => (one, two),
            (Some(lane), None) | (None, Some(lane)) => (lane, lane),
            (None, None) => return (None, 0, 0),
        };
        let ((a, i), (b, k)) = (one, two);
        if a == b {
            return (Some(a), i as u8, k as u8);
        }
        let mut at = self.at();
        match (i, k) {
            // Interleaved halves; transpositions share these.
            (0 | 1, _) if i == k => (Some(at.shuffle(a, b, &[0, 4, 1, 5])), 2 * i as u8, 2 * i as u8 + 1),
            (2 | 3, _) if i == k => (Some(at.shuffle(a, b, &[2, 6, 3, 7])), 2 * (i as u8 - 2), 2 * (i as u8 - 2) + 1),
            _ => (Some(at.shuffle(a, b, &[i as u8, i as u8, 4 + k as u8, 4 + k as u8])), 0, 2),
        }
    }

    /// Bytes or 16-bit lanes as 32-bit words. Possible if each word of the result is one word of a register, or becomes one when
    /// the lanes of every register are sorted by their remainder modulo the same number.
    fn as_words(
        &mut self,
        wanted: &[Option<RegisterLane>],
        elem: Elem,
    ) -> Option<SmallVec<[Option<RegisterLane>; 16]>> {
        let (count, per) = (wanted.len() as u32, 4 / elem.bytes());
        let mut stride = None;
        let mut words: SmallVec<[Option<RegisterLane>; 16]> = SmallVec::new();
        for group in wanted.chunks(per as usize) {
            let Some((register, first)) = group[0] else {
                if group.iter().any(Option::is_some) {
                    return None;
                }
                words.push(None);
                continue;
            };
            let step = match group[1] {
                Some((_, second)) if second > first => second - first,
                _ => return None,
            };
            let regular = (0..).zip(group).all(|(i, lane)| *lane == Some((register, first + i * step)));
            let known = stride.is_none_or(|stride| stride == step);
            if !regular || !known || !step.is_power_of_two() {
                return None;
            }
            stride = Some(step);
            let place = (first % step) * (count / step) + first / step;
            if place % per != 0 {
                return None;
            }
            words.push(Some((register, place / per)));
        }
        let stride = stride?;
        let sorted: SmallVec<[u8; 16]> =
            (0..stride).flat_map(|rest| (0..count / stride).map(move |i| (i * stride + rest) as u8)).collect();
        let word = Type::vector(Elem::I32, count / per);
        let mut as_word = |register: Value| {
            let sorted = if stride == 1 { register } else { self.at().shuffle(register, register, &sorted) };
            self.at().cast(Opcode::Bitcast, sorted, word)
        };
        let known: Vec<(Value, Value)> = registers(wanted).iter().map(|&r| (r, as_word(r))).collect();
        for (register, _) in words.iter_mut().flatten() {
            if let Some(&(_, word)) = known.iter().find(|(from, _)| from == register) {
                *register = word;
            }
        }
        Some(words)
    }
}

/// The registers that the lanes come from, in order of first use.
fn registers(wanted: &[Option<RegisterLane>]) -> SmallVec<[Value; 4]> {
    let mut used: SmallVec<[Value; 4]> = SmallVec::new();
    for &(register, _) in wanted.iter().flatten() {
        if !used.contains(&register) {
            used.push(register);
        }
    }
    used
}

/// Whether vector units have a single instruction for a shuffle of two registers.
fn is_cheap(wanted: &[Option<RegisterLane>], used: &[Value], elem_bytes: u32) -> bool {
    let count = wanted.len() as u32;
    // Lane numbers of the shuffle: lanes of the second register follow those of the first.
    let number = |i: u32| wanted[i as usize].map(|(from, lane)| if from == used[0] { lane } else { count + lane });
    let all = |expected: &dyn Fn(u32) -> u32| (0..count).all(|i| number(i).is_none_or(|n| n == expected(i)));
    // A blend: some lanes of each register, all in their places.
    let blended = elem_bytes >= 2 && (0..count).all(|i| number(i).is_none_or(|n| n % count == i));
    // A window of both registers, one after the other.
    let window = number(0).is_some_and(|first| all(&|i| first + i));
    // Lower or upper halves of both registers, interleaved in units of one or more lanes.
    let units = (0..).map(|log| 1u32 << log).take_while(|&unit| unit < count);
    let mut interleaved = units.flat_map(|unit| [0, count / 2].map(|base| (unit, base))).map(|(unit, base)| {
        all(&|i| {
            let (block, within) = (i / unit, i % unit);
            base + block / 2 * unit + within + if block % 2 == 1 { count } else { 0 }
        })
    });
    // Each half from one register, in words.
    let half = |from: u32| {
        let mut second = (from..from + 2).filter_map(number).map(|n| n >= count);
        second.next().is_none_or(|first| second.all(|other| other == first))
    };
    let halves = elem_bytes == 4 && half(0) && half(2);
    blended || window || halves || interleaved.any(|found| found)
}
