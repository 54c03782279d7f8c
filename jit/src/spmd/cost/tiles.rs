//! Kernels whose work-groups should be tiles: some accesses are contiguous along y only.
//!
//! In a transpose, `b[x * n + y] = a[y * n + x]`, the lanes of a pack access one matrix as a row and the other as a column, each
//! element in a cache line of its own. The packs that follow along y access the same lines. In work-groups that are long along x,
//! the lines have left the cache by then; in a tile, they have not.
//!
//! Deliberately not here: the size of tiles, which the runtime chooses, and kernels that gain from transposed launches, whose
//! packs are columns.

use clift_include::exchange::Exchange;
use clift_kir::analysis::Cfg;
use clift_kir::{Function, Inst, Opcode, Space, Value};

use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::{Assumptions, Scope, Shape};
use crate::spmd::transform::transposed_items;

/// Bytes of a cache line.
const LINE: u64 = 64;
/// Lanes of the packs whose addresses are analysed. The strides are those of all packs.
const LANES: u32 = 16;

/// Whether a kernel accesses memory contiguously along y, and not along x.
pub(crate) fn gains(func: &Function) -> bool {
    let Some(transposed) = transposed_items::run(func, Exchange::Y) else { return false };
    let shapes = |func: &Function| {
        let cfg = Cfg::new(func);
        Divergence::new(func, &cfg, Scope::Pack, &Assumptions::lanes(LANES))
    };
    let (along_x, along_y) = (shapes(func), shapes(&transposed));
    let mut insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.any(|&inst| {
        buffer_address(func, inst).is_some_and(|pointer| {
            neighbourhood(&along_y, pointer) == Neighbourhood::Near
                && neighbourhood(&along_x, pointer) == Neighbourhood::Far
        })
    })
}

/// The address of a plain access to a buffer.
fn buffer_address(func: &Function, inst: Inst) -> Option<Value> {
    let data = func.dfg.inst(inst);
    let pointer = if let Opcode::Load | Opcode::Store = data.op {
        data.args[0]
    } else {
        return None;
    };
    matches!(func.dfg.ty(pointer).elem.space(), Some(Space::Global | Space::Constant)).then_some(pointer)
}

/// Where neighbouring work-items access memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Neighbourhood {
    /// At the same address.
    Same,
    /// In the same cache line, mostly.
    Near,
    /// In lines of their own.
    Far,
}

fn neighbourhood(divergence: &Divergence, pointer: Value) -> Neighbourhood {
    let stride = match divergence.shape(pointer) {
        Shape::Uniform(_) => return Neighbourhood::Same,
        Shape::Affine { stride, .. } => Some(stride),
        Shape::Varying => divergence.conditional(pointer).map(|conditional| conditional.stride),
    };
    if stride.is_some_and(|stride| stride.unsigned_abs() < LINE) { Neighbourhood::Near } else { Neighbourhood::Far }
}
