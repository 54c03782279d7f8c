//! Copies of code: single instructions within a function, and blocks of one function in another one.
//!
//! Neither puts copies into the layout; the caller knows the place.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

use crate::entities::{Block, Inst, Value};
use crate::function::Function;
use crate::inst::{Imm, InstData};

/// A copy of an instruction in the same function, with its location. `rename` maps the operands.
pub fn clone_inst(func: &mut Function, inst: Inst, rename: impl FnMut(Value) -> Value) -> Inst {
    let data = func.dfg.inst(inst).clone();
    let types: Vec<_> = func.dfg.results(inst).iter().map(|&value| func.dfg.ty(value)).collect();
    let clone = func.dfg.make_inst(data, &types);
    func.dfg.map_uses(clone, rename);
    func.locs[clone] = func.locs[inst];
    clone
}

/// Copies blocks of one function to another one.
///
/// Blocks are copied before instructions, in any order. Operands and targets of copies are those of the originals until
/// [`Self::finish`], so that instructions can be copied in any order, too.
#[derive(Debug)]
pub struct BodyCloner<'a> {
    from: &'a Function,
    values: SecondaryMap<Value, PackedOption<Value>>,
    blocks: SecondaryMap<Block, PackedOption<Block>>,
    copies: Vec<Inst>,
}

impl<'a> BodyCloner<'a> {
    /// Copies of blocks of `from`.
    pub fn new(from: &'a Function) -> BodyCloner<'a> {
        BodyCloner { from, values: SecondaryMap::new(), blocks: SecondaryMap::new(), copies: Vec::new() }
    }

    /// Makes the copy of a block, with its parameters.
    pub fn block(&mut self, to: &mut Function, block: Block) -> Block {
        let copy = to.dfg.make_block();
        for &param in self.from.dfg.params(block) {
            let value = to.dfg.append_param(copy, self.from.dfg.ty(param));
            self.set_value(param, value);
        }
        self.set_block(block, copy);
        copy
    }

    /// Makes the copy of an instruction; `data` is that of the original, or what the caller made of it.
    pub fn inst(&mut self, to: &mut Function, inst: Inst, mut data: InstData) -> Inst {
        if let Imm::Const(id) = &mut data.imm {
            *id = to.dfg.make_const(self.from.dfg.constant(*id).clone());
        }
        let types: Vec<_> = self.from.dfg.results(inst).iter().map(|&value| self.from.dfg.ty(value)).collect();
        let copy = to.dfg.make_inst(data, &types);
        for (&old, &new) in self.from.dfg.results(inst).iter().zip(to.dfg.results(copy)) {
            self.set_value(old, new);
        }
        self.copies.push(copy);
        copy
    }

    /// Lets copies use `new` for a value that is not copied.
    pub fn set_value(&mut self, old: Value, new: Value) {
        self.values[old] = new.into();
    }

    /// Lets copies branch to `new` instead of a block that is not copied.
    pub fn set_block(&mut self, old: Block, new: Block) {
        self.blocks[old] = new.into();
    }

    /// What copies use for a value.
    pub fn value(&self, old: Value) -> Option<Value> {
        self.values[old].expand()
    }

    /// Lets the copies use each other.
    pub fn finish(&mut self, to: &mut Function) {
        for copy in self.copies.drain(..) {
            for target in to.dfg.targets_mut(copy) {
                let Some(block) = self.blocks[target.block].expand() else {
                    unreachable!("broken invariant: {} not copied", target.block)
                };
                target.block = block;
            }
            to.dfg.map_uses(copy, |value| match self.values[value].expand() {
                Some(new) => new,
                None => unreachable!("broken invariant: {value} not copied"),
            });
        }
    }
}
