//! Webs: values that share a register or a stack slot, with their live ranges.
//!
//! A web has the values that block parameters connect and that are never alive at the same time. Values that are alive in one
//! block only, and are not passed on, have none.

use std::collections::BTreeMap;

use clift_kir::analysis::{Cfg, Cold, DomTree, Liveness, LoopForest};
use clift_kir::ops::OpClass;
use clift_kir::{Block, Function, Inst, Opcode, Type, Value};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Most entries of the lists of live values. Making longer ones takes longer than what they save.
const MAX_LIVE: usize = 1 << 24;

/// How many iterations a loop is assumed to have.
const LOOP_WEIGHT: f64 = 8.0;
/// How often cold code is assumed to be executed for each time that other code is.
const COLD_WEIGHT: f64 = 1.0 / 64.0;

/// A point of the code: the head of a block or an instruction, counted in layout order.
pub(super) type Point = u32;

/// Values that may share a place.
#[derive(Debug)]
pub(super) struct Web {
    pub(super) ty: Type,
    /// Disjoint half-open ranges of points: the end of each by its start.
    pub(super) ranges: BTreeMap<Point, Point>,
    /// The sum of the ranges' lengths.
    pub(super) length: u64,
    /// How often its values are defined and used.
    pub(super) accesses: f64,
}

impl Web {
    /// Adds a range that starts where the last one ends, or later.
    fn append(&mut self, start: Point, end: Point) {
        self.length += u64::from(end - start);
        match self.ranges.last_entry() {
            Some(mut last) if *last.get() == start => *last.get_mut() = end,
            _ => {
                self.ranges.insert(start, end);
            }
        }
    }

    /// Whether a range of another web contains a point of one of these.
    fn meets(&self, other: &Web) -> bool {
        other
            .ranges
            .iter()
            .any(|(&start, &end)| self.ranges.range(..end).next_back().is_some_and(|(_, &last)| last > start))
    }

    /// The first and the last point.
    pub(super) fn hull(&self) -> (Point, Point) {
        let first = self.ranges.keys().next().copied().unwrap_or(0);
        (first, self.ranges.values().next_back().copied().unwrap_or(first))
    }
}

/// The number of a web.
pub(super) type WebId = usize;

/// The webs of a function.
#[derive(Debug)]
pub(super) struct Webs {
    /// All webs; those that others have absorbed are empty.
    webs: Vec<Web>,
    /// The web that each value got at first.
    of: SecondaryMap<Value, Option<WebId>>,
    /// The web that has absorbed each web; itself if none has.
    parents: Vec<WebId>,
    /// The points of the blocks' heads.
    pub(super) heads: Vec<Point>,
    /// The number of points.
    pub(super) points: Point,
}

impl Webs {
    /// The webs of a legal function. `None` if there is too much alive to list.
    pub(super) fn new(func: &Function) -> Option<Webs> {
        let cfg = Cfg::new(func);
        let live = Liveness::bounded(func, &cfg, |value| is_candidate(func, value), |_| true, MAX_LIVE)?;
        let mut webs =
            Webs { webs: Vec::new(), of: SecondaryMap::new(), parents: Vec::new(), heads: Vec::new(), points: 0 };
        webs.find_values(func, &live);
        webs.find_ranges(func, &cfg, &live);
        let weights = weights(func, &cfg);
        webs.count_accesses(func, &weights);
        webs.merge(func, &weights);
        Some(webs)
    }

    /// The number of webs.
    pub(super) fn len(&self) -> usize {
        self.iter().count()
    }

    /// All webs.
    pub(super) fn iter(&self) -> impl Iterator<Item = (WebId, &Web)> {
        self.webs.iter().enumerate().filter(|&(id, _)| self.parents[id] == id)
    }

    /// A web.
    pub(super) fn get(&self, id: WebId) -> &Web {
        &self.webs[id]
    }

    /// The web of a value.
    pub(super) fn of(&self, value: Value) -> Option<WebId> {
        let mut at = self.of[value]?;
        while self.parents[at] != at {
            at = self.parents[at];
        }
        Some(at)
    }

    /// Gives a web to each value that is alive in several blocks, or a parameter, or passed to one.
    fn find_values(&mut self, func: &Function, live: &Liveness) {
        for &block in func.layout.blocks() {
            func.dfg.params(block).iter().chain(live.live_in(block)).for_each(|&value| self.add(func, value));
            if let Some(last) = func.layout.terminator(block) {
                for target in func.dfg.targets(last) {
                    target.args.iter().for_each(|&arg| self.add(func, arg));
                }
            }
        }
    }

    fn add(&mut self, func: &Function, value: Value) {
        if self.of[value].is_none() && is_candidate(func, value) {
            self.of[value] = Some(self.webs.len());
            self.parents.push(self.webs.len());
            let ty = func.dfg.ty(value);
            self.webs.push(Web { ty, ranges: BTreeMap::new(), length: 0, accesses: 0.0 });
        }
    }

    /// Finds the live range of each value that has a web.
    fn find_ranges(&mut self, func: &Function, cfg: &Cfg, live: &Liveness) {
        // For each value, the last block at whose end it is alive, and its last use so far.
        let mut alive_at_end: SecondaryMap<Value, PackedOption<Block>> = SecondaryMap::new();
        let mut last_use: SecondaryMap<Value, Point> = SecondaryMap::new();
        let mut point = 0;
        let mut here: Vec<(Value, Point)> = Vec::new();
        for &block in func.layout.blocks() {
            let head = point;
            self.heads.push(head);
            for &succ in cfg.succs(block) {
                live.live_in(succ).iter().for_each(|&value| alive_at_end[value] = block.into());
            }
            here.extend(live.live_in(block).iter().chain(func.dfg.params(block)).map(|&value| (value, head)));
            for &inst in func.layout.insts(block) {
                point += 1;
                func.dfg.for_each_use(inst, |value| last_use[value] = point);
                here.extend(func.dfg.results(inst).iter().map(|&result| (result, point)));
            }
            point += 1;
            for (value, start) in here.drain(..) {
                if let Some(web) = self.of[value] {
                    let is_alive = alive_at_end[value] == block.into();
                    let end = if is_alive { point } else { last_use[value].max(start) + 1 };
                    self.webs[web].append(start, end);
                }
            }
        }
        self.points = point;
    }

    /// Adds up how often the values are defined and used.
    fn count_accesses(&mut self, func: &Function, weights: &SecondaryMap<Block, f64>) {
        for &block in func.layout.blocks() {
            let mut count = |value: Value| {
                if let Some(web) = self.of[value] {
                    self.webs[web].accesses += weights[block];
                }
            };
            func.dfg.params(block).iter().for_each(|&param| count(param));
            for &inst in func.layout.insts(block) {
                func.dfg.inst(inst).args.iter().for_each(|&arg| count(arg));
                func.dfg.results(inst).iter().for_each(|&result| count(result));
            }
        }
    }

    /// Merges the webs of parameters with those of their arguments, at the most frequent edges first.
    fn merge(&mut self, func: &Function, weights: &SecondaryMap<Block, f64>) {
        let mut last: Vec<(Block, Inst)> =
            func.layout.blocks().iter().filter_map(|&block| Some((block, func.layout.terminator(block)?))).collect();
        last.sort_by(|a, b| weights[b.0].total_cmp(&weights[a.0]));
        for (_, inst) in last {
            for target in func.dfg.targets(inst) {
                for (&arg, &param) in target.args.iter().zip(func.dfg.params(target.block)) {
                    if let (Some(a), Some(b)) = (self.of(arg), self.of(param)) {
                        self.try_merge(a, b);
                    }
                }
            }
        }
    }

    /// Merges two webs unless they are alive together.
    fn try_merge(&mut self, a: WebId, b: WebId) {
        let (large, small) = if self.webs[a].ranges.len() >= self.webs[b].ranges.len() { (a, b) } else { (b, a) };
        if a == b || self.webs[a].ty != self.webs[b].ty || self.webs[large].meets(&self.webs[small]) {
            return;
        }
        let absorbed = std::mem::take(&mut self.webs[small].ranges);
        self.webs[large].ranges.extend(absorbed);
        self.webs[large].length += self.webs[small].length;
        self.webs[large].accesses += self.webs[small].accesses;
        self.parents[small] = large;
    }
}

/// Whether a value may be kept in memory: a number that is not computed anew for each use.
fn is_candidate(func: &Function, value: Value) -> bool {
    let is_leaf = |inst| matches!(func.dfg.inst(inst).op.class(), OpClass::Leaf(_));
    func.dfg.ty(value).elem != clift_kir::Elem::B1 && !func.dfg.def_inst(value).is_some_and(is_leaf)
}

/// Whether a value may have any bits.
pub(super) fn is_undef(func: &Function, value: Value) -> bool {
    func.dfg.def_inst(value).is_some_and(|inst| func.dfg.inst(inst).op == Opcode::Undef)
}

/// How often each block is assumed to be executed.
fn weights(func: &Function, cfg: &Cfg) -> SecondaryMap<Block, f64> {
    let loops = LoopForest::new(cfg, &DomTree::new(cfg));
    let cold = Cold::new(func, cfg);
    let mut weights = SecondaryMap::new();
    for &block in func.layout.blocks() {
        let often = LOOP_WEIGHT.powi(loops.depth(block).min(8) as i32);
        weights[block] = if cold.contains(block) { often * COLD_WEIGHT } else { often };
    }
    weights
}
