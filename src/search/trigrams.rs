//! A small index of the byte trigrams of texts, which tells whether a word may occur in them.

/// Maximum size of the index of one text, in bytes.
const MOST: usize = 8 << 10;

/// The trigrams of some texts: one bit for each hash. There are false positives, but no false negatives.
#[derive(Debug)]
pub(crate) struct Trigrams(Box<[u64]>);

impl Trigrams {
    /// The memory in bytes of the index for texts of about `bytes` in all.
    pub(crate) fn memory(bytes: u64) -> usize {
        let size = usize::try_from(bytes / 4).unwrap_or(MOST);
        size.clamp(64, MOST).next_power_of_two()
    }

    /// An empty index for texts of about `bytes` in all.
    pub(crate) fn for_texts_of(bytes: u64) -> Self {
        Trigrams(vec![0; Self::memory(bytes) / 8].into())
    }

    /// Adds the trigrams of `text`.
    pub(crate) fn add(&mut self, text: &str) {
        for triple in text.as_bytes().windows(3) {
            let (word, bit) = self.place(triple);
            self.0[word] |= bit;
        }
    }

    /// Whether `word` may occur in one of the texts; always true for fewer than three bytes.
    pub(crate) fn may_have(&self, word: &str) -> bool {
        word.as_bytes().windows(3).all(|triple| {
            let (word, bit) = self.place(triple);
            self.0[word] & bit != 0
        })
    }

    fn place(&self, triple: &[u8]) -> (usize, u64) {
        let value = triple
            .iter()
            .fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        // The highest bits of the product depend on all three bytes.
        let hash = (value.wrapping_mul(0x9e37_79b1) >> 16) as usize;
        (hash / 64 % self.0.len(), 1 << (hash % 64))
    }
}

#[cfg(test)]
mod tests;
