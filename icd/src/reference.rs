//! `docs/guide/reference.md` lists what the tables of the code say. Its lists stand between markers, which the test here fills.
//!
//! There is no other list of variables: [`every_variable_is_in_the_table`] reads the source for names of variables.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::caps::{self, EXTENSIONS, OPENCL_C_FEATURES, OPENCL_C_VERSIONS, OPENCL_VERSION, limits};
use crate::{config, frontend};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a directory")
}

/// The lists of the reference, by the names in their markers.
fn lists() -> Vec<(&'static str, String)> {
    let (variables, words) = config::reference();
    vec![
        ("variables", lines(variables)),
        ("words", lines(words)),
        ("options", options()),
        ("versions", versions()),
        ("extensions", extensions()),
        ("features", lines(OPENCL_C_FEATURES.iter().map(|name| format!("- `{name}`")))),
        ("spirv", lines(clift_jit::spirv::caps::SUPPORTED_EXTENSIONS.iter().map(|name| format!("- `{name}`")))),
        ("limits", fixed_limits()),
    ]
}

fn lines(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
}

fn options() -> String {
    let (with, without): (Vec<_>, Vec<_>) = frontend::options::reference().partition(|(_, doc)| !doc.is_empty());
    let mut text = lines(with.iter().map(|(name, doc)| format!("- `{name}`: {doc}")));
    let names: Vec<String> = without.iter().map(|(name, _)| format!("`{name}`")).collect();
    let _ = writeln!(text, "\nOptions of other compilers that are accepted and have no effect: {}.", names.join(", "));
    text
}

fn versions() -> String {
    let list = |versions: &[(u32, u32)]| {
        versions.iter().map(|(major, minor)| format!("{major}.{minor}")).collect::<Vec<_>>().join(", ")
    };
    let spirv: Vec<(u32, u32)> = clift_jit::SPIRV_VERSIONS.iter().map(|&(a, b)| (u32::from(a), u32::from(b))).collect();
    format!(
        "- OpenCL {}.{}, full profile\n- OpenCL C {}; `-cl-std=CL2.0` is accepted, too\n- SPIR-V {}\n",
        OPENCL_VERSION.0,
        OPENCL_VERSION.1,
        list(OPENCL_C_VERSIONS),
        list(&spirv),
    )
}

fn extensions() -> String {
    lines(EXTENSIONS.iter().map(|extension| {
        let (major, minor, patch) =
            (extension.version >> 22, (extension.version >> 12) & 0x3ff, extension.version & 0xfff);
        format!("- `{}` {major}.{minor}.{patch}", extension.name)
    }))
}

/// The limits that are the same on every machine.
fn fixed_limits() -> String {
    let limits = limits();
    let rows: [(&str, u64); 12] = [
        ("work-items of a work-group, in all and in each dimension", limits.max_work_group_size as u64),
        ("bytes of a kernel's arguments", limits.max_parameter_size as u64),
        ("constant arguments of a kernel", limits.max_constant_args.into()),
        ("bytes of a program-scope variable", limits.max_global_variable_size as u64),
        ("bytes that `printf` keeps for a launch", limits.printf_buffer_size as u64),
        ("bytes to which the start of a buffer and of a sub-buffer is aligned", limits.base_address_align as u64),
        ("bytes to which shared virtual memory can be aligned", limits.max_alignment as u64),
        ("images and samplers in a kernel's arguments", caps::MAX_IMAGE_ARGS.into()),
        ("samplers of a kernel", caps::MAX_SAMPLERS.into()),
        ("named barriers of a work-group", caps::MAX_NAMED_BARRIERS.into()),
        ("queues on the device, of a context", caps::MAX_DEVICE_QUEUES.into()),
        ("bytes of a queue on the device", caps::MAX_DEVICE_QUEUE_BYTES.into()),
    ];
    rows.iter().fold("| limit | value |\n|---|---|\n".to_owned(), |text, (what, value)| {
        text + &format!("| {what} | {value} |\n")
    })
}

#[test]
fn the_reference_lists_the_tables() {
    let path = root().join("docs/guide/reference.md");
    let mut text = fs::read_to_string(&path).expect("the reference");
    let stored = text.clone();
    for (name, list) in lists() {
        let (begin, end) = (format!("<!-- {name}: made by a test -->\n"), format!("<!-- end of {name} -->"));
        let from = text.find(&begin).unwrap_or_else(|| panic!("no marker of {name}")) + begin.len();
        let to = from + text[from..].find(&end).unwrap_or_else(|| panic!("no end of {name}"));
        text.replace_range(from..to, &format!("\n{list}\n"));
    }
    if std::env::var_os("CLIFT_BLESS").is_some() {
        fs::write(&path, &text).expect("the reference can be written");
    } else if text != stored {
        let line = text.lines().zip(stored.lines()).find(|(new, old)| new != old);
        panic!(
            "docs/guide/reference.md is not what the tables say: {line:?}\n\
             cargo xtask bless -p clift-icd the_reference_lists_the_tables"
        );
    }
}

/// The names of `CLIFT_*` variables in a text: complete words, not prefixes.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("CLIFT_").filter_map(|(at, _)| {
        let length = text[at..].find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(text.len() - at);
        let name = &text[at..at + length];
        (!name.ends_with('_')).then_some(name)
    })
}

/// The source files of a directory, without those of tests (this one among them).
fn sources(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" && name != "testing" {
            sources(&path, files);
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "reference.rs" {
            files.push(path);
        }
    }
}

#[test]
fn every_variable_is_in_the_table() {
    let reference = fs::read_to_string(root().join("docs/guide/reference.md")).expect("the reference");
    let listed: Vec<&str> = names(&reference).collect();
    let (table, _) = config::reference();
    let mut files = Vec::new();
    for member in ["include", "clc", "jit", "jit/kir", "runtime", "icd", "info"] {
        sources(&root().join(member).join("src"), &mut files);
    }
    assert!(files.len() > 100, "the sources of the driver");
    for file in files {
        let text = fs::read_to_string(&file).expect("source is text");
        // Tests at the end of a file read variables of their own.
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let unlisted: Vec<&str> = names(code).filter(|name| !listed.contains(name)).collect();
        assert!(unlisted.is_empty(), "{}: {unlisted:?} are not in the reference", file.display());
    }
    for name in listed {
        assert!(table.iter().any(|row| row.starts_with(&format!("- `{name}`"))), "{name} is not in the table");
    }
}
