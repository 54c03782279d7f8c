//! Round trips and messages.

use super::{parse_function, parse_module, same_module};
use crate::module::Module;

fn round_trip(text: &str) -> Module {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let printed = module.to_string();
    let again = parse_module(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    same_module(&module, &again).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(printed, again.to_string());
    module
}

const EVERYTHING: &str = r#"
; a comment
global g0 "lut" constant size 16 align 4 bytes "00ff10"
global g1 "" global size 24 align 8 bytes "" address 8 g0 -4 address 16 g1 0 ; another
global g2 "tile" local size 1024 align 128

function f0 "helper" imported -> i32, f32x3 {
b0(v0: i32, v1 "a name": f32x3):
    v2: i32x4 = const [1, -2, 0x7fffffff, -2147483648]
    v3: i32x4 = const 7
    v4: f32x4 = const [0.1, -inf, nan:0x7fc00001, 1e-45]
    v5: f16 = const -0.0
    v6: f64 = const 0x3ff0000000000000
    v7: b1x4 = const [true, false, true, false]
    v8: ptr(global)x2 = const 0x1000
    ret v0, v1
}

function f1 "kernel \"k\"" canonical {
    inlined "f" @9:2:1
    inlined "g"
    slot s0 size 64 align 16
    slot s1 size 0 align 1
b7:
    v10 "gid": i64 = global_id 2 @17:3:4
    v11: ptr(global) = arg 16 @21:7:2:1
    v12: ptr(global) = addr scale 4 disp -8 v11, v10
    v13: ptr(global) = addr v11
    v14: f32x3 = load align 4 volatile invariant alias 3 v12
    v15: f32x3 = fadd nnan contract v14, v14
    v16: b1x3 = fcmp une v14, v15
    v17: i32x3 = fptos rtz sat v15
    v18: i32 = extract 2 v17
    v19: i32x2 = shuffle [0, 5] v17, v17
    v20: i32 = atomic_rmw add relaxed device v12, v18
    v21: i32 = atomic_load acquire work_group v12
    fence seq_cst all_devices
    barrier 5 work_group device local global
    v22: b1 = in_space local v23
    v24: f32 = libcall sin v25
    v26: i32, v27: f32x3 = call f0 v18, v14
    v30: ptr(private) = slot_addr s1
    v31: ptr(constant) = global_addr g0
    v32: i32 = reduce umax v17
    switch v18, [1: b8(v18), -1: b9], b7
b8(v28: i32):
    v23: ptr(generic) = spacecast v12
    v25: f32 = undef
    v29: b1 = icmp slt v28, v18
    branch v29, b9, b8(v28) @1:0:0
b9:
    ret
}

kernel f1 args 24 required 8 4 1
kernel f1 args 0
"#;

#[test]
fn everything_round_trips() {
    let module = round_trip(EVERYTHING);
    assert_eq!((module.funcs.len(), module.globals.len(), module.kernels.len()), (2, 3, 2));
    let func = &module.funcs.values().nth(1).unwrap();
    assert_eq!(func.name, "kernel \"k\"");
    assert_eq!(func.next_barrier, 6);
    let (_, call) = func.locs.iter().find(|(_, loc)| loc.call > 0).unwrap();
    let calls: Vec<_> = func.calls_of(*call).map(|call| (call.callee.as_str(), call.loc.line)).collect();
    assert_eq!(calls, [("f", 2)]);
    let alone = func.to_string();
    super::same_function(func, &parse_function(&alone).unwrap()).unwrap();
}

#[test]
fn comparison_sees_differences() {
    let module = parse_module(EVERYTHING).unwrap();
    for (from, to) in [
        ("align 4 bytes", "align 8 bytes"),
        ("bytes \"00ff10\"", "bytes \"00ff11\""),
        ("g1 0", "g1 1"),
        ("-> i32, f32x3", "-> f32x3, i32"),
        ("v0: i32,", "v0: i64,"),
        ("\"a name\"", "\"b name\""),
        ("[1, -2,", "[2, -2,"),
        ("nan:0x7fc00001", "nan:0x7fc00000"),
        ("size 64 align 16", "size 64 align 32"),
        ("global_id 2 @17:3:4", "global_id 1 @17:3:4"),
        ("global_id 2 @17:3:4", "global_id 2 @17:3:5"),
        ("scale 4 disp -8", "scale 4 disp 8"),
        ("alias 3", "alias 4"),
        ("volatile", ""),
        ("nnan contract", "contract"),
        ("rtz sat", "rtz"),
        ("add relaxed", "sub relaxed"),
        ("barrier 5", "barrier 6"),
        ("local global\n", "global\n"),
        ("-1: b9", "-1: b7"),
        ("b8(v28)", "b8(v18)"),
        ("fadd nnan contract v14, v14", "fsub nnan contract v14, v14"),
        ("required 8 4 1", "required 8 4 2"),
        ("canonical", "imported"),
    ] {
        assert!(EVERYTHING.contains(from), "{from}");
        let other = parse_module(&EVERYTHING.replacen(from, to, 1)).unwrap_or_else(|e| panic!("{from}: {e}"));
        assert!(same_module(&module, &other).is_err(), "{from}");
    }
}

#[test]
fn messages_name_place_and_expectation() {
    let body = |line: &str| format!("function \"f\" imported {{\nb0(v0: i32):\n    {line}\n    ret\n}}\n");
    for (line, column, message) in [
        ("v1: i32 = iadd v0, v2", 24, "v2 is not defined"),
        ("v1: i33 = iadd v0, v0", 9, "expected a type, found `i33`"),
        ("v1 i32 = iadd v0, v0", 8, "expected `:`, found `i32`"),
        ("v0: i32 = iadd v0, v0", 5, "v0 is defined twice"),
        ("v1: i8 = const 256", 20, "expected a constant of type i8, found `256`"),
        ("v1: i8x2 = const [1]", 23, "1 lanes for i8x2"),
        (
            "v1: b1 = icmp v0, v0",
            19,
            "expected a condition (eq, ne, ult, ule, ugt, uge, slt, sle, sgt, sge), found `v0`",
        ),
        ("v1: i32 = load v0", 20, "expected `align`, found `v0`"),
        ("v1: i32 = iadd v0,", 23, "expected a value, found the end of the line"),
        ("frob v0", 5, "expected an instruction, a block or `}`, found `frob`"),
        ("jump b3", 10, "b3 is not defined"),
        ("switch v0, [4294967296: b0(v0)], b0(v0)", 17, "4294967296 does not fit i32"),
        ("v1: ptr(private) = slot_addr s0", 34, "the function has no s0"),
        ("ret v0 junk", 12, "expected the end of the line, found `junk`"),
        ("v1: i32 = libcall frob v0", 23, "expected a library function, found `frob`"),
        ("v1: i32 = iadd v0, v0 @1:2", 31, "expected `:`, found the end of the line"),
        ("ret $", 9, "expected the end of the line, found `$`"),
    ] {
        let error = parse_function(&body(line)).unwrap_err();
        assert_eq!((error.line, error.column, error.message.as_str()), (3, column, message), "{line}");
    }
    for (text, message) in [
        ("function f1 \"x\" imported {\n}", "line 1, column 1: functions are numbered in order: f0 comes next"),
        ("kernel f0 args 0", "line 1, column 8: the module has no f0"),
        ("global g0 \"\" global size 1 align 1 bytes \"0\"", "line 1, column 42: expected pairs of hexadecimal digits"),
        ("global g0 \"\" global size -1 align 1", "line 1, column 26: expected a size, found `-1`"),
        (
            "function \"x\" imported {\n",
            "line 2, column 1: expected an instruction, a block or `}`, found the end of the text",
        ),
        ("function \"x\" imported {\nret\n}", "line 2, column 1: expected a block (`b0:`), found `ret`"),
        ("what", "line 1, column 1: expected `global`, `function` or `kernel`, found `what`"),
    ] {
        assert_eq!(parse_module(text).unwrap_err().to_string(), message);
    }
}

#[test]
fn garbage_is_refused_without_panic() {
    arbtest::arbtest(|u| {
        // Pieces of valid text in random order, with random bytes between: gets far past the first tokens.
        let words: Vec<&str> = EVERYTHING.split_inclusive([' ', '\n']).collect();
        let mut text = if u.arbitrary()? { String::from("function \"f\" imported {\nb0:\n") } else { String::new() };
        for _ in 0..u.int_in_range(0..=60)? {
            match u.int_in_range(0..=9)? {
                0 => text.push_str(u.arbitrary()?),
                1 => text.push(u.int_in_range(32..=126u8)? as char),
                2 => {
                    let at = u.choose_index(words.len())?;
                    for word in &words[at..(at + 8).min(words.len())] {
                        text.push_str(word);
                    }
                }
                _ => text.push_str(u.choose(&words)?),
            }
        }
        if let Ok(module) = parse_module(&text) {
            let printed = module.to_string();
            let again = parse_module(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
            same_module(&module, &again).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        }
        Ok(())
    })
    .budget_ms(700);
}

#[test]
fn one_mutation_is_refused_or_round_trips() {
    arbtest::arbtest(|u| {
        let mut text = EVERYTHING.to_owned().into_bytes();
        for _ in 0..u.int_in_range(1..=3)? {
            let at = u.choose_index(text.len())?;
            match u.int_in_range(0..=2)? {
                0 => text[at] = u.int_in_range(9..=126)?,
                1 => drop(text.remove(at)),
                _ => text.insert(at, text[u.choose_index(text.len())?]),
            }
        }
        let text = String::from_utf8(text).unwrap_or_default();
        if let Ok(module) = parse_module(&text) {
            let printed = module.to_string();
            let again = parse_module(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
            same_module(&module, &again).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        }
        Ok(())
    })
    .budget_ms(700);
}
