use super::{Report, in_ascii, lines};
use crate::place::Place;
use serde_json::{Value, json};
use std::path::PathBuf;

fn report() -> Report {
    let mut report = Report::default();
    report.section("first");
    report.value("text", "red \u{1b}[31m\u{202e}");
    report.value("empty", Value::Null);
    report.section("second");
    report.value("is_on", true);
    report.place(
        "place",
        Place::private(PathBuf::from("/nonexistent/\u{1b}\u{202e}ü")),
    );
    report.fault("place", "it is \u{7}gone");
    report
}

#[test]
#[cfg_attr(windows, ignore = "no path has such characters on Windows")]
fn text_has_one_line_for_each_row_and_nothing_invisible() {
    assert_eq!(
        report().to_text(),
        "first\n  text   red \\u{1b}[31m\\u{202e}\n  empty  none\n\n\
         second\n  is_on  yes\n  place  /nonexistent/\\u{1b}\\u{202e}ü (does not exist)\n\n\
         wrong\n  second.place: it is \\u{7}gone\n"
    );
    let mut fine = Report::default();
    fine.section("one");
    fine.value("n", 1);
    assert_eq!(fine.to_text(), "one\n  n  1\n\nnothing is wrong\n");
}

#[test]
#[cfg_attr(windows, ignore = "no path has such characters on Windows")]
fn json_is_exact_and_in_ascii() {
    let text = report().to_json();
    assert!(
        text.bytes().all(|byte| matches!(byte, b'\n' | b' '..=b'~')),
        "{text}"
    );
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        read,
        json!({
            "first": {"text": "red \u{1b}[31m\u{202e}", "empty": null},
            "second": {"is_on": true, "place": {"path": "/nonexistent/\u{1b}\u{202e}ü", "exists": false}},
            "faults": ["second.place: it is \u{7}gone"],
        })
    );
    assert_eq!(in_ascii("\"\u{7f}😀\""), "\"\\u007f\\ud83d\\ude00\"");
}

#[test]
fn lists_are_wrapped() {
    let items: Vec<Value> = (0..40).map(|n| format!("item-{n}").into()).collect();
    let text = lines(&items, 12);
    let mut rows = text.lines();
    assert!(rows.next().unwrap().starts_with("item-0, item-1"));
    assert!(rows.all(|row| row.starts_with("            item-") && row.len() < 80));
    assert_eq!(text.split_whitespace().count(), 40);
    assert_eq!(lines(&[], 4), "none");
}
