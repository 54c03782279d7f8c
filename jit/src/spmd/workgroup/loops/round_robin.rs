//! Regions that take turns, for kernels with named barriers: packs get to barriers at different times there, and a pack ahead may be
//! what those behind wait for.
//!
//! After a region comes the next one, in the order of their numbers and around, that somebody waits for. Packs that may not go
//! on yet stay: those at a named barrier look for themselves (`named.rs`), those at a barrier of the group are counted. When
//! all regions have had a turn and no pack has gone on, none ever will: the group ends with a fault.

use clift_kir::inst::{BlockCall, Imm};
use clift_kir::ops::Opcode;
use clift_kir::{Block, IntCond, MemInfo, Type, Value};

use super::Loops;
use crate::spmd::workgroup::context::Turns;
use crate::spmd::workgroup::env::Levels;
use crate::spmd::workgroup::regions::{Begins, RegionId};

impl Loops<'_> {
    /// Sets the counters for a new group.
    pub(super) fn begin_turns(&mut self, group: Block) {
        for offset in self.context.turns.iter().flat_map(Turns::offsets) {
            let zero = self.env.at(group).iconst(Type::I32, 0);
            self.count(group, offset, zero);
        }
    }

    /// Makes the place where a group ends whose packs wait for one another in vain.
    pub(super) fn end_turns(&mut self) {
        if self.context.turns.is_none() {
            return;
        }
        let (deadlock, next_group) = (self.deadlock, self.next_group);
        self.env.out.layout.append_block(deadlock);
        self.env.out.layout.set_cold(deadlock);
        let mut b = self.env.at(deadlock);
        b.inst(Opcode::Deadlock, &[], Imm::None, &[]);
        b.jump(next_group, &[]);
    }

    /// For a region that packs run together: whether all are here that have not ended, which begins a new count.
    pub(super) fn all_here(&mut self, id: RegionId, levels: &mut Levels) -> Option<Value> {
        let turns = self.context.turns.as_ref()?;
        let offset = turns.arrived[id]?;
        let enter = self.enter[id];
        let Some(packs) = self.env.known(levels, Opcode::NumSubGroups, &Imm::None, Type::I32) else {
            unreachable!("broken invariant: a group of unknown size")
        };
        let arrived = self.counted(enter, offset);
        let ended = self.counted(enter, turns.ended);
        let mut b = self.env.at(enter);
        let here_or_ended = b.int2(Opcode::Iadd, arrived, ended);
        let all = b.icmp(IntCond::Eq, here_or_ended, packs);
        let none = b.iconst(Type::I32, 0);
        let left = b.select(all, none, arrived);
        self.count(enter, offset, left);
        Some(all)
    }

    /// Notes, where regions take turns, that a pack goes from region to region.
    pub(super) fn note_turn(&mut self, from: RegionId, block: Block, at: Block, next: Option<RegionId>) {
        let Some(turns) = &self.context.turns else { return };
        let region = &self.regions.list[from];
        // What stays in a region that is checked has not gone on.
        if region.begins == Begins::Checked && block == region.start && next == Some(from) {
            return;
        }
        let none = self.env.at(at).iconst(Type::I32, 0);
        self.count(at, turns.idle, none);
        let counter = match next {
            Some(next) => turns.arrived[next],
            None => Some(turns.ended),
        };
        if let Some(offset) = counter {
            self.count_one(at, offset);
        }
    }

    /// The lesser the sooner is it a region's turn after another one, whose number is `from`; those that have ended come last.
    pub(super) fn turn(&mut self, at: Block, from: RegionId, next: Value) -> Value {
        if self.context.turns.is_none() {
            return next;
        }
        let [behind, count, from] =
            [from + 1, self.regions.list.len(), from].map(|n| self.env.at(at).iconst(Type::I32, n as i64));
        let mut b = self.env.at(at);
        let ahead = b.int2(Opcode::Isub, next, behind);
        let around = b.int2(Opcode::Iadd, ahead, count);
        let is_ahead = b.icmp(IntCond::Ugt, next, from);
        let turn = b.select(is_ahead, ahead, around);
        let has_ended = b.icmp(IntCond::Eq, next, count);
        b.select(has_ended, count, turn)
    }

    /// The region whose [`Self::turn`] that is.
    pub(super) fn whose_turn(&mut self, at: Block, from: RegionId, turn: Value) -> Value {
        if self.context.turns.is_none() {
            return turn;
        }
        let [behind, count] = [from + 1, self.regions.list.len()].map(|n| self.env.at(at).iconst(Type::I32, n as i64));
        let mut b = self.env.at(at);
        let region = b.int2(Opcode::Iadd, turn, behind);
        let around = b.int2(Opcode::Isub, region, count);
        let is_around = b.icmp(IntCond::Uge, region, count);
        let region = b.select(is_around, around, region);
        let has_ended = b.icmp(IntCond::Eq, turn, count);
        b.select(has_ended, count, region)
    }

    /// Where regions take turns: ends the group when all of them had one and nobody has gone on. Gives where it is known.
    pub(super) fn check_turns(&mut self, at: Block) -> Block {
        let Some(turns) = &self.context.turns else { return at };
        let idle = self.count_one(at, turns.idle);
        let go_on = self.env.out.append_block();
        let mut b = self.env.at(at);
        // One pass more: the count may begin in the middle of a pass.
        let most = b.iconst(Type::I32, self.regions.list.len() as i64 + 1);
        let too_long = b.icmp(IntCond::Ugt, idle, most);
        b.branch(too_long, BlockCall::new(self.deadlock, &[]), BlockCall::new(go_on, &[]));
        go_on
    }

    /// Stores a counter of the group.
    fn count(&mut self, at: Block, offset: u64, value: Value) {
        let address = self.env.shared_addr(offset);
        self.env.at(at).store(address, value, MemInfo::aligned(4));
    }

    /// A counter of the group.
    fn counted(&mut self, at: Block, offset: u64) -> Value {
        let address = self.env.shared_addr(offset);
        self.env.at(at).load(Type::I32, address, MemInfo::aligned(4))
    }

    /// Adds one to a counter of the group; gives its new value.
    fn count_one(&mut self, at: Block, offset: u64) -> Value {
        let before = self.counted(at, offset);
        let mut b = self.env.at(at);
        let one = b.iconst(Type::I32, 1);
        let now = b.int2(Opcode::Iadd, before, one);
        self.count(at, offset, now);
        now
    }
}
