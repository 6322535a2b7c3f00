//! Parses unified diffs and applies them to texts. Pure: no I/O.

use super::line_endings::{self, Line};

/// The most line comparisons in the search for the place of a hunk. Without a limit, a file and a hunk of equal
/// lines would take quadratic time.
const MAX_COMPARED_LINES: usize = 20_000_000;

/// The largest diff, in bytes: several times the largest file that is edited. Its lines take more memory than its
/// text.
pub(super) const MAX_DIFF: usize = 2 << 20;

const NOT_A_FILE: &str = "it creates something else than a file; do that with the shell";

/// The part of a diff that changes one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FilePatch {
    /// The old name, as it is written; `None` for a new file, or if the diff has no names.
    pub(super) old: Option<String>,
    /// The new name; `None` for a deleted file, or if the diff has no names.
    pub(super) new: Option<String>,
    /// Whether the file is renamed from `old` to `new`.
    pub(super) is_renamed: bool,
    /// Whether a new file is executable.
    pub(super) is_executable: bool,
    hunks: Vec<Hunk>,
}

#[derive(Debug, PartialEq, Eq)]
struct Hunk {
    /// The first line of the hunk in the old text, from 1.
    start: usize,
    lines: Vec<(Kind, String)>,
    /// Whether the line ends of new lines are those of the diff.
    is_exact: bool,
    /// Whether the last old line, and the last new one, have no line end.
    open_old: bool,
    open_new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Kept,
    Gone,
    New,
}

/// Parses a diff.
///
/// # Errors
/// What is wrong with it, as a sentence.
pub(super) fn parse(diff: &str) -> Result<Vec<FilePatch>, String> {
    if diff.len() > MAX_DIFF {
        return Err(format!(
            "The diff has more than {MAX_DIFF} bytes: send it in parts, a file or a few at a time"
        ));
    }
    // If all lines end with CR LF, the diff was sent in that way; if only some do, these ends belong to the
    // file.
    let is_exact = diff.contains("\r\n")
        && line_endings::split(diff)
            .iter()
            .any(|line| line.end == "\n");
    let mut reader = Reader {
        lines: if is_exact {
            diff.split_terminator('\n').collect()
        } else {
            diff.lines().collect()
        },
        is_exact,
        at: 0,
    };
    let mut patches: Vec<FilePatch> = Vec::new();
    // The header lines of git for the next file.
    let mut git_header: Option<FilePatch> = None;
    while let Some(line) = reader.next() {
        if let Some(old) = line.strip_prefix("--- ") {
            let Some(new) = reader.peek(0).and_then(|next| next.strip_prefix("+++ ")) else {
                return Err(format!("line {}: `---` without `+++` behind it", reader.at));
            };
            reader.at += 1;
            let header = git_header.take().unwrap_or_default();
            patches.push(header.with_names(old, new));
        } else if line.starts_with("@@") {
            let hunk = reader.hunk(line)?;
            // Some diffs leave out `---` and `+++` after a git header.
            patches.extend(git_header.take());
            match patches.last_mut() {
                Some(patch) => patch.hunks.push(hunk),
                None => patches.push(FilePatch {
                    hunks: vec![hunk],
                    ..FilePatch::default()
                }),
            }
        } else if let Some(names) = line.strip_prefix("diff --git ") {
            patches.extend(git_header.take().filter(FilePatch::is_change));
            let name = same_name(names);
            git_header = Some(FilePatch {
                old: name.clone(),
                new: name,
                ..FilePatch::default()
            });
        } else if line.starts_with("Binary files") || line.starts_with("GIT binary patch") {
            return Err("it changes a binary file".to_owned());
        } else if let Some(git_header) = &mut git_header {
            git_header.read_git_header(line)?;
        }
        // Other lines are text around a diff.
    }
    patches.extend(git_header.filter(FilePatch::is_change));
    let is_empty = |patch: &FilePatch| patch.hunks.is_empty() && !patch.is_change();
    if patches.iter().any(is_empty) || patches.is_empty() {
        Err("it has no change (`@@ -1,2 +1,3 @@` and lines)".to_owned())
    } else {
        Ok(patches)
    }
}

/// The name after `---` or `+++`, without a time stamp.
fn name(text: &str) -> Option<String> {
    let name = text.split('\t').next().unwrap_or_default().trim();
    (name != "/dev/null").then(|| unquoted(name))
}

/// Decodes a name that git has quoted: `"a/\303\274.txt"`.
fn unquoted(name: &str) -> String {
    let inner = name.strip_prefix('"');
    let Some(inner) = inner.and_then(|name| name.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut out = Vec::new();
    let mut bytes = inner.bytes().peekable();
    while let Some(byte) = bytes.next() {
        let escaped = match byte {
            b'\\' => bytes.next(),
            _ => None,
        };
        out.push(match escaped {
            None => byte,
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(first @ b'0'..=b'3') => {
                let digit = |byte: &u8| matches!(byte, b'0'..=b'7');
                let mut value = first - b'0';
                for _ in 0..2 {
                    if let Some(next) = bytes.next_if(digit) {
                        value = value.wrapping_mul(8) | (next - b'0');
                    }
                }
                value
            }
            Some(other) => other,
        });
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The name in `a/NAME b/NAME` or `NAME NAME`, with the second prefix. For an empty file, git writes the name in
/// no other place.
fn same_name(names: &str) -> Option<String> {
    let middle = names.len() / 2;
    let (old, new) = names.split_at_checked(middle)?;
    let old = unquoted(old);
    let new = unquoted(new.strip_prefix(' ')?);
    let old_bare = without_prefix(&old).unwrap_or(&old);
    let new_bare = without_prefix(&new).unwrap_or(&new);
    (old_bare == new_bare).then(|| new.clone())
}

/// The name without git's prefix: `a/`, `b/`, or one of the letters of `diff.mnemonicPrefix`.
pub(super) fn without_prefix(name: &str) -> Option<&str> {
    let (prefix, rest) = name.split_once('/')?;
    ["a", "b", "c", "i", "o", "w"]
        .contains(&prefix)
        .then_some(rest)
}

/// Parses `@@ -START,COUNT +START,COUNT @@` to the old start and both counts. What a processor cannot count to is the
/// end.
fn header(line: &str) -> Option<(usize, usize, usize)> {
    let ranges = line.strip_prefix("@@ -")?.split(" @@").next()?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let number = |text: &str| {
            let number = text.parse::<u64>().ok()?;
            Some(usize::try_from(number).unwrap_or(usize::MAX))
        };
        Some((number(start)?, number(count.trim())?))
    };
    let (start, olds) = range(old)?;
    let (_, news) = range(new)?;
    Some((start, olds, news))
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    is_exact: bool,
    /// The index of the next line, which is also the number of the last one, from 1.
    at: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let line = self.peek(0)?;
        self.at += 1;
        Some(line)
    }

    fn peek(&self, behind: usize) -> Option<&'a str> {
        self.lines.get(self.at + behind).copied()
    }

    /// Reads the hunk after its header. Models miscount lines: if the counts do not fit, the hunk extends to
    /// the next header. Its old lines have to match the file in any case.
    fn hunk(&mut self, line: &str) -> Result<Hunk, String> {
        let (start, olds, news) = header(line)
            .ok_or_else(|| format!("line {}: {line:?} is not a hunk header", self.at))?;
        let begin = self.at;
        if let Some(hunk) = self.counted(start, olds, news)? {
            return Ok(hunk);
        }
        self.at = begin;
        let mut hunk = Hunk::new(start, self.is_exact);
        while let Some(line) = self.peek(0) {
            if self.is_next_header() {
                break;
            }
            self.at += 1;
            if !hunk.take(line, self.at)? {
                let why = "begins with neither a blank, `-` nor `+`";
                return Err(format!("line {}: {line:?} {why}", self.at));
            }
        }
        // Trailing empty lines separate the hunk from what follows.
        while matches!(hunk.lines.last(), Some((Kind::Kept, line)) if line.is_empty()) {
            hunk.lines.pop();
        }
        if hunk.lines.is_empty() {
            Err(format!("line {begin}: the hunk has no lines"))
        } else {
            Ok(hunk)
        }
    }

    /// Reads the hunk by its counts; `None` if they do not fit.
    fn counted(&mut self, start: usize, olds: usize, news: usize) -> Result<Option<Hunk>, String> {
        let mut hunk = Hunk::new(start, self.is_exact);
        let mut left = (olds, news);
        while left != (0, 0) {
            let Some(line) = self.next() else {
                return Ok(None);
            };
            let before = hunk.lines.len();
            if !hunk.take(line, self.at)? {
                return Ok(None);
            }
            let Some((kind, _)) = hunk.lines.get(before) else {
                continue;
            };
            let olds = left.0.checked_sub(usize::from(*kind != Kind::New));
            let news = left.1.checked_sub(usize::from(*kind != Kind::Gone));
            match olds.zip(news) {
                Some(counted) => left = counted,
                None => return Ok(None),
            }
        }
        while let Some(line) = self.peek(0).filter(|line| line.starts_with('\\')) {
            self.at += 1;
            hunk.take(line, self.at)?;
        }
        let next = self.peek(0).filter(|_| !self.is_next_header());
        let goes_on = next.is_some_and(|line| line.starts_with([' ', '+', '-']));
        Ok((!goes_on).then_some(hunk))
    }

    /// Whether the next line begins another hunk or file, or a mail signature.
    fn is_next_header(&self) -> bool {
        let Some(line) = self.peek(0) else {
            return false;
        };
        let next_is = |start| self.peek(1).is_some_and(|next| next.starts_with(start));
        let starts = ["@@", "diff ", "Index: "];
        starts.iter().any(|start| line.starts_with(start))
            || (line.starts_with("--- ") && next_is("+++ "))
            || (line == "-- " && self.peek(2).is_none_or(|line| line.trim().is_empty()))
    }
}

impl Hunk {
    fn new(start: usize, is_exact: bool) -> Self {
        Hunk {
            start,
            lines: Vec::new(),
            is_exact,
            open_old: false,
            open_new: false,
        }
    }

    /// Adds line `n` of the diff; false if it cannot be part of a hunk.
    fn take(&mut self, line: &str, n: usize) -> Result<bool, String> {
        let kind = match line.bytes().next() {
            Some(b' ') => Kind::Kept,
            Some(b'-') => Kind::Gone,
            Some(b'+') => Kind::New,
            // Many tools strip the blank of an empty line.
            None | Some(b'\r') => Kind::Kept,
            Some(b'\\') => return self.close(n).map(|()| true),
            Some(_) => return Ok(false),
        };
        let text = line.get(1..).unwrap_or_default();
        self.lines.push((kind, text.to_owned()));
        Ok(true)
    }

    /// `\ No newline at end of file` describes the line before it.
    fn close(&mut self, n: usize) -> Result<(), String> {
        match self.lines.last() {
            Some((Kind::Kept, _)) => (self.open_old, self.open_new) = (true, true),
            Some((Kind::Gone, _)) => self.open_old = true,
            Some((Kind::New, _)) => self.open_new = true,
            None => return Err(format!("line {n}: there is no line before it")),
        }
        Ok(())
    }

    fn old(&self) -> impl Iterator<Item = &str> {
        let old = self.lines.iter().filter(|(kind, _)| *kind != Kind::New);
        old.map(|(_, line)| line.strip_suffix('\r').unwrap_or(line))
    }
}

impl FilePatch {
    /// The same with the names after `---` and `+++`. A header of git that creates or deletes the file counts, whatever
    /// names follow.
    fn with_names(self, old: &str, new: &str) -> Self {
        let is_created = self.old.is_none() && self.new.is_some();
        let is_deleted = self.new.is_none() && self.old.is_some();
        FilePatch {
            old: name(old).filter(|_| !is_created),
            new: name(new).filter(|_| !is_deleted),
            ..self
        }
    }

    /// Reads a header line of git.
    fn read_git_header(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with("copy from ") {
            return Err("it copies a file; do that with the shell".to_owned());
        }
        if line.starts_with("old mode ") {
            let why =
                "it changes the mode of a file; leave that out and do it with the shell (`chmod`)";
            return Err(why.to_owned());
        }
        if let Some(mode) = line.strip_prefix("new file mode ") {
            match mode.trim() {
                "100644" => {}
                "100755" => self.is_executable = true,
                _ => return Err(NOT_A_FILE.to_owned()),
            }
            self.old = None;
        } else if line.starts_with("deleted file mode ") {
            self.new = None;
        } else if let Some(name) = line.strip_prefix("rename from ") {
            (self.old, self.is_renamed) = (Some(unquoted(name)), true);
        } else if let Some(name) = line.strip_prefix("rename to ") {
            (self.new, self.is_renamed) = (Some(unquoted(name)), true);
        }
        Ok(())
    }

    /// Whether the patch changes something without any hunk.
    fn is_change(&self) -> bool {
        self.is_renamed || self.old.is_some() != self.new.is_some()
    }

    /// Applies all hunks to a text. Returns the new text, and the numbers of the first and last line that
    /// differ. A hunk is applied at the nearest place after the previous hunk where its old lines match.
    ///
    /// # Errors
    /// The hunk that does not match anywhere.
    pub(super) fn apply(&self, text: &str) -> Result<(String, usize, usize), String> {
        let was_open = line_endings::lacks_final_newline(text);
        let has_crlf = text.is_empty() || text.contains("\r\n");
        let lines = line_endings::split(text);
        let mut out: Vec<Line<'_>> = Vec::with_capacity(lines.len());
        let mut at = 0;
        let mut moved = 0_isize;
        let mut is_open = was_open;
        let mut first = usize::MAX;
        let mut last = 0;
        for (n, hunk) in self.hunks.iter().enumerate() {
            let old: Vec<&str> = hunk.old().collect();
            // A hunk without old lines is inserted after the line that it names.
            let start = hunk.start.saturating_sub(usize::from(!old.is_empty()));
            let wanted = start.saturating_add_signed(moved);
            let Some(place) = find(&lines, &old, at, wanted) else {
                let expected = old.iter().find(|line| !line.trim().is_empty());
                return Err(format!(
                    "hunk {} does not match: its lines, beginning with {:?}, are not in the file as they \
                     are written; view the file and write the diff again",
                    n + 1,
                    expected.unwrap_or(&"")
                ));
            };
            moved = place.wrapping_sub(start).cast_signed();
            out.extend(&lines[at..place]);
            first = first.min(out.len() + 1);
            at = place;
            for (kind, text) in &hunk.lines {
                match kind {
                    Kind::Kept => out.push(lines[at]),
                    Kind::Gone => {}
                    Kind::New => {
                        let (text, own_end) = match text.strip_suffix('\r') {
                            Some(text) => (text, "\r\n"),
                            None => (text.as_str(), "\n"),
                        };
                        let end = if hunk.is_exact && has_crlf {
                            own_end
                        } else {
                            line_endings::end_at(&lines, at)
                        };
                        out.push(Line { text, end });
                    }
                }
                at += usize::from(*kind != Kind::New);
            }
            last = out.len();
            if at == lines.len() {
                is_open = hunk.open_new || (was_open && !hunk.open_old);
            }
        }
        out.extend(&lines[at..]);
        let new = line_endings::join(&out, is_open);
        Ok((new, first.min(last.max(1)), last))
    }
}

/// The position of `old` in `lines`, at or after `from`, that is nearest to `wanted`, within
/// [`MAX_COMPARED_LINES`].
fn find(lines: &[Line<'_>], old: &[&str], from: usize, wanted: usize) -> Option<usize> {
    let end = lines
        .len()
        .checked_sub(old.len())
        .filter(|end| from <= *end)?;
    if old.is_empty() {
        return (from..=end).contains(&wanted).then_some(wanted);
    }
    let near = wanted.clamp(from, end);
    let mut compared = 0;
    for away in 0..=(near - from).max(end - near) {
        let before = near.checked_sub(away).filter(|at| from <= *at);
        let behind = Some(near + away).filter(|at| away > 0 && *at <= end);
        for at in [before, behind].into_iter().flatten() {
            let pairs = lines[at..].iter().zip(old);
            let same = pairs.take_while(|(line, old)| line.text == **old).count();
            compared += same + 1;
            if same == old.len() {
                return Some(at);
            }
        }
        if compared > MAX_COMPARED_LINES {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests;
