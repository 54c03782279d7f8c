//! Ops whose result depends only on their operands: their semantics from the op table, applied to registers.

use smallvec::SmallVec;

use super::step::Frame;
use crate::entities::Inst;
use crate::eval::{LaneCx, WholeCx};
use crate::inst::InstData;
use crate::ops::{LaneMeaning, WholeMeaning};
use crate::types::Elem;

/// Element type of the first operand, or of the result if there is no operand.
fn source(frame: &Frame<'_>, inst: Inst, data: &InstData) -> Elem {
    frame.ty(data.args.first().copied().unwrap_or_else(|| frame.func.dfg.result(inst))).elem
}

/// A lane-wise op.
pub(super) fn lane_wise(frame: &mut Frame<'_>, inst: Inst, data: &InstData, meaning: LaneMeaning) {
    let result = frame.func.dfg.result(inst);
    let ty = frame.ty(result);
    let cx = LaneCx { imm: &data.imm, src: source(frame, inst, data), dst: ty.elem };
    let mut from = [0usize; 3];
    for (place, &arg) in from.iter_mut().zip(&data.args) {
        *place = frame.at(arg);
    }
    let count = data.args.len().min(3);
    let to = frame.at(result);
    for lane in 0..ty.lanes() as usize {
        let args = from.map(|at| frame.registers[at + lane]);
        frame.registers[to + lane] = meaning(&cx, &args[..count]);
    }
}

/// An op on all lanes of its operands.
pub(super) fn whole(frame: &mut Frame<'_>, inst: Inst, data: &InstData, meaning: WholeMeaning) {
    let result = frame.func.dfg.result(inst);
    let cx = WholeCx { imm: &data.imm, src: source(frame, inst, data), dst: frame.ty(result) };
    let args: SmallVec<[&[u64]; 4]> = data.args.iter().map(|&arg| frame.lanes(arg)).collect();
    let lanes = meaning(&cx, &args);
    drop(args);
    frame.set(result, &lanes);
}
