//! Regions that at most one lane of a pack executes, as scalar code.
//!
//! ```text
//! B: branch lid == 0, E, J                       B: branch lid == 0, E, J
//! E: for (i = 0; i < n; i++) s += a[i]     ->    E: s' = call region 0 (n, a)
//!    jump J(s')                                     jump J(s')
//! ```
//!
//! A condition such as `get_local_id(0) == 0` holds for one lane at most, and what it guards is serial: the sums of a block, the
//! copy of a list, the head of a queue. As code of a pack it would be masked instructions with one active lane. So the region
//! becomes a function of its own, which the pack calls for its active lane ([`mod@inline`] puts it back as scalar code once the
//! rest of the kernel has become the code of a pack). There it is optimized like a kernel with one lane: iterations of its
//! loops become lanes.
//!
//! A region is all that one target of the branch dominates, up to the one block where it ends. Only regions with loops, and long
//! ones, are worth it. Deliberately not here: regions in which work-items meet or exchange values, and those that use private
//! variables of the rest of the kernel, which are laid out for all lanes.

mod conditions;
mod inline;

pub(crate) use inline::{Vectorizer, run as inline};

use std::cell::OnceCell;
use std::rc::Rc;

use clift_kir::clone::Cloner;
use clift_kir::inst::Imm;
use clift_kir::ops::{CallOp, OpClass};
use clift_kir::{Block, Builder, Func, Function, Inst, Opcode, Space, Stage, Type, Value};
use cranelift_entity::{EntityRef, EntitySet};
use rustc_hash::FxHashSet;

use self::conditions::Known;
use super::normalize::{self, NormalForm};
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::class::{Class, class};
use crate::spmd::cost::throughput::estimate;
use crate::target::machine::{MAX_LANES, Machine};

/// The fewest instructions of a region without a loop.
const LONG: usize = 64;
/// The most instructions of a region, which is optimized by itself.
const MAX_INSTS: usize = 5000;
/// The offsets of a region's arguments, which are beyond those of the kernel.
const FIRST_ARG: u32 = 1 << 30;
/// Bytes of the argument block for each of them.
const ARG_BYTES: u32 = Type::MAX_LANES * 8;

/// The regions of a kernel that at most one lane executes, by the numbers in their calls.
pub(crate) type SingleLaneRegions = Rc<Vec<SingleLaneRegion>>;

/// A region as a function.
#[derive(Debug)]
pub(crate) struct SingleLaneRegion {
    /// At stage *canonical*. Arguments from [`FIRST_ARG`] are the operands of the call; all others are the kernel's.
    func: Function,
    /// What it costs by the model.
    pub(crate) cost: f64,
    /// The function with vectors of one lane's neighbouring elements and iterations, once that has been made.
    vectorized: OnceCell<Function>,
}

/// The kernel with calls in place of such regions; `None` if it has none.
pub(crate) fn run(normal: &NormalForm, machine: &Machine) -> Option<NormalForm> {
    debug_assert!(normal.single_lane.is_empty(), "broken invariant: regions twice");
    let divergence = normal.divergence(MAX_LANES, false);
    let mut regions: Vec<Region> = Vec::new();
    let mut taken: EntitySet<Block> = EntitySet::new();
    for &block in normal.cfg.rpo() {
        if taken.contains(block) || !divergence.diverges(block) {
            continue;
        }
        let Some(branch) = normal.func.layout.terminator(block).map(|last| normal.func.dfg.inst(last)) else {
            continue;
        };
        let Imm::Branch(calls) = &branch.imm else { continue };
        for (call, holds) in calls.iter().zip([true, false]) {
            let Some(known) = conditions::of_single_lane(&normal.func, &divergence, branch.args[0], holds) else {
                continue;
            };
            let Some(region) = Region::of(normal, block, call.block, known) else { continue };
            taken.extend(region.blocks.iter().copied());
            regions.push(region);
        }
    }
    let mut func = normal.func.clone();
    let mut made: Vec<SingleLaneRegion> = Vec::new();
    for region in &regions {
        let (body, operands, passed) = Outliner::outline(normal, region);
        let Some(alone) = normalize::run(&body) else { continue };
        let cost = estimate(&alone, &alone.divergence(1, true), 1, machine).scalar;
        replace(&mut func, region, (made.len(), &body.returns, &operands), &passed);
        made.push(SingleLaneRegion { func: body, cost, vectorized: OnceCell::new() });
    }
    if made.is_empty() {
        return None;
    }
    let mut normal = normalize::run_owned(func)?;
    normal.single_lane = Rc::new(made);
    Some(normal)
}

/// Whether a condition has the value `holds` for one lane of a pack at most.
pub(crate) fn is_of_single_lane(func: &Function, divergence: &Divergence, condition: Value, holds: bool) -> bool {
    conditions::of_single_lane(func, divergence, condition, holds).is_some()
}

/// A region of a kernel.
struct Region {
    /// In reverse postorder, so that the first one is where it begins.
    blocks: Vec<Block>,
    /// Where all its paths end.
    end: Block,
    /// What is known of a value where the region is executed.
    known: Known,
}

impl Region {
    /// The region that begins at a target of a branch, if it can be a function and that pays.
    fn of(normal: &NormalForm, from: Block, start: Block, known: Known) -> Option<Region> {
        let NormalForm { func, cfg, dom, loops, .. } = normal;
        let level = loops.innermost(from);
        let alone = matches!(*cfg.preds(start), [pred] if pred == from);
        if !alone || loops.headed_by(start).is_some() || loops.innermost(start) != level {
            return None;
        }
        let mut found: EntitySet<Block> = EntitySet::new();
        let mut work = vec![start];
        let mut end = None;
        found.insert(start);
        while let Some(block) = work.pop() {
            let succs = cfg.succs(block);
            if succs.is_empty() {
                return None;
            }
            for &succ in succs {
                if dom.dominates(start, succ) {
                    if found.insert(succ) {
                        work.push(succ);
                    }
                } else if *end.get_or_insert(succ) != succ {
                    return None;
                }
            }
        }
        let end = end?;
        // It neither leaves the loop around it nor goes to its next iteration.
        let is_loop = |&id: &_| loops.get(id).header == end;
        if loops.innermost(end) != level || level.as_ref().is_some_and(is_loop) {
            return None;
        }
        let blocks: Vec<Block> = cfg.rpo().iter().copied().filter(|&block| found.contains(block)).collect();
        let has_loop = blocks.iter().any(|&block| loops.innermost(block) != level);
        let insts: usize = blocks.iter().map(|&block| func.layout.insts(block).len()).sum();
        let pays = (has_loop || insts >= LONG) && insts <= MAX_INSTS;
        let region = Region { blocks, end, known };
        (pays && region.can_be_function(normal, &found, level.is_none())).then_some(region)
    }

    fn can_be_function(&self, normal: &NormalForm, found: &EntitySet<Block>, once: bool) -> bool {
        let func = &normal.func;
        let outside = |value: Value| func.def_block(value).is_none_or(|home| !found.contains(home));
        let mut private: FxHashSet<Value> = FxHashSet::default();
        for &inst in self.blocks.iter().flat_map(|&block| func.layout.insts(block)) {
            if !is_serial(func, inst) {
                return false;
            }
            func.dfg.for_each_use(inst, |value| {
                if func.dfg.ty(value).elem.space() == Some(Space::Private) && outside(value) {
                    private.insert(value);
                }
            });
        }
        // The private variables that only the region uses are its own, unless another execution may see what one has left there.
        if private.is_empty() {
            return true;
        }
        let is_slot = |&value: &Value| {
            func.dfg.def_inst(value).is_some_and(|inst| class(func.dfg.inst(inst).op) == Class::SlotAddr)
        };
        let mut elsewhere = false;
        for &block in normal.cfg.rpo().iter().filter(|&&block| !found.contains(block)) {
            for &inst in func.layout.insts(block) {
                func.dfg.for_each_use(inst, |value| elsewhere |= private.contains(&value));
            }
        }
        once && !elsewhere && private.iter().all(is_slot)
    }
}

/// Whether an instruction means the same in a function that one lane executes.
fn is_serial(func: &Function, inst: Inst) -> bool {
    let op = func.dfg.inst(inst).op;
    match op.class() {
        OpClass::Call(CallOp::Call | CallOp::Request | CallOp::Check) => return false,
        OpClass::Call(CallOp::LibCall | CallOp::Printf | CallOp::Clock) => return true,
        OpClass::Leaf(_)
        | OpClass::Int(_)
        | OpClass::Float(_)
        | OpClass::Convert(_)
        | OpClass::Lane(_)
        | OpClass::Address(_)
        | OpClass::Memory(_)
        | OpClass::Query(_)
        | OpClass::Sync(_)
        | OpClass::Collective(_)
        | OpClass::Image(_)
        | OpClass::Terminator(_) => {}
    }
    match class(op) {
        Class::Constant
        | Class::Arg
        | Class::ArgAddr
        | Class::GlobalAddr
        | Class::InSpace
        | Class::Cheap
        | Class::Load
        | Class::Plain
        | Class::Branch => true,
        // Queries are outside, in the entry.
        Class::SlotAddr
        | Class::Query(_)
        | Class::Barrier
        | Class::NamedBarrier
        | Class::Yield
        | Class::Collective
        | Class::End
        | Class::Image => false,
    }
}

/// What an edge from a region to its end passes for a parameter there.
#[derive(Clone, Copy)]
enum Passed {
    /// The same value from outside in all cases.
    Same(Value),
    /// The result of the call with this number.
    Result(usize),
}

/// Makes the function of a region.
struct Outliner<'a> {
    from: &'a Function,
    func: Function,
    entry: Block,
    cloner: Cloner<'a>,
    operands: Vec<Value>,
}

impl Outliner<'_> {
    /// The function, the operands of its call, and what the end of the region gets.
    fn outline(normal: &NormalForm, region: &Region) -> (Function, Vec<Value>, Vec<Passed>) {
        let from = &normal.func;
        let mut inside: EntitySet<Block> = EntitySet::new();
        inside.extend(region.blocks.iter().copied());
        let passed = passed(normal, region, &inside);
        let params = from.dfg.params(region.end);
        let is_result = |i: usize| matches!(passed[i], Passed::Result(_));
        let returns: Vec<Type> = (0..params.len()).filter(|&i| is_result(i)).map(|i| from.dfg.ty(params[i])).collect();
        let mut func = Function::new(from.name.clone(), &returns);
        func.stage = Stage::Canonical;
        func.inlined_calls.clone_from(&from.inlined_calls);
        let entry = func.append_block();
        let mut outliner = Outliner { from, func, entry, cloner: Cloner::of(from), operands: Vec::new() };
        for &block in &region.blocks {
            let copy = outliner.cloner.copy_block(&mut outliner.func, block);
            outliner.func.layout.append_block(copy);
        }
        let last = outliner.func.append_block();
        outliner.cloner.set_block(region.end, last);
        let (value, is) = match region.known {
            Known::Equal(value, to) => (value, outliner.operand(to)),
            Known::Zero(value) => (value, Builder::at_end(&mut outliner.func, entry).iconst(from.dfg.ty(value), 0)),
        };
        outliner.cloner.set_value(value, is);
        for &block in &region.blocks {
            outliner.block(block, region.end, &inside, is_result);
        }
        let results: Vec<Value> = returns.iter().map(|&ty| outliner.func.dfg.append_param(last, ty)).collect();
        Builder::at_end(&mut outliner.func, last).ret(&results);
        let start = outliner.cloner.block(region.blocks[0]);
        let Outliner { mut func, mut cloner, operands, .. } = outliner;
        cloner.finish(&mut func);
        let Some(start) = start else { unreachable!("broken invariant: a region without blocks") };
        Builder::at_end(&mut func, entry).jump(start, &[]);
        (func, operands, passed)
    }

    /// Copies the instructions of a block.
    fn block(&mut self, block: Block, end: Block, inside: &EntitySet<Block>, is_result: impl Fn(usize) -> bool) {
        let from = self.from;
        let Some(copy) = self.cloner.block(block) else { unreachable!("broken invariant: {block} has no copy") };
        let is_used = |to: Block, i: usize| to != end || is_result(i);
        for &inst in from.layout.insts(block) {
            let targets = from.dfg.targets(inst);
            let passed = targets.iter().flat_map(|call| {
                call.args.iter().enumerate().filter(|&(i, _)| is_used(call.block, i)).map(|(_, &arg)| arg)
            });
            let uses: Vec<Value> = from.dfg.inst(inst).args.iter().copied().chain(passed).collect();
            for value in uses {
                if from.def_block(value).is_none_or(|home| !inside.contains(home)) {
                    self.operand(value);
                }
            }
            let made = self.cloner.append(&mut self.func, copy, inst);
            for call in self.func.dfg.targets_mut(made) {
                if call.block == end {
                    let mut i = 0;
                    call.args.retain(|_| {
                        i += 1;
                        is_result(i - 1)
                    });
                }
            }
        }
    }

    /// What stands for a value from outside: leaves and addresses are copied, so that what they point to stays known, and all
    /// others are operands of the call.
    fn operand(&mut self, value: Value) -> Value {
        if let Some(known) = self.cloner.value(value) {
            return known;
        }
        let from = self.from;
        if let Some(inst) = from.dfg.def_inst(value) {
            let data = from.dfg.inst(inst);
            let is_leaf = match class(data.op) {
                Class::Constant | Class::Arg | Class::ArgAddr | Class::GlobalAddr | Class::SlotAddr => true,
                Class::Query(_)
                | Class::InSpace
                | Class::Cheap
                | Class::Load
                | Class::Plain
                | Class::Barrier
                | Class::NamedBarrier
                | Class::Yield
                | Class::Collective
                | Class::Branch
                | Class::End
                | Class::Image => false,
            };
            if is_leaf || data.op == Opcode::Addr && !from.dfg.ty(value).is_vector() {
                for &arg in &data.args {
                    self.operand(arg);
                }
                self.cloner.append(&mut self.func, self.entry, inst);
                if let Some(copy) = self.cloner.value(value) {
                    return copy;
                }
            }
        }
        let offset = FIRST_ARG + self.operands.len() as u32 * ARG_BYTES;
        self.operands.push(value);
        let ty = from.dfg.ty(value);
        let mut b = Builder::at_end(&mut self.func, self.entry);
        // Local arguments would be taken for different objects.
        let arg = match ty.elem.space() {
            Some(Space::Local) => {
                let anywhere = b.arg(offset, Type::ptr(Space::Generic).with_lanes(ty.lanes()));
                b.cast(Opcode::SpaceCast, anywhere, ty)
            }
            Some(_) | None => b.arg(offset, ty),
        };
        self.cloner.set_value(value, arg);
        arg
    }
}

/// What the edges from a region pass to the parameters of its end.
fn passed(normal: &NormalForm, region: &Region, inside: &EntitySet<Block>) -> Vec<Passed> {
    let func = &normal.func;
    let edges = || {
        let ends = region.blocks.iter().filter_map(|&block| func.layout.terminator(block));
        ends.flat_map(|last| func.dfg.targets(last)).filter(|call| call.block == region.end)
    };
    let mut results = 0;
    (0..func.dfg.params(region.end).len())
        .map(|i| {
            let mut args = edges().map(|call| call.args[i]);
            let first = args.next().filter(|&arg| func.def_block(arg).is_none_or(|home| !inside.contains(home)));
            if let Some(first) = first.filter(|&first| args.all(|arg| arg == first)) {
                return Passed::Same(first);
            }
            results += 1;
            Passed::Result(results - 1)
        })
        .collect()
}

/// Puts the call of a region in its place.
fn replace(
    func: &mut Function,
    region: &Region,
    (number, returns, operands): (usize, &[Type], &[Value]),
    passed: &[Passed],
) {
    let start = region.blocks[0];
    let loc =
        func.layout.insts(start).iter().map(|&inst| func.locs[inst]).find(|loc| loc.line != 0).unwrap_or_default();
    for &block in &region.blocks {
        if block == start {
            func.layout.set_insts(start, Vec::new());
        } else {
            func.layout.remove_block(block);
        }
    }
    let mut b = Builder::at_end(func, start);
    b.set_loc(loc);
    let call = b.inst(Opcode::Call, operands, Imm::Func(Func::new(number)), returns);
    let results = b.func.dfg.results(call).to_vec();
    let args: Vec<Value> = passed
        .iter()
        .map(|passed| match *passed {
            Passed::Same(value) => value,
            Passed::Result(index) => results[index],
        })
        .collect();
    b.jump(region.end, &args);
}
