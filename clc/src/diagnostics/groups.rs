//! Groups of warnings: which are on, and which are errors.
//!
//! Names are clang's. A group that is not in the table is on, and belongs to no other group.

use std::collections::BTreeMap;

use super::WarningOptions;

/// A group that is off unless an option or a pragma asks for it, and the groups that ask for it besides itself.
const OFF: &[(&str, &[&str])] = &[
    ("bad-function-cast", &[]),
    ("c11-extensions", &["pedantic"]),
    ("c2x-extensions", &["pedantic"]),
    ("cast-align", &[]),
    ("cast-qual", &[]),
    ("conditional-uninitialized", &[]),
    ("conversion", &[]),
    ("date-time", &[]),
    ("declaration-after-statement", &[]),
    ("disabled-macro-expansion", &[]),
    ("dollar-in-identifier-extension", &["pedantic"]),
    ("double-promotion", &[]),
    ("embedded-directive", &["pedantic"]),
    ("empty-translation-unit", &["pedantic"]),
    ("extra-semi", &["pedantic"]),
    ("float-conversion", &["conversion"]),
    ("float-equal", &[]),
    ("format-nonliteral", &[]),
    ("four-char-constants", &[]),
    ("gnu-binary-literal", &["gnu", "pedantic"]),
    ("gnu-case-range", &["gnu", "pedantic"]),
    ("gnu-conditional-omitted-operand", &["gnu", "pedantic"]),
    ("gnu-empty-initializer", &["gnu", "pedantic"]),
    ("gnu-empty-struct", &["gnu", "pedantic"]),
    ("gnu-statement-expression", &["gnu", "pedantic"]),
    ("gnu-union-cast", &["gnu", "pedantic"]),
    ("gnu-zero-variadic-macro-arguments", &["gnu", "pedantic"]),
    ("ignored-qualifiers", &["extra"]),
    ("implicit-fallthrough", &[]),
    ("implicit-float-conversion", &["conversion", "float-conversion"]),
    ("implicit-int-conversion", &["conversion"]),
    ("keyword-macro", &["pedantic"]),
    ("language-extension-token", &["pedantic"]),
    ("misleading-indentation", &["all", "most"]),
    ("missing-braces", &["all", "most"]),
    ("missing-field-initializers", &["extra"]),
    ("missing-noreturn", &[]),
    ("missing-prototypes", &[]),
    ("missing-variable-declarations", &[]),
    ("newline-eof", &["pedantic"]),
    ("overlength-strings", &["pedantic"]),
    ("padded", &[]),
    ("pedantic", &[]),
    ("pedantic-core-features", &["pedantic"]),
    ("pointer-arith", &["pedantic"]),
    ("range-loop-analysis", &["all", "most"]),
    ("reserved-identifier", &[]),
    ("reserved-macro-identifier", &["reserved-identifier"]),
    ("self-assign", &["all", "most"]),
    ("shadow", &[]),
    ("shorten-64-to-32", &["conversion", "implicit-int-conversion"]),
    ("sign-compare", &["extra"]),
    ("sign-conversion", &["conversion"]),
    ("sometimes-uninitialized", &["all", "most", "uninitialized"]),
    ("strict-prototypes", &["pedantic"]),
    ("switch-default", &[]),
    ("switch-enum", &[]),
    ("tautological-constant-compare", &[]),
    ("undef", &[]),
    ("uninitialized", &["all", "most"]),
    ("unreachable-code", &[]),
    ("unused-but-set-parameter", &["extra"]),
    ("unused-but-set-variable", &["all", "most", "unused"]),
    ("unused-const-variable", &["unused-variable", "all", "most", "unused"]),
    ("unused-function", &["all", "most", "unused"]),
    ("unused-label", &["all", "most", "unused"]),
    ("unused-local-typedef", &["all", "most", "unused"]),
    ("unused-macros", &[]),
    ("unused-parameter", &["extra"]),
    ("unused-variable", &["all", "most", "unused"]),
    ("variadic-macros", &["pedantic"]),
    ("vla", &[]),
    ("zero-length-array", &["pedantic"]),
];

/// Groups that are on and belong to others.
const ON: &[(&str, &[&str])] = &[
    ("comment", &["all", "most"]),
    ("format", &["all", "most"]),
    ("format-extra-args", &["format", "all", "most"]),
    ("format-insufficient-args", &["format", "all", "most"]),
    ("format-invalid-specifier", &["format", "all", "most"]),
    ("format-security", &["format", "all", "most"]),
    ("logical-not-parentheses", &["parentheses", "all"]),
    ("logical-op-parentheses", &["parentheses", "all"]),
    ("multichar", &["all", "most"]),
    ("parentheses", &["all"]),
    ("parentheses-equality", &["parentheses", "all"]),
    ("return-type", &["all", "most"]),
    ("switch", &["all"]),
    ("unknown-pragmas", &["all", "most", "pragmas"]),
    ("ignored-pragmas", &["all", "most", "pragmas", "unknown-pragmas"]),
    ("unused-comparison", &["unused-value", "unused", "all", "most"]),
    ("unused-value", &["unused", "all", "most"]),
    ("incompatible-pointer-types-discards-qualifiers", &["incompatible-pointer-types"]),
    ("literal-conversion", &["conversion"]),
    ("constant-conversion", &["conversion"]),
    ("int-conversion", &["conversion"]),
];

/// What becomes of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is dropped.
    Ignored,
    /// It is a warning.
    Warning,
    /// It is an error.
    Error,
}

/// A change of what becomes of warnings, by `#pragma clang diagnostic`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The group.
    pub group: String,
    /// `ignored` and `warning`; `None` for `error`.
    pub is_on: Option<bool>,
}

/// The settings that apply at a place, as the last of them: an index into [`Regions`]. `None` stands for those of the options.
pub(crate) type Settings = Option<u32>;

/// The settings of pragmas, by position.
#[derive(Debug, Default)]
pub(super) struct Regions {
    /// All settings, each with those that applied before it. Copies for each pragma would take quadratic memory.
    settings: Vec<(Setting, Settings)>,
    /// From which position on which settings apply, up to the next position.
    starts: BTreeMap<u32, Settings>,
}

impl Regions {
    /// Adds a setting to those that applied before it.
    pub(super) fn add(&mut self, before: Settings, setting: Setting) -> Settings {
        self.settings.push((setting, before));
        Some(self.settings.len() as u32 - 1)
    }

    /// From a position on, settings apply.
    pub(super) fn begin(&mut self, position: u32, settings: Settings) {
        self.starts.insert(position, settings);
    }

    /// The last setting at a position that concerns a group. It alone decides: each overrides what was before it.
    fn find(&self, group: &str, position: u32) -> Option<&Setting> {
        let mut next = *self.starts.range(..=position).next_back()?.1;
        loop {
            let (setting, before) = self.settings.get(next? as usize)?;
            if concerns(&setting.group, group) {
                return Some(setting);
            }
            next = *before;
        }
    }
}

/// Whether an option's name means a group.
fn concerns(option: &str, group: &str) -> bool {
    let parents = OFF.iter().chain(ON).find(|(name, _)| *name == group).map_or(&[] as &[&str], |(_, parents)| parents);
    option == group || option == "everything" || parents.contains(&option)
}

/// What becomes of a warning of a group at a position.
pub(super) fn fate(group: Option<&str>, position: u32, options: &WarningOptions, regions: &Regions) -> Fate {
    let Some(group) = group else {
        return if options.errors { Fate::Error } else { Fate::Warning };
    };
    if let Some(setting) = regions.find(group, position) {
        return match setting.is_on {
            Some(false) => Fate::Ignored,
            Some(true) => Fate::Warning,
            None => Fate::Error,
        };
    }
    let mut is_on = !OFF.iter().any(|(name, _)| *name == group);
    let mut is_error = options.errors;
    for (name, on) in &options.groups {
        match name.strip_prefix("error=") {
            Some(name) if concerns(name, group) => {
                is_error = *on;
                is_on |= *on;
            }
            Some(_) => {}
            None if concerns(name, group) => is_on = *on,
            None => {}
        }
    }
    match (is_on, is_error) {
        (false, _) => Fate::Ignored,
        (true, false) => Fate::Warning,
        (true, true) => Fate::Error,
    }
}

/// Whether an option or a pragma switches a group on.
pub(super) fn is_asked_for(group: &str, position: u32, options: &WarningOptions, regions: &Regions) -> bool {
    let mut named =
        options.groups.iter().filter(|(name, _)| concerns(name.strip_prefix("error=").unwrap_or(name), group));
    let asked = named.next_back().is_some_and(|(_, on)| *on);
    regions.find(group, position).map_or(asked, |setting| setting.is_on != Some(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(groups: &[(&str, bool)], errors: bool) -> WarningOptions {
        let groups = groups.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect();
        WarningOptions { none: false, errors, groups }
    }

    #[test]
    fn options_decide_in_order() {
        let fate = |group, groups: &[(&str, bool)], errors| {
            fate(Some(group), 0, &options(groups, errors), &Regions::default())
        };
        assert_eq!(fate("undef", &[], false), Fate::Ignored);
        assert_eq!(fate("undef", &[("undef", true)], false), Fate::Warning);
        assert_eq!(fate("undef", &[("error=undef", true)], false), Fate::Error);
        assert_eq!(fate("unused-variable", &[("all", true)], false), Fate::Warning);
        assert_eq!(fate("unused-variable", &[("all", true), ("unused-variable", false)], false), Fate::Ignored);
        assert_eq!(fate("extra-tokens", &[], true), Fate::Error);
        assert_eq!(fate("extra-tokens", &[("error=extra-tokens", false)], true), Fate::Warning);
        assert_eq!(fate("extra-tokens", &[("everything", false)], true), Fate::Ignored);
    }

    #[test]
    fn pragmas_apply_from_their_position_on() {
        let mut regions = Regions::default();
        let setting = |group: &str, is_on| Setting { group: group.to_owned(), is_on };
        let ignored = regions.add(None, setting("extra-tokens", Some(false)));
        let other = regions.add(ignored, setting("undef", None));
        let error = regions.add(other, setting("extra-tokens", None));
        let starts = [(10, ignored), (20, None), (30, error), (40, other)];
        starts.into_iter().for_each(|(position, settings)| regions.begin(position, settings));
        let fate = |position| fate(Some("extra-tokens"), position, &WarningOptions::default(), &regions);
        assert_eq!(fate(9), Fate::Warning);
        assert_eq!(fate(10), Fate::Ignored);
        assert_eq!(fate(20), Fate::Warning);
        assert_eq!(fate(30), Fate::Error);
        assert_eq!(fate(40), Fate::Ignored);
    }
}
