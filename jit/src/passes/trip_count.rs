//! How often loops with constant bounds are executed, found by executing their counters.
//!
//! A counter is a parameter of the header that starts as a constant. Whatever is computed from counters and constants is known in
//! each iteration, so a branch on it is, too. This covers all steps and conditions, also `i *= 2`.

use clift_kir::analysis::{Cfg, DomTree, Loop, LoopForest, LoopId};
use clift_kir::dfg::{ConstData, ValueDef};
use clift_kir::{Block, Function, Global, Imm, Opcode, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::simplify::evaluate;
use super::{Globals, constant_loads, loop_form};

/// How many definitions deep a value is evaluated.
const MAX_DEPTH: u32 = 16;

/// How many values are looked at to find where a counter comes from.
const MAX_SOURCES: usize = 16;

/// How many values are looked at to find what decides how often a loop is executed.
const MAX_DECIDING: usize = 1000;

/// A place where a loop is left after a constant number of iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TripCount {
    /// The block whose branch leaves the loop.
    pub(super) block: Block,
    /// Which of the branch's targets stays in the loop.
    pub(super) stays: usize,
    /// How often the branch is executed; the last time, it leaves the loop.
    pub(crate) times: u64,
}

/// The first of the places at which a loop, in the form of [`loop_form`], is left after at most `limit` iterations. The loop
/// may be left earlier elsewhere.
pub(crate) fn of_loop(
    func: &Function,
    analyses: (&Cfg, &DomTree, &LoopForest),
    id: LoopId,
    limit: u64,
) -> Option<TripCount> {
    up_to(func, analyses, id, limit).filter(|found| found.times <= limit)
}

/// As [`of_loop`], where `limit + 1` stands for any larger number.
fn up_to(
    func: &Function,
    (cfg, dom, loops): (&Cfg, &DomTree, &LoopForest),
    id: LoopId,
    limit: u64,
) -> Option<TripCount> {
    let data = loops.get(id);
    let &[latch] = data.latches.as_slice() else { return None };
    let preheader = loop_form::preheader(cfg, data)?;
    let every_iteration =
        data.blocks.iter().copied().filter(|&block| dom.dominates(block, latch) && loops.innermost(block) == Some(id));
    let mut best: Option<TripCount> = None;
    for block in every_iteration {
        let Some(terminator) = func.layout.terminator(block) else { continue };
        let branch = func.dfg.inst(terminator);
        let Imm::Branch(calls) = &branch.imm else { continue };
        let stays = match [loops.contains(id, calls[0].block), loops.contains(id, calls[1].block)] {
            [true, false] => 0,
            [false, true] => 1,
            [true, true] | [false, false] => continue,
        };
        let limit = best.map_or(limit, |best| best.times - 1);
        let deciding = deciding_params(func, cfg, &[data.header], vec![branch.args[0]]);
        let mut counters = Counters::start(func, data, preheader, &deciding);
        if let Some(times) = counters.execute(func, data, latch, branch.args[0], stays, limit)
            && best.is_none_or(|best| times < best.times)
        {
            best = Some(TripCount { block, stays, times });
        }
    }
    best
}

/// How many iterations a loop in the form of [`loop_form`] has each time it is entered, `limit` if there are more; `None` if
/// something other than constants decides. A loop that may be left earlier elsewhere has `usual` at most.
pub(crate) fn expected(
    func: &Function,
    analyses: (&Cfg, &DomTree, &LoopForest),
    id: LoopId,
    (usual, limit): (u64, u64),
) -> Option<u64> {
    let (cfg, _, loops) = analyses;
    let data = loops.get(id);
    let TripCount { block, times, .. } = up_to(func, analyses, id, limit + 1)?;
    // The branch of a header is executed once more than the blocks behind it.
    let leaves_first = block == data.header && !data.latches.contains(&block);
    let iterations = if leaves_first { times - 1 } else { times }.min(limit);
    let leaves = |&from: &&Block| cfg.succs(*from).iter().any(|&to| !loops.contains(id, to));
    let exits = data.blocks.iter().filter(leaves).count();
    Some(if exits > 1 { iterations.min(usual) } else { iterations })
}

/// How many iterations a loop has on average that continues with the counter of another one in smaller steps, as what is left of
/// vectors or of unrolled iterations: `for (; j < n - 7; j += 8) ...; for (; j < n; j++) ...`. `ignores` takes the headers of
/// other loops that do not matter.
pub(crate) fn remainder(
    func: &Function,
    (cfg, _, loops): (&Cfg, &DomTree, &LoopForest),
    id: LoopId,
    ignores: impl Fn(Block) -> bool,
) -> Option<f64> {
    // By how much the parameter of a loop's header grows in each iteration.
    let step = |id: LoopId, index: usize| {
        let data = loops.get(id);
        let &[latch] = data.latches.as_slice() else { return None };
        let next = *loop_form::args_of_edge(func, latch, data.header)?.get(index)?;
        let grows = func.dfg.inst(func.dfg.def_inst(next)?);
        let (Opcode::Iadd, &[from, by]) = (grows.op, grows.args.as_slice()) else { return None };
        let by = func.dfg.as_splat_bits(by).filter(|&by| (1..1 << 16).contains(&by))?;
        (from == func.dfg.params(data.header)[index]).then_some((next, by))
    };
    let data = loops.get(id);
    let preheader = loop_form::preheader(cfg, data)?;
    let mut least: Option<f64> = None;
    for (index, &start) in loop_form::args_of_edge(func, preheader, data.header)?.iter().enumerate() {
        let Some((_, own)) = step(id, index) else { continue };
        let mut work = vec![start];
        let mut seen: FxHashSet<Value> = FxHashSet::default();
        while let Some(value) = work.pop() {
            if !seen.insert(value) || seen.len() > MAX_SOURCES {
                continue;
            }
            let block = func.def_block(value);
            // The innermost loop with the value may have it as a counter.
            let other = block.and_then(|block| loops.innermost(block)).filter(|&other| {
                other != id && !loops.contains(other, data.header) && !ignores(loops.get(other).header)
            });
            if let Some(other) = other {
                let params = func.dfg.params(loops.get(other).header);
                let counted = (0..params.len())
                    .find_map(|index| step(other, index).filter(|&(next, _)| params[index] == value || next == value));
                if let Some((_, by)) = counted.filter(|&(_, by)| by > own) {
                    let rest = (by as f64 / own as f64 - 1.0) / 2.0;
                    least = Some(least.map_or(rest, |least| least.min(rest)));
                    continue;
                }
            }
            if let ValueDef::Param(block, index) = func.dfg.def(value) {
                for &pred in cfg.preds(block) {
                    let args = loop_form::args_of_edge(func, pred, block);
                    work.extend(args.and_then(|args| args.get(usize::from(index))));
                }
            }
        }
    }
    least
}

/// How many iterations the loops of a nest have in all, if the counters of the loops around each loop decide when it is left,
/// also through tables in constant variables. At most `limit` iterations of all loops are counted.
pub(super) fn of_nest(
    func: &Function,
    globals: &Globals,
    (cfg, dom, loops): (&Cfg, &DomTree, &LoopForest),
    id: LoopId,
    limit: u64,
) -> Option<FxHashMap<LoopId, u64>> {
    let nest = Nest { func, cfg, dom, loops };
    let deciding = nest.deciding_params(id);
    let mut run = NestRun { nest, globals, deciding: &deciding, left: limit, iterations: FxHashMap::default() };
    run.execute(id, &FxHashMap::default())?;
    Some(run.iterations)
}

/// The header parameters of loops on which conditions depend, through parameters of the same loops and at most [`MAX_DECIDING`]
/// values.
fn deciding_params(func: &Function, cfg: &Cfg, headers: &[Block], conditions: Vec<Value>) -> FxHashSet<Value> {
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    let mut params: FxHashSet<Value> = FxHashSet::default();
    let mut work = conditions;
    while let Some(value) = work.pop() {
        if seen.len() == MAX_DECIDING || !seen.insert(value) {
            continue;
        }
        match func.dfg.def(value) {
            ValueDef::Result(inst, _) => work.extend(&func.dfg.inst(inst).args),
            ValueDef::Param(block, index) if headers.contains(&block) => {
                params.insert(value);
                let args = cfg.preds(block).iter().filter_map(|&pred| loop_form::args_of_edge(func, pred, block));
                work.extend(args.filter_map(|args| args.get(usize::from(index))));
            }
            ValueDef::Param(..) => {}
        }
    }
    params
}

/// A function whose nests of loops are executed.
#[derive(Clone, Copy)]
struct Nest<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    dom: &'a DomTree,
    loops: &'a LoopForest,
}

/// The execution of the counters of a nest of loops.
struct NestRun<'a> {
    nest: Nest<'a>,
    globals: &'a Globals,
    /// The parameters of the nest's headers that decide how often loops are executed.
    deciding: &'a FxHashSet<Value>,
    /// How many more iterations may be executed.
    left: u64,
    /// The iterations of each loop so far.
    iterations: FxHashMap<LoopId, u64>,
}

impl NestRun<'_> {
    /// Executes a loop, from its entry until it is left. `around` has the values of the counters of the loops around it.
    fn execute(&mut self, id: LoopId, around: &FxHashMap<Value, Option<ConstData>>) -> Option<()> {
        let Nest { func, cfg, loops, .. } = self.nest;
        let data = loops.get(id);
        let &[latch] = data.latches.as_slice() else { return None };
        let preheader = loop_form::preheader(cfg, data)?;
        let params = func.dfg.params(data.header);
        let mut counters = Counters {
            globals: Some(self.globals),
            params,
            deciding: self.deciding,
            values: Vec::new(),
            known: around.clone(),
        };
        counters.step(func, loop_form::args_of_edge(func, preheader, data.header)?);
        let next = loop_form::args_of_edge(func, latch, data.header)?;
        let inner = self.nest.inner(id);
        let exits = self.nest.exits(id);
        loop {
            self.left = self.left.checked_sub(1)?;
            *self.iterations.entry(id).or_default() += 1;
            counters.known = around.clone();
            counters.known.extend(params.iter().copied().zip(counters.values.iter().cloned()));
            for &inner in &inner {
                let guard = self.nest.guard(inner).and_then(|(condition, enters)| {
                    let holds = counters.evaluate(func, condition, 0)?.as_splat()?;
                    Some((holds != 0) == enters)
                });
                if guard != Some(false) {
                    self.execute(inner, &counters.known)?;
                }
            }
            for &(condition, leaves) in &exits {
                let holds = counters.evaluate(func, condition, 0).and_then(|condition| condition.as_splat());
                if holds.is_some_and(|holds| (holds != 0) == leaves) {
                    return Some(());
                }
            }
            counters.step(func, next);
        }
    }
}

impl Nest<'_> {
    /// The loops that are directly within a loop.
    fn inner(&self, id: LoopId) -> Vec<LoopId> {
        let Nest { loops, .. } = self;
        let begins = |&block: &Block| loops.innermost(block).filter(|&inner| loops.get(inner).header == block);
        let headers = loops.get(id).blocks.iter().filter_map(begins);
        headers.filter(|&inner| loops.get(inner).parent == Some(id)).collect()
    }

    /// The branches that each iteration executes and that may leave the loop: their conditions, and what these are then.
    fn exits(&self, id: LoopId) -> Vec<(Value, bool)> {
        let Nest { dom, loops, .. } = self;
        let data = loops.get(id);
        let always = |block: Block| data.latches.iter().all(|&latch| dom.dominates(block, latch));
        let exits = data.blocks.iter().filter(|&&block| always(block) && loops.innermost(block) == Some(id));
        exits.filter_map(|&block| self.exit(id, block)).collect()
    }

    /// The parameters of the headers of a nest that decide how often its loops are executed.
    fn deciding_params(&self, id: LoopId) -> FxHashSet<Value> {
        let (mut headers, mut conditions) = (Vec::new(), Vec::new());
        let mut nest = vec![id];
        while let Some(id) = nest.pop() {
            headers.push(self.loops.get(id).header);
            conditions.extend(self.exits(id).into_iter().chain(self.guard(id)).map(|(condition, _)| condition));
            nest.extend(self.inner(id));
        }
        deciding_params(self.func, self.cfg, &headers, conditions)
    }

    /// The condition of the branch that leads to a loop or past it, and what it is if it leads to the loop.
    fn guard(&self, id: LoopId) -> Option<(Value, bool)> {
        let mut entered = loop_form::preheader(self.cfg, self.loops.get(id))?;
        loop {
            let &[pred] = self.cfg.preds(entered) else { return None };
            let terminator = self.func.dfg.inst(self.func.layout.terminator(pred)?);
            if let Imm::Branch(calls) = &terminator.imm
                && calls[0].block != calls[1].block
            {
                return Some((terminator.args[0], calls[0].block == entered));
            }
            if terminator.op != Opcode::Jump {
                return None;
            }
            entered = pred;
        }
    }

    /// The condition of a branch that may leave a loop, and what it is if it does.
    fn exit(&self, id: LoopId, block: Block) -> Option<(Value, bool)> {
        let branch = self.func.dfg.inst(self.func.layout.terminator(block)?);
        let Imm::Branch(calls) = &branch.imm else { return None };
        match [0, 1].map(|target: usize| self.loops.contains(id, calls[target].block)) {
            [true, false] => Some((branch.args[0], false)),
            [false, true] => Some((branch.args[0], true)),
            [true, true] | [false, false] => None,
        }
    }
}

/// The values of a loop's counters in one iteration.
struct Counters<'a> {
    /// The variables from which loads are evaluated.
    globals: Option<&'a Globals>,
    /// The header's parameters.
    params: &'a [Value],
    /// Those that decide something; [`deciding_params`].
    deciding: &'a FxHashSet<Value>,
    /// Values of the header's parameters; `None` if unknown, or if they decide nothing.
    values: Vec<Option<ConstData>>,
    /// What has been evaluated in this iteration.
    known: FxHashMap<Value, Option<ConstData>>,
}

impl Counters<'_> {
    /// The first iteration of a loop.
    fn start<'a>(func: &'a Function, data: &Loop, preheader: Block, deciding: &'a FxHashSet<Value>) -> Counters<'a> {
        let args = loop_form::args_of_edge(func, preheader, data.header).unwrap_or_default();
        let values = args.iter().map(|&arg| func.dfg.as_const(arg).cloned()).collect();
        Counters { globals: None, params: func.dfg.params(data.header), deciding, values, known: FxHashMap::default() }
    }

    /// Executes iterations until the branch on `condition` leaves the loop. Returns how many it took; `limit + 1` if more.
    fn execute(
        &mut self,
        func: &Function,
        data: &Loop,
        latch: Block,
        condition: Value,
        stays: usize,
        limit: u64,
    ) -> Option<u64> {
        let next = loop_form::args_of_edge(func, latch, data.header)?;
        for iteration in 1..=limit {
            self.known = self.params.iter().copied().zip(self.values.iter().cloned()).collect();
            let holds = self.evaluate(func, condition, 0)?.as_splat()? != 0;
            if holds != (stays == 0) {
                return Some(iteration);
            }
            self.step(func, next);
        }
        Some(limit + 1)
    }

    /// Computes the values of the next iteration.
    fn step(&mut self, func: &Function, args: &[Value]) {
        let decides = self.params.iter().map(|param| self.deciding.contains(param));
        let next = decides.zip(args).map(|(decides, &arg)| if decides { self.evaluate(func, arg, 0) } else { None });
        self.values = next.collect();
    }

    fn evaluate(&mut self, func: &Function, value: Value, depth: u32) -> Option<ConstData> {
        if let Some(constant) = func.dfg.as_const(value) {
            return Some(constant.clone());
        }
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        let result = self.compute(func, value, depth);
        self.known.insert(value, result.clone());
        result
    }

    fn compute(&mut self, func: &Function, value: Value, depth: u32) -> Option<ConstData> {
        let inst = func.dfg.def_inst(value)?;
        let data = func.dfg.inst(inst);
        let ty: Type = func.dfg.ty(value);
        if let (Opcode::Load, Imm::Mem(mem), Some(globals)) = (data.op, &data.imm, self.globals) {
            let (global, offset) = self.place(func, data.args[0], depth)?;
            return constant_loads::content(globals.get(global).filter(|_| !mem.volatile)?, offset, ty);
        }
        if depth == MAX_DEPTH || !data.op.is_pure() || data.args.is_empty() {
            return None;
        }
        let args: Vec<ConstData> =
            data.args.iter().map(|&arg| self.evaluate(func, arg, depth + 1)).collect::<Option<_>>()?;
        evaluate(data, ty, &args.iter().collect::<Vec<_>>())
    }

    /// The variable to which an address points, and the offset there.
    fn place(&mut self, func: &Function, address: Value, depth: u32) -> Option<(Global, u64)> {
        let data = func.dfg.inst(func.dfg.def_inst(address)?);
        let is_single = depth < MAX_DEPTH && !func.dfg.ty(address).is_vector();
        match (data.op, &data.imm, data.args.as_slice()) {
            (_, &Imm::Global(global), _) => Some((global, 0)),
            (Opcode::Addr, &Imm::Addr { scale, disp }, &[base, ref indices @ ..]) if is_single => {
                let (global, offset) = self.place(func, base, depth + 1)?;
                let index = match indices {
                    [] => 0,
                    [index, ..] => self.evaluate(func, *index, depth + 1)?.as_splat()?,
                };
                Some((global, offset.wrapping_add(index.wrapping_mul(scale)).wrapping_add_signed(disp)))
            }
            _ => None,
        }
    }
}
