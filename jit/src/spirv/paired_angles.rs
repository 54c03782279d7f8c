//! Which sines and cosines a function computes of the same angle. These share a reduction and two short polynomials, where either
//! by itself is faster with a longer one: rotations, complex exponentials, Fourier transforms.
//!
//! Angles are compared by how they are computed. Loads from the same address count as the same: a store between them would make
//! the functions slower, not wrong.

use std::hash::{Hash, Hasher};

use rspirv::dr::Operand;
use rspirv::spirv::Op;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::caps::ExtSet;
use super::module::{FunctionDef, Module};
use super::words::{Inst, InstError};
use crate::builtins::ClOp;

/// How many definitions deep angles are compared.
const MAX_DEPTH: u32 = 12;

/// The ids of the sines and cosines of a function of which the other one has the same angle.
pub(super) fn find(module: &Module, function: &FunctionDef) -> FxHashSet<u32> {
    let mut angles = Angles { module, known: FxHashMap::default() };
    let mut found: FxHashMap<(Precision, u64), [Vec<u32>; 2]> = FxHashMap::default();
    for inst in function.blocks.iter().flat_map(|block| &module.insts[block.insts.clone()]) {
        if let Ok(Some((precision, which, angle, result))) = sine_or_cosine(module, inst) {
            found.entry((precision, angles.key(angle, MAX_DEPTH))).or_default()[which].push(result);
        }
    }
    let pairs = found.into_values().filter(|ids| ids.iter().all(|ids| !ids.is_empty()));
    pairs.flatten().flatten().collect()
}

/// Which variant of the two functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Precision {
    Full,
    Half,
    Native,
}

/// Which variant of which of the two functions an instruction computes, of which angle, and its result.
fn sine_or_cosine(module: &Module, inst: &Inst) -> Result<Option<(Precision, usize, u32, u32)>, InstError> {
    if inst.op() != Op::ExtInst || !matches!(module.ext_sets.get(&inst.id(0)?), Some(ExtSet::OpenCl)) {
        return Ok(None);
    }
    let (precision, which) = match ClOp::from_u32(inst.literal(1)?) {
        Some(ClOp::sin) => (Precision::Full, 0),
        Some(ClOp::cos) => (Precision::Full, 1),
        Some(ClOp::half_sin) => (Precision::Half, 0),
        Some(ClOp::half_cos) => (Precision::Half, 1),
        Some(ClOp::native_sin) => (Precision::Native, 0),
        Some(ClOp::native_cos) => (Precision::Native, 1),
        Some(_) | None => return Ok(None),
    };
    Ok(Some((precision, which, inst.id(2)?, inst.result()?)))
}

/// What identifies values by how they are computed.
struct Angles<'a> {
    module: &'a Module,
    known: FxHashMap<u32, u64>,
}

impl Angles<'_> {
    fn key(&mut self, id: u32, depth: u32) -> u64 {
        if let Some(&key) = self.known.get(&id) {
            return key;
        }
        let mut hasher = FxHasher::default();
        match self.module.def(id) {
            Some(inst) if depth > 0 && is_repeatable(inst.op()) => {
                inst.op().hash(&mut hasher);
                for operand in &inst.dr.operands {
                    if let &Operand::IdRef(id) = operand {
                        self.key(id, depth - 1).hash(&mut hasher);
                    } else {
                        format!("{operand:?}").hash(&mut hasher);
                    }
                }
            }
            Some(_) | None => id.hash(&mut hasher),
        }
        let key = hasher.finish();
        self.known.insert(id, key);
        key
    }
}

/// Whether an instruction gives the same for the same operands, or loads.
fn is_repeatable(op: Op) -> bool {
    matches!(
        op,
        Op::Load
            | Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::PtrAccessChain
            | Op::InBoundsPtrAccessChain
            | Op::Bitcast
            | Op::FAdd
            | Op::FSub
            | Op::FMul
            | Op::FDiv
            | Op::FNegate
            | Op::IAdd
            | Op::ISub
            | Op::IMul
            | Op::SConvert
            | Op::UConvert
            | Op::FConvert
            | Op::ConvertSToF
            | Op::ConvertUToF
            | Op::CompositeExtract
            | Op::VectorTimesScalar
    )
}
