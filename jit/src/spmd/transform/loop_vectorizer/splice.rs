//! Puts the code of a pack of iterations into the kernel, before the loop that executes the remaining iterations one by one.
//!
//! ```text
//! preheader:   n = trip count; whole = n rounded down to packs        preheader -> first, rest
//! first:       jump header(0, identities)
//! header(k, lanes of reductions): code of the pack, ...
//! last:        branch k + W != whole, header, left                    (one of the pack's blocks)
//! left:        branch whole == n, exit, rest
//! rest(header's parameters): jump to the loop's header
//! ```

use clift_kir::clone::Cloner;
use clift_kir::ops::OpClass;
use clift_kir::{Block, BlockCall, Builder, Function, Imm, Inst, IntCond, Opcode, Type, Value};
use rustc_hash::FxHashMap;

use super::Chosen;
use super::countable::CountableLoop;
use super::iteration_kernel::IterationKernel;
use crate::passes::loop_form::args_of_edge;
use crate::spmd::transform::normalize::NormalForm;
use crate::spmd::vectorize::widen;

/// Vectorizes a loop. Returns the kernel, and the headers of the loops that have been made and of the one with the rest.
pub(super) fn run(normal: &NormalForm, chosen: &Chosen) -> Option<(Function, Vec<Block>)> {
    let &Chosen { ref kernel, lanes, normal: ref body, .. } = chosen;
    let (pack, _) = widen::run(body, &body.divergence(lanes, true), lanes, false);
    if !pack.slots.is_empty() || !pack.layout.blocks().iter().all(|&block| is_known(&pack, block)) {
        return None;
    }
    let func = normal.func.clone();
    let mut splice = Splice { func, kernel, pack: &pack, lanes, casts: FxHashMap::default() };
    let header = splice.run()?;
    let rest = normal.loops.iter().map(|(_, data)| data.header);
    let rest = rest.filter(|&other| normal.loops.contains(kernel.counted.id, other));
    let made = std::iter::once(header).chain(rest).collect();
    Some((splice.func, made))
}

/// Whether the kernel can execute a block of the pack: the pack asks for nothing but the number of the iteration.
fn is_known(pack: &Function, block: Block) -> bool {
    pack.layout.insts(block).iter().all(|&inst| !matches!(pack.dfg.inst(inst).op.class(), OpClass::Query(_)) || is_number(pack, inst))
}

/// Whether an instruction is the number of the pack's first iteration.
fn is_number(pack: &Function, inst: Inst) -> bool {
    let data = pack.dfg.inst(inst);
    data.op == Opcode::GlobalId && data.imm == Imm::Dim(0)
}

/// Whether an instruction extends the number of the pack's first iteration, which 31 bits hold, after it has been truncated to an `i32`.
fn is_extended_number(pack: &Function, inst: Inst) -> bool {
    let data = pack.dfg.inst(inst);
    let operand = |inst: Inst| pack.dfg.inst(inst).args.first().and_then(|&arg| pack.dfg.def_inst(arg));
    let extends = matches!(data.op, Opcode::Sext | Opcode::Zext) && pack.dfg.ty(pack.dfg.result(inst)) == Type::I64;
    let truncated = operand(inst).filter(|&from| {
        pack.dfg.inst(from).op == Opcode::Itrunc && pack.dfg.ty(pack.dfg.result(from)) == Type::I32
    });
    extends && truncated.and_then(operand).is_some_and(|from| is_number(pack, from))
}

struct Splice<'a> {
    func: Function,
    kernel: &'a IterationKernel,
    pack: &'a Function,
    lanes: u32,
    /// Live-in pointers, cast as the iteration kernel expects them.
    casts: FxHashMap<Value, Value>,
}

impl Splice<'_> {
    /// Returns the header of the loop over packs.
    fn run(&mut self) -> Option<Block> {
        let IterationKernel { ref counted, ref reductions, .. } = *self.kernel;
        let [first, header, left, rest] = [0; 4].map(|_| self.func.dfg.make_block());
        let exits = self.exit_args()?;
        let needs_last = exits.iter().any(Option::is_none);
        let (count, whole) = self.branch_to(first, rest, needs_last);
        self.func.layout.append_block(first);
        // Of the iterations that are left, and those of packs.
        let number = self.func.dfg.append_param(header, Type::I64);
        let mut accumulators: Vec<Value> = Vec::new();
        let mut b = Builder::at_end(&mut self.func, first);
        let mut initial = vec![b.iconst(Type::I64, 0)];
        for reduction in reductions {
            let ty = b.ty(reduction.param).with_lanes(self.lanes);
            initial.push(reduction.identity(&mut b, ty));
            accumulators.push(b.func.dfg.append_param(header, ty));
        }
        b.jump(header, &initial);
        let (last, contributions) = self.copy_pack(first, header, number);
        let mut b = Builder::at_end(&mut self.func, last);
        let lanes = b.iconst(Type::I64, self.lanes.into());
        let mut next = vec![b.int2(Opcode::Iadd, number, lanes)];
        for ((reduction, &lanes), more) in reductions.iter().zip(&accumulators).zip(contributions) {
            next.push(reduction.combine(&mut b, lanes, more));
        }
        let again = b.icmp(IntCond::Ne, next[0], whole);
        b.branch(again, BlockCall::new(header, &next), BlockCall::new(left, &[]));
        self.func.layout.append_block(left);
        let mut b = Builder::at_end(&mut self.func, left);
        let finals: Vec<Value> = reductions.iter().zip(&next[1..]).map(|(of, &lanes)| of.finish(&mut b, lanes)).collect();
        let rest_args = self.header_args(left, whole, &finals);
        let args: Option<Vec<Value>> =
            exits.iter().map(|exit| exit.as_ref().map(|exit| self.at_exit(left, exit, count, &finals))).collect();
        let mut b = Builder::at_end(&mut self.func, left);
        match args {
            Some(args) => {
                let done = b.icmp(IntCond::Eq, whole, count);
                b.branch(done, BlockCall::new(counted.exit, &args), BlockCall::new(rest, &rest_args));
            }
            None => {
                b.jump(rest, &rest_args);
            }
        }
        self.func.layout.append_block(rest);
        let params: Vec<Value> = rest_args
            .iter()
            .map(|&arg| {
                let ty = self.func.dfg.ty(arg);
                self.func.dfg.append_param(rest, ty)
            })
            .collect();
        Builder::at_end(&mut self.func, rest).jump(counted.header, &params);
        Some(header)
    }

    /// Ends the preheader: the trip count, and the iterations of whole packs, without the last iteration if `needs_last`. Goes to
    /// `first` if there are any, else to `rest` with what the preheader has passed to the loop.
    fn branch_to(&mut self, first: Block, rest: Block, needs_last: bool) -> (Value, Value) {
        let counted = &self.kernel.counted;
        let args = args_of_edge(&self.func, counted.preheader, counted.header).unwrap_or_default().to_vec();
        if let Some(jump) = self.func.layout.terminator(counted.preheader) {
            self.func.layout.remove_inst(jump);
        }
        let mut b = Builder::at_end(&mut self.func, counted.preheader);
        let (count, is_right) = counted.trip_count(&mut b);
        let packed = match needs_last {
            true => {
                let one = b.iconst(Type::I64, 1);
                b.int2(Opcode::Isub, count, one)
            }
            false => count,
        };
        let mask = b.iconst(Type::I64, -i64::from(self.lanes));
        let whole = b.int2(Opcode::And, packed, mask);
        let zero = b.iconst(Type::I64, 0);
        let any = b.icmp(IntCond::Ne, whole, zero);
        let packs = b.int2(Opcode::And, is_right, any);
        b.branch(packs, BlockCall::new(first, &[]), BlockCall::new(rest, &args));
        (count, whole)
    }

    /// Copies the code of the pack behind `header`. Returns its last block, which has no terminator, and what the lanes contribute to
    /// the reductions.
    fn copy_pack(&mut self, first: Block, header: Block, number: Value) -> (Block, Vec<Value>) {
        let pack = self.pack;
        let mut cloner = Cloner::of(pack);
        let blocks = pack.layout.blocks();
        self.func.layout.append_block(header);
        for &block in blocks {
            let copy = cloner.copy_block(&mut self.func, block);
            self.func.layout.append_block(copy);
        }
        let copy_of = |cloner: &Cloner<'_>, block: Block| match cloner.block(block) {
            Some(copy) => copy,
            None => unreachable!("broken invariant: {block} has not been copied"),
        };
        let mut end: Option<(Block, Inst)> = None;
        for &block in blocks {
            let copy = copy_of(&cloner, block);
            for &inst in pack.layout.insts(block) {
                let data = pack.dfg.inst(inst);
                if is_number(pack, inst) {
                    cloner.set_value(pack.dfg.result(inst), number);
                } else if let (Opcode::Arg, &Imm::Offset(offset)) = (data.op, &data.imm) {
                    let result = pack.dfg.result(inst);
                    let live_in = self.live_in(first, offset, pack.dfg.ty(result));
                    cloner.set_value(result, live_in);
                } else if is_extended_number(pack, inst) {
                    cloner.set_value(pack.dfg.result(inst), number);
                } else if data.op == Opcode::Ret {
                    end = Some((copy, inst));
                } else {
                    cloner.append(&mut self.func, copy, inst);
                }
            }
        }
        cloner.finish(&mut self.func);
        let entry = copy_of(&cloner, blocks[0]);
        Builder::at_end(&mut self.func, header).jump(entry, &[]);
        let Some((last, ret)) = end else { unreachable!("broken invariant: a pack never ends") };
        (last, pack.dfg.inst(ret).args.iter().map(|&arg| cloner.value_or_same(arg)).collect())
    }

    /// The value from outside of the loop for an argument of the iteration kernel, before the loop over packs.
    fn live_in(&mut self, first: Block, offset: u32, ty: Type) -> Value {
        let value = self.kernel.live_in(offset);
        if self.func.dfg.ty(value) == ty {
            return value;
        }
        if let Some(&cast) = self.casts.get(&value) {
            return cast;
        }
        let index = self.func.layout.insts(first).len() - 1;
        let cast = Builder::before(&mut self.func, first, index).cast(Opcode::SpaceCast, value, ty);
        self.casts.insert(value, cast);
        cast
    }

    /// What the header gets where the rest of the iterations begins.
    fn header_args(&mut self, at: Block, whole: Value, finals: &[Value]) -> Vec<Value> {
        let IterationKernel { ref counted, ref reductions, .. } = *self.kernel;
        let params = self.func.dfg.params(counted.header).to_vec();
        let args = params.into_iter().map(|param| {
            if let Some(index) = reductions.iter().position(|reduction| reduction.param == param) {
                return finals[index];
            }
            let Some(induction) = counted.induction(param) else {
                unreachable!("broken invariant: {param} is neither a reduction nor an induction variable")
            };
            let mut b = Builder::at_end(&mut self.func, at);
            induction.at(&mut b, induction.start, whole, counted.flags(induction))
        });
        args.collect()
    }

    /// What the exit gets from the last iteration of the loop; `None` for a value that only the iteration itself computes.
    fn exit_args(&self) -> Option<Vec<Option<ExitArg>>> {
        let IterationKernel { ref counted, ref reductions, .. } = *self.kernel;
        let args = args_of_edge(&self.func, counted.exiting, counted.exit)?;
        let found = args.iter().map(|&arg| {
            let reduction = reductions.iter().position(|reduction| reduction.next == arg).map(ExitArg::Reduction);
            let next = counted.inductions.iter().position(|induction| induction.next == arg).map(ExitArg::Next);
            let last = counted.inductions.iter().position(|induction| induction.param == arg).map(ExitArg::Last);
            let same = (!counted.defines(&self.func, arg)).then_some(ExitArg::Same(arg));
            reduction.or(next).or(last).or(same)
        });
        Some(found.collect())
    }

    fn at_exit(&mut self, at: Block, arg: &ExitArg, count: Value, finals: &[Value]) -> Value {
        let counted: &CountableLoop = &self.kernel.counted;
        let mut b = Builder::at_end(&mut self.func, at);
        let (induction, number) = match *arg {
            ExitArg::Same(value) => return value,
            ExitArg::Reduction(index) => return finals[index],
            ExitArg::Next(index) => (counted.inductions[index], count),
            ExitArg::Last(index) => {
                let one = b.iconst(Type::I64, 1);
                (counted.inductions[index], b.int2(Opcode::Isub, count, one))
            }
        };
        induction.at(&mut b, induction.start, number, Default::default())
    }
}

/// Where an argument of the exit comes from.
#[derive(Clone, Copy)]
enum ExitArg {
    /// The value is not of the loop.
    Same(Value),
    /// The result of the reduction with this number.
    Reduction(usize),
    /// What the induction variable with this number would be in another iteration.
    Next(usize),
    /// What the induction variable with this number is in the last iteration.
    Last(usize),
}
