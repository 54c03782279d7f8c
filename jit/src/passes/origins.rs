//! Where pointers come from: a variable or an address space that all ways to a pointer have in common.

use clift_kir::analysis::Cfg;
use clift_kir::{BlockCall, Function, Inst, Opcode, Type, Value};
use cranelift_entity::SecondaryMap;
use smallvec::{SmallVec, smallvec};

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

/// The pointers that an instruction's result is computed from, if it has the origin that they have.
pub(super) fn sources(func: &Function, inst: Inst) -> SmallVec<[Value; 2]> {
    let data = func.dfg.inst(inst);
    match (data.op, data.args.as_slice()) {
        (Opcode::Addr | Opcode::SpaceCast, &[base, ..]) => smallvec![base],
        (Opcode::Select, &[_, then, otherwise]) => smallvec![then, otherwise],
        _ => SmallVec::new(),
    }
}
