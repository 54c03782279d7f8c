//! Work-groups of one work-item: rewrites a kernel so that it no longer depends on which work-items form a group. Then the
//! lanes of a pack may be the work-items of neighbouring groups.
//!
//! In such a launch local ids are 0, local sizes are 1, and a group's id follows from its work-item's. Barriers wait for no
//! other work-item, a collective operation combines one operand, and local memory belongs to one work-item: its variables
//! become private ones, which later passes promote, and atomics on them become plain accesses.
//!
//! A kernel that can observe sub-groups, that gets local memory by arguments, or that asks whether a pointer points to local
//! memory while it has some, is left alone.
//!
//! Deliberately not here: packs of such groups, which are ordinary ones; a run of groups takes the place of a group
//! ([`Packing::groups`](crate::spmd::workgroup::Packing::groups)).

use clift_kir::dfg::ConstData;
use clift_kir::eval::identity;
use clift_kir::ops::{MemoryOp, OpClass, QueryOp};
use clift_kir::{
    Block, Builder, Elem, Function, Global, Imm, Inst, InstData, IntCond, MemInfo, Module, Opcode, Slot, SlotData,
    Space, Type, Value,
};
use rustc_hash::FxHashMap;

use crate::passes::Replacements;
use crate::spmd::class::{Class, class};
use crate::spmd::workgroup::collectives::{Collective, CollectiveKind, observes_sub_groups};
use crate::spmd::workgroup::fence;
use crate::spmd::workgroup::regions::beyond_group;

/// The kernel for groups of one work-item, if it need not know where a group ends.
pub(crate) fn run(module: &Module, kernel: &Function) -> Option<Function> {
    if !is_possible(module, kernel) {
        return None;
    }
    let mut func = kernel.clone();
    let mut rewrite = Rewrite { module, slots: FxHashMap::default(), replacements: Replacements::default() };
    for block in func.layout.blocks().to_vec() {
        for inst in func.layout.insts(block).to_vec() {
            rewrite.inst(&mut func, block, inst);
        }
    }
    rewrite.replacements.apply(&mut func);
    local_pointers_are_private(&mut func);
    Some(func)
}

/// Whether a kernel need not know where a group of one work-item ends.
pub(crate) fn is_possible(module: &Module, kernel: &Function) -> bool {
    !observes_sub_groups(kernel) && keeps_local_memory_to_itself(module, kernel)
}

/// Whether all local memory consists of variables of the kernel, and nothing asks where a pointer points.
fn keeps_local_memory_to_itself(module: &Module, func: &Function) -> bool {
    let (mut variables, mut asked) = (false, false);
    for &inst in func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)) {
        let data = func.dfg.inst(inst);
        match (class(data.op), &data.imm) {
            (Class::Arg, _) if func.dfg.ty(func.dfg.result(inst)).elem.space() == Some(Space::Local) => return false,
            (Class::GlobalAddr, &Imm::Global(global)) => variables |= module.globals[global].space == Space::Local,
            (Class::InSpace, _) => asked = true,
            (_, _) => {}
        }
    }
    !(variables && asked)
}

struct Rewrite<'a> {
    module: &'a Module,
    /// The private variables that local ones have become.
    slots: FxHashMap<Global, Slot>,
    replacements: Replacements,
}

impl Rewrite<'_> {
    fn inst(&mut self, func: &mut Function, block: Block, inst: Inst) {
        let data = func.dfg.inst(inst).clone();
        match class(data.op) {
            Class::Query(query) => self.query(func, block, inst, query, &data.imm),
            Class::Barrier => {
                let Imm::Barrier(info) = &data.imm else {
                    unreachable!("broken invariant: a barrier without its properties")
                };
                if let Some(scope) = beyond_group(info.memory) {
                    before(func, block, inst).fence(fence(scope));
                }
                func.layout.remove_inst(inst);
            }
            // The group has no other work-item.
            Class::Yield => func.layout.remove_inst(inst),
            Class::Collective => {
                if let Some(collective) = Collective::of(func, inst) {
                    let result = func.dfg.result(inst);
                    match collective.kind {
                        CollectiveKind::Reduction | CollectiveKind::InclusiveScan => {
                            self.replacements.set(result, data.args[0]);
                            func.layout.remove_inst(inst);
                        }
                        CollectiveKind::ExclusiveScan => {
                            let ty = func.dfg.ty(result);
                            let start = ConstData::splat(ty, identity(collective.op, ty.elem));
                            become_constant(func, inst, start);
                        }
                    }
                }
            }
            Class::GlobalAddr => {
                if let Imm::Global(global) = data.imm
                    && self.module.globals[global].space == Space::Local
                {
                    let variable = &self.module.globals[global];
                    let slot = *self
                        .slots
                        .entry(global)
                        .or_insert_with(|| func.slots.push(SlotData { size: variable.size, align: variable.align }));
                    let data = InstData { op: Opcode::SlotAddr, args: Default::default(), imm: Imm::Slot(slot) };
                    func.dfg.replace_inst(inst, data);
                }
            }
            Class::Plain => self.atomic(func, block, inst, &data),
            Class::Constant
            | Class::Arg
            | Class::ArgAddr
            | Class::SlotAddr
            | Class::InSpace
            | Class::Cheap
            | Class::Load
            | Class::NamedBarrier
            | Class::Branch
            | Class::End
            | Class::Image => {}
        }
    }

    fn query(&mut self, func: &mut Function, block: Block, inst: Inst, query: QueryOp, imm: &Imm) {
        let result = func.dfg.result(inst);
        let known = |func: &mut Function, value| {
            become_constant(func, inst, ConstData::splat(func.dfg.ty(result), value));
        };
        let dim = imm.dim();
        match query {
            QueryOp::LocalId | QueryOp::LocalLinearId => known(func, 0),
            QueryOp::LocalSize | QueryOp::EnqueuedLocalSize => known(func, 1),
            QueryOp::NumGroups => {
                let data = InstData { op: Opcode::GlobalSize, args: Default::default(), imm: Imm::Dim(dim) };
                func.dfg.replace_inst(inst, data);
            }
            QueryOp::GroupId => {
                let mut b = before(func, block, inst);
                let (id, offset) = (b.query(Opcode::GlobalId, dim), b.query(Opcode::GlobalOffset, dim));
                let group = b.int2(Opcode::Isub, id, offset);
                self.replacements.set(result, group);
                func.layout.remove_inst(inst);
            }
            QueryOp::WorkDim
            | QueryOp::GlobalSize
            | QueryOp::GlobalOffset
            | QueryOp::GlobalId
            | QueryOp::GlobalLinearId
            | QueryOp::SubGroupSize
            | QueryOp::MaxSubGroupSize
            | QueryOp::NumSubGroups
            | QueryOp::EnqueuedNumSubGroups
            | QueryOp::SubGroupId
            | QueryOp::SubGroupLocalId => {}
        }
    }

    /// An atomic on local memory becomes plain accesses.
    fn atomic(&mut self, func: &mut Function, block: Block, inst: Inst, data: &InstData) {
        let Imm::Atomic(info) = &data.imm else { return };
        let Some(&pointer) = data.args.first() else { return };
        if func.dfg.ty(pointer).elem != Elem::Ptr(Space::Local) {
            return;
        }
        let result = func.dfg.single_result(inst);
        let Some(ty) = result.or(data.args.get(1).copied()).map(|value| func.dfg.ty(value)) else { return };
        let mem = MemInfo::aligned(ty.bytes());
        let mut b = before(func, block, inst);
        let OpClass::Memory(op) = data.op.class() else { return };
        let old = match op {
            MemoryOp::AtomicLoad => b.load(ty, pointer, mem),
            MemoryOp::AtomicStore => {
                b.store(pointer, data.args[1], mem);
                func.layout.remove_inst(inst);
                return;
            }
            MemoryOp::AtomicRmw => {
                let old = b.load(ty, pointer, mem);
                let operand = data.args[1];
                let new = b.combine(info.op, old, operand);
                b.store(pointer, new, mem);
                old
            }
            MemoryOp::AtomicCmpxchg => {
                let old = b.load(ty, pointer, mem);
                let same = b.icmp(IntCond::Eq, old, data.args[1]);
                let new = b.select(same, data.args[2], old);
                b.store(pointer, new, mem);
                old
            }
            MemoryOp::Load
            | MemoryOp::Store
            | MemoryOp::MaskedLoad
            | MemoryOp::MaskedStore
            | MemoryOp::Gather
            | MemoryOp::Scatter
            | MemoryOp::Memcpy
            | MemoryOp::Memset
            | MemoryOp::Fence => return,
        };
        if let Some(result) = result {
            self.replacements.set(result, old);
        }
        func.layout.remove_inst(inst);
    }
}

/// A cursor before an instruction, with its location.
fn before(func: &mut Function, block: Block, inst: Inst) -> Builder<'_> {
    let index = func.layout.insts(block).iter().position(|&other| other == inst).unwrap_or(0);
    let loc = func.locs[inst];
    let mut b = Builder::before(func, block, index);
    b.set_loc(loc);
    b
}

fn become_constant(func: &mut Function, inst: Inst, value: ConstData) {
    let id = func.dfg.make_const(value);
    func.dfg.replace_inst(inst, InstData { op: Opcode::Const, args: Default::default(), imm: Imm::Const(id) });
}

/// Gives all pointers to local memory the type of pointers to private memory.
fn local_pointers_are_private(func: &mut Function) {
    let is_local = |ty: Type| ty.elem == Elem::Ptr(Space::Local);
    let as_private = |ty: Type| Type::ptr(Space::Private).with_lanes(ty.lanes());
    for block in func.layout.blocks().to_vec() {
        for inst in func.layout.insts(block).to_vec() {
            let constant = if let Imm::Const(id) = func.dfg.inst(inst).imm {
                Some(func.dfg.constant(id).clone()).filter(|constant| is_local(constant.ty))
            } else {
                None
            };
            if let Some(constant) = constant {
                let lanes = constant.to_lanes();
                become_constant(func, inst, ConstData::new(as_private(constant.ty), &lanes));
            }
        }
    }
    let values: Vec<Value> = func
        .layout
        .blocks()
        .iter()
        .flat_map(|&block| {
            let results = func.layout.insts(block).iter().flat_map(|&inst| func.dfg.results(inst));
            func.dfg.params(block).iter().chain(results).copied().collect::<Vec<_>>()
        })
        .collect();
    for value in values {
        let ty = func.dfg.ty(value);
        if is_local(ty) {
            func.dfg.set_type(value, as_private(ty));
        }
    }
}
