//! The record of a call: parameters, results, and the private variables of the called function, in the caller's private memory.
//!
//! ```text
//! parameters, values of queries | results | private variables of the function, among them the record of what it calls itself
//! ```
//!
//! So neither values nor variables are on the C stack, whose size is limited, and a caller needs one record for all its calls,
//! because only one is active at a time.

use clift_kir::{
    Builder, Elem, Func, Function, Imm, InstData, IntCond, MemInfo, Module, Opcode, Slot, SlotData, Space, Type, Value,
};
use cranelift_entity::{EntityRef, PrimaryMap};
use rustc_hash::FxHashMap;

use super::CalledFunction;
use super::work_item::PassedQuery;
use crate::passes::Replacements;

/// Where the values of a record end, and its alignment without the variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordLayout {
    values_end: u64,
    align: u32,
}

/// The layout of a whole record.
#[derive(Clone, Debug)]
pub(crate) struct FrameLayout {
    /// The offset of each private variable.
    pub(crate) slots: Vec<u64>,
    size: u64,
    align: u32,
}

impl RecordLayout {
    /// The places of values, one after the other from an offset on.
    fn places(self, types: &[Type]) -> (Vec<u64>, RecordLayout) {
        let RecordLayout { mut values_end, mut align } = self;
        let places = types.iter().map(|&ty| {
            let own = alignment(ty);
            align = align.max(own);
            let place = values_end.next_multiple_of(own.into());
            values_end = place + u64::from(memory_type(ty).bytes());
            place
        });
        (places.collect(), RecordLayout { values_end, align })
    }

    /// The layout with the private variables of the function.
    pub(crate) fn with_slots(self, slots: &PrimaryMap<Slot, SlotData>) -> FrameLayout {
        let mut frame = FrameLayout { slots: Vec::new(), size: self.values_end, align: self.align };
        for slot in slots.values() {
            let offset = frame.size.next_multiple_of(slot.align.into());
            frame.slots.push(offset);
            frame.size = offset.saturating_add(slot.size);
            frame.align = frame.align.max(slot.align);
        }
        frame
    }
}

/// The largest alignment of a value: a cache line.
const MAX_ALIGN: u32 = 64;

/// Booleans are bytes in memory.
fn memory_type(ty: Type) -> Type {
    if ty.is_bool() { ty.with_elem(Elem::I8) } else { ty }
}

fn alignment(ty: Type) -> u32 {
    let ty = memory_type(ty);
    if ty.lanes().is_power_of_two() { ty.bytes().min(MAX_ALIGN) } else { ty.elem.bytes() }
}

fn store(b: &mut Builder<'_>, record: Value, offset: u64, value: Value) {
    let ty = b.ty(value);
    let stored = if ty.is_bool() { b.cast(Opcode::Zext, value, memory_type(ty)) } else { value };
    let address = b.addr(record, None, 1, offset as i64);
    b.store(address, stored, MemInfo::aligned(alignment(ty)));
}

fn load(b: &mut Builder<'_>, record: Value, offset: u64, ty: Type) -> Value {
    let address = b.addr(record, None, 1, offset as i64);
    let loaded = b.load(memory_type(ty), address, MemInfo::aligned(alignment(ty)));
    if !ty.is_bool() {
        return loaded;
    }
    let zero = b.iconst(memory_type(ty), 0);
    b.icmp(IntCond::Ne, loaded, zero)
}

/// The places of a function's parameters and results.
fn layout(params: &[Type], returns: &[Type]) -> (Vec<u64>, Vec<u64>, RecordLayout) {
    let (params, layout) = RecordLayout { values_end: 0, align: 1 }.places(params);
    let (returns, layout) = layout.places(returns);
    (params, returns, layout)
}

/// Replaces the parameters and results of a function by a record.
pub(super) fn lower_signature(func: &mut Function) -> RecordLayout {
    let types = func.param_types();
    let returned = std::mem::take(&mut func.returns);
    let (params, returns, layout) = layout(&types, &returned);
    let Some(entry) = func.layout.entry() else {
        unreachable!("broken invariant: function `{}` has no body", func.name)
    };
    let start = func.dfg.make_block();
    let record = func.dfg.append_param(start, Type::ptr(Space::Private));
    let mut order = vec![start];
    order.extend(func.layout.blocks());
    func.layout.append_block(start);
    func.layout.set_order(order);
    let mut b = Builder::at_end(func, start);
    let values: Vec<Value> = params.iter().zip(&types).map(|(&place, &ty)| load(&mut b, record, place, ty)).collect();
    b.jump(entry, &values);
    for block in func.layout.blocks().to_vec() {
        let Some(end) = func.layout.terminator(block).filter(|&inst| func.dfg.inst(inst).op == Opcode::Ret) else {
            continue;
        };
        let values = func.dfg.inst(end).args.to_vec();
        let loc = func.locs[end];
        let mut insts = func.layout.take_insts(block);
        insts.pop();
        func.layout.set_insts(block, insts);
        let mut b = Builder::at_end(func, block);
        b.set_loc(loc);
        for (&value, &place) in values.iter().zip(&returns) {
            store(&mut b, record, place, value);
        }
        b.ret(&[]);
    }
    layout
}

/// What calls of a function become.
pub(super) struct Lowered {
    pub(super) function: CalledFunction,
    /// What it asks of the work-item, in the order of its parameters behind its own.
    pub(super) queries: Vec<PassedQuery>,
}

/// Replaces the calls of functions by calls of their counterparts that take records.
pub(super) fn lower_calls(module: &mut Module, id: Func, records: &FxHashMap<Func, Lowered>) {
    let mut func = std::mem::replace(&mut module.funcs[id], Function::new("", &[]));
    let mut frame = SlotData { size: 0, align: 1 };
    // The slot of the record; its size is known in the end.
    let mut slot: Option<Slot> = None;
    let mut replacements = Replacements::default();
    for block in func.layout.blocks().to_vec() {
        let is_lowered = |data: &InstData| matches!(data.imm, Imm::Func(callee) if records.contains_key(&callee));
        if !func.layout.insts(block).iter().any(|&inst| is_lowered(func.dfg.inst(inst))) {
            continue;
        }
        for inst in func.layout.take_insts(block) {
            let known = if let Imm::Func(callee) = func.dfg.inst(inst).imm { records.get(&callee) } else { None };
            let Some(Lowered { function: called, queries }) = known else {
                func.layout.append_inst(block, inst);
                continue;
            };
            let mut args = func.dfg.inst(inst).args.to_vec();
            let results = func.dfg.results(inst).to_vec();
            let loc = func.locs[inst];
            let mut b = Builder::at_end(&mut func, block);
            b.set_loc(loc);
            args.extend(queries.iter().map(|query| query.ask(&mut b)));
            let types = |values: &[Value]| values.iter().map(|&value| func.dfg.ty(value)).collect::<Vec<Type>>();
            let (result_types, arg_types) = (types(&results), types(&args));
            let (params, returns, _) = layout(&arg_types, &result_types);
            let whole = called.layout.with_slots(&module.funcs[called.func].slots);
            frame = SlotData { size: frame.size.max(whole.size), align: frame.align.max(whole.align) };
            let slot = *slot.get_or_insert_with(|| func.slots.push(frame));
            let mut b = Builder::at_end(&mut func, block);
            b.set_loc(loc);
            let record = b.slot_addr(slot);
            for (&arg, &place) in args.iter().zip(&params) {
                store(&mut b, record, place, arg);
            }
            b.call(called.func, &[record], &[]);
            for ((&result, &place), &ty) in results.iter().zip(&returns).zip(&result_types) {
                let loaded = load(&mut b, record, place, ty);
                replacements.set(result, loaded);
            }
        }
    }
    if let Some(slot) = slot {
        // A variable of no bytes has no address.
        func.slots[slot] = SlotData { size: frame.size.max(1), ..frame };
    }
    replacements.apply(&mut func);
    module.funcs[id] = func;
}

impl FrameLayout {
    /// The offset of a private variable in the record.
    pub(crate) fn offset(&self, slot: Slot) -> u64 {
        self.slots[slot.index()]
    }
}
