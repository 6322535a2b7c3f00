//! Server-sent events: bytes in, the data of each message event out. No I/O and no clock.
//!
//! HTML Living Standard §9.2.6, with one restriction: the decoder skips events of another type than
//! `message`, unless it is [for any type](Decoder::of_any_type). An event without data (a priming event of
//! MCP 2025-11-25, basic/transports) delivers nothing but its id.

use gosling_sys::TimeLimit;
use std::time::Duration;

/// Bytes for the field's name and colon in a line whose value has the maximum length.
const MAX_FIELD_NAME: usize = 16;
/// A longer id is ignored: it would not fit in a request header.
const MAX_ID: usize = 1024;
/// A buffer that grew beyond this for one event is freed after it.
const MAX_KEPT_BUFFER: usize = 64 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Decodes one event stream, in pieces of any size.
pub struct Decoder {
    limit: usize,
    /// The part of the current line that came with earlier pieces.
    line: Vec<u8>,
    /// The last byte was `\r`: a `\n` that follows belongs to the same line end.
    after_cr: bool,
    at_start: bool,
    any_type: bool,
    data: Vec<u8>,
    /// Whether the current event's type so far is the default or `message`.
    is_message: bool,
    /// The id to take over when the current event is complete.
    pending_id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
    delivered: u64,
}

/// A line or an event is longer than the limit. The decoder cannot continue after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl Decoder {
    /// A decoder for events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Decoder {
            limit,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            any_type: false,
            data: Vec::new(),
            is_message: true,
            pending_id: None,
            last_id: None,
            retry: None,
            delivered: 0,
        }
    }

    /// Makes the decoder deliver events of every type.
    pub fn of_any_type(self) -> Self {
        Decoder {
            any_type: true,
            ..self
        }
    }

    /// Decodes the next piece and calls `on_event` with the data of each event that it completes.
    ///
    /// # Errors
    /// [`TooLong`] if a line or an event exceeds the limit.
    pub fn push(&mut self, piece: &[u8], mut on_event: impl FnMut(&[u8])) -> Result<(), TooLong> {
        self.read(piece, &mut on_event)
    }

    // Not generic, so that the binary contains it once.
    fn read(&mut self, mut piece: &[u8], on_event: &mut dyn FnMut(&[u8])) -> Result<(), TooLong> {
        while !piece.is_empty() {
            if std::mem::take(&mut self.after_cr) && piece[0] == b'\n' {
                piece = &piece[1..];
                continue;
            }
            let end = piece.iter().position(|&b| b == b'\n' || b == b'\r');
            let part = &piece[..end.unwrap_or(piece.len())];
            if self.line.len() + part.len() > self.limit.saturating_add(MAX_FIELD_NAME) {
                return Err(TooLong);
            }
            let Some(end) = end else {
                self.line.extend_from_slice(part);
                return Ok(());
            };
            self.after_cr = piece[end] == b'\r';
            piece = &piece[end + 1..];
            if self.line.is_empty() {
                self.end_line(part, on_event)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(part);
                self.end_line(&line, on_event)?;
                line.clear();
                self.line = without_large_capacity(line);
            }
        }
        Ok(())
    }

    /// The id of the last complete event that had one, from which a client resumes.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server asks the client to wait before it reconnects.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// How many events the decoder has delivered.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Prepares for a new connection of the same stream: drops the incomplete event, keeps the id, the wait
    /// and the count.
    pub fn reconnected(&mut self) {
        *self = Decoder {
            pending_id: self.last_id.clone(),
            last_id: self.last_id.take(),
            retry: self.retry,
            delivered: self.delivered,
            any_type: self.any_type,
            ..Decoder::new(self.limit)
        };
    }

    fn end_line(&mut self, line: &[u8], on_event: &mut dyn FnMut(&[u8])) -> Result<(), TooLong> {
        let mut line = line;
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(on_event);
            return Ok(());
        }
        let (field, value) = match line.iter().position(|&b| b == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.data.len() + value.len() > self.limit {
                    return Err(TooLong);
                }
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.is_message = matches!(value, b"" | b"message"),
            b"id" if !value.contains(&0) => {
                self.pending_id = (!value.is_empty() && value.len() <= MAX_ID)
                    .then(|| String::from_utf8_lossy(value).into_owned());
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let digits = std::str::from_utf8(value).ok();
                let millis = digits.and_then(|digits| digits.parse().ok());
                self.retry = Some(TimeLimit::from_millis(millis.unwrap_or(u64::MAX)).get());
            }
            // A comment (a field without a name), or an unknown field.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, on_event: &mut dyn FnMut(&[u8])) {
        if self.last_id != self.pending_id {
            self.last_id.clone_from(&self.pending_id);
        }
        self.data.pop();
        if (self.is_message || self.any_type) && !self.data.is_empty() {
            self.delivered += 1;
            on_event(&self.data);
        }
        self.is_message = true;
        self.data.clear();
        self.data = without_large_capacity(std::mem::take(&mut self.data));
    }
}

fn without_large_capacity(buffer: Vec<u8>) -> Vec<u8> {
    if buffer.capacity() > MAX_KEPT_BUFFER {
        Vec::new()
    } else {
        buffer
    }
}

#[cfg(test)]
mod property_tests;

#[cfg(test)]
mod tests {
    use super::*;

    struct Decoded {
        events: Vec<String>,
        id: Option<String>,
        retry: Option<Duration>,
    }

    fn decode(pieces: &[&[u8]]) -> Decoded {
        let mut decoder = Decoder::new(1024);
        let mut events = Vec::new();
        for piece in pieces {
            decoder
                .push(piece, |data| {
                    events.push(String::from_utf8_lossy(data).into_owned());
                })
                .unwrap();
        }
        Decoded {
            events,
            id: decoder.last_id().map(str::to_owned),
            retry: decoder.retry(),
        }
    }

    /// Decodes in one piece, split in two at every position, and byte by byte.
    fn decode_every_split(input: &[u8], check: impl Fn(Decoded)) {
        check(decode(&[input]));
        for at in 0..=input.len() {
            check(decode(&[&input[..at], &input[at..]]));
        }
        check(decode(&input.chunks(1).collect::<Vec<_>>()));
    }

    fn yields(input: &str, events: &[&str]) {
        decode_every_split(input.as_bytes(), |decoded| {
            assert_eq!(decoded.events, events, "{input:?}");
        });
    }

    #[test]
    fn every_line_end_ends_a_line_wherever_the_pieces_are_cut() {
        for end in ["\n", "\r", "\r\n"] {
            let input = "data: {\"a\":1}||event: message|data: 2|id: x||data:3||".replace('|', end);
            yields(&input, &["{\"a\":1}", "2", "3"]);
        }
        yields("data: 1\r\n\rdata: 2\n\r\n\r", &["1", "2"]);
    }

    #[test]
    fn a_stream_is_the_same_in_any_three_pieces() {
        // A stream with line ends of every kind.
        let input = "\u{feff}: hi\r\nid: 1\r\nretry: 20\r\ndata:\r\n\r\nevent: message\rdata: {\"a\":\rdata: \
                     \"\u{e9}\u{1f9a2}\"}\r\rid: 2\n:\ndata: z\n\n\r\n"
            .as_bytes();
        let whole = decode(&[input]);
        assert_eq!(whole.events, ["{\"a\":\n\"\u{e9}\u{1f9a2}\"}", "z"]);
        assert_eq!(whole.id.as_deref(), Some("2"));
        for first in 0..=input.len() {
            for second in first..=input.len() {
                let pieces = [&input[..first], &input[first..second], &input[second..]];
                let decoded = decode(&pieces);
                assert_eq!(decoded.events, whole.events, "{first} {second}");
                assert_eq!((decoded.id, decoded.retry), (whole.id.clone(), whole.retry));
            }
        }
    }

    #[test]
    fn data_of_several_lines_is_joined_by_line_feeds() {
        yields("data: a\ndata:\ndata:  b\n\n", &["a\n\n b"]);
        yields("data\ndata: x\n\n", &["\nx"]);
    }

    #[test]
    fn comments_unknown_fields_and_other_types_are_skipped() {
        yields(
            ": ping\n\nevent: endpoint\ndata: /sse\n\nfoo: bar\nDATA: no\ndata: yes\n\n",
            &["yes"],
        );
        yields(
            "event: other\nevent\ndata: back to the default\n\n",
            &["back to the default"],
        );
    }

    #[test]
    fn events_of_every_type_are_handed_out_if_all_are_wanted() {
        let mut events = Vec::new();
        let input = b"event: error\ndata: a\n\ndata: b\n\nevent: ping\n\n";
        (Decoder::new(64).of_any_type())
            .push(input, |data| events.push(data.to_vec()))
            .unwrap();
        assert_eq!(events, [b"a", b"b"]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_at_the_start_and_only_there() {
        yields(
            "\u{feff}data: 1\n\n\u{feff}data: lost\n\ndata: 2\n\n",
            &["1", "2"],
        );
    }

    #[test]
    fn a_priming_event_delivers_nothing_but_its_id() {
        decode_every_split(b"id: 7\nretry: 500\ndata:\n\n", |decoded| {
            assert!(decoded.events.is_empty());
            assert_eq!(decoded.id.as_deref(), Some("7"));
            assert_eq!(decoded.retry, Some(Duration::from_millis(500)));
        });
    }

    #[test]
    fn an_id_counts_when_its_event_is_complete() {
        decode_every_split(b"id: 1\ndata: a\n\nid: 2\ndata: b", |decoded| {
            assert_eq!(decoded.events, ["a"]);
            assert_eq!(decoded.id.as_deref(), Some("1"));
        });
        decode_every_split(b"id: 1\n\nid: a\0b\n\ndata: keeps the id\n\n", |decoded| {
            assert_eq!(decoded.id.as_deref(), Some("1"));
        });
        decode_every_split(b"id: 1\n\nid\n\n", |decoded| assert_eq!(decoded.id, None));
    }

    #[test]
    fn retry_takes_digits_only() {
        for (text, millis) in [
            ("1000", Some(1000)),
            ("+5", None),
            ("5 ", None),
            ("-1", None),
            ("1.5", None),
            ("", None),
            ("99999999999999999999999", Some(u64::MAX)),
        ] {
            let decoded = decode(&[format!("retry: {text}\n\n").as_bytes()]);
            let limit = millis.map(|millis| TimeLimit::from_millis(millis).get());
            assert_eq!(decoded.retry, limit, "{text:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_pass_through() {
        let mut seen = Vec::new();
        let mut decoder = Decoder::new(64);
        decoder
            .push(b"data: \xff\n\n", |data| seen.push(data.to_vec()))
            .unwrap();
        assert_eq!(seen, [b"\xff"]);
    }

    #[test]
    fn a_line_and_an_event_are_bounded() {
        let mut decoder = Decoder::new(100);
        let full = format!("data: {}\n\n", "x".repeat(100));
        let mut length = 0;
        decoder
            .push(full.as_bytes(), |data| length = data.len())
            .unwrap();
        assert_eq!(length, 100);

        let endless_line = (0..1000).try_for_each(|_| decoder.push(b": x", |_| {}));
        assert_eq!(endless_line, Err(TooLong));

        let mut decoder = Decoder::new(100);
        let endless_event = (0..1000).try_for_each(|_| decoder.push(b"data: x\n", |_| {}));
        assert_eq!(endless_event, Err(TooLong));
    }

    #[test]
    fn a_new_connection_forgets_the_torn_event_and_keeps_its_place() {
        let mut decoder = Decoder::new(100);
        let mut events = Vec::new();
        for piece in [
            &b"id: 3\nretry: 10\ndata: a\n\ndata: to"[..],
            b"data: b\n\n",
        ] {
            decoder
                .push(piece, |data| events.push(data.to_vec()))
                .unwrap();
            decoder.reconnected();
        }
        assert_eq!(events, [b"a", b"b"]);
        assert_eq!(decoder.last_id(), Some("3"));
        assert_eq!(decoder.retry(), Some(Duration::from_millis(10)));
    }
}
