//! Values of a region: those that it computes, and those that enter it from contexts or are computed again.

use clift_kir::inst::{Imm, InstData};
use clift_kir::ops::Opcode;
use clift_kir::ssa::Var;
use clift_kir::{Block, MemInfo, Value};

use super::{Loops, RegionBody, copy_name, from_memory};
use crate::spmd::analysis::shape::Scope;
use crate::spmd::workgroup::context::{Kept, memory_type, slot_align};

impl<'a> Loops<'a> {
    /// Records the copy of a value that is defined in the region.
    pub(super) fn define(&mut self, body: &mut RegionBody<'_>, block: Block, value: Value, copy: Value) {
        copy_name(self.regions, &mut self.env.out, value, copy);
        body.defined.insert(value, copy);
        if let Some(&var) = body.vars.get(&value) {
            self.ssa.define(var, body.blocks[&block], copy);
        }
    }

    /// The value that a live-in value has at the region's entry.
    pub(super) fn entering(&mut self, body: &mut RegionBody<'_>, value: Value) -> Value {
        if let Some(&entering) = body.entering.get(&value) {
            return entering;
        }
        let ty = self.regions.func.dfg.ty(value);
        let entering = match self.context.kept[value] {
            Some(Kept::Recomputed) => self.recompute(body, value),
            Some(Kept::Carried) => {
                let index = self.context.carried_into(body.id).position(|v| v == value);
                match index {
                    Some(index) => self.env.out.dfg.params(self.enter[body.id])[index],
                    None => unreachable!("broken invariant: {value} is not carried into its region"),
                }
            }
            Some(Kept::Shared(offset)) => {
                let address = self.env.shared_addr(offset);
                let mut b = self.env.at(self.enter[body.id]);
                let loaded = b.load(memory_type(ty), address, MemInfo::aligned(slot_align(ty)));
                from_memory(&mut b, loaded, ty)
            }
            Some(Kept::Slot(offset)) => {
                let record = self.env.record(&mut body.levels);
                let mut b = self.env.at(body.levels.item);
                let address = b.addr(record, None, 1, offset as i64);
                let loaded = b.load(memory_type(ty), address, MemInfo::aligned(slot_align(ty)));
                let loaded = from_memory(&mut b, loaded, ty);
                self.loaded.insert((body.id, offset), loaded);
                loaded
            }
            None => unreachable!("broken invariant: {value} is not live into its region"),
        };
        body.entering.insert(value, entering);
        entering
    }

    /// Recomputes a cheap value; before the loops if it is the same for the group.
    fn recompute(&mut self, body: &mut RegionBody<'_>, value: Value) -> Value {
        if let Some(&made) = body.entering.get(&value) {
            return made;
        }
        let func = &self.regions.func;
        let Some(inst) = func.dfg.def_inst(value) else {
            unreachable!("broken invariant: parameter {value} is recomputed")
        };
        let ty = func.dfg.ty(value);
        let data = func.dfg.inst(inst);
        let made = match self.env.known(&mut body.levels, data.op, &data.imm, ty) {
            Some(known) => known,
            None => {
                let args: Vec<Value> = data.args.iter().map(|&arg| self.recompute(body, arg)).collect();
                let shared = self.regions.divergence.shape(value).is_uniform(Scope::Group);
                let at = if shared { self.enter[body.id] } else { body.levels.item };
                let imm = self.imm(&data.imm);
                let mut b = self.env.at(at);
                b.set_loc(func.locs[inst]);
                let made = b.value(data.op, &args, imm, ty);
                copy_name(self.regions, &mut self.env.out, value, made);
                made
            }
        };
        body.entering.insert(value, made);
        made
    }

    /// Converts an immediate for the new function; constants are copied to its pool.
    pub(super) fn imm(&mut self, imm: &Imm) -> Imm {
        let mut imm = imm.clone();
        imm.copy_constant(&self.regions.func.dfg, &mut self.env.out.dfg);
        imm
    }

    /// The copy of an operand of an instruction in `block`.
    pub(super) fn operand(&mut self, body: &mut RegionBody<'_>, block: Block, value: Value) -> Value {
        if let Some(&var) = body.vars.get(&value) {
            if self.regions.func.def_block(value) == Some(block) {
                return body.defined[&value];
            }
            return self.at_start(var, body.blocks[&block], value);
        }
        if self.context.kept[value] == Some(Kept::Recomputed) && self.is_live_in(body, value) {
            return self.entering(body, value);
        }
        match body.defined.get(&value) {
            Some(&copy) => copy,
            None => self.entering(body, value),
        }
    }

    pub(super) fn is_live_in(&self, body: &RegionBody<'_>, value: Value) -> bool {
        body.entering.contains_key(&value) || self.context.live_into(body.id, value)
    }

    /// The placeholder for a variable's value at the start of a block.
    fn at_start(&mut self, var: Var, block: Block, like: Value) -> Value {
        let ty = self.regions.func.dfg.ty(like);
        let dfg = &mut self.env.out.dfg;
        *self.placeholders.entry((var, block)).or_insert_with(|| {
            let data = InstData { op: Opcode::Undef, args: Default::default(), imm: Imm::None };
            let inst = dfg.make_inst(data, &[ty]);
            dfg.result(inst)
        })
    }
}
