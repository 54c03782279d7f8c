//! `restrict`: which accesses go through which pointer parameter.
//!
//! A kernel's `restrict` pointers each found an alias class; the class follows the pointer through address arithmetic, casts,
//! choices and loops, and into a function that is called from one place only. Other functions' parameters say nothing: what is
//! `restrict` inside a callee may well be accessed through another pointer by its caller, and both end in one function.

use cranelift_entity::SecondaryMap;

use clift_kir::{Function, Imm, Opcode, Value};

/// Pointers known to belong to a class.
pub(super) type Seeds = Vec<(Value, u32)>;

/// Rounds over a function after which it is left alone: real code needs as many as its loops are nested.
const MAX_ROUNDS: u32 = 32;

/// What a pointer is derived from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Origin {
    /// Nothing seen yet.
    #[default]
    Unseen,
    /// A pointer of a class only.
    Class(u32),
    /// Anything.
    Any,
}

impl Origin {
    fn join(self, other: Origin) -> Origin {
        match (self, other) {
            (Origin::Unseen, origin) | (origin, Origin::Unseen) => origin,
            (Origin::Class(a), Origin::Class(b)) if a == b => self,
            (Origin::Class(_) | Origin::Any, Origin::Class(_) | Origin::Any) => Origin::Any,
        }
    }
}

/// The classes of a function's pointers.
pub(super) struct Classes(SecondaryMap<Value, Origin>);

impl Classes {
    /// The class of a pointer; 0 for none.
    pub(super) fn of(&self, pointer: Value) -> u32 {
        match self.0[pointer] {
            Origin::Class(class) => class,
            Origin::Unseen | Origin::Any => 0,
        }
    }
}

/// Follows the seeds through a function and marks its accesses.
pub(super) fn run(func: &mut Function, seeds: &Seeds) -> Classes {
    let mut origins: SecondaryMap<Value, Origin> = SecondaryMap::new();
    let blocks = func.layout.blocks().to_vec();
    if seeds.is_empty() {
        return Classes(origins);
    }
    if let Some(&entry) = blocks.first() {
        func.dfg.params(entry).iter().for_each(|&param| origins[param] = Origin::Any);
    }
    let seeded: SecondaryMap<Value, bool> = seeds.iter().fold(SecondaryMap::new(), |mut map, &(value, class)| {
        origins[value] = Origin::Class(class);
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
                _ => Origin::Any,
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
