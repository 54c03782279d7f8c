//! Ops that are not lane-wise but depend only on their operands: selection, rearrangement, reduction, addresses. Operands are
//! all lanes of each value; the result has as many as its type.

use smallvec::smallvec;

use super::{LaneVec, WholeCx, combine, from_bytes, to_bytes};
use crate::inst::Imm;

/// The lane of a value that has one lane for all, or one for each.
fn lane_or_only(lanes: &[u64], lane: usize) -> u64 {
    lanes[if lanes.len() == 1 { 0 } else { lane }]
}

/// Numbers of the result's lanes.
fn numbers(cx: &WholeCx<'_>) -> std::ops::Range<usize> {
    0..cx.dst.lanes() as usize
}

/// The lane number that an immediate is.
fn lane_number(cx: &WholeCx<'_>) -> usize {
    let Imm::Lane(lane) = cx.imm else { unreachable!("broken invariant: a lane number {:?}", cx.imm) };
    usize::from(*lane)
}

/// Meaning of `bitcast`.
pub fn bitcast(cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    from_bytes(cx.dst.elem, &to_bytes(cx.src, args[0]))
}

/// Meaning of `select`.
pub fn select(cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    let pick = |lane| args[if lane_or_only(args[0], lane) & 1 == 1 { 1 } else { 2 }][lane];
    numbers(cx).map(pick).collect()
}

/// Meaning of `splat`.
pub fn splat(cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    numbers(cx).map(|_| args[0][0]).collect()
}

/// Meaning of `extract`.
pub fn extract(cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    smallvec![args[0][lane_number(cx)]]
}

/// Meaning of `insert`.
pub fn insert(cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    let mut lanes = LaneVec::from_slice(args[0]);
    lanes[lane_number(cx)] = args[1][0];
    lanes
}

/// Meaning of `extract_dyn`. The fourth lane of three is given as zero.
pub fn extract_dyn(_cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    let number = args[1][0] as usize % args[0].len().next_power_of_two();
    smallvec![args[0].get(number).copied().unwrap_or(0)]
}

/// Meaning of `insert_dyn`.
pub fn insert_dyn(_cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    let mut lanes = LaneVec::from_slice(args[0]);
    if let Some(lane) = lanes.get_mut(args[2][0] as usize) {
        *lane = args[1][0];
    }
    lanes
}

/// Meaning of `lookup`.
pub fn lookup(_cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    args[1].iter().map(|&number| args[0][number as usize % args[0].len()]).collect()
}

/// Meaning of `shuffle`.
pub fn shuffle(cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    let Imm::Lanes(numbers) = cx.imm else { unreachable!("broken invariant: shuffle with {:?}", cx.imm) };
    let first = args[0].len();
    let pick = |n: usize| if n < first { args[0][n] } else { args[1][n - first] };
    numbers.iter().map(|&n| pick(usize::from(n))).collect()
}

/// Meaning of `vec`.
pub fn vec(_cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    args.iter().map(|lanes| lanes[0]).collect()
}

/// Meaning of `pack_any`.
pub fn same(_cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    args[0].into()
}

/// Meaning of `any`.
pub fn any(_cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    smallvec![u64::from(args[0].iter().any(|lane| lane & 1 == 1))]
}

/// Meaning of `all`.
pub fn all(_cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    smallvec![u64::from(args[0].iter().all(|lane| lane & 1 == 1))]
}

/// Meaning of `mask_bits`.
pub fn mask_bits(_cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    smallvec![args[0].iter().rev().fold(0, |bits, lane| bits << 1 | lane & 1)]
}

/// Meaning of `reduce`.
pub fn reduce(cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    let Imm::Reduce(operation) = *cx.imm else { unreachable!("broken invariant: reduce with {:?}", cx.imm) };
    let result = args[0].iter().copied().reduce(|a, b| combine(operation, cx.dst.elem, a, b));
    result.into_iter().collect()
}

/// Meaning of `addr`.
pub fn addr(cx: &WholeCx<'_>, args: &[&[u64]]) -> LaneVec {
    let Imm::Addr { scale, disp } = *cx.imm else { unreachable!("broken invariant: addr with {:?}", cx.imm) };
    let address = |lane| {
        let offset = args.get(1).map_or(0, |index| lane_or_only(index, lane).wrapping_mul(scale));
        lane_or_only(args[0], lane).wrapping_add(offset).wrapping_add_signed(disp)
    };
    numbers(cx).map(address).collect()
}
