//! A case per rule. Typing per op is tested from the op table in `crate::testing`.

use cranelift_entity::EntityRef;

use super::{function, module};
use crate::builder::Builder;
use crate::entities::{Block, Value};
use crate::function::Function;
use crate::inst::{BlockCall, Imm};
use crate::module::Module;
use crate::ops::Opcode;
use crate::text::parse_module;
use crate::types::Type;

/// Messages of all errors of a module given as text.
fn errors(text: &str) -> Vec<String> {
    let parsed = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    match module(&parsed) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.0.into_iter().map(|e| e.message).collect(),
    }
}

fn body(stage: &str, lines: &str) -> String {
    format!(
        "global g0 \"\" constant size 8 align 8\nglobal g1 \"\" local size 8 align 8\n\
         function \"f\" {stage} {{\n slot s0 size 8 align 8\n{lines}\n}}\n\
         function \"callee\" imported -> f32 {{\nb0(v0: i32):\n v1: f32 = const 1\n ret v1\n}}\n"
    )
}

#[test]
fn rules_of_instructions() {
    let values = "b0:\n v0: i32 = undef\n v1: f32x4 = undef\n v2: ptr(global) = undef\n v3: ptr(host) = undef\n \
                  v4: i64 = undef\n v5: b1 = undef\n v6: i32x4 = undef\n v7: ptr(generic) = undef\n";
    for (line, message) in [
        ("v9: i32 = iadd v0, v4", "second operand is i32, not i64"),
        ("v9: i32 = iadd v0", "takes 2 operands, has 1"),
        ("iadd v0, v0", "gives 1 results, has 0"),
        ("v9: f32x4 = iadd v1, v1", "operands are integers, not f32x4"),
        ("v9: b1 = load align 4 v2", "result has a memory form, which b1 has not"),
        ("v9: i32 = load align 3 v2", "alignment 3 is not a power of two"),
        ("v9: i32 = load align 0 v2", "alignment 0 is not a power of two"),
        ("store align 4 v3, v0", "host memory is read-only"),
        ("v9: f32 = extract 4 v1", "f32x4 has no lane 4"),
        ("v9: f32x2 = shuffle [0, 8] v1, v1", "the operands have no lane 8"),
        ("v9: i64 = global_id 3", "there is no dimension 3"),
        ("v9: ptr(global) = global_addr g0", "result is ptr(constant)"),
        ("v9: ptr(global) = slot_addr s0", "result is ptr(private)"),
        ("v9: i32 = atomic_rmw fadd relaxed device v2, v0", "Fadd does not apply to i32"),
        ("v9: i32 = atomic_load add relaxed device v2", "only atomic_rmw has an operation"),
        ("v9: f32 = reduce sub v1", "Sub combines no lanes"),
        ("v9: f32 = reduce and v1", "And does not apply to f32x4"),
        ("v9: b1 = icmp slt v2, v2", "pointers have no signed order"),
        ("v9: b1 = in_space constant v7", "generic pointers do not lead into constant memory"),
        ("barrier 0 device device local", "a barrier is of a work-group or a sub-group"),
        ("v9: f32 = call f1 v4", "arguments are [i32], not [i64]"),
        ("v9: i32 = call f1 v0", "results are [f32], not [i32]"),
        ("v9: ptr(global)x4 = addr scale 4 v2, v6", "index is i64, not i32x4"),
        ("v9: f32 = libcall sin v0", "first operand is f32 or f64, not i32"),
        ("v9: i32x4 = select v5, v6, v1", "third operand is i32x4, not f32x4"),
        ("v9: ptr(global) = spacecast v2", "operand and result are in different spaces, not both ptr(global)"),
    ] {
        assert_eq!(errors(&body("imported", &format!("{values} {line}\n ret"))), [message], "{line}");
    }
}

#[test]
fn rules_of_structure() {
    for (lines, message) in [
        ("b0:", "is empty"),
        ("", "has no blocks"),
        ("b0:\n v0: i32 = const 1", "is the last instruction but does not end the block"),
        ("b0:\n ret\n ret", "ends a block but is not the last instruction"),
        ("b0:\n jump b1\nb1:\n jump b0", "goes back to the entry block"),
        ("b0:\n v0: i32 = iadd v1, v1\n v1: i32 = const 1\n ret", "v1 does not dominate this use"),
        ("b0:\n v0: i32 = const 1\n ret v0", "values are [], not [i32]"),
        ("b0:\n jump b1\nb1(v0: i32):\n ret", "b1 takes [i32], gets []"),
        ("b0:\n v0: f32 = const 1.0\n jump b1(v0)\nb1(v1: i32):\n ret", "b1 takes [i32], gets [f32]"),
        (
            "b0:\n v0: b1 = undef\n branch v0, b1, b2\nb1:\n v1: i32 = const 1\n jump b2\nb2:\n v2: i32 = ineg v1\n ret",
            "v1 does not dominate this use",
        ),
        ("b0:\n v0: i8 = undef\n switch v0, [1: b1, 1: b1], b1\nb1:\n ret", "case 1 occurs twice"),
    ] {
        let messages = errors(&body("imported", lines));
        assert!(messages.iter().any(|m| m == message), "{lines}: {messages:?}");
    }
    // Blocks that are never reached may use anything.
    assert_eq!(errors(&body("imported", "b0:\n ret\nb1:\n v1: i32 = ineg v0\n v0: i32 = undef\n ret")), [""; 0]);
}

#[test]
fn rules_of_stages() {
    let gone = |stage: &str| format!("does not exist from stage `{stage}` on");
    let call = "b0:\n v0: i32 = undef\n v1: f32 = call f1 v0\n ret";
    assert_eq!(errors(&body("imported", call)), [""; 0]);
    let lowered = ["takes the address of a record and returns nothing at this stage"];
    assert_eq!(errors(&body("canonical", call)), lowered);
    let barrier = "b0:\n barrier 0 work_group work_group local\n v0: i32 = undef\n ret";
    assert_eq!(errors(&body("canonical", barrier)), [""; 0]);
    assert_eq!(
        errors(&body("regioned", barrier)),
        ["a barrier stands right before its block's terminator at this stage"]
    );
    let looped = "b0(v0: ptr(host), v1: ptr(host), v2: i64, v3: i64):\n";
    for line in [
        "v9: i64 = global_id 0",
        "v9: i32 = work_dim",
        "v9: ptr(private) = slot_addr s0",
        "v9: ptr(local) = global_addr g1",
        "v9: f32 = arg 0",
        "barrier 0 work_group work_group local",
    ] {
        assert_eq!(errors(&body("looped", &format!("{looped} {line}\n ret"))), [gone("looped")]);
    }
    assert_eq!(errors(&body("legal", &format!("{looped} v9: ptr(constant) = global_addr g0\n ret"))), [""; 0]);
    assert_eq!(errors(&body("looped", "b0:\n ret")).len(), 1);
    for (line, scalar) in [
        ("v9: f32 = masked_load align 4 v4, v5, v6", "f32"),
        ("masked_store align 4 v4, v6, v5", "f32"),
        ("v9: f32 = gather align 4 v4, v5, v6", "f32"),
        ("scatter align 8 v4, v4, v5", "ptr(global)"),
    ] {
        let values = "v4: ptr(global) = undef\n v5: b1 = undef\n v6: f32 = undef\n";
        let lines = format!("{looped} {values} {line}\n ret");
        assert_eq!(errors(&body("looped", &lines)), [""; 0], "{line}");
        assert_eq!(
            errors(&body("legal", &lines)),
            [format!("accesses a vector at this stage, not {scalar}")],
            "{line}"
        );
    }
}

#[test]
fn rules_of_modules() {
    for (text, message) in [
        ("global g0 \"\" private size 1 align 1", "g0: a variable is in global, constant or local memory, not private"),
        ("global g0 \"\" local size 1 align 1 bytes \"00\"", "g0: local memory has no initial content"),
        ("global g0 \"\" global size 1 align 1 bytes \"0000\"", "g0: more initial bytes than its size"),
        ("global g0 \"\" global size 8 align 1 address 1 g0 0", "g0: initial address at 1 lies beyond its size"),
        ("global g0 \"\" global size 8 align 6", "g0: alignment 6 is not a power of two"),
        (
            "function \"k\" imported {\nb0:\n ret\n}\nkernel f0 args 0\nkernel f0 args 0",
            "kernel 1: the name `k` occurs twice",
        ),
        ("function \"k\" imported {\nb0:\n ret\n}\nkernel f0 args 0 required 1 0 1", "kernel 0: a required size of 0"),
        (
            "function \"k\" imported {\nb0(v0: i32):\n ret\n}\nkernel f0 args 0",
            "parameters of a kernel are [] at this stage, not [i32]",
        ),
        (
            "function \"k\" imported -> i32 {\nb0:\n v0: i32 = undef\n ret v0\n}\nkernel f0 args 0",
            "a kernel returns nothing",
        ),
        (
            "function \"k\" imported {\nb0:\n v0: i32x4 = arg 16\n ret\n}\nkernel f0 args 31",
            "lies beyond the argument block of 31 bytes",
        ),
    ] {
        assert_eq!(errors(text), [message], "{text}");
    }
}

#[test]
fn ids_that_do_not_exist() {
    let mut func = Function::new("f", &[]);
    let entry = func.append_block();
    let mut b = Builder::at_end(&mut func, entry);
    b.inst(Opcode::Ineg, &[Value::from_u32(77)], Imm::None, &[Type::I32]);
    b.jump(Block::from_u32(9), &[]);
    let errors = function(&Module::default(), &func).unwrap_err();
    assert_eq!(errors.0.len(), 2);
    assert!(errors.to_string().contains("names v77, which does not exist"), "{errors}");
}

#[test]
fn broken_by_hand() {
    // An instruction in two places, a use of a value whose instruction stands nowhere, an immediate of another kind.
    let mut func = Function::new("f", &[]);
    let (a, b) = (func.append_block(), func.append_block());
    let mut builder = Builder::at_end(&mut func, a);
    let one = builder.iconst(Type::I32, 1);
    let two = builder.int2(Opcode::Iadd, one, one);
    builder.int1(Opcode::Ineg, two);
    builder.jump(b, &[]);
    builder.switch_to(b);
    builder.ret(&[]);
    let (one, two) = (func.dfg.def_inst(one).unwrap(), func.dfg.def_inst(two).unwrap());
    assert!(function(&Module::default(), &func).is_ok());

    let mut twice = func.clone();
    twice.layout.insert_inst(b, 0, one);
    assert!(function(&Module::default(), &twice).unwrap_err().to_string().contains("stands in more than one place"));

    let mut dead = func.clone();
    dead.layout.remove_inst(two);
    assert!(function(&Module::default(), &dead).unwrap_err().to_string().contains("is not defined in the function"));

    let mut kind = func.clone();
    kind.dfg.inst_mut(two).imm = Imm::Jump(BlockCall::new(b, &[]));
    assert!(function(&Module::default(), &kind).unwrap_err().to_string().contains("immediate is of kind Wrap"));
    assert_eq!(one.index(), 0);
}

#[test]
fn errors_name_their_place() {
    let parsed =
        parse_module("function \"f\" imported {\nb0:\n v0: i32 = const 1\n v1: i64 = ineg v0\n ret\n}").unwrap();
    let error = module(&parsed).unwrap_err().to_string();
    assert_eq!(error, "function `f`, b0, inst1 `v1: i64 = ineg v0`: result is i32, not i64");
}

#[test]
fn mutated_kernels_never_panic() {
    use crate::interp::{GroupLaunch, InterpOptions, Interpreter, NoObserver, PreparedModule, SimMemory, load_globals};
    use crate::testing::generate::{Shape, kernel};

    arbtest::arbtest(|u| {
        let (base, case) = kernel(u.arbitrary()?, Shape::all(u.int_in_range(1..=30)?));
        let text = base.to_string();
        // Words exchanged for other words of the same kernel: mostly still syntax.
        let mut words: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
        for _ in 0..u.int_in_range(1..=3)? {
            let (to, from) = (u.choose_index(words.len())?, u.choose_index(words.len())?);
            words[to] = words[from];
        }
        let Ok(changed) = parse_module(&words.concat()) else { return Ok(()) };
        let printed = changed.to_string();
        assert!(crate::text::same_module(&changed, &parse_module(&printed).unwrap()).is_ok(), "{printed}");
        if module(&changed).is_err() || changed.kernels.is_empty() {
            return Ok(());
        }
        // Valid: it may do anything undefined now, which must end in a report.
        let prepared = PreparedModule::new(&changed);
        let mut memory = SimMemory::default();
        let Ok(globals) = load_globals(&changed, &mut memory) else { return Ok(()) };
        let launch = GroupLaunch { geometry: case.geometry, group: [0; 3], args: &[0; 40], local_base: 0 };
        let options = InterpOptions { fuel: 20_000, seed: 5, ..InterpOptions::default() };
        let func = changed.kernels[0].func;
        let _ = Interpreter::new(&changed, &prepared).run_group(
            func,
            &launch,
            &globals,
            &options,
            &mut memory,
            &mut NoObserver,
        );
        Ok(())
    })
    .budget_ms(1000);
}
