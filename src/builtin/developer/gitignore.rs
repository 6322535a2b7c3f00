//! Patterns of `.gitignore` and `.gooseignore` with git's meaning (gitignore(5), and `wildmatch.c` where that is
//! silent). Pure: no files.
//!
//! Patterns and names are bytes, and case counts. The time to match one is at most the product of its length
//! and the length of the path.

use std::path::{Path, PathBuf};

const OPEN: &str = "`[` has no `]`";
const UNKNOWN: &str = "a class like `[:alpha:]` has a name that does not exist";
const REVERSED: &str = "a range ends before it begins";
const BACKSLASH: &str = "a backslash has nothing behind it";

/// The patterns of one file, for the paths below one folder.
#[derive(Debug)]
pub(super) struct Gitignore {
    folder: PathBuf,
    rules: Vec<Rule>,
}

/// One line of such a file.
#[derive(Debug)]
pub(super) struct Rule {
    line: Box<[u8]>,
    /// The line begins with `!`: what it matches is not ignored.
    pub(super) negated: bool,
    only_folders: bool,
    pattern: Pattern,
}

#[derive(Debug)]
enum Pattern {
    /// Without a slash: the last name of a path, in any folder.
    Name(Box<[u8]>),
    /// The names of a path from the folder of the rules on.
    Path(Box<[Part]>),
    /// A mistake that matches nothing.
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
    /// No patterns yet, for what is in `folder`.
    pub(super) fn new(folder: &Path) -> Self {
        Gitignore {
            folder: folder.to_owned(),
            rules: Vec::new(),
        }
    }

    /// The folder that patterns and paths start from.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds the pattern of one of the [`lines`], unless it is empty or a comment.
    ///
    /// # Errors
    /// Why the line cannot mean what its author wanted. It counts as it does for git, mostly not at all.
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

    /// The last rule that matches `path`, which is relative to the folder. That a folder above it is ignored
    /// is for the caller to find out.
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
    /// The line of the file.
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

/// The parts of a pattern between its slashes.
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
                // Before a slash that is escaped, git has it stand for one name at least.
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

/// Whether the names fit the parts. After a mismatch only the last `**` takes one more: what was found before
/// it leaves the most names to what follows.
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

/// Whether a name fits a pattern without slashes, in the same way.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
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

/// The length of the class that `pattern` begins with, and whether `byte` is in it.
fn class(pattern: &[u8], byte: u8, reversed: &mut bool) -> Result<(usize, bool), &'static str> {
    let get = |at: usize| pattern.get(at).copied().ok_or(OPEN);
    let negated = matches!(get(1)?, b'!' | b'^');
    let start = if negated { 2 } else { 1 };
    let (mut at, mut within, mut before) = (start, false, None);
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
                let inner = &pattern[at + 2..];
                let close = inner.iter().position(|c| *c == b']').ok_or(OPEN)?;
                if let Some(name) = inner[..close].strip_suffix(b":") {
                    within |= is_in(name, byte)?;
                    before = None;
                    at += 2 + close;
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

/// Whether `byte` is in the class `name`, which knows ASCII only.
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
#[path = "gitignore_tests.rs"]
mod tests;
