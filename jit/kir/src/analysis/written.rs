//! The pointer arguments through which a kernel writes.
//!
//! Follows the addresses of writes back to the arguments they are computed from: through address arithmetic, casts, choices and
//! loops, but not through memory or integers. So an argument that is not found may be written all the same; one that is
//! found is written wherever the write is reached.

use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::dfg::ValueDef;
use crate::entities::Value;
use crate::function::Function;
use crate::inst::Imm;
use crate::ops::{Effects, Opcode};

/// The offsets in the argument block of the pointers that are written through, in ascending order.
pub fn written_args(func: &Function) -> Vec<u32> {
    let mut incoming: FxHashMap<Value, SmallVec<[Value; 2]>> = FxHashMap::default();
    let mut work = Vec::new();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            let writes = match data.op.info().effects {
                Effects::Write => true,
                // An atomic load orders accesses.
                Effects::ReadWrite => data.op != Opcode::AtomicLoad,
                Effects::Pure | Effects::Read | Effects::Convergent | Effects::Terminator => false,
            };
            // The address written is the first operand of every op that has one.
            work.extend(data.args.first().copied().filter(|_| writes));
            for call in func.dfg.targets(inst) {
                for (&param, &arg) in func.dfg.params(call.block).iter().zip(&call.args) {
                    incoming.entry(param).or_default().push(arg);
                }
            }
        }
    }
    let mut seen: EntitySet<Value> = EntitySet::new();
    let mut found = Vec::new();
    while let Some(value) = work.pop() {
        if !func.dfg.ty(value).is_ptr() || !seen.insert(value) {
            continue;
        }
        match func.dfg.def(value) {
            ValueDef::Param(..) => work.extend(incoming.get(&value).into_iter().flatten()),
            ValueDef::Result(inst, _) => {
                let data = func.dfg.inst(inst);
                if let (Opcode::Arg, &Imm::Offset(offset)) = (data.op, &data.imm) {
                    found.push(offset);
                } else if data.op.info().effects == Effects::Pure {
                    work.extend(&data.args);
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
