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

    /// Makes the decoder deliver events of every type, and a field `error: JSON` as the event `{"error":JSON}`.
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
                self.retry =
                    Some(TimeLimit::new(Duration::from_millis(millis.unwrap_or(u64::MAX))).get());
            }
            // Not a field of the standard: some model servers write the error of a stream like this.
            b"error" if self.any_type => {
                let event = [b"{\"error\":", value, b"}"].concat();
                self.delivered += 1;
                on_event(&event);
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
mod tests;
