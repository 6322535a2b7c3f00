use super::*;
use serde_json::json;

fn message(text: &str) -> Value {
    json!({"id": null, "role": "user", "created": 1, "content": [{"type": "text", "text": text}]})
}

fn refused(text: &str) -> String {
    match Session::from_export(text) {
        Ok(read) => panic!("{text:?} read as {read:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_export_is_read_without_what_belongs_to_its_place() {
    let text = json!({
        "id": "../../etc", "working_dir": "/w", "name": "n", "user_set_name": true,
        "session_type": "hidden", "extension_data": {"todo.v0": {"content": "x"}},
        "accumulated_total_tokens": 5, "schedule_id": "s", "recipe": {"title": "T"},
        "conversation": [message("a"), message("b")], "message_count": 9,
        "provider_name": "p", "from_the_future": [],
    });
    let Export {
        session,
        messages,
        left_out,
    } = Session::from_export(&text.to_string()).unwrap();
    assert_eq!((session.id.as_str(), session.name.as_str()), ("", "n"));
    assert_eq!(session.accumulated_total_tokens, Some(5));
    assert_eq!(session.recipe, Some(json!({"title": "T"})));
    assert_eq!(session.extension_data, ExtensionData::default());
    assert_eq!(left_out, ["what extensions keep: todo.v0"]);
    assert!(session.user_set_name && session.schedule_id.is_none());
    assert!(session.provider_name.is_none() && session.conversation.is_none());
    let texts: Vec<_> = messages.iter().map(Message::concat_text).collect();
    assert_eq!(texts, ["a", "b"]);
}

#[test]
fn the_tokens_of_an_export_cover_none_of_its_messages() {
    for counted in [json!(null), json!(2)] {
        let text = json!({"working_dir": "/w", "input_tokens": 5, "counted_messages": counted});
        let session = Session::from_export(&text.to_string()).unwrap().session;
        assert_eq!(session.counted_messages, Some(0));
    }
}

#[test]
fn the_tokens_of_a_newer_goose_are_read_where_it_has_them() {
    let usage = json!({"input_tokens": 5, "output_tokens": 2, "total_tokens": 7, "cache_read_input_tokens": 1});
    let mut text =
        json!({"working_dir": "/w", "usage": usage, "accumulated_usage": {"total_tokens": 9}});
    let session = Session::from_export(&text.to_string()).unwrap().session;
    let counts = [
        session.input_tokens,
        session.output_tokens,
        session.total_tokens,
    ];
    assert_eq!(counts, [Some(5), Some(2), Some(7)]);
    assert_eq!(session.accumulated_total_tokens, Some(9));
    text["usage"]["total_tokens"] = json!("seven");
    let error = Session::from_export(&text.to_string()).unwrap_err();
    assert!(
        error.to_string().contains("not an exported session"),
        "{error}"
    );
    text["usage"] = json!([]);
    Session::from_export(&text.to_string()).unwrap();
}

#[test]
fn the_older_form_with_a_message_a_line_is_read() {
    let header = json!({"working_dir": "/w", "description": "d", "message_count": 2});
    let text = format!("{header}\n{}\n\n{}\n", message("a"), message("b"));
    let read = Session::from_export(&text).unwrap();
    assert_eq!((read.session.name.as_str(), read.messages.len()), ("d", 2));
}

#[test]
fn a_session_file_of_an_early_goose_is_read() {
    let lines = [
        json!({"description": "List files", "message_count": 3, "total_tokens": 120, "input_tokens": 100,
            "output_tokens": 20, "schedule_id": null}),
        message("list the files"),
        json!({"role": "assistant", "created": 2, "content": [
            {"type": "toolRequest", "id": "c", "toolCall": {"status": "success", "value":
                {"name": "developer__shell", "arguments": {"command": "ls"}}}},
            {"type": "toolConfirmationRequest", "id": "c", "toolName": "developer__shell",
                "arguments": {}, "prompt": null},
        ]}),
        json!({"role": "user", "created": 3, "content": [
            {"type": "toolResponse", "id": "c", "toolResult": {"status": "success", "value": [
                {"type": "text", "text": "a.txt", "annotations": {"audience": ["user"], "priority": 0.0}},
            ]}},
        ]}),
    ];
    let text = lines.map(|line| line.to_string()).join("\n");
    let Export {
        session,
        messages,
        left_out,
    } = Session::from_export(&text).unwrap();
    assert_eq!(
        (session.name.as_str(), session.working_dir.to_str()),
        ("List files", Some(""))
    );
    assert_eq!(session.total_tokens, Some(120));
    assert!(left_out.is_empty());
    let response = messages[2].tool_responses().next().unwrap();
    let result = serde_json::to_value(&response.tool_result).unwrap();
    assert_eq!(result["value"]["content"][0]["text"], "a.txt");
}

#[test]
fn what_only_a_later_goose_knows_does_not_hinder() {
    let text = json!({
        "id": 5, "working_dir": "/w", "name": "n", "session_type": "acp", "message_count": null,
        "created_at": 7, "updated_at": null, "provider_name": ["p"], "model_config": "m",
        "archived_at": null, "project_id": "x", "goose_mode": "auto", "thread_id": null,
        "conversation": [{"id": "m", "role": "user", "created": 1, "metadata":
            {"userVisible": true, "agentVisible": true, "inferenceMs": 5},
            "content": [{"type": "text", "text": "a", "annotations": null, "later": []}]}],
    });
    let read = Session::from_export(&text.to_string()).unwrap();
    assert_eq!((read.session.name.as_str(), read.messages.len()), ("n", 1));
}

#[test]
fn every_kind_of_content_comes_through() {
    let content = json!([
        {"type": "toolRequest", "id": "1", "toolCall": {"status": "success",
            "value": {"name": "a__b", "arguments": {"x": [1, {"y": null}]}}}},
        {"type": "toolResponse", "id": "1", "toolResult": {"status": "success",
            "value": {"content": [{"type": "text", "text": "t"}], "isError": false}}},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
        {"type": "hologram", "x": [1, 2]},
    ]);
    let text = json!({"working_dir": "/w", "conversation": [
        {"role": "assistant", "created": 1, "content": content},
    ]});
    let read = Session::from_export(&text.to_string()).unwrap();
    let back = serde_json::to_value(&read.messages[0]).unwrap();
    assert_eq!(back["content"], content);
}

#[test]
fn what_is_missing_takes_its_default_and_long_names_are_cut() {
    let read = Session::from_export(r#"{"working_dir":"/w"}"#).unwrap();
    assert_eq!(
        (read.session.name.as_str(), read.messages.len()),
        ("New Chat", 0)
    );
    assert!(read.left_out.is_empty());
    let text = json!({"working_dir": "/w", "name": "é".repeat(300)});
    let session = Session::from_export(&text.to_string()).unwrap().session;
    assert_eq!(session.name.chars().count(), MAX_NAME);
}

#[test]
fn what_acts_unseen_is_left_out() {
    let mut messages: Vec<Value> = ["a", "b", "summary", "c", "d", "never"].map(message).into();
    for (n, user, agent) in [
        (0, true, false),
        (1, true, false),
        (2, false, true),
        (4, true, false),
        (5, false, false),
    ] {
        messages[n]["metadata"] = json!({"userVisible": user, "agentVisible": agent});
    }
    messages.push(messages[4].clone());
    let list = json!([{"type": "builtin", "name": "developer"}]);
    let text = json!({
        "working_dir": "/w", "conversation": messages,
        "user_recipe_values": {"key": "/home/u/.ssh/id_rsa"},
        "extension_data": {
            "enabled_extensions.v0": {"extensions": list, "more": 1},
            "container.v0": {"container_id": "prod\u{202e}"}, "a": {}, "imported.v0": {},
        },
    });
    let read = Session::from_export(&text.to_string()).unwrap();
    let messages = read.messages.iter();
    let messages: Vec<_> = messages
        .map(|it| (it.concat_text(), it.metadata.agent_visible))
        .collect();
    let expected = [
        ("a", true),
        ("b", true),
        ("c", true),
        ("d", true),
        ("d", false),
    ];
    assert_eq!(
        messages,
        expected.map(|(text, seen)| (text.to_owned(), seen))
    );
    assert_eq!(read.session.enabled_extensions(), list.as_array().unwrap());
    assert_eq!(read.session.extension_data.0.len(), 1);
    assert_eq!(read.session.user_recipe_values, None);
    assert_eq!(
        read.left_out,
        [
            "the container prod\\u{202e}",
            "what extensions keep: a, imported.v0",
            "the values of the recipe's parameters",
            "messages that are hidden from the user: 2",
        ]
    );
}

#[test]
fn anything_else_is_refused_in_words() {
    for (text, says) in [
        ("", "EOF"),
        ("{", "EOF"),
        ("[]", "object"),
        ("{}", "working_dir"),
        (r#"{"working_dir": 5}"#, "working_dir"),
        (
            r#"{"working_dir": "/", "conversation": {}}"#,
            "conversation",
        ),
        (
            r#"{"working_dir": "/", "conversation": [{"role": "user"}]}"#,
            "message 1",
        ),
        (
            r#"{"working_dir": "/", "total_tokens": "x"}"#,
            "invalid type",
        ),
        ("{\"working_dir\": \"/\"}\n\nrubbish", "line 3: "),
        ("{\"message_count\": 1}", "working_dir"),
        ("{\"description\": \"d\"}\n{}", "working_dir"),
        ("{\"working_dir\": \"/\"}\n{\"n\": 1}", "message 1"),
    ] {
        assert!(refused(text).contains(says), "{text:?}: {}", refused(text));
    }
    refused(&"[".repeat(100_000));
}
