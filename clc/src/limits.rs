//! Limits on the input, so that no source can exhaust the stack, the memory or the time of the application. Each ends in a
//! diagnostic that names it.

/// Nesting of brackets, statements, declarators, initializers and operators in the syntax tree, and of types.
pub const NESTING: u32 = 1024;
/// Operators in a chain such as `a + b + c`, whose tree leans to the left.
pub const CHAIN: u32 = 16_384;
/// Nesting of `#include`.
pub const INCLUDES: u32 = 200;
/// Tokens of a translation unit after preprocessing.
pub const TOKENS: usize = 32 << 20;
/// Tokens of a translation unit that macros produced.
pub const EXPANDED_TOKENS: usize = 2 << 20;
/// Tokens that are handled while macros are expanded. Each is handled once for every macro that it passes through; what `#` and
/// `##` copy counts by its length.
pub const EXPANSION_STEPS: usize = 8 << 20;
/// Nesting of macro calls in arguments of macro calls, of macros in macros, and of brackets in conditions of `#if`.
pub const MACRO_NESTING: usize = 256;
/// Files that are read, counted as often as they are included.
pub const FILES: usize = 1 << 16;
/// Bytes of all files that are read.
pub const SOURCE_BYTES: usize = 256 << 20;
/// Errors after which compilation stops.
pub const ERRORS: usize = 20;
/// Bytes of stack of the thread that compiles. Pages that are not used take no memory.
pub const STACK: usize = 256 << 20;
/// Elements of arrays that designators repeat (`[0 ... 9] = x`) or skip, in all initializers; and the number of an element that has
/// an initializer.
pub const CONSTANT_ELEMENTS: u64 = 16 << 20;
