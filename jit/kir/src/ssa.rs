//! SSA construction: turns variables with many definitions into values and block parameters.
//!
//! For passes that take variables out of memory (mem2reg) or duplicate definitions (regions). The control-flow graph is
//! complete and does not change while a builder is in use. First every definition of a variable is noted with
//! [`SsaBuilder::define`], then its uses are asked for; each answer may append parameters to blocks and arguments to the branches
//! that lead to them. A block gets a parameter only where definitions meet (the iterated dominance frontier of their blocks;
//! Cytron et al., "Efficiently Computing Static Single Assignment Form and the Control Dependence Graph") and a use asks for
//! it: the form is minimal and pruned, and what it takes grows with definitions and uses, not with the blocks between them.
//! Parameters that get one value only, because definitions are equal, remain; [`remove_trivial_params`] cleans up.

use std::collections::VecDeque;

use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::analysis::Frontiers;
use crate::builder::Builder;
use crate::entities::{Block, Value};
use crate::function::Function;
use crate::types::Type;

/// A variable of an [`SsaBuilder`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(u32);
entity_impl!(Var, "var");

/// Variables, their definitions, and the values found so far.
#[derive(Debug, Default)]
pub struct SsaBuilder {
    vars: PrimaryMap<Var, Variable>,
}

/// The state of a variable.
#[derive(Debug)]
struct Variable {
    ty: Type,
    /// The last definition in each block that has one.
    defined: FxHashMap<Block, Value>,
    /// The join points of its definitions; computed on the first use.
    sites: Option<Sites>,
    /// Parameters made so far.
    params: FxHashMap<Block, Value>,
    /// Its value where no definition reaches: `undef`.
    undefined: Option<Value>,
}

/// The blocks that begin with a value of their own, or define one, in preorder of the dominator tree.
#[derive(Debug)]
struct Sites {
    list: Vec<Site>,
    joins: FxHashSet<Block>,
}

#[derive(Debug)]
struct Site {
    block: Block,
    /// Its preorder interval.
    span: (u32, u32),
    /// The nearest site that dominates it.
    above: Option<usize>,
}

impl SsaBuilder {
    /// A builder without variables.
    pub fn new() -> SsaBuilder {
        SsaBuilder::default()
    }

    /// A new variable.
    pub fn declare(&mut self, ty: Type) -> Var {
        self.vars.push(Variable {
            ty,
            defined: FxHashMap::default(),
            sites: None,
            params: FxHashMap::default(),
            undefined: None,
        })
    }

    /// The variable has this value at the end of the block: its last definition there.
    pub fn define(&mut self, var: Var, block: Block, value: Value) {
        let data = &mut self.vars[var];
        debug_assert!(data.sites.is_none(), "broken invariant: {var} is defined after it was asked for");
        data.defined.insert(block, value);
    }

    /// The variable's value at the end of a block.
    pub fn value_at_end(&mut self, func: &mut Function, graph: &Frontiers, var: Var, block: Block) -> Value {
        let mut pending = VecDeque::new();
        let value = self.vars[var].at_end(func, graph, block, &mut pending);
        self.complete(func, graph, var, pending);
        value
    }

    /// The variable's value at the start of a block: what comes in from its predecessors. In the entry, and wherever no
    /// definition reaches, it is `undef`.
    pub fn value_at_start(&mut self, func: &mut Function, graph: &Frontiers, var: Var, block: Block) -> Value {
        let mut pending = VecDeque::new();
        let value = self.vars[var].at_start(func, graph, block, &mut pending);
        self.complete(func, graph, var, pending);
        value
    }

    /// The parameters made for a variable, with their blocks.
    pub fn params(&self, var: Var) -> impl Iterator<Item = (Block, Value)> + '_ {
        self.vars[var].params.iter().map(|(&block, &value)| (block, value))
    }

    /// Gives every branch to a block with a new parameter its argument, first come first served: parameters and arguments are
    /// appended in the same order.
    fn complete(&mut self, func: &mut Function, graph: &Frontiers, var: Var, mut pending: VecDeque<Block>) {
        while let Some(block) = pending.pop_front() {
            for &pred in graph.cfg().preds(block) {
                let value = self.vars[var].at_end(func, graph, pred, &mut pending);
                let Some(terminator) = func.layout.terminator(pred) else {
                    unreachable!("broken invariant: {pred} has no terminator")
                };
                for target in func.dfg.targets_mut(terminator) {
                    if target.block == block {
                        target.args.push(value);
                    }
                }
            }
        }
    }
}

impl Variable {
    fn at_end(&mut self, func: &mut Function, graph: &Frontiers, block: Block, pending: &mut VecDeque<Block>) -> Value {
        match self.defined.get(&block) {
            Some(&value) => value,
            None => self.at_start(func, graph, block, pending),
        }
    }

    /// The nearest definition or join above. A join gets a parameter whose arguments are `pending`.
    fn at_start(
        &mut self,
        func: &mut Function,
        graph: &Frontiers,
        block: Block,
        pending: &mut VecDeque<Block>,
    ) -> Value {
        let defined = &self.defined;
        let sites = self.sites.get_or_insert_with(|| Sites::new(graph, defined.keys().copied()));
        let join = match sites.joins.contains(&block) {
            true => block,
            false => match sites.above(graph, block) {
                Some(site) => match self.defined.get(&site) {
                    Some(&value) => return value,
                    None => site,
                },
                None => {
                    let ty = self.ty;
                    let Some(&entry) = graph.cfg().rpo().first().filter(|_| graph.cfg().reaches(block)) else {
                        return Builder::before(func, block, 0).undef(ty);
                    };
                    return *self.undefined.get_or_insert_with(|| Builder::before(func, entry, 0).undef(ty));
                }
            },
        };
        *self.params.entry(join).or_insert_with(|| {
            pending.push_back(join);
            func.dfg.append_param(join, self.ty)
        })
    }
}

impl Sites {
    fn new(graph: &Frontiers, defined: impl Iterator<Item = Block>) -> Sites {
        let mut open: Vec<Block> = defined.filter(|&block| graph.cfg().reaches(block)).collect();
        let mut known: FxHashSet<Block> = open.iter().copied().collect();
        let mut joins: FxHashSet<Block> = FxHashSet::default();
        while let Some(block) = open.pop() {
            for &join in graph.of(block) {
                joins.insert(join);
                if known.insert(join) {
                    open.push(join);
                }
            }
        }
        let mut list: Vec<Site> =
            known.into_iter().map(|block| Site { block, span: graph.dom().span(block), above: None }).collect();
        list.sort_unstable_by_key(|site| site.span.0);
        let mut around: Vec<usize> = Vec::new();
        for i in 0..list.len() {
            while around.last().is_some_and(|&at| list[at].span.1 <= list[i].span.0) {
                around.pop();
            }
            list[i].above = around.last().copied();
            around.push(i);
        }
        Sites { list, joins }
    }

    /// The nearest site that dominates a block and is another one.
    fn above(&self, graph: &Frontiers, block: Block) -> Option<Block> {
        let (start, _) = graph.dom().span(block);
        let mut at = self.list.partition_point(|site| site.span.0 < start).checked_sub(1);
        while let Some(site) = at.map(|at| &self.list[at]) {
            if start < site.span.1 {
                return Some(site.block);
            }
            at = site.above;
        }
        None
    }
}

/// Removes block parameters that always get the same value (or themselves), until none is left. Gives whether any was.
pub fn remove_trivial_params(func: &mut Function) -> bool {
    let entry = func.layout.entry();
    // Parameters by number, the arguments of each, and which others each is an argument of.
    let mut number: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(func.dfg.value_count());
    let mut params: Vec<Value> = Vec::new();
    for &block in func.layout.blocks() {
        for &param in func.dfg.params(block) {
            params.push(param);
            number[param] = params.len() as u32;
        }
    }
    if params.is_empty() {
        return false;
    }
    let mut args: Vec<SmallVec<[Value; 4]>> = vec![SmallVec::new(); params.len()];
    let mut users: Vec<SmallVec<[u32; 4]>> = vec![SmallVec::new(); params.len()];
    for &block in func.layout.blocks() {
        let Some(terminator) = func.layout.terminator(block) else { continue };
        for target in func.dfg.targets(terminator) {
            for (&param, &arg) in func.dfg.params(target.block).iter().zip(&target.args) {
                let at = number[param] - 1;
                if args[at as usize].last() == Some(&arg) {
                    continue;
                }
                args[at as usize].push(arg);
                if number[arg] > 0 {
                    users[number[arg] as usize - 1].push(at);
                }
            }
        }
    }
    if let Some(block) = entry {
        for &param in func.dfg.params(block) {
            args[number[param] as usize - 1].clear();
        }
    }
    // The replacement of each parameter; chains are followed and compressed.
    let mut stands: Vec<Option<Value>> = vec![None; params.len()];
    let mut open: Vec<u32> = (0..params.len() as u32).rev().collect();
    let mut any = false;
    while let Some(at) = open.pop() {
        if stands[at as usize].is_some() {
            continue;
        }
        let own = params[at as usize];
        let mut only = None;
        let trivial = args[at as usize].iter().all(|&arg| {
            let arg = resolve(&mut stands, &number, arg);
            arg == own || *only.get_or_insert(arg) == arg
        });
        let Some(value) = only.filter(|_| trivial) else { continue };
        stands[at as usize] = Some(value);
        any = true;
        let uses = std::mem::take(&mut users[at as usize]);
        open.extend(uses.iter().copied());
        // Who gets this parameter now gets the other.
        if number[value] > 0 {
            users[number[value] as usize - 1].extend(uses);
        }
    }
    if !any {
        return false;
    }
    let blocks: Vec<Block> = func.layout.blocks().to_vec();
    for &block in &blocks {
        for i in 0..func.layout.insts(block).len() {
            let inst = func.layout.insts(block)[i];
            func.dfg.map_uses(inst, |value| resolve(&mut stands, &number, value));
        }
    }
    let kept = |param: Value| stands[number[param] as usize - 1].is_none();
    for &block in &blocks {
        let Some(terminator) = func.layout.terminator(block) else { continue };
        let targets: SmallVec<[Block; 2]> = func.dfg.targets(terminator).iter().map(|target| target.block).collect();
        for (i, target) in targets.into_iter().enumerate() {
            if func.dfg.params(target).iter().all(|&param| kept(param)) {
                continue;
            }
            let keep: SmallVec<[bool; 8]> = func.dfg.params(target).iter().map(|&param| kept(param)).collect();
            let mut at = keep.iter();
            func.dfg.targets_mut(terminator)[i].args.retain(|_| at.next().copied().unwrap_or(true));
        }
    }
    for &block in &blocks {
        func.dfg.retain_params(block, &kept);
    }
    true
}

/// The value that replaces a value.
fn resolve(stands: &mut [Option<Value>], number: &SecondaryMap<Value, u32>, value: Value) -> Value {
    let next = |stands: &[Option<Value>], value: Value| match number[value] {
        0 => None,
        at => stands[at as usize - 1],
    };
    let mut end = value;
    while let Some(to) = next(stands, end) {
        end = to;
    }
    let mut at = value;
    while let Some(to) = next(stands, at) {
        stands[number[at] as usize - 1] = Some(end);
        at = to;
    }
    end
}
