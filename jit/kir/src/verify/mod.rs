//! The verifier: checks the rules for a function at its stage.
//!
//! - `structure`: blocks, terminators, ids, definitions, dominance;
//! - [`typing`]: operand and result types against the op table's rules;
//! - `immediate`: immediates of the right kind and range; targets take the right arguments;
//! - `stage`: which ops a stage allows, and what kernels look like.
//!
//! Total: any function, however broken, gives a list of errors, never a panic. It runs between passes in debug and test
//! builds, and over whatever comes from text. It says nothing about whether a program is meaningful: out-of-bounds accesses,
//! races and divergent barriers are the interpreter's to find.

mod immediate;
mod stage;
mod structure;
#[cfg(test)]
mod tests;
pub mod typing;

pub use stage::LOOPED_PARAMS;

use std::fmt;

use crate::entities::{Block, Inst};
use crate::function::{Function, Stage};
use crate::module::Module;

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// Name of the function; empty for the module itself.
    pub function: String,
    /// The block concerned.
    pub block: Option<Block>,
    /// The instruction concerned, with its text.
    pub inst: Option<(Inst, String)>,
    /// The rule.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.function.is_empty() {
            f.write_str("module")?
        } else {
            write!(f, "function `{}`", self.function)?
        }
        if let Some(block) = self.block {
            write!(f, ", {block}")?;
        }
        if let Some((inst, text)) = &self.inst {
            write!(f, ", {inst} `{text}`")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// All broken rules found; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyErrors(pub Vec<VerifyError>);

impl std::error::Error for VerifyErrors {}

impl fmt::Display for VerifyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 20;
        for (i, error) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{error}", if i > 0 { "\n" } else { "" })?;
        }
        if self.0.len() > SHOWN { write!(f, "\nand {} more", self.0.len() - SHOWN) } else { Ok(()) }
    }
}

/// Checks a function, which is one of the module's or will replace one.
///
/// # Errors
/// Every rule found broken.
pub fn function(module: &Module, func: &Function) -> Result<(), VerifyErrors> {
    let mut report = Checker { func, errors: Vec::new() };
    // Later checks look up what the earlier ones found to exist.
    structure::ids(&mut report);
    if report.errors.is_empty() {
        structure::blocks(&mut report);
        immediate::check(&mut report, module);
        types(&mut report, module);
        stage::check(&mut report, module);
        if report.errors.is_empty() {
            structure::dominance(&mut report);
        }
    }
    if report.errors.is_empty() {
        return Ok(());
    }
    // In the order of the text.
    let place = |error: &VerifyError| {
        let block = func.layout.blocks().iter().position(|&b| Some(b) == error.block);
        let insts = error.block.map(|b| func.layout.insts(b)).unwrap_or_default();
        let inst = insts.iter().position(|&i| error.inst.as_ref().is_some_and(|(inst, _)| *inst == i));
        (block, inst)
    };
    report.errors.sort_by_cached_key(place);
    Err(VerifyErrors(report.errors))
}

/// Checks all functions, variables and kernels. From *canonical* on, functions that are not kernels may have lost their
/// bodies: they live on in their callers.
///
/// # Errors
/// Every rule found broken.
pub fn module(module: &Module) -> Result<(), VerifyErrors> {
    let mut errors = Vec::new();
    stage::module(module, &mut errors);
    for (id, func) in &module.funcs {
        let emptied = func.stage != Stage::Imported && func.layout.entry().is_none();
        if emptied && !module.kernels.iter().any(|kernel| kernel.func == id) {
            continue;
        }
        if let Err(more) = function(module, func) {
            errors.extend(more.0);
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(VerifyErrors(errors)) }
}

/// The function being checked and what was found so far.
struct Checker<'f> {
    func: &'f Function,
    errors: Vec<VerifyError>,
}

impl Checker<'_> {
    /// An error of the whole function.
    fn function(&mut self, message: impl Into<String>) {
        self.push(None, None, message.into());
    }

    /// An error of a block.
    fn block(&mut self, block: Block, message: impl Into<String>) {
        self.push(Some(block), None, message.into());
    }

    /// An error of an instruction.
    fn inst(&mut self, block: Block, inst: Inst, message: impl Into<String>) {
        self.push(Some(block), Some((inst, self.func.inst_text(inst).to_string())), message.into());
    }

    fn push(&mut self, block: Option<Block>, inst: Option<(Inst, String)>, message: String) {
        self.errors.push(VerifyError { function: self.func.name.clone(), block, inst, message });
    }
}

/// Every instruction with its block, in order.
fn each_inst(func: &Function) -> impl Iterator<Item = (Block, Inst)> + '_ {
    func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block).iter().map(move |&inst| (block, inst)))
}

/// Typing of every instruction.
fn types(report: &mut Checker<'_>, module: &Module) {
    let func = report.func;
    let mut args = Vec::new();
    let mut results = Vec::new();
    for (block, inst) in each_inst(func) {
        let data = func.dfg.inst(inst);
        if !data.op.info().imm.matches(&data.imm) {
            continue; // reported as an immediate's error
        }
        args.clear();
        args.extend(data.args.iter().map(|&v| func.dfg.ty(v)));
        results.clear();
        results.extend(func.dfg.results(inst).iter().map(|&v| func.dfg.ty(v)));
        let callee = if let crate::inst::Imm::Func(id) = data.imm { module.funcs.get(id) } else { None };
        let params = callee.map(Function::param_types).unwrap_or_default();
        let env = typing::Env { returns: &func.returns, callee: callee.map(|c| (&*params, &*c.returns)) };
        if let Err(message) = typing::check(data, &args, &results, &env) {
            report.inst(block, inst, message);
        }
    }
}
