//! Instructions without effects: leaves, queries, lane-wise ops, components of OpenCL vectors.

use clift_kir::inst::Imm;
use clift_kir::ops::{LaneOp, OpClass};
use clift_kir::{AtomicOp, Elem, Inst, Opcode, Type, Value};
use smallvec::{SmallVec, smallvec};

use super::forms::{Packs, WideForm};
use super::how::{How, how};
use super::{Mask, Widener};
use crate::spmd::analysis::shape::Shape;

impl Widener<'_> {
    /// Widens one instruction of a block that the lanes of `mask` execute.
    pub(super) fn instruction(&mut self, inst: Inst, mask: Mask) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        match how(data.op) {
            How::Leaf => {
                let result = func.dfg.result(inst);
                let imm = self.imm(&data.imm);
                let made = self.emit(data.op, &[], imm, func.dfg.ty(result));
                self.set(result, WideForm::Uniform(made));
            }
            How::Slot => self.slot(inst),
            How::Query => self.query(inst),
            How::Lanewise | How::Components | How::Bitcast => self.pure(inst),
            How::Load => self.load(inst, mask),
            How::Store => self.store(inst, mask),
            How::PerLane => self.per_lane(inst, mask),
            How::Collective => self.collective(inst, mask),
            How::Once => {
                let mut imm = data.imm.clone();
                if let Imm::Barrier(info) = &mut imm {
                    info.id = self.out.fresh_barrier();
                }
                let args: SmallVec<[Value; 1]> =
                    data.args.iter().map(|&arg| self.address_in_active_lanes(arg, mask)).collect();
                self.at().inst(data.op, &args, imm, &[]);
            }
            How::SingleLane => self.single_lane(inst, mask),
            How::Branch | How::End | How::Foreign => {
                unreachable!("broken invariant: {} inside a block", data.op.info().name)
            }
        }
    }

    /// An address that is the same for all active lanes, though this need not be known at compile time.
    fn address_in_active_lanes(&mut self, address: Value, mask: Mask) -> Value {
        if self.is_uniform(address) {
            return self.scalar(address);
        }
        let ty = self.func.dfg.ty(address);
        let lanes = self.packs(address)[0];
        let integers = Type::I64.with_lanes(self.width);
        let bits = self.at().cast(Opcode::PtrToInt, lanes, integers);
        let highest = match mask {
            Some(mask) => {
                let none = self.at().iconst(integers, 0);
                let bits = self.at().select(mask, bits, none);
                self.at().reduce(AtomicOp::Umax, bits)
            }
            None => self.at().reduce(AtomicOp::Umax, bits),
        };
        self.at().cast(Opcode::IntToPtr, highest, ty)
    }

    /// The address of a private variable. The lanes' elements, or their copies of the whole variable, are contiguous.
    fn slot(&mut self, inst: Inst) {
        let data = self.func.dfg.inst(inst);
        let Imm::Slot(slot) = data.imm else { unreachable!("broken invariant: slot_addr without a slot") };
        let result = self.func.dfg.result(inst);
        let stride = match self.interleaved.granule(slot) {
            None if self.interleaved.is_shared(slot) => 0,
            Some(granule) => i64::from(granule),
            None => (self.out.slots[slot].size / u64::from(self.width)) as i64,
        };
        let base = self.emit(data.op, &[], data.imm.clone(), self.func.dfg.ty(result));
        if self.whole_slots.contains(&slot) {
            self.clear_slot(slot, base);
        }
        let form = if stride == 0 { WideForm::Uniform(base) } else { WideForm::Affine { base, stride } };
        self.set_leaf(result, form);
    }

    /// A work-item query, for the first lane.
    fn query(&mut self, inst: Inst) {
        let data = self.func.dfg.inst(inst);
        let result = self.func.dfg.result(inst);
        let ty = self.func.dfg.ty(result);
        if data.op == Opcode::SubGroupLocalId {
            let first = self.at().iconst(ty, 0);
            self.set_leaf(result, WideForm::Affine { base: first, stride: 1 });
            return;
        }
        let base = self.emit(data.op, &[], data.imm.clone(), ty);
        let along_x = matches!(data.op, Opcode::GlobalId | Opcode::LocalId) && data.imm == Imm::Dim(0)
            || matches!(data.op, Opcode::GlobalLinearId | Opcode::LocalLinearId);
        let form = if along_x { WideForm::Affine { base, stride: 1 } } else { WideForm::Uniform(base) };
        self.set_leaf(result, form);
    }

    /// Records the form of a leaf. The value's shape may be less precise.
    fn set_leaf(&mut self, value: Value, form: WideForm) {
        self.set(value, form);
    }

    /// An instruction without effects. Uniform and affine results are computed with scalars.
    fn pure(&mut self, inst: Inst) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let result = func.dfg.result(inst);
        let ty = func.dfg.ty(result);
        if data.op == Opcode::Addr && self.interleaved.granule_at(data.args[0]).is_some() {
            self.interleaved_address(inst);
            return;
        }
        if data.op == Opcode::Addr && self.interleaved.is_shared_at(data.args[0]) {
            self.shared_address(inst);
            return;
        }
        let shape = self.shape(result);
        // A value may be affine though its operands are not: its first lane depends only on the operands' first lanes.
        let scalars = data.args.iter().all(|&arg| self.is_scalar(arg))
            || shape != Shape::Varying && data.args.iter().all(|&arg| self.has_first_lane(arg));
        let uniform = data.args.iter().all(|&arg| self.is_uniform(arg));
        if scalars && (shape != Shape::Varying || uniform) {
            let args: SmallVec<[Value; 4]> = data.args.iter().map(|&arg| self.scalar(arg)).collect();
            let made = self.emit(data.op, &args, data.imm.clone(), ty);
            let form = match shape {
                Shape::Affine { stride, .. } if !uniform => WideForm::Affine { base: made, stride },
                Shape::Affine { .. } | Shape::Uniform(_) | Shape::Varying => WideForm::Uniform(made),
            };
            self.set(result, form);
            return;
        }
        if self.divergence.has_known_distances(result) && data.args.iter().all(|&arg| self.has_first_lane(arg)) {
            let args: SmallVec<[Value; 4]> = data.args.iter().map(|&arg| self.scalar(arg)).collect();
            let first = self.emit(data.op, &args, data.imm.clone(), ty);
            self.set(result, WideForm::FirstLane(first));
            return;
        }
        if data.op == Opcode::LibCall {
            self.report.per_lane.push((data.op, self.loc));
        }
        if let Some(flat) = self.on_flat(inst) {
            self.set(result, WideForm::Flat(flat));
            return;
        }
        let packs = self.on_packs(inst);
        self.set(result, WideForm::Packs(packs));
    }

    /// Applies a lane-wise instruction to values of which one is flat and the others become so without cost.
    fn on_flat(&mut self, inst: Inst) -> Option<Value> {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let ty = func.dfg.ty(func.dfg.result(inst));
        let fits = |value: &Value| func.dfg.ty(*value).lanes() == ty.lanes();
        let throughout = self.lanewise_throughout.contains(func.dfg.result(inst));
        let suits = how(data.op) == How::Lanewise
            && ty.is_vector()
            && data.args.iter().all(fits)
            && data.args.iter().any(|&arg| self.is_flat(arg))
            && data
                .args
                .iter()
                .all(|&arg| self.is_flat(arg) || self.is_uniform(arg) || throughout && self.is_one_scalar(arg));
        if !suits {
            return None;
        }
        let args: Option<SmallVec<[Value; 4]>> = data.args.iter().map(|&arg| self.flat(arg)).collect();
        let flat = ty.with_lanes(ty.lanes() * self.width);
        Some(self.emit(data.op, &args?, data.imm.clone(), flat))
    }

    /// An address within an interleaved variable: offsets are multiplied by the number of lanes.
    fn interleaved_address(&mut self, inst: Inst) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let result = func.dfg.result(inst);
        let Imm::Addr { scale, disp } = data.imm else { unreachable!("broken invariant: addr without its numbers") };
        let (scale, disp) = (scale.wrapping_mul(u64::from(self.width)), disp.wrapping_mul(i64::from(self.width)));
        let imm = Imm::Addr { scale, disp };
        let base = self.form(data.args[0]);
        let index = data.args.get(1).map(|&index| self.form(index));
        let step = match &index {
            None | Some(WideForm::Uniform(_)) => Some(0),
            Some(WideForm::Affine { stride, .. }) => Some(stride.wrapping_mul(scale as i64)),
            Some(WideForm::FirstLane(_) | WideForm::Flat(_) | WideForm::Packs(_)) => None,
        };
        if let (WideForm::Affine { base, stride }, Some(step)) = (&base, step) {
            let args: SmallVec<[Value; 2]> =
                std::iter::once(*base).chain(data.args.get(1).map(|&index| self.scalar(index))).collect();
            let base = self.emit(Opcode::Addr, &args, imm, func.dfg.ty(result));
            let stride = stride.wrapping_add(step);
            self.set(result, if stride == 0 { WideForm::Uniform(base) } else { WideForm::Affine { base, stride } });
            return;
        }
        let args: SmallVec<[Value; 2]> = data.args.iter().map(|&arg| self.packs(arg)[0]).collect();
        let pack = self.pack_type(func.dfg.ty(result));
        let made = self.emit(Opcode::Addr, &args, imm, pack);
        self.set(result, WideForm::Packs(smallvec![made]));
    }

    /// An address within a shared variable.
    fn shared_address(&mut self, inst: Inst) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let result = func.dfg.result(inst);
        let ty = func.dfg.ty(result);
        if data.args.iter().all(|&arg| self.is_uniform(arg)) {
            let args: SmallVec<[Value; 2]> = data.args.iter().map(|&arg| self.scalar(arg)).collect();
            let made = self.emit(Opcode::Addr, &args, data.imm.clone(), ty);
            self.set(result, WideForm::Uniform(made));
            return;
        }
        let args: SmallVec<[Value; 2]> = data
            .args
            .iter()
            .map(|&arg| if self.is_uniform(arg) { self.scalar(arg) } else { self.packs(arg)[0] })
            .collect();
        let pack = self.pack_type(ty);
        let made = self.emit(Opcode::Addr, &args, data.imm.clone(), pack);
        self.set(result, WideForm::Packs(smallvec![made]));
    }

    /// The result of an instruction in all lanes.
    pub(super) fn on_packs(&mut self, inst: Inst) -> Packs {
        match how(self.func.dfg.inst(inst).op) {
            How::Components => self.components(inst),
            How::Bitcast => self.bitcast(inst),
            How::Lanewise => self.lanewise(inst),
            How::Leaf
            | How::Slot
            | How::Query
            | How::Load
            | How::Store
            | How::PerLane
            | How::Collective
            | How::Once
            | How::SingleLane
            | How::Branch
            | How::End
            | How::Foreign => unreachable!("broken invariant: not a computation"),
        }
    }

    /// Applies the same op to each component.
    fn lanewise(&mut self, inst: Inst) -> Packs {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let ty = func.dfg.ty(func.dfg.result(inst));
        let pack = self.pack_type(ty);
        if data.op == Opcode::Addr && !ty.is_vector() {
            return smallvec![self.address(inst, pack)];
        }
        // One condition for all components, or one for each.
        if data.op == Opcode::Select && self.is_uniform(data.args[0]) && !func.dfg.ty(data.args[0]).is_vector() {
            let cond = self.scalar(data.args[0]);
            let (a, b) = (self.packs(data.args[1]), self.packs(data.args[2]));
            return a.iter().zip(b).map(|(&a, b)| self.at().select(cond, a, b)).collect();
        }
        let args: SmallVec<[Packs; 4]> = data.args.iter().map(|&arg| self.packs(arg)).collect();
        (0..ty.lanes() as usize)
            .map(|component| {
                let operands: SmallVec<[Value; 4]> =
                    args.iter().map(|packs| packs[if packs.len() == 1 { 0 } else { component }]).collect();
                self.emit(data.op, &operands, data.imm.clone(), pack)
            })
            .collect()
    }

    /// A varying address: uniform operands stay scalars.
    fn address(&mut self, inst: Inst, pack: Type) -> Value {
        let data = self.func.dfg.inst(inst);
        let base = data.args[0];
        let mut operands: SmallVec<[Value; 2]> = SmallVec::new();
        let uniform_base = self.is_uniform(base);
        operands.push(if uniform_base { self.scalar(base) } else { self.packs(base)[0] });
        if let Some(&index) = data.args.get(1) {
            let scalar_index = self.is_uniform(index) && !uniform_base;
            operands.push(if scalar_index { self.scalar(index) } else { self.packs(index)[0] });
        }
        self.emit(Opcode::Addr, &operands, data.imm.clone(), pack)
    }

    /// Moves or combines the components of OpenCL vectors.
    fn components(&mut self, inst: Inst) -> Packs {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let ty = func.dfg.ty(func.dfg.result(inst));
        let count = ty.lanes() as usize;
        let first = self.packs(data.args[0]);
        let OpClass::Lane(op) = data.op.class() else {
            unreachable!("broken invariant: {} on components", data.op.info().name)
        };
        match (op, &data.imm) {
            (LaneOp::Splat, _) => std::iter::repeat_n(first[0], count).collect(),
            (LaneOp::Vec, _) => data.args.iter().map(|&arg| self.packs(arg)[0]).collect(),
            (LaneOp::Extract, &Imm::Lane(lane)) => smallvec![first[usize::from(lane)]],
            (LaneOp::Insert, &Imm::Lane(lane)) => {
                let mut packs = first;
                packs[usize::from(lane)] = self.packs(data.args[1])[0];
                packs
            }
            (LaneOp::Shuffle, Imm::Lanes(lanes)) => {
                let second = self.packs(data.args[1]);
                let all: Packs = first.into_iter().chain(second).collect();
                lanes.iter().map(|&lane| all[usize::from(lane)]).collect()
            }
            (LaneOp::ExtractDyn, _) => {
                let number = self.packs(data.args[1])[0];
                smallvec![self.choose_component(&first, number)]
            }
            (LaneOp::Lookup, _) => {
                let numbers = self.packs(data.args[1]);
                let mut component = |number: &Value| {
                    let number = self.at().int_resize(*number, Elem::I32, false);
                    self.choose_component(&first, number)
                };
                numbers.iter().map(&mut component).collect()
            }
            (LaneOp::InsertDyn, _) => {
                let element = self.packs(data.args[1])[0];
                let number = self.packs(data.args[2])[0];
                first
                    .iter()
                    .enumerate()
                    .map(|(i, &old)| {
                        let here = self.lanes_equal_to(number, i as i64);
                        self.at().select(here, element, old)
                    })
                    .collect()
            }
            (LaneOp::Any, _) => smallvec![self.fold(&first, |this, a, b| this.at().int2(Opcode::Or, a, b))],
            (LaneOp::All, _) => smallvec![self.fold(&first, |this, a, b| this.at().int2(Opcode::And, a, b))],
            (LaneOp::MaskBits, _) => {
                let pack = self.pack_type(Type::I64);
                let mut at = self.at();
                let mut bits = at.iconst(pack, 0);
                for (i, &component) in first.iter().enumerate() {
                    let [one, zero] = [1 << i, 0].map(|bit| at.iconst(pack, bit));
                    let bit = at.select(component, one, zero);
                    bits = at.int2(Opcode::Or, bits, bit);
                }
                smallvec![bits]
            }
            (LaneOp::Reduce, &Imm::Reduce(op)) => {
                smallvec![self.fold(&first, |this, a, b| this.at().combine(op, a, b))]
            }
            (LaneOp::Select | LaneOp::Extract | LaneOp::Insert | LaneOp::Shuffle | LaneOp::Reduce, imm) => {
                unreachable!("broken invariant: {op:?} with {imm:?} on components")
            }
        }
    }

    fn fold(&mut self, packs: &[Value], mut both: impl FnMut(&mut Self, Value, Value) -> Value) -> Value {
        let mut sum = packs[0];
        for &pack in &packs[1..] {
            sum = both(self, sum, pack);
        }
        sum
    }

    /// The lanes in which a number has a value.
    fn lanes_equal_to(&mut self, number: Value, wanted: i64) -> Value {
        let ty = self.out.dfg.ty(number);
        let mut b = self.at();
        let wanted = b.iconst(ty, wanted);
        b.icmp(clift_kir::IntCond::Eq, number, wanted)
    }

    /// For each lane, the component whose number it has, modulo the number of components rounded up to a power of two.
    fn choose_component(&mut self, components: &[Value], number: Value) -> Value {
        let ty = self.out.dfg.ty(number);
        let number = {
            let mut b = self.at();
            let last = b.iconst(ty, (components.len().next_power_of_two() - 1) as i64);
            b.int2(Opcode::And, number, last)
        };
        let mut chosen = components[0];
        for (i, &component) in components.iter().enumerate().skip(1) {
            let here = self.lanes_equal_to(number, i as i64);
            chosen = self.at().select(here, component, chosen);
        }
        chosen
    }

    /// Reinterprets the bits as the same, a larger or a smaller number of components.
    fn bitcast(&mut self, inst: Inst) -> Packs {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let to = func.dfg.ty(func.dfg.result(inst));
        let from = func.dfg.ty(data.args[0]);
        let packs = self.packs(data.args[0]);
        let cast = |this: &mut Self, pack: Value, ty: Type| {
            if this.out.dfg.ty(pack) == ty { pack } else { this.emit(Opcode::Bitcast, &[pack], Imm::None, ty) }
        };
        let pack = self.pack_type(to);
        if from.lanes() == to.lanes() {
            return packs.iter().map(|&p| cast(self, p, pack)).collect();
        }
        let (from_int, to_int) = (from.elem.as_int(), to.elem.as_int());
        let ints: Packs = packs.iter().map(|&p| cast(self, p, Type::vector(from_int, self.width))).collect();
        let wide = Type::vector(to_int, self.width);
        let made: Packs = if from_int.bits() < to_int.bits() {
            let per = (to_int.bits() / from_int.bits()) as usize;
            ints.chunks(per)
                .map(|pieces| {
                    let mut b = self.at();
                    let mut whole = b.int_resize(pieces[0], to_int, false);
                    for (i, &piece) in pieces.iter().enumerate().skip(1) {
                        let piece = b.int_resize(piece, to_int, false);
                        let count = b.iconst(wide, i64::from(from_int.bits()) * i as i64);
                        let piece = b.int2(Opcode::Shl, piece, count);
                        whole = b.int2(Opcode::Or, whole, piece);
                    }
                    whole
                })
                .collect()
        } else {
            let per = from_int.bits() / to_int.bits();
            let narrow = Type::vector(from_int, self.width);
            ints.iter()
                .flat_map(|&whole| (0..per).map(move |i| (whole, i)))
                .map(|(whole, i)| {
                    let mut b = self.at();
                    let count = b.iconst(narrow, i64::from(to_int.bits() * i));
                    let piece = if i == 0 { whole } else { b.int2(Opcode::Lshr, whole, count) };
                    b.int_resize(piece, to_int, false)
                })
                .collect()
        };
        made.iter().map(|&p| cast(self, p, pack)).collect()
    }
}
