//! Programs from SPIR-V: binaries, specialization constants, malformed modules.

use std::path::Path;
use std::process::Command;

use opencl3::error_codes::{CL_INVALID_SPEC_ID, CL_INVALID_VALUE};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_ulong};

use clift_tests::session::{Session, session};

const QUERY_LEVEL: &[u8] = include_bytes!("query_level.spv");
const SPEC_CONSTANTS: &[u8] = include_bytes!("spec_constants.spv");

/// The session, when its driver takes SPIR-V; Clift has to.
fn session_with_il() -> Option<&'static Session> {
    let session = session();
    let versions =
        cl3::device::get_device_data(session.device_id(), cl3::device::CL_DEVICE_IL_VERSION).unwrap_or_default();
    let has_il = versions.starts_with(b"SPIR-V");
    assert!(has_il || !session.driver.is_clift, "the device must take SPIR-V");
    has_il.then_some(session)
}

/// What the module's kernel stores.
fn stored(session: &Session, program: &Program) -> [cl_ulong; 6] {
    let kernel = Kernel::create(program, "spec").expect("the kernel");
    let queue = session.queue();
    let mut out = [0; 6];
    // SAFETY: the one argument is a buffer of the six words that the kernel writes.
    unsafe {
        let buffer =
            Buffer::<cl_ulong>::create(&session.context, CL_MEM_READ_WRITE, 6, std::ptr::null_mut()).expect("a buffer");
        ExecuteKernel::new(&kernel)
            .set_arg(&buffer)
            .set_global_work_size(1)
            .enqueue_nd_range(&queue)
            .expect("a launch");
        queue.enqueue_read_buffer(&buffer, CL_BLOCKING, 0, &mut out, &[]).expect("a read");
    }
    out
}

/// Sets a constant to a value of its own type.
fn set<T>(program: &Program, id: u32, value: T) {
    // SAFETY: the value's address and size.
    unsafe { program.set_specialization_constant(id, size_of::<T>(), (&raw const value).cast()) }.expect("a constant");
}

#[test]
fn specialization_constants() {
    let Some(session) = session_with_il() else { return };
    let mut program = Program::create_from_il(&session.context, SPEC_CONSTANTS).expect("a module");
    program.build(session.context.devices(), "").expect("a build");
    assert_eq!(
        stored(session, &program),
        [11, u64::from(1.5_f32.to_bits()), 12_345_678_901_234, 2.25_f64.to_bits(), 7, 121]
    );
    set(&program, 1, -3_i32);
    set(&program, 2, -0.25_f32);
    set(&program, 3, -1_i64);
    set(&program, 4, 1.0e100_f64);
    set(&program, 5, -1_i8);
    set(&program, 6, 0_u8);
    // Nothing changes before the next build.
    program.build(session.context.devices(), "").expect("a second build");
    assert_eq!(
        stored(session, &program),
        [
            u64::from(-3_i32 as u32),
            u64::from((-0.25_f32).to_bits()),
            u64::MAX,
            1.0e100_f64.to_bits(),
            255,
            u64::from(-3_i32 as u32)
        ]
    );
}

#[test]
fn wrong_specialization_constants() {
    let Some(session) = session_with_il() else { return };
    let program = Program::create_from_il(&session.context, SPEC_CONSTANTS).expect("a module");
    let set = |id, size, value: *const u64| {
        // SAFETY: eight readable bytes, or null, which the call has to refuse.
        unsafe { program.set_specialization_constant(id, size, value.cast()) }.map_err(|error| error.0)
    };
    let value = 1_u64;
    assert_eq!(set(99, 4, &value), Err(CL_INVALID_SPEC_ID));
    assert_eq!(set(1, 8, &value), Err(CL_INVALID_VALUE));
    assert_eq!(set(1, 4, std::ptr::null()), Err(CL_INVALID_VALUE));
    assert_eq!(set(6, 1, &value), Ok(()));
}

#[test]
fn module_is_given_back() {
    let Some(session) = session_with_il() else { return };
    let program = Program::create_from_il(&session.context, SPEC_CONSTANTS).expect("a module");
    let il = cl3::program::get_program_data(program.get(), cl3::program::CL_PROGRAM_IL).expect("the module");
    assert_eq!(il, SPEC_CONSTANTS);
    // A program that was not made from SPIR-V has none.
    let program = Program::create_from_source(&session.context, "kernel void t(void) {}").expect("a program");
    let il = cl3::program::get_program_data(program.get(), cl3::program::CL_PROGRAM_IL).expect("an empty answer");
    assert!(il.is_empty());
}

/// Whatever the bytes: an error code from creation or build, or a program; never the end of the process.
#[test]
fn malformed_modules() {
    let Some(session) = session_with_il() else { return };
    if !session.driver.is_clift {
        return;
    }
    let good = SPEC_CONSTANTS;
    assert_eq!(
        Program::create_from_il(&session.context, &[]).map(drop).map_err(|error| error.0),
        Err(CL_INVALID_VALUE)
    );
    let mut refused = 0;
    let mut attempt = |bytes: &[u8]| {
        let built = Program::create_from_il(&session.context, bytes)
            .and_then(|mut program| program.build(session.context.devices(), ""));
        refused += usize::from(built.is_err());
    };
    for len in 1..good.len() {
        attempt(&good[..len]);
    }
    for at in 0..good.len() {
        let mut bytes = good.to_vec();
        bytes[at] ^= 1 << (at % 8);
        attempt(&bytes);
        bytes[at] = 0xFF;
        attempt(&bytes);
    }
    assert!(refused > good.len(), "only {refused} of the damaged modules were refused");
}

/// `.spv` files are what the assembler makes of the `.spvasm` beside them.
#[test]
fn modules_are_fresh() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("host");
    let mut stale = Vec::new();
    for entry in std::fs::read_dir(&dir).expect("the directory of modules") {
        let source = entry.expect("an entry").path();
        if source.extension().is_none_or(|extension| extension != "spvasm") {
            continue;
        }
        let output = std::env::temp_dir().join(format!("clift-spirv-{}.spv", std::process::id()));
        let status =
            Command::new("spirv-as").args(["--target-env", "spv1.2"]).arg(&source).arg("-o").arg(&output).status();
        let Ok(status) = status else {
            eprintln!("skipped: no spirv-as");
            return;
        };
        assert!(status.success(), "{}", source.display());
        let mut fresh = std::fs::read(&output).expect("the assembler's output");
        std::fs::remove_file(&output).expect("a temporary file");
        // The third word names the assembler and its version.
        fresh[8..12].fill(0);
        let stored = source.with_extension("spv");
        if std::env::var_os("CLIFT_BLESS").is_some() {
            std::fs::write(&stored, &fresh).expect("the stored module");
        }
        if std::fs::read(&stored).ok() != Some(fresh) {
            stale.push(stored);
        }
    }
    assert!(
        stale.is_empty(),
        "{stale:?} differ from their source: cargo xtask bless -p clift-tests --test host modules_are_fresh"
    );
}

/// The size of a level that does not exist: the driver reads nothing behind the image's descriptor.
#[test]
fn sizes_of_levels() {
    use opencl3::memory::{CL_MEM_OBJECT_IMAGE2D, CL_RGBA, CL_UNORM_INT8, Image, cl_image_desc, cl_image_format};
    let Some(session) = session_with_il() else { return };
    if !session.driver.is_clift {
        return;
    }
    let mut program = Program::create_from_il(&session.context, QUERY_LEVEL).expect("a module");
    program.build(session.context.devices(), "").expect("a build");
    let kernel = Kernel::create(&program, "query").expect("the kernel");
    let queue = session.queue();
    let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_UNORM_INT8 };
    let desc = cl_image_desc {
        image_type: CL_MEM_OBJECT_IMAGE2D,
        image_width: 5,
        image_height: 3,
        image_depth: 0,
        image_array_size: 0,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: std::ptr::null_mut(),
    };
    // SAFETY: no host memory is involved; the arguments are those that the kernel declares.
    unsafe {
        let none = std::ptr::null_mut();
        let image = Image::create(&session.context, CL_MEM_READ_WRITE, &format, &desc, none).expect("an image");
        let buffer = Buffer::<u32>::create(&session.context, CL_MEM_READ_WRITE, 2, none).expect("a buffer");
        for level in [0, 1, 14, 15, 1 << 20, i32::MAX, i32::MIN, -1] {
            ExecuteKernel::new(&kernel)
                .set_arg(&image)
                .set_arg(&level)
                .set_arg(&buffer)
                .set_global_work_size(1)
                .enqueue_nd_range(&queue)
                .expect("a launch");
            let mut size = [0u32; 2];
            queue.enqueue_read_buffer(&buffer, CL_BLOCKING, 0, &mut size, &[]).expect("a read");
            assert_eq!(size, [5, 3], "level {level}");
        }
    }
}
