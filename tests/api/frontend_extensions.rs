//! Frontend extensions: tools that the client runs.

use crate::support::server::{Extension, RunningServer, Server, Session};
use serde_json::{Value, json};

fn front() -> Value {
    json!({
        "type": "frontend", "name": "front", "description": "", "instructions": "use it",
        "tools": [{
            "name": "front_tool", "description": "x",
            "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
        }],
    })
}

fn tools(server: &RunningServer, session: &Session) -> Value {
    let id = &session.id;
    let path = format!("/agent/tools?session_id={id}&extension_name=front");
    server.get(&path).is(200).body
}

#[test]
fn one_is_added_as_recorded_and_survives_a_restart() {
    let server = Server::new().start();
    let session = server.session([]);
    session
        .post("/agent/add_extension", json!({ "config": front() }))
        .is(200);
    let listed = json!([{
        "name": "front_tool", "description": "x", "parameters": ["a"], "permission": null,
    }]);
    assert_eq!(tools(&server, &session), listed);
    let path = format!("/sessions/{}/extensions", session.id);
    let stored = server.get(&path).is(200).body;
    assert_eq!(stored["extensions"][0]["tools"], front()["tools"]);

    let results = session.restart();
    assert_eq!(results, [json!({"name": "front", "success": true})]);
    assert_eq!(tools(&server, &session), listed);

    session.remove("front").is(200);
    assert_eq!(tools(&server, &session), json!([]));
}

#[test]
fn its_tools_are_listed_beside_others_and_never_run_here() {
    let server = Server::new().start();
    let session = server.session([Extension::demo()]);
    session
        .post("/agent/add_extension", json!({ "config": front() }))
        .is(200);
    let names = session.tools();
    assert!(names.contains(&"front_tool".to_owned()), "{names:?}");
    assert!(names.contains(&"demo__echo".to_owned()), "{names:?}");
    session
        .call("front_tool", json!({"a": "x"}))
        .is(500)
        .says("run by the client");
    session.call("front__front_tool", json!({})).is(500);
    session.read("front", "x://y").is(500).says("no MCP server");
    session.call("demo__echo", json!({"message": "x"})).is(200);
}

#[test]
fn a_name_that_two_extensions_have_is_listed_once() {
    let server = Server::new().start();
    let session = server.session([Extension::demo()]);
    let config = json!({"type": "frontend", "name": "front", "tools": [{"name": "demo__echo"}]});
    session
        .post("/agent/add_extension", json!({ "config": config }))
        .is(200);
    let names = session.tools();
    let count = names.iter().filter(|name| *name == "demo__echo").count();
    assert_eq!(count, 1, "{names:?}");
    session
        .call("demo__echo", json!({"message": "x"}))
        .is(500)
        .says("run by the client");
}
