//! MCP servers in the client itself, whose tools `gosling acp` calls over the client's connection.
#![cfg(all(feature = "acp", feature = "scripted"))]

mod support;

use serde_json::{Value, json};
use support::acp_client::{Acp, AcpClient, call, turns};

/// The method of the request inside of a message to a server in the client.
fn inner(message: &Value) -> &str {
    message["method"].as_str().expect("an inner method")
}

/// Opens a session whose client has the servers `files` and `idle`, of which the second does not answer.
fn open(client: &mut AcpClient) -> String {
    let cwd = client.work();
    let servers = json!([
        {"type": "acp", "name": "My Files", "serverId": "files"},
        {"type": "acp", "name": "idle", "serverId": "idle"},
    ]);
    let opened = client.call("session/new", json!({"cwd": cwd, "mcpServers": servers}));
    opened["sessionId"].as_str().unwrap().to_owned()
}

/// Lets the client answer `tools/list` of its servers, and `tools/call` with what `called` says.
fn serve(
    client: &mut AcpClient,
    called: impl Fn(&Value) -> Option<Result<Value, Value>> + 'static,
) {
    client.answering("mcp/message", move |message| {
        if message["serverId"] != "files" {
            return Some(Err(json!({"code": -32601, "message": "no such server"})));
        }
        let params = &message["params"];
        let result = match inner(message) {
            "server/discover" => json!({"instructions": "Ask me first.", "resultType": "complete"}),
            "tools/list" if params["cursor"] == "2" => {
                json!({"tools": [{"name": "write", "inputSchema": {"type": "object"}}]})
            }
            "tools/list" => json!({
                "tools": [{"name": "read", "description": "Reads", "inputSchema": {"type": "object"}}],
                "nextCursor": "2",
            }),
            "tools/call" => return called(message),
            other => panic!("unexpected {other}"),
        };
        Some(Ok(json!({ "result": result })))
    });
}

#[test]
fn tools_of_the_client_are_offered_and_called() {
    // The turns of Goose's clients are followed by all of them.
    for capabilities in [json!({}), json!({"_meta": {"goose": {}}})] {
        are_offered_and_called(capabilities);
    }
}

fn are_offered_and_called(capabilities: Value) {
    let script = turns(&[
        ("offered", json!([{"text": "{{tools}}{{system}}"}])),
        (
            "read",
            json!([call(
                "myfiles__read",
                json!({"n": 12345678901234567890_u64})
            )]),
        ),
        ("write", json!([call("myfiles__write", json!({}))])),
        ("ask", json!([call("myfiles__read", json!({"ask": true}))])),
        (
            "refuse",
            json!([call("myfiles__read", json!({"refuse": true}))]),
        ),
    ]);
    let mut client = Acp::new(script).capabilities(capabilities).start();
    serve(&mut client, |message| {
        let params = &message["params"];
        let carried = match params["name"].as_str() {
            Some("write") => json!({"error": {"code": -32000, "message": "the disk is full"}}),
            _ if params["arguments"]["ask"] == true => {
                json!({"result": {"resultType": "input_required", "inputRequests": {}}})
            }
            _ if params["arguments"]["refuse"] == true => {
                return Some(Err(
                    json!({"code": -32001, "message": "the server is gone"}),
                ));
            }
            _ => json!({"result": {
                "content": [{"type": "text", "text": format!("n is {}", params["arguments"]["n"])}],
                "resultType": "complete",
            }}),
        };
        Some(Ok(carried))
    });
    let session = open(&mut client);
    client.prompt(&session, "offered");
    let text = client.text();
    for part in [
        "myfiles__read",
        "myfiles__write",
        "Ask me first.",
        "no such server",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let results = [
        ("read", "completed", "n is 12345678901234567890"),
        ("write", "failed", "the disk is full (code -32000)"),
        ("ask", "failed", "input_required"),
        (
            "refuse",
            "failed",
            "the client refused `tools/call`: the server is gone",
        ),
    ];
    for (word, status, result) in results {
        client.take_updates();
        assert_eq!(client.prompt(&session, word), "end_turn");
        let mut updates = client.take_updates().into_iter().rev();
        let update = updates
            .find(|it| it["sessionUpdate"] == "tool_call_update")
            .unwrap_or_else(|| panic!("no result of {word}"));
        assert_eq!(update["status"], status, "{update}");
        assert!(update["rawOutput"].to_string().contains(result), "{update}");
    }
    // Each inner request says what a server without sessions needs, and has an id of its own.
    let messages: Vec<&Value> = client
        .requests
        .iter()
        .filter(|it| it["method"] == "mcp/message")
        .map(|it| &it["params"])
        .collect();
    let mut ids = Vec::new();
    for message in &messages {
        let meta = &message["params"]["_meta"];
        assert_eq!(
            meta["io.modelcontextprotocol/protocolVersion"],
            "2026-07-28"
        );
        assert_eq!(
            meta["io.modelcontextprotocol/clientInfo"]["name"],
            "gosling"
        );
        ids.push(message["requestId"].as_str().unwrap());
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let called = messages
        .iter()
        .find(|it| inner(it) == "tools/call")
        .unwrap();
    assert_eq!(called["params"]["_meta"]["agent-session-id"], *session);
}

#[test]
fn a_cancelled_call_is_withdrawn_and_another_connection_has_no_tools() {
    let read = || json!([call("myfiles__read", json!({}))]);
    let script = turns(&[("first", read()), ("second", read())]);
    let mut client = Acp::new(script).start();
    serve(&mut client, |_| None);
    let session = open(&mut client);
    let prompt = client.begin_prompt(&session, "first");
    let is_call =
        |it: &Value| it["method"] == "mcp/message" && inner(&it["params"]) == "tools/call";
    while !client.requests.iter().any(is_call) {
        let next = client.requests.len() + 1;
        client.until_requests(next);
    }
    let id = client.requests.iter().find(|it| is_call(it)).unwrap()["id"].clone();
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.result(prompt)["stopReason"], "cancelled");
    let is_withdrawal =
        |it: &Value| it["method"] == "$/cancel_request" && it["params"]["requestId"] == id;
    while !client.updates.iter().any(is_withdrawal) {
        assert!(client.receive(support::TEST_TIMEOUT), "not withdrawn");
    }
    // A client that does not bring the server along does not get its tools.
    let mut client = client.restart();
    assert_eq!(client.prompt(&session, "second"), "end_turn");
    let update = client.update("tool_call_update");
    assert_eq!(update["status"], "failed", "{update}");
    assert!(
        update["rawOutput"].to_string().contains("no such tool"),
        "{update}"
    );
}
