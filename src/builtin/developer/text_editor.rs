//! `text_editor`: shows and changes text files.

mod diff_edit;

use super::Developer;
use super::atomic_write;
use super::client_files::Files;
use super::closest_match;
use super::line_endings;
use super::text_files;
use super::undo_history::FileState;
use crate::call_context::working_dir;
use crate::mcp::server::{Context, Tool, ToolError};
use crate::mcp::types::{CallToolResult, Content};
use crate::sys::lock;
use gosling_shared::fenced_block;
use serde::Deserialize;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// The most lines that are shown without a range.
const MAX_LINES: usize = 2_000;
/// How many lines around a change are shown.
const CONTEXT_LINES: usize = 4;
/// How important it is that a user sees a change.
const CHANGED: f64 = 0.2;

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
    Tool::sharing(developer, include_str!("text_editor.json"), Developer::edit)
}

impl Developer {
    fn edit(&self, args: &Editor, context: &Context) -> Result<CallToolResult, ToolError> {
        let dir = &working_dir(context).map_err(ToolError::Refused)?;
        let path = text_files::resolve(&args.path, dir).and_then(|path| {
            self.ignore_rules(dir)?.allows(&path)?;
            Ok(path)
        });
        let done = path.and_then(|path| {
            let target = Target {
                developer: self,
                files: self.files(context.cancel()),
                path: &path,
                dir,
            };
            target.edit(args)
        });
        done.map_err(ToolError::Refused)
    }
}

/// What one call shows or changes.
struct Target<'a> {
    developer: &'a Developer,
    files: Files<'a>,
    path: &'a Path,
    /// The working directory.
    dir: &'a Path,
}

impl Target<'_> {
    fn edit(&self, args: &Editor) -> Result<CallToolResult, String> {
        let needed = |value: &Option<String>, name: &str| {
            let why = || format!("`{}` needs `{name}`", args.command);
            value.clone().ok_or_else(why)
        };
        // Some clients send empty values for unused parameters.
        let diff = args.diff.as_ref();
        let diff = diff.filter(|diff| !diff.trim().is_empty() || args.old_str.is_none());
        match args.command.as_str() {
            "view" => self.view(args.view_range.as_deref().filter(|range| !range.is_empty())),
            "write" => self.write(&needed(&args.file_text, "file_text")?),
            "str_replace" => match diff {
                Some(diff) => self.apply(diff),
                None => {
                    let old = needed(&args.old_str, "old_str` and `new_str`, or `diff")?;
                    self.replace(&old, &needed(&args.new_str, "new_str")?)
                }
            },
            "insert" => {
                let line = args.insert_line.ok_or("`insert` needs `insert_line`")?;
                self.insert(line, &needed(&args.new_str, "new_str")?)
            }
            "undo_edit" => self.undo(),
            other => Err(format!(
                "there is no command {other:?}, only view, write, str_replace, insert and undo_edit"
            )),
        }
    }

    fn view(&self, range: Option<&[i64]>) -> Result<CallToolResult, String> {
        let path = self.path;
        if path.is_dir() {
            return match range {
                None => {
                    let list = self.developer.list(path)?;
                    Ok(result(&list, &list, 0.0))
                }
                Some(_) => Err(format!("{} is a directory, without lines", path.display())),
            };
        }
        let text = self.files.read(path)?;
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
        let text = format!("### {}{which}\n{block}", path.display());
        Ok(result(&text, &text, 0.0))
    }

    fn write(&self, text: &str) -> Result<CallToolResult, String> {
        let (files, path) = (&self.files, self.path.display());
        let mut history = lock(&self.developer.edits);
        let real = text_files::write_target(self.path, self.dir)?;
        let before = if real.exists() {
            Some(files.content(&real)?)
        } else {
            None
        };
        let done = match before {
            None => {
                atomic_write::apply(files, &mut history, &real, None, text)?;
                format!("Made {path}")
            }
            Some(text_files::Content::Text(before)) => {
                let stored = line_endings::rewrite(&before, text);
                atomic_write::apply(files, &mut history, &real, Some(before), &stored)?;
                format!("Replaced all of {path}")
            }
            Some(text_files::Content::Other(what)) => {
                // The client does not read it as text either.
                files.check_not_cancelled()?;
                atomic_write::write(&real, text)?;
                history.forget(&real);
                format!("Replaced all of {path}, which was {what}; `undo_edit` cannot undo that")
            }
        };
        let block = block(self.path, &format!("{text}\n"));
        Ok(result(&done, &format!("### {path}\n{block}"), CHANGED))
    }

    fn replace(&self, old: &str, new: &str) -> Result<CallToolResult, String> {
        if old.is_empty() {
            return Err("`old_str` is empty; to add text, use `insert`".to_owned());
        }
        self.change(|text| {
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
                [] => Err(closest_match::not_found_message(self.path, &plain, &old)),
                many => {
                    let lines: Vec<_> = many.iter().take(10).map(|at| line(*at).to_string()).collect();
                    Err(format!(
                        "`old_str` is in {} {} times, from line {} on; add more of the text around the \
                         place that you mean",
                        self.path.display(),
                        many.len(),
                        lines.join(", ")
                    ))
                }
            }
        })
    }

    fn insert(&self, line: i64, new: &str) -> Result<CallToolResult, String> {
        self.change(|text| {
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
                    self.path.display(),
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
        change: impl FnOnce(&str) -> Result<(String, usize, usize), String>,
    ) -> Result<CallToolResult, String> {
        // Held while files are read and written, so that concurrent edits do not overwrite each other.
        let mut history = lock(&self.developer.edits);
        let before = self.files.read(self.path)?;
        let real = text_files::write_target(self.path, self.dir)?;
        let (bom, rest) = line_endings::split_bom(&before);
        let (text, first, last) = change(rest)?;
        let stored = format!("{bom}{text}");
        atomic_write::apply(&self.files, &mut history, &real, Some(before), &stored)?;
        let (done, shown) = around(self.path, &text, first, last);
        Ok(result(&done, &shown, CHANGED))
    }

    fn undo(&self) -> Result<CallToolResult, String> {
        let path = self.path.display();
        let mut history = lock(&self.developer.edits);
        let real = text_files::write_target(self.path, self.dir)?;
        let nothing = || format!("there is no change of {path} left to undo");
        let edit = history.last(&real).ok_or_else(nothing)?;
        let found = self.files.current_state(&real);
        // A file that does not exist has no content to lose.
        if found != FileState::Missing && !edit.is_unchanged_since(found) {
            return Err(format!(
                "{path} has been changed since the last edit, by a command or another program; undoing the edit \
                 would lose that. View the file and change it back yourself where necessary"
            ));
        }
        let done = match edit.before {
            Some(_) => format!("Undid the last change of {path}"),
            None => format!("Removed {path}, which the last change had created"),
        };
        atomic_write::undo(&self.files, &mut history, &real)?;
        Ok(CallToolResult::text(done))
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

/// The names of languages in Markdown, each before the extensions of its files.
const LANGUAGES: &str = "rust rs|python py pyi|javascript js mjs cjs jsx|typescript ts tsx mts|go go|\
    java java|kotlin kt kts|swift swift|ruby rb|c c h|cpp cc cpp cxx hh hpp|csharp cs|php php|\
    bash sh bash zsh|json json|toml toml|yaml yaml yml|xml xml|html html htm|css css|scss scss|sql sql|\
    markdown md";

/// The name of a file's language in Markdown.
fn language(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let mut rows = LANGUAGES.split('|').filter_map(|row| row.split_once(' '));
    let row = rows.find(|(_, extensions)| extensions.split(' ').any(|it| Some(it) == extension));
    row.map_or("", |(language, _)| language)
}

/// A result with one text for the model, and one for the user, of this priority.
pub(super) fn result(for_model: &str, for_user: &str, priority: f64) -> CallToolResult {
    CallToolResult {
        content: vec![
            Content::text_for("assistant", None, for_model),
            Content::text_for("user", Some(priority), for_user),
        ],
        ..CallToolResult::default()
    }
}

#[cfg(test)]
mod tests;
