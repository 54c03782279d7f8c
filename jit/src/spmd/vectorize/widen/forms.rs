//! The forms of the kernel's values in the code of a pack, and variables.

use clift_kir::dfg::ConstData;
use clift_kir::inst::InstData;
use clift_kir::ssa::Var;
use clift_kir::{Block, Builder, Imm, Opcode, Type, Value};
use smallvec::{SmallVec, smallvec};

use super::Widener;
use crate::spmd::analysis::affine::Offsets;
use crate::spmd::analysis::shape::{Scope, Shape};

/// The components of a varying value, one pack each.
pub(super) type Packs = SmallVec<[Value; 4]>;

/// The form of a kernel's value in the code of a pack.
#[derive(Clone, Debug)]
pub(super) enum WideForm {
    /// The value is the same in all lanes.
    Uniform(Value),
    /// Lane i has the value of lane 0 plus i times the stride, wrapping in its width.
    Affine { base: Value, stride: i64 },
    /// Only the value of lane 0 is computed. The other lanes have a stride unless an index wraps within the pack, which a test
    /// decides ([`Conditional`](crate::spmd::analysis::shape::Conditional)), or differ from it by constants. Packs are computed
    /// where they are needed.
    FirstLane(Value),
    /// An OpenCL vector in memory order: all components of lane 0, of lane 1, ...
    Flat(Value),
    /// One pack per component.
    Packs(Packs),
}

impl WideForm {
    fn parts(&self) -> Packs {
        match self {
            WideForm::Uniform(value)
            | WideForm::Affine { base: value, .. }
            | WideForm::FirstLane(value)
            | WideForm::Flat(value) => {
                smallvec![*value]
            }
            WideForm::Packs(packs) => packs.clone(),
        }
    }

    fn with_parts(&self, parts: Packs) -> WideForm {
        match self {
            WideForm::Uniform(_) => WideForm::Uniform(parts[0]),
            WideForm::Affine { stride, .. } => WideForm::Affine { base: parts[0], stride: *stride },
            WideForm::FirstLane(_) => WideForm::FirstLane(parts[0]),
            WideForm::Flat(_) => WideForm::Flat(parts[0]),
            WideForm::Packs(_) => WideForm::Packs(parts),
        }
    }
}

impl Widener<'_> {
    /// The type of one component of a kernel's type as a pack.
    pub(super) fn pack_type(&self, ty: Type) -> Type {
        ty.lane().with_lanes(self.width)
    }

    /// The shape of a value of the kernel.
    pub(super) fn shape(&self, value: Value) -> Shape {
        self.divergence.shape(value)
    }

    /// Records the form of a value.
    pub(super) fn set(&mut self, value: Value, form: WideForm) {
        if let WideForm::Uniform(new) = form {
            self.name(value, new);
        } else if let WideForm::Packs(packs) = &form
            && let [only] = packs[..]
        {
            self.name(value, only);
        }
        self.forms[value] = Some(form);
        self.made_in[value] = Some(self.here).into();
    }

    /// The form of a value, for use in the block that is being filled.
    pub(super) fn form(&mut self, value: Value) -> WideForm {
        let Some(form) = self.forms[value].clone() else {
            unreachable!("broken invariant: {value} is used in {} before it is made", self.block)
        };
        let home = self.func.def_block(value);
        if home.is_none_or(|home| self.dominates(home, self.block)) {
            return form;
        }
        let parts = form.parts();
        let types: SmallVec<[Type; 4]> = parts.iter().map(|&part| self.out.dfg.ty(part)).collect();
        let vars = match self.repaired.get(&value) {
            Some(vars) => vars.clone(),
            None => {
                let Some(made_in) = self.made_in[value].expand() else {
                    unreachable!("broken invariant: {value} was made nowhere")
                };
                let vars: Vec<Var> = types.iter().map(|&ty| self.ssa.declare(ty)).collect();
                for (&var, &part) in vars.iter().zip(&parts) {
                    self.ssa.define(var, made_in, part);
                }
                self.repaired.insert(value, vars.clone());
                vars
            }
        };
        let head = self.heads[self.block].expand().unwrap_or(self.here);
        let parts = vars.iter().zip(types).map(|(&var, ty)| self.at_start(var, head, ty)).collect();
        form.with_parts(parts)
    }

    /// The scalar of a uniform value, or lane 0's value.
    pub(super) fn scalar(&mut self, value: Value) -> Value {
        match self.form(value) {
            WideForm::Uniform(value) | WideForm::Affine { base: value, .. } | WideForm::FirstLane(value) => value,
            WideForm::Flat(_) | WideForm::Packs(_) => unreachable!("broken invariant: {value} varies"),
        }
    }

    /// Whether a value is a scalar, possibly with a stride.
    pub(super) fn is_scalar(&mut self, value: Value) -> bool {
        matches!(self.forms[value], Some(WideForm::Uniform(_) | WideForm::Affine { .. }))
    }

    /// Whether lane 0's value is available as a scalar.
    pub(super) fn has_first_lane(&self, value: Value) -> bool {
        matches!(self.forms[value], Some(WideForm::Uniform(_) | WideForm::Affine { .. } | WideForm::FirstLane(_)))
    }

    /// Whether a value was made as a uniform one.
    pub(super) fn is_uniform(&self, value: Value) -> bool {
        matches!(self.forms[value], Some(WideForm::Uniform(_)))
    }

    /// The components of a value as packs.
    pub(super) fn packs(&mut self, value: Value) -> Packs {
        let ty = self.func.dfg.ty(value);
        match self.form(value) {
            WideForm::Packs(packs) => packs,
            WideForm::FirstLane(first) => match self.divergence.offsets(value) {
                Some(offsets) => smallvec![self.at_offsets(first, offsets)],
                None => self.recomputed(value),
            },
            WideForm::Flat(flat) => (0..ty.lanes()).map(|component| self.component_of(flat, component)).collect(),
            WideForm::Affine { base, stride } => smallvec![self.strided(base, stride)],
            WideForm::Uniform(scalar) => {
                (0..ty.lanes()).map(|component| self.component_splat(scalar, component)).collect()
            }
        }
    }

    /// Computes the packs of a value of which only lane 0's scalar has been made. Operands of which nothing else has been made
    /// either come first, without recursion, because chains of them may be as long as the kernel.
    fn recomputed(&mut self, value: Value) -> Packs {
        let mut open = vec![value];
        while let Some(&at) = open.last() {
            if self.recomputed.contains_key(&(at, self.here)) {
                open.pop();
                continue;
            }
            let Some(inst) = self.func.dfg.def_inst(at) else {
                unreachable!("broken invariant: parameter {at} is provided")
            };
            let before = open.len();
            let args = self.func.dfg.inst(inst).args.iter().rev().copied();
            open.extend(
                args.filter(|&arg| self.is_recomputed(arg) && !self.recomputed.contains_key(&(arg, self.here))),
            );
            if open.len() == before {
                let packs = self.on_packs(inst);
                self.recomputed.insert((at, self.here), packs);
            }
        }
        self.recomputed[&(value, self.here)].clone()
    }

    /// Whether the packs of a value are computed where they are needed.
    fn is_recomputed(&self, value: Value) -> bool {
        matches!(self.forms[value], Some(WideForm::FirstLane(_))) && self.divergence.offsets(value).is_none()
    }

    /// One component of a uniform value in every lane.
    fn component_splat(&mut self, value: Value, component: u32) -> Value {
        let key = (value, -1 - i64::from(component), self.here);
        if !self.out.dfg.ty(value).is_vector() {
            return self.strided(value, 0);
        }
        if let Some(&pack) = self.splats.get(&key) {
            return pack;
        }
        let width = self.width;
        let mut b = self.at();
        let scalar = b.extract(value, component);
        let pack = b.splat(scalar, width);
        self.splats.insert(key, pack);
        pack
    }

    /// One component of all lanes of a flat value.
    fn component_of(&mut self, flat: Value, component: u32) -> Value {
        let key = (flat, -1 - i64::from(component), self.here);
        if let Some(&pack) = self.splats.get(&key) {
            return pack;
        }
        let step = self.out.dfg.ty(flat).lanes() / self.width;
        let lanes: SmallVec<[u8; 16]> = (0..self.width).map(|lane| (lane * step + component) as u8).collect();
        let pack = self.at().shuffle(flat, flat, &lanes);
        self.splats.insert(key, pack);
        pack
    }

    /// A value in flat form, if that costs little: because it is flat already, or because it is uniform or one scalar in all
    /// components.
    pub(super) fn flat(&mut self, value: Value) -> Option<Value> {
        match self.form(value) {
            WideForm::Flat(flat) => Some(flat),
            WideForm::Packs(packs) if packs.iter().all(|&pack| pack == packs[0]) => {
                let count = packs.len() as u32;
                let lanes: SmallVec<[u8; 64]> = (0..count * self.width).map(|i| (i / count) as u8).collect();
                Some(self.at().shuffle(packs[0], packs[0], &lanes))
            }
            WideForm::Uniform(shared) if self.out.dfg.ty(shared).is_vector() => {
                let count = self.out.dfg.ty(shared).lanes();
                let lanes: SmallVec<[u8; 64]> = (0..count * self.width).map(|i| (i % count) as u8).collect();
                Some(self.at().shuffle(shared, shared, &lanes))
            }
            WideForm::Uniform(_) | WideForm::Affine { .. } | WideForm::FirstLane(_) | WideForm::Packs(_) => None,
        }
    }

    /// Whether all components of a varying value are the same scalar.
    pub(super) fn is_one_scalar(&self, value: Value) -> bool {
        match &self.forms[value] {
            Some(WideForm::Packs(packs)) => packs.iter().all(|pack| pack == &packs[0]),
            Some(WideForm::Uniform(_) | WideForm::Affine { .. } | WideForm::FirstLane(_) | WideForm::Flat(_))
            | None => false,
        }
    }

    /// Whether a value is in flat form.
    pub(super) fn is_flat(&self, value: Value) -> bool {
        matches!(self.forms[value], Some(WideForm::Flat(_)))
    }

    /// The pack `base`, `base + stride`, ...
    pub(super) fn strided(&mut self, base: Value, stride: i64) -> Value {
        let ty = self.out.dfg.ty(base);
        debug_assert!(!ty.is_vector());
        let key = (base, stride, self.here);
        if let Some(&pack) = self.splats.get(&key) {
            return pack;
        }
        let width = self.width;
        let pack = if let Some(bits) = self.out.dfg.as_splat_bits(base)
            && stride == 0
        {
            self.at().constant(ConstData::splat(ty.with_lanes(width), bits))
        } else if stride == 0 {
            self.at().splat(base, width)
        } else if ty.is_ptr() {
            let steps = self.iota(Type::I64, stride);
            let imm = Imm::Addr { scale: 1, disp: 0 };
            self.emit(Opcode::Addr, &[base, steps], imm, ty.with_lanes(width))
        } else {
            let steps = self.iota(ty, stride);
            let mut b = self.at();
            let base = b.splat(base, width);
            b.int2(Opcode::Iadd, base, steps)
        };
        self.splats.insert(key, pack);
        pack
    }

    /// The pack with the given first lane and offsets.
    fn at_offsets(&mut self, first: Value, offsets: Offsets) -> Value {
        let ty = self.out.dfg.ty(first);
        let width = self.width;
        let steps = if ty.is_ptr() { Type::I64 } else { ty };
        let by: Vec<u64> = (0..width).map(|lane| offsets.by(lane) as u64 & steps.elem.mask()).collect();
        let by = self.at().constant(ConstData::new(steps.with_lanes(width), &by));
        if ty.is_ptr() {
            return self.emit(Opcode::Addr, &[first, by], Imm::Addr { scale: 1, disp: 0 }, ty.with_lanes(width));
        }
        let first = self.strided(first, 0);
        self.at().int2(Opcode::Iadd, first, by)
    }

    /// The pack 0, `stride`, 2 * `stride`, ...
    pub(super) fn iota(&mut self, ty: Type, stride: i64) -> Value {
        let lanes: Vec<u64> = (0..self.width).map(|lane| (stride as u64).wrapping_mul(u64::from(lane))).collect();
        let data = ConstData::new(ty.with_lanes(self.width), &lanes);
        self.at().constant(data)
    }

    /// One lane of a value, with the kernel's type.
    pub(super) fn lane(&mut self, value: Value, lane: u32) -> Value {
        match self.form(value) {
            WideForm::Uniform(scalar) => scalar,
            WideForm::Affine { base, stride } => {
                let ty = self.out.dfg.ty(base);
                let step = stride.wrapping_mul(i64::from(lane));
                let mut b = self.at();
                if step == 0 {
                    base
                } else if ty.is_ptr() {
                    b.addr(base, None, 1, step)
                } else {
                    let step = b.iconst(ty, step);
                    b.int2(Opcode::Iadd, base, step)
                }
            }
            WideForm::FirstLane(base) if lane == 0 => base,
            WideForm::Flat(flat) => {
                let count = self.func.dfg.ty(value).lanes();
                let lanes: SmallVec<[u8; 16]> = (0..count).map(|component| (lane * count + component) as u8).collect();
                self.at().shuffle(flat, flat, &lanes)
            }
            WideForm::FirstLane(_) | WideForm::Packs(_) => {
                let packs = self.packs(value);
                let mut b = self.at();
                let components: SmallVec<[Value; 4]> = packs.iter().map(|&pack| b.extract(pack, lane)).collect();
                b.vec(&components)
            }
        }
    }

    // -- variables --

    /// Whether a parameter is kept as packs.
    pub(super) fn is_packs(&self, param: Value) -> bool {
        self.shape(param) == Shape::Varying
    }

    /// The variables of a parameter, by component.
    pub(super) fn param_vars(&mut self, param: Value) -> Vec<Var> {
        if let Some(vars) = self.params.get(&param) {
            return vars.clone();
        }
        let ty = self.func.dfg.ty(param);
        let vars: Vec<Var> = if self.is_packs(param) {
            let pack = self.pack_type(ty);
            (0..ty.lanes()).map(|_| self.ssa.declare(pack)).collect()
        } else {
            vec![self.ssa.declare(ty)]
        };
        self.params.insert(param, vars.clone());
        vars
    }

    /// An argument in the form of its parameter.
    pub(super) fn as_param(&mut self, param: Value, arg: Value) -> Vec<Value> {
        if self.is_packs(param) { self.packs(arg).to_vec() } else { vec![self.scalar(arg)] }
    }

    /// Sets a parameter's form at the start of its block.
    pub(super) fn enter_param(&mut self, param: Value) {
        let ty = self.func.dfg.ty(param);
        let vars = self.param_vars(param);
        let (pack, here) = (self.pack_type(ty), self.here);
        let form = match self.shape(param) {
            Shape::Uniform(_) => WideForm::Uniform(self.at_start(vars[0], here, ty)),
            Shape::Affine { stride, .. } => WideForm::Affine { base: self.at_start(vars[0], here, ty), stride },
            Shape::Varying => WideForm::Packs(vars.into_iter().map(|var| self.at_start(var, here, pack)).collect()),
        };
        debug_assert!(
            self.shape(param) == Shape::Varying || self.shape(param).is_uniform(Scope::Pack) || !ty.is_vector(),
            "broken invariant: a vector with a step"
        );
        self.forms[param] = Some(form);
        self.made_in[param] = Some(here).into();
    }

    /// The value of a variable at this point of the current block.
    pub(super) fn read(&mut self, var: Var, ty: Type) -> Value {
        match self.current.get(&(var, self.here)) {
            Some(&value) => value,
            None => self.at_start(var, self.here, ty),
        }
    }

    /// Assigns a variable in the current block.
    pub(super) fn assign(&mut self, var: Var, value: Value) {
        self.ssa.define(var, self.here, value);
        self.current.insert((var, self.here), value);
    }

    /// The placeholder for a variable's value at the start of a block.
    pub(super) fn at_start(&mut self, var: Var, block: Block, ty: Type) -> Value {
        let dfg = &mut self.out.dfg;
        *self.placeholders.entry((var, block)).or_insert_with(|| {
            let data = InstData { op: Opcode::Undef, args: Default::default(), imm: Imm::None };
            let inst = dfg.make_inst(data, &[ty]);
            dfg.result(inst)
        })
    }

    /// Splits the current block before its terminator. The rest becomes the current block. Returns the first part, which has no
    /// terminator.
    pub(super) fn split(&mut self) -> Block {
        let rest = self.out.dfg.make_block();
        let insts = self.out.layout.insts(self.here);
        let at = insts.len() - 1;
        self.out.layout.append_block(rest);
        self.out.layout.split_off(self.here, at, rest);
        std::mem::replace(&mut self.here, rest)
    }

    /// A cursor at the end of a block without terminator.
    pub(super) fn ending(&mut self, block: Block) -> Builder<'_> {
        let loc = self.loc;
        let mut builder = Builder::at_end(&mut self.out, block);
        builder.set_loc(loc);
        builder
    }
}
