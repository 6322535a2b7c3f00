//! The reader for languages with braces, and the recognizers for Rust and Go.

mod c;
mod java_kotlin_swift;
mod javascript;

use super::{DefinitionKind, Findings};
use crate::developer::analyze::language::Language::*;
use crate::developer::analyze::language::is_one_of;
use crate::developer::analyze::lexer::Kind;
use crate::developer::analyze::token_stream::{MAX_LOOKAHEAD, TokenStream};
use std::collections::HashMap;

/// The role of a pair of braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BraceRole {
    /// The file, a module, or another group of definitions.
    Top,
    /// The members of a type.
    Type,
    /// The body of a function.
    Body,
    /// Anything else.
    Block,
}

/// Reads the tokens in order and keeps track of the braces around them.
pub(super) struct BraceReader<'a> {
    pub(super) code: &'a TokenStream<'a>,
    pub(super) findings: Findings,
    /// The roles of braces that have not been reached yet.
    upcoming_roles: HashMap<usize, BraceRole>,
    /// The braces around the current token: their end and role.
    around: Vec<(usize, BraceRole)>,
}

pub(super) fn read(code: &TokenStream<'_>) -> Findings {
    let recognize = match code.language {
        Rust => rust,
        Go => go,
        Java => java_kotlin_swift::java,
        Kotlin => java_kotlin_swift::kotlin,
        Swift => java_kotlin_swift::swift,
        C | Cpp => c::recognize,
        _ => javascript::recognize,
    };
    let mut reader = BraceReader {
        code,
        findings: Findings::default(),
        upcoming_roles: HashMap::new(),
        around: Vec::new(),
    };
    for at in 0..code.len() {
        while reader.around.last().is_some_and(|(end, _)| *end <= at) {
            reader.around.pop();
        }
        match code.kind(at) {
            Some(Kind::Mark(b'{')) => {
                let role = reader
                    .upcoming_roles
                    .remove(&at)
                    .unwrap_or(BraceRole::Block);
                reader.around.push((code.close(at), role));
            }
            Some(Kind::Word | Kind::Mark(_) | Kind::Directive) => recognize(&mut reader, at),
            _ => {}
        }
    }
    reader.findings
}

impl BraceReader<'_> {
    /// The role of the innermost braces.
    pub(super) fn role(&self) -> BraceRole {
        self.around.last().map_or(BraceRole::Top, |(_, role)| *role)
    }

    /// Sets the role of the braces that open at `at`.
    pub(super) fn set_role(&mut self, at: usize, role: BraceRole) {
        self.upcoming_roles.insert(at, role);
    }

    pub(super) fn has_role(&self, at: usize) -> bool {
        self.upcoming_roles.contains_key(&at)
    }

    /// Adds a definition from one token to another; `at` is its name.
    pub(super) fn define(&mut self, label: &'static str, at: usize, place: (usize, usize)) {
        self.findings.define(self.code, label, at, place);
    }

    /// Replaces the name of the last definition.
    pub(super) fn rename(&mut self, name: String) {
        if let Some(found) = self.findings.found.last_mut() {
            found.name = name;
        }
    }

    /// Sets the owner of the last definition.
    pub(super) fn owned_by(&mut self, at: usize) {
        let owner = String::from_utf8_lossy(self.code.bytes(at)).into_owned();
        if let Some(found) = self.findings.found.last_mut() {
            found.owner = Some(owner);
        }
    }

    /// Adds a definition with the braces of its body; without a body, with its end.
    pub(super) fn with_body(
        &mut self,
        label: &'static str,
        at: usize,
        from: usize,
        body: Result<usize, usize>,
    ) {
        if let Ok(body) = body {
            let role = match DefinitionKind::of(label) {
                DefinitionKind::Function => BraceRole::Body,
                DefinitionKind::Scope if !matches!(label, "impl" | "extension") => BraceRole::Top,
                _ => BraceRole::Type,
            };
            self.set_role(body, role);
        }
        let to = body.map_or_else(|end| end, |body| self.code.close(body));
        self.define(label, at, (from, to));
    }

    pub(super) fn import(&mut self, from: usize, to: usize) {
        self.findings.import(self.code, from, to);
    }

    /// Adds an import that ends with its line, or before `;`.
    pub(super) fn import_line(&mut self, at: usize) {
        let code = self.code;
        let ends = |next: &usize| {
            *next >= code.len() || code.starts_line(*next) || code.mark(*next) == b';'
        };
        let end = (at + 2..).find(ends).unwrap_or(at + 2);
        self.import(at, end - 1);
    }

    /// The first of the words directly before a definition that are some of `words`, or the definition.
    pub(super) fn beginning(&self, at: usize, words: &str) -> usize {
        let mut from = at;
        while from > 0 && is_one_of(self.code.word(from - 1), words) {
            from -= 1;
        }
        from
    }

    /// The first opening brace at or after `at`, before `;` and any closing bracket; otherwise the end of the
    /// search.
    pub(super) fn body(&self, at: usize) -> Result<usize, usize> {
        let mut next = at;
        for _ in 0..MAX_LOOKAHEAD {
            match self.code.mark(next) {
                b'{' => return Ok(next),
                b';' | b')' | b']' | b'}' => return Err(next),
                _ if next >= self.code.len() => break,
                _ => next = self.code.skip(next),
            }
        }
        Err(next)
    }

    /// The end of a statement: the next `;` on this level.
    pub(super) fn statement(&self, at: usize) -> usize {
        let mut next = at;
        for _ in 0..MAX_LOOKAHEAD {
            match self.code.mark(next) {
                b';' => return next,
                b')' | b']' | b'}' => return next.saturating_sub(1),
                _ if next >= self.code.len() => break,
                _ => next = self.code.skip(next),
            }
        }
        next.min(self.code.len().saturating_sub(1))
    }
}

/// Words that may precede `fn` and other keywords.
const RUST_BEFORE: &str = "pub const async unsafe extern default crate";

fn rust(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let label = match code.word(at) {
        b"fn" => "fn",
        b"struct" => "struct",
        b"enum" => "enum",
        b"union" if matches!(code.mark(at + 2), b'{' | b'<') => "union",
        b"trait" => "trait",
        b"type" => "type",
        b"mod" => "mod",
        b"impl" => return rust_impl(reader, at),
        b"macro_rules" if code.mark(at + 1) == b'!' => {
            if let Ok(body) = reader.body(at + 3) {
                reader.define("macro", at + 2, (at, code.close(body)));
            }
            return;
        }
        b"use" if statement_begins(code, at) => {
            return reader.import(at, reader.statement(at).saturating_sub(1));
        }
        b"extern" if code.word(at + 1) == b"crate" => {
            return reader.import(at, reader.statement(at).saturating_sub(1));
        }
        _ => return,
    };
    let name = at + 1;
    // `fn $name` is a part of a macro.
    if !code.is_word(name)
        || code.word(name).starts_with(b"$")
        || at > 0 && matches!(code.mark(at - 1), b'$' | b'.')
    {
        return;
    }
    let from = reader.beginning(at, RUST_BEFORE);
    let after = code.skip_angles(name + 1);
    match label {
        "fn" if code.mark(after) != b'(' => {}
        "type" => reader.define(label, name, (from, reader.statement(after))),
        "mod" if code.mark(name + 1) != b'{' => {
            if code.mark(name + 1) == b';' {
                reader.import(at, name);
            }
        }
        _ => reader.with_body(label, name, from, reader.body(after)),
    }
}

fn statement_begins(code: &TokenStream<'_>, at: usize) -> bool {
    at == 0
        || matches!(code.mark(at - 1), b';' | b'{' | b'}' | b']' | b')')
        || code.word(at - 1) == b"pub"
}

/// `impl<T> Trait for Type<T> where … {`: the name is that of the type.
fn rust_impl(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    if at > 0
        && !matches!(code.mark(at - 1), b';' | b'{' | b'}' | b']' | b')')
        && !matches!(code.word(at - 1), b"unsafe" | b"default")
    {
        return;
    }
    let mut next = code.skip_angles(at + 1);
    let mut name = None;
    for _ in 0..MAX_LOOKAHEAD {
        match (code.word(next), code.mark(next)) {
            (b"where", _) | (_, b'{') => break,
            (_, b'}' | b')') => return,
            (b"for", _) => name = None,
            (b"dyn" | b"mut" | b"const", _) => {}
            (b"", _) if next >= code.len() => return,
            (b"", b'<') => {
                next = code.skip_angles(next).max(next + 1);
                continue;
            }
            // The name of a slice type is that of its elements.
            (b"", b'[') => {
                next += 1;
                continue;
            }
            // The `&` and the lifetime of `&'a Type` are not words.
            (b"", _) => {}
            _ => name = Some(next),
        }
        next = code.skip(next);
    }
    if let (Some(name), Ok(body)) = (name, reader.body(next)) {
        reader.with_body("impl", name, at, Ok(body));
    }
}

fn go(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    match code.word(at) {
        b"func" if code.starts_line(at) => go_func(reader, at),
        b"type" if code.mark(at + 1) == b'(' => {
            let end = code.close(at + 1);
            let mut next = at + 2;
            while next < end {
                if code.starts_line(next) && code.is_word(next) {
                    go_type(reader, next, next);
                }
                next = code.skip(next);
            }
        }
        b"type" if code.is_word(at + 1) && code.starts_line(at) => go_type(reader, at + 1, at),
        b"import" => go_import(reader, at),
        // A method of an interface.
        _ if reader.role() == BraceRole::Type
            && code.is_word(at)
            && code.starts_line(at)
            && code.mark(at + 1) == b'(' =>
        {
            reader.define("func", at, (at, code.close(at + 1)));
        }
        _ => {}
    }
}

fn go_func(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let has_receiver = code.mark(at + 1) == b'(';
    let name = if has_receiver {
        code.close(at + 1) + 1
    } else {
        at + 1
    };
    let open = match code.mark(name + 1) {
        b'[' => code.close(name + 1) + 1,
        _ => name + 1,
    };
    if !code.is_word(name) || code.mark(open) != b'(' {
        return;
    }
    let end = code.close(open);
    reader.with_body("func", name, at, go_body(code, end + 1).ok_or(end));
    if has_receiver {
        // `(s *Server)`, `(s *Server[T])`, `(Server)`
        let inside = at + 2..name - 1;
        let generic = inside.clone().find(|at| code.mark(*at) == b'[');
        let mut last = (inside.start..generic.unwrap_or(inside.end)).rev();
        if let Some(owner) = last.find(|at| code.is_word(*at)) {
            reader.owned_by(owner);
        }
    }
}

/// `import "a"`, `import name "a"`, or several in parentheses.
fn go_import(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    if code.mark(at + 1) != b'(' {
        let text = (at + 1..at + 3).find(|at| code.kind(*at) == Some(Kind::Text));
        if let Some(text) = text {
            reader.import(at + 1, text);
        }
        return;
    }
    for next in at + 2..code.close(at + 1) {
        if code.kind(next) == Some(Kind::Text) {
            let is_named = code.is_word(next - 1) || code.mark(next - 1) == b'.';
            let from = if is_named && !code.starts_line(next) {
                next - 1
            } else {
                next
            };
            reader.import(from, next);
        }
    }
}

fn go_type(reader: &mut BraceReader<'_>, name: usize, from: usize) {
    let code = reader.code;
    let mut next = name + 1;
    // `[T any]` are type parameters, `[]T` and `[4]T` are types.
    if code.mark(next) == b'[' && code.is_word(next + 1) && code.close(next) > next + 2 {
        next = code.close(next) + 1;
    }
    if code.mark(next) == b'=' {
        next += 1;
    }
    let label = match code.word(next) {
        b"struct" => "struct",
        b"interface" => "interface",
        _ => "type",
    };
    let body = (label != "type" && code.mark(next + 1) == b'{').then_some(next + 1);
    if label == "interface" {
        reader.with_body(label, name, from, body.ok_or(next));
    } else {
        let end = body.map_or_else(|| code.expression(next), |body| code.close(body));
        reader.define(label, name, (from, end));
    }
}

/// The body after the result types. The braces of `interface{}` and `struct{…}` belong to types.
fn go_body(code: &TokenStream<'_>, mut at: usize) -> Option<usize> {
    for _ in 0..MAX_LOOKAHEAD {
        match code.mark(at) {
            b'{' if matches!(code.word(at - 1), b"interface" | b"struct") => {}
            b'{' => return Some(at),
            b')' | b'}' | b';' => return None,
            _ if at >= code.len() || code.word(at) == b"func" && code.starts_line(at) => {
                return None;
            }
            _ => {}
        }
        at = code.skip(at);
    }
    None
}
