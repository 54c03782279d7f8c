//! Partitioning of a device into sub-devices, and the queries about it.
//!
//! A partitioning is a list of ranges of compute units. By affinity, only domains in which the device's units differ are
//! supported, because the others would give a single part.

use clift_include::cl::*;
use clift_runtime::pool::topology::{self, Domain};

use crate::error::ClError::{DevicePartitionFailed, InvalidDevicePartitionCount, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::pointer::{Out, OutArray, Properties};
use crate::object::device::Device;

/// A range of compute units: number of the first, and count.
type Units = (usize, usize);

/// OpenCL's constant for a domain.
fn domain_bit(domain: Domain) -> cl_device_affinity_domain {
    match domain {
        Domain::Numa => CL_DEVICE_AFFINITY_DOMAIN_NUMA,
        Domain::L4 => CL_DEVICE_AFFINITY_DOMAIN_L4_CACHE,
        Domain::L3 => CL_DEVICE_AFFINITY_DOMAIN_L3_CACHE,
        Domain::L2 => CL_DEVICE_AFFINITY_DOMAIN_L2_CACHE,
        Domain::L1 => CL_DEVICE_AFFINITY_DOMAIN_L1_CACHE,
    }
}

/// Whether the units differ in a domain.
fn divides((first, count): Units, domain: Domain) -> bool {
    topology::split(first, count, domain).len() > 1
}

/// `CL_DEVICE_PARTITION_AFFINITY_DOMAIN`
pub fn affinity_domains(device: &Device) -> cl_device_affinity_domain {
    let found = Domain::ALL.iter().filter(|domain| divides(device.units(), **domain));
    let bits = found.fold(0, |bits, domain| bits | domain_bit(*domain));
    if bits == 0 { 0 } else { bits | CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE }
}

/// `CL_DEVICE_PARTITION_PROPERTIES`: zero when the device cannot be divided.
pub fn kinds(device: &Device) -> Vec<cl_device_partition_property> {
    if device.units().1 < 2 {
        return vec![0];
    }
    let mut kinds = vec![CL_DEVICE_PARTITION_EQUALLY, CL_DEVICE_PARTITION_BY_COUNTS];
    if affinity_domains(device) != 0 {
        kinds.push(CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN);
    }
    kinds
}

/// `CL_DEVICE_PARTITION_MAX_SUB_DEVICES`
pub fn max_sub_devices(device: &Device) -> usize {
    device.units().1
}

/// `clCreateSubDevices`
pub fn create_sub_devices(
    device: Handle<Device>,
    properties: Properties<cl_device_partition_property>,
    num_devices: cl_uint,
    out_devices: OutArray<Handle<Device>>,
    num_devices_ret: Out<cl_uint>,
) -> ClResult<()> {
    // CL_INVALID_DEVICE if in_device is not a valid device
    let device = device.get()?;
    // CL_INVALID_VALUE if values specified in properties are not valid, or if values specified in properties are valid but
    // not supported by the device
    // CL_DEVICE_PARTITION_FAILED, CL_INVALID_DEVICE_PARTITION_COUNT: see `ranges`
    let given = properties.up_to_zero();
    let (ranges, partition) = ranges(&device, &given)?;
    // CL_INVALID_VALUE if out_devices is not NULL and num_devices is less than the number of sub-devices created by the
    // partition scheme
    ensure(out_devices.is_null() || num_devices as usize >= ranges.len(), InvalidValue)?;

    num_devices_ret.set(ranges.len() as cl_uint);
    if !out_devices.is_null() {
        let part = |units: &Units| Object::create(Device::part_of(&device, partition.clone(), *units));
        let parts: Vec<Ref<Device>> = ranges.iter().map(part).collect();
        out_devices.fill(num_devices as usize, parts.iter().map(|part| part.handle()));
    }
    Ok(())
}

/// The ranges of a partitioning, and the list that describes it in queries.
fn ranges(
    device: &Device,
    given: &[cl_device_partition_property],
) -> ClResult<(Vec<Units>, Vec<cl_device_partition_property>)> {
    let (first, count) = device.units();
    let (&kind, values) = given.split_first().ok_or(InvalidValue)?;
    let mut described = given.to_vec();
    let ranges = match kind {
        CL_DEVICE_PARTITION_EQUALLY => {
            let &[each] = values else { return Err(InvalidValue) };
            let each = usize::try_from(each).map_err(|_| InvalidValue)?;
            // CL_DEVICE_PARTITION_FAILED if the partition name is supported but in_device could not be further partitioned
            ensure(count > 1, DevicePartitionFailed)?;
            // CL_INVALID_DEVICE_PARTITION_COUNT if the total number of compute units requested exceeds
            // CL_DEVICE_MAX_COMPUTE_UNITS
            ensure(each <= count, InvalidDevicePartitionCount)?;
            // CL_DEVICE_PARTITION_FAILED: as above; a part that is the whole device is not a partition, as the conformance
            // tests have it
            ensure(each < count, DevicePartitionFailed)?;
            // Remaining units belong to no sub-device
            (0..count / each).map(|index| (first + index * each, each)).collect()
        }
        CL_DEVICE_PARTITION_BY_COUNTS => {
            // CL_DEVICE_PARTITION_FAILED: as above
            ensure(count > 1, DevicePartitionFailed)?;
            // CL_INVALID_VALUE if no count is given
            ensure(!values.is_empty(), InvalidValue)?;
            // CL_INVALID_DEVICE_PARTITION_COUNT if the number of sub-devices requested exceeds
            // CL_DEVICE_PARTITION_MAX_SUB_DEVICES
            ensure(values.len() <= max_sub_devices(device), InvalidDevicePartitionCount)?;
            let mut ranges = Vec::new();
            let mut next = first;
            for &value in values {
                // CL_INVALID_DEVICE_PARTITION_COUNT if the number of compute units requested for one or more sub-devices is
                // less than zero or the number of sub-devices requested exceeds CL_DEVICE_MAX_COMPUTE_UNITS
                let length = usize::try_from(value).map_err(|_| InvalidDevicePartitionCount)?;
                // CL_INVALID_DEVICE_PARTITION_COUNT if the total number of compute units requested exceeds
                // CL_DEVICE_MAX_COMPUTE_UNITS
                ensure(length <= first + count - next, InvalidDevicePartitionCount)?;
                ranges.push((next, length));
                next += length;
            }
            // The list of counts and that of properties have the same final zero, which follows
            ranges
        }
        CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN => {
            let &[bit] = values else { return Err(InvalidValue) };
            let bit = cl_device_affinity_domain::try_from(bit).map_err(|_| InvalidValue)?;
            let next = bit == CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE;
            ensure(next || Domain::ALL.iter().any(|domain| domain_bit(*domain) == bit), InvalidValue)?;
            // CL_DEVICE_PARTITION_FAILED: as above, for a device whose units do not differ in the domain
            let wanted = |domain: &&Domain| (next || domain_bit(**domain) == bit) && divides((first, count), **domain);
            let domain = *Domain::ALL.iter().find(wanted).ok_or(DevicePartitionFailed)?;
            // The query returns the domain that was used
            described = vec![kind, domain_bit(domain) as cl_device_partition_property];
            topology::split(first, count, domain)
        }
        _ => return Err(InvalidValue),
    };
    described.push(0);
    Ok((ranges, described))
}
