use super::*;

#[test]
fn every_part_has_a_row_of_its_own() {
    let json = r#"{"command": "cd /tmp\nmake\tall", "n": 1.0e3, "none": [], "deep":
            {"list": ["a", {"b": null}], "two words | x": true}, "n": "1"}"#;
    assert_eq!(
        arguments(json),
        [
            "  command | cd /tmp",
            "    | make\tall",
            "  n: 1.0e3",
            "  none: []",
            "  deep:",
            "    list:",
            "      1 | a",
            "      2:",
            "        b: null",
            r#"    "two words | x": true"#,
            "  n | 1",
        ]
    );
    assert!(arguments("{}").is_empty());
    assert_eq!(arguments("[7]"), ["  :", "    1: 7"]);
    assert_eq!(arguments("no json\u{202e}"), [r"  no json\u{202e}"]);
}

#[test]
fn nothing_is_hidden() {
    let json =
        "{\"a\": \"x\\u001b[8m\\u200b\\udb40\\udc41\u{3164}\\r\", \"b\u{202e}\": \"\\ud800\"}";
    assert_eq!(
        arguments(json),
        [
            r"  a | x\u{1b}[8m\u{200b}\u{e0041}\u{3164}\u{d}",
            r#"  "b\u{202e}": "\ud800""#,
        ]
    );
    let mut deep = "[".repeat(60);
    deep.push_str("\"rm\"");
    deep.push_str(&"]".repeat(60));
    let rows = arguments(&deep);
    assert!(rows.len() < 20 && rows.last().unwrap().contains("[\"rm\"]"));
}

#[test]
fn a_long_line_goes_on_on_the_next_row() {
    let rows = text(&format!("{}end", "é".repeat(2 * MAX_ROW)));
    assert_eq!(rows.len(), 3);
    assert!(rows[0].starts_with("  | é") && rows[1].starts_with("    ↪ é"));
    assert_eq!(rows[2], "    ↪ end");
}
