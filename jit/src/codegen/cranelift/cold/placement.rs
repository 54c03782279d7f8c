//! Blocks that are executed seldom and are no bodies: out of line, and nothing is computed ahead of them for their sake alone.
//!
//! Cranelift computes whatever does not change in a loop before the loop, also what only a block needs that few iterations come
//! to: constants (for these see `constants`) and scalars in all lanes, which then occupy registers, or are spilled, each time the
//! loop is entered. A value stays in its block if it depends on something that is only there: a zero that Cranelift does not know
//! to be one, read from the stack frame where such a block begins, is added to the bits of scalars before they become vectors.

use clift_kir::Block;
use clift_kir::analysis::Cold;
use cranelift_codegen::cursor::{Cursor, CursorPosition};
use cranelift_codegen::ir::{self, InstBuilder, types};
use rustc_hash::FxHashMap;

use crate::codegen::cranelift::translate::Translator;

/// What is executed seldom.
pub(crate) struct Seldom {
    rare: Cold,
    /// Holds zero.
    slot: Option<ir::StackSlot>,
    /// The zeros, by the block that reads them.
    zeros: FxHashMap<Block, ir::Value>,
}

impl Seldom {
    pub(crate) fn new(rare: Cold) -> Seldom {
        Seldom { rare, slot: None, zeros: FxHashMap::default() }
    }
}

impl Translator<'_> {
    /// Begins a block.
    pub(crate) fn enter_seldom(&mut self, block: Block, new: ir::Block) {
        if !self.seldom.rare.contains(block) {
            return;
        }
        self.pos.func.layout.set_cold(new);
        if self.seldom.rare.head(block) == Some(block) {
            let slot = self.zero_slot();
            let place = self.pos.ins().stack_addr(types::I64, slot, 0);
            // An atomic load is one that nobody replaces by what was stored.
            let zero =
                self.pos.ins().atomic_load(types::I64, ir::MemFlagsData::new().with_notrap().with_aligned(), place);
            self.seldom.zeros.insert(block, zero);
        }
    }

    /// Whether the current block is executed seldom.
    pub(crate) fn is_seldom(&self) -> bool {
        self.seldom.rare.contains(self.current())
    }

    /// A place in the stack frame that holds zero from the entry on.
    fn zero_slot(&mut self) -> ir::StackSlot {
        if let Some(slot) = self.seldom.slot {
            return slot;
        }
        let data = ir::StackSlotData::new(ir::StackSlotKind::ExplicitSlot, 8, 3);
        let slot = self.pos.func.create_sized_stack_slot(data);
        self.seldom.slot = Some(slot);
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

    /// The zero of the current block, if it is executed seldom.
    fn hidden_zero(&self) -> Option<ir::Value> {
        let head = self.seldom.rare.head(self.current())?;
        self.seldom.zeros.get(&head).copied()
    }

    /// A scalar that is about to become a vector.
    pub(crate) fn held(&mut self, scalar: ir::Value) -> ir::Value {
        let Some(zero) = self.hidden_zero() else { return scalar };
        let ty = self.ty(scalar);
        let int = ty.as_int();
        let zero = if int == types::I64 { zero } else { self.pos.ins().ireduce(int, zero) };
        let bits = if int == ty { scalar } else { self.pos.ins().bitcast(int, ir::MemFlagsData::new(), scalar) };
        let held = self.pos.ins().bor(bits, zero);
        if int == ty { held } else { self.pos.ins().bitcast(ty, ir::MemFlagsData::new(), held) }
    }
}
