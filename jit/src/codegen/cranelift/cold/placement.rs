//! Cold blocks that are not outlined: they are placed out of line, and nothing is hoisted for their sake.
//!
//! Cranelift hoists whatever is invariant out of loops, even what only a cold block uses: constants (see
//! [`constants`](super::super::constants)) and splats of scalars. These then occupy registers, or are spilled, each time the loop
//! is entered. A value stays in its block if it depends on something that exists only there. At the head of a cold region a zero
//! is therefore loaded from the stack frame, in a way that hides its value from Cranelift, and is combined with the bits of
//! scalars (by an OR) before they become vectors.

use clift_kir::Block;
use clift_kir::analysis::Cold;
use cranelift_codegen::cursor::{Cursor, CursorPosition};
use cranelift_codegen::ir::{self, InstBuilder, types};
use rustc_hash::FxHashMap;

use crate::codegen::cranelift::translate::Translator;

/// The cold blocks of a function, and the zeros that keep values in them.
pub(crate) struct ColdPlacement {
    blocks: Cold,
    /// The stack slot that contains zero.
    slot: Option<ir::StackSlot>,
    /// The zeros, by the block that loads them.
    zeros: FxHashMap<Block, ir::Value>,
}

impl ColdPlacement {
    pub(crate) fn new(blocks: Cold) -> ColdPlacement {
        ColdPlacement { blocks, slot: None, zeros: FxHashMap::default() }
    }
}

impl Translator<'_> {
    /// Enters a block; if it is cold, marks it as such.
    pub(crate) fn enter_cold_block(&mut self, block: Block, new: ir::Block) {
        if !self.cold.blocks.contains(block) {
            return;
        }
        self.pos.func.layout.set_cold(new);
        if self.cold.blocks.head(block) == Some(block) {
            let slot = self.zero_slot();
            let place = self.pos.ins().stack_addr(types::I64, slot, 0);
            // Cranelift does not forward stored values to an atomic load.
            let zero =
                self.pos.ins().atomic_load(types::I64, ir::MemFlagsData::new().with_notrap().with_aligned(), place);
            self.cold.zeros.insert(block, zero);
        }
    }

    /// Whether the current block is cold.
    pub(crate) fn in_cold_block(&self) -> bool {
        self.cold.blocks.contains(self.current())
    }

    /// The stack slot that contains zero; the entry block stores it.
    fn zero_slot(&mut self) -> ir::StackSlot {
        if let Some(slot) = self.cold.slot {
            return slot;
        }
        let data = ir::StackSlotData::new(ir::StackSlotKind::ExplicitSlot, 8, 3);
        let slot = self.pos.func.create_sized_stack_slot(data);
        self.cold.slot = Some(slot);
        let here = self.pos.position();
        if let Some(entry) = self.pos.func.layout.entry_block() {
            self.pos.set_position(match self.pos.func.layout.first_inst(entry) {
                Some(first) => CursorPosition::At(first),
                None => CursorPosition::After(entry),
            });
            let zero = self.pos.ins().iconst(types::I64, 0);
            self.pos.ins().stack_store(types::I64, zero, slot, 0);
        }
        self.pos.set_position(here);
        slot
    }

    /// The zero of the current block's region, if the block is cold.
    fn hidden_zero(&self) -> Option<ir::Value> {
        let head = self.cold.blocks.head(self.current())?;
        self.cold.zeros.get(&head).copied()
    }

    /// Keeps a scalar that is about to become a vector from being hoisted out of a cold block.
    pub(crate) fn pin_to_block(&mut self, scalar: ir::Value) -> ir::Value {
        let Some(zero) = self.hidden_zero() else { return scalar };
        let ty = self.ty(scalar);
        let int = ty.as_int();
        let zero = if int == types::I64 { zero } else { self.pos.ins().ireduce(int, zero) };
        let bits = if int == ty { scalar } else { self.pos.ins().bitcast(int, ir::MemFlagsData::new(), scalar) };
        let pinned = self.pos.ins().bor(bits, zero);
        if int == ty { pinned } else { self.pos.ins().bitcast(ty, ir::MemFlagsData::new(), pinned) }
    }
}
