//! Control flow. A switch becomes a jump table where its cases are dense, else a binary search.
//!
//! Critical edges are split: if a block has several successors, an edge that carries values or leads to a block with several
//! predecessors gets a block of its own.

use clift_kir::ops::TerminatorOp;
use clift_kir::{BlockCall, Imm, Inst, Opcode, SwitchData, Type, Value};
use regalloc2::{Operand, VReg};
use smallvec::SmallVec;

use super::{KnownFlags, RegMem, Selector, size, wrong_imm};
use crate::codegen::x86::code::{Cond, GPR, InstKind, MachBlock, MachEdge, MachInst};
use crate::codegen::x86::encode::OperandSize;
use crate::codegen::x86::table as t;

/// The least number of dense cases for a jump table.
const TABLE_MIN: usize = 4;

impl Selector<'_> {
    pub(super) fn control_op(&mut self, op: TerminatorOp, inst: Inst) {
        let legal = self.legal;
        let data = legal.dfg.inst(inst);
        match (op, &data.imm) {
            (TerminatorOp::Jump, Imm::Jump(call)) => {
                let edge = self.straight(call);
                self.push(InstKind::Jump, SmallVec::new());
                self.blocks[self.current].edges = vec![edge];
            }
            (TerminatorOp::Branch, Imm::Branch(calls)) => {
                self.branch_on(data.args[0], &calls[0], &calls[1]);
            }
            (TerminatorOp::Switch, Imm::Switch(switch)) => {
                let ty = self.arg_type(inst, 0);
                let selector = self.get(data.args[0]);
                let selector = self.zero_extended(selector, ty.elem.bits());
                self.switch(selector, ty, switch);
            }
            // Reaching `unreachable` is the kernel's fault, but must not end the process: the function returns.
            (TerminatorOp::Ret | TerminatorOp::Unreachable, Imm::None) => self.push(InstKind::Return, SmallVec::new()),
            (_, imm) => wrong_imm(imm),
        }
    }

    /// Ends the current block with a branch on a Boolean. The terms of a fused conjunction or disjunction are branches, one
    /// after the other, until one decides.
    fn branch_on(&mut self, cond: Value, then: &BlockCall, otherwise: &BlockCall) {
        let joins = self.legal.dfg.def_inst(cond).map(|inst| self.legal.dfg.inst(inst).op);
        let mut last = cond;
        if let Some(op @ (Opcode::And | Opcode::Or)) = joins.filter(|_| self.fused.contains(cond)) {
            let mut terms = Vec::new();
            self.terms(cond, op, &mut terms);
            last = terms.pop().unwrap_or(cond);
            let decided = if op == Opcode::And { otherwise } else { then };
            self.preds[decided.block] += terms.len() as u32;
            for term in terms {
                let cond = self.set_flags(term);
                let next = self.extra_block(false);
                let to_next = |_: &mut Self| MachEdge { to: next, args: Vec::new() };
                if op == Opcode::And {
                    self.branch(cond, to_next, |this| this.edge(decided));
                } else {
                    self.branch(cond, |this| this.edge(decided), to_next);
                }
                self.current = next;
            }
        }
        let cond = self.set_flags(last);
        self.branch(cond, |this| this.edge(then), |this| this.edge(otherwise));
    }

    /// The terms of a conjunction or disjunction, in order.
    fn terms(&self, cond: Value, op: Opcode, terms: &mut Vec<Value>) {
        match self.legal.dfg.def_inst(cond).map(|inst| self.legal.dfg.inst(inst)).filter(|data| data.op == op) {
            Some(data) => data.args.iter().for_each(|&arg| self.terms(arg, op, terms)),
            None => terms.push(cond),
        }
    }

    /// Sets the flags by a Boolean and returns the condition on them.
    pub(super) fn set_flags(&mut self, cond: Value) -> Cond {
        if let Some(known) = self.flags
            && (known.by, known.block) == (cond, self.current)
            && self.blocks[known.block].insts[known.end..].iter().all(MachInst::keeps_flags)
        {
            return known.cond;
        }
        let by = cond;
        let cond = self.set_flags_anew(cond);
        let end = self.blocks[self.current].insts.len();
        self.flags = Some(KnownFlags { by, cond, block: self.current, end });
        cond
    }

    fn set_flags_anew(&mut self, cond: Value) -> Cond {
        if self.fused.contains(cond)
            && let Some(test) = self.legal.dfg.def_inst(cond)
        {
            let op = self.legal.dfg.inst(test).op;
            return if op == Opcode::Icmp {
                self.compare_scalars(test)
            } else if op == Opcode::Fcmp {
                self.compare_scalar_floats(test)
            } else {
                self.test_mask(test)
            };
        }
        let value = self.get(cond);
        self.flags(t::TEST, OperandSize::S32, value, RegMem::Register(value));
        Cond::NotEqual
    }

    /// Ends the current block with a branch on the flags.
    fn branch(
        &mut self,
        cond: Cond,
        then: impl FnOnce(&mut Self) -> MachEdge,
        otherwise: impl FnOnce(&mut Self) -> MachEdge,
    ) {
        let block = self.current;
        self.push(InstKind::Branch(cond), SmallVec::new());
        let then = then(self);
        self.current = block;
        let otherwise = otherwise(self);
        self.current = block;
        self.blocks[block].edges = vec![then, otherwise];
    }

    /// The edge to the only successor of the current block.
    fn straight(&mut self, call: &BlockCall) -> MachEdge {
        let args = call.args.iter().map(|&arg| self.edge_argument(arg)).collect();
        MachEdge { to: self.targets[call.block], args }
    }

    /// A value that an edge carries. Masks that are vectors have the form of block parameters.
    fn edge_argument(&mut self, value: Value) -> VReg {
        let ty = self.legal.dfg.ty(value);
        if self.masks_are_vectors() && ty.is_bool() && ty.is_vector() {
            return self.mask_lanes(value, super::avx2::param_bytes(ty.lanes()));
        }
        self.get(value)
    }

    /// A new block; it is cold if the current block or its target is.
    fn extra_block(&mut self, cold: bool) -> usize {
        let cold = cold || self.blocks[self.current].cold;
        self.blocks.push(MachBlock { cold, ..MachBlock::default() });
        self.order.push(self.blocks.len() - 1);
        self.blocks.len() - 1
    }

    /// One of several edges from the current block.
    fn edge(&mut self, call: &BlockCall) -> MachEdge {
        if call.args.is_empty() && self.preds[call.block] == 1 {
            return MachEdge { to: self.targets[call.block], args: Vec::new() };
        }
        let block = self.extra_block(self.blocks[self.targets[call.block]].cold);
        self.current = block;
        let edge = self.straight(call);
        self.push(InstKind::Jump, SmallVec::new());
        self.blocks[block].edges = vec![edge];
        MachEdge { to: block, args: Vec::new() }
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
            Ok(value) => self.compare_imm(size(ty), RegMem::Register(selector), value.into()),
            Err(_) => {
                let other = self.number(value, 64);
                self.flags(t::CMP, size(ty), selector, RegMem::Register(other));
            }
        }
    }

    /// Ends the current block with a search among sorted cases.
    fn search(&mut self, selector: VReg, ty: Type, cases: &[(u64, &BlockCall)], default: &BlockCall) {
        let [(first, target), rest @ ..] = cases else {
            let edge = self.straight(default);
            self.push(InstKind::Jump, SmallVec::new());
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
        let to = |to| move |_: &mut Self| MachEdge { to, args: Vec::new() };
        self.branch(Cond::Below, to(low_block), to(high_block));
        for (block, cases) in [(low_block, low), (high_block, high)] {
            self.current = block;
            self.search(selector, ty, cases, default);
        }
    }

    fn table(&mut self, selector: VReg, ty: Type, cases: &[(u64, &BlockCall)], default: &BlockCall) {
        let first = cases[0].0;
        let index = match first {
            0 => self.g1(t::MOV, size(ty), RegMem::Register(selector)),
            first => {
                // The selector is zero-extended; so is the base.
                let base = self.number(first as i64, ty.elem.bits().max(32));
                self.g2(t::SUB, size(ty), selector, RegMem::Register(base))
            }
        };
        let count = cases[cases.len() - 1].0 - first + 1;
        self.compare_imm(size(ty), RegMem::Register(index), count as i64);
        let table = self.extra_block(false);
        self.branch(Cond::Below, |_| MachEdge { to: table, args: Vec::new() }, |this| this.edge(default));
        self.current = table;
        let (base, entry) = (self.fresh(GPR), self.fresh(GPR));
        let operands =
            SmallVec::from_slice(&[Operand::reg_use_at_end(index), Operand::reg_temp(base), Operand::reg_temp(entry)]);
        self.push(InstKind::JumpTable, operands);
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
