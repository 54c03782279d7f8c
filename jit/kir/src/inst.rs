//! Instructions and their immediates.

use smallvec::SmallVec;

use crate::dfg::DataFlowGraph;
use crate::entities::{Block, Const, Func, Global, Slot, Value};
use crate::libfn::LibFn;
use crate::ops::Opcode;
use crate::types::Space;

/// Operand list of an instruction.
pub type Operands = SmallVec<[Value; 4]>;

/// One instruction: its op, value operands and immediate. Results are kept by the [`DataFlowGraph`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InstData {
    /// The operation; its row in the op table states everything else.
    pub op: Opcode,
    /// Value operands, in the order the op's documentation gives. Arguments of branch targets are in the immediate.
    pub args: Operands,
    /// The immediate, of the variant that the op's [`ImmKind`](crate::ops::ImmKind) asks for.
    pub imm: Imm,
}

/// The immediate of an instruction. Which variant an op has is stated by its row in the op table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Imm {
    /// Nothing.
    None,
    /// A constant of the function's pool.
    Const(Const),
    /// Integer or pointer comparison.
    IntCond(IntCond),
    /// Floating-point comparison.
    FloatCond(FloatCond, FpFlags),
    /// Fast-math flags of a floating-point operation.
    Fp(FpFlags),
    /// No-wrap flags of an integer operation. An operation without flags has [`Imm::None`].
    Wrap(WrapFlags),
    /// Rounding and saturation of a conversion.
    Convert(Convert),
    /// A lane index.
    Lane(u8),
    /// Source lanes of a shuffle: index into the lanes of the first operand followed by those of the second.
    Lanes(Box<[u8]>),
    /// `base + index * scale + disp`, in bytes.
    Addr {
        /// Bytes per unit of the index.
        scale: u64,
        /// Constant displacement in bytes.
        disp: i64,
    },
    /// A memory access.
    Mem(MemInfo),
    /// An atomic access or a fence.
    Atomic(AtomicInfo),
    /// A reduction's operation.
    Reduce(AtomicOp),
    /// A collective operation.
    Group(GroupInfo),
    /// A private variable.
    Slot(Slot),
    /// A module's variable.
    Global(Global),
    /// A dimension, 0 to 2.
    Dim(u8),
    /// An offset in the argument block in bytes.
    Offset(u32),
    /// An address space.
    Space(Space),
    /// An access to an image.
    Image(ImageInfo),
    /// A library function.
    Lib(LibFn),
    /// A function of the module.
    Func(Func),
    /// A barrier.
    Barrier(BarrierInfo),
    /// Target of a jump.
    Jump(BlockCall),
    /// Targets of a branch: when true, when false.
    Branch(Box<[BlockCall; 2]>),
    /// Targets of a switch.
    Switch(Box<SwitchData>),
}

impl Imm {
    /// Replaces a constant of one function's pool by the equal one of another function's.
    pub fn copy_constant(&mut self, from: &DataFlowGraph, to: &mut DataFlowGraph) {
        if let Imm::Const(id) = self {
            *id = to.make_const(from.constant(*id).clone());
        }
    }

    /// Branch targets in order (for a switch: cases, then default).
    pub fn targets(&self) -> SmallVec<[&BlockCall; 2]> {
        match self {
            Imm::Jump(call) => SmallVec::from_slice(&[call]),
            Imm::Branch(calls) => calls.iter().collect(),
            Imm::Switch(data) => data.cases.iter().map(|(_, call)| call).chain([&data.default]).collect(),
            Imm::None
            | Imm::Const(_)
            | Imm::IntCond(_)
            | Imm::FloatCond(..)
            | Imm::Fp(_)
            | Imm::Convert(_)
            | Imm::Lane(_)
            | Imm::Lanes(_)
            | Imm::Addr { .. }
            | Imm::Mem(_)
            | Imm::Atomic(_)
            | Imm::Wrap(_)
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
            | Imm::Barrier(_) => SmallVec::new(),
        }
    }

    /// Mutable [`Self::targets`].
    pub fn targets_mut(&mut self) -> SmallVec<[&mut BlockCall; 2]> {
        match self {
            Imm::Jump(call) => std::iter::once(call).collect(),
            Imm::Branch(calls) => calls.iter_mut().collect(),
            Imm::Switch(data) => data.cases.iter_mut().map(|(_, call)| call).chain([&mut data.default]).collect(),
            Imm::None
            | Imm::Const(_)
            | Imm::IntCond(_)
            | Imm::FloatCond(..)
            | Imm::Fp(_)
            | Imm::Convert(_)
            | Imm::Lane(_)
            | Imm::Lanes(_)
            | Imm::Addr { .. }
            | Imm::Mem(_)
            | Imm::Atomic(_)
            | Imm::Wrap(_)
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
            | Imm::Barrier(_) => SmallVec::new(),
        }
    }
}

/// A branch target and the values for its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockCall {
    /// The target block.
    pub block: Block,
    /// One value per block parameter.
    pub args: Operands,
}

impl BlockCall {
    /// A target with arguments.
    pub fn new(block: Block, args: &[Value]) -> BlockCall {
        BlockCall { block, args: args.iter().copied().collect() }
    }
}

/// Targets of a `switch`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SwitchData {
    /// Case values (bits of the selector's type) and their targets; no value occurs twice.
    pub cases: Vec<(u64, BlockCall)>,
    /// Taken when no case matches.
    pub default: BlockCall,
}

/// Integer comparisons; `U` is unsigned, `S` signed. Pointers compare with `Eq`, `Ne` and the unsigned ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the field's standard abbreviations")]
pub enum IntCond {
    Eq,
    Ne,
    Ult,
    Ule,
    Ugt,
    Uge,
    Slt,
    Sle,
    Sgt,
    Sge,
}

impl IntCond {
    /// All conditions with their text form.
    pub const ALL: [(IntCond, &'static str); 10] = [
        (IntCond::Eq, "eq"),
        (IntCond::Ne, "ne"),
        (IntCond::Ult, "ult"),
        (IntCond::Ule, "ule"),
        (IntCond::Ugt, "ugt"),
        (IntCond::Uge, "uge"),
        (IntCond::Slt, "slt"),
        (IntCond::Sle, "sle"),
        (IntCond::Sgt, "sgt"),
        (IntCond::Sge, "sge"),
    ];

    /// The condition that holds exactly when this one does not.
    pub fn inverse(self) -> IntCond {
        match self {
            IntCond::Eq => IntCond::Ne,
            IntCond::Ne => IntCond::Eq,
            IntCond::Ult => IntCond::Uge,
            IntCond::Ule => IntCond::Ugt,
            IntCond::Ugt => IntCond::Ule,
            IntCond::Uge => IntCond::Ult,
            IntCond::Slt => IntCond::Sge,
            IntCond::Sle => IntCond::Sgt,
            IntCond::Sgt => IntCond::Sle,
            IntCond::Sge => IntCond::Slt,
        }
    }

    /// The condition that compares as unsigned numbers what this one compares as signed ones.
    pub fn unsigned(self) -> IntCond {
        match self {
            IntCond::Slt => IntCond::Ult,
            IntCond::Sle => IntCond::Ule,
            IntCond::Sgt => IntCond::Ugt,
            IntCond::Sge => IntCond::Uge,
            IntCond::Eq | IntCond::Ne | IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge => self,
        }
    }

    /// The condition with its operands exchanged.
    pub fn swapped(self) -> IntCond {
        match self {
            IntCond::Eq => IntCond::Eq,
            IntCond::Ne => IntCond::Ne,
            IntCond::Ult => IntCond::Ugt,
            IntCond::Ule => IntCond::Uge,
            IntCond::Ugt => IntCond::Ult,
            IntCond::Uge => IntCond::Ule,
            IntCond::Slt => IntCond::Sgt,
            IntCond::Sle => IntCond::Sge,
            IntCond::Sgt => IntCond::Slt,
            IntCond::Sge => IntCond::Sle,
        }
    }
}

/// Floating-point comparisons: `O` is ordered (false when an operand is NaN), `U` unordered (true then).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the field's standard abbreviations")]
pub enum FloatCond {
    Oeq,
    One,
    Olt,
    Ole,
    Ogt,
    Oge,
    Ueq,
    Une,
    Ult,
    Ule,
    Ugt,
    Uge,
    Ord,
    Uno,
}

impl FloatCond {
    /// All conditions with their text form.
    pub const ALL: [(FloatCond, &'static str); 14] = [
        (FloatCond::Oeq, "oeq"),
        (FloatCond::One, "one"),
        (FloatCond::Olt, "olt"),
        (FloatCond::Ole, "ole"),
        (FloatCond::Ogt, "ogt"),
        (FloatCond::Oge, "oge"),
        (FloatCond::Ueq, "ueq"),
        (FloatCond::Une, "une"),
        (FloatCond::Ult, "ult"),
        (FloatCond::Ule, "ule"),
        (FloatCond::Ugt, "ugt"),
        (FloatCond::Uge, "uge"),
        (FloatCond::Ord, "ord"),
        (FloatCond::Uno, "uno"),
    ];

    /// The condition that holds exactly when this one does not.
    pub fn inverse(self) -> FloatCond {
        match self {
            FloatCond::Oeq => FloatCond::Une,
            FloatCond::One => FloatCond::Ueq,
            FloatCond::Olt => FloatCond::Uge,
            FloatCond::Ole => FloatCond::Ugt,
            FloatCond::Ogt => FloatCond::Ule,
            FloatCond::Oge => FloatCond::Ult,
            FloatCond::Ueq => FloatCond::One,
            FloatCond::Une => FloatCond::Oeq,
            FloatCond::Ult => FloatCond::Oge,
            FloatCond::Ule => FloatCond::Ogt,
            FloatCond::Ugt => FloatCond::Ole,
            FloatCond::Uge => FloatCond::Olt,
            FloatCond::Ord => FloatCond::Uno,
            FloatCond::Uno => FloatCond::Ord,
        }
    }

    /// The condition with its operands exchanged.
    pub fn swapped(self) -> FloatCond {
        match self {
            FloatCond::Oeq => FloatCond::Oeq,
            FloatCond::One => FloatCond::One,
            FloatCond::Olt => FloatCond::Ogt,
            FloatCond::Ole => FloatCond::Oge,
            FloatCond::Ogt => FloatCond::Olt,
            FloatCond::Oge => FloatCond::Ole,
            FloatCond::Ueq => FloatCond::Ueq,
            FloatCond::Une => FloatCond::Une,
            FloatCond::Ult => FloatCond::Ugt,
            FloatCond::Ule => FloatCond::Uge,
            FloatCond::Ugt => FloatCond::Ult,
            FloatCond::Uge => FloatCond::Ule,
            FloatCond::Ord => FloatCond::Ord,
            FloatCond::Uno => FloatCond::Uno,
        }
    }
}

bitflags::bitflags! {
    /// Fast-math flags of a floating-point operation (SPIR-V FPFastMathMode and build options).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct FpFlags: u8 {
        /// Operands and result are never NaN.
        const NO_NAN = 1;
        /// Operands and result are never infinite.
        const NO_INF = 2;
        /// The sign of a zero does not matter.
        const NO_SIGNED_ZERO = 4;
        /// A reciprocal may replace a division.
        const RECIPROCAL = 8;
        /// May be fused with a neighbouring operation without intermediate rounding.
        const CONTRACT = 16;
        /// May be reassociated.
        const REASSOC = 32;
        /// Library functions and divisions may be approximated.
        const APPROX = 64;
        /// A division or a square root may be off by one unit in the last place. It may be anything where an operand or the
        /// result is not well inside the range of normal numbers, or the divisor's reciprocal is not; but zero divided is zero,
        /// of any sign. One divided by a square root, both of them so, is the reciprocal root to two units, also of special
        /// operands. A fused multiply-add of halves may be rounded to single precision first. Only expansions of built-in
        /// functions set this.
        const ESTIMATE = 128;
    }
}

impl FpFlags {
    /// Each flag with its text form.
    pub const NAMES: [(FpFlags, &'static str); 8] = [
        (FpFlags::NO_NAN, "nnan"),
        (FpFlags::NO_INF, "ninf"),
        (FpFlags::NO_SIGNED_ZERO, "nsz"),
        (FpFlags::RECIPROCAL, "arcp"),
        (FpFlags::CONTRACT, "contract"),
        (FpFlags::REASSOC, "reassoc"),
        (FpFlags::APPROX, "afn"),
        (FpFlags::ESTIMATE, "est"),
    ];
}

bitflags::bitflags! {
    /// No-wrap flags of an integer operation (SPIR-V `NoSignedWrap`, `NoUnsignedWrap`). If an operand violates one,
    /// the result may be anything, as long as a work-item uses it; an operation may still be computed where it was not.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct WrapFlags: u8 {
        /// As signed numbers, the exact result fits.
        const NO_SIGNED = 1;
        /// As unsigned numbers, the exact result fits.
        const NO_UNSIGNED = 2;
    }
}

impl WrapFlags {
    /// Each flag with its text form.
    pub const NAMES: [(WrapFlags, &'static str); 2] = [(WrapFlags::NO_SIGNED, "nsw"), (WrapFlags::NO_UNSIGNED, "nuw")];

    /// The immediate with these flags.
    pub fn imm(self) -> Imm {
        if self.is_empty() { Imm::None } else { Imm::Wrap(self) }
    }
}

impl Imm {
    /// The dimension of a query; 0 for queries without one.
    pub fn dim(&self) -> u8 {
        if let Imm::Dim(dim) = *self { dim } else { 0 }
    }

    /// The no-wrap flags.
    pub fn wrap(&self) -> WrapFlags {
        if let Imm::Wrap(flags) = self { *flags } else { WrapFlags::empty() }
    }
}

/// Rounding of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Rounding {
    /// To nearest, ties to even.
    #[default]
    NearestEven,
    /// Toward zero.
    TowardZero,
    /// Toward plus infinity.
    Up,
    /// Toward minus infinity.
    Down,
}

impl Rounding {
    /// All modes with their text form.
    pub const ALL: [(Rounding, &'static str); 4] =
        [(Rounding::NearestEven, "rte"), (Rounding::TowardZero, "rtz"), (Rounding::Up, "rtp"), (Rounding::Down, "rtn")];
}

/// Rounding and out-of-range behaviour of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Convert {
    /// Rounding when the result is inexact.
    pub rounding: Rounding,
    /// Float to integer: clamp to the range and turn NaN into 0. Without it, out-of-range inputs give an unspecified value.
    pub saturate: bool,
}

/// Properties of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemInfo {
    /// Known alignment of the address in bytes, a power of two.
    pub align: u32,
    /// Whether the access is volatile.
    pub volatile: bool,
    /// The memory does not change while the kernel runs: a load may move and be merged freely.
    pub invariant: bool,
    /// Alias class: accesses of different nonzero classes never overlap (`restrict` pointers); 0 is unknown.
    pub alias: u32,
}

impl MemInfo {
    /// An ordinary access at an address aligned to `align` bytes.
    pub fn aligned(align: u32) -> MemInfo {
        MemInfo { align, volatile: false, invariant: false, alias: 0 }
    }

    /// An access to memory that does not change while the kernel runs.
    pub fn invariant(align: u32) -> MemInfo {
        MemInfo { invariant: true, ..MemInfo::aligned(align) }
    }
}

/// Memory order of an atomic or a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the memory model's")]
pub enum MemOrder {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl MemOrder {
    /// All orders with their text form.
    pub const ALL: [(MemOrder, &'static str); 5] = [
        (MemOrder::Relaxed, "relaxed"),
        (MemOrder::Acquire, "acquire"),
        (MemOrder::Release, "release"),
        (MemOrder::AcqRel, "acq_rel"),
        (MemOrder::SeqCst, "seq_cst"),
    ];
}

/// Memory scope of an atomic, a fence or a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the memory model's")]
pub enum MemScope {
    WorkItem,
    SubGroup,
    WorkGroup,
    Device,
    AllDevices,
}

impl MemScope {
    /// All scopes with their text form.
    pub const ALL: [(MemScope, &'static str); 5] = [
        (MemScope::WorkItem, "work_item"),
        (MemScope::SubGroup, "sub_group"),
        (MemScope::WorkGroup, "work_group"),
        (MemScope::Device, "device"),
        (MemScope::AllDevices, "all_devices"),
    ];
}

/// The operation of a read-modify-write, a reduction or a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// The new value replaces the old.
    Xchg,
    /// Integer addition, wrapping.
    Add,
    /// Integer subtraction, wrapping.
    Sub,
    /// Integer multiplication, wrapping. Reductions and scans only.
    Mul,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Signed minimum.
    Smin,
    /// Signed maximum.
    Smax,
    /// Unsigned minimum.
    Umin,
    /// Unsigned maximum.
    Umax,
    /// Floating-point addition.
    Fadd,
    /// Floating-point multiplication. Reductions and scans only.
    Fmul,
    /// Floating-point minimum, as the op `fmin`.
    Fmin,
    /// Floating-point maximum, as the op `fmax`.
    Fmax,
}

impl AtomicOp {
    /// All operations with their text form.
    pub const ALL: [(AtomicOp, &'static str); 15] = [
        (AtomicOp::Xchg, "xchg"),
        (AtomicOp::Add, "add"),
        (AtomicOp::Sub, "sub"),
        (AtomicOp::Mul, "mul"),
        (AtomicOp::And, "and"),
        (AtomicOp::Or, "or"),
        (AtomicOp::Xor, "xor"),
        (AtomicOp::Smin, "smin"),
        (AtomicOp::Smax, "smax"),
        (AtomicOp::Umin, "umin"),
        (AtomicOp::Umax, "umax"),
        (AtomicOp::Fadd, "fadd"),
        (AtomicOp::Fmul, "fmul"),
        (AtomicOp::Fmin, "fmin"),
        (AtomicOp::Fmax, "fmax"),
    ];

    /// The op that computes the new value from the old one and the operand. `None` where the operand replaces the old value.
    pub fn combines_by(self) -> Option<Opcode> {
        Some(match self {
            AtomicOp::Xchg => return None,
            AtomicOp::Add => Opcode::Iadd,
            AtomicOp::Sub => Opcode::Isub,
            AtomicOp::Mul => Opcode::Imul,
            AtomicOp::And => Opcode::And,
            AtomicOp::Or => Opcode::Or,
            AtomicOp::Xor => Opcode::Xor,
            AtomicOp::Smin => Opcode::Smin,
            AtomicOp::Smax => Opcode::Smax,
            AtomicOp::Umin => Opcode::Umin,
            AtomicOp::Umax => Opcode::Umax,
            AtomicOp::Fadd => Opcode::Fadd,
            AtomicOp::Fmul => Opcode::Fmul,
            AtomicOp::Fmin => Opcode::Fmin,
            AtomicOp::Fmax => Opcode::Fmax,
        })
    }
}

/// Properties of an atomic access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtomicInfo {
    /// The operation of `atomic_rmw`; ignored (and [`AtomicOp::Xchg`]) for the others.
    pub op: AtomicOp,
    /// Memory order (on success, for a compare-exchange; its failure order is never stronger and needs no code of its own).
    pub order: MemOrder,
    /// Memory scope.
    pub scope: MemScope,
}

bitflags::bitflags! {
    /// Address spaces whose accesses a barrier orders.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct SpaceSet: u8 {
        /// Local memory.
        const LOCAL = 1;
        /// Global memory.
        const GLOBAL = 2;
        /// Images.
        const IMAGE = 4;
    }
}

impl SpaceSet {
    /// Each space with its text form.
    pub const NAMES: [(SpaceSet, &'static str); 3] =
        [(SpaceSet::LOCAL, "local"), (SpaceSet::GLOBAL, "global"), (SpaceSet::IMAGE, "image")];
}

/// An access to an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageInfo {
    /// Its dimensions: the number of coordinates, without that for the layer of an array.
    pub dims: ImageDims,
    /// Further properties.
    pub has: ImageFlags,
}

impl ImageInfo {
    /// Number of coordinates.
    pub fn coordinates(self) -> u32 {
        self.dims.count() + u32::from(self.has.contains(ImageFlags::LAYERS))
    }
}

bitflags::bitflags! {
    /// Properties of an access to an image.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct ImageFlags: u8 {
        /// The image is an array: a coordinate is the layer.
        const LAYERS = 1;
        /// The access has a sampler. Without one, coordinates are those of an element.
        const SAMPLER = 2;
        /// The access has a level of detail; otherwise it uses the first level.
        const LEVEL = 4;
    }
}

impl ImageFlags {
    /// Each flag with its text form.
    pub const NAMES: [(ImageFlags, &'static str); 3] =
        [(ImageFlags::LAYERS, "layers"), (ImageFlags::SAMPLER, "sampler"), (ImageFlags::LEVEL, "level")];
}

/// Dimensions of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageDims {
    /// 1-D, also created from a buffer.
    One,
    /// 2-D.
    Two,
    /// 3-D.
    Three,
}

impl ImageDims {
    /// All dimensions with their text form.
    pub const ALL: [(ImageDims, &'static str); 3] =
        [(ImageDims::One, "d1"), (ImageDims::Two, "d2"), (ImageDims::Three, "d3")];

    /// How many there are.
    pub fn count(self) -> u32 {
        match self {
            ImageDims::One => 1,
            ImageDims::Two => 2,
            ImageDims::Three => 3,
        }
    }
}

/// A work-group (or sub-group) barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BarrierInfo {
    /// Identity: work-items only synchronize at the same barrier. Copies created by the compiler get new ids.
    pub id: u32,
    /// Execution scope: [`MemScope::WorkGroup`] or [`MemScope::SubGroup`].
    pub execution: MemScope,
    /// Memory scope.
    pub memory: MemScope,
    /// The address spaces whose accesses are ordered.
    pub spaces: SpaceSet,
}

/// A reduction or a scan over work-items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupInfo {
    /// The participants: [`MemScope::WorkGroup`] or [`MemScope::SubGroup`].
    pub scope: MemScope,
    /// The operation. Booleans support `and`, `or` and `xor`.
    pub op: AtomicOp,
    /// Work-items of a sub-group whose values are combined, those with neighbouring numbers: a power of two; 0 for all.
    pub cluster: u32,
}
