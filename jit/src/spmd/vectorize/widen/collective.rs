//! Collective operations: code across the lanes of a pack, which is a sub-group.
//!
//! Inactive lanes contribute the identity. A scan takes log2(W) steps, each of which shifts the lanes up and combines. In an
//! operation of a whole work-group, each pack first combines its own lanes; the loops around packs do the rest with scalars.

use clift_kir::dfg::ConstData;
use clift_kir::eval::{LaneCx, identity};
use clift_kir::inst::Imm;
use clift_kir::ops::Meaning;
use clift_kir::{AtomicOp, Elem, GroupInfo, Inst, IntCond, MemScope, Opcode, Type, Value};
use smallvec::SmallVec;

use super::forms::{Form, Packs};
use super::{Mask, Widener};
use crate::spmd::analysis::shape::Scope;
use crate::spmd::workgroup::collectives::join;

/// How many definitions deep constants are searched.
const STEPS: u32 = 6;

impl Widener<'_> {
    /// A collective operation of the lanes of `mask`.
    pub(super) fn collective(&mut self, inst: Inst, mask: Mask) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let result = func.dfg.result(inst);
        let form = match (data.op, &data.imm) {
            (Opcode::GroupReduce, &Imm::Group(info)) if info.cluster == 0 || info.cluster >= self.width => {
                self.reduction(data.args[0], info, mask)
            }
            (Opcode::GroupReduce, &Imm::Group(info)) => {
                let packs = self.taking_part(data.args[0], info.op, mask);
                Form::Packs(packs.into_iter().map(|pack| self.reduce_clusters(pack, info.op, info.cluster)).collect())
            }
            (Opcode::GroupScan | Opcode::GroupScanExclusive, &Imm::Group(info)) => {
                self.scan(data.args[0], info, data.op == Opcode::GroupScanExclusive, mask)
            }
            (Opcode::PackAny, _) => Form::Uniform(self.vote(data.args[0], mask)),
            (Opcode::GroupBallot, _) => Form::Uniform(self.ballot(data.args[0], mask)),
            (Opcode::GroupShuffle, _) => self.exchange(data.args[0], data.args[1]),
            (op, imm) => unreachable!("broken invariant: {op:?} with {imm:?} is no collective operation"),
        };
        self.set(result, form);
    }

    /// Whether a Boolean is true for any lane of `mask`.
    fn vote(&mut self, value: Value, mask: Mask) -> Value {
        if self.is_uniform(value) {
            return self.scalar(value);
        }
        let lanes = self.packs(value)[0];
        let lanes = match mask {
            Some(mask) => self.at().int2(Opcode::And, lanes, mask),
            None => lanes,
        };
        self.at().any(lanes)
    }

    /// The components of a value, with the identity in inactive lanes.
    fn taking_part(&mut self, value: Value, op: AtomicOp, mask: Mask) -> Packs {
        let mut packs = self.packs(value);
        if let Some(mask) = mask {
            for pack in &mut packs {
                let neutral = self.neutral(self.out.dfg.ty(*pack), op);
                *pack = self.at().select(mask, *pack, neutral);
            }
        }
        packs
    }

    fn neutral(&mut self, ty: Type, op: AtomicOp) -> Value {
        self.at().constant(ConstData::splat(ty, identity(op, ty.elem)))
    }

    /// The reduction of all lanes, or of all packs of the group.
    fn reduction(&mut self, value: Value, info: GroupInfo, mask: Mask) -> Form {
        let repeats_do_nothing = match info.op {
            AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Smin
            | AtomicOp::Smax
            | AtomicOp::Umin
            | AtomicOp::Umax
            | AtomicOp::Fmin
            | AtomicOp::Fmax => true,
            AtomicOp::Xchg
            | AtomicOp::Add
            | AtomicOp::Sub
            | AtomicOp::Mul
            | AtomicOp::Xor
            | AtomicOp::Fadd
            | AtomicOp::Fmul => false,
        };
        let whole = if repeats_do_nothing && self.is_uniform(value) {
            // Some lane is active, or the result is not used.
            self.scalar(value)
        } else {
            let packs = self.taking_part(value, info.op, mask);
            let wholes: SmallVec<[Value; 4]> = packs.iter().map(|&pack| self.reduce_lanes(pack, info.op)).collect();
            self.at().vec(&wholes)
        };
        if info.scope == MemScope::WorkGroup {
            return Form::Uniform(self.at().group(Opcode::GroupReduce, info, whole));
        }
        Form::Uniform(whole)
    }

    /// Combines all lanes of a pack.
    fn reduce_lanes(&mut self, pack: Value, op: AtomicOp) -> Value {
        let ty = self.out.dfg.ty(pack);
        if ty.is_bool() {
            let mut b = self.at();
            return match op {
                AtomicOp::And => b.all(pack),
                AtomicOp::Or => b.any(pack),
                _ => {
                    let bits = b.mask_bits(pack);
                    let count = b.int1(Opcode::Popcnt, bits);
                    let one = b.iconst(Type::I64, 1);
                    let odd = b.int2(Opcode::And, count, one);
                    b.icmp(IntCond::Eq, odd, one)
                }
            };
        }
        if ty.is_int() {
            return self.at().reduce(op, pack);
        }
        // By halves: the order of floating-point operations is free.
        let (mut pack, mut lanes) = (pack, ty.lanes() as u8);
        while lanes > 1 {
            let half = lanes / 2;
            let [low, high] = [0..half, half..lanes].map(|part| part.collect::<SmallVec<[u8; 16]>>());
            let mut b = self.at();
            let (low, high) = if half == 1 {
                (b.extract(pack, 0), b.extract(pack, 1))
            } else {
                (b.shuffle(pack, pack, &low), b.shuffle(pack, pack, &high))
            };
            pack = join(&mut b, op, low, high);
            lanes = half;
        }
        pack
    }

    /// Combines each cluster of neighbouring lanes; every lane of it gets the result.
    fn reduce_clusters(&mut self, pack: Value, op: AtomicOp, cluster: u32) -> Value {
        let (mut pack, to) = self.countable(pack);
        let mut step = 1;
        while step < cluster {
            let lanes: SmallVec<[u8; 16]> = (0..self.width).map(|lane| (lane ^ step) as u8).collect();
            let mut b = self.at();
            let other = b.shuffle(pack, pack, &lanes);
            pack = join(&mut b, op, pack, other);
            step *= 2;
        }
        self.counted(pack, to)
    }

    /// Booleans as integers, which are easier to move across lanes; and whether the value was one.
    fn countable(&mut self, pack: Value) -> (Value, bool) {
        let ty = self.out.dfg.ty(pack);
        if !ty.is_bool() {
            return (pack, false);
        }
        (self.at().cast(Opcode::Sext, pack, ty.with_elem(Elem::I32)), true)
    }

    /// Undoes [`Self::bools_to_ints`].
    fn counted(&mut self, pack: Value, truth: bool) -> Value {
        if !truth {
            return pack;
        }
        let ty = self.out.dfg.ty(pack);
        let mut b = self.at();
        let zero = b.iconst(ty, 0);
        b.icmp(IntCond::Ne, pack, zero)
    }

    /// A scan over the pack or the whole group.
    fn scan(&mut self, value: Value, info: GroupInfo, exclusive: bool, mask: Mask) -> Form {
        let packs = self.taking_part(value, info.op, mask);
        let mut scanned: Packs = Packs::new();
        let mut truth = false;
        for &pack in &packs {
            let (pack, was_truth) = self.countable(pack);
            truth = was_truth;
            let scan = self.scan_lanes(pack, info.op, exclusive);
            scanned.push(scan);
        }
        if info.scope == MemScope::WorkGroup {
            let wholes: SmallVec<[Value; 4]> = packs
                .iter()
                .map(|&pack| {
                    let (pack, _) = self.countable(pack);
                    self.reduce_lanes(pack, info.op)
                })
                .collect();
            let whole = self.at().vec(&wholes);
            let before = self.at().group(Opcode::GroupScanExclusive, info, whole);
            let width = self.width;
            for (i, scan) in scanned.iter_mut().enumerate() {
                let mut b = self.at();
                let part = b.extract(before, i as u32);
                let part = b.splat(part, width);
                *scan = join(&mut b, info.op, part, *scan);
            }
        }
        Form::Packs(scanned.into_iter().map(|pack| self.counted(pack, truth)).collect())
    }

    /// A scan over the lanes of a pack.
    pub(super) fn scan_lanes(&mut self, pack: Value, op: AtomicOp, exclusive: bool) -> Value {
        let ty = self.out.dfg.ty(pack);
        let neutral = self.neutral(ty, op);
        let mut pack = if exclusive { self.move_up(pack, neutral, 1) } else { pack };
        let mut step = 1;
        while step < self.width {
            let before = self.move_up(pack, neutral, step);
            pack = join(&mut self.at(), op, before, pack);
            step *= 2;
        }
        pack
    }

    /// Shifts the lanes up; the freed lanes come from another value.
    pub(super) fn move_up(&mut self, pack: Value, from_below: Value, by: u32) -> Value {
        let width = self.width;
        let lanes: SmallVec<[u8; 16]> =
            (0..width).map(|lane| if lane < by { lane } else { width + lane - by } as u8).collect();
        self.at().shuffle(from_below, pack, &lanes)
    }

    /// The lanes with a true value, as bits of four words.
    fn ballot(&mut self, value: Value, mask: Mask) -> Value {
        let width = self.width;
        let uniform = self.is_uniform(value);
        let own = if uniform { self.scalar(value) } else { self.packs(value)[0] };
        let mut b = self.at();
        let votes = match (mask, uniform) {
            (Some(mask), true) => b.mask_bits(mask),
            (None, true) => b.iconst(Type::I64, ((1u64 << width) - 1) as i64),
            (Some(mask), false) => {
                let votes = b.int2(Opcode::And, own, mask);
                b.mask_bits(votes)
            }
            (None, false) => b.mask_bits(own),
        };
        let zero = b.iconst(Type::I32, 0);
        let mut word = b.cast(Opcode::Itrunc, votes, Type::I32);
        if uniform {
            word = b.select(own, word, zero);
        }
        b.vec(&[word, zero, zero, zero])
    }

    /// For each lane, the value of the lane whose number it has.
    fn exchange(&mut self, value: Value, number: Value) -> Form {
        if self.is_uniform(value) {
            return Form::Uniform(self.scalar(value));
        }
        if self.is_uniform(number) || self.shape(number).is_uniform(Scope::Pack) {
            let number = self.scalar(number);
            if let Some(known) = self.known_lanes(number) {
                return Form::Uniform(self.lane(value, (known[0] % u64::from(self.width)) as u32));
            }
            let packs = self.packs(value);
            let mut b = self.at();
            let picked: SmallVec<[Value; 4]> = packs.iter().map(|&pack| b.extract_dyn(pack, number)).collect();
            return Form::Uniform(b.vec(&picked));
        }
        let packs = self.packs(value);
        let numbers = self.packs(number)[0];
        if let Some(known) = self.known_lanes(numbers) {
            let width = u64::from(self.width);
            let lanes: SmallVec<[u8; 16]> = known.iter().map(|&number| (number % width) as u8).collect();
            return Form::Packs(packs.iter().map(|&pack| self.at().shuffle(pack, pack, &lanes)).collect());
        }
        self.report.per_lane.push((Opcode::GroupShuffle, self.loc));
        let width = self.width;
        let mut b = self.at();
        let each: SmallVec<[Value; 16]> = (0..width).map(|lane| b.extract(numbers, lane)).collect();
        let moved = packs.iter().map(|&pack| {
            let lanes: SmallVec<[Value; 16]> = each.iter().map(|&number| b.extract_dyn(pack, number)).collect();
            b.vec(&lanes)
        });
        Form::Packs(moved.collect())
    }

    /// The lanes of a value that is computed from constants only, in a few steps.
    pub(super) fn known_lanes(&self, value: Value) -> Option<SmallVec<[u64; 16]>> {
        self.known_within(value, STEPS)
    }

    fn known_within(&self, value: Value, steps: u32) -> Option<SmallVec<[u64; 16]>> {
        let steps = steps.checked_sub(1)?;
        let dfg = &self.out.dfg;
        let data = dfg.inst(dfg.def_inst(value)?);
        let ty = dfg.ty(value);
        match (data.op.info().meaning, &data.imm) {
            (_, Imm::Const(id)) => Some((0..ty.lanes()).map(|lane| dfg.constant(*id).lane(lane)).collect()),
            (Meaning::Lanes(meaning), imm) => {
                let args: SmallVec<[SmallVec<[u64; 16]>; 3]> =
                    data.args.iter().map(|&arg| self.known_within(arg, steps)).collect::<Option<_>>()?;
                let cx = LaneCx { imm, src: dfg.ty(*data.args.first()?).elem, dst: ty.elem };
                let lane = |lane: usize| {
                    let operands: SmallVec<[u64; 3]> = args.iter().map(|lanes| lanes[lane]).collect();
                    meaning(&cx, &operands)
                };
                Some((0..ty.lanes() as usize).map(lane).collect())
            }
            _ if data.op == Opcode::Splat => {
                let lane = *self.known_within(data.args[0], steps)?.first()?;
                Some(SmallVec::from_elem(lane, ty.lanes() as usize))
            }
            _ => None,
        }
    }
}
