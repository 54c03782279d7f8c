//! Small private arrays.

use crate::work::{Random, Tolerance, Work, args};

pub(super) fn digit_counts() -> Work {
    const ITEMS: usize = 16 << 10;
    const PER_ITEM: usize = 128;
    const DIGITS: usize = 16;
    const SHIFT: u32 = 8;
    let mut work = Work::default();
    let keys = Random::new(80).words(ITEMS * PER_ITEM);
    let input = work.input(&keys);
    let output = work.output(ITEMS * DIGITS, Tolerance::EXACT, move || {
        let mut counts = vec![0u32; ITEMS * DIGITS];
        for (k, key) in keys.iter().enumerate() {
            let digit = (key >> SHIFT) as usize % DIGITS;
            counts[digit * ITEMS + k % ITEMS] += 1;
        }
        counts
    });
    work.launch("digit_counts", args![input, output, PER_ITEM as i32, SHIFT as i32], &[ITEMS], &[64]);
    work
}

pub(super) fn median_filter() -> Work {
    const SIZE: usize = 1024;
    let mut work = Work::default();
    let pixels = Random::new(81).bytes(SIZE * SIZE);
    let input = work.input(&pixels);
    let output = work.output(SIZE * SIZE, Tolerance::EXACT, move || {
        let median = |at: usize| {
            let (x, y) = (at % SIZE, at / SIZE);
            if [x, y].iter().any(|&place| place == 0 || place == SIZE - 1) {
                return pixels[at];
            }
            let mut near: Vec<u8> = (0..9).map(|k| pixels[(y + k / 3 - 1) * SIZE + x + k % 3 - 1]).collect();
            near.sort_unstable();
            near[4]
        };
        (0..SIZE * SIZE).map(median).collect::<Vec<u8>>()
    });
    work.launch("median_filter", args![input, output, SIZE as i32, SIZE as i32], &[SIZE, SIZE], &[64, 4]);
    work
}

pub(super) fn keccak() -> Work {
    const STATES: usize = 32 << 10;
    const WORDS: usize = 25;
    let mut work = Work::default();
    let mut random = Random::new(82);
    let states: Vec<u64> = (0..STATES * WORDS).map(|_| random.bits()).collect();
    let input = work.input(&states);
    let output = work.output(STATES * WORDS, Tolerance::EXACT, move || {
        let mut permuted = states;
        for item in 0..STATES {
            let mut state: [u64; WORDS] = std::array::from_fn(|i| permuted[i * STATES + item]);
            permute(&mut state);
            for (i, word) in state.into_iter().enumerate() {
                permuted[i * STATES + item] = word;
            }
        }
        permuted
    });
    work.launch("keccak", args![input, output], &[STATES], &[64]);
    work
}

/// Keccak-f with 1600 bits, as FIPS 202 describes it: word (x, y) is at x + 5 y.
fn permute(state: &mut [u64; 25]) {
    let mut bits = 1u8;
    for _ in 0..24 {
        let column = |x: usize| (0..5).fold(0, |sum, y| sum ^ state[x % 5 + 5 * y]);
        let columns: [u64; 5] = std::array::from_fn(column);
        for (at, word) in state.iter_mut().enumerate() {
            let x = at % 5;
            *word ^= columns[(x + 4) % 5] ^ columns[(x + 1) % 5].rotate_left(1);
        }
        let (mut x, mut y, mut moved) = (1, 0, state[1]);
        for t in 0..24 {
            (x, y) = (y, (2 * x + 3 * y) % 5);
            let next = state[x + 5 * y];
            state[x + 5 * y] = moved.rotate_left((t + 1) * (t + 2) / 2);
            moved = next;
        }
        for row in state.chunks_mut(5) {
            let old: [u64; 5] = std::array::from_fn(|x| row[x]);
            for (x, word) in row.iter_mut().enumerate() {
                *word ^= !old[(x + 1) % 5] & old[(x + 2) % 5];
            }
        }
        // The round's constant: bits of a shift register, at the places 2^j - 1.
        for j in 0..7 {
            state[0] ^= u64::from(bits & 1) << ((1 << j) - 1);
            bits = (bits << 1) ^ (if bits & 0x80 == 0 { 0 } else { 0x71 });
        }
    }
}
