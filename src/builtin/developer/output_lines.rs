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
mod tests;
