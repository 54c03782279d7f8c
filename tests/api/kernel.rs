//! Kernels: creation, arguments, cloning, queries.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};

use opencl_sys::*;

use crate::functions::*;
use crate::support::*;

const SOURCE: &str = "\
kernel void k(global uint *p, constant uint *c, local uint *l, uint n, uchar4 v) {
    l[get_local_id(0)] = c[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    p[get_global_id(0)] = l[0] + n + v.s3;
}
kernel void empty(void) {}";

/// Runs over one work-item and gives the first value of `mem`.
fn run(kernel: cl_kernel, mem: cl_mem) -> u32 {
    let queue = queue();
    // SAFETY: one work-item, no events.
    let code = unsafe { clEnqueueNDRangeKernel(queue, kernel, 1, null(), &1, null(), 0, null(), null_mut()) };
    assert_code(code, CL_SUCCESS);
    read(queue, mem, 1)[0]
}

fn try_run(kernel: cl_kernel) -> cl_int {
    // SAFETY: one work-item, no events.
    unsafe { clEnqueueNDRangeKernel(queue(), kernel, 1, null(), &1, null(), 0, null(), null_mut()) }
}

#[test]
fn create() {
    let built = build(program(SOURCE), "");
    assert!(try_kernel(built, "k").is_ok());
    assert_eq!(try_kernel(built, "nothing"), Err(CL_INVALID_KERNEL_NAME));
    assert_eq!(try_kernel(built, ""), Err(CL_INVALID_KERNEL_NAME));
    assert_eq!(try_kernel(program(SOURCE), "k"), Err(CL_INVALID_PROGRAM_EXECUTABLE));
    assert_eq!(try_kernel(garbage(), "k"), Err(CL_INVALID_PROGRAM));
    let mut error = 1;
    // SAFETY: a NULL name is refused before it is read.
    assert!(unsafe { clCreateKernel(built, null(), &mut error) }.is_null());
    assert_code(error, CL_INVALID_VALUE);
}

#[test]
fn create_all() {
    let built = build(program(SOURCE), "");
    let mut kernels: [cl_kernel; 3] = [null_mut(); 3];
    let mut count = 0;
    // SAFETY: lists of the stated length, or NULL.
    unsafe {
        assert_code(clCreateKernelsInProgram(built, 0, null_mut(), &mut count), CL_SUCCESS);
        assert_eq!(count, 2);
        assert_code(clCreateKernelsInProgram(built, 1, kernels.as_mut_ptr(), &mut count), CL_INVALID_VALUE);
        assert_code(clCreateKernelsInProgram(built, 3, kernels.as_mut_ptr(), null_mut()), CL_SUCCESS);
        assert!(kernels[2].is_null());
        assert_code(clCreateKernelsInProgram(garbage(), 0, null_mut(), &mut count), CL_INVALID_PROGRAM);
        let unbuilt = program(SOURCE);
        assert_code(clCreateKernelsInProgram(unbuilt, 0, null_mut(), &mut count), CL_INVALID_PROGRAM_EXECUTABLE);
    }
    let mut names: Vec<String> =
        kernels[..2].iter().map(|kernel| text(&kernel_info(*kernel, CL_KERNEL_FUNCTION_NAME).unwrap())).collect();
    names.sort();
    assert_eq!(names, ["empty", "k"]);
}

#[test]
fn arguments_of_every_kind() {
    let kernel = kernel(SOURCE);
    let (p, constant) = (buffer(64), buffer(64));
    assert_code(set_mem(kernel, 0, p), CL_SUCCESS);
    assert_code(set_mem(kernel, 1, constant), CL_SUCCESS);
    assert_code(set_arg_raw(kernel, 2, 16, null()), CL_SUCCESS);
    assert_code(set_arg(kernel, 3, 100_u32), CL_SUCCESS);
    assert_code(try_run(kernel), CL_INVALID_KERNEL_ARGS);
    assert_code(set_arg(kernel, 4, [1_u8, 2, 3, 4]), CL_SUCCESS);
    assert_eq!(run(kernel, p), 104);
    // Arguments stay until they are changed.
    assert_eq!(run(kernel, p), 104);
    assert_code(set_arg(kernel, 3, 200_u32), CL_SUCCESS);
    assert_eq!(run(kernel, p), 204);

    assert_code(set_arg(garbage(), 0, 0_u32), CL_INVALID_KERNEL);
    assert_code(set_arg(kernel, 5, 0_u32), CL_INVALID_ARG_INDEX);
    assert_code(set_arg(kernel, 3, 0_u64), CL_INVALID_ARG_SIZE);
    assert_code(set_arg(kernel, 3, 0_u8), CL_INVALID_ARG_SIZE);
    assert_code(set_arg_raw(kernel, 3, 4, null()), CL_INVALID_ARG_VALUE);
    // No local memory is an argument from OpenCL 3.1 on.
    let version = clift_tests::session::session().device.version().unwrap();
    let none = if version.starts_with("OpenCL 3.0") { CL_INVALID_ARG_SIZE } else { CL_SUCCESS };
    assert_code(set_arg_raw(kernel, 2, 0, null()), none);
    assert_code(set_arg(kernel, 2, 0_u32), CL_INVALID_ARG_VALUE);
    assert_code(set_arg(kernel, 0, 0_u32), CL_INVALID_ARG_SIZE);
    assert_code(set_mem(kernel, 0, garbage()), CL_INVALID_MEM_OBJECT);
    assert_code(set_mem(kernel, 0, queue().cast()), CL_INVALID_MEM_OBJECT);
    let mut error = 1;
    // SAFETY: a buffer of another context, without host memory.
    let foreign = unsafe { clCreateBuffer(other_context(), CL_MEM_READ_WRITE, 64, null_mut(), &mut error) };
    assert_code(error, CL_SUCCESS);
    assert_code(set_mem(kernel, 0, foreign), CL_INVALID_CONTEXT);
    // Refused values have changed nothing.
    assert_eq!(run(kernel, p), 204);
}

/// A sampler and an image of another context, and objects of other types, are no arguments of a kernel.
#[test]
fn arguments_of_another_context() {
    let source =
        "kernel void k(read_only image2d_t i, sampler_t s, global float4 *p) { *p = read_imagef(i, s, (int2)(0)); }";
    let kernel = kernel(source);
    let (mut own, mut none, mut error) = (sampler(), null_mut(), 1);
    // SAFETY: valid contexts and a valid description; no host memory.
    let (mut foreign, image) = unsafe {
        let other = other_context();
        let sampler = clCreateSampler(other, 0, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &mut error);
        assert_code(error, CL_SUCCESS);
        let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_FLOAT };
        let mut shape: cl_image_desc = std::mem::zeroed();
        (shape.image_type, shape.image_width, shape.image_height) = (CL_MEM_OBJECT_IMAGE2D, 4, 4);
        let image = clCreateImage(other, CL_MEM_READ_WRITE, &format, &shape, null_mut(), &mut error);
        assert_code(error, CL_SUCCESS);
        (sampler, image)
    };
    let set = |sampler: *mut cl_sampler| set_arg_raw(kernel, 1, size_of::<cl_sampler>(), sampler.cast());
    assert_code(set(&raw mut own), CL_SUCCESS);
    assert_code(set(&raw mut foreign), CL_INVALID_CONTEXT);
    assert_code(set(&raw mut none), CL_INVALID_SAMPLER);
    assert_code(set(&mut queue().cast()), CL_INVALID_SAMPLER);
    assert_code(set_arg_raw(kernel, 1, size_of::<cl_sampler>(), null()), CL_INVALID_SAMPLER);
    assert_code(set_arg_raw(kernel, 1, 4, (&raw const own).cast()), CL_INVALID_ARG_SIZE);
    assert_code(set_mem(kernel, 0, image), CL_INVALID_CONTEXT);
}

/// An image of another type than the argument's is refused; whether a 1-D image is a buffer makes no difference.
#[test]
fn images_of_another_type() {
    const TYPES: [(&str, u32); 6] = [
        ("image1d_t", CL_MEM_OBJECT_IMAGE1D),
        ("image1d_buffer_t", CL_MEM_OBJECT_IMAGE1D_BUFFER),
        ("image1d_array_t", CL_MEM_OBJECT_IMAGE1D_ARRAY),
        ("image2d_t", CL_MEM_OBJECT_IMAGE2D),
        ("image2d_array_t", CL_MEM_OBJECT_IMAGE2D_ARRAY),
        ("image3d_t", CL_MEM_OBJECT_IMAGE3D),
    ];
    let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_FLOAT };
    let (memory, mut error) = (buffer(64), 1);
    let images = TYPES.map(|(_, ty)| {
        // SAFETY: zero and NULL are valid for all fields.
        let mut shape: cl_image_desc = unsafe { std::mem::zeroed() };
        (shape.image_type, shape.image_width, shape.image_height) = (ty, 4, 2);
        (shape.image_depth, shape.image_array_size) = (2, 2);
        if ty == CL_MEM_OBJECT_IMAGE1D_BUFFER {
            shape.buffer = memory;
        }
        // SAFETY: a valid context and a valid description; no host memory.
        let image = unsafe { clCreateImage(context(), CL_MEM_READ_WRITE, &format, &shape, null_mut(), &mut error) };
        assert_code(error, CL_SUCCESS);
        image
    });
    for (wanted, (name, _)) in TYPES.iter().enumerate() {
        let kernel =
            kernel(&format!("kernel void k(read_only {name} i, global int *p) {{ *p = get_image_width(i); }}"));
        for (given, image) in images.iter().enumerate() {
            let fits = wanted == given || wanted < 2 && given < 2;
            assert_code(set_mem(kernel, 0, *image), if fits { CL_SUCCESS } else { CL_INVALID_MEM_OBJECT });
        }
    }
}

#[test]
fn pointers_may_be_null() {
    let kernel = kernel("kernel void k(global uint *p, global uint *q) { p[0] = q == 0 ? 1 : 2; }");
    let (p, q) = (buffer(4), buffer(4));
    assert_code(set_mem(kernel, 0, p), CL_SUCCESS);
    assert_code(set_arg_raw(kernel, 1, size_of::<cl_mem>(), null()), CL_SUCCESS);
    assert_eq!(run(kernel, p), 1);
    assert_code(set_mem(kernel, 1, q), CL_SUCCESS);
    assert_eq!(run(kernel, p), 2);
    assert_code(set_mem(kernel, 1, null_mut()), CL_SUCCESS);
    assert_eq!(run(kernel, p), 1);
}

#[test]
fn a_kernel_does_not_keep_its_buffers() {
    let kernel = kernel("kernel void k(global uint *p) { p[0] = 1; }");
    let p = buffer(4);
    assert_code(set_mem(kernel, 0, p), CL_SUCCESS);
    // SAFETY: a valid buffer.
    assert_code(unsafe { clReleaseMemObject(p) }, CL_SUCCESS);
    assert_code(try_run(kernel), CL_INVALID_KERNEL_ARGS);
}

#[test]
fn structures_are_passed_by_value() {
    let kernel = kernel(
        "typedef struct { char a; int b; long c; } S;\n\
         kernel void k(global uint *p, S s) { p[0] = s.a + s.b + (int)s.c; }",
    );
    #[repr(C)]
    #[derive(Clone, Copy, bytemuck::NoUninit)]
    struct S {
        a: i8,
        padding: [u8; 3],
        b: i32,
        c: i64,
    }
    let p = buffer(4);
    assert_code(set_mem(kernel, 0, p), CL_SUCCESS);
    assert_code(set_arg(kernel, 1, S { a: 1, padding: [0; 3], b: 20, c: 300 }), CL_SUCCESS);
    assert_eq!(run(kernel, p), 321);
}

#[test]
fn clones_have_arguments_of_their_own() {
    let kernel = kernel("kernel void k(global uint *p, uint n) { p[0] = n; }");
    let p = buffer(4);
    assert_code(set_mem(kernel, 0, p), CL_SUCCESS);
    assert_code(set_arg(kernel, 1, 5_u32), CL_SUCCESS);
    let mut error = 1;
    // SAFETY: a valid kernel.
    let copy = unsafe { clCloneKernel(kernel, &mut error) };
    assert_code(error, CL_SUCCESS);
    assert_eq!(number::<cl_uint>(&kernel_info(copy, CL_KERNEL_REFERENCE_COUNT).unwrap()), 1);
    assert_code(set_arg(kernel, 1, 6_u32), CL_SUCCESS);
    assert_eq!(run(copy, p), 5);
    assert_eq!(run(kernel, p), 6);
    // SAFETY: a handle that is not a kernel.
    assert!(unsafe { clCloneKernel(garbage(), &mut error) }.is_null());
    assert_code(error, CL_INVALID_KERNEL);
}

#[test]
fn references_are_counted_and_hold_the_program() {
    let built = build(program(SOURCE), "");
    let kernel = try_kernel(built, "k").unwrap();
    // SAFETY: valid handles, released as often as retained.
    unsafe {
        assert_code(clReleaseProgram(built), CL_SUCCESS);
        assert_code(clRetainKernel(kernel), CL_SUCCESS);
        assert_eq!(number::<cl_uint>(&kernel_info(kernel, CL_KERNEL_REFERENCE_COUNT).unwrap()), 2);
        assert_code(clReleaseKernel(kernel), CL_SUCCESS);
        assert_eq!(number::<usize>(&kernel_info(kernel, CL_KERNEL_PROGRAM).unwrap()), built as usize);
        assert_code(clReleaseKernel(kernel), CL_SUCCESS);
        assert_code(clRetainKernel(garbage()), CL_INVALID_KERNEL);
        assert_code(clReleaseKernel(garbage()), CL_INVALID_KERNEL);
    }
}

#[test]
fn kernel_queries() {
    let kernel = kernel(SOURCE);
    assert_eq!(text(&kernel_info(kernel, CL_KERNEL_FUNCTION_NAME).unwrap()), "k");
    assert_eq!(number::<cl_uint>(&kernel_info(kernel, CL_KERNEL_NUM_ARGS).unwrap()), 5);
    assert_eq!(number::<usize>(&kernel_info(kernel, CL_KERNEL_CONTEXT).unwrap()), context() as usize);
    assert_eq!(text(&kernel_info(kernel, CL_KERNEL_ATTRIBUTES).unwrap()), "");
    assert_eq!(kernel_info(kernel, 0), Err(CL_INVALID_VALUE));
    assert_eq!(kernel_info(garbage(), CL_KERNEL_NUM_ARGS), Err(CL_INVALID_KERNEL));

    let attributes = kernel_with_attributes();
    assert_eq!(
        text(&kernel_info(attributes, CL_KERNEL_ATTRIBUTES).unwrap()),
        "vec_type_hint(uchar4) reqd_work_group_size(4,2,1)"
    );
}

fn kernel_with_attributes() -> cl_kernel {
    kernel(
        "__attribute__((reqd_work_group_size(4, 2, 1))) __attribute__((vec_type_hint(uchar4)))\n\
         kernel void k(global uint *p) { local uint x[10]; x[get_local_id(0)] = 1; p[0] = x[3]; }",
    )
}

#[test]
fn argument_queries() {
    let source = "typedef struct { int a; } S;\n\
                  kernel void k(global const float4 *restrict in, constant unsigned int *c, local volatile int *l, \
                  ulong2 v, S s) {}";
    let kernel = kernel_with(source, "-cl-kernel-arg-info");
    let expected: [(_, _, _, _); 5] = [
        (CL_KERNEL_ARG_ADDRESS_GLOBAL, "float4*", CL_KERNEL_ARG_TYPE_CONST | CL_KERNEL_ARG_TYPE_RESTRICT, "in"),
        (CL_KERNEL_ARG_ADDRESS_CONSTANT, "uint*", CL_KERNEL_ARG_TYPE_CONST, "c"),
        (CL_KERNEL_ARG_ADDRESS_LOCAL, "int*", CL_KERNEL_ARG_TYPE_VOLATILE, "l"),
        (CL_KERNEL_ARG_ADDRESS_PRIVATE, "ulong2", CL_KERNEL_ARG_TYPE_NONE, "v"),
        (CL_KERNEL_ARG_ADDRESS_PRIVATE, "S", CL_KERNEL_ARG_TYPE_NONE, "s"),
    ];
    for (index, (address, type_name, qualifiers, name)) in (0..).zip(expected) {
        let asked = |query| arg_info(kernel, index, query).unwrap();
        assert_eq!(number::<cl_uint>(&asked(CL_KERNEL_ARG_ADDRESS_QUALIFIER)), address, "{name}");
        assert_eq!(number::<cl_uint>(&asked(CL_KERNEL_ARG_ACCESS_QUALIFIER)), CL_KERNEL_ARG_ACCESS_NONE);
        assert_eq!(number::<cl_ulong>(&asked(CL_KERNEL_ARG_TYPE_QUALIFIER)), cl_ulong::from(qualifiers), "{name}");
        assert_eq!(text(&asked(CL_KERNEL_ARG_TYPE_NAME)), type_name);
        assert_eq!(text(&asked(CL_KERNEL_ARG_NAME)), name);
    }
    assert_eq!(arg_info(kernel, 5, CL_KERNEL_ARG_NAME), Err(CL_INVALID_ARG_INDEX));
    assert_eq!(arg_info(kernel, 0, 0), Err(CL_INVALID_VALUE));
    assert_eq!(arg_info(garbage(), 0, CL_KERNEL_ARG_NAME), Err(CL_INVALID_KERNEL));
    let without = kernel_with(source, "");
    assert_eq!(arg_info(without, 0, CL_KERNEL_ARG_NAME), Err(CL_KERNEL_ARG_INFO_NOT_AVAILABLE));
}

#[test]
fn work_group_queries() {
    let kernel = kernel(SOURCE);
    let size: usize = number(&work_group_info(kernel, CL_KERNEL_WORK_GROUP_SIZE).unwrap());
    assert!(size >= 64);
    let multiple: usize = number(&work_group_info(kernel, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE).unwrap());
    assert!(multiple >= 1 && multiple <= size);
    assert_eq!(number::<[usize; 3]>(&work_group_info(kernel, CL_KERNEL_COMPILE_WORK_GROUP_SIZE).unwrap()), [0; 3]);
    assert_eq!(number::<cl_ulong>(&work_group_info(kernel, CL_KERNEL_LOCAL_MEM_SIZE).unwrap()), 0);
    assert_code(set_arg_raw(kernel, 2, 400, null()), CL_SUCCESS);
    assert_eq!(number::<cl_ulong>(&work_group_info(kernel, CL_KERNEL_LOCAL_MEM_SIZE).unwrap()), 400);
    assert_eq!(work_group_info(kernel, CL_KERNEL_PRIVATE_MEM_SIZE).unwrap().len(), 8);
    assert_eq!(work_group_info(kernel, CL_KERNEL_GLOBAL_WORK_SIZE), Err(CL_INVALID_VALUE));
    assert_eq!(work_group_info(kernel, 0), Err(CL_INVALID_VALUE));
    assert_eq!(work_group_info(garbage(), CL_KERNEL_WORK_GROUP_SIZE), Err(CL_INVALID_KERNEL));

    let fixed = kernel_with_attributes();
    assert_eq!(number::<[usize; 3]>(&work_group_info(fixed, CL_KERNEL_COMPILE_WORK_GROUP_SIZE).unwrap()), [4, 2, 1]);
    assert!(number::<cl_ulong>(&work_group_info(fixed, CL_KERNEL_LOCAL_MEM_SIZE).unwrap()) >= 40);

    let query = |device| {
        // SAFETY: no memory is passed.
        unsafe { clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, 0, null_mut(), null_mut()) }
    };
    assert_code(query(null_mut()), CL_SUCCESS);
    assert_code(query(garbage()), CL_INVALID_DEVICE);
}

/// A query about sub-groups, with an input of size_t and an answer of a number of them.
fn sub_group_info(kernel: cl_kernel, name: cl_uint, input: &[usize], room: usize) -> Result<Vec<usize>, cl_int> {
    let mut answer = vec![usize::MAX; room];
    let mut size = 0;
    // SAFETY: sizes and addresses of both arrays.
    let code = unsafe {
        clGetKernelSubGroupInfo(
            kernel,
            device(),
            name,
            size_of_val(input),
            if input.is_empty() { null() } else { input.as_ptr().cast() },
            size_of_val(answer.as_slice()),
            answer.as_mut_ptr().cast(),
            &mut size,
        )
    };
    answer.truncate(size / size_of::<usize>());
    if code == CL_SUCCESS { Ok(answer) } else { Err(code) }
}

#[test]
fn sub_group_queries() {
    let plain = kernel(SOURCE);
    let largest: usize = number(&work_group_info(plain, CL_KERNEL_WORK_GROUP_SIZE).unwrap());
    let one = |name, input: &[usize]| sub_group_info(plain, name, input, 1).map(|answer| answer[0]);
    let size = one(CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, &[64]).unwrap();
    assert!((1..=64).contains(&size));
    assert_eq!(one(CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, &[64, 2, 1]), Ok(size));
    assert_eq!(one(CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, &[1]), Ok(1));
    assert_eq!(one(CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, &[5 * size, 2]), Ok(10));
    assert_eq!(one(CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, &[5 * size, 2, 3]), Ok(30));
    assert_eq!(one(CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, &[size + 1, 2]), Ok(2 + 2_usize.div_ceil(size)));
    let most = one(CL_KERNEL_MAX_NUM_SUB_GROUPS, &[]).unwrap();
    assert!((largest / size..=largest).contains(&most));
    assert_eq!(one(CL_KERNEL_COMPILE_NUM_SUB_GROUPS, &[]), Ok(0));
    let local_size =
        |count: usize, dims| sub_group_info(plain, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, &[count], dims);
    assert_eq!(local_size(3, 1), Ok(vec![3 * size]));
    assert_eq!(local_size(3, 2), Ok(vec![3 * size, 1]));
    assert_eq!(local_size(3, 3), Ok(vec![3 * size, 1, 1]));
    for impossible in [0, largest + 1, usize::MAX] {
        assert_eq!(local_size(impossible, 3), Ok(vec![0; 3]), "{impossible}");
    }

    let fixed = kernel_with_attributes();
    let count =
        8_usize.div_ceil(sub_group_info(fixed, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, &[4, 2], 1).unwrap()[0]);
    assert_eq!(sub_group_info(fixed, CL_KERNEL_MAX_NUM_SUB_GROUPS, &[], 1), Ok(vec![count]));
    assert_eq!(sub_group_info(fixed, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, &[count], 3), Ok(vec![4, 2, 1]));
    assert_eq!(sub_group_info(fixed, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, &[count], 1), Ok(vec![0]));
    assert_eq!(sub_group_info(fixed, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, &[count + 1], 2), Ok(vec![0; 2]));

    for name in [CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE] {
        assert_eq!(one(name, &[]), Err(CL_INVALID_VALUE), "no input");
        assert_eq!(one(name, &[1; 4]), Err(CL_INVALID_VALUE), "four dimensions");
        assert_eq!(sub_group_info(plain, name, &[1], 0), Err(CL_INVALID_VALUE), "no room");
    }
    assert_eq!(local_size(1, 0), Err(CL_INVALID_VALUE));
    assert_eq!(sub_group_info(plain, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, &[1, 1], 1), Err(CL_INVALID_VALUE));
    assert_eq!(sub_group_info(plain, 0, &[], 1), Err(CL_INVALID_VALUE));
    assert_eq!(sub_group_info(garbage(), CL_KERNEL_MAX_NUM_SUB_GROUPS, &[], 1), Err(CL_INVALID_KERNEL));
    let query = |device| {
        // SAFETY: no memory is passed.
        unsafe {
            clGetKernelSubGroupInfo(plain, device, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, null(), 0, null_mut(), null_mut())
        }
    };
    assert_code(query(null_mut()), CL_SUCCESS);
    assert_code(query(garbage()), CL_INVALID_DEVICE);
}

/// Pointers as arguments: of shared memory, or any.
#[test]
fn pointer_arguments() {
    let kernel = kernel(SOURCE);
    let own = 0_u64;
    let own = (&raw const own).cast();
    // SAFETY: pointers are not followed before a launch.
    unsafe {
        for index in [0, 1] {
            assert_code(clSetKernelArgSVMPointer(kernel, index, own), CL_SUCCESS);
            assert_code(clSetKernelArgSVMPointer(kernel, index, null()), CL_SUCCESS);
        }
        for index in [2, 3, 4] {
            assert_code(clSetKernelArgSVMPointer(kernel, index, own), CL_INVALID_ARG_VALUE);
        }
        assert_code(clSetKernelArgSVMPointer(kernel, 5, own), CL_INVALID_ARG_INDEX);
        assert_code(clSetKernelArgSVMPointer(garbage(), 0, null()), CL_INVALID_KERNEL);
    }
}

#[test]
fn exec_info() {
    let kernel = kernel(SOURCE);
    let pointers = [0_u64; 2];
    let pointers = pointers.as_ptr().cast();
    // SAFETY: the sizes are those of the memory passed, or refused.
    let set = |name, size, value| unsafe { clSetKernelExecInfo(kernel, name, size, value) };
    for name in [CL_KERNEL_EXEC_INFO_SVM_PTRS, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT]
    {
        assert_code(set(name, 16, pointers), CL_SUCCESS);
        assert_code(set(name, 0, null()), CL_SUCCESS);
        assert_code(set(name, 12, pointers), CL_INVALID_VALUE);
        assert_code(set(name, 8, null()), CL_INVALID_VALUE);
    }
    for name in [
        CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM,
        CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
        CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
        CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
    ] {
        assert_code(set(name, 4, pointers), CL_SUCCESS);
        assert_code(set(name, 8, pointers), CL_INVALID_VALUE);
        assert_code(set(name, 4, null()), CL_INVALID_VALUE);
    }
    assert_code(set(0, 0, null()), CL_INVALID_VALUE);
    // SAFETY: as above.
    let of_garbage = unsafe { clSetKernelExecInfo(garbage(), CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, null()) };
    assert_code(of_garbage, CL_INVALID_KERNEL);
}

/// A buffer that kernels access by an address in memory lives until the launches it was declared for have ended.
#[test]
fn declared_buffers_are_kept_alive() {
    static ENDED: AtomicBool = AtomicBool::new(false);
    extern "C" fn ended(_mem: cl_mem, _user_data: *mut c_void) {
        ENDED.store(true, Ordering::SeqCst);
    }
    let kernel = kernel("kernel void k(global uint *out, ulong p) { out[0] = *(global uint *)p; }");
    let out = buffer(4);
    let value = 42_u32;
    let properties = [CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT, 1, 0];
    let flags = CL_MEM_COPY_HOST_PTR;
    let mut error = 1;
    let mut address = 0_u64;
    // SAFETY: lists that end, memory of the stated sizes, a function that may be called from any thread.
    unsafe {
        let host = (&raw const value).cast_mut().cast();
        let hidden = clCreateBufferWithProperties(context(), properties.as_ptr(), flags, 4, host, &mut error);
        assert_code(error, CL_SUCCESS);
        let place = (&raw mut address).cast();
        assert_code(clGetMemObjectInfo(hidden, CL_MEM_DEVICE_ADDRESS_EXT, 8, place, null_mut()), CL_SUCCESS);
        assert_code(clSetMemObjectDestructorCallback(hidden, Some(ended), null_mut()), CL_SUCCESS);
        assert_code(set_mem(kernel, 0, out), CL_SUCCESS);
        assert_code(set_arg(kernel, 1, address), CL_SUCCESS);
        let pointers = [address];
        let announced = clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT, 8, pointers.as_ptr().cast());
        assert_code(announced, CL_SUCCESS);
        let gate = clCreateUserEvent(context(), &mut error);
        let queue = queue();
        let launched = clEnqueueNDRangeKernel(queue, kernel, 1, null(), &1, null(), 1, &gate, null_mut());
        assert_code(launched, CL_SUCCESS);
        assert_code(clReleaseMemObject(hidden), CL_SUCCESS);
        assert!(!ENDED.load(Ordering::SeqCst));
        assert_code(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
        assert_eq!(read(queue, out, 1), [42]);
        assert_code(clFinish(queue), CL_SUCCESS);
        assert_code(clReleaseEvent(gate), CL_SUCCESS);
        // The kernel itself keeps nothing.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !ENDED.load(Ordering::SeqCst) {
            assert!(std::time::Instant::now() < deadline, "the buffer was not freed");
            std::thread::yield_now();
        }
    }
}

/// A buffer that cannot be modified is not an argument that the kernel writes through.
#[test]
fn immutable_buffers() {
    let kernel = kernel(
        "void put(global int *p, int v) { *p = v; }
         kernel void k(global const int *a, global int *read, global int *written, global int *changed, constant int *c) {
             size_t i = get_global_id(0);
             put(written + i, a[i] + read[i] + c[i]);
             atomic_add(changed, 1);
         }",
    );
    let mut host = [0_u32; 4];
    let mut error = 1;
    // SAFETY: memory of the stated size that lives as long as the buffer.
    let immutable = unsafe {
        let flags = CL_MEM_IMMUTABLE_EXT | CL_MEM_USE_HOST_PTR;
        clCreateBuffer(context(), flags, 16, host.as_mut_ptr().cast(), &mut error)
    };
    assert_code(error, CL_SUCCESS);
    for (index, expected) in
        [CL_SUCCESS, CL_SUCCESS, CL_INVALID_ARG_VALUE, CL_INVALID_ARG_VALUE, CL_SUCCESS].into_iter().enumerate()
    {
        assert_code(set_mem(kernel, index as cl_uint, immutable), expected);
    }
    // SAFETY: a valid object.
    assert_code(unsafe { clReleaseMemObject(immutable) }, CL_SUCCESS);
}

/// Where nothing is demanded, sub-groups have eight work-items at least: programs keep tables in their values. So it is in code
/// that would be faster with one work-item at a time, and in code that is not optimized.
#[test]
fn sub_groups_hold_tables_of_eight_values() {
    let source = "
        kernel void k(global uint *out, global const int *a) {
            size_t i = get_global_id(0);
            int many[5];
            for (int k = 0; k < 5; k++) many[k] = a[i * 37 % 61 + k];
            int table = a[i * 11 % 61];
            for (int k = 0; k < 8; k++) {
                int entry = sub_group_shuffle(table, k);
                for (uint r = 0; r < i % 7; r++) many[(r * i + entry) % 5u] += a[(uint)(many[r % 5] + entry) % 61u];
            }
            int kept = 0;
            for (int k = 0; k < 5; k++) kept |= many[a[i + k] % 5u];
            out[i] = kept == 0 ? get_max_sub_group_size() : 0;
        }";
    for options in ["-cl-std=CL3.0", "-cl-std=CL3.0 -cl-opt-disable"] {
        let kernel = kernel_with(source, options);
        let size = sub_group_info(kernel, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, &[64], 1).expect("a size")[0];
        assert!(size >= 8, "{options}: {size}");
        let (out, zeros) = (buffer(4 * 64), buffer(4 * 80));
        assert_code(set_mem(kernel, 0, out), CL_SUCCESS);
        assert_code(set_mem(kernel, 1, zeros), CL_SUCCESS);
        let queue = queue();
        // SAFETY: one group of 64 work-items.
        let launched = unsafe { clEnqueueNDRangeKernel(queue, kernel, 1, null(), &64, &64, 0, null(), null_mut()) };
        assert_code(launched, CL_SUCCESS);
        assert_eq!(read(queue, out, 64), vec![size as u32; 64], "{options}");
    }
}

/// Sub-groups of a size that the kernel demands: in the code, in the queries, and refused where there are none such.
#[test]
fn required_sub_group_size() {
    for size in [1_usize, 4, 8, 16, 32] {
        let source = format!(
            "__attribute__((intel_reqd_sub_group_size({size}))) kernel void k(global uint *p) {{
                 size_t i = get_global_id(0);
                 p[i] = get_sub_group_size() + 100 * get_max_sub_group_size() + 10000 * sub_group_reduce_add(1);
             }}"
        );
        let kernel = kernel_with(&source, "-cl-std=CL3.0");
        let ask = |name, local: &[usize]| {
            // SAFETY: `asked` passes buffers of the stated size.
            let bytes = asked(|size, value, size_ret| unsafe {
                let (len, input) = (size_of_val(local), local.as_ptr().cast());
                clGetKernelSubGroupInfo(kernel, device(), name, len, input, size, value, size_ret)
            });
            number::<usize>(&bytes.expect("an answer"))
        };
        assert_eq!(ask(CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL, &[]), size);
        assert_eq!(ask(CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, &[32]), size);
        assert_eq!(ask(CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, &[32]), 32 / size);
        let attributes = text(&kernel_info(kernel, CL_KERNEL_ATTRIBUTES).expect("the attributes"));
        assert_eq!(attributes, format!("intel_reqd_sub_group_size({size})"));
        assert_eq!(number::<u64>(&work_group_info(kernel, CL_KERNEL_SPILL_MEM_SIZE_INTEL).expect("an answer")), 0);
        let out = buffer(4 * 20);
        assert_code(set_mem(kernel, 0, out), CL_SUCCESS);
        let queue = queue();
        // SAFETY: 20 work-items in one group, which need not be whole sub-groups.
        let launched = unsafe { clEnqueueNDRangeKernel(queue, kernel, 1, null(), &20, &20, 0, null(), null_mut()) };
        assert_code(launched, CL_SUCCESS);
        for (item, value) in read(queue, out, 20).into_iter().enumerate() {
            let own = size.min(20 - item / size * size) as u32;
            assert_eq!(value, own + 100 * size as u32 + 10000 * own, "item {item} of sub-groups of {size}");
        }
    }
    let refused = program("__attribute__((intel_reqd_sub_group_size(64))) kernel void k() {}");
    assert_code(try_build(refused, ""), CL_BUILD_PROGRAM_FAILURE);
    assert!(log(refused).contains("sub-groups of 64 work-items"), "{}", log(refused));
}

/// A kernel whose arguments exceed a limit of the device cannot be enqueued.
#[test]
fn limits_of_arguments() {
    let many = |count: usize, ty: &str| {
        let list: Vec<String> = (0..count).map(|number| format!("{ty} a{number}")).collect();
        kernel(&format!("kernel void k({}) {{}}", list.join(", ")))
    };
    let fits = many(16, "sampler_t");
    let sampler = sampler();
    for (kernel, count, code) in [(fits, 16, CL_SUCCESS), (many(17, "sampler_t"), 17, CL_OUT_OF_RESOURCES)] {
        for index in 0..count {
            assert_code(set_arg_raw(kernel, index, size_of::<cl_sampler>(), (&raw const sampler).cast()), CL_SUCCESS);
        }
        assert_code(try_run(kernel), code);
    }
    let image = image();
    for access in ["read_only", "write_only"] {
        for (count, code) in [(128, CL_SUCCESS), (129, CL_OUT_OF_RESOURCES)] {
            let kernel = many(count, &format!("{access} image2d_t"));
            for index in 0..count {
                let value = (&raw const image).cast();
                assert_code(set_arg_raw(kernel, index as cl_uint, size_of::<cl_mem>(), value), CL_SUCCESS);
            }
            assert_code(try_run(kernel), code);
        }
    }
    for (count, code) in [(32, CL_SUCCESS), (33, CL_OUT_OF_RESOURCES)] {
        let kernel = many(count, "ulong16");
        for index in 0..count {
            assert_code(set_arg(kernel, index as cl_uint, [0u64; 16]), CL_SUCCESS);
        }
        assert_code(try_run(kernel), code);
    }
}

fn image() -> cl_mem {
    let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_FLOAT };
    // SAFETY: zeros are valid for each field.
    let mut shape: cl_image_desc = unsafe { std::mem::zeroed() };
    (shape.image_type, shape.image_width, shape.image_height) = (CL_MEM_OBJECT_IMAGE2D, 4, 4);
    let mut error = 1;
    // SAFETY: a valid context and a valid description; no host memory.
    let image = unsafe { clCreateImage(context(), CL_MEM_READ_WRITE, &format, &shape, null_mut(), &mut error) };
    assert_code(error, CL_SUCCESS);
    image
}

fn sampler() -> cl_sampler {
    let mut error = 1;
    // SAFETY: a valid context.
    let sampler = unsafe { clCreateSampler(context(), 0, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &mut error) };
    assert_code(error, CL_SUCCESS);
    sampler
}
