//! Unified diffs: read, and applied to texts. Pure: no files.

/// What a diff does to one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FilePatch {
    /// Its name before; none if it is new, or the diff names no files.
    pub(super) old: Option<String>,
    /// Its name after; none if it is deleted, or the diff names no files.
    pub(super) new: Option<String>,
    hunks: Vec<Hunk>,
}

#[derive(Debug, PartialEq, Eq)]
struct Hunk {
    /// Where it begins in the old text, counted from 1.
    start: usize,
    lines: Vec<(Kind, String)>,
    /// The last old line, and the last new one, have no line break.
    open_old: bool,
    open_new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Kept,
    Gone,
    New,
}

/// Reads a diff.
///
/// # Errors
/// A sentence on what is wrong with it.
pub(super) fn parse(diff: &str) -> Result<Vec<FilePatch>, String> {
    let mut patches: Vec<FilePatch> = Vec::new();
    let mut lines = diff.lines().enumerate().peekable();
    while let Some((n, line)) = lines.next() {
        if let Some(old) = line.strip_prefix("--- ") {
            let Some(new) = lines.next_if(|(_, next)| next.starts_with("+++ ")) else {
                return Err(format!("line {}: `---` without `+++` behind it", n + 1));
            };
            patches.push(FilePatch {
                old: name(old),
                new: name(&new.1[4..]),
                hunks: Vec::new(),
            });
        } else if line.starts_with("@@") {
            let (start, mut olds, mut news) = header(line)
                .ok_or_else(|| format!("line {}: {line:?} is no hunk header", n + 1))?;
            if patches.is_empty() {
                patches.push(FilePatch {
                    old: None,
                    new: None,
                    hunks: Vec::new(),
                });
            }
            let mut hunk = Hunk {
                start,
                lines: Vec::new(),
                open_old: false,
                open_new: false,
            };
            while olds > 0 || news > 0 {
                let Some((n, line)) = lines.next() else {
                    let left = format!("{olds} old and {news} new");
                    return Err(format!("it ends inside a hunk: {left} lines are missing"));
                };
                let (kind, text) = match (line.chars().next(), line) {
                    (Some(' '), _) => (Kind::Kept, &line[1..]),
                    (Some('-'), _) => (Kind::Gone, &line[1..]),
                    (Some('+'), _) => (Kind::New, &line[1..]),
                    // Many lose the blank of an empty line.
                    (None, _) => (Kind::Kept, ""),
                    (Some('\\'), _) => {
                        hunk.close(n)?;
                        continue;
                    }
                    _ => {
                        let why = "begins with neither a blank, `-` nor `+`";
                        return Err(format!("line {}: {line:?} {why}", n + 1));
                    }
                };
                let counted = match kind {
                    Kind::Kept => olds.checked_sub(1).zip(news.checked_sub(1)),
                    Kind::Gone => olds.checked_sub(1).zip(Some(news)),
                    Kind::New => Some(olds).zip(news.checked_sub(1)),
                };
                let why = || format!("line {}: the hunk has more lines than it says", n + 1);
                (olds, news) = counted.ok_or_else(why)?;
                hunk.lines.push((kind, text.to_owned()));
            }
            while let Some((n, _)) = lines.next_if(|(_, next)| next.starts_with('\\')) {
                hunk.close(n)?;
            }
            if let Some(patch) = patches.last_mut() {
                patch.hunks.push(hunk);
            }
        } else if line.starts_with("Binary files") || line.starts_with("GIT binary patch") {
            return Err("it changes a binary file".to_owned());
        } else if line.starts_with("rename ") || line.starts_with("copy ") {
            return Err("it renames or copies a file; do that with the shell".to_owned());
        }
        // Anything else is what tools and people write around a diff.
    }
    match patches.iter().any(|patch| patch.hunks.is_empty()) || patches.is_empty() {
        true => Err("it holds no change (`@@ -1,2 +1,3 @@` and lines)".to_owned()),
        false => Ok(patches),
    }
}

/// A name behind `---` or `+++`, without a time stamp and the `a/` or `b/` of git.
fn name(text: &str) -> Option<String> {
    let name = text.split('\t').next().unwrap_or_default().trim();
    let name = name.trim_matches('"');
    let bare = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
    (name != "/dev/null").then(|| bare.unwrap_or(name).to_owned())
}

/// `@@ -START,COUNT +START,COUNT @@`: the old start and both counts.
fn header(line: &str) -> Option<(usize, usize, usize)> {
    let ranges = line.strip_prefix("@@ -")?.split(" @@").next()?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((
            start.parse::<usize>().ok()?,
            count.trim().parse::<usize>().ok()?,
        ))
    };
    let ((start, olds), (_, news)) = (range(old)?, range(new)?);
    Some((start, olds, news))
}

impl Hunk {
    /// `\ No newline at end of file`, which belongs to the line before.
    fn close(&mut self, n: usize) -> Result<(), String> {
        match self.lines.last() {
            Some((Kind::Kept, _)) => (self.open_old, self.open_new) = (true, true),
            Some((Kind::Gone, _)) => self.open_old = true,
            Some((Kind::New, _)) => self.open_new = true,
            None => return Err(format!("line {}: it belongs to no line", n + 1)),
        }
        Ok(())
    }

    fn old(&self) -> impl Iterator<Item = &str> {
        let old = self.lines.iter().filter(|(kind, _)| *kind != Kind::New);
        old.map(|(_, line)| line.as_str())
    }
}

impl FilePatch {
    /// The text with all hunks applied, and the numbers of the first and last line that differ. A hunk may
    /// have moved: the nearest place where its old lines stand, behind the hunk before, is taken.
    ///
    /// # Errors
    /// Which hunk fits nowhere.
    pub(super) fn apply(&self, text: &str) -> Result<(String, usize, usize), String> {
        let ended = text.is_empty() || text.ends_with('\n');
        let lines: Vec<&str> = text.lines().collect();
        let mut out: Vec<&str> = Vec::with_capacity(lines.len());
        let (mut at, mut moved, mut ends) = (0, 0_isize, ended);
        let (mut first, mut last) = (usize::MAX, 0);
        for (n, hunk) in self.hunks.iter().enumerate() {
            let old: Vec<&str> = hunk.old().collect();
            // A hunk without old lines stands behind the line that it names.
            let said = match old.is_empty() {
                true => hunk.start,
                false => hunk.start.saturating_sub(1),
            };
            let wanted = said.saturating_add_signed(moved);
            let Some(place) = find(&lines, &old, at, wanted) else {
                let expected = old.iter().find(|line| !line.trim().is_empty());
                return Err(format!(
                    "hunk {} fits nowhere: its lines, beginning with {:?}, are not in the file as they \
                     are written; view the file and make the diff anew",
                    n + 1,
                    expected.unwrap_or(&"")
                ));
            };
            moved = place.cast_signed() - said.cast_signed();
            out.extend(&lines[at..place]);
            first = first.min(out.len() + 1);
            for (kind, line) in &hunk.lines {
                if *kind != Kind::Gone {
                    out.push(line);
                }
            }
            last = out.len();
            at = place + old.len();
            if at == lines.len() {
                ends = match (hunk.open_new, hunk.open_old) {
                    (true, _) => false,
                    (false, true) => true,
                    (false, false) => ended,
                };
            }
        }
        out.extend(&lines[at..]);
        let mut new = out.join("\n");
        if ends && !new.is_empty() {
            new.push('\n');
        }
        Ok((new, first.min(last.max(1)), last))
    }
}

/// The place of `old` in `lines`, from `from` on, that is nearest to `wanted`.
fn find(lines: &[&str], old: &[&str], from: usize, wanted: usize) -> Option<usize> {
    let end = lines.len().checked_sub(old.len())?;
    let fits = |at: &usize| lines[*at..*at + old.len()] == *old;
    if old.is_empty() {
        return (from..=end).contains(&wanted).then_some(wanted);
    }
    (from..=end)
        .filter(fits)
        .min_by_key(|at| at.abs_diff(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str, diff: &str) -> Result<String, String> {
        let patches = parse(diff)?;
        patches[0].apply(text).map(|(text, ..)| text)
    }

    #[test]
    fn hunks_are_applied_where_they_say_or_near_it() {
        let diff = "--- a/x\n+++ b/x\n@@ -2,2 +2,3 @@ fn\n b\n-c\n+C\n+D\n@@ -6 +7 @@\n-f\n+F\n";
        assert_eq!(
            applied("a\nb\nc\nd\ne\nf\n", diff).unwrap(),
            "a\nb\nC\nD\nd\ne\nF\n"
        );
        let later = "x\ny\nz\na\nb\nc\nd\ne\nf\n";
        assert_eq!(
            applied(later, diff).unwrap(),
            "x\ny\nz\na\nb\nC\nD\nd\ne\nF\n"
        );
        let error = applied("a\nb\nd\n", diff).unwrap_err();
        assert!(
            error.contains("hunk 1") && error.contains("\"b\""),
            "{error}"
        );
        let patches = parse(diff).unwrap();
        assert_eq!(patches[0].apply("a\nb\nc\nd\ne\nf\n").unwrap().1, 2);
    }

    #[test]
    fn the_nearest_of_several_places_is_taken() {
        let diff = "@@ -5,1 +5,1 @@\n-x\n+y\n";
        assert_eq!(
            applied("x\nx\nx\nx\nx\nx\n", diff).unwrap(),
            "x\nx\nx\nx\ny\nx\n"
        );
    }

    #[test]
    fn files_are_made_and_removed() {
        let diff = "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+one\n+two\n\
                    --- a/o\t2024-01-01\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        let patches = parse(diff).unwrap();
        let names = |p: &FilePatch| (p.old.clone(), p.new.clone());
        assert_eq!(names(&patches[0]), (None, Some("n".to_owned())));
        assert_eq!(names(&patches[1]), (Some("o".to_owned()), None));
        assert_eq!(patches[0].apply("").unwrap().0, "one\ntwo\n");
        assert_eq!(patches[1].apply("gone\n").unwrap().0, "");
    }

    #[test]
    fn the_last_line_break_is_as_the_diff_says() {
        let adds = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n";
        assert_eq!(applied("a", adds).unwrap(), "a\n");
        let drops = "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n";
        assert_eq!(applied("a\n", drops).unwrap(), "b");
        let other = "@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(applied("a\nz", other).unwrap(), "b\nz");
    }

    #[test]
    fn what_is_no_diff_says_why() {
        for (bad, says) in [
            ("", "no change"),
            ("hello", "no change"),
            ("--- a\n+++ b\n", "no change"),
            ("--- a\nx", "without"),
            ("@@ nonsense @@\n", "hunk header"),
            ("@@ -1,3 +1,3 @@\n a\n", "missing"),
            ("@@ -1,1 +1,1 @@\n-a\n-b\n", "more lines"),
            ("@@ -1,2 +1,2 @@\n a\n*b\n", "neither"),
            ("@@ -1,1 +1,1 @@\n\\ No newline\n", "no line"),
            ("rename from a\nrename to b\n", "renames"),
        ] {
            let error = parse(bad).unwrap_err();
            assert!(error.contains(says), "{bad:?}: {error}");
        }
        let huge = format!("@@ -{0},1 +{0},1 @@\n-a\n+b\n", usize::MAX);
        assert_eq!(applied("a\n", &huge).unwrap(), "b\n");
        assert!(applied("", "@@ -18446744073709551615,0 +1,1 @@\n+b\n").is_err());
    }
}
