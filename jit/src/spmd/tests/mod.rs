//! The structure of group functions made from small kernels: they verify, and have the expected loops. The other files test
//! single parts.

mod affine;
mod cases;
mod clamped_loads;
mod collectives;
mod costs;
pub(crate) mod generate;
mod growth;
pub(crate) mod harness;
mod index_widening;
mod loop_vectorizer;
mod perlane;
mod records;
mod rows;
mod shared_places;
mod single_item_groups;
mod single_lane_regions;
mod spin_loops;
mod sub_groups;
mod superwords;
mod transposition;
mod uniformity;
mod versioning;
mod width;

use std::ops::Range;

use clift_kir::analysis::Cfg;
use clift_kir::interp::Geometry;
use clift_kir::{Module, text};
use generate::{ARG_BYTES, Barriers, OUT_WORDS, Rng};
use harness::{Launch, compare, general_of, make, make_all};

use super::GroupFunction;
use super::analysis::divergence::Divergence;
use super::analysis::shape::{Assumptions, Scope};
use super::workgroup::regions::{Growth, Regions};
use crate::Options;

fn build(text: &str) -> GroupFunction {
    build_with(text, &scalar())
}

/// One work-item at a time.
fn scalar() -> Options {
    Options { width: Some(1), ..Options::default() }
}

fn build_with(text: &str, options: &Options) -> GroupFunction {
    let module: Module = text::parse_module(text).unwrap_or_else(|e| panic!("{e}"));
    make(&module, options, Growth::default())
}

const COPY: &str = r#"
function f0 "copy" canonical {
b0:
    v0: i64 = global_id 0
    v1: ptr(global) = arg 0
    v2: ptr(global) = arg 8
    v3: ptr(global) = addr scale 4 v1, v0
    v4: i32 = load align 4 v3
    v5: ptr(global) = addr scale 4 v2, v0
    store align 4 v5, v4
    ret
}
kernel f0 args 16
"#;

#[test]
fn a_plain_kernel_is_one_loop_nest() {
    let made = build(COPY);
    println!("{}", made.func);
    assert!(!made.has_barrier);
    assert_eq!((made.resources.scratch_fixed_bytes, made.resources.scratch_item_bytes), (0, 0));
}

const LOOP: &str = r#"
global g0 "tile" local size 256 align 4
function f0 "tiles" canonical {
    slot s0 size 16 align 4
b0:
    v0 "lid": i64 = local_id 0
    v1 "in": ptr(global) = arg 0
    v2 "n": i32 = arg 8
    v3 "zero": i32 = const 0
    v4 "acc0": f32 = const 0.0
    v5 "gid": i64 = global_id 0
    v40: ptr(global) = addr scale 4 v1, v5
    v41 "own": f32 = load align 4 v40
    v42 "own2": f32 = fadd v41, v41
    jump b1(v3, v4)
b1(v6 "i": i32, v7 "acc": f32):
    v8: b1 = icmp slt v6, v2
    branch v8, b2, b3
b2:
    v9: i64 = sext v6
    v10: i64 = iadd v9, v5
    v11: ptr(global) = addr scale 4 v1, v10
    v12: f32 = load align 4 v11
    v13: ptr(local) = global_addr g0
    v14: ptr(local) = addr scale 4 v13, v0
    store align 4 v14, v12
    barrier 0 work_group work_group local
    v15: i64 = const 1
    v16: i64 = xor v0, v15
    v17: ptr(local) = addr scale 4 v13, v16
    v18: f32 = load align 4 v17
    v19 "acc1": f32 = fadd v7, v18
    barrier 1 work_group device local
    v20: i32 = const 1
    v21 "i1": i32 = iadd v6, v20
    jump b1(v21, v19)
b3:
    v22: ptr(global) = addr scale 4 v1, v5
    v23: f32 = fadd v7, v42
    store align 4 v22, v23
    ret
}
kernel f0 args 16
"#;

#[test]
fn a_barrier_in_a_uniform_loop() {
    let made = build(LOOP);
    println!("{}", made.func);
    assert!(made.has_barrier);
    assert_eq!(made.resources.local_bytes, 256);
    assert_eq!(made.resources.scratch_item_bytes, 8, "own2 and acc");
}

#[test]
fn a_barrier_in_a_divergent_loop() {
    let made = build(&LOOP.replace("v2 \"n\": i32 = arg 8", "v99: i64 = local_id 0\n    v2 \"n\": i32 = itrunc v99"));
    println!("{}", made.func);
    assert!(made.has_barrier);
}

/// Launches of a generated kernel: local sizes of 1 to 7 in up to three dimensions, full and other groups, offsets.
pub(crate) fn launches(rng: &mut Rng, count: usize) -> Vec<Launch> {
    (0..count)
        .map(|_| {
            let work_dim = 1 + rng.below(3) as u32;
            let mut geometry = Geometry { work_dim, global_size: [1; 3], global_offset: [0; 3], local_size: [1; 3] };
            for d in 0..work_dim as usize {
                geometry.local_size[d] = 1 + rng.below([7, 4, 2][d]);
                geometry.global_size[d] = 1 + rng.below([17, 6, 3][d]);
                geometry.global_offset[d] = rng.below(3);
            }
            // Every other launch has rows of whole packs.
            if rng.below(2) == 0 {
                let others = geometry.local_size[1] * geometry.local_size[2];
                let most = match others {
                    0..=2 => 4,
                    3..=4 => 3,
                    _ => 2,
                };
                geometry.local_size[0] = [4, 8, 16, 32][rng.below(most) as usize];
                geometry.global_size[0] = 1 + rng.below(33);
                geometry.global_offset[0] = 32 * rng.below(2);
            }
            let items = geometry.global_size.iter().product::<u64>();
            let words = |rng: &mut Rng, n: u64| (0..n).flat_map(|_| (rng.below(7) as u32).to_le_bytes()).collect();
            let input: Vec<u8> = words(rng, 8);
            let constants: Vec<u8> = words(rng, 8);
            let out: Vec<u8> = words(rng, items * OUT_WORDS);
            let mut rest = vec![0; ARG_BYTES as usize - 32];
            rest[..4].copy_from_slice(&(rng.below(5) as u32).to_le_bytes());
            Launch { geometry, buffers: vec![input, out, constants], local_bytes: 4 * generate::MAX_ITEMS, rest }
        })
        .collect()
}

/// The seeds of generated kernels. `CLIFT_SEEDS` multiplies their number, `CLIFT_FIRST_SEED` is the first one.
pub(crate) fn seeds(usual: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let first = number("CLIFT_FIRST_SEED").unwrap_or(0);
    first..first + usual * number("CLIFT_SEEDS").unwrap_or(1)
}

fn compare_generated(barriers: Barriers, usual: u64) {
    let (mut state_machines, mut split) = (0, 0);
    let seeds = seeds(usual);
    for seed in seeds.clone() {
        let module = generate::kernel(seed, barriers);
        let mut rng = Rng::new(seed ^ 0xabcd);
        // Every other kernel has no room for copies, so that shared blocks become regions.
        let growth = if rng.below(2) == 0 { Growth { factor: 1, slack: 0 } } else { Growth::default() };
        compare(&format!("seed {seed}"), &module, &Options::default(), growth, &launches(&mut rng, 4));
        let regions = Regions::new(&module.funcs[module.kernels[0].func], growth);
        state_machines += u64::from(!regions.lockstep);
        split += u64::from(regions.list.len() > 1);
    }
    let seeds = seeds.end - seeds.start;
    match barriers {
        Barriers::None => assert_eq!(split, 0),
        Barriers::Uniform => assert!(state_machines == 0 && split > seeds / 4, "{state_machines} {split}"),
        Barriers::Hidden | Barriers::EarlyReturn | Barriers::Divergent => {
            assert!(state_machines > seeds / 20 && split > seeds / 4, "{state_machines} {split}");
        }
    }
}

#[test]
fn generated_kernels_without_barriers() {
    compare_generated(Barriers::None, 60);
}

#[test]
fn generated_kernels_with_uniform_barriers() {
    compare_generated(Barriers::Uniform, 150);
}

#[test]
fn generated_kernels_with_hidden_uniform_barriers() {
    compare_generated(Barriers::Hidden, 100);
}

#[test]
fn generated_kernels_with_early_returns_and_barriers() {
    compare_generated(Barriers::EarlyReturn, 100);
}

#[test]
fn divergent_barriers_terminate_within_bounds() {
    for seed in seeds(100) {
        let module = generate::kernel(seed, Barriers::Divergent);
        let growth = Growth { factor: 1, slack: seed as usize % 2 * 1000 };
        let options = Options { width: Some([1, 4, 8][seed as usize % 3]), ..Options::default() };
        let made = make_all(&module, &options, growth);
        for launch in launches(&mut Rng::new(seed), 3) {
            let ran = launch.run_groups(&module, &made, u64::MAX);
            assert!(ran.outcome.is_clean(), "seed {seed}: {:?}\n{module}\n{}", ran.outcome, general_of(&made).func);
        }
    }
}

#[test]
fn values_called_uniform_are_uniform() {
    let (mut uniform, mut varying) = (0, 0);
    for seed in seeds(150) {
        let (module, variables) = generate::kernel_and_variables(seed, Barriers::Uniform);
        let func = &module.funcs[module.kernels[0].func];
        let divergence = Divergence::new(func, &Cfg::new(func), Scope::Group, &Assumptions::default());
        for mut launch in launches(&mut Rng::new(seed), 3) {
            launch.buffers[1].fill(0xa5);
            let ran = launch.run_kernel(&module, 1, 1);
            assert!(ran.outcome.is_clean(), "{:?}", ran.outcome);
            let [width, height, _] = launch.geometry.global_size;
            let words: Vec<&[u8]> = ran.buffers[1].chunks(4).collect();
            let of =
                |x: u64, y: u64, z: u64, n: usize| words[(((z * height + y) * width + x) * OUT_WORDS) as usize + n + 1];
            for (n, &variable) in variables.iter().enumerate() {
                let mut same = true;
                for group in launch.geometry.groups() {
                    let start = [0, 1, 2].map(|d| group[d] * launch.geometry.local_size[d]);
                    let size = launch.geometry.group_size(group);
                    let first = of(start[0], start[1], start[2], n);
                    for z in 0..size[2] {
                        for y in 0..size[1] {
                            same &= (0..size[0]).all(|x| of(start[0] + x, start[1] + y, start[2] + z, n) == first);
                        }
                    }
                }
                if divergence.is_uniform(variable) {
                    uniform += 1;
                    assert!(same, "seed {seed}: {variable} varies ({:?})\n{module}", launch.geometry);
                } else {
                    varying += 1;
                }
            }
        }
    }
    assert!(uniform > 500 && varying > 500, "{uniform} {varying}");
}
