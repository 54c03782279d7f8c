//! Ops on lanes that are not lane by lane: constants, selection, rearrangement, reduction, addresses.

use smallvec::SmallVec;

use super::step::{Frame, LaneVec};
use crate::entities::Inst;
use crate::eval::combine;
use crate::inst::{Imm, InstData};
use crate::ops::Opcode;
use crate::types::Elem;

pub(super) fn execute(frame: &mut Frame<'_>, inst: Inst, data: &InstData) {
    let result = frame.func.dfg.result(inst);
    let ty = frame.ty(result);
    let count = ty.lanes() as usize;
    let args = &data.args;
    let lanes: LaneVec = match (data.op, &data.imm) {
        (Opcode::Const, Imm::Const(id)) => {
            let constant = frame.func.dfg.constant(*id);
            (0..ty.lanes()).map(|lane| constant.lane(lane)).collect()
        }
        // Unspecified; zero is as good as any, and the same at every use.
        (Opcode::Undef, _) => SmallVec::from_elem(0, count),
        (Opcode::Bitcast, _) => {
            let from = frame.ty(args[0]).elem;
            from_bytes(ty.elem, &to_bytes(from, frame.lanes(args[0])))
        }
        (Opcode::Select, _) => {
            let (cond, a, b) = (frame.lanes(args[0]), frame.lanes(args[1]), frame.lanes(args[2]));
            let holds = |lane: usize| cond[if cond.len() == 1 { 0 } else { lane }] & 1 == 1;
            (0..count).map(|lane| if holds(lane) { a[lane] } else { b[lane] }).collect()
        }
        (Opcode::Splat, _) => SmallVec::from_elem(frame.scalar(args[0]), count),
        (Opcode::Extract, Imm::Lane(lane)) => SmallVec::from_slice(&[frame.lanes(args[0])[usize::from(*lane)]]),
        (Opcode::Insert, Imm::Lane(lane)) => {
            let mut lanes = frame.lanes_vec(args[0]);
            lanes[usize::from(*lane)] = frame.scalar(args[1]);
            lanes
        }
        (Opcode::ExtractDyn, _) => {
            let lanes = frame.lanes(args[0]);
            let number = frame.scalar(args[1]) as usize % lanes.len().next_power_of_two();
            SmallVec::from_slice(&[lanes.get(number).copied().unwrap_or(0)])
        }
        (Opcode::InsertDyn, _) => {
            let mut lanes = frame.lanes_vec(args[0]);
            if let Some(lane) = lanes.get_mut(frame.scalar(args[2]) as usize) {
                *lane = frame.scalar(args[1]);
            }
            lanes
        }
        (Opcode::Shuffle, Imm::Lanes(numbers)) => {
            let (a, b) = (frame.lanes(args[0]), frame.lanes(args[1]));
            let pick = |&n: &u8| a.iter().chain(b).nth(usize::from(n)).copied().unwrap_or(0);
            numbers.iter().map(pick).collect()
        }
        (Opcode::Vec, _) => args.iter().map(|&arg| frame.scalar(arg)).collect(),
        (Opcode::Any, _) => one(frame.lanes(args[0]).iter().any(|lane| lane & 1 == 1)),
        (Opcode::All, _) => one(frame.lanes(args[0]).iter().all(|lane| lane & 1 == 1)),
        (Opcode::Reduce, Imm::Reduce(operation)) => {
            let (first, rest) = frame.lanes(args[0]).split_first().unwrap_or((&0, &[]));
            let fold = rest.iter().fold(*first, |a, &b| combine(*operation, ty.elem, a, b));
            SmallVec::from_slice(&[fold])
        }
        (Opcode::Addr, Imm::Addr { scale, disp }) => {
            let base = frame.lanes(args[0]);
            let index = args.get(1).map(|&v| frame.lanes(v));
            let pick = |lanes: &[u64], lane: usize| lanes[if lanes.len() == 1 { 0 } else { lane }];
            let address = |lane: usize| {
                let offset = index.map_or(0, |index| pick(index, lane).wrapping_mul(*scale));
                pick(base, lane).wrapping_add(offset).wrapping_add_signed(*disp)
            };
            (0..count).map(address).collect()
        }
        (op, imm) => unreachable!("broken invariant: {op:?} with {imm:?} among lane ops"),
    };
    frame.set(result, &lanes);
}

fn one(truth: bool) -> LaneVec {
    SmallVec::from_slice(&[u64::from(truth)])
}

/// Lanes as they lie in memory.
pub(super) fn to_bytes(elem: Elem, lanes: &[u64]) -> SmallVec<[u8; 64]> {
    let size = elem.bytes() as usize;
    lanes.iter().flat_map(|lane| lane.to_le_bytes().into_iter().take(size)).collect()
}

/// Memory as lanes.
pub(super) fn from_bytes(elem: Elem, bytes: &[u8]) -> LaneVec {
    let lane = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    bytes.chunks_exact(elem.bytes() as usize).map(lane).collect()
}
