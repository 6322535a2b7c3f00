//! An image that the provider refuses does not end the conversation: later requests have a text in its place.

use crate::model_server::{DONE, ModelServer, Reply, delta, finish, says};
use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, RunningServer, Server};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A model that refuses every request with this text in it.
fn model(refused: &'static str) -> ModelServer {
    ModelServer::with(move |seen| {
        if !seen.body.contains(refused) {
            return Reply::stream(says(&["Fine."]));
        }
        let error = json!({"error": {"message": "Could not process image"}});
        Reply::json("400 Bad Request", &error.to_string())
    })
}

fn with(model: &ModelServer) -> RunningServer {
    Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "m")
        .setting("OPENAI_HOST", model.url.as_str())
        .start()
}

fn image(data: &str) -> Value {
    let image = json!({"type": "image", "data": data, "mimeType": "image/png"});
    json!([{"type": "text", "text": "look"}, image])
}

/// A stream that calls the tool `one__look`.
fn call_of_look() -> String {
    let function = json!({"name": "one__look", "arguments": "{}"});
    let call = json!({"tool_calls": [{"index": 0, "id": "c1", "function": function}]});
    delta(&call.to_string()) + &finish("tool_calls") + DONE
}

/// The new requests, apart from those for names.
fn asked(model: &ModelServer, before: usize) -> Vec<String> {
    let bodies = model.bodies();
    let turns = bodies.iter().map(Value::to_string);
    let turns = turns.filter(|body| !body.contains("You name chats"));
    turns.skip(before).collect()
}

#[test]
fn a_refused_image_is_told_in_words_from_then_on() {
    let model = model("QkFE");
    let server = with(&model);
    let session = server.session([]);
    session.sends(image("R09PRA==")).finishes().says("Fine.");
    let turn = session.sends(image("QkFE")).finishes().says("Fine.");
    let notices = turn.notices("inlineMessage");
    assert!(
        notices[0].contains("Could not process image"),
        "{notices:?}"
    );
    let sent = asked(&model, 1);
    assert_eq!(sent.len(), 2, "once with the image and once without");
    assert!(sent[1].contains("did not take"), "{}", sent[1]);
    assert!(
        sent[1].contains("R09PRA=="),
        "the other image stays: {}",
        sent[1]
    );

    session.say("go on").finishes().says("Fine.");
    assert_eq!(asked(&model, 3).len(), 1, "it is not tried again");
    let id = session.id.clone();
    let server = server.restart();
    let session = server.known(&id);
    session.resume();
    session.sends(image("TkVX")).finishes().says("Fine.");
    let sent = asked(&model, 4);
    assert_eq!(sent.len(), 1, "nor after a restart");
    assert!(
        sent[0].contains("TkVX") && !sent[0].contains("QkFE"),
        "{}",
        sent[0]
    );
    assert!(
        session.stored().to_string().contains("QkFE"),
        "it is still shown"
    );
}

#[test]
fn a_model_without_eyes_is_told_of_all_images_and_another_one_sees_them() {
    let (blind, seeing) = (model("image_url"), model("nothing is refused"));
    let server = Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "m")
        .setting("OPENAI_HOST", seeing.url.as_str())
        .setting("VLLM_HOST", blind.url.as_str())
        .start();
    let session = server.session([]);
    session.sends(image("R09PRA==")).finishes().says("Fine.");
    let uses = |provider: &str| {
        let choice = json!({"provider": provider, "model": "m"});
        session.post("/agent/update_provider", choice).is(200);
    };
    uses("vllm");
    session.say("and you?").finishes().says("Fine.");
    session.sends(image("TkVX")).finishes().says("Fine.");
    assert_eq!(asked(&blind, 0).len(), 4, "two refusals");
    uses("openai");
    session.say("and now?").finishes().says("Fine.");
    let last = asked(&seeing, 0).pop().unwrap();
    assert!(last.contains("R09PRA==") && last.contains("TkVX"), "{last}");
}

#[test]
fn a_refusal_for_another_reason_is_told_as_such() {
    let model = ModelServer::with(|_| {
        let error = json!({"error": {"message": "the tools are wrong"}});
        Reply::json("400 Bad Request", &error.to_string())
    });
    let server = with(&model);
    let session = server.session([]);
    let turn = session.sends(image("R09PRA==")).finishes();
    turn.says("the tools are wrong");
    assert_eq!(asked(&model, 0).len(), 1);
    assert!(!session.stored().to_string().contains("refused_images"));
}

#[test]
fn an_answer_is_kept_although_the_refused_images_cannot_be_stored_meanwhile() {
    let tool = Script::new().tool("look", [Action::Text("seen".to_owned(), 1)]);
    let file = Arc::new(Mutex::new(PathBuf::new()));
    let session_file = Arc::clone(&file);
    let model = ModelServer::with(move |seen| {
        let path = session_file.lock().unwrap().clone();
        let aside = path.with_extension("aside");
        if seen.body.contains("QkFE") {
            let error = json!({"error": {"message": "Could not process image"}});
            return Reply::json("400 Bad Request", &error.to_string());
        }
        if seen.body.contains("tool_call_id") {
            // The session can be stored again.
            let _ = fs::rename(&aside, &path);
            return Reply::stream(says(&["Fine."]));
        }
        if !seen.body.contains("You name chats") {
            fs::rename(&path, &aside).unwrap();
        }
        Reply::stream(call_of_look())
    });
    let server = with(&model);
    let session = server.session([Extension::scripted("one", &tool)]);
    let folder = server.root().join("data/sessions").join(&session.id);
    *file.lock().unwrap() = folder.join("session.json");
    let turn = session.sends(image("QkFE")).finishes();
    turn.gives(&["seen"]).says("Fine.");
    let stored = fs::read_to_string(folder.join("session.json")).unwrap();
    assert!(stored.contains("refused_images"), "{stored}");
}

#[test]
fn a_model_that_refuses_a_thousand_images_is_asked_no_more_than_three_times() {
    let model = model("image_url");
    let server = Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "m")
        .setting("GOOSE_AUTO_COMPACT_THRESHOLD", 0)
        .setting("OPENAI_HOST", model.url.as_str())
        .start();
    let session = server.session([]);
    let images = (0..1_005)
        .map(|n| json!({"type": "image", "data": format!("{n:08}"), "mimeType": "image/png"}));
    let turn = session.sends(images.collect()).finishes().says("Fine.");
    assert_eq!(turn.notices("inlineMessage").len(), 1);
    session.say("go on").finishes().says("Fine.");
    assert_eq!(asked(&model, 0).len(), 3, "one refusal");
}

#[test]
fn a_model_that_refuses_images_and_words_is_not_asked_for_ever() {
    let model = ModelServer::with(|_| {
        let error = json!({"error": {"message": "Could not process image"}});
        Reply::json("400 Bad Request", &error.to_string())
    });
    let server = with(&model);
    let session = server.session([]);
    session.sends(image("R09PRA==")).finishes();
    session.sends(image("TkVX")).finishes();
    assert!(asked(&model, 0).len() <= 6, "{}", asked(&model, 0).len());
}

#[test]
fn an_image_of_a_tool_whose_type_is_in_capitals_is_told_in_words_too() {
    let part = json!({"type": "image", "data": "QkFE", "mimeType": "IMAGE/PNG"});
    let result = Action::Result(json!({"content": [part]}));
    let tool = Script::new().tool("look", [result]);
    let model = ModelServer::with(|seen| {
        if seen.body.contains("QkFE") {
            let error = json!({"error": {"message": "Could not process image"}});
            return Reply::json("400 Bad Request", &error.to_string());
        }
        if seen.body.contains("tool_call_id") {
            return Reply::stream(says(&["Fine."]));
        }
        Reply::stream(call_of_look())
    });
    let server = with(&model);
    let session = server.session([Extension::scripted("one", &tool)]);
    session.say("look").finishes().says("Fine.");
}

#[test]
fn older_images_become_words_before_a_conversation_that_is_too_large_is_summed_up() {
    for refusal in [
        ("413 Payload Too Large", "Request Entity Too Large"),
        (
            "400 Bad Request",
            "prompt is too long: 210000 tokens > 200000 maximum",
        ),
    ] {
        let model = ModelServer::with(move |seen| {
            if seen.body.contains("You name chats") {
                return Reply::stream(says(&["Pictures"]));
            }
            // One image is all that it takes.
            if seen.body.matches("data:image/png").count() > 1 {
                let (status, words) = refusal;
                let body = json!({"error": {"message": words}}).to_string();
                return Reply::json(status, &body);
            }
            Reply::stream(says(&["Seen."]))
        });
        let server = with(&model);
        let session = server.session([]);
        session.sends(image("b25lb25l")).finishes().says("Seen.");
        let turn = session.sends(image("dHdvdHdv")).finishes().says("Seen.");
        let notices = turn.notices("inlineMessage");
        assert!(
            notices
                .iter()
                .any(|it| it.contains("in place of the older images")),
            "{notices:?}"
        );
        assert!(
            !notices.iter().any(|it| it.contains("summed up")),
            "{notices:?}"
        );
        let last = model.bodies().into_iter().rev();
        let mut last = last.map(|body| body.to_string());
        let last = last.find(|body| !body.contains("You name chats")).unwrap();
        assert!(
            last.contains("dHdvdHdv") && !last.contains("b25lb25l"),
            "{last}"
        );
    }
}
