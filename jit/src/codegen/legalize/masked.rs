//! Masked and scattered accesses for backends that have instructions for them: part by part.
//!
//! A part of a masked access has the address of its first lane. A part of a gather or scatter has as many lanes as the vector of
//! its addresses.

use clift_kir::dfg::ConstData;
use clift_kir::{Elem, Imm, Inst, MemInfo, Opcode, Type, Value};

use super::{Legalizer, SplitValue, carrier};

impl Legalizer<'_> {
    /// Whether the backend supports an access to packs of a type.
    pub(super) fn accesses_natively(&self, op: Opcode, ty: Type) -> bool {
        let elem = carrier(ty.elem);
        self.caps.part_lanes(ty) > 1 && (self.caps.native)(op, &Imm::None, elem, elem)
    }

    /// A mask in parts of `chunk` lanes; unused lanes are false.
    fn mask_parts(&mut self, mask: &SplitValue, chunk: u32) -> SplitValue {
        if let Some(bits) = self.constant_of_splat(mask)
            && mask.ty.lanes().is_multiple_of(chunk)
        {
            return self.splat_parts(mask.ty, bits, chunk);
        }
        let mut mask = self.regroup(mask, chunk);
        let last = mask.parts.len() - 1;
        let used = mask.used(last);
        if used < chunk {
            let known = self.new.dfg.as_const(mask.parts[last]).cloned();
            let lane = |lane: u32| if lane < used { known.as_ref().map_or(1, |known| known.lane(lane)) } else { 0 };
            let within = ConstData::new(Type::B1.with_lanes(chunk), &(0..chunk).map(lane).collect::<Vec<u64>>());
            let mut at = self.at();
            let within = at.constant(within);
            mask.parts[last] = if known.is_some() { within } else { at.int2(Opcode::And, mask.parts[last], within) };
        }
        mask
    }

    /// The third operand of a masked load in parts of `chunk` lanes; zeros if it is undefined.
    fn other_parts(&mut self, inst: Inst, ty: Type, chunk: u32) -> SplitValue {
        let other = self.old.dfg.inst(inst).args[2];
        let anything = self.old.dfg.def_inst(other).is_some_and(|def| self.old.dfg.inst(def).op == Opcode::Undef);
        if anything {
            return self.splat_parts(ty, 0, chunk);
        }
        let other = self.get(other);
        match self.constant_of_splat(&other) {
            Some(bits) => self.splat_parts(ty, bits, chunk),
            None => self.regroup(&other, chunk),
        }
    }

    /// The same bits in every lane, in parts of `chunk` lanes.
    fn splat_parts(&mut self, ty: Type, bits: u64, chunk: u32) -> SplitValue {
        let part = self.part_type(ty.elem, chunk);
        let value = self.at().constant(ConstData::splat(part, bits));
        SplitValue { ty, chunk, parts: (0..ty.lanes().div_ceil(chunk)).map(|_| value).collect() }
    }

    /// Sets a result from parts that may have fewer lanes than its natural parts.
    fn set_parts(&mut self, inst: Inst, ty: Type, chunk: u32, parts: Vec<Value>) {
        self.set(inst, SplitValue { ty, chunk, parts: parts.into() });
    }

    pub(super) fn masked_load_natively(
        &mut self,
        inst: Inst,
        ty: Type,
        pointer: Value,
        mask: &SplitValue,
        mem: MemInfo,
    ) {
        let chunk = self.caps.part_lanes(ty);
        let (mask, other) = (self.mask_parts(mask, chunk), self.other_parts(inst, ty, chunk));
        let part_type = self.part_type(ty.elem, chunk);
        let parts = (0..mask.parts.len())
            .map(|part| {
                let offset = part as u64 * u64::from(part_type.bytes());
                let address = self.displaced(pointer, offset);
                let args = [address, mask.parts[part], other.parts[part]];
                self.emit(Opcode::MaskedLoad, &args, Imm::Mem(Self::lane_mem(mem, ty)), part_type)
            })
            .collect();
        self.set_parts(inst, ty, chunk, parts);
    }

    pub(super) fn masked_store_natively(
        &mut self,
        pointer: Value,
        value: &SplitValue,
        mask: &SplitValue,
        mem: MemInfo,
    ) {
        // Pointers may be separate scalars. Masked stores take vectors.
        let value = match value.chunk {
            1 => &self.regroup(value, self.caps.part_lanes(value.ty)),
            _ => value,
        };
        let mask = self.mask_parts(mask, value.chunk);
        for (part, (&value_part, &mask)) in value.parts.iter().zip(&mask.parts).enumerate() {
            let offset = part as u64 * u64::from(value.chunk * value.ty.elem.bytes());
            let address = self.displaced(pointer, offset);
            let imm = Imm::Mem(Self::lane_mem(mem, value.ty));
            self.at().inst(Opcode::MaskedStore, &[address, value_part, mask], imm, &[]);
        }
    }

    pub(super) fn gather_natively(
        &mut self,
        inst: Inst,
        ty: Type,
        pointers: Value,
        mask: &SplitValue,
        mem: MemInfo,
    ) -> SplitValue {
        let addresses = self.address_parts(pointers, ty);
        let chunk = addresses.chunk;
        let (mask, other) = (self.mask_parts(mask, chunk), self.other_parts(inst, ty, chunk));
        let part_type = self.part_type(ty.elem, chunk);
        let parts = (0..mask.parts.len())
            .map(|part| {
                let args = [addresses.parts[part], mask.parts[part], other.parts[part]];
                self.emit(Opcode::Gather, &args, Imm::Mem(mem), part_type)
            })
            .collect();
        SplitValue { ty, chunk, parts }
    }

    /// Whether elements of a type, which are too short for the backend's gathers, can be gathered with the words around them. No
    /// element may lie in two words.
    pub(super) fn gathers_words(&self, ty: Type, mem: MemInfo) -> bool {
        let elem = carrier(ty.elem);
        matches!(elem, Elem::I8 | Elem::I16)
            && u64::from(mem.align) >= u64::from(elem.bytes())
            && !mem.volatile
            && self.accesses_natively(Opcode::Gather, ty.with_elem(Elem::I32))
    }

    /// Gathers elements of 8 or 16 bits: the aligned words that they are in, shifted by their positions there. An aligned word
    /// has no byte on another page, so it can be read where one of its bytes can. Inactive lanes are zero.
    pub(super) fn gather_within_words(&mut self, ty: Type, pointers: Value, mask: &SplitValue) -> SplitValue {
        const WORD_BYTES: u64 = 4;
        let words = ty.with_elem(Elem::I32);
        let addresses = self.address_parts(pointers, words);
        let chunk = addresses.chunk;
        let mask = self.mask_parts(mask, chunk);
        let bits =
            self.lanewise(Opcode::PtrToInt, &Imm::None, std::slice::from_ref(&addresses), ty.with_elem(Elem::I64));
        let aligned = self.op2_bits(Opcode::And, &bits, !(WORD_BYTES - 1));
        let aligned = self.lanewise(Opcode::IntToPtr, &Imm::None, &[aligned], addresses.ty);
        let aligned = self.regroup(&aligned, chunk);
        let part_type = self.part_type(Elem::I32, chunk);
        let nothing = self.splat_parts(words, 0, chunk);
        // Nothing that is known of the elements holds for the bytes beside them.
        let mem = MemInfo::aligned(WORD_BYTES as u32);
        let parts = (0..mask.parts.len())
            .map(|part| {
                let args = [aligned.parts[part], mask.parts[part], nothing.parts[part]];
                self.emit(Opcode::Gather, &args, Imm::Mem(mem), part_type)
            })
            .collect();
        let gathered = SplitValue { ty: words, chunk, parts };
        let position = self.lanewise(Opcode::Itrunc, &Imm::None, &[bits], words);
        let position = self.op2_bits(Opcode::And, &position, WORD_BYTES - 1);
        let shift = self.op2_bits(Opcode::Shl, &position, 3);
        let shifted = self.op2(Opcode::Lshr, &gathered, &shift);
        // Halves are in integers of their size.
        let elements = self.lanewise(Opcode::Itrunc, &Imm::None, &[shifted], ty.with_elem(carrier(ty.elem)));
        SplitValue { ty, ..elements }
    }

    pub(super) fn scatter_natively(&mut self, pointers: Value, value: &SplitValue, mask: &SplitValue, mem: MemInfo) {
        let addresses = self.address_parts(pointers, value.ty);
        let value = self.regroup(value, addresses.chunk);
        let mask = self.mask_parts(mask, addresses.chunk);
        for ((&address, &part), &mask) in addresses.parts.iter().zip(&value.parts).zip(&mask.parts) {
            self.at().inst(Opcode::Scatter, &[address, part, mask], Imm::Mem(mem), &[]);
        }
    }
}
