//! The files with recipes, through the API.
#![cfg(feature = "recipes")]

mod support;

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::thread;
use support::client::Answer;
use support::server::{RunningServer, Server};

fn recipe(title: &str) -> Value {
    json!({"version": "1.0.0", "title": title, "description": "D", "prompt": "go"})
}

fn folder(server: &RunningServer) -> PathBuf {
    let folder = server.root().join("config/recipes");
    fs::create_dir_all(&folder).unwrap();
    fs::canonicalize(folder).unwrap()
}

/// The names of the files, hidden ones left out.
fn files(server: &RunningServer) -> Vec<String> {
    let entries = fs::read_dir(folder(server)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

fn save(server: &RunningServer, recipe: Value) -> Answer {
    server.post("/recipes/save", json!({ "recipe": recipe }))
}

fn saved(server: &RunningServer, recipe: Value) -> String {
    let answer = save(server, recipe).is(200);
    answer.body["id"].as_str().unwrap().to_owned()
}

fn manifests(server: &RunningServer) -> Vec<Value> {
    let answer = server.get("/recipes/list").is(200);
    answer.body["manifests"].as_array().unwrap().clone()
}

fn manifest(server: &RunningServer, id: &str) -> Option<Value> {
    manifests(server).into_iter().find(|it| it["id"] == id)
}

#[test]
fn a_saved_recipe_is_listed_changed_and_deleted() {
    let server = Server::new().start();
    server
        .get("/recipes/list")
        .is(200)
        .gives(json!({"manifests": []}));
    let id = saved(&server, recipe("T"));
    let mut listed = manifest(&server, &id).unwrap();
    let modified = listed["last_modified"].take();
    let modified = modified.as_str().unwrap();
    assert!(
        modified.ends_with("+00:00") && modified.len() == 35,
        "{modified}"
    );
    let path = folder(&server).join("t.yaml");
    let expected = json!({"id": id, "recipe": recipe("T"), "file_path": path, "last_modified": null,
        "schedule_cron": null, "slash_command": null});
    assert_eq!(listed, expected);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        "version: 1.0.0\ntitle: T\ndescription: D\nprompt: go\n"
    );

    let body = json!({"id": id, "recipe": recipe("Another title")});
    server
        .post("/recipes/save", body)
        .is(200)
        .gives(json!({"id": id}));
    assert_eq!(files(&server), ["t.yaml"]);
    let changed = manifest(&server, &id).unwrap();
    assert_eq!(changed["recipe"]["title"], "Another title");

    let delete = || server.post("/recipes/delete", json!({"id": id}));
    delete().is(204).says_nothing();
    delete().is(404).says("Recipe not found");
    let body = json!({"id": id, "recipe": recipe("T")});
    server
        .post("/recipes/save", body)
        .is(404)
        .says("Recipe not found");
    assert!(files(&server).is_empty());
}

#[test]
fn titles_are_names_of_files_in_the_folder() {
    let server = Server::new().start();
    for title in [
        "Good Morning",
        "good-morning",
        "../../escape",
        "/etc/passwd",
        "...",
        "\u{1}\0\n",
        "Größe & 世界",
        &"x".repeat(500),
    ] {
        saved(&server, recipe(title));
    }
    let mut expected = vec![
        "escape.yaml".to_owned(),
        "etcpasswd.yaml".to_owned(),
        "good-morning-2.yaml".to_owned(),
        "good-morning.yaml".to_owned(),
        "größe-世界.yaml".to_owned(),
        "untitled-recipe-2.yaml".to_owned(),
        "untitled-recipe.yaml".to_owned(),
        format!("{}.yaml", "x".repeat(80)),
    ];
    expected.sort();
    assert_eq!(files(&server), expected);
    assert_eq!(manifests(&server).len(), 8);
}

#[test]
fn json_files_stay_json_and_links_are_replaced() {
    let server = Server::new().start();
    let folder = folder(&server);
    fs::write(folder.join("a.json"), recipe("A").to_string()).unwrap();
    let outside = server.work().join("outside.yaml");
    let text = "title: O\ndescription: D\nprompt: go\n";
    fs::write(&outside, text).unwrap();
    support::system::symlink(&outside, folder.join("link.yaml")).unwrap();
    for entry in manifests(&server) {
        let body = json!({"id": entry["id"], "recipe": recipe("Changed")});
        server.post("/recipes/save", body).is(200);
    }
    let json = fs::read_to_string(folder.join("a.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&json).unwrap(),
        recipe("Changed")
    );
    assert_eq!(
        fs::read_to_string(&outside).unwrap(),
        text,
        "a file outside is not written"
    );
    let written = fs::read_to_string(folder.join("link.yaml")).unwrap();
    assert!(written.contains("Changed"));
}

#[test]
fn recipes_that_make_no_sense_are_refused_and_nothing_is_written() {
    let server = Server::new().start();
    for (recipe, status, said) in [
        (json!({"title": "T"}), 422, "description"),
        (
            json!({"title": "T", "description": "D"}),
            400,
            "instructions",
        ),
        (
            json!({"title": "T", "description": "D", "prompt": "{{ a }}"}),
            400,
            "`a`",
        ),
        (json!("text"), 422, "recipe"),
    ] {
        save(&server, recipe).is(status).says(said);
    }
    let large = json!({"title": "T", "description": "D", "prompt": "x".repeat(300 << 10)});
    save(&server, large).is(400).says("too large");
    for id in ["zzz", "../../x", ""] {
        server.post("/recipes/delete", json!({"id": id})).is(404);
    }
    server.post("/recipes/delete", json!({})).is(422).says("id");
    assert!(files(&server).is_empty());
}

#[test]
fn clients_that_save_at_once_leave_whole_files() {
    let server = Server::new().start();
    let id = saved(&server, recipe("Shared"));
    let long = |n: usize| {
        let mut recipe = recipe(&format!("Shared {n}"));
        recipe["instructions"] = json!(format!("{n} ").repeat(5_000));
        recipe
    };
    thread::scope(|scope| {
        for n in 0..8 {
            let (server, id, long) = (&server, &id, &long);
            scope.spawn(move || {
                for _ in 0..5 {
                    let body = json!({"id": id, "recipe": long(n)});
                    server.post("/recipes/save", body).is(200);
                    let listed =
                        manifest(server, id).expect("the file is always whole")["recipe"].take();
                    assert!((0..8).any(|n| listed == long(n)));
                }
            });
        }
        for _ in 0..8 {
            scope.spawn(|| saved(&server, recipe("Same title")));
        }
    });
    assert_eq!(manifests(&server).len(), 9);
    let ids: BTreeSet<_> = manifests(&server)
        .iter()
        .map(|it| it["id"].to_string())
        .collect();
    assert_eq!(ids.len(), 9);
    assert!(
        files(&server).iter().all(|name| name.ends_with(".yaml")),
        "{:?}",
        files(&server)
    );
}

#[test]
fn text_is_parsed_as_yaml_or_json_and_written_as_yaml() {
    let server = Server::new().start();
    let parse = |content: &str| server.post("/recipes/parse", json!({ "content": content }));
    let yaml = "version: 1.0.0\ntitle: T\ndescription: D\nprompt: go\n";
    parse(yaml).is(200).gives(json!({"recipe": recipe("T")}));
    parse(&recipe("T").to_string())
        .is(200)
        .gives(json!({"recipe": recipe("T")}));
    parse(&format!("recipe:\n  {}", yaml.replace('\n', "\n  "))).is(200);
    server
        .post("/recipes/to-yaml", json!({"recipe": recipe("T")}))
        .is(200)
        .gives(json!({ "yaml": yaml }));
    let year = yaml.replace("title: T", "title: 2026");
    parse(&year)
        .is(200)
        .gives(json!({"recipe": recipe("2026")}));
    // Its text is lost.
    parse(&yaml.replace("title: T", "title: 4.10")).is(400);
    parse("title: T\ndescription: [")
        .is(400)
        .says("line 3: did not find");
    parse("title: T\n").is(400).says("description");
    parse(r#"{"title": "T", "#).is(400).says("line 1");
    parse("title: T\ndescription: D\n")
        .is(400)
        .says("instructions");
    parse("just text").is(400);
    parse("").is(400);
    parse(&format!(
        "title: T\ndescription: D\nprompt: {}",
        "x".repeat(65 << 10)
    ))
    .is(400)
    .says("64 KiB");
    parse(&format!("title: {}", "[".repeat(60_000))).is(400);
    let aliases: String = (1..40)
        .map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}]\n", n - 1))
        .collect();
    parse(&format!("a0: &a0 [x]\n{aliases}")).is(400);
}

#[test]
fn a_recipe_in_a_file_includes_files_below_its_folder_and_no_other_recipe_does() {
    let server = Server::new().start();
    let start = |field: &str, value: Value| {
        let body = json!({"working_dir": server.work(), "extension_overrides": [], field: value});
        server.post("/agent/start", body)
    };
    fs::write(
        folder(&server).join("notes.md"),
        "Mind the {{ recipe_dir }}\n",
    )
    .unwrap();
    fs::write(server.root().join("config/secret"), "planted").unwrap();
    let mut with_notes = recipe("Notes");
    with_notes["instructions"] = "<{% include 'notes.md' %}>".into();
    let id = saved(&server, with_notes.clone());
    let listed = manifest(&server, &id).unwrap();
    assert_eq!(listed["recipe"], with_notes);
    let session = start("recipe_id", json!(id)).is(200).body;
    let instructions = session["recipe"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("Mind the"), "{session}");
    start("recipe", with_notes.clone())
        .is(400)
        .says("not in a file");

    with_notes["instructions"] = "{% include '../secret' %}".into();
    save(&server, with_notes.clone()).is(400).says("below");
    let path = folder(&server).join("notes.yaml");
    let text = "title: N\ndescription: D\nprompt: \"{% include '../secret' %}\"\n";
    fs::write(path, text).unwrap();
    let answer = start("recipe_id", json!(id)).is(400).says("below");
    answer.never_says("planted");
}

#[test]
fn hidden_text_is_found() {
    let server = Server::new().start();
    let scan = |recipe: Value| {
        server
            .post("/recipes/scan", json!({ "recipe": recipe }))
            .is(200)
    };
    scan(recipe("T")).gives(json!({"has_security_warnings": false}));
    scan(recipe("👩‍👩‍👧 ❤️")).gives(json!({"has_security_warnings": false}));
    let hidden = recipe("T\u{e0041}");
    scan(hidden.clone()).gives(json!({"has_security_warnings": true}));
    let save = json!({"recipe": hidden});
    server.post("/recipes/save", save).is(400).says("hide text");
}

#[test]
fn a_recipe_has_one_command() {
    let server = Server::new().start();
    let [one, two] = ["One", "Two"].map(|title| saved(&server, recipe(title)));
    let assign = |id: &str, command: Value| {
        server.post(
            "/recipes/slash-command",
            json!({"id": id, "slash_command": command}),
        )
    };
    let commands = || {
        let answer = server.get("/config/slash_commands").is(200);
        let all = answer.body["commands"].as_array().unwrap().clone();
        let own = all.into_iter().filter(|it| it["command_type"] == "Recipe");
        own.map(|it| it["command"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assign(&one, json!("/First")).is(200);
    assert_eq!(manifest(&server, &one).unwrap()["slash_command"], "first");
    assign(&one, json!("other")).is(200);
    assert_eq!(commands(), ["other"]);
    assign(&two, json!("Other"))
        .is(400)
        .says("/other is taken by");
    assign(&two, json!("compact"))
        .is(400)
        .says("taken by gosling");
    assign(&two, json!("two words"))
        .is(400)
        .says("cannot be a command");
    assign(&two, json!("x".repeat(65))).is(400);
    assign("zzz", json!("some"))
        .is(404)
        .says("Recipe not found");
    assert_eq!(commands(), ["other"]);
    assign(&two, json!("second")).is(200);
    assign(&one, Value::Null).is(200);
    assert_eq!(commands(), ["second"]);
    server.post("/recipes/delete", json!({"id": two})).is(204);
    assert!(commands().is_empty(), "the command goes with its recipe");
    let config = fs::read_to_string(server.root().join("config/config.yaml")).unwrap();
    assert!(!config.contains("slash_commands"), "{config}");
}

#[test]
fn commands_that_are_assigned_at_once_are_all_kept() {
    let server = Server::new().start();
    let ids: Vec<_> = (0..8)
        .map(|n| saved(&server, recipe(&format!("R {n}"))))
        .collect();
    thread::scope(|scope| {
        for (n, id) in ids.iter().enumerate() {
            let body = json!({"id": id, "slash_command": format!("command-{n}")});
            scope.spawn(|| server.post("/recipes/slash-command", body).is(200));
        }
    });
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(
            manifest(&server, id).unwrap()["slash_command"],
            format!("command-{n}")
        );
    }
}

#[test]
fn a_session_becomes_a_recipe() {
    let answer = json!({"title": "Tea", "description": "Makes tea", "instructions": "Boil {{ water }}",
        "activities": ["Green", "Black"]});
    let script = json!({"turns": [{"steps": [{"text": "Done."}]}], "repeat": true,
        "summary": format!("```json\n{answer}\n```"), "name": "Tea"});
    let server = Server::scripted(script).start();
    let session = server.session([]);
    let create = |more: Value| {
        let mut body = json!({"session_id": session.id});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        server.post("/recipes/create", body).is(200).body
    };
    let empty = create(json!({}));
    assert!(
        empty["error"].as_str().unwrap().contains("no messages"),
        "{empty}"
    );
    assert_eq!(empty["recipe"], Value::Null);
    session.say("Make tea").finishes();
    let made = create(json!({"author": {"contact": "me@example.org"}}));
    let expected = json!({"version": "1.0.0", "title": "Tea", "description": "Makes tea",
        "instructions": "Boil { { water }}", "activities": ["Green", "Black"], "extensions": [],
        "settings": {"goose_provider": "scripted", "goose_model": "script"},
        "author": {"contact": "me@example.org", "metadata": null}});
    assert_eq!(made["recipe"], expected);
    saved(&server, made["recipe"].clone());

    for said in ["no recipe", "{\"title\": 1}", ""] {
        server.plays(json!({"turns": [], "summary": said}));
        let failed = create(json!({}));
        assert!(
            failed["error"]
                .as_str()
                .unwrap()
                .starts_with("Recipe creation failed: "),
            "{failed}"
        );
    }
    let unknown = json!({"session_id": "20010101_1"});
    server
        .post("/recipes/create", unknown)
        .is(404)
        .says("Session not found");
}

#[cfg(feature = "schedules")]
#[test]
fn a_scheduled_recipe_is_listed_with_its_cron_line() {
    let server = Server::new().start();
    let [one, two] = ["One", "Two"].map(|title| saved(&server, recipe(title)));
    let schedule = |cron: Value| {
        let body = json!({"id": one, "cron_schedule": cron});
        server.post("/recipes/schedule", body).is(200);
        manifest(&server, &one).unwrap()["schedule_cron"].take()
    };
    assert_eq!(schedule(json!("0 0 3 * * *")), "0 0 3 * * *");
    assert_eq!(
        manifest(&server, &two).unwrap()["schedule_cron"],
        Value::Null
    );
    assert_eq!(schedule(Value::Null), Value::Null);
}
