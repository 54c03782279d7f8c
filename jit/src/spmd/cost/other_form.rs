//! Another form of a kernel, such as that of transposed launches, beside the usual one: whether its packs may take less time.

use clift_kir::Function;

use super::throughput::estimate;
use super::width::{RowLengths, Width, dominant_element_bits, prepared};
use crate::Options;
use crate::spmd::transform::{normalize, single_lane_regions, versioning};
use crate::target::machine::Machine;

/// What a kernel's packs cost, by the estimate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackCosts {
    /// Lanes per pack; one if packs are not worth it.
    lanes: u32,
    /// Of a work-item.
    item: f64,
    /// What the scattered accesses of packs take for a work-item, with their lines; also where packs are not worth it.
    scattered: f64,
    /// Whether scattered accesses are a large part.
    scatters: bool,
}

impl Width {
    /// The costs of packs of this width; `None` if there cannot be packs.
    pub(crate) fn pack_costs(&self, machine: &Machine) -> Option<PackCosts> {
        match self {
            &Width::Packs(lanes, ref general, ref versions, _) => {
                let whole = versions.as_ref().unwrap_or(general);
                let costs = estimate(whole, &whole.divergence(lanes, true), lanes, machine);
                let scatters = costs.scattered > (1.0 - OTHER_WORTHWHILE) * costs.hot;
                let of_item = |cost: f64| cost / f64::from(lanes);
                let (item, scattered) = (of_item(costs.hot + costs.lines), of_item(costs.scattered + costs.lines));
                Some(PackCosts { lanes, item, scattered, scatters })
            }
            &Width::Unprofitable(_, lanes, ref normal, _) => {
                let costs = estimate(normal, &normal.divergence(lanes, true), lanes, machine);
                let of_item = |cost: f64| cost / f64::from(lanes);
                let scattered = of_item(costs.scattered + costs.lines);
                Some(PackCosts { lanes: 1, item: of_item(costs.scalar), scattered, scatters: true })
            }
            Width::Scalar(_) => None,
        }
    }
}

/// How much faster the other form of a kernel must be.
const OTHER_WORTHWHILE: f64 = 0.7;
/// The part of the scattered accesses that the other form may keep. What else speaks for it, such as tests that move out of a
/// loop, is worth less than the lines that neighbours along x mostly share, also where strides are not known.
const OTHER_SCATTERED: f64 = 0.5;

/// Another form of a kernel that may be faster than the usual one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OtherForm {
    /// Lanes per pack.
    pub(crate) lanes: u32,
    /// Whether it takes much less time by the estimate. Otherwise it takes no more.
    pub(crate) is_faster: bool,
}

/// The other form of a kernel with these costs, if it takes less time because fewer of its accesses are scattered.
pub(crate) fn other_form(
    usual: PackCosts,
    other: impl FnOnce() -> Option<Function>,
    other_rows: RowLengths,
    options: &Options,
    machine: &Machine,
) -> Option<OtherForm> {
    if !usual.scatters {
        return None;
    }
    let other = other()?;
    if !could_scatter_less(&other, usual, machine) {
        return None;
    }
    let other = Width::choose(&other, other_rows, options, machine).pack_costs(machine)?;
    let takes_less = |scattered: f64, item: f64| {
        other.lanes > 1 && other.scattered < scattered * usual.scattered && other.item < item * usual.item
    };
    let is_faster = takes_less(OTHER_SCATTERED, OTHER_WORTHWHILE);
    (is_faster || takes_less(1.0, 1.0)).then_some(OtherForm { lanes: other.lanes, is_faster })
}

/// Whether packs of a kernel scatter less than the usual ones in the best case, which takes a fraction of the time of a choice.
fn could_scatter_less(func: &Function, usual: PackCosts, machine: &Machine) -> bool {
    let Some(normal) = normalize::run(func) else { return false };
    let normal = single_lane_regions::run(&normal, machine).unwrap_or(normal);
    let lanes = machine.usual_lanes(dominant_element_bits(&normal));
    let best = prepared(normal, lanes, machine);
    let costs = estimate(&best, &versioning::best_case(&best, lanes), lanes, machine);
    (costs.scattered + costs.lines) / f64::from(lanes) < usual.scattered
}
