//! Pragmas: those of the preprocessor are handled here, those of the language become tokens, and others are reported.

use super::Preprocessor;
use super::directives::unescaped;
use super::files::Origin;
use super::lexer::PpToken;
use super::token::{Pragma, Punct, TokenKind};
use crate::diagnostics::{Diagnostic, Setting};
use crate::source::{Span, Symbol};

/// The state of `#pragma pack`.
#[derive(Debug, Default)]
pub(super) struct Packing {
    current: Option<u32>,
    pushed: Vec<(Option<Symbol>, Option<u32>)>,
}

/// Extensions that compilers know beyond those of a device: naming one is not a mistake.
const KNOWN_EXTENSIONS: &[&str] = &[
    "cl_amd_media_ops",
    "cl_amd_media_ops2",
    "cl_clang_storage_class_specifiers",
    "cl_ext_float_atomics",
    "cl_ext_image_raw10_raw12",
    "cl_intel_bfloat16_conversions",
    "cl_intel_device_side_avc_motion_estimation",
    "cl_intel_planar_yuv",
    "cl_intel_required_subgroup_size",
    "cl_intel_subgroup_buffer_prefetch",
    "cl_intel_subgroup_local_block_io",
    "cl_intel_subgroups",
    "cl_intel_subgroups_char",
    "cl_intel_subgroups_long",
    "cl_intel_subgroups_short",
    "cl_khr_3d_image_writes",
    "cl_khr_byte_addressable_store",
    "cl_khr_depth_images",
    "cl_khr_extended_bit_ops",
    "cl_khr_fp16",
    "cl_khr_fp64",
    "cl_khr_gl_msaa_sharing",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_integer_dot_product",
    "cl_khr_kernel_clock",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_mipmap_image",
    "cl_khr_mipmap_image_writes",
    "cl_khr_select_fprounding_mode",
    "cl_khr_srgb_image_writes",
    "cl_khr_subgroup_ballot",
    "cl_khr_subgroup_clustered_reduce",
    "cl_khr_subgroup_extended_types",
    "cl_khr_subgroup_named_barrier",
    "cl_khr_subgroup_non_uniform_arithmetic",
    "cl_khr_subgroup_non_uniform_vote",
    "cl_khr_subgroup_rotate",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_shuffle_relative",
    "cl_khr_subgroups",
    "cl_nv_pragma_unroll",
    "cles_khr_int64",
];

/// Pragmas without a meaning here that are not mistakes either.
const IGNORED: &[&str] = &[
    "GCC visibility",
    "GCC system_header",
    "GCC poison",
    "GCC push_options",
    "GCC pop_options",
    "GCC optimize",
    "GCC ivdep",
    "clang assume_nonnull",
    "clang arc_cf_code_audited",
    "clang attribute",
    "clang force_cuda_host_device",
    "clang module",
    "clang max_tokens_here",
    "clang max_tokens_total",
    "clang optimize",
    "clang section",
    "clang system_header",
    "clang debug",
    "clang deprecated",
    "clang restrict_expansion",
    "clang final",
    "clang riscv",
    "clang unsafe_buffer_usage",
    "STDC CX_LIMITED_RANGE",
    "STDC FENV_ACCESS",
    "STDC FENV_ROUND",
    "STDC FLOAT_CONST_DECIMAL64",
    "align",
    "comment",
    "endregion",
    "float_control",
    "fp_contract",
    "mark",
    "ms_struct",
    "nounroll_and_jam",
    "omp",
    "options",
    "redefine_extname",
    "region",
    "unroll_and_jam",
    "unused",
    "weak",
];

impl Preprocessor<'_, '_> {
    /// `#pragma`
    pub(super) fn pragma_directive(&mut self, hash: PpToken, word: PpToken) -> Option<PpToken> {
        let mut tokens = Vec::new();
        loop {
            let token = self.raw();
            if token.token.kind == TokenKind::End {
                self.pragma_end = token.token.span;
                break;
            }
            tokens.push(token);
        }
        let span = hash.token.span.to(word.token.span);
        let pragma = self.pragma(&tokens, span)?;
        let mut token = self.pragma_token(pragma, span);
        token.token.line_start = true;
        Some(token)
    }

    /// `_Pragma("text")`
    pub(super) fn pragma_operator(&mut self, word: PpToken) -> Option<PpToken> {
        let span = word.token.span;
        let open = self.lex();
        let is_open = open.token.kind == TokenKind::Punct(Punct::LeftParen);
        let text = if is_open { self.lex() } else { open };
        let close = if is_open { self.lex() } else { open };
        let TokenKind::String(symbol) = text.token.kind else {
            self.session.diagnostics.error(span, "_Pragma takes a parenthesized string literal");
            return (close.token.kind == TokenKind::End).then_some(close);
        };
        if close.token.kind != TokenKind::Punct(Punct::RightParen) {
            self.session.diagnostics.error(span, "_Pragma takes a parenthesized string literal");
            return (close.token.kind == TokenKind::End).then_some(close);
        }
        let text = self.session.names.text(symbol);
        let text = text.strip_prefix('L').unwrap_or(text);
        let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default();
        // Only quotes and backslashes are escaped in it.
        let text = text.replace("\\\"", "\"").replace("\\\\", "\\");
        let tokens = self.lex_text(&text, span, usize::MAX);
        self.pragma_end = span;
        let pragma = self.pragma(&tokens, span)?;
        let mut token = self.pragma_token(pragma, span);
        token.token.line_start = word.token.line_start;
        token.token.space_before = word.token.space_before;
        Some(token)
    }

    fn pragma_token(&mut self, pragma: Pragma, span: Span) -> PpToken {
        self.pragmas.push(pragma);
        PpToken::new(TokenKind::Pragma(self.pragmas.len() as u32 - 1), span)
    }

    /// The text of an identifier; empty for other tokens.
    fn word(&self, token: Option<&PpToken>) -> &str {
        match token.map(|token| token.token.kind) {
            Some(TokenKind::Identifier(name)) => self.session.names.text(name),
            _ => "",
        }
    }

    /// Handles a pragma. What later stages have to know is the result.
    fn pragma(&mut self, tokens: &[PpToken], span: Span) -> Option<Pragma> {
        let first = self.word(tokens.first()).to_owned();
        let second = self.word(tokens.get(1)).to_owned();
        let rest = tokens.get(1..).unwrap_or_default();
        let rest_2 = tokens.get(2..).unwrap_or_default();
        match (&*first, &*second) {
            ("once", _) => {
                self.once(tokens.first().map_or(span, |token| token.token.span));
                None
            }
            ("unroll", _) => self.unroll(rest, "unroll"),
            ("nounroll", _) => {
                self.extra(rest, "nounroll");
                Some(Pragma::Unroll(Some(1)))
            }
            ("GCC", "unroll") => self.unroll(rest_2, "GCC unroll"),
            ("GCC", "nounroll") => Some(Pragma::Unroll(Some(1))),
            ("OPENCL", "EXTENSION") => self.extension(rest_2),
            ("OPENCL" | "STDC", "FP_CONTRACT") => self.on_off(rest_2).map(Pragma::FpContract),
            ("clang", "fp") => self.fp(rest_2),
            ("clang", "loop") => self.clang_loop(rest_2),
            ("clang" | "GCC", "diagnostic") => {
                self.diagnostic_pragma(rest_2);
                None
            }
            ("clang" | "GCC", "warning" | "error") | ("message", _) => {
                let is_message = first == "message";
                self.message_pragma(
                    if is_message { rest } else { rest_2 },
                    tokens,
                    if is_message { "" } else { &second },
                );
                None
            }
            ("pack", _) => self.pack(rest, tokens.first()?.token.span),
            ("push_macro" | "pop_macro", _) => {
                self.saved_macro(rest, &first, tokens.first()?.token.span);
                None
            }
            _ => {
                let both = format!("{first} {second}");
                if !IGNORED.contains(&&*first) && !IGNORED.contains(&&*both) {
                    let at = tokens.first().map_or(span, |token| token.token.span);
                    let at = match &*first {
                        "OPENCL" | "STDC" | "clang" | "GCC" => tokens.get(1).map_or(at, |token| token.token.span),
                        _ => at,
                    };
                    if first == "STDC" {
                        self.warn(at, "unknown-pragmas", "unknown pragma in STDC namespace");
                    } else {
                        let warning = Diagnostic::warning(at, "unknown-pragmas", "unknown pragma ignored");
                        self.session.diagnostics.report_if_asked(warning);
                    }
                }
                None
            }
        }
    }

    fn warn(&mut self, span: Span, group: &'static str, text: impl Into<String>) {
        self.session.diagnostics.warning(span, group, text);
    }

    /// Reports tokens behind a pragma.
    fn extra(&mut self, rest: &[PpToken], name: &str) {
        if let Some(token) = rest.first() {
            let text = format!("extra tokens at end of '#pragma {name}' - ignored");
            self.warn(token.token.span, "ignored-pragmas", text);
        }
    }

    /// `#pragma once`
    fn once(&mut self, span: Span) {
        match self.origin() {
            Some(Origin::Main) => self.warn(span, "pragma-once-outside-header", "#pragma once in main file"),
            Some(origin) => self.files.once(&origin),
            None => {}
        }
    }

    /// `#pragma unroll`, `#pragma unroll 4`, `#pragma unroll(4)`
    fn unroll(&mut self, rest: &[PpToken], name: &str) -> Option<Pragma> {
        let tokens = self.expand_all(rest.to_vec());
        let Some(first) = tokens.first() else { return Some(Pragma::Unroll(None)) };
        let (value, end) = if first.token.kind == TokenKind::Punct(Punct::LeftParen) {
            match self.word(tokens.get(1)) {
                "disable" => return Some(Pragma::Unroll(Some(1))),
                "enable" | "full" => return Some(Pragma::Unroll(None)),
                _ => {}
            }
            let close = tokens.iter().rposition(|token| token.token.kind == TokenKind::Punct(Punct::RightParen));
            let Some(close) = close else {
                self.warn(first.token.span, "ignored-pragmas", format!("missing ')' in '#pragma {name}' - ignoring"));
                return None;
            };
            (tokens.get(1..close).unwrap_or_default(), tokens.get(close + 1..).unwrap_or_default())
        } else {
            (tokens.get(..1).unwrap_or_default(), tokens.get(1..).unwrap_or_default())
        };
        let count = self.count(value);
        match count {
            Some(count) => {
                self.extra(end, name);
                // As in clang, 0 means the same as 1: the loop stays.
                Some(Pragma::Unroll(Some(count.max(1))))
            }
            // An expression of constants of the program: unrolled as the compiler sees fit.
            None => Some(Pragma::Unroll(None)),
        }
    }

    /// The value of a number that is the only token.
    fn count(&self, tokens: &[PpToken]) -> Option<u32> {
        let [only] = tokens else { return None };
        let TokenKind::Number(text) = only.token.kind else { return None };
        let text = self.session.names.text(text).trim_end_matches(['u', 'U', 'l', 'L']);
        match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    }

    /// `#pragma clang loop unroll(full) unroll_count(4)`; other options do not matter here.
    fn clang_loop(&mut self, rest: &[PpToken]) -> Option<Pragma> {
        let tokens = self.expand_all(rest.to_vec());
        let mut result = None;
        for (index, token) in tokens.iter().enumerate() {
            let value = tokens.get(index + 2);
            match self.word(Some(token)) {
                "unroll" => {
                    let is_disabled = self.word(value) == "disable";
                    result = Some(Pragma::Unroll(is_disabled.then_some(1)));
                }
                "unroll_count" => {
                    let value = tokens.get(index + 2..index + 3).unwrap_or_default();
                    result = Some(Pragma::Unroll(self.count(value)));
                }
                _ => {}
            }
        }
        result
    }

    /// `#pragma clang fp contract(off)`
    fn fp(&mut self, rest: &[PpToken]) -> Option<Pragma> {
        let contract = rest.iter().position(|token| self.word(Some(token)) == "contract")?;
        match self.word(rest.get(contract + 2)) {
            "on" | "fast" => Some(Pragma::FpContract(Some(true))),
            "off" => Some(Pragma::FpContract(Some(false))),
            _ => None,
        }
    }

    /// `ON`, `OFF` or `DEFAULT`
    fn on_off(&mut self, rest: &[PpToken]) -> Option<Option<bool>> {
        let value = match self.word(rest.first()) {
            "ON" => Some(true),
            "OFF" => Some(false),
            "DEFAULT" => None,
            _ => {
                let at = rest.first().map_or(self.pragma_end, |token| token.token.span);
                self.warn(at, "unknown-pragmas", "expected 'ON' or 'OFF' or 'DEFAULT' in pragma");
                return None;
            }
        };
        if let Some(extra) = rest.get(1) {
            self.warn(extra.token.span, "unknown-pragmas", "expected end of directive in pragma");
        }
        Some(value)
    }

    /// `#pragma OPENCL EXTENSION name : behavior`
    fn extension(&mut self, rest: &[PpToken]) -> Option<Pragma> {
        const GROUP: &str = "ignored-pragmas";
        let end = self.pragma_end;
        let at = |index: usize| rest.get(index).map_or(end, |token| token.token.span);
        let Some(TokenKind::Identifier(symbol)) = rest.first().map(|token| token.token.kind) else {
            self.warn(at(0), GROUP, "expected identifier in '#pragma OPENCL' - ignored");
            return None;
        };
        let name = self.session.names.text(symbol).to_owned();
        if rest.get(1).map(|token| token.token.kind) != Some(TokenKind::Punct(Punct::Colon)) {
            self.warn(at(1), GROUP, format!("missing ':' after '{name}' - ignoring"));
            return None;
        }
        let is_enabled = match self.word(rest.get(2)) {
            "enable" if name == "all" => {
                self.warn(at(0), GROUP, "expected 'disable' - ignoring");
                return None;
            }
            "enable" | "begin" => true,
            "disable" | "end" => false,
            _ => {
                let text = match &*name {
                    "all" => "expected 'disable' - ignoring",
                    _ => "expected 'enable', 'disable', 'begin' or 'end' - ignoring",
                };
                self.warn(at(2), GROUP, text);
                return None;
            }
        };
        self.extra(rest.get(3..).unwrap_or_default(), "OPENCL EXTENSION");
        if name != "all" && !self.session.options.profile.has_extension(&name) {
            let text = match KNOWN_EXTENSIONS.contains(&&*name) {
                true => format!("unsupported OpenCL extension '{name}' - ignoring"),
                false => format!("OpenCL extension '{name}' unknown or does not require pragma - ignoring"),
            };
            self.warn(at(0), GROUP, text);
            return None;
        }
        if is_enabled && name == "cl_ext_float_atomics" {
            self.session.enables_atomics = true;
        }
        Some(Pragma::Extension(symbol, is_enabled))
    }

    /// `#pragma pack(push, name, 4)`
    fn pack(&mut self, rest: &[PpToken], span: Span) -> Option<Pragma> {
        const GROUP: &str = "ignored-pragmas";
        let tokens = self.expand_all(rest.to_vec());
        let end = self.pragma_end;
        let is =
            |token: Option<&PpToken>, punct| token.is_some_and(|token| token.token.kind == TokenKind::Punct(punct));
        if !is(tokens.first(), Punct::LeftParen) {
            let at = tokens.first().map_or(end, |token| token.token.span);
            self.warn(at, GROUP, "missing '(' after '#pragma pack' - ignoring");
            return None;
        }
        let Some(close) = tokens.iter().position(|token| token.token.kind == TokenKind::Punct(Punct::RightParen))
        else {
            self.warn(end, GROUP, "missing ')' after '#pragma pack' - ignoring");
            return None;
        };
        let words = tokens.get(1..close).unwrap_or_default();
        let words = words.iter().filter(|token| token.token.kind != TokenKind::Punct(Punct::Comma));
        let (mut action, mut label, mut value) = ("", None, None);
        for token in words {
            match (token.token.kind, self.word(Some(token))) {
                (_, "push") => action = "push",
                (_, "pop") => action = "pop",
                (_, "show") => action = "show",
                (TokenKind::Identifier(name), _) if !action.is_empty() => label = Some(name),
                (TokenKind::Number(_), _) => match self.count(&[*token]) {
                    Some(0) if action.is_empty() => action = "reset",
                    Some(bytes @ (1 | 2 | 4 | 8 | 16)) => value = Some(bytes),
                    _ => {
                        let text = "expected #pragma pack parameter to be '1', '2', '4', '8', or '16'";
                        self.warn(span, GROUP, text);
                        return None;
                    }
                },
                _ => {
                    self.warn(token.token.span, GROUP, "unknown action for '#pragma pack' - ignored");
                    return None;
                }
            }
        }
        match action {
            "push" => {
                self.packing.pushed.push((label, self.packing.current));
                if value.is_some() {
                    self.packing.current = value;
                }
            }
            "pop" => {
                let at = match label {
                    Some(_) => self.packing.pushed.iter().rposition(|(name, _)| *name == label),
                    None => self.packing.pushed.len().checked_sub(1),
                };
                match at {
                    Some(at) => {
                        self.packing.current = self.packing.pushed.get(at).and_then(|(_, value)| *value);
                        self.packing.pushed.truncate(at);
                    }
                    None => self.warn(span, GROUP, "#pragma pack(pop, ...) failed: stack empty"),
                }
                if value.is_some() {
                    self.packing.current = value;
                }
            }
            "show" => {
                let text = format!("value of #pragma pack(show) == {}", self.packing.current.unwrap_or(8));
                self.warn(span, "", text);
            }
            _ => self.packing.current = value,
        }
        Some(Pragma::Pack(self.packing.current))
    }

    /// `#pragma push_macro("name")`
    fn saved_macro(&mut self, rest: &[PpToken], which: &str, span: Span) {
        let text = match rest {
            [_, text, _, ..] => {
                let text = text.token.kind.string().map_or("", |text| self.session.names.text(text));
                text.trim_matches('"').to_owned()
            }
            _ => String::new(),
        };
        if text.is_empty() {
            return self.session.diagnostics.error(span, format!("pragma {which} requires a parenthesized string"));
        }
        let name = self.session.names.intern(&text);
        if which == "push_macro" {
            let entry = self.entry(name);
            self.macros.saved.entry(name).or_default().push(entry);
            return;
        }
        match self.macros.saved.get_mut(&name).and_then(Vec::pop) {
            Some(entry) => self.macros.set(name, entry),
            None => {
                let text = format!("pragma pop_macro could not pop '{text}', no matching push_macro");
                self.warn(span, "ignored-pragmas", text);
            }
        }
    }

    /// `#pragma message("text")`, `#pragma GCC warning "text"`, `#pragma GCC error "text"`
    fn message_pragma(&mut self, rest: &[PpToken], all: &[PpToken], kind: &str) {
        let span = all.get(usize::from(!kind.is_empty())).map_or(Span::NONE, |token| token.token.span);
        let mut text = String::new();
        for token in self.expand_all(rest.to_vec()) {
            if let TokenKind::String(part) = token.token.kind {
                text.push_str(&unescaped(self.session.names.text(part).trim_start_matches('L').trim_matches('"')));
            } else if !matches!(token.token.kind, TokenKind::Punct(Punct::LeftParen | Punct::RightParen)) {
                text.clear();
                break;
            }
        }
        if text.is_empty() {
            let kind = if kind.is_empty() { "message" } else { kind };
            return self.session.diagnostics.error(span, format!("pragma {kind} requires parenthesized string"));
        }
        match kind {
            "error" => self.session.diagnostics.report(Diagnostic::error(span, text)),
            _ => self.warn(span, "#pragma-messages", text),
        }
    }

    /// `#pragma clang diagnostic ignored "-Wname"`
    fn diagnostic_pragma(&mut self, rest: &[PpToken]) {
        const GROUP: &str = "unknown-pragmas";
        let at = rest.get(1).map_or(self.pragma_end, |token| token.token.span);
        let is_on = match self.word(rest.first()) {
            "push" => return self.settings_saved.push(self.settings),
            "pop" => {
                match self.settings_saved.pop() {
                    Some(settings) => self.settings = settings,
                    None => self.warn(at, GROUP, "pragma diagnostic pop could not pop, no matching push"),
                }
                return self.begin_region();
            }
            "ignored" => Some(false),
            "warning" => Some(true),
            "error" | "fatal" => None,
            _ => {
                let text = "pragma diagnostic expected 'error', 'warning', 'ignored', 'fatal', 'push', or 'pop'";
                return self.warn(at, GROUP, text);
            }
        };
        let name = match rest.get(1).map(|token| token.token.kind) {
            Some(TokenKind::String(text)) => self.session.names.text(text).trim_matches('"').to_owned(),
            _ => String::new(),
        };
        let Some(name) = name.strip_prefix("-W") else {
            let text = "pragma diagnostic expected option name (e.g. \"-Wundef\")";
            return self.warn(at, GROUP, text);
        };
        let (name, is_on) = match name.strip_prefix("no-") {
            Some(name) => (name, is_on.map(|on| !on)),
            None => (name, is_on),
        };
        let setting = Setting { group: name.to_owned(), is_on };
        self.settings = self.session.diagnostics.add_setting(self.settings, setting);
        self.begin_region();
    }

    /// From here on, the settings of pragmas apply.
    pub(super) fn begin_region(&mut self) {
        if let Some(file) = self.file() {
            let position = file.lexer.base + file.lexer.at as u32;
            self.session.diagnostics.begin_region(position, self.settings);
        }
    }
}
