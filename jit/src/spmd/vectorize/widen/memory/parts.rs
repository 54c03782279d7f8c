//! Accesses to parts of granules: to elements of an interleaved variable that are smaller than its largest ones
//! ([`private_arrays`](crate::spmd::transform::private_arrays)).
//!
//! A part at byte `o` of a lane's own copy is in the granule at `o & !(G - 1)`, G bytes long, at byte `o & (G - 1)`. If the lanes
//! share `o`, a pack accesses their granules, which are contiguous, and shifts; a store reads, modifies and writes them, which
//! other work-items cannot see. Otherwise each lane accesses its part.

use clift_kir::inst::{Imm, MemInfo};
use clift_kir::{Elem, Opcode, Type, Value};
use smallvec::SmallVec;

use super::super::{Mask, Widener};
use super::WideForm;

/// Where the lanes' parts are.
enum Place {
    /// In contiguous granules, so many bits (of type i64) up.
    Shared { granules: Value, bits: Value },
    /// At an address per lane.
    Lanes(Value),
}

impl Widener<'_> {
    /// Loads the part of a granule `offset` bytes after a pointer.
    pub(super) fn load_part(
        &mut self,
        pointer: Value,
        offset: u32,
        granule: u32,
        ty: Type,
        element: MemInfo,
        mask: Mask,
    ) -> Value {
        let pack = self.pack_type(ty);
        match self.place_of_part(pointer, offset, granule) {
            Place::Shared { granules, bits } => {
                let whole = self.load_granules(pointer, granules, granule, element, mask);
                let bits = self.shift_of_parts(bits, whole);
                let mut b = self.at();
                let moved = b.int2(Opcode::Lshr, whole, bits);
                let part = b.int_resize(moved, Self::integer(ty.elem.bytes()), false);
                if b.ty(part) == pack { part } else { b.cast(Opcode::Bitcast, part, pack) }
            }
            Place::Lanes(addresses) => {
                self.note_scattered(pointer, false);
                let lanes = self.mask_or_all(mask);
                let other = self.at().undef(pack);
                self.emit(Opcode::Gather, &[addresses, lanes, other], Imm::Mem(element), pack)
            }
        }
    }

    /// Stores to the part of a granule `offset` bytes after a pointer.
    pub(super) fn store_part(
        &mut self,
        pointer: Value,
        offset: u32,
        granule: u32,
        pack: Value,
        element: MemInfo,
        mask: Mask,
    ) {
        match self.place_of_part(pointer, offset, granule) {
            Place::Shared { granules, bits } => {
                let elem = self.out.dfg.ty(pack).elem;
                let old = self.load_granules(pointer, granules, granule, element, mask);
                let all = self.out.dfg.ty(old);
                let bits = self.shift_of_parts(bits, old);
                let mut b = self.at();
                let integers = all.with_elem(Self::integer(elem.bytes()));
                let part = if b.ty(pack) == integers { pack } else { b.cast(Opcode::Bitcast, pack, integers) };
                let part = b.int_resize(part, all.elem, false);
                let part = b.int2(Opcode::Shl, part, bits);
                let ones = b.iconst(all, ((1u64 << elem.bits()) - 1) as i64);
                let replaced = b.int2(Opcode::Shl, ones, bits);
                let kept = b.int1(Opcode::Not, replaced);
                let others = b.int2(Opcode::And, old, kept);
                let new = b.int2(Opcode::Or, others, part);
                let mem = self.mem_of_granules(pointer, granule, element, mask);
                let mut b = self.at();
                match mask {
                    None => b.store(granules, new, mem),
                    Some(mask) => b.inst(Opcode::MaskedStore, &[granules, new, mask], Imm::Mem(mem), &[]),
                };
            }
            Place::Lanes(addresses) => {
                self.note_scattered(pointer, true);
                let lanes = self.mask_or_all(mask);
                self.at().inst(Opcode::Scatter, &[addresses, pack, lanes], Imm::Mem(element), &[]);
            }
        }
    }

    fn integer(bytes: u32) -> Elem {
        match Elem::int(8 * bytes) {
            Some(elem) => elem,
            None => unreachable!("broken invariant: an element of {bytes} bytes"),
        }
    }

    fn mem_of_granules(&self, pointer: Value, granule: u32, element: MemInfo, mask: Mask) -> MemInfo {
        MemInfo { align: granule, ..self.masked_mem(pointer, element, mask) }
    }

    fn load_granules(&mut self, pointer: Value, granules: Value, granule: u32, element: MemInfo, mask: Mask) -> Value {
        let all = Type::vector(Self::integer(granule), self.width);
        let mem = self.mem_of_granules(pointer, granule, element, mask);
        let mut b = self.at();
        match mask {
            None => b.load(all, granules, mem),
            Some(mask) => {
                let other = b.undef(all);
                b.value(Opcode::MaskedLoad, &[granules, mask, other], Imm::Mem(mem), all)
            }
        }
    }

    /// A shift count in all lanes of granules.
    fn shift_of_parts(&mut self, bits: Value, granules: Value) -> Value {
        let ty = self.out.dfg.ty(granules);
        let mut b = self.at();
        let bits = b.int_resize(bits, ty.elem, false);
        b.splat(bits, ty.lanes())
    }

    fn place_of_part(&mut self, pointer: Value, offset: u32, granule: u32) -> Place {
        let width = self.width;
        let within = i64::from(granule) - 1;
        let (start, offset) = self.offset_in_variable(pointer, offset);
        let base = self.scalar(start);
        if !self.out.dfg.ty(offset).is_vector() {
            let mut b = self.at();
            let (high, low) = (b.iconst(Type::I64, !within), b.iconst(Type::I64, within));
            let row = b.int2(Opcode::And, offset, high);
            let granules = b.addr(base, Some(row), width.into(), 0);
            let byte = b.int2(Opcode::And, offset, low);
            let three = b.iconst(Type::I64, 3);
            let bits = b.int2(Opcode::Shl, byte, three);
            return Place::Shared { granules, bits };
        }
        let lane = self.strided_i32(i64::from(granule));
        let mut b = self.at();
        let ty = b.ty(offset);
        let (high, low) = (b.iconst(ty, !within), b.iconst(ty, within));
        let row = b.int2(Opcode::And, offset, high);
        let scale = b.iconst(ty, width.into());
        let row = b.int2(Opcode::Imul, row, scale);
        let byte = b.int2(Opcode::And, offset, low);
        let byte = b.int2(Opcode::Iadd, byte, lane);
        let index = b.int2(Opcode::Iadd, row, byte);
        let index = b.int_resize(index, Elem::I64, false);
        Place::Lanes(b.addr(base, Some(index), 1, 0))
    }

    /// The lane's number times a factor, in all lanes.
    fn strided_i32(&mut self, factor: i64) -> Value {
        let zero = self.at().iconst(Type::I32, 0);
        self.strided(zero, factor)
    }

    /// The address of the variable into which a pointer points, and where in a lane's own copy that is, plus `offset` bytes: an
    /// i64 if the lanes share it, a pack of i32 otherwise. The address of a variable is followed only through [`Opcode::Addr`].
    fn offset_in_variable(&mut self, pointer: Value, offset: u32) -> (Value, Value) {
        let func = self.func;
        let mut indices: SmallVec<[(Value, u64); 4]> = SmallVec::new();
        let (mut start, mut known) = (pointer, i64::from(offset));
        while let Some(inst) = func.dfg.def_inst(start)
            && let data = func.dfg.inst(inst)
            && let (Opcode::Addr, &Imm::Addr { scale, disp }) = (data.op, &data.imm)
        {
            known = known.wrapping_add(disp);
            if let Some(&index) = data.args.get(1) {
                indices.push((index, scale));
            }
            start = data.args[0];
        }
        let is_shared = indices.iter().all(|&(index, _)| matches!(self.form(index), WideForm::Uniform(_)));
        let ty = if is_shared { Type::I64 } else { Type::I32.with_lanes(self.width) };
        let mut sum = self.at().iconst(ty, known);
        for (index, scale) in indices {
            let index = if is_shared { self.scalar(index) } else { self.packs(index)[0] };
            let mut b = self.at();
            let index = b.int_resize(index, ty.elem, true);
            let scale = b.iconst(ty, scale as i64);
            let part = b.int2(Opcode::Imul, index, scale);
            sum = b.int2(Opcode::Iadd, sum, part);
        }
        (start, sum)
    }
}
