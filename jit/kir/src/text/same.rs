//! Structural equality: two functions (or modules) that differ in nothing but the ids of values, blocks, instructions and
//! constants. This is the equality of the text round trip.

use rustc_hash::FxHashMap;

use crate::entities::{Block, Inst, Value};
use crate::function::Function;
use crate::inst::{BlockCall, Imm};
use crate::module::Module;

/// Compares two modules.
///
/// # Errors
/// The first difference, in words.
pub fn same_module(a: &Module, b: &Module) -> Result<(), String> {
    if a.globals != b.globals {
        return Err("different globals".to_owned());
    }
    if a.kernels != b.kernels {
        return Err("different kernels".to_owned());
    }
    if a.funcs.len() != b.funcs.len() {
        return Err(format!("{} and {} functions", a.funcs.len(), b.funcs.len()));
    }
    for (id, func) in &a.funcs {
        same_function(func, &b.funcs[id]).map_err(|e| format!("{id}: {e}"))?;
    }
    Ok(())
}

/// Compares two functions as laid out; dead instructions, blocks and constants do not count.
///
/// # Errors
/// The first difference, in words.
pub fn same_function(a: &Function, b: &Function) -> Result<(), String> {
    if a.name != b.name || a.stage != b.stage || a.returns != b.returns {
        return Err(format!("different heads of {} and {}", a.name, b.name));
    }
    if a.noalias_args != b.noalias_args {
        return Err("different arguments without aliases".to_owned());
    }
    if a.inlined_calls != b.inlined_calls {
        return Err("different inlined calls".to_owned());
    }
    if a.slots != b.slots {
        return Err("different slots".to_owned());
    }
    if a.layout.blocks().len() != b.layout.blocks().len() {
        return Err(format!("{} and {} blocks", a.layout.blocks().len(), b.layout.blocks().len()));
    }
    let mut pairs = Pairs { a, b, values: FxHashMap::default(), blocks: FxHashMap::default() };
    for (&x, &y) in a.layout.blocks().iter().zip(b.layout.blocks()) {
        pairs.block(x, y)?;
    }
    for (&x, &y) in a.layout.blocks().iter().zip(b.layout.blocks()) {
        for (&i, &j) in a.layout.insts(x).iter().zip(b.layout.insts(y)) {
            pairs.inst(i, j)?;
        }
    }
    Ok(())
}

struct Pairs<'a> {
    a: &'a Function,
    b: &'a Function,
    values: FxHashMap<Value, Value>,
    blocks: FxHashMap<Block, Block>,
}

impl Pairs<'_> {
    /// Pairs the definitions in two blocks.
    fn block(&mut self, x: Block, y: Block) -> Result<(), String> {
        self.blocks.insert(x, y);
        if self.a.layout.is_cold(x) != self.b.layout.is_cold(y) {
            return Err(format!("only one of {x} and {y} is cold"));
        }
        self.define(self.a.dfg.params(x), self.b.dfg.params(y), &|| format!("parameters of {x}"))?;
        let (insts, others) = (self.a.layout.insts(x), self.b.layout.insts(y));
        if insts.len() != others.len() {
            return Err(format!("{} and {} instructions in {x}", insts.len(), others.len()));
        }
        for (&i, &j) in insts.iter().zip(others) {
            let (a, b) = (self.a, self.b);
            let what = || format!("results of `{}` and `{}`", a.inst_text(i), b.inst_text(j));
            self.define(a.dfg.results(i), b.dfg.results(j), &what)?;
        }
        Ok(())
    }

    fn define(&mut self, xs: &[Value], ys: &[Value], what: &dyn Fn() -> String) -> Result<(), String> {
        if xs.len() != ys.len() {
            return Err(format!("different number of {}", what()));
        }
        for (&x, &y) in xs.iter().zip(ys) {
            if self.a.dfg.ty(x) != self.b.dfg.ty(y) || self.a.names.get(&x) != self.b.names.get(&y) {
                return Err(format!("different types or names: {}", what()));
            }
            self.values.insert(x, y);
        }
        Ok(())
    }

    fn args(&self, xs: &[Value], ys: &[Value]) -> bool {
        xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| self.values.get(x) == Some(y))
    }

    fn call(&self, x: &BlockCall, y: &BlockCall) -> bool {
        self.blocks.get(&x.block) == Some(&y.block) && self.args(&x.args, &y.args)
    }

    fn inst(&self, i: Inst, j: Inst) -> Result<(), String> {
        let (x, y) = (self.a.dfg.inst(i), self.b.dfg.inst(j));
        let same_imm = match (&x.imm, &y.imm) {
            (Imm::Const(c), Imm::Const(d)) => self.a.dfg.constant(*c) == self.b.dfg.constant(*d),
            (Imm::Jump(c), Imm::Jump(d)) => self.call(c, d),
            (Imm::Branch(c), Imm::Branch(d)) => self.call(&c[0], &d[0]) && self.call(&c[1], &d[1]),
            (Imm::Switch(c), Imm::Switch(d)) => {
                c.cases.len() == d.cases.len()
                    && c.cases.iter().zip(&d.cases).all(|(c, d)| c.0 == d.0 && self.call(&c.1, &d.1))
                    && self.call(&c.default, &d.default)
            }
            (c, d) => c == d,
        };
        if x.op == y.op && same_imm && self.args(&x.args, &y.args) && self.a.locs[i] == self.b.locs[j] {
            Ok(())
        } else {
            Err(format!("`{}` and `{}`", self.a.inst_text(i), self.b.inst_text(j)))
        }
    }
}
