//! The last step of emission: branch relaxation, which gives jumps over short distances their short forms, and the alignment of
//! loops.
//!
//! Emission appends the bytes of instructions, and notes where blocks begin, where jumps belong, and where the source location
//! changes. Places are final only here. The loops that contain no others begin where they take the fewest lines of the
//! instruction cache: a short loop across two lines takes up to a third more time (Zen 4, shifting elements of an insertion
//! sort: 1.3 and 1.6 ns).
//!
//! All steps are linear in the code.

use clift_kir::Loc;
use regalloc2::Block;

/// Bytes of a line of the instruction cache, and of what the processor fetches or keeps decoded at a time.
const LINE: usize = 64;
/// Loops of more lines are left where they are.
const MAX_LINES: usize = 8;
/// How often jumps are made shorter; each time may bring more targets near.
const ROUNDS: usize = 3;
/// The opcode of an unconditional jump with a displacement of one byte. Conditional ones are 0x70 to 0x7f.
pub(super) const JUMP: u8 = 0xeb;

/// What belongs between the instructions.
#[derive(Clone, Copy, Debug)]
enum LayoutItem {
    /// A block begins.
    Start(Block),
    /// A jump with this short opcode.
    Jump(u8, Block),
    /// The source location changes.
    Loc(Loc),
}

/// Code whose jumps have no form yet.
#[derive(Debug, Default)]
pub(super) struct CodeLayout {
    /// The bytes of all other instructions.
    bytes: Vec<u8>,
    /// With their offsets in `bytes`, in order.
    items: Vec<(usize, LayoutItem)>,
}

/// Code with everything at its final place.
#[derive(Debug)]
pub(super) struct PlacedBytes {
    pub(super) bytes: Vec<u8>,
    /// Offsets at which the source location changes.
    pub(super) marks: Vec<(usize, Loc)>,
    /// Where blocks begin, as far as they are emitted.
    pub(super) starts: Vec<Option<usize>>,
    /// By item, its offset in the instructions, and how far they have moved from there on.
    moved: Vec<(usize, usize)>,
}

impl PlacedBytes {
    /// The final offset of a byte of an instruction that had the offset `at`.
    pub(super) fn place(&self, at: usize) -> usize {
        let before = self.moved.partition_point(|&(item, _)| item <= at);
        at + before.checked_sub(1).map_or(0, |last| self.moved[last].1)
    }
}

impl CodeLayout {
    /// The bytes of the instructions, to append others.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// A block begins here.
    pub(super) fn start(&mut self, block: Block) {
        self.items.push((self.bytes.len(), LayoutItem::Start(block)));
    }

    /// A jump with this short opcode belongs here.
    pub(super) fn jump(&mut self, opcode: u8, to: Block) {
        self.items.push((self.bytes.len(), LayoutItem::Jump(opcode, to)));
    }

    /// The instructions that follow have another source location.
    pub(super) fn loc(&mut self, loc: Loc) {
        self.items.push((self.bytes.len(), LayoutItem::Loc(loc)));
    }

    /// Gives all blocks of a function, of which there are `blocks`, and all jumps their places.
    pub(super) fn place(self, blocks: usize) -> PlacedBytes {
        let mut start_item = vec![None; blocks];
        for (number, &(_, item)) in self.items.iter().enumerate() {
            if let LayoutItem::Start(block) = item {
                start_item[block.index()] = Some(number);
            }
        }
        let start_of = |block: Block| {
            start_item[block.index()].unwrap_or_else(|| unreachable!("broken invariant: {block:?} not emitted"))
        };
        let loop_ends = self.innermost_loops(start_of);
        // Sizes of jumps, first in their long forms.
        let mut sizes: Vec<usize> = self.items.iter().map(|&(_, item)| long_bytes(item)).collect();
        for _ in 0..ROUNDS {
            let (places, paddings) = self.places(&sizes, &loop_ends);
            let mut changed = false;
            for (number, &(_, item)) in self.items.iter().enumerate() {
                let LayoutItem::Jump(_, to) = item else { continue };
                let (from, to) = (number, start_of(to));
                // What lies between, if all loops there are moved as far as can be.
                let padded = paddings[to.max(from)] - paddings[to.min(from)];
                let (distance, most) = if to > from {
                    (places[to] - places[from], 127)
                } else {
                    (places[from] - sizes[number] + 2 - places[to], 128)
                };
                if sizes[number] > 2 && distance + padded <= most {
                    sizes[number] = 2;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        self.assemble(&sizes, &loop_ends, blocks, start_of)
    }

    /// By item, the place after it without padding, and the most padding up to it.
    fn places(&self, sizes: &[usize], loop_ends: &[Option<usize>]) -> (Vec<usize>, Vec<usize>) {
        let (mut added, mut padding) = (0, 0);
        let each = self.items.iter().zip(sizes).zip(loop_ends);
        each.map(|((&(at, _), size), end)| {
            added += size;
            padding += if end.is_some() { LINE - 1 } else { 0 };
            (at + added, padding)
        })
        .unzip()
    }

    /// For the starts of loops that contain no other loop, the item of the last jump back to them.
    fn innermost_loops(&self, start_of: impl Fn(Block) -> usize) -> Vec<Option<usize>> {
        let mut ends: Vec<Option<usize>> = vec![None; self.items.len()];
        for (number, &(_, item)) in self.items.iter().enumerate() {
            if let LayoutItem::Jump(_, to) = item
                && start_of(to) <= number
            {
                ends[start_of(to)] = Some(number);
            }
        }
        let mut next = usize::MAX;
        for number in (0..ends.len()).rev() {
            if let Some(end) = ends[number] {
                if end > next {
                    ends[number] = None;
                }
                next = number;
            }
        }
        ends
    }

    fn assemble(
        self,
        sizes: &[usize],
        loop_ends: &[Option<usize>],
        blocks: usize,
        start_of: impl Fn(Block) -> usize,
    ) -> PlacedBytes {
        let (unpadded, _) = self.places(sizes, loop_ends);
        let mut placed = PlacedBytes {
            bytes: Vec::with_capacity(self.bytes.len() + self.items.len()),
            marks: Vec::new(),
            starts: vec![None; blocks],
            moved: Vec::with_capacity(self.items.len()),
        };
        let mut jumps = Vec::new();
        let mut copied = 0;
        for (number, &(at, item)) in self.items.iter().enumerate() {
            placed.bytes.extend_from_slice(&self.bytes[copied..at]);
            copied = at;
            match item {
                LayoutItem::Start(block) => {
                    if let Some(end) = loop_ends[number] {
                        let padding = padding(placed.bytes.len(), unpadded[end] - unpadded[number]);
                        pad(&mut placed.bytes, padding);
                    }
                    placed.starts[block.index()] = Some(placed.bytes.len());
                }
                LayoutItem::Jump(opcode, to) => {
                    match (sizes[number], opcode) {
                        (2, _) => placed.bytes.push(opcode),
                        (_, JUMP) => placed.bytes.push(0xe9),
                        _ => placed.bytes.extend([0x0f, opcode + 0x10]),
                    }
                    let bytes = if sizes[number] == 2 { 1 } else { 4 };
                    jumps.push((placed.bytes.len(), bytes, to));
                    placed.bytes.extend_from_slice(&[0; 4][..bytes]);
                }
                LayoutItem::Loc(loc) => placed.marks.push((placed.bytes.len(), loc)),
            }
            placed.moved.push((at, placed.bytes.len() - at));
        }
        placed.bytes.extend_from_slice(&self.bytes[copied..]);
        for (at, bytes, to) in jumps {
            let target =
                placed.starts[to.index()].unwrap_or_else(|| unreachable!("broken invariant: {to:?} not emitted"));
            let distance = target as i64 - (at + bytes) as i64;
            debug_assert!(bytes == 4 || i8::try_from(distance).is_ok(), "{distance} to {}", start_of(to));
            placed.bytes[at..at + bytes].copy_from_slice(&(distance as i32).to_le_bytes()[..bytes]);
        }
        placed
    }
}

/// The most bytes that an item takes.
fn long_bytes(item: LayoutItem) -> usize {
    match item {
        LayoutItem::Start(_) | LayoutItem::Loc(_) => 0,
        LayoutItem::Jump(JUMP, _) => 5,
        LayoutItem::Jump(..) => 6,
    }
}

/// The padding before a loop of so many bytes, so that it takes no more lines than it must.
fn padding(at: usize, bytes: usize) -> usize {
    let lines = bytes.div_ceil(LINE);
    let in_line = at % LINE;
    let crosses_more = (in_line + bytes).div_ceil(LINE) > lines;
    if crosses_more && lines <= MAX_LINES { LINE - in_line } else { 0 }
}

/// The recommended forms of one instruction without effect, of one to nine bytes (Intel's manual, volume 2, NOP).
const NOPS: [&[u8]; 9] = [
    &[0x90],
    &[0x66, 0x90],
    &[0x0f, 0x1f, 0x00],
    &[0x0f, 0x1f, 0x40, 0x00],
    &[0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
    &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
    &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
];

/// Appends instructions without effect.
fn pad(bytes: &mut Vec<u8>, mut padding: usize) {
    while let Some(longest) = padding.min(NOPS.len()).checked_sub(1) {
        bytes.extend_from_slice(NOPS[longest]);
        padding -= longest + 1;
    }
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions, Mnemonic};

    use super::*;

    /// Blocks of so many bytes, each followed by the jumps with these opcodes and targets.
    fn place(blocks: &[(usize, &[(u8, usize)])]) -> PlacedBytes {
        let mut layout = CodeLayout::default();
        for (number, (bytes, jumps)) in blocks.iter().enumerate() {
            layout.start(Block::new(number));
            let end = layout.bytes().len() + bytes;
            layout.bytes().resize(end, 0x90);
            for &(opcode, to) in *jumps {
                layout.jump(opcode, Block::new(to));
            }
        }
        layout.place(blocks.len())
    }

    /// For each jump its bytes and the block that it leads to.
    fn jumps(placed: &PlacedBytes) -> Vec<(usize, usize)> {
        let decoded = Decoder::with_ip(64, &placed.bytes, 0, DecoderOptions::NONE);
        let jumps = decoded.into_iter().filter(|inst| inst.mnemonic() != Mnemonic::Nop);
        jumps
            .map(|inst| {
                let to = inst.near_branch_target() as usize;
                (inst.len(), placed.starts.iter().position(|&start| start == Some(to)).expect("a block"))
            })
            .collect()
    }

    #[test]
    fn jumps_are_as_short_as_their_distances_allow() {
        let forward = |bytes| jumps(&place(&[(3, &[(JUMP, 2)]), (bytes, &[]), (1, &[])]));
        assert_eq!(forward(127), [(2, 2)]);
        assert_eq!(forward(128), [(5, 2)]);
        let back = |bytes| jumps(&place(&[(3, &[]), (bytes, &[(0x75, 1)]), (1, &[])]));
        assert_eq!(back(126), [(2, 1)]);
        assert_eq!(back(127), [(6, 1)]);
        // A jump may be short only once another one is.
        let both = jumps(&place(&[(0, &[(0x74, 2)]), (123, &[(JUMP, 3)]), (1, &[]), (1, &[])]));
        assert_eq!(both, [(2, 2), (2, 3)]);
    }

    /// Whatever lies between, jumps lead to their blocks.
    #[test]
    fn jumps_lead_to_their_blocks() {
        for bytes in 3..200 {
            let placed = place(&[
                (bytes, &[(0x74, 3)]),
                (bytes / 2, &[]),
                (50, &[(0x75, 2), (JUMP, 1)]),
                (bytes / 3, &[(0x72, 0), (JUMP, 5)]),
                (64, &[(0x73, 4)]),
                (1, &[]),
            ]);
            let targets: Vec<usize> = jumps(&placed).into_iter().map(|(_, to)| to).collect();
            assert_eq!(targets, [3, 2, 1, 0, 5, 4], "{bytes}");
        }
    }

    #[test]
    fn innermost_loops_take_the_fewest_lines() {
        for before in 0..130 {
            for bytes in [8, 40, 62, 63, 100, 126, 127] {
                let placed = place(&[(before, &[]), (7, &[]), (bytes, &[(0x75, 2)]), (9, &[(0x75, 1)])]);
                let [_, Some(outer), Some(inner), Some(end)] = placed.starts[..] else { panic!("not emitted") };
                let lines = (end - 1) / LINE - inner / LINE + 1;
                assert_eq!(lines, (end - inner).div_ceil(LINE), "{before} {bytes}");
                // The loop around it stays where it is.
                assert_eq!(outer, before);
            }
        }
    }

    #[test]
    fn offsets_of_instructions_move_with_them() {
        let placed = place(&[(60, &[(JUMP, 2)]), (4, &[]), (10, &[(0x75, 2)]), (3, &[])]);
        assert_eq!([placed.place(0), placed.place(59), placed.place(60)], [0, 59, 62]);
        let [_, Some(second), Some(inner), Some(end)] = placed.starts[..] else { panic!("not emitted") };
        assert_eq!([placed.place(61), placed.place(65), placed.place(75)], [second + 1, inner + 1, end + 1]);
    }
}
