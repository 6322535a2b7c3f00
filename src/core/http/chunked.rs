//! A decoder of the chunked transfer coding, without I/O (RFC 9112 §7.1).

use super::Error;

/// Maximum number of bytes of one chunk's extensions.
const EXTENSION_BYTES: usize = 1024;
/// Maximum number of bytes of all trailer fields. The decoder discards them.
const TRAILER_BYTES: usize = 8 << 10;
/// Maximum number of hexadecimal digits of a chunk size, leading zeros included.
const SIZE_DIGITS: usize = 16;

/// Decodes a chunked body that arrives in pieces of any size.
///
/// Lines must end with CRLF: if one party accepts a lone LF as a line end and the next does not, requests can
/// be smuggled.
#[derive(Debug)]
pub(super) struct ChunkedDecoder {
    state: State,
    /// Number of bytes by which the decoded body may still grow.
    room: u64,
    /// Number of bytes of the current extension, or of all trailers.
    overhead: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Size { digits: usize, size: u64 },
    SizeSpace(u64),
    Extension(u64),
    SizeEnd(u64),
    Data(u64),
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerEnd,
    BodyEnd,
    Done,
}

const FIRST: State = State::Size { digits: 0, size: 0 };

impl ChunkedDecoder {
    /// A decoder for a body of at most `limit` bytes, without the chunk framing.
    pub(super) fn new(limit: usize) -> ChunkedDecoder {
        ChunkedDecoder {
            state: FIRST,
            room: limit as u64,
            overhead: 0,
        }
    }

    /// Whether the body and its trailers are complete.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Decodes `input`, appends to `body` and returns how many bytes of `input` belong to the body: all of
    /// them, unless the body ends within `input`.
    ///
    /// Fails with 400 if the framing is invalid, 413 if the body exceeds its limit, 431 if the trailers do.
    pub(super) fn decode(&mut self, input: &[u8], body: &mut Vec<u8>) -> Result<usize, Error> {
        let mut at = 0;
        while at < input.len() && !self.is_done() {
            if let State::Data(left) = self.state {
                let rest = &input[at..];
                let take = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
                body.extend_from_slice(&rest[..take]);
                at += take;
                self.state = match left - take as u64 {
                    0 => State::DataCr,
                    left => State::Data(left),
                };
            } else {
                self.state = self.step(input[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    fn step(&mut self, byte: u8) -> Result<State, Error> {
        use State::*;
        Ok(match (self.state, byte) {
            (Size { digits, size }, _) if byte.is_ascii_hexdigit() && digits < SIZE_DIGITS => {
                let digit = (byte as char).to_digit(16).unwrap_or(0);
                Size {
                    digits: digits + 1,
                    size: size << 4 | u64::from(digit),
                }
            }
            (Size { digits: 1.., size } | SizeSpace(size), b';') => Extension(size),
            // White space before a semicolon is invalid, but recipients must accept it (RFC 9110 §5.6.3).
            (Size { digits: 1.., size } | SizeSpace(size), b' ' | b'\t') => {
                self.count_extension()?;
                SizeSpace(size)
            }
            (Size { digits: 1.., size } | Extension(size), b'\r') => self.begin_chunk(size)?,
            (Extension(size), _) if is_text(byte) => {
                self.count_extension()?;
                Extension(size)
            }
            (SizeEnd(0), b'\n') => TrailerStart,
            (SizeEnd(size), b'\n') => Data(size),
            (DataCr, b'\r') => DataLf,
            (DataLf, b'\n') => FIRST,
            (TrailerStart, b'\r') => BodyEnd,
            (TrailerStart | TrailerName, _) if is_token(byte) => {
                self.count_trailer()?;
                TrailerName
            }
            (TrailerName, b':') => TrailerValue,
            (TrailerValue, b'\r') => TrailerEnd,
            (TrailerValue, _) if is_text(byte) => {
                self.count_trailer()?;
                TrailerValue
            }
            (TrailerEnd, b'\n') => TrailerStart,
            (BodyEnd, b'\n') => Done,
            _ => {
                return Err(Error::bad_request(
                    "The chunked body is not framed as RFC 9112 §7.1 says: \
                     send each chunk as SIZE CRLF DATA CRLF",
                ));
            }
        })
    }

    /// Subtracts the size of a chunk from the limit before the chunk is read.
    fn begin_chunk(&mut self, size: u64) -> Result<State, Error> {
        self.overhead = 0;
        self.room = self.room.checked_sub(size).ok_or_else(too_large)?;
        Ok(State::SizeEnd(size))
    }

    fn count_extension(&mut self) -> Result<(), Error> {
        self.count(EXTENSION_BYTES, 400, "The extension of a chunk exceeds")
    }

    fn count_trailer(&mut self) -> Result<(), Error> {
        self.count(TRAILER_BYTES, 431, "The trailers of the request exceed")
    }

    fn count(&mut self, limit: usize, status: u16, what: &str) -> Result<(), Error> {
        self.overhead += 1;
        if self.overhead > limit {
            Err(Error::new(status, format!("{what} {limit} bytes")))
        } else {
            Ok(())
        }
    }
}

/// 413: the body exceeds the limit, or its declared length does.
pub(super) fn too_large() -> Error {
    Error::new(
        413,
        "The body of the request is larger than this server takes: send less at a time",
    )
}

/// Whether a byte is allowed in a field value or an extension: visible characters, white space, opaque bytes.
fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}

/// Whether a byte is allowed in a token, such as a field name (RFC 9110 §5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests;
