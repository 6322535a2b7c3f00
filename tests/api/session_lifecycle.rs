//! The life cycle of a session: start, resume, restart, stop, delete, and its working directory.

use crate::support::process::{GUARDIAN, Proc};
use crate::support::scripted::Script;
use crate::support::server::{Extension, Record, RunningServer, Server};
use crate::support::until;
use serde_json::{Value, json};
use std::fs;

const UNKNOWN: &str = "20000101_1";

fn scripted(record: &Record) -> Extension {
    let script = Script::new().recorded(&record.path());
    Extension::scripted("one", &script)
}

#[test]
fn a_new_session_has_the_recorded_shape() {
    let server = Server::new().start();
    let config = json!({
        "type": "stdio", "name": "Bench Tools", "description": "d", "cmd": "true", "args": [],
        "envs": {"A": "1"}, "env_keys": [], "timeout": 30, "bundled": null, "available_tools": [],
    });
    let body = json!({"working_dir": server.work(), "extension_overrides": [config]});
    let answer = server.post("/agent/start", body).is(200);
    let session = answer.body.clone();
    let (day, number) = session["id"].as_str().unwrap().split_once('_').unwrap();
    assert!(day.len() == 8 && number == "1", "{session}");
    assert_eq!(
        session["created_at"].as_str().unwrap().len(),
        "2026-11-21T22:16:27Z".len()
    );
    answer.gives(json!({
        "id": session["id"], "working_dir": server.work(), "name": "New Chat",
        "user_set_name": false, "session_type": "user", "created_at": session["created_at"],
        "updated_at": session["updated_at"],
        "extension_data": {"enabled_extensions.v0": {"extensions": [config]}},
        "total_tokens": null, "input_tokens": null, "output_tokens": null,
        "accumulated_total_tokens": null, "accumulated_input_tokens": null,
        "accumulated_output_tokens": null, "schedule_id": null, "recipe": null,
        "user_recipe_values": null, "conversation": null, "message_count": 0,
        "provider_name": null, "model_config": null,
    }));
    let mut stored = session.clone();
    stored["conversation"] = json!([]);
    let path = format!("/sessions/{}", session["id"].as_str().unwrap());
    server.get(&path).is(200).gives(stored);
}

#[test]
fn a_light_resume_activates_nothing() {
    let record = Record::new();
    let server = Server::new().start();
    let session = server.session([scripted(&record)]);
    session.stop();
    let body = json!({"load_model_and_extensions": false});
    let answer = session.post("/agent/resume", body).is(200);
    assert_eq!(answer.body["session"]["id"], session.id);
    assert_eq!(answer.body["session"]["conversation"], json!([]));
    assert!(
        answer.body.get("extension_results").is_none(),
        "{}",
        answer.text
    );
    assert_eq!(record.starts().len(), 1);
    session
        .call("one__echo", json!({}))
        .is(424)
        .says("/agent/resume");
}

#[test]
fn an_unknown_session_is_never_made_by_accident() {
    let server = Server::new().start();
    for id in [UNKNOWN, "", "../../etc", "20000101_1/..", "é\u{0}"] {
        let ask = |path: &str, mut body: Value| {
            body["session_id"] = id.into();
            server.post(path, body)
        };
        ask("/agent/resume", json!({"load_model_and_extensions": true}))
            .is(404)
            .gives(json!({"message": "Failed to resume session: Session not found"}));
        ask("/agent/restart", json!({}))
            .is(404)
            .gives(json!({"message": "Failed to get session: Session not found"}));
        ask("/agent/stop", json!({})).is(200).says_nothing();
        ask(
            "/agent/update_working_dir",
            json!({"working_dir": server.work()}),
        )
        .is(404);
        ask(
            "/agent/add_extension",
            json!({"config": Extension::demo().0}),
        )
        .is(404);
        ask("/agent/remove_extension", json!({"name": "demo"})).is(404);
        ask(
            "/agent/call_tool",
            json!({"name": "demo__echo", "arguments": {}}),
        )
        .is(404);
        let resource = json!({"extension_name": "demo", "uri": "demo://welcome"});
        ask("/agent/read_resource", resource).is(404);
    }
    server
        .get(&format!("/agent/tools?session_id={UNKNOWN}"))
        .is(404);
    for path in ["", "/extensions"] {
        server
            .get(&format!("/sessions/{UNKNOWN}{path}"))
            .is(404)
            .says("not found");
        server
            .get(&format!("/sessions/..%2f..%2fetc{path}"))
            .is(404);
    }
    server
        .delete(&format!("/sessions/{UNKNOWN}"))
        .is(404)
        .says("not found");
    assert_eq!(server.descendants(), []);
}

#[test]
fn bodies_that_lack_something_are_422() {
    let server = Server::new().start();
    for path in [
        "start",
        "resume",
        "restart",
        "stop",
        "update_working_dir",
        "add_extension",
        "remove_extension",
        "call_tool",
        "read_resource",
    ] {
        let path = format!("/agent/{path}");
        server
            .post(&path, json!({"x": 1}))
            .is(422)
            .says("missing field");
        server.post(&path, json!(5)).is(422);
    }
    server
        .post("/agent/start", json!({"working": 1}))
        .is(422)
        .says(
            "Failed to deserialize the JSON body into the target type: missing field `working_dir`",
        );
    server
        .get("/agent/tools")
        .is(400)
        .says("Failed to deserialize query string: missing field `session_id`");
}

#[test]
fn stop_ends_the_children_and_resume_brings_them_back() {
    let record = Record::new();
    let server = Server::new().start();
    let session = server.session([scripted(&record)]);
    session.echoes("one");
    // A guardian sets its name shortly after its start.
    let children = until("the server", || {
        let mut children = server.descendants();
        children.retain(|process| process.name() != GUARDIAN);
        (children.len() == usize::from(!cfg!(target_os = "macos"))).then_some(children)
    });
    session.stop();
    assert!(!children.iter().any(Proc::is_alive));
    session.stop();
    for answer in [
        session.call("one__echo", json!({})),
        session.read("one", "x://y"),
        session.remove("one"),
        session.add(scripted(&record)),
        server.get(&format!("/agent/tools?session_id={}", session.id)),
    ] {
        answer.is(424).says("resume");
    }
    assert_eq!(session.resume(), [json!({"name": "one", "success": true})]);
    session.echoes("one");
    assert_eq!(record.starts().len(), 2);
}

#[test]
fn the_copy_of_a_session_has_an_agent_if_the_session_has_one() {
    let record = Record::new();
    let server = Server::new().start();
    let session = server.session([scripted(&record)]);
    let copy = || {
        let body = json!({"truncate": true, "copy": true, "timestamp": 1});
        let copied = server.post(&format!("/sessions/{}/fork", session.id), body);
        copied.is(200).body["sessionId"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let tools = |id: &str| server.get(&format!("/agent/tools?session_id={id}"));
    let id = copy();
    assert_eq!(record.starts().len(), 1);
    tools(&id).is(200).says("one__echo");
    assert_eq!(record.starts().len(), 2);
    session.stop();
    tools(&copy()).is(424).says("resume");
}

#[test]
fn restart_makes_everything_anew() {
    let record = Record::new();
    let server = Server::new().start();
    let session = server.session([scripted(&record)]);
    assert_eq!(session.restart(), [json!({"name": "one", "success": true})]);
    session.echoes("one");
    let starts = record.starts();
    assert_eq!(starts.len(), 2);
    assert_ne!(starts[0]["pid"], starts[1]["pid"]);
}

#[test]
fn a_deleted_session_is_gone_with_its_children() {
    let record = Record::new();
    let server = Server::new().start();
    let session = server.session([scripted(&record)]);
    let path = format!("/sessions/{}", session.id);
    server.delete(&path).is(200).says_nothing();
    let servers = || server.descendants().into_iter();
    assert_eq!(
        servers()
            .filter(|p| p.name().starts_with("scripted"))
            .count(),
        0
    );
    server.delete(&path).is(404);
    server.get(&path).is(404);
    session.call("one__echo", json!({})).is(404);
    assert_eq!(
        server.session([]).id.split('_').nth(1),
        Some("2"),
        "no id is given twice"
    );
}

#[test]
fn a_server_that_is_started_again_knows_its_sessions() {
    let record = Record::new();
    let server = Server::new().start();
    let session = server.session([scripted(&record)]);
    let later = Extension::scripted("later", &Script::new());
    session.add(later).is(200).says_nothing();
    let id = session.id.clone();
    let server = server.restart();
    server.get(&format!("/agent/tools?session_id={id}")).is(424);
    let body = json!({"session_id": id, "load_model_and_extensions": true});
    let resumed = server.post("/agent/resume", body).is(200);
    let expected = json!([{"name": "one", "success": true}, {"name": "later", "success": true}]);
    assert_eq!(resumed.body["extension_results"], expected);
    let call = json!({"session_id": id, "name": "later__echo", "arguments": {"message": "back"}});
    assert_eq!(
        server.post("/agent/call_tool", call).is(200).content(),
        "back"
    );
    let next = server.session([]).id;
    assert_ne!(next, id);
}

#[test]
fn the_working_directory_must_be_one() {
    let server = Server::new().start();
    let file = server.root().join("file");
    fs::write(&file, "").unwrap();
    let home = server
        .post("/agent/start", json!({"working_dir": ""}))
        .is(200);
    assert_eq!(home.body["working_dir"], json!(server.root().join("home")));
    for bad in [file.clone(), server.root().join("absent")] {
        let body = json!({"working_dir": bad, "extension_overrides": []});
        server
            .post("/agent/start", body)
            .is(400)
            .says("is not a directory");
    }
    let record = Record::new();
    let session = server.session([scripted(&record)]);
    let update =
        |dir: Value| session.post("/agent/update_working_dir", json!({"working_dir": dir}));
    for bad in [json!(file), json!(server.root().join("absent"))] {
        update(bad)
            .is(400)
            .gives(json!({"message": "Invalid directory path"}));
    }
    for empty in ["", " "] {
        let message = json!({"message": "Working directory cannot be empty"});
        update(json!(empty)).is(400).gives(message);
    }
    let sub = server.work().join("sub");
    fs::create_dir(&sub).unwrap();
    update(json!(sub)).is(200).says_nothing();
    session.echoes("one");
    let stored = server.get(&format!("/sessions/{}", session.id)).is(200);
    assert_eq!(stored.body["working_dir"], json!(sub));
    let starts = record.starts();
    assert_eq!(starts.len(), 2, "the bad ones changed nothing");
    let real = |path| json!(crate::support::system::canonicalize(path).unwrap());
    assert_eq!(
        [&starts[0]["cwd"], &starts[1]["cwd"]],
        [&real(server.work()), &real(sub)]
    );
}

const RECIPE_LINK: &str = "eyJ2ZXJzaW9uIjogIjEuMC4wIiwgInRpdGxlIjogIlQiLCAiZGVzY3JpcHRpb24iOiAiRCIsICJpbnN0cnVjdGlvbnMiOiAiQmUgYnJpZWYiLCAicHJvbXB0IjogImdvIn0";

#[cfg(feature = "recipes")]
#[test]
fn a_recipe_comes_as_json_or_as_a_link() {
    let server = Server::new().start();
    let recipe = json!({
        "version": "1.0.0", "title": "T", "description": "D", "instructions": "Be brief",
        "prompt": "go",
    });
    let start = |field: &str, value: Value| {
        let body = json!({"working_dir": server.work(), "extension_overrides": [], field: value});
        server.post("/agent/start", body)
    };
    assert_eq!(
        start("recipe", recipe.clone()).is(200).body["recipe"],
        recipe
    );
    assert_eq!(
        start("recipe_deeplink", json!(RECIPE_LINK)).is(200).body["recipe"],
        recipe
    );
    let message = json!({"message": "Failed to decode recipe deeplink"});
    start("recipe_deeplink", json!("!!!"))
        .is(400)
        .gives(message);
    let idle = json!({"version": "1.0.0", "title": "T", "description": "D"});
    let message = "Recipe must specify at least one of `instructions` or `prompt`.";
    start("recipe", idle)
        .is(400)
        .gives(json!({ "message": message }));
    start("recipe", json!({"title": "T"}))
        .is(422)
        .says("`description`");
    start("recipe_id", json!("nowhere")).is(404);
}

/// The names of the extensions of a new session, after their activation.
fn extensions(server: &RunningServer, body: Value) -> Vec<String> {
    let results = server.start(body).resume();
    let names = results.iter().map(|result| {
        assert_eq!(result["success"], true, "{result}");
        result["name"].as_str().unwrap().to_owned()
    });
    names.collect()
}

#[cfg(feature = "recipes")]
#[test]
fn a_recipe_counts_before_overrides_and_these_before_the_configuration() {
    let one = |name: &str| Extension::scripted(name, &Script::new()).0;
    let server = Server::new().start();
    for (name, enabled) in [("on", true), ("off", false)] {
        let entry = json!({"name": name, "enabled": enabled, "config": one(name)});
        server.post("/config/extensions", entry).is(200);
    }
    let dir = server.work();
    let recipe = json!({
        "title": "T", "description": "D", "prompt": "go", "extensions": [one("recipe")],
    });
    let open = json!({"title": "T", "description": "D", "prompt": "go"});
    let over = json!([one("override")]);
    let from = |body: Value| extensions(&server, body);
    assert_eq!(from(json!({"working_dir": dir})), ["on"]);
    assert_eq!(
        from(json!({"working_dir": dir, "extension_overrides": null})),
        ["on"]
    );
    assert_eq!(
        from(json!({"working_dir": dir, "extension_overrides": over})),
        ["override"]
    );
    assert_eq!(
        from(json!({"working_dir": dir, "extension_overrides": []})),
        [""; 0]
    );
    let both = json!({"working_dir": dir, "extension_overrides": over, "recipe": recipe});
    assert_eq!(from(both), ["recipe"]);
    let left_open = json!({"working_dir": dir, "extension_overrides": over, "recipe": open});
    assert_eq!(from(left_open), ["override"]);
    assert_eq!(from(json!({"working_dir": dir, "recipe": open})), ["on"]);
}

#[test]
fn an_idle_server_has_no_children() {
    let server = Server::new().start();
    server.session([Extension::demo()]).stop();
    until("the guardian leaves too", || {
        server.descendants().is_empty().then_some(())
    });
}
