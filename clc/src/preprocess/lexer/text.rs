//! Characters as the language sees them: a splice (backslash and newline) is nothing, a trigraph is one character.

/// A text, to be read at any position.
#[derive(Clone, Copy)]
pub(super) struct Text<'a>(pub &'a [u8]);

impl Text<'_> {
    /// The byte at a position.
    pub(super) fn byte(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    /// The character at a position, and the position after it. At the end there is none.
    pub(super) fn character(self, at: usize) -> (Option<u8>, usize) {
        match self.byte(at) {
            Some(b'\\' | b'?') => self.rare_character(at),
            Some(byte) => (Some(byte), at + 1),
            None => (None, at),
        }
    }

    /// The same where a splice or a trigraph is possible.
    #[cold]
    fn rare_character(self, mut at: usize) -> (Option<u8>, usize) {
        while let Some(after) = self.splice(at) {
            at = after;
        }
        match (self.trigraph(at), self.byte(at)) {
            (Some(character), _) => (Some(character), at + 3),
            (None, Some(byte)) => (Some(byte), at + 1),
            (None, None) => (None, at),
        }
    }

    /// The character of a trigraph.
    pub(super) fn trigraph(self, at: usize) -> Option<u8> {
        if self.byte(at) != Some(b'?') || self.byte(at + 1) != Some(b'?') {
            return None;
        }
        Some(match self.byte(at + 2)? {
            b'=' => b'#',
            b'/' => b'\\',
            b'\'' => b'^',
            b'(' => b'[',
            b')' => b']',
            b'!' => b'|',
            b'<' => b'{',
            b'>' => b'}',
            b'-' => b'~',
            _ => return None,
        })
    }

    /// The position after a splice. White space between backslash and newline is allowed.
    pub(super) fn splice(self, at: usize) -> Option<usize> {
        let mut at = match self.byte(at)? {
            b'\\' => at + 1,
            b'?' if self.trigraph(at) == Some(b'\\') => at + 3,
            _ => return None,
        };
        loop {
            match self.byte(at)? {
                b' ' | b'\t' | 0x0b | 0x0c => at += 1,
                b'\n' | b'\r' => return Some(self.after_newline(at)),
                _ => return None,
            }
        }
    }

    /// The position after a newline, which has one or two bytes. Splices before it are skipped, too.
    pub(super) fn after_newline(self, at: usize) -> usize {
        match (self.byte(at), self.byte(at + 1)) {
            (Some(b'\r'), Some(b'\n')) => at + 2,
            (Some(b'\n' | b'\r'), _) => at + 1,
            _ => self.splice(at).map_or(at, |after| self.after_newline(after)),
        }
    }

    /// The character beyond ASCII at a position, and the position after it. `None` if it is not UTF-8.
    pub(super) fn decode(self, at: usize) -> Option<(char, usize)> {
        let bytes = self.0.get(at..)?;
        let length = match bytes.first()? {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return None,
        };
        let character = std::str::from_utf8(bytes.get(..length)?).ok()?.chars().next()?;
        Some((character, at + length))
    }

    /// The character of a universal character name (`\u00e9`), and the position after it.
    pub(super) fn universal(self, at: usize) -> Option<(char, usize)> {
        let (Some(b'\\'), at) = self.character(at) else { return None };
        let (digits, mut at) = match self.character(at) {
            (Some(b'u'), at) => (4, at),
            (Some(b'U'), at) => (8, at),
            _ => return None,
        };
        let mut value = 0;
        for _ in 0..digits {
            let (Some(byte), next) = self.character(at) else { return None };
            value = value << 4 | char::from(byte).to_digit(16)?;
            at = next;
        }
        Some((char::from_u32(value)?, at))
    }
}
