//! Lookups in small constant tables: gathers from a few registers full of constants become [`Opcode::Lookup`], a permutation of
//! the table's registers.
//!
//! Digits, palettes, gradients, offsets of neighbours and dither matrices are such tables. A gather instruction takes as long
//! as a load for each lane, a permutation a few cycles. It cannot leave the table: an index out of bounds, which is undefined,
//! gives some element.

use clift_kir::dfg::ConstData;
use clift_kir::{Builder, Function, Global, GlobalData, Imm, Inst, MemInfo, Module, Opcode, Space, Type, Value};
use cranelift_entity::PrimaryMap;

use crate::passes::{Replacements, base_and_offset};
use crate::target::caps::VectorCaps;

/// Replaces the gathers of a looped function whose backend has lookups.
pub(crate) fn run(func: &mut Function, module: &Module, caps: &VectorCaps) {
    let mut replacements = Replacements::default();
    for block in func.layout.blocks().to_vec() {
        let insts = func.layout.insts(block);
        let lookups: Vec<Option<TableLookup>> =
            insts.iter().map(|&inst| TableLookup::of(func, &module.globals, caps, inst)).collect();
        if lookups.iter().all(Option::is_none) {
            continue;
        }
        for (inst, lookup) in func.layout.take_insts(block).into_iter().zip(lookups) {
            let Some(lookup) = lookup else {
                func.layout.append_inst(block, inst);
                continue;
            };
            let mut b = Builder::at_end(func, block);
            b.set_loc(b.func.locs[inst]);
            let found = lookup.emit(&mut b, inst);
            replacements.set(func.dfg.result(inst), found);
        }
    }
    replacements.apply(func);
}

/// How many definitions deep [`most`] looks.
const MAX_DEPTH: u32 = 8;

/// A number that no lane of an integer exceeds.
fn most(func: &Function, value: Value, depth: u32) -> u64 {
    let all = func.dfg.ty(value).elem.mask();
    if let Some(bits) = func.dfg.as_splat_bits(value) {
        return bits;
    }
    let (Some(def), Some(depth)) = (func.dfg.def_inst(value), depth.checked_sub(1)) else { return all };
    let data = func.dfg.inst(def);
    let of = |operand: Value| most(func, operand, depth);
    let bits = u64::from(func.dfg.ty(value).elem.bits());
    let constant = |operand: Value| func.dfg.as_splat_bits(operand).filter(|&count| count < bits);
    let most = match (data.op, data.args.as_slice()) {
        (Opcode::Zext | Opcode::Itrunc, &[a]) => of(a),
        // A number that is not negative.
        (Opcode::Sext, &[a]) if of(a) <= func.dfg.ty(a).elem.mask() >> 1 => of(a),
        (Opcode::And | Opcode::Umin, &[a, b]) => of(a).min(of(b)),
        // No bit above the highest of both.
        (Opcode::Or | Opcode::Xor, &[a, b]) => u64::MAX.checked_shr((of(a) | of(b)).leading_zeros()).unwrap_or(0),
        (Opcode::Iadd, &[a, b]) => of(a).saturating_add(of(b)),
        (Opcode::Lshr, &[a, count]) => constant(count).map_or(all, |count| of(a) >> count),
        (Opcode::Shl, &[a, count]) => {
            let shifted = constant(count).map(|count| u128::from(of(a)) << count);
            shifted.and_then(|most| u64::try_from(most).ok()).unwrap_or(all)
        }
        _ => all,
    };
    if most <= all { most } else { all }
}

/// A gather from a table.
struct TableLookup {
    table: ConstData,
    /// The index, before it was extended.
    index: Value,
    /// How it was extended.
    extension: Option<Opcode>,
    /// Elements for each unit of the index.
    scale: u64,
    /// The element at index 0.
    first: u64,
}

impl TableLookup {
    fn of(
        func: &Function,
        globals: &PrimaryMap<Global, GlobalData>,
        caps: &VectorCaps,
        inst: Inst,
    ) -> Option<TableLookup> {
        let data = func.dfg.inst(inst);
        let (Opcode::Gather, Imm::Mem(MemInfo { volatile: false, .. })) = (data.op, &data.imm) else { return None };
        let ty = func.dfg.ty(func.dfg.result(inst));
        let int = ty.elem.as_int();
        let is_number = ty.is_int() || ty.is_float();
        if !is_number || !ty.is_vector() || !(caps.native)(Opcode::Lookup, &Imm::None, int, int) {
            return None;
        }
        let address = func.dfg.inst(func.dfg.def_inst(data.args[0])?);
        let (&Imm::Addr { scale, disp }, &[base, index]) = (&address.imm, address.args.as_slice()) else { return None };
        if func.dfg.ty(base).is_vector() || !func.dfg.ty(index).is_vector() {
            return None;
        }
        let (root, offset) = base_and_offset(func, base)?;
        let Imm::Global(global) = func.dfg.inst(root).imm else { return None };
        let global = &globals[global];
        let bytes = u64::from(ty.elem.bytes());
        let start = offset.wrapping_add_signed(disp);
        // Often the index cannot reach the last elements, as the zero at the end of a string.
        let reached = most(func, index, MAX_DEPTH).saturating_mul(scale / bytes).saturating_add(start / bytes + 1);
        let entries = global.size.div_ceil(bytes).min(reached).next_power_of_two().max(2);
        let held = u64::from((caps.machine().table_bytes() / ty.elem.bytes()).min(Type::MAX_LANES));
        let is_table = global.space == Space::Constant && global.init.addresses.is_empty();
        if !is_table || entries > held || start >= global.size || start % bytes != 0 || scale % bytes != 0 {
            return None;
        }
        let element = |entry: u64| {
            let byte = |at: u64| global.init.bytes.get((entry * bytes + at) as usize).copied().unwrap_or(0);
            (0..bytes).rev().fold(0, |bits, at| bits << 8 | u64::from(byte(at)))
        };
        let elements: Vec<u64> = (0..entries).map(element).collect();
        let table = ConstData::new(Type::vector(ty.elem, entries as u32), &elements);
        let extended = func.dfg.def_inst(index).map(|def| func.dfg.inst(def));
        let extended = extended.filter(|def| matches!(def.op, Opcode::Zext | Opcode::Sext));
        Some(TableLookup {
            table,
            index: extended.map_or(index, |def| def.args[0]),
            extension: extended.map(|def| def.op),
            scale: scale / bytes,
            first: start / bytes,
        })
    }

    fn emit(&self, b: &mut Builder<'_>, inst: Inst) -> Value {
        let ints = self.table.ty.lane().with_elem(self.table.ty.elem.as_int());
        let ty = ints.with_lanes(b.ty(self.index).lanes());
        // Only the lowest bits of the numbers matter, and the number of elements is a power of two: sums may wrap.
        let index = b.ty(self.index);
        let mut number = if index.elem.bits() > ty.elem.bits() {
            b.cast(Opcode::Itrunc, self.index, ty)
        } else if index.elem == ty.elem {
            self.index
        } else {
            b.cast(self.extension.unwrap_or(Opcode::Zext), self.index, ty)
        };
        if self.scale != 1 {
            let scale = b.iconst(ty, self.scale as i64);
            number = b.int2(Opcode::Imul, number, scale);
        }
        if self.first != 0 {
            let first = b.iconst(ty, self.first as i64);
            number = b.int2(Opcode::Iadd, number, first);
        }
        let table = b.constant(self.table.clone());
        let found = b.value(Opcode::Lookup, &[table, number], Imm::None, ty.with_elem(self.table.ty.elem));
        let args = b.func.dfg.inst(inst).args.clone();
        let is_undefined = b.func.dfg.def_inst(args[2]).is_some_and(|def| b.func.dfg.inst(def).op == Opcode::Undef);
        if is_undefined { found } else { b.select(args[1], found, args[2]) }
    }
}
