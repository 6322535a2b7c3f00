//! The recognizers for Java, Kotlin and Swift.

use super::{BraceReader, BraceRole};
use crate::developer::analyze::language::is_one_of;
use crate::developer::analyze::token_stream::MAX_LOOKAHEAD;

/// Whether a member or a definition may begin here: not after an operator, an opening bracket or a dot.
fn may_begin(reader: &BraceReader<'_>, at: usize) -> bool {
    let code = reader.code;
    at == 0
        || code.is_word(at - 1)
        || code.starts_line(at)
        || matches!(code.mark(at - 1), b'{' | b'}' | b';' | b')' | b'>' | b']')
}

/// The first token of a definition: its modifiers and its type.
fn beginning(reader: &BraceReader<'_>, at: usize) -> usize {
    let mut from = at;
    for _ in 0..40 {
        if from == 0 || reader.code.starts_line(from) {
            break;
        }
        let before = from - 1;
        if matches!(reader.code.mark(before), b'{' | b'}' | b';' | b'(' | b',') {
            break;
        }
        from = before;
    }
    from
}

pub(super) fn java(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let word = code.word(at);
    if word.is_empty() || at > 0 && code.mark(at - 1) == b'.' {
        return;
    }
    let label = match word {
        b"class" => "class",
        b"interface" => "interface",
        b"enum" => "enum",
        b"record" if code.is_word(at + 1) && matches!(code.mark(at + 2), b'(' | b'<') => "record",
        b"import" if reader.role() == BraceRole::Top => {
            return reader.import(at, reader.statement(at).saturating_sub(1));
        }
        b"new" => return anonymous(reader, at),
        _ => return java_method(reader, at),
    };
    if code.is_word(at + 1) && may_begin(reader, at) || at > 0 && code.mark(at - 1) == b'@' {
        let from = beginning(reader, at);
        if let Ok(body) = reader.body(at + 2) {
            reader.with_body(label, at + 1, from, Ok(body));
        }
    }
}

/// The members of an anonymous class: `new Name<T>(…) {`.
fn anonymous(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    for next in at + 1..at + 60 {
        match code.mark(next) {
            b'(' => {
                let body = code.close(next) + 1;
                if code.mark(body) == b'{' {
                    reader.set_role(body, BraceRole::Type);
                }
                return;
            }
            b'<' | b'>' | b'.' | b',' | b'?' | b'@' => {}
            _ if code.is_word(next) => {}
            _ => return,
        }
    }
}

fn java_method(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    if reader.role() != BraceRole::Type || code.language.is_keyword(code.word(at)) || at == 0 {
        return;
    }
    // Enum constants with a body: `A(1) { … }`, `B { … }`.
    if matches!(code.mark(at - 1), b'{' | b',') || code.mark(at - 1) == b')' && code.starts_line(at)
    {
        let body = if code.mark(at + 1) == b'(' {
            code.close(at + 1) + 1
        } else {
            at + 1
        };
        if code.mark(body) == b'{' && (code.mark(at + 1) != b'(' || code.mark(at - 1) == b',') {
            // A constructor in the first place looks the same.
            reader.set_role(body, BraceRole::Type);
            return;
        }
    }
    // A compact constructor of a record has no parameters: `Name {`.
    let typed = code.is_word(at - 1) && !code.language.is_keyword(code.word(at - 1))
        || matches!(code.mark(at - 1), b'>' | b']')
        || matches!(code.mark(at - 1), b'{' | b'}' | b';')
        || code.starts_line(at) && code.mark(at - 1) == b')';
    if code.mark(at + 1) != b'(' || !typed {
        return;
    }
    let has_type = code.is_word(at - 1) || matches!(code.mark(at - 1), b'>' | b']');
    let close = code.close(at + 1);
    let mut next = close + 1;
    let mut throws = false;
    let body = loop {
        match code.mark(next) {
            b'{' if reader.has_role(next) => return,
            b'{' => break Some(next),
            b';' if has_type => break None,
            b',' if !throws => return,
            _ if code.word(next) == b"throws" => throws = true,
            _ if code.word(next) == b"default" => {
                next = reader.statement(next);
                break None;
            }
            b'[' | b']' | b'.' | b',' | b'<' | b'>' | b'@' => {}
            b'(' => next = code.close(next),
            _ if code.is_word(next) => {}
            _ => return,
        }
        next += 1;
        if next > close + 60 && code.mark(next - 1) != b')' {
            return;
        }
    };
    let from = beginning(reader, at);
    reader.with_body("method", at, from, body.ok_or(next));
}

pub(super) fn kotlin(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let word = code.word(at);
    if at > 0
        && matches!(code.mark(at - 1), b'.' | b':')
        && !code.starts_line(at)
        && word != b"object"
    {
        return;
    }
    match word {
        b"fun" if code.word(at + 1) == b"interface" => {}
        b"fun" => kotlin_fun(reader, at),
        b"class" | b"interface" | b"object" | b"typealias" => kotlin_type(reader, at),
        b"import" if code.starts_line(at) && reader.role() == BraceRole::Top => {
            reader.import_line(at);
        }
        _ => {}
    }
}

fn kotlin_fun(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    // `fun <T> Receiver<T>.name(`
    let mut next = code.skip_angles(at + 1);
    let mut name = None;
    let mut owner = None;
    for _ in 0..60 {
        match code.mark(next) {
            b'(' if name.is_some() => break,
            b'<' => {
                let behind = code.skip_angles(next);
                if behind == next {
                    return;
                }
                next = behind;
                continue;
            }
            b'.' | b'?' | b'@' => {}
            b'(' => {
                next = code.skip(next);
                continue;
            }
            _ if code.is_word(next) => owner = name.replace(next).or(owner),
            _ => return,
        }
        next += 1;
    }
    let Some(name) = name.filter(|_| code.mark(next) == b'(') else {
        return;
    };
    let close = code.close(next);
    let from = beginning(reader, at);
    // `: Type<T>`, then braces, `=`, or nothing.
    let mut end = close;
    let mut body = None;
    let mut next = close + 1;
    for _ in 0..MAX_LOOKAHEAD {
        match code.mark(next) {
            b'{' => {
                body = Some(next);
                break;
            }
            b'=' => {
                end = code.expression(next + 1);
                break;
            }
            b':' | b'.' | b'<' | b'>' | b'?' | b',' | b'-' | b'*' | b'&' | b'@' => {}
            b'(' if code.mark(next - 1) != b')' => next = code.close(next),
            _ if code.is_word(next)
                && (!code.starts_line(next)
                    || code.word(next) == b"where"
                    || code.mark(next - 1) == b':') => {}
            _ => break,
        }
        end = next;
        next += 1;
    }
    reader.with_body("fun", name, from, body.ok_or(end));
    if let Some(owner) = owner {
        reader.owned_by(owner);
    }
}

fn kotlin_type(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let label = match code.word(at) {
        b"class" if at > 0 && code.word(at - 1) == b"enum" => "enum",
        b"class" => "class",
        b"interface" => "interface",
        b"typealias" => "typealias",
        _ => "object",
    };
    let companion = at > 0 && code.word(at - 1) == b"companion";
    let named = code.is_word(at + 1) && !(label == "object" && code.starts_line(at + 1));
    let name = if named { at + 1 } else { at };
    if !may_begin(reader, at) && label != "object" {
        return;
    }
    let from = beginning(reader, at);
    if label == "typealias" {
        let end = code.expression(at + 1);
        return reader.define(label, name, (from, end));
    }
    // Parameters and supertypes, and then perhaps braces. Any other token on a new line ends the type.
    let mut next = name + 1;
    let mut end = name;
    let mut body = None;
    for _ in 0..MAX_LOOKAHEAD {
        let behind = code.skip_angles(next);
        if behind > next {
            (end, next) = (behind - 1, behind);
            continue;
        }
        let inherits = matches!(code.mark(end), b':' | b',');
        match code.mark(next) {
            b'{' => {
                body = Some(next);
                break;
            }
            b'(' if !code.starts_line(next) || end == name => {}
            b':' | b',' | b'.' | b'@' => {}
            _ if code.is_word(next)
                && (inherits
                    || !code.starts_line(next)
                    || is_one_of(code.word(next), "constructor where internal private")
                        && code.word(next + 1) != b"val") => {}
            _ => break,
        }
        end = code.skip(next) - 1;
        next = end + 1;
    }
    if named || companion {
        reader.with_body(label, name, from, body.ok_or(end));
        if !named {
            reader.rename("Companion".to_owned());
        }
    } else if let Some(body) = body {
        reader.set_role(body, BraceRole::Type);
    }
}

pub(super) fn swift(reader: &mut BraceReader<'_>, at: usize) {
    let code = reader.code;
    let word = code.word(at);
    if word.is_empty() || at > 0 && matches!(code.mark(at - 1), b'.' | b'#') {
        return;
    }
    let member = reader.role() == BraceRole::Type && may_begin(reader, at);
    let label = match word {
        b"func" => return swift_func(reader, at, at + 1),
        b"init" | b"subscript" if member => return swift_func(reader, at, at),
        b"deinit" if member && code.mark(at + 1) == b'{' => {
            return reader.with_body("func", at, at, Ok(at + 1));
        }
        b"import" if code.starts_line(at) => return reader.import_line(at),
        b"class" if matches!(code.word(at + 1), b"func" | b"var" | b"let" | b"subscript") => return,
        b"class" => "class",
        b"struct" => "struct",
        b"enum" => "enum",
        b"protocol" => "protocol",
        b"actor" if code.is_word(at + 1) => "actor",
        b"extension" => "extension",
        _ => return,
    };
    if !code.is_word(at + 1) || code.mark(at.wrapping_sub(1)) == b':' {
        return;
    }
    // `extension A.B` names B.
    let mut name = at + 1;
    while code.mark(name + 1) == b'.' && code.is_word(name + 2) {
        name += 2;
    }
    let from = beginning(reader, at);
    if let Ok(body) = reader.body(name + 1) {
        reader.with_body(label, name, from, Ok(body));
    }
}

/// `func name<T>(…) async throws -> Type {`; without braces in a protocol.
fn swift_func(reader: &mut BraceReader<'_>, at: usize, name: usize) {
    let code = reader.code;
    let mut open = name + 1;
    while matches!(code.mark(open), b'?' | b'!') || !code.is_word(name) && code.mark(open) != b'(' {
        open += 1;
        if open > name + 8 {
            return;
        }
    }
    let open = code.skip_angles(open);
    if code.mark(open) != b'(' {
        return;
    }
    let mut end = code.close(open);
    let mut next = code.close(open) + 1;
    let mut body = None;
    for _ in 0..MAX_LOOKAHEAD {
        let goes_on = !code.starts_line(next)
            || matches!(code.mark(next), b'-' | b'{')
            || is_one_of(code.word(next), "where throws async rethrows")
            || code.mark(end) == b'>' && code.marks(end - 1, b"->")
            || code.mark(end) == b',';
        match code.mark(next) {
            _ if !goes_on => break,
            b'{' => {
                body = Some(next);
                break;
            }
            b'}' | b';' | b')' => break,
            _ if next >= code.len() => break,
            _ => end = code.skip(next) - 1,
        }
        next = end + 1;
    }
    reader.with_body("func", name, beginning(reader, at), body.ok_or(end));
    // An operator may have several marks.
    if !code.is_word(name) {
        reader.rename(code.phrase(name, open - 1));
    }
}
