//! Diffs of what `text_editor` is about to change and has changed.
//!
//! Before the call, a diff shows what the arguments ask for; it is made of the whole file if the change can be
//! computed, and of the arguments alone otherwise. After the call, the file is compared with what it was.

use super::tool_call_display::absolute;
use crate::mcp::jsonrpc::RawJson;
use crate::sys;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The largest file whose whole text is part of a diff, in bytes.
const MAX_FILE: u64 = 256 << 10;

/// The arguments of `text_editor`.
#[derive(Deserialize)]
struct Edit {
    command: String,
    path: String,
    file_text: Option<String>,
    insert_line: Option<i64>,
    new_str: Option<String>,
    old_str: Option<String>,
    diff: Option<String>,
}

/// A file before a call changes it.
pub(super) struct FileBefore {
    path: PathBuf,
    /// Its text; `None` if it does not exist.
    text: Option<String>,
}

/// What a call of `text_editor` is about to change: the diff to show, and the file's present text if that can be
/// compared later. `read` returns the text of a file.
pub(super) fn proposed(
    arguments: &RawJson,
    dir: &Path,
    read: &dyn Fn(&Path) -> FileText,
) -> (Option<Value>, Option<FileBefore>) {
    let Ok(edit) = crate::json::from_str::<Edit>(arguments.get()) else {
        return (None, None);
    };
    if edit.command == "view" {
        return (None, None);
    }
    let path = absolute(&edit.path, dir);
    let before = match read(&path) {
        FileText::Text(text) => Some(Some(text)),
        FileText::Missing => Some(None),
        FileText::Other => None,
    };
    let shown = match &before {
        Some(text) => whole(&edit, text.as_deref()),
        None => None,
    };
    let shown = shown.or_else(|| fragment(&edit));
    let diff = shown.map(|(old, new)| diff(&path, old.as_deref(), &new));
    let before = before.map(|text| FileBefore { path, text });
    (diff, before)
}

/// The diff to what the file is now; `None` if it is unchanged or cannot be shown.
pub(super) fn made(before: &FileBefore, read: &dyn Fn(&Path) -> FileText) -> Option<Value> {
    let after = match read(&before.path) {
        FileText::Text(text) => text,
        FileText::Missing => String::new(),
        FileText::Other => return None,
    };
    let is_unchanged = before.text.as_deref().unwrap_or_default() == after;
    (!is_unchanged).then(|| diff(&before.path, before.text.as_deref(), &after))
}

/// The diff that the arguments alone tell, for a call of an earlier time.
pub(super) fn recorded(arguments: &RawJson, dir: &Path) -> Option<Value> {
    let edit: Edit = crate::json::from_str(arguments.get()).ok()?;
    let (old, new) = fragment(&edit)?;
    Some(diff(&absolute(&edit.path, dir), old.as_deref(), &new))
}

fn diff(path: &Path, old: Option<&str>, new: &str) -> Value {
    json!({"type": "diff", "path": path, "oldText": old, "newText": new})
}

/// The whole text before and after the edit.
fn whole(edit: &Edit, before: Option<&str>) -> Option<(Option<String>, String)> {
    let after = match edit.command.as_str() {
        "write" => edit.file_text.clone()?,
        "str_replace" if edit.diff.is_none() => {
            let (old, new) = (edit.old_str.as_deref()?, edit.new_str.as_deref()?);
            let text = before?;
            if old.is_empty() || text.matches(old).count() != 1 {
                return None;
            }
            text.replacen(old, new, 1)
        }
        "insert" => {
            let text = before?;
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let count = i64::try_from(lines.len()).ok()?;
            let line = edit.insert_line?;
            let line = if line < 0 {
                count.checked_add(line)?.checked_add(1)?
            } else {
                line
            };
            let at = usize::try_from(line).ok().filter(|at| *at <= lines.len())?;
            let mut after = lines[..at].concat();
            if !after.is_empty() && !after.ends_with('\n') {
                after.push('\n');
            }
            after.push_str(edit.new_str.as_deref()?);
            if !after.ends_with('\n') {
                after.push('\n');
            }
            after.push_str(&lines[at..].concat());
            after
        }
        _ => return None,
    };
    Some((before.map(str::to_owned), after))
}

/// The parts of the text that the arguments name.
fn fragment(edit: &Edit) -> Option<(Option<String>, String)> {
    match edit.command.as_str() {
        "write" => Some((None, edit.file_text.clone()?)),
        "str_replace" if edit.diff.is_none() => Some((edit.old_str.clone(), edit.new_str.clone()?)),
        "insert" => Some((Some(String::new()), edit.new_str.clone()?)),
        _ => None,
    }
}

/// The content of a file.
pub(super) enum FileText {
    Text(String),
    Missing,
    /// It is too large, no text, or no regular file.
    Other,
}

impl FileText {
    /// A file with this text.
    pub(super) fn of(text: String) -> Self {
        if text.len() as u64 <= MAX_FILE && !text.contains('\0') {
            FileText::Text(text)
        } else {
            FileText::Other
        }
    }
}

/// Reads a file for a diff.
pub(super) fn read(path: &Path) -> FileText {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= MAX_FILE => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return FileText::Missing,
        _ => return FileText::Other,
    }
    match sys::fs::read_start(path, MAX_FILE + 1) {
        Ok(bytes) if bytes.len() as u64 <= MAX_FILE && !bytes.contains(&0) => {
            String::from_utf8(bytes).map_or(FileText::Other, FileText::Text)
        }
        _ => FileText::Other,
    }
}

#[cfg(test)]
mod tests;
