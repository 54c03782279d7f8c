//! The pieces that a slot is split into, and how values are assembled from and split into pieces.

use std::collections::BTreeSet;

use clift_kir::{Builder, Elem, Opcode, Type, Value};

/// A piece of a slot, which becomes a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotPiece {
    /// First byte.
    pub(super) start: u64,
    /// Its type, which has as many bytes as the piece.
    pub(super) ty: Type,
}

impl SlotPiece {
    fn end(&self) -> u64 {
        self.start + u64::from(self.ty.bytes())
    }
}

/// The pieces of a slot. Accesses are collected first; [`SlotPieces::finish`] then determines the pieces.
#[derive(Debug, Default)]
pub(super) struct SlotPieces {
    cuts: BTreeSet<u64>,
    accesses: Vec<(u64, Type)>,
    list: Vec<SlotPiece>,
}

impl SlotPieces {
    /// Records an access.
    pub(super) fn add(&mut self, offset: u64, ty: Type) {
        self.cut(offset, u64::from(ty.bytes()));
        if !self.accesses.contains(&(offset, ty)) {
            self.accesses.push((offset, ty));
        }
    }

    /// Records a range that is accessed as a whole, so that pieces must not cross its bounds.
    pub(super) fn cut(&mut self, offset: u64, bytes: u64) {
        self.cuts.insert(offset);
        self.cuts.insert(offset + bytes);
    }

    /// Splits at an offset. Returns false if there was a split already.
    pub(super) fn cut_at(&mut self, offset: u64) -> bool {
        self.cuts.insert(offset)
    }

    /// The splits strictly within a range.
    pub(super) fn cuts_within(&self, offset: u64, bytes: u64) -> Vec<u64> {
        self.cuts.range(offset..offset + bytes).copied().filter(|&c| c > offset).collect()
    }

    /// Determines the type of each piece. Returns false if a piece is too large to be a value, or if an accessed value is too
    /// large to be split.
    pub(super) fn finish(&mut self) -> bool {
        let cuts: Vec<u64> = self.cuts.iter().copied().collect();
        self.list.clear();
        for pair in cuts.windows(2) {
            let (start, bytes) = (pair[0], pair[1] - pair[0]);
            let Some(mut parts) = self.types_of(start, bytes) else { return false };
            let mut at = start;
            for ty in parts.drain(..) {
                self.list.push(SlotPiece { start: at, ty });
                at += u64::from(ty.bytes());
            }
        }
        self.accesses.iter().all(|&(offset, ty)| self.fits(offset, ty))
    }

    /// Whether an accessed value can be assembled from its pieces and split into them. At boundaries inside an element this takes
    /// a vector of the value's bytes.
    fn fits(&self, offset: u64, ty: Type) -> bool {
        let (bytes, elem) = (u64::from(ty.bytes()), u64::from(ty.elem.bytes()));
        let whole = |piece: &SlotPiece| {
            (piece.start - offset).is_multiple_of(elem) && (piece.end() - offset).is_multiple_of(elem)
        };
        ty.bytes() <= Type::MAX_LANES || self.within(offset, bytes).all(|(_, piece)| whole(piece))
    }

    /// The types for a range without splits: the type of an access to exactly that range, a run of the elements of an access
    /// around it, or integers for ranges that are only copied and filled.
    fn types_of(&self, start: u64, bytes: u64) -> Option<Vec<Type>> {
        if let Some(&(_, ty)) = self.accesses.iter().find(|(o, t)| *o == start && u64::from(t.bytes()) == bytes) {
            return Some(vec![ty]);
        }
        for &(offset, ty) in &self.accesses {
            let elem = u64::from(ty.elem.bytes());
            let covers = offset <= start && start + bytes <= offset + u64::from(ty.bytes());
            if covers && (start - offset).is_multiple_of(elem) && bytes.is_multiple_of(elem) {
                return Some(vec![Type::new(ty.elem, (bytes / elem) as u32)?]);
            }
        }
        let touched = self.accesses.iter().any(|(o, t)| *o < start + bytes && start < *o + u64::from(t.bytes()));
        if touched {
            return match bytes {
                1 | 2 | 4 | 8 => Some(vec![Type::scalar(Elem::int(bytes as u32 * 8)?)]),
                _ => Some(vec![Type::new(Elem::I8, u32::try_from(bytes).ok()?)?]),
            };
        }
        let mut types = Vec::new();
        let mut left = bytes;
        for (size, ty) in [(8, Type::I64), (4, Type::I32), (2, Type::I16), (1, Type::I8)] {
            while left >= size {
                types.push(ty);
                left -= size;
                if types.len() > 256 {
                    return None;
                }
            }
        }
        Some(types)
    }

    /// All pieces, in order.
    pub(super) fn list(&self) -> &[SlotPiece] {
        &self.list
    }

    /// The pieces within a range, with their indices.
    pub(super) fn within(&self, offset: u64, bytes: u64) -> impl Iterator<Item = (usize, &SlotPiece)> {
        let first = self.list.partition_point(|p| p.start < offset);
        self.list[first..]
            .iter()
            .enumerate()
            .map(move |(i, p)| (first + i, p))
            .take_while(move |(_, p)| p.end() <= offset + bytes)
    }
}

/// The same bits as another type of the same size.
pub(super) fn reinterpret(b: &mut Builder<'_>, value: Value, ty: Type) -> Value {
    let from = b.ty(value);
    if from == ty {
        return value;
    }
    let value = if from.is_ptr() { b.cast(Opcode::PtrToInt, value, from.as_int()) } else { value };
    let middle = if ty.is_ptr() { ty.as_int() } else { ty };
    let value = if b.ty(value) == middle { value } else { b.cast(Opcode::Bitcast, value, middle) };
    if ty.is_ptr() { b.cast(Opcode::IntToPtr, value, ty) } else { value }
}

/// The part of a value with the given offset and type.
pub(super) fn part(b: &mut Builder<'_>, value: Value, offset: u64, ty: Type) -> Value {
    let from = b.ty(value);
    if from.bytes() == ty.bytes() {
        return reinterpret(b, value, ty);
    }
    let elem = from.elem.bytes();
    let (start, bytes) = (offset as u32, ty.bytes());
    if start.is_multiple_of(elem) && bytes.is_multiple_of(elem) {
        let lanes: Vec<u8> = (start / elem..(start + bytes) / elem).map(|l| l as u8).collect();
        let piece = if let [lane] = *lanes { b.extract(value, lane.into()) } else { b.shuffle(value, value, &lanes) };
        return reinterpret(b, piece, ty);
    }
    if !from.is_vector()
        && let Some(int) = Elem::int(bytes * 8)
    {
        let word = reinterpret(b, value, from.as_int());
        let count = b.iconst(from.as_int(), i64::from(start * 8));
        let shifted = b.int2(Opcode::Lshr, word, count);
        let piece = b.cast(Opcode::Itrunc, shifted, Type::scalar(int));
        return reinterpret(b, piece, ty);
    }
    let bytes_of = as_bytes(b, value);
    let lanes: Vec<u8> = (start..start + bytes).map(|l| l as u8).collect();
    let piece =
        if let [lane] = *lanes { b.extract(bytes_of, lane.into()) } else { b.shuffle(bytes_of, bytes_of, &lanes) };
    reinterpret(b, piece, ty)
}

fn as_bytes(b: &mut Builder<'_>, value: Value) -> Value {
    let ty = Type::vector(Elem::I8, b.ty(value).bytes());
    reinterpret(b, value, ty)
}

/// Assembles a value from parts, which are given with their offsets. Bytes that no part covers are unspecified.
pub(super) fn assemble(b: &mut Builder<'_>, ty: Type, parts: &[(u64, Value)]) -> Value {
    if let [(0, value)] = *parts
        && b.ty(value).bytes() == ty.bytes()
    {
        return reinterpret(b, value, ty);
    }
    let elem = ty.elem.bytes();
    let aligned = parts.iter().all(|&(at, v)| (at as u32).is_multiple_of(elem) && b.ty(v).bytes().is_multiple_of(elem));
    if aligned {
        let mut elements = vec![None; ty.lanes() as usize];
        for &(at, value) in parts {
            let lanes = b.ty(value).bytes() / elem;
            let run = reinterpret(b, value, ty.with_lanes(lanes));
            for lane in 0..lanes {
                elements[at as usize / elem as usize + lane as usize] = Some(b.extract(run, lane));
            }
        }
        let elements: Vec<Value> = elements.into_iter().map(|e| e.unwrap_or_else(|| b.undef(ty.lane()))).collect();
        return b.vec(&elements);
    }
    if !ty.is_vector() {
        let int = ty.as_int();
        let mut word = b.iconst(int, 0);
        for &(at, value) in parts {
            let from = b.ty(value);
            let bits = if let Some(elem) = Elem::int(from.bytes() * 8) {
                let part = reinterpret(b, value, Type::scalar(elem));
                b.int_resize(part, int.elem, false)
            } else {
                // Odd sizes: byte by byte.
                let bytes = as_bytes(b, value);
                let mut sum = b.iconst(int, 0);
                for lane in 0..from.bytes() {
                    let byte = b.extract(bytes, lane);
                    let byte = b.int_resize(byte, int.elem, false);
                    let count = b.iconst(int, i64::from(lane * 8));
                    let byte = b.int2(Opcode::Shl, byte, count);
                    sum = b.int2(Opcode::Or, sum, byte);
                }
                sum
            };
            let count = b.iconst(int, at as i64 * 8);
            let bits = b.int2(Opcode::Shl, bits, count);
            word = b.int2(Opcode::Or, word, bits);
        }
        return reinterpret(b, word, ty);
    }
    let mut bytes = vec![None; ty.bytes() as usize];
    for &(at, value) in parts {
        let run = as_bytes(b, value);
        for lane in 0..b.ty(run).lanes() {
            bytes[at as usize + lane as usize] = Some(b.extract(run, lane));
        }
    }
    let bytes: Vec<Value> = bytes.into_iter().map(|e| e.unwrap_or_else(|| b.undef(Type::I8))).collect();
    let bytes = b.vec(&bytes);
    reinterpret(b, bytes, ty)
}
