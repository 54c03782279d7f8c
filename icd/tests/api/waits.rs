//! Rules that are the same for every command: about the queue, the context, the wait list and the event.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::cl::*;

extern "C" fn nothing(_: *mut c_void) {}

/// What fills write.
static PATTERN: [u8; 1] = [3];

/// The address some bytes further on.
fn at(host: *mut c_void, offset: usize) -> *mut c_void {
    host.wrapping_byte_add(offset)
}

/// A command by name and type, with all arguments but its queue, wait list and event.
type Command<'a> =
    (&'a str, cl_uint, Box<dyn Fn(cl_command_queue, cl_uint, *const cl_event, *mut cl_event) -> cl_int + 'a>);

/// Every kind of command that needs no kernel, on buffers `a` and `b` of 64 bytes. `host` has 64 bytes too.
fn commands<'a>(a: cl_mem, b: cl_mem, host: *mut c_void, blocking: cl_bool) -> Vec<Command<'a>> {
    static ZERO: [usize; 3] = [0; 3];
    static REGION: [usize; 3] = [4, 2, 1];
    let (o, g) = (ZERO.as_ptr(), REGION.as_ptr());
    vec![
        (
            "read",
            CL_COMMAND_READ_BUFFER,
            Box::new(move |q, n, l, e| clEnqueueReadBuffer(q, a, blocking, 0, 64, host, n, l, e)),
        ),
        (
            "write",
            CL_COMMAND_WRITE_BUFFER,
            Box::new(move |q, n, l, e| clEnqueueWriteBuffer(q, a, blocking, 0, 64, host, n, l, e)),
        ),
        (
            "read rect",
            CL_COMMAND_READ_BUFFER_RECT,
            Box::new(move |q, n, l, e| clEnqueueReadBufferRect(q, a, blocking, o, o, g, 0, 0, 0, 0, host, n, l, e)),
        ),
        (
            "write rect",
            CL_COMMAND_WRITE_BUFFER_RECT,
            Box::new(move |q, n, l, e| clEnqueueWriteBufferRect(q, a, blocking, o, o, g, 0, 0, 0, 0, host, n, l, e)),
        ),
        (
            "map",
            CL_COMMAND_MAP_BUFFER,
            Box::new(move |q, n, l, e| {
                let mut error = 1;
                let ptr = clEnqueueMapBuffer(q, a, blocking, CL_MAP_READ, 0, 64, n, l, e, &mut error);
                assert_eq!(ptr.is_null(), error != CL_SUCCESS);
                error
            }),
        ),
        (
            "svm copy",
            CL_COMMAND_SVM_MEMCPY,
            Box::new(move |q, n, l, e| clEnqueueSVMMemcpy(q, blocking, at(host, 32), host, 32, n, l, e)),
        ),
        (
            "svm map",
            CL_COMMAND_SVM_MAP,
            Box::new(move |q, n, l, e| clEnqueueSVMMap(q, blocking, CL_MAP_READ, host, 64, n, l, e)),
        ),
        (
            "usm copy",
            CL_COMMAND_MEMCPY_INTEL,
            Box::new(move |q, n, l, e| clEnqueueMemcpyINTEL(q, blocking, at(host, 32), host, 32, n, l, e)),
        ),
        ("copy", CL_COMMAND_COPY_BUFFER, Box::new(move |q, n, l, e| clEnqueueCopyBuffer(q, a, b, 0, 0, 64, n, l, e))),
        (
            "copy rect",
            CL_COMMAND_COPY_BUFFER_RECT,
            Box::new(move |q, n, l, e| clEnqueueCopyBufferRect(q, a, b, o, o, g, 0, 0, 0, 0, n, l, e)),
        ),
        (
            "fill",
            CL_COMMAND_FILL_BUFFER,
            Box::new(move |q, n, l, e| clEnqueueFillBuffer(q, a, host, 4, 0, 64, n, l, e)),
        ),
        (
            "migrate",
            CL_COMMAND_MIGRATE_MEM_OBJECTS,
            Box::new(move |q, n, l, e| clEnqueueMigrateMemObjects(q, 1, &a, 0, n, l, e)),
        ),
        (
            "svm fill",
            CL_COMMAND_SVM_MEMFILL,
            Box::new(move |q, n, l, e| clEnqueueSVMMemFill(q, host, PATTERN.as_ptr().cast(), 1, 64, n, l, e)),
        ),
        ("svm unmap", CL_COMMAND_SVM_UNMAP, Box::new(move |q, n, l, e| clEnqueueSVMUnmap(q, host, n, l, e))),
        (
            "svm free",
            CL_COMMAND_SVM_FREE,
            Box::new(move |q, n, l, e| clEnqueueSVMFree(q, 0, null(), None, null_mut(), n, l, e)),
        ),
        (
            "usm set",
            CL_COMMAND_MEMFILL_INTEL,
            Box::new(move |q, n, l, e| clEnqueueMemsetINTEL(q, host, 3, 64, n, l, e)),
        ),
        (
            "usm fill",
            CL_COMMAND_MEMFILL_INTEL,
            Box::new(move |q, n, l, e| clEnqueueMemFillINTEL(q, host, PATTERN.as_ptr().cast(), 1, 64, n, l, e)),
        ),
        (
            "usm migrate",
            CL_COMMAND_MIGRATEMEM_INTEL,
            Box::new(move |q, n, l, e| clEnqueueMigrateMemINTEL(q, host, 64, 0, n, l, e)),
        ),
        (
            "usm advise",
            CL_COMMAND_MEMADVISE_INTEL,
            Box::new(move |q, n, l, e| clEnqueueMemAdviseINTEL(q, host, 64, 0, n, l, e)),
        ),
        ("marker", CL_COMMAND_MARKER, Box::new(clEnqueueMarkerWithWaitList)),
        ("barrier", CL_COMMAND_BARRIER, Box::new(clEnqueueBarrierWithWaitList)),
        (
            "native",
            CL_COMMAND_NATIVE_KERNEL,
            Box::new(move |q, n, l, e| clEnqueueNativeKernel(q, Some(nothing), null(), 0, 0, null(), null(), n, l, e)),
        ),
    ]
}

/// Number of the commands above that can block; they come first.
const BLOCKING: usize = 8;
/// Whether the command is on memory objects, which have a context.
fn on_objects(kind: cl_uint) -> bool {
    !matches!(
        kind,
        CL_COMMAND_MARKER
            | CL_COMMAND_BARRIER
            | CL_COMMAND_NATIVE_KERNEL
            | CL_COMMAND_SVM_MEMCPY
            | CL_COMMAND_SVM_MEMFILL
            | CL_COMMAND_SVM_MAP
            | CL_COMMAND_SVM_UNMAP
            | CL_COMMAND_SVM_FREE
            | CL_COMMAND_MEMCPY_INTEL
            | CL_COMMAND_MEMFILL_INTEL
            | CL_COMMAND_MIGRATEMEM_INTEL
            | CL_COMMAND_MEMADVISE_INTEL
    )
}

#[test]
fn arguments() {
    let (setup, other) = (Setup::new(), Setup::new());
    let (a, b) = (setup.buffer(0, 64), setup.buffer(0, 64));
    let mut host = [0u8; 64];
    let foreign = other.user_event();
    let mine = setup.user_event();
    assert_eq!(clSetUserEventStatus(mine, CL_COMPLETE), CL_SUCCESS);
    let all = commands(a, b, host.as_mut_ptr().cast(), CL_TRUE);
    for (name, ty, command) in &all {
        let q = setup.queue;
        for bad in [null_mut(), setup.context, a, 0x1234_5678usize as *mut c_void] {
            assert_eq!(command(bad, 0, NONE, SKIP), CL_INVALID_COMMAND_QUEUE, "{name}");
        }
        if on_objects(*ty) {
            assert_eq!(command(other.queue, 0, NONE, SKIP), CL_INVALID_CONTEXT, "{name}");
        }
        assert_eq!(command(q, 1, NONE, SKIP), CL_INVALID_EVENT_WAIT_LIST, "{name}");
        assert_eq!(command(q, 0, &mine, SKIP), CL_INVALID_EVENT_WAIT_LIST, "{name}");
        for bad in [null_mut(), setup.queue, 0x1234_5678usize as *mut c_void] {
            assert_eq!(command(q, 2, [mine, bad].as_ptr(), SKIP), CL_INVALID_EVENT_WAIT_LIST, "{name}");
        }
        assert_eq!(command(q, 2, [mine, foreign].as_ptr(), SKIP), CL_INVALID_CONTEXT, "{name}");

        let mut event = null_mut();
        assert_eq!(command(q, 2, [mine, mine].as_ptr(), &mut event), CL_SUCCESS, "{name}");
        assert_eq!(info::<cl_uint>(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, s, v, r)), *ty, "{name}");
        let queue = info::<cl_command_queue>(|s, v, r| clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, s, v, r));
        assert_eq!(queue, q, "{name}");
        let context = info::<cl_context>(|s, v, r| clGetEventInfo(event, CL_EVENT_CONTEXT, s, v, r));
        assert_eq!(context, setup.context, "{name}");
        assert_eq!(ended(event), CL_COMPLETE, "{name}");
    }
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
    for event in [mine, foreign] {
        assert_eq!(clReleaseEvent(event), CL_SUCCESS);
    }
    for m in [a, b] {
        assert_eq!(clReleaseMemObject(m), CL_SUCCESS);
    }
}

/// A failed event in the wait list: commands fail with -14, calls that block return it.
#[test]
fn failed_wait_lists() {
    let setup = Setup::with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let (a, b) = (setup.bytes(&[1; 64]), setup.bytes(&[2; 64]));
    let mut host = [3u8; 64];
    let user = setup.user_event();
    let failed = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    let ptr = host.as_mut_ptr().cast();
    let mut events = Vec::new();
    for (name, _, command) in &commands(a, b, ptr, CL_FALSE) {
        let mut event = null_mut();
        assert_eq!(command(setup.queue, 1, &user, &mut event), CL_SUCCESS, "{name}");
        events.push(event);
    }
    assert_eq!(clSetUserEventStatus(user, -42), CL_SUCCESS);
    for event in events {
        assert_eq!(ended(event), failed);
    }
    for (name, _, command) in commands(a, b, ptr, CL_TRUE).iter().take(BLOCKING) {
        let mut event = null_mut();
        assert_eq!(command(setup.queue, 1, &user, &mut event), failed, "{name}");
        assert!(event.is_null(), "{name}");
    }
    assert_eq!(clFinish(setup.queue), CL_SUCCESS);
    assert_eq!((setup.contents(a), setup.contents(b), host), (vec![1; 64], vec![2; 64], [3; 64]), "nothing happened");
    assert_eq!(clReleaseEvent(user), CL_SUCCESS);
    for m in [a, b] {
        assert_eq!(clReleaseMemObject(m), CL_SUCCESS);
    }
}
