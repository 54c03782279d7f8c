//! Widening of induction variables: 32-bit counters that index memory become 64-bit ones.
//!
//! C counts with `int` and indexes with addresses: `a[i]` extends `i` in each iteration. A counter that promises not to wrap
//! has the same value with 64 bits, which is the index. What else uses the counter gets its low bits, which cost nothing.
//!
//! A *web* is what becomes wide together: parameters of blocks, sums of one of them and a constant that promise not to wrap, and
//! whatever other such parameters pass on. Values that enter a web are extended where they do. So a web is widened if the
//! extensions it saves are executed more often than those, as far as the nesting of loops tells.

use clift_kir::analysis::{Cfg, DomTree, LoopForest};
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, BlockCall, Builder, Function, Inst, Opcode, Type, Value, WrapFlags};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

use super::Changed;
use super::util::Replacements;

/// The most values of a web.
const MAX_WEB: usize = 64;

/// How many times an instruction in a loop is executed, compared to one around the loop.
const ITERATIONS: u64 = 8;

/// The deepest nest of loops that counts.
const MAX_DEPTH: u32 = 8;

/// Widens all counters for which it pays.
pub(super) fn run(func: &mut Function) -> Changed {
    let Some(extensions) = extensions(func) else { return Changed(false) };
    let cfg = Cfg::new(func);
    let loops = LoopForest::new(&cfg, &DomTree::new(&cfg));
    let search = Search { func, cfg: &cfg, loops: &loops, extensions: &extensions };
    let mut taken: EntitySet<Value> = EntitySet::new();
    let mut webs: Vec<Web> = Vec::new();
    for &block in cfg.rpo() {
        for &param in func.dfg.params(block) {
            if extensions.contains_key(&param)
                && !taken.contains(param)
                && let Some(mut web) = search.web(param)
            {
                // What another web has already is wide.
                web.params.retain(|&param| taken.insert(param));
                webs.push(web);
            }
        }
    }
    if webs.is_empty() {
        return Changed(false);
    }
    let mut wide = Wide::default();
    for web in &webs {
        wide.add_params(func, web);
    }
    for web in &webs {
        wide.add_sums(func, web);
    }
    for web in &webs {
        wide.pass_arguments(func, &cfg, web);
    }
    for &(inst, of) in extensions.values().flatten() {
        if let (Some(&new), Some(result)) = (wide.values.get(&of), func.dfg.single_result(inst)) {
            wide.replacements.set(result, new);
        }
    }
    wide.replacements.apply(func);
    Changed(true)
}

/// The extensions of 32-bit scalars to 64 bits, by what they extend; `None` if there are none of parameters.
fn extensions(func: &Function) -> Option<FxHashMap<Value, Vec<(Inst, Value)>>> {
    let mut found: FxHashMap<Value, Vec<(Inst, Value)>> = FxHashMap::default();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            if data.op == Opcode::Sext
                && func.dfg.ty(data.args[0]) == Type::I32
                && func.dfg.ty(func.dfg.result(inst)) == Type::I64
            {
                found.entry(data.args[0]).or_default().push((inst, data.args[0]));
            }
        }
    }
    let of_params = found.keys().any(|&value| matches!(func.dfg.def(value), ValueDef::Param(..)));
    of_params.then_some(found)
}

/// The values that become wide together.
#[derive(Default)]
struct Web {
    /// The parameters, other than those of the entry.
    params: Vec<Value>,
    /// Sums of a value of the web and a constant, each after its operand if that is a sum.
    sums: Vec<Inst>,
}

struct Search<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    loops: &'a LoopForest,
    extensions: &'a FxHashMap<Value, Vec<(Inst, Value)>>,
}

impl Search<'_> {
    /// The web of a parameter, if widening it pays.
    fn web(&self, seed: Value) -> Option<Web> {
        let mut web = Web::default();
        let mut work = vec![seed];
        let (mut saved, mut added) = (0u64, 0u64);
        let mut known: EntitySet<Value> = EntitySet::new();
        let mut size = 0;
        while let Some(value) = work.pop() {
            if !known.insert(value) || self.func.dfg.as_const(value).is_some() {
                continue;
            }
            size += 1;
            if size > MAX_WEB {
                return None;
            }
            let here = self.extensions.get(&value).into_iter().flatten();
            let here: u64 = here.map(|&(inst, _)| self.executions(self.func.layout.block_of(inst))).sum();
            match self.func.dfg.def(value) {
                ValueDef::Param(block, index) if Some(block) != self.func.layout.entry() => {
                    saved += here;
                    web.params.push(value);
                    for &pred in self.cfg.preds(block) {
                        let terminator = self.func.layout.terminator(pred)?;
                        let calls = self.func.dfg.targets(terminator);
                        let passed = calls.into_iter().filter(|call| call.block == block);
                        work.extend(passed.map(|call| call.args[usize::from(index)]));
                    }
                }
                ValueDef::Result(inst, _) if self.is_sum(inst) => {
                    saved += here;
                    web.sums.push(inst);
                    work.push(self.func.dfg.inst(inst).args[0]);
                }
                ValueDef::Result(inst, _) => {
                    // An extension that exists is shared.
                    let executions = self.executions(self.func.layout.block_of(inst));
                    added += if here >= executions { 0 } else { executions };
                }
                ValueDef::Param(..) => added += 1,
            }
        }
        (saved > added).then_some(web)
    }

    /// Whether an instruction adds a constant to a 32-bit scalar and promises not to wrap.
    fn is_sum(&self, inst: Inst) -> bool {
        let data = self.func.dfg.inst(inst);
        matches!(data.op, Opcode::Iadd | Opcode::Isub)
            && data.imm.wrap().contains(WrapFlags::NO_SIGNED)
            && self.func.dfg.ty(data.args[0]) == Type::I32
            && self.func.dfg.as_const(data.args[1]).is_some()
    }

    /// How many times a block is executed, by the loops around it.
    fn executions(&self, block: Option<Block>) -> u64 {
        let mut depth = 0;
        let mut at = block.and_then(|block| self.loops.innermost(block));
        while let Some(id) = at {
            depth += 1;
            at = self.loops.get(id).parent;
        }
        ITERATIONS.pow(depth.min(MAX_DEPTH))
    }
}

/// The 64-bit values of webs.
#[derive(Default)]
struct Wide {
    values: FxHashMap<Value, Value>,
    replacements: Replacements,
}

impl Wide {
    /// Gives each block wide parameters; the narrow ones become their low bits, and are removed later.
    fn add_params(&mut self, func: &mut Function, web: &Web) {
        for &param in &web.params {
            let ValueDef::Param(block, _) = func.dfg.def(param) else { continue };
            let wide = func.dfg.append_param(block, Type::I64);
            if let Some(name) = func.names.get(&param).cloned() {
                func.names.insert(wide, name);
            }
            let mut b = Builder::before(func, block, 0);
            let low = b.cast(Opcode::Itrunc, wide, Type::I32);
            self.values.insert(param, wide);
            self.replacements.set(param, low);
        }
    }

    /// Computes the sums with 64 bits, each where it was.
    fn add_sums(&mut self, func: &mut Function, web: &Web) {
        // A sum was found before its operand.
        for &inst in web.sums.iter().rev() {
            let (result, loc) = (func.dfg.result(inst), func.locs[inst]);
            if self.values.contains_key(&result) {
                continue;
            }
            let data = func.dfg.inst(inst);
            let (op, a, b) = (data.op, data.args[0], data.args[1]);
            let Some(block) = func.layout.block_of(inst) else { continue };
            let Some(at) = func.layout.insts(block).iter().position(|&other| other == inst) else { continue };
            let step = func.dfg.as_splat_bits(b).unwrap_or(0) as i32;
            let operand = self.wide(func, a, block, at);
            let at = func.layout.insts(block).iter().position(|&other| other == inst).unwrap_or(at);
            let mut builder = Builder::before(func, block, at);
            builder.set_loc(loc);
            let step = builder.iconst(Type::I64, step.into());
            let sum = builder.int2_wrap(op, operand, step, WrapFlags::NO_SIGNED);
            let low = builder.cast(Opcode::Itrunc, sum, Type::I32);
            self.values.insert(result, sum);
            self.replacements.set(result, low);
        }
    }

    /// Passes the wide parameters their arguments.
    fn pass_arguments(&mut self, func: &mut Function, cfg: &Cfg, web: &Web) {
        for &param in &web.params {
            let ValueDef::Param(block, index) = func.dfg.def(param) else { continue };
            let mut preds = cfg.preds(block).to_vec();
            preds.sort_unstable();
            preds.dedup();
            for pred in preds {
                let Some(terminator) = func.layout.terminator(pred) else { continue };
                let passed = |call: &BlockCall| (call.block == block).then(|| call.args[usize::from(index)]);
                let narrow: Vec<Option<Value>> = func.dfg.targets(terminator).into_iter().map(passed).collect();
                for (number, narrow) in narrow.into_iter().enumerate() {
                    let Some(narrow) = narrow else { continue };
                    let end = func.layout.insts(pred).len() - 1;
                    let value = self.wide(func, narrow, pred, end);
                    func.dfg.targets_mut(terminator)[number].args.push(value);
                }
            }
        }
    }

    /// The wide form of a value; one that is not part of a web is extended at a place.
    fn wide(&mut self, func: &mut Function, value: Value, block: Block, index: usize) -> Value {
        if let Some(&wide) = self.values.get(&value) {
            return wide;
        }
        let loc = func.layout.terminator(block).map(|inst| func.locs[inst]);
        let mut b = Builder::before(func, block, index);
        if let Some(loc) = loc {
            b.set_loc(loc);
        }
        match b.func.dfg.as_splat_bits(value) {
            Some(bits) => b.iconst(Type::I64, i64::from(bits as i32)),
            None => b.cast(Opcode::Sext, value, Type::I64),
        }
    }
}
