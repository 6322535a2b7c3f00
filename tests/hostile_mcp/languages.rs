//! JSON as servers in other languages write it: what is beside the point is left out, and said.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, RunningServer, Server, Session};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Far less than the default time limit of a request.
const AT_ONCE: Duration = Duration::from_secs(20);

fn server() -> RunningServer {
    let script = json!({"repeat": true, "turns": [
        {"steps": [{"call": {"name": "odd__odd"}}, {"text": "{{last_result}}"}]}]});
    Server::scripted(script).start()
}

fn answer(text: &str) -> Action {
    Action::line(&text.replace("ID", "{id}").replace('\n', " "))
}

#[track_caller]
fn active<'a>(server: &'a RunningServer, script: &Script) -> (Session<'a>, Value) {
    let session = server.session([Extension::scripted("odd", script)]);
    let status = status(&session);
    assert_eq!(status["state"], "active", "{status}");
    (session, status)
}

#[track_caller]
fn status(session: &Session<'_>) -> Value {
    let path = format!("/agent/extensions?session_id={}", session.id);
    session.server.get(&path).is(200).body["extensions"][0].clone()
}

#[track_caller]
fn warnings(status: &Value) -> Vec<&str> {
    let all = status["warnings"].as_array().into_iter().flatten();
    all.map(|warning| warning.as_str().expect("a phrase"))
        .collect()
}

#[test]
fn answers_are_matched_if_their_ids_are_texts_or_fractions() {
    let server = server();
    for (id, told) in [("\"ID\"", 1), ("ID.0", 0)] {
        let result = |method: &str, result: &str| {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
            (method.to_owned(), answer(&text))
        };
        let script = [
            result(
                "initialize",
                r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#,
            ),
            result("tools/list", r#"{"tools":[{"name":"odd"}]}"#),
            result(
                "tools/call",
                r#"{"content":[{"type":"text","text":"found"}]}"#,
            ),
        ];
        let script = script
            .into_iter()
            .fold(Script::new(), |script, (method, action)| {
                script.on(&method, [action])
            });
        let (session, _) = active(&server, &script);
        assert_eq!(
            session.call("odd__odd", json!({})).is(200).content(),
            "found"
        );
        let status = status(&session);
        assert_eq!(warnings(&status).len(), told, "{status}");
    }
}

#[test]
fn the_objects_of_php_are_objects_and_its_byte_order_mark_is_none() {
    let server = server();
    let script = Script::new()
        .begin([Action::Bytes(b"\xef\xbb\xbf".to_vec())])
        .on(
            "initialize",
            [answer(
                r#"{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18",
            "capabilities":{"tools":[],"logging":[]},"serverInfo":[]}}"#,
            )],
        )
        .on(
            "tools/list",
            [answer(
                r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"odd","annotations":[],
            "inputSchema":{"type":"object","properties":[]}}]}}"#,
            )],
        )
        .on(
            "tools/call",
            [answer(
                r#"{"jsonrpc":"2.0","id":ID,"result":{"content":null,"_meta":[]}}"#,
            )],
        );
    let server_info = json!({"name": "", "version": ""});
    let (session, status) = active(&server, &script);
    assert_eq!(
        session.call("odd__odd", json!({})).is(200).body["content"],
        json!([])
    );
    // `serverInfo` lacks its name, so it is left out.
    assert_eq!(status["server"], server_info);
    assert_eq!(warnings(&status).len(), 1, "{status}");
    session.say("go").finishes().says("returned nothing");
}

#[test]
fn odd_members_of_tools_are_left_out_and_then_odd_tools() {
    let server = server();
    let script = Script::new()
        .on("tools/list", [answer(
            r#"{"jsonrpc":"2.0","id":ID,"result":{"nextCursor":7,"tools":[
            {"name":"good","description":"kept"},
            {"name":"odd","description":["a","list"],"annotations":{"readOnlyHint":"true","title":"Odd"}},
            {"name":"text","annotations":"none","title":5},
            5, {"description":"nameless"}, {"name":["n"]}]}}"#,
        )])
        .tool("odd", [Action::text("found")]);
    let (session, _) = active(&server, &script);
    assert_eq!(session.tools(), ["odd__good", "odd__odd", "odd__text"]);
    let status = status(&session);
    assert_eq!(status["tools"], 3);
    let told = warnings(&status);
    let expected = [
        "`nextCursor`",
        "odd without `description`",
        "odd without `annotations.readOnlyHint`",
        "text without `annotations`",
        "text without `title`",
        "item 4 without all of it",
        "item 5 without all of it: missing field `name`",
        "item 6 without all of it",
    ];
    for part in expected {
        assert!(
            told.iter().any(|warning| warning.contains(part)),
            "{part:?} not in {told:?}"
        );
        server.logs(part);
    }
    assert_eq!(told.len(), expected.len(), "{told:?}");
    assert_eq!(
        session.call("odd__odd", json!({})).is(200).content(),
        "found"
    );
    // A hint that is not understood allows nothing.
    session
        .post(
            "/agent/update_session",
            json!({"goose_mode": "smart_approve"}),
        )
        .is(200);
    let mut turn = session.begin_turn("go");
    let asked = turn.asks();
    session.confirm(&asked, "allow_once");
    turn.rest().finishes().says("found");
}

#[test]
fn a_code_as_text_and_bytes_that_are_not_utf_8_arrive() {
    let server = server();
    let latin = b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9\"}]}}\n";
    let script = Script::new()
        .tool(
            "python",
            [answer(r#"{"jsonrpc":"2.0","id":ID,"result":{"n":NaN}}"#)],
        )
        .tool("odd", [Action::Bytes(latin.to_vec())])
        .tool(
            "coded",
            [answer(
                r#"{"jsonrpc":"2.0","id":ID,"error":{"code":"-32050","message":"no coffee"}}"#,
            )],
        );
    let (session, _) = active(&server, &script);
    assert_eq!(
        session.call("odd__odd", json!({})).is(200).content(),
        "caf\u{fffd}"
    );
    session
        .call("odd__coded", json!({}))
        .is(500)
        .says("no coffee (code -32050)");
    let begin = Instant::now();
    let answer = session.call("odd__python", json!({})).is(500);
    answer.says("the answer is not JSON");
    assert!(begin.elapsed() < AT_ONCE, "{:?}", begin.elapsed());
}

#[test]
fn a_wrong_answer_to_initialize_is_said_at_once() {
    let server = server();
    let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
    for (text, words) in [
        (format!(r#"{{"jsonrpc":"1.0","id":ID,"result":{result}}}"#), "`jsonrpc`"),
        (format!(r#"{{"id":ID,"result":{result}}}"#), "`jsonrpc`"),
        (format!(r#"{{"jsonrpc":"2.0","result":{result}}}"#), "without a usable `id`"),
        (format!(r#"{{"jsonrpc":"2.0","id":null,"result":{result}}}"#), "without a usable `id`"),
        (format!(r#"{{"jsonrpc":"2.0","id":"init","result":{result}}}"#), "has the id \"init\""),
        (format!(r#"{{"jsonrpc":"2.0","id":0,"result":{result}}}"#), "has the id 0 instead of 1"),
        (format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{result},}}"#), "not JSON"),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{"n":NaN}}"#.to_owned(), "not JSON"),
        (r#"{"jsonrpc":"2.0","id":ID,"error":"no"}"#.to_owned(), "`error`"),
        (
            format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{}{}}}"#, "[".repeat(120), "]".repeat(120)),
            "the answer is not a JSON-RPC message: it is nested more than",
        ),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#.to_owned(), "parse error"),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":"yes"}}}"#.to_owned(), "`capabilities.tools`"),
    ] {
        let script = Script::new().on("initialize", [answer(&text)]);
        let begin = Instant::now();
        let error = server.refuses(Extension::scripted("odd", &script));
        assert!(begin.elapsed() < AT_ONCE, "{text}: {:?}", begin.elapsed());
        assert!(error.contains(words), "{text}: {error}");
        assert!(!error.contains("timeout"), "{text}: {error}");
    }
}
