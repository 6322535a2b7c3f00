//! Properties of the decoder for any stream, split into any pieces.

use super::*;
use gosling_testing::property_testing::{check, one_of, split, vec_of};

const PARTS: [&str; 18] = [
    "data",
    "data: {}",
    "data:",
    ":",
    " ",
    "event: message",
    "event: other",
    "id: 1",
    "id",
    "id: \0",
    "retry: 5",
    "retry: x",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\u{feff}",
    "x",
];

/// The events that a decoder delivers for these pieces, and a description of its state.
fn decode(pieces: &[&[u8]], limit: usize) -> (Vec<Vec<u8>>, String) {
    let (mut decoder, mut events) = (Decoder::new(limit), Vec::new());
    let mut end = Ok(());
    for piece in pieces {
        end = decoder.push(piece, |data| events.push(data.to_vec()));
        let held = decoder.line.len().max(decoder.data.len());
        assert!(held <= limit + MAX_FIELD_NAME + 1, "{held} bytes are held");
        if end.is_err() {
            break;
        }
    }
    let Decoder {
        last_id,
        retry,
        delivered,
        ..
    } = decoder;
    (events, format!("{last_id:?} {retry:?} {delivered} {end:?}"))
}

#[test]
fn a_stream_means_the_same_however_it_is_cut() {
    check(|u| {
        let text = vec_of(u, 24, |u| one_of(u, &PARTS))?.concat();
        let limit = u.int_in_range(0..=40)?;
        let whole = decode(&[text.as_bytes()], limit);
        let pieces = split(u, text.as_bytes())?;
        assert_eq!(decode(&pieces, limit), whole, "{pieces:?}");
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(decode(&single, limit), whole, "{text:?}");
        Ok(())
    });
}

#[test]
fn line_ends_of_every_kind_mean_the_same() {
    check(|u| {
        let lines = vec_of(u, 12, |u| {
            let line = vec_of(u, 3, |u| one_of(u, &PARTS))?.concat();
            Ok(line.replace(['\r', '\n'], ""))
        })?;
        let with = |end: &str| {
            let text: String = lines.iter().flat_map(|line| [line, end]).collect();
            decode(&[text.as_bytes()], 1000)
        };
        let mut mixed = String::new();
        for line in &lines {
            mixed.push_str(line);
            // A `\n` after the line end `\r` would be a part of that line end.
            let ends: &[&str] = if line.is_empty() && mixed.ends_with('\r') {
                &["\r", "\r\n"]
            } else {
                &["\n", "\r", "\r\n"]
            };
            mixed.push_str(u.choose(ends)?);
        }
        let expected = with("\n");
        assert_eq!(with("\r"), expected);
        assert_eq!(with("\r\n"), expected);
        assert_eq!(decode(&[mixed.as_bytes()], 1000), expected, "{mixed:?}");
        Ok(())
    });
}
