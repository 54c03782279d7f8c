//! Record access: the loads of all fields of a structure become the load of one vector, and so do the stores.
//!
//! If each work-item has a record next to its neighbour's, an access to one field jumps from record to record. All fields
//! together are contiguous for a pack, and shuffles sort them. Loads of a few fields are left alone, because each of them
//! loads the whole stretch anyway; stores to a few fields would be scattered. Only accesses in one block, with nothing between them that could observe their order, are
//! merged. They must cover the record without a gap, so that nothing else is accessed.

use clift_kir::{Block, Builder, Effects, Elem, Function, Imm, Inst, InstData, MemInfo, Opcode, Space, Type, Value};
use smallvec::SmallVec;

use super::normalize::NormalForm;
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Shape;

/// Loads of fewer fields than this are not merged.
const MIN_LOADED_FIELDS: usize = 5;
/// Stores to fewer fields than this are not merged.
const MIN_STORED_FIELDS: usize = 2;

/// An address without its displacement: base, index, scale.
type BaseAddress = (Value, Option<Value>, u64);

/// Scalar accesses of one kind with one base address, with nothing between them that could observe their order.
struct AccessGroup {
    block: Block,
    op: Opcode,
    base: BaseAddress,
    /// The displacement and the instruction of each access.
    fields: Vec<(i64, Inst)>,
}

/// Merges the accesses to records in a kernel, for packs of `lanes` lanes.
pub(crate) fn run(normal: &mut NormalForm, lanes: u32) {
    let mut groups = Vec::new();
    for &block in normal.cfg.rpo() {
        collect(&normal.func, block, &mut groups);
    }
    groups.retain(|group| {
        group.fields.len() >= if group.op == Opcode::Store { MIN_STORED_FIELDS } else { MIN_LOADED_FIELDS }
    });
    if groups.is_empty() {
        return;
    }
    let divergence = normal.divergence(lanes, true);
    for group in groups {
        if let Some(record) = FieldRecord::of(&normal.func, &divergence, &group, lanes) {
            record.merge(&mut normal.func, &group);
        }
    }
}

/// Collects the groups of a block.
fn collect(func: &Function, block: Block, groups: &mut Vec<AccessGroup>) {
    let mut open: SmallVec<[AccessGroup; 4]> = SmallVec::new();
    for &inst in func.layout.insts(block) {
        let data = func.dfg.inst(inst);
        let effects = data.op.info().effects;
        if effects == Effects::Pure {
            continue;
        }
        let access = access(func, inst);
        // A load ends groups of stores; anything that writes ends all other groups.
        let own = |group: &AccessGroup| access.is_some_and(|(base, _)| group.op == data.op && group.base == base);
        let (ended, still): (SmallVec<[AccessGroup; 4]>, SmallVec<[AccessGroup; 4]>) =
            open.into_iter().partition(|group| {
                let passes = effects == Effects::Read && group.op == Opcode::Load;
                !passes && !own(group)
            });
        groups.extend(ended);
        open = still;
        let Some((base, disp)) = access else { continue };
        match open.iter_mut().find(|group| own(group)) {
            Some(group) => group.fields.push((disp, inst)),
            None => open.push(AccessGroup { block, op: data.op, base, fields: vec![(disp, inst)] }),
        }
    }
    groups.extend(open);
}

/// The base address and displacement of a scalar access that can become a part of a vector access.
fn access(func: &Function, inst: Inst) -> Option<(BaseAddress, i64)> {
    let data = func.dfg.inst(inst);
    let (Opcode::Load | Opcode::Store, Imm::Mem(MemInfo { volatile: false, .. })) = (data.op, &data.imm) else {
        return None;
    };
    let pointer = data.args[0];
    let ty = accessed(func, inst);
    // Private variables have their own layout.
    let private = func.dfg.ty(pointer).elem.space() == Some(Space::Private);
    if private || ty.is_vector() || ty.is_ptr() || ty.is_bool() {
        return None;
    }
    let def = func.dfg.def_inst(pointer).map(|def| func.dfg.inst(def));
    Some(match def.map(|def| (def.args.as_slice(), &def.imm)) {
        Some((&[base], &Imm::Addr { disp, .. })) => ((base, None, 1), disp),
        Some((&[base, index], &Imm::Addr { scale, disp })) => ((base, Some(index), scale), disp),
        _ => ((pointer, None, 1), 0),
    })
}

/// The type that a load or store accesses.
fn accessed(func: &Function, inst: Inst) -> Type {
    let data = func.dfg.inst(inst);
    func.dfg.ty(if data.op == Opcode::Store { data.args[1] } else { func.dfg.result(inst) })
}

/// The record that a group covers.
struct FieldRecord {
    /// The accesses to its fields, in order of their addresses.
    fields: Vec<Inst>,
    /// The displacement of the first field.
    disp: i64,
    /// The type of the vector of all fields.
    ty: Type,
    mem: MemInfo,
}

impl FieldRecord {
    fn of(func: &Function, divergence: &Divergence, group: &AccessGroup, lanes: u32) -> Option<FieldRecord> {
        let mut fields = group.fields.clone();
        fields.sort_by_key(|&(disp, _)| disp);
        let (disp, first) = fields[0];
        let elems: Vec<Elem> = fields.iter().map(|&(_, inst)| accessed(func, inst).elem).collect();
        let bytes = elems[0].bytes();
        let dense = fields.iter().zip(0..).all(|(&(at, _), i)| at == disp + i64::from(bytes) * i);
        if !dense || elems.iter().any(|elem| elem.bytes() != bytes) {
            return None;
        }
        let count = u32::try_from(fields.len()).ok().filter(|count| count * lanes <= Type::MAX_LANES)?;
        let pointer = func.dfg.inst(first).args[0];
        let stride = match divergence.shape(pointer) {
            Shape::Affine { stride, .. } => stride,
            Shape::Uniform(_) => return None,
            Shape::Varying => divergence.conditional(pointer)?.stride,
        };
        if stride != i64::from(count * bytes) {
            return None;
        }
        // Fields of different types are accessed as integers.
        let elem = if elems.iter().all(|&elem| elem == elems[0]) { elems[0] } else { Elem::int(bytes * 8)? };
        let mut mem: Option<MemInfo> = None;
        for &(_, inst) in &fields {
            let Imm::Mem(one) = func.dfg.inst(inst).imm else { return None };
            mem = Some(match mem {
                None => one,
                Some(all) if all.alias == one.alias => MemInfo { invariant: all.invariant && one.invariant, ..all },
                Some(_) => return None,
            });
        }
        let fields = fields.into_iter().map(|(_, inst)| inst).collect();
        Some(FieldRecord { fields, disp, ty: Type::new(elem, count)?, mem: mem? })
    }

    fn merge(&self, func: &mut Function, group: &AccessGroup) {
        if group.op == Opcode::Load { self.merge_loads(func, group) } else { self.merge_stores(func, group) }
    }

    /// Loads the vector at the place of the first field's load.
    fn merge_loads(&self, func: &mut Function, group: &AccessGroup) {
        let first = group.fields[0].1;
        let (at, loc) = (position(func, group.block, first), func.locs[first]);
        let mut b = Builder::before(func, group.block, at);
        b.set_loc(loc);
        let (base, index, scale) = group.base;
        let pointer = b.addr(base, index, scale, self.disp);
        let whole = b.load(self.ty, pointer, self.mem);
        let from = b.index();
        let mut taken = 0;
        for (lane, &inst) in self.fields.iter().enumerate() {
            let elem = func.dfg.ty(func.dfg.result(inst));
            let part =
                InstData { op: Opcode::Extract, args: [whole].into_iter().collect(), imm: Imm::Lane(lane as u8) };
            if elem == self.ty.lane() {
                func.dfg.replace_inst(inst, part);
                continue;
            }
            let mut b = Builder::before(func, group.block, from + taken);
            let part = b.extract(whole, lane as u32);
            taken += 1;
            let cast = InstData { op: Opcode::Bitcast, args: [part].into_iter().collect(), imm: Imm::None };
            func.dfg.replace_inst(inst, cast);
        }
    }

    /// Stores the vector at the place of the last field's store.
    fn merge_stores(&self, func: &mut Function, group: &AccessGroup) {
        let (_, last) = group.fields[group.fields.len() - 1];
        let values: Vec<Value> = self.fields.iter().map(|&inst| func.dfg.inst(inst).args[1]).collect();
        let (at, loc) = (position(func, group.block, last), func.locs[last]);
        let lane = self.ty.lane();
        let mut b = Builder::before(func, group.block, at);
        b.set_loc(loc);
        let parts: Vec<Value> = values
            .into_iter()
            .map(|value| if b.ty(value) == lane { value } else { b.cast(Opcode::Bitcast, value, lane) })
            .collect();
        let whole = b.vec(&parts);
        let (base, index, scale) = group.base;
        let pointer = b.addr(base, index, scale, self.disp);
        b.store(pointer, whole, self.mem);
        for &inst in &self.fields {
            func.layout.remove_inst(inst);
        }
    }
}

fn position(func: &Function, block: Block, inst: Inst) -> usize {
    match func.layout.insts(block).iter().position(|&other| other == inst) {
        Some(position) => position,
        None => unreachable!("broken invariant: an access that its block does not know"),
    }
}
