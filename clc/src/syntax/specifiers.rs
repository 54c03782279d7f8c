//! Declaration specifiers: storage classes, qualifiers and the type.

use super::ast::{
    ArithmeticWord, Attribute, Expr, ExprKind, Name, Qualifiers, Specifiers, Storage, TypeName, TypeOrExpr,
    TypeSpecifier,
};
use super::keyword::{Keyword, Qualifier, Specifier};
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

/// The storage classes, of which a declaration has one.
const CLASSES: [(Storage, &str); 5] = [
    (Storage::TYPEDEF, "typedef"),
    (Storage::EXTERN, "extern"),
    (Storage::STATIC, "static"),
    (Storage::AUTO, "auto"),
    (Storage::REGISTER, "register"),
];

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
    keyword.specifier().is_some_and(Specifier::is_of_type)
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
            Tok::Punct(_)
            | Tok::Number(_)
            | Tok::Char(_)
            | Tok::String(_)
            | Tok::Pragma(_)
            | Tok::Unknown
            | Tok::End => false,
        }
    }

    /// Whether a declaration begins here.
    pub(super) fn starts_declaration(&mut self) -> bool {
        self.starts_type()
            || matches!(self.tok, Tok::Keyword(keyword)
                if matches!(keyword.specifier(), Some(Specifier::Storage(_) | Specifier::Alignas)))
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
                Tok::Punct(_)
                | Tok::Number(_)
                | Tok::Char(_)
                | Tok::String(_)
                | Tok::Pragma(_)
                | Tok::Unknown
                | Tok::End => break,
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
        let Some(specifier) = keyword.specifier() else { return Ok(false) };
        match specifier {
            Specifier::Word(word) => {
                self.advance();
                self.add_word(word, at, specifiers);
            }
            Specifier::Storage(flag) => {
                self.advance();
                self.add_storage(flag, keyword.text(), at, place, specifiers);
            }
            Specifier::Attribute => self.attributes(&mut specifiers.attributes)?,
            Specifier::Extension => self.advance(),
            Specifier::Pipe => {
                if !matches!(specifiers.ty, TypeSpecifier::Missing) {
                    let text = cannot_combine(&specifiers.ty);
                    return self.fail(text);
                }
                self.advance();
                specifiers.is_pipe = true;
            }
            Specifier::Alignas => {
                self.advance();
                let of = self.parenthesized()?.into();
                specifiers.alignas.push(of);
            }
            Specifier::Record => {
                let record = self.nested(Self::record)?;
                self.set_type(specifiers, TypeSpecifier::Record(Box::new(record)), at);
            }
            Specifier::Enum => {
                let enumeration = self.nested(Self::enumeration)?;
                self.set_type(specifiers, TypeSpecifier::Enum(Box::new(enumeration)), at);
            }
            Specifier::Typeof => {
                self.advance();
                let of = self.parenthesized()?.into();
                self.set_type(specifiers, TypeSpecifier::Typeof(Box::new(of)), at);
            }
            Specifier::Qualifier(Qualifier::Atomic) if self.peek() == Tok::Punct(Punct::LeftParen) => {
                self.advance();
                let open = self.span;
                self.advance();
                let ty = self.bracketed(Punct::RightParen, open, Self::type_name)?;
                self.set_type(specifiers, TypeSpecifier::Atomic(Box::new(ty)), at);
            }
            Specifier::Auto => {
                self.advance();
                self.set_type(specifiers, TypeSpecifier::Auto(at), at);
            }
            Specifier::Qualifier(_) | Specifier::Space(_) | Specifier::Access(_) => {
                return Ok(self.qualifier(keyword, &mut specifiers.qualifiers));
            }
        }
        Ok(true)
    }

    fn add_word(&mut self, word: ArithmeticWord, at: Span, specifiers: &mut Specifiers) {
        match &mut specifiers.ty {
            TypeSpecifier::Words(words) if words.len() < 8 => words.push((word, at)),
            TypeSpecifier::Missing => specifiers.ty = TypeSpecifier::Words(vec![(word, at)]),
            TypeSpecifier::Words(_)
            | TypeSpecifier::Name(_)
            | TypeSpecifier::Record(_)
            | TypeSpecifier::Enum(_)
            | TypeSpecifier::Typeof(_)
            | TypeSpecifier::Atomic(_)
            | TypeSpecifier::Auto(_) => {
                let text = cannot_combine(&specifiers.ty);
                self.error(at, text);
            }
        }
    }

    /// Whether a keyword behind `struct { ... }` begins another declaration: a `;` is missing.
    fn starts_next(&mut self, keyword: Keyword) -> bool {
        let Some(specifier) = keyword.specifier() else { return false };
        matches!(specifier, Specifier::Word(_) | Specifier::Record | Specifier::Enum)
            || specifier == Specifier::Storage(Storage::KERNEL)
            || matches!(specifier, Specifier::Storage(_)) && self.starts_type_at(1)
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
            // Without a declarator it is only a warning: `float kernel;` declares nothing.
            Place::Member if flag == Storage::KERNEL => specifiers.storage |= flag,
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
        let (flag, name) = match keyword.specifier() {
            Some(Specifier::Qualifier(qualifier)) => match qualifier {
                Qualifier::Const => (&mut qualifiers.is_const, "const"),
                Qualifier::Volatile => (&mut qualifiers.is_volatile, "volatile"),
                Qualifier::Restrict => (&mut qualifiers.is_restrict, "restrict"),
                Qualifier::Atomic => (&mut qualifiers.is_atomic, "_Atomic"),
            },
            Some(Specifier::Space(space)) => {
                self.advance();
                self.add_space(space, at, qualifiers);
                return true;
            }
            Some(Specifier::Access(access)) => {
                self.advance();
                self.add_access(access, at, qualifiers);
                return true;
            }
            Some(
                Specifier::Word(_)
                | Specifier::Record
                | Specifier::Enum
                | Specifier::Typeof
                | Specifier::Auto
                | Specifier::Pipe
                | Specifier::Storage(_)
                | Specifier::Alignas
                | Specifier::Attribute
                | Specifier::Extension,
            )
            | None => return false,
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

    fn add_access(&mut self, access: Access, at: Span, qualifiers: &mut Qualifiers) {
        match qualifiers.access {
            None => qualifiers.access = Some((access, at)),
            Some((other, _)) if other == access => {
                let text = format!("duplicate '{}' declaration specifier", access_text(access));
                self.warning(at, "duplicate-decl-specifier", text);
            }
            Some(_) => self.error(at, "multiple access qualifiers"),
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
