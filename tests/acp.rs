//! `gosling acp`, driven by a client over stdin and stdout, with a scripted model.
#![cfg(feature = "acp")]
#![cfg_attr(not(unix), allow(dead_code, unused_imports))] // Commands of a Unix shell are in some tests.

mod support;

use serde_json::{Value, json};
use std::cell::RefCell;
use std::fs;
use std::rc::Rc;
use std::time::{Duration, Instant};
use support::acp_client::{Acp, AcpClient, call, developer, edit, shell, turn, turns};
use support::process::{running, signal, unique_sleep};
use support::scripted::{Action, Script};
use support::server::Extension;
use support::system::ROOT;
use support::until;

/// The updates of one tool call.
fn of_call<'u>(updates: &'u [Value], id: &str) -> Vec<&'u Value> {
    updates
        .iter()
        .filter(|it| it["toolCallId"] == *id)
        .collect()
}

fn server(name: &str, script: &Script) -> Value {
    let extension = Extension::scripted(name, script);
    let config = &extension.0;
    json!({"name": name, "command": config["cmd"], "args": config["args"], "env": []})
}

#[test]
fn a_turn_streams_text_and_ends() {
    let script = turn(json!([{"reasoning": "hm"}, {"text": "It is done.", "chunks": 3}]));
    let mut client = Acp::new(script).start();
    let session = client.session();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let thought = client.update("agent_thought_chunk");
    assert_eq!(thought["content"]["text"], "hm");
    assert_eq!(client.text(), "It is done.");
    let ids: Vec<Value> = client
        .take_updates()
        .into_iter()
        .filter(|it| it["sessionUpdate"] == "agent_message_chunk")
        .map(|it| it["messageId"].clone())
        .collect();
    assert!(
        ids.iter().all(|id| id.is_string() && *id == ids[0]),
        "{ids:?}"
    );
}

#[test]
fn a_byte_order_mark_and_empty_arrays_for_objects_are_read() {
    let mut client = Acp::new(turn(json!([{"text": "It is done."}]))).connect();
    let params = json!({"protocolVersion": 1, "clientCapabilities": [], "clientInfo": []});
    let initialize = json!({"jsonrpc": "2.0", "id": 77, "method": "initialize", "params": params});
    client.write(format!("\u{feff}{initialize}").as_bytes());
    assert_eq!(client.result(77)["protocolVersion"], 1);
    let session = client.session();
    client.prompt(&session, "go");
    assert_eq!(client.text(), "It is done.");
}

#[test]
fn every_version_is_answered_with_the_one_that_the_agent_speaks() {
    for version in [0, 1, 2, 65535] {
        let mut client = Acp::new(turn(json!([]))).connect();
        let result = client.call("initialize", json!({"protocolVersion": version}));
        assert_eq!(result["protocolVersion"], 1);
        assert_eq!(result["agentInfo"]["name"], "gosling");
        let first = result["authMethods"][0]["id"].clone();
        assert_eq!(
            client.call("authenticate", json!({"methodId": first})),
            json!({})
        );
    }
}

#[test]
fn nothing_but_initialize_comes_first_and_only_once() {
    let mut client = Acp::new(turn(json!([]))).connect();
    let (code, why) = client.refused("session/new", json!({"cwd": ROOT, "mcpServers": []}));
    assert_eq!(code, -32600);
    assert!(why.contains("initialize"));
    client.call("initialize", json!({"protocolVersion": 1}));
    assert_eq!(
        client
            .refused("initialize", json!({"protocolVersion": 1}))
            .0,
        -32600
    );
    client.session();
}

#[test]
fn bad_messages_are_answered_and_the_connection_lives() {
    let mut client = Acp::new(turn(json!([{"text": "ok"}]))).start();
    for (line, code) in [
        (&b"{not json"[..], -32700),
        (b"\xff\xfe", -32700),
        (b"[]", -32600),
        (
            b"{\"jsonrpc\":\"1.0\",\"id\":\"x\",\"method\":\"y\"}",
            -32600,
        ),
    ] {
        client.write(line);
        let id = if code == -32600 && line[0] == b'{' {
            json!("x")
        } else {
            json!(null)
        };
        assert_eq!(client.response(&id)["error"]["code"], code);
    }
    client.write(b"\r\n");
    client.notify("unknown/notification", json!({}));
    for (method, params, code, why) in [
        ("unknown", json!({}), -32601, "unknown"),
        ("_vendor/unknown", json!({}), -32601, "_vendor/unknown"),
        ("session/new", json!({"mcpServers": []}), -32602, "`cwd`"),
        (
            "session/new",
            json!({"cwd": "relative", "mcpServers": []}),
            -32602,
            "`cwd`",
        ),
        (
            "session/new",
            json!({"cwd": "/no/such/folder", "mcpServers": []}),
            -32602,
            "`cwd`",
        ),
        (
            "session/new",
            json!({"cwd": 5, "mcpServers": []}),
            -32602,
            "`cwd`: invalid type: integer `5`",
        ),
        (
            "session/new",
            json!({"cwd": ROOT, "mcpServers": {}}),
            -32602,
            "`mcpServers`",
        ),
        (
            "session/new",
            json!({"cwd": ROOT, "mcpServers": [{"name": "x", "command": "y", "env": [{"name": 1}]}]}),
            -32602,
            "`mcpServers[0].env[0].name`",
        ),
        (
            "session/new",
            json!({"cwd": ROOT, "mcpServers": [5]}),
            -32602,
            "`mcpServers[0]`: invalid type: integer `5`, expected an MCP server",
        ),
        (
            "session/prompt",
            json!({"sessionId": 5, "prompt": []}),
            -32602,
            "`sessionId`",
        ),
        ("session/new", json!(["/"]), -32602, "not an object"),
        ("session/new", json!([]), -32602, "`cwd`"),
        (
            "session/prompt",
            json!({"sessionId": "x"}),
            -32602,
            "`prompt`",
        ),
        (
            "session/prompt",
            json!({"sessionId": "20200101_1", "prompt": []}),
            -32002,
            "not found",
        ),
        (
            "session/load",
            json!({"sessionId": "20200101_1", "cwd": ROOT, "mcpServers": []}),
            -32002,
            "not found",
        ),
        (
            "session/load",
            json!({"sessionId": "../..", "cwd": ROOT, "mcpServers": []}),
            -32002,
            "not found",
        ),
        (
            "session/list",
            json!({"cursor": "nonsense"}),
            -32602,
            "cursor",
        ),
        ("session/list", json!({"cwd": "relative"}), -32602, "cwd"),
        (
            "session/close",
            json!({"sessionId": "20200101_1"}),
            -32002,
            "not found",
        ),
        ("authenticate", json!({"methodId": "x"}), -32602, "methodId"),
    ] {
        let (got, message) = client.refused(method, params.clone());
        assert_eq!(got, code, "{method} {params}: {message}");
        assert!(message.contains(why), "{method} {params}: {message}");
    }
    let session = client.session();
    for (prompt, why) in [
        (json!([]), "empty"),
        (
            json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]),
            "audio",
        ),
        (
            json!([{"type": "other"}]),
            "`prompt[0]`: `type`: unknown variant `other`",
        ),
        (
            json!([{"type": "text", "text": "a"}, {"type": "text"}]),
            "`prompt[1]`: missing field `text`",
        ),
    ] {
        let params = json!({"sessionId": session, "prompt": prompt});
        let (code, message) = client.refused("session/prompt", params);
        assert_eq!(code, -32602, "{message}");
        assert!(message.contains(why), "{message}");
    }
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    client.write(br#"{"jsonrpc":"2.0","id":null,"method":"session/list","params":{}}"#);
    let listed = client.response(&json!(null));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], json!(session));
}

#[test]
fn a_message_of_more_than_50_mib_is_refused() {
    let mut client = Acp::new(turn(json!([{"text": "ok"}]))).start();
    let session = client.session();
    let text = "x".repeat(50 << 20);
    let id = client.begin_prompt(&session, &text);
    // The members of the message are in alphabetic order or not, so that the id may be lost.
    let refused = client.next_response();
    assert_eq!(refused["error"]["code"], -32600);
    assert!(refused["id"].is_null() || refused["id"] == id);
    assert_eq!(client.prompt(&session, "go"), "end_turn");
}

#[test]
fn an_edit_is_shown_as_a_diff_asked_about_and_made() {
    let script = turn(json!([
        edit(json!({"command": "write", "path": "a.txt", "file_text": "one\ntwo\n"})),
        edit(json!({"command": "str_replace", "path": "a.txt", "old_str": "two", "new_str": "2"})),
        {"text": "done"},
    ]));
    let mut client = Acp::new(script)
        .configured(developer())
        .env("GOOSE_MODE", "approve")
        .start();
    client.permits("allow_once");
    let session = client.session();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let file = client.work().join("a.txt");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n2\n");
    let questions: Vec<_> = client
        .requests
        .iter()
        .map(|it| it["params"]["toolCall"].clone())
        .collect();
    let second = &questions[1];
    let diff =
        json!([{"type": "diff", "path": file, "oldText": "one\ntwo\n", "newText": "one\n2\n"}]);
    assert_eq!(
        (&second["content"], &second["kind"]),
        (&diff, &json!("edit"))
    );
    assert_eq!(second["locations"][0]["path"], json!(file));
    let updates = client.take_updates();
    let shown = of_call(&updates, second["toolCallId"].as_str().unwrap());
    let states: Vec<_> = shown
        .iter()
        .map(|it| it["status"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["pending", "in_progress", "completed"]);
    assert_eq!(shown[2]["content"], diff);
}

#[test]
fn a_rejected_call_is_not_run_and_always_is_remembered() {
    let script = turn(json!([
        edit(json!({"command": "write", "path": "a.txt", "file_text": "x"})),
        {"text": "{{last_result}}"},
    ]));
    let mut client = Acp::new(script)
        .configured(developer())
        .env("GOOSE_MODE", "approve")
        .start();
    client.permits("reject_once");
    let session = client.session();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert!(!client.work().join("a.txt").exists());
    let options = ["allow_once", "allow_always", "reject_once", "reject_always"];
    let offered = client.requests[0]["params"]["options"].as_array().unwrap();
    let ids: Vec<_> = offered.iter().map(|option| &option["optionId"]).collect();
    assert_eq!(ids, options);
    assert!(
        offered
            .iter()
            .all(|option| option["kind"] == option["optionId"])
    );
    let updates = client.take_updates();
    let states: Vec<_> = (updates.iter())
        .filter(|it| {
            it["sessionUpdate"]
                .as_str()
                .unwrap()
                .starts_with("tool_call")
        })
        .map(|it| it["status"].as_str().unwrap())
        .collect();
    // The call is denied, and the model goes on.
    assert_eq!(states, ["pending", "failed"]);
    let says = |it: &Value| it["sessionUpdate"] == "agent_message_chunk";
    assert!(updates.iter().any(says), "{updates:?}");
    // An error, and an option that was not offered, are rejections, too.
    client.permits("yes_please");
    client.prompt(&session, "go");
    client.answering("session/request_permission", |_| {
        Some(Err(json!({"code": -1, "message": "no"})))
    });
    client.prompt(&session, "go");
    assert!(!client.work().join("a.txt").exists());
    client.permits("allow_always");
    client.prompt(&session, "go");
    assert!(client.work().join("a.txt").exists());
    let asked = client.requests.len();
    client.prompt(&session, "go");
    assert_eq!(client.requests.len(), asked);
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn the_output_of_a_command_comes_while_it_runs() {
    let command = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo second";
    let script = turn(json!([shell(command), {"text": "done"}]));
    let mut client = Acp::new(script).configured(developer()).start();
    let session = client.session();
    let prompt = client.begin_prompt(&session, "go");
    let output = loop {
        let update = client.update("tool_call_update");
        if update["content"][0]["content"]["text"].is_string() {
            break update;
        }
    };
    assert_eq!(
        output["content"][0]["content"]["text"],
        "```console\nfirst\n```\n"
    );
    fs::write(client.work().join("go"), "").unwrap();
    assert_eq!(client.result(prompt)["stopReason"], "end_turn");
    let updates = client.take_updates();
    let last = updates
        .iter()
        .rfind(|it| it["status"] == "completed")
        .unwrap();
    assert_eq!(
        last["content"][0]["content"]["text"],
        "```console\nfirst\nsecond\n```\n"
    );
    assert_eq!(last["rawOutput"]["exit_code"], 0);
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn a_client_that_shows_terminals_gets_output_in_its_form() {
    let script = turn(json!([shell("echo one; exit 3"), {"text": "done"}]));
    let mut client = Acp::new(script)
        .configured(developer())
        .capabilities(json!({"_meta": {"terminal_output": true}}))
        .start();
    let session = client.session();
    client.prompt(&session, "go");
    let updates = client.take_updates();
    let begun = updates
        .iter()
        .find(|it| it["sessionUpdate"] == "tool_call")
        .unwrap();
    let id = begun["toolCallId"].clone();
    assert_eq!(
        begun["content"],
        json!([{"type": "terminal", "terminalId": id}])
    );
    assert_eq!(begun["_meta"]["terminal_info"]["terminal_id"], id);
    let output: String = updates
        .iter()
        .filter_map(|it| it["_meta"]["terminal_output"]["data"].as_str())
        .collect();
    assert_eq!(output, "one\n");
    let exit = updates
        .iter()
        .find_map(|it| it["_meta"].get("terminal_exit"))
        .unwrap();
    assert_eq!(exit["exit_code"], 3);
}

#[test]
fn a_plan_follows_the_checklist() {
    let list = "- [x] think\n- [ ] write\n- [ ] test";
    let script =
        turn(json!([call("todo__todo_write", json!({"content": list})), {"text": "done"}]));
    let mut client = Acp::new(script).configured(developer()).start();
    let session = client.session();
    client.prompt(&session, "go");
    let plan = client.update("plan");
    let states: Vec<_> = plan["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["status"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["completed", "in_progress", "pending"]);
    let mut client = client.restart();
    let cwd = client.work();
    client.call(
        "session/load",
        json!({"sessionId": session, "cwd": cwd, "mcpServers": []}),
    );
    assert_eq!(client.update("plan"), plan);
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn cancelling_ends_model_tools_and_questions() {
    let sleep = unique_sleep();
    let script = turns(&[
        (
            "stream",
            json!([{"text": "a b c d e f g h", "chunks": 8, "delay_ms": 10_000}]),
        ),
        (
            "sleep",
            json!([shell(&format!("sleep {sleep} & sleep {sleep}")), {"text": "over"}]),
        ),
        ("ask", json!([shell("true"), {"text": "over"}])),
        ("hello", json!([{"text": "hello"}])),
    ]);
    let mut client = Acp::new(script).configured(developer()).start();
    let session = client.session();
    let cancel = |client: &mut AcpClient, prompt: i64| {
        let begun = Instant::now();
        client.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(client.result(prompt)["stopReason"], "cancelled");
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
        let updates = client.take_updates();
        let calls = updates
            .iter()
            .filter(|it| it["sessionUpdate"] == "tool_call");
        for call in calls {
            let last = updates
                .iter()
                .rfind(|it| it["toolCallId"] == call["toolCallId"]);
            assert_eq!(last.unwrap()["status"], "failed");
        }
    };
    let prompt = client.begin_prompt(&session, "stream");
    cancel(&mut client, prompt);
    let prompt = client.begin_prompt(&session, "sleep");
    running(&sleep, 2);
    cancel(&mut client, prompt);
    running(&sleep, 0);
    // The user never answers the question.
    client.call(
        "session/set_mode",
        json!({"sessionId": session, "modeId": "approve"}),
    );
    let prompt = client.begin_prompt(&session, "ask");
    client.until_requests(1);
    cancel(&mut client, prompt);
    // A cancellation without a turn does not end the next one.
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.prompt(&session, "hello"), "end_turn");
}

#[test]
fn a_late_answer_to_a_withdrawn_question_is_ignored() {
    let script = turns(&[
        ("ask", json!([shell("echo ran > ran"), {"text": "over"}])),
        ("hello", json!([{"text": "hello"}])),
    ]);
    let mut client = Acp::new(script)
        .configured(developer())
        .env("GOOSE_MODE", "approve")
        .start();
    let session = client.session();
    let prompt = client.begin_prompt(&session, "ask");
    client.until_requests(1);
    let question = client.requests[0]["id"].clone();
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.result(prompt)["stopReason"], "cancelled");
    let withdrawn =
        |it: &Value| it["method"] == "$/cancel_request" && it["params"]["requestId"] == question;
    assert!(client.updates.iter().any(withdrawn));
    let allowed = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    client.respond(json!({"id": question, "result": allowed}));
    assert_eq!(client.prompt(&session, "hello"), "end_turn");
    assert!(!client.work().join("ran").exists());
}

#[test]
fn a_busy_session_refuses_a_second_prompt_and_others_go_on() {
    let script = turns(&[
        (
            "wait",
            json!([shell("while [ ! -e go ]; do sleep 0.05; done"), {"text": "over"}]),
        ),
        ("hello", json!([{"text": "hello"}])),
    ]);
    let mut client = Acp::new(script).configured(developer()).start();
    let (one, two) = (client.session(), client.session());
    let prompt = client.begin_prompt(&one, "wait");
    let again = json!({"sessionId": one, "prompt": [{"type": "text", "text": "hello"}]});
    let (code, why) = client.refused("session/prompt", again);
    assert_eq!(code, -32600);
    assert!(why.contains("running"), "{why}");
    assert_eq!(client.prompt(&two, "hello"), "end_turn");
    fs::write(client.work().join("go"), "").unwrap();
    assert_eq!(client.result(prompt)["stopReason"], "end_turn");
    assert_eq!(client.prompt(&one, "hello"), "end_turn");
}

#[test]
fn a_session_is_listed_loaded_and_resumed_by_another_process() {
    let write = json!({"command": "write", "path": "a.txt", "file_text": "x"});
    let script = turn(json!([{"text": "I write. "}, edit(write), {"text": "Written."}]));
    let mut client = Acp::new(script).configured(developer()).start();
    let session = client.session();
    client.prompt(&session, "write it");
    assert_eq!(client.update("session_info_update")["title"], "A session");
    let mut client = client.restart();
    let cwd = client.work();
    let list = client.call("session/list", json!({"cwd": cwd}));
    assert_eq!(list["sessions"][0]["sessionId"], json!(session));
    assert_eq!(list["sessions"][0]["title"], "A session");
    let elsewhere = client.call("session/list", json!({"cwd": ROOT}));
    assert_eq!(elsewhere["sessions"], json!([]));
    let open = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    let id = client.request("session/load", open.clone());
    client.result(id);
    let history = client.take_updates();
    let kinds: Vec<_> = history
        .iter()
        .map(|it| it["sessionUpdate"].as_str().unwrap())
        .take(4)
        .collect();
    assert_eq!(
        kinds,
        [
            "user_message_chunk",
            "agent_message_chunk",
            "tool_call",
            "agent_message_chunk"
        ]
    );
    assert_eq!(history[2]["status"], "completed");
    assert_eq!(history[2]["content"][0]["newText"], "x");
    let mut client = client.restart();
    client.call("session/resume", open);
    let updates = client.take_updates();
    assert!(
        updates
            .iter()
            .all(|it| it["sessionUpdate"] != "user_message_chunk"),
        "{updates:?}"
    );
    // A client that has reconnected may go on without opening the session.
    let mut client = client.restart();
    assert_eq!(client.prompt(&session, "again"), "end_turn");
}

#[test]
fn a_list_has_pages_and_the_newest_session_comes_first() {
    let mut client = Acp::new(turn(json!([{"text": "ok"}]))).start();
    let cwd = client.work();
    let mut ids = Vec::new();
    for _ in 0..103 {
        let id = client.session();
        client.prompt(&id, "go");
        ids.push(id);
    }
    let mut seen = Vec::new();
    let mut params = json!({"cwd": cwd});
    loop {
        let page = client.call("session/list", params.clone());
        let sessions = page["sessions"].as_array().unwrap();
        seen.extend(
            sessions
                .iter()
                .map(|it| it["sessionId"].as_str().unwrap().to_owned()),
        );
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => break,
        }
    }
    seen.sort();
    ids.sort();
    assert_eq!(seen, ids);
}

#[test]
fn a_closed_session_ends_its_servers_and_a_deleted_one_is_gone() {
    let script = turns(&[
        (
            "wait",
            json!([{"text": "a b", "chunks": 2, "delay_ms": 60_000}]),
        ),
        ("hello", json!([{"text": "hello"}])),
    ]);
    let mut client = Acp::new(script).start();
    let cwd = client.work();
    let servers = json!([server("files", &Script::new())]);
    let new = client.call("session/new", json!({"cwd": cwd, "mcpServers": servers}));
    let session = new["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(client.prompt(&session, "hello"), "end_turn");
    let count = client.descendants().len();
    let prompt = client.begin_prompt(&session, "wait");
    client.call("session/close", json!({"sessionId": session}));
    assert_eq!(client.result(prompt)["stopReason"], "cancelled");
    assert!(client.descendants().len() < count);
    assert_eq!(client.prompt(&session, "hello"), "end_turn");
    for _ in 0..2 {
        client.call("session/delete", json!({"sessionId": session}));
    }
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]});
    assert_eq!(client.refused("session/prompt", params).0, -32002);
    assert_ne!(client.session(), session);
}

#[test]
fn the_clients_servers_come_beside_the_configured_ones_and_failures_are_told() {
    let script = turn(json!([{"text": "{{tools}}"}]));
    let mut client = Acp::new(script).configured(developer()).start();
    let cwd = client.work();
    let servers = json!([
        server("files", &Script::new()),
        server("developer", &Script::new()),
        {"name": "gone", "command": "/no/such/program", "args": [], "env": []},
        {"type": "sse", "name": "old", "url": "http://127.0.0.1:1/sse", "headers": []},
    ]);
    let new = client.call("session/new", json!({"cwd": cwd, "mcpServers": servers}));
    let session = new["sessionId"].as_str().unwrap().to_owned();
    client.prompt(&session, "go");
    let text = client.text();
    for part in [
        "\"gone\"",
        "\"old\"",
        "developer__shell",
        "developer2__echo",
        "files__echo",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    client.take_updates();
    client.prompt(&session, "go");
    assert!(
        !client.text().contains("did not start"),
        "{}",
        client.text()
    );
    // The next opening has other servers.
    let mut client = client.restart();
    let open =
        json!({"sessionId": session, "cwd": cwd, "mcpServers": [server("git", &Script::new())]});
    client.call("session/resume", open);
    client.prompt(&session, "go");
    let text = client.text();
    assert!(
        text.contains("git__echo") && text.contains("developer__shell"),
        "{text}"
    );
    assert!(!text.contains("files__echo"), "{text}");
}

#[test]
fn a_server_that_hangs_does_not_hold_up_the_session() {
    let hanging = Script::new().on("initialize", []);
    let mut client = Acp::new(turn(json!([{"text": "ok"}]))).start();
    let cwd = client.work();
    let servers = json!([server("slow", &hanging)]);
    let new = client.call("session/new", json!({"cwd": cwd, "mcpServers": servers}));
    // The first turn waits for the extensions; a cancellation ends that.
    let session = new["sessionId"].as_str().unwrap().to_owned();
    let prompt = client.begin_prompt(&session, "go");
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.result(prompt)["stopReason"], "cancelled");
    // It does not wait for ever, and the user learns why tools are missing.
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let text = client.text();
    assert!(
        text.contains("still starting") && text.contains("- slow"),
        "{text}"
    );
    assert!(text.ends_with("ok"), "{text}");
    client.take_updates();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(client.text(), "ok", "it is told once");
}

#[test]
fn a_client_with_notices_is_told_at_once() {
    let mut client = Acp::new(turn(json!([{"text": "ok"}])))
        .capabilities(json!({"session": {"notices": {}}}))
        .start();
    let cwd = client.work();
    let servers = json!([{"name": "gone", "command": "/no/such/program", "args": [], "env": []}]);
    client.call("session/new", json!({"cwd": cwd, "mcpServers": servers}));
    let notice = client.update("notice");
    assert_eq!(notice["severity"], "warning");
    assert!(
        notice["description"]
            .as_str()
            .unwrap()
            .contains("/no/such/program")
    );
}

#[test]
fn modes_and_options_are_changed_and_told() {
    let script = turn(json!([shell("true"), {"text": "done"}]));
    let mut client = Acp::new(script).configured(developer()).start();
    let session = client.session();
    client.permits("allow_once");
    client.prompt(&session, "go");
    assert!(client.requests.is_empty());
    client.take_updates();
    client.call(
        "session/set_mode",
        json!({"sessionId": session, "modeId": "approve"}),
    );
    let options = client.update("config_option_update");
    assert_eq!(options["configOptions"][0]["currentValue"], "approve");
    client.prompt(&session, "go");
    assert_eq!(client.requests.len(), 1);
    let set = json!({"sessionId": session, "configId": "mode", "value": "chat"});
    let options = client.call("session/set_config_option", set);
    assert_eq!(options["configOptions"][0]["currentValue"], "chat");
    assert_eq!(
        client.update("current_mode_update")["currentModeId"],
        "chat"
    );
    let set = json!({"sessionId": session, "configId": "model", "value": "other"});
    let options = client.call("session/set_config_option", set);
    let model = options["configOptions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["id"] == "model");
    assert_eq!(model.unwrap()["currentValue"], "other");
    for effort in ["high", "default"] {
        let set = json!({"sessionId": session, "configId": "thinking_effort", "value": effort});
        let options = client.call("session/set_config_option", set);
        let options = options["configOptions"].as_array().unwrap().iter();
        let mut found = options.filter(|it| it["id"] == "thinking_effort");
        assert_eq!(found.next().unwrap()["currentValue"], effort);
    }
    for (id, value) in [
        ("mode", json!("yolo")),
        ("mode", json!(true)),
        ("provider", json!("none")),
        ("thinking_effort", json!("lots")),
        ("x", json!("y")),
    ] {
        let set = json!({"sessionId": session, "configId": id, "value": value});
        assert_eq!(
            client.refused("session/set_config_option", set).0,
            -32602,
            "{id}"
        );
    }
    assert_eq!(
        client
            .refused(
                "session/set_mode",
                json!({"sessionId": session, "modeId": "x"})
            )
            .0,
        -32602
    );
    // The mode is the session's own, in every process.
    let mut client = client.restart();
    let cwd = client.work();
    let open = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    let opened = client.call("session/resume", open);
    assert_eq!(opened["modes"]["currentModeId"], "chat");
    let other = client.call("session/new", json!({"cwd": cwd, "mcpServers": []}));
    assert_eq!(other["modes"]["currentModeId"], "auto");
}

#[test]
fn a_form_of_an_mcp_server_is_shown_and_its_answer_arrives() {
    let form = json!({"message": "Who are you?", "requestedSchema": {
        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}});
    let asking = Script::new().tool(
        "echo",
        [
            Action::AskWith("elicitation/create".to_owned(), form),
            Action::LastClientAnswer,
        ],
    );
    let script =
        turn(json!([call("asker__echo", json!({"message": "x"})), {"text": "{{last_result}}"}]));
    let run = |capabilities: Value| {
        let mut client = Acp::new(script.clone()).capabilities(capabilities).start();
        client.answering("elicitation/create", |params| {
            assert_eq!(
                (&params["mode"], &params["message"]),
                (
                    &json!("form"),
                    &json!("The extension \"asker\" asks: Who are you?")
                )
            );
            Some(Ok(json!({"action": "accept", "content": {"name": "Ada"}})))
        });
        let cwd = client.work();
        let servers = json!([server("asker", &asking)]);
        let new = client.call("session/new", json!({"cwd": cwd, "mcpServers": servers}));
        client.prompt(new["sessionId"].as_str().unwrap(), "go");
        client.text()
    };
    let answered = run(json!({"elicitation": {"form": {}}}));
    assert!(answered.contains("Ada"), "{answered}");
    let declined = run(json!({}));
    assert!(
        declined.contains("decline") && declined.contains("\"asker\" asks: Who are you?"),
        "{declined}"
    );
}

#[test]
fn a_failing_model_is_an_error_with_words_and_the_session_lives_on() {
    let error = |class: &str| json!([{"error": {"class": class, "message": "it broke"}}]);
    let script = json!({"turns": [
        {"when": {"user": "server"}, "steps": error("refused")},
        {"when": {"user": "key"}, "steps": error("authentication")},
        {"when": {"user": "long"}, "steps": [{"text": "abc"}], "stop": "length"},
        {"when": {"user": "filter"}, "steps": [{"text": "abc"}], "stop": "filtered"},
        {"when": {"user": "hello"}, "steps": [{"text": "hello"}]},
    ]});
    let mut client = Acp::new(script).start();
    let session = client.session();
    for (word, code) in [("server", -32603), ("key", -32000)] {
        let prompt = client.begin_prompt(&session, word);
        let (got, message) = client.error(prompt);
        assert_eq!(got, code, "{message}");
        assert!(message.contains("it broke"), "{message}");
        assert!(!client.text().contains("it broke"), "{}", client.text());
    }
    assert_eq!(client.prompt(&session, "long"), "max_tokens");
    assert_eq!(client.prompt(&session, "filter"), "refusal");
    assert_eq!(client.prompt(&session, "hello"), "end_turn");
}

#[test]
fn a_turn_with_too_many_requests_says_so() {
    let script = json!({"turns": [{"steps": [shell("true")]}], "repeat": true});
    let mut client = Acp::new(script)
        .configured(developer())
        .env("GOOSE_MAX_TURNS", "2")
        .start();
    let session = client.session();
    assert_eq!(client.prompt(&session, "go"), "max_turn_requests");
}

#[test]
fn without_a_model_the_user_is_told_how_to_configure_one() {
    let mut client = Acp::new(turn(json!([]))).env("GOOSE_PROVIDER", "").start();
    let session = client.session();
    let prompt = client.begin_prompt(&session, "go");
    assert_eq!(client.error(prompt).0, -32000);
    let (code, why) = client.refused("authenticate", json!({"methodId": "configure-model"}));
    assert_eq!(code, -32000);
    assert!(why.contains("GOOSE_PROVIDER"), "{why}");
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn the_end_of_stdin_ends_everything() {
    let sleep = unique_sleep();
    let script = turn(json!([shell(&format!("sleep {sleep} & sleep {sleep}")), {"text": "over"}]));
    let mut client = Acp::new(script).configured(developer()).start();
    let session = client.session();
    client.begin_prompt(&session, "go");
    running(&sleep, 2);
    let begun = Instant::now();
    assert!(client.end().success());
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    running(&sleep, 0);
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn a_signal_ends_everything() {
    let sleep = unique_sleep();
    let script = turn(json!([shell(&format!("sleep {sleep}")), {"text": "over"}]));
    let mut client = Acp::new(script).configured(developer()).start();
    let session = client.session();
    client.begin_prompt(&session, "go");
    running(&sleep, 1);
    signal(client.pid(), "TERM");
    until("the agent ends", || client.has_ended().then_some(()));
    running(&sleep, 0);
}

#[test]
fn the_same_session_goes_on_in_the_server() {
    let script = turn(json!([{"text": "from the agent"}]));
    let mut client = Acp::new(script).start();
    let session = client.session();
    client.prompt(&session, "go");
    client.end();
    let export = support::server::gosling()
        .args(["chat", "--session", &session, "-m", "more"])
        .env("GOOSE_PATH_ROOT", client.root())
        .env("GOOSE_PROVIDER", "scripted")
        .env("GOOSE_SCRIPT", client.root().join("script.json"))
        .output()
        .unwrap();
    if cfg!(feature = "chat") {
        assert!(export.status.success(), "{export:?}");
    }
    let mut client = client.restart();
    let cwd = client.work();
    client.call(
        "session/load",
        json!({"sessionId": session, "cwd": cwd, "mcpServers": []}),
    );
    let updates = client.take_updates();
    let users = updates
        .iter()
        .filter(|it| it["sessionUpdate"] == "user_message_chunk");
    assert_eq!(users.count(), if cfg!(feature = "chat") { 2 } else { 1 });
}

#[test]
fn a_file_with_unsaved_changes_is_read_and_written_through_the_client() {
    let script = turn(json!([
        edit(json!({"command": "view", "path": "a.txt"})),
        edit(json!({"command": "str_replace", "path": "a.txt", "old_str": "unsaved", "new_str": "edited"})),
        {"text": "{{last_result}}"},
    ]));
    let mut client = Acp::new(script)
        .configured(developer())
        .capabilities(json!({"fs": {"readTextFile": true, "writeTextFile": true}}))
        .start();
    let file = client.work().join("a.txt");
    fs::write(&file, "saved\n").unwrap();
    let buffer = Rc::new(RefCell::new("unsaved\n".to_owned()));
    let read = buffer.clone();
    client.answering("fs/read_text_file", move |_| {
        Some(Ok(json!({"content": *read.borrow()})))
    });
    let written = buffer.clone();
    client.answering("fs/write_text_file", move |params| {
        *written.borrow_mut() = params["content"].as_str().unwrap().to_owned();
        Some(Ok(json!({})))
    });
    let session = client.session();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(*buffer.borrow(), "edited\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), "saved\n");
    let paths = client
        .requests
        .iter()
        .map(|it| it["params"]["path"].clone());
    assert!(paths.into_iter().all(|path| path == json!(file)));
    let updates = client.take_updates();
    let diff = updates
        .iter()
        .rfind(|it| it["content"][0]["type"] == "diff")
        .unwrap();
    let diff = &diff["content"][0];
    assert_eq!(
        (&diff["oldText"], &diff["newText"]),
        (&json!("unsaved\n"), &json!("edited\n"))
    );
}

#[test]
fn a_file_that_the_client_refuses_is_read_and_written_on_the_disk() {
    let script = turn(json!([
        edit(json!({"command": "str_replace", "path": "a.txt", "old_str": "one", "new_str": "1"})),
        edit(json!({"command": "write", "path": "new/b.txt", "file_text": "b"})),
        {"text": "done"},
    ]));
    let mut client = Acp::new(script)
        .configured(developer())
        .capabilities(json!({"fs": {"readTextFile": true, "writeTextFile": true}}))
        .start();
    let file = client.work().join("a.txt");
    fs::write(&file, "one\n").unwrap();
    for method in ["fs/read_text_file", "fs/write_text_file"] {
        let error = json!({"code": -32603, "message": "not in the project"});
        client.answering(method, move |_| Some(Err(error.clone())));
    }
    let session = client.session();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(fs::read_to_string(&file).unwrap(), "1\n");
    assert_eq!(
        fs::read_to_string(client.work().join("new/b.txt")).unwrap(),
        "b"
    );
}

#[test]
fn an_ignored_file_is_not_asked_of_the_client_by_its_tools() {
    let script = turn(
        json!([edit(json!({"command": "view", "path": ".env"})), {"text": "{{last_result}}"}]),
    );
    let mut client = Acp::new(script)
        .configured(developer())
        .capabilities(json!({"fs": {"readTextFile": true}}))
        .start();
    fs::write(client.work().join(".env"), "KEY=1\n").unwrap();
    client.answering("fs/read_text_file", |_| {
        Some(Ok(json!({"content": "KEY=1\n"})))
    });
    let session = client.session();
    client.prompt(&session, "go");
    assert!(client.requests.is_empty(), "{:?}", client.requests);
    assert!(!client.text().contains("KEY=1"), "{}", client.text());
}

/// A client whose terminals print this and end with this code at once.
fn with_terminals(client: &mut AcpClient, output: &'static str, code: i64) {
    client.answering("terminal/create", |_| Some(Ok(json!({"terminalId": "t1"}))));
    client.answering("terminal/wait_for_exit", move |_| {
        Some(Ok(json!({"exitCode": code, "signal": null})))
    });
    client.answering("terminal/output", move |_| {
        Some(Ok(json!({"output": output, "truncated": false})))
    });
    for method in ["terminal/kill", "terminal/release"] {
        client.answering(method, |_| Some(Ok(json!({}))));
    }
}

fn methods(client: &AcpClient) -> Vec<&str> {
    client
        .requests
        .iter()
        .map(|it| it["method"].as_str().unwrap())
        .collect()
}

#[test]
fn a_command_runs_in_a_terminal_of_the_client() {
    let script = turn(json!([shell("make all"), {"text": "{{last_result}}"}]));
    let mut client = Acp::new(script)
        .configured(developer())
        .capabilities(json!({"terminal": true}))
        .start();
    with_terminals(&mut client, "from the terminal\n", 2);
    let session = client.session();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(client.text(), "from the terminal\n[exit code 2]\n");
    let expected = [
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/release",
    ];
    assert_eq!(methods(&client), expected);
    let create = &client.requests[0]["params"];
    assert_eq!(create["cwd"], json!(client.work()));
    assert_eq!(
        create["args"].as_array().unwrap().last().unwrap(),
        "make all"
    );
    let variables = create["env"].as_array().unwrap();
    assert!(
        variables
            .iter()
            .any(|it| it["name"] == "GIT_TERMINAL_PROMPT")
    );
    let updates = client.take_updates();
    let terminal = json!([{"type": "terminal", "terminalId": "t1"}]);
    assert!(
        updates.iter().any(|it| it["content"] == terminal),
        "{updates:?}"
    );
    let last = updates
        .iter()
        .rfind(|it| it["status"] == "completed")
        .unwrap();
    assert!(
        last.get("content").is_none() && last["rawOutput"]["exit_code"] == 2,
        "{last}"
    );
}

#[test]
fn a_command_in_a_terminal_is_ended_by_its_time_limit_and_by_a_cancellation() {
    let limited = json!({"command": "sleep 1000", "timeout_secs": 0.2});
    let script = turns(&[
        (
            "limit",
            json!([call("developer__shell", limited), {"text": "{{last_result}}"}]),
        ),
        ("cancel", json!([shell("sleep 1000"), {"text": "over"}])),
    ]);
    let mut client = Acp::new(script)
        .configured(developer())
        .capabilities(json!({"terminal": true}))
        .start();
    with_terminals(&mut client, "half", 0);
    client.leaves_unanswered("terminal/wait_for_exit");
    let session = client.session();
    assert_eq!(client.prompt(&session, "limit"), "end_turn");
    assert!(
        client.text().contains("half") && client.text().contains("timeout_secs"),
        "{}",
        client.text()
    );
    assert!(methods(&client).contains(&"terminal/kill"));
    client.requests.clear();
    let prompt = client.begin_prompt(&session, "cancel");
    client.until_requests(2);
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.result(prompt)["stopReason"], "cancelled");
    // The terminal is ended beside the answer.
    client.until_requests(4);
    let expected = [
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/release",
    ];
    assert_eq!(methods(&client), expected);
}

#[test]
fn a_client_that_refuses_terminals_leaves_the_command_to_the_agent() {
    let script = turn(json!([shell("echo here"), {"text": "{{last_result}}"}]));
    let mut client = Acp::new(script)
        .configured(developer())
        .capabilities(json!({"terminal": true}))
        .start();
    client.answering("terminal/create", |_| {
        Some(Err(json!({"code": -32603, "message": "no"})))
    });
    let session = client.session();
    client.prompt(&session, "go");
    assert_eq!(client.text(), "here\n");
}
