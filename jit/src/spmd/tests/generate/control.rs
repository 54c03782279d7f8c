//! The control flow of generated kernels: branches, switches that fall through, loops tested at the top or at the bottom,
//! labelled blocks, and their exits: `break` and `continue` of any enclosing loop, `goto` the end of any enclosing block,
//! `return`.
//!
//! Uniform variables stay uniform: after a construct in which the paths of work-items may diverge, they have their former values
//! again. Barriers are only where all work-items are together.

use clift_kir::inst::FloatCond;
use clift_kir::{Block, BlockCall, IntCond, Opcode, Type, Value};

use super::{Barriers, FLOAT, Generator, Style, UNIFORM};

/// The constructs around the current position, outermost first.
#[derive(Default)]
pub(super) struct Flow {
    around: Vec<Enclosing>,
    /// The work-items that have entered a construct with at least this number together are together here.
    together_since: usize,
}

/// A construct that statements in it may leave.
struct Enclosing {
    /// The end of the construct; takes the variables.
    exit: Block,
    /// The next iteration of a loop; takes the variables.
    next: Option<Block>,
    /// Whether work-items that enter together stay together.
    uniform: bool,
    /// The variables at the entry.
    before: Vec<Value>,
}

impl Generator<'_> {
    /// A condition, and whether it is uniform.
    fn condition(&mut self) -> (Value, bool) {
        let kind = self.rng.below(5);
        if kind == 0 {
            let other = if self.rng.below(2) == 0 {
                self.load_float()
            } else {
                let bound = self.rng.below(7) as f64 - 3.0;
                self.b.fconst(Type::F32, bound)
            };
            let cond = self.rng.pick(&[FloatCond::Olt, FloatCond::Ogt, FloatCond::Une, FloatCond::Ule]);
            return (self.b.fcmp(cond, self.vars[FLOAT], other), false);
        }
        // One work-item of a row, whose code need not be that of a pack.
        if kind == 4 && self.rng.below(3) == 0 {
            let id = self.b.query(Opcode::LocalId, 0);
            let which = self.rng.below(4) as i64;
            let which = self.b.iconst(Type::I64, which);
            let cond = self.rng.pick(&[IntCond::Eq, IntCond::Ne]);
            return (self.b.icmp(cond, id, which), false);
        }
        let uniform = kind <= 2;
        let a = if uniform { self.uniform() } else { self.varying() };
        let bound = self.rng.below(5) as i64 - 1;
        let bound = self.b.iconst(Type::I32, bound);
        let cond = self.rng.pick(&[IntCond::Slt, IntCond::Eq, IntCond::Ne, IntCond::Ugt]);
        (self.b.icmp(cond, a, bound), uniform)
    }

    fn join_block(&mut self) -> Block {
        let block = self.b.func.append_block();
        for &var in &self.vars {
            let ty = self.b.func.dfg.ty(var);
            self.b.func.dfg.append_param(block, ty);
        }
        block
    }

    fn enter_join(&mut self, block: Block) {
        self.b.switch_to(block);
        self.vars = self.b.func.dfg.params(block).to_vec();
    }

    /// Only some work-items may have changed uniform variables: after a varying branch they get their former values.
    fn keep_uniform(&mut self, before: &[Value], together: bool) {
        if !together {
            self.vars[..UNIFORM].copy_from_slice(&before[..UNIFORM]);
        }
    }

    /// Statements that only the work-items of one side of a branch execute.
    fn arm(&mut self, depth: u32, together: bool, uniform: bool) {
        let since = self.flow.together_since;
        if !uniform {
            self.flow.together_since = self.flow.around.len();
        }
        self.sequence(depth + 1, together && uniform, false);
        self.flow.together_since = since;
    }

    /// Statements inside a construct that they may leave.
    fn inside(&mut self, depth: u32, together: bool, construct: Enclosing) {
        let (uniform, since) = (construct.uniform, self.flow.together_since);
        self.flow.around.push(construct);
        if !uniform {
            self.flow.together_since = self.flow.around.len();
        }
        self.sequence(depth + 1, together && uniform, false);
        self.flow.together_since = since;
    }

    /// An exit of an enclosing construct that work-items may take here, under a uniform or another condition.
    fn way_out(&mut self, uniform: bool) -> Option<BlockCall> {
        let count = self.flow.around.len() as u64;
        if count == 0 {
            return None;
        }
        let index = self.rng.below(count) as usize;
        let continues = self.rng.below(2) == 0;
        let around = &self.flow.around[index];
        if around.uniform && !(uniform && index >= self.flow.together_since) {
            return None;
        }
        let to = around.next.filter(|_| continues).unwrap_or(around.exit);
        let mut args = self.vars.clone();
        if !around.uniform {
            args[..UNIFORM].copy_from_slice(&around.before[..UNIFORM]);
        }
        Some(BlockCall::new(to, &args))
    }

    /// `if (..) break;` and its relatives, out of any number of constructs.
    pub(super) fn leave(&mut self) {
        let (cond, uniform) = self.condition();
        let Some(way) = (0..3).find_map(|_| self.way_out(uniform)) else { return };
        let on = self.b.func.append_block();
        if self.rng.below(2) == 0 {
            self.b.branch(cond, way, BlockCall::new(on, &[]));
        } else {
            self.b.branch(cond, BlockCall::new(on, &[]), way);
        }
        self.b.switch_to(on);
    }

    /// A level of a nest: statements and exits before the next level, and after it.
    pub(super) fn nest(&mut self, depth: u32, together: bool, deeper: bool) {
        let may_have_barrier = self.may_have_barrier(together);
        for last in [false, true] {
            for _ in 0..self.rng.below(3) {
                match self.rng.below(8) {
                    0 => self.assign_uniform(),
                    1 => self.assign_float(),
                    2 => self.write_own(),
                    3 if may_have_barrier => self.barrier(),
                    4 if may_have_barrier => self.exchange(),
                    _ => self.assign_varying(),
                }
            }
            for _ in 0..self.rng.below(3) {
                self.leave();
            }
            if deeper && !last {
                match self.rng.below(8) {
                    0 => self.labelled(depth, together),
                    1 => self.branch(depth, together),
                    2 => self.select_case(depth, together),
                    _ => self.repeat(depth, together),
                }
            }
        }
    }

    /// The end of an arm: a jump to the join of the arms, or (`may_leave`) out of an enclosing construct.
    fn end_arm(&mut self, join: Block, uniform: bool, may_leave: bool) {
        if may_leave && self.rng.below(4) == 0 {
            // The work-items of the arm take the exit.
            let since = self.flow.together_since;
            if !uniform {
                self.flow.together_since = self.flow.around.len();
            }
            let way = self.way_out(true);
            self.flow.together_since = since;
            if let Some(way) = way {
                self.b.jump(way.block, &way.args);
                return;
            }
        }
        let args = self.vars.clone();
        self.b.jump(join, &args);
    }

    pub(super) fn branch(&mut self, depth: u32, together: bool) {
        let (cond, uniform) = self.condition();
        let before = self.vars.clone();
        let (then, otherwise) = (self.b.func.append_block(), self.b.func.append_block());
        let join = self.join_block();
        self.b.branch(cond, BlockCall::new(then, &[]), BlockCall::new(otherwise, &[]));
        for (block, filled) in [(then, true), (otherwise, self.rng.below(2) == 0)] {
            self.b.switch_to(block);
            self.vars = before.clone();
            if filled {
                self.arm(depth, together, uniform);
                self.keep_uniform(&before, uniform);
            }
            self.end_arm(join, uniform, block == then);
        }
        self.enter_join(join);
    }

    pub(super) fn select_case(&mut self, depth: u32, together: bool) {
        let uniform = self.rng.below(2) == 0;
        let selector = if uniform { self.uniform() } else { self.varying() };
        let before = self.vars.clone();
        let blocks: Vec<Block> = (0..3).map(|_| self.join_block()).collect();
        let join = self.join_block();
        let case = |block| BlockCall::new(block, &before);
        let cases = vec![(0, case(blocks[0])), (2, case(blocks[1])), (3, case(join))];
        self.b.switch(selector, cases, case(blocks[2]));
        for (i, &block) in blocks.iter().enumerate() {
            self.enter_join(block);
            self.arm(depth, together, uniform);
            self.keep_uniform(&before, uniform);
            match blocks.get(i + 1) {
                Some(&next) if self.rng.below(3) == 0 => {
                    let args = self.vars.clone();
                    self.b.jump(next, &args);
                }
                more => self.end_arm(join, uniform, more.is_some()),
            }
        }
        self.enter_join(join);
    }

    /// A block that its statements may leave to its end.
    pub(super) fn labelled(&mut self, depth: u32, together: bool) {
        let uniform = self.rng.below(3) == 0;
        let before = self.vars.clone();
        let exit = self.join_block();
        self.inside(depth, together, Enclosing { exit, next: None, uniform, before: before.clone() });
        self.flow.around.pop();
        self.keep_uniform(&before, uniform);
        let args = self.vars.clone();
        self.b.jump(exit, &args);
        self.enter_join(exit);
    }

    /// A loop of at most three iterations, tested at the top or at the bottom.
    pub(super) fn repeat(&mut self, depth: u32, together: bool) {
        let uniform = self.rng.below(2) == 0;
        let count = if matches!(self.style, Style::Nest { .. }) && self.rng.below(2) == 0 {
            self.b.iconst(Type::I32, 3)
        } else {
            let count = if uniform { self.uniform() } else { self.varying() };
            let four = self.b.iconst(Type::I32, 4);
            self.b.int2(Opcode::Urem, count, four)
        };
        let header = self.join_block();
        let i = self.b.func.dfg.append_param(header, Type::I32);
        let (latch, exit) = (self.join_block(), self.join_block());
        let zero = self.b.iconst(Type::I32, 0);
        let before = self.vars.clone();
        let args: Vec<Value> = before.iter().copied().chain([zero]).collect();
        self.b.jump(header, &args);
        self.enter_join(header);
        self.vars.truncate(before.len());
        self.keep_uniform(&before, uniform);
        let at_top = self.rng.below(2) == 0;
        if at_top {
            let more = self.b.icmp(IntCond::Slt, i, count);
            let body = self.b.func.append_block();
            self.b.branch(more, BlockCall::new(body, &[]), BlockCall::new(exit, &self.vars));
            self.b.switch_to(body);
        }
        self.inside(depth, together, Enclosing { exit, next: Some(latch), uniform, before: before.clone() });
        self.flow.around.pop();
        self.keep_uniform(&before, uniform);
        let args = self.vars.clone();
        self.b.jump(latch, &args);
        self.enter_join(latch);
        self.keep_uniform(&before, uniform);
        let one = self.b.iconst(Type::I32, 1);
        let next = self.b.int2(Opcode::Iadd, i, one);
        let vars = self.vars.clone();
        let again: Vec<Value> = vars.iter().copied().chain([next]).collect();
        if at_top {
            self.b.jump(header, &again);
        } else {
            let more = self.b.icmp(IntCond::Slt, next, count);
            self.b.branch(more, BlockCall::new(header, &again), BlockCall::new(exit, &vars));
        }
        self.enter_join(exit);
    }

    pub(super) fn early_return(&mut self, together: bool) {
        let (cond, uniform) = self.condition();
        let alone = matches!(self.barriers, Barriers::None | Barriers::EarlyReturn | Barriers::Divergent);
        if !(alone || together && uniform) {
            return;
        }
        let (end, on) = (self.b.func.append_block(), self.b.func.append_block());
        self.b.branch(cond, BlockCall::new(end, &[]), BlockCall::new(on, &[]));
        self.b.switch_to(end);
        self.b.ret(&[]);
        self.b.switch_to(on);
    }
}
