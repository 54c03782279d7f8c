//! Constants, lanes and masks.

use clift_kir::dfg::ConstData;
use clift_kir::ops::{LaneOp, LeafOp};
use clift_kir::{Elem, FloatCond, Imm, Inst, Opcode, Type};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};

use super::constants::bits_of;
use super::translate::{Translator, clif_type, vector_of, wrong_imm};
use crate::codegen::not_legal;

impl Translator<'_> {
    pub(super) fn leaf_op(&mut self, op: LeafOp, inst: Inst) {
        use LeafOp as O;
        let legal = self.legal;
        let data = legal.dfg.inst(inst);
        let to = self.result_type(inst);
        let value = match op {
            // Materialized where they are used.
            O::Const if to.is_vector() => return,
            O::Const => {
                let Imm::Const(id) = data.imm else { wrong_imm(&data.imm) };
                self.constant(legal.dfg.constant(id))
            }
            O::Undef => self.constant(&ConstData::splat(to, 0)),
            O::GlobalAddr => self.global_addr(inst),
            O::SlotAddr => self.slot_addr(inst),
            O::Arg | O::ArgAddr => not_legal(op),
        };
        self.set(inst, value);
    }

    pub(super) fn lane_op(&mut self, op: LaneOp, inst: Inst) {
        use LaneOp as O;
        let legal = self.legal;
        let data = legal.dfg.inst(inst);
        let to = self.result_type(inst);
        let value = match op {
            O::Splat => {
                let a = self.args(inst)[0];
                match self.splat_lane(data.args[0], to) {
                    Some(value) => value,
                    None => {
                        let a = self.pin_to_block(a);
                        if to.is_bool() { self.splat_bool(a, to) } else { self.pos.ins().splat(clif_type(to), a) }
                    }
                }
            }
            O::Extract => {
                let a = self.args(inst)[0];
                let Imm::Lane(lane) = data.imm else { wrong_imm(&data.imm) };
                if to.is_bool() { self.mask_lane(a, lane) } else { self.extract_lane(a, lane) }
            }
            O::Insert => {
                let args = self.args(inst);
                let Imm::Lane(lane) = data.imm else { wrong_imm(&data.imm) };
                let element = if to.is_bool() {
                    let lane_type = self.ty(args[0]).lane_type();
                    self.bool_to_lane(args[1], lane_type)
                } else {
                    args[1]
                };
                self.pos.ins().insertlane(args[0], element, lane)
            }
            O::Vec => self.vector(inst, to),
            O::Shuffle => {
                let args = self.args(inst);
                let Imm::Lanes(lanes) = &data.imm else { wrong_imm(&data.imm) };
                let known =
                    self.shuffle_with_zero(inst, args[0], to, lanes).or_else(|| self.narrowed_pair(inst, lanes));
                match known {
                    Some(value) => value,
                    None => self.shuffle(args[0], args[1], self.arg_type(inst, 0), to, lanes),
                }
            }
            O::Select => self.select(inst),
            O::Any | O::All => {
                let mask = self.args(inst)[0];
                self.mask_test(data.op, mask, self.arg_type(inst, 0).lanes())
            }
            O::MaskBits => {
                let mask = self.args(inst)[0];
                let lanes = self.arg_type(inst, 0).lanes();
                let mut bits = self.pos.ins().vhigh_bits(types::I32, mask);
                if self.ty(mask).lane_count() > lanes {
                    bits = self.pos.ins().band_imm_u(bits, (1 << lanes) - 1);
                }
                self.pos.ins().uextend(types::I64, bits)
            }
            O::ExtractDyn | O::InsertDyn | O::Lookup | O::Reduce => not_legal(op),
        };
        self.set(inst, value);
    }

    pub(super) fn constant(&mut self, data: &ConstData) -> ir::Value {
        let ty = clif_type(data.ty);
        if !ty.is_vector() {
            let bits = data.lane(0);
            return match data.ty.elem {
                Elem::F32 => self.pos.ins().f32const(ir::immediates::Ieee32::with_bits(bits as u32)),
                Elem::F64 => self.pos.ins().f64const(ir::immediates::Ieee64::with_bits(bits)),
                Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::F16 | Elem::Ptr(_) => {
                    self.pos.ins().iconst(ty, bits as i64)
                }
            };
        }
        self.vector_constant(ty, bits_of(data))
    }

    /// A Boolean as a lane of a mask.
    fn bool_to_lane(&mut self, value: ir::Value, lane: ir::Type) -> ir::Value {
        let wide = if lane == types::I8 { value } else { self.pos.ins().uextend(lane, value) };
        self.pos.ins().ineg(wide)
    }

    /// A lane of a mask as a Boolean.
    fn lane_to_bool(&mut self, value: ir::Value) -> ir::Value {
        let low = if self.ty(value) == types::I8 { value } else { self.pos.ins().ireduce(types::I8, value) };
        self.pos.ins().band_imm_u(low, 1)
    }

    /// One lane of a register in all lanes, without extracting it to a scalar.
    fn splat_lane(&mut self, scalar: clift_kir::Value, to: Type) -> Option<ir::Value> {
        let legal = self.legal;
        let def = legal.dfg.inst(legal.dfg.def_inst(scalar)?);
        let (Opcode::Extract, &Imm::Lane(lane)) = (def.op, &def.imm) else { return None };
        if to.is_bool() || legal.dfg.ty(def.args[0]).elem != to.elem || to.elem.bytes() < 4 {
            return None;
        }
        let bytes = to.elem.bytes() as u8;
        let source = self.get(def.args[0]);
        let source = self.recast(source, types::I8X16);
        let value = self.shuffle_bytes(source, source, &std::array::from_fn(|i| lane * bytes + i as u8 % bytes));
        Some(self.recast(value, clif_type(to)))
    }

    /// One lane of a register.
    fn extract_lane(&mut self, a: ir::Value, lane: u8) -> ir::Value {
        let ty = self.ty(a).lane_type();
        if lane == 0 && self.features.x86 && matches!(ty, types::I32 | types::I64) {
            // On floats, extracting the first lane is a plain move, which is cheaper.
            let float = if ty == types::I32 { types::F32 } else { types::F64 };
            let floats = self.recast(a, vector_of(float));
            let first = self.pos.ins().extractlane(floats, 0);
            return self.pos.ins().bitcast(ty, ir::MemFlagsData::new(), first);
        }
        self.pos.ins().extractlane(a, lane)
    }

    /// One lane of a mask as a Boolean.
    fn mask_lane(&mut self, mask: ir::Value, lane: u8) -> ir::Value {
        if !self.features.x86 {
            let value = self.pos.ins().extractlane(mask, lane);
            return self.lane_to_bool(value);
        }
        let bits = self.mask_bits(mask);
        let bit = if lane == 0 { bits } else { self.pos.ins().ushr_imm_u(bits, i64::from(lane)) };
        let bit = self.pos.ins().ireduce(types::I8, bit);
        self.pos.ins().band_imm_u(bit, 1)
    }

    /// The lanes of a mask as the bits of an `i32`, on targets with an instruction for that.
    fn mask_bits(&mut self, mask: ir::Value) -> ir::Value {
        debug_assert!(self.features.x86);
        self.pos.ins().vhigh_bits(types::I32, mask)
    }

    /// A Boolean as the condition of a branch or select. If it is a lane of a mask, that bit is tested directly.
    pub(super) fn condition(&mut self, value: clift_kir::Value) -> ir::Value {
        if self.features.x86
            && let Some(def) = self.legal.dfg.def_inst(value)
            && let (Opcode::Extract, &Imm::Lane(lane)) = (self.legal.dfg.inst(def).op, &self.legal.dfg.inst(def).imm)
        {
            let mask = self.args(def)[0];
            let bits = self.mask_bits(mask);
            return self.pos.ins().band_imm_u(bits, 1 << lane);
        }
        self.get(value)
    }

    fn splat_bool(&mut self, value: ir::Value, to: Type) -> ir::Value {
        let ty = clif_type(to);
        let lane = self.bool_to_lane(value, ty.lane_type());
        self.pos.ins().splat(ty, lane)
    }

    fn vector(&mut self, inst: Inst, to: Type) -> ir::Value {
        let args = self.args(inst);
        let ty = clif_type(to);
        let lane = |this: &mut Self, value: ir::Value| {
            if to.is_bool() { this.bool_to_lane(value, ty.lane_type()) } else { value }
        };
        let first = lane(self, args[0]);
        let mut value = self.first_lane(first, ty);
        for (i, &arg) in args.iter().enumerate().skip(1) {
            let element = lane(self, arg);
            value = self.pos.ins().insertlane(value, element, i as u8);
        }
        value
    }

    /// A scalar as the first lane of a register; the other lanes are unspecified.
    pub(super) fn first_lane(&mut self, value: ir::Value, ty: ir::Type) -> ir::Value {
        let scalar = self.ty(value);
        if scalar.is_int() && scalar.bits() < 32 {
            // Instruction selection has no such move for 8-bit and 16-bit lanes.
            let wide = self.pos.ins().uextend(types::I32, value);
            let vector = self.pos.ins().scalar_to_vector(types::I32X4, wide);
            return self.recast(vector, ty);
        }
        let vector = if scalar.is_float() {
            // One instruction; `scalar_to_vector` would also clear the other lanes.
            self.pos.ins().splat(vector_of(scalar), value)
        } else {
            self.pos.ins().scalar_to_vector(vector_of(scalar), value)
        };
        self.recast(vector, ty)
    }

    fn select(&mut self, inst: Inst) -> ir::Value {
        let args = self.args(inst);
        let a = args[1];
        let cond = match self.legal.dfg.inst(inst).args[0] {
            scalar if !self.arg_type(inst, 0).is_vector() => self.condition(scalar),
            _ => args[0],
        };
        let mut b = args[2];
        let ty = self.result_type(inst);
        if ty.is_bool() && ty.is_vector() {
            b = self.mask_of_width(b, self.ty(a).lane_bits());
        } else if self.arg_type(inst, 0).is_vector() {
            // Avoid general blends, which take three instructions, where one instruction suffices.
            let [_, chosen, otherwise] = self.legal.dfg.inst(inst).args[..] else {
                unreachable!("broken invariant: select without two values")
            };
            let zero = |value| self.legal.dfg.as_splat_bits(value) == Some(0);
            let (no_chosen, no_otherwise) = (zero(chosen), zero(otherwise));
            let mask = self.legal.dfg.inst(inst).args[0];
            if !no_chosen
                && !no_otherwise
                && let Some((signs, inverted)) = self.mask_as_signs(mask, self.ty(a))
            {
                let (a, b) = if inverted { (b, a) } else { (a, b) };
                return self.blend_by_signs(signs, a, b);
            }
            let (cond, inverted) = self.mask_or_inverse(mask);
            if no_otherwise {
                return self.lanes_of(cond, a, inverted);
            }
            if no_chosen {
                return self.lanes_of(cond, b, !inverted);
            }
            if let Some(min) = self.is_pseudo_min_max(inst) {
                return self.pseudo_min_max(min, a, b);
            }
            return if inverted { self.choose(cond, b, a) } else { self.choose(cond, a, b) };
        }
        match self.scalar_select_by_floats(inst) {
            Some(value) => value,
            None => self.choose(cond, a, b),
        }
    }

    /// A scalar float that a comparison of floats chooses. Instruction selection would branch, and what data decide is not
    /// predicted: the comparison and the choice are made in vectors, where they take no branch.
    fn scalar_select_by_floats(&mut self, inst: Inst) -> Option<ir::Value> {
        let legal = self.legal;
        let [compared, chosen, otherwise] = legal.dfg.inst(inst).args[..] else { return None };
        let Imm::FloatCond(cond, _) = legal.dfg.inst(legal.dfg.def_inst(compared)?).imm else { return None };
        let args = &legal.dfg.inst(legal.dfg.def_inst(compared)?).args;
        let ty = legal.dfg.ty(chosen);
        if !self.features.x86 || !matches!(ty.elem, Elem::F32 | Elem::F64) || legal.dfg.ty(args[0]) != ty {
            return None;
        }
        if let Some(min) = self.is_pseudo_min_max(inst) {
            let (a, b) = (self.get(chosen), self.get(otherwise));
            return Some(self.pseudo_min_max(min, a, b));
        }
        let [x, y, a, b] = [args[0], args[1], chosen, otherwise].map(|value| {
            let value = self.get(value);
            let vector = vector_of(self.ty(value));
            self.first_lane(value, vector)
        });
        let mask = self.compare(cond, x, y);
        let value = self.choose(mask, a, b);
        Some(self.pos.ins().extractlane(value, 0))
    }

    /// Whether a float select is a pseudo-minimum (true) or a pseudo-maximum (false), which return the second operand if one is
    /// NaN.
    fn is_pseudo_min_max(&self, inst: Inst) -> Option<bool> {
        let dfg = &self.legal.dfg;
        let [condition, chosen, otherwise] = dfg.inst(inst).args[..] else { return None };
        let compared = dfg.inst(dfg.def_inst(condition)?);
        let Imm::FloatCond(condition, _) = compared.imm else { return None };
        let in_order = match compared.args[..] {
            [a, b] if a == chosen && b == otherwise => true,
            [a, b] if a == otherwise && b == chosen => false,
            _ => return None,
        };
        let ascending = condition == FloatCond::Olt;
        (ascending || condition == FloatCond::Ogt).then_some(in_order == ascending)
    }

    /// `a` where the top bits of lanes are set, else `b`.
    fn blend_by_signs(&mut self, signs: ir::Value, a: ir::Value, b: ir::Value) -> ir::Value {
        let (ty, int) = (self.ty(a), self.ty(signs));
        let (a, b) = (self.recast(a, int), self.recast(b, int));
        let value = self.pos.ins().blendv(signs, a, b);
        self.recast(value, ty)
    }

    /// The lanes of a value where a mask is true, or where it is false if `outside`; the others are zero.
    fn lanes_of(&mut self, mask: ir::Value, value: ir::Value, outside: bool) -> ir::Value {
        let ty = self.ty(value);
        let mask = self.mask_of_width(mask, ty.lane_bits());
        let bits = self.recast(value, self.ty(mask));
        let kept = if outside { self.pos.ins().band_not(bits, mask) } else { self.pos.ins().band(bits, mask) };
        self.recast(kept, ty)
    }

    /// Whether any or all of the first lanes of a mask are true.
    fn mask_test(&mut self, op: Opcode, mask: ir::Value, lanes: u32) -> ir::Value {
        let mut mask = mask;
        if self.features.x86 && (op == Opcode::All || self.ty(mask).lane_count() > lanes) {
            let bits = self.mask_bits(mask);
            let wanted = (1i64 << lanes) - 1;
            let bits = if self.ty(mask).lane_count() > lanes { self.pos.ins().band_imm_u(bits, wanted) } else { bits };
            let (cond, other) = if op == Opcode::All { (IntCC::Equal, wanted) } else { (IntCC::NotEqual, 0) };
            return self.pos.ins().icmp_imm_u(cond, bits, other);
        }
        if self.ty(mask).lane_count() > lanes {
            // In their widest form the first lanes alone fill the register.
            mask = self.mask_of_width(mask, 128 / lanes);
        }
        if op == Opcode::Any { self.pos.ins().vany_true(mask) } else { self.pos.ins().vall_true(mask) }
    }

    /// The mask with lanes of another width; the order of lanes stays the same.
    pub(super) fn mask_of_width(&mut self, mask: ir::Value, bits: u32) -> ir::Value {
        let mut mask = mask;
        while self.ty(mask).lane_bits() < bits {
            mask = self.pos.ins().swiden_low(mask);
        }
        while self.ty(mask).lane_bits() > bits {
            mask = self.join_masks(mask, mask);
        }
        mask
    }

    /// The lanes of two masks of the same width, in lanes of half the width.
    fn join_masks(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        if self.ty(a).lane_bits() == 64 {
            let pattern = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
            let (a, b) = (self.recast(a, types::I8X16), self.recast(b, types::I8X16));
            let joined = self.shuffle_bytes(a, b, &pattern);
            self.recast(joined, types::I32X4)
        } else {
            self.pos.ins().snarrow(a, b)
        }
    }

    /// The lower or upper half of a mask's lanes, in lanes of twice the width. Each lane is duplicated.
    fn mask_half(&mut self, mask: ir::Value, upper: bool) -> ir::Value {
        let (ty, bytes) = (self.ty(mask), (self.ty(mask).lane_bits() / 8) as u8);
        let mut pattern = [0u8; 16];
        for (i, byte) in pattern.iter_mut().enumerate() {
            let (lane, offset) = (i as u8 / bytes, i as u8 % bytes);
            // As an interleaving of two registers, a pattern that instruction selection matches.
            *byte = (lane / 2) * bytes + offset + if upper { 8 } else { 0 } + if lane % 2 == 1 { 16 } else { 0 };
        }
        let a = self.recast(mask, types::I8X16);
        let value = self.shuffle_bytes(a, a, &pattern);
        let Some(wide) = ty.merge_lanes() else { unreachable!("broken invariant: no lanes wider than those of {ty}") };
        self.recast(value, wide)
    }

    /// A mask in the form that crosses between blocks.
    pub(super) fn mask_for_block(&mut self, mask: ir::Value, ty: Type) -> ir::Value {
        if ty.is_bool() && ty.is_vector() { self.mask_of_width(mask, 128 / ty.lanes()) } else { mask }
    }

    /// Lanes of two vectors by number.
    fn shuffle(&mut self, a: ir::Value, b: ir::Value, from: Type, to: Type, lanes: &[u8]) -> ir::Value {
        if from.is_bool() {
            return self.shuffle_mask(a, b, from, to, lanes);
        }
        let ty = clif_type(from);
        if !to.is_vector() {
            let (source, lane) =
                if u32::from(lanes[0]) < from.lanes() { (a, lanes[0]) } else { (b, lanes[0] - from.lanes() as u8) };
            return self.extract_lane(source, lane);
        }
        self.shuffle_lanes(a, b, ty, from.lanes(), lanes)
    }

    /// Masks are shuffled at the width of the first operand, or at a smaller width if the result has more lanes than fit.
    fn shuffle_mask(&mut self, a: ir::Value, b: ir::Value, from: Type, to: Type, lanes: &[u8]) -> ir::Value {
        let straight = |first: u32| lanes.iter().zip(first..).all(|(&lane, wanted)| u32::from(lane) == wanted);
        let full = |this: &Self, mask: ir::Value| this.ty(mask).lane_count() == from.lanes();
        if to.lanes() * 2 == from.lanes() && full(self, a) && (straight(0) || straight(to.lanes())) && to.is_vector() {
            // One half, in lanes twice as wide.
            return self.mask_half(a, !straight(0));
        }
        if to.lanes() == from.lanes() * 2 && full(self, a) && full(self, b) && straight(0) {
            return self.join_masks(a, b);
        }
        let bits = self.ty(a).lane_bits().min(128 / to.lanes());
        let (a, b) = (self.mask_of_width(a, bits), self.mask_of_width(b, bits));
        if !to.is_vector() {
            let (source, lane) =
                if u32::from(lanes[0]) < from.lanes() { (a, lanes[0]) } else { (b, lanes[0] - from.lanes() as u8) };
            return self.mask_lane(source, lane);
        }
        let ty = self.ty(a);
        self.shuffle_lanes(a, b, ty, from.lanes(), lanes)
    }

    /// Shuffles lanes of two registers of type `ty`; `used` is the number of lanes of each that count.
    fn shuffle_lanes(&mut self, a: ir::Value, b: ir::Value, ty: ir::Type, used: u32, lanes: &[u8]) -> ir::Value {
        if lanes.iter().enumerate().all(|(i, &lane)| usize::from(lane) == i) && lanes.len() as u32 <= used {
            return a;
        }
        let bytes = ty.lane_bits() / 8;
        let count = ty.lane_count();
        let mut wanted = [None; 16];
        for (i, place) in wanted.iter_mut().enumerate().take(lanes.len() * bytes as usize) {
            let (lane, byte) = (u32::from(lanes[i / bytes as usize]), i as u32 % bytes);
            let lane = if lane < used { lane } else { count + lane - used };
            *place = Some((lane * bytes + byte) as u8);
        }
        let pattern = fill_pattern(&wanted);
        if pattern.iter().enumerate().all(|(i, &byte)| usize::from(byte) == i) {
            return a;
        }
        let (a, b) = (self.recast(a, types::I8X16), self.recast(b, types::I8X16));
        let value = self.shuffle_bytes(a, b, &pattern);
        self.recast(value, ty)
    }

    /// Shuffles bytes of two registers, numbered 0 to 31.
    pub(super) fn shuffle_bytes(&mut self, a: ir::Value, b: ir::Value, pattern: &[u8; 16]) -> ir::Value {
        // Equal shuffles are merged only if they have the same immediate.
        let func = &mut *self.pos.func;
        let immediate = *self.patterns.entry(*pattern).or_insert_with(|| func.dfg.immediates.push(pattern[..].into()));
        self.pos.ins().shuffle(a, b, immediate)
    }

    /// A shuffle of a register and zeros, on targets whose byte shuffle can produce zeros.
    fn shuffle_with_zero(&mut self, inst: Inst, a: ir::Value, to: Type, lanes: &[u8]) -> Option<ir::Value> {
        let zeros = self.legal.dfg.as_splat_bits(self.legal.dfg.inst(inst).args[1]) == Some(0);
        let from = self.arg_type(inst, 0);
        if !zeros || !self.features.x86 || from != to || from.bytes() != 16 || from.is_bool() {
            return None;
        }
        let bytes = from.elem.bytes() as u8;
        let mut pattern = [0x80u8; 16];
        for (i, place) in pattern.iter_mut().enumerate() {
            let (lane, offset) = (lanes[i / usize::from(bytes)], i as u8 % bytes);
            if u32::from(lane) < from.lanes() {
                *place = lane * bytes + offset;
            }
        }
        let pattern = self.vector_constant(types::I8X16, u128::from_le_bytes(pattern));
        let source = self.recast(a, types::I8X16);
        let value = self.pos.ins().x86_pshufb(source, pattern);
        Some(self.recast(value, clif_type(to)))
    }

    /// The low words of two registers of 64-bit lanes, if both operands are truncations that are only joined.
    fn narrowed_pair(&mut self, inst: Inst, lanes: &[u8]) -> Option<ir::Value> {
        let legal = self.legal;
        let source = |value: clift_kir::Value| {
            let data = legal.dfg.inst(legal.dfg.def_inst(value)?);
            let wide = legal.dfg.ty(*data.args.first()?);
            (data.op == Opcode::Itrunc && wide == Type::vector(Elem::I64, 2)).then(|| data.args[0])
        };
        let [a, b] = *legal.dfg.inst(inst).args else { return None };
        let (a, b) = (source(a)?, source(b)?);
        if legal.dfg.ty(legal.dfg.inst(inst).args[0]) != Type::vector(Elem::I32, 2) || lanes != [0, 1, 2, 3] {
            return None;
        }
        let (a, b) = (self.get(a), self.get(b));
        let (a, b) = (self.recast(a, types::I8X16), self.recast(b, types::I8X16));
        let value = self.shuffle_bytes(a, b, &[0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]);
        Some(self.recast(value, types::I32X4))
    }

    pub(super) fn bitcast(&mut self, a: ir::Value, from: Type, to: Type) -> ir::Value {
        let (clif_from, clif_to) = (self.ty(a), clif_type(to));
        if clif_from == clif_to {
            return a;
        }
        match (from.is_vector(), to.is_vector()) {
            (true, true) => self.recast(a, clif_to),
            (false, false) => self.pos.ins().bitcast(clif_to, ir::MemFlagsData::new(), a),
            (false, true) => self.first_lane(a, clif_to),
            (true, false) => {
                let vector = self.recast(a, vector_of(clif_to));
                self.pos.ins().extractlane(vector, 0)
            }
        }
    }
}

/// Completes a pattern of bytes; prefers a pattern that instruction selection matches.
fn fill_pattern(wanted: &[Option<u8>; 16]) -> [u8; 16] {
    let fits = |pattern: &[u8; 16]| wanted.iter().zip(pattern).all(|(wanted, byte)| wanted.is_none_or(|w| w == *byte));
    let same = std::array::from_fn(|i| i as u8);
    // Lower or upper halves of two registers (or of one), interleaved in units of bytes.
    let interleaved =
        [8, 4, 2, 1].into_iter().flat_map(|unit| [0, 8].map(|base| (unit, base))).flat_map(|(unit, base)| {
            [16, 0].map(|other| {
                std::array::from_fn(|i| {
                    let (block, within) = (i / unit, i % unit);
                    (base + block / 2 * unit + within + if block % 2 == 1 { other } else { 0 }) as u8
                })
            })
        });
    let first = wanted[0].unwrap_or(0);
    let window = std::array::from_fn(|i| (first + i as u8) % 32);
    let known = std::iter::once(same).chain(interleaved).chain([window]);
    // Otherwise the requested bytes are repeated.
    let used = wanted.iter().rposition(Option::is_some).map_or(1, |last| (last + 1).next_power_of_two());
    let again = std::array::from_fn(|i| wanted[i % used].unwrap_or(i as u8));
    known.into_iter().find(fits).unwrap_or(again)
}
