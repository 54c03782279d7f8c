//! Helpers that several passes use.

use clift_kir::{BlockCall, Function, Imm, Inst, InstData, Opcode, Space, Value};
use cranelift_entity::SecondaryMap;

/// Replacements of values, applied to the whole function at once.
#[derive(Default)]
pub(crate) struct Replacements {
    to: SecondaryMap<Value, Option<Value>>,
    any: bool,
}

impl Replacements {
    /// Replaces `old` by `new` from now on.
    pub(crate) fn set(&mut self, old: Value, new: Value) {
        self.to[old] = Some(new);
        self.any = true;
    }

    /// The value that replaces a value, or the value itself.
    pub(crate) fn get(&self, mut value: Value) -> Value {
        while let Some(next) = self.to[value] {
            value = next;
        }
        value
    }

    /// Whether there is anything to apply.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Rewrites every use.
    pub(crate) fn apply(&self, func: &mut Function) {
        if !self.any {
            return;
        }
        let Function { layout, dfg, .. } = func;
        // Resolve chains once.
        let mut ends = self.to.clone();
        let mut end = |value: Value| {
            let (mut end, mut at) = (value, value);
            while let Some(next) = ends[end] {
                end = next;
            }
            while let Some(next) = ends[at] {
                ends[at] = Some(end);
                at = next;
            }
            end
        };
        for &block in layout.blocks() {
            for &inst in layout.insts(block) {
                dfg.map_uses(inst, &mut end);
            }
        }
    }
}

/// The instruction from whose result a pointer is computed by constant offsets alone, and their sum.
pub(crate) fn base_and_offset(func: &Function, pointer: Value) -> Option<(Inst, u64)> {
    let (mut at, mut offset) = (pointer, 0u64);
    loop {
        let def = func.dfg.def_inst(at)?;
        let data = func.dfg.inst(def);
        match (data.op, &data.imm, data.args.as_slice()) {
            (Opcode::Addr, &Imm::Addr { scale, disp }, &[base, ref index @ ..]) if !func.dfg.ty(at).is_vector() => {
                let index = match index {
                    [] => 0,
                    [index, ..] => func.dfg.as_splat_bits(*index)?,
                };
                offset = offset.wrapping_add(index.wrapping_mul(scale)).wrapping_add_signed(disp);
                at = base;
            }
            (Opcode::SpaceCast, _, &[base]) if !func.dfg.ty(at).is_vector() => at = base,
            _ => return Some((def, offset)),
        }
    }
}

/// Whether an instruction is a load that always gives the same value: it is marked invariant, or reads memory that cannot change
/// while a kernel runs.
pub(super) fn is_invariant_load(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    match (data.op, &data.imm) {
        (Opcode::Load, Imm::Mem(mem)) if !mem.volatile => {
            mem.invariant
                || match func.dfg.ty(data.args[0]).elem.space() {
                    Some(Space::Constant | Space::Host) => true,
                    Some(Space::Private | Space::Global | Space::Local | Space::Generic) | None => false,
                }
        }
        _ => false,
    }
}

/// Whether a load may be executed speculatively: it reads the runtime's structures or the kernel's arguments, which are always
/// accessible.
pub(super) fn is_speculatable_load(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    data.op == Opcode::Load
        && is_invariant_load(func, inst)
        && func.dfg.ty(data.args[0]).elem.space() == Some(Space::Host)
}

/// Replaces a terminator by a jump.
pub(super) fn set_jump(func: &mut Function, inst: Inst, call: BlockCall) {
    func.dfg.replace_inst(inst, InstData { op: Opcode::Jump, args: Default::default(), imm: Imm::Jump(call) });
}
