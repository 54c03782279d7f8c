//! Semaphores: creation, and the commands that signal them and wait for them, which order commands of different queues.
//!
//! Not modelled: waits that are enqueued before their signal, wait lists of these commands, and external semaphores.

use std::ptr::{null, null_mut};

use arbtest::arbitrary::{Result, Unstructured};

use super::Violated;
use super::cl::*;
use super::contents::Effect;
use super::world::{Detail, Handle, Kind, Place, World};

const TYPE: cl_bitfield = CL_SEMAPHORE_TYPE_KHR as cl_bitfield;
const DEVICES: cl_bitfield = CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR as cl_bitfield;
const BINARY: cl_bitfield = CL_SEMAPHORE_TYPE_BINARY_KHR as cl_bitfield;

/// A semaphore.
#[derive(Clone, Debug)]
pub(crate) struct Semaphore {
    /// The addresses of the devices whose queues may use it.
    devices: Vec<usize>,
    /// The command that has signaled it, until another one waits.
    signal: Option<usize>,
}

impl World {
    /// A call about a semaphore.
    pub(crate) fn semaphore_step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=15)? {
            0..=2 => self.create_semaphore(u),
            3 => {
                self.quiesce();
                for handle in self.all(Kind::Semaphore) {
                    let signaled = self.semaphore(handle).is_some_and(|semaphore| semaphore.signal.is_some());
                    let payload: cl_ulong =
                        info(|s, v, r| clGetSemaphoreInfoKHR(handle, CL_SEMAPHORE_PAYLOAD_KHR, s, v, r));
                    assert_eq!(payload, cl_ulong::from(signaled), "the payload of {handle:?}");
                }
                Ok(())
            }
            _ => self.semaphore_command(u),
        }
    }

    fn semaphore(&self, handle: Handle) -> Option<&Semaphore> {
        match self.get(Kind::Semaphore, handle).map(|object| &object.detail) {
            Some(Detail::Semaphore(semaphore)) => Some(semaphore),
            _ => None,
        }
    }

    fn create_semaphore(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let (context, number) = self.some_context(u, &mut violated)?;
        let mut devices = match self.get(Kind::Context, context).map(|object| &object.detail) {
            Some(Detail::Context(devices)) => devices.clone(),
            _ => vec![device().addr()],
        };
        let mut list = Vec::new();
        let ty = if u.ratio(15, 16)? { BINARY } else { u.int_in_range(2..=9)? };
        violated.rule(ty == BINARY, CL_INVALID_PROPERTY);
        let times = if u.ratio(15, 16)? { 1 } else { u.int_in_range(0..=2)? };
        violated.rule(times != 0, CL_INVALID_VALUE);
        violated.rule(times < 2, CL_INVALID_PROPERTY);
        for _ in 0..times {
            list.extend([TYPE, ty]);
        }
        if u.arbitrary()? {
            let chosen = *u.choose(&devices)?;
            if chosen != device().addr()
                && self.get(Kind::Device, std::ptr::with_exposed_provenance_mut(chosen)).is_none()
            {
                // A sub-device that the application has released, and the context has not.
                return Ok(());
            }
            let count = if u.ratio(15, 16)? { 1 } else { u.int_in_range(0..=2)? };
            violated.rule(count == 1, CL_INVALID_DEVICE);
            list.push(DEVICES);
            list.extend(vec![chosen as cl_bitfield; count]);
            list.push(0);
            devices = vec![chosen];
        } else {
            violated.rule(devices.len() == 1, CL_INVALID_PROPERTY);
            // Whether a device that is named twice counts once is not said.
            violated.allow(devices.windows(2).all(|pair| pair[0] == pair[1]), CL_SUCCESS);
        }
        list.push(0);
        let mut error = 1;
        let given = if u.ratio(31, 32)? { list.as_ptr() } else { null() };
        violated.rule(!given.is_null(), CL_INVALID_VALUE);
        let made = clCreateSemaphoreWithPropertiesKHR(context, given, &mut error);
        let call = format!("clCreateSemaphoreWithPropertiesKHR({context:?}, {list:?})");
        let detail = Detail::Semaphore(Semaphore { devices, signal: None });
        self.made(call, (&violated, error), (made, Kind::Semaphore), (number, detail));
        Ok(())
    }

    /// Signals a semaphore, or waits for the one that is signaled.
    fn semaphore_command(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let queue = self.pick(u, Kind::Queue)?;
        let (context, line) = (self.context_of(Kind::Queue, queue), self.line(queue).cloned());
        let handle = self.pick_in(u, Kind::Semaphore, context)?;
        let semaphore = self.semaphore(handle).cloned();
        let mut violated = Violated::default();
        violated.rule(context.is_some(), CL_INVALID_COMMAND_QUEUE);
        violated.rule(semaphore.is_some(), CL_INVALID_SEMAPHORE_KHR);
        if let (Some(line), Some(semaphore)) = (&line, &semaphore) {
            let own = self.context_of(Kind::Semaphore, handle) == context;
            violated.rule(own, CL_INVALID_CONTEXT);
            violated.rule(own && semaphore.devices.contains(&line.device), CL_INVALID_COMMAND_QUEUE);
        }
        let count = cl_uint::from(u.ratio(31, 32)?);
        violated.rule(count != 0, CL_INVALID_VALUE);
        let signal = semaphore.and_then(|semaphore| semaphore.signal);
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if u.arbitrary()? { &mut event } else { null_mut() };
        let status = if signal.is_some() {
            clEnqueueWaitSemaphoresKHR(queue, count, &handle, null(), 0, null(), out)
        } else {
            clEnqueueSignalSemaphoresKHR(queue, count, &handle, null(), 0, null(), out)
        };
        let call = format!("semaphore {handle:?}, waits: {} in {queue:?} = {event:?}", signal.is_some());
        let succeeded = self.check(call, &violated, status);
        assert_eq!(!event.is_null(), succeeded && !out.is_null(), "{:?}", self.calls.last());
        if succeeded {
            let command = self.submit(queue, Vec::new(), Place::Usual, Effect::default());
            self.timeline.commands[command].follows.extend(signal);
            if let Detail::Semaphore(semaphore) = &mut self.get_mut(handle).detail {
                semaphore.signal = if signal.is_some() { None } else { Some(command) };
            }
            if !event.is_null() {
                self.add(event, Kind::Event, context, Detail::Event(command));
            }
        }
        Ok(())
    }
}
