//! Bitwise expressions of up to three operands as one ternary logic instruction.
//!
//! A *cone* is an expression of bitwise ops with its leaves and the truth table over them. The cone of an op absorbs the cones of
//! its operands while there are at most three leaves. Values that all users absorb are then dead.

use clift_kir::analysis::UseCounts;
use clift_kir::eval::LaneCx;
use clift_kir::ops::Meaning;
use clift_kir::{Elem, Function, Imm, Inst, InstData, Opcode, Type, Value};
use regalloc2::VReg;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::{ExtraOperands, Selector, size};
use crate::codegen::x86::code::ZMM;
use crate::codegen::x86::table as t;

/// The operands of the instruction.
const LEAVES: usize = 3;
/// Most users of a value that is computed again by each of them: one instruction less, but its leaves stay alive for longer.
const USERS: u32 = 2;

/// An operand of a bitwise expression.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    value: Value,
    /// Its uses in the expression.
    uses: u32,
}

/// A bitwise expression.
#[derive(Clone, Debug)]
pub(super) struct Cone {
    leaves: SmallVec<[Leaf; LEAVES]>,
    /// The truth table, as in the instruction's immediate: bit `i` is the result if leaf `k` is bit `2 - k` of `i`.
    table: u8,
}

impl Cone {
    fn leaf(value: Value) -> Cone {
        Cone { leaves: smallvec![Leaf { value, uses: 1 }], table: 0xf0 }
    }

    /// The truth table over other leaves, which contain these.
    fn table_over(&self, leaves: &[Leaf]) -> u8 {
        (0..8u8).fold(0, |table, index| {
            let mut own = 0;
            for (k, leaf) in self.leaves.iter().enumerate() {
                if let Some(at) = leaves.iter().position(|other| other.value == leaf.value) {
                    own |= (index >> (2 - at) & 1) << (2 - k);
                }
            }
            table | (self.table >> own & 1) << index
        })
    }

    /// The cone of an op on the expressions of its operands, if there are not too many leaves.
    fn combine(func: &Function, op: Opcode, operands: &[&Cone]) -> Option<Cone> {
        let mut leaves: SmallVec<[Leaf; LEAVES]> = SmallVec::new();
        for &leaf in operands.iter().flat_map(|cone| &cone.leaves) {
            match leaves.iter_mut().find(|other| other.value == leaf.value) {
                Some(same) => same.uses += leaf.uses,
                None => leaves.push(leaf),
            }
        }
        let constants = leaves.iter().filter(|leaf| func.dfg.as_const(leaf.value).is_some()).count();
        // Only one operand can be a constant in memory.
        if leaves.len() > LEAVES || constants > 1 {
            return None;
        }
        let Meaning::Lanes(compute) = op.info().meaning else {
            unreachable!("broken invariant: {op:?} is not a bitwise op")
        };
        // The op of tables is the table of the op.
        let tables: SmallVec<[u64; 2]> = operands.iter().map(|cone| cone.table_over(&leaves).into()).collect();
        let table = compute(&LaneCx { imm: &Imm::None, src: Elem::I8, dst: Elem::I8 }, &tables) as u8;
        Some(Cone { leaves, table })
    }
}

/// Whether an instruction is a bitwise op on vectors of integers.
fn is_bitwise(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    matches!(data.op, Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not) && {
        let ty = func.dfg.ty(data.args[0]);
        ty.is_vector() && !ty.is_bool()
    }
}

/// The cones of a function's bitwise ops that absorb at least one operand, by result.
pub(super) fn cones(func: &Function, uses: &UseCounts) -> FxHashMap<Value, Cone> {
    let mut computed = FxHashSet::default();
    let (_, absorbed) = absorb(func, uses, &computed);
    // A value that one of its users needs in any case is not computed again by the other one.
    computed.extend(absorbed.iter().filter(|&(&value, &count)| count < uses.get(value)).map(|(&value, _)| value));
    absorb(func, uses, &computed).0
}

/// Finds cones that do not absorb `computed` values. Returns with them how many uses of each value are absorbed.
fn absorb(
    func: &Function,
    uses: &UseCounts,
    computed: &FxHashSet<Value>,
) -> (FxHashMap<Value, Cone>, FxHashMap<Value, u32>) {
    let mut found: FxHashMap<Value, Cone> = FxHashMap::default();
    let mut absorbed: FxHashMap<Value, u32> = FxHashMap::default();
    for &block in func.layout.blocks() {
        // The cones of the block so far; those of other blocks' values would extend live ranges.
        let mut cones: FxHashMap<Value, Cone> = FxHashMap::default();
        for &inst in func.layout.insts(block) {
            if !is_bitwise(func, inst) {
                continue;
            }
            let InstData { op, args, .. } = func.dfg.inst(inst);
            let leaves: SmallVec<[Cone; 2]> = args.iter().map(|&arg| Cone::leaf(arg)).collect();
            let inner = |number: usize| {
                let &arg = args.get(number)?;
                cones.get(&arg).filter(|_| uses.get(arg) <= USERS && !computed.contains(&arg))
            };
            // With both operands absorbed, with one of them, or with none.
            let choices = [[true, true], [false, true], [true, false], [false, false]];
            let best = choices.into_iter().find_map(|choice| {
                let absorbs = |number: usize| inner(number).filter(|_| choice[number]);
                let operands: SmallVec<[&Cone; 2]> =
                    leaves.iter().enumerate().map(|(number, leaf)| absorbs(number).unwrap_or(leaf)).collect();
                let cone = Cone::combine(func, *op, &operands)?;
                Some((cone, [0, 1].map(|number| absorbs(number).is_some())))
            });
            let Some((cone, absorbs)) = best else { continue };
            let result = func.dfg.result(inst);
            if absorbs != [false; 2] {
                found.insert(result, cone.clone());
            }
            for (&arg, _) in args.iter().zip(absorbs).filter(|&(_, absorbs)| absorbs) {
                *absorbed.entry(arg).or_default() += 1;
            }
            cones.insert(result, cone);
        }
    }
    (found, absorbed)
}

impl Selector<'_> {
    /// A bitwise op with the ops that it absorbs.
    pub(super) fn ternary_logic(&mut self, inst: Inst, ty: Type) -> Option<VReg> {
        let Cone { leaves, table } = self.cones.get(&self.legal.dfg.result(inst))?.clone();
        // The first operand is overwritten, and only the last one may be in memory.
        let rank = |leaf: &Leaf| {
            let ends = self.homes[leaf.value] == Some(self.block) && self.uses.get(leaf.value) == leaf.uses;
            (self.is_memory(leaf.value), !ends)
        };
        let mut operands: SmallVec<[(usize, Leaf); LEAVES]> = leaves.iter().copied().enumerate().collect();
        // Shorter expressions do not depend on the further operands.
        let any = leaves.iter().copied().min_by_key(rank)?;
        operands.extend((leaves.len()..LEAVES).map(|k| (k, any)));
        operands.sort_by_key(|(_, leaf)| rank(leaf));
        let order = [0, 1, 2].map(|k| operands[k].0);
        let [first, second, third] = [0, 1, 2].map(|k| operands[k].1.value);
        let table = permuted(table, order);
        let (first, second, third) = (self.get(first), self.get(second), self.operand(third));
        let row = if ty.elem.bits() == 64 { t::VPTERNLOGQ } else { t::VPTERNLOGD };
        let more = ExtraOperands {
            tied: Some(first),
            second: Some(second),
            immediate: Some((i64::from(table), 1)),
            ..ExtraOperands::default()
        };
        Some(self.make(ZMM, row, size(ty), third, more))
    }
}

/// The truth table for operands in another order: operand `k` becomes what operand `order[k]` was.
fn permuted(table: u8, order: [usize; LEAVES]) -> u8 {
    (0..8u8).fold(0, |permuted, index| {
        let old = order.iter().enumerate().fold(0, |old, (k, &was)| old | (index >> (2 - k) & 1) << (2 - was));
        permuted | (table >> old & 1) << index
    })
}
