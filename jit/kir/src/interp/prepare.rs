//! Data that is computed once per module: the registers of values in a frame, the variables that a function needs, and the
//! order of its code, by which work-items of a sub-group reconverge.

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

use smallvec::SmallVec;

use super::InterpError;
use super::memory::Memory;
use crate::analysis::{Cfg, DomTree, LoopForest, LoopId};
use crate::entities::{Block, Func, Global};
use crate::function::Function;
use crate::inst::{Imm, MemScope};
use crate::meeting::Meeting;
use crate::module::Module;
use crate::ops::Opcode;
use crate::types::Space;

/// Data about a module that every run needs.
#[derive(Clone, Debug)]
pub struct PreparedModule {
    funcs: PrimaryMap<Func, PreparedFunction>,
}

/// Data about a function.
#[derive(Clone, Debug)]
pub(super) struct PreparedFunction {
    /// First word of each value in a frame's registers, by the number of the value.
    pub(super) offsets: Vec<u32>,
    /// Words of a frame.
    pub(super) words: usize,
    /// `__local` variables that the function or its callees use.
    locals: Vec<Global>,
    /// Whether the function or its callees take the address of the argument block.
    pub(super) arg_addr: bool,
    /// The order of its code; only in modules with collective operations of sub-groups.
    pub(super) order: Option<CodeOrder>,
}

/// The order of a function's code, which says which of two work-items is ahead. From outside, a loop counts as one position: a
/// work-item that has left it is ahead of those in it, and a later iteration is ahead of an earlier one.
#[derive(Clone, Debug)]
pub(super) struct CodeOrder {
    cfg: Cfg,
    forest: LoopForest,
}

impl CodeOrder {
    fn new(func: &Function) -> CodeOrder {
        let cfg = Cfg::new(func);
        let forest = LoopForest::new(&cfg, &DomTree::new(&cfg));
        CodeOrder { cfg, forest }
    }

    fn number(&self, block: Block) -> u32 {
        self.cfg.number(block).unwrap_or(u32::MAX)
    }

    /// The loops that contain a block, outer loops first.
    pub(super) fn loops(&self, block: Block) -> SmallVec<[LoopId; 4]> {
        let mut loops: SmallVec<[LoopId; 4]> = SmallVec::new();
        let mut up = self.forest.innermost(block);
        while let Some(id) = up {
            loops.push(id);
            up = self.forest.get(id).parent;
        }
        loops.reverse();
        loops
    }

    /// Updates the iteration counts of loops along an edge.
    pub(super) fn follow(&self, from: Block, to: Block, trips: &mut SmallVec<[u32; 4]>) {
        let (old, new) = (self.loops(from), self.loops(to));
        let common = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        trips.truncate(common);
        if common == new.len()
            && let Some(&innermost) = new.last()
            && self.forest.get(innermost).header == to
        {
            trips[common - 1] += 1;
        }
        trips.resize(new.len(), 0);
    }

    /// Appends a position; the lesser of two positions is behind.
    pub(super) fn place(&self, block: Block, index: usize, trips: &[u32], place: &mut Vec<u32>) {
        for (id, &trip) in self.loops(block).into_iter().zip(trips) {
            place.extend([self.number(self.forest.get(id).header), trip]);
        }
        place.extend([self.number(block), index as u32]);
    }
}

impl PreparedModule {
    /// Computes the data for all functions.
    pub fn new(module: &Module) -> PreparedModule {
        let mut funcs: PrimaryMap<Func, PreparedFunction> = module.funcs.values().map(prepare).collect();
        if module.funcs.values().any(has_sub_group_op) {
            for (id, func) in &module.funcs {
                funcs[id].order = Some(CodeOrder::new(func));
            }
        }
        let calls: Vec<Vec<Func>> = module.funcs.values().map(|f| calls(f, module.funcs.len())).collect();
        for start in module.funcs.keys() {
            let mut seen = vec![false; module.funcs.len()];
            let mut stack = vec![start];
            let mut locals = Vec::new();
            let mut arg_addr = false;
            while let Some(func) = stack.pop() {
                if std::mem::replace(&mut seen[func.index()], true) {
                    continue;
                }
                let (named, addr) = named(module, &module.funcs[func]);
                locals.extend(named);
                arg_addr |= addr;
                stack.extend(&calls[func.index()]);
            }
            locals.sort_unstable();
            locals.dedup();
            funcs[start].locals = locals;
            funcs[start].arg_addr = arg_addr;
        }
        PreparedModule { funcs }
    }

    /// The `__local` variables that a function and its callees need, in ascending order.
    pub fn locals(&self, func: Func) -> &[Global] {
        &self.funcs[func].locals
    }

    pub(super) fn func(&self, func: Func) -> &PreparedFunction {
        &self.funcs[func]
    }
}

fn prepare(func: &Function) -> PreparedFunction {
    let mut words = 0usize;
    let mut offsets = Vec::with_capacity(func.dfg.value_count());
    for value in 0..func.dfg.value_count() {
        offsets.push(words as u32);
        words += func.dfg.ty(crate::entities::Value::new(value)).lanes() as usize;
    }
    PreparedFunction { offsets, words, locals: Vec::new(), arg_addr: false, order: None }
}

/// Whether a function has collective operations of sub-groups.
fn has_sub_group_op(func: &Function) -> bool {
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.map(|&inst| func.dfg.inst(inst).meeting()).any(|at| at == Some(Meeting::Exchange(MemScope::SubGroup)))
}

fn calls(func: &Function, count: usize) -> Vec<Func> {
    let mut list = Vec::new();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            if let Imm::Func(callee) = func.dfg.inst(inst).imm
                && callee.index() < count
            {
                list.push(callee);
            }
        }
    }
    list
}

/// The local variables that a function itself uses, and whether it takes the address of the argument block.
fn named(module: &Module, func: &Function) -> (Vec<Global>, bool) {
    let mut list = Vec::new();
    let mut arg_addr = false;
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            arg_addr |= data.op == Opcode::ArgAddr;
            if let Imm::Global(global) = data.imm
                && module.globals.get(global).is_some_and(|g| g.space == Space::Local)
            {
                list.push(global);
            }
        }
    }
    (list, arg_addr)
}

/// Addresses of the variables of a module: program-scope variables, and the local ones of the group that runs.
#[derive(Clone, Debug, Default)]
pub struct GlobalAddresses {
    addresses: SecondaryMap<Global, u64>,
}

impl GlobalAddresses {
    /// The address of a variable; 0 if it has none.
    pub fn get(&self, global: Global) -> u64 {
        self.addresses[global]
    }

    /// Sets the address of a variable.
    pub fn set(&mut self, global: Global, address: u64) {
        self.addresses[global] = address;
    }
}

/// Allocates and initializes the variables of a module in global and constant memory.
///
/// # Errors
/// If memory cannot be allocated or initialized.
pub fn load_globals(module: &Module, memory: &mut dyn Memory) -> Result<GlobalAddresses, InterpError> {
    let mut addresses = GlobalAddresses::default();
    for (id, global) in &module.globals {
        if global.space != Space::Local {
            addresses.set(id, memory.allocate(global.space, global.size, global.align)?);
        }
    }
    for (id, global) in &module.globals {
        if global.space == Space::Local {
            continue;
        }
        let size = usize::try_from(global.size).map_err(|_| InterpError::Memory(format!("size of {id}")))?;
        let mut bytes = global.init.bytes.clone();
        bytes.resize(size, 0);
        for &(offset, target, addend) in &global.init.addresses {
            let value = addresses.get(target).wrapping_add_signed(addend);
            let place = usize::try_from(offset).ok().and_then(|at| bytes.get_mut(at..at.checked_add(8)?));
            place
                .ok_or_else(|| InterpError::Memory(format!("initial address beyond {id}")))?
                .copy_from_slice(&value.to_le_bytes());
        }
        memory.initialize(addresses.get(id), &bytes)?;
    }
    Ok(addresses)
}
