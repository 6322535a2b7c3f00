//! For tests and fuzzing of decoders: a sink that records deltas, and streams split into pieces.

use super::wire_protocol::Decoder;
use super::{Completion, DeltaSink, Error};

/// Records all deltas as text: adjacent deltas of one kind make one item.
#[derive(Default)]
pub(super) struct RecordingSink(Vec<String>);

impl RecordingSink {
    fn more(&mut self, kind: &str, text: &str) {
        match self.0.last_mut() {
            Some(last) if last.starts_with(kind) => last.push_str(text),
            _ => self.0.push(format!("{kind}{text}")),
        }
    }
}

impl DeltaSink for RecordingSink {
    fn begin(&mut self, id: Option<&str>) {
        self.more("begin: ", id.unwrap_or("-"));
    }
    fn text(&mut self, text: &str) {
        assert!(!text.is_empty());
        self.more("text: ", text);
    }
    fn reasoning(&mut self, text: &str) {
        assert!(!text.is_empty());
        self.more("thought: ", text);
    }
}

/// Decodes a stream in these pieces, until the decoder reports that it is complete.
pub(super) fn decode(
    mut decoder: Box<dyn Decoder>,
    pieces: &[&[u8]],
) -> (String, Result<Completion, Error>) {
    let mut heard = RecordingSink::default();
    for piece in pieces {
        match decoder.push(piece, &mut heard) {
            Ok(false) => {}
            Ok(true) => break,
            Err(error) => return (heard.0.join("\n"), Err(error)),
        }
    }
    (heard.0.join("\n"), decoder.finish())
}

/// Decodes a stream in one piece, split in two at every byte, and byte by byte.
#[cfg(test)]
pub(super) fn decode_every_split(
    decoder: impl Fn() -> Box<dyn Decoder>,
    stream: &[u8],
    check: impl Fn(String, Result<Completion, Error>),
) {
    let mut ways: Vec<Vec<&[u8]>> = vec![vec![stream], stream.chunks(1).collect()];
    ways.extend((0..=stream.len()).map(|at| vec![&stream[..at], &stream[at..]]));
    for pieces in ways {
        let (heard, completion) = decode(decoder(), &pieces);
        check(heard, completion);
    }
}

/// A stream of server-sent events, one for each line of data; its `type` becomes the event's name.
#[cfg(test)]
pub(super) fn event_stream(lines: &[&str]) -> Vec<u8> {
    let mut stream = String::new();
    for line in lines {
        let parsed: serde_json::Value = crate::json::from_str(line).unwrap_or_default();
        if let Some(kind) = parsed["type"].as_str() {
            stream.push_str(&format!("event: {kind}\n"));
        }
        stream.push_str(&format!("data: {line}\n\n"));
    }
    stream.into_bytes()
}
