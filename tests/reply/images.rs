//! An image that the provider refuses does not end the conversation: the model is told of it in words,
//! from then on.

use crate::model_server::{ModelServer, Reply, says};
use crate::support::server::{Live, Server};
use serde_json::{Value, json};

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

fn with(model: &ModelServer) -> Live {
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

/// What was asked since, apart from names.
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
