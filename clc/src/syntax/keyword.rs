//! Keywords. Their symbols are interned first, so a symbol below [`Keyword::COUNT`] is a keyword of some version.

use super::ast::{ArithmeticWord, Storage};
use crate::source::{Interner, Symbol};
use crate::types::{Access, AddressSpace};

/// What a keyword is among declaration specifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specifier {
    /// A word of an arithmetic type.
    Word(ArithmeticWord),
    /// `struct` or `union`
    Record,
    /// `enum`
    Enum,
    /// `typeof`
    Typeof,
    /// `__auto_type`
    Auto,
    /// `pipe`
    Pipe,
    /// A storage class or function specifier.
    Storage(Storage),
    /// A qualifier of C.
    Qualifier(Qualifier),
    /// An address space.
    Space(AddressSpace),
    /// An access qualifier.
    Access(Access),
    /// `_Alignas`
    Alignas,
    /// `__attribute__`
    Attribute,
    /// `__extension__`
    Extension,
}

impl Specifier {
    /// Whether it begins or continues the specifiers of a type.
    pub fn is_of_type(self) -> bool {
        match self {
            Specifier::Word(_)
            | Specifier::Record
            | Specifier::Enum
            | Specifier::Typeof
            | Specifier::Auto
            | Specifier::Pipe
            | Specifier::Qualifier(_)
            | Specifier::Space(_)
            | Specifier::Access(_) => true,
            Specifier::Storage(_) | Specifier::Alignas | Specifier::Attribute | Specifier::Extension => false,
        }
    }
}

/// The qualifiers of C. `_Atomic` with parentheses is a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Qualifier {
    Const,
    Volatile,
    Restrict,
    Atomic,
}

macro_rules! keywords {
    ($($name:ident $($text:literal)+ $(=> $specifier:expr)?,)*) => {
        /// A keyword. Spellings that mean the same (`__kernel`, `kernel`) are one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names say it")]
        pub enum Keyword { $($name,)* }

        const SPELLINGS: &[(&str, Keyword)] = &[$($(($text, Keyword::$name),)+)*];

        impl Keyword {
            /// Its first spelling, which messages use.
            pub fn text(self) -> &'static str {
                match self { $(Keyword::$name => [$($text),+][0],)* }
            }

            /// What it is among declaration specifiers; `None` if it is none.
            pub fn specifier(self) -> Option<Specifier> {
                match self { $(Keyword::$name => keywords!(@specifier $($specifier)?),)* }
            }
        }
    };
    (@specifier) => { None };
    (@specifier $specifier:expr) => { Some($specifier) };
}

keywords! {
    Char "char" => Specifier::Word(ArithmeticWord::Char),
    Double "double" => Specifier::Word(ArithmeticWord::Double),
    Float "float" => Specifier::Word(ArithmeticWord::Float),
    Int "int" => Specifier::Word(ArithmeticWord::Int),
    Long "long" => Specifier::Word(ArithmeticWord::Long),
    Short "short" => Specifier::Word(ArithmeticWord::Short),
    Signed "signed" "__signed" "__signed__" => Specifier::Word(ArithmeticWord::Signed),
    Unsigned "unsigned" => Specifier::Word(ArithmeticWord::Unsigned),
    Void "void" => Specifier::Word(ArithmeticWord::Void),
    Bool "_Bool" "bool" => Specifier::Word(ArithmeticWord::Bool),
    Complex "_Complex" "__complex__" => Specifier::Word(ArithmeticWord::Complex),
    Half "half" => Specifier::Word(ArithmeticWord::Half),
    Enum "enum" => Specifier::Enum,
    Struct "struct" => Specifier::Record,
    Union "union" => Specifier::Record,
    Alignas "_Alignas" => Specifier::Alignas,
    Pipe "pipe" => Specifier::Pipe,
    Attribute "__attribute__" "__attribute" => Specifier::Attribute,
    Extension "__extension__" => Specifier::Extension,
    Typeof "typeof" "__typeof" "__typeof__" => Specifier::Typeof,
    AutoType "__auto_type" => Specifier::Auto,
    Auto "auto" => Specifier::Storage(Storage::AUTO),
    Extern "extern" => Specifier::Storage(Storage::EXTERN),
    Inline "inline" "__inline" "__inline__" => Specifier::Storage(Storage::INLINE),
    Register "register" => Specifier::Storage(Storage::REGISTER),
    Static "static" => Specifier::Storage(Storage::STATIC),
    Typedef "typedef" => Specifier::Storage(Storage::TYPEDEF),
    Noreturn "_Noreturn" => Specifier::Storage(Storage::NORETURN),
    ThreadLocal "_Thread_local" => Specifier::Storage(Storage::THREAD),
    Kernel "__kernel" "kernel" => Specifier::Storage(Storage::KERNEL),
    Const "const" "__const" "__const__" => Specifier::Qualifier(Qualifier::Const),
    Restrict "restrict" "__restrict" "__restrict__" => Specifier::Qualifier(Qualifier::Restrict),
    Volatile "volatile" "__volatile" "__volatile__" => Specifier::Qualifier(Qualifier::Volatile),
    Atomic "_Atomic" => Specifier::Qualifier(Qualifier::Atomic),
    Global "__global" "global" => Specifier::Space(AddressSpace::Global),
    Local "__local" "local" => Specifier::Space(AddressSpace::Local),
    Constant "__constant" "constant" => Specifier::Space(AddressSpace::Constant),
    Private "__private" "private" => Specifier::Space(AddressSpace::Private),
    GenericSpace "__generic" "generic" => Specifier::Space(AddressSpace::Generic),
    ReadOnly "__read_only" "read_only" => Specifier::Access(Access::ReadOnly),
    WriteOnly "__write_only" "write_only" => Specifier::Access(Access::WriteOnly),
    ReadWrite "__read_write" "read_write" => Specifier::Access(Access::ReadWrite),
    Break "break", Case "case", Continue "continue", Default "default", Do "do", Else "else", For "for", Goto "goto",
    If "if", Return "return", Sizeof "sizeof", Switch "switch", While "while", Imaginary "_Imaginary",
    Alignof "_Alignof" "__alignof" "__alignof__", Generic "_Generic", StaticAssert "_Static_assert",
    Uniform "uniform", VecStep "vec_step" "__builtin_vectorelements", Asm "asm" "__asm" "__asm__",
    FuncName "__func__" "__FUNCTION__" "__PRETTY_FUNCTION__", BuiltinOffsetof "__builtin_offsetof",
    BuiltinTypesCompatible "__builtin_types_compatible_p", BuiltinChooseExpr "__builtin_choose_expr",
    BuiltinAstype "__builtin_astype", BuiltinConvertVector "__builtin_convertvector",
    BuiltinShuffleVector "__builtin_shufflevector", BuiltinVaArg "__builtin_va_arg",
}

impl Keyword {
    /// Number of spellings.
    pub const COUNT: u32 = SPELLINGS.len() as u32;

    /// The keyword of a symbol, in any language version. Whether the version has it is up to the parser.
    pub fn of(symbol: Symbol) -> Option<Keyword> {
        SPELLINGS.get(symbol.0 as usize).map(|(_, keyword)| *keyword)
    }
}

/// An interner in which the keywords come first.
pub fn interner() -> Interner {
    let mut names = Interner::default();
    for (text, _) in SPELLINGS {
        names.intern(text);
    }
    names
}
