//! Extensions of type `inline_python` on a real server. In the place of `uvx` and Python there is a shell script
//! that runs the code as a shell script, so the tests need neither.
#![cfg(all(feature = "inline-python", unix))]

mod support;

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use support::scripted::{Action, Script};
use support::server::{Extension, RunningServer, Server, as_argument, scripted_mcp};
use support::system::{has_mode, script, symlink};
use support::until;

/// The launcher: notes its arguments and its environment, fails as uv does if a package does not exist, and
/// runs the last argument.
const UVX: &str = r#"#!/bin/sh
for last; do :; done
{ printf '%s\n' "$@"; } >"$NOTES/arguments.new" && mv "$NOTES/arguments.new" "$NOTES/arguments"
env >"$NOTES/environment"
ls -ldn "$(dirname "$last")" "$last" >"$NOTES/modes"
for argument; do
    if [ "$argument" = no-such-package ]; then
        echo '  × No solution found when resolving tool dependencies:' >&2
        echo '  ╰─▶ Because no-such-package was not found in the package registry' >&2
        exit 1
    fi
done
exec sh "$last"
"#;

/// A server whose `uvx` is the one above and that has a folder of its own for temporary files.
fn server() -> Server {
    let server = Server::new();
    let root = server.root().to_owned();
    for folder in ["bin", "notes", "tmp"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    script(&root.join("bin/uvx"), UVX);
    let path = std::env::var("PATH").unwrap();
    let text = |name: &str| root.join(name).to_str().unwrap().to_owned();
    server
        .env("PATH", &format!("{}:{path}", text("bin")))
        .env("NOTES", &text("notes"))
        .env("TMPDIR", &text("tmp"))
}

fn python(name: &str, code: &str) -> Extension {
    Extension(json!({
        "type": "inline_python", "name": name, "description": "", "code": code, "timeout": 60,
    }))
}

/// Code that runs a scripted MCP server.
fn code(script: &Script) -> String {
    let argument = as_argument(script).replace('\'', r"'\''");
    format!("exec '{}' '{argument}'\n", scripted_mcp())
}

fn echoing(name: &str) -> Extension {
    python(name, &code(&Script::new()))
}

fn notes(server: &RunningServer, name: &str) -> String {
    fs::read_to_string(server.root().join("notes").join(name)).unwrap()
}

/// The folders of the extensions that run.
fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join("tmp")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[track_caller]
fn no_folder_is_left(server: &RunningServer) {
    until("the folders are removed", || {
        folders(server.root()).is_empty().then_some(())
    });
}

/// Adds the extension, which must fail with this class; returns the message.
#[track_caller]
fn refused(server: &RunningServer, extension: &Extension, class: &str) -> String {
    let session = server.session([]);
    let answer = session.add(extension.clone()).is(500);
    assert_eq!(answer.body["class"], class, "{}", answer.text);
    let session = server.begin_session([extension.clone()]);
    let results = session.resume();
    assert_eq!(results[0]["class"], class, "{results:?}");
    assert_eq!(results[0]["success"], false);
    session.stop();
    no_folder_is_left(server);
    answer.message().to_owned()
}

#[test]
fn the_code_runs_as_a_server_with_its_packages() {
    let server = server()
        .env("UV_INDEX_URL", "http://127.0.0.1:9/simple")
        .start();
    let extension = echoing("My Tools").with("dependencies", json!(["requests", "rich>=13,<15"]));
    let session = server.session([extension.clone()]);
    session.echoes("mytools");
    assert_eq!(session.tools(), ["mytools__echo"]);

    let folders = folders(server.root());
    let [folder] = &folders[..] else {
        panic!("{folders:?}")
    };
    let file = folder.join("inline_extension.py");
    assert_eq!(fs::read_to_string(&file).unwrap(), extension.0["code"]);
    assert!(has_mode(folder, 0o700) && has_mode(&file, 0o600));
    let words = [
        "--with",
        "mcp",
        "--with",
        "requests",
        "--with",
        "rich>=13,<15",
        "python",
    ];
    let arguments = notes(&server, "arguments");
    let expected: Vec<&str> = words.into_iter().chain([file.to_str().unwrap()]).collect();
    assert_eq!(arguments.lines().collect::<Vec<_>>(), expected);

    let environment = notes(&server, "environment");
    let has = |line: &str| environment.lines().any(|it| it == line);
    assert!(
        has("UV_INDEX_URL=http://127.0.0.1:9/simple"),
        "{environment}"
    );
    assert!(has(&format!("AGENT_SESSION_ID={}", session.id)));
    assert!(
        has(&format!("PWD={}", server.work().display())),
        "{environment}"
    );
    assert!(!environment.contains("GOOSE_SERVER__SECRET_KEY"));

    let listed = server.get(&format!("/sessions/{}/extensions", session.id));
    assert_eq!(
        listed.is(200).body["extensions"][0]["code"],
        extension.0["code"]
    );
    session.remove("My Tools").is(200);
    no_folder_is_left(&server);
    for phase in ["setup", "initialize"] {
        server.logs(&format!("extension=\"mytools\" phase={phase} ms="));
    }
}

#[test]
fn the_launcher_is_told_that_gosling_is_offline() {
    let server = server().start_as(&["agent", "--port", "0", "--offline"]);
    server.session([echoing("py")]).echoes("py");
    let environment = notes(&server, "environment");
    assert!(environment.lines().any(|line| line == "UV_OFFLINE=1"));
}

#[test]
fn a_turn_calls_its_tools() {
    let turns = json!({"turns": [
        {"steps": [{"call": {"name": "py__echo", "arguments": {"message": "from Python"}}}]},
        {"steps": [{"text": "done"}]},
    ]});
    let scripted = Server::scripted(turns);
    fs::create_dir(scripted.root().join("tmp")).unwrap();
    let tmp = scripted.root().join("tmp").to_str().unwrap().to_owned();
    let server = scripted
        .setting("GOOSE_MODE", "auto")
        .setting("GOOSE_INLINE_PYTHON_RUNNER", "sh -e '{file}'")
        .env("TMPDIR", &tmp)
        .start();
    let session = server.session([echoing("py")]);
    let turn = session.say("call it").finishes();
    assert_eq!(turn.results(), ["from Python"]);
    server.terminate();
    assert!(folders(Path::new(&tmp).parent().unwrap()).is_empty());
}

#[test]
fn an_invalid_field_is_named_and_nothing_is_stored() {
    let server = server().start();
    let session = server.session([]);
    let valid = || json!({"type": "inline_python", "name": "n", "description": null, "code": "c"});
    for (field, value, reason) in [
        ("name", json!(""), "`name` is empty"),
        ("name", json!(7), "name: invalid type"),
        ("name", Value::Null, "name: invalid type"),
        ("code", json!(" \n"), "`code` is empty"),
        ("code", json!(["c"]), "code: invalid type"),
        ("code", Value::Null, "code: invalid type"),
        (
            "dependencies",
            json!("requests"),
            "dependencies: invalid type",
        ),
        (
            "dependencies",
            json!(["a", 1]),
            "dependencies: invalid type",
        ),
        (
            "dependencies",
            json!({"a": "1"}),
            "dependencies: invalid type",
        ),
        ("timeout", json!("soon"), "timeout: invalid type"),
        (
            "available_tools",
            json!([{}]),
            "available_tools: invalid type",
        ),
        ("description", json!(1), "description: invalid type"),
    ] {
        let mut config = valid();
        config[field] = value;
        let entry = json!({"name": "n", "enabled": true, "config": config});
        server
            .post("/config/extensions", entry)
            .is(422)
            .says(reason);
        session.add(Extension(config)).is(422).says(reason);
    }
    for field in ["name", "code", "description"] {
        let mut config = valid();
        config.as_object_mut().unwrap().remove(field);
        let missing = format!("missing field `{field}`");
        session.add(Extension(config)).is(422).says(&missing);
    }
    let listed = server.get("/config/extensions").is(200);
    assert!(!listed.text.contains("inline_python"), "{}", listed.text);

    let entry = json!({"name": "n", "enabled": false, "config": valid()});
    server.post("/config/extensions", entry).is(200);
    let listed = server.get("/config/extensions").is(200).body;
    let all = listed["extensions"].as_array().unwrap();
    let stored = all.iter().find(|it| it["name"] == "n").unwrap();
    assert_eq!(stored["description"], "");
    assert_eq!(stored["dependencies"], Value::Null);
}

#[test]
fn a_package_that_does_not_exist_is_a_failed_setup_with_the_words_of_uv() {
    let server = server().start();
    let extension = echoing("py").with("dependencies", json!(["no-such-package"]));
    let message = refused(&server, &extension, "setup");
    for part in [
        "extension \"py\", setup: ",
        "× No solution found when resolving tool dependencies",
        "no-such-package was not found in the package registry",
        "`dependencies`",
        "UV_FIND_LINKS",
    ] {
        assert!(message.contains(part), "{message} lacks {part}");
    }
    server.logs("extension=\"py\" phase=initialize class=setup ms=");
}

#[test]
fn code_that_ends_early_fails_with_its_stderr() {
    let server = server().start();
    let ends = python(
        "py",
        "echo 'error: mine' >&2; echo 'Traceback (most recent call last)' >&2; exit 3",
    );
    let message = refused(&server, &ends, "initialize");
    for part in ["initialize: ", "exit status: 3", "error: mine"] {
        assert!(message.contains(part), "{message} lacks {part}");
    }
    for (error, advice) in [
        (
            "ModuleNotFoundError: No module named 'mcp.server.fastmcp'",
            "`mcp<2`",
        ),
        (
            "ImportError: cannot import name 'FastMCP' from 'mcp.server'",
            "GOOSE_INLINE_PYTHON_MCP",
        ),
        (
            "ModuleNotFoundError: No module named 'mcp.server.mcpserver'",
            "`mcp>=2`",
        ),
        (
            "ModuleNotFoundError: No module named 'requests'",
            "add the package that has this module",
        ),
    ] {
        let code = format!("echo \"Traceback (most recent call last):\n{error}\" >&2; exit 1");
        let message = refused(&server, &python("py", &code), "initialize");
        assert!(
            message.contains(error) && message.contains(advice),
            "{message}"
        );
    }
}

#[test]
fn code_that_never_answers_fails_in_time_and_ends() {
    let server = server().start();
    let rest = server.at_rest();
    let silent = python("py", "sleep 1000 & cat >/dev/null").with_short_timeout();
    let message = refused(&server, &silent, "timeout");
    assert!(message.contains("`timeout`"), "{message}");
    server.returns_to(rest);
}

#[test]
fn what_cannot_be_started_is_a_failed_setup() {
    let missing = server().setting("GOOSE_INLINE_PYTHON_RUNNER", "no-such-launcher {file}");
    let server_without_launcher = missing.start();
    let message = refused(&server_without_launcher, &echoing("py"), "setup");
    for part in [
        "\"no-such-launcher\" was not found",
        "GOOSE_INLINE_PYTHON_RUNNER",
    ] {
        assert!(message.contains(part), "{message} lacks {part}");
    }
    let homeless = server();
    let nowhere = homeless.root().join("tmp/none");
    let nowhere = nowhere.to_str().unwrap().to_owned();
    let homeless = homeless.env("TMPDIR", &nowhere).start();
    let message = refused(&homeless, &echoing("py"), "setup");
    for part in ["cannot be written", "TMPDIR", &nowhere] {
        assert!(message.contains(part), "{message} lacks {part}");
    }
}

#[test]
fn a_command_line_that_is_too_long_is_a_failed_setup() {
    let server = server().start();
    let extension = echoing("py").with("dependencies", json!(["a".repeat(3 << 20)]));
    let message = refused(&server, &extension, "setup");
    assert!(message.contains("too long"), "{message}");
    assert!(message.len() < 1_000, "{} bytes", message.len());
}

#[test]
fn a_package_is_never_an_option_of_the_launcher() {
    let server = server().start();
    for package in ["--index-url=http://127.0.0.1:9/", " -r/etc/passwd", "-"] {
        let extension = echoing("py").with("dependencies", json!(["ok", package]));
        let message = refused(&server, &extension, "security");
        assert!(message.contains(package.trim()), "{message}");
    }
    for package in ["", "a\0b", "a\nb", "x{file}"] {
        let extension = echoing("py").with("dependencies", json!([package]));
        refused(&server, &extension, "config");
    }
    let started = server.root().join("notes/arguments");
    assert!(!started.exists(), "the launcher was started");

    let loader = Extension::demo().with("envs", json!({"ld_preload": "/tmp/x.so"}));
    refused(&server, &loader, "security");
    refused(
        &server,
        &Extension::demo().with("env_keys", json!(["NOT_SET"])),
        "config",
    );
}

#[test]
fn settings_choose_the_sdk_and_the_launcher() {
    let sdk = server().setting("GOOSE_INLINE_PYTHON_MCP", "mcp==9");
    let sdk = sdk.env("GOOSE_INLINE_PYTHON_MCP", "mcp<2").start();
    sdk.session([echoing("py")]).echoes("py");
    assert!(notes(&sdk, "arguments").starts_with("--with\nmcp<2\npython\n"));

    for (runner, fault) in [
        ("sh", "`{file}`"),
        ("{file}", "`{file}`"),
        ("sh '{file}", "is not closed"),
    ] {
        let server = server()
            .setting("GOOSE_INLINE_PYTHON_RUNNER", runner)
            .start();
        let message = refused(&server, &echoing("py"), "config");
        assert!(message.contains(fault), "{message}");
    }
}

#[test]
fn a_name_never_reaches_the_file_system() {
    let server = server().start();
    let long = "n".repeat(50_000);
    for name in [
        "../x",
        "/etc/passwd",
        "a\0b",
        "\u{202e}gnp",
        "-rf",
        "{file}",
        &long,
    ] {
        let session = server.session([echoing(name)]);
        let tools = session.tools();
        assert_eq!(tools.len(), 1, "{name}");
        let answer = session.call(&tools[0], json!({"message": "here"}));
        assert_eq!(answer.is(200).content(), "here");
        let arguments = notes(&server, "arguments");
        let file = Path::new(arguments.lines().last().unwrap());
        assert_eq!(file.file_name().unwrap(), "inline_extension.py");
        assert_eq!(folders(server.root()), [file.parent().unwrap()]);
        session.stop();
        no_folder_is_left(&server);
    }
}

#[test]
fn a_hundred_starts_and_ends_leave_nothing() {
    let server = server().start();
    let session = server.session([]);
    session.add(echoing("py")).is(200);
    session.remove("py").is(200);
    let rest = server.at_rest();
    for n in 0..100 {
        session.add(echoing("py")).is(200);
        if n % 10 == 0 {
            session.echoes("py");
        }
        session.remove("py").is(200);
    }
    assert!(folders(server.root()).is_empty());
    server.returns_to(rest);
}

#[test]
fn the_next_start_after_a_kill_removes_the_file_and_no_file_in_use() {
    let first = server().start();
    first.session([echoing("py")]);
    let left = folders(first.root());
    assert_eq!(left.len(), 1);
    let other = first.beside();
    let others = other.session([echoing("py")]);
    assert_eq!(folders(first.root()).len(), 2, "both are in use");
    let stranger = first.root().join("tmp/gosling-python-file");
    fs::write(&stranger, "not a folder").unwrap();
    let elsewhere = first.root().join("work/keep");
    fs::write(&elsewhere, "").unwrap();
    let link = first.root().join("tmp/gosling-python-link");
    symlink(first.root().join("work"), &link).unwrap();

    let second = first.restart_after_kill();
    assert!(left[0].exists());
    let session = second.session([echoing("py")]);
    session.echoes("py");
    assert!(!left[0].exists(), "the leftover is removed");
    assert_eq!(folders(second.root()).len(), 4);
    others.echoes("py");
    assert!(elsewhere.exists() && stranger.exists());
    let paths = [stranger, link];
    assert!(paths.iter().all(|path| fs::remove_file(path).is_ok()));
    others.stop();
    session.stop();
    no_folder_is_left(&second);
}

#[test]
fn a_server_that_died_is_started_again_from_a_new_file() {
    let server = server().start();
    let dies = Script::new().tool("die", [Action::Exit(9)]);
    let session = server.session([python("py", &code(&dies))]);
    let first = folders(server.root());
    session.call("py__die", json!({})).is(500);
    no_folder_is_left(&server);
    session.echoes("py");
    let second = folders(server.root());
    assert_eq!(second.len(), 1);
    assert_ne!(first, second);
    session.stop();
    no_folder_is_left(&server);
}

#[test]
fn a_restart_that_fails_tells_why_and_leaves_no_file() {
    let server = server().start();
    let dies = Script::new().tool("die", [Action::Exit(9)]);
    let second = "[ -e started ] && { echo 'error: no such package' >&2; exit 2; }";
    let code = format!("{second}\ntouch started\n{}", code(&dies));
    let session = server.session([python("py", &code)]);
    let status = || {
        let path = format!("/agent/extensions?session_id={}", session.id);
        server.get(&path).is(200).body["extensions"][0].clone()
    };
    assert_eq!(status().get("class"), None);
    let answer = session.call("py__die", json!({})).is(500);
    assert_eq!(answer.body["class"], "execution", "{}", answer.text);
    for _ in 0..2 {
        let answer = session.call("py__echo", json!({})).is(500);
        assert_eq!(answer.body["class"], "setup", "{}", answer.text);
        let status = status();
        assert_eq!(
            (&status["state"], &status["class"]),
            (&json!("broken"), &json!("setup"))
        );
        no_folder_is_left(&server);
    }
}

#[test]
fn an_idle_session_has_no_file_and_gets_one_with_its_next_request() {
    let server = server().setting("GOOSE_SESSION_IDLE_SECS", 1).start();
    let session = server.session([echoing("py")]);
    no_folder_is_left(&server);
    session.echoes("py");
    no_folder_is_left(&server);
}

#[test]
fn many_start_at_once_and_each_has_its_own_file() {
    let server = server().start();
    let names: Vec<String> = (0..12).map(|n| format!("p{n:02}")).collect();
    let session = server.session(names.iter().map(|name| {
        let says = Script::new().tool("who", [Action::text(name)]);
        python(name, &code(&says))
    }));
    assert_eq!(folders(server.root()).len(), names.len());
    for name in &names {
        let answer = session.call(&format!("{name}__who"), json!({}));
        assert_eq!(answer.is(200).content(), name);
    }
    session.stop();
    assert!(folders(server.root()).is_empty(), "the end waits for it");
}

#[test]
fn a_call_that_fails_is_of_class_execution() {
    let server = server().start();
    let fails = Script::new().tool("fail", [Action::Error(-32000, "no".to_owned())]);
    let session = server.session([python("py", &code(&fails))]);
    let answer = session.call("py__fail", json!({})).is(500);
    assert_eq!(answer.body["class"], "execution", "{}", answer.text);
    server.logs("tool call failed extension=\"py\" phase=execution class=execution ms=");
}

#[test]
fn a_tool_of_an_extension_that_did_not_start_has_the_class_of_that_failure() {
    let server = server().start();
    let session = server.begin_session([python("py", "exit 1")]);
    session.resume();
    let answer = session.call("py__echo", json!({})).is(500);
    assert_eq!(answer.body["class"], "initialize", "{}", answer.text);
}

#[cfg(feature = "recipes")]
#[test]
fn a_recipe_brings_its_own_server() {
    let server = server().start();
    let recipe = json!({
        "title": "T", "description": "D", "instructions": "Use the tool",
        "extensions": [echoing("py").0],
    });
    let session = server.start(json!({"working_dir": server.work(), "recipe": recipe}));
    let results = session.resume();
    assert_eq!(results, [json!({"name": "py", "success": true})]);
    session.echoes("py");
}
