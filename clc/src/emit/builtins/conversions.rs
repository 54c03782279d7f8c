//! `convert_` functions.

use spirv::{Decoration, FPRoundingMode, Op};

use super::Call;
use crate::emit::Id;
use crate::emit::function::FunctionEmitter;

impl FunctionEmitter<'_, '_> {
    /// A conversion with saturation and rounding as the function's name says.
    pub(super) fn explicit_conversion(
        &mut self,
        call: &Call<'_>,
        saturate: bool,
        rounding: Option<FPRoundingMode>,
    ) -> Id {
        let value = call.value(0);
        let (from, to) = (self.lanes_of(call.ty(0)), self.lanes_of(call.result));
        if from.0 == to.0 {
            return value;
        }
        let narrows = to.0.bytes() < from.0.bytes();
        let op = match (from.0.is_float(), to.0.is_float()) {
            (true, true) => Op::FConvert,
            (true, false) if to.0.is_signed() => Op::ConvertFToS,
            (true, false) => Op::ConvertFToU,
            (false, true) if from.0.is_signed() => Op::ConvertSToF,
            (false, true) => Op::ConvertUToF,
            (false, false) if saturate => match (from.0.is_signed(), to.0.is_signed()) {
                (true, false) => Op::SatConvertSToU,
                // All values of a narrower unsigned type fit.
                (false, true) if to.0.bytes() <= from.0.bytes() => Op::SatConvertUToS,
                (true, true) if narrows => Op::SConvert,
                (false, false) if narrows => Op::UConvert,
                _ => return self.convert_lanes(value, from, to),
            },
            (false, false) => return self.convert_lanes(value, from, to),
        };
        let ty = self.module.type_id(call.result);
        let id = self.op(op, ty, &[value]);
        if saturate && !matches!(op, Op::SatConvertSToU | Op::SatConvertUToS) {
            self.decorate(id, Decoration::SaturatedConversion, &[]);
        }
        // Without a mode: to integers toward zero, to floats to nearest even, as the instructions do by themselves.
        let default = if to.0.is_float() { FPRoundingMode::RTE } else { FPRoundingMode::RTZ };
        if let Some(mode) = rounding.filter(|mode| *mode != default && (from.0.is_float() || to.0.is_float())) {
            self.decorate(id, Decoration::FPRoundingMode, &[mode as u32]);
        }
        id
    }
}
