//! Superwords: in the code of one work-item, the same operations on neighbouring elements become one operation on a vector (SLP).
//!
//! ```text
//! q[0] = p[0] & 15;                          pair = the elements p[0] and p[1];
//! q[1] = p[1] & 15;                          the elements q[0] and q[1] = pair & (15, 15);
//! ```
//!
//! The seeds are stores to neighbouring elements, and vectors made of scalars. From a seed, the operands are followed upwards:
//! the same operations become a [`Node::Op`], loads of neighbouring elements a [`Node::Load`], and what differs is put together
//! lane by lane. Loads from a stretch without gaps, in whatever order, are that vector shuffled; lanes that differ alternately,
//! or the first half from the second one, are two vectors, joined. A seed is taken if its tree has far fewer operations than
//! the scalars ([`WORTHWHILE`]).
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
/// The most instructions of a block: the places of instructions are searched for.
const MAX_INSTS: usize = 10_000;
/// The most definitions that are looked through.
const MAX_DEPTH: u32 = 12;
/// The most nodes of a tree.
const MAX_NODES: usize = 64;
/// The costs of a tree, relative to the scalars that it replaces, with which it is taken.
const WORTHWHILE: f64 = 0.7;
/// The cost of a shift by counts that differ, and of operations that machines have no instruction for, for each register.
const VARIABLE_SHIFT: f64 = 8.0;
const EXPANDED: f64 = 4.0;
/// The cost of a shuffle for each register.
const SHUFFLE: f64 = 1.5;

/// Computes neighbouring elements at once wherever that pays. Returns whether anything changed.
pub(crate) fn run(func: &mut Function) -> bool {
    // New vectors are used once.
    let uses = UseCounts::new(func);
    let mut changed = false;
    for block in func.layout.blocks().to_vec() {
        if func.layout.insts(block).len() <= MAX_INSTS {
            changed |= run_in(func, &uses, block);
        }
    }
    changed
}

fn run_in(func: &mut Function, uses: &UseCounts, block: Block) -> bool {
    let mut groups = Vec::new();
    collect(func, block, &mut groups);
    for group in &mut groups {
        group.fields.sort_by_key(|&(disp, _)| disp);
    }
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
            changed |= context.stores(func, uses, run);
        }
    }
    for inst in func.layout.insts(block).to_vec() {
        if func.dfg.inst(inst).op == Opcode::Vec {
            changed |= context.vector(func, uses, inst);
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
    /// Lanes of another vector.
    Shuffle(NodeId, Vec<u8>),
    /// The lanes of two vectors, in turn or one vector after the other.
    Joined(NodeId, NodeId, Order),
    /// All lanes are one scalar.
    Splat(Value),
    /// The lanes are put together; constants cost nothing.
    Lanes(Vec<Value>),
    /// The fields of a group of loads: from which place on, and how many.
    Load(usize, usize, usize),
    /// The operation of these instructions.
    Op(Vec<Inst>, Vec<NodeId>),
}

/// How two vectors are joined.
#[derive(Clone, Copy, Debug)]
enum Order {
    InTurn,
    Concatenated,
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
    fn stores(&self, func: &mut Function, uses: &UseCounts, run: &[(i64, Inst)]) -> bool {
        let [(_, first), _, ..] = run else { return false };
        let element = accessed(func, *first);
        let most = (MOST_BYTES / element.bytes()).min(Type::MAX_LANES) as usize;
        // What is loaded from different places is not stored together: two arrays of a structure, for example.
        let alike = self.alike(func, run);
        if 1 < alike && alike < run.len() {
            let (first, second) = run.split_at(alike);
            let stored = self.stores(func, uses, first);
            return self.stores(func, uses, second) || stored;
        }
        let count = 1 << run.len().min(most).ilog2();
        let (fields, rest) = run.split_at(count);
        let values: Vec<Value> = fields.iter().map(|&(_, inst)| func.dfg.inst(inst).args[1]).collect();
        let tree = Tree::new(self, func, &values);
        let pays = tree.pays(func, uses, registers(element.with_lanes(count as u32)));
        let Some(record) = FieldRecord::of(func, fields).filter(|_| pays) else {
            // A part may pay.
            let (first, second) = run.split_at(count / 2);
            let mut changed = false;
            for part in [first, second] {
                changed |= self.stores(func, uses, part);
            }
            return changed;
        };
        let nodes = tree.nodes;
        let (at, last) = record.at_end(func, self.block, true);
        let whole = self.emit(func, &nodes, last, at);
        let (at, last) = record.at_end(func, self.block, true);
        let (loc, pointer) = (func.locs[last], func.dfg.inst(last).args[0]);
        let mut b = Builder::before(func, self.block, at);
        b.set_loc(loc);
        let pointer = record.address(&mut b, (last, pointer));
        b.store(pointer, whole, record.mem);
        for &inst in &record.fields {
            func.layout.remove_inst(inst);
        }
        self.stores(func, uses, rest);
        true
    }

    /// How many stores of a run from the first one on store loads from one stretch, or something else.
    fn alike(&self, func: &Function, run: &[(i64, Inst)]) -> usize {
        let stored = |&(_, inst): &(i64, Inst)| func.dfg.def_inst(func.dfg.inst(inst).args[1]);
        let found = |field: &(i64, Inst)| stored(field).and_then(|inst| self.loads.get(&inst).copied());
        let follows = |pair: &[(i64, Inst)]| match (found(&pair[0]), found(&pair[1])) {
            (Some((a, place)), Some((b, next))) => a == b && next == place + 1,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        1 + run.windows(2).take_while(|pair| follows(pair)).count()
    }

    /// Makes a vector of scalars another way, if that pays.
    fn vector(&self, func: &mut Function, uses: &UseCounts, inst: Inst) -> bool {
        let values = func.dfg.inst(inst).args.to_vec();
        let Some(at) = func.layout.insts(self.block).iter().position(|&other| other == inst) else { return false };
        let tree = Tree::new(self, func, &values);
        let is_new = match tree.nodes.last() {
            Some((Node::Op(..) | Node::Load(..) | Node::Joined(..) | Node::Shuffle(..), _)) => true,
            Some((Node::Whole(_) | Node::Splat(_) | Node::Lanes(_), _)) | None => false,
        };
        if !is_new || !tree.pays(func, uses, 0.0) {
            return false;
        }
        let nodes = tree.nodes;
        let whole = self.emit(func, &nodes, inst, at);
        let lanes: Vec<u8> = (0..values.len() as u8).collect();
        let args = [whole, whole].into_iter().collect();
        func.dfg.replace_inst(inst, InstData { op: Opcode::Shuffle, args, imm: Imm::Lanes(lanes.into()) });
        true
    }

    /// Makes the vectors of a tree in front of the instruction `seed`, which is at this place; returns the last one.
    fn emit(&self, func: &mut Function, nodes: &[(Node, usize)], seed: Inst, mut at: usize) -> Value {
        let mut made: Vec<Value> = Vec::with_capacity(nodes.len());
        for (node, count) in nodes {
            let value = match node {
                Node::Whole(value) => *value,
                &Node::Load(group, first, width) => {
                    let value = self.load(func, group, first, width);
                    let place = func.layout.insts(self.block).iter().position(|&other| other == seed);
                    at = place.unwrap_or(at);
                    value
                }
                Node::Splat(_) | Node::Lanes(_) | Node::Op(..) | Node::Shuffle(..) | Node::Joined(..) => {
                    let mut b = Builder::before(func, self.block, at);
                    let value = match node {
                        Node::Splat(value) => b.splat(*value, *count as u32),
                        Node::Shuffle(of, lanes) => b.shuffle(made[*of], made[*of], lanes),
                        &Node::Joined(first, second, order) => {
                            let half = *count as u8 / 2;
                            let lanes: Vec<u8> = match order {
                                Order::InTurn => (0..half).flat_map(|lane| [lane, half + lane]).collect(),
                                Order::Concatenated => (0..2 * half).collect(),
                            };
                            b.shuffle(made[first], made[second], &lanes)
                        }
                        Node::Op(insts, args) => {
                            let (first, loc) = (b.func.dfg.inst(insts[0]).clone(), b.func.locs[insts[0]]);
                            let ty = b.ty(b.func.dfg.result(insts[0])).with_lanes(insts.len() as u32);
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
        let pointer = record.address(&mut b, (inst, pointer));
        b.load(record.ty, pointer, record.mem)
    }
}

/// The vectors that a seed needs. The nodes' operands precede them; the last one is the root.
struct Tree<'a> {
    accesses: &'a BlockAccesses<'a>,
    /// The nodes, each with the number of its lanes.
    nodes: Vec<(Node, usize)>,
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
        self.nodes.push((node, values.len()));
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
        let all = |op: Opcode| insts.iter().all(|&inst| func.dfg.inst(inst).op == op);
        let found = if all(Opcode::Extract) {
            self.extracted(func, &insts)
        } else if all(Opcode::Load) {
            self.loaded(func, &insts)
        } else {
            None
        };
        if let Some(found) = found {
            return found;
        }
        let here = |&inst: &Inst| func.layout.block_of(inst) == Some(self.accesses.block);
        let ty = func.dfg.ty(values[0]);
        let same = |&inst: &Inst| {
            let data = func.dfg.inst(inst);
            let types = data.args.iter().zip(&first.args).all(|(&a, &b)| func.dfg.ty(a) == func.dfg.ty(b));
            data.op == first.op && data.imm == first.imm && types && func.dfg.ty(func.dfg.result(inst)) == ty
        };
        if depth == 0 || self.nodes.len() >= MAX_NODES || ty.is_vector() {
            return lanes();
        }
        if !has_vector_form(func, insts[0]) || !insts.iter().all(|inst| here(inst) && same(inst)) {
            return self.joined(func, values, &insts, depth).unwrap_or_else(lanes);
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

    /// Components of one vector.
    fn extracted(&mut self, func: &Function, insts: &[Inst]) -> Option<Node> {
        let vector = func.dfg.inst(insts[0]).args[0];
        let lanes: Option<Vec<u8>> = insts
            .iter()
            .map(|&inst| {
                let data = func.dfg.inst(inst);
                if let Imm::Lane(lane) = data.imm
                    && data.args[0] == vector
                {
                    Some(lane)
                } else {
                    None
                }
            })
            .collect();
        let (lanes, count) = (lanes?, func.dfg.ty(vector).lanes() as usize);
        if count == lanes.len() && lanes.iter().zip(0..).all(|(&lane, place)| lane == place) {
            return Some(Node::Whole(vector));
        }
        self.nodes.push((Node::Whole(vector), count));
        Some(Node::Shuffle(self.nodes.len() - 1, lanes))
    }

    /// Loads from a stretch without gaps.
    fn loaded(&mut self, func: &Function, insts: &[Inst]) -> Option<Node> {
        let loads = self.accesses.loads;
        let &(group, _) = loads.get(&insts[0])?;
        let places: Option<Vec<usize>> =
            insts.iter().map(|inst| loads.get(inst).filter(|found| found.0 == group).map(|found| found.1)).collect();
        let places = places?;
        let (first, last) = (*places.iter().min()?, *places.iter().max()?);
        let all = &self.accesses.groups[group].fields;
        let ty = accessed(func, insts[0]);
        let is_dense = |fields: &[(i64, Inst)]| {
            fields.windows(2).all(|pair| pair[0].0.checked_add(ty.bytes().into()) == Some(pair[1].0))
                && fields.iter().all(|&(_, inst)| accessed(func, inst) == ty)
        };
        let most = (MOST_BYTES / ty.bytes()).min(Type::MAX_LANES) as usize;
        // One of the blocks whose length is a power of two that the whole stretch consists of, so that other vectors are made of
        // the same loads; or else no more than necessary.
        let width = (last - first + 1).next_power_of_two();
        let mut start = first;
        while start > 0 && is_dense(&all[start - 1..=start]) {
            start -= 1;
        }
        let block = start + (first - start) / width * width;
        let whole = all.get(block..block + width).filter(|fields| last < block + width && is_dense(fields));
        let (first, fields) = whole.map_or((first, &all[first..=last]), |fields| (block, fields));
        if !is_dense(fields) || fields.len() > most || FieldRecord::of(func, fields).is_none() {
            return None;
        }
        let load = Node::Load(group, first, fields.len());
        if fields.len() == insts.len() && places.iter().zip(first..).all(|(&place, wanted)| place == wanted) {
            return Some(load);
        }
        let results: Vec<Value> = fields.iter().map(|&(_, inst)| func.dfg.result(inst)).collect();
        let id = match self.known.get(&results) {
            Some(&known) => known,
            None => {
                self.nodes.push((load, fields.len()));
                self.known.insert(results, self.nodes.len() - 1);
                self.nodes.len() - 1
            }
        };
        Some(Node::Shuffle(id, places.iter().map(|&place| (place - first) as u8).collect()))
    }

    /// Values of which two halves are computed alike.
    fn joined(&mut self, func: &Function, values: &[Value], insts: &[Inst], depth: u32) -> Option<Node> {
        // What the lanes have in common: the operation, and the group that they load from.
        let kind = |inst: Inst| (func.dfg.inst(inst).op, self.accesses.loads.get(&inst).map(|found| found.0));
        if insts.len() < 4 || !insts.len().is_multiple_of(2) {
            return None;
        }
        let count = insts.len();
        let number = |order: Order, second: bool, at: usize| match order {
            Order::InTurn => 2 * at + usize::from(second),
            Order::Concatenated => at + if second { count / 2 } else { 0 },
        };
        let kinds = |order: Order, second: bool| (0..count / 2).map(move |at| kind(insts[number(order, second, at)]));
        let fits = |&order: &Order| {
            let [first, second] = [false, true].map(|second| kind(insts[number(order, second, 0)]));
            first != second
                && kinds(order, false).all(|kind| kind == first)
                && kinds(order, true).all(|kind| kind == second)
        };
        let order = [Order::InTurn, Order::Concatenated].into_iter().find(fits)?;
        let half = |second: bool| (0..count / 2).map(|at| values[number(order, second, at)]).collect::<Vec<Value>>();
        let (first, second) = (self.node(func, &half(false), depth - 1), self.node(func, &half(true), depth - 1));
        Some(Node::Joined(first, second, order))
    }

    /// Whether the tree and what becomes of its seed cost much less than the scalars.
    fn pays(&self, func: &Function, uses: &UseCounts, seed: f64) -> bool {
        let saved = |inst: Inst| {
            let value = func.dfg.result(inst);
            if self.inside.get(&value).copied() >= Some(uses.get(value)) { 1.0 } else { 0.0 }
        };
        // The stores of the seed, or what puts its scalars together.
        let (mut scalars, mut vectors) = (self.nodes.last().map_or(0, |root| root.1) as f64, seed);
        for (node, count) in &self.nodes {
            match node {
                Node::Whole(_) => {}
                Node::Splat(_) => vectors += 1.0,
                &Node::Shuffle(of, _) | &Node::Joined(of, ..) => {
                    let longer = self.nodes[of].1.max(*count) as u32;
                    vectors += SHUFFLE * registers(self.ty(func, of).with_lanes(longer));
                }
                Node::Lanes(values) if values.iter().all(|&value| func.dfg.as_const(value).is_some()) => {}
                Node::Lanes(values) => vectors += values.len() as f64,
                &Node::Load(group, first, width) => {
                    let fields = &self.accesses.groups[group].fields[first..first + width];
                    scalars += fields.iter().map(|&(_, inst)| saved(inst)).sum::<f64>();
                    vectors += registers(accessed(func, fields[0].1).with_lanes(width as u32));
                }
                Node::Op(insts, args) => {
                    scalars += insts.iter().map(|&inst| saved(inst)).sum::<f64>();
                    vectors += self.operation(func, insts[0], args, *count as u32);
                }
            }
        }
        vectors < WORTHWHILE * scalars
    }

    /// The type of a node's lanes.
    fn ty(&self, func: &Function, node: NodeId) -> Type {
        match &self.nodes[node].0 {
            Node::Whole(value) | Node::Splat(value) => func.dfg.ty(*value).lane(),
            Node::Lanes(values) => func.dfg.ty(values[0]),
            &Node::Load(group, first, _) => accessed(func, self.accesses.groups[group].fields[first].1),
            Node::Op(insts, _) => func.dfg.ty(func.dfg.result(insts[0])),
            &Node::Shuffle(of, _) | &Node::Joined(of, ..) => self.ty(func, of),
        }
    }

    /// The cost of a vector operation.
    fn operation(&self, func: &Function, inst: Inst, args: &[NodeId], count: u32) -> f64 {
        let data = func.dfg.inst(inst);
        let result = func.dfg.ty(func.dfg.result(inst));
        let from = func.dfg.ty(data.args[0]);
        let wide = if from.elem.bits() > result.elem.bits() { from } else { result };
        let same_count = |&arg: &NodeId| match &self.nodes[arg].0 {
            Node::Splat(_) => true,
            Node::Lanes(values) => {
                let bits = func.dfg.as_splat_bits(values[0]);
                bits.is_some() && values.iter().all(|&value| func.dfg.as_splat_bits(value) == bits)
            }
            Node::Whole(_) | Node::Load(..) | Node::Op(..) | Node::Shuffle(..) | Node::Joined(..) => false,
        };
        let shifts = matches!(data.op, Opcode::Shl | Opcode::Lshr | Opcode::Ashr | Opcode::Rotl);
        let multiplies = data.op == Opcode::Imul;
        let times = if shifts && !args.get(1).is_some_and(same_count) {
            VARIABLE_SHIFT
        } else if (shifts || multiplies) && wide.elem == Elem::I8
            || multiplies && wide.elem == Elem::I64
            || wide.elem == Elem::F16
        {
            EXPANDED
        } else {
            1.0
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
