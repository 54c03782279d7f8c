//! Random calls about images, shared virtual memory and command buffers.

use arbtest::arbitrary::{Result, Unstructured};

use super::cl::*;
use super::{Kind, World, null, null_mut};

/// Largest size of an image in a dimension.
const IMAGE: usize = 9;
/// Bytes of an allocation of shared virtual memory.
const SHARED: usize = 256;

const TYPES: [cl_uint; 6] = [
    CL_MEM_OBJECT_IMAGE1D,
    CL_MEM_OBJECT_IMAGE2D,
    CL_MEM_OBJECT_IMAGE3D,
    CL_MEM_OBJECT_IMAGE1D_ARRAY,
    CL_MEM_OBJECT_IMAGE2D_ARRAY,
    CL_MEM_OBJECT_IMAGE1D_BUFFER,
];

/// The wait list, and where an event is wanted.
type Wait = (cl_uint, *const cl_event, *mut cl_event);

/// A dimension of an image, or a part of one.
fn extent(u: &mut Unstructured<'_>) -> Result<usize> {
    // Images that can be made fit in the memory that they are read to.
    if u.ratio(1, 32)? { Ok(usize::MAX - u.int_in_range(0..=IMAGE)?) } else { u.int_in_range(0..=IMAGE) }
}

fn extents(u: &mut Unstructured<'_>) -> Result<[usize; 3]> {
    Ok([extent(u)?, extent(u)?, if u.arbitrary()? { 1 } else { extent(u)? }])
}

/// A corner, which is most often the first one.
fn corner(u: &mut Unstructured<'_>) -> Result<[usize; 3]> {
    if u.ratio(1, 4)? { extents(u) } else { Ok([0; 3]) }
}

/// The two pitches of the application's memory: 0, or small enough for it.
fn pitches(u: &mut Unstructured<'_>) -> Result<(usize, usize)> {
    if u.ratio(3, 4)? { Ok((0, 0)) } else { Ok((u.int_in_range(0..=200)?, u.int_in_range(0..=4000)?)) }
}

impl World {
    /// One call about an image.
    pub(crate) fn image_step(&mut self, u: &mut Unstructured<'_>, blocking: cl_bool, (n, l, out): Wait) -> Result<()> {
        let (q, image) = (self.handle(u, Kind::Queue)?, self.handle(u, Kind::Image)?);
        // The fourth component is the level of a mipmapped image.
        let [from, to] = [corner(u)?, corner(u)?].map(|[x, y, z]| [x, y, z, x]);
        let region = extents(u)?;
        let (f, t, r) = (from.as_ptr(), to.as_ptr(), region.as_ptr());
        let mut error = 0;
        match u.int_in_range(0..=8)? {
            0 | 1 => {
                let [image_width, image_height, image_depth] = extents(u)?;
                let (row, slice) = pitches(u)?;
                let (image_type, buffer) = (*u.choose(&TYPES)?, self.handle(u, Kind::Mem)?);
                let of_buffer = image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER || u.ratio(1, 16)?;
                let desc = cl_image_desc {
                    image_type,
                    image_width,
                    image_height,
                    image_depth,
                    image_array_size: extent(u)?,
                    image_row_pitch: row,
                    image_slice_pitch: slice,
                    num_mip_levels: if u.ratio(1, 8)? { u.int_in_range(0..=6)? } else { 0 },
                    num_samples: cl_uint::from(u.ratio(1, 32)?),
                    buffer: if of_buffer { buffer } else { null_mut() },
                };
                let format = cl_image_format {
                    image_channel_order: u.int_in_range(CL_R..=CL_DEPTH)?,
                    image_channel_data_type: u.int_in_range(CL_SNORM_INT8..=CL_UNSIGNED_INT_RAW12_EXT)?,
                };
                let flags = Self::flags(u)?;
                let host =
                    if flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0 { self.host(u)? } else { null_mut() };
                let context = self.handle(u, Kind::Context)?;
                let made = clCreateImage(context, flags, &format, &desc, host, &mut error);
                self.keep(Kind::Image, made);
            }
            2 => {
                let (row, slice) = pitches(u)?;
                clEnqueueReadImage(q, image, blocking, f, r, row, slice, self.host(u)?, n, l, out);
            }
            3 => {
                let (row, slice) = pitches(u)?;
                clEnqueueWriteImage(q, image, blocking, f, r, row, slice, self.host(u)?, n, l, out);
            }
            4 => drop(clEnqueueCopyImage(q, image, self.handle(u, Kind::Image)?, f, t, r, n, l, out)),
            5 => {
                let (buffer, offset) = (self.handle(u, Kind::Mem)?, Self::size(u)?);
                if u.arbitrary()? {
                    clEnqueueCopyImageToBuffer(q, image, buffer, f, r, offset, n, l, out);
                } else {
                    clEnqueueCopyBufferToImage(q, buffer, image, offset, f, r, n, l, out);
                }
            }
            6 => drop(clEnqueueFillImage(q, image, self.scratch, f, r, n, l, out)),
            7 => {
                let (mut row, mut slice) = (0, 0);
                let flags = u.int_in_range(0..=8)?;
                let ptr =
                    clEnqueueMapImage(q, image, blocking, flags, f, r, &mut row, &mut slice, n, l, out, &mut error);
                self.maps.push(ptr);
            }
            _ => {
                let mut bytes = [0u8; 64];
                let name = u.int_in_range(0x1110..=0x111f)?;
                clGetImageInfo(image, name, u.int_in_range(0..=64)?, bytes.as_mut_ptr().cast(), null_mut());
                if u.ratio(1, 4)? {
                    clReleaseMemObject(image);
                }
            }
        }
        Ok(())
    }

    /// One call about shared virtual memory. It is freed at the end of the sequence, because commands may use it until then.
    pub(crate) fn shared_step(&mut self, u: &mut Unstructured<'_>, blocking: cl_bool, (n, l, out): Wait) -> Result<()> {
        let q = self.handle(u, Kind::Queue)?;
        let memory = |world: &Self, u: &mut Unstructured<'_>| {
            Ok(if world.shared.is_empty() || u.ratio(1, 8)? { world.host(u)? } else { *u.choose(&world.shared)? })
        };
        let (a, b) = (memory(self, u)?, memory(self, u)?);
        let size = u.int_in_range(0..=SHARED)?;
        match u.int_in_range(0..=7)? {
            6 => {
                let context = self.handles[Kind::Context as usize][0];
                let list = [CL_SVM_ALLOC_ALIGNMENT_KHR, u.int_in_range(0..=256)?, 0];
                let index = u.int_in_range(0..=4)?;
                let mut error = 0;
                let made = clSVMAllocWithPropertiesKHR(context, list.as_ptr(), index, SHARED, &mut error);
                self.shared.extend((!made.is_null()).then_some(made));
            }
            7 => {
                let (c, mut bytes) = (self.handle(u, Kind::Context)?, [0u8; 64]);
                let name =
                    if u.arbitrary()? { u.int_in_range(0x2088..=0x208B)? } else { u.int_in_range(0x419B..=0x419D)? };
                let room = u.int_in_range(0..=64)?;
                clGetSVMPointerInfoKHR(c, null_mut(), a, name, room, bytes.as_mut_ptr().cast(), null_mut());
            }
            0 => {
                // Of the sequence's own context, which is released last.
                let made = clSVMAlloc(
                    self.handles[Kind::Context as usize][0],
                    Self::flags(u)?,
                    SHARED,
                    1 << u.int_in_range(0..=9)?,
                );
                self.shared.extend((!made.is_null()).then_some(made));
            }
            1 => drop(clEnqueueSVMMemcpy(q, blocking, a, b, size, n, l, out)),
            2 => {
                let pattern_size = if u.ratio(7, 8)? { 1 << u.int_in_range(0..=7)? } else { u.int_in_range(0..=200)? };
                clEnqueueSVMMemFill(q, a, self.scratch, pattern_size, size, n, l, out);
            }
            3 => drop(clEnqueueSVMMap(q, blocking, u.int_in_range(0..=8)?, a, size, n, l, out)),
            4 => drop(clEnqueueSVMUnmap(q, a, n, l, out)),
            _ => drop(clEnqueueSVMMigrateMem(q, 2, [a, b].as_ptr(), null(), u.int_in_range(0..=4)?, n, l, out)),
        }
        Ok(())
    }

    /// One call about a command buffer.
    pub(crate) fn command_buffer_step(&mut self, u: &mut Unstructured<'_>, (n, l, out): Wait) -> Result<()> {
        let (q, c) = (self.handle(u, Kind::Queue)?, self.handle(u, Kind::CommandBuffer)?);
        let own = if u.ratio(7, 8)? { null_mut() } else { q };
        let (a, b) = (self.handle(u, Kind::Mem)?, self.handle(u, Kind::Mem)?);
        let points = [u.int_in_range(0..=4)?, u.int_in_range(0..=4)?];
        let count = u.int_in_range(0..=2)?;
        let (count, points) = (count, if count == 0 { null() } else { points.as_ptr() });
        let (offset, size) = (Self::size(u)?, Self::size(u)?);
        // The fourth component is the level of a mipmapped image.
        let [from, to] = [corner(u)?, corner(u)?].map(|[x, y, z]| [x, y, z, x]);
        let region = extents(u)?;
        let (f, t, r) = (from.as_ptr(), to.as_ptr(), region.as_ptr());
        let (mut point, mut error) = (0, 0);
        let (p, h) = (null(), null_mut());
        let s = &raw mut point;
        match u.int_in_range(0..=10)? {
            0 | 1 => {
                let queues = [q, self.handle(u, Kind::Queue)?];
                let count = if u.ratio(3, 4)? { 1 } else { 2 };
                let made = clCreateCommandBufferKHR(count, queues.as_ptr(), null(), &mut error);
                self.keep(Kind::CommandBuffer, made);
            }
            10 => {
                let queues = [q, self.handle(u, Kind::Queue)?];
                let (automatic, count) = (u.int_in_range(0..=1)?, u.int_in_range(0..=2)?);
                let made =
                    clRemapCommandBufferKHR(c, automatic, count, queues.as_ptr(), 0, null(), null_mut(), &mut error);
                self.keep(Kind::CommandBuffer, made);
            }
            2 => drop(clCommandBarrierWithWaitListKHR(c, own, p, count, points, s, h)),
            3 => drop(clCommandCopyBufferKHR(c, own, p, a, b, offset, Self::size(u)?, size, count, points, s, h)),
            4 => {
                let bytes = 1 << u.int_in_range(0..=4)?;
                clCommandFillBufferKHR(c, own, p, a, self.scratch, bytes, offset, size, count, points, s, h);
            }
            5 => {
                let (image, other) = (self.handle(u, Kind::Image)?, self.handle(u, Kind::Image)?);
                if u.arbitrary()? {
                    clCommandCopyImageKHR(c, own, p, image, other, f, t, r, count, points, s, h);
                } else {
                    clCommandFillImageKHR(c, own, p, image, self.scratch, f, r, count, points, s, h);
                }
            }
            6 => {
                let image = self.handle(u, Kind::Image)?;
                if u.arbitrary()? {
                    clCommandCopyImageToBufferKHR(c, own, p, image, a, f, r, offset, count, points, s, h);
                } else {
                    clCommandCopyBufferToImageKHR(c, own, p, a, image, offset, f, r, count, points, s, h);
                }
            }
            7 => drop(clFinalizeCommandBufferKHR(c)),
            8 => drop(clEnqueueCommandBufferKHR(
                u32::from(!own.is_null()),
                if own.is_null() { null() } else { &own },
                c,
                n,
                l,
                out,
            )),
            _ => {
                let mut bytes = [0u8; 64];
                let (name, room) = (u.int_in_range(0x1294..=0x1299)?, u.int_in_range(0..=64)?);
                clGetCommandBufferInfoKHR(c, name, room, bytes.as_mut_ptr().cast(), null_mut());
                if u.ratio(1, 8)? {
                    clReleaseCommandBufferKHR(c);
                }
            }
        }
        Ok(())
    }
}
