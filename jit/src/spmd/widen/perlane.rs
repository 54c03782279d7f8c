//! What has no form on packs: executed once per active lane, in lane order, with scalars.

use clift_kir::inst::{BlockCall, Imm};
use clift_kir::{AtomicOp, Inst, Opcode, Type, Value};
use smallvec::{SmallVec, smallvec};

use super::forms::{Form, Packs};
use super::{Mask, Widener};
use crate::spmd::shape::Scope;
use crate::spmd::together::together;

impl Widener<'_> {
    /// An atomic, a copy of bytes, or a `printf`.
    pub(super) fn per_lane(&mut self, inst: Inst, mask: Mask) {
        let data = self.func.dfg.inst(inst);
        if self.together(inst, mask) || self.once(inst) {
            return;
        }
        self.report.per_lane.push((data.op, self.loc));
        let result = self.func.dfg.single_result(inst);
        let components = result.map(|result| self.func.dfg.ty(result));
        // Lanes of the result, by component; inactive ones are unspecified.
        let mut lanes: Vec<SmallVec<[Value; 4]>> = Vec::new();
        for lane in 0..self.width {
            let made = match mask {
                None => self.one_lane(inst, lane),
                Some(mask) => self.one_lane_if(inst, lane, mask),
            };
            if let (Some(made), Some(ty)) = (made, components) {
                let mut b = self.at();
                lanes.push((0..ty.lanes()).map(|component| b.extract(made, component)).collect());
            }
        }
        let (Some(result), Some(ty)) = (result, components) else { return };
        let packs: Packs = (0..ty.lanes() as usize)
            .map(|component| {
                let values: Vec<Value> = lanes.iter().map(|lane| lane[component]).collect();
                self.at().vec(&values)
            })
            .collect();
        self.set(result, Form::Packs(packs));
    }

    /// The instruction of one lane.
    fn one_lane(&mut self, inst: Inst, lane: u32) -> Option<Value> {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let args: SmallVec<[Value; 4]> = data.args.iter().map(|&arg| self.lane(arg, lane)).collect();
        let types: SmallVec<[Type; 1]> = func.dfg.results(inst).iter().map(|&value| func.dfg.ty(value)).collect();
        let imm = data.imm.clone();
        let made = self.at().inst(data.op, &args, imm, &types);
        self.out.dfg.results(made).first().copied()
    }

    /// The instruction of one lane, if that is active.
    fn one_lane_if(&mut self, inst: Inst, lane: u32, mask: Value) -> Option<Value> {
        let result = self.func.dfg.single_result(inst).map(|value| self.func.dfg.ty(value));
        let active = self.at().extract(mask, lane);
        let before = self.split();
        let after = self.here;
        let run = self.out.dfg.make_block();
        self.out.layout.append_block(run);
        let skipped: SmallVec<[Value; 1]> = result.iter().map(|&ty| self.ending(before).undef(ty)).collect();
        self.ending(before).branch(active, BlockCall::new(run, &[]), BlockCall::new(after, &skipped));
        let param = result.map(|ty| self.out.dfg.append_param(after, ty));
        self.here = run;
        let made = self.one_lane(inst, lane);
        let passed: SmallVec<[Value; 1]> = if param.is_some() { made.into_iter().collect() } else { SmallVec::new() };
        self.ending(run).jump(after, &passed);
        self.here = after;
        param
    }

    /// One atomic for the pack instead of one per lane. Gives whether that was possible.
    fn together(&mut self, inst: Inst, mask: Mask) -> bool {
        let func = self.func;
        let Some(together) = together(func, self.divergence, inst) else { return false };
        let data = func.dfg.inst(inst);
        let Imm::Atomic(info) = data.imm else { return false };
        let result = func.dfg.result(inst);
        let [pointer, operand] = [data.args[0], data.args[1]];
        if !self.is_uniform(pointer) {
            return false;
        }
        let place = self.scalar(pointer);
        let pack = self.pack_type(func.dfg.ty(result));
        let neutral = self.at().iconst(pack, together.neutral as i64);
        let mut lanes = self.packs(operand)[0];
        if let Some(mask) = mask {
            lanes = self.at().select(mask, lanes, neutral);
        }
        if !together.asked {
            let mut b = self.at();
            let whole = b.reduce(together.combine, lanes);
            b.atomic_rmw(place, whole, info);
            return true;
        }
        let added = if mask.is_none() && together.combine == AtomicOp::Add { self.known_sum(operand) } else { None };
        if let Some((one, all)) = added {
            let mut b = self.at();
            let whole = b.iconst(func.dfg.ty(result), all);
            let found = b.atomic_rmw(place, whole, info);
            let each = self.steps(found, if info.op == AtomicOp::Sub { one.wrapping_neg() } else { one });
            self.set(result, Form::Packs(smallvec![each]));
            return true;
        }
        let up_to = self.scan_lanes(lanes, together.combine, false);
        let before = self.move_up(up_to, neutral, 1);
        let width = self.width;
        let mut b = self.at();
        let whole = b.extract(up_to, width - 1);
        let found = b.atomic_rmw(place, whole, info);
        let found = b.splat(found, width);
        let each = self.combine(info.op, found, before);
        self.set(result, Form::Packs(smallvec![each]));
        true
    }

    /// A constant that all lanes bring, and what they bring in all.
    fn known_sum(&mut self, operand: Value) -> Option<(i64, i64)> {
        if !self.is_uniform(operand) {
            return None;
        }
        let operand = self.scalar(operand);
        let one = *self.known_lanes(operand)?.first()? as i64;
        Some((one, one.wrapping_mul(i64::from(self.width))))
    }

    /// An atomic access of all lanes to one place that reads it, or writes the same: once. Gives whether it was that.
    fn once(&mut self, inst: Inst) -> bool {
        let data = self.func.dfg.inst(inst);
        let is_access = data.op == Opcode::AtomicLoad || data.op == Opcode::AtomicStore;
        let one_place = is_access && self.shape(data.args[0]).is_uniform(Scope::Pack);
        if !one_place || !data.args.iter().all(|&arg| self.is_uniform(arg)) {
            return false;
        }
        let made = self.one_lane(inst, 0);
        if let (Some(result), Some(made)) = (self.func.dfg.single_result(inst), made) {
            self.set(result, Form::Uniform(made));
        }
        true
    }

    /// Two packs combined as a reduction's operation does.
    pub(super) fn combine(&mut self, op: AtomicOp, a: Value, b: Value) -> Value {
        let (opcode, float) = match op {
            AtomicOp::Xchg => return b,
            AtomicOp::Add => (Opcode::Iadd, false),
            AtomicOp::Sub => (Opcode::Isub, false),
            AtomicOp::Mul => (Opcode::Imul, false),
            AtomicOp::And => (Opcode::And, false),
            AtomicOp::Or => (Opcode::Or, false),
            AtomicOp::Xor => (Opcode::Xor, false),
            AtomicOp::Smin => (Opcode::Smin, false),
            AtomicOp::Smax => (Opcode::Smax, false),
            AtomicOp::Umin => (Opcode::Umin, false),
            AtomicOp::Umax => (Opcode::Umax, false),
            AtomicOp::Fadd => (Opcode::Fadd, true),
            AtomicOp::Fmul => (Opcode::Fmul, true),
            AtomicOp::Fmin => (Opcode::Fmin, true),
            AtomicOp::Fmax => (Opcode::Fmax, true),
        };
        let mut at = self.at();
        if float { at.float2(opcode, a, b) } else { at.int2(opcode, a, b) }
    }
}
