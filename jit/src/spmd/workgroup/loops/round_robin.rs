//! Round-robin scheduling of regions, for kernels with named barriers and for those that yield in loops in which they wait.
//! Their packs reach barriers at different times, and a pack may wait for one that is ahead of it.
//!
//! After a region, the next one runs for which a pack waits, in the order of their numbers, starting over after the last one.
//! Packs that may not proceed stay where they are: those at a named barrier test for themselves (`named_barriers.rs`), those at a
//! barrier of the group are counted. If a whole round passes in which no pack proceeds, none ever will, and the group ends with a
//! fault. A pack that has yielded proceeds: what it waits for may come from elsewhere. Kernels without barriers need no counters.

use clift_kir::inst::{BlockCall, Imm};
use clift_kir::ops::Opcode;
use clift_kir::{Block, IntCond, MemInfo, Type, Value};

use super::Loops;
use crate::spmd::workgroup::context::RoundRobinCounters;
use crate::spmd::workgroup::env::Levels;
use crate::spmd::workgroup::regions::{EntryRule, RegionId};

impl Loops<'_> {
    /// Resets the counters for a new group.
    pub(super) fn reset_round_robin(&mut self, group: Block) {
        for offset in self.context.round_robin.iter().flat_map(RoundRobinCounters::offsets) {
            let zero = self.env.at(group).iconst(Type::I32, 0);
            self.store_counter(group, offset, zero);
        }
    }

    /// Emits the block where a group ends whose packs are deadlocked.
    pub(super) fn emit_deadlock(&mut self) {
        if self.context.round_robin.is_none() {
            return;
        }
        let (deadlock, next_group) = (self.deadlock, self.next_group);
        self.env.out.layout.append_block(deadlock);
        self.env.out.layout.set_cold(deadlock);
        let mut b = self.env.at(deadlock);
        b.inst(Opcode::Deadlock, &[], Imm::None, &[]);
        b.jump(next_group, &[]);
    }

    /// For a region that all packs run together: whether all packs that have not ended have arrived. If so, a new count begins.
    pub(super) fn all_arrived(&mut self, id: RegionId, levels: &mut Levels) -> Option<Value> {
        let counters = self.context.round_robin.as_ref()?;
        let offset = counters.arrived[id]?;
        let enter = self.enter[id];
        let Some(packs) = self.env.known(levels, Opcode::NumSubGroups, &Imm::None, Type::I32) else {
            unreachable!("broken invariant: a group of unknown size")
        };
        let arrived = self.load_counter(enter, offset);
        let ended = self.load_counter(enter, counters.ended);
        let mut b = self.env.at(enter);
        let here_or_ended = b.int2(Opcode::Iadd, arrived, ended);
        let all = b.icmp(IntCond::Eq, here_or_ended, packs);
        let none = b.iconst(Type::I32, 0);
        let left = b.select(all, none, arrived);
        self.store_counter(enter, offset, left);
        Some(all)
    }

    /// Counts the transition of a pack from one region to another, if there are counters.
    pub(super) fn count_transition(&mut self, from: RegionId, block: Block, at: Block, next: Option<RegionId>) {
        let Some(counters) = &self.context.round_robin else { return };
        let region = &self.regions.list[from];
        // A pack that stays in a checked region has made no progress.
        if region.entry_rule == EntryRule::Checked && block == region.start && next == Some(from) {
            return;
        }
        let none = self.env.at(at).iconst(Type::I32, 0);
        self.store_counter(at, counters.idle_passes, none);
        let counter = match next {
            Some(next) => counters.arrived[next],
            None => Some(counters.ended),
        };
        if let Some(offset) = counter {
            self.increment_counter(at, offset);
        }
    }

    /// The position of a region in the round that follows the region `from`: the lowest is the next one. The end of the kernel
    /// has the highest.
    pub(super) fn round_position(&mut self, at: Block, from: RegionId, next: Value) -> Value {
        if !self.regions.round_robin {
            return next;
        }
        let [behind, count, from] =
            [from + 1, self.regions.list.len(), from].map(|n| self.env.at(at).iconst(Type::I32, n as i64));
        let mut b = self.env.at(at);
        let ahead = b.int2(Opcode::Isub, next, behind);
        let around = b.int2(Opcode::Iadd, ahead, count);
        let is_ahead = b.icmp(IntCond::Ugt, next, from);
        let position = b.select(is_ahead, ahead, around);
        let has_ended = b.icmp(IntCond::Eq, next, count);
        b.select(has_ended, count, position)
    }

    /// The region at a position; the inverse of [`Self::round_position`].
    pub(super) fn region_at_position(&mut self, at: Block, from: RegionId, position: Value) -> Value {
        if !self.regions.round_robin {
            return position;
        }
        let [behind, count] = [from + 1, self.regions.list.len()].map(|n| self.env.at(at).iconst(Type::I32, n as i64));
        let mut b = self.env.at(at);
        let region = b.int2(Opcode::Iadd, position, behind);
        let around = b.int2(Opcode::Isub, region, count);
        let is_around = b.icmp(IntCond::Uge, region, count);
        let region = b.select(is_around, around, region);
        let has_ended = b.icmp(IntCond::Eq, position, count);
        b.select(has_ended, count, region)
    }

    /// For round-robin scheduling: ends the group if a whole round has passed without progress. Returns the block that continues
    /// otherwise.
    pub(super) fn check_progress(&mut self, at: Block) -> Block {
        let Some(counters) = &self.context.round_robin else { return at };
        let idle = self.increment_counter(at, counters.idle_passes);
        let go_on = self.env.out.append_block();
        let mut b = self.env.at(at);
        // One more pass, because the count may begin in the middle of a round.
        let most = b.iconst(Type::I32, self.regions.list.len() as i64 + 1);
        let too_long = b.icmp(IntCond::Ugt, idle, most);
        b.branch(too_long, BlockCall::new(self.deadlock, &[]), BlockCall::new(go_on, &[]));
        go_on
    }

    /// Stores a counter of the group.
    fn store_counter(&mut self, at: Block, offset: u64, value: Value) {
        let address = self.env.shared_addr(offset);
        self.env.at(at).store(address, value, MemInfo::aligned(4));
    }

    /// Loads a counter of the group.
    fn load_counter(&mut self, at: Block, offset: u64) -> Value {
        let address = self.env.shared_addr(offset);
        self.env.at(at).load(Type::I32, address, MemInfo::aligned(4))
    }

    /// Increments a counter of the group. Returns its new value.
    fn increment_counter(&mut self, at: Block, offset: u64) -> Value {
        let before = self.load_counter(at, offset);
        let mut b = self.env.at(at);
        let one = b.iconst(Type::I32, 1);
        let now = b.int2(Opcode::Iadd, before, one);
        self.store_counter(at, offset, now);
        now
    }
}
