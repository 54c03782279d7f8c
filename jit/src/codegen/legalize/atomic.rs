//! Atomics. Those on pointers and floats become atomics on integers of the same width; floating-point read-modify-writes become
//! loops around a compare-exchange. Only the thread that runs the work-group accesses local and private memory: a plain load and
//! a plain store suffice there, unless the operation orders accesses to other memory.

use clift_kir::{
    AtomicInfo, AtomicOp, BlockCall, Elem, FpFlags, Imm, Inst, IntCond, MemInfo, MemOrder, MemScope, Opcode, Type,
    Value,
};

use super::{Legalizer, SplitValue, carrier, without_flags};

impl Legalizer<'_> {
    fn atomic_info(&self, inst: Inst) -> AtomicInfo {
        let imm = &self.old.dfg.inst(inst).imm;
        let Imm::Atomic(info) = *imm else { unreachable!("broken invariant: atomic with immediate {imm:?}") };
        info
    }

    /// Whether no other thread can access the memory between two accesses, and the atomic orders nothing for other threads.
    fn is_thread_private(&self, pointer: Value, info: AtomicInfo) -> bool {
        let within_group = match info.scope {
            MemScope::WorkItem | MemScope::SubGroup | MemScope::WorkGroup => true,
            MemScope::Device | MemScope::AllDevices => info.order == MemOrder::Relaxed,
        };
        within_group && self.own_arena(pointer).is_some()
    }

    /// Memory flags of a plain access that replaces an atomic.
    fn plain(ty: Type) -> MemInfo {
        MemInfo::aligned(ty.elem.bytes())
    }

    /// The bits of a scalar as an integer.
    fn scalar_bits(&mut self, value: &SplitValue) -> Value {
        let bits = value.only();
        match carrier(value.ty.elem) {
            Elem::F32 | Elem::F64 => self.at().cast(Opcode::Bitcast, bits, value.ty.as_int()),
            Elem::Ptr(_) => self.at().cast(Opcode::PtrToInt, bits, Type::I64),
            Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::F16 => bits,
        }
    }

    /// The scalar of a type that has the bits of an integer.
    fn scalar_from_bits(&mut self, bits: Value, ty: Type) -> SplitValue {
        let value = match carrier(ty.elem) {
            Elem::F32 | Elem::F64 => self.at().cast(Opcode::Bitcast, bits, ty),
            Elem::Ptr(_) => self.at().cast(Opcode::IntToPtr, bits, ty),
            Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::F16 => bits,
        };
        SplitValue::scalar(ty, value)
    }

    pub(super) fn atomic_load(&mut self, inst: Inst) {
        let info = self.atomic_info(inst);
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        let pointer = self.get_scalar(self.old.dfg.inst(inst).args[0]);
        let bits = if self.is_thread_private(pointer, info) {
            self.at().load(ty.as_int(), pointer, Self::plain(ty))
        } else {
            self.at().atomic_load(ty.as_int(), pointer, info)
        };
        let value = self.scalar_from_bits(bits, ty);
        self.set(inst, value);
    }

    pub(super) fn atomic_store(&mut self, inst: Inst) {
        let info = self.atomic_info(inst);
        let args = self.operands(inst);
        let bits = self.scalar_bits(&args[1]);
        if self.is_thread_private(args[0].only(), info) {
            self.at().store(args[0].only(), bits, Self::plain(args[1].ty));
        } else {
            self.at().atomic_store(args[0].only(), bits, info);
        }
    }

    pub(super) fn atomic_cmpxchg(&mut self, inst: Inst) {
        let info = self.atomic_info(inst);
        let args = self.operands(inst);
        let ty = args[2].ty;
        let (expected, new) = (self.scalar_bits(&args[1]), self.scalar_bits(&args[2]));
        let pointer = args[0].only();
        let bits = if self.is_thread_private(pointer, info) {
            let mut at = self.at();
            let old = at.load(ty.as_int(), pointer, Self::plain(ty));
            let same = at.icmp(IntCond::Eq, old, expected);
            let new = at.select(same, new, old);
            at.store(pointer, new, Self::plain(ty));
            old
        } else {
            self.at().atomic_cmpxchg(pointer, expected, new, info)
        };
        let value = self.scalar_from_bits(bits, ty);
        self.set(inst, value);
    }

    pub(super) fn atomic_rmw(&mut self, inst: Inst) {
        let info = self.atomic_info(inst);
        let args = self.operands(inst);
        let pointer = args[0].only();
        let ty = args[1].ty;
        if self.is_thread_private(pointer, info) {
            return self.plain_rmw(inst, pointer, &args[1], info.op);
        }
        let op = match info.op {
            AtomicOp::Xchg
            | AtomicOp::Add
            | AtomicOp::Sub
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Smin
            | AtomicOp::Smax
            | AtomicOp::Umin
            | AtomicOp::Umax => {
                let bits = self.scalar_bits(&args[1]);
                let old = self.at().atomic_rmw(pointer, bits, info);
                let value = self.scalar_from_bits(old, ty);
                self.set(inst, value);
                return;
            }
            AtomicOp::Fadd => Opcode::Fadd,
            AtomicOp::Fmin => Opcode::Fmin,
            AtomicOp::Fmax => Opcode::Fmax,
            AtomicOp::Mul | AtomicOp::Fmul => unreachable!("broken invariant: atomic {:?}", info.op),
        };
        let int = ty.as_int();
        let start = AtomicInfo { op: AtomicOp::Xchg, order: MemOrder::Relaxed, ..info };
        let exchange = AtomicInfo { op: AtomicOp::Xchg, ..info };
        let (again, done) = (self.new.append_block(), self.new.append_block());
        let expected = self.new.dfg.append_param(again, int);
        let first = self.at().atomic_load(int, pointer, start);
        self.at().jump(again, &[first]);
        self.block = again;
        let old = self.scalar_from_bits(expected, ty);
        let new = self.lanewise(op, &Imm::Fp(FpFlags::empty()), &[old.clone(), args[1].clone()], ty);
        let new = self.scalar_bits(&new);
        if info.order == MemOrder::Relaxed && matches!(info.op, AtomicOp::Fmin | AtomicOp::Fmax) {
            // Nothing can be ordered by a write of the same value.
            let write = self.new.append_block();
            let mut at = self.at();
            let keeps = at.icmp(IntCond::Eq, new, expected);
            at.branch(keeps, BlockCall::new(done, &[]), BlockCall::new(write, &[]));
            self.block = write;
        }
        let mut at = self.at();
        let found = at.atomic_cmpxchg(pointer, expected, new, exchange);
        let same = at.icmp(IntCond::Eq, found, expected);
        at.branch(same, BlockCall::new(done, &[]), BlockCall::new(again, &[found]));
        self.block = done;
        self.set(inst, old);
    }

    /// A read-modify-write of memory that only this thread accesses.
    fn plain_rmw(&mut self, inst: Inst, pointer: Value, value: &SplitValue, op: AtomicOp) {
        let ty = value.ty;
        let bits = self.at().load(ty.as_int(), pointer, Self::plain(ty));
        let old = self.scalar_from_bits(bits, ty);
        let new = match op.combines_by() {
            Some(op) => self.lanewise(op, &without_flags(op), &[old.clone(), value.clone()], ty),
            None => value.clone(),
        };
        let new = self.scalar_bits(&new);
        self.at().store(pointer, new, Self::plain(ty));
        self.set(inst, old);
    }
}
