//! Shared virtual memory: allocation, commands on pointers, and freeing.

use std::ffi::c_void;
use std::ptr::{null, null_mut, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use arbtest::arbitrary::{Result, Unstructured};

use super::cl::*;
use super::contents::{Effect, Region, Step};
use super::operations::{Made, Operation};
use super::world::{HOST, Handle, Kind, Place, World, writes};
use super::{HOST_BYTES, Violated};

/// A mapping of a part of an allocation.
#[derive(Clone, Debug)]
struct SvmMapping {
    number: u64,
    address: usize,
    region: Region,
    flags: cl_map_flags,
    written: Option<Vec<u8>>,
}

/// An allocation.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    pub(crate) address: usize,
    pub(crate) size: usize,
    /// The number of its context, and the handle.
    pub(crate) context: u64,
    handle: usize,
    pub(crate) root: u64,
    /// Whether a command that frees it is pending.
    dying: bool,
    maps: Vec<SvmMapping>,
}

/// Calls of [`free_all`].
static FREED: AtomicUsize = AtomicUsize::new(0);

/// Frees pointers of the context `user`.
extern "C" fn free_all(_queue: cl_command_queue, count: cl_uint, pointers: *mut *mut c_void, user: *mut c_void) {
    for at in 0..count as usize {
        // SAFETY: the driver passes as many pointers as it says.
        clSVMFree(user, unsafe { *pointers.add(at) });
    }
    FREED.fetch_add(1, Ordering::SeqCst);
}

/// An address that commands can use: a pointer, and its place in a root.
#[derive(Clone, Copy, Debug)]
struct Address {
    pointer: Handle,
    root: u64,
    offset: usize,
    /// Bytes from there on.
    size: usize,
}

impl World {
    /// Allocations of a context that are not about to be freed.
    pub(crate) fn svm_of(&self, context: Option<u64>) -> Vec<usize> {
        let of = |at: &usize| !self.svm[*at].dying && context.is_none_or(|context| self.svm[*at].context == context);
        (0..self.svm.len()).filter(of).collect()
    }

    /// A call that is about allocations themselves.
    pub(crate) fn svm_step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=11)? {
            0..=3 => self.svm_alloc(u),
            4 => self.svm_free(u),
            5 | 6 => self.svm_enqueue_free(u),
            7 | 8 => self.svm_map(u),
            9 | 10 => self.svm_unmap(u),
            _ => self.svm_migrate(u),
        }
    }

    fn svm_alloc(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let context = if u.arbitrary()? { self.common.base } else { self.pick(u, Kind::Context)? };
        let number = self.get(Kind::Context, context).map(|object| object.number);
        let flags = match u.int_in_range(0..=15)? {
            0 => u.arbitrary::<u16>()?.into(),
            1 => 3,
            2 => CL_MEM_SVM_ATOMICS,
            3 | 4 => CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS,
            5 | 6 => CL_MEM_SVM_FINE_GRAIN_BUFFER,
            7 => CL_MEM_READ_WRITE,
            _ => 0,
        };
        let access = [CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY];
        let fine = CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS;
        let size = if u.ratio(1, 32)? { 0 } else { u.int_in_range(1..=1024)? };
        let alignment = match u.int_in_range(0..=15)? {
            0 => 3,
            1 => 96,
            2..=8 => 1 << u.int_in_range(0..=7)?,
            _ => 0,
        };
        let valid = number.is_some()
            && flags & !(access.iter().sum::<cl_bitfield>() | fine) == 0
            && access.iter().filter(|flag| flags & **flag != 0).count() <= 1
            && flags & fine != CL_MEM_SVM_ATOMICS
            && size != 0
            && (alignment == 0 || cl_uint::is_power_of_two(alignment));
        let pointer = clSVMAlloc(context, flags, size, alignment);
        // The call has no status.
        let mut violated = Violated::default();
        violated.rule(valid, CL_INVALID_VALUE);
        let status = if pointer.is_null() { CL_INVALID_VALUE } else { CL_SUCCESS };
        if self.check(
            format!("clSVMAlloc({context:?}, {flags:#x}, {size}, {alignment}) = {pointer:?}"),
            &violated,
            status,
        ) {
            let wanted = if alignment == 0 { 128 } else { alignment as usize };
            assert!(pointer.addr().is_multiple_of(wanted), "{pointer:?} is not aligned to {wanted}");
            let root = self.number();
            self.timeline.add_root(root, vec![None; size]);
            self.svm.push(Allocation {
                address: pointer.expose_provenance(),
                size,
                context: number.expect("valid"),
                handle: context.expose_provenance(),
                root,
                dying: false,
                maps: Vec::new(),
            });
        }
        Ok(())
    }

    fn svm_free(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let all = self.svm_of(None);
        if all.is_empty() {
            clSVMFree(self.common.base, null_mut());
            return Ok(());
        }
        let at = *u.choose(&all)?;
        let root = self.svm[at].root;
        self.free_now(root);
        Ok(())
    }

    /// Frees the allocation with this root when no command uses it any more.
    fn free_now(&mut self, root: u64) {
        if self.timeline.is_used(root) {
            self.quiesce();
        }
        let at = self.svm.iter().position(|allocation| allocation.root == root).expect("it has not been freed");
        let Allocation { address, handle, .. } = self.svm.swap_remove(at);
        self.freed.insert(root);
        self.calls.push(format!("clSVMFree({address:#x})"));
        clSVMFree(with_exposed_provenance_mut(handle), with_exposed_provenance_mut(address));
    }

    /// Frees all allocations, while nothing executes.
    pub(crate) fn free_svm(&mut self) {
        while let Some(last) = self.svm.last() {
            self.free_now(last.root);
        }
    }

    /// Commands have freed the memory of these roots; those that have failed have freed nothing.
    pub(crate) fn svm_freed(&mut self, roots: &[u64]) {
        self.svm.retain(|allocation| !roots.contains(&allocation.root));
        self.freed.extend(roots);
        for allocation in &mut self.svm {
            allocation.dying = false;
        }
    }

    fn svm_enqueue_free(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let ((q, context), waits) = self.target(u, &mut violated)?;
        let all = self.svm_of(context);
        let mut chosen = Vec::new();
        for _ in 0..u.int_in_range(0..=2)? {
            if !all.is_empty() {
                chosen.push(*u.choose(&all)?);
            }
        }
        chosen.dedup();
        // Nothing else may use the memory when it is freed.
        if chosen.iter().any(|at| self.timeline.is_used(self.svm[*at].root) || !self.svm[*at].maps.is_empty()) {
            return Ok(());
        }
        let pointers: Vec<Handle> =
            chosen.iter().map(|at| with_exposed_provenance_mut(self.svm[*at].address)).collect();
        let mut count = pointers.len() as cl_uint;
        if u.ratio(1, 32)? {
            count = cl_uint::from(count == 0);
        }
        let list = if pointers.is_empty() { null() } else { pointers.as_ptr() };
        violated.rule(list.is_null() == (count == 0), CL_INVALID_VALUE);
        let calls_back = u.arbitrary()? && count != 0;
        let function: SvmFree = if calls_back { Some(free_all) } else { None };
        let user = chosen.first().map_or(null_mut(), |at| with_exposed_provenance_mut(self.svm[*at].handle));
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let status = clEnqueueSVMFree(q, count, list, function, user, waits.count, waits.list(), out);
        let frees = chosen.iter().map(|at| self.svm[*at].root).collect();
        let effect = Effect { frees, ..Effect::default() };
        let call = format!("svm free ({count}, {list:?} {pointers:?}, {calls_back})");
        if self.enqueued(call, (&violated, status), (&waits, event), (q, context), (Place::Usual, effect)) {
            for at in chosen {
                self.svm[at].dying = true;
            }
            if calls_back {
                let command = self.timeline.commands.len() - 1;
                self.callbacks.svm.push(command);
            }
        }
        Ok(())
    }

    /// Compares the number of calls that free memory with the commands that have not failed.
    pub(crate) fn check_svm_callbacks(&mut self) {
        let commands = std::mem::take(&mut self.callbacks.svm);
        let wanted = commands.into_iter().filter(|command| self.timeline.end(*command) == Some(CL_COMPLETE)).count();
        assert_eq!(FREED.swap(0, Ordering::SeqCst), wanted, "calls of functions that free memory");
    }

    /// Memory for a command: most often a part of an allocation, otherwise host memory.
    fn svm_place(&self, u: &mut Unstructured<'_>, context: Option<u64>) -> Result<Address> {
        let all = self.svm_of(context);
        if all.is_empty() || context.is_none() || u.ratio(1, 4)? {
            let offset = 64 * u.int_in_range(0..=HOST_BYTES / 64 - 1)?;
            let size = HOST_BYTES - offset;
            return Ok(Address { pointer: self.common.host.wrapping_add(offset).cast(), root: HOST, offset, size });
        }
        let allocation = &self.svm[*u.choose(&all)?];
        let offset = if u.arbitrary()? { 0 } else { u.int_in_range(0..=allocation.size - 1)? };
        let pointer = with_exposed_provenance_mut(allocation.address + offset);
        Ok(Address { pointer, root: allocation.root, offset, size: allocation.size - offset })
    }

    /// An allocation of a context, as an argument of a kernel: its address and a region of it.
    pub(crate) fn svm_argument(&self, u: &mut Unstructured<'_>, context: Option<u64>) -> Result<(Handle, Region)> {
        let all = self.svm_of(context);
        if all.is_empty() {
            return Ok((null_mut(), Region::linear(HOST, 0, 0)));
        }
        let allocation = &self.svm[*u.choose(&all)?];
        let offset = 4 * u.int_in_range(0..=(allocation.size - 1) / 4)?;
        let pointer = with_exposed_provenance_mut(allocation.address + offset);
        Ok((pointer, Region::linear(allocation.root, offset, allocation.size - offset)))
    }

    /// Whether memory is an allocation that has been freed, or is about to be.
    pub(crate) fn is_freed(&self, root: u64) -> bool {
        self.freed.contains(&root) || self.svm.iter().any(|allocation| allocation.root == root && allocation.dying)
    }

    /// Whether the memory of an allocation may be used.
    pub(crate) fn is_usable(&self, region: &Region) -> bool {
        self.svm.iter().any(|allocation| allocation.root == region.root && !allocation.dying)
    }

    pub(crate) fn svm_copy(
        &mut self,
        u: &mut Unstructured<'_>,
        violated: &mut Violated,
        context: Option<u64>,
    ) -> Result<Option<Made>> {
        let (mut a, mut b) = (self.svm_place(u, context)?, self.svm_place(u, context)?);
        let size = u.int_in_range(1..=a.size.min(b.size).min(512))?;
        match u.int_in_range(0..=63)? {
            0 => a.pointer = null_mut(),
            1 => b.pointer = null_mut(),
            _ => {}
        }
        violated.rule(!a.pointer.is_null() && !b.pointer.is_null(), CL_INVALID_VALUE);
        let (to, from) = (Region::linear(a.root, a.offset, size), Region::linear(b.root, b.offset, size));
        violated.rule(!to.touches(&from), CL_MEM_COPY_OVERLAP);
        let operation = Operation::SvmCopy { to: a.pointer, from: b.pointer, size };
        Ok(Some((operation, Effect::copy(from, to))))
    }

    pub(crate) fn svm_fill(
        &mut self,
        u: &mut Unstructured<'_>,
        violated: &mut Violated,
        context: Option<u64>,
    ) -> Result<Option<Made>> {
        let mut place = self.svm_place(u, context)?;
        let (pattern, pattern_size) = self.pattern(u, violated)?;
        let mut size = u.int_in_range(0..=place.size.min(512))?;
        if pattern_size != 0 && u.ratio(15, 16)? {
            size = size / pattern_size * pattern_size;
        }
        if size == 0 {
            return Ok(None);
        }
        if u.ratio(1, 64)? {
            place.pointer = null_mut();
        }
        violated.rule(!place.pointer.is_null(), CL_INVALID_VALUE);
        if pattern_size != 0 {
            violated.rule(place.pointer.addr().is_multiple_of(pattern_size), CL_INVALID_VALUE);
            violated.rule(size.is_multiple_of(pattern_size), CL_INVALID_VALUE);
        }
        let mut effect = Effect::default();
        if let Some(pattern) = &pattern
            && violated.is_empty()
        {
            let region = Region::linear(place.root, place.offset, size);
            effect = Effect::fill(pattern[..pattern_size].to_vec(), region);
        }
        Ok(Some((Operation::SvmFill { target: place.pointer, pattern, pattern_size, size }, effect)))
    }

    /// Maps a part of an allocation.
    fn svm_map(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let q = self.pick(u, Kind::Queue)?;
        let context = self.context_of(Kind::Queue, q);
        let blocks = u.arbitrary()?;
        if blocks {
            self.quiesce();
        }
        let all = self.svm_of(context);
        if all.is_empty() {
            return Ok(());
        }
        let at = *u.choose(&all)?;
        let Allocation { address, size: whole, root, .. } = self.svm[at];
        let offset = u.int_in_range(0..=whole - 1)?;
        let size = u.int_in_range(0..=whole - offset)?;
        let flags = u.int_in_range(1..=5)?;
        let null = u.ratio(1, 32)?;
        let pointer: Handle = if null { null_mut() } else { with_exposed_provenance_mut(address + offset) };
        let region = Region::linear(root, offset, size);
        let mut violated = Violated::default();
        violated.rule(context.is_some(), CL_INVALID_COMMAND_QUEUE);
        violated.rule(!null && size != 0 && flags < 5, CL_INVALID_VALUE);
        // An allocation is mapped as a whole as far as commands are concerned; one region is mapped once.
        let maps = &self.svm[at].maps;
        if maps.iter().any(|map| map.address == address + offset || map.region.touches(&region)) {
            return Ok(());
        }
        let status = clEnqueueSVMMap(q, cl_bool::from(blocks), flags, pointer, size, 0, NONE, SKIP);
        let call = format!("svm map in {q:?} ({blocks}, {flags}, {address:#x} + {offset}, {size})");
        if self.check(call, &violated, status) {
            let number = self.number();
            let step = Step::Map { mapping: number, region: region.clone(), flags };
            let (reads, changed) =
                if writes(flags) { (vec![], vec![region.clone()]) } else { (vec![region.clone()], vec![]) };
            self.submit(
                q,
                Vec::new(),
                Place::Usual,
                Effect { reads, writes: changed, step: Some(step), ..Effect::default() },
            );
            let mut written = None;
            if blocks && !self.timeline.is_mapped(&region) {
                if flags & CL_MAP_WRITE_INVALIDATE_REGION == 0 {
                    // SAFETY: the region is mapped, and no command accesses it.
                    let actual = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), size) }.to_vec();
                    self.compare("a mapped allocation", &region, &actual);
                }
                if writes(flags) && u.ratio(3, 4)? {
                    let new = self.bytes(size);
                    // SAFETY: as above; it is mapped for writing.
                    unsafe { std::ptr::copy_nonoverlapping(new.as_ptr(), pointer.cast(), size) };
                    written = Some(new);
                }
            }
            self.svm[at].maps.push(SvmMapping { number, address: address + offset, region, flags, written });
        }
        Ok(())
    }

    fn svm_unmap(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let ((q, context), waits) = self.target(u, &mut violated)?;
        let mut all = self.svm_of(context);
        all.retain(|at| !self.svm[*at].maps.is_empty());
        // What a pointer that has not been mapped does is not said.
        let mut found = None;
        if !all.is_empty() && u.ratio(15, 16)? {
            let at = *u.choose(&all)?;
            found = Some((at, u.int_in_range(0..=self.svm[at].maps.len() - 1)?));
        }
        violated.rule(found.is_some(), CL_INVALID_VALUE);
        let waited = self.waited(&waits);
        if waited.iter().any(|command| self.timeline.end(*command) != Some(CL_COMPLETE)) {
            return Ok(());
        }
        let mut effect = Effect::default();
        let mut pointer: Handle = null_mut();
        if let Some((at, map)) = found {
            let SvmMapping { number, address, region, flags, written } = self.svm[at].maps[map].clone();
            pointer = with_exposed_provenance_mut(address);
            let step = Some(Step::Unmap { mapping: number, written });
            let (reads, changed) = if writes(flags) { (vec![], vec![region]) } else { (vec![region], vec![]) };
            effect = Effect { reads, writes: changed, step, ..Effect::default() };
        }
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let status = clEnqueueSVMUnmap(q, pointer, waits.count, waits.list(), out);
        let call = format!("svm unmap ({pointer:?})");
        if self.enqueued(call, (&violated, status), (&waits, event), (q, context), (Place::Usual, effect))
            && let Some((at, map)) = found
        {
            self.svm[at].maps.remove(map);
        }
        Ok(())
    }

    fn svm_migrate(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let ((q, context), waits) = self.target(u, &mut violated)?;
        let all = self.svm_of(context);
        if all.is_empty() || context.is_none() {
            return Ok(());
        }
        let allocation = &self.svm[*u.choose(&all)?];
        let offset = u.int_in_range(0..=allocation.size - 1)?;
        let size = u.int_in_range(0..=allocation.size)?;
        violated.rule(size == 0 || offset + size <= allocation.size, CL_INVALID_VALUE);
        let pointers: [Handle; 1] = [with_exposed_provenance_mut(allocation.address + offset)];
        let (count, flags) = (cl_uint::from(u.ratio(15, 16)?), u.int_in_range(0..=4)? & !2);
        violated.rule(count != 0 && flags < 4, CL_INVALID_VALUE);
        let sizes = if size == 0 && u.arbitrary()? { null() } else { &raw const size };
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let list = pointers.as_ptr();
        let status = clEnqueueSVMMigrateMem(q, count, list, sizes, flags, waits.count, waits.list(), out);
        let call = format!("svm migrate ({count}, {pointers:?}, {size}, {flags})");
        self.enqueued(call, (&violated, status), (&waits, event), (q, context), (Place::Usual, Effect::default()));
        Ok(())
    }
}
