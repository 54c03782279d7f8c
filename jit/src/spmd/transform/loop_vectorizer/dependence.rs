//! Whether the iterations of a loop are independent: no iteration writes what another one reads or writes.
//!
//! Accesses to different objects are independent ([`Place`]). Those that may be to the same object must have addresses that are
//! the same sum but for a constant ([`LinearForms`]) and grow by the same number of bytes in each iteration, which leaves a
//! known number of iterations between two accesses to the same byte; it must be zero, or more than a pack has lanes. An index
//! of 32 bits that wraps before it is extended only moves an access by 4 GiB or more, away from all others.
//!
//! Anti-dependences are kept where the value that is stored is computed from the one that is loaded, as in `a[i] = a[i + 1]`: a
//! pack loads for all of its lanes before it stores.

use std::cell::OnceCell;

use clift_kir::{Effects, Function, Inst, Opcode, Value};
use rustc_hash::FxHashSet;

use super::countable::CountableLoop;
use crate::passes::linear::{Iteration, Linear, LinearForms};
use crate::passes::memory::{Escapes, Place, plain_access};
use crate::spmd::transform::normalize::NormalForm;
use crate::target::machine::MAX_LANES;

/// The most loads and stores of a loop that is looked at.
const MAX_ACCESSES: usize = 128;

/// The most instructions between a load and a store that are looked at.
const MAX_BETWEEN: usize = 64;

/// A load or store in a loop.
struct Access {
    inst: Inst,
    place: Place,
    writes: bool,
    bytes: i64,
    /// The address in this iteration and in the next one.
    forms: Option<(Linear, Linear)>,
}

/// Whether the iterations of a loop can be executed in any order. Also false if it does anything but compute, load and store.
/// `escapes` is that of the function, computed when a loop needs it first.
pub(super) fn iterations_are_independent(
    normal: &NormalForm,
    counted: &CountableLoop,
    escapes: &OnceCell<Escapes>,
) -> bool {
    let NormalForm { func, loops, .. } = normal;
    let forms = LinearForms { func, loops, id: counted.id, latch: counted.latch };
    let mut accesses: Vec<Access> = Vec::new();
    for &block in &loops.get(counted.id).blocks {
        for &inst in func.layout.insts(block) {
            match func.dfg.inst(inst).op.info().effects {
                Effects::Pure | Effects::Terminator => continue,
                Effects::Read | Effects::Write => {}
                Effects::ReadWrite | Effects::Convergent => return false,
            }
            let Some(access) = Access::of(func, &forms, inst) else { return false };
            accesses.push(access);
        }
    }
    if accesses.len() > MAX_ACCESSES {
        return false;
    }
    if !accesses.iter().any(|access| access.writes) {
        return true;
    }
    let escapes = escapes.get_or_init(|| Escapes::new(func));
    accesses.iter().filter(|access| access.writes).all(|write| {
        let sources = stored_from(normal, counted, write.inst);
        accesses.iter().all(|other| {
            let dependences = write.dependences(other, escapes);
            !dependences.on_earlier && (!dependences.of_later || sources.contains(&other.inst))
        })
    })
}

/// The loads that the value of a store is computed from in the same iteration, outside of inner loops.
fn stored_from(normal: &NormalForm, counted: &CountableLoop, store: Inst) -> FxHashSet<Inst> {
    let NormalForm { func, loops, .. } = normal;
    let here = |inst: Inst| func.layout.block_of(inst).is_some_and(|block| loops.innermost(block) == Some(counted.id));
    let mut seen = FxHashSet::default();
    if !here(store) {
        return seen;
    }
    let mut open: Vec<Value> = func.dfg.inst(store).args.to_vec();
    while let Some(value) = open.pop() {
        let Some(inst) = func.dfg.def_inst(value) else { continue };
        if seen.len() < MAX_BETWEEN && here(inst) && seen.insert(inst) {
            open.extend(&func.dfg.inst(inst).args);
        }
    }
    seen
}

/// How accesses of different iterations to the same byte are ordered.
#[derive(Clone, Copy, Default)]
struct Dependences {
    /// The other access follows the write in a later iteration.
    on_earlier: bool,
    /// The other access precedes the write, which is of a later iteration.
    of_later: bool,
}

impl Access {
    /// `None` for all but plain loads and stores.
    fn of(func: &Function, forms: &LinearForms<'_>, inst: Inst) -> Option<Access> {
        let (pointer, ty, mem) = plain_access(func, inst)?;
        let of = |iteration: Iteration| forms.of(pointer, iteration);
        Some(Access {
            inst,
            place: Place::of_access(func, pointer, &mem, ty),
            writes: func.dfg.inst(inst).op == Opcode::Store,
            bytes: ty.bytes().into(),
            forms: of(Iteration::This).zip(of(Iteration::Next)),
        })
    }

    /// The dependences between this write and another access, in iterations that a pack may contain.
    fn dependences(&self, other: &Access, escapes: &Escapes) -> Dependences {
        if !self.place.may_share_object(&other.place, escapes) {
            return Dependences::default();
        }
        let unknown = Dependences { on_earlier: true, of_later: true };
        let (Some((this, next)), Some((other_this, other_next))) = (&self.forms, &other.forms) else { return unknown };
        let (Some(growth), Some(other_growth)) = (next.apart_from(this), other_next.apart_from(other_this)) else {
            return unknown;
        };
        let Some(distance) = other_this.apart_from(this).filter(|_| growth == other_growth) else { return unknown };
        // The other access of `later` iterations after this one, relative to this one.
        let overlaps = |later: i64| {
            let at = growth.checked_mul(later).and_then(|grown| grown.checked_add(distance));
            at.is_none_or(|at| at < self.bytes && at > -other.bytes)
        };
        let lanes = i64::from(MAX_LANES);
        Dependences { on_earlier: (1..lanes).any(overlaps), of_later: (1..lanes).any(|later| overlaps(-later)) }
    }
}
