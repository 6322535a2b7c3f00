//! Messages and the life cycle: SERVER §3 and §8; MCP 2025-11-25, basic.

use crate::client::*;
use crate::lab::*;
use gosling::mcp::server::Server;
use gosling_demo as demo;
use serde_json::{Value, json};

#[test]
fn before_initialize_only_ping_is_answered() {
    Client::new(demo::server(false)).table(&[
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, result(1, json!({}))),
        (r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#, error(2, -32600, "`tools/list` came before `initialize`; send that first")),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x"}}}"#, error(3, -32600, "`tools/call` came before `initialize`; send that first")),
        (r#"{"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"info"}}"#, error(4, -32600, "`logging/setLevel` came before `initialize`; send that first")),
        (r#"{"jsonrpc":"2.0","id":5,"method":"server/discover"}"#, error(5, -32601, "Method not found: server/discover")),
        (r#"[{"jsonrpc":"2.0","id":6,"method":"ping"}]"#, error(Value::Null, -32600, "Batches are only legal in 2025-03-26; send one message at a time")),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#, error(7, -32600, "`tools/list` came before `initialize`; send that first")),
        (r#"{"jsonrpc":"2.0","id":8,"method":"initialize"}"#, error(8, -32602, "Invalid `params` of `initialize`: missing field `protocolVersion`")),
        (r#"{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":5}}"#, error(9, -32602, "Invalid `params` of `initialize`: `protocolVersion`: invalid type: integer `5`, expected a string")),
    ]);
}

#[test]
fn initialize_declares_what_is_there_and_works_once() {
    let client = Client::new(lab().server.title("The lab").instructions("Take care."));
    let expected = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "lab", "title": "The lab", "version": "1"},
        "instructions": "Take care."
    });
    assert_eq!(client.ask(INITIALIZE), result(0, expected));
    let again = "This connection is initialized already; open another one";
    assert_eq!(client.ask(INITIALIZE), error(0, -32600, again));
    client.table(&[
        (r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#, error(1, -32601, "Method not found: prompts/list")),
        (r#"{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"x"}}"#, error(2, -32601, "Method not found: prompts/get")),
        (r#"{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"info"}}"#, error(3, -32601, "Method not found: logging/setLevel")),
        (r#"{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"lab://gone"}}"#, error(4, -32601, "Method not found: resources/subscribe")),
        (r#"{"jsonrpc":"2.0","id":5,"method":"completion/complete"}"#, error(5, -32601, "Method not found: completion/complete")),
        (r#"{"jsonrpc":"2.0","id":6,"method":"Tools/List"}"#, error(6, -32601, "Method not found: Tools/List")),
    ]);
    let bare = Client::new(Server::new("bare", "1"));
    assert_eq!(bare.ask(INITIALIZE)["result"]["capabilities"], json!({}));
    for method in [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    ] {
        let answer = bare.ask(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#
        ));
        assert_eq!(answer["error"]["code"], -32601, "{method}");
    }
}

#[test]
fn a_known_version_is_echoed_and_another_gets_a_counter_offer() {
    for (offered, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let client = Client::new(demo::server(false));
        let answer = client.ask(&INITIALIZE.replace("2025-11-25", offered));
        assert_eq!(answer["result"]["protocolVersion"], agreed, "{offered}");
        assert_eq!(client.connection.version(), Some(agreed));
    }
}

#[test]
fn what_is_no_request_is_refused_or_ignored_as_json_rpc_has_it() {
    let client = Client::ready(demo::server(false), "2025-11-25");
    client.table(&[
        (
            "hello",
            error(
                Value::Null,
                -32700,
                "Not JSON: expected value at line 1 column 1",
            ),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
            error(
                Value::Null,
                -32700,
                "Not JSON: EOF while parsing an object at line 1 column 39",
            ),
        ),
        (
            "{}",
            error(
                Value::Null,
                -32600,
                "Not a JSON-RPC message: `jsonrpc` is not \"2.0\"",
            ),
        ),
        (
            r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
            error(
                7,
                -32600,
                "Not a JSON-RPC message: `jsonrpc` is not \"2.0\"",
            ),
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            error(
                Value::Null,
                -32600,
                "Not a JSON-RPC message: `id` is neither an integer nor a string",
            ),
        ),
        (
            r#"{"jsonrpc":"2.0","id":8}"#,
            error(
                8,
                -32600,
                "Not a JSON-RPC message: neither one request nor one response",
            ),
        ),
        (
            "[]",
            error(
                Value::Null,
                -32600,
                "Batches are only legal in 2025-03-26; send one message at a time",
            ),
        ),
        (
            r#"[{"jsonrpc":"2.0","id":9,"method":"ping"}]"#,
            error(
                Value::Null,
                -32600,
                "Batches are only legal in 2025-03-26; send one message at a time",
            ),
        ),
        (
            r#"{"jsonrpc":"2.0","id":10,"method":"no/such"}"#,
            error(10, -32601, "Method not found: no/such"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":11,"method":"tools/list","params":[1]}"#,
            error(
                11,
                -32602,
                "Invalid `params` of `tools/list`: not an object",
            ),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":"x"}"#,
            error(
                "a",
                -32602,
                "Invalid `params` of `tools/list`: not an object",
            ),
        ),
        (r#"{"jsonrpc":"2.0","method":"no/such"}"#, Value::Null),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/no-such","params":{"x":[]}}"#,
            Value::Null,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            Value::Null,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#,
            Value::Null,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":404}}"#,
            Value::Null,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
            Value::Null,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Value::Null),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}"#,
            Value::Null,
        ),
        (
            r#"{"jsonrpc":"2.0","id":12,"method":"ping","params":{"_meta":5,"x":1},"extra":true}"#,
            result(12, json!({})),
        ),
    ]);
    client.connection.receive(b"{\"a\":\"\xff\"}", &client.sink);
    assert_eq!(client.next()["error"]["code"], -32700);
}

#[test]
fn a_batch_of_2025_03_26_is_answered_as_one() {
    let Lab {
        server,
        started: at_work,
        release,
    } = lab();
    let client = Client::ready(server, "2025-03-26");
    client.send(
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stubborn"}},
        {"jsonrpc":"2.0","id":2,"method":"ping"},5,{"jsonrpc":"2.0","method":"notifications/x"},
        {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait"}},
        {"jsonrpc":"2.0","id":2,"method":"nope"}]"#,
    );
    started(&at_work);
    started(&at_work);
    client.is_silent();
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#);
    client.is_silent();
    drop(release);
    let not_a_message = "Not a JSON-RPC message: not an object";
    assert_eq!(
        client.next(),
        json!([
            result(2, json!({})),
            error(Value::Null, -32600, not_a_message),
            error(2, -32601, "Method not found: nope"),
            text(1, "at last"),
        ])
    );
    client.send(
        r#"[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":1,"result":{}}]"#,
    );
    client.is_silent();
    assert_eq!(
        client.ask("[]"),
        error(
            Value::Null,
            -32600,
            "Not a JSON-RPC message: an empty batch"
        )
    );
}

#[test]
fn a_client_in_php_and_one_that_begins_with_a_byte_order_mark_are_understood() {
    let client = Client::new(demo::server(false));
    let initialize = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"initialize\",\"params\":{\
                      \"protocolVersion\":\"2025-11-25\",\"capabilities\":[],\"clientInfo\":{\"name\":\"p\",\"version\":\"1\"}}}";
    let initialized = client.ask(initialize);
    assert_eq!(initialized["id"], 1);
    assert_eq!(initialized["result"]["protocolVersion"], "2025-11-25");
    client.table(&[
        (r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":[]}"#, result(2, json!({}))),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":["a"]}}"#,
            error(3, -32602, "`arguments` must be an object")),
    ]);
    let listed = client.ask(r#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":[]}"#);
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    let called = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":[],"_meta":[]}}"#;
    let answer = client.ask(called);
    assert!(
        answer["result"]["isError"] == true,
        "`message` is missing: {answer}"
    );
}
