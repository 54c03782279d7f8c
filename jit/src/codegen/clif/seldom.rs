//! Blocks that are executed seldom: out of line, and nothing is computed ahead of them for their sake alone.
//!
//! Cranelift computes whatever does not change in a loop before the loop, also what only a block needs that few iterations come
//! to: constants and scalars in all lanes, which then occupy registers, or are spilled, each time the loop is entered. A value
//! stays in its block if it depends on something that is only there: a zero that Cranelift does not know to be one, read from the
//! stack frame where such a block begins, is added to the bits of constants and scalars before they become vectors.

use clift_kir::analysis::Rare;
use clift_kir::{Block, Opcode, Value};
use cranelift_codegen::cursor::{Cursor, CursorPosition};
use cranelift_codegen::ir::{self, InstBuilder, types};
use rustc_hash::FxHashMap;

use super::translate::{Translator, clif_type};

/// What is executed seldom.
pub(super) struct Seldom {
    rare: Rare,
    /// Holds zero.
    slot: Option<ir::StackSlot>,
    /// The zeros, by the block that reads them.
    zeros: FxHashMap<Block, ir::Value>,
    /// Constants of other blocks, made again in the current one.
    constants: FxHashMap<Value, ir::Value>,
}

impl Seldom {
    pub(super) fn new(rare: Rare) -> Seldom {
        Seldom { rare, slot: None, zeros: FxHashMap::default(), constants: FxHashMap::default() }
    }
}

impl Translator<'_> {
    /// Begins a block.
    pub(super) fn enter_seldom(&mut self, block: Block, new: ir::Block) {
        self.seldom.constants.clear();
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
    pub(super) fn held(&mut self, scalar: ir::Value) -> ir::Value {
        let Some(zero) = self.hidden_zero() else { return scalar };
        let ty = self.ty(scalar);
        let int = ty.as_int();
        let zero = if int == types::I64 { zero } else { self.pos.ins().ireduce(int, zero) };
        let bits = if int == ty { scalar } else { self.pos.ins().bitcast(int, ir::MemFlagsData::new(), scalar) };
        let held = self.pos.ins().bor(bits, zero);
        if int == ty { held } else { self.pos.ins().bitcast(ty, ir::MemFlagsData::new(), held) }
    }

    /// A constant in all bits of a register.
    pub(super) fn vector_constant(&mut self, ty: ir::Type, bytes: [u8; 16]) -> ir::Value {
        if self.hidden_zero().is_none() {
            let constant = self.pos.func.dfg.constants.insert(bytes[..].into());
            return self.pos.ins().vconst(ty, constant);
        }
        let (low, high) = bytes.split_at(8);
        let [low, high] = [low, high].map(|half| half.iter().rev().fold(0, |bits, &byte| bits << 8 | i64::from(byte)));
        let halves = [low, high].map(|bits| {
            let half = self.pos.ins().iconst(types::I64, bits);
            self.held(half)
        });
        let vector = if low == high {
            self.pos.ins().splat(types::I64X2, halves[0])
        } else {
            let first = self.pos.ins().scalar_to_vector(types::I64X2, halves[0]);
            self.pos.ins().insertlane(first, halves[1], 1)
        };
        self.recast(vector, ty)
    }

    /// A constant vector of another block, for the current one if that is executed seldom.
    pub(super) fn constant_here(&mut self, value: Value) -> Option<ir::Value> {
        self.hidden_zero()?;
        let legal = self.legal;
        let ty = legal.dfg.ty(value);
        if !ty.is_vector() || ty.is_bool() {
            return None;
        }
        let data = legal.dfg.inst(legal.dfg.def_inst(value)?);
        if data.op != Opcode::Const || self.is_home(value) {
            return None;
        }
        if let Some(&here) = self.seldom.constants.get(&value) {
            return Some(here);
        }
        let clift_kir::Imm::Const(id) = data.imm else { return None };
        let here = self.constant(legal.dfg.constant(id));
        debug_assert_eq!(self.ty(here), clif_type(ty));
        self.seldom.constants.insert(value, here);
        Some(here)
    }
}
