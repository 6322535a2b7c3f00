//! The fuzz target of WebSocket frames.

use super::frame::{Decoder, Opcode, Received, Violation, encode};
use crate::text::fuzz_input::cuts;

const LIMIT: usize = 1 << 10;

/// The decoder finds the same messages wherever the input is cut, within its limit, and every text is UTF-8. A
/// message that is sent again as one frame is received again.
pub fn frames(input: &[u8]) {
    let decoded = cuts(input).map(|pieces| decode(&pieces));
    assert_eq!(decoded[0], decoded[1], "cut once");
    assert_eq!(decoded[0], decoded[2], "cut often");
    let (received, _) = &decoded[0];
    for message in received {
        let (opcode, payload) = match message {
            Received::Text(text) => {
                assert!(std::str::from_utf8(text).is_ok());
                (Opcode::Text, text)
            }
            Received::Binary(bytes) => (Opcode::Binary, bytes),
            Received::Ping(payload) => {
                assert!(payload.len() <= 125);
                (Opcode::Ping, payload)
            }
            Received::Pong | Received::Close(_) => continue,
        };
        assert!(payload.len() <= LIMIT);
        let (again, end) = decode(&[&masked(opcode, payload)]);
        assert_eq!(
            (again.as_slice(), end),
            (std::slice::from_ref(message), None)
        );
    }
}

/// What was received, and the violation that ended it.
fn decode(pieces: &[&[u8]]) -> (Vec<Received>, Option<Violation>) {
    let mut decoder = Decoder::new(LIMIT);
    let (mut all, mut waiting) = (Vec::new(), Vec::new());
    for piece in pieces {
        waiting.extend_from_slice(piece);
        loop {
            match decoder.decode(&waiting) {
                Ok((taken, received)) => {
                    waiting.drain(..taken);
                    match received {
                        Some(received) => all.push(received),
                        None => break,
                    }
                }
                Err(violation) => return (all, Some(violation)),
            }
        }
        assert!(waiting.len() < 14, "only an incomplete head is left");
    }
    (all, None)
}

/// The frame as a client sends it, with a mask that changes nothing.
fn masked(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    encode(opcode, payload, &mut frame);
    let head = frame.len() - payload.len();
    frame[1] |= 0x80;
    frame.splice(head..head, [0; 4]);
    frame
}
