//! The requests of generated code. No panic leaves the entry.
#![allow(unsafe_code, reason = "called by generated code, with raw pointers")]

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use clift_include::abi::WgContext;
use clift_include::request::{Begin, Enqueued, RANGE_WORDS, Request, status};
use smallvec::smallvec;

use super::child::{self, ChildCommand, ChildLaunch, Parent};
use super::kernels::{ChildKernel, LocalArg};
use super::queue::DeviceQueue;
use crate::callbacks::launch_of;
use crate::graph::{Event, TIMES, Timestamp, WaitList};

/// `CLK_PROFILING_COMMAND_EXEC_TIME`
const EXEC_TIME: u64 = 1;

/// The most events that a command may wait for.
const MAX_WAITS: u64 = 1 << 20;

/// [`Callbacks::request`](clift_include::abi::Callbacks::request).
///
/// # Safety
/// As documented there: the operands are `count` words, and addresses among them are those of the kernel's memory.
pub(crate) unsafe extern "C" fn on_request(
    ctx: *const WgContext,
    number: u32,
    operands: *const u64,
    count: u64,
) -> u64 {
    let answered = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: generated code passes the context it was given.
        let running = unsafe { launch_of(ctx) }?;
        let enqueuing = running.launch().enqueuing.as_ref()?;
        let request = *Request::ALL.get(number as usize)?;
        let operands = if count == 0 {
            &[]
        } else {
            // SAFETY: generated code passes `count` words.
            unsafe { slice::from_raw_parts(operands, usize::try_from(count).ok()?) }
        };
        let parent = Parent { running, enqueuing, family: running.family()? };
        // SAFETY: the operands are those of the request, by contract.
        unsafe { parent.answer(request, operands) }
    }));
    answered
        .unwrap_or_else(|_| {
            tracing::error!(number, "a request of a kernel panicked");
            None
        })
        .unwrap_or(0)
}

impl<'a> Parent<'a> {
    /// The result of a request; `None` if it has none or its operands are wrong.
    ///
    /// # Safety
    /// Addresses among the operands are valid, as [`Request`] describes them.
    unsafe fn answer(self, request: Request, operands: &[u64]) -> Option<u64> {
        let events = &self.enqueuing.shared.events;
        match (request, operands) {
            (Request::EnqueueKernel, _) => {
                // SAFETY: by contract.
                Some(self.word(unsafe { self.enqueue_kernel(operands) }))
            }
            (Request::EnqueueMarker, &[queue, count, list, wants_event]) => {
                // SAFETY: by contract.
                Some(self.word(unsafe { self.enqueue_marker(queue, count, list, wants_event != 0) }))
            }
            (Request::CreateUserEvent, []) => events.insert(Event::user()),
            (Request::RetainEvent, &[event]) => {
                events.retain(event);
                None
            }
            (Request::ReleaseEvent, &[event]) => {
                events.release(event);
                None
            }
            (Request::IsValidEvent, &[event]) => Some(events.get(event).is_some().into()),
            (Request::SetUserEventStatus, &[event, status]) => {
                // The behaviour for any other event is undefined; nothing happens.
                let _ = events.get(event)?.set_user_status(status as u32 as i32);
                None
            }
            (Request::CaptureProfiling, &[event, EXEC_TIME, place]) => {
                // SAFETY: by contract.
                unsafe { capture_times(&events.get(event)?, place) };
                None
            }
            (Request::DefaultQueue, []) => {
                let queue = self.enqueuing.shared.default_queue.as_deref()?;
                Some(core::ptr::from_ref(queue).expose_provenance() as u64)
            }
            (Request::WorkGroupSize, &[kernel]) => Some(self.kernel(kernel)?.demands.max_group_items),
            (Request::PreferredWorkGroupSizeMultiple, &[kernel]) => Some(self.kernel(kernel)?.preferred_multiple),
            (Request::SubGroupCount, &[ref range @ .., kernel]) => {
                Some(self.kernel(kernel)?.sub_group_count(range.try_into().ok()?))
            }
            (Request::MaxSubGroupSize, &[ref range @ .., kernel]) => {
                Some(self.kernel(kernel)?.max_sub_group_size(range.try_into().ok()?))
            }
            (Request::LocalSizeForSubGroupCount, &[sub_groups, kernel]) => {
                Some(self.kernel(kernel)?.local_size_for(sub_groups))
            }
            (Request::MaxSubGroups, &[kernel]) => Some(self.kernel(kernel)?.max_sub_groups()),
            (
                Request::EnqueueMarker
                | Request::CreateUserEvent
                | Request::RetainEvent
                | Request::ReleaseEvent
                | Request::IsValidEvent
                | Request::SetUserEventStatus
                | Request::CaptureProfiling
                | Request::DefaultQueue
                | Request::WorkGroupSize
                | Request::PreferredWorkGroupSizeMultiple
                | Request::SubGroupCount
                | Request::MaxSubGroupSize
                | Request::LocalSizeForSubGroupCount
                | Request::MaxSubGroups,
                _,
            ) => None,
        }
    }

    fn kernel(self, number: u64) -> Option<&'a ChildKernel> {
        self.enqueuing.shared.kernels.list.get(usize::try_from(number).ok()?)
    }

    /// The result of an enqueue. The reason of a failure is reported only on request.
    fn word(self, result: Result<Enqueued, i16>) -> u64 {
        let failed = |reason: i16| {
            tracing::debug!(reason, "a kernel could not enqueue a command");
            let precise = self.enqueuing.shared.kernels.precise_errors;
            Enqueued { status: if precise { reason } else { status::ENQUEUE_FAILURE }, event: 0 }
        };
        result.unwrap_or_else(failed).word()
    }

    /// `enqueue_kernel`
    ///
    /// # Safety
    /// As [`Parent::answer`].
    unsafe fn enqueue_kernel(self, operands: &[u64]) -> Result<Enqueued, i16> {
        let &[queue, flags, ref rest @ ..] = operands else { return Err(status::ENQUEUE_FAILURE) };
        let Some((range, rest)) = rest.split_first_chunk::<RANGE_WORDS>() else { return Err(status::ENQUEUE_FAILURE) };
        let &[count, list, wants_event, number, captures, ref sizes @ ..] = rest else {
            return Err(status::ENQUEUE_FAILURE);
        };
        // SAFETY: by contract.
        let queue = unsafe { queue_at(queue) }.ok_or(status::INVALID_QUEUE)?;
        let begin = Begin::from_number(flags).ok_or(status::ENQUEUE_FAILURE)?;
        let kernel = self.kernel(number).ok_or(status::ENQUEUE_FAILURE)?;
        let nd = kernel.geometry(range).map_err(|_| status::INVALID_NDRANGE)?;
        // SAFETY: by contract.
        let waits = unsafe { self.wait_list(count, list) }?;
        let mut args = smallvec![0; kernel.resources.arg_block_bytes as usize];
        let most = self.enqueuing.shared.kernels.max_local_bytes;
        let local_arg_bytes = place_locals(&kernel.locals, sizes, kernel.resources.local_bytes..most, &mut args)?;
        let bytes = kernel.captures_bytes as usize;
        if captures != 0 && bytes != 0 {
            // SAFETY: the captures have the size that the module states, which is at most that of the kernel's argument.
            let captured = unsafe { slice::from_raw_parts(address(captures), bytes) };
            args[..bytes].copy_from_slice(captured);
        }
        let command = ChildCommand { queue, begin, waits, wants_event: wants_event != 0 };
        let launch = ChildLaunch { kernel: number as u32, nd, args, local_arg_bytes };
        child::enqueue_kernel(self, command, launch)
    }

    /// `enqueue_marker`
    ///
    /// # Safety
    /// As [`Parent::answer`].
    unsafe fn enqueue_marker(self, queue: u64, count: u64, list: u64, wants_event: bool) -> Result<Enqueued, i16> {
        // SAFETY: by contract.
        let queue = unsafe { queue_at(queue) }.ok_or(status::INVALID_QUEUE)?;
        // SAFETY: by contract.
        let waits = unsafe { self.wait_list(count, list) }?;
        if waits.is_empty() {
            return Err(status::INVALID_EVENT_WAIT_LIST);
        }
        if !wants_event {
            return Ok(Enqueued { status: status::SUCCESS, event: 0 });
        }
        let command = ChildCommand { queue, begin: Begin::AtOnce, waits, wants_event };
        child::enqueue_marker(self, command)
    }

    /// The events of a wait list.
    ///
    /// # Safety
    /// `list` is null or the address of `count` events.
    unsafe fn wait_list(self, count: u64, list: u64) -> Result<WaitList, i16> {
        if (list == 0) != (count == 0) || count > MAX_WAITS {
            return Err(status::INVALID_EVENT_WAIT_LIST);
        }
        let mut waits = WaitList::new();
        for number in 0..count as usize {
            // SAFETY: by contract. Kernels align events as they like.
            let event = unsafe { address::<u64>(list).add(number).read_unaligned() };
            waits.push(self.enqueuing.shared.events.get(event).ok_or(status::INVALID_EVENT_WAIT_LIST)?);
        }
        Ok(waits)
    }
}

/// Stores the offsets of a child's local arguments, with sizes that the parent gives, in its argument block, and returns their
/// bytes. They are placed in the range `free` of offsets in local memory.
pub(super) fn place_locals(locals: &[LocalArg], sizes: &[u64], free: Range<u64>, args: &mut [u8]) -> Result<u64, i16> {
    let mut end = free.start;
    for (local, &size) in locals.iter().zip(sizes) {
        if size == 0 {
            return Err(status::INVALID_ARG_SIZE);
        }
        // Sizes are the parent's: any number.
        let start = end.checked_next_multiple_of(local.align.max(1).into()).ok_or(status::OUT_OF_RESOURCES)?;
        let place = local.offset as usize;
        args[place..place + size_of::<u64>()].copy_from_slice(&start.to_le_bytes());
        end = start.checked_add(size).ok_or(status::OUT_OF_RESOURCES)?;
    }
    if end > free.end { Err(status::OUT_OF_RESOURCES) } else { Ok(end - free.start) }
}

/// A pointer that a kernel passes.
fn address<T>(word: u64) -> *const T {
    core::ptr::with_exposed_provenance(word as usize)
}

/// The device queue of a `queue_t`; `None` if that is null.
///
/// # Safety
/// The word is 0 or the address of a queue that the launch keeps alive.
unsafe fn queue_at<'a>(word: u64) -> Option<&'a DeviceQueue> {
    // SAFETY: by contract.
    unsafe { address::<DeviceQueue>(word).as_ref() }
}

/// `capture_event_profiling_info`: stores two durations when the command has ended.
///
/// # Safety
/// `place` is the address of two words that live until the command has ended.
unsafe fn capture_times(event: &Event, place: u64) {
    let store = move |times: [u64; TIMES]| {
        let since_start = |end: Timestamp| times[end as usize].saturating_sub(times[Timestamp::Start as usize]).max(1);
        let durations = [since_start(Timestamp::End), since_start(Timestamp::Complete)];
        let place: *mut [u64; 2] = core::ptr::with_exposed_provenance_mut(place as usize);
        if !place.is_null() {
            // SAFETY: by contract.
            unsafe { place.write_unaligned(durations) };
        }
    };
    if let Some((store, times)) = event.0.on_times(Box::new(store)) {
        store(times);
    }
}
