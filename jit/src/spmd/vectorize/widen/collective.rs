//! Collective operations: code across the lanes of a pack, which is a sub-group.
//!
//! Inactive lanes contribute the identity. A scan takes log2(W) steps, each of which shifts the lanes up and combines. In an
//! operation of a whole work-group, each pack first combines its own lanes; the loops around packs do the rest with scalars.

use clift_kir::dfg::ConstData;
use clift_kir::eval::{LaneCx, identity};
use clift_kir::inst::Imm;
use clift_kir::ops::{CollectiveOp, Meaning, OpClass};
use clift_kir::{AtomicOp, Elem, GroupInfo, Inst, IntCond, MemScope, Opcode, Type, Value};
use smallvec::SmallVec;

use super::forms::{Packs, WideForm};
use super::{Mask, Widener};
use crate::spmd::analysis::shape::Scope;

/// How many definitions deep constants are searched.
const MAX_DEPTH: u32 = 6;

impl Widener<'_> {
    /// A collective operation of the lanes of `mask`.
    pub(super) fn collective(&mut self, inst: Inst, mask: Mask) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let result = func.dfg.result(inst);
        let OpClass::Collective(op) = data.op.class() else {
            unreachable!("broken invariant: {} is not a collective operation", data.op.info().name)
        };
        let info = || {
            let Imm::Group(info) = data.imm else { unreachable!("broken invariant: {op:?} with {:?}", data.imm) };
            info
        };
        let form = match op {
            CollectiveOp::GroupReduce if info().cluster == 0 || info().cluster >= self.width => {
                self.reduction(data.args[0], info(), mask)
            }
            CollectiveOp::GroupReduce => {
                let info = info();
                let packs = self.with_identity_where_inactive(data.args[0], info.op, mask);
                WideForm::Packs(
                    packs.into_iter().map(|pack| self.reduce_clusters(pack, info.op, info.cluster)).collect(),
                )
            }
            CollectiveOp::GroupScan => self.scan(data.args[0], info(), false, mask),
            CollectiveOp::GroupScanExclusive => self.scan(data.args[0], info(), true, mask),
            CollectiveOp::PackAny => WideForm::Uniform(self.vote(data.args[0], mask)),
            CollectiveOp::GroupBallot => WideForm::Uniform(self.ballot(data.args[0], mask)),
            CollectiveOp::GroupShuffle => self.exchange(data.args[0], data.args[1]),
        };
        self.set(result, form);
    }

    /// Whether a Boolean is true for any lane of `mask`.
    fn vote(&mut self, value: Value, mask: Mask) -> Value {
        if self.is_uniform(value) {
            return self.scalar(value);
        }
        if mask.is_none()
            && let Some(any) = self.vote_by_ends(value)
        {
            return any;
        }
        let lanes = self.packs(value)[0];
        let lanes = match mask {
            Some(mask) => self.at().int2(Opcode::And, lanes, mask),
            None => lanes,
        };
        self.at().any(lanes)
    }

    /// Whether a comparison of an affine value with a limit, or one of several, is true for any lane, computed from the first
    /// and the last lane; `None` for other values. If the limit is above both and no value between them wraps, it is above all.
    fn vote_by_ends(&mut self, value: Value) -> Option<Value> {
        let inst = self.func.dfg.def_inst(value)?;
        let (op, args, imm) = {
            let data = self.func.dfg.inst(inst);
            (data.op, data.args.clone(), data.imm.clone())
        };
        if op == Opcode::Or {
            let [a, b] = [args[0], args[1]].map(|side| self.vote(side, None));
            return Some(self.at().int2(Opcode::Or, a, b));
        }
        if op != Opcode::Icmp || !matches!(imm, Imm::IntCond(IntCond::Uge)) || !self.is_uniform(args[1]) {
            return None;
        }
        let WideForm::Affine { base, stride } = self.form(args[0]) else { return None };
        let limit = self.scalar(args[1]);
        let width = i64::from(self.width);
        let ty = self.out.dfg.ty(base);
        let distance = stride.checked_mul(width - 1).filter(|distance| distance.unsigned_abs() < 1 << 31)?;
        if ty != Type::I64 {
            return None;
        }
        let mut b = self.at();
        let distance = b.iconst(ty, distance);
        let last = b.int2(Opcode::Iadd, base, distance);
        let ends = [base, last].map(|end| b.icmp(IntCond::Uge, end, limit));
        let wraps = if stride > 0 { b.icmp(IntCond::Ult, last, base) } else { b.icmp(IntCond::Ult, base, last) };
        let any = b.int2(Opcode::Or, ends[0], ends[1]);
        Some(b.int2(Opcode::Or, any, wraps))
    }

    /// The components of a value, with the identity in inactive lanes.
    fn with_identity_where_inactive(&mut self, value: Value, op: AtomicOp, mask: Mask) -> Packs {
        let mut packs = self.packs(value);
        if let Some(mask) = mask {
            for pack in &mut packs {
                let identity_pack = self.identity_pack(self.out.dfg.ty(*pack), op);
                *pack = self.at().select(mask, *pack, identity_pack);
            }
        }
        packs
    }

    fn identity_pack(&mut self, ty: Type, op: AtomicOp) -> Value {
        self.at().constant(ConstData::splat(ty, identity(op, ty.elem)))
    }

    /// The reduction of all lanes, or of all packs of the group.
    fn reduction(&mut self, value: Value, info: GroupInfo, mask: Mask) -> WideForm {
        let is_idempotent = match info.op {
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
        let whole = if is_idempotent && self.is_uniform(value) {
            // Some lane is active, or the result is not used.
            self.scalar(value)
        } else {
            let packs = self.with_identity_where_inactive(value, info.op, mask);
            if let (MemScope::WorkGroup, &[pack]) = (info.scope, &packs[..])
                && !self.out.dfg.ty(pack).is_bool()
            {
                // Packs are combined lane by lane, and the lanes once, at the end.
                let lanes = self.at().group(Opcode::GroupReduce, info, pack);
                return WideForm::Uniform(self.reduce_lanes(lanes, info.op));
            }
            let wholes: SmallVec<[Value; 4]> = packs.iter().map(|&pack| self.reduce_lanes(pack, info.op)).collect();
            self.at().vec(&wholes)
        };
        if info.scope == MemScope::WorkGroup {
            return WideForm::Uniform(self.at().group(Opcode::GroupReduce, info, whole));
        }
        WideForm::Uniform(whole)
    }

    /// Combines all lanes of a pack.
    fn reduce_lanes(&mut self, pack: Value, op: AtomicOp) -> Value {
        let ty = self.out.dfg.ty(pack);
        if ty.is_bool() {
            let mut b = self.at();
            return match op {
                AtomicOp::And => b.all(pack),
                AtomicOp::Or => b.any(pack),
                AtomicOp::Xor => {
                    let bits = b.mask_bits(pack);
                    let count = b.int1(Opcode::Popcnt, bits);
                    let one = b.iconst(Type::I64, 1);
                    let odd = b.int2(Opcode::And, count, one);
                    b.icmp(IntCond::Eq, odd, one)
                }
                AtomicOp::Xchg
                | AtomicOp::Add
                | AtomicOp::Sub
                | AtomicOp::Mul
                | AtomicOp::Smin
                | AtomicOp::Smax
                | AtomicOp::Umin
                | AtomicOp::Umax
                | AtomicOp::Fadd
                | AtomicOp::Fmul
                | AtomicOp::Fmin
                | AtomicOp::Fmax => unreachable!("broken invariant: {op:?} of Booleans"),
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
            pack = b.combine(op, low, high);
            lanes = half;
        }
        pack
    }

    /// Combines each cluster of neighbouring lanes; every lane of it gets the result.
    fn reduce_clusters(&mut self, pack: Value, op: AtomicOp, cluster: u32) -> Value {
        let (mut pack, to) = self.bools_to_ints(pack);
        let mut step = 1;
        while step < cluster {
            let lanes: SmallVec<[u8; 16]> = (0..self.width).map(|lane| (lane ^ step) as u8).collect();
            let mut b = self.at();
            let other = b.shuffle(pack, pack, &lanes);
            pack = b.combine(op, pack, other);
            step *= 2;
        }
        self.ints_to_bools(pack, to)
    }

    /// Booleans as integers, which are easier to move across lanes; and whether the value was one.
    fn bools_to_ints(&mut self, pack: Value) -> (Value, bool) {
        let ty = self.out.dfg.ty(pack);
        if !ty.is_bool() {
            return (pack, false);
        }
        (self.at().cast(Opcode::Sext, pack, ty.with_elem(Elem::I32)), true)
    }

    /// Undoes [`Self::bools_to_ints`].
    fn ints_to_bools(&mut self, pack: Value, was_bool: bool) -> Value {
        if !was_bool {
            return pack;
        }
        let ty = self.out.dfg.ty(pack);
        let mut b = self.at();
        let zero = b.iconst(ty, 0);
        b.icmp(IntCond::Ne, pack, zero)
    }

    /// A scan over the pack or the whole group.
    fn scan(&mut self, value: Value, info: GroupInfo, exclusive: bool, mask: Mask) -> WideForm {
        let packs = self.with_identity_where_inactive(value, info.op, mask);
        let mut scanned: Packs = Packs::new();
        let mut was_bool = false;
        for &pack in &packs {
            let (pack, is_bool) = self.bools_to_ints(pack);
            was_bool = is_bool;
            let scan = self.scan_lanes(pack, info.op, exclusive);
            scanned.push(scan);
        }
        if info.scope == MemScope::WorkGroup {
            let wholes: SmallVec<[Value; 4]> = packs
                .iter()
                .map(|&pack| {
                    let (pack, _) = self.bools_to_ints(pack);
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
                *scan = b.combine(info.op, part, *scan);
            }
        }
        WideForm::Packs(scanned.into_iter().map(|pack| self.ints_to_bools(pack, was_bool)).collect())
    }

    /// A scan over the lanes of a pack.
    pub(super) fn scan_lanes(&mut self, pack: Value, op: AtomicOp, exclusive: bool) -> Value {
        let ty = self.out.dfg.ty(pack);
        let identity_pack = self.identity_pack(ty, op);
        let mut pack = if exclusive { self.shift_up(pack, identity_pack, 1) } else { pack };
        let mut step = 1;
        while step < self.width {
            let before = self.shift_up(pack, identity_pack, step);
            pack = self.at().combine(op, before, pack);
            step *= 2;
        }
        pack
    }

    /// Shifts the lanes up; the freed lanes come from another value.
    pub(super) fn shift_up(&mut self, pack: Value, from_below: Value, by: u32) -> Value {
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
    fn exchange(&mut self, value: Value, number: Value) -> WideForm {
        if self.is_uniform(value) {
            return WideForm::Uniform(self.scalar(value));
        }
        if self.is_uniform(number) || self.shape(number).is_uniform(Scope::Pack) {
            let number = self.scalar(number);
            if let Some(known) = self.constant_lanes(number) {
                return WideForm::Uniform(self.lane(value, (known[0] % u64::from(self.width)) as u32));
            }
            let packs = self.packs(value);
            let mut b = self.at();
            let picked: SmallVec<[Value; 4]> = packs.iter().map(|&pack| b.extract_dyn(pack, number)).collect();
            return WideForm::Uniform(b.vec(&picked));
        }
        let packs = self.packs(value);
        let numbers = self.packs(number)[0];
        if let Some(known) = self.constant_lanes(numbers) {
            let width = u64::from(self.width);
            let lanes: SmallVec<[u8; 16]> = known.iter().map(|&number| (number % width) as u8).collect();
            return WideForm::Packs(packs.iter().map(|&pack| self.at().shuffle(pack, pack, &lanes)).collect());
        }
        self.report.per_lane.push((Opcode::GroupShuffle, self.loc));
        let width = self.width;
        let mut b = self.at();
        let each: SmallVec<[Value; 16]> = (0..width).map(|lane| b.extract(numbers, lane)).collect();
        let moved = packs.iter().map(|&pack| {
            let lanes: SmallVec<[Value; 16]> = each.iter().map(|&number| b.extract_dyn(pack, number)).collect();
            b.vec(&lanes)
        });
        WideForm::Packs(moved.collect())
    }

    /// The lanes of a value that is computed from constants only, in a few steps.
    pub(super) fn constant_lanes(&self, value: Value) -> Option<SmallVec<[u64; 16]>> {
        self.constant_lanes_within(value, MAX_DEPTH)
    }

    fn constant_lanes_within(&self, value: Value, steps: u32) -> Option<SmallVec<[u64; 16]>> {
        let steps = steps.checked_sub(1)?;
        let dfg = &self.out.dfg;
        let data = dfg.inst(dfg.def_inst(value)?);
        let ty = dfg.ty(value);
        match (data.op.info().meaning, &data.imm) {
            (_, Imm::Const(id)) => Some((0..ty.lanes()).map(|lane| dfg.constant(*id).lane(lane)).collect()),
            (Meaning::Lanes(meaning), imm) => {
                let args: SmallVec<[SmallVec<[u64; 16]>; 3]> =
                    data.args.iter().map(|&arg| self.constant_lanes_within(arg, steps)).collect::<Option<_>>()?;
                let cx = LaneCx { imm, src: dfg.ty(*data.args.first()?).elem, dst: ty.elem };
                let lane = |lane: usize| {
                    let operands: SmallVec<[u64; 3]> = args.iter().map(|lanes| lanes[lane]).collect();
                    meaning(&cx, &operands)
                };
                Some((0..ty.lanes() as usize).map(lane).collect())
            }
            _ if data.op == Opcode::Splat => {
                let lane = *self.constant_lanes_within(data.args[0], steps)?.first()?;
                Some(SmallVec::from_elem(lane, ty.lanes() as usize))
            }
            _ => None,
        }
    }
}
