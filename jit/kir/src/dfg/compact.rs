//! Removal of what a function's layout does not contain. Passes only ever add entities, so that side tables and copies of a
//! function would stay as large as everything that has been made of it.

use cranelift_entity::packed_option::{PackedOption, ReservedValue};
use cranelift_entity::{EntityRef, EntitySet, PrimaryMap, SecondaryMap};

use super::{DataFlowGraph, ValueData, ValueDef};
use crate::entities::{Block, Const, Inst, Value};
use crate::function::Function;
use crate::inst::Imm;
use crate::layout::Layout;

/// The new numbers of the entities that stay, in the order of the old ones.
pub(crate) struct Renumbering {
    values: Numbers<Value>,
    insts: Numbers<Inst>,
    blocks: Numbers<Block>,
    consts: Numbers<Const>,
}

impl Renumbering {
    /// The new number of a block that stays.
    pub(crate) fn block(&self, block: Block) -> Block {
        self.blocks.of(block)
    }

    /// The new number of an instruction that stays.
    pub(crate) fn inst(&self, inst: Inst) -> Inst {
        self.insts.of(inst)
    }
}

/// New numbers of entities of one kind.
struct Numbers<E: EntityRef + ReservedValue>(SecondaryMap<E, PackedOption<E>>);

impl<E: EntityRef + ReservedValue> Numbers<E> {
    fn new(kept: &EntitySet<E>, count: usize) -> Numbers<E> {
        let mut numbers = SecondaryMap::with_capacity(count);
        let all = (0..count).map(E::new);
        for (new, entity) in all.filter(|&entity| kept.contains(entity)).enumerate() {
            numbers[entity] = E::new(new).into();
        }
        Numbers(numbers)
    }

    fn get(&self, old: E) -> Option<E> {
        self.0[old].expand()
    }

    fn of(&self, old: E) -> E {
        let Some(new) = self.get(old) else {
            unreachable!("broken invariant: the layout uses what it does not contain")
        };
        new
    }
}

impl Function {
    /// Removes the values, instructions, blocks and constants that the layout does not need, and numbers the others anew, in
    /// the same order. Private variables stay. What others have noted about values, instructions and blocks of the function
    /// becomes invalid.
    pub fn compact(&mut self) {
        let numbers = self.dfg.compact(&self.layout);
        let locs = std::mem::take(&mut self.locs);
        for (old, new) in numbers.insts.0.iter() {
            if let Some(new) = new.expand() {
                self.locs[new] = locs[old];
            }
        }
        let names = std::mem::take(&mut self.names);
        let named = names.into_iter().filter_map(|(value, name)| Some((numbers.values.get(value)?, name)));
        self.names = named.collect();
        self.layout.renumber(&numbers);
    }
}

impl DataFlowGraph {
    /// Removes what the layout does not need.
    fn compact(&mut self, layout: &Layout) -> Renumbering {
        let (mut values, mut insts) = (EntitySet::new(), EntitySet::new());
        let (mut blocks, mut consts) = (EntitySet::new(), EntitySet::new());
        for &block in layout.blocks() {
            blocks.insert(block);
            values.extend(self.params(block).iter().copied());
            for &inst in layout.insts(block) {
                insts.insert(inst);
                values.extend(self.results(inst).iter().copied());
                if let Imm::Const(id) = self.insts[inst].imm {
                    consts.insert(id);
                }
            }
        }
        let numbers = Renumbering {
            values: Numbers::new(&values, self.values.len()),
            insts: Numbers::new(&insts, self.insts.len()),
            blocks: Numbers::new(&blocks, self.blocks.len()),
            consts: Numbers::new(&consts, self.consts.len()),
        };
        self.renumber(&numbers);
        numbers
    }

    fn renumber(&mut self, numbers: &Renumbering) {
        let old = std::mem::take(self);
        self.values = kept(old.values, &numbers.values, |ValueData { ty, def }| {
            let def = match def {
                ValueDef::Result(inst, index) => ValueDef::Result(numbers.insts.of(inst), index),
                ValueDef::Param(block, index) => ValueDef::Param(numbers.blocks.of(block), index),
            };
            ValueData { ty, def }
        });
        let mut results = old.results;
        for (old, new) in numbers.insts.0.iter() {
            if let Some(new) = new.expand() {
                let mut made = std::mem::take(&mut results[old]);
                made.iter_mut().for_each(|value| *value = numbers.values.of(*value));
                self.results[new] = made;
            }
        }
        self.insts = kept(old.insts, &numbers.insts, |mut data| {
            data.args.iter_mut().for_each(|arg| *arg = numbers.values.of(*arg));
            for target in data.imm.targets_mut() {
                target.block = numbers.blocks.of(target.block);
                target.args.iter_mut().for_each(|arg| *arg = numbers.values.of(*arg));
            }
            if let Imm::Const(id) = &mut data.imm {
                *id = numbers.consts.of(*id);
            }
            data
        });
        self.blocks = kept(old.blocks, &numbers.blocks, |mut params| {
            params.iter_mut().for_each(|param| *param = numbers.values.of(*param));
            params
        });
        self.consts = kept(old.consts, &numbers.consts, |data| data);
        let ids = old.const_ids.into_iter();
        self.const_ids = ids.filter_map(|(data, id)| Some((data, numbers.consts.get(id)?))).collect();
    }
}

/// What stays of a table.
fn kept<E: EntityRef + ReservedValue, T>(
    old: PrimaryMap<E, T>,
    numbers: &Numbers<E>,
    new: impl Fn(T) -> T,
) -> PrimaryMap<E, T> {
    let mut table = PrimaryMap::new();
    for (entity, data) in old {
        if numbers.get(entity).is_some() {
            table.push(new(data));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use crate::text;

    /// A loop, of which a pass has left one iteration.
    const TEXT: &str = r#"
function f0 "k" canonical {
b0:
    v1: i32 = const 1
    v2: i32 = const 7
    v3: ptr(global) = arg 0
    jump b1(v1)
b1(v4: i32):
    v5: i32 = iadd v4, v2
    v6: b1 = icmp ult v5, v2
    branch v6, b1(v5), b2
b2:
    store align 4 v3, v4
    ret
}
kernel f0 args 8
"#;

    #[test]
    fn only_what_the_layout_contains() {
        let module = text::parse_module(TEXT).unwrap();
        let whole = module.funcs.values().next().unwrap();
        let mut func = whole.clone();
        func.compact();
        assert_eq!(func.to_string(), whole.to_string(), "nothing is unused");
        // Another way to the last block, and the rest of the loop is left.
        let blocks = func.layout.blocks().to_vec();
        let jump = func.layout.terminator(blocks[1]).unwrap();
        let data = func.dfg.inst(func.layout.terminator(blocks[0]).unwrap()).clone();
        func.layout.remove_inst(jump);
        func.dfg.replace_inst(jump, data);
        func.dfg.targets_mut(jump).into_iter().for_each(|call| *call = crate::BlockCall::new(blocks[2], &[]));
        func.layout.append_inst(blocks[1], jump);
        let removed: Vec<_> = func.layout.insts(blocks[1])[..2].to_vec();
        for inst in removed {
            func.layout.remove_inst(inst);
        }
        let seven = func.layout.insts(blocks[0])[1];
        func.layout.remove_inst(seven);
        func.locs[jump].line = 5;
        func.compact();
        let counts = [func.dfg.value_count(), func.dfg.inst_count(), func.dfg.block_count(), func.dfg.const_count()];
        assert_eq!(counts, [3, 6, 3, 1]);
        let moved = func.layout.terminator(func.layout.blocks()[1]).unwrap();
        assert_eq!(func.locs[moved].line, 5);
        let again = text::parse_module(&format!("{func}\nkernel f0 args 8\n")).unwrap();
        assert_eq!(again.funcs.values().next().unwrap().to_string(), func.to_string());
    }
}
