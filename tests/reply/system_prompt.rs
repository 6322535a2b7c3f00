//! The system prompt: recipes, hints and extensions.

use crate::support::client::KEY;
use crate::support::scripted::Script;
use crate::support::server::{Extension, Server, Session};
use crate::support::system::symlink;
use serde_json::{Value, json};
use std::fs;

/// A model that repeats its system prompt and the news behind the messages, or calls a tool.
fn telling() -> Value {
    json!({"repeat": true, "turns": [
        {"when": {"user": "model"}, "steps": [{"text": "{{model}}"}]},
        {"when": {"user": "call"}, "steps": [{"call": {"name": "one__echo"}}, {"text": "Done."}]},
        {"steps": [{"text": "{{system}}\n{{news}}"}]},
    ]})
}

fn told(session: &Session<'_>) -> String {
    session.say("what?").finishes().text()
}

#[test]
fn an_extension_without_instructions_is_active_all_the_same() {
    let server = Server::scripted(telling()).start();
    let session = server.session([]);
    assert!(told(&session).contains("No extensions are active"));
    session
        .add(Extension::scripted("one", &Script::new()))
        .is(200);
    let prompt = told(&session);
    assert!(prompt.contains("<extension name=\"one\"/>"), "{prompt}");
    assert!(!prompt.contains("No extensions are active"), "{prompt}");
    let script = Script::new().instructions("Echo twice.");
    session.add(Extension::scripted("two", &script)).is(200);
    assert!(told(&session).contains("<extension name=\"two\">\nEcho twice.\n</extension>"));
    session.remove("two").is(200);
    assert!(!told(&session).contains("Echo twice."));
}

fn recipe() -> Value {
    json!({
        "title": "Voices", "description": "D", "instructions": "Speak like {{ who }}.",
        "parameters": [{
            "key": "who", "input_type": "string", "requirement": "user_prompt", "description": "Who",
        }],
        "settings": {
            "goose_provider": "scripted", "goose_model": "bard", "temperature": 0.25, "max_turns": 1,
        },
    })
}

#[cfg(feature = "recipes")]
#[test]
fn a_recipe_speaks_once_its_values_are_there() {
    let server = Server::scripted(telling()).start();
    let body = json!({"working_dir": server.work(), "recipe": recipe(), "extension_overrides": []});
    let session = server.start(body);
    assert!(
        !told(&session).contains("Speak like"),
        "there are no values yet"
    );
    let path = format!("/sessions/{}/user_recipe_values", session.id);
    for who in ["a pirate", "a judge"] {
        let values = json!({"userRecipeValues": {"who": who}}).to_string();
        server.ask("PUT", &path, Some(KEY), Some(&values)).is(200);
        session
            .post("/agent/update_from_session", json!({}))
            .is(200);
        let prompt = told(&session);
        assert!(
            prompt.contains(&format!("# This session\n\nSpeak like {who}.")),
            "{prompt}"
        );
    }
    let server = server.restart();
    assert!(told(&server.known(&session_id(&server))).contains("Speak like a judge."));
}

fn session_id(server: &crate::support::server::RunningServer) -> String {
    let listed = server.get("/sessions").is(200).body;
    listed["sessions"][0]["id"]
        .as_str()
        .expect("a session")
        .to_owned()
}

#[cfg(feature = "recipes")]
#[test]
fn a_recipe_chooses_the_model_and_bounds_the_turn() {
    let server = Server::scripted(telling())
        .env("GOOSE_PROVIDER", "openai")
        .start();
    let echo = Extension::scripted("one", &Script::new()).0;
    let mut recipe = recipe();
    recipe["extensions"] = json!([echo]);
    let session = server.start(json!({"working_dir": server.work(), "recipe": recipe}));
    session.say("model").finishes().says("bard");
    let stored = session.stored();
    assert_eq!(stored["provider_name"], "scripted");
    assert_eq!(stored["model_config"]["model_name"], "bard");
    assert_eq!(stored["model_config"]["temperature"], 0.25);
    let turn = session.say("call").finishes().never_says("Done.");
    let turn = turn.says("asked for tools once in this turn and stop here, as the recipe says");
    assert_eq!(turn.results().len(), 1);
    session.uses(json!({"model": "mine"})).is(200);
    session.say("model").finishes().says("mine");
}

#[test]
fn hints_reach_the_model_from_the_root_of_the_project_down() {
    let server = Server::scripted(telling()).start();
    let (work, config) = (server.work(), server.root().join("config"));
    let deep = work.join("repo/a/b");
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir(work.join("repo/.git")).unwrap();
    fs::write(work.join(".goosehints"), "outside of the project").unwrap();
    fs::write(work.join("repo/AGENTS.md"), "at the root").unwrap();
    fs::write(work.join("repo/a/.goosehints"), "half way").unwrap();
    fs::write(deep.join(".goosehints"), "where the work is").unwrap();
    fs::write(config.join(".goosehints"), "wherever I work").unwrap();
    let session = server.start(json!({"working_dir": deep, "extension_overrides": []}));
    let prompt = told(&session);
    let wanted = [
        "at the root",
        "half way",
        "where the work is",
        "wherever I work",
    ];
    let at = wanted.map(|hint| prompt.find(hint));
    assert!(
        at.is_sorted() && at.iter().all(Option::is_some),
        "{at:?} {prompt}"
    );
    assert!(!prompt.contains("outside of the project"), "{prompt}");

    fs::write(deep.join(".goosehints"), "where the WORK is").unwrap();
    fs::remove_file(work.join("repo/a/.goosehints")).unwrap();
    let changed = told(&session);
    let news = changed
        .strip_prefix(prompt.trim_end())
        .expect("the prompt stays");
    assert!(
        news.contains("where the WORK is") && !news.contains("half way"),
        "{news}"
    );
    assert_eq!(
        told(&session).trim_end(),
        prompt.trim_end(),
        "it is told once"
    );
}

#[test]
fn hints_follow_the_session_to_another_place() {
    let server = Server::scripted(telling()).start();
    let other = server.work().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(server.work().join("AGENTS.md"), "here first").unwrap();
    fs::write(other.join("AGENTS.md"), "there then").unwrap();
    let session = server.session([]);
    assert!(told(&session).contains("here first"));
    let body = json!({ "working_dir": other });
    session.post("/agent/update_working_dir", body).is(200);
    let prompt = told(&session);
    assert!(
        prompt.contains("there then") && !prompt.contains("here first"),
        "{prompt}"
    );
}

#[test]
fn hints_have_bounds_and_stay_in_the_project() {
    let server = Server::scripted(telling()).start();
    let (work, outside) = (server.work(), server.root().join("outside"));
    fs::create_dir(work.join(".git")).unwrap();
    fs::write(&outside, "a secret of others").unwrap();
    symlink(&outside, work.join("AGENTS.md")).unwrap();
    fs::write(
        work.join(".goosehints"),
        format!("{}the end", "x".repeat(40_000)),
    )
    .unwrap();
    let session = server.session([]);
    let prompt = told(&session);
    assert!(!prompt.contains("a secret of others"));
    assert!(prompt.contains("the rest was left out") && !prompt.contains("the end"));
    assert!(prompt.len() < 40_000, "{} bytes", prompt.len());
    server.logs("leads out of the project");

    fs::remove_file(work.join("AGENTS.md")).unwrap();
    fs::write(work.join("real.md"), "a link within").unwrap();
    symlink(work.join("real.md"), work.join("AGENTS.md")).unwrap();
    let changed = told(&session);
    let news = changed.strip_prefix(prompt.trim_end());
    assert!(news.expect("the prompt stays").contains("a link within"));
}

#[test]
fn a_setting_names_the_files_of_hints() {
    let server = Server::scripted(telling())
        .setting(
            "CONTEXT_FILE_NAMES",
            json!(["CLAUDE.md", "../config/config.yaml"]),
        )
        .start();
    fs::write(server.work().join("CLAUDE.md"), "from the third").unwrap();
    fs::write(server.work().join("AGENTS.md"), "from the second").unwrap();
    let session = server.session([]);
    let prompt = told(&session);
    assert!(prompt.contains("from the third") && !prompt.contains("from the second"));
    assert!(!prompt.contains("GOOSE_PROVIDER"), "{prompt}");
}
