//! Widening: turns the code of one work-item into the code of a pack, which is W neighbouring work-items along x.
//!
//! The input is a kernel in [`crate::spmd::transform::normalize`]'s normal form and the shapes of its values. The output is a
//! *widened* function, in which a pack takes the place of a work-item: all later stages (regions, contexts, loops) treat it as
//! one. A value of the kernel becomes ([`WideForm`])
//!
//! - a scalar, if it is uniform (a uniform OpenCL vector stays a vector);
//! - the scalar of lane 0 and a stride, if it is affine;
//! - otherwise one vector of W lanes per component.
//!
//! Blocks are executed in the order of a [`LinearizationPlan`]. The function's blocks and branches are made first, from the plan
//! alone; then the blocks are filled in that order. Every block that needs a mask has one that collects the waiting lanes
//! ([`Masks`]). Block parameters are variables that each edge assigns under its mask. Variables, and values whose definition no
//! longer dominates a use, are resolved by SSA construction at the end.
//!
//! - `how.rs`: what happens to each op, by class;
//! - `control.rs`: blocks, edges, masks;
//! - `forms.rs`: values in their forms, and variables;
//! - `inst.rs`: instructions without effects; `memory.rs`: accesses; `rows.rs`: accesses to a vector for each lane;
//!   `collective.rs`: exchange between lanes; `perlane.rs`: instructions without a vector form.

mod collective;
mod control;
mod flat;
mod forms;
pub(crate) mod how;
mod inst;
mod memory;
mod perlane;
mod rows;

use clift_kir::analysis::{DomTree, UseCounts};
use clift_kir::inst::Imm;
use clift_kir::ssa::{SsaBuilder, Var};
use clift_kir::{Block, Builder, Function, Inst, IntCond, Loc, Opcode, Slot, Stage, Type, Value};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};

use super::linearize::{LinearizationPlan, Pending};
use super::masks::Masks;
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::report::VectorizationReport;
use crate::spmd::transform::normalize::NormalForm;
use crate::spmd::transform::private_arrays::Interleaved;
use crate::target::machine::Machine;
pub(crate) use flat::lanewise_throughout;
use forms::{Packs, WideForm};
pub(crate) use memory::{overlapping_pieces, record_step, record_step_at_once};
pub(crate) use rows::has_row_length;

/// Makes the code of a pack. With `tail`, lanes beyond the end of the work-group's row are inactive; otherwise all W lanes exist.
pub(crate) fn run(
    normal: &NormalForm,
    divergence: &Divergence,
    width: u32,
    tail: bool,
    machine: &Machine,
) -> (Function, VectorizationReport) {
    let plan = LinearizationPlan::new(normal, divergence);
    let masks = Masks::new(normal, divergence, &plan);
    let returns: Vec<Type> = normal.func.returns.iter().map(|ty| ty.with_lanes(width)).collect();
    let mut out = Function::new(normal.func.name.clone(), &returns);
    out.stage = Stage::Widened;
    out.slots = normal.func.slots.clone();
    for data in out.slots.values_mut() {
        data.size = data.size.next_multiple_of(u64::from(data.align.max(1))).saturating_mul(u64::from(width));
    }
    out.next_barrier = normal.func.next_barrier;
    let entry = out.append_block();
    let interleaved = Interleaved::new(&normal.func, &plan.order, divergence);
    let mut widener = Widener {
        machine,
        normal,
        func: &normal.func,
        divergence,
        uses: UseCounts::new(&normal.func),
        guarded: EntitySet::new(),
        lanewise_throughout: lanewise_throughout(&normal.func, &plan.order, divergence),
        plan,
        masks,
        interleaved,
        width,
        out,
        entry,
        heads: SecondaryMap::new(),
        skeleton: None,
        block: entry,
        here: entry,
        loc: Loc::default(),
        forms: SecondaryMap::new(),
        made_in: SecondaryMap::new(),
        ssa: SsaBuilder::new(),
        placeholders: FxHashMap::default(),
        current: FxHashMap::default(),
        repaired: FxHashMap::default(),
        params: FxHashMap::default(),
        waiting: SecondaryMap::new(),
        mask_values: SecondaryMap::new(),
        mask_vars: FxHashMap::default(),
        dispatch: FxHashMap::default(),
        edges: SecondaryMap::new(),
        tests: Vec::new(),
        recomputed: FxHashMap::default(),
        splats: FxHashMap::default(),
        tail_mask: None,
        mask_constants: [None.into(); 2],
        whole_slots: FxHashSet::default(),
        lanes_in_loops: false,
        report: VectorizationReport::default(),
    };
    widener.report.width = width;
    widener.report.versions = normal.pieces;
    widener.run(tail);
    (widener.out, widener.report)
}

/// The lanes that execute a block; `None` for all lanes of the pack.
type Mask = Option<Value>;

struct Widener<'a> {
    machine: &'a Machine,
    normal: &'a NormalForm,
    func: &'a Function,
    divergence: &'a Divergence,
    uses: UseCounts,
    /// The OpenCL vectors that stay in memory order even if they are long.
    lanewise_throughout: EntitySet<Value>,
    plan: LinearizationPlan,
    masks: Masks,
    interleaved: Interleaved,
    /// Roots that are skipped if no lane waits for them.
    guarded: EntitySet<Block>,
    width: u32,
    out: Function,
    entry: Block,
    /// The first block made for each block of the kernel.
    heads: SecondaryMap<Block, PackedOption<Block>>,
    /// The dominator tree of the blocks made from the plan.
    skeleton: Option<DomTree>,
    /// The block of the kernel that is being filled.
    block: Block,
    /// The current block of the output. Instructions are inserted before its terminator.
    here: Block,
    loc: Loc,
    forms: SecondaryMap<Value, Option<WideForm>>,
    /// The block in which a value of the kernel was made.
    made_in: SecondaryMap<Value, PackedOption<Block>>,
    ssa: SsaBuilder,
    /// Values that stand for a variable's value at the start of a block.
    placeholders: FxHashMap<(Var, Block), Value>,
    /// The last definition of each variable in a block.
    current: FxHashMap<(Var, Block), Value>,
    /// Variables for values with a use that their definition does not dominate.
    repaired: FxHashMap<Value, Vec<Var>>,
    /// Variables of block parameters.
    params: FxHashMap<Value, Vec<Var>>,
    /// For each root, the mask of the lanes that wait for it.
    waiting: SecondaryMap<Block, Option<Var>>,
    /// For each root, the mask at the start of its block.
    mask_values: SecondaryMap<Block, PackedOption<Value>>,
    mask_vars: FxHashMap<Block, Var>,
    /// Blocks that continue with the first of several pending blocks.
    dispatch: FxHashMap<Pending, Block>,
    /// For each block, the targets and the blocks that hold the assignments of their edges; empty if these are at the end of the
    /// block itself.
    edges: SecondaryMap<Block, Vec<(Block, Block)>>,
    /// Branches that test whether a lane waits for a root.
    tests: Vec<(Inst, Block)>,
    /// Packs recomputed where they are needed, by value and block.
    recomputed: FxHashMap<(Value, Block), Packs>,
    /// Packs made from scalars, by scalar, stride and block.
    splats: FxHashMap<(Value, i64, Block), Value>,
    tail_mask: Mask,
    /// The masks with no lanes and with all lanes, made in the entry.
    mask_constants: [PackedOption<Value>; 2],
    /// Variables that are read and written as a whole even if some lanes are inactive.
    whole_slots: FxHashSet<Slot>,
    /// Whether instructions without a vector form are executed in loops over the lanes.
    lanes_in_loops: bool,
    report: VectorizationReport,
}

impl Widener<'_> {
    fn run(&mut self, tail: bool) {
        self.find_guards();
        self.choose_lane_loops();
        self.find_whole_slots();
        self.make_skeleton();
        if tail {
            self.here = self.entry;
            let mask = self.existing_lanes();
            self.tail_mask = Some(mask);
        }
        for i in 0..self.plan.order.len() {
            self.fill(self.plan.order[i]);
        }
        self.fill_tests();
        self.finish();
    }

    /// The lanes within the work-group's row.
    fn existing_lanes(&mut self) -> Value {
        let iota = self.iota(Type::I32, 1);
        let width = self.width;
        let mut b = self.at();
        let size = b.query_linear(Opcode::SubGroupSize);
        let size = b.splat(size, width);
        b.icmp(IntCond::Ult, iota, size)
    }

    /// A cursor before the terminator of the current block.
    fn at(&mut self) -> Builder<'_> {
        let insts = self.out.layout.insts(self.here);
        let ended = insts.last().is_some_and(|&last| self.out.dfg.inst(last).op.is_terminator());
        let index = insts.len() - usize::from(ended);
        let mut builder = Builder::before(&mut self.out, self.here, index);
        builder.set_loc(self.loc);
        builder
    }

    /// Emits an instruction with one result.
    fn emit(&mut self, op: Opcode, args: &[Value], imm: Imm, ty: Type) -> Value {
        self.at().value(op, args, imm, ty)
    }

    /// Converts an immediate for the output; constants are copied to its pool.
    fn imm(&mut self, imm: &Imm) -> Imm {
        let mut imm = imm.clone();
        imm.copy_constant(&self.func.dfg, &mut self.out.dfg);
        imm
    }

    fn name(&mut self, from: Value, to: Value) {
        if let Some(name) = self.func.names.get(&from) {
            self.out.names.insert(to, name.clone());
        }
    }
}
