//! Declaration specifiers: storage classes, qualifiers and the type.

use super::ast::{
    ArithmeticWord, Attribute, Expr, ExprKind, Name, Qualifiers, Specifiers, Storage, TypeName, TypeOrExpr,
    TypeSpecifier,
};
use super::expressions::Parenthesized;
use super::keyword::Keyword;
use super::names::Meaning;
use super::parser::{Parse, Parser, Tok};
use crate::diagnostics::{Diagnostic, similar};
use crate::preprocess::Punct;
use crate::source::Span;
use crate::types::{Access, AddressSpace};
use crate::types::{name_of_c_type, type_names};

/// Where specifiers stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At file scope or in a block.
    Declaration,
    /// In a record.
    Member,
    /// In a list of parameters.
    Parameter,
    /// In a type name.
    TypeName,
}

/// The word of an arithmetic type that a keyword is.
fn word(keyword: Keyword) -> Option<ArithmeticWord> {
    Some(match keyword {
        Keyword::Void => ArithmeticWord::Void,
        Keyword::Bool => ArithmeticWord::Bool,
        Keyword::Char => ArithmeticWord::Char,
        Keyword::Short => ArithmeticWord::Short,
        Keyword::Int => ArithmeticWord::Int,
        Keyword::Long => ArithmeticWord::Long,
        Keyword::Signed => ArithmeticWord::Signed,
        Keyword::Unsigned => ArithmeticWord::Unsigned,
        Keyword::Half => ArithmeticWord::Half,
        Keyword::Float => ArithmeticWord::Float,
        Keyword::Double => ArithmeticWord::Double,
        Keyword::Complex => ArithmeticWord::Complex,
        _ => return None,
    })
}

/// The spelling of a word in messages.
fn word_text(word: ArithmeticWord) -> &'static str {
    match word {
        ArithmeticWord::Void => "void",
        ArithmeticWord::Bool => "bool",
        ArithmeticWord::Char => "char",
        ArithmeticWord::Short => "short",
        ArithmeticWord::Int => "int",
        ArithmeticWord::Long => "long",
        ArithmeticWord::Signed => "signed",
        ArithmeticWord::Unsigned => "unsigned",
        ArithmeticWord::Half => "half",
        ArithmeticWord::Float => "float",
        ArithmeticWord::Double => "double",
        ArithmeticWord::Complex => "_Complex",
    }
}

/// The storage class or function specifier that a keyword is.
fn storage(keyword: Keyword) -> Option<(Storage, &'static str)> {
    Some(match keyword {
        Keyword::Typedef => (Storage::TYPEDEF, "typedef"),
        Keyword::Extern => (Storage::EXTERN, "extern"),
        Keyword::Static => (Storage::STATIC, "static"),
        Keyword::Auto => (Storage::AUTO, "auto"),
        Keyword::Register => (Storage::REGISTER, "register"),
        Keyword::ThreadLocal => (Storage::THREAD, "_Thread_local"),
        Keyword::Inline => (Storage::INLINE, "inline"),
        Keyword::Noreturn => (Storage::NORETURN, "_Noreturn"),
        Keyword::Kernel => (Storage::KERNEL, "__kernel"),
        _ => return None,
    })
}

/// The storage classes, of which a declaration has one.
const CLASSES: [(Storage, &str); 5] = [
    (Storage::TYPEDEF, "typedef"),
    (Storage::EXTERN, "extern"),
    (Storage::STATIC, "static"),
    (Storage::AUTO, "auto"),
    (Storage::REGISTER, "register"),
];

/// The address space that a keyword is.
fn space(keyword: Keyword) -> Option<AddressSpace> {
    Some(match keyword {
        Keyword::Private => AddressSpace::Private,
        Keyword::Global => AddressSpace::Global,
        Keyword::Constant => AddressSpace::Constant,
        Keyword::Local => AddressSpace::Local,
        Keyword::GenericSpace => AddressSpace::Generic,
        _ => return None,
    })
}

/// The access qualifier that a keyword is.
fn access(keyword: Keyword) -> Option<Access> {
    Some(match keyword {
        Keyword::ReadOnly => Access::ReadOnly,
        Keyword::WriteOnly => Access::WriteOnly,
        Keyword::ReadWrite => Access::ReadWrite,
        _ => return None,
    })
}

/// The spelling of an access qualifier in messages.
fn access_text(access: Access) -> &'static str {
    match access {
        Access::ReadOnly => "read_only",
        Access::WriteOnly => "write_only",
        Access::ReadWrite => "read_write",
    }
}

/// Whether a keyword begins or continues the specifiers of a type.
fn is_type_keyword(keyword: Keyword) -> bool {
    word(keyword).is_some()
        || space(keyword).is_some()
        || access(keyword).is_some()
        || matches!(
            keyword,
            Keyword::Const
                | Keyword::Volatile
                | Keyword::Restrict
                | Keyword::Struct
                | Keyword::Union
                | Keyword::Enum
                | Keyword::Typeof
                | Keyword::Atomic
                | Keyword::AutoType
                | Keyword::Pipe
        )
}

impl Parser<'_, '_> {
    /// Whether a type name begins here.
    pub(super) fn starts_type(&mut self) -> bool {
        self.is_type_start(self.tok)
    }

    /// Whether a type name begins at a later token.
    pub(super) fn starts_type_at(&mut self, ahead: usize) -> bool {
        let tok = self.peek_at(ahead);
        self.is_type_start(tok)
    }

    fn is_type_start(&mut self, tok: Tok) -> bool {
        match tok {
            Tok::Keyword(keyword) => is_type_keyword(keyword),
            Tok::Name(symbol) => self.meaning(symbol).is_type(),
            _ => false,
        }
    }

    /// Whether a declaration begins here.
    pub(super) fn starts_declaration(&mut self) -> bool {
        match self.tok {
            Tok::Keyword(keyword) => {
                is_type_keyword(keyword) || storage(keyword).is_some() || keyword == Keyword::Alignas
            }
            tok => self.is_type_start(tok),
        }
    }

    /// No specifiers, at this place.
    pub(super) fn no_specifiers(&self) -> Specifiers {
        Specifiers {
            storage: Storage::default(),
            qualifiers: Qualifiers::default(),
            ty: TypeSpecifier::Missing,
            attributes: Vec::new(),
            alignas: Vec::new(),
            is_pipe: false,
            span: self.span,
        }
    }

    /// The specifiers of a type name.
    pub(super) fn type_specifiers(&mut self) -> Parse<Specifiers> {
        self.specifiers(Place::TypeName)
    }

    /// Specifiers. There is a type afterwards: what is missing was reported.
    pub(super) fn specifiers(&mut self, place: Place) -> Parse<Specifiers> {
        let mut specifiers = self.no_specifiers();
        let start = self.span;
        loop {
            let at = self.span;
            match self.tok {
                Tok::Keyword(keyword) => {
                    if place == Place::Declaration && declares_tag(&specifiers) && self.starts_next(keyword) {
                        break;
                    }
                    if !self.specifier(keyword, place, &mut specifiers)? {
                        break;
                    }
                }
                Tok::Name(symbol) => {
                    let is_missing = matches!(specifiers.ty, TypeSpecifier::Missing);
                    if !is_missing || !self.meaning(symbol).is_type() {
                        break;
                    }
                    self.advance();
                    specifiers.ty = TypeSpecifier::Name(Name { symbol, span: at });
                }
                Tok::Punct(Punct::LeftBracket) if self.at_attributes() => {
                    self.attributes(&mut specifiers.attributes)?
                }
                _ => break,
            }
        }
        if matches!(specifiers.ty, TypeSpecifier::Missing) {
            specifiers.ty = self.missing_type(place)?;
        }
        specifiers.span = self.since(start);
        Ok(specifiers)
    }

    /// One specifier. `false` if the keyword is none.
    fn specifier(&mut self, keyword: Keyword, place: Place, specifiers: &mut Specifiers) -> Parse<bool> {
        let at = self.span;
        if let Some(word) = word(keyword) {
            self.advance();
            match &mut specifiers.ty {
                TypeSpecifier::Words(words) if words.len() < 8 => words.push((word, at)),
                TypeSpecifier::Missing => specifiers.ty = TypeSpecifier::Words(vec![(word, at)]),
                other => {
                    let text = cannot_combine(other);
                    self.error(at, text);
                }
            }
            return Ok(true);
        }
        if let Some((flag, name)) = storage(keyword) {
            self.advance();
            self.add_storage(flag, name, at, place, specifiers);
            return Ok(true);
        }
        match keyword {
            Keyword::Attribute => self.attributes(&mut specifiers.attributes)?,
            Keyword::Extension => self.advance(),
            Keyword::Pipe => {
                if !matches!(specifiers.ty, TypeSpecifier::Missing) {
                    let text = cannot_combine(&specifiers.ty);
                    return self.fail(text);
                }
                self.advance();
                specifiers.is_pipe = true;
            }
            Keyword::Alignas => {
                self.advance();
                let of = match self.parenthesized()? {
                    Parenthesized::Type(ty) => TypeOrExpr::Type(ty),
                    Parenthesized::Expr(expr) => TypeOrExpr::Expr(expr),
                };
                specifiers.alignas.push(of);
            }
            Keyword::Struct | Keyword::Union => {
                let record = self.nested(Self::record)?;
                self.set_type(specifiers, TypeSpecifier::Record(Box::new(record)), at);
            }
            Keyword::Enum => {
                let enumeration = self.nested(Self::enumeration)?;
                self.set_type(specifiers, TypeSpecifier::Enum(Box::new(enumeration)), at);
            }
            Keyword::Typeof => {
                self.advance();
                let of = match self.parenthesized()? {
                    Parenthesized::Type(ty) => TypeOrExpr::Type(ty),
                    Parenthesized::Expr(expr) => TypeOrExpr::Expr(expr),
                };
                self.set_type(specifiers, TypeSpecifier::Typeof(Box::new(of)), at);
            }
            Keyword::Atomic if self.peek() == Tok::Punct(Punct::LeftParen) => {
                self.advance();
                let open = self.span;
                self.advance();
                let ty = self.bracketed(Punct::RightParen, open, Self::type_name)?;
                self.set_type(specifiers, TypeSpecifier::Atomic(Box::new(ty)), at);
            }
            Keyword::AutoType => {
                self.advance();
                self.set_type(specifiers, TypeSpecifier::Auto(at), at);
            }
            _ => return Ok(self.qualifier(keyword, &mut specifiers.qualifiers)),
        }
        Ok(true)
    }

    /// Whether a keyword behind `struct { ... }` begins another declaration: a `;` is missing.
    fn starts_next(&mut self, keyword: Keyword) -> bool {
        word(keyword).is_some()
            || matches!(keyword, Keyword::Struct | Keyword::Union | Keyword::Enum | Keyword::Kernel)
            || storage(keyword).is_some() && self.starts_type_at(1)
    }

    fn set_type(&mut self, specifiers: &mut Specifiers, ty: TypeSpecifier, at: Span) {
        if matches!(specifiers.ty, TypeSpecifier::Missing) {
            specifiers.ty = ty;
        } else {
            let text = cannot_combine(&specifiers.ty);
            self.error(at, text);
        }
    }

    fn add_storage(&mut self, flag: Storage, name: &str, at: Span, place: Place, specifiers: &mut Specifiers) {
        if specifiers.storage.contains(flag) {
            let text = format!("duplicate '{name}' declaration specifier");
            self.warning(at, "duplicate-decl-specifier", text);
            return;
        }
        if CLASSES.iter().any(|(class, _)| *class == flag) {
            let other = CLASSES.iter().find(|(class, _)| specifiers.storage.contains(*class));
            if let Some((_, other)) = other {
                self.error(at, format!("cannot combine with previous '{other}' declaration specifier"));
                return;
            }
        }
        match place {
            Place::Member | Place::TypeName => self.error(at, "type name does not allow storage class to be specified"),
            Place::Parameter if flag != Storage::REGISTER => {
                let text = match flag {
                    Storage::INLINE | Storage::NORETURN | Storage::KERNEL => {
                        format!("'{name}' can only appear on functions")
                    }
                    _ => "invalid storage class specifier in function declarator".to_owned(),
                };
                self.error(at, text);
            }
            Place::Declaration | Place::Parameter => specifiers.storage |= flag,
        }
    }

    /// Takes a qualifier. `false` if the keyword is none.
    pub(super) fn qualifier(&mut self, keyword: Keyword, qualifiers: &mut Qualifiers) -> bool {
        let at = self.span;
        let (flag, name) = match keyword {
            Keyword::Const => (&mut qualifiers.is_const, "const"),
            Keyword::Volatile => (&mut qualifiers.is_volatile, "volatile"),
            Keyword::Restrict => (&mut qualifiers.is_restrict, "restrict"),
            Keyword::Atomic => (&mut qualifiers.is_atomic, "_Atomic"),
            _ => {
                if let Some(space) = space(keyword) {
                    self.advance();
                    self.add_space(space, at, qualifiers);
                    return true;
                }
                let Some(access) = access(keyword) else { return false };
                self.advance();
                match qualifiers.access {
                    None => qualifiers.access = Some((access, at)),
                    Some((other, _)) if other == access => {
                        let text = format!("duplicate '{}' declaration specifier", access_text(access));
                        self.warning(at, "duplicate-decl-specifier", text);
                    }
                    Some(_) => self.error(at, "multiple access qualifiers"),
                }
                return true;
            }
        };
        if std::mem::replace(flag, true) && keyword != Keyword::Restrict {
            let text = format!("duplicate '{name}' declaration specifier");
            self.warning(at, "duplicate-decl-specifier", text);
        }
        self.advance();
        true
    }

    fn add_space(&mut self, space: AddressSpace, at: Span, qualifiers: &mut Qualifiers) {
        match qualifiers.space {
            None => qualifiers.space = Some((space, at)),
            Some((other, _)) if other == space => {
                let text = "multiple identical address spaces specified for type";
                self.warning(at, "duplicate-decl-specifier", text);
            }
            Some(_) => self.error(at, "multiple address spaces specified for type"),
        }
    }

    /// The type where none is written: an error in any case.
    fn missing_type(&mut self, place: Place) -> Parse<TypeSpecifier> {
        let at = self.span;
        if let Some(name) = self.name() {
            let is_declared = matches!(
                self.peek(),
                Tok::Punct(
                    Punct::LeftBracket
                        | Punct::LeftParen
                        | Punct::RightParen
                        | Punct::Semicolon
                        | Punct::Comma
                        | Punct::Equal
                        | Punct::LeftBrace
                        | Punct::Colon
                ) | Tok::Keyword(Keyword::Asm)
            );
            if !is_declared || matches!(place, Place::Parameter | Place::TypeName) {
                self.unknown_type(name, place);
                self.advance();
                return Ok(error_type(at));
            }
        }
        match (place, self.tok) {
            (Place::TypeName, _) => return self.fail("expected a type"),
            (_, Tok::Punct(Punct::RightBrace) | Tok::End | Tok::Number(_) | Tok::String(_) | Tok::Unknown) => {
                return self.fail("expected identifier or '('");
            }
            _ => {}
        }
        if self.may_report() {
            let text = "type specifier missing, defaults to 'int'; ISO C99 and later do not support implicit int";
            let diagnostic = crate::diagnostics::Diagnostic::error(at, text).fix(Span { hi: at.lo, ..at }, "int ");
            self.session.diagnostics.report(diagnostic);
        }
        Ok(TypeSpecifier::Words(vec![(ArithmeticWord::Int, at)]))
    }

    /// Reports a name that should be a type.
    fn unknown_type(&mut self, name: Name, place: Place) {
        let text = self.text(name.symbol).to_owned();
        let in_block = place == Place::Declaration && !self.names.at_file_scope();
        let is_hidden = self.meaning(name.symbol) == Meaning::Ordinary;
        match self.names.tag(name.symbol) {
            Some(tag) if !is_hidden => {
                let scope = if in_block { " in this scope" } else { "" };
                self.error(name.span, format!("must use '{tag}' tag to refer to type '{text}'{scope}"));
            }
            _ => {
                let what = if in_block && !is_hidden { "use of undeclared identifier" } else { "unknown type name" };
                let mut diagnostic = Diagnostic::error(name.span, format!("{what} '{text}'")).range(name.span);
                if let Some(meant) = self.similar_type(&text) {
                    diagnostic.text = format!("{}; did you mean '{meant}'?", diagnostic.text);
                    diagnostic = diagnostic.fix(name.span, meant);
                }
                if self.may_report() {
                    self.session.diagnostics.report(diagnostic);
                }
            }
        }
    }

    /// The name of a type that may be meant.
    fn similar_type(&self, wanted: &str) -> Option<String> {
        if let Some(name) = name_of_c_type(wanted) {
            return Some(name.to_owned());
        }
        let (options, names) = (self.session.options, &self.session.names);
        let declared = self.names.typedefs().map(|symbol| names.text(symbol).to_owned());
        let all: Vec<String> = declared.chain(type_names(options.version, &options.profile)).collect();
        similar(wanted, all.iter().map(|name| (name.as_str(), name))).cloned()
    }

    /// Whether a declaration seems to begin here whose type is unknown: a name that is not declared, and another behind it.
    pub(super) fn starts_unknown_type(&mut self) -> bool {
        let Tok::Name(symbol) = self.tok else { return false };
        matches!(self.peek(), Tok::Name(_)) && self.meaning(symbol) == Meaning::Unknown
    }

    /// A type name.
    pub(super) fn type_name(&mut self) -> Parse<TypeName> {
        let start = self.span;
        let specifiers = self.specifiers(Place::TypeName)?;
        let declarator = self.abstract_declarator()?;
        Ok(TypeName { specifiers, declarator, span: self.since(start) })
    }

    /// Adds attributes that stand before specifiers.
    pub(super) fn prepend(attributes: Vec<Attribute>, specifiers: &mut Specifiers) {
        specifiers.attributes.splice(0..0, attributes);
    }
}

/// The type of something with an error that was reported.
fn error_type(span: Span) -> TypeSpecifier {
    TypeSpecifier::Typeof(Box::new(TypeOrExpr::Expr(Expr { kind: ExprKind::Error, span, caret: span })))
}

/// The message for a second type.
fn cannot_combine(first: &TypeSpecifier) -> String {
    let name = match first {
        TypeSpecifier::Words(words) => words.last().map_or("int", |(word, _)| word_text(*word)),
        TypeSpecifier::Missing | TypeSpecifier::Name(_) => "type-name",
        TypeSpecifier::Record(record) if record.is_union => "union",
        TypeSpecifier::Record(_) => "struct",
        TypeSpecifier::Enum(_) => "enum",
        TypeSpecifier::Typeof(_) => "typeof",
        TypeSpecifier::Atomic(_) => "_Atomic",
        TypeSpecifier::Auto(_) => "__auto_type",
    };
    format!("cannot combine with previous '{name}' declaration specifier")
}

/// Whether specifiers end in the braces of a record or an enumeration.
pub(super) fn declares_tag(specifiers: &Specifiers) -> bool {
    match &specifiers.ty {
        TypeSpecifier::Record(record) => record.members.is_some(),
        TypeSpecifier::Enum(enumeration) => enumeration.constants.is_some(),
        TypeSpecifier::Missing
        | TypeSpecifier::Words(_)
        | TypeSpecifier::Name(_)
        | TypeSpecifier::Typeof(_)
        | TypeSpecifier::Atomic(_)
        | TypeSpecifier::Auto(_) => false,
    }
}
