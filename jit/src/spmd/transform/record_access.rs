//! Record access: loads of neighbouring elements become the load of one vector, and so do stores.
//!
//! If each work-item has a record next to its neighbour's, an access to one field jumps from record to record. All fields
//! together are contiguous for a pack, and shuffles sort them. Loads of a few fields are left alone, because each of them
//! loads the whole stretch anyway; stores to neighbouring fields, but not all, are merged without the others.
//!
//! If the records of the lanes are far from each other (each work-item has a row of a matrix, or a block of a message), up to
//! [`PIECE_BYTES`] of a lane are accessed at once instead of one element of all lanes.
//!
//! Only accesses in one block, with nothing between them that could observe their order, are merged. They must cover the vector
//! without a gap, so that nothing else is accessed.

use clift_kir::{
    Block, Builder, Effects, Elem, Function, Imm, Inst, InstData, MemInfo, Opcode, Space, Type, Value, WrapFlags,
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::normalize::NormalForm;
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Shape;
use crate::spmd::vectorize::widen::record_step_at_once;

/// Loads of fewer fields than this are not merged.
const MIN_LOADED_FIELDS: usize = 2;
/// Stores to fewer fields than this are not merged.
const MIN_STORED_FIELDS: usize = 2;

/// Of distant records, so many bytes are accessed at once.
const PIECE_BYTES: u32 = 16;
/// Of narrow elements, so many are accessed at once.
const PIECE_ELEMENTS: u32 = 4;

/// An address without its displacement.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct BaseAddress {
    base: Value,
    /// The index without constant summands, and the extension that was looked through.
    index: Option<(Value, Option<Opcode>)>,
    scale: u64,
}

/// Scalar accesses of one kind with one base address, with nothing between them that could observe their order.
pub(super) struct AccessGroup {
    block: Block,
    pub(super) op: Opcode,
    base: BaseAddress,
    /// The displacement and the instruction of each access.
    pub(super) fields: Vec<(i64, Inst)>,
}

/// Merges the accesses to records in a kernel, for packs of `lanes` lanes.
pub(crate) fn run(normal: &mut NormalForm, lanes: u32) {
    let mut groups = Vec::new();
    for &block in normal.cfg.rpo() {
        collect(&normal.func, block, &mut groups);
    }
    groups.retain(|group| group.fields.len() > 1);
    if groups.is_empty() {
        return;
    }
    let divergence = normal.divergence(lanes, true);
    for group in &mut groups {
        group.fields.sort_by_key(|&(disp, _)| disp);
    }
    for groups in groups.chunk_by(|a, b| a.block == b.block) {
        let mut merger = Merger::new(&normal.func, groups);
        for group in groups {
            for record in FieldRecord::all(&normal.func, &divergence, group, lanes) {
                merger.merge(normal.func_mut(), group.op, &record);
            }
        }
        if merger.is_needed() {
            merger.finish(normal.func_mut());
        }
    }
}

/// Collects the groups of a block.
pub(super) fn collect(func: &Function, block: Block, groups: &mut Vec<AccessGroup>) {
    let mut open = OpenGroups::default();
    for &inst in func.layout.insts(block) {
        let data = func.dfg.inst(inst);
        let effects = data.op.info().effects;
        if effects == Effects::Pure {
            continue;
        }
        let access = access(func, inst);
        let own = access.map(|(base, _)| (data.op, base));
        open.end(own, groups, |memory| {
            let both_read = effects == Effects::Read && memory.op == Opcode::Load;
            !both_read && !is_elsewhere(func, inst, memory)
        });
        if let (Some((base, disp)), Some(memory)) = (access, AccessedMemory::of(func, inst)) {
            open.add(AccessGroup { block, op: data.op, base, fields: vec![(disp, inst)] }, memory);
        }
    }
    open.end(None, groups, |_| true);
}

/// The memory that a load or store accesses, as far as it tells which others access the same.
#[derive(Clone, Copy, PartialEq, Eq)]
struct AccessedMemory {
    op: Opcode,
    alias: u32,
    space: Space,
}

impl AccessedMemory {
    /// That of a plain load or store.
    fn of(func: &Function, inst: Inst) -> Option<AccessedMemory> {
        let data = func.dfg.inst(inst);
        let (Opcode::Load | Opcode::Store, Imm::Mem(mem @ MemInfo { volatile: false, .. })) = (data.op, &data.imm)
        else {
            return None;
        };
        let space = func.dfg.ty(data.args[0]).elem.space().unwrap_or(Space::Generic);
        Some(AccessedMemory { op: data.op, alias: mem.alias, space })
    }
}

/// Groups that further accesses can join. A block may have very many, so they are ended by the memory of their first access.
#[derive(Default)]
struct OpenGroups {
    /// The groups in the order in which they began; `None` where one has ended.
    groups: Vec<Option<AccessGroup>>,
    by_base: FxHashMap<(Opcode, BaseAddress), usize>,
    by_memory: Vec<(AccessedMemory, Vec<usize>)>,
}

impl OpenGroups {
    /// Ends the groups whose memory an access touches, except its own one.
    fn end(
        &mut self,
        own: Option<(Opcode, BaseAddress)>,
        groups: &mut Vec<AccessGroup>,
        touches: impl Fn(&AccessedMemory) -> bool,
    ) {
        let own = own.and_then(|own| self.by_base.get(&own).copied());
        let mut ended: Vec<usize> = Vec::new();
        for (_, numbers) in self.by_memory.iter_mut().filter(|(memory, _)| touches(memory)) {
            let stays = own.filter(|own| numbers.contains(own));
            ended.extend(numbers.drain(..).filter(|&number| Some(number) != stays));
            numbers.extend(stays);
        }
        ended.sort_unstable();
        for group in ended.into_iter().filter_map(|number| self.groups[number].take()) {
            self.by_base.remove(&(group.op, group.base));
            groups.push(group);
        }
    }

    /// Adds an access to its group, or begins one.
    fn add(&mut self, access: AccessGroup, memory: AccessedMemory) {
        let next = self.groups.len();
        let number = *self.by_base.entry((access.op, access.base)).or_insert(next);
        if let Some(Some(group)) = self.groups.get_mut(number) {
            group.fields.extend(access.fields);
            return;
        }
        self.groups.push(Some(access));
        match self.by_memory.iter_mut().find(|(other, _)| *other == memory) {
            Some((_, numbers)) => numbers.push(next),
            None => self.by_memory.push((memory, vec![next])),
        }
    }
}

/// Whether an instruction is a plain load or store that accesses other memory than a group.
fn is_elsewhere(func: &Function, inst: Inst, group: &AccessedMemory) -> bool {
    AccessedMemory::of(func, inst).is_some_and(|own| {
        own.alias != group.alias && own.alias != 0 && group.alias != 0 || !own.space.may_alias(group.space)
    })
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
    Some(split_address(func, pointer))
}

/// Splits an address into the part without constants and the displacement.
fn split_address(func: &Function, pointer: Value) -> (BaseAddress, i64) {
    let whole = (BaseAddress { base: pointer, index: None, scale: 1 }, 0);
    let Some(data) = func.dfg.def_inst(pointer).map(|def| func.dfg.inst(def)) else { return whole };
    match (data.args.as_slice(), &data.imm) {
        (&[base], &Imm::Addr { disp, .. }) => (BaseAddress { base, index: None, scale: 1 }, disp),
        (&[base, index], &Imm::Addr { scale, disp }) => {
            let (index, constant) = split_index(func, index);
            let constant = i64::try_from(scale).ok().and_then(|scale| constant.checked_mul(scale));
            match constant.and_then(|constant| disp.checked_add(constant)) {
                Some(disp) => (BaseAddress { base, index: Some(index), scale }, disp),
                None => whole,
            }
        }
        _ => whole,
    }
}

/// Splits an index into a sum of a value, perhaps extended, and a constant. The source promises that a sum that is extended does
/// not wrap.
fn split_index(func: &Function, index: Value) -> ((Value, Option<Opcode>), i64) {
    let (mut at, mut extension, mut constant) = (index, None, 0i64);
    while let Some(data) = func.dfg.def_inst(at).map(|def| func.dfg.inst(def)) {
        match (data.op, data.args.as_slice()) {
            (Opcode::Sext | Opcode::Zext, &[from]) if extension.is_none() => (at, extension) = (from, Some(data.op)),
            (Opcode::Iadd, &[from, summand]) => {
                let required = match extension {
                    Some(Opcode::Zext) => WrapFlags::NO_UNSIGNED,
                    Some(_) => WrapFlags::NO_SIGNED,
                    None => WrapFlags::empty(),
                };
                let value = if extension == Some(Opcode::Zext) {
                    func.dfg.as_splat_bits(summand).map(|bits| bits as i64)
                } else {
                    func.dfg.as_splat_signed(summand)
                };
                let value = value.filter(|_| data.imm.wrap().contains(required));
                let Some(sum) = value.and_then(|value| constant.checked_add(value)) else { break };
                (at, constant) = (from, sum);
            }
            _ => break,
        }
    }
    ((at, extension), constant)
}

/// The type that a load or store accesses.
pub(super) fn accessed(func: &Function, inst: Inst) -> Type {
    let data = func.dfg.inst(inst);
    func.dfg.ty(if data.op == Opcode::Store { data.args[1] } else { func.dfg.result(inst) })
}

/// A record, or a piece of one, that becomes one access.
pub(super) struct FieldRecord {
    /// The accesses to its fields, in order of their addresses.
    pub(super) fields: Vec<Inst>,
    /// The type of the vector of all fields.
    pub(super) ty: Type,
    pub(super) mem: MemInfo,
}

impl FieldRecord {
    /// The records that a group covers. Its fields are in order of their addresses.
    fn all(func: &Function, divergence: &Divergence, group: &AccessGroup, lanes: u32) -> Vec<FieldRecord> {
        let bytes = |&(_, inst): &(i64, Inst)| accessed(func, inst).elem.bytes();
        let fields = &group.fields;
        let end = |field: &(i64, Inst)| field.0.checked_add(bytes(field).into());
        let apart = fields.windows(2).all(|pair| end(&pair[0]).is_some_and(|end| end <= pair[1].0));
        let dense =
            fields.windows(2).all(|pair| end(&pair[0]) == Some(pair[1].0) && bytes(&pair[0]) == bytes(&pair[1]));
        let least = if group.op == Opcode::Store { MIN_STORED_FIELDS } else { MIN_LOADED_FIELDS };
        let (_, first) = fields[0];
        let pointer = func.dfg.inst(first).args[0];
        let stride = match divergence.shape(pointer) {
            Shape::Affine { stride, .. } => Some(stride),
            Shape::Uniform(_) => return Vec::new(),
            Shape::Varying => divergence.conditional(pointer).map(|on| on.stride),
        };
        let whole = u32::try_from(fields.len()).ok().filter(|count| count * lanes <= Type::MAX_LANES);
        if let (Some(stride), Some(count)) = (stride, whole)
            && dense
            && stride == i64::from(count * bytes(&fields[0]))
        {
            let record = if fields.len() < least { None } else { FieldRecord::of(func, fields) };
            return record.into_iter().collect();
        }
        let near = match stride {
            Some(stride) => record_step_at_once(stride, accessed(func, first).lane(), lanes).is_some(),
            None => divergence.has_known_distances(pointer),
        };
        if near && dense && group.op == Opcode::Store && fields.len() >= least {
            // The records are stored at once under a mask that leaves the other fields alone, or lane by lane.
            return whole.and_then(|_| FieldRecord::of(func, fields)).into_iter().collect();
        }
        if near || !apart {
            return Vec::new();
        }
        let mut records = Vec::new();
        let mut rest = &fields[..];
        while let [field, ..] = rest {
            let size = bytes(field);
            let most = (PIECE_BYTES / size).min(PIECE_ELEMENTS) as usize;
            let joined = |pair: &[(i64, Inst)]| end(&pair[0]) == Some(pair[1].0) && bytes(&pair[1]) == size;
            let run = 1 + rest.windows(2).take(most - 1).take_while(|pair| joined(pair)).count();
            let (piece, others) = rest.split_at(1 << run.ilog2());
            if piece.len() > 1 {
                records.extend(FieldRecord::of(func, piece));
            }
            rest = others;
        }
        records
    }

    /// The vector of fields of one size without gaps, in order of their addresses.
    pub(super) fn of(func: &Function, fields: &[(i64, Inst)]) -> Option<FieldRecord> {
        let elems: SmallVec<[Elem; 16]> = fields.iter().map(|&(_, inst)| accessed(func, inst).elem).collect();
        // Fields of different types are accessed as integers.
        let same = elems.iter().all(|&elem| elem == elems[0]);
        let elem = if same { elems[0] } else { Elem::int(elems[0].bits())? };
        let mut mem: Option<MemInfo> = None;
        for &(_, inst) in fields {
            let Imm::Mem(one) = func.dfg.inst(inst).imm else { return None };
            mem = Some(match mem {
                None => one,
                Some(all) if all.alias == one.alias => MemInfo { invariant: all.invariant && one.invariant, ..all },
                Some(_) => return None,
            });
        }
        let ty = Type::new(elem, u32::try_from(fields.len()).ok()?)?;
        Some(FieldRecord { fields: fields.iter().map(|&(_, inst)| inst).collect(), ty, mem: mem? })
    }

    /// The address of the first field, computed from that of another one.
    pub(super) fn address(&self, b: &mut Builder<'_>, (inst, pointer): (Inst, Value)) -> Value {
        let before = self.fields.iter().position(|&field| field == inst).unwrap_or(0) as i64;
        let distance = before * i64::from(self.ty.elem.bytes());
        if distance == 0 { pointer } else { b.addr(pointer, None, 1, -distance) }
    }

    /// The access to a field that the block executes first or last.
    pub(super) fn at_end(&self, func: &Function, block: Block, last: bool) -> (usize, Inst) {
        let own = |(_, inst): &(usize, &Inst)| self.fields.contains(inst);
        let mut places = func.layout.insts(block).iter().enumerate().filter(own);
        match if last { places.next_back() } else { places.next() } {
            Some((place, &inst)) => (place, inst),
            None => unreachable!("broken invariant: an access that its block does not know"),
        }
    }
}

/// Merges the accesses of one block. Its instructions are placed at the end, all at once, because it may be long.
struct Merger {
    block: Block,
    /// How many instructions the block has had.
    len: usize,
    /// The places of the accesses in the block.
    places: FxHashMap<Inst, usize>,
    /// New instructions, by the instruction that they precede.
    before: FxHashMap<Inst, Vec<Inst>>,
    /// Stores that have been merged.
    removed: FxHashSet<Inst>,
}

impl Merger {
    /// For the groups of a block.
    fn new(func: &Function, groups: &[AccessGroup]) -> Merger {
        let block = groups[0].block;
        let accesses: FxHashSet<Inst> = groups.iter().flat_map(|group| &group.fields).map(|&(_, inst)| inst).collect();
        let insts = func.layout.insts(block);
        let places = insts.iter().enumerate().filter(|(_, inst)| accesses.contains(inst));
        Merger {
            block,
            len: insts.len(),
            places: places.map(|(place, &inst)| (inst, place)).collect(),
            before: FxHashMap::default(),
            removed: FxHashSet::default(),
        }
    }

    fn merge(&mut self, func: &mut Function, op: Opcode, record: &FieldRecord) {
        let by_place = |inst: &&Inst| self.places[*inst];
        let fields = record.fields.iter();
        let at = if op == Opcode::Load { fields.min_by_key(by_place) } else { fields.max_by_key(by_place) };
        let Some(&at) = at else { unreachable!("broken invariant: a record without fields") };
        let begin = func.layout.insts(self.block).len();
        if op == Opcode::Load {
            self.merge_loads(func, record, at);
        } else {
            self.merge_stores(func, record, at);
        }
        self.before.insert(at, func.layout.insts(self.block)[begin..].to_vec());
    }

    /// Loads the vector at the place of the field's load that the block executes first.
    fn merge_loads(&self, func: &mut Function, record: &FieldRecord, first: Inst) {
        let (loc, pointer) = (func.locs[first], func.dfg.inst(first).args[0]);
        let mut b = Builder::at_end(func, self.block);
        b.set_loc(loc);
        let pointer = record.address(&mut b, (first, pointer));
        let whole = b.load(record.ty, pointer, record.mem);
        for (lane, &inst) in record.fields.iter().enumerate() {
            let elem = func.dfg.ty(func.dfg.result(inst));
            let data = if elem == record.ty.lane() {
                InstData { op: Opcode::Extract, args: [whole].into_iter().collect(), imm: Imm::Lane(lane as u8) }
            } else {
                let part = Builder::at_end(func, self.block).extract(whole, lane as u32);
                InstData { op: Opcode::Bitcast, args: [part].into_iter().collect(), imm: Imm::None }
            };
            func.dfg.replace_inst(inst, data);
        }
    }

    /// Stores the vector at the place of the field's store that the block executes last.
    fn merge_stores(&mut self, func: &mut Function, record: &FieldRecord, last: Inst) {
        let values: Vec<Value> = record.fields.iter().map(|&inst| func.dfg.inst(inst).args[1]).collect();
        let (loc, pointer) = (func.locs[last], func.dfg.inst(last).args[0]);
        let lane = record.ty.lane();
        let mut b = Builder::at_end(func, self.block);
        b.set_loc(loc);
        let parts: Vec<Value> = values
            .into_iter()
            .map(|value| if b.ty(value) == lane { value } else { b.cast(Opcode::Bitcast, value, lane) })
            .collect();
        let whole = b.vec(&parts);
        let pointer = record.address(&mut b, (last, pointer));
        b.store(pointer, whole, record.mem);
        self.removed.extend(record.fields.iter().copied());
    }

    /// Whether anything has been merged.
    fn is_needed(&self) -> bool {
        !self.before.is_empty()
    }

    /// Places the new instructions, and removes merged stores.
    fn finish(mut self, func: &mut Function) {
        let mut insts = func.layout.take_insts(self.block);
        insts.truncate(self.len);
        for inst in insts {
            for new in self.before.remove(&inst).unwrap_or_default() {
                func.layout.append_inst(self.block, new);
            }
            if !self.removed.contains(&inst) {
                func.layout.append_inst(self.block, inst);
            }
        }
    }
}
