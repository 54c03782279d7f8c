//! Vector constants: which are kept in registers and which are read from memory.
//!
//! Cranelift materializes a constant once, before all loops that use it, and keeps it in a register. A loop of mathematical code
//! has more constants than there are registers. Most of them would be spilled, and reloaded by a separate instruction at every
//! use. Such loops therefore keep only the constants that they use most, and read the others from a *constant pool*. A load is
//! folded into the instruction that uses it only if it has a single use, so each use in a block has its own entry in the pool.
//! The pool's address is loaded from the stack frame once in each block; loads that depend on it cannot be hoisted out of the
//! loop.
//!
//! In outlined cold functions constants are part of the code, so that equal functions can be shared.

use std::cmp::Reverse;
use std::rc::Rc;

use clift_kir::analysis::{Cfg, Cold, DomTree, Liveness, LoopForest, LoopId};
use clift_kir::dfg::ConstData;
use clift_kir::{Block, Function, Value};
use cranelift_codegen::cursor::{Cursor, CursorPosition};
use cranelift_codegen::ir::{self, InstBuilder, types};
use rustc_hash::{FxHashMap, FxHashSet};

use super::translate::{Translator, clif_type};

/// Vector registers that the values and constants of a loop share; the others are for temporaries.
const REGISTERS: usize = 11;

/// The least and the greatest number of constants that a loop keeps in registers.
const MIN_KEPT: usize = 3;
const MAX_KEPT: usize = 9;

/// Loops with at most this many constants keep all of them. Those without a register are reloaded from the stack, once for
/// several uses.
const KEEP_ALL: usize = 15;

/// The assumed number of iterations of a loop.
const ITERATIONS: u64 = 8;

/// The constants of a function as they are in memory.
pub(super) type PoolVectors = Box<[u128]>;

/// The constants that blocks read from the pool, and the pool itself.
#[derive(Default)]
pub(super) struct ConstantPlacement {
    /// The constants in registers, by block. Blocks that are not listed do not use the pool.
    kept: FxHashMap<Block, Rc<FxHashSet<u128>>>,
    pool: Vec<u128>,
    /// By constant: its entries in the pool, in the order in which a block uses them.
    places: FxHashMap<u128, Vec<usize>>,
    /// The number of entries that the current block has used.
    used: FxHashMap<u128, usize>,
    /// The pool's address in the current block.
    base: Option<ir::Value>,
    /// The stack slot with the pool's address.
    slot: Option<ir::StackSlot>,
}

impl ConstantPlacement {
    /// Chooses the constants to keep for each block of a function. Cold blocks are ignored.
    pub(super) fn new(func: &Function, cfg: &Cfg, cold: &Cold) -> ConstantPlacement {
        let loops = LoopForest::new(cfg, &DomTree::new(cfg));
        // How often each loop uses each constant.
        let mut uses: FxHashMap<LoopId, FxHashMap<u128, u64>> = FxHashMap::default();
        let usual = || cfg.rpo().iter().copied().filter(|&block| !cold.contains(block));
        for block in usual() {
            let often = ITERATIONS.pow(loops.depth(block).min(8));
            for bits in vectors_in(func, block) {
                let mut level = loops.innermost(block);
                while let Some(id) = level {
                    *uses.entry(id).or_default().entry(bits).or_default() += often;
                    level = loops.get(id).parent;
                }
            }
        }
        let mut constants = ConstantPlacement::default();
        if uses.values().all(|uses| uses.len() <= KEEP_ALL) {
            return constants;
        }
        let is_vector = |value: Value| func.dfg.ty(value).is_vector() && func.dfg.as_const(value).is_none();
        let liveness = Liveness::of(func, cfg, is_vector, |block| loops.innermost(block).is_some());
        let mut alive: FxHashMap<LoopId, usize> = FxHashMap::default();
        for block in usual() {
            let Some(id) = loops.innermost(block) else { continue };
            let count = liveness.live_in(block).len();
            let most = alive.entry(id).or_default();
            *most = count.max(*most);
        }
        let kept: FxHashMap<LoopId, _> = uses
            .into_iter()
            .filter_map(|(id, uses)| {
                if uses.len() <= KEEP_ALL {
                    return None;
                }
                let alive = alive.get(&id).copied().unwrap_or(0);
                let most = REGISTERS.saturating_sub(alive).clamp(MIN_KEPT, MAX_KEPT);
                let mut ranked: Vec<(u128, u64)> = uses.into_iter().collect();
                ranked.sort_by_key(|&(bits, count)| (Reverse(count), bits));
                let kept: FxHashSet<u128> = ranked.into_iter().take(most).map(|(bits, _)| bits).collect();
                Some((id, Rc::new(kept)))
            })
            .collect();
        constants.kept = usual()
            .filter_map(|block| loops.innermost(block).and_then(|id| kept.get(&id)).map(|kept| (block, kept.clone())))
            .collect();
        constants
    }
}

/// The constant vectors that the instructions of a block use, once per use.
fn vectors_in(func: &Function, block: Block) -> impl Iterator<Item = u128> {
    let mut found = Vec::new();
    for &inst in func.layout.insts(block) {
        func.dfg.for_each_use(inst, |value| {
            found.extend(func.dfg.as_const(value).filter(|data| data.ty.is_vector()).map(bits_of));
        });
    }
    found.into_iter()
}

/// The bits of a constant vector in a register.
pub(super) fn bits_of(data: &ConstData) -> u128 {
    let bytes = (clif_type(data.ty).lane_bits() / 8) as usize;
    let mut all = [0u8; 16];
    for (i, place) in all.chunks_mut(bytes).enumerate() {
        // Unused lanes repeat the last lane, so that splats stay splats.
        let lane = data.lane((i as u32).min(data.ty.lanes() - 1));
        let bits = if data.ty.is_bool() { 0u64.wrapping_sub(lane) } else { lane };
        place.copy_from_slice(&bits.to_le_bytes()[..bytes]);
    }
    u128::from_le_bytes(all)
}

impl Translator<'_> {
    /// Begins a block.
    pub(super) fn enter_constants(&mut self) {
        self.constants.used.clear();
        self.constants.base = None;
    }

    /// The register with a vector value that is constant, in the current block.
    pub(super) fn constant_here(&mut self, value: Value) -> Option<ir::Value> {
        let legal = self.legal;
        let data = legal.dfg.as_const(value).filter(|data| data.ty.is_vector())?;
        Some(self.constant(data))
    }

    /// Whether the current block reads a constant from the pool.
    fn is_pooled(&self, bits: u128) -> bool {
        let kept = self.constants.kept.get(&self.current());
        kept.map_or(self.in_cold_block(), |kept| !kept.contains(&bits))
    }

    /// A constant with the given bits as a register's content.
    pub(super) fn vector_constant(&mut self, ty: ir::Type, bits: u128) -> ir::Value {
        if !self.is_pooled(bits) {
            let constant = self.pos.func.dfg.constants.insert(bits.to_le_bytes()[..].into());
            return self.pos.ins().vconst(ty, constant);
        }
        let base = self.pool_base();
        let ConstantPlacement { pool, places, used, .. } = &mut self.constants;
        let (places, used) = (places.entry(bits).or_default(), used.entry(bits).or_default());
        if *used == places.len() {
            places.push(pool.len());
            pool.push(bits);
        }
        let offset = 16 * places[*used] as i32;
        *used += 1;
        self.pos.ins().load(ty, ir::MemFlagsData::trusted().with_readonly().with_can_move(), base, offset)
    }

    /// The pool's address in the current block.
    fn pool_base(&mut self) -> ir::Value {
        if let Some(base) = self.constants.base {
            return base;
        }
        let func = &mut *self.pos.func;
        let slot = *self.constants.slot.get_or_insert_with(|| {
            func.create_sized_stack_slot(ir::StackSlotData::new(ir::StackSlotKind::ExplicitSlot, 8, 3))
        });
        let place = self.pos.ins().stack_addr(types::I64, slot, 0);
        // Cranelift does not forward stored values to an atomic load.
        let base = self.pos.ins().atomic_load(types::I64, ir::MemFlagsData::trusted(), place);
        self.constants.base = Some(base);
        base
    }

    /// Finishes the function: stores the address of the pool to the stack frame in the entry block, and returns the pool.
    pub(super) fn finish_pool(&mut self) -> PoolVectors {
        let pool: PoolVectors = std::mem::take(&mut self.constants.pool).into();
        if let (Some(slot), Some(entry)) = (self.constants.slot, self.pos.func.layout.entry_block()) {
            self.pos.set_position(match self.pos.func.layout.first_inst(entry) {
                Some(first) => CursorPosition::At(first),
                None => CursorPosition::After(entry),
            });
            let address = self.pos.ins().iconst(types::I64, pool.as_ptr().expose_provenance() as i64);
            self.pos.ins().stack_store(types::I64, address, slot, 0);
        }
        pool
    }
}
