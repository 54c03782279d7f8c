//! The geometry of a launch: checked NDRange arithmetic, and the choice of a local size.
//!
//! It does not depend on kernels; limits are arguments. Not here: splitting a launch among workers ([`crate::launch`]).

use std::cell::Cell;

use clift_include::exchange::Exchange;

/// Why a geometry is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NdRangeError {
    /// `CL_INVALID_WORK_DIMENSION`.
    #[error("{0} dimensions, not 1 to 3")]
    Dimensions(u32),
    /// `CL_INVALID_WORK_GROUP_SIZE`.
    #[error("the local size is zero in a dimension, or its product overflows")]
    LocalSize,
    /// `CL_INVALID_GLOBAL_WORK_SIZE`: the number of work-items does not fit 64 bits.
    #[error("the number of work-items overflows")]
    GlobalSize,
    /// `CL_INVALID_GLOBAL_OFFSET`: offset + size exceeds the largest `size_t`.
    #[error("global offset plus global size overflows")]
    GlobalOffset,
}

/// A valid NDRange. Dimensions above [`NdRange::dims`] have size 1 and offset 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdRange {
    dims: u32,
    global_size: [u64; 3],
    global_offset: [u64; 3],
    local_size: [u64; 3],
    num_groups: [u64; 3],
    /// The dimension that is exchanged with x, compared with what was asked for.
    exchange: Option<Exchange>,
}

impl NdRange {
    /// Checks the geometry and computes the group counts. A dimension whose global size is not a multiple of its local size gets
    /// a smaller last group; the caller checks whether the kernel allows that. A global size of 0 is valid and makes the launch
    /// empty. Entries above `dims` are ignored.
    pub fn new(
        dims: u32,
        global_size: [u64; 3],
        global_offset: [u64; 3],
        local_size: [u64; 3],
    ) -> Result<Self, NdRangeError> {
        if !(1..=3).contains(&dims) {
            return Err(NdRangeError::Dimensions(dims));
        }
        let used =
            |values: [u64; 3], other: u64| core::array::from_fn(|i| if i < dims as usize { values[i] } else { other });
        let (global_size, global_offset, local_size) =
            (used(global_size, 1), used(global_offset, 0), used(local_size, 1));
        if product(local_size).is_none_or(|items| items == 0) {
            return Err(NdRangeError::LocalSize);
        }
        if product(global_size).is_none() {
            return Err(NdRangeError::GlobalSize);
        }
        for d in 0..3 {
            if global_offset[d].checked_add(global_size[d]).is_none() {
                return Err(NdRangeError::GlobalOffset);
            }
        }
        let num_groups = core::array::from_fn(|d| global_size[d].div_ceil(local_size[d]));
        Ok(Self { dims, global_size, global_offset, local_size, num_groups, exchange: None })
    }

    /// One work-item: the geometry of a task (`clEnqueueTask`).
    pub const fn single() -> Self {
        Self {
            dims: 1,
            global_size: [1; 3],
            global_offset: [0; 3],
            local_size: [1; 3],
            num_groups: [1; 3],
            exchange: None,
        }
    }

    /// The same work-items with x and another dimension exchanged, for code that was compiled for it. The dimensions must be
    /// those that were asked for.
    #[must_use]
    pub fn exchanged(&self, exchange: Exchange) -> Self {
        debug_assert_eq!(self.exchange, None);
        Self {
            dims: self.dims,
            global_size: exchange.apply(self.global_size),
            global_offset: exchange.apply(self.global_offset),
            local_size: exchange.apply(self.local_size),
            num_groups: exchange.apply(self.num_groups),
            exchange: Some(exchange),
        }
    }

    /// Sizes or ids of this geometry, in the order of the dimensions that the application asked for.
    pub fn as_requested(&self, sizes: [u64; 3]) -> [u64; 3] {
        self.exchange.map_or(sizes, |exchange| exchange.apply(sizes))
    }

    /// Number of dimensions, 1 to 3.
    pub fn dims(&self) -> u32 {
        self.dims
    }

    /// Work-items per dimension.
    pub fn global_size(&self) -> [u64; 3] {
        self.global_size
    }

    /// Offset of the global ids per dimension.
    pub fn global_offset(&self) -> [u64; 3] {
        self.global_offset
    }

    /// Enqueued local size per dimension.
    pub fn local_size(&self) -> [u64; 3] {
        self.local_size
    }

    /// Work-groups per dimension, including a smaller last one.
    pub fn num_groups(&self) -> [u64; 3] {
        self.num_groups
    }

    /// Total number of work-groups; 0 for an empty launch. It cannot overflow, as each group has at least one work-item.
    pub fn total_groups(&self) -> u64 {
        self.num_groups.iter().product()
    }

    /// Total number of work-items.
    pub fn total_items(&self) -> u64 {
        self.global_size.iter().product()
    }

    /// Number of work-items of a full group.
    pub fn group_items(&self) -> u64 {
        self.local_size.iter().product()
    }

    /// Work-group coalescing along x: the same work-items in fewer groups, for a kernel whose result does not depend on the group
    /// size. Rows have at most `most` work-items then, all groups have the same size, and enough of them remain for `workers`;
    /// rows of no more than `lanes` take no longer than shorter ones, however few groups remain. If the last group of each row
    /// is smaller, nothing changes.
    #[must_use]
    pub(crate) fn coalesced(&self, most: u64, lanes: u64, workers: usize) -> Self {
        let row = self.local_size[0];
        let whole = self.global_size[0].is_multiple_of(row);
        let longer = (most / row).min(self.spare_groups(workers)).min(MAX_COALESCED_ITEMS / self.group_items());
        let most = longer.max(lanes.min(most) / row);
        if !whole || most < 2 {
            return *self;
        }
        let groups = self.num_groups[0];
        let factor = 1 << most.ilog2().min(groups.trailing_zeros());
        let mut coalesced = *self;
        coalesced.local_size[0] = row * factor;
        coalesced.num_groups[0] = groups / factor;
        coalesced
    }

    /// How many groups may become one, so that enough of them remain.
    fn spare_groups(&self, workers: usize) -> u64 {
        self.total_groups() / (GROUPS_PER_WORKER * workers.max(1) as u64)
    }

    /// The same work-items in groups of whole packs of `lanes` along x, as far as the global size allows, for a kernel whose result
    /// does not depend on the group size: the code for other groups masks each of its packs. Rows are as long as they are, or as
    /// `most` as for [`NdRange::coalesced`], rounded down, or up to four times as long if fewer packs remain for the last group,
    /// which is smaller. Nothing changes if few packs are masked, or if there are so few work-items that more code is not worth
    /// compiling.
    #[must_use]
    pub(crate) fn in_whole_packs(&self, most: u64, lanes: u64, workers: usize) -> Self {
        let (global, row) = (self.global_size[0], self.local_size[0]);
        let is_large = self.total_items() >= LEAST_REPARTITIONED_ITEMS;
        if !is_large || lanes < 2 || global < lanes || !self.global_offset[0].is_multiple_of(lanes) {
            return *self;
        }
        let packs = global / lanes;
        let masked_in = |size: u64| if size.is_multiple_of(lanes) { 0 } else { size.div_ceil(lanes) };
        let masked = global / row * masked_in(row) + masked_in(global % row);
        if masked == 0 || masked.saturating_mul(8) < packs {
            return *self;
        }
        let rows = self.group_items() / row;
        let shortest = (row.max(most.min(row * self.spare_groups(workers))) / lanes).clamp(1, packs);
        let longest = (4 * shortest).min(packs).min(MAX_COALESCED_ITEMS / (lanes * rows)).max(shortest);
        let lengths = (shortest..=longest).take(MAX_LENGTHS_TRIED);
        let Some(length) = lengths.min_by_key(|length| packs % length) else { return *self };
        if 2 * (packs % length + masked_in(global % lanes)) > masked {
            return *self;
        }
        let mut made = *self;
        made.local_size[0] = length * lanes;
        made.num_groups[0] = global.div_ceil(length * lanes);
        made
    }

    /// Whether every group has the full local size.
    pub fn is_uniform(&self) -> bool {
        (0..3).all(|d| self.global_size[d].is_multiple_of(self.local_size[d]))
    }
}

/// Maximum number of work-items in a coalesced group.
const MAX_COALESCED_ITEMS: u64 = 4096;
/// Minimum number of work-items of a launch whose groups are changed to whole packs.
const LEAST_REPARTITIONED_ITEMS: u64 = 4096;
/// How many lengths of rows are tried, which takes a few nanoseconds for each.
const MAX_LENGTHS_TRIED: usize = 16;
/// Minimum number of remaining groups per worker.
const GROUPS_PER_WORKER: u64 = 32;

/// The product of the sizes, or `None` when it overflows.
pub fn product(sizes: [u64; 3]) -> Option<u64> {
    // If one size is zero the product is zero, even if the product of the others overflows.
    if sizes.contains(&0) {
        return Some(0);
    }
    sizes.into_iter().try_fold(1u64, u64::checked_mul)
}

/// Limits on the choice of a local size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalSizeLimits {
    /// Maximum number of work-items in a group for this kernel.
    pub max_group_items: u64,
    /// Maximum number of work-items per dimension.
    pub max_item_sizes: [u64; 3],
    /// The kernel's preferred multiple (its number of lanes).
    pub preferred_multiple: u64,
    /// Number of threads that should get work.
    pub workers: u64,
    /// Whether groups should be tiles, because some accesses are contiguous along y only.
    pub tiles: bool,
    /// Rows that the kernel's code executes together, if those of a group are a multiple of it.
    pub rows: u64,
    /// Whether the kernel allows smaller last groups.
    pub non_uniform: bool,
}

/// The local size for a launch without one (a NULL `local_work_size`). It is within the limits, and divides the global size
/// unless smaller last groups are allowed.
///
/// It minimizes a simple model of the launch's time: the number of groups that one worker executes, times the packs of a group
/// along x plus a small overhead for the group. A few percent are added if there are so few groups that workers may end at
/// different times, if groups are larger than the caches, and if last groups are smaller. Dimensions are decided one after the
/// other, x first, because work-items along x share packs, and consecutive groups along x form runs.
pub fn choose_local_size(dims: u32, global_size: [u64; 3], limits: &LocalSizeLimits) -> [u64; 3] {
    // Applications repeat launches, and the search takes microseconds, so the latest results are kept.
    thread_local! {
        static LATEST: [Cell<Option<Choice>>; LATEST_CHOICES] = const { [const { Cell::new(None) }; LATEST_CHOICES] };
    }
    let [x, y, z] = global_size;
    let place = (x ^ y.rotate_left(3) ^ z.rotate_left(6) ^ limits.preferred_multiple) as usize % LATEST_CHOICES;
    LATEST.with(|latest| {
        let latest = &latest[place];
        if let Some(choice) = latest.get()
            && (choice.dims, choice.global_size, &choice.limits) == (dims, global_size, limits)
        {
            return choice.local_size;
        }
        let local_size = search(dims, global_size, limits);
        latest.set(Some(Choice { dims, global_size, limits: *limits, local_size }));
        local_size
    })
}

/// Number of results of searches that a thread keeps.
const LATEST_CHOICES: usize = 32;

/// Arguments and result of a search.
#[derive(Clone, Copy)]
struct Choice {
    dims: u32,
    global_size: [u64; 3],
    limits: LocalSizeLimits,
    local_size: [u64; 3],
}

/// Groups up to this size are preferred: the memory they access fits in the first-level cache.
const COMFORTABLE_ITEMS: u64 = 256;

/// Rows of tiles, the best one first: as many elements as a cache line has, or a part of it.
const TILE_ROWS: [u64; 3] = [16, 8, 4];

/// The most work-items of a tile along y.
const TILE_COLUMN: u64 = 32;

/// Rows that groups of several dimensions have if possible.
const ROWS: u64 = 4;

/// The time of rows that are executed together, relative to one after the other.
const ROWS_TOGETHER: f64 = 0.7;

/// The time of packs whose code has masks because rows are not whole packs.
const MASKED: f64 = 1.35;

/// Largest local size considered in a dimension.
const SEARCH_MAX: u64 = 4096;

fn search(dims: u32, global_size: [u64; 3], limits: &LocalSizeLimits) -> [u64; 3] {
    let mut local = [1u64; 3];
    if global_size.iter().take(dims as usize).any(|size| *size == 0) {
        return local;
    }
    // Fewer work-items than lanes are one pack, so more groups would not give work to another worker.
    let row = global_size[0].min(limits.max_item_sizes[0]).min(limits.max_group_items);
    if product(global_size).is_some_and(|items| items == row && items <= limits.preferred_multiple) {
        return [row, 1, 1];
    }
    let tile = tile_row(dims, global_size, limits);
    let limits = &LocalSizeLimits { tiles: tile.is_some(), ..*limits };
    local[0] = tile.unwrap_or(1);
    let rows =
        [limits.rows.max(ROWS), limits.rows].into_iter().find(|rows| global_size[1].is_multiple_of(*rows)).unwrap_or(1);
    for d in usize::from(tile.is_some())..(dims as usize).min(3) {
        let items = local.iter().product::<u64>();
        let longest = match tile {
            Some(_) => TILE_COLUMN,
            // One row for each call of the code would be too little.
            None if d == 0 && dims > 1 && rows > 1 => (COMFORTABLE_ITEMS / rows).max(limits.preferred_multiple),
            None => SEARCH_MAX,
        };
        // Where all of these would be shorter than a pack, as for 998 = 2 * 499, longer rows are better.
        let fills_pack = |size: &u64| *size >= limits.preferred_multiple.min(global_size[d]);
        let shortest = || divisors(global_size[d], SEARCH_MAX).filter(fills_pack).min();
        let longest =
            if d == 0 && tile.is_none() { shortest().map_or(longest, |size| size.max(longest)) } else { longest };
        let most = (limits.max_group_items / items).min(limits.max_item_sizes[d]).min(global_size[d]).min(longest);
        let mut best = (f64::INFINITY, 1);
        let mut consider = |size: u64| {
            local[d] = size;
            let time = model(dims as usize, global_size, local, limits);
            // Among equal times, the larger size is chosen.
            if time < best.0 || (time <= best.0 && size > best.1) {
                best = (time, size);
            }
        };
        divisors(global_size[d], most).for_each(&mut consider);
        if limits.non_uniform {
            let rounds = (0..=most.max(1).ilog2()).map(|power| 1 << power);
            rounds.filter(|size| is_round(*size, limits.preferred_multiple)).for_each(consider);
        }
        local[d] = best.1;
    }
    local
}

/// The row of a tile: a power of two, so that rows begin at cache lines, mostly. `None` if groups should not be tiles.
fn tile_row(dims: u32, global_size: [u64; 3], limits: &LocalSizeLimits) -> Option<u64> {
    let most = limits.max_item_sizes[0].min(limits.max_group_items);
    let mut rows = TILE_ROWS.into_iter().filter(|row| *row <= most && global_size[0].is_multiple_of(*row));
    if limits.tiles && dims > 1 { rows.next() } else { None }
}

/// The divisors of a size that are at most `most`, in no order.
fn divisors(size: u64, most: u64) -> impl Iterator<Item = u64> {
    let small = most.min(size.isqrt());
    let pairs = (1..=small).filter(move |divisor| size.is_multiple_of(*divisor));
    pairs.flat_map(move |divisor| [divisor, size / divisor]).filter(move |divisor| *divisor <= most)
}

/// Whether a power of two is considered although it may not divide the global size.
fn is_round(size: u64, multiple: u64) -> bool {
    size.is_multiple_of(multiple.clamp(1, COMFORTABLE_ITEMS))
}

/// The modelled time of a launch, in packs.
fn model(dims: usize, global_size: [u64; 3], local: [u64; 3], limits: &LocalSizeLimits) -> f64 {
    let workers = limits.workers.max(1) as f64;
    let groups: f64 = (0..dims).map(|d| global_size[d].div_ceil(local[d]) as f64).product();
    let packs = local[0].div_ceil(limits.preferred_multiple.max(1)) as f64 * (local[1] * local[2]) as f64;
    let mut time = (groups / workers).ceil() * (packs + 1.0);
    if !local[0].is_multiple_of(limits.preferred_multiple.max(1)) {
        time *= MASKED;
    }
    if limits.rows > 1 && local[1].is_multiple_of(limits.rows) {
        time *= ROWS_TOGETHER;
    }
    // The fewer groups, the worse the load balance.
    time *= 1.0 + workers / (8.0 * groups);
    let items = local.iter().product::<u64>() as f64;
    let comfortable = if limits.tiles { TILE_ROWS[0] * TILE_COLUMN } else { COMFORTABLE_ITEMS } as f64;
    if items > comfortable {
        time *= 1.0 + 0.25 * (items / comfortable).log2();
    }
    if (0..dims).any(|d| !global_size[d].is_multiple_of(local[d])) {
        time *= 1.05;
    }
    time
}

#[cfg(test)]
mod tests {
    use super::{LocalSizeLimits, NdRange, NdRangeError, choose_local_size, divisors, product};
    use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};

    fn limits(workers: u64, non_uniform: bool) -> LocalSizeLimits {
        LocalSizeLimits {
            max_group_items: 4096,
            max_item_sizes: [4096; 3],
            preferred_multiple: 8,
            workers,
            tiles: false,
            rows: 1,
            non_uniform,
        }
    }

    #[test]
    fn groups_are_coalesced() {
        let coalesced = |global, local, workers| {
            let range = NdRange::new(2, global, [0; 3], local).expect("it is legal").coalesced(128, 8, workers);
            (range.local_size(), range.num_groups())
        };
        assert_eq!(coalesced([2048, 2048, 1], [16, 16, 1], 2), ([128, 16, 1], [16, 128, 1]));
        assert_eq!(coalesced([2048, 2048, 1], [64, 32, 1], 2), ([128, 32, 1], [16, 64, 1]));
        assert_eq!(coalesced([2048, 2048, 1], [128, 1, 1], 2), ([128, 1, 1], [16, 2048, 1]), "long enough");
        assert_eq!(coalesced([2048, 2048, 1], [16, 256, 1], 2), ([16, 256, 1], [128, 8, 1]), "large enough");
        assert_eq!(coalesced([96, 4096, 1], [8, 1, 1], 1), ([32, 1, 1], [3, 4096, 1]), "three more make no whole rows");
        assert_eq!(coalesced([100, 4096, 1], [16, 1, 1], 1), ([16, 1, 1], [7, 4096, 1]), "the last group is smaller");
        assert_eq!(coalesced([64, 64, 1], [8, 8, 1], 1), ([16, 8, 1], [4, 8, 1]), "few groups");
        assert_eq!(coalesced([64, 64, 1], [8, 8, 1], 64), ([8, 8, 1], [8, 8, 1]), "fewer than workers");
        assert_eq!(coalesced([64, 64, 1], [2, 8, 1], 64), ([8, 8, 1], [8, 8, 1]), "no whole packs");
        assert_eq!(coalesced([0, 64, 1], [8, 8, 1], 1), ([8, 8, 1], [0, 8, 1]), "nothing to do");
    }

    #[test]
    fn groups_become_whole_packs() {
        let made = |global, local| {
            let range = NdRange::new(2, global, [0; 3], local).expect("it is legal").in_whole_packs(128, 32, 2);
            (range.local_size(), range.num_groups())
        };
        assert_eq!(made([504, 504, 1], [63, 4, 1]), ([160, 4, 1], [4, 126, 1]), "15 packs and a masked one");
        assert_eq!(made([1000, 1000, 1], [250, 1, 1]), ([320, 1, 1], [4, 1000, 1]), "two of 32 packs are masked");
        assert_eq!(made([480, 504, 1], [60, 4, 1]), ([160, 4, 1], [3, 126, 1]), "no pack is masked");
        assert_eq!(made([1_000_001, 1, 1], [101, 1, 1]), ([160, 1, 1], [6251, 1, 1]), "many groups");
        assert_eq!(made([512, 512, 1], [64, 4, 1]), ([64, 4, 1], [8, 128, 1]), "whole packs");
        assert_eq!(made([4000, 512, 1], [64, 4, 1]), ([64, 4, 1], [63, 128, 1]), "whole packs but for the last group");
        assert_eq!(made([1000, 3, 1], [250, 1, 1]), ([250, 1, 1], [4, 3, 1]), "few work-items");
        assert_eq!(made([31, 1000, 1], [31, 4, 1]), ([31, 4, 1], [1, 250, 1]), "less than a pack");
        assert_eq!(made([40, 1000, 1], [40, 4, 1]), ([32, 4, 1], [2, 250, 1]), "one of two packs");
    }

    #[test]
    fn geometry_is_checked() {
        let new = |dims, global, offset, local| NdRange::new(dims, global, offset, local);
        assert_eq!(new(0, [1; 3], [0; 3], [1; 3]), Err(NdRangeError::Dimensions(0)));
        assert_eq!(new(4, [1; 3], [0; 3], [1; 3]), Err(NdRangeError::Dimensions(4)));
        assert_eq!(new(2, [4; 3], [0; 3], [2, 0, 2]), Err(NdRangeError::LocalSize));
        assert_eq!(new(3, [4; 3], [0; 3], [1 << 32, 1 << 32, 1]), Err(NdRangeError::LocalSize));
        assert_eq!(new(3, [1 << 32, 1 << 32, 1], [0; 3], [1; 3]), Err(NdRangeError::GlobalSize));
        assert_eq!(new(1, [2, 1, 1], [u64::MAX - 1, 0, 0], [1; 3]), Err(NdRangeError::GlobalOffset));
        // Entries above the number of dimensions are ignored.
        let range = new(1, [10, 0, 7], [3, 9, 9], [4, 0, 0]).expect("it is legal");
        assert_eq!(
            (range.num_groups(), range.global_size(), range.global_offset()),
            ([3, 1, 1], [10, 1, 1], [3, 0, 0])
        );
        assert!(!range.is_uniform());
        // A zero size with huge other sizes is an empty launch.
        let empty = new(3, [u64::MAX, 0, u64::MAX], [0; 3], [1; 3]).expect("it is legal");
        assert_eq!((empty.total_groups(), empty.total_items()), (0, 0));
        assert_eq!(NdRange::single().total_items(), 1);
    }

    #[test]
    fn divisors_are_complete() {
        for (size, most) in [(1, 1), (36, 36), (36, 12), (1 << 20, 4096), (1009, 1008), (4095, 4095), (99 * 101, 4096)]
        {
            let mut found: Vec<u64> = divisors(size, most).collect();
            found.sort_unstable();
            found.dedup();
            let expected: Vec<u64> = (1..=most).filter(|divisor| size.is_multiple_of(*divisor)).collect();
            assert_eq!(found, expected, "{size}");
        }
    }

    #[test]
    fn local_sizes_of_common_launches() {
        // Enough groups for all workers, and no tiny ones.
        let [x, ..] = choose_local_size(1, [1 << 20, 1, 1], &limits(2, false));
        assert_eq!(x, 256);
        // Images: some rows, or fractions of them; one if their number is odd.
        assert_eq!(choose_local_size(2, [1920, 1080, 1], &limits(2, false)), [64, 4, 1]);
        assert_eq!(choose_local_size(2, [1024, 1024, 1], &limits(8, false)), [64, 4, 1]);
        assert_eq!(choose_local_size(2, [1024, 1023, 1], &limits(8, false)), [256, 1, 1]);
        assert_eq!(choose_local_size(2, [998, 1000, 1], &limits(2, false))[0], 499, "not two");
        assert_eq!(choose_local_size(2, [508, 508, 1], &limits(2, false))[0], 127, "not four");
        // A narrow image: x is limited, so y is larger.
        let [x, y, _] = choose_local_size(2, [4, 1024, 1], &limits(2, false));
        assert!(x == 4 && y >= 16, "{x} {y}");
        // Less than a pack: one group.
        assert_eq!(choose_local_size(1, [8, 1, 1], &limits(2, false)), [8, 1, 1]);
        assert_eq!(choose_local_size(1, [5, 1, 1], &limits(2, true)), [5, 1, 1]);
        // Little work is still divided among all workers.
        assert_eq!(choose_local_size(1, [64, 1, 1], &limits(2, false)), [32, 1, 1]);
        assert_eq!(choose_local_size(1, [64, 1, 1], &limits(8, false)), [8, 1, 1]);
        assert_eq!(choose_local_size(1, [1, 1, 1], &limits(8, false)), [1, 1, 1]);
        // A prime size: not one work-item per group if smaller last groups are allowed.
        let [x, ..] = choose_local_size(1, [1_000_003, 1, 1], &limits(4, true));
        assert!((64..=256).contains(&x), "{x}");
        assert_eq!(choose_local_size(1, [1009, 1, 1], &limits(2, false)), [1009, 1, 1]);
        assert_eq!(choose_local_size(1, [1_000_003, 1, 1], &limits(4, false)), [1, 1, 1]);
        // An empty launch.
        assert_eq!(choose_local_size(2, [0, 5, 1], &limits(4, true)), [1, 1, 1]);
    }

    #[test]
    fn tiles_are_short_along_x() {
        let tiles = LocalSizeLimits { tiles: true, ..limits(2, false) };
        assert_eq!(choose_local_size(2, [1024, 1024, 1], &tiles), [16, 32, 1]);
        assert_eq!(choose_local_size(2, [1000, 1000, 1], &tiles), [8, 25, 1]);
        assert_eq!(choose_local_size(2, [500, 500, 1], &tiles), [4, 25, 1]);
        assert_eq!(choose_local_size(3, [512, 512, 512], &tiles)[..2], [16, 32]);
        // Rows of other lengths begin anywhere in cache lines.
        assert_eq!(
            choose_local_size(2, [1023, 1023, 1], &tiles),
            choose_local_size(2, [1023, 1023, 1], &limits(2, false))
        );
        // Work for all workers.
        let [x, y, _] = choose_local_size(2, [64, 64, 1], &LocalSizeLimits { workers: 16, ..tiles });
        assert!(x == 16 && y <= 16, "{x} {y}");
        // There is nothing along y.
        assert_eq!(choose_local_size(1, [1 << 20, 1, 1], &tiles)[0], 256);
    }

    #[test]
    fn rows_are_executed_together() {
        let rows = LocalSizeLimits { rows: 4, ..limits(2, false) };
        let [x, y, _] = choose_local_size(2, [1024, 1024, 1], &rows);
        assert!(x >= 16 && y.is_multiple_of(4), "{x} {y}");
        // No number of rows that divides the launch's is a multiple.
        let odd = [1024, 1023, 1];
        assert_eq!(choose_local_size(2, odd, &rows), choose_local_size(2, odd, &limits(2, false)));
        assert_eq!(
            choose_local_size(1, [1 << 20, 1, 1], &rows),
            choose_local_size(1, [1 << 20, 1, 1], &limits(2, false))
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn local_sizes_keep_the_limits(
            dims in 1u32..=3,
            global in [1u64..5000, 1u64..300, 1u64..40],
            max_group_items in 1u64..2000,
            max_item_sizes in [1u64..2000, 1u64..2000, 1u64..100],
            preferred_multiple in 1u64..=64,
            workers in 1u64..=64,
            tiles in any::<bool>(),
            rows in 0u32..4,
            non_uniform in any::<bool>(),
        ) {
            let rows = 1 << rows;
            let limits =
                LocalSizeLimits { max_group_items, max_item_sizes, preferred_multiple, workers, tiles, rows, non_uniform };
            let local = choose_local_size(dims, global, &limits);
            prop_assert_eq!(local, choose_local_size(dims, global, &limits));
            let items = product(local).expect("it is small");
            prop_assert!(items >= 1 && items <= max_group_items);
            for d in 0..3 {
                prop_assert!(local[d] <= max_item_sizes[d] || local[d] == 1);
                if d >= dims as usize {
                    prop_assert_eq!(local[d], 1);
                } else if !non_uniform {
                    prop_assert!(global[d].is_multiple_of(local[d]));
                }
            }
            prop_assert!(NdRange::new(dims, global, [0; 3], local).is_ok());
        }

        #[test]
        fn geometry_never_panics(
            dims in 0u32..5, global in any::<[u64; 3]>(), offset in any::<[u64; 3]>(), local in any::<[u64; 3]>()
        ) {
            if let Ok(range) = NdRange::new(dims, global, offset, local) {
                prop_assert!(range.total_groups() <= range.total_items());
                prop_assert!(range.group_items() > 0);
            }
        }
    }
}
