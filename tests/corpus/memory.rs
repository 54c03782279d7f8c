//! The arguments of a launch: buffers, images, samplers and values with reproducible data.

use std::ffi::c_void;

use anyhow::{Result, anyhow};
use cl3::memory::{CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE};
use clift_tests::session::{Session, error_name};
use opencl3::command_queue::CommandQueue;
use opencl3::types::{CL_BLOCKING, cl_image_desc, cl_image_format, cl_mem, cl_sampler};
use serde::{Deserialize, Serialize};

use crate::plan::{Arg, Channels, Dimensions, Element, Values};

/// Layers of image arrays, and depth of 3D images.
const LAYERS: usize = 8;

/// What a launch changed in the memory of an argument: everything between the first and the last byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Output {
    pub(crate) arg: usize,
    pub(crate) element: Element,
    pub(crate) offset: usize,
    #[serde(with = "hex")]
    pub(crate) data: Vec<u8>,
}

/// Bytes as a string of hexadecimal digits.
mod hex {
    use serde::{Deserialize as _, Deserializer, Serializer};

    const DIGITS: &[u8; 16] = b"0123456789abcdef";

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let digits =
            bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[usize::from(digit)] as char);
        serializer.serialize_str(&digits.collect::<String>())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digit = |digit: u8| (digit as char).to_digit(16).unwrap_or_default() as u8;
        Ok(text.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect())
    }
}

/// An argument.
pub(crate) enum Argument {
    Memory { handle: cl_mem, element: Element, initial: Vec<u8>, image: Option<[usize; 3]> },
    Sampler(cl_sampler),
    Value(Vec<u8>),
    Local(usize),
}

impl Channels {
    fn format(self) -> (cl_image_format, Element, usize) {
        let (data_type, element, size) = match self {
            Self::Float => (opencl3::memory::CL_FLOAT, Element::F32, 16),
            Self::Normalized => (opencl3::memory::CL_UNORM_INT8, Element::I8, 4),
            Self::Signed => (opencl3::memory::CL_SIGNED_INT32, Element::I32, 16),
            Self::Unsigned => (opencl3::memory::CL_UNSIGNED_INT8, Element::I8, 4),
        };
        (
            cl_image_format { image_channel_order: opencl3::memory::CL_RGBA, image_channel_data_type: data_type },
            element,
            size,
        )
    }
}

/// Width, height and depth as `clEnqueueReadImage` takes them, and the image's type.
fn region(dimensions: Dimensions, side: usize) -> ([usize; 3], u32) {
    match dimensions {
        Dimensions::One => ([side, 1, 1], cl3::memory::CL_MEM_OBJECT_IMAGE1D),
        Dimensions::OneArray => ([side, LAYERS, 1], cl3::memory::CL_MEM_OBJECT_IMAGE1D_ARRAY),
        Dimensions::OneBuffer => ([side, 1, 1], cl3::memory::CL_MEM_OBJECT_IMAGE1D_BUFFER),
        Dimensions::Two => ([side, side, 1], cl3::memory::CL_MEM_OBJECT_IMAGE2D),
        Dimensions::TwoArray => ([side, side, LAYERS], cl3::memory::CL_MEM_OBJECT_IMAGE2D_ARRAY),
        Dimensions::Three => ([side, side, LAYERS], cl3::memory::CL_MEM_OBJECT_IMAGE3D),
    }
}

/// The data of an argument before a launch.
pub(crate) fn initial(arg: Arg, index: usize, values: &Values) -> Vec<u8> {
    let seed = index as u64 + 1;
    match arg {
        Arg::Buffer(element) => values.bytes_of(element, values.bytes, seed, false),
        Arg::Value(element, bytes) => values.bytes_of(element, bytes, seed, true),
        Arg::Image(dimensions, channels) => {
            let (_, element, size) = channels.format();
            let texels: usize = region(dimensions, values.side).0.iter().product();
            values.bytes_of(element, texels * size, seed, false)
        }
        Arg::Local | Arg::Sampler => Vec::new(),
    }
}

impl Argument {
    /// The argument `index` of a kernel.
    pub(crate) fn new(session: &Session, arg: Arg, index: usize, values: &Values) -> Result<Self> {
        let mut initial = initial(arg, index, values);
        let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
        let data: *mut c_void = initial.as_mut_ptr().cast();
        let context = session.context.get();
        match arg {
            Arg::Local => Ok(Self::Local(values.local)),
            Arg::Value(..) => Ok(Self::Value(initial)),
            Arg::Buffer(element) => {
                // SAFETY: the pointer is to as many bytes, which are copied before the call returns.
                let handle = unsafe { cl3::memory::create_buffer(context, flags, initial.len(), data) }
                    .map_err(|code| anyhow!("clCreateBuffer: {}", error_name(code)))?;
                Ok(Self::Memory { handle, element, initial, image: None })
            }
            Arg::Sampler => {
                let (address, filter) = (opencl3::memory::CL_ADDRESS_CLAMP_TO_EDGE, opencl3::memory::CL_FILTER_NEAREST);
                cl3::sampler::create_sampler(context, 0, address, filter)
                    .map(Self::Sampler)
                    .map_err(|code| anyhow!("clCreateSampler: {}", error_name(code)))
            }
            Arg::Image(dimensions, channels) => {
                let (format, element, size) = channels.format();
                let (region, kind) = region(dimensions, values.side);
                // SAFETY: zeros are valid numbers and handles.
                let mut description: cl_image_desc = unsafe { std::mem::zeroed() };
                description.image_type = kind;
                description.image_width = region[0];
                match dimensions {
                    Dimensions::One | Dimensions::OneBuffer => {}
                    Dimensions::OneArray => description.image_array_size = region[1],
                    Dimensions::Two => description.image_height = region[1],
                    Dimensions::TwoArray => {
                        description.image_height = region[1];
                        description.image_array_size = region[2];
                    }
                    Dimensions::Three => {
                        description.image_height = region[1];
                        description.image_depth = region[2];
                    }
                }
                let mut flags = flags;
                let mut data = data;
                if dimensions == Dimensions::OneBuffer {
                    // SAFETY: the pointer is to as many bytes, which are copied before the call returns.
                    description.buffer = unsafe { cl3::memory::create_buffer(context, flags, region[0] * size, data) }
                        .map_err(|code| anyhow!("clCreateBuffer: {}", error_name(code)))?;
                    (flags, data) = (CL_MEM_READ_WRITE, std::ptr::null_mut());
                }
                // SAFETY: the data has as many bytes as the image.
                let handle = unsafe {
                    cl3::memory::create_image(context, flags, &raw const format, &raw const description, data)
                }
                .map_err(|code| anyhow!("clCreateImage: {}", error_name(code)))?;
                Ok(Self::Memory { handle, element, initial, image: Some(region) })
            }
        }
    }

    /// The size and the pointer for `clSetKernelArg`.
    pub(crate) fn value(&self) -> (usize, *const c_void) {
        match self {
            Self::Memory { handle, .. } => (size_of::<cl_mem>(), std::ptr::from_ref(handle).cast()),
            Self::Sampler(handle) => (size_of::<cl_sampler>(), std::ptr::from_ref(handle).cast()),
            Self::Value(bytes) => (bytes.len(), bytes.as_ptr().cast()),
            Self::Local(size) => (*size, std::ptr::null()),
        }
    }

    /// What changed in the memory.
    pub(crate) fn output(&mut self, queue: &CommandQueue, arg: usize) -> Result<Option<Output>> {
        let Self::Memory { handle, element, initial, image } = self else { return Ok(None) };
        let mut now = vec![0_u8; initial.len()];
        let (events, data) = (std::ptr::null(), now.as_mut_ptr().cast());
        // SAFETY: the read is blocking, and `now` has as many bytes as the object.
        let event = unsafe {
            match image {
                None => cl3::command_queue::enqueue_read_buffer(
                    queue.get(),
                    *handle,
                    CL_BLOCKING,
                    0,
                    now.len(),
                    data,
                    0,
                    events,
                ),
                Some(region) => {
                    let (queue, origin, region) = (queue.get(), [0; 3].as_ptr(), region.as_ptr());
                    cl3::command_queue::enqueue_read_image(
                        queue,
                        *handle,
                        CL_BLOCKING,
                        origin,
                        region,
                        0,
                        0,
                        data,
                        0,
                        events,
                    )
                }
            }
        };
        drop(opencl3::event::Event::new(
            event.map_err(|code| anyhow!("reading argument {arg}: {}", error_name(code)))?,
        ));
        let Some(first) = now.iter().zip(&*initial).position(|(now, before)| now != before) else { return Ok(None) };
        let last = now.iter().zip(&*initial).rposition(|(now, before)| now != before).unwrap_or(first);
        Ok(Some(Output { arg, element: *element, offset: first, data: now[first..=last].to_vec() }))
    }

    /// Writes what the memory had before the launch where `output` says that it changed.
    pub(crate) fn restore(&self, queue: &CommandQueue, output: &Output) -> Result<()> {
        let Self::Memory { handle, initial, image: None, .. } = self else { return Ok(()) };
        let data = &initial[output.offset..output.offset + output.data.len()];
        let (size, data) = (data.len(), data.as_ptr().cast());
        // SAFETY: the write is blocking, and its bytes are inside of the object and of `initial`.
        let event = unsafe {
            let (offset, events) = (output.offset, std::ptr::null());
            cl3::command_queue::enqueue_write_buffer(queue.get(), *handle, CL_BLOCKING, offset, size, data, 0, events)
        };
        drop(opencl3::event::Event::new(event.map_err(|code| anyhow!("clEnqueueWriteBuffer: {}", error_name(code)))?));
        Ok(())
    }
}

impl Drop for Argument {
    fn drop(&mut self) {
        // SAFETY: the handles are valid and released once. An error changes nothing here.
        unsafe {
            match self {
                Self::Memory { handle, .. } => drop(cl3::memory::release_mem_object(*handle)),
                Self::Sampler(handle) => drop(cl3::sampler::release_sampler(*handle)),
                Self::Value(_) | Self::Local(_) => {}
            }
        }
    }
}
