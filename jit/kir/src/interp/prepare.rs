//! What is computed once per module: where values live in a frame, which variables a function needs, and the order of its code
//! where work-items of a sub-group must find each other again.

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

use smallvec::SmallVec;

use super::InterpError;
use super::memory::Memory;
use crate::analysis::{Cfg, DomTree, LoopForest, LoopId};
use crate::entities::{Block, Func, Global};
use crate::function::Function;
use crate::inst::{Imm, MemScope};
use crate::module::Module;
use crate::ops::Opcode;
use crate::types::Space;

/// Facts about a module that every run needs.
#[derive(Clone, Debug)]
pub struct Prepared {
    funcs: PrimaryMap<Func, PreparedFunction>,
}

/// Facts about a function.
#[derive(Clone, Debug)]
pub(super) struct PreparedFunction {
    /// First word of each value in a frame's registers, by the value's number.
    pub(super) offsets: Vec<u32>,
    /// Words of a frame.
    pub(super) words: usize,
    /// `__local` variables that it or a function it calls names.
    locals: Vec<Global>,
    /// Whether it or a function it calls takes the address of the argument block.
    pub(super) arg_addr: bool,
    /// The order of its code; only in modules with operations of sub-groups.
    pub(super) order: Option<Order>,
}

/// The order of a function's code: decides which of two work-items is behind. Loops count as one place seen from outside, so
/// those who have left one are ahead of those still in it, and a later repetition is ahead of an earlier one.
#[derive(Clone, Debug)]
pub(super) struct Order {
    cfg: Cfg,
    forest: LoopForest,
}

impl Order {
    fn new(func: &Function) -> Order {
        let cfg = Cfg::new(func);
        let forest = LoopForest::new(&cfg, &DomTree::new(&cfg));
        Order { cfg, forest }
    }

    fn number(&self, block: Block) -> u32 {
        self.cfg.number(block).unwrap_or(u32::MAX)
    }

    /// The loops around a block, outer first.
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

    /// Counts repetitions of loops along an edge.
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

    /// A place: of two the one that compares less is behind.
    pub(super) fn place(&self, block: Block, index: usize, trips: &[u32], place: &mut Vec<u32>) {
        for (id, &trip) in self.loops(block).into_iter().zip(trips) {
            place.extend([self.number(self.forest.get(id).header), trip]);
        }
        place.extend([self.number(block), index as u32]);
    }
}

impl Prepared {
    /// Walks all functions.
    pub fn new(module: &Module) -> Prepared {
        let mut funcs: PrimaryMap<Func, PreparedFunction> = module.funcs.values().map(prepare).collect();
        if module.funcs.values().any(has_sub_group_op) {
            for (id, func) in &module.funcs {
                funcs[id].order = Some(Order::new(func));
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
        Prepared { funcs }
    }

    /// The `__local` variables that a function needs, in ascending order.
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

/// Whether work-items of a sub-group exchange values in a function.
fn has_sub_group_op(func: &Function) -> bool {
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.map(|&inst| func.dfg.inst(inst)).any(|data| match &data.imm {
        Imm::Group(info) => info.scope == MemScope::SubGroup,
        _ => matches!(data.op, Opcode::GroupBallot | Opcode::GroupShuffle),
    })
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

/// Local variables a function names itself, and whether it takes the address of the argument block.
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

/// Addresses of the variables of a module: program-scope ones, and while a group runs its local ones.
#[derive(Clone, Debug, Default)]
pub struct GlobalAddresses {
    addresses: SecondaryMap<Global, u64>,
}

impl GlobalAddresses {
    /// The address of a variable; 0 when it has none (yet).
    pub fn get(&self, global: Global) -> u64 {
        self.addresses[global]
    }

    /// States the address of a variable.
    pub fn set(&mut self, global: Global, address: u64) {
        self.addresses[global] = address;
    }
}

/// Allocates and initializes the variables of a module in global and constant memory.
///
/// # Errors
/// When memory fails.
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
