//! The recognizer for JavaScript and TypeScript, with JSX.

use super::{BraceReader, BraceRole};
use crate::developer::analyze::language::Language::TypeScript;
use crate::developer::analyze::language::is_one_of;
use crate::developer::analyze::lexer::Kind;
use crate::developer::analyze::token_stream::MAX_LOOKAHEAD;

/// Words that may precede a member.
const MODIFIERS: &str = "abstract accessor async declare get override private protected public readonly \
    set static";
/// Words that may precede a definition.
const BEFORE: &str = "abstract async const declare default export let var";

pub(super) fn recognize(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    if matches!(code.mark(at), b'=' | b':') {
        return assigned(reader, at);
    }
    let word = code.word(at);
    if word.is_empty()
        || at > 0 && code.mark(at - 1) == b'.' && code.mark(at.wrapping_sub(2)) != b'.'
    {
        return;
    }
    let next_is_name = code.is_word(at + 1);
    let label = match word {
        b"function" => return function(reader, at),
        b"class" if next_is_name || code.mark(at + 1) == b'{' => "class",
        b"interface" if next_is_name => "interface",
        b"enum" if next_is_name => "enum",
        b"namespace" | b"module" if next_is_name || code.kind(at + 1) == Some(Kind::Text) => {
            "namespace"
        }
        b"type" if next_is_name && matches!(code.mark(at + 2), b'=' | b'<') => "type",
        b"import" => return import(reader, at),
        b"export" if matches!(code.mark(at + 1), b'{' | b'*') => return reexport(reader, at),
        b"require" if code.mark(at + 1) == b'(' && code.kind(at + 2) == Some(Kind::Text) => {
            return reader.import(at, (at + 3).min(code.len() - 1));
        }
        _ => return method(reader, at),
    };
    if label == "type" {
        return type_alias(reader, at);
    }
    container(reader, at, label);
}

/// `type Name<T> = …`
fn type_alias(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let mut end = code.skip_angles(at + 2);
    if code.mark(end) != b'=' {
        return;
    }
    end = reader.statement(end + 1).min(code.expression(end + 1));
    reader.define("type", at + 1, (reader.beginning(at, BEFORE), end));
}

/// A class, interface, enum or namespace, which may have no name.
fn container(reader: &mut BraceReader<'_>, at: usize, label: &'static str) {
    let code = reader.code;
    let named = code.is_word(at + 1) && code.word(at + 1) != b"extends";
    let mut next = at + 1 + usize::from(named);
    let mut body = None;
    for _ in 0..MAX_LOOKAHEAD {
        match code.mark(next) {
            b'{' => {
                body = Some(next);
                break;
            }
            b'<' => next = code.skip_angles(next).max(next + 1),
            b'.' | b',' | b'(' | b'[' | b'&' => next = code.skip(next),
            _ if code.is_word(next) || code.kind(next) == Some(Kind::Text) => next += 1,
            _ => break,
        }
    }
    match body {
        Some(body) if named => {
            let from = reader.beginning(at, BEFORE);
            reader.with_body(label, at + 1, from, Ok(body));
            // The entries of an enum only look like members.
            if label == "enum" {
                reader.set_role(body, BraceRole::Block);
            }
        }
        Some(body) if label == "class" => reader.set_role(body, BraceRole::Type),
        Some(body) => reader.set_role(body, BraceRole::Top),
        None => {}
    }
}

fn function(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let name = at + 1 + usize::from(code.mark(at + 1) == b'*');
    let open = if code.is_word(name) {
        code.skip_angles(name + 1)
    } else {
        code.skip_angles(name)
    };
    if code.mark(open) != b'(' {
        return;
    }
    let close = code.close(open);
    let body = body(reader, close + 1);
    if code.is_word(name) {
        let from = reader.beginning(at, BEFORE);
        reader.with_body("function", name, from, body.map_err(|end| end.max(close)));
    } else if let Ok(body) = body {
        reader.set_role(body, BraceRole::Body);
    }
}

/// The body after parameters and an optional type; without one, where the definition ends.
fn body(reader: &BraceReader<'_>, at: usize) -> Result<usize, usize> {
    let code = reader.code;
    match code.mark(at) {
        b'{' => return Ok(at),
        b':' => {}
        _ => return Err(at - 1),
    }
    let mut next = at + 1;
    for _ in 0..MAX_LOOKAHEAD {
        match code.mark(next) {
            // A type may begin with braces, or have them after an operator.
            b'{' => match code.mark(next - 1) {
                b':' | b'|' | b'&' | b'<' | b',' => next = code.skip(next),
                b'>' if code.mark(next - 2) == b'=' => next = code.skip(next),
                _ => return Ok(next),
            },
            b';' | b')' | b'}' | b']' | b',' => return Err(next - 1),
            b'=' if code.mark(next + 1) != b'>' => return Err(next - 1),
            b'<' => next = code.skip_angles(next).max(next + 1),
            _ if next >= code.len() => break,
            _ if code.starts_line(next)
                && !b"|&:.".contains(&code.mark(next))
                && ends_type(reader, next - 1) =>
            {
                return Err(next - 1);
            }
            _ => next = code.skip(next),
        }
    }
    Err(next.min(code.len() - 1))
}

fn ends_type(reader: &BraceReader<'_>, at: usize) -> bool {
    let code = reader.code;
    let goes_on = matches!(code.mark(at), b':' | b'|' | b'&' | b',' | b'<')
        || code.mark(at) == b'>' && code.mark(at - 1) == b'=';
    !goes_on
}

/// `name(…) {` in a class, an object or an interface.
fn method(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let word = code.word(at);
    let optional = usize::from(code.mark(at + 1) == b'?');
    let open = match code.mark(at + 1 + optional) {
        b'<' => code.skip_angles(at + 1 + optional),
        _ => at + 1 + optional,
    };
    if code.mark(open) != b'(' || at == 0 {
        return;
    }
    let in_type = reader.role() == BraceRole::Type;
    if code.language.is_keyword(word) && !(in_type && code.starts_line(at)) {
        return;
    }
    // `#name` is private.
    let private = usize::from(code.mark(at - 1) == b'#' && at > 1);
    let at_sign = at - private;
    let before = at_sign - 1;
    let modified = is_one_of(code.word(before), MODIFIERS);
    let begins = code.starts_line(at_sign)
        || modified
        || matches!(code.mark(before), b'{' | b'}' | b';' | b',' | b'*');
    let close = code.close(open);
    if !begins
        || optional > 0 && !in_type
        || matches!(code.mark(before), b'=' | b'+' | b'?' | b'|' | b'&')
    {
        return;
    }
    let after = close + 1;
    let body = match code.mark(after) {
        // Braces on a new line are a block, and this was a call.
        b'{' if in_type || !code.starts_line(after) => Ok(after),
        b':' if in_type
            || code.language == TypeScript && !matches!(reader.role(), BraceRole::Body) =>
        {
            body(reader, after)
        }
        _ => Err(close),
    };
    let declared = in_type && code.language == TypeScript;
    if body.map_or(!declared, |body| reader.has_role(body)) {
        return;
    }
    let from = if modified { before } else { at };
    reader.with_body("method", at, from, body);
}

/// `name = (…) => …`, `name: function (…) {` and the like.
fn assigned(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let property = code.mark(at) == b':';
    if at == 0 || b"=!<>:?".contains(&code.mark(at + 1)) && code.mark(at + 1) != 0 {
        return;
    }
    let mut value = at + 1;
    if code.word(value) == b"async" {
        value += 1;
    }
    let typed = code.language == TypeScript;
    let to = if code.word(value) == b"function" {
        let named = code.is_word(value + 1);
        if named && property {
            return;
        }
        let open = (value + 1..value + 4).find(|at| code.mark(*at) == b'(');
        let Some(open) = open else { return };
        match body(reader, code.close(open) + 1) {
            Ok(body) => code.close(body),
            Err(_) => return,
        }
    } else {
        let Some(arrow) = arrow(reader, value) else {
            return;
        };
        let begin = arrow + 2;
        match code.mark(begin) {
            b'{' => {
                reader.set_role(begin, BraceRole::Body);
                code.close(begin)
            }
            _ if property && typed => return,
            _ => code.expression(begin),
        }
    };
    let Some((name, declared)) = target(reader, at) else {
        return;
    };
    if property && (typed && declared || code.word(name - name.min(1)) == b"case") {
        return;
    }
    reader.define("function", name, (reader.beginning(name, BEFORE), to));
}

/// The target of an assignment: the word before `=` and an optional type; and whether `let`, `const` or `var`
/// precedes it.
fn target(reader: &BraceReader<'_>, at: usize) -> Option<(usize, bool)> {
    let code = reader.code;
    let is_declared = |name: usize| name > 0 && is_one_of(code.word(name - 1), "const let var");
    let typed = || {
        // `const name: Type = …`
        let mut back = at;
        for _ in 0..60 {
            back = back.checked_sub(1)?;
            if code.mark(back) == b':' && back > 0 && is_declared(back - 1) {
                return Some((back - 1, true));
            }
            if code.starts_line(back) || matches!(code.mark(back), b';' | b'{') {
                return None;
            }
        }
        None
    };
    if code.mark(at) == b'='
        && !is_declared(at - 1)
        && let Some(found) = typed()
    {
        return Some(found);
    }
    if code.is_word(at - 1) && code.mark(at.wrapping_sub(2)) != b':' {
        let default = matches!(code.mark(at.wrapping_sub(2)), b'(' | b',') && code.mark(at) == b'=';
        return (!default).then(|| (at - 1, is_declared(at - 1)));
    }
    None
}

/// The `=>` after the parameters that begin at `at`.
fn arrow(reader: &BraceReader<'_>, at: usize) -> Option<usize> {
    let code = reader.code;
    let open = code.skip_angles(at);
    if code.is_word(open) && code.marks(open + 1, b"=>") {
        return Some(open + 1);
    }
    if code.mark(open) != b'(' {
        return None;
    }
    let mut next = code.close(open) + 1;
    if code.marks(next, b"=>") {
        return Some(next);
    }
    if code.mark(next) != b':' || code.language != TypeScript {
        return None;
    }
    for _ in 0..60 {
        next = code.skip(next);
        match code.mark(next) {
            b'=' if code.marks(next, b"=>") => return Some(next),
            b';' | b'=' | b')' | b'}' => return None,
            _ if next >= code.len() => return None,
            _ => {}
        }
    }
    None
}

fn import(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    if code.mark(at + 1) == b'.' || code.mark(at + 1) == b':' {
        return;
    }
    if code.mark(at + 1) == b'(' {
        if code.kind(at + 2) == Some(Kind::Text) {
            reader.import(at, (at + 3).min(code.len() - 1));
        }
        return;
    }
    for next in at + 1..(at + MAX_LOOKAHEAD).min(code.len()) {
        match code.kind(next) {
            Some(Kind::Text) => return reader.import(at, next),
            Some(Kind::Mark(b';' | b'(')) => return,
            _ => {}
        }
    }
}

/// `export { … } from "…"` and `export * from "…"`.
fn reexport(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let mut next = code.skip(at + 1);
    if code.word(next) == b"as" {
        next += 2;
    }
    if code.word(next) == b"from" && code.kind(next + 1) == Some(Kind::Text) {
        reader.import(at, next + 1);
    }
}
