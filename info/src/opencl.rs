//! The OpenCL calls of the program: functions looked up at run time, and what they create.

#![allow(unsafe_code, reason = "calls of C functions that are looked up by name")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clift_include::cl::*;
use libloading::Library;

/// Names of the OpenCL loader's library.
const LOADERS: [&str; 2] = ["libOpenCL.so.1", "libOpenCL.so"];
/// What tells the driver's platform from others.
const PLATFORM: &str = "Clift";

/// Finds the address of a function by name.
type Lookup = unsafe extern "C" fn(*const c_char) -> *mut c_void;

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions that are used.
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Functions {
            fn load(find: impl Fn(&CStr) -> Result<*mut c_void>) -> Result<Self> {
                Ok(Self {
                    // SAFETY: the type of each row is that of the function of this name in OpenCL's headers.
                    $($field: unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $result>(find($name)?)
                    },)*
                })
            }
        }
    };
}

functions! {
    platform_info = c"clGetPlatformInfo":
        fn(cl_platform_id, cl_platform_info, usize, *mut c_void, *mut usize) -> cl_int;
    device_ids = c"clGetDeviceIDs": fn(cl_platform_id, cl_device_type, cl_uint, *mut cl_device_id, *mut cl_uint) -> cl_int;
    device_info = c"clGetDeviceInfo": fn(cl_device_id, cl_device_info, usize, *mut c_void, *mut usize) -> cl_int;
    create_context = c"clCreateContext":
        fn(*const isize, cl_uint, *const cl_device_id, *const c_void, *mut c_void, *mut cl_int) -> cl_context;
    create_queue = c"clCreateCommandQueueWithProperties":
        fn(cl_context, cl_device_id, *const u64, *mut cl_int) -> cl_command_queue;
    create_buffer = c"clCreateBuffer": fn(cl_context, cl_mem_flags, usize, *mut c_void, *mut cl_int) -> cl_mem;
    create_program = c"clCreateProgramWithSource":
        fn(cl_context, cl_uint, *const *const c_char, *const usize, *mut cl_int) -> cl_program;
    build_program = c"clBuildProgram":
        fn(cl_program, cl_uint, *const cl_device_id, *const c_char, *const c_void, *mut c_void) -> cl_int;
    build_info = c"clGetProgramBuildInfo":
        fn(cl_program, cl_device_id, cl_program_build_info, usize, *mut c_void, *mut usize) -> cl_int;
    create_kernel = c"clCreateKernel": fn(cl_program, *const c_char, *mut cl_int) -> cl_kernel;
    set_arg = c"clSetKernelArg": fn(cl_kernel, cl_uint, usize, *const c_void) -> cl_int;
    enqueue_kernel = c"clEnqueueNDRangeKernel": fn(
        cl_command_queue, cl_kernel, cl_uint, *const usize, *const usize, *const usize, cl_uint, *const cl_event, *mut cl_event
    ) -> cl_int;
    enqueue_read = c"clEnqueueReadBuffer": fn(
        cl_command_queue, cl_mem, cl_bool, usize, usize, *mut c_void, cl_uint, *const cl_event, *mut cl_event
    ) -> cl_int;
    finish = c"clFinish": fn(cl_command_queue) -> cl_int;
    release_kernel = c"clReleaseKernel": fn(cl_kernel) -> cl_int;
    release_program = c"clReleaseProgram": fn(cl_program) -> cl_int;
    release_buffer = c"clReleaseMemObject": fn(cl_mem) -> cl_int;
    release_queue = c"clReleaseCommandQueue": fn(cl_command_queue) -> cl_int;
    release_context = c"clReleaseContext": fn(cl_context) -> cl_int;
}

type PlatformIds = unsafe extern "C" fn(cl_uint, *mut cl_platform_id, *mut cl_uint) -> cl_int;

/// An opened loader or driver. Its library stays open until the program ends.
pub struct OpenCl {
    functions: Functions,
    platform_ids: PlatformIds,
}

/// Whether a library can be opened, or what the dynamic linker says.
pub fn try_open(library: impl AsRef<std::ffi::OsStr>) -> Result<()> {
    open(library).map(drop)
}

fn open(library: impl AsRef<std::ffi::OsStr>) -> Result<Library> {
    // SAFETY: OpenCL libraries may be opened at any time; their initializers ask for nothing.
    unsafe { Library::new(library) }.map_err(|error| anyhow!("{error}"))
}

/// The address of a symbol of an opened library.
fn symbol(library: &Library, name: &CStr) -> Result<*mut c_void> {
    // SAFETY: only the address is taken; its type is given where it is used.
    let found = unsafe { library.get::<*mut c_void>(name.to_bytes_with_nul()) };
    // SAFETY: the symbol is a function; this is its address, not a load of a pointer from it.
    found
        .map(|symbol| unsafe { symbol.into_raw() }.into_raw())
        .with_context(|| format!("no function {}", name.to_string_lossy()))
}

impl OpenCl {
    /// Opens the loader.
    pub fn of_loader() -> Result<Self> {
        let library = LOADERS
            .iter()
            .find_map(|name| open(name).ok())
            .context("there is no OpenCL loader: libOpenCL.so.1 is missing (Debian: ocl-icd-libopencl1)")?;
        let library: &'static Library = Box::leak(Box::new(library));
        let functions = Functions::load(|name| symbol(library, name))?;
        // SAFETY: the type is that of OpenCL's headers.
        let platform_ids =
            unsafe { std::mem::transmute::<*mut c_void, PlatformIds>(symbol(library, c"clGetPlatformIDs")?) };
        Ok(Self { functions, platform_ids })
    }

    /// Opens a driver, as a loader would.
    pub fn of_driver(path: &Path) -> Result<Self> {
        let library: &'static Library = Box::leak(Box::new(open(path)?));
        // SAFETY: the type is that of OpenCL's headers.
        let lookup =
            unsafe { std::mem::transmute::<*mut c_void, Lookup>(symbol(library, c"clGetExtensionFunctionAddress")?) };
        let find = |name: &CStr| {
            // SAFETY: the name ends with a NUL.
            let address = unsafe { lookup(name.as_ptr()) };
            ensure!(!address.is_null(), "the driver has no function {}", name.to_string_lossy());
            Ok(address)
        };
        // SAFETY: the type is that of OpenCL's headers.
        let platform_ids = unsafe { std::mem::transmute::<*mut c_void, PlatformIds>(find(c"clIcdGetPlatformIDsKHR")?) };
        Ok(Self { functions: Functions::load(find)?, platform_ids })
    }

    /// The driver's device.
    pub fn device(&self) -> Result<Device<'_>> {
        let mut platforms = [null_mut(); 64];
        let mut count = 0;
        // SAFETY: there is room for as many platforms as the call is told.
        let code = unsafe { (self.platform_ids)(platforms.len() as cl_uint, platforms.as_mut_ptr(), &mut count) };
        // CL_PLATFORM_NOT_FOUND_KHR is -1001.
        ensure!(code == CL_SUCCESS || code == -1001, "clGetPlatformIDs returned {code}");
        let found = platforms[..platforms.len().min(count as usize)].iter().copied().find(|platform| {
            let name = query(|size, value, needed| {
                // SAFETY: the platform is valid, and `value` has `size` bytes.
                unsafe { (self.functions.platform_info)(*platform, CL_PLATFORM_NAME, size, value, needed) }
            });
            name.is_ok_and(|name| text(&name) == PLATFORM)
        });
        let platform = found.with_context(|| format!("no platform {PLATFORM} among {count}"))?;
        let mut id = null_mut();
        // SAFETY: there is room for one device.
        let code = unsafe { (self.functions.device_ids)(platform, CL_DEVICE_TYPE_ALL, 1, &mut id, null_mut()) };
        check("clGetDeviceIDs", code)?;
        Ok(Device { functions: &self.functions, id })
    }
}

/// A device.
pub struct Device<'a> {
    functions: &'a Functions,
    id: cl_device_id,
}

impl<'a> Device<'a> {
    fn info(&self, name: cl_device_info) -> Option<Vec<u8>> {
        query(|size, value, needed| {
            // SAFETY: the device is valid, and `value` has `size` bytes.
            unsafe { (self.functions.device_info)(self.id, name, size, value, needed) }
        })
        .ok()
    }

    /// The answer to a query of a string.
    pub fn text(&self, name: cl_device_info) -> Option<String> {
        self.info(name).map(|bytes| text(&bytes))
    }

    /// The answer to a query of a number of 32 or 64 bits.
    pub fn number(&self, name: cl_device_info) -> Option<u64> {
        let bytes = self.info(name)?;
        let wide = bytes.as_slice().try_into().map(u64::from_ne_bytes);
        wide.or_else(|_| bytes.as_slice().try_into().map(|bytes| u32::from_ne_bytes(bytes).into())).ok()
    }

    /// The versions in a query of names and versions.
    pub fn versions(&self, name: cl_device_info) -> Option<String> {
        let bytes = self.info(name)?;
        let versions = bytes.chunks_exact(size_of::<cl_name_version>()).map(|entry| {
            let version = u32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
            format!("{}.{}", version >> 22, (version >> 12) & 0x3ff)
        });
        Some(versions.collect::<Vec<_>>().join(" "))
    }

    /// Builds a program.
    pub fn build(&self, source: &str, options: &CStr) -> Result<Program<'a>> {
        let f = self.functions;
        let mut code = 0;
        // SAFETY: one device, no properties, no callback.
        let context = unsafe { (f.create_context)(null(), 1, &self.id, null(), null_mut(), &mut code) };
        check("clCreateContext", code)?;
        let (start, length) = (source.as_ptr().cast(), source.len());
        // SAFETY: one text with its length.
        let program = unsafe { (f.create_program)(context, 1, &start, &length, &mut code) };
        check("clCreateProgramWithSource", code)?;
        // SAFETY: one device, options that end with a NUL, no callback.
        let code = unsafe { (f.build_program)(program, 1, &self.id, options.as_ptr(), null(), null_mut()) };
        if code != CL_SUCCESS {
            let log = query(|size, value, needed| {
                // SAFETY: the program is valid, and `value` has `size` bytes.
                unsafe { (f.build_info)(program, self.id, CL_PROGRAM_BUILD_LOG, size, value, needed) }
            });
            bail!("a program could not be built ({code}): {}", text(&log.unwrap_or_default()).trim());
        }
        Ok(Program { functions: f, device: self.id, context, program })
    }
}

/// A built program.
pub struct Program<'a> {
    functions: &'a Functions,
    device: cl_device_id,
    context: cl_context,
    program: cl_program,
}

impl Program<'_> {
    /// Runs a kernel whose only argument is a buffer with a number for each work-item, and returns these.
    pub fn run(&self, kernel: &str, items: usize, group: usize) -> Result<Vec<u32>> {
        let f = self.functions;
        let mut code = 0;
        let name = CString::new(kernel)?;
        let mut results = vec![0u32; items];
        let bytes = size_of_val(results.as_slice());
        // SAFETY: handles come from successful calls of this driver; pointers are those of live variables with the sizes that
        // the calls are told; the read is a blocking one.
        unsafe {
            let queue = (f.create_queue)(self.context, self.device, null(), &mut code);
            check("clCreateCommandQueueWithProperties", code)?;
            let buffer = (f.create_buffer)(self.context, CL_MEM_READ_WRITE, bytes, null_mut(), &mut code);
            check("clCreateBuffer", code)?;
            let kernel = (f.create_kernel)(self.program, name.as_ptr(), &mut code);
            check("clCreateKernel", code)?;
            check("clSetKernelArg", (f.set_arg)(kernel, 0, size_of::<cl_mem>(), (&raw const buffer).cast()))?;
            let code = (f.enqueue_kernel)(queue, kernel, 1, null(), &items, &group, 0, null(), null_mut());
            check("clEnqueueNDRangeKernel", code)?;
            let target = results.as_mut_ptr().cast();
            let code = (f.enqueue_read)(queue, buffer, CL_TRUE, 0, bytes, target, 0, null(), null_mut());
            check("clEnqueueReadBuffer", code)?;
            check("clReleaseKernel", (f.release_kernel)(kernel))?;
            check("clReleaseMemObject", (f.release_buffer)(buffer))?;
            check("clReleaseCommandQueue", (f.release_queue)(queue))?;
        }
        Ok(results)
    }
}

/// A launch whose time is measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// The kernel. Its arguments are buffers.
    pub kernel: &'a str,
    /// Size of each buffer in bytes. Their contents are zeros.
    pub buffers: &'a [usize],
    /// Number of work-items.
    pub items: usize,
    /// How often it is launched. The first launch is not measured.
    pub times: usize,
}

impl Program<'_> {
    /// The shortest time of a launch.
    pub fn shortest(&self, measured: Measured<'_>) -> Result<Duration> {
        let f = self.functions;
        let name = CString::new(measured.kernel)?;
        let mut code = 0;
        let mut shortest = Duration::MAX;
        // SAFETY: handles come from successful calls of this driver; pointers are those of live variables with the sizes that
        // the calls are told.
        unsafe {
            let queue = (f.create_queue)(self.context, self.device, null(), &mut code);
            check("clCreateCommandQueueWithProperties", code)?;
            let kernel = (f.create_kernel)(self.program, name.as_ptr(), &mut code);
            check("clCreateKernel", code)?;
            let mut buffers = Vec::new();
            for (number, bytes) in measured.buffers.iter().enumerate() {
                let buffer = (f.create_buffer)(self.context, CL_MEM_READ_WRITE, *bytes, null_mut(), &mut code);
                check("clCreateBuffer", code)?;
                let place = (&raw const buffer).cast();
                check("clSetKernelArg", (f.set_arg)(kernel, number as cl_uint, size_of::<cl_mem>(), place))?;
                buffers.push(buffer);
            }
            for time in 0..=measured.times {
                let begun = Instant::now();
                let items = &raw const measured.items;
                let code = (f.enqueue_kernel)(queue, kernel, 1, null(), items, null(), 0, null(), null_mut());
                check("clEnqueueNDRangeKernel", code)?;
                check("clFinish", (f.finish)(queue))?;
                if time > 0 {
                    shortest = shortest.min(begun.elapsed());
                }
            }
            for buffer in buffers {
                check("clReleaseMemObject", (f.release_buffer)(buffer))?;
            }
            check("clReleaseKernel", (f.release_kernel)(kernel))?;
            check("clReleaseCommandQueue", (f.release_queue)(queue))?;
        }
        Ok(shortest)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: both were created by `Device::build` and are released once.
        unsafe {
            (self.functions.release_program)(self.program);
            (self.functions.release_context)(self.context);
        }
    }
}

fn check(call: &str, code: cl_int) -> Result<()> {
    ensure!(code == CL_SUCCESS, "{call} returned {code}");
    Ok(())
}

/// The answer to an info query: first its size, then its bytes.
fn query(call: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> Result<Vec<u8>> {
    let mut size = 0;
    check("an info query", call(0, null_mut(), &mut size))?;
    let mut bytes = vec![0u8; size];
    check("an info query", call(size, bytes.as_mut_ptr().cast(), null_mut()))?;
    Ok(bytes)
}

/// A string without its NUL.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}
