//! The front end against the installed clang, and against scripts that crash, hang and fail.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{Action, Clang, MAGIC, module, repairs};
use crate::frontend::child::End;
use crate::frontend::options::{BuildCall, BuildOptions};
use crate::frontend::{Compiled, Failure, FrontEnd, Header, Job, Profile};

const SIMPLE: &str = "kernel void k(global int *p, int n) { p[get_global_id(0)] = n; }\n";

fn profile() -> Arc<Profile> {
    Arc::new(Profile {
        opencl_version: 300,
        extensions: vec!["cl_khr_byte_addressable_store", "cl_khr_fp64", "cl_khr_made_up"],
        features: vec!["__opencl_c_int64", "__opencl_c_fp64"],
        spirv_extensions: vec!["SPV_EXT_relaxed_printf_string_address_space"],
        images: false,
        bits_64: true,
    })
}

/// The installed clang. Tests that need it report when it is missing, and pass.
fn clang() -> Option<Clang> {
    let clang = Clang::new(None, Duration::from_secs(60));
    if clang.identity().is_none() {
        eprintln!("skipped: no clang >= 20 installed");
        return None;
    }
    Some(clang)
}

fn compile_with(clang: &Clang, source: &str, headers: &[Header], options: &str) -> Result<Compiled, Failure> {
    let options = BuildOptions::parse(options, BuildCall::Compile).unwrap();
    let job = Job { source: source.as_bytes(), headers, options: &options, profile: &profile(), level: 2, whole: true };
    clang.compile(&job, None)
}

/// Writes an executable shell script. Another process does the writing: a child that another test starts at the same time could
/// inherit a descriptor open for writing in this process, and executing the script would then fail with "text file busy".
pub(crate) fn write_script(path: &Path, script: &str) {
    let status = std::process::Command::new("/bin/sh")
        .args(["-c", "printf '#!/bin/sh\n%s\n' \"$1\" >\"$2\" && chmod 755 \"$2\"", "sh", script])
        .arg(path)
        .status()
        .unwrap();
    assert!(status.success());
}

/// A shell script that stands in for clang.
fn stand_in(script: &str) -> (tempfile::TempDir, Clang) {
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join("clang-99");
    write_script(&path, script);
    let clang = Clang::new(Some(path.into_os_string()), Duration::from_secs(2));
    (directory, clang)
}

#[test]
fn a_kernel_compiles_at_every_version_and_level() {
    let Some(clang) = clang() else { return };
    for options in ["", "-cl-std=CL1.1", "-cl-std=CL1.2", "-cl-std=CL2.0", "-cl-std=CL3.0", "-cl-opt-disable"] {
        let compiled = compile_with(&clang, SIMPLE, &[], options).unwrap();
        assert_eq!(compiled.words[0], MAGIC);
        assert_eq!(compiled.log, "", "{options}");
    }
}

#[test]
fn every_standard_option_reaches_a_compiler_that_accepts_it() {
    let Some(clang) = clang() else { return };
    let options = "-D A -DB=2 -U C -I . -cl-single-precision-constant -cl-denorms-are-zero \
                   -cl-fp32-correctly-rounded-divide-sqrt -cl-strict-aliasing -cl-uniform-work-group-size \
                   -cl-no-subgroup-ifp -cl-mad-enable -cl-no-signed-zeros -cl-unsafe-math-optimizations \
                   -cl-finite-math-only -cl-fast-relaxed-math -Werror -cl-std=CL2.0 -cl-kernel-arg-info -g";
    let source = format!(
        "#if A != 1 || B != 2 || !defined(__FAST_RELAXED_MATH__) || __OPENCL_C_VERSION__ != 200\n#error no\n#endif\n\
         {SIMPLE}"
    );
    assert_eq!(compile_with(&clang, &source, &[], options).unwrap().log, "");
}

#[test]
fn macros_match_the_profile() {
    let Some(clang) = clang() else { return };
    let source = format!(
        "#if __OPENCL_VERSION__ != 300 || __OPENCL_C_VERSION__ != 120 || __ENDIAN_LITTLE__ != 1 || cl_khr_fp64 != 1 \
         || cl_khr_made_up != 1 || CL_VERSION_1_2 != 120\n#error missing\n#endif\n\
         #if defined(__IMAGE_SUPPORT__) || defined(cl_khr_fp16) || defined(cl_intel_subgroups) \
         || defined(__FAST_RELAXED_MATH__) || defined(cl_khr_3d_image_writes)\n#error too much\n#endif\n{SIMPLE}"
    );
    compile_with(&clang, &source, &[], "").unwrap();
    let source = format!(
        "#if !defined(__opencl_c_int64) || !defined(__opencl_c_fp64) || defined(__opencl_c_pipes) \
         || defined(__opencl_c_images) || defined(__opencl_c_subgroups)\n#error features\n#endif\n{SIMPLE}"
    );
    compile_with(&clang, &source, &[], "-cl-std=CL3.0").unwrap();
}

#[test]
fn errors_and_warnings_are_in_the_log() {
    let Some(clang) = clang() else { return };
    let failure = compile_with(&clang, "kernel void k(global int *p) { p[0] = 1 }", &[], "").unwrap_err();
    assert!(failure.log.contains("program.cl:1:40: error: expected ';'"), "{}", failure.log);
    assert!(!failure.log.contains("back end"), "not tried again: {}", failure.log);
    let warned = "kernel void k(global int *p) { int unused; p[0] = 1;\n#warning careful\n}";
    let compiled = compile_with(&clang, warned, &[], "").unwrap();
    assert!(compiled.log.contains("program.cl:2:2: warning: careful"), "{}", compiled.log);
    assert!(compile_with(&clang, warned, &[], "-Werror").is_err());
    assert_eq!(compile_with(&clang, warned, &[], "-w").unwrap().log, "");
}

#[test]
fn headers_are_found_first_and_in_directories() {
    let Some(clang) = clang() else { return };
    let header = |name: &str, text: &str| Header { name: name.to_owned(), text: text.as_bytes().to_vec() };
    let disk = tempfile::tempdir().unwrap();
    std::fs::write(disk.path().join("a.h"), "#error the one on disk\n").unwrap();
    std::fs::write(disk.path().join("disk only.h"), "#define DISK 1\n").unwrap();
    let headers = [
        header("a.h", "#include <sub/b.h>\n"),
        header("sub/b.h", "#include \"c.h\"\n"),
        header("sub/c.h", "#define C 3\n"),
    ];
    let source =
        "#include \"a.h\"\n#include <a.h>\n#include \"disk only.h\"\nkernel void k(global int *p) { *p = C + DISK; }";
    let options = format!("-I \"{}\"", disk.path().display());
    let compiled = compile_with(&clang, source, &headers, &options).unwrap();
    assert_eq!(compiled.log, "");
    let failure = compile_with(&clang, "#include \"a.h\"", &[header("a.h", "\n#error here\n")], "").unwrap_err();
    assert!(failure.log.contains("\na.h:2:2: error: here") || failure.log.contains("a.h:2:2: error: here"));
    assert!(!failure.log.contains("clift-"), "{}", failure.log);
}

#[test]
fn kernels_are_described() {
    let Some(clang) = clang() else { return };
    let source = "__attribute__((reqd_work_group_size(4,2,1))) __attribute__((vec_type_hint(uchar4)))\n\
                  kernel void first(global const float4 *restrict in, constant unsigned int *c, local int *l, long n) {}\n\
                  kernel void second(void) {}";
    let options = BuildOptions::default();
    let job =
        Job { source: source.as_bytes(), headers: &[], options: &options, profile: &profile(), level: 2, whole: true };
    let kernels = clang.describe(&job).unwrap();
    assert_eq!(kernels.len(), 2);
    assert_eq!(kernels[0].attributes, "vec_type_hint(uchar4) reqd_work_group_size(4,2,1)");
    let names: Vec<_> = kernels[0].args.iter().map(|arg| (arg.name.as_str(), arg.type_name.as_str())).collect();
    assert_eq!(names, [("in", "float4*"), ("c", "uint*"), ("l", "int*"), ("n", "long")]);
    assert!(kernels[0].args[0].type_qualifiers().is_restrict && kernels[0].args[1].type_qualifiers().is_const);
    assert!(kernels[1].args.is_empty() && kernels[1].attributes.is_empty());
}

#[test]
fn saturating_conversions_depend_on_both_types() {
    let Some(clang) = clang() else { return };
    // All pairs of types, with and without rounding, also with names built by the preprocessor.
    let source = "#define N(T, R) convert_ ## T ## _sat ## R\n\
                  kernel void k(global char4 *o, int4 a, float4 b, uint4 c, global const short4 *d, uchar e) {\n\
                  const int4 f = a;\n\
                  o[0] = convert_char4_sat(a); o[1] = convert_char4_sat_rte(b); o[2] = N(char4, _rtz)(c);\n\
                  o[3] = convert_char4_sat(d[1]); o[4] = convert_char4_sat(f + 1); o[5].x = N(char,)(e); }\n\
                  kernel void l(global ulong *o, uint a, double b, ulong c, long d) {\n\
                  o[0] = convert_ulong_sat(a) + convert_ulong_sat(b) + convert_ulong_sat(c) + convert_ulong_sat(d); }";
    for options in ["-Werror", "-Werror -cl-std=CL1.1", "-Werror -cl-std=CL2.0", "-Werror -cl-std=CL3.0"] {
        assert_eq!(compile_with(&clang, source, &[], options).unwrap().log, "");
    }
    // Locations in errors still refer to the program.
    let failure =
        compile_with(&clang, "kernel void k() {\n char c = convert_char_sat(nothing); }", &[], "").unwrap_err();
    assert!(failure.log.contains("program.cl:2:"), "{}", failure.log);
}

/// Every function that a library defines, called at least once with every kind of argument it has.
const REPAIRED: &str = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
    kernel void conversions(global char4 *c, global uint4 *u, global long *l, global ushort16 *s) {
        c[0] = convert_char4_sat(u[1]) + convert_char4(u[2]) + convert_char4_sat_rte(convert_short4(c[1]));
        u[0] = convert_uint4_rtz(c[2]); l[0] = convert_long_sat(l[1]) + convert_long(c[0].x);
        s[0] = convert_ushort16_sat_rtn(convert_ulong16(s[1])) + convert_ushort16(convert_uchar16(s[2]));
    }
    kernel void copies(global int *g, global const float4 *f, local int *l, local float4 *m, global half *h) {
        event_t e = async_work_group_copy(l, g, 5, 0);
        e = async_work_group_copy(m, f, 5, e); e = async_work_group_copy(g, l, 5, e);
        e = async_work_group_strided_copy(l, g, 5, 2, e); e = async_work_group_strided_copy(g, l, 5, 2, e);
        wait_group_events(1, &e);
        float3 a = vloada_half3(1, h); g[7] = a.y;
    }
    kernel void bits(global uint4 *u, global char *c) {
        u[0] = bit_reverse(u[1]) + bitfield_insert(u[2], u[3], 3, 4) + bitfield_extract_unsigned(u[4], 3, 4);
        c[0] = bitfield_extract_signed(c[1], 2, 3) + bit_reverse(c[3]);
    }\n";

const REPAIRED_OF_2_0: &str = "kernel void atomics(global atomic_int *g, local atomic_float *l, global int *o) {
        int e = 1; float f; global int *ge = o; local int le;
        o[0] = atomic_compare_exchange_strong_explicit(g, &e, 2, memory_order_relaxed, memory_order_relaxed);
        o[1] = atomic_compare_exchange_weak_explicit(l, &f, 2, memory_order_relaxed, memory_order_relaxed);
        o[2] = atomic_compare_exchange_weak_explicit(g, ge, 2, memory_order_relaxed, memory_order_relaxed);
        o[3] = atomic_load_explicit(g, memory_order_acquire) + atomic_load_explicit(l, memory_order_relaxed, memory_scope_device);
    }
    kernel void images(read_only image2d_t i, write_only image2d_t o, sampler_t s, global float4 *p, read_only image2d_array_depth_t d,
                       read_write image3d_t r) {
        p[0] = read_imagef(i, s, (float2)(1), 1.0f) + read_imagef(i, s, (float2)(1), (float2)(1), (float2)(2));
        p[1].x = read_imagef(d, s, (float4)(1), 1.0f); p[2] = convert_float4(read_imageui(i, s, (float2)(1), 2.0f));
        write_imagef(o, (int2)(1), 1, p[3]); write_imagei(r, (int4)(1), 1, (int4)(1));
    }\n";

/// Calls of functions that clang does not declare.
const UNDECLARED: &str =
    "kernel void blocks(global int *g, local int *l, read_only image2d_t i, sampler_t s, global float4 *p) {
        event_t e = async_work_group_copy_2D2D(l, 0, g, 0, 4, 8, 2, 16, 8, 0);
        async_work_group_copy_fence(CLK_LOCAL_MEM_FENCE);
        e = async_work_group_copy_3D3D(g, 0, l, 0, 4, 8, 2, 16, 8, 8, 4, 4, e); wait_group_events(1, &e);
        p[0] = read_imagef(i, s, (float2)(1), 1.0f); p[1] = convert_float4(read_imageh(i, s, (float2)(1), 1.0f));
    }\n";

fn full_profile() -> Arc<Profile> {
    crate::caps::profile().clone()
}

/// The functions that a source imports after linking the libraries selected by its names or by its imports.
fn imports_left(clang: &Clang, source: &str, options: &str, by_names: bool) -> Vec<String> {
    let options = BuildOptions::parse(options, BuildCall::Compile).unwrap();
    let profile = full_profile();
    let job =
        Job { source: source.as_bytes(), headers: &[], options: &options, profile: &profile, level: 2, whole: true };
    let candidate = &clang.candidates()[0];
    let front = clang.run(candidate, &job, Action::Front(2), &[], None).unwrap();
    assert_eq!(front.end, End::Exit(0), "{}", front.diagnostics);
    let libraries = if by_names {
        repairs::named(&job)
    } else {
        let imports = module::edit(&front.output, true).imports;
        repairs::called(imports.iter().map(String::as_str))
    };
    let linked = clang.run(candidate, &job, Action::Front(2), &libraries, None).unwrap();
    module::edit(&linked.output, true).imports
}

#[test]
fn libraries_define_the_functions_that_the_back_end_mistranslates() {
    let Some(clang) = clang() else { return };
    for (source, options) in [
        (REPAIRED, ""),
        (REPAIRED, "-cl-std=CL1.1"),
        (REPAIRED, "-cl-std=CL2.0"),
        (REPAIRED, "-cl-std=CL3.0"),
        (REPAIRED_OF_2_0, "-cl-std=CL2.0"),
        (REPAIRED_OF_2_0, "-cl-std=CL3.0"),
        (UNDECLARED, ""),
        (UNDECLARED, "-cl-std=CL3.0"),
    ] {
        for by_names in [true, false] {
            let mut imports = imports_left(&clang, source, options, by_names);
            // The library defines a variant without a scope by one with a scope.
            imports.retain(|name| !name.ends_with("12memory_scope"));
            let left = repairs::called(imports.iter().map(String::as_str));
            assert_eq!(left, Vec::<&repairs::Repair>::new(), "{options}: {imports:?}");
        }
    }
}

#[test]
fn every_library_compiles() {
    let Some(clang) = clang() else { return };
    for row in repairs::TABLE {
        let bitcode = clang.library(&clang.candidates()[0], row, None).unwrap();
        assert!(bitcode.starts_with(b"BC"), "{row:?}");
    }
}

/// Prints a minimal module: the magic number and four more words.
const MODULE: &str = r"printf '\003\002\043\007\000\004\001\000\000\000\000\000\001\000\000\000\000\000\000\000'";

#[test]
fn a_failing_back_end_is_retried_at_lower_levels() {
    for failure in ["kill -SEGV $$", "echo 'fatal error: error in backend: Cannot select: G_X' >&2; exit 70"] {
        let (_directory, clang) = stand_in(&format!("case \"$*\" in *-O0*) {MODULE};; *) {failure};; esac"));
        let compiled = compile_with(&clang, SIMPLE, &[], "").unwrap();
        // The application sees no warning about it.
        assert_eq!((compiled.words.len(), compiled.log.as_str()), (5, ""));
    }
    // An ordinary failure is the back end's fault when syntax and types are correct.
    let (_directory, clang) = stand_in(&format!(
        "case \"$*\" in *-fsyntax-only*) ;; *-O1*) {MODULE};; *) echo 'error: bitcast' >&2; exit 1;; esac"
    ));
    assert_eq!(compile_with(&clang, SIMPLE, &[], "").unwrap().words.len(), 5);
    let log = compile_with(&clang, SIMPLE, &[], "-cl-opt-disable").unwrap_err().log;
    assert!(log.contains("failed at -O0: error: bitcast"), "{log}");
}

#[test]
fn a_back_end_that_always_fails_is_a_readable_error() {
    let (_directory, clang) = stand_in("echo 'PLEASE submit a bug report' >&2; seq 1000 >&2; kill -ABRT $$");
    let log = compile_with(&clang, SIMPLE, &[], "").unwrap_err().log;
    assert!(log.contains("failed at -O0: it crashed (signal 6)"), "{log}");
    assert!(log.lines().count() < 30, "{log}");
}

#[test]
fn a_hanging_compiler_is_stopped() {
    let (_directory, clang) = stand_in("exec sleep 100");
    let clang = Clang { limit: Duration::from_millis(200), ..clang };
    let log = compile_with(&clang, SIMPLE, &[], "").unwrap_err().log;
    assert!(log.contains("clang was stopped"), "{log}");
}

#[test]
fn an_invalid_module_is_a_failure() {
    for script in ["echo hello", "true", "printf 'abc'", &format!("{MODULE}; printf 'x'")] {
        let (_directory, clang) = stand_in(script);
        assert!(compile_with(&clang, SIMPLE, &[], "").is_err(), "{script}");
    }
}

#[test]
fn a_missing_compiler_is_an_error_with_instructions() {
    let none = Clang::new(Some("".into()), Duration::from_secs(1));
    assert!(none.identity().is_none());
    let log = compile_with(&none, SIMPLE, &[], "").unwrap_err().log;
    assert!(log.contains("clang-22"), "{log}");
    let (_directory, without) = stand_in("echo \"error: unable to create target: 'No available targets'\" >&2; exit 1");
    assert!(compile_with(&without, SIMPLE, &[], "").unwrap_err().log.contains("clang-22"));
}

/// How many sources of a corpus compile: `CLIFT_CORPUS=DIRECTORY cargo test -p clift-icd corpus -- --ignored --nocapture`.
/// Build options stated in a source in piglit's format (`build_options: ...`) are used.
#[test]
#[ignore = "needs a directory of sources in CLIFT_CORPUS"]
fn corpus() {
    let root = std::env::var_os("CLIFT_CORPUS").expect("CLIFT_CORPUS names a directory");
    let clang = clang().expect("a clang");
    let mut pending = vec![PathBuf::from(root)];
    let mut files = Vec::new();
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cl") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut profile = profile().as_ref().clone();
    profile.extensions = vec![
        "cl_khr_byte_addressable_store",
        "cl_khr_fp64",
        "cl_khr_fp16",
        "cl_khr_global_int32_base_atomics",
        "cl_khr_global_int32_extended_atomics",
        "cl_khr_local_int32_base_atomics",
        "cl_khr_local_int32_extended_atomics",
        "cl_khr_int64_base_atomics",
        "cl_khr_int64_extended_atomics",
    ];
    profile.images = true;
    let profile = Arc::new(profile);
    let (mut good, mut bad) = (0, 0);
    for path in &files {
        let source = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&source);
        let stated = text.lines().find_map(|line| line.trim().strip_prefix("build_options:")).unwrap_or("");
        let Ok(options) = BuildOptions::parse(stated, BuildCall::Compile) else {
            println!("OPTIONS {}: {stated}", path.display());
            bad += 1;
            continue;
        };
        let job = Job { source: &source, headers: &[], options: &options, profile: &profile, level: 2, whole: true };
        match clang.compile(&job, None) {
            Ok(_) => good += 1,
            Err(failure) => {
                bad += 1;
                let line = failure.log.lines().find(|line| line.contains("error")).unwrap_or(&failure.log);
                println!("FAILED {}: {line}", path.display());
            }
        }
    }
    println!("{} sources: {good} compiled, {bad} failed", files.len());
}
