use super::*;
use gosling_testing::property_testing::{check, one_of, split, vec_of};
use std::collections::VecDeque;

fn lines_of(chunks: &[&[u8]], limit: usize) -> (Vec<String>, Result<bool, TransportError>) {
    struct Chunks<'a>(VecDeque<&'a [u8]>);
    impl Read for Chunks<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let chunk = self.0.pop_front().unwrap_or_default();
            let n = chunk.len().min(buffer.len());
            buffer[..n].copy_from_slice(&chunk[..n]);
            if n < chunk.len() {
                self.0.push_front(&chunk[n..]);
            }
            Ok(n)
        }
    }
    let mut from = Chunks(chunks.iter().copied().collect());
    let mut lines = LineSplitter::new(limit);
    let mut out = Vec::new();
    loop {
        let line = |line: &[u8]| out.push(String::from_utf8_lossy(line).into_owned());
        match lines.read(&mut from, line) {
            Ok(true) => {}
            end => return (out, end),
        }
    }
}

#[test]
fn lines_are_the_same_however_they_are_cut() {
    let text = b"{\"a\":1}\r\n\n  \nsecond\nthird, without end";
    for cut in 0..text.len() {
        let (lines, end) = lines_of(&[&text[..cut], &text[cut..]], 1 << 20);
        let expected = ["{\"a\":1}", "second"];
        // An empty read would be the end.
        if cut > 0 {
            assert_eq!(lines, expected, "cut at {cut}");
        }
        assert!(matches!(end, Ok(false)));
    }
    let single: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(lines_of(&single, 1 << 20).0, ["{\"a\":1}", "second"]);
}

#[test]
fn a_line_without_end_is_refused_at_the_limit() {
    let chunk = [b'x'; 1000];
    let chunks: Vec<&[u8]> = std::iter::repeat_n(&chunk[..], 100).collect();
    let (lines, end) = lines_of(&chunks, 50_000);
    assert!(lines.is_empty());
    assert_eq!(end, Err(TransportError::TooLarge { limit: 50_000 }));
}

#[test]
fn any_bytes_are_the_same_lines_however_they_are_cut_and_never_held_beyond_the_limit() {
    struct Pieces<'a>(VecDeque<&'a [u8]>);
    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            // An empty read would be the end.
            while self.0.front().is_some_and(|piece| piece.is_empty()) {
                self.0.pop_front();
            }
            let piece = self.0.pop_front().unwrap_or_default();
            let n = piece.len().min(buffer.len());
            buffer[..n].copy_from_slice(&piece[..n]);
            self.0.push_front(&piece[n..]);
            Ok(n)
        }
    }
    let read = |pieces: Vec<&[u8]>, limit: usize| {
        let (mut from, mut lines, mut out) =
            (Pieces(pieces.into()), LineSplitter::new(limit), Vec::new());
        loop {
            let end = lines.read(&mut from, |line| out.push(line.to_vec()));
            assert!(
                lines.buffer.capacity()
                    <= limit
                        .saturating_add(2 * LARGE_READ)
                        .max(LARGE_BUFFER)
                        .saturating_mul(2)
            );
            match end {
                Ok(true) => assert!(lines.filled <= limit),
                end => return (out, end),
            }
        }
    };
    check(|u| {
        let parts = vec_of(u, 12, |u| {
            let part = one_of(u, &["{}", "\n", "\r\n", " ", "\0", "\u{85}", "\u{feff}"])?;
            Ok(part.repeat(*u.choose(&[1, 1, 1, 3, 5000, 70_000])?))
        })?;
        let bytes: Vec<u8> = [&parts.concat().into_bytes()[..], u.bytes(u.len() / 2)?].concat();
        let expected: Vec<Vec<u8>> = match bytes.iter().rposition(|b| *b == b'\n') {
            Some(last) => bytes[..last]
                .split(|b| *b == b'\n')
                .map(<[u8]>::trim_ascii)
                .filter(|line| !line.is_empty())
                .map(<[u8]>::to_vec)
                .collect(),
            None => Vec::new(),
        };
        assert_eq!(read(split(u, &bytes)?, usize::MAX / 2).0, expected);
        let (lines, end) = read(split(u, &bytes)?, 6000);
        assert!(expected.starts_with(&lines));
        match end {
            Ok(_) => assert_eq!(lines, expected),
            Err(error) => assert_eq!(error, TransportError::TooLarge { limit: 6000 }),
        }
        Ok(())
    });
}
