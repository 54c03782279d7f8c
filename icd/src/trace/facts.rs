//! What a trace says of the device, so that a report made elsewhere knows where the process ran.

use std::sync::atomic::{AtomicU32, Ordering};

use clift_runtime::{pool, trace};

use crate::caps::{self, configuration, limits};

/// Adds what there is to know about the device to the trace, once per process. Called when there is a context.
pub(crate) fn describe_device() {
    static DESCRIBED: AtomicU32 = AtomicU32::new(0);
    let process = std::process::id();
    if !trace::is_enabled() || DESCRIBED.swap(process, Ordering::Relaxed) == process {
        return;
    }
    let facts = [
        ("device", limits().host.model.clone()),
        ("driver", caps::DRIVER_VERSION.to_owned()),
        ("threads", pool::worker_count().to_string()),
        ("backend", configuration::backend()),
    ];
    for (fact, text) in facts {
        tracing::trace!(target: trace::TARGET, fact, text);
    }
}
