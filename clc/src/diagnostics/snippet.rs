//! Lines of a source with a caret, ranges, and a replacement beneath.

use std::fmt::Write;
use std::ops::Range;

/// Lines of a snippet at most.
const LINES: usize = 16;
/// Columns of a line that are shown at most; of longer lines, those around the caret.
const COLUMNS: usize = 256;
/// Columns between tab stops.
const TAB: usize = 8;

/// What to show.
pub(super) struct Snippet<'a> {
    /// The file's text.
    pub text: &'a [u8],
    /// Where its lines begin.
    pub lines: &'a [u32],
    /// What the caret's line is called.
    pub first_line: u32,
    /// Where the caret is.
    pub caret: usize,
    /// What is underlined.
    pub ranges: Vec<Range<usize>>,
    /// What is replaced, and by what.
    pub fix: Option<(Range<usize>, &'a str)>,
}

/// A line as shown.
struct Line {
    /// The characters.
    text: String,
    /// For each byte of the line, and for its end, the column at which it is shown.
    columns: Vec<usize>,
}

/// The number of columns of a character.
fn width(character: char) -> usize {
    match character as u32 {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Makes a line printable: tabs become blanks, control characters and bytes that are not UTF-8 become numbers.
fn shown(bytes: &[u8]) -> Line {
    let mut line = Line { text: String::with_capacity(bytes.len()), columns: Vec::with_capacity(bytes.len() + 1) };
    let mut column = 0;
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            line.columns.extend(std::iter::repeat_n(column, character.len_utf8()));
            let before = line.text.len();
            match character {
                '\t' => {
                    let blanks = TAB - column % TAB;
                    line.text.extend(std::iter::repeat_n(' ', blanks));
                    column += blanks;
                }
                _ if character.is_control() => {
                    let _ = write!(line.text, "<U+{:04X}>", u32::from(character));
                    column += line.text.len() - before;
                }
                _ => {
                    line.text.push(character);
                    column += width(character);
                }
            }
        }
        for byte in chunk.invalid() {
            line.columns.push(column);
            let _ = write!(line.text, "<{byte:02X}>");
            column += 4;
        }
    }
    line.columns.push(column);
    line
}

impl Snippet<'_> {
    /// The number of the line that contains an offset, from 0.
    fn line_of(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start as usize <= offset).saturating_sub(1)
    }

    /// The bytes of a line without its newline, and where they begin.
    fn bytes(&self, line: usize) -> (usize, &[u8]) {
        let from = self.lines.get(line).map_or(self.text.len(), |start| *start as usize);
        let to = self.lines.get(line + 1).map_or(self.text.len(), |start| *start as usize);
        let bytes = self.text.get(from..to).unwrap_or_default();
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        (from, bytes.strip_suffix(b"\r").unwrap_or(bytes))
    }

    /// The lines to show: those of the caret and of the ranges, as far as they are near.
    fn extent(&self) -> Range<usize> {
        let caret = self.line_of(self.caret);
        let mut extent = caret..caret + 1;
        for range in &self.ranges {
            let first = self.line_of(range.start).min(extent.start);
            let last = (self.line_of(range.end.saturating_sub(1).max(range.start)) + 1).max(extent.end);
            if last - first <= LINES {
                extent = first..last;
            }
        }
        extent
    }

    /// Writes the lines.
    pub(super) fn write(&self, out: &mut String) {
        let caret_line = self.line_of(self.caret);
        for number in self.extent() {
            let (from, bytes) = self.bytes(number);
            // Of a very long line, only what is near the caret is looked at.
            let near = self.caret.clamp(from, from + bytes.len()) - from;
            let start = near.saturating_sub(COLUMNS * 4);
            let end = (near + COLUMNS * 4).min(bytes.len());
            let (from, bytes) = (from + start, bytes.get(start..end).unwrap_or_default());
            let line = shown(bytes);
            let marks = self.marks(from, bytes, &line, number == caret_line);
            let replacement = self.replacement(from, bytes, &line);
            let window = self.window(from, &line, number == caret_line);
            let name = (i64::from(self.first_line) + number as i64 - caret_line as i64).max(0);
            let mut write = |gutter: &str, text: &str| {
                let text = cut(text, &window);
                let _ = writeln!(out, "{gutter} | {}", text.trim_end());
            };
            write(&format!("{name:>5}"), &line.text);
            if !marks.trim().is_empty() {
                write("     ", &marks);
            }
            if !replacement.trim().is_empty() {
                write("     ", &replacement);
            }
        }
    }

    /// The columns of a line to show.
    fn window(&self, from: usize, line: &Line, has_caret: bool) -> Range<usize> {
        let width = line.columns.last().copied().unwrap_or(0);
        if width <= COLUMNS {
            return 0..usize::MAX;
        }
        let caret =
            if has_caret { line.columns.get(self.caret - from.min(self.caret)).copied().unwrap_or(0) } else { 0 };
        let start = caret.saturating_sub(COLUMNS / 2).min(width.saturating_sub(COLUMNS));
        start..start + COLUMNS
    }

    /// The line with the caret and the ranges.
    fn marks(&self, from: usize, bytes: &[u8], line: &Line, has_caret: bool) -> String {
        let columns = line.columns.last().copied().unwrap_or(0);
        let mut marks = vec![b' '; columns + 1];
        for range in &self.ranges {
            let start = range.start.max(from) - from;
            let end = range.end.min(from + bytes.len()).saturating_sub(from);
            let Some(part) = bytes.get(start..end) else { continue };
            // White space at the edges of a line is not underlined.
            let left = part.len() - part.trim_ascii_start().len();
            let right = part.trim_ascii_end().len();
            if left >= right {
                continue;
            }
            let first = line.columns.get(start + left).copied().unwrap_or(columns);
            let last = line.columns.get(start + right).copied().unwrap_or(columns);
            for mark in marks.get_mut(first..last).unwrap_or_default() {
                *mark = b'~';
            }
        }
        if has_caret {
            let column = line.columns.get(self.caret - from.min(self.caret)).copied().unwrap_or(columns);
            if let Some(mark) = marks.get_mut(column) {
                *mark = b'^';
            }
        }
        String::from_utf8(marks).unwrap_or_default()
    }

    /// The line with the replacement.
    fn replacement(&self, from: usize, bytes: &[u8], line: &Line) -> String {
        let Some((range, text)) = &self.fix else { return String::new() };
        let starts_here = range.start >= from && range.start <= from + bytes.len();
        if !starts_here || range.end > from + bytes.len() || text.contains(['\n', '\r', '\t']) {
            return String::new();
        }
        let column = line.columns.get(range.start - from).copied().unwrap_or(0);
        " ".repeat(column) + text
    }
}

/// The part of a line that is shown.
fn cut(text: &str, window: &Range<usize>) -> String {
    if window.end == usize::MAX {
        return text.to_owned();
    }
    let mut column = 0;
    let mut out = String::new();
    for character in text.chars() {
        if window.contains(&column) {
            out.push(character);
        }
        column += width(character);
    }
    let is_text = !text.trim_start_matches([' ', '~', '^']).is_empty();
    if is_text && window.start > 0 && out.len() > 3 && out.is_char_boundary(3) {
        out.replace_range(..3, "...");
    }
    if is_text && column > window.end {
        out.push_str("...");
    }
    out
}
