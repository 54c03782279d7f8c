//! Arguments: edge cases in all combinations, then patterns of bits all over the range, and powers of any size.

use clift_kir::Elem;

use crate::reference::{Function, Operands, WITHIN_ONE};

/// How many arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// What a test may take.
    Quick,
    /// So many times that.
    Times(u64),
    /// Every float.
    All,
}

impl Effort {
    /// What `CLIFT_ULP` asks for.
    pub(crate) fn from_environment() -> Effort {
        match std::env::var("CLIFT_ULP").as_deref() {
            Ok("all") => Effort::All,
            Ok(times) => Effort::Times(times.parse().expect("CLIFT_ULP is `all` or a number")),
            Err(_) => Effort::Quick,
        }
    }
}

/// Arguments of one launch, as bits; `y` is empty for functions of one.
pub(crate) struct Batch {
    pub(crate) x: Vec<u64>,
    pub(crate) y: Vec<u64>,
}

/// Arguments of a batch.
pub(crate) const BATCH: usize = 1 << 14;

/// All batches of a sweep.
pub(crate) struct Batches {
    elem: Elem,
    operands: Operands,
    edges: Vec<(u64, u64)>,
    effort: Effort,
    /// Batches after those of edge cases.
    left: u64,
    next: u64,
    random: fastrand::Rng,
}

/// A step through all patterns of 32 bits that visits them evenly.
const STEP: u64 = 40_503 * 65_537;

impl Batches {
    pub(crate) fn new(function: &Function, elem: Elem, effort: Effort) -> Batches {
        let operands = function.operands();
        let numbers = numbers(elem);
        let mut edges: Vec<(u64, u64)> = match operands {
            Operands::One => numbers.iter().map(|&x| (x, 0)).collect(),
            Operands::Two => numbers.iter().flat_map(|&x| numbers.iter().map(move |&y| (x, y))).collect(),
            Operands::WithInt => {
                let ints =
                    [0, 1, 2, 3, 4, 5, 10, 31, 100, 1001, 1 << 24, (1 << 24) + 1, i32::MAX, i32::MAX - 1, i32::MIN];
                let ints: Vec<i32> = ints.iter().flat_map(|&n: &i32| [n, n.wrapping_neg()]).collect();
                numbers.iter().flat_map(|&x| ints.iter().map(move |&n| (x, u64::from(n as u32)))).collect()
            }
        };
        if WITHIN_ONE.contains(&function.op) {
            edges.extend(around_extrema(elem).map(|x| (x, 0)));
        }
        let quick = 8;
        let left = match (effort, operands, elem) {
            (Effort::Quick, _, _) => quick,
            (Effort::Times(times), _, _) => quick * times,
            (Effort::All, Operands::One, Elem::F32) => (1 << 32) / BATCH as u64,
            (Effort::All, _, _) => quick * 1000,
        };
        Batches { elem, operands, edges, effort, left, next: 0x9e37, random: fastrand::Rng::with_seed(0x2545) }
    }

    fn random(&mut self) -> u64 {
        self.random.u64(..)
    }

    /// Any number; half of them of moderate size.
    fn number(&mut self) -> u64 {
        let bits = self.random();
        let (digits, bias, range) = if self.elem == Elem::F64 { (52, 1023, 11) } else { (23, 127, 8) };
        let bits = bits >> (63 - digits - range);
        if self.random() & 1 == 0 {
            return bits;
        }
        let exponent = bias - 12 + self.random() % 24;
        let keep = bits & ((1 << digits) - 1) | bits & (1 << (digits + range));
        keep | exponent << digits
    }

    /// A base of moderate size and an exponent, with a power of any size.
    fn power(&mut self) -> (u64, u64) {
        let double = self.elem == Elem::F64;
        let fraction = |bits: u64| (bits >> 11) as f64 / (1u64 << 53) as f64;
        // Bases close to one as often as others.
        let near = 0.5f64.powi((self.random() % 24) as i32);
        let x = 1.0 + near * (fraction(self.random()) - 0.5);
        let x = x * 2.0f64.powi((self.random() % 3) as i32 - 1);
        let size = if double { 2200.0 } else { 300.0 };
        let y = size * (fraction(self.random()) - 0.5) / x.log2();
        if double { (x.to_bits(), y.to_bits()) } else { ((x as f32).to_bits().into(), (y as f32).to_bits().into()) }
    }

    fn argument(&mut self) -> (u64, u64) {
        match self.operands {
            Operands::One if self.elem == Elem::F32 => {
                self.next = self.next.wrapping_add(if self.effort == Effort::All { 1 } else { STEP });
                (self.next & 0xffff_ffff, 0)
            }
            Operands::One => (self.number(), 0),
            Operands::Two => match self.random() & 3 {
                0 => self.power(),
                _ => (self.number(), self.number()),
            },
            Operands::WithInt => {
                let n = self.random() as i32 >> (self.random() % 31);
                (self.number(), u64::from(n as u32))
            }
        }
    }
}

/// Where periodic functions are largest, and what is near: multiples of pi / 2 and of 1 / 2.
fn around_extrema(elem: Elem) -> impl Iterator<Item = u64> {
    let places = (-8..8).flat_map(|n| [f64::from(n) * std::f64::consts::FRAC_PI_2, f64::from(n) * 0.5]);
    places.flat_map(move |place| {
        (-2048..2048).map(move |step| match elem {
            Elem::F64 => (place + f64::from(step) * 2f64.powi(-53)).to_bits(),
            _ => ((place + f64::from(step) * 2f64.powi(-24)) as f32).to_bits().into(),
        })
    })
}

impl Iterator for Batches {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        let mut pairs: Vec<(u64, u64)> = Vec::with_capacity(BATCH);
        if self.edges.is_empty() {
            self.left = self.left.checked_sub(1)?;
            for _ in 0..BATCH {
                let argument = self.argument();
                pairs.push(argument);
            }
        } else {
            let count = self.edges.len().min(BATCH);
            pairs.extend(self.edges.drain(..count));
            pairs.resize(BATCH, pairs[0]);
        }
        let x = pairs.iter().map(|pair| pair.0).collect();
        let y = if self.operands == Operands::One { Vec::new() } else { pairs.iter().map(|pair| pair.1).collect() };
        Some(Batch { x, y })
    }
}

/// Numbers at which functions change, with their neighbours and both signs.
fn numbers(elem: Elem) -> Vec<u64> {
    let values = [
        0.0,
        1.0,
        0.5,
        0.25,
        0.75,
        2.0,
        3.0,
        4.0,
        5.0,
        7.0,
        8.0,
        10.0,
        16.0,
        1.5,
        2.5,
        std::f64::consts::PI,
        std::f64::consts::FRAC_PI_2,
        std::f64::consts::FRAC_PI_4,
        std::f64::consts::SQRT_2,
        std::f64::consts::FRAC_1_SQRT_2,
        std::f64::consts::E,
        std::f64::consts::LN_2,
        17.3,
        88.72284,
        87.33655,
        103.97208,
        709.782712893384,
        745.1332191019411,
        127.0,
        128.0,
        149.0,
        150.0,
        1023.0,
        1024.0,
        1074.0,
        38.53184,
        45.0,
        308.25,
        323.6,
        99_999.0,
        100_000.0,
        100_001.0,
        8_388_607.5,
        16_777_215.0,
        16_777_216.0,
        1.0e9,
        1.0e10,
        1.0e20,
        1.0e30,
        3.0e38,
        1.0e-5,
        1.0e-10,
        1.0e-20,
        1.0e-30,
        f64::from(f32::MAX),
        f64::from(f32::MIN_POSITIVE),
        f64::from(f32::from_bits(1)),
        f64::from(f32::from_bits(0x7f_ffff)),
        1.0e300,
        1.0e-300,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::from_bits(0xf_ffff_ffff_ffff),
        f64::INFINITY,
    ];
    let mut bits = Vec::new();
    for value in values {
        let (center, sign) =
            if elem == Elem::F64 { (value.to_bits(), 1 << 63) } else { (u64::from((value as f32).to_bits()), 1 << 31) };
        for near in [center.saturating_sub(1), center, center + 1] {
            bits.extend([near, near | sign]);
        }
    }
    bits
}
