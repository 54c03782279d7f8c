//! Nothing takes long, and nothing recurses deeply.

use super::*;
use crate::limits;

/// The last diagnostic of a text, within a second or so.
fn last(text: &str) -> String {
    diagnostics(text).pop().unwrap_or_default()
}

#[test]
fn macros_that_multiply() {
    let bomb = |empty: &str| {
        let mut text = format!("#define A0 {empty}\n");
        for level in 1..64 {
            text.push_str(&format!("#define A{level} A{} A{}\n", level - 1, level - 1));
        }
        text + "A63"
    };
    assert!(last(&bomb("x")).contains("fatal"), "{}", last(&bomb("x")));
    assert!(last(&bomb("")).contains("fatal"), "{}", last(&bomb("")));
    let doubled = format!("#define F(x) x x\n{}y{}", "F(".repeat(60), ")".repeat(60));
    assert!(last(&doubled).contains("fatal"), "{}", last(&doubled));
}

#[test]
fn deep_nesting() {
    let calls = limits::MACRO_NESTING + 10;
    let text = format!("#define F(x) x\n{}y{}", "F(".repeat(calls), ")".repeat(calls));
    assert!(last(&text).contains("macro calls are nested more than"), "{}", last(&text));
    let text = format!("#if {}1{}\n#endif", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(last(&text), "1: error: bracket nesting level exceeded maximum of 256");
    let text = format!("#if {}1\n#endif", "- ".repeat(100_000));
    assert_eq!(last(&text), "1: error: bracket nesting level exceeded maximum of 256");
    let mut text = String::from("#define A0 1\n");
    for level in 1..10_000 {
        text.push_str(&format!("#define A{level} A{}\n", level - 1));
    }
    assert!(last(&(text + "A9999")).contains("macros are nested too deeply"));
}

#[test]
fn long_chains_in_conditions() {
    for operator in ["+", "||", "&&", ",", "- -"] {
        let text = format!("#if 1{}\n#endif", format!(" {operator} 1").repeat(50_000));
        assert_eq!(diagnostics(&text), [""; 0]);
    }
}
