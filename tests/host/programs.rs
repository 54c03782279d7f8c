//! Programs from OpenCL C: build logs, options, compile and link, libraries, binaries, kernel queries.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

use cl3::program::{
    CL_PROGRAM_BINARY_TYPE, CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
    CL_PROGRAM_BINARY_TYPE_LIBRARY, CL_PROGRAM_BUILD_STATUS,
};
use opencl3::error_codes::{
    CL_BUILD_PROGRAM_FAILURE, CL_COMPILE_PROGRAM_FAILURE, CL_INVALID_BUILD_OPTIONS, CL_INVALID_KERNEL_NAME,
    CL_INVALID_PROGRAM_EXECUTABLE, CL_LINK_PROGRAM_FAILURE,
};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_context, cl_device_id, cl_int, cl_program, cl_uint};

use clift_tests::raw::entry;
use clift_tests::session::{Session, session};

/// The value that kernel `t(global int *out, int x)` stores for `x`.
fn answer(session: &Session, program: cl_program, x: cl_int) -> cl_int {
    let kernel = Kernel::new(cl3::kernel::create_kernel(program, c"t").expect("the kernel"));
    let queue = session.queue();
    let mut out = [0];
    // SAFETY: the arguments are those the kernel declares.
    unsafe {
        let buffer =
            Buffer::<cl_int>::create(&session.context, CL_MEM_READ_WRITE, 1, std::ptr::null_mut()).expect("a buffer");
        ExecuteKernel::new(&kernel)
            .set_arg(&buffer)
            .set_arg(&x)
            .set_global_work_size(1)
            .enqueue_nd_range(&queue)
            .expect("a launch");
        queue.enqueue_read_buffer(&buffer, CL_BLOCKING, 0, &mut out, &[]).expect("a read");
    }
    out[0]
}

fn source(session: &Session, text: &str) -> Program {
    Program::create_from_source(&session.context, text).expect("a program")
}

fn link(session: &Session, options: &CStr, inputs: &[cl_program]) -> Result<cl_program, cl_int> {
    // SAFETY: valid programs of the context; no callback.
    unsafe {
        cl3::program::link_program(
            session.context.get(),
            session.context.devices(),
            options,
            inputs,
            None,
            std::ptr::null_mut(),
        )
    }
}

fn build_info(session: &Session, program: cl_program, query: u32) -> cl_int {
    let bytes = cl3::program::get_program_build_data(program, session.device_id(), query).expect("build information");
    cl_int::from_le_bytes(*bytes.first_chunk().expect("four bytes"))
}

fn log(session: &Session, program: &Program) -> String {
    program.get_build_log(session.device_id()).expect("a build log")
}

#[test]
fn options_and_macros() {
    let session = session();
    let text = "#if __OPENCL_C_VERSION__ >= 200\n#define V 2\n#else\n#define V 1\n#endif\n
        kernel void t(global int *out, int x) { *out = x * FACTOR + V * 1000 + sizeof(TYPE) * 100000; }";
    // Without a version, the highest 1.x is used.
    let program = session.build(text, "-D FACTOR=7 -DTYPE=short8").expect("a build");
    assert!(answer(session, program.get(), 3) == 1_601_021 || !session.driver.is_clift);
    let program =
        session.build(text, "-cl-std=CL3.0 -DFACTOR=\"(1 + 1)\" -D TYPE=int -cl-mad-enable -w").expect("a build");
    assert_eq!(answer(session, program.get(), 3), 402_006);
    assert_eq!(
        program.get_build_options(session.device_id()).expect("the options"),
        "-cl-std=CL3.0 -DFACTOR=\"(1 + 1)\" -D TYPE=int -cl-mad-enable -w"
    );
}

#[test]
fn failed_build() {
    let session = session();
    let mut program = source(session, "kernel void t(global int *out, int x) {\n    *out = x + missing;\n}\n");
    let error = program.build(session.context.devices(), "").expect_err("an undeclared name");
    assert_eq!(error.0, CL_BUILD_PROGRAM_FAILURE);
    assert_eq!(build_info(session, program.get(), CL_PROGRAM_BUILD_STATUS), -2);
    let log = log(session, &program);
    assert!(log.contains("missing") && log.contains('2'), "the log names neither the name nor the line: {log}");
    assert_eq!(cl3::kernel::create_kernel(program.get(), c"t").map(drop), Err(CL_INVALID_PROGRAM_EXECUTABLE));
    // A build with valid options succeeds afterwards.
    program.build(session.context.devices(), "-Dmissing=39").expect("a second build");
    assert_eq!(build_info(session, program.get(), CL_PROGRAM_BUILD_STATUS), 0);
    assert_eq!(answer(session, program.get(), 3), 42);
}

#[test]
fn warnings() {
    let session = session();
    let text = "kernel void t(global int *out, int x) {\n#warning look here\n    *out = x; }";
    let program = session.build(text, "").expect("a warning is not an error");
    if session.driver.is_clift {
        assert!(log(session, &program).contains("look here"));
    }
    let mut program = source(session, text);
    let error = program.build(session.context.devices(), "-Werror").expect_err("a warning is an error");
    assert_eq!(error.0, CL_BUILD_PROGRAM_FAILURE);
}

#[test]
fn unknown_option() {
    let session = session();
    let mut program = source(session, "kernel void t(void) {}");
    let error = program.build(session.context.devices(), "-cl-no-such-option").expect_err("an unknown option");
    assert_eq!(error.0, CL_INVALID_BUILD_OPTIONS);
    if session.driver.is_clift {
        assert!(log(session, &program).contains("unknown option '-cl-no-such-option'"));
    }
}

/// `clCompileProgram` with headers.
fn compile_with(program: &Program, options: &CStr, headers: &[cl_program], names: &[&CStr]) {
    type Compile = unsafe extern "C" fn(
        cl_program,
        cl_uint,
        *const cl_device_id,
        *const c_char,
        cl_uint,
        *const cl_program,
        *const *const c_char,
        *const c_void,
        *mut c_void,
    ) -> cl_int;
    let names: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
    // SAFETY: the function's type; the arrays have as many entries as said; no callback.
    let status = unsafe {
        entry::<Compile>(c"clCompileProgram")(
            program.get(),
            0,
            null(),
            options.as_ptr(),
            headers.len() as cl_uint,
            headers.as_ptr(),
            names.as_ptr(),
            null(),
            null_mut(),
        )
    };
    assert_eq!(status, 0, "{}", log(session(), program));
}

#[test]
fn compile_and_link_with_headers_and_library() {
    let session = session();
    let devices = session.context.devices();
    let header = source(session, "int twice(int x);\n#define OFFSET 100\n");
    let nested = source(session, "#include \"base.h\"\nint thrice(int x);\n");
    let main = source(
        session,
        "#include <inc/all.h>\nkernel void t(global int *out, int x) { *out = twice(x) + thrice(x) + OFFSET + EXTRA; }",
    );
    compile_with(&main, c"-DEXTRA=1000", &[header.get(), nested.get()], &[c"base.h", c"inc/all.h"]);
    assert_eq!(
        build_info(session, main.get(), CL_PROGRAM_BINARY_TYPE),
        CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT as cl_int
    );
    let mut first = source(session, "int twice(int x) { return 2 * x; }");
    let mut second = source(session, "int twice(int x);\nint thrice(int x) { return twice(x) + x; }");
    first.compile(devices, "", &[], &[]).expect("compiling a function");
    second.compile(devices, "", &[], &[]).expect("compiling another");
    let library = link(session, c"-create-library", &[first.get(), second.get()]).expect("a library");
    assert_eq!(build_info(session, library, CL_PROGRAM_BINARY_TYPE), CL_PROGRAM_BINARY_TYPE_LIBRARY as cl_int);
    let program = link(session, c"", &[main.get(), library]).expect("an executable");
    assert_eq!(build_info(session, program, CL_PROGRAM_BINARY_TYPE), CL_PROGRAM_BINARY_TYPE_EXECUTABLE as cl_int);
    assert_eq!(answer(session, program, 7), 14 + 21 + 1100);
    for program in [library, program] {
        // SAFETY: the one reference that linking gave.
        unsafe { cl3::program::release_program(program) }.expect("a release");
    }
}

#[test]
fn failed_compile_and_link() {
    let session = session();
    let devices = session.context.devices();
    let mut broken = source(session, "kernel void t(void) { syntax error }");
    assert_eq!(broken.compile(devices, "", &[], &[]).expect_err("no C").0, CL_COMPILE_PROGRAM_FAILURE);
    let mut lonely =
        source(session, "int nowhere(int x);\nkernel void t(global int *out, int x) { *out = nowhere(x); }");
    lonely.compile(devices, "", &[], &[]).expect("compiling needs no definition");
    assert_eq!(link(session, c"", &[lonely.get()]), Err(CL_LINK_PROGRAM_FAILURE));
}

#[test]
fn binaries_round_trip() {
    let session = session();
    let program = session
        .build("constant int table[3] = {5, 6, 7}; kernel void t(global int *out, int x) { *out = table[x] * 11; }", "")
        .expect("a build");
    let binaries = program.get_binaries().expect("binaries");
    assert_eq!(binaries.len(), 1);
    assert!(!binaries[0].is_empty());
    // SAFETY: a binary of this driver and device.
    let mut again =
        unsafe { Program::create_from_binary(&session.context, session.context.devices(), &[&binaries[0]]) }
            .expect("a program from its binary");
    again.build(session.context.devices(), "").expect("a build");
    assert_eq!(answer(session, again.get(), 2), 77);
    assert_eq!(again.get_kernel_names().expect("names"), "t");
}

#[test]
fn damaged_binaries() {
    let session = session();
    if !session.driver.is_clift {
        return;
    }
    let program = session.build("kernel void t(global int *out, int x) { *out = x; }", "").expect("a build");
    let good = program.get_binaries().expect("binaries").remove(0);
    for at in (0..good.len()).step_by(good.len() / 40 + 1) {
        let mut damaged = good.clone();
        damaged[at] ^= 0x55;
        for bytes in [&damaged[..], &good[..at]] {
            // SAFETY: the call has to judge the bytes.
            let created = unsafe { Program::create_from_binary(&session.context, session.context.devices(), &[bytes]) };
            // A damaged binary is rejected at creation or at build, or is still valid; it never terminates the process.
            let _ = created.map(|mut program| program.build(session.context.devices(), ""));
        }
    }
}

#[test]
fn kernel_names_and_queries() {
    let session = session();
    let program = session
        .build(
            "kernel void first(global float4 *a, constant int *restrict b, local uchar *c, const int d) {}
             kernel __attribute__((reqd_work_group_size(4, 2, 1))) void second(global const volatile int *a) {}",
            "-cl-std=CL1.2 -cl-kernel-arg-info",
        )
        .expect("a build");
    let names = program.get_kernel_names().expect("names");
    let mut names: Vec<&str> = names.split(';').collect();
    names.sort_unstable();
    assert_eq!(names, ["first", "second"]);
    assert_eq!(program.get_num_kernels().expect("a number"), 2);
    assert_eq!(cl3::kernel::create_kernel(program.get(), c"third").map(drop), Err(CL_INVALID_KERNEL_NAME));
    let first = Kernel::create(&program, "first").expect("a kernel");
    assert_eq!((first.num_args().expect("a number"), first.function_name().expect("a name").as_str()), (4, "first"));
    let address: Vec<u32> = (0..4).map(|i| first.get_arg_address_qualifier(i).expect("a qualifier")).collect();
    assert_eq!(address, [0x119B, 0x119D, 0x119C, 0x119E]);
    let types: Vec<String> = (0..4).map(|i| first.get_arg_type_name(i).expect("a type")).collect();
    assert_eq!(types, ["float4*", "int*", "uchar*", "int"]);
    assert_eq!(first.get_arg_name(2).expect("a name"), "c");
    // const on a value is not reported; restrict and the constness of __constant memory are.
    let qualifiers: Vec<u64> = (0..4).map(|i| first.get_arg_type_qualifier(i).expect("qualifiers")).collect();
    assert_eq!(qualifiers, [0, 1 | 2, 0, 0]);
    let second = Kernel::create(&program, "second").expect("a kernel");
    assert_eq!(second.get_arg_type_qualifier(0).expect("qualifiers"), 1 | 4);
    assert_eq!(second.get_compile_work_group_size(session.device_id()).expect("a size"), [4, 2, 1]);
    assert!(first.get_work_group_size(session.device_id()).expect("a size") >= 1);
}

#[test]
fn several_kernels_and_sources() {
    let session = session();
    let texts =
        ["int helper(int x) { return x + 1; }\n", "kernel void t(global int *out, int x) { *out = helper(x); }\n"];
    type Create =
        unsafe extern "C" fn(cl_context, cl_uint, *const *const c_char, *const usize, *mut cl_int) -> cl_program;
    let pointers = texts.map(|text| text.as_ptr().cast::<c_char>());
    let mut status = -1;
    // SAFETY: the function's type; as many texts and lengths as said.
    let program = unsafe {
        let lengths = texts.map(str::len);
        entry::<Create>(c"clCreateProgramWithSource")(
            session.context.get(),
            texts.len() as cl_uint,
            pointers.as_ptr(),
            lengths.as_ptr(),
            &raw mut status,
        )
    };
    assert_eq!(status, 0);
    cl3::program::build_program(program, session.context.devices(), c"", None, null_mut()).expect("a build");
    assert_eq!(answer(session, program, 41), 42);
    let stored = cl3::program::get_program_data(program, cl3::program::CL_PROGRAM_SOURCE).expect("the source");
    assert_eq!(stored, [texts.concat().as_bytes(), &[0]].concat());
    // SAFETY: the one reference of this test.
    unsafe { cl3::program::release_program(program) }.expect("a release");
}

#[test]
fn build_callback() {
    use std::sync::mpsc::{Sender, channel};
    extern "C" fn notify(_: cl_program, data: *mut c_void) {
        // SAFETY: the test passes a sender that it never frees: this call uses it beyond the message's arrival.
        let sender = unsafe { &*data.cast::<Sender<()>>() };
        sender.send(()).expect("a receiver");
    }
    let session = session();
    let program = source(session, "kernel void t(global int *out, int x) { *out = -x; }");
    let (sender, receiver) = channel::<()>();
    let data = Box::into_raw(Box::new(sender)).cast();
    cl3::program::build_program(program.get(), session.context.devices(), c"", Some(notify), data)
        .expect("a build begun");
    receiver.recv_timeout(std::time::Duration::from_secs(60)).expect("the callback");
    assert_eq!(build_info(session, program.get(), CL_PROGRAM_BUILD_STATUS), 0);
    assert_eq!(answer(session, program.get(), 5), -5);
}

#[test]
fn a_program_may_be_used_while_it_is_built() {
    extern "C" fn notify(_: cl_program, _: *mut c_void) {}
    let session = session();
    for number in 0..4 {
        let text = format!("kernel void t(global int *out, int x) {{ *out = x + {number}; }}");
        let program = source(session, &text);
        cl3::program::build_program(program.get(), session.context.devices(), c"", Some(notify), null_mut())
            .expect("a build begun");
        assert_eq!(answer(session, program.get(), 5), 5 + number);
        assert_eq!(build_info(session, program.get(), CL_PROGRAM_BUILD_STATUS), 0);
    }
}

#[test]
fn cloned_kernel_keeps_arguments_of_its_own() {
    let session = session();
    let (_program, kernel) = session.kernel("kernel void t(global int *out, int x) { *out = x; }", "", "t");
    let queue = session.queue();
    let mut out = [0; 2];
    // SAFETY: the arguments are those the kernel declares; the clone is released after its use.
    unsafe {
        let buffers = [0, 1].map(|_| {
            Buffer::<cl_int>::create(&session.context, CL_MEM_READ_WRITE, 1, std::ptr::null_mut()).expect("a buffer")
        });
        kernel.set_arg(0, &buffers[0]).expect("an argument");
        kernel.set_arg(1, &10_i32).expect("an argument");
        let clone = match cl3::kernel::clone_kernel(kernel.get()) {
            Ok(clone) => Kernel::new(clone),
            Err(code) => {
                assert!(!session.driver.is_clift, "clCloneKernel: {code}");
                return;
            }
        };
        clone.set_arg(0, &buffers[1]).expect("an argument");
        kernel.set_arg(1, &20_i32).expect("an argument");
        for kernel in [&kernel, &clone] {
            let size = 1_usize;
            cl3::command_queue::enqueue_nd_range_kernel(
                queue.get(),
                kernel.get(),
                1,
                std::ptr::null(),
                &raw const size,
                std::ptr::null(),
                0,
                std::ptr::null(),
            )
            .and_then(|event| cl3::event::release_event(event))
            .expect("a launch");
        }
        for (buffer, out) in buffers.iter().zip(out.chunks_mut(1)) {
            queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, out, &[]).expect("a read");
        }
    }
    assert_eq!(out, [20, 10]);
}

/// The benchmark's kernels, as optimized and unoptimized output of the front end: the compiler accepts both.
#[test]
fn optimized_and_unoptimized_corpus() {
    let session = session();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/bench/kernels");
    let mut refused = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(directory).expect("the kernels") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("OpenCL C");
        for options in ["-cl-std=CL3.0", "-cl-std=CL3.0 -cl-opt-disable"] {
            count += 1;
            if let Err(log) = session.build(&text, options) {
                refused.push(format!("{} {options}: {log}", path.display()));
            }
        }
    }
    assert!(count > 80 && refused.is_empty(), "{count} builds, {} refused:\n{}", refused.len(), refused.join("\n"));
}
