//! A loop's body as a kernel: each work-item is an iteration, and its global id is the iteration's number.

use clift_kir::clone::Cloner;
use clift_kir::{Block, Builder, Function, Opcode, Space, Stage, Type, Value};

use super::countable::CountableLoop;
use super::reductions::Reduction;
use crate::spmd::transform::normalize::NormalForm;

/// Bytes of the argument block for each live-in value.
const ARG_BYTES: u32 = Type::MAX_LANES * 8;

/// The kernel of a loop.
pub(super) struct IterationKernel {
    /// Returns what the iteration contributes to each reduction.
    pub(super) func: Function,
    pub(super) counted: CountableLoop,
    pub(super) reductions: Vec<Reduction>,
    /// The values from outside of the loop, by their arguments' offsets divided by [`ARG_BYTES`].
    live_ins: Vec<Value>,
}

impl IterationKernel {
    /// Makes the kernel of a loop.
    pub(super) fn new(normal: &NormalForm, counted: CountableLoop, reductions: Vec<Reduction>) -> IterationKernel {
        let NormalForm { func: from, cfg, loops, .. } = normal;
        let types: Vec<Type> = reductions.iter().map(|reduction| from.dfg.ty(reduction.param)).collect();
        let mut func = Function::new(from.name.clone(), &types);
        func.stage = Stage::Canonical;
        func.inlined_calls.clone_from(&from.inlined_calls);
        let entry = func.append_block();
        let mut maker = Maker { normal, func, entry, cloner: Cloner::of(from), live_ins: Vec::new() };
        let blocks: Vec<Block> = cfg
            .rpo()
            .iter()
            .copied()
            .filter(|&block| loops.contains(counted.id, block) && block != counted.latch)
            .collect();
        for &block in &blocks {
            let copy = maker.cloner.make_block(&mut maker.func, block);
            maker.func.layout.append_block(copy);
            if block != counted.header {
                maker.cloner.copy_params(&mut maker.func, block, copy);
            }
        }
        maker.number_iterations(&counted, &reductions);
        for &block in &blocks {
            maker.block(&counted, block);
        }
        let results: Vec<Value> = reductions.iter().map(|reduction| maker.copy_of(reduction.next)).collect();
        let [last, header] = [counted.exiting, counted.header].map(|block| maker.block_copy(block));
        Builder::at_end(&mut maker.func, last).ret(&results);
        Builder::at_end(&mut maker.func, entry).jump(header, &[]);
        let Maker { mut func, mut cloner, live_ins, .. } = maker;
        cloner.finish(&mut func);
        IterationKernel { func, counted, reductions, live_ins }
    }

    /// The value from outside of the loop that the argument at an offset stands for.
    pub(super) fn live_in(&self, offset: u32) -> Value {
        self.live_ins[(offset / ARG_BYTES) as usize]
    }
}

struct Maker<'a> {
    normal: &'a NormalForm,
    func: Function,
    entry: Block,
    cloner: Cloner<'a>,
    live_ins: Vec<Value>,
}

impl Maker<'_> {
    /// Lets the induction variables follow from the number of the iteration, and the reductions begin with what changes nothing.
    fn number_iterations(&mut self, counted: &CountableLoop, reductions: &[Reduction]) {
        let number = self.at_entry().query(Opcode::GlobalId, 0);
        for &induction in &counted.inductions {
            let start = self.operand(induction.start);
            let value = induction.at(&mut self.at_entry(), start, number, counted.flags(induction));
            self.cloner.set_value(induction.param, value);
        }
        for reduction in reductions {
            let ty = self.normal.func.dfg.ty(reduction.param);
            let identity = reduction.identity(&mut self.at_entry(), ty);
            self.cloner.set_value(reduction.param, identity);
        }
    }

    fn at_entry(&mut self) -> Builder<'_> {
        Builder::at_end(&mut self.func, self.entry)
    }

    /// Copies the instructions of a block; those that leave the loop are not.
    fn block(&mut self, counted: &CountableLoop, block: Block) {
        let from = &self.normal.func;
        let copy = self.block_copy(block);
        for &inst in from.layout.insts(block) {
            if from.dfg.inst(inst).op.is_terminator() && block == counted.exiting {
                continue;
            }
            from.dfg.for_each_use(inst, |value| {
                if !counted.defines(from, value) {
                    self.operand(value);
                }
            });
            self.cloner.append(&mut self.func, copy, inst);
        }
    }

    /// What stands for a value from outside of the loop: a constant for a constant, an argument for all others.
    fn operand(&mut self, value: Value) -> Value {
        if let Some(known) = self.cloner.value(value) {
            return known;
        }
        let from = &self.normal.func;
        if let Some(inst) = from.dfg.def_inst(value).filter(|_| from.dfg.as_const(value).is_some()) {
            self.cloner.append(&mut self.func, self.entry, inst);
            return self.copy_of(value);
        }
        let offset = self.live_ins.len() as u32 * ARG_BYTES;
        self.live_ins.push(value);
        let ty = from.dfg.ty(value);
        let mut b = self.at_entry();
        // Local arguments would be taken for different objects.
        let arg = match ty.elem.space() {
            Some(Space::Local) => {
                let anywhere = b.arg(offset, Type::ptr(Space::Generic).with_lanes(ty.lanes()));
                b.cast(Opcode::SpaceCast, anywhere, ty)
            }
            Some(_) | None => b.arg(offset, ty),
        };
        self.cloner.set_value(value, arg);
        arg
    }

    fn copy_of(&self, value: Value) -> Value {
        match self.cloner.value(value) {
            Some(copy) => copy,
            None => unreachable!("broken invariant: {value} has not been copied"),
        }
    }

    fn block_copy(&self, block: Block) -> Block {
        match self.cloner.block(block) {
            Some(copy) => copy,
            None => unreachable!("broken invariant: {block} has not been copied"),
        }
    }
}
