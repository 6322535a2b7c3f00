//! The recognizer for Ruby, whose blocks end with `end`.

use super::{Findings, Found};
use crate::developer::analyze::language::is_one_of;
use crate::developer::analyze::lexer::Kind;
use crate::developer::analyze::token_stream::TokenStream;

struct Open {
    /// The definition that `end` closes, if it closes one.
    found: Option<usize>,
    /// Whether the `do` on the same line belongs to it, as in a loop.
    takes_do: bool,
}

pub(super) fn read(code: &TokenStream<'_>) -> Findings {
    let mut findings = Findings::default();
    let mut open: Vec<Open> = Vec::new();
    for at in 0..code.len() {
        let word = code.word(at);
        if code.starts_line(at)
            && let Some(open) = open.last_mut()
        {
            open.takes_do = false;
        }
        if word.is_empty() || is_name(code, at) {
            continue;
        }
        let mut opened = Open {
            found: None,
            takes_do: false,
        };
        match word {
            b"def" => {
                if !method(code, at, &mut findings) {
                    continue;
                }
                opened.found = Some(findings.found.len() - 1);
            }
            b"class" | b"module" => opened.found = container(code, at, &mut findings),
            b"begin" | b"case" => {}
            b"do" => {
                if let Some(open) = open.last_mut().filter(|open| open.takes_do) {
                    open.takes_do = false;
                    continue;
                }
            }
            b"if" | b"unless" if begins(code, at) => {}
            b"while" | b"until" if begins(code, at) => opened.takes_do = true,
            b"for" => opened.takes_do = true,
            b"end" => {
                if let Some(found) = open.pop().and_then(|open| open.found) {
                    findings.found[found].to = at;
                }
                continue;
            }
            b"require" | b"require_relative" | b"load" | b"autoload" if begins(code, at) => {
                import(code, at, &mut findings);
                continue;
            }
            _ => continue,
        }
        open.push(opened);
    }
    // A definition without `end` extends to the last line.
    let last = code.len().saturating_sub(1);
    for found in open.into_iter().filter_map(|open| open.found) {
        findings.found[found].to = last;
    }
    findings
}

/// Whether a keyword is used as a name: `x.class`, `class: 1`, `def end`.
fn is_name(code: &TokenStream<'_>, at: usize) -> bool {
    let before = at.wrapping_sub(1);
    let label = code.mark(at + 1) == b':'
        && code.tokens[at + 1].start == code.tokens[at].end
        && code.mark(at + 2) != b':'
        && code.mark(before) != b'?';
    let dotted = code.mark(before) == b'.' && code.mark(before.wrapping_sub(1)) != b'.';
    label || dotted || code.word(before) == b"def" || code.marks(before.wrapping_sub(1), b"::")
}

/// Whether a statement or a value begins here; after a value, `if` is a modifier.
fn begins(code: &TokenStream<'_>, at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else {
        return true;
    };
    if code.starts_line(at) {
        return true;
    }
    match code.kind(before) {
        Some(Kind::Mark(mark)) => !matches!(mark, b')' | b']' | b'}'),
        Some(Kind::Word) => is_one_of(
            code.word(before),
            "then else do begin and or not ensure when in",
        ),
        _ => false,
    }
}

/// Adds the method of a `def`; returns whether it has an `end`.
fn method(code: &TokenStream<'_>, at: usize, findings: &mut Findings) -> bool {
    let mut name = at + 1;
    let mut owner = None;
    if code.mark(name + 1) == b'.' && matches!(code.kind(name), Some(Kind::Word | Kind::Value)) {
        owner = Some(name).filter(|at| code.word(*at) != b"self");
        name += 2;
    }
    // An operator, or a name with `=` directly after it.
    let mut end = name;
    let adjacent = |at: usize| {
        code.tokens
            .get(at)
            .is_some_and(|t| t.start == code.tokens[at - 1].end)
    };
    if code.is_word(name) {
        let setter = code.mark(name + 1) == b'='
            && adjacent(name + 1)
            && matches!(code.mark(name + 2), b'(' | 0);
        end += usize::from(setter);
    } else {
        while end < name + 3
            && adjacent(end + 1)
            && b"=~*<>[]+-@!".contains(&code.mark(end + 1))
            && code.mark(end + 1) != 0
        {
            end += 1;
        }
    }
    if name >= code.len() {
        return false;
    }
    let parameters = match code.mark(end + 1) {
        b'(' => code.close(end + 1),
        _ => end,
    };
    let endless = code.mark(parameters + 1) == b'='
        && !code.starts_line(parameters + 1)
        && code.mark(parameters + 2) != b'=';
    let to = if endless {
        code.expression(parameters + 2)
    } else {
        parameters
    };
    findings.found.push(Found {
        label: "def",
        name: code.phrase(name, end).replace(' ', ""),
        owner: owner.map(|at| String::from_utf8_lossy(code.bytes(at)).into_owned()),
        from: at,
        at: name,
        to,
    });
    !endless
}

/// Adds a class or module; `None` for `class << self`, which also has an `end`.
fn container(code: &TokenStream<'_>, at: usize, findings: &mut Findings) -> Option<usize> {
    let mut name = at + 1 + 2 * usize::from(code.marks(at + 1, b"::"));
    while code.is_word(name) && code.marks(name + 1, b"::") {
        name += 3;
    }
    if !code.is_word(name) {
        return None;
    }
    let label = match code.word(at) {
        b"class" => "class",
        _ => "module",
    };
    findings.define(code, label, name, (at, name));
    Some(findings.found.len() - 1)
}

fn import(code: &TokenStream<'_>, at: usize, findings: &mut Findings) {
    let mut end = at;
    while end + 1 < code.len()
        && !code.starts_line(end + 1)
        && code.mark(end + 1) != b';'
        && end < at + 12
    {
        end += 1;
    }
    if (at + 1..=end).any(|at| code.kind(at) == Some(Kind::Text)) {
        findings.import(code, at, end);
    }
}
