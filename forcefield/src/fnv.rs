//! The hash by which checkpoints recognise what they belong to: FNV-1a with 64 bits,
//!
//! ```text
//! h ← (h xor byte) · 0x100000001b3        h₀ = 0xcbf29ce484222325
//! ```
//!
//! Source: Fowler, Noll, Vo & Eastlake, "The FNV Non-Cryptographic Hash Algorithm", section 2 (draft-eastlake-fnv).

/// The hash of the bytes seen so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Adds a line of text and its end.
    pub fn line(&mut self, line: &str) {
        self.bytes(line.as_bytes());
        self.bytes(b"\n");
    }

    /// Adds an index, 4 bytes with the lowest first.
    pub fn index(&mut self, index: u32) {
        self.bytes(&index.to_le_bytes());
    }

    /// Adds the bit patterns of numbers, 8 bytes each with the lowest first.
    pub fn numbers<'a>(&mut self, numbers: impl IntoIterator<Item = &'a f64>) {
        numbers.into_iter().for_each(|number| self.bytes(&number.to_bits().to_le_bytes()));
    }

    /// Adds the indices and parameters of an interaction.
    pub fn entry(&mut self, indices: &[u32], parameters: &[f64]) {
        indices.iter().for_each(|index| self.index(*index));
        self.numbers(parameters);
    }

    /// The hash.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of the draft, appendix C.
    #[test]
    fn published_values() {
        let hash = |text: &str| {
            let mut hash = Fnv1a::default();
            hash.bytes(text.as_bytes());
            hash.value()
        };
        assert_eq!(
            [hash(""), hash("a"), hash("foobar")],
            [0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8]
        );
    }
}
