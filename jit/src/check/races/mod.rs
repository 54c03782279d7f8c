//! Races, followed in shadow memory by the code of the kernel.
//!
//! **Stamps.** An *interval* is what a work-item executes between barriers that order the memory in question. Each work-item
//! has a number in each interval, its stamp: `first + (interval * groups + group) * (items + 1) + item`. The stamps of a
//! group's `items` work-items in one interval are neighbours, their *window*; the one behind them stands for several
//! work-items. All stamps of a launch are different, and greater than those of earlier launches in the same memory. Barriers
//! count intervals in a private variable.
//!
//! **Planes.** An object has a plane of cells for plain writes, one for plain reads and one for atomics, as far as they are
//! needed. A cell belongs to the smallest unit in which the kernel accesses the object (at most 4 bytes, or one cell for all
//! accesses of the same size) and has the stamp of the last work-item that accessed the unit in this way.
//!
//! ```text
//! write:  w = writes[at]; writes[at] = w in window ? w : mine; bad = writes[at] in window and != mine, as have reads[at], atomics[at]
//! read:   bad = writes[at] or atomics[at] in window and != mine; r = reads[at]; reads[at] = r in window and != mine ? several : mine
//! atomic: as a read, with the planes of atomics and reads exchanged
//! if pack_any(bad):                                             (cold)
//!     a write compares its value with what is there; the launch's checker reads the cells of the others, and reports
//! ```
//!
//! Neighbouring loads of a block share the test and the cold code, which are behind the last of them. Those of other accesses
//! are in front of them, because a store's value is compared with what was there before.
//!
//! Lanes of a pack do each of these steps together. So a cell is read again after it has been written: if several lanes write
//! the same cell, all but one find the stamp of another lane. Readers that do become `several`, in cold code. A stamp outside
//! of the window belongs to another interval or group. Cells are accessed at the same distances as the object, so that
//! neighbouring lanes access neighbouring cells. The accesses are in bounds: the code is only in the part of a run that tests
//! have found to be (`runs.rs`).
//!
//! **What it finds.** What a call of the checker for each access finds: the last write, and whether one or several work-items
//! have read since then, decide whether an access races with an earlier one. It does not need to know in which order work-items
//! are executed.
//!
//! **What it does not find.** Accesses of runs in which one leaves its object; a plain write after an atomic load; intervals
//! and groups for which 32 bits have no stamps; and what the compiler leaves out because it cannot race unless arithmetic on
//! ids wraps or barriers diverge: accesses that no write of the same interval can meet (`intervals.rs`), objects in which each
//! work-item accesses bytes of its own (`distinct.rs`).
//!
//! **What it never reports.** A stamp in the window is that of another work-item of the same group in the same interval,
//! whatever other threads do to cells of global memory that several groups access. Work-items that order their accesses by
//! other means (fences, atomics with an order, operations of sub-groups) leave no stamps and look for none until the next
//! barrier.
//!
//! The launch makes the planes and chooses the stamps (`runtime/src/check/shadow.rs`). If arguments share memory, or the
//! shadows do not fit, it says so, and the code calls the checker for each access to global memory. So does, always and for all
//! memory, the code of kernels that access memory whose object is not known, or copy blocks of unknown size.

mod distinct;
mod emit;
mod intervals;

use clift_include::check::{
    CheckKind, ORDERS_GLOBAL, Plane, RaceFact, RaceShadows, ShadowPlane, ShadowedObject, SiteKind, SiteObject,
};
use clift_kir::{Function, Imm, Inst, Opcode, Space, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::accesses::Bytes;
use super::groups::{Access, Accesses};
use super::provenance::Object;
use super::sites::Sites;
use distinct::Form;
pub(super) use emit::{BatchKey, Changes};
use emit::{StampParts, Stamps};
use intervals::{Intervals, Starts};

/// The most cells of an access.
const MOST_CELLS: u64 = 64;

/// What an access does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Load,
    Store,
    Atomic,
    AtomicLoad,
}

impl Class {
    fn of(func: &Function, inst: Inst, kind: SiteKind) -> Class {
        match kind {
            SiteKind::Load => Class::Load,
            SiteKind::Store => Class::Store,
            SiteKind::Atomic if func.dfg.inst(inst).op == Opcode::AtomicLoad => Class::AtomicLoad,
            SiteKind::Atomic | SiteKind::Barrier => Class::Atomic,
        }
    }

    /// The plane that such accesses are in.
    fn plane(self) -> Option<Plane> {
        match self {
            Class::Load => Some(Plane::Reads),
            Class::Store => Some(Plane::Writes),
            Class::Atomic => Some(Plane::Atomics),
            Class::AtomicLoad => None,
        }
    }

    /// The planes of the accesses with which it can race.
    fn races_with(self) -> &'static [Plane] {
        match self {
            Class::Load => &[Plane::Writes, Plane::Atomics],
            Class::Store => &Plane::ALL,
            Class::Atomic => &[Plane::Writes, Plane::Reads],
            Class::AtomicLoad => &[Plane::Writes],
        }
    }
}

/// How an access is followed.
#[derive(Clone, Copy, Debug)]
struct Followed {
    class: Class,
    site: usize,
    /// Index of its object.
    object: usize,
    bytes: u64,
    /// The planes whose stamps it compares, by [`Plane`].
    compared: [bool; 3],
    /// Whether its stamp is compared by others.
    leaves_stamp: bool,
}

/// An object with shadow memory.
#[derive(Debug)]
struct Shadowed {
    object: Object,
    space: Space,
    ratio: u32,
    one_cell: bool,
    planes: [ShadowPlane; 3],
    /// How its offsets depend on ids, if all accesses are alike.
    form: Option<Form>,
    /// Whether its accesses are followed in shadow memory in this launch; `None` if they are in all.
    is_followed: Option<Value>,
}

/// The races of a kernel.
#[derive(Debug, Default)]
pub(super) struct Races {
    followed: FxHashMap<Inst, SmallVec<[Option<Followed>; 2]>>,
    objects: Vec<Shadowed>,
    /// Offset of the launch's facts in the argument block.
    facts: u32,
    /// Whether accesses to global memory are followed in shadow memory in this launch; made by [`Races::begin`].
    in_shadows: Option<Value>,
    /// For local and global memory.
    stamps: Option<[Stamps; 2]>,
    parts: Option<StampParts>,
}

/// An access before its object is known to need shadow memory.
struct Candidate {
    inst: Inst,
    number: usize,
    class: Class,
    starts: Starts,
    bytes: u64,
    align: u64,
    form: Option<Form>,
    site: usize,
}

impl Races {
    /// Plans how the accesses of a kernel are followed. `None` if shadow memory cannot do it.
    pub(super) fn new(func: &Function, sites: &mut Sites<'_>, accesses: &FxHashMap<Inst, Accesses>) -> Option<Races> {
        let intervals = Intervals::new(func, |inst| accesses.contains_key(&inst));
        let mut by_object: Vec<(Object, Vec<Candidate>)> = Vec::new();
        let mut indices: FxHashMap<Object, usize> = FxHashMap::default();
        for &inst in func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)) {
            for (number, access) in accesses.get(&inst).into_iter().flatten().enumerate() {
                let (object, candidate) = candidate(func, sites, &intervals, inst, number, access)?;
                let index = *indices.entry(object).or_insert_with(|| {
                    by_object.push((object, Vec::new()));
                    by_object.len() - 1
                });
                by_object[index].1.push(candidate);
            }
        }
        let mut races = Races {
            followed: FxHashMap::default(),
            objects: Vec::new(),
            facts: sites.words(RaceFact::COUNT),
            in_shadows: None,
            stamps: None,
            parts: None,
        };
        let orders_global = intervals.orders & ORDERS_GLOBAL != 0;
        let mut shadows = RaceShadows {
            facts: races.facts,
            intervals: if !orders_global { Some(0) } else { (!intervals.in_loop).then_some(intervals.barriers) },
            ..RaceShadows::default()
        };
        for (object, candidates) in by_object {
            races.add(sites, object, &candidates, &mut shadows)?;
        }
        sites.shared();
        sites.checks.races = Some(shadows);
        Some(races)
    }

    /// Plans how the accesses of one object are followed.
    fn add(
        &mut self,
        sites: &mut Sites<'_>,
        object: Object,
        candidates: &[Candidate],
        shadows: &mut RaceShadows,
    ) -> Option<()> {
        let mut starts: [Starts; 3] = [0; 3];
        let mut compares_writes: Starts = 0;
        for candidate in candidates {
            match candidate.class.plane() {
                Some(plane) => starts[plane as usize] |= candidate.starts,
                None => compares_writes |= candidate.starts,
            }
        }
        let index = self.objects.len();
        let mut planes = [ShadowPlane::default(); 3];
        let mut sites_of_planes: [SmallVec<[usize; 4]>; 3] = Default::default();
        let mut form: Option<Option<Form>> = None;
        let mut followed: Vec<(&Candidate, Followed)> = Vec::new();
        for candidate in candidates {
            let meets = |plane: Plane| starts[plane as usize] & candidate.starts != 0;
            let mut compared = [false; 3];
            for &plane in candidate.class.races_with() {
                compared[plane as usize] = meets(plane);
            }
            let by_loads = candidate.class == Class::Store && compares_writes & candidate.starts != 0;
            if !compared.contains(&true) && !by_loads {
                continue;
            }
            let leaves_stamp = candidate.class.plane().is_some();
            if let Some(plane) = candidate.class.plane() {
                sites_of_planes[plane as usize].push(candidate.site);
            }
            form = Some(match form {
                None => candidate.form.clone(),
                Some(known) => known.zip(candidate.form.as_ref()).and_then(|(known, form)| known.join(form)),
            });
            let (class, site, bytes) = (candidate.class, candidate.site, candidate.bytes);
            followed.push((candidate, Followed { class, site, object: index, bytes, compared, leaves_stamp }));
        }
        if followed.is_empty() {
            return Some(());
        }
        let first = followed[0].0;
        let one_cell = followed.iter().all(|(each, _)| each.bytes == first.bytes && each.align >= each.bytes)
            && first.bytes.is_power_of_two();
        let unit = |each: &Candidate| 1_u64 << (each.bytes | each.align | 4).trailing_zeros();
        let smallest = followed.iter().map(|(each, _)| unit(each)).min().unwrap_or(4);
        let unit = if one_cell { first.bytes.min(4) } else { smallest };
        let ratio = 4 / unit as u32;
        for (plane, of_plane) in planes.iter_mut().zip(&sites_of_planes) {
            let Some(&only_site) = of_plane.first() else { continue };
            plane.only_site = only_site;
            plane.cells = Some(sites.words(1));
            if of_plane.iter().any(|&site| site != only_site) {
                plane.sites = Some(sites.words(1));
            }
        }
        let described = sites.checks.sites[first.site].object.clone();
        if described == SiteObject::Unknown || described == SiteObject::None {
            return None;
        }
        let space = space_of(object)?;
        for (candidate, followed) in followed {
            if !one_cell && followed.bytes * u64::from(ratio) / 4 > MOST_CELLS {
                return None;
            }
            // Two objects that are described alike cannot be told apart.
            if shadows.of_sites.insert(followed.site, index).is_some_and(|other| other != index) {
                return None;
            }
            let list = self.followed.entry(candidate.inst).or_default();
            list.resize(list.len().max(candidate.number + 1), None);
            list[candidate.number] = Some(followed);
        }
        shadows.objects.push(ShadowedObject {
            object: described,
            is_local: space == Space::Local,
            ratio,
            one_cell,
            planes,
        });
        let form = form.flatten();
        self.objects.push(Shadowed { object, space, ratio, one_cell, planes, form, is_followed: None });
        Some(())
    }
}

/// An access that is to be followed, if shadow memory can do it.
fn candidate(
    func: &Function,
    sites: &mut Sites<'_>,
    intervals: &Intervals,
    inst: Inst,
    number: usize,
    access: &Access,
) -> Option<(Object, Candidate)> {
    let object = access.object?;
    let Bytes::Constant(bytes) = access.bytes else { return None };
    let reached = intervals.at(inst);
    let starts = if space_of(object)? == Space::Local { reached.local } else { reached.global };
    let align = if let Imm::Mem(mem) = func.dfg.inst(inst).imm { mem.align.into() } else { bytes };
    let site = sites.add(func, CheckKind::Race, access.kind, access.object, func.locs[inst]);
    let form = Form::of(func, &access.place, bytes);
    let class = Class::of(func, inst, access.kind);
    Some((object, Candidate { inst, number, class, starts, bytes, align, form, site }))
}

/// The address space of an object that work-items share.
fn space_of(object: Object) -> Option<Space> {
    match object {
        Object::Argument(_, space @ (Space::Local | Space::Global))
        | Object::Variable(_, space @ (Space::Local | Space::Global)) => Some(space),
        Object::Argument(..) | Object::Variable(..) | Object::ByValue(_) | Object::Slot(_) => None,
    }
}
