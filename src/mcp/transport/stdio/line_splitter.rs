//! Splits bytes into lines.

use crate::transport::TransportError;
use std::io::{self, Read};

/// The size of an empty buffer, in bytes.
const SMALL_BUFFER: usize = 4 << 10;
/// The most that one read returns, in bytes: a full pipe.
const LARGE_READ: usize = 64 << 10;
/// A larger buffer is freed once it is empty.
const LARGE_BUFFER: usize = 256 << 10;

/// Splits input into lines, with one buffer that grows to the longest line.
pub(super) struct LineSplitter {
    /// Its length is what was ever read into: it is cleared once, when it grows.
    buffer: Vec<u8>,
    /// How much of the buffer is input.
    filled: usize,
    /// How much of the buffer is known to contain no line end.
    searched: usize,
    limit: usize,
}

impl LineSplitter {
    pub(super) fn new(limit: usize) -> Self {
        LineSplitter {
            buffer: Vec::new(),
            filled: 0,
            searched: 0,
            limit,
        }
    }

    /// Reads once and passes on the lines that are complete. False at the end of the input.
    pub(super) fn read(
        &mut self,
        from: &mut impl Read,
        mut line: impl FnMut(&[u8]),
    ) -> Result<bool, TransportError> {
        let end = self.filled + self.filled.clamp(SMALL_BUFFER, LARGE_READ);
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        let n = loop {
            match from.read(&mut self.buffer[self.filled..end]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    return Err(TransportError::Io(format!(
                        "reading the server's output failed: {e}"
                    )));
                }
                Ok(n) => break n,
            }
        };
        self.filled += n;
        let mut start = 0;
        while let Some(length) = self.buffer[self.searched..self.filled]
            .iter()
            .position(|b| *b == b'\n')
        {
            let end = self.searched + length;
            let text = self.buffer[start..end].trim_ascii();
            if !text.is_empty() {
                line(text);
            }
            start = end + 1;
            self.searched = start;
        }
        // Without the check, some C libraries copy a long unfinished line onto itself at each read.
        if start > 0 {
            self.buffer.copy_within(start..self.filled, 0);
        }
        self.filled -= start;
        self.searched = self.filled;
        if self.filled > self.limit {
            return Err(TransportError::TooLarge { limit: self.limit });
        }
        if self.buffer.capacity() > LARGE_BUFFER && self.filled < SMALL_BUFFER {
            self.buffer.truncate(SMALL_BUFFER);
            self.buffer.shrink_to_fit();
        }
        Ok(n > 0)
    }
}

#[cfg(test)]
mod tests;
