//! Reading. The grammar is line-oriented and needs no look-ahead beyond one token; each function is read in two steps, since
//! a value may be used above the line that defines it: definitions first, then operands are looked up.
//!
//! Reading checks syntax and that every id is defined. Typing and all else is the verifier's.

use std::fmt::Display;

use cranelift_entity::EntityRef;
use logos::Logos;

use super::lexer::Token;
use super::literal::{read_int, read_string};
use crate::entities::{Func, Global};
use crate::function::Function;
use crate::module::{GlobalData, GlobalInit, KernelData, Module};
use crate::types::{Space, Type};

use super::parse_function::read_function;

/// Why and where a text is not kernel IR.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What was expected, or what is wrong.
    pub message: String,
}

/// Reads a module.
///
/// # Errors
/// The first offence.
pub fn parse_module(text: &str) -> Result<Module, ParseError> {
    let mut p = Parser::new(text);
    let module = read_module(&mut p).map_err(|e| e.locate(text))?;
    Ok(module)
}

/// Reads a single function. Functions and globals of a module that it names are not looked up.
///
/// # Errors
/// The first offence.
pub fn parse_function(text: &str) -> Result<Function, ParseError> {
    let mut p = Parser::new(text);
    let func = (|| {
        p.skip_lines();
        p.keyword("function")?;
        let (_, func) = read_function(&mut p)?;
        p.skip_lines();
        p.expect(Token::End)?;
        Ok(func)
    })();
    func.map_err(|e: Error| e.locate(text))
}

/// An offence at a byte offset.
#[derive(Debug)]
pub(super) struct Error {
    at: usize,
    message: String,
}

impl Error {
    fn locate(self, text: &str) -> ParseError {
        let before = text.get(..self.at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        ParseError {
            line: before.matches('\n').count() as u32 + 1,
            column: before[line_start..].chars().count() as u32 + 1,
            message: self.message,
        }
    }
}

pub(super) type Result1<T> = Result<T, Error>;

/// What a text names of the module around a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    Func(Func),
    Global(Global),
}

/// The tokens and how far they are read.
pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, std::ops::Range<usize>)>,
    next: usize,
    /// References into the module, checked when all of it is read.
    pub(super) references: Vec<(Reference, usize)>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Parser<'t> {
        let mut tokens: Vec<_> =
            Token::lexer(text).spanned().map(|(token, span)| (token.unwrap_or(Token::Unknown), span)).collect();
        tokens.push((Token::End, text.len()..text.len()));
        Parser { text, tokens, next: 0, references: Vec::new() }
    }

    /// The next token, not taken.
    pub(super) fn peek(&self) -> Token {
        self.tokens[self.next].0
    }

    /// The next token's text.
    pub(super) fn peek_text(&self) -> &'t str {
        &self.text[self.tokens[self.next].1.clone()]
    }

    /// The next token's byte offset.
    pub(super) fn at(&self) -> usize {
        self.tokens[self.next].1.start
    }

    /// Takes the next token and gives its text. The end is never passed.
    pub(super) fn take(&mut self) -> &'t str {
        let text = self.peek_text();
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
        text
    }

    /// Takes the next token if it is this one.
    pub(super) fn accept(&mut self, token: Token) -> bool {
        let here = self.peek() == token;
        if here {
            self.take();
        }
        here
    }

    /// Takes the next token, which must be this one.
    pub(super) fn expect(&mut self, token: Token) -> Result1<&'t str> {
        if self.peek() == token { Ok(self.take()) } else { Err(self.expected(token.describe())) }
    }

    /// An offence at the next token.
    pub(super) fn error(&self, message: impl Into<String>) -> Error {
        Error { at: self.at(), message: message.into() }
    }

    /// An offence at a byte offset.
    pub(super) fn error_at(&self, at: usize, message: impl Into<String>) -> Error {
        Error { at, message: message.into() }
    }

    /// The offence that something else was expected.
    pub(super) fn expected(&self, what: impl Display) -> Error {
        let found = if let Token::Newline | Token::End = self.peek() {
            self.peek().describe().to_owned()
        } else {
            format!("`{}`", self.peek_text())
        };
        self.error(format!("expected {what}, found {found}"))
    }

    /// Skips line ends.
    pub(super) fn skip_lines(&mut self) {
        while self.accept(Token::Newline) {}
    }

    /// Takes the end of a line (or of the text).
    pub(super) fn end_of_line(&mut self) -> Result1<()> {
        if self.accept(Token::Newline) || self.peek() == Token::End {
            Ok(())
        } else {
            Err(self.expected("the end of the line"))
        }
    }

    /// Takes this word.
    pub(super) fn keyword(&mut self, word: &str) -> Result1<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.expected(format!("`{word}`"))) }
    }

    /// Takes this word if it comes next.
    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let here = self.peek() == Token::Word && self.peek_text() == word;
        if here {
            self.take();
        }
        here
    }

    /// A non-negative or signed integer of a type.
    pub(super) fn int<T: TryFrom<i128>>(&mut self, what: &str) -> Result1<T> {
        let value = if self.peek() == Token::Number { read_int(self.peek_text()) } else { None };
        let value = value.and_then(|v| T::try_from(v).ok()).ok_or_else(|| self.expected(what))?;
        self.take();
        Ok(value)
    }

    /// A quoted string.
    pub(super) fn string(&mut self) -> Result1<String> {
        if self.peek() != Token::Str {
            return Err(self.expected("a quoted string"));
        }
        let quoted = self.peek_text();
        let text = read_string(&quoted[1..quoted.len() - 1]).ok_or_else(|| self.error("unknown escape in a string"))?;
        self.take();
        Ok(text)
    }

    /// A row of one of the name tables.
    pub(super) fn row<T: Copy>(&mut self, table: &[(T, &'static str)], what: &str) -> Result1<T> {
        self.accept_row(table).ok_or_else(|| {
            let names: Vec<_> = table.iter().map(|(_, name)| *name).collect();
            self.expected(format!("{what} ({})", names.join(", ")))
        })
    }

    /// A row of one of the name tables, if one comes next.
    pub(super) fn accept_row<T: Copy>(&mut self, table: &[(T, &'static str)]) -> Option<T> {
        if self.peek() != Token::Word {
            return None;
        }
        let (item, _) = table.iter().find(|(_, name)| *name == self.peek_text())?;
        self.take();
        Some(*item)
    }

    /// An address space.
    pub(super) fn space(&mut self) -> Result1<Space> {
        let space = Space::ALL.into_iter().find(|s| s.name() == self.peek_text());
        let space = space.ok_or_else(|| self.expected("an address space"))?;
        self.take();
        Ok(space)
    }

    /// A type.
    pub(super) fn ty(&mut self) -> Result1<Type> {
        let ty = self.peek_text().parse().map_err(|_| self.expected("a type"))?;
        self.take();
        Ok(ty)
    }

    /// The number of an id with this prefix, if one comes next.
    pub(super) fn accept_id(&mut self, prefix: char) -> Option<u32> {
        if self.peek() != Token::Word {
            return None;
        }
        let digits = self.peek_text().strip_prefix(prefix)?;
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let number = digits.parse().ok().filter(|&n| n < u32::MAX / 2)?;
        self.take();
        Some(number)
    }

    /// The number of an id with this prefix.
    pub(super) fn id(&mut self, prefix: char, what: &str) -> Result1<u32> {
        self.accept_id(prefix).ok_or_else(|| self.expected(format!("{what} (`{prefix}0`)")))
    }

    /// A function of the module, looked up later.
    pub(super) fn func_ref(&mut self) -> Result1<Func> {
        let at = self.at();
        let func = Func::from_u32(self.id('f', "a function")?);
        self.references.push((Reference::Func(func), at));
        Ok(func)
    }

    /// A global of the module, looked up later.
    pub(super) fn global_ref(&mut self) -> Result1<Global> {
        let at = self.at();
        let global = Global::from_u32(self.id('g', "a global")?);
        self.references.push((Reference::Global(global), at));
        Ok(global)
    }
}

fn read_module(p: &mut Parser<'_>) -> Result1<Module> {
    let mut module = Module::default();
    loop {
        p.skip_lines();
        let at = p.at();
        if p.accept(Token::End) {
            break;
        } else if p.accept_word("global") {
            let number = p.id('g', "a global")?;
            if number as usize != module.globals.len() {
                return Err(
                    p.error_at(at, format!("globals are numbered in order: g{} comes next", module.globals.len()))
                );
            }
            let global = read_global(p)?;
            module.globals.push(global);
        } else if p.accept_word("function") {
            let (number, func) = read_function(p)?;
            if number.is_some_and(|n| n as usize != module.funcs.len()) {
                return Err(
                    p.error_at(at, format!("functions are numbered in order: f{} comes next", module.funcs.len()))
                );
            }
            module.funcs.push(func);
        } else if p.accept_word("kernel") {
            module.kernels.push(read_kernel(p)?);
        } else {
            return Err(p.expected("`global`, `function` or `kernel`"));
        }
    }
    for &(reference, at) in &p.references {
        let (known, name) = match reference {
            Reference::Func(func) => (func.index() < module.funcs.len(), func.to_string()),
            Reference::Global(global) => (global.index() < module.globals.len(), global.to_string()),
        };
        if !known {
            return Err(p.error_at(at, format!("the module has no {name}")));
        }
    }
    Ok(module)
}

fn read_global(p: &mut Parser<'_>) -> Result1<GlobalData> {
    let name = p.string()?;
    let space = p.space()?;
    p.keyword("size")?;
    let size = p.int("a size")?;
    p.keyword("align")?;
    let align = p.int("an alignment")?;
    let mut init = GlobalInit::default();
    if p.accept_word("bytes") {
        let at = p.at();
        init.bytes = read_hex(&p.string()?).ok_or_else(|| p.error_at(at, "expected pairs of hexadecimal digits"))?;
    }
    while p.accept_word("address") {
        let offset = p.int("an offset")?;
        let target = p.global_ref()?;
        init.addresses.push((offset, target, p.int("an addend")?));
    }
    p.end_of_line()?;
    Ok(GlobalData { name, space, size, align, init })
}

fn read_hex(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |b: u8| char::from(b).to_digit(16);
    digits.chunks_exact(2).map(|pair| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8)).collect()
}

fn read_kernel(p: &mut Parser<'_>) -> Result1<KernelData> {
    let func = p.func_ref()?;
    p.keyword("args")?;
    let arg_block_bytes = p.int("a size")?;
    let required_local_size =
        if p.accept_word("required") { Some([p.int("a size")?, p.int("a size")?, p.int("a size")?]) } else { None };
    p.end_of_line()?;
    Ok(KernelData { func, arg_block_bytes, required_local_size })
}
