//! The fuzz target of the line splitter.

use super::line_splitter::LineSplitter;
use std::collections::VecDeque;
use std::io::{self, Read};

struct Pieces<'a>(VecDeque<&'a [u8]>);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.0.pop_front().unwrap_or_default();
        let (now, later) = piece.split_at(piece.len().min(buffer.len()));
        buffer[..now.len()].copy_from_slice(now);
        if !later.is_empty() {
            self.0.push_front(later);
        }
        Ok(now.len())
    }
}

/// The complete lines of these pieces that are not longer than `limit`, and whether one was longer.
pub fn lines(pieces: &[&[u8]], limit: usize) -> (Vec<Vec<u8>>, bool) {
    let pieces = pieces.iter().copied().filter(|piece| !piece.is_empty());
    let mut from = Pieces(pieces.collect());
    let mut lines = Vec::new();
    let mut reader = LineSplitter::new(limit);
    loop {
        // How much of a too long line is buffered depends on the pieces.
        let taken = reader.read(&mut from, |line| {
            if line.len() <= limit {
                lines.push(line.to_vec());
            }
        });
        match taken {
            Ok(true) => {}
            Ok(false) => return (lines, false),
            Err(_) => return (lines, true),
        }
    }
}
