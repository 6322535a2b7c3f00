//! Extensions in a container. The container runtime is a script that runs commands on this machine.
// Some tests and their helpers need features that a build may leave out.
#![cfg(all(feature = "containers", unix))] // The runtime is a script of a shell.
#![cfg_attr(not(feature = "developer"), allow(dead_code, unused_imports))]

#[path = "../support/mod.rs"]
mod support;

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use support::process::{children, descendants};
use support::scripted::Script;
use support::server::{
    Extension, GOSLING, Record, RunningServer, Server, Session, as_argument, scripted_mcp,
};
use support::system::{script, symlink};
use support::{TempDir, temp_dir, until};

const TOKEN: &str = "tr0ub4dor-and-3";

/// The folder of a fake container runtime: its clients, the programs inside, and the recorded calls.
struct Runtime(TempDir);

impl Runtime {
    /// Creates a runtime whose client has this name.
    fn called(name: &str) -> Self {
        let folder = temp_dir();
        let at = |name: &str| folder.path().join(name);
        script(&at(name), include_str!("runtime.sh"));
        for inside in ["inside", "own"] {
            fs::create_dir(at(inside)).unwrap();
        }
        symlink(GOSLING, at("inside/gosling")).unwrap();
        symlink(scripted_mcp(), at("inside/scripted")).unwrap();
        Runtime(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A server that finds this runtime first.
    fn server(&self) -> Server {
        Server::new().env("PATH", self.path().to_str().unwrap())
    }

    /// The recorded lines of this kind.
    fn calls(&self, kind: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path().join("calls")).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines
            .filter(|(k, _)| *k == kind)
            .map(|(_, rest)| rest.to_owned())
            .collect()
    }

    /// The arguments of all calls, joined.
    fn words(&self) -> String {
        self.calls("word").join(" ")
    }
}

/// A scripted server that exists only inside of the container.
fn scripted(record: &Record) -> Extension {
    let script = Script::new().recorded(&record.path());
    Extension::stdio("one", "scripted", &[&as_argument(&script)])
}

#[track_caller]
fn put(session: &Session<'_>, container: Value) {
    let answer = session.post("/agent/set_container", json!({"container_id": container}));
    answer.is(200).says_nothing();
}

/// A session in the container `box`, with these extensions, all of which are active.
#[track_caller]
fn boxed(server: &RunningServer, extensions: impl IntoIterator<Item = Extension>) -> Session<'_> {
    let session = server.session([]);
    put(&session, json!("box"));
    for extension in extensions {
        session.add(extension).is(200).says_nothing();
    }
    session
}

fn at(path: &Path) -> Value {
    json!(fs::canonicalize(path).unwrap())
}

/// The status of an extension.
#[track_caller]
fn status(session: &Session<'_>) -> Value {
    let path = format!("/agent/extensions?session_id={}", session.id);
    session.server.get(&path).is(200).body["extensions"][0].clone()
}

#[test]
fn a_command_runs_inside_with_its_variables_and_no_others() {
    let docker = Runtime::called("docker");
    let record = Record::new();
    let server = docker
        .server()
        .secrets(&format!("TOKEN: {TOKEN}\n"))
        .env("ON_THIS_MACHINE", "1")
        .env("GOOSE_LOG", "trace")
        .start();
    let one = scripted(&record)
        .with("envs", json!({"PLAIN": "a b=c"}))
        .with("env_keys", ["TOKEN"]);
    let session = boxed(&server, [one]);
    session.echoes("one");

    let started = record.starts().remove(0);
    assert_eq!(started["cwd"], at(&server.work()));
    let env = &started["env"];
    for (name, value) in [
        ("TOKEN", TOKEN),
        ("PLAIN", "a b=c"),
        ("AGENT_SESSION_ID", session.id.as_str()),
        ("OF_THE_CONTAINER", "1"),
    ] {
        assert_eq!(env[name], value, "{name}");
    }
    for absent in [
        "ON_THIS_MACHINE",
        "GOOSE_SERVER__SECRET_KEY",
        "GOOSE_PATH_ROOT",
    ] {
        assert!(env.get(absent).is_none(), "{absent}");
    }

    let work = server.work();
    let head = format!(
        "exec -i -w {} -e PLAIN -e TOKEN -e AGENT_SESSION_ID box scripted ",
        work.display()
    );
    assert!(docker.words().starts_with(&head), "{}", docker.words());
    assert!(!docker.words().contains(TOKEN) && !docker.words().contains("a b=c"));
    assert_eq!(docker.calls("has"), ["TOKEN", "PLAIN"]);
    for process in descendants(server.pid()) {
        let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains(TOKEN));
    }
    server.never_logs(TOKEN);
    assert_eq!(status(&session)["container"], "box");
}

#[cfg(feature = "developer")]
#[test]
fn a_builtin_extension_is_gosling_inside() {
    let docker = Runtime::called("docker");
    let server = docker.server().start();
    let session = boxed(&server, [Extension::builtin("developer")]);
    let command = "pwd; echo $OF_THE_CONTAINER $AGENT_SESSION_ID; echo made > here";
    let answer = session
        .call("developer__shell", json!({"command": command}))
        .is(200);
    let work = fs::canonicalize(server.work()).unwrap();
    let said = answer.content();
    for part in [work.to_str().unwrap(), &format!("1 {}", session.id)] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(fs::read_to_string(work.join("here")).unwrap(), "made\n");
    let tail = " -e AGENT_SESSION_ID box gosling mcp developer";
    assert!(docker.words().ends_with(tail), "{}", docker.words());
    assert!(!children(server.pid()).is_empty(), "it has a process");
}

#[cfg(feature = "todo")]
#[test]
fn what_has_only_the_sessions_data_stays() {
    let docker = Runtime::called("docker");
    let server = docker.server().start();
    let todo = Extension(json!({"type": "platform", "name": "todo"}));
    let session = boxed(&server, [todo]);
    let list = json!({"content": "- [ ] tea"});
    session.call("todo__todo_write", list).is(200);
    let session = server.get(&format!("/sessions/{}", session.id)).is(200);
    assert!(session.text.contains("- [ ] tea"), "{}", session.text);
    assert_eq!(docker.words(), "");
}

#[test]
fn extensions_move_with_their_session_and_back() {
    let docker = Runtime::called("docker");
    let record = Record::new();
    let server = docker.server().start();
    let script = Script::new().recorded(&record.path());
    let session = server.session([Extension::scripted("one", &script)]);
    let inside = || {
        let last = record.starts().pop().unwrap();
        last["env"].get("OF_THE_CONTAINER").is_some()
    };
    assert!(!inside());
    put(&session, json!("box"));
    assert!(inside());
    session.echoes("one");
    put(&session, json!("box"));
    assert_eq!(record.starts().len(), 2, "it is there already");
    put(&session, Value::Null);
    assert!(!inside());
    session.echoes("one");
    assert_eq!(status(&session).get("container"), None);
    assert_eq!(record.starts().len(), 3);
}

#[cfg(feature = "developer")]
#[test]
fn a_tool_of_what_did_not_come_up_says_why() {
    let docker = Runtime::called("docker");
    let server = docker.server().start();
    let session = boxed(
        &server,
        [Extension::builtin("todo"), Extension::builtin("memory")],
    );
    put(&session, json!("gone"));
    let called = || session.call("memory__retrieve_memories", json!({"category": "*"}));
    called().is(500).says("No such container: gone");
    session
        .call("other__x", json!({}))
        .is(500)
        .says("no active extension owns");
    put(&session, json!("box"));
    called().is(200);
}

#[test]
fn one_extension_may_have_a_container_of_its_own() {
    let docker = Runtime::called("docker");
    let record = Record::new();
    let server = docker.server().start();
    let own = scripted(&record).with("container", "box");
    let session = server.session([own, Extension::demo()]);
    session.echoes("one");
    assert_eq!(docker.calls("as"), ["docker"]);
    // The extension keeps its container when that of the session changes.
    put(&session, json!("gone"));
    session.echoes("one");
    let error = server.refuses(scripted(&record).with("container", "--privileged"));
    assert!(error.contains("cannot be the name"), "{error}");
}

#[test]
fn it_survives_a_restart_and_a_rest() {
    let docker = Runtime::called("docker");
    let record = Record::new();
    let server = docker
        .server()
        .setting("GOOSE_SESSION_IDLE_SECS", 1)
        .start();
    let id = boxed(&server, [scripted(&record)]).id;
    let server = server.restart();
    let session = server.known(&id);
    assert_eq!(session.resume(), [json!({"name": "one", "success": true})]);
    session.echoes("one");
    until("the session rests", || {
        (status(&session)["state"] == "idle").then_some(())
    });
    session.echoes("one");
    let starts = record.starts();
    assert!(starts.len() >= 3, "{}", starts.len());
    assert!(
        starts
            .iter()
            .all(|start| start["env"]["OF_THE_CONTAINER"] == "1")
    );
}

#[test]
fn an_agent_that_does_not_run_is_not_started() {
    let docker = Runtime::called("docker");
    let record = Record::new();
    let server = docker.server().start();
    let session = server.session([scripted(&record).with("container", "box")]);
    session.stop();
    put(&session, json!("box"));
    assert_eq!(record.starts().len(), 1);
    session.resume();
    assert_eq!(record.starts().len(), 2);
}

#[test]
fn what_is_no_container_is_refused() {
    let docker = Runtime::called("docker");
    let server = docker.server().start();
    let session = server.session([]);
    for name in ["", "-it", "--privileged", "a b", "../x", "a\n", "ä"] {
        let answer = session.post("/agent/set_container", json!({"container_id": name}));
        answer
            .is(400)
            .says("cannot be the name or id of a container");
    }
    let answer = session.post("/agent/set_container", json!({"container_id": 7}));
    answer.is(422);
    let unknown = json!({"session_id": "20200101_1", "container_id": "box"});
    let status = server.post("/agent/set_container", unknown.clone()).status;
    let neighbour = json!({"session_id": "20200101_1", "name": "x"});
    assert_eq!(
        status,
        server.post("/agent/remove_extension", neighbour).status
    );
    let empty = json!({"session_id": session.id});
    server.post("/agent/set_container", empty).is(200);
}

/// Why an extension cannot be activated in this container.
#[track_caller]
fn why_not(server: &RunningServer, container: &str, extension: Extension) -> String {
    let session = server.session([]);
    put(&session, json!(container));
    let answer = session.add(extension).is(500);
    answer.message().to_owned()
}

#[track_caller]
fn says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "{error}\nlacks {part}");
    }
}

#[cfg(feature = "developer")]
#[test]
fn what_keeps_it_from_starting_is_explained() {
    let docker = Runtime::called("docker");
    let record = Record::new();
    let server = docker
        .server()
        .secrets(&format!("TOKEN: {TOKEN}\n"))
        .start();
    let one = || scripted(&record);
    says(
        &why_not(&server, "gone", one()),
        &["No such container: gone", "docker ps -a"],
    );
    says(&why_not(&server, "stopped", one()), &["is not running"]);
    let error = why_not(&server, "leaky", one().with("env_keys", ["TOKEN"]));
    says(&error, &["bad token [secret]"]);
    let missing = Extension::stdio("one", "no-such-program", &[]);
    says(
        &why_not(&server, "box", missing),
        &["status: 127", "\"no-such-program\"", "inside"],
    );
    server.logs("executable file not found");
    let error = why_not(&server, "box", one().with("envs", json!({"HOME": "/root"})));
    says(&error, &["`HOME`", "container runtime"]);
    let error = why_not(
        &server,
        "box",
        one().with("envs", json!({"LD_PRELOAD": "x"})),
    );
    says(&error, &["`LD_PRELOAD`", "loader"]);
    assert_eq!(record.starts(), [Value::Null; 0], "none was started");

    let python = Extension(json!({
        "type": "inline_python", "name": "py", "description": "", "code": "c"
    }));
    says(
        &why_not(&server, "box", python),
        &["cannot run in a container"],
    );

    fs::remove_file(docker.path().join("inside/gosling")).unwrap();
    says(
        &why_not(&server, "box", Extension::builtin("developer")),
        &["status: 127", "GOOSE_CONTAINER_GOSLING"],
    );
    server.never_logs(TOKEN);
}

#[cfg(feature = "developer")]
#[test]
fn where_it_works_and_what_is_run_there_may_be_said() {
    let docker = Runtime::called("docker");
    let record = Record::new();
    let server = docker
        .server()
        .setting("GOOSE_CONTAINER_WORKDIR", "/nowhere/at/all")
        .start();
    let error = why_not(&server, "box", scripted(&record));
    says(&error, &["\"/nowhere/at/all\"", "GOOSE_CONTAINER_WORKDIR"]);
    drop(server);

    let gosling = docker.path().join("inside/other-name");
    symlink(GOSLING, &gosling).unwrap();
    let server = docker
        .server()
        .setting("GOOSE_CONTAINER_WORKDIR", ".")
        .setting("GOOSE_CONTAINER_GOSLING", gosling.to_str().unwrap())
        .start();
    let session = boxed(&server, [Extension::builtin("developer")]);
    let answer = session
        .call("developer__shell", json!({"command": "pwd"}))
        .is(200);
    let own = fs::canonicalize(docker.path().join("own")).unwrap();
    says(answer.content(), &[own.to_str().unwrap()]);
    says(&docker.words(), &["other-name mcp developer"]);
}

#[test]
fn podman_serves_where_docker_is_not_on_path() {
    let podman = Runtime::called("podman");
    let record = Record::new();
    let server = podman.server().start();
    boxed(&server, [scripted(&record)]).echoes("one");
    assert_eq!(podman.calls("as"), ["podman"]);
}

#[test]
fn the_runtime_that_is_named_is_the_one() {
    let docker = Runtime::called("docker");
    let record = Record::new();
    let other = Runtime::called("nerdctl");
    let path: PathBuf = other.path().join("nerdctl");
    let server = docker
        .server()
        .setting("GOOSE_CONTAINER_RUNTIME", path.to_str().unwrap())
        .start();
    boxed(&server, [scripted(&record)]).echoes("one");
    assert_eq!(
        (docker.words().as_str(), other.calls("as")),
        ("", vec!["nerdctl".to_owned()])
    );
    drop(server);

    let server = docker
        .server()
        .setting("GOOSE_CONTAINER_RUNTIME", "no-such-runtime")
        .start();
    let error = why_not(&server, "box", scripted(&record));
    says(
        &error,
        &[
            "GOOSE_CONTAINER_RUNTIME",
            "\"no-such-runtime\" was not found",
        ],
    );
}

#[test]
fn nothing_is_left_when_the_session_ends() {
    let docker = Runtime::called("docker");
    let record = Record::new();
    let server = docker.server().start();
    let session = boxed(&server, [scripted(&record)]);
    session.echoes("one");
    // The process of the script runs the command, so it ends when a client would.
    let pid: u32 = docker.calls("pid")[0].parse().unwrap();
    assert_eq!(status(&session)["pid"], pid);
    session.stop();
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}
