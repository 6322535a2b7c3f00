//! Edits by a unified diff, which may change several files: all of them or none.

use super::{CHANGED, Target, around, result};
use crate::developer::client_files::Files;
use crate::developer::undo_history::History;
use crate::developer::unified_diff::{self, FilePatch};
use crate::developer::{atomic_write, line_endings, text_files};
use crate::mcp::types::CallToolResult;
use crate::sys::{self, lock};
use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::path::{Path, PathBuf};

impl Target<'_> {
    pub(super) fn apply(&self, diff: &str) -> Result<CallToolResult, String> {
        let patches = unified_diff::parse(diff).map_err(diff_error)?;
        check_names(&patches, self.path, self.dir).map_err(diff_error)?;
        let files = &self.files;
        let mut history = lock(&self.developer.edits);
        let mut changes = Vec::new();
        let mut seen = HashSet::new();
        for patch in &patches {
            for change in self.changes(patch, patches.len())? {
                if !seen.insert(change.real.clone()) {
                    let why = format!("{} is changed twice", change.path.display());
                    return Err(diff_error(why));
                }
                changes.push(change);
            }
        }
        for (n, change) in changes.iter().enumerate() {
            if let Err(error) = change.make(files, &mut history) {
                let done = changes[..n].iter().rev();
                return Err(done.fold(error, |error, done| {
                    done.take_back(files, &mut history, error)
                }));
            }
        }
        for change in &changes {
            history.commit(&change.real);
        }
        let mut result_text = String::new();
        let mut shown = String::new();
        for change in &changes {
            let (one, block) = match &change.after {
                Some(text) => {
                    let text = line_endings::split_bom(text).1;
                    around(&change.path, text, change.lines.0, change.lines.1)
                }
                None => {
                    let gone = format!("Removed {}\n", change.path.display());
                    (gone.clone(), gone)
                }
            };
            result_text.push_str(&one);
            shown.push_str(&block);
        }
        Ok(result(&result_text, &shown, CHANGED))
    }

    /// The changes that one file's part of a diff makes: one change, or for a renamed file a new file and a
    /// removal.
    fn changes(&self, patch: &FilePatch, count: usize) -> Result<Vec<Change>, String> {
        let (old, new) = patched_paths(patch, self.path, self.dir, count).map_err(diff_error)?;
        let real = |path: &Path| {
            self.developer.ignore_rules(self.dir)?.allows(path)?;
            text_files::write_target(path, self.dir)
        };
        let old_real = real(&old)?;
        let new_real = real(&new)?;
        let is_new = patch.old.is_none() && patch.new.is_some();
        let is_gone = patch.new.is_none() && patch.old.is_some();
        let is_moved = patch.is_renamed && old_real != new_real;
        if (is_new || is_moved) && new_real.exists() {
            return Err(diff_error(format!("{} exists already", new.display())));
        }
        let (before, mode) = if is_new {
            (None, None)
        } else {
            let metadata = fs::metadata(&old_real).ok();
            (
                Some(self.files.read(&old)?),
                metadata.map(|file| file.permissions()),
            )
        };
        if is_gone || is_moved {
            check_has_no_attributes(&old_real).map_err(diff_error)?;
        }
        let (bom, rest) = line_endings::split_bom(before.as_deref().unwrap_or_default());
        let fits = patch.apply(rest);
        let (text, first, last) =
            fits.map_err(|why| diff_error(format!("{}: {why}", old.display())))?;
        if is_gone && !text.is_empty() {
            let why = "would be removed, but has more lines than the diff removes";
            return Err(diff_error(format!("{} {why}", old.display())));
        }
        let after = (!is_gone).then(|| format!("{bom}{text}"));
        let change = Change {
            path: new,
            real: new_real,
            before: None,
            after,
            mode: mode.clone(),
            is_executable: patch.is_executable,
            lines: (first, last),
        };
        if !is_moved {
            return Ok(vec![Change { before, ..change }]);
        }
        let removal = Change {
            path: old,
            real: old_real,
            before,
            after: None,
            mode,
            is_executable: false,
            lines: (1, 1),
        };
        // The new file is written before the old one is removed, so that one of them exists at any time.
        Ok(vec![change, removal])
    }
}

/// The change of one file.
struct Change {
    path: PathBuf,
    real: PathBuf,
    before: Option<String>,
    /// The new content; `None` to remove the file.
    after: Option<String>,
    /// The mode of the old file, for the new one.
    mode: Option<Permissions>,
    is_executable: bool,
    lines: (usize, usize),
}

impl Change {
    /// Makes the change. The caller calls [`History::commit`] once all changes of the diff are made.
    fn make(&self, files: &Files<'_>, history: &mut History) -> Result<(), String> {
        let after = self.after.as_deref();
        let mode = self.mode.as_ref();
        atomic_write::apply_uncommitted(
            files,
            history,
            &self.real,
            self.before.clone(),
            after,
            mode,
        )?;
        if self.is_executable
            && let Err(error) = sys::file_owner::make_executable(&self.real)
        {
            let error = format!("{} cannot be made executable: {error}", self.path.display());
            return Err(self.take_back(files, history, error));
        }
        Ok(())
    }

    /// Undoes the change because of `error`, and adds to the error if that fails.
    fn take_back(&self, files: &Files<'_>, history: &mut History, mut error: String) -> String {
        if let Err(why) = atomic_write::undo(&files.for_restoring(), history, &self.real) {
            let path = self.path.display();
            error.push_str(&format!("; {path} could not be restored: {why}"));
        }
        error
    }
}

fn diff_error(why: String) -> String {
    format!("the diff cannot be applied: {why}")
}

/// Checks that a diff changes the file `path`, if that is not a folder: a part of it has no name, or a name of that
/// file. Two different names of which none is a file are labels, such as `before` and `after`.
fn check_names(patches: &[FilePatch], path: &Path, dir: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Ok(());
    }
    let bare = |name: &str| {
        unified_diff::without_prefix(name)
            .unwrap_or(name)
            .to_owned()
    };
    let file = |name: &str| named_path(name, dir).ok().filter(|it| it.exists());
    let real = text_files::canonical(path).ok();
    let is_of_path = |name: &str| match file(name) {
        Some(named) => text_files::canonical(&named).ok() == real,
        None => path.ends_with(bare(name)) || path.ends_with(name),
    };
    let are_labels = |old: &str, new: &str| {
        patches.len() == 1 && bare(old) != bare(new) && file(old).is_none() && file(new).is_none()
    };
    let fits = |patch: &FilePatch| match (&patch.old, &patch.new) {
        (None, None) => true,
        (Some(old), Some(_)) if patch.is_renamed => is_of_path(old),
        (Some(old), Some(new)) => is_of_path(old) || is_of_path(new) || are_labels(old, new),
        (Some(name), None) | (None, Some(name)) => is_of_path(name),
    };
    if patches.iter().any(fits) {
        return Ok(());
    }
    let names = patches
        .iter()
        .find_map(|it| it.old.as_ref().or(it.new.as_ref()));
    Err(format!(
        "it names {:?}, which is another file than {}; name the file that it changes as `path`, or the directory \
         that its names are in",
        names.map_or("", String::as_str),
        path.display()
    ))
}

/// Checks that a file which a diff renames or removes has no extended attributes: the new file, or the one that
/// `undo_edit` restores, would not have them, and without its access control list others could write it.
fn check_has_no_attributes(real: &Path) -> Result<(), String> {
    let attributes =
        sys::fs::open_regular(real).and_then(|file| sys::file_owner::attributes(&file));
    let attributes = attributes.map_err(|error| {
        format!(
            "the attributes of {} cannot be read: {error}",
            real.display()
        )
    })?;
    // The system sets its own labels for each new file.
    let is_own = |name: &std::ffi::CString| !name.to_bytes().starts_with(b"security.");
    match attributes.keys().find(|name| is_own(name)) {
        Some(name) => Err(format!(
            "{} has the extended attribute {name:?}, which would be lost; move or remove it with the shell",
            real.display()
        )),
        None => Ok(()),
    }
}

/// The paths of a file before and after a part of a diff; they differ only if it renames the file.
fn patched_paths(
    patch: &FilePatch,
    path: &Path,
    dir: &Path,
    count: usize,
) -> Result<(PathBuf, PathBuf), String> {
    let is_one = count == 1 && !path.is_dir();
    let folder = if path.is_dir() { path } else { dir };
    let named = |name: &Option<String>| match name {
        Some(name) => named_path(name, folder).map(Some),
        None => Ok(None),
    };
    let old = named(&patch.old)?;
    let new = named(&patch.new)?;
    Ok(match (old, new) {
        (Some(_), Some(new)) if patch.is_renamed && is_one => (path.to_owned(), new),
        (Some(old), Some(new)) if patch.is_renamed => (old, new),
        _ if is_one => (path.to_owned(), path.to_owned()),
        // In the output of `diff -u OLD NEW`, only OLD may be the name of the real file.
        (Some(old), Some(new)) if old.exists() && !new.exists() => (old.clone(), old),
        (_, Some(new)) => (new.clone(), new),
        (Some(old), None) => (old.clone(), old),
        (None, None) => (path.to_owned(), path.to_owned()),
    })
}

/// The path that a diff means by `name`; the first folder of `name` may be a prefix of git.
fn named_path(name: &str, folder: &Path) -> Result<PathBuf, String> {
    let written = text_files::resolve(name, folder)?;
    let Some(bare) = unified_diff::without_prefix(name) else {
        return Ok(written);
    };
    let bare = text_files::resolve(bare, folder)?;
    if !bare.exists() && written.exists() {
        Ok(written)
    } else {
        Ok(bare)
    }
}

#[cfg(test)]
mod tests;
