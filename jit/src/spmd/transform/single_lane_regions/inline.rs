//! Puts the functions of regions in the places of their calls, in the code of a pack.

use clift_kir::clone::Cloner;
use clift_kir::inst::{BlockCall, Imm};
use clift_kir::{Block, Builder, Function, Inst, Opcode, Type, Value};
use rustc_hash::FxHashMap;

use super::{ARG_BYTES, FIRST_ARG, SingleLaneRegion};
use crate::Options;
use crate::passes::{self, Globals};
use crate::spmd::transform::one_lane;
use crate::spmd::workgroup::collectives;
use crate::target::machine::Machine;

/// What precedes vectors: one value of the region is known now.
const PREPARATION: &[&str] = &["simplify", "gvn", "dce"];

/// What makes vectors of one lane's neighbouring elements and iterations.
#[derive(Clone, Copy)]
pub(crate) struct Vectorizer<'a> {
    pub(crate) globals: &'a Globals,
    pub(crate) options: &'a Options,
    pub(crate) machine: &'a Machine,
}

impl SingleLaneRegion {
    /// The function with vectors.
    fn vectorized(&self, by: Vectorizer<'_>) -> &Function {
        self.vectorized.get_or_init(|| {
            let mut func = self.func.clone();
            passes::run(&mut func, by.globals, PREPARATION, &mut |_, _| ());
            let (made, _) = one_lane::with_loops(&func, by.globals, by.options, by.machine);
            let mut func = made.map_or(func, |made| made.func);
            collectives::lower_for_single_lane(&mut func);
            func
        })
    }
}

/// Replaces the calls in the code of a pack.
pub(crate) fn run(pack: &mut Function, regions: &[SingleLaneRegion], vectorizer: Option<Vectorizer<'_>>) {
    if regions.is_empty() {
        return;
    }
    let is_call = |func: &Function, inst: Inst| func.dfg.inst(inst).op == Opcode::Call;
    let mut results: FxHashMap<Value, Value> = FxHashMap::default();
    let mut order: Vec<Block> = Vec::new();
    for block in pack.layout.blocks().to_vec() {
        order.push(block);
        let mut at = block;
        while let Some(index) = pack.layout.insts(at).iter().position(|&inst| is_call(pack, inst)) {
            let call = pack.layout.insts(at)[index];
            let Imm::Func(number) = pack.dfg.inst(call).imm else {
                unreachable!("broken invariant: a call of nothing")
            };
            let region = &regions[number.as_u32() as usize];
            let next = pack.dfg.make_block();
            pack.layout.append_block(next);
            if pack.layout.is_cold(block) {
                pack.layout.set_cold(next);
            }
            pack.layout.split_off(at, index + 1, next);
            pack.layout.remove_inst(call);
            for result in pack.dfg.results(call).to_vec() {
                let param = pack.dfg.append_param(next, pack.dfg.ty(result));
                results.insert(result, param);
            }
            let known = |&value: &Value| results.get(&value).copied().unwrap_or(value);
            let operands: Vec<Value> = pack.dfg.inst(call).args.iter().map(known).collect();
            let body = match vectorizer {
                Some(by) => region.vectorized(by).clone(),
                None => {
                    let mut body = region.func.clone();
                    collectives::lower_for_single_lane(&mut body);
                    body
                }
            };
            order.extend(copy(pack, &body, (at, next), &operands));
            order.push(next);
            at = next;
        }
    }
    pack.layout.set_order(order);
    for block in pack.layout.blocks().to_vec() {
        for i in 0..pack.layout.insts(block).len() {
            let inst = pack.layout.insts(block)[i];
            pack.dfg.map_uses(inst, |value| results.get(&value).copied().unwrap_or(value));
        }
    }
}

/// Copies the code of a region between two blocks, of which the first has no terminator. Returns the blocks of the copy.
fn copy(pack: &mut Function, body: &Function, (before, next): (Block, Block), operands: &[Value]) -> Vec<Block> {
    let mut cloner = Cloner::of(body);
    let mut copies: Vec<Block> = Vec::new();
    for &block in body.layout.blocks() {
        let copy = cloner.copy_block(pack, block);
        if pack.layout.is_cold(before) {
            pack.layout.set_cold(copy);
        }
        pack.layout.append_block(copy);
        copies.push(copy);
    }
    let mut returned: Vec<(Block, Inst)> = Vec::new();
    for (&block, &copy) in body.layout.blocks().iter().zip(&copies) {
        for &inst in body.layout.insts(block) {
            let data = body.dfg.inst(inst);
            if let (Opcode::Arg, &Imm::Offset(offset)) = (data.op, &data.imm)
                && offset >= FIRST_ARG
            {
                let result = body.dfg.result(inst);
                let operand = operands[((offset - FIRST_ARG) / ARG_BYTES) as usize];
                let operand = as_type(pack, before, operand, body.dfg.ty(result));
                cloner.set_value(result, operand);
            } else if data.op == Opcode::Ret {
                returned.push((copy, inst));
            } else {
                cloner.append(pack, copy, inst);
            }
        }
    }
    cloner.finish(pack);
    for (copy, ret) in returned {
        let values: Vec<Value> = body.dfg.inst(ret).args.iter().map(|&arg| cloner.value_or_same(arg)).collect();
        Builder::at_end(pack, copy).jump(next, &values);
    }
    let entry = BlockCall::new(copies[0], &[]);
    Builder::at_end(pack, before).jump(entry.block, &entry.args);
    copies
}

/// An operand as the region expects it, before the region.
fn as_type(pack: &mut Function, before: Block, operand: Value, ty: Type) -> Value {
    if pack.dfg.ty(operand) == ty {
        return operand;
    }
    Builder::at_end(pack, before).cast(Opcode::SpaceCast, operand, ty)
}
