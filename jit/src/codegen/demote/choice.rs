//! The choice of the webs that are kept in memory.

use super::webs::{Point, Web, WebId, Webs};
use crate::target::caps::DemotionLimits;

/// Distance of the points within a block at which the values alive are counted.
const SAMPLING: Point = 32;

/// The webs to demote: by the fewest uses for their length, until no point has more alive than there are registers. None if
/// registers can be allocated quickly as it is.
pub(super) fn choose(webs: &Webs, limits: DemotionLimits) -> Vec<WebId> {
    let samples = samples(webs);
    let mut pressure = [vec![0u32; samples.len()], vec![0u32; samples.len()]];
    let within = |web: &Web| -> Vec<std::ops::Range<usize>> {
        let at = |point: Point| samples.partition_point(|&sample| sample < point);
        web.ranges.iter().map(|(&start, &end)| at(start)..at(end)).filter(|range| !range.is_empty()).collect()
    };
    for (_, web) in webs.iter() {
        for range in within(web) {
            pressure[class(web)][range].iter_mut().for_each(|count| *count += 1);
        }
    }
    let area: u64 = webs.iter().map(|(_, web)| web.length).sum();
    if area < limits.min_area || area < u64::from(webs.points) * u64::from(limits.min_alive) {
        return Vec::new();
    }
    let mut order: Vec<(f64, WebId)> = webs
        .iter()
        .filter(|(_, web)| web.length >= limits.min_length)
        .map(|(id, web)| (web.accesses / web.length as f64, id))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let registers = [limits.scalars, limits.vectors];
    let mut demoted = Vec::new();
    for (_, id) in order {
        let web = webs.get(id);
        let (ranges, class) = (within(web), class(web));
        let crowded = |range: &std::ops::Range<usize>| {
            pressure[class][range.clone()].iter().any(|&count| count > registers[class])
        };
        if ranges.iter().any(crowded) {
            for range in ranges {
                pressure[class][range].iter_mut().for_each(|count| *count -= 1);
            }
            demoted.push(id);
        }
    }
    demoted
}

/// The points at which the values alive are counted.
fn samples(webs: &Webs) -> Vec<Point> {
    let ends = webs.heads.iter().skip(1).copied().chain([webs.points]);
    webs.heads.iter().zip(ends).flat_map(|(&head, end)| (head..end).step_by(SAMPLING as usize)).collect()
}

/// 0 for scalars, 1 for what lives in vector registers.
fn class(web: &Web) -> usize {
    usize::from(web.ty.is_vector() || web.ty.is_float())
}
