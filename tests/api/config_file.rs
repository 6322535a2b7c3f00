//! `/config/init`, `/config/validate`, `/config/backup`, `/config/recover` and `/system_info`.

use crate::support::server::{RunningServer, Server};
use serde_json::{Value, json};
use std::fs;
use std::thread;

const BROKEN: &str = "GOOSE_PROVIDER: openai\nextensions: [unclosed\n  more: {\n";

fn file(server: &RunningServer, end: &str) -> String {
    let path = server.root().join(format!("config/config.yaml{end}"));
    fs::read_to_string(path).unwrap_or_default()
}

fn write(server: &RunningServer, end: &str, text: &str) {
    fs::write(server.root().join(format!("config/config.yaml{end}")), text).unwrap();
}

#[test]
fn a_missing_file_is_neither_invalid_nor_created() {
    let server = Server::new().start();
    let valid = server.get("/config/validate").is(200);
    valid.gives(json!("Config file does not exist"));
    let init = server.post("/config/init", json!({})).is(200);
    init.says("no config file yet");
    server.post("/config/recover", json!({})).is(200);
    let backup = server.post("/config/backup", json!({})).is(500);
    backup.says("config.yaml does not exist");
    assert!(!server.root().join("config/config.yaml").exists());
}

#[test]
fn a_valid_file_is_answered_as_recorded() {
    let server = Server::new()
        .config("GOOSE_PROVIDER: openai\ncustom_key: 1\n")
        .start();
    let valid = server.get("/config/validate").is(200);
    valid.gives(json!("Config file is valid"));
    let init = server.ask(
        "POST",
        "/config/init",
        Some(crate::support::client::KEY),
        None,
    );
    init.is(200).gives(json!("Config already exists"));
    let recover = server.post("/config/recover", json!({})).is(200);
    recover.gives(json!(
        "Config recovery completed. Recovered 2 keys: GOOSE_PROVIDER, custom_key"
    ));
    let folder = server.root().join("config");
    let [path, copy] = ["config.yaml", "config.yaml.bak"].map(|name| folder.join(name));
    let backup = server.post("/config/backup", json!({})).is(200);
    backup.gives(json!(format!("Copied {path:?} to {copy:?}")));
    assert_eq!(file(&server, ".bak"), file(&server, ""));
}

#[test]
fn the_newest_backup_that_parses_replaces_a_broken_file() {
    let server = Server::new().config("a: old\n").start();
    server.post("/config/backup", json!({})).is(200);
    write(&server, "", "a: new\nb: 2\n");
    server.post("/config/backup", json!({})).is(200);
    write(&server, "", BROKEN);
    let invalid = server.get("/config/validate").is(422);
    invalid.says("config.yaml").says("line").says("column");
    // A copy of it would push out a good backup.
    server.post("/config/backup", json!({})).is(422);
    let recovered = server.post("/config/recover", json!({})).is(200);
    recovered.says("Recovered 2 keys: a, b").says(".bak");
    assert_eq!(file(&server, ""), "a: new\nb: 2\n");
    assert_eq!(file(&server, ".broken"), BROKEN);
    server.get("/config/validate").is(200);

    write(&server, "", BROKEN);
    write(&server, ".bak", "[");
    let recovered = server.post("/config/recover", json!({})).is(200);
    recovered.says("Recovered 1 keys: a").says(".bak.1");
    assert_eq!(file(&server, ""), "a: old\n");
}

#[test]
fn without_a_backup_that_parses_a_broken_file_stays() {
    let server = Server::new().config(BROKEN).start();
    write(&server, ".bak", "- not\n- a mapping\n");
    let refused = server.post("/config/recover", json!({})).is(422);
    refused.says("line");
    assert_eq!(file(&server, ""), BROKEN);
    assert_eq!(file(&server, ".broken"), "");
}

#[test]
fn two_clients_that_recover_at_once_get_one_whole_file() {
    let server = Server::new().config("a: 1\n").start();
    server.post("/config/backup", json!({})).is(200);
    for _ in 0..10 {
        write(&server, "", BROKEN);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| server.post("/config/recover", json!({})).is(200));
            }
        });
        assert_eq!(file(&server, ""), "a: 1\n");
    }
}

#[test]
fn permissions_without_a_tool_are_refused_whole() {
    let server = Server::new().start();
    let good = json!({"tool_name": "a__b", "permission": "never_allow"});
    let nameless =
        json!({"tool_permissions": [good, {"tool_name": " ", "permission": "ask_before"}]});
    let refused = server.post("/config/permissions", nameless).is(400);
    refused.says("tool_permissions[1].tool_name");
    let many = vec![good; 1_001];
    let refused = server.post("/config/permissions", json!({"tool_permissions": many}));
    refused.is(400).says("1000");
    let bad = json!({"tool_permissions": [{"tool_name": "a", "permission": "sometimes"}]});
    server
        .post("/config/permissions", bad)
        .is(422)
        .says("permission");
    assert!(!server.root().join("config/permission.yaml").exists());
}

#[test]
fn system_info_has_the_recorded_fields() {
    let server = Server::new()
        .config(
            "GOOSE_PROVIDER: openai\nGOOSE_MODEL: gpt-4o\nextensions:\n  one:\n    enabled: true\n    \
             type: stdio\n    name: One Thing\n    cmd: x\n  two:\n    enabled: false\n    type: stdio\n    \
             name: two\n    cmd: x\n",
        )
        .start();
    let info = server.get("/system_info").is(200).body;
    assert_eq!(info["provider"], "openai");
    assert_eq!(info["model"], "gpt-4o");
    assert_eq!(info["enabled_extensions"], json!(["One Thing"]));
    assert_eq!(info["app_version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(info["os"], std::env::consts::OS);
    assert_eq!(info["architecture"], std::env::consts::ARCH);
    let version = info["os_version"].as_str().unwrap();
    assert!(
        version.starts_with(|c: char| c.is_ascii_digit()),
        "{version}"
    );
    // A report of a fault needs the rest when the configuration is the fault.
    write(&server, "", BROKEN);
    let info = server.get("/system_info").is(200).body;
    assert_eq!(info["provider"], Value::Null);
    assert_eq!(info["enabled_extensions"], json!([]));
}

#[test]
fn a_sign_in_with_a_browser_is_refused() {
    let server = Server::new().start();
    let refused = server.post("/config/providers/openai/oauth", json!({}));
    refused.is(400).says("store a key");
    let unknown = server.post("/config/providers/nope/oauth", json!({}));
    unknown.is(400).says("Unsupported provider 'nope'");
}
