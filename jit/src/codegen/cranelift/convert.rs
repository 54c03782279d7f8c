//! Conversions between numbers, and casts of pointers (which are integers here).

use clift_kir::ops::ConvertOp;
use clift_kir::{Elem, Imm, Inst, Type};
use cranelift_codegen::ir::{self, InstBuilder, types};

use super::translate::{Translator, clif_type};

impl Translator<'_> {
    pub(super) fn convert_op(&mut self, op: ConvertOp, inst: Inst) {
        use ConvertOp as O;
        let imm = &self.legal.dfg.inst(inst).imm;
        let a = self.args(inst)[0];
        let (from, to) = (self.arg_type(inst, 0), self.result_type(inst));
        let ty = clif_type(to);
        let value = match op {
            O::PtrToInt | O::IntToPtr | O::SpaceCast => a,
            O::Bitcast => self.bitcast(a, from, to),
            O::Itrunc if from.is_vector() => self.narrow(a, from, to),
            O::Itrunc => self.pos.ins().ireduce(ty, a),
            O::Zext if from.is_bool() && from.is_vector() => {
                let mask = self.mask_of_width(a, to.elem.bits());
                let one = self.int(ty, 1);
                self.pos.ins().band(mask, one)
            }
            O::Sext if from.is_bool() && from.is_vector() => self.mask_of_width(a, to.elem.bits()),
            O::Sext if from.is_bool() => {
                let wide = if ty == types::I8 { a } else { self.pos.ins().uextend(ty, a) };
                self.pos.ins().ineg(wide)
            }
            O::Zext if from.is_bool() && ty == types::I8 => a,
            O::Zext if from.is_vector() => self.widen(inst, a, from, to, false),
            O::Sext if from.is_vector() => self.widen(inst, a, from, to, true),
            O::Zext => match self.long.get(&self.legal.dfg.inst(inst).args[0]) {
                Some(&long) if ty == types::I64 => long,
                Some(&long) => self.pos.ins().ireduce(ty, long),
                None => self.pos.ins().uextend(ty, a),
            },
            O::Sext => self.pos.ins().sextend(ty, a),
            // Values out of range may give any result if saturation is not requested.
            O::FptoS
                if from.is_vector()
                    && self.features.x86
                    && from.elem == Elem::F32
                    && to.elem == Elem::I32
                    && !saturates(imm) =>
            {
                self.pos.ins().x86_cvtt2dq(ty, a)
            }
            O::FptoS if from.is_vector() && self.features.x86 && from.elem == Elem::F64 && !saturates(imm) => {
                let long = self.pos.ins().x86_cvtt2dq(types::I64X2, a);
                let zero = self.zero_vector(types::I64X2);
                self.pos.ins().snarrow(long, zero)
            }
            O::FptoU
                if from.is_vector()
                    && self.features.x86
                    && from.elem == Elem::F32
                    && to.elem == Elem::I32
                    && !saturates(imm) =>
            {
                self.float_to_unsigned(a)
            }
            O::FptoS if from.is_vector() => self.float_to_int(a, from, to, true),
            O::FptoU if from.is_vector() => self.float_to_int(a, from, to, false),
            O::FptoS => self.pos.ins().fcvt_to_sint_sat(ty, a),
            O::FptoU => self.pos.ins().fcvt_to_uint_sat(ty, a),
            O::StoFp if from.is_vector() => self.int_to_float(a, from, to, true),
            O::UtoFp if from.is_vector() => self.int_to_float(a, from, to, false),
            O::StoFp => self.pos.ins().fcvt_from_sint(ty, a),
            O::UtoFp if from.elem == Elem::I32 => {
                let wide = self.pos.ins().uextend(types::I64, a);
                self.pos.ins().fcvt_from_sint(ty, wide)
            }
            O::UtoFp => self.pos.ins().fcvt_from_uint(ty, a),
            O::FptoFp if from.is_vector() && to.elem == Elem::F64 => self.pos.ins().fvpromote_low(a),
            O::FptoFp if from.is_vector() => self.pos.ins().fvdemote(a),
            O::FptoFp if to.elem == Elem::F64 => self.pos.ins().fpromote(ty, a),
            O::FptoFp => self.pos.ins().fdemote(ty, a),
        };
        self.set(inst, value);
    }

    /// The low bits of each lane, in the first lanes.
    fn narrow(&mut self, a: ir::Value, from: Type, to: Type) -> ir::Value {
        // A shuffle selects the low bytes of each lane.
        let (wide, small) = (from.elem.bytes() as u8, to.elem.bytes() as u8);
        let bytes = self.recast(a, types::I8X16);
        let mut pattern = [0u8; 16];
        for (i, byte) in pattern.iter_mut().enumerate() {
            let (lane, offset) = (i as u8 / small, i as u8 % small);
            *byte = (lane * wide + offset) % 16;
        }
        let value = self.shuffle_bytes(bytes, bytes, &pattern);
        self.recast(value, clif_type(to))
    }

    /// The first lanes, extended.
    fn widen(&mut self, inst: Inst, a: ir::Value, from: Type, to: Type, signed: bool) -> ir::Value {
        if to.elem.bits() == 2 * from.elem.bits()
            && let Some(whole) = self.upper_half_of(inst, from)
        {
            return if signed { self.pos.ins().swiden_high(whole) } else { self.pos.ins().uwiden_high(whole) };
        }
        let mut value = a;
        let mut bits = from.elem.bits();
        while bits < to.elem.bits() {
            value = if signed { self.pos.ins().swiden_low(value) } else { self.pos.ins().uwiden_low(value) };
            bits *= 2;
        }
        value
    }

    /// The register whose upper half is the operand of an instruction.
    pub(super) fn upper_half_of(&mut self, inst: Inst, half: Type) -> Option<ir::Value> {
        let legal = self.legal;
        let def = legal.dfg.inst(legal.dfg.def_inst(legal.dfg.inst(inst).args[0])?);
        let Imm::Lanes(lanes) = &def.imm else { return None };
        let whole = legal.dfg.ty(def.args[0]);
        let upper = lanes.iter().zip(half.lanes()..).all(|(&lane, wanted)| u32::from(lane) == wanted);
        (upper && whole.bytes() == 16 && half.bytes() == 8).then(|| self.get(def.args[0]))
    }

    /// To 32-bit integers, clamped.
    fn float_to_int(&mut self, a: ir::Value, from: Type, to: Type, signed: bool) -> ir::Value {
        debug_assert_eq!(to.elem, Elem::I32);
        if from.elem == Elem::F32 {
            return if signed {
                self.pos.ins().fcvt_to_sint_sat(types::I32X4, a)
            } else {
                self.pos.ins().fcvt_to_uint_sat(types::I32X4, a)
            };
        }
        // The pattern that instruction selection matches: convert to 64 bits and narrow together with zeros.
        let zero = self.zero_vector(types::I64X2);
        if signed {
            let long = self.pos.ins().fcvt_to_sint_sat(types::I64X2, a);
            self.pos.ins().snarrow(long, zero)
        } else {
            let long = self.pos.ins().fcvt_to_uint_sat(types::I64X2, a);
            self.pos.ins().uunarrow(long, zero)
        }
    }

    /// Zeros for narrowing 64-bit lanes. They must be an inline constant, also in cold blocks, because instruction selection
    /// matches only that pattern.
    fn zero_vector(&mut self, ty: ir::Type) -> ir::Value {
        let zero = self.pos.func.dfg.constants.insert([0u8; 16][..].into());
        self.pos.ins().vconst(ty, zero)
    }

    /// Singles in range to unsigned integers. Where the signed conversion gives the sign bit, the value minus 2^31 is converted
    /// as well.
    fn float_to_unsigned(&mut self, a: ir::Value) -> ir::Value {
        let ty = types::I32X4;
        let limit = self.int(ty, i64::from(2f32.powi(31).to_bits()));
        let limit = self.recast(limit, types::F32X4);
        let rest = self.pos.ins().fsub(a, limit);
        let (small, rest) = (self.pos.ins().x86_cvtt2dq(ty, a), self.pos.ins().x86_cvtt2dq(ty, rest));
        let is_large = self.pos.ins().sshr_imm_u(small, 31);
        let rest = self.pos.ins().band(rest, is_large);
        self.pos.ins().bor(small, rest)
    }

    fn int_to_float(&mut self, a: ir::Value, from: Type, to: Type, signed: bool) -> ir::Value {
        let ty = clif_type(to);
        let a = if from.elem == Elem::I32 && to.elem == Elem::F64 {
            if signed { self.pos.ins().swiden_low(a) } else { self.pos.ins().uwiden_low(a) }
        } else {
            a
        };
        if signed { self.pos.ins().fcvt_from_sint(ty, a) } else { self.pos.ins().fcvt_from_uint(ty, a) }
    }
}

/// Whether a conversion saturates.
fn saturates(imm: &Imm) -> bool {
    matches!(imm, Imm::Convert(mode) if mode.saturate)
}
