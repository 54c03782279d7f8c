//! Loads at an index that a loop chooses: what is loaded there is chosen with the index.
//!
//! ```text
//! for (j = 1; j != n; j++)                   best = v[m];
//!     if (v[j] < v[m])                       for (j = 1; j != n; j++) {
//!         m = j;                                 c = v[j] < best;
//!                                                m = c ? j : m; best = c ? v[j] : best;
//!                                            }
//! ```
//!
//! Selection sorts, medians and searches for the least element compare with `v[m]` in each iteration. In packs each lane has an
//! `m` of its own, so that the load is a gather, and it waits for the comparison of the iteration before.
//!
//! Both loads must be executed in each iteration, and nothing in the loop may change the memory. The first iteration loads
//! before the loop. Where the load has moved to the end of the iteration before already, so that the loop carries `best`, it
//! becomes the choice.

use clift_kir::analysis::{Cfg, DomTree, LoopForest, LoopId};
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, BlockCall, Builder, Function, Imm, Inst, MemInfo, Opcode, Type, Value};

use super::linear::{Iteration, Linear, LinearForms};
use super::loop_loads::{PassedOn, apply, innermost};
use super::memory::{Escapes, LoopWrites, Place, Write};
use super::{Changed, Replacements, loop_form};

/// The most instructions of a loop that is looked at.
const MAX_INSTS: usize = 1000;
/// The most loads of a loop that is looked at.
const MAX_LOADS: usize = 32;
/// How many choices deep an index is followed.
const MAX_CHOICES: u32 = 4;
/// How many blocks before a loop are searched for the load of the first iteration.
const MAX_BLOCKS: u32 = 4;

/// Eliminates loads at chosen indices in all innermost loops.
pub(super) fn run(func: &mut Function) -> Changed {
    let (cfg, dom, loops) = loop_form::analyze(func);
    if loops.iter().next().is_none() {
        return Changed(false);
    }
    let escapes = Escapes::new(func);
    let writes = LoopWrites::new(func, &loops);
    let search = Search { cfg: &cfg, dom: &dom, loops: &loops, escapes: &escapes, writes: &writes };
    if !innermost(&loops).into_iter().any(|id| !search.all(func, id).is_empty()) {
        return Changed(false);
    }
    let Some((cfg, dom, loops)) = loop_form::run(func) else { return Changed(false) };
    let writes = LoopWrites::new(func, &loops);
    let mut replacements = Replacements::default();
    for id in innermost(&loops) {
        let found = Search { cfg: &cfg, dom: &dom, loops: &loops, escapes: &escapes, writes: &writes }.all(func, id);
        let data = loops.get(id);
        let (Some(preheader), &[latch]) = (loop_form::preheader(&cfg, data), data.latches.as_slice()) else { continue };
        for ChosenLoad { load, at, carried, choice } in found {
            let loaded = func.dfg.result(load);
            if let Some(param) = carried {
                let value = choice.build(func, (at, Some(load)), param);
                func.layout.remove_inst(load);
                replacements.set(loaded, value);
            } else {
                let value = choice.build(func, (at, None), loaded);
                apply(func, &PassedOn { load, value }, &loops, (id, preheader, latch), &mut replacements);
            }
        }
    }
    replacements.apply(func);
    Changed(true)
}

/// A load that is executed in each iteration of a loop.
struct Load {
    inst: Inst,
    block: Block,
    /// The position in the block.
    position: usize,
    pointer: Value,
    ty: Type,
    /// The address.
    form: Linear,
    /// Whether the first iteration loads before anything else can end it.
    always: bool,
}

/// What the next iteration loads in place of what this one has loaded.
enum Choice {
    /// The same.
    Kept,
    /// What another load has.
    Loaded(Value),
    /// One or the other.
    Select(Value, Box<[Choice; 2]>),
    /// One for each edge to a block, by the blocks from which they come.
    Join(Block, Vec<(Block, Vec<Choice>)>),
}

impl Choice {
    /// Emits the choice in a block, before an instruction or at the end; `kept` is what this iteration has loaded.
    fn build(&self, func: &mut Function, (at, before): (Block, Option<Inst>), kept: Value) -> Value {
        match self {
            Choice::Kept => kept,
            &Choice::Loaded(value) => value,
            Choice::Select(cond, ways) => {
                let [then, otherwise] = [&ways[0], &ways[1]].map(|way| way.build(func, (at, before), kept));
                let insts = func.layout.insts(at);
                let index = before.and_then(|before| insts.iter().position(|&inst| inst == before));
                let index = index.unwrap_or(insts.len() - 1);
                Builder::before(func, at, index).select(*cond, then, otherwise)
            }
            Choice::Join(block, edges) => {
                let param = func.dfg.append_param(*block, func.dfg.ty(kept));
                for (pred, choices) in edges {
                    let values: Vec<Value> =
                        choices.iter().map(|choice| choice.build(func, (*pred, None), kept)).collect();
                    let Some(terminator) = func.layout.terminator(*pred) else { continue };
                    let targets = func.dfg.targets_mut(terminator).into_iter().filter(|target| target.block == *block);
                    for (target, value) in targets.zip(values) {
                        target.args.push(value);
                    }
                }
                param
            }
        }
    }
}

/// A load at a chosen index.
struct ChosenLoad {
    load: Inst,
    /// Where the choice is made.
    at: Block,
    /// If the load is that of the next iteration, the parameter that the loop carries it in.
    carried: Option<Value>,
    choice: Choice,
}

/// What the search for such loads needs to know of a function.
struct Search<'a> {
    cfg: &'a Cfg,
    dom: &'a DomTree,
    loops: &'a LoopForest,
    escapes: &'a Escapes,
    writes: &'a LoopWrites,
}

impl Search<'_> {
    /// All loads at chosen indices in a loop.
    fn all(&self, func: &Function, id: LoopId) -> Vec<ChosenLoad> {
        let data = self.loops.get(id);
        let &[latch] = data.latches.as_slice() else { return Vec::new() };
        let length: usize = data.blocks.iter().map(|&block| func.layout.insts(block).len()).sum();
        let forms = LinearForms { func, loops: self.loops, id, latch };
        let chosen: Vec<Value> =
            func.dfg.params(data.header).iter().copied().filter(|&param| is_chosen(&forms, param)).collect();
        if length > MAX_INSTS || chosen.is_empty() {
            return Vec::new();
        }
        let leaves = |&block: &Block| self.cfg.succs(block).iter().any(|&succ| !self.loops.contains(id, succ));
        let exiting: Vec<Block> = data.blocks.iter().copied().filter(leaves).collect();
        let mut loads: Vec<Load> = Vec::new();
        for &block in data.blocks.iter().filter(|&&block| self.dom.dominates(block, latch)) {
            let always = exiting.iter().all(|&exit| self.dom.dominates(block, exit));
            for (position, &inst) in func.layout.insts(block).iter().enumerate() {
                loads.extend(self.load(&forms, (inst, block, position), always));
            }
        }
        if loads.len() > MAX_LOADS {
            return Vec::new();
        }
        let source = Source { cfg: self.cfg, dom: self.dom, forms: &forms, loads: &loads };
        let of_this = |load: &Load| {
            let at = |&param: &Value| {
                source.choice(load, ChosenIndex::This(param), forms.next_of(param)?, latch, MAX_CHOICES)
            };
            let choice = chosen.iter().filter(|_| load.always).find_map(at)?;
            Some(ChosenLoad { load: load.inst, at: latch, carried: None, choice })
        };
        let of_next = |load: &Load| {
            let preheader = loop_form::preheader(self.cfg, data)?;
            let (carried, first) = self.carried(&forms, load, preheader)?;
            let at = |&param: &Value| {
                let next = forms.next_of(param)?;
                let entered = forms.passed(param, preheader)?;
                let entry = forms.of(load.pointer, Iteration::ThisWith { of: next, value: entered })?;
                let index = ChosenIndex::Next { next, param };
                (entry == first).then(|| source.choice(load, index, next, load.block, MAX_CHOICES)).flatten()
            };
            let choice = chosen.iter().find_map(at)?;
            Some(ChosenLoad { load: load.inst, at: load.block, carried: Some(carried), choice })
        };
        let found = loads.iter().filter_map(|load| of_this(load).or_else(|| of_next(load)));
        found.filter(|found| !matches!(found.choice, Choice::Kept | Choice::Loaded(_))).collect()
    }

    /// The parameter of the header in which a loop carries what a load has loaded for the next iteration, and the address from
    /// where it has been loaded before the loop.
    fn carried(&self, forms: &LinearForms<'_>, load: &Load, preheader: Block) -> Option<(Value, Linear)> {
        let func = forms.func;
        let loaded = func.dfg.result(load.inst);
        let params = func.dfg.params(self.loops.get(forms.id).header).iter().copied();
        params.filter(|&param| forms.next_of(param) == Some(loaded)).find_map(|param| {
            let first = func.dfg.def_inst(forms.passed(param, preheader)?)?;
            let data = func.dfg.inst(first);
            let &Imm::Mem(mem) = &data.imm else { return None };
            let place = Place::of_access(func, data.args[0], &mem, load.ty);
            let is_same = data.op == Opcode::Load && func.dfg.ty(func.dfg.result(first)) == load.ty;
            (is_same && self.is_kept(func, first, preheader, &place)).then_some(())?;
            Some((param, forms.of(data.args[0], Iteration::This)?))
        })
    }

    /// Whether nothing changes the memory of a load between it and the end of a block, to which only straight-line code leads.
    fn is_kept(&self, func: &Function, load: Inst, end: Block, place: &Place) -> bool {
        let mut at = end;
        for _ in 0..MAX_BLOCKS {
            for &inst in func.layout.insts(at).iter().rev() {
                if inst == load {
                    return true;
                }
                if Write::of(func, inst).is_some_and(|write| write.may_change(place, self.escapes)) {
                    return false;
                }
            }
            let &[pred] = self.cfg.preds(at) else { return false };
            at = pred;
        }
        false
    }

    /// A plain load of memory that the loop does not change.
    fn load(
        &self,
        forms: &LinearForms<'_>,
        (inst, block, position): (Inst, Block, usize),
        always: bool,
    ) -> Option<Load> {
        let func = forms.func;
        let data = func.dfg.inst(inst);
        let (Opcode::Load, &Imm::Mem(mem @ MemInfo { volatile: false, .. })) = (data.op, &data.imm) else {
            return None;
        };
        let (pointer, ty) = (data.args[0], func.dfg.ty(func.dfg.result(inst)));
        let place = Place::of_access(func, pointer, &mem, ty);
        if self.writes.may_change(forms.id, &place, self.escapes) {
            return None;
        }
        let form = forms.of(pointer, Iteration::This)?;
        Some(Load { inst, block, position, pointer, ty, form, always })
    }
}

/// Whether the latch passes to a parameter of the header what a select or the edges to a block have chosen.
fn is_chosen(forms: &LinearForms<'_>, param: Value) -> bool {
    let func = forms.func;
    let Some(next) = forms.next_of(param).filter(|&next| forms.is_inside(next)) else { return false };
    match func.dfg.def(next) {
        ValueDef::Result(inst, _) => func.dfg.inst(inst).op == Opcode::Select,
        ValueDef::Param(block, _) => block != forms.loops.get(forms.id).header,
    }
}

/// The index of a load that is chosen.
#[derive(Clone, Copy)]
enum ChosenIndex {
    /// It depends on this parameter of the header.
    This(Value),
    /// It depends on what is passed to a parameter of the header.
    Next { next: Value, param: Value },
}

/// Finds what the next iteration loads in place of what this one has loaded.
struct Source<'a> {
    cfg: &'a Cfg,
    dom: &'a DomTree,
    forms: &'a LinearForms<'a>,
    /// The loads that each iteration executes.
    loads: &'a [Load],
}

impl Source<'_> {
    /// The choice at the end of block `at`, if `value` is passed to the parameter on which the address depends.
    fn choice(&self, load: &Load, index: ChosenIndex, value: Value, at: Block, depth: u32) -> Option<Choice> {
        let &Source { cfg, dom, forms, loads } = self;
        let func = forms.func;
        let iteration = match index {
            ChosenIndex::This(param) => Iteration::NextWith { param, value },
            ChosenIndex::Next { next, .. } => Iteration::ThisWith { of: next, value },
        };
        let form = forms.of(load.pointer, iteration);
        let is_kept = match index {
            ChosenIndex::This(_) => form.as_ref() == Some(&load.form),
            ChosenIndex::Next { param, .. } => value == param,
        };
        if is_kept {
            return Some(Choice::Kept);
        }
        // What is chosen in place of a load of the next iteration has to be known before that load.
        let is_late = |other: &Load| {
            matches!(index, ChosenIndex::Next { .. }) && other.block == load.block && other.position >= load.position
        };
        let same = |other: &&Load| {
            !is_late(other)
                && other.inst != load.inst
                && other.ty == load.ty
                && Some(&other.form) == form.as_ref()
                && dom.dominates(other.block, at)
        };
        if let Some(other) = loads.iter().find(same) {
            return Some(Choice::Loaded(func.dfg.result(other.inst)));
        }
        let depth = depth.checked_sub(1)?;
        match func.dfg.def(value) {
            ValueDef::Result(inst, _) => {
                let data = func.dfg.inst(inst);
                let (Opcode::Select, &[cond, then, otherwise]) = (data.op, data.args.as_slice()) else { return None };
                if func.dfg.ty(cond).is_vector() {
                    return None;
                }
                let way = |value| self.choice(load, index, value, at, depth);
                Some(Choice::Select(cond, Box::new([way(then)?, way(otherwise)?])))
            }
            ValueDef::Param(block, number) => {
                if block == forms.loops.get(forms.id).header || !forms.is_inside(value) {
                    return None;
                }
                let mut edges = Vec::new();
                for &pred in cfg.preds(block) {
                    let targets = func.dfg.targets(func.layout.terminator(pred)?);
                    let to_here = targets.iter().filter(|target| target.block == block);
                    let way =
                        |target: &BlockCall| self.choice(load, index, target.args[usize::from(number)], pred, depth);
                    edges.push((pred, to_here.map(|target| way(target)).collect::<Option<Vec<Choice>>>()?));
                }
                Some(Choice::Join(block, edges))
            }
        }
    }
}
