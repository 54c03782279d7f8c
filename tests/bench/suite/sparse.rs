//! Addresses that are read from memory.

use crate::work::{Random, Tolerance, Work, args};

pub(super) fn spmv() -> Work {
    const ROWS: usize = 64 << 10;
    let mut work = Work::default();
    let mut random = Random::new(60);
    let mut starts = vec![0_i32];
    let mut columns = Vec::new();
    for _ in 0..ROWS {
        let mut row: Vec<i32> = (0..1 + random.below(31)).map(|_| random.below(ROWS as u32) as i32).collect();
        row.sort_unstable();
        columns.extend(row);
        starts.push(columns.len() as i32);
    }
    let values = random.floats(columns.len(), -1.0, 1.0);
    let x = random.floats(ROWS, -1.0, 1.0);
    let inputs = args![work.input(&starts), work.input(&columns), work.input(&values), work.input(&x)];
    let output = work.output(ROWS, Tolerance::close(1e-4, 1e-4), move || {
        let row = |bounds: &[i32]| {
            let entries = bounds[0] as usize..bounds[1] as usize;
            entries.map(|k| values[k] * x[columns[k] as usize]).sum::<f32>()
        };
        starts.windows(2).map(row).collect()
    });
    let arguments = [inputs, args![output, ROWS as i32]].concat();
    work.launch("spmv", arguments, &[ROWS], &[64]);
    work
}

pub(super) fn gather() -> Work {
    const COUNT: usize = 4 << 20;
    const VALUES: usize = 1 << 20;
    let mut work = Work::default();
    let mut random = Random::new(61);
    let values = random.floats(VALUES, -1.0, 1.0);
    let indices: Vec<i32> = (0..COUNT).map(|_| random.below(VALUES as u32) as i32).collect();
    let inputs = [work.input(&values), work.input(&indices)];
    let output = work.output(COUNT, Tolerance::EXACT, move || {
        indices.iter().map(|index| values[*index as usize]).collect::<Vec<f32>>()
    });
    work.launch("gather", args![inputs[0], inputs[1], output], &[COUNT], &[]);
    work
}

pub(super) fn pagerank() -> Work {
    const PAGES: usize = 64 << 10;
    const DAMPING: f32 = 0.85;
    let mut work = Work::default();
    let mut random = Random::new(62);
    // Few pages have many links, most have few; sources with low numbers are more frequent.
    let (mut starts, mut sources, mut degrees) = (vec![0_i32], Vec::new(), vec![1_i32; PAGES]);
    for _ in 0..PAGES {
        let links = (4.0 / random.float(0.02, 1.0)) as usize;
        for _ in 0..links {
            let source = (PAGES as f32 * random.float(0.0, 1.0).powi(2)) as usize;
            sources.push(source as i32);
            degrees[source] += 1;
        }
        starts.push(sources.len() as i32);
    }
    let ranks = random.floats(PAGES, 0.0, 1.0);
    let inputs = args![work.input(&starts), work.input(&sources), work.input(&ranks), work.input(&degrees)];
    let output = work.output(PAGES, Tolerance::close(1e-4, 1e-7), move || {
        let page = |bounds: &[i32]| {
            let links = &sources[bounds[0] as usize..bounds[1] as usize];
            let part = |source: &i32| ranks[*source as usize] / degrees[*source as usize] as f32;
            (1.0 - DAMPING) / PAGES as f32 + DAMPING * links.iter().map(part).sum::<f32>()
        };
        starts.windows(2).map(page).collect()
    });
    work.launch("pagerank", [inputs, args![output, DAMPING]].concat(), &[PAGES], &[128]);
    work
}
