//! The sizes that an application requests for a launch.

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
