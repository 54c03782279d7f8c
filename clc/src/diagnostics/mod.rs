//! What is reported to the user: errors and warnings with a place, notes, and hints.

use crate::limits;
use crate::source::Span;

mod groups;
mod render;
mod snippet;
mod typos;

pub(crate) use groups::{Setting, Settings};
pub use render::render;
pub(crate) use typos::similar;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Additional text to the diagnostic before it.
    Note,
    /// The program is compiled.
    Warning,
    /// The program is not compiled.
    Error,
    /// Nothing more is read.
    Fatal,
}

/// A named group of warnings (`-Wname`): clang's names, because users know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group(pub &'static str);

/// A note: a text and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The text.
    pub text: String,
    /// The place; [`Span::NONE`] for none.
    pub span: Span,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub level: Level,
    /// The group, for warnings.
    pub group: Option<Group>,
    /// The text, in clang's style: lower case, no full stop, names in quotes.
    pub text: String,
    /// The place of the caret.
    pub span: Span,
    /// Ranges to underline besides it.
    pub ranges: Vec<Span>,
    /// What belongs to it.
    pub notes: Vec<Note>,
    /// A replacement that would mend it: the range, and the new text.
    pub fix: Option<(Span, String)>,
}

impl Diagnostic {
    /// An error.
    pub fn error(span: Span, text: impl Into<String>) -> Self {
        Self {
            level: Level::Error,
            group: None,
            text: text.into(),
            span,
            ranges: Vec::new(),
            notes: Vec::new(),
            fix: None,
        }
    }

    /// An error after which nothing more is reported.
    pub fn fatal(span: Span, text: impl Into<String>) -> Self {
        Self { level: Level::Fatal, ..Self::error(span, text) }
    }

    /// A warning of a group; an empty name is none.
    pub fn warning(span: Span, group: &'static str, text: impl Into<String>) -> Self {
        Self { level: Level::Warning, group: (!group.is_empty()).then_some(Group(group)), ..Self::error(span, text) }
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, span: Span, text: impl Into<String>) -> Self {
        self.notes.push(Note { text: text.into(), span });
        self
    }

    /// Adds a range to underline.
    #[must_use]
    pub fn range(mut self, span: Span) -> Self {
        self.ranges.push(span);
        self
    }

    /// Adds a replacement that would mend it.
    #[must_use]
    pub fn fix(mut self, span: Span, text: impl Into<String>) -> Self {
        self.fix = Some((span, text.into()));
        self
    }
}

/// What options say about warnings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarningOptions {
    /// `-w`: no warnings.
    pub none: bool,
    /// `-Werror`: warnings are errors.
    pub errors: bool,
    /// `-Wname` and `-Wno-name`, in order: the name, and whether it is on. `-Werror=name` has the name `error=name`.
    pub groups: Vec<(String, bool)>,
}

/// The diagnostics of a compilation, in the order in which they were found.
#[derive(Debug, Default)]
pub struct Diagnostics {
    options: WarningOptions,
    list: Vec<Diagnostic>,
    errors: usize,
    is_stopped: bool,
    /// Settings of pragmas.
    regions: groups::Regions,
    /// Diagnostics of the list that are errors because options or pragmas say so.
    promoted: Vec<usize>,
}

impl Diagnostics {
    /// An empty list.
    pub fn new(options: WarningOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Reports a diagnostic, unless options switch it off or there are too many already.
    pub fn report(&mut self, mut diagnostic: Diagnostic) {
        if self.is_stopped {
            return;
        }
        if diagnostic.level == Level::Warning {
            let group = diagnostic.group.map(|group| group.0);
            let fate = groups::fate(group, diagnostic.span.lo, &self.options, &self.regions);
            if self.options.none || fate == groups::Fate::Ignored {
                return;
            }
            if fate == groups::Fate::Error {
                diagnostic.level = Level::Error;
                self.promoted.push(self.list.len());
            }
        }
        if diagnostic.level >= Level::Error {
            self.errors += 1;
            if self.errors > limits::ERRORS {
                diagnostic = Diagnostic::fatal(Span::NONE, "too many errors emitted, stopping now [-ferror-limit=]");
            }
        }
        self.is_stopped = diagnostic.level == Level::Fatal;
        self.list.push(diagnostic);
    }

    /// Reports a warning only if an option or a pragma asks for its group.
    pub(crate) fn report_if_asked(&mut self, warning: Diagnostic) {
        let group = warning.group.map(|group| group.0);
        if group.is_some_and(|group| groups::is_asked_for(group, warning.span.lo, &self.options, &self.regions)) {
            self.report(warning);
        }
    }

    /// Reports an error.
    pub fn error(&mut self, span: Span, text: impl Into<String>) {
        self.report(Diagnostic::error(span, text));
    }

    /// Reports a warning.
    pub fn warning(&mut self, span: Span, group: &'static str, text: impl Into<String>) {
        self.report(Diagnostic::warning(span, group, text));
    }

    /// Whether there was an error.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether so many errors, or such an error, were reported that compilation stops.
    pub fn is_full(&self) -> bool {
        self.is_stopped
    }

    /// Adds a setting of `#pragma clang diagnostic` to those that applied before it.
    pub(crate) fn add_setting(&mut self, before: Settings, setting: Setting) -> Settings {
        self.regions.add(before, setting)
    }

    /// From a position on, settings of `#pragma clang diagnostic` apply.
    pub(crate) fn begin_region(&mut self, position: u32, settings: Settings) {
        self.regions.begin(position, settings);
    }

    /// All diagnostics.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }
}
