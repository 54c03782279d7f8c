//! A memory object: a buffer, a part of one (a sub-buffer), an image ([`super::image`]), or a pipe.
//!
//! All memory is host memory, so mapping costs nothing, and `CL_MEM_USE_HOST_PTR` uses the application's memory itself. Mappings
//! are recorded only as far as the specification's rules require. Not here: the bytes and copies of them
//! ([`clift_runtime::memory`]).

use std::sync::Arc;

use clift_include::cl::{
    CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY, CL_MEM_IMMUTABLE_EXT, CL_MEM_OBJECT_BUFFER,
    CL_MEM_OBJECT_PIPE, cl_mem_flags, cl_mem_object_type, cl_mem_properties,
};
use clift_runtime::memory::{HostBuffer, MemSlice};
use parking_lot::Mutex;

use super::context::Context;
use super::device::Device;
use super::image::Image;
use crate::ffi::callback::{Destructor, ObjectNotify, call_destructors};
use crate::ffi::handle::{Handle, Ref, cl_object};
use crate::ffi::pointer::{HostPtr, UserData};

/// A memory object.
#[derive(Debug)]
pub struct Mem {
    context: Ref<Context>,
    flags: cl_mem_flags,
    properties: Vec<cl_mem_properties>,
    host_ptr: HostPtr,
    /// Whether the application may query its address.
    addressed: bool,
    external: Option<Box<External>>,
    kind: MemKind,
    parent: Option<Parent>,
    maps: Mutex<Mappings>,
    destructors: Mutex<Vec<Destructor<Mem>>>,
    // The last field, so that it is freed after the destructor callbacks have been called.
    bytes: MemSlice,
}

cl_object!(Mem, b"mem ", InvalidMemObject);

/// What a memory object is besides its bytes.
#[derive(Debug)]
enum MemKind {
    Buffer,
    Image(Box<Image>),
    Pipe(PipeSize),
}

/// The size of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeSize {
    /// Bytes of a packet.
    pub packet_bytes: u32,
    /// Maximum number of packets.
    pub max_packets: u32,
}

/// The buffer of a sub-buffer, and its origin.
#[derive(Debug)]
struct Parent {
    buffer: Ref<Mem>,
    origin: usize,
}

/// External memory from which an object was created.
#[derive(Clone, Debug)]
pub struct External {
    /// The devices whose queues may acquire it.
    pub devices: Vec<Ref<Device>>,
    /// The memory.
    pub memory: Arc<HostBuffer>,
}

/// The mappings of an object, oldest first.
#[derive(Debug, Default)]
struct Mappings {
    held: Vec<Mapping>,
    made: u64,
}

/// A part of a memory object: rows of bytes that are the same distance apart, and slices of such rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Offset of the first byte.
    pub start: usize,
    /// Number of bytes in a row, of rows, and of slices.
    pub extent: [usize; 3],
    /// Bytes from a row to the next one, and from a slice to the next one.
    pub pitches: [usize; 2],
}

impl Region {
    /// Consecutive bytes.
    pub fn linear(start: usize, len: usize) -> Self {
        Self { start, extent: [len, 1, 1], pitches: [len, len] }
    }

    /// Offset after the last byte.
    fn end(&self) -> usize {
        let ([width, rows, slices], [row, slice]) = (self.extent, self.pitches);
        self.start + (slices - 1) * slice + (rows - 1) * row + width
    }

    /// Position of the first byte in its row, its slice, and all slices, with the pitches of `other`.
    fn position(&self) -> [usize; 3] {
        let [row, slice] = self.pitches;
        [self.start % slice % row, self.start % slice / row, self.start / slice]
    }

    /// Whether a byte is in both. Regions with different pitches count as consecutive bytes.
    fn overlaps(&self, other: &Region) -> bool {
        if other.end() <= self.start || self.end() <= other.start {
            return false;
        }
        if self.pitches != other.pitches || self.extent[0] > self.pitches[0] {
            return true;
        }
        let (a, b) = (self.position(), other.position());
        // A row that goes beyond the end of the pitch continues in the next one; images have no such.
        let wraps = |at: [usize; 3], of: &Region| at[0] + of.extent[0] > of.pitches[0];
        wraps(a, self)
            || wraps(b, other)
            || (0..3).all(|axis| a[axis] < b[axis] + other.extent[axis] && b[axis] < a[axis] + self.extent[axis])
    }
}

/// A region that the application has mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The region, with an offset in this object.
    pub region: Region,
    /// The pointer returned to the application.
    pub pointer: HostPtr,
    /// Whether it may write through the pointer.
    pub write: bool,
    /// Distinguishes it from other mappings of the object, even of the same region.
    pub id: u64,
}

/// Mapping the region would allow writing to the same bytes through two pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap;

impl Mem {
    /// A buffer with memory `bytes`. `host_ptr` is the application's pointer if the memory belongs to the application.
    pub fn buffer(
        context: Ref<Context>,
        flags: cl_mem_flags,
        properties: Vec<cl_mem_properties>,
        host_ptr: HostPtr,
        bytes: MemSlice,
    ) -> Self {
        let (maps, destructors) = Default::default();
        Self {
            context,
            flags,
            properties,
            host_ptr,
            addressed: false,
            external: None,
            kind: MemKind::Buffer,
            parent: None,
            maps,
            destructors,
            bytes,
        }
    }

    /// Sets whether the application may query its address.
    pub fn with_device_address(mut self, addressed: bool) -> Self {
        self.addressed = addressed;
        self
    }

    /// Sets the external memory that it consists of.
    pub fn with_external(mut self, external: External) -> Self {
        self.external = Some(Box::new(external));
        self
    }

    /// The external memory that it was created from, if any.
    pub fn external(&self) -> Option<&External> {
        self.external.as_deref()
    }

    /// An image with memory `bytes`, which belongs to `other` if there is one.
    pub fn image(
        context: Ref<Context>,
        flags: cl_mem_flags,
        properties: Vec<cl_mem_properties>,
        host_ptr: HostPtr,
        bytes: MemSlice,
        image: Image,
        other: Option<Ref<Mem>>,
    ) -> Self {
        let (maps, destructors) = Default::default();
        let parent = other.map(|buffer| Parent { buffer, origin: 0 });
        Self {
            context,
            flags,
            properties,
            host_ptr,
            addressed: false,
            external: None,
            kind: MemKind::Image(Box::new(image)),
            parent,
            maps,
            destructors,
            bytes,
        }
    }

    /// A pipe with memory `bytes`, which contain a header.
    pub fn pipe(context: Ref<Context>, flags: cl_mem_flags, size: PipeSize, bytes: MemSlice) -> Self {
        let mut pipe = Self::buffer(context, flags, Vec::new(), HostPtr::NULL, bytes);
        pipe.kind = MemKind::Pipe(size);
        pipe
    }

    /// Whether it is a buffer or a sub-buffer.
    pub fn is_buffer(&self) -> bool {
        match self.kind {
            MemKind::Buffer => true,
            MemKind::Image(_) | MemKind::Pipe(_) => false,
        }
    }

    /// Its properties as an image, if it is one.
    pub fn as_image(&self) -> Option<&Image> {
        match &self.kind {
            MemKind::Image(image) => Some(image),
            MemKind::Buffer | MemKind::Pipe(_) => None,
        }
    }

    /// Its size as a pipe, if it is one.
    pub fn as_pipe(&self) -> Option<PipeSize> {
        match self.kind {
            MemKind::Pipe(size) => Some(size),
            MemKind::Buffer | MemKind::Image(_) => None,
        }
    }

    /// Its type (`CL_MEM_OBJECT_*`).
    pub fn object_type(&self) -> cl_mem_object_type {
        match &self.kind {
            MemKind::Buffer => CL_MEM_OBJECT_BUFFER,
            MemKind::Image(image) => image.kind().number(),
            MemKind::Pipe(_) => CL_MEM_OBJECT_PIPE,
        }
    }

    /// A part of a buffer (not of a sub-buffer) that starts at `origin` and has `len` bytes; `None` when it exceeds the buffer.
    pub fn sub_buffer(buffer: &Ref<Mem>, flags: cl_mem_flags, origin: usize, len: usize) -> Option<Self> {
        debug_assert!(buffer.parent.is_none(), "broken invariant: a sub-buffer of a sub-buffer");
        let bytes = buffer.bytes.part(origin, len).ok()?;
        let (maps, destructors) = Default::default();
        Some(Self {
            context: buffer.context.clone(),
            flags,
            properties: Vec::new(),
            host_ptr: if buffer.host_ptr.is_null() { HostPtr::NULL } else { HostPtr::new(bytes.as_ptr()) },
            addressed: buffer.addressed,
            external: None,
            kind: MemKind::Buffer,
            parent: Some(Parent { buffer: buffer.clone(), origin }),
            maps,
            destructors,
            bytes,
        })
    }

    /// Its context.
    pub fn context(&self) -> &Ref<Context> {
        &self.context
    }

    /// Its flags; those of a sub-buffer include the inherited ones.
    pub fn flags(&self) -> cl_mem_flags {
        self.flags
    }

    /// The property list as given, including the final zero; empty if there was none.
    pub fn properties(&self) -> &[cl_mem_properties] {
        &self.properties
    }

    /// The application's memory if the object uses it (`CL_MEM_USE_HOST_PTR`), otherwise NULL.
    pub fn host_ptr(&self) -> HostPtr {
        self.host_ptr
    }

    /// Its bytes.
    pub fn bytes(&self) -> &MemSlice {
        &self.bytes
    }

    /// Its size in bytes. That of an image includes the padding of the last row and slice.
    pub fn size(&self) -> usize {
        self.as_image().map_or(self.bytes.len(), Image::bytes)
    }

    /// The object that owns its memory: for a sub-buffer the buffer, for an image the object it was created from.
    pub fn parent(&self) -> Option<&Ref<Mem>> {
        self.parent.as_ref().map(|parent| &parent.buffer)
    }

    /// Its offset in its buffer; 0 unless it is a sub-buffer.
    pub fn origin(&self) -> usize {
        self.parent.as_ref().map_or(0, |parent| parent.origin)
    }

    /// Whether the host may read it with commands.
    pub fn host_may_read(&self) -> bool {
        self.flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS) == 0
    }

    /// Whether the host may write it with commands.
    pub fn host_may_write(&self) -> bool {
        self.flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS | CL_MEM_IMMUTABLE_EXT) == 0
    }

    /// Whether commands may write to it at all.
    pub fn is_mutable(&self) -> bool {
        self.flags & CL_MEM_IMMUTABLE_EXT == 0
    }

    /// Its address on the device, if the application requested a fixed one.
    pub fn device_address(&self) -> Option<u64> {
        self.addressed.then(|| self.bytes.as_ptr().expose_provenance() as u64)
    }

    /// Whether it uses shared virtual memory of the application.
    pub fn uses_svm(&self) -> bool {
        let at = || self.context.allocations().at(self.host_ptr.addr());
        !self.host_ptr.is_null() && at().is_some_and(|found| found.kind.is_svm())
    }

    /// Registers a function to call when the object ends.
    pub fn add_destructor(&self, notify: ObjectNotify<Mem>, mem: Handle<Mem>, user_data: UserData) {
        self.destructors.lock().push((notify, mem, user_data));
    }

    /// Number of the application's mappings of this object.
    pub fn map_count(&self) -> usize {
        self.maps.lock().held.len()
    }

    /// Maps a region.
    ///
    /// # Errors
    /// [`Overlap`] when bytes of the buffer would be mapped for writing twice through this object.
    pub fn map(&self, region: Region, write: bool) -> Result<Mapping, Overlap> {
        let pointer = HostPtr::new(self.bytes.as_ptr().wrapping_add(region.start));
        let mut maps = self.maps.lock();
        let mapping = Mapping { region, pointer, write, id: maps.made };
        let overlaps = |other: &Mapping| other.write && region.overlaps(&other.region);
        if write && maps.held.iter().any(overlaps) {
            return Err(Overlap);
        }
        maps.made += 1;
        maps.held.push(mapping);
        Ok(mapping)
    }

    /// Removes a mapping by its pointer, latest first; `None` when there is none.
    pub fn unmap(&self, pointer: HostPtr) -> Option<Mapping> {
        let mut maps = self.maps.lock();
        let index = maps.held.iter().rposition(|mapping| mapping.pointer == pointer)?;
        Some(maps.held.remove(index))
    }

    /// Removes a mapping whose command failed, if it still exists.
    pub fn undo_map(&self, id: u64) {
        self.maps.lock().held.retain(|mapping| mapping.id != id);
    }
}

impl Drop for Mem {
    /// Calls the destructor callbacks, latest first.
    fn drop(&mut self) {
        call_destructors(std::mem::take(self.destructors.get_mut()));
        if self.addressed {
            self.context.forget_addressed(self.bytes.as_ptr().addr());
        }
    }
}
