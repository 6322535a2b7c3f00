//! `analyze`: what is where in source code, without reading all of it.
//!
//! A [`lexer`] cuts a text into words, strings and marks; [`token_stream`] pairs its brackets; one recognizer for
//! each family of languages ([`brace_languages`], [`c`], [`java_kotlin_swift`], [`javascript`], [`python`], [`ruby`]) finds what is
//! defined and imported, and [`outline`] puts that together. No types are worked out and no grammar is
//! complete: a call is a name with arguments, and goes to everything of that name. What is handed over as
//! a value, without being called, is not seen.
//!
//! # How good it is
//!
//! Compared with universal-ctags 5.9.0 by `tests/interop/ctags.py`: definitions with the same file, line,
//! name and sort. Recall is the part of those of ctags that are found, precision the part of what is found
//! that ctags has too. It is no judge: what it does not know counts against precision. `tests/interop/run`
//! compares four of the languages again, in part of these trees, and fails when they come out markedly worse.
//!
//! | language, tree | functions: ctags, both | recall | precision | types: ctags, both | recall | precision |
//! |---|---|---|---|---|---|---|
//! | C, redis 4f8cdc2a1 (`src`, `deps/hiredis`, `modules`) | 4871, 4871 | 100.0 % | 100.0 % | 151, 151 | 100.0 % | 81.6 % |
//! | C++, fmt 60ccad51 | 1788, 1782 | 99.7 % | 99.3 % | 337, 337 | 100.0 % | 100.0 % |
//! | Go, gin dcaa4296 | 1375, 1375 | 100.0 % | 100.0 % | 179, 179 | 100.0 % | 85.2 % |
//! | Java, gson 9835b6f90 | 3118, 3098 | 99.4 % | 90.4 % | 702, 702 | 100.0 % | 92.0 % |
//! | JavaScript, npm packages | 4135, 4038 | 97.7 % | 59.6 % | 1424, 196 | 13.8 % | 91.2 % |
//! | Kotlin, okio 4164f297 | 4270, 3990 | 93.4 % | 100.0 % | 375, 375 | 100.0 % | 99.2 % |
//! | Python, 3.11.7 with packages, every nth file | 21871, 21799 | 99.7 % | 100.0 % | 4073, 4073 | 100.0 % | 100.0 % |
//! | Ruby, sinatra cb22afd7 | 888, 880 | 99.1 % | 98.2 % | 269, 269 | 100.0 % | 100.0 % |
//! | Rust, rustls 0.23.46, regex-automata 0.4.18, proptest 1.12.0, minijinja 3.0.5, syn 2.0.119 and 3.0.9, gosling | 17175, 17168 | 100.0 % | 97.0 % | 9502, 9493 | 99.9 % | 90.1 % |
//! | TypeScript, npm packages, every nth file | 2508, 2501 | 99.7 % | 34.2 % | 5001, 4790 | 95.8 % | 78.8 % |
//!
//! The npm packages are those of four MCP reference servers (server-everything 2026.8.31 and others).
//! There is nothing to compare Swift with: that ctags does not know it.
//!
//! An overview of 22,733 files with 6.8 million lines took 1.5 s, and a focus in them 2.0 s and 190 MB, on
//! two cores, optimized, with the files in the cache of the system; cold or on a busy machine it may meet
//! the limit of 30 s, and then says what it did not reach.
//!
//! Where the two differ, looked at in samples and not one by one: ctags takes objects of JavaScript for
//! classes, takes a name in an import of TypeScript for a type, counts lambdas of Python and Kotlin and
//! loop variables of Kotlin as functions, and reads records of Java as methods; it misses arrow functions
//! of JavaScript, methods of interfaces, declared functions, types within functions of Go, members of
//! anonymous classes of Java, and what macros of Rust hold; a C structure that only `typedef` names is a
//! typedef there, which is not compared. What is wrong here: macros of C++ that look like functions,
//! methods of JavaScript with a computed name, and functions that a macro puts together.

mod brace_languages;
mod c;
mod directory_report;
mod file_report;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod java_kotlin_swift;
mod javascript;
mod language;
mod lexer;
mod outline;
mod outline_files;
mod python;
mod ruby;
mod source_walk;
mod string_literals;
mod symbol_report;
#[cfg(test)]
mod tests;
mod token_stream;

use super::gooseignore::IgnoreRules;
use super::{Developer, text_editor, text_files};
use crate::builtin::working_dir;
use crate::mcp::server::{Context, Tool, ToolError};
use crate::mcp::types::{CallToolResult, ToolAnnotations};
use language::Language;
use outline_files::{Outlines, Skipped};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use source_walk::{TimeLimit, Walk};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How much is said, in characters; and how much when that is asked for.
const MAX_TEXT: usize = 40_000;
const MAX_FORCED: usize = 200_000;
/// How long it may take.
const MAX_TIME: Duration = Duration::from_secs(30);
/// How deep an overview goes, and how many levels of callers are followed, unless the call says.
const DEPTH: usize = 3;
const FOLLOW: usize = 2;
const MAX_FOLLOW: usize = 10;

#[derive(Deserialize)]
struct Analyze {
    path: String,
    focus: Option<String>,
    follow_depth: Option<u32>,
    max_depth: Option<u32>,
    force: Option<bool>,
    #[serde(rename = "ast_recursion_limit")]
    _ast_recursion_limit: Option<IgnoredAny>,
}

pub(super) fn tool(developer: &Arc<Developer>) -> Tool {
    let developer = developer.clone();
    Tool::new(
        "analyze",
        "Shows how source code is built, in one of three ways. For a directory: its files with lines (L), \
         functions (F) and classes (C), and totals per language, leaving out what git ignores. For a file: \
         its imports, classes and functions with their lines; those called more than three times in it are \
         marked •N. With `focus`: where that symbol is defined, who calls it and who calls those, by name. \
         Knows Rust, Python, JavaScript, TypeScript, Go, Java, Kotlin, Swift, Ruby, C and C++. Begin with \
         the directory, then files, then symbols.",
        move |args: Analyze, context: &Context| developer.analyze(&args, context),
    )
    .title("Analyze code")
    .input(json!({
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "A directory or a source file; absolute, or in the working directory"
            },
            "focus": {
                "type": "string",
                "description": "The name of a function or a type to look for, as it is written; `Type::name` and `Type.name` are understood"
            },
            "follow_depth": {
                "type": "integer", "minimum": 0, "maximum": MAX_FOLLOW, "default": FOLLOW,
                "description": "With `focus`: 0 for definitions alone, 1 for those who call it, 2 for those who call these, and so on"
            },
            "max_depth": {
                "type": "integer", "minimum": 0, "default": DEPTH,
                "description": "How many levels of directories to look into; 0 for all of them"
            },
            "force": {
                "type": "boolean", "default": false,
                "description": "Say up to 200,000 characters instead of 40,000"
            },
            "ast_recursion_limit": {
                "type": "integer",
                "description": "Accepted and ignored: nothing here recurses"
            }
        },
        "required": ["path"]
    }))
    .annotations(ToolAnnotations {
        title: None,
        read_only_hint: Some(true),
        destructive_hint: Some(false),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    })
}

impl Developer {
    fn analyze(&self, args: &Analyze, context: &Context) -> Result<CallToolResult, ToolError> {
        let dir = working_dir(context);
        let limit = TimeLimit::after(MAX_TIME, context.cancel());
        let text = text_files::resolve(&args.path, &dir).and_then(|path| {
            let ignore_rules = self.ignore_rules(&dir)?;
            ignore_rules.allows(&path)?;
            analyze(&path, args, &ignore_rules, &limit)
        });
        if context.cancel().is_cancelled() {
            return Err(ToolError::Failed("Cancelled.".to_owned()));
        }
        let most = match args.force {
            Some(true) => MAX_FORCED,
            _ => MAX_TEXT,
        };
        let text = text.map_err(ToolError::Refused)?;
        Ok(text_editor::for_model_and_user(&capped(text, most), 0.0))
    }
}

fn analyze(
    path: &Path,
    args: &Analyze,
    ignore_rules: &IgnoreRules,
    limit: &TimeLimit<'_>,
) -> Result<String, String> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("there is no {}", path.display()),
        _ => format!("{} cannot be read: {error}", path.display()),
    })?;
    let focus = args
        .focus
        .as_deref()
        .map(str::trim)
        .filter(|focus| !focus.is_empty());
    if !metadata.is_dir() && Language::by_name(path).is_none() {
        return Err(format!(
            "{} is in no language that is understood (Rust, Python, JavaScript, TypeScript, Go, Java, \
             Kotlin, Swift, Ruby, C, C++); look at it with text_editor",
            path.display()
        ));
    }
    if !metadata.is_dir() && focus.is_none() {
        let outline = outline_files::outline(path, true).map_err(|why| refused(path, why))?;
        return Ok(file_report::render(path, &outline));
    }
    let max_depth = match args.max_depth {
        None => DEPTH,
        Some(0) => usize::MAX,
        Some(depth) => depth as usize,
    };
    let walk = if metadata.is_dir() {
        source_walk::walk(path, ignore_rules, max_depth, limit)
    } else {
        Walk {
            files: vec![path.to_owned()],
            ..Walk::default()
        }
    };
    let outlines = outline_files::outline_all(&walk.files, focus.is_some(), limit)?;
    let mut text = match focus {
        Some(focus) => render_symbol(path, args, &walk, &outlines, focus, max_depth),
        None => render_directory(path, args, &walk, &outlines, max_depth),
    };
    let mut notes = outlines.notes();
    if walk.cut {
        notes.push(
            "There are too many files to look at all of them; name a smaller part".to_owned(),
        );
    }
    for note in notes {
        text.push_str(&format!("({note})\n"));
    }
    Ok(text)
}

fn render_symbol(
    path: &Path,
    args: &Analyze,
    walk: &Walk,
    outlines: &Outlines,
    focus: &str,
    max_depth: usize,
) -> String {
    let follow = args.follow_depth.map_or(FOLLOW, |depth| depth as usize);
    let mut text = symbol_report::render(path, walk, outlines, focus, follow.min(MAX_FOLLOW));
    if !walk.too_deep.is_empty() {
        let n = walk.too_deep.len();
        text.push_str(&format!(
            "\nFolders deeper than max_depth {max_depth} were not looked into ({n}); `max_depth` 0 is all\n"
        ));
    }
    text
}

/// The overview by files, or by folders if that is too long and the call does not force it.
fn render_directory(
    path: &Path,
    args: &Analyze,
    walk: &Walk,
    outlines: &Outlines,
    max_depth: usize,
) -> String {
    let text = directory_report::render(path, walk, outlines, max_depth, false);
    if text.chars().count() > MAX_TEXT && args.force != Some(true) {
        directory_report::render(path, walk, outlines, max_depth, true)
    } else {
        text
    }
}

fn refused(path: &Path, why: Skipped) -> String {
    let path = path.display();
    match why {
        Skipped::TooLarge => format!(
            "{path} has more than the {} bytes that are analyzed; look at parts of it with the shell",
            outline_files::MAX_SOURCE
        ),
        Skipped::Binary => format!("{path} is a binary file, and no source code"),
        Skipped::Unreadable => format!("{path} cannot be read, or is no regular file"),
        Skipped::OutOfTime => format!("{path} was not read in time"),
    }
}

/// A path on one line.
fn printable_path(path: &Path) -> String {
    let control = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    path.to_string_lossy().chars().map(control).collect()
}

/// The text, cut at a line if it has more than `most` characters.
fn capped(text: String, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text;
    };
    let end = text[..end].rfind('\n').unwrap_or(end);
    let all = text.chars().count();
    format!(
        "{}\n\n(cut: this is the beginning of {all} characters. Name a folder or a file further down, \
         choose a smaller `max_depth` or `follow_depth`, or say `force`.)\n",
        &text[..end]
    )
}
