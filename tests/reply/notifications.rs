//! Notifications of MCP servers about a running call.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Server};
use serde_json::{Value, json};

#[test]
fn what_a_server_says_about_a_call_reaches_the_client_before_the_result() {
    let log = json!({"level": "info", "data": "half way"});
    let script = Script::new().tool(
        "slow",
        [
            Action::Progress(2, 20),
            Action::notify("notifications/message", log.clone()),
            Action::text("done"),
        ],
    );
    let calls = json!({"turns": [{"steps": [
        {"call": {"id": "c", "name": "one__slow"}}, {"text": "{{last_result}}"},
    ]}]});
    let server = Server::scripted(calls).start();
    let session = server.session([Extension::scripted("one", &script)]);
    let turn = session.say("go").finishes().gives(&["done"]);
    let said = turn.notifications();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said.iter().all(|event| event["request_id"] == "c"));
    let progress: Vec<&Value> = said[..2]
        .iter()
        .map(|e| &e["message"]["params"]["progress"])
        .collect();
    assert_eq!(progress, [1, 2]);
    assert_eq!(said[0]["message"]["method"], "notifications/progress");
    assert_eq!(said[2]["message"]["method"], "notifications/message");
    assert_eq!(said[2]["message"]["params"], log);
    let last = turn
        .events
        .iter()
        .rposition(|event| event["type"] == "Notification");
    let result = turn.place(|event| event["message"]["content"][0]["type"] == "toolResponse");
    assert!(last < Some(result));
}

#[test]
fn a_server_that_never_stops_talking_is_heard_and_holds_up_nothing() {
    let script = Script::new().tool("loud", [Action::Progress(20_000, 0), Action::text("done")]);
    let calls = json!({"turns": [{"steps": [{"call": {"name": "one__loud"}}, {"text": "{{last_result}}"}]}]});
    let server = Server::scripted(calls).start();
    let session = server.session([Extension::scripted("one", &script)]);
    let turn = session.say("go").finishes().gives(&["done"]);
    assert!(!turn.notifications().is_empty());
}
