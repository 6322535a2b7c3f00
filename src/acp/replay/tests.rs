use super::*;

#[test]
fn the_history_is_what_the_user_has_seen() {
    let messages = json!([
        {"id": "1", "role": "user", "created": 1, "content": [{"type": "text", "text": "hi"}]},
        {"id": "x", "role": "user", "created": 1, "content": [{"type": "text", "text": "hidden"}],
         "metadata": {"userVisible": false, "agentVisible": true}},
        {"id": "2", "role": "assistant", "created": 2, "content": [
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "text", "text": "I write"},
            {"type": "toolRequest", "id": "c", "toolCall": {"status": "success", "value": {
                "name": "developer__text_editor",
                "arguments": {"command": "write", "path": "a", "file_text": "x"}}}},
            {"type": "toolRequest", "id": "lost", "toolCall": {"status": "success", "value": {
                "name": "files__read", "arguments": {}}}},
            {"type": "toolRequest", "id": "runs", "toolCall": {"status": "success", "value": {
                "name": "files__read", "arguments": {}}}},
        ]},
        {"id": "3", "role": "user", "created": 3, "content": [
            {"type": "toolResponse", "id": "c", "toolResult": {"status": "success", "value": {
                "content": [{"type": "text", "text": "done"}], "isError": false}}}]},
    ]);
    let messages: Vec<Message> = serde_json::from_value(messages).unwrap();
    let mut sent = Vec::new();
    let running = |id: &str| (id == "runs").then_some(Status::InProgress);
    let mut send = |message: Vec<u8>| {
        let message: Value = serde_json::from_slice(&message).unwrap();
        sent.push(message["params"]["update"].clone());
        true
    };
    replay(
        "s",
        Path::new("/work"),
        &messages,
        false,
        &running,
        &mut send,
    );
    let kinds: Vec<_> = sent
        .iter()
        .map(|it| it["sessionUpdate"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "user_message_chunk",
            "agent_thought_chunk",
            "agent_message_chunk",
            "tool_call",
            "tool_call",
            "tool_call"
        ]
    );
    assert_eq!(sent[2]["messageId"], "2");
    let edit = &sent[3];
    assert_eq!(
        (&edit["title"], &edit["status"]),
        (&json!("Write a"), &json!("completed"))
    );
    let written = edit["content"][0]["path"].as_str().unwrap();
    assert_eq!(Path::new(written), Path::new("/work/a"));
    assert_eq!(sent[4]["status"], "failed");
    assert_eq!(sent[5]["status"], "in_progress");

    sent.clear();
    let mut send = |message: Vec<u8>| {
        let message: Value = serde_json::from_slice(&message).unwrap();
        sent.push(message["params"]["update"].clone());
        sent.len() < 5
    };
    replay(
        "s",
        Path::new("/work"),
        &messages,
        true,
        &running,
        &mut send,
    );
    assert_eq!(sent[2]["_meta"]["goose"]["created"], 2);
    let call = &sent[3]["_meta"]["goose"];
    assert_eq!(call["toolCall"]["toolName"], "developer__text_editor");
    assert_eq!(
        (&call["messageId"], &call["created"]),
        (&json!("2"), &json!(2))
    );
    let result = &sent[4];
    assert_eq!(result["sessionUpdate"], "tool_call_update");
    assert_eq!(result["content"][0]["content"]["text"], "done");
    assert_eq!(sent.len(), 5, "nothing is sent when there is no room");
}
