//! Removes moves after register allocation that give a register or a stack slot what it contains already.
//!
//! The allocator splits a value that has no register all the time into parts, and where a part in a stack slot follows one in a
//! register, it stores the register, also if the register has been loaded from that slot and neither has changed since. Loops
//! that use such a value would load and store it in each iteration.
//!
//! ```text
//! loop:  mov slot, r8         loop:  mov slot, r8
//!        cmp r8, r14     ->          cmp r8, r14
//!        mov r8, slot                jb loop
//!        jb loop
//! ```
//!
//! A forward data-flow analysis finds the registers and slots with equal content at each point: what all predecessors of a
//! block agree on. Blocks that have not been visited agree with everything, so that loops keep what no iteration changes.

use regalloc2::{
    Allocation, Block, Edit, Function, Inst, InstPosition, OperandKind, Output, PReg, ProgPoint, SpillSlot,
};
use smallvec::SmallVec;

use super::code::MachFunc;

/// Functions of more blocks keep their moves.
const MAX_BLOCKS: usize = 1 << 14;

/// Removes the redundant moves of an allocation.
pub(super) fn remove(code: &MachFunc, output: &mut Output) {
    let stores = output.edits.iter().any(|(_, Edit::Move { to, .. })| to.is_stack());
    if !stores || code.num_blocks() > MAX_BLOCKS {
        return;
    }
    let redundant = Search { code, output }.run();
    let mut number = 0;
    output.edits.retain(|_| {
        number += 1;
        !redundant[number - 1]
    });
}

/// Pairs of a register and a stack slot with equal content.
#[derive(Clone, Debug, Default)]
struct Equal(SmallVec<[(PReg, SpillSlot); 16]>);

impl Equal {
    fn forget_register(&mut self, register: PReg) {
        self.0.retain(|pair| pair.0 != register);
    }

    fn forget(&mut self, place: Allocation) {
        match (place.as_reg(), place.as_stack()) {
            (Some(register), _) => self.forget_register(register),
            (None, Some(slot)) => self.0.retain(|pair| pair.1 != slot),
            (None, None) => {}
        }
    }

    /// Keeps what another set contains, too. Returns whether anything went.
    fn meet(&mut self, other: &Equal) -> bool {
        let before = self.0.len();
        self.0.retain(|pair| other.0.contains(pair));
        self.0.len() < before
    }

    /// Executes a move. Returns whether it is redundant.
    fn execute(&mut self, from: Allocation, to: Allocation) -> bool {
        let pair = match (from.as_reg(), from.as_stack(), to.as_reg(), to.as_stack()) {
            (Some(register), _, _, Some(slot)) | (_, Some(slot), Some(register), _) => Some((register, slot)),
            _ => None,
        };
        if pair.is_some_and(|pair| self.0.contains(&pair)) {
            return true;
        }
        self.forget(to);
        let also: SmallVec<[(PReg, SpillSlot); 4]> = match (from.as_reg(), from.as_stack(), to.as_reg(), to.as_stack())
        {
            (Some(from), _, Some(to), _) => {
                self.0.iter().filter(|pair| pair.0 == from).map(|pair| (to, pair.1)).collect()
            }
            (_, Some(from), _, Some(to)) => {
                self.0.iter().filter(|pair| pair.1 == from).map(|pair| (pair.0, to)).collect()
            }
            _ => pair.into_iter().collect(),
        };
        self.0.extend(also);
        false
    }
}

struct Search<'a> {
    code: &'a MachFunc,
    output: &'a Output,
}

impl Search<'_> {
    /// Which moves are redundant, by their number.
    fn run(&self) -> Vec<bool> {
        let blocks = self.code.num_blocks();
        let mut at_start: Vec<Option<Equal>> = vec![None; blocks];
        at_start[self.code.entry_block().index()] = Some(Equal::default());
        let mut waiting: Vec<bool> = at_start.iter().map(Option::is_some).collect();
        let mut redundant = vec![false; self.output.edits.len()];
        while waiting.iter().any(|&waits| waits) {
            for number in 0..blocks {
                let (true, Some(start)) = (std::mem::take(&mut waiting[number]), &at_start[number]) else { continue };
                let mut equal = start.clone();
                // The last visit decides: it knows least.
                self.visit(Block::new(number), &mut equal, &mut redundant);
                for succ in self.code.block_succs(Block::new(number)) {
                    let start = &mut at_start[succ.index()];
                    waiting[succ.index()] |= match start {
                        Some(start) => start.meet(&equal),
                        None => {
                            *start = Some(equal.clone());
                            true
                        }
                    };
                }
            }
        }
        redundant
    }

    /// Goes through a block.
    fn visit(&self, block: Block, equal: &mut Equal, redundant: &mut [bool]) {
        let edits = &self.output.edits;
        let insts = self.code.block_insns(block);
        let mut next = edits.partition_point(|(at, _)| *at < ProgPoint::before(insts.first()));
        for inst in insts.iter() {
            while let Some((at, Edit::Move { from, to })) = edits.get(next)
                && *at <= ProgPoint::new(inst, InstPosition::Before)
            {
                redundant[next] = equal.execute(*from, *to);
                next += 1;
            }
            self.inst(inst, equal);
        }
    }

    /// Forgets what an instruction changes.
    fn inst(&self, inst: Inst, equal: &mut Equal) {
        if equal.0.is_empty() {
            return;
        }
        for (operand, &place) in self.code.inst_operands(inst).iter().zip(self.output.inst_allocs(inst)) {
            if operand.kind() == OperandKind::Def {
                equal.forget(place);
            }
        }
        for register in self.code.inst_clobbers(inst) {
            equal.forget_register(register);
        }
    }
}
