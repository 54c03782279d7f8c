//! A command buffer (`cl_khr_command_buffer`): commands that are recorded once and enqueued as a whole any number of times.
//!
//! A recorded command keeps what it needs to be submitted again: a function, or a kernel with its arguments and sizes (a
//! [`Dispatch`], which the application may change between two enqueues if it asked for that). Nothing of an execution is
//! kept, so a buffer may be executing several times at once. A sync point is a command's number, from 1 on.

use std::sync::{Arc, Weak};

use clift_include::cl::*;
use clift_runtime::graph::KeepAlive;
use parking_lot::Mutex;

use super::kernel::Kernel;
use super::queue::Queue;
use crate::api::enqueue::geometry::Request;
use crate::ffi::handle::{Object, Ref, cl_object};

/// A command buffer.
#[derive(Debug)]
pub struct CommandBuffer {
    queue: Ref<Queue>,
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
    /// Handles the application got; they end with the buffer.
    handles: Vec<Ref<MutableCommand>>,
}

/// One command.
#[derive(Debug)]
pub struct Recorded {
    /// The commands it waits for, by index.
    pub waits: Vec<usize>,
    /// What it does.
    pub action: Action,
}

/// What a recorded command does.
pub enum Action {
    /// Waits (for all earlier commands, without a list), and has all later ones wait.
    Barrier,
    /// Copies or fills; with what that needs to be alive.
    Task(Box<dyn Fn() -> Result<(), i32> + Send + Sync>, KeepAlive),
    /// Runs a kernel.
    Launch(Arc<Dispatch>),
}

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Action::Barrier => "Barrier",
            Action::Task(..) => "Task",
            Action::Launch(_) => "Launch",
        })
    }
}

/// A recorded kernel.
#[derive(Debug)]
pub struct Dispatch {
    /// The kernel object it was recorded from.
    pub kernel: Ref<Kernel>,
    /// What may be changed (`CL_MUTABLE_DISPATCH_*`).
    pub fields: cl_mutable_dispatch_fields_khr,
    /// The property list as given, the ending zero included; empty when none was.
    pub properties: Vec<cl_command_properties_khr>,
    launch: Mutex<Arc<Prepared>>,
}

/// The kernel and the sizes of the next enqueue.
#[derive(Debug)]
pub struct Prepared {
    /// A copy with the arguments; no object of the application.
    pub kernel: Kernel,
    /// The sizes.
    pub request: Request,
}

impl Dispatch {
    /// A kernel to be launched so.
    pub fn new(
        kernel: Ref<Kernel>,
        fields: cl_mutable_dispatch_fields_khr,
        properties: Vec<cl_command_properties_khr>,
        prepared: Prepared,
    ) -> Self {
        Self { kernel, fields, properties, launch: Mutex::new(Arc::new(prepared)) }
    }

    /// What the next enqueue runs.
    pub fn prepared(&self) -> Arc<Prepared> {
        self.launch.lock().clone()
    }

    /// Changes what the next enqueue runs.
    pub fn change(&self, prepared: Arc<Prepared>) {
        let old = std::mem::replace(&mut *self.launch.lock(), prepared);
        // Freed without the lock.
        drop(old);
    }
}

/// The application's handle to a recorded kernel (`cl_mutable_command_khr`).
#[derive(Debug)]
pub struct MutableCommand {
    buffer: Weak<Object<CommandBuffer>>,
    dispatch: Arc<Dispatch>,
}

cl_object!(MutableCommand, b"mcmd", InvalidMutableCommand);

impl MutableCommand {
    /// The buffer it belongs to; `None` when that ends.
    pub fn buffer(&self) -> Option<Ref<CommandBuffer>> {
        self.buffer.upgrade()
    }

    /// The recorded kernel.
    pub fn dispatch(&self) -> &Arc<Dispatch> {
        &self.dispatch
    }
}

/// Recording has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finalized;

impl CommandBuffer {
    /// A buffer for a queue, with the property list as given and what it says.
    pub fn new(
        queue: Ref<Queue>,
        properties: Vec<cl_command_buffer_properties_khr>,
        flags: cl_command_buffer_flags_khr,
        asserts: cl_mutable_dispatch_asserts_khr,
    ) -> Self {
        Self { queue, properties, flags, asserts, state: Mutex::default() }
    }

    /// Its queue.
    pub fn queue(&self) -> &Ref<Queue> {
        &self.queue
    }

    /// The property list as given, the ending zero included; empty when none was.
    pub fn properties(&self) -> &[cl_command_buffer_properties_khr] {
        &self.properties
    }

    /// Whether its kernels may be changed.
    pub fn is_mutable(&self) -> bool {
        self.flags & CL_COMMAND_BUFFER_MUTABLE_KHR != 0
    }

    /// What the application promises about changes.
    pub fn asserts(&self) -> cl_mutable_dispatch_asserts_khr {
        self.asserts
    }

    /// `CL_COMMAND_BUFFER_STATE_KHR`
    pub fn state(&self) -> cl_command_buffer_state_khr {
        let state = self.state.lock();
        let is_ready = |command: &Arc<Recorded>| match &command.action {
            Action::Launch(dispatch) => dispatch.prepared().kernel.has_all_args(),
            Action::Barrier | Action::Task(..) => true,
        };
        match (state.finalized, state.commands.iter().all(is_ready)) {
            (false, _) => CL_COMMAND_BUFFER_STATE_RECORDING_KHR,
            (true, false) => CL_COMMAND_BUFFER_STATE_FINALIZED_KHR,
            (true, true) => CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR,
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

    /// Adds a command and gives its sync point.
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

    /// Ends recording; false when it has ended already.
    pub fn finalize(&self) -> bool {
        !std::mem::replace(&mut self.state.lock().finalized, true)
    }
}

/// Makes a handle to a recorded kernel, which lives as long as the buffer.
pub fn handle_of(buffer: &Ref<CommandBuffer>, dispatch: Arc<Dispatch>) -> Ref<MutableCommand> {
    let handle = Object::create(MutableCommand { buffer: Arc::downgrade(buffer), dispatch });
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
