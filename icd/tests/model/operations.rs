//! Copies and fills, which can be enqueued and recorded: their arguments, rules and effects.

use std::ptr::null;

use arbtest::arbitrary::{Result, Unstructured};

use super::Violated;
use super::cl::*;
use super::contents::{Effect, Region};
use super::world::{Handle, Kind, Memory, World};

/// An origin or a region; `None` for NULL.
pub(crate) type Triple = Option<[usize; 3]>;

/// The pointer to an origin or region.
pub(crate) fn pointer(triple: &Triple) -> *const usize {
    triple.as_ref().map_or(null(), |triple| triple.as_ptr())
}

/// The arguments of a copy or fill.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    CopyBuffer { from: Handle, to: Handle, offsets: [usize; 2], size: usize },
    CopyRect { from: Handle, to: Handle, origins: [Triple; 2], region: Triple, pitches: [[usize; 2]; 2] },
    FillBuffer { target: Handle, pattern: Option<Vec<u8>>, pattern_size: usize, offset: usize, size: usize },
    CopyImage { from: Handle, to: Handle, origins: [Triple; 2], region: Triple },
    ImageToBuffer { from: Handle, to: Handle, origin: Triple, region: Triple, offset: usize },
    BufferToImage { from: Handle, to: Handle, offset: usize, origin: Triple, region: Triple },
    FillImage { target: Handle, colour: Option<[u32; 4]>, origin: Triple, region: Triple },
    SvmCopy { to: Handle, from: Handle, size: usize },
    SvmFill { target: Handle, pattern: Option<Vec<u8>>, pattern_size: usize, size: usize },
}

/// The last three arguments of a command.
pub(crate) type Wait = (cl_uint, *const cl_event, *mut cl_event);

/// The first three arguments of a recording function, and the last four.
pub(crate) type Record =
    (Handle, cl_command_queue, *const cl_bitfield, (cl_uint, *const cl_uint, *mut cl_uint, *mut Handle));

fn start(pattern: &Option<Vec<u8>>) -> Handle {
    pattern.as_ref().map_or(std::ptr::null_mut(), |pattern| pattern.as_ptr().cast_mut().cast())
}

impl Operation {
    /// Enqueues it.
    pub(crate) fn enqueue(&self, q: cl_command_queue, (n, l, e): Wait) -> cl_int {
        match self {
            Self::CopyBuffer { from, to, offsets, size } => {
                clEnqueueCopyBuffer(q, *from, *to, offsets[0], offsets[1], *size, n, l, e)
            }
            Self::CopyRect { from, to, origins: [a, b], region, pitches: [x, y] } => {
                let (a, b, region) = (pointer(a), pointer(b), pointer(region));
                clEnqueueCopyBufferRect(q, *from, *to, a, b, region, x[0], x[1], y[0], y[1], n, l, e)
            }
            Self::FillBuffer { target, pattern, pattern_size, offset, size } => {
                clEnqueueFillBuffer(q, *target, start(pattern), *pattern_size, *offset, *size, n, l, e)
            }
            Self::CopyImage { from, to, origins: [a, b], region } => {
                clEnqueueCopyImage(q, *from, *to, pointer(a), pointer(b), pointer(region), n, l, e)
            }
            Self::ImageToBuffer { from, to, origin, region, offset } => {
                clEnqueueCopyImageToBuffer(q, *from, *to, pointer(origin), pointer(region), *offset, n, l, e)
            }
            Self::BufferToImage { from, to, offset, origin, region } => {
                clEnqueueCopyBufferToImage(q, *from, *to, *offset, pointer(origin), pointer(region), n, l, e)
            }
            Self::FillImage { target, colour, origin, region } => {
                let colour = colour.as_ref().map_or(null(), |colour| colour.as_ptr().cast());
                clEnqueueFillImage(q, *target, colour, pointer(origin), pointer(region), n, l, e)
            }
            Self::SvmCopy { to, from, size } => clEnqueueSVMMemcpy(q, CL_FALSE, *to, *from, *size, n, l, e),
            Self::SvmFill { target, pattern, pattern_size, size } => {
                clEnqueueSVMMemFill(q, *target, start(pattern), *pattern_size, *size, n, l, e)
            }
        }
    }

    /// Records it.
    pub(crate) fn record(&self, (c, q, p, (n, l, s, h)): Record) -> cl_int {
        match self {
            Self::CopyBuffer { from, to, offsets, size } => {
                clCommandCopyBufferKHR(c, q, p, *from, *to, offsets[0], offsets[1], *size, n, l, s, h)
            }
            Self::CopyRect { from, to, origins: [a, b], region, pitches: [x, y] } => {
                let (a, b, region) = (pointer(a), pointer(b), pointer(region));
                clCommandCopyBufferRectKHR(c, q, p, *from, *to, a, b, region, x[0], x[1], y[0], y[1], n, l, s, h)
            }
            Self::FillBuffer { target, pattern, pattern_size, offset, size } => {
                clCommandFillBufferKHR(c, q, p, *target, start(pattern), *pattern_size, *offset, *size, n, l, s, h)
            }
            Self::CopyImage { from, to, origins: [a, b], region } => {
                clCommandCopyImageKHR(c, q, p, *from, *to, pointer(a), pointer(b), pointer(region), n, l, s, h)
            }
            Self::ImageToBuffer { from, to, origin, region, offset } => {
                let (origin, region) = (pointer(origin), pointer(region));
                clCommandCopyImageToBufferKHR(c, q, p, *from, *to, origin, region, *offset, n, l, s, h)
            }
            Self::BufferToImage { from, to, offset, origin, region } => {
                let (origin, region) = (pointer(origin), pointer(region));
                clCommandCopyBufferToImageKHR(c, q, p, *from, *to, *offset, origin, region, n, l, s, h)
            }
            Self::FillImage { target, colour, origin, region } => {
                let colour = colour.as_ref().map_or(null(), |colour| colour.as_ptr().cast());
                clCommandFillImageKHR(c, q, p, *target, colour, pointer(origin), pointer(region), n, l, s, h)
            }
            Self::SvmCopy { to, from, size } => clCommandSVMMemcpyKHR(c, q, p, *to, *from, *size, n, l, s, h),
            Self::SvmFill { target, pattern, pattern_size, size } => {
                clCommandSVMMemFillKHR(c, q, p, *target, start(pattern), *pattern_size, *size, n, l, s, h)
            }
        }
    }
}

/// An operation with its effect, if it follows the rules.
pub(crate) type Made = (Operation, Effect);

impl World {
    /// A valid buffer of a context.
    pub(crate) fn buffer(&self, violated: &mut Violated, handle: Handle, context: Option<u64>) -> Option<Memory> {
        let memory = self.memory(handle).filter(|memory| memory.image.is_none());
        violated.rule(memory.is_some(), CL_INVALID_MEM_OBJECT);
        let own = self.context_of(Kind::Mem, handle);
        violated.rule(context.is_none() || own.is_none() || own == context, CL_INVALID_CONTEXT);
        memory.cloned()
    }

    pub(crate) fn pick_buffer(&self, u: &mut Unstructured<'_>, context: Option<u64>) -> Result<Handle> {
        self.pick_mem(u, context, |memory| memory.image.is_none())
    }

    /// The part of a buffer that a command accesses, most often inside it.
    pub(crate) fn range(&self, u: &mut Unstructured<'_>, buffer: Handle) -> Result<(usize, usize)> {
        let size = self.memory(buffer).map_or(64, |memory| memory.size);
        Ok(match u.int_in_range(0..=31)? {
            0 => (u.int_in_range(0..=size)?, usize::MAX - u.int_in_range(0..=64)?),
            1 => (usize::MAX - u.int_in_range(0..=64)?, u.int_in_range(1..=64)?),
            2 => (u.int_in_range(0..=size)?, u.int_in_range(0..=size)?),
            3 => (u.int_in_range(0..=size)?, 0),
            4..=15 => {
                let offset = u.int_in_range(0..=size)?;
                (offset, u.int_in_range(0..=size - offset)?)
            }
            _ => {
                let offset = 4 * u.int_in_range(0..=size / 4)?;
                let most = (size - offset).min(256) / 4;
                (offset, 4 * u.int_in_range(0..=most)?)
            }
        })
    }

    /// Any copy or fill in a context. `None` if what the arguments mean is not defined.
    pub(crate) fn operation(
        &mut self,
        u: &mut Unstructured<'_>,
        violated: &mut Violated,
        context: Option<u64>,
    ) -> Result<Option<Made>> {
        match u.int_in_range(0..=15)? {
            0..=3 => self.copy_buffer(u, violated, context).map(Some),
            4 => self.copy_rect(u, violated, context).map(Some),
            5..=7 => self.fill_buffer(u, violated, context).map(Some),
            8 => self.copy_image(u, violated, context),
            9 => self.image_to_buffer(u, violated, context),
            10 => self.buffer_to_image(u, violated, context),
            11 | 12 => self.fill_image(u, violated, context).map(Some),
            13 | 14 => self.svm_copy(u, violated, context),
            _ => self.svm_fill(u, violated, context),
        }
    }

    fn copy_buffer(&mut self, u: &mut Unstructured<'_>, violated: &mut Violated, context: Option<u64>) -> Result<Made> {
        let (from, to) = (self.pick_buffer(u, context)?, self.pick_buffer(u, context)?);
        let (offset, mut size) = self.range(u, from)?;
        let (target, most) = self.range(u, to)?;
        if size < usize::MAX / 2 && u.ratio(15, 16)? {
            size = size.min(most);
        }
        let (a, b) = (self.buffer(violated, from, context), self.buffer(violated, to, context));
        violated.rule(a.as_ref().is_none_or(|buffer| buffer.holds(offset, size)), CL_INVALID_VALUE);
        violated.rule(b.as_ref().is_none_or(|buffer| buffer.holds(target, size)), CL_INVALID_VALUE);
        let mut effect = Effect::default();
        if let (Some(a), Some(b)) = (a, b) {
            if violated.is_empty() {
                effect = Effect::copy(a.region(offset, size), b.region(target, size));
            }
            if a.root == b.root {
                let (x, y) = (a.origin.wrapping_add(offset), b.origin.wrapping_add(target));
                let overlaps = size != 0 && x < y.wrapping_add(size) && y < x.wrapping_add(size);
                violated.rule(!overlaps, CL_MEM_COPY_OVERLAP);
            }
        }
        Ok((Operation::CopyBuffer { from, to, offsets: [offset, target], size }, effect))
    }

    fn copy_rect(&mut self, u: &mut Unstructured<'_>, violated: &mut Violated, context: Option<u64>) -> Result<Made> {
        let (from, to) = (self.pick_buffer(u, context)?, self.pick_buffer(u, context)?);
        let (a, b) = (self.buffer(violated, from, context), self.buffer(violated, to, context));
        let region = rect_region(u)?;
        let (origin, target) = (rect_origin(u)?, rect_origin(u)?);
        let pitches = rect_pitches(u, region)?;
        let other = if from == to && u.ratio(7, 8)? { pitches } else { rect_pitches(u, region)? };
        let x = rect_rules(violated, a.as_ref(), origin, region, pitches);
        let y = rect_rules(violated, b.as_ref(), target, region, other);
        // Pitches of 0 are computed.
        let same = x.as_ref().zip(y.as_ref()).is_none_or(|(x, y)| (x.row, x.slice) == (y.row, y.slice));
        violated.rule(a.is_none() || from != to || same, CL_INVALID_VALUE);
        let mut effect = Effect::default();
        if let (Some(x), Some(y)) = (x, y) {
            if x.root == y.root {
                // The function in the specification also finds some where the bytes of one are in gaps of the other.
                violated.rule(!shares_bytes(&x, &y), CL_MEM_COPY_OVERLAP);
                violated.allow(x.touches(&y), CL_MEM_COPY_OVERLAP);
            }
            effect = Effect::copy(x, y);
        }
        Ok((Operation::CopyRect { from, to, origins: [origin, target], region, pitches: [pitches, other] }, effect))
    }

    fn fill_buffer(&mut self, u: &mut Unstructured<'_>, violated: &mut Violated, context: Option<u64>) -> Result<Made> {
        let target = self.pick_buffer(u, context)?;
        let (mut offset, mut size) = self.range(u, target)?;
        let (pattern, pattern_size) = self.pattern(u, violated)?;
        if pattern_size != 0 && u.ratio(15, 16)? {
            (offset, size) = (offset / pattern_size * pattern_size, size / pattern_size * pattern_size);
        }
        let whole = pattern_size != 0 && offset.is_multiple_of(pattern_size) && size.is_multiple_of(pattern_size);
        violated.rule(whole, CL_INVALID_VALUE);
        let buffer = self.buffer(violated, target, context);
        violated.rule(buffer.as_ref().is_none_or(|buffer| buffer.holds(offset, size)), CL_INVALID_VALUE);
        let mut effect = Effect::default();
        if let (Some(buffer), Some(pattern)) = (buffer, &pattern)
            && violated.is_empty()
        {
            effect = Effect::fill(pattern[..pattern_size].to_vec(), buffer.region(offset, size));
        }
        Ok((Operation::FillBuffer { target, pattern, pattern_size, offset, size }, effect))
    }

    /// A pattern for a fill, and its size.
    pub(crate) fn pattern(
        &mut self,
        u: &mut Unstructured<'_>,
        violated: &mut Violated,
    ) -> Result<(Option<Vec<u8>>, usize)> {
        let size = if u.ratio(15, 16)? { 1 << u.int_in_range(0..=7)? } else { u.int_in_range(0..=260)? };
        let pattern = if u.ratio(1, 32)? { None } else { Some(self.bytes(260)) };
        violated.rule(pattern.is_some(), CL_INVALID_VALUE);
        violated.rule(usize::is_power_of_two(size) && size <= 128, CL_INVALID_VALUE);
        Ok((pattern, size))
    }
}

/// Whether two regions have a byte in common.
pub(crate) fn shares_bytes(a: &Region, b: &Region) -> bool {
    if !a.touches(b) {
        return false;
    }
    let mut bytes = vec![false; a.end().max(b.end())];
    let rows = |region: &Region| {
        let (start, [_, rows, slices]) = (region.start, region.extent);
        let (row, slice) = (region.row, region.slice);
        (0..slices).flat_map(move |z| (0..rows).map(move |y| start + z * slice + y * row)).collect::<Vec<_>>()
    };
    for at in rows(a) {
        bytes[at..at + a.extent[0]].fill(true);
    }
    rows(b).into_iter().any(|at| bytes[at..at + b.extent[0]].contains(&true))
}

/// The region of a rectangle, in bytes, rows and slices.
pub(crate) fn rect_region(u: &mut Unstructured<'_>) -> Result<Triple> {
    let mut region = [4 * u.int_in_range(1..=8)?, u.int_in_range(1..=4)?, u.int_in_range(1..=3)?];
    if u.ratio(1, 16)? {
        region[u.int_in_range(0..=2)?] = *u.choose(&[0, usize::MAX])?;
    }
    Ok(if u.ratio(1, 32)? { None } else { Some(region) })
}

/// The origin of a rectangle.
pub(crate) fn rect_origin(u: &mut Unstructured<'_>) -> Result<Triple> {
    let mut origin = [u.int_in_range(0..=16)?, u.int_in_range(0..=3)?, u.int_in_range(0..=2)?];
    if u.ratio(1, 16)? {
        origin[u.int_in_range(0..=2)?] = *u.choose(&[64, usize::MAX])?;
    }
    Ok(if u.ratio(1, 32)? { None } else { Some(origin) })
}

/// The pitches of a rectangle; few of them are too small.
pub(crate) fn rect_pitches(u: &mut Unstructured<'_>, region: Triple) -> Result<[usize; 2]> {
    let [bytes, rows, _] = region.unwrap_or([8, 2, 1]).map(|size| size.min(64));
    let row = match u.int_in_range(0..=15)? {
        0 => u.int_in_range(0..=64)?,
        1..=7 => 0,
        _ => bytes + u.int_in_range(0..=16)?,
    };
    let pitch = if row == 0 { bytes } else { row };
    let slice = match u.int_in_range(0..=15)? {
        0 => u.int_in_range(0..=256)?,
        1..=7 => 0,
        _ => pitch * (rows + u.int_in_range(0..=1)?),
    };
    Ok([row, slice])
}

/// The rules for one side of a copy of a rectangle, and the region if they hold.
pub(crate) fn rect_rules(
    violated: &mut Violated,
    buffer: Option<&Memory>,
    origin: Triple,
    region: Triple,
    [row, slice]: [usize; 2],
) -> Option<Region> {
    violated.rule(origin.is_some() && region.is_some(), CL_INVALID_VALUE);
    let (origin, region) = (origin?, region?);
    let rows_fit = region.iter().all(|size| *size != 0) && (row == 0 || row >= region[0]);
    violated.rule(rows_fit, CL_INVALID_VALUE);
    let pitch = if row == 0 { region[0] } else { row };
    let least = region[1].checked_mul(pitch);
    let slices_fit = slice == 0 || least.is_some_and(|least| slice >= least) && slice.is_multiple_of(pitch.max(1));
    violated.rule(slices_fit, CL_INVALID_VALUE);
    let slice = if slice == 0 { least.unwrap_or(usize::MAX) } else { slice };
    let end = |at: [usize; 3]| {
        let y = at[1].checked_mul(pitch)?.checked_add(at[0])?;
        at[2].checked_mul(slice)?.checked_add(y)
    };
    let last = [0, 1, 2].map(|d| region[d].saturating_sub(1));
    let last_end = end(last).zip(end(origin)).and_then(|(last, start)| last.checked_add(start)?.checked_add(1));
    let size = buffer.map_or(super::HOST_BYTES, |buffer| buffer.size);
    let inside = last_end.is_some_and(|end| end <= size);
    violated.rule(inside, CL_INVALID_VALUE);
    if !(rows_fit && slices_fit && inside) {
        return None;
    }
    let (root, offset) = buffer.map_or((super::world::HOST, 0), |buffer| (buffer.root, buffer.origin));
    Some(Region { root, start: offset + end(origin)?, row: pitch, slice, extent: region })
}
