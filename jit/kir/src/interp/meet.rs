//! Where work-items meet: barriers, and operations in which they exchange values.
//!
//! The operations of a sub-group are executed by those of its work-items that are at the same place: the same instruction, in
//! the same repetition of the loops around it. Of several such places the one furthest behind comes first, so that work-items
//! that a branch has parted are together again where its ways meet. The operations of a work-group are executed when all of
//! its work-items are there, like barriers. Nobody waits for work-items that have ended: programs return early beside a barrier.

use super::memory::Fault;
use super::step::{Frame, LaneVec, Machine, Thread};
use crate::entities::{Func, Inst};
use crate::eval::{combine, identity};
use crate::inst::{BarrierInfo, Imm, InstData, MemScope, SpaceSet};
use crate::ops::Opcode;
use crate::types::Elem;

/// A work-item.
pub(super) struct Item<'m> {
    pub(super) thread: Thread<'m>,
    pub(super) state: State,
    pub(super) started: bool,
}

/// A work-item between its turns.
#[derive(Clone, Copy)]
pub(super) enum State {
    Ready,
    Waiting(Meeting),
    Done,
}

/// What a work-item waits for.
#[derive(Clone, Copy)]
pub(super) enum Meeting {
    Barrier(BarrierInfo),
    /// The named barrier that lies at an address.
    Named(u64, BarrierInfo),
    Operation {
        func: Func,
        inst: Inst,
        scope: MemScope,
    },
}

impl Meeting {
    /// What a thread has come to.
    pub(super) fn of(thread: &Thread<'_>) -> Meeting {
        let Some(frame) = thread.frames.last() else { unreachable!("broken invariant: waiting without a frame") };
        let inst = frame.inst();
        let data = frame.func.dfg.inst(inst);
        let scope = match &data.imm {
            Imm::Barrier(info) if data.op == Opcode::NamedBarrier => {
                return Meeting::Named(frame.scalar(data.args[0]), *info);
            }
            Imm::Barrier(info) => return Meeting::Barrier(*info),
            Imm::Group(info) => info.scope,
            _ => MemScope::SubGroup,
        };
        Meeting::Operation { func: frame.id, inst, scope }
    }

    fn same(self, other: Meeting) -> bool {
        match (self, other) {
            (Meeting::Barrier(a), Meeting::Barrier(b)) => a.id == b.id,
            // Sub-groups may arrive at a named barrier from anywhere.
            (Meeting::Named(a, _), Meeting::Named(b, _)) => a == b,
            (Meeting::Operation { func: f, inst: i, .. }, Meeting::Operation { func: g, inst: j, .. }) => {
                (f, i) == (g, j)
            }
            (Meeting::Barrier(_), Meeting::Named(..) | Meeting::Operation { .. })
            | (Meeting::Named(..), Meeting::Barrier(_) | Meeting::Operation { .. })
            | (Meeting::Operation { .. }, Meeting::Barrier(_) | Meeting::Named(..)) => false,
        }
    }
}

impl Item<'_> {
    /// What it waits for.
    fn meeting(&self) -> Option<Meeting> {
        match self.state {
            State::Waiting(meeting) => Some(meeting),
            State::Ready | State::Done => None,
        }
    }

    fn waits_for(&self, meeting: Meeting) -> bool {
        self.meeting().is_some_and(|other| other.same(meeting))
    }

    /// The operation of its sub-group that it waits for, and where that is: of two places the lesser is behind.
    fn sub_group_operation(&self) -> Option<(Vec<u32>, Meeting)> {
        match self.state {
            State::Waiting(meeting @ Meeting::Operation { scope: MemScope::SubGroup, .. }) => {
                let mut place = Vec::new();
                for frame in &self.thread.frames {
                    if let Some(order) = frame.order {
                        order.place(frame.block, frame.index, &frame.trips, &mut place);
                    }
                }
                Some((place, meeting))
            }
            State::Ready | State::Waiting(_) | State::Done => None,
        }
    }
}

/// What all work-items wait for that have not ended.
fn all_at_one(items: &[Item<'_>]) -> Option<Meeting> {
    let mut meetings = items.iter().filter_map(Item::meeting);
    let first = meetings.next()?;
    meetings.all(|other| other.same(first)).then_some(first)
}

impl<'m> Machine<'m, '_> {
    /// All work-items wait or have ended: lets go on who may. First those who meet in their sub-groups, then the whole group;
    /// when neither is so, the meetings diverge: that is reported, and all go on.
    pub(super) fn meet(&mut self, items: &mut [Item<'m>], epochs: &mut (u32, u32)) {
        let mut any = false;
        for pack in self.packs(items.len()) {
            let pack = &mut items[pack];
            if let Some(meeting @ Meeting::Barrier(info)) = all_at_one(pack)
                && info.execution == MemScope::SubGroup
            {
                self.release(pack, meeting, |_| true, epochs);
                any = true;
                continue;
            }
            let places: Vec<_> = pack.iter().map(Item::sub_group_operation).collect();
            if let Some((place, meeting)) = places.iter().flatten().min_by(|a, b| a.0.cmp(&b.0)).cloned() {
                let here = |i: usize| places[i].as_ref().is_some_and(|(other, _)| *other == place);
                self.release(pack, meeting, here, epochs);
                any = true;
            }
        }
        if any || self.meet_at_named_barriers(items, epochs) {
            return;
        }
        let meeting = all_at_one(items);
        if let Some(meeting @ (Meeting::Barrier(_) | Meeting::Operation { .. })) = meeting {
            self.release(items, meeting, |_| true, epochs);
            return;
        }
        let named = items.iter().find(|item| matches!(item.meeting(), Some(Meeting::Named(..))));
        if let Some(item) = named
            && let Some(frame) = item.thread.frames.last()
        {
            self.fault(&item.thread, frame.inst(), Fault::Deadlock);
            for i in 0..items.len() {
                if let Some(meeting) = items[i].meeting() {
                    self.release(items, meeting, |_| true, epochs);
                }
            }
            return;
        }
        let expected = items.iter().filter_map(Item::meeting).count() as u32;
        let mut meetings: Vec<Meeting> = Vec::new();
        for i in 0..items.len() {
            let Some(meeting) = items[i].meeting() else { continue };
            if meetings.iter().any(|known| known.same(meeting)) {
                continue;
            }
            let waiting = items.iter().filter(|item| item.waits_for(meeting)).count() as u32;
            meetings.push(meeting);
            if let Some(inst) = items[i].thread.frames.last().map(|f| f.inst()) {
                self.fault(&items[i].thread, inst, Fault::DivergentBarrier { waiting, expected });
            }
        }
        for meeting in meetings {
            self.release(items, meeting, |_| true, epochs);
        }
    }

    fn sub_group_size(&self) -> usize {
        self.options.sub_group_size.max(1) as usize
    }

    fn row_size(&self) -> usize {
        self.place.local_size[0].max(1) as usize
    }

    /// The sub-groups of a group of so many work-items; each lies within a row.
    fn packs(&self, count: usize) -> Vec<std::ops::Range<usize>> {
        let (row, width) = (self.row_size(), self.sub_group_size());
        let rows = (0..count).step_by(row).map(|start| start..(start + row).min(count));
        rows.flat_map(|row| row.clone().step_by(width).map(move |start| start..(start + width).min(row.end))).collect()
    }

    /// Lets the sub-groups go on that wait at a named barrier at which enough have arrived; whether there are any.
    fn meet_at_named_barriers(&mut self, items: &mut [Item<'m>], epochs: &mut (u32, u32)) -> bool {
        let mut arrived: Vec<(Meeting, Vec<usize>)> = Vec::new();
        for pack in self.packs(items.len()) {
            if let Some(meeting @ Meeting::Named(..)) = all_at_one(&items[pack.clone()]) {
                match arrived.iter_mut().find(|(known, _)| known.same(meeting)) {
                    Some((_, members)) => members.push(pack.start),
                    None => arrived.push((meeting, vec![pack.start])),
                }
            }
        }
        let mut any = false;
        for (meeting, packs) in arrived {
            let Meeting::Named(address, _) = meeting else { continue };
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
                let row = self.row_size();
                let start = |i: usize| i - i % row % width;
                self.release(items, meeting, |i| packs[..count].contains(&start(i)), epochs);
                any = true;
            }
        }
        any
    }

    /// Executes a meeting of those of the work-items who wait for it and are here, and lets them go on.
    fn release(
        &mut self,
        items: &mut [Item<'m>],
        meeting: Meeting,
        here: impl Fn(usize) -> bool,
        epochs: &mut (u32, u32),
    ) {
        let mut members: Vec<Option<&mut Thread<'m>>> = Vec::with_capacity(items.len());
        for (i, item) in items.iter_mut().enumerate() {
            let goes_on = here(i) && item.waits_for(meeting);
            if goes_on {
                item.state = State::Ready;
            }
            members.push(goes_on.then_some(&mut item.thread));
        }
        match meeting {
            Meeting::Barrier(info) | Meeting::Named(_, info) => {
                epochs.0 += u32::from(info.spaces.contains(SpaceSet::LOCAL));
                epochs.1 += u32::from(info.spaces.contains(SpaceSet::GLOBAL));
                self.memory.fence();
                self.observer.barrier(info.id);
            }
            Meeting::Operation { .. } => exchange(&mut members),
        }
        for thread in members.into_iter().flatten() {
            pass(thread);
        }
    }

    /// A plain function has come to a meeting: nobody else takes part.
    pub(super) fn alone(&mut self, thread: &mut Thread<'m>) {
        match Meeting::of(thread) {
            Meeting::Barrier(_) | Meeting::Named(..) => {}
            Meeting::Operation { .. } => exchange(&mut [Some(thread)]),
        }
        pass(thread);
    }
}

/// Goes on behind a meeting.
fn pass(thread: &mut Thread<'_>) {
    if let Some(frame) = thread.frames.last_mut() {
        frame.index += 1;
    }
}

/// A collective operation: the members of the group or sub-group, by number, those who take part with their threads.
fn exchange(members: &mut [Option<&mut Thread<'_>>]) {
    let mut frames: Vec<Option<&mut Frame<'_>>> =
        members.iter_mut().map(|thread| thread.as_mut().and_then(|thread| thread.frames.last_mut())).collect();
    let Some(first) = frames.iter().flatten().next() else { return };
    let (func, inst) = (first.func, first.inst());
    let data = func.dfg.inst(inst);
    let result = func.dfg.result(inst);
    let values: Vec<Option<LaneVec>> =
        frames.iter().map(|frame| frame.as_ref().map(|frame| frame.lanes_vec(data.args[0]))).collect();
    let results: Vec<LaneVec> = match data.op {
        Opcode::GroupReduce | Opcode::GroupScan | Opcode::GroupScanExclusive => {
            combined(data, func.dfg.ty(result).elem, &values)
        }
        Opcode::GroupBallot => {
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
        Opcode::GroupShuffle => {
            let number = |frame: &Option<&mut Frame<'_>>| frame.as_ref().map(|frame| frame.scalar(data.args[1]));
            let pick = |number: Option<u64>| values.get(number? as usize).cloned().flatten();
            let own = values.iter();
            frames.iter().zip(own).map(|(frame, own)| pick(number(frame)).or(own.clone()).unwrap_or_default()).collect()
        }
        op => unreachable!("broken invariant: {op:?} is no collective operation"),
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
            let neutral = || value.iter().flatten().map(|_| identity(info.op, elem)).collect();
            results.push(if data.op == Opcode::GroupScanExclusive {
                before.unwrap_or_else(neutral)
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
