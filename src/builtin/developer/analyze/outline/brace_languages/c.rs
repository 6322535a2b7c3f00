//! The recognizer for C and C++.

use super::{BraceReader, BraceRole};
use crate::developer::analyze::language::Language::Cpp;
use crate::developer::analyze::language::is_one_of;
use crate::developer::analyze::lexer::Kind;
use crate::developer::analyze::token_stream::MAX_LOOKAHEAD;

/// Words after the parameters that are skipped.
const QUALIFIERS: &str = "const final mutable noexcept override try volatile";

pub(super) fn recognize(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    if code.kind(at) == Some(Kind::Directive) {
        return directive(reader, at);
    }
    match code.word(at) {
        b"" => {}
        b"struct" => record(reader, at, "struct"),
        b"union" => record(reader, at, "union"),
        b"class" if code.language == Cpp && code.word(at.wrapping_sub(1)) != b"enum" => {
            record(reader, at, "class");
        }
        b"enum" => record(reader, at, "enum"),
        b"namespace" if code.language == Cpp => namespace(reader, at),
        b"extern" if code.kind(at + 1) == Some(Kind::Text) && code.mark(at + 2) == b'{' => {
            reader.set_role(at + 2, BraceRole::Top);
        }
        b"operator" if code.language == Cpp => operator(reader, at),
        word => {
            // `name<true>(` specializes a template.
            let open = match code.language {
                Cpp => code.skip_angles(at + 1),
                _ => at + 1,
            };
            if code.mark(open) == b'(' && !code.language.is_keyword(word) {
                function(reader, at, open);
            }
        }
    }
}

/// `#include`, and function-like macros of `#define`.
fn directive(reader: &mut BraceReader<'_>, at: usize) {
    let text = reader.code.bytes(at);
    let line = text[1..].trim_ascii_start();
    if line.starts_with(b"include") || line.starts_with(b"import") {
        return reader.import(at, at);
    }
    let Some(rest) = line.strip_prefix(b"define") else {
        return;
    };
    let rest = rest.trim_ascii_start();
    let length = rest
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
        .count();
    if rest.get(length) == Some(&b'(') {
        let name = String::from_utf8_lossy(&rest[..length]).into_owned();
        reader.define("macro", at, (at, at));
        reader.rename(name);
    }
}

/// A structure, union, class or enum, if its members follow.
fn record(reader: &mut BraceReader<'_>, at: usize, label: &'static str) {
    let code = reader.code;
    let mut next = at + 1;
    let mut name = None;
    let body = loop {
        if next > at + 40 {
            return;
        }
        match code.mark(next) {
            b'{' => break next,
            // Base classes, or the underlying type of an enum.
            b':' if code.mark(next + 1) != b':' && code.mark(next - 1) != b':' => {
                let Ok(body) = reader.body(next + 1) else {
                    return;
                };
                break body;
            }
            b':' => next += 1,
            b'<' => {
                let behind = code.skip_angles(next);
                if behind == next {
                    return;
                }
                next = behind;
            }
            // `__attribute__((…))`, `[[…]]`
            b'[' => next = code.skip(next),
            b'(' if code.is_word(next - 1) && next - 1 > at => {
                name = None;
                next = code.skip(next);
            }
            _ if code.is_word(next) => {
                if !matches!(code.word(next), b"final" | b"class" | b"struct") {
                    name = Some(next);
                }
                next += 1;
            }
            _ => return,
        }
    };
    let typedef = (at.saturating_sub(3)..at).any(|before| code.word(before) == b"typedef");
    let close = code.close(body);
    // `typedef struct { … } Name;`
    let behind = (close + 1..close + 4).find(|at| code.is_word(*at) && code.mark(at + 1) == b';');
    let Some(name) = name.or(behind.filter(|_| typedef)) else {
        return reader.set_role(body, BraceRole::Type);
    };
    if name < body {
        reader.with_body(label, name, at, Ok(body));
    } else {
        reader.define(label, name, (at, name));
        reader.set_role(body, BraceRole::Type);
    }
    if label == "enum" {
        reader.set_role(body, BraceRole::Block);
    }
}

fn namespace(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let mut next = at + 1;
    while next < at + 30 && (code.is_word(next) || matches!(code.mark(next), b':' | b'[' | b'(')) {
        next = code.skip(next);
    }
    if code.mark(next) != b'{' {
        return;
    }
    if code.is_word(next - 1) && next - 1 > at {
        reader.with_body("namespace", next - 1, at, Ok(next));
    } else {
        reader.set_role(next, BraceRole::Top);
    }
}

/// `operator==(`, `operator()(`, `operator bool(`.
fn operator(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let mut open = at + 1;
    if code.marks(open, b"()") {
        open += 2;
    }
    while open < at + 12 && code.mark(open) != b'(' {
        open += 1;
    }
    if code.mark(open) != b'(' {
        return;
    }
    let count = reader.findings.found.len();
    function(reader, at, open);
    if reader.findings.found.len() > count {
        reader.rename(code.phrase(at, open - 1));
    }
}

/// A function, if the name at `at` is followed by parameters at `open` and a body.
fn function(reader: &mut BraceReader<'_>, at: usize, open: usize) {
    let code = reader.code;
    if matches!(reader.role(), BraceRole::Body | BraceRole::Block) || !may_name(reader, at) {
        return;
    }
    let typed = code.is_word(at.wrapping_sub(1)) || b"*&>".contains(&code.mark(at.wrapping_sub(1)));
    let Some(body) =
        body(reader, code.close(open) + 1, typed).filter(|body| !reader.has_role(*body))
    else {
        // There are no functions between the name of a function and its body.
        return;
    };
    let mut from = at;
    for _ in 0..40 {
        let before = from.wrapping_sub(1);
        let ends = matches!(code.mark(before), b';' | b'}' | b'{' | b')')
            || code.mark(before) == b':'
                && code.mark(before.wrapping_sub(1)) != b':'
                && code.mark(from) != b':'
            || !matches!(code.kind(before), Some(Kind::Word | Kind::Mark(_)));
        if ends {
            break;
        }
        from = before;
    }
    reader.with_body("function", at, from, Ok(body));
    let mut name = at;
    if code.mark(at.wrapping_sub(1)) == b'~' {
        name = at - 1;
        reader.rename(format!("~{}", String::from_utf8_lossy(code.bytes(at))));
    }
    if name >= 3 && code.marks(name - 2, b"::") {
        let mut owner = name - 3;
        if code.mark(owner) == b'>' {
            let back = (owner.saturating_sub(40)..owner).rev();
            let opens = back
                .into_iter()
                .find(|at| code.skip_angles(*at) == owner + 1);
            owner = opens.map_or(owner, |at| at.saturating_sub(1));
        }
        if code.is_word(owner) {
            reader.owned_by(owner);
        }
    }
}

/// Whether the token before a name is a type, a qualifier or the end of something else.
fn may_name(reader: &BraceReader<'_>, at: usize) -> bool {
    let code = reader.code;
    let Some(before) = at.checked_sub(1) else {
        return true;
    };
    match code.kind(before) {
        Some(Kind::Word) => !is_one_of(
            code.word(before),
            "return new else throw case goto sizeof defined",
        ),
        Some(Kind::Mark(b'>')) => code.mark(before.wrapping_sub(1)) != b'-',
        Some(Kind::Mark(mark)) => b"*&;}{:~)]".contains(&mark),
        Some(Kind::Text | Kind::Directive) => true,
        _ => false,
    }
}

/// The body after the parameters.
fn body(reader: &BraceReader<'_>, at: usize, has_type: bool) -> Option<usize> {
    let code = reader.code;
    let mut next = at;
    let mut words = 0;
    let mut old_style = false;
    for _ in 0..MAX_LOOKAHEAD {
        match code.mark(next) {
            b'{' if old_style && code.mark(next - 1) != b';' => return None,
            b'{' => return Some(next),
            // Parameter declarations in the style before C89.
            b';' if words > 0 && code.language != Cpp => old_style = true,
            b'*' | b',' | b'[' if words > 0 && code.language != Cpp => next = code.skip(next) - 1,
            b'[' => next = code.skip(next) - 1,
            b'(' if old_style => return None,
            // In `MACRO(x) int f(`, the name is `f`.
            b'(' if words > 0 && (words > 1 || !is_qualifier(code.word(next - 1))) => {
                let typed = !has_type && !code.starts_line(next - 1)
                    || code.is_word(next.wrapping_sub(2))
                    || matches!(code.mark(next - 2), b'*' | b'&');
                if typed && !is_qualifier(code.word(next - 2)) {
                    return None;
                }
                next = code.skip(next) - 1;
            }
            b'(' => next = code.skip(next) - 1,
            b'-' if code.marks(next, b"->") => next = result(reader, next + 2) - 1,
            b'&' if code.language == Cpp => {}
            b':' if !code.marks(next, b"::") && code.language == Cpp => {
                return initialised(reader, next + 1);
            }
            _ if code.is_word(next) => {
                words += usize::from(!is_qualifier(code.word(next)));
            }
            0 if code.kind(next) == Some(Kind::Directive) => {}
            _ => return None,
        }
        next += 1;
    }
    None
}

fn is_qualifier(word: &[u8]) -> bool {
    is_one_of(word, QUALIFIERS)
}

/// The token after the type that follows `->`.
fn result(reader: &BraceReader<'_>, at: usize) -> usize {
    let code = reader.code;
    let mut next = at;
    for _ in 0..60 {
        next = match code.mark(next) {
            b'<' => code.skip_angles(next).max(next + 1),
            b':' | b'*' | b'&' | b'.' => next + 1,
            b'(' => code.skip(next),
            _ if code.is_word(next) => next + 1,
            _ => break,
        };
    }
    next
}

/// The body after the initializers of a constructor: `a(1), b{2}, c<T>(3) {`.
fn initialised(reader: &BraceReader<'_>, at: usize) -> Option<usize> {
    let code = reader.code;
    let mut next = at;
    for _ in 0..MAX_LOOKAHEAD {
        match code.mark(next) {
            b'<' => next = code.skip_angles(next).max(next + 1),
            b'(' => next = code.skip(next),
            b'{' if code.is_word(next - 1) || code.mark(next - 1) == b'>' => next = code.skip(next),
            b'{' => return Some(next),
            b',' | b':' | b'.' => next += 1,
            _ if code.is_word(next) || code.kind(next) == Some(Kind::Directive) => next += 1,
            _ => return None,
        }
    }
    None
}
