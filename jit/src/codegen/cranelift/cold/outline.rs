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
use clift_kir::{Block, BlockCall, Function, Imm, Inst, InstData, Opcode, Stage, Type, Value};
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
            let outlined = Copier::new(func).outline(number, head, &blocks, next);
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
    match op {
        // The address would be one in the outlined function's own stack frame.
        Opcode::SlotAddr => false,
        Opcode::Jump | Opcode::Branch | Opcode::Switch => true,
        other => other.is_pure(),
    }
}

/// Copies blocks into a new function.
struct Copier<'a> {
    old: &'a Function,
    new: Function,
    values: FxHashMap<Value, Value>,
    blocks: FxHashMap<Block, Block>,
}

impl<'a> Copier<'a> {
    fn new(old: &'a Function) -> Copier<'a> {
        let mut new = Function::new("", &[]);
        new.stage = Stage::Legal;
        Copier { old, new, values: FxHashMap::default(), blocks: FxHashMap::default() }
    }

    fn outline(mut self, number: u32, head: Block, blocks: &[Block], next: Block) -> OutlinedFunction {
        let old = self.old;
        self.new.returns = old.dfg.params(next).iter().map(|&param| old.dfg.ty(param)).collect();
        let entry = self.new.append_block();
        for &block in blocks {
            let copy = self.new.append_block();
            self.blocks.insert(block, copy);
            for &param in old.dfg.params(block) {
                let value = self.new.dfg.append_param(copy, old.dfg.ty(param));
                self.values.insert(param, value);
            }
        }
        // The inputs: outside values in the order of their uses, then the parameters of the head.
        let mut inputs = Vec::new();
        let defined: FxHashSet<Value> = self.defined_in(blocks);
        for &block in blocks {
            for &inst in old.layout.insts(block) {
                old.dfg.for_each_use(inst, |value| {
                    if !defined.contains(&value) && !self.values.contains_key(&value) {
                        let here = self.import(entry, value, &mut inputs);
                        self.values.insert(value, here);
                    }
                });
            }
        }
        let mut first = Vec::new();
        for &param in old.dfg.params(head) {
            first.push(self.new.dfg.append_param(entry, old.dfg.ty(param)));
            inputs.push(param);
        }
        let exit = self.new.append_block();
        let outputs: Vec<Value> =
            self.new.returns.clone().into_iter().map(|ty| self.new.dfg.append_param(exit, ty)).collect();
        self.blocks.insert(next, exit);
        let copied = self.blocks[&head];
        self.append(entry, Opcode::Jump, &[], Imm::Jump(BlockCall::new(copied, &first)), &[]);
        for &block in blocks {
            for &inst in old.layout.insts(block) {
                self.copy(inst, self.blocks[&block]);
            }
        }
        self.append(exit, Opcode::Ret, &outputs, Imm::None, &[]);
        OutlinedFunction { number, func: self.new, inputs, next }
    }

    /// The values that the blocks define.
    fn defined_in(&self, blocks: &[Block]) -> FxHashSet<Value> {
        let old = self.old;
        let results = blocks.iter().flat_map(|&block| old.layout.insts(block));
        results.flat_map(|&inst| old.dfg.results(inst)).copied().collect()
    }

    /// Makes an outside value available: rematerializes a constant, adds an input for any other value.
    fn import(&mut self, entry: Block, value: Value, inputs: &mut Vec<Value>) -> Value {
        let old = self.old;
        if let Some(data) = old.dfg.as_const(value) {
            let constant = self.new.dfg.make_const(data.clone());
            return self.append(entry, Opcode::Const, &[], Imm::Const(constant), &[data.ty])[0];
        }
        inputs.push(value);
        self.new.dfg.append_param(entry, old.dfg.ty(value))
    }

    fn copy(&mut self, inst: Inst, to: Block) {
        let old = self.old;
        let data = old.dfg.inst(inst);
        let types: Vec<Type> = old.dfg.results(inst).iter().map(|&value| old.dfg.ty(value)).collect();
        let imm = match &data.imm {
            Imm::Const(id) => Imm::Const(self.new.dfg.make_const(old.dfg.constant(*id).clone())),
            imm => imm.clone(),
        };
        let results = self.append(to, data.op, &data.args, imm, &types);
        self.values.extend(old.dfg.results(inst).iter().copied().zip(results));
        let Some(&copy) = self.new.layout.insts(to).last() else { unreachable!("broken invariant: nothing copied") };
        for target in self.new.dfg.targets_mut(copy) {
            target.block = self.blocks[&target.block];
        }
        self.new.dfg.map_uses(copy, |value| self.values[&value]);
    }

    fn append(&mut self, block: Block, op: Opcode, args: &[Value], imm: Imm, types: &[Type]) -> Vec<Value> {
        let inst = self.new.dfg.make_inst(InstData { op, args: args.iter().copied().collect(), imm }, types);
        self.new.layout.append_inst(block, inst);
        self.new.dfg.results(inst).to_vec()
    }
}
