//! The application's view of objects.
//!
//! A handle is the address of an [`Object`]: a `repr(C)` header that the ICD loader reads (the dispatch table, then the loader's
//! own data), followed by the state of the object in Rust. Every object type has a registry of live addresses. [`Handle::get`]
//! looks up the address there *before* it reads anything behind it. So null, invalid and released handles and those of another
//! type give the type's `CL_INVALID_*` and are never dereferenced.
//!
//! There are two reference counts. The *API reference count* is changed by `clRetain*`/`clRelease*` and reported by info queries;
//! while it is positive it keeps the object alive. Rust's `Arc` count has the driver's own references: that of a queue to its
//! context, those of a command to its buffers. An object lives until both counts are zero, and its handle stays valid that long:
//! a context that the application has released can still be queried from its queue and retained again. A release at API count
//! zero is an error even if the driver holds references.
//!
//! Not here: the state of objects (`object/`) and the checks on it (`api/`).

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, PoisonError, Weak};

use rustc_hash::FxBuildHasher;

use super::dispatch::{self, DispatchTable};
use super::sync::{AtomicU32, RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::error::{ClError, ClResult};

/// A type of object to which the application can have handles.
pub trait ClObject: Send + Sync + Sized + 'static {
    /// Four letters that identify the type in a memory dump.
    const TAG: [u8; 4];
    /// The error for a handle that is not of this type.
    const INVALID: ClError;
    /// The registry of the type's live objects.
    fn registry() -> &'static Registry<Self>;
}

/// Implements [`ClObject`] for a state type: `cl_object!(Context, b"ctxt", InvalidContext);`
macro_rules! cl_object {
    ($state:ty, $tag:literal, $invalid:ident) => {
        impl $crate::ffi::handle::ClObject for $state {
            const TAG: [u8; 4] = *$tag;
            const INVALID: $crate::error::ClError = $crate::error::ClError::$invalid;
            fn registry() -> &'static $crate::ffi::handle::Registry<Self> {
                $crate::ffi::sync::shared! {
                    static REGISTRY: $crate::ffi::handle::Registry<$state> = $crate::ffi::handle::Registry::new();
                }
                &REGISTRY
            }
        }
    };
}
pub(crate) use cl_object;

/// A reference of the driver to an object; derefs to the object's state.
pub type Ref<T> = Arc<Object<T>>;

/// An object: the header that the loader knows, then the state.
#[repr(C)]
pub struct Object<T: ClObject> {
    /// Read by the loader to call functions; must be the first field.
    dispatch: Option<&'static DispatchTable>,
    /// Owned by the loader (ICD 2), copied from the platform when the object is created.
    dispatch_data: AtomicPtr<c_void>,
    tag: [u8; 4],
    /// The API reference count. While it is positive, it owns one `Arc` reference. A thread that changes the count from or to
    /// zero creates or drops that reference.
    api: AtomicU32,
    state: T,
}

/// The value stored by `clIcdSetPlatformDispatchDataKHR`, which new objects get.
static PLATFORM_DISPATCH_DATA: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Sets the loader's data for all objects created from now on.
pub fn set_platform_dispatch_data(data: LoaderData) {
    PLATFORM_DISPATCH_DATA.store(data.0, Ordering::Release);
}

/// The opaque pointer of the loader in every object; never dereferenced.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct LoaderData(*mut c_void);

impl<T: ClObject> Object<T> {
    /// Creates an object with one API reference.
    pub fn create(state: T) -> Ref<T> {
        let object = Arc::new(Self {
            dispatch: dispatch::table(),
            dispatch_data: AtomicPtr::new(PLATFORM_DISPATCH_DATA.load(Ordering::Acquire)),
            tag: T::TAG,
            api: AtomicU32::new(1),
            state,
        });
        // The reference that the API reference count owns.
        std::mem::forget(object.clone());
        T::registry().insert(&object);
        object
    }

    /// The API reference count.
    pub fn reference_count(&self) -> u32 {
        self.api.load(Ordering::Acquire)
    }

    /// Adds an API reference.
    ///
    /// # Errors
    /// [`ClError::OutOfResources`] when the count would overflow.
    pub fn retain(self: &Arc<Self>) -> ClResult<()> {
        // It exists before the count says so: another thread may release it at once.
        let owned = self.clone();
        let add = |count: u32| count.checked_add(1);
        let before = self.api.fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
        if before.map_err(|_| ClError::OutOfResources)? == 0 {
            std::mem::forget(owned);
        }
        Ok(())
    }

    /// Removes an API reference.
    ///
    /// # Errors
    /// The type's [`ClObject::INVALID`] when the API reference count is zero.
    pub fn release(self: &Arc<Self>) -> ClResult<()> {
        let remove = |count: u32| count.checked_sub(1);
        let before = self.api.fetch_update(Ordering::AcqRel, Ordering::Acquire, remove);
        if before.map_err(|_| T::INVALID)? == 1 {
            #[allow(unsafe_code, reason = "manual reference counting")]
            // SAFETY: drops the reference that was forgotten when the count left zero; each such change is paired with one back.
            unsafe {
                Arc::decrement_strong_count(Arc::as_ptr(self))
            };
        }
        Ok(())
    }

    /// Replaces the loader's data in this object.
    pub fn set_dispatch_data(&self, data: LoaderData) {
        self.dispatch_data.store(data.0, Ordering::Release);
    }

    /// The application's handle to this object.
    pub fn handle(&self) -> Handle<T> {
        Handle(std::ptr::from_ref(self).expose_provenance(), PhantomData)
    }
}

impl<T: ClObject> Deref for Object<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.state
    }
}

impl<T: ClObject> Drop for Object<T> {
    fn drop(&mut self) {
        debug_assert!(self.tag == T::TAG, "broken invariant: header overwritten");
        T::registry().remove(std::ptr::from_ref(self).addr());
    }
}

impl<T: ClObject> fmt::Debug for Object<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{:p}", self.tag.escape_ascii(), self)
    }
}

/// What the application passes as an object: any pointer. It is stored as a number, because it is only compared.
#[repr(transparent)]
pub struct Handle<T>(usize, PhantomData<fn() -> T>);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Handle<T> {}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl<T> Handle<T> {
    /// The null handle.
    pub const NULL: Self = Self(0, PhantomData);

    /// Whether the handle is null.
    pub fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The pointer as C sees it.
    pub fn as_ptr(self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.0)
    }

    /// A handle that C passed as a number (a property value) or in untyped data.
    pub fn from_addr(address: usize) -> Self {
        Self(address, PhantomData)
    }
}

impl<T: ClObject> Handle<T> {
    /// The live object of the handle.
    ///
    /// # Errors
    /// The type's [`ClObject::INVALID`] when there is none.
    pub fn get(self) -> ClResult<Ref<T>> {
        T::registry().find(self.0).ok_or(T::INVALID)
    }

    /// As [`Handle::get`], with `None` for the null handle.
    ///
    /// # Errors
    /// As [`Handle::get`].
    pub fn get_nullable(self) -> ClResult<Option<Ref<T>>> {
        if self.is_null() { Ok(None) } else { self.get().map(Some) }
    }
}

/// `clRetain*` for a type without special rules.
///
/// # Errors
/// The type's [`ClObject::INVALID`], or [`ClError::OutOfResources`] when the count would overflow.
pub fn retain<T: ClObject>(handle: Handle<T>) -> ClResult<()> {
    handle.get()?.retain()
}

/// `clRelease*` for a type without special rules.
///
/// # Errors
/// The type's [`ClObject::INVALID`].
pub fn release<T: ClObject>(handle: Handle<T>) -> ClResult<()> {
    handle.get()?.release()
}

/// Number of shards of a registry, which reduce contention between threads that look up different objects.
const SHARDS: usize = 16;

type Entries<T> = HashMap<usize, Weak<Object<T>>, FxBuildHasher>;

/// The lock is the standard library's: threads that wait for it leave nothing behind in the child of a fork.
type Shard<T> = RwLock<Entries<T>>;

fn read<T: ClObject>(shard: &Shard<T>) -> RwLockReadGuard<'_, Entries<T>> {
    shard.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T: ClObject>(shard: &Shard<T>) -> RwLockWriteGuard<'_, Entries<T>> {
    shard.write().unwrap_or_else(PoisonError::into_inner)
}

/// A registry of any type, for a thread that forks.
pub trait ForkLock: Sync {
    /// Locks it until all of the guards are dropped.
    fn lock_for_fork(&'static self) -> Box<dyn std::any::Any>;
}

impl<T: ClObject> ForkLock for Registry<T> {
    fn lock_for_fork(&'static self) -> Box<dyn std::any::Any> {
        Box::new(self.shards.each_ref().map(write))
    }
}

/// The live objects of one type by address.
pub struct Registry<T: ClObject> {
    shards: [Shard<T>; SHARDS],
}

impl<T: ClObject> Default for Registry<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ClObject> Registry<T> {
    /// An empty registry.
    #[cfg(not(feature = "loom"))]
    pub const fn new() -> Self {
        Self { shards: [const { RwLock::new(HashMap::with_hasher(FxBuildHasher)) }; SHARDS] }
    }

    /// An empty registry.
    #[cfg(feature = "loom")]
    pub fn new() -> Self {
        Self { shards: std::array::from_fn(|_| RwLock::new(HashMap::default())) }
    }

    /// Number of live objects, for tests that check for leaks.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| read(shard).len()).sum()
    }

    /// Whether no object is live.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shard(&self, address: usize) -> &Shard<T> {
        // Objects have a few hundred bytes, so higher address bits differ.
        &self.shards[(address >> 8) % SHARDS]
    }

    fn insert(&self, object: &Ref<T>) {
        let address = Arc::as_ptr(object).addr();
        write(self.shard(address)).insert(address, Arc::downgrade(object));
    }

    fn remove(&self, address: usize) {
        let entry = write(self.shard(address)).remove(&address);
        // The memory is freed without the lock.
        drop(entry);
    }

    fn find(&self, address: usize) -> Option<Ref<T>> {
        read(self.shard(address)).get(&address).and_then(Weak::upgrade)
    }
}

impl<T: ClObject> fmt::Debug for Registry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registry of {} {}", self.len(), T::TAG.escape_ascii())
    }
}

#[cfg(all(test, feature = "loom"))]
mod models;

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    /// An object without state.
    struct Probe;

    cl_object!(Probe, b"prob", InvalidDevice);

    /// The count neither overflows nor frees an object that is still referenced.
    #[test]
    fn reference_count_at_its_ends() {
        let object = Object::create(Probe);
        let handle = object.handle();
        object.api.store(u32::MAX - 1, Ordering::Release);
        assert_eq!(retain(handle), Ok(()));
        assert_eq!(retain(handle), Err(ClError::OutOfResources));
        assert_eq!(object.reference_count(), u32::MAX);
        object.api.store(1, Ordering::Release);
        assert_eq!(release(handle), Ok(()));
        assert_eq!(release(handle), Err(ClError::InvalidDevice));
        // An object that the driver holds can be retained again.
        assert_eq!(retain(handle), Ok(()));
        assert_eq!(release(handle), Ok(()));
        drop(object);
        assert_eq!(retain(handle), Err(ClError::InvalidDevice));
    }
}
