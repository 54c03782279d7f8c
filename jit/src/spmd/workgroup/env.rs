//! Values that code inside the work-group loops uses: sizes, ids, arguments, addresses. Each is computed on demand, at the
//! outermost level at which it is known.
//!
//! The levels are the run (the function's entry), the group, and within a region the z, y and x loops. Work-item queries become
//! plain values at these levels. Only this module (with `items.rs`) deals with groups that the global size does not fill.

use clift_include::abi::{ARENA_ALIGN, ARG_BLOCK_ALIGN};
use clift_kir::inst::Imm;
use clift_kir::ops::QueryOp;
use clift_kir::{
    Block, Builder, Function, Global, IntCond, KernelData, MemInfo, Module, Opcode, Slot, Space, Type, Value,
};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

use super::Packing;
use super::collectives::may_divide_rows;
use super::context::{ContextLayout, round_up};
use super::regions::Regions;
use crate::spmd::class::{Class, class};
use crate::{BuildError, Options};

/// The layout of the kernel's `__local` variables in the local arena.
#[derive(Debug, Default)]
pub(crate) struct LocalLayout {
    offsets: SecondaryMap<Global, Option<u64>>,
    align: u64,
    /// The size of the variables in bytes.
    pub(crate) bytes: u64,
}

impl LocalLayout {
    /// Lays out the variables that the kernel uses.
    ///
    /// # Errors
    /// [`BuildError::Limit`] if they overflow any address space.
    pub(crate) fn new(module: &Module, regions: &Regions) -> Result<LocalLayout, BuildError> {
        let func = &regions.func;
        let mut used = Vec::new();
        for &inst in regions.cfg.rpo().iter().flat_map(|&b| func.layout.insts(b)) {
            if let Imm::Global(global) = func.dfg.inst(inst).imm
                && module.globals[global].space == Space::Local
                && !used.contains(&global)
            {
                used.push(global);
            }
        }
        used.sort_by_key(|&global| (std::cmp::Reverse(module.globals[global].align), global));
        let mut layout = LocalLayout { align: 1, ..LocalLayout::default() };
        let mut at = 0;
        for global in used {
            let data = &module.globals[global];
            at = round_up(at, u64::from(data.align))?;
            layout.offsets[global] = Some(at);
            layout.align = layout.align.max(u64::from(data.align));
            at = round_up(at.saturating_add(data.size), 1)?;
        }
        layout.bytes = at + slack(layout.align);
        Ok(layout)
    }
}

/// Additional bytes of an arena for an alignment that the arena itself does not have.
pub(crate) fn slack(align: u64) -> u64 {
    align.saturating_sub(ARENA_ALIGN as u64)
}

/// A value of the whole run or the whole group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum LevelKey {
    Field(u32),
    Arg(u32, Type),
    ArgAddr(u32),
    Global(Global),
    FixedSlot(Slot),
    Int(i64),
    Undef(Type),
    GroupSize(u8),
    GroupOrigin(u8),
    Origin(u8),
    RowSize,
    PacksPerRow,
    ScratchBase,
    Records,
    LocalBase,
}

/// A value that depends on the work-item; memoized per region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ItemKey {
    GlobalId(u8),
    /// The local linear id of the row's first work-item.
    Row,
    LocalLinear,
    GlobalLinear,
    /// The address of the work-item's record in the scratch arena.
    Record,
    ItemSlot(Slot),
    Narrow(QueryOp),
}

/// The levels of a region's loops: the ids, and the blocks in which values of each level are computed.
#[derive(Debug)]
pub(crate) struct Levels {
    /// The local ids; `None` stands for the only id 0 of a dimension of size 1.
    pub(crate) ids: [Option<Value>; 3],
    /// For each dimension, where values are computed that depend on ids of this and higher dimensions only.
    pub(crate) blocks: [Block; 3],
    /// Where values of the work-item are computed: in `blocks[0]` or a block that it dominates.
    pub(crate) item: Block,
    memo: FxHashMap<ItemKey, Value>,
}

impl Levels {
    pub(crate) fn new(ids: [Option<Value>; 3], blocks: [Block; 3]) -> Levels {
        Levels { ids, blocks, item: blocks[0], memo: FxHashMap::default() }
    }
}

/// The group function being made, and its outer levels.
#[derive(Debug)]
pub(crate) struct GroupEnv<'a> {
    /// The group function.
    pub(crate) out: Function,
    /// The block for values of the run.
    pub(crate) entry: Block,
    /// The block for values of the group; its parameter is the group's id along x.
    pub(crate) group: Block,
    ctx: Value,
    args: Value,
    /// The first group of the run, and the number of groups.
    pub(crate) first: Value,
    pub(crate) count: Value,
    group_x: Value,
    module: &'a Module,
    context: &'a ContextLayout,
    locals: &'a LocalLayout,
    required: Option<[u64; 3]>,
    /// Whether the application has promised that all groups have the full size.
    full_groups: bool,
    /// Whether the runtime may divide rows otherwise than the application.
    may_divide_rows: bool,
    packing: Packing,
    memo: FxHashMap<LevelKey, Value>,
}

macro_rules! field {
    ($name:ident) => {
        std::mem::offset_of!(clift_include::abi::WgContext, $name) as u32
    };
    ($name:ident, $dim:expr) => {
        std::mem::offset_of!(clift_include::abi::WgContext, $name) as u32 + 8 * u32::from($dim)
    };
}

mod items;

impl<'a> GroupEnv<'a> {
    /// An empty group function for a kernel.
    pub(crate) fn new(
        module: &'a Module,
        kernel: &KernelData,
        options: &Options,
        packing: Packing,
        context: &'a ContextLayout,
        locals: &'a LocalLayout,
    ) -> GroupEnv<'a> {
        let mut out = Function::new(module.funcs[kernel.func].name.clone(), &[]);
        let entry = out.append_block();
        let host = Type::ptr(Space::Host);
        let [ctx, args, first, count] = [host, host, Type::I64, Type::I64].map(|ty| out.dfg.append_param(entry, ty));
        for (value, name) in [(ctx, "ctx"), (args, "args"), (first, "first_group"), (count, "group_count")] {
            out.names.insert(value, name.to_owned());
        }
        let group = out.append_block();
        let group_x = out.dfg.append_param(group, Type::I64);
        out.names.insert(group_x, "group".to_owned());
        GroupEnv {
            out,
            entry,
            group,
            ctx,
            args,
            first,
            count,
            group_x,
            module,
            context,
            locals,
            required: if packing.groups { Some([1; 3]) } else { kernel.required_local_size },
            full_groups: options.uniform_work_groups,
            may_divide_rows: may_divide_rows(&module.funcs[kernel.func], kernel),
            packing,
            memo: FxHashMap::default(),
        }
    }

    /// A cursor at the end of a block, before its terminator if it has one.
    pub(crate) fn at(&mut self, block: Block) -> Builder<'_> {
        let insts = self.out.layout.insts(block);
        match insts.last() {
            Some(&last) if self.out.dfg.inst(last).op.is_terminator() => {
                let index = insts.len() - 1;
                Builder::before(&mut self.out, block, index)
            }
            _ => Builder::at_end(&mut self.out, block),
        }
    }

    fn memoize(&mut self, key: LevelKey, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if let Some(&value) = self.memo.get(&key) {
            return value;
        }
        let value = make(self);
        self.memo.insert(key, value);
        value
    }

    // -- the run --

    /// An integer of 64 bits.
    pub(crate) fn int(&mut self, value: i64) -> Value {
        self.memoize(LevelKey::Int(value), |env| {
            let entry = env.entry;
            env.at(entry).iconst(Type::I64, value)
        })
    }

    /// A value that is not used.
    pub(crate) fn undef(&mut self, ty: Type) -> Value {
        self.memoize(LevelKey::Undef(ty), |env| {
            let entry = env.entry;
            env.at(entry).undef(ty)
        })
    }

    fn field(&mut self, offset: u32, ty: Type) -> Value {
        self.memoize(LevelKey::Field(offset), |env| {
            let (entry, ctx) = (env.entry, env.ctx);
            let mut b = env.at(entry);
            let address = b.addr(ctx, None, 1, i64::from(offset));
            b.load(ty, address, MemInfo::invariant(ty.bytes()))
        })
    }

    fn arg_addr(&mut self, offset: u32) -> Value {
        self.memoize(LevelKey::ArgAddr(offset), |env| {
            let (entry, args) = (env.entry, env.args);
            env.at(entry).addr(args, None, 1, i64::from(offset))
        })
    }

    fn arg(&mut self, offset: u32, ty: Type) -> Value {
        self.memoize(LevelKey::Arg(offset, ty), |env| {
            let address = env.arg_addr(offset);
            let align = 1 << offset.trailing_zeros().min(ARG_BLOCK_ALIGN.trailing_zeros());
            let entry = env.entry;
            if ty == Type::ptr(Space::Local) {
                let base = env.field(field!(local_mem), ty);
                let mut b = env.at(entry);
                let offset = b.load(Type::I64, address, MemInfo::invariant(align));
                return b.addr(base, Some(offset), 1, 0);
            }
            env.at(entry).load(ty, address, MemInfo::invariant(align))
        })
    }

    /// The start of an arena, rounded up to an alignment that the arena itself does not have.
    fn aligned(&mut self, arena: Value, align: u64) -> Value {
        if align <= ARENA_ALIGN as u64 {
            return arena;
        }
        let entry = self.entry;
        let mut b = self.at(entry);
        let bits = b.cast(Opcode::PtrToInt, arena, Type::I64);
        let negative = b.int1(Opcode::Ineg, bits);
        let mask = b.iconst(Type::I64, (align - 1) as i64);
        let gap = b.int2(Opcode::And, negative, mask);
        b.addr(arena, Some(gap), 1, 0)
    }

    fn scratch_base(&mut self) -> Value {
        self.memoize(LevelKey::ScratchBase, |env| {
            let arena = env.field(field!(scratch), Type::ptr(Space::Private));
            env.aligned(arena, env.context.align)
        })
    }

    /// The address of a value of the group at an offset of the scratch arena.
    pub(crate) fn shared_addr(&mut self, offset: u64) -> Value {
        let base = self.scratch_base();
        let entry = self.entry;
        self.at(entry).addr(base, None, 1, offset as i64)
    }

    fn global_addr(&mut self, global: Global) -> Value {
        self.memoize(LevelKey::Global(global), |env| {
            let entry = env.entry;
            let space = env.module.globals[global].space;
            match env.locals.offsets[global] {
                None => env.at(entry).global_addr(global, space),
                Some(offset) => {
                    let base = env.memoize(LevelKey::LocalBase, |env| {
                        let arena = env.field(field!(local_mem), Type::ptr(Space::Local));
                        env.aligned(arena, env.locals.align)
                    });
                    env.at(entry).addr(base, None, 1, offset as i64)
                }
            }
        })
    }

    fn enqueued_local_size(&mut self, dim: u8) -> Value {
        match self.required {
            Some(sizes) => self.int(sizes[usize::from(dim)] as i64),
            None => self.field(field!(local_size, dim), Type::I64),
        }
    }

    fn group_id(&mut self, dim: u8) -> Value {
        match dim {
            0 => self.group_x,
            1 => self.field(field!(group_y), Type::I64),
            _ => self.field(field!(group_z), Type::I64),
        }
    }

    // -- the group: along x it changes within a run --

    fn group_level(&self, dim: u8) -> Block {
        if dim == 0 { self.group } else { self.entry }
    }

    /// Whether the loops have no loop for a dimension.
    pub(crate) fn is_flat(&self, dim: u8) -> bool {
        if self.packing.one_row {
            return dim > 0;
        }
        self.has_size_one(dim)
    }

    /// Whether every group has one work-item in a dimension.
    fn has_size_one(&self, dim: u8) -> bool {
        if self.packing.groups && dim == 0 {
            return false;
        }
        self.required.is_some_and(|sizes| sizes[usize::from(dim)] == 1)
    }

    /// The number of iterations that the loop of a dimension goes over.
    pub(crate) fn loop_size(&mut self, dim: u8) -> Value {
        if !self.packing.one_row || dim > 0 {
            return self.group_size(dim);
        }
        self.memoize(LevelKey::RowSize, |env| {
            let sizes = [0, 1, 2].map(|dim| env.group_size(dim));
            let level = env.group;
            env.items_of(sizes, level)
        })
    }

    /// The number of work-items in a group of the given sizes.
    fn items_of(&mut self, [x, y, z]: [Value; 3], level: Block) -> Value {
        let mut b = self.at(level);
        let plane = b.int2(Opcode::Imul, x, y);
        b.int2(Opcode::Imul, plane, z)
    }

    /// The id of the group's first work-item in a dimension, without the global offset.
    fn group_origin(&mut self, dim: u8) -> Value {
        self.memoize(LevelKey::GroupOrigin(dim), |env| {
            if env.packing.groups {
                return env.group_id(dim);
            }
            let (id, size, level) = (env.group_id(dim), env.enqueued_local_size(dim), env.group_level(dim));
            env.at(level).int2(Opcode::Imul, id, size)
        })
    }

    /// The global id of the group's first work-item in a dimension.
    pub(crate) fn origin(&mut self, dim: u8) -> Value {
        self.memoize(LevelKey::Origin(dim), |env| {
            let origin = env.group_origin(dim);
            let offset = env.field(field!(global_offset, dim), Type::I64);
            let level = env.group_level(dim);
            env.at(level).int2(Opcode::Iadd, origin, offset)
        })
    }

    /// The number of work-items of this group in a dimension.
    pub(crate) fn group_size(&mut self, dim: u8) -> Value {
        if self.packing.groups && dim == 0 {
            return self.count;
        }
        let enqueued = self.enqueued_local_size(dim);
        let is_full = self.full_groups && (dim > 0 || !self.may_divide_rows);
        if is_full || self.has_size_one(dim) {
            return enqueued;
        }
        self.memoize(LevelKey::GroupSize(dim), |env| {
            let origin = env.group_origin(dim);
            let global = env.field(field!(global_size, dim), Type::I64);
            let level = env.group_level(dim);
            let mut b = env.at(level);
            let left = b.int2(Opcode::Isub, global, origin);
            b.int2(Opcode::Umin, enqueued, left)
        })
    }

    // -- the work-item --

    fn query(&mut self, levels: &mut Levels, query: QueryOp, dim: u8) -> Value {
        match query {
            QueryOp::WorkDim => self.field(field!(work_dim), Type::I32),
            QueryOp::GlobalSize => self.field(field!(global_size, dim), Type::I64),
            QueryOp::GlobalOffset => self.field(field!(global_offset, dim), Type::I64),
            QueryOp::NumGroups => self.field(field!(num_groups, dim), Type::I64),
            QueryOp::EnqueuedLocalSize => self.enqueued_local_size(dim),
            QueryOp::LocalSize => self.group_size(dim),
            QueryOp::GroupId => self.group_id(dim),
            QueryOp::GlobalId => self.global_id(levels, dim),
            QueryOp::LocalId => self.local_id(levels, dim),
            QueryOp::GlobalLinearId => self.global_linear(levels),
            QueryOp::LocalLinearId => self.local_linear(levels),
            // A pack is a sub-group.
            QueryOp::NumSubGroups => self.narrow(levels, query, |env, _| {
                let sizes = [0, 1, 2].map(|dim| env.group_size(dim));
                let level = env.group;
                (env.packs_of(sizes, level), level)
            }),
            QueryOp::EnqueuedNumSubGroups => self.narrow(levels, query, |env, _| {
                let sizes = [0, 1, 2].map(|dim| env.enqueued_local_size(dim));
                let level = env.entry;
                (env.packs_of(sizes, level), level)
            }),
            QueryOp::SubGroupId => self.narrow(levels, query, |env, levels| (env.pack_number(levels), levels.item)),
            QueryOp::SubGroupSize => self.narrow(levels, query, |env, levels| env.pack_items(levels)),
            QueryOp::MaxSubGroupSize => self.narrow(levels, query, |env, _| {
                let lanes = i64::from(env.packing.lanes);
                (env.int(lanes), env.entry)
            }),
            QueryOp::SubGroupLocalId => self.narrow(levels, query, |env, _| (env.int(0), env.entry)),
        }
    }

    /// The low half of a value, computed at the level of the value.
    fn narrow(
        &mut self,
        levels: &mut Levels,
        query: QueryOp,
        wide: impl FnOnce(&mut Self, &mut Levels) -> (Value, Block),
    ) -> Value {
        self.memoize_item(levels, ItemKey::Narrow(query), |env, levels| {
            let (value, level) = wide(env, levels);
            env.at(level).cast(Opcode::Itrunc, value, Type::I32)
        })
    }

    /// Whether a pointer points into an arena.
    fn in_arena(&mut self, block: Block, pointer: Value, start: (u32, Space), bytes: u32) -> Value {
        let arena = self.field(start.0, Type::ptr(start.1));
        let bytes = self.field(bytes, Type::I64);
        let mut b = self.at(block);
        let lanes = b.ty(pointer).lanes();
        let bits_ty = Type::I64.with_lanes(lanes);
        let bits = b.cast(Opcode::PtrToInt, pointer, bits_ty);
        let arena = b.cast(Opcode::PtrToInt, arena, Type::I64);
        let arena = b.splat(arena, lanes);
        let bytes = b.splat(bytes, lanes);
        let offset = b.int2(Opcode::Isub, bits, arena);
        b.icmp(IntCond::Ult, offset, bytes)
    }

    /// The value of `in_space`, computed at the end of a block.
    pub(crate) fn in_space(&mut self, block: Block, pointer: Value, space: Space) -> Value {
        let local =
            |env: &mut Self| env.in_arena(block, pointer, (field!(local_mem), Space::Local), field!(local_mem_bytes));
        let private =
            |env: &mut Self| env.in_arena(block, pointer, (field!(scratch), Space::Private), field!(scratch_bytes));
        match space {
            Space::Local => local(self),
            Space::Private => private(self),
            Space::Global => {
                let (local, private) = (local(self), private(self));
                let mut b = self.at(block);
                let either = b.int2(Opcode::Or, local, private);
                b.int1(Opcode::Not, either)
            }
            Space::Generic | Space::Constant | Space::Host => {
                let mut b = self.at(block);
                let ty = b.ty(pointer).as_mask();
                b.iconst(ty, i64::from(space == Space::Generic))
            }
        }
    }

    /// The value of an op that depends only on the launch, the group or the position of the work-item; `None` for all other ops.
    pub(crate) fn known(&mut self, levels: &mut Levels, op: Opcode, imm: &Imm, ty: Type) -> Option<Value> {
        match (class(op), imm) {
            (Class::Arg, &Imm::Offset(offset)) => Some(self.arg(offset, ty)),
            (Class::ArgAddr, &Imm::Offset(offset)) => Some(self.arg_addr(offset)),
            (Class::SlotAddr, &Imm::Slot(slot)) => Some(self.slot_addr(levels, slot)),
            (Class::GlobalAddr, &Imm::Global(global)) => Some(self.global_addr(global)),
            (Class::Query(query), imm) => Some(self.query(levels, query, imm.dim())),
            (
                Class::Constant
                | Class::Arg
                | Class::ArgAddr
                | Class::SlotAddr
                | Class::GlobalAddr
                | Class::InSpace
                | Class::Cheap
                | Class::Load
                | Class::Plain
                | Class::Barrier
                | Class::NamedBarrier
                | Class::Yield
                | Class::Collective
                | Class::Branch
                | Class::End
                | Class::Image,
                _,
            ) => None,
        }
    }
}
