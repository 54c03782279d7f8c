//! Whether the iterations of a loop are independent: no iteration writes what another one reads or writes.
//!
//! Accesses to different objects are independent ([`Place`]). Those that may be to the same object must have addresses that are the
//! same sum but for a constant ([`LinearForms`]) and grow by the same number of bytes in each iteration, which leaves a known number of
//! iterations between two accesses to the same byte; it must be zero, or more than a pack has lanes. An index of 32 bits that wraps
//! before it is extended only moves an access by 4 GiB or more, away from all others.

use clift_kir::{Effects, Function, Inst, Opcode};

use super::countable::CountableLoop;
use crate::passes::linear::{Iteration, Linear, LinearForms};
use crate::passes::memory::{Escapes, Place, plain_access};
use crate::spmd::transform::normalize::NormalForm;
use crate::target::machine::MAX_LANES;

/// The most loads and stores of a loop that is looked at.
const MAX_ACCESSES: usize = 128;

/// A load or store in a loop.
struct Access {
    place: Place,
    writes: bool,
    bytes: i64,
    /// The address in this iteration and in the next one.
    forms: Option<(Linear, Linear)>,
}

/// Whether the iterations of a loop can be executed in any order. Also false if it does anything but compute, load and store.
pub(super) fn iterations_are_independent(normal: &NormalForm, counted: &CountableLoop) -> bool {
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
    let escapes = Escapes::new(func);
    let writes = accesses.iter().filter(|access| access.writes);
    writes.into_iter().all(|write| accesses.iter().all(|other| write.is_independent_of(other, &escapes)))
}

impl Access {
    /// `None` for all but plain loads and stores.
    fn of(func: &Function, forms: &LinearForms<'_>, inst: Inst) -> Option<Access> {
        let (pointer, ty, mem) = plain_access(func, inst)?;
        let of = |iteration: Iteration| forms.of(pointer, iteration);
        Some(Access {
            place: Place::of_access(func, pointer, &mem, ty),
            writes: func.dfg.inst(inst).op == Opcode::Store,
            bytes: ty.bytes().into(),
            forms: of(Iteration::This).zip(of(Iteration::Next)),
        })
    }

    /// Whether different iterations never make this access and another one to the same byte.
    fn is_independent_of(&self, other: &Access, escapes: &Escapes) -> bool {
        if !self.place.may_share_object(&other.place, escapes) {
            return true;
        }
        let (Some((this, next)), Some((other_this, other_next))) = (&self.forms, &other.forms) else { return false };
        let (Some(growth), Some(other_growth)) = (next.apart_from(this), other_next.apart_from(other_this)) else {
            return false;
        };
        let Some(distance) = other_this.apart_from(this).filter(|_| growth == other_growth) else { return false };
        // The other access of `later` iterations after this one, relative to this one.
        let overlaps = |later: i64| {
            let at = growth.checked_mul(later).and_then(|grown| grown.checked_add(distance));
            at.is_none_or(|at| at < self.bytes && at > -other.bytes)
        };
        (1..i64::from(MAX_LANES)).all(|later| !overlaps(later) && !overlaps(-later))
    }
}
