//! Puts the code of packs of iterations into the kernel, before the loop itself.
//!
//! ```text
//! preheader:   n = trip count; whole = n rounded down to packs        -> first, some, or rest if n may be wrong
//! first:       -> header(0, identities)
//! header(k, lanes of reductions): code of the pack, ...
//! last:        branch k + W != whole, header, left                    (one of the pack's blocks)
//! left:        -> some(whole, reductions)
//! some(done, reductions): if done == n -> exit; if n - done are many -> tail; else -> rest(header's parameters)
//! tail:        code of the pack with n - done active lanes, ...       -> exit
//! rest(header's parameters): -> the loop's header
//! ```

use clift_kir::clone::Cloner;
use clift_kir::dfg::ConstData;
use clift_kir::ops::OpClass;
use clift_kir::{Block, BlockCall, Builder, Function, Imm, Inst, IntCond, Opcode, Type, Value};
use rustc_hash::FxHashMap;

use super::Chosen;
use super::iteration_kernel::IterationKernel;
use crate::passes::loop_form::args_of_edge;
use crate::spmd::transform::normalize::NormalForm;
use crate::spmd::transform::single_lane_regions;
use crate::spmd::vectorize::widen;
use crate::target::machine::Machine;

/// Vectorizes a loop. Returns the kernel, and the header of the loop over packs.
pub(super) fn run(normal: &NormalForm, chosen: &Chosen, machine: &Machine) -> Option<(Function, Block)> {
    let &Chosen { ref kernel, lanes, ref whole, ref tail, .. } = chosen;
    let pack = |normal: &NormalForm, tail: bool| {
        let (mut pack, _) = widen::run(normal, &normal.divergence(lanes, !tail), lanes, tail, machine);
        single_lane_regions::inline(&mut pack, &normal.single_lane, None);
        let known = pack.layout.blocks().iter().all(|&block| asks_only_for_iterations(&pack, block));
        (known && pack.slots.is_empty()).then_some(pack)
    };
    let pack_of_all = pack(whole, false)?;
    let tail = tail.as_ref().and_then(|&(ref normal, single)| Some((pack(normal, true)?, single)));
    let mut splice = Splice { func: normal.func.clone(), kernel, lanes, casts: FxHashMap::default() };
    let header = splice.run(&pack_of_all, tail.as_ref().map(|&(ref pack, single)| (pack, single)))?;
    Some((splice.func, header))
}

/// Whether a block of a pack asks for nothing but the numbers of its iterations.
fn asks_only_for_iterations(pack: &Function, block: Block) -> bool {
    pack.layout.insts(block).iter().all(|&inst| {
        let op = pack.dfg.inst(inst).op;
        !matches!(op.class(), OpClass::Query(_)) || is_number(pack, inst) || op == Opcode::SubGroupSize
    })
}

/// Whether an instruction is the number of the pack's first iteration.
fn is_number(pack: &Function, inst: Inst) -> bool {
    let data = pack.dfg.inst(inst);
    data.op == Opcode::GlobalId && data.imm == Imm::Dim(0)
}

/// Whether an instruction extends the number of the pack's first iteration, which 31 bits hold, after it has been truncated to
/// an `i32`.
fn is_extended_number(pack: &Function, inst: Inst) -> bool {
    let data = pack.dfg.inst(inst);
    let operand = |inst: Inst| pack.dfg.inst(inst).args.first().and_then(|&arg| pack.dfg.def_inst(arg));
    let extends = matches!(data.op, Opcode::Sext | Opcode::Zext) && pack.dfg.ty(pack.dfg.result(inst)) == Type::I64;
    let truncated = operand(inst)
        .filter(|&from| pack.dfg.inst(from).op == Opcode::Itrunc && pack.dfg.ty(pack.dfg.result(from)) == Type::I32);
    extends && truncated.and_then(operand).is_some_and(|from| is_number(pack, from))
}

/// The iterations of a loop.
#[derive(Clone, Copy)]
struct Iterations {
    /// All of them.
    count: Value,
    /// Those in whole packs.
    whole: Value,
}

struct Splice<'a> {
    func: Function,
    kernel: &'a IterationKernel,
    lanes: u32,
    /// Live-in pointers, cast as the iteration kernel expects them.
    casts: FxHashMap<Value, Value>,
}

impl Splice<'_> {
    /// Returns the header of the loop over packs.
    fn run(&mut self, pack: &Function, tail: Option<(&Function, u32)>) -> Option<Block> {
        let kernel = self.kernel;
        let counted = &kernel.counted;
        let [first, header, left, some, rest] = [0; 5].map(|_| self.func.dfg.make_block());
        let exits = self.exit_args()?;
        let iterations = self.preheader(first, some, rest, exits.is_none());
        self.func.layout.append_block(first);
        let starts = self.identities(first);
        let (last, next) = self.loop_over_packs(pack, (first, header), starts);
        let mut b = Builder::at_end(&mut self.func, last);
        let again = b.icmp(IntCond::Ne, next[0], iterations.whole);
        b.branch(again, BlockCall::new(header, &next), BlockCall::new(left, &[]));
        self.func.layout.append_block(left);
        let mut b = Builder::at_end(&mut self.func, left);
        let mut reached = vec![iterations.whole];
        for (reduction, &lanes) in kernel.reductions.iter().zip(&next[1..]) {
            reached.push(reduction.finish(&mut b, reduction.start, lanes));
        }
        b.jump(some, &reached);
        self.func.layout.append_block(some);
        let done = self.func.dfg.append_param(some, Type::I64);
        let types: Vec<Type> = reached[1..].iter().map(|&value| self.func.dfg.ty(value)).collect();
        let so_far: Vec<Value> = types.into_iter().map(|ty| self.func.dfg.append_param(some, ty)).collect();
        let end = match exits {
            Some(exits) => self.remaining((some, done), &so_far, iterations.count, &exits, tail),
            None => some,
        };
        let rest_args = self.header_args(end, done, &so_far);
        Builder::at_end(&mut self.func, end).jump(rest, &rest_args);
        self.func.layout.append_block(rest);
        let types: Vec<Type> = rest_args.iter().map(|&arg| self.func.dfg.ty(arg)).collect();
        let params: Vec<Value> = types.into_iter().map(|ty| self.func.dfg.append_param(rest, ty)).collect();
        Builder::at_end(&mut self.func, rest).jump(counted.header, &params);
        Some(header)
    }

    /// Ends the preheader with the number of iterations, and those of whole packs, of which the last iteration is not if
    /// `needs_last`. Goes to `first` if there are any, to `some` if not, and to `rest` with what the preheader has passed to
    /// the loop if the number is not right.
    fn preheader(&mut self, first: Block, some: Block, rest: Block, needs_last: bool) -> Iterations {
        let counted = &self.kernel.counted;
        let args = args_of_edge(&self.func, counted.preheader, counted.header).unwrap_or_default().to_vec();
        if let Some(jump) = self.func.layout.terminator(counted.preheader) {
            self.func.layout.remove_inst(jump);
        }
        let right = self.func.append_block();
        let mut b = Builder::at_end(&mut self.func, counted.preheader);
        let (count, is_right) = counted.trip_count(&mut b);
        b.branch(is_right, BlockCall::new(right, &[]), BlockCall::new(rest, &args));
        let mut b = Builder::at_end(&mut self.func, right);
        let packed = match needs_last {
            true => {
                let one = b.iconst(Type::I64, 1);
                b.int2(Opcode::Isub, count, one)
            }
            false => count,
        };
        let mask = b.iconst(Type::I64, -i64::from(self.lanes));
        let whole = b.int2(Opcode::And, packed, mask);
        let none = b.iconst(Type::I64, 0);
        let any = b.icmp(IntCond::Ne, whole, none);
        let starts = self.kernel.reductions.iter().map(|reduction| reduction.start);
        let begins: Vec<Value> = std::iter::once(none).chain(starts).collect();
        b.branch(any, BlockCall::new(first, &[]), BlockCall::new(some, &begins));
        Iterations { count, whole }
    }

    /// What the lanes of each reduction begin with.
    fn identities(&mut self, at: Block) -> Vec<Value> {
        let mut b = Builder::at_end(&mut self.func, at);
        let identity = |reduction: &super::reductions::Reduction| {
            let ty = b.ty(reduction.param).with_lanes(self.lanes);
            reduction.identity(&mut b, ty)
        };
        self.kernel.reductions.iter().map(identity).collect()
    }

    /// Emits the loop over packs but for its end. Returns its last block, and what the next iteration gets: the number of the
    /// first iteration of its pack, and the lanes of the reductions.
    fn loop_over_packs(
        &mut self,
        pack: &Function,
        (first, header): (Block, Block),
        starts: Vec<Value>,
    ) -> (Block, Vec<Value>) {
        let number = self.func.dfg.append_param(header, Type::I64);
        let types: Vec<Type> = starts.iter().map(|&start| self.func.dfg.ty(start)).collect();
        let accumulators: Vec<Value> = types.into_iter().map(|ty| self.func.dfg.append_param(header, ty)).collect();
        let mut b = Builder::at_end(&mut self.func, first);
        let zero = b.iconst(Type::I64, 0);
        let args: Vec<Value> = std::iter::once(zero).chain(starts).collect();
        b.jump(header, &args);
        self.func.layout.append_block(header);
        let (last, contributions) = self.copy_pack(pack, (first, header), number, None);
        let mut b = Builder::at_end(&mut self.func, last);
        let lanes = b.iconst(Type::I64, self.lanes.into());
        let mut next = vec![b.int2(Opcode::Iadd, number, lanes)];
        for ((reduction, &lanes), more) in self.kernel.reductions.iter().zip(&accumulators).zip(contributions) {
            next.push(reduction.combine(&mut b, lanes, more));
        }
        (last, next)
    }

    /// Leaves the loop from `some` if no iterations remain, or after a pack of those that do if they are many. Returns the
    /// block for when they are few.
    fn remaining(
        &mut self,
        (some, done): (Block, Value),
        so_far: &[Value],
        count: Value,
        exits: &[ExitArg],
        tail: Option<(&Function, u32)>,
    ) -> Block {
        let kernel = self.kernel;
        let [few, any, finished] = [0; 3].map(|_| self.func.append_block());
        let mut b = Builder::at_end(&mut self.func, some);
        let none = b.icmp(IntCond::Eq, done, count);
        b.branch(none, BlockCall::new(finished, &[]), BlockCall::new(any, &[]));
        let args = self.at_exit(finished, exits, count, so_far);
        Builder::at_end(&mut self.func, finished).jump(kernel.counted.exit, &args);
        let mut b = Builder::at_end(&mut self.func, any);
        let Some((pack, single)) = tail else {
            b.jump(few, &[]);
            return few;
        };
        let left = b.int2(Opcode::Isub, count, done);
        let single = b.iconst(Type::I64, single.into());
        let many = b.icmp(IntCond::Ugt, left, single);
        let [start, entry] = [0; 2].map(|_| self.func.append_block());
        let mut b = Builder::at_end(&mut self.func, any);
        b.branch(many, BlockCall::new(start, &[]), BlockCall::new(few, &[]));
        let mut b = Builder::at_end(&mut self.func, start);
        let active = b.cast(Opcode::Itrunc, left, Type::I32);
        b.jump(entry, &[]);
        let (last, contributions) = self.copy_pack(pack, (start, entry), done, Some(active));
        let mut finals: Vec<Value> = Vec::new();
        if !contributions.is_empty() {
            let identities = self.identities(last);
            let mut b = Builder::at_end(&mut self.func, last);
            let mask = lanes_below(&mut b, active, self.lanes);
            let all = kernel.reductions.iter().zip(so_far).zip(contributions).zip(identities);
            for (((reduction, &before), more), nothing) in all {
                let lanes = b.select(mask, more, nothing);
                finals.push(reduction.finish(&mut b, before, lanes));
            }
        }
        let args = self.at_exit(last, exits, count, &finals);
        Builder::at_end(&mut self.func, last).jump(kernel.counted.exit, &args);
        few
    }

    /// Copies the code of a pack of iterations behind a block that has no terminator, and what it needs before `first`'s.
    /// Returns its last block, which has no terminator, and what the lanes contribute to the reductions.
    fn copy_pack(
        &mut self,
        pack: &Function,
        (first, before): (Block, Block),
        number: Value,
        active: Option<Value>,
    ) -> (Block, Vec<Value>) {
        let mut cloner = Cloner::of(pack);
        let blocks = pack.layout.blocks();
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
                if is_number(pack, inst) || is_extended_number(pack, inst) {
                    cloner.set_value(pack.dfg.result(inst), number);
                } else if let (Opcode::Arg, &Imm::Offset(offset)) = (data.op, &data.imm) {
                    let result = pack.dfg.result(inst);
                    let live_in = self.live_in(first, offset, pack.dfg.ty(result));
                    cloner.set_value(result, live_in);
                } else if data.op == Opcode::SubGroupSize {
                    let active = active.unwrap_or_else(|| {
                        let at = self.func.layout.insts(first).len() - 1;
                        Builder::before(&mut self.func, first, at).iconst(Type::I32, self.lanes.into())
                    });
                    cloner.set_value(pack.dfg.result(inst), active);
                } else if data.op == Opcode::Ret {
                    end = Some((copy, inst));
                } else {
                    cloner.append(&mut self.func, copy, inst);
                }
            }
        }
        cloner.finish(&mut self.func);
        let entry = copy_of(&cloner, blocks[0]);
        Builder::at_end(&mut self.func, before).jump(entry, &[]);
        let Some((last, ret)) = end else { unreachable!("broken invariant: a pack never ends") };
        (last, pack.dfg.inst(ret).args.iter().map(|&arg| cloner.value_or_same(arg)).collect())
    }

    /// The value from outside of the loop for an argument of the iteration kernel, in a block before the pack's code.
    fn live_in(&mut self, first: Block, offset: u32, ty: Type) -> Value {
        let value = self.kernel.live_in(offset);
        if self.func.dfg.ty(value) == ty {
            return value;
        }
        let preheader = self.kernel.counted.preheader;
        debug_assert!(self.func.layout.terminator(first).is_some());
        *self.casts.entry(value).or_insert_with(|| {
            let index = self.func.layout.insts(preheader).len() - 1;
            Builder::before(&mut self.func, preheader, index).cast(Opcode::SpaceCast, value, ty)
        })
    }

    /// What the header gets where the rest of the iterations begins.
    fn header_args(&mut self, at: Block, done: Value, so_far: &[Value]) -> Vec<Value> {
        let IterationKernel { ref counted, ref reductions, .. } = *self.kernel;
        let params = self.func.dfg.params(counted.header).to_vec();
        let args = params.into_iter().map(|param| {
            if let Some(index) = reductions.iter().position(|reduction| reduction.param == param) {
                return so_far[index];
            }
            let Some(induction) = counted.induction(param) else {
                unreachable!("broken invariant: {param} is neither a reduction nor an induction variable")
            };
            let mut b = Builder::at_end(&mut self.func, at);
            induction.at(&mut b, induction.start, done, counted.flags(induction))
        });
        args.collect()
    }

    /// What the exit gets from the last iteration of the loop; `None` if it gets a value that only the iteration itself computes.
    fn exit_args(&self) -> Option<Option<Vec<ExitArg>>> {
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

    /// What the exit gets after all iterations.
    fn at_exit(&mut self, at: Block, args: &[ExitArg], count: Value, finals: &[Value]) -> Vec<Value> {
        let counted = &self.kernel.counted;
        let mut b = Builder::at_end(&mut self.func, at);
        let mut value = |arg: &ExitArg| {
            let (index, number) = match *arg {
                ExitArg::Same(value) => return value,
                ExitArg::Reduction(index) => return finals[index],
                ExitArg::Next(index) => (index, count),
                ExitArg::Last(index) => {
                    let one = b.iconst(Type::I64, 1);
                    (index, b.int2(Opcode::Isub, count, one))
                }
            };
            let induction = counted.inductions[index];
            induction.at(&mut b, induction.start, number, Default::default())
        };
        args.iter().map(&mut value).collect()
    }
}

/// The mask of the first lanes of a pack.
fn lanes_below(b: &mut Builder<'_>, count: Value, lanes: u32) -> Value {
    let numbers: Vec<u64> = (0..lanes).map(u64::from).collect();
    let numbers = b.constant(ConstData::new(Type::I32.with_lanes(lanes), &numbers));
    let count = b.splat(count, lanes);
    b.icmp(IntCond::Ult, numbers, count)
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
