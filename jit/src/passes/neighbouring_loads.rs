//! Loads of neighbouring elements come one after the other: a load moves before stores to its neighbours.
//!
//! ```text
//! p[2*i] += s; p[2*i + 1] += s     ->     x = p[2*i]; y = p[2*i + 1]; p[2*i] = x + s; p[2*i + 1] = y + s
//! ```
//!
//! Packs load and store the components of records together (complex numbers, pixels, vertices), but only if neither loads nor
//! stores are between these accesses. Programs that update one component after the other have stores between the loads.
//!
//! A load moves to the first load of a neighbour in its block, at most [`MAX_ELEMENTS`] elements away, if a neighbour is stored
//! in between and nothing in between may write what it reads. What its address is computed from moves, too. Volatile and
//! private accesses stay.

use clift_kir::{Block, Function, Imm, Inst, Opcode};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Changed;
use super::memory::{Escapes, Place, Write};

/// How many elements neighbours are apart, at most: records have up to four components.
const MAX_ELEMENTS: i64 = 3;
/// The most writes that a load moves before.
const MAX_WRITES: usize = 16;
/// How many of the last records a load may belong to.
const MAX_RECORDS: usize = 8;
/// The most instructions that move with a load.
const MAX_MOVED: usize = 4;

/// Moves the loads of each block.
pub(super) fn run(func: &mut Function) -> Changed {
    let has = |insts: &[Inst], op: Opcode| insts.iter().filter(|&&inst| func.dfg.inst(inst).op == op).count();
    let blocks: Vec<Block> = func.layout.blocks().to_vec();
    let candidates = blocks.into_iter().filter(|&block| {
        let insts = func.layout.insts(block);
        has(insts, Opcode::Store) > 0 && has(insts, Opcode::Load) > 1
    });
    let candidates: Vec<Block> = candidates.collect();
    if candidates.is_empty() {
        return Changed(false);
    }
    let escapes = Escapes::new(func);
    let mut changed = false;
    for block in candidates {
        let mut moves = Moves::default();
        moves.find(func, &escapes, block);
        if moves.place_of.is_empty() {
            continue;
        }
        changed = true;
        let mut insts = Vec::with_capacity(func.layout.insts(block).len());
        for (position, inst) in func.layout.take_insts(block).into_iter().enumerate() {
            if !moves.place_of.contains_key(&inst) {
                insts.push(inst);
            }
            insts.extend(moves.after.remove(&position).unwrap_or_default());
        }
        func.layout.set_insts(block, insts);
    }
    Changed(changed)
}

/// Which instructions of a block move.
#[derive(Default)]
struct Moves {
    /// The position after which an instruction comes.
    place_of: FxHashMap<Inst, usize>,
    /// What comes after each position, in order.
    after: FxHashMap<usize, Vec<Inst>>,
}

/// The first load of a record.
struct Record {
    position: usize,
    place: Place,
    /// The bytes of an element.
    bytes: i64,
}

impl Moves {
    fn find(&mut self, func: &Function, escapes: &Escapes, block: Block) {
        let insts = func.layout.insts(block);
        let positions: FxHashMap<Inst, usize> = insts.iter().copied().zip(0..).collect();
        let mut records: Vec<Record> = Vec::new();
        let mut writes: Vec<(usize, Write)> = Vec::new();
        for (position, &inst) in insts.iter().enumerate() {
            if let Some(write) = Write::of(func, inst) {
                writes.push((position, write));
                continue;
            }
            let data = func.dfg.inst(inst);
            let (Opcode::Load, Imm::Mem(mem)) = (data.op, &data.imm) else { continue };
            let ty = func.dfg.ty(func.dfg.result(inst));
            let place = Place::of_access(func, data.args[0], mem, ty);
            if mem.volatile || place.is_private() {
                continue;
            }
            let bytes = i64::from(ty.bytes());
            let near =
                |distance: Option<i64>| distance.is_some_and(|bytes_apart| bytes_apart.abs() <= MAX_ELEMENTS * bytes);
            let mut recent = records.iter().rev().take(MAX_RECORDS);
            let Some(record) = recent.find(|record| record.bytes == bytes && near(place.distance(&record.place)))
            else {
                records.push(Record { position, place, bytes });
                continue;
            };
            let since = writes.partition_point(|&(at, _)| at < record.position);
            let between = &writes[since..];
            let may_move = between.len() <= MAX_WRITES
                && between.iter().any(|(_, write)| near(write.distance(&record.place)))
                && !between.iter().any(|(_, write)| write.may_change(&place, escapes));
            if may_move {
                self.move_after(func, &positions, inst, record.position);
            } else if !between.is_empty() {
                records.push(Record { position, place, bytes });
            }
        }
    }

    /// Moves a load, and what its address is computed from, after a position of the block, if this is pure.
    fn move_after(&mut self, func: &Function, positions: &FxHashMap<Inst, usize>, load: Inst, after: usize) {
        let mut moved: SmallVec<[Inst; MAX_MOVED]> = SmallVec::from_slice(&[load]);
        let mut next = 0;
        while let Some(&inst) = moved.get(next) {
            next += 1;
            for def in func.dfg.inst(inst).args.iter().filter_map(|&arg| func.dfg.def_inst(arg)) {
                let Some(&position) = positions.get(&def) else { continue };
                let position = self.place_of.get(&def).copied().unwrap_or(position);
                if position <= after || moved.contains(&def) {
                    continue;
                }
                if self.place_of.contains_key(&def) || !func.dfg.inst(def).op.is_pure() || moved.len() > MAX_MOVED {
                    return;
                }
                moved.push(def);
            }
        }
        moved.sort_by_key(|inst| positions[inst]);
        for &inst in &moved {
            self.place_of.insert(inst, after);
        }
        self.after.entry(after).or_default().extend(moved);
    }
}
