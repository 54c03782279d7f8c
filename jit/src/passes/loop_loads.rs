//! Load elimination in loops: what an iteration loads from where the one before has stored is passed on as a value.
//!
//! ```text
//! for (i = 1; i != n; i++)                   last = y[0];
//!     y[i] = a * y[i - 1] + x[i];            for (i = 1; i != n; i++)
//!                                                y[i] = last = a * last + x[i];
//! ```
//!
//! Filters, running sums, sorts and rows of dynamic programs go through memory in this way, and an iteration then begins when
//! the store of the one before has reached the load. Loads from where such a load has been an iteration earlier, as of `y[i -
//! 2]`, are passed on as well. Other loads that overlap from iteration to iteration stay: they need not wait, and iterations
//! without values from one another can be executed at once.
//!
//! Both accesses must be executed in each iteration, and nothing that may change the memory may lie between them. The first
//! iteration loads before the loop.

use clift_kir::analysis::{Cfg, DomTree, LoopForest, LoopId};
use clift_kir::clone::Cloner;
use clift_kir::{Block, Builder, Function, Imm, Inst, Opcode, Type, Value};
use rustc_hash::FxHashSet;

use super::linear::{Iteration, Linear, LinearForms};
use super::memory::{Escapes, Place, Write, plain_access};
use super::{Changed, Replacements, loop_form};

/// The most instructions of a loop that is looked at.
const MAX_INSTS: usize = 1000;
/// The most loads and stores of a loop that is looked at.
const MAX_ACCESSES: usize = 64;
/// The most values that a loop passes on.
const MAX_PASSED_ON: usize = 8;

/// Eliminates loads in all innermost loops.
pub(super) fn run(func: &mut Function) -> Changed {
    let (cfg, dom, loops) = loop_form::analyze(func);
    let escapes = Escapes::new(func);
    let ids = innermost(&loops);
    if !ids.iter().any(|&id| !PassedOn::all(func, (&cfg, &dom, &loops), id, &escapes).is_empty()) {
        return Changed(false);
    }
    let Some((cfg, dom, loops)) = loop_form::run(func) else { return Changed(false) };
    let mut replacements = Replacements::default();
    for id in innermost(&loops) {
        let found = PassedOn::all(func, (&cfg, &dom, &loops), id, &escapes);
        let data = loops.get(id);
        let (Some(preheader), &[latch]) = (loop_form::preheader(&cfg, data), data.latches.as_slice()) else { continue };
        for passed_on in &found {
            apply(func, passed_on, &loops, (id, preheader, latch), &mut replacements);
        }
    }
    replacements.apply(func);
    Changed(true)
}

/// The loops without loops in them.
pub(super) fn innermost(loops: &LoopForest) -> Vec<LoopId> {
    let around: FxHashSet<LoopId> = loops.iter().filter_map(|(_, data)| data.parent).collect();
    loops.iter().map(|(id, _)| id).filter(|id| !around.contains(id)).collect()
}

/// A load or a store in a loop.
struct Access {
    inst: Inst,
    block: Block,
    /// The position among all instructions of an iteration.
    at: usize,
    pointer: Value,
    ty: Type,
    place: Place,
    /// The address.
    form: Linear,
}

/// A load of what an access of the iteration before has loaded or stored.
pub(super) struct PassedOn {
    pub(super) load: Inst,
    /// The value that the iteration before passes on.
    pub(super) value: Value,
}

impl PassedOn {
    /// All that a loop can pass on.
    fn all(
        func: &Function,
        (cfg, dom, loops): (&Cfg, &DomTree, &LoopForest),
        id: LoopId,
        escapes: &Escapes,
    ) -> Vec<PassedOn> {
        let data = loops.get(id);
        let &[latch] = data.latches.as_slice() else { return Vec::new() };
        let insts = |block: Block| func.layout.insts(block).iter().copied();
        let length: usize = data.blocks.iter().map(|&block| func.layout.insts(block).len()).sum();
        let stores = |block: &Block| insts(*block).any(|inst| func.dfg.inst(inst).op == Opcode::Store);
        if length > MAX_INSTS || !data.blocks.iter().any(stores) {
            return Vec::new();
        }
        let forms = LinearForms { func, loops, id, latch };
        let leaves = |block: &Block| {
            cfg.succs(*block).iter().any(|&succ| !loops.contains(id, succ)) || cfg.succs(*block).is_empty()
        };
        let exiting: Vec<Block> = data.blocks.iter().copied().filter(leaves).collect();
        let mut accesses: Vec<Access> = Vec::new();
        let mut writes: Vec<(usize, Inst, Write)> = Vec::new();
        let mut at = 0;
        let mut in_order = data.blocks.clone();
        in_order.sort_unstable_by_key(|&block| cfg.number(block));
        for block in in_order {
            for inst in insts(block) {
                at += 1;
                writes.extend(Write::of(func, inst).map(|write| (at, inst, write)));
                if dom.dominates(block, latch) {
                    accesses.extend(Access::of(&forms, inst, block, at));
                }
            }
        }
        if accesses.len() > MAX_ACCESSES {
            return Vec::new();
        }
        let mut found: Vec<PassedOn> = Vec::new();
        let is_load = |access: &Access| func.dfg.inst(access.inst).op == Opcode::Load;
        // Loads whose iteration before has stored come first, then loads from where those have been.
        let mut grows = true;
        while std::mem::take(&mut grows) && found.len() < MAX_PASSED_ON {
            for load in accesses.iter().filter(|&access| is_load(access)) {
                // The first iteration, too, loads before anything else can end it.
                let always = exiting.iter().all(|&exit| dom.dominates(load.block, exit));
                if !always || found.iter().any(|other| other.load == load.inst) {
                    continue;
                }
                let Some(next) = forms.of(load.pointer, Iteration::Next) else { continue };
                let source = accesses.iter().rev().find(|source| {
                    let passes = !is_load(source) || found.iter().any(|other| other.load == source.inst);
                    let between = |&&(at, inst, ref write): &&(usize, Inst, Write)| {
                        inst != source.inst
                            && (at > source.at && write.may_change(&source.place, escapes)
                                || at < load.at && write.may_change(&load.place, escapes))
                    };
                    passes
                        && source.inst != load.inst
                        && source.ty == load.ty
                        && source.form == next
                        && !writes.iter().any(|write| between(&write))
                        && !(source.at < load.at && source.place.may_overlap(&load.place, escapes) && !is_load(source))
                });
                if let Some(source) = source {
                    let data = func.dfg.inst(source.inst);
                    let value = if is_load(source) { func.dfg.result(source.inst) } else { data.args[1] };
                    found.push(PassedOn { load: load.inst, value });
                    grows = true;
                }
            }
        }
        found.truncate(MAX_PASSED_ON);
        found
    }
}

impl Access {
    /// A plain load or store at a known address.
    fn of(forms: &LinearForms<'_>, inst: Inst, block: Block, at: usize) -> Option<Access> {
        let func = forms.func;
        let (pointer, ty, mem) = plain_access(func, inst)?;
        let place = Place::of_access(func, pointer, &mem, ty);
        let form = forms.of(pointer, Iteration::This)?;
        Some(Access { inst, block, at, pointer, ty, place, form })
    }
}

/// Passes a value on from iteration to iteration in place of a load. Returns the parameter that passes it.
pub(super) fn apply(
    func: &mut Function,
    passed_on: &PassedOn,
    loops: &LoopForest,
    (id, preheader, latch): (LoopId, Block, Block),
    replacements: &mut Replacements,
) -> Option<Value> {
    let data = func.dfg.inst(passed_on.load);
    let &Imm::Mem(mem) = &data.imm else { return None };
    let pointer = data.args[0];
    let result = func.dfg.result(passed_on.load);
    let (ty, loc) = (func.dfg.ty(result), func.locs[passed_on.load]);
    let header = loops.get(id).header;
    // The pointer in the first iteration: a pure value, which depends on parameters of the header and on values from outside.
    let mut cloner = Cloner::within();
    if let Some(args) = loop_form::args_of_edge(func, preheader, header) {
        for (&param, &arg) in func.dfg.params(header).iter().zip(args) {
            cloner.set_value(param, arg);
        }
    }
    let inside = |func: &Function, inst| func.layout.block_of(inst).is_some_and(|home| loops.contains(id, home));
    let pointer = cloner.computed(func, pointer, &inside, &mut |func, copy| {
        let before = func.layout.insts(preheader).len() - 1;
        func.layout.insert_inst(preheader, before, copy);
    });
    let before = func.layout.insts(preheader).len() - 1;
    let mut b = Builder::before(func, preheader, before);
    b.set_loc(loc);
    let value = b.load(ty, pointer, mem);
    let param = func.dfg.append_param(header, ty);
    for (from, value) in [(preheader, value), (latch, passed_on.value)] {
        let Some(terminator) = func.layout.terminator(from) else { continue };
        for target in func.dfg.targets_mut(terminator) {
            if target.block == header {
                target.args.push(value);
            }
        }
    }
    func.layout.remove_inst(passed_on.load);
    replacements.set(result, param);
    Some(param)
}
