//! The settings with the HTTP headers of the user.

use gosling_core::store::settings::{Pairs, Read};
use gosling_core::text::printable;
use gosling_shared::is_token;
use serde_json::Value;

/// How many headers one setting may hold.
const MAX_HEADERS: usize = 64;
/// How many characters of a wrong name are shown.
const MAX_SHOWN: usize = 100;

/// Parses headers: a mapping, or `A=b` separated by commas or on separate lines. A comma is a part of the value if no
/// further `A=` follows it.
pub(super) fn read(value: &Value) -> Read<Pairs> {
    let (mut pairs, mut wrong) = match value {
        Value::Object(fields) => {
            let (mut pairs, mut wrong) = (Vec::new(), None);
            for (name, value) in fields {
                let value = match value {
                    Value::String(text) => text.trim().to_owned(),
                    Value::Number(number) if !number.is_f64() => number.to_string(),
                    _ => String::new(),
                };
                if is_token(name) && !value.is_empty() {
                    pairs.push((name.clone(), value));
                } else {
                    let name = printable(name, MAX_SHOWN);
                    wrong.get_or_insert(format!("has the header {name:?} without such text"));
                }
            }
            (pairs, wrong)
        }
        Value::String(text) => headers_in_text(text),
        _ => return (None, Some("is neither a mapping nor text".to_owned())),
    };
    if pairs.len() > MAX_HEADERS {
        pairs.truncate(MAX_HEADERS);
        wrong = Some(format!("has more than {MAX_HEADERS} headers"));
    }
    (Some(pairs), wrong)
}

fn headers_in_text(text: &str) -> (Pairs, Option<String>) {
    let (mut pairs, mut wrong) = (Pairs::new(), None);
    for (index, line) in text.lines().enumerate() {
        let mut in_line = false;
        for piece in line.split(',') {
            match piece.split_once('=') {
                Some((name, value)) if is_token(name.trim()) => {
                    pairs.push((name.trim().to_owned(), value.trim().to_owned()));
                    in_line = true;
                }
                _ => match pairs.last_mut().filter(|_| in_line) {
                    Some((_, value)) => {
                        value.push(',');
                        value.push_str(piece.trim_end());
                    }
                    None if piece.trim().is_empty() => {}
                    None => {
                        let line = index + 1;
                        wrong.get_or_insert(format!("has text without NAME= in its line {line}"));
                    }
                },
            }
        }
    }
    (pairs, wrong)
}

#[cfg(test)]
mod tests;
