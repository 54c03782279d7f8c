//! The addresses of gathers and scatters as vectors, for backends that have instructions for them.
//!
//! What the lanes share is kept apart, as the base of the access. Sizes of records are factors of the other operand: computed
//! lane by lane, the addresses of a record's fields would take more than the accesses.

use clift_kir::{Block, Elem, Function, Imm, Inst, Opcode, Type, Value};
use rustc_hash::FxHashMap;

use super::{Legalizer, SplitValue};
use crate::target::machine::Machine;

/// A vector of indices times the size of a record.
pub(super) struct ScaledIndex {
    /// Where it is computed.
    block: Block,
    vector: SplitValue,
    /// Its lanes, if something has asked for them.
    lanes: Vec<Value>,
}

/// The most address computations in a row that are put together: a field of an element of an array in a record has three.
const MAX_ADDRESS_DEPTH: u32 = 4;

/// How many vectors of addresses each block computes from a vector of indices and a size that is not a power of two.
pub(super) fn fields(func: &Function) -> FxHashMap<(Block, Value, u64), u32> {
    let mut found: FxHashMap<(Block, Value, u64), u32> = FxHashMap::default();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            if let (&Imm::Addr { scale, .. }, &[_, index]) = (&data.imm, data.args.as_slice())
                && !scale.is_power_of_two()
                && func.dfg.ty(index).is_vector()
            {
                *found.entry((block, index, scale)).or_default() += 1;
            }
        }
    }
    found
}

/// The operands of the instruction that computes a value, if it has this op.
fn made_by(func: &Function, value: Value, op: Opcode) -> Option<&[Value]> {
    let data = func.dfg.inst(func.dfg.def_inst(value)?);
    (data.op == op).then_some(&data.args)
}

/// Whether the sign bit of each lane is clear by the instruction that computes a value.
fn has_clear_sign(func: &Function, value: Value) -> bool {
    let sign = func.dfg.ty(value).elem.mask() / 2 + 1;
    let constant = |value: &Value| func.dfg.as_splat_bits(*value);
    let is_masked = made_by(func, value, Opcode::And)
        .is_some_and(|args| args.iter().filter_map(constant).any(|mask| mask & sign == 0));
    let is_shifted = made_by(func, value, Opcode::Lshr)
        .is_some_and(|args| constant(&args[1]).is_some_and(|count| (1..32).contains(&count)));
    let is_remainder = made_by(func, value, Opcode::Urem)
        .is_some_and(|args| constant(&args[1]).is_some_and(|divisor| (1..=sign).contains(&divisor)));
    is_masked || is_shifted || is_remainder || made_by(func, value, Opcode::Zext).is_some()
}

impl Legalizer<'_> {
    /// Addresses as vectors. Each part has as many lanes as fit for both the addresses and the elements.
    pub(super) fn address_parts(&mut self, pointers: Value, ty: Type) -> SplitValue {
        let split = self.get(pointers);
        let chunk = self.caps.part_lanes(split.ty).min(self.caps.part_lanes(ty));
        let Some(bits) = self.address_vector(pointers) else { return self.regroup(&split, chunk) };
        let bits = self.regroup(&bits, chunk);
        let part = Type::vector(split.ty.elem, chunk);
        let parts = bits.parts.iter().map(|&bits| self.at().cast(Opcode::IntToPtr, bits, part)).collect();
        SplitValue { ty: split.ty, chunk, parts }
    }

    /// Addresses as vectors of integers; `None` if they are separate scalars. An address that all lanes share is one operand of
    /// an addition, so that the backend's access can add it.
    fn address_vector(&mut self, pointers: Value) -> Option<SplitValue> {
        if let Some(known) = self.private_addresses.get(&pointers) {
            return Some(known.clone());
        }
        let (base, offsets) = self.base_and_offsets(pointers, MAX_ADDRESS_DEPTH)?;
        let Some(base) = base else { return Some(offsets) };
        let base = self.at().cast(Opcode::PtrToInt, base, Type::I64);
        let base = self.splat_value(base, offsets.ty);
        Some(self.op2(Opcode::Iadd, &base, &offsets))
    }

    /// What the lanes' addresses have in common, if anything, and the rest as vectors of integers. Considers so many address
    /// computations in a row.
    fn base_and_offsets(&mut self, pointers: Value, depth: u32) -> Option<(Option<Value>, SplitValue)> {
        let split = self.get(pointers);
        let data = self.old.dfg.def_inst(pointers).map(|inst| self.old.dfg.inst(inst));
        if let Some(data) = data.filter(|_| depth > 0)
            && let Imm::Addr { scale, disp } = data.imm
        {
            let args = data.args.clone();
            let (shared, rest) = match self.get(args[0]) {
                base if base.ty.is_vector() => self.base_and_offsets(args[0], depth - 1)?,
                base => {
                    let scaled = self.scaled_index(args.get(1).copied()?, scale)?;
                    return Some((Some(self.displaced(base.only(), disp as u64)), scaled));
                }
            };
            let Some(&index) = args.get(1) else { return Some(self.with_displacement(shared, rest, None, disp)) };
            if self.get(index).ty.is_vector() {
                let scaled = self.scaled_index(index, scale)?;
                let rest = self.op2(Opcode::Iadd, &rest, &scaled);
                return Some(self.with_displacement(shared, rest, None, disp));
            }
            return Some(self.with_displacement(shared, rest, Some((self.get_scalar(index), scale)), disp));
        }
        let vectors = split.ty.is_vector() && split.chunk > 1;
        vectors.then(|| {
            let bits = self.lanewise(
                Opcode::PtrToInt,
                &Imm::None,
                std::slice::from_ref(&split),
                split.ty.with_elem(Elem::I64),
            );
            (None, bits)
        })
    }

    /// Adds what all lanes share to the common part of addresses, or to all lanes if there is none.
    fn with_displacement(
        &mut self,
        shared: Option<Value>,
        rest: SplitValue,
        index: Option<(Value, u64)>,
        disp: i64,
    ) -> (Option<Value>, SplitValue) {
        if let Some(base) = shared {
            let base = match index {
                Some((index, scale)) => self.at().addr(base, Some(index), scale, disp),
                None => self.displaced(base, disp as u64),
            };
            return (Some(base), rest);
        }
        let rest = match index {
            Some((index, scale)) => {
                let mut at = self.at();
                let scale = at.iconst(Type::I64, scale as i64);
                let scaled = at.int2(Opcode::Imul, index, scale);
                let scaled = self.splat_value(scaled, rest.ty);
                self.op2(Opcode::Iadd, &scaled, &rest)
            }
            None => rest,
        };
        let rest = if disp == 0 { rest } else { self.op2_bits(Opcode::Iadd, &rest, disp as u64) };
        (None, rest)
    }

    /// A vector of indices times a number of bytes. Accesses in one block to fields of the same records share it.
    fn scaled_index(&mut self, index: Value, scale: u64) -> Option<SplitValue> {
        let split = self.get(index);
        if !split.ty.is_vector() || split.chunk < 2 {
            return None;
        }
        let split = self.sign_extended(index).unwrap_or(split);
        if scale.is_power_of_two() {
            let count = scale.trailing_zeros().into();
            return Some(if scale == 1 { split } else { self.op2_bits(Opcode::Shl, &split, count) });
        }
        let known = self.scaled_indices.get(&(index, scale)).filter(|known| known.block == self.block);
        if let Some(known) = known {
            return Some(known.vector.clone());
        }
        let vector = self.op2_bits(Opcode::Imul, &split, scale);
        let scaled = ScaledIndex { block: self.block, vector: vector.clone(), lanes: Vec::new() };
        self.scaled_indices.insert((index, scale), scaled);
        Some(vector)
    }

    /// A zero-extended index whose sign bit is clear as a sign extension from 32 bits, which is part of x86's gathers and
    /// scatters.
    fn sign_extended(&mut self, index: Value) -> Option<SplitValue> {
        let source = made_by(self.old, index, Opcode::Zext)?[0];
        let narrow = match self.old.dfg.ty(source).elem {
            Elem::I8 | Elem::I16 => {
                let split = self.get(source);
                self.extend(&split, Elem::I32, false)
            }
            Elem::I32 if has_clear_sign(self.old, source) => self.get(source),
            Elem::B1 | Elem::I32 | Elem::I64 | Elem::F16 | Elem::F32 | Elem::F64 | Elem::Ptr(_) => return None,
        };
        Some(self.extend(&narrow, Elem::I64, true))
    }

    /// The lanes of [`Self::scaled_index`], where it takes fewer instructions to multiply the vector than the lanes: one widening
    /// multiply for each part. The lanes of one address are extracted in pairs, and multiplied while the vector units do
    /// something else (Emerald Rapids: base64 with records of three bytes, 0.44 ms, with products of vectors 0.54).
    pub(super) fn scaled_lanes(&mut self, addr: Inst, index: Value, scale: u64) -> Option<Vec<Value>> {
        let block = self.old.layout.block_of(addr)?;
        let is_extended = || {
            let data = self.old.dfg.inst(self.old.dfg.def_inst(index)?);
            let extends = matches!(data.op, Opcode::Sext | Opcode::Zext);
            (extends && self.old.dfg.ty(data.args[0]).elem == Elem::I32).then_some(())
        };
        let short = self.caps.register_bits <= Machine::COMMON.register_bits;
        let shared = self.fields.get(&(block, index, scale)).is_some_and(|&fields| fields > 1);
        if short || !shared || u32::try_from(scale).is_err() {
            return None;
        }
        is_extended()?;
        let vector = self.scaled_index(index, scale)?;
        let key = (index, scale);
        if let Some(known) = self.scaled_indices.get(&key).filter(|known| !known.lanes.is_empty()) {
            return Some(known.lanes.clone());
        }
        let lanes = self.lanes(&vector);
        if let Some(known) = self.scaled_indices.get_mut(&key) {
            known.lanes.clone_from(&lanes);
        }
        Some(lanes)
    }
}
