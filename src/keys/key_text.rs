//! Keys as clients send them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use std::hint::black_box;
use std::io;

/// How a key begins, so that people and scanners recognize one.
pub(crate) const PREFIX: &str = "gosling_";

/// The length of the random part, in bytes.
const RANDOM: usize = 32;

/// A SHA-256.
pub(crate) type Hash = [u8; 32];

/// A new key.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn draw() -> io::Result<String> {
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random()?)))
}

/// Random bytes.
///
/// # Errors
/// When the system has none.
pub(crate) fn random() -> io::Result<[u8; RANDOM]> {
    use ring::rand::{SecureRandom, SystemRandom};
    let mut bytes = [0; RANDOM];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(bytes)
}

/// The hash of a key. It needs no salt and no slowness, because a key cannot be guessed.
pub(crate) fn hash(key: &str) -> Hash {
    let mut hash = Hash::default();
    hash.copy_from_slice(digest(&SHA256, key.as_bytes()).as_ref());
    hash
}

/// Compares in a time that depends on the lengths only.
pub(crate) fn is_same(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b));
    a.len() == b.len() && black_box(differing) == 0
}

/// From 64 hexadecimal digits.
pub(crate) fn from_hex(text: &str) -> Option<Hash> {
    let digits = text.bytes().map(|digit| char::from(digit).to_digit(16));
    let digits: Vec<u8> = digits
        .map(|it| it.map(|it| it as u8))
        .collect::<Option<_>>()?;
    let mut hash = Hash::default();
    if digits.len() != 2 * hash.len() {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Some(hash)
}

#[cfg(test)]
mod tests;
