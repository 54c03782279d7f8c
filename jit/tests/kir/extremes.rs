//! Selects between the operands of their own comparison, as programs write minima, maxima and clamps: with every condition and
//! both orders, also of constants, over numbers, infinities, NaN and both zeros. The bits of the chosen operand must not
//! change.

use clift_kir::dfg::ConstData;
use clift_kir::inst::FloatCond;
use clift_kir::interp::Geometry;
use clift_kir::testing::run::{Arg, Fill, RunCase};
use clift_kir::{Builder, Elem, Func, Function, KernelData, MemInfo, Module, Opcode, Space, Stage, Type};

use super::on_each_backend;

const ITEMS: u64 = 320;

pub(crate) fn all() -> Result<(), String> {
    for elem in [Elem::F32, Elem::F64] {
        for (cond, name) in FloatCond::ALL {
            for constant in [None, Some(0), Some(1), Some(5)] {
                check(elem, cond, constant).map_err(|e| format!("{elem:?} {name} {constant:?}: {e}"))?;
            }
        }
    }
    Ok(())
}

/// Values whose order or sign is special, as bits.
fn values(elem: Elem) -> Vec<u64> {
    let numbers = [0.0, -0.0, 1.0, -1.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, 1e30, -1e30];
    match elem {
        Elem::F32 => {
            let bits = numbers.iter().map(|&x| u64::from((x as f32).to_bits()));
            bits.chain([0x7fc0_0000, 0xffc0_0001, 0x7f80_0001, 1, 0x8000_0001]).collect()
        }
        _ => {
            let nans = [0x7ff8 << 48, 0xfff8_0000_0000_0001, 0x7ff0_0000_0000_0001];
            numbers.iter().map(|x| x.to_bits()).chain(nans).chain([1, 1 << 63 | 1]).collect()
        }
    }
}

/// Compares and chooses, with a constant operand if one is named by its place among the values.
fn check(elem: Elem, cond: FloatCond, constant: Option<usize>) -> Result<(), String> {
    let special = values(elem);
    let count = special.len() as u64;
    let ty = Type::scalar(elem);
    // All pairs, in some order.
    let firsts: Vec<u64> = (0..ITEMS).map(|i| special[(i % count) as usize]).collect();
    let seconds: Vec<u64> = (0..ITEMS).map(|i| special[((i / count + i * 3) % count) as usize]).collect();
    let mut func = Function::new("extremes", &[]);
    func.stage = Stage::Canonical;
    let entry = func.append_block();
    let mut b = Builder::at_end(&mut func, entry);
    let [first, second, results] = [0, 8, 16].map(|at| b.arg(at, Type::ptr(Space::Global)));
    let id = b.query(Opcode::GlobalId, 0);
    let (bytes, mem) = (u64::from(elem.bytes()), MemInfo::aligned(elem.bytes()));
    let [x, y] = [first, second].map(|base| {
        let address = b.addr(base, Some(id), bytes, 0);
        b.load(ty, address, mem)
    });
    let y = constant.map_or(y, |at| b.constant(ConstData::splat(ty, special[at])));
    for (number, (left, right)) in [(x, y), (y, x)].into_iter().enumerate() {
        let holds = b.fcmp(cond, left, right);
        for (order, (then, otherwise)) in [(left, right), (right, left)].into_iter().enumerate() {
            let chosen = b.select(holds, then, otherwise);
            let address = b.addr(results, Some(id), 4 * bytes, (2 * number + order) as i64 * bytes as i64);
            b.store(address, chosen, mem);
        }
    }
    b.ret(&[]);
    let mut module = Module::default();
    module.funcs.push(func);
    module.kernels.push(KernelData { func: Func::from_u32(0), arg_block_bytes: 24, required_local_size: None });
    let count = ITEMS as usize;
    let args = vec![
        (0, Arg::Buffer { ty, count, fill: Fill::Repeat(firsts) }),
        (8, Arg::Buffer { ty, count, fill: Fill::Repeat(seconds) }),
        (16, Arg::Buffer { ty, count: 4 * count, fill: Fill::Repeat(vec![0]) }),
    ];
    on_each_backend(&module, RunCase::new("extremes", Geometry::linear(ITEMS, 64), args).in_order_of_seed(0))
}
