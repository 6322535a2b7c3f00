//! What gosling does not offer is said in the shape that clients expect.

use crate::support::server::Server;
use serde_json::json;

#[test]
fn there_is_no_tunnel() {
    let server = Server::new().start();
    let disabled = json!({"state": "disabled", "url": "", "hostname": "", "secret": ""});
    server.get("/tunnel/status").is(200).gives(disabled.clone());
    server
        .post("/tunnel/start", json!({}))
        .is(400)
        .says("no tunnel");
    server
        .post("/tunnel/stop", json!({}))
        .is(200)
        .says_nothing();
    server.get("/tunnel/status").is(200).gives(disabled);
}

#[test]
fn no_vendor_signs_a_user_in() {
    let server = Server::new().start();
    for (path, vendor) in [
        ("/handle_openrouter", "OpenRouter"),
        ("/handle_tetrate", "Tetrate"),
    ] {
        let answer = server
            .ask("POST", path, Some(crate::support::client::KEY), None)
            .is(200);
        assert_eq!(answer.body["success"], false);
        assert!(
            answer.body["message"].as_str().unwrap().contains(vendor),
            "{}",
            answer.text
        );
    }
}

#[test]
fn telemetry_is_accepted_and_dropped() {
    let server = Server::new().start();
    let event = json!({"event_name": "a-name-of-an-event", "properties": {"a": [1]}});
    server
        .post("/telemetry/event", event)
        .is(202)
        .says_nothing();
    server
        .post("/telemetry/event", json!({"event_name": "x"}))
        .is(202);
    server
        .post("/telemetry/event", json!({"properties": {}}))
        .is(422)
        .says("`event_name`");
    server.never_logs("a-name-of-an-event");
}

#[test]
fn what_later_clients_ask_for_is_empty() {
    let server = Server::new().start();
    server.get("/dictation/config").is(200).gives(json!({}));
    for path in ["/local-inference/models", "/gateway/status"] {
        server.get(path).is(200).gives(json!([]));
    }
    for path in [
        "/tunnel/status",
        "/dictation/config",
        "/agent/list_apps",
        "/gateway/status",
    ] {
        server.ask("GET", path, None, None).is(401);
    }
}
