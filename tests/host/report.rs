//! The vectorizer's report in the build log: only if it is asked for, and as the performance guide shows it.

use std::path::{Path, PathBuf};

use opencl3::program::Program;

use clift_tests::session::session;

use crate::child;

const OPTION: &str = "-clift-vectorize-report";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(file(name)).expect("a file of the repository")
}

/// The build log of a program that builds.
fn log(source: &str, options: &str) -> String {
    let session = session();
    let mut program = Program::create_from_source(&session.context, source).expect("a program");
    program.build(session.context.devices(), options).unwrap_or_else(|error| panic!("{options}: {error}"));
    program.get_build_log(session.device_id()).expect("a build log")
}

/// Kernels of all kinds. Images are compiled in a way of their own.
#[test]
fn the_log_of_a_build_without_warnings_is_empty() {
    if !session().driver.is_clift {
        return;
    }
    const IMAGE: &str = "constant sampler_t s = CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
        kernel void t(read_only image2d_t i, write_only image2d_t o) {
            int2 at = (int2)(get_global_id(0), get_global_id(1));
            write_imagef(o, at, read_imagef(i, s, at).wzyx);
        }";
    const PRINT: &str = "kernel void t(int x) { if (x > 3) printf(\"%d\\n\", x); }";
    let files = ["examples/report.cl", "examples/filter.cl"].map(read);
    for source in files.iter().map(String::as_str).chain([IMAGE, PRINT]) {
        for options in ["", "-cl-std=CL3.0", "-cl-opt-disable -cl-kernel-arg-info", "-cl-fast-relaxed-math -w"] {
            assert_eq!(log(source, options), "", "{options}\n{source}");
        }
    }
}

#[test]
fn the_guide_shows_the_report() {
    const NAME: &str = "report::the_guide_shows_the_report";
    if !child::is_for(NAME) {
        // The number of lanes depends on the processor.
        let output = child::run(NAME, &[("CLIFT_WIDTH", "16")]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    if !session().driver.is_clift {
        return;
    }
    const BEGIN: &str = "<!-- the report on examples/report.cl -->\n";
    const END: &str = "<!-- end of the report -->";
    let guide = read("docs/guide/performance.md");
    let (head, rest) = guide.split_once(BEGIN).expect("a marker");
    let (_, tail) = rest.split_once(END).expect("the other marker");
    let report = log(&read("examples/report.cl"), OPTION);
    let made = format!("{head}{BEGIN}```text\n{report}```\n{END}{tail}");
    if std::env::var_os("CLIFT_BLESS").is_some() {
        std::fs::write(file("docs/guide/performance.md"), made).expect("the guide can be written");
        return;
    }
    assert!(made == guide, "{report}\ncargo xtask bless -p clift-tests --test host the_guide_shows_the_report");
}
