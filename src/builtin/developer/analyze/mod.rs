//! `analyze`: outlines source code, so that a model need not read all of it.
//!
//! The [`lexer`] splits a text into words, strings and marks; [`token_stream`] pairs its brackets; one recognizer
//! for each family of languages ([`brace_languages`], [`c`], [`java_kotlin_swift`], [`javascript`], [`python`],
//! [`ruby`]) finds definitions and imports; [`outline`] combines them. Types are not resolved, and no grammar is
//! complete: a call is a name with arguments, and refers to every definition of that name. A function that is
//! passed as a value is not a call.
//!
//! # Accuracy
//!
//! `tests/interop/ctags.py` compares the definitions with those of universal-ctags 5.9.0 by file, line, name and
//! kind. Recall is the share of ctags' definitions that are found, precision the share of the found definitions
//! that ctags has, too. ctags is not always right: what it does not know lowers the precision.
//! `tests/interop/run` repeats the comparison for four languages in parts of these trees, and fails if the
//! figures get markedly worse.
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
//! The npm packages are those of four MCP reference servers (server-everything 2026.8.31 and others). Swift is
//! not compared, because that version of ctags does not support it.
//!
//! A report on a directory of 22,733 files with 6.8 million lines took 1.5 s; a report on a symbol in them took
//! 2.0 s and 190 MB. Both were measured on two cores, optimized, with the files in the page cache. With a cold
//! cache or on a busy machine, such a call may reach its limit of 30 s, and then says what it left out.
//!
//! Known differences, from samples: ctags takes JavaScript objects for classes and names in TypeScript imports
//! for types, counts lambdas of Python and Kotlin and loop variables of Kotlin as functions, and reads Java
//! records as methods. It misses arrow functions of JavaScript, methods of interfaces, declared functions, types
//! within Go functions, members of anonymous Java classes, and the content of Rust macros. A C structure that
//! only a `typedef` names is a typedef there, and not compared. Known errors here: C++ macros that look like
//! functions, JavaScript methods with a computed name, and functions that a macro assembles.

mod directory_report;
mod file_report;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod language;
mod lexer;
mod outline;
mod outline_files;
mod source_walk;
mod symbol_report;
#[cfg(test)]
mod tests;
mod token_stream;

use super::gooseignore::IgnoreRules;
use super::{Developer, OptionalTools, text_editor, text_files};
use crate::call_context::working_dir;
use crate::mcp::server::{Context, Tool, ToolError};
use crate::mcp::types::CallToolResult;
use language::Language;
use outline::Outline;
use outline_files::{Outlines, Skipped};
use serde::Deserialize;
use serde::de::IgnoredAny;
use source_walk::{TimeLimit, Walk};
use std::path::Path;
use std::time::Duration;

/// The longest report, in characters; and the longest one with `force`.
const MAX_TEXT: usize = 40_000;
const MAX_FORCED: usize = 200_000;
/// The time limit of a call.
const MAX_TIME: Duration = Duration::from_secs(30);
/// The default depth of a directory report, and the default and maximal number of caller levels.
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

/// What the feature `analyze` adds.
pub(super) const TOOLS: OptionalTools = OptionalTools {
    create: |developer| {
        vec![Tool::sharing(
            developer,
            include_str!("analyze.json"),
            Developer::analyze,
        )]
    },
    about: "`analyze` says what is where in source code",
};

impl Developer {
    fn analyze(&self, args: &Analyze, context: &Context) -> Result<CallToolResult, ToolError> {
        let dir = working_dir(context).map_err(ToolError::Refused)?;
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
        let text = capped(text.map_err(ToolError::Refused)?, most);
        Ok(text_editor::result(&text, &text, 0.0))
    }
}

/// The analyzed files: those of a directory, or one.
struct Analysis<'a> {
    root: &'a Path,
    walk: Walk,
    outlines: Outlines,
}

impl Analysis<'_> {
    /// The files that have an outline, with their numbers.
    fn outlined(&self) -> impl Iterator<Item = (usize, &Path, &Outline)> {
        let files = self.walk.files.iter().zip(&self.outlines.files);
        let numbered = files.enumerate();
        numbered.filter_map(|(n, (path, outline))| Some((n, &**path, outline.as_ref().ok()?)))
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
    let focus = args.focus.as_deref().map(str::trim);
    let focus = focus.filter(|focus| !focus.is_empty());
    if !metadata.is_dir() && Language::by_name(path).is_none() {
        return Err(format!(
            "{} is not in a supported language (Rust, Python, JavaScript, TypeScript, Go, Java, \
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
    let analysis = Analysis {
        root: path,
        outlines: outline_files::outline_all(&walk.files, focus.is_some(), limit),
        walk,
    };
    let mut text = match focus {
        Some(focus) => render_symbol(&analysis, args, focus, max_depth),
        None => render_directory(&analysis, args, max_depth),
    };
    let mut notes = analysis.outlines.notes();
    if analysis.walk.cut {
        let text = "There are too many files to analyze all of them; name a smaller part";
        notes.push(text.to_owned());
    }
    for note in notes {
        text.push_str(&format!("({note})\n"));
    }
    Ok(text)
}

fn render_symbol(analysis: &Analysis<'_>, args: &Analyze, focus: &str, max_depth: usize) -> String {
    let follow = args.follow_depth.map_or(FOLLOW, |depth| depth as usize);
    let mut text = symbol_report::render(analysis, focus, follow.min(MAX_FOLLOW));
    let n = analysis.walk.too_deep.len();
    if n > 0 {
        text.push_str(&format!(
            "\nFolders deeper than max_depth {max_depth} were not analyzed ({n}); `max_depth` 0 is all\n"
        ));
    }
    text
}

/// Reports on a directory by files; by folders if that is too long and the call does not set `force`.
fn render_directory(analysis: &Analysis<'_>, args: &Analyze, max_depth: usize) -> String {
    let text = directory_report::render(analysis, max_depth, false);
    if text.chars().count() > MAX_TEXT && args.force != Some(true) {
        directory_report::render(analysis, max_depth, true)
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
        Skipped::Binary => format!("{path} is a binary file, not source code"),
        Skipped::Unreadable => format!("{path} cannot be read, or is not a regular file"),
        Skipped::OutOfTime => format!("{path} was not analyzed within the time limit"),
    }
}

/// A path on one line.
fn printable_path(path: &Path) -> String {
    let control = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    path.to_string_lossy().chars().map(control).collect()
}

/// Cuts a text at a line break if it has more than `most` characters.
fn capped(text: String, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text;
    };
    let end = text[..end].rfind('\n').unwrap_or(end);
    let all = text.chars().count();
    format!(
        "{}\n\n(cut: this is the beginning of {all} characters. Name a subfolder or a file, \
         choose a smaller `max_depth` or `follow_depth`, or set `force`.)\n",
        &text[..end]
    )
}
