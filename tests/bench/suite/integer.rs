//! Integer arithmetic, small types, private arrays, atomics.

use crate::work::{Random, Tolerance, Work, args};

pub(super) fn sha256() -> Work {
    const MESSAGES: usize = 32 << 10;
    let mut work = Work::default();
    let messages = Random::new(40).words(16 * MESSAGES);
    let input = work.input(&messages);
    let output = work.output(8 * MESSAGES, Tolerance::EXACT, move || {
        let sha = Sha256::new();
        messages.as_chunks().0.iter().flat_map(|message| sha.digest(message)).collect::<Vec<u32>>()
    });
    work.launch("sha256", args![input, output], &[MESSAGES], &[64]);
    work
}

/// SHA-256 with its constants, which are the first fractional bits of roots of the first primes.
struct Sha256 {
    state: [u32; 8],
    rounds: [u32; 64],
}

impl Sha256 {
    fn new() -> Self {
        let fraction = |root: f64| (root.fract() * 2.0_f64.powi(32)) as u32;
        let is_prime = |n: &u32| !(2..*n).any(|divisor| n.is_multiple_of(divisor));
        let primes: Vec<f64> = (2..).filter(is_prime).take(64).map(f64::from).collect();
        Self {
            state: std::array::from_fn(|i| fraction(primes[i].sqrt())),
            rounds: std::array::from_fn(|i| fraction(primes[i].cbrt())),
        }
    }

    /// The digest of a message of 64 bytes, both in big-endian words.
    fn digest(&self, message: &[u32; 16]) -> [u32; 8] {
        let mut padding = [0; 16];
        (padding[0], padding[15]) = (0x8000_0000, 512);
        self.compress(&self.compress(&self.state, message), &padding)
    }

    fn compress(&self, state: &[u32; 8], block: &[u32; 16]) -> [u32; 8] {
        let mut w = [0_u32; 64];
        w[..16].copy_from_slice(block);
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
            w[i] = w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
        for (w, k) in w.iter().zip(&self.rounds) {
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let t1 = h.wrapping_add(s1).wrapping_add((e & f) ^ (!e & g)).wrapping_add(*k).wrapping_add(*w);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let t2 = s0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
        }
        let mixed = [a, b, c, d, e, f, g, h];
        std::array::from_fn(|i| state[i].wrapping_add(mixed[i]))
    }
}

pub(super) fn philox() -> Work {
    const ITEMS: usize = 64 << 10;
    const STEPS: i32 = 32;
    const KEY: [u32; 2] = [0x1234_5678, 0x9ABC_DEF0];
    let mut work = Work::default();
    let output = work.output(4 * ITEMS, Tolerance::EXACT, || {
        let numbers = |item: u32, step: u32| {
            let (mut x, mut key) = ([item, step, 0, 0], KEY);
            for _ in 0..10 {
                let wide = [0xD251_1F53_u64 * u64::from(x[0]), 0xCD9E_8D57_u64 * u64::from(x[2])];
                let high = wide.map(|product| (product >> 32) as u32);
                x = [high[1] ^ x[1] ^ key[0], wide[1] as u32, high[0] ^ x[3] ^ key[1], wide[0] as u32];
                key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
            }
            x
        };
        let sum = |a: [u32; 4], b: [u32; 4]| std::array::from_fn(|i| a[i].wrapping_add(b[i]));
        let item = |item| (0..STEPS as u32).map(|step| numbers(item, step)).fold([0; 4], sum);
        (0..ITEMS as u32).flat_map(item).collect::<Vec<u32>>()
    });
    work.launch("philox", args![output, KEY[0], KEY[1], STEPS], &[ITEMS], &[64]);
    work
}

pub(super) fn xorshift() -> Work {
    const ITEMS: usize = 64 << 10;
    const SAMPLES: i32 = 128;
    let mut work = Work::default();
    let seeds = Random::new(41).words(ITEMS);
    let input = work.input(&seeds);
    // Both squares may be rounded or not.
    let output = work.output(ITEMS, Tolerance::EXACT.except(0.001), move || {
        let count = |seed: &u32| {
            let mut state = seed | 1;
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                (state >> 8) as f32 / 16_777_216.0
            };
            (0..SAMPLES).map(|_| [next(), next()]).filter(|[x, y]| x * x + y * y < 1.0).count() as i32
        };
        seeds.iter().map(count).collect()
    });
    work.launch("xorshift", args![input, output, SAMPLES], &[ITEMS], &[]);
    work
}

pub(super) fn mix64() -> Work {
    const WORDS: usize = 256 << 10;
    const ROUNDS: i32 = 16;
    let mut work = Work::default();
    let mut random = Random::new(42);
    let words: Vec<u64> = (0..WORDS).map(|_| random.bits()).collect();
    let input = work.input(&words);
    let output = work.output(WORDS, Tolerance::EXACT, move || {
        let round = |h: u64, _| {
            let h = h.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let h = (h ^ (h >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let h = (h ^ (h >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (h ^ (h >> 31)).rotate_left(23)
        };
        words.iter().map(|word| (0..ROUNDS).fold(*word, round)).collect()
    });
    work.launch("mix64", args![input, output, ROUNDS], &[WORDS], &[256]);
    work
}

pub(super) fn grayscale() -> Work {
    const PIXELS: usize = 2048 * 2048;
    let mut work = Work::default();
    let picture = Random::new(43).bytes(4 * PIXELS);
    let input = work.input(&picture);
    let output = work.output(PIXELS, Tolerance::EXACT, move || {
        let weight = |[r, g, b, _]: &[u8; 4]| 77 * u32::from(*r) + 150 * u32::from(*g) + 29 * u32::from(*b);
        picture.as_chunks().0.iter().map(|pixel| ((weight(pixel) + 128) >> 8) as u8).collect()
    });
    work.launch("grayscale", args![input, output], &[PIXELS], &[]);
    work
}

pub(super) fn box_blur() -> Work {
    const SIDE: usize = 1024;
    const RADIUS: usize = 2;
    let mut work = Work::default();
    let picture = Random::new(44).bytes(SIDE * SIDE);
    let input = work.input(&picture);
    let output = work.output(SIDE * SIDE, Tolerance::EXACT, move || {
        let span = |at: usize| at.saturating_sub(RADIUS)..(at + RADIUS + 1).min(SIDE);
        let pixel = |i: usize| {
            let (across, down) = (span(i % SIDE), span(i / SIDE));
            let count = (across.len() * down.len()) as u32;
            let row = |y: usize| picture[y * SIDE..][across.clone()].iter().copied().map(u32::from).sum::<u32>();
            (down.map(row).sum::<u32>() / count) as u8
        };
        (0..SIDE * SIDE).map(pixel).collect()
    });
    work.launch("box_blur", args![input, output, SIDE as i32, SIDE as i32], &[SIDE, SIDE], &[32, 8]);
    work
}

pub(super) fn histogram() -> Work {
    const BINS: usize = 256;
    const GROUP: usize = 256;
    const PER_ITEM: usize = 32;
    const BYTES: usize = 8 << 20;
    let mut work = Work::default();
    let mut random = Random::new(45);
    // Middle values are more frequent, as in pictures.
    let bytes: Vec<u8> = (0..BYTES).map(|_| ((random.below(256) + random.below(256)) / 2) as u8).collect();
    let input = work.input(&bytes);
    let output = work.output(BINS, Tolerance::EXACT, move || {
        let mut counts = vec![0_u32; BINS];
        bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        counts
    });
    work.launch("clear", args![output], &[BINS], &[]);
    work.launch("histogram", args![input, output, PER_ITEM as i32], &[BYTES / PER_ITEM], &[GROUP]);
    work
}

pub(super) fn compaction() -> Work {
    const COUNT: usize = 2 << 20;
    const GROUP: usize = 256;
    let mixed = |word: u32| {
        (0..8).fold(word, |x, _| {
            let x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
            (x ^ (x >> 15)).wrapping_mul(0x846c_a68b)
        })
    };
    let mut work = Work::default();
    let words = Random::new(48).words(COUNT);
    let input = work.input(&words);
    let output = work.output(COUNT, Tolerance::EXACT, move || {
        words.iter().map(|&word| if word % 4 == 0 { mixed(word) } else { 0 }).collect()
    });
    work.launch("compaction", args![input, output], &[COUNT], &[GROUP]);
    work
}

pub(super) fn edit_distance() -> Work {
    const PAIRS: usize = 16 << 10;
    const LENGTH: usize = 32;
    let mut work = Work::default();
    let mut random = Random::new(46);
    let mut letters = |count: usize| -> Vec<u8> { (0..count).map(|_| b'a' + random.below(4) as u8).collect() };
    let (left, right) = (letters(PAIRS * LENGTH), letters(PAIRS * LENGTH));
    let inputs = [work.input(&left), work.input(&right)];
    let output = work.output(PAIRS, Tolerance::EXACT, move || {
        let distance = |(a, b): (&[u8], &[u8])| {
            let mut table = [[0_i32; LENGTH + 1]; LENGTH + 1];
            for y in 0..=LENGTH {
                for x in 0..=LENGTH {
                    table[y][x] = if x == 0 || y == 0 {
                        (x + y) as i32
                    } else {
                        let replaced = table[y - 1][x - 1] + i32::from(a[y - 1] != b[x - 1]);
                        replaced.min(table[y - 1][x] + 1).min(table[y][x - 1] + 1)
                    };
                }
            }
            table[LENGTH][LENGTH]
        };
        left.chunks(LENGTH).zip(right.chunks(LENGTH)).map(distance).collect()
    });
    work.launch("edit_distance", args![inputs[0], inputs[1], output], &[PAIRS], &[64]);
    work
}

pub(super) fn small_sort() -> Work {
    const COUNT: usize = 25;
    const ITEMS: usize = 64 << 10;
    let mut work = Work::default();
    let mut random = Random::new(47);
    let numbers: Vec<i32> = (0..COUNT * ITEMS).map(|_| random.below(1000) as i32).collect();
    let input = work.input(&numbers);
    let output = work.output(ITEMS, Tolerance::EXACT, move || {
        let median = |chunk: &mut [i32]| *chunk.select_nth_unstable(COUNT / 2).1;
        let mut numbers = numbers;
        numbers.chunks_mut(COUNT).map(median).collect()
    });
    work.launch("small_sort", args![input, output], &[ITEMS], &[64]);
    work
}
