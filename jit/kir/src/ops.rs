//! The op table: the one place where an operation is stated.
//!
//! Each row gives an op's name in the text form, the kind of its immediate, its type rule, its effects, its uniformity rule and
//! its meaning. From the rows come the [`Opcode`] enum, the printer and parser, the verifier's typing, the constant folder,
//! the interpreter's dispatch and the per-op tests. The meaning of an op whose result follows from its operands is a function
//! in [`eval`]; that of all others is an arm in the interpreter, in the file that [`Meaning`] names.
//!
//! No op traps. `docs/add-a-kir-op.md` says what else a new row needs.

use crate::eval::{self, LaneCx, LaneVec, WholeCx};
use crate::inst::Imm;

/// Which [`Imm`] variant an op carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "one per variant of Imm, described there")]
pub enum ImmKind {
    None,
    Const,
    IntCond,
    FloatCond,
    Fp,
    Wrap,
    Convert,
    Lane,
    Lanes,
    Addr,
    Mem,
    Atomic,
    Reduce,
    Group,
    Slot,
    Global,
    Dim,
    Offset,
    Space,
    Image,
    Lib,
    Func,
    Barrier,
    Jump,
    Branch,
    Switch,
}

impl ImmKind {
    /// Whether `imm` is of this kind. Without promises about wrapping there is no immediate.
    pub fn matches(self, imm: &Imm) -> bool {
        self == ImmKind::of(imm) || self == ImmKind::Wrap && *imm == Imm::None
    }

    /// The kind of an immediate.
    pub fn of(imm: &Imm) -> ImmKind {
        match imm {
            Imm::None => ImmKind::None,
            Imm::Const(_) => ImmKind::Const,
            Imm::IntCond(_) => ImmKind::IntCond,
            Imm::FloatCond(..) => ImmKind::FloatCond,
            Imm::Fp(_) => ImmKind::Fp,
            Imm::Wrap(_) => ImmKind::Wrap,
            Imm::Convert(_) => ImmKind::Convert,
            Imm::Lane(_) => ImmKind::Lane,
            Imm::Lanes(_) => ImmKind::Lanes,
            Imm::Addr { .. } => ImmKind::Addr,
            Imm::Mem(_) => ImmKind::Mem,
            Imm::Atomic(_) => ImmKind::Atomic,
            Imm::Reduce(_) => ImmKind::Reduce,
            Imm::Group(_) => ImmKind::Group,
            Imm::Slot(_) => ImmKind::Slot,
            Imm::Global(_) => ImmKind::Global,
            Imm::Dim(_) => ImmKind::Dim,
            Imm::Offset(_) => ImmKind::Offset,
            Imm::Space(_) => ImmKind::Space,
            Imm::Image(_) => ImmKind::Image,
            Imm::Lib(_) => ImmKind::Lib,
            Imm::Func(_) => ImmKind::Func,
            Imm::Barrier(_) => ImmKind::Barrier,
            Imm::Jump(_) => ImmKind::Jump,
            Imm::Branch(_) => ImmKind::Branch,
            Imm::Switch(_) => ImmKind::Switch,
        }
    }
}

/// How operand and result types of an op relate. `T` is any type with the stated element class, in any number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeRule {
    /// The result's type is stated, no operands (`const`, `undef`, `arg`).
    Stated,
    /// 1 operand: int T -> T.
    Int1,
    /// 2 operands: int T, T -> T.
    Int2,
    /// 2 operands: int or bool T, T -> T.
    Bits2,
    /// 1 operand: int or bool T -> T.
    Bits1,
    /// 1 operand: float T -> T.
    Float1,
    /// 2 operands: float T, T -> T.
    Float2,
    /// 3 operands: float T, T, T -> T.
    Float3,
    /// 2 operands: int, bool or pointer T, T -> mask of T.
    IntCompare,
    /// 2 operands: float T, T -> mask of T.
    FloatCompare,
    /// 3 operands: b1 or mask of T, any T, T -> T.
    Select,
    /// 1 operand: int T -> int of the same lanes, wider elements (from bool too).
    Widen,
    /// 1 operand: int T -> int of the same lanes, narrower elements.
    Narrow,
    /// 1 operand: float T -> int of the same lanes.
    FloatToInt,
    /// 1 operand: int T -> float of the same lanes.
    IntToFloat,
    /// 1 operand: float T -> float of the same lanes, other width.
    FloatToFloat,
    /// 1 operand: any non-bool -> any non-bool of as many bits in total; no pointers.
    Bitcast,
    /// 1 operand: pointer T -> i64 of the same lanes.
    PtrToInt,
    /// 1 operand: i64 T -> pointer of the same lanes.
    IntToPtr,
    /// 1 operand: pointer T -> pointer of the same lanes, other space.
    PtrToPtr,
    /// 1 operand: pointer T -> mask of T.
    PtrTest,
    /// 1 operand: scalar -> vector of it.
    Splat,
    /// 1 operand: vector -> its element; the lane is the immediate.
    Extract,
    /// 2 operands: vector T, its element -> T; the lane is the immediate.
    Insert,
    /// 2 operands: vector, scalar i32 -> its element.
    ExtractDyn,
    /// 3 operands: vector T, its element, scalar i32 -> T.
    InsertDyn,
    /// 2 operands: vector int or float T of a power of two of lanes, vector of ints as wide as its element -> T's element,
    /// lanes of the second.
    Lookup,
    /// 2 operands: T, T -> same element, as many lanes as the immediate has.
    Shuffle,
    /// n operands: n scalars of one type -> vector of n lanes.
    Vec,
    /// 1 operand: mask -> b1.
    MaskToBool,
    /// 1 operand: mask -> i64.
    MaskBits,
    /// 1 operand: vector int or float -> its element.
    Reduce,
    /// 1 operand: int, float or bool T -> T.
    Combine,
    /// 1 operand: b1 -> b1.
    Truth,
    /// 1 operand: b1 -> i32x4.
    Ballot,
    /// 2 operands: any T, i32 -> T.
    Pick,
    /// 1 or 2 operands: pointer T [, i64 with the lanes of T or scalar] -> pointer with the larger number of lanes.
    Addr,
    /// No operands -> stated pointer.
    Address,
    /// 1 operand: scalar pointer -> stated non-bool type.
    Load,
    /// 2 operands: scalar pointer, any non-bool -> nothing.
    Store,
    /// 3 operands: scalar pointer, mask of T, T -> T.
    MaskedLoad,
    /// 3 operands: scalar pointer, T, mask of T -> nothing.
    MaskedStore,
    /// 3 operands: pointers with the lanes of T, mask of T, T -> T.
    Gather,
    /// 3 operands: pointers with the lanes of T, T, mask of T -> nothing.
    Scatter,
    /// 3 operands: scalar pointer, scalar pointer, i64 -> nothing.
    Memcpy,
    /// 3 operands: scalar pointer, i8, i64 -> nothing.
    Memset,
    /// 1 operand: scalar pointer -> stated scalar int, float or pointer.
    AtomicLoad,
    /// 2 operands: scalar pointer, scalar -> nothing.
    AtomicStore,
    /// 2 operands: scalar pointer, scalar T -> T.
    AtomicRmw,
    /// 3 operands: scalar pointer, scalar T (expected), T (new) -> T.
    AtomicCmpxchg,
    /// 4 operands: scalar pointer, i64, four i32 or f32, f32 -> four i32, f32 or f16.
    ImageRead,
    /// 4 operands: scalar pointer, four i32, i32, four i32, f32 or f16 -> nothing.
    ImageWrite,
    /// No operands -> nothing.
    Nothing,
    /// 1 operand: scalar pointer -> nothing.
    Arrive,
    /// No operands -> i64.
    Query64,
    /// No operands -> i32.
    Query32,
    /// As the function's signature says.
    Call,
    /// Float (and int) operands as the library function's signature says, all of the same lanes.
    Lib,
    /// n operands: scalar pointer to the format, then any values -> i32.
    Printf,
    /// n operands: scalar i32, then any scalar i32, i64 and pointers -> i64.
    Request,
    /// 4 operands: i64 -> i32.
    Check,
    /// No operands; a terminator with a target.
    Jump,
    /// 1 operand: b1.
    Branch,
    /// 1 operand: scalar int.
    Switch,
    /// n operands of the function's return types.
    Ret,
}

/// What executing an op may do besides giving a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    /// Nothing: may be removed, merged, moved, repeated.
    Pure,
    /// Reads memory.
    Read,
    /// Writes memory.
    Write,
    /// Reads and writes memory, or orders accesses.
    ReadWrite,
    /// Synchronizes with other work-items: may neither be moved across control flow nor duplicated under a condition.
    Convergent,
    /// Ends a block.
    Terminator,
}

/// How an op's result relates to the work-item that computes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uniformity {
    /// Uniform when all operands are, in the widest scope in which they are.
    Operands,
    /// The same for the whole launch.
    Launch,
    /// The same for a work-group.
    Group,
    /// The same for a pack (sub-group).
    Pack,
    /// The same for the scope that the immediate names, but for clusters in it.
    Scope,
    /// The same for a pack when the last operand is.
    Choice,
    /// The same for a pack, and for any wider scope in which the operand is.
    Vote,
    /// Different for each work-item.
    Varying,
    /// A load: uniform when the address is and the memory is not written meanwhile by others.
    Memory,
}

/// What an op computes, or the interpreter's file that says so. The row's documentation describes it.
#[derive(Clone, Copy)]
pub enum Meaning {
    /// Lane by lane, from the operands' lanes as bits in the low end of a word.
    Lanes(LaneMeaning),
    /// From all lanes of all operands.
    Whole(WholeMeaning),
    /// From the function, the launch and the work-item, without operands: `query`.
    Query,
    /// From memory and its layout, or by changing it: `access`.
    Memory,
    /// By going elsewhere, waiting, or calling: `control`.
    Control,
}

/// A [`Meaning::Lanes`].
pub type LaneMeaning = fn(&LaneCx<'_>, &[u64]) -> u64;

/// A [`Meaning::Whole`].
pub type WholeMeaning = fn(&WholeCx<'_>, &[&[u64]]) -> LaneVec;

/// One row of the op table.
#[derive(Clone, Copy)]
pub struct OpInfo {
    /// The op.
    pub op: Opcode,
    /// Its class.
    pub class: OpClass,
    /// Its name in the text form.
    pub name: &'static str,
    /// The immediate it carries.
    pub imm: ImmKind,
    /// Its typing.
    pub rule: TypeRule,
    /// Its effects.
    pub effects: Effects,
    /// Its uniformity.
    pub uniformity: Uniformity,
    /// Its meaning.
    pub meaning: Meaning,
    /// Whether its first two operands may change places (the payloads of NaNs aside).
    pub commutes: bool,
    /// Its documentation.
    pub doc: &'static str,
}

macro_rules! op_table {
    (@commutes) => { false };
    (@commutes commutes) => { true };
    ($($(#[doc = $class_doc:literal])+ $class:ident($sub:ident) {
        $($(#[doc = $doc:literal])+
        $op:ident $name:literal $imm:ident $rule:ident $effects:ident $uniformity:ident $meaning:expr $(, $law:ident)?;)+
    })+) => {
        /// An operation; see its row in the op table.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Opcode {
            $($($(#[doc = $doc])+ $op,)+)+
        }

        $(
            $(#[doc = $class_doc])+
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
            #[repr(u8)]
            pub enum $sub {
                $($(#[doc = $doc])+ $op = Opcode::$op as u8,)+
            }

            impl From<$sub> for Opcode {
                fn from(op: $sub) -> Opcode {
                    match op {
                        $($sub::$op => Opcode::$op,)+
                    }
                }
            }
        )+

        /// The class of an op, and the op among those of its class: for code that treats each class in a place of its own.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum OpClass {
            $($(#[doc = $class_doc])+ $class($sub),)+
        }

        /// The op table, in the order of [`Opcode`].
        pub static OPS: &[OpInfo] = &[
            $($(OpInfo {
                op: Opcode::$op,
                class: OpClass::$class($sub::$op),
                name: $name,
                imm: ImmKind::$imm,
                rule: TypeRule::$rule,
                effects: Effects::$effects,
                uniformity: Uniformity::$uniformity,
                meaning: $meaning,
                commutes: op_table!(@commutes $($law)?),
                doc: concat!($($doc, "\n"),+),
            },)+)+
        ];
    };
}

const QUERY: Meaning = Meaning::Query;
const MEMORY: Meaning = Meaning::Memory;
const CONTROL: Meaning = Meaning::Control;
const fn lanes(meaning: LaneMeaning) -> Meaning {
    Meaning::Lanes(meaning)
}
const fn whole(meaning: WholeMeaning) -> Meaning {
    Meaning::Whole(meaning)
}

op_table! {
    // name            text              immediate  rule          effects     uniformity  meaning [, commutes]

    /// Constants, arguments, and addresses of variables.
    Leaf(LeafOp) {
        /// A constant of the pool.
        Const              "const"           Const      Stated        Pure        Launch      QUERY;
        /// An unspecified value, the same at every use.
        Undef              "undef"           None       Stated        Pure        Launch      QUERY;
        /// The kernel argument at a byte offset of the argument block. A `ptr(local)` argument is already an address.
        Arg                "arg"             Offset     Stated        Pure        Launch      QUERY;
        /// Address of a byte offset in the argument block (`ptr(host)`): a struct passed by value.
        ArgAddr            "arg_addr"        Offset     Address       Pure        Launch      QUERY;
        /// Address of a private variable (`ptr(private)`).
        SlotAddr           "slot_addr"       Slot       Address       Pure        Varying     QUERY;
        /// Address of a module's variable, in the variable's space.
        GlobalAddr         "global_addr"     Global     Address       Pure        Group       QUERY;
    }

    /// Arithmetic, bit operations and comparisons of integers.
    Int(IntOp) {
        /// Wrapping addition.
        Iadd               "iadd"            Wrap       Int2          Pure        Operands    lanes(eval::int::add), commutes;
        /// Wrapping subtraction.
        Isub               "isub"            Wrap       Int2          Pure        Operands    lanes(eval::int::sub);
        /// Wrapping multiplication, low half.
        Imul               "imul"            Wrap       Int2          Pure        Operands    lanes(eval::int::mul), commutes;
        /// High half of the unsigned product.
        Umulh              "umulh"           None       Int2          Pure        Operands    lanes(eval::int::umulh), commutes;
        /// High half of the signed product.
        Smulh              "smulh"           None       Int2          Pure        Operands    lanes(eval::int::smulh), commutes;
        /// Unsigned quotient; 0 when the divisor is 0.
        Udiv               "udiv"            None       Int2          Pure        Operands    lanes(eval::int::udiv);
        /// Signed quotient toward zero; 0 when the divisor is 0, the dividend when it overflows (MIN / -1).
        Sdiv               "sdiv"            None       Int2          Pure        Operands    lanes(eval::int::sdiv);
        /// Unsigned remainder; 0 when the divisor is 0.
        Urem               "urem"            None       Int2          Pure        Operands    lanes(eval::int::urem);
        /// Signed remainder with the sign of the dividend; 0 when the divisor is 0 or the quotient overflows.
        Srem               "srem"            None       Int2          Pure        Operands    lanes(eval::int::srem);
        /// Wrapping negation.
        Ineg               "ineg"            None       Int1          Pure        Operands    lanes(eval::int::neg);
        /// Absolute value as unsigned (MIN stays MIN).
        Iabs               "iabs"            None       Int1          Pure        Operands    lanes(eval::int::abs);
        /// Unsigned addition that clamps to the range.
        UaddSat            "uadd_sat"        None       Int2          Pure        Operands    lanes(eval::int::uadd_sat), commutes;
        /// Signed addition that clamps to the range.
        SaddSat            "sadd_sat"        None       Int2          Pure        Operands    lanes(eval::int::sadd_sat), commutes;
        /// Unsigned subtraction that clamps to the range.
        UsubSat            "usub_sat"        None       Int2          Pure        Operands    lanes(eval::int::usub_sat);
        /// Signed subtraction that clamps to the range.
        SsubSat            "ssub_sat"        None       Int2          Pure        Operands    lanes(eval::int::ssub_sat);
        /// Unsigned minimum.
        Umin               "umin"            None       Int2          Pure        Operands    lanes(eval::int::umin), commutes;
        /// Unsigned maximum.
        Umax               "umax"            None       Int2          Pure        Operands    lanes(eval::int::umax), commutes;
        /// Signed minimum.
        Smin               "smin"            None       Int2          Pure        Operands    lanes(eval::int::smin), commutes;
        /// Signed maximum.
        Smax               "smax"            None       Int2          Pure        Operands    lanes(eval::int::smax), commutes;
        /// Bitwise and.
        And                "and"             None       Bits2         Pure        Operands    lanes(eval::int::and), commutes;
        /// Bitwise or.
        Or                 "or"              None       Bits2         Pure        Operands    lanes(eval::int::or), commutes;
        /// Bitwise exclusive or.
        Xor                "xor"             None       Bits2         Pure        Operands    lanes(eval::int::xor), commutes;
        /// Bitwise complement.
        Not                "not"             None       Bits1         Pure        Operands    lanes(eval::int::not);
        /// Shift left; the count is taken modulo the width.
        Shl                "shl"             Wrap       Int2          Pure        Operands    lanes(eval::int::shl);
        /// Logical shift right; the count is taken modulo the width.
        Lshr               "lshr"            None       Int2          Pure        Operands    lanes(eval::int::lshr);
        /// Arithmetic shift right; the count is taken modulo the width.
        Ashr               "ashr"            None       Int2          Pure        Operands    lanes(eval::int::ashr);
        /// Rotate left; the count is taken modulo the width.
        Rotl               "rotl"            None       Int2          Pure        Operands    lanes(eval::int::rotl);
        /// Leading zeros; the width for 0.
        Clz                "clz"             None       Int1          Pure        Operands    lanes(eval::int::clz);
        /// Trailing zeros; the width for 0.
        Ctz                "ctz"             None       Int1          Pure        Operands    lanes(eval::int::ctz);
        /// Bits set.
        Popcnt             "popcnt"          None       Int1          Pure        Operands    lanes(eval::int::popcnt);
        /// Bits in reverse order.
        Bitrev             "bitrev"          None       Int1          Pure        Operands    lanes(eval::int::bitrev);
        /// Comparison of integers, Booleans or pointers.
        Icmp               "icmp"            IntCond    IntCompare    Pure        Operands    lanes(eval::int::icmp);
    }

    /// Arithmetic and comparisons of floats.
    Float(FloatOp) {
        /// Addition, correctly rounded to nearest even (as are all float ops that do not say otherwise).
        Fadd               "fadd"            Fp         Float2        Pure        Operands    lanes(eval::float::add), commutes;
        /// Subtraction.
        Fsub               "fsub"            Fp         Float2        Pure        Operands    lanes(eval::float::sub);
        /// Multiplication.
        Fmul               "fmul"            Fp         Float2        Pure        Operands    lanes(eval::float::mul), commutes;
        /// Division.
        Fdiv               "fdiv"            Fp         Float2        Pure        Operands    lanes(eval::float::div);
        /// `a * b + c`, rounded once.
        Fma                "fma"             Fp         Float3        Pure        Operands    lanes(eval::float::fma), commutes;
        /// Sign flipped, NaN included.
        Fneg               "fneg"            Fp         Float1        Pure        Operands    lanes(eval::float::neg);
        /// Sign cleared, NaN included.
        Fabs               "fabs"            Fp         Float1        Pure        Operands    lanes(eval::float::abs);
        /// Magnitude of the first, sign of the second.
        Fcopysign          "fcopysign"       Fp         Float2        Pure        Operands    lanes(eval::float::copysign);
        /// Minimum; the other operand when one is NaN (IEEE 754-2008 minNum). Of zeros either may be taken.
        Fmin               "fmin"            Fp         Float2        Pure        Operands    lanes(eval::float::min), commutes;
        /// Maximum; the other operand when one is NaN (IEEE 754-2008 maxNum). Of zeros either may be taken.
        Fmax               "fmax"            Fp         Float2        Pure        Operands    lanes(eval::float::max), commutes;
        /// Square root.
        Sqrt               "sqrt"            Fp         Float1        Pure        Operands    lanes(eval::float::sqrt);
        /// Integral value toward plus infinity.
        Ceil               "ceil"            Fp         Float1        Pure        Operands    lanes(eval::float::ceil);
        /// Integral value toward minus infinity.
        Floor              "floor"           Fp         Float1        Pure        Operands    lanes(eval::float::floor);
        /// Integral value toward zero.
        Trunc              "trunc"           Fp         Float1        Pure        Operands    lanes(eval::float::trunc);
        /// Nearest integral value, ties to even.
        Rint               "rint"            Fp         Float1        Pure        Operands    lanes(eval::float::rint);
        /// Comparison.
        Fcmp               "fcmp"            FloatCond  FloatCompare  Pure        Operands    lanes(eval::float::fcmp);
    }

    /// Conversions between types.
    Convert(ConvertOp) {
        /// Low bits of each lane.
        Itrunc             "itrunc"          None       Narrow        Pure        Operands    lanes(eval::convert::itrunc);
        /// Zero extension; of a Boolean: 0 or 1.
        Zext               "zext"            None       Widen         Pure        Operands    lanes(eval::convert::zext);
        /// Sign extension; of a Boolean: 0 or -1.
        Sext               "sext"            None       Widen         Pure        Operands    lanes(eval::convert::sext);
        /// Float to signed integer, rounded as stated.
        FptoS              "fptos"           Convert    FloatToInt    Pure        Operands    lanes(eval::convert::fptos);
        /// Float to unsigned integer, rounded as stated.
        FptoU              "fptou"           Convert    FloatToInt    Pure        Operands    lanes(eval::convert::fptou);
        /// Signed integer to float, rounded as stated.
        StoFp              "stofp"           Convert    IntToFloat    Pure        Operands    lanes(eval::convert::stofp);
        /// Unsigned integer to float, rounded as stated.
        UtoFp              "utofp"           Convert    IntToFloat    Pure        Operands    lanes(eval::convert::utofp);
        /// Float to float of another width, rounded as stated.
        FptoFp             "fptofp"          Convert    FloatToFloat  Pure        Operands    lanes(eval::convert::fptofp);
        /// The same bits as another type; lane 0 is the lowest.
        Bitcast            "bitcast"         None       Bitcast       Pure        Operands    whole(eval::whole::bitcast);
        /// The address as an integer.
        PtrToInt           "ptrtoint"        None       PtrToInt      Pure        Operands    lanes(eval::convert::same_bits);
        /// The integer as an address.
        IntToPtr           "inttoptr"        None       IntToPtr      Pure        Operands    lanes(eval::convert::same_bits);
        /// The same address seen in another space.
        SpaceCast          "spacecast"       None       PtrToPtr      Pure        Operands    lanes(eval::convert::same_bits);
    }

    /// Selection and movement of lanes.
    Lane(LaneOp) {
        /// The second where the first is true, else the third.
        Select             "select"          None       Select        Pure        Operands    whole(eval::whole::select);
        /// A scalar in every lane.
        Splat              "splat"           None       Splat         Pure        Operands    whole(eval::whole::splat);
        /// One lane.
        Extract            "extract"         Lane       Extract       Pure        Operands    whole(eval::whole::extract);
        /// The vector with one lane replaced.
        Insert             "insert"          Lane       Insert        Pure        Operands    whole(eval::whole::insert);
        /// The lane whose number is the second operand, taken modulo the number of lanes (three counting as four; lane 3 of three
        /// is unspecified).
        ExtractDyn         "extract_dyn"     None       ExtractDyn    Pure        Operands    whole(eval::whole::extract_dyn);
        /// The vector with the lane of the third operand replaced; a number out of range replaces none.
        InsertDyn          "insert_dyn"      None       InsertDyn     Pure        Operands    whole(eval::whole::insert_dyn);
        /// A lane of the first operand for each lane of the second: the one whose number it is, modulo the number of lanes.
        Lookup             "lookup"          None       Lookup        Pure        Operands    whole(eval::whole::lookup);
        /// Any lanes of two vectors, by constant numbers.
        Shuffle            "shuffle"         Lanes      Shuffle       Pure        Operands    whole(eval::whole::shuffle);
        /// A vector of scalars.
        Vec                "vec"             None       Vec           Pure        Operands    whole(eval::whole::vec);
        /// Whether any lane is true.
        Any                "any"             None       MaskToBool    Pure        Operands    whole(eval::whole::any);
        /// Whether all lanes are true.
        All                "all"             None       MaskToBool    Pure        Operands    whole(eval::whole::all);
        /// A bit for each lane, the first lane's being the lowest: whether it is true.
        MaskBits           "mask_bits"       None       MaskBits      Pure        Operands    whole(eval::whole::mask_bits);
        /// All lanes combined by an operation, in lane order.
        Reduce             "reduce"          Reduce     Reduce        Pure        Operands    whole(eval::whole::reduce);
    }

    /// Address arithmetic, and tests of addresses.
    Address(AddressOp) {
        /// `base + index * scale + disp` in bytes, wrapping.
        Addr               "addr"            Addr       Addr          Pure        Operands    whole(eval::whole::addr);
        /// Whether a generic pointer leads into the space of the immediate (private, local or global).
        InSpace            "in_space"        Space      PtrTest       Pure        Operands    MEMORY;
    }

    /// Accesses to memory, atomics and fences.
    Memory(MemoryOp) {
        /// Reads a value.
        Load               "load"            Mem        Load          Read        Memory      MEMORY;
        /// Writes a value: pointer, value.
        Store              "store"           Mem        Store         Write       Varying     MEMORY;
        /// Reads the lanes whose mask is true; the others are taken from the third operand: pointer, mask, other.
        MaskedLoad         "masked_load"     Mem        MaskedLoad    Read        Memory      MEMORY;
        /// Writes the lanes whose mask is true: pointer, value, mask.
        MaskedStore        "masked_store"    Mem        MaskedStore   Write       Varying     MEMORY;
        /// Reads each lane from its own address where the mask is true: pointers, mask, other.
        Gather             "gather"          Mem        Gather        Read        Memory      MEMORY;
        /// Writes each lane to its own address where the mask is true, in lane order: pointers, value, mask.
        Scatter            "scatter"         Mem        Scatter       Write       Varying     MEMORY;
        /// Copies bytes between memory that does not overlap: to, from, count.
        Memcpy             "memcpy"          Mem        Memcpy        ReadWrite   Varying     MEMORY;
        /// Fills bytes: to, byte, count. With an undefined byte, it begins the lifetime of a private variable.
        Memset             "memset"          Mem        Memset        Write       Varying     MEMORY;
        /// Atomic read.
        AtomicLoad         "atomic_load"     Atomic     AtomicLoad    ReadWrite   Varying     MEMORY;
        /// Atomic write: pointer, value.
        AtomicStore        "atomic_store"    Atomic     AtomicStore   ReadWrite   Varying     MEMORY;
        /// Atomic read-modify-write: pointer, operand; gives the old value.
        AtomicRmw          "atomic_rmw"      Atomic     AtomicRmw     ReadWrite   Varying     MEMORY;
        /// Atomic compare-exchange: pointer, expected, new; gives the old value.
        AtomicCmpxchg      "atomic_cmpxchg"  Atomic     AtomicCmpxchg ReadWrite   Varying     MEMORY;
        /// Memory fence.
        Fence              "fence"           Atomic     Nothing       ReadWrite   Varying     MEMORY;
    }

    /// Accesses to images: gone before work-items become lanes.
    Image(ImageOp) {
        /// An element of an image, or a mixture of elements: address of the descriptor, sampler, coordinates, level of detail.
        ImageRead          "image_read"     Image      ImageRead     Read        Varying     MEMORY;
        /// Writes an element of an image: address of the descriptor, coordinates, level, colour.
        ImageWrite         "image_write"    Image      ImageWrite    Write       Varying     MEMORY;
    }

    /// Sizes and ids, as OpenCL C's functions of the same names.
    Query(QueryOp) {
        /// `get_work_dim`.
        WorkDim            "work_dim"        None       Query32       Pure        Launch      QUERY;
        /// `get_global_size`.
        GlobalSize         "global_size"     Dim        Query64       Pure        Launch      QUERY;
        /// `get_global_offset`.
        GlobalOffset       "global_offset"   Dim        Query64       Pure        Launch      QUERY;
        /// `get_num_groups`.
        NumGroups          "num_groups"      Dim        Query64       Pure        Launch      QUERY;
        /// `get_enqueued_local_size`.
        EnqueuedLocalSize  "enqueued_local_size" Dim    Query64       Pure        Launch      QUERY;
        /// `get_local_size`: of this group, smaller in the last one of a non-uniform dimension.
        LocalSize          "local_size"      Dim        Query64       Pure        Group       QUERY;
        /// `get_group_id`.
        GroupId            "group_id"        Dim        Query64       Pure        Group       QUERY;
        /// `get_global_id`.
        GlobalId           "global_id"       Dim        Query64       Pure        Varying     QUERY;
        /// `get_local_id`.
        LocalId            "local_id"        Dim        Query64       Pure        Varying     QUERY;
        /// `get_global_linear_id`.
        GlobalLinearId     "global_linear_id" None      Query64       Pure        Varying     QUERY;
        /// `get_local_linear_id`.
        LocalLinearId      "local_linear_id" None       Query64       Pure        Varying     QUERY;
        /// `get_sub_group_size`: of this sub-group, smaller in the last one.
        SubGroupSize       "sub_group_size"  None       Query32       Pure        Pack        QUERY;
        /// `get_max_sub_group_size`.
        MaxSubGroupSize    "max_sub_group_size" None    Query32       Pure        Launch      QUERY;
        /// `get_num_sub_groups`.
        NumSubGroups       "num_sub_groups"  None       Query32       Pure        Group       QUERY;
        /// `get_enqueued_num_sub_groups`.
        EnqueuedNumSubGroups "enqueued_num_sub_groups" None Query32   Pure        Launch      QUERY;
        /// `get_sub_group_id`.
        SubGroupId         "sub_group_id"    None       Query32       Pure        Pack        QUERY;
        /// `get_sub_group_local_id`.
        SubGroupLocalId    "sub_group_local_id" None    Query32       Pure        Varying     QUERY;
    }

    /// Barriers.
    Sync(SyncOp) {
        /// Waits until every work-item of the group (or sub-group) is here, and orders memory.
        Barrier            "barrier"         Barrier    Nothing       Convergent  Varying     CONTROL;
        /// The sub-group arrives at the named barrier that lies at the address (three `i32`: how many sub-groups meet at it,
        /// how many have arrived, how often all have) and waits until as many as meet there have arrived; orders memory.
        NamedBarrier       "named_barrier"   Barrier    Arrive        Convergent  Varying     CONTROL;
        /// Lets the other sub-groups of the group go on before the work-item continues. It is in loops in which a sub-group
        /// waits for another one by reading memory, and orders nothing.
        Yield              "yield"           None       Nothing       Convergent  Varying     CONTROL;
        /// Says that the sub-groups of the group wait for one another at barriers and none can go on.
        Deadlock           "deadlock"        None       Nothing       ReadWrite   Varying     CONTROL;
    }

    /// Exchange of values between the work-items of a group, or those of a sub-group that execute the op together.
    Collective(CollectiveOp) {
        /// Whether the operand is true; it may as well be true because it is for another work-item of the pack. For branches
        /// around code that gives the same results where it is not needed: packs take them without masks.
        PackAny            "pack_any"        None       Truth         Pure        Vote        whole(eval::whole::same);
        /// The values of all combined by an operation, of the work-items of one cluster when there are clusters.
        GroupReduce        "group_reduce"    Group      Combine       Convergent  Scope       CONTROL;
        /// The work-item's value combined with those of all before it.
        GroupScan          "group_scan"      Group      Combine       Convergent  Varying     CONTROL;
        /// The values of all before the work-item combined; the operation's identity for the first.
        GroupScanExclusive "group_scan_exclusive" Group Combine       Convergent  Varying     CONTROL;
        /// One bit for each work-item of the sub-group, by number: whether it is here and its value is true.
        GroupBallot        "group_ballot"    None       Ballot        Convergent  Pack        CONTROL;
        /// The first operand of the work-item of the sub-group whose number is the second; some value when it is not here.
        GroupShuffle       "group_shuffle"   None       Pick          Convergent  Choice      CONTROL;
    }

    /// Calls.
    Call(CallOp) {
        /// A function of the module. From *canonical* on, its operand is the address of a record with parameters and results.
        Call               "call"            Func       Call          ReadWrite   Varying     CONTROL;
        /// A library function, lane by lane. Pure.
        LibCall            "libcall"         Lib        Lib           Pure        Operands    lanes(eval::lib_call);
        /// `printf`: pointer to the format, then the values.
        Printf             "printf"          None       Printf        ReadWrite   Varying     CONTROL;
        /// A request to the runtime: its number, then its operands. Reads memory that they point to, writes none.
        Request            "request"         None       Request       ReadWrite   Varying     CONTROL;
        /// The time: a count of nanoseconds that never goes back.
        Clock              "clock"           None       Query64       ReadWrite   Varying     CONTROL;
        /// Asks the launch's checker about an access: the number of its site, its offset in the object (or its address, if the
        /// object is unknown), its size in bytes, the work-item's global linear id. 0 if it must not be performed; the checker
        /// has reported it.
        Check              "check"           None       Check         ReadWrite   Varying     CONTROL;
    }

    /// Ends of blocks.
    Terminator(TerminatorOp) {
        /// Goes to a block.
        Jump               "jump"            Jump       Jump          Terminator  Varying     CONTROL;
        /// Goes to the first target when true, else to the second.
        Branch             "branch"          Branch     Branch        Terminator  Varying     CONTROL;
        /// Goes to the target of the equal case, else to the default.
        Switch             "switch"          Switch     Switch        Terminator  Varying     CONTROL;
        /// Returns from the function; ends the work-item in a kernel.
        Ret                "ret"             None       Ret           Terminator  Varying     CONTROL;
        /// Never reached; reaching it is the kernel's undefined behaviour and ends the work-item.
        Unreachable        "unreachable"     None       Nothing       Terminator  Varying     CONTROL;
    }
}

impl Opcode {
    /// The op's row.
    pub fn info(self) -> &'static OpInfo {
        &OPS[self as usize]
    }

    /// The op's class, and which of its ops it is.
    pub fn class(self) -> OpClass {
        self.info().class
    }

    /// The op of a name in the text form.
    pub fn from_name(name: &str) -> Option<Opcode> {
        OPS.iter().find(|info| info.name == name).map(|info| info.op)
    }

    /// Whether it ends a block.
    pub fn is_terminator(self) -> bool {
        self.info().effects == Effects::Terminator
    }

    /// Whether its first two operands may change places.
    pub fn commutes(self) -> bool {
        self.info().commutes
    }

    /// Whether it may be removed when its results are unused, merged with an equal one, and executed speculatively.
    pub fn is_pure(self) -> bool {
        self.info().effects == Effects::Pure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_names_unique() {
        for (i, info) in OPS.iter().enumerate() {
            assert_eq!(info.op as usize, i);
            assert_eq!(Opcode::from_name(info.name), Some(info.op));
        }
    }
}
