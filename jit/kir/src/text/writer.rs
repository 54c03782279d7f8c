//! Printing. Total: whatever the data structures can hold is printed, valid or not.

use std::fmt::{self, Display, Formatter};

use super::literal::{write_lane, write_string};
use crate::dfg::ConstData;
use crate::entities::{Block, Inst, Value};
use crate::function::{Function, Loc, Stage};
use crate::inst::{
    AtomicInfo, AtomicOp, BarrierInfo, BlockCall, Convert, FloatCond, FpFlags, GroupInfo, ImageDims, ImageFlags, Imm,
    IntCond, MemInfo, MemOrder, MemScope, Rounding, SpaceSet, WrapFlags,
};
use crate::module::{GlobalData, KernelData, Module};
use crate::ops::Opcode;

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut gap = "";
        for (id, global) in &self.globals {
            write_global(f, &format_args!("{id}"), global)?;
            gap = "\n";
        }
        for (id, func) in &self.funcs {
            write!(f, "{gap}")?;
            write_function(f, func, Some(&id))?;
            gap = "\n";
        }
        for kernel in &self.kernels {
            write!(f, "{gap}")?;
            write_kernel(f, kernel)?;
            gap = "";
        }
        Ok(())
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_function(f, self, None)
    }
}

/// One instruction as a line of text, without indentation or line end.
#[derive(Clone, Copy, Debug)]
pub struct InstText<'a> {
    func: &'a Function,
    inst: Inst,
}

impl Function {
    /// The text of one instruction, for messages.
    pub fn inst_text(&self, inst: Inst) -> InstText<'_> {
        InstText { func: self, inst }
    }
}

fn write_global(f: &mut Formatter<'_>, id: &dyn Display, global: &GlobalData) -> fmt::Result {
    write!(f, "global {id} ")?;
    write_string(f, &global.name)?;
    write!(f, " {} size {} align {}", global.space.name(), global.size, global.align)?;
    if !global.init.bytes.is_empty() {
        f.write_str(" bytes \"")?;
        for byte in &global.init.bytes {
            write!(f, "{byte:02x}")?;
        }
        f.write_str("\"")?;
    }
    for &(offset, target, addend) in &global.init.addresses {
        write!(f, " address {offset} {target} {addend}")?;
    }
    f.write_str("\n")
}

fn write_kernel(f: &mut Formatter<'_>, kernel: &KernelData) -> fmt::Result {
    write!(f, "kernel {} args {}", kernel.func, kernel.arg_block_bytes)?;
    if let Some([x, y, z]) = kernel.required_local_size {
        write!(f, " required {x} {y} {z}")?;
    }
    f.write_str("\n")
}

fn write_function(f: &mut Formatter<'_>, func: &Function, id: Option<&dyn Display>) -> fmt::Result {
    f.write_str("function ")?;
    if let Some(id) = id {
        write!(f, "{id} ")?;
    }
    write_string(f, &func.name)?;
    write!(f, " {}", name_in(&Stage::ALL, func.stage))?;
    for (i, ty) in func.returns.iter().enumerate() {
        write!(f, "{} {ty}", if i == 0 { " ->" } else { "," })?;
    }
    f.write_str(" {\n")?;
    for offset in &func.noalias_args {
        writeln!(f, "    noalias {offset}")?;
    }
    for call in &func.inlined_calls {
        f.write_str("    inlined ")?;
        write_string(f, &call.callee)?;
        write_loc(f, call.loc)?;
        f.write_str("\n")?;
    }
    for (slot, data) in &func.slots {
        writeln!(f, "    slot {slot} size {} align {}", data.size, data.align)?;
    }
    for &block in func.layout.blocks() {
        write_block(f, func, block)?;
    }
    f.write_str("}\n")
}

/// A position, with a leading space; nothing if it is not known.
fn write_loc(f: &mut Formatter<'_>, loc: Loc) -> fmt::Result {
    if loc == Loc::default() {
        return Ok(());
    }
    write!(f, " @{}:{}:{}", loc.word, loc.line, loc.column)?;
    if loc.call != 0 { write!(f, ":{}", loc.call) } else { Ok(()) }
}

fn write_block(f: &mut Formatter<'_>, func: &Function, block: Block) -> fmt::Result {
    write!(f, "{block}")?;
    if func.layout.is_cold(block) {
        f.write_str(" cold")?;
    }
    let params = func.dfg.params(block);
    if !params.is_empty() {
        f.write_str("(")?;
        write_definitions(f, func, params)?;
        f.write_str(")")?;
    }
    f.write_str(":\n")?;
    for &inst in func.layout.insts(block) {
        writeln!(f, "    {}", func.inst_text(inst))?;
    }
    Ok(())
}

fn write_definitions(f: &mut Formatter<'_>, func: &Function, values: &[Value]) -> fmt::Result {
    for (i, &value) in values.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{value}")?;
        if let Some(name) = func.names.get(&value) {
            f.write_str(" ")?;
            write_string(f, name)?;
        }
        write!(f, ": {}", func.dfg.ty(value))?;
    }
    Ok(())
}

fn write_values(f: &mut Formatter<'_>, values: &[Value]) -> fmt::Result {
    for (i, value) in values.iter().enumerate() {
        write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
    }
    Ok(())
}

impl Display for InstText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let dfg = &self.func.dfg;
        let results = dfg.results(self.inst);
        if !results.is_empty() {
            write_definitions(f, self.func, results)?;
            f.write_str(" = ")?;
        }
        let data = dfg.inst(self.inst);
        f.write_str(data.op.info().name)?;
        self.write_imm(f, data.op, &data.imm)?;
        if !data.args.is_empty() {
            f.write_str(" ")?;
            write_values(f, &data.args)?;
        }
        let comma = if data.args.is_empty() { "" } else { "," };
        match &data.imm {
            Imm::Jump(call) => write!(f, "{comma} {}", CallText(call))?,
            Imm::Branch(calls) => write!(f, "{comma} {}, {}", CallText(&calls[0]), CallText(&calls[1]))?,
            Imm::Switch(switch) => {
                write!(f, "{comma} [")?;
                let elem = data.args.first().map(|&v| dfg.ty(v).elem).filter(|e| e.is_int());
                for (i, (case, call)) in switch.cases.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    match elem {
                        Some(elem) => write_lane(f, elem, *case)?,
                        None => write!(f, "{case}")?,
                    }
                    write!(f, ": {}", CallText(call))?;
                }
                write!(f, "], {}", CallText(&switch.default))?;
            }
            Imm::None
            | Imm::Const(_)
            | Imm::IntCond(_)
            | Imm::FloatCond(..)
            | Imm::Fp(_)
            | Imm::Wrap(_)
            | Imm::Convert(_)
            | Imm::Lane(_)
            | Imm::Lanes(_)
            | Imm::Addr { .. }
            | Imm::Mem(_)
            | Imm::Atomic(_)
            | Imm::Reduce(_)
            | Imm::Group(_)
            | Imm::Slot(_)
            | Imm::Global(_)
            | Imm::Dim(_)
            | Imm::Offset(_)
            | Imm::Space(_)
            | Imm::Image(_)
            | Imm::Lib(_)
            | Imm::Func(_)
            | Imm::Barrier(_) => {}
        }
        let loc = self.func.locs[self.inst];
        write_loc(f, loc)
    }
}

impl InstText<'_> {
    /// The immediate, with a leading space; branch targets come after the operands and are not written here.
    fn write_imm(&self, f: &mut Formatter<'_>, op: Opcode, imm: &Imm) -> fmt::Result {
        match imm {
            Imm::None | Imm::Jump(_) | Imm::Branch(_) | Imm::Switch(_) => Ok(()),
            Imm::Const(id) => write_const(f, self.func.dfg.constant(*id)),
            Imm::IntCond(cond) => write!(f, " {}", name_in(&IntCond::ALL, *cond)),
            Imm::FloatCond(cond, flags) => {
                write!(f, " {}", name_in(&FloatCond::ALL, *cond))?;
                write_fp(f, *flags)
            }
            Imm::Fp(flags) => write_fp(f, *flags),
            Imm::Wrap(flags) => {
                let names = WrapFlags::NAMES.iter().filter(|(flag, _)| flags.contains(*flag));
                names.into_iter().try_for_each(|(_, name)| write!(f, " {name}"))
            }
            Imm::Convert(Convert { rounding, saturate }) => {
                write!(f, " {}{}", name_in(&Rounding::ALL, *rounding), if *saturate { " sat" } else { "" })
            }
            Imm::Lane(lane) | Imm::Dim(lane) => write!(f, " {lane}"),
            Imm::Lanes(lanes) => {
                f.write_str(" [")?;
                for (i, lane) in lanes.iter().enumerate() {
                    write!(f, "{}{lane}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Imm::Addr { scale, disp } => {
                if *scale != 1 {
                    write!(f, " scale {scale}")?;
                }
                if *disp != 0 {
                    write!(f, " disp {disp}")?;
                }
                Ok(())
            }
            Imm::Mem(MemInfo { align, volatile, invariant, alias }) => {
                write!(f, " align {align}")?;
                f.write_str(if *volatile { " volatile" } else { "" })?;
                f.write_str(if *invariant { " invariant" } else { "" })?;
                if *alias != 0 { write!(f, " alias {alias}") } else { Ok(()) }
            }
            Imm::Atomic(AtomicInfo { op: operation, order, scope }) => {
                if op == Opcode::AtomicRmw || *operation != AtomicOp::Xchg {
                    write!(f, " {}", name_in(&AtomicOp::ALL, *operation))?;
                }
                write!(f, " {} {}", name_in(&MemOrder::ALL, *order), name_in(&MemScope::ALL, *scope))
            }
            Imm::Reduce(operation) => write!(f, " {}", name_in(&AtomicOp::ALL, *operation)),
            Imm::Group(GroupInfo { scope, op: operation, cluster }) => {
                write!(f, " {} {}", name_in(&MemScope::ALL, *scope), name_in(&AtomicOp::ALL, *operation))?;
                if *cluster != 0 { write!(f, " cluster {cluster}") } else { Ok(()) }
            }
            Imm::Slot(slot) => write!(f, " {slot}"),
            Imm::Global(global) => write!(f, " {global}"),
            Imm::Offset(offset) => write!(f, " {offset}"),
            Imm::Space(space) => write!(f, " {}", space.name()),
            Imm::Image(info) => {
                write!(f, " {}", name_in(&ImageDims::ALL, info.dims))?;
                let named = ImageFlags::NAMES.iter().filter(|(flag, _)| info.has.contains(*flag));
                named.into_iter().try_for_each(|(_, name)| write!(f, " {name}"))
            }
            Imm::Lib(function) => write!(f, " {}", function.name()),
            Imm::Func(func) => write!(f, " {func}"),
            Imm::Barrier(BarrierInfo { id, execution, memory, spaces }) => {
                write!(f, " {id} {} {}", name_in(&MemScope::ALL, *execution), name_in(&MemScope::ALL, *memory))?;
                for (space, name) in SpaceSet::NAMES {
                    f.write_str(if spaces.contains(space) { " " } else { "" })?;
                    f.write_str(if spaces.contains(space) { name } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

struct CallText<'a>(&'a BlockCall);

impl Display for CallText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.block)?;
        if !self.0.args.is_empty() {
            f.write_str("(")?;
            write_values(f, &self.0.args)?;
            f.write_str(")")?;
        }
        Ok(())
    }
}

fn write_const(f: &mut Formatter<'_>, data: &ConstData) -> fmt::Result {
    if let Some(bits) = data.as_splat() {
        f.write_str(" ")?;
        return write_lane(f, data.ty.elem, bits);
    }
    f.write_str(" [")?;
    for (i, bits) in data.to_lanes().into_iter().enumerate() {
        f.write_str(if i > 0 { ", " } else { "" })?;
        write_lane(f, data.ty.elem, bits)?;
    }
    f.write_str("]")
}

fn write_fp(f: &mut Formatter<'_>, flags: FpFlags) -> fmt::Result {
    for (flag, name) in FpFlags::NAMES {
        if flags.contains(flag) {
            write!(f, " {name}")?;
        }
    }
    Ok(())
}

/// The text of a row of one of the `ALL` tables.
pub(super) fn name_in<T: Copy + PartialEq>(table: &[(T, &'static str)], item: T) -> &'static str {
    table.iter().find(|(row, _)| *row == item).map_or("?", |(_, name)| name)
}
