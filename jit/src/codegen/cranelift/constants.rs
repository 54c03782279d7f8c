//! Constants in vectors.
//!
//! Cranelift computes a constant once, before all loops that need it, and keeps it in a register: a loop of mathematics has more
//! constants than there are registers, so most of them are written to the stack and read back at every use, by an instruction of
//! its own. Such loops keep only the constants that they use most, and read the others from a *pool*. A read is part of the
//! instruction that uses the constant if nobody else uses what was read, so each use in a block has a place of its own in the
//! pool. The pool's address comes from the stack frame, once in each block: what depends on it cannot be computed before the loop.
//!
//! In bodies constants are part of the code, so that equal bodies are equal.

use std::cmp::Reverse;
use std::rc::Rc;

use clift_kir::analysis::{Cfg, Cold, DomTree, Liveness, LoopForest, LoopId};
use clift_kir::dfg::ConstData;
use clift_kir::{Block, Function, Value};
use cranelift_codegen::cursor::{Cursor, CursorPosition};
use cranelift_codegen::ir::{self, InstBuilder, types};
use rustc_hash::{FxHashMap, FxHashSet};

use super::translate::{Translator, clif_type};

/// Registers that values and constants of a loop share: all but those for what is being computed.
const REGISTERS: usize = 11;

/// Fewest and most of them for constants.
const FEWEST: usize = 3;
const MOST: usize = 9;

/// Loops with no more constants than this keep them all: those that do not find a register are read back from the stack, once for
/// several uses.
const ENOUGH: usize = 15;

/// How much more often an inner loop is taken to be executed.
const ITERATIONS: u64 = 8;

/// The constants of a function, as they lie in memory.
pub(super) type Pool = Box<[u128]>;

/// Which constants blocks read from the pool, and what is in it.
#[derive(Default)]
pub(super) struct Constants {
    /// Constants in registers, by block; other blocks have no need of the pool.
    kept: FxHashMap<Block, Rc<FxHashSet<u128>>>,
    pool: Vec<u128>,
    /// Places in the pool by constant, in the order in which a block uses them.
    places: FxHashMap<u128, Vec<usize>>,
    /// How many of them the current block has used.
    used: FxHashMap<u128, usize>,
    /// The pool's address in the current block.
    base: Option<ir::Value>,
    /// Holds the pool's address.
    slot: Option<ir::StackSlot>,
}

impl Constants {
    /// Chooses for the blocks of a function. What is executed seldom does not count.
    pub(super) fn new(func: &Function, cfg: &Cfg, rare: &Cold) -> Constants {
        let loops = LoopForest::new(cfg, &DomTree::new(cfg));
        // How often constants are used in each loop.
        let mut uses: FxHashMap<LoopId, FxHashMap<u128, u64>> = FxHashMap::default();
        let usual = || cfg.rpo().iter().copied().filter(|&block| !rare.contains(block));
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
        let mut constants = Constants::default();
        if uses.values().all(|uses| uses.len() <= ENOUGH) {
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
                if uses.len() <= ENOUGH {
                    return None;
                }
                let alive = alive.get(&id).copied().unwrap_or(0);
                let most = REGISTERS.saturating_sub(alive).clamp(FEWEST, MOST);
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

/// The constant vectors that instructions of a block use, one for each use.
fn vectors_in(func: &Function, block: Block) -> impl Iterator<Item = u128> {
    let mut found = Vec::new();
    for &inst in func.layout.insts(block) {
        func.dfg.for_each_use(inst, |value| {
            found.extend(func.dfg.as_const(value).filter(|data| data.ty.is_vector()).map(bits_of));
        });
    }
    found.into_iter()
}

/// A constant vector as it is in a register.
pub(super) fn bits_of(data: &ConstData) -> u128 {
    let bytes = (clif_type(data.ty).lane_bits() / 8) as usize;
    let mut all = [0u8; 16];
    for (i, place) in all.chunks_mut(bytes).enumerate() {
        // Unused lanes repeat the last one, so that splats stay splats.
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

    /// A vector that is constant, for the current block.
    pub(super) fn constant_here(&mut self, value: Value) -> Option<ir::Value> {
        let legal = self.legal;
        let data = legal.dfg.as_const(value).filter(|data| data.ty.is_vector())?;
        Some(self.constant(data))
    }

    /// Whether the current block reads a constant from the pool.
    fn is_pooled(&self, bits: u128) -> bool {
        let kept = self.constants.kept.get(&self.current());
        kept.map_or(self.is_seldom(), |kept| !kept.contains(&bits))
    }

    /// A constant in all bits of a register.
    pub(super) fn vector_constant(&mut self, ty: ir::Type, bits: u128) -> ir::Value {
        if !self.is_pooled(bits) {
            let constant = self.pos.func.dfg.constants.insert(bits.to_le_bytes()[..].into());
            return self.pos.ins().vconst(ty, constant);
        }
        let base = self.pool_base();
        let Constants { pool, places, used, .. } = &mut self.constants;
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
        // An atomic load is one that nobody replaces by what was stored.
        let base = self.pos.ins().atomic_load(types::I64, ir::MemFlagsData::trusted(), place);
        self.constants.base = Some(base);
        base
    }

    /// Ends the function: its pool, whose address the entry leaves in the stack frame.
    pub(super) fn finish_pool(&mut self) -> Pool {
        let pool: Pool = std::mem::take(&mut self.constants.pool).into();
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
