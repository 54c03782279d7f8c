//! A device: the processor as a whole, or a part of it (a sub-device).
//!
//! A part is a range of compute units. Its queues have workers of their own, each bound to its unit's processor
//! ([`clift_runtime::pool::PoolHandle::sub_device`]); everything else a device can is the same for all and comes from [`crate::caps`].

use std::sync::OnceLock;

use clift_include::cl::cl_device_partition_property;
use clift_runtime::pool::{self, PoolHandle};

use crate::ffi::handle::{Object, Ref, cl_object};

/// A device.
#[derive(Debug)]
pub struct Device {
    part: Option<Part>,
}

/// What makes a sub-device.
#[derive(Debug)]
struct Part {
    parent: Ref<Device>,
    /// The partitioning that made it, as the query wants it.
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
    /// The whole processor.
    pub fn whole() -> Self {
        Self { part: None }
    }

    /// The part of a device that has `count` units from number `first` (of the whole processor) on.
    pub fn part_of(
        parent: &Ref<Device>,
        partition: Vec<cl_device_partition_property>,
        (first, count): (usize, usize),
    ) -> Self {
        Self { part: Some(Part { parent: parent.clone(), partition, first, count }) }
    }

    /// The device it is a part of; `None` for the root device.
    pub fn parent(&self) -> Option<&Ref<Device>> {
        self.part.as_ref().map(|part| &part.parent)
    }

    /// The partitioning that made it, its ending zero included; empty for the root device.
    pub fn partition(&self) -> &[cl_device_partition_property] {
        self.part.as_ref().map_or(&[], |part| &part.partition)
    }

    /// Its compute units: the first one's number, and how many there are.
    pub fn units(&self) -> (usize, usize) {
        self.part.as_ref().map_or_else(|| (0, pool::worker_count()), |part| (part.first, part.count))
    }

    /// Who runs the commands of its queues.
    pub fn pool(&self) -> PoolHandle {
        self.part.as_ref().map_or_else(PoolHandle::root, |part| PoolHandle::sub_device(part.first, part.count))
    }
}
