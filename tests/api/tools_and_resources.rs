//! Tools and resources of a session: names, filters and JSON shapes.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, Server};
use crate::support::until;
use serde_json::{Value, json};

#[test]
fn tools_are_listed_in_the_recorded_shape() {
    let server = Server::new().start();
    let session = server.session([Extension::demo().with("name", "De Mo")]);
    let path = format!("/agent/tools?session_id={}", session.id);
    let all = server.get(&path).is(200);
    let add = json!({
        "name": "demo__add", "description": "Adds two numbers.", "parameters": ["a", "b"],
        "permission": null,
    });
    assert_eq!(all.body[0], add);
    let names = ["demo__add", "demo__echo", "demo__fail", "demo__slow"];
    assert_eq!(session.tools(), names);
    for name in ["demo", "De%20Mo"] {
        let one = server.get(&format!("{path}&extension_name={name}"));
        one.is(200).gives(all.body.clone());
    }
    server
        .get(&format!("{path}&extension_name=absent"))
        .is(200)
        .gives(json!([]));
}

#[test]
fn calls_are_answered_in_the_recorded_shape() {
    let server = Server::new().start();
    let session = server.session([Extension::demo()]);
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    session
        .call("demo__echo", json!({"message": "x"}))
        .is(200)
        .gives(json!({"content": text("x"), "is_error": false, "isError": false}));
    session
        .call("demo__add", json!({"a": 2, "b": 3}))
        .is(200)
        .gives(json!({
            "content": text(r#"{"sum":5}"#), "structured_content": {"sum": 5},
            "structuredContent": {"sum": 5}, "is_error": false, "isError": false,
        }));
    session
        .call("demo__fail", json!({"message": "on purpose"}))
        .is(200)
        .gives(json!({"content": text("on purpose"), "is_error": true, "isError": true}));
    session.call("demo__fail", json!(null)).is(200);
    for arguments in [json!([]), json!(5), json!("{}")] {
        session
            .call("demo__echo", arguments)
            .is(422)
            .says("`arguments`");
    }
    session
        .call("demo__nothing", json!({}))
        .is(500)
        .says("extension \"demo\", tool");
    session
        .call("nothing__here", json!({}))
        .is(500)
        .says("\"nothing__here\"");
    session
        .call("noprefix", json!({}))
        .is(500)
        .says("extension__tool");
    session.call("", json!({})).is(500);
}

#[test]
fn arguments_and_results_pass_through_as_they_are() {
    let record = Record::new();
    let result = json!({
        "content": [{"type": "image", "data": "AA==", "mimeType": "image/png", "of": "tomorrow"}],
        "structuredContent": {"z": 1, "a": [null]}, "isError": true, "_meta": {"ui": {"x": 1}},
    });
    let script = Script::new()
        .recorded(&record.path())
        .tool("odd", [Action::Result(result.clone())]);
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    let arguments = json!({"z": 1.5e300, "a": {"é\n": [true, null, "\u{1F9A2}"]}, "m": -0.0});
    let answer = session.call("one__odd", arguments.clone()).is(200);
    answer.gives(json!({
        "content": result["content"], "structured_content": result["structuredContent"],
        "structuredContent": result["structuredContent"],
        "is_error": true, "isError": true, "_meta": result["_meta"],
    }));
    let heard = record.wait_for_message("tools/call");
    assert_eq!(heard["params"]["name"], "odd");
    assert_eq!(
        heard["params"]["arguments"].to_string(),
        arguments.to_string()
    );
}

#[test]
fn requests_say_for_which_session_they_are() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path());
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    session.echoes("one");
    for method in ["tools/list", "tools/call"] {
        let meta = &record.wait_for_message(method)["params"]["_meta"];
        assert_eq!(meta["agent-session-id"], session.id, "{method}");
        assert_eq!(meta["agent-working-dir"], json!(server.work()), "{method}");
    }
    let initialize = record.wait_for_message("initialize");
    assert_eq!(initialize["params"]["clientInfo"]["name"], "gosling");
}

#[test]
fn tools_that_are_not_available_are_neither_listed_nor_called() {
    let server = Server::new().start();
    let session = server.session([Extension::demo().with("available_tools", ["echo", "absent"])]);
    assert_eq!(session.tools(), ["demo__echo"]);
    session.call("demo__echo", json!({"message": "x"})).is(200);
    session
        .call("demo__add", json!({"a": 1, "b": 2}))
        .is(500)
        .says("`available_tools`");
}

#[test]
fn a_key_is_the_name_made_safe() {
    let server = Server::new().start();
    for (name, key) in [
        ("My  Tools!", "mytools_"),
        ("UPPER-case_9", "upper-case_9"),
        ("Ünï.Cöde", "_n__c_de"),
        ("a__b", "a__b"),
        ("__", "__"),
    ] {
        let session = server.session([Extension::scripted(name, &Script::new())]);
        assert_eq!(session.tools(), [format!("{key}__echo")]);
        session.echoes(key);
        session.remove(name).is(200).says_nothing();
        assert_eq!(session.tools(), [""; 0]);
    }
    let error = server.refuses(Extension::scripted(" ", &Script::new()));
    assert!(error.contains("identify"), "{error}");
}

#[test]
fn underscores_in_names_lead_to_the_right_server() {
    let say = |text: &str| [Action::text(text)];
    let short = Script::new()
        .tool("c__d", say("a"))
        .tool("b_", say("a too"));
    let long = Script::new()
        .tool("c", say("a__b"))
        .tool("_c", say("a__b too"));
    let server = Server::new().start();
    let session = server.session([
        Extension::scripted("a", &short),
        Extension::scripted("a__b", &long),
    ]);
    for (tool, text) in [
        ("a__c__d", "a"),
        ("a__b_", "a too"),
        ("a__b__c", "a__b"),
        ("a__b___c", "a__b too"),
    ] {
        assert_eq!(
            session.call(tool, json!({})).is(200).content(),
            text,
            "{tool}"
        );
    }
}

#[test]
fn duplicates_are_reported() {
    let server = Server::new().start();
    let session = server.begin_session([
        Extension::scripted("Same Name", &Script::new()),
        Extension::scripted("samename", &Script::new()),
    ]);
    let results = session.resume();
    assert_eq!(results[0], json!({"name": "Same Name", "success": true}));
    assert_eq!(results[1]["success"], false);
    assert!(
        results[1]["error"].as_str().unwrap().contains("`samename`"),
        "{results:?}"
    );
    session.echoes("samename");

    let twice = Script::new()
        .tool("dup", [Action::text("x")])
        .tool("dup", []);
    let session = server.session([Extension::scripted("two", &twice)]);
    assert_eq!(session.tools(), ["two__dup", "two__echo"]);
    server.logs("removed tools with duplicate names");
}

#[test]
fn all_pages_are_listed() {
    let server = Server::new().start();
    let session = server.session([Extension::demo_with(&["--pages"])]);
    assert_eq!(session.tools().len(), 25);
}

#[test]
fn a_list_that_has_changed_is_asked_for_again() {
    let list = json!({"tools": [{"name": "tool{n}", "inputSchema": {"type": "object"}}]});
    let script = Script::new().on("tools/list", [Action::Result(list)]).on(
        "tools/call",
        [
            Action::notify("notifications/tools/list_changed", json!({})),
            Action::text("changed"),
        ],
    );
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    let before = session.tools();
    assert_eq!(session.tools(), before);
    session.call("one__any", json!({})).is(200);
    until("the new list", || (session.tools() != before).then_some(()));
}

fn page(names: impl Iterator<Item = String>, next: Option<&str>) -> Action {
    let tools: Vec<Value> = names
        .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
        .collect();
    Action::Result(json!({"tools": tools, "nextCursor": next}))
}

#[test]
fn however_often_it_is_said_a_list_is_asked_for_once() {
    let record = Record::new();
    let changed = Action::notify("notifications/tools/list_changed", json!({}));
    let Action::Out(line, _) = changed.clone() else {
        unreachable!()
    };
    let script = Script::new()
        .recorded(&record.path())
        .tool("flood", [Action::Out(line, 5_000), Action::text("done")]);
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    session.call("one__flood", json!({})).is(200);
    for _ in 0..3 {
        assert_eq!(session.tools(), ["one__echo", "one__flood"]);
    }
    assert_eq!(record.all("tools/list").len(), 2);

    // A server that announces a change after each listing is listed once for each request of a client.
    let record = Record::new();
    let list = page(["echo".to_owned()].into_iter(), None);
    let script = Script::new()
        .recorded(&record.path())
        .on("tools/list", [changed, list]);
    let session = server.session([Extension::scripted("two", &script)]);
    for _ in 0..3 {
        session.tools();
    }
    let asked = record.all("tools/list").len();
    assert!((1..=4).contains(&asked), "{asked}");
}

#[test]
fn a_tool_that_vanished_is_a_clear_error() {
    let script = Script::new()
        .on(
            "tools/list",
            [page(
                ["gone{n}", "echo"].map(str::to_owned).into_iter(),
                None,
            )],
        )
        .on(
            "tools/call",
            [
                Action::notify("notifications/tools/list_changed", json!({})),
                Action::Error(-32602, "Unknown tool".to_owned()),
            ],
        );
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    let tools = session.tools();
    let gone = tools.iter().find(|name| name.contains("gone")).unwrap();
    session
        .call(gone, json!({}))
        .is(500)
        .says("any more")
        .says("Unknown tool");
    assert!(!session.tools().contains(gone));
    // The error has no hint about an extension that is active or unknown.
    for name in ["one__echo", "one__never"] {
        let answer = session.call(name, json!({})).is(500).says("Unknown tool");
        let said = answer.body["message"].as_str().unwrap();
        assert!(!said.contains("any more"), "{said}");
    }
}

#[test]
fn ten_thousand_tools_are_all_there() {
    let names = |range: std::ops::Range<usize>| range.map(|n| format!("tool{n:05}"));
    let script = Script::new()
        .on("tools/list", [page(names(0..10_000), None)])
        .on("tools/call", [Action::text("here")]);
    let server = Server::new().start();
    let file = server.root().join("script");
    let session = server.session([Extension::scripted_by(&file, "many", &script)]);
    let listed = session.tools();
    assert_eq!(listed.len(), 10_000);
    assert_eq!(listed[9_999], "many__tool09999");
    let answer = session.call("many__tool09999", json!({})).is(200);
    assert_eq!(answer.content(), "here");
}

#[test]
#[cfg(unix)] // A server is a script of a shell.
fn a_cursor_that_the_server_refuses_is_an_error_that_names_it() {
    let next = page(["one".to_owned()].into_iter(), Some("page-2"));
    let refuses = Script::new().on("tools/list", [next]);
    let server = Server::new().start();
    // The server returns the same cursor each time.
    let error = server.refuses(Extension::scripted("one", &refuses));
    assert!(
        error.contains("\"one\"") && error.contains("came twice"),
        "{error}"
    );
    let pager = Extension::shell(
        "two",
        r#"while read -r line; do
            case "$line" in
            *cursor*) out='"error":{"code":-32602,"message":"Invalid cursor"}' ;;
            *tools/list*) out='"result":{"tools":[],"nextCursor":"page-2"}' ;;
            *initialize\"*) out='"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
            *) continue ;;
            esac
            id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
            printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$out"
        done"#,
    );
    let error = server.refuses(pager);
    for part in [
        "\"two\"",
        "refuses its own cursor",
        "page-2",
        "Invalid cursor",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn resources_are_text_where_they_can_be() {
    let server = Server::new().start();
    let session = server.session([Extension::demo()]);
    let welcome = session.read("demo", "demo://welcome").is(200);
    assert_eq!(welcome.body["mimeType"], "text/plain");
    assert!(
        welcome.body["text"]
            .as_str()
            .unwrap()
            .starts_with("Welcome!")
    );
    assert!(welcome.body.get("encoding").is_none());
    let greeting = session.read("demo", "demo://greeting/Ada").is(200);
    assert!(
        greeting.body["text"].as_str().unwrap().contains("Ada"),
        "{}",
        greeting.text
    );
    let picture = session.read("demo", "demo://gosling.png").is(200);
    assert_eq!(picture.body["encoding"], "base64");
    assert!(
        picture.body["text"]
            .as_str()
            .unwrap()
            .starts_with("iVBORw0KGgo")
    );
    session
        .read("demo", "demo://nope")
        .is(500)
        .says("demo://nope");
    session
        .read("absent", "x://y")
        .is(500)
        .says("extension \"absent\"");
}
