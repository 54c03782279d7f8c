//! Instructions without a vector form: executed as scalars once per active lane, in lane order. A few such instructions are
//! copied for each lane; if there are many of them, or if each takes long anyway, one copy is in a loop over the active lanes.

use clift_kir::inst::{BlockCall, Imm};
use clift_kir::{AtomicOp, Builder, Elem, Inst, IntCond, Opcode, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::forms::{Packs, WideForm};
use super::how::{How, how};
use super::{Mask, Widener};
use crate::spmd::analysis::shape::Scope;
use crate::spmd::vectorize::aggregated_atomics::aggregated;

/// The most copies of instructions for single lanes; beyond that, loops are used.
const MAX_COPIES: usize = 512;

/// An operand of an instruction that is executed lane by lane.
enum LaneOperand {
    Same(Value),
    /// The first lane's, and the difference between lanes.
    Affine(Value, i64),
    Packs(Packs),
}

impl Widener<'_> {
    /// An atomic operation, a copy of bytes, a `printf`, or a request.
    pub(super) fn per_lane(&mut self, inst: Inst, mask: Mask) {
        let data = self.func.dfg.inst(inst);
        if self.aggregated_atomic(inst, mask) || self.uniform_atomic(inst) {
            return;
        }
        self.report.per_lane.push((data.op, self.loc));
        let result = self.func.dfg.single_result(inst);
        let components = result.map(|result| self.func.dfg.ty(result));
        if self.lanes_in_loops || matches!(data.op, Opcode::Printf | Opcode::Request | Opcode::Check) {
            self.loop_over_lanes(&[inst], mask);
            return;
        }
        // The lanes of the result, by component; those of inactive lanes are unspecified.
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
        self.set(result, WideForm::Packs(packs));
    }

    /// Whether there would be too many copies for single lanes.
    pub(super) fn choose_lane_loops(&mut self) {
        let insts = self.plan.order.iter().flat_map(|&block| self.func.layout.insts(block));
        let count = insts.filter(|&&inst| how(self.func.dfg.inst(inst).op) == How::PerLane).count();
        self.lanes_in_loops = count * self.width as usize > MAX_COPIES;
    }

    /// Several checks, which follow one another: each lane makes all of them before the next one does.
    pub(super) fn checks(&mut self, insts: &[Inst], mask: Mask) {
        for &inst in insts {
            self.report.per_lane.push((Opcode::Check, self.func.locs[inst]));
        }
        self.loop_over_lanes(insts, mask);
    }

    /// Emits instructions, none of which uses the result of another one, in a loop over the active lanes.
    ///
    /// ```text
    /// before:                       bits of the mask
    /// header(bits, packs):          a bit left? body : after
    /// body:                         lane = the lowest bit; instructions; packs with their results; -> header
    /// ```
    fn loop_over_lanes(&mut self, insts: &[Inst], mask: Mask) {
        let func = self.func;
        let operands: Vec<SmallVec<[LaneOperand; 4]>> = insts
            .iter()
            .map(|&inst| func.dfg.inst(inst).args.iter().map(|&arg| self.lane_operand(arg)).collect())
            .collect();
        let results = insts.iter().filter_map(|&inst| func.dfg.single_result(inst));
        let results: SmallVec<[(Value, Type); 2]> = results.map(|value| (value, func.dfg.ty(value))).collect();
        let mask = mask.unwrap_or_else(|| self.mask_constant(true));
        let bits = self.at().mask_bits(mask);
        let mut first: SmallVec<[Value; 4]> = smallvec![bits];
        for &(_, ty) in &results {
            for _ in 0..ty.lanes() {
                let pack = self.pack_type(ty);
                first.push(self.at().undef(pack));
            }
        }
        let before = self.split();
        let after = self.here;
        let [header, body] = [(); 2].map(|()| {
            let block = self.out.dfg.make_block();
            self.out.layout.append_block(block);
            block
        });
        self.ending(before).jump(header, &first);
        let params: SmallVec<[Value; 4]> = first
            .iter()
            .map(|&value| {
                let ty = self.out.dfg.ty(value);
                self.out.dfg.append_param(header, ty)
            })
            .collect();
        let mut b = self.ending(header);
        let none = b.iconst(Type::I64, 0);
        let more = b.icmp(IntCond::Ne, params[0], none);
        b.branch(more, BlockCall::new(body, &[]), BlockCall::new(after, &[]));
        let mut b = self.ending(body);
        let lane = b.int1(Opcode::Ctz, params[0]);
        let lane = b.int_resize(lane, Elem::I32, false);
        let one = b.iconst(Type::I64, 1);
        let others = b.int2(Opcode::Isub, params[0], one);
        let mut next: SmallVec<[Value; 4]> = smallvec![b.int2(Opcode::And, params[0], others)];
        // Operands that several instructions have.
        let mut known: FxHashMap<Value, Value> = FxHashMap::default();
        for (&inst, operands) in insts.iter().zip(&operands) {
            let data = func.dfg.inst(inst);
            self.loc = func.locs[inst];
            let mut b = self.ending(body);
            let args: SmallVec<[Value; 4]> = data
                .args
                .iter()
                .zip(operands)
                .map(|(&arg, operand)| *known.entry(arg).or_insert_with(|| of_lane(&mut b, operand, lane)))
                .collect();
            let types: SmallVec<[Type; 1]> = func.dfg.results(inst).iter().map(|&value| func.dfg.ty(value)).collect();
            let made = b.inst(data.op, &args, data.imm.clone(), &types);
            let Some(made) = b.func.dfg.results(made).first().copied() else { continue };
            for component in 0..types[0].lanes() {
                let element = b.extract(made, component);
                next.push(b.insert_dyn(params[next.len()], element, lane));
            }
        }
        self.ending(body).jump(header, &next);
        let mut packs = params[1..].iter().copied();
        for &(result, ty) in &results {
            let of_result: Packs = packs.by_ref().take(ty.lanes() as usize).collect();
            self.set(result, WideForm::Packs(of_result));
        }
    }

    /// The call of a region that at most one lane executes: for that lane.
    pub(super) fn single_lane(&mut self, inst: Inst, mask: Mask) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        self.report.single_lane.push(self.loc);
        let operands: SmallVec<[LaneOperand; 4]> = data.args.iter().map(|&arg| self.lane_operand(arg)).collect();
        let mut b = self.at();
        let lane = match mask {
            Some(mask) => {
                let bits = b.mask_bits(mask);
                b.int1(Opcode::Ctz, bits)
            }
            None => b.iconst(Type::I64, 0),
        };
        let lane = b.int_resize(lane, Elem::I32, false);
        let args: SmallVec<[Value; 4]> = operands.iter().map(|operand| of_lane(&mut b, operand, lane)).collect();
        let results = func.dfg.results(inst);
        let types: SmallVec<[Type; 1]> = results.iter().map(|&value| func.dfg.ty(value)).collect();
        let made = b.inst(data.op, &args, data.imm.clone(), &types);
        for (i, &result) in results.iter().enumerate() {
            let value = self.out.dfg.results(made)[i];
            self.set(result, WideForm::Uniform(value));
        }
    }

    fn lane_operand(&mut self, arg: Value) -> LaneOperand {
        match self.form(arg) {
            WideForm::Uniform(scalar) => LaneOperand::Same(scalar),
            WideForm::Affine { base, stride } => LaneOperand::Affine(base, stride),
            WideForm::FirstLane(_) | WideForm::Flat(_) | WideForm::Packs(_) => LaneOperand::Packs(self.packs(arg)),
        }
    }

    /// Emits the instruction for one lane.
    fn one_lane(&mut self, inst: Inst, lane: u32) -> Option<Value> {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let args: SmallVec<[Value; 4]> = data.args.iter().map(|&arg| self.lane(arg, lane)).collect();
        let types: SmallVec<[Type; 1]> = func.dfg.results(inst).iter().map(|&value| func.dfg.ty(value)).collect();
        let imm = data.imm.clone();
        let made = self.at().inst(data.op, &args, imm, &types);
        self.out.dfg.results(made).first().copied()
    }

    /// Emits the instruction for one lane, to be executed if that lane is active.
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

    /// Emits one atomic for the pack instead of one per lane, if possible. Returns whether it was.
    fn aggregated_atomic(&mut self, inst: Inst, mask: Mask) -> bool {
        let func = self.func;
        let Some(atomic) = aggregated(func, &self.uses, self.divergence, inst) else { return false };
        let data = func.dfg.inst(inst);
        let Imm::Atomic(info) = data.imm else { return false };
        let result = func.dfg.result(inst);
        let [pointer, operand] = [data.args[0], data.args[1]];
        if !self.is_uniform(pointer) {
            return false;
        }
        let place = self.scalar(pointer);
        let pack = self.pack_type(func.dfg.ty(result));
        let identity = self.at().iconst(pack, atomic.identity_bits as i64);
        let mut lanes = self.packs(operand)[0];
        if let Some(mask) = mask {
            lanes = self.at().select(mask, lanes, identity);
        }
        if !atomic.result_used {
            let mut b = self.at();
            let whole = b.reduce(atomic.combine, lanes);
            b.atomic_rmw(place, whole, info);
            return true;
        }
        let added = if mask.is_none() && atomic.combine == AtomicOp::Add { self.constant_sum(operand) } else { None };
        if let Some((one, all)) = added {
            let mut b = self.at();
            let whole = b.iconst(func.dfg.ty(result), all);
            let found = b.atomic_rmw(place, whole, info);
            let each = self.strided(found, if info.op == AtomicOp::Sub { one.wrapping_neg() } else { one });
            self.set(result, WideForm::Packs(smallvec![each]));
            return true;
        }
        let up_to = self.scan_lanes(lanes, atomic.combine, false);
        let before = self.shift_up(up_to, identity, 1);
        let width = self.width;
        let mut b = self.at();
        let whole = b.extract(up_to, width - 1);
        let found = b.atomic_rmw(place, whole, info);
        let found = b.splat(found, width);
        let each = self.at().combine(info.op, found, before);
        self.set(result, WideForm::Packs(smallvec![each]));
        true
    }

    /// The operand that all lanes have, and the sum over all lanes, if it is a constant.
    fn constant_sum(&mut self, operand: Value) -> Option<(i64, i64)> {
        if !self.is_uniform(operand) {
            return None;
        }
        let operand = self.scalar(operand);
        let one = *self.constant_lanes(operand)?.first()? as i64;
        Some((one, one.wrapping_mul(i64::from(self.width))))
    }

    /// An atomic load, or a store of a uniform value, at a uniform address: emits it once. Returns whether the instruction was
    /// one.
    fn uniform_atomic(&mut self, inst: Inst) -> bool {
        let data = self.func.dfg.inst(inst);
        let is_access = data.op == Opcode::AtomicLoad || data.op == Opcode::AtomicStore;
        let one_place = is_access && self.shape(data.args[0]).is_uniform(Scope::Pack);
        if !one_place || !data.args.iter().all(|&arg| self.is_uniform(arg)) {
            return false;
        }
        let made = self.one_lane(inst, 0);
        if let (Some(result), Some(made)) = (self.func.dfg.single_result(inst), made) {
            self.set(result, WideForm::Uniform(made));
        }
        true
    }
}

/// Emits the value of an operand in a lane, a number of type `i32`.
fn of_lane(b: &mut Builder<'_>, operand: &LaneOperand, lane: Value) -> Value {
    match operand {
        LaneOperand::Same(scalar) => *scalar,
        LaneOperand::Affine(base, stride) => {
            let ty = b.ty(*base);
            let step = if ty.is_ptr() { Type::I64 } else { ty };
            let lane = b.int_resize(lane, step.elem, false);
            let stride = b.iconst(step, *stride);
            let distance = b.int2(Opcode::Imul, lane, stride);
            if ty.is_ptr() { b.addr(*base, Some(distance), 1, 0) } else { b.int2(Opcode::Iadd, *base, distance) }
        }
        LaneOperand::Packs(packs) => {
            let components: SmallVec<[Value; 4]> = packs.iter().map(|&pack| b.extract_dyn(pack, lane)).collect();
            b.vec(&components)
        }
    }
}
