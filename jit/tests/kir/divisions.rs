//! Divisions of all sizes by constants, by divisors that all work-items share, and by each work-item's own: backends multiply by
//! reciprocals or divide as floats. Dividends lie beside multiples of the divisors, where a rounding error shows.

use clift_kir::interp::Geometry;
use clift_kir::testing::run::{Arg, Fill, RunCase};
use clift_kir::testing::samples::Rng;
use clift_kir::{Builder, Elem, Func, Function, KernelData, MemInfo, Module, Opcode, Space, Stage, Type};

use super::on_each_backend;

const ITEMS: u64 = 320;
/// Divisors of a kernel.
const DIVISORS: u64 = 8;
/// Kernels of each kind, and when there is time.
const KERNELS: [u64; 2] = [3, 60];

/// Where divisors come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Divisor {
    Constant,
    /// A constant, which divides what all work-items share.
    ConstantOfShared,
    /// Loaded from the same address by all work-items.
    Shared,
    /// Loaded from an address of each work-item.
    Own,
}

pub(crate) fn all(thorough: bool) -> Result<(), String> {
    for elem in [Elem::I8, Elem::I16, Elem::I32, Elem::I64] {
        for divisor in [Divisor::Constant, Divisor::ConstantOfShared, Divisor::Shared, Divisor::Own] {
            for signed in [false, true] {
                (0..KERNELS[usize::from(thorough)]).try_for_each(|seed| check(elem, divisor, signed, seed))?;
            }
        }
    }
    Ok(())
}

/// A number of any magnitude, or one at an edge.
fn number(elem: Elem, rng: &mut Rng) -> u64 {
    let edges = [0, 1, 2, 3, 10, elem.mask() >> 1, (elem.mask() >> 1) + 1, elem.mask() - 1, elem.mask()];
    match rng.below(4) {
        0 => rng.pick(&edges),
        _ => (rng.bits() & elem.mask()) >> rng.below(elem.bits() as usize),
    }
}

fn check(elem: Elem, divisor: Divisor, signed: bool, seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(u64::from(elem.bits()) << 8 | seed << 1 | u64::from(signed));
    let shared: Vec<u64> = (0..DIVISORS).map(|_| number(elem, &mut rng)).collect();
    let (mut dividends, mut divisors) = (Vec::new(), Vec::new());
    for _ in 0..ITEMS * DIVISORS {
        let index = dividends.len() as u64 % DIVISORS;
        let by = if divisor == Divisor::Own { number(elem, &mut rng) } else { shared[index as usize] };
        // Beside a multiple, negated for some.
        let multiple = number(elem, &mut rng).checked_div(by).map_or(0, |quotient| quotient * by);
        let beside = multiple.wrapping_add(rng.below(3) as u64).wrapping_sub(1);
        dividends.push(if rng.below(4) == 0 { beside.wrapping_neg() } else { beside } & elem.mask());
        divisors.push(by);
    }
    let module = kernel(elem, divisor, signed, &shared);
    let ty = Type::scalar(elem);
    let count = (ITEMS * DIVISORS) as usize;
    let args = vec![
        (0, Arg::Buffer { ty, count, fill: Fill::Repeat(dividends) }),
        (8, Arg::Buffer { ty, count, fill: Fill::Repeat(divisors) }),
        (16, Arg::Buffer { ty, count: 2 * count, fill: Fill::Repeat(vec![0]) }),
    ];
    let case = RunCase::new("divisions", Geometry::linear(ITEMS, 64), args).in_order_of_seed(0);
    on_each_backend(&module, case).map_err(|e| format!("{elem:?}, {divisor:?}, signed: {signed}, seed {seed}: {e}"))
}

fn kernel(elem: Elem, divisor: Divisor, signed: bool, constants: &[u64]) -> Module {
    let mut func = Function::new("divisions", &[]);
    func.stage = Stage::Canonical;
    let entry = func.append_block();
    let mut b = Builder::at_end(&mut func, entry);
    let [dividends, divisors, results] = [0, 8, 16].map(|at| b.arg(at, Type::ptr(Space::Global)));
    let id = b.query(Opcode::GlobalId, 0);
    let bytes = u64::from(elem.bytes());
    let (ty, mem) = (Type::scalar(elem), MemInfo::aligned(elem.bytes()));
    let at = |b: &mut Builder<'_>, base, own: bool, of: u64, number: u64| {
        b.addr(base, own.then_some(id), of * bytes, (number * bytes) as i64)
    };
    for (number, &constant) in (0..).zip(constants) {
        let address = at(&mut b, dividends, divisor != Divisor::ConstantOfShared, DIVISORS, number);
        let dividend = b.load(ty, address, mem);
        let by = match divisor {
            Divisor::Constant | Divisor::ConstantOfShared => b.iconst(ty, constant as i64),
            Divisor::Shared | Divisor::Own => {
                let address = at(&mut b, divisors, divisor == Divisor::Own, DIVISORS, number);
                b.load(ty, address, mem)
            }
        };
        let ops = if signed { [Opcode::Sdiv, Opcode::Srem] } else { [Opcode::Udiv, Opcode::Urem] };
        for (half, op) in (0..).zip(ops) {
            let value = b.int2(op, dividend, by);
            let address = at(&mut b, results, true, 2 * DIVISORS, 2 * number + half);
            b.store(address, value, mem);
        }
    }
    b.ret(&[]);
    let mut module = Module::default();
    module.funcs.push(func);
    module.kernels.push(KernelData { func: Func::from_u32(0), arg_block_bytes: 24, required_local_size: None });
    module
}
