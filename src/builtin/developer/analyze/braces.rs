//! Languages that hold their parts together with braces. Here is what they share, and Rust and Go.

use super::code::{Code, FAR};
use super::language::Language::*;
use super::lexer::Kind;
use super::outline::{Findings, Found, Sort};
use super::{c, jvm, script};
use std::collections::HashMap;

/// What a pair of braces is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The file, or what only holds definitions together.
    Top,
    /// The members of a type.
    Type,
    /// What a function does.
    Body,
    /// Anything else.
    Block,
}

/// Goes through the tokens and knows in which braces it is.
pub(super) struct Reader<'a> {
    pub(super) code: &'a Code<'a>,
    pub(super) findings: Findings,
    /// What the braces ahead will be.
    claims: HashMap<usize, Role>,
    /// The braces around, with where they end.
    around: Vec<(usize, Role)>,
}

pub(super) fn read(code: &Code<'_>) -> Findings {
    let recognize = match code.language {
        Rust => rust,
        Go => go,
        Java => jvm::java,
        Kotlin => jvm::kotlin,
        Swift => jvm::swift,
        C | Cpp => c::recognize,
        _ => script::recognize,
    };
    let mut reader = Reader {
        code,
        findings: Findings::default(),
        claims: HashMap::new(),
        around: Vec::new(),
    };
    for at in 0..code.len() {
        while reader.around.last().is_some_and(|(end, _)| *end <= at) {
            reader.around.pop();
        }
        match code.kind(at) {
            Some(Kind::Mark(b'{')) => {
                let role = reader.claims.remove(&at).unwrap_or(Role::Block);
                reader.around.push((code.close(at), role));
            }
            Some(Kind::Word | Kind::Mark(_) | Kind::Directive) => recognize(&mut reader, at),
            _ => {}
        }
    }
    reader.findings
}

impl Reader<'_> {
    /// What the innermost braces are.
    pub(super) fn role(&self) -> Role {
        self.around.last().map_or(Role::Top, |(_, role)| *role)
    }

    /// Says what the braces that open at `at` are.
    pub(super) fn claim(&mut self, at: usize, role: Role) {
        self.claims.insert(at, role);
    }

    pub(super) fn claimed(&self, at: usize) -> bool {
        self.claims.contains_key(&at)
    }

    /// A definition from one token to another; `at` is its name.
    pub(super) fn define(
        &mut self,
        sort: Sort,
        label: &'static str,
        at: usize,
        (from, to): (usize, usize),
    ) {
        let name = String::from_utf8_lossy(self.code.bytes(at)).into_owned();
        self.named(sort, label, name, at, (from, to));
    }

    pub(super) fn named(
        &mut self,
        sort: Sort,
        label: &'static str,
        name: String,
        at: usize,
        (from, to): (usize, usize),
    ) {
        self.findings.found.push(Found {
            sort,
            label,
            name,
            owner: None,
            from,
            at,
            to: to.min(self.code.len().saturating_sub(1)),
        });
    }

    /// Says what the definition that was found last belongs to.
    pub(super) fn owned_by(&mut self, at: usize) {
        let owner = String::from_utf8_lossy(self.code.bytes(at)).into_owned();
        if let Some(found) = self.findings.found.last_mut() {
            found.owner = Some(owner);
        }
    }

    /// A definition whose body, if it has one, opens at `body`; without one it ends at `end`.
    pub(super) fn with_body(
        &mut self,
        sort: Sort,
        label: &'static str,
        at: usize,
        from: usize,
        body: Option<usize>,
        end: usize,
    ) {
        let to = match body {
            Some(body) => {
                let role = match sort {
                    Sort::Function => Role::Body,
                    Sort::Type => Role::Type,
                    Sort::Scope if matches!(label, "impl" | "extension") => Role::Type,
                    Sort::Scope => Role::Top,
                };
                self.claim(body, role);
                self.code.close(body)
            }
            None => end,
        };
        self.define(sort, label, at, (from, to));
    }

    pub(super) fn import(&mut self, from: usize, to: usize) {
        let text = self.code.phrase(from, to);
        self.findings.imports.push((self.code.line(from), text));
    }

    /// The first brace from `at` on, before `;` and any closing bracket; or where the search ended.
    pub(super) fn body(&self, at: usize) -> Result<usize, usize> {
        let mut next = at;
        for _ in 0..FAR {
            match self.code.mark(next) {
                b'{' => return Ok(next),
                b';' | b')' | b']' | b'}' => return Err(next),
                _ if next >= self.code.len() => break,
                _ => next = self.code.skip(next),
            }
        }
        Err(next)
    }

    /// The end of a statement: the next `;` at this level.
    pub(super) fn statement(&self, at: usize) -> usize {
        let mut next = at;
        for _ in 0..FAR {
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

/// Words before `fn` and the like that belong to it.
const RUST_BEFORE: [&str; 7] = [
    "pub", "const", "async", "unsafe", "extern", "default", "crate",
];

fn rust(reader: &mut Reader<'_>, at: usize) {
    let code = reader.code;
    let (label, sort) = match code.word(at) {
        b"fn" => ("fn", Sort::Function),
        b"struct" => ("struct", Sort::Type),
        b"enum" => ("enum", Sort::Type),
        b"union" if matches!(code.mark(at + 2), b'{' | b'<') => ("union", Sort::Type),
        b"trait" => ("trait", Sort::Type),
        b"type" => ("type", Sort::Type),
        b"mod" => ("mod", Sort::Scope),
        b"impl" => return rust_impl(reader, at),
        b"macro_rules" if code.mark(at + 1) == b'!' => {
            if let Ok(body) = reader.body(at + 3) {
                reader.define(Sort::Function, "macro", at + 2, (at, code.close(body)));
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
    // `fn $name` is part of a macro.
    if !code.is_word(name)
        || code.word(name).starts_with(b"$")
        || at > 0 && matches!(code.mark(at - 1), b'$' | b'.')
    {
        return;
    }
    let mut from = at;
    while from > 0
        && RUST_BEFORE
            .iter()
            .any(|w| w.as_bytes() == code.word(from - 1))
    {
        from -= 1;
    }
    let after = code.skip_angles(name + 1);
    match label {
        "fn" if code.mark(after) != b'(' => {}
        "type" => {
            let end = reader.statement(after);
            reader.define(sort, label, name, (from, end));
        }
        "mod" if code.mark(name + 1) != b'{' => {
            if code.mark(name + 1) == b';' {
                reader.import(at, name);
            }
        }
        _ => match reader.body(after) {
            Ok(body) => reader.with_body(sort, label, name, from, Some(body), body),
            Err(end) => reader.with_body(sort, label, name, from, None, end),
        },
    }
}

fn statement_begins(code: &Code<'_>, at: usize) -> bool {
    at == 0
        || matches!(code.mark(at - 1), b';' | b'{' | b'}' | b']' | b')')
        || code.word(at - 1) == b"pub"
}

/// `impl<T> Trait for Type<T> where … {`: the name is that of the type.
fn rust_impl(reader: &mut Reader<'_>, at: usize) {
    let code = reader.code;
    if at > 0
        && !matches!(code.mark(at - 1), b';' | b'{' | b'}' | b']' | b')')
        && !matches!(code.word(at - 1), b"unsafe" | b"default")
    {
        return;
    }
    let (mut next, mut name) = (code.skip_angles(at + 1), None);
    for _ in 0..FAR {
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
            // The type of a slice is what it has.
            (b"", b'[') => {
                next += 1;
                continue;
            }
            // `&'a Type` has a lifetime, which is no word.
            (b"", _) => {}
            _ => name = Some(next),
        }
        next = code.skip(next);
    }
    if let (Some(name), Ok(body)) = (name, reader.body(next)) {
        reader.with_body(Sort::Scope, "impl", name, at, Some(body), body);
    }
}

fn go(reader: &mut Reader<'_>, at: usize) {
    let code = reader.code;
    match code.word(at) {
        b"func" if code.first(at) => {
            let receiver = code.mark(at + 1) == b'(';
            let name = if receiver {
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
            let body = go_body(code, end + 1);
            reader.with_body(Sort::Function, "func", name, at, body, end);
            if receiver {
                // `(s *Server)`, `(s *Server[T])`, `(Server)`
                let inside = at + 2..name - 1;
                let generic = inside.clone().find(|at| code.mark(*at) == b'[');
                let last = (inside.start..generic.unwrap_or(inside.end)).rev();
                if let Some(owner) = last.into_iter().find(|at| code.is_word(*at)) {
                    reader.owned_by(owner);
                }
            }
        }
        b"type" if code.mark(at + 1) == b'(' => {
            let end = code.close(at + 1);
            let mut next = at + 2;
            while next < end {
                if code.first(next) && code.is_word(next) {
                    go_type(reader, next, next);
                }
                next = code.skip(next);
            }
        }
        b"type" if code.is_word(at + 1) && code.first(at) => go_type(reader, at + 1, at),
        b"import" if code.mark(at + 1) == b'(' => {
            for next in at + 2..code.close(at + 1) {
                if code.kind(next) == Some(Kind::Text) {
                    let named = code.is_word(next - 1) || code.mark(next - 1) == b'.';
                    let from = if named && !code.first(next) {
                        next - 1
                    } else {
                        next
                    };
                    reader.import(from, next);
                }
            }
        }
        b"import" => {
            let text = (at + 1..at + 3).find(|at| code.kind(*at) == Some(Kind::Text));
            if let Some(text) = text {
                reader.import(at + 1, text);
            }
        }
        // The methods of an interface.
        _ if reader.role() == Role::Type
            && code.is_word(at)
            && code.first(at)
            && code.mark(at + 1) == b'(' =>
        {
            reader.define(Sort::Function, "func", at, (at, code.close(at + 1)));
        }
        _ => {}
    }
}

fn go_type(reader: &mut Reader<'_>, name: usize, from: usize) {
    let code = reader.code;
    let mut next = name + 1;
    // `[T any]` are parameters, `[]T` and `[4]T` are types.
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
        reader.with_body(Sort::Type, label, name, from, body, next);
    } else {
        let end = body.map_or_else(|| code.expression(next), |body| code.close(body));
        reader.define(Sort::Type, label, name, (from, end));
    }
}

/// The braces behind the results: those of `interface{}` and `struct{…}` are types.
fn go_body(code: &Code<'_>, mut at: usize) -> Option<usize> {
    for _ in 0..FAR {
        match code.mark(at) {
            b'{' if matches!(code.word(at - 1), b"interface" | b"struct") => {}
            b'{' => return Some(at),
            b')' | b'}' | b';' => return None,
            _ if at >= code.len() || code.word(at) == b"func" && code.first(at) => return None,
            _ => {}
        }
        at = code.skip(at);
    }
    None
}
