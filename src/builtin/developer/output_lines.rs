//! Turns the output of a command into readable lines: complete, in order of arrival, without terminal control
//! sequences. Pure: bytes in, text out.

use std::iter::Peekable;
use std::str::Chars;

/// A longer line is delivered in pieces, in bytes.
const MAX_LINE: usize = 64 << 10;

/// Splits one stream into lines.
#[derive(Default)]
pub(super) struct LineSplitter {
    partial: Vec<u8>,
}

impl LineSplitter {
    /// Takes bytes of the stream and calls `line` for each line that is complete, and whether a line break
    /// ended it.
    pub(super) fn push(&mut self, mut bytes: &[u8], line: &mut dyn FnMut(&str, bool)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(&bytes[..end]);
            line(&legible(&self.partial), true);
            self.partial.clear();
            bytes = &bytes[end + 1..];
        }
        self.partial.extend_from_slice(bytes);
        if self.partial.len() > MAX_LINE {
            self.partial.drain(..overwritten(&self.partial));
        }
        if self.partial.len() > MAX_LINE {
            let whole = char_boundary(&self.partial);
            line(&legible(&self.partial[..whole]), false);
            self.partial.drain(..whole);
        }
        self.partial.shrink_to(MAX_LINE);
    }

    /// Delivers the unterminated last line at the end of the stream.
    pub(super) fn finish(&mut self, line: &mut dyn FnMut(&str, bool)) {
        if !self.partial.is_empty() {
            line(&legible(&self.partial), false);
            self.partial = Vec::new();
        }
    }
}

/// How many bytes at the beginning of an unfinished line are overwritten after a carriage return. Progress bars
/// never end their line.
fn overwritten(bytes: &[u8]) -> usize {
    let end = bytes.iter().rposition(|byte| *byte != b'\r');
    let written = &bytes[..end.map_or(0, |end| end + 1)];
    let last = written.iter().rposition(|byte| *byte == b'\r');
    last.unwrap_or(0)
}

/// The length of the longest prefix that does not cut a character in two.
fn char_boundary(bytes: &[u8]) -> usize {
    let begins = |byte: &u8| byte & 0xc0 != 0x80;
    let last = bytes.iter().rev().take(4).position(begins);
    match last {
        Some(back) if bytes.len() > back + 1 => bytes.len() - back - 1,
        _ => bytes.len(),
    }
}

/// The final state of a line on a terminal: without overwritten text, colours and other control sequences. Bytes
/// that are not UTF-8 become U+FFFD.
fn legible(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.contains(|c: char| c.is_control()) {
        return text.into_owned();
    }
    let mut line = String::with_capacity(text.len());
    // A carriage return takes effect only if something follows it.
    let mut returned = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => returned = true,
            '\u{8}' => drop(line.pop()),
            '\u{1b}' => skip_sequence(&mut chars),
            // The one-character form of the same sequences.
            '\u{9b}' => skip_control(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            '\t' => line.push(c),
            c if c.is_control() => {}
            c => {
                if std::mem::take(&mut returned) {
                    line.clear();
                }
                line.push(c);
            }
        }
    }
    line
}

/// Skips the rest of an escape sequence (ECMA-48): CSI up to its final byte, OSC and similar ones up to their
/// terminator, otherwise one character.
fn skip_sequence(chars: &mut Peekable<Chars<'_>>) {
    match chars.next() {
        Some('[') => skip_control(chars),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(chars),
        Some('(' | ')' | '#' | '%') => drop(chars.next()),
        _ => {}
    }
}

fn skip_control(chars: &mut Peekable<Chars<'_>>) {
    let is_final = |c: char| ('\u{40}'..='\u{7e}').contains(&c);
    while chars.next().is_some_and(|c| !is_final(c)) {}
}

fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next() {
        let ended = c == '\u{1b}' && chars.next_if_eq(&'\\').is_some();
        if ended || matches!(c, '\u{7}' | '\u{9c}') {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<(String, bool)> {
        let mut all = Vec::new();
        let mut lines = LineSplitter::default();
        let mut keep = |line: &str, ended| all.push((line.to_owned(), ended));
        for chunk in chunks {
            lines.push(chunk, &mut keep);
        }
        lines.finish(&mut keep);
        all
    }

    fn one(bytes: &[u8]) -> String {
        legible(bytes)
    }

    #[test]
    fn lines_are_whole_however_they_arrive() {
        let text = "eins\nzw\u{f6}lf\n\nrest".as_bytes();
        let expected = lines(&[text]);
        let all: Vec<_> = expected.iter().map(|(line, _)| line.as_str()).collect();
        assert_eq!(all, ["eins", "zw\u{f6}lf", "", "rest"]);
        assert_eq!(expected[3], ("rest".to_owned(), false));
        for at in 0..text.len() {
            let (head, tail) = text.split_at(at);
            assert_eq!(lines(&[head, tail]), expected, "split at {at}");
        }
    }

    #[test]
    fn an_endless_line_comes_in_pieces_that_are_text() {
        let text = "\u{e9}".repeat(MAX_LINE);
        let pieces: Vec<_> = lines(&text.as_bytes().chunks(1001).collect::<Vec<_>>());
        assert!(pieces.len() >= 2 && pieces.iter().all(|(_, ended)| !ended));
        let joined: String = pieces.iter().map(|(piece, _)| piece.as_str()).collect();
        assert_eq!(joined, text);
    }

    #[test]
    fn a_progress_bar_without_end_is_its_last_state() {
        let bar: String = (0..50_000).map(|n| format!("\r{n:05} of 50000")).collect();
        for end in ["", "\r", "\n"] {
            let text = format!("{bar}{end}");
            let all = lines(&text.as_bytes().chunks(997).collect::<Vec<_>>());
            assert_eq!(all, [("49999 of 50000".to_owned(), end == "\n")]);
        }
        // Text that nothing overwrites is kept.
        let text = format!("{}\r", "x".repeat(MAX_LINE));
        assert_eq!(lines(&[text.as_bytes(), b"\n"]).len(), 2);
        assert_eq!(
            [b"a\rb\r\r".as_slice(), b"\r\r", b"a", b""].map(overwritten),
            [1, 0, 0, 0]
        );
    }

    #[test]
    fn a_line_is_what_a_terminal_would_show_in_the_end() {
        assert_eq!(one(b"10%\r55%\r100%"), "100%");
        assert_eq!(one(b"dos\r"), "dos");
        assert_eq!(
            one(b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07plain\x1b(B"),
            "red plain"
        );
        assert_eq!(one(b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "link");
        assert_eq!(one(b"b\x08bo\x08old\ttab\0"), "bold\ttab");
        assert_eq!(one(b"caf\xe9"), "caf\u{fffd}");
        assert_eq!(one(b"\x1b[31"), "");
        assert_eq!(one(b"\x1b"), "");
        assert_eq!(
            one("\u{9b}31mred\u{9b}m \u{9d}0;title\u{9c}plain".as_bytes()),
            "red plain"
        );
    }
}
