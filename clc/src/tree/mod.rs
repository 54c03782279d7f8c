//! The typed tree: what a program means. Every name is resolved, every conversion is a node, and what is constant is a constant.
//!
//! There are two kinds of expressions: an [`Expr`] has a value, a [`Place`] is where an object lies (C's lvalue). Reading a place
//! is [`ExprKind::Load`]. The types of operands are those that the operation works on: no implicit conversion is left to
//! [`crate::emit`].

mod constant;
mod print;

pub use constant::{Address, AddressBase, Constant};
pub use print::print;

use crate::builtins::Lowering;
use crate::source::{Span, Symbol};
use crate::types::{Access, AddressSpace, QualTy, Ty, TypeTable};

/// An index into [`Module::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// An index into [`Module::globals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalId(pub u32);

/// An index into [`Function::locals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalId(pub u32);

/// A label of a function: a `goto`'s, or a `case`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// A program.
#[derive(Debug)]
pub struct Module {
    /// Its types.
    pub types: TypeTable,
    /// Its functions, declared ones included.
    pub functions: Vec<Function>,
    /// Objects that live as long as the program, as the work-group (`local`), or are constant: string literals and `static` and
    /// `local` variables of functions included.
    pub globals: Vec<Global>,
}

/// Who sees a function or a global.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// This unit only.
    Internal,
    /// Other units too; exported if it is defined, imported if not.
    External,
    /// Other units too; equal definitions in several of them are one (non-static `inline` functions).
    LinkOnce,
}

/// A function.
#[derive(Debug)]
pub struct Function {
    /// Its name in the source. Blocks have a generated one.
    pub name: Symbol,
    /// Its name for the linker: the same, or the mangled one of an `overloadable` function.
    pub link_name: String,
    /// Result.
    pub result: Ty,
    /// Parameters: the first [`Function::locals`].
    pub parameters: u32,
    /// Linkage.
    pub linkage: Linkage,
    /// What a kernel has.
    pub kernel: Option<Kernel>,
    /// `always_inline` (`Some(true)`), `noinline` (`Some(false)`).
    pub inline: Option<bool>,
    /// Parameters, and variables of automatic storage, temporaries included.
    pub locals: Vec<Local>,
    /// Number of labels.
    pub labels: u32,
    /// The body; `None` for a declaration.
    pub body: Option<Vec<Stmt>>,
    /// Whether contraction of products and sums is allowed where the function begins; [`StmtKind::FpContract`] changes it.
    pub contract: bool,
    /// Its declarator.
    pub span: Span,
    /// The end of its body.
    pub end: Span,
}

/// What only kernels have.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// `reqd_work_group_size`
    pub required_size: Option<[u32; 3]>,
    /// `work_group_size_hint`
    pub size_hint: Option<[u32; 3]>,
    /// `vec_type_hint`
    pub vector_hint: Option<Ty>,
    /// `intel_reqd_sub_group_size`
    pub required_sub_group_size: Option<u32>,
    /// The attributes as `CL_KERNEL_ATTRIBUTES` has them, separated by spaces.
    pub attributes: String,
    /// What `clGetKernelArgInfo` reports, for each parameter.
    pub arguments: Vec<KernelArgument>,
}

/// What `clGetKernelArgInfo` reports of an argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelArgument {
    /// The type as it is declared, without qualifiers and address spaces: `float4*`, `image2d_t`, `struct s*`.
    pub type_name: String,
    /// The name; empty if there is none.
    pub name: String,
    /// `const`, `restrict`, `volatile` of what a pointer parameter points to, and `pipe`, in the bits of
    /// `CL_KERNEL_ARG_TYPE_QUALIFIER`: 1, 2, 4, 8.
    pub type_qualifiers: u64,
    /// The address space that a pointer parameter points to; `Private` for values. Images and pipes are `Global`.
    pub address: AddressSpace,
    /// Access of an image or a pipe.
    pub access: Option<Access>,
}

/// A parameter or an automatic variable.
#[derive(Debug)]
pub struct Local {
    /// Its name, if it has one.
    pub name: Option<Symbol>,
    /// Its type.
    pub ty: QualTy,
    /// An alignment in bytes above that of the type; 0 for none.
    pub align: u32,
    /// Where it is declared.
    pub span: Span,
}

/// An object that is not automatic. The address space of its type says where it lies; `Private` does not occur.
#[derive(Debug)]
pub struct Global {
    /// Its name for the linker, or of the variable; empty for a literal.
    pub name: String,
    /// Its type, with its address space.
    pub ty: QualTy,
    /// Its value; `None` for zeros, or if it is not initialized (`local`, imported).
    pub init: Option<Constant>,
    /// Linkage.
    pub linkage: Linkage,
    /// Whether it is defined here.
    pub is_defined: bool,
    /// For `local` variables: the kernel that declares it.
    pub owner: Option<FunctionId>,
    /// An alignment in bytes above that of the type; 0 for none.
    pub align: u32,
    /// Where it is declared.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it is.
    pub span: Span,
}

/// What pragmas and attributes say of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopHints {
    /// `unroll`: `Some(0)` whole or as the compiler likes, `Some(1)` not at all, `Some(n)` n times.
    pub unroll: Option<u32>,
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// An expression, for its effects.
    Expr(Expr),
    /// The lifetime of a variable begins here; its value is undefined. An initializer follows as an assignment
    /// ([`ExprKind::Init`]).
    Declare(LocalId),
    /// Statements in a scope.
    Block(Vec<Stmt>),
    /// `if`: condition (of type `bool`), then, else.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// All loops: `while`, `do`, `for`.
    Loop {
        /// Before the first iteration (the initialization of a `for`).
        init: Vec<Stmt>,
        /// The condition (of type `bool`) of an iteration; `None` is true.
        condition: Option<Expr>,
        /// Whether the condition is tested before the first iteration too; not in `do`.
        tests_first: bool,
        /// After each iteration, and where `continue` leads.
        step: Option<Expr>,
        /// The body.
        body: Vec<Stmt>,
        /// Hints.
        hints: LoopHints,
    },
    /// `switch`: an integer, the body with [`StmtKind::Label`]s, the cases (first, last, label; as the bits of the condition's
    /// type, in order of the source), the label of `default`.
    Switch {
        /// The value.
        value: Expr,
        /// The cases. A range has `first < last` in the order of the type.
        cases: Vec<(u64, u64, LabelId)>,
        /// `default`.
        default: Option<LabelId>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// A place to jump to.
    Label(LabelId),
    /// A jump.
    Goto(LabelId),
    /// Leaves the innermost loop or `switch`.
    Break,
    /// Goes to the step of the innermost loop.
    Continue,
    /// Leaves the function.
    Return(Option<Expr>),
    /// Contraction is allowed or forbidden from here to the end of the block.
    FpContract(bool),
}

/// A value.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type: never an array or a function; `void` for what has no value.
    pub ty: Ty,
    /// Where it is.
    pub span: Span,
}

/// Arithmetic of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-x`, of integers, floats and their vectors.
    Negate,
    /// `~x`
    Not,
    /// `!x` of a `bool`, as a `bool`; of a vector: -1 in the lanes that are zero, in the integer type of the same width.
    LogicalNot,
}

/// Arithmetic of two operands of the same type; for shifts the right operand has the same number of lanes, and its element may
/// differ. Shift counts are taken modulo the width, as OpenCL C has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "C's operators")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Or,
    Xor,
}

/// Comparisons of two operands of the same type: scalars, vectors, pointers, opaque types (`Equal` and `NotEqual`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "C's operators")]
pub enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Between arithmetic types, or vectors of the same number of lanes, with C's meaning: floats to integers toward zero,
    /// others to nearest even. To `bool`: whether it is not zero. From `bool`: 0 or 1.
    Arithmetic,
    /// A scalar into all lanes of a vector; the element type is the scalar's.
    Splat,
    /// A pointer into another type with the same address space.
    Pointer,
    /// A pointer into another address space (to or from `generic`), and another type.
    AddressSpace,
    /// A pointer to an integer.
    PointerToInteger,
    /// An integer to a pointer.
    IntegerToPointer,
    /// A pointer or an opaque value to `bool`: whether it is not null.
    PointerToBool,
    /// Same size, other type: `as_type`, including three lanes to and from four.
    Bits,
    /// Any value to `void`.
    Discard,
    /// The value of an integer constant as a sampler.
    Sampler,
}

/// The kinds of values.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant of the expression's type.
    Constant(Constant),
    /// The value of an object.
    Load(Box<Place>),
    /// The address of an object, or of an array's first element (C's decay): the type tells which.
    AddressOf(Box<Place>),
    /// One operand.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// A comparison. Of scalars and pointers the type is `int`; of vectors the signed integer vector, true being -1.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// `a && b` of `bool`s, as a `bool`; evaluates `b` only if `a`.
    LogicalAnd(Box<Expr>, Box<Expr>),
    /// `a || b` likewise.
    LogicalOr(Box<Expr>, Box<Expr>),
    /// A pointer plus (or, negated, minus) an integer in elements. The integer has the width of a pointer.
    PointerAdd(Box<Expr>, Box<Expr>),
    /// Difference of two pointers in elements of this many bytes.
    PointerDiff(Box<Expr>, Box<Expr>, u64),
    /// `condition ? a : b` with a condition of type `bool`; only one of the two is evaluated. Also of type `void`.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `condition ? a : b` by lanes: the condition is a vector of integers whose sign bit chooses `a`.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Stores a value; the result is the value stored.
    Assign(Box<Place>, Box<Expr>),
    /// As `Assign`, of an initializer: also to `const` objects.
    Init(Box<Place>, Box<Expr>),
    /// `place op= value`. The place is evaluated once: its value is converted to `computed`, combined with the right operand, and
    /// converted back (both conversions are [`Conversion::Arithmetic`], or none).
    CompoundAssign {
        /// The place.
        place: Box<Place>,
        /// The operator.
        op: BinaryOp,
        /// The type in which it is computed.
        computed: Ty,
        /// The right operand, already converted.
        value: Box<Expr>,
    },
    /// `place += n` of a pointer, in elements, n of the width of a pointer; the result is the new pointer.
    PointerAssign(Box<Place>, Box<Expr>),
    /// `++x` (`post` false) and `x++` of arithmetic types and pointers; decrements if the flag is set.
    Increment {
        /// The place.
        place: Box<Place>,
        /// Whether the result is the value before.
        post: bool,
        /// Whether it is `--`.
        decrement: bool,
    },
    /// A conversion.
    Convert(Conversion, Box<Expr>),
    /// A call of a function of the program. Arguments are converted; those beyond the parameters (of a variadic function) are
    /// promoted.
    Call(FunctionId, Vec<Expr>),
    /// A call of a built-in function: arguments have the types of the overload's parameters.
    Builtin(Lowering, Vec<Expr>),
    /// A vector from scalars and smaller vectors of its element type; their lanes add up.
    Vector(Vec<Expr>),
    /// Chosen lanes of a vector, as a scalar if it is one.
    Swizzle(Box<Expr>, Vec<u8>),
    /// Lanes of two vectors of one type (`__builtin_shufflevector`); `None` is undefined.
    Shuffle(Box<Expr>, Box<Expr>, Vec<Option<u8>>),
    /// A member of a record value.
    Field(Box<Expr>, u32),
    /// A record or array from the values of its members, in order; missing ones at the end are zeros. A union has one: the
    /// index of the member, and its value.
    Aggregate(Vec<(u32, Expr)>),
    /// Evaluates the first for its effects; the value of the second.
    Comma(Box<Expr>, Box<Expr>),
    /// `({ ... })`: the statements, then the value.
    Statements(Vec<Stmt>, Option<Box<Expr>>),
    /// A block literal: its function, and the captured variables in the order of the function's captures.
    Block(BlockLiteral),
    /// A call of a block value.
    BlockCall(Box<Expr>, Vec<Expr>),
}

/// A block literal.
#[derive(Clone, Debug)]
pub struct BlockLiteral {
    /// The function of its body. Its first parameter is a pointer to the captures (a record in the private address space; generic
    /// where the version has it), whose first three members are the block's size and alignment (`int`) and its invoke function.
    pub function: FunctionId,
    /// The type of the captures.
    pub captures: Ty,
    /// The values captured.
    pub values: Vec<Expr>,
}

/// Where an object lies.
#[derive(Clone, Debug)]
pub struct Place {
    /// What it is.
    pub kind: PlaceKind,
    /// The object's type, with its address space and qualifiers. May be an array.
    pub ty: QualTy,
    /// Where it is.
    pub span: Span,
}

/// The kinds of places.
#[derive(Clone, Debug)]
pub enum PlaceKind {
    /// A parameter or an automatic variable.
    Local(LocalId),
    /// A global, a `local` variable or a literal.
    Global(GlobalId),
    /// What a pointer points to.
    Deref(Box<Expr>),
    /// An element of an array; the index has the width of a pointer.
    Index(Box<Place>, Box<Expr>),
    /// A member of a record, or of a union.
    Field(Box<Place>, u32),
    /// Lanes of a vector. None repeats if it is stored to. The fourth lane of a vector of three (`v.hi`) is undefined, and a
    /// store leaves it out.
    Lanes(Box<Place>, Vec<u8>),
    /// One lane of a vector, by an index (`v[i]`).
    Lane(Box<Place>, Box<Expr>),
    /// A value that has to lie somewhere: a compound literal, or a member of a returned record. The local is its place; the
    /// expression is stored to it each time it is evaluated.
    Temporary(LocalId, Box<Expr>),
}
