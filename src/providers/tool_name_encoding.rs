//! Encodes tool names for providers, which allow `[a-zA-Z0-9_-]`, at most 64 characters, and for Gemini a
//! letter or an underscore first.
//!
//! An encoded name has `_` in place of every other character, an underscore first if needed, and a hash of
//! the original at its end. Decoding restores the original. Encoding is deterministic, so that prompt caches
//! stay valid.

use super::ToolSpec;
use std::borrow::Cow;

const MAX_LENGTH: usize = 64;
/// An underscore and eight hex digits.
const HASH_LENGTH: usize = 9;

/// The encoded names of one request.
#[derive(Debug, Default)]
pub(super) struct ToolNames {
    /// Encoded and original name.
    encoded: Vec<(String, String)>,
}

impl ToolNames {
    /// The names that a response to a request with these tools has to be decoded with.
    pub(super) fn of(tools: &[ToolSpec]) -> Self {
        let encoded = tools
            .iter()
            .filter_map(|tool| match encode_tool_name(&tool.name) {
                Cow::Borrowed(_) => None,
                Cow::Owned(name) => Some((name, tool.name.clone())),
            })
            .collect();
        ToolNames { encoded }
    }

    /// The original of a name in a response. A name that is not encoded stays.
    pub(super) fn decode(&self, name: String) -> String {
        match self.encoded.iter().find(|(encoded, _)| *encoded == name) {
            Some((_, original)) => original.clone(),
            None => name,
        }
    }
}

/// The name for a provider; the same name if it is allowed.
pub(super) fn encode_tool_name(name: &str) -> Cow<'_, str> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    if name.starts_with(begins) && name.len() <= MAX_LENGTH && name.bytes().all(fits) {
        return Cow::Borrowed(name);
    }
    let first = (name.starts_with(|c: char| c.is_ascii_digit() || c == '-')).then_some('_');
    let all = first.into_iter().chain(name.chars());
    let mut out: String = (all.take(MAX_LENGTH - HASH_LENGTH))
        .map(|c| match u8::try_from(c) {
            Ok(b) if fits(b) => c,
            _ => '_',
        })
        .collect();
    out.push_str(&format!("_{:08x}", hash32(name)));
    Cow::Owned(out)
}

/// FNV-1a with 32 bits.
fn hash32(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests;
