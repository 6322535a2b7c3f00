//! Notifications and requests of a server during a call: observers, sampling, elicitation, over every
//! transport.

#[path = "support/http_peer.rs"]
#[allow(dead_code)] // Some of it is for the transport's own tests.
mod http_peer;
mod support;

use gosling::mcp::Error;
use gosling::mcp::client::RequestTimeouts;
use gosling::mcp::client::{
    CallObserver, CallOptions, Client, IgnoreNotifications, NotificationHandler, Options,
    RequestHandler,
};
use gosling::mcp::jsonrpc::ErrorObject;
use gosling::mcp::server::memory::{self, MemoryTransport, Outbox};
use gosling::mcp::transport::Transport;
use gosling::mcp::transport::http::{HttpOptions, HttpTransport};
use gosling::mcp::transport::stdio::{StdioOptions, StdioTransport};
use gosling::mcp::types::{
    CallToolResult, Content, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitMode,
    ElicitParams, ElicitResult, Implementation,
};
use gosling::sys::cancel::Cancel;
use gosling::sys::process::Command;
use http_peer::{AfterReply, Peer, accepted, answer, begin_events, chunk};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use support::scripted::{Action, Script};
use support::server::{as_argument, scripted_mcp};
use support::until;

/// Answers at once and records the caller; a request with the text `wait` is answered when it is cancelled.
#[derive(Default)]
struct RecordingHandler {
    asked: Mutex<Vec<(Option<String>, String)>>,
    cancelled: AtomicUsize,
    completed: Mutex<Vec<String>>,
    slow: Duration,
}

impl RecordingHandler {
    fn slow(slow: Duration) -> Self {
        RecordingHandler {
            slow,
            ..RecordingHandler::default()
        }
    }

    fn note(&self, caller: Option<&str>, what: &str, cancel: &Cancel) {
        let entry = (caller.map(str::to_owned), what.to_owned());
        self.asked.lock().unwrap().push(entry);
        thread::sleep(self.slow);
        if what == "wait" {
            until("the request is cancelled", || {
                cancel.is_cancelled().then_some(())
            });
            self.cancelled.fetch_add(1, Ordering::SeqCst);
        }
        assert_ne!(what, "panic");
    }

    fn asked(&self) -> Vec<(Option<String>, String)> {
        self.asked.lock().unwrap().clone()
    }
}

impl RequestHandler for RecordingHandler {
    fn sample(
        &self,
        caller: Option<&str>,
        params: CreateMessageParams,
        cancel: &Cancel,
    ) -> Result<CreateMessageResult, ErrorObject> {
        let part: Value = serde_json::from_str(params.messages[0].content[0].as_json()).unwrap();
        self.note(caller, part["text"].as_str().unwrap(), cancel);
        Ok(CreateMessageResult {
            role: "assistant".to_owned(),
            content: vec![Content::text("sampled")],
            model: "m".to_owned(),
            stop_reason: Some("endTurn".to_owned()),
        })
    }

    fn elicit(
        &self,
        caller: Option<&str>,
        params: ElicitParams,
        cancel: &Cancel,
    ) -> Result<ElicitResult, ErrorObject> {
        self.note(caller, &params.message, cancel);
        if params.message == "refuse" {
            return Err(ErrorObject::new(-1, "not now"));
        }
        let content = json!({"name": "Ann"});
        Ok(ElicitResult {
            action: ElicitAction::Accept,
            content: (params.mode == ElicitMode::Form)
                .then(|| content.as_object().unwrap().clone()),
        })
    }

    fn elicitation_complete(&self, id: &str) {
        self.completed.lock().unwrap().push(id.to_owned());
    }
}

fn form(message: &str) -> Value {
    json!({"message": message, "requestedSchema": {"type": "object", "properties": {}}})
}

fn sampling(text: &str) -> Value {
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": 9})
}

/// A server in this process that answers `initialize`, closes the connection on `ping`, and passes everything
/// else to the test.
struct Server {
    outbox: Outbox,
    heard: Receiver<Value>,
    initialize: Value,
}

impl Server {
    fn say(&self, message: Value) {
        self.outbox.send(message.to_string().as_bytes());
    }

    fn notify(&self, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn ask(&self, id: impl Into<Value>, method: &str, params: Value) {
        let id = id.into();
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn text(&self, id: &Value, text: &str) {
        let result = json!({"content": [{"type": "text", "text": text}]});
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn next(&self) -> Value {
        self.heard
            .recv_timeout(support::TEST_TIMEOUT)
            .expect("a message")
    }

    /// The id of the next call.
    fn call(&self) -> Value {
        let call = self.next();
        assert_eq!(call["method"], "tools/call", "{call}");
        call["id"].clone()
    }

    fn hears_nothing(&self) {
        let heard = self.heard.recv_timeout(Duration::from_millis(50));
        assert!(heard.is_err(), "{heard:?}");
    }
}

fn serve(end: memory::ServerEnd, heard: Sender<Value>) {
    while let Some(message) = end.recv() {
        let message: Value = serde_json::from_slice(&message).unwrap();
        if message["method"] == "initialize" {
            let result = json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"},
            });
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            end.outbox().send(answer.to_string().as_bytes());
        }
        if message["method"] == "ping" {
            return;
        }
        if message["method"] != "notifications/initialized" {
            let _ = heard.send(message);
        }
    }
}

fn connect(options: Options, listener: Arc<dyn NotificationHandler>) -> (Client, Server) {
    let (transport, end): (MemoryTransport, _) = memory::pair();
    let (sender, heard) = channel();
    let outbox = end.outbox();
    thread::spawn(move || serve(end, sender));
    let transport = Arc::new(transport);
    let client = Client::connect(transport, options, listener, &Cancel::new()).unwrap();
    let initialize = heard.recv_timeout(support::TEST_TIMEOUT).unwrap();
    let server = Server {
        outbox,
        heard,
        initialize,
    };
    (client, server)
}

fn with(handler: &Arc<RecordingHandler>) -> Options {
    let mut options = Options::new("peer", Implementation::new("test", "1"));
    options.request_handler = Some(handler.clone());
    options
}

fn call(client: &Client, call: CallOptions<'_>, cancel: &Cancel) -> Result<CallToolResult, Error> {
    let nothing = RawValue::from_string("{}".to_owned()).unwrap();
    client.call_tool_raw("tool", &nothing, call, cancel)
}

fn labelled(label: &str) -> CallOptions<'_> {
    CallOptions {
        label: Some(label),
        ..CallOptions::default()
    }
}

fn result_text(result: Result<CallToolResult, Error>) -> String {
    let result = result.unwrap();
    let part: Value = serde_json::from_str(result.content[0].as_json()).unwrap();
    part["text"].as_str().unwrap().to_owned()
}

type ObservedNotifications = Arc<Mutex<Vec<String>>>;

/// Records the method and the text of each notification as one word.
fn observer() -> (CallObserver, ObservedNotifications) {
    let heard = ObservedNotifications::default();
    let notes = heard.clone();
    let observe = move |method: &str, params: Option<&RawValue>| {
        let params: Value = serde_json::from_str(params.unwrap().get()).unwrap();
        let method = method.trim_start_matches("notifications/");
        let said = [&params["progress"], &params["data"]];
        let said = said.into_iter().find(|said| !said.is_null()).unwrap();
        notes.lock().unwrap().push(format!("{method}:{said}"));
    };
    (Arc::new(observe), heard)
}

fn observed(observer: &CallObserver) -> CallOptions<'static> {
    CallOptions {
        observer: Some(observer.clone()),
        label: None,
        ..CallOptions::default()
    }
}

impl NotificationHandler for RecordingHandler {
    fn notification(&self, method: &str, _: Option<&RawValue>, _: Option<i64>) {
        self.completed.lock().unwrap().push(method.to_owned());
    }
}

#[test]
fn each_call_hears_its_own_progress_and_the_oldest_hears_the_log() {
    let handler = Arc::new(RecordingHandler::default());
    let (client, server) = connect(
        Options::new("peer", Implementation::new("test", "1")),
        handler.clone(),
    );
    let (first, first_heard) = observer();
    let (second, second_heard) = observer();
    let log = |data| {
        server.notify(
            "notifications/message",
            json!({"level": "info", "data": data}),
        )
    };
    let progress = |id: &Value, n| {
        let params = json!({"progressToken": id, "progress": n});
        server.notify("notifications/progress", params);
    };
    let heard = |heard: &ObservedNotifications| heard.lock().unwrap().clone();
    thread::scope(|scope| {
        let one = scope.spawn(|| call(&client, observed(&first), &Cancel::new()));
        let id_one = server.call();
        let two = scope.spawn(|| call(&client, observed(&second), &Cancel::new()));
        let id_two = server.call();
        progress(&id_two, 2);
        progress(&id_one, 1);
        log("a");
        server.text(&id_one, "done");
        assert_eq!(result_text(one.join().unwrap()), "done");
        // The client has dropped the observer.
        assert_eq!(Arc::strong_count(&first), 1);
        progress(&id_one, 9);
        log("b");
        server.text(&id_two, "done");
        assert_eq!(result_text(two.join().unwrap()), "done");
        assert_eq!(Arc::strong_count(&second), 1);
        log("c");
    });
    assert_eq!(heard(&first_heard), ["progress:1", "message:\"a\""]);
    assert_eq!(heard(&second_heard), ["progress:2", "message:\"b\""]);
    // Notifications without an observer go to the notification handler: late progress, and log messages after
    // the calls.
    let rest = handler.completed.lock().unwrap().clone();
    assert_eq!(rest, ["notifications/progress", "notifications/message"]);
}

#[test]
fn a_call_without_observer_leaves_the_log_to_the_listener() {
    let handler = Arc::new(RecordingHandler::default());
    let (client, server) = connect(
        Options::new("peer", Implementation::new("test", "1")),
        handler.clone(),
    );
    let (second, heard) = observer();
    thread::scope(|scope| {
        let one = scope.spawn(|| call(&client, CallOptions::default(), &Cancel::new()));
        let id_one = server.call();
        let two = scope.spawn(|| call(&client, observed(&second), &Cancel::new()));
        let id_two = server.call();
        server.notify("notifications/message", json!({"data": "a"}));
        server.text(&id_one, "");
        server.text(&id_two, "");
        result_text(one.join().unwrap());
        result_text(two.join().unwrap());
    });
    assert!(heard.lock().unwrap().is_empty());
    assert_eq!(
        *handler.completed.lock().unwrap(),
        ["notifications/message"]
    );
}

#[test]
fn what_no_handler_answers_is_neither_declared_nor_answered() {
    let (_client, server) = connect(
        Options::new("peer", Implementation::new("test", "1")),
        Arc::new(IgnoreNotifications),
    );
    assert_eq!(server.initialize["params"]["capabilities"], json!({}));
    server.ask(1, "elicitation/create", form("x"));
    let answer = server.next();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(1), &json!(-32601))
    );

    let handler = Arc::new(RecordingHandler::default());
    let (_client, server) = connect(with(&handler), Arc::new(IgnoreNotifications));
    assert_eq!(
        server.initialize["params"]["capabilities"],
        json!({"sampling": {}, "elicitation": {"form": {}, "url": {}}})
    );
    server.ask("r", "roots/list", json!({}));
    assert_eq!(server.next()["error"]["code"], -32601);
}

#[test]
fn requests_are_answered_with_what_the_handler_says() {
    let handler = Arc::new(RecordingHandler::default());
    let (client, server) = connect(with(&handler), Arc::new(IgnoreNotifications));
    thread::scope(|scope| {
        let running = scope.spawn(|| call(&client, labelled("call-7"), &Cancel::new()));
        let id = server.call();
        server.ask("a", "sampling/createMessage", sampling("hello"));
        assert_eq!(
            server.next(),
            json!({"jsonrpc": "2.0", "id": "a", "result": {
                "role": "assistant", "content": {"type": "text", "text": "sampled"},
                "model": "m", "stopReason": "endTurn",
            }})
        );
        server.ask("b", "elicitation/create", form("name?"));
        let content = json!({"action": "accept", "content": {"name": "Ann"}});
        assert_eq!(server.next()["result"], content);
        server.ask("c", "elicitation/create", form("refuse"));
        assert_eq!(
            server.next()["error"],
            json!({"code": -1, "message": "not now"})
        );
        server.text(&id, "done");
        result_text(running.join().unwrap());
    });
    server.ask("d", "elicitation/create", form("later"));
    server.next();
    let caller = Some("call-7".to_owned());
    assert_eq!(
        handler.asked(),
        [
            (caller.clone(), "hello".to_owned()),
            (caller.clone(), "name?".to_owned()),
            (caller, "refuse".to_owned()),
            (None, "later".to_owned()),
        ]
    );
}

#[test]
fn what_may_not_be_asked_never_reaches_the_handler() {
    let handler = Arc::new(RecordingHandler::default());
    let (_client, server) = connect(with(&handler), Arc::new(IgnoreNotifications));
    let ask = |url: Value| {
        let params = json!({"mode": "url", "message": "m", "url": url, "elicitationId": "e"});
        server.ask(1, "elicitation/create", params);
        server.next()
    };
    assert_eq!(
        ask(json!("https://x.example/a"))["result"],
        json!({"action": "accept"})
    );
    for bad in [
        json!("javascript:alert(1)"),
        json!("file:///etc/passwd"),
        json!("https://x.example/a b"),
        json!(format!("https://x.example/{}", "a".repeat(9000))),
        json!(null),
        json!(5),
    ] {
        assert_eq!(ask(bad.clone())["error"]["code"], -32602, "{bad}");
    }
    let unknown = json!({"mode": "smell", "message": "m"});
    server.ask(1, "elicitation/create", unknown);
    assert_eq!(server.next()["error"]["code"], -32602);
    let mut with_tools = sampling("x");
    with_tools["tools"] = json!([]);
    for params in [json!([]), with_tools] {
        server.ask(1, "sampling/createMessage", params);
        assert_eq!(server.next()["error"]["code"], -32602);
    }
    server.notify(
        "notifications/elicitation/complete",
        json!({"elicitationId": "e"}),
    );
    assert_eq!(*handler.completed.lock().unwrap(), ["e"]);
    assert_eq!(handler.asked().len(), 1);
}

#[test]
fn a_handler_that_panics_is_an_error_of_the_client() {
    let handler = Arc::new(RecordingHandler::default());
    let (_client, server) = connect(with(&handler), Arc::new(IgnoreNotifications));
    server.ask(1, "elicitation/create", form("panic"));
    assert_eq!(server.next()["error"]["code"], -32603);
    server.ask(1, "elicitation/create", form("fine"));
    assert_eq!(server.next()["result"]["action"], "accept");
}

#[test]
fn only_so_many_requests_are_answered_at_once_and_a_withdrawn_one_not_at_all() {
    let handler = Arc::new(RecordingHandler::default());
    let (_client, server) = connect(with(&handler), Arc::new(IgnoreNotifications));
    for id in 0..8 {
        server.ask(id, "elicitation/create", form("wait"));
    }
    server.ask(8, "elicitation/create", form("one more"));
    let refused = server.next();
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(8), &json!(-32000))
    );
    server.ask(3, "elicitation/create", form("again"));
    assert_eq!(server.next()["error"]["code"], -32600);

    until("all are asked", || {
        (handler.asked().len() == 8).then_some(())
    });
    server.notify("notifications/cancelled", json!({"requestId": 3}));
    until("one is cancelled", || {
        (handler.cancelled.load(Ordering::SeqCst) == 1).then_some(())
    });
    server.hears_nothing();
    // The limit allows another request, even with the same id.
    server.ask(3, "elicitation/create", form("now"));
    assert_eq!(server.next()["result"]["action"], "accept");
}

#[test]
fn the_end_of_a_connection_ends_what_is_being_answered() {
    for end in ["closed here", "closed there", "broken off"] {
        let handler = Arc::new(RecordingHandler::default());
        let (client, server) = connect(with(&handler), Arc::new(IgnoreNotifications));
        server.ask(1, "elicitation/create", form("wait"));
        until("it is asked", || (handler.asked().len() == 1).then_some(()));
        match end {
            "closed here" => client.close(),
            "closed there" => assert!(client.ping(&Cancel::new()).is_err()),
            _ => server.say(json!([{"jsonrpc": "2.0", "method": "a batch"}])),
        }
        until(end, || {
            (handler.cancelled.load(Ordering::SeqCst) == 1).then_some(())
        });
        drop(client);
        // `close` has waited for the thread, which has dropped the handler.
        assert_eq!(Arc::strong_count(&handler), 1, "{end}");
    }
}

#[test]
fn a_call_that_is_given_up_takes_its_questions_along() {
    let handler = Arc::new(RecordingHandler::default());
    let (client, server) = connect(with(&handler), Arc::new(IgnoreNotifications));
    let cancel = Cancel::new();
    thread::scope(|scope| {
        let running = scope.spawn(|| call(&client, CallOptions::default(), &cancel));
        server.call();
        server.ask(1, "elicitation/create", form("wait"));
        until("it is asked", || (handler.asked().len() == 1).then_some(()));
        cancel.cancel();
        assert!(matches!(
            running.join().unwrap(),
            Err(Error::Cancelled { .. })
        ));
    });
    let one = server.next();
    let two = server.next();
    let cancelled = [&one, &two]
        .iter()
        .any(|m| m["method"] == "notifications/cancelled");
    assert!(cancelled, "{one} {two}");
    assert_eq!(handler.cancelled.load(Ordering::SeqCst), 1);
}

#[test]
fn no_deadline_passes_while_the_server_waits_for_us() {
    let handler = Arc::new(RecordingHandler::slow(Duration::from_millis(600)));
    let mut options = with(&handler);
    options.timeouts = RequestTimeouts {
        idle: Duration::from_millis(200),
        total: Duration::from_secs(20),
    };
    let (client, server) = connect(options, Arc::new(IgnoreNotifications));
    thread::scope(|scope| {
        let running = scope.spawn(|| call(&client, CallOptions::default(), &Cancel::new()));
        let id = server.call();
        server.ask(1, "elicitation/create", form("slowly"));
        server.next();
        server.text(&id, "late and welcome");
        assert_eq!(result_text(running.join().unwrap()), "late and welcome");

        let begin = Instant::now();
        let running = scope.spawn(|| call(&client, CallOptions::default(), &Cancel::new()));
        server.call();
        server.ask(2, "elicitation/create", form("slowly"));
        let outcome = running.join().unwrap();
        assert!(matches!(outcome, Err(Error::TimedOut { .. })));
        assert!(begin.elapsed() >= Duration::from_millis(700));
    });
}

#[test]
fn a_call_that_needs_the_user_elsewhere_first_says_where() {
    let (client, server) = connect(
        Options::new("peer", Implementation::new("test", "1")),
        Arc::new(IgnoreNotifications),
    );
    let refuse = |elicitations: Value| {
        thread::scope(|scope| {
            let running = scope.spawn(|| call(&client, CallOptions::default(), &Cancel::new()));
            let id = server.call();
            let error = json!({
                "code": -32042, "message": "sign in", "data": {"elicitations": elicitations},
            });
            server.say(json!({"jsonrpc": "2.0", "id": id, "error": error}));
            running.join().unwrap().unwrap_err().to_string()
        })
    };
    let url = |url: &str| json!({"mode": "url", "message": "Sign in", "url": url});
    let one = refuse(json!([url("https://x.example/1"), url("javascript:x")]));
    assert!(one.contains("https://x.example/1 (Sign in)"), "{one}");
    assert!(!one.contains("javascript"), "{one}");
    for useless in [json!([]), json!(5), json!([url("javascript:x")])] {
        let text = refuse(useless);
        assert!(text.contains("sign in (code -32042)"), "{text}");
    }
}

#[test]
fn a_server_on_stdio_reports_logs_asks_and_gets_its_answers() {
    let log = |data: &str| Action::notify("notifications/message", json!({"data": data}));
    let script = Script::new().tool(
        "tool",
        [
            Action::Progress(2, 0),
            log("a"),
            Action::AskWith("sampling/createMessage".into(), sampling("hello")),
            Action::AskWith("elicitation/create".into(), form("name?")),
            log("b"),
            Action::LastClientAnswer,
        ],
    );
    let mut command = Command::new(scripted_mcp());
    command.arg(as_argument(&script));
    let mut options = StdioOptions::new("peer");
    options.start = Duration::from_secs(60);
    let transport = StdioTransport::spawn(command, options, &Cancel::new()).unwrap();
    let transport: Arc<dyn Transport> = Arc::new(transport);
    let handler = Arc::new(RecordingHandler::default());
    let client = Client::connect(
        transport,
        with(&handler),
        Arc::new(IgnoreNotifications),
        &Cancel::new(),
    )
    .unwrap();
    let (observer, heard) = observer();
    let follow = CallOptions {
        observer: Some(observer),
        label: Some("c1"),
        ..CallOptions::default()
    };
    let told: Value =
        serde_json::from_str(&result_text(call(&client, follow, &Cancel::new()))).unwrap();
    assert_eq!(told["result"]["content"], json!({"name": "Ann"}));
    let caller = Some("c1".to_owned());
    assert_eq!(
        handler.asked(),
        [
            (caller.clone(), "hello".to_owned()),
            (caller, "name?".to_owned())
        ]
    );
    assert_eq!(
        *heard.lock().unwrap(),
        ["progress:1", "progress:2", "message:\"a\"", "message:\"b\""]
    );
}

/// Over HTTP every call has its own stream, so the call of a request is certain. The client's answer is an
/// accepted POST.
#[test]
fn a_server_over_http_asks_on_the_stream_of_the_call() {
    let answered = Arc::new(AtomicBool::new(false));
    let other = answered.clone();
    let peer = Peer::new(move |seen, stream| {
        let message: Value = serde_json::from_str(&seen.body).unwrap_or_default();
        let id = message["id"].clone();
        let event = |message: Value| format!("data: {message}\n\n");
        match message["method"].as_str() {
            _ if seen.method == "GET" => answer(stream, "405 Method Not Allowed", ""),
            Some("initialize") => {
                let result = json!({
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "s", "version": "1"},
                });
                let text = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
                http_peer::json(stream, &text)
            }
            Some("tools/call") if message["params"]["name"] == "older" => {
                begin_events(stream);
                until("the other call is over", || {
                    other.load(Ordering::SeqCst).then_some(())
                });
                let result = json!({"content": []});
                let text = event(json!({"jsonrpc": "2.0", "id": id, "result": result}));
                chunk(stream, &text);
                chunk(stream, "");
                AfterReply::Keep
            }
            Some("tools/call") => {
                begin_events(stream);
                let log = json!({"jsonrpc": "2.0", "method": "notifications/message",
                    "params": {"data": "mine"}});
                let ask = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                    "params": form("name?")});
                chunk(stream, &event(log));
                chunk(stream, &event(ask));
                until("the answer came", || {
                    other.load(Ordering::SeqCst).then_some(())
                });
                let result = json!({"content": [{"type": "text", "text": "thanks"}]});
                let text = event(json!({"jsonrpc": "2.0", "id": id, "result": result}));
                chunk(stream, &text);
                chunk(stream, "");
                AfterReply::Keep
            }
            None if id == "q" => {
                assert_eq!(message["result"]["content"], json!({"name": "Ann"}));
                other.store(true, Ordering::SeqCst);
                accepted(stream)
            }
            _ => accepted(stream),
        }
    });
    let transport = HttpTransport::new(HttpOptions::new("peer", &peer.url)).unwrap();
    let handler = Arc::new(RecordingHandler::default());
    let client = Client::connect(
        Arc::new(transport),
        with(&handler),
        Arc::new(IgnoreNotifications),
        &Cancel::new(),
    )
    .unwrap();
    let (older, older_heard) = observer();
    let (newer, newer_heard) = observer();
    let nothing = to_raw_value(&json!({})).unwrap();
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            let call = CallOptions {
                observer: Some(older),
                label: Some("older"),
                ..CallOptions::default()
            };
            client.call_tool_raw("older", &nothing, call, &Cancel::new())
        });
        peer.wait_for("the older call", |seen| seen.body.contains("\"older\""));
        let follow = CallOptions {
            observer: Some(newer),
            label: Some("newer"),
            ..CallOptions::default()
        };
        assert_eq!(result_text(call(&client, follow, &Cancel::new())), "thanks");
        first.join().unwrap().unwrap();
    });
    assert!(answered.load(Ordering::SeqCst));
    assert_eq!(
        handler.asked(),
        [(Some("newer".to_owned()), "name?".to_owned())]
    );
    assert!(older_heard.lock().unwrap().is_empty());
    assert_eq!(*newer_heard.lock().unwrap(), ["message:\"mine\""]);
}

#[cfg(feature = "builtin")]
mod own_server {
    use super::*;
    use gosling::builtin::mcp_endpoint::{self, Sessions};
    use gosling::http::{self, AccessControl};
    use gosling::mcp::server;
    use gosling::mcp::typed::Event;
    use gosling::mcp::types::Root;

    /// A server of our own that asks during a call, over two transports.
    #[test]
    fn a_server_of_ours_asks_a_client_of_ours() {
        let server = || {
            let ask = |_: serde::de::IgnoredAny, context: &server::Context| {
                let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
                let asked = context.elicit("Who are you?", &schema);
                let asked = asked.map_err(|error| server::ToolError::Failed(error.to_string()))?;
                let roots = context.roots();
                let roots = roots.map_err(|error| server::ToolError::Failed(error.to_string()))?;
                let name = asked.content.unwrap_or_default()["name"].clone();
                Ok(CallToolResult::text(format!("{name} in {}", roots[0].uri)))
            };
            server::Server::new("asking", "1").tool(server::Tool::new("tool", "", ask))
        };
        let handler = Arc::new(RecordingHandler::default());
        let asks = |transport: Arc<dyn Transport>| {
            let mut options = with(&handler);
            options.roots = Some(vec![Root {
                uri: "file:///here".to_owned(),
                name: None,
            }]);
            let quiet = Arc::new(IgnoreNotifications);
            let client = Client::connect(transport, options, quiet, &Cancel::new()).unwrap();
            let answer = call(&client, labelled("one"), &Cancel::new());
            assert_eq!(result_text(answer), "\"Ann\" in file:///here");
            client.close();
        };
        asks(Arc::new(server::InProcess::new(server())));

        let sessions = Arc::new(Sessions::new(server));
        let router = mcp_endpoint::router(&sessions);
        let access = AccessControl::default();
        let limits = http::Limits::default();
        let endpoint = http::Server::bind(("127.0.0.1", 0), router, access, limits).unwrap();
        let url = format!("http://{}/mcp", endpoint.local_addr());
        let transport = HttpTransport::new(HttpOptions::new("peer", url)).unwrap();
        asks(Arc::new(transport));
        endpoint.stop(Duration::from_secs(1));
        sessions.close();
        assert_eq!(
            handler.asked(),
            vec![(Some("one".to_owned()), "Who are you?".to_owned()); 2]
        );
    }

    /// Over HTTP, changes come on the stream that belongs to no request; servers without changes have none.
    #[test]
    fn changes_of_a_server_of_ours_are_heard_over_http() {
        let tool = |name: &str| {
            server::Tool::new(name, "", |_: serde::de::IgnoredAny, _: &server::Context| {
                Ok(CallToolResult::text("done"))
            })
        };
        let growing = server::Server::new("growing", "1")
            .tool(tool("first"))
            .changing(&[server::Listing::Tools]);
        let growing = Arc::new(growing);
        let shared = growing.clone();
        let sessions = Arc::new(Sessions::new(move || shared.clone()));
        let router = mcp_endpoint::router(&sessions);
        let (access, limits) = (AccessControl::default(), http::Limits::default());
        let endpoint = http::Server::bind(("127.0.0.1", 0), router, access, limits).unwrap();
        let url = format!("http://{}/mcp", endpoint.local_addr());
        let connect = |changes: Sender<Event>| {
            let transport = HttpTransport::new(HttpOptions::new("peer", &url)).unwrap();
            let builder = Client::builder("test", "1").on_event(move |event| {
                let _ = changes.send(event);
            });
            builder.connect(transport).unwrap()
        };
        let clients = [(); 2].map(|()| {
            let (sender, changes) = channel();
            (connect(sender), changes)
        });
        for (client, _) in &clients {
            assert_eq!(client.list_tools(&Cancel::new()).unwrap().len(), 1);
        }
        for n in 0..3 {
            growing.add_tool(tool(&format!("more_{n}"))).unwrap();
            for (client, changes) in &clients {
                let event = changes.recv_timeout(support::TEST_TIMEOUT).unwrap();
                assert!(matches!(event, Event::ToolsChanged), "{event:?}");
                assert_eq!(client.list_tools(&Cancel::new()).unwrap().len(), n + 2);
            }
        }
        drop(clients);
        endpoint.stop(Duration::from_secs(1));
        sessions.close();
    }
}
