//! Invisible characters in the texts of servers do not reach the model; clients get the texts unchanged.

use crate::model_server::{ModelServer, Reply, says};
use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, Server};
use serde_json::{Value, json};

/// Two tag characters and a direction override.
const HIDDEN: &str = "\u{e0041}\u{e0042}\u{202e}";

fn hides(text: &str) -> bool {
    text.contains(['\u{e0041}', '\u{e0042}', '\u{202e}']) || text.contains("\\udb40")
}

#[test]
fn the_models_view_of_answers_instructions_and_resources_has_nothing_hidden() {
    let script = json!({"repeat": true, "turns": [
        {"when": {"user": "system"}, "steps": [{"text": "{{system}}"}]},
        {"when": {"user": "read"}, "steps": [
            {"call": {"name": "extensionmanager__read_resource",
                "arguments": {"uri": "x://n", "extension_name": "one"}}},
            {"text": "{{last_result}}"}]},
        {"steps": [{"call": {"name": "one__say"}}, {"text": "{{last_result}}"}]},
    ]});
    let server = Server::scripted(script).start();
    let text = format!("plain{HIDDEN} words");
    let contents = json!({"contents": [{"uri": "x://n", "text": text}]});
    // One answer has the characters themselves, the other has them as escapes.
    let escaped = r#"{"jsonrpc":"2.0","id":{id},"result":{"content":[{"type":"odd","text":"plain\udb40\udc41 words"}]}}"#;
    let servers = Script::new()
        .instructions(&text)
        .offers("resources", json!({"resources": []}))
        .on("resources/read", [Action::Result(contents)])
        .tool("say", [Action::text(&text)])
        .tool("odd", [Action::line(escaped)]);
    let session = server.session([Extension::scripted("one", &servers)]);

    for message in ["system", "read", "go"] {
        let turn = session.say(message).finishes().says("plain words");
        assert!(!hides(&turn.text()), "{message}: {:?}", turn.text());
    }
    let got = session.call("one__say", json!({})).is(200).body;
    assert_eq!(got["content"][0]["text"], text.as_str(), "the client's own");
    let got = session.read("one", "x://n").is(200).body;
    assert!(hides(&got.to_string()), "{got}");

    server.plays(json!({"repeat": true, "turns": [
        {"steps": [{"call": {"name": "one__odd"}}, {"text": "{{last_result}}"}]},
    ]}));
    let turn = session.say("go").finishes().says("plain words");
    assert!(!hides(&turn.text()), "{:?}", turn.text());
}

#[cfg(feature = "openai")]
#[test]
fn descriptions_and_schemas_of_tools_have_nothing_hidden() {
    let model = ModelServer::with(|_| Reply::stream(says(&["Yes."])));
    let server = Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "m")
        .setting("OPENAI_HOST", model.url.as_str())
        .env("OPENAI_API_KEY", "none")
        .start();
    let list = r#"{"jsonrpc":"2.0","id":{id},"result":{"tools":[{"name":"t","description":"Adds\udb40\udc41 two","inputSchema":{"type":"object","properties":{"z":{"type":"string","description":"The\udb40\udc41 one"},"a":{"type":"number"}}}}]}}"#;
    let script = Script::new().on("tools/list", [Action::line(list)]);
    let session = server.session([Extension::scripted("one", &script)]);
    session.say("hello").finishes();
    let asked: Vec<Value> = model.bodies();
    let with_tools = asked.iter().find(|body| body["tools"].is_array());
    let tool = &with_tools.expect("a request with tools")["tools"][0]["function"];
    assert_eq!(tool["description"], "Adds two");
    assert_eq!(
        tool["parameters"]["properties"]["z"]["description"],
        "The one"
    );
}

#[test]
fn prompts_and_questions_of_servers_have_nothing_hidden() {
    let record = Record::new();
    let server = Server::scripted(json!({"repeat": true, "turns": [
        {"when": {"user": "go"}, "steps": [{"call": {"name": "one__ask"}}, {"text": "Done."}]},
        {"steps": [{"text": "{{last_user}} {{system}}"}]},
    ]}))
    .start();
    let text = format!("plain{HIDDEN} words");
    let content = json!({"type": "text", "text": text});
    let messages = json!([{"role": "user", "content": content}]);
    let params = json!({"messages": messages, "systemPrompt": text, "maxTokens": 10});
    let script = Script::new()
        .recorded(&record.path())
        .offers("prompts", json!({"prompts": [{"name": "greet"}]}))
        .on(
            "prompts/get",
            [Action::Result(json!({"messages": messages}))],
        )
        .tool(
            "ask",
            [
                Action::AskWith("sampling/createMessage".to_owned(), params),
                Action::LastClientAnswer,
            ],
        );
    let session = server.session([Extension::scripted("one", &script)]);
    let turn = session.say("/prompt greet").finishes().says("plain words");
    assert!(!hides(&turn.text()), "{:?}", turn.text());

    session.say("go").finishes().says("Done.");
    let answer = record.answer("ask sampling/createMessage 0");
    let answer = answer["result"]["content"]["text"].as_str().unwrap();
    assert_eq!(answer, "plain words plain words");
}

#[test]
fn what_a_server_asks_the_user_shows_all_that_it_says() {
    let record = Record::new();
    let server = Server::scripted(json!({"turns": [
        {"steps": [{"call": {"name": "one__ask"}}, {"text": "Done."}]},
    ]}))
    .start();
    let params = json!({
        "message": format!("Your{HIDDEN} name?"),
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    });
    let steps = [
        Action::AskWith("elicitation/create".to_owned(), params),
        Action::LastClientAnswer,
    ];
    let script = Script::new().recorded(&record.path()).tool("ask", steps);
    let session = server.session([Extension::scripted("one", &script)]);
    let mut turn = session.begin_turn("go");
    let (id, question) = turn.elicits();
    let shown = "The extension \"one\" asks: Your name?";
    assert_eq!(question["message"], shown);
    session.fills_in(&id, json!({"name": "Ann"}));
    turn.rest().finishes();
}
