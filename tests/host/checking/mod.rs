//! Checked kernels (`CLIFT_CHECK`): every bug of a list of kernels is reported, with its line and work-item, and nothing is
//! reported for the correct versions of the same kernels.

mod cases;

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Mutex;

use opencl3::memory::{Buffer, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE, ClMem as _};
use opencl3::types::{CL_BLOCKING, cl_int, cl_mem};
use serde_json::Value;

use clift_tests::session::session;

use crate::child;
use cases::{ANY, Arg, Case};

/// The bytes around a sub-buffer.
const AROUND: usize = 4096;

/// A memory object that an argument needs, and its parent.
type Memory = (Buffer<cl_int>, Option<Buffer<cl_int>>);

fn buffer(count: usize) -> Buffer<cl_int> {
    let mut content: Vec<cl_int> = (0..count as cl_int).collect();
    let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    // SAFETY: the content is copied before the call returns.
    unsafe { Buffer::create(&session().context, flags, count, content.as_mut_ptr().cast()) }.expect("a buffer")
}

/// Builds and launches a version of a kernel.
fn launch(case: &Case, version: &str) {
    let session = session();
    let name = format!("{version}_{}", case.name);
    let define = if version == "bug" { " -DBUG" } else { "" };
    let (_program, kernel) = session.kernel(case.source, &format!("-cl-std=CL3.0 -DKERNEL={name}{define}"), &name);
    let queue = session.queue();
    let mut memory: Vec<Memory> = Vec::new();
    for (index, arg) in case.args.iter().enumerate() {
        let index = index as u32;
        let null: cl_mem = std::ptr::null_mut();
        let set = |object: cl_mem| {
            // SAFETY: the handle of a buffer that lives until the launch has ended, or NULL.
            unsafe {
                cl3::kernel::set_kernel_arg(kernel.get(), index, size_of::<cl_mem>(), (&raw const object).cast())
            }
            .expect("an argument");
        };
        match *arg {
            Arg::Ints(count) => {
                memory.push((buffer(count), None));
                set(memory[memory.len() - 1].0.get());
            }
            Arg::SubBuffer(count) => {
                let parent = buffer(count + 2 * AROUND / 4);
                // SAFETY: the region is inside of the parent.
                let part = unsafe { parent.create_sub_buffer(CL_MEM_READ_WRITE, AROUND / 4, count) };
                memory.push((part.expect("a sub-buffer"), Some(parent)));
                set(memory[memory.len() - 1].0.get());
            }
            Arg::IntsOrNull(count) if version == "ok" => {
                memory.push((buffer(count), None));
                set(memory[memory.len() - 1].0.get());
            }
            Arg::IntsOrNull(_) => set(null),
            // SAFETY: local memory has a size only.
            Arg::Local(bytes) => unsafe { kernel.set_arg_local_buffer(index, bytes) }.expect("an argument"),
            // SAFETY: the kernel's argument is an `int`.
            Arg::Int(value) => unsafe { kernel.set_arg(index, &value) }.expect("an argument"),
            Arg::IntOrLess(value) => {
                let value = if version == "ok" { value } else { value - 1 };
                // SAFETY: the kernel's argument is an `int`.
                unsafe { kernel.set_arg(index, &value) }.expect("an argument");
            }
            // SAFETY: the kernel's argument is a structure of four `int`s.
            Arg::FourInts => unsafe { kernel.set_arg(index, &[1_i32, 2, 3, 4]) }.expect("an argument"),
        }
    }
    let dims = if case.global[1] == 1 { 1 } else { 2 };
    // SAFETY: all arguments are set. The bad accesses of the kernel are not performed.
    let event = unsafe {
        cl3::command_queue::enqueue_nd_range_kernel(
            queue.get(),
            kernel.get(),
            dims,
            std::ptr::null(),
            case.global.as_ptr(),
            case.local.as_ptr(),
            0,
            std::ptr::null(),
        )
    };
    opencl3::event::Event::new(event.expect("a launch")).wait().expect("a checked launch succeeds");
    queue.finish().expect("finish");
}

/// The reports of all cases in a child process with more environment, by kernel.
fn reports(test: &str, env: &[(&str, &str)]) -> Option<BTreeMap<String, Vec<Value>>> {
    if child::is_for(test) {
        for case in cases::all() {
            launch(case, "ok");
            launch(case, "bug");
        }
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("reports.json");
    let path = file.to_str().expect("a path");
    let mut env = env.to_vec();
    env.extend([("CLIFT_CHECK", "memory,uninit,race,barrier"), ("CLIFT_CHECK_OUTPUT", path), ("CLIFT_THREADS", "1")]);
    let output = child::run(test, &env);
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}\n{printed}", String::from_utf8_lossy(&output.stdout));
    let mut by_kernel: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in std::fs::read_to_string(&file).expect("reports").lines() {
        let report: Value = serde_json::from_str(line).expect("JSON");
        let text = report["text"].as_str().expect("a text");
        assert!(printed.contains(text), "not on stderr: {text}");
        by_kernel.entry(report["kernel"].as_str().expect("a kernel").to_owned()).or_default().push(report);
    }
    Some(by_kernel)
}

fn check(test: &str, env: &[(&str, &str)]) {
    if !clift_tests::driver::select().is_clift {
        return;
    }
    let Some(mut reports) = reports(test, env) else { return };
    let mut wrong = Vec::new();
    for case in cases::all() {
        // A bug may have consequences of other classes.
        let mut found = reports.remove(&format!("bug_{}", case.name)).unwrap_or_default();
        found.retain(|report| report["class"] == case.class);
        let line = 1 + case.source.lines().position(|line| line.contains("// BUG")).expect("a marked line");
        let is_right = |report: &Value| {
            (report["line"] == line || report["other_line"] == line)
                && (case.item[0] == ANY || report["global_id"] == serde_json::json!([case.item[0], case.item[1], 0]))
                && report["text"].as_str().is_some_and(|text| text.contains(case.text))
        };
        if found.len() != 1 || !is_right(&found[0]) {
            let found: Vec<&str> = found.iter().filter_map(|report| report["text"].as_str()).collect();
            wrong.push(format!("{} (line {line}, item {:?}, {}): {found:#?}", case.name, case.item, case.text));
        }
    }
    assert!(wrong.is_empty() && reports.is_empty(), "{}\nreported without a bug: {reports:?}", wrong.join("\n"));
}

#[test]
fn found_in_packs() {
    check("checking::found_in_packs", &[]);
}

#[test]
fn found_with_one_lane() {
    check("checking::found_with_one_lane", &[("CLIFT_WIDTH", "1")]);
}

#[test]
fn found_by_cranelift() {
    check("checking::found_by_cranelift", &[("CLIFT_BACKEND", "cranelift")]);
}

#[test]
fn found_by_cranelift_with_one_lane() {
    check("checking::found_by_cranelift_with_one_lane", &[("CLIFT_BACKEND", "cranelift"), ("CLIFT_WIDTH", "1")]);
}

#[test]
fn found_by_the_interpreter() {
    check("checking::found_by_the_interpreter", &[("CLIFT_BACKEND", "interp")]);
}

/// What the context's callback got.
static NOTIFIED: Mutex<Vec<String>> = Mutex::new(Vec::new());

unsafe extern "C" fn notify(text: *const c_char, _: *const c_void, _: usize, _: *mut c_void) {
    // SAFETY: the driver passes a C string.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    NOTIFIED.lock().expect("the texts").push(text);
}

/// A bad load gives 0, a bad store changes nothing, each is reported once, and the context's callback gets the reports.
#[test]
fn bad_accesses_are_not_performed() {
    const TEST: &str = "checking::bad_accesses_are_not_performed";
    if !clift_tests::driver::select().is_clift {
        return;
    }
    if !child::is_for(TEST) {
        let output = child::run(TEST, &[("CLIFT_CHECK", "memory")]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let session = session();
    let devices = [session.device_id()];
    let context = opencl3::context::Context::from_devices(&devices, &[], Some(notify), std::ptr::null_mut());
    let context = context.expect("a context");
    let source = "kernel void t(global int *a, global int *b, int far) { int i = get_global_id(0); b[i + far] = a[i + far] + 7; }";
    let program = opencl3::program::Program::create_and_build_from_source(&context, source, "").expect("a program");
    let kernel = opencl3::kernel::Kernel::create(&program, "t").expect("the kernel");
    // SAFETY: the device belongs to the context.
    let queue =
        unsafe { opencl3::command_queue::CommandQueue::create_with_properties(&context, session.device_id(), 0, 0) }
            .expect("a queue");
    let mut content: Vec<cl_int> = (0..2048).collect();
    let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    let pointer: *mut c_void = content.as_mut_ptr().cast();
    // SAFETY: the content is copied before the calls return; the sub-buffers are inside of it.
    let (whole, a, b) = unsafe {
        let whole = Buffer::<cl_int>::create(&context, flags, content.len(), pointer).expect("a buffer");
        let a = whole.create_sub_buffer(CL_MEM_READ_WRITE, 0, 64).expect("a sub-buffer");
        let b = whole.create_sub_buffer(CL_MEM_READ_WRITE, 1024, 64).expect("a sub-buffer");
        (whole, a, b)
    };
    for far in [60, 60, 0] {
        // SAFETY: the arguments have the kernel's types; bad accesses are not performed.
        unsafe {
            opencl3::kernel::ExecuteKernel::new(&kernel)
                .set_arg(&a)
                .set_arg(&b)
                .set_arg(&far)
                .set_global_work_size(64)
                // The work-group that comes first is reported: one work-group has an order.
                .set_local_work_size(64)
                .enqueue_nd_range(&queue)
        }
        .expect("a launch");
        queue.finish().expect("finish");
        let mut after = vec![0; content.len()];
        // SAFETY: the memory has the buffer's size.
        unsafe { queue.enqueue_read_buffer(&whole, CL_BLOCKING, 0, &mut after, &[]) }.expect("a read");
        for i in 0..64 {
            if i + far < 64 {
                content[(1024 + i + far) as usize] = i + far + 7;
            }
        }
        assert_eq!(after, content);
    }
    let texts = NOTIFIED.lock().expect("the texts");
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("load of 4 bytes")), "{texts:?}");
    assert!(texts.iter().all(|text| text.contains("offset 256 in argument")), "{texts:?}");
}
