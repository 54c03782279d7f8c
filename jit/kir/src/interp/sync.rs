//! Synchronization of work-items: barriers and collective operations.
//!
//! A collective operation of a sub-group is executed by those of its work-items that are at the same point: the same instruction,
//! in the same iteration of the loops around it. Of several such points the earliest in code order is executed first, so that
//! work-items reconverge after a divergent branch. A collective operation of a work-group is executed when all its work-items
//! have reached it, like a barrier. Work-items that have ended are not waited for, because programs return early beside
//! barriers.

use super::memory::Fault;
use super::step::{Frame, LaneVec, Machine, Thread};
use crate::entities::{Func, Inst};
use crate::eval::{combine, identity};
use crate::inst::{BarrierInfo, Imm, InstData, MemScope, SpaceSet};
use crate::meeting::Meeting;
use crate::ops::{CollectiveOp, OpClass, Opcode};
use crate::types::Elem;

/// A work-item.
pub(super) struct WorkItem<'m> {
    pub(super) thread: Thread<'m>,
    pub(super) state: ItemState,
    pub(super) started: bool,
}

/// The scheduling state of a work-item.
#[derive(Clone, Copy)]
pub(super) enum ItemState {
    Ready,
    Waiting(SyncPoint),
    Done,
}

/// A synchronization point that a work-item waits at.
#[derive(Clone, Copy)]
pub(super) enum SyncPoint {
    Barrier(BarrierInfo),
    /// The named barrier at an address.
    Named(u64, BarrierInfo),
    Operation {
        func: Func,
        inst: Inst,
        scope: MemScope,
    },
}

impl SyncPoint {
    /// The synchronization point that a thread has reached.
    pub(super) fn of(thread: &Thread<'_>) -> SyncPoint {
        let Some(frame) = thread.frames.last() else { unreachable!("broken invariant: waiting without a frame") };
        let inst = frame.inst();
        let data = frame.func.dfg.inst(inst);
        match data.meeting() {
            Some(Meeting::Barrier(info)) => SyncPoint::Barrier(info),
            Some(Meeting::NamedBarrier(info)) => SyncPoint::Named(frame.scalar(data.args[0]), info),
            Some(Meeting::Exchange(scope)) => SyncPoint::Operation { func: frame.id, inst, scope },
            None => unreachable!("broken invariant: waiting at {}", data.op.info().name),
        }
    }

    fn same(self, other: SyncPoint) -> bool {
        match (self, other) {
            (SyncPoint::Barrier(a), SyncPoint::Barrier(b)) => a.id == b.id,
            // Sub-groups may arrive at a named barrier from different instructions.
            (SyncPoint::Named(a, _), SyncPoint::Named(b, _)) => a == b,
            (SyncPoint::Operation { func: f, inst: i, .. }, SyncPoint::Operation { func: g, inst: j, .. }) => {
                (f, i) == (g, j)
            }
            (SyncPoint::Barrier(_), SyncPoint::Named(..) | SyncPoint::Operation { .. })
            | (SyncPoint::Named(..), SyncPoint::Barrier(_) | SyncPoint::Operation { .. })
            | (SyncPoint::Operation { .. }, SyncPoint::Barrier(_) | SyncPoint::Named(..)) => false,
        }
    }
}

impl WorkItem<'_> {
    /// The synchronization point that it waits at.
    fn point(&self) -> Option<SyncPoint> {
        match self.state {
            ItemState::Waiting(point) => Some(point),
            ItemState::Ready | ItemState::Done => None,
        }
    }

    /// Whether it has given way, at a time when no other work-item can go on.
    fn is_ready(&self) -> bool {
        match self.state {
            ItemState::Ready => true,
            ItemState::Waiting(_) | ItemState::Done => false,
        }
    }

    fn waits_at(&self, point: SyncPoint) -> bool {
        self.point().is_some_and(|other| other.same(point))
    }

    /// The collective operation of its sub-group that it waits at, with its position: the lesser of two positions is the
    /// earlier one.
    fn sub_group_operation(&self) -> Option<(Vec<u32>, SyncPoint)> {
        match self.state {
            ItemState::Waiting(point @ SyncPoint::Operation { scope: MemScope::SubGroup, .. }) => {
                let mut place = Vec::new();
                for frame in &self.thread.frames {
                    if let Some(order) = frame.order {
                        order.place(frame.block, frame.index, &frame.trips, &mut place);
                    }
                }
                Some((place, point))
            }
            ItemState::Ready | ItemState::Waiting(_) | ItemState::Done => None,
        }
    }
}

/// The synchronization point that all work-items wait at, apart from those that have ended.
fn common_point(items: &[WorkItem<'_>]) -> Option<SyncPoint> {
    let mut points = items.iter().filter_map(WorkItem::point);
    let first = points.next()?;
    points.all(|other| other.same(first)).then_some(first)
}

impl<'m> Machine<'m, '_> {
    /// Called when all work-items wait, have given way or have ended. Releases those that can continue: first those that wait
    /// at points of their sub-groups, then the whole group. If there are none, the barriers are divergent: this is reported,
    /// and all are released.
    pub(super) fn synchronize(&mut self, items: &mut [WorkItem<'m>], epochs: &mut (u32, u32)) {
        let mut any = false;
        for pack in self.packs(items.len()) {
            let pack = &mut items[pack];
            if pack.iter().any(WorkItem::is_ready) {
                continue;
            }
            if let Some(point @ SyncPoint::Barrier(info)) = common_point(pack)
                && info.execution == MemScope::SubGroup
            {
                self.release(pack, point, |_| true, epochs);
                any = true;
                continue;
            }
            let places: Vec<_> = pack.iter().map(WorkItem::sub_group_operation).collect();
            if let Some((place, point)) = places.iter().flatten().min_by(|a, b| a.0.cmp(&b.0)).cloned() {
                let here = |i: usize| places[i].as_ref().is_some_and(|(other, _)| *other == place);
                self.release(pack, point, here, epochs);
                any = true;
            }
        }
        // Nobody passes a point of the group without those that have given way.
        if any || self.release_named_barriers(items, epochs) || items.iter().any(WorkItem::is_ready) {
            return;
        }
        let point = common_point(items);
        if let Some(point @ (SyncPoint::Barrier(_) | SyncPoint::Operation { .. })) = point {
            self.release(items, point, |_| true, epochs);
            return;
        }
        let named = items.iter().find(|item| matches!(item.point(), Some(SyncPoint::Named(..))));
        if let Some(item) = named
            && let Some(frame) = item.thread.frames.last()
        {
            self.fault(&item.thread, frame.inst(), Fault::Deadlock);
            for i in 0..items.len() {
                if let Some(point) = items[i].point() {
                    self.release(items, point, |_| true, epochs);
                }
            }
            return;
        }
        let expected = items.iter().filter_map(WorkItem::point).count() as u32;
        let mut points: Vec<SyncPoint> = Vec::new();
        for i in 0..items.len() {
            let Some(point) = items[i].point() else { continue };
            if points.iter().any(|known| known.same(point)) {
                continue;
            }
            let waiting = items.iter().filter(|item| item.waits_at(point)).count() as u32;
            points.push(point);
            if let Some(inst) = items[i].thread.frames.last().map(|f| f.inst()) {
                self.fault(&items[i].thread, inst, Fault::DivergentBarrier { waiting, expected });
            }
        }
        for point in points {
            self.release(items, point, |_| true, epochs);
        }
    }

    fn sub_group_size(&self) -> usize {
        self.options.sub_group_size.max(1) as usize
    }

    /// The sub-groups of a group with `count` work-items.
    fn packs(&self, count: usize) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let width = self.sub_group_size();
        (0..count).step_by(width).map(move |start| start..(start + width).min(count))
    }

    /// Releases the sub-groups at named barriers where enough sub-groups have arrived; returns whether there are any.
    fn release_named_barriers(&mut self, items: &mut [WorkItem<'m>], epochs: &mut (u32, u32)) -> bool {
        let mut arrived: Vec<(SyncPoint, Vec<usize>)> = Vec::new();
        for pack in self.packs(items.len()) {
            if !items[pack.clone()].iter().any(WorkItem::is_ready)
                && let Some(point @ SyncPoint::Named(..)) = common_point(&items[pack.clone()])
            {
                match arrived.iter_mut().find(|(known, _)| known.same(point)) {
                    Some((_, members)) => members.push(pack.start),
                    None => arrived.push((point, vec![pack.start])),
                }
            }
        }
        let mut any = false;
        for (point, packs) in arrived {
            let SyncPoint::Named(address, _) = point else { continue };
            let Some(&first) = packs.first() else { continue };
            let thread = &items[first].thread;
            let mut count = [0; 4];
            if let Err(fault) = self.memory.read(&thread.access, address, &mut count)
                && let Some(frame) = thread.frames.last()
            {
                self.fault(thread, frame.inst(), fault);
            }
            let count = u32::from_le_bytes(count).max(1) as usize;
            if packs.len() >= count {
                let width = self.sub_group_size();
                let start = |i: usize| i - i % width;
                self.release(items, point, |i| packs[..count].contains(&start(i)), epochs);
                any = true;
            }
        }
        any
    }

    /// Executes a synchronization point for the work-items that wait at it and for which `here` holds, and releases them.
    fn release(
        &mut self,
        items: &mut [WorkItem<'m>],
        point: SyncPoint,
        here: impl Fn(usize) -> bool,
        epochs: &mut (u32, u32),
    ) {
        let mut members: Vec<Option<&mut Thread<'m>>> = Vec::with_capacity(items.len());
        for (i, item) in items.iter_mut().enumerate() {
            let goes_on = here(i) && item.waits_at(point);
            if goes_on {
                item.state = ItemState::Ready;
            }
            members.push(goes_on.then_some(&mut item.thread));
        }
        match point {
            SyncPoint::Barrier(info) | SyncPoint::Named(_, info) => {
                epochs.0 += u32::from(info.spaces.contains(SpaceSet::LOCAL));
                epochs.1 += u32::from(info.spaces.contains(SpaceSet::GLOBAL));
                self.memory.fence();
                self.observer.barrier(info.id);
            }
            SyncPoint::Operation { .. } => exchange(&mut members),
        }
        for thread in members.into_iter().flatten() {
            advance(thread);
        }
    }

    /// Executes a synchronization point in a plain function, without other participants.
    pub(super) fn execute_alone(&mut self, thread: &mut Thread<'m>) {
        match SyncPoint::of(thread) {
            SyncPoint::Barrier(_) | SyncPoint::Named(..) => {}
            SyncPoint::Operation { .. } => exchange(&mut [Some(thread)]),
        }
        advance(thread);
    }
}

/// Continues after a synchronization point.
fn advance(thread: &mut Thread<'_>) {
    if let Some(frame) = thread.frames.last_mut() {
        frame.index += 1;
    }
}

/// Executes a collective operation. `members` are the members of the group or sub-group by number, with the threads of those that
/// take part.
fn exchange(members: &mut [Option<&mut Thread<'_>>]) {
    let mut frames: Vec<Option<&mut Frame<'_>>> =
        members.iter_mut().map(|thread| thread.as_mut().and_then(|thread| thread.frames.last_mut())).collect();
    let Some(first) = frames.iter().flatten().next() else { return };
    let (func, inst) = (first.func, first.inst());
    let data = func.dfg.inst(inst);
    let result = func.dfg.result(inst);
    let values: Vec<Option<LaneVec>> =
        frames.iter().map(|frame| frame.as_ref().map(|frame| frame.lanes_vec(data.args[0]))).collect();
    let OpClass::Collective(op) = data.op.class() else {
        unreachable!("broken invariant: {} is not a collective operation", data.op.info().name)
    };
    let results: Vec<LaneVec> = match op {
        CollectiveOp::GroupReduce | CollectiveOp::GroupScan | CollectiveOp::GroupScanExclusive => {
            combined(data, func.dfg.ty(result).elem, &values)
        }
        CollectiveOp::GroupBallot => {
            let mut words = [0u64; 4];
            for (i, value) in values.iter().enumerate() {
                if value.as_ref().is_some_and(|lanes| lanes[0] & 1 == 1)
                    && let Some(word) = words.get_mut(i / 32)
                {
                    *word |= 1 << (i % 32);
                }
            }
            vec![LaneVec::from_slice(&words); values.len()]
        }
        CollectiveOp::GroupShuffle => {
            let number = |frame: &Option<&mut Frame<'_>>| frame.as_ref().map(|frame| frame.scalar(data.args[1]));
            let pick = |number: Option<u64>| values.get(number? as usize).cloned().flatten();
            let own = values.iter();
            frames.iter().zip(own).map(|(frame, own)| pick(number(frame)).or(own.clone()).unwrap_or_default()).collect()
        }
        CollectiveOp::PackAny => unreachable!("broken invariant: nobody waits at {op:?}"),
    };
    for (frame, lanes) in frames.iter_mut().zip(&results) {
        if let Some(frame) = frame {
            frame.set(result, lanes);
        }
    }
}

/// The results of a reduction or a scan, in the order of the members.
fn combined(data: &InstData, elem: Elem, values: &[Option<LaneVec>]) -> Vec<LaneVec> {
    let Imm::Group(info) = data.imm else { unreachable!("broken invariant: {:?} with {:?}", data.op, data.imm) };
    let cluster = if info.cluster == 0 { values.len() } else { info.cluster as usize };
    let join = |a: &LaneVec, b: &LaneVec| -> LaneVec {
        a.iter().zip(b).map(|(&a, &b)| combine(info.op, elem, a, b)).collect()
    };
    let mut results = Vec::with_capacity(values.len());
    for values in values.chunks(cluster.max(1)) {
        let mut sum: Option<LaneVec> = None;
        let start = results.len();
        for value in values {
            let before = sum.clone();
            if let Some(value) = value {
                sum = Some(sum.map_or_else(|| value.clone(), |sum| join(&sum, value)));
            }
            let identities = || value.iter().flatten().map(|_| identity(info.op, elem)).collect();
            results.push(if data.op == Opcode::GroupScanExclusive {
                before.unwrap_or_else(identities)
            } else {
                sum.clone().unwrap_or_default()
            });
        }
        if data.op == Opcode::GroupReduce {
            results[start..].fill(sum.unwrap_or_default());
        }
    }
    results
}
