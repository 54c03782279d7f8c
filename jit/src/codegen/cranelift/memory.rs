//! Addresses, loads and stores, atomics, fences.

use clift_kir::ops::MemoryOp;
use clift_kir::{AtomicOp, Imm, Inst, MemInfo, MemOrder, Space, Type};
use cranelift_codegen::ir::{self, InstBuilder, types};

use super::translate::{Lowered, Translator, clif_type, vector_of, wrong_imm};
use crate::codegen::host::{copy_bytes, fill_bytes};
use crate::codegen::not_legal;

impl Translator<'_> {
    pub(super) fn memory_op(&mut self, op: MemoryOp, inst: Inst) {
        use MemoryOp as O;
        let legal = self.legal;
        let data = legal.dfg.inst(inst);
        match op {
            O::Load => self.load(inst),
            O::Store => self.store(inst),
            O::AtomicLoad => {
                let pointer = self.get(data.args[0]);
                let ty = clif_type(self.result_type(inst));
                let value = self.pos.ins().atomic_load(ty, atomic_flags(), pointer);
                self.set(inst, value);
            }
            O::AtomicStore => {
                let args = self.args(inst);
                self.pos.ins().atomic_store(atomic_flags(), args[1], args[0]);
            }
            O::AtomicRmw => {
                let Imm::Atomic(info) = data.imm else { wrong_imm(&data.imm) };
                let args = self.args(inst);
                let ty = self.ty(args[1]);
                let value = self.pos.ins().atomic_rmw(ty, atomic_flags(), rmw_op(info.op), args[0], args[1]);
                self.set(inst, value);
            }
            O::AtomicCmpxchg => {
                let args = self.args(inst);
                let value = self.pos.ins().atomic_cas(atomic_flags(), args[0], args[1], args[2]);
                self.set(inst, value);
            }
            O::Fence => {
                let Imm::Atomic(info) = data.imm else { wrong_imm(&data.imm) };
                match info.order {
                    MemOrder::Relaxed => {}
                    // Processors with x86's memory order do not reorder what these orders concern: only the compiler must not.
                    MemOrder::Acquire | MemOrder::Release | MemOrder::AcqRel if cfg!(target_arch = "x86_64") => {
                        self.pos.ins().sequence_point();
                    }
                    MemOrder::Acquire | MemOrder::Release | MemOrder::AcqRel | MemOrder::SeqCst => {
                        self.pos.ins().fence();
                    }
                }
            }
            O::Memcpy => {
                let args = self.args(inst);
                self.call_host(copy_bytes as *const () as usize, &args, None);
            }
            O::Memset => {
                let args = self.args(inst);
                self.call_host(fill_bytes as *const () as usize, &args, None);
            }
            O::MaskedLoad | O::MaskedStore | O::Gather | O::Scatter => not_legal(op),
        }
    }

    pub(super) fn global_addr(&mut self, inst: Inst) -> ir::Value {
        let data = self.legal.dfg.inst(inst);
        let Imm::Global(global) = data.imm else { wrong_imm(&data.imm) };
        self.pos.ins().iconst(types::I64, self.data.address(global) as i64)
    }

    pub(super) fn slot_addr(&mut self, inst: Inst) -> ir::Value {
        let data = self.legal.dfg.inst(inst);
        let Imm::Slot(slot) = data.imm else { wrong_imm(&data.imm) };
        let stack = match self.slots.get(&slot) {
            Some(&stack) => stack,
            None => {
                let slot_data = self.legal.slots[slot];
                let stack = self.pos.func.create_sized_stack_slot(ir::StackSlotData::new(
                    ir::StackSlotKind::ExplicitSlot,
                    slot_data.size as u32,
                    slot_data.align.trailing_zeros() as u8,
                ));
                self.slots.insert(slot, stack);
                stack
            }
        };
        self.pos.ins().stack_addr(types::I64, stack, 0)
    }

    /// `base + index * scale + disp`. A displacement that fits into accesses is kept separate from the sum.
    pub(super) fn addr(&mut self, inst: Inst) {
        let data = self.legal.dfg.inst(inst);
        let Imm::Addr { scale, disp } = data.imm else { wrong_imm(&data.imm) };
        let base = self.lowered(data.args[0]);
        let mut value = base.value;
        if let Some(&index) = data.args.get(1) {
            let index = self.get(index);
            let scaled = match scale {
                1 => index,
                scale if scale.is_power_of_two() => self.pos.ins().ishl_imm_u(index, i64::from(scale.trailing_zeros())),
                scale => self.pos.ins().imul_imm_s(index, scale as i64),
            };
            value = self.pos.ins().iadd(value, scaled);
        }
        let total = disp.wrapping_add(i64::from(base.disp));
        let lowered = match i32::try_from(total) {
            Ok(disp) => Lowered { value, disp },
            Err(_) => Lowered { value: self.pos.ins().iadd_imm_s(value, total), disp: 0 },
        };
        self.set_lowered(inst, lowered);
    }

    fn load(&mut self, inst: Inst) {
        let data = self.legal.dfg.inst(inst);
        let Imm::Mem(mem) = data.imm else { wrong_imm(&data.imm) };
        let to = self.result_type(inst);
        let host = self.arg_type(inst, 0).elem.space() == Some(Space::Host);
        let address = self.lowered(data.args[0]);
        let access = access_type(to);
        let flags = flags(mem, access, host);
        let value = if mem.volatile && !access.is_vector() && mem.align >= access.bytes() {
            // Plain loads may be merged with others; an atomic load is executed exactly as written.
            let pointer = self.get(data.args[0]);
            let int = access.as_int();
            let value = self.pos.ins().atomic_load(int, atomic_flags(), pointer);
            if int == access { value } else { self.pos.ins().bitcast(access, ir::MemFlagsData::new(), value) }
        } else if self.is_extended(self.legal.dfg.result(inst)) {
            // The load instruction also clears the bits above.
            let long = if access == types::I8 {
                self.pos.ins().uload8(types::I64, flags, address.value, address.disp)
            } else {
                self.pos.ins().uload16(types::I64, flags, address.value, address.disp)
            };
            self.long.insert(self.legal.dfg.result(inst), long);
            self.pos.ins().ireduce(access, long)
        } else {
            self.pos.ins().load(access, flags, address.value, address.disp)
        };
        let ty = clif_type(to);
        let value = if ty == access {
            value
        } else {
            // A short vector is loaded as a scalar of the same size.
            self.first_lane(value, ty)
        };
        self.set(inst, value);
    }

    fn store(&mut self, inst: Inst) {
        let data = self.legal.dfg.inst(inst);
        let Imm::Mem(mem) = data.imm else { wrong_imm(&data.imm) };
        let from = self.arg_type(inst, 1);
        let value = self.get(data.args[1]);
        let address = self.lowered(data.args[0]);
        let access = access_type(from);
        let value = if self.ty(value) == access {
            value
        } else {
            let vector = self.recast(value, vector_of(access));
            self.pos.ins().extractlane(vector, 0)
        };
        self.pos.ins().store(flags(mem, access, false), value, address.value, address.disp);
    }
}

/// The type of the access to a value. Short vectors are accessed as scalars of the same size.
fn access_type(ty: Type) -> ir::Type {
    if !ty.is_vector() {
        return clif_type(ty);
    }
    match ty.bytes() {
        2 => types::I16,
        4 => types::I32,
        8 => types::F64,
        _ => clif_type(ty),
    }
}

fn flags(mem: MemInfo, access: ir::Type, host: bool) -> ir::MemFlagsData {
    // A fault ends the launch, and nothing here handles it; so most accesses may move or go as if they could not trap. Cranelift
    // does not remove those that may.
    let mut flags = ir::MemFlagsData::new();
    if !mem.volatile {
        flags = flags.with_notrap();
    }
    if mem.align >= access.bytes() {
        flags = flags.with_aligned();
    }
    if host || mem.invariant {
        flags = flags.with_readonly();
    }
    if host {
        flags = flags.with_can_move();
    }
    flags
}

fn atomic_flags() -> ir::MemFlagsData {
    ir::MemFlagsData::new().with_notrap().with_aligned()
}

fn rmw_op(op: AtomicOp) -> ir::AtomicRmwOp {
    match op {
        AtomicOp::Xchg => ir::AtomicRmwOp::Xchg,
        AtomicOp::Add => ir::AtomicRmwOp::Add,
        AtomicOp::Sub => ir::AtomicRmwOp::Sub,
        AtomicOp::And => ir::AtomicRmwOp::And,
        AtomicOp::Or => ir::AtomicRmwOp::Or,
        AtomicOp::Xor => ir::AtomicRmwOp::Xor,
        AtomicOp::Smin => ir::AtomicRmwOp::Smin,
        AtomicOp::Smax => ir::AtomicRmwOp::Smax,
        AtomicOp::Umin => ir::AtomicRmwOp::Umin,
        AtomicOp::Umax => ir::AtomicRmwOp::Umax,
        AtomicOp::Mul | AtomicOp::Fadd | AtomicOp::Fmul | AtomicOp::Fmin | AtomicOp::Fmax => {
            unreachable!("broken invariant: atomic {op:?} in a legal function")
        }
    }
}
