//! Finds the source files of a directory. It leaves out what git ignores, hidden entries, what `.gooseignore`
//! excludes, and symbolic links.
//!
//! The `.gitignore` files of a repository may be hostile: they are read within limits, and a `.git` file that
//! names another folder is not followed.

use super::super::gitignore::{self, Gitignore};
use super::super::gooseignore::IgnoreRules;
use super::super::text_files;
use super::language::Language;
use crate::sys::cancel::Cancel;
use crate::sys::fs::read_start;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most source files.
const MAX_FILES: usize = 50_000;
/// The most directory entries.
const MAX_NAMES: usize = 1_000_000;
/// The largest ignore file in bytes, its most lines, and its longest line in bytes.
const MAX_RULES: u64 = 64 << 10;
const MAX_PATTERNS: usize = 2_000;
const MAX_LINE: usize = 1_000;

/// The time limit and the cancellation of an analysis.
pub(super) struct TimeLimit<'a> {
    pub(super) cancel: &'a Cancel,
    pub(super) deadline: Instant,
}

impl<'a> TimeLimit<'a> {
    pub(super) fn after(time: Duration, cancel: &'a Cancel) -> Self {
        TimeLimit {
            cancel,
            deadline: Instant::now() + time,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.deadline
    }
}

/// The result of a walk: the files of each folder, sorted by name, before those of its subfolders.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The source files.
    pub(super) files: Vec<PathBuf>,
    /// The folders below the maximal depth.
    pub(super) too_deep: Vec<PathBuf>,
    /// Whether the walk ended early.
    pub(super) cut: bool,
}

/// The patterns of a folder, and of those above it.
struct Rules {
    matcher: Gitignore,
    above: Option<Arc<Rules>>,
}

type Above = Option<Arc<Rules>>;

/// Walks `root`, which is absolute. With `max_depth` 1, only the entries of `root` itself are looked at.
pub(super) fn walk(
    root: &Path,
    ignore_rules: &IgnoreRules,
    max_depth: usize,
    limit: &TimeLimit<'_>,
) -> Walk {
    let mut walk = Walk::default();
    let real = text_files::real_path(root).unwrap_or_else(|_| root.to_owned());
    let mut names = 0;
    let mut coming = vec![(root.to_owned(), 1, above(&real))];
    while let Some((folder, depth, above)) = coming.pop() {
        // Patterns refer to real paths. Below `root`, no symbolic links are followed.
        let place = match folder.strip_prefix(root) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            _ => real.clone(),
        };
        let rules = rules(&place, &place.join(".gitignore"), above);
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        let mut files = Vec::new();
        let mut folders = Vec::new();
        for entry in entries.flatten() {
            names += 1;
            if names > MAX_NAMES || limit.is_over() {
                walk.cut = true;
                break;
            }
            let path = folder.join(entry.file_name());
            let place = place.join(entry.file_name());
            match wanted(&entry, &path, &place, ignore_rules, rules.as_ref(), limit) {
                Some(Wanted::Folder) => folders.push(path),
                Some(Wanted::Source) => files.push(path),
                None => {}
            }
        }
        files.sort();
        folders.sort();
        let room = MAX_FILES - walk.files.len();
        walk.cut |= files.len() > room;
        walk.files.extend(files.into_iter().take(room));
        if depth >= max_depth {
            walk.too_deep.extend(folders);
        } else {
            let next = folders.into_iter().rev();
            coming.extend(next.map(|folder| (folder, depth + 1, rules.clone())));
        }
        walk.cut |= limit.is_over();
        if walk.cut {
            break;
        }
    }
    walk
}

/// What the walk does with a directory entry.
enum Wanted {
    Source,
    Folder,
}

/// Decides whether the walk uses an entry: folders and source files that are not hidden and not excluded. `path`
/// is the path below `root` as given, `place` the real path.
fn wanted(
    entry: &fs::DirEntry,
    path: &Path,
    place: &Path,
    ignore_rules: &IgnoreRules,
    rules: Option<&Arc<Rules>>,
    limit: &TimeLimit<'_>,
) -> Option<Wanted> {
    let kind = entry.file_type().ok()?;
    if entry.file_name().as_encoded_bytes().starts_with(b".") {
        return None;
    }
    let is_dir = kind.is_dir();
    let is_source = kind.is_file() && Language::by_name(path).is_some();
    if !is_dir && !is_source {
        return None;
    }
    let is_kept = ignore_rules.rule(path, is_dir).is_some()
        || place != path && ignore_rules.rule(place, is_dir).is_some();
    if is_kept || ignored(rules, place, is_dir, limit) {
        return None;
    }
    Some(if is_dir {
        Wanted::Folder
    } else {
        Wanted::Source
    })
}

/// The patterns of the repository around a folder, from its top down to the parent of the folder.
fn above(real: &Path) -> Above {
    let top = real.ancestors().find(|dir| dir.join(".git").exists())?;
    let mut rules = rules(top, &top.join(".git/info/exclude"), None);
    let folders = real.ancestors().skip(1);
    let folders: Vec<&Path> = folders.take_while(|dir| dir.starts_with(top)).collect();
    for folder in folders.into_iter().rev() {
        rules = self::rules(folder, &folder.join(".gitignore"), rules);
    }
    rules
}

/// Reads the patterns of `file` for the content of `folder`. An invalid line is ignored, as by git.
fn rules(folder: &Path, file: &Path, above: Above) -> Above {
    let Some(text) = content(file) else {
        return above;
    };
    let mut matcher = Gitignore::new(Some(folder));
    for line in gitignore::lines(&text).take(MAX_PATTERNS) {
        if line.len() <= MAX_LINE {
            let _ = matcher.add(line);
        }
    }
    Some(Arc::new(Rules { matcher, above }))
}

fn content(file: &Path) -> Option<Vec<u8>> {
    // A symbolic link could lead to any file.
    if !fs::symlink_metadata(file).ok()?.is_file() {
        return None;
    }
    read_start(file, MAX_RULES).ok()
}

/// Whether the innermost matching pattern excludes the path. True without an answer if the time is over, since
/// the patterns of all folders above may take long.
fn ignored(rules: Option<&Arc<Rules>>, path: &Path, is_dir: bool, limit: &TimeLimit<'_>) -> bool {
    let mut rules = rules;
    while let Some(here) = rules {
        if limit.is_over() {
            return true;
        }
        if let Some(relative) = here.matcher.relative(path)
            && let Some(rule) = here.matcher.matched(relative, is_dir)
        {
            return !rule.negated;
        }
        rules = here.above.as_ref();
    }
    false
}
