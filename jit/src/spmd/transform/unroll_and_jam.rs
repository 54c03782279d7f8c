//! Unroll-and-jam of the loop over the rows of a work-group: the code of a pack becomes that of the packs of several rows at
//! once.
//!
//! ```text
//! for y in 0..16:                                 for y in 0, 2, ..14:
//!     for k in 0..n:                                  for k in 0..n:
//!         sum += a[y][k] * b[k][x..]                      row = b[k][x..]
//!                                                         sum0 += a[y][k] * row;  sum1 += a[y + 1][k] * row
//! ```
//!
//! What does not depend on the row is computed and loaded once: the operands of matrix products, the weights of filters, and,
//! where rows overlap, most of a stencil. Compilers call it register tiling; on processors it decides how often the first-level
//! cache is read. No work-item can tell, since those of a group run in any order between two barriers.
//!
//! Runs on the code of a pack, whose control flow the lanes share. [`dependence`] finds the values that depend on the row.
//! Where a branch does, the rows may take different paths:
//!
//! - The blocks up to where the paths meet again are executed for one row after the other ([`row_by_row`]).
//! - If they are much of the kernel, and the condition is for borders, as in `if (y < height)`, they are there once more for
//!   all rows together, and a test chooses. Most often the rows agree, so the blocks for one row after the other are cold.
//!
//! Deliberately not here: whether a kernel gains ([`crate::spmd::cost::rows`]), and the loop over rows, which
//! [`loops`](crate::spmd::workgroup::loops) makes with the step that the caller asks for. Groups whose rows are not a multiple of
//! it are executed row by row.

mod dependence;
mod row_by_row;

use clift_kir::ops::QueryOp;
use clift_kir::{Block, BlockCall, Builder, Function, Imm, Inst, InstData, IntCond, Opcode, Slot, Type, Value};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use self::dependence::{RowDependence, asked_lanes};
use crate::spmd::class::{Class, class};

/// Bits of the global id of the last row of groups whose rows are executed together.
pub(crate) const NUMBER_BITS: u32 = 31;

/// The dimension along which rows follow one another.
pub(crate) const DIMENSION: u8 = 1;

/// Divergent paths of more than one in so many of a function's instructions are there for all rows together, too.
const MUCH: usize = 4;
/// Instructions of divergent paths that are few in any function.
const FEW: usize = 12;

/// What is between the values that a query gives in neighbouring rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RowStep {
    One,
    /// The result of a query in dimension x.
    Query(Opcode),
}

/// What a query adds from row to row; `None` if it gives the same in all of them.
fn row_step(func: &Function, inst: Inst) -> Option<RowStep> {
    let data = func.dfg.inst(inst);
    let Class::Query(query) = class(data.op) else { return None };
    match query {
        QueryOp::LocalId | QueryOp::GlobalId => (data.imm == Imm::Dim(DIMENSION)).then_some(RowStep::One),
        QueryOp::LocalLinearId => Some(RowStep::Query(Opcode::LocalSize)),
        QueryOp::GlobalLinearId => Some(RowStep::Query(Opcode::GlobalSize)),
        QueryOp::WorkDim
        | QueryOp::GlobalSize
        | QueryOp::GlobalOffset
        | QueryOp::NumGroups
        | QueryOp::EnqueuedLocalSize
        | QueryOp::LocalSize
        | QueryOp::GroupId
        | QueryOp::SubGroupSize
        | QueryOp::MaxSubGroupSize
        | QueryOp::NumSubGroups
        | QueryOp::EnqueuedNumSubGroups
        | QueryOp::SubGroupId
        | QueryOp::SubGroupLocalId => None,
    }
}

/// As [`row_step`], also of the number of a row that has been narrowed, and perhaps extended again. Where rows are executed
/// together, their numbers fit [`NUMBER_BITS`].
fn number_step(func: &Function, inst: Inst) -> Option<RowStep> {
    let data = func.dfg.inst(inst);
    let operand = || func.dfg.def_inst(*data.args.first()?);
    let is_narrowed = |inst: Inst| {
        let data = func.dfg.inst(inst);
        let wide = data.op == Opcode::Itrunc && func.dfg.ty(func.dfg.result(inst)).elem.bits() > NUMBER_BITS;
        let number = || func.dfg.def_inst(data.args[0]).and_then(|def| row_step(func, def));
        wide && number() == Some(RowStep::One)
    };
    let extends = matches!(data.op, Opcode::Sext | Opcode::Zext);
    if is_narrowed(inst) || extends && operand().is_some_and(is_narrowed) {
        return Some(RowStep::One);
    }
    row_step(func, inst)
}

/// Makes the code of a pack that of the packs of so many rows that follow one another; the loop over rows gives the number of the
/// first one. `None` if the kernel can observe an order of work-items, or branches in a way that is not supported.
pub(crate) fn run(func: &Function, rows: u32) -> Option<Function> {
    let dependence = RowDependence::of(func)?;
    let mut to = Function::new(func.name.clone(), &func.returns);
    to.stage = func.stage;
    to.inlined_calls.clone_from(&func.inlined_calls);
    to.next_barrier = func.next_barrier;
    to.noalias_args.clone_from(&func.noalias_args);
    let slots =
        func.slots.iter().map(|(slot, &data)| (slot, (0..rows).map(|_| to.slots.push(data)).collect())).collect();
    let jam = Jam {
        from: func,
        to,
        rows,
        dependence,
        slots,
        values: SecondaryMap::new(),
        blocks: SecondaryMap::new(),
        equal: Vec::new(),
        equal_here: SmallVec::new(),
    };
    Some(jam.function())
}

/// What a query gives in a row, from what it gives in the first one.
fn number_of(b: &mut Builder<'_>, first: Value, row: Value, step: RowStep) -> Value {
    let distance = match step {
        RowStep::One => row,
        RowStep::Query(size) => {
            let size = b.query(size, 0);
            b.int2(Opcode::Imul, size, row)
        }
    };
    b.int2(Opcode::Iadd, first, distance)
}

/// A value by row; a single one if it does not depend on the row.
type ByRow = SmallVec<[Value; 4]>;

struct Jam<'a> {
    from: &'a Function,
    to: Function,
    rows: u32,
    dependence: RowDependence,
    /// The copies of each private variable, by row.
    slots: FxHashMap<Slot, SmallVec<[Slot; 4]>>,
    values: SecondaryMap<Value, ByRow>,
    /// The blocks for all rows together.
    blocks: SecondaryMap<Block, PackedOption<Block>>,
    /// Masks that are the same for all rows in the divergent paths of that number.
    equal: Vec<(usize, Value)>,
    /// Those of the block that is being copied.
    equal_here: SmallVec<[Value; 4]>,
}

impl Jam<'_> {
    fn function(mut self) -> Function {
        let together: Vec<Block> = self.dependence.together.clone();
        for &block in &together {
            let new = self.to.dfg.make_block();
            self.blocks[block] = new.into();
            for &param in self.from.dfg.params(block) {
                let ty = self.from.dfg.ty(param);
                self.values[param] = (0..self.copies(param)).map(|_| self.to.dfg.append_param(new, ty)).collect();
            }
        }
        for &block in &together {
            self.block(block);
        }
        self.to
    }

    /// How many values a value becomes.
    fn copies(&self, value: Value) -> u32 {
        if self.dependence.depends(value) { self.rows } else { 1 }
    }

    /// Whether a value differs from row to row in the block that is being copied.
    fn differs(&self, value: Value) -> bool {
        self.values[value].len() > 1 && !self.equal_here.contains(&value)
    }

    /// What a value is in a row.
    fn in_row(&self, value: Value, row: u32) -> Value {
        self.values[value][if self.differs(value) { row as usize } else { 0 }]
    }

    fn together(&self, block: Block) -> Block {
        let Some(block) = self.blocks[block].expand() else {
            unreachable!("broken invariant: {block} is only there for each row by itself")
        };
        block
    }

    /// Copies a block for all rows together.
    fn block(&mut self, block: Block) {
        let new = self.together(block);
        self.to.layout.append_block(new);
        if self.from.layout.is_cold(block) {
            self.to.layout.set_cold(new);
        }
        let equal = self.equal.iter().filter(|&&(number, _)| self.dependence.divergent[number].blocks.contains(&block));
        self.equal_here = equal.map(|&(_, mask)| mask).collect();
        for &inst in self.from.layout.insts(block) {
            if self.from.dfg.inst(inst).op.is_terminator() {
                self.terminator(block, inst);
            } else {
                self.inst(new, inst);
            }
        }
    }

    /// Copies an instruction, once or for each row.
    fn inst(&mut self, at: Block, inst: Inst) {
        let times = if self.dependence.is_once(self.from, inst) { 1 } else { self.rows };
        let results = self.from.dfg.results(inst);
        let mut copies: SmallVec<[ByRow; 1]> = results.iter().map(|_| ByRow::new()).collect();
        if let Some(step) = number_step(self.from, inst) {
            // Sums with constants are recognized as equal more easily than narrowed sums.
            let data = self.data(inst, 0, |jam, value| jam.in_row(value, 0));
            let first = self.append(at, inst, data)[0];
            let others = (1..self.rows).map(|row| self.number(at, first, row, step));
            self.values[results[0]] = std::iter::once(first).chain(others).collect();
            return;
        }
        for row in 0..times {
            let data = self.data(inst, row, |jam, value| jam.in_row(value, row));
            for (copies, value) in copies.iter_mut().zip(self.append(at, inst, data)) {
                copies.push(value);
            }
        }
        for (&result, copies) in results.iter().zip(copies) {
            debug_assert_eq!(copies.len() as u32, self.copies(result), "{result}");
            self.values[result] = copies;
        }
    }

    /// An instruction in a row, whose operands are those that `operand` gives.
    fn data(&mut self, inst: Inst, row: u32, mut operand: impl FnMut(&Self, Value) -> Value) -> InstData {
        let mut data = self.from.dfg.inst(inst).clone();
        for arg in &mut data.args {
            *arg = operand(self, *arg);
        }
        if let Imm::Slot(slot) = &mut data.imm {
            *slot = self.slots[slot][row as usize];
        }
        data.imm.copy_constant(&self.from.dfg, &mut self.to.dfg);
        data
    }

    /// Appends the copy of an instruction, and returns its results.
    fn append(&mut self, at: Block, inst: Inst, data: InstData) -> SmallVec<[Value; 1]> {
        let types: SmallVec<[Type; 1]> =
            self.from.dfg.results(inst).iter().map(|&value| self.from.dfg.ty(value)).collect();
        let mut b = Builder::at_end(&mut self.to, at);
        b.set_loc(self.from.locs[inst]);
        let copy = b.inst(data.op, &data.args, data.imm, &types);
        self.to.dfg.results(copy).iter().copied().collect()
    }

    /// What a query gives in a row, from what it gives in the first one.
    fn number(&mut self, at: Block, first: Value, row: u32, step: RowStep) -> Value {
        let ty = self.to.dfg.ty(first);
        let mut b = Builder::at_end(&mut self.to, at);
        let row = b.iconst(ty, row.into());
        number_of(&mut b, first, row, step)
    }

    /// Copies the end of a block for all rows together.
    fn terminator(&mut self, block: Block, inst: Inst) {
        let new = self.together(block);
        let Some(number) = self.dependence.divergent_at(block) else {
            return self.terminator_together(new, inst);
        };
        let paths = self.dependence.divergent[number].clone();
        let mut at = new;
        if paths.together {
            let (agree, disagree) = (self.to.dfg.make_block(), self.to.dfg.make_block());
            let differs = self.disagreement(at, number, self.from.dfg.inst(inst).args[0]);
            let mut b = Builder::at_end(&mut self.to, at);
            b.branch(differs, BlockCall::new(disagree, &[]), BlockCall::new(agree, &[]));
            self.to.layout.append_block(agree);
            self.terminator_together(agree, inst);
            self.to.layout.append_block(disagree);
            self.to.layout.set_cold(disagree);
            at = disagree;
        }
        self.row_by_row(at, (block, inst), &paths);
    }

    /// Whether rows disagree about a condition. Where it asks for active lanes, the masks are compared: in the paths that
    /// follow, all rows can use that of the first one.
    fn disagreement(&mut self, at: Block, number: usize, condition: Value) -> Value {
        let masks = asked_lanes(self.from, condition);
        self.equal.extend(masks.iter().map(|&mask| (number, mask)));
        let compared = masks.last().copied().unwrap_or(condition);
        let by_row = self.values[compared].clone();
        let mut b = Builder::at_end(&mut self.to, at);
        let differ = |b: &mut Builder<'_>, other: Value| match b.ty(other).is_bool() {
            true => b.int2(Opcode::Xor, by_row[0], other),
            false => b.icmp(IntCond::Ne, by_row[0], other),
        };
        let mut any: Option<Value> = None;
        for &other in &by_row[1..] {
            let differs = differ(&mut b, other);
            any = Some(any.map_or(differs, |any| b.int2(Opcode::Or, any, differs)));
        }
        let Some(any) = any else { unreachable!("broken invariant: {condition} does not depend on the row") };
        if b.ty(any).is_vector() { b.any(any) } else { any }
    }

    /// Copies a terminator, whose condition is that of the first row.
    fn terminator_together(&mut self, at: Block, inst: Inst) {
        let mut data = self.data(inst, 0, |jam, value| jam.in_row(value, 0));
        for call in data.imm.targets_mut() {
            let params = self.from.dfg.params(call.block);
            let args = params
                .iter()
                .zip(&call.args)
                .flat_map(|(&param, &arg)| (0..self.copies(param)).map(move |row| (arg, row)));
            let args: Vec<Value> = args.map(|(arg, row)| self.in_row(arg, row)).collect();
            *call = BlockCall::new(self.together(call.block), &args);
        }
        let mut b = Builder::at_end(&mut self.to, at);
        b.set_loc(self.from.locs[inst]);
        b.inst(data.op, &data.args, data.imm, &[]);
    }
}
