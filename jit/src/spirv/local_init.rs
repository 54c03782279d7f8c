//! Local variables with a null initializer: the first work-item of each work-group fills them with zeros, and a barrier follows.
//! Other initializers of local variables are rejected at the declaration of the variable.

use clift_kir::{
    BarrierInfo, BlockCall, Builder, Func, Function, Global, Imm, IntCond, MemInfo, MemScope, Module, Opcode, Space,
    SpaceSet, Type,
};
use rustc_hash::FxHashSet;

/// Inserts the zeroing of the variables that a kernel uses before its body.
pub(super) fn run(module: &mut Module, zeroed: &[Global]) {
    if zeroed.is_empty() {
        return;
    }
    for number in 0..module.kernels.len() {
        let kernel = module.kernels[number].func;
        let used = used(module, kernel);
        let fills: Vec<ZeroFill> = zeroed
            .iter()
            .filter(|global| used.contains(global))
            .map(|&global| ZeroFill { global, size: module.globals[global].size, align: module.globals[global].align })
            .collect();
        if !fills.is_empty() {
            prepend(&mut module.funcs[kernel], &fills);
        }
    }
}

/// A variable to be filled.
struct ZeroFill {
    global: Global,
    size: u64,
    align: u32,
}

/// The variables that a function and those it calls refer to.
fn used(module: &Module, root: Func) -> FxHashSet<Global> {
    let mut globals = FxHashSet::default();
    let (mut seen, mut work) = (FxHashSet::from_iter([root]), vec![root]);
    while let Some(func) = work.pop() {
        let func = &module.funcs[func];
        for inst in func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)) {
            if let Imm::Global(global) = func.dfg.inst(*inst).imm {
                globals.insert(global);
            } else if let Imm::Func(callee) = func.dfg.inst(*inst).imm
                && seen.insert(callee)
            {
                work.push(callee);
            }
        }
    }
    globals
}

/// `if first { fill }; barrier;` in front of a function's body.
fn prepend(func: &mut Function, fills: &[ZeroFill]) {
    let Some(entry) = func.layout.entry() else { unreachable!("broken invariant: a kernel has a body") };
    let body = func.layout.take_insts(entry);
    let (fill, rest) = (func.append_block(), func.append_block());
    let id = func.fresh_barrier();
    let mut b = Builder::at_end(func, entry);
    let item = b.query_linear(Opcode::LocalLinearId);
    let zero = b.iconst(Type::I64, 0);
    let is_first = b.icmp(IntCond::Eq, item, zero);
    b.branch(is_first, BlockCall::new(fill, &[]), BlockCall::new(rest, &[]));
    b.switch_to(fill);
    let byte = b.iconst(Type::I8, 0);
    for &ZeroFill { global, size, align } in fills {
        let address = b.global_addr(global, Space::Local);
        let count = b.iconst(Type::I64, size as i64);
        b.memset(address, byte, count, MemInfo::aligned(align));
    }
    b.jump(rest, &[]);
    b.switch_to(rest);
    let scope = MemScope::WorkGroup;
    b.barrier(BarrierInfo { id, execution: scope, memory: scope, spaces: SpaceSet::LOCAL });
    for inst in body {
        func.layout.append_inst(rest, inst);
    }
}
