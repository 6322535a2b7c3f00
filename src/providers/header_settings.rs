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
mod tests {
    use super::*;
    use gosling_core::store::settings::{Given, Kind, Setting, Wrong};
    use serde_json::json;

    const HEADERS: Setting<'static> = Setting {
        name: "X_CUSTOM_HEADERS",
        kind: Kind::Headers(read),
        default: "",
        environment_only: false,
        wrong: Wrong::Fails,
    };

    fn fault(text: &str) -> Option<String> {
        let fault = HEADERS.fault_of(&Given::of_variable(text));
        fault.map(|fault| fault.to_string())
    }

    #[test]
    fn headers_are_read_in_every_form_that_users_write() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let both = vec![pair("A", "b"), pair("C-D", "e=f")];
        for value in [
            json!("A=b, C-D=e=f"),
            json!("A=b\nC-D=e=f\n"),
            json!({"A": "b", "C-D": "e=f"}),
        ] {
            assert_eq!(read(&value), (Some(both.clone()), None), "{value}");
            let text = value.as_str().map_or(value.to_string(), str::to_owned);
            let of_variable = HEADERS.pairs_of(Some(Given::of_variable(&text)));
            assert_eq!(of_variable.unwrap(), both, "{text}");
        }
        let comma = read(&json!("A=b, c"));
        assert_eq!(comma, (Some(vec![pair("A", "b, c")]), None));
        let partly = read(&json!("A=b\nnonsense\nC-D=e=f"));
        assert_eq!(partly.0, Some(both));
        assert!(partly.1.is_some_and(|wrong| wrong.contains("line 2")));
        assert_eq!(fault("A=b"), None);
        assert!(fault("no pair").is_some());
        for value in [json!(["A=b"]), json!({"A": ["b"]})] {
            assert!(read(&value).1.is_some(), "{value}");
        }
    }

    #[test]
    fn no_sentence_contains_a_secret() {
        gosling_testing::property_testing::check(|u| {
            let secret: u64 = u.int_in_range(1_000_000_000..=u64::MAX)?;
            let secret = secret.to_string();
            let begin = *u.choose(&["", "x", "A=", "[", "{\"a\":", "\n"])?;
            let text = format!("{begin}{secret}{}", u.arbitrary::<String>()?);
            for value in [
                json!(text),
                json!([text]),
                json!({"A b": text}),
                json!({"A": [text]}),
                crate::json::from_str(&secret).unwrap_or_default(),
            ] {
                for wrong in [read(&value).1, fault(&value.to_string())] {
                    let wrong = wrong.unwrap_or_default();
                    assert!(!wrong.contains(&secret), "{wrong}");
                }
            }
            Ok(())
        });
    }
}
