//! Constant folding, by the meaning of the ops.

use clift_kir::dfg::ConstData;
use clift_kir::eval::{LaneCx, WholeCx};
use clift_kir::ops::Meaning;
use clift_kir::{Builder, InstData, Type, Value};

/// The constant that an instruction computes if its operands are constants.
pub(super) fn fold(b: &mut Builder<'_>, data: &InstData, ty: Type) -> Option<Value> {
    let dfg = &b.func.dfg;
    let args: Vec<&ConstData> = data.args.iter().map(|&v| dfg.as_const(v)).collect::<Option<_>>()?;
    let folded = evaluate(data, ty, &args)?;
    Some(b.constant(folded))
}

/// What an instruction with a result of type `ty` computes from constants; `None` if that depends on more than its operands.
pub(in crate::passes) fn evaluate(data: &InstData, ty: Type, args: &[&ConstData]) -> Option<ConstData> {
    let src = args.first()?.ty.elem;
    let lanes: Vec<u64> = match data.op.info().meaning {
        Meaning::Lanes(meaning) => {
            let cx = LaneCx { imm: &data.imm, src, dst: ty.elem };
            let mut operands = [0; 3];
            (0..ty.lanes())
                .map(|lane| {
                    for (operand, arg) in operands.iter_mut().zip(args) {
                        *operand = arg.lane(lane);
                    }
                    meaning(&cx, &operands[..args.len()])
                })
                .collect()
        }
        Meaning::Whole(meaning) => {
            let cx = WholeCx { imm: &data.imm, src, dst: ty };
            let lanes: Vec<Vec<u64>> = args.iter().map(|arg| arg.to_lanes()).collect();
            let operands: Vec<&[u64]> = lanes.iter().map(Vec::as_slice).collect();
            meaning(&cx, &operands).to_vec()
        }
        // The results of these depend on more than their operands.
        Meaning::Query | Meaning::Memory | Meaning::Control => return None,
    };
    Some(ConstData::new(ty, &lanes))
}
