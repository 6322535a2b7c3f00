//! The administrator's policy, on real servers and commands: it holds whichever way a call comes, and a file that
//! cannot be used or trusted starts nothing.
#![cfg(all(
    feature = "policy",
    feature = "scripted",
    feature = "developer",
    feature = "acp",
    feature = "chat",
    feature = "schedules",
    unix // A policy's file has an owner and a mode.
))]

#[path = "support/policy_file.rs"]
mod policy_file;
mod support;

use policy_file::PolicyFile;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use support::acp_client::{Acp, developer, shell, turn};
use support::server::{Extension, GOSLING, Server, gosling};
use support::{temp_dir, until};

const DENIES_SHELL: &str = "\
default: allow
rules:
  - {decision: deny, tool: shell, reason: no shell on this host}
";
const WHY: &str = "the administrator's policy denies it (rule 1): no shell on this host";

/// A script that runs the command of the marker whenever the user says something.
fn script(marker: &Path) -> Value {
    json!({"turns": [{"steps": [shell(&touch(marker)), {"text": "done"}]}], "repeat": true})
}

fn touch(marker: &Path) -> String {
    format!("touch '{}'", marker.display())
}

#[test]
fn a_call_is_denied_whichever_way_it_comes() {
    let Some(policy) = PolicyFile::new(DENIES_SHELL) else {
        return;
    };
    let folder = temp_dir();
    let marker = folder.path().join("marker");
    // HTTP: the client's own call, and a turn, whatever the client has allowed.
    let server = Server::scripted(script(&marker)).with_developer();
    let server = policy.start(server.env("GOOSE_MODE", "auto"));
    let session = server.session([Extension::builtin("developer")]);
    let allow = json!([{"tool_name": "developer__shell", "permission": "always_allow"}]);
    server
        .post("/config/permissions", json!({"tool_permissions": allow}))
        .is(200);
    let called = session.call("developer__shell", json!({"command": touch(&marker)}));
    assert!(called.text.contains(WHY), "{}", called.text);
    let turn = session.say("go").finishes();
    assert_eq!(turn.results(), [WHY]);
    // A schedule.
    let recipe = json!({"title": "T", "description": "D", "prompt": "go"});
    let job = json!({"id": "s", "recipe": recipe, "cron": "0 0 0 29 2 *"});
    server.post("/schedule/create", job).is(200);
    server.post("/schedule/s/run_now", json!({})).is(200);
    let denials = until("the schedule's call is denied", || {
        let mut audit = gosling();
        let audit = audit.env("GOOSE_PATH_ROOT", server.root());
        let audit = audit.args(["audit", "show", "--json", "--outcome", "denied"]);
        let text = String::from_utf8(audit.output().unwrap().stdout).unwrap();
        text.contains("\"schedule\"").then_some(text)
    });
    for line in denials.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&record["by"], &record["detail"]),
            (&json!("policy"), &json!(WHY))
        );
    }
    assert_eq!(denials.lines().count(), 3, "{denials}");

    // An editor.
    let acp = Acp::new(turn_of(&marker)).configured(developer());
    let mut editor = acp.arguments(&["--policy", &policy.path()]).start();
    let session = editor.session();
    editor.prompt(&session, "go");
    let updates = editor.take_updates();
    assert!(json!(updates).to_string().contains(WHY), "{updates:?}");

    // Commands.
    let root = temp_dir();
    for name in ["config", "work"] {
        fs::create_dir(root.path().join(name)).unwrap();
    }
    fs::write(
        root.path().join("config/config.yaml"),
        developer().to_string(),
    )
    .unwrap();
    fs::write(root.path().join("script.json"), script(&marker).to_string()).unwrap();
    let recipe = json!({"title": "T", "description": "D", "prompt": "go", "extensions": [
        {"type": "builtin", "name": "developer"}
    ]});
    let file = root.path().join("recipe.yaml");
    fs::write(&file, recipe.to_string()).unwrap();
    let command = |arguments: &[&str]| {
        let mut command = gosling();
        command.args(arguments).args(["--policy", &policy.path()]);
        command
            .env("GOOSE_PATH_ROOT", root.path())
            .env("HOME", root.path())
            .env("GOOSE_PROVIDER", "scripted")
            .env("GOOSE_SCRIPT", root.path().join("script.json"))
            .current_dir(root.path().join("work"))
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    };
    let chat = command(&["chat", "-m", "go"]);
    assert!(chat.contains("no shell on this host"), "{chat}");
    let run = command(&["run", file.to_str().unwrap()]);
    assert!(run.contains("no shell on this host"), "{run}");
    let arguments = json!({"command": touch(&marker)}).to_string();
    let call = command(&[
        "call",
        "--server",
        &format!("{GOSLING} mcp developer"),
        "shell",
        &arguments,
    ]);
    assert!(call.contains(WHY), "{call}");
    assert!(!marker.exists());
}

fn turn_of(marker: &Path) -> Value {
    turn(json!([shell(&touch(marker)), {"text": "done"}]))
}

#[test]
fn a_rule_may_require_the_user_who_cannot_be_asked_everywhere() {
    let policy =
        "default: allow\nrules:\n  - {decision: ask, tool: shell, reason: look at it first}\n";
    let Some(policy) = PolicyFile::new(policy) else {
        return;
    };
    let folder = temp_dir();
    let marker = folder.path().join("marker");
    let server = policy.start(Server::scripted(script(&marker)));
    let session = server.session([Extension::builtin("developer")]);
    let call = || session.call("developer__shell", json!({"command": touch(&marker)}));
    assert!(call().text.contains("no user can be asked here"));
    assert!(!marker.exists());
    // The user's answer holds for this call alone, whatever it is.
    for _ in 0..2 {
        let mut turn = session.begin_turn("go");
        let question = turn.asks();
        session.confirm(&question, "always_allow");
        turn.rest().finishes();
        assert!(marker.exists());
        fs::remove_file(&marker).unwrap();
    }
    let mut turn = session.begin_turn("go");
    let question = turn.asks();
    session.confirm(&question, "deny_once");
    turn.rest().finishes();
    assert!(!marker.exists());
}

#[test]
fn no_client_has_a_looser_mode_than_the_least_one() {
    let Some(policy) = PolicyFile::new("default: allow\nleast_mode: approve\n") else {
        return;
    };
    let folder = temp_dir();
    let marker = folder.path().join("marker");
    let server = Server::scripted(script(&marker)).env("GOOSE_MODE", "auto");
    let server = policy.start(server);
    let session = server.session([Extension::builtin("developer")]);
    let mode = |mode: &str| session.post("/agent/update_session", json!({"goose_mode": mode}));
    mode("auto")
        .is(403)
        .says("the mode auto is less strict than approve");
    mode("smart_approve").is(403);
    let body = json!({"key": "GOOSE_MODE", "value": "auto", "is_secret": false});
    server.post("/config/upsert", body).is(403);
    let mut turn = session.begin_turn("go");
    let question = turn.asks();
    assert!(!marker.exists());
    session.confirm(&question, "deny_once");
    turn.rest().finishes();
    mode("chat").is(200);
    session.say("go").finishes();
    assert!(!marker.exists());
    mode("approve").is(200);
}

#[test]
fn a_changed_policy_holds_at_once_and_a_bad_one_never() {
    let Some(policy) = PolicyFile::new(DENIES_SHELL) else {
        return;
    };
    let server = policy.start(Server::new());
    let session = server.session([Extension::builtin("developer")]);
    let call = || session.call("developer__shell", json!({"command": "echo ran"}));
    assert!(call().text.contains(WHY));
    policy.write("default: allow\n");
    call().is(200).says("ran");
    policy.write("default: deny\n");
    assert!(call().text.contains("no rule allows it"));
    policy.write("default: allow\nrule: []\n");
    assert!(call().text.contains("no rule allows it"));
    server.logs("POLICY REFUSED");
    server.logs("line 2, column 1: unknown field `rule`");
    fs::remove_file(policy.path()).unwrap();
    assert!(call().text.contains("no rule allows it"));
    policy.write("default: allow\n");
    fs::set_permissions(policy.path(), PermissionsExt::from_mode(0o666)).unwrap();
    assert!(call().text.contains("no rule allows it"));
    fs::set_permissions(policy.path(), PermissionsExt::from_mode(0o644)).unwrap();
    call().is(200).says("ran");
}

#[test]
fn nothing_starts_with_a_policy_that_cannot_be_used() {
    let Some(policy) = PolicyFile::new("default: deny\n") else {
        return;
    };
    let refused = |why: &str| {
        for command in ["agent", "chat", "acp", "schedule", "extensions"] {
            let output = policy.run(&[command]);
            assert_eq!(output.status.code(), Some(2), "{command} {output:?}");
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(error.contains(why), "{command} {error}");
        }
    };
    policy.write("default: deny\nrules:\n  - {decision: deny, tol: x}\n");
    refused("line 3, column 22: ");
    policy.write("default: [\n");
    refused("line 2, column 1: ");
    policy.write("default: deny\n");
    let open =
        |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    open(Path::new(&policy.path()), 0o664);
    refused("others than its owner can write to it");
    open(Path::new(&policy.path()), 0o644);
    open(policy.folder(), 0o777);
    refused("cannot be trusted");
    open(policy.folder(), 0o755);
    chown(policy.path(), Some(65534), None).unwrap();
    refused("and not to root");
    fs::remove_file(policy.path()).unwrap();
    refused("it does not exist");
    fs::create_dir(policy.path()).unwrap();
    refused("not a regular file");
    let twice = policy.run(&["agent", "--policy", "/etc/hostname"]);
    assert_eq!(twice.status.code(), Some(2), "{twice:?}");
}

#[test]
fn the_user_of_the_service_cannot_own_the_policy() {
    let Some(policy) = PolicyFile::new("default: deny\n") else {
        return;
    };
    let run = || {
        let root = temp_dir();
        let mut command = gosling();
        command.args(["call", "--server", "/bin/true", "--policy", &policy.path()]);
        command.env("GOOSE_PATH_ROOT", root.path()).current_dir("/");
        command.uid(65534).stdin(Stdio::null()).output().unwrap()
    };
    let trusted = run();
    assert_ne!(trusted.status.code(), Some(2), "{trusted:?}");
    chown(policy.path(), Some(65534), None).unwrap();
    let owned = run();
    assert_eq!(owned.status.code(), Some(2), "{owned:?}");
    assert!(String::from_utf8_lossy(&owned.stderr).contains("the user of this service"));
    chown(policy.path(), Some(0), None).unwrap();
    chown(policy.folder(), Some(65534), None).unwrap();
    assert_eq!(run().status.code(), Some(2));
}

#[test]
fn extensions_models_settings_and_imports_are_limited() {
    let policy = "default: allow\nextensions:\n  default: deny\n  rules:\n    - {decision: allow, type: builtin}\n    \
                  - {decision: deny, type: inline_python, reason: no Python}\nmodels:\n  default: deny\n  rules:\n    \
                  - {decision: allow, provider: scripted, model: script}\nclients: {configuration: deny, \
                  extensions: deny, import: deny}\n";
    let Some(policy) = PolicyFile::new(policy) else {
        return;
    };
    let folder = temp_dir();
    let marker = folder.path().join("marker");
    let server = Server::scripted(script(&marker)).with_developer();
    let server = policy.start(server);
    let python =
        json!({"type": "inline_python", "name": "developer", "description": "", "code": "print()"});
    // Neither what is not configured, nor what a rule denies.
    let refused = server.refuses(Extension::shell("developer", "true"));
    assert!(
        refused.contains("clients use only extensions that are configured"),
        "{refused}"
    );
    let refused = server.refuses(Extension(python.clone()));
    assert!(refused.contains("that are configured"), "{refused}");
    let upsert = |key: &str, value: Value| {
        server.post(
            "/config/upsert",
            json!({"key": key, "value": value, "is_secret": false}),
        )
    };
    let refused = upsert("MY_SETTING", json!("x")).is(403);
    refused.says("the administrator's policy denies it: clients change no configuration");
    let body =
        json!({"name": "more", "enabled": true, "config": Extension::shell("more", "true").0});
    let added = server.post("/config/extensions", body);
    assert!(
        added.text.contains("clients change no configuration"),
        "{}",
        added.text
    );

    // What users and schedules find later, also by another way to write the path.
    let recipe = json!({"title": "T", "description": "D", "prompt": "go"});
    let job = json!({"id": "s", "recipe": recipe, "cron": "0 0 0 29 2 *"});
    let why = "clients change no configuration";
    server
        .post("/schedule/create", job.clone())
        .is(403)
        .says(why);
    server.post("/schedule/%63reate", job).is(403).says(why);
    let saved = server.post("/recipes/save", json!({"recipe": recipe}));
    saved.is(403).says(why);
    server.delete("/config/prompts/system.md").is(403).says(why);
    server.get("/schedule/list").is(200);

    let session = server.start(json!({"working_dir": server.work()}));
    session.say("go").finishes();
    assert!(marker.exists());
    let other = session.uses(json!({"provider": "scripted", "model": "other"}));
    assert!(other.text.contains("policy denies it"), "{}", other.text);
    let exported = server
        .get(&format!("/sessions/{}/export", session.id))
        .is(200);
    let exported: Value = serde_json::from_str(&exported.text).unwrap();
    let exported = exported
        .as_str()
        .map_or(exported.to_string(), str::to_owned);
    let imported = server.post("/sessions/import", json!({"json": exported}));
    assert!(
        imported.text.contains("clients import no sessions"),
        "{}",
        imported.text
    );

    let rules = "default: allow\nextensions:\n  default: allow\n  rules:\n    \
                 - {decision: deny, type: inline_python, reason: no Python}\n";
    policy.write(rules);
    let refused = server.refuses(Extension(python));
    assert!(refused.contains("no Python"), "{refused}");
    server.session([Extension::builtin("memory")]);
}

#[test]
fn a_policy_may_forbid_other_machines() {
    let Some(policy) = PolicyFile::new("default: allow\noffline: true\n") else {
        return;
    };
    let output = policy.run(&["call", "--url", "http://192.0.2.1/mcp"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("offline"), "{error}");
    let server = policy.start(Server::new());
    let remote = json!({"type": "streamable_http", "name": "far", "uri": "http://192.0.2.1/mcp"});
    let refused = server.refuses(Extension(remote));
    assert!(refused.contains("offline"), "{refused}");
}

#[test]
fn a_key_has_its_quotas() {
    let policy = "default: allow\nquotas:\n  - {key: '*', sessions_per_day: 2, turns_at_once: 1, calls_per_day: 3}\n";
    let Some(policy) = PolicyFile::new(policy) else {
        return;
    };
    let steps = json!([shell("true"), {"wait_ms": 600_000}, {"text": "late"}]);
    let server = policy.start(Server::scripted(turn(steps)));
    let session = server.session([Extension::builtin("developer")]);
    let other = server.session([Extension::builtin("developer")]);
    let third = server.post("/agent/start", json!({"working_dir": server.work()}));
    assert!(
        third.text.contains("allows this key 2 sessions a day"),
        "{}",
        third.text
    );
    let mut turn = session.begin_turn("go");
    turn.calls();
    other.say("go").fails("allows this key 1 turns at once");
    // The end of the first one, cancelled by its client, makes room.
    drop(turn);
    until("another turn begins", || {
        let mut turn = other.begin_turn("go");
        turn.any().filter(|event| event["type"] != "Error")
    });
    until("the day's calls are used up", || {
        let answer = session.call("developer__shell", json!({"command": "true"}));
        answer
            .text
            .contains("allows this key 3 calls of tools a day")
            .then_some(())
    });
}

#[test]
fn a_policy_can_be_checked_and_explained() {
    let file = PolicyFile::untested(temp_dir());
    file.write("default: ask\nrules:\n  - decision: allow\n    arguments: {command: 'git *'}\n\n  - decision: deny\n    \
                key: guest\n    reason: guests look only\n");
    let policy = |arguments: &[&str]| {
        let mut command = gosling();
        let output = command.arg("policy").args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.code().unwrap(),
            String::from_utf8(text).unwrap(),
        )
    };
    let path = file.path();
    let (code, text) = policy(&["check", &path]);
    assert!(code == 0 && text.contains("2 of tools"), "{text}");
    let explain =
        |more: &[&str]| policy(&[&["explain", &path, "--tool", "developer__shell"], more].concat());
    let git = ["--arguments", r#"{"command": "git status"}"#];
    assert_eq!(explain(&git), (0, "allow: rule 1, line 3\n".to_owned()));
    let guest = (0, "deny: rule 2, line 6: guests look only\n".to_owned());
    assert_eq!(
        explain(&["--key", "guest", "--arguments", r#"{"command": "ls"}"#]),
        guest
    );
    assert_eq!(
        explain(&["--key", "other"]),
        (0, "ask: the default\n".to_owned())
    );
    let (code, text) = explain(&["--arguments", r#"{"command": "git", "command": "rm"}"#]);
    assert!(
        code == 0 && text.starts_with("deny: rule 1, line 3: "),
        "{text}"
    );
    file.write("default: ask\nrules: {}\n");
    let (code, text) = policy(&["check", &path]);
    assert!(code == 2 && text.contains("line 2, column 8: "), "{text}");
    assert_eq!(policy(&["explain", &path]).0, 2);
}

/// Whether the kernel has the walls that a policy may want.
#[cfg(feature = "sandbox")]
fn has_walls() -> bool {
    // SAFETY: asks for the version only.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0, 0, 1) };
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) && version >= 6
}

#[cfg(feature = "sandbox")]
#[test]
fn no_entry_or_setting_takes_walls_down_that_the_policy_wants() {
    let text = "default: allow\nsandbox: {least: workspace}\n";
    let Some(policy) = PolicyFile::new(text) else {
        return;
    };
    let outside = temp_dir();
    let target = outside.path().join("new");
    let server = Server::new().env("GOOSE_EXTENSION_SANDBOX", "off");
    let server = policy.start(server);
    let open = Extension::builtin("developer").with("sandbox", "off");
    if !has_walls() {
        let refused = server.session([]).add(open);
        assert!(refused.message().contains("a sandbox `workspace` needs"));
        return;
    }
    let session = server.session([open]);
    let called = session.call("developer__shell", json!({"command": touch(&target)}));
    assert!(!target.exists(), "{}", called.text);
    let exception = json!({"level": "workspace", "write": [outside.path()]});
    let one = Extension::shell("one", "cat").with("sandbox", exception.clone());
    let answer = session.add(one);
    let why = "the policy allows for no exceptions";
    assert!(answer.message().contains(why), "{}", answer.message());
    // Such an exception counts when the policy says so.
    policy.write("default: allow\nsandbox: {least: workspace, exceptions: allow}\n");
    let other = server.session([Extension::builtin("developer").with("sandbox", exception)]);
    let called = other.call("developer__shell", json!({"command": touch(&target)}));
    assert!(target.exists(), "{}", called.text);
}

/// What needs the role `configure` or more, and is no change of the configuration, or is judged by itself: settings,
/// extensions, imports.
#[cfg(feature = "keys")]
const OTHERWISE: &[&str] = &[
    "POST /agent/check_extension",
    "POST /agent/extensions/accept",
    "POST /agent/set_container",
    "POST /config/backup",
    "POST /config/check_provider",
    "POST /config/detect-provider",
    "POST /config/extensions",
    "POST /config/extensions/deeplink",
    "DELETE /config/extensions/{name}",
    "POST /config/read",
    "POST /config/remove",
    "POST /config/set_provider",
    "POST /config/upsert",
    "POST /sessions/import",
    "POST /sessions/import/nostr",
    "POST /sessions/{session_id}/share/nostr",
    "POST /tunnel/start",
    "POST /tunnel/stop",
    "acp providers/disable",
    "acp providers/list",
    "acp providers/set",
    "acp _goose/unstable/config/extensions/add",
    "acp _goose/unstable/config/extensions/list",
    "acp _goose/unstable/config/extensions/remove",
    "acp _goose/unstable/config/extensions/set-enabled",
    "acp _goose/unstable/config/read",
    "acp _goose/unstable/config/read-all",
    "acp _goose/unstable/config/remove",
    "acp _goose/unstable/config/upsert",
    "acp _goose/unstable/defaults/clear",
    "acp _goose/unstable/defaults/save",
    "acp _goose/unstable/diagnostics/get",
    "acp _goose/unstable/preferences/read",
    "acp _goose/unstable/preferences/remove",
    "acp _goose/unstable/preferences/save",
    "acp _goose/unstable/providers/config/read",
    "acp _goose/unstable/providers/custom/read",
    "acp _goose/unstable/providers/inventory/refresh",
    "acp _goose/unstable/providers/secrets/list",
    "acp _goose/unstable/session/extensions/add",
    "acp _goose/unstable/session/extensions/list",
    "acp _goose/unstable/session/import",
    "acp _goose/unstable/session/share/nostr",
];

#[cfg(feature = "keys")]
#[test]
fn every_operation_that_may_change_the_configuration_is_judged() {
    use gosling::keys::{Role, operations};
    let judged = gosling::policy::configuration_operations();
    let may = |name: &&str| !name.starts_with("GET ");
    let known = operations().filter(|(_, role)| *role >= Role::Configure);
    let known: Vec<&str> = known.map(|(name, _)| name).filter(may).collect();
    for name in &known {
        let places = [judged, OTHERWISE].map(|all| all.contains(name));
        assert!(places == [true, false] || places == [false, true], "{name}");
    }
    for name in judged.iter().chain(OTHERWISE) {
        assert!(known.contains(name), "{name}");
    }
}
