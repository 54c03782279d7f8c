//! A memory object: a buffer, a part of one (a sub-buffer), an image ([`super::image`]), or a pipe.
//!
//! All memory is host memory, so mapping costs nothing, and `CL_MEM_USE_HOST_PTR` uses the application's memory itself. Mappings
//! are recorded only as far as the specification's rules require ([`super::mapping`]). Not here: the bytes and copies of them
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
use super::mapping::MapView;
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
    maps: MapView,
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

impl Mem {
    /// A buffer with memory `bytes`. `host_ptr` is the application's pointer if the memory belongs to the application.
    pub fn buffer(
        context: Ref<Context>,
        flags: cl_mem_flags,
        properties: Vec<cl_mem_properties>,
        host_ptr: HostPtr,
        bytes: MemSlice,
    ) -> Self {
        Self {
            context,
            flags,
            properties,
            host_ptr,
            addressed: false,
            external: None,
            kind: MemKind::Buffer,
            parent: None,
            maps: MapView::default(),
            destructors: Mutex::default(),
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
        let maps = other.as_ref().map_or_else(MapView::default, |other| other.maps.part(0));
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
            destructors: Mutex::default(),
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
        Some(Self {
            context: buffer.context.clone(),
            flags,
            properties: Vec::new(),
            host_ptr: if buffer.host_ptr.is_null() { HostPtr::NULL } else { HostPtr::new(bytes.as_ptr()) },
            addressed: buffer.addressed,
            external: None,
            kind: MemKind::Buffer,
            parent: Some(Parent { buffer: buffer.clone(), origin }),
            maps: buffer.maps.part(origin),
            destructors: Mutex::default(),
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

    /// Its mappings.
    pub fn maps(&self) -> &MapView {
        &self.maps
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
