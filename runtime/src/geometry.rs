//! The geometry of a launch: the rules of `clEnqueueNDRangeKernel` and `enqueue_kernel` about sizes, as a function of plain
//! values.
//!
//! Not here: the arithmetic ([`crate::ndrange`]), and the source of the values.

use clift_include::exchange::Exchange;

use crate::ndrange::{self, LocalSizeLimits, NdRange, NdRangeError};

use SizeError::{
    InvalidGlobalOffset, InvalidGlobalWorkSize, InvalidWorkDimension, InvalidWorkGroupSize, InvalidWorkItemSize,
};

/// The rule that a request violates, by OpenCL's name of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// `CL_INVALID_WORK_DIMENSION`
    #[error("the number of dimensions is not 1 to 3")]
    InvalidWorkDimension,
    /// `CL_INVALID_GLOBAL_OFFSET`
    #[error("global offset plus global size overflows")]
    InvalidGlobalOffset,
    /// `CL_INVALID_GLOBAL_WORK_SIZE`
    #[error("the number of work-items overflows")]
    InvalidGlobalWorkSize,
    /// `CL_INVALID_WORK_GROUP_SIZE`
    #[error("the kernel cannot be launched with this local size")]
    InvalidWorkGroupSize,
    /// `CL_INVALID_WORK_ITEM_SIZE`
    #[error("the local size is too large in a dimension")]
    InvalidWorkItemSize,
}

fn ensure(holds: bool, error: SizeError) -> Result<(), SizeError> {
    if holds { Ok(()) } else { Err(error) }
}

/// Maximum number of dimensions of a launch (`CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS`).
pub const MAX_DIMENSIONS: u32 = 3;

/// The sizes in a call. Entries above `dims` are ignored.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Number of dimensions.
    pub dims: u32,
    /// `global_work_offset`; `None` for NULL.
    pub offset: Option<[u64; 3]>,
    /// `global_work_size`; `None` for NULL.
    pub global: Option<[u64; 3]>,
    /// `local_work_size`; `None` for NULL.
    pub local: Option<[u64; 3]>,
}

/// Requirements of a kernel and the device on a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demands {
    /// The size required by the kernel's source or IL.
    pub required: Option<[u64; 3]>,
    /// Whether all work-groups must have the same size.
    pub uniform: bool,
    /// `CL_KERNEL_WORK_GROUP_SIZE`.
    pub max_group_items: u64,
    /// `CL_DEVICE_MAX_WORK_GROUP_SIZES`, the same in each dimension.
    pub max_item_size: u64,
    /// Sub-groups per work-group required by the kernel's IL.
    pub sub_groups: Option<u64>,
    /// Lanes, which are the work-items of a sub-group.
    pub preferred_multiple: u64,
    /// Number of threads that should get work.
    pub workers: u64,
    /// Along which dimension packs are made, instead of x, if groups are long enough there.
    pub exchange: Option<Exchange>,
    /// Whether groups should be tiles, because some accesses are contiguous along y only.
    pub tiles: bool,
    /// Rows that the kernel's code executes together, if those of a group are a multiple of it.
    pub rows: u64,
}

/// Checks a request in the order of the specification and completes it: a missing local size is chosen.
pub fn checked(request: &Request, demands: &Demands) -> Result<NdRange, SizeError> {
    // CL_INVALID_WORK_DIMENSION if work_dim is not valid for the device
    ensure((1..=MAX_DIMENSIONS).contains(&request.dims), InvalidWorkDimension)?;
    let dims = request.dims as usize;
    // A NULL or zero global size is valid since 2.1: nothing is executed
    let global = request.global.unwrap_or([0; 3]);
    let offset = request.offset.unwrap_or([0; 3]);
    for d in 0..dims {
        // CL_INVALID_GLOBAL_OFFSET if size plus offset in any dimension is greater than the largest size_t
        ensure(global[d].checked_add(offset[d]).is_some(), InvalidGlobalOffset)?;
    }
    // CL_INVALID_GLOBAL_WORK_SIZE if any size exceeds the largest size_t (here: the number of work-items, which are
    // counted)
    let used = core::array::from_fn(|d| if d < dims { global[d] } else { 1 });
    ensure(ndrange::product(used).is_some(), InvalidGlobalWorkSize)?;
    let local = match request.local {
        Some(local) => {
            checked_local(dims, &global, &local, demands)?;
            local
        }
        None => chosen_local(request.dims, &global, demands)?,
    };
    NdRange::new(request.dims, global, offset, local).map_err(SizeError::from)
}

/// The rules for a given local size.
fn checked_local(dims: usize, global: &[u64; 3], local: &[u64; 3], demands: &Demands) -> Result<(), SizeError> {
    // CL_INVALID_WORK_ITEM_SIZE if the number of work-items in any dimension of local_work_size is greater than the
    // corresponding CL_DEVICE_MAX_WORK_GROUP_SIZES (before the rule about their product, which would hide it)
    ensure(local[..dims].iter().all(|size| *size <= demands.max_item_size), InvalidWorkItemSize)?;
    // CL_INVALID_WORK_GROUP_SIZE if the total number of work-items in the work-group is zero
    ensure(!local[..dims].contains(&0), InvalidWorkGroupSize)?;
    // CL_INVALID_WORK_GROUP_SIZE if the work-group size must be uniform, and global_work_size is not evenly divisible
    ensure(!demands.uniform || divides(dims, local, global), InvalidWorkGroupSize)?;
    // CL_INVALID_WORK_GROUP_SIZE if the total number of work-items in the work-group is greater than
    // CL_KERNEL_WORK_GROUP_SIZE
    let items = local[..dims].iter().try_fold(1_u64, |all, size| all.checked_mul(*size));
    ensure(items.is_some_and(|items| items <= demands.max_group_items), InvalidWorkGroupSize)?;
    // CL_INVALID_WORK_GROUP_SIZE if local_work_size does not match the required work-group size
    if let Some(required) = demands.required {
        let matches = (0..3).all(|d| required[d] == if d < dims { local[d] } else { 1 });
        ensure(matches, InvalidWorkGroupSize)?;
    }
    // CL_INVALID_WORK_GROUP_SIZE if local_work_size is not consistent with the required number of sub-groups
    if let Some(required) = demands.sub_groups {
        let rows = local[1..dims].iter().product::<u64>();
        ensure(local[0].div_ceil(demands.preferred_multiple) * rows == required, InvalidWorkGroupSize)?;
    }
    Ok(())
}

/// The local size of a launch that does not specify one.
fn chosen_local(dims: u32, global: &[u64; 3], demands: &Demands) -> Result<[u64; 3], SizeError> {
    if let Some(required) = demands.required {
        // The size required by the kernel is used, as if it had been given
        ensure(required[dims as usize..].iter().all(|size| *size == 1), InvalidWorkGroupSize)?;
        ensure(!demands.uniform || divides(dims as usize, &required, global), InvalidWorkGroupSize)?;
        return Ok(required);
    }
    if let Some(sub_groups) = demands.sub_groups {
        let row = [sub_groups.saturating_mul(demands.preferred_multiple), 1, 1];
        ensure(row[0] <= demands.max_group_items, InvalidWorkGroupSize)?;
        ensure(!demands.uniform || divides(dims as usize, &row, global), InvalidWorkGroupSize)?;
        return Ok(row);
    }
    let limits = LocalSizeLimits {
        max_group_items: demands.max_group_items,
        max_item_sizes: [demands.max_item_size; 3],
        preferred_multiple: demands.preferred_multiple,
        workers: demands.workers,
        tiles: demands.tiles,
        rows: demands.rows,
        non_uniform: !demands.uniform,
    };
    // Dimensions that the launch does not have cannot be rows.
    let exchange = demands.exchange.filter(|exchange| u32::from(exchange.dimension()) < dims);
    let exchanged = |sizes: [u64; 3]| exchange.map_or(sizes, |exchange| exchange.apply(sizes));
    Ok(exchanged(ndrange::choose_local_size(dims, exchanged(*global), &limits)))
}

/// Whether the local size divides the global size in every dimension used.
fn divides(dims: usize, local: &[u64; 3], global: &[u64; 3]) -> bool {
    (0..dims).all(|d| global[d].is_multiple_of(local[d]))
}

impl From<NdRangeError> for SizeError {
    fn from(error: NdRangeError) -> Self {
        match error {
            NdRangeError::Dimensions(_) => InvalidWorkDimension,
            NdRangeError::LocalSize => InvalidWorkGroupSize,
            NdRangeError::GlobalSize => InvalidGlobalWorkSize,
            NdRangeError::GlobalOffset => InvalidGlobalOffset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SizeError::*;
    use super::{Demands, Request, checked};

    const DEMANDS: Demands = Demands {
        required: None,
        uniform: true,
        max_group_items: 1024,
        max_item_size: 4096,
        sub_groups: None,
        preferred_multiple: 8,
        workers: 4,
        exchange: None,
        tiles: false,
        rows: 1,
    };

    fn request(dims: u32, global: [u64; 3], local: Option<[u64; 3]>) -> Request {
        Request { dims, offset: None, global: Some(global), local }
    }

    #[test]
    fn each_rule_has_its_code() {
        let free = Demands { uniform: false, ..DEMANDS };
        let fixed = Demands { required: Some([8, 2, 1]), ..DEMANDS };
        let huge = u64::MAX;
        for (request, demands, error) in [
            (request(0, [1; 3], None), DEMANDS, InvalidWorkDimension),
            (request(4, [1; 3], None), DEMANDS, InvalidWorkDimension),
            (Request { offset: Some([1, 0, 0]), ..request(1, [huge, 1, 1], None) }, DEMANDS, InvalidGlobalOffset),
            (Request { offset: Some([0, huge, 0]), ..request(2, [4, 4, 1], None) }, DEMANDS, InvalidGlobalOffset),
            (request(2, [huge, 2, 1], None), DEMANDS, InvalidGlobalWorkSize),
            (request(1, [64, 1, 1], Some([0, 1, 1])), DEMANDS, InvalidWorkGroupSize),
            (request(1, [8192, 1, 1], Some([8192, 1, 1])), DEMANDS, InvalidWorkItemSize),
            (request(1, [4096, 1, 1], Some([2048, 1, 1])), DEMANDS, InvalidWorkGroupSize),
            (request(3, [64; 3], Some([16, 16, 16])), DEMANDS, InvalidWorkGroupSize),
            (request(1, [100, 1, 1], Some([64, 1, 1])), DEMANDS, InvalidWorkGroupSize),
            (request(2, [16, 16, 1], Some([2, 8, 1])), fixed, InvalidWorkGroupSize),
            (request(1, [16, 1, 1], Some([8, 1, 1])), fixed, InvalidWorkGroupSize),
            (request(1, [16, 1, 1], None), fixed, InvalidWorkGroupSize),
            (request(2, [12, 2, 1], None), fixed, InvalidWorkGroupSize),
            (
                request(2, [64, 8, 1], Some([16, 2, 1])),
                Demands { sub_groups: Some(3), ..DEMANDS },
                InvalidWorkGroupSize,
            ),
            (request(1, [60, 1, 1], None), Demands { sub_groups: Some(2), ..DEMANDS }, InvalidWorkGroupSize),
            (request(3, [huge - 1, huge - 1, 1], Some([1; 3])), free, InvalidGlobalWorkSize),
        ] {
            assert_eq!(checked(&request, &demands), Err(error), "{request:?}");
        }
    }

    #[test]
    fn non_uniform_sizes_need_permission() {
        let free = Demands { uniform: false, ..DEMANDS };
        let nd = checked(&request(1, [100, 1, 1], Some([64, 1, 1])), &free).unwrap();
        assert_eq!((nd.num_groups(), nd.is_uniform()), ([2, 1, 1], false));
    }

    #[test]
    fn an_empty_launch_is_legal() {
        for (global, local) in [(None, None), (Some([0; 3]), Some([8, 1, 1])), (Some([4, 0, 4]), None)] {
            let request = Request { dims: 3, offset: None, global, local };
            assert_eq!(checked(&request, &DEMANDS).unwrap().total_groups(), 0);
        }
        let fixed = Demands { required: Some([8, 2, 1]), ..DEMANDS };
        assert_eq!(checked(&request(2, [0; 3], None), &fixed).unwrap().total_groups(), 0);
    }

    #[test]
    fn a_required_size_is_taken_when_none_is_given() {
        let fixed = Demands { required: Some([8, 2, 1]), ..DEMANDS };
        assert_eq!(checked(&request(2, [16, 4, 1], None), &fixed).unwrap().local_size(), [8, 2, 1]);
        assert_eq!(checked(&request(3, [16, 4, 5], Some([8, 2, 1])), &fixed).unwrap().local_size(), [8, 2, 1]);
    }

    #[test]
    fn a_chosen_size_fits() {
        for global in [1, 7, 64, 1000, 1 << 20, 1_000_003] {
            let nd = checked(&request(1, [global, 1, 1], None), &DEMANDS).unwrap();
            assert!(nd.is_uniform() && nd.group_items() <= 1024, "{global}");
        }
    }
}
