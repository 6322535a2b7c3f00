//! Recipes that run without a client, with a scripted model.
// Commands of a Unix shell are in some tests and their helpers.
#![cfg(feature = "recipes")]
#![cfg_attr(not(unix), allow(dead_code, unused_imports))]

mod support;

use gosling::agent::{Event, EventSink, Registry, Stores};
use gosling::conversation::SessionType;
use gosling::extension::sandbox::Level;
use gosling::recipe::Recipe;
use gosling::recipe_run::{self, RecipeOutcome, RecipeRun, RunError, RunOptions};
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
        let registry = Registry::new(
            Stores::new(&Paths::under(root.path())),
            gosling::parts::PARTS,
            true,
        );
        Home { root, registry }
    }

    fn run_of(&self, recipe: Value) -> RecipeRun {
        let mut run = RecipeRun::new(recipe_of(recipe), self.root.path().join("work"));
        run.session_type = SessionType::Scheduled;
        run.schedule_id = Some("nightly".to_owned());
        run
    }

    fn run(&self, run: RecipeRun) -> RecipeOutcome {
        let session = run.start(&self.registry).unwrap();
        let options = RunOptions::default();
        let cancel = Cancel::new();
        recipe_run::run(
            &self.registry,
            &session.id,
            options,
            &mut Events::default(),
            &cancel,
        )
    }

    fn sessions(&self) -> usize {
        self.registry.stores().sessions.list().unwrap().len()
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
    let session = home.registry.files().session(&outcome.session_id).unwrap();
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
    let error = run.start(&home.registry).unwrap_err();
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
fn a_tool_of_a_client_is_refused_at_once_where_there_is_no_client() {
    let calls =
        model(json!([{"call": {"name": "pick", "arguments": {}}}, {"text": "{{last_result}}"}]));
    let tool = json!({"name": "pick", "description": "", "inputSchema": {"type": "object"}});
    let front = json!({"type": "frontend", "name": "front", "description": "", "tools": [tool]});
    // A call that waits for a client would end, too, with another result.
    let home = Home::with_settings(calls, json!({"GOOSE_FRONTEND_TIMEOUT": 1}));
    let outcome = home.run(home.run_of(json!({"prompt": "go", "extensions": [front]})));
    let text = outcome.result.unwrap();
    assert!(
        text.contains("runs in the client, and there is none"),
        "{text}"
    );
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
    assert_eq!((outcome.tool_calls, outcome.refused_calls), (1, 1));
    let text = outcome.result.unwrap();
    assert!(text.contains("there is no user in this run"), "{text}");
    let permission = asking.root.path().join("config/permission.yaml");
    fs::write(permission, "user:\n  always_allow: [demo__add]\n").unwrap();
    let allowed = asking.run(asking.run_of(recipe.clone()));
    assert_eq!(allowed.result.unwrap(), "{\"sum\":3}");
    assert_eq!(allowed.refused_calls, 0);
    let auto = Home::new(calls);
    let outcome = auto.run(auto.run_of(recipe));
    assert_eq!(outcome.result.unwrap(), "{\"sum\":3}");
}

#[test]
fn a_cancelled_run_ends_and_says_so() {
    let home = Home::new(model(json!([{"wait_ms": 600_000}, {"text": "late"}])));
    let session = home
        .run_of(json!({"prompt": "go"}))
        .start(&home.registry)
        .unwrap();
    let cancel = Cancel::new();
    let mut events = Events::default();
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let written = || {
                home.registry
                    .files()
                    .session(&session.id)
                    .unwrap()
                    .message_count
            };
            support::until("the first message", || (written() == 1).then_some(()));
            cancel.cancel();
        });
        let options = RunOptions::default();
        recipe_run::run(&home.registry, &session.id, options, &mut events, &cancel)
    });
    assert!(matches!(outcome.result, Err(RunError::Cancelled)));
    assert_eq!(events.0.last().map(String::as_str), Some("Error"));
}

/// The texts that the model and the user exchanged, hidden ones too.
fn transcript(home: &Home, id: &str) -> String {
    let messages = home.registry.stores().sessions.conversation(id).unwrap();
    serde_json::to_string(&messages).unwrap()
}

fn outcome_of(script: Value, recipe: Value) -> (Home, RecipeOutcome) {
    let home = Home::new(script);
    let outcome = home.run(home.run_of(recipe));
    (home, outcome)
}

fn final_output(arguments: Value) -> Value {
    json!({"call": {"name": "recipe__final_output", "arguments": arguments}})
}

fn with_schema() -> Value {
    json!({"prompt": "go", "response": {"json_schema": {
        "type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}},
    }}})
}

#[test]
fn the_final_output_is_what_fits_the_schema() {
    let steps = json!([
        final_output(json!({"n": "three"})),
        {"expect": "`/n` is a string, not integer"},
        final_output(json!({"n": 3, "why": ["x"]})),
        {"text": "never asked for"},
    ]);
    let (home, outcome) = outcome_of(model(steps), with_schema());
    assert_eq!(outcome.result.unwrap(), r#"{"n":3,"why":["x"]}"#);
    assert_eq!(outcome.tool_calls, 2);
    assert!(!transcript(&home, &outcome.session_id).contains("never asked for"));
}

#[test]
fn a_model_that_forgets_the_final_output_is_reminded() {
    let script = json!({"turns": [
        {"steps": [{"text": "done"}]},
        {"steps": [{"text": "{{last_user}}"}]},
        {"steps": [final_output(json!({"n": 1}))]},
    ]});
    let (home, outcome) = outcome_of(script, with_schema());
    assert_eq!(outcome.result.unwrap(), r#"{"n":1}"#);
    let said = transcript(&home, &outcome.session_id);
    assert!(
        said.contains("You have not given the final output yet"),
        "{said}"
    );
}

#[test]
fn a_run_without_final_output_fails_after_some_reminders() {
    let (_home, outcome) = outcome_of(model(json!([{"text": "done"}])), with_schema());
    match outcome.result {
        Err(RunError::Unfinished(reason)) => {
            assert!(reason.contains("reminded 3 times"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_final_output_needs_no_approval_and_no_tools() {
    for mode in ["approve", "chat"] {
        let script = model(json!([final_output(json!({"n": 1}))]));
        let home = Home::with_settings(script, json!({"GOOSE_MODE": mode}));
        let outcome = home.run(home.run_of(with_schema()));
        assert_eq!(outcome.result.unwrap(), r#"{"n":1}"#, "{mode}");
    }
}

#[test]
fn settings_of_the_recipe_apply_to_the_run() {
    let calls = json!([
        {"call": {"name": "nothing", "arguments": {}}},
        {"call": {"name": "nothing", "arguments": {}}},
        {"text": "{{model}}"},
    ]);
    let recipe = json!({"prompt": "go", "settings": {"goose_model": "other", "max_turns": 2}});
    let (home, outcome) = outcome_of(model(calls.clone()), recipe);
    let reason = outcome.result.unwrap_err().to_string();
    assert!(
        reason.contains("2 times") && reason.contains("the recipe"),
        "{reason}"
    );
    let session = home.registry.files().session(&outcome.session_id).unwrap();
    assert_eq!(session.model_config.unwrap()["model_name"], "other");
    let mut recipe = json!({
        "prompt": "go {{ m }}",
        "settings": {
            "goose_provider": "scripted", "goose_model": "model-{{ m }}", "temperature": 0.25,
            "max_turns": 3,
        },
        "parameters": [
            {"key": "m", "input_type": "string", "requirement": "optional", "description": "",
             "default": "small"},
        ],
    });
    let (home, outcome) = outcome_of(model(calls.clone()), recipe.clone());
    assert_eq!(outcome.result.unwrap(), "model-small");
    let session = home.registry.files().session(&outcome.session_id).unwrap();
    assert_eq!(session.model_config.unwrap()["temperature"], 0.25);
    recipe["settings"]["goose_provider"] = "nosuch".into();
    let (_home, outcome) = outcome_of(model(calls), recipe);
    let reason = outcome.result.unwrap_err().to_string();
    assert!(reason.contains("nosuch"), "{reason}");
}

#[cfg(feature = "developer")]
mod checks {
    use super::*;
    use gosling::agent::RecipeSource;
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    fn with_checks(retry: Value) -> Value {
        json!({"prompt": "go", "retry": retry})
    }

    fn check(command: &str) -> Value {
        json!([{"type": "shell", "command": command}])
    }

    fn work(home: &Home, file: &str) -> PathBuf {
        home.root.path().join("work").join(file)
    }

    #[test]
    #[cfg(unix)] // Commands of a Unix shell.
    fn a_recipe_is_tried_again_until_its_checks_pass() {
        let retry = json!({
            "max_retries": 3, "checks": check("test $(cat tries | wc -l) -ge 2"),
            "on_failure": "echo try >> tries; echo $AGENT_SESSION_ID > session",
        });
        let home = Home::new(model(json!([{"text": "an attempt"}])));
        fs::write(work(&home, "tries"), "").unwrap();
        let outcome = home.run(home.run_of(with_checks(retry)));
        assert_eq!(outcome.result.unwrap(), "an attempt");
        assert_eq!(
            fs::read_to_string(work(&home, "tries")).unwrap(),
            "try\ntry\n"
        );
        let session = fs::read_to_string(work(&home, "session")).unwrap();
        assert_eq!(session.trim(), outcome.session_id);
        // Each attempt begins with the first message alone.
        let said = transcript(&home, &outcome.session_id);
        assert_eq!(said.matches("an attempt").count(), 1, "{said}");
        assert_eq!(said.matches("\"role\":\"user\"").count(), 1, "{said}");
        assert_eq!(outcome.tokens.accumulated_total_tokens, 15);
    }

    #[test]
    #[cfg(unix)] // Commands of a Unix shell.
    fn a_run_whose_checks_never_pass_says_why() {
        let retry = json!({"max_retries": 2, "checks": check("echo x >> tries; echo 'no \u{1b}[1mgood'; exit 7")});
        let home = Home::new(model(json!([{"text": "done"}])));
        let outcome = home.run(home.run_of(with_checks(retry)));
        let reason = outcome.result.unwrap_err().to_string();
        for part in ["after 2 retries", "exit code 7", "no ", "good"] {
            assert!(reason.contains(part), "{reason}");
        }
        assert!(!reason.contains('\u{1b}'), "{reason:?}");
        assert_eq!(
            fs::read_to_string(work(&home, "tries")).unwrap(),
            "x\nx\nx\n"
        );
        let said = transcript(&home, &outcome.session_id);
        assert!(
            said.contains("A success check failed, after 2 retries"),
            "{said}"
        );
    }

    #[cfg(all(feature = "sandbox", target_os = "linux"))]
    #[test]
    fn a_check_runs_behind_the_walls_that_are_wanted() {
        let settings = json!({"GOOSE_EXTENSION_SANDBOX": "workspace"});
        let home = Home::with_settings(model(json!([{"text": "done"}])), settings);
        let outside = home.root.path().join("outside");
        let command = format!("touch inside; touch {}", outside.display());
        let retry = json!({"max_retries": 1, "checks": check(&command)});
        let outcome = home.run(home.run_of(with_checks(retry)));
        let reason = outcome.result.unwrap_err().to_string();
        let refusals = [
            "Permission denied",
            "Read-only file system",
            "a sandbox `workspace` needs",
        ];
        assert!(refusals.iter().any(|it| reason.contains(it)), "{reason}");
        assert!(!outside.exists());
        assert_eq!(work(&home, "inside").exists(), !reason.contains("needs"));
    }

    #[test]
    fn a_clean_up_that_fails_ends_the_run() {
        let retry = json!({"max_retries": 2, "checks": check("false"), "on_failure": "exit 9"});
        let (_home, outcome) = outcome_of(model(json!([{"text": "done"}])), with_checks(retry));
        let reason = outcome.result.unwrap_err().to_string();
        assert!(
            reason.contains("`on_failure` failed too") && reason.contains("exit code 9"),
            "{reason}"
        );
    }

    #[test]
    #[cfg(unix)] // Commands of a Unix shell.
    fn a_check_has_a_time_limit_and_leaves_nothing_behind() {
        let retry = json!({
            "max_retries": 1, "timeout_seconds": 1,
            "checks": check("setsid sleep 600 & echo $! >> pids; sleep 600"),
        });
        let begin = Instant::now();
        let home = Home::new(model(json!([{"text": "done"}, {"text": "done"}])));
        let outcome = home.run(home.run_of(with_checks(retry)));
        let reason = outcome.result.unwrap_err().to_string();
        assert!(reason.contains("ended after 1 s"), "{reason}");
        assert!(begin.elapsed() < Duration::from_secs(60));
        let pids = fs::read_to_string(work(&home, "pids")).unwrap();
        assert_eq!(pids.lines().count(), 2, "{pids}");
        support::until("the end of the processes", || {
            let is_alive = |pid: &str| PathBuf::from(format!("/proc/{pid}")).exists();
            (!pids.lines().any(is_alive)).then_some(())
        });
    }

    #[test]
    fn a_cancelled_run_ends_its_check() {
        let retry = json!({"max_retries": 5, "checks": check("echo > begun; sleep 600")});
        let home = Home::new(model(json!([{"text": "done"}])));
        let session = home
            .run_of(with_checks(retry))
            .start(&home.registry)
            .unwrap();
        let cancel = Cancel::new();
        let outcome = thread::scope(|scope| {
            scope.spawn(|| {
                support::until("the check", || work(&home, "begun").exists().then_some(()));
                cancel.cancel();
            });
            let options = RunOptions::default();
            recipe_run::run(
                &home.registry,
                &session.id,
                options,
                &mut Events::default(),
                &cancel,
            )
        });
        assert!(
            matches!(outcome.result, Err(RunError::Cancelled)),
            "{outcome:?}"
        );
    }

    #[test]
    fn the_checks_of_an_untrusted_recipe_are_not_run() {
        for source in [RecipeSource::Link, RecipeSource::Project] {
            let retry = json!({"max_retries": 1, "checks": check("touch hit; false"), "on_failure": "touch hit"});
            let home = Home::new(model(json!([{"text": "done"}])));
            let mut run = home.run_of(with_checks(retry));
            run.source = source;
            let outcome = home.run(run);
            assert_eq!(outcome.result.unwrap(), "done");
            assert!(!work(&home, "hit").exists());
            let said = transcript(&home, &outcome.session_id);
            assert!(said.contains("They are not run"), "{said}");
        }
    }
}

mod sub_recipes {
    use super::*;
    use gosling::agent::RecipeSource;
    use std::path::Path;
    use std::time::{Duration, Instant};

    fn subagent(arguments: Value) -> Value {
        json!({"name": "subagent", "arguments": arguments})
    }

    /// A model that answers messages with `marker` by these steps.
    fn when(marker: &str, steps: Value) -> Value {
        json!({"when": {"user": marker}, "steps": steps})
    }

    /// Writes a recipe file with these fields into the folder of recipes.
    fn save(home: &Home, name: &str, mut fields: Value) {
        fields["title"] = name.into();
        fields["description"] = format!("does {name}").into();
        let folder = home.root.path().join("recipes");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), fields.to_string()).unwrap();
    }

    /// The recipe in a file of that folder, as a run.
    fn saved(home: &Home, name: &str) -> RecipeRun {
        let path = home.root.path().join("recipes").join(name);
        RecipeRun::from_file(&path, home.root.path().join("work")).unwrap()
    }

    fn parameter(key: &str) -> Value {
        json!({"key": key, "input_type": "string", "requirement": "required", "description": "about it"})
    }

    #[test]
    fn a_sub_recipe_runs_in_a_session_of_its_own_and_gives_its_final_answer() {
        let call = subagent(json!({
            "subrecipe": "scan", "parameters": {"what": "the attic", "depth": "9"},
            "instructions": "Mind the dust",
        }));
        let home = Home::new(json!({"turns": [
            when("main task", json!([{"call": call}, {"text": "It says {{last_result}}"}])),
            when("Scan", json!([{"text": "heard: {{last_user}}"}])),
        ]}));
        save(
            &home,
            "scan.yaml",
            json!({
                "prompt": "Scan {{ what }} to {{ depth }}",
                "parameters": [parameter("what"), parameter("depth")],
            }),
        );
        save(
            &home,
            "main.yaml",
            json!({"prompt": "main task", "sub_recipes": [
                {"name": "scan", "path": "scan.yaml", "values": {"depth": "3"}},
            ]}),
        );
        let outcome = home.run(RecipeRun {
            sandbox: Level::Workspace,
            ..saved(&home, "main.yaml")
        });
        assert_eq!(
            outcome.result.unwrap(),
            "It says heard: Scan the attic to 3\n\nMind the dust"
        );
        let store = &home.registry.stores().sessions;
        let mut sessions = store.read(store.list().unwrap());
        let sub = sessions.find(|it| it.id != outcome.session_id).unwrap();
        assert_eq!(sub.session_type, SessionType::SubAgent);
        assert!(!sub.is_listed());
        // What runs for a session has no lower walls than itself.
        assert_eq!(sub.extension_data.sandbox(), Level::Workspace);
        assert_eq!(sub.working_dir, home.root.path().join("work"));
        assert!(home.registry.agent(&sub.id).is_err());
    }

    #[test]
    fn a_sub_recipe_is_asked_about_where_changes_are() {
        let call = subagent(json!({"subrecipe": "scan"}));
        let calls = model(json!([{"call": call}, {"text": "{{last_result}}"}]));
        let home = Home::with_settings(calls, json!({"GOOSE_MODE": "smart_approve"}));
        save(&home, "scan.yaml", json!({"prompt": "Scan"}));
        save(
            &home,
            "main.yaml",
            json!({"prompt": "go", "sub_recipes": [{"name": "scan", "path": "scan.yaml"}]}),
        );
        let outcome = home.run(saved(&home, "main.yaml"));
        assert_eq!((outcome.tool_calls, outcome.refused_calls), (1, 1));
    }

    #[test]
    fn a_sub_recipe_that_cannot_run_is_an_error_that_the_model_sees() {
        for (arguments, reason) in [
            (
                json!({"subrecipe": "nosuch"}),
                "There is no task \"nosuch\"",
            ),
            (
                json!({"subrecipe": "scan"}),
                "needs values for its parameters `what`",
            ),
            (json!({"subrecipe": "gone"}), "gone.yaml cannot be read"),
            (json!({"subrecipe": "bad", "parameters": {}}), "bad key"),
            (json!({"task": "x"}), "`subrecipe`"),
        ] {
            let home = Home::new(json!({"turns": [
                when("main task", json!([{"call": subagent(arguments)}, {"text": "{{last_result}}"}])),
                when("fails", json!([{"error": {"class": "authentication", "message": "bad key"}}])),
            ]}));
            save(
                &home,
                "scan.yaml",
                json!({"prompt": "{{ what }}", "parameters": [parameter("what")]}),
            );
            save(&home, "bad.yaml", json!({"prompt": "fails"}));
            save(
                &home,
                "main.yaml",
                json!({"prompt": "main task", "sub_recipes": [
                    {"name": "scan", "path": "scan.yaml"}, {"name": "gone", "path": "gone.yaml"},
                    {"name": "bad", "path": "bad.yaml"},
                ]}),
            );
            let text = home.run(saved(&home, "main.yaml")).result.unwrap();
            assert!(text.contains(reason), "{text}");
        }
    }

    #[test]
    fn an_untrusted_recipe_reaches_no_files_outside_of_its_folder() {
        for (source, path, runs) in [
            (RecipeSource::Project, "in.yaml", true),
            (RecipeSource::Project, "../out.yaml", false),
            (RecipeSource::User, "../out.yaml", true),
        ] {
            let call = subagent(json!({"subrecipe": "sub"}));
            let home = Home::new(json!({"turns": [
                when("main task", json!([{"call": call}, {"text": "{{last_result}}"}])),
                when("inner", json!([{"text": "ran"}])),
            ]}));
            save(&home, "in.yaml", json!({"prompt": "inner"}));
            save(&home, "../out.yaml", json!({"prompt": "inner"}));
            save(
                &home,
                "main.yaml",
                json!({
                    "prompt": "main task", "sub_recipes": [{"name": "sub", "path": path}],
                }),
            );
            let mut run = saved(&home, "main.yaml");
            run.source = source;
            let text = home.run(run).result.unwrap();
            assert_eq!(text == "ran", runs, "{source:?} {path}: {text}");
        }
    }

    #[test]
    fn runs_within_runs_end_at_some_depth() {
        let call = subagent(json!({"subrecipe": "again"}));
        let home = Home::new(json!({"turns": [
            when("main task", json!([{"call": call}, {"text": "in [{{last_result}}]"}])),
        ]}));
        save(
            &home,
            "main.yaml",
            json!({
                "prompt": "main task", "sub_recipes": [{"name": "again", "path": "main.yaml"}],
            }),
        );
        let text = home.run(saved(&home, "main.yaml")).result.unwrap();
        assert!(text.starts_with("in [in [in [in ["), "{text}");
        assert!(text.contains("Tool 'subagent' not found"), "{text}");
        assert_eq!(home.sessions(), 4);
    }

    #[cfg(feature = "developer")]
    #[test]
    fn a_sub_recipe_runs_as_strictly_as_the_recipe_that_calls_it() {
        for (mode, ran) in [("approve", false), ("auto", true)] {
            let call = subagent(json!({"subrecipe": "sub"}));
            let home = Home::new(json!({"turns": [
                when("main task", json!([{"call": call}, {"text": "done"}])),
                when("inner", json!([
                    {"call": {"name": "developer__shell", "arguments": {"command": "echo > hit"}}},
                    {"text": "{{last_result}}"},
                ])),
            ]}));
            let allowed = "user: {always_allow: [subagent], ask_before: [], never_allow: []}\n";
            fs::write(home.root.path().join("config/permission.yaml"), allowed).unwrap();
            let developer = json!([{"type": "builtin", "name": "developer"}]);
            save(&home, "sub.yaml", json!({"prompt": "inner"}));
            save(
                &home,
                "main.yaml",
                json!({
                    "prompt": "main task", "extensions": developer,
                    "settings": {"goose_mode": mode},
                    "sub_recipes": [{"name": "sub", "path": "sub.yaml"}],
                }),
            );
            assert_eq!(home.run(saved(&home, "main.yaml")).result.unwrap(), "done");
            assert_eq!(home.root.path().join("work/hit").exists(), ran, "{mode}");
            assert_eq!(home.sessions(), 2);
        }
    }

    #[test]
    #[cfg(unix)] // Commands of a Unix shell.
    fn repeated_runs_are_sequential_if_the_recipe_says_so() {
        let shell = |id: usize| json!({"id": format!("c{id}"), "name": "subagent", "arguments": {"subrecipe": "slow"}});
        for sequential in [true, false] {
            let home = Home::new(json!({"turns": [
                when("main task", json!([{"calls": [shell(1), shell(2), shell(3)]}, {"text": "done"}])),
                when("inner", json!([
                    {"call": {"name": "developer__shell", "arguments": {
                        "command": "echo + >> log; sleep 0.5; echo - >> log",
                    }}},
                    {"text": "ran"},
                ])),
            ]}));
            let developer = json!([{"type": "builtin", "name": "developer"}]);
            save(&home, "slow.yaml", json!({"prompt": "inner"}));
            save(
                &home,
                "main.yaml",
                json!({
                    "prompt": "main task", "extensions": developer, "sub_recipes": [
                        {"name": "slow", "path": "slow.yaml", "sequential_when_repeated": sequential},
                    ],
                }),
            );
            assert_eq!(home.run(saved(&home, "main.yaml")).result.unwrap(), "done");
            let log = fs::read_to_string(home.root.path().join("work/log")).unwrap();
            assert_eq!(log == "+\n-\n+\n-\n+\n-\n", sequential, "{log:?}");
        }
    }

    #[test]
    fn a_cancelled_run_ends_its_sub_recipes() {
        let call = subagent(json!({"subrecipe": "slow"}));
        let home = Home::new(json!({"turns": [
            when("main task", json!([{"calls": [call, call]}, {"text": "done"}])),
            when("inner", json!([{"wait_ms": 600_000}, {"text": "late"}])),
        ]}));
        save(&home, "slow.yaml", json!({"prompt": "inner"}));
        save(
            &home,
            "main.yaml",
            json!({"prompt": "main task", "sub_recipes": [
                {"name": "slow", "path": "slow.yaml", "sequential_when_repeated": true},
            ]}),
        );
        let session = saved(&home, "main.yaml").start(&home.registry).unwrap();
        let cancel = Cancel::new();
        let began = |id: &Path| {
            fs::read_to_string(id.join("messages.jsonl")).is_ok_and(|it| it.contains("inner"))
        };
        let begin = Instant::now();
        let outcome = thread::scope(|scope| {
            scope.spawn(|| {
                let folder = home.root.path().join("data/sessions");
                support::until("the sub-recipe", || {
                    let mut sessions = fs::read_dir(&folder).unwrap().flatten();
                    sessions.any(|it| began(&it.path())).then_some(())
                });
                cancel.cancel();
            });
            let options = RunOptions::default();
            recipe_run::run(
                &home.registry,
                &session.id,
                options,
                &mut Events::default(),
                &cancel,
            )
        });
        assert!(
            matches!(outcome.result, Err(RunError::Cancelled)),
            "{outcome:?}"
        );
        assert!(begin.elapsed() < Duration::from_secs(60));
    }
}

#[cfg(feature = "chat")]
mod command {
    use super::*;
    #[cfg(feature = "developer")]
    use std::io::Read;
    use std::process::{Command, Output, Stdio};
    #[cfg(feature = "developer")]
    use support::process::{running, signal, unique_sleep};
    use support::server::gosling;

    fn run(home: &Home, arguments: &[&str]) -> Command {
        let mut command = gosling();
        command
            .arg("run")
            .args(arguments)
            .current_dir(home.root.path().join("work"))
            .env("GOOSE_PATH_ROOT", home.root.path())
            .env("HOME", home.root.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Writes a recipe into the folder of the user, and returns its path.
    fn save(home: &Home, mut fields: Value) -> String {
        fields["title"] = "Report".into();
        fields["description"] = "D".into();
        let folder = home.root.path().join("config/recipes");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("report.yaml");
        fs::write(&path, fields.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    #[track_caller]
    fn ends(mut command: Command, code: i32) -> (String, String) {
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().unwrap();
        let [out, err] = [stdout, stderr].map(|it| String::from_utf8(it).unwrap());
        assert_eq!(status.code(), Some(code), "{out}\n{err}");
        (out, err)
    }

    fn greeting() -> Value {
        json!({
            "prompt": "Greet {{ who }}{{ mark }}",
            "parameters": [
                {"key": "who", "input_type": "string", "requirement": "required",
                 "description": "The name of the guest"},
                {"key": "mark", "input_type": "select", "requirement": "required",
                 "description": "How loud", "options": [".", "!"]},
            ],
        })
    }

    #[test]
    #[cfg(feature = "demo")]
    fn the_answer_goes_to_stdout_and_the_rest_to_stderr() {
        let home = Home::new(model(json!([
            {"text": "Let me see. "},
            {"call": {"name": "demo__add", "arguments": {"a": 1, "b": 2}}},
            {"text": "To {{last_user}}: {{last_result}}"},
        ])));
        let mut recipe = greeting();
        recipe["extensions"] = json!([{"type": "builtin", "name": "demo"}]);
        let path = save(&home, recipe);
        let values = ["--param", "who=Ada=x", "--param", "mark=!"];
        for name in [path.as_str(), "report", "report.yaml"] {
            let (out, err) = ends(run(&home, &[&[name], &values[..]].concat()), 0);
            assert_eq!(out, "Let me see. \nTo Greet Ada=x!: {\"sum\":3}\n");
            for part in ["→ demo__add", "← ok", "gosling chat --session"] {
                assert!(err.contains(part), "{err}");
            }
        }
        let with_text = [&["report", "-t", "Hello"], &values[..]].concat();
        let (out, _) = ends(run(&home, &with_text), 0);
        assert!(out.contains("To Hello:"), "{out}");
    }

    #[test]
    fn one_json_object_says_everything() {
        let home = Home::new(model(
            json!([{"text": "Well."}, final_output(json!({"n": 3}))]),
        ));
        let path = save(&home, with_schema());
        let (out, _) = ends(run(&home, &[&path, "--json"]), 0);
        let report: Value = serde_json::from_str(&out).unwrap();
        let id = report["session_id"].as_str().unwrap().to_owned();
        assert_eq!(
            report,
            json!({
                "session_id": id, "final_output": {"n": 3}, "error": null, "tool_calls": 1,
                "refused_calls": 0, "tokens": {"input": 3, "output": 2, "total": 5},
            })
        );
        assert!(home.registry.files().session(&id).is_ok());
        let forgetful = Home::new(model(json!([{"text": "done"}])));
        let path = save(&forgetful, with_schema());
        let (out, err) = ends(run(&forgetful, &[&path, "--json"]), 1);
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["final_output"], Value::Null);
        let error = report["error"].as_str().unwrap();
        assert!(error.contains("reminded 3 times"), "{report}");
        assert!(err.contains("reminded 3 times"), "{err}");
        assert_eq!(report["tokens"]["total"], 20);
    }

    #[test]
    fn values_that_are_missing_or_unknown_are_named() {
        let home = Home::new(model(json!([{"text": "never"}])));
        let path = save(&home, greeting());
        let (_, err) = ends(run(&home, &[&path]), 2);
        assert!(
            err.contains("--param who=…  The name of the guest (string)"),
            "{err}"
        );
        assert!(
            err.contains("--param mark=…  How loud (select: ., !)"),
            "{err}"
        );
        let (_, err) = ends(run(&home, &[&path, "--param", "whom=x"]), 2);
        assert!(
            err.contains("no parameter \"whom\"; it has who, mark"),
            "{err}"
        );
        let (_, err) = ends(run(&home, &[&path, "--param", "who"]), 2);
        assert!(err.contains("is not KEY=VALUE"), "{err}");
        let wrong = [&path, "--param", "who=x", "--param", "mark=?"];
        let (_, err) = ends(run(&home, &wrong), 1);
        assert!(err.contains("is not one of ., !"), "{err}");
        let (_, err) = ends(run(&home, &[]), 2);
        assert!(err.contains("no RECIPE given"), "{err}");
        assert_eq!(home.sessions(), 0);
    }

    #[test]
    fn a_failure_has_a_reason_and_an_exit_code() {
        let failing = model(json!([{"error": {"class": "authentication", "message": "bad key"}}]));
        let home = Home::new(failing);
        let path = save(&home, json!({"prompt": "go"}));
        let (out, err) = ends(run(&home, &[&path]), 1);
        assert_eq!(out, "");
        assert!(err.contains("bad key"), "{err}");
        let (_, err) = ends(run(&home, &["nosuch"]), 1);
        assert!(
            err.contains("nosuch is not a recipe: there is no such file"),
            "{err}"
        );
        let (out, err) = ends(run(&home, &[&path, "--json", "--provider", "nosuch"]), 1);
        let report: Value = serde_json::from_str(&out).unwrap();
        assert!(
            report["error"].as_str().unwrap().contains("nosuch"),
            "{out}{err}"
        );
        assert_eq!(report["session_id"], Value::Null);
    }

    #[test]
    #[cfg(feature = "developer")]
    fn what_would_ask_is_refused_without_a_terminal() {
        let calls = model(json!([
            {"call": {"name": "developer__shell", "arguments": {"command": "echo > hit"}}},
            {"text": "{{last_result}}"},
        ]));
        let home = Home::with_settings(calls, json!({"GOOSE_MODE": "approve"}));
        let recipe =
            json!({"prompt": "go", "extensions": [{"type": "builtin", "name": "developer"}]});
        let path = save(&home, recipe);
        let (out, err) = ends(run(&home, &[&path]), 1);
        assert!(out.contains("there is no user in this run"), "{out}");
        assert!(err.contains("gosling: a tool call was refused"), "{err}");
        let (out, _) = ends(run(&home, &[&path, "--json"]), 1);
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(
            (&report["refused_calls"], &report["error"]),
            (&json!(1), &Value::Null)
        );
        assert!(!home.root.path().join("work/hit").exists());
    }

    #[test]
    #[cfg(feature = "developer")]
    fn what_is_refused_in_a_sub_recipe_counts() {
        let script = json!({"repeat": true, "turns": [
            {"when": {"user": "main task"}, "steps": [
                {"call": {"name": "subagent", "arguments": {"subrecipe": "sub"}}},
                {"text": "done"},
            ]},
            {"steps": [
                {"call": {"name": "developer__shell", "arguments": {"command": "echo > hit"}}},
                {"text": "no"},
            ]},
        ]});
        let home = Home::with_settings(script, json!({"GOOSE_MODE": "approve"}));
        fs::write(
            home.root.path().join("config/permission.yaml"),
            "user:\n  always_allow: [subagent]\n",
        )
        .unwrap();
        let developer = json!([{"type": "builtin", "name": "developer"}]);
        let sub = json!({"title": "S", "description": "D", "prompt": "sub task", "extensions": developer});
        let main =
            json!({"prompt": "main task", "sub_recipes": [{"name": "sub", "path": "sub.yaml"}]});
        let path = save(&home, main);
        fs::write(path.replace("report", "sub"), sub.to_string()).unwrap();
        let (out, err) = ends(run(&home, &[&path]), 1);
        assert_eq!(out, "done\n", "{err}");
        assert!(!home.root.path().join("work/hit").exists());
    }

    #[test]
    #[cfg(feature = "developer")]
    #[cfg(unix)] // Commands of a Unix shell.
    fn an_interrupt_ends_the_run_and_its_children() {
        let seconds = unique_sleep();
        let calls = model(json!([
            {"call": {"name": "developer__shell", "arguments": {
                "command": format!("echo > begun; sleep {seconds}"),
            }}},
            {"text": "late"},
        ]));
        let home = Home::new(calls);
        let recipe =
            json!({"prompt": "go", "extensions": [{"type": "builtin", "name": "developer"}]});
        let path = save(&home, recipe);
        let mut child = run(&home, &[&path, "--json"]).spawn().unwrap();
        let begun = home.root.path().join("work/begun");
        support::until("the command", || begun.exists().then_some(()));
        running(&seconds, 1);
        signal(child.id(), "INT");
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130));
        running(&seconds, 0);
        let mut out = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut out)
            .unwrap();
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["error"], "the run was cancelled");
        assert_eq!(report["tool_calls"], 1);
    }
}

/// Chats with a recipe, through the API.
mod chats {
    use super::*;
    use gosling::recipe::library;
    use std::path::Path;
    use support::scripted::{Action, Script};
    use support::server::{Extension, RunningServer, Server, Session};

    fn start(server: &RunningServer, recipe: Value) -> support::client::Answer {
        let body = json!({
            "working_dir": server.work(), "extension_overrides": [], "recipe": recipe,
        });
        server.post("/agent/start", body)
    }

    fn titled(mut recipe: Value) -> Value {
        recipe["title"] = "T".into();
        recipe["description"] = "D".into();
        recipe
    }

    #[test]
    fn a_chat_takes_the_final_output_in_every_turn() {
        let script = json!({"turns": [
            {"when": {"user": "one"}, "steps": [final_output(json!({"n": "x"})), final_output(json!({"n": 1}))]},
            {"when": {"user": "two"}, "steps": [final_output(json!({"n": 2}))]},
        ]});
        let server = Server::scripted(script).start();
        let session = server.start(json!({
            "working_dir": server.work(), "extension_overrides": [], "recipe": titled(with_schema()),
        }));
        let turn = session.say("one").finishes();
        assert_eq!(turn.text(), r#"{"n":1}"#);
        assert!(
            turn.results()[0].contains("`/n` is a string"),
            "{:?}",
            turn.results()
        );
        assert_eq!(session.say("two").finishes().text(), r#"{"n":2}"#);
        assert_eq!(
            session.transcript().last().unwrap(),
            r#"assistant: {"n":2}"#
        );
    }

    #[test]
    fn a_schema_that_makes_no_sense_starts_no_session() {
        let server = Server::scripted(json!({})).start();
        let mut recipe = titled(with_schema());
        recipe["response"]["json_schema"]["properties"]["n"]["type"] = "whole".into();
        start(&server, recipe.clone())
            .is(400)
            .says("`/properties/n/type` must be a type");
        recipe["response"]["json_schema"] = json!({"type": "array"});
        start(&server, recipe).is(400).says("must allow one");
        let hidden = titled(json!({
            "prompt": "go", "response": {"json_schema": {"enum": ["{{ a }}"], "type": "whole"}},
            "parameters": [{"key": "a", "input_type": "string", "requirement": "optional",
                            "description": "", "default": "x"}],
        }));
        let session = server.start(json!({
            "working_dir": server.work(), "extension_overrides": [], "recipe": hidden,
        }));
        session.say("go").fails("`/type` must be a type");
    }

    #[test]
    fn the_recipe_of_an_import_is_not_trusted() {
        let server = Server::scripted(json!({"turns": [{"steps": [
            {"call": {"name": "subagent", "arguments": {"subrecipe": "sub"}}},
            {"text": "{{last_result}}"},
        ]}]}))
        .start();
        let sub = server.work().join("sub.yaml");
        fs::write(&sub, titled(json!({"prompt": "go"})).to_string()).unwrap();
        let recipe = titled(json!({
            "prompt": "go", "sub_recipes": [{"name": "sub", "path": sub.to_str().unwrap()}],
        }));
        let exported = json!({
            "working_dir": server.work(), "recipe": recipe, "conversation": [],
            "extension_data": {"recipe_origin.v0": {"folder": "/", "trusted": true}},
        });
        let imported = server.post("/sessions/import", json!({"json": exported.to_string()}));
        let id = imported.is(200).body["id"].as_str().unwrap().to_owned();
        let resume = json!({"session_id": id, "load_model_and_extensions": true});
        server.post("/agent/resume", resume).is(200);
        let session = Session {
            server: &server,
            id,
        };
        let text = session.say("go").finishes().text();
        assert!(text.contains("cannot name files"), "{text}");
    }

    #[test]
    fn a_saved_recipe_finds_its_sub_recipes_beside_it() {
        let script = json!({"turns": [
            {"when": {"user": "start"}, "steps": [
                {"call": {"name": "subagent", "arguments": {"subrecipe": "sub"}}},
                {"text": "{{last_result}}"},
            ]},
            {"when": {"user": "inner"}, "steps": [{"text": "from {{last_user}}"}]},
        ]});
        let server = Server::scripted(script).start();
        let save = |folder: &Path| {
            fs::create_dir_all(folder).unwrap();
            let folder = fs::canonicalize(folder).unwrap();
            let inner = titled(json!({"prompt": "inner {{ recipe_dir }}"}));
            fs::write(folder.join("sub.yaml"), inner.to_string()).unwrap();
            let recipe = titled(json!({
                "prompt": "go", "sub_recipes": [{"name": "sub", "path": "sub.yaml"}],
            }));
            fs::write(folder.join("r.yaml"), recipe.to_string()).unwrap();
            folder
        };
        for folder in [
            server.root().join("config/recipes"),
            server.work().join(".goose/recipes"),
        ] {
            let folder = save(&folder);
            let session = server.start(json!({
                "working_dir": server.work(), "extension_overrides": [],
                "recipe_id": library::id(&folder.join("r.yaml")),
            }));
            let text = session.say("start").finishes().text();
            assert_eq!(text, format!("from inner {}", folder.display()));
            assert_eq!(
                server.get("/sessions").is(200).body["sessions"]
                    .as_array()
                    .unwrap()
                    .len(),
                1
            );
            server.delete(&format!("/sessions/{}", session.id)).is(200);
        }
    }

    #[test]
    fn a_run_declines_what_servers_want_to_ask_the_user() {
        let home = Home::new(model(json!([
            {"call": {"name": "one__ask", "arguments": {}}},
            {"text": "{{last_result}}"},
        ])));
        let form = json!({
            "message": "Who are you?", "requestedSchema": {"type": "object", "properties": {}},
        });
        let steps = [
            Action::AskWith("elicitation/create".to_owned(), form),
            Action::LastClientAnswer,
        ];
        let script = Script::new().tool("ask", steps);
        let mut run = home.run_of(json!({"prompt": "go"}));
        run.extensions = Some(vec![Extension::scripted("one", &script).0]);
        let begin = std::time::Instant::now();
        let text = home.run(run).result.unwrap();
        assert!(text.contains("decline"), "{text}");
        assert!(begin.elapsed().as_secs() < 60);
    }
}
