//! The syntax tree: what is written, before any name has a meaning.

use crate::preprocess::Pragma;
use crate::source::{Span, Symbol};
use crate::types::{Access, AddressSpace};

/// A name and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub symbol: Symbol,
    /// Where it is.
    pub span: Span,
}

/// A translation unit.
#[derive(Debug, Default)]
pub struct Unit {
    /// Its declarations in order.
    pub items: Vec<Item>,
}

/// A declaration at file scope.
#[derive(Debug)]
pub enum Item {
    /// A function with a body.
    Function(Box<FunctionDefinition>),
    /// Everything else that declares.
    Declaration(Declaration),
    /// `_Static_assert`
    StaticAssert(StaticAssert),
    /// A pragma.
    Pragma(Pragma, Span),
}

/// A function with a body.
#[derive(Debug)]
pub struct FunctionDefinition {
    /// Specifiers.
    pub specifiers: Specifiers,
    /// Its name and type; the outermost part that applies to the name is [`DeclaratorPart::Function`].
    pub declarator: Declarator,
    /// The body.
    pub body: Block,
}

/// `_Static_assert(condition, message)`
#[derive(Debug)]
pub struct StaticAssert {
    /// The condition.
    pub condition: Expr,
    /// The message literal's spellings, if there is one.
    pub message: Vec<Name>,
    /// The whole.
    pub span: Span,
}

/// A declaration with any number of declarators.
#[derive(Debug)]
pub struct Declaration {
    /// Specifiers.
    pub specifiers: Specifiers,
    /// What is declared, with initializers.
    pub declarators: Vec<InitDeclarator>,
    /// The whole.
    pub span: Span,
}

/// A declarator with an initializer.
#[derive(Debug)]
pub struct InitDeclarator {
    /// The declarator.
    pub declarator: Declarator,
    /// The initializer.
    pub init: Option<Initializer>,
}

/// An initializer.
#[derive(Debug)]
pub enum Initializer {
    /// `= expression`
    Expr(Expr),
    /// `= { ... }`
    List(InitList),
}

/// `{ ... }`
#[derive(Debug)]
pub struct InitList {
    /// Its items.
    pub items: Vec<InitItem>,
    /// From brace to brace.
    pub span: Span,
}

/// An item of an initializer list.
#[derive(Debug)]
pub struct InitItem {
    /// `.name`, `[index]`, `[first ... last]`, in order; empty for none.
    pub designators: Vec<Designator>,
    /// The value.
    pub value: Initializer,
}

/// A part of a designator.
#[derive(Debug)]
pub enum Designator {
    /// `.name` (also GNU `name:`).
    Field(Name),
    /// `[index]`, or `[first ... last]`
    Index(Expr, Option<Expr>),
}

bitflags::bitflags! {
    /// Storage classes and function specifiers.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Storage: u16 {
        /// `typedef`
        const TYPEDEF = 1;
        /// `extern`
        const EXTERN = 2;
        /// `static`
        const STATIC = 4;
        /// `auto`
        const AUTO = 8;
        /// `register`
        const REGISTER = 16;
        /// `_Thread_local`
        const THREAD = 32;
        /// `inline`
        const INLINE = 64;
        /// `_Noreturn`
        const NORETURN = 128;
        /// `kernel`
        const KERNEL = 256;
    }
}

/// Qualifiers as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qualifiers {
    /// `const`
    pub is_const: bool,
    /// `volatile`
    pub is_volatile: bool,
    /// `restrict`
    pub is_restrict: bool,
    /// `_Atomic` without parentheses
    pub is_atomic: bool,
    /// The address space, and where it is written.
    pub space: Option<(AddressSpace, Span)>,
    /// The access qualifier of an image or pipe, and where it is written.
    pub access: Option<(Access, Span)>,
}

/// What stands before the declarators.
#[derive(Debug)]
pub struct Specifiers {
    /// Storage classes and function specifiers.
    pub storage: Storage,
    /// Qualifiers of the type.
    pub qualifiers: Qualifiers,
    /// The type.
    pub ty: TypeSpecifier,
    /// `__attribute__`s among the specifiers.
    pub attributes: Vec<Attribute>,
    /// `_Alignas(...)`: types or expressions.
    pub alignas: Vec<TypeOrExpr>,
    /// Whether `pipe` stands before the type.
    pub is_pipe: bool,
    /// The whole.
    pub span: Span,
}

/// The words of an arithmetic type: `unsigned long int`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticWord {
    /// `void`
    Void,
    /// `bool`
    Bool,
    /// `char`
    Char,
    /// `short`
    Short,
    /// `int`
    Int,
    /// `long`
    Long,
    /// `signed`
    Signed,
    /// `unsigned`
    Unsigned,
    /// `half`
    Half,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `_Complex`
    Complex,
}

/// A type as the specifiers give it.
#[derive(Debug)]
pub enum TypeSpecifier {
    /// No type is written (`static x;`).
    Missing,
    /// Words of an arithmetic type, in order, and where each is.
    Words(Vec<(ArithmeticWord, Span)>),
    /// A name: a `typedef`, or a type of OpenCL C (`uint4`, `image2d_t`).
    Name(Name),
    /// `struct` or `union`
    Record(Box<RecordSpecifier>),
    /// `enum`
    Enum(Box<EnumSpecifier>),
    /// `typeof(...)`
    Typeof(Box<TypeOrExpr>),
    /// `_Atomic(type)`
    Atomic(Box<TypeName>),
    /// `__auto_type`
    Auto(Span),
}

/// A type or an expression.
#[derive(Debug)]
pub enum TypeOrExpr {
    /// A type.
    Type(TypeName),
    /// An expression.
    Expr(Expr),
}

/// A type without a declared name.
#[derive(Debug)]
pub struct TypeName {
    /// Specifiers.
    pub specifiers: Specifiers,
    /// The abstract declarator.
    pub declarator: Declarator,
    /// The whole.
    pub span: Span,
}

/// `struct name { members }`
#[derive(Debug)]
pub struct RecordSpecifier {
    /// Whether it is a union.
    pub is_union: bool,
    /// The tag.
    pub name: Option<Name>,
    /// The members; `None` if there are no braces.
    pub members: Option<Vec<Member>>,
    /// Attributes after the keyword or after the braces.
    pub attributes: Vec<Attribute>,
    /// The value of `#pragma pack` at this place.
    pub pack: Option<u32>,
    /// The whole.
    pub span: Span,
}

/// A member of a record.
#[derive(Debug)]
pub enum Member {
    /// A declaration of fields. A record or union without a declarator is an anonymous member.
    Fields {
        /// Specifiers.
        specifiers: Specifiers,
        /// Declarators with the widths of bit-fields.
        declarators: Vec<(Declarator, Option<Expr>)>,
    },
    /// `_Static_assert`
    StaticAssert(StaticAssert),
}

/// `enum name { constants }`
#[derive(Debug)]
pub struct EnumSpecifier {
    /// The tag.
    pub name: Option<Name>,
    /// The constants; `None` if there are no braces.
    pub constants: Option<Vec<(Name, Option<Expr>)>>,
    /// Attributes.
    pub attributes: Vec<Attribute>,
    /// The whole.
    pub span: Span,
}

/// A declarator, inside out: `parts` are applied to the specified type in order. `int *a[3]` has `[Pointer, Array]`;
/// `int (*f)(int)` has `[Function, Pointer]`.
#[derive(Debug)]
pub struct Declarator {
    /// The declared name; `None` if it is abstract.
    pub name: Option<Name>,
    /// What is made of the type.
    pub parts: Vec<DeclaratorPart>,
    /// Attributes after it.
    pub attributes: Vec<Attribute>,
    /// The whole.
    pub span: Span,
}

/// One step of a declarator.
#[derive(Debug)]
pub enum DeclaratorPart {
    /// `*`, with the qualifiers of the pointer itself.
    Pointer(Qualifiers, Vec<Attribute>),
    /// `^`, a pointer to a block.
    BlockPointer(Qualifiers),
    /// `[...]`
    Array {
        /// The size; `None` for `[]`.
        size: Option<Box<Expr>>,
        /// Qualifiers in the brackets.
        qualifiers: Qualifiers,
        /// `static` in the brackets.
        is_static: bool,
        /// From bracket to bracket.
        span: Span,
    },
    /// `(...)`
    Function(FunctionPart),
}

/// The parameters of a function declarator.
#[derive(Debug)]
pub struct FunctionPart {
    /// Parameters. `(void)` has none.
    pub parameters: Vec<Parameter>,
    /// Whether `...` follows.
    pub is_variadic: bool,
    /// Whether the parentheses are empty.
    pub is_empty: bool,
    /// From parenthesis to parenthesis.
    pub span: Span,
}

/// A parameter.
#[derive(Debug)]
pub struct Parameter {
    /// Specifiers.
    pub specifiers: Specifiers,
    /// The declarator.
    pub declarator: Declarator,
    /// The whole.
    pub span: Span,
}

/// One attribute of `__attribute__((...))`.
#[derive(Debug)]
pub struct Attribute {
    /// Its name without surrounding underscores (`__aligned__` is `aligned`).
    pub name: Name,
    /// Its arguments.
    pub arguments: Vec<AttributeArgument>,
    /// The whole.
    pub span: Span,
}

/// An argument of an attribute.
#[derive(Debug)]
pub enum AttributeArgument {
    /// An expression; a lone identifier is one, too.
    Expr(Expr),
    /// A type (`vec_type_hint(float4)`).
    Type(TypeName),
}

/// `{ ... }`
#[derive(Debug)]
pub struct Block {
    /// Statements and declarations.
    pub items: Vec<Stmt>,
    /// From brace to brace.
    pub span: Span,
}

/// A statement.
#[derive(Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it is.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Debug)]
pub enum StmtKind {
    /// `;`
    Empty,
    /// `expression;`
    Expr(Expr),
    /// A declaration.
    Declaration(Declaration),
    /// `_Static_assert`
    StaticAssert(StaticAssert),
    /// `{ ... }`
    Block(Block),
    /// `if`
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    /// `while`
    While(Expr, Box<Stmt>),
    /// `do`
    DoWhile(Box<Stmt>, Expr),
    /// `for`: initialization (an expression statement or a declaration), condition, step, body.
    For(Option<Box<Stmt>>, Option<Expr>, Option<Expr>, Box<Stmt>),
    /// `switch`
    Switch(Expr, Box<Stmt>),
    /// `case first:`, or `case first ... last:`, and the statement after it.
    Case(Expr, Option<Expr>, Box<Stmt>),
    /// `default:`
    Default(Box<Stmt>),
    /// `name:`
    Label(Name, Box<Stmt>),
    /// `goto`
    Goto(Name),
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `return`
    Return(Option<Expr>),
    /// A pragma: of the loop that follows, or of the rest of the block.
    Pragma(Pragma),
    /// A statement with attributes (`__attribute__((opencl_unroll_hint(n))) for`).
    Attributed(Vec<Attribute>, Box<Stmt>),
    /// `asm`: not supported, unless it is empty.
    Asm {
        /// Whether it has no instructions and writes no variable.
        is_empty: bool,
    },
}

/// An expression.
#[derive(Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The whole.
    pub span: Span,
    /// Where a caret points: the operator of a binary expression, the name of a member.
    pub caret: Span,
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `~`
    Not,
    /// `!`
    LogicalNot,
    /// `*`
    Deref,
    /// `&`
    AddressOf,
    /// `++x`
    PreIncrement,
    /// `--x`
    PreDecrement,
    /// `x++`
    PostIncrement,
    /// `x--`
    PostDecrement,
    /// `__real__`
    Real,
    /// `__imag__`
    Imag,
}

/// Binary operators, the assigning ones and the comma excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "C's operators")]
pub enum BinaryOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Xor,
    Or,
    LogicalAnd,
    LogicalOr,
}

/// The kinds of expressions.
#[derive(Debug)]
pub enum ExprKind {
    /// A name.
    Name(Symbol),
    /// A number, as spelled.
    Number(Symbol),
    /// A character constant, as spelled.
    Char(Symbol),
    /// Adjacent string literals, as spelled.
    String(Vec<Name>),
    /// `__func__`
    FuncName,
    /// `(x)`
    Paren(Box<Expr>),
    /// `a[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `f(...)`
    Call(Box<Expr>, Vec<Expr>),
    /// `a.name` or, if the flag is set, `a->name`
    Member(Box<Expr>, Name, bool),
    /// A unary operator.
    Unary(UnaryOp, Box<Expr>),
    /// A binary operator.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a = b`, or `a op= b`
    Assign(Option<BinaryOp>, Box<Expr>, Box<Expr>),
    /// `a ? b : c`; without `b` the GNU form.
    Conditional(Box<Expr>, Option<Box<Expr>>, Box<Expr>),
    /// `a, b`
    Comma(Box<Expr>, Box<Expr>),
    /// `(type)x`
    Cast(Box<TypeName>, Box<Expr>),
    /// `(type)(a, b, ...)` with more than one expression: a vector literal, or a cast of a comma expression.
    CastList(Box<TypeName>, Vec<Expr>),
    /// `(type){ ... }`
    CompoundLiteral(Box<TypeName>, InitList),
    /// `sizeof`
    Sizeof(Box<TypeOrExpr>),
    /// `_Alignof`
    Alignof(Box<TypeOrExpr>),
    /// `vec_step`
    VecStep(Box<TypeOrExpr>),
    /// `({ ... })`
    Statements(Block),
    /// `_Generic(control, type: value, default: value)`
    Generic(Box<Expr>, Vec<(Option<TypeName>, Expr)>),
    /// `^ type (parameters) { ... }`: a block. The declarator is abstract; it may be absent.
    Block(Option<Box<TypeName>>, Block),
    /// `__builtin_offsetof(type, member.designators)`
    Offsetof(Box<TypeName>, Vec<Designator>),
    /// `__builtin_types_compatible_p(a, b)`
    TypesCompatible(Box<TypeName>, Box<TypeName>),
    /// `__builtin_choose_expr(condition, a, b)`
    ChooseExpr(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `__builtin_astype(x, type)`
    Astype(Box<Expr>, Box<TypeName>),
    /// `__builtin_convertvector(x, type)`
    ConvertVector(Box<Expr>, Box<TypeName>),
    /// `__builtin_shufflevector(a, b, indices...)`
    ShuffleVector(Vec<Expr>),
    /// `&&name`: not supported, but parsed.
    LabelAddress(Name),
    /// What could not be parsed; an error was reported.
    Error,
}
