//! Rows: OpenCL vectors of 128, 256 or 512 bits for each lane. Each is loaded whole, and stored whole if scalars compute the
//! addresses; shuffles transpose them. That takes a fraction of the time of a gather or scatter for each component.
//!
//! Rows of 128 bits are first joined to blocks of as many lanes as a long register has. Longer ones are transposed in squares
//! of as many lanes as a row has elements: first the squares within 128 bits, then these as a whole.
//!
//! Left alone: accesses under masks. Whether a lane is active would have to be tested for each, which takes more time than
//! gathers of two components each.

use clift_kir::{MemInfo, Opcode, Type, Value};
use smallvec::SmallVec;

use super::Widener;
use super::forms::{Packs, WideForm};
use crate::spmd::analysis::shape::Scope;

/// Bits within which elements are interleaved, which are the shortest row.
const PIECE_BITS: u32 = 128;
/// Bits of the longest row, and of blocks of shorter ones.
const BLOCK_BITS: u32 = 512;

/// Whether the bits of a vector are those of a row.
pub(crate) fn has_row_length(bits: u32) -> bool {
    bits.is_power_of_two() && (PIECE_BITS..=BLOCK_BITS).contains(&bits)
}

/// The two halves of 128 bits.
#[derive(Clone, Copy)]
enum Half {
    Low,
    High,
}

impl Widener<'_> {
    /// The address of each lane's row, if accesses of `ty` are rows.
    pub(super) fn rows(&mut self, pointer: Value, ty: Type, mem: MemInfo) -> Option<SmallVec<[Value; 32]>> {
        self.row_addresses(pointer, ty, mem).or_else(|| {
            let pointers = self.is_row(ty, mem).then(|| self.packs(pointer)[0])?;
            Some((0..self.width).map(|lane| self.at().extract(pointers, lane)).collect())
        })
    }

    /// Whether accesses of a type are rows.
    fn is_row(&self, ty: Type, mem: MemInfo) -> bool {
        let words = ty.elem.bits() == 32 || ty.elem.bits() == 64;
        has_row_length(ty.bits()) && words && !ty.is_ptr() && !mem.volatile && self.width >= ty.lanes()
    }

    /// The address of each lane's row, if accesses of `ty` are rows and scalars compute their addresses.
    pub(super) fn row_addresses(&mut self, pointer: Value, ty: Type, mem: MemInfo) -> Option<SmallVec<[Value; 32]>> {
        if !self.is_row(ty, mem) {
            return None;
        }
        if let WideForm::Affine { base, stride } = self.form(pointer) {
            return Some((0..i64::from(self.width)).map(|lane| self.at().addr(base, None, 1, stride * lane)).collect());
        }
        // The start of each lane's row, which loops leave unchanged, and a distance that all lanes share.
        let func = self.func;
        let data = func.dfg.inst(func.dfg.def_inst(pointer)?);
        let (Opcode::Addr, &[start, index]) = (data.op, &data.args[..]) else { return None };
        if !self.shape(index).is_uniform(Scope::Pack)
            || !matches!(self.form(start), WideForm::Packs(_) | WideForm::FirstLane(_))
        {
            return None;
        }
        let (starts, index, imm) = (self.packs(start)[0], self.scalar(index), data.imm.clone());
        let mut addresses = SmallVec::new();
        for lane in 0..self.width {
            let start = self.at().extract(starts, lane);
            let ty = self.out.dfg.ty(start);
            addresses.push(self.emit(Opcode::Addr, &[start, index], imm.clone(), ty));
        }
        Some(addresses)
    }

    /// Loads a row for each lane.
    pub(super) fn load_rows(&mut self, addresses: &[Value], ty: Type, mem: MemInfo) -> Packs {
        let rows: Vec<Value> = addresses.iter().map(|&address| self.at().load(ty, address, mem)).collect();
        let count = ty.lanes() as usize;
        if ty.bits() > PIECE_BITS {
            let squares: Vec<Vec<Value>> = rows.chunks(count).map(|rows| self.transposed_square(rows)).collect();
            let of_component =
                |component: usize| squares.iter().map(|square| square[component]).collect::<Vec<Value>>();
            return (0..count).map(|component| self.joined(&of_component(component))).collect();
        }
        let block = (BLOCK_BITS / ty.elem.bits()).min(self.width) as usize;
        let mut packs: Vec<Vec<Value>> = vec![Vec::new(); count];
        for rows in rows.chunks(block) {
            let vectors: Vec<Value> = (0..count)
                .map(|first| {
                    let every: Vec<Value> = rows.iter().copied().skip(first).step_by(count).collect();
                    self.joined(&every)
                })
                .collect();
            for (pack, part) in packs.iter_mut().zip(self.transposed(&vectors)) {
                pack.push(part);
            }
        }
        packs.iter().map(|parts| self.joined(parts)).collect()
    }

    /// Stores a row for each lane.
    pub(super) fn store_rows(&mut self, addresses: &[Value], packs: &[Value], ty: Type, mem: MemInfo) {
        let count = ty.lanes();
        if ty.bits() > PIECE_BITS {
            for (square, addresses) in addresses.chunks(count as usize).enumerate() {
                let first = square as u32 * count;
                let parts: Vec<Value> = packs.iter().map(|&pack| self.part_of(pack, first, count)).collect();
                for (&address, row) in addresses.iter().zip(self.transposed_square(&parts)) {
                    self.at().store(address, row, mem);
                }
            }
            return;
        }
        let block = (BLOCK_BITS / ty.elem.bits()).min(self.width);
        for first in (0..self.width).step_by(block as usize) {
            let parts: Vec<Value> = packs.iter().map(|&pack| self.part_of(pack, first, block)).collect();
            let vectors = self.transposed(&parts);
            for lane in 0..block {
                let row = self.part_of(vectors[(lane % count) as usize], lane / count * count, count);
                self.at().store(addresses[(first + lane) as usize], row, mem);
            }
        }
    }

    /// Vectors one after the other; their number is a power of two.
    fn joined(&mut self, vectors: &[Value]) -> Value {
        let mut vectors = vectors.to_vec();
        while vectors.len() > 1 {
            vectors = vectors
                .chunks(2)
                .map(|pair| {
                    let lanes = 2 * self.out.dfg.ty(pair[0]).lanes() as u8;
                    self.at().shuffle(pair[0], pair[1], &(0..lanes).collect::<SmallVec<[u8; 64]>>())
                })
                .collect();
        }
        vectors[0]
    }

    /// Some lanes of a vector.
    fn part_of(&mut self, vector: Value, first: u32, count: u32) -> Value {
        if self.out.dfg.ty(vector).lanes() == count {
            return vector;
        }
        let lanes: SmallVec<[u8; 64]> = (first..first + count).map(|lane| lane as u8).collect();
        self.at().shuffle(vector, vector, &lanes)
    }

    /// Transposes the squares of elements that vectors have in each 128 bits.
    fn transposed(&mut self, vectors: &[Value]) -> SmallVec<[Value; 4]> {
        use Half::{High, Low};
        match *vectors {
            [a, b] => {
                SmallVec::from_slice(&[self.interleaved_halves(a, b, 1, Low), self.interleaved_halves(a, b, 1, High)])
            }
            [a, b, c, d] => {
                let mut all = SmallVec::new();
                for half in [Low, High] {
                    let (ab, cd) = (self.interleaved_halves(a, b, 1, half), self.interleaved_halves(c, d, 1, half));
                    all.push(self.interleaved_halves(ab, cd, 2, Low));
                    all.push(self.interleaved_halves(ab, cd, 2, High));
                }
                all
            }
            ref other => unreachable!("broken invariant: rows of {} elements", other.len()),
        }
    }

    /// Transposes vectors with as many elements as there are vectors, which are longer than 128 bits.
    fn transposed_square(&mut self, vectors: &[Value]) -> Vec<Value> {
        let ty = self.out.dfg.ty(vectors[0]);
        let held = (PIECE_BITS / ty.elem.bits()) as usize;
        // Of each group, the vector `c` has the elements `c`, `c + held`, ... of its rows in its pieces.
        let groups: Vec<SmallVec<[Value; 4]>> = vectors.chunks(held).map(|group| self.transposed(group)).collect();
        let mut columns = vec![vectors[0]; vectors.len()];
        for c in 0..held {
            let every: Vec<Value> = groups.iter().map(|group| group[c]).collect();
            for (piece, column) in self.transposed_pieces(&every).into_iter().enumerate() {
                columns[piece * held + c] = column;
            }
        }
        columns
    }

    /// Transposes the pieces of 128 bits of two or four vectors with as many pieces.
    fn transposed_pieces(&mut self, vectors: &[Value]) -> SmallVec<[Value; 4]> {
        match *vectors {
            [a, b] => (0..2).map(|piece| self.pieces_of(a, b, &[piece, piece + 2])).collect(),
            [a, b, c, d] => {
                let mut all = SmallVec::from_slice(&[a; 4]);
                for odd in 0..2 {
                    let ab = self.pieces_of(a, b, &[odd, odd + 2, odd + 4, odd + 6]);
                    let cd = self.pieces_of(c, d, &[odd, odd + 2, odd + 4, odd + 6]);
                    all[odd] = self.pieces_of(ab, cd, &[0, 2, 4, 6]);
                    all[odd + 2] = self.pieces_of(ab, cd, &[1, 3, 5, 7]);
                }
                all
            }
            ref other => unreachable!("broken invariant: rows of {} pieces", other.len()),
        }
    }

    /// Pieces of 128 bits of two vectors, numbered through both.
    fn pieces_of(&mut self, a: Value, b: Value, pieces: &[usize]) -> Value {
        let held = PIECE_BITS / self.out.dfg.ty(a).elem.bits();
        let lanes: SmallVec<[u8; 64]> =
            pieces.iter().flat_map(|&piece| (0..held).map(move |at| (piece as u32 * held + at) as u8)).collect();
        self.at().shuffle(a, b, &lanes)
    }

    /// From each 128 bits of two vectors one half, whose elements alternate in groups of `unit`.
    fn interleaved_halves(&mut self, a: Value, b: Value, unit: u32, half: Half) -> Value {
        let ty = self.out.dfg.ty(a);
        let held = PIECE_BITS / ty.elem.bits();
        let offset = match half {
            Half::Low => 0,
            Half::High => held / 2,
        };
        let lanes: SmallVec<[u8; 64]> = (0..ty.lanes())
            .map(|lane| {
                let (start, within) = (lane / held * held, lane % held);
                let group = within / unit;
                let from = start + offset + group / 2 * unit + within % unit;
                (from + if group % 2 == 1 { ty.lanes() } else { 0 }) as u8
            })
            .collect();
        self.at().shuffle(a, b, &lanes)
    }
}
