//! Superwords: in the code of one work-item, the same operations on neighbouring elements become one operation on a vector (SLP).
//!
//! ```text
//! q[0] = p[0] & 15;                          pair = the elements p[0] and p[1];
//! q[1] = p[1] & 15;                          the elements q[0] and q[1] = pair & (15, 15);
//! ```
//!
//! The seeds are stores to neighbouring elements, and vectors made of scalars. From a seed, the operands are followed upwards: the
//! same operations become a [`Node::Op`], loads of neighbouring elements a [`Node::Load`], and what differs is put together lane by
//! lane. A seed is taken if its tree has far fewer operations than the scalars ([`WORTHWHILE`]).
//!
//! Packs of several lanes do not need it: there, neighbouring work-items fill the registers.

use clift_kir::analysis::UseCounts;
use clift_kir::ops::{IntOp, OpClass};
use clift_kir::{Block, Builder, Elem, Function, Imm, Inst, InstData, Opcode, Type, Value};
use rustc_hash::FxHashMap;

use super::record_access::{AccessGroup, FieldRecord, accessed, collect};
use crate::spmd::vectorize::widen::how::{How, how};
use crate::target::machine::Machine;

/// The most bytes of a vector.
const MOST_BYTES: u32 = 64;
/// The most definitions that are looked through.
const MAX_DEPTH: u32 = 12;
/// The most nodes of a tree.
const MAX_NODES: usize = 64;
/// The costs of a tree, relative to the scalars that it replaces, with which it is taken.
const WORTHWHILE: f64 = 0.7;

/// Computes neighbouring elements at once wherever that pays. Returns whether anything changed.
pub(crate) fn run(func: &mut Function) -> bool {
    let mut changed = false;
    for block in func.layout.blocks().to_vec() {
        changed |= run_in(func, block);
    }
    changed
}

fn run_in(func: &mut Function, block: Block) -> bool {
    let mut groups = Vec::new();
    collect(func, block, &mut groups);
    for group in &mut groups {
        group.fields.sort_by_key(|&(disp, _)| disp);
    }
    let uses = UseCounts::new(func);
    let loads: FxHashMap<Inst, (usize, usize)> = groups
        .iter()
        .enumerate()
        .filter(|(_, group)| group.op == Opcode::Load)
        .flat_map(|(number, group)| {
            group.fields.iter().enumerate().map(move |(place, &(_, inst))| (inst, (number, place)))
        })
        .collect();
    let context = BlockAccesses { block, groups: &groups, loads: &loads };
    let mut changed = false;
    for group in groups.iter().filter(|group| group.op == Opcode::Store) {
        for run in runs(func, group) {
            changed |= context.stores(func, &uses, group, run);
        }
    }
    for inst in func.layout.insts(block).to_vec() {
        if func.dfg.inst(inst).op == Opcode::Vec {
            changed |= context.vector(func, &uses, inst);
        }
    }
    changed
}

/// The runs of neighbouring elements of one type that a group accesses, if no two of its accesses overlap.
fn runs<'g>(func: &Function, group: &'g AccessGroup) -> Vec<&'g [(i64, Inst)]> {
    let ty = |field: &(i64, Inst)| accessed(func, field.1);
    let end = |field: &(i64, Inst)| field.0.checked_add(ty(field).bytes().into());
    let fields = group.fields.as_slice();
    if !fields.windows(2).all(|pair| end(&pair[0]).is_some_and(|end| end <= pair[1].0)) {
        return Vec::new();
    }
    fields.chunk_by(|a, b| end(a) == Some(b.0) && ty(a) == ty(b)).filter(|run| run.len() > 1).collect()
}

/// A vector to be made, by the number of its node.
type NodeId = usize;

/// How a vector of a tree is made.
#[derive(Debug)]
enum Node {
    /// It is there.
    Whole(Value),
    /// All lanes are one scalar.
    Splat(Value),
    /// The lanes are put together; constants cost nothing.
    Lanes(Vec<Value>),
    /// The fields of a group of loads from a place on.
    Load(usize, usize),
    /// The operation of these instructions.
    Op(Vec<Inst>, Vec<NodeId>),
}

/// The accesses of a block.
struct BlockAccesses<'a> {
    block: Block,
    groups: &'a [AccessGroup],
    /// The group and the place in it, by load.
    loads: &'a FxHashMap<Inst, (usize, usize)>,
}

impl BlockAccesses<'_> {
    /// Stores the longest parts of a run that pay as vectors.
    fn stores(&self, func: &mut Function, uses: &UseCounts, group: &AccessGroup, run: &[(i64, Inst)]) -> bool {
        let element = accessed(func, run[0].1);
        let most = (MOST_BYTES / element.bytes()).min(Type::MAX_LANES) as usize;
        let count = 1 << run.len().min(most).ilog2();
        if count < 2 {
            return false;
        }
        let (fields, rest) = run.split_at(count);
        let values: Vec<Value> = fields.iter().map(|&(_, inst)| func.dfg.inst(inst).args[1]).collect();
        let tree = Tree::new(self, func, &values);
        let pays = tree.pays(func, uses, registers(element.with_lanes(count as u32)));
        let Some(record) = FieldRecord::of(func, fields).filter(|_| pays) else {
            // A part may pay.
            let (first, second) = run.split_at(count / 2);
            let mut changed = false;
            for part in [first, second].into_iter().filter(|part| part.len() > 1) {
                changed |= self.stores(func, uses, group, part);
            }
            return changed;
        };
        let nodes = tree.nodes;
        let (at, last) = record.at_end(func, self.block, true);
        let whole = self.emit(func, &nodes, values.len(), last, at);
        let (at, last) = record.at_end(func, self.block, true);
        let (loc, pointer) = (func.locs[last], func.dfg.inst(last).args[0]);
        let mut b = Builder::before(func, self.block, at);
        b.set_loc(loc);
        let pointer = record.address(&mut b, group, (last, pointer));
        b.store(pointer, whole, record.mem);
        for &inst in &record.fields {
            func.layout.remove_inst(inst);
        }
        if rest.len() > 1 {
            self.stores(func, uses, group, rest);
        }
        true
    }

    /// Makes a vector of scalars another way, if that pays.
    fn vector(&self, func: &mut Function, uses: &UseCounts, inst: Inst) -> bool {
        let values = func.dfg.inst(inst).args.to_vec();
        let Some(at) = func.layout.insts(self.block).iter().position(|&other| other == inst) else { return false };
        let tree = Tree::new(self, func, &values);
        if !matches!(tree.nodes.last(), Some(Node::Op(..) | Node::Load(..))) || !tree.pays(func, uses, 0.0) {
            return false;
        }
        let nodes = tree.nodes;
        let whole = self.emit(func, &nodes, values.len(), inst, at);
        let lanes: Vec<u8> = (0..values.len() as u8).collect();
        let args = [whole, whole].into_iter().collect();
        func.dfg.replace_inst(inst, InstData { op: Opcode::Shuffle, args, imm: Imm::Lanes(lanes.into()) });
        true
    }

    /// Makes the vectors of a tree in front of the instruction `seed`, which is at this place; returns the last one.
    fn emit(&self, func: &mut Function, nodes: &[Node], count: usize, seed: Inst, mut at: usize) -> Value {
        let mut made: Vec<Value> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let value = match node {
                Node::Whole(value) => *value,
                &Node::Load(group, first) => {
                    let value = self.load(func, group, first, count);
                    let place = func.layout.insts(self.block).iter().position(|&other| other == seed);
                    at = place.unwrap_or(at);
                    value
                }
                Node::Splat(_) | Node::Lanes(_) | Node::Op(..) => {
                    let mut b = Builder::before(func, self.block, at);
                    let value = match node {
                        Node::Splat(value) => b.splat(*value, count as u32),
                        Node::Op(insts, args) => {
                            let (first, loc) = (b.func.dfg.inst(insts[0]).clone(), b.func.locs[insts[0]]);
                            let ty = b.ty(b.func.dfg.result(insts[0])).with_lanes(count as u32);
                            b.set_loc(loc);
                            let args: Vec<Value> = args.iter().map(|&arg| made[arg]).collect();
                            b.value(first.op, &args, first.imm, ty)
                        }
                        Node::Lanes(values) => b.vec(values),
                        Node::Whole(_) | Node::Load(..) => unreachable!("broken invariant: matched above"),
                    };
                    at = b.index();
                    value
                }
            };
            made.push(value);
        }
        match made.last() {
            Some(&value) => value,
            None => unreachable!("broken invariant: a tree has a root"),
        }
    }

    /// Loads neighbouring fields at the place of the first of their loads.
    fn load(&self, func: &mut Function, group: usize, first: usize, count: usize) -> Value {
        let group = &self.groups[group];
        let Some(record) = FieldRecord::of(func, &group.fields[first..first + count]) else {
            unreachable!("broken invariant: fields of different classes")
        };
        let (at, inst) = record.at_end(func, self.block, false);
        let (loc, pointer) = (func.locs[inst], func.dfg.inst(inst).args[0]);
        let mut b = Builder::before(func, self.block, at);
        b.set_loc(loc);
        let pointer = record.address(&mut b, group, (inst, pointer));
        b.load(record.ty, pointer, record.mem)
    }
}

/// The vectors that a seed needs. The nodes' operands precede them; the last one is the root.
struct Tree<'a> {
    accesses: &'a BlockAccesses<'a>,
    nodes: Vec<Node>,
    known: FxHashMap<Vec<Value>, NodeId>,
    /// How often the seed and the operations of the tree use scalars.
    inside: FxHashMap<Value, u32>,
}

impl<'a> Tree<'a> {
    /// The tree of a vector of these scalars.
    fn new(accesses: &'a BlockAccesses<'a>, func: &Function, values: &[Value]) -> Tree<'a> {
        let mut tree = Tree { accesses, nodes: Vec::new(), known: FxHashMap::default(), inside: FxHashMap::default() };
        tree.node(func, values, MAX_DEPTH);
        for &value in values {
            *tree.inside.entry(value).or_default() += 1;
        }
        tree
    }

    fn node(&mut self, func: &Function, values: &[Value], depth: u32) -> NodeId {
        if let Some(&known) = self.known.get(values) {
            return known;
        }
        let node = self.found(func, values, depth);
        self.nodes.push(node);
        self.known.insert(values.to_vec(), self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn found(&mut self, func: &Function, values: &[Value], depth: u32) -> Node {
        let lanes = || Node::Lanes(values.to_vec());
        let is_const = |&value: &Value| func.dfg.as_const(value).is_some();
        if values.iter().all(is_const) {
            return lanes();
        }
        if values.iter().all(|&value| value == values[0]) {
            return Node::Splat(values[0]);
        }
        let Some(insts) = values.iter().map(|&value| func.dfg.def_inst(value)).collect::<Option<Vec<Inst>>>() else {
            return lanes();
        };
        let first = func.dfg.inst(insts[0]);
        if first.op == Opcode::Extract {
            let vector = first.args[0];
            let in_order = insts.iter().enumerate().all(|(lane, &inst)| {
                let data = func.dfg.inst(inst);
                data.op == Opcode::Extract && data.args[0] == vector && data.imm == Imm::Lane(lane as u8)
            });
            let whole = in_order && func.dfg.ty(vector).lanes() as usize == values.len();
            return if whole { Node::Whole(vector) } else { lanes() };
        }
        if first.op == Opcode::Load {
            return self.loaded(func, &insts).unwrap_or_else(lanes);
        }
        let here = |&inst: &Inst| func.layout.block_of(inst) == Some(self.accesses.block);
        let ty = func.dfg.ty(values[0]);
        let same = |&inst: &Inst| {
            let data = func.dfg.inst(inst);
            let types = data.args.iter().zip(&first.args).all(|(&a, &b)| func.dfg.ty(a) == func.dfg.ty(b));
            data.op == first.op && data.imm == first.imm && types && func.dfg.ty(func.dfg.result(inst)) == ty
        };
        let full = depth == 0 || self.nodes.len() >= MAX_NODES;
        if full
            || ty.is_vector()
            || !has_vector_form(func, insts[0])
            || !insts.iter().all(|inst| here(inst) && same(inst))
        {
            return lanes();
        }
        let args: Vec<NodeId> = (0..first.args.len())
            .map(|place| {
                let operands: Vec<Value> = insts.iter().map(|&inst| func.dfg.inst(inst).args[place]).collect();
                self.node(func, &operands, depth - 1)
            })
            .collect();
        for &inst in &insts {
            for &arg in &func.dfg.inst(inst).args {
                *self.inside.entry(arg).or_default() += 1;
            }
        }
        Node::Op(insts, args)
    }

    /// Loads of neighbouring elements.
    fn loaded(&self, func: &Function, insts: &[Inst]) -> Option<Node> {
        let &(group, first) = self.accesses.loads.get(&insts[0])?;
        let fields = self.accesses.groups[group].fields.get(first..first + insts.len())?;
        let follows = fields.iter().zip(insts).all(|(&(_, field), &inst)| field == inst);
        let ty = accessed(func, insts[0]);
        let dense = fields.windows(2).all(|pair| pair[0].0.checked_add(ty.bytes().into()) == Some(pair[1].0));
        let same = insts.iter().all(|&inst| accessed(func, inst) == ty);
        (follows && dense && same && FieldRecord::of(func, fields).is_some()).then_some(Node::Load(group, first))
    }

    /// Whether the tree and what becomes of its seed cost much less than the scalars.
    fn pays(&self, func: &Function, uses: &UseCounts, seed: f64) -> bool {
        let saved = |inst: Inst| {
            let value = func.dfg.result(inst);
            if self.inside.get(&value).copied() >= Some(uses.get(value)) { 1.0 } else { 0.0 }
        };
        // The stores of the seed, or what puts its scalars together.
        let count = self.known.keys().next().map_or(0, Vec::len);
        let (mut scalars, mut vectors) = (count as f64, seed);
        for node in &self.nodes {
            match node {
                Node::Whole(_) => {}
                Node::Splat(_) => vectors += 1.0,
                Node::Lanes(values) if values.iter().all(|&value| func.dfg.as_const(value).is_some()) => {}
                Node::Lanes(values) => vectors += values.len() as f64,
                &Node::Load(group, first) => {
                    let fields = &self.accesses.groups[group].fields[first..first + count];
                    scalars += fields.iter().map(|&(_, inst)| saved(inst)).sum::<f64>();
                    vectors += registers(accessed(func, fields[0].1).with_lanes(count as u32));
                }
                Node::Op(insts, args) => {
                    scalars += insts.iter().map(|&inst| saved(inst)).sum::<f64>();
                    vectors += self.operation(func, insts[0], args, count as u32);
                }
            }
        }
        vectors < WORTHWHILE * scalars
    }

    /// The cost of a vector operation.
    fn operation(&self, func: &Function, inst: Inst, args: &[NodeId], count: u32) -> f64 {
        let data = func.dfg.inst(inst);
        let result = func.dfg.ty(func.dfg.result(inst));
        let from = func.dfg.ty(data.args[0]);
        let wide = if from.elem.bits() > result.elem.bits() { from } else { result };
        let same_count = |&arg: &NodeId| match &self.nodes[arg] {
            Node::Splat(_) => true,
            Node::Lanes(values) => {
                let bits = func.dfg.as_splat_bits(values[0]);
                bits.is_some() && values.iter().all(|&value| func.dfg.as_splat_bits(value) == bits)
            }
            Node::Whole(_) | Node::Load(..) | Node::Op(..) => false,
        };
        let times = match data.op {
            Opcode::Shl | Opcode::Lshr | Opcode::Ashr | Opcode::Rotl if !args.get(1).is_some_and(same_count) => 8.0,
            Opcode::Shl | Opcode::Lshr | Opcode::Ashr | Opcode::Rotl | Opcode::Imul if wide.elem == Elem::I8 => 4.0,
            Opcode::Imul if wide.elem == Elem::I64 => 4.0,
            _ if wide.elem == Elem::F16 => 4.0,
            _ => 1.0,
        };
        times * registers(wide.with_lanes(count))
    }
}

/// Whether machines have an instruction, or few, for the vector form of a scalar operation.
fn has_vector_form(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    if how(data.op) != How::Lanewise || data.args.iter().any(|&arg| func.dfg.ty(arg).is_ptr()) {
        return false;
    }
    match data.op.class() {
        OpClass::Int(IntOp::Udiv | IntOp::Sdiv | IntOp::Urem | IntOp::Srem | IntOp::Umulh | IntOp::Smulh) => false,
        OpClass::Int(_) | OpClass::Float(_) | OpClass::Convert(_) | OpClass::Lane(_) => true,
        OpClass::Leaf(_)
        | OpClass::Query(_)
        | OpClass::Address(_)
        | OpClass::Memory(_)
        | OpClass::Call(_)
        | OpClass::Sync(_)
        | OpClass::Image(_)
        | OpClass::Collective(_)
        | OpClass::Terminator(_) => false,
    }
}

/// The common registers that a vector fills.
fn registers(ty: Type) -> f64 {
    f64::from(ty.bits().div_ceil(Machine::COMMON.register_bits))
}
