//! Images: creation, commands and queries. Images with more than one mipmap level are not modelled.

use std::collections::HashSet;
use std::ptr::{null, null_mut};

use arbtest::arbitrary::{Result, Unstructured};

use super::cl::*;
use super::commands::Target;
use super::contents::{Byte, Effect, Region};
use super::objects::{exclusive_view, flag_rules, inherited};
use super::operations::{Made, Operation, Triple, pointer};
use super::world::{Detail, HOST, Handle, Kind, Memory, Place, World};
use super::{HOST_BYTES, Violated};

/// What a channel holds, as far as colours that are exact in every format are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    /// A normalized integer of this many bytes.
    Unorm(usize),
    Snorm(usize),
    Signed(usize),
    Unsigned(usize),
    Half,
    Float,
}

/// A format: order, type, channels in memory as indices of red, green, blue and alpha, and what they hold.
type FormatRow = (cl_uint, cl_uint, &'static [usize], Channel);

/// The formats that images are created with.
const FORMATS: &[FormatRow] = &[
    (CL_R, CL_UNORM_INT8, &[0], Channel::Unorm(1)),
    (CL_R, CL_UNSIGNED_INT8, &[0], Channel::Unsigned(1)),
    (CL_R, CL_SIGNED_INT16, &[0], Channel::Signed(2)),
    (CL_R, CL_UNSIGNED_INT32, &[0], Channel::Unsigned(4)),
    (CL_R, CL_FLOAT, &[0], Channel::Float),
    (CL_RG, CL_UNSIGNED_INT16, &[0, 1], Channel::Unsigned(2)),
    (CL_RG, CL_HALF_FLOAT, &[0, 1], Channel::Half),
    (CL_RG, CL_SNORM_INT8, &[0, 1], Channel::Snorm(1)),
    (CL_RGBA, CL_UNORM_INT8, &[0, 1, 2, 3], Channel::Unorm(1)),
    (CL_RGBA, CL_UNORM_INT16, &[0, 1, 2, 3], Channel::Unorm(2)),
    (CL_RGBA, CL_UNSIGNED_INT8, &[0, 1, 2, 3], Channel::Unsigned(1)),
    (CL_RGBA, CL_UNSIGNED_INT32, &[0, 1, 2, 3], Channel::Unsigned(4)),
    (CL_RGBA, CL_SIGNED_INT32, &[0, 1, 2, 3], Channel::Signed(4)),
    (CL_RGBA, CL_FLOAT, &[0, 1, 2, 3], Channel::Float),
    (CL_BGRA, CL_UNORM_INT8, &[2, 1, 0, 3], Channel::Unorm(1)),
    (CL_sRGBA, CL_UNORM_INT8, &[0, 1, 2, 3], Channel::Unorm(1)),
    (CL_DEPTH, CL_FLOAT, &[0], Channel::Float),
    (CL_DEPTH, CL_UNORM_INT16, &[0], Channel::Unorm(2)),
];

/// Orders and types that cannot be combined.
const INVALID_FORMATS: &[(cl_uint, cl_uint)] =
    &[(CL_RGB, CL_FLOAT), (0, CL_FLOAT), (CL_RGBA, CL_UNORM_SHORT_565), (CL_DEPTH, CL_UNSIGNED_INT8), (CL_RGBA, 0)];

/// Channel orders of which images can be created from images with the other.
const VIEWS: &[(cl_uint, cl_uint)] = &[(CL_sRGBA, CL_RGBA), (CL_RGBA, CL_sRGBA), (CL_DEPTH, CL_R)];

impl Channel {
    fn bytes(self) -> usize {
        match self {
            Self::Unorm(bytes) | Self::Snorm(bytes) | Self::Signed(bytes) | Self::Unsigned(bytes) => bytes,
            Self::Half => 2,
            Self::Float => 4,
        }
    }

    /// A value of a channel, as a component of a colour and in memory.
    fn value(self, choice: u32) -> (u32, Vec<u8>) {
        let part = |value: u32, bytes: usize| value.to_le_bytes()[..bytes].to_vec();
        let choice = choice % 3;
        match self {
            Self::Unorm(bytes) => {
                [(0, part(0, bytes)), (1f32.to_bits(), part(!0, bytes)), ((-1f32).to_bits(), part(0, bytes))]
                    [choice as usize]
                    .clone()
            }
            Self::Snorm(bytes) => {
                let most = (1u32 << (8 * bytes - 1)) - 1;
                let values = [(0, 0), (1f32.to_bits(), most), ((-1f32).to_bits(), most.wrapping_neg())];
                let (colour, value) = values[choice as usize];
                (colour, part(value, bytes))
            }
            Self::Signed(bytes) => {
                let value = [0u32, 77, 3u32.wrapping_neg()][choice as usize];
                (value, part(value, bytes))
            }
            Self::Unsigned(bytes) => {
                let value = [0u32, 99, 201][choice as usize];
                (value, part(value, bytes))
            }
            Self::Half => {
                let (value, half) = [(0f32, 0u32), (1.5, 0x3e00), (-2.0, 0xc000)][choice as usize];
                (value.to_bits(), part(half, 2))
            }
            Self::Float => {
                let value = [0f32, 1.25, -7.5][choice as usize].to_bits();
                (value, part(value, 4))
            }
        }
    }
}

/// The limits that the device reports, and the formats that it lists.
#[derive(Clone, Default)]
pub(crate) struct ImageLimits {
    max_2d: [usize; 2],
    max_3d: [usize; 3],
    max_buffer: usize,
    max_layers: usize,
    /// Type of image, order, and type of data.
    listed: HashSet<(cl_uint, cl_uint, cl_uint)>,
}

/// All types of images.
const TYPES: [cl_uint; 6] = [
    CL_MEM_OBJECT_IMAGE2D,
    CL_MEM_OBJECT_IMAGE3D,
    CL_MEM_OBJECT_IMAGE2D_ARRAY,
    CL_MEM_OBJECT_IMAGE1D,
    CL_MEM_OBJECT_IMAGE1D_ARRAY,
    CL_MEM_OBJECT_IMAGE1D_BUFFER,
];

impl ImageLimits {
    /// Asks the device.
    pub(crate) fn new(context: cl_context) -> Self {
        let size = |name| info::<usize>(|s, v, r| clGetDeviceInfo(device(), name, s, v, r));
        let mut listed = HashSet::new();
        for kind in TYPES {
            let mut count = 0;
            let flags = CL_MEM_READ_WRITE;
            assert_eq!(clGetSupportedImageFormats(context, flags, kind, 0, null_mut(), &mut count), CL_SUCCESS);
            let zero = cl_image_format { image_channel_order: 0, image_channel_data_type: 0 };
            let mut formats = vec![zero; count as usize];
            let room = formats.as_mut_ptr().cast();
            assert_eq!(clGetSupportedImageFormats(context, flags, kind, count, room, null_mut()), CL_SUCCESS);
            listed.extend(formats.iter().map(|f| (kind, f.image_channel_order, f.image_channel_data_type)));
        }
        Self {
            max_2d: [size(CL_DEVICE_IMAGE2D_MAX_WIDTH), size(CL_DEVICE_IMAGE2D_MAX_HEIGHT)],
            max_3d: [CL_DEVICE_IMAGE3D_MAX_WIDTH, CL_DEVICE_IMAGE3D_MAX_HEIGHT, CL_DEVICE_IMAGE3D_MAX_DEPTH].map(size),
            max_buffer: size(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE),
            max_layers: size(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE),
            listed,
        }
    }
}

/// The properties of an image.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) kind: cl_uint,
    pub(crate) order: cl_uint,
    pub(crate) data_type: cl_uint,
    /// The row of the table of formats.
    format: usize,
    /// Bytes of an element.
    pub(crate) element: usize,
    /// Width, height and depth, or 1.
    pub(crate) size: [usize; 3],
    pub(crate) layers: usize,
    /// Distances in bytes.
    row: usize,
    slice: usize,
    /// The pitches that it was created with.
    given: [usize; 2],
    /// The buffer whose memory it has.
    buffer: Option<u64>,
}

fn has_height(kind: cl_uint) -> bool {
    [CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D].contains(&kind)
}

fn is_array(kind: cl_uint) -> bool {
    [CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D_ARRAY].contains(&kind)
}

fn has_slices(kind: cl_uint) -> bool {
    is_array(kind) || kind == CL_MEM_OBJECT_IMAGE3D
}

impl Image {
    /// The number of elements in each direction of an origin.
    pub(crate) fn bounds(&self) -> [usize; 3] {
        match self.kind {
            CL_MEM_OBJECT_IMAGE1D_ARRAY => [self.size[0], self.layers, 1],
            CL_MEM_OBJECT_IMAGE2D_ARRAY => [self.size[0], self.size[1], self.layers],
            _ => self.size,
        }
    }

    /// The bytes of a box of elements.
    pub(crate) fn region(&self, root: u64, start: usize, origin: [usize; 3], extent: [usize; 3]) -> Region {
        let (row, slice) =
            if self.kind == CL_MEM_OBJECT_IMAGE1D_ARRAY { (self.slice, self.slice) } else { (self.row, self.slice) };
        let start = start + origin[0] * self.element + origin[1] * row + origin[2] * slice;
        Region { root, start, row, slice, extent: [extent[0] * self.element, extent[1], extent[2]] }
    }

    /// All of its elements.
    pub(crate) fn whole(&self, memory: &Memory) -> Region {
        self.region(memory.root, memory.origin, [0; 3], self.bounds())
    }

    /// Whether kernels can access it by `read_imageui` and `write_imageui`.
    pub(crate) fn is_unsigned(&self) -> bool {
        matches!(FORMATS[self.format].3, Channel::Unsigned(_))
    }

    /// The bytes of an element with this colour of unsigned integers, which are saturated.
    pub(crate) fn unsigned_element(&self, colour: [u32; 4]) -> Vec<u8> {
        let (.., channels, kind) = FORMATS[self.format];
        let most = (1u64 << (8 * kind.bytes())) - 1;
        let value = |channel: &usize| u64::from(colour[*channel]).min(most).to_le_bytes()[..kind.bytes()].to_vec();
        channels.iter().flat_map(value).collect()
    }

    /// The colour that an element with these bytes has as unsigned integers.
    pub(crate) fn unsigned_colour(&self, element: &[Byte]) -> Option<[u32; 4]> {
        let (.., channels, kind) = FORMATS[self.format];
        let mut colour = [0, 0, 0, 1];
        for (channel, bytes) in channels.iter().zip(element.chunks(kind.bytes())) {
            let mut value = [0; 4];
            for (to, from) in value.iter_mut().zip(bytes) {
                *to = (*from)?;
            }
            colour[*channel] = u32::from_le_bytes(value);
        }
        Some(colour)
    }
}

/// The offset in a buffer for a copy between it and an image, and the regions of image and buffer if the copy is valid.
type Sides = (usize, Option<(Region, Region)>);

impl World {
    /// Creates an image.
    pub(crate) fn create_image(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let context = if u.arbitrary()? { self.common.base } else { self.pick(u, Kind::Context)? };
        let number = self.get(Kind::Context, context).map(|object| object.number);
        let mut violated = Violated::default();
        violated.rule(number.is_some(), CL_INVALID_CONTEXT);
        let kind = if u.ratio(31, 32)? { *u.choose(&TYPES)? } else { CL_MEM_OBJECT_BUFFER };
        let known = TYPES.contains(&kind);
        violated.rule(known, CL_INVALID_IMAGE_DESCRIPTOR);
        let parent = if u.arbitrary()? || kind == CL_MEM_OBJECT_IMAGE1D_BUFFER {
            self.pick_mem(u, number, |memory| memory.image.is_none() || kind == CL_MEM_OBJECT_IMAGE2D)?
        } else {
            null_mut()
        };
        let from = self.memory(parent).cloned();
        let number_of_parent = self.get(Kind::Mem, parent).map(|object| object.number);
        let buffer = from.as_ref().filter(|memory| memory.image.is_none());
        let image = from.as_ref().and_then(|memory| memory.image.clone());

        // The format
        let mut row = u.int_in_range(0..=FORMATS.len() - 1)?;
        if let Some(image) = &image
            && u.ratio(15, 16)?
        {
            let view = VIEWS.iter().find(|(_, of)| *of == image.order);
            let fits =
                |format: &FormatRow| view.is_some_and(|(order, _)| format.0 == *order && format.1 == image.data_type);
            row = FORMATS.iter().position(fits).unwrap_or(row);
        }
        let (mut order, mut data_type, channels, channel) = FORMATS[row];
        let element = channels.len() * channel.bytes();
        if u.ratio(1, 32)? {
            (order, data_type) = *u.choose(INVALID_FORMATS)?;
            violated.rule(false, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
        }
        let listed = !known || self.common.limits.listed.contains(&(kind, order, data_type));
        violated.rule(listed, CL_IMAGE_FORMAT_NOT_SUPPORTED);
        let format = cl_image_format { image_channel_order: order, image_channel_data_type: data_type };
        let format_pointer: *const cl_image_format = if u.ratio(1, 64)? { null() } else { &format };
        violated.rule(!format_pointer.is_null(), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);

        // The size
        let mut size = [u.int_in_range(1..=16)?, u.int_in_range(1..=8)?, u.int_in_range(1..=4)?];
        let mut layers = u.int_in_range(1..=4)?;
        if let Some(image) = &image
            && u.ratio(15, 16)?
        {
            size = image.size;
        }
        if u.ratio(1, 32)? {
            size[u.int_in_range(0..=2)?] = *u.choose(&[0, 1 << 40])?;
        }
        if u.ratio(1, 64)? {
            layers = *u.choose(&[0, 1 << 40])?;
        }
        let limits = &self.common.limits;
        let most = match kind {
            CL_MEM_OBJECT_IMAGE3D => limits.max_3d,
            CL_MEM_OBJECT_IMAGE1D_BUFFER => [limits.max_buffer, 0, 0],
            _ => [limits.max_2d[0], limits.max_2d[1], 0],
        };
        let used = [true, has_height(kind), kind == CL_MEM_OBJECT_IMAGE3D];
        let mut bounded = (0..3).all(|d| !used[d] || (1..=most[d]).contains(&size[d]));
        bounded &= !is_array(kind) || (1..=limits.max_layers).contains(&layers);
        violated.rule(bounded || !known, CL_INVALID_IMAGE_SIZE);
        let real = [0, 1, 2].map(|d| if used[d] { size[d] } else { 1 });
        let real_layers = if is_array(kind) { layers } else { 1 };

        // The flags and the application's memory
        let flags = if !parent.is_null() && u.ratio(3, 4)? { 0 } else { Self::flags(u)? };
        let from_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
        let gives_host = from_host ^ u.ratio(1, 32)?;
        flag_rules(&mut violated, flags);
        violated.rule(gives_host == from_host, CL_INVALID_HOST_PTR);
        violated.rule(parent.is_null() || !gives_host, CL_INVALID_HOST_PTR);

        // The pitches
        let tight = real[0].wrapping_mul(element);
        let (mut given_row, mut given_slice) = (0, 0);
        let takes_pitches = gives_host || buffer.is_some() && kind != CL_MEM_OBJECT_IMAGE1D_BUFFER;
        if takes_pitches && u.arbitrary()? {
            given_row = tight.wrapping_add(element * u.int_in_range(0..=3)?);
        }
        let row_pitch = if given_row == 0 { tight } else { given_row };
        if takes_pitches && has_slices(kind) && u.arbitrary()? {
            given_slice = row_pitch.wrapping_mul(real[1]).wrapping_add(row_pitch.wrapping_mul(u.int_in_range(0..=2)?));
        }
        if let Some(image) = &image {
            [given_row, given_slice] = image.given;
        }
        if u.ratio(1, 32)? {
            given_row = u.int_in_range(0..=300)?;
        }
        let may_have = takes_pitches || image.is_some() || given_row == 0 && given_slice == 0;
        let row_pitch = if given_row == 0 { tight } else { given_row };
        let least = row_pitch.wrapping_mul(real[1]);
        let slice_pitch = if given_slice == 0 || !has_slices(kind) { least } else { given_slice };
        let row_fits = row_pitch >= tight && row_pitch.is_multiple_of(element);
        let slice_fits = slice_pitch >= least && (row_pitch == 0 || slice_pitch.is_multiple_of(row_pitch));
        let pitches_fit = may_have && row_fits && slice_fits;
        if kind == CL_MEM_OBJECT_IMAGE1D_BUFFER && given_row != 0 {
            // Whether the pitch of a single row counts is not said.
            return Ok(());
        }
        if !pitches_fit {
            // The specification names this error for pitches of images of buffers, and had the other for others up to version
            // 2.2.
            violated.rule(false, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
            violated.rule(false, CL_INVALID_IMAGE_DESCRIPTOR);
        }
        let samples = cl_uint::from(u.ratio(1, 64)?);
        violated.rule(samples == 0, CL_INVALID_IMAGE_DESCRIPTOR);

        // The other memory object
        let slices = real[2].wrapping_mul(real_layers);
        let bytes = if bounded && pitches_fit && known { slice_pitch * slices } else { 0 };
        let mut view = None;
        if !parent.is_null() {
            let own = self.context_of(Kind::Mem, parent);
            violated.rule(own.is_some() && (number.is_none() || own == number), CL_INVALID_IMAGE_DESCRIPTOR);
            if let Some(from) = &from {
                exclusive_view(&mut violated, from.flags, flags);
                view = Some((from.root, from.origin, inherited(from.flags, flags)));
            }
            if let Some(buffer) = buffer {
                let fits = bytes <= buffer.size;
                violated.rule(fits, CL_INVALID_IMAGE_SIZE);
                violated.rule(fits, CL_INVALID_IMAGE_DESCRIPTOR);
            }
            if let Some(image) = &image {
                let both = kind == CL_MEM_OBJECT_IMAGE2D && image.kind == CL_MEM_OBJECT_IMAGE2D;
                violated.rule(both && real == image.size, CL_INVALID_IMAGE_DESCRIPTOR);
                violated.rule([given_row, given_slice] == image.given, CL_INVALID_IMAGE_DESCRIPTOR);
                if order == image.order {
                    // The table of orders does not have equal ones.
                    return Ok(());
                }
                let compatible = data_type == image.data_type && VIEWS.contains(&(order, image.order));
                violated.rule(compatible, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
            }
        } else {
            violated.rule(kind != CL_MEM_OBJECT_IMAGE1D_BUFFER, CL_INVALID_IMAGE_DESCRIPTOR);
        }
        let content = if gives_host && bytes <= HOST_BYTES { Some(self.bytes(bytes)) } else { None };
        let host = content.as_ref().map_or(null_mut(), |content| self.own_memory(content));
        if gives_host && host.is_null() {
            return Ok(());
        }

        // SAFETY: zero and NULL are valid for all fields.
        let mut desc: cl_image_desc = unsafe { std::mem::zeroed() };
        desc.image_type = kind;
        [desc.image_width, desc.image_height, desc.image_depth] = size;
        desc.image_array_size = layers;
        (desc.image_row_pitch, desc.image_slice_pitch) = (given_row, given_slice);
        desc.num_samples = samples;
        desc.buffer = parent;
        let desc_pointer: *const cl_image_desc = if u.ratio(1, 64)? { null() } else { &desc };
        violated.rule(!desc_pointer.is_null(), CL_INVALID_IMAGE_DESCRIPTOR);
        let mut error = 1;
        let made = clCreateImage(context, flags, format_pointer, desc_pointer, host, &mut error);
        let call = format!(
            "clCreateImage({context:?}, {flags:#x}, {order:#x} {data_type:#x}, {kind:#x} {size:?} {layers} \
             {given_row} {given_slice} {samples} {parent:?}, {host:?}) = {made:?}"
        );
        let succeeded = self.check(call, &violated, error);
        assert_eq!(made.is_null(), !succeeded);
        if succeeded {
            let (root, origin, flags) = match view {
                Some(view) => view,
                None => {
                    let root = self.number();
                    self.timeline.add_root(root, Self::content(content, bytes));
                    (root, 0, flags)
                }
            };
            let buffer = number_of_parent.filter(|_| image.is_none());
            let image = Image {
                kind,
                order,
                data_type,
                format: row,
                element,
                size: real,
                layers: real_layers,
                row: row_pitch,
                slice: slice_pitch,
                given: [given_row, given_slice],
                buffer,
            };
            let size =
                image.whole(&Memory { size: 0, flags, origin: 0, root, parent: None, image: None, maps: vec![] }).end();
            let memory =
                Memory { size, flags, origin, root, parent: number_of_parent, image: Some(image), maps: Vec::new() };
            self.add(made, Kind::Mem, number, Detail::Mem(memory));
        }
        Ok(())
    }

    /// Compares what queries say about an image.
    pub(crate) fn describe_image(&self, handle: Handle) {
        let memory = self.memory(handle).expect("a memory object");
        let Some(image) = &memory.image else {
            assert_eq!(clGetImageInfo(handle, CL_IMAGE_WIDTH, 0, null_mut(), null_mut()), CL_INVALID_MEM_OBJECT);
            return;
        };
        let kind = image.kind;
        let height = if has_height(kind) { image.size[1] } else { 0 };
        let depth = if kind == CL_MEM_OBJECT_IMAGE3D { image.size[2] } else { 0 };
        let layers = if is_array(kind) { image.layers } else { 0 };
        let slice = if has_slices(kind) { image.slice } else { 0 };
        for (name, wanted) in [
            (CL_IMAGE_ELEMENT_SIZE, image.element),
            (CL_IMAGE_ROW_PITCH, image.row),
            (CL_IMAGE_SLICE_PITCH, slice),
            (CL_IMAGE_WIDTH, image.size[0]),
            (CL_IMAGE_HEIGHT, height),
            (CL_IMAGE_DEPTH, depth),
            (CL_IMAGE_ARRAY_SIZE, layers),
        ] {
            let actual: usize = info(|s, v, r| clGetImageInfo(handle, name, s, v, r));
            assert_eq!(actual, wanted, "query {name:#x} of {memory:?}");
        }
        let format: cl_image_format = info(|s, v, r| clGetImageInfo(handle, CL_IMAGE_FORMAT, s, v, r));
        assert_eq!((format.image_channel_order, format.image_channel_data_type), (image.order, image.data_type));
        let buffer: cl_mem = info(|s, v, r| clGetImageInfo(handle, CL_IMAGE_BUFFER, s, v, r));
        let known = self.get(Kind::Mem, buffer).map(|object| object.number);
        assert_eq!(image.buffer.is_none(), buffer.is_null(), "the buffer of {memory:?}");
        assert!(known.is_none() || known == image.buffer, "the buffer of {memory:?}");
        let ty: cl_uint = info(|s, v, r| clGetMemObjectInfo(handle, CL_MEM_TYPE, s, v, r));
        assert_eq!(ty, kind, "the type of {memory:?}");
    }

    pub(crate) fn pick_image(&self, u: &mut Unstructured<'_>, context: Option<u64>) -> Result<Handle> {
        self.pick_mem(u, context, |memory| memory.image.is_some())
    }

    /// An origin and a region, most often inside an image.
    fn image_box(&self, u: &mut Unstructured<'_>, image: Handle) -> Result<(Triple, Triple)> {
        let image = self.memory(image).and_then(|memory| memory.image.as_ref());
        let bounds = image.map_or([4, 4, 1], Image::bounds);
        let (mut origin, mut extent) = ([0; 3], [1; 3]);
        for d in 0..3 {
            origin[d] = u.int_in_range(0..=bounds[d] - 1)?;
            extent[d] = u.int_in_range(1..=bounds[d] - origin[d])?;
        }
        match u.int_in_range(0..=63)? {
            0 => extent[u.int_in_range(0..=2)?] = 0,
            1 => extent[u.int_in_range(0..=2)?] = *u.choose(&[2, 17, usize::MAX])?,
            2 => origin[u.int_in_range(0..=2)?] = *u.choose(&[1, 17, usize::MAX])?,
            3 => return Ok((None, Some(extent))),
            4 => return Ok((Some(origin), None)),
            _ => {}
        }
        Ok((Some(origin), Some(extent)))
    }

    /// A valid image of a context, and the part of it that an origin and a region name.
    fn image_part(
        &self,
        violated: &mut Violated,
        handle: Handle,
        context: Option<u64>,
        (origin, extent): (Triple, Triple),
    ) -> Option<(Memory, Region)> {
        let own = self.context_of(Kind::Mem, handle);
        violated.rule(context.is_none() || own.is_none() || own == context, CL_INVALID_CONTEXT);
        let memory = self.memory(handle).filter(|memory| memory.image.is_some());
        violated.rule(memory.is_some(), CL_INVALID_MEM_OBJECT);
        violated.rule(origin.is_some() && extent.is_some(), CL_INVALID_VALUE);
        let (memory, origin, extent) = (memory?, origin?, extent?);
        let image = memory.image.as_ref().expect("an image");
        let bounds = image.bounds();
        let inside = |d: usize| extent[d] != 0 && origin[d].checked_add(extent[d]).is_some_and(|end| end <= bounds[d]);
        let all = (0..3).all(inside);
        violated.rule(all, CL_INVALID_VALUE);
        if !all {
            return None;
        }
        Some((memory.clone(), image.region(memory.root, memory.origin, origin, extent)))
    }

    pub(crate) fn copy_image(
        &mut self,
        u: &mut Unstructured<'_>,
        violated: &mut Violated,
        context: Option<u64>,
    ) -> Result<Option<Made>> {
        let from = self.pick_image(u, context)?;
        let format = |memory: &Memory| memory.image.as_ref().map(|image| (image.order, image.data_type));
        let same = self.memory(from).and_then(format);
        let to =
            self.pick_mem(u, context, |memory| memory.image.is_some() && (same.is_none() || format(memory) == same))?;
        let (origin, mut region) = self.image_box(u, from)?;
        let (target, smaller) = self.image_box(u, to)?;
        if let (Some(region), Some(smaller)) = (&mut region, smaller)
            && u.ratio(15, 16)?
        {
            *region = [0, 1, 2].map(|d| region[d].min(smaller[d]));
        }
        let a = self.image_part(violated, from, context, (origin, region));
        let b = self.image_part(violated, to, context, (target, region));
        let formats = (self.memory(from).and_then(format), self.memory(to).and_then(format));
        let differ = formats.0.is_some() && formats.1.is_some() && formats.0 != formats.1;
        violated.rule(!differ, CL_IMAGE_FORMAT_MISMATCH);
        let mut effect = Effect::default();
        if let (Some((_, a)), Some((_, b))) = (a, b) {
            if from == to {
                let overlaps = a.root == b.root && super::operations::shares_bytes(&a, &b);
                violated.rule(!overlaps, CL_MEM_COPY_OVERLAP);
            } else if a.touches(&b) {
                // Images in the same memory: not defined.
                return Ok(None);
            }
            effect = Effect::copy(a, b);
        }
        Ok(Some((Operation::CopyImage { from, to, origins: [origin, target], region }, effect)))
    }

    pub(crate) fn image_to_buffer(
        &mut self,
        u: &mut Unstructured<'_>,
        violated: &mut Violated,
        context: Option<u64>,
    ) -> Result<Option<Made>> {
        let (from, to) = (self.pick_image(u, context)?, self.pick_buffer(u, context)?);
        let (origin, region) = self.image_box(u, from)?;
        let Some((offset, sides)) = self.image_and_buffer(u, violated, context, (from, to), (origin, region))? else {
            return Ok(None);
        };
        let effect = sides.map_or(Effect::default(), |(image, buffer)| Effect::copy(image, buffer));
        Ok(Some((Operation::ImageToBuffer { from, to, origin, region, offset }, effect)))
    }

    pub(crate) fn buffer_to_image(
        &mut self,
        u: &mut Unstructured<'_>,
        violated: &mut Violated,
        context: Option<u64>,
    ) -> Result<Option<Made>> {
        let (from, to) = (self.pick_buffer(u, context)?, self.pick_image(u, context)?);
        let (origin, region) = self.image_box(u, to)?;
        let Some((offset, sides)) = self.image_and_buffer(u, violated, context, (to, from), (origin, region))? else {
            return Ok(None);
        };
        let effect = sides.map_or(Effect::default(), |(image, buffer)| Effect::copy(buffer, image));
        Ok(Some((Operation::BufferToImage { from, to, offset, origin, region }, effect)))
    }

    /// What copies between an image and a buffer have in common: the offset, and the regions of both. `None` if the copy is not
    /// defined.
    fn image_and_buffer(
        &mut self,
        u: &mut Unstructured<'_>,
        violated: &mut Violated,
        context: Option<u64>,
        (image, buffer): (Handle, Handle),
        part: (Triple, Triple),
    ) -> Result<Option<Sides>> {
        let (offset, _) = self.range(u, buffer)?;
        let offset = if u.arbitrary()? { 0 } else { offset };
        let part = self.image_part(violated, image, context, part);
        let memory = self.buffer(violated, buffer, context);
        let number = self.get(Kind::Mem, buffer).map(|object| object.number);
        let own = self.memory(image).and_then(|memory| memory.image.clone()).filter(|image| image.buffer.is_some());
        if let Some(own) = own
            && own.buffer == number
        {
            // The specification forbids it for 1D image buffers, and leaves others undefined.
            if own.kind != CL_MEM_OBJECT_IMAGE1D_BUFFER {
                return Ok(None);
            }
            violated.rule(false, CL_INVALID_MEM_OBJECT);
        }
        let mut sides = None;
        if let (Some((_, region)), Some(memory)) = (part, memory) {
            let fits = memory.holds(offset, region.size());
            violated.rule(fits, CL_INVALID_VALUE);
            if fits {
                let bytes = memory.region(offset, region.size());
                if violated.is_empty() && bytes.touches(&region) {
                    return Ok(None);
                }
                sides = Some((region, bytes));
            }
        }
        Ok(Some((offset, sides)))
    }

    pub(crate) fn fill_image(
        &mut self,
        u: &mut Unstructured<'_>,
        violated: &mut Violated,
        context: Option<u64>,
    ) -> Result<Made> {
        let target = self.pick_image(u, context)?;
        let (origin, region) = self.image_box(u, target)?;
        let part = self.image_part(violated, target, context, (origin, region));
        let mut colour = [0; 4];
        let mut effect = Effect::default();
        if let Some((memory, region)) = part {
            let (.., channels, kind) = FORMATS[memory.image.expect("an image").format];
            let mut element = Vec::new();
            for channel in channels {
                let (component, bytes) = kind.value(u.arbitrary()?);
                colour[*channel] = component;
                element.extend(bytes);
            }
            effect = Effect::fill(element, region);
        }
        let colour = if u.ratio(1, 32)? { None } else { Some(colour) };
        violated.rule(colour.is_some(), CL_INVALID_VALUE);
        Ok((Operation::FillImage { target, colour, origin, region }, effect))
    }

    /// Reads or writes an image.
    pub(crate) fn transfer_image(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let ((q, context), waits) = self.target(u, &mut violated)?;
        let mem = self.pick_image(u, context)?;
        let (origin, region) = self.image_box(u, mem)?;
        let part = self.image_part(&mut violated, mem, context, (origin, region));
        let (reads, blocks) = (u.arbitrary()?, u.ratio(1, 4)?);
        let (mut row, mut slice) = (0, 0);
        let mut at = 0;
        let mut effect = Effect::default();
        if let Some((memory, inside)) = part {
            violated.rule(if reads { memory.host_reads() } else { memory.host_writes() }, CL_INVALID_OPERATION);
            let image = memory.image.expect("an image");
            let [bytes, mut rows, mut slices] = inside.extent;
            if image.kind == CL_MEM_OBJECT_IMAGE1D_ARRAY {
                (rows, slices) = (1, rows);
            }
            if u.arbitrary()? {
                row = if u.ratio(1, 16)? { u.int_in_range(0..=bytes)? } else { bytes + u.int_in_range(0..=20)? };
            }
            violated.rule(row == 0 || row >= bytes, CL_INVALID_VALUE);
            let pitch = if row == 0 { bytes } else { row };
            if has_slices(image.kind) && u.arbitrary()? {
                let least = pitch * rows;
                slice = if u.ratio(1, 16)? { u.int_in_range(0..=least)? } else { least + u.int_in_range(0..=20)? };
                violated.rule(slice == 0 || slice >= least, CL_INVALID_VALUE);
            } else if !has_slices(image.kind) && u.ratio(1, 32)? {
                slice = pitch * rows;
                violated.rule(false, CL_INVALID_VALUE);
            }
            let distance = if slice == 0 { pitch * rows } else { slice };
            let extent = inside.extent;
            let row_distance = if image.kind == CL_MEM_OBJECT_IMAGE1D_ARRAY { distance } else { pitch };
            let size = distance * slices + bytes;
            at = self.host_part(u, size)?.0;
            let outside = Region { root: HOST, start: at, row: row_distance, slice: distance, extent };
            effect = if reads { Effect::copy(inside, outside) } else { Effect::copy(outside, inside) };
        }
        let host: Handle = if u.ratio(1, 32)? { null_mut() } else { self.common.host.wrapping_add(at).cast() };
        violated.rule(!host.is_null(), CL_INVALID_VALUE);
        if blocks {
            self.before_blocking(&mut violated, &waits);
        }
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let (n, l, blocks) = (waits.count, waits.list(), cl_bool::from(blocks));
        let (o, r) = (pointer(&origin), pointer(&region));
        let status = if reads {
            clEnqueueReadImage(q, mem, blocks, o, r, row, slice, host, n, l, out)
        } else {
            clEnqueueWriteImage(q, mem, blocks, o, r, row, slice, host, n, l, out)
        };
        let call =
            format!("image, reads: {reads} ({mem:?}, {blocks}, {origin:?}, {region:?}, {row}, {slice}, host + {at})");
        self.enqueued(call, (&violated, status), (&waits, event), (q, context), (Place::Usual, effect));
        Ok(())
    }

    /// Maps a part of an image.
    pub(crate) fn map_image(
        &mut self,
        u: &mut Unstructured<'_>,
        (q, context): Target,
        mem: Handle,
        (flags, blocks): (cl_map_flags, bool),
        mut violated: Violated,
    ) -> Result<()> {
        let (origin, region) = self.image_box(u, mem)?;
        let part = self.image_part(&mut violated, mem, context, (origin, region));
        if let Some((_, region)) = &part {
            self.map_rules(&mut violated, mem, flags, region);
        }
        let kind = self.memory(mem).and_then(|memory| memory.image.as_ref()).expect("an image").kind;
        let (mut row, mut slice) = (0, 0);
        let row_out: *mut usize = if u.ratio(1, 32)? { null_mut() } else { &mut row };
        let slice_out: *mut usize = if u.ratio(1, 8)? { null_mut() } else { &mut slice };
        violated.rule(!row_out.is_null(), CL_INVALID_VALUE);
        violated.rule(!has_slices(kind) || !slice_out.is_null(), CL_INVALID_VALUE);
        let mut error = 1;
        let (o, r, b) = (pointer(&origin), pointer(&region), cl_bool::from(blocks));
        let at = clEnqueueMapImage(q, mem, b, flags, o, r, row_out, slice_out, 0, null(), null_mut(), &mut error);
        let call = format!("map image in {q:?} ({mem:?}, {b}, {flags}, {origin:?}, {region:?}) = {at:?}");
        if self.check(call, &violated, error) {
            let (_, region) = part.expect("an image");
            let [bytes, rows, slices] = region.extent;
            if kind == CL_MEM_OBJECT_IMAGE1D_ARRAY {
                assert!(row >= bytes && slice >= row, "pitches {row} and {slice} of {region:?}");
                row = slice;
            } else {
                assert!(
                    row >= bytes && (slices == 1 || slice >= row * rows),
                    "pitches {row} and {slice} of {region:?}"
                );
            }
            self.mapped(u, (q, mem), (at, row, slice), (flags, blocks), region)?;
        }
        Ok(())
    }
}
