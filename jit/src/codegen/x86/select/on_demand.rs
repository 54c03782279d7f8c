//! Scalars that are selected at their first use rather than where they are defined.
//!
//! Lane-by-lane accesses take a vector of indices apart, compute an address for each lane, and join what they load. In the order
//! of the function all addresses come first, and fill the scalar registers. Selected on demand, each lane needs one or two. The
//! same holds for addresses that pass through the stack (`legalize/forwarding.rs`).
//!
//! A deferred instruction computes a scalar from a lane of a vector, or loads an address from the stack, and all its uses are
//! in its block, by instructions that ask for their operands before anything else: others become several blocks of machine
//! code, of which one may ask first.

use clift_kir::analysis::UseCounts;
use clift_kir::{Block, Effects, Function, Imm, Inst, Opcode, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

use super::{RegMem, Selector};

/// The deferred instructions of a function.
pub(super) fn deferred(func: &Function, uses: &UseCounts) -> EntitySet<Inst> {
    let mut search = Search { func, uses, places: SecondaryMap::new(), found: EntitySet::new() };
    search.every_inst(Search::define);
    search.every_inst(Search::check_uses);
    search.found
}

/// Where an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    block: Block,
    /// How many instructions of the block before it may write memory.
    writes: u32,
}

struct Search<'a> {
    func: &'a Function,
    uses: &'a UseCounts,
    places: SecondaryMap<Inst, Option<Place>>,
    found: EntitySet<Inst>,
}

impl Search<'_> {
    fn every_inst(&mut self, mut visit: impl FnMut(&mut Self, Inst, Place)) {
        for &block in self.func.layout.blocks() {
            let mut place = Place { block, writes: 0 };
            for &inst in self.func.layout.insts(block) {
                visit(self, inst, place);
                match self.func.dfg.inst(inst).op.info().effects {
                    Effects::Pure | Effects::Read => {}
                    Effects::Write | Effects::ReadWrite | Effects::Convergent | Effects::Terminator => {
                        place.writes += 1;
                    }
                }
            }
        }
    }

    fn define(&mut self, inst: Inst, place: Place) {
        self.places[inst] = Some(place);
        if self.is_from_lane(inst) {
            self.found.insert(inst);
        }
    }

    /// Whether an instruction extracts a lane, or computes a scalar from one.
    fn is_from_lane(&self, inst: Inst) -> bool {
        let dfg = &self.func.dfg;
        let data = dfg.inst(inst);
        let Some(result) = dfg.single_result(inst) else { return false };
        let ty = dfg.ty(result);
        if ty.is_vector() || ty.is_bool() || ty.elem.is_float() && data.op != Opcode::Load {
            return false;
        }
        let found = |value: &Value| dfg.def_inst(*value).is_some_and(|def| self.found.contains(def));
        if matches!(data.op, Opcode::Zext | Opcode::Sext | Opcode::Itrunc | Opcode::IntToPtr) {
            found(&data.args[0])
        } else if matches!(data.op, Opcode::Shl | Opcode::Lshr | Opcode::Ashr) {
            found(&data.args[0]) && dfg.as_const(data.args[1]).is_some()
        } else if data.op == Opcode::Addr {
            data.args.iter().any(found)
        } else if data.op == Opcode::Load {
            let volatile = matches!(data.imm, Imm::Mem(mem) if mem.volatile);
            // Bytes at addresses from the stack are faster by way of scalar registers (Zen 4: brackets, 0.57 and 0.80 ms).
            let is_address = ty.is_ptr() && self.is_on_stack(data.args[0]);
            let is_at_address = dfg.def_inst(data.args[0]).is_some_and(|def| dfg.inst(def).op == Opcode::Load);
            let may_wait = is_address || found(&data.args[0]) && (ty.elem.is_float() || !is_at_address);
            may_wait && !volatile && self.uses.get(result) == 1
        } else {
            data.op == Opcode::Extract
        }
    }

    /// Whether an address has a constant distance from a variable on the stack.
    fn is_on_stack(&self, address: Value) -> bool {
        let dfg = &self.func.dfg;
        let Some(data) = dfg.def_inst(address).map(|def| dfg.inst(def)) else { return false };
        data.op == Opcode::SlotAddr || data.op == Opcode::Addr && data.args.len() == 1 && self.is_on_stack(data.args[0])
    }

    /// Keeps those deferred instructions only whose results the instruction may ask for.
    fn check_uses(&mut self, inst: Inst, place: Place) {
        let (dfg, op) = (&self.func.dfg, self.func.dfg.inst(inst).op);
        let asks_first =
            self.found.contains(inst) || matches!(op, Opcode::Vec | Opcode::Load | Opcode::Store | Opcode::Addr);
        dfg.for_each_use(inst, |value| {
            let Some(def) = dfg.def_inst(value).filter(|&def| self.found.contains(def)) else { return };
            let may_ask = match (dfg.inst(def).op == Opcode::Load, self.places[def]) {
                (true, at) => {
                    let asks_for_addresses = matches!(op, Opcode::Load | Opcode::Store) && dfg.ty(value).is_ptr();
                    (op == Opcode::Vec || asks_for_addresses) && at == Some(place)
                }
                (false, at) => asks_first && at.is_some_and(|at| at.block == place.block),
            };
            if !may_ask {
                self.found.remove(def);
            }
        });
    }
}

impl Selector<'_> {
    /// Selects the instruction that defines a value, if that was deferred until now.
    pub(super) fn demand(&mut self, value: Value) {
        if let Some(def) = self.waiting(value) {
            let loc = std::mem::replace(&mut self.loc, self.legal.locs[def]);
            self.inst(def);
            self.loc = loc;
        }
    }

    /// The instruction that defines a value, if it is deferred and was not selected yet.
    fn waiting(&self, value: Value) -> Option<Inst> {
        let def = self.legal.dfg.def_inst(value)?;
        (self.values[value].is_none() && self.deferred.contains(def)).then_some(def)
    }

    /// An element of a vector that is made of scalars: in memory if its load was deferred.
    pub(super) fn element(&mut self, value: Value) -> RegMem {
        match self.waiting(value).map(|def| (def, self.legal.dfg.inst(def))) {
            Some((def, data)) if data.op == Opcode::Load => {
                // Faults are reported for the line of the load.
                self.loc = self.legal.locs[def];
                RegMem::Memory(self.address(data.args[0]))
            }
            Some(_) | None => RegMem::Register(self.get(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use clift_kir::analysis::UseCounts;
    use clift_kir::text;

    /// The names of the deferred instructions of a function with the vector of indices `v0` and the table `v1`.
    fn deferred(body: &str) -> String {
        let text = format!("function f0 \"f\" legal {{\nb0(v0: i32x4, v1: ptr(global)):\n{body}\n}}\n");
        let module = text::parse_module(&text).unwrap_or_else(|error| panic!("{error}"));
        let Some(func) = module.funcs.values().next() else { panic!("no function") };
        let found = super::deferred(func, &UseCounts::new(func));
        let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
        let names: Vec<&str> =
            insts.filter(|&&inst| found.contains(inst)).map(|&inst| func.dfg.inst(inst).op.info().name).collect();
        names.join(" ")
    }

    const TWO_LANES: &str = "
    v2: i32 = extract 0 v0
    v3: i64 = zext v2
    v4: ptr(global) = addr scale 4 v1, v3
    v5: i32 = extract 1 v0
    v6: i64 = zext v5
    v7: ptr(global) = addr scale 4 v1, v6
    v8: i32 = load align 4 v4";

    #[test]
    fn lanes_and_loads_wait_for_the_vector() {
        let gather =
            format!("{TWO_LANES}\nv9: i32 = load align 4 v7\nv10: i32x2 = vec v8, v9\nstore align 8 v1, v10\nret");
        assert_eq!(deferred(&gather), "extract zext addr extract zext addr load load");
    }

    #[test]
    fn loads_do_not_wait_past_a_store() {
        let stored = format!(
            "{TWO_LANES}\nstore align 4 v1, v2\nv9: i32 = load align 4 v7\nv10: i32x2 = vec v8, v9\nstore align 8 v1, v10\nret"
        );
        assert_eq!(deferred(&stored), "extract zext addr extract zext addr load");
    }

    #[test]
    fn values_of_other_blocks_do_not_wait() {
        let elsewhere = format!("{TWO_LANES}\njump b1\nb1:\nstore align 4 v7, v8\nstore align 4 v1, v2\nret");
        assert_eq!(deferred(&elsewhere), "zext addr extract zext");
    }
}
