//! A record as it is read, and hashes.

use crate::argument_shape::Shape;
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use std::borrow::Cow;

/// What comes before the hash of a record, which ends its line.
pub(crate) const HASH: &str = ",\"hash\":\"";
/// The length of a hash in hexadecimal digits.
const HASH_LENGTH: usize = 64;
/// The hash before the first record of all.
pub(crate) const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A record as it is read; what is empty was left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Record<'a> {
    pub(crate) seq: u64,
    pub(crate) time: Cow<'a, str>,
    pub(crate) prev: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
    pub(crate) of: Option<u64>,
    pub(crate) turn: Option<u64>,
    pub(crate) pid: u32,
    pub(crate) front: Cow<'a, str>,
    pub(crate) key: Cow<'a, str>,
    pub(crate) address: Cow<'a, str>,
    pub(crate) session: Cow<'a, str>,
    pub(crate) extension: Cow<'a, str>,
    pub(crate) subject: Cow<'a, str>,
    pub(crate) request: Cow<'a, str>,
    pub(crate) arguments: Option<Arguments>,
    pub(crate) decision: Cow<'a, str>,
    pub(crate) by: Cow<'a, str>,
    pub(crate) outcome: Cow<'a, str>,
    pub(crate) detail: Cow<'a, str>,
    /// Milliseconds.
    pub(crate) ms: Option<f64>,
    pub(crate) bytes: Option<usize>,
    /// The next file, in the last record of one; the file, in the record of its removal.
    pub(crate) file: Cow<'a, str>,
    /// The last hash of the file that was removed.
    pub(crate) last: Cow<'a, str>,
}

/// What is told of arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Arguments {
    pub(crate) sha256: String,
    pub(crate) bytes: usize,
    pub(crate) shape: Shape,
    pub(crate) value: Option<String>,
}

impl Record<'_> {
    /// The day on which it was made (UTC).
    pub(crate) fn day(&self) -> &str {
        self.time.get(..10).unwrap_or_default()
    }

    /// Reads a line, without its end; also returns its hash.
    ///
    /// # Errors
    /// Why it is no record, or not as it was written.
    pub(crate) fn read(line: &[u8]) -> Result<(Record<'static>, String), String> {
        let cut = || "it is no record, or a part of one".to_owned();
        let tail = HASH.len() + HASH_LENGTH + 2;
        let (hashed, end) = line
            .split_at_checked(line.len().wrapping_sub(tail))
            .ok_or_else(cut)?;
        let hash = end
            .strip_prefix(HASH.as_bytes())
            .and_then(|end| end.strip_suffix(b"\"}"));
        let hash = hash
            .and_then(|hash| str::from_utf8(hash).ok())
            .ok_or_else(cut)?;
        if hash_of(hashed) != hash {
            return Err("it was changed: its hash does not fit".to_owned());
        }
        let record =
            crate::json::from_slice(line).map_err(|error| format!("it cannot be read: {error}"))?;
        Ok((record, hash.to_owned()))
    }
}

/// SHA-256 in hexadecimal digits.
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(HASH_LENGTH);
    for part in digest(&SHA256, bytes).as_ref().as_chunks::<4>().0 {
        text.extend_from_slice(&hexadecimal(u32::from_be_bytes(*part)));
    }
    String::from_utf8(text).unwrap_or_default()
}

/// Eight hexadecimal digits, made together.
fn hexadecimal(number: u32) -> [u8; 8] {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let mut halves = u64::from(number);
    for (shift, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
    ] {
        halves = (halves | halves << shift) & mask;
    }
    // Adding six carries into the upper half of the byte where the digit is a letter.
    let letters = ((halves + 6 * EACH) >> 4) & EACH;
    let past_digits = u64::from(b'a' - 10 - b'0');
    (halves + u64::from(b'0') * EACH + past_digits * letters).to_be_bytes()
}

/// What begins a line, with the hash that it has to have.
#[cfg(any(test, fuzzing))]
pub(crate) fn sealed(begin: &[u8]) -> Vec<u8> {
    let hash = hash_of(begin);
    [begin, HASH.as_bytes(), hash.as_bytes(), b"\"}"].concat()
}

#[cfg(test)]
mod tests;
