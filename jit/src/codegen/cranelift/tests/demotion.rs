//! Values in stack slots: random control flow whose blocks exchange many parameters. One backend of the tests keeps all values in
//! slots that may be there; its results are those of the others.

use clift_kir::{Block, BlockCall, Elem, IntCond, MemInfo, Opcode, Type, Value};

use super::{KernelBuilder, compile};
use crate::codegen::demote;
use crate::target::caps::DemotionLimits;

/// Blocks of a program besides its entry and its exit.
const BLOCKS: u64 = 12;
/// Jumps that a program executes.
const FUEL: i64 = 200;
const TYPES: [(Elem, u32); 6] =
    [(Elem::I64, 1), (Elem::I64, 1), (Elem::I32, 8), (Elem::I32, 8), (Elem::I32, 1), (Elem::I32, 1)];
const OUT_BYTES: usize = 2 * 8 + 2 * 32 + 2 * 4;

fn types() -> [Type; 6] {
    TYPES.map(|(elem, lanes)| Type::vector(elem, lanes))
}

struct Generator {
    kernel: KernelBuilder,
    random: fastrand::Rng,
    /// The fuel's value and the parameters of the current block.
    fuel: Value,
    held: Vec<Value>,
    /// Values of an earlier block that dominates all others.
    outer: Vec<Value>,
}

impl Generator {
    /// A value of a type: a parameter of the block, whichever has the type, or a value of the entry; sometimes changed.
    fn arg(&mut self, ty: Type) -> Value {
        let from = if self.random.u8(..5) == 0 { &self.outer } else { &self.held };
        let mut pick = || -> Value {
            let fitting: Vec<Value> =
                from.iter().copied().filter(|&value| self.kernel.func.dfg.ty(value) == ty).collect();
            fitting[self.random.usize(..fitting.len())]
        };
        let (a, b) = (pick(), pick());
        let how = self.random.u8(..8);
        let scalar = self.outer[4];
        let mut at = self.kernel.at();
        match how {
            0 => at.int2(Opcode::Iadd, a, b),
            1 => at.int2(Opcode::Xor, a, b),
            2 if ty.is_vector() => at.splat(scalar, ty.lanes()),
            3 => at.iconst(ty, 77),
            _ => a,
        }
    }

    fn target(&mut self, block: Block) -> BlockCall {
        let mut args = vec![self.fuel];
        args.extend(types().map(|ty| self.arg(ty)));
        BlockCall::new(block, &args)
    }
}

/// A program of random jumps between blocks, which ends when its fuel is used up and stores what its parameters hold then.
fn program(seed: u64) -> clift_kir::Function {
    let mut kernel = KernelBuilder::new("jumps");
    let [input, output] = [0, 1].map(|index| kernel.pointer(index));
    let blocks: Vec<Block> = (0..=BLOCKS).map(|_| kernel.func.append_block()).collect();
    let exit = blocks[0];
    let mut at = kernel.at();
    let mut offset = 0;
    let outer = types().map(|ty| {
        let from = at.addr(input, None, 1, offset);
        offset += i64::from(ty.bytes());
        at.load(ty, from, MemInfo::aligned(1))
    });
    let fuel = at.iconst(Type::I64, FUEL);
    let (held, outer) = (outer.to_vec(), outer.to_vec());
    let mut it = Generator { kernel, random: fastrand::Rng::with_seed(seed), fuel, held, outer };
    let first = it.target(blocks[1]);
    it.kernel.at().jump(first.block, &first.args);
    for &block in &blocks {
        it.kernel.block = block;
        it.fuel = it.kernel.func.dfg.append_param(block, Type::I64);
        it.held = types().map(|ty| it.kernel.func.dfg.append_param(block, ty)).to_vec();
        if block == exit {
            let mut offset = 0;
            for value in it.held.clone() {
                let mut at = it.kernel.at();
                let to = at.addr(output, None, 1, offset);
                offset += i64::from(at.ty(value).bytes());
                at.store(to, value, MemInfo::aligned(1));
            }
            it.kernel.at().ret(&[]);
            continue;
        }
        let mut at = it.kernel.at();
        let one = at.iconst(Type::I64, 1);
        it.fuel = at.int2(Opcode::Isub, it.fuel, one);
        let zero = at.iconst(Type::I64, 0);
        let empty = at.icmp(IntCond::Sle, it.fuel, zero);
        let (leaves, stays) = (it.target(exit), blocks[1 + it.random.usize(..BLOCKS as usize)]);
        let stays = it.target(stays);
        // Half of the blocks go on in two ways, the others through a block of one successor.
        if it.random.bool() {
            it.kernel.at().branch(empty, leaves, stays);
            continue;
        }
        let between = it.kernel.func.append_block();
        it.kernel.at().branch(empty, leaves, BlockCall::new(between, &[]));
        it.kernel.block = between;
        let (then, otherwise) = (it.target(stays.block), blocks[1 + it.random.usize(..BLOCKS as usize)]);
        if it.random.bool() {
            it.kernel.at().jump(then.block, &then.args);
            continue;
        }
        let otherwise = it.target(otherwise);
        let odd = it.held[0];
        let mut at = it.kernel.at();
        let bit = at.int2(Opcode::And, odd, one);
        let odd = at.icmp(IntCond::Ne, bit, zero);
        at.branch(odd, then, otherwise);
    }
    it.kernel.func
}

#[test]
fn exchanged_parameters() {
    let input: Vec<u8> = (0..OUT_BYTES).map(|at| (at * 37 + 11) as u8).collect();
    for seed in crate::spmd::tests::seeds(150) {
        let mut wanted: Option<Vec<u8>> = None;
        for compiled in compile(&program(seed)) {
            let mut got = vec![0u8; OUT_BYTES];
            compiled.call(&[input.as_ptr() as u64, got.as_mut_ptr() as u64], 0, 1);
            let wanted = wanted.get_or_insert_with(|| got.clone());
            assert_eq!(wanted, &got, "{}: seed {seed}", compiled.backend);
        }
    }
}

/// Large functions of which many values are demoted are recognized, because Cranelift must not forward these from stores to
/// loads.
#[test]
fn functions_with_demoted_values_are_recognized() {
    let limits = DemotionLimits::of_registers(16);
    let rows = |values: i64| {
        let mut kernel = KernelBuilder::new("rows");
        let pointer = kernel.pointer(0);
        let second = kernel.func.append_block();
        let mut at = kernel.at();
        let ty = Type::vector(Elem::I32, 4);
        let place = |at: &mut clift_kir::Builder<'_>, i: i64| at.addr(pointer, None, 1, 16 * i);
        let all: Vec<Value> = (0..values)
            .map(|i| {
                let from = place(&mut at, i);
                at.load(ty, from, MemInfo::aligned(4))
            })
            .collect();
        // Only what is alive in several blocks may be demoted.
        at.jump(second, &[]);
        kernel.block = second;
        let mut at = kernel.at();
        for round in 0..40 {
            let sum = all.iter().copied().reduce(|a, b| at.int2(Opcode::Iadd, a, b)).expect("some values");
            let to = place(&mut at, 1000 + round);
            at.store(to, sum, MemInfo::aligned(4));
        }
        at.ret(&[]);
        kernel.func
    };
    for (values, expected) in [(8, false), (400, true)] {
        let mut func = rows(values);
        demote::run(&mut func, limits);
        assert_eq!(demote::has_demoted(&func, limits), expected, "{values}");
    }
}
