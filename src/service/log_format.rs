//! The form of log lines: text, JSON, or text with the priorities that systemd's journal reads (sd-daemon(3)).

use crate::command_line::logging;
use crate::store::settings::LOG_FORMAT;
use crate::sys::clock::now_rfc3339;
use crate::{sys, trace};
use log::Level;
use serde_json::{Map, Value};
use std::env;

/// Sets the form that the variable names, also with the traces of records.
///
/// # Errors
/// It names none.
pub(crate) fn install() -> Result<(), String> {
    let wanted = env::var(LOG_FORMAT.name).unwrap_or_default();
    logging::set_format(match wanted.trim() {
        "" | "text" => text,
        "json" => json,
        "journald" => journald,
        _ => {
            return Err(format!(
                "{} is neither text, json nor journald",
                LOG_FORMAT.name
            ));
        }
    });
    sys::set_trace_source(trace::of_caller);
    Ok(())
}

/// The text with the trace of the thread, if there is one.
fn traced(text: &str) -> String {
    match trace::of_caller() {
        Some(trace) => format!("{text} trace={}", trace::id(&trace)),
        None => text.to_owned(),
    }
}

fn text(level: Option<Level>, text: &str, _: bool) -> String {
    match level {
        Some(level) => format!("{} {level} {}\n", now_rfc3339(), traced(text)),
        None => text.to_owned(),
    }
}

/// The journal has the time; a file needs it.
fn journald(level: Option<Level>, said: &str, is_stderr: bool) -> String {
    if !is_stderr {
        return text(level, said, false);
    }
    let priority = match level {
        Some(Level::Error) => 3,
        Some(Level::Warn) => 4,
        None | Some(Level::Info) => 6,
        Some(Level::Debug | Level::Trace) => 7,
    };
    let lines = said.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| format!("<{priority}>{}\n", traced(line)))
        .collect()
}

fn json(level: Option<Level>, text: &str, _: bool) -> String {
    let mut record = Map::new();
    let level = level.unwrap_or(Level::Info).as_str().to_ascii_lowercase();
    record.insert("time".to_owned(), now_rfc3339().into());
    record.insert("level".to_owned(), level.into());
    let (message, fields) = split(text.trim_end());
    record.insert("message".to_owned(), message.into());
    if let Some(trace) = trace::of_caller() {
        record.insert("trace_id".to_owned(), trace::id(&trace).into());
    }
    if !fields.is_empty() {
        record.insert("fields".to_owned(), fields.into());
    }
    Value::Object(record).to_string() + "\n"
}

/// The words of a record, and the pairs `name=value` at its end. A text that is not made like this has no pairs.
fn split(text: &str) -> (&str, Map<String, Value>) {
    let begins = text.match_indices(' ').map(|(at, _)| at);
    let mut begins = begins.filter(|at| name_of(&text[at + 1..]).is_some());
    let pairs = begins.next().and_then(|at| Some((at, pairs(&text[at..])?)));
    match pairs {
        Some((at, fields)) => (&text[..at], fields),
        None => (text, Map::new()),
    }
}

/// The pairs in a text that has nothing else; each after a space.
fn pairs(mut rest: &str) -> Option<Map<String, Value>> {
    let mut fields = Map::new();
    while !rest.is_empty() {
        rest = rest.strip_prefix(' ')?;
        let name = name_of(rest)?;
        rest = &rest[name.len() + 1..];
        let end = match rest.strip_prefix('"') {
            Some(quoted) => end_of_quoted(quoted)? + 2,
            None => rest.find(' ').unwrap_or(rest.len()),
        };
        let value = &rest[..end];
        rest = &rest[end..];
        fields.insert(name.to_owned(), value_of(value));
    }
    Some(fields)
}

/// The name before a `=`.
fn name_of(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('=')?;
    let is_name = |b: u8| b.is_ascii_lowercase() || b == b'_';
    (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
}

/// Where the quote ends that begins before this text.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

/// A number, or a text: one that is quoted as JSON does, or as it stands.
fn value_of(value: &str) -> Value {
    let read: Option<Value> = serde_json::from_str(value).ok();
    let read = read.filter(|it| it.is_number() || it.is_string());
    read.unwrap_or_else(|| value.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pairs_at_the_end_become_members() {
        for (text, message, fields) in [
            ("stopping signal=15", "stopping", json!({"signal": 15})),
            (
                "access path=\"/a b\\\"=c\" ms=1.5 key=\"-\"",
                "access",
                json!({"path": "/a b\"=c", "ms": 1.5, "key": "-"}),
            ),
            (
                "listens on http://127.0.0.1:1",
                "listens on http://127.0.0.1:1",
                json!({}),
            ),
            (
                "failed reason=no such file",
                "failed reason=no such file",
                json!({}),
            ),
            ("x name=\"open", "x name=\"open", json!({})),
            ("a=b c", "a=b c", json!({})),
            (
                "x address=127.0.0.1:80 note=",
                "x",
                json!({"address": "127.0.0.1:80", "note": ""}),
            ),
            (
                "odd \"quoted\\u{a}\" id=\"\\u{a}\"",
                "odd \"quoted\\u{a}\"",
                json!({"id": "\"\\u{a}\""}),
            ),
        ] {
            let (said, found) = split(text);
            assert_eq!((said, Value::Object(found)), (message, fields), "{text}");
        }
    }

    #[test]
    fn each_form_has_its_lines() {
        let line = json(Some(Level::Warn), "odd \u{7f}\" é count=2", true);
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&read["level"], &read["message"]),
            (&json!("warn"), &json!("odd \u{7f}\" é"))
        );
        assert_eq!(read["fields"], json!({"count": 2}));
        assert!(line.ends_with("}\n") && line.matches('\n').count() == 1);
        let said = "gosling: wrong\ntry this\n";
        assert_eq!(
            journald(None, said, true),
            "<6>gosling: wrong\n<6>try this\n"
        );
        assert_eq!(journald(Some(Level::Error), "x", true), "<3>x\n");
        assert_eq!(text(None, said, true), said);
        let of_file = journald(Some(Level::Error), "x", false);
        assert!(of_file.ends_with("Z ERROR x\n"), "{of_file}");
    }
}
