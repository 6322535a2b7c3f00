//! The opening handshake (RFC 6455 §4.2).

use crate::http::{Error, Method, Request};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// What a server appends to the client's key (RFC 6455 §1.3).
const SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Whether the client asks for a WebSocket.
pub fn is_upgrade(request: &Request) -> bool {
    has_member(request, "Upgrade", "websocket")
}

/// The value of `Sec-WebSocket-Accept` that answers the client's handshake.
///
/// # Errors
/// 400 if the handshake is not complete, 426 if it is of another version.
pub(super) fn accept(request: &Request) -> Result<String, Error> {
    let is_complete = request.method == Method::Get
        && is_upgrade(request)
        && has_member(request, "Connection", "Upgrade");
    if !is_complete {
        return Err(Error::bad_request(
            "The request must be a `GET` with `Upgrade: websocket` and `Connection: Upgrade`",
        ));
    }
    if request.header("Sec-WebSocket-Version").map(str::trim) != Some("13") {
        let error = Error::new(
            426,
            "This server speaks version 13 of the WebSocket protocol",
        );
        return Err(error.header("Sec-WebSocket-Version", "13"));
    }
    let mut keys = request.header_values("Sec-WebSocket-Key").map(str::trim);
    let is_key = |key: &&str| BASE64_STANDARD.decode(key).is_ok_and(|key| key.len() == 16);
    match (keys.next().filter(is_key), keys.next()) {
        (Some(key), None) => Ok(accept_value(key)),
        _ => Err(Error::bad_request(
            "`Sec-WebSocket-Key` must be 16 bytes in Base64, once",
        )),
    }
}

fn accept_value(key: &str) -> String {
    BASE64_STANDARD.encode(sha1(&[key.as_bytes(), SUFFIX].concat()))
}

/// Whether the comma-separated values of the field `name` have this member.
fn has_member(request: &Request, name: &'static str, member: &str) -> bool {
    request
        .header_values(name)
        .flat_map(|value| value.split(','))
        .any(|found| found.trim().eq_ignore_ascii_case(member))
}

/// SHA-1 (RFC 3174 §6.1). Here it protects nothing: it shows that a server knows this protocol (RFC 6455 §10.8).
fn sha1(message: &[u8]) -> [u8; 20] {
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if message.len() % 64 >= 56 {
        padded.resize(padded.len() + 64, 0);
    }
    let end = padded.len() - 8;
    padded[end..].copy_from_slice(&(message.len() as u64 * 8).to_be_bytes());

    let mut hash: [u32; 5] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
    for block in padded.chunks_exact(64) {
        let mut words = [0_u32; 80];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = bytes
                .iter()
                .fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        }
        for t in 16..80 {
            words[t] = (words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = hash;
        for (t, word) in words.iter().enumerate() {
            let (f, k) = match t {
                ..20 => ((b & c) | (!b & d), 0x5a827999),
                20..40 => (b ^ c ^ d, 0x6ed9eba1),
                40..60 => ((b & c) | (b & d) | (c & d), 0x8f1bbcdc),
                _ => (b ^ c ^ d, 0xca62c1d6),
            };
            let sum = a.rotate_left(5).wrapping_add(f).wrapping_add(e);
            let sum = sum.wrapping_add(*word).wrapping_add(k);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, sum);
        }
        for (part, add) in hash.iter_mut().zip([a, b, c, d, e]) {
            *part = part.wrapping_add(add);
        }
    }
    let mut digest = [0; 20];
    for (bytes, part) in digest.chunks_exact_mut(4).zip(hash) {
        bytes.copy_from_slice(&part.to_be_bytes());
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(digest: [u8; 20]) -> String {
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_answer_to_a_key_is_that_of_the_specification() {
        let answer = accept_value("dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(answer, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    /// The examples of RFC 3174 §7.3, and lengths around the end of a block (by Python).
    #[test]
    fn sha_1_is_that_of_its_examples() {
        for (text, digest) in [
            ("abc".to_owned(), "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".to_owned(),
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
            ),
            (
                "a".repeat(1_000_000),
                "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
            ),
            (
                "0123456701234567012345670123456701234567012345670123456701234567".repeat(10),
                "dea356a2cddd90c7a7ecedc5ebb563934f460452",
            ),
            ("x".repeat(55), "cef734ba81a024479e09eb5a75b6ddae62e6abf1"),
            ("x".repeat(63), "0ddc4e0cccd9a12850deb5abb0853a4425559fec"),
            ("x".repeat(64), "bb2fa3ee7afb9f54c6dfb5d021f14b1ffe40c163"),
        ] {
            assert_eq!(hex(sha1(text.as_bytes())), digest, "{}", text.len());
        }
    }
}
