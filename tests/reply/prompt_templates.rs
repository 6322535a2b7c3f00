//! `/config/prompts`: the prompts that the user changes, and what the model then gets.

use crate::model_server::{ModelServer, Reply, says};
use crate::support::client::{Answer, KEY};
use crate::support::scripted::Script;
use crate::support::server::{Extension, RunningServer, Server};
use crate::support::until;
use serde_json::{Value, json};
use std::fs;
use std::thread;

fn put(server: &RunningServer, name: &str, content: &str) -> Answer {
    let body = json!({ "content": content }).to_string();
    server.ask(
        "PUT",
        &format!("/config/prompts/{name}"),
        Some(KEY),
        Some(&body),
    )
}

fn prompt(server: &RunningServer, name: &str) -> Value {
    server.get(&format!("/config/prompts/{name}")).is(200).body
}

/// A model that repeats its system prompt.
fn telling() -> Value {
    json!({"repeat": true, "turns": [{"steps": [{"text": "{{system}}"}]}]})
}

#[test]
fn the_prompts_are_listed_in_the_recorded_shape() {
    let server = Server::new().start();
    let listed = server.get("/config/prompts").is(200).body;
    let all = listed["prompts"].as_array().unwrap();
    let names: Vec<&str> = all.iter().map(|it| it["name"].as_str().unwrap()).collect();
    let mut expected = vec!["system.md", "compaction.md", "session_name.md"];
    expected.extend(cfg!(feature = "recipes").then_some("recipe.md"));
    assert_eq!(names, expected);
    for one in all {
        let fields: Vec<&str> = one
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let recorded = ["name", "description", "default_content", "is_customized"];
        assert_eq!(fields, recorded);
        let shown = prompt(&server, one["name"].as_str().unwrap());
        assert_eq!(
            shown,
            json!({"name": one["name"], "content": one["default_content"],
                "default_content": one["default_content"], "is_customized": false})
        );
    }
    for name in ["plan.md", "..%2Fconfig.yaml", "system", ""] {
        server.get(&format!("/config/prompts/{name}")).is(404);
        server.delete(&format!("/config/prompts/{name}")).is(404);
    }
    put(&server, "plan.md", "x").is(404).says("plan.md");
}

#[cfg(feature = "recipes")]
#[test]
fn a_changed_system_prompt_counts_from_the_next_turn_until_it_is_reset() {
    let server = Server::scripted(telling()).start();
    fs::write(server.work().join("AGENTS.md"), "Use tabs.").unwrap();
    let script = Script::new().instructions("Echo {{ date }} twice.");
    let session = server.session([Extension::scripted("one", &script)]);
    let told = || session.say("what?").finishes().text();
    let default = told();
    assert!(default.starts_with("You are gosling"), "{default}");
    let template = "You are a parrot on {{ os }}.\n{% if extensions %}\n{% for it in extensions %}\n\
                    ## {{ it.name }}\n{{ it.instructions }}\n{% endfor %}\n{% endif %}\n\
                    {% if extension_tool_limits is defined %}\n\
                    {% with (a, b) = extension_tool_limits %}{{a}}{{b}}{% endwith %}\n{% endif %}\n";
    put(&server, "system.md", template)
        .is(200)
        .gives(json!("Saved prompt: system.md"));
    let changed = told();
    let parrot = format!(
        "You are a parrot on {}.\n## one\n<extension name=\"one\">\n\
         Echo {{{{ date }}}} twice.\n</extension>\n\n# Hints",
        std::env::consts::OS
    );
    assert!(changed.starts_with(&parrot), "{changed}");
    assert!(changed.contains("Use tabs."), "{changed}");
    let shown = prompt(&server, "system.md");
    assert_eq!(
        (&shown["content"], &shown["is_customized"]),
        (&json!(template), &json!(true))
    );
    let listed = server.get("/config/prompts").is(200).body;
    assert_eq!(listed["prompts"][0]["user_content"], template);
    assert_eq!(listed["prompts"][0]["is_customized"], true);
    for _ in 0..2 {
        server
            .delete("/config/prompts/system.md")
            .is(200)
            .gives(json!("Reset prompt to default: system.md"));
    }
    assert_eq!(told(), default);
    // The default is a template, too.
    let text = prompt(&server, "system.md")["default_content"].clone();
    put(&server, "system.md", text.as_str().unwrap()).is(200);
    assert_eq!(told(), default);
}

#[cfg(feature = "recipes")]
#[test]
fn a_template_that_does_not_render_is_refused_with_its_line() {
    let server = Server::new().start();
    put(&server, "session_name.md", "Name it.").is(200);
    for (name, content, says) in [
        ("system.md", "a\n\n{% if os %}", "line 3"),
        (
            "system.md",
            "a\n{{ os }} {{ nosuch }}",
            "line 2: there is no variable `nosuch`",
        ),
        ("system.md", "{{ mode.a.b }}", "line 1"),
        (
            "system.md",
            "{% for it in extensions %}{{ it.name.a.b }}{% endfor %}",
            "line 1",
        ),
        ("system.md", "{% include 'config.yaml' %}", "include"),
        ("system.md", " \n", "no text"),
        ("session_name.md", "{{ messages }}", "`messages`"),
        ("compaction.md", &"x".repeat((64 << 10) + 1), "64 KiB"),
    ] {
        put(&server, name, content)
            .is(400)
            .says(says)
            .says("`content`");
    }
    let missing = server.ask("PUT", "/config/prompts/system.md", Some(KEY), Some("{}"));
    missing.is(422).says("content");
    assert_eq!(prompt(&server, "session_name.md")["content"], "Name it.");
    let mut files: Vec<_> = fs::read_dir(server.root().join("config/prompts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, [".lock", "session_name.md"]);
}

#[cfg(feature = "recipes")]
#[test]
fn a_template_that_was_broken_by_hand_fails_no_turn() {
    let server = Server::scripted(telling()).start();
    let session = server.session([]);
    let told = || session.say("what?").finishes().text();
    let default = told();
    let folder = server.root().join("config/prompts");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("system.md");
    for content in [
        b"a\n{% if".to_vec(),
        b"{{ nosuch }}".to_vec(),
        b"\xff\xfe".to_vec(),
        b"".to_vec(),
        vec![b'x'; 100_000],
    ] {
        fs::write(&file, &content).unwrap();
        assert_eq!(told(), default);
    }
    server.logs("prompt not used");
    server.logs("line 2");
    // It is shown, so that it can be corrected.
    fs::write(&file, "a\n{% if").unwrap();
    assert_eq!(prompt(&server, "system.md")["content"], "a\n{% if");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(told(), default);
}

#[cfg(feature = "recipes")]
#[test]
fn summaries_and_names_are_asked_for_with_the_changed_prompts() {
    let model = ModelServer::with(|seen| {
        if seen.body.contains("Shorten this") {
            Reply::stream(says(&["They added numbers."]))
        } else if seen.body.contains("Give it a title") {
            Reply::stream(says(&["Sums"]))
        } else {
            Reply::stream(says(&["Five."]))
        }
    });
    let server = Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "gpt-5")
        .setting("OPENAI_HOST", model.url.as_str())
        .start();
    put(&server, "session_name.md", "Give it a title.").is(200);
    put(&server, "compaction.md", "Shorten this:\n{{ messages }}").is(200);
    let session = server.session([]);
    session.say("two plus three").finishes().says("Five.");
    until("the name", || {
        (session.stored()["name"] == "Sums").then_some(())
    });
    session.say("/compact").finishes();
    let seen = model.seen();
    let summary = seen.iter().find(|it| it.body.contains("Shorten this"));
    let body: Value = serde_json::from_str(&summary.expect("a request").body).unwrap();
    let system = body["messages"][0]["content"].to_string();
    assert!(
        system.contains("(The conversation is in the next message.)"),
        "{system}"
    );
    assert!(
        body["messages"][1]["content"]
            .to_string()
            .contains("two plus three")
    );
}

#[cfg(feature = "recipes")]
#[test]
fn of_two_clients_that_save_at_once_one_wins_whole() {
    let server = Server::new().start();
    let texts = ["a".repeat(60_000), "b".repeat(60_000)];
    for _ in 0..5 {
        thread::scope(|scope| {
            for text in &texts {
                let server = &server;
                scope.spawn(move || put(server, "compaction.md", text).is(200));
            }
        });
        let kept = prompt(&server, "compaction.md")["content"].clone();
        assert!(texts.iter().any(|text| kept == *text));
    }
}
