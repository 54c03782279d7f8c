//! How often values are used, and where.

use cranelift_entity::{EntityRef, SecondaryMap};

use crate::entities::{Block, Inst, Value};
use crate::function::Function;

/// Number of uses of each value by instructions that stand in the function.
#[derive(Clone, Debug)]
pub struct UseCounts {
    counts: SecondaryMap<Value, u32>,
}

impl UseCounts {
    /// Counts.
    pub fn new(func: &Function) -> UseCounts {
        let mut counts: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(func.dfg.value_count());
        for &block in func.layout.blocks() {
            for &inst in func.layout.insts(block) {
                func.dfg.for_each_use(inst, |value| counts[value] += 1);
            }
        }
        UseCounts { counts }
    }

    /// Uses of a value.
    pub fn get(&self, value: Value) -> u32 {
        self.counts[value]
    }

    /// Removes one use of a value; returns the number of remaining uses.
    pub fn remove_one(&mut self, value: Value) -> u32 {
        self.counts[value] -= 1;
        self.counts[value]
    }
}

/// Where each value is used: one entry per use, in the order of the code. Operands and arguments of targets are apart, because
/// blocks of large loops have hundreds of parameters, of which the argument of a value concerns one.
#[derive(Clone, Debug)]
pub struct Users {
    operands: Lists<Inst>,
    arguments: Lists<Argument>,
}

/// A use of a value as an argument of a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Argument {
    /// The terminator.
    pub by: Inst,
    /// The target.
    pub to: Block,
    /// The parameter that gets the value.
    pub param: Value,
}

impl Users {
    /// Collects the users in some blocks.
    pub fn new(func: &Function, blocks: &[Block]) -> Users {
        let insts = || blocks.iter().flat_map(|&block| func.layout.insts(block).iter().copied());
        let values = func.dfg.value_count();
        let operands = Lists::new(values, Inst::new(0), |add| {
            for inst in insts() {
                func.dfg.inst(inst).args.iter().for_each(|&value| add(value, inst));
            }
        });
        let none = Argument { by: Inst::new(0), to: Block::new(0), param: Value::new(0) };
        let arguments = Lists::new(values, none, |add| {
            for &block in blocks {
                let Some(by) = func.layout.terminator(block) else { continue };
                for target in func.dfg.targets(by) {
                    let params = func.dfg.params(target.block);
                    for (&value, &param) in target.args.iter().zip(params) {
                        add(value, Argument { by, to: target.block, param });
                    }
                }
            }
        });
        Users { operands, arguments }
    }

    /// The instructions that have a value as operand.
    pub fn of(&self, value: Value) -> &[Inst] {
        self.operands.of(value)
    }

    /// The places at which a value is an argument.
    pub fn arguments(&self, value: Value) -> &[Argument] {
        self.arguments.of(value)
    }
}

/// A list for each value; all of them are in one array.
#[derive(Clone, Debug)]
struct Lists<T> {
    /// Where each value's list ends in `items`.
    ends: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// Makes the lists for so many values from what `visit` adds, which is called twice. `filler` is any item.
    fn new(values: usize, filler: T, visit: impl Fn(&mut dyn FnMut(Value, T))) -> Lists<T> {
        let mut ends = vec![0; values];
        visit(&mut |value, _| ends[value.index()] += 1);
        // Each list's end is where it begins while it is filled.
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let mut items = vec![filler; total as usize];
        visit(&mut |value, item| {
            let end = &mut ends[value.index()];
            items[*end as usize] = item;
            *end += 1;
        });
        Lists { ends, items }
    }

    fn of(&self, value: Value) -> &[T] {
        let at = value.index();
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.items[start as usize..self.ends[at] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn operands_and_arguments_are_apart() {
        let text = r#"
function f0 "k" canonical {
b0:
    v1: i32 = const 1
    v2: b1 = icmp eq v1, v1
    branch v2, b1(v1, v1), b1(v1, v1)
b1(v3: i32, v4: i32):
    v5: i32 = iadd v3, v1
    jump b1(v5, v4)
}
"#;
        let func = text::parse_function(text).unwrap_or_else(|e| panic!("{e}"));
        let users = Users::new(&func, func.layout.blocks());
        let blocks = func.layout.blocks();
        let insts = |i: usize| func.layout.insts(blocks[i]);
        let one = func.dfg.result(insts(0)[0]);
        let params = func.dfg.params(blocks[1]);
        assert_eq!(users.of(one), [insts(0)[1], insts(0)[1], insts(1)[0]]);
        let by_entry = |param| Argument { by: insts(0)[2], to: blocks[1], param };
        assert_eq!(users.arguments(one), [params[0], params[1], params[0], params[1]].map(by_entry));
        assert_eq!(users.of(params[1]), []);
        assert_eq!(users.arguments(params[1]), [Argument { by: insts(1)[1], to: blocks[1], param: params[1] }]);
    }
}
