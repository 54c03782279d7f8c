//! Loop unswitching, where it needs no copy of the loop: a loop that does nothing unless a loop-invariant condition holds is
//! entered only if it does, and a loop that never does anything is removed.
//!
//! ```text
//!                                          preheader: branch row_is_inside, enter, exit
//! preheader: jump head(0)                  enter:     jump head(0)
//! head(j):   branch inside, body, latch    head(j):   branch column_is_inside, body, latch
//! ```
//!
//! Filters of images test for each of a pixel's neighbours whether it lies inside the image; the half of the test that concerns
//! the row is the same for a whole row of neighbours. The condition may be a conjunction of which some terms are invariant, or
//! a disjunction under which the loop does nothing, or what packs make of these: whether it holds in any lane. What it means
//! that a loop does nothing is said in [`super::idle`].

use clift_kir::analysis::{Cfg, LoopForest, LoopId};
use clift_kir::clone::Cloner;
use clift_kir::{Block, BlockCall, Builder, Function, Opcode, Type, Value};

use super::Changed;
use super::idle::{LoopView, Truths};
use super::loop_form::{self, Analyses};
use super::util::set_jump;

/// How often it is repeated: a condition may consist of several branches.
const ROUNDS: usize = 3;

/// Unswitches all loops.
pub(super) fn run(func: &mut Function) -> Changed {
    run_on(func, None)
}

/// As [`run`]; the function may be in the form of [`loop_form`] already.
pub(super) fn run_on(func: &mut Function, mut analyses: Option<Analyses>) -> Changed {
    let mut changed = false;
    for _ in 0..ROUNDS {
        let Some((cfg, _, loops)) = analyses.take().or_else(|| loop_form::run(func)) else { break };
        let plans: Vec<Plan> = loops.iter().filter_map(|(id, _)| Plan::new(func, &cfg, &loops, id)).collect();
        if plans.is_empty() {
            break;
        }
        changed = true;
        for plan in plans {
            plan.apply(func, &loops);
        }
    }
    Changed(changed)
}

/// What is done to a loop.
struct Plan {
    id: LoopId,
    preheader: Block,
    /// Where control goes instead of into the loop.
    exit: BlockCall,
    /// When: if any of these has its value; always if there are none.
    idle: Vec<(Value, bool)>,
}

impl Plan {
    fn new(func: &Function, cfg: &Cfg, loops: &LoopForest, id: LoopId) -> Option<Plan> {
        let view = LoopView::new(func, cfg, loops, id)?;
        let preheader = view.preheader;
        if !view.may_be_idle() {
            return None;
        }
        if let Some(exit) = view.exit_if_idle(&mut Truths::new(func, &|_| None)) {
            return Some(Plan { id, preheader, exit, idle: Vec::new() });
        }
        let mut found: Option<(BlockCall, Vec<(Value, bool)>)> = None;
        for term in view.terms_of_branches().invariant {
            for truth in [false, true] {
                let Some(exit) = view.exit_if_idle(&mut Truths::of_one(func, term, truth)) else { continue };
                match &mut found {
                    None => found = Some((exit, vec![(term, truth)])),
                    Some((other, idle)) if *other == exit => idle.push((term, truth)),
                    Some(_) => {}
                }
            }
        }
        found.map(|(exit, idle)| Plan { id, preheader, exit, idle })
    }

    fn apply(self, func: &mut Function, loops: &LoopForest) {
        let Some(jump) = func.layout.terminator(self.preheader) else { return };
        if self.idle.is_empty() {
            return set_jump(func, jump, self.exit);
        }
        let loc = func.locs[jump];
        func.layout.remove_inst(jump);
        let inside = |func: &Function, inst| func.layout.block_of(inst).is_some_and(|at| loops.contains(self.id, at));
        let mut place = |func: &mut Function, copy| func.layout.append_inst(self.preheader, copy);
        let mut cloner = Cloner::within();
        let idle = self.idle;
        let computed: Vec<Value> =
            idle.iter().map(|&(term, _)| cloner.computed(func, term, &inside, &mut place)).collect();
        let enter = func.dfg.make_block();
        func.layout.insert_block_after(enter, self.preheader);
        if func.layout.is_cold(self.preheader) {
            func.layout.set_cold(enter);
        }
        let mut b = Builder::at_end(func, self.preheader);
        b.set_loc(loc);
        let wanted: Vec<Value> = computed
            .into_iter()
            .zip(&idle)
            .map(|(term, &(_, idle))| if idle { b.int1(Opcode::Not, term) } else { term })
            .collect();
        let Some(cond) = wanted.into_iter().reduce(|all, term| b.int2(Opcode::And, all, term)) else {
            unreachable!("broken invariant: a test without terms")
        };
        b.branch(cond, BlockCall::new(enter, &[]), self.exit);
        b.switch_to(enter);
        let known = [false, true].map(|truth| b.iconst(Type::B1, i64::from(truth)));
        func.layout.append_inst(enter, jump);
        let known_of =
            |value: Value| idle.iter().find(|&&(term, _)| term == value).map(|&(_, idle)| known[usize::from(!idle)]);
        for &block in &loops.get(self.id).blocks {
            for inst in func.layout.insts(block).to_vec() {
                func.dfg.map_uses(inst, |value| known_of(value).unwrap_or(value));
            }
        }
    }
}
