//! Products of lanes by the widening multiply, which gives the 64-bit products of every other 32-bit lane.

use clift_kir::dfg::ConstData;
use clift_kir::{Block, Elem, Function, Imm, Inst, Opcode, Type, Value};
use regalloc2::VReg;
use rustc_hash::FxHashSet;

use super::vectors::is_high_multiply;
use super::{RegMem, Selector, size};
use crate::codegen::x86::Level;
use crate::codegen::x86::table as t;

/// The factors of a product in a fixed order, and their block.
pub(super) type Factors = (Block, Value, Value);

/// The 64-bit products of the even lanes and of the odd ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Products {
    even: VReg,
    odd: VReg,
}

/// Which half of 64-bit products.
#[derive(Clone, Copy, Debug)]
enum Half {
    Low = 0,
    High = 1,
}

fn factors(block: Block, a: Value, b: Value) -> Factors {
    (block, a.min(b), a.max(b))
}

/// The factors of which blocks compute upper halves of 32-bit products.
pub(super) fn high_multiplies(func: &Function) -> FxHashSet<Factors> {
    let mut found = FxHashSet::default();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            if is_high_multiply(data.op) && func.dfg.ty(data.args[0]).is_vector() {
                found.insert(factors(block, data.args[0], data.args[1]));
            }
        }
    }
    found
}

impl Selector<'_> {
    /// A 64-bit multiplication of extended 32-bit lanes as a widening multiply.
    pub(super) fn widening_multiply(&mut self, ty: Type, a: Value, b: Value) -> Option<VReg> {
        if ty.elem.bits() != 64 {
            return None;
        }
        let extension = |value: Value| {
            let Some(inst) = self.legal.dfg.def_inst(value) else { return [false; 2] };
            let data = self.legal.dfg.inst(inst);
            let bits = |arg: Value| self.legal.dfg.as_splat_bits(arg);
            if let Imm::Const(id) = data.imm {
                let lanes = self.legal.dfg.constant(id).to_lanes();
                let unsigned = lanes.iter().all(|&bits| bits <= u64::from(u32::MAX));
                [unsigned, lanes.iter().all(|&bits| i32::try_from(bits as i64).is_ok())]
            } else if data.op == Opcode::Zext {
                [true, self.legal.dfg.ty(data.args[0]).elem.bits() < 32]
            } else if data.op == Opcode::Sext {
                [false, true]
            } else if data.op == Opcode::Lshr {
                [bits(data.args[1]).is_some_and(|count| count >= 32), false]
            } else if data.op == Opcode::And {
                let is_low = |&arg: &Value| bits(arg).is_some_and(|bits| bits <= u64::from(u32::MAX));
                [data.args.iter().any(is_low), false]
            } else {
                [false; 2]
            }
        };
        let (one, other) = (extension(a), extension(b));
        let row = match (one[0] && other[0], one[1] && other[1]) {
            (true, _) => t::VPMULUDQ,
            (_, true) => t::VPMULDQ,
            _ => return None,
        };
        let a = self.get(a);
        let b = self.operand(b);
        Some(self.v2(row, size(ty), a, b))
    }

    /// The upper halves of products of 32-bit lanes.
    pub(super) fn high_words(&mut self, inst: Inst, ty: Type) -> VReg {
        let data = self.legal.dfg.inst(inst);
        let products = self.products(ty, data.args[0], data.args[1], data.op == Opcode::Smulh);
        self.halves(ty, products, Half::High)
    }

    /// Products of 32-bit lanes whose upper halves the block computes, too.
    pub(super) fn low_words(&mut self, ty: Type, a: Value, b: Value) -> Option<VReg> {
        if ty.elem.bits() != 32 || !self.high_multiplies.contains(&factors(self.block, a, b)) {
            return None;
        }
        let known =
            [false, true].into_iter().find(|&signed| self.products.contains_key(&(factors(self.block, a, b), signed)));
        let products = self.products(ty, a, b, known.unwrap_or(false));
        Some(self.halves(ty, products, Half::Low))
    }

    /// The 64-bit products of 32-bit lanes.
    fn products(&mut self, ty: Type, a: Value, b: Value, signed: bool) -> Products {
        let key = (factors(self.block, a, b), signed);
        if let Some(&known) = self.products.get(&key) {
            return known;
        }
        let row = if signed { t::VPMULDQ } else { t::VPMULUDQ };
        let (a, b) = if self.constant(a).is_some() { (b, a) } else { (a, b) };
        let even_a = self.get(a);
        let odd_a = self.odd_lanes(ty, a, even_a);
        let (even_b, odd_b) = match self.legal.dfg.as_splat_bits(b) {
            Some(bits) => {
                let constant = self.lanes_of(ty.with_elem(Elem::I64), bits);
                (constant, constant)
            }
            None => {
                let even = self.get(b);
                (RegMem::Register(even), RegMem::Register(self.odd_lanes(ty, b, even)))
            }
        };
        let products =
            Products { even: self.v2(row, size(ty), even_a, even_b), odd: self.v2(row, size(ty), odd_a, odd_b) };
        self.products.insert(key, products);
        products
    }

    /// A value's odd lanes in place of the even ones.
    fn odd_lanes(&mut self, ty: Type, value: Value, register: VReg) -> VReg {
        let def = self.legal.dfg.def_inst(value).map(|inst| self.legal.dfg.inst(inst).op);
        match def {
            // All lanes are the same.
            Some(Opcode::Splat) => register,
            _ => self.shifted(t::VPSHIFTQ_IMM, 2, size(ty), register, 32),
        }
    }

    fn halves(&mut self, ty: Type, products: Products, half: Half) -> VReg {
        if self.level == Level::Avx2 {
            return self.product_halves(ty, products.even, products.odd, matches!(half, Half::High));
        }
        let lanes = ty.lanes().max(4);
        let order: Vec<u64> = (0..lanes).map(|lane| u64::from(lane / 2 * 2 + half as u32 + lane % 2 * lanes)).collect();
        let order = self.vector_constant(&ConstData::new(ty.with_lanes(lanes), &order));
        self.v3(t::VPERMI2D, size(ty), order, products.even, RegMem::Register(products.odd))
    }
}
