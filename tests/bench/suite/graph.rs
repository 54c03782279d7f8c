//! Graphs, tables and lists of neighbours.

use std::collections::HashMap;

use crate::work::{Random, Tolerance, Work, args};

pub(super) fn bfs_levels() -> Work {
    const NODES: usize = 64 << 10;
    const LEVELS: i32 = 8;
    let mut work = Work::default();
    let mut random = Random::new(63);
    let (mut starts, mut neighbours) = (vec![0_i32], Vec::new());
    for _ in 0..NODES {
        neighbours.extend((0..2 + random.below(7)).map(|_| random.below(NODES as u32) as i32));
        starts.push(neighbours.len() as i32);
    }
    let inputs = [work.input(&starts), work.input(&neighbours)];
    let output = work.output(NODES, Tolerance::EXACT, move || {
        let mut levels = vec![-1_i32; NODES];
        levels[0] = 0;
        let mut frontier = vec![0_usize];
        for level in 1..=LEVELS {
            let mut next = Vec::new();
            for node in frontier {
                for &to in &neighbours[starts[node] as usize..starts[node + 1] as usize] {
                    if levels[to as usize] < 0 {
                        levels[to as usize] = level;
                        next.push(to as usize);
                    }
                }
            }
            frontier = next;
        }
        levels
    });
    work.launch("start", args![output, 0], &[NODES], &[64]);
    for level in 0..LEVELS {
        work.launch("expand", args![inputs[0], inputs[1], output, level], &[NODES], &[64]);
    }
    work
}

pub(super) fn ellpack() -> Work {
    const ROWS: usize = 128 << 10;
    const WIDTH: usize = 16;
    let mut work = Work::default();
    let mut random = Random::new(64);
    // A band around the diagonal; some entries are missing.
    let column = |row: usize, random: &mut Random| {
        let column = row as i32 + random.below(256) as i32 - 128;
        if (0..ROWS as i32).contains(&column) && random.below(8) > 0 { column } else { -1 }
    };
    let columns: Vec<i32> = (0..WIDTH * ROWS).map(|at| column(at % ROWS, &mut random)).collect();
    let (values, x) = (random.floats(WIDTH * ROWS, -1.0, 1.0), random.floats(ROWS, -1.0, 1.0));
    let inputs = args![work.input(&columns), work.input(&values), work.input(&x)];
    let output = work.output(ROWS, Tolerance::close(1e-4, 1e-4), move || {
        let row = |row: usize| -> f32 {
            let entries = (0..WIDTH).map(|k| k * ROWS + row).filter(|&at| columns[at] >= 0);
            entries.map(|at| values[at] * x[columns[at] as usize]).sum()
        };
        (0..ROWS).map(row).collect()
    });
    work.launch("ellpack", [inputs, args![output, ROWS as i32, WIDTH as i32]].concat(), &[ROWS], &[64]);
    work
}

pub(super) fn hash_lookup() -> Work {
    const KEYS: usize = 256 << 10;
    const SLOTS: usize = 64 << 10;
    let mut work = Work::default();
    let mut random = Random::new(65);
    let slot = |key: u32| {
        let key = (key ^ key >> 16).wrapping_mul(0x7feb_352d);
        let key = (key ^ key >> 15).wrapping_mul(0x846c_a68b);
        (key ^ key >> 16) as usize % SLOTS
    };
    let mut table = vec![[0_u32; 2]; SLOTS];
    let mut values: HashMap<u32, u32> = HashMap::new();
    while values.len() < SLOTS * 2 / 3 {
        let (key, value) = (1 + random.below(1 << 20), random.bits() as u32);
        if values.insert(key, value).is_none() {
            let mut at = slot(key);
            while table[at][0] != 0 {
                at = (at + 1) % SLOTS;
            }
            table[at] = [key, value];
        } else if let Some(entry) = table.iter_mut().find(|entry| entry[0] == key) {
            entry[1] = value;
        }
    }
    // Every other key is in the table.
    let known: Vec<u32> = table.iter().map(|entry| entry[0]).filter(|&key| key != 0).collect();
    let mut key = |at: usize| match at % 2 {
        0 => known[random.below(known.len() as u32) as usize],
        _ => 1 + random.below(1 << 20),
    };
    let keys: Vec<u32> = (0..KEYS).map(&mut key).collect();
    let inputs = args![work.input(&table), SLOTS as u32 - 1, work.input(&keys)];
    let output = work.output(KEYS, Tolerance::EXACT, move || {
        keys.iter().map(|key| values.get(key).copied().unwrap_or(0)).collect::<Vec<u32>>()
    });
    work.launch("hash_lookup", [inputs, args![output]].concat(), &[KEYS], &[64]);
    work
}

pub(super) fn lennard_jones() -> Work {
    const PARTICLES: usize = 16 << 10;
    const MOST: usize = 64;
    const CUTOFF2: f32 = 6.25;
    let mut work = Work::default();
    let mut random = Random::new(66);
    let side = 32;
    let place = |i: usize| [i % side, i / side % side, i / side / side];
    let positions: Vec<[f32; 4]> = (0..PARTICLES)
        .map(|i| {
            let [x, y, z] = place(i).map(|at| 1.2 * at as f32 + random.float(-0.1, 0.1));
            [x, y, z, 0.0]
        })
        .collect();
    let mut neighbours = vec![-1_i32; MOST * PARTICLES];
    for i in 0..PARTICLES {
        let [x, y, z] = place(i);
        let near = |at: usize, limit: usize| at.saturating_sub(2)..(at + 3).min(limit);
        let (depth, mut count) = (PARTICLES / side / side, 0);
        for (nz, ny) in near(z, depth).flat_map(|nz| near(y, side).map(move |ny| (nz, ny))) {
            for nx in near(x, side) {
                let j = (nz * side + ny) * side + nx;
                if j != i && count < MOST {
                    neighbours[count * PARTICLES + i] = j as i32;
                    count += 1;
                }
            }
        }
    }
    let inputs = [work.input(&positions), work.input(&neighbours)];
    let output = work.output(4 * PARTICLES, Tolerance::close(1e-3, 1e-2), move || {
        let force = |i: usize| {
            let mut sum = [0.0_f64; 4];
            for k in 0..MOST {
                let Ok(j) = usize::try_from(neighbours[k * PARTICLES + i]) else { break };
                let away: [f64; 3] = std::array::from_fn(|at| f64::from(positions[i][at] - positions[j][at]));
                let r2 = away.iter().map(|at| at * at).sum::<f64>();
                if r2 < f64::from(CUTOFF2) {
                    let inverse6 = r2.powi(-3);
                    let strength = 24.0 / r2 * inverse6 * (2.0 * inverse6 - 1.0);
                    (0..3).for_each(|at| sum[at] += strength * away[at]);
                    sum[3] += 4.0 * inverse6 * (inverse6 - 1.0);
                }
            }
            sum.map(|value| value as f32)
        };
        (0..PARTICLES).flat_map(force).collect::<Vec<f32>>()
    });
    let arguments = args![inputs[0], inputs[1], output, MOST as i32, CUTOFF2];
    work.launch("lennard_jones", arguments, &[PARTICLES], &[64]);
    work
}
