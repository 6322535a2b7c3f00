//! Models that fail: the user learns why, and the session continues.

use crate::support::server::Server;
use serde_json::{Value, json};

const CLASSES: [&str; 9] = [
    "config",
    "authentication",
    "rate_limit",
    "credits",
    "refused",
    "server",
    "timeout",
    "transport",
    "protocol",
];

fn failing(class: &str) -> Value {
    json!({"when": {"user": class}, "steps": [
        {"error": {"class": class, "message": format!("the {class} is to blame")}},
    ]})
}

#[test]
fn every_kind_of_failure_is_said_and_the_next_message_is_answered() {
    let mut turns: Vec<Value> = CLASSES.map(failing).into();
    turns.push(json!({"steps": [{"text": "Better."}]}));
    let server = Server::scripted(json!({"turns": turns, "repeat": true})).start();
    let session = server.session([]);
    for class in CLASSES {
        let turn = session.say(class).finishes();
        let turn = turn
            .says(&format!("the {class} is to blame"))
            .says("The model gave no answer");
        let message = turn.events_of("Message").pop().unwrap()["message"].clone();
        let only_user = json!({"userVisible": true, "agentVisible": false});
        assert_eq!(message["metadata"], only_user);
        session.say("and now?").finishes().says("Better.");
    }
    assert_eq!(session.conversation().len(), 4 * CLASSES.len());
}

#[test]
fn an_empty_account_is_told_as_such() {
    let server = Server::scripted(json!({"turns": [failing("credits")]})).start();
    let session = server.session([]);
    let turn = session.say("credits").finishes();
    assert_eq!(
        turn.notices("creditsExhausted"),
        ["the credits is to blame"]
    );
}

#[test]
fn what_was_said_before_a_failure_is_kept() {
    let script = json!({"turns": [
        {"steps": [
            {"text": "I was about to"},
            {"error": {"class": "server", "message": "the line is cut"}},
        ]},
        {"steps": [{"text": "Where was I?"}]},
    ]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let turn = session.say("tell me").finishes();
    let said = turn.says("I was about to").says("the line is cut");
    let said = said
        .says("The model's answer broke off")
        .never_says("gave no answer");
    let id = &said.events_of("Message")[0]["message"]["id"];
    let stored = session.conversation();
    assert_eq!(stored.len(), 3);
    assert_eq!(stored[1]["id"], *id);
    assert_eq!(stored[1]["content"][0]["text"], "I was about to");
    session.say("go on").finishes().says("Where was I?");
}

fn cut_off(text: &str) -> Value {
    json!({"steps": [
        {"text": text},
        {"error": {"class": "transport", "message": "the line is cut"}},
    ]})
}

#[test]
fn an_answer_goes_on_after_the_connection_broke_in_it() {
    let script = json!({"turns": [cut_off("I was about to"), {"steps": [{"text": " say yes."}]}]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let turn = session.say("tell me").finishes().says(" say yes.");
    let turn = turn.never_says("broke off");
    let notices = turn.notices("inlineMessage");
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("the line is cut"), "{notices:?}");
    let stored = session.conversation();
    let texts: Vec<_> = stored.iter().map(|it| &it["content"][0]["text"]).collect();
    assert_eq!(texts[1], "I was about to");
    assert!(
        texts[2]
            .as_str()
            .unwrap()
            .contains("Continue exactly where")
    );
    assert_eq!(texts[3], " say yes.");
    let only_model = json!({"userVisible": false, "agentVisible": true});
    assert_eq!(stored[2]["metadata"], only_model);
}

#[test]
fn an_answer_goes_on_once_alone() {
    let script = json!({"turns": [cut_off("One"), cut_off("two"), {"steps": [{"text": "three"}]}]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let turn = session.say("count").finishes().says("two");
    turn.says("The model's answer broke off")
        .never_says("three");
}

#[test]
fn an_answer_of_white_space_counts_as_empty() {
    let script = json!({"turns": [
        {"when": {"user": "blank"}, "steps": [{"text": " \n"}]}, {"steps": [{"text": "Yes?"}]},
    ]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let turn = session.say("blank").finishes();
    assert!(turn.notices("inlineMessage")[0].contains("nothing"));
    assert_eq!(session.transcript(), ["user: blank"]);
}

#[test]
fn an_answer_without_words_ends_the_turn() {
    let script = json!({"turns": [
        {"when": {"user": "nothing"}, "steps": []}, {"steps": [{"text": "Yes?"}]},
    ]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    session.say("say nothing").finishes();
    session.say("hello?").finishes().says("Yes?");
    let all = ["user: say nothing", "user: hello?", "assistant: Yes?"];
    assert_eq!(session.transcript(), all);
}

#[test]
fn an_empty_answer_says_why() {
    let thought = json!({"reasoning": "hm"});
    let script = json!({"turns": [
        {"when": {"user": "one"}, "steps": [], "stop": "length"},
        {"when": {"user": "two"}, "steps": [], "stop": "filtered"},
        {"when": {"user": "three"}, "steps": [thought], "stop": "length"},
        {"when": {"user": "four"}, "steps": [thought]},
    ]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    for (text, why) in [
        ("one", "`length`"),
        ("two", "`content_filter`"),
        ("three", "`length`"),
        ("four", "nothing"),
    ] {
        let turn = session.say(text).finishes();
        let notices = turn.notices("inlineMessage");
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].contains(why), "{notices:?}");
    }
}

#[test]
fn an_answer_that_is_cut_off_says_so() {
    let script = json!({"turns": [
        {"steps": [{"text": "And then"}], "stop": "length"},
        {"steps": [{"text": "And now"}], "stop": "filtered"},
    ]});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let turn = session.say("tell").finishes().says("And then");
    assert!(turn.notices("inlineMessage")[0].contains("limit on output"));
    let turn = session.say("tell").finishes().says("And now");
    assert!(turn.notices("inlineMessage")[0].contains("held back"));
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let server = Server::scripted(json!({"turns": [{"steps": [{"text": "Fine."}]}]})).start();
    let session = server.session([]);
    let path = server.root().join("config/config.yaml");
    let good = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{good}: [")).unwrap();
    session.say("hi").fails("config.yaml");
    std::fs::write(&path, good).unwrap();
    session.say("hi").finishes().says("Fine.");
}

#[test]
fn a_script_that_is_none_is_named() {
    let server = Server::scripted(json!({"turns": 5})).start();
    let session = server.session([]);
    session.say("hi").finishes().says("script.json");
    server.plays(json!({"turns": [{"steps": [{"text": "Mended."}]}]}));
    session.say("hi").finishes().says("Mended.");
}

#[cfg(feature = "openai")]
#[test]
fn a_key_is_never_shown() {
    use std::io::{Read, Write};
    const SECRET: &str = "sk-7c1b5a0e9d8f4e3a-very-secret";
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let Ok(mut socket) = socket else { return };
            let mut head = [0; 64 << 10];
            let length = socket.read(&mut head).unwrap_or(0);
            let _ = tell.send(String::from_utf8_lossy(&head[..length]).into_owned());
            let body =
                json!({"error": {"message": format!("Incorrect API key provided: {SECRET}")}})
                    .to_string();
            let head = "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nConnection: close\r\n";
            let _ = write!(socket, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    let server = Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "gpt-4o")
        .setting("OPENAI_HOST", format!("http://{address}"))
        .secrets(&format!("OPENAI_API_KEY: {SECRET}\n"))
        .start();
    let session = server.session([]);
    let turn = session.say("hello").finishes().never_has(SECRET);
    assert!(told.recv().unwrap().contains(SECRET), "the key was sent");
    assert!(!turn.text().is_empty());
    let stored = session.stored().to_string();
    assert!(!stored.contains(SECRET), "{stored}");
    server.never_logs(SECRET);
}
