//! Finds where one JSON object ends in bytes that come in pieces: an answer that was to be a stream
//! and is not.

/// The bytes of the object so far.
#[derive(Debug, Default)]
pub(super) struct Whole {
    bytes: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Whole {
    /// Takes the next piece; all of the object, once it is complete.
    pub(super) fn push(&mut self, piece: &[u8]) -> Option<&[u8]> {
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
                        self.bytes.extend_from_slice(&piece[..=at]);
                        return Some(&self.bytes);
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
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_wherever_the_pieces_are_cut() {
        let object = br#" {"a":"}\"]{","b":[{},{"c":"\\"}]}"#;
        let input = [&object[..], b"\n"].concat();
        for at in 0..input.len() {
            let mut whole = Whole::default();
            let first = whole.push(&input[..at]).map(<[u8]>::to_vec);
            let found = first.or_else(|| whole.push(&input[at..]).map(<[u8]>::to_vec));
            assert_eq!(found.as_deref(), Some(&object[..]), "cut at {at}");
        }
        assert_eq!(Whole::default().push(b"{\"a\":["), None);
    }
}
