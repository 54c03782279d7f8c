//! A memory object: a buffer, a part of one (a sub-buffer), or an image ([`super::image`]).
//!
//! All memory is the host's, so mapping costs nothing and `CL_MEM_USE_HOST_PTR` works on the application's memory itself.
//! What is kept of mappings is what the specification's rules need. Not here: the bytes and their copying
//! ([`clift_runtime::memory`]).

use std::sync::Arc;

use clift_include::cl::{
    CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY, CL_MEM_IMMUTABLE_EXT, cl_mem_flags,
    cl_mem_properties,
};
use clift_runtime::memory::{HostBuffer, MemSlice};
use parking_lot::Mutex;

use super::context::Context;
use super::device::Device;
use super::image::Image;
use crate::ffi::callback::MemDestructor;
use crate::ffi::handle::{Handle, Ref, cl_object};
use crate::ffi::pointer::{HostPtr, UserData};

/// A memory object.
#[derive(Debug)]
pub struct Mem {
    context: Ref<Context>,
    flags: cl_mem_flags,
    properties: Vec<cl_mem_properties>,
    host_ptr: HostPtr,
    /// Whether the application may ask for its address.
    addressed: bool,
    external: Option<Box<External>>,
    image: Option<Box<Image>>,
    parent: Option<Parent>,
    maps: Mutex<Maps>,
    destructors: Mutex<Vec<Destructor>>,
    // Freed after the destructor callbacks have been called: the last field.
    bytes: MemSlice,
}

cl_object!(Mem, b"mem ", InvalidMemObject);

/// What a sub-buffer is a part of.
#[derive(Debug)]
struct Parent {
    buffer: Ref<Mem>,
    origin: usize,
}

/// Memory of another interface that an object was made of.
#[derive(Clone, Debug)]
pub struct External {
    /// The devices whose queues may acquire it.
    pub devices: Vec<Ref<Device>>,
    /// The memory.
    pub memory: Arc<HostBuffer>,
}

/// The mappings of an object, the oldest first.
#[derive(Debug, Default)]
struct Maps {
    held: Vec<Mapping>,
    made: u64,
}

/// A region that the application has mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Offset in the whole buffer, also for a sub-buffer.
    pub start: usize,
    /// Bytes.
    pub len: usize,
    /// The pointer the application got.
    pub pointer: HostPtr,
    /// Whether it may write through the pointer.
    pub write: bool,
    /// Tells it from other mappings of the object, also of the same region.
    pub id: u64,
}

/// Mapping the region would let two pointers write to the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap;

/// A registered destructor callback with its arguments.
type Destructor = (MemDestructor, Handle<Mem>, UserData);

impl Mem {
    /// A buffer over `bytes`. `host_ptr` is the application's pointer when those are its own.
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
            image: None,
            parent: None,
            maps,
            destructors,
            bytes,
        }
    }

    /// The same, with an address that the application may ask for.
    pub fn with_device_address(mut self, addressed: bool) -> Self {
        self.addressed = addressed;
        self
    }

    /// The same, of memory of another interface.
    pub fn with_external(mut self, external: External) -> Self {
        self.external = Some(Box::new(external));
        self
    }

    /// The memory of another interface that it was made of, if it was.
    pub fn external(&self) -> Option<&External> {
        self.external.as_deref()
    }

    /// An image over `bytes`, which are those of `other` if there is one.
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
            image: Some(Box::new(image)),
            parent,
            maps,
            destructors,
            bytes,
        }
    }

    /// What it is besides bytes, if it is an image.
    pub fn as_image(&self) -> Option<&Image> {
        self.image.as_deref()
    }

    /// The part of a buffer (not of a sub-buffer) that starts at `origin` and has `len` bytes; `None` when the buffer is
    /// not that long.
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
            image: None,
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

    /// Its flags, for a sub-buffer with those it has from its buffer.
    pub fn flags(&self) -> cl_mem_flags {
        self.flags
    }

    /// The property list as given, the ending zero included; empty when none was.
    pub fn properties(&self) -> &[cl_mem_properties] {
        &self.properties
    }

    /// The application's memory when the object uses that (`CL_MEM_USE_HOST_PTR`), else NULL.
    pub fn host_ptr(&self) -> HostPtr {
        self.host_ptr
    }

    /// Its bytes.
    pub fn bytes(&self) -> &MemSlice {
        &self.bytes
    }

    /// Its size in bytes, of an image with the ends of its last row and slice.
    pub fn size(&self) -> usize {
        self.as_image().map_or(self.bytes.len(), Image::bytes)
    }

    /// The object whose bytes its own are: of a sub-buffer the buffer, of an image the one it was made of.
    pub fn parent(&self) -> Option<&Ref<Mem>> {
        self.parent.as_ref().map(|parent| &parent.buffer)
    }

    /// Where in its buffer it starts; 0 unless it is a sub-buffer.
    pub fn origin(&self) -> usize {
        self.parent.as_ref().map_or(0, |parent| parent.origin)
    }

    /// Whether the host may read it by commands.
    pub fn host_may_read(&self) -> bool {
        self.flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS) == 0
    }

    /// Whether the host may write it by commands.
    pub fn host_may_write(&self) -> bool {
        self.flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS | CL_MEM_IMMUTABLE_EXT) == 0
    }

    /// Whether commands may write to it at all.
    pub fn is_mutable(&self) -> bool {
        self.flags & CL_MEM_IMMUTABLE_EXT == 0
    }

    /// The address that the device has it at, when the application asked for one that stays.
    pub fn device_address(&self) -> Option<u64> {
        self.addressed.then(|| self.bytes.as_ptr().expose_provenance() as u64)
    }

    /// Whether it works on shared virtual memory of the application's.
    pub fn uses_svm(&self) -> bool {
        let at = || self.context.allocations().at(self.host_ptr.addr());
        !self.host_ptr.is_null() && at().is_some_and(|found| found.kind.is_svm())
    }

    /// Registers a function to call when the object ends.
    pub fn add_destructor(&self, notify: MemDestructor, mem: Handle<Mem>, user_data: UserData) {
        self.destructors.lock().push((notify, mem, user_data));
    }

    /// Number of mappings the application holds through this object.
    pub fn map_count(&self) -> usize {
        self.maps.lock().held.len()
    }

    /// Maps a region, given in this object's offsets and within it.
    ///
    /// # Errors
    /// [`Overlap`] when bytes of the buffer would be mapped for writing twice through this object.
    pub fn map(&self, offset: usize, len: usize, write: bool) -> Result<Mapping, Overlap> {
        let pointer = HostPtr::new(self.bytes.as_ptr().wrapping_add(offset));
        let mut maps = self.maps.lock();
        let mapping = Mapping { start: self.origin() + offset, len, pointer, write, id: maps.made };
        let overlaps = |other: &Mapping| {
            other.write && mapping.start < other.start + other.len && other.start < mapping.start + mapping.len
        };
        if write && maps.held.iter().any(overlaps) {
            return Err(Overlap);
        }
        maps.made += 1;
        maps.held.push(mapping);
        Ok(mapping)
    }

    /// Takes a mapping back by its pointer, the last made first; `None` when there is none.
    pub fn unmap(&self, pointer: HostPtr) -> Option<Mapping> {
        let mut maps = self.maps.lock();
        let index = maps.held.iter().rposition(|mapping| mapping.pointer == pointer)?;
        Some(maps.held.remove(index))
    }

    /// Takes back a mapping that did not come about; nothing when it is gone already.
    pub fn undo_map(&self, id: u64) {
        self.maps.lock().held.retain(|mapping| mapping.id != id);
    }
}

impl Drop for Mem {
    /// Calls the destructor callbacks, the last registered first.
    fn drop(&mut self) {
        for (notify, mem, user_data) in std::mem::take(self.destructors.get_mut()).into_iter().rev() {
            notify.call(mem, user_data);
        }
        if self.addressed {
            self.context.forget_addressed(self.bytes.as_ptr().addr());
        }
    }
}
