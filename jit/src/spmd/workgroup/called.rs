//! Called functions at stage *looped*: they get the launch context, and their private variables are in the record.
//!
//! A function has no part in the loops over work-items: each call is for one work-item.

use clift_kir::inst::Imm;
use clift_kir::{Builder, Function, InstData, Opcode, Space, Stage, Type};

use crate::passes::Replacements;
use crate::passes::calls::RecordLayout;

/// The looped form of a called function, which is at stage *canonical*.
pub(crate) fn run(func: &Function, layout: RecordLayout) -> Function {
    let mut func = func.clone();
    let frame = layout.with_slots(&func.slots);
    let Some(old) = func.layout.entry() else { unreachable!("broken invariant: `{}` has no body", func.name) };
    let start = func.dfg.make_block();
    func.dfg.append_param(start, Type::ptr(Space::Host));
    let record = func.dfg.append_param(start, Type::ptr(Space::Private));
    let mut order = vec![start];
    order.extend(func.layout.blocks());
    func.layout.append_block(start);
    func.layout.set_order(order);
    Builder::at_end(&mut func, start).jump(old, &[record]);
    let mut replacements = Replacements::default();
    replacements.set(func.dfg.params(old)[0], record);
    for block in func.layout.blocks().to_vec() {
        for index in 0..func.layout.insts(block).len() {
            let inst = func.layout.insts(block)[index];
            if let Imm::Slot(slot) = func.dfg.inst(inst).imm {
                let imm = Imm::Addr { scale: 1, disp: frame.offset(slot) as i64 };
                func.dfg.replace_inst(inst, InstData { op: Opcode::Addr, args: [record].into_iter().collect(), imm });
            }
        }
    }
    replacements.apply(&mut func);
    func.slots.clear();
    func.stage = Stage::Looped;
    func
}
