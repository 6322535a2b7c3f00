//! Splits a byte stream into JSON objects: lines of JSON, or one object in place of an event stream.

/// The bytes of the current object so far.
#[derive(Debug, Default)]
pub(super) struct JsonSplitter {
    bytes: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl JsonSplitter {
    /// Takes the next piece. When it completes the object, returns the object and the rest of the piece.
    pub(super) fn push<'a>(&mut self, piece: &'a [u8]) -> Option<(Vec<u8>, &'a [u8])> {
        for (at, &byte) in piece.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        let (last, rest) = piece.split_at(at + 1);
                        self.bytes.extend_from_slice(last);
                        return Some((std::mem::take(&mut self.bytes), rest));
                    }
                }
                _ => {}
            }
        }
        self.bytes.extend_from_slice(piece);
        None
    }
}

#[cfg(test)]
mod tests;
