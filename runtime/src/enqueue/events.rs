//! The events that kernels hold: `clk_event_t` is a handle into a table of the context, so an invalid one is recognized.

use crate::graph::Event;
use crate::sync::plain::Mutex;

/// Bits of a slot's number, plus one, in a handle. The generation follows.
const NUMBER_BITS: u32 = 24;

/// Generations of a slot; handles have at most 48 bits ([`Enqueued`](clift_include::request::Enqueued)).
const GENERATIONS: u64 = 1 << 24;

/// The events that the kernels of a context hold.
#[derive(Debug, Default)]
pub struct DeviceEvents(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    slots: Vec<Slot>,
    /// Numbers of slots without an event.
    free: Vec<usize>,
}

#[derive(Debug)]
struct Slot {
    generation: u64,
    references: u32,
    event: Option<Event>,
}

impl DeviceEvents {
    /// Maximum number of events at the same time (`CL_DEVICE_MAX_ON_DEVICE_EVENTS`).
    pub const MAX: usize = 1 << 20;

    /// Adds an event with one reference; returns its handle, or `None` when there are too many.
    pub(super) fn insert(&self, event: Event) -> Option<u64> {
        let mut table = self.0.lock();
        let number = match table.free.pop() {
            Some(number) => number,
            None if table.slots.len() < Self::MAX => {
                table.slots.push(Slot { generation: 0, references: 0, event: None });
                table.slots.len() - 1
            }
            None => return None,
        };
        let slot = &mut table.slots[number];
        slot.references = 1;
        slot.event = Some(event);
        Some((slot.generation << NUMBER_BITS) | (number as u64 + 1))
    }

    /// The event of a handle, if the handle is valid.
    pub(super) fn get(&self, handle: u64) -> Option<Event> {
        self.0.lock().slot(handle)?.event.clone()
    }

    /// Adds a reference.
    pub(super) fn retain(&self, handle: u64) {
        if let Some(slot) = self.0.lock().slot(handle) {
            slot.references = slot.references.saturating_add(1);
        }
    }

    /// Removes a reference, and with the last one the event.
    pub(super) fn release(&self, handle: u64) {
        let mut table = self.0.lock();
        let Some(slot) = table.slot(handle) else { return };
        slot.references -= 1;
        if slot.references > 0 {
            return;
        }
        let event = slot.event.take();
        slot.generation = (slot.generation + 1) % GENERATIONS;
        table.free.push(number_of(handle).unwrap_or_default());
        drop(table);
        // The end of an event may make commands ready, so the table is not locked.
        drop(event);
    }
}

impl Table {
    fn slot(&mut self, handle: u64) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(number_of(handle)?)?;
        (slot.event.is_some() && slot.generation == handle >> NUMBER_BITS).then_some(slot)
    }
}

/// The number of the slot that a handle names.
fn number_of(handle: u64) -> Option<usize> {
    usize::try_from(handle & ((1 << NUMBER_BITS) - 1)).ok()?.checked_sub(1)
}
