//! Selects and lane movements.

use clift_kir::ops::{ConvertOp, FloatOp, IntOp, LaneOp, OpClass};
use clift_kir::{Builder, Imm, InstData, IntCond, Opcode, Type, Value};
use smallvec::SmallVec;

use super::{defined_by, splat, splat_bits};

/// Rules for select and the ops that move lanes.
pub(super) fn rules(b: &mut Builder<'_>, data: &InstData, ty: Type) -> Option<Value> {
    let arg = |i: usize| data.args[i];
    match (data.op, &data.imm) {
        (Opcode::Select, _) => select(b, data, ty),
        (Opcode::Extract, Imm::Lane(lane)) => extract(b, arg(0), u32::from(*lane)),
        (Opcode::Shuffle, Imm::Lanes(lanes)) => shuffle(b, data, lanes, ty),
        (Opcode::Vec, _) => vec(b, data, ty),
        (Opcode::Insert, Imm::Lane(lane)) => insert(b, data, u32::from(*lane), ty),
        (Opcode::ExtractDyn, _) => {
            let lane = splat_bits(b, arg(1))? as u32;
            let lanes = b.ty(arg(0)).lanes();
            let lane = lane % lanes.next_power_of_two();
            (lane < lanes).then(|| b.extract(arg(0), lane))
        }
        (Opcode::InsertDyn, _) => {
            let lane = splat_bits(b, arg(2))?;
            Some(if lane < u64::from(ty.lanes()) { b.insert(arg(0), arg(1), lane as u32) } else { arg(0) })
        }
        (Opcode::Any | Opcode::All, _) if !b.ty(arg(0)).is_vector() => Some(arg(0)),
        (Opcode::Addr, Imm::Addr { disp: 0, .. }) if data.args.len() == 1 => Some(arg(0)),
        _ => None,
    }
}

fn select(b: &mut Builder<'_>, data: &InstData, ty: Type) -> Option<Value> {
    let (cond, then, otherwise) = (data.args[0], data.args[1], data.args[2]);
    if then == otherwise {
        return Some(then);
    }
    match splat_bits(b, cond) {
        Some(0) => return Some(otherwise),
        Some(_) => return Some(then),
        None => (),
    }
    // An unspecified value may be any.
    if defined_by(b, otherwise, Opcode::Undef).is_some() {
        return Some(then);
    }
    if defined_by(b, then, Opcode::Undef).is_some() {
        return Some(otherwise);
    }
    if let Some(not) = defined_by(b, cond, Opcode::Not).map(|d| d.args[0]) {
        return Some(b.select(not, otherwise, then));
    }
    // A select between true and false is its condition.
    if ty.is_bool() && b.ty(cond) == ty {
        return match (splat_bits(b, then), splat_bits(b, otherwise)) {
            (Some(1), Some(0)) => Some(cond),
            (Some(0), Some(1)) => Some(b.int1(Opcode::Not, cond)),
            (Some(1), None) => Some(b.int2(Opcode::Or, cond, otherwise)),
            (None, Some(0)) => Some(b.int2(Opcode::And, cond, then)),
            _ => None,
        };
    }
    minimum(b, cond, then, otherwise, ty)
}

/// The minimum or maximum of two integers, as the operands of a comparison that chooses between them.
fn minimum(b: &mut Builder<'_>, cond: Value, then: Value, otherwise: Value, ty: Type) -> Option<Value> {
    let test = defined_by(b, cond, Opcode::Icmp).filter(|_| ty.is_int() && !ty.is_bool())?;
    let Imm::IntCond(cond) = test.imm else { return None };
    let cond = match *test.args.as_slice() {
        [x, y] if (x, y) == (then, otherwise) => cond,
        [x, y] if (y, x) == (then, otherwise) => cond.swapped(),
        _ => return None,
    };
    let op = match cond {
        IntCond::Slt | IntCond::Sle => Opcode::Smin,
        IntCond::Sgt | IntCond::Sge => Opcode::Smax,
        IntCond::Ult | IntCond::Ule => Opcode::Umin,
        IntCond::Ugt | IntCond::Uge => Opcode::Umax,
        IntCond::Eq | IntCond::Ne => return None,
    };
    Some(b.int2(op, then, otherwise))
}

fn extract(b: &mut Builder<'_>, vector: Value, lane: u32) -> Option<Value> {
    let def = b.func.dfg.inst(b.func.dfg.def_inst(vector)?).clone();
    match (def.op, &def.imm) {
        (Opcode::Vec, _) => Some(def.args[lane as usize]),
        (Opcode::Splat, _) => Some(def.args[0]),
        (Opcode::Insert, Imm::Lane(at)) if u32::from(*at) == lane => Some(def.args[1]),
        (Opcode::Insert, Imm::Lane(_)) => Some(b.extract(def.args[0], lane)),
        (Opcode::Shuffle, Imm::Lanes(lanes)) => {
            let from = u32::from(lanes[lane as usize]);
            let first = b.ty(def.args[0]).lanes();
            Some(if from < first { b.extract(def.args[0], from) } else { b.extract(def.args[1], from - first) })
        }
        _ => computed_element(b, vector, lane, MAX_STEPS),
    }
}

/// The most operations on vectors through which an element is computed.
const MAX_STEPS: u32 = 4;

/// An element of the result of cheap operations on vectors that are made of scalars: the same operations on these. Positions are
/// written as vectors, and what one element has in common with neighbouring work-items, the others need not have.
fn computed_element(b: &mut Builder<'_>, vector: Value, lane: u32, steps: u32) -> Option<Value> {
    has_element(b, vector, steps).then(|| element(b, vector, lane))
}

/// Whether [`element`] finds elements without taking a vector apart.
fn has_element(b: &Builder<'_>, value: Value, steps: u32) -> bool {
    let Some(def) = b.func.dfg.def_inst(value) else { return !b.ty(value).is_vector() };
    let def = b.func.dfg.inst(def);
    !b.ty(value).is_vector()
        || matches!(def.op, Opcode::Vec | Opcode::Splat | Opcode::Const)
        || steps > 0 && is_cheap_by_lanes(def.op) && def.args.iter().all(|&arg| has_element(b, arg, steps - 1))
}

/// An element of a vector that has one.
fn element(b: &mut Builder<'_>, value: Value, lane: u32) -> Value {
    let ty = b.ty(value);
    let Some(def) = b.func.dfg.def_inst(value).filter(|_| ty.is_vector()) else { return value };
    let data = b.func.dfg.inst(def).clone();
    if data.op == Opcode::Vec {
        return data.args[lane as usize];
    }
    if data.op == Opcode::Splat {
        return data.args[0];
    }
    if data.op == Opcode::Const {
        return match b.func.dfg.as_const(value).map(|constant| constant.lane(lane)) {
            Some(bits) => splat(b, ty.lane(), bits),
            None => b.extract(value, lane),
        };
    }
    let args: Vec<Value> = data.args.iter().map(|&arg| element(b, arg, lane)).collect();
    b.value(data.op, &args, data.imm, ty.lane())
}

/// Whether an op computes each lane of its result from that lane of its operands, in about the time of a move.
fn is_cheap_by_lanes(op: Opcode) -> bool {
    match op.info().class {
        OpClass::Int(op) => !matches!(op, IntOp::Udiv | IntOp::Sdiv | IntOp::Urem | IntOp::Srem),
        OpClass::Float(op) => matches!(op, FloatOp::Fadd | FloatOp::Fsub | FloatOp::Fmul),
        OpClass::Convert(op) => !matches!(op, ConvertOp::Bitcast),
        OpClass::Lane(op) => op == LaneOp::Select,
        OpClass::Leaf(_)
        | OpClass::Address(_)
        | OpClass::Memory(_)
        | OpClass::Image(_)
        | OpClass::Query(_)
        | OpClass::Sync(_)
        | OpClass::Collective(_)
        | OpClass::Call(_)
        | OpClass::Terminator(_) => false,
    }
}

fn shuffle(b: &mut Builder<'_>, data: &InstData, lanes: &[u8], ty: Type) -> Option<Value> {
    let (x, y) = (data.args[0], data.args[1]);
    let from = b.ty(x);
    if from == ty && lanes.iter().enumerate().all(|(i, &l)| usize::from(l) == i) {
        return Some(x);
    }
    if from == ty && lanes.iter().enumerate().all(|(i, &l)| usize::from(l) == i + from.lanes() as usize) {
        return Some(y);
    }
    if let [lane] = *lanes {
        let lane = u32::from(lane);
        return Some(if lane < from.lanes() { b.extract(x, lane) } else { b.extract(y, lane - from.lanes()) });
    }
    // If both operands are the same, only lanes of the first one are used.
    if x == y && lanes.iter().any(|&l| u32::from(l) >= from.lanes()) {
        let lanes: Vec<u8> = lanes.iter().map(|&l| (u32::from(l) % from.lanes()) as u8).collect();
        return Some(b.shuffle(x, x, &lanes));
    }
    // If only the first operand is used, it is repeated as the second, so that equal shuffles compare equal.
    if x != y && lanes.iter().all(|&l| u32::from(l) < from.lanes()) {
        return Some(b.shuffle(x, x, lanes));
    }
    // A shuffle of another shuffle.
    if x == y
        && let Some(inner) = defined_by(b, x, Opcode::Shuffle).cloned()
    {
        let Imm::Lanes(inner_lanes) = &inner.imm else { return None };
        let lanes: Vec<u8> = lanes.iter().map(|&l| inner_lanes[usize::from(l)]).collect();
        return Some(b.shuffle(inner.args[0], inner.args[1], &lanes));
    }
    None
}

/// A vector of all lanes of one vector in order is that vector; a vector of one scalar is a splat.
fn vec(b: &mut Builder<'_>, data: &InstData, ty: Type) -> Option<Value> {
    let first = data.args[0];
    if data.args.iter().all(|&v| v == first) {
        return Some(b.splat(first, ty.lanes()));
    }
    let mut source = None;
    let mut lanes = Vec::with_capacity(data.args.len());
    for &element in &data.args {
        let def = defined_by(b, element, Opcode::Extract)?;
        let Imm::Lane(lane) = def.imm else { return None };
        if *source.get_or_insert(def.args[0]) != def.args[0] {
            return None;
        }
        lanes.push(lane);
    }
    let source = source?;
    Some(b.shuffle(source, source, &lanes))
}

/// Insertions into all lanes, one after the other, make a vector of scalars; what later ones overwrite is not needed.
fn insert(b: &mut Builder<'_>, data: &InstData, lane: u32, ty: Type) -> Option<Value> {
    let lanes = ty.lanes() as usize;
    let mut parts: SmallVec<[Option<Value>; 16]> = SmallVec::from_elem(None, lanes);
    parts[lane as usize] = Some(data.args[1]);
    let mut base = data.args[0];
    // Chains end soon: each insertion is visited from each one after it.
    for _ in 0..2 * lanes {
        let def = b.func.dfg.inst(b.func.dfg.def_inst(base)?);
        match (def.op, &def.imm) {
            (Opcode::Insert, Imm::Lane(at)) => {
                parts[usize::from(*at)].get_or_insert(def.args[1]);
                base = def.args[0];
            }
            (Opcode::Vec, _) => parts.iter_mut().zip(&def.args).for_each(|(part, &arg)| {
                part.get_or_insert(arg);
            }),
            _ => return None,
        }
        if let Some(parts) = parts.iter().copied().collect::<Option<Vec<Value>>>() {
            return Some(b.value(Opcode::Vec, &parts, Imm::None, ty));
        }
    }
    None
}
