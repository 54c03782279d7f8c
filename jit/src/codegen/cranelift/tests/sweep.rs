//! Tests every lane-wise op of the op table against its meaning: at every element and a selection of lane counts, on edge cases
//! and random operands.

use clift_kir::eval::LaneCx;
use clift_kir::ops::{ImmKind, Meaning, OPS, OpInfo, TypeRule};
use clift_kir::{
    Convert, Elem, FloatCond, FpFlags, Imm, IntCond, LibFn, MemInfo, Opcode, Rounding, Space, Type, Value,
};

use super::{CompiledFunction, KernelBuilder, compile, compile_elsewhere};

const LANES: [u32; 7] = [1, 2, 3, 4, 8, 16, 32];
const INTS: [Elem; 4] = [Elem::I8, Elem::I16, Elem::I32, Elem::I64];
const FLOATS: [Elem; 3] = [Elem::F16, Elem::F32, Elem::F64];

/// The elements of the operands and of the result.
type OpSignature = (Vec<Elem>, Elem);

fn signatures(info: &OpInfo, imm: &Imm) -> Vec<OpSignature> {
    let same = |elems: &[Elem], count: usize| elems.iter().map(|&e| (vec![e; count], e)).collect::<Vec<_>>();
    let pairs = |from: &[Elem], to: &[Elem], fits: &dyn Fn(Elem, Elem) -> bool| {
        from.iter()
            .flat_map(|&f| to.iter().map(move |&t| (f, t)))
            .filter(|&(f, t)| fits(f, t))
            .map(|(f, t)| (vec![f], t))
            .collect::<Vec<_>>()
    };
    let with_bool = [&[Elem::B1][..], &INTS[..]].concat();
    let pointer = Elem::Ptr(Space::Global);
    match info.rule {
        TypeRule::Int1 => same(&INTS, 1),
        TypeRule::Int2 => same(&INTS, 2),
        TypeRule::Bits1 => same(&with_bool, 1),
        TypeRule::Bits2 => same(&with_bool, 2),
        TypeRule::Float1 => same(&FLOATS, 1),
        TypeRule::Float2 => same(&FLOATS, 2),
        TypeRule::Float3 => same(&FLOATS, 3),
        TypeRule::IntCompare => {
            let mut elems = with_bool.clone();
            if !matches!(imm, Imm::IntCond(IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge)) {
                elems.push(pointer);
            }
            elems.iter().map(|&e| (vec![e; 2], Elem::B1)).collect()
        }
        TypeRule::FloatCompare => FLOATS.iter().map(|&e| (vec![e; 2], Elem::B1)).collect(),
        TypeRule::Widen => pairs(&with_bool, &INTS, &|f, t| f.bits() < t.bits()),
        TypeRule::Narrow => pairs(&INTS, &INTS, &|f, t| f.bits() > t.bits()),
        TypeRule::FloatToInt => pairs(&FLOATS, &INTS, &|_, _| true),
        TypeRule::IntToFloat => pairs(&INTS, &FLOATS, &|_, _| true),
        TypeRule::FloatToFloat => pairs(&FLOATS, &FLOATS, &|f, t| f != t),
        TypeRule::PtrToInt => vec![(vec![pointer], Elem::I64)],
        TypeRule::IntToPtr => vec![(vec![Elem::I64], pointer)],
        TypeRule::PtrToPtr => vec![(vec![pointer], Elem::Ptr(Space::Generic))],
        TypeRule::Lib => {
            let Imm::Lib(function) = imm else { unreachable!() };
            [Elem::F32, Elem::F64]
                .iter()
                .map(|&e| {
                    let signature = function.signature();
                    let args = (0..signature.arity())
                        .map(|i| if signature.param_is_float(i) == Some(true) { e } else { Elem::I32 })
                        .collect();
                    (args, signature.result(Type::scalar(e)).elem)
                })
                .collect()
        }
        other => panic!("lane-wise op {} with type rule {other:?}", info.name),
    }
}

fn immediates(info: &OpInfo) -> Vec<Imm> {
    match info.imm {
        ImmKind::None => vec![Imm::None],
        ImmKind::IntCond => IntCond::ALL.iter().map(|&(c, _)| Imm::IntCond(c)).collect(),
        ImmKind::FloatCond => FloatCond::ALL.iter().map(|&(c, _)| Imm::FloatCond(c, FpFlags::empty())).collect(),
        ImmKind::Fp => vec![Imm::Fp(FpFlags::empty())],
        ImmKind::Wrap => vec![Imm::None],
        ImmKind::Convert => Rounding::ALL
            .iter()
            .flat_map(|&(rounding, _)| [true, false].map(|saturate| Imm::Convert(Convert { rounding, saturate })))
            .collect(),
        ImmKind::Lib => LibFn::ALL.iter().map(|&f| Imm::Lib(f)).collect(),
        other => panic!("lane-wise op {} with immediate {other:?}", info.name),
    }
}

/// Operands that are edge cases.
fn edges(elem: Elem) -> Vec<u64> {
    let mut values: Vec<u64> = match elem {
        Elem::B1 => vec![0, 1],
        Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
            let bits = elem.bits();
            let top = 1u64 << (bits - 1);
            vec![
                0,
                1,
                2,
                3,
                7,
                u64::from(bits) - 1,
                u64::from(bits),
                u64::from(bits) + 1,
                top,
                top - 1,
                top + 1,
                u64::MAX,
                u64::MAX - 1,
                0x5555_5555_5555_5555,
                100,
            ]
        }
        Elem::F16 | Elem::F32 | Elem::F64 => {
            let (mantissa, sign) = match elem {
                Elem::F16 => (10, 1u64 << 15),
                Elem::F32 => (23, 1 << 31),
                _ => (52, 1 << 63),
            };
            let infinity = (sign - 1) >> mantissa << mantissa;
            let number = |x: f64| clift_kir::eval::convert::round_f64(elem, x, Rounding::NearestEven);
            let mut values =
                vec![0, 1, (1 << mantissa) - 1, 1 << mantissa, infinity - 1, infinity, infinity | 1 << (mantissa - 1)];
            let numbers = [
                0.25,
                0.5,
                0.75,
                1.0,
                1.5,
                2.0,
                2.5,
                3.0,
                3.5,
                1.0 / 3.0,
                100.7,
                127.5,
                128.0,
                255.5,
                256.0,
                2047.5,
                32767.5,
                32768.0,
                65504.0,
                65519.0,
                65520.0,
                65535.5,
                65536.0,
                2147483647.0,
                2147483648.0,
                4294967295.0,
                4294967296.0,
                9.2233720368547e18,
                9223372036854775808.0,
                18446744073709551616.0,
                1e-5,
                6e-8,
                2.9e-8,
                3e-8,
                1e-40,
                7e-46,
                1e38,
                3.4028235677973366e38,
                1e39,
                1e300,
                16777217.0,
                8388609.0,
                0.49999999999999994,
                4503599627370497.5,
            ];
            values.extend(numbers.iter().map(|&x| number(x)));
            let negated: Vec<u64> = values.iter().map(|v| v | sign).collect();
            values.extend(negated);
            values
        }
    };
    for value in &mut values {
        *value &= elem.mask();
    }
    values.sort_unstable();
    values.dedup();
    values
}

fn random(elem: Elem, random: &mut fastrand::Rng) -> u64 {
    let word = random.u64(..);
    // Use small numbers as well as random bit patterns.
    let word = if word & 3 == 0 && elem.is_int() { (word >> 32) >> (word >> 2 & 31) } else { random.u64(..) };
    word & elem.mask()
}

/// Operands of the samples: all pairs of edge cases for two operands, and random ones.
fn samples(elems: &[Elem], seed: u64) -> Vec<Vec<u64>> {
    let mut numbers = fastrand::Rng::with_seed(seed);
    let mut samples = Vec::new();
    let lists: Vec<Vec<u64>> = elems.iter().map(|&e| edges(e)).collect();
    match &lists[..] {
        [a] => samples.extend(a.iter().map(|&a| vec![a])),
        [a, b] => samples.extend(a.iter().flat_map(|&a| b.iter().map(move |&b| vec![a, b]))),
        _ => {
            for _ in 0..2000 {
                samples.push(lists.iter().map(|list| list[numbers.u64(..) as usize % list.len()]).collect());
            }
        }
    }
    for _ in 0..200 {
        samples.push(elems.iter().map(|&e| random(e, &mut numbers)).collect());
    }
    samples
}

/// The element that represents an element in memory: Booleans are bytes.
fn stored(elem: Elem) -> Elem {
    if elem == Elem::B1 { Elem::I8 } else { elem }
}

fn pack(values: &[u64], elem: Elem) -> Vec<u8> {
    let bytes = stored(elem).bytes() as usize;
    values.iter().flat_map(|v| v.to_le_bytes()[..bytes].to_vec()).collect()
}

fn unpack(bytes: &[u8], elem: Elem) -> Vec<u64> {
    bytes
        .chunks_exact(stored(elem).bytes() as usize)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        })
        .collect()
}

fn is_nan(elem: Elem, bits: u64) -> bool {
    elem.is_float() && clift_kir::eval::float::to_f64(elem, bits).is_nan()
}

fn is_zero(elem: Elem, bits: u64) -> bool {
    elem.is_float() && clift_kir::eval::float::to_f64(elem, bits) == 0.0
}

/// Whether the op's documentation permits a result.
fn allowed(info: &OpInfo, imm: &Imm, (args, to): &OpSignature, operands: &[u64], wanted: u64, got: u64) -> bool {
    if wanted == got {
        return true;
    }
    match info.op {
        Opcode::Fneg | Opcode::Fabs | Opcode::Fcopysign => false,
        Opcode::Fmin | Opcode::Fmax if is_zero(*to, wanted) && is_zero(*to, got) => {
            operands.contains(&got) || is_zero(args[0], operands[0])
        }
        Opcode::FptoS | Opcode::FptoU => {
            // Without saturation, values out of range may give any result.
            let Imm::Convert(mode) = imm else { unreachable!() };
            let value = clift_kir::eval::float::to_f64(args[0], operands[0]);
            let (low, high) = match info.op {
                Opcode::FptoS => (-(2f64.powi(to.bits() as i32 - 1)), 2f64.powi(to.bits() as i32 - 1)),
                _ => (0.0, 2f64.powi(to.bits() as i32)),
            };
            let rounded = match mode.rounding {
                Rounding::NearestEven => value.round_ties_even(),
                Rounding::TowardZero => value.trunc(),
                Rounding::Up => value.ceil(),
                Rounding::Down => value.floor(),
            };
            !mode.saturate && (value.is_nan() || rounded < low || rounded >= high)
        }
        _ => is_nan(*to, wanted) && is_nan(*to, got),
    }
}

/// Tests one op with one immediate and one signature at all lane counts.
fn check(info: &OpInfo, imm: &Imm, signature: &OpSignature) {
    let (args, to) = signature;
    let samples = samples(args, u64::from(info.op as u8) << 8 | u64::from(args[0].bits()));
    let mut kernel = KernelBuilder::new(info.name);
    for (variant, &lanes) in LANES.iter().enumerate() {
        let pointers: Vec<Value> = (0..=args.len()).map(|i| kernel.pointer(variant * (args.len() + 1) + i)).collect();
        kernel.repeat((samples.len() as u64).div_ceil(u64::from(lanes)), |kernel, index| {
            let mut operands = Vec::new();
            for (&elem, &pointer) in args.iter().zip(&pointers) {
                let ty = Type::vector(stored(elem), lanes);
                let mut at = kernel.at();
                let address = at.addr(pointer, Some(index), u64::from(ty.bytes()), 0);
                let value = at.load(ty, address, MemInfo::aligned(1));
                operands.push(if elem == Elem::B1 {
                    let zero = at.iconst(ty, 0);
                    at.icmp(IntCond::Ne, value, zero)
                } else {
                    value
                });
            }
            let ty = Type::vector(*to, lanes);
            let memory = Type::vector(stored(*to), lanes);
            let mut at = kernel.at();
            let result = at.value(info.op, &operands, imm.clone(), ty);
            let result = if *to == Elem::B1 { at.cast(Opcode::Zext, result, memory) } else { result };
            let address = at.addr(pointers[args.len()], Some(index), u64::from(memory.bytes()), 0);
            at.store(address, result, MemInfo::aligned(1));
        });
    }
    let func = kernel.finish();
    let elsewhere = match imm {
        // All other ops expand to the same on all targets.
        Imm::Convert(mode) => {
            matches!(mode, Convert { rounding: Rounding::NearestEven | Rounding::Up, saturate: true })
        }
        Imm::Lib(function) => matches!(function, LibFn::Sin | LibFn::Pow | LibFn::Ldexp | LibFn::Ilogb),
        _ => true,
    };
    if elsewhere {
        compile_elsewhere(&func);
    }
    for compiled in compile(&func) {
        compare(&compiled, info, imm, signature, &samples);
    }
}

/// Runs a kernel with all lane counts and compares with the op's meaning.
fn compare(compiled: &CompiledFunction, info: &OpInfo, imm: &Imm, signature: &OpSignature, samples: &[Vec<u64>]) {
    let Meaning::Lanes(meaning) = info.meaning else { unreachable!() };
    let (args, to) = signature;
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    for &lanes in &LANES {
        let padded = samples.len().next_multiple_of(lanes as usize);
        for (i, &elem) in args.iter().enumerate() {
            let values: Vec<u64> = (0..padded).map(|s| samples[s.min(samples.len() - 1)][i]).collect();
            buffers.push(pack(&values, elem));
        }
        // The bytes after the results show whether a kernel writes beyond them.
        buffers.push(vec![0xa5; padded * stored(*to).bytes() as usize + 16]);
    }
    let words: Vec<u64> = buffers.iter_mut().map(|b| b.as_mut_ptr() as u64).collect();
    compiled.call(&words, 0, 1);
    let cx = LaneCx { imm, src: args[0], dst: *to };
    for (variant, &lanes) in LANES.iter().enumerate() {
        let buffer = &buffers[variant * (args.len() + 1) + args.len()];
        let (results, behind) = buffer.split_at(buffer.len() - 16);
        assert_eq!(behind, [0xa5; 16], "{} at {lanes} lanes writes beyond its result", info.name);
        for (sample, &got) in samples.iter().zip(&unpack(results, *to)) {
            let wanted = meaning(&cx, sample);
            assert!(
                allowed(info, imm, signature, sample, wanted, got),
                "{}: {} {imm:?} {args:?} -> {to:?} in {lanes} lanes of {sample:x?}: {got:x}, should be {wanted:x}",
                compiled.backend,
                info.name
            );
        }
    }
}

fn sweep(take: impl Fn(&OpInfo) -> bool) {
    let mut failures = Vec::new();
    for info in OPS.iter().filter(|info| matches!(info.meaning, Meaning::Lanes(_)) && take(info)) {
        for imm in immediates(info) {
            for signature in signatures(info, &imm) {
                let result = std::panic::catch_unwind(|| check(info, &imm, &signature));
                if let Err(payload) = result {
                    failures.push(crate::guard::panic_text(&*payload).lines().next().unwrap_or_default().to_owned());
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

fn is_float_op(info: &OpInfo) -> bool {
    matches!(info.rule, TypeRule::Float1 | TypeRule::Float2 | TypeRule::Float3 | TypeRule::FloatCompare)
}

fn is_conversion(info: &OpInfo) -> bool {
    info.imm == ImmKind::Convert
}

#[test]
fn floats() {
    sweep(is_float_op);
}

#[test]
fn conversions() {
    sweep(is_conversion);
}

#[test]
fn library() {
    sweep(|info| info.rule == TypeRule::Lib);
}

#[test]
fn integers() {
    sweep(|info| !is_float_op(info) && !is_conversion(info) && info.rule != TypeRule::Lib);
}
