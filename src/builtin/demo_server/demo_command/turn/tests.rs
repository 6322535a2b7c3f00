use super::*;

fn message(part: Json) -> Json {
    json!({"type": "Message", "message": {"content": [part]}})
}

#[test]
fn events_become_lines_that_a_person_understands() {
    let events = [
        json!({"type": "Ping"}),
        message(json!({"type": "text", "text": "I will "})),
        message(json!({"type": "text", "text": "ask. "})),
        message(
            json!({"type": "toolRequest", "toolCall": {"status": "success",
            "value": {"name": "demo__echo", "arguments": {"message": "hi"}}}}),
        ),
        message(
            json!({"type": "toolResponse", "toolResult": {"status": "success",
            "value": {"content": [{"type": "text", "text": "hi"}]}}}),
        ),
        message(
            json!({"type": "toolResponse", "toolResult": {"status": "error",
            "error": "no"}}),
        ),
        message(json!({"type": "text", "text": "It says: hi"})),
        json!({"type": "Finish", "reason": "stop"}),
    ];
    let lines = [
        "the model says I will ask.",
        "the model calls demo__echo {\"message\":\"hi\"}",
        "the tool answers hi",
        "the tool answers error: no",
        "the model says It says: hi",
    ];
    let expected = TurnSummary {
        lines: lines.map(str::to_owned).to_vec(),
        results: 2,
        finished: true,
    };
    assert_eq!(summarize(&events), expected);
}

#[test]
fn a_turn_that_breaks_off_is_not_finished() {
    let events = [json!({"type": "Error", "error": "no provider"})];
    let summary = summarize(&events);
    assert_eq!(summary.lines, ["error: no provider"]);
    assert!(!summary.finished);
}
