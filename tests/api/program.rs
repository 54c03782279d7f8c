//! Programs: creation, build, compilation, link, binaries, specialization constants, queries.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use opencl_sys::*;

use crate::functions::*;
use crate::support::*;

const GOOD: &str = "kernel void k(global uint *p) { p[get_global_id(0)] = 7; } kernel void other(int n) {}";
const BAD: &str = "kernel void k(global uint *p) { p[0] = }";

/// A module with the kernel `k(global uint *p)` and two specialization constants: 5, a uint of value 3; 6, a bool.
const IL: &[u8] = include_bytes!("spec.spv");

fn with_source(
    context: cl_context,
    strings: &[*const c_char],
    lengths: Option<&[usize]>,
) -> Result<cl_program, cl_int> {
    let lengths = lengths.map_or(null(), <[usize]>::as_ptr);
    let list = if strings.is_empty() { null() } else { strings.as_ptr() };
    let mut error = 1;
    // SAFETY: lists of the stated length.
    let program =
        unsafe { clCreateProgramWithSource(context, strings.len() as cl_uint, list.cast_mut(), lengths, &mut error) };
    if error == CL_SUCCESS { Ok(program) } else { Err(error) }
}

fn with_il(context: cl_context, il: &[u8]) -> Result<cl_program, cl_int> {
    let mut error = 1;
    // SAFETY: bytes with their number.
    let program = unsafe { clCreateProgramWithIL(context, il.as_ptr().cast(), il.len(), &mut error) };
    if error == CL_SUCCESS { Ok(program) } else { Err(error) }
}

fn with_binary(bytes: &[u8]) -> (Result<cl_program, cl_int>, cl_int) {
    let (mut error, mut status) = (1, 1);
    // SAFETY: one device, one binary with its length.
    let program = unsafe {
        let mut start: *const u8 = bytes.as_ptr();
        clCreateProgramWithBinary(context(), 1, &device(), &bytes.len(), &mut start, &mut status, &mut error)
    };
    (if error == CL_SUCCESS { Ok(program) } else { Err(error) }, status)
}

fn binary(program: cl_program) -> Vec<u8> {
    let size: usize = number(&program_info(program, CL_PROGRAM_BINARY_SIZES).unwrap());
    let mut bytes = vec![0_u8; size];
    let mut target = bytes.as_mut_ptr();
    // SAFETY: one pointer to a buffer of the size asked for.
    let code = unsafe {
        clGetProgramInfo(
            program,
            CL_PROGRAM_BINARIES,
            size_of::<*mut u8>(),
            std::ptr::from_mut(&mut target).cast(),
            null_mut(),
        )
    };
    assert_code(code, CL_SUCCESS);
    bytes
}

fn status(program: cl_program) -> cl_int {
    number(&build_info(program, CL_PROGRAM_BUILD_STATUS).unwrap())
}

fn binary_type(program: cl_program) -> cl_uint {
    number(&build_info(program, CL_PROGRAM_BINARY_TYPE).unwrap())
}

fn source_of(program: cl_program) -> String {
    text(&program_info(program, CL_PROGRAM_SOURCE).unwrap())
}

#[test]
fn create_with_source() {
    let (a, b) = (c("kernel void "), c("k() {}tail"));
    let both = [a.as_ptr(), b.as_ptr()];
    let whole = with_source(context(), &both, None).unwrap();
    assert_eq!(source_of(whole), "kernel void k() {}tail");
    let cut = with_source(context(), &both, Some(&[0, 6])).unwrap();
    assert_eq!(source_of(cut), "kernel void k() {}");
    // NUL characters inside are dropped.
    let nul = with_source(context(), &[b"a\0b".as_ptr().cast()], Some(&[3])).unwrap();
    assert_eq!(source_of(nul), "ab");

    assert_eq!(with_source(garbage(), &both, None), Err(CL_INVALID_CONTEXT));
    assert_eq!(with_source(context(), &[], None), Err(CL_INVALID_VALUE));
    assert_eq!(with_source(context(), &[a.as_ptr(), null()], None), Err(CL_INVALID_VALUE));
    // A count without strings.
    let mut error = 1;
    // SAFETY: a NULL list is refused before it is read.
    let program = unsafe { clCreateProgramWithSource(context(), 1, null_mut(), null(), &mut error) };
    assert!(program.is_null());
    assert_code(error, CL_INVALID_VALUE);
}

#[test]
fn references_are_counted() {
    let program = program(GOOD);
    let count = || number::<cl_uint>(&program_info(program, CL_PROGRAM_REFERENCE_COUNT).unwrap());
    assert_eq!(count(), 1);
    // SAFETY: a valid program.
    unsafe {
        assert_code(clRetainProgram(program), CL_SUCCESS);
        assert_eq!(count(), 2);
        assert_code(clReleaseProgram(program), CL_SUCCESS);
        assert_eq!(count(), 1);
        assert_code(clReleaseProgram(program), CL_SUCCESS);
        assert_code(clRetainProgram(garbage()), CL_INVALID_PROGRAM);
        assert_code(clReleaseProgram(garbage()), CL_INVALID_PROGRAM);
    }
}

#[test]
fn queries_before_a_build() {
    let program = program(GOOD);
    assert_eq!(number::<usize>(&program_info(program, CL_PROGRAM_CONTEXT).unwrap()), context() as usize);
    assert_eq!(number::<cl_uint>(&program_info(program, CL_PROGRAM_NUM_DEVICES).unwrap()), 1);
    assert_eq!(number::<usize>(&program_info(program, CL_PROGRAM_DEVICES).unwrap()), device() as usize);
    assert_eq!(program_info(program, CL_PROGRAM_IL).unwrap(), []);
    assert_eq!(number::<usize>(&program_info(program, CL_PROGRAM_BINARY_SIZES).unwrap()), 0);
    for name in [
        CL_PROGRAM_NUM_KERNELS,
        CL_PROGRAM_KERNEL_NAMES,
        CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT,
        CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT,
    ] {
        assert_eq!(program_info(program, name), Err(CL_INVALID_PROGRAM_EXECUTABLE));
    }
    assert_eq!(program_info(program, 0), Err(CL_INVALID_VALUE));
    assert_eq!(program_info(garbage(), CL_PROGRAM_CONTEXT), Err(CL_INVALID_PROGRAM));

    assert_eq!(status(program), CL_BUILD_NONE);
    assert_eq!(binary_type(program), CL_PROGRAM_BINARY_TYPE_NONE);
    assert_eq!(text(&build_info(program, CL_PROGRAM_BUILD_OPTIONS).unwrap()), "");
    assert_eq!(text(&build_info(program, CL_PROGRAM_BUILD_LOG).unwrap()), "");
    let globals: usize = number(&build_info(program, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE).unwrap());
    assert_eq!(globals, 0);
    assert_eq!(build_info(program, 0), Err(CL_INVALID_VALUE));
    // SAFETY: no memory is passed.
    let code = unsafe { clGetProgramBuildInfo(program, garbage(), CL_PROGRAM_BUILD_STATUS, 0, null_mut(), null_mut()) };
    assert_code(code, CL_INVALID_DEVICE);
}

#[test]
fn a_failed_build_has_a_log_that_names_the_line() {
    let program = program(BAD);
    assert_code(try_build(program, "-D X"), CL_BUILD_PROGRAM_FAILURE);
    assert_eq!(status(program), CL_BUILD_ERROR);
    assert_eq!(binary_type(program), CL_PROGRAM_BINARY_TYPE_NONE);
    assert_eq!(text(&build_info(program, CL_PROGRAM_BUILD_OPTIONS).unwrap()), "-D X");
    assert!(log(program).contains("program.cl:1:40: error: expected expression"), "{}", log(program));
    assert_eq!(try_kernel(program, "k"), Err(CL_INVALID_PROGRAM_EXECUTABLE));
    assert_code(try_compile(program, ""), CL_COMPILE_PROGRAM_FAILURE);
}

#[test]
fn a_log_is_about_the_program_alone() {
    // At every version; names in comments mean nothing.
    for version in ["CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0"] {
        let options = format!("-cl-std={version}");
        let source =
            format!("// read_imagef(i, c), bit_reverse(x), convert_int(x), async_work_group_copy_2D2D\n{GOOD}");
        assert_eq!(log(build(program(&source), &options)), "", "{version}");
        // One wrong call is one error, with a handful of the functions that might have been meant.
        for call in ["read_imagef(p, 1, 2, 3, 4)", "convert_int4_sat(p, p)", "vload4(p)", "write_imagef(1, 2)"] {
            let program = program(&format!("kernel void k(global int *p) {{\n    {call};\n}}"));
            assert_code(try_build(program, &options), CL_BUILD_PROGRAM_FAILURE);
            let log = log(program);
            assert!(log.starts_with("program.cl:2:5: error: no matching function for call"), "{version}: {log}");
            assert!(log.lines().count() < 20, "{version}: {log}");
            let is_of_the_program = |line: &str| line.starts_with([' ', '1']) || line.starts_with("program.cl:2:");
            assert!(
                log.lines().all(|line| is_of_the_program(line)
                    || line.starts_with("note: candidate function")
                    || line.contains(" more candidates")),
                "{log}"
            );
        }
    }
}

#[test]
fn extended_async_copies_are_declared() {
    let copies = "kernel void k(global int *g, local int *l) {
        async_work_group_copy_2D2D(l, 0, g, 0, 4, 8, 2, 16, 8, 0); async_work_group_copy_fence(CLK_LOCAL_MEM_FENCE); }";
    assert_eq!(log(build(program(copies), "")), "");
    let wrong = program("kernel void k(global int *g) {\n async_work_group_copy_2D2D(g, g); }");
    assert_code(try_build(wrong, ""), CL_BUILD_PROGRAM_FAILURE);
    let log = log(wrong);
    assert!(log.starts_with("program.cl:2:2: error: no matching function"), "{log}");
    assert!(!log.contains("clift") && log.lines().count() < 8, "{log}");
}

#[test]
fn unreachable_functions_are_not_compiled() {
    // A program large enough, of helpers that are not `static`, one of which no back end could compile.
    let helpers: String = (0..2000)
        .map(|i| {
            format!("float helper_{i}(float x) {{ return x * {i}.0f + {}; }}\n", if i > 0 { "1.0f" } else { "0.5f" })
        })
        .collect();
    let source = format!("{helpers}kernel void k(global float *p) {{ p[0] = helper_7(p[1]) + helper_0(p[2]); }}");
    assert!(source.len() > 32 << 10);
    let whole = binary(build(program(&source), "")).len();
    assert!(whole < 20_000, "{whole}");
    // A part of a program keeps what others may call.
    let part = binary(compiled(&source)).len();
    assert!(part > 100_000, "{part}");
    let user = compiled("float helper_3(float); kernel void u(global float *p) { p[0] = helper_3(p[0]); }");
    let (_, code) = try_link(&[compiled(&source), user], "");
    assert_code(code, CL_SUCCESS);
}

#[test]
fn build_checks_its_arguments() {
    let program = program(GOOD);
    let mut data = 0_u8;
    let data: *mut c_void = std::ptr::from_mut(&mut data).cast();
    // SAFETY: lists of the stated lengths; the callback is never called.
    unsafe {
        assert_code(clBuildProgram(garbage(), 0, null(), null(), None, null_mut()), CL_INVALID_PROGRAM);
        assert_code(clBuildProgram(program, 1, null(), null(), None, null_mut()), CL_INVALID_VALUE);
        assert_code(clBuildProgram(program, 0, &device(), null(), None, null_mut()), CL_INVALID_VALUE);
        assert_code(clBuildProgram(program, 0, null(), null(), None, data), CL_INVALID_VALUE);
        let not_a_device = garbage();
        assert_code(clBuildProgram(program, 1, &not_a_device, null(), None, null_mut()), CL_INVALID_DEVICE);
    }
    for options in ["-bogus", "-cl-std=CL9.9", "-D", "-create-library", "file.cl", "-cl-std=x.1"] {
        assert_code(try_build(program, options), CL_INVALID_BUILD_OPTIONS);
        assert_code(try_compile(program, options), CL_INVALID_COMPILER_OPTIONS);
        assert!(log(program).starts_with("clift: "), "the log says why `{options}` is refused");
    }
    assert_eq!(status(program), CL_BUILD_NONE, "a refused call leaves only its reason");
    let (linked, _) = try_link(&[compiled(GOOD)], "");
    assert_code(try_build(linked, ""), CL_INVALID_OPERATION);
    assert_code(try_compile(linked, ""), CL_INVALID_OPERATION);
}

#[test]
fn queries_after_a_build() {
    let program = build(program(&format!("#warning careful\n{GOOD}")), " -D A=1 ");
    assert_eq!(status(program), CL_BUILD_SUCCESS);
    assert_eq!(binary_type(program), CL_PROGRAM_BINARY_TYPE_EXECUTABLE);
    assert_eq!(text(&build_info(program, CL_PROGRAM_BUILD_OPTIONS).unwrap()), " -D A=1 ");
    assert!(log(program).contains("warning: careful"));
    assert_eq!(number::<usize>(&program_info(program, CL_PROGRAM_NUM_KERNELS).unwrap()), 2);
    let names = text(&program_info(program, CL_PROGRAM_KERNEL_NAMES).unwrap());
    let mut names: Vec<&str> = names.split(';').collect();
    names.sort_unstable();
    assert_eq!(names, ["k", "other"]);
    let ctors = program_info(program, CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT).unwrap();
    assert_eq!(number::<cl_bool>(&ctors), CL_FALSE);
}

#[test]
fn a_program_can_be_built_again_until_it_has_kernels() {
    let program = program("#ifndef N\n#error no N\n#endif\nkernel void k(global uint *p) { *p = N; }");
    assert_code(try_build(program, ""), CL_BUILD_PROGRAM_FAILURE);
    build(program, "-D N=1");
    build(program, "-D N=2");
    let kernel = try_kernel(program, "k").unwrap();
    assert_code(try_build(program, "-D N=3"), CL_INVALID_OPERATION);
    assert_code(try_compile(program, "-D N=3"), CL_INVALID_OPERATION);
    // SAFETY: a valid kernel.
    assert_code(unsafe { clReleaseKernel(kernel) }, CL_SUCCESS);
    build(program, "-D N=3");
    assert_eq!(text(&build_info(program, CL_PROGRAM_BUILD_OPTIONS).unwrap()), "-D N=3");
}

#[test]
fn headers_come_from_programs() {
    let main = program("#include \"my/inc.h\"\n#include <b.h>\nkernel void k(global uint *p) { *p = A + B; }");
    let (a, b) = (program("#include \"b.h\"\n#define A 1\n"), program("#define B 2\n"));
    let compile = |count: cl_uint, headers: &[cl_program], names: &[*const c_char]| {
        let (headers, names) = (
            if headers.is_empty() { null() } else { headers.as_ptr() },
            if names.is_empty() { null() } else { names.as_ptr() },
        );
        // SAFETY: lists of the stated length, or NULL.
        unsafe { clCompileProgram(main, 0, null(), null(), count, headers, names.cast_mut(), None, null_mut()) }
    };
    let (inc, bh, outside) = (c("my/inc.h"), c("b.h"), c("../b.h"));
    assert_code(compile(2, &[a, b], &[inc.as_ptr(), bh.as_ptr()]), CL_SUCCESS);
    assert_eq!(binary_type(main), CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
    // The first of two headers of one name counts.
    let other = program("#error not this\n");
    assert_code(compile(3, &[a, b, other], &[inc.as_ptr(), bh.as_ptr(), bh.as_ptr()]), CL_SUCCESS);
    assert_code(compile(1, &[a], &[inc.as_ptr()]), CL_COMPILE_PROGRAM_FAILURE);
    assert!(log(main).contains("'b.h' file not found"), "{}", log(main));

    assert_code(compile(0, &[a], &[]), CL_INVALID_VALUE);
    assert_code(compile(0, &[], &[inc.as_ptr()]), CL_INVALID_VALUE);
    assert_code(compile(1, &[], &[inc.as_ptr()]), CL_INVALID_VALUE);
    assert_code(compile(1, &[a], &[]), CL_INVALID_VALUE);
    assert_code(compile(1, &[a], &[null()]), CL_INVALID_VALUE);
    assert_code(compile(1, &[a], &[outside.as_ptr()]), CL_INVALID_VALUE);
    assert_code(compile(1, &[garbage()], &[inc.as_ptr()]), CL_INVALID_PROGRAM);
    let foreign = program_in(other_context(), "\n");
    assert_code(compile(1, &[foreign], &[inc.as_ptr()]), CL_INVALID_CONTEXT);
}

#[test]
fn kernels_call_kernels_of_other_units() {
    let copy = compiled("kernel void copy(global int *p) { p[1] = p[0]; }");
    let user = compiled("extern kernel void copy(global int *p);\nkernel void k(global int *p) { copy(p + 1); }");
    let (linked, code) = try_link(&[copy, user], "");
    assert_code(code, CL_SUCCESS);
    assert!(try_kernel(linked, "k").is_ok() && try_kernel(linked, "copy").is_ok());
}

#[test]
fn compiled_objects_are_linked() {
    let main = compiled("uint twice(uint x);\nkernel void k(global uint *p) { *p = twice(*p); }");
    let helper = compiled("uint twice(uint x) { return x * 2; }");
    let (linked, code) = try_link(&[main, helper], "-cl-fast-relaxed-math");
    assert_code(code, CL_SUCCESS);
    assert_eq!(binary_type(linked), CL_PROGRAM_BINARY_TYPE_EXECUTABLE);
    assert_eq!(text(&build_info(linked, CL_PROGRAM_BUILD_OPTIONS).unwrap()), "-cl-fast-relaxed-math");
    assert!(try_kernel(linked, "k").is_ok());

    // Through a library.
    let (library, code) = try_link(&[helper], "-create-library -enable-link-options");
    assert_code(code, CL_SUCCESS);
    assert_eq!(binary_type(library), CL_PROGRAM_BINARY_TYPE_LIBRARY);
    assert_eq!(try_kernel(library, "k"), Err(CL_INVALID_PROGRAM_EXECUTABLE));
    let (linked, code) = try_link(&[main, library], "");
    assert_code(code, CL_SUCCESS);
    assert!(try_kernel(linked, "k").is_ok());

    // A link that fails gives a program that says why.
    let (failed, code) = try_link(&[main], "");
    assert_code(code, CL_LINK_PROGRAM_FAILURE);
    assert!(!failed.is_null());
    assert_eq!(status(failed), CL_BUILD_ERROR);
    assert!(log(failed).contains("twice"), "{}", log(failed));
}

#[test]
fn link_checks_its_arguments() {
    let object = compiled(GOOD);
    let built = build(program(GOOD), "");
    assert_eq!(try_link(&[object], "-bogus").1, CL_INVALID_LINKER_OPTIONS);
    assert_eq!(try_link(&[object], "-enable-link-options").1, CL_INVALID_LINKER_OPTIONS);
    assert_eq!(try_link(&[object], "-D X").1, CL_INVALID_LINKER_OPTIONS);
    assert_eq!(try_link(&[], "").1, CL_INVALID_VALUE);
    assert_eq!(try_link(&[program(GOOD)], "").1, CL_INVALID_OPERATION, "not compiled");
    assert_eq!(try_link(&[object, built], "").1, CL_INVALID_OPERATION, "an executable");
    assert_eq!(try_link(&[garbage()], "").1, CL_INVALID_PROGRAM);
    let link = |context: cl_context, devices: &[cl_device_id], count: cl_uint, list: *const cl_program| {
        let mut error = 1;
        let list_of_devices = if devices.is_empty() { null() } else { devices.as_ptr() };
        let number = devices.len() as cl_uint;
        // SAFETY: lists of the stated length, or NULL.
        let program = unsafe {
            clLinkProgram(context, number, list_of_devices, null(), count, list, None, null_mut(), &mut error)
        };
        assert!(program.is_null());
        error
    };
    assert_code(link(garbage(), &[], 1, &object), CL_INVALID_CONTEXT);
    assert_code(link(other_context(), &[], 1, &object), CL_INVALID_CONTEXT);
    assert_code(link(context(), &[garbage()], 1, &object), CL_INVALID_DEVICE);
    assert_code(link(context(), &[], 1, null()), CL_INVALID_VALUE);
    assert_code(link(context(), &[], 0, &object), CL_INVALID_VALUE);
}

#[test]
fn binaries_come_back() {
    let built = build(program(GOOD), "-D A -cl-std=CL3.0");
    let bytes = binary(built);
    let (again, code) = with_binary(&bytes);
    let again = again.unwrap();
    assert_code(code, CL_SUCCESS);
    assert_eq!(source_of(again), "");
    assert_eq!(status(again), CL_BUILD_NONE);
    assert_eq!(binary_type(again), CL_PROGRAM_BINARY_TYPE_EXECUTABLE);
    // SAFETY: a valid program, no options.
    let code = unsafe { clBuildProgram(again, 0, null(), null(), None, null_mut()) };
    assert_code(code, CL_SUCCESS);
    assert_eq!(text(&build_info(again, CL_PROGRAM_BUILD_OPTIONS).unwrap()), "-D A -cl-std=CL3.0");
    assert!(try_kernel(again, "k").is_ok());
    assert_eq!(binary(again), bytes);
    assert_code(try_compile(again, ""), CL_INVALID_OPERATION);

    // An executable binary works without a build, too.
    let unbuilt = with_binary(&bytes).0.unwrap();
    assert!(try_kernel(unbuilt, "k").is_ok());
    assert_eq!(status(unbuilt), CL_BUILD_SUCCESS);

    // Objects and libraries come back for linking, not for building.
    let object = compiled("uint twice(uint x) { return x * 2; }");
    let (object, code) = with_binary(&binary(object));
    let object = object.unwrap();
    assert_code(code, CL_SUCCESS);
    assert_eq!(binary_type(object), CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
    assert_code(try_build(object, ""), CL_INVALID_BINARY);
    let main = compiled("uint twice(uint x);\nkernel void k(global uint *p) { *p = twice(*p); }");
    let (linked, code) = try_link(&[main, object], "");
    assert_code(code, CL_SUCCESS);
    assert!(try_kernel(linked, "k").is_ok());
}

#[test]
fn bad_binaries_are_refused() {
    let bytes = binary(build(program(GOOD), ""));
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    for bad in [&b"garbage"[..], &bytes[..bytes.len() - 1], &bytes[..40], &damaged, &[0; 4096]] {
        assert_eq!(with_binary(bad), (Err(CL_INVALID_BINARY), CL_INVALID_BINARY));
    }
    assert_eq!(with_binary(&[]), (Err(CL_INVALID_VALUE), CL_INVALID_VALUE));
    let (size, start) = (bytes.len(), bytes.as_ptr());
    let create = |context, number, devices: *const cl_device_id, sizes: *const usize, starts: *const *const u8| {
        let mut error = 1;
        // SAFETY: lists of the stated length, or NULL.
        unsafe {
            clCreateProgramWithBinary(context, number, devices, sizes, starts.cast_mut(), null_mut(), &mut error)
        };
        error
    };
    let no_device: cl_device_id = garbage();
    let no_start: *const u8 = null();
    assert_code(create(garbage(), 1, &device(), &size, &start), CL_INVALID_CONTEXT);
    assert_code(create(context(), 0, &device(), &size, &start), CL_INVALID_VALUE);
    assert_code(create(context(), 1, null(), &size, &start), CL_INVALID_VALUE);
    assert_code(create(context(), 1, &device(), null(), &start), CL_INVALID_VALUE);
    assert_code(create(context(), 1, &device(), &size, null()), CL_INVALID_VALUE);
    assert_code(create(context(), 1, &device(), &size, &no_start), CL_INVALID_VALUE);
    assert_code(create(context(), 1, &no_device, &size, &start), CL_INVALID_DEVICE);
    let (twice, sizes, starts) = ([device(); 2], [size; 2], [start; 2]);
    assert_code(create(context(), 2, twice.as_ptr(), sizes.as_ptr(), starts.as_ptr()), CL_INVALID_DEVICE);
}

#[test]
fn intermediate_language() {
    let program = with_il(context(), IL).unwrap();
    assert_eq!(program_info(program, CL_PROGRAM_IL).unwrap(), IL);
    assert_eq!(source_of(program), "");
    // Preprocessor and language options are accepted and mean nothing.
    build(program, "-D X=1 -I . -cl-std=CL3.0 -Werror");
    assert!(try_kernel(program, "k").is_ok());
    assert!(binary(program).len() > IL.len() / 4);

    assert_eq!(with_il(garbage(), IL), Err(CL_INVALID_CONTEXT));
    assert_eq!(with_il(context(), &[]), Err(CL_INVALID_VALUE));
    for bad in [&IL[..IL.len() - 1], &IL[..IL.len() - 4], &IL[..16], &[0; 64], b"#include <x.h>"] {
        assert_eq!(with_il(context(), bad), Err(CL_INVALID_VALUE));
    }
    let mut error = 1;
    // SAFETY: a NULL pointer is refused before it is read.
    unsafe { clCreateProgramWithIL(context(), null(), 16, &mut error) };
    assert_code(error, CL_INVALID_VALUE);
}

#[test]
fn specialization_constants() {
    let program = with_il(context(), IL).unwrap();
    let set = |program, id, size, value: Option<&u64>| {
        let value = value.map_or(null(), |value| std::ptr::from_ref(value).cast());
        // SAFETY: eight bytes can be read, or the pointer is NULL.
        unsafe { clSetProgramSpecializationConstant(program, id, size, value) }
    };
    let result = || {
        build(program, "");
        let (queue, mem) = (queue(), buffer(4));
        let kernel = try_kernel(program, "k").unwrap();
        assert_code(set_mem(kernel, 0, mem), CL_SUCCESS);
        // SAFETY: one work-item, no events.
        let code = unsafe { clEnqueueNDRangeKernel(queue, kernel, 1, null(), &1, null(), 0, null(), null_mut()) };
        assert_code(code, CL_SUCCESS);
        let value = read(queue, mem, 1)[0];
        // SAFETY: a valid kernel; without it the program can be built again.
        assert_code(unsafe { clReleaseKernel(kernel) }, CL_SUCCESS);
        value
    };
    assert_eq!(result(), 3);
    assert_code(set(program, 5, 4, Some(&42)), CL_SUCCESS);
    assert_eq!(result(), 42);
    assert_code(set(program, 6, 1, Some(&1)), CL_SUCCESS);
    assert_eq!(result(), 1042);
    assert_code(set(program, 5, 4, Some(&7)), CL_SUCCESS);
    assert_eq!(result(), 1007);

    assert_code(set(program, 99, 4, Some(&1)), CL_INVALID_SPEC_ID);
    assert_code(set(program, 5, 8, Some(&1)), CL_INVALID_VALUE);
    assert_code(set(program, 6, 4, Some(&1)), CL_INVALID_VALUE);
    assert_code(set(program, 5, 4, None), CL_INVALID_VALUE);
    assert_code(set(crate::support::program(GOOD), 5, 4, Some(&1)), CL_INVALID_PROGRAM);
    assert_code(set(garbage(), 5, 4, Some(&1)), CL_INVALID_PROGRAM);
}

#[test]
fn built_in_kernels_are_none() {
    let create = |context, number, devices: *const cl_device_id, names: *const c_char| {
        let mut error = 1;
        // SAFETY: lists of the stated length and C strings, or NULL.
        unsafe { clCreateProgramWithBuiltInKernels(context, number, devices, names, &mut error) };
        error
    };
    let name = c("sort");
    assert_code(create(garbage(), 1, &device(), name.as_ptr()), CL_INVALID_CONTEXT);
    assert_code(create(context(), 0, &device(), name.as_ptr()), CL_INVALID_VALUE);
    assert_code(create(context(), 1, null(), name.as_ptr()), CL_INVALID_VALUE);
    assert_code(create(context(), 1, &device(), null()), CL_INVALID_VALUE);
    assert_code(create(context(), 1, &garbage(), name.as_ptr()), CL_INVALID_DEVICE);
    assert_code(create(context(), 1, &device(), name.as_ptr()), CL_INVALID_VALUE);
}

/// Sends the program it is called with through the channel that `user_data` leads to.
unsafe extern "C" fn notify(program: cl_program, user_data: *mut c_void) {
    // SAFETY: every test passes a leaked sender.
    let sender = unsafe { &*user_data.cast::<Sender<usize>>() };
    sender.send(program as usize).expect("the test is waiting");
}

fn notification() -> (Receiver<usize>, *mut c_void) {
    let (sender, receiver) = channel();
    (receiver, std::ptr::from_mut(Box::leak(Box::new(sender))).cast())
}

const SOON: Duration = Duration::from_secs(60);

#[test]
fn the_application_is_told_of_the_end() {
    for (source, wanted) in [(GOOD, CL_BUILD_SUCCESS), (BAD, CL_BUILD_ERROR)] {
        let (receiver, data) = notification();
        let program = program(source);
        // SAFETY: the callback gets the sender that it expects.
        unsafe {
            assert_code(clBuildProgram(program, 0, null(), null(), Some(notify), data), CL_SUCCESS);
            assert_eq!(receiver.recv_timeout(SOON).unwrap(), program as usize);
            assert_eq!(status(program), wanted);
            let code = clCompileProgram(program, 0, null(), null(), 0, null(), null_mut(), Some(notify), data);
            assert_code(code, CL_SUCCESS);
            assert_eq!(receiver.recv_timeout(SOON).unwrap(), program as usize);
            assert_eq!(status(program), wanted);
        }
        if wanted == CL_BUILD_SUCCESS {
            let mut error = 1;
            // SAFETY: as above.
            let linked =
                unsafe { clLinkProgram(context(), 0, null(), null(), 1, &program, Some(notify), data, &mut error) };
            assert_code(error, CL_SUCCESS);
            assert_eq!(receiver.recv_timeout(SOON).unwrap(), linked as usize);
            assert_eq!(status(linked), CL_BUILD_SUCCESS);
        }
    }
}

#[test]
fn builds_at_once_do_not_disturb_each_other() {
    let program = program(GOOD);
    let codes: Vec<cl_int> = std::thread::scope(|scope| {
        let address = program as usize;
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(move || try_build(address as cl_program, ""))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(codes.contains(&CL_SUCCESS));
    assert!(codes.iter().all(|code| [CL_SUCCESS, CL_INVALID_OPERATION].contains(code)), "{codes:?}");
    assert_eq!(status(program), CL_BUILD_SUCCESS);
}

#[test]
fn release_callbacks_and_unloading() {
    // SAFETY: the callback is never called; handles are checked.
    unsafe {
        let (_receiver, data) = notification();
        assert_code(clSetProgramReleaseCallback(program(GOOD), Some(notify), data), CL_INVALID_OPERATION);
        assert_code(clSetProgramReleaseCallback(garbage(), Some(notify), data), CL_INVALID_PROGRAM);
        let platform = clift_tests::session::session().platform();
        assert_code(clUnloadPlatformCompiler(platform), CL_SUCCESS);
        assert_code(clUnloadPlatformCompiler(garbage()), CL_INVALID_PLATFORM);
    }
    build(program(GOOD), "");
}

/// A module may limit the sizes of its kernels' arguments.
#[test]
fn sizes_that_a_module_bounds() {
    let program = build(with_il(context(), IL).unwrap(), "");
    let kernel = try_kernel(program, "bounded").unwrap();
    for (size, expected) in [(64, CL_SUCCESS), (65, CL_MAX_SIZE_RESTRICTION_EXCEEDED)] {
        assert_code(set_mem(kernel, 0, buffer(size)), expected);
    }
    for (size, expected) in [(32, CL_SUCCESS), (33, CL_MAX_SIZE_RESTRICTION_EXCEEDED)] {
        assert_code(set_arg_raw(kernel, 1, size, null()), expected);
    }
}

/// The size of a global variable in program scope is limited.
#[test]
fn limit_of_a_global_variable() {
    let of = |bytes: usize| {
        program(&format!(
            "global char big[{bytes}]; kernel void k(global char *p) {{ *p = big[0]; big[{bytes} - 1] = 1; }}"
        ))
    };
    let mut most = 0usize;
    let size = size_of::<usize>();
    let name = CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE;
    // SAFETY: the result has this size.
    let code = unsafe { clGetDeviceInfo(device(), name, size, (&raw mut most).cast(), null_mut()) };
    assert_code(code, CL_SUCCESS);
    assert_code(try_build(of(most), "-cl-std=CL3.0"), CL_SUCCESS);
    let beyond = of(most + 1);
    assert_code(try_build(beyond, "-cl-std=CL3.0"), CL_BUILD_PROGRAM_FAILURE);
    let log = text(&build_info(beyond, CL_PROGRAM_BUILD_LOG).unwrap());
    assert!(log.contains(&format!("a global variable of {} bytes", most + 1)), "{log}");
}
