//! Random bitwise expressions: backends may compute several ops in one instruction. Each kernel is a graph of ops in which values
//! have one use or several and constants are operands; only the last values are stored.

use clift_kir::interp::Geometry;
use clift_kir::testing::run::{Arg, Fill, RunCase};
use clift_kir::testing::samples::Rng;
use clift_kir::{Builder, Elem, Func, Function, KernelData, MemInfo, Module, Opcode, Space, Stage, Type, Value};

use super::on_each_backend;

const ITEMS: u64 = 40;
/// Values that are read.
const INPUTS: u64 = 4;
/// The results that are stored.
const STORED: u64 = 3;
/// Kernels of each type.
const KERNELS: u64 = 12;

pub(crate) fn all() -> Result<(), String> {
    for elem in [Elem::I8, Elem::I16, Elem::I32, Elem::I64] {
        for ty in [Type::scalar(elem), Type::vector(elem, 4)] {
            (0..KERNELS).try_for_each(|seed| check(ty, seed))?;
        }
    }
    Ok(())
}

fn check(ty: Type, seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(u64::from(ty.bits()) << 8 | seed);
    let module = kernel(ty, &mut rng);
    let bytes = u64::from(ty.bytes());
    let input = (0..ITEMS * INPUTS * bytes).map(|_| rng.below(256) as u64).collect::<Vec<_>>();
    let stored = (ITEMS * STORED * bytes) as usize;
    let args = vec![
        (0, Arg::Buffer { ty: Type::I8, count: input.len(), fill: Fill::Repeat(input) }),
        (8, Arg::Buffer { ty: Type::I8, count: stored, fill: Fill::Repeat(vec![0]) }),
    ];
    let case = RunCase::new("bitwise", Geometry::linear(ITEMS, ITEMS), args).in_order_of_seed(0);
    on_each_backend(&module, case).map_err(|e| format!("{ty}, seed {seed}: {e}"))
}

fn kernel(ty: Type, rng: &mut Rng) -> Module {
    let mut func = Function::new("bitwise", &[]);
    func.stage = Stage::Canonical;
    let entry = func.append_block();
    let mut b = Builder::at_end(&mut func, entry);
    let input = b.arg(0, Type::ptr(Space::Global));
    let output = b.arg(8, Type::ptr(Space::Global));
    let id = b.query(Opcode::GlobalId, 0);
    let bytes = u64::from(ty.bytes());
    let input = b.addr(input, Some(id), INPUTS * bytes, 0);
    let output = b.addr(output, Some(id), STORED * bytes, 0);
    let mut values: Vec<Value> = Vec::new();
    for number in 0..INPUTS {
        let at = b.addr(input, None, 1, (number * bytes) as i64);
        values.push(b.load(ty, at, MemInfo::aligned(ty.elem.bytes())));
    }
    for _ in 0..4 + rng.below(12) {
        let operand = |b: &mut Builder<'_>, rng: &mut Rng| match rng.below(6) {
            0 => b.iconst(ty, rng.bits() as i64),
            // Recent values more often, so that most have one user.
            1..=3 => values[values.len() - 1 - rng.below(3)],
            _ => values[rng.below(values.len())],
        };
        let (one, other) = (operand(&mut b, rng), operand(&mut b, rng));
        values.push(match rng.below(7) {
            0 | 1 => b.int2(Opcode::And, one, other),
            2 | 3 => b.int2(Opcode::Or, one, other),
            4 | 5 => b.int2(Opcode::Xor, one, other),
            _ => b.int1(Opcode::Not, one),
        });
    }
    for (number, &value) in values.iter().rev().take(STORED as usize).enumerate() {
        let at = b.addr(output, None, 1, (number as u64 * bytes) as i64);
        b.store(at, value, MemInfo::aligned(ty.elem.bytes()));
    }
    b.ret(&[]);
    let mut module = Module::default();
    module.funcs.push(func);
    module.kernels.push(KernelData { func: Func::from_u32(0), arg_block_bytes: 16, required_local_size: None });
    module
}
