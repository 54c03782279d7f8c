//! Scattered accesses: what they go to, and where their addresses come from.

use std::collections::VecDeque;

use clift_kir::{Function, Global, Imm, Loc, Module, Opcode, Space, Value};
use rustc_hash::FxHashSet;

use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::{Scope, Shape};
use crate::target::machine::Machine;

/// How many values are looked at to explain one address.
const MAX_VALUES: usize = 200;

/// An access of a pack that is not, or not always, contiguous.
#[derive(Clone, Debug)]
pub struct Access {
    /// The place in the source.
    pub loc: Loc,
    /// What it goes to.
    pub object: Object,
    /// Whether that is a private variable.
    pub private: bool,
    /// Why the lanes' addresses are not neighbours.
    pub cause: Cause,
}

/// An argument or variable, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// Its name in the source.
    pub name: Option<String>,
    /// The module's variable that it is. Its name is in the module.
    pub(super) global: Option<Global>,
}

impl Object {
    fn at(func: &Function, root: Value) -> Object {
        let global = func
            .dfg
            .def_inst(root)
            .and_then(|inst| if let Imm::Global(global) = func.dfg.inst(inst).imm { Some(global) } else { None });
        Object { name: func.names.get(&root).cloned(), global }
    }

    /// Whether it is a constant table that packs keep in registers.
    pub(super) fn is_table(&self, module: &Module, machine: &Machine) -> bool {
        let fits = |global: Global| {
            let data = &module.globals[global];
            let is_constant = data.space == Space::Constant && data.init.addresses.is_empty();
            is_constant && data.size <= u64::from(machine.table_bytes())
        };
        self.global.is_some_and(fits)
    }

    fn find_name(&mut self, module: &Module) {
        self.name = self.name.take().or_else(|| self.global.map(|global| module.globals[global].name.clone()));
    }
}

/// Why the addresses of a pack's lanes are not neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// They are so many bytes apart.
    Stride(i64),
    /// They are computed from what was read from memory.
    Loaded {
        /// What was read.
        from: Object,
        /// Where.
        loc: Loc,
    },
    /// They are computed in a way that hides their distance.
    Computed,
}

impl Access {
    /// Explains an access through a pointer.
    pub(in crate::spmd) fn new(func: &Function, divergence: &Divergence, pointer: Value, loc: Loc) -> Access {
        let root = root(func, pointer);
        let cause = match divergence.shape(pointer) {
            Shape::Affine { stride, .. } => Cause::Stride(stride),
            Shape::Uniform(_) | Shape::Varying => loaded(func, divergence, pointer).unwrap_or(Cause::Computed),
        };
        let private = func.dfg.ty(root).elem.space() == Some(Space::Private);
        Access { loc, object: Object::at(func, root), private, cause }
    }

    /// Finds the names of the module's variables.
    pub(super) fn find_names(&mut self, module: &Module) {
        self.object.find_name(module);
        match &mut self.cause {
            Cause::Loaded { from, .. } => from.find_name(module),
            Cause::Stride(_) | Cause::Computed => {}
        }
    }
}

/// The address from which a pointer is computed.
fn root(func: &Function, pointer: Value) -> Value {
    let mut at = pointer;
    for _ in 0..MAX_VALUES {
        let Some(inst) = func.dfg.def_inst(at) else { break };
        let data = func.dfg.inst(inst);
        if !matches!(data.op, Opcode::Addr | Opcode::SpaceCast) {
            break;
        }
        at = data.args[0];
    }
    at
}

/// The nearest load on which a pointer depends and whose results differ between lanes.
fn loaded(func: &Function, divergence: &Divergence, pointer: Value) -> Option<Cause> {
    let mut waiting = VecDeque::from([pointer]);
    let mut seen = FxHashSet::default();
    while let Some(value) = waiting.pop_front() {
        if seen.len() == MAX_VALUES || divergence.shape(value).is_uniform(Scope::Pack) || !seen.insert(value) {
            continue;
        }
        let Some(inst) = func.dfg.def_inst(value) else { continue };
        let data = func.dfg.inst(inst);
        if data.op == Opcode::Load {
            let from = Object::at(func, root(func, data.args[0]));
            return Some(Cause::Loaded { from, loc: func.locs[inst] });
        }
        waiting.extend(data.args.iter().copied());
    }
    None
}
