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
mod tests;
