//! Allocations, slices, fills, rectangles.

use std::sync::Arc;

use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};

use super::{BASE_ALIGN, HostBuffer, MemSlice, MemoryError, OutOfBounds, RectCopy, RectError, RectLayout};

fn buffer(bytes: &[u8]) -> Arc<HostBuffer> {
    let buffer = Arc::new(HostBuffer::new(bytes.len(), 1).expect("there is memory"));
    buffer.slice().write(bytes).expect("it fits");
    buffer
}

fn bytes(slice: &MemSlice) -> Vec<u8> {
    let mut bytes = vec![0; slice.len()];
    slice.read(&mut bytes).expect("it fits");
    bytes
}

#[test]
fn allocations_are_aligned() {
    for (len, align) in [(0, 1), (1, 1), (100, 256), (5000, 4096), (1 << 20, 1), (3 << 20, 1 << 16), (9 << 20, 1)] {
        let buffer = HostBuffer::new(len, align).expect("there is memory");
        let address = buffer.as_ptr().addr();
        assert!(address.is_multiple_of(BASE_ALIGN) && address.is_multiple_of(align), "{len} {align}");
        assert!(len < 1 << 20 || address.is_multiple_of(4096));
        assert_eq!((buffer.len(), buffer.is_empty()), (len, len == 0));
        // The last byte is there.
        let buffer = Arc::new(buffer);
        if len > 0 {
            buffer.part(len - 1, 1).expect("it is inside").write(&[7]).expect("it fits");
        }
    }
}

#[test]
fn allocations_are_zeroed() {
    // Freed blocks with other content are reused.
    for len in [1, 532, 4096, 60_000, 100_000, 2 << 20] {
        for _ in 0..3 {
            let slice = HostBuffer::new(len, 1).expect("there is memory").into_slice();
            assert!(bytes(&slice).iter().all(|byte| *byte == 0), "{len}");
            slice.write(&vec![0xa5; len]).expect("it fits");
        }
    }
}

#[test]
#[expect(unsafe_code, reason = "memory beyond a buffer is accessed")]
fn allocations_have_margins() {
    for (len, margins) in [
        (4, [4, 1020]),
        (4096, [4, 1020]),
        (100_000, [16 << 10, 16 << 10]),
        (1 << 20, [1 << 20, 1 << 20]),
        (9 << 20, [1 << 20, 1 << 20]),
    ] {
        let buffer = HostBuffer::new(len, 1).expect("there is memory");
        let start = buffer.as_ptr();
        for at in [start.wrapping_sub(margins[0]), start.wrapping_add(len + margins[1] - 4)] {
            // SAFETY: the margins belong to the allocation.
            unsafe {
                assert_eq!(at.read_volatile(), 0, "{len}");
                at.write_volatile(7);
            }
        }
        assert!(bytes(&buffer.into_slice()).iter().all(|byte| *byte == 0), "{len}");
    }
}

#[test]
fn impossible_allocations_are_errors() {
    assert!(HostBuffer::new(usize::MAX, 1).is_err());
    assert!(HostBuffer::new(isize::MAX as usize, 1).is_err());
    assert!(HostBuffer::new(1 << 60, 1).is_err());
    assert!(HostBuffer::new(16, 3).is_err());
    assert!(HostBuffer::new(16, 1 << 63).is_err());
    assert!(HostBuffer::new(1 << 20, 1 << 63).is_err());
}

#[test]
fn slices_keep_their_bounds_and_memory() {
    let slice = buffer(b"0123456789").part(2, 6).expect("it is inside");
    // Only the slice keeps the buffer alive.
    assert_eq!(bytes(&slice), b"234567");
    assert_eq!(bytes(&slice.part(1, 2).expect("it is inside")), b"34");
    assert!(slice.part(6, 0).is_ok_and(|part| part.is_empty()));
    assert_eq!(slice.part(6, 1).err(), Some(OutOfBounds));
    assert_eq!(slice.part(usize::MAX, 2).err(), Some(OutOfBounds));
    assert_eq!(slice.write(b"7 bytes"), Err(MemoryError::OutOfBounds));
    assert_eq!(slice.read(&mut [0; 7]), Err(MemoryError::OutOfBounds));
    assert_eq!(slice.copy_from(&slice.part(0, 3).expect("it is inside")), Err(MemoryError::OutOfBounds));
}

#[test]
fn copies_may_overlap() {
    let buffer = buffer(b"0123456789");
    let part = |offset, len| buffer.part(offset, len).expect("it is inside");
    assert!(part(0, 5).overlaps(&part(4, 1)) && !part(0, 5).overlaps(&part(5, 5)));
    assert!(!part(3, 0).overlaps(&part(0, 10)) && !part(0, 10).overlaps(&part(3, 0)));
    part(2, 6).copy_from(&part(0, 6)).expect("the sizes agree");
    assert_eq!(bytes(&buffer.slice()), b"0101234589");
}

#[test]
fn fills_repeat_their_pattern() {
    for size in [1, 2, 3, 4, 12, 16, 64, 128] {
        for count in [0, 1, 2, 5, 1000] {
            let pattern: Vec<u8> = (0..size).map(|i| (3 * i + 1) as u8).collect();
            let buffer = buffer(&vec![0; size * count + 2]);
            let target = buffer.part(1, size * count).expect("it is inside");
            target.fill(&pattern).expect("the sizes agree");
            let mut expected = pattern.repeat(count);
            expected.insert(0, 0);
            expected.push(0);
            assert_eq!(bytes(&buffer.slice()), expected, "{size} {count}");
        }
    }
    let slice = buffer(&[0; 10]).slice();
    assert_eq!(
        (slice.fill(&[]), slice.fill(&[1, 2, 3])),
        (Err(MemoryError::OutOfBounds), Err(MemoryError::OutOfBounds))
    );
}

#[test]
fn layouts_are_checked() {
    let new = RectLayout::new;
    assert_eq!(new([0; 3], [4, 0, 1], 0, 0), Err(RectError::EmptyRegion));
    assert_eq!(new([0; 3], [4, 2, 1], 3, 0), Err(RectError::RowPitch));
    assert_eq!(new([0; 3], [4, 2, 2], 4, 7), Err(RectError::SlicePitch));
    assert_eq!(new([0; 3], [4, 2, 2], 4, 10), Err(RectError::SlicePitch));
    assert_eq!(new([0; 3], [usize::MAX, 2, 1], 0, 0), Err(RectError::Overflow));
    assert_eq!(new([1, 0, 0], [usize::MAX, 1, 1], 0, 0), Err(RectError::Overflow));
    assert_eq!(new([0, 0, usize::MAX], [4, 4, 4], 0, 0), Err(RectError::Overflow));
    let layout = new([1, 2, 3], [4, 2, 2], 0, 0).expect("it is legal");
    assert_eq!((layout.row_pitch(), layout.slice_pitch()), (4, 8));
    assert_eq!((layout.start(), layout.end()), (33, 33 + 8 + 4 + 4));
}

/// The definition: whether the two have a byte in common.
fn share_bytes(a: &RectLayout, b: &RectLayout, region: [usize; 3]) -> bool {
    let all = |layout: &RectLayout| {
        let mut offsets = Vec::new();
        for z in 0..region[2] {
            for y in 0..region[1] {
                let row = layout.start() + z * layout.slice_pitch() + y * layout.row_pitch();
                offsets.extend(row..row + region[0]);
            }
        }
        offsets
    };
    let (a, b) = (all(a), all(b));
    a.iter().any(|offset| b.contains(offset))
}

#[test]
fn overlap_as_appendix_d() {
    let region = [2, 2, 1];
    let layout = |origin| RectLayout::new(origin, region, 4, 8).expect("it is legal");
    let overlap = |a, b| RectCopy::new(region, layout(a), layout(b)).overlaps(0, 0);
    assert!(overlap([0, 0, 0], [0, 0, 0]) && overlap([0, 0, 0], [1, 1, 0]));
    // Adjacent in the same rows; in the next slice; below.
    assert!(!overlap([0, 0, 0], [2, 0, 0]) && !overlap([0, 0, 0], [0, 0, 1]) && !overlap([0, 0, 0], [0, 2, 0]));
    // Sub-buffers: the bases differ.
    assert!(RectCopy::new(region, layout([2, 0, 0]), layout([0, 0, 0])).overlaps(0, 2));
    assert!(!RectCopy::new(region, layout([0, 0, 0]), layout([0, 0, 0])).overlaps(0, 2));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn overlap_is_seen(
        region in [1usize..5, 1usize..4, 1usize..4],
        slack in [0usize..4, 0usize..3],
        a in [0usize..8, 0usize..4, 0usize..3],
        b in [0usize..8, 0usize..4, 0usize..3],
    ) {
        let row_pitch = region[0] + slack[0];
        let slice_pitch = row_pitch * (region[1] + slack[1]);
        let layout = |origin| RectLayout::new(origin, region, row_pitch, slice_pitch).expect("it is legal");
        let (a, b) = (layout(a), layout(b));
        let answer = RectCopy::new(region, a, b).overlaps(0, 0);
        // The specification's test may report an overlap where rows of one interleave with rows of the other, but never misses
        // one.
        if share_bytes(&a, &b, region) {
            assert!(answer);
        }
        prop_assert_eq!(answer, RectCopy::new(region, b, a).overlaps(0, 0));
    }

    #[test]
    fn rectangles_are_copied(
        region in [1usize..9, 1usize..5, 1usize..4],
        from in [0usize..4, 0usize..3, 0usize..2],
        to in [0usize..4, 0usize..3, 0usize..2],
        slack in [0usize..3, 0usize..3, 0usize..3, 0usize..3],
        tight in any::<bool>(),
    ) {
        let slack = if tight { [0; 4] } else { slack };
        let layout = |origin, row: usize, slice: usize| {
            let row_pitch = region[0] + row;
            RectLayout::new(origin, region, row_pitch, row_pitch * (region[1] + slice)).expect("it is legal")
        };
        let rect = RectCopy::new(region, layout(from, slack[0], slack[1]), layout(to, slack[2], slack[3]));
        let source: Vec<u8> = (0..rect.src.end()).map(|i| i as u8).collect();
        let source_buffer = buffer(&source);
        let target = buffer(&vec![0xff; rect.dst.end()]);
        target.slice().copy_rect_from(&source_buffer.slice(), &rect).expect("they fit");
        let mut expected = vec![0xff; rect.dst.end()];
        for z in 0..region[2] {
            for y in 0..region[1] {
                for x in 0..region[0] {
                    let at = |layout: &RectLayout| layout.start() + z * layout.slice_pitch() + y * layout.row_pitch() + x;
                    expected[at(&rect.dst)] = source[at(&rect.src)];
                }
            }
        }
        prop_assert_eq!(bytes(&target.slice()), expected);
        if rect.dst.end() > 1 {
            let short = target.part(1, rect.dst.end() - 1).expect("it is inside");
            prop_assert_eq!(short.copy_rect_from(&source_buffer.slice(), &rect), Err(MemoryError::OutOfBounds));
        }
    }
}
