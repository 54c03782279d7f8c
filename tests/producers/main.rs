//! Runs modules of every producer of SPIR-V that is available as a package. Small kernels (`sources/`) were compiled by each
//! producer (with `make`, by the tools that `docs/producers.md` lists); all modules and the source must give the same values. The
//! expected values in `expected/` come from Intel's driver (`CLIFT_BLESS=1 CLIFT_TEST_ICD=LIBRARY cargo test -p clift-tests
//! --test producers` writes them), except for `generic`, where that driver's conversions to named address spaces never give null.
//!
//! Each kernel has 64 work-items, 64 numbers to read and 256 to write; some have additional arguments.
#![allow(unsafe_code, reason = "raw enqueues")]

use std::path::{Path, PathBuf};

use clift_tests::session::session;
use libtest_mimic::{Arguments, Failed, Trial};
use opencl_sys::{CL_ADDRESS_CLAMP, CL_FILTER_NEAREST};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{
    Buffer, CL_MEM_COPY_HOST_PTR, CL_MEM_OBJECT_IMAGE2D, CL_MEM_READ_WRITE, CL_RGBA, CL_UNSIGNED_INT32, Image, Sampler,
};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_image_desc, cl_image_format, cl_uint};

/// Work-items, and numbers to read.
const COUNT: usize = 64;
/// Numbers that a kernel writes.
const WRITTEN: usize = 4 * COUNT;

/// What the driver has to reject, by producer and source, and a word of the reason.
const REFUSED: &[(&str, &str, &str)] = &[
    // `OpGroupAsyncCopy` of untyped pointers: the size of an element is not specified.
    ("intel-2026", "copies", "untyped pointer"),
];

fn main() {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("producers");
    let mut trials = Vec::new();
    for source in files(&root.join("sources")) {
        let name = stem(&source);
        let expected = root.join("expected").join(format!("{name}.txt"));
        let from_source = (name.clone(), expected.clone());
        trials.push(Trial::test(format!("source {name}"), move || {
            check_source(&source, &from_source.0, &from_source.1).map_err(Failed::from)
        }));
        for producer in files(&root.join("modules")) {
            let module = producer.join(format!("{name}.spv"));
            if module.exists() {
                let (name, expected, producer) = (name.clone(), expected.clone(), stem(&producer));
                trials.push(Trial::test(format!("{producer} {name}"), move || {
                    check_module(&module, &producer, &name, &expected).map_err(Failed::from)
                }));
            }
        }
    }
    assert!(trials.len() > 200, "the modules are missing");
    libtest_mimic::run(&arguments, trials).exit();
}

/// The sorted content of a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<_> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    paths
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Builds and runs a source.
fn check_source(path: &Path, name: &str, expected: &Path) -> Result<(), String> {
    let source = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let standard = source.split(" std: ").nth(1).map_or("CL1.2", |rest| rest.split_whitespace().next().unwrap_or(""));
    // OpenCL C 3.0 has as features what 2.0 has.
    let standard = if standard == "CL2.0" { "CL3.0" } else { standard };
    let program = session().build(&source, &format!("-cl-std={standard}"))?;
    let found = run(&program, name).map_err(|error| error.to_string())?;
    if std::env::var_os("CLIFT_BLESS").is_some() {
        let lines: Vec<_> =
            found.chunks(8).map(|row| row.iter().map(|n| format!("{n:08x}")).collect::<Vec<_>>()).collect();
        let text: String = lines.iter().map(|row| row.join(" ") + "\n").collect();
        return std::fs::write(expected, text).map_err(|error| error.to_string());
    }
    compare(&found, expected)
}

/// Builds and runs a module.
fn check_module(path: &Path, producer: &str, name: &str, expected: &Path) -> Result<(), String> {
    let words = std::fs::read(path).map_err(|error| error.to_string())?;
    let built = session().build_il(&words, "");
    let refused = REFUSED.iter().find(|(by, of, _)| *by == producer && *of == name);
    match (built, refused) {
        (Ok(program), None) => compare(&run(&program, name).map_err(|error| error.to_string())?, expected),
        (Err(error), Some((.., why))) if error.contains(why) => Ok(()),
        (Err(error), _) => Err(error),
        (Ok(_), Some(_)) => Err("is not refused".to_owned()),
    }
}

fn compare(found: &[cl_uint], expected: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(expected).map_err(|error| format!("{}: {error}", expected.display()))?;
    let wanted: Vec<cl_uint> = text.split_whitespace().filter_map(|n| cl_uint::from_str_radix(n, 16).ok()).collect();
    let mut differences = found.iter().zip(&wanted).enumerate().filter(|(_, (found, wanted))| found != wanted);
    match differences.next() {
        _ if wanted.len() != WRITTEN => Err(format!("{} numbers are expected", wanted.len())),
        Some((at, (found, wanted))) => {
            Err(format!("number {at} is {found:08x}, not {wanted:08x}; {} more differ", differences.count()))
        }
        None => Ok(()),
    }
}

/// The output of a program's kernel `t`.
fn run(program: &Program, name: &str) -> opencl3::Result<Vec<cl_uint>> {
    let session = session();
    let (context, queue) = (&session.context, session.queue());
    let mut input: Vec<cl_uint> = (0..COUNT as cl_uint).map(|i| (i * i * 37 + i * 11) % 1000).collect();
    let mut output = vec![0; WRITTEN];
    let kernel = Kernel::create(program, "t")?;
    let mut record = [1_u32, 2 | 3 << 16, 0, 0, 4, 5, 6, 7];
    let mut pixels: Vec<cl_uint> = (0..WRITTEN as cl_uint).map(|i| i * 7 % 251).collect();
    let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_UNSIGNED_INT32 };
    let shape = cl_image_desc {
        image_type: CL_MEM_OBJECT_IMAGE2D,
        image_width: 8,
        image_height: 8,
        image_depth: 1,
        image_array_size: 1,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: std::ptr::null_mut(),
    };
    // SAFETY: host memory of the stated sizes outlives the calls, which block; arguments are what the kernels of `sources/`
    // declare.
    unsafe {
        let copied = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
        let from = Buffer::<cl_uint>::create(context, copied, COUNT, input.as_mut_ptr().cast())?;
        let to = Buffer::<cl_uint>::create(context, copied, WRITTEN, output.as_mut_ptr().cast())?;
        let image = Image::create(context, copied, &format, &shape, pixels.as_mut_ptr().cast())?;
        let written = Image::create(context, copied, &format, &shape, pixels.as_mut_ptr().cast())?;
        let sampler = Sampler::create(context, 0, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST)?;
        let mut launch = ExecuteKernel::new(&kernel);
        launch.set_arg(&to).set_arg(&from);
        match name {
            "struct_argument" => drop(launch.set_arg(&std::mem::take(&mut record))),
            "images" => drop(launch.set_arg(&image).set_arg(&written).set_arg(&sampler)),
            _ => {}
        }
        if name == "ids" {
            launch
                .set_global_work_sizes(&[4, 4, 4])
                .set_local_work_sizes(&[2, 2, 2])
                .set_global_work_offsets(&[1, 2, 3]);
        } else if name == "copies" {
            // With groups of 16, work-items would read what others write without a barrier between.
            launch.set_global_work_size(COUNT / 2).set_local_work_size(8);
        } else {
            launch.set_global_work_size(COUNT).set_local_work_size(16);
        }
        launch.enqueue_nd_range(&queue)?;
        queue.enqueue_read_buffer(&to, CL_BLOCKING, 0, &mut output, &[])?;
        if name == "images" {
            // What was written into the other image counts as well.
            queue.enqueue_read_image(
                &written,
                CL_BLOCKING,
                [0; 3].as_ptr(),
                [8, 8, 1].as_ptr(),
                0,
                0,
                pixels.as_mut_ptr().cast(),
                &[],
            )?;
            output.iter_mut().zip(&pixels).for_each(|(number, pixel)| *number = number.wrapping_mul(3) ^ pixel);
        }
    }
    Ok(output)
}
