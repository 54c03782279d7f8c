//! What has no form on packs: executed once per active lane, in lane order, with scalars.

use clift_kir::eval::identity;
use clift_kir::inst::{BlockCall, Imm};
use clift_kir::{AtomicInfo, AtomicOp, Block, Elem, Inst, Opcode, Type, Value};
use smallvec::SmallVec;

use super::forms::{Form, Packs};
use super::{Mask, Widener};
use crate::spmd::shape::Scope;

impl Widener<'_> {
    /// An atomic, a copy of bytes, or a `printf`.
    pub(super) fn per_lane(&mut self, inst: Inst, mask: Mask) {
        let data = self.func.dfg.inst(inst);
        if data.op == Opcode::AtomicRmw && self.reduced(inst, mask) {
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

    /// One atomic for the pack instead of one per lane, where all lanes combine into one place and nobody asks for the old
    /// value. Gives whether that was possible.
    fn reduced(&mut self, inst: Inst, mask: Mask) -> bool {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let Imm::Atomic(info) = data.imm else { return false };
        let result = func.dfg.result(inst);
        let ty = func.dfg.ty(result);
        let pointer = data.args[0];
        if !self.shape(pointer).is_uniform(Scope::Pack) || !self.is_uniform(pointer) || self.is_used(result) {
            return false;
        }
        let Some(neutral) = neutral(info.op, ty.elem) else { return false };
        let place = self.scalar(pointer);
        let mut lanes = self.packs(data.args[1])[0];
        if let Some(mask) = mask {
            let pack = self.pack_type(ty);
            let mut b = self.at();
            let neutral = b.iconst(pack, neutral as i64);
            lanes = b.select(mask, lanes, neutral);
        }
        // What is subtracted is added up first.
        let combine = if info.op == AtomicOp::Sub { AtomicOp::Add } else { info.op };
        let mut b = self.at();
        let whole = b.reduce(combine, lanes);
        b.atomic_rmw(place, whole, AtomicInfo { ..info });
        true
    }

    fn is_used(&self, value: Value) -> bool {
        let func = self.func;
        let uses = |block: Block| {
            func.layout.insts(block).iter().any(|&inst| {
                let mut found = false;
                func.dfg.for_each_use(inst, |used| found |= used == value);
                found
            })
        };
        func.layout.blocks().iter().any(|&block| uses(block))
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

/// The bits that change nothing they are combined with; `None` where lanes combined first would give another result.
fn neutral(op: AtomicOp, elem: Elem) -> Option<u64> {
    match op {
        AtomicOp::Sub => Some(identity(AtomicOp::Add, elem)),
        AtomicOp::Add
        | AtomicOp::Mul
        | AtomicOp::And
        | AtomicOp::Or
        | AtomicOp::Xor
        | AtomicOp::Smin
        | AtomicOp::Smax
        | AtomicOp::Umin
        | AtomicOp::Umax => Some(identity(op, elem)),
        AtomicOp::Xchg | AtomicOp::Fadd | AtomicOp::Fmul | AtomicOp::Fmin | AtomicOp::Fmax => None,
    }
}
