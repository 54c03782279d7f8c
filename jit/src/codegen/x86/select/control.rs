//! Control flow. A switch becomes a table where its cases lie densely, else a binary search.
//!
//! Where a block has several ways out, one that carries values, or leads where others lead too, goes through a block of its own.

use clift_kir::ops::TerminatorOp;
use clift_kir::{BlockCall, Imm, Inst, Opcode, SwitchData, Type, Value};
use regalloc2::{Operand, VReg};
use smallvec::SmallVec;

use super::{From, Selector, size, wrong_imm};
use crate::codegen::x86::code::{Cond, Edge, GPR, Kind, MachBlock};
use crate::codegen::x86::encode::Size;
use crate::codegen::x86::table as t;

/// Runs of cases of at least this many are tables.
const TABLE_MIN: usize = 4;

impl Selector<'_> {
    pub(super) fn control_op(&mut self, op: TerminatorOp, inst: Inst) {
        let legal = self.legal;
        let data = legal.dfg.inst(inst);
        match (op, &data.imm) {
            (TerminatorOp::Jump, Imm::Jump(call)) => {
                let edge = self.straight(call);
                self.push(Kind::Jump, SmallVec::new());
                self.blocks[self.current].edges = vec![edge];
            }
            (TerminatorOp::Branch, Imm::Branch(calls)) => {
                let cond = self.branch_condition(data.args[0]);
                self.branch(cond, |this| this.edge(&calls[0]), |this| this.edge(&calls[1]));
            }
            (TerminatorOp::Switch, Imm::Switch(switch)) => {
                let ty = self.arg_type(inst, 0);
                let selector = self.get(data.args[0]);
                let selector = self.zero_extended(selector, ty.elem.bits());
                self.switch(selector, ty, switch);
            }
            // Reaching what is never reached is the kernel's fault, but no reason to end the process: the call ends.
            (TerminatorOp::Ret | TerminatorOp::Unreachable, Imm::None) => self.push(Kind::Return, SmallVec::new()),
            (_, imm) => wrong_imm(imm),
        }
    }

    /// Sets the flags by what a branch depends on.
    fn branch_condition(&mut self, cond: Value) -> Cond {
        if self.fused.contains(cond)
            && let Some(test) = self.legal.dfg.def_inst(cond)
        {
            return match self.legal.dfg.inst(test).op {
                Opcode::Icmp => self.compare_scalars(test),
                _ => self.test_mask(test),
            };
        }
        let value = self.get(cond);
        self.flags(t::TEST, Size::S32, value, From::Register(value));
        Cond::NotEqual
    }

    /// Ends the current block with a branch on the flags.
    fn branch(&mut self, cond: Cond, then: impl FnOnce(&mut Self) -> Edge, otherwise: impl FnOnce(&mut Self) -> Edge) {
        let block = self.current;
        self.push(Kind::Branch(cond), SmallVec::new());
        let then = then(self);
        self.current = block;
        let otherwise = otherwise(self);
        self.current = block;
        self.blocks[block].edges = vec![then, otherwise];
    }

    /// The way to a block from the end of the current one.
    fn straight(&mut self, call: &BlockCall) -> Edge {
        let args = call.args.iter().map(|&arg| self.get(arg)).collect();
        Edge { to: self.targets[call.block], args }
    }

    /// A block of its own, out of the way if the current one or where it leads is.
    fn extra_block(&mut self, cold: bool) -> usize {
        let cold = cold || self.blocks[self.current].cold;
        self.blocks.push(MachBlock { cold, ..MachBlock::default() });
        self.order.push(self.blocks.len() - 1);
        self.blocks.len() - 1
    }

    /// One of several ways out of the current block.
    fn edge(&mut self, call: &BlockCall) -> Edge {
        if call.args.is_empty() && self.preds[call.block] == 1 {
            return Edge { to: self.targets[call.block], args: Vec::new() };
        }
        let block = self.extra_block(self.blocks[self.targets[call.block]].cold);
        self.current = block;
        let edge = self.straight(call);
        self.push(Kind::Jump, SmallVec::new());
        self.blocks[block].edges = vec![edge];
        Edge { to: block, args: Vec::new() }
    }

    fn switch(&mut self, selector: VReg, ty: Type, switch: &SwitchData) {
        let mut cases: Vec<(u64, &BlockCall)> = switch.cases.iter().map(|(bits, call)| (*bits, call)).collect();
        cases.sort_by_key(|&(bits, _)| bits);
        // Several comparisons lead to the default.
        self.preds[switch.default.block] += 1;
        self.search(selector, ty, &cases, &switch.default);
    }

    fn compare_bits(&mut self, selector: VReg, ty: Type, bits: u64) {
        let value = if ty.elem.bits() == 32 { i64::from(bits as u32 as i32) } else { bits as i64 };
        match i32::try_from(value) {
            Ok(value) => self.compare_imm(size(ty), selector, value.into()),
            Err(_) => {
                let other = self.number(value, 64);
                self.flags(t::CMP, size(ty), selector, From::Register(other));
            }
        }
    }

    /// Ends the current block with the choice among sorted cases.
    fn search(&mut self, selector: VReg, ty: Type, cases: &[(u64, &BlockCall)], default: &BlockCall) {
        let [(first, target), rest @ ..] = cases else {
            let edge = self.straight(default);
            self.push(Kind::Jump, SmallVec::new());
            self.blocks[self.current].edges = vec![edge];
            return;
        };
        let Some((last, _)) = rest.last() else {
            self.compare_bits(selector, ty, *first);
            return self.branch(Cond::Equal, |this| this.edge(target), |this| this.edge(default));
        };
        let span = last - first;
        if cases.len() >= TABLE_MIN && span / 2 < cases.len() as u64 {
            return self.table(selector, ty, cases, default);
        }
        let (low, high) = cases.split_at(cases.len() / 2);
        self.compare_bits(selector, ty, high[0].0);
        let (low_block, high_block) = (self.extra_block(false), self.extra_block(false));
        let to = |to| move |_: &mut Self| Edge { to, args: Vec::new() };
        self.branch(Cond::Below, to(low_block), to(high_block));
        for (block, cases) in [(low_block, low), (high_block, high)] {
            self.current = block;
            self.search(selector, ty, cases, default);
        }
    }

    fn table(&mut self, selector: VReg, ty: Type, cases: &[(u64, &BlockCall)], default: &BlockCall) {
        let first = cases[0].0;
        let index = match first {
            0 => self.g1(t::MOV, size(ty), From::Register(selector)),
            first => {
                let base = self.number(first as i64, ty.elem.bits());
                self.g2(t::SUB, size(ty), selector, From::Register(base))
            }
        };
        let count = cases[cases.len() - 1].0 - first + 1;
        self.compare_imm(size(ty), index, count as i64);
        let table = self.extra_block(false);
        self.branch(Cond::Below, |_| Edge { to: table, args: Vec::new() }, |this| this.edge(default));
        self.current = table;
        let (base, entry) = (self.fresh(GPR), self.fresh(GPR));
        let operands =
            SmallVec::from_slice(&[Operand::reg_use_at_end(index), Operand::reg_temp(base), Operand::reg_temp(entry)]);
        self.push(Kind::Table, operands);
        let mut edges = Vec::new();
        let mut wanted = cases.iter();
        let mut next = wanted.next();
        for bits in first..first + count {
            self.current = table;
            let target = match next {
                Some((case, target)) if *case == bits => {
                    next = wanted.next();
                    target
                }
                _ => default,
            };
            edges.push(self.edge(target));
        }
        self.current = table;
        self.blocks[table].edges = edges;
    }
}
