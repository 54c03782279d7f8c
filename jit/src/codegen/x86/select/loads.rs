//! Loads that are part of the instruction that uses their value: as its operand in memory, or as a broadcast. The value must have
//! no other use, and nothing may write memory in between. The instruction that loads it into a register is then dead.

use clift_kir::{Effects, Imm, Inst, Opcode, Value};

use super::values::has_broadcast;
use super::{MemAddress, RegMem, Selector, ValueLocation};
use crate::codegen::x86::Level;

/// A load.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainLoad {
    inst: Inst,
    address: MemAddress,
    /// The number of instructions before it that write memory.
    writes: u32,
}

impl Selector<'_> {
    /// Counts an instruction that may write memory or orders accesses.
    pub(super) fn count_write(&mut self, op: Opcode) {
        match op.info().effects {
            Effects::Pure | Effects::Read => {}
            Effects::Write | Effects::ReadWrite | Effects::Convergent | Effects::Terminator => self.writes += 1,
        }
    }

    /// Records a load that an instruction of the same block may perform itself.
    pub(super) fn note_load(&mut self, inst: Inst, address: MemAddress) {
        let result = self.legal.dfg.result(inst);
        let volatile = matches!(self.legal.dfg.inst(inst).imm, Imm::Mem(mem) if mem.volatile);
        if volatile && let Some(ValueLocation::Register(register)) = self.values[result] {
            self.kept.push(register);
        }
        if !volatile && self.uses.get(result) == 1 && !self.legal.dfg.ty(result).is_bool() {
            self.loads.insert(result, PlainLoad { inst, address, writes: self.writes });
        }
    }

    /// The load of a value that has no other use than the one at the current place.
    fn load_for_here(&self, value: Value) -> Option<PlainLoad> {
        self.loads.get(&value).copied().filter(|load| load.writes == self.writes && self.ends_here(value))
    }

    /// The vector that a bitcast without other uses views as lanes of the same number.
    fn without_bitcast(&self, value: Value) -> Value {
        let dfg = &self.legal.dfg;
        let Some(cast) = dfg.def_inst(value).map(|inst| dfg.inst(inst)) else { return value };
        let same = cast.op == Opcode::Bitcast && dfg.ty(cast.args[0]).lanes() == dfg.ty(value).lanes();
        if same && self.ends_here(value) { cast.args[0] } else { value }
    }

    /// The memory operand for a vector that is loaded, or a scalar that is loaded into all lanes.
    pub(super) fn loaded(&self, value: Value) -> Option<(RegMem, Inst)> {
        let ty = self.legal.dfg.ty(value);
        if !ty.is_vector() || ty.is_bool() {
            return None;
        }
        let value = self.without_bitcast(value);
        if let Some(load) = self.load_for_here(value) {
            // Instructions read whole registers.
            return matches!(ty.bits(), 128 | 256 | 512).then_some((RegMem::Memory(load.address), load.inst));
        }
        if self.level == Level::Avx2 {
            return None;
        }
        let splat = self.legal.dfg.inst(self.legal.dfg.def_inst(value)?);
        if splat.op != Opcode::Splat || !self.ends_here(value) || !has_broadcast(ty) {
            return None;
        }
        let load = self.load_for_here(splat.args[0])?;
        Some((RegMem::Broadcast(load.address), load.inst))
    }

    /// Whether [`Selector::operand`] gives an operand in memory.
    pub(super) fn is_memory(&self, value: Value) -> bool {
        self.constant(value).is_some() || self.loaded(value).is_some()
    }

    /// The address of a scalar that is loaded for the current instruction only, and the load.
    pub(super) fn loaded_scalar(&self, value: Value) -> Option<(RegMem, Inst)> {
        let load = self.load_for_here(value)?;
        Some((RegMem::Memory(load.address), load.inst))
    }
}
