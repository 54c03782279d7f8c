//! Control flow. A switch becomes a jump table where its cases are dense, else a binary search.

use clift_kir::ops::TerminatorOp;
use clift_kir::{BlockCall, Imm, Inst, SwitchData};
use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, BlockArg, InstBuilder, types};

use super::translate::{Translator, wrong_imm};

/// A branch target with its arguments.
type BranchTarget = (ir::Block, Vec<BlockArg>);

/// The least number of dense cases for a jump table.
const TABLE_MIN: usize = 4;

impl Translator<'_> {
    pub(super) fn control_op(&mut self, op: TerminatorOp, inst: Inst) {
        let legal = self.legal;
        let data = legal.dfg.inst(inst);
        match (op, &data.imm) {
            (TerminatorOp::Jump, Imm::Jump(call)) => {
                let (block, args) = self.target(call);
                self.pos.ins().jump(block, &args);
            }
            (TerminatorOp::Branch, Imm::Branch(calls)) => {
                let cond = self.condition(data.args[0]);
                let (then, then_args) = self.target(&calls[0]);
                let (otherwise, else_args) = self.target(&calls[1]);
                self.pos.ins().brif(cond, then, &then_args, otherwise, &else_args);
            }
            (TerminatorOp::Switch, Imm::Switch(switch)) => {
                let selector = match self.long.get(&data.args[0]) {
                    Some(&long) => self.pos.ins().ireduce(types::I32, long),
                    None => self.get(data.args[0]),
                };
                self.switch(selector, switch);
            }
            (TerminatorOp::Ret, Imm::None) => {
                let values = self.args(inst);
                self.return_values(&values);
            }
            // The kernel is at fault, but that must not end the process: the function returns.
            (TerminatorOp::Unreachable, Imm::None) => {
                let returns: Vec<ir::Type> =
                    self.pos.func.signature.returns.iter().map(|param| param.value_type).collect();
                let values: Vec<ir::Value> = returns.iter().map(|&ty| self.zero(ty)).collect();
                self.pos.ins().return_(&values);
            }
            (_, imm) => wrong_imm(imm),
        }
    }

    fn zero(&mut self, ty: ir::Type) -> ir::Value {
        let int = self.pos.ins().iconst(types::I64, 0);
        match ty {
            types::F32 => self.pos.ins().f32const(0.0),
            types::F64 => self.pos.ins().f64const(0.0),
            types::I64 => int,
            ty if ty.is_int() => self.pos.ins().iconst(ty, 0),
            ty => {
                let vector = self.pos.ins().scalar_to_vector(types::I64X2, int);
                self.recast(vector, ty)
            }
        }
    }

    fn target(&mut self, call: &BlockCall) -> BranchTarget {
        let args = call
            .args
            .iter()
            .map(|&arg| {
                let value = self.get(arg);
                BlockArg::from(self.mask_for_block(value, self.legal.dfg.ty(arg)))
            })
            .collect();
        (self.block(call.block), args)
    }

    fn switch(&mut self, selector: ir::Value, switch: &SwitchData) {
        let default = self.target(&switch.default);
        let mut cases: Vec<(u64, BranchTarget)> =
            switch.cases.iter().map(|(bits, call)| (*bits, self.target(call))).collect();
        cases.sort_by_key(|&(bits, _)| bits);
        self.search(selector, &cases, &default);
    }

    /// Ends the current block with a search among sorted cases.
    fn search(&mut self, selector: ir::Value, cases: &[(u64, BranchTarget)], default: &BranchTarget) {
        let ty = self.ty(selector);
        let [(first, target), rest @ ..] = cases else {
            self.pos.ins().jump(default.0, &default.1);
            return;
        };
        let Some((last, _)) = rest.last() else {
            let equal = self.pos.ins().icmp_imm_u(IntCC::Equal, selector, *first as i64);
            self.pos.ins().brif(equal, target.0, &target.1, default.0, &default.1);
            return;
        };
        let span = last - first;
        if cases.len() >= TABLE_MIN && span / 2 < cases.len() as u64 {
            return self.table(selector, cases, default);
        }
        let (low, high) = cases.split_at(cases.len() / 2);
        let (low_block, high_block) = (self.pos.func.dfg.make_block(), self.pos.func.dfg.make_block());
        let pivot = self.int(ty, high[0].0 as i64);
        let is_low = self.pos.ins().icmp(IntCC::UnsignedLessThan, selector, pivot);
        self.pos.ins().brif(is_low, low_block, &[], high_block, &[]);
        for (block, cases) in [(low_block, low), (high_block, high)] {
            self.pos.insert_block(block);
            self.search(selector, cases, default);
        }
    }

    fn table(&mut self, selector: ir::Value, cases: &[(u64, BranchTarget)], default: &BranchTarget) {
        let ty = self.ty(selector);
        let first = cases[0].0;
        let base = self.int(ty, first as i64);
        let index = self.pos.ins().isub(selector, base);
        let index = if ty.bits() < 32 {
            self.pos.ins().uextend(types::I32, index)
        } else if ty == types::I64 {
            // Indices beyond 32 bits must not wrap around into the table.
            let limit = self.pos.ins().iconst(types::I64, i64::from(u32::MAX));
            let clamped = self.pos.ins().umin(index, limit);
            self.pos.ins().ireduce(types::I32, clamped)
        } else {
            index
        };
        let mut entries = Vec::new();
        for (bits, target) in cases {
            while first + (entries.len() as u64) < *bits {
                entries.push(default.clone());
            }
            entries.push(target.clone());
        }
        let pool = &mut self.pos.func.dfg.value_lists;
        let mut call = |target: &BranchTarget| ir::BlockCall::new(target.0, target.1.iter().copied(), pool);
        let default = call(default);
        let entries: Vec<ir::BlockCall> = entries.iter().map(call).collect();
        let table = self.pos.func.create_jump_table(ir::JumpTableData::new(default, &entries));
        self.pos.ins().br_table(index, table);
    }
}
