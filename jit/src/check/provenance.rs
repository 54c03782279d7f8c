//! Which object each pointer of a kernel belongs to, and how an access's offset in that object is computed.

use clift_kir::dfg::ValueDef;
use clift_kir::{Builder, Function, Global, Imm, Inst, Opcode, Slot, Space, Type, Value};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use crate::spmd::analysis::ranges::Ranges;

/// An object, by the instruction that gives its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Object {
    /// What the pointer argument at this offset of the argument block points to.
    Argument(u32, Space),
    /// The argument by value at this offset of the argument block, or behind it.
    ByValue(u32),
    /// A variable of the module.
    Variable(Global, Space),
    /// A private variable.
    Slot(Slot),
}

impl Object {
    /// Emits the address of the object.
    pub(super) fn address(self, b: &mut Builder<'_>) -> Value {
        match self {
            Object::Argument(offset, space) => b.arg(offset, Type::ptr(space)),
            Object::ByValue(offset) => b.arg_addr(offset),
            Object::Variable(global, space) => b.global_addr(global, space),
            Object::Slot(slot) => b.slot_addr(slot),
        }
    }
}

/// What is known about a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Not seen yet.
    Unseen,
    /// It points into this object, or beyond its ends.
    Object(Object),
    /// It may point into several objects, or comes from memory.
    Unknown,
}

impl Origin {
    fn meet(self, other: Origin) -> Origin {
        match (self, other) {
            (Origin::Unseen, known) | (known, Origin::Unseen) => known,
            (a, b) if a == b => a,
            (Origin::Object(_) | Origin::Unknown, Origin::Object(_) | Origin::Unknown) => Origin::Unknown,
        }
    }
}

/// The origins of all pointers of a kernel.
pub(super) struct Provenance(SecondaryMap<Value, Option<Origin>>);

impl Provenance {
    /// Follows all pointers from their definitions, through block parameters, until nothing changes.
    pub(super) fn new(func: &Function) -> Provenance {
        let mut origins = Provenance(SecondaryMap::new());
        let mut changed = true;
        while changed {
            changed = false;
            for &block in func.layout.blocks() {
                for &inst in func.layout.insts(block) {
                    for &result in func.dfg.results(inst) {
                        if func.dfg.ty(result).is_ptr() {
                            let origin = origins.of_result(func, inst);
                            changed |= origins.join(result, origin);
                        }
                    }
                    for call in func.dfg.targets(inst) {
                        for (&param, &arg) in func.dfg.params(call.block).iter().zip(&call.args) {
                            if func.dfg.ty(param).is_ptr() {
                                changed |= origins.join(param, origins.of(arg));
                            }
                        }
                    }
                }
            }
        }
        origins
    }

    fn of(&self, value: Value) -> Origin {
        self.0[value].unwrap_or(Origin::Unseen)
    }

    fn join(&mut self, value: Value, origin: Origin) -> bool {
        let met = self.of(value).meet(origin);
        let changed = self.of(value) != met;
        self.0[value] = Some(met);
        changed
    }

    fn of_result(&self, func: &Function, inst: Inst) -> Origin {
        let data = func.dfg.inst(inst);
        if let Some(object) = named(func, inst) {
            return Origin::Object(object);
        }
        if matches!(data.op, Opcode::Addr | Opcode::SpaceCast) {
            self.of(data.args[0])
        } else if data.op == Opcode::Undef {
            Origin::Unseen
        } else if data.op == Opcode::Select {
            self.of(data.args[1]).meet(self.of(data.args[2]))
        } else {
            Origin::Unknown
        }
    }

    /// The object that a pointer belongs to, if there is one that it must belong to.
    pub(super) fn object(&self, pointer: Value) -> Option<Object> {
        match self.of(pointer) {
            Origin::Object(object) => Some(object),
            Origin::Unseen | Origin::Unknown => None,
        }
    }
}

/// The object whose address an instruction gives.
fn named(func: &Function, inst: Inst) -> Option<Object> {
    let data = func.dfg.inst(inst);
    let space = || func.dfg.ty(func.dfg.result(inst)).elem.space();
    match (data.op, &data.imm) {
        (Opcode::Arg, Imm::Offset(offset)) => Some(Object::Argument(*offset, space()?)),
        (Opcode::ArgAddr, Imm::Offset(offset)) => Some(Object::ByValue(*offset)),
        (Opcode::GlobalAddr, Imm::Global(global)) => Some(Object::Variable(*global, space()?)),
        (Opcode::SlotAddr, Imm::Slot(slot)) => Some(Object::Slot(*slot)),
        _ => None,
    }
}

/// What addresses have in common that differ by constants: a base, unless that is the object's address, and scaled indices.
pub(super) type Sum = (Option<Value>, SmallVec<[(Value, u64); 2]>);

/// An address as the sum of a base, indices and a constant.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The object's address, or a pointer into it.
    base: Value,
    /// Whether the base is the object's address.
    at_start: bool,
    terms: SmallVec<[(Value, u64); 2]>,
    disp: i64,
}

impl Place {
    /// Follows a pointer through address computations.
    pub(super) fn new(func: &Function, pointer: Value) -> Place {
        let mut place = Place { base: pointer, at_start: false, terms: SmallVec::new(), disp: 0 };
        while let ValueDef::Result(inst, _) = func.dfg.def(place.base) {
            let data = func.dfg.inst(inst);
            if let Imm::Addr { scale, disp } = data.imm
                && data.op == Opcode::Addr
            {
                place.disp = place.disp.wrapping_add(disp);
                place.terms.extend(data.args.get(1).map(|&index| (index, scale)));
            } else if data.op != Opcode::SpaceCast {
                place.at_start = named(func, inst).is_some();
                break;
            }
            place.base = data.args[0];
        }
        place
    }

    /// The lowest and the highest offset, if the address is the sum of the object's address, terms and a constant.
    pub(super) fn reach(&self, ranges: &mut Ranges<'_>) -> Option<(i128, i128)> {
        let displacement = i128::from(self.displacement()?);
        self.terms.iter().try_fold((displacement, displacement), |(lowest, highest), &(index, scale)| {
            let (low, high) = ranges.of(index).as_signed();
            let scaled = |number: i64| i128::from(number) * i128::from(scale);
            Some((lowest.checked_add(scaled(low))?, highest.checked_add(scaled(high))?))
        })
    }

    /// The displacement of an address that is the sum of an object's address, [terms](Place::terms) and a constant.
    pub(super) fn displacement(&self) -> Option<i64> {
        self.at_start.then_some(self.disp)
    }

    /// The constant that is added.
    pub(super) fn disp(&self) -> i64 {
        self.disp
    }

    /// The sum without the constant.
    pub(super) fn sum(&self) -> Sum {
        ((!self.at_start).then_some(self.base), self.terms.clone())
    }

    /// The indices that are added to the base, and their scales.
    pub(super) fn terms(&self) -> &[(Value, u64)] {
        &self.terms
    }

    /// The values from which [`Place::offset`] is computed.
    pub(super) fn values(&self) -> impl Iterator<Item = Value> + '_ {
        let base = (!self.at_start).then_some(self.base);
        self.terms.iter().map(|&(index, _)| index).chain(base)
    }

    /// Emits the address of the same place in another object, which has `ratio` bytes for each byte of this one.
    pub(super) fn moved(&self, b: &mut Builder<'_>, object: Object, to: Value, ratio: u64) -> Value {
        let mut address = to;
        if !self.at_start {
            let start = object.address(b);
            let [start, base] = [start, self.base].map(|pointer| b.cast(Opcode::PtrToInt, pointer, Type::I64));
            let offset = b.int2(Opcode::Isub, base, start);
            address = b.addr(address, Some(offset), ratio, 0);
        }
        for &(index, scale) in &self.terms {
            address = b.addr(address, Some(index), scale.wrapping_mul(ratio), 0);
        }
        if self.disp == 0 { address } else { b.addr(address, None, 1, self.disp.wrapping_mul(ratio as i64)) }
    }

    /// Emits the computation of the offset from the start of the object.
    pub(super) fn offset(&self, b: &mut Builder<'_>, object: Object) -> Value {
        let mut sum = None;
        if !self.at_start {
            let start = object.address(b);
            let [start, base] = [start, self.base].map(|pointer| b.cast(Opcode::PtrToInt, pointer, Type::I64));
            sum = Some(b.int2(Opcode::Isub, base, start));
        }
        for &(index, scale) in &self.terms {
            let scaled = match scale {
                1 => index,
                _ => {
                    let scale = b.iconst(Type::I64, scale as i64);
                    b.int2(Opcode::Imul, index, scale)
                }
            };
            sum = Some(match sum {
                Some(sum) => b.int2(Opcode::Iadd, sum, scaled),
                None => scaled,
            });
        }
        let disp = b.iconst(Type::I64, self.disp);
        match sum {
            Some(sum) if self.disp == 0 => sum,
            Some(sum) => b.int2(Opcode::Iadd, sum, disp),
            None => disp,
        }
    }
}
