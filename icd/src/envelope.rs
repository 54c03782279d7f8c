//! The wrapper around all data that Clift stores outside the process: program binaries and cache entries.
//!
//! ```text
//! offset  0  magic, 8 bytes: kind of data
//!         8  version, 4 bytes little-endian: of the payload's layout
//!        12  BLAKE3 hash of the payload, 32 bytes
//!        44  payload: postcard encoding of one value
//! ```
//!
//! Data is checked before it is decoded, so garbage, truncated data and other versions give `None`. The hash protects against
//! accidental damage, not against attacks: the content is validated like any other input.

use serde::{Deserialize, Serialize};

/// Bytes before the payload.
const HEADER: usize = 8 + 4 + 32;

/// A kind of stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvelopeFormat {
    /// Identifies the kind of data.
    pub magic: [u8; 8],
    /// Version of the payload's layout.
    pub version: u32,
}

impl EnvelopeFormat {
    /// Wraps a value; `None` when it cannot be encoded (out of memory).
    pub fn seal<T: Serialize>(&self, value: &T) -> Option<Vec<u8>> {
        let payload = postcard::to_stdvec(value).ok()?;
        let mut bytes = Vec::with_capacity(HEADER + payload.len());
        bytes.extend_from_slice(&self.magic);
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend_from_slice(blake3::hash(&payload).as_bytes());
        bytes.extend_from_slice(&payload);
        Some(bytes)
    }

    /// Unwraps a value; `None` when the bytes are not in this format.
    pub fn open<'a, T: Deserialize<'a>>(&self, bytes: &'a [u8]) -> Option<T> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (version, rest) = rest.split_first_chunk::<4>()?;
        let (hash, payload) = rest.split_first_chunk::<32>()?;
        if *magic != self.magic || u32::from_le_bytes(*version) != self.version {
            return None;
        }
        if blake3::hash(payload).as_bytes() != hash {
            return None;
        }
        match postcard::take_from_bytes(payload) {
            Ok((value, [])) => Some(value),
            Ok(_) | Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EnvelopeFormat;

    const FORMAT: EnvelopeFormat = EnvelopeFormat { magic: *b"TESTTEST", version: 3 };

    #[test]
    fn a_value_survives_a_round_trip() {
        let value = (vec![1_u32, u32::MAX], "text".to_owned());
        let bytes = FORMAT.seal(&value).unwrap();
        assert_eq!(FORMAT.open::<(Vec<u32>, String)>(&bytes), Some(value));
    }

    #[test]
    fn damage_is_detected() {
        let bytes = FORMAT.seal(&vec![7_u32; 20]).unwrap();
        for length in 0..bytes.len() {
            assert_eq!(FORMAT.open::<Vec<u32>>(&bytes[..length]), None, "truncated to {length}");
        }
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 0x10;
            assert_eq!(FORMAT.open::<Vec<u32>>(&damaged), None, "byte {position}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(FORMAT.open::<Vec<u32>>(&longer), None);
        let newer = EnvelopeFormat { version: 4, ..FORMAT };
        assert_eq!(newer.open::<Vec<u32>>(&bytes), None);
    }
}
