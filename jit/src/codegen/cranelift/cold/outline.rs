//! What is executed seldom, as functions of its own.
//!
//! A rare block inside of a kernel costs the usual way dearly: the register allocator keeps in memory what lives across the rare
//! block, or into it, and each copy of the code is compiled again. So a rare block and those that it dominates become a *body*: a
//! function that takes what they use and gives what they compute. In their place the values go to the stack, the body is called
//! with their place, and the results are read from there. The call changes no register, so nothing else moves.
//!
//! What can be a body: blocks that only compute, and that all go to one and the same block in the end. The others stay where they
//! are (see `seldom`). Constants are made again in the body, so that they need not be there beforehand.
//!
//! Deliberately not here: how the call is made (`translate`) and which bodies are equal (`place`).

use clift_kir::analysis::{Cfg, Cold};
use clift_kir::{Block, BlockCall, Function, Imm, Inst, InstData, Opcode, Stage, Type, Value};
use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes for a value on its way to a body or from it.
pub(crate) const VALUE_BYTES: u32 = 16;

/// Fewer instructions than this stay where they are.
const LEAST: usize = 8;

/// More values than this, in and out, are none that a call should hand over.
const MOST_VALUES: usize = 64;

/// Blocks that became a function.
#[derive(Debug)]
pub(crate) struct Outlined {
    /// Which of the function's bodies it is.
    pub(crate) number: u32,
    /// Takes the inputs and returns the outputs. Stage *legal*, but for its parameters.
    pub(crate) body: Function,
    /// What it takes: values of the function that the blocks are in.
    pub(crate) inputs: Vec<Value>,
    /// The block that is next, whose parameters are the outputs.
    pub(crate) next: Block,
}

impl Outlined {
    /// How many values it takes and gives.
    fn values(&self) -> usize {
        self.inputs.len() + self.body.returns.len()
    }
}

/// The bodies of a function.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    all: Vec<Outlined>,
    /// Their numbers, by the block that is executed first.
    heads: FxHashMap<Block, u32>,
    /// Blocks that are in a body.
    inside: SecondaryMap<Block, bool>,
}

impl Outline {
    /// The bodies of a function.
    pub(crate) fn new(func: &Function, cfg: &Cfg, rare: &Cold) -> Outline {
        let mut outline = Outline::default();
        if !rare.any() {
            return outline;
        }
        let mut regions: Vec<(Block, Vec<Block>)> = Vec::new();
        let mut numbers: FxHashMap<Block, usize> = FxHashMap::default();
        for &block in cfg.rpo() {
            let Some(head) = rare.head(block) else { continue };
            let number = *numbers.entry(head).or_insert_with(|| {
                regions.push((head, Vec::new()));
                regions.len() - 1
            });
            regions[number].1.push(block);
        }
        for (head, blocks) in regions {
            let Some(next) = next_of(func, &blocks) else { continue };
            let number = outline.all.len() as u32;
            let outlined = Copier::new(func).body(number, head, &blocks, next);
            if outlined.values() > MOST_VALUES {
                continue;
            }
            for block in blocks {
                outline.inside[block] = true;
            }
            outline.heads.insert(head, number);
            outline.all.push(outlined);
        }
        outline
    }

    /// The body that begins with a block.
    pub(crate) fn at(&self, block: Block) -> Option<&Outlined> {
        self.heads.get(&block).map(|&number| &self.all[number as usize])
    }

    /// The bodies, by number.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Function> {
        self.all.iter().map(|outlined| &outlined.body)
    }

    /// The most values that a body takes and gives.
    pub(crate) fn most_values(&self) -> usize {
        self.all.iter().map(Outlined::values).max().unwrap_or(0)
    }

    /// Whether a block is in a body.
    pub(crate) fn contains(&self, block: Block) -> bool {
        self.inside[block]
    }
}

/// The only block that blocks go to in the end, if they can be a body.
fn next_of(func: &Function, blocks: &[Block]) -> Option<Block> {
    let within: FxHashSet<Block> = blocks.iter().copied().collect();
    let mut next = None;
    let mut count = 0;
    for &block in blocks {
        for &inst in func.layout.insts(block) {
            count += 1;
            if !computes_or_goes(func.dfg.inst(inst).op) {
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
    next.filter(|_| count >= LEAST)
}

/// Whether an op only computes from values, wherever it is executed, or goes to another block.
fn computes_or_goes(op: Opcode) -> bool {
    match op {
        // Places in a function's own stack frame.
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

    fn body(mut self, number: u32, head: Block, blocks: &[Block], next: Block) -> Outlined {
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
        // What is handed over comes first: values of elsewhere in the order of their uses, then the parameters of the head.
        let mut inputs = Vec::new();
        let defined: FxHashSet<Value> = self.defined_in(blocks);
        for &block in blocks {
            for &inst in old.layout.insts(block) {
                old.dfg.for_each_use(inst, |value| {
                    if !defined.contains(&value) && !self.values.contains_key(&value) {
                        let here = self.bring(entry, value, &mut inputs);
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
        Outlined { number, body: self.new, inputs, next }
    }

    /// What blocks define.
    fn defined_in(&self, blocks: &[Block]) -> FxHashSet<Value> {
        let old = self.old;
        let results = blocks.iter().flat_map(|&block| old.layout.insts(block));
        results.flat_map(|&inst| old.dfg.results(inst)).copied().collect()
    }

    /// A value of elsewhere: a constant made again, else one more input.
    fn bring(&mut self, entry: Block, value: Value, inputs: &mut Vec<Value>) -> Value {
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
