//! SSA construction: turns variables with many definitions into values and block parameters.
//!
//! For passes that take variables out of memory (mem2reg) or duplicate definitions (regions). The control-flow graph is
//! complete and does not change while a builder is in use. First every definition is noted with [`SsaBuilder::define`], then
//! uses are asked for; each answer may append parameters to blocks and arguments to the branches that lead to them. Trivial
//! parameters are not avoided here; [`remove_trivial_params`] cleans up (Braun et al., "Simple and Efficient Construction of
//! Static Single Assignment Form", taken apart into these two steps).

use std::collections::VecDeque;

use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use rustc_hash::FxHashMap;

use crate::analysis::Cfg;
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
    types: PrimaryMap<Var, Type>,
    at_end: FxHashMap<(Var, Block), Value>,
    at_start: FxHashMap<(Var, Block), Value>,
}

impl SsaBuilder {
    /// A builder without variables.
    pub fn new() -> SsaBuilder {
        SsaBuilder::default()
    }

    /// A new variable.
    pub fn declare(&mut self, ty: Type) -> Var {
        self.types.push(ty)
    }

    /// The variable has this value at the end of the block: its last definition there.
    pub fn define(&mut self, var: Var, block: Block, value: Value) {
        self.at_end.insert((var, block), value);
    }

    /// The variable's value at the end of a block.
    pub fn value_at_end(&mut self, func: &mut Function, cfg: &Cfg, var: Var, block: Block) -> Value {
        let mut pending = VecDeque::new();
        let value = self.find_at_end(func, cfg, var, block, &mut pending);
        self.complete(func, cfg, pending);
        value
    }

    /// The variable's value at the start of a block: what comes in from its predecessors. In the entry, and wherever no
    /// definition reaches, it is `undef`.
    pub fn value_at_start(&mut self, func: &mut Function, cfg: &Cfg, var: Var, block: Block) -> Value {
        let mut pending = VecDeque::new();
        let value = self.find_at_start(func, cfg, var, block, &mut pending);
        self.complete(func, cfg, pending);
        value
    }

    fn find_at_end(
        &mut self,
        func: &mut Function,
        cfg: &Cfg,
        var: Var,
        block: Block,
        pending: &mut VecDeque<(Var, Block)>,
    ) -> Value {
        match self.at_end.get(&(var, block)) {
            Some(&value) => value,
            None => self.find_at_start(func, cfg, var, block, pending),
        }
    }

    /// Walks up single predecessors; a join gets a parameter whose arguments are `pending`.
    fn find_at_start(
        &mut self,
        func: &mut Function,
        cfg: &Cfg,
        var: Var,
        block: Block,
        pending: &mut VecDeque<(Var, Block)>,
    ) -> Value {
        let mut path = Vec::new();
        let mut at = block;
        let value = loop {
            if let Some(&value) = self.at_start.get(&(var, at)) {
                break value;
            }
            path.push(at);
            match *cfg.preds(at) {
                [] => {
                    let ty = self.types[var];
                    break Builder::before(func, at, 0).undef(ty);
                }
                // A block that is its own only predecessor is unreached; it cannot get here through `cfg`.
                [pred] if func.layout.entry() != Some(at) => {
                    if let Some(&value) = self.at_end.get(&(var, pred)) {
                        break value;
                    }
                    at = pred;
                }
                _ => {
                    let value = func.dfg.append_param(at, self.types[var]);
                    self.at_start.insert((var, at), value);
                    pending.push_back((var, at));
                    break value;
                }
            }
        };
        for block in path {
            self.at_start.insert((var, block), value);
        }
        value
    }

    /// Gives every branch to a block with a new parameter its argument, first come first served: parameters and arguments are
    /// appended in the same order.
    fn complete(&mut self, func: &mut Function, cfg: &Cfg, mut pending: VecDeque<(Var, Block)>) {
        while let Some((var, block)) = pending.pop_front() {
            for &pred in cfg.preds(block) {
                let value = self.find_at_end(func, cfg, var, pred, &mut pending);
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

/// Removes block parameters that always get the same value (or themselves), until none is left. Gives whether any was.
pub fn remove_trivial_params(func: &mut Function) -> bool {
    let mut changed = false;
    loop {
        // For each parameter the one value it gets: None not seen yet, Some(None) several.
        let mut only: SecondaryMap<Value, Option<Option<Value>>> = SecondaryMap::with_capacity(func.dfg.value_count());
        for &block in func.layout.blocks() {
            let Some(terminator) = func.layout.terminator(block) else { continue };
            for target in func.dfg.targets(terminator) {
                for (&param, &arg) in func.dfg.params(target.block).iter().zip(&target.args) {
                    if arg == param {
                        continue;
                    }
                    only[param] = match only[param] {
                        None => Some(Some(arg)),
                        Some(Some(old)) if old == arg => Some(Some(arg)),
                        Some(_) => Some(None),
                    };
                }
            }
        }
        let entry = func.layout.entry();
        let mut replacement: FxHashMap<Value, Value> = FxHashMap::default();
        let mut doomed: Vec<(Block, Vec<usize>)> = Vec::new();
        for &block in func.layout.blocks() {
            if Some(block) == entry {
                continue;
            }
            let mut indices = Vec::new();
            for (i, &param) in func.dfg.params(block).iter().enumerate() {
                if let Some(Some(value)) = only[param] {
                    replacement.insert(param, value);
                    indices.push(i);
                }
            }
            if !indices.is_empty() {
                doomed.push((block, indices));
            }
        }
        if doomed.is_empty() {
            return changed;
        }
        changed = true;
        // Two parameters may stand for each other only in code that is never reached.
        let resolve = |mut value: Value| {
            let mut steps = 0;
            while let Some(&next) = replacement.get(&value) {
                value = next;
                steps += 1;
                if steps > replacement.len() {
                    break;
                }
            }
            value
        };
        let blocks: Vec<Block> = func.layout.blocks().to_vec();
        let doomed_indices: FxHashMap<Block, Vec<usize>> = doomed.iter().cloned().collect();
        for &block in &blocks {
            let Some(terminator) = func.layout.terminator(block) else { continue };
            for target in func.dfg.targets_mut(terminator) {
                if let Some(indices) = doomed_indices.get(&target.block) {
                    for &i in indices.iter().rev() {
                        target.args.remove(i);
                    }
                }
            }
        }
        for (block, indices) in doomed {
            for &i in indices.iter().rev() {
                func.dfg.remove_param(block, i);
            }
        }
        for block in blocks {
            for i in 0..func.layout.insts(block).len() {
                let inst = func.layout.insts(block)[i];
                func.dfg.map_uses(inst, resolve);
            }
        }
    }
}
