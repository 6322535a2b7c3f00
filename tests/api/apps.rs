//! The MCP Apps of a session.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Server};
use serde_json::{Value, json};

const TYPE: &str = "text/html;profile=mcp-app";

fn contents(fields: Value) -> Vec<Action> {
    let mut contents = json!({"uri": "ui://one/view", "mimeType": TYPE});
    contents
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    vec![Action::Result(json!({"contents": [contents]}))]
}

#[test]
fn they_are_the_resources_of_that_type_with_their_html() {
    let listed = json!({"resources": [
        {"uri": "ui://one/view", "name": "view", "description": "A view", "mimeType": TYPE},
        {"uri": "ui://one/other", "name": "other", "mimeType": "text/html"},
        {"uri": "a://notes", "name": "notes"},
    ]});
    let script = Script::new().offers("resources", listed).on(
        "resources/read",
        contents(json!({"text": "<p>hello", "_meta": {"ui": {"prefersBorder": true}}})),
    );
    let server = Server::new().start();
    let session = server.session([
        Extension::scripted("one", &script),
        Extension::scripted("plain", &Script::new()),
    ]);
    let view = json!({
        "uri": "ui://one/view", "name": "view", "description": "A view", "mimeType": TYPE, "text": "<p>hello",
        "_meta": {"ui": {"prefersBorder": true}}, "mcpServers": ["one"],
    });
    let path = format!("/agent/list_apps?session_id={}", session.id);
    server.get(&path).is(200).gives(json!({"apps": [view]}));
    server
        .get("/agent/list_apps")
        .is(200)
        .gives(json!({"apps": []}));
    server.get("/agent/list_apps?session_id=20200101_1").is(404);
}

#[test]
fn an_app_that_only_a_tool_names_is_found_too() {
    let ui = json!({"ui": {"resourceUri": "ui://one/view"}});
    let tools = json!({"tools": [
        {"name": "show", "description": "Shows it", "inputSchema": {"type": "object"}, "_meta": ui},
        {"name": "show_again", "inputSchema": {"type": "object"}, "_meta": ui},
    ]});
    let script = Script::new()
        .offers("resources", json!({"resources": []}))
        .on("tools/list", [Action::Result(tools)])
        .on("resources/read", contents(json!({"blob": "PHA+aGVsbG8="})));
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    let view = json!({
        "uri": "ui://one/view", "name": "show", "description": "Shows it", "mimeType": TYPE, "text": "<p>hello",
        "mcpServers": ["one"],
    });
    let path = format!("/agent/list_apps?session_id={}", session.id);
    server.get(&path).is(200).gives(json!({"apps": [view]}));
}

#[test]
fn an_app_that_cannot_be_read_is_missing_and_the_others_are_not() {
    let app = json!({"resources": [{"uri": "ui://one/view", "name": "view", "mimeType": TYPE}]});
    let refusing = Script::new()
        .offers("resources", app.clone())
        .on("resources/read", [Action::Error(-32002, "gone".to_owned())]);
    let plain = Script::new().offers("resources", app.clone()).on(
        "resources/read",
        contents(json!({"text": "x", "mimeType": "text/plain"})),
    );
    let good = Script::new()
        .offers("resources", app)
        .on("resources/read", contents(json!({"text": "x"})));
    let server = Server::new().start();
    let session = server.session([
        Extension::scripted("refusing", &refusing),
        Extension::scripted("plain", &plain),
        Extension::scripted("good", &good),
    ]);
    let path = format!("/agent/list_apps?session_id={}", session.id);
    let answer = server.get(&path).is(200);
    let apps = answer.body["apps"].as_array().unwrap();
    assert_eq!(apps.len(), 1, "{apps:?}");
    assert_eq!(apps[0]["mcpServers"], json!(["good"]));
    server.logs("apps not listed");
}

#[test]
fn gosling_keeps_no_apps() {
    let server = Server::new().start();
    server
        .get("/agent/export_app/any%20name")
        .is(404)
        .says("'any name'");
    server
        .post("/agent/import_app", json!({"html": "<p>"}))
        .is(400)
        .says("keeps no apps");
    server
        .post("/agent/import_app", json!({}))
        .is(422)
        .says("`html`");
}
