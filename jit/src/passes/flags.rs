//! Variables that are 0 or 1 and are passed from block to block become Booleans: C's `bool` is a byte, so `found |= x < y` in a
//! loop makes a byte of a Boolean in each iteration, and a Boolean of the byte in the next one. A pack has its Booleans in masks.
//!
//! ```text
//! head(f: i8):  ...                                 head(f: b1):  ...
//!               g = icmp ne f, 0; h = or g, ...                   h = or f, ...
//!               f' = select h, 1, 0; jump head(f')                jump head(h)
//! ```
//!
//! Only parameters that something compares with 0 or 1 are changed; a count of 0 or 1 that is stored stays as it is. The
//! comparisons that this leaves are folded by `simplify`.

use clift_kir::dfg::ConstData;
use clift_kir::{Builder, Function, Imm, IntCond, Opcode, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Changed;
use super::narrow::{edges, replace_param};
use super::simplify::is_flag;
use super::util::Replacements;

/// Makes Booleans of all such parameters.
pub(super) fn run(func: &mut Function) -> Changed {
    let passed = passed(func);
    let compared = compared(func);
    if !compared.iter().any(|value| passed.contains_key(value)) {
        return Changed(false);
    }
    let flags = flags(func, &passed);
    // Those that are compared, and those whose values reach one of these.
    let mut chosen: FxHashSet<Value> = FxHashSet::default();
    let mut work = compared;
    while let Some(value) = work.pop() {
        if flags.contains(&value) && chosen.insert(value) {
            work.extend(passed[&value].iter().map(|&arg| origin(func, arg)));
        }
    }
    if chosen.is_empty() {
        return Changed(false);
    }
    let edges = edges(func);
    let mut replacements = Replacements::default();
    for block in func.layout.blocks().to_vec() {
        for param in func.dfg.params(block).to_vec() {
            if !chosen.contains(&param) {
                continue;
            }
            let ty = func.dfg.ty(param);
            let as_bool = |b: &mut Builder<'_>, arg: Value| {
                let zero = b.constant(ConstData::splat(ty, 0));
                b.icmp(IntCond::Ne, arg, zero)
            };
            let kept = replace_param(func, block, param, Type::B1.with_lanes(ty.lanes()), &edges[block], as_bool);
            let mut b = Builder::before(func, block, 0);
            let [one, zero] = [1, 0].map(|bits| b.constant(ConstData::splat(ty, bits)));
            let value = b.select(kept, one, zero);
            replacements.set(param, value);
        }
    }
    replacements.apply(func);
    Changed(replacements.any())
}

/// By parameter of at most 32 bits: what is passed to it.
fn passed(func: &Function) -> FxHashMap<Value, Vec<Value>> {
    let mut passed: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    for &block in func.layout.blocks() {
        let Some(terminator) = func.layout.terminator(block) else { continue };
        for call in func.dfg.targets(terminator) {
            for (&arg, &param) in call.args.iter().zip(func.dfg.params(call.block)) {
                let elem = func.dfg.ty(param).elem;
                if elem.is_int() && elem.bits() <= 32 {
                    passed.entry(param).or_default().push(arg);
                }
            }
        }
    }
    passed
}

/// The values that are compared with 0 or 1, without their extensions.
fn compared(func: &Function) -> Vec<Value> {
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let compared = insts.filter_map(|&inst| {
        let data = func.dfg.inst(inst);
        let (Imm::IntCond(IntCond::Eq | IntCond::Ne), &[left, right]) = (&data.imm, data.args.as_slice()) else {
            return None;
        };
        func.dfg.as_splat_bits(right).filter(|&bits| bits <= 1).map(|_| origin(func, left))
    });
    compared.collect()
}

/// The parameters that get only 0, 1, flags and one another's values.
fn flags(func: &Function, passed: &FxHashMap<Value, Vec<Value>>) -> FxHashSet<Value> {
    let mut receivers: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    let mut others: Vec<Value> = Vec::new();
    for (&param, args) in passed {
        for &arg in args {
            if passed.contains_key(&arg) {
                receivers.entry(arg).or_default().push(param);
            } else if func.dfg.as_splat_bits(arg).is_none_or(|bits| bits > 1) && !is_flag(func, arg) {
                others.push(param);
            }
        }
    }
    let mut flags: FxHashSet<Value> = passed.keys().copied().collect();
    while let Some(other) = others.pop() {
        if flags.remove(&other) {
            others.extend(receivers.get(&other).into_iter().flatten());
        }
    }
    flags
}

/// What a value is an extension or truncation of.
fn origin(func: &Function, mut value: Value) -> Value {
    while let Some(inst) = func.dfg.def_inst(value)
        && let data = func.dfg.inst(inst)
        && matches!(data.op, Opcode::Zext | Opcode::Itrunc)
    {
        value = data.args[0];
    }
    value
}
