//! Valid instances of every op, enumerated from the op table's type rules over a small universe of types.
//!
//! The enumeration is written apart from the verifier: its tests hold the one against the other. [`Sample::function`] wraps an
//! instance into a function whose parameters are the operands; [`Sample::kernel`] into a kernel that reads operands from a
//! buffer and writes results to another, with which any executor can be compared to the op's meaning.

use crate::builder::Builder;
use crate::dfg::ConstData;
use crate::entities::{Func, Global, Slot, Value};
use crate::function::{Function, SlotData, Stage};
use crate::inst::{
    AtomicInfo, AtomicOp, BarrierInfo, BlockCall, Convert, FloatCond, FpFlags, GroupInfo, ImageDims, ImageFlags,
    ImageInfo, Imm, IntCond, MemInfo, MemOrder, MemScope, Rounding, SpaceSet, SwitchData, WrapFlags,
};
use crate::libfn::LibFn;
use crate::module::{GlobalData, GlobalInit, KernelData, Module};
use crate::ops::{ImmKind, Opcode, TypeRule};
use crate::types::{Elem, Space, Type};

/// Random numbers for operands and choices, the same for the same seed.
#[derive(Clone, Debug)]
pub struct Rng(fastrand::Rng);

impl Rng {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// Any number.
    pub fn bits(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n.max(1))
    }

    /// One of a list.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// A lane of an element: often a value at an edge of its range.
    pub fn lane(&mut self, elem: Elem) -> u64 {
        let bits = self.bits();
        let sign = 1u64 << (elem.bits() - 1);
        let value = match self.below(8) {
            0 => 0,
            1 => 1,
            2 => elem.mask(),
            3 => sign,
            4 => sign - 1,
            5 => bits % 200,
            _ if elem.is_float() => {
                let small = (bits % 20_000) as f64 / 16.0 - 500.0;
                let numbers = [small, -0.0, f64::INFINITY, f64::NAN, 0.5, 1.5, 1e-40, small * 1e6];
                crate::eval::convert::round_f64(elem, numbers[self.below(8)], Rounding::NearestEven)
            }
            _ => bits,
        };
        value & elem.mask()
    }
}

/// Elements in the universe.
pub const ELEMS: [Elem; 11] = [
    Elem::B1,
    Elem::I8,
    Elem::I16,
    Elem::I32,
    Elem::I64,
    Elem::F16,
    Elem::F32,
    Elem::F64,
    Elem::Ptr(Space::Global),
    Elem::Ptr(Space::Private),
    Elem::Ptr(Space::Generic),
];

/// Numbers of lanes in the universe.
pub const LANES: [u32; 4] = [1, 2, 3, 4];

/// All types of the universe.
pub fn types() -> Vec<Type> {
    ELEMS.iter().flat_map(|&elem| LANES.iter().map(move |&lanes| Type::vector(elem, lanes))).collect()
}

/// Operand and result types.
pub type Signature = (Vec<Type>, Vec<Type>);

/// All signatures of a rule over the universe, given an immediate. Of rules without bound (`printf`) a few.
pub fn signatures(rule: TypeRule, imm: &Imm) -> Vec<Signature> {
    let all = types();
    let of = |class: &dyn Fn(Type) -> bool| all.iter().copied().filter(|&t| class(t)).collect::<Vec<_>>();
    let ints = of(&|t| t.is_int());
    let floats = of(&|t| t.is_float());
    let bits = of(&|t| t.is_int() || t.is_bool());
    let pointers = of(&|t| t.is_ptr());
    let scalars = of(&|t| !t.is_vector());
    let vectors = of(&|t| t.is_vector());
    let stored = of(&|t| !t.is_bool());
    let addresses = of(&|t| t.is_ptr() && !t.is_vector());
    let atomics = of(&|t| !t.is_bool() && !t.is_vector());
    let colours = [Type::I32, Type::F32, Type::F16].map(|t| t.with_lanes(4));
    let uniform = |list: &[Type], n: usize| list.iter().map(|&t| (vec![t; n], vec![t])).collect::<Vec<_>>();
    let pairs = |from: &[Type], to: &[Type], fits: &dyn Fn(Type, Type) -> bool| {
        let mut list = Vec::new();
        for &a in from {
            list.extend(to.iter().filter(|&&r| fits(a, r)).map(|&r| (vec![a], vec![r])));
        }
        list
    };
    let same_lanes = |a: Type, r: Type| a.lanes() == r.lanes();
    let i32 = Type::I32;
    match rule {
        TypeRule::Stated => all.iter().map(|&t| (vec![], vec![t])).collect(),
        TypeRule::Int1 => uniform(&ints, 1),
        TypeRule::Int2 => uniform(&ints, 2),
        TypeRule::Bits1 => uniform(&bits, 1),
        TypeRule::Bits2 => uniform(&bits, 2),
        TypeRule::Float1 => uniform(&floats, 1),
        TypeRule::Float2 => uniform(&floats, 2),
        TypeRule::Float3 => uniform(&floats, 3),
        TypeRule::IntCompare => {
            let list = of(&|t| !t.is_float());
            list.iter().map(|&t| (vec![t, t], vec![t.as_mask()])).collect()
        }
        TypeRule::FloatCompare => floats.iter().map(|&t| (vec![t, t], vec![t.as_mask()])).collect(),
        TypeRule::Select => {
            let mut list: Vec<Signature> = all.iter().map(|&t| (vec![t.as_mask(), t, t], vec![t])).collect();
            list.extend(vectors.iter().map(|&t| (vec![Type::B1, t, t], vec![t])));
            list
        }
        TypeRule::Widen => pairs(&bits, &ints, &|a, r| same_lanes(a, r) && a.elem.bits() < r.elem.bits()),
        TypeRule::Narrow => pairs(&ints, &ints, &|a, r| same_lanes(a, r) && a.elem.bits() > r.elem.bits()),
        TypeRule::FloatToInt => pairs(&floats, &ints, &same_lanes),
        TypeRule::IntToFloat => pairs(&ints, &floats, &same_lanes),
        TypeRule::FloatToFloat => pairs(&floats, &floats, &|a, r| same_lanes(a, r) && a != r),
        TypeRule::Bitcast => {
            let list = of(&|t| t.is_int() || t.is_float());
            pairs(&list, &list, &|a, r| a.bits() == r.bits())
        }
        TypeRule::PtrToInt => pairs(&pointers, &ints, &|a, r| same_lanes(a, r) && r.elem == Elem::I64),
        TypeRule::IntToPtr => pairs(&ints, &pointers, &|a, r| same_lanes(a, r) && a.elem == Elem::I64),
        TypeRule::PtrToPtr => pairs(&pointers, &pointers, &|a, r| same_lanes(a, r) && a != r),
        TypeRule::PtrTest => pointers.iter().map(|&t| (vec![t], vec![t.as_mask()])).collect(),
        TypeRule::Splat => vectors.iter().map(|&t| (vec![t.lane()], vec![t])).collect(),
        TypeRule::Extract => vectors.iter().map(|&t| (vec![t], vec![t.lane()])).collect(),
        TypeRule::Insert => vectors.iter().map(|&t| (vec![t, t.lane()], vec![t])).collect(),
        TypeRule::ExtractDyn => vectors.iter().map(|&t| (vec![t, i32], vec![t.lane()])).collect(),
        TypeRule::InsertDyn => vectors.iter().map(|&t| (vec![t, t.lane(), i32], vec![t])).collect(),
        TypeRule::Lookup => {
            let tables = of(&|t| t.is_vector() && (t.is_int() || t.is_float()) && t.lanes() != 3);
            let numbers = |t: Type| LANES.iter().filter(|&&lanes| lanes > 1).map(move |&lanes| t.with_lanes(lanes));
            let pair = |table: Type, result: Type| (vec![table, result.with_elem(table.elem.as_int())], vec![result]);
            tables.iter().flat_map(|&t| numbers(t).map(move |result| pair(t, result))).collect()
        }
        TypeRule::Shuffle => {
            let Imm::Lanes(lanes) = imm else { return Vec::new() };
            all.iter().map(|&t| (vec![t, t], vec![t.with_lanes(lanes.len() as u32)])).collect()
        }
        TypeRule::Vec => vectors.iter().map(|&t| (vec![t.lane(); t.lanes() as usize], vec![t])).collect(),
        TypeRule::MaskToBool => of(&|t| t.is_bool()).iter().map(|&t| (vec![t], vec![Type::B1])).collect(),
        TypeRule::MaskBits => of(&|t| t.is_bool()).iter().map(|&t| (vec![t], vec![Type::I64])).collect(),
        TypeRule::Reduce => {
            let list = of(&|t| t.is_vector() && (t.is_int() || t.is_float()));
            list.iter().map(|&t| (vec![t], vec![t.lane()])).collect()
        }
        TypeRule::Combine => uniform(&of(&|t| !t.is_ptr()), 1),
        TypeRule::Truth => vec![(vec![Type::B1], vec![Type::B1])],
        TypeRule::Ballot => vec![(vec![Type::B1], vec![Type::I32.with_lanes(4)])],
        TypeRule::Pick => all.iter().map(|&t| (vec![t, i32], vec![t])).collect(),
        TypeRule::Addr => {
            let mut list: Vec<Signature> = pointers.iter().map(|&t| (vec![t], vec![t])).collect();
            for &base in &pointers {
                for &lanes in &LANES {
                    if base.lanes() == 1 || lanes == 1 || base.lanes() == lanes {
                        let index = Type::vector(Elem::I64, lanes);
                        list.push((vec![base, index], vec![base.with_lanes(base.lanes().max(lanes))]));
                    }
                }
            }
            list
        }
        TypeRule::Address => addresses.iter().map(|&t| (vec![], vec![t])).collect(),
        TypeRule::Load => pairs(&addresses, &stored, &|_, _| true),
        TypeRule::Store => each_two(&addresses, &stored, |p, t| (vec![p, t], vec![])),
        TypeRule::MaskedLoad => each_two(&addresses, &stored, |p, t| (vec![p, t.as_mask(), t], vec![t])),
        TypeRule::MaskedStore => each_two(&addresses, &stored, |p, t| (vec![p, t, t.as_mask()], vec![])),
        TypeRule::Gather => {
            let list = each_two(&pointers, &stored, |p, t| (vec![p, t.as_mask(), t], vec![t]));
            list.into_iter().filter(|(args, _)| same_lanes(args[0], args[2])).collect()
        }
        TypeRule::Scatter => {
            let list = each_two(&pointers, &stored, |p, t| (vec![p, t, t.as_mask()], vec![]));
            list.into_iter().filter(|(args, _)| same_lanes(args[0], args[1])).collect()
        }
        TypeRule::Memcpy => each_two(&addresses, &addresses, |to, from| (vec![to, from, Type::I64], vec![])),
        TypeRule::Memset => addresses.iter().map(|&p| (vec![p, Type::I8, Type::I64], vec![])).collect(),
        TypeRule::AtomicLoad => pairs(&addresses, &atomics, &|_, _| true),
        TypeRule::AtomicStore => each_two(&addresses, &atomics, |p, t| (vec![p, t], vec![])),
        TypeRule::AtomicRmw => each_two(&addresses, &atomics, |p, t| (vec![p, t], vec![t])),
        TypeRule::AtomicCmpxchg => each_two(&addresses, &atomics, |p, t| (vec![p, t, t], vec![t])),
        TypeRule::ImageRead => {
            let coordinates = [i32, Type::F32].map(|t| t.with_lanes(4));
            let list = each_two(&addresses, &colours, |p, t| (vec![p, Type::I64, coordinates[0], Type::F32], vec![t]));
            let by_floats =
                list.iter().map(|(args, results)| (vec![args[0], args[1], coordinates[1], args[3]], results.clone()));
            list.iter().cloned().chain(by_floats).collect()
        }
        TypeRule::ImageWrite => each_two(&addresses, &colours, |p, t| (vec![p, i32.with_lanes(4), i32, t], vec![])),
        TypeRule::Nothing | TypeRule::Jump => vec![(vec![], vec![])],
        TypeRule::Arrive => addresses.iter().map(|&p| (vec![p], vec![])).collect(),
        TypeRule::Query64 => vec![(vec![], vec![Type::I64])],
        TypeRule::Query32 => vec![(vec![], vec![i32])],
        TypeRule::Call => vec![(CALLEE.0.to_vec(), CALLEE.1.to_vec())],
        TypeRule::Lib => {
            let Imm::Lib(function) = imm else { return Vec::new() };
            let list = floats.iter().filter(|t| t.elem != Elem::F16);
            let signature = function.signature();
            list.map(|&t| {
                let param = |i| if signature.param_is_float(i) == Some(true) { t } else { t.with_elem(Elem::I32) };
                ((0..signature.arity()).map(param).collect(), vec![signature.result(t)])
            })
            .collect()
        }
        TypeRule::Printf => each_two(&addresses, &stored, |p, t| (vec![p, t, i32], vec![i32])),
        TypeRule::Request => addresses.iter().map(|&p| (vec![i32, p, Type::I64], vec![Type::I64])).collect(),
        TypeRule::Check => vec![(vec![Type::I64; 4], vec![i32])],
        TypeRule::Branch => vec![(vec![Type::B1], vec![])],
        TypeRule::Switch => scalars.iter().filter(|t| t.is_int()).map(|&t| (vec![t], vec![])).collect(),
        TypeRule::Ret => vec![(RETURNS.to_vec(), vec![])],
    }
}

/// Parameters and results of the function that samples of `call` name.
pub const CALLEE: ([Type; 2], [Type; 1]) = ([Type::I32, Type::F64], [Type::F32]);

/// What the function around a sample of `ret` returns.
pub const RETURNS: [Type; 2] = [Type::I32, Type::F32];

fn each_two(a: &[Type], b: &[Type], make: impl Fn(Type, Type) -> Signature) -> Vec<Signature> {
    a.iter().flat_map(|&x| b.iter().map(move |&y| (x, y))).map(|(x, y)| make(x, y)).collect()
}

/// An instance of an op.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The op.
    pub op: Opcode,
    /// Its immediate. Constants, slots and targets are filled in where the sample is built.
    pub imm: Imm,
    /// Operand types.
    pub args: Vec<Type>,
    /// Result types.
    pub results: Vec<Type>,
}

/// Immediates of an op: all of a small kind, some of a large one.
fn immediates(op: Opcode) -> Vec<Imm> {
    let flags = [FpFlags::empty(), FpFlags::NO_NAN | FpFlags::CONTRACT, FpFlags::all()];
    match op.info().imm {
        ImmKind::None | ImmKind::Const | ImmKind::Jump | ImmKind::Branch | ImmKind::Switch => vec![Imm::None],
        ImmKind::IntCond => IntCond::ALL.iter().map(|(c, _)| Imm::IntCond(*c)).collect(),
        ImmKind::FloatCond => {
            FloatCond::ALL.iter().zip(flags.iter().cycle()).map(|((c, _), f)| Imm::FloatCond(*c, *f)).collect()
        }
        ImmKind::Fp => flags.iter().map(|&f| Imm::Fp(f)).collect(),
        ImmKind::Wrap => vec![Imm::None, WrapFlags::NO_SIGNED.imm(), WrapFlags::all().imm()],
        ImmKind::Convert => {
            let modes = Rounding::ALL.iter().map(|(rounding, _)| *rounding);
            let both = |rounding| [false, true].map(|saturate| Imm::Convert(Convert { rounding, saturate }));
            modes.flat_map(both).collect()
        }
        ImmKind::Lane => vec![Imm::Lane(0), Imm::Lane(1), Imm::Lane(2), Imm::Lane(3)],
        ImmKind::Lanes => {
            let lists: [&[u8]; 6] = [&[0], &[1, 0], &[3, 2, 1, 0], &[7, 0, 5], &[1, 1, 2, 2], &[4, 0, 5, 1]];
            lists.iter().map(|&l| Imm::Lanes(l.into())).collect()
        }
        ImmKind::Addr => {
            let list = [(1, 0), (4, 0), (12, -8), (0, i64::MIN), (u64::MAX, 1)];
            list.iter().map(|&(scale, disp)| Imm::Addr { scale, disp }).collect()
        }
        ImmKind::Mem => vec![
            Imm::Mem(MemInfo::aligned(1)),
            Imm::Mem(MemInfo::invariant(8)),
            Imm::Mem(MemInfo { align: 128, volatile: true, invariant: false, alias: 7 }),
        ],
        ImmKind::Atomic => {
            let order = |i: usize| MemOrder::ALL[i % 5].0;
            let scope = |i: usize| MemScope::ALL[i * 2 % 5].0;
            let make = |(i, (op, _)): (usize, &(AtomicOp, _))| {
                Imm::Atomic(AtomicInfo { op: *op, order: order(i), scope: scope(i) })
            };
            let count = if op == Opcode::AtomicRmw { AtomicOp::ALL.len() } else { 1 };
            let product = |op: AtomicOp| matches!(op, AtomicOp::Mul | AtomicOp::Fmul);
            AtomicOp::ALL.iter().take(count).filter(|(op, _)| !product(*op)).enumerate().map(make).collect()
        }
        ImmKind::Reduce => AtomicOp::ALL.iter().map(|(op, _)| Imm::Reduce(*op)).collect(),
        ImmKind::Group => {
            let mut list = Vec::new();
            for (op, _) in AtomicOp::ALL {
                list.push(GroupInfo { scope: MemScope::WorkGroup, op, cluster: 0 });
                list.push(GroupInfo { scope: MemScope::SubGroup, op, cluster: 0 });
            }
            if op == Opcode::GroupReduce {
                list.extend([1, 4].map(|cluster| GroupInfo { scope: MemScope::SubGroup, op: AtomicOp::Add, cluster }));
            }
            list.into_iter().filter(|info| !matches!(info.op, AtomicOp::Xchg | AtomicOp::Sub)).map(Imm::Group).collect()
        }
        ImmKind::Slot => vec![Imm::Slot(Slot::from_u32(0))],
        ImmKind::Global => vec![Imm::Global(Global::from_u32(0))],
        ImmKind::Dim => vec![Imm::Dim(0), Imm::Dim(1), Imm::Dim(2)],
        ImmKind::Offset => vec![Imm::Offset(0), Imm::Offset(40)],
        ImmKind::Space => [Space::Private, Space::Local, Space::Global].map(Imm::Space).to_vec(),
        ImmKind::Lib => LibFn::ALL.iter().map(|&f| Imm::Lib(f)).collect(),
        ImmKind::Image => ImageDims::ALL
            .iter()
            .flat_map(|&(dims, _)| {
                let array = if dims == ImageDims::Three {
                    ImageFlags::SAMPLER
                } else {
                    ImageFlags::LAYERS | ImageFlags::SAMPLER
                };
                [ImageFlags::empty(), array, ImageFlags::LEVEL].map(|has| Imm::Image(ImageInfo { dims, has }))
            })
            .collect(),
        ImmKind::Func => vec![Imm::Func(Func::from_u32(1))],
        ImmKind::Barrier => {
            let work_group = BarrierInfo {
                id: 0,
                execution: MemScope::WorkGroup,
                memory: MemScope::WorkGroup,
                spaces: SpaceSet::LOCAL,
            };
            let all = BarrierInfo { id: 3, memory: MemScope::Device, spaces: SpaceSet::all(), ..work_group };
            let sub_group = BarrierInfo { execution: MemScope::SubGroup, spaces: SpaceSet::empty(), ..work_group };
            let all_three = [work_group, all, sub_group];
            let fits = |info: &BarrierInfo| op != Opcode::NamedBarrier || info.execution == MemScope::SubGroup;
            all_three.into_iter().filter(fits).map(Imm::Barrier).collect()
        }
    }
}

/// Whether an immediate goes with operands and results of these types.
fn fits(op: Opcode, imm: &Imm, args: &[Type], results: &[Type]) -> bool {
    let combines = |op: AtomicOp, ty: Type| match op {
        AtomicOp::Xchg => true,
        AtomicOp::Fadd | AtomicOp::Fmul | AtomicOp::Fmin | AtomicOp::Fmax => ty.is_float(),
        AtomicOp::Add
        | AtomicOp::Sub
        | AtomicOp::Mul
        | AtomicOp::And
        | AtomicOp::Or
        | AtomicOp::Xor
        | AtomicOp::Smin
        | AtomicOp::Smax
        | AtomicOp::Umin
        | AtomicOp::Umax => ty.is_int(),
    };
    let address = |space| results == [Type::ptr(space)];
    match imm {
        Imm::IntCond(IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge) => !args[0].is_ptr(),
        Imm::Lane(lane) => u32::from(*lane) < args[0].lanes(),
        Imm::Lanes(lanes) => lanes.iter().all(|&lane| u32::from(lane) < args[0].lanes() * 2),
        Imm::Atomic(info) => op != Opcode::AtomicRmw || combines(info.op, args[1]),
        Imm::Reduce(operation) => !matches!(operation, AtomicOp::Xchg | AtomicOp::Sub) && combines(*operation, args[0]),
        Imm::Group(info) => {
            let logical = matches!(info.op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
            if args[0].is_bool() { logical } else { combines(info.op, args[0]) }
        }
        Imm::Slot(_) => address(Space::Private),
        Imm::Global(_) => address(Space::Global),
        Imm::Offset(_) if op == Opcode::ArgAddr => address(Space::Host),
        Imm::Offset(_) => !results[0].is_bool(),
        Imm::None
        | Imm::Const(_)
        | Imm::IntCond(IntCond::Eq | IntCond::Ne | IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge)
        | Imm::FloatCond(..)
        | Imm::Fp(_)
        | Imm::Wrap(_)
        | Imm::Convert(_)
        | Imm::Addr { .. }
        | Imm::Mem(_)
        | Imm::Dim(_)
        | Imm::Space(_)
        | Imm::Image(_)
        | Imm::Lib(_)
        | Imm::Func(_)
        | Imm::Barrier(_)
        | Imm::Jump(_)
        | Imm::Branch(_)
        | Imm::Switch(_) => true,
    }
}

/// Samples of an op: every signature of the universe at least once, every immediate at least once where it goes with one.
pub fn samples(op: Opcode) -> Vec<Sample> {
    let rule = op.info().rule;
    let mut list = Vec::new();
    let immediates = immediates(op);
    if op == Opcode::ArgAddr {
        let results = vec![Type::ptr(Space::Host)];
        return immediates.into_iter().map(|imm| Sample { op, imm, args: vec![], results: results.clone() }).collect();
    }
    let make = |imm: &Imm, (args, results): &Signature| Sample {
        op,
        imm: imm.clone(),
        args: args.clone(),
        results: results.clone(),
    };
    for (i, imm) in immediates.iter().enumerate() {
        let signatures = signatures(rule, imm);
        let fitting = || signatures.iter().enumerate().filter(|(_, s)| fits(op, imm, &s.0, &s.1));
        // Each signature with one immediate of its own, each immediate with a few signatures, or at least one.
        let chosen = |j: usize| j % immediates.len() == i || j % 13 == i % 13 || matches!(imm, Imm::Lanes(_));
        let before = list.len();
        list.extend(fitting().filter(|(j, _)| chosen(*j)).map(|(_, s)| make(imm, s)));
        if list.len() == before {
            list.extend(fitting().next().map(|(_, s)| make(imm, s)));
        }
    }
    list
}

impl Sample {
    /// A module whose function f0 takes the operands, executes the op and returns its results.
    pub fn function(&self) -> Module {
        let returns: &[Type] = if self.op == Opcode::Ret { &RETURNS } else { &self.results };
        let mut func =
            Function::new("sample", if self.op.is_terminator() && self.op != Opcode::Ret { &[] } else { returns });
        let entry = func.append_block();
        let args: Vec<Value> = self.args.iter().map(|&ty| func.dfg.append_param(entry, ty)).collect();
        let mut b = Builder::at_end(&mut func, entry);
        let results = self.build(&mut b, &args, &mut Rng::new(1));
        if !self.op.is_terminator() {
            b.ret(&results);
        }
        self.around(func)
    }

    /// The sample's function among what it may name.
    fn around(&self, func: Function) -> Module {
        let mut module = Module::default();
        let init = GlobalInit::default();
        let global = GlobalData { name: "g".to_owned(), space: Space::Global, size: 64, align: 8, init };
        module.globals.push(global);
        module.funcs.push(func);
        let mut callee = Function::new("callee", &CALLEE.1);
        let entry = callee.append_block();
        for ty in CALLEE.0 {
            callee.dfg.append_param(entry, ty);
        }
        let mut b = Builder::at_end(&mut callee, entry);
        let one = b.fconst(Type::F32, 1.0);
        b.ret(&[one]);
        module.funcs.push(callee);
        module
    }

    /// Adds the instance and what it needs to a function; its results.
    pub fn build(&self, b: &mut Builder<'_>, args: &[Value], rng: &mut Rng) -> Vec<Value> {
        let imm = match self.op.info().imm {
            ImmKind::Const => {
                let ty = self.results[0];
                let lanes: Vec<u64> = (0..ty.lanes()).map(|_| rng.lane(ty.elem)).collect();
                Imm::Const(b.func.dfg.make_const(ConstData::new(ty, &lanes)))
            }
            ImmKind::Slot => Imm::Slot(b.func.slots.push(SlotData { size: 16, align: 16 })),
            ImmKind::Jump => Imm::Jump(exit(b, args)),
            ImmKind::Branch => Imm::Branch(Box::new([exit(b, &[]), exit(b, args)])),
            ImmKind::Switch => {
                let mask = self.args[0].elem.mask();
                let cases = [0, 1, mask].map(|case| (case, exit(b, &[])));
                Imm::Switch(Box::new(SwitchData { cases: cases.to_vec(), default: exit(b, args) }))
            }
            ImmKind::None
            | ImmKind::IntCond
            | ImmKind::FloatCond
            | ImmKind::Fp
            | ImmKind::Wrap
            | ImmKind::Convert
            | ImmKind::Lane
            | ImmKind::Lanes
            | ImmKind::Addr
            | ImmKind::Mem
            | ImmKind::Atomic
            | ImmKind::Reduce
            | ImmKind::Group
            | ImmKind::Global
            | ImmKind::Dim
            | ImmKind::Offset
            | ImmKind::Space
            | ImmKind::Image
            | ImmKind::Lib
            | ImmKind::Func
            | ImmKind::Barrier => self.imm.clone(),
        };
        let inst = b.inst(self.op, args, imm, &self.results);
        b.func.dfg.results(inst).to_vec()
    }

    /// Whether the op's results follow from its operands alone and are fully specified, whatever the operands: whether
    /// [`Self::kernel`] can be made.
    pub fn is_closed(&self) -> bool {
        let pointers = self.args.iter().chain(&self.results).any(|t| t.is_ptr());
        let unspecified = match &self.imm {
            // Out of range without saturation.
            Imm::Convert(how) => matches!(self.op, Opcode::FptoS | Opcode::FptoU) && !how.saturate,
            // Results may differ where fast-math flags permit it.
            Imm::Fp(flags) | Imm::FloatCond(_, flags) => !flags.is_empty(),
            // Promises that random operands break.
            Imm::Wrap(_) => true,
            // Lane 3 of three; what neighbours have.
            Imm::None => {
                self.op == Opcode::ExtractDyn && self.args[0].lanes() == 3
                    || matches!(self.op, Opcode::Undef | Opcode::PackAny)
            }
            // A library function may be computed differently.
            Imm::Lib(_) => true,
            Imm::Const(_)
            | Imm::IntCond(_)
            | Imm::Lane(_)
            | Imm::Lanes(_)
            | Imm::Addr { .. }
            | Imm::Mem(_)
            | Imm::Atomic(_)
            | Imm::Reduce(_)
            | Imm::Group(_)
            | Imm::Slot(_)
            | Imm::Global(_)
            | Imm::Dim(_)
            | Imm::Offset(_)
            | Imm::Space(_)
            | Imm::Image(_)
            | Imm::Func(_)
            | Imm::Barrier(_)
            | Imm::Jump(_)
            | Imm::Branch(_)
            | Imm::Switch(_) => false,
        };
        let queries = matches!(self.op.info().rule, TypeRule::Query32 | TypeRule::Query64) || self.op == Opcode::Arg;
        self.op.is_pure() && self.results.len() == 1 && !pointers && !unspecified && !queries
    }

    /// Whether results are compared as numbers that ignore the sign of zero (`fmin`, `fmax` and reductions by them).
    pub fn ignores_zero_sign(&self) -> bool {
        matches!(self.op, Opcode::Fmin | Opcode::Fmax)
            || matches!(self.imm, Imm::Reduce(AtomicOp::Fmin | AtomicOp::Fmax))
    }

    /// A canonical kernel `sample` for a [closed](Self::is_closed) sample. Argument 0 is a buffer with the operands of each
    /// work-item side by side, [`Self::stride`] bytes apart, each operand at a multiple of 32 bytes, Booleans as bytes;
    /// argument 8 a buffer for the results, 32 bytes each.
    pub fn kernel(&self) -> Module {
        let mut func = Function::new("sample", &[]);
        func.stage = Stage::Canonical;
        let entry = func.append_block();
        let mut b = Builder::at_end(&mut func, entry);
        let input = b.arg(0, Type::ptr(Space::Global));
        let output = b.arg(8, Type::ptr(Space::Global));
        let id = b.query(Opcode::GlobalId, 0);
        let input = b.addr(input, Some(id), self.stride(), 0);
        let mut args = Vec::new();
        for (i, &ty) in self.args.iter().enumerate() {
            let at = b.addr(input, None, 1, i as i64 * 32);
            let stored = if ty.is_bool() { ty.with_elem(Elem::I8) } else { ty };
            let mut value = b.load(stored, at, MemInfo::aligned(32));
            if ty.is_bool() {
                let zero = b.iconst(stored, 0);
                value = b.icmp(IntCond::Ne, value, zero);
            }
            args.push(value);
        }
        let [mut result] = *self.build(&mut b, &args, &mut Rng::new(1)) else {
            unreachable!("broken invariant: {:?} is not closed", self.op)
        };
        if b.ty(result).is_bool() {
            let bytes = b.ty(result).with_elem(Elem::I8);
            result = b.cast(Opcode::Zext, result, bytes);
        }
        let at = b.addr(output, Some(id), 32, 0);
        b.store(at, result, MemInfo::aligned(32));
        b.ret(&[]);
        let mut module = self.around(func);
        module.kernels.push(KernelData { func: Func::from_u32(0), arg_block_bytes: 16, required_local_size: None });
        module
    }

    /// Bytes of one work-item's operands in a [kernel's](Self::kernel) first buffer.
    pub fn stride(&self) -> u64 {
        32 * self.args.len().max(1) as u64
    }

    /// Operands for a number of work-items, as they lie in a [kernel's](Self::kernel) first buffer.
    pub fn operands(&self, items: usize, rng: &mut Rng) -> Vec<u8> {
        let mut bytes = vec![0; items * self.stride() as usize];
        for (item, place) in bytes.chunks_exact_mut(self.stride() as usize).enumerate() {
            for (ty, place) in self.args.iter().zip(place.chunks_exact_mut(32)) {
                let size = ty.elem.bytes() as usize;
                for lane in place.chunks_exact_mut(size).take(ty.lanes() as usize) {
                    // Small numbers first: lane numbers and shift counts.
                    let bits = if item < 4 && ty.is_int() { item as u64 } else { rng.lane(ty.elem) };
                    lane.copy_from_slice(&bits.to_le_bytes()[..size]);
                }
            }
        }
        bytes
    }

    /// Type of a [kernel's](Self::kernel) results in memory.
    pub fn stored_result(&self) -> Type {
        let ty = self.results[0];
        if ty.is_bool() { ty.with_elem(Elem::I8) } else { ty }
    }
}

/// A new block with parameters for these values that ends the function.
fn exit(b: &mut Builder<'_>, args: &[Value]) -> BlockCall {
    let types: Vec<Type> = args.iter().map(|&v| b.ty(v)).collect();
    let here = b.block();
    let block = b.func.append_block();
    for ty in types {
        b.func.dfg.append_param(block, ty);
    }
    b.switch_to(block);
    b.ret(&[]);
    b.switch_to(here);
    BlockCall::new(block, args)
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashSet;

    use super::*;
    use crate::eval::LaneCx;
    use crate::inst::InstData;
    use crate::interp::{GlobalAddresses, InterpOptions, Interpreter, Lanes, NoObserver, PreparedModule, SimMemory};
    use crate::ops::{Meaning, OPS};
    use crate::text::{parse_module, same_module};
    use crate::verify::{self, typing};

    #[test]
    fn every_sample_verifies_and_round_trips() {
        for info in OPS {
            let list = samples(info.op);
            assert!(!list.is_empty(), "{}", info.name);
            for sample in list {
                let module = sample.function();
                verify::module(&module).unwrap_or_else(|e| panic!("{e}\n{module}"));
                let text = module.to_string();
                let again = parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
                same_module(&module, &again).unwrap_or_else(|e| panic!("{e}\n{text}"));
            }
        }
    }

    #[test]
    fn every_immediate_occurs() {
        for info in OPS {
            let list = samples(info.op);
            for imm in immediates(info.op) {
                let combines_nothing = matches!(imm, Imm::Reduce(AtomicOp::Xchg | AtomicOp::Sub));
                assert!(combines_nothing || list.iter().any(|s| s.imm == imm), "{} {imm:?}", info.name);
            }
        }
    }

    #[test]
    fn typing_accepts_exactly_the_enumerated() {
        let all = types();
        let mut rng = Rng::new(7);
        let env = typing::Env { returns: &RETURNS, callee: Some((&CALLEE.0, &CALLEE.1)) };
        for info in OPS {
            if matches!(info.rule, TypeRule::Printf | TypeRule::Request) {
                continue; // any number of values
            }
            for imm in immediates(info.op).into_iter().take(4) {
                let list = signatures(info.rule, &imm);
                let known: FxHashSet<&Signature> = list.iter().collect();
                let data = InstData { op: info.op, args: Default::default(), imm };
                for round in 0..400 {
                    let (mut args, mut results) = list[rng.below(list.len())].clone();
                    for _ in 0..round % 3 {
                        match rng.below(8) {
                            0 => args.push(rng.pick(&all)),
                            1 => drop(args.pop()),
                            2 => results.push(rng.pick(&all)),
                            3 => drop(results.pop()),
                            4 | 5 if !args.is_empty() => {
                                let at = rng.below(args.len());
                                args[at] = rng.pick(&all);
                            }
                            _ if !results.is_empty() => {
                                let at = rng.below(results.len());
                                results[at] = rng.pick(&all);
                            }
                            _ => {}
                        }
                    }
                    let accepted = typing::check(&data, &args, &results, &env);
                    // The universe ends at four lanes: longer vectors are not enumerated.
                    if info.rule == TypeRule::Vec && args.len() > 4 {
                        continue;
                    }
                    let wanted = known.contains(&(args.clone(), results.clone()));
                    assert_eq!(accepted.is_ok(), wanted, "{} {args:?} -> {results:?}: {accepted:?}", info.name);
                }
            }
        }
    }

    #[test]
    fn lane_wise_ops_have_their_meaning() {
        let mut rng = Rng::new(3);
        for info in OPS {
            let Meaning::Lanes(meaning) = info.meaning else { continue };
            for sample in samples(info.op) {
                let module = sample.function();
                let prepared = PreparedModule::new(&module);
                let interpreter = Interpreter::new(&module, &prepared);
                for _ in 0..4 {
                    let args: Vec<Lanes> = sample
                        .args
                        .iter()
                        .map(|&ty| Lanes { ty, bits: (0..ty.lanes()).map(|_| rng.lane(ty.elem)).collect() })
                        .collect();
                    let (outcome, returned) = interpreter
                        .run_function(
                            Func::from_u32(0),
                            &args,
                            &GlobalAddresses::default(),
                            &InterpOptions::default(),
                            &mut SimMemory::default(),
                            &mut NoObserver,
                        )
                        .unwrap();
                    assert!(outcome.is_clean());
                    let ty = sample.results[0];
                    let cx = LaneCx { imm: &sample.imm, src: sample.args[0].elem, dst: ty.elem };
                    for lane in 0..ty.lanes() as usize {
                        let operands: Vec<u64> = args.iter().map(|arg| arg.bits[lane]).collect();
                        assert_eq!(returned[0].bits[lane], meaning(&cx, &operands), "{sample:?} {operands:x?}");
                    }
                    let mask = ty.elem.mask();
                    assert!(returned[0].bits.iter().all(|bits| bits & !mask == 0), "{sample:?}: {:x?}", returned[0]);
                }
            }
        }
    }

    /// The table says of an op that it commutes exactly if exchanging operands never makes a difference.
    #[test]
    fn commuting_ops_are_known() {
        let mut rng = Rng::new(5);
        for info in OPS {
            let Meaning::Lanes(meaning) = info.meaning else { continue };
            let exchangeable = |sample: &Sample| sample.args.len() >= 2 && sample.args[0] == sample.args[1];
            let mut different = None;
            for sample in samples(info.op).into_iter().filter(exchangeable) {
                let (src, dst) = (sample.args[0].elem, sample.results[0].elem);
                let cx = LaneCx { imm: &sample.imm, src, dst };
                let is_nan = |bits| dst.is_float() && crate::eval::float::to_f64(dst, bits).is_nan();
                for _ in 0..200 {
                    let mut lanes: Vec<u64> = sample.args.iter().map(|ty| rng.lane(ty.elem)).collect();
                    let before = meaning(&cx, &lanes);
                    lanes.swap(0, 1);
                    let after = meaning(&cx, &lanes);
                    if before != after && !(is_nan(before) && is_nan(after)) {
                        different = Some((sample.imm.clone(), lanes));
                    }
                }
            }
            let two = samples(info.op).iter().any(exchangeable);
            assert_eq!(info.commutes, two && different.is_none(), "{}: {different:x?}", info.name);
        }
    }

    #[test]
    fn kernels_of_closed_samples_verify() {
        let mut closed = 0;
        for info in OPS {
            for sample in samples(info.op).into_iter().filter(Sample::is_closed) {
                closed += 1;
                let module = sample.kernel();
                verify::module(&module).unwrap_or_else(|e| panic!("{e}\n{module}"));
                assert_eq!(sample.operands(3, &mut Rng::new(1)).len() as u64, 3 * sample.stride());
            }
        }
        assert!(closed > 1000, "{closed}");
    }
}
