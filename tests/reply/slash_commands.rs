//! Slash commands: their effect, the messages that are stored, and those that the model sees.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, Server};
use crate::support::temp_dir;
use serde_json::{Value, json};

fn echo() -> Value {
    json!({"repeat": true, "turns": [{"steps": [{"text": "I heard {{last_user}}"}]}]})
}

fn text(role: &str, text: &str) -> Value {
    json!({"role": role, "content": {"type": "text", "text": text}})
}

/// A server with the prompt `greet`, which consists of these messages.
fn greeting(record: &Record, messages: Value) -> Script {
    let prompts = json!({"prompts": [
        {"name": "greet", "description": "Greets somebody", "arguments": [
            {"name": "who", "description": "Whom", "required": true}, {"name": "tone"},
        ]},
    ]});
    let got = json!({"messages": messages});
    Script::new()
        .recorded(&record.path())
        .offers("prompts", prompts)
        .on("prompts/get", [Action::Result(got)])
}

#[test]
fn prompts_are_listed_for_the_user_alone() {
    let (record, other) = (Record::new(), Record::new());
    let server = Server::scripted(echo()).start();
    let silent = json!({"prompts": [{"name": "leave"}]});
    let session = server.session([
        Extension::scripted("one", &greeting(&record, json!([]))),
        Extension::scripted(
            "two",
            &Script::new()
                .recorded(&other.path())
                .offers("prompts", silent),
        ),
    ]);
    let turn = session.say("/prompts").finishes();
    let turn = turn
        .says("- `greet` (one) Greets somebody")
        .says("- `leave` (two)");
    let message = &turn.events_of("Message")[0]["message"];
    assert_eq!(message["metadata"]["agentVisible"], false);
    session
        .say("/prompts two")
        .finishes()
        .says("`leave`")
        .never_says("`greet`");
    session.say("/prompts nobody").finishes().says("not active");
    assert_eq!(session.conversation().len(), 6);
    assert!(session.seen_by_model().is_empty());
    session.say("hi").finishes().says("I heard hi");
}

#[test]
fn a_server_that_cannot_list_its_prompts_hides_no_others() {
    let record = Record::new();
    let server = Server::scripted(echo()).start();
    let mut broken = Script::new();
    broken.capabilities.push("prompts".to_owned());
    let broken = broken.on(
        "prompts/list",
        [Action::Error(-32603, "lost them".to_owned())],
    );
    let session = server.session([
        Extension::scripted("two", &broken),
        Extension::scripted("one", &greeting(&record, json!([text("user", "Hello")]))),
    ]);
    let turn = session.say("/prompts").finishes();
    turn.says("`greet` (one)").says("lost them");
    session
        .say("/prompt greet who=x")
        .finishes()
        .says("I heard Hello");
}

#[test]
fn a_prompt_is_answered_by_the_model() {
    let record = Record::new();
    let server = Server::scripted(echo()).start();
    let script = greeting(
        &record,
        json!([text("user", "Say good day to Ada Lovelace")]),
    );
    let session = server.session([Extension::scripted("one", &script)]);
    for command in ["/prompt greet", "/prompt one__greet", " /prompt  greet "] {
        let turn = session
            .say(&format!("{command} who=\"Ada Lovelace\" tone='x=y'"))
            .finishes();
        turn.says("I heard Say good day to Ada Lovelace");
    }
    let got = record.all("prompts/get");
    let arguments = json!({"who": "Ada Lovelace", "tone": "x=y"});
    assert!(
        got.iter()
            .all(|got| got["params"]["arguments"] == arguments),
        "{got:?}"
    );
    assert_eq!(got.len(), 3);
    let prompt = "user: Say good day to Ada Lovelace";
    let answer = "assistant: I heard Say good day to Ada Lovelace";
    assert_eq!(session.seen_by_model()[..2], [prompt, answer]);
    assert_eq!(
        session.transcript()[0],
        "user: /prompt greet who=\"Ada Lovelace\" tone='x=y'"
    );
}

#[test]
fn a_prompt_of_several_messages_is_taken_as_it_is() {
    let record = Record::new();
    let server = Server::scripted(echo()).start();
    let resource = json!({"role": "user", "content": {"type": "resource", "resource":
        {"uri": "x://notes", "mimeType": "text/plain", "text": "some notes"}}});
    let messages = json!([text("user", "Hello"), text("assistant", "Yes?"), resource]);
    let session = server.session([Extension::scripted("one", &greeting(&record, messages))]);
    let turn = session
        .say("/prompt greet who=x")
        .finishes()
        .says("I heard some notes");
    for message in &session.conversation()[1..] {
        turn.place(|event| event["message"]["id"] == message["id"]);
    }
    let all = [
        "user: Hello",
        "assistant: Yes?",
        "user: some notes",
        "assistant: I heard some notes",
    ];
    assert_eq!(session.seen_by_model(), all);
}

#[test]
fn a_prompt_that_ends_with_the_assistant_is_not_answered() {
    let record = Record::new();
    let server = Server::scripted(echo()).start();
    let messages = json!([text("user", "Hello"), text("assistant", "How can I help?")]);
    let session = server.session([Extension::scripted("one", &greeting(&record, messages))]);
    session
        .say("/prompt greet who=x")
        .finishes()
        .never_says("I heard");
    session
        .say("like this")
        .finishes()
        .says("I heard like this");
    let all = [
        "user: Hello",
        "assistant: How can I help?",
        "user: like this",
        "assistant: I heard like this",
    ];
    assert_eq!(session.seen_by_model(), all);
}

#[test]
fn a_prompt_that_cannot_be_used_says_what_it_takes() {
    let record = Record::new();
    let server = Server::scripted(echo()).start();
    let refusing = greeting(&record, json!([]));
    let mut refusing = refusing;
    refusing.rules.retain(|(method, _)| method != "prompts/get");
    let refusing = refusing.on(
        "prompts/get",
        [Action::Error(-32602, "who is missing".to_owned())],
    );
    let session = server.session([Extension::scripted("one", &refusing)]);
    let turn = session.say("/prompt greet").finishes();
    turn.says("who is missing")
        .says("- `who` (required) Whom")
        .says("- `tone` (optional)");
    session
        .say("/prompt greet --info")
        .finishes()
        .says("Greets somebody")
        .never_says("missing");
    session
        .say("/prompt greet Ada")
        .finishes()
        .says("`Ada` is not")
        .says("`who` (required)");
    session
        .say("/prompt nothing")
        .finishes()
        .says("`nothing`")
        .says("/prompts");
    session.say("/prompt").finishes().says("/prompt NAME");
    assert!(session.seen_by_model().is_empty());
    assert_eq!(record.all("prompts/get").len(), 1);
}

#[test]
fn a_prompt_of_nothing_says_so() {
    let record = Record::new();
    let server = Server::scripted(echo()).start();
    let session = server.session([Extension::scripted("one", &greeting(&record, json!([])))]);
    session
        .say("/prompt greet who=x")
        .finishes()
        .says("The prompt is empty");
}

fn standup(server: Server, folder: &std::path::Path) -> Server {
    let path = folder.join("standup.yaml");
    let recipe = "title: Standup\ndescription: D\ninstructions: Be brief.\n\
        prompt: 'Greet {{ who }}, {{ tone }}.'\nparameters:\n\
        - {key: who, input_type: string, requirement: required, description: Whom}\n\
        - {key: tone, input_type: string, requirement: optional, description: How, default: kindly}\n";
    std::fs::write(&path, recipe).unwrap();
    let gone = folder.join("gone.yaml");
    server.setting(
        "slash_commands",
        json!([
            {"command": "standup", "recipe_path": path}, {"command": "gone", "recipe_path": gone},
        ]),
    )
}

#[cfg(feature = "recipes")]
#[test]
fn a_recipe_can_be_a_command() {
    let folder = temp_dir();
    let server = standup(Server::scripted(echo()), folder.path()).start();
    let session = server.session([]);
    for (command, prompt) in [
        ("/standup Ada Lovelace", "Greet Ada Lovelace, kindly."),
        (
            "/STANDUP who=\"Ada Lovelace\" tone=loudly",
            "Greet Ada Lovelace, loudly.",
        ),
        ("/standup tone=softly Ada", "Greet Ada, softly."),
    ] {
        let turn = session.say(command).finishes();
        assert_eq!(turn.text(), format!("I heard Be brief.\n\n{prompt}"));
        let stored = session.conversation();
        let [.., said, meant, _] = stored.as_slice() else {
            panic!("{stored:?}")
        };
        assert_eq!(said["content"][0]["text"], command);
        assert_eq!(
            said["metadata"],
            json!({"userVisible": true, "agentVisible": false})
        );
        assert_eq!(
            meant["metadata"],
            json!({"userVisible": false, "agentVisible": true})
        );
    }
    let before = session.seen_by_model();
    session
        .say("/standup")
        .finishes()
        .says("`/standup`")
        .says("who")
        .never_says("I heard");
    session
        .say("/gone")
        .finishes()
        .says("`/gone`")
        .says("gone.yaml");
    assert_eq!(session.seen_by_model(), before);
}

#[test]
fn what_only_begins_with_a_slash_goes_to_the_model() {
    let server = Server::scripted(echo()).start();
    let session = server.session([]);
    for text in [
        "/etc/passwd is a file",
        "/",
        "/ compact",
        "/compacted",
        "// prompts",
    ] {
        session
            .say(text)
            .finishes()
            .says(&format!("I heard {text}"));
    }
    assert_eq!(session.seen_by_model().len(), 10);
}
