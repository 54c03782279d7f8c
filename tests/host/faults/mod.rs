//! Kernels, callers and machines that go wrong, each in a process of its own: the process survives, the command's status and the
//! message are right, and the next launch is.
//!
//! With `CLIFT_TEST_ICD` the same cases run on other drivers: `cargo xtask faults` writes the tables of `docs/reliability.md`.

use std::ffi::{CStr, c_char, c_void};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use opencl3::types::{cl_command_queue, cl_context, cl_device_id, cl_event, cl_int, cl_kernel, cl_mem, cl_program};

use clift_tests::session::session;

use crate::child::{self, VARIABLE};

mod commands;
mod endless;
mod exhaustion;
mod handlers;
mod host;
mod left;
mod memory;
mod termination;

/// Seconds that a case may take; 120 if it is not set.
const SECONDS: &str = "CLIFT_TEST_SECONDS";

/// Defines tests that run in processes of their own, with environment variables.
macro_rules! isolated {
    ($($(#[doc = $doc:literal])* $name:ident $(with $env:expr)? => $body:expr;)+) => {
        $(
            $(#[doc = $doc])*
            #[test]
            fn $name() {
                let env: &[(&str, &str)] = &[$($env)?];
                $crate::faults::isolate(concat!(module_path!(), "::", stringify!($name)), env, $body);
            }
        )+
    };
}
pub(crate) use isolated;

/// Runs the body in a child process, which has to succeed.
fn isolate(path: &str, env: &[(&str, &str)], body: impl FnOnce()) {
    if let Some(status) = child(path, env, body) {
        assert!(status.success(), "the process ended with {status}");
    }
}

/// In the parent: runs this test in a child process and returns how that ended. In the child: runs the body.
fn child(path: &str, env: &[(&str, &str)], body: impl FnOnce()) -> Option<ExitStatus> {
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    if child::is_for(name) {
        body();
        return None;
    }
    let mut child = Command::new(std::env::current_exe().expect("the running program has a path"))
        .args(["--exact", name, "--nocapture", "--test-threads=1", "--quiet"])
        .env(VARIABLE, name)
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .spawn()
        .expect("a child process");
    let seconds = std::env::var(SECONDS).ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(120);
    let (start, limit) = (Instant::now(), Duration::from_secs(seconds));
    loop {
        if let Some(status) = child.try_wait().expect("the child's status") {
            return Some(status);
        }
        if start.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the process hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What the context's callback has been told.
static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

extern "C" fn on_error(message: *const c_char, _: *const c_void, _: usize, _: *mut c_void) {
    // SAFETY: the driver passes a string.
    let message = unsafe { CStr::from_ptr(message) };
    MESSAGES.lock().unwrap().push(message.to_string_lossy().into_owned());
}

/// A context with an error callback, and a queue.
struct Rig {
    context: cl_context,
    queue: cl_command_queue,
}

/// Number of work-items of a launch, unless a case wants another.
const ITEMS: usize = 256;

impl Rig {
    fn new() -> Self {
        Self::with(&[0])
    }

    /// As [`Rig::new`], with properties of the context.
    fn with(properties: &[isize]) -> Self {
        Self::on(session().device_id(), properties)
    }

    /// On a device, which may be another driver's.
    fn on(device: cl_device_id, properties: &[isize]) -> Self {
        let context =
            cl3::context::create_context(&[device], properties.as_ptr(), Some(on_error), std::ptr::null_mut())
                .expect("a context");
        Self { context, queue: queue_of(context, 0) }
    }

    fn program(&self, source: &str) -> cl_program {
        let program = cl3::program::create_program_with_source(self.context, &[source]).expect("a program");
        let device = device_of(self.context);
        cl3::program::build_program(program, &[device], c"", None, std::ptr::null_mut()).expect("it builds");
        program
    }

    /// The kernel `t` of a source.
    fn kernel(&self, source: &str) -> cl_kernel {
        cl3::kernel::create_kernel(self.program(source), c"t").expect("the kernel")
    }

    /// A buffer of zeros.
    fn buffer(&self, bytes: usize) -> cl_mem {
        // SAFETY: no host memory is involved; the pattern is alive during the call.
        unsafe {
            let buffer = cl3::memory::create_buffer(self.context, 1, bytes, std::ptr::null_mut()).expect("a buffer");
            let zero = 0u8;
            let pattern = (&raw const zero).cast();
            cl3::command_queue::enqueue_fill_buffer(self.queue, buffer, pattern, 1, 0, bytes, 0, std::ptr::null())
                .expect("a fill");
            buffer
        }
    }

    /// Waits for an event, which has to fail, and returns the first message about it.
    fn failure(&self, event: cl_event) -> String {
        assert_eq!(cl3::event::wait_for_events(&[event]), Err(-14), "the wait reports the failure");
        assert_eq!(status(event), -5);
        assert_eq!(cl3::command_queue::finish(self.queue), Ok(()));
        let messages = self.messages();
        messages.into_iter().next().expect("a message")
    }

    /// Takes the messages so far, at least one.
    fn messages(&self) -> Vec<String> {
        let start = Instant::now();
        loop {
            let messages = std::mem::take(&mut *MESSAGES.lock().unwrap());
            if !messages.is_empty() {
                return messages;
            }
            assert!(start.elapsed() < Duration::from_secs(10), "no message");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Launches a kernel that faults; returns the message. The next launches have to be right.
    fn fails(&self, kernel: cl_kernel, sizes: (usize, usize)) -> String {
        let text = self.failure(launch(self.queue, kernel, sizes));
        assert!(text.contains("kernel `t`"), "{text}");
        self.works();
        text
    }

    /// Launches on this queue and on another one are right.
    fn works(&self) {
        let other = queue_of(self.context, 0);
        let kernel =
            self.kernel("kernel void t(global int *a) { size_t i = get_global_id(0); a[i] += (int)i * 3 + 1; }");
        for queue in [self.queue, other] {
            let buffer = self.buffer(4 * 10_000);
            set(kernel, 0, &buffer);
            cl3::command_queue::finish(self.queue).expect("it ends");
            launch(queue, kernel, (10_000, 0));
            let values = read(queue, buffer, 10_000);
            assert!((0..).zip(&values).all(|(i, value)| *value == i * 3 + 1), "a later launch is wrong");
        }
    }
}

/// Whether the device lacks an extension. `cargo xtask faults` sees what this prints.
fn lacks(extension: &str) -> bool {
    let has = session().device.extensions().expect("the extensions").split(' ').any(|name| name == extension);
    if !has {
        eprintln!("skipped: there is no {extension}");
    }
    !has
}

/// The first device of a context.
fn device_of(context: cl_context) -> cl_device_id {
    let devices: Vec<isize> =
        cl3::context::get_context_info(context, cl3::context::CL_CONTEXT_DEVICES).expect("the devices").into();
    std::ptr::with_exposed_provenance_mut(devices[0].cast_unsigned())
}

fn queue_of(context: cl_context, properties: u64) -> cl_command_queue {
    // SAFETY: the device belongs to the context.
    unsafe { cl3::command_queue::create_command_queue(context, device_of(context), properties) }.expect("a queue")
}

/// Sets an argument to a plain value.
fn set<T>(kernel: cl_kernel, index: u32, value: &T) {
    // SAFETY: the value is alive during the call.
    unsafe { cl3::kernel::set_kernel_arg(kernel, index, size_of::<T>(), std::ptr::from_ref(value).cast()) }
        .expect("an argument");
}

/// Sets a pointer argument to NULL.
fn set_null(kernel: cl_kernel, index: u32) {
    // SAFETY: no memory is read.
    unsafe { cl3::kernel::set_kernel_arg(kernel, index, size_of::<cl_mem>(), std::ptr::null()) }.expect("an argument");
}

/// Launches a kernel over a global and a local size; a local size of 0 leaves the choice to the driver.
fn launch(queue: cl_command_queue, kernel: cl_kernel, sizes: (usize, usize)) -> cl_event {
    launch_after(queue, kernel, sizes, &[])
}

fn launch_after(
    queue: cl_command_queue,
    kernel: cl_kernel,
    (global, local): (usize, usize),
    after: &[cl_event],
) -> cl_event {
    let list = if after.is_empty() { std::ptr::null() } else { after.as_ptr() };
    let local = if local == 0 { std::ptr::null() } else { &raw const local };
    // SAFETY: all arguments are set.
    unsafe {
        let (none, count) = (std::ptr::null(), after.len() as u32);
        cl3::command_queue::enqueue_nd_range_kernel(queue, kernel, 1, none, &raw const global, local, count, list)
    }
    .expect("a launch")
}

fn read(queue: cl_command_queue, buffer: cl_mem, count: usize) -> Vec<i32> {
    let mut values = vec![0; count];
    // SAFETY: a blocking read into memory of this size.
    unsafe {
        let target = values.as_mut_ptr().cast();
        cl3::command_queue::enqueue_read_buffer(queue, buffer, 1, 0, 4 * count, target, 0, std::ptr::null())
    }
    .expect("a read");
    values
}

fn status(event: cl_event) -> cl_int {
    cl3::event::get_event_info(event, cl3::event::CL_EVENT_COMMAND_EXECUTION_STATUS).expect("a status").into()
}

/// Writes to an address: `at` is added to a null pointer.
const WRITE: &str = "kernel void t(global int *p, ulong at) { p[at / 4 + get_global_id(0)] = 1; }";

/// Reads from an address.
const READ: &str = "kernel void t(global int *p, ulong at, global int *out) {
    out[get_global_id(0)] = p[at / 4 + get_global_id(0)];
}";

/// A kernel of [`WRITE`] for an address.
fn write_to(rig: &Rig, address: u64) -> cl_kernel {
    let kernel = rig.kernel(WRITE);
    set_null(kernel, 0);
    set(kernel, 1, &address);
    kernel
}

/// A kernel of [`READ`] for an address.
fn read_from(rig: &Rig, address: u64) -> cl_kernel {
    let kernel = rig.kernel(READ);
    set_null(kernel, 0);
    set(kernel, 1, &address);
    set(kernel, 2, &rig.buffer(4 * ITEMS));
    kernel
}
