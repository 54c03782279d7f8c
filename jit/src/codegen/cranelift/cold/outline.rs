//! Outlining of cold code.
//!
//! A cold block inside a kernel is costly for the hot path: the register allocator spills values that are live across the block
//! or used in it, and each copy of the code is compiled again. So a cold block and the blocks it dominates become an *outlined
//! cold function*. In the kernel they are replaced by code that stores the inputs to the stack, calls the function with their
//! address, and loads the results. The call preserves all registers, so other values are not affected.
//!
//! Blocks can be outlined if they only compute and all leave to the same block. Other cold blocks stay in the function (see
//! [`placement`](super::placement)). Constants are rematerialized in the outlined function, so that the caller need not compute
//! them.
//!
//! Deliberately not here: how the call is made ([`exchange`](super::exchange)), and how equal outlined functions are shared
//! (`compile.rs`).

use clift_kir::analysis::{Cfg, Cold};
use clift_kir::clone::Cloner;
use clift_kir::{Block, Builder, Function, Loc, Opcode, Stage, Value};
use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes per value in the slot for inputs and results.
pub(crate) const VALUE_BYTES: u32 = 16;

/// Regions with fewer instructions are not outlined.
const MIN_INSTS: usize = 8;

/// Regions with more inputs and results than this are not outlined.
const MAX_VALUES: usize = 64;

/// An outlined cold function.
#[derive(Debug)]
pub(crate) struct OutlinedFunction {
    /// Its number among the outlined functions of its caller.
    pub(crate) number: u32,
    /// The function. It takes the inputs as parameters and returns the outputs. Stage *legal*, except for the parameters.
    pub(crate) func: Function,
    /// The inputs: values of the caller.
    pub(crate) inputs: Vec<Value>,
    /// The block of the caller that follows; its parameters are the outputs.
    pub(crate) next: Block,
}

impl OutlinedFunction {
    /// The number of inputs and outputs.
    fn values(&self) -> usize {
        self.inputs.len() + self.func.returns.len()
    }
}

/// The outlined cold functions of a function.
#[derive(Debug, Default)]
pub(crate) struct OutlinedFunctions {
    all: Vec<OutlinedFunction>,
    /// Their numbers by head, which is the block executed first.
    heads: FxHashMap<Block, u32>,
    /// Blocks that have been outlined.
    outlined_blocks: SecondaryMap<Block, bool>,
}

impl OutlinedFunctions {
    /// Outlines the cold regions of a function.
    pub(crate) fn new(func: &Function, cfg: &Cfg, cold: &Cold) -> OutlinedFunctions {
        let mut outline = OutlinedFunctions::default();
        if !cold.any() {
            return outline;
        }
        let mut regions: Vec<(Block, Vec<Block>)> = Vec::new();
        let mut numbers: FxHashMap<Block, usize> = FxHashMap::default();
        for &block in cfg.rpo() {
            let Some(head) = cold.head(block) else { continue };
            let number = *numbers.entry(head).or_insert_with(|| {
                regions.push((head, Vec::new()));
                regions.len() - 1
            });
            regions[number].1.push(block);
        }
        for (head, blocks) in regions {
            let Some(next) = next_of(func, &blocks) else { continue };
            let number = outline.all.len() as u32;
            let outlined = outlined(func, number, head, &blocks, next);
            if outlined.values() > MAX_VALUES {
                continue;
            }
            for block in blocks {
                outline.outlined_blocks[block] = true;
            }
            outline.heads.insert(head, number);
            outline.all.push(outlined);
        }
        outline
    }

    /// The outlined function whose head is a block.
    pub(crate) fn at(&self, block: Block) -> Option<&OutlinedFunction> {
        self.heads.get(&block).map(|&number| &self.all[number as usize])
    }

    /// All outlined functions, by number.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &Function> {
        self.all.iter().map(|outlined| &outlined.func)
    }

    /// The greatest number of inputs and outputs of an outlined function.
    pub(crate) fn max_values(&self) -> usize {
        self.all.iter().map(OutlinedFunction::values).max().unwrap_or(0)
    }

    /// Whether a block has been outlined.
    pub(crate) fn contains(&self, block: Block) -> bool {
        self.outlined_blocks[block]
    }
}

/// The only block that a region leaves to, if the region can be outlined.
fn next_of(func: &Function, blocks: &[Block]) -> Option<Block> {
    let within: FxHashSet<Block> = blocks.iter().copied().collect();
    let mut next = None;
    let mut count = 0;
    for &block in blocks {
        for &inst in func.layout.insts(block) {
            count += 1;
            if !is_pure_or_branch(func.dfg.inst(inst).op) {
                return None;
            }
        }
        for target in func.successors(block).filter(|target| !within.contains(target)) {
            if next.is_some_and(|next| next != target) {
                return None;
            }
            next = Some(target);
        }
    }
    next.filter(|_| count >= MIN_INSTS)
}

/// Whether an op is pure or a branch.
fn is_pure_or_branch(op: Opcode) -> bool {
    // The address of a private variable would be one in the outlined function's own stack frame.
    op.is_pure() && op != Opcode::SlotAddr || matches!(op, Opcode::Jump | Opcode::Branch | Opcode::Switch)
}

/// Copies blocks to a function of their own.
fn outlined(old: &Function, number: u32, head: Block, blocks: &[Block], next: Block) -> OutlinedFunction {
    let mut new = Function::new("", &[]);
    new.stage = Stage::Legal;
    new.returns = old.dfg.params(next).iter().map(|&param| old.dfg.ty(param)).collect();
    let entry = new.append_block();
    let mut cloner = Cloner::of(old);
    let mut copies = Vec::with_capacity(blocks.len());
    for &block in blocks {
        let copy = cloner.copy_block(&mut new, block);
        new.layout.append_block(copy);
        // Nothing in a cold function is colder than the rest.
        new.layout.clear_cold(copy);
        copies.push(copy);
    }
    // The inputs: outside values in the order of their uses, then the parameters of the head.
    let mut inputs = Vec::new();
    let defined: FxHashSet<Value> = defined_in(old, blocks);
    for &block in blocks {
        for &inst in old.layout.insts(block) {
            old.dfg.for_each_use(inst, |value| {
                if !defined.contains(&value) && cloner.value(value).is_none() {
                    let here = import(old, &mut new, entry, value, &mut inputs);
                    cloner.set_value(value, here);
                }
            });
        }
    }
    let mut first = Vec::new();
    for &param in old.dfg.params(head) {
        first.push(new.dfg.append_param(entry, old.dfg.ty(param)));
        inputs.push(param);
    }
    let exit = new.append_block();
    let outputs: Vec<Value> = new.returns.clone().into_iter().map(|ty| new.dfg.append_param(exit, ty)).collect();
    cloner.set_block(next, exit);
    let copied = blocks.iter().zip(&copies).find(|&(&block, _)| block == head);
    let Some((_, &copied)) = copied else { unreachable!("broken invariant: a region contains its head") };
    Builder::at_end(&mut new, entry).jump(copied, &first);
    for (&block, &copy) in blocks.iter().zip(&copies) {
        for &inst in old.layout.insts(block) {
            let made = cloner.append(&mut new, copy, inst);
            // Equal functions are shared, whatever line they are from.
            new.locs[made] = Loc::default();
        }
    }
    cloner.finish(&mut new);
    Builder::at_end(&mut new, exit).ret(&outputs);
    OutlinedFunction { number, func: new, inputs, next }
}

/// The values that blocks define.
fn defined_in(func: &Function, blocks: &[Block]) -> FxHashSet<Value> {
    let insts = blocks.iter().flat_map(|&block| func.layout.insts(block));
    insts.flat_map(|&inst| func.dfg.results(inst)).copied().collect()
}

/// Makes an outside value available: rematerializes a constant, adds an input for any other value.
fn import(old: &Function, new: &mut Function, entry: Block, value: Value, inputs: &mut Vec<Value>) -> Value {
    if let Some(data) = old.dfg.as_const(value) {
        return Builder::at_end(new, entry).constant(data.clone());
    }
    inputs.push(value);
    new.dfg.append_param(entry, old.dfg.ty(value))
}
