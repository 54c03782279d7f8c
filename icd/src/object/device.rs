//! A device: the processor as a whole (the root device), or a sub-device.
//!
//! A sub-device is a range of compute units. Its queues have workers of their own, each bound to its unit's processor
//! ([`clift_runtime::pool::PoolHandle::sub_device`]). All other properties are the same for all devices and come from
//! [`crate::caps`].

use std::sync::OnceLock;

use clift_include::cl::cl_device_partition_property;
use clift_runtime::pool::{self, PoolHandle};

use crate::ffi::handle::{Object, Ref, cl_object};

/// A device.
#[derive(Debug)]
pub struct Device {
    part: Option<SubDevice>,
}

/// The properties of a sub-device.
#[derive(Debug)]
struct SubDevice {
    parent: Ref<Device>,
    /// The partitioning that created it, in the format of the query.
    partition: Vec<cl_device_partition_property>,
    first: usize,
    count: usize,
}

cl_object!(Device, b"dev ", InvalidDevice);

/// The root device. It is never freed.
pub fn root() -> &'static Ref<Device> {
    static DEVICE: OnceLock<Ref<Device>> = OnceLock::new();
    DEVICE.get_or_init(|| Object::create(Device::whole()))
}

impl Device {
    /// The root device.
    pub fn whole() -> Self {
        Self { part: None }
    }

    /// A sub-device with `count` units from number `first` (of the whole processor) on.
    pub fn part_of(
        parent: &Ref<Device>,
        partition: Vec<cl_device_partition_property>,
        (first, count): (usize, usize),
    ) -> Self {
        Self { part: Some(SubDevice { parent: parent.clone(), partition, first, count }) }
    }

    /// The device it was partitioned from; `None` for the root device.
    pub fn parent(&self) -> Option<&Ref<Device>> {
        self.part.as_ref().map(|part| &part.parent)
    }

    /// The partitioning that created it, including the final zero; empty for the root device.
    pub fn partition(&self) -> &[cl_device_partition_property] {
        self.part.as_ref().map_or(&[], |part| &part.partition)
    }

    /// Its compute units: number of the first, and count.
    pub fn units(&self) -> (usize, usize) {
        self.part.as_ref().map_or_else(|| (0, pool::worker_count()), |part| (part.first, part.count))
    }

    /// The pool that executes the commands of its queues.
    pub fn pool(&self) -> PoolHandle {
        self.part.as_ref().map_or_else(PoolHandle::root, |part| PoolHandle::sub_device(part.first, part.count))
    }
}
