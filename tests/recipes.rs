//! Recipes, stored permissions and slash commands, through the API.
#![cfg(feature = "recipes")]

mod support;

use serde_json::{Value, json};
use std::fs;
use support::server::{Extension, RunningServer, Server};

/// A recorded response of Goose 1.24.
const LINK: &str = "eyJ2ZXJzaW9uIjoiMS4wLjAiLCJ0aXRsZSI6IlQiLCJkZXNjcmlwdGlvbiI6IkQiLCJpbnN0cnVjdGlvbnMiOiJCZSBicmllZiIsInByb21wdCI6ImdvIn0";

fn brief() -> Value {
    json!({
        "version": "1.0.0", "title": "T", "description": "D", "instructions": "Be brief",
        "prompt": "go",
    })
}

fn parameter(key: &str, input_type: &str) -> Value {
    json!({"key": key, "input_type": input_type, "requirement": "required", "description": ""})
}

fn start(server: &RunningServer, field: &str, value: Value) -> support::client::Answer {
    let body = json!({"working_dir": server.work(), "extension_overrides": [], field: value});
    server.post("/agent/start", body)
}

#[test]
fn links_are_written_and_read_as_recorded() {
    let server = Server::new().start();
    server
        .post("/recipes/encode", json!({"recipe": brief()}))
        .is(200)
        .gives(json!({"deeplink": LINK}));
    server
        .post("/recipes/decode", json!({"deeplink": LINK}))
        .is(200)
        .gives(json!({"recipe": brief()}));
    let padded = format!("{LINK}%3D");
    server
        .post("/recipes/decode", json!({"deeplink": padded}))
        .is(200)
        .gives(json!({"recipe": brief()}));
    server
        .post("/recipes/decode", json!({"deeplink": "!!"}))
        .is(400)
        .says_nothing();
    server
        .post("/recipes/encode", json!({"recipe": {"title": "T"}}))
        .is(422)
        .says("`description`");
}

#[test]
fn a_link_is_the_same_text_for_what_it_was_made_of() {
    let server = Server::new().start();
    let given = r#"{"prompt":"go","ours":{"z":1,"a":2},"title":"T","description":"D"}"#;
    let body = format!(r#"{{"recipe":{given}}}"#);
    let key = Some(support::client::KEY);
    let encoded = server
        .ask("POST", "/recipes/encode", key, Some(&body))
        .is(200);
    let decoded = server.post("/recipes/decode", encoded.body).is(200);
    assert_eq!(decoded.text, body);
}

#[test]
fn a_session_starts_from_a_file_of_its_folder_or_of_the_user() {
    let listed = support::temp_dir();
    let server = Server::new()
        .env("GOOSE_RECIPE_PATH", listed.path().to_str().unwrap())
        .start();
    let saved = |folder: std::path::PathBuf, title: &str| {
        fs::create_dir_all(&folder).unwrap();
        let path = fs::canonicalize(folder).unwrap().join("r.yaml");
        let text = format!("version: 1.0.0\ntitle: {title}\ndescription: D\nprompt: go\n");
        fs::write(&path, text).unwrap();
        gosling::recipe::library::id(&path)
    };
    let users = saved(server.root().join("config/recipes"), "Users");
    let folders = saved(server.work().join(".goose/recipes"), "Folders");
    let listed = saved(listed.path().to_owned(), "Listed");
    for (id, title) in [(users, "Users"), (folders, "Folders"), (listed, "Listed")] {
        let session = start(&server, "recipe_id", json!(id)).is(200).body;
        let expected =
            json!({"version": "1.0.0", "title": title, "description": "D", "prompt": "go"});
        assert_eq!(session["recipe"], expected);
    }
    start(&server, "recipe_id", json!("0123456789abcdef"))
        .is(404)
        .says("Recipe not found: 0123456789abcdef");
    start(&server, "recipe_id", json!("../../etc/passwd")).is(404);
}

#[test]
fn a_file_that_holds_no_recipe_says_what_is_wrong_with_it() {
    let server = Server::new().start();
    let folder = server.root().join("config/recipes");
    fs::create_dir_all(&folder).unwrap();
    let path = fs::canonicalize(&folder).unwrap().join("r.yaml");
    fs::write(&path, "title: T\n").unwrap();
    let id = gosling::recipe::library::id(&path);
    start(&server, "recipe_id", json!(id))
        .is(400)
        .says("`description`");
}

#[test]
fn a_recipe_that_makes_no_sense_starts_no_session() {
    let server = Server::new().start();
    let with = |more: Value| {
        let mut recipe = brief();
        for (key, value) in more.as_object().unwrap() {
            recipe[key] = value.clone();
        }
        recipe
    };
    for (recipe, said) in [
        (
            with(json!({"prompt": "{{ word }}"})),
            "the recipe uses `word`",
        ),
        (
            with(json!({"parameters": [parameter("word", "string")]})),
            "uses it nowhere",
        ),
        (
            with(json!({"prompt": "{{ w }}", "parameters": [parameter("w", "select")]})),
            "give it `options`",
        ),
        (
            with(json!({"prompt": "{% include '/etc/passwd' %}"})),
            "a recipe that is not in a file includes none",
        ),
        (
            with(json!({"prompt": "{{ 'a' * 100000000 }}"})),
            "may not multiply",
        ),
        (
            with(json!({"response": {"json_schema": "x"}})),
            "must be an object",
        ),
        (
            with(json!({"extensions": [{"type": "stdio", "name": "x"}]})),
            "cmd",
        ),
    ] {
        start(&server, "recipe", recipe).is(400).says(said);
    }
    let mut odd = brief();
    odd["parameters"] = json!([parameter("word", "colour")]);
    start(&server, "recipe", odd).is(422).says("colour");
    let first = start(&server, "recipe", brief()).is(200).body;
    assert!(first["id"].as_str().unwrap().ends_with("_1"), "{first}");
}

#[test]
fn an_agent_takes_its_recipe_from_its_session() {
    let server = Server::new().start();
    let mut recipe = brief();
    recipe["prompt"] = json!("Say {{ word }}");
    recipe["parameters"] = json!([parameter("word", "string")]);
    let session = server.start(json!({
        "working_dir": server.work(), "extension_overrides": [], "recipe": recipe,
    }));
    session
        .post("/agent/update_from_session", json!({}))
        .is(200)
        .says_nothing();
    session.stop();
    session
        .post("/agent/update_from_session", json!({}))
        .is(424);
    server
        .post(
            "/agent/update_from_session",
            json!({"session_id": "20200101_1"}),
        )
        .is(404);
}

fn decide(server: &RunningServer, tool: &str, level: &str) -> support::client::Answer {
    let body = json!({"tool_permissions": [{"tool_name": tool, "permission": level}]});
    server.post("/config/permissions", body)
}

#[test]
fn what_was_decided_about_a_tool_is_kept_and_shown() {
    let server = Server::new().start();
    let session = server.session([Extension::demo()]);
    let shown = || {
        let path = format!("/agent/tools?session_id={}", session.id);
        let tools = server.get(&path).is(200).body;
        let tools = tools.as_array().unwrap().clone();
        let shown = tools
            .into_iter()
            .filter(|tool| !tool["permission"].is_null());
        shown
            .map(|tool| (tool["name"].clone(), tool["permission"].clone()))
            .collect::<Vec<_>>()
    };
    let tool = session.tools()[0].clone();
    assert_eq!(shown(), []);
    decide(&server, &tool, "ask_before")
        .is(200)
        .gives(json!("Permissions updated successfully"));
    assert_eq!(shown(), [(json!(tool), json!("ask_before"))]);
    decide(&server, &tool, "sometimes")
        .is(422)
        .says("sometimes");
    let server_id = session.id.clone();
    drop(session);
    let server = server.restart();
    server
        .post(
            "/agent/resume",
            json!({"session_id": server_id, "load_model_and_extensions": true}),
        )
        .is(200);
    let tools = server
        .get(&format!("/agent/tools?session_id={server_id}"))
        .is(200);
    tools.says("\"permission\":\"ask_before\"");
}

#[test]
fn decisions_survive_edits_by_hand_and_edits_by_hand_survive_decisions() {
    let server = Server::new().start();
    let file = server.root().join("config/permission.yaml");
    decide(&server, "a__b", "always_allow").is(200);
    let by_hand = "# mine\nuser:\n  always_allow: [a__b, c__d]\n  note: kept\nsmart_approve:\n  ask_before: [e__f]\n";
    fs::write(&file, by_hand).unwrap();
    decide(&server, "a__b", "never_allow").is(200);
    let text = fs::read_to_string(&file).unwrap();
    for kept in [
        "- c__d",
        "note: kept",
        "smart_approve:",
        "- e__f",
        "never_allow:\n  - a__b",
    ] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    let backup = fs::read_to_string(server.root().join("config/permission.yaml.bak"));
    assert_eq!(backup.unwrap(), by_hand);
    fs::write(&file, "user: [").unwrap();
    decide(&server, "a__b", "always_allow")
        .is(422)
        .says("permission.yaml");
    assert_eq!(fs::read_to_string(&file).unwrap(), "user: [");
}

#[test]
fn the_commands_are_those_built_in_and_those_of_recipes() {
    let recipe = support::temp_dir();
    let path = recipe.path().join("standup.yaml");
    fs::write(&path, "title: Standup notes\ndescription: D\nprompt: go\n").unwrap();
    let server = Server::new()
        .config(&format!(
            "slash_commands:\n- command: standup\n  recipe_path: {}\n",
            path.display()
        ))
        .start();
    let listed = server.get("/config/slash_commands").is(200).body;
    let commands: Vec<(&str, &str)> = listed["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            assert!(!it["help"].as_str().unwrap().is_empty(), "{it}");
            (
                it["command"].as_str().unwrap(),
                it["command_type"].as_str().unwrap(),
            )
        })
        .collect();
    let builtin = ["prompts", "prompt", "compact", "clear"].map(|name| (name, "Builtin"));
    assert_eq!(commands[..4], builtin);
    assert_eq!(commands[4..], [("standup", "Recipe")]);
}
