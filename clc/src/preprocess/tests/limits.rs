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

#[test]
fn bodies_without_a_call() {
    // A name that no arguments follow does not look at the macro's body.
    let text = format!("#define F(x) {}\n{}", "a ".repeat(200_000), "F ".repeat(200_000));
    assert_eq!(diagnostics(&text), [""; 0]);
}

#[test]
fn text_that_operators_copy() {
    let too_long = "fatal: macros take too long to expand";
    let text = format!("#define F(x) {}\nF({})", "#x ".repeat(50_000), "a ".repeat(50_000));
    assert!(last(&text).contains(too_long), "{}", last(&text));
    let text = format!("#define F(x) {}\nF({})", "#x ".repeat(50_000), "a".repeat(1_000_000));
    assert!(last(&text).contains(too_long), "{}", last(&text));
    let text = format!("#define P {}\nP", ["a"; 100_000].join("##"));
    assert!(last(&text).contains(too_long), "{}", last(&text));
}

#[test]
fn many_parameters() {
    let names: Vec<String> = (0..65_000).map(|number| format!("a{number}")).collect();
    let names = names.join(",");
    let text = format!("#define F({names}) {}\n#define G({names},a7) 1\n", "b ".repeat(500_000));
    assert_eq!(diagnostics(&text), ["2: error: duplicate macro parameter name 'a7'"]);
}

#[test]
fn many_pragmas() {
    let settings: String = (0..100_000).map(|n| format!("#pragma clang diagnostic ignored \"-Wa{n}\"\n")).collect();
    assert_eq!(diagnostics(&(settings + "#warning x")), ["100001: warning: x"]);
    let all = |which: &str| (0..50_000).map(|n| format!("#pragma {which}_macro(\"m{n}\")\n")).collect::<String>();
    assert_eq!(diagnostics(&(all("push") + &all("pop"))), [""; 0]);
}

#[test]
fn many_line_directives() {
    let text = format!("#line 1 \"f\"\n{}#line 7\n__FILE__", "#line 5\n__LINE__\n".repeat(100_000));
    let (tokens, diagnostics) = with(&options(), &text);
    assert_eq!(diagnostics, [""; 0]);
    assert!(tokens.starts_with("5 5 5 ") && tokens.ends_with(" 5 \"f\""));
}
