//! Simulated memory: every allocation apart from all others, every byte with its history.

use std::collections::BTreeMap;

use super::InterpError;
use super::memory::{Access, Fault, Memory, Near};
use crate::types::Space;

/// What [`SimMemory`] looks for besides bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimOptions {
    /// Reads of bytes never written.
    pub uninitialized: bool,
    /// Accesses of several work-items with nothing that orders them. Two writes of the same value are none; neither fences nor
    /// what atomics may order between other accesses is understood.
    pub races: bool,
    /// Most bytes that may be allocated at a time.
    pub limit: u64,
}

impl Default for SimOptions {
    fn default() -> SimOptions {
        SimOptions { uninitialized: true, races: true, limit: 1 << 30 }
    }
}

/// Memory of allocations with gaps between them, which are never reused: any access that leaves one is found.
///
/// Each space has its own range of addresses, so that an address tells its space.
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
    /// Last accesses of each byte; empty until there is one to remember.
    history: Vec<History>,
}

/// Last accesses of a byte.
#[derive(Clone, Copy, Debug, Default)]
struct History {
    write: Option<Past>,
    read: Option<Past>,
}

/// An access in the past, or several of the same kind.
#[derive(Clone, Copy, Debug)]
struct Past {
    /// `None`: several groups.
    group: Option<u64>,
    /// `None`: several work-items.
    item: Option<u32>,
    epoch: u32,
    atomic: bool,
}

impl Past {
    fn new(access: &Access, epoch: u32) -> Past {
        Past { group: Some(access.group), item: Some(access.item), epoch, atomic: access.atomic }
    }

    /// Whether nothing orders it and an access now.
    fn concurrent(&self, now: &Past) -> bool {
        let by_barrier = self.group == now.group && (self.epoch != now.epoch || self.item == now.item);
        let atomic = self.atomic && now.atomic;
        !(by_barrier || atomic)
    }

    /// Remembers both.
    fn join(&self, now: &Past) -> Past {
        if self.group == now.group && (self.epoch < now.epoch || self.item == now.item) {
            return Past { atomic: now.atomic && (self.atomic || self.epoch != now.epoch), ..*now };
        }
        Past {
            group: self.group.filter(|_| self.group == now.group),
            item: None,
            epoch: now.epoch,
            atomic: self.atomic && now.atomic,
        }
    }
}

/// Unused addresses after each allocation, at least.
const GAP: u64 = 4096;
/// Bits of an address below its space.
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

    /// Bytes allocated now.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Forgets who accessed what: what follows is ordered after all that was.
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
            return Err(fault(Some(Near { space: allocation.space, base, size: length })));
        }
        Ok((allocation, offset as usize))
    }
}

impl Allocation {
    /// Remembers an access to some bytes; the first conflict, if there is any. `changes` says which bytes a write changes.
    fn remember(
        &mut self,
        access: &Access,
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
        let now = Past::new(access, epoch);
        let mut found = None;
        for (i, history) in self.history[at..at + size].iter_mut().enumerate() {
            let mut conflict = |past: Option<Past>, other_write: bool| {
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
                    // Several work-items may write what is there already.
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

    fn read(&mut self, access: &Access, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
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

    fn write(&mut self, access: &Access, address: u64, bytes: &[u8]) -> Result<(), Fault> {
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
        access: &Access,
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
        // A store (or exchange) does not depend on what was there.
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
