//! Shuffles of every type, in all the patterns that backends have instructions for and some that they have none for: of two
//! vectors and of one twice, as one kernel per type of operand and result.

use clift_jit::BackendChoice;
use clift_kir::interp::Geometry;
use clift_kir::testing::run::{self, Arg, Fill, RunCase};
use clift_kir::testing::samples::Rng;
use clift_kir::{
    Builder, Elem, Func, Function, IntCond, KernelData, MemInfo, Module, Opcode, Space, Stage, Type, Value, verify,
};

use clift_jit::testing::launch::{self, CRANELIFT, How};

const ELEMS: [Elem; 5] = [Elem::B1, Elem::I8, Elem::I16, Elem::I32, Elem::I64];
/// Most lanes of a type.
const LANES: u32 = 64;
const ITEMS: u64 = 3;
/// Bytes between operands in memory.
const STRIDE: u64 = 512;

/// All types, and each with these numbers of lanes for results.
pub(crate) fn all() -> Result<(), String> {
    for elem in ELEMS {
        for from in [1, 2, 3, 4, 6, 8].into_iter().flat_map(|n| [n, n * 8]).filter(|&lanes| lanes > 1 && lanes <= LANES)
        {
            for to in [from / 4, from / 2, from, 2 * from, 4 * from].into_iter().filter(|&to| to > 1 && to <= LANES) {
                check(Type::vector(elem, from), to)?;
            }
        }
    }
    Ok(())
}

/// Lanes of two vectors of `from` lanes, by number.
fn patterns(from: u32, to: u32, rng: &mut Rng) -> Vec<Vec<u32>> {
    let both = 2 * from;
    let mut patterns: Vec<Vec<u32>> = Vec::new();
    let mut add = |lane: &dyn Fn(u32) -> u32| patterns.push((0..to).map(|i| lane(i) % both).collect());
    for first in [0, 1, to / 2, to, 2 * to, 3 * to, from / 2, from - 1, from, from + from / 2, both - 1] {
        add(&|i| first + i);
        add(&|_| first);
        add(&|i| (first + i) % from);
        add(&|i| first + 2 * i);
    }
    add(&|i| both - 1 - i % both);
    add(&|i| from - 1 - i % from);
    add(&|i| i / 2 + i % 2 * from);
    add(&|i| from / 2 + i / 2 + i % 2 * from);
    add(&|i| i ^ 1);
    add(&|i| i % from + i % 2 * from);
    for _ in 0..4 {
        let lanes: Vec<u32> = (0..to).map(|_| rng.below(both as usize) as u32).collect();
        patterns.push(lanes);
    }
    patterns.sort();
    patterns.dedup();
    patterns
}

fn check(ty: Type, to: u32) -> Result<(), String> {
    // Optimized kernels have no shuffle of one vector twice.
    const PLAIN: How =
        How { name: "host, no optimization", backend: BackendChoice::Auto, opt_disable: true, ..CRANELIFT };
    let mut rng = Rng::new(u64::from(ty.bits()) << 8 | u64::from(to));
    let patterns = patterns(ty.lanes(), to, &mut rng);
    let bytes = STRIDE * patterns.len() as u64 * 2;
    let module = kernel(ty, &patterns, bytes);
    verify::module(&module).map_err(|e| format!("{e}\n{module}"))?;
    let input = (0..ITEMS * 2 * STRIDE).map(|_| rng.below(251) as u64).collect();
    let count = (ITEMS * bytes) as usize;
    let args = vec![
        (0, Arg::Buffer { ty: Type::I8, count: (ITEMS * 2 * STRIDE) as usize, fill: Fill::Repeat(input) }),
        (8, Arg::Buffer { ty: Type::I8, count, fill: Fill::Repeat(vec![0]) }),
    ];
    let case = RunCase::new("shuffles", Geometry::linear(ITEMS, ITEMS), args).in_order_of_seed(0);
    let wanted = run::interpret(&module, &case)?.remove(0).1;
    let compiled = launch::ways().filter(|how| how.backend != BackendChoice::Interp && how.width == Some(1));
    for how in compiled.chain([&PLAIN]) {
        let found = launch::execute(&module, &case, how).map_err(|e| format!("{}: {e}\n{module}", how.name))?;
        for ((at, wanted), (_, found)) in wanted.buffers.iter().zip(&found.buffers) {
            if let Some(byte) = wanted.iter().zip(found).position(|(wanted, found)| wanted != found) {
                let number = byte as u64 % bytes / STRIDE;
                let (pattern, twice) = (&patterns[(number / 2) as usize], number % 2 == 1);
                return Err(format!("{}: {ty}, argument {at}, byte {byte}, {pattern:?}, one twice: {twice}", how.name));
            }
        }
    }
    Ok(())
}

fn kernel(ty: Type, patterns: &[Vec<u32>], bytes: u64) -> Module {
    let mut func = Function::new("shuffles", &[]);
    func.stage = Stage::Canonical;
    let entry = func.append_block();
    let mut b = Builder::at_end(&mut func, entry);
    let input = b.arg(0, Type::ptr(Space::Global));
    let output = b.arg(8, Type::ptr(Space::Global));
    let id = b.query(Opcode::GlobalId, 0);
    let input = b.addr(input, Some(id), 2 * STRIDE, 0);
    let output = b.addr(output, Some(id), bytes, 0);
    let [first, second] = [0, STRIDE as i64].map(|disp| {
        let at = b.addr(input, None, 1, disp);
        load(&mut b, ty, at)
    });
    for (i, pattern) in patterns.iter().enumerate() {
        let lanes: Vec<u8> = pattern.iter().map(|&lane| lane as u8).collect();
        for (j, other) in [second, first].into_iter().enumerate() {
            let mut result = b.shuffle(first, other, &lanes);
            if ty.is_bool() {
                let bytes = b.ty(result).with_elem(Elem::I8);
                result = b.cast(Opcode::Zext, result, bytes);
            }
            let at = b.addr(output, None, 1, (2 * i + j) as i64 * STRIDE as i64);
            b.store(at, result, MemInfo::aligned(8));
        }
    }
    b.ret(&[]);
    let mut module = Module::default();
    module.funcs.push(func);
    module.kernels.push(KernelData { func: Func::from_u32(0), arg_block_bytes: 16, required_local_size: None });
    module
}

/// Booleans are comparisons of bytes.
fn load(b: &mut Builder<'_>, ty: Type, at: Value) -> Value {
    if !ty.is_bool() {
        return b.load(ty, at, MemInfo::aligned(8));
    }
    let stored = ty.with_elem(Elem::I8);
    let bytes = b.load(stored, at, MemInfo::aligned(8));
    let bound = b.iconst(stored, 100);
    b.icmp(IntCond::Ult, bytes, bound)
}
