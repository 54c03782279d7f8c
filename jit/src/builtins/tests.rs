//! Expansions applied to constants, folded by the simplifier and compared with host arithmetic.

use clift_kir::dfg::ConstData;
use clift_kir::{Builder, Elem, Function, Opcode, Type, Value};

use super::{ClOp, Operand, expand};
use crate::passes;

/// Lanes of the builtin's result on constant operands.
fn eval(op: ClOp, operands: &[(Type, &[u64])], result: Type) -> Vec<u64> {
    let mut func = Function::new("f", &[result]);
    let block = func.append_block();
    let mut b = Builder::at_end(&mut func, block);
    let args: Vec<Operand> = operands
        .iter()
        .map(|(ty, lanes)| {
            let data = if lanes.len() == 1 { ConstData::splat(*ty, lanes[0]) } else { ConstData::new(*ty, lanes) };
            Operand::Value(b.constant(data))
        })
        .collect();
    let value: Value = expand(&mut b, op, &args, Some(result)).unwrap().unwrap();
    b.ret(&[value]);
    passes::run(&mut func, &passes::Globals::new(), &["simplify", "simplify_cfg", "simplify"], &mut |_, _| ());
    let ret = func.layout.terminator(func.layout.entry().unwrap()).unwrap();
    func.dfg.as_const(func.dfg.inst(ret).args[0]).expect("folds").to_lanes()
}

fn f32s(op: ClOp, xs: &[f32]) -> f32 {
    let bits: Vec<[u64; 1]> = xs.iter().map(|x| [u64::from(x.to_bits())]).collect();
    let operands: Vec<(Type, &[u64])> = bits.iter().map(|b| (Type::F32, &b[..])).collect();
    f32::from_bits(eval(op, &operands, Type::F32)[0] as u32)
}

#[test]
fn every_instruction_has_a_row_and_refuses_nonsense() {
    for number in 0..=204 {
        let Some(op) = ClOp::from_u32(number) else { continue };
        let mut func = Function::new("f", &[]);
        let block = func.append_block();
        let mut b = Builder::at_end(&mut func, block);
        assert!(expand(&mut b, op, &[], Some(Type::B1)).is_err(), "{op:?}");
        let mask = b.iconst(Type::B1.with_lanes(5), 1);
        let operands = [Operand::Value(mask); 3];
        for n in 1..=3 {
            let given = expand(&mut b, op, &operands[..n], Some(Type::F32));
            assert!(given.is_err() || op == ClOp::prefetch, "{op:?} with {n}");
        }
    }
}

#[test]
fn rounding_functions() {
    for x in [0.0f32, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609.0, f32::INFINITY, 1e-40] {
        assert_eq!(f32s(ClOp::round, &[x]).to_bits(), x.round().to_bits(), "{x}");
    }
    assert!(f32s(ClOp::round, &[f32::NAN]).is_nan());
}

#[test]
fn neighbours() {
    for (x, y) in [
        (1.0f32, 2.0f32),
        (1.0, 0.0),
        (-1.0, 0.0),
        (-1.0, -2.0),
        (0.0, 1.0),
        (-0.0, -1.0),
        (1e-45, 0.0),
        (f32::MAX, f32::INFINITY),
        (f32::INFINITY, 0.0),
        (3.0, 3.0),
    ] {
        assert_eq!(f32s(ClOp::nextafter, &[x, y]), libm::nextafterf(x, y), "{x} {y}");
    }
    assert!(f32s(ClOp::nextafter, &[1.0, f32::NAN]).is_nan() && f32s(ClOp::nextafter, &[f32::NAN, 1.0]).is_nan());
}

#[test]
fn exponents() {
    let ilogb = |x: f64| eval(ClOp::ilogb, &[(Type::F64, &[x.to_bits()])], Type::I32)[0] as u32 as i32;
    assert_eq!((ilogb(8.0), ilogb(0.75), ilogb(5e-324), ilogb(0.0)), (3, -1, -1074, i32::MIN));
    assert_eq!((ilogb(f64::INFINITY), ilogb(f64::NAN)), (i32::MAX, i32::MAX));
    assert_eq!((f32s(ClOp::logb, &[10.0]), f32s(ClOp::logb, &[0.0])), (3.0, f32::NEG_INFINITY));
    assert_eq!((f32s(ClOp::logb, &[-f32::INFINITY]), f32s(ClOp::logb, &[1e-45])), (f32::INFINITY, -149.0));
}

#[test]
fn common_functions() {
    assert_eq!(f32s(ClOp::fdim, &[3.0, 1.0]), 2.0);
    assert_eq!(f32s(ClOp::fdim, &[f32::INFINITY, f32::INFINITY]), 0.0);
    assert!(f32s(ClOp::fdim, &[f32::NAN, 1.0]).is_nan() && f32s(ClOp::fdim, &[1.0, f32::NAN]).is_nan());
    assert_eq!(f32s(ClOp::sign, &[-0.0]).to_bits(), (-0.0f32).to_bits());
    assert_eq!((f32s(ClOp::sign, &[f32::NAN]), f32s(ClOp::sign, &[-3.0])), (0.0, -1.0));
    assert_eq!((f32s(ClOp::step, &[1.0, 0.5]), f32s(ClOp::step, &[1.0, 1.0])), (0.0, 1.0));
    assert_eq!(f32s(ClOp::smoothstep, &[0.0, 2.0, 1.0]), 0.5);
    assert_eq!((f32s(ClOp::maxmag, &[-3.0, 2.0]), f32s(ClOp::minmag, &[-3.0, 3.0])), (-3.0, -3.0));
}

#[test]
fn integers_against_wide_arithmetic() {
    let samples: [u64; 8] = [0, 1, 2, 0x7f, 0x80, 0x81, 0xfe, 0xff];
    let s = |v: u64| i64::from(v as u8 as i8);
    let eval3 = |op, x: u64, y: u64, z: u64, n: usize| {
        let all = [(Type::I8, &[x][..]), (Type::I8, &[y][..]), (Type::I8, &[z][..])];
        eval(op, &all[..n], Type::I8)[0] as u8
    };
    for x in samples {
        for y in samples {
            assert_eq!(eval3(ClOp::s_hadd, x, y, 0, 2), ((s(x) + s(y)) >> 1) as u8);
            assert_eq!(eval3(ClOp::u_rhadd, x, y, 0, 2), ((x + y + 1) >> 1) as u8);
            assert_eq!(eval3(ClOp::s_abs_diff, x, y, 0, 2), (s(x) - s(y)).unsigned_abs() as u8);
            assert_eq!(eval3(ClOp::u_abs_diff, x, y, 0, 2), x.abs_diff(y) as u8);
            for z in samples {
                assert_eq!(eval3(ClOp::s_mad_sat, x, y, z, 3), (s(x) * s(y) + s(z)).clamp(-128, 127) as u8);
                assert_eq!(eval3(ClOp::u_mad_sat, x, y, z, 3), (x * y + z).min(255) as u8);
                assert_eq!(eval3(ClOp::s_mad_hi, x, y, z, 3), (((s(x) * s(y)) >> 8) + s(z)) as u8);
            }
        }
    }
}

#[test]
fn mad_sat_in_64_bits() {
    let samples = [0i64, 1, -1, i64::MAX, i64::MIN, 1 << 32, -(1 << 32), 3_037_000_500];
    for x in samples {
        for y in samples {
            for z in samples {
                let operands = [x, y, z].map(|v| [v as u64]);
                let operands: Vec<(Type, &[u64])> = operands.iter().map(|v| (Type::I64, &v[..])).collect();
                let wide = i128::from(x) * i128::from(y) + i128::from(z);
                let expected = wide.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                assert_eq!(eval(ClOp::s_mad_sat, &operands, Type::I64)[0] as i64, expected, "{x} {y} {z}");
            }
        }
    }
}

#[test]
fn vectors() {
    let f4 = Type::vector(Elem::F32, 4);
    let lanes = |v: [f32; 4]| v.map(|x| u64::from(x.to_bits()));
    let length = eval(ClOp::length, &[(f4, &lanes([1e30, 1e30, 1e30, 1e30]))], Type::F32)[0] as u32;
    assert_eq!(f32::from_bits(length), 2e30);
    let d2 = Type::vector(Elem::F64, 2);
    let tiny = eval(ClOp::length, &[(d2, &[3e-200f64.to_bits(), 4e-200f64.to_bits()])], Type::F64)[0];
    assert!((f64::from_bits(tiny) / 5e-200 - 1.0).abs() < 1e-15);
    let unit = eval(ClOp::normalize, &[(f4, &lanes([f32::INFINITY, 1.0, 0.0, f32::NEG_INFINITY]))], f4);
    let half = 0.5f32.sqrt();
    assert_eq!(unit, lanes([half, 0.0, 0.0, -half]));
    assert_eq!(eval(ClOp::normalize, &[(f4, &lanes([0.0; 4]))], f4), lanes([0.0; 4]));
    // The ends of the range, and lanes of equal length, which are 1 exactly.
    for x in [f32::MAX, f32::from_bits(1), 3.0, 49.0] {
        assert_eq!(eval(ClOp::normalize, &[(f4, &lanes([0.0, x, 0.0, 0.0]))], f4), lanes([0.0, 1.0, 0.0, 0.0]), "{x}");
        assert_eq!(eval(ClOp::normalize, &[(f4, &lanes([x, x, -x, x]))], f4), lanes([0.5, 0.5, -0.5, 0.5]), "{x}");
    }
    // Lanes that would underflow if the vector were scaled before the division, or be rounded if it were scaled after it.
    let apart = eval(ClOp::normalize, &[(d2, &[(-2.25e-178f64).to_bits(), 9e-307f64.to_bits()])], d2);
    assert_eq!(f64::from_bits(apart[0]), -1.0);
    assert!((f64::from_bits(apart[1]) / 4e-129 - 1.0).abs() < 1e-15);
    let apart = eval(ClOp::normalize, &[(d2, &[(-6.5e168f64).to_bits(), 6.8e-146f64.to_bits()])], d2);
    assert_eq!(f64::from_bits(apart[0]), -1.0);
    assert!((f64::from_bits(apart[1]) / (6.8e-146 / 6.5e168) - 1.0).abs() < 1e-8);
    let i4 = Type::vector(Elem::I32, 4);
    assert_eq!(eval(ClOp::shuffle, &[(i4, &[10, 11, 12, 13]), (i4, &[3, 0, 5, 2])], i4), [13, 10, 11, 12]);
    assert_eq!(
        eval(ClOp::select, &[(i4, &[1, 2, 3, 4]), (i4, &[5, 6, 7, 8]), (i4, &[0, 1, 1 << 31, !0])], i4),
        [1, 2, 7, 8]
    );
    assert_eq!(eval(ClOp::bitselect, &[(i4, &[0b1100]), (i4, &[0b1010]), (i4, &[0b0110])], i4), [0b1010; 4]);
}

#[test]
fn unit_vectors_of_floats_take_one_division() {
    let f4 = Type::vector(Elem::F32, 4);
    let mut func = Function::new("f", &[f4]);
    let block = func.append_block();
    let mut b = Builder::at_end(&mut func, block);
    let x = b.arg(0, f4);
    let value = expand(&mut b, ClOp::normalize, &[Operand::Value(x)], Some(f4)).unwrap().unwrap();
    b.ret(&[value]);
    let insts = func.layout.insts(block).iter().map(|&inst| func.dfg.inst(inst));
    let divisions: Vec<Type> =
        insts.filter(|data| data.op == Opcode::Fdiv).map(|data| func.dfg.ty(data.args[0])).collect();
    assert_eq!(divisions, [Type::F64]);
}

#[test]
fn halves_go_through_floats() {
    let x = half::f16::from_f32(2.0).to_bits();
    let y = eval(ClOp::exp2, &[(Type::F16, &[x.into()])], Type::F16)[0];
    assert_eq!(half::f16::from_bits(y as u16).to_f32(), 4.0);
    let three = half::f16::from_f32(3.0).to_bits();
    let gamma = eval(ClOp::tgamma, &[(Type::F16, &[three.into()])], Type::F16)[0];
    assert_eq!(half::f16::from_bits(gamma as u16).to_f32(), 2.0);
}

#[test]
fn gamma_at_prescribed_places() {
    let gamma = |x: f64| f64::from_bits(eval(ClOp::tgamma, &[(Type::F64, &[x.to_bits()])], Type::F64)[0]);
    assert_eq!((gamma(0.0), gamma(-0.0)), (f64::INFINITY, f64::NEG_INFINITY));
    assert_eq!((gamma(f64::INFINITY), gamma(171.7), gamma(-200.5)), (f64::INFINITY, f64::INFINITY, 0.0));
    assert!(gamma(-3.0).is_nan() && gamma(f64::NEG_INFINITY).is_nan() && gamma(f64::NAN).is_nan());
    assert!((gamma(170.5) / 5.56209241456e+305 - 1.0).abs() < 1e-14 && gamma(-170.5) < 0.0);
}

#[test]
fn powers_with_constant_exponents_are_short() {
    let insts = |op: ClOp, exponent: (Type, u64)| {
        let mut func = Function::new("f", &[Type::F32]);
        let block = func.append_block();
        let mut b = Builder::at_end(&mut func, block);
        let x = b.arg(0, Type::F32);
        let exponent = b.constant(ConstData::splat(exponent.0, exponent.1));
        let value = expand(&mut b, op, &[Operand::Value(x), Operand::Value(exponent)], Some(Type::F32));
        b.ret(&[value.unwrap().unwrap()]);
        passes::run(&mut func, &passes::Globals::new(), &["simplify", "dce"], &mut |_, _| ());
        func.layout.blocks().iter().map(|&block| func.layout.insts(block).len()).sum::<usize>()
    };
    let float = |x: f32| (Type::F32, u64::from(x.to_bits()));
    for n in [-3i32, -1, 0, 1, 2, 3, 5, 7] {
        let few = 14;
        assert!(insts(ClOp::pown, (Type::I32, u64::from(n as u32))) <= few, "pown {n}");
        assert!(insts(ClOp::pow, float(n as f32)) <= few, "pow {n}");
        assert!(n == 0 || insts(ClOp::powr, float(n as f32)) <= few, "powr {n}");
    }
    for y in [-0.5, 0.5, 2.5] {
        assert!(insts(ClOp::pow, float(y)) <= 16 && insts(ClOp::powr, float(y)) <= 16, "{y}");
    }
    assert!(insts(ClOp::powr, float(0.3)) > 50 && insts(ClOp::pown, (Type::I32, 100)) > 50);
}
