//! Addresses, loads and stores, atomics, fences.

use clift_kir::ops::MemoryOp;
use clift_kir::{AtomicOp, Elem, Imm, Inst, MemOrder, Opcode, Type, Value};
use regalloc2::{Operand, VReg};
use smallvec::SmallVec;

use super::{
    AddressBase, ExtraOperands, MemAddress, NO_DIGIT, RegMem, Selector, ValueLocation, class, size, wrong_imm,
};
use crate::codegen::host;
use crate::codegen::x86::code::{
    AtomicUpdate, BaseOperand, Cond, GPR, InstKind, MASK, RAX, RegField, RmField, RowInst, ZMM,
};
use crate::codegen::x86::encode::{InstRow, OperandSize};
use crate::codegen::x86::table as t;

/// Loads and stores of lanes of a given size in bytes.
fn move_row(bytes: u32) -> [InstRow; 2] {
    match bytes {
        1 => [t::VMOVDQU8, t::VMOVDQU8_TO],
        2 => [t::VMOVDQU16, t::VMOVDQU16_TO],
        4 => [t::VMOVDQU32, t::VMOVDQU32_TO],
        _ => [t::VMOVDQU64, t::VMOVDQU64_TO],
    }
}

/// The addresses of the lanes of a gather or scatter.
struct LaneAddresses {
    /// The address of each lane, or an index.
    lanes: VReg,
    /// The base address for indices, and the binary logarithm of their scale.
    base: Option<(VReg, u8)>,
    /// Whether indices have 32 bits.
    narrow: bool,
}

impl LaneAddresses {
    /// A gather or scatter of elements of a type. The rows are for 64-bit and for 32-bit lanes; `reg`, `mask` and `lanes` are the
    /// operand indices of the register that is read or written, of the mask, and of the lanes. The operand of the base follows
    /// that of the lanes.
    fn access(&self, [row, narrow_row]: [InstRow; 2], ty: Type, reg: u8, mask: u8, lanes: u8) -> InstKind {
        let (row, bits) = if self.narrow { (narrow_row, ty.elem.bits()) } else { (row, 64) };
        InstKind::Row(RowInst {
            row,
            size: OperandSize::vector(bits * ty.lanes()),
            reg: RegField::Operand(reg),
            second: None,
            source: RmField::Lanes(lanes, self.base.map(|(_, scale)| (lanes + 1, scale))),
            mask: Some(mask),
            zeroing: false,
            broadcast: false,
            immediate: None,
            locked: false,
        })
    }
}

impl Selector<'_> {
    pub(super) fn global_addr(&mut self, inst: Inst) {
        let data = self.legal.dfg.inst(inst);
        let Imm::Global(global) = data.imm else { wrong_imm(&data.imm) };
        let address = self.number(self.data.address(global) as i64, 64);
        self.set(inst, address);
    }

    pub(super) fn slot_addr(&mut self, inst: Inst) {
        let data = self.legal.dfg.inst(inst);
        let Imm::Slot(slot) = data.imm else { wrong_imm(&data.imm) };
        let offset = match self.slots.get(&slot) {
            Some(&offset) => offset,
            None => {
                let data = self.legal.slots[slot];
                let offset = self.variables.next_multiple_of(data.align.clamp(1, 64));
                self.variables = offset.saturating_add(u32::try_from(data.size).unwrap_or(u32::MAX / 2));
                self.slots.insert(slot, offset);
                offset
            }
        };
        self.set_address(inst, MemAddress { base: AddressBase::Stack(offset), index: None, disp: 0 });
    }

    pub(super) fn memory_op(&mut self, op: MemoryOp, inst: Inst) {
        use MemoryOp as O;
        let data = self.legal.dfg.inst(inst);
        match op {
            O::Load => {
                let address = self.address(data.args[0]);
                let value = self.load(self.result_type(inst), address);
                self.set(inst, value);
                self.note_load(inst, address);
            }
            O::Store => {
                let address = self.address(data.args[0]);
                let ty = self.arg_type(inst, 1);
                match self.small(data.args[1]) {
                    Some(value) => self.store_constant(ty, address, value),
                    None => {
                        let value = self.get(data.args[1]);
                        self.store(ty, address, value);
                    }
                }
            }
            O::MaskedLoad => self.masked_load(inst),
            O::MaskedStore => self.masked_store(inst),
            O::Gather => self.gather(inst),
            O::Scatter => self.scatter(inst),
            O::AtomicLoad => {
                let address = self.address(data.args[0]);
                let value = self.load(self.result_type(inst), address);
                self.set(inst, value);
            }
            O::AtomicStore => {
                let ty = self.arg_type(inst, 1);
                let (address, value) = (self.get(data.args[0]), self.get(data.args[1]));
                self.exchange(ty, t::XCHG, t::XCHG8, address, value);
            }
            O::AtomicRmw => self.atomic_rmw(inst),
            O::AtomicCmpxchg => self.compare_exchange(inst),
            O::Fence => {
                let Imm::Atomic(info) = data.imm else { wrong_imm(&data.imm) };
                if info.order == MemOrder::SeqCst {
                    self.push(InstKind::Fence, SmallVec::new());
                }
            }
            O::Memcpy => {
                let args: Vec<VReg> = data.args.iter().map(|&arg| self.get(arg)).collect();
                let callee = self.number(host::copy_bytes as *const () as i64, 64);
                self.call(callee, &args, false);
            }
            O::Memset => {
                let args: Vec<VReg> = data.args.iter().map(|&arg| self.get(arg)).collect();
                let callee = self.number(host::fill_bytes as *const () as i64, 64);
                let byte = self.zero_extended(args[1], 8);
                self.call(callee, &[args[0], byte, args[2]], false);
            }
        }
    }

    /// Sets the result of an address computation; addresses that only accesses use are folded into these.
    pub(super) fn set_address(&mut self, inst: Inst, address: MemAddress) {
        let result = self.legal.dfg.result(inst);
        if self.addresses.contains(result) {
            self.values[result] = Some(ValueLocation::Address(address));
            return;
        }
        let register = self.address_of(address);
        self.set(inst, register);
    }

    /// Computes an address into a register.
    pub(super) fn address_of(&mut self, address: MemAddress) -> VReg {
        match address {
            MemAddress { base: AddressBase::Register(base), index: None, disp: 0 } => base,
            address => self.g1(t::LEA, OperandSize::S64, RegMem::Memory(address)),
        }
    }

    /// The address of an access.
    pub(super) fn address(&mut self, pointer: Value) -> MemAddress {
        self.demand(pointer);
        match self.values[pointer] {
            Some(ValueLocation::Address(address)) => address,
            _ => MemAddress { base: AddressBase::Register(self.get(pointer)), index: None, disp: 0 },
        }
    }

    pub(super) fn address_inst(&mut self, inst: Inst) -> MemAddress {
        let data = self.legal.dfg.inst(inst);
        let Imm::Addr { scale, disp } = data.imm else { wrong_imm(&data.imm) };
        let mut address = self.address(data.args[0]);
        let mut disp = disp;
        if let Some(&index) = data.args.get(1) {
            if let Some(constant) = self.constant(index) {
                disp = disp.wrapping_add((constant.lane(0) as i64).wrapping_mul(scale as i64));
            } else {
                let register = self.get(index);
                let index = match scale {
                    1 | 2 | 4 | 8 => (register, scale.trailing_zeros() as u8),
                    _ => (self.scaled(register, scale), 0),
                };
                if address.index.is_some() {
                    let base = self.address_of(address);
                    address = MemAddress { base: AddressBase::Register(base), index: None, disp: 0 };
                }
                address.index = Some(index);
            }
        }
        match i32::try_from(i64::from(address.disp).wrapping_add(disp)) {
            Ok(disp) => MemAddress { disp, ..address },
            Err(_) => {
                let base = self.address_of(address);
                let disp = self.number(disp, 64);
                MemAddress { base: AddressBase::Register(base), index: Some((disp, 0)), disp: 0 }
            }
        }
    }

    /// The product of an index and a scale that no address mode has. Accesses to several fields of an element share it.
    fn scaled(&mut self, index: VReg, scale: u64) -> VReg {
        if let Some(&product) = self.scaled.get(&(index, scale)) {
            return product;
        }
        let product = self.multiplied(index, scale);
        self.scaled.insert((index, scale), product);
        product
    }

    fn multiplied(&mut self, index: VReg, scale: u64) -> VReg {
        if scale.is_power_of_two() {
            return self.g_digit(t::SHIFT_IMM, 4, OperandSize::S64, index, Some((scale.trailing_zeros().into(), 1)));
        }
        match i32::try_from(scale) {
            Ok(scale) => {
                let more = ExtraOperands { immediate: Some((scale.into(), 4)), ..ExtraOperands::default() };
                self.make(GPR, t::IMUL_IMM, OperandSize::S64, RegMem::Register(index), more)
            }
            Err(_) => {
                let scale = self.number(scale as i64, 64);
                self.g2(t::IMUL, OperandSize::S64, index, RegMem::Register(scale))
            }
        }
    }

    pub(super) fn load(&mut self, ty: Type, address: MemAddress) -> VReg {
        let from = RegMem::Memory(address);
        if class(ty) == GPR {
            return match ty.elem.bits() {
                8 => self.g1(t::MOVZX8, OperandSize::S32, from),
                16 => self.g1(t::MOVZX16, OperandSize::S32, from),
                _ => self.g1(t::MOV, size(ty), from),
            };
        }
        match ty.bytes() {
            2 => {
                let scalar = self.g1(t::MOVZX16, OperandSize::S32, from);
                self.v1(t::VMOVD_FROM_SCALAR, OperandSize::S32, RegMem::Register(scalar))
            }
            4 => self.v1(t::VMOVSS, OperandSize::X, from),
            8 => self.v1(t::VMOVSD, OperandSize::X, from),
            _ => self.v1(t::VMOVUPS, size(ty), from),
        }
    }

    fn store(&mut self, ty: Type, address: MemAddress, value: VReg) {
        let (row, size, value) = match (class(ty) == GPR, ty.bytes()) {
            (true, 1) => (t::MOV_BYTE_TO, OperandSize::S8, value),
            (true, bytes) => (t::MOV_TO, OperandSize::memory(bytes * 8), value),
            (false, 2) => (t::MOV_TO, OperandSize::S16, self.first_lane(value, Type::scalar(Elem::I32))),
            (false, 4) => (t::VMOVSS_TO, OperandSize::X, value),
            (false, 8) => (t::VMOVSD_TO, OperandSize::X, value),
            (false, _) => (t::VMOVUPS_TO, size(ty), value),
        };
        self.push_row(row, size, None, Some(value), NO_DIGIT, RegMem::Memory(address), ExtraOperands::default());
    }

    fn store_constant(&mut self, ty: Type, address: MemAddress, value: i64) {
        let (row, bytes) = match ty.bytes() {
            1 => (t::MOV_BYTE_IMM, 1),
            bytes => (t::MOV_IMM, bytes.min(4) as u8),
        };
        let more = ExtraOperands { immediate: Some((value, bytes)), ..ExtraOperands::default() };
        self.push_row(row, OperandSize::memory(ty.bytes() * 8), None, None, 0, RegMem::Memory(address), more);
    }

    // -- masked and scattered accesses --

    /// A mask for the lanes of a type; all other lanes of the register are false.
    fn lanes_only(&mut self, mask: Value, ty: Type) -> VReg {
        let mask = self.get(mask);
        if ty.bits() >= 128 {
            return mask;
        }
        let lanes = self.number((1 << ty.lanes()) - 1, 64);
        let lanes = self.mask_from_bits(lanes);
        self.make(
            MASK,
            t::KANDQ,
            OperandSize::X,
            RegMem::Register(lanes),
            ExtraOperands { second: Some(mask), ..ExtraOperands::default() },
        )
    }

    fn masked_load(&mut self, inst: Inst) {
        if self.masks_are_vectors() {
            return self.vector_masked_load(inst);
        }
        let args = &self.legal.dfg.inst(inst).args;
        let ty = self.result_type(inst);
        let (address, mask) = (self.address(args[0]), self.lanes_only(args[1], ty));
        let zeroing = self.constant(args[2]).is_some_and(|data| data.as_splat() == Some(0));
        let tied = if zeroing { None } else { Some(self.get(args[2])) };
        let more = ExtraOperands { tied, mask: Some(mask), zeroing, ..ExtraOperands::default() };
        let row = move_row(ty.elem.bytes())[0];
        let value = self.make(ZMM, row, size(ty), RegMem::Memory(address), more);
        self.set(inst, value);
    }

    fn masked_store(&mut self, inst: Inst) {
        if self.masks_are_vectors() {
            return self.vector_masked_store(inst);
        }
        let args = &self.legal.dfg.inst(inst).args;
        let ty = self.arg_type(inst, 1);
        let (address, value) = (self.address(args[0]), self.get(args[1]));
        let mask = self.lanes_only(args[2], ty);
        let more = ExtraOperands { mask: Some(mask), ..ExtraOperands::default() };
        let row = move_row(ty.elem.bytes())[1];
        self.push_row(row, size(ty), None, Some(value), NO_DIGIT, RegMem::Memory(address), more);
    }

    /// The instruction clears the mask as it proceeds, and reads the addresses until its end.
    fn gather(&mut self, inst: Inst) {
        let args = &self.legal.dfg.inst(inst).args;
        let ty = self.result_type(inst);
        let (mask, other) = (self.get(args[1]), self.get(args[2]));
        let addresses = self.lane_addresses(args[0], ty);
        let (result, left) = (self.fresh(ZMM), self.fresh(MASK));
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::from_slice(&[
            Operand::reg_use(other),
            Operand::reg_reuse_def(result, 0),
            Operand::reg_use(mask),
            Operand::reg_reuse_def(left, 2),
            Operand::reg_use_at_end(addresses.lanes),
        ]);
        operands.extend(addresses.base.map(|(base, _)| Operand::reg_use(base)));
        let rows = if ty.elem.bytes() == 4 { [t::VPGATHERQD, t::VPGATHERDD] } else { [t::VPGATHERQQ, t::VPGATHERDQ] };
        self.push(addresses.access(rows, ty, 1, 3, 4), operands);
        self.set(inst, result);
    }

    fn scatter(&mut self, inst: Inst) {
        let args = &self.legal.dfg.inst(inst).args;
        let ty = self.arg_type(inst, 1);
        let (value, mask) = (self.get(args[1]), self.get(args[2]));
        let addresses = self.lane_addresses(args[0], ty);
        let left = self.fresh(MASK);
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::from_slice(&[
            Operand::reg_use(value),
            Operand::reg_use(mask),
            Operand::reg_reuse_def(left, 1),
            Operand::reg_use(addresses.lanes),
        ]);
        operands.extend(addresses.base.map(|(base, _)| Operand::reg_use(base)));
        let rows =
            if ty.elem.bytes() == 4 { [t::VPSCATTERQD, t::VPSCATTERDD] } else { [t::VPSCATTERQQ, t::VPSCATTERDQ] };
        self.push(addresses.access(rows, ty, 0, 2, 3), operands);
    }

    /// The addresses of the lanes of an access. A sum of one address and an index in each lane is folded into the instruction,
    /// also with a scale and an extension of the index. The computation of the sum is removed later if it has no other use.
    fn lane_addresses(&mut self, pointers: Value, ty: Type) -> LaneAddresses {
        let plain = |lanes: VReg| LaneAddresses { lanes, base: None, narrow: false };
        let Some([sum]) = self.made_by(pointers, Opcode::IntToPtr) else { return plain(self.get(pointers)) };
        let Some([x, y]) = self.made_by(sum, Opcode::Iadd) else { return plain(self.get(pointers)) };
        let splat = |value: Value| self.made_by(value, Opcode::Splat).map(|[base]| base);
        let (base, offset) = match (splat(x), splat(y)) {
            (Some(base), _) => (base, y),
            (None, Some(base)) => (base, x),
            (None, None) => return plain(self.get(pointers)),
        };
        let scaled = self.made_by(offset, Opcode::Shl).and_then(|[index, count]| {
            let count = self.legal.dfg.as_splat_bits(count).filter(|&count| count <= 3)?;
            Some((index, count as u8))
        });
        let (index, scale) = scaled.unwrap_or((offset, 0));
        // With fewer lanes, a register of 128 bits would have unused ones.
        let whole = ty.lanes() * ty.elem.bits() >= 128;
        let narrow = self.made_by(index, Opcode::Sext).map(|[from]| from).filter(|&from| {
            let elem = self.legal.dfg.ty(from).elem;
            whole && elem == Elem::I32
        });
        let base = self.get(base);
        let lanes = self.get(narrow.unwrap_or(index));
        LaneAddresses { lanes, base: Some((base, scale)), narrow: narrow.is_some() }
    }

    /// The operands of a value's defining instruction, if that has the opcode `op`.
    fn made_by<const COUNT: usize>(&self, value: Value, op: Opcode) -> Option<[Value; COUNT]> {
        let data = self.legal.dfg.inst(self.legal.dfg.def_inst(value)?);
        if data.op == op { data.args[..].try_into().ok() } else { None }
    }

    // -- atomics --

    /// An instruction that exchanges a register with memory.
    fn exchange(&mut self, ty: Type, row: InstRow, byte: InstRow, address: VReg, value: VReg) -> VReg {
        let result = self.fresh(GPR);
        let operands = SmallVec::from_slice(&[
            Operand::reg_use(value),
            Operand::reg_reuse_def(result, 0),
            Operand::reg_use(address),
        ]);
        let bits = ty.elem.bits();
        self.push(Self::locked(if bits == 8 { byte } else { row }, OperandSize::memory(bits), 1, 2), operands);
        result
    }

    /// A locked instruction on memory.
    fn locked(row: InstRow, size: OperandSize, reg: u8, address: u8) -> InstKind {
        InstKind::Row(RowInst {
            row,
            size,
            reg: RegField::Operand(reg),
            second: None,
            source: RmField::Memory(BaseOperand::Operand(address), None, 0),
            mask: None,
            zeroing: false,
            broadcast: false,
            immediate: None,
            locked: true,
        })
    }

    fn atomic_rmw(&mut self, inst: Inst) {
        let data = self.legal.dfg.inst(inst);
        let Imm::Atomic(info) = data.imm else { wrong_imm(&data.imm) };
        let ty = self.arg_type(inst, 1);
        let (address, value) = (self.get(data.args[0]), self.get(data.args[1]));
        let update_where = match info.order {
            MemOrder::Relaxed => AtomicUpdate::OnlyWhere,
            MemOrder::Acquire | MemOrder::Release | MemOrder::AcqRel | MemOrder::SeqCst => AtomicUpdate::Where,
        };
        let update = match info.op {
            AtomicOp::Xchg => {
                let old = self.exchange(ty, t::XCHG, t::XCHG8, address, value);
                return self.set(inst, old);
            }
            AtomicOp::Add => {
                let old = self.exchange(ty, t::XADD, t::XADD8, address, value);
                return self.set(inst, old);
            }
            AtomicOp::Sub => {
                let negated = self.g_digit(t::GROUP3, 3, size(ty), value, None);
                let old = self.exchange(ty, t::XADD, t::XADD8, address, negated);
                return self.set(inst, old);
            }
            AtomicOp::And => AtomicUpdate::By(t::AND),
            AtomicOp::Or => AtomicUpdate::By(t::OR),
            AtomicOp::Xor => AtomicUpdate::By(t::XOR),
            AtomicOp::Smin => update_where(Cond::Greater),
            AtomicOp::Smax => update_where(Cond::Less),
            AtomicOp::Umin => update_where(Cond::Above),
            AtomicOp::Umax => update_where(Cond::Below),
            AtomicOp::Mul | AtomicOp::Fadd | AtomicOp::Fmul | AtomicOp::Fmin | AtomicOp::Fmax => {
                unreachable!("broken invariant: atomic {:?} in a legal function", info.op)
            }
        };
        let value = if let AtomicOp::Smin | AtomicOp::Smax = info.op {
            self.sign_extended(value, ty.elem.bits())
        } else {
            self.zero_extended(value, ty.elem.bits())
        };
        let (old, new) = (self.fresh(GPR), self.fresh(GPR));
        let operands = SmallVec::from_slice(&[
            Operand::reg_fixed_def(old, RAX),
            Operand::reg_use_at_end(address),
            Operand::reg_use_at_end(value),
            Operand::reg_temp(new),
        ]);
        self.push(InstKind::AtomicLoop(update, OperandSize::memory(ty.elem.bits())), operands);
        self.set(inst, old);
    }

    fn compare_exchange(&mut self, inst: Inst) {
        let data = self.legal.dfg.inst(inst);
        let ty = self.arg_type(inst, 1);
        let (address, expected) = (self.get(data.args[0]), self.get(data.args[1]));
        let new = self.get(data.args[2]);
        let old = self.fresh(GPR);
        let operands = SmallVec::from_slice(&[
            Operand::reg_fixed_use(expected, RAX),
            Operand::reg_fixed_def(old, RAX),
            Operand::reg_use(new),
            Operand::reg_use(address),
        ]);
        let bits = ty.elem.bits();
        let row = if bits == 8 { t::CMPXCHG8 } else { t::CMPXCHG };
        self.push(Self::locked(row, OperandSize::memory(bits), 2, 3), operands);
        self.set(inst, old);
    }
}
