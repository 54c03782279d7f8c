//! Semaphores: making, asking, and the two commands.

use std::ffi::c_void;
use std::os::fd::IntoRawFd;
use std::ptr::{null, null_mut};

use super::cl::*;

const TYPE: cl_bitfield = CL_SEMAPHORE_TYPE_KHR as cl_bitfield;
const DEVICES: cl_bitfield = CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR as cl_bitfield;
const BINARY: cl_bitfield = CL_SEMAPHORE_TYPE_BINARY_KHR as cl_bitfield;
const EXPORTS: cl_bitfield = CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR;
const OPAQUE_FD: cl_bitfield = CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR as cl_bitfield;
const SYNC_FD: cl_bitfield = CL_SEMAPHORE_HANDLE_SYNC_FD_KHR as cl_bitfield;
/// The number -1.
const NO_FILE: cl_bitfield = cl_bitfield::MAX;

fn semaphore(setup: &Setup) -> *mut c_void {
    made(|e| clCreateSemaphoreWithPropertiesKHR(setup.context, [TYPE, BINARY, 0].as_ptr(), e))
}

fn payload(s: *mut c_void) -> cl_ulong {
    info(|size, v, r| clGetSemaphoreInfoKHR(s, CL_SEMAPHORE_PAYLOAD_KHR, size, v, r))
}

fn signal(q: cl_command_queue, s: *mut c_void, event: *mut cl_event) -> cl_int {
    clEnqueueSignalSemaphoresKHR(q, 1, &s, null(), 0, NONE, event)
}

fn wait(q: cl_command_queue, s: *mut c_void, event: *mut cl_event) -> cl_int {
    clEnqueueWaitSemaphoresKHR(q, 1, &s, null(), 0, NONE, event)
}

fn status(event: cl_event) -> cl_int {
    info(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, s, v, r))
}

#[test]
fn create_and_ask() {
    let setup = Setup::new();
    let of = device().expose_provenance() as cl_bitfield;
    for list in [&[TYPE, BINARY, 0][..], &[TYPE, BINARY, DEVICES, of, 0, 0], &[DEVICES, of, 0, TYPE, BINARY, 0]] {
        let s = made(|e| clCreateSemaphoreWithPropertiesKHR(setup.context, list.as_ptr(), e));
        let bytes = info_bytes(&|size, v, r| clGetSemaphoreInfoKHR(s, CL_SEMAPHORE_PROPERTIES_KHR, size, v, r));
        let expected: Vec<u8> = list.iter().flat_map(|value| value.to_ne_bytes()).collect();
        assert_eq!(bytes, expected);
        let ask = |name| move |size, v, r| clGetSemaphoreInfoKHR(s, name, size, v, r);
        assert_eq!(info::<cl_context>(ask(CL_SEMAPHORE_CONTEXT_KHR)), setup.context);
        assert_eq!(info::<cl_uint>(ask(CL_SEMAPHORE_TYPE_KHR)), CL_SEMAPHORE_TYPE_BINARY_KHR);
        assert_eq!(info::<cl_device_id>(ask(CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR)), device());
        assert_eq!(clRetainSemaphoreKHR(s), CL_SUCCESS);
        assert_eq!(info::<cl_uint>(ask(CL_SEMAPHORE_REFERENCE_COUNT_KHR)), 2);
        assert_eq!(info::<cl_bool>(ask(CL_SEMAPHORE_EXPORTABLE_KHR)), CL_FALSE);
        assert_eq!(ask(CL_SEMAPHORE_EXPORTABLE_KHR + 0x100)(0, null_mut(), null_mut()), CL_INVALID_VALUE);
        for _ in 0..2 {
            assert_eq!(clReleaseSemaphoreKHR(s), CL_SUCCESS);
        }
        assert_eq!(clReleaseSemaphoreKHR(s), CL_INVALID_SEMAPHORE_KHR);
    }
    for (list, error) in [
        (&[0][..], CL_INVALID_VALUE),
        (&[DEVICES, of, 0, 0], CL_INVALID_VALUE),
        (&[TYPE, 2, 0], CL_INVALID_PROPERTY),
        (&[1, 2, 0], CL_INVALID_PROPERTY),
        (&[TYPE, BINARY, TYPE, 0], CL_INVALID_PROPERTY),
        (&[TYPE, BINARY, DEVICES, 0, 0], CL_INVALID_DEVICE),
        (&[TYPE, BINARY, DEVICES, of, of, 0, 0], CL_INVALID_DEVICE),
        (&[TYPE, BINARY, DEVICES, 4096, 0, 0], CL_INVALID_DEVICE),
        (&[TYPE, BINARY, EXPORTS, SYNC_FD, 0, 0], CL_INVALID_PROPERTY),
        (&[TYPE, BINARY, EXPORTS, OPAQUE_FD, OPAQUE_FD, 0, 0], CL_INVALID_VALUE),
        (&[TYPE, BINARY, EXPORTS, OPAQUE_FD, 0, EXPORTS, OPAQUE_FD, 0, 0], CL_INVALID_PROPERTY),
        (&[TYPE, BINARY, EXPORTS, OPAQUE_FD, 0, SYNC_FD, NO_FILE, 0], CL_INVALID_OPERATION),
        (&[TYPE, BINARY, OPAQUE_FD, NO_FILE, 0], CL_INVALID_PROPERTY),
        (&[TYPE, BINARY, OPAQUE_FD, 0, 0], CL_INVALID_PROPERTY),
        (&[TYPE, BINARY, OPAQUE_FD, 1 << 40, 0], CL_INVALID_PROPERTY),
        (&[TYPE, BINARY, SYNC_FD, 1 << 20, 0], CL_INVALID_PROPERTY),
        (&[TYPE, BINARY, SYNC_FD, NO_FILE, SYNC_FD, NO_FILE, 0], CL_INVALID_PROPERTY),
    ] {
        let found = refused(|e| clCreateSemaphoreWithPropertiesKHR(setup.context, list.as_ptr(), e));
        assert_eq!(found, error, "{list:?}");
    }
    assert_eq!(refused(|e| clCreateSemaphoreWithPropertiesKHR(setup.context, null(), e)), CL_INVALID_VALUE);
    let of_device = |s, v, r| clGetDeviceInfo(device(), CL_DEVICE_SEMAPHORE_TYPES_KHR, s, v, r);
    assert_eq!(info::<cl_uint>(of_device), CL_SEMAPHORE_TYPE_BINARY_KHR);
    let of_platform = |s, v, r| clGetPlatformInfo(platform(), CL_PLATFORM_SEMAPHORE_TYPES_KHR, s, v, r);
    assert_eq!(info::<cl_uint>(of_platform), CL_SEMAPHORE_TYPE_BINARY_KHR);
}

#[test]
fn handle_types() {
    let of_device = |name| move |s, v, r| clGetDeviceInfo(device(), name, s, v, r);
    let of_platform = |name| move |s, v, r| clGetPlatformInfo(platform(), name, s, v, r);
    let both: Vec<u8> = [CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, CL_SEMAPHORE_HANDLE_SYNC_FD_KHR]
        .into_iter()
        .flat_map(cl_uint::to_ne_bytes)
        .collect();
    assert_eq!(info_bytes(&of_device(CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR)), both);
    assert_eq!(info_bytes(&of_platform(CL_PLATFORM_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR)), both);
    assert_eq!(info_bytes(&of_device(CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR)), both[..4]);
    assert_eq!(info_bytes(&of_platform(CL_PLATFORM_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR)), both[..4]);
}

/// A semaphore that has been exported, and its import in another context, are one: signals of either end waits of either, in
/// whatever order they are enqueued.
#[test]
fn exported_and_imported() {
    let (here, there) = (Setup::new(), Setup::with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE));
    let list = [TYPE, BINARY, EXPORTS, OPAQUE_FD, 0, 0];
    let ours = made(|e| clCreateSemaphoreWithPropertiesKHR(here.context, list.as_ptr(), e));
    let ask = |name| move |size, v, r| clGetSemaphoreInfoKHR(ours, name, size, v, r);
    assert_eq!(info::<cl_bool>(ask(CL_SEMAPHORE_EXPORTABLE_KHR)), CL_TRUE);
    assert_eq!(
        info::<cl_uint>(ask(CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR as cl_uint)),
        CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR
    );
    let export =
        |ty, size, to: *mut cl_int| clGetSemaphoreHandleForTypeKHR(ours, device(), ty, size, to.cast(), null_mut());
    let mut file: cl_int = -1;
    assert_eq!(export(CL_SEMAPHORE_HANDLE_SYNC_FD_KHR, 4, &mut file), CL_INVALID_VALUE);
    assert_eq!(export(CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, 3, &mut file), CL_INVALID_VALUE);
    let mut size = 0;
    let ty = CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR;
    assert_eq!(clGetSemaphoreHandleForTypeKHR(ours, device(), ty, 0, null_mut(), &mut size), CL_SUCCESS);
    assert_eq!(size, 4);
    assert_eq!(export(ty, 4, &mut file), CL_SUCCESS);
    let list = [TYPE, BINARY, OPAQUE_FD, file as cl_bitfield, 0];
    let theirs = made(|e| clCreateSemaphoreWithPropertiesKHR(there.context, list.as_ptr(), e));
    let exportable = |size, v, r| clGetSemaphoreInfoKHR(theirs, CL_SEMAPHORE_EXPORTABLE_KHR, size, v, r);
    assert_eq!(info::<cl_bool>(exportable), CL_FALSE);
    for round in 0..20 {
        let [(from, s), (to, other)] = match round % 2 {
            0 => [(here.queue, ours), (there.queue, theirs)],
            _ => [(there.queue, theirs), (here.queue, ours)],
        };
        let mut waited = null_mut();
        if round % 4 < 2 {
            assert_eq!(wait(to, other, &mut waited), CL_SUCCESS);
            assert_eq!(clFlush(to), CL_SUCCESS);
            assert!(status(waited) > 0);
            assert_eq!(signal(from, s, SKIP), CL_SUCCESS);
        } else {
            let mut signaled = null_mut();
            assert_eq!(signal(from, s, &mut signaled), CL_SUCCESS);
            assert_eq!(ended(signaled), CL_COMPLETE);
            assert_eq!((payload(ours), payload(theirs)), (1, 1));
            assert_eq!(wait(to, other, &mut waited), CL_SUCCESS);
        }
        assert_eq!(ended(waited), CL_COMPLETE);
        assert_eq!((payload(ours), payload(theirs)), (0, 0));
    }
    // The import outlives the semaphore.
    assert_eq!(clReleaseSemaphoreKHR(ours), CL_SUCCESS);
    assert_eq!(signal(there.queue, theirs, SKIP), CL_SUCCESS);
    assert_eq!(wait(there.queue, theirs, SKIP), CL_SUCCESS);
    assert_eq!(clFinish(there.queue), CL_SUCCESS);
    assert_eq!(clReleaseSemaphoreKHR(theirs), CL_SUCCESS);
}

/// Any descriptor that becomes readable may be a fence.
#[test]
fn fences() {
    let setup = Setup::new();
    let fence = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        (reader.into_raw_fd(), writer)
    };
    let (file, writer) = fence();
    let list = [TYPE, BINARY, SYNC_FD, file as cl_bitfield, 0];
    let s = made(|e| clCreateSemaphoreWithPropertiesKHR(setup.context, list.as_ptr(), e));
    assert_eq!(payload(s), 0);
    let mut waited = null_mut();
    assert_eq!(wait(setup.queue, s, &mut waited), CL_SUCCESS);
    assert_eq!(clFlush(setup.queue), CL_SUCCESS);
    assert!(status(waited) > 0);
    drop(writer);
    assert_eq!(ended(waited), CL_COMPLETE);
    assert_eq!(payload(s), 0);
    for _ in 0..3 {
        assert_eq!(clReImportSemaphoreSyncFdKHR(s, null(), -1), CL_SUCCESS);
        assert_eq!(payload(s), 1);
        assert_eq!(wait(setup.queue, s, SKIP), CL_SUCCESS);
        assert_eq!(clFinish(setup.queue), CL_SUCCESS);
        assert_eq!(payload(s), 0);
    }
    let (file, writer) = fence();
    assert_eq!(clReImportSemaphoreSyncFdKHR(s, [0].as_ptr(), file), CL_SUCCESS);
    assert_eq!(payload(s), 0);
    drop(writer);
    assert_eq!(wait(setup.queue, s, SKIP), CL_SUCCESS);
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
    assert_eq!(clReImportSemaphoreSyncFdKHR(s, null(), 1 << 20), CL_INVALID_VALUE);
    assert_eq!(clReImportSemaphoreSyncFdKHR(null_mut(), null(), -1), CL_INVALID_SEMAPHORE_KHR);
    let own = semaphore(&setup);
    assert_eq!(clReImportSemaphoreSyncFdKHR(own, null(), -1), CL_INVALID_SEMAPHORE_KHR);
    for s in [s, own] {
        assert_eq!(clReleaseSemaphoreKHR(s), CL_SUCCESS);
    }
}

#[test]
fn only_some_semaphores_can_be_exported() {
    let setup = Setup::new();
    let s = semaphore(&setup);
    let handle =
        |s, d| clGetSemaphoreHandleForTypeKHR(s, d, CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, 0, null_mut(), null_mut());
    assert_eq!(handle(null_mut(), device()), CL_INVALID_SEMAPHORE_KHR);
    assert_eq!(handle(s, null_mut()), CL_INVALID_DEVICE);
    assert_eq!(handle(s, device()), CL_INVALID_VALUE);
    assert_eq!(clReleaseSemaphoreKHR(s), CL_SUCCESS);
}

#[test]
fn arguments() {
    let (setup, other) = (Setup::new(), Setup::new());
    let s = semaphore(&setup);
    let failed = setup.user_event();
    assert_eq!(clSetUserEventStatus(failed, -7), CL_SUCCESS);
    for call in [clEnqueueSignalSemaphoresKHR, clEnqueueWaitSemaphoresKHR] {
        let q = setup.queue;
        assert_eq!(call(null_mut(), 1, &s, null(), 0, NONE, SKIP), CL_INVALID_COMMAND_QUEUE);
        assert_eq!(call(other.queue, 1, &s, null(), 0, NONE, SKIP), CL_INVALID_CONTEXT);
        assert_eq!(call(q, 0, &s, null(), 0, NONE, SKIP), CL_INVALID_VALUE);
        assert_eq!(call(q, 2, [s, q].as_ptr(), null(), 0, NONE, SKIP), CL_INVALID_SEMAPHORE_KHR);
        assert_eq!(call(q, 1, &s, null(), 1, NONE, SKIP), CL_INVALID_EVENT_WAIT_LIST);
        let foreign = other.user_event();
        assert_eq!(call(q, 1, &s, null(), 1, &foreign, SKIP), CL_INVALID_CONTEXT);
        assert_eq!(call(q, 1, &s, null(), 1, &failed, SKIP), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        assert_eq!(clReleaseEvent(foreign), CL_SUCCESS);
    }
    assert_eq!(clReleaseEvent(failed), CL_SUCCESS);
    assert_eq!(clReleaseSemaphoreKHR(s), CL_SUCCESS);
}

/// A wait ends with the signal, whichever was enqueued first.
#[test]
fn order() {
    let setup = Setup::with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let q = setup.queue;
    let s = semaphore(&setup);
    assert_eq!(payload(s), 0);
    for signal_first in [true, false, true, true, false] {
        let (mut signaled, mut waited) = (null_mut(), null_mut());
        if signal_first {
            let user = setup.user_event();
            assert_eq!(clEnqueueSignalSemaphoresKHR(q, 1, &s, null(), 1, &user, &mut signaled), CL_SUCCESS);
            assert_eq!(wait(q, s, &mut waited), CL_SUCCESS);
            assert!(status(waited) > 0);
            assert_eq!(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            assert_eq!(clReleaseEvent(user), CL_SUCCESS);
        } else {
            assert_eq!(wait(q, s, &mut waited), CL_SUCCESS);
            assert!(status(waited) > 0);
            assert_eq!(signal(q, s, &mut signaled), CL_SUCCESS);
        }
        assert_eq!(ended(waited), CL_COMPLETE);
        assert_eq!(ended(signaled), CL_COMPLETE);
        assert_eq!(payload(s), 0);
    }
    let mut signaled = null_mut();
    assert_eq!(signal(q, s, &mut signaled), CL_SUCCESS);
    assert_eq!(ended(signaled), CL_COMPLETE);
    assert_eq!(payload(s), 1);
    assert_eq!(wait(q, s, SKIP), CL_SUCCESS);
    assert_eq!(clFinish(q), CL_SUCCESS);
    assert_eq!(payload(s), 0);
    assert_eq!(clReleaseSemaphoreKHR(s), CL_SUCCESS);
}

/// A wait ends with its signal even if a callback of the application does not return.
#[test]
fn callbacks_do_not_hold_up_waits() {
    static GATE: std::sync::Barrier = std::sync::Barrier::new(2);
    extern "C" fn block(_: cl_event, _: cl_int, _: *mut c_void) {
        GATE.wait();
        GATE.wait();
    }
    let setup = Setup::with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let s = semaphore(&setup);
    let user = setup.user_event();
    assert_eq!(clSetEventCallback(user, CL_COMPLETE, Some(block), null_mut()), CL_SUCCESS);
    assert_eq!(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    GATE.wait();
    // The callback has begun, and stays until the wait has ended.
    let mut waited = null_mut();
    assert_eq!(wait(setup.queue, s, &mut waited), CL_SUCCESS);
    assert_eq!(signal(setup.queue, s, SKIP), CL_SUCCESS);
    assert_eq!(ended(waited), CL_COMPLETE);
    GATE.wait();
    assert_eq!(clReleaseEvent(user), CL_SUCCESS);
    assert_eq!(clReleaseSemaphoreKHR(s), CL_SUCCESS);
}
