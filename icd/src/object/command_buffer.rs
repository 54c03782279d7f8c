//! A command buffer (`cl_khr_command_buffer`): commands that are recorded once and enqueued as a whole any number of times.
//!
//! A recorded command has what is needed to submit it again: a function, or a kernel with its arguments and sizes (a
//! [`RecordedLaunch`], which the application may change between two enqueues if it has requested that). It has no state of an
//! execution, so a buffer may execute several times concurrently. A sync point is a command's number, starting with 1.
//!
//! A buffer may have several queues (`cl_khr_command_buffer_multi_device`), also of different devices. A command has the index
//! of its queue, because enqueues and copies of the buffer replace queues by others.

use std::sync::{Arc, Weak};

use clift_include::cl::*;
use clift_runtime::geometry::Request;
use parking_lot::Mutex;

use super::context::Context;
use super::kernel::Kernel;
use super::operation::Operation;
use super::queue::Queue;
use crate::ffi::handle::{Object, Ref, cl_object};

/// A command buffer.
#[derive(Debug)]
pub struct CommandBuffer {
    /// At least one; all have the same context.
    queues: Vec<Ref<Queue>>,
    properties: Vec<cl_command_buffer_properties_khr>,
    flags: cl_command_buffer_flags_khr,
    asserts: cl_mutable_dispatch_asserts_khr,
    state: Mutex<State>,
}

cl_object!(CommandBuffer, b"cmdb", InvalidCommandBuffer);

#[derive(Debug, Default)]
struct State {
    finalized: bool,
    commands: Vec<Arc<Recorded>>,
    /// Handles given to the application, which are freed with the buffer.
    handles: Vec<Ref<MutableCommand>>,
}

/// One command.
#[derive(Debug)]
pub struct Recorded {
    /// The index of its queue.
    pub queue: usize,
    /// The commands it waits for, by index.
    pub waits: Vec<usize>,
    /// Its action.
    pub action: Action,
}

/// The action of a recorded command.
pub enum Action {
    /// Waits (for all earlier commands if there is no wait list); all later commands wait for it.
    Barrier,
    /// Copies or fills.
    Operation(Arc<Operation>),
    /// Runs a kernel.
    Launch(Arc<RecordedLaunch>),
}

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Action::Barrier => "Barrier",
            Action::Operation(_) => "Operation",
            Action::Launch(_) => "Launch",
        })
    }
}

/// A recorded kernel launch.
#[derive(Debug)]
pub struct RecordedLaunch {
    /// The kernel object it was recorded from.
    pub kernel: Ref<Kernel>,
    /// What may be changed (`CL_MUTABLE_DISPATCH_*`).
    pub fields: cl_mutable_dispatch_fields_khr,
    /// The property list as given, including the final zero; empty if there was none.
    pub properties: Vec<cl_command_properties_khr>,
    launch: Mutex<Arc<PreparedLaunch>>,
}

/// The kernel and the sizes for the next enqueue.
#[derive(Debug)]
pub struct PreparedLaunch {
    /// A copy of the kernel with its arguments, which is not an object of the application.
    pub kernel: Kernel,
    /// The sizes.
    pub request: Request,
}

impl RecordedLaunch {
    /// A recorded launch of this kernel.
    pub fn new(
        kernel: Ref<Kernel>,
        fields: cl_mutable_dispatch_fields_khr,
        properties: Vec<cl_command_properties_khr>,
        prepared: PreparedLaunch,
    ) -> Self {
        Self { kernel, fields, properties, launch: Mutex::new(Arc::new(prepared)) }
    }

    /// The kernel and sizes of the next enqueue.
    pub fn prepared(&self) -> Arc<PreparedLaunch> {
        self.launch.lock().clone()
    }

    /// Changes the kernel and sizes of the next enqueue.
    pub fn change(&self, prepared: Arc<PreparedLaunch>) {
        let old = std::mem::replace(&mut *self.launch.lock(), prepared);
        // Freed without the lock.
        drop(old);
    }
}

/// The application's handle to a recorded kernel (`cl_mutable_command_khr`).
#[derive(Debug)]
pub struct MutableCommand {
    buffer: Weak<Object<CommandBuffer>>,
    queue: Ref<Queue>,
    dispatch: Arc<RecordedLaunch>,
}

cl_object!(MutableCommand, b"mcmd", InvalidMutableCommand);

impl MutableCommand {
    /// The buffer it belongs to; `None` if that no longer exists.
    pub fn buffer(&self) -> Option<Ref<CommandBuffer>> {
        self.buffer.upgrade()
    }

    /// The queue that it is recorded for.
    pub fn queue(&self) -> &Ref<Queue> {
        &self.queue
    }

    /// The recorded kernel.
    pub fn dispatch(&self) -> &Arc<RecordedLaunch> {
        &self.dispatch
    }
}

/// Recording has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finalized;

impl CommandBuffer {
    /// A buffer for queues, with the property list as given and its meaning.
    pub fn new(
        queues: Vec<Ref<Queue>>,
        properties: Vec<cl_command_buffer_properties_khr>,
        flags: cl_command_buffer_flags_khr,
        asserts: cl_mutable_dispatch_asserts_khr,
    ) -> Self {
        Self { queues, properties, flags, asserts, state: Mutex::default() }
    }

    /// An empty copy with other queues. Recording it has not ended.
    pub fn emptied(&self, queues: Vec<Ref<Queue>>) -> Self {
        Self::new(queues, self.properties.clone(), self.flags, self.asserts)
    }

    /// Its queues.
    pub fn queues(&self) -> &[Ref<Queue>] {
        &self.queues
    }

    /// The context of its queues.
    pub fn context(&self) -> &Ref<Context> {
        self.queues[0].context()
    }

    /// The property list as given, including the final zero; empty if there was none.
    pub fn properties(&self) -> &[cl_command_buffer_properties_khr] {
        &self.properties
    }

    /// Whether its kernels may be changed.
    pub fn is_mutable(&self) -> bool {
        self.flags & CL_COMMAND_BUFFER_MUTABLE_KHR != 0
    }

    /// The application's guarantees about changes.
    pub fn asserts(&self) -> cl_mutable_dispatch_asserts_khr {
        self.asserts
    }

    /// `CL_COMMAND_BUFFER_STATE_KHR`
    pub fn state(&self) -> cl_command_buffer_state_khr {
        let state = self.state.lock();
        if !state.finalized {
            return CL_COMMAND_BUFFER_STATE_RECORDING_KHR;
        }
        let is_ready = |command: &Arc<Recorded>| match &command.action {
            Action::Launch(dispatch) => dispatch.prepared().kernel.has_all_args(),
            Action::Barrier | Action::Operation(_) => true,
        };
        if state.commands.iter().all(is_ready) {
            CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR
        } else {
            CL_COMMAND_BUFFER_STATE_FINALIZED_KHR
        }
    }

    /// Number of commands recorded so far.
    pub fn len(&self) -> usize {
        self.state.lock().commands.len()
    }

    /// Whether nothing has been recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The commands.
    pub fn commands(&self) -> Vec<Arc<Recorded>> {
        self.state.lock().commands.clone()
    }

    /// Adds a command and returns its sync point.
    ///
    /// # Errors
    /// [`Finalized`] when recording has ended.
    pub fn record(&self, command: Recorded) -> Result<cl_sync_point_khr, Finalized> {
        let mut state = self.state.lock();
        if state.finalized {
            return Err(Finalized);
        }
        state.commands.push(Arc::new(command));
        Ok(state.commands.len() as cl_sync_point_khr)
    }

    /// Ends recording; false when it has already ended.
    pub fn finalize(&self) -> bool {
        !std::mem::replace(&mut self.state.lock().finalized, true)
    }
}

/// Creates a handle to a kernel recorded for the queue with this index. It lives as long as the buffer.
pub fn handle_of(buffer: &Ref<CommandBuffer>, queue: usize, dispatch: Arc<RecordedLaunch>) -> Ref<MutableCommand> {
    let queue = buffer.queues[queue].clone();
    let handle = Object::create(MutableCommand { buffer: Arc::downgrade(buffer), queue, dispatch });
    buffer.state.lock().handles.push(handle.clone());
    handle
}

impl Drop for CommandBuffer {
    fn drop(&mut self) {
        for handle in self.state.get_mut().handles.drain(..) {
            // The application cannot release them.
            let _ = handle.release();
        }
    }
}
