//! Conversations that exceed the context of their model, and the commands that shorten them.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Server, Session};
use crate::support::turns::{assistant, shown, user};
use serde_json::{Value, json};

/// A model with long answers, which repeat the first message that it sees.
fn talker() -> Value {
    json!({"repeat": true, "summary": "They talked about weather.", "turns": [
        {"when": {"user": "remember"}, "steps": [{"text": "I remember."}]},
        {"steps": [{"text": "x".repeat(6_000)}]},
    ]})
}

fn visible(session: &Session<'_>, who: &str) -> usize {
    let conversation = session.conversation();
    conversation
        .iter()
        .filter(|m| m["metadata"][who] == true)
        .count()
}

/// The texts of the messages that the model sees.
fn seen(session: &Session<'_>) -> Vec<String> {
    let conversation = session.conversation();
    let seen = conversation
        .iter()
        .filter(|m| m["metadata"]["agentVisible"] == true);
    seen.map(|m| {
        m["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    })
    .collect()
}

/// Sets a model with a small context for the session.
fn uses_small(session: &Session<'_>) {
    let choice = json!({"model": "small", "context_limit": 8_000});
    session.uses(choice).is(200);
}

#[test]
fn a_conversation_that_fills_the_context_is_summed_up() {
    let server = Server::scripted(talker()).start();
    let session = server.session([]);
    session
        .uses(json!({"model": "small", "context_limit": 4_000}))
        .is(200);
    let first = session.say("rain?").finishes();
    assert!(first.notices("inlineMessage").is_empty());
    session.say("snow?").finishes();
    let turn = session.say("remember?").finishes().says("I remember.");
    let notices = turn.notices("inlineMessage");
    assert!(notices[0].contains("more than 80 %"), "{notices:?}");
    assert!(notices[1].contains("was summed up"), "{notices:?}");
    assert_eq!(turn.notices("thinkingMessage").len(), 1);
    let updates = turn.events_of("UpdateConversation");
    assert_eq!(updates.len(), 1);
    let told = updates[0]["conversation"].as_array().unwrap();
    assert_eq!(
        told.len(),
        5 + 2,
        "the old messages, the summary and the question"
    );
    let seen = seen(&session);
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert!(
        seen[0].starts_with("They talked about weather."),
        "{}",
        seen[0]
    );
    assert_eq!(seen[1..], ["remember?", "I remember."]);
    assert_eq!(visible(&session, "userVisible"), 6);
    let id = session.id.clone();
    let server = server.restart();
    let session = server.known(&id);
    assert_eq!(visible(&session, "agentVisible"), 3);
    session.say("remember more").finishes().says("I remember.");
}

#[test]
fn the_user_may_have_it_summed_up() {
    let server = Server::scripted(talker()).start();
    let session = server.session([]);
    session.say("rain?").finishes();
    let turn = session.say("/compact").finishes();
    assert_eq!(turn.events_of("UpdateConversation").len(), 1);
    assert!(!turn.notices("inlineMessage").is_empty());
    assert!(turn.text().is_empty());
    assert!(seen(&session)[0].starts_with("They talked about weather."));
    assert_eq!(visible(&session, "userVisible"), 2);
    session.say("remember?").finishes().says("I remember.");
}

#[test]
fn the_user_may_begin_anew() {
    let server = Server::scripted(talker()).start();
    let session = server.session([]);
    session.say("rain?").finishes();
    let turn = session.say("/clear").finishes();
    assert_eq!(
        turn.events_of("UpdateConversation")[0]["conversation"],
        json!([])
    );
    assert!(session.conversation().is_empty());
    session.say("remember?").finishes().says("I remember.");
    assert_eq!(session.conversation().len(), 2);
}

/// A model whose summary is this.
fn summing_up(summary: &str) -> Value {
    let mut script = talker();
    script["summary"] = summary.into();
    script
}

#[test]
fn what_is_no_summary_replaces_nothing() {
    let long = "They talked at length. ".repeat(300);
    for (summary, reason) in [
        ("", "it is empty"),
        ("<think>They talked about weather.</think>\n", "it is empty"),
        ("<think>Okay, the user wants", "it is empty"),
        (long.as_str(), "it is not shorter"),
    ] {
        let server = Server::scripted(summing_up(summary)).start();
        let session = server.session([]);
        session.say("rain?").finishes();
        let turn = session.say("/compact").finishes();
        let notices = turn.notices("inlineMessage");
        assert!(
            notices[1].contains("was not used") && notices[1].contains(reason),
            "{notices:?}"
        );
        let seen = seen(&session);
        assert!(
            seen[0].starts_with("User: rain?\n\nAssistant: xxx"),
            "{seen:?}"
        );
        server.logs("summary of the model not used");
    }
    let server = Server::scripted(summing_up("<think>Hm.</think>\nThey talked.")).start();
    let session = server.session([]);
    session.say("rain?").finishes();
    session.say("/compact").finishes();
    assert!(seen(&session)[0].starts_with("They talked.\n"));
}

#[test]
fn a_conversation_of_a_short_message_is_not_summed_up() {
    let script = json!({"repeat": true, "summary": "They talked.", "turns": [
        {"when": {"user": "remember"}, "steps": [{"text": "I remember."}]},
        {"steps": [{"error": {"class": "refused", "message": "no"}}]},
    ]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let is_kept = || {
        let before = session.conversation();
        let turn = session.say("/compact").finishes();
        let notices = turn.notices("inlineMessage");
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(
            notices[0].contains("so nothing is summed up"),
            "{notices:?}"
        );
        assert!(turn.events_of("UpdateConversation").is_empty());
        assert_eq!(session.conversation(), before);
    };
    is_kept();
    session.say("short").finishes().says("no");
    is_kept();
    session.say("/clear").finishes();
    is_kept();
    session.say("remember?").finishes().says("I remember.");
}

#[test]
fn a_model_that_finds_it_too_long_is_asked_again_with_a_summary() {
    let script = json!({"summary": "They talked about weather.", "turns": [
        {"steps": [{"text": "Rain."}]},
        {"when": {"user": "too much"}, "steps": [
            {"error": {"class": "context_exceeded", "message": "too long", "times": 1}},
            {"text": "Now it fits."},
        ]},
    ]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    session.say("weather?").finishes().says("Rain.");
    let turn = session.say("too much").finishes().says("Now it fits.");
    assert_eq!(turn.events_of("UpdateConversation").len(), 1);
    assert!(seen(&session)[0].starts_with("They talked about weather."));
}

#[test]
fn a_model_that_always_finds_it_too_long_does_not_go_round_in_circles() {
    let script = json!({"repeat": true, "turns": [{"steps": [
        {"error": {"class": "context_exceeded", "message": "the conversation is too long"}},
    ]}]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let long = "hm ".repeat(1_000);
    for (text, compacted) in [("hm", 0), (&*long, 0), (&*long, 1), (&*long, 1)] {
        let turn = session.say(text).finishes().says("is too long");
        assert_eq!(turn.events_of("UpdateConversation").len(), compacted);
    }
}

#[test]
fn a_summary_that_fails_leaves_the_conversation_as_it_was() {
    let server = Server::scripted(talker()).start();
    let session = server.session([]);
    session.say("rain?").finishes();
    let before = session.conversation();
    server.plays(json!({"turns": 5}));
    let turn = session.say("/compact");
    turn.fails("script.json");
    assert_eq!(session.conversation(), before);
    server.plays(talker());
    session.say("remember?").finishes().says("I remember.");
}

#[test]
fn a_message_that_only_looks_like_a_command_goes_to_the_model() {
    let script =
        json!({"repeat": true, "turns": [{"steps": [{"text": "You said {{last_user}}"}]}]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    session
        .say("/etc/passwd is a file")
        .finishes()
        .says("You said /etc/passwd is a file");
    session.say("/").finishes().says("You said /");
    session
        .say("/prompts")
        .finishes()
        .says("No active extension offers prompts");
    session.say("/prompt").finishes().says("/prompt NAME");
    session.say("/prompt nothing").finishes().says("`nothing`");
}

#[test]
fn a_turn_that_outgrows_the_context_goes_on_after_a_summary() {
    let large = Script::new().tool("large", [Action::Text("r".to_owned(), 3_000)]);
    let script = json!({"summary": "It is under way.", "turns": [{
        "when": {"user": "work"}, "steps": [
            {"call": {"name": "one__large"}}, {"call": {"name": "one__large"}},
            {"call": {"name": "one__large"}}, {"call": {"name": "one__large"}},
        ],
    }]});
    let server = Server::scripted(script)
        .setting("GOOSE_MAX_TURNS", 12)
        .start();
    let session = server.session([Extension::scripted("one", &large)]);
    session
        .uses(json!({"model": "small", "context_limit": 4_000}))
        .is(200);
    let turn = session.say("work").finishes();
    let kind = |event: &Value| match event["type"].as_str() {
        Some("UpdateConversation") => Some('U'),
        _ if event["message"]["content"][0]["type"] == "toolRequest" => Some('C'),
        _ if event["message"]["content"][0]["type"] == "toolResponse" => Some('R'),
        _ => None,
    };
    let course: String = turn.events.iter().filter_map(kind).collect();
    assert!(course.starts_with("CRCR"), "{course}");
    let between: Vec<&str> = course.split('U').collect();
    assert!(between.len() > 1, "{course}");
    for calls in &between[..between.len() - 1] {
        assert!(calls.len() >= 4, "summed up again and again: {course}");
    }
    // The model sees the question, and each result has its call.
    let conversation = session.conversation();
    let seen = conversation
        .iter()
        .filter(|m| m["metadata"]["agentVisible"] == true);
    let seen: Vec<String> = seen.map(shown).collect();
    assert!(seen[0].starts_with("user: It is under way."), "{seen:?}");
    assert!(
        seen.iter().any(|message| message == "user: work"),
        "{seen:?}"
    );
    for pair in seen.windows(2) {
        let answers = pair[1].starts_with("user: result");
        assert_eq!(answers, pair[0].starts_with("assistant: call"), "{pair:?}");
    }
    session.say("hello").finishes();
}

/// Long answers of a model that counts ten characters as a token, as some models do for repeated text.
fn thrifty() -> Value {
    let turn = |user: &str, input: u64| {
        json!({"when": {"user": user}, "usage": {"input": input, "output": 1_200},
            "steps": [{"text": "x".repeat(12_000)}]})
    };
    json!({"summary": "They talked.", "turns": [
        turn("one", 300), turn("two", 1_500), turn("three", 2_700), turn("four", 3_900),
        turn("five", 6_000), turn("six", 500),
    ]})
}

#[test]
fn what_the_model_counts_is_believed_also_after_a_restart() {
    let server = Server::scripted(thrifty()).start();
    let session = server.session([]);
    uses_small(&session);
    let id = session.id.clone();
    let undisturbed = |server: &crate::support::server::RunningServer, text: &str| {
        let turn = server.known(&id).say(text).finishes();
        assert_eq!(turn.notices("inlineMessage"), [""; 0], "{text}");
    };
    undisturbed(&server, "one");
    undisturbed(&server, "two");
    server.known(&id).stop();
    undisturbed(&server, "three");
    let server = server.restart();
    undisturbed(&server, "four");
    let server = server.restart();
    undisturbed(&server, "five");
    // Now 7,200 tokens of 8,000 are used.
    let server = server.restart();
    let turn = server.known(&id).say("six").finishes();
    let notices = turn.notices("inlineMessage");
    assert!(notices[0].contains("more than 80 %"), "{notices:?}");
    assert_eq!(turn.tokens()["totalTokens"], 1_700);
}

#[test]
fn what_came_since_the_model_counted_is_estimated() {
    let server = Server::scripted(thrifty()).start();
    let session = server.session([]);
    uses_small(&session);
    session.say("one").finishes();
    let id = session.id.clone();
    let server = server.restart();
    let session = server.known(&id);
    let turn = session
        .say(&format!("two {}", "word ".repeat(20_000)))
        .finishes();
    let notices = turn.notices("inlineMessage");
    assert!(notices[0].contains("more than 80 %"), "{notices:?}");
}

#[test]
fn the_counts_say_how_full_the_context_is_after_a_summary() {
    let server = Server::scripted(thrifty()).start();
    let session = server.session([]);
    uses_small(&session);
    let before = session.say("five").finishes().tokens();
    assert_eq!(before["totalTokens"], 7_200);
    session.say("/compact").finishes();
    let id = session.id.clone();
    let server = server.restart();
    let session = server.known(&id);
    assert_eq!(
        session.stored()["total_tokens"],
        0,
        "the script counts none"
    );
    assert_eq!(session.stored()["accumulated_total_tokens"], 7_200);
    let turn = session.say("one").finishes();
    assert_eq!(turn.notices("inlineMessage"), [""; 0]);
}

#[test]
fn what_only_the_user_sees_does_not_fill_the_context() {
    let for_user = json!({"audience": ["user"]});
    let result = json!({"content": [
        {"type": "text", "text": "done"},
        {"type": "text", "text": "x".repeat(60_000), "annotations": for_user},
    ]});
    let script = Script::new().tool("draw", [Action::Result(result)]);
    let calls = json!({"repeat": true, "turns": [
        {"steps": [{"call": {"name": "one__draw"}}, {"text": "There it is."}]},
    ]});
    let server = Server::scripted(calls).start();
    let file = server.root().join("script");
    let session = server.session([Extension::scripted_by(&file, "one", &script)]);
    uses_small(&session);
    for _ in 0..2 {
        let turn = session.say("draw").finishes().says("There it is.");
        assert_eq!(turn.notices("inlineMessage"), [""; 0]);
    }
}

#[test]
fn an_import_whose_messages_were_summed_up_is_measured_anew() {
    let server = Server::scripted(thrifty()).start();
    let session = server.session([]);
    for text in ["one", "three", "four", "/compact"] {
        session.say(text).finishes();
    }
    // The count covers the summary, not the messages that it replaces.
    session.say("two").finishes();
    let export = format!("/sessions/{}/export", session.id);
    let exported = server.get(&export).is(200).body;
    let exported = exported.as_str().expect("a text");
    let imported = server.post("/sessions/import", json!({"json": exported}));
    let imported = imported.is(200).body;
    let session = server.known(imported["id"].as_str().expect("an id"));
    session.resume();
    uses_small(&session);
    let turn = session.say("six").finishes();
    let notices = turn.notices("inlineMessage");
    assert!(
        notices
            .iter()
            .any(|notice| notice.contains("more than 80 %")),
        "{notices:?}"
    );
}

#[test]
fn the_count_of_a_conversation_that_the_client_replaced_is_forgotten() {
    let server = Server::scripted(thrifty()).start();
    let session = server.session([]);
    uses_small(&session);
    session.say("five").finishes();
    // A result without a call ends the turn before the model is asked.
    let result = json!({"status": "success", "value": {"content": []}});
    let stray = json!({"role": "user", "created": 1, "content": [
        {"type": "toolResponse", "id": "no call", "toolResult": result},
    ]});
    let so_far = [user("a"), assistant(&"x".repeat(12_000))];
    let body = json!({"user_message": stray, "conversation_so_far": so_far});
    session.reply(body).rest().finishes();
    assert_eq!(session.conversation().len(), 2);
    let turn = session.say("one").finishes();
    assert_eq!(turn.notices("inlineMessage"), [""; 0]);
}
