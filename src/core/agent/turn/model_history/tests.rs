use super::*;
use serde_json::{Value, json};

fn message(role: &str, content: Value) -> Arc<Message> {
    let message = json!({"role": role, "created": 1, "content": content});
    Arc::new(serde_json::from_value(message).unwrap())
}

fn text(role: &str, text: &str) -> Arc<Message> {
    message(role, json!([{"type": "text", "text": text}]))
}

fn call(id: &str) -> Value {
    let call = json!({"status": "success", "value": {"name": "t", "arguments": {}}});
    json!({"type": "toolRequest", "id": id, "toolCall": call})
}

fn answer(id: &str) -> Value {
    let content = json!([{"type": "text", "text": id}]);
    let result = json!({"status": "success", "value": {"content": content}});
    json!({"type": "toolResponse", "id": id, "toolResult": result})
}

/// Each message as its role and parts, `u:text` or `a:c1,c2`; a missing result ends in `!`.
fn shown(messages: &[Arc<Message>]) -> Vec<String> {
    let part = |part: &Content| match part {
        Content::Text(text) => text.text.clone(),
        Content::ToolRequest(request) => format!("call {}", request.id),
        Content::ToolResponse(response) => match &response.tool_result {
            Outcome::Success { .. } => format!("answer {}", response.id),
            Outcome::Error { .. } => format!("answer {}!", response.id),
        },
        _ => "?".to_owned(),
    };
    let repaired = repaired(messages);
    let shown = repaired.iter().map(|message| {
        let parts: Vec<_> = message.content.iter().map(part).collect();
        let role = if message.role == Role::User { "u" } else { "a" };
        format!("{role}:{}", parts.join(","))
    });
    shown.collect()
}

#[test]
fn a_sound_history_is_not_copied() {
    let history = [
        text("user", "go"),
        message("assistant", json!([call("1"), call("2")])),
        message("user", json!([answer("1"), answer("2")])),
        text("assistant", "done"),
    ];
    let repaired = repaired(&history);
    assert_eq!(repaired.len(), 4);
    assert!(repaired.iter().all(|m| matches!(m, Cow::Borrowed(_))));
}

#[test]
fn every_call_has_its_answer_next_and_in_order() {
    let history = [
        text("user", "go"),
        message("assistant", json!([call("1"), call("2"), call("3")])),
        message("user", json!([answer("3")])),
        message(
            "user",
            json!([{"type": "text", "text": "hm"}, answer("1"), answer("9")]),
        ),
        text("assistant", "done"),
        message(
            "user",
            json!([answer("1"), {"type": "text", "text": "more"}]),
        ),
        message("assistant", json!([call("4")])),
    ];
    assert_eq!(
        shown(&history),
        [
            "u:go",
            "a:call 1,call 2,call 3",
            "u:answer 1,answer 2!,answer 3",
            "u:hm",
            "a:done",
            "u:more",
            "a:call 4",
            "u:answer 4!",
        ]
    );
}

#[test]
fn an_answer_is_stray_if_its_call_is_answered_or_unknown() {
    let call = |id: &str| message("assistant", json!([call(id)]));
    let answer = |id: &str| message("user", json!([answer(id)]));
    let both = |id: &str| {
        message(
            "user",
            json!([self::tests::answer(id), {"type": "text", "text": "t"}]),
        )
    };
    let before = [call("1"), answer("1"), call("2"), call("1"), answer("3")];
    assert!(!is_stray(&answer("1"), &before), "called once more");
    assert!(!is_stray(&answer("2"), &before));
    assert!(is_stray(&answer("3"), &before));
    assert!(is_stray(&answer("1"), &before[..2]));
    assert!(!is_stray(&both("3"), &before), "it says something too");
    assert!(!is_stray(&text("user", "t"), &before));
    assert!(!is_stray(&message("user", json!([])), &before));
}

#[test]
fn what_is_not_for_the_model_is_left_out() {
    let mut hidden = Message::text(Role::User, "hidden");
    hidden.metadata = Metadata::USER_ONLY;
    let notice =
        json!({"type": "systemNotification", "notificationType": "inlineMessage", "msg": "m"});
    let history = [
        text("assistant", "first"),
        Arc::new(hidden),
        text("user", "  \n"),
        message("assistant", json!([notice, {"type": "hologram"}])),
        message("assistant", json!([{"type": "reasoning", "text": "hm"}])),
        message(
            "assistant",
            json!([{"type": "text", "text": "x"}, notice, {"type": "text", "text": ""}]),
        ),
    ];
    let begin = format!("u:{BEGINNING}");
    assert_eq!(shown(&history), [&begin, "a:first", "a:x"]);
}
