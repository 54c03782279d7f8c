//! Random index arithmetic, computed lane by lane: values that the analysis calls affine are affine in every pack that the
//! assumptions permit.

use clift_kir::analysis::Cfg;
use clift_kir::eval::{LaneCx, WholeCx};
use clift_kir::inst::{Imm, InstData, IntCond};
use clift_kir::ops::Meaning;
use clift_kir::{Builder, Function, Inst, Opcode, Stage, Type, Value};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::generate::Rng;
use super::seeds;
use crate::spmd::analysis::assumptions::{Assume, Assumed, BOUNDS};
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::ranges::Ranges;
use crate::spmd::analysis::shape::{Assumptions, Bound, Check, Scope, Shape};

const WIDTHS: [Type; 4] = [Type::I8, Type::I16, Type::I32, Type::I64];

/// Mostly small numbers, powers of two and their neighbours, rarely any number.
fn number(rng: &mut Rng) -> u64 {
    let power = 1u64 << rng.below(64);
    match rng.below(8) {
        0 => power,
        1 => power.wrapping_neg(),
        2 => power - 1,
        3 => rng.below(u64::MAX),
        _ => rng.below(20).wrapping_sub(2),
    }
}

/// A function of one block: queries, arguments, and ops on them.
fn expressions(rng: &mut Rng) -> Function {
    let mut func = Function::new("affine", &[]);
    func.stage = Stage::Canonical;
    let block = func.append_block();
    let mut b = Builder::at_end(&mut func, block);
    let mut values = vec![
        b.query(Opcode::GlobalId, 0),
        b.query(Opcode::LocalId, 0),
        b.query(Opcode::LocalSize, 0),
        b.query(Opcode::GlobalId, 1),
        b.query_linear(Opcode::LocalLinearId),
        b.query_linear(Opcode::SubGroupLocalId),
    ];
    for (i, ty) in WIDTHS.into_iter().enumerate() {
        values.push(b.arg(8 * i as u32, ty));
        for n in 0..5 {
            let value = values[n];
            if ty != Type::I64 && rng.below(2) == 0 {
                let narrow = b.cast(Opcode::Itrunc, value, ty);
                values.push(narrow);
            }
        }
    }
    for _ in 0..30 {
        // Prefers the newest values.
        let at = values.len() - 1 - (rng.below(8) * rng.below(8)) as usize % values.len();
        let x = values[at];
        let ty = b.ty(x);
        let narrower: Vec<Type> = WIDTHS.into_iter().filter(|t| t.bits() < ty.bits()).collect();
        let wider: Vec<Type> = WIDTHS.into_iter().filter(|t| t.bits() > ty.bits()).collect();
        let ops = [
            Opcode::Iadd,
            Opcode::Isub,
            Opcode::Imul,
            Opcode::Shl,
            Opcode::Lshr,
            Opcode::Ashr,
            Opcode::And,
            Opcode::Or,
            Opcode::Xor,
            Opcode::Udiv,
            Opcode::Sdiv,
            Opcode::Urem,
            Opcode::Srem,
            Opcode::Umin,
            Opcode::Umax,
            Opcode::Smin,
            Opcode::Smax,
        ];
        let value = match rng.below(12) {
            0 if !narrower.is_empty() => b.cast(Opcode::Itrunc, x, narrower[rng.below(narrower.len() as u64) as usize]),
            1 | 2 if !wider.is_empty() => {
                let op = [Opcode::Zext, Opcode::Sext][rng.below(2) as usize];
                b.cast(op, x, wider[rng.below(wider.len() as u64) as usize])
            }
            3 => b.int1([Opcode::Not, Opcode::Ineg, Opcode::Iabs, Opcode::Popcnt][rng.below(4) as usize], x),
            choice => {
                let same: Vec<Value> = values.iter().copied().filter(|&v| b.ty(v) == ty).collect();
                let y = match rng.below(3) {
                    0 => same[rng.below(same.len() as u64) as usize],
                    _ => b.iconst(ty, number(rng) as i64),
                };
                if choice == 4 {
                    let conds = IntCond::ALL.map(|(cond, _)| cond);
                    let bit = b.icmp(conds[rng.below(10) as usize], x, y);
                    let other = same[rng.below(same.len() as u64) as usize];
                    b.select(bit, x, if rng.below(2) == 0 { y } else { other })
                } else if choice == 5 {
                    // Masks and bounds that are unknown at compile time.
                    let shared = b.arg(8 * WIDTHS.iter().position(|&t| t == ty).unwrap_or_default() as u32, ty);
                    let ops = [Opcode::And, Opcode::Or, Opcode::Xor, Opcode::Urem, Opcode::Srem, Opcode::Udiv];
                    b.int2(ops[rng.below(6) as usize], x, shared)
                } else {
                    b.int2(ops[rng.below(ops.len() as u64) as usize], x, y)
                }
            }
        };
        if !value_is_const(&b, value) {
            values.push(value);
        }
    }
    b.ret(&[]);
    func
}

fn value_is_const(b: &Builder<'_>, value: Value) -> bool {
    b.func.dfg.as_const(value).is_some()
}

/// Some pack of a launch.
struct Pack {
    global: u64,
    local: u64,
    local_size: u64,
    y: u64,
    linear: u64,
    args: [u64; 4],
    lanes: u64,
}

impl Pack {
    fn random(rng: &mut Rng, assumptions: &Assumptions) -> Pack {
        let width = u64::from(assumptions.width);
        let packs = 1 + rng.below(4);
        let local_size = if assumptions.packs_aligned { packs * width } else { 1 + rng.below(packs * width) };
        let local = rng.below(local_size.div_ceil(width)) * width;
        let bound = assumptions.ids_below.unwrap_or(u64::MAX / 2) - local_size;
        let mut start = if rng.below(2) == 0 { bound - rng.below(300).min(bound) } else { number(rng) % bound };
        if assumptions.packs_aligned {
            start -= start % width;
        }
        Pack {
            global: start + local,
            local,
            local_size,
            y: number(rng) % bound,
            linear: local + local_size * rng.below(4),
            args: [0; 4].map(|_| match rng.below(3) {
                // Near the ids.
                0 => (start + local).wrapping_add(rng.below(64)).wrapping_sub(32),
                _ => number(rng),
            }),
            lanes: width.min(local_size - local),
        }
    }

    fn query(&self, data: &InstData, lane: u64) -> u64 {
        match (data.op, &data.imm) {
            (Opcode::GlobalId, Imm::Dim(0)) => self.global + lane,
            (Opcode::GlobalId, _) => self.y,
            (Opcode::LocalId, _) => self.local + lane,
            (Opcode::LocalSize, _) => self.local_size,
            (Opcode::LocalLinearId, _) => self.linear + lane,
            (Opcode::SubGroupLocalId, _) => lane,
            (Opcode::Arg, Imm::Offset(at)) => self.args[*at as usize / 8],
            (op, _) => panic!("{op:?}"),
        }
    }
}

/// The values that a lane computes.
fn run(func: &Function, pack: &Pack, lane: u64) -> SecondaryMap<Value, u64> {
    let mut known: SecondaryMap<Value, u64> = SecondaryMap::with_capacity(func.dfg.value_count());
    for &inst in func.layout.insts(func.layout.blocks()[0]) {
        let data = func.dfg.inst(inst);
        let Some(result) = func.dfg.single_result(inst) else { continue };
        let ty = func.dfg.ty(result);
        let args: SmallVec<[u64; 4]> = data.args.iter().map(|&arg| known[arg]).collect();
        let value = match data.op.info().meaning {
            Meaning::Lanes(meaning) => {
                let cx = LaneCx { imm: &data.imm, src: func.dfg.ty(data.args[0]).elem, dst: ty.elem };
                meaning(&cx, &args)
            }
            Meaning::Whole(meaning) => {
                let cx = WholeCx { imm: &data.imm, src: func.dfg.ty(data.args[0]).elem, dst: ty };
                meaning(&cx, &args.iter().map(std::slice::from_ref).collect::<Vec<_>>())[0]
            }
            Meaning::Query if data.op == Opcode::Const => func.dfg.as_splat_bits(result).unwrap(),
            Meaning::Query | Meaning::Memory | Meaning::Control => pack.query(data, lane),
        };
        known[result] = value & ty.elem.mask();
    }
    known
}

#[derive(Default)]
struct Found {
    uniform: u32,
    affine: u32,
    conditional: u32,
    hold: u32,
    clamped: u32,
    assumed: u32,
    offsets: u32,
    assumed_offsets: u32,
}

fn check(seed: u64, assumptions: &Assumptions, found: &mut Found) {
    let mut rng = Rng::new(seed);
    let func = expressions(&mut rng);
    let cfg = Cfg::new(&func);
    let divergence = Divergence::new(&func, &cfg, Scope::Pack, assumptions);
    let mut ranges = Ranges::new(&func, &cfg, *assumptions);
    let results: Vec<(Inst, Value)> = func
        .layout
        .insts(func.layout.blocks()[0])
        .iter()
        .filter_map(|&inst| Some((inst, func.dfg.single_result(inst)?)))
        .collect();
    for _ in 0..40 {
        let pack = Pack::random(&mut rng, assumptions);
        let lanes: Vec<SecondaryMap<Value, u64>> = (0..pack.lanes).map(|lane| run(&func, &pack, lane)).collect();
        for &(inst, value) in &results {
            let mask = func.dfg.ty(value).elem.mask();
            let at = |lane: u64| lanes[lane as usize][value];
            let fail = |what: &str| -> ! {
                let numbers: Vec<u64> = (0..pack.lanes).map(at).collect();
                panic!(
                    "seed {seed} {assumptions:?}: {} is not {what} {:?} {:?}: {numbers:?}\n{func}",
                    func.inst_text(inst),
                    divergence.shape(value),
                    divergence.conditional(value)
                )
            };
            let is_affine = |stride: i64, align: u32, what: &str| {
                for lane in 0..pack.lanes {
                    let step = (stride as u64).wrapping_mul(lane);
                    if at(lane) != at(0).wrapping_add(step) & mask {
                        fail(what);
                    }
                }
                if at(0) & (u64::from(align) - 1) & mask != 0 {
                    fail("aligned");
                }
            };
            let range = ranges.of(value);
            let ((low, high), (least, most)) = (range.unsigned(), range.as_signed());
            for lane in 0..pack.lanes {
                let unused = mask.leading_zeros();
                let signed = ((at(lane) << unused) as i64) >> unused;
                if !(low..=high).contains(&at(lane)) || !(least..=most).contains(&signed) {
                    fail(&format!("in {range:?}"));
                }
            }
            match divergence.shape(value) {
                Shape::Uniform(_) => {
                    is_affine(0, divergence.align(value), "uniform");
                    found.uniform += 1;
                }
                Shape::Affine { stride, align } => {
                    is_affine(stride, align, "affine");
                    found.affine += 1;
                }
                Shape::Varying => {
                    if let Some(offsets) = divergence.offsets(value) {
                        for lane in 0..pack.lanes {
                            if at(lane) != at(0).wrapping_add_signed(offsets.by(lane as u32)) & mask {
                                fail("as far from the first lane as it should be");
                            }
                        }
                        found.offsets += 1;
                    }
                    let Some(condition) = divergence.conditional(value) else { continue };
                    found.conditional += 1;
                    let holds = |check: &Check| {
                        let elem = func.dfg.ty(check.value).elem;
                        let bound = match check.bound {
                            Bound::Bits(bits) => bits,
                            Bound::Shared(value) => lanes[0][value],
                        };
                        let sum = lanes[0][check.value].wrapping_add_signed(check.plus) & elem.mask();
                        let cx = LaneCx { imm: &Imm::IntCond(check.cond), src: elem, dst: elem };
                        clift_kir::eval::int::icmp(&cx, &[sum, bound]) & 1 == 1
                    };
                    if condition.checks.iter().all(holds) {
                        is_affine(condition.stride, condition.align, "affine though its checks succeed");
                        found.hold += 1;
                        let shared = |check: &Check| matches!(check.bound, Bound::Shared(_));
                        found.clamped += u32::from(condition.checks.iter().any(shared));
                    }
                }
            }
        }
    }
}

/// As [`check`], with assumptions: where the tests succeed that the code before a version makes, values called affine are affine.
fn check_assumed(seed: u64, assumptions: &Assumptions, found: &mut Found) {
    let mut rng = Rng::new(seed);
    let mut func = expressions(&mut rng);
    let cfg = Cfg::new(&func);
    let block = func.layout.blocks()[0];
    let insts: Vec<Inst> = func.layout.insts(block).to_vec();
    // Only some of the possible assumptions, because all of them would rarely hold.
    let which = rng.below(1 + u64::from(BOUNDS)) as u8;
    let chosen: Assumed = insts.iter().filter(|_| rng.below(3) == 0).map(|&inst| (inst, which)).collect();
    let divergence = Divergence::assuming(&func, &cfg, Scope::Pack, assumptions, Assume::These(&chosen));
    let end = func.layout.insts(block).len() - 1;
    let mut b = Builder::before(&mut func, block, end);
    let tests: Vec<Value> = divergence
        .assumed()
        .iter()
        .flat_map(|(_, tests)| tests)
        .map(|test| test.emit(&mut b, |_, value| value))
        .collect();
    for _ in 0..40 {
        let pack = Pack::random(&mut rng, assumptions);
        let lanes: Vec<SecondaryMap<Value, u64>> = (0..pack.lanes).map(|lane| run(&func, &pack, lane)).collect();
        if tests.iter().any(|&test| lanes[0][test] & 1 == 0) {
            continue;
        }
        found.assumed += tests.len() as u32;
        for &inst in &insts {
            let Some(value) = func.dfg.single_result(inst) else { continue };
            let mask = func.dfg.ty(value).elem.mask();
            let by: Box<dyn Fn(u32) -> i64> = match divergence.shape(value) {
                Shape::Uniform(_) => Box::new(|_| 0),
                Shape::Affine { stride, .. } => Box::new(move |lane| stride.wrapping_mul(lane.into())),
                Shape::Varying => match divergence.offsets(value) {
                    Some(offsets) => {
                        found.assumed_offsets += 1;
                        Box::new(move |lane| offsets.by(lane))
                    }
                    None => continue,
                },
            };
            let numbers: Vec<u64> = lanes.iter().map(|lane| lane[value] & mask).collect();
            let strided =
                (0..).zip(&numbers).all(|(lane, &number)| number == numbers[0].wrapping_add_signed(by(lane)) & mask);
            let aligned = numbers[0] & (u64::from(divergence.align(value)) - 1) & mask == 0;
            assert!(
                strided && aligned,
                "seed {seed} {assumptions:?}: {} is not {:?} under {:?}: {numbers:?}\n{func}",
                func.inst_text(inst),
                divergence.shape(value),
                divergence.assumed()
            );
        }
    }
}

#[test]
fn affine_values_have_constant_strides() {
    let mut found = Found::default();
    for seed in seeds(30) {
        for width in [2, 8] {
            for packs_aligned in [false, true] {
                for ids_below in [None, Some(300), Some(1 << 31)] {
                    let local_below = Some(4 * 4 * 8 + 1);
                    let assumptions = Assumptions { width, packs_aligned, ids_below, local_below };
                    check(seed, &assumptions, &mut found);
                    check_assumed(seed, &assumptions, &mut found);
                }
            }
        }
    }
    let Found { uniform, affine, conditional, hold, clamped, assumed, offsets, assumed_offsets } = found;
    let enough = uniform.min(affine).min(hold).min(clamped).min(assumed) > 1000 && offsets.min(assumed_offsets) > 100;
    assert!(enough, "{uniform} {affine} {conditional} {hold} {clamped} {assumed} {offsets} {assumed_offsets}");
    println!(
        "{uniform} uniform, {affine} affine, {conditional} conditional: {hold} hold, {clamped} of them not clamped"
    );
}
