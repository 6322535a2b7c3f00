//! Resources of MCP servers that the model reads.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Server};
use serde_json::{Value, json};

const LIST: &str = "extensionmanager__list_resources";
const READ: &str = "extensionmanager__read_resource";

/// A model that makes this call and repeats the result.
fn calling(name: &str, arguments: Value) -> Value {
    json!({"repeat": true, "turns": [
        {"when": {"user": "tools"}, "steps": [{"text": "{{tools}}"}]},
        {"steps": [{"call": {"name": name, "arguments": arguments}}, {"text": "{{last_result}}"}]},
    ]})
}

fn reading(uri: &str) -> Value {
    calling(READ, json!({"uri": uri, "extension_name": "one"}))
}

fn notes(contents: Value) -> Extension {
    let list = json!({"resources": [
        {"uri": "x://notes", "name": "Notes", "mimeType": "text/plain", "description": "Mine"},
    ]});
    let script = Script::new().offers("resources", list).on(
        "resources/read",
        [Action::Result(json!({"contents": contents}))],
    );
    Extension::scripted("one", &script)
}

#[test]
fn they_are_offered_only_where_there_are_any() {
    let server = Server::scripted(calling(LIST, json!({}))).start();
    let session = server.session([Extension::scripted("two", &Script::new())]);
    session
        .say("tools")
        .finishes()
        .never_says("extensionmanager");
    session.add(notes(json!([]))).is(200);
    session.say("tools").finishes().says(LIST).says(READ);
    let turn = session.say("go").finishes();
    assert_eq!(turn.text(), "one: x://notes (Notes, text/plain, Mine)");
    assert!(
        !session
            .tools()
            .iter()
            .any(|name| name.starts_with("extensionmanager"))
    );
    session.remove("one").is(200);
    session
        .say("tools")
        .finishes()
        .never_says("extensionmanager");
}

#[test]
fn a_text_is_read_as_text() {
    let server = Server::scripted(reading("x://notes")).start();
    let contents =
        json!([{"uri": "x://notes", "text": "buy"}, {"uri": "x://notes", "text": "milk"}]);
    let session = server.session([notes(contents)]);
    let turn = session
        .say("go")
        .finishes()
        .gives(&["buy\nmilk"])
        .says("milk");
    let result = &turn.parts_of("toolResponse")[0]["toolResult"];
    assert_eq!(result["status"], "success");
}

#[test]
fn an_image_is_read_as_an_image_and_other_bytes_are_named() {
    let server = Server::scripted(reading("x://notes")).start();
    let contents = json!([
        {"uri": "x://i", "mimeType": "image/png", "blob": "AAAA"},
        {"uri": "x://b", "mimeType": "application/pdf", "blob": "AAAAAA=="},
    ]);
    let session = server.session([notes(contents)]);
    let turn = session.say("go").finishes();
    let content = &turn.parts_of("toolResponse")[0]["toolResult"]["value"]["content"];
    assert_eq!(
        content[0],
        json!({"type": "image", "data": "AAAA", "mimeType": "image/png"})
    );
    turn.says("x://b is 4 bytes of application/pdf");
}

#[test]
fn a_resource_that_is_too_large_goes_to_a_file() {
    let server = Server::scripted(reading("x://notes")).start();
    let begin = r#"{"jsonrpc":"2.0","id":{id},"result":{"contents":[{"uri":"x://notes","text":""#;
    let pieces = [
        Action::Out(begin.to_owned(), 1),
        Action::Out("0123456789".to_owned(), 30_000),
        Action::line(r#""}]}}"#),
    ];
    let script = Script::new()
        .offers("resources", json!({"resources": []}))
        .on("resources/read", pieces);
    let session = server.session([Extension::scripted("one", &script)]);
    let turn = session.say("go").finishes().says("300000 characters");
    let result = &turn.results()[0];
    assert!(result.len() < 10_000, "{} bytes", result.len());
    assert!(result.contains("is in the file "), "{result}");
}

#[test]
fn what_goes_wrong_is_a_result() {
    let refusing = Script::new()
        .offers("resources", json!({"resources": []}))
        .on(
            "resources/read",
            [Action::Error(-32002, "no such thing".to_owned())],
        );
    let server = Server::scripted(reading("x://gone")).start();
    let session = server.session([Extension::scripted("one", &refusing)]);
    for (script, says) in [
        (reading("x://gone"), "no such thing"),
        (
            calling(READ, json!({"uri": "x://gone", "extension_name": "three"})),
            "not active",
        ),
        (calling(READ, json!({"uri": "x://gone"})), "are needed"),
        (calling(READ, json!({"uri": 5})), "cannot be read"),
    ] {
        server.plays(script);
        let turn = session.say("go").finishes().says(says);
        let result = turn.parts_of("toolResponse").remove(0)["toolResult"].clone();
        assert_eq!(result["value"]["isError"], true, "{result}");
    }
    server.plays(calling(LIST, json!({})));
    session
        .say("go")
        .finishes()
        .says("No active extension has resources.");
    session.echoes("one");
}

#[test]
fn reading_is_not_asked_about_where_only_changes_are() {
    let server = Server::scripted(reading("x://notes"))
        .setting("GOOSE_MODE", "smart_approve")
        .start();
    let session = server.session([notes(json!([{"uri": "x://notes", "text": "milk"}]))]);
    let turn = session.say("go").finishes().says("milk");
    assert!(turn.parts_of("actionRequired").is_empty());
}
