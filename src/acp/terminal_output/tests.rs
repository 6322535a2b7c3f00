use super::*;
use crate::mcp::types::Content;

#[test]
fn updates_show_the_end_of_the_output_at_intervals() {
    let mut output = TerminalOutput::default();
    let first = output.add("1", "a\u{1b}[1m\r", false).unwrap();
    let text = first["content"][0]["content"]["text"].as_str().unwrap();
    assert_eq!(text, "```console\na[1m\n```\n");
    assert_eq!(output.add("1", "b", false), None);
    for _ in 0..10_000 {
        output.add("1", "é", false);
    }
    assert!(output.tail.len() <= 2 * SHOWN);
    let line = output.add("1", "c", true).unwrap();
    assert_eq!(line["_meta"]["terminal_output"]["data"], "c\n");
}

#[test]
fn the_end_of_a_command_tells_the_lines_that_were_not_sent() {
    let result = |text: &str, end: Value| Outcome::Success {
        value: CallToolResult {
            content: vec![
                Content::text_for("assistant", None, text),
                Content::text_for("user", None, "[the last of them]"),
            ],
            structured_content: serde_json::value::to_raw_value(&end).ok(),
            ..CallToolResult::default()
        },
    };
    let mut output = TerminalOutput::default();
    for line in ["a", "b"] {
        output.add("1", line, true);
    }
    let data = |result: Outcome<CallToolResult>| {
        let meta = output.end_in_meta("1", &result);
        assert_eq!(meta["terminal_exit"]["terminal_id"], "1");
        meta["terminal_output"]["data"].as_str().map(str::to_owned)
    };
    let ok = json!({"exit_code": 0});
    assert_eq!(data(result("a\nb\n", ok.clone())), None);
    let failed = json!({"exit_code": 1});
    assert_eq!(data(result("a\nb\n[exit code 1]\n", failed)), None);
    let last = Some("\n[the last of them]\n".to_owned());
    assert_eq!(data(result("a\nb\nc\n", ok.clone())), last);
    assert_eq!(data(result("a\nbbb\n", ok)), last);
    let long = json!({"exit_code": 0, "truncated": true});
    assert_eq!(data(result("a", long)), last);
    let error = "cancelled".to_owned();
    let cancelled = Some("\ncancelled\n".to_owned());
    assert_eq!(data(Outcome::Error { error }), cancelled);
}
