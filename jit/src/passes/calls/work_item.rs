//! What a called function needs of the work-item that calls it: the values of queries are passed to it, behind its own
//! parameters.
//!
//! A called function has no work-item of its own: what a query gives is known where the kernel's loops over work-items are, and
//! these do not reach into it. And its caller has one lane per pack, which alone decides whether any lane needs something.

use clift_kir::ops::OpClass;
use clift_kir::{Builder, Function, Imm, Opcode, Type, Value};

use crate::passes::Replacements;

/// A query whose value a called function is given.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PassedQuery {
    op: Opcode,
    /// The dimension, if the query has one.
    imm: Imm,
    ty: Type,
}

impl PassedQuery {
    /// The query's value in the caller.
    pub(super) fn ask(&self, b: &mut Builder<'_>) -> Value {
        b.value(self.op, &[], self.imm.clone(), self.ty)
    }
}

/// Replaces the queries of a function by parameters, one for each different query; these are the queries in the order of the
/// parameters. Its only lane is all lanes.
pub(super) fn lower(func: &mut Function) -> Vec<PassedQuery> {
    let Some(entry) = func.layout.entry() else {
        unreachable!("broken invariant: function `{}` has no body", func.name)
    };
    let mut passed: Vec<(PassedQuery, Value)> = Vec::new();
    let mut replacements = Replacements::default();
    for block in func.layout.blocks().to_vec() {
        let mut kept = Vec::new();
        for inst in func.layout.take_insts(block) {
            let data = func.dfg.inst(inst).clone();
            if data.op == Opcode::PackAny {
                replacements.set(func.dfg.result(inst), data.args[0]);
            } else if let OpClass::Query(_) = data.op.class() {
                let result = func.dfg.result(inst);
                let query = PassedQuery { op: data.op, imm: data.imm, ty: func.dfg.ty(result) };
                let known = passed.iter().find(|(other, _)| *other == query).map(|&(_, param)| param);
                let param = known.unwrap_or_else(|| {
                    let param = func.dfg.append_param(entry, query.ty);
                    passed.push((query, param));
                    param
                });
                replacements.set(result, param);
            } else {
                kept.push(inst);
            }
        }
        func.layout.set_insts(block, kept);
    }
    replacements.apply(func);
    passed.into_iter().map(|(query, _)| query).collect()
}
