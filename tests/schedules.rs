//! Schedules on a real server, with a scripted model. Lines with seconds run each second, so that no test waits
//! for a minute.
#![cfg(feature = "schedules")]
#![cfg_attr(not(unix), allow(dead_code, unused_imports))] // What some tests need is of Unix.

mod support;

use gosling::recipe::library;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use support::client::{Answer, KEY};
use support::server::{RunningServer, Server, gosling};
use support::{temp_dir, until};

const EACH_SECOND: &str = "* * * * * *";
/// A line that is not due while a test runs, unless it runs in the first second of a leap day.
const RARELY: &str = "0 0 0 29 2 *";

/// A server whose model answers at once, and to `slow` only after a long time.
fn server() -> Server {
    let script = json!({"repeat": true, "turns": [
        {"when": {"user": "slow"}, "steps": [{"wait_ms": 600_000}, {"text": "late"}]},
        {"when": {"user": "go"}, "steps": [{"text": "done"}], "usage": {"input": 3, "output": 2}},
    ]});
    Server::scripted(script).setting("GOOSE_AUTO_NAME", false)
}

fn recipe(prompt: &str) -> Value {
    json!({"title": "T", "description": "D", "prompt": prompt})
}

/// Creates a schedule.
fn create(server: &RunningServer, id: &str, prompt: &str, cron: &str) -> Answer {
    let body = json!({"id": id, "recipe": recipe(prompt), "cron": cron});
    server.post("/schedule/create", body)
}

fn at(server: &RunningServer, id: &str, action: &str) -> Answer {
    match action {
        "inspect" => server.get(&format!("/schedule/{id}/inspect")),
        "delete" => server.delete(&format!("/schedule/delete/{id}")),
        _ => server.ask("POST", &format!("/schedule/{id}/{action}"), Some(KEY), None),
    }
}

fn update(server: &RunningServer, id: &str, cron: &str) -> Answer {
    let body = json!({"cron": cron}).to_string();
    server.ask("PUT", &format!("/schedule/{id}"), Some(KEY), Some(&body))
}

#[track_caller]
fn jobs(server: &RunningServer) -> Vec<Value> {
    let list = server.get("/schedule/list").is(200);
    list.body["jobs"].as_array().expect("jobs").clone()
}

#[track_caller]
fn job(server: &RunningServer, id: &str) -> Value {
    let jobs = jobs(server);
    let job = jobs.iter().find(|job| job["id"] == id);
    job.unwrap_or_else(|| panic!("{id} is not in {jobs:?}"))
        .clone()
}

#[track_caller]
fn sessions(server: &RunningServer, id: &str) -> Vec<Value> {
    let list = server
        .get(&format!("/schedule/{id}/sessions?limit=10000"))
        .is(200);
    list.body.as_array().expect("a list").clone()
}

/// Waits until a run has ended, and returns its outcome.
#[track_caller]
fn outcome(server: &RunningServer, id: &str) -> Value {
    until("the end of a run", || {
        let mut inspected = at(server, id, "inspect").is(200).body;
        let is_running = !inspected["processStartTime"].is_null();
        let outcome = inspected["lastOutcome"].take();
        (!is_running && !outcome.is_null()).then_some(outcome)
    })
}

fn file(root: &Path) -> PathBuf {
    root.join("data/schedule.json")
}

fn stored(root: &Path) -> Value {
    serde_json::from_slice(&fs::read(file(root)).unwrap()).unwrap()
}

#[test]
fn a_schedule_runs_each_time_that_it_is_due() {
    let server = server().env("TZ", "CET-1CEST,M3.5.0,M10.5.0/3").start();
    let created = create(&server, "each second", "go", EACH_SECOND)
        .is(200)
        .body;
    assert_eq!(created["id"], "each second");
    assert_eq!(created["cron"], EACH_SECOND);
    assert_eq!(created["paused"], false);
    assert_eq!(created["last_run"], Value::Null);
    let source = created["source"].as_str().unwrap();
    assert!(
        source.ends_with(&support::system::shown(
            "/scheduled_recipes/each second.yaml"
        )),
        "{source}"
    );
    let copy = fs::read_to_string(source).unwrap();
    assert_eq!(copy, "title: T\ndescription: D\nprompt: go\n");
    let next = created["next_run"].as_str().unwrap();
    assert!(
        next.ends_with("+01:00") || next.ends_with("+02:00"),
        "{next}"
    );

    let id = "each%20second";
    until("two runs", || {
        (sessions(&server, id).len() >= 2).then_some(())
    });
    at(&server, id, "pause");
    let ended = outcome(&server, id);
    assert_eq!(ended["status"], "succeeded", "{ended}");
    let newest = &sessions(&server, id)[0];
    assert_eq!(newest["name"], "Scheduled job: each second");
    assert_eq!(newest["scheduleId"], "each second");
    assert_eq!(newest["accumulatedTotalTokens"], 5);
    assert_eq!(newest["messageCount"], 2);
    assert!(newest["createdAt"].is_string() && newest["workingDir"].is_string());
    let one = server
        .get(&format!("/schedule/{id}/sessions?limit=1"))
        .is(200);
    assert_eq!(one.body.as_array().unwrap().len(), 1);
    let listed = server.get("/sessions").is(200).body;
    let listed = &listed["sessions"][0];
    assert_eq!(
        (&listed["session_type"], &listed["schedule_id"]),
        (&json!("scheduled"), &json!("each second"))
    );
    assert!(job(&server, "each second")["last_run"].is_string());
    server
        .get(&format!("/schedule/{id}/sessions"))
        .is(400)
        .says("limit");
}

#[test]
fn a_schedule_that_makes_no_sense_is_refused_and_nothing_is_stored() {
    let server = server().start();
    let refused = |id: &str, recipe: Value, cron: &str, status: u16, reason: &str| {
        let body = json!({"id": id, "recipe": recipe, "cron": cron});
        server
            .post("/schedule/create", body)
            .is(status)
            .says(reason);
    };
    let fine = recipe("go");
    refused(
        "a",
        fine.clone(),
        "61 * * * *",
        400,
        "the field `minute` of the cron line, \"61\": 61 is not between 0 and 59",
    );
    refused("a", fine.clone(), "@daily", 400, "1 fields; it needs 5");
    refused("a", fine.clone(), "0 9 30 2 *", 400, "no day matches");
    refused(
        "../a",
        fine.clone(),
        RARELY,
        400,
        "cannot be the id of a schedule",
    );
    refused(
        "",
        fine.clone(),
        RARELY,
        400,
        "cannot be the id of a schedule",
    );
    refused(&"x".repeat(101), fine.clone(), RARELY, 400, "at most 100");
    refused(
        "a",
        json!({"title": "T", "description": "D"}),
        RARELY,
        400,
        "prompt",
    );
    let asks = json!({
        "title": "T", "description": "D", "prompt": "{{ who }}", "parameters": [
            {"key": "who", "input_type": "string", "requirement": "required", "description": ""},
        ],
    });
    refused("a", asks, RARELY, 400, "`who`");
    refused("a", recipe("go\u{e0041}"), RARELY, 400, "hide text");
    assert_eq!(jobs(&server), [] as [Value; 0]);
    assert!(!file(server.root()).exists());
    assert!(!server.root().join("data/scheduled_recipes/a.yaml").exists());

    create(&server, " a ", "go", RARELY).is(200);
    create(&server, "a", "slow", RARELY).is(409).says("\"a\"");
    let copy = server.root().join("data/scheduled_recipes/a.yaml");
    assert!(fs::read_to_string(copy).unwrap().contains("prompt: go"));
    update(&server, "a", "* * * * * MON-XYZ")
        .is(400)
        .says("`day of the week`");
    assert_eq!(job(&server, "a")["cron"], RARELY);
}

#[test]
fn an_unknown_schedule_is_not_found() {
    let server = server().start();
    for action in ["pause", "unpause", "run_now", "kill", "inspect", "delete"] {
        at(&server, "nosuch", action).is(404).says("\"nosuch\"");
    }
    update(&server, "nosuch", RARELY).is(404);
    assert_eq!(sessions(&server, "nosuch"), [] as [Value; 0]);
    let body = json!({"id": "0000000000000000", "cron_schedule": RARELY});
    server.post("/recipes/schedule", body).is(404);
}

#[test]
fn a_running_schedule_is_shown_and_killed_at_once() {
    let server = server().start();
    create(&server, "s", "slow", RARELY).is(200);
    at(&server, "s", "kill").is(400).says("not running");
    let run = at(&server, "s", "run_now").is(200).body;
    let session = run["session_id"].as_str().unwrap();
    let inspected = at(&server, "s", "inspect").is(200).body;
    assert_eq!(inspected["sessionId"], session);
    assert!(inspected["processStartTime"].is_string(), "{inspected}");
    assert!(inspected["runningDurationSeconds"].is_u64(), "{inspected}");
    let listed = job(&server, "s");
    assert_eq!(listed["currently_running"], true);
    assert_eq!(listed["current_session_id"], session);
    assert!(listed["process_start_time"].is_string());

    at(&server, "s", "run_now").is(500).says("running");
    at(&server, "s", "pause").is(400).says("running");
    update(&server, "s", EACH_SECOND).is(400).says("running");
    at(&server, "s", "unpause").is(204);

    let start = Instant::now();
    at(&server, "s", "kill").is(200).says("cancelled");
    let ended = outcome(&server, "s");
    assert_eq!(
        (&ended["status"], &ended["session_id"]),
        (&json!("cancelled"), &json!(session))
    );
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(job(&server, "s")["currently_running"], false);
    at(&server, "s", "pause").is(204).says_nothing();
    let updated = update(&server, "s", EACH_SECOND).is(200).body;
    assert_eq!(
        (&updated["cron"], &updated["next_run"]),
        (&json!(EACH_SECOND), &Value::Null)
    );
}

#[test]
#[cfg(unix)] // A folder that is used cannot be removed on Windows.
fn a_server_whose_directory_is_gone_runs_no_schedule_elsewhere() {
    let folder = temp_dir();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    let line = format!("cd '{}' && exec \"$0\" \"$@\"", own.display());
    let server = server().through("sh", &["-c", &line]).start();
    fs::remove_dir(&own).unwrap();
    create(&server, "s", "go", RARELY).is(200);
    let reason = "the directory that the server was started in cannot be used";
    at(&server, "s", "run_now").is(500).says(reason);
    assert_eq!(outcome(&server, "s")["status"], "failed");
    assert_eq!(sessions(&server, "s"), [] as [Value; 0]);
}

#[test]
fn a_recipe_that_has_gone_fails_its_schedule_alone() {
    let server = server().start();
    create(&server, "gone", "go", RARELY).is(200);
    create(&server, "other", "go", EACH_SECOND).is(200);
    fs::remove_file(server.root().join("data/scheduled_recipes/gone.yaml")).unwrap();
    at(&server, "gone", "run_now")
        .is(500)
        .says("there is no such file");
    let ended = outcome(&server, "gone");
    assert_eq!(ended["status"], "failed");
    assert!(
        ended["reason"]
            .as_str()
            .unwrap()
            .contains("there is no such file"),
        "{ended}"
    );
    server.logs("schedule failed id=\"gone\"");
    // When it is due, too.
    update(&server, "gone", EACH_SECOND).is(200);
    let before = job(&server, "gone")["last_run"].clone();
    until("another failed run", || {
        (job(&server, "gone")["last_run"] != before).then_some(())
    });
    assert_eq!(outcome(&server, "gone")["status"], "failed");
    let count = sessions(&server, "other").len();
    until("a run of the other", || {
        (sessions(&server, "other").len() > count).then_some(())
    });
    assert_eq!(sessions(&server, "gone"), [] as [Value; 0]);
}

#[test]
fn a_schedule_survives_a_restart_and_a_crash() {
    let server = server().start();
    create(&server, "s", "slow", EACH_SECOND).is(200);
    create(&server, "paused", "go", EACH_SECOND).is(200);
    at(&server, "paused", "pause").is(204);
    let session = until("a run", || {
        let inspected = at(&server, "s", "inspect").is(200).body;
        inspected["sessionId"].as_str().map(str::to_owned)
    });
    let server = server.restart_after_kill();
    let found = job(&server, "s");
    server.logs("schedule interrupted id=\"s\"");
    assert_eq!(found["cron"], EACH_SECOND);
    assert_eq!(found["last_outcome"]["status"], "interrupted", "{found}");
    assert_eq!(found["last_outcome"]["session_id"], session, "{found}");
    let again = until("a run after the crash", || {
        let inspected = at(&server, "s", "inspect").is(200).body;
        inspected["sessionId"].as_str().map(str::to_owned)
    });
    assert_ne!(again, session);
    // SIGTERM ends the run and the server.
    let start = Instant::now();
    let server = server.restart();
    assert!(start.elapsed() < Duration::from_secs(60));
    let stored = stored(server.root());
    assert_eq!(job(&server, "paused")["paused"], true);
    assert_eq!(stored[0]["last_outcome"]["status"], "cancelled", "{stored}");
    assert_eq!(sessions(&server, "paused"), [] as [Value; 0]);
}

#[test]
fn two_processes_run_each_due_time_once_also_when_one_is_killed() {
    let one = server().start();
    let two = one.beside();
    create(&one, "s", "go", EACH_SECOND).is(200);
    // Nobody asks the other process for its schedules: it notices the file.
    let claims = |server: &RunningServer| sessions(server, "s").len();
    until("runs of both", || (claims(&two) >= 4).then_some(()));
    one.kill();
    let count = claims(&two);
    until("runs of the second", || {
        (claims(&two) >= count + 4).then_some(())
    });
    at(&two, "s", "pause");
    outcome(&two, "s");
    // A due time that ran twice would have two sessions in the same second, or in this and the next one.
    let mut times: Vec<String> = sessions(&two, "s")
        .iter()
        .map(|session| session["createdAt"].as_str().unwrap().to_owned())
        .collect();
    times.sort();
    let doubled = times.windows(2).filter(|pair| pair[0] == pair[1]).count();
    // One late run may share the second of the next.
    assert!(doubled * 4 <= times.len(), "{times:?}");
    let seconds = |time: &str| {
        let time = gosling::sys::clock::Utc::parse(time).unwrap();
        time.unix_seconds()
    };
    let span = seconds(times.last().unwrap()) - seconds(&times[0]) + 2;
    assert!(times.len() as i64 <= span, "{times:?}");
}

#[test]
fn a_schedule_of_another_process_is_noticed() {
    let one = server().start();
    create(&one, "rare", "go", RARELY).is(200);
    let two = one.beside();
    create(&one, "s", "go", EACH_SECOND).is(200);
    one.kill();
    let count = || {
        let data = two.root().join("data/sessions");
        fs::read_dir(data).map_or(0, Iterator::count)
    };
    let before = count();
    until("runs of the other process", || {
        (count() >= before + 2).then_some(())
    });
}

#[test]
fn a_file_that_does_not_parse_is_refused_and_stays() {
    let server = server().start();
    create(&server, "s", "go", RARELY).is(200);
    for (text, reason) in [
        ("[{\"id\": \"s\",\n \"cron\" }]", "line 2"),
        ("{}", "invalid type"),
        (
            "[{\"id\": \"s\", \"cron\": \"* * * * *\"}]",
            "schedule 1 of the list has no text `source`",
        ),
    ] {
        fs::write(file(server.root()), text).unwrap();
        server
            .get("/schedule/list")
            .is(422)
            .says(reason)
            .says("schedule.json");
        create(&server, "t", "go", RARELY).is(422).says(reason);
        at(&server, "s", "run_now").is(422);
        assert_eq!(fs::read_to_string(file(server.root())).unwrap(), text);
    }
    assert!(!server.root().join("data/scheduled_recipes/t.yaml").exists());
    fs::write(file(server.root()), "").unwrap();
    create(&server, "t", "go", RARELY).is(200);
    server.is_alive();
}

#[test]
fn what_goose_has_stored_is_kept() {
    let setup = server();
    let path = setup.root().join("mine.yaml");
    fs::write(&path, "title: T\ndescription: D\nprompt: go\n").unwrap();
    fs::create_dir_all(setup.root().join("data")).unwrap();
    let theirs = json!([
        {"id": "täglich/1", "source": path, "cron": EACH_SECOND, "last_run": null, "currently_running": false,
         "paused": false, "current_session_id": null, "process_start_time": null, "execution_mode": "background"},
        {"id": "bad", "source": path, "cron": "nonsense", "last_run": null, "later": [1]},
    ]);
    fs::write(file(setup.root()), theirs.to_string()).unwrap();
    let server = setup.start();
    let id = "t%C3%A4glich%2F1";
    until("a run", || {
        (!sessions(&server, id).is_empty()).then_some(())
    });
    at(&server, id, "pause");
    outcome(&server, id);
    let stored = stored(server.root());
    assert_eq!(stored[0]["execution_mode"], "background");
    assert_eq!(stored[1], theirs[1]);
    assert_eq!(job(&server, "bad")["next_run"], Value::Null);
    // A recipe that is not a copy stays.
    at(&server, id, "delete").is(204);
    assert!(path.exists());
    at(&server, "bad", "delete").is(204);
    assert_eq!(jobs(&server), [] as [Value; 0]);
}

#[test]
#[cfg(feature = "developer")]
#[cfg(unix)] // Commands of a Unix shell.
fn a_recipe_of_a_project_is_trusted_no_more_when_it_is_scheduled() {
    let setup = server();
    let root = setup.root().to_owned();
    let schedule = |id: &str, folder: &str| {
        let check =
            json!([{"type": "shell", "command": format!("touch {}", root.join(id).display())}]);
        let mut recipe = recipe("go");
        recipe["retry"] = json!({"max_retries": 1, "checks": check});
        let source = root.join(folder).join("recipe.json");
        fs::create_dir_all(source.parent().unwrap()).unwrap();
        fs::write(&source, recipe.to_string()).unwrap();
        json!({"id": id, "source": source, "cron": RARELY})
    };
    let stored = json!([
        schedule("user", "recipes"),
        schedule("project", "place/.goose/recipes"),
    ]);
    fs::create_dir_all(file(&root).parent().unwrap()).unwrap();
    fs::write(file(&root), stored.to_string()).unwrap();
    let server = setup.start();
    for id in ["user", "project"] {
        at(&server, id, "run_now").is(200);
        assert_eq!(outcome(&server, id)["status"], "succeeded");
    }
    assert!(root.join("user").exists());
    assert!(!root.join("project").exists());
}

#[test]
fn a_deleted_schedule_runs_no_more() {
    let server = server().start();
    create(&server, "s", "slow", RARELY).is(200);
    let copy = server.root().join("data/scheduled_recipes/s.yaml");
    assert!(copy.exists());
    let run = at(&server, "s", "run_now").is(200).body;
    at(&server, "s", "delete").is(204).says_nothing();
    assert!(!copy.exists());
    at(&server, "s", "inspect").is(404);
    server.logs("schedule ended id=\"s\"");
    assert_eq!(sessions(&server, "s")[0]["id"], run["session_id"]);
    create(&server, "s", "go", RARELY).is(200);
}

#[test]
fn a_paused_schedule_does_not_run_until_it_is_unpaused() {
    let server = server().start();
    create(&server, "s", "go", RARELY).is(200);
    at(&server, "s", "pause").is(204);
    let paused = update(&server, "s", EACH_SECOND).is(200).body;
    assert_eq!(
        (&paused["paused"], &paused["next_run"]),
        (&json!(true), &Value::Null)
    );
    thread::sleep(Duration::from_secs(2));
    assert_eq!(sessions(&server, "s"), [] as [Value; 0]);
    at(&server, "s", "unpause").is(204).says_nothing();
    until("a run", || {
        (!sessions(&server, "s").is_empty()).then_some(())
    });
}

#[test]
fn of_two_clients_with_one_id_one_wins() {
    let server = server().start();
    let answers: Vec<u16> = thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|n| scope.spawn(move || n))
            .map(|client| client.join().unwrap())
            .collect();
        let server = &server;
        let clients: Vec<_> = clients
            .into_iter()
            .map(|n| scope.spawn(move || create(server, "s", &format!("go {n}"), RARELY).status))
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    let count = |status: u16| answers.iter().filter(|it| **it == status).count();
    assert_eq!((count(200), count(409)), (1, 7), "{answers:?}");
    assert_eq!(jobs(&server).len(), 1);
    // All run at once: one at a time.
    let answers: Vec<u16> = thread::scope(|scope| {
        let server = &server;
        update(server, "s", RARELY).is(200);
        let slow = server.root().join("data/scheduled_recipes/s.yaml");
        fs::write(slow, "title: T\ndescription: D\nprompt: slow\n").unwrap();
        let clients: Vec<_> = (0..8)
            .map(|_| scope.spawn(move || at(server, "s", "run_now").status))
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    assert_eq!(
        answers.iter().filter(|it| **it == 200).count(),
        1,
        "{answers:?}"
    );
}

#[test]
fn only_so_many_schedules_run_at_the_same_time() {
    let server = server().start();
    for n in 0..10 {
        create(&server, &format!("s{n}"), "slow", EACH_SECOND).is(200);
    }
    let running = || {
        jobs(&server)
            .iter()
            .filter(|job| job["currently_running"] == true)
            .count()
    };
    until("eight runs", || (running() == 8).then_some(()));
    thread::sleep(Duration::from_millis(1_500));
    assert_eq!(running(), 8);
    create(&server, "t", "go", RARELY).is(200);
    at(&server, "t", "run_now")
        .is(500)
        .says("8 schedules are running");
    // The others wait for a place.
    let first = jobs(&server)
        .into_iter()
        .find(|job| job["currently_running"] == true);
    let id = first.unwrap()["id"].as_str().unwrap().to_owned();
    at(&server, &id, "delete").is(204);
    until("the next one", || (running() == 8).then_some(()));
}

#[test]
fn a_recipe_of_the_user_is_scheduled_by_its_id() {
    let setup = server();
    let folder = setup.root().join("config/recipes");
    fs::create_dir_all(&folder).unwrap();
    let path = fs::canonicalize(&folder).unwrap().join("report.yaml");
    fs::write(&path, "title: T\ndescription: D\nprompt: go\n").unwrap();
    let server = setup.start();
    let schedule = |cron: Value| {
        let body = json!({"id": library::id(&path), "cron_schedule": cron});
        server.post("/recipes/schedule", body)
    };
    schedule("x".into()).is(400);
    schedule(Value::Null).is(200);
    assert_eq!(jobs(&server), [] as [Value; 0]);
    schedule(RARELY.into()).is(200).says_nothing();
    let made = job(&server, "report");
    assert_eq!(
        (&made["source"], &made["cron"]),
        (&json!(path), &json!(RARELY))
    );
    schedule(EACH_SECOND.into()).is(200);
    assert_eq!(job(&server, "report")["cron"], EACH_SECOND);
    assert_eq!(jobs(&server).len(), 1);
    until("a run", || {
        (!sessions(&server, "report").is_empty()).then_some(())
    });
    schedule(Value::Null).is(200);
    assert_eq!(jobs(&server), [] as [Value; 0]);
    assert!(path.exists());
}

#[test]
#[cfg(target_os = "linux")]
fn the_threads_of_runs_end_with_them() {
    let server = server().start();
    create(&server, "s", "go", RARELY).is(200);
    let rest = server.at_rest();
    at(&server, "s", "run_now").is(200);
    outcome(&server, "s");
    // The thread of the run is joined with the next one.
    update(&server, "s", EACH_SECOND).is(200);
    until("two runs", || {
        (sessions(&server, "s").len() >= 3).then_some(())
    });
    at(&server, "s", "pause");
    update(&server, "s", RARELY);
    server.returns_to(rest);
}

#[test]
fn the_command_lists_schedules_without_a_server() {
    let root = support::temp_dir();
    let list = || {
        let mut command = gosling();
        command.args(["schedule", "list"]).env("TZ", "<+0530>-5:30");
        command
            .env("GOOSE_PATH_ROOT", root.path())
            .output()
            .unwrap()
    };
    let empty = list();
    assert!(
        empty.status.success() && empty.stdout.is_empty(),
        "{empty:?}"
    );
    fs::create_dir(root.path().join("data")).unwrap();
    let job = |id: &str, cron: &str, paused: bool| json!({"id": id, "source": "/r.yaml", "cron": cron, "last_run": null, "paused": paused});
    let text = json!([
        job("a", "0 9 * * *", false),
        job("b\u{7}", "x", false),
        job("c", "0 9 * * *", true)
    ]);
    fs::write(file(root.path()), text.to_string()).unwrap();
    let output = String::from_utf8(list().stdout).unwrap();
    let lines: Vec<&str> = output.lines().collect();
    assert!(
        lines[0].ends_with("T09:00:00+05:30  0 9 * * *        a"),
        "{output}"
    );
    assert!(
        lines[1].starts_with("never: the cron line is invalid  x"),
        "{output}"
    );
    assert!(lines[2].starts_with("paused "), "{output}");
    assert!(!output.contains('\u{7}'), "{output}");
    fs::write(file(root.path()), "[1]").unwrap();
    let broken = list();
    assert_eq!(broken.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&broken.stderr).contains("schedule.json is not usable"),
        "{broken:?}"
    );
}
