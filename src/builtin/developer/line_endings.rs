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
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_from_its_lines() {
        for text in [
            "a\r\nb\r\n",
            "a\nb\n",
            "a\r\nb\n\n",
            "a",
            "",
            "a\nb\rc",
            "\r\n",
            "a\n\r",
        ] {
            assert_eq!(
                join(&split(text), lacks_final_newline(text)),
                text,
                "{text:?}"
            );
        }
    }

    #[test]
    fn only_what_is_replaced_may_end_in_another_way() {
        let replaced = |text: &str, old: &str, new: &str| {
            let at = with_lf(text).find(old).unwrap();
            splice(text, &(at..at + old.len()), new)
        };
        let mixed = "a\r\nb\nc\r\nd\r\n";
        assert_eq!(replaced(mixed, "c\nd", "C\nD"), "a\r\nb\nC\r\nD\r\n");
        assert_eq!(replaced(mixed, "b\n", "B\nBB\n"), "a\r\nB\nBB\nc\r\nd\r\n");
        assert_eq!(replaced(mixed, "d", "D\ne"), "a\r\nb\nc\r\nD\r\ne\r\n");
        assert_eq!(replaced(mixed, "a\nb\nc\nd\n", ""), "");
        assert_eq!(replaced("a\r\nb", "b", "B\nC"), "a\r\nB\r\nC");
        assert_eq!(replaced("a\r\nb\r\n", "\nb", "\nB"), "a\r\nB\r\n");
        assert_eq!(replaced("a", "a", "x\ny"), "x\ny");
    }

    #[test]
    fn lines_that_are_put_in_end_like_their_neighbours() {
        let mixed = "a\r\nb\nc\r\n";
        assert_eq!(insert(mixed, 0, "x"), "x\r\na\r\nb\nc\r\n");
        assert_eq!(insert(mixed, 1, "x\ny"), "a\r\nx\r\ny\r\nb\nc\r\n");
        assert_eq!(insert(mixed, 2, "x"), "a\r\nb\nx\nc\r\n");
        assert_eq!(insert("a\r\nb", 2, "x"), "a\r\nb\r\nx");
        assert_eq!(insert("", 0, "x"), "x\n");
        assert_eq!(insert("a", 1, "x"), "a\nx");
    }

    #[test]
    fn a_file_written_anew_is_of_the_kind_that_it_was() {
        assert_eq!(rewrite("a\r\nb\r\n", "x\ny\r\n"), "x\r\ny\r\n");
        assert_eq!(rewrite("a\r\nb\n", "x\ny\r\n"), "x\ny\r\n");
        assert_eq!(rewrite("a\nb\n", "x\r\ny"), "x\r\ny");
        assert_eq!(rewrite("\u{feff}a\n", "x\n"), "\u{feff}x\n");
        assert_eq!(rewrite("\u{feff}a\r\n", "\u{feff}x\n"), "\u{feff}x\r\n");
        assert_eq!(rewrite("a", "\u{feff}x\n"), "\u{feff}x\n");
        assert_eq!(rewrite("", "x\n"), "x\n");
    }
}
