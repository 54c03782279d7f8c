//! Constant folding by the ops' meanings.

use clift_kir::dfg::ConstData;
use clift_kir::eval::LaneCx;
use clift_kir::ops::Meaning;
use clift_kir::{Builder, Imm, InstData, Opcode, Type, Value};

/// The constant an instruction computes when its operands are constants.
pub(super) fn fold(b: &mut Builder<'_>, data: &InstData, ty: Type) -> Option<Value> {
    if data.args.is_empty() {
        return None;
    }
    let dfg = &b.func.dfg;
    let args: Vec<ConstData> = data.args.iter().map(|&v| dfg.as_const(v).cloned()).collect::<Option<_>>()?;
    let lanes = match data.op.info().meaning {
        Meaning::Lanes(meaning) => {
            let cx = LaneCx { imm: &data.imm, src: args[0].ty.elem, dst: ty.elem };
            let mut operands = [0; 3];
            (0..ty.lanes())
                .map(|lane| {
                    for (operand, arg) in operands.iter_mut().zip(&args) {
                        *operand = arg.lane(lane);
                    }
                    meaning(&cx, &operands[..args.len()])
                })
                .collect()
        }
        Meaning::Special => special(data, &args, ty)?,
    };
    Some(b.constant(ConstData::new(ty, &lanes)))
}

/// Ops that are no lane-by-lane functions but fold all the same. `None` for all that depend on more than their operands.
fn special(data: &InstData, args: &[ConstData], ty: Type) -> Option<Vec<u64>> {
    let lanes = 0..ty.lanes();
    match (data.op, &data.imm) {
        (Opcode::Select, _) => {
            let cond = |lane| if args[0].ty.is_vector() { args[0].lane(lane) } else { args[0].lane(0) };
            Some(lanes.map(|l| if cond(l) & 1 == 1 { args[1].lane(l) } else { args[2].lane(l) }).collect())
        }
        (Opcode::Splat, _) => Some(lanes.map(|_| args[0].lane(0)).collect()),
        (Opcode::Extract, Imm::Lane(lane)) => Some(vec![args[0].lane((*lane).into())]),
        (Opcode::Insert, Imm::Lane(lane)) => {
            Some(lanes.map(|l| if l == u32::from(*lane) { args[1].lane(0) } else { args[0].lane(l) }).collect())
        }
        (Opcode::Shuffle, Imm::Lanes(from)) => {
            let first = args[0].ty.lanes();
            let pick = |l: u32| if l < first { args[0].lane(l) } else { args[1].lane(l - first) };
            Some(from.iter().map(|&l| pick(l.into())).collect())
        }
        (Opcode::Vec, _) => Some(args.iter().map(|a| a.lane(0)).collect()),
        (Opcode::Any, _) => Some(vec![u64::from(args[0].to_lanes().contains(&1))]),
        (Opcode::All, _) => Some(vec![u64::from(!args[0].to_lanes().contains(&0))]),
        (Opcode::Reduce, Imm::Reduce(op)) => {
            let lanes = args[0].to_lanes();
            lanes.into_iter().reduce(|sum, lane| clift_kir::eval::combine(*op, ty.elem, sum, lane)).map(|sum| vec![sum])
        }
        (Opcode::Bitcast, _) => Some(bitcast(&args[0], ty)),
        (Opcode::Addr, Imm::Addr { scale, disp }) if !ty.is_vector() => {
            let index = args.get(1).map_or(0, |i| i.lane(0));
            Some(vec![args[0].lane(0).wrapping_add(index.wrapping_mul(*scale)).wrapping_add_signed(*disp)])
        }
        _ => None,
    }
}

/// The same bits in lanes of another width; lane 0 is the lowest.
fn bitcast(from: &ConstData, ty: Type) -> Vec<u64> {
    let bytes: Vec<u8> =
        from.to_lanes().iter().flat_map(|lane| lane.to_le_bytes()[..from.ty.elem.bytes() as usize].to_vec()).collect();
    bytes
        .chunks(ty.elem.bytes() as usize)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        })
        .collect()
}
