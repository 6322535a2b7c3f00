//! `text_editor`: shows and changes text files.

use super::Developer;
use super::atomic_write;
use super::client_files::Files;
use super::closest_match;
use super::line_endings;
use super::text_files;
use super::undo_history::{Edit, FileState, History};
use super::unified_diff::{self, FilePatch};
use crate::call_context::working_dir;
use crate::mcp::server::{Context, Tool, ToolError};
use crate::mcp::types::{CallToolResult, Content, ToolAnnotations};
use crate::sys::{self, lock};
use gosling_core::text::fenced_block;
use serde::Deserialize;
use serde_json::json;
use std::collections::HashSet;
use std::fmt::Write;
use std::fs::{self, Permissions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most lines that are shown without a range.
const MAX_LINES: usize = 2_000;
/// How many lines around a change are shown.
const CONTEXT_LINES: usize = 4;

#[derive(Deserialize)]
struct Editor {
    command: String,
    path: String,
    diff: Option<String>,
    file_text: Option<String>,
    insert_line: Option<i64>,
    new_str: Option<String>,
    old_str: Option<String>,
    view_range: Option<Vec<i64>>,
}

pub(super) fn tool(developer: &Arc<Developer>) -> Tool {
    let developer = developer.clone();
    Tool::new(
        "text_editor",
        "Shows and changes text files. Commands: `view` shows a file with line numbers, or lists a \
         directory; `write` makes a file or replaces all of it; `str_replace` replaces one place \
         that is written exactly as in the file, or applies a unified diff; `insert` adds text after a line; `undo_edit` undoes the last change of a file.",
        move |args: Editor, context: &Context| developer.edit(&args, context),
    )
    .title("Text editor")
    .input(json!({
        "type": "object",
        "properties": {
            "command": {
                "type": "string", "enum": ["view", "write", "str_replace", "insert", "undo_edit"],
                "description": "What to do"
            },
            "path": {
                "type": "string",
                "description": "The file, or for `view` a directory; absolute, or in the working directory"
            },
            "diff": {
                "type": "string",
                "description": "str_replace: a unified diff instead of `old_str` and `new_str`; one over several files is applied to all of them or to none, with `path` the directory that its names are in"
            },
            "file_text": {"type": "string", "description": "write: the whole new content of the file"},
            "insert_line": {
                "type": "integer",
                "description": "insert: after which line, 0 for the beginning; negative numbers count from \
                 the end, -1 is after the last line"
            },
            "new_str": {"type": "string", "description": "str_replace, insert: the new text"},
            "old_str": {
                "type": "string",
                "description": "str_replace: the text to replace, with enough context that it occurs once"
            },
            "view_range": {
                "type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2,
                "description": "view: the first and the last line to show, from 1; -1 is the end"
            }
        },
        "required": ["command", "path"]
    }))
    .annotations(ToolAnnotations {
        title: None,
        read_only_hint: Some(false),
        destructive_hint: Some(true),
        idempotent_hint: Some(false),
        open_world_hint: Some(false),
    })
}

impl Developer {
    fn edit(&self, args: &Editor, context: &Context) -> Result<CallToolResult, ToolError> {
        let dir = working_dir(context).map_err(ToolError::Refused)?;
        let files = &self.files(context.cancel());
        let needed = |value: &Option<String>, name: &str| {
            let why = || format!("`{}` needs `{name}`", args.command);
            value.clone().ok_or_else(why)
        };
        let path = text_files::resolve(&args.path, &dir).and_then(|path| {
            self.ignore_rules(&dir)?.allows(&path)?;
            Ok(path)
        });
        let done = path.and_then(|path| match args.command.as_str() {
            // Some clients send empty values for unused parameters.
            "view" => {
                let range = args.view_range.as_deref().filter(|range| !range.is_empty());
                self.view(files, &path, range)
            }
            "write" => self.write(files, &path, &dir, &needed(&args.file_text, "file_text")?),
            "str_replace" => match args
                .diff
                .as_ref()
                .filter(|diff| !diff.trim().is_empty() || args.old_str.is_none())
            {
                Some(diff) => self.apply(files, &path, &dir, diff),
                None => {
                    let old = needed(&args.old_str, "old_str` and `new_str`, or `diff")?;
                    let new = needed(&args.new_str, "new_str")?;
                    self.replace(files, &path, &dir, &old, &new)
                }
            },
            "insert" => {
                let line = args.insert_line.ok_or("`insert` needs `insert_line`")?;
                self.insert(files, &path, &dir, line, &needed(&args.new_str, "new_str")?)
            }
            "undo_edit" => self.undo(files, &path, &dir),
            other => Err(format!(
                "there is no command {other:?}, only view, write, str_replace, insert and undo_edit"
            )),
        });
        done.map_err(ToolError::Refused)
    }

    fn view(
        &self,
        files: &Files<'_>,
        path: &Path,
        range: Option<&[i64]>,
    ) -> Result<CallToolResult, String> {
        if path.is_dir() {
            return match range {
                None => Ok(for_model_and_user(&self.list(path)?, 0.0)),
                Some(_) => Err(format!("{} is a directory, without lines", path.display())),
            };
        }
        let text = files.read(path)?;
        let lines: Vec<&str> = line_endings::split_bom(&text).1.lines().collect();
        let (first, last) = match range {
            Some(range) => parse_range(range, lines.len())?,
            None if lines.len() > MAX_LINES => {
                return Err(format!(
                    "{} has {} lines, more than the {MAX_LINES} that are shown at once; say which with \
                     `view_range`, for example [1, {MAX_LINES}]",
                    path.display(),
                    lines.len()
                ));
            }
            None => (1, lines.len()),
        };
        let shown = lines.get(first - 1..last).unwrap_or_default();
        let mut numbered = String::new();
        for (n, line) in shown.iter().enumerate() {
            let _ = writeln!(numbered, "{}: {line}", first + n);
        }
        let which = match range {
            Some(_) => format!(" (lines {first}-{last})"),
            None => String::new(),
        };
        let block = block(path, &numbered);
        Ok(for_model_and_user(
            &format!("### {}{which}\n{block}", path.display()),
            0.0,
        ))
    }

    fn write(
        &self,
        files: &Files<'_>,
        path: &Path,
        dir: &Path,
        text: &str,
    ) -> Result<CallToolResult, String> {
        let mut history = lock(&self.edits);
        let real = text_files::write_target(path, dir)?;
        let before = if real.exists() {
            Some(files.content(&real)?)
        } else {
            None
        };
        let result_text = match before {
            None => {
                let edit = Edit::new(None, Some(text));
                atomic_write::apply(files, &mut history, &real, edit, Some(text), None)?;
                format!("Made {}", path.display())
            }
            Some(text_files::Content::Text(before)) => {
                let stored = line_endings::rewrite(&before, text);
                let edit = Edit::new(Some(before), Some(&stored));
                atomic_write::apply(files, &mut history, &real, edit, Some(&stored), None)?;
                format!("Replaced all of {}", path.display())
            }
            Some(text_files::Content::Other(what)) => {
                // The client does not read it as text either.
                files.check_not_cancelled()?;
                atomic_write::write(&real, text)?;
                history.forget(&real);
                let path = path.display();
                format!("Replaced all of {path}, which was {what}; `undo_edit` cannot undo that")
            }
        };
        let shown = format!(
            "### {}\n{}",
            path.display(),
            block(path, &format!("{text}\n"))
        );
        Ok(edited_result(&result_text, &shown))
    }

    fn replace(
        &self,
        files: &Files<'_>,
        path: &Path,
        dir: &Path,
        old: &str,
        new: &str,
    ) -> Result<CallToolResult, String> {
        if old.is_empty() {
            return Err("`old_str` is empty; to add text, use `insert`".to_owned());
        }
        self.change(files, path, dir, |text| {
            let old = line_endings::with_lf(old);
            let new = line_endings::with_lf(new);
            let plain = line_endings::with_lf(text);
            let offsets: Vec<usize> = plain.match_indices(&*old).map(|(at, _)| at).collect();
            let line = |at: usize| plain[..at].matches('\n').count() + 1;
            match offsets.as_slice() {
                [at] => {
                    let first = line(*at);
                    let last = first + new.matches('\n').count();
                    let changed = line_endings::splice(text, &(*at..at + old.len()), &new);
                    Ok((changed, first, last))
                }
                [] => Err(closest_match::not_found_message(path, &plain, &old)),
                many => {
                    let lines: Vec<_> = many.iter().take(10).map(|at| line(*at).to_string()).collect();
                    Err(format!(
                        "`old_str` is in {} {} times, from line {} on; add more of the text around the \
                         place that you mean",
                        path.display(),
                        many.len(),
                        lines.join(", ")
                    ))
                }
            }
        })
    }

    fn insert(
        &self,
        files: &Files<'_>,
        path: &Path,
        dir: &Path,
        line: i64,
        new: &str,
    ) -> Result<CallToolResult, String> {
        self.change(files, path, dir, |text| {
            let all = text.lines().count();
            let count = i64::try_from(all).unwrap_or(i64::MAX);
            let behind = match line {
                line if line < 0 => count + line + 1,
                line => line,
            };
            let behind = usize::try_from(behind).ok().filter(|behind| *behind <= all);
            let behind = behind.ok_or_else(|| {
                format!(
                    "there is no line {line}: {} has {all} lines, so `insert_line` is between {} and {all}",
                    path.display(),
                    -count - 1
                )
            })?;
            let new = line_endings::with_lf(new);
            let new = new.strip_suffix('\n').unwrap_or(&new);
            let changed = line_endings::insert(text, behind, new);
            Ok((changed, behind + 1, behind + 1 + new.matches('\n').count()))
        })
    }

    /// Changes one file. `change` returns the new text and the first and last line that differ.
    fn change(
        &self,
        files: &Files<'_>,
        path: &Path,
        dir: &Path,
        change: impl FnOnce(&str) -> Result<(String, usize, usize), String>,
    ) -> Result<CallToolResult, String> {
        // Held while files are read and written, so that concurrent edits do not overwrite each other.
        let mut history = lock(&self.edits);
        let before = files.read(path)?;
        let real = text_files::write_target(path, dir)?;
        let (bom, rest) = line_endings::split_bom(&before);
        let (text, first, last) = change(rest)?;
        let stored = format!("{bom}{text}");
        let edit = Edit::new(Some(before), Some(&stored));
        atomic_write::apply(files, &mut history, &real, edit, Some(&stored), None)?;
        let (result_text, shown) = around(path, &text, first, last);
        Ok(edited_result(&result_text, &shown))
    }

    fn apply(
        &self,
        files: &Files<'_>,
        path: &Path,
        dir: &Path,
        diff: &str,
    ) -> Result<CallToolResult, String> {
        let patches = unified_diff::parse(diff).map_err(diff_error)?;
        check_names(&patches, path, dir).map_err(diff_error)?;
        let mut history = lock(&self.edits);
        let mut changes = Vec::new();
        let mut seen = HashSet::new();
        for patch in &patches {
            for change in self.changes(files, patch, path, dir, patches.len())? {
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
        Ok(edited_result(&result_text, &shown))
    }

    /// The changes that one file's part of a diff makes: one change, or for a renamed file a new file and a
    /// removal.
    fn changes(
        &self,
        files: &Files<'_>,
        patch: &FilePatch,
        path: &Path,
        dir: &Path,
        count: usize,
    ) -> Result<Vec<Change>, String> {
        let (old, new) = patched_paths(patch, path, dir, count).map_err(diff_error)?;
        let real = |path: &Path| {
            self.ignore_rules(dir)?.allows(path)?;
            text_files::write_target(path, dir)
        };
        let old_real = real(&old)?;
        let new_real = real(&new)?;
        let is_new = patch.old.is_none() && patch.new.is_some();
        let is_gone = patch.new.is_none() && patch.old.is_some();
        let is_moved = patch.is_renamed && old_real != new_real;
        if (is_new || is_moved) && new_real.exists() {
            return Err(diff_error(format!("{} exists already", new.display())));
        }
        let before = if is_new {
            None
        } else {
            Some(files.read(&old)?)
        };
        let mode = if is_new {
            None
        } else {
            fs::metadata(&old_real).ok().map(|file| file.permissions())
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

    fn undo(&self, files: &Files<'_>, path: &Path, dir: &Path) -> Result<CallToolResult, String> {
        let mut history = lock(&self.edits);
        let real = text_files::write_target(path, dir)?;
        let nothing = || format!("there is no change of {} left to undo", path.display());
        let edit = history.last(&real).ok_or_else(nothing)?;
        let found = files.current_state(&real);
        // A file that does not exist has no content to lose.
        if found != FileState::Missing && !edit.is_unchanged_since(found) {
            return Err(format!(
                "{} has been changed since the last edit, by a command or another program; undoing the edit \
                 would lose that. View the file and change it back yourself where necessary",
                path.display()
            ));
        }
        let result_text = match edit.before {
            Some(_) => format!("Undid the last change of {}", path.display()),
            None => format!(
                "Removed {}, which the last change had created",
                path.display()
            ),
        };
        atomic_write::undo(files, &mut history, &real)?;
        Ok(CallToolResult::text(result_text))
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
        let before = self.before.clone();
        let after = self.after.as_deref();
        let mut edit = Edit::new(before, after);
        edit.mode = self.mode.clone().filter(|_| after.is_none());
        atomic_write::apply_uncommitted(
            files,
            history,
            &self.real,
            edit,
            after,
            self.mode.as_ref(),
        )?;
        if self.is_executable
            && let Err(error) = sys::fs::make_executable(&self.real)
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
    let attributes = sys::fs::open_regular(real).and_then(|file| sys::fs::attributes(&file));
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

/// The first and last line of a range, from 1, both included.
fn parse_range(range: &[i64], all: usize) -> Result<(usize, usize), String> {
    let wrong = || {
        format!(
            "`view_range` is [first, last] with 1 <= first <= last <= {all}; -1 as the last is the end"
        )
    };
    let [first, last] = range else {
        return Err(wrong());
    };
    let first = usize::try_from(*first).map_err(|_| wrong())?;
    // An empty file has no lines.
    if all == 0 && first == 1 {
        return Ok((1, 0));
    }
    let last = match last {
        -1 => all,
        // A range may end after the last line.
        last => usize::try_from(*last).map_err(|_| wrong())?.min(all),
    };
    if 1 <= first && first <= last {
        Ok((first, last))
    } else {
        Err(wrong())
    }
}

/// The text for the model and the block for the user: the lines around a change.
fn around(path: &Path, text: &str, first: usize, last: usize) -> (String, String) {
    let from = first.saturating_sub(CONTEXT_LINES + 1);
    let count = last.saturating_sub(from) + CONTEXT_LINES;
    let lines = text.lines().skip(from).take(count);
    let part: String = lines.map(|line| format!("{line}\n")).collect();
    let block = block(path, &part);
    let result_text = format!(
        "Changed {}. Its text from line {} on is now as follows; check it, and undo the change if it is \
         wrong:\n{block}",
        path.display(),
        from + 1
    );
    (result_text, block)
}

/// The text of a file as a code block in Markdown.
fn block(path: &Path, text: &str) -> String {
    fenced_block(language(path), text)
}

/// The name of a file's language in Markdown.
fn language(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.unwrap_or_default() {
        "rs" => "rust",
        "py" | "pyi" => "python",
        "js" | "mjs" | "cjs" | "jsx" => "javascript",
        "ts" | "tsx" | "mts" => "typescript",
        "go" => "go",
        "java" => "java",
        "kt" | "kts" => "kotlin",
        "swift" => "swift",
        "rb" => "ruby",
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hh" | "hpp" => "cpp",
        "cs" => "csharp",
        "php" => "php",
        "sh" | "bash" | "zsh" => "bash",
        "json" => "json",
        "toml" => "toml",
        "yaml" | "yml" => "yaml",
        "xml" => "xml",
        "html" | "htm" => "html",
        "css" => "css",
        "scss" => "scss",
        "sql" => "sql",
        "md" => "markdown",
        _ => "",
    }
}

pub(super) fn for_model_and_user(text: &str, priority: f64) -> CallToolResult {
    CallToolResult {
        content: vec![
            Content::text_for("assistant", None, text),
            Content::text_for("user", Some(priority), text),
        ],
        ..CallToolResult::default()
    }
}

fn edited_result(result_text: &str, shown: &str) -> CallToolResult {
    CallToolResult {
        content: vec![
            Content::text_for("assistant", None, result_text),
            Content::text_for("user", Some(0.2), shown),
        ],
        ..CallToolResult::default()
    }
}

#[cfg(test)]
mod tests;
