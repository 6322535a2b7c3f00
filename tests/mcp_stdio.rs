//! The client over stdio with a real server process: many callers, slow calls, ends of the process.

mod support;

use gosling::mcp::client::{CallOptions, Client, NotificationHandler, Options};
use gosling::mcp::transport::stdio::{StdioOptions, StdioTransport};
use gosling::mcp::typed::{Call, Event};
use gosling::mcp::types::Implementation;
use gosling::mcp::{Error, jsonrpc::RawJson};
use gosling::sys::cancel::Cancel;
use gosling::sys::process::Command;
use serde_json::value::RawValue;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use support::server::demo_command;

const TEST_TIMEOUT: Duration = Duration::from_secs(30);

struct NotificationSender(Mutex<Sender<(String, Option<i64>)>>);

impl NotificationHandler for NotificationSender {
    fn notification(&self, method: &str, _: Option<&RawValue>, request: Option<i64>) {
        let _ = self.0.lock().unwrap().send((method.to_owned(), request));
    }
}

/// The demo server, its notifications, and its process id.
fn demo() -> (Client, Receiver<(String, Option<i64>)>, i32) {
    demo_with(&[])
}

fn demo_with(options: &[&str]) -> (Client, Receiver<(String, Option<i64>)>, i32) {
    let line = demo_command();
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).args(options);
    let mut options = StdioOptions::new("demo");
    options.start = Duration::from_secs(60);
    let transport = StdioTransport::spawn(command, options, &Cancel::new()).unwrap();
    let pid = transport.pid();
    let (sender, heard) = channel();
    let listener = Arc::new(NotificationSender(Mutex::new(sender)));
    let options = Options::new("demo", Implementation::new("test", "1"));
    let client = Client::connect(Arc::new(transport), options, listener, &Cancel::new()).unwrap();
    (client, heard, pid)
}

fn arguments(value: serde_json::Value) -> RawJson {
    serde_json::value::to_raw_value(&value).unwrap()
}

fn echo(client: &Client, message: &str) -> String {
    let arguments = arguments(serde_json::json!({ "message": message }));
    let result = client
        .call_tool_raw("echo", &arguments, CallOptions::default(), &Cancel::new())
        .unwrap();
    let part: serde_json::Value = serde_json::from_str(result.content[0].as_json()).unwrap();
    part["text"].as_str().unwrap().to_owned()
}

#[test]
fn callers_that_read_for_themselves_never_miss_or_mix_up_an_answer() {
    let (client, ..) = demo();
    thread::scope(|scope| {
        for caller in 0..12 {
            let client = &client;
            scope.spawn(move || {
                for n in 0..250 {
                    let message = format!("{caller}:{n}");
                    assert_eq!(echo(client, &message), message);
                    // Some callers pause, so that both the reader thread and the callers read.
                    if caller % 4 == 0 && n % 25 == 0 {
                        thread::sleep(Duration::from_millis(3 * (n % 7)));
                    }
                }
            });
        }
    });
}

#[test]
fn every_listing_comes_whole_and_what_it_lists_can_be_had() {
    let (client, ..) = demo_with(&["--pages"]);
    let cancel = Cancel::new();
    client.ping(&cancel).unwrap();
    assert_eq!(client.list_tools(&cancel).unwrap().len(), 25);
    assert_eq!(client.list_resource_templates(&cancel).unwrap().len(), 25);
    let resources = client.list_resources(&cancel).unwrap();
    assert_eq!(resources.len(), 25);
    let last = client.read_resource(&resources[24].uri, &cancel).unwrap();
    assert_eq!(last.contents[0].uri, resources[24].uri);
    let prompts = client.list_prompts(&cancel).unwrap();
    assert_eq!(prompts.len(), 25);
    let prompt = &prompts[24];
    let blanks = prompt.arguments.iter().flatten();
    let filled = blanks
        .map(|blank| (blank.name.clone(), "Ada".into()))
        .collect();
    let got = client.get_prompt(&prompt.name, &filled, &cancel).unwrap();
    assert!(!got.messages.is_empty());
}

#[test]
fn what_the_server_did_not_declare_is_never_sent() {
    let (transport, server) = gosling::mcp::server::memory::pair();
    let peer = thread::spawn(move || {
        let outbox = server.outbox();
        let mut methods = Vec::new();
        while let Some(message) = server.recv() {
            let message: serde_json::Value = serde_json::from_slice(&message).unwrap();
            methods.push(message["method"].as_str().unwrap().to_owned());
            if message["method"] == "initialize" {
                let answer = serde_json::json!({
                    "jsonrpc": "2.0", "id": message["id"], "result": {
                        "protocolVersion": "2025-06-18", "capabilities": {},
                        "serverInfo": {"name": "bare", "version": "1"},
                    },
                });
                outbox.send(answer.to_string().as_bytes());
            }
        }
        methods
    });
    let cancel = Cancel::new();
    let options = Options::new("bare", Implementation::new("test", "1"));
    let deaf = Arc::new(gosling::mcp::client::IgnoreNotifications);
    let client = Client::connect(Arc::new(transport), options, deaf, &cancel).unwrap();
    assert!(client.list_tools(&cancel).unwrap().is_empty());
    assert!(client.list_resources(&cancel).unwrap().is_empty());
    assert!(client.list_resource_templates(&cancel).unwrap().is_empty());
    assert!(client.list_prompts(&cancel).unwrap().is_empty());
    let nothing = arguments(serde_json::json!({}));
    for refused in [
        client
            .call_tool_raw("x", &nothing, CallOptions::default(), &cancel)
            .err(),
        client.read_resource("x:", &cancel).err(),
        client
            .get_prompt("x", &serde_json::Map::new(), &cancel)
            .err(),
    ] {
        assert!(
            matches!(refused, Some(Error::NotDeclared { .. })),
            "{refused:?}"
        );
    }
    drop(client);
    assert_eq!(
        peer.join().unwrap(),
        ["initialize", "notifications/initialized"]
    );
}

#[test]
fn a_slow_call_hears_its_progress_and_does_not_hold_up_quick_ones() {
    let (client, heard, _) = demo();
    let slow = arguments(serde_json::json!({"steps": 4, "step_ms": 150}));
    thread::scope(|scope| {
        let call = scope.spawn(|| {
            client
                .call_tool_raw("slow", &slow, CallOptions::default(), &Cancel::new())
                .unwrap()
        });
        let mut quick = 0;
        while !call.is_finished() {
            echo(&client, "quick");
            quick += 1;
        }
        assert!(quick > 4, "only {quick} quick calls beside a slow one");
    });
    let progress = heard
        .try_iter()
        .filter(|(method, request)| method == "notifications/progress" && request.is_some());
    assert_eq!(progress.count(), 4);
}

#[test]
fn cancelling_is_prompt_whoever_reads() {
    let (client, ..) = demo();
    echo(&client, "so that the next caller reads for itself");
    for wait in [0, 5, 100] {
        let cancel = Cancel::new();
        let slow = arguments(serde_json::json!({"steps": 20, "step_ms": 500}));
        let begin = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(wait));
                cancel.cancel();
            });
            let error = client
                .call_tool_raw("slow", &slow, CallOptions::default(), &cancel)
                .unwrap_err();
            assert!(matches!(error, Error::Cancelled { .. }), "{error}");
        });
        assert!(begin.elapsed() < TEST_TIMEOUT / 10, "{:?}", begin.elapsed());
        assert_eq!(echo(&client, "still there"), "still there");
    }
}

#[cfg(unix)]
#[test]
fn the_end_of_the_server_is_seen_by_those_who_wait_and_when_nobody_does() {
    for calls_before in [0, 50] {
        let (client, _, pid) = demo();
        for _ in 0..calls_before {
            echo(&client, "busy");
        }
        let kill = || {
            let status = std::process::Command::new("kill")
                .args(["-9", &pid.to_string()])
                .status();
            assert!(status.unwrap().success());
        };
        if calls_before == 0 {
            kill();
        } else {
            let slow = arguments(serde_json::json!({"steps": 20, "step_ms": 500}));
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(Duration::from_millis(5));
                    kill();
                });
                let error = client
                    .call_tool_raw("slow", &slow, CallOptions::default(), &Cancel::new())
                    .unwrap_err();
                assert!(error.to_string().contains("signal: 9"), "{error}");
            });
        }
        let begin = Instant::now();
        while client.is_open() {
            assert!(begin.elapsed() < TEST_TIMEOUT, "the end was not seen");
            thread::sleep(Duration::from_millis(5));
        }
        let error = client.ping(&Cancel::new()).unwrap_err();
        assert!(error.to_string().contains("signal: 9"), "{error}");
    }
}

fn demo_program() -> Command {
    let line = demo_command();
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]);
    command
}

#[test]
fn a_callback_that_panics_loses_its_message_only() {
    // The caller reads what comes at once, and the reader thread what comes later.
    for step_ms in [1, 100] {
        let client = Client::builder("test", "1").on_event(|_| panic!("an event"));
        let client = client.spawn(demo_program()).unwrap();
        let steps = serde_json::json!({"steps": 2, "step_ms": step_ms});
        let progress = Call::new().on_progress(|_| panic!("progress"));
        for call in [progress, Call::new(), Call::new()] {
            let result = client.call_tool_with("slow", &steps, call);
            assert_eq!(result.unwrap().is_error, None);
        }
        assert!(client.is_open());
        let begin = Instant::now();
        client.close();
        assert!(begin.elapsed() < TEST_TIMEOUT);
    }
}

#[test]
fn a_callback_that_blocks_does_not_hold_the_end() {
    let (entered, is_entered) = channel();
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let client = Client::builder("test", "1").on_event(move |event| {
        let is_progress =
            matches!(&event, Event::Other { method, .. } if method.ends_with("progress"));
        if is_progress {
            entered.send(()).unwrap();
            let _ = gate.lock().unwrap().recv();
        }
    });
    let client = client.spawn(demo_program()).unwrap();
    let steps = serde_json::json!({"steps": 2, "step_ms": 300});
    thread::scope(|scope| {
        let call = scope.spawn(|| client.call_tool("slow", &steps));
        is_entered.recv_timeout(TEST_TIMEOUT).unwrap();
        let begin = Instant::now();
        client.close();
        assert!(begin.elapsed() < TEST_TIMEOUT);
        assert!(call.join().unwrap().is_err());
    });
    drop(open);
}
