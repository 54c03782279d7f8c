//! The device under test, opened once per process, and programs built for it.

use std::sync::OnceLock;

use cl3::device::{CL_DEVICE_EXTENSIONS, CL_DEVICE_TYPE_ALL};
use opencl3::command_queue::{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::device::Device;
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::program::Program;
use opencl3::types::{cl_device_id, cl_int, cl_platform_id};

use crate::driver;

/// The driver's platform and device with a context.
#[derive(Debug)]
pub struct Session {
    /// The driver under test.
    pub driver: &'static driver::Driver,
    /// Its platform, as a plain number so that the session can be shared.
    platform: usize,
    /// Its first device.
    pub device: Device,
    /// A context of that device.
    pub context: Context,
    extensions: String,
}

/// The process's session.
///
/// # Panics
/// When the loader offers no platform or device, or not exactly the driver under test.
pub fn session() -> &'static Session {
    static SESSION: OnceLock<Session> = OnceLock::new();
    SESSION.get_or_init(|| {
        let driver = driver::select();
        let platforms = cl3::platform::get_platform_ids().unwrap_or_else(|code| {
            panic!("no OpenCL platform from {}: {}", driver.library.display(), error_name(code))
        });
        assert_eq!(platforms.len(), 1, "the loader must see the driver under test and no other");
        let devices = cl3::device::get_device_ids(platforms[0], CL_DEVICE_TYPE_ALL).expect("a device");
        let device = Device::new(devices[0]);
        let context = Context::from_device(&device).expect("a context");
        let extensions = String::from_utf8_lossy(
            &cl3::device::get_device_data(devices[0], CL_DEVICE_EXTENSIONS).expect("the device's extensions"),
        )
        .into_owned();
        Session { driver, platform: platforms[0] as usize, device, context, extensions }
    })
}

impl Session {
    /// The platform's handle.
    pub fn platform(&self) -> cl_platform_id {
        self.platform as cl_platform_id
    }

    /// The device's handle.
    pub fn device_id(&self) -> cl_device_id {
        self.device.id()
    }

    /// Whether the device lists an extension.
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions.trim_end_matches('\0').split(' ').any(|listed| listed == name)
    }

    /// A device query of a `cl_uint`, `cl_bool` or the low half of a bit field; 0 when the device does not know it.
    pub fn device_u32(&self, query: u32) -> u32 {
        let bytes = cl3::device::get_device_data(self.device_id(), query).unwrap_or_default();
        bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// A new in-order queue with profiling.
    pub fn queue(&self) -> CommandQueue {
        self.queue_with(CL_QUEUE_PROFILING_ENABLE)
    }

    /// A new out-of-order queue with profiling.
    pub fn out_of_order_queue(&self) -> CommandQueue {
        self.queue_with(CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    }

    fn queue_with(&self, properties: u64) -> CommandQueue {
        // SAFETY: the device belongs to the context.
        unsafe { CommandQueue::create_with_properties(&self.context, self.device_id(), properties, 0) }
            .expect("a command queue")
    }

    /// A buffer of so many `int`s, which have no values yet.
    pub fn ints(&self, count: usize) -> Buffer<cl_int> {
        // SAFETY: no host memory is given.
        unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, count, std::ptr::null_mut()) }.expect("a buffer")
    }

    /// Builds OpenCL C.
    ///
    /// # Errors
    /// The error and the build log.
    pub fn build(&self, source: &str, options: &str) -> Result<Program, String> {
        Program::create_and_build_from_source(&self.context, source, options)
    }

    /// Builds SPIR-V.
    ///
    /// # Errors
    /// The error and the build log.
    pub fn build_il(&self, il: &[u8], options: &str) -> Result<Program, String> {
        let mut program = Program::create_from_il(&self.context, il).map_err(|error| error.to_string())?;
        match program.build(&[self.device_id()], options) {
            Ok(()) => Ok(program),
            Err(error) => Err(format!("{error}: {}", program.get_build_log(self.device_id()).unwrap_or_default())),
        }
    }

    /// Builds OpenCL C with one kernel of interest.
    ///
    /// # Panics
    /// When it does not build.
    pub fn kernel(&self, source: &str, options: &str, name: &str) -> (Program, Kernel) {
        let program = self.build(source, options).unwrap_or_else(|log| panic!("{log}\n{source}"));
        let kernel = Kernel::create(&program, name).expect("the kernel");
        (program, kernel)
    }
}

/// An OpenCL error code with its name.
pub fn error_name(code: cl_int) -> String {
    format!("{} ({code})", cl3::error_codes::error_text(code))
}
