//! Dead-store elimination: removes stores to memory that the work-item overwrites on every path before anything may read it.
//!
//! ```text
//! p->state = a;                              p->state = b;
//! p->state = b;
//! ```
//!
//! A generator of random numbers that keeps its state in memory stores it for each number; an accumulator in memory is stored
//! by each statement that adds to it. After loads have been replaced by the values that were stored, only the last store
//! matters. Between stores without an operation that orders memory, other work-items may not read without a race.
//!
//! A backward data-flow analysis finds what is overwritten *for certain* from a point on: stores add their place; loads that may
//! overlap, the definition of the address, and whatever reads or orders other memory remove it. Where paths join, what holds on
//! all of them remains. Places are compared by base, index and displacement of their addresses.

use clift_kir::analysis::Cfg;
use clift_kir::{Block, Effects, Function, Inst, Opcode, Value};
use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::Changed;
use super::memory::{Escapes, Place, Write, plain_access};

/// The most places that are followed at a point.
const MAX_PLACES: usize = 32;
/// The most times that the blocks are visited before giving up.
const MAX_ROUNDS: usize = 12;

/// Places that are overwritten before they are read.
type Overwritten = SmallVec<[Place; 8]>;

/// What an instruction means for the analysis.
#[derive(Clone)]
enum Event {
    /// A store that could be removed.
    Store(Inst, Place),
    /// A load from a known place.
    Load(Place),
    /// Anything else that may read memory, or orders accesses.
    Barrier,
    /// The definition of a value that addresses of stores consist of.
    Definition(Value),
}

/// Removes the dead stores of a function.
pub(super) fn run(func: &mut Function) -> Changed {
    if !may_overwrite(func) {
        return Changed(false);
    }
    let cfg = Cfg::new(func);
    let analysis = Analysis::new(func, &cfg);
    let dead: FxHashSet<Inst> = analysis.dead_stores().into_iter().collect();
    if dead.is_empty() {
        return Changed(false);
    }
    for block in func.layout.blocks().to_vec() {
        for inst in func.layout.take_insts(block) {
            if !dead.contains(&inst) {
                func.layout.append_inst(block, inst);
            }
        }
    }
    Changed(true)
}

/// Whether there are two stores with the same base and index.
fn may_overwrite(func: &Function) -> bool {
    let mut seen = FxHashSet::default();
    let mut insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.any(|&inst| stored_place(func, inst).is_some_and(|place| !seen.insert(place.address())))
}

/// Where a plain store writes.
fn stored_place(func: &Function, inst: Inst) -> Option<Place> {
    let (pointer, ty, mem) = plain_access(func, inst)?;
    (func.dfg.inst(inst).op == Opcode::Store).then(|| Place::of_access(func, pointer, &mem, ty))
}

struct Analysis<'a> {
    cfg: &'a Cfg,
    escapes: Escapes,
    /// Of each block, in order.
    events: SecondaryMap<Block, Vec<Event>>,
}

impl Analysis<'_> {
    fn new<'a>(func: &Function, cfg: &'a Cfg) -> Analysis<'a> {
        let mut parts: FxHashSet<Value> = FxHashSet::default();
        let mut stores: FxHashMap<Inst, Place> = FxHashMap::default();
        for &inst in cfg.rpo().iter().flat_map(|&block| func.layout.insts(block)) {
            if let Some(place) = stored_place(func, inst) {
                let (base, index, _) = place.address();
                parts.insert(base);
                parts.extend(index);
                stores.insert(inst, place);
            }
        }
        let mut events: SecondaryMap<Block, Vec<Event>> = SecondaryMap::new();
        for &block in cfg.rpo() {
            let params = func.dfg.params(block).iter().filter(|param| parts.contains(param));
            let mut of_block: Vec<Event> = params.map(|&param| Event::Definition(param)).collect();
            for &inst in func.layout.insts(block) {
                let results = func.dfg.results(inst).iter().filter(|result| parts.contains(result));
                of_block.extend(results.map(|&result| Event::Definition(result)));
                let access = plain_access(func, inst);
                let store = stores.get(&inst);
                of_block.extend(match (store, access) {
                    (Some(&place), _) => Some(Event::Store(inst, place)),
                    (None, Some((pointer, ty, mem))) => Some(Event::Load(Place::of_access(func, pointer, &mem, ty))),
                    (None, None) => reads_or_orders(func, inst).then_some(Event::Barrier),
                });
            }
            events[block] = of_block;
        }
        Analysis { cfg, escapes: Escapes::new(func), events }
    }

    /// All stores to places that are overwritten before they are read.
    fn dead_stores(&self) -> Vec<Inst> {
        // What is overwritten from the beginning of each block on; everything until a path to the end is known.
        let mut from: SecondaryMap<Block, Option<Overwritten>> = SecondaryMap::new();
        for _ in 0..MAX_ROUNDS {
            let mut changed = false;
            for &block in self.cfg.rpo().iter().rev() {
                let Some(after) = self.after(block, &from) else { continue };
                let before = self.before(block, after, &mut |_| ());
                if from[block].as_ref() != Some(&before) {
                    from[block] = Some(before);
                    changed = true;
                }
            }
            if !changed {
                let mut dead = Vec::new();
                for &block in self.cfg.rpo() {
                    let after = self.after(block, &from).unwrap_or_default();
                    self.before(block, after, &mut |inst| dead.push(inst));
                }
                return dead;
            }
        }
        Vec::new()
    }

    /// What is overwritten from the end of a block on, if that is known.
    fn after(&self, block: Block, from: &SecondaryMap<Block, Option<Overwritten>>) -> Option<Overwritten> {
        let succs = self.cfg.succs(block);
        if succs.is_empty() {
            return Some(Overwritten::new());
        }
        succs.iter().filter_map(|&succ| from[succ].clone()).reduce(|a, b| {
            let both = |a: &Place| {
                let covered = |b: &Place| if b.covers(a) { Some(*a) } else { a.covers(b).then_some(*b) };
                b.iter().find_map(covered)
            };
            a.iter().filter_map(both).collect()
        })
    }

    /// What is overwritten from the beginning of a block on. `dead` gets the stores to what already is.
    fn before(&self, block: Block, mut overwritten: Overwritten, dead: &mut dyn FnMut(Inst)) -> Overwritten {
        for event in self.events[block].iter().rev() {
            match event {
                &Event::Store(inst, place) => {
                    if overwritten.iter().any(|other| other.covers(&place)) {
                        dead(inst);
                    } else if overwritten.len() < MAX_PLACES {
                        overwritten.push(place);
                    }
                }
                Event::Load(place) => overwritten.retain(|other| !other.may_overlap(place, &self.escapes)),
                Event::Barrier => overwritten.clear(),
                &Event::Definition(value) => overwritten.retain(|place| {
                    let (base, index, _) = place.address();
                    base != value && index != Some(value)
                }),
            }
        }
        overwritten
    }
}

/// Whether an instruction other than a plain access may read memory that the kernel writes, or orders accesses.
fn reads_or_orders(func: &Function, inst: Inst) -> bool {
    let op = func.dfg.inst(inst).op;
    match op.info().effects {
        Effects::Pure | Effects::Terminator => false,
        Effects::Read => true,
        Effects::Write | Effects::ReadWrite | Effects::Convergent => {
            op == Opcode::Memcpy || Write::of(func, inst).is_some_and(|write| !write.only_writes())
        }
    }
}
