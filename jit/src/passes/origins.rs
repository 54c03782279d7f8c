//! Where pointers come from: a variable or an address space that all ways to a pointer have in common; and values that take the
//! places of such pointers, parameters among them.

use clift_kir::analysis::Cfg;
use clift_kir::{Block, BlockCall, Function, Imm, Inst, Opcode, Type, Value};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use smallvec::{SmallVec, smallvec};

use super::simplify_cfg;

/// What is known of a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin<T> {
    /// Nothing so far.
    Unknown,
    /// It comes from here, on all ways that have been looked at (with [`Meet::Join`] from here or from where a pair says).
    From(T),
    /// It may come from anywhere.
    Anywhere,
}

/// What becomes of a pointer with two origins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meet {
    /// It may come from anywhere.
    Equal,
    /// They are noted as a pair.
    Join,
}

/// The origins of the pointers of a function.
pub(super) struct Origins<T: Copy> {
    of: SecondaryMap<Value, Origin<T>>,
    meet: Meet,
    /// Pointers with two origins.
    pub(super) pairs: Vec<(Value, T, T)>,
}

impl<T: Copy + PartialEq> Origins<T> {
    /// Finds the origins; `root` gives those of pointers that are origins themselves.
    pub(super) fn find(func: &Function, meet: Meet, root: impl Fn(Value) -> Option<T>) -> Origins<T> {
        let mut origins = Origins { of: SecondaryMap::with_default(Origin::Unknown), meet, pairs: Vec::new() };
        let cfg = Cfg::new(func);
        for &param in func.layout.entry().iter().flat_map(|&entry| func.dfg.params(entry)) {
            origins.of[param] = root(param).map_or(Origin::Anywhere, Origin::From);
        }
        // Each round can only lower what is known.
        let mut changed = true;
        while changed {
            changed = false;
            for &block in cfg.rpo() {
                for &inst in func.layout.insts(block) {
                    for &result in func.dfg.results(inst).iter().filter(|&&result| is_pointer(func.dfg.ty(result))) {
                        let sources = sources(func, inst);
                        if let Some(root) = root(result) {
                            changed |= origins.lower(result, Origin::From(root));
                        } else if sources.is_empty() {
                            changed |= origins.lower(result, Origin::Anywhere);
                        } else {
                            for source in sources {
                                changed |= origins.lower(result, origins.of[source]);
                            }
                        }
                    }
                    for &BlockCall { block, ref args } in func.dfg.targets(inst) {
                        for (&param, &arg) in func.dfg.params(block).iter().zip(args) {
                            if is_pointer(func.dfg.ty(param)) {
                                let origin = root(param).map_or(origins.of[arg], Origin::From);
                                changed |= origins.lower(param, origin);
                            }
                        }
                    }
                }
            }
        }
        origins
    }

    /// Notes that a pointer may also have another origin.
    fn lower(&mut self, value: Value, also: Origin<T>) -> bool {
        let new = match (self.of[value], also) {
            (old, Origin::Unknown) => old,
            (Origin::Unknown, also) => also,
            (Origin::From(a), Origin::From(b)) if a == b => Origin::From(a),
            (Origin::From(a), Origin::From(b)) if self.meet == Meet::Join => {
                if !self.pairs.contains(&(value, a, b)) {
                    self.pairs.push((value, a, b));
                }
                Origin::From(a)
            }
            (Origin::From(_) | Origin::Anywhere, _) => Origin::Anywhere,
        };
        let changed = new != self.of[value];
        self.of[value] = new;
        changed
    }

    /// The origin of a pointer, if there is one.
    pub(super) fn of(&self, value: Value) -> Option<T> {
        match self.of[value] {
            Origin::From(origin) => Some(origin),
            Origin::Unknown | Origin::Anywhere => None,
        }
    }
}

/// Whether a type is that of one pointer.
pub(super) fn is_pointer(ty: Type) -> bool {
    ty.is_ptr() && !ty.is_vector()
}

/// How an instruction computes a pointer that has the origin of others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Derivation {
    /// `base + index * scale + disp`
    Address { base: Value, index: Option<Value>, scale: u64, disp: i64 },
    /// The same pointer in another address space.
    Cast(Value),
    /// One of two pointers.
    Choice { cond: Value, then: Value, otherwise: Value },
}

impl Derivation {
    /// How an instruction computes its result from pointers, if it does.
    pub(super) fn of(func: &Function, inst: Inst) -> Option<Derivation> {
        let data = func.dfg.inst(inst);
        match (data.op, &data.imm, data.args.as_slice()) {
            (Opcode::Addr, &Imm::Addr { scale, disp }, &[base, ref index @ ..]) => {
                Some(Derivation::Address { base, index: index.first().copied(), scale, disp })
            }
            (Opcode::SpaceCast, _, &[pointer]) => Some(Derivation::Cast(pointer)),
            (Opcode::Select, _, &[cond, then, otherwise]) => Some(Derivation::Choice { cond, then, otherwise }),
            _ => None,
        }
    }
}

/// The pointers that an instruction's result is computed from, if it has the origin that they have.
pub(super) fn sources(func: &Function, inst: Inst) -> SmallVec<[Value; 2]> {
    match Derivation::of(func, inst) {
        Some(Derivation::Address { base, .. }) => smallvec![base],
        Some(Derivation::Cast(pointer)) => smallvec![pointer],
        Some(Derivation::Choice { then, otherwise, .. }) => smallvec![then, otherwise],
        None => SmallVec::new(),
    }
}

/// Removes blocks that nothing reaches, so that each edge is visited with its source.
pub(super) fn remove_unreached_blocks(func: &mut Function) {
    let cfg = Cfg::new(func);
    if func.layout.blocks().iter().any(|&block| !cfg.reaches(block)) {
        simplify_cfg::run(func);
    }
}

/// Values that take the places of pointers: offsets, or pointers to another address space.
pub(super) struct Counterparts {
    of: SecondaryMap<Value, PackedOption<Value>>,
    /// By block, the parameters that have a counterpart.
    params: SecondaryMap<Block, Vec<Value>>,
}

impl Counterparts {
    /// Adds parameters beside those for which there is a type.
    pub(super) fn of_params(func: &mut Function, ty: impl Fn(&Function, Value) -> Option<Type>) -> Counterparts {
        let mut counterparts = Counterparts { of: SecondaryMap::new(), params: SecondaryMap::new() };
        for block in func.layout.blocks().to_vec() {
            for param in func.dfg.params(block).to_vec() {
                if let Some(ty) = ty(func, param) {
                    counterparts.of[param] = Some(func.dfg.append_param(block, ty)).into();
                    counterparts.params[block].push(param);
                }
            }
        }
        counterparts
    }

    /// The counterpart of a pointer, if it has one.
    pub(super) fn find(&self, pointer: Value) -> Option<Value> {
        self.of[pointer].expand()
    }

    /// The counterpart of a pointer that has one.
    pub(super) fn get(&self, pointer: Value) -> Value {
        self.find(pointer).unwrap_or_else(|| unreachable!("broken invariant: {pointer} without a counterpart"))
    }

    /// Sets the counterpart of a result.
    pub(super) fn set(&mut self, pointer: Value, counterpart: Value) {
        self.of[pointer] = counterpart.into();
    }

    /// The parameters of a block that have a counterpart.
    pub(super) fn params(&self, block: Block) -> &[Value] {
        &self.params[block]
    }

    /// Passes on the counterparts of what a terminator passes to such parameters.
    pub(super) fn pass_on(&self, func: &mut Function, terminator: Inst) {
        let passed: Vec<Vec<Value>> = func
            .dfg
            .targets(terminator)
            .iter()
            .map(|target| {
                let pairs = func.dfg.params(target.block).iter().zip(&target.args);
                let pointers = pairs.filter(|(param, _)| self.params[target.block].contains(param));
                pointers.map(|(_, &arg)| self.get(arg)).collect()
            })
            .collect();
        for (target, passed) in func.dfg.targets_mut(terminator).into_iter().zip(passed) {
            target.args.extend(passed);
        }
    }
}
