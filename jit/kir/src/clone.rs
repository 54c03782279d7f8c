//! Copies of code, within a function and from one function into another.
//!
//! Whatever duplicates code (unrolling, versions of loops, inlining, outlining) makes the copies with a [`Cloner`], and says
//! only what takes the place of which value and block. Deliberately not here: translations in which a value becomes several
//! values or a variable of SSA construction, so that an instruction has no single copy (the vectorizer, the loops of a
//! work-group, the rows that unroll-and-jam executes together, and the legalizer), and where copies stand: blocks are not put
//! into the layout, and instructions only by [`Cloner::append`].

use rustc_hash::FxHashMap;

use crate::entities::{Block, Inst, Slot, Value};
use crate::function::Function;
use crate::inst::{Imm, InstData};

/// Copies blocks and instructions, and knows what takes the place of each value and block in the copies.
///
/// Within a function ([`Self::within`]), the operands and targets of a copy are replaced when it is made, by what takes their
/// place then; others stay. So definitions are copied before their uses, and one cloner can make several copies one after the
/// other.
///
/// Of the code of another function ([`Self::of`]), blocks are copied before instructions, and otherwise all is copied in any
/// order: operands and targets are those of the originals until [`Self::finish`], and something must take the place of each.
/// Constants and private variables that have no copy yet get one.
#[derive(Debug, Default)]
pub struct Cloner<'a> {
    /// `None` within a function.
    from: Option<&'a Function>,
    values: FxHashMap<Value, Value>,
    blocks: FxHashMap<Block, Block>,
    slots: FxHashMap<Slot, Slot>,
    /// The ids of copied barriers by those of the originals, if they are different.
    barriers: Option<FxHashMap<u32, u32>>,
    /// Copies whose operands are those of the originals.
    unfinished: Vec<Inst>,
}

impl<'a> Cloner<'a> {
    /// Makes copies within a function.
    pub fn within() -> Cloner<'static> {
        Cloner::default()
    }

    /// Copies `from` into another function.
    pub fn of(from: &'a Function) -> Cloner<'a> {
        Cloner { from: Some(from), ..Cloner::default() }
    }

    /// Lets copies of barriers be barriers of their own; those of one barrier are one.
    pub fn with_new_barriers(self) -> Cloner<'a> {
        Cloner { barriers: Some(FxHashMap::default()), ..self }
    }

    /// Lets copies use `new` for a value from now on.
    pub fn set_value(&mut self, old: Value, new: Value) {
        self.values.insert(old, new);
    }

    /// Lets copies branch to `new` instead of a block.
    pub fn set_block(&mut self, old: Block, new: Block) {
        self.blocks.insert(old, new);
    }

    /// Lets copies use `new` for a private variable of the other function.
    pub fn set_slot(&mut self, old: Slot, new: Slot) {
        self.slots.insert(old, new);
    }

    /// What takes the place of a value in copies.
    pub fn value(&self, old: Value) -> Option<Value> {
        self.values.get(&old).copied()
    }

    /// What takes the place of a value in copies; the value itself if nothing does.
    pub fn value_or_same(&self, old: Value) -> Value {
        self.value(old).unwrap_or(old)
    }

    /// What takes the place of a block in copies.
    pub fn block(&self, old: Block) -> Option<Block> {
        self.blocks.get(&old).copied()
    }

    /// Makes an empty copy of a block, with its parameters, and cold if the block is.
    pub fn copy_block(&mut self, to: &mut Function, block: Block) -> Block {
        let copy = self.make_block(to, block);
        self.copy_params(to, block, copy);
        copy
    }

    /// As [`Self::copy_block`], without parameters, which the caller adds by [`Self::copy_params`] when it comes to the block,
    /// so that values are numbered in the order of the code.
    pub fn make_block(&mut self, to: &mut Function, block: Block) -> Block {
        let copy = to.dfg.make_block();
        self.set_block(block, copy);
        if self.from.unwrap_or(to).layout.is_cold(block) {
            to.layout.set_cold(copy);
        }
        copy
    }

    /// Gives a block copies of the parameters of another one.
    pub fn copy_params(&mut self, to: &mut Function, block: Block, copy: Block) {
        for i in 0..self.from.unwrap_or(to).dfg.params(block).len() {
            let from = &self.from.unwrap_or(to).dfg;
            let (param, ty) = (from.params(block)[i], from.ty(from.params(block)[i]));
            let value = to.dfg.append_param(copy, ty);
            self.set_value(param, value);
        }
    }

    /// Makes the copy of an instruction, with its location; its results take the place of the original's.
    pub fn copy(&mut self, to: &mut Function, inst: Inst) -> Inst {
        let data = self.from.unwrap_or(to).dfg.inst(inst).clone();
        self.copy_as(to, inst, data)
    }

    /// As [`Self::copy`], of what the caller has made of the original's data. Its operands are to be replaced, too.
    pub fn copy_as(&mut self, to: &mut Function, inst: Inst, mut data: InstData) -> Inst {
        match &mut data.imm {
            Imm::Const(id) => {
                if let Some(from) = self.from {
                    *id = to.dfg.make_const(from.dfg.constant(*id).clone());
                }
            }
            Imm::Slot(slot) => {
                if let Some(from) = self.from {
                    *slot = *self.slots.entry(*slot).or_insert_with(|| to.slots.push(from.slots[*slot]));
                }
            }
            Imm::Barrier(info) => {
                if let Some(ids) = &mut self.barriers {
                    info.id = *ids.entry(info.id).or_insert_with(|| to.fresh_barrier());
                }
            }
            Imm::None
            | Imm::IntCond(_)
            | Imm::FloatCond(..)
            | Imm::Fp(_)
            | Imm::Wrap(_)
            | Imm::Convert(_)
            | Imm::Lane(_)
            | Imm::Lanes(_)
            | Imm::Addr { .. }
            | Imm::Mem(_)
            | Imm::Atomic(_)
            | Imm::Reduce(_)
            | Imm::Group(_)
            | Imm::Global(_)
            | Imm::Dim(_)
            | Imm::Offset(_)
            | Imm::Space(_)
            | Imm::Image(_)
            | Imm::Lib(_)
            | Imm::Func(_)
            | Imm::Jump(_)
            | Imm::Branch(_)
            | Imm::Switch(_) => {}
        }
        let from = self.from.unwrap_or(to);
        let (results, loc) = (from.dfg.results(inst).to_vec(), from.locs[inst]);
        let types: Vec<_> = results.iter().map(|&value| from.dfg.ty(value)).collect();
        let copy = to.dfg.make_inst(data, &types);
        to.locs[copy] = loc;
        if self.from.is_some() {
            self.unfinished.push(copy);
        } else {
            to.dfg.map_uses(copy, |value| self.value_or_same(value));
            for target in to.dfg.targets_mut(copy) {
                target.block = self.block(target.block).unwrap_or(target.block);
            }
        }
        for (old, &new) in results.into_iter().zip(to.dfg.results(copy)) {
            self.set_value(old, new);
        }
        copy
    }

    /// Copies an instruction to the end of a block.
    pub fn append(&mut self, to: &mut Function, block: Block, inst: Inst) -> Inst {
        let copy = self.copy(to, inst);
        to.layout.append_inst(block, copy);
        copy
    }

    /// Within a function: what takes the place of a value. If nothing does, and an instruction defines it that `is_copied`
    /// accepts, a copy does, which is made after copies of its operands; `place` puts each into the layout. All others stay.
    pub fn computed(
        &mut self,
        func: &mut Function,
        value: Value,
        is_copied: &impl Fn(&Function, Inst) -> bool,
        place: &mut impl FnMut(&mut Function, Inst),
    ) -> Value {
        debug_assert!(self.from.is_none(), "broken invariant: a computation of another function");
        let missing = |this: &Self, func: &Function, value| {
            func.dfg.def_inst(value).filter(|&inst| this.value(value).is_none() && is_copied(func, inst))
        };
        let mut work: Vec<Inst> = missing(self, func, value).into_iter().collect();
        while let Some(&inst) = work.last() {
            let operand = func.dfg.inst(inst).args.iter().find_map(|&arg| missing(self, func, arg));
            if let Some(operand) = operand {
                work.push(operand);
                continue;
            }
            let copy = self.copy(func, inst);
            place(func, copy);
            work.pop();
        }
        self.value_or_same(value)
    }

    /// Lets the copies of another function's code use each other.
    pub fn finish(&mut self, to: &mut Function) {
        for copy in self.unfinished.drain(..) {
            for target in to.dfg.targets_mut(copy) {
                let Some(&block) = self.blocks.get(&target.block) else {
                    unreachable!("broken invariant: {} not copied", target.block)
                };
                target.block = block;
            }
            to.dfg.map_uses(copy, |value| match self.values.get(&value) {
                Some(&new) => new,
                None => unreachable!("broken invariant: {value} not copied"),
            });
        }
    }
}
