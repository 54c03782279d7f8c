//! Divisions and remainders of integers.

use crate::work::{Random, Tolerance, Work, args};

pub(super) fn sort_step() -> Work {
    const KEYS: usize = 2 << 20;
    const DISTANCE: usize = 1 << 10;
    const BLOCK: usize = 1 << 12;
    let mut work = Work::default();
    let keys = Random::new(60).words(KEYS);
    let input = work.input(&keys);
    let output = work.output(KEYS, Tolerance::EXACT, move || {
        let mut sorted = keys;
        for i in (0..KEYS).filter(|i| i & DISTANCE == 0) {
            if (sorted[i] > sorted[i + DISTANCE]) == (i & BLOCK == 0) {
                sorted.swap(i, i + DISTANCE);
            }
        }
        sorted
    });
    work.launch("sort_step", args![input, output, DISTANCE as u32, BLOCK as u32], &[KEYS / 2], &[64]);
    work
}

pub(super) fn gcd() -> Work {
    const PAIRS: usize = 128 << 10;
    let mut work = Work::default();
    let mut random = Random::new(61);
    let (a, b) = (random.words(PAIRS), random.words(PAIRS));
    let (first, second) = (work.input(&a), work.input(&b));
    let output = work.output(PAIRS, Tolerance::EXACT, move || {
        let gcd = |(mut x, mut y): (u32, u32)| {
            while y != 0 {
                (x, y) = (y, x % y);
            }
            x
        };
        a.into_iter().zip(b).map(gcd).collect::<Vec<u32>>()
    });
    work.launch("gcd", args![first, second, output], &[PAIRS], &[64]);
    work
}

pub(super) fn trial_division() -> Work {
    const NUMBERS: usize = 64 << 10;
    const FIRST: u32 = 100_001;
    let mut work = Work::default();
    let output = work.output(NUMBERS, Tolerance::EXACT, || {
        let factor = |n: u32| (3..).step_by(2).take_while(|d| d * d <= n).find(|&d| n.is_multiple_of(d)).unwrap_or(n);
        (0..NUMBERS as u32).map(|i| factor(FIRST + 2 * i)).collect::<Vec<u32>>()
    });
    work.launch("trial_division", args![output, FIRST], &[NUMBERS], &[64]);
    work
}

pub(super) fn modular_power() -> Work {
    const BASES: usize = 64 << 10;
    const PRIME: u64 = 1_000_000_007;
    const EXPONENT: u32 = 0x000C_0FFE;
    let mut work = Work::default();
    let bases = Random::new(62).words(BASES);
    let input = work.input(&bases);
    let output = work.output(BASES, Tolerance::EXACT, move || {
        let power = |&base: &u32| {
            let (mut base, mut power) = (u64::from(base) % PRIME, 1);
            for bit in 0..32 {
                if EXPONENT >> bit & 1 != 0 {
                    power = power * base % PRIME;
                }
                base = base * base % PRIME;
            }
            power as u32
        };
        bases.iter().map(power).collect::<Vec<u32>>()
    });
    work.launch("modular_power", args![input, output, EXPONENT], &[BASES], &[64]);
    work
}
