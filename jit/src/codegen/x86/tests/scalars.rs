//! The instructions for scalar code: which of them share flags, memory operands and registers.

use clift_kir::text;
use iced_x86::{Decoder, DecoderOptions, Formatter, NasmFormatter};

use crate::codegen::data::ProgramData;
use crate::codegen::x86::allocator::{self, Allocator};
use crate::codegen::x86::{Level, emit, select};

/// The instructions of a function with the addresses `v0` and `v1` and the integers `v2` and `v3`, without its prologue and
/// epilogue.
fn code(body: &str) -> Vec<String> {
    let params = "v0: ptr(global), v1: ptr(global), v2: i32, v3: i32";
    let module = text::parse_module(&format!("function f0 \"f\" legal {{\nb0({params}):\n{body}\n}}\n"));
    let module = module.unwrap_or_else(|error| panic!("{error}"));
    let Some(func) = module.funcs.values().next() else { panic!("no function") };
    let data = ProgramData::new(&module).unwrap_or_else(|error| panic!("{error}"));
    let select::Selected { code, pool, variables } = select::run(func, &data, Level::Avx2);
    let output = allocator::allocate(&code, Allocator::ByCost, Level::Avx2).unwrap_or_else(|error| panic!("{error}"));
    let emitted = emit::emit(&code, &output, &pool, variables, Level::Avx2);
    let mut formatter = NasmFormatter::new();
    let texts = Decoder::new(64, &emitted.bytes[..emitted.end], DecoderOptions::NONE).into_iter().map(|inst| {
        let mut text = String::new();
        formatter.format(&inst, &mut text);
        text
    });
    texts.filter(|text| text != "ret" && text != "vzeroupper").collect()
}

/// The mnemonics of [`code`].
fn mnemonics(body: &str) -> String {
    let names: Vec<String> =
        code(body).iter().map(|text| text.split(' ').next().unwrap_or_default().to_owned()).collect();
    names.join(" ")
}

#[test]
fn choices_use_the_flags_of_comparisons() {
    let body = "v4: b1 = icmp slt v2, v3\nv5: i32 = select v4, v2, v3\nv6: i32 = select v4, v3, v2\n\
                store align 4 v0, v5\nstore align 4 v1, v6\nret";
    assert_eq!(mnemonics(body).matches("cmp").count(), 1, "{:?}", code(body));
    assert!(!mnemonics(body).contains("set"), "{:?}", code(body));
    let number = "v4: i32 = const 1\nv5: i32 = const 0\nv6: b1 = icmp slt v2, v3\nv7: i32 = select v6, v4, v5\nstore align 4 v0, v7\nret";
    assert_eq!(mnemonics(number), "cmp setl movzx mov");
}

#[test]
fn comparisons_that_have_other_uses_are_numbers() {
    let body = "v4: b1 = icmp slt v2, v3\nv5: i8 = zext v4\nv6: i32 = select v4, v2, v3\n\
                store align 1 v0, v5\nstore align 4 v1, v6\nret";
    assert!(mnemonics(body).contains("set"), "{:?}", code(body));
}

#[test]
fn bits_are_tested_without_a_result() {
    let body = "v4: i32 = const 1\nv5: i32 = const 0\nv6: i32 = and v2, v4\nv7: b1 = icmp ne v6, v5\n\
                v8: i32 = select v7, v2, v3\nstore align 4 v0, v8\nret";
    assert_eq!(mnemonics(body), "test cmovne mov");
}

#[test]
fn branches_on_floats_have_no_masks() {
    let body = "v4: f32 = load align 4 v0\nv5: f32 = load align 4 v1\nv6: b1 = fcmp olt v4, v5\nbranch v6, b1, b2\n\
                b1:\nstore align 4 v0, v2\nret\nb2:\nret";
    assert!(mnemonics(body).starts_with("vmovss vmovss vucomiss j"), "{:?}", code(body));
}

#[test]
fn scalars_that_are_loaded_once_are_operands() {
    let body = "v4: i32 = load align 4 v0\nv5: i32 = iadd v2, v4\nstore align 4 v1, v5\nret";
    assert_eq!(mnemonics(body), "add mov");
    // Something may be written in between.
    let later = "v4: i32 = load align 4 v0\nstore align 4 v1, v3\nv5: i32 = iadd v2, v4\nstore align 4 v0, v5\nret";
    assert!(mnemonics(later).ends_with("lea mov"), "{:?}", code(later));
    // Volatile loads stay as they are, also without uses.
    let volatile = "v4: i32 = load align 4 volatile v0\nret";
    assert_eq!(mnemonics(volatile), "mov");
}

#[test]
fn bytes_are_extended_once() {
    let body = "v4: i8 = load align 1 v0\nv5: i32 = zext v4\nstore align 4 v1, v5\nret";
    assert_eq!(mnemonics(body), "movzx mov");
    let sum = "v4: i8 = load align 1 v0\nv5: i8 = const 1\nv6: i8 = iadd v4, v5\nv7: i32 = zext v6\nstore align 4 v1, v7\nret";
    assert_eq!(mnemonics(sum), "movzx lea movzx mov");
}

#[test]
fn constants_are_stored_without_registers() {
    let body = "v4: i32 = const 7\nv5: i8 = const 200\nv6: i64 = const -1\nstore align 4 v0, v4\nstore align 1 v1, v5\nstore align 8 v0, v6\nret";
    assert_eq!(mnemonics(body), "mov mov mov");
    assert!(code(body).iter().all(|text| text.contains('[')), "{:?}", code(body));
}

#[test]
fn counters_change_after_their_last_use_and_keep_their_register() {
    let body = "v4: i64 = const 0\nv5: i64 = const 1\nv6: i64 = const 100\njump b1(v4)\n\
                b1(v7: i64):\nv8: i64 = iadd v7, v5\nv9: ptr(global) = addr scale 4 v0, v7\nv10: i32 = load align 4 v9\n\
                v11: b1 = icmp slt v10, v2\nbranch v11, b2, b3\n\
                b2:\nv12: ptr(global) = addr scale 4 v1, v7\nstore align 4 v12, v10\nv13: b1 = icmp ne v8, v6\nbranch v13, b1(v8), b3\n\
                b3:\nret";
    assert_eq!(mnemonics(body), "mov mov cmp jge mov lea cmp jne");
}

#[test]
fn joined_comparisons_are_branches_unless_data_decide_several() {
    let ends = "branch v6, b1, b2\nb1:\nstore align 4 v0, v2\nret\nb2:\nret";
    for op in ["and", "or"] {
        let body = format!(
            "v9: i32 = const 5\nv4: b1 = icmp slt v2, v3\nv5: b1 = icmp sgt v2, v9\nv6: b1 = {op} v4, v5\n{ends}"
        );
        assert_eq!(mnemonics(&body).matches("cmp j").count(), 2, "{:?}", code(&body));
        let body = format!(
            "v7: i32 = load align 4 v0\nv8: i32 = load align 4 v1\nv4: b1 = icmp slt v7, v3\nv5: b1 = icmp sgt v8, v2\n\
             v6: b1 = {op} v4, v5\n{ends}"
        );
        assert_eq!(mnemonics(&body).matches("set").count(), 2, "{:?}", code(&body));
    }
}

/// A loop that uses more values than there are registers, once each.
#[test]
fn loops_do_not_store_what_they_have_loaded() {
    let each = |line: &dyn Fn(usize) -> String| (0..20).map(line).collect::<Vec<_>>().join("\n");
    let values = each(&|n| format!("v{}: i32 = const {n}\nv{}: i32 = imul v2, v{}", 10 + n, 40 + n, 10 + n));
    let places = each(&|n| {
        format!("v{}: ptr(global) = addr scale 4 disp {n} v0, v7\nstore align 1 v{}, v{}", 70 + n, 70 + n, 40 + n)
    });
    let body = format!(
        "v4: i64 = const 0\nv5: i64 = const 1\nv6: i64 = const 100\n{values}\njump b1(v4)\nb1(v7: i64):\n{places}\n\
         v8: i64 = iadd v7, v5\nv9: b1 = icmp ne v8, v6\nbranch v9, b1(v8), b2\nb2:\nret"
    );
    let code = code(&body);
    let mut stored: Vec<&str> =
        code.iter().filter_map(|text| text.strip_prefix("mov [rsp")?.split(',').next()).collect();
    let all = stored.len();
    assert!(all > 0, "{code:?}");
    stored.sort_unstable();
    stored.dedup();
    assert_eq!(stored.len(), all, "{code:?}");
}
