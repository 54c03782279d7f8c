//! The state of each type of object; the checks on it are in `api/` under the same name.
//!
//! State is accessed through [`Ref`](crate::ffi::handle::Ref)s that [`Handle::get`](crate::ffi::handle::Handle::get) has
//! validated. No function here handles data of the application directly.

pub mod allocation;
pub mod buffer;
pub mod command_buffer;
pub mod context;
pub mod device;
pub mod device_queue;
pub mod event;
pub mod fork;
pub mod image;
pub mod kernel;
pub mod launch_info;
pub mod launch_limits;
pub mod mapping;
pub mod operation;
pub mod platform;
pub mod program;
pub mod queue;
pub mod repeated_launches;
pub mod sampler;
pub mod semaphore;
