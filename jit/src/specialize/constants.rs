//! What is constant for a launch, and which of it decides how a kernel's code could be.

use clift_kir::analysis::{Cfg, DomTree, LoopForest};
use clift_kir::{Function, Imm, Inst, InstData, MemInfo, Opcode, Type, Value};
use cranelift_entity::EntitySet;
use smallvec::SmallVec;

use super::CodeVariant;
use crate::passes::base_and_offset;

/// The place of an integer in the argument block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArgPlace {
    /// Offset in bytes.
    pub offset: u32,
    /// Bytes: 1, 2, 4 or 8.
    pub bytes: u32,
}

impl ArgPlace {
    /// The integer's value in an argument block, zero-extended.
    pub fn value_in(self, block: &[u8]) -> u64 {
        let bytes = block.get(self.offset as usize..).unwrap_or_default();
        bytes.iter().take(self.bytes as usize).rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    /// The integers that an instruction reads from the argument block, one per component of the result: an argument, or a part of
    /// a structure that is one.
    pub(crate) fn read_by(func: &Function, inst: Inst) -> Option<(Type, Vec<ArgPlace>)> {
        let data = func.dfg.inst(inst);
        let offset = match (data.op, &data.imm) {
            (Opcode::Arg, &Imm::Offset(offset)) => offset,
            (Opcode::Load, Imm::Mem(MemInfo { volatile: false, .. })) => offset_in_block(func, data.args[0])?,
            _ => return None,
        };
        let ty = func.dfg.ty(func.dfg.single_result(inst)?);
        let bytes = ty.elem.bytes();
        let places = (0..ty.lanes()).map(|lane| ArgPlace { offset: offset + lane * bytes, bytes });
        ty.is_int().then(|| (ty, places.collect()))
    }
}

/// The offset in the argument block to which a pointer points, if that is constant.
fn offset_in_block(func: &Function, pointer: Value) -> Option<u32> {
    let (base, offset) = base_and_offset(func, pointer)?;
    match func.dfg.inst(base) {
        InstData { op: Opcode::ArgAddr, imm: Imm::Offset(start), .. } => {
            offset.checked_add((*start).into()).and_then(|offset| u32::try_from(offset).ok())
        }
        _ => None,
    }
}

/// Constants of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LaunchConstants {
    /// Number of dimensions.
    pub dims: u32,
    /// Work-items per dimension.
    pub global_size: [u64; 3],
    /// Offset of the global ids per dimension.
    pub global_offset: [u64; 3],
    /// Enqueued local size per dimension.
    pub local_size: [u64; 3],
    /// Integers in the argument block, zero-extended.
    pub args: Vec<(ArgPlace, u64)>,
}

impl LaunchConstants {
    /// Numbers of work-groups, with smaller ones at the ends.
    pub(crate) fn num_groups(&self) -> [u64; 3] {
        std::array::from_fn(|d| self.global_size[d].div_ceil(self.local_size[d].max(1)))
    }

    /// The components of the result of an instruction that reads nothing else.
    pub(crate) fn result_of(&self, func: &Function, inst: Inst) -> Option<(Type, Vec<u64>)> {
        if let Some((ty, places)) = ArgPlace::read_by(func, inst) {
            let value = |place| self.args.iter().find(|(known, _)| *known == place).map(|&(_, value)| value);
            return Some((ty, places.into_iter().map(value).collect::<Option<Vec<u64>>>()?));
        }
        let data = func.dfg.inst(inst);
        let dim = usize::from(data.imm.dim());
        let (global, local) = (self.global_size[dim], self.local_size[dim]);
        let value = if !is_launch_query(data.op) {
            return None;
        } else if data.op == Opcode::WorkDim {
            self.dims.into()
        } else if data.op == Opcode::GlobalSize {
            global
        } else if data.op == Opcode::GlobalOffset {
            self.global_offset[dim]
        } else if data.op == Opcode::NumGroups {
            global.div_ceil(local.max(1))
        } else if data.op == Opcode::EnqueuedLocalSize || global.is_multiple_of(local) {
            local
        } else {
            return None;
        };
        Some((func.dfg.ty(func.dfg.single_result(inst)?), vec![value]))
    }
}

/// Whether an op asks for a size that all work-items of a launch have in common, if its work-groups are uniform.
fn is_launch_query(op: Opcode) -> bool {
    [
        Opcode::WorkDim,
        Opcode::GlobalSize,
        Opcode::GlobalOffset,
        Opcode::NumGroups,
        Opcode::EnqueuedLocalSize,
        Opcode::LocalSize,
    ]
    .contains(&op)
}

/// What of a launch's constants decides how the code of a kernel could be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecidingConstants {
    /// Integers in the argument block.
    pub args: Vec<ArgPlace>,
    /// Whether sizes do.
    pub sizes: bool,
    /// Lanes that were estimated to be somewhat slower than the usual ones: estimates know nothing of the data.
    pub rejected_lanes: Option<u32>,
    /// How the code could be instead where no estimate says so: what is estimated to be best is not always.
    pub alternatives: SmallVec<[CodeVariant; 3]>,
    /// The size of the kernel in instructions of the kernel IR.
    pub instructions: usize,
}

impl DecidingConstants {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        !self.has_constants() && self.rejected_lanes.is_none() && self.alternatives.is_empty()
    }

    /// Whether any constants decide.
    pub fn has_constants(&self) -> bool {
        !self.args.is_empty() || self.sizes
    }

    /// Finds what a kernel computes from constants of the launch alone, and whether that would simplify it: a divisor; a factor,
    /// mask or shift count for other values (an unknown stride makes accesses scattered); the bound of a loop; or a condition.
    pub(crate) fn of(func: &Function) -> DecidingConstants {
        let cfg = Cfg::new(func);
        let dom = DomTree::new(&cfg);
        let loops = LoopForest::new(&cfg, &dom);
        let mut derived: EntitySet<Value> = EntitySet::new();
        let mut sources = DecidingConstants::default();
        let mut simplifies = false;
        for &block in cfg.rpo() {
            let innermost = loops.innermost(block);
            let leaves_loop = innermost.is_some_and(|id| cfg.succs(block).iter().any(|&to| !loops.contains(id, to)));
            sources.instructions += func.layout.insts(block).len();
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                if data.op == Opcode::Call {
                    return DecidingConstants::default();
                }
                let read = ArgPlace::read_by(func, inst);
                if read.is_some() || is_launch_query(data.op) {
                    sources.sizes |= read.is_none();
                    sources.args.extend(read.into_iter().flat_map(|(_, places)| places));
                    derived.extend(func.dfg.results(inst).iter().copied());
                    continue;
                }
                let is_derived = |value: &Value| derived.contains(*value);
                let is_constant = |value: &Value| func.dfg.as_const(*value).is_some();
                let any = data.args.iter().any(is_derived);
                if any && data.args.iter().all(|arg| is_derived(arg) || is_constant(arg)) && data.op.is_pure() {
                    simplifies |= data.op == Opcode::Icmp;
                    derived.extend(func.dfg.results(inst).iter().copied());
                    continue;
                }
                let divides = [Opcode::Udiv, Opcode::Sdiv, Opcode::Urem, Opcode::Srem].contains(&data.op);
                simplifies |= divides && is_derived(&data.args[1]);
                let combines = [Opcode::Imul, Opcode::And, Opcode::Xor, Opcode::Shl, Opcode::Lshr, Opcode::Ashr];
                simplifies |= any && combines.contains(&data.op);
                simplifies |= any && data.op == Opcode::Icmp && leaves_loop;
            }
        }
        if !simplifies {
            return DecidingConstants { instructions: sources.instructions, ..DecidingConstants::default() };
        }
        sources.args.sort_unstable();
        sources.args.dedup();
        sources
    }
}

#[cfg(test)]
mod tests {
    use clift_kir::text;

    use super::{ArgPlace, DecidingConstants};

    /// What decides the code of a kernel that gets `n` at offset 8, and stores it at an index computed by `body`.
    fn deciding(body: &str) -> Vec<ArgPlace> {
        let module = format!(
            "function f0 \"k\" canonical {{\nb0:\n v0: ptr(global) = arg 0\n v1: i64 = arg 8\n v2: i64 = global_id 0\n{body}\n \
             v8: ptr(global) = addr scale 8 v0, v7\n store align 8 v8, v1\n ret\n}}\nkernel f0 args 16\n"
        );
        let module = text::parse_module(&module).unwrap_or_else(|e| panic!("{e}"));
        DecidingConstants::of(&module.funcs[module.kernels[0].func]).args
    }

    #[test]
    fn strides_and_divisors_decide_and_offsets_do_not() {
        let n = [ArgPlace { offset: 8, bytes: 8 }];
        assert_eq!(deciding(" v7: i64 = imul v2, v1"), n);
        assert_eq!(deciding(" v7: i64 = udiv v2, v1"), n);
        assert_eq!(deciding(" v7: i64 = iadd v2, v1"), []);
    }

    #[test]
    fn values_are_zero_extended() {
        let block = [0xff, 0xfe, 0x80, 1, 2, 3, 4, 5];
        let value = |offset, bytes| ArgPlace { offset, bytes }.value_in(&block);
        assert_eq!(
            [value(0, 1), value(0, 2), value(2, 4), value(0, 8)],
            [0xff, 0xfeff, 0x0302_0180, 0x0504_0302_0180_feff]
        );
    }
}
