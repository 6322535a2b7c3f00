//! Matches paths with the patterns of `.gitignore` and `.gooseignore`, as gitignore(5) defines them, and git's
//! `wildmatch.c` where the manual page is silent. Pure: no I/O.
//!
//! Patterns and names are bytes, and case-sensitive. Matching a pattern takes at most time proportional to its
//! length times the length of the path.

use super::text_files::split_root;
use std::path::{Path, PathBuf};

const OPEN: &str = "`[` has no `]`";
const UNKNOWN: &str = "a class like `[:alpha:]` has a name that does not exist";
const REVERSED: &str = "a range ends before it begins";
const BACKSLASH: &str = "there is nothing after a backslash";

/// The patterns of one file, for paths below one folder, or below each root folder.
#[derive(Debug)]
pub(super) struct Gitignore {
    folder: Option<PathBuf>,
    rules: Vec<Rule>,
}

/// The pattern of one line.
#[derive(Debug)]
pub(super) struct Rule {
    line: Box<[u8]>,
    /// Whether the line begins with `!`: a matching path is not ignored.
    pub(super) negated: bool,
    only_folders: bool,
    pattern: Pattern,
}

#[derive(Debug)]
enum Pattern {
    /// A pattern without a slash: it matches the last name of a path in any folder.
    Name(Box<[u8]>),
    /// A pattern for the names of a path, from the folder of the rules on.
    Path(Box<[Part]>),
    /// An invalid pattern, which matches nothing.
    Nothing,
}

#[derive(Debug, PartialEq)]
enum Part {
    /// `**`: any number of names, at least one at the end.
    Names,
    /// A pattern for one name.
    Name(Box<[u8]>),
}

/// The lines of an ignore file, without a byte order mark.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

impl Gitignore {
    /// Creates an empty set of rules for the content of `folder`, or of each root folder.
    pub(super) fn new(folder: Option<&Path>) -> Self {
        Gitignore {
            folder: folder.map(Path::to_owned),
            rules: Vec::new(),
        }
    }

    /// What the path is relative to the folder; `None` if it is not below that.
    pub(super) fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        match &self.folder {
            Some(folder) => path.strip_prefix(folder).ok(),
            None => Some(split_root(path).1),
        }
    }

    /// Adds the pattern of one of the [`lines`], unless the line is empty or a comment.
    ///
    /// # Errors
    /// Why the line is probably a mistake. As in git, most such lines match nothing.
    pub(super) fn add(&mut self, line: &[u8]) -> Result<(), &'static str> {
        if line.is_empty() || line[0] == b'#' {
            return Ok(());
        }
        let line = without_trailing_spaces(line);
        let (negated, pattern) = match line.strip_prefix(b"!") {
            Some(pattern) => (true, pattern),
            None => (false, line),
        };
        let (only_folders, pattern) = match pattern.strip_suffix(b"/") {
            Some(pattern) => (true, pattern),
            None => (false, pattern),
        };
        let mut reversed = false;
        let parts = parts(pattern.strip_prefix(b"/").unwrap_or(pattern), &mut reversed);
        let wrong = parts.as_ref().err().copied();
        let pattern = match parts {
            Err(_) => Pattern::Nothing,
            Ok(_) if !pattern.contains(&b'/') => Pattern::Name(pattern.into()),
            Ok(parts) => Pattern::Path(parts.into()),
        };
        self.rules.push(Rule {
            line: line.into(),
            negated,
            only_folders,
            pattern,
        });
        match wrong.or(reversed.then_some(REVERSED)) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// The last rule that matches `path`, which is relative to the folder. The caller has to check the
    /// folders above the path.
    pub(super) fn matched(&self, path: &Path, is_folder: bool) -> Option<&Rule> {
        let names: Vec<&[u8]> = path
            .components()
            .map(|part| part.as_os_str().as_encoded_bytes())
            .collect();
        let last = names.last()?;
        let matches = |rule: &&Rule| match &rule.pattern {
            _ if rule.only_folders && !is_folder => false,
            Pattern::Name(pattern) => fits(pattern, last),
            Pattern::Path(parts) => fits_path(parts, &names),
            Pattern::Nothing => false,
        };
        self.rules.iter().rev().find(matches)
    }
}

impl Rule {
    /// The text of the line.
    pub(super) fn line(&self) -> String {
        String::from_utf8_lossy(&self.line).into_owned()
    }
}

fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let (mut end, mut at) = (0, 0);
    while let Some(&byte) = line.get(at) {
        at += if byte == b'\\' { 2 } else { 1 };
        if byte != b' ' {
            end = at;
        }
    }
    &line[..end.min(line.len())]
}

/// Splits a pattern at its slashes.
fn parts(pattern: &[u8], reversed: &mut bool) -> Result<Vec<Part>, &'static str> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    loop {
        let slash = match pattern[at..] {
            [] | [b'/', ..] => 1,
            [b'\\', b'/', ..] => 2,
            [b'\\'] => return Err(BACKSLASH),
            [b'\\', ..] => {
                at += 2;
                continue;
            }
            [b'[', ..] => {
                at += class(&pattern[at..], 0, reversed)?.0;
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let part = &pattern[start..at];
        if part.len() < 2 || part.iter().any(|byte| *byte != b'*') {
            parts.push(Part::Name(part.into()));
        } else {
            if slash == 2 {
                // Before an escaped slash, `**` matches at least one name in git.
                parts.push(Part::Name(b"*".as_slice().into()));
            }
            parts.push(Part::Names);
        }
        if at == pattern.len() {
            return Ok(parts);
        }
        at += slash;
        start = at;
    }
}

/// Whether the names match the parts. After a mismatch, only the last `**` is extended by one name: extending an
/// earlier one cannot succeed if that does not.
fn fits_path(parts: &[Part], names: &[&[u8]]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut back = None;
    loop {
        match parts.get(p) {
            None if n == names.len() => return true,
            Some(Part::Names) if p + 1 == parts.len() => return n < names.len(),
            Some(Part::Names) => {
                p += 1;
                back = Some((p, n));
                continue;
            }
            Some(Part::Name(pattern)) if n < names.len() && fits(pattern, names[n]) => {
                (p, n) = (p + 1, n + 1);
                continue;
            }
            _ => {}
        }
        match back {
            Some((after, from)) if from < names.len() => {
                back = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
            _ => return false,
        }
    }
}

/// Whether a name matches a pattern without slashes; `*` is handled in the same way.
pub(super) fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut back = None;
    loop {
        let length = match (pattern[p..].first(), name.get(n)) {
            (Some(b'*'), _) => {
                p += 1;
                if p == pattern.len() {
                    return true;
                }
                back = Some((p, n));
                continue;
            }
            (None, None) => return true,
            (Some(_), None) => return false,
            (None, Some(_)) => None,
            (Some(b'?'), _) => Some(1),
            (Some(b'['), Some(byte)) => match class(&pattern[p..], *byte, &mut false) {
                Ok((length, true)) => Some(length),
                _ => None,
            },
            (Some(b'\\'), byte) => (pattern.get(p + 1) == byte).then_some(2),
            (literal, byte) => (literal == byte).then_some(1),
        };
        match (length, back) {
            (Some(length), _) => (p, n) = (p + length, n + 1),
            (None, Some((after, from))) => {
                back = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
            (None, None) => return false,
        }
    }
}

/// The length of the bracket expression at the beginning of `pattern`, and whether it contains `byte`.
fn class(pattern: &[u8], byte: u8, reversed: &mut bool) -> Result<(usize, bool), &'static str> {
    let get = |at: usize| pattern.get(at).copied().ok_or(OPEN);
    let negated = matches!(get(1)?, b'!' | b'^');
    let start = if negated { 2 } else { 1 };
    let (mut at, mut within, mut before) = (start, false, None);
    // The next closing bracket, found once: searching anew for each `[:` would take quadratic time.
    let mut close = 0;
    loop {
        let mut c = get(at)?;
        match (c, before) {
            (b']', _) if at > start => return Ok((at + 1, within != negated)),
            (b'-', Some(first)) if get(at + 1)? != b']' => {
                at += 1;
                c = get(at)?;
                if c == b'\\' {
                    at += 1;
                    c = get(at)?;
                }
                within |= (first..=c).contains(&byte);
                *reversed |= first > c;
                before = None;
            }
            (b'[', _) if pattern.get(at + 1) == Some(&b':') => {
                let inner = at + 2;
                if close < inner {
                    let mut rest = pattern[inner..].iter();
                    close = inner + rest.position(|c| *c == b']').ok_or(OPEN)?;
                }
                if let Some(name) = pattern[inner..close].strip_suffix(b":") {
                    within |= is_in(name, byte)?;
                    before = None;
                    at = close;
                } else {
                    within |= byte == b'[';
                    before = Some(b'[');
                }
            }
            _ => {
                if c == b'\\' {
                    at += 1;
                    c = get(at)?;
                }
                within |= byte == c;
                before = Some(c);
            }
        }
        at += 1;
    }
}

/// Whether the named character class contains `byte`; it has ASCII characters only.
fn is_in(name: &[u8], byte: u8) -> Result<bool, &'static str> {
    Ok(match name {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => byte.is_ascii_graphic() || byte == b' ',
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => return Err(UNKNOWN),
    })
}

#[cfg(test)]
mod tests;
