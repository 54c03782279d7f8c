//! Simulated memory that checks bounds, initialization and races.

use std::collections::BTreeMap;

use super::InterpError;
use super::memory::{Accessor, Fault, Memory, NearbyAllocation};
use crate::types::Space;

/// The checks of [`SimMemory`] besides bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimOptions {
    /// Reads of uninitialized bytes.
    pub uninitialized: bool,
    /// Races: unordered accesses of several work-items. Two writes of the same value are not a race. The order that fences and
    /// atomics establish between other accesses is not taken into account.
    pub races: bool,
    /// Maximum number of bytes allocated at the same time.
    pub limit: u64,
}

impl Default for SimOptions {
    fn default() -> SimOptions {
        SimOptions { uninitialized: true, races: true, limit: 1 << 30 }
    }
}

/// Memory in which allocations are separated by gaps and addresses are never reused, so that all out-of-bounds accesses are
/// found.
///
/// Each address space has its own range of addresses.
#[derive(Clone, Debug, Default)]
pub struct SimMemory {
    options: SimOptions,
    allocations: BTreeMap<u64, Allocation>,
    next: [u64; Space::ALL.len()],
    used: u64,
}

#[derive(Clone, Debug)]
struct Allocation {
    space: Space,
    bytes: Vec<u8>,
    /// Which bytes have been written.
    written: Vec<bool>,
    /// Last accesses to each byte; empty before the first one.
    history: Vec<History>,
}

/// Last accesses to a byte.
#[derive(Clone, Copy, Debug, Default)]
struct History {
    write: Option<PastAccess>,
    read: Option<PastAccess>,
}

/// An earlier access, or several of the same kind.
#[derive(Clone, Copy, Debug)]
struct PastAccess {
    /// `None`: several groups.
    group: Option<u64>,
    /// `None`: several work-items.
    item: Option<u32>,
    epoch: u32,
    atomic: bool,
}

impl PastAccess {
    fn new(access: &Accessor, epoch: u32) -> PastAccess {
        PastAccess { group: Some(access.group), item: Some(access.item), epoch, atomic: access.atomic }
    }

    /// Whether it is unordered with a current access.
    fn concurrent(&self, now: &PastAccess) -> bool {
        let by_barrier = self.group == now.group && (self.epoch != now.epoch || self.item == now.item);
        let atomic = self.atomic && now.atomic;
        !(by_barrier || atomic)
    }

    /// Combines both accesses.
    fn join(&self, now: &PastAccess) -> PastAccess {
        if self.group == now.group && (self.epoch < now.epoch || self.item == now.item) {
            return PastAccess { atomic: now.atomic && (self.atomic || self.epoch != now.epoch), ..*now };
        }
        PastAccess {
            group: self.group.filter(|_| self.group == now.group),
            item: None,
            epoch: now.epoch,
            atomic: self.atomic && now.atomic,
        }
    }
}

/// Minimum gap after each allocation.
const GAP: u64 = 4096;
/// Number of address bits below the address space.
const SPACE_SHIFT: u32 = 40;

impl SimMemory {
    /// Empty memory.
    pub fn new(options: SimOptions) -> SimMemory {
        SimMemory { options, ..SimMemory::default() }
    }

    /// The bytes of the allocation at an address.
    pub fn bytes(&self, address: u64) -> Option<&[u8]> {
        self.allocations.get(&address).map(|a| &*a.bytes)
    }

    /// Number of bytes that are allocated.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Clears the histories: all further accesses are ordered after all earlier ones.
    pub fn clear_history(&mut self) {
        for allocation in self.allocations.values_mut() {
            allocation.history.clear();
        }
    }

    /// The allocation that contains all of the bytes, and the offset of the first.
    fn find(&mut self, address: u64, size: u64, write: bool) -> Result<(&mut Allocation, usize), Fault> {
        let fault = |near| Fault::OutOfBounds { address, size, write, near };
        let Some((&base, allocation)) = self.allocations.range_mut(..=address).next_back() else {
            return Err(fault(None));
        };
        let length = allocation.bytes.len() as u64;
        let offset = address - base;
        if offset.checked_add(size).is_none_or(|end| end > length) {
            return Err(fault(Some(NearbyAllocation { space: allocation.space, base, size: length })));
        }
        Ok((allocation, offset as usize))
    }
}

impl Allocation {
    /// Records an access to some bytes; returns the first race, if there is one. `changes` says which bytes a write changes.
    fn remember(
        &mut self,
        access: &Accessor,
        address: u64,
        at: usize,
        size: usize,
        writes: Option<&dyn Fn(usize) -> bool>,
    ) -> Option<Fault> {
        let epoch = match self.space {
            Space::Local => access.local_epoch,
            Space::Global | Space::Generic => access.global_epoch,
            Space::Private | Space::Constant | Space::Host => return None,
        };
        if self.history.is_empty() {
            self.history = vec![History::default(); self.bytes.len()];
        }
        let now = PastAccess::new(access, epoch);
        let mut found = None;
        for (i, history) in self.history[at..at + size].iter_mut().enumerate() {
            let mut conflict = |past: Option<PastAccess>, other_write: bool| {
                if let Some(past) = past.filter(|past| past.concurrent(&now)) {
                    let other = past.group.zip(past.item);
                    let address = address + i as u64;
                    found.get_or_insert(Fault::Race { address, write: writes.is_some(), other_write, other });
                }
            };
            match writes {
                None => {
                    conflict(history.write, true);
                    history.read = Some(history.read.map_or(now, |past| past.join(&now)));
                }
                Some(changes) => {
                    // Several work-items may write the value that is already there.
                    if changes(i) {
                        conflict(history.write, true);
                    }
                    conflict(history.read, false);
                    history.write = Some(now);
                }
            }
        }
        found
    }
}

impl Memory for SimMemory {
    fn allocate(&mut self, space: Space, size: u64, align: u32) -> Result<u64, InterpError> {
        if size > self.options.limit.saturating_sub(self.used) {
            return Err(InterpError::Memory(format!("{size} bytes more than the limit allows")));
        }
        let number = Space::ALL.iter().position(|&s| s == space).unwrap_or(0);
        let start = self.next[number].max(GAP).next_multiple_of(u64::from(align.max(1)));
        let base = (number as u64 + 1) << SPACE_SHIFT | start;
        let next = start.saturating_add(size).saturating_add(GAP);
        if next >= 1 << SPACE_SHIFT {
            return Err(InterpError::Memory(format!("no addresses left in {} memory", space.name())));
        }
        self.next[number] = next;
        self.used += size;
        let length = size as usize;
        let allocation =
            Allocation { space, bytes: vec![0; length], written: vec![false; length], history: Vec::new() };
        self.allocations.insert(base, allocation);
        Ok(base)
    }

    fn release(&mut self, address: u64) {
        if let Some(allocation) = self.allocations.remove(&address) {
            self.used -= allocation.bytes.len() as u64;
        }
    }

    fn initialize(&mut self, address: u64, bytes: &[u8]) -> Result<(), InterpError> {
        let (allocation, at) = self
            .find(address, bytes.len() as u64, true)
            .map_err(|fault| InterpError::Memory(format!("initial content: {fault}")))?;
        allocation.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        allocation.written[at..at + bytes.len()].fill(true);
        Ok(())
    }

    fn read(&mut self, access: &Accessor, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        let options = self.options;
        bytes.fill(0);
        let size = bytes.len();
        let (allocation, at) = self.find(address, size as u64, false)?;
        bytes.copy_from_slice(&allocation.bytes[at..at + size]);
        let race = if options.races { allocation.remember(access, address, at, size, None) } else { None };
        if options.uninitialized
            && let Some(first) = allocation.written[at..at + size].iter().position(|&written| !written)
        {
            return Err(Fault::Uninitialized { address: address + first as u64 });
        }
        race.map_or(Ok(()), Err)
    }

    fn write(&mut self, access: &Accessor, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let options = self.options;
        let size = bytes.len();
        let (allocation, at) = self.find(address, size as u64, true)?;
        if matches!(allocation.space, Space::Constant | Space::Host) {
            return Err(Fault::ReadOnly { address });
        }
        let mut race = None;
        if options.races {
            let old = allocation.bytes[at..at + size].to_vec();
            race = allocation.remember(access, address, at, size, Some(&|i| old[i] != bytes[i]));
        }
        allocation.bytes[at..at + size].copy_from_slice(bytes);
        allocation.written[at..at + size].fill(true);
        race.map_or(Ok(()), Err)
    }

    fn update(
        &mut self,
        access: &Accessor,
        address: u64,
        size: u32,
        old: &mut u64,
        new: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<(), Fault> {
        let mut bytes = [0; 8];
        let mut read = self.read(access, address, &mut bytes[..size as usize]);
        *old = u64::from_le_bytes(bytes);
        let stored = if matches!(read, Err(Fault::OutOfBounds { .. })) { None } else { new(*old) };
        let Some(stored) = stored else { return read };
        // A store or an exchange does not depend on the old value.
        if matches!(read, Err(Fault::Uninitialized { .. })) && new(!*old) == Some(stored) {
            read = Ok(());
        }
        read.and(self.write(access, address, &stored.to_le_bytes()[..size as usize]))
    }

    fn is_in(&self, space: Space, address: u64) -> bool {
        let number = (address >> SPACE_SHIFT) as usize;
        number.checked_sub(1).and_then(|n| Space::ALL.get(n)) == Some(&space)
    }
}
