//! The data that a provider sends with a call goes back to it in later turns, after a restart, and from an
//! imported session; another provider does not get it.

use crate::model_server::{DONE, ModelServer, Reply, delta, finish, says};
use crate::support::server::Server;
use serde_json::{Value, json};

const SIGNATURE: &str = "AY89a18IwQsQ8in";

/// A model that calls a tool if the message is `call`, and otherwise answers with text.
fn model() -> ModelServer {
    ModelServer::with(|seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        let last = body["messages"].as_array().unwrap().last().unwrap();
        if last["content"] != "call" {
            return Reply::stream(says(&["Fine."]));
        }
        let call = json!({"index": 0, "id": "c1", "type": "function",
            "function": {"name": "absent__tool", "arguments": "{}"},
            "extra_content": {"google": {"thought_signature": SIGNATURE}}});
        let details = json!([{"type": "reasoning.encrypted", "data": "secret", "index": 0}]);
        let chunk = json!({"tool_calls": [call], "reasoning_details": details});
        Reply::stream(delta(&chunk.to_string()) + &finish("tool_calls") + DONE)
    })
}

/// The first answer of the model, as the request of the last turn contains it.
#[track_caller]
fn told(model: &ModelServer) -> Value {
    let mut bodies = model.bodies();
    bodies.retain(|body| !body.to_string().contains("You name chats"));
    let body = bodies.pop().unwrap();
    let messages = body["messages"].as_array().unwrap();
    let mut said = messages.iter().filter(|m| m["role"] == "assistant");
    said.next().unwrap().clone()
}

#[track_caller]
fn is_whole(message: &Value) {
    let call = &message["tool_calls"][0];
    assert_eq!(
        call["extra_content"]["google"]["thought_signature"],
        SIGNATURE
    );
    let details = json!([{"type": "reasoning.encrypted", "data": "secret", "index": 0}]);
    assert_eq!(message["reasoning_details"], details);
}

#[test]
fn what_came_with_a_call_outlives_restart_and_export_and_stays_with_its_provider() {
    let (first, second) = (model(), model());
    let server = Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "m")
        .setting("OPENAI_HOST", first.url.as_str())
        .setting("VLLM_HOST", second.url.as_str())
        .start();
    let session = server.session([]);
    session.say("call").finishes().says("Fine.");
    is_whole(&told(&first));
    let id = session.id.clone();
    let server = server.restart();
    let session = server.known(&id);
    session.resume();
    session.say("go on").finishes().says("Fine.");
    is_whole(&told(&first));

    let exported = server.get(&format!("/sessions/{id}/export")).is(200).body;
    let text = exported.as_str().unwrap();
    let imported = server
        .post("/sessions/import", json!({"json": text}))
        .is(200);
    let imported = server.known(imported.body["id"].as_str().unwrap());
    imported.resume();
    imported.say("go on").finishes().says("Fine.");
    is_whole(&told(&first));

    let choice = json!({"provider": "vllm", "model": "m"});
    imported.post("/agent/update_provider", choice).is(200);
    imported.say("go on").finishes().says("Fine.");
    let other = told(&second);
    assert_eq!(other["tool_calls"][0]["id"], "c1");
    assert!(!other.to_string().contains(SIGNATURE), "{other}");
    assert!(other.get("reasoning_details").is_none(), "{other}");
}
