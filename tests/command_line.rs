//! The commands at a terminal and in a shell script.
// Some tests and their helpers need features that the build may leave out.
#![cfg_attr(
    not(all(feature = "chat", feature = "demo")),
    allow(dead_code, unused_imports)
)]
#![cfg_attr(not(unix), allow(dead_code, unused_imports))] // Commands of a Unix shell are in some tests.

mod support;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Output, Stdio};
use std::{fs, thread};
use support::scripted::{Action, Script};
use support::server::{Server, as_argument, demo_command, gosling, scripted_mcp};
use support::{TempDir, temp_dir, until};

/// The output of a command.
struct Done {
    what: String,
    output: Output,
}

fn run(arguments: &[&str]) -> Done {
    let root = temp_dir();
    let output = gosling()
        .args(arguments)
        .env("GOOSE_PATH_ROOT", root.path())
        .env("HOME", root.path())
        .stdin(Stdio::null())
        .output()
        .expect("gosling runs");
    Done {
        what: format!("gosling {arguments:?}"),
        output,
    }
}

impl Done {
    #[track_caller]
    fn exits(self, code: i32) -> Self {
        let (out, err) = (self.stdout(), self.stderr());
        let what = &self.what;
        assert_eq!(
            self.output.status.code(),
            Some(code),
            "{what}: {out}\n{err}"
        );
        self
    }

    #[track_caller]
    fn prints(self, text: &str) -> Self {
        assert!(
            self.stdout().contains(text),
            "{}: {}",
            self.what,
            self.stdout()
        );
        self
    }

    #[track_caller]
    fn prints_exactly(self, text: &str) -> Self {
        assert_eq!(self.stdout(), text, "{}", self.what);
        self
    }

    #[track_caller]
    fn complains(self, text: &str) -> Self {
        assert!(
            self.stderr().contains(text),
            "{}: {}",
            self.what,
            self.stderr()
        );
        self
    }

    fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

#[test]
fn help_and_version() {
    run(&["--help"]).exits(0).prints("usage: gosling COMMAND");
    run(&["-h"]).exits(0).prints("usage: gosling COMMAND");
    let version = concat!("gosling ", env!("CARGO_PKG_VERSION"), "\n");
    run(&["--version"]).exits(0).prints_exactly(version);
    run(&["-V"]).exits(0).prints_exactly(version);
    let commands = [
        ("agent", true),
        ("chat", cfg!(feature = "chat")),
        ("demo", cfg!(feature = "demo")),
        ("call", cfg!(feature = "chat")),
        ("extensions", cfg!(feature = "chat")),
        ("mcp", cfg!(feature = "builtin")),
        ("recipe", cfg!(feature = "recipes")),
    ];
    for (command, _) in commands.into_iter().filter(|(_, is_built)| *is_built) {
        let usage = format!("usage: gosling {command}");
        run(&[command, "--help"]).exits(0).prints(&usage);
        run(&[command, "-h"]).exits(0).prints(&usage);
    }
}

#[test]
fn a_wrong_command_line_is_exit_code_2_and_a_reason() {
    for (arguments, reason) in [
        (&[][..], "no command"),
        (&["nonsense"], "\"nonsense\""),
        (&["--nonsense"], "--nonsense"),
        (&["agent", "--nonsense"], "--nonsense"),
        (&["agent", "stray"], "stray"),
        (&["agent", "--port"], "--port"),
        (&["agent", "--port", "many"], "\"many\""),
        (&["agent", "--port", "65536"], "\"65536\""),
        (&["agent", "--offline=yes"], "--offline"),
        #[cfg(feature = "recipes")]
        (&["recipe"], "no subcommand given"),
        #[cfg(feature = "recipes")]
        (&["recipe", "check"], "\"check\""),
        #[cfg(feature = "recipes")]
        (&["recipe", "validate"], "no FILE given"),
        #[cfg(feature = "builtin")]
        (&["mcp"], "no server name given"),
        #[cfg(feature = "builtin")]
        (&["mcp", "nonsense"], "\"nonsense\""),
        #[cfg(feature = "builtin")]
        (&["mcp", "demo", "more"], "more"),
        #[cfg(feature = "chat")]
        (&["call", "echo"], "--server or --url"),
        #[cfg(feature = "chat")]
        (&["call", "--server", "a", "--url", "http://b"], "not both"),
        #[cfg(feature = "chat")]
        (&["call", "--server", "a", "--header", "k: v"], "--url only"),
        #[cfg(feature = "chat")]
        (&["call", "--server", "'open"], "quote"),
        #[cfg(feature = "chat")]
        (&["call", "--server", " "], "no command"),
        #[cfg(feature = "chat")]
        (&["call", "--server", "a", "--header", "x"], "--header"),
        #[cfg(feature = "chat")]
        (&["call", "--server", "a", "--timeout", "soon"], "soon"),
        #[cfg(feature = "chat")]
        (&["call", "--server", "a", "one", "{}", "three"], "three"),
        #[cfg(feature = "demo")]
        (&["demo", "--nonsense"], "--nonsense"),
    ] {
        let done = run(arguments).exits(2).prints_exactly("");
        let help = match arguments.first() {
            Some(&command @ ("agent" | "call" | "demo" | "mcp" | "recipe")) => {
                format!("try `gosling {command} --help`")
            }
            _ => "try `gosling --help`".to_owned(),
        };
        done.complains("gosling: ")
            .complains(reason)
            .complains(&help);
    }
}

/// A `gosling agent` that is killed when dropped.
struct Agent {
    process: std::process::Child,
    lines: BufReader<std::process::ChildStderr>,
    root: TempDir,
}

impl Agent {
    fn start(root: TempDir, arguments: &[&str]) -> Agent {
        let mut process = gosling()
            .args(["agent", "--port", "0"])
            .args(arguments)
            .env("GOOSE_PATH_ROOT", root.path())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap());
        Agent {
            process,
            lines,
            root,
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn address(&mut self) -> std::net::SocketAddr {
        let line = self.line();
        let (_, address) = line.split_once(" listens on http://").expect(&line);
        address.parse().unwrap()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn status_with(key: &str, address: std::net::SocketAddr) -> u16 {
    let stream = support::client::send(address, "GET", "/config", Some(key), None);
    support::client::Answer::read("GET /config".to_owned(), stream).status
}

/// Runs `gosling agent` in this folder, where it cannot start, and returns its stderr.
#[track_caller]
fn does_not_start(root: &TempDir) -> String {
    let mut process = gosling()
        .args(["agent", "--port", "0"])
        .env("GOOSE_PATH_ROOT", root.path())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(process.stderr.take().unwrap());
    let mut first = String::new();
    stderr.read_line(&mut first).unwrap();
    // A server that listens would run forever.
    if first.contains(" listens on ") {
        let _ = process.kill();
    }
    assert_eq!(process.wait().unwrap().code(), Some(1), "{first}");
    first
}

#[test]
fn a_data_folder_that_cannot_be_written_is_found_at_the_start() {
    let in_the_way = temp_dir();
    fs::write(in_the_way.path().join("data"), "").unwrap();
    let said = does_not_start(&in_the_way);
    assert!(
        said.contains(&support::system::shown("data/sessions")) && said.contains("GOOSE_PATH_ROOT"),
        "{said}"
    );
    #[cfg(target_os = "linux")]
    {
        // Even root cannot create a folder there.
        let elsewhere = temp_dir();
        fs::create_dir(elsewhere.path().join("data")).unwrap();
        let sessions = elsewhere.path().join("data/sessions");
        std::os::unix::fs::symlink("/proc/self/fdinfo", sessions).unwrap();
        let said = does_not_start(&elsewhere);
        assert!(said.contains("data/sessions"), "{said}");
    }
}

#[test]
fn the_start_leaves_nothing_in_the_data_folder() {
    let mut agent = Agent::start(temp_dir(), &[]);
    agent.address();
    let sessions = fs::read_dir(agent.root.path().join("data/sessions")).unwrap();
    assert_eq!(sessions.count(), 0);
}

#[test]
fn the_key_may_come_from_a_file() {
    let root = temp_dir();
    let file = root.path().join("key");
    fs::write(&file, " from a file \nsecond line\n").unwrap();
    let path = file.to_str().unwrap().to_owned();
    let mut agent = Agent::start(root, &["--secret-file", &path]);
    let address = agent.address();
    assert!(address.ip().is_loopback());
    assert_eq!(status_with("from a file", address), 200);
    assert_eq!(status_with("second line", address), 401);
    let empty = agent.root.path().join("empty");
    fs::write(&empty, "\n").unwrap();
    run(&["agent", "--secret-file", empty.to_str().unwrap()])
        .exits(1)
        .complains("is empty");
    run(&["agent", "--secret-file", "/no/such/file"])
        .exits(1)
        .complains("/no/such/file");
}

#[test]
fn a_host_may_have_the_brackets_of_a_url_and_offline_no_name() {
    let offline = ["agent", "--offline", "--port", "0", "--host"];
    for host in ["somewhere.example", "[::1", "1.2.3", ""] {
        run(&[&offline[..], &[host]].concat())
            .exits(2)
            .complains("no name is looked up");
    }
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        eprintln!("skipped: there is no IPv6 here");
        return;
    }
    for host in ["[::1]", "::1"] {
        let server = Server::new().start_as(&[&offline[..], &[host]].concat());
        assert!(server.address().is_ipv6());
        server.get("/status").is(200);
    }
}

#[test]
fn a_key_that_is_easily_found_is_refused() {
    for key in ["x", "  ", "\t\t\t\t", " abc "] {
        let root = temp_dir();
        let output = gosling()
            // It cannot listen there, so that it ends in any case.
            .args(["agent", "--port", "0", "--host", "192.0.2.1"])
            .env("GOOSE_SERVER__SECRET_KEY", key)
            .env("GOOSE_PATH_ROOT", root.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("at least 4 are needed"), "{key:?}: {said}");
        assert_eq!(output.status.code(), Some(1));
    }
    let root = temp_dir();
    let file = root.path().join("key");
    fs::write(&file, "x\n").unwrap();
    let file = file.to_str().unwrap();
    let server_with = |command: &[&str]| run(&[command, &["--secret-file", file]].concat());
    server_with(&["agent", "--port", "0"])
        .exits(1)
        .complains("at least 4 are needed");
    #[cfg(feature = "todo")]
    server_with(&["mcp", "todo", "--http", "0"])
        .exits(1)
        .complains("at least 4 are needed");
}

#[test]
fn a_key_that_was_drawn_is_printed_once() {
    let mut keys = Vec::new();
    for _ in 0..2 {
        let mut agent = Agent::start(temp_dir(), &[]);
        let address = agent.address();
        let line = agent.line();
        let (_, key) = line.split_once("X-Secret-Key is ").expect(&line);
        assert!(key.len() >= 32, "{line}");
        assert_eq!(status_with(key, address), 200);
        assert_eq!(status_with("", address), 401);
        let logs = agent.root.path().join("state");
        support::process::signal(agent.process.id(), "TERM");
        let rest: Vec<String> = (&mut agent.lines).lines().map_while(Result::ok).collect();
        assert!(!rest.iter().any(|line| line.contains(key)), "{rest:?}");
        assert!(!contents(&logs).contains(key), "the key is in a log file");
        keys.push(key.to_owned());
    }
    assert_ne!(keys[0], keys[1]);
}

/// The contents of all files below a folder.
fn contents(folder: &std::path::Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.path() {
            path if path.is_dir() => contents(&path),
            path => fs::read_to_string(path).unwrap_or_default(),
        })
        .collect()
}

#[test]
fn a_port_in_use_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    run(&["agent", "--port", &port])
        .exits(1)
        .complains("cannot listen on 127.0.0.1");
}

#[cfg(feature = "demo")]
#[test]
fn the_demo_server_is_spoken_to_by_hand() {
    let mut server = gosling()
        .args(["mcp", "demo"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    let mut ask = |line: &str| -> Value {
        writeln!(stdin, "{line}").unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).expect("one JSON message a line")
    };
    let early = ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert!(early["error"]["code"].is_i64(), "{early}");
    let ping = ask(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert_eq!(ping, json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
    let bad = ask("this is no JSON");
    assert_eq!(bad["error"]["code"], -32700);
    let initialized = ask(
        r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"hand","version":"1"}}}"#,
    );
    assert_eq!(initialized["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(initialized["result"]["serverInfo"]["name"], "demo");
    let echo = ask(concat!(
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}"#,
    ));
    assert_eq!(echo["result"]["content"][0]["text"], "hi");
    let unknown = ask(r#"{"jsonrpc":"2.0","id":4,"method":"no/such"}"#);
    assert_eq!(unknown["error"]["code"], -32601);
    drop(stdin);
    let mut rest = String::new();
    stdout.read_line(&mut rest).unwrap();
    assert_eq!(rest, "", "nothing but answers is on stdout");
    let status = until("it leaves when its stdin ends", || {
        server.try_wait().unwrap()
    });
    assert!(status.success(), "{status}");
}

/// Runs `gosling call` with the demo server.
#[cfg(feature = "chat")]
fn call(arguments: &[&str]) -> Done {
    let server = format!("'{}'", demo_command().join("' '"));
    run(&[&["call", "--server", &server], arguments].concat())
}

#[cfg(feature = "chat")]
#[test]
fn call_prints_what_a_tool_says() {
    call(&["echo", r#"{"message":"hello there"}"#])
        .exits(0)
        .prints_exactly("hello there\n");
    call(&["add", r#"{"a":2,"b":3}"#]).exits(0).prints("5");
    let done = call(&["--json", "add", r#"{"a":2,"b":3}"#]).exits(0);
    let answer: Value = serde_json::from_str(&done.stdout()).unwrap();
    assert_eq!(answer["structuredContent"], json!({"sum": 5}));
    call(&["fail"]).exits(1).prints("always fails");
    call(&["slow", r#"{"steps":2,"step_ms":1}"#])
        .exits(0)
        .prints("Done: 2 steps");
    call(&["nonsense"])
        .exits(1)
        .prints_exactly("")
        .complains("nonsense");
    for bad in ["{", "[]", "5", "message=x"] {
        call(&["echo", bad]).exits(2).complains("not a JSON object");
    }
}

#[cfg(feature = "chat")]
#[test]
fn call_lets_no_server_steer_the_terminal() {
    let clipboard = "\u{1b}]52;c;aGk=\u{7}\u{9b}2J\u{202e}done\nand more";
    let script = Script::new()
        .tool("steer", [Action::text(clipboard)])
        .tool("fails", [Action::Error(-32000, clipboard.to_owned())])
        .tool(
            "raw",
            [Action::Result(json!({"content": [
                {"type": "resource", "resource": {"uri": "a:b", "text": clipboard}},
            ]}))],
        );
    let server = format!("'{}' '{}'", scripted_mcp(), as_argument(&script));
    let call = |more: &[&str]| run(&[&["call", "--server", &server], more].concat());
    let steers = |c: char| c != '\n' && c.is_control() || c == '\u{202e}';
    call(&["steer"])
        .exits(0)
        .prints_exactly("]52;c;aGk=2Jdone\nand more\n");
    for more in [&["--json", "steer"][..], &["raw"], &["--json", "raw"]] {
        let done = call(more).exits(0).prints("done");
        assert!(!done.stdout().contains(steers), "{:?}", done.stdout());
        let value: Value = serde_json::from_str(&done.stdout()).unwrap();
        assert!(value.to_string().contains("\u{202e}done"), "{value}");
    }
    let done = call(&["fails"]).exits(1);
    assert!(!done.stderr().contains(steers), "{:?}", done.stderr());
}

#[cfg(feature = "chat")]
#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn call_passes_no_key_of_a_provider_to_a_server() {
    let root = temp_dir();
    let seen = root.path().join("seen");
    let server = format!("sh -c 'env >{}; exit 1'", seen.display());
    let output = gosling()
        .args(["call", "--server", &server, "x"])
        .env("GOOSE_PATH_ROOT", root.path())
        .env("OPENAI_API_KEY", "sk-of-the-user")
        .env("SOME_VARIABLE", "inherited")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.contains("SOME_VARIABLE=inherited") && !seen.contains("sk-of-the-user"));
}

#[cfg(feature = "chat")]
#[test]
fn call_without_a_tool_lists_them() {
    call(&[])
        .exits(0)
        .prints("echo {message}  Returns its argument.\n")
        .prints("slow {step_ms, steps}  ");
    let done = call(&["--json"]).exits(0);
    let names: Vec<Value> = done
        .stdout()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].clone())
        .collect();
    assert_eq!(names, ["add", "echo", "fail", "slow"]);
}

#[cfg(feature = "chat")]
#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn call_says_why_a_server_does_not_come_up() {
    run(&["call", "--server", "definitely-not-a-command", "x"])
        .exits(1)
        .complains("\"definitely-not-a-command\"");
    run(&["call", "--server", "sh -c 'echo boom >&2; exit 3'", "x"])
        .exits(1)
        .complains(&support::system::exit_status(3))
        .complains("boom");
    let silent = support::scripted::Script::new().on("initialize", []);
    let silent = support::server::as_argument(&silent);
    let server = format!("'{}' '{silent}'", scripted_mcp());
    run(&["call", "--timeout", "1", "--server", &server, "x"])
        .exits(1)
        .complains("within 1s");
}

#[cfg(feature = "demo")]
#[test]
fn the_demo_goes_well_and_says_so() {
    run(&["demo"])
        .exits(0)
        .prints("all good")
        .prints("/agent/call_tool")
        .prints("the model says It says: hello from the demo\n");
    let done = run(&["demo", "--json"]).exits(0);
    let steps: Vec<Value> = done
        .stdout()
        .lines()
        .map(|line| serde_json::from_str(line).expect("a step a line"))
        .collect();
    assert!(steps.len() >= 7, "{steps:?}");
    for step in &steps {
        assert_eq!(step["ok"], true, "{step}");
        assert!(step["step"].is_string() && step["ms"].is_number(), "{step}");
    }
    let paths: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["path"].as_str())
        .collect();
    for path in [
        "/status",
        "/agent/start",
        "/agent/resume",
        "/agent/call_tool",
        "/reply",
        "/agent/stop",
    ] {
        assert!(paths.contains(&path), "{paths:?}");
    }
}

#[cfg(feature = "demo")]
#[test]
fn the_demo_shows_other_servers_too() {
    let script = support::server::as_argument(&support::scripted::Script::new());
    run(&["demo", "--", &scripted_mcp(), &script])
        .exits(0)
        .prints("demo__echo")
        .prints("all good");
}

#[cfg(feature = "demo")]
#[test]
#[cfg(unix)] // The program `false`.
fn the_demo_fails_clearly() {
    let done = run(&["demo", "--", "false"]).exits(1);
    done.prints("FAILED")
        .prints(&support::system::exit_status(1));
    run(&["demo", "--", "definitely-not-a-command"])
        .exits(1)
        .prints("definitely-not-a-command");
    let done = run(&["demo", "--json", "--", "false"]).exits(1);
    let text = done.stdout();
    let steps = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(
        steps.filter(|step| step["ok"] == false).count(),
        1,
        "{text}"
    );
}

/// What comes of these commands when they print to this file.
#[cfg(all(target_os = "linux", feature = "chat", feature = "demo"))]
fn print_to(file: &str, arguments: &[&str]) -> Done {
    let root = temp_dir();
    let stdout = fs::File::options().write(true).open(file).unwrap();
    let output = gosling()
        .args(arguments)
        .env("GOOSE_PATH_ROOT", root.path())
        .env("HOME", root.path())
        .stdin(Stdio::null())
        .stdout(stdout)
        .output()
        .expect("gosling runs");
    Done {
        what: format!("gosling {arguments:?} >{file}"),
        output,
    }
}

#[test]
#[cfg(all(target_os = "linux", feature = "chat", feature = "demo"))] // A device that is full.
fn output_that_cannot_be_written_is_an_error() {
    let demo = demo_command().join(" ");
    let call = ["call", "--server", &demo];
    let mut commands: Vec<&[&str]> = vec![
        &["--help"],
        &["--version"],
        &["help"],
        &["agent", "--help"],
        &["demo"],
        &["demo", "--json"],
        &["mcp", "demo", "--break", "list"],
        &call,
        &["extensions", "list", "--json"],
    ];
    for (is_built, more) in [
        (cfg!(feature = "audit"), &["audit", "verify"][..]),
        (cfg!(feature = "info"), &["info"]),
        (cfg!(feature = "keys"), &["keys", "list"]),
        (cfg!(feature = "release"), &["version", "--json"]),
        (cfg!(feature = "service"), &["service", "systemd"]),
        (cfg!(feature = "check"), &["check", "--list"]),
    ] {
        commands.extend(is_built.then_some(more));
    }
    for command in commands {
        let done = print_to("/dev/full", command).exits(1);
        let said = done.stderr();
        let why = "gosling: stdout cannot be written: No space left on device";
        assert!(said.starts_with(why), "{}: {said}", done.what);
        assert_eq!(said.lines().count(), 1, "{}: {said}", done.what);
    }
}

#[test]
fn output_into_a_closed_pipe_is_no_crash() {
    let mut process = gosling()
        .args(["--help"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(process.stdout.take());
    thread::yield_now();
    let output = process.wait_with_output().unwrap();
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
