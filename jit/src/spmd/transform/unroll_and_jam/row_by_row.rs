//! Divergent paths, executed for one row after the other.
//!
//! Paths that are cold, since they are there for all rows together as well, become a loop over the rows:
//!
//! ```text
//! jump rows(0, x0, x1, undef, undef)
//! rows(row, x, other, first, second):    // the values of the row that is executed are in front
//!     ...                                // the paths, which compute y from x
//!     row += 1
//!     branch row < 2, rows(row, other, x, second, y), join(second, y)
//! ```
//!
//! The lists of values by row are rotated from iteration to iteration, so that code has no index by row. Others are copied for
//! each row: with constants for the rows, they are simplified.

use clift_kir::clone::Cloner;
use clift_kir::{Block, BlockCall, Builder, Elem, Inst, IntCond, Opcode, Type, Value};
use smallvec::SmallVec;

use super::dependence::DivergentPaths;
use super::{Jam, number_of, row_step};
use crate::spmd::class::{Class, class};

/// The most values of each row that a loop over rows takes.
const MAX_ROTATED: usize = 24;

/// The block before the paths, and the branch at its end, of the kernel for one row.
pub(super) type Before = (Block, Inst);

/// The row that a copy of the paths is for: a constant, or what a loop counts.
#[derive(Clone, Copy)]
enum Row {
    Constant(u32),
    Counter(Value),
}

impl Jam<'_> {
    /// Copies divergent paths for one row after the other, at the end of a block.
    pub(super) fn row_by_row(&mut self, at: Block, before: Before, paths: &DivergentPaths) {
        let rotated = if paths.together { self.rotated(before, paths) } else { None };
        match rotated {
            Some(rotated) => self.loop_over_rows(at, before, paths, &rotated),
            None => self.copies_by_row(at, before, paths),
        }
    }

    /// The values from outside the paths that are different for each row. `None` if a loop over rows cannot take them.
    fn rotated(&self, (_, branch): Before, paths: &DivergentPaths) -> Option<Vec<Value>> {
        let from = self.from;
        let mut rotated = Vec::new();
        let insts = paths.blocks.iter().flat_map(|&block| from.layout.insts(block)).chain([&branch]);
        for &inst in insts {
            if class(from.dfg.inst(inst).op) == Class::SlotAddr {
                return None;
            }
            from.dfg.for_each_use(inst, |value| {
                let outside = !paths.defines(from, value);
                if outside && self.differs(value) && !rotated.contains(&value) {
                    rotated.push(value);
                }
            });
        }
        (rotated.len() + from.dfg.params(paths.join).len() <= MAX_ROTATED).then_some(rotated)
    }

    /// Executes the paths in a loop over the rows.
    fn loop_over_rows(&mut self, at: Block, before: Before, paths: &DivergentPaths, rotated: &[Value]) {
        let counter_type = Type::scalar(Elem::I32);
        let rows = self.rows as usize;
        let results = self.from.dfg.params(paths.join).to_vec();
        let types: SmallVec<[Type; 4]> = results.iter().map(|&param| self.from.dfg.ty(param)).collect();
        let header = self.to.dfg.make_block();
        let mut b = Builder::at_end(&mut self.to, at);
        let mut entry = vec![b.iconst(counter_type, 0)];
        let undefined: Vec<Value> = types.iter().map(|&ty| b.undef(ty)).collect();
        for &value in rotated {
            entry.extend((0..self.rows).map(|row| self.in_row(value, row)));
        }
        for &value in &undefined {
            entry.extend(std::iter::repeat_n(value, rows));
        }
        Builder::at_end(&mut self.to, at).jump(header, &entry);

        let params: Vec<Value> = entry
            .iter()
            .map(|&value| {
                let ty = self.to.dfg.ty(value);
                self.to.dfg.append_param(header, ty)
            })
            .collect();
        let counter = params[0];
        let lists: Vec<&[Value]> = params[1..].chunks(rows).collect();
        let mut cloner = Cloner::of(self.from);
        for (&value, list) in rotated.iter().zip(&lists) {
            cloner.set_value(value, list[0]);
        }
        self.lay_out(header, true);
        let join = self.to.dfg.make_block();
        let joined: Vec<Value> = types.iter().map(|&ty| self.to.dfg.append_param(join, ty)).collect();
        self.copy_paths(&mut cloner, header, join, before, paths, Row::Counter(counter));

        self.lay_out(join, true);
        let own = lists[..rotated.len()].iter().map(|list| (list[0], *list));
        let computed = joined.iter().copied().zip(lists[rotated.len()..].iter().copied());
        let next: Vec<Vec<Value>> =
            own.chain(computed).map(|(last, list)| list[1..].iter().copied().chain([last]).collect()).collect();
        let target = self.together(paths.join);
        let by_param = results.iter().zip(&next[rotated.len()..]);
        let exit: Vec<Value> =
            by_param.flat_map(|(&param, list)| list[rows - self.copies(param) as usize..].iter().copied()).collect();
        let mut b = Builder::at_end(&mut self.to, join);
        let one = b.iconst(counter_type, 1);
        let number = b.int2(Opcode::Iadd, counter, one);
        let end = b.iconst(counter_type, i64::from(self.rows));
        let more = b.icmp(IntCond::Ult, number, end);
        let again: Vec<Value> = std::iter::once(number).chain(next.into_iter().flatten()).collect();
        b.branch(more, BlockCall::new(header, &again), BlockCall::new(target, &exit));
    }

    /// Copies the paths for each row.
    fn copies_by_row(&mut self, mut at: Block, before: Before, paths: &DivergentPaths) {
        let params = self.from.dfg.params(paths.join).to_vec();
        let mut joined: Vec<Vec<Value>> = Vec::new();
        for row in 0..self.rows {
            let join = self.to.dfg.make_block();
            let types = params.iter().map(|&param| self.from.dfg.ty(param));
            joined.push(types.map(|ty| self.to.dfg.append_param(join, ty)).collect());
            let mut cloner = Cloner::of(self.from);
            for (&slot, by_row) in &self.slots {
                cloner.set_slot(slot, by_row[row as usize]);
            }
            self.copy_paths(&mut cloner, at, join, before, paths, Row::Constant(row));
            self.lay_out(join, paths.together);
            at = join;
        }
        let args = params
            .iter()
            .enumerate()
            .flat_map(|(place, &param)| joined[..self.copies(param) as usize].iter().map(move |of_row| of_row[place]));
        let args: Vec<Value> = args.collect();
        let join = self.together(paths.join);
        Builder::at_end(&mut self.to, at).jump(join, &args);
    }

    /// Puts a block into the layout.
    fn lay_out(&mut self, block: Block, cold: bool) {
        self.to.layout.append_block(block);
        if cold {
            self.to.layout.set_cold(block);
        }
    }

    /// Copies the paths, from the branch before them, at the end of `at`, to where they meet, at `join`, for one row.
    fn copy_paths(
        &mut self,
        cloner: &mut Cloner<'_>,
        at: Block,
        join: Block,
        (block, branch): Before,
        paths: &DivergentPaths,
        row: Row,
    ) {
        cloner.set_block(paths.join, join);
        let copies: Vec<Block> = paths.blocks.iter().map(|&from| cloner.copy_block(&mut self.to, from)).collect();
        self.copy_in_row(cloner, at, branch, row, paths);
        for (&from, copy) in paths.blocks.iter().zip(copies) {
            debug_assert_ne!(from, block, "{from}");
            self.lay_out(copy, paths.together);
            for &inst in self.from.layout.insts(from) {
                self.copy_in_row(cloner, copy, inst, row, paths);
            }
        }
        cloner.finish(&mut self.to);
    }

    /// Copies an instruction of divergent paths for one row.
    fn copy_in_row(&mut self, cloner: &mut Cloner<'_>, at: Block, inst: Inst, row: Row, paths: &DivergentPaths) {
        let from = self.from;
        from.dfg.for_each_use(inst, |value| {
            if cloner.value(value).is_none() && !paths.defines(from, value) {
                let number = match row {
                    Row::Constant(row) => row,
                    // Of the others, the loop has set the values.
                    Row::Counter(_) => 0,
                };
                cloner.set_value(value, self.in_row(value, number));
            }
        });
        let copy = cloner.append(&mut self.to, at, inst);
        let Some(step) = row_step(from, inst) else { return };
        let first = self.to.dfg.result(copy);
        let ty = self.to.dfg.ty(first);
        let mut b = Builder::at_end(&mut self.to, at);
        let row = match row {
            Row::Constant(0) => return,
            Row::Constant(row) => b.iconst(ty, row.into()),
            Row::Counter(counter) if b.ty(counter) == ty => counter,
            Row::Counter(counter) => b.cast(Opcode::Zext, counter, ty),
        };
        let value = number_of(&mut b, first, row, step);
        cloner.set_value(from.dfg.result(inst), value);
    }
}
