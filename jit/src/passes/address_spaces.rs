//! Pointers to the generic address space whose space is known become pointers to that space: casts move behind the computation of
//! addresses, parameters and choices of a `select` get the space that all pointers they come from have, and accesses use it.
//!
//! ```text
//! p: ptr(generic) = spacecast q           p = addr q, i
//! r: ptr(generic) = addr p, i       ->    x = load p
//! x = load r
//! ```
//!
//! From OpenCL C 2.0 on, a pointer without an address space is generic, also that of a function's parameter. What is known of private
//! variables, and of the memory of arguments, is lost behind such a pointer.
//!
//! Deliberately not here: generic pointers that are loaded from memory, and those of functions that are called.

use clift_kir::analysis::Cfg;
use clift_kir::ops::OpClass;
use clift_kir::{Block, Builder, Elem, Function, Inst, Opcode, Space, Type, Value};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

use super::origins::{Meet, Origins, is_pointer};
use super::util::Replacements;
use super::{Changed, dce, simplify_cfg};

pub(super) fn run(func: &mut Function) -> Changed {
    let cfg = Cfg::new(func);
    if !pointers(func).any(|value| is_generic(func, value)) {
        return Changed(false);
    }
    if func.layout.blocks().iter().any(|&block| !cfg.reaches(block)) {
        simplify_cfg::run(func);
    }
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
    Rewriter { known, twins: SecondaryMap::new() }.run(func);
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

struct Rewriter {
    /// The spaces of generic pointers.
    known: SecondaryMap<Value, Option<Space>>,
    /// The pointers to these spaces.
    twins: SecondaryMap<Value, PackedOption<Value>>,
}

impl Rewriter {
    fn run(&mut self, func: &mut Function) {
        let order = Cfg::new(func).rpo().to_vec();
        let params: SecondaryMap<Block, Vec<Value>> = order.iter().fold(SecondaryMap::new(), |mut of, &block| {
            let params = func.dfg.params(block).iter().copied();
            of[block] = params.filter(|&param| self.known[param].is_some()).collect();
            of
        });
        for &block in &order {
            for &param in &params[block] {
                self.twins[param] = Some(func.dfg.append_param(block, self.twin_type(func, param))).into();
            }
        }
        let mut replacements = Replacements::default();
        for &block in &order {
            let insts = func.layout.take_insts(block);
            let mut b = Builder::at_end(func, block);
            b.set_loc(insts.first().map(|&inst| b.func.locs[inst]).unwrap_or_default());
            for &param in &params[block] {
                let ty = b.ty(param);
                replacements.set(param, b.cast(Opcode::SpaceCast, self.twin(param), ty));
            }
            for inst in insts {
                let loc = func.locs[inst];
                let mut b = Builder::at_end(func, block);
                b.set_loc(loc);
                let result = b.func.dfg.single_result(inst).filter(|&result| self.known[result].is_some());
                if let Some(result) = result
                    && let Some(twin) = self.computed(&mut b, inst, result)
                {
                    self.twins[result] = twin.into();
                    let ty = b.ty(result);
                    let cast = b.cast(Opcode::SpaceCast, twin, ty);
                    replacements.set(result, cast);
                    continue;
                }
                for at in addresses(func, inst).collect::<Vec<_>>() {
                    if let Some(twin) = self.twins[func.dfg.inst(inst).args[at]].expand() {
                        func.dfg.inst_mut(inst).args[at] = twin;
                    }
                }
                func.layout.append_inst(block, inst);
                self.pass_twins(func, inst, &params);
            }
        }
        replacements.apply(func);
        // Of the generic pointers and parameters.
        dce::run(func);
    }

    fn twin_type(&self, func: &Function, value: Value) -> Type {
        let Some(space) = self.known[value] else { unreachable!("broken invariant: {value} is generic") };
        func.dfg.ty(value).with_elem(Elem::Ptr(space))
    }

    /// The pointer to the known space of a generic one.
    fn twin(&self, value: Value) -> Value {
        self.twins[value].expand().unwrap_or_else(|| unreachable!("broken invariant: {value} has no space yet"))
    }

    /// The pointer to the known space of the generic one that an instruction computes.
    fn computed(&self, b: &mut Builder<'_>, inst: Inst, result: Value) -> Option<Value> {
        let ty = self.twin_type(b.func, result);
        // A pointer to a space is its own.
        let of = |value: Value| self.twins[value].expand().unwrap_or(value);
        let mut data = b.func.dfg.inst(inst).clone();
        match (data.op, data.args.as_mut_slice()) {
            (Opcode::SpaceCast, &mut [source]) => return Some(of(source)),
            (Opcode::Addr, [base, ..]) => *base = of(*base),
            (Opcode::Select, [_, then, otherwise]) => (*then, *otherwise) = (of(*then), of(*otherwise)),
            _ => return None,
        }
        Some(b.value(data.op, &data.args, data.imm, ty))
    }

    /// Passes on the pointers to known spaces that a terminator passes on.
    fn pass_twins(&self, func: &mut Function, inst: Inst, params: &SecondaryMap<Block, Vec<Value>>) {
        let passed: Vec<Vec<Value>> = func
            .dfg
            .targets(inst)
            .iter()
            .map(|target| {
                let pairs = func.dfg.params(target.block).iter().zip(&target.args);
                let pointers = pairs.filter(|(param, _)| params[target.block].contains(param));
                pointers.map(|(_, &arg)| self.twin(arg)).collect()
            })
            .collect();
        for (target, passed) in func.dfg.targets_mut(inst).into_iter().zip(passed) {
            target.args.extend(passed);
        }
    }
}
