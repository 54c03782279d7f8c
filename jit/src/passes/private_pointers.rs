//! Pointers into a private variable that differ with the path to where they are used become offsets: block parameters, and
//! choices of a `select`. Comparisons and differences of pointers into the same variable become those of offsets.
//!
//! ```text
//! b1(p: ptr(private)):            b1(o: i64):
//!     x = load p                      p = addr v, o        // scale 1
//!     q = addr disp 4 p       ->      x = load p
//!     ...                             n = iadd o, 4
//!     jump b1(q)                      jump b1(n)
//! ```
//!
//! The variable of each access is then known without a look at the control flow. The vectorizer needs that to keep element i of
//! all lanes together (`spmd/transform/private_arrays.rs`), and unrolling to see counters. Sorts of windows pass pointers out
//! of loops (`t = v[m]` after a search for m), iterators are pointers, and some programs swap two buffers by exchanging their
//! pointers. For those, the variables that one pointer may point into are joined to one first ([`join`]).
//!
//! Deliberately not here: pointers to global and local memory, whose buffers are not a question of layout.

use clift_kir::analysis::Cfg;
use clift_kir::dfg::ValueDef;
use clift_kir::{BlockCall, Builder, Function, Imm, Inst, IntCond, Opcode, Slot, SlotData, Type, Value};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};

use super::origins::{Counterparts, Derivation, Meet, Origins, is_pointer, remove_unreached_blocks, sources};
use super::util::Replacements;
use super::{Changed, dce};

/// Rewrites the pointers of a function.
pub(super) fn run(func: &mut Function) -> Changed {
    if !has_candidates(func) {
        return Changed(false);
    }
    remove_unreached_blocks(func);
    let targets = Targets::find(func, Meet::Equal);
    if !targets.choices(func).any(|value| targets.slot(value).is_some()) {
        return Changed(false);
    }
    let needed = targets.needed_offsets(func);
    let offsets = Counterparts::of_params(func, |_, param| targets.slot(param).map(|_| Type::I64));
    Rewriter { targets, needed, offsets }.run(func);
    Changed(true)
}

/// Joins the variables that one pointer may point into.
pub(super) fn join(func: &mut Function) -> Changed {
    if !has_candidates(func) {
        return Changed(false);
    }
    remove_unreached_blocks(func);
    let targets = Targets::find(func, Meet::Join);
    // The first variable of those that each one is joined with.
    let mut first: SecondaryMap<Slot, PackedOption<Slot>> = SecondaryMap::new();
    let find = |first: &SecondaryMap<Slot, PackedOption<Slot>>, mut slot: Slot| {
        while let Some(earlier) = first[slot].expand() {
            slot = earlier;
        }
        slot
    };
    for &(value, a, b) in &targets.0.pairs {
        let (a, b) = (find(&first, a), find(&first, b));
        if a != b && targets.slot(value).is_some() {
            first[a.max(b)] = a.min(b).into();
        }
    }
    let joined: Vec<Slot> = func.slots.keys().filter(|&slot| first[slot].is_some()).collect();
    if joined.is_empty() {
        return Changed(false);
    }
    let mut places: SecondaryMap<Slot, i64> = SecondaryMap::new();
    let into: SecondaryMap<Slot, PackedOption<Slot>> = joined.iter().fold(SecondaryMap::new(), |mut into, &slot| {
        into[slot] = find(&first, slot).into();
        into
    });
    for &slot in &joined {
        let SlotData { size, align } = func.slots[slot];
        let whole = &mut func.slots[find(&first, slot)];
        let place = whole.size.next_multiple_of(align.into());
        places[slot] = place as i64;
        *whole = SlotData { size: place + size, align: whole.align.max(align) };
    }
    for block in func.layout.blocks().to_vec() {
        for inst in func.layout.take_insts(block) {
            let data = func.dfg.inst(inst);
            if let (Opcode::SlotAddr, &Imm::Slot(slot)) = (data.op, &data.imm)
                && let Some(whole) = into[slot].expand()
            {
                let loc = func.locs[inst];
                let mut b = Builder::at_end(func, block);
                b.set_loc(loc);
                let start = b.slot_addr(whole);
                let mut address = b.func.dfg.inst(inst).clone();
                address.op = Opcode::Addr;
                address.imm = Imm::Addr { scale: 1, disp: places[slot] };
                address.args.push(start);
                func.dfg.replace_inst(inst, address);
            }
            func.layout.append_inst(block, inst);
        }
    }
    run(func);
    Changed(true)
}

/// Whether there are private variables, and pointers that are chosen.
fn has_candidates(func: &Function) -> bool {
    !func.slots.is_empty()
        && func.layout.blocks().iter().any(|&block| {
            let is_choice = |value: Value| is_pointer(func.dfg.ty(value));
            func.dfg.params(block).iter().any(|&param| is_choice(param))
                || func
                    .layout
                    .insts(block)
                    .iter()
                    .any(|&inst| func.dfg.inst(inst).op == Opcode::Select && is_choice(func.dfg.result(inst)))
        })
}

/// The variables that the pointers of a function point into.
struct Targets(Origins<Slot>);

impl Targets {
    fn find(func: &Function, meet: Meet) -> Targets {
        Targets(Origins::find(func, meet, |value| {
            let data = func.dfg.def_inst(value).map(|inst| func.dfg.inst(inst))?;
            match (data.op, &data.imm) {
                (Opcode::SlotAddr, &Imm::Slot(slot)) => Some(slot),
                _ => None,
            }
        }))
    }

    fn slot(&self, value: Value) -> Option<Slot> {
        self.0.of(value)
    }

    /// The pointers of a function that are chosen: parameters and results of `select`.
    fn choices<'f>(&self, func: &'f Function) -> impl Iterator<Item = Value> + use<'f> {
        func.layout.blocks().iter().flat_map(|&block| {
            let selects = func.layout.insts(block).iter().filter(|&&inst| func.dfg.inst(inst).op == Opcode::Select);
            let chosen = selects.map(|&inst| func.dfg.result(inst));
            func.dfg.params(block).iter().copied().chain(chosen).filter(|&value| is_pointer(func.dfg.ty(value)))
        })
    }

    /// The two pointers into one variable that an instruction compares or subtracts.
    fn compared(&self, func: &Function, inst: Inst) -> Option<[Value; 2]> {
        let data = func.dfg.inst(inst);
        if !matches!(data.op, Opcode::Icmp | Opcode::Isub) {
            return None;
        }
        let [a, b] = *data.args.as_slice() else { return None };
        let pointer = |value: Value| {
            let cast = func.dfg.def_inst(value).map(|inst| func.dfg.inst(inst));
            match cast {
                Some(cast) if cast.op == Opcode::PtrToInt && func.dfg.ty(value) == Type::I64 => cast.args[0],
                _ => value,
            }
        };
        let [a, b] = [pointer(a), pointer(b)];
        (self.slot(a).is_some() && self.slot(a) == self.slot(b)).then_some([a, b])
    }

    /// The pointers whose offsets are needed.
    fn needed_offsets(&self, func: &Function) -> EntitySet<Value> {
        let mut needed = EntitySet::new();
        let mut worklist: Vec<Value> = Vec::new();
        for &block in func.layout.blocks() {
            for &inst in func.layout.insts(block) {
                worklist.extend(self.compared(func, inst).into_iter().flatten());
                for &BlockCall { block, ref args } in func.dfg.targets(inst) {
                    let params = func.dfg.params(block).iter();
                    worklist.extend(
                        params.zip(args).filter(|&(&param, _)| self.slot(param).is_some()).map(|(_, &arg)| arg),
                    );
                }
            }
        }
        worklist.extend(self.choices(func).filter(|&value| self.slot(value).is_some()));
        while let Some(value) = worklist.pop() {
            if needed.insert(value)
                && let ValueDef::Result(inst, _) = func.dfg.def(value)
            {
                worklist.extend(sources(func, inst));
            }
        }
        needed
    }
}

struct Rewriter {
    targets: Targets,
    needed: EntitySet<Value>,
    /// The distances in bytes of pointers from the start of their variable.
    offsets: Counterparts,
}

impl Rewriter {
    fn run(&mut self, func: &mut Function) {
        let mut replacements = Replacements::default();
        for block in Cfg::new(func).rpo().to_vec() {
            let insts = func.layout.take_insts(block);
            let mut b = Builder::at_end(func, block);
            b.set_loc(insts.first().map(|&inst| b.func.locs[inst]).unwrap_or_default());
            for &param in self.offsets.params(block) {
                replacements.set(param, self.pointer(&mut b, param));
            }
            for inst in insts {
                if let Some([left, right]) = self.targets.compared(func, inst) {
                    self.compare(func, inst, left, right);
                }
                func.layout.append_inst(block, inst);
                self.offsets.pass_on(func, inst);
                let Some(result) = func.dfg.single_result(inst).filter(|&result| self.needed.contains(result)) else {
                    continue;
                };
                let loc = func.locs[inst];
                let mut b = Builder::at_end(func, block);
                b.set_loc(loc);
                let offset = self.computed(&mut b, inst);
                self.offsets.set(result, offset);
                if b.func.dfg.inst(inst).op == Opcode::Select && self.targets.slot(result).is_some() {
                    replacements.set(result, self.pointer(&mut b, result));
                }
            }
        }
        replacements.apply(func);
        // Of the parameters that were pointers.
        dce::run(func);
    }

    /// A pointer by its offset.
    fn pointer(&self, b: &mut Builder<'_>, old: Value) -> Value {
        let ty = b.ty(old);
        let Some(slot) = self.targets.slot(old) else { unreachable!("broken invariant: {old} may point anywhere") };
        let start = b.slot_addr(slot);
        let pointer = b.addr(start, Some(self.offsets.get(old)), 1, 0);
        if b.ty(pointer) == ty { pointer } else { b.cast(Opcode::SpaceCast, pointer, ty) }
    }

    /// The offset of the pointer that an instruction computes: 0 if the result is the variable's own address.
    fn computed(&self, b: &mut Builder<'_>, inst: Inst) -> Value {
        match Derivation::of(b.func, inst) {
            Some(Derivation::Address { base, index, scale, disp }) => {
                let mut offset = self.offsets.get(base);
                if let Some(index) = index {
                    let scale = b.iconst(Type::I64, scale as i64);
                    let distance = b.int2(Opcode::Imul, index, scale);
                    offset = b.int2(Opcode::Iadd, offset, distance);
                }
                let disp = b.iconst(Type::I64, disp);
                b.int2(Opcode::Iadd, offset, disp)
            }
            Some(Derivation::Choice { cond, then, otherwise }) => {
                b.select(cond, self.offsets.get(then), self.offsets.get(otherwise))
            }
            Some(Derivation::Cast(pointer)) => self.offsets.get(pointer),
            None => b.iconst(Type::I64, 0),
        }
    }

    /// Makes an instruction compare or subtract the offsets of two pointers. Addresses are unsigned, offsets may be negative.
    fn compare(&self, func: &mut Function, inst: Inst, left: Value, right: Value) {
        let operands = [self.offsets.get(left), self.offsets.get(right)];
        let data = func.dfg.inst_mut(inst);
        data.args.copy_from_slice(&operands);
        if let Imm::IntCond(cond) = &mut data.imm {
            *cond = match *cond {
                IntCond::Ult => IntCond::Slt,
                IntCond::Ule => IntCond::Sle,
                IntCond::Ugt => IntCond::Sgt,
                IntCond::Uge => IntCond::Sge,
                same @ (IntCond::Eq | IntCond::Ne | IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge) => same,
            };
        }
    }
}
