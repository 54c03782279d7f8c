//! Instructions as words.

use spirv::Op;

/// Maximum number of words of an instruction.
pub(crate) const MAX_WORDS: usize = 0xffff;

/// A sequence of instructions.
#[derive(Debug, Default)]
pub(crate) struct Section {
    /// The words.
    pub words: Vec<u32>,
    /// Whether an instruction had more words than SPIR-V can express.
    pub too_long: bool,
}

impl Section {
    /// Appends an instruction.
    pub(crate) fn push(&mut self, op: Op, operands: &[u32]) {
        self.push_parts(op, &[operands]);
    }

    /// Appends an instruction whose operands are in several slices.
    pub(crate) fn push_parts(&mut self, op: Op, parts: &[&[u32]]) {
        let count = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
        if count > MAX_WORDS {
            self.too_long = true;
            return;
        }
        self.words.reserve(count);
        self.words.push((count as u32) << 16 | op as u32);
        for part in parts {
            self.words.extend_from_slice(part);
        }
    }

    /// Appends an instruction with a string among its operands.
    pub(crate) fn push_text(&mut self, op: Op, before: &[u32], text: &str, after: &[u32]) {
        let text = text_words(text);
        self.push_parts(op, &[before, &text, after]);
    }
}

/// A text as the words of a literal string: UTF-8, ended by a zero byte.
pub(crate) fn text_words(text: &str) -> Vec<u32> {
    let end = text.find('\0').unwrap_or(text.len());
    let bytes = &text.as_bytes()[..end];
    let mut words = vec![0; bytes.len() / 4 + 1];
    for (index, byte) in bytes.iter().enumerate() {
        words[index / 4] |= u32::from(*byte) << (index % 4 * 8);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_with_a_zero() {
        assert_eq!(text_words(""), [0]);
        assert_eq!(text_words("abc"), [0x0063_6261]);
        assert_eq!(text_words("abcd"), [0x6463_6261, 0]);
        assert_eq!(text_words("a\0b"), [0x61]);
    }

    #[test]
    fn an_instruction_has_at_most_65535_words() {
        let mut section = Section::default();
        section.push(Op::Nop, &[]);
        section.push(Op::TypeStruct, &vec![0; MAX_WORDS]);
        assert!(section.too_long);
        assert_eq!(section.words, [1 << 16]);
    }
}
