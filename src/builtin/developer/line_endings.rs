//! Edits texts without changing the line ends and the byte order mark of the parts that an edit does not touch.
//! Pure: no I/O.

use std::borrow::Cow;
use std::ops::Range;

const BOM: &str = "\u{feff}";
const LF: &str = "\n";
const CRLF: &str = "\r\n";

/// Splits off the byte order mark, if there is one.
pub(super) fn split_bom(text: &str) -> (&str, &str) {
    match text.strip_prefix(BOM) {
        Some(rest) => (BOM, rest),
        None => ("", text),
    }
}

/// The text as models see and write it: every line ends with `\n`.
pub(super) fn with_lf(text: &str) -> Cow<'_, str> {
    if text.contains(CRLF) {
        Cow::Owned(text.replace(CRLF, LF))
    } else {
        Cow::Borrowed(text)
    }
}

/// A line and its line end, which is empty for an unterminated last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    pub(super) end: &'static str,
}

/// The lines of a text.
pub(super) fn split(text: &str) -> Vec<Line<'_>> {
    let line = |line| {
        for end in [CRLF, LF] {
            if let Some(text) = str::strip_suffix(line, end) {
                return Line { text, end };
            }
        }
        Line {
            text: line,
            end: "",
        }
    };
    text.split_inclusive('\n').map(line).collect()
}

/// The line end for a line that is inserted before `lines[at]`: that of its neighbours.
pub(super) fn end_at(lines: &[Line<'_>], at: usize) -> &'static str {
    let before = lines[..at].iter().rev();
    let mut near = before.chain(&lines[at..]).map(|line| line.end);
    near.find(|end| !end.is_empty()).unwrap_or(LF)
}

/// Joins the lines to a text, whose last line has no line end if `lacks_final_newline`.
pub(super) fn join(lines: &[Line<'_>], lacks_final_newline: bool) -> String {
    let mut text = String::new();
    for (n, line) in lines.iter().enumerate() {
        text.push_str(line.text);
        text.push_str(match line.end {
            _ if n + 1 == lines.len() && lacks_final_newline => "",
            "" => end_at(lines, n),
            end => end,
        });
    }
    text
}

/// Whether the last line has no line end.
pub(super) fn lacks_final_newline(text: &str) -> bool {
    !text.is_empty() && !text.ends_with('\n')
}

/// Replaces a part of the text by `new`; `place` is a range of [`with_lf`]'s text.
pub(super) fn splice(text: &str, place: &Range<usize>, new: &str) -> String {
    let from = offset(text, place.start);
    let to = offset(text, place.end);
    let before = &text[..from];
    let old = &text[from..to];
    let behind = &text[to..];
    let ends = |text| split(text).into_iter().map(|line| line.end);
    let ends: Vec<_> = ends(old).filter(|end| !end.is_empty()).collect();
    // Additional lines end like the last replaced line, or like the line that they are in.
    let around = split(behind).first().map(|line| line.end);
    let around = around.filter(|end| !end.is_empty());
    let other = ends.last().copied().or(around).unwrap_or_else(|| {
        let before = split(before);
        end_at(&before, before.len())
    });
    let mut out = before.to_owned();
    for (n, line) in split(new).into_iter().enumerate() {
        out.push_str(line.text);
        if !line.end.is_empty() {
            out.push_str(ends.get(n).unwrap_or(&other));
        }
    }
    out + behind
}

/// The offset in `text` of an offset in [`with_lf`]'s text.
fn offset(text: &str, lf_offset: usize) -> usize {
    let breaks = text.match_indices(CRLF).map(|(at, _)| at).enumerate();
    let before = breaks.take_while(|(n, at)| at - n < lf_offset);
    lf_offset + before.count()
}

/// Inserts lines after the line of this number, counted from 1.
pub(super) fn insert(text: &str, behind: usize, new: &str) -> String {
    let mut lines = split(text);
    let end = end_at(&lines, behind);
    let new = new.split('\n').map(|text| Line { text, end });
    lines.splice(behind..behind, new);
    join(&lines, lacks_final_newline(text))
}

/// Replaces the whole text: keeps a byte order mark, and CR LF if every line ended with it.
pub(super) fn rewrite(before: &str, new: &str) -> String {
    let (bom, before) = split_bom(before);
    let (own, new) = split_bom(new);
    let is_crlf = before.contains(CRLF) && split(before).iter().all(|line| line.end != LF);
    let new = if is_crlf {
        Cow::Owned(with_lf(new).replace(LF, CRLF))
    } else {
        Cow::Borrowed(new)
    };
    format!("{}{new}", if bom.is_empty() { own } else { bom })
}

#[cfg(test)]
mod tests;
