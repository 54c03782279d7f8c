//! Random kernels: nested loops, branches and switches over a few variables, with every exit that a language with `goto` has
//! ([`control`]), and with barriers where a mode permits them.
//!
//! Each work-item writes only its own part of the output buffer, and reads values that others have written to local memory after
//! a barrier. So the result does not depend on the order of work-items, unless barriers diverge.

mod control;

use clift_kir::inst::{AtomicOp, Convert};
use clift_kir::{
    AtomicInfo, BarrierInfo, Builder, Elem, Function, GlobalData, GlobalInit, IntCond, KernelData, MemInfo, MemOrder,
    MemScope, Module, Opcode, Slot, Space, SpaceSet, Stage, Type, Value,
};

/// Where barriers may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Barriers {
    /// Nowhere.
    None,
    /// Under conditions that are provably uniform.
    Uniform,
    /// Also under conditions that are uniform, but loaded from memory that the kernel writes to.
    Hidden,
    /// As `Hidden`, after work-items may have ended early.
    EarlyReturn,
    /// Anywhere: the kernel is undefined.
    Divergent,
}

/// The statements of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    /// All kinds of statements.
    Mixed,
    /// Mostly branches within constructs and out of them.
    Branchy,
    /// One nest of constructs of some depth, with exits before and after each.
    Nest { depth: u32 },
}

/// Random numbers, the same for the same seed.
pub(crate) struct Rng(fastrand::Rng);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.u64(..n)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Words of the output buffer for each work-item.
pub(crate) const OUT_WORDS: u64 = 8;

/// The most work-items of a group, which is also the number of words of the local variable.
pub(crate) const MAX_ITEMS: u64 = 64;

/// Argument block: in, out, constant buffer, local pointer, n.
pub(crate) const ARG_BYTES: u32 = 48;

/// Variables, all of which are parameters of every join: uniform, varying, a Boolean, a vector, a pointer, a float.
const UNIFORM: usize = 3;
const VARYING: usize = 4;
/// The varying variable that is computed from uniform variables only, so that it varies by control flow alone.
const BRANCH_VARYING: usize = UNIFORM + VARYING - 1;
const BOOLEAN: usize = UNIFORM + VARYING;
const VECTOR: usize = BOOLEAN + 1;
const POINTER: usize = BOOLEAN + 2;
const FLOAT: usize = BOOLEAN + 3;

struct Generator<'f> {
    b: Builder<'f>,
    rng: Rng,
    barriers: Barriers,
    vars: Vec<Value>,
    slot: Slot,
    other_slot: Slot,
    exchange: Value,
    lid: Value,
    items: Value,
    gid: Value,
    input: Value,
    constants: Value,
    budget: u32,
    style: Style,
    flow: control::Flow,
}

/// The kernel of a seed.
pub(crate) fn kernel(seed: u64, barriers: Barriers) -> Module {
    kernel_and_variables(seed, barriers).0
}

/// A kernel of a seed, and its integer variables at the end: the n-th is stored to word n + 1 of each work-item's
/// output, a mixture of everything to word 0.
pub(crate) fn kernel_and_variables(seed: u64, barriers: Barriers) -> (Module, Vec<Value>) {
    let mut module = Module::default();
    let local = module.globals.push(GlobalData {
        name: "exchange".to_owned(),
        space: Space::Local,
        size: 4 * MAX_ITEMS,
        align: 4,
        init: GlobalInit::default(),
    });
    let mut func = Function::new("generated", &[]);
    func.stage = Stage::Canonical;
    let [slot, other_slot] = [0; 2].map(|_| func.slots.push(clift_kir::SlotData { size: 16, align: 4 }));
    let entry = func.append_block();
    let mut rng = Rng::new(seed);
    let mut b = Builder::at_end(&mut func, entry);
    let input = b.arg(0, Type::ptr(Space::Global));
    let out = b.arg(8, Type::ptr(Space::Global));
    let constants = b.arg(16, Type::ptr(Space::Constant));
    let exchange =
        if rng.below(2) == 0 { b.arg(24, Type::ptr(Space::Local)) } else { b.global_addr(local, Space::Local) };
    let n = b.arg(32, Type::I32);
    let lid64 = b.query_linear(Opcode::LocalLinearId);
    let lid = b.cast(Opcode::Itrunc, lid64, Type::I32);
    let gid64 = b.query_linear(Opcode::GlobalLinearId);
    let gid = b.cast(Opcode::Itrunc, gid64, Type::I32);
    let sizes = [0, 1, 2].map(|d| b.query(Opcode::LocalSize, d));
    let plane = b.int2(Opcode::Imul, sizes[0], sizes[1]);
    let items = b.int2(Opcode::Imul, plane, sizes[2]);
    let items = b.cast(Opcode::Itrunc, items, Type::I32);
    let group = b.query(Opcode::GroupId, 0);
    let group = b.cast(Opcode::Itrunc, group, Type::I32);
    let x = b.query(Opcode::GlobalId, 0);
    let x = b.cast(Opcode::Itrunc, x, Type::I32);
    let y = b.query(Opcode::LocalId, 1);
    let y = b.cast(Opcode::Itrunc, y, Type::I32);
    let z = b.query(Opcode::GlobalId, 2);
    let z = b.cast(Opcode::Itrunc, z, Type::I32);
    let zero = b.iconst(Type::I32, 0);
    let positive = b.icmp(IntCond::Sgt, x, zero);
    let vector = b.vec(&[x, y, gid]);
    let own = b.addr(out, Some(gid64), 4 * OUT_WORDS, 0);
    // Initialize the private arrays.
    for slot in [slot, other_slot] {
        let private = b.slot_addr(slot);
        let count = b.iconst(Type::I64, 16);
        let byte = b.iconst(Type::I8, 1);
        b.memset(private, byte, count, MemInfo::aligned(4));
    }
    // A load from memory that the kernel may write is uniform here, but not provably.
    let n = match barriers {
        Barriers::None | Barriers::Uniform => n,
        Barriers::Hidden | Barriers::EarlyReturn | Barriers::Divergent => b.load(Type::I32, input, MemInfo::aligned(4)),
    };
    let level = b.convert(Opcode::StoFp, x, Type::F32, Convert::default());
    let vars = vec![n, group, items, x, y, z, zero, positive, vector, own, level];
    debug_assert_eq!(vars.len(), FLOAT + 1);
    let budget = 6 + rng.below(20) as u32;
    let style = rng.pick(&[Style::Mixed, Style::Branchy, Style::Nest { depth: 2 }, Style::Nest { depth: 4 }]);
    let flow = control::Flow::default();
    let mut g = Generator {
        b,
        rng,
        barriers,
        vars,
        slot,
        other_slot,
        exchange,
        lid,
        items,
        gid,
        input,
        constants,
        budget,
        style,
        flow,
    };
    g.sequence(0, true, true);
    g.finish();
    let variables = g.vars[..UNIFORM + VARYING].to_vec();
    let func = module.funcs.push(func);
    module.kernels.push(KernelData { func, arg_block_bytes: ARG_BYTES, required_local_size: None });
    (module, variables)
}

impl Generator<'_> {
    fn sequence(&mut self, depth: u32, together: bool, outermost: bool) {
        if let Style::Nest { depth: most } = self.style {
            self.nest(depth, together, depth < most);
            return;
        }
        let statements = 1 + self.rng.below(4);
        for _ in 0..statements {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.statement(depth, together);
        }
        while outermost && self.budget > 0 {
            self.budget -= 1;
            self.statement(depth, together);
        }
    }

    fn statement(&mut self, depth: u32, together: bool) {
        let may_have_barrier = self.may_have_barrier(together);
        let deeper = depth < 5;
        let kinds = if self.style == Style::Branchy { 40 } else { 28 };
        match self.rng.below(kinds) {
            0 | 1 => self.assign_uniform(),
            3..=6 => self.assign_varying(),
            7 => self.private_access(),
            8 => self.write_own(),
            9 if may_have_barrier => self.barrier(),
            10 | 11 if may_have_barrier => self.exchange(),
            12 | 13 if deeper => self.branch(depth, together),
            14 | 15 if deeper => self.repeat(depth, together),
            16 if deeper => self.select_case(depth, together),
            17 if depth > 0 || self.barriers == Barriers::EarlyReturn => self.early_return(together),
            18 if self.rng.below(2) == 0 => self.fence(),
            18 => self.atomic(),
            2 | 19 => self.assign_branch_varying(),
            20 if deeper => self.repeat(depth, together),
            21 if deeper => self.labelled(depth, together),
            22..=24 => self.leave(),
            25 | 26 => self.assign_float(),
            28..=32 => self.leave(),
            33..=36 if deeper => self.repeat(depth, together),
            37 if deeper => self.labelled(depth, together),
            _ => self.assign_varying(),
        }
    }

    /// Whether there may be a barrier where work-items are `together` or not.
    fn may_have_barrier(&self, together: bool) -> bool {
        self.barriers != Barriers::None && (together || self.barriers == Barriers::Divergent)
    }

    fn uniform(&mut self) -> Value {
        let i = self.rng.below(UNIFORM as u64) as usize;
        self.vars[i]
    }

    fn varying(&mut self) -> Value {
        let i = UNIFORM + self.rng.below(VARYING as u64) as usize;
        self.vars[i]
    }

    fn op(&mut self) -> Opcode {
        self.rng.pick(&[Opcode::Iadd, Opcode::Isub, Opcode::Imul, Opcode::Xor, Opcode::Umin, Opcode::Urem])
    }

    fn assign_uniform(&mut self) {
        let (a, op) = (self.uniform(), self.op());
        let other = if self.rng.below(2) == 0 {
            let value = self.rng.below(9) as i64 - 3;
            self.b.iconst(Type::I32, value)
        } else if self.rng.below(3) == 0 {
            self.hidden_or_constant()
        } else {
            self.uniform()
        };
        let to = self.rng.below(UNIFORM as u64) as usize;
        self.vars[to] = self.b.int2(op, a, other);
    }

    /// A uniform value from memory: constant memory, or (when the mode allows) global memory that might be written.
    fn hidden_or_constant(&mut self) -> Value {
        let hidden = !matches!(self.barriers, Barriers::None | Barriers::Uniform);
        let base = if hidden && self.rng.below(2) == 0 { self.input } else { self.constants };
        let word = self.rng.below(8) as i64;
        let address = self.b.addr(base, None, 1, 4 * word);
        self.b.load(Type::I32, address, MemInfo::aligned(4))
    }

    fn assign_varying(&mut self) {
        let to = UNIFORM + self.rng.below(VARYING as u64 - 1) as usize;
        let a = self.varying();
        match self.rng.below(10) {
            0 => {
                let u = self.uniform();
                self.vars[to] = self.b.int2(Opcode::Iadd, a, u);
            }
            6 => self.vars[to] = self.uniform(),
            7 => {
                let (op, other) = (self.op(), self.uniform());
                let u = self.uniform();
                self.vars[to] = self.b.int2(op, u, other);
            }
            1 => {
                let cond = self.vars[BOOLEAN];
                let other = self.varying();
                self.vars[to] = self.b.select(cond, a, other);
            }
            2 => {
                let other = self.uniform();
                self.vars[BOOLEAN] = self.b.icmp(IntCond::Slt, a, other);
            }
            3 => {
                let vector = self.vars[VECTOR];
                let lane = self.rng.below(3) as u32;
                self.vars[VECTOR] = self.b.insert(vector, a, lane);
            }
            4 => {
                let vector = self.vars[VECTOR];
                let lane = self.rng.below(3) as u32;
                let element = self.b.extract(vector, lane);
                self.vars[to] = self.b.int2(Opcode::Xor, a, element);
            }
            5 => {
                let eight = self.b.iconst(Type::I32, 8);
                let index = self.b.int2(Opcode::Urem, a, eight);
                let index = self.b.cast(Opcode::Zext, index, Type::I64);
                let address = self.b.addr(self.input, Some(index), 4, 0);
                self.vars[to] = self.b.load(Type::I32, address, MemInfo::aligned(4));
            }
            8 => self.vars[to] = self.sized(a),
            _ => {
                let (op, other) = (self.op(), self.varying());
                self.vars[to] = self.b.int2(op, a, other);
            }
        }
    }

    /// Arithmetic in another width.
    fn sized(&mut self, a: Value) -> Value {
        let ty = self.rng.pick(&[Type::I8, Type::I16, Type::I64]);
        let wide = ty == Type::I64;
        let extend = self.rng.pick(&[Opcode::Sext, Opcode::Zext]);
        let (into, back) = if wide { (extend, Opcode::Itrunc) } else { (Opcode::Itrunc, extend) };
        let other = if self.rng.below(2) == 0 { self.varying() } else { self.uniform() };
        let (a, other) = (self.b.cast(into, a, ty), self.b.cast(into, other, ty));
        let op = self.rng.pick(&[
            Opcode::Iadd,
            Opcode::Imul,
            Opcode::Shl,
            Opcode::Ashr,
            Opcode::Rotl,
            Opcode::Smax,
            Opcode::UsubSat,
            Opcode::Sdiv,
        ]);
        let value = self.b.int2(op, a, other);
        self.b.cast(back, value, Type::I32)
    }

    /// Changes one of its own words atomically.
    fn atomic(&mut self) {
        let own = self.vars[POINTER];
        let address = self.b.addr(own, None, 1, 4 * self.rng.below(OUT_WORDS) as i64);
        let op = self.rng.pick(&[AtomicOp::Add, AtomicOp::Xor, AtomicOp::Umax, AtomicOp::Xchg]);
        let value = if self.rng.below(2) == 0 { self.varying() } else { self.uniform() };
        let info = AtomicInfo { op, order: MemOrder::Relaxed, scope: MemScope::Device };
        let before = self.b.atomic_rmw(address, value, info);
        let to = UNIFORM + self.rng.below(VARYING as u64 - 1) as usize;
        self.vars[to] = before;
    }

    fn assign_branch_varying(&mut self) {
        let (op, other) = (self.op(), self.uniform());
        let to = self.vars[BRANCH_VARYING];
        self.vars[BRANCH_VARYING] = self.b.int2(op, other, to);
    }

    /// The result stays finite.
    fn assign_float(&mut self) {
        let level = self.vars[FLOAT];
        let other = match self.rng.below(3) {
            0 => {
                let value = self.rng.below(9) as f64 - 4.5;
                self.b.fconst(Type::F32, value)
            }
            1 => {
                let value = self.varying();
                self.b.convert(Opcode::StoFp, value, Type::F32, Convert::default())
            }
            _ => self.load_float(),
        };
        let op = self.rng.pick(&[Opcode::Fadd, Opcode::Fsub]);
        let sum = self.b.float2(op, level, other);
        let half = self.b.fconst(Type::F32, 0.5);
        self.vars[FLOAT] = self.b.float2(Opcode::Fmul, sum, half);
    }

    /// A small number from the input, at a varying index.
    fn load_float(&mut self) -> Value {
        let index = self.varying();
        let seven = self.b.iconst(Type::I32, 7);
        let index = self.b.int2(Opcode::And, index, seven);
        let index = self.b.cast(Opcode::Zext, index, Type::I64);
        let address = self.b.addr(self.input, Some(index), 4, 0);
        let word = self.b.load(Type::I32, address, MemInfo::aligned(4));
        self.b.convert(Opcode::StoFp, word, Type::F32, Convert::default())
    }

    fn private_access(&mut self) {
        let index = self.varying();
        let three = self.b.iconst(Type::I32, 3);
        let index = self.b.int2(Opcode::And, index, three);
        let index = self.b.cast(Opcode::Zext, index, Type::I64);
        let mut base = self.b.slot_addr(self.slot);
        if self.rng.below(3) == 0 {
            let other = self.b.slot_addr(self.other_slot);
            base = self.b.select(self.vars[BOOLEAN], base, other);
        }
        let address = self.b.addr(base, Some(index), 4, 0);
        if self.rng.below(2) == 0 {
            let value = self.varying();
            self.b.store(address, value, MemInfo::aligned(4));
        } else {
            let to = UNIFORM + self.rng.below(VARYING as u64 - 1) as usize;
            self.vars[to] = self.b.load(Type::I32, address, MemInfo::aligned(4));
        }
    }

    fn write_own(&mut self) {
        let word = self.rng.below(OUT_WORDS) as i64;
        let own = self.vars[POINTER];
        let address = self.b.addr(own, None, 1, 4 * word);
        let value = if self.rng.below(2) == 0 { self.varying() } else { self.uniform() };
        self.b.store(address, value, MemInfo::aligned(4));
    }

    fn barrier(&mut self) {
        let id = self.b.func.fresh_barrier();
        let execution =
            self.rng.pick(&[MemScope::WorkGroup, MemScope::WorkGroup, MemScope::WorkGroup, MemScope::SubGroup]);
        let memory = self.rng.pick(&[MemScope::WorkGroup, MemScope::Device]);
        let spaces = SpaceSet::LOCAL | SpaceSet::GLOBAL;
        self.b.barrier(BarrierInfo { id, execution, memory, spaces });
    }

    fn full_barrier(&mut self) {
        let id = self.b.func.fresh_barrier();
        let (execution, spaces) = (MemScope::WorkGroup, SpaceSet::LOCAL | SpaceSet::GLOBAL);
        self.b.barrier(BarrierInfo { id, execution, memory: MemScope::WorkGroup, spaces });
    }

    /// Gets a neighbour's value through local memory.
    fn exchange(&mut self) {
        let value = self.varying();
        let index = self.b.cast(Opcode::Zext, self.lid, Type::I64);
        let mine = self.b.addr(self.exchange, Some(index), 4, 0);
        self.full_barrier();
        self.b.store(mine, value, MemInfo::aligned(4));
        self.full_barrier();
        // Work-items that have ended early have written nothing; then only the own word is safe to read.
        let other = if matches!(self.barriers, Barriers::EarlyReturn | Barriers::Divergent) {
            mine
        } else {
            let step = self.rng.below(5) as i64;
            let step = self.b.iconst(Type::I32, step);
            let next = self.b.int2(Opcode::Iadd, self.lid, step);
            let next = self.b.int2(Opcode::Urem, next, self.items);
            let next = self.b.cast(Opcode::Zext, next, Type::I64);
            self.b.addr(self.exchange, Some(next), 4, 0)
        };
        let to = UNIFORM + self.rng.below(VARYING as u64 - 1) as usize;
        self.vars[to] = self.b.load(Type::I32, other, MemInfo::aligned(4));
        if self.rng.below(3) != 0 {
            self.full_barrier();
        }
    }

    fn fence(&mut self) {
        let info = AtomicInfo { op: AtomicOp::Xchg, order: MemOrder::AcqRel, scope: MemScope::WorkGroup };
        self.b.fence(info);
    }

    /// Writes all variables to the output.
    fn finish(&mut self) {
        let mut sum = self.gid;
        for i in 0..UNIFORM + VARYING {
            sum = self.b.int2(Opcode::Imul, sum, self.vars[2]);
            sum = self.b.int2(Opcode::Iadd, sum, self.vars[i]);
        }
        let flag = self.b.cast(Opcode::Zext, self.vars[BOOLEAN], Type::I32);
        sum = self.b.int2(Opcode::Xor, sum, flag);
        let vector = self.vars[VECTOR];
        for lane in 0..3 {
            let element = self.b.extract(vector, lane);
            sum = self.b.int2(Opcode::Iadd, sum, element);
        }
        let level = self.b.cast(Opcode::Bitcast, self.vars[FLOAT], Type::I32);
        sum = self.b.int2(Opcode::Xor, sum, level);
        for slot in [self.slot, self.other_slot] {
            let base = self.b.slot_addr(slot);
            let private = self.b.load(Type::vector(Elem::I32, 4), base, MemInfo::aligned(4));
            for lane in 0..4 {
                let element = self.b.extract(private, lane);
                sum = self.b.int2(Opcode::Xor, sum, element);
                sum = self.b.int2(Opcode::Iadd, sum, self.gid);
            }
        }
        let own = self.vars[POINTER];
        self.b.store(own, sum, MemInfo::aligned(4));
        for i in 0..UNIFORM + VARYING {
            let address = self.b.addr(own, None, 1, 4 * (i as i64 + 1));
            self.b.store(address, self.vars[i], MemInfo::aligned(4));
        }
        self.b.ret(&[]);
    }
}
