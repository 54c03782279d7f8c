//! Keywords. Their symbols are interned first, so a symbol below [`Keyword::COUNT`] is a keyword of some version.

use crate::source::{Interner, Symbol};

macro_rules! keywords {
    ($($name:ident $($text:literal)+,)*) => {
        /// A keyword. Spellings that mean the same (`__kernel`, `kernel`) are one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names say it")]
        pub enum Keyword { $($name,)* }

        const SPELLINGS: &[(&str, Keyword)] = &[$($(($text, Keyword::$name),)+)*];
    };
}

keywords! {
    Auto "auto", Break "break", Case "case", Char "char", Const "const" "__const" "__const__", Continue "continue",
    Default "default", Do "do", Double "double", Else "else", Enum "enum", Extern "extern", Float "float", For "for", Goto "goto",
    If "if", Inline "inline" "__inline" "__inline__", Int "int", Long "long", Register "register",
    Restrict "restrict" "__restrict" "__restrict__", Return "return", Short "short", Signed "signed" "__signed" "__signed__",
    Sizeof "sizeof", Static "static", Struct "struct", Switch "switch", Typedef "typedef", Union "union", Unsigned "unsigned",
    Void "void", Volatile "volatile" "__volatile" "__volatile__", While "while",
    Bool "_Bool" "bool", Complex "_Complex" "__complex__", Imaginary "_Imaginary", Alignas "_Alignas",
    Alignof "_Alignof" "__alignof" "__alignof__", Atomic "_Atomic", Generic "_Generic", Noreturn "_Noreturn",
    StaticAssert "_Static_assert", ThreadLocal "_Thread_local",
    Half "half", Kernel "__kernel" "kernel", Global "__global" "global", Local "__local" "local",
    Constant "__constant" "constant", Private "__private" "private", GenericSpace "__generic" "generic",
    ReadOnly "__read_only" "read_only", WriteOnly "__write_only" "write_only", ReadWrite "__read_write" "read_write",
    Pipe "pipe", Uniform "uniform", VecStep "vec_step" "__builtin_vectorelements",
    Attribute "__attribute__" "__attribute", Extension "__extension__", Typeof "typeof" "__typeof" "__typeof__", Asm "asm" "__asm" "__asm__",
    AutoType "__auto_type",
    FuncName "__func__" "__FUNCTION__" "__PRETTY_FUNCTION__",
    BuiltinOffsetof "__builtin_offsetof", BuiltinTypesCompatible "__builtin_types_compatible_p",
    BuiltinChooseExpr "__builtin_choose_expr", BuiltinAstype "__builtin_astype",
    BuiltinConvertVector "__builtin_convertvector", BuiltinShuffleVector "__builtin_shufflevector", BuiltinVaArg "__builtin_va_arg",
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
