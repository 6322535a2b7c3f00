//! Tool calls: SERVER §5.1, §5.4, §9.2; MCP 2025-11-25, server/tools, and basic/utilities: cancellation,
//! progress.

use crate::client::*;
use crate::lab::*;
use crossbeam_channel::{RecvTimeoutError, TryRecvError, unbounded};
use gosling::mcp::server::{MAX_CALLS, ReplySink};
use gosling_demo as demo;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn a_tool_is_called_and_told_apart_from_a_wrong_call() {
    let client = Client::ready(demo::server(false), "2025-11-25");
    client.table(&[
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"Grüße\n"}}}"#, text(1, "Grüße\n")),
        (r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x","more":1},"_meta":{"agent-session-id":"s","x":{}},"more":[]}}"#, text(2, "x")),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}"#, result(3, json!({"content": [{"type": "text", "text": "{\"sum\":5}"}], "structuredContent": {"sum": 5}}))),
        (r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"add","arguments":{"a":0.5,"b":1}}}"#, result(4, json!({"content": [{"type": "text", "text": "{\"sum\":1.5}"}], "structuredContent": {"sum": 1.5}}))),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add","arguments":{"a":1e308,"b":1e308}}}"#, failed(5, "The sum is too large for a number here; use smaller ones.")),
        (r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"fail"}}"#, failed(6, "This tool always fails.")),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"fail","arguments":{"message":"oh"}}}"#, failed(7, "oh")),
        (r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"fail","arguments":null}}"#, failed(8, "This tool always fails.")),
        (r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo"}}"#, failed(9, "The arguments do not fit: `message` is missing.")),
        (r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"add","arguments":{"a":"1","b":2}}}"#, failed(10, "The arguments do not fit: `a` is a string, not number.")),
        (r#"{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"nope","arguments":{}}}"#, error(11, -32602, "Unknown tool: nope")),
        (r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"echo","arguments":["x"]}}"#, error(12, -32602, "`arguments` must be an object")),
        (r#"{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"arguments":{}}}"#, error(13, -32602, "Invalid `params` of `tools/call`: missing field `name`")),
        (r#"{"jsonrpc":"2.0","id":14,"method":"tools/call"}"#, error(14, -32602, "Invalid `params` of `tools/call`: missing field `name`")),
    ]);
    for bad in [
        r#"{"steps":0}"#,
        r#"{"steps":1001}"#,
        r#"{"step_ms":60001}"#,
    ] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"slow","arguments":{bad}}}}}"#
        );
        let expected = failed(1, "Choose 1 to 1000 steps of at most 60000 ms.");
        assert_eq!(client.ask(&call), expected, "{bad}");
    }
}

#[test]
fn a_tool_that_breaks_off_does_not_take_the_server_with_it() {
    let client = Client::ready(lab().server, "2025-11-25");
    client.table(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"panic_quick"}}"#,
            error(
                1,
                -32603,
                "`panic_quick` panicked; this is a bug of the server, which keeps running",
            ),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"panic"}}"#,
            error(
                1,
                -32603,
                "`panic` panicked; this is a bug of the server, which keeps running",
            ),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"picky"}}"#,
            failed(1, "Not like this"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"array"}}"#,
            failed(
                1,
                "The tool returned structured content that is not an object; this is a bug of the tool.",
            ),
        ),
    ]);
}

#[test]
fn meta_is_found_in_any_letter_case_and_never_fatal() {
    let client = Client::ready(lab().server, "2025-11-25");
    for (meta, seen) in [
        (r#"{"agent-working-dir":"/tmp"}"#, "/tmp"),
        (r#"{"Agent-Working-Dir":"/tmp","x":[1]}"#, "/tmp"),
        (r#"{"agent-working-dir":5}"#, "none"),
        (r#"{"progressToken":{}}"#, "none"),
        ("{}", "none"),
        ("[]", "none"),
        ("7", "none"),
        ("null", "none"),
    ] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"meta","_meta":{meta}}}}}"#
        );
        assert_eq!(client.ask(&call), text(1, seen), "{meta}");
    }
}

#[test]
fn ping_gets_through_while_a_tool_works_and_its_id_is_taken_until_it_ends() {
    let Lab {
        server,
        started: at_work,
        release,
    } = lab();
    let client = Client::ready(server, "2025-11-25");
    let call = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"stubborn"}}"#;
    client.send(call);
    started(&at_work);
    client.is_silent();
    let taken = "A request with the id 5 is still running; use a new id for each request";
    assert_eq!(client.ask(call), error(5, -32600, taken));
    assert_eq!(
        client.ask(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#),
        error(5, -32600, taken)
    );
    drop(release);
    assert_eq!(client.next(), text(5, "at last"));
    assert_eq!(
        client.ask(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#),
        result(5, json!({}))
    );
}

#[test]
fn a_cancelled_call_is_not_answered_and_frees_its_id_at_once() {
    let Lab {
        server,
        started: at_work,
        release,
    } = lab();
    let client = Client::ready(server, "2025-11-25");
    let call = r#"{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"stubborn","_meta":{"progressToken":1}}}"#;
    client.send(call);
    started(&at_work);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c","reason":"changed my mind"}}"#;
    client.send(cancel);
    assert_eq!(
        client.ask(r#"{"jsonrpc":"2.0","id":"c","method":"ping"}"#),
        result("c", json!({}))
    );
    drop(release);
    assert!(client.connection.close(DEADLINE));
    assert!(client.answers.is_empty(), "neither progress nor an answer");
}

#[test]
fn slow_reports_each_step_and_stops_at_once_when_cancelled() {
    let client = Client::ready(demo::server(false), "2025-11-25");
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"steps":2,"step_ms":1},"_meta":{"progressToken":"p"}}}"#);
    let progress = |n: f64, message: &str| json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "p", "progress": n, "total": 2.0, "message": message}});
    assert_eq!(
        client.next(),
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "logger": "slow", "data": "2 steps of 1 ms lie ahead"}})
    );
    assert_eq!(client.next(), progress(1.0, "Step 1 of 2 is done"));
    assert_eq!(client.next(), progress(2.0, "Step 2 of 2 is done"));
    assert_eq!(client.next(), text(1, "Done: 2 steps of 1 ms."));

    client.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{"steps":1000,"step_ms":60000}}}"#);
    assert_eq!(client.next()["method"], "notifications/message");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    let begin = Instant::now();
    assert!(client.connection.close(DEADLINE));
    assert!(begin.elapsed() < Duration::from_secs(1));
    assert!(
        client.answers.is_empty(),
        "no progress without a token, no answer"
    );
}

#[test]
fn calls_beyond_the_bound_are_refused_with_a_reason() {
    let Lab {
        server,
        started: at_work,
        release,
    } = lab();
    let client = Client::ready(server, "2025-11-25");
    let call = |id: usize, tool: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#
        )
    };
    for id in 0..MAX_CALLS {
        client.send(&call(id, "stubborn"));
    }
    (0..MAX_CALLS).for_each(|_| started(&at_work));
    let full = "64 calls are running already, which is the limit; try again when one has ended";
    assert_eq!(client.ask(&call(100, "meta")), error(100, -32603, full));
    drop(release);
    for _ in 0..MAX_CALLS {
        assert_eq!(client.next()["result"]["content"][0]["text"], "at last");
    }
    assert_eq!(client.ask(&call(100, "meta")), text(100, "none"));
}

#[test]
fn the_log_level_filters_what_is_sent() {
    let client = Client::ready(lab().server.logging(), "2025-11-25");
    let error_message = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "logger": "log", "data": {"code": 7}}});
    let debug_message = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "debug", "logger": "log", "data": "details"}});
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"log"}}"#;
    for (level, expected) in [
        (None, vec![&error_message]),
        (Some("debug"), vec![&debug_message, &error_message]),
        (Some("error"), vec![&error_message]),
        (Some("critical"), vec![]),
    ] {
        if let Some(level) = level {
            let set = format!(
                r#"{{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{{"level":"{level}"}}}}"#
            );
            assert_eq!(client.ask(&set), result(2, json!({})));
        }
        client.send(call);
        for message in expected {
            assert_eq!(&client.next(), message, "{level:?}");
        }
        assert_eq!(client.next(), text(1, "logged"), "{level:?}");
    }
    let wrong = client
        .ask(r#"{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"loud"}}"#);
    assert_eq!(
        wrong,
        error(
            3,
            -32602,
            "Invalid `params` of `logging/setLevel`: `level`: unknown variant `loud`, expected one of `debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert`, `emergency`"
        )
    );
    let undeclared = Client::ready(lab().server, "2025-11-25");
    assert_eq!(undeclared.ask(call), text(1, "logged"));
}

#[test]
fn a_reply_is_let_go_once_its_message_is_done_with() {
    let Lab {
        server,
        started: at_work,
        release: _release,
    } = lab();
    let client = Client::ready(server, "2025-11-25");
    let (sender, answers) = unbounded();
    let reply: ReplySink = Arc::new(move |message: Vec<u8>| drop(sender.send(message)));
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}"#;
    client.connection.receive(call.as_bytes(), &reply);
    drop(reply);
    started(&at_work);
    client.is_silent();
    assert_eq!(answers.try_recv(), Err(TryRecvError::Empty), "still in use");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    let end = answers.recv_timeout(DEADLINE);
    assert_eq!(
        end,
        Err(RecvTimeoutError::Disconnected),
        "unanswered, and let go"
    );
}
