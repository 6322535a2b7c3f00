//! Recipes that run without a client, with a scripted model.
#![cfg(feature = "recipes")]

mod support;

use gosling::agent::{
    Event, EventSink, RecipeOutcome, RecipeRun, Registry, RunError, RunOptions, Stores,
};
use gosling::conversation::SessionType;
use gosling::recipe::Recipe;
use gosling::store::Paths;
use gosling::sys::cancel::Cancel;
use serde_json::{Value, json};
use std::fs;
use std::thread;
use support::{TempDir, temp_dir};

/// The files of a user whose model answers from a script, and a registry on them.
struct Home {
    root: TempDir,
    registry: Registry,
}

impl Home {
    fn new(script: Value) -> Home {
        Home::with_settings(script, json!({}))
    }

    fn with_settings(script: Value, mut settings: Value) -> Home {
        let root = temp_dir();
        let script_file = root.path().join("script.json");
        fs::write(&script_file, script.to_string()).unwrap();
        settings["GOOSE_PROVIDER"] = "scripted".into();
        settings["GOOSE_MODEL"] = "script".into();
        settings["GOOSE_SCRIPT"] = script_file.to_str().unwrap().into();
        for folder in ["config", "work"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        let config = root.path().join("config/config.yaml");
        fs::write(config, settings.to_string()).unwrap();
        let registry = Registry::new(Stores::new(&Paths::under(root.path())), true);
        Home { root, registry }
    }

    fn run_of(&self, recipe: Value) -> RecipeRun {
        let mut run = RecipeRun::new(recipe_of(recipe), self.root.path().join("work"));
        run.session_type = SessionType::Scheduled;
        run.schedule_id = Some("nightly".to_owned());
        run
    }

    fn run(&self, run: RecipeRun) -> RecipeOutcome {
        let session = self.registry.start_recipe(run).unwrap();
        let options = RunOptions::default();
        let cancel = Cancel::new();
        self.registry
            .run_recipe(&session.id, options, &mut Events::default(), &cancel)
    }

    fn sessions(&self) -> usize {
        let listing = self.registry.stores().sessions.list().unwrap();
        listing.sessions.len()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.registry.close();
    }
}

/// The recipe with these fields, a title and a description.
fn recipe_of(mut fields: Value) -> Recipe {
    fields["title"] = "Report".into();
    fields["description"] = "D".into();
    serde_json::from_value(fields).unwrap()
}

/// The types of the events.
#[derive(Default)]
struct Events(Vec<String>);

impl EventSink for Events {
    fn event(&mut self, event: Event<'_>) {
        let event = serde_json::to_value(event).unwrap();
        self.0.push(event["type"].as_str().unwrap().to_owned());
    }

    fn flush(&mut self) {}
}

/// A model that responds to each message with these steps.
fn model(steps: Value) -> Value {
    json!({"repeat": true, "turns": [{"steps": steps, "usage": {"input": 3, "output": 2}}]})
}

#[test]
fn a_recipe_runs_in_a_session_of_its_own() {
    let home = Home::new(model(json!([{"text": "To {{last_user}}: done"}])));
    let mut run = home.run_of(json!({
        "instructions": "Be brief", "prompt": "Greet {{ who }}",
        "parameters": [
            {"key": "who", "input_type": "string", "requirement": "required", "description": ""},
        ],
    }));
    run.values.insert("who".to_owned(), "Ada".into());
    let outcome = home.run(run);
    assert_eq!(outcome.result.unwrap(), "To Greet Ada: done");
    assert_eq!(outcome.tokens.accumulated_total_tokens, 5);
    let session = home.registry.session(&outcome.session_id).unwrap();
    assert_eq!(session.session_type, SessionType::Scheduled);
    assert_eq!(session.schedule_id.as_deref(), Some("nightly"));
    assert_eq!(session.name, "Report");
    assert_eq!(session.recipe.unwrap()["prompt"], "Greet {{ who }}");
    assert_eq!(session.user_recipe_values.unwrap()["who"], "Ada");
    assert_eq!(session.message_count, 2);
    assert!(home.registry.agent(&outcome.session_id).is_err());
}

#[test]
fn a_recipe_without_a_prompt_begins_with_its_instructions() {
    let home = Home::new(model(json!([{"text": "{{last_user}}"}])));
    let outcome = home.run(home.run_of(json!({"instructions": "Count the files"})));
    assert_eq!(outcome.result.unwrap(), "Count the files");
}

#[test]
fn a_recipe_that_lacks_a_value_starts_no_session() {
    let home = Home::new(model(json!([{"text": "never"}])));
    let parameter = json!({
        "key": "who", "input_type": "string", "requirement": "required", "description": "",
    });
    let run = home.run_of(json!({"prompt": "{{ who }}", "parameters": [parameter]}));
    let error = home.registry.start_recipe(run).unwrap_err();
    assert!(error.to_string().contains("`who`"), "{error}");
    assert_eq!(home.sessions(), 0);
}

#[test]
fn a_model_that_fails_fails_the_run() {
    let failing = model(json!([{"error": {"class": "authentication", "message": "bad key"}}]));
    let home = Home::new(failing);
    let outcome = home.run(home.run_of(json!({"prompt": "go"})));
    match outcome.result {
        Err(RunError::Unfinished(reason)) => assert!(reason.contains("bad key"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
#[cfg(feature = "demo")]
fn what_would_ask_the_user_is_refused_at_once() {
    let calls = model(json!([
        {"call": {"name": "demo__add", "arguments": {"a": 1, "b": 2}}},
        {"text": "{{last_result}}"},
    ]));
    let recipe = json!({"prompt": "go", "extensions": [{"type": "builtin", "name": "demo"}]});
    let asking = Home::with_settings(calls.clone(), json!({"GOOSE_MODE": "approve"}));
    let outcome = asking.run(asking.run_of(recipe.clone()));
    assert_eq!(outcome.tool_calls, 1);
    let text = outcome.result.unwrap();
    assert!(text.contains("there is no user in this run"), "{text}");
    let permission = asking.root.path().join("config/permission.yaml");
    fs::write(permission, "user:\n  always_allow: [demo__add]\n").unwrap();
    let allowed = asking.run(asking.run_of(recipe.clone()));
    assert_eq!(allowed.result.unwrap(), "{\"sum\":3}");
    let auto = Home::new(calls);
    let outcome = auto.run(auto.run_of(recipe));
    assert_eq!(outcome.result.unwrap(), "{\"sum\":3}");
}

#[test]
fn a_cancelled_run_ends_and_says_so() {
    let home = Home::new(model(json!([{"wait_ms": 600_000}, {"text": "late"}])));
    let session = home
        .registry
        .start_recipe(home.run_of(json!({"prompt": "go"})))
        .unwrap();
    let cancel = Cancel::new();
    let mut events = Events::default();
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let written = || home.registry.session(&session.id).unwrap().message_count;
            support::until("the first message", || (written() == 1).then_some(()));
            cancel.cancel();
        });
        let options = RunOptions::default();
        home.registry
            .run_recipe(&session.id, options, &mut events, &cancel)
    });
    assert!(matches!(outcome.result, Err(RunError::Cancelled)));
    assert_eq!(events.0.last().map(String::as_str), Some("Error"));
}
