//! Calls at the end of the process: destructors of static objects call the driver when the thread's own values are destroyed.

use crate::{child, device_enqueue};

/// The status of a child process whose calls at exit succeed.
const PASSED: i32 = 7;

/// A kernel whose work-items enqueue one each.
const SOURCE: &str = "kernel void k(global int *out) {
    int i = get_global_id(0);
    enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_WORK_GROUP, ndrange_1D(1), ^{ out[i] = i + 1; });
}";

fn launches() -> bool {
    device_enqueue::results(SOURCE, 64, 64).into_iter().eq(1..=64)
}

extern "C" fn late() {
    let passed = std::panic::catch_unwind(launches).is_ok_and(|passed| passed);
    // SAFETY: ends the process.
    unsafe { libc::_exit(if passed { PASSED } else { 1 }) };
}

#[test]
fn destructors_may_call_the_driver() {
    let name = "exit::destructors_may_call_the_driver";
    if child::is_for(name) {
        assert!(launches());
        // SAFETY: the handler is a plain function.
        assert_eq!(unsafe { libc::atexit(late) }, 0);
        // Destroys the values of this thread, then calls the handler.
        std::process::exit(1);
    }
    for env in [("CLIFT_THREADS", "1"), ("CLIFT_DEBUG", "api"), ("CLIFT_CHECK", "memory")] {
        let output = child::run(name, &[env]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(PASSED), "{env:?}: {errors}");
        let traced = errors.matches("\nTRACE clift::api: clEnqueueNDRangeKernel: ").count();
        assert_eq!(traced, if env.0 == "CLIFT_DEBUG" { 2 } else { 0 }, "{errors}");
    }
}
