//! The builtin extensions `memory` and `todo`, in sessions of a running server.
#![cfg(feature = "memory")]

#[path = "../support/mod.rs"]
mod support;

#[cfg(feature = "todo")]
mod todo;

use gosling::mcp::client::{CallOptions, Client, NotificationHandler, Options};
use gosling::mcp::transport::stdio::{StdioOptions, StdioTransport};
use gosling::mcp::types::Implementation;
use gosling::sys::cancel::Cancel;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use support::client::Answer;
use support::server::{Extension, GOSLING, RunningServer, Server, Session};

/// Runs the test in a session with the extension.
fn with_memory(test: impl FnOnce(&Session<'_>)) {
    let server = Server::new().start();
    let session = server.session([Extension::builtin("memory")]);
    test(&session);
}

fn local(server: &RunningServer) -> PathBuf {
    server.work().join(".goose/memory")
}

fn global(server: &RunningServer) -> PathBuf {
    server.root().join("config/memory")
}

#[track_caller]
fn call(session: &Session<'_>, tool: &str, arguments: Value) -> Answer {
    session.call(&format!("memory__{tool}"), arguments)
}

#[track_caller]
fn result_text(session: &Session<'_>, tool: &str, arguments: Value) -> String {
    let answer = call(session, tool, arguments).is(200);
    assert_eq!(answer.body["is_error"], false, "{:?}", answer.body);
    answer.content().to_owned()
}

/// The error text for the model.
#[track_caller]
fn fails(session: &Session<'_>, tool: &str, arguments: Value) -> String {
    let answer = call(session, tool, arguments).is(200);
    assert_eq!(answer.body["is_error"], true, "{:?}", answer.body);
    answer.content().to_owned()
}

#[track_caller]
fn remember(session: &Session<'_>, category: &str, data: &str, tags: &[&str], is_global: bool) {
    let arguments =
        json!({"category": category, "data": data, "tags": tags, "is_global": is_global});
    result_text(session, "remember_memory", arguments);
}

/// The URIs of the resources.
fn resources(session: &Session<'_>) -> Vec<String> {
    let path = format!("/agent/resources?session_id={}", session.id);
    let answer = session.server.get(&path).is(200);
    let resources = answer.body["resources"].as_array().unwrap().iter();
    let uris = resources.map(|resource| resource["uri"].as_str().unwrap().to_owned());
    uris.collect()
}

#[test]
fn its_tools_say_what_they_do_to_what_is_kept() {
    let server = Server::new().start();
    let (client, _) = on_stdio(&server);
    let tools = client.list_tools(&Cancel::new()).unwrap();
    let told: Vec<_> = tools
        .iter()
        .map(|tool| {
            let hints = tool.annotations.as_ref().unwrap();
            (
                tool.name.as_str(),
                hints.read_only_hint,
                hints.destructive_hint,
            )
        })
        .collect();
    let expected = [
        ("remember_memory", false, false),
        ("retrieve_memories", true, false),
        ("search_memories", true, false),
        ("remove_memory_category", false, true),
        ("remove_specific_memory", false, true),
    ];
    let expected = expected.map(|(name, reads, destroys)| (name, Some(reads), Some(destroys)));
    assert_eq!(told, expected);
}

#[test]
fn what_is_remembered_is_in_goose_s_files_and_found_again() {
    with_memory(|session| {
        let server = session.server;
        remember(session, "style", "Use tabs.", &["rust", "two words"], false);
        remember(session, "style", "# Not tags\n\nNever spaces.", &[], false);
        remember(session, "me", "I am Ada", &[], true);
        // An equal entry is not added again.
        remember(session, "me", "I am Ada", &[], true);
        let file = local(server).join("style.txt");
        assert_eq!(
            fs::read_to_string(file).unwrap(),
            "# rust two-words\nUse tabs.\n\n#\n# Not tags\n \nNever spaces.\n\n"
        );
        let file = global(server).join("me.txt");
        assert_eq!(fs::read_to_string(file).unwrap(), "I am Ada\n\n");

        // A file as Goose writes it.
        let goose = "# build ci\nmake all\nmake test\n\nplain\n\n";
        fs::write(local(server).join("commands.txt"), goose).unwrap();
        let all = result_text(session, "retrieve_memories", json!({"category": "*"}));
        assert_eq!(
            all,
            "## commands (local)\n- [build ci] make all\n  make test\n- plain\n\
             ## style (local)\n- [rust two-words] Use tabs.\n- # Not tags\n\n  Never spaces.\n\
             ## me (global)\n- I am Ada\n"
        );
        let some = |arguments: Value| result_text(session, "retrieve_memories", arguments);
        assert_eq!(
            some(json!({"category": "*", "is_global": true})),
            "## me (global)\n- I am Ada\n"
        );
        assert_eq!(
            some(json!({"category": "commands", "is_global": false})),
            "## commands (local)\n- [build ci] make all\n  make test\n- plain\n"
        );
        assert_eq!(
            some(json!({"category": "nothing"})),
            "Nothing is remembered there."
        );

        let found = |arguments: Value| result_text(session, "search_memories", arguments);
        assert_eq!(
            found(json!({"query": "TEST make"})),
            "## commands (local)\n- [build ci] make all\n  make test\n"
        );
        assert_eq!(
            found(json!({"tags": ["rust"]})),
            "## style (local)\n- [rust two-words] Use tabs.\n"
        );
        assert_eq!(
            found(json!({"query": "ada", "is_global": false})),
            "No memory matches."
        );
        fails(session, "search_memories", json!({"query": " "}));
    });
}

#[test]
fn what_is_forgotten_is_gone_and_the_rest_is_not() {
    with_memory(|session| {
        let server = session.server;
        let file = local(server).join("c.txt");
        fs::create_dir_all(local(server)).unwrap();
        let before = "# t\none  \n\n\n\ntwo\n \ntwo\n\nthree\n\n";
        fs::write(&file, before).unwrap();
        let remove =
            |text: &str| json!({"category": "c", "memory_content": text, "is_global": false});
        let why = fails(session, "remove_specific_memory", remove("t"));
        assert!(why.contains("2 memories"), "{why}");
        let why = fails(session, "remove_specific_memory", remove("four"));
        assert!(why.contains("Nothing in"), "{why}");
        fails(session, "remove_specific_memory", remove("  "));
        assert_eq!(fs::read_to_string(&file).unwrap(), before);
        result_text(session, "remove_specific_memory", remove("two\n\ntwo"));
        let after = "# t\none  \n\n\n\nthree\n\n";
        assert_eq!(fs::read_to_string(&file).unwrap(), after);
        result_text(session, "remove_specific_memory", remove("on"));
        result_text(session, "remove_specific_memory", remove("three"));
        assert!(!file.exists(), "a category with nothing in it");

        // The text as in a result, and as in the file.
        for part in [
            "- [t u] first\n  second\n",
            "# t u\nfirst\nsecond",
            "first\n  sec",
        ] {
            remember(session, "c", "first\nsecond", &["t", "u"], false);
            remember(session, "c", "third", &[], false);
            let said = result_text(session, "remove_specific_memory", remove(part));
            assert!(said.contains("second"), "{said}");
            assert_eq!(fs::read_to_string(&file).unwrap(), "third\n\n");
        }
        fs::remove_file(&file).unwrap();

        remember(session, "a", "x", &[], false);
        remember(session, "b", "x", &[], false);
        remember(session, "a", "x", &[], true);
        fs::write(local(server).join("notes.md"), "mine").unwrap();
        let clear = |name: &str| json!({"category": name, "is_global": false});
        let said = result_text(session, "remove_memory_category", clear("nothing"));
        assert!(said.contains("nothing to forget"), "{said}");
        result_text(session, "remove_memory_category", clear("a"));
        assert_eq!(
            resources(session),
            ["memory://local/b", "memory://global/a"]
        );
        result_text(session, "remove_memory_category", clear("*"));
        assert_eq!(resources(session), ["memory://global/a"]);
        assert!(local(server).join("notes.md").exists());
    });
}

#[test]
fn each_category_is_a_resource_as_long_as_it_is_there() {
    with_memory(|session| {
        assert_eq!(resources(session), [""; 0]);
        remember(session, "two words", "Use tabs.", &["t"], false);
        remember(session, "me", "I am Ada", &[], true);
        let uris = ["memory://local/two%20words", "memory://global/me"];
        assert_eq!(resources(session), uris);
        let read = |uri: &str| session.read("memory", uri);
        read(uris[0]).is(200).says("# t\\nUse tabs.");
        read(uris[1]).is(200).says("I am Ada");
        for nothing in [
            "memory://local/me",
            "memory://local/..%2F..%2Fconfig%2Fmemory%2Fme",
            "memory://local/..",
            "memory://elsewhere/me",
        ] {
            read(nothing).is(500);
        }
        let path = format!("/agent/resources?session_id={}", session.id);
        let templates = session.server.get(&path).is(200).body["templates"].clone();
        assert_eq!(templates[0]["uri_template"], "memory://local/{category}");
        assert_eq!(templates[1]["uri_template"], "memory://global/{category}");
    });
}

#[test]
#[cfg(unix)] // Named pipes and symbolic links.
fn nothing_leads_out_of_its_folder_and_nothing_grows_without_end() {
    use support::system::symlink;

    with_memory(|session| {
        let server = session.server;
        let secret = server.root().join("secret.txt");
        fs::write(&secret, "the secret\n").unwrap();
        let data = |category: &str, data: &str| json!({"category": category, "data": data, "is_global": false});
        for name in [
            "../x", "/tmp/x", "..", ".hidden", "a/b", "a\\b", "", "*", "a\u{0}",
        ] {
            let why = fails(session, "remember_memory", data(name, "x"));
            assert!(why.contains("category"), "{why}");
        }
        fails(session, "remember_memory", data("c", " \n"));
        fails(session, "remember_memory", data("c", &"x".repeat(70_000)));
        let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let arguments = json!({"category": "c", "data": "x", "tags": many, "is_global": false});
        fails(session, "remember_memory", arguments);
        assert!(!local(server).exists(), "nothing was remembered");

        fs::create_dir_all(local(server)).unwrap();
        symlink(&secret, local(server).join("link.txt")).unwrap();
        fs::write(local(server).join("large.txt"), "x".repeat(2 << 20)).unwrap();
        fs::create_dir(local(server).join("folder.txt")).unwrap();
        remember(session, "fine", "x", &[], false);
        assert_eq!(resources(session), ["memory://local/fine"]);
        for name in ["link", "large", "folder"] {
            let said = result_text(session, "retrieve_memories", json!({"category": name}));
            assert!(
                said.contains("Not read") && !said.contains("secret"),
                "{said}"
            );
            fails(session, "remember_memory", data(name, "x"));
            session
                .read("memory", &format!("memory://local/{name}"))
                .is(500);
        }
        assert_eq!(fs::read_to_string(&secret).unwrap(), "the secret\n");

        let full = "y".repeat((1 << 20) - 10) + "\n\n";
        fs::write(local(server).join("full.txt"), &full).unwrap();
        let why = fails(session, "remember_memory", data("full", "one more"));
        assert!(why.contains("is full"), "{why}");
        let said = result_text(session, "retrieve_memories", json!({"category": "full"}));
        let cut = said.len() < 110_000 && said.ends_with("(the rest is too long)\n");
        assert!(cut, "{}", said.len());

        let lock = local(server).join(".lock");
        let pipe = server.root().join("pipe");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        for target in [server.root().join("made"), pipe] {
            fs::remove_file(&lock).unwrap();
            symlink(&target, &lock).unwrap();
            let why = fails(session, "remember_memory", data("c", "x"));
            assert!(why.contains("not a regular file"), "{why}");
        }
        assert!(!server.root().join("made").exists());

        fs::remove_dir_all(server.work().join(".goose")).unwrap();
        fs::create_dir(server.root().join("elsewhere")).unwrap();
        fs::create_dir(server.work().join(".goose")).unwrap();
        symlink(server.root().join("elsewhere"), local(server)).unwrap();
        let why = fails(session, "remember_memory", data("c", "x"));
        assert!(why.contains("leads out"), "{why}");
        fs::remove_dir_all(server.work().join(".goose")).unwrap();
        symlink(
            server.root().join("elsewhere"),
            server.work().join(".goose"),
        )
        .unwrap();
        let why = fails(session, "remember_memory", data("c", "x"));
        assert!(why.contains("leads out"), "{why}");
        let made = fs::read_dir(server.root().join("elsewhere"))
            .unwrap()
            .count();
        assert_eq!(made, 0);
    });
}

#[test]
fn what_is_remembered_globally_is_in_the_prompt_within_bounds() {
    let script = json!({"repeat": true, "turns": [{"steps": [{"text": "{{system}}"}]}]});
    let server = Server::scripted(script).start();
    fs::create_dir_all(global(&server)).unwrap();
    fs::write(global(&server).join("me.txt"), "# name\nI am Ada\n\n").unwrap();
    fs::write(global(&server).join("z.txt"), "word ".repeat(50_000)).unwrap();
    fs::create_dir_all(local(&server)).unwrap();
    fs::write(local(&server).join("here.txt"), "only here\n\n").unwrap();
    let session = server.session([Extension::builtin("memory")]);
    let said = session.say("go").text();
    assert!(said.contains("## me (global)\n- [name] I am Ada"), "{said}");
    assert!(said.contains("1 more"), "{said}");
    assert!(
        !said.contains("only here") && said.len() < 30_000,
        "{}",
        said.len()
    );
}

#[test]
fn two_sessions_and_another_process_write_at_once_and_nothing_is_lost() {
    const EACH: usize = 25;
    let server = Server::new().start();
    let sessions = [
        server.session([Extension::builtin("memory")]),
        server.session([Extension::builtin("memory")]),
    ];
    // Another process of the same user, started by another client.
    let (client, _) = on_stdio(&server);
    std::thread::scope(|scope| {
        for (n, session) in sessions.iter().enumerate() {
            scope.spawn(move || {
                for i in 0..EACH {
                    remember(
                        session,
                        "shared",
                        &format!("session {n} item {i}"),
                        &[],
                        true,
                    );
                    remember(
                        session,
                        "shared",
                        &format!("session {n} item {i}"),
                        &[],
                        false,
                    );
                }
            });
        }
        for i in 0..EACH {
            for is_global in [true, false] {
                let data = format!("process item {i}\n\nwith more");
                let arguments = json!({"category": "shared", "data": data, "is_global": is_global});
                let arguments = to_raw_value(&arguments).unwrap();
                let result = client.call_tool_raw(
                    "remember_memory",
                    &arguments,
                    CallOptions::default(),
                    &Cancel::new(),
                );
                let result = result.unwrap();
                assert_eq!(result.is_error, None, "{:?}", result.content);
            }
        }
    });
    for folder in [global(&server), local(&server)] {
        let content = fs::read_to_string(folder.join("shared.txt")).unwrap();
        let mut entries: Vec<&str> = content.trim_end().split("\n\n").collect();
        entries.sort_unstable();
        entries.dedup();
        assert_eq!(entries.len(), 3 * EACH);
        let left = fs::read_dir(&folder).unwrap().count();
        assert_eq!(left, 2, "the category and the lock");
    }
    // Each process sees the entries of the others.
    let query = json!({"query": "process 7", "is_global": true});
    let said = result_text(&sessions[0], "search_memories", query);
    assert!(said.contains("process item 7\n\n  with more"), "{said}");
}

#[test]
fn a_client_hears_that_there_are_other_categories() {
    let server = Server::new().start();
    let (client, heard) = on_stdio(&server);
    let changes = || {
        lock(&heard)
            .iter()
            .filter(|m| *m == "notifications/resources/list_changed")
            .count()
    };
    let declared = client.server().capabilities.resources.clone().unwrap();
    assert_eq!(declared.list_changed, Some(true));
    let data = |data: &str| json!({"category": "c", "data": data, "is_global": false});
    ask(&client, "remember_memory", data("one"));
    ask(&client, "remember_memory", data("two"));
    // Notifications precede the response, so any further one would be here.
    assert_eq!(changes(), 1);
    let listed = client.list_resources(&Cancel::new()).unwrap();
    assert_eq!(listed[0].uri, "memory://local/c");
    ask(
        &client,
        "remove_memory_category",
        json!({"category": "c", "is_global": false}),
    );
    assert_eq!(changes(), 2);
    assert!(client.list_resources(&Cancel::new()).unwrap().is_empty());
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

/// Records the methods of the notifications.
#[test]
fn without_its_directory_a_session_has_only_global_memories() {
    let server = Server::new().start();
    let folder = server.work().join("project");
    fs::create_dir(&folder).unwrap();
    let session = server.start(json!({
        "working_dir": folder,
        "extension_overrides": [Extension::builtin("memory").0],
    }));
    session.resume();
    fs::remove_dir(&folder).unwrap();
    let category = "habits";
    for (tool, arguments) in [
        (
            "remember_memory",
            json!({"category": category, "data": "tabs", "is_global": false}),
        ),
        ("retrieve_memories", json!({"category": "*"})),
        (
            "search_memories",
            json!({"query": "tabs", "is_global": false}),
        ),
        (
            "remove_memory_category",
            json!({"category": "*", "is_global": false}),
        ),
        (
            "remove_specific_memory",
            json!({"category": category, "memory_content": "tabs", "is_global": false}),
        ),
    ] {
        let text = fails(&session, tool, arguments);
        assert!(
            text.contains("working directory") && text.contains("project"),
            "{tool}: {text}"
        );
    }
    assert!(!folder.exists() && !local(&server).exists());
    remember(&session, category, "spaces", &[], true);
    assert_eq!(resources(&session), ["memory://global/habits"]);
    let found = result_text(
        &session,
        "retrieve_memories",
        json!({"category": "*", "is_global": true}),
    );
    assert!(found.contains("spaces"), "{found}");
}

#[derive(Default)]
struct RecordedNotifications(Arc<Mutex<Vec<String>>>);

impl NotificationHandler for RecordedNotifications {
    fn notification(&self, method: &str, _: Option<&RawValue>, _: Option<i64>) {
        lock(&self.0).push(method.to_owned());
    }
}

/// A client of `gosling mcp memory` with the folders of this server, and the methods of its notifications.
fn on_stdio(server: &RunningServer) -> (Client, Arc<Mutex<Vec<String>>>) {
    let dir: &Path = &server.work();
    let mut command = gosling::sys::process::Command::new(GOSLING);
    command
        .args(["mcp", "memory"])
        .env("GOOSE_PATH_ROOT", server.root());
    let mut options = StdioOptions::new("memory");
    options.max_line = 1 << 20;
    options.start = std::time::Duration::from_secs(60);
    let transport = StdioTransport::spawn(command, options, &Cancel::new()).unwrap();
    let transport = Arc::new(transport);
    let mut options = Options::new("memory", Implementation::new("test", "1"));
    let meta = json!({"agent-working-dir": dir});
    options.meta = meta.as_object().unwrap().clone();
    let heard = RecordedNotifications::default();
    let notes = heard.0.clone();
    let client = Client::connect(transport, options, Arc::new(heard), &Cancel::new()).unwrap();
    (client, notes)
}

fn ask(client: &Client, tool: &str, arguments: Value) -> Option<bool> {
    let arguments = to_raw_value(&arguments).unwrap();
    let result = client.call_tool_raw(tool, &arguments, CallOptions::default(), &Cancel::new());
    result.unwrap().is_error
}
