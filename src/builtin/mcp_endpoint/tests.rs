use super::*;
use crate::mcp::server::{Context, Level, Server, Tool};
use crate::mcp::types::CallToolResult;

#[test]
fn the_end_of_a_session_is_that_of_its_server_whoever_still_listens() {
    #[derive(serde::Deserialize)]
    struct Nothing {}
    let held = Arc::new(());
    let theirs = held.clone();
    let sessions = Sessions::new(move || {
        let theirs = theirs.clone();
        let talk = move |_: Nothing, context: &Context| {
            let _held = &theirs;
            context.log(Level::Info, "one");
            while context.pause(JSON_TIMEOUT) {}
            Ok(CallToolResult::text(""))
        };
        Server::new("talker", "1")
            .logging()
            .tool(Tool::new("talk", "", talk))
    });
    let send = |session: &Arc<Session>, method: &str, params: &str| {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        answer(session.clone(), jsonrpc::parse(message.as_bytes(), false))
    };
    let session = sessions.begin().unwrap();
    send(
        &session,
        "initialize",
        r#"{"protocolVersion":"2025-11-25"}"#,
    );
    sessions.add(&session).unwrap();
    let under_way = send(&session, "tools/call", r#"{"name":"talk","arguments":{}}"#);
    let id = session.id.clone();
    drop(session);
    assert_eq!(Arc::strong_count(&held), 3);
    sessions.end(&id).unwrap();
    assert_eq!(
        Arc::strong_count(&held),
        2,
        "only the reference in the sessions is left"
    );
    drop(under_way);
}

#[test]
fn what_a_client_accepts_is_read_as_http_says() {
    let json = "application/json";
    for accept in [
        json,
        "text/event-stream, application/json",
        "text/html;q=0.3,Application/JSON; q=0.5",
        "application/*",
        "*/*;q=0.1",
    ] {
        assert!(allows(accept, json), "{accept}");
    }
    for accept in [
        "",
        "text/event-stream",
        "text/*",
        "application/json;q=0",
        "application/jsonl",
        "application",
        "application/json;q=0.0",
    ] {
        assert!(!allows(accept, json), "{accept}");
    }
}
