//! The outline of a text: its definitions, imports and calls.

mod brace_languages;
mod python;
mod ruby;

use super::language::Language::{self, *};
use super::token_stream::TokenStream;
use gosling_core::sorting::sort_by;
use std::hash::Hasher;

/// The kind of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefinitionKind {
    /// A function, method or macro.
    Function,
    /// A type; reported as a class.
    Type,
    /// A module, an `impl` or an `extension`; listed, but not counted.
    Scope,
}

impl DefinitionKind {
    /// The kind by the keyword of the language.
    fn of(label: &str) -> Self {
        match label {
            "def" | "fn" | "fun" | "func" | "function" | "macro" | "method" => Self::Function,
            "extension" | "impl" | "mod" | "module" | "namespace" => Self::Scope,
            _ => Self::Type,
        }
    }
}

/// A definition.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) kind: DefinitionKind,
    /// The keyword of the language.
    pub(super) label: &'static str,
    pub(super) name: String,
    /// The owner as the text names it: a type, a receiver, the enclosing definition.
    pub(super) owner: Option<String>,
    pub(super) line: u32,
    pub(super) end_line: u32,
}

/// A call of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) name: Name,
    pub(super) line: u32,
    /// The innermost enclosing function, as an index into the definitions.
    pub(super) within: Option<u32>,
}

/// The hash of a name, for comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Name(u64);

impl Name {
    pub(super) fn of(name: &[u8]) -> Self {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(name);
        Name(hasher.finish())
    }
}

/// The outline of a text.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) language: Language,
    pub(super) lines: usize,
    pub(super) definitions: Vec<Definition>,
    /// The line and the text of each import.
    pub(super) imports: Vec<(u32, String)>,
    pub(super) calls: Vec<Call>,
}

/// A definition as a recognizer finds it, in tokens.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) label: &'static str,
    pub(super) name: String,
    pub(super) owner: Option<String>,
    /// The first token, the name, and the last token.
    pub(super) from: usize,
    pub(super) at: usize,
    pub(super) to: usize,
}

/// The findings of a recognizer.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) found: Vec<Found>,
    pub(super) imports: Vec<(u32, String)>,
}

impl Findings {
    /// Adds a definition from one token to another; `at` is its name.
    fn define(
        &mut self,
        code: &TokenStream<'_>,
        label: &'static str,
        at: usize,
        (from, to): (usize, usize),
    ) {
        self.found.push(Found {
            label,
            name: String::from_utf8_lossy(code.bytes(at)).into_owned(),
            owner: None,
            from,
            at,
            to: to.min(code.len().saturating_sub(1)),
        });
    }

    /// Adds what is imported from one token to another.
    fn import(&mut self, code: &TokenStream<'_>, from: usize, to: usize) {
        self.imports.push((code.line(from), code.phrase(from, to)));
    }
}

/// The longest name, in bytes; longer ones are ignored.
const MAX_NAME: usize = 200;

impl Outline {
    /// Outlines a text. Calls are collected only if `calls` is true.
    pub(super) fn of(text: &[u8], language: Language, calls: bool) -> Self {
        let code = TokenStream::new(text, language);
        let mut findings = match language {
            Python => python::read(&code),
            Ruby => ruby::read(&code),
            _ => brace_languages::read(&code),
        };
        findings
            .found
            .retain(|found| !found.name.is_empty() && found.name.len() <= MAX_NAME);
        sort_by(&mut findings.found, |a, b| {
            (a.from, a.at).cmp(&(b.from, b.at))
        });
        let calls = if calls {
            self::calls(&code, &findings.found)
        } else {
            Vec::new()
        };
        Outline {
            language,
            lines: code.line_count(),
            definitions: definitions(&code, findings.found),
            imports: findings.imports,
            calls,
        }
    }

    /// The number of functions and of types.
    pub(super) fn counts(&self) -> (usize, usize) {
        let count = |kind| self.definitions.iter().filter(|d| d.kind == kind).count();
        (count(DefinitionKind::Function), count(DefinitionKind::Type))
    }
}

fn definitions(code: &TokenStream<'_>, found: Vec<Found>) -> Vec<Definition> {
    let mut around: Vec<(usize, String)> = Vec::new();
    found
        .into_iter()
        .map(|found| {
            while around.last().is_some_and(|(to, _)| *to < found.at) {
                around.pop();
            }
            let owner = found
                .owner
                .or_else(|| around.last().map(|(_, name)| name.clone()));
            around.push((found.to, found.name.clone()));
            Definition {
                kind: DefinitionKind::of(found.label),
                label: found.label,
                name: found.name,
                owner,
                // The name of an `impl` may be on a later line.
                line: code.line(if found.label == "impl" {
                    found.from
                } else {
                    found.at
                }),
                end_line: code.end_line(found.to),
            }
        })
        .collect()
}

/// The calls, with the functions around them.
fn calls(code: &TokenStream<'_>, found: &[Found]) -> Vec<Call> {
    let (mut calls, mut around): (Vec<Call>, Vec<(usize, u32)>) = (Vec::new(), Vec::new());
    let mut coming = found.iter().enumerate().peekable();
    let mut named: Vec<usize> = found.iter().map(|found| found.at).collect();
    sort_by(&mut named, usize::cmp);
    for at in 0..code.len() {
        while let Some((n, next)) = coming.next_if(|(_, next)| next.from <= at) {
            if DefinitionKind::of(next.label) == DefinitionKind::Function && next.to >= at {
                around.push((next.to, n as u32));
            }
        }
        while around.last().is_some_and(|(to, _)| *to < at) {
            around.pop();
        }
        if is_call(code, at) && named.binary_search(&at).is_err() {
            calls.push(Call {
                name: Name::of(code.bytes(at)),
                line: code.line(at),
                within: around.last().map(|(_, n)| *n),
            });
        }
    }
    calls
}

fn is_call(code: &TokenStream<'_>, at: usize) -> bool {
    let word = code.word(at);
    if word.is_empty() {
        return false;
    }
    let method = at > 0 && code.mark(at - 1) == b'.';
    let next = code.mark(at + 1);
    let has_arguments = match code.language {
        // Ruby calls need no parentheses; the target of an assignment and a label are not calls.
        Ruby => {
            let written = next == b'=' && !matches!(code.mark(at + 2), b'=' | b'~')
                || next == b':' && code.mark(at + 2) != b':';
            let lower = word[0].is_ascii_lowercase() || word[0] == b'_' || next == b'(';
            lower && !written
        }
        Rust => {
            let turbofish = || {
                if code.marks(at + 1, b"::") && code.mark(at + 3) == b'<' {
                    code.mark(code.skip_angles(at + 3)) == b'('
                } else {
                    false
                }
            };
            let macro_call = || next == b'!' && matches!(code.mark(at + 2), b'(' | b'[' | b'{');
            next == b'(' || macro_call() || turbofish()
        }
        Kotlin | Swift => {
            let trailing =
                next == b'{' && !code.starts_line(at + 1) && (method || code.starts_line(at));
            next == b'(' && !code.starts_line(at + 1) || trailing || generic_call(code, at)
        }
        _ => next == b'(' || generic_call(code, at),
    };
    has_arguments && (method || !code.language.is_keyword(word))
}

/// `f<T>(…)`
fn generic_call(code: &TokenStream<'_>, at: usize) -> bool {
    if !matches!(code.language, TypeScript | Java | Kotlin | Swift | Cpp)
        || code.mark(at + 1) != b'<'
    {
        return false;
    }
    let behind = code.skip_angles(at + 1);
    behind > at + 1 && code.mark(behind) == b'('
}
