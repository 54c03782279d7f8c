//! Data flow: values, instructions and constants, apart from the order of instructions (`layout`).

mod compact;

use cranelift_entity::{PrimaryMap, SecondaryMap};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::entities::{Block, Const, Inst, Value};
use crate::inst::{BlockCall, Imm, InstData};
use crate::types::Type;
pub(crate) use compact::Renumbering;

/// The definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// The n-th result of an instruction.
    Result(Inst, u16),
    /// The n-th parameter of a block.
    Param(Block, u16),
}

#[derive(Clone, Debug)]
struct ValueData {
    ty: Type,
    def: ValueDef,
}

/// Result list of an instruction.
pub type Results = SmallVec<[Value; 1]>;

/// A constant: its type and the bits of each lane; a splat stores its lane once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConstData {
    /// Its type.
    pub ty: Type,
    lanes: SmallVec<[u64; 2]>,
}

impl ConstData {
    /// The same bits in every lane.
    pub fn splat(ty: Type, bits: u64) -> ConstData {
        ConstData { ty, lanes: SmallVec::from_slice(&[bits & ty.elem.mask()]) }
    }

    /// One word of bits per lane.
    ///
    /// # Panics
    /// If the count differs from the type's number of lanes, which is a bug of the caller.
    pub fn new(ty: Type, lanes: &[u64]) -> ConstData {
        assert_eq!(lanes.len(), ty.lanes() as usize, "broken invariant: lanes of a constant");
        let first = lanes[0] & ty.elem.mask();
        if lanes.iter().all(|&l| l & ty.elem.mask() == first) {
            ConstData::splat(ty, first)
        } else {
            ConstData { ty, lanes: lanes.iter().map(|l| l & ty.elem.mask()).collect() }
        }
    }

    /// Bits of a lane.
    pub fn lane(&self, lane: u32) -> u64 {
        self.lanes[if self.lanes.len() == 1 { 0 } else { lane as usize }]
    }

    /// The bits of all lanes if they are equal.
    pub fn as_splat(&self) -> Option<u64> {
        (self.lanes.len() == 1).then(|| self.lanes[0])
    }

    /// Bits of all lanes.
    pub fn to_lanes(&self) -> Vec<u64> {
        (0..self.ty.lanes()).map(|lane| self.lane(lane)).collect()
    }
}

/// Values, instructions and constants of a function. Instructions not in the [`Layout`](crate::Layout) are dead.
#[derive(Clone, Debug, Default)]
pub struct DataFlowGraph {
    insts: PrimaryMap<Inst, InstData>,
    results: SecondaryMap<Inst, Results>,
    values: PrimaryMap<Value, ValueData>,
    blocks: PrimaryMap<Block, SmallVec<[Value; 4]>>,
    consts: PrimaryMap<Const, ConstData>,
    const_ids: FxHashMap<ConstData, Const>,
}

impl DataFlowGraph {
    /// Creates an instruction with results of the given types. It is not in the layout yet.
    pub fn make_inst(&mut self, data: InstData, result_types: &[Type]) -> Inst {
        let inst = self.insts.push(data);
        let results = result_types
            .iter()
            .enumerate()
            .map(|(i, &ty)| self.values.push(ValueData { ty, def: ValueDef::Result(inst, i as u16) }))
            .collect();
        self.results[inst] = results;
        inst
    }

    /// The instruction's data.
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst]
    }

    /// Mutable access to the instruction's data; its results are not changed.
    pub fn inst_mut(&mut self, inst: Inst) -> &mut InstData {
        &mut self.insts[inst]
    }

    /// Replaces an instruction's data; the number and types of its results must stay the same.
    pub fn replace_inst(&mut self, inst: Inst, data: InstData) {
        self.insts[inst] = data;
    }

    /// The instruction's results.
    pub fn results(&self, inst: Inst) -> &[Value] {
        &self.results[inst]
    }

    /// The only result.
    ///
    /// # Panics
    /// If there is not exactly one, which is a bug of the caller.
    pub fn result(&self, inst: Inst) -> Value {
        match *self.results(inst) {
            [value] => value,
            ref other => unreachable!("broken invariant: {} results of {:?}", other.len(), self.insts[inst].op),
        }
    }

    /// The only result, if there is exactly one.
    pub fn single_result(&self, inst: Inst) -> Option<Value> {
        match *self.results(inst) {
            [value] => Some(value),
            _ => None,
        }
    }

    /// A value's type.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value].ty
    }

    /// Changes a value's type. The caller sees to it that the definition and the uses agree with it.
    pub fn set_type(&mut self, value: Value, ty: Type) {
        self.values[value].ty = ty;
    }

    /// The definition of a value.
    pub fn def(&self, value: Value) -> ValueDef {
        self.values[value].def
    }

    /// The instruction that computes a value; `None` for block parameters.
    pub fn def_inst(&self, value: Value) -> Option<Inst> {
        match self.def(value) {
            ValueDef::Result(inst, _) => Some(inst),
            ValueDef::Param(..) => None,
        }
    }

    /// The constant, if the value's definition is a `const`.
    pub fn as_const(&self, value: Value) -> Option<&ConstData> {
        let Imm::Const(id) = self.inst(self.def_inst(value)?).imm else { return None };
        Some(&self.consts[id])
    }

    /// The bits of a constant with equal lanes (any scalar constant).
    pub fn as_splat_bits(&self, value: Value) -> Option<u64> {
        self.as_const(value)?.as_splat()
    }

    /// A constant integer with equal lanes, as a signed number.
    pub fn as_splat_signed(&self, value: Value) -> Option<i64> {
        let bits = self.as_splat_bits(value)?;
        let unused = u64::BITS - self.ty(value).elem.bits();
        Some((bits << unused).cast_signed() >> unused)
    }

    /// Creates a block without parameters. It is not in the layout yet.
    pub fn make_block(&mut self) -> Block {
        self.blocks.push(SmallVec::new())
    }

    /// A block's parameters.
    pub fn params(&self, block: Block) -> &[Value] {
        &self.blocks[block]
    }

    /// Appends a parameter. Every branch to the block then needs one more argument.
    pub fn append_param(&mut self, block: Block, ty: Type) -> Value {
        let index = self.blocks[block].len() as u16;
        let value = self.values.push(ValueData { ty, def: ValueDef::Param(block, index) });
        self.blocks[block].push(value);
        value
    }

    /// Removes the n-th parameter. Every branch to the block then needs one argument less; the value must have no uses left.
    pub fn remove_param(&mut self, block: Block, index: usize) {
        self.blocks[block].remove(index);
        for i in index..self.blocks[block].len() {
            let value = self.blocks[block][i];
            self.values[value].def = ValueDef::Param(block, i as u16);
        }
    }

    /// Removes the parameters for which `keep` is false. Every branch to the block then needs as many arguments less; the values
    /// must have no uses left.
    pub fn retain_params(&mut self, block: Block, mut keep: impl FnMut(Value) -> bool) {
        if self.blocks[block].iter().all(|&param| keep(param)) {
            return;
        }
        self.blocks[block].retain(|param| keep(*param));
        for (i, &value) in self.blocks[block].iter().enumerate() {
            self.values[value].def = ValueDef::Param(block, i as u16);
        }
    }

    /// The id of a constant, which is added to the pool if it is new.
    pub fn make_const(&mut self, data: ConstData) -> Const {
        if let Some(&id) = self.const_ids.get(&data) {
            return id;
        }
        let id = self.consts.push(data.clone());
        self.const_ids.insert(data, id);
        id
    }

    /// A constant of the pool.
    pub fn constant(&self, id: Const) -> &ConstData {
        &self.consts[id]
    }

    /// Number of values created so far, including dead ones: the size of dense side tables.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Number of instructions created so far, including dead ones.
    pub fn inst_count(&self) -> usize {
        self.insts.len()
    }

    /// Number of blocks created so far, including dead ones.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Number of constants in the pool.
    pub fn const_count(&self) -> usize {
        self.consts.len()
    }

    /// Calls `f` with every value an instruction uses: operands, then arguments of branch targets.
    pub fn for_each_use(&self, inst: Inst, mut f: impl FnMut(Value)) {
        self.insts[inst].args.iter().copied().for_each(&mut f);
        for target in self.targets(inst) {
            target.args.iter().copied().for_each(&mut f);
        }
    }

    /// Replaces every value that an instruction uses by the result of `f`.
    pub fn map_uses(&mut self, inst: Inst, mut f: impl FnMut(Value) -> Value) {
        for arg in &mut self.insts[inst].args {
            *arg = f(*arg);
        }
        for target in self.targets_mut(inst) {
            for arg in &mut target.args {
                *arg = f(*arg);
            }
        }
    }

    /// The branch targets of an instruction, in order (for a switch: cases, then default); empty if it is not a branch.
    pub fn targets(&self, inst: Inst) -> SmallVec<[&BlockCall; 2]> {
        self.insts[inst].imm.targets()
    }

    /// Mutable [`Self::targets`].
    pub fn targets_mut(&mut self, inst: Inst) -> SmallVec<[&mut BlockCall; 2]> {
        self.insts[inst].imm.targets_mut()
    }
}
