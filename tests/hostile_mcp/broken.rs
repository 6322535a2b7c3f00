//! Broken servers: a typed error in time, and no thread, descriptor or process left.

use crate::support::process::Census;
use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, RunningServer, Server};
use crate::support::system::exit_status;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const MIB: usize = 1 << 20;

/// Far more than the time limit of one second, far less than the default of five minutes.
const IN_TIME: Duration = Duration::from_secs(20);

/// A server, and the resources that it holds when idle.
struct Bench {
    server: RunningServer,
    rest: Option<Census>,
}

impl Bench {
    fn new() -> Self {
        let server = Server::new().start();
        let rest = cfg!(target_os = "linux").then(|| server.at_rest());
        Bench { server, rest }
    }

    /// Checks that the extension does not start, and that the error names it and the phase and contains all
    /// `words`.
    #[track_caller]
    fn never_starts(&self, extension: Extension, phase: &str, words: &[&str]) {
        let begin = Instant::now();
        let error = self.server.refuses(extension.with_short_timeout());
        assert!(begin.elapsed() < IN_TIME, "{:?}", begin.elapsed());
        explains(&error, phase, words);
    }

    /// Checks that the extension starts, and that calling its tool `odd` fails in this way.
    #[track_caller]
    fn call_fails(&self, script: Script, phase: &str, words: &[&str]) {
        let extension = Extension::scripted("odd", &script).with_short_timeout();
        let session = self.server.session([extension]);
        let begin = Instant::now();
        let answer = session.call("odd__odd", json!({})).is(500);
        assert!(begin.elapsed() < IN_TIME, "{:?}", begin.elapsed());
        explains(answer.message(), phase, words);
        session.stop();
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        self.server.is_alive();
        if let Some(rest) = self.rest {
            self.server.returns_to(rest);
        }
    }
}

#[track_caller]
fn explains(error: &str, phase: &str, words: &[&str]) {
    let names = format!("extension \"odd\", {phase}: ");
    assert!(error.contains(&names), "{error}");
    for word in words {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
}

#[track_caller]
fn never_starts(script: Script, phase: &str, words: &[&str]) {
    extension_never_starts(Extension::scripted("odd", &script), phase, words);
}

#[track_caller]
fn extension_never_starts(extension: Extension, phase: &str, words: &[&str]) {
    let bench = Bench::new();
    bench.never_starts(extension, phase, words);
    bench.nothing_is_left();
}

#[track_caller]
fn call_fails(script: Script, phase: &str, words: &[&str]) {
    let bench = Bench::new();
    bench.call_fails(script, phase, words);
    bench.nothing_is_left();
}

fn lists(result: Value) -> Script {
    Script::new().on("tools/list", [Action::Result(result)])
}

fn calls(actions: impl IntoIterator<Item = Action>) -> Script {
    Script::new().tool("odd", actions)
}

#[test]
fn no_answer_to_initialize() {
    let script = Script::new().on("initialize", []);
    never_starts(script, "timeout", &["initialize", "1s"]);
}

#[test]
fn no_answer_to_a_list() {
    let script = Script::new().on("tools/list", []);
    never_starts(script, "timeout", &["tools/list", "1s"]);
}

#[test]
fn no_answer_to_a_call() {
    call_fails(calls([]), "timeout", &["tools/call", "1s"]);
}

#[test]
fn no_answer_but_a_flood_of_noise() {
    let noise = Action::Out("noise\n".into(), 100_000);
    let script = Script::new().on("initialize", [noise]);
    never_starts(script, "timeout", &["initialize"]);
}

#[test]
fn a_server_that_reads_nothing() {
    let extension = Extension::silent("odd").with_short_timeout();
    extension_never_starts(extension, "timeout", &["initialize"]);
}

#[test]
fn an_exit_before_initialize() {
    let script =
        Script::new().begin([Action::Err("no licence found\n".into(), 1), Action::Exit(3)]);
    never_starts(script, "initialize", &[&exit_status(3), "no licence found"]);
}

#[test]
fn an_exit_during_initialize() {
    let script = Script::new().on(
        "initialize",
        [Action::Err("out of luck\n".into(), 1), Action::Exit(4)],
    );
    never_starts(script, "initialize", &[&exit_status(4), "out of luck"]);
}

#[test]
fn an_exit_after_initialize() {
    let script = Script::new().on(
        "tools/list",
        [Action::Err("gave up\n".into(), 1), Action::Exit(5)],
    );
    never_starts(script, "initialize", &[&exit_status(5), "gave up"]);
}

#[test]
fn an_exit_during_a_call() {
    let script = calls([Action::Err("crashed\n".into(), 1), Action::Exit(6)]);
    call_fails(script, "transport", &[&exit_status(6), "crashed"]);
}

#[test]
fn an_exit_without_last_words() {
    let script = Script::new().begin([Action::Exit(0)]);
    never_starts(script, "initialize", &[&exit_status(0)]);
}

#[test]
fn only_the_tail_of_stderr_is_shown() {
    let script = Script::new().begin([
        Action::Err("early words\n".into(), 1),
        Action::Err(format!("{}\n", "e".repeat(99)), 10_000),
        Action::Err("last words\n".into(), 1),
        Action::Exit(1),
    ]);
    let server = Server::new().start();
    let error = server.refuses(Extension::scripted("odd", &script).with_short_timeout());
    explains(&error, "initialize", &["last words"]);
    assert!(
        !error.contains("early words") && error.len() < 5_000,
        "{error}"
    );
}

#[test]
#[cfg(unix)] // A server that closes one stream is a script of a shell.
fn an_end_of_output_without_an_exit() {
    let command = "read line; exec >&-; sleep 300";
    let extension = Extension::shell("odd", command).with_short_timeout();
    extension_never_starts(extension, "initialize", &["closed its input or output"]);
}

#[test]
fn an_unknown_version() {
    let bench = Bench::new();
    for version in ["2099-01-01", "", "1.0"] {
        let odd = Extension::scripted("odd", &Script::new().version(version));
        bench.never_starts(odd, "initialize", &["2025-11-25", version]);
    }
    bench.nothing_is_left();
}

#[test]
fn wrong_shapes_of_initialize() {
    let bench = Bench::new();
    let version = json!("2025-11-25");
    for result in [
        json!(5),
        json!(null),
        json!([]),
        json!({}),
        json!({"protocolVersion": 5}),
        json!({"protocolVersion": version, "capabilities": "all"}),
        json!({"protocolVersion": version, "capabilities": {"tools": 5}}),
    ] {
        let script = Script::new().on("initialize", [Action::Result(result)]);
        let odd = Extension::scripted("odd", &script);
        bench.never_starts(odd, "protocol", &["initialize"]);
    }
    bench.nothing_is_left();
}

#[test]
fn initialize_refused() {
    let script = Script::new().on("initialize", [Action::Error(-32000, "not today".into())]);
    never_starts(script, "initialize", &["not today", "-32000"]);
}

#[test]
fn wrong_shapes_of_a_list() {
    let bench = Bench::new();
    for result in [
        json!(5),
        json!({}),
        json!({"tools": 5}),
        json!([{"name": "odd"}]),
    ] {
        let odd = Extension::scripted("odd", &lists(result));
        bench.never_starts(odd, "protocol", &["tools/list"]);
    }
    bench.nothing_is_left();
}

#[test]
fn wrong_shapes_of_a_call() {
    let bench = Bench::new();
    for result in [
        json!(5),
        json!([]),
        json!({}),
        json!({"content": "x"}),
        json!({"content": [5]}),
        json!({"content": [], "isError": "maybe"}),
    ] {
        let script = calls([Action::Result(result)]);
        bench.call_fails(script, "protocol", &["tools/call"]);
    }
    bench.nothing_is_left();
}

#[test]
fn a_message_that_is_both_result_and_error() {
    let both = r#"{"jsonrpc":"2.0","id":{id},"result":{},"error":{"code":1,"message":"x"}}"#;
    call_fails(calls([Action::line(both)]), "protocol", &["tools/call"]);
}

#[test]
fn a_call_that_is_refused() {
    let script = calls([Action::Error(-32602, "unknown tool".into())]);
    call_fails(script, "tool", &["unknown tool", "-32602"]);
}

#[test]
fn a_batch_where_the_version_has_none() {
    let bench = Bench::new();
    let batch = r#"[{"jsonrpc":"2.0","id":{id},"result":{"content":[]}}]"#;
    for version in ["2025-06-18", "2025-11-25", "2024-11-05"] {
        let script = calls([Action::line(batch)]).version(version);
        bench.call_fails(script, "protocol", &["batch", "2025-03-26"]);
    }
    bench.nothing_is_left();
}

#[test]
fn a_cursor_that_repeats() {
    let script = lists(json!({"tools": [], "nextCursor": "same"}));
    never_starts(script, "protocol", &["tools/list", "\"same\"", "twice"]);
}

#[test]
fn pages_that_never_end() {
    let script = lists(json!({"tools": [], "nextCursor": "page {n}"}));
    never_starts(script, "protocol", &["tools/list", "1000 pages"]);
}

#[test]
fn a_line_without_end() {
    let bench = Bench::new();
    let memory = |field| bench.rest.map_or(0, |_| bench.server.memory(field));
    // Without the pages of the program, which come and go.
    let before = memory("RssAnon");
    let endless = Action::Out("x".repeat(1 << 10), 70 << 10);
    let script = calls([endless, Action::Sleep(300_000)]);
    let session = bench.server.session([Extension::scripted("odd", &script)]);
    let answer = session.call("odd__odd", json!({})).is(500);
    explains(answer.message(), "transport", &["67108864 bytes"]);
    session.stop();
    bench.nothing_is_left();
    let peak = memory("VmHWM");
    let after = memory("RssAnon");
    println!(
        "{} KiB, at most {}, then {}",
        before >> 10,
        peak >> 10,
        after >> 10
    );
    assert!(peak <= before + 160 * MIB, "{} MiB at most", peak / MIB);
    assert!(after <= before + 16 * MIB, "{} MiB kept", after / MIB);
}

#[test]
fn a_broken_extension_leaves_its_neighbours_alone() {
    let server = Server::new().start();
    let broken = Script::new().begin([Action::Exit(1)]);
    let session = server.begin_session([
        Extension::scripted("one", &Script::new()),
        Extension::scripted("odd", &broken),
        Extension::scripted("two", &Script::new()),
    ]);
    let results = session.resume();
    let success: Vec<&Value> = results.iter().map(|result| &result["success"]).collect();
    assert_eq!(success, [true, false, true], "{results:?}");
    session.echoes("one");
    session.echoes("two");
}

#[test]
fn a_dead_server_is_started_again_when_it_is_needed() {
    let script = calls([Action::Exit(7)]);
    let server = Server::new().start();
    let session = server.session([Extension::scripted("odd", &script)]);
    session
        .call("odd__odd", json!({}))
        .is(500)
        .says(&exit_status(7));
    session.echoes("odd");
}
