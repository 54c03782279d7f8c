//! Holds `docs/kernel-ir.md` against the code: its tables list every op and library function, its examples are kernel IR.
#![allow(missing_docs, reason = "a test")]

use std::fmt::Write as _;
use std::path::PathBuf;

use clift_kir::ops::{OPS, Uniformity};
use clift_kir::testing::filetest::blessing;
use clift_kir::{Effects, LibFn, text, verify};

fn page() -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/kernel-ir.md");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    (path, text)
}

/// The op table as Markdown.
fn ops() -> String {
    let mut table = String::from("| op | immediate | types | effects | uniform | |\n|---|---|---|---|---|---|\n");
    for info in OPS {
        let immediate = format!("{:?}", info.imm).replace("None", "");
        let effects = match info.effects {
            Effects::Pure => "",
            Effects::Read => "reads",
            Effects::Write => "writes",
            Effects::ReadWrite => "reads, writes",
            Effects::Convergent => "convergent",
            Effects::Terminator => "terminator",
        };
        let uniform = match info.uniformity {
            Uniformity::Operands => "as operands",
            Uniformity::Launch => "launch",
            Uniformity::Group => "group",
            Uniformity::Pack => "pack",
            Uniformity::Scope => "scope",
            Uniformity::Choice => "as the number",
            Uniformity::Vote => "pack or more",
            Uniformity::Varying => "",
            Uniformity::Memory => "as memory",
        };
        let doc = info.doc.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        let _ = writeln!(table, "| `{}` | {immediate} | {:?} | {effects} | {uniform} | {doc} |", info.name, info.rule);
    }
    table
}

/// The library functions as Markdown.
fn libfns() -> String {
    let mut table = String::from("| function | signature |\n|---|---|\n");
    for function in LibFn::ALL {
        let _ = writeln!(table, "| `{}` | {:?} |", function.name(), function.signature());
    }
    table
}

#[test]
fn tables_are_complete() {
    let (path, text) = page();
    let mut new = text.clone();
    for (name, table) in [("ops", ops()), ("libfns", libfns())] {
        let start = new.find(&format!("<!-- {name}:")).unwrap_or_else(|| panic!("no mark for {name}"));
        let start = start + new[start..].find('\n').unwrap_or(0) + 1;
        let end = start + new[start..].find("<!-- end -->").unwrap_or_else(|| panic!("no end of {name}"));
        new.replace_range(start..end, &format!("\n{table}\n"));
    }
    if new != text {
        assert!(blessing(), "docs/kernel-ir.md is not up to date: CLIFT_BLESS=1 cargo test -p clift-kir --test docs");
        std::fs::write(&path, new).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

#[test]
fn examples_verify() {
    let (_, page) = page();
    let mut count = 0;
    for example in page.split("```kir\n").skip(1) {
        let example = example.split("```").next().unwrap_or_default();
        let module = text::parse_module(example).unwrap_or_else(|e| panic!("{e}\n{example}"));
        verify::module(&module).unwrap_or_else(|e| panic!("{e}\n{example}"));
        count += 1;
    }
    assert!(count > 0);
}
