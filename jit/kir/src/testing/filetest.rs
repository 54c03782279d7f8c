//! Files of kernel IR that are tests.
//!
//! A file opens with a header: comment lines of the form `; key: value` or `; key N: value` (prose may stand between; a line that
//! looks like a directive must be one). `; test:` lines name what to do with the file:
//!
//! | command | meaning |
//! |---|---|
//! | `cat` | parse and print; the output is the golden text |
//! | `verify` | parse and verify; each `; error:` is part of one error, in order; without any there must be none |
//! | `run` | verify, then run as the `; run:` lines say (see [`super::run`]) |
//!
//! Other crates add commands of their own (`opt`, ...): their runners get the [`Command`] and hand golden text to
//! [`FileTest::check_golden`]. Golden text stands at the end of the file in lines that begin with `;>`. With `CLIFT_BLESS=1` in
//! the environment, what a run prints replaces what was expected.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::run;
use crate::module::Module;
use crate::text::parse_module;
use crate::verify;

/// Keys that directives may have.
const KEYS: [&str; 8] = ["test", "error", "run", "arg", "expect", "fault", "print", "check"];

/// One line of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// The word before the colon.
    pub key: String,
    /// The number after the key, if there is one.
    pub number: Option<u32>,
    /// What stands after the colon.
    pub value: String,
    /// Line of the file, from 0.
    pub line: usize,
}

/// A `; test:` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its first word.
    pub name: String,
    /// The other words.
    pub args: Vec<String>,
}

/// A file that is a test.
#[derive(Clone, Debug)]
pub struct FileTest {
    /// Where it is.
    pub path: PathBuf,
    /// All of it.
    pub text: String,
    /// Its header.
    pub directives: Vec<Directive>,
}

impl FileTest {
    /// Reads a file's header.
    ///
    /// # Errors
    /// What is wrong with the file, in words.
    pub fn load(path: &Path) -> Result<FileTest, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        FileTest::new(path, text)
    }

    /// A test from its text.
    ///
    /// # Errors
    /// What is wrong with the header, in words.
    pub fn new(path: &Path, text: String) -> Result<FileTest, String> {
        let mut directives = Vec::new();
        for (line, content) in text.lines().enumerate() {
            let content = content.trim();
            if content.is_empty() {
                continue;
            }
            let Some(comment) = content.strip_prefix(';') else { break };
            if let Some(directive) = directive(comment, line) {
                if !KEYS.contains(&directive.key.as_str()) {
                    let message = format!("unknown directive `{}` (known: {})", directive.key, KEYS.join(", "));
                    return Err(format!("{}:{}: {message}", path.display(), line + 1));
                }
                directives.push(directive);
            }
        }
        let test = FileTest { path: path.to_owned(), text, directives };
        if test.commands().is_empty() {
            return Err(format!("{}: no `; test:` line", path.display()));
        }
        Ok(test)
    }

    /// What to do with the file.
    pub fn commands(&self) -> Vec<Command> {
        let words = |d: &Directive| d.value.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let command =
            |mut words: Vec<String>| (!words.is_empty()).then(|| Command { name: words.remove(0), args: words });
        self.values("test").filter_map(|d| command(words(d))).collect()
    }

    /// Directives of a key.
    pub fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Directive> + 'a {
        self.directives.iter().filter(move |d| d.key == key)
    }

    /// The module in the file, parsed and verified.
    ///
    /// # Errors
    /// The offences, with the file's name.
    pub fn module(&self) -> Result<Module, String> {
        let module = parse_module(&self.text).map_err(|e| format!("{}: {e}", self.path.display()))?;
        verify::module(&module).map_err(|e| format!("{}: {e}", self.path.display()))?;
        Ok(module)
    }

    /// Compares golden text with what was printed; stores it when blessing.
    ///
    /// # Errors
    /// The differences, and how to bless them.
    pub fn check_golden(&self, actual: &str) -> Result<(), String> {
        let golden: String =
            self.text.lines().filter_map(|l| l.strip_prefix(";>")).fold(String::new(), |mut all, line| {
                let _ = writeln!(all, "{}", line.strip_prefix(' ').unwrap_or(line));
                all
            });
        if golden == actual {
            return Ok(());
        }
        if blessing() {
            let mut text: String =
                self.text.lines().filter(|l| !l.starts_with(";>")).fold(String::new(), |mut all, line| {
                    let _ = writeln!(all, "{line}");
                    all
                });
            text.truncate(text.trim_end().len());
            text.push_str("\n\n");
            for line in actual.lines() {
                let _ = writeln!(text, "{}", format!(";> {line}").trim_end());
            }
            return self.rewrite(&text);
        }
        Err(self.difference(&golden, actual))
    }

    /// A message that shows how two texts differ.
    pub fn difference(&self, expected: &str, actual: &str) -> String {
        let diff = similar::TextDiff::from_lines(expected, actual);
        let diff = diff.unified_diff().context_radius(3).header("expected", "printed").to_string();
        format!("{}:\n{diff}\nTo accept what was printed: CLIFT_BLESS=1 and the same test again", self.path.display())
    }

    /// Replaces the values of directives, by line.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn bless_directives(&self, values: &[(usize, String)]) -> Result<(), String> {
        let mut lines: Vec<String> = self.text.lines().map(str::to_owned).collect();
        for (line, value) in values {
            if let Some(colon) = lines[*line].find(':') {
                lines[*line].truncate(colon + 1);
                let _ = write!(lines[*line], " {value}");
            }
        }
        self.rewrite(&(lines.join("\n") + "\n"))
    }

    fn rewrite(&self, text: &str) -> Result<(), String> {
        std::fs::write(&self.path, text).map_err(|e| format!("{}: {e}", self.path.display()))
    }

    /// Runs a command that this crate knows; `None` for others.
    pub fn run(&self, command: &Command) -> Option<Result<(), String>> {
        match command.name.as_str() {
            "cat" => Some(self.cat()),
            "verify" => Some(self.verify()),
            "run" => Some(self.module().and_then(|module| run::check_file(self, &module, &mut run::interpret))),
            _ => None,
        }
    }

    fn cat(&self) -> Result<(), String> {
        let module = parse_module(&self.text).map_err(|e| format!("{}: {e}", self.path.display()))?;
        let printed = module.to_string();
        let again = parse_module(&printed).map_err(|e| format!("{}: printed text: {e}", self.path.display()))?;
        crate::text::same_module(&module, &again)
            .map_err(|e| format!("{}: printing lost something: {e}", self.path.display()))?;
        self.check_golden(&printed)
    }

    fn verify(&self) -> Result<(), String> {
        let found: Vec<String> = match parse_module(&self.text) {
            Err(error) => vec![error.to_string()],
            Ok(module) => match verify::module(&module) {
                Err(errors) => errors.0.iter().map(ToString::to_string).collect(),
                Ok(()) => Vec::new(),
            },
        };
        let expected: Vec<&str> = self.values("error").map(|d| d.value.as_str()).collect();
        let fits = found.len() == expected.len() && found.iter().zip(&expected).all(|(f, e)| f.contains(e));
        if fits {
            return Ok(());
        }
        Err(format!("{}: expected errors {expected:#?}, found {found:#?}", self.path.display()))
    }
}

/// Reads `key: value` or `key N: value`.
fn directive(comment: &str, line: usize) -> Option<Directive> {
    if comment.starts_with('>') {
        return None;
    }
    let (head, value) = comment.split_once(':')?;
    let mut words = head.split_whitespace();
    let key = words.next()?;
    let number = words.next();
    let plain = key.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    if !plain || words.next().is_some() || number.is_some_and(|n| n.parse::<u32>().is_err()) {
        return None;
    }
    let number = number.and_then(|n| n.parse().ok());
    Some(Directive { key: key.to_owned(), number, value: value.trim().to_owned(), line })
}

/// Whether expectations are to be replaced by what comes out.
pub fn blessing() -> bool {
    std::env::var_os("CLIFT_BLESS").is_some_and(|v| v != "0")
}

/// All files below a directory whose name ends in `.kir`, sorted.
///
/// # Errors
/// When a directory cannot be read.
pub fn files(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let mut list = Vec::new();
    let mut stack = vec![dir.to_owned()];
    while let Some(dir) = stack.pop() {
        let entries = std::fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        for entry in entries {
            let path = entry.map_err(|e| format!("{}: {e}", dir.display()))?.path();
            if path.is_dir() {
                stack.push(path);
            } else if path.extension().is_some_and(|e| e == "kir") {
                list.push(path);
            }
        }
    }
    list.sort();
    Ok(list)
}
