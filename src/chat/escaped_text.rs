//! Text and JSON for a person at a terminal, with the characters escaped that the person would not see.

use crate::text::is_invisible;

/// A line for a user who decides on it: complete, with invisible characters, and characters that look like a
/// blank, escaped. Tabs stay.
pub(crate) fn escape_invisible(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        if c != '\t' && (is_invisible(c) || is_filler(c)) {
            out.extend(c.escape_unicode())
        } else {
            out.push(c)
        }
    }
    out
}

/// Letters and marks without a glyph.
fn is_filler(c: char) -> bool {
    matches!(c, '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}')
}

/// JSON text for a terminal: the same value, with the characters that [`printable`](crate::text::printable) escapes as `\u…`.
pub(crate) fn escape_in_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_invisible(c) && c != '\n' {
            let units = c.encode_utf16(&mut [0; 2]).to_vec();
            out.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests;
