//! Alias classes: accesses through different pointer arguments of [`Function::noalias_args`] do not overlap.
//!
//! Each of these arguments has a class of its own. The class follows the pointer through address arithmetic, casts, selections
//! and loops to loads and stores. Pointers that come from memory have none, so that this pass follows the promotion of
//! variables. Passes keep the classes of accesses: of two accesses that become one, both have the class.

use cranelift_entity::SecondaryMap;

use clift_kir::{Function, Imm, Opcode, Value};

use super::Changed;

/// Maximum number of iterations over a function; without a fixed point by then nothing gets a class. Real code needs as many
/// iterations as its loops are nested.
const MAX_ROUNDS: u32 = 32;

/// What a pointer is derived from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PointerOrigin {
    /// Not visited yet.
    #[default]
    Unseen,
    /// Only the argument of this class.
    Class(u32),
    /// Anything.
    Any,
}

impl PointerOrigin {
    fn join(self, other: PointerOrigin) -> PointerOrigin {
        match (self, other) {
            (PointerOrigin::Unseen, origin) | (origin, PointerOrigin::Unseen) => origin,
            (PointerOrigin::Class(a), PointerOrigin::Class(b)) if a == b => self,
            (PointerOrigin::Class(_) | PointerOrigin::Any, PointerOrigin::Class(_) | PointerOrigin::Any) => {
                PointerOrigin::Any
            }
        }
    }
}

/// Sets the classes of loads and stores.
pub(super) fn run(func: &mut Function) -> Changed {
    let Some(origins) = origins(func) else { return Changed(false) };
    let mut changed = false;
    for block in func.layout.blocks().to_vec() {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst_mut(inst);
            let (Opcode::Load | Opcode::Store, Some(&pointer)) = (data.op, data.args.first()) else { continue };
            if let (Imm::Mem(mem), PointerOrigin::Class(class)) = (&mut data.imm, origins[pointer]) {
                changed |= mem.alias != class;
                mem.alias = class;
            }
        }
    }
    Changed(changed)
}

/// The origins of a function's pointers; `None` if it has no arguments with classes.
fn origins(func: &Function) -> Option<SecondaryMap<Value, PointerOrigin>> {
    let mut origins: SecondaryMap<Value, PointerOrigin> = SecondaryMap::new();
    if func.noalias_args.len() < 2 {
        return None;
    }
    let class = |offset: u32| func.noalias_args.iter().position(|&arg| arg == offset).map(|index| index as u32 + 1);
    let blocks = func.layout.blocks();
    let entry = *blocks.first()?;
    func.dfg.params(entry).iter().for_each(|&param| origins[param] = PointerOrigin::Any);
    for _ in 0..MAX_ROUNDS {
        let mut changed = false;
        for &inst in blocks.iter().flat_map(|&block| func.layout.insts(block)) {
            let data = func.dfg.inst(inst);
            let origin = if let (Opcode::Arg, &Imm::Offset(offset)) = (data.op, &data.imm) {
                class(offset).map_or(PointerOrigin::Any, PointerOrigin::Class)
            } else if matches!(data.op, Opcode::Addr | Opcode::SpaceCast) {
                origins[data.args[0]]
            } else if data.op == Opcode::Select {
                origins[data.args[1]].join(origins[data.args[2]])
            } else {
                PointerOrigin::Any
            };
            for &result in func.dfg.results(inst) {
                changed |= origins[result] != origin;
                origins[result] = origin;
            }
            for call in func.dfg.targets(inst) {
                for (&param, &arg) in func.dfg.params(call.block).iter().zip(&call.args) {
                    let joined = origins[param].join(origins[arg]);
                    changed |= origins[param] != joined;
                    origins[param] = joined;
                }
            }
        }
        if !changed {
            return Some(origins);
        }
    }
    None
}
