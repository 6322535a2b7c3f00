//! Two models that share a session: the lead model begins, and takes over when the worker fails.

use crate::model_server::{ModelServer, Reply, says};
use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Server, Session};
use serde_json::{Value, json};

fn script() -> Value {
    json!({"repeat": true, "turns": [
        {"when": {"user": "trouble"}, "steps": [{"call": {"name": "one__nothing"}}, {"text": "{{model}}"}]},
        {"when": {"user": "works"}, "steps": [{"call": {"name": "one__works"}}, {"text": "{{model}}"}]},
        {"when": {"user": "fails"}, "steps": [{"call": {"name": "one__fails"}}, {"text": "{{model}}"}]},
        {"when": {"user": "down"}, "steps": [{"error": {"class": "server", "message": "down"}}]},
        {"steps": [{"text": "{{model}}"}]},
    ]})
}

fn leading() -> Server {
    playing(script()).setting("GOOSE_LEAD_TURNS", 2)
}

fn playing(script: Value) -> Server {
    Server::scripted(script)
        .env("GOOSE_MODEL", "cheap")
        .setting("GOOSE_LEAD_MODEL", "strong")
}

/// The model that answers each of these messages, and the model changes that the client is told.
fn run(session: &Session<'_>, messages: &[&str]) -> Vec<String> {
    let answered = messages.iter().map(|message| {
        let turn = session.say(message).finishes();
        let changes = turn.events_of("ModelChange");
        let changes = changes.iter().map(|change| {
            let text = |key: &str| change[key].as_str().expect("a text").to_owned();
            format!(" ({} {})", text("mode"), text("model"))
        });
        format!("{}{}", turn.text(), changes.collect::<String>())
    });
    answered.collect()
}

#[test]
fn the_strong_model_begins_and_the_other_goes_on() {
    let server = leading().start();
    let session = server.session([]);
    let all = [
        "strong (lead strong)",
        "strong",
        "cheap (worker cheap)",
        "cheap",
    ];
    assert_eq!(run(&session, &["a", "b", "c", "d"]), all);
    let stored = session.stored();
    assert_eq!(stored["model_config"]["model_name"], "cheap", "its own");
    let id = session.id.clone();
    let server = server.restart();
    let session = server.known(&id);
    assert_eq!(run(&session, &["e"]), ["cheap (worker cheap)"]);
    let other = server.session([]);
    assert_eq!(run(&other, &["a"]), ["strong (lead strong)"]);
    assert_eq!(other.stored()["model_config"]["model_name"], "cheap");
}

#[test]
fn the_strong_model_helps_out_after_failures_and_leaves_again() {
    let server = leading().start();
    let session = server.session([]);
    let said = run(&session, &["a", "b", "trouble", "trouble", "c", "d", "e"]);
    let all = [
        "strong (lead strong)",
        "strong",
        "cheap (worker cheap)",
        "cheap",
        "strong (lead strong)",
        "strong",
        "cheap (worker cheap)",
    ];
    assert_eq!(said, all);
}

#[test]
fn a_tool_that_reports_an_error_is_a_failure_and_one_that_works_is_not() {
    let server = leading().start();
    let failure = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
    let tools = Script::new()
        .tool("works", [Action::text("yes")])
        .tool("fails", [Action::Result(failure)]);
    let session = server.session([Extension::scripted("one", &tools)]);
    let said = run(
        &session,
        &["a", "b", "works", "works", "c", "fails", "fails", "d"],
    );
    let all = [
        "strong (lead strong)",
        "strong",
        "cheap (worker cheap)",
        "cheap",
        "cheap",
        "cheap",
        "cheap",
        "strong (lead strong)",
    ];
    assert_eq!(said, all);
}

#[test]
fn a_provider_that_is_down_says_nothing_about_a_model() {
    let server = leading().start();
    let session = server.session([]);
    session.say("down").finishes().says("down");
    session.say("down").finishes().says("down");
    assert_eq!(
        run(&session, &["a", "b", "c"]),
        ["strong", "strong", "cheap (worker cheap)"]
    );
}

#[test]
fn the_strong_model_helps_out_also_if_the_session_rests_meanwhile() {
    let server = leading().start();
    let session = server.session([]);
    session.say("down").finishes().says("down");
    session.say("down").finishes().says("down");
    let id = session.id.clone();
    let server = server.restart();
    let session = server.known(&id);
    let said = run(&session, &["a", "b", "trouble", "trouble"]);
    let all = [
        "strong (lead strong)",
        "strong",
        "cheap (worker cheap)",
        "cheap",
    ];
    assert_eq!(said, all, "a turn without an answer is not one of the lead");
    let server = server.restart();
    let session = server.known(&id);
    assert_eq!(run(&session, &["c"]), ["strong (lead strong)"]);
    let exported = server.get(&format!("/sessions/{id}/export")).is(200);
    let imported = json!({"json": exported.body});
    let imported = server.post("/sessions/import", imported).is(200).body;
    assert!(imported.get("warnings").is_none(), "{imported}");
    let server = server.restart();
    let session = server.known(&id);
    assert_eq!(
        run(&session, &["d", "e"]),
        ["strong (lead strong)", "cheap (worker cheap)"]
    );
}

/// The worker begins a turn that fails `times` times, after it has written a text if there is one.
fn failing(times: u32, text: Option<&str>) -> Server {
    let error = json!({"error": {"class": "server", "message": "down", "times": times}});
    let text = text.map(|text| json!({"text": text}));
    let steps: Vec<Value> = text
        .into_iter()
        .chain([error, json!({"text": "{{model}}"})])
        .collect();
    let script = json!({"repeat": true, "turns": [
        {"when": {"user": "down"}, "steps": steps},
        {"steps": [{"text": "{{model}}"}]},
    ]});
    playing(script).setting("GOOSE_LEAD_TURNS", 0)
}

#[test]
fn the_lead_answers_when_the_worker_cannot_be_reached() {
    let server = failing(1, None).start();
    let session = server.session([]);
    let turn = session.say("down").finishes().says("strong");
    let notices = turn.notices("inlineMessage");
    assert!(
        notices[0].contains("until the end of this turn: down"),
        "{notices:?}"
    );
    assert_eq!(
        run(&session, &["a"]),
        ["cheap (worker cheap)"],
        "it says nothing about the worker"
    );
}

#[test]
fn what_the_worker_wrote_before_it_failed_is_for_the_user_alone() {
    let server = failing(1, Some("I was about to")).start();
    let session = server.session([]);
    session.say("down").finishes().says("strong");
    let conversation = session.conversation();
    let seen = conversation.iter().map(|message| {
        let text = message["content"][0]["text"].as_str().unwrap();
        (text, message["metadata"]["agentVisible"] == true)
    });
    let all = [
        ("down", true),
        ("I was about to", false),
        ("I was about tostrong", true),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), all);
}

#[test]
fn when_the_lead_fails_too_the_user_hears_of_both() {
    let server = failing(2, None).start();
    let session = server.session([]);
    let turn = session.say("down").finishes();
    let turn = turn.says("The model gave no answer: down. The lead model failed, too: down");
    assert_eq!(turn.events_of("Error").len(), 0);
    let server = failing(1, None)
        .setting("GOOSE_LEAD_PROVIDER", "nobody")
        .start();
    let session = server.session([]);
    session
        .say("down")
        .finishes()
        .says("down. The lead model failed, too:")
        .says("nobody");
}

#[cfg(feature = "openai")]
#[test]
fn the_lead_answers_when_the_worker_cannot_sum_up_the_conversation() {
    let model = ModelServer::with(|seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        if seen.body.contains("Sum up this conversation") {
            return Reply::json(
                "400 Bad Request",
                r#"{"error": {"message": "no summaries"}}"#,
            );
        }
        Reply::stream(says(&[body["model"].as_str().unwrap()]))
    });
    let server = Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "cheap")
        .setting("GOOSE_LEAD_MODEL", "strong")
        .setting("GOOSE_LEAD_TURNS", 0)
        .setting("OPENAI_HOST", model.url.as_str())
        .start();
    let session = server.session([]);
    let small = json!({"provider": "openai", "model": "cheap", "context_limit": 4_000});
    session.post("/agent/update_provider", small).is(200);
    let long = "rain and snow ".repeat(900);
    session.say(&long).finishes().says("cheap");
    let turn = session.say("remember?").finishes().says("strong");
    let notices = turn.notices("inlineMessage");
    let told = |part: &str| notices.iter().any(|notice| notice.contains(part));
    assert!(told("it is being summed up"), "{notices:?}");
    assert!(told("until the end of this turn: OpenAI"), "{notices:?}");
    assert!(told("no summaries"), "{notices:?}");
}

#[test]
fn without_a_strong_model_nobody_changes() {
    let server = Server::scripted(script()).start();
    let session = server.session([]);
    assert_eq!(run(&session, &["a"]), ["script"]);
    session.uses(json!({"model": "other"})).is(200);
    assert_eq!(run(&session, &["b"]), ["other"]);
}

#[test]
fn a_strong_model_nobody_knows_is_an_error_that_names_it() {
    let server = leading().setting("GOOSE_LEAD_PROVIDER", "nobody").start();
    let session = server.session([]);
    session.say("a").fails("nobody");
    server.set("GOOSE_LEAD_PROVIDER", "scripted");
    session.say("a").finishes().says("strong");
}
