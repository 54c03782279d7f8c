//! Rules of `simplify` over all ops and many numbers, before and after, by the interpreter.

use clift_jit::passes;
use clift_kir::testing::samples::Rng;
use clift_kir::{Builder, Elem, Function, Module, Opcode, Type, Value};

use super::{BINARY, CONDITIONS, call};

/// All bytes, extended, against the constants around which a comparison changes.
#[test]
fn comparisons_of_extended_bytes_keep_their_meaning() {
    let constants =
        [0, 1, 2, 127, 128, 129, 254, 255, 256, 257, -1, -2, -127, -128, -129, -256, 0x7fff_ffff, -0x8000_0000];
    for op in [Opcode::Zext, Opcode::Sext] {
        for (cond, constant) in CONDITIONS.into_iter().flat_map(|cond| constants.map(|constant| (cond, constant))) {
            let mut func = Function::new("f", &[Type::I32]);
            let entry = func.append_block();
            let param = func.dfg.append_param(entry, Type::I32);
            let mut b = Builder::at_end(&mut func, entry);
            let byte = b.cast(Opcode::Itrunc, param, Type::I8);
            let wide = b.cast(op, byte, Type::I32);
            let (constant, zero, one) = (b.iconst(Type::I32, constant), b.iconst(Type::I32, 0), b.iconst(Type::I32, 1));
            let holds = b.icmp(cond, wide, constant);
            let holds = b.select(holds, one, zero);
            b.ret(&[holds]);
            let mut module = Module::default();
            let func = module.funcs.push(func);
            let before = module.clone();
            passes::run(&mut module.funcs[func], &before.globals, &["simplify"], &mut |_, _| ());
            for byte in 0..256 {
                let [old, new] = [&before, &module].map(|module| call(module, func, &[byte]));
                assert_eq!(old, new, "{byte}\n{before}\n{module}");
            }
        }
    }
}

/// A function of two numbers, simplified, against itself.
fn simplified(build: impl FnOnce(&mut Builder<'_>, Value, Value) -> Value) {
    let mut func = Function::new("f", &[Type::I32]);
    let entry = func.append_block();
    let [x, y] = [0, 1].map(|_| func.dfg.append_param(entry, Type::I32));
    let mut b = Builder::at_end(&mut func, entry);
    let value = build(&mut b, x, y);
    b.ret(&[value]);
    let mut module = Module::default();
    let func = module.funcs.push(func);
    let before = module.clone();
    passes::run(&mut module.funcs[func], &before.globals, &["simplify", "dce"], &mut |_, _| ());
    if module.funcs[func].to_string() == before.funcs[func].to_string() {
        return;
    }
    let numbers = [0, 1, 7, 100, 0x7fff_ffff, 0x8000_0000, 0xffff_fff3];
    for (x, y) in numbers.into_iter().flat_map(|x| numbers.map(|y| (x, y))) {
        let [old, new] = [&before, &module].map(|module| call(module, func, &[x, y]));
        assert_eq!(old, new, "{x} and {y}\n{before}\n{module}");
    }
}

/// All pairs of ops, with an operand in common or a constant: what is added may have been subtracted before.
#[test]
fn operands_in_common_keep_their_meaning() {
    for (inner, outer) in BINARY.into_iter().flat_map(|inner| BINARY.map(|outer| (inner, outer))) {
        for form in 0..16 {
            simplified(|b, x, y| {
                let operands = match form % 4 {
                    0 => [x, y],
                    1 => [y, x],
                    2 => [x, b.iconst(Type::I32, 3)],
                    _ => [x, b.iconst(Type::I32, -16)],
                };
                let value = b.int2(inner, operands[0], operands[1]);
                let other = if form & 4 == 0 { x } else { y };
                if form & 8 == 0 { b.int2(outer, value, other) } else { b.int2(outer, other, value) }
            });
        }
    }
}

/// Two results of one number: quotients times the divisor with remainders, high bits with low bits.
#[test]
fn parts_of_a_number_keep_their_meaning() {
    for (first, second) in BINARY.into_iter().flat_map(|first| BINARY.map(|second| (first, second))) {
        for outer in [Opcode::Iadd, Opcode::Isub, Opcode::Or, Opcode::Xor, Opcode::And] {
            simplified(|b, x, _| {
                let three = b.iconst(Type::I32, 3);
                let [quotient, remainder] = [first, second].map(|op| b.int2(op, x, three));
                let product = b.int2(Opcode::Imul, quotient, three);
                b.int2(outer, product, remainder)
            });
            simplified(|b, x, _| {
                let [high, low] = [-16, 15].map(|mask| b.iconst(Type::I32, mask));
                let (high, low) = (b.int2(first, x, high), b.int2(second, x, low));
                b.int2(outer, high, low)
            });
        }
    }
}

/// Integers whose parts are permuted as vectors: all permutations and repetitions of four bytes, and a sample of others.
#[test]
fn permuted_parts_of_integers_keep_their_meaning() {
    let four = (0..256u64).map(|n| (Type::I32, Elem::I8, (0..4).map(|at| n >> (2 * at) & 3).collect::<Vec<u64>>()));
    let halves = (0..4u64).map(|n| (Type::I32, Elem::I16, vec![n & 1, n >> 1]));
    let mut rng = Rng::new(7);
    let eight = (0..200).map(|_| (Type::I64, Elem::I8, (0..8).map(|_| rng.bits() % 8).collect()));
    let turned = (0..8).map(|by| (Type::I64, Elem::I8, (0..8).map(|at| (at + by) % 8).collect()));
    let reversed = [(Type::I64, Elem::I8, (0..8).rev().collect()), (Type::I64, Elem::I32, vec![1, 0])];
    // The bytes of two integers, of which each takes its own, and of which they exchange some.
    let two = [[1, 0, 3, 2, 5, 4, 7, 6], [3, 2, 1, 0, 7, 6, 5, 4], [1, 0, 3, 2, 5, 4, 6, 7], [0, 5, 2, 3, 4, 1, 6, 7]];
    let two = two.map(|lanes| (Type::vector(Elem::I32, 2), Elem::I8, lanes.to_vec()));
    let mut rewritten = 0;
    for (ty, part, lanes) in four.chain(halves).chain(eight).chain(turned).chain(reversed).chain(two) {
        let mut func = Function::new("f", &[Type::I64]);
        let entry = func.append_block();
        let param = func.dfg.append_param(entry, Type::I64);
        let mut b = Builder::at_end(&mut func, entry);
        let whole =
            if ty == Type::I32 { b.cast(Opcode::Itrunc, param, ty) } else { b.cast(Opcode::Bitcast, param, ty) };
        let parts = b.cast(Opcode::Bitcast, whole, Type::vector(part, lanes.len() as u32));
        let lanes: Vec<u8> = lanes.iter().map(|&lane| lane as u8).collect();
        let shuffled = b.shuffle(parts, parts, &lanes);
        let back = b.cast(Opcode::Bitcast, shuffled, ty);
        let wide = if ty == Type::I32 {
            b.cast(Opcode::Zext, back, Type::I64)
        } else {
            b.cast(Opcode::Bitcast, back, Type::I64)
        };
        b.ret(&[wide]);
        let mut module = Module::default();
        let func = module.funcs.push(func);
        let before = module.clone();
        passes::run(&mut module.funcs[func], &before.globals, &["simplify", "dce"], &mut |_, _| ());
        rewritten += u32::from(!module.funcs[func].to_string().contains("shuffle"));
        for number in [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 1, u64::MAX << 8] {
            let [old, new] = [&before, &module].map(|module| call(module, func, &[number]));
            assert_eq!(old, new, "{number:x} {lanes:?}\n{before}\n{module}");
        }
    }
    assert!(rewritten > 256 + 4 + 8, "{rewritten}");
}
