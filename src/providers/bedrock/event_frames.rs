//! The binary framing of `application/vnd.amazon.eventstream`: two lengths and their checksum, headers, a payload, the
//! checksum of all. No I/O.
//!
//! <https://smithy.io/2.0/aws/amazon-eventstream.html>

use crate::Error;

/// The two lengths and their checksum.
const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;
/// The most bytes of one frame.
const MAX_FRAME: usize = 24 << 20;
/// The most bytes of the headers of one frame.
const MAX_HEADERS: usize = 128 << 10;
/// The type of a header that is text.
const TEXT: u8 = 7;

/// Splits a body into frames.
#[derive(Default)]
pub(super) struct FrameSplitter {
    /// The beginning of a frame that is not complete.
    rest: Vec<u8>,
}

/// The content of one frame.
#[derive(Debug, PartialEq)]
pub(super) struct Frame<'a> {
    /// The headers that are text, in their order.
    headers: Vec<(&'a str, &'a str)>,
    pub(super) payload: &'a [u8],
}

impl Frame<'_> {
    /// The text of a header; empty without one.
    pub(super) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }
}

impl FrameSplitter {
    /// Takes the next piece and passes each frame that it completes to `take`, until that fails.
    ///
    /// # Errors
    /// Those of `take`, and [`Protocol`](crate::ErrorClass::Protocol) if a frame is too long, a checksum is
    /// wrong or a header cannot be read.
    pub(super) fn push(
        &mut self,
        piece: &[u8],
        take: &mut dyn FnMut(Frame<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.rest.extend_from_slice(piece);
        let mut start = 0;
        while let Some(length) = frame_length(&self.rest[start..])?
            && let Some(frame) = self.rest.get(start..start + length)
        {
            take(parse_frame(frame)?)?;
            start += length;
        }
        self.rest.drain(..start);
        Ok(())
    }

    /// Whether a frame has begun that is not complete.
    pub(super) fn is_inside(&self) -> bool {
        !self.rest.is_empty()
    }
}

/// The length of the frame that begins here, as soon as it is known.
fn frame_length(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let Some(prelude) = bytes.get(..PRELUDE) else {
        return Ok(None);
    };
    check(&prelude[..8], &prelude[8..])?;
    let (length, headers) = (number(&prelude[..4]), number(&prelude[4..8]));
    if length > MAX_FRAME {
        return Err(nonsense(&format!(
            "a frame is longer than {} MiB",
            MAX_FRAME >> 20
        )));
    }
    if headers > MAX_HEADERS || length < PRELUDE + headers + CHECKSUM {
        return Err(nonsense("the lengths of a frame do not fit"));
    }
    Ok(Some(length))
}

/// Reads a complete frame whose lengths fit.
fn parse_frame(frame: &[u8]) -> Result<Frame<'_>, Error> {
    let (content, checksum) = frame.split_at(frame.len() - CHECKSUM);
    check(content, checksum)?;
    let headers = number(&content[4..8]);
    let (headers, payload) = content[PRELUDE..].split_at(headers);
    let headers = parse_headers(headers).ok_or_else(|| nonsense("a header cannot be read"))?;
    Ok(Frame { headers, payload })
}

fn parse_headers(mut bytes: &[u8]) -> Option<Vec<(&str, &str)>> {
    let mut headers = Vec::new();
    while let Some((length, rest)) = bytes.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        let (length, rest) = match kind {
            0 | 1 => (0, rest),
            2 => (1, rest),
            3 => (2, rest),
            4 => (4, rest),
            5 | 8 => (8, rest),
            6 | 7 => {
                let (length, rest) = rest.split_at_checked(2)?;
                (number(length), rest)
            }
            9 => (16, rest),
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        if *kind == TEXT {
            let text = |bytes| std::str::from_utf8(bytes).ok();
            headers.push((text(name)?, text(value)?));
        }
        bytes = rest;
    }
    Some(headers)
}

/// A number of at most four bytes, the highest first.
fn number(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | usize::from(*byte))
}

fn check(bytes: &[u8], checksum: &[u8]) -> Result<(), Error> {
    if crc32(bytes).to_be_bytes() == checksum {
        Ok(())
    } else {
        Err(nonsense("the checksum of a frame is wrong"))
    }
}

/// The checksum of IEEE 802.3, as gzip has it.
fn crc32(bytes: &[u8]) -> u32 {
    let rest = bytes.iter().fold(u32::MAX, |rest, byte| {
        let index = (rest ^ u32::from(*byte)) & 0xff;
        rest >> 8 ^ CRC_TABLE[index as usize]
    });
    !rest
}

const CRC_TABLE: [u32; 256] = crc_table();

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut rest = index as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = rest >> 1 ^ if rest & 1 == 1 { 0xedb8_8320 } else { 0 };
            bit += 1;
        }
        table[index] = rest;
        index += 1;
    }
    table
}

fn nonsense(what: &str) -> Error {
    Error::protocol(format!("no stream of events: {what}"))
}

/// A frame with headers that are text.
#[cfg(any(test, fuzzing))]
pub(super) fn write_frame(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(name.len() as u8);
        head.extend_from_slice(name.as_bytes());
        head.push(TEXT);
        head.extend_from_slice(&(value.len() as u16).to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let length = PRELUDE + head.len() + payload.len() + CHECKSUM;
    let mut frame = (length as u32).to_be_bytes().to_vec();
    frame.extend_from_slice(&(head.len() as u32).to_be_bytes());
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame.extend_from_slice(&head);
    frame.extend_from_slice(payload);
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame
}

#[cfg(test)]
mod tests;
