//! `restrict`: assigns alias classes to accesses.
//!
//! Each `restrict` pointer of a kernel has an alias class of its own. The class follows the pointer through address arithmetic,
//! casts, selections and loops, and into functions that are called from one place only. `restrict` parameters of other functions
//! are ignored: the caller may access the same memory through another pointer, and inlining puts both accesses into one function.

use cranelift_entity::SecondaryMap;

use clift_kir::{Function, Imm, Opcode, Value};

/// Pointers known to belong to a class.
pub(super) type Seeds = Vec<(Value, u32)>;

/// Maximum number of iterations over a function; without a fixed point by then it has no classes. Real code needs as many
/// iterations as its loops are nested.
const MAX_ROUNDS: u32 = 32;

/// The alias class that a pointer is derived from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PointerOrigin {
    /// Not visited yet.
    #[default]
    Unseen,
    /// Only pointers of this class.
    Class(u32),
    /// Any pointer.
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

/// The classes of a function's pointers.
pub(super) struct Classes(SecondaryMap<Value, PointerOrigin>);

impl Classes {
    /// The class of a pointer; 0 for none.
    pub(super) fn of(&self, pointer: Value) -> u32 {
        match self.0[pointer] {
            PointerOrigin::Class(class) => class,
            PointerOrigin::Unseen | PointerOrigin::Any => 0,
        }
    }
}

/// Propagates the classes of the seeds through a function and sets those of its accesses.
pub(super) fn run(func: &mut Function, seeds: &Seeds) -> Classes {
    let mut origins: SecondaryMap<Value, PointerOrigin> = SecondaryMap::new();
    let blocks = func.layout.blocks().to_vec();
    if seeds.is_empty() {
        return Classes(origins);
    }
    if let Some(&entry) = blocks.first() {
        func.dfg.params(entry).iter().for_each(|&param| origins[param] = PointerOrigin::Any);
    }
    let seeded: SecondaryMap<Value, bool> = seeds.iter().fold(SecondaryMap::new(), |mut map, &(value, class)| {
        origins[value] = PointerOrigin::Class(class);
        map[value] = true;
        map
    });
    let mut rounds = 0;
    let mut changed = true;
    while changed {
        changed = false;
        rounds += 1;
        if rounds > MAX_ROUNDS {
            return Classes(SecondaryMap::new());
        }
        for &inst in blocks.iter().flat_map(|&block| func.layout.insts(block)) {
            let data = func.dfg.inst(inst);
            let origin = match data.op {
                Opcode::Addr | Opcode::SpaceCast => origins[data.args[0]],
                Opcode::Select => origins[data.args[1]].join(origins[data.args[2]]),
                _ => PointerOrigin::Any,
            };
            for &result in func.dfg.results(inst).iter().filter(|&&result| !seeded[result]) {
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
    }
    let classes = Classes(origins);
    for &block in &blocks {
        for inst in func.layout.insts(block).to_vec() {
            let data = func.dfg.inst_mut(inst);
            let (Opcode::Load | Opcode::Store, Some(&pointer)) = (data.op, data.args.first()) else { continue };
            if let Imm::Mem(mem) = &mut data.imm {
                mem.alias = classes.of(pointer);
            }
        }
    }
    classes
}
