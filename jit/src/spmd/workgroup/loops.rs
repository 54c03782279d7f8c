//! Work-group loops: puts loops over work-items around the regions of a kernel, and connects the regions.
//!
//! ```text
//! entry -> group(g) -> region 0 -> ... -> region k -> next group -> done
//!
//! region:  enter(carried...) -> z -> y -> x -> [waiting here?] -> context loads -> copy of the region's blocks
//!            each way out: context stores -> latch(next, carried...) -> x' -> y' -> z' -> leave: go to the next region
//! ```
//!
//! If work-items go from region to region together, the next region is the same for all of them, and `leave` jumps there.
//! Otherwise each work-item stores the number of the region that it waits for in its record. `leave` then goes to a driver that
//! runs the lowest-numbered region for which a work-item waits, for exactly those that wait for it, until all have ended. A
//! region's number is its position in the function, so work-items ahead wait for those behind. Kernels with named barriers are
//! different: their regions are scheduled round-robin (`loops/round_robin.rs`).
//!
//! A region that ends in a collective operation of the group (`collectives.rs`) combines the operands of its work-items on the
//! way: the combination so far is a parameter of the loops, and the result is its value after the last work-item.
//!
//! Regions are copied block by block. An operand with several definitions inside one region (the value that came in, and one
//! computed when control comes around a loop) is a placeholder first, which SSA construction resolves at the end.

mod round_robin;
mod values;

use clift_kir::analysis::{Cfg, Frontiers};
use clift_kir::clone::Cloner;
use clift_kir::inst::{BlockCall, Imm};
use clift_kir::ops::Opcode;
use clift_kir::ssa::{SsaBuilder, Var, remove_trivial_params};
use clift_kir::{Block, Builder, Function, Inst, IntCond, KernelData, MemInfo, Module, Stage, Type, Value};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

use super::Packing;
use super::collectives::{Collective, CollectiveKind};
use super::context::{ContextLayout, Kept, memory_type, slot_align};
use super::env::{GroupEnv, Levels, LocalLayout};
use super::regions::{Region, RegionId, Regions};
use crate::Options;
use crate::spmd::class::{Class, class};
use crate::spmd::transform::unroll_and_jam;

/// Makes the group function of a kernel that has been cut into regions and whose scratch arena has been laid out. `row_by_row`
/// is the one for groups whose rows are not a multiple of those that are executed together.
pub(crate) fn build<'a>(
    module: &'a Module,
    kernel: &KernelData,
    options: &Options,
    packing: Packing,
    regions: &'a Regions,
    (context, locals): (&'a ContextLayout, &'a LocalLayout),
    row_by_row: Option<&'a Function>,
) -> Function {
    let mut env = GroupEnv::new(module, kernel, options, packing, context, locals);
    let next_group = env.out.dfg.make_block();
    let done = env.out.dfg.make_block();
    let deadlock = env.out.dfg.make_block();
    let enter = regions
        .list
        .iter()
        .enumerate()
        .map(|(id, _)| {
            let block = env.out.dfg.make_block();
            for value in context.carried_into(id) {
                let param = env.out.dfg.append_param(block, regions.func.dfg.ty(value));
                copy_name(regions, &mut env.out, value, param);
            }
            block
        })
        .collect();
    let driver = (!regions.lockstep).then(|| {
        let block = env.out.dfg.make_block();
        env.out.dfg.append_param(block, Type::I32);
        block
    });
    let mut loops = Loops {
        env,
        packing,
        regions,
        context,
        enter,
        driver,
        next_group,
        done,
        deadlock,
        ssa: SsaBuilder::new(),
        placeholders: FxHashMap::default(),
        stores: Vec::new(),
        loaded: FxHashMap::default(),
        row_by_row,
    };
    loops.groups();
    for id in 0..regions.list.len() {
        loops.region(id);
    }
    loops.driver();
    loops.finish()
}

fn copy_name(regions: &Regions, out: &mut Function, from: Value, to: Value) {
    if let Some(name) = regions.func.names.get(&from) {
        out.names.insert(to, name.clone());
    }
}

/// Converts a value to its type in memory.
fn to_memory(b: &mut Builder<'_>, value: Value) -> Value {
    let ty = b.ty(value);
    if ty.is_bool() { b.cast(Opcode::Zext, value, memory_type(ty)) } else { value }
}

/// Converts a value from its type in memory.
fn from_memory(b: &mut Builder<'_>, loaded: Value, ty: Type) -> Value {
    if !ty.is_bool() {
        return loaded;
    }
    let zero = b.iconst(memory_type(ty), 0);
    b.icmp(IntCond::Ne, loaded, zero)
}

struct Loops<'a> {
    env: GroupEnv<'a>,
    packing: Packing,
    regions: &'a Regions,
    context: &'a ContextLayout,
    /// The block where each region is entered; its parameters are the carried values.
    enter: Vec<Block>,
    driver: Option<Block>,
    next_group: Block,
    done: Block,
    /// The block where a group ends whose packs are deadlocked.
    deadlock: Block,
    ssa: SsaBuilder,
    /// Values that stand for a variable's value at the start of a block until all control flow exists.
    placeholders: FxHashMap<(Var, Block), Value>,
    /// Context stores, with their regions and offsets.
    stores: Vec<(Inst, RegionId, u64)>,
    /// Values that regions have loaded from context slots.
    loaded: FxHashMap<(RegionId, u64), Value>,
    /// The group function for groups whose rows are not a multiple of those that are executed together.
    row_by_row: Option<&'a Function>,
}

/// A region that is being copied.
struct RegionBody<'a> {
    id: RegionId,
    region: &'a Region,
    levels: Levels,
    /// Takes the number of the next region (unless there is only one) and the changed carried values.
    latch: Block,
    /// Carried values that may leave this region with a value different from their value at its entry, in the order of the
    /// latch's parameters.
    changed: Vec<Value>,
    /// The lowest region so far that a work-item waits for.
    lowest: Option<Value>,
    /// Collective operations of the group in which the region may end.
    collectives: Vec<PendingCollective>,
    blocks: FxHashMap<Block, Block>,
    /// Copies of values defined in the region.
    defined: FxHashMap<Value, Value>,
    /// Values at the region's entry that have been used so far.
    entering: FxHashMap<Value, Value>,
    /// Variables for values that are live into the region and defined in it as well.
    vars: FxHashMap<Value, Var>,
}

/// A collective operation of the group in which a region may end.
struct PendingCollective {
    operation: Collective,
    /// The block that ends in the operation.
    block: Block,
    result: Value,
    /// The combination of the operands before the work-item's own.
    before: Value,
    /// That, combined with the work-item's own operand.
    after: Option<Value>,
    /// A parameter of the latch: the combination up to the work-item. If the region is left by another path, the value of the
    /// result there.
    last: Value,
}

impl<'a> Loops<'a> {
    /// Makes the loop over the groups of the run.
    fn groups(&mut self) {
        let (entry, group, next_group, done) = (self.env.entry, self.env.group, self.next_group, self.done);
        let (first, count) = (self.env.first, self.env.count);
        let zero = self.env.int(0);
        let one = self.env.int(1);
        let mut b = self.env.at(entry);
        let end = b.int2(Opcode::Iadd, first, count);
        let some = b.icmp(IntCond::Ne, count, zero);
        match self.row_by_row {
            None => drop(b.branch(some, BlockCall::new(group, &[first]), BlockCall::new(done, &[]))),
            Some(func) => {
                let by_row_only = self.takes_rows_only();
                let together = self.env.out.append_block();
                let by_row = self.copy_function(func);
                let mut b = self.env.at(entry);
                b.branch(by_row_only, BlockCall::new(by_row, &[]), BlockCall::new(together, &[]));
                b.switch_to(together);
                b.branch(some, BlockCall::new(group, &[first]), BlockCall::new(done, &[]));
            }
        }
        self.reset_round_robin(group);
        self.env.at(group).jump(self.enter[0], &[]);
        let id = self.env.out.dfg.params(group)[0];
        let mut b = self.env.at(next_group);
        if self.packing.groups {
            // All groups of the run have been one.
            b.jump(done, &[]);
            b.switch_to(done);
            b.ret(&[]);
            return;
        }
        let next = b.int2(Opcode::Iadd, id, one);
        let more = b.icmp(IntCond::Ne, next, end);
        b.branch(more, BlockCall::new(group, &[next]), BlockCall::new(done, &[]));
        b.switch_to(done);
        b.ret(&[]);
        // `finish` appends `next_group` and `done` at the end.
    }

    /// Whether the groups are executed row by row: their rows are not a multiple of those that are executed together, or have
    /// numbers of too many bits.
    fn takes_rows_only(&mut self) -> Value {
        let size = self.env.group_size(unroll_and_jam::DIMENSION);
        let first = self.env.origin(unroll_and_jam::DIMENSION);
        let mask = self.env.int(i64::from(self.packing.rows) - 1);
        let (zero, most) = (self.env.int(0), self.env.int(1 << unroll_and_jam::NUMBER_BITS));
        let entry = self.env.entry;
        let mut b = self.env.at(entry);
        let beyond = b.int2(Opcode::And, size, mask);
        let not_multiple = b.icmp(IntCond::Ne, beyond, zero);
        let end = b.int2(Opcode::Iadd, first, size);
        let too_large = b.icmp(IntCond::Ugt, end, most);
        b.int2(Opcode::Or, not_multiple, too_large)
    }

    /// Copies another group function of the kernel, and returns where it begins.
    fn copy_function(&mut self, func: &Function) -> Block {
        let out = &mut self.env.out;
        let mut cloner = Cloner::of(func);
        let Some(first) = func.layout.entry() else { unreachable!("broken invariant: no blocks") };
        let params = out.dfg.params(self.env.entry).to_vec();
        for (&old, &new) in func.dfg.params(first).iter().zip(&params) {
            cloner.set_value(old, new);
        }
        let begin = out.dfg.make_block();
        cloner.set_block(first, begin);
        let blocks: Vec<(Block, Block)> = func
            .layout
            .blocks()
            .iter()
            .map(|&block| (block, if block == first { begin } else { cloner.copy_block(out, block) }))
            .collect();
        for (block, copy) in blocks {
            out.layout.append_block(copy);
            for &inst in func.layout.insts(block) {
                cloner.append(out, copy, inst);
            }
        }
        cloner.finish(out);
        begin
    }

    /// Makes the block that continues with the lowest region that a work-item waits for.
    fn driver(&mut self) {
        let Some(driver) = self.driver else { return };
        self.env.out.layout.append_block(driver);
        let lowest = self.env.out.dfg.params(driver)[0];
        let cases = (1..self.regions.list.len()).map(|id| (id as u64, BlockCall::new(self.enter[id], &[]))).collect();
        let end = BlockCall::new(self.next_group, &[]);
        self.env.at(driver).switch(lowest, cases, end);
    }

    /// Makes one region: its loops, its copy, and its exits.
    fn region(&mut self, id: RegionId) {
        let mut body = self.open(id);
        let region = body.region;
        for &block in &region.blocks {
            let copy = self.env.out.append_block();
            body.blocks.insert(block, copy);
            if self.regions.func.layout.is_cold(block) {
                self.env.out.layout.set_cold(copy);
            }
            if block == region.start {
                continue;
            }
            for &param in self.regions.func.dfg.params(block) {
                let ty = self.regions.func.dfg.ty(param);
                let new = self.env.out.dfg.append_param(copy, ty);
                self.define(&mut body, block, param, new);
            }
        }
        let start = body.blocks[&region.start];
        self.env.at(body.levels.item).jump(start, &[]);
        for &block in &region.blocks {
            self.copy_block(&mut body, block);
        }
        self.close(&body);
    }

    /// Makes the headers of the loops, and the test whether a work-item waits here.
    fn open(&mut self, id: RegionId) -> RegionBody<'a> {
        let region = &self.regions.list[id];
        let enter = self.enter[id];
        self.env.out.layout.append_block(enter);
        if let Some(scope) = region.fence {
            self.env.at(enter).fence(super::fence(scope));
        }
        let regions = self.regions;
        let dfg = &regions.func.dfg;
        let operations: Vec<(Block, Collective)> =
            region.blocks.iter().filter_map(|&block| Some((block, regions.collective(block)?))).collect();
        let mut before: Vec<Value> = Vec::new();
        for (_, operation) in &operations {
            let start = operation.start(dfg.ty(dfg.result(operation.inst)));
            before.push(self.env.at(enter).constant(start));
        }
        let ended = self.regions.list.len() as i64;
        let mut lowest = self.driver.map(|_| self.env.at(enter).iconst(Type::I32, ended));
        let mut ids = [None; 3];
        let mut blocks = [enter; 3];
        let mut at = enter;
        for dim in (0..3u8).rev() {
            if !self.env.is_flat(dim) {
                let header = self.env.out.append_block();
                let zero = self.env.int(0);
                let start: Vec<Value> = std::iter::once(zero).chain(lowest).chain(before.iter().copied()).collect();
                self.env.at(at).jump(header, &start);
                let local_id = self.env.out.dfg.append_param(header, Type::I64);
                self.env.out.names.insert(local_id, ["x", "y", "z"][usize::from(dim)].to_owned());
                ids[usize::from(dim)] = Some(local_id);
                lowest = lowest.map(|_| self.env.out.dfg.append_param(header, Type::I32));
                for collective in &mut before {
                    let ty = self.env.out.dfg.ty(*collective);
                    *collective = self.env.out.dfg.append_param(header, ty);
                }
                at = header;
            }
            blocks[usize::from(dim)] = at;
        }
        let mut levels = Levels::new(ids, blocks);
        let latch = self.env.out.dfg.make_block();
        if self.driver.is_some() || region.next.len() > 1 {
            self.env.out.dfg.append_param(latch, Type::I32);
        }
        let inside = self.regions.defined_in(region);
        let changed = self.changed(region, &inside);
        for &value in &changed {
            let ty = self.regions.func.dfg.ty(value);
            let param = self.env.out.dfg.append_param(latch, ty);
            copy_name(self.regions, &mut self.env.out, value, param);
        }
        let collectives: Vec<PendingCollective> = operations
            .iter()
            .zip(&before)
            .map(|(&(block, operation), &before)| {
                let result = dfg.result(operation.inst);
                let last = self.env.out.dfg.append_param(latch, dfg.ty(result));
                PendingCollective { operation, block, result, before, after: None, last }
            })
            .collect();
        let all_arrived = self.all_arrived(id, &mut levels);
        // All work-items begin in region 0, and none returns to it.
        if self.driver.is_some() && id != 0 {
            let record = self.env.record(&mut levels);
            let run = self.env.out.append_block();
            let mut b = self.env.at(levels.item);
            let address = b.addr(record, None, 1, self.context.state as i64);
            let waits_for = b.load(Type::I32, address, MemInfo::aligned(4));
            let this = b.iconst(Type::I32, id as i64);
            let here = b.icmp(IntCond::Eq, waits_for, this);
            let here = match all_arrived {
                Some(all_arrived) => b.int2(Opcode::And, here, all_arrived),
                None => here,
            };
            let passed: Vec<Value> = std::iter::once(waits_for).chain(before).collect();
            b.branch(here, BlockCall::new(run, &[]), BlockCall::new(latch, &passed));
            levels.item = run;
        }
        let mut body = RegionBody {
            id,
            region,
            levels,
            latch,
            changed,
            lowest,
            collectives,
            blocks: FxHashMap::default(),
            defined: FxHashMap::default(),
            entering: FxHashMap::default(),
            vars: FxHashMap::default(),
        };
        // A value that is live into the region and computed inside again is a variable.
        for &value in &self.context.live[id] {
            if inside.contains(value) && self.context.kept[value] != Some(Kept::Recomputed) {
                let var = self.ssa.declare(self.regions.func.dfg.ty(value));
                let entering = self.entering(&mut body, value);
                self.ssa.define(var, body.levels.item, entering);
                body.vars.insert(value, var);
            }
        }
        body
    }

    /// The carried values that the next regions get from this region instead of its entry, except results of reductions.
    fn changed(&self, region: &Region, inside: &EntitySet<Value>) -> Vec<Value> {
        let mut changed = Vec::new();
        for &next in region.next.iter().flatten() {
            let params = self.regions.func.dfg.params(self.regions.list[next].start);
            for value in self.context.carried_into(next) {
                let given = inside.contains(value) && self.regions.is_reduction_result(value);
                if (params.contains(&value) || inside.contains(value)) && !given && !changed.contains(&value) {
                    changed.push(value);
                }
            }
        }
        changed
    }

    fn copy_block(&mut self, body: &mut RegionBody<'_>, block: Block) {
        let func = &self.regions.func;
        let copy = body.blocks[&block];
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            match class(data.op) {
                Class::Arg | Class::ArgAddr | Class::SlotAddr | Class::GlobalAddr | Class::Query(_) => {
                    let value = func.dfg.result(inst);
                    match self.env.known(&mut body.levels, data.op, &data.imm, func.dfg.ty(value)) {
                        Some(known) => {
                            body.defined.insert(value, known);
                        }
                        None => unreachable!("broken invariant: {:?} has no value in a group", data.op),
                    }
                }
                Class::InSpace => {
                    let pointer = self.operand(body, block, data.args[0]);
                    let Imm::Space(space) = data.imm else { unreachable!("broken invariant: in_space without space") };
                    let value = self.env.in_space(copy, pointer, space);
                    self.define(body, block, func.dfg.result(inst), value);
                }
                Class::Barrier => {
                    // Only barriers of sub-groups are left, which consist of one pack.
                    if let Imm::Barrier(info) = &data.imm
                        && let Some(scope) = super::regions::beyond_item(info.memory)
                    {
                        self.env.at(copy).fence(super::fence(scope));
                    }
                }
                Class::Constant | Class::Cheap | Class::Load | Class::Plain => {
                    self.copy_inst(body, block, inst);
                }
                Class::Branch => self.copy_branch(body, block, inst),
                Class::End => self.leave(body, block, copy, None, &[]),
                Class::Collective => self.combine_own(body, block, inst),
                Class::NamedBarrier => unreachable!("broken invariant: a named barrier in one piece"),
                Class::Yield => unreachable!("broken invariant: a yield inside a region"),
                Class::Image => unreachable!("broken invariant: an image access after its expansion"),
            }
        }
    }

    /// A collective operation of the group: combines the work-item's own operand with those before it.
    fn combine_own(&mut self, body: &mut RegionBody<'_>, block: Block, inst: Inst) {
        let own = self.operand(body, block, self.regions.func.dfg.inst(inst).args[0]);
        let at = body.blocks[&block];
        let Some(collective) = body.collectives.iter_mut().find(|collective| collective.operation.inst == inst) else {
            unreachable!("broken invariant: an operation of the group within a region")
        };
        let mut b = self.env.at(at);
        b.set_loc(self.regions.func.locs[inst]);
        let after = b.combine(collective.operation.op, collective.before, own);
        collective.after = Some(after);
        let (result, value) = match collective.operation.kind {
            CollectiveKind::Reduction | CollectiveKind::InclusiveScan => (collective.result, after),
            CollectiveKind::ExclusiveScan => (collective.result, collective.before),
        };
        self.define(body, block, result, value);
    }

    fn copy_inst(&mut self, body: &mut RegionBody<'_>, block: Block, inst: Inst) {
        let func = &self.regions.func;
        let data = func.dfg.inst(inst);
        // The region has computed this value at its entry already.
        if let Some(value) = func.dfg.single_result(inst)
            && self.context.kept[value] == Some(Kept::Recomputed)
            && self.is_live_in(body, value)
        {
            return;
        }
        let args: Vec<Value> = data.args.iter().map(|&arg| self.operand(body, block, arg)).collect();
        let imm = self.imm(&data.imm);
        let types: Vec<Type> = func.dfg.results(inst).iter().map(|&v| func.dfg.ty(v)).collect();
        let mut b = self.env.at(body.blocks[&block]);
        b.set_loc(func.locs[inst]);
        let new = b.inst(data.op, &args, imm, &types);
        for (i, &result) in func.dfg.results(inst).iter().enumerate() {
            let copy = self.env.out.dfg.results(new)[i];
            self.define(body, block, result, copy);
        }
    }

    fn copy_branch(&mut self, body: &mut RegionBody<'_>, block: Block, inst: Inst) {
        let func = &self.regions.func;
        let data = func.dfg.inst(inst);
        let copy = body.blocks[&block];
        let mut imm = data.imm.clone();
        if let Imm::Jump(call) = &imm
            && let Some(next) = self.regions.at[call.block]
        {
            self.leave(body, block, copy, Some(next), &call.args);
            return;
        }
        let mut target = |call: &mut BlockCall| match self.regions.at[call.block] {
            Some(next) => {
                let exit = self.env.out.append_block();
                self.leave(body, block, exit, Some(next), &call.args);
                *call = BlockCall::new(exit, &[]);
            }
            None => {
                for arg in &mut call.args {
                    *arg = self.operand(body, block, *arg);
                }
                call.block = body.blocks[&call.block];
            }
        };
        imm.targets_mut().into_iter().for_each(&mut target);
        let args: Vec<Value> = data.args.iter().map(|&arg| self.operand(body, block, arg)).collect();
        let mut b = self.env.at(copy);
        b.set_loc(func.locs[inst]);
        b.inst(data.op, &args, imm, &[]);
    }

    /// Makes an exit of the region at the end of `block`: stores in `at` what the next region needs.
    fn leave(&mut self, body: &mut RegionBody<'_>, block: Block, at: Block, next: Option<RegionId>, args: &[Value]) {
        let regions = self.regions;
        let mut passed: FxHashMap<Value, Value> = FxHashMap::default();
        if let Some(next) = next {
            for (&param, &arg) in regions.func.dfg.params(regions.list[next].start).iter().zip(args) {
                let arg = self.operand(body, block, arg);
                passed.insert(param, arg);
            }
            for &value in &self.context.live[next] {
                if let Some(Kept::Slot(offset)) = self.context.kept[value] {
                    let own = body.vars.contains_key(&value) || body.defined.contains_key(&value);
                    let new = match passed.get(&value) {
                        Some(&arg) => arg,
                        None if own => self.operand(body, block, value),
                        None => continue,
                    };
                    self.store(body, at, offset, new);
                }
            }
        }
        self.count_transition(body.id, block, at, next);
        let mut latch_args = Vec::new();
        let number = next.unwrap_or(regions.list.len()) as i64;
        if self.driver.is_some() {
            let record = self.env.record(&mut body.levels);
            let mut b = self.env.at(at);
            let number = b.iconst(Type::I32, number);
            let address = b.addr(record, None, 1, self.context.state as i64);
            b.store(address, number, MemInfo::aligned(4));
            latch_args.push(number);
        } else if body.region.next.len() > 1 {
            latch_args.push(self.env.at(at).iconst(Type::I32, number));
        }
        for value in body.changed.clone() {
            let wanted = next.is_some_and(|next| self.context.live_into(next, value));
            latch_args.push(match passed.get(&value) {
                Some(&arg) => arg,
                None if wanted => self.operand(body, block, value),
                None => self.env.undef(regions.func.dfg.ty(value)),
            });
        }
        for i in 0..body.collectives.len() {
            let PendingCollective { operation, result, before, after, .. } = body.collectives[i];
            let ends_here = body.collectives[i].block == block;
            let wanted = operation.kind == CollectiveKind::Reduction
                && next.is_some_and(|next| self.context.live_into(next, result));
            latch_args.push(match after {
                Some(after) if ends_here => after,
                _ if wanted => self.operand(body, block, result),
                _ => before,
            });
        }
        let latch = body.latch;
        self.env.at(at).jump(latch, &latch_args);
    }

    /// Stores a value to the work-item's context.
    fn store(&mut self, body: &mut RegionBody<'_>, at: Block, offset: u64, value: Value) {
        let record = self.env.record(&mut body.levels);
        let mut b = self.env.at(at);
        let address = b.addr(record, None, 1, offset as i64);
        let ty = b.ty(value);
        let bytes = to_memory(&mut b, value);
        let store = b.store(address, bytes, MemInfo::aligned(slot_align(ty)));
        self.stores.push((store, body.id, offset));
    }

    /// Makes the latches of the loops, and the jump to the next region.
    fn close(&mut self, body: &RegionBody<'_>) {
        let mut at = body.latch;
        self.env.out.layout.append_block(at);
        let params = self.env.out.dfg.params(at).to_vec();
        let lowest = body.lowest.map(|lowest| {
            let position = self.round_position(at, body.id, params[0]);
            self.env.at(at).int2(Opcode::Umin, lowest, position)
        });
        for dim in 0..3u8 {
            let Some(id) = body.levels.ids[usize::from(dim)] else { continue };
            let after = self.env.out.append_block();
            let header = body.levels.blocks[usize::from(dim)];
            let step = match dim {
                0 => self.packing.lanes,
                unroll_and_jam::DIMENSION => self.packing.rows,
                _ => 1,
            };
            let (step, size) = (self.env.int(step.into()), self.env.loop_size(dim));
            let mut b = self.env.at(at);
            let next = b.int2(Opcode::Iadd, id, step);
            let more = b.icmp(IntCond::Ult, next, size);
            let collectives = body.collectives.iter().map(|collective| collective.last);
            let again: Vec<Value> = std::iter::once(next).chain(lowest).chain(collectives).collect();
            b.branch(more, BlockCall::new(header, &again), BlockCall::new(after, &[]));
            at = after;
        }
        if let (Some(driver), Some(lowest)) = (self.driver, lowest) {
            for collective in &body.collectives {
                if let Some(Kept::Shared(offset)) = self.context.kept[collective.result] {
                    let address = self.env.shared_addr(offset);
                    let mut b = self.env.at(at);
                    let ty = b.ty(collective.last);
                    let bytes = to_memory(&mut b, collective.last);
                    b.store(address, bytes, MemInfo::aligned(slot_align(ty)));
                }
            }
            let lowest = self.region_at_position(at, body.id, lowest);
            let at = self.check_progress(at);
            self.env.at(at).jump(driver, &[lowest]);
            return;
        }
        let changed = &params[params.len() - body.collectives.len() - body.changed.len()..];
        let call = |loops: &Self, next: Option<RegionId>| match next {
            None => BlockCall::new(loops.next_group, &[]),
            Some(next) => {
                let args: Vec<Value> = loops
                    .context
                    .carried_into(next)
                    .map(|value| match body.changed.iter().position(|&v| v == value) {
                        Some(index) => changed[index],
                        None if let Some(collective) =
                            body.collectives.iter().find(|collective| collective.result == value) =>
                        {
                            collective.last
                        }
                        None => match loops.context.carried_into(body.id).position(|v| v == value) {
                            Some(index) => loops.env.out.dfg.params(loops.enter[body.id])[index],
                            None => unreachable!("broken invariant: {value} comes from nowhere"),
                        },
                    })
                    .collect();
                BlockCall::new(loops.enter[next], &args)
            }
        };
        let mut paths: Vec<(Option<RegionId>, BlockCall)> =
            body.region.next.iter().map(|&next| (next, call(self, next))).collect();
        let Some((_, last)) = paths.pop() else {
            // An endless loop without exit.
            self.env.at(at).jump(self.next_group, &[]);
            return;
        };
        let ended = self.regions.list.len();
        let mut b = self.env.at(at);
        match paths.as_slice() {
            [] => drop(b.inst(Opcode::Jump, &[], Imm::Jump(last), &[])),
            [(next, first)] => {
                let number = b.iconst(Type::I32, next.unwrap_or(ended) as i64);
                let is_first = b.icmp(IntCond::Eq, params[0], number);
                b.branch(is_first, first.clone(), last);
            }
            _ => {
                let cases = paths.into_iter().map(|(next, call)| (next.unwrap_or(ended) as u64, call)).collect();
                b.switch(params[0], cases, last);
            }
        }
    }

    /// Resolves placeholders and places the last blocks.
    fn finish(mut self) -> Function {
        self.emit_deadlock();
        let out = &mut self.env.out;
        out.layout.append_block(self.next_group);
        out.layout.append_block(self.done);
        let cfg = Cfg::new(out);
        let graph = Frontiers::new(&cfg);
        let mut resolved: FxHashMap<Value, Value> = FxHashMap::default();
        let mut open: Vec<((Var, Block), Value)> = self.placeholders.drain().collect();
        open.sort_by_key(|&(key, _)| key);
        for ((var, block), placeholder) in open {
            let value = self.ssa.value_at_start(out, &graph, var, block);
            resolved.insert(placeholder, value);
        }
        for block in out.layout.blocks().to_vec() {
            for i in 0..out.layout.insts(block).len() {
                let inst = out.layout.insts(block)[i];
                out.dfg.map_uses(inst, |value| resolved.get(&value).copied().unwrap_or(value));
            }
        }
        remove_trivial_params(out);
        self.remove_redundant_stores();
        self.env.out.stage = Stage::Looped;
        self.env.out
    }

    /// Removes stores of values that were loaded from the same address.
    fn remove_redundant_stores(&mut self) {
        for &(store, region, offset) in &self.stores {
            let Some(&loaded) = self.loaded.get(&(region, offset)) else { continue };
            let dfg = &self.env.out.dfg;
            let stored = dfg.inst(store).args[1];
            let same = stored == loaded
                || dfg.def_inst(stored).is_some_and(|inst| {
                    let data = dfg.inst(inst);
                    data.op == Opcode::Zext && data.args[0] == loaded && dfg.ty(loaded).is_bool()
                });
            if same {
                self.env.out.layout.remove_inst(store);
            }
        }
    }
}
