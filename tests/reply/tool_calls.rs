//! Tool calls of the model, and the results that the model and the client see.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, Server};
use crate::support::turns::{Stream, user};
use serde_json::{Value, json};

/// A model that makes these calls at once and then repeats the last result.
fn calling(calls: Value) -> Value {
    json!({"repeat": true, "turns": [{"steps": [{"calls": calls}, {"text": "So: {{last_result}}"}]}]})
}

fn one(script: &Script) -> Extension {
    Extension::scripted("one", script)
}

#[test]
fn two_calls_with_one_id_have_ids_and_results_of_their_own() {
    let call =
        |text: &str| json!({"id": "c1", "name": "one__echo", "arguments": {"message": text}});
    let server = Server::scripted(calling(json!([call("first"), call("second")]))).start();
    let session = server.session([one(&Script::new())]);
    let turn = session.say("go").finishes().gives(&["first", "second"]);
    let calls = turn.calls();
    let ids: Vec<_> = calls.iter().map(|call| &call["id"]).collect();
    assert!(ids[0] == "c1" && ids[1] != "c1", "{ids:?}");
    let responses = turn.parts_of("toolResponse");
    let answered: Vec<_> = responses.iter().map(|part| &part["id"]).collect();
    assert_eq!(answered, ids);
}

#[test]
fn what_a_tool_gives_reaches_the_model() {
    let script = json!({"turns": [
        {"steps": [
            {"text": "Let me see. "},
            {"call": {"id": "c1", "name": "one__echo", "arguments": {"message": "first"}}},
            {"call": {"name": "one__echo", "arguments": {"message": "{{last_result}} and second"}}},
            {"text": "It says {{last_result}}."},
        ], "usage": {"input": 10, "output": 5}},
    ]});
    let server = Server::scripted(script).start();
    let session = server.session([one(&Script::new())]);
    let turn = session.say("go").finishes();
    let turn = turn.gives(&["first", "first and second"]);
    assert_eq!(turn.text(), "Let me see. It says first and second.");
    assert_eq!(turn.calls()[0]["id"], "c1");
    assert_eq!(turn.calls()[0]["_meta"]["goose_extension"], "one");
    assert_eq!(turn.calls()[0]["toolCall"]["status"], "success");
    let response = turn.parts_of("toolResponse")[0];
    assert_eq!(response["id"], "c1");
    assert_eq!(response["toolResult"]["status"], "success");
    assert_eq!(response["toolResult"]["value"]["isError"], false);
    let first = turn.place(|event| event["message"]["content"][0]["type"] == "toolRequest");
    let tokens = &turn.events[first]["token_state"];
    assert_eq!(
        tokens["accumulatedInputTokens"], 10,
        "a call is told with what it cost"
    );
    assert_eq!(turn.tokens()["accumulatedInputTokens"], 30);
    assert_eq!(
        session.transcript(),
        [
            "user: go",
            "assistant: Let me see.  | call c1",
            "user: result first",
            "assistant: call call_1_0",
            "user: result first and second",
            "assistant: It says first and second.",
        ]
    );
    // The stored messages are those that the client saw.
    for message in session.conversation().iter().skip(1) {
        turn.place(|event| event["message"]["id"] == message["id"]);
    }
}

#[test]
fn calls_of_one_answer_run_side_by_side_and_keep_their_order() {
    // Neither could answer before both have been heard, were it not for the wait.
    let record = Record::new();
    let script = Script::new()
        .recorded(&record.path())
        .tool("late", [Action::Sleep(600), Action::text("late")])
        .tool("soon", [Action::Sleep(50), Action::text("soon")])
        .tool("never", []);
    let calls = json!([{"name": "one__late"}, {"name": "one__soon"}, {"name": "one__never"}]);
    let server = Server::scripted(calling(calls)).start();
    let session = server.session([one(&script).with_short_timeout()]);
    let turn = session.say("go").finishes();
    let results = turn.results();
    assert_eq!(results[..2], ["late", "soon"]);
    assert!(results[2].contains("`timeout`"), "{results:?}");
    let heard = record.messages();
    let methods = heard.iter().filter_map(|m| m["method"].as_str());
    let methods: Vec<_> = methods.skip_while(|m| *m != "tools/call").collect();
    let wanted = [
        "tools/call",
        "tools/call",
        "tools/call",
        "notifications/cancelled",
    ];
    assert_eq!(methods, wanted);
    assert_eq!(
        session.conversation().len(),
        4,
        "one message has all results"
    );
}

#[test]
fn an_unknown_tool_is_not_found() {
    let calls =
        json!([{"name": "absent__tool"}, {"name": "echo"}, {"name": ""}, {"name": "ü\u{7}__☃"}]);
    let server = Server::scripted(calling(calls)).start();
    let session = server.session([Extension::scripted("onetool", &Script::new())]);
    let turn = session.say("go").finishes();
    let response = turn.parts_of("toolResponse")[0];
    let recorded = json!({"status": "error", "error": "-32002: Tool 'absent__tool' not found"});
    assert_eq!(response["toolResult"], recorded);
    let results = turn.results();
    let wanted = [
        "-32002: Tool 'echo' not found. Did you mean onetool__echo?",
        "-32002: Tool '' not found",
        "-32002: Tool 'ü\\u{7}__☃' not found",
    ];
    assert_eq!(results[1..], wanted);
    let stored = &session.conversation()[2]["content"][0]["toolResult"];
    assert_eq!(*stored, recorded);
    session.echoes("onetool");
}

#[test]
fn arguments_that_are_no_object_are_explained() {
    let raw = |text: &str| json!({"raw_call": {"name": "one__echo", "arguments_text": text}});
    let good = json!({"call": {"name": "one__echo", "arguments": {"message": "good"}}});
    let script = json!({"turns": [{"steps": [
        raw("{\"message\": \"half"), raw("[1]"), good, {"text": "So: {{last_result}}"},
    ]}]});
    let server = Server::scripted(script).start();
    let session = server.session([one(&Script::new())]);
    let turn = session.say("go").finishes().says("So: good");
    let results = turn.results();
    assert!(results[0].contains("not a JSON object"), "{results:?}");
    assert!(results[1].contains("not a JSON object"), "{results:?}");
    assert_eq!(turn.calls()[0]["toolCall"]["status"], "error");
    session.say("and more").finishes();
}

#[test]
fn arguments_laid_out_in_lines_travel_in_one() {
    let text = "{\n  \"message\":\r\n  \"two\\nlines\"\n}";
    let script = json!({"repeat": true, "turns": [{"steps": [
        {"raw_call": {"name": "one__echo", "arguments_text": text}}, {"text": "{{last_result}}"},
    ]}]});
    let server = Server::scripted(script)
        .setting("GOOSE_MODE", "approve")
        .start();
    let session = server.session([one(&Script::new())]);
    let mut turn = session.begin_turn("go");
    session.confirm(&turn.asks(), "always_allow");
    turn.rest().finishes().gives(&["two\nlines"]);
    let mut odd = user("see");
    odd["content"] = json!([{"type": "text", "text": "see"}, {"type": "odd", "x": 1}]);
    let odd = odd.to_string().replace("\"x\":1", "\"x\":\r\n1");
    let body = format!(
        "{{\"session_id\": \"{}\", \"user_message\": {odd}}}",
        session.id
    );
    let socket = std::net::TcpStream::connect(server.address()).unwrap();
    Stream::begin(socket, &body, "1.1").rest().finishes();
    let turn = session.say("/compact").finishes();
    assert_eq!(turn.events_of("UpdateConversation").len(), 1);
}

#[test]
fn tools_that_fail_do_not_end_the_turn() {
    let script = Script::new()
        .tool(
            "refuses",
            [Action::Error(-32000, "out of paper".to_owned())],
        )
        .tool(
            "sorry",
            [Action::Result(
                json!({"content": [{"type": "text", "text": "sorry"}], "isError": true}),
            )],
        )
        .tool("odd", [Action::Result(json!({"content": "no list"}))])
        .tool("silent", [])
        .tool("crash", [Action::Sleep(1_500), Action::Exit(3)]);
    let names = ["refuses", "sorry", "odd", "silent", "crash"];
    let calls: Vec<Value> = names
        .iter()
        .map(|n| json!({"name": format!("one__{n}")}))
        .collect();
    let server = Server::scripted(calling(calls.into())).start();
    let session = server.session([one(&script).with_short_timeout()]);
    let turn = session.say("go").finishes().says("So: ");
    let results = turn.results();
    assert!(results[0].contains("out of paper"), "{results:?}");
    assert!(results[1].contains("sorry"), "{results:?}");
    for (n, result) in results.iter().enumerate() {
        assert!(!result.is_empty(), "{} says nothing", names[n]);
    }
    assert!(results[3].contains("`timeout`"), "{results:?}");
    for response in turn.parts_of("toolResponse") {
        let result = &response["toolResult"];
        assert_eq!(result["value"]["isError"], true, "{result}");
    }
}

#[test]
fn a_server_that_dies_in_mid_call_takes_no_turn_with_it() {
    let script = Script::new().tool("crash", [Action::Sleep(100), Action::Exit(3)]);
    let calls =
        json!([{"name": "one__crash"}, {"name": "two__echo", "arguments": {"message": "fine"}}]);
    let server = Server::scripted(calling(calls)).start();
    let session = server.session([one(&script), Extension::scripted("two", &Script::new())]);
    for _ in 0..2 {
        let turn = session.say("go").finishes().says("So: fine");
        let results = turn.results();
        assert!(
            !results[0].is_empty() && results[1] == "fine",
            "{results:?}"
        );
    }
}

/// A tool whose schema requires an integer and a boolean.
fn strict(record: &Record, answer: Action) -> Extension {
    let schema = json!({
        "type": "object", "required": ["n"],
        "properties": {"n": {"type": "integer"}, "b": {"type": "boolean"}},
    });
    let tools = json!({"tools": [{"name": "strict", "inputSchema": schema}]});
    let script = Script::new().recorded(&record.path());
    let script = script.on("tools/list", [Action::Result(tools)]);
    one(&script.tool("strict", [answer]))
}

#[test]
fn what_the_model_obviously_means_reaches_the_server() {
    let record = Record::new();
    let arguments = json!({"n": "17", "b": "true", "other": "5"});
    let calls = json!([{"name": "one__strict", "arguments": arguments}]);
    let server = Server::scripted(calling(calls)).start();
    let session = server.session([strict(&record, Action::text("fine"))]);
    session.say("go").finishes().gives(&["fine"]);
    let call = record.wait_for_message("tools/call");
    let meant = json!({"n": 17, "b": true, "other": "5"});
    assert_eq!(call["params"]["arguments"], meant);
}

#[test]
fn arguments_that_a_server_refuses_are_explained() {
    let record = Record::new();
    let calls = json!([{"name": "one__strict", "arguments": {"b": "perhaps"}}]);
    let server = Server::scripted(calling(calls)).start();
    let refusal = Action::Error(-32602, "invalid".to_owned());
    let session = server.session([strict(&record, refusal)]);
    let turn = session.say("go").finishes().says("`n` is missing");
    assert!(turn.results()[0].contains("`b` is a string, not boolean"));
    // Without an error, and without a reason in the arguments, there is nothing to explain.
    server.plays(calling(
        json!([{"name": "one__strict", "arguments": {"n": 1}}]),
    ));
    session.say("go").finishes().never_says("do not fit");
    // The server has said it.
    let said = "no: `n` is missing; `b` is a string, not boolean";
    let knows = server.session([strict(&record, Action::Error(-32602, said.to_owned()))]);
    server.plays(calling(
        json!([{"name": "one__strict", "arguments": {"b": "perhaps"}}]),
    ));
    knows
        .say("go")
        .finishes()
        .says(said)
        .never_says("do not fit");
    let fine = server.session([strict(&record, Action::text("fine"))]);
    server.plays(calling(
        json!([{"name": "one__strict", "arguments": {"b": "perhaps"}}]),
    ));
    fine.say("go").finishes().gives(&["fine"]);
}

#[test]
fn every_call_has_an_id_of_its_own() {
    let call = |id: &str, text: &str| json!({"id": id, "name": "one__echo", "arguments": {"message": text}});
    let calls = json!([
        call("same", "a"),
        call("same", "b"),
        call("", "c"),
        call("", "d")
    ]);
    let server = Server::scripted(calling(calls)).start();
    let session = server.session([one(&Script::new())]);
    let turn = session.say("go").finishes().gives(&["a", "b", "c", "d"]);
    let ids = |kind: &str| -> Vec<Value> {
        let parts = turn.parts_of(kind).into_iter();
        parts.map(|part| part["id"].clone()).collect()
    };
    let calls = ids("toolRequest");
    assert_eq!(calls, ids("toolResponse"));
    assert_eq!(calls[0], "same");
    let different: std::collections::HashSet<_> = calls.iter().map(Value::to_string).collect();
    assert_eq!(different.len(), 4);
    assert!(!calls.contains(&json!("")));
    session.say("again").finishes().gives(&["a", "b", "c", "d"]);
}

#[test]
fn an_answer_that_is_too_large_goes_to_a_file() {
    let script = Script::new().tool("large", [Action::Text("0123456789".to_owned(), 30_000)]);
    let calls = json!([{"name": "one__large"}]);
    let server = Server::scripted(calling(calls)).start();
    let session = server.session([one(&script)]);
    let turn = session.say("go").finishes().says("300000 characters");
    let result = &turn.results()[0];
    assert!(result.len() < 10_000, "{} bytes", result.len());
    let (_, path) = result.split_once("is in the file ").expect("a file");
    let path = path.split_once(". It begins").expect("a head").0;
    let metadata = std::fs::metadata(path).unwrap();
    assert_eq!(metadata.len(), 300_000);
    assert!(crate::support::system::has_mode(path, 0o600));
    assert!(path.contains(&session.id), "{path}");
    server.delete(&format!("/sessions/{}", session.id)).is(200);
    assert!(!std::path::Path::new(path).exists());
}

#[test]
fn of_an_answer_that_is_too_large_what_is_no_text_for_the_model_stays() {
    let begin = r#"{"jsonrpc":"2.0","id":{id},"result":{"content":[{"type":"text","text":""#;
    let image = r#"{"type":"image","data":"AAAA","mimeType":"image/png"}"#;
    let aside = r#"{"type":"text","text":"aside","annotations":{"audience":["user"]}}"#;
    let end = format!("\"}},{image},{aside}]}}}}\n");
    let parts = [(begin, 1), ("xxxxxxxx", 50_000), (&end, 1)];
    let parts = parts.map(|(text, times)| Action::Out(text.to_owned(), times));
    let script = Script::new().tool("large", parts);
    let calls = json!([{"name": "one__large"}]);
    let server = Server::scripted(calling(calls)).start();
    let session = server.session([one(&script)]);
    let turn = session.say("go").finishes();
    let content = &turn.parts_of("toolResponse")[0]["toolResult"]["value"]["content"];
    let text = content[0]["text"].as_str().unwrap();
    assert!(text.contains("400000 characters") && text.len() < 10_000);
    assert_eq!(content[1]["data"], "AAAA");
    assert_eq!(content[2]["text"], "aside");
}

#[test]
fn each_audience_sees_its_own() {
    let part = |text: &str, who: &str| json!({"type": "text", "text": text, "annotations": {"audience": [who]}});
    let content = json!([
        part("for-the-model", "assistant"),
        part("for-the-user", "user")
    ]);
    let script = Script::new().tool("both", [Action::Result(json!({"content": content}))]);
    let calls = json!([{"name": "one__both"}]);
    let server = Server::scripted(calling(calls)).start();
    let session = server.session([one(&script)]);
    let turn = session.say("go").finishes();
    assert_eq!(turn.text(), "So: for-the-model");
    assert!(turn.results()[0].contains("for-the-user"));
}

#[test]
fn the_number_of_requests_to_the_model_has_a_limit() {
    let record = Record::new();
    let script = json!({"repeat": true, "turns": [{"steps": [
        {"call": {"name": "one__echo", "arguments": {"message": "on and on"}}},
    ]}]});
    let server = Server::scripted(script)
        .setting("GOOSE_MAX_TURNS", 3)
        .start();
    let session = server.session([one(&Script::new().recorded(&record.path()))]);
    let turn = session.say("go").finishes().says("GOOSE_MAX_TURNS");
    assert_eq!(turn.results().len(), 3);
    let turn = session.say("go on").finishes().says("GOOSE_MAX_TURNS");
    assert_eq!(turn.results().len(), 3);
}

#[test]
fn a_model_that_cannot_spell_is_stopped() {
    let script = json!({"repeat": true, "turns": [{"steps": [
        {"raw_call": {"name": "one__echo", "arguments_text": "{"}},
    ]}]});
    let server = Server::scripted(script).start();
    let session = server.session([one(&Script::new())]);
    let turn = session
        .say("go")
        .finishes()
        .says("could not spell a tool call");
    assert_eq!(turn.results().len(), 3);
}

#[test]
fn a_hundred_calls_at_once_are_all_answered_in_order() {
    let texts: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let call = |text: &String| json!({"name": "one__echo", "arguments": {"message": text}});
    let calls: Vec<Value> = texts.iter().map(call).collect();
    let server = Server::scripted(calling(calls.into())).start();
    let session = server.session([one(&Script::new())]);
    let turn = session.say("go").finishes().says("So: 99");
    assert_eq!(turn.results(), texts);
}

#[test]
fn images_and_structured_results_pass_unchanged() {
    let result = json!({
        "content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
        "structuredContent": {"deep": {"er": [1, 2.50, "x"]}}, "_meta": {"ui": true},
    });
    let script = Script::new().tool("look", [Action::Result(result.clone())]);
    let server = Server::scripted(calling(json!([{"name": "one__look"}]))).start();
    let session = server.session([one(&script)]);
    let turn = session.say("go").finishes();
    let value = &turn.parts_of("toolResponse")[0]["toolResult"]["value"];
    assert_eq!(value["content"], result["content"]);
    assert_eq!(value["structuredContent"], result["structuredContent"]);
    assert_eq!(value["_meta"], result["_meta"]);
}

#[test]
fn structured_content_beside_a_short_text_reaches_the_model() {
    let answer = |text: &str, data: Value| {
        let part = json!({"type": "text", "text": text});
        Action::Result(json!({"content": [part], "structuredContent": data}))
    };
    let rows = json!({"rows": [{"name": "Ada"}, {"name": "Bob"}]});
    let script = Script::new()
        .tool("few", [answer("2 rows", rows.clone())])
        .tool("same", [answer(&rows.to_string(), rows.clone())])
        .tool("many", many_rows());
    let calls = |name: &str| calling(json!([{ "name": name }]));
    let server = Server::scripted(calls("one__few")).start();
    let session = server.session([one(&script)]);
    let turn = session.say("go").finishes().gives(&["2 rows"]);
    assert_eq!(turn.text(), format!("So: 2 rows\n{rows}"));
    server.plays(calls("one__same"));
    assert_eq!(session.say("go").finishes().text(), format!("So: {rows}"));
    server.plays(calls("one__many"));
    let turn = session.say("go").finishes();
    assert!(turn.text().contains("which is too much to show"));
    let value = &turn.parts_of("toolResponse")[0]["toolResult"]["value"];
    assert!(
        value.get("structuredContent").is_none(),
        "it is in the file"
    );
}

/// The text `2 rows` with 400,000 bytes of structured content.
fn many_rows() -> [Action; 3] {
    let begin = r#"{"jsonrpc":"2.0","id":{id},"result":{"content":[{"type":"text","text":"2 rows"}],"structuredContent":{"rows":""#;
    [(begin, 1), ("xxxxxxxx", 50_000), ("\"}}}\n", 1)]
        .map(|(text, times)| Action::Out(text.to_owned(), times))
}

#[test]
fn the_data_of_a_page_is_for_the_page_and_the_text_beside_it_for_the_model() {
    let ui = json!({"ui": {"resourceUri": "ui://one/view"}});
    let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}, "_meta": ui});
    let tools = ["few", "many", "bare", "blank"].map(tool);
    let tools = json!({ "tools": tools });
    let answer = |text: Option<&str>, data: &Value| {
        let parts = text.map(|text| json!({"type": "text", "text": text}));
        let content: Vec<Value> = parts.into_iter().collect();
        Action::Result(json!({"content": content, "structuredContent": data}))
    };
    let rows = json!({"rows": ["Ada", "Bob"]});
    let many = json!({"rows": "x".repeat(400_000)});
    let script = Script::new()
        .on("tools/list", [Action::Result(tools)])
        .tool("few", [answer(Some("2 rows"), &rows)])
        .tool("many", many_rows())
        .tool("bare", [answer(None, &rows)])
        .tool("blank", [answer(Some(" "), &rows)]);
    let calls = |name: &str| calling(json!([{"name": format!("one__{name}")}]));
    let server = Server::scripted(calls("few")).start();
    let session = server.session([one(&script)]);
    let says = |name: &str, data: &Value| {
        server.plays(calls(name));
        let turn = session.say("go").finishes();
        let value = &turn.parts_of("toolResponse")[0]["toolResult"]["value"];
        assert_eq!(value["structuredContent"], *data, "{name}");
        let notices = turn.notices("inlineMessage");
        assert!(notices.is_empty(), "nothing fills the context: {notices:?}");
        turn.text()
    };
    assert_eq!(says("few", &rows), "So: 2 rows");
    session.say("/compact").finishes();
    let summed_up = session.conversation();
    let summary = summed_up.last().expect("a summary").to_string();
    assert!(!summary.contains("Ada"), "{summary}");
    assert_eq!(says("many", &many), "So: 2 rows");
    assert_eq!(says("few", &rows), "So: 2 rows");
    for name in ["bare", "blank"] {
        assert!(says(name, &rows).ends_with(&rows.to_string()), "{name}");
    }
}

#[test]
fn a_tool_of_the_client_is_run_by_the_client() {
    let calls = json!({"repeat": true, "turns": [{"steps": [
        {"call": {"id": "f", "name": "pick", "arguments": {"from": [1, 2]}}},
        {"text": "You picked {{last_result}}."},
    ]}]});
    let frontend = Extension(json!({
        "type": "frontend", "name": "front", "description": "", "instructions": "Pick.",
        "tools": [{"name": "pick", "description": "Picks.", "inputSchema": {"type": "object"}}],
    }));
    let server = Server::scripted(calls).start();
    let session = server.session([frontend]);
    let mut turn = session.begin_turn("go");
    let id = turn.until("request", |event| {
        let part = &event["message"]["content"][0];
        (part["type"] == "frontendToolRequest").then(|| part["id"].as_str().unwrap().to_owned())
    });
    let value = json!({"content": [{"type": "text", "text": "2"}], "isError": false});
    let body = json!({"id": id, "result": {"status": "success", "value": value}});
    session.post("/tool_result", body.clone()).is(200);
    turn.rest().finishes().says("You picked 2.");
    session.post("/tool_result", body).is(404);
}

#[test]
fn a_tool_for_interfaces_only_does_not_exist_for_the_model() {
    let tool = |name: &str, ui: Value| json!({"name": name, "inputSchema": {"type": "object"}, "_meta": {"ui": ui}});
    let tools = json!({"tools": [
        tool("both", json!({"resourceUri": "ui://one/view", "visibility": ["model", "app"]})),
        tool("plain", json!({"resourceUri": "ui://one/view"})),
        tool("hidden", json!({"resourceUri": "ui://one/view", "visibility": ["app"]})),
        tool("nobody", json!({"visibility": []})),
        tool("odd", json!({"visibility": "app"})),
    ]});
    let record = Record::new();
    let script = Script::new()
        .recorded(&record.path())
        .on("tools/list", [Action::Result(tools)])
        .tool("both", [Action::text("called")])
        .tool("hidden", [Action::text("called")]);
    let server = Server::scripted(json!({"repeat": true, "turns": [
        {"when": {"user": "tools"}, "steps": [{"text": "{{tools}}"}]},
        {"steps": [{"calls": [{"name": "one__both"}, {"name": "one__hidden"}, {"name": "two__hidden"}]},
            {"text": "done"}]},
    ]}))
    .start();
    let session = server.session([one(&script)]);
    let turn = session.say("tools").finishes();
    assert_eq!(turn.text(), "one__both, one__odd, one__plain");
    let turn = session.say("go").finishes();
    assert_eq!(
        turn.calls()[0]["_meta"],
        json!({"goose_extension": "one", "ui": {"resourceUri": "ui://one/view", "visibility": ["model", "app"]}})
    );
    let unknown = |name: &str| json!({"status": "error", "error": format!("-32002: Tool '{name}' not found")});
    let responses = turn.parts_of("toolResponse");
    assert_eq!(
        responses[0]["toolResult"]["value"]["content"][0]["text"],
        "called"
    );
    assert_eq!(responses[1]["toolResult"], unknown("one__hidden"));
    assert_eq!(responses[2]["toolResult"], unknown("two__hidden"));
    assert_eq!(record.all("tools/call").len(), 1);
}
