//! Movement between lanes: changing the size of parts, selection, dynamic lanes, tests of masks, reductions.

use clift_kir::dfg::ConstData;
use clift_kir::{Elem, Imm, Inst, MemInfo, Opcode, Type, Value};
use smallvec::SmallVec;

use super::{Legalizer, SplitValue, carrier, without_flags};

impl Legalizer<'_> {
    /// One lane as a scalar.
    pub(super) fn lane(&mut self, split: &SplitValue, lane: u32) -> Value {
        self.part_lane(split.parts[(lane / split.chunk) as usize], lane % split.chunk)
    }

    /// One lane of a part. If the part was made of scalars, this is the scalar itself.
    pub(super) fn part_lane(&mut self, part: Value, lane: u32) -> Value {
        let ty = self.new.dfg.ty(part);
        if !ty.is_vector() {
            return part;
        }
        if let Some(def) = self.new.dfg.def_inst(part) {
            let data = self.new.dfg.inst(def);
            match (data.op, &data.imm) {
                (Opcode::Vec, _) => return data.args[lane as usize],
                (Opcode::Splat, _) => return data.args[0],
                (Opcode::Const, &Imm::Const(id)) => {
                    let bits = self.new.dfg.constant(id).lane(lane);
                    return self.at().iconst(ty.lane(), bits as i64);
                }
                _ => {}
            }
        }
        self.at().extract(part, lane)
    }

    /// All lanes as scalars.
    pub(super) fn lanes(&mut self, split: &SplitValue) -> Vec<Value> {
        (0..split.ty.lanes()).map(|lane| self.lane(split, lane)).collect()
    }

    /// A value made of scalars, one per lane.
    pub(super) fn join_lanes(&mut self, ty: Type, lanes: &[Value]) -> SplitValue {
        self.join_in_parts(ty, lanes, self.caps.part_lanes(ty))
    }

    /// As [`Self::join_lanes`], in parts of `chunk` lanes. Unused lanes repeat the last lane.
    fn join_in_parts(&mut self, ty: Type, lanes: &[Value], chunk: u32) -> SplitValue {
        let parts = lanes
            .chunks(chunk as usize)
            .map(|part| {
                let mut part: SmallVec<[Value; 16]> = part.iter().copied().collect();
                let last = part[part.len() - 1];
                part.resize(chunk as usize, last);
                if part.len() > 1 && part.iter().all(|&lane| lane == part[0]) {
                    self.at().splat(part[0], chunk)
                } else {
                    self.at().vec(&part)
                }
            })
            .collect();
        SplitValue { ty, chunk, parts }
    }

    /// The same value in parts of `chunk` lanes.
    pub(super) fn regroup(&mut self, split: &SplitValue, chunk: u32) -> SplitValue {
        if split.chunk == chunk {
            return split.clone();
        }
        let count = split.ty.lanes().div_ceil(chunk);
        let parts: SmallVec<[Value; 4]> = if chunk < split.chunk {
            (0..count)
                .map(|part| {
                    let first = part * chunk;
                    let from = split.parts[(first / split.chunk) as usize];
                    let lane = first % split.chunk;
                    if chunk == 1 {
                        self.part_lane(from, lane)
                    } else if let Some(&splat) = self.splat_operand(from) {
                        self.at().splat(splat, chunk)
                    } else if let Some(data) = self.new.dfg.as_const(from) {
                        // Constants stay constants: a shift by the same count in all lanes has to remain recognizable.
                        let bits: SmallVec<[u64; 16]> = (lane..lane + chunk).map(|l| data.lane(l)).collect();
                        let data = ConstData::new(data.ty.with_lanes(chunk), &bits);
                        self.at().constant(data)
                    } else {
                        let lanes: SmallVec<[u8; 16]> = (lane..lane + chunk).map(|l| l as u8).collect();
                        self.at().shuffle(from, from, &lanes)
                    }
                })
                .collect()
        } else if split.chunk == 1 {
            return self.join_in_parts(split.ty, &split.parts, chunk);
        } else if let Some(complement) = self.complement(split) {
            // The complement of the whole is one op, and often folds away.
            let joined = self.regroup(&complement, chunk);
            return self.lanewise(Opcode::Not, &Imm::None, &[joined], split.ty);
        } else {
            let mut parts: SmallVec<[Value; 4]> = split.parts.clone();
            let mut lanes = split.chunk;
            while lanes < chunk {
                let joined: SmallVec<[u8; 32]> = (0..2 * lanes as u8).collect();
                parts = parts
                    .chunks(2)
                    .map(|pair| {
                        let second = pair[pair.len() - 1];
                        match (self.splat_operand(pair[0]).copied(), self.joined_constants(pair[0], second)) {
                            (Some(splat), _) if pair.len() == 1 => self.at().splat(splat, 2 * lanes),
                            (_, Some(constant)) => self.at().constant(constant),
                            (_, None) => self.at().shuffle(pair[0], second, &joined),
                        }
                    })
                    .collect();
                lanes *= 2;
            }
            parts
        };
        debug_assert_eq!(parts.len() as u32, count);
        SplitValue { ty: split.ty, chunk, parts }
    }

    /// The lanes of two constant parts as one constant.
    fn joined_constants(&self, first: Value, second: Value) -> Option<ConstData> {
        let (first, second) = (self.new.dfg.as_const(first)?, self.new.dfg.as_const(second)?);
        let lanes: SmallVec<[u64; 32]> =
            [first, second].iter().flat_map(|part| (0..part.ty.lanes()).map(|lane| part.lane(lane))).collect();
        Some(ConstData::new(first.ty.with_lanes(2 * first.ty.lanes()), &lanes))
    }

    /// The value that a mask is the complement of, part by part.
    fn complement(&self, split: &SplitValue) -> Option<SplitValue> {
        let dfg = &self.new.dfg;
        let inner = |&part: &Value| {
            let data = dfg.inst(dfg.def_inst(part)?);
            (data.op == Opcode::Not).then(|| data.args[0])
        };
        let parts: Option<SmallVec<[Value; 4]>> = split.parts.iter().map(inner).collect();
        let parts = parts.filter(|_| split.ty.is_bool())?;
        Some(SplitValue { parts, ..split.clone() })
    }

    /// Whether every part has the same value in all its lanes. The parts may differ.
    pub(super) fn has_splat_parts(&self, split: &SplitValue) -> bool {
        split.parts.iter().all(|&part| self.splat_operand(part).is_some() || self.new.dfg.as_splat_bits(part).is_some())
    }

    /// Whether all lanes have the same value.
    pub(super) fn is_splat(&self, split: &SplitValue) -> bool {
        let scalar = self.splat_operand(split.parts[0]);
        let is_shared = scalar.is_some() && split.parts.iter().all(|&part| self.splat_operand(part) == scalar);
        is_shared || self.constant_of_splat(split).is_some()
    }

    /// The bits of a constant that has the same bits in all lanes.
    pub(super) fn constant_of_splat(&self, split: &SplitValue) -> Option<u64> {
        let bits = self.new.dfg.as_splat_bits(split.parts[0])?;
        split.parts.iter().all(|&part| self.new.dfg.as_splat_bits(part) == Some(bits)).then_some(bits)
    }

    /// One lane of a value that is the same in all lanes.
    pub(super) fn scalar_of_splat(&mut self, split: &SplitValue) -> SplitValue {
        let lane = self.lane(split, 0);
        SplitValue::scalar(split.ty.lane(), lane)
    }

    /// A scalar in all lanes.
    pub(super) fn splat_value(&mut self, value: Value, ty: Type) -> SplitValue {
        let chunk = self.caps.part_lanes(ty);
        let part = self.at().splat(value, chunk);
        SplitValue { ty, chunk, parts: std::iter::repeat_n(part, ty.lanes().div_ceil(chunk) as usize).collect() }
    }

    fn splat_operand(&self, part: Value) -> Option<&Value> {
        let data = self.new.dfg.inst(self.new.dfg.def_inst(part)?);
        (data.op == Opcode::Splat).then(|| &data.args[0])
    }

    /// `a` where the mask is true, else `b`.
    pub(super) fn select(&mut self, mask: &SplitValue, a: &SplitValue, b: &SplitValue) -> SplitValue {
        let ty = a.ty;
        let natural = if ty.is_bool() { mask.chunk } else { self.caps.part_lanes(ty) };
        let native = natural > 1 && (self.caps.native)(Opcode::Select, &Imm::None, Elem::B1, carrier(ty.elem));
        let chunk = if native { natural } else { 1 };
        let (mask, a, b) = (self.regroup(mask, chunk), self.regroup(a, chunk), self.regroup(b, chunk));
        let parts: SmallVec<[Value; 4]> =
            (0..a.parts.len()).map(|i| self.at().select(mask.parts[i], a.parts[i], b.parts[i])).collect();
        let split = SplitValue { ty, chunk, parts };
        if native { split } else { self.regroup(&split, natural) }
    }

    pub(super) fn select_inst(&mut self, inst: Inst) {
        let [cond, a, b] = &self.operands(inst)[..] else { unreachable!("broken invariant: select") };
        let split = if cond.ty.is_vector() || !a.ty.is_vector() {
            self.select(cond, a, b)
        } else {
            // One condition for all lanes. The parts of masks may have different sizes.
            let b = self.regroup(b, a.chunk);
            let cond = cond.only();
            let parts = (0..a.parts.len()).map(|i| self.at().select(cond, a.parts[i], b.parts[i])).collect();
            SplitValue { parts, ..a.clone() }
        };
        self.set(inst, split);
    }

    pub(super) fn bitcast_inst(&mut self, inst: Inst) {
        let split = self.get(self.old.dfg.inst(inst).args[0]);
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        let split = self.bitcast(&split, ty);
        self.set(inst, split);
    }

    /// The same bits as another type.
    pub(super) fn bitcast(&mut self, split: &SplitValue, ty: Type) -> SplitValue {
        let (from, to) = (carrier(split.ty.elem), carrier(ty.elem));
        let split = &self.regroup(split, self.caps.part_lanes(split.ty));
        if from == to {
            return SplitValue { ty, ..split.clone() };
        }
        let chunk = self.caps.part_lanes(ty);
        if split.chunk * from.bits() == chunk * to.bits() {
            let part_type = self.part_type(ty.elem, chunk);
            let parts = split.parts.iter().map(|&part| self.at().cast(Opcode::Bitcast, part, part_type)).collect();
            return SplitValue { ty, chunk, parts };
        }
        // The parts have different sizes: go through integer lanes, joined or split.
        let lanes = self.lanes(split);
        let int = Type::scalar(from.as_int());
        let lanes: Vec<Value> = lanes
            .iter()
            .map(|&lane| if from == int.elem { lane } else { self.at().cast(Opcode::Bitcast, lane, int) })
            .collect();
        let target = to.as_int();
        let target_ty = Type::scalar(target);
        let ints: Vec<Value> = if from.bits() < to.bits() {
            let per = (to.bits() / from.bits()) as usize;
            lanes
                .chunks(per)
                .map(|pieces| {
                    let mut whole = self.at().int_resize(pieces[0], target, false);
                    for (i, &piece) in pieces.iter().enumerate().skip(1) {
                        let mut at = self.at();
                        let split = at.int_resize(piece, target, false);
                        let count = at.iconst(target_ty, i64::from(from.bits()) * i as i64);
                        let shifted = at.int2(Opcode::Shl, split, count);
                        whole = at.int2(Opcode::Or, whole, shifted);
                    }
                    whole
                })
                .collect()
        } else {
            let per = from.bits() / to.bits();
            let mut ints = Vec::new();
            for &lane in &lanes {
                for i in 0..per {
                    let mut at = self.at();
                    let shifted = if i == 0 {
                        lane
                    } else {
                        let count = at.iconst(int, i64::from(to.bits() * i));
                        at.int2(Opcode::Lshr, lane, count)
                    };
                    ints.push(at.int_resize(shifted, target, false));
                }
            }
            ints
        };
        let lanes: Vec<Value> = ints
            .iter()
            .map(|&int| if to == target { int } else { self.at().cast(Opcode::Bitcast, int, Type::scalar(to)) })
            .collect();
        self.join_lanes(ty, &lanes)
    }

    pub(super) fn splat_inst(&mut self, inst: Inst) {
        let value = self.get_scalar(self.old.dfg.inst(inst).args[0]);
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        let split = self.splat_value(value, ty);
        self.set(inst, split);
    }

    pub(super) fn extract_inst(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let Imm::Lane(lane) = data.imm else { unreachable!("broken invariant: extract without a lane") };
        let split = self.get(data.args[0]);
        let value = self.lane(&split, u32::from(lane));
        self.set(inst, SplitValue::scalar(split.ty.lane(), value));
    }

    pub(super) fn insert_inst(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let Imm::Lane(lane) = data.imm else { unreachable!("broken invariant: insert without a lane") };
        let mut split = self.get(data.args[0]);
        let value = self.get_scalar(data.args[1]);
        let (part, lane) = (u32::from(lane) / split.chunk, u32::from(lane) % split.chunk);
        split.parts[part as usize] = self.part_insert(split.parts[part as usize], value, lane);
        self.set(inst, split);
    }

    /// A part with one lane replaced.
    fn part_insert(&mut self, part: Value, value: Value, lane: u32) -> Value {
        if let Some(def) = self.new.dfg.def_inst(part) {
            let data = self.new.dfg.inst(def);
            if data.op == Opcode::Vec {
                let mut lanes = data.args.clone();
                lanes[lane as usize] = value;
                return self.at().vec(&lanes);
            }
        }
        self.at().insert(part, value, lane)
    }

    pub(super) fn vec_inst(&mut self, inst: Inst) {
        let lanes: Vec<Value> = self.old.dfg.inst(inst).args.iter().map(|&arg| self.get_scalar(arg)).collect();
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        let split = self.join_lanes(ty, &lanes);
        self.set(inst, split);
    }

    /// Stores a vector to the stack. Returns the address of its first lane.
    pub(super) fn spill(&mut self, split: &SplitValue) -> Value {
        let bytes = carrier(split.ty.elem).bytes();
        let size = u64::from(bytes * split.chunk) * split.parts.len() as u64;
        let slot = self.stack(size.next_power_of_two(), 16);
        let base = self.at().slot_addr(slot);
        for (i, &part) in split.parts.iter().enumerate() {
            let disp = i64::from(bytes * split.chunk) * i as i64;
            let mut at = self.at();
            let address = at.addr(base, None, 1, disp);
            at.store(address, part, MemInfo::aligned((bytes * split.chunk).min(16)));
        }
        base
    }

    /// The address of a dynamic lane. The number is taken modulo the number of lanes; three lanes count as four, and the slot is
    /// large enough for that.
    fn spilled_lane(&mut self, split: &SplitValue, base: Value, lane: Value) -> Value {
        let lanes = if split.ty.lanes() == 3 { 4 } else { split.ty.lanes() };
        let mut at = self.at();
        let lane = if lanes.is_power_of_two() {
            let mask = at.iconst(Type::I32, i64::from(lanes) - 1);
            at.int2(Opcode::And, lane, mask)
        } else {
            let lanes = at.iconst(Type::I32, i64::from(lanes));
            at.int2(Opcode::Urem, lane, lanes)
        };
        let lane = at.cast(Opcode::Zext, lane, Type::I64);
        at.addr(base, Some(lane), u64::from(carrier(split.ty.elem).bytes()), 0)
    }

    pub(super) fn extract_dyn(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let split = self.get(data.args[0]);
        let lane = self.get_scalar(data.args[1]);
        let ty = split.ty.lane();
        if split.ty.is_bool() {
            let bytes = self.extend(&split, Elem::I8, false);
            let byte = self.extract_dyn_value(&bytes, lane);
            let byte = SplitValue::scalar(Type::I8, byte);
            let value = self.compare_bits(clift_kir::IntCond::Ne, &byte, 0);
            self.set(inst, SplitValue { ty, ..value });
            return;
        }
        let value = self.extract_dyn_value(&split, lane);
        self.set(inst, SplitValue::scalar(ty, value));
    }

    fn extract_dyn_value(&mut self, split: &SplitValue, lane: Value) -> Value {
        let base = self.spill(split);
        let address = self.spilled_lane(split, base, lane);
        let ty = self.part_type(split.ty.elem, 1);
        self.at().load(ty, address, MemInfo::aligned(ty.bytes()))
    }

    pub(super) fn insert_dyn(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let split = self.get(data.args[0]);
        let element = self.get(data.args[1]);
        let lane = self.get_scalar(data.args[2]);
        // Each lane compares its number with the requested one.
        let ty = split.ty;
        let number_ty = Type::vector(Elem::I32, ty.lanes());
        let numbers =
            self.constant(&clift_kir::dfg::ConstData::new(number_ty, &(0..u64::from(ty.lanes())).collect::<Vec<_>>()));
        let wanted = self.splat_value(lane, number_ty);
        let mask = self.compare(clift_kir::IntCond::Eq, &numbers, &wanted);
        let element = self.splat_value(element.only(), ty);
        let split = self.select(&mask, &element, &split);
        self.set(inst, split);
    }

    /// Lanes of a table. If it is constant and the backend has an instruction for it, each register of the table is looked up,
    /// and the upper bits of the numbers choose among the results.
    pub(super) fn lookup(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let (table, numbers) = (data.args[0], self.get(data.args[1]));
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        let elem = carrier(ty.elem);
        let constant = self.old.dfg.as_const(table).cloned();
        let Some(constant) = constant.filter(|_| (self.caps.native)(Opcode::Lookup, &Imm::None, elem, elem)) else {
            return self.lookup_lane_by_lane(inst);
        };
        let (held, lanes) = (self.caps.register_bits / elem.bits(), constant.ty.lanes());
        let part_type = self.part_type(elem, held);
        let chunk = self.caps.part_lanes(ty);
        let parts = self.regroup(&numbers, chunk).parts;
        let result_type = self.part_type(elem, chunk);
        let mut found: Vec<SplitValue> = (0..lanes.div_ceil(held))
            .map(|piece| {
                // A short table is repeated: numbers count modulo its length.
                let bits: Vec<u64> = (0..held).map(|lane| constant.lane((piece * held + lane) % lanes)).collect();
                let piece = self.at().constant(ConstData::new(part_type, &bits));
                let found = |&part: &Value| self.emit(Opcode::Lookup, &[piece, part], Imm::None, result_type);
                SplitValue { ty, chunk, parts: parts.iter().map(found).collect() }
            })
            .collect();
        let mut bit = u64::from(held);
        while found.len() > 1 {
            let is_upper = self.op2_bits(Opcode::And, &numbers, bit);
            let is_upper = self.compare_bits(clift_kir::IntCond::Ne, &is_upper, 0);
            found = found.chunks(2).map(|pair| self.select(&is_upper, &pair[1], &pair[0])).collect();
            bit *= 2;
        }
        let found = found.swap_remove(0);
        self.set(inst, found);
    }

    fn lookup_lane_by_lane(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let (table, numbers) = (self.get(data.args[0]), self.get(data.args[1]));
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        let lane_type = self.part_type(ty.elem, 1);
        let base = self.spill(&table);
        let lanes: Vec<Value> = (0..ty.lanes())
            .map(|lane| {
                let number = self.lane(&numbers, lane);
                let number = self.at().int_resize(number, Elem::I32, false);
                let address = self.spilled_lane(&table, base, number);
                self.at().load(lane_type, address, MemInfo::aligned(lane_type.bytes()))
            })
            .collect();
        let split = self.join_lanes(ty, &lanes);
        self.set(inst, split);
    }

    pub(super) fn mask_test(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let split = self.get(data.args[0]);
        let value = self.test_mask(data.op, &split);
        self.set(inst, SplitValue::scalar(Type::B1, value));
    }

    /// Whether any lane or all lanes of a mask are true.
    pub(super) fn test_mask(&mut self, op: Opcode, split: &SplitValue) -> Value {
        let any = op == Opcode::Any;
        let join = if any { Opcode::Or } else { Opcode::And };
        let mut whole: Option<Value> = None;
        let last = split.parts.len() - 1;
        for (i, &part) in split.parts.iter().enumerate() {
            let used = split.used(i);
            let part = if used == split.chunk {
                part
            } else {
                debug_assert_eq!(i, last);
                // Unused lanes repeat the first lane, which changes neither answer.
                let lanes: SmallVec<[u8; 16]> =
                    (0..split.chunk).map(|lane| if lane < used { lane as u8 } else { 0 }).collect();
                self.at().shuffle(part, part, &lanes)
            };
            whole = Some(match whole {
                Some(whole) => self.at().int2(join, whole, part),
                None => part,
            });
        }
        let whole = whole.unwrap_or_else(|| unreachable!("broken invariant: mask without parts"));
        if split.chunk == 1 {
            whole
        } else if any {
            self.at().any(whole)
        } else {
            self.at().all(whole)
        }
    }

    /// The lanes of a mask as bits; the bits of each part follow those of the part before.
    pub(super) fn mask_bits(&mut self, inst: Inst) {
        let split = self.get(self.old.dfg.inst(inst).args[0]);
        let mut whole: Option<Value> = None;
        for (i, &part) in split.parts.iter().enumerate() {
            let used = split.used(i);
            let mut at = self.at();
            let mut bits = if split.chunk == 1 { at.cast(Opcode::Zext, part, Type::I64) } else { at.mask_bits(part) };
            if used != split.chunk {
                let wanted = at.iconst(Type::I64, (1 << used) - 1);
                bits = at.int2(Opcode::And, bits, wanted);
            }
            if i > 0 {
                let count = at.iconst(Type::I64, i as i64 * i64::from(split.chunk));
                bits = at.int2(Opcode::Shl, bits, count);
            }
            whole = Some(match whole {
                Some(whole) => at.int2(Opcode::Or, whole, bits),
                None => bits,
            });
        }
        let whole = whole.unwrap_or_else(|| unreachable!("broken invariant: mask without parts"));
        self.set(inst, SplitValue::scalar(Type::I64, whole));
    }

    pub(super) fn reduce(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let Imm::Reduce(how) = data.imm else { unreachable!("broken invariant: reduce without an operation") };
        let split = self.get(data.args[0]);
        let elem = split.ty.lane();
        let Some(op) = how.combines_by() else { unreachable!("broken invariant: reduction by {how:?}") };
        let imm = without_flags(op);
        // Full parts are combined as vectors first if the order does not matter.
        let mut split = split;
        if !elem.is_float()
            && split.chunk > 1
            && split.parts.len() > 1
            && split.used(split.parts.len() - 1) == split.chunk
        {
            let ty = split.ty.with_lanes(split.chunk);
            let mut sum = SplitValue { ty, chunk: split.chunk, parts: SmallVec::from_slice(&[split.parts[0]]) };
            for &part in &split.parts[1..] {
                let part = SplitValue { ty, chunk: split.chunk, parts: SmallVec::from_slice(&[part]) };
                sum = self.lanewise(op, &imm, &[sum, part], ty);
            }
            split = sum;
        }
        let lanes = self.lanes(&split);
        let mut sum = SplitValue::scalar(elem, lanes[0]);
        for &lane in &lanes[1..] {
            let lane = SplitValue::scalar(elem, lane);
            sum = self.lanewise(op, &imm, &[sum, lane], elem);
        }
        self.set(inst, sum);
    }
}
