//! Remainders are computed from the quotients of the same operands, where there are such: divisions take several times as long as
//! a product and a difference. Unsigned numbers are divided by `1 << n` with a shift and a mask.
//!
//! ```text
//! row = udiv i, w            row = udiv i, w
//! col = urem i, w        ->  col = w == 0 ? 0 : i - row * w
//! d = shl 1, n
//! pair = udiv i, d       ->  pair = lshr i, n
//! place = urem i, d          place = and i, d - 1
//! ```
//!
//! This comes late, because other passes know what `i % w` and `i / w` have in common and which bits they have. Divisions by
//! constant powers of two stay: they are shifts. A quotient that is computed later in the same block moves to the remainder; one of
//! another block stays, since it might not be needed at all.

use clift_kir::analysis::{Cfg, DomTree};
use clift_kir::{Block, Builder, Function, Inst, IntCond, Opcode, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Changed;
use super::gvn::scopes::Scopes;
use super::util::Replacements;

/// What is divided: whether as signed numbers, the dividend and the divisor.
type Operands = (bool, Value, Value);

/// A part of the result of a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Quotient,
    Remainder,
}

/// The ops that divide, what they compute, and whether of signed numbers.
const DIVISIONS: [(Opcode, Part, bool); 4] = [
    (Opcode::Udiv, Part::Quotient, false),
    (Opcode::Sdiv, Part::Quotient, true),
    (Opcode::Urem, Part::Remainder, false),
    (Opcode::Srem, Part::Remainder, true),
];

/// Visits the blocks in reverse postorder, so that quotients come before what they dominate.
pub(super) fn run(func: &mut Function) -> Changed {
    let is_candidate = |&inst: &Inst| {
        division(func, inst)
            .is_some_and(|(part, operands)| part == Part::Remainder || exponent(func, operands).is_some())
    };
    if !func.layout.blocks().iter().any(|&block| func.layout.insts(block).iter().any(is_candidate)) {
        return Changed(false);
    }
    let cfg = Cfg::new(func);
    let dom = DomTree::new(&cfg);
    let mut quotients: FxHashMap<Operands, Scopes<Value>> = FxHashMap::default();
    let mut replacements = Replacements::default();
    for &block in cfg.rpo() {
        let own = quotients_of(func, block);
        for inst in func.layout.take_insts(block) {
            func.dfg.map_uses(inst, |value| replacements.get(value));
            if let Some((part, operands)) = division(func, inst) {
                let result = func.dfg.result(inst);
                let known = quotients.get(&operands).and_then(|scopes| scopes.at(dom.span(block))).copied();
                let mut b = Builder::at_end(func, block);
                b.set_loc(b.func.locs[inst]);
                if let Some(exponent) = exponent(b.func, operands) {
                    replacements.set(result, shifted(&mut b, part, operands, exponent));
                    func.layout.append_inst(block, inst);
                    continue;
                }
                match (part, known) {
                    (Part::Quotient, Some(quotient)) => replacements.set(result, quotient),
                    (Part::Quotient, None) => {
                        quotients.entry(operands).or_default().insert(dom.span(block), result);
                    }
                    (Part::Remainder, Some(quotient)) => {
                        replacements.set(result, remainder(&mut b, operands, quotient))
                    }
                    (Part::Remainder, None) if own.contains(&operands) => {
                        let (signed, x, y) = operands;
                        let quotient = b.int2(if signed { Opcode::Sdiv } else { Opcode::Udiv }, x, y);
                        quotients.entry(operands).or_default().insert(dom.span(block), quotient);
                        replacements.set(result, remainder(&mut b, operands, quotient));
                    }
                    (Part::Remainder, None) => {}
                }
            }
            func.layout.append_inst(block, inst);
        }
    }
    replacements.apply(func);
    Changed(replacements.any())
}

/// The operands of the quotients that a block computes.
fn quotients_of(func: &Function, block: Block) -> FxHashSet<Operands> {
    let found = func.layout.insts(block).iter().filter_map(|&inst| division(func, inst));
    found.filter(|&(part, _)| part == Part::Quotient).map(|(_, operands)| operands).collect()
}

/// Which part of which division an instruction computes, if it takes long.
fn division(func: &Function, inst: Inst) -> Option<(Part, Operands)> {
    let data = func.dfg.inst(inst);
    let &(_, part, signed) = DIVISIONS.iter().find(|(op, ..)| *op == data.op)?;
    let (x, y) = (data.args[0], data.args[1]);
    let is_long = func.dfg.as_splat_bits(y).is_none_or(|bits| {
        let above = u64::BITS - func.dfg.ty(y).elem.bits();
        let magnitude = if signed { (((bits << above) as i64) >> above).unsigned_abs() } else { bits };
        magnitude != 0 && !magnitude.is_power_of_two()
    });
    is_long.then_some((part, (signed, x, y)))
}

/// `n`, if unsigned numbers are divided by `1 << n`. That is never 0: counts of shifts are taken modulo the width.
fn exponent(func: &Function, (signed, _, divisor): Operands) -> Option<Value> {
    let defined = |value: Value| func.dfg.def_inst(value).map(|inst| func.dfg.inst(inst));
    let data = defined(divisor)?;
    let data = if data.op == Opcode::Splat { defined(data.args[0])? } else { data };
    let is_power = !signed && data.op == Opcode::Shl && func.dfg.as_splat_bits(data.args[0]) == Some(1);
    is_power.then(|| data.args[1])
}

/// The quotient or remainder of a number and a power of two.
fn shifted(b: &mut Builder<'_>, part: Part, (_, x, divisor): Operands, exponent: Value) -> Value {
    let ty = b.ty(x);
    match part {
        Part::Quotient => {
            let exponent = if b.ty(exponent) == ty { exponent } else { b.splat(exponent, ty.lanes()) };
            b.int2(Opcode::Lshr, x, exponent)
        }
        Part::Remainder => {
            let one = b.iconst(ty, 1);
            let mask = b.int2(Opcode::Isub, divisor, one);
            b.int2(Opcode::And, x, mask)
        }
    }
}

/// The remainder that belongs to a quotient. Both are 0 if the divisor is 0.
fn remainder(b: &mut Builder<'_>, (_, x, y): Operands, quotient: Value) -> Value {
    let ty = b.ty(x);
    let product = b.int2(Opcode::Imul, quotient, y);
    let rest = b.int2(Opcode::Isub, x, product);
    if b.func.dfg.as_const(y).is_some_and(|divisors| !divisors.to_lanes().contains(&0)) {
        return rest;
    }
    let zero = b.iconst(ty, 0);
    let by_zero = b.icmp(IntCond::Eq, y, zero);
    b.select(by_zero, zero, rest)
}
