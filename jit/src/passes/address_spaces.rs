//! Pointers to the generic address space whose space is known become pointers to that space: casts move behind the computation of
//! addresses, parameters and choices of a `select` get the space that all pointers they come from have, and accesses use it.
//!
//! ```text
//! p: ptr(generic) = spacecast q           p = addr q, i
//! r: ptr(generic) = addr p, i       ->    x = load p
//! x = load r
//! ```
//!
//! From OpenCL C 2.0 on, a pointer without an address space is generic, also that of a function's parameter. What is known of
//! private variables, and of the memory of arguments, is lost behind such a pointer.
//!
//! Deliberately not here: generic pointers that are loaded from memory, and those of functions that are called.

use clift_kir::analysis::Cfg;
use clift_kir::ops::OpClass;
use clift_kir::{Builder, Elem, Function, Inst, Opcode, Space, Type, Value};
use cranelift_entity::SecondaryMap;

use super::origins::{Counterparts, Meet, Origins, is_pointer, remove_unreached_blocks};
use super::util::Replacements;
use super::{Changed, dce};

pub(super) fn run(func: &mut Function) -> Changed {
    if !pointers(func).any(|value| is_generic(func, value)) {
        return Changed(false);
    }
    remove_unreached_blocks(func);
    let origins = Origins::find(func, Meet::Equal, |value| {
        func.dfg.ty(value).elem.space().filter(|&space| space != Space::Generic)
    });
    let known: SecondaryMap<Value, Option<Space>> =
        pointers(func).filter(|&value| is_generic(func, value)).fold(SecondaryMap::new(), |mut known, value| {
            known[value] = origins.of(value);
            known
        });
    if !is_worth_it(func, &known) {
        return Changed(false);
    }
    let twins = Counterparts::of_params(func, |func, param| twin_type(func, param, known[param]?).into());
    Rewriter { known, twins }.run(func);
    Changed(true)
}

/// The pointers of a function.
fn pointers(func: &Function) -> impl Iterator<Item = Value> {
    func.layout.blocks().iter().flat_map(|&block| {
        let results = func.layout.insts(block).iter().flat_map(|&inst| func.dfg.results(inst));
        func.dfg.params(block).iter().chain(results).copied().filter(|&value| is_pointer(func.dfg.ty(value)))
    })
}

fn is_generic(func: &Function, value: Value) -> bool {
    func.dfg.ty(value).elem.space() == Some(Space::Generic)
}

/// Whether a generic pointer of a known space is more than a cast that something else uses.
fn is_worth_it(func: &Function, known: &SecondaryMap<Value, Option<Space>>) -> bool {
    let insts = || func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)).copied();
    let computes = |inst: Inst| {
        matches!(func.dfg.inst(inst).op, Opcode::Addr | Opcode::Select)
            && func.dfg.single_result(inst).is_some_and(|result| known[result].is_some())
    };
    let accesses = |inst: Inst| addresses(func, inst).any(|at| known[func.dfg.inst(inst).args[at]].is_some());
    let params = || func.layout.blocks().iter().flat_map(|&block| func.dfg.params(block));
    insts().any(|inst| computes(inst) || accesses(inst)) || params().any(|&param| known[param].is_some())
}

/// The operands of an instruction that are addresses of accesses.
fn addresses(func: &Function, inst: Inst) -> impl Iterator<Item = usize> {
    let data = func.dfg.inst(inst);
    let count = match data.op.class() {
        OpClass::Memory(_) if data.op == Opcode::Memcpy => 2,
        OpClass::Memory(_) => 1,
        OpClass::Leaf(_)
        | OpClass::Int(_)
        | OpClass::Float(_)
        | OpClass::Convert(_)
        | OpClass::Lane(_)
        | OpClass::Address(_)
        | OpClass::Sync(_)
        | OpClass::Image(_)
        | OpClass::Query(_)
        | OpClass::Collective(_)
        | OpClass::Call(_)
        | OpClass::Terminator(_) => 0,
    };
    (0..count).filter(|&at| data.args.get(at).is_some_and(|&arg| is_pointer(func.dfg.ty(arg))))
}

/// The type of the pointer to a space that takes the place of a generic one.
fn twin_type(func: &Function, value: Value, space: Space) -> Type {
    func.dfg.ty(value).with_elem(Elem::Ptr(space))
}

struct Rewriter {
    /// The spaces of generic pointers.
    known: SecondaryMap<Value, Option<Space>>,
    /// The pointers to these spaces.
    twins: Counterparts,
}

impl Rewriter {
    fn run(&mut self, func: &mut Function) {
        let mut replacements = Replacements::default();
        for block in Cfg::new(func).rpo().to_vec() {
            let insts = func.layout.take_insts(block);
            let mut b = Builder::at_end(func, block);
            b.set_loc(insts.first().map(|&inst| b.func.locs[inst]).unwrap_or_default());
            for &param in self.twins.params(block) {
                let ty = b.ty(param);
                replacements.set(param, b.cast(Opcode::SpaceCast, self.twins.get(param), ty));
            }
            for inst in insts {
                let loc = func.locs[inst];
                let mut b = Builder::at_end(func, block);
                b.set_loc(loc);
                if let Some(result) = b.func.dfg.single_result(inst)
                    && let Some(twin) = self.known[result].and_then(|space| self.computed(&mut b, inst, space))
                {
                    self.twins.set(result, twin);
                    let ty = b.ty(result);
                    let cast = b.cast(Opcode::SpaceCast, twin, ty);
                    replacements.set(result, cast);
                    continue;
                }
                for at in addresses(func, inst).collect::<Vec<_>>() {
                    if let Some(twin) = self.twins.find(func.dfg.inst(inst).args[at]) {
                        func.dfg.inst_mut(inst).args[at] = twin;
                    }
                }
                func.layout.append_inst(block, inst);
                self.twins.pass_on(func, inst);
            }
        }
        replacements.apply(func);
        // Of the generic pointers and parameters.
        dce::run(func);
    }

    /// The pointer to the known space of the generic one that an instruction computes.
    fn computed(&self, b: &mut Builder<'_>, inst: Inst, space: Space) -> Option<Value> {
        let ty = twin_type(b.func, b.func.dfg.result(inst), space);
        // A pointer to a space is its own.
        let of = |value: Value| self.twins.find(value).unwrap_or(value);
        let mut data = b.func.dfg.inst(inst).clone();
        match (data.op, data.args.as_mut_slice()) {
            (Opcode::SpaceCast, &mut [source]) => return Some(of(source)),
            (Opcode::Addr, [base, ..]) => *base = of(*base),
            (Opcode::Select, [_, then, otherwise]) => (*then, *otherwise) = (of(*then), of(*otherwise)),
            _ => return None,
        }
        Some(b.value(data.op, &data.args, data.imm, ty))
    }
}
