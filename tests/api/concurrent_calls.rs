//! Many parallel calls with random delays: each caller gets its own result, whether the other calls succeed,
//! time out or are cancelled.

use crate::http_peer::{self, AfterReply, Peer};
use crate::support::client::Answer;
use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, RunningServer, Server, Session};
use crate::support::until;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::net::TcpStream;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// How many calls run in parallel.
const CALLS: usize = 64;
/// Longer than the server takes for any call that it answers, even on a busy machine.
const DEADLINE: u64 = 5;

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The server answers after so many milliseconds.
    Answered(u64),
    /// The server never answers, and the client disconnects after so many milliseconds.
    Cancelled(u64),
    /// The server never answers.
    TimedOut,
}

/// A new seed for each run; a failure prints its seed.
fn fates() -> Vec<Fate> {
    let random = RandomState::new();
    let fate = |n: usize| {
        let delay = random.hash_one(n) % 400;
        match n % 8 {
            0 => Fate::Cancelled(delay),
            1 => Fate::TimedOut,
            _ => Fate::Answered(delay),
        }
    };
    (0..CALLS).map(fate).collect()
}

/// Runs all calls in parallel, each in its own thread.
fn storm(session: &Session, extension: &str, fates: &[Fate]) {
    let begin = Barrier::new(CALLS);
    thread::scope(|scope| {
        for (n, fate) in fates.iter().enumerate() {
            let begin = &begin;
            scope.spawn(move || {
                let tool = format!("{extension}__t{n}");
                begin.wait();
                let stream = session.begin_call(&tool, json!({}));
                if let Fate::Cancelled(after) = fate {
                    thread::sleep(Duration::from_millis(*after));
                    return drop(stream);
                }
                let answer = Answer::read(format!("{tool} {fate:?}"), stream);
                match fate {
                    Fate::TimedOut => drop(answer.is(500).says("timeout")),
                    _ => assert_eq!(answer.is(200).content(), format!("t{n}"), "{fates:?}"),
                }
            });
        }
    });
}

/// The calls in these requests, and the calls that the requests cancel, by the names of their tools.
fn cancelled(messages: &[Value]) -> HashSet<String> {
    let of = |method: &'static str| messages.iter().filter(move |m| m["method"] == method);
    let tool = |request: &Value| {
        let mut calls = of("tools/call");
        let call = calls.find(|call| call["id"] == *request).expect("a call");
        call["params"]["name"].as_str().expect("a name").to_owned()
    };
    of("notifications/cancelled")
        .map(|m| tool(&m["params"]["requestId"]))
        .collect()
}

/// Checks that the server got a cancellation for exactly those calls whose clients stopped waiting.
#[track_caller]
fn cancels_no_others(fates: &[Fate], messages: impl Fn() -> Vec<Value>) {
    let given_up = |(n, fate): (usize, &Fate)| {
        let answered = matches!(fate, Fate::Answered(_));
        (!answered).then(|| format!("t{n}"))
    };
    let expected: HashSet<_> = fates.iter().enumerate().filter_map(given_up).collect();
    until("the server hears what is cancelled", || {
        (cancelled(&messages()).len() >= expected.len()).then_some(())
    });
    assert_eq!(cancelled(&messages()), expected, "{fates:?}");
}

/// A server over Streamable HTTP with these tools, named as in [`storm`], and `echo`. Half of the
/// answers come as JSON, half as events.
fn web(fates: Vec<Fate>) -> Peer {
    Peer::new(move |seen, stream| {
        let message: Value = serde_json::from_str(&seen.body).unwrap_or_default();
        let result = |result: Value| {
            json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string()
        };
        match message["method"].as_str() {
            Some("initialize") => http_peer::json(
                stream,
                &result(json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "web", "version": "1"},
                })),
            ),
            Some("tools/list") => {
                let names = (0..fates.len()).map(|n| format!("t{n}"));
                let tools: Vec<Value> = names
                    .chain(["echo".to_owned()])
                    .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
                    .collect();
                http_peer::json(stream, &result(json!({ "tools": tools })))
            }
            Some("tools/call") => {
                let name = message["params"]["name"].as_str().unwrap_or_default();
                let number = name[1..].parse::<usize>().ok();
                let text = match number {
                    Some(_) => name,
                    None => message["params"]["arguments"]["message"]
                        .as_str()
                        .unwrap_or_default(),
                };
                match number.map(|n| fates[n]) {
                    None => {}
                    Some(Fate::Answered(after)) => thread::sleep(Duration::from_millis(after)),
                    Some(_) => return http_peer::wait_for_hangup(stream),
                }
                let answer = result(json!({"content": [{"type": "text", "text": text}]}));
                if number.is_none_or(|n| n % 2 == 0) {
                    return http_peer::json(stream, &answer);
                }
                http_peer::begin_events(stream);
                http_peer::chunk(stream, &format!("data: {answer}\n\n"));
                http_peer::chunk(stream, "")
            }
            Some(_) => http_peer::accepted(stream),
            None => {
                http_peer::answer(stream, "405 Method Not Allowed", "");
                AfterReply::Close
            }
        }
    })
}

fn stdio(fates: &[Fate]) -> Script {
    let tools = fates.iter().enumerate();
    tools.fold(Script::new(), |script, (n, fate)| {
        let name = format!("t{n}");
        match fate {
            Fate::Answered(after) => {
                script.tool(&name, [Action::Sleep(*after), Action::text(&name)])
            }
            _ => script.tool(&name, []),
        }
    })
}

fn over_http(name: &str, peer: &Peer) -> Extension {
    Extension(json!({
        "type": "streamable_http", "name": name, "description": "", "uri": peer.url,
    }))
}

#[test]
fn over_stdio_every_caller_gets_its_own_answer_and_only_the_lost_are_cancelled() {
    let (fates, record) = (fates(), Record::new());
    let script = stdio(&fates).recorded(&record.path());
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script).with("timeout", DEADLINE)]);
    storm(&session, "one", &fates);
    cancels_no_others(&fates, || record.messages());
    session.echoes("one");
    server.never_logs("unknown request");
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn over_http_every_caller_gets_its_own_answer_and_only_the_lost_are_cancelled() {
    let fates = fates();
    let peer = web(fates.clone());
    let server = Server::new().start();
    let session = server.session([over_http("web", &peer).with("timeout", DEADLINE)]);
    storm(&session, "web", &fates);
    cancels_no_others(&fates, || {
        let bodies = peer.seen().into_iter().map(|seen| seen.body);
        bodies
            .filter_map(|body| serde_json::from_str(&body).ok())
            .collect()
    });
    session.echoes("web");
    server.never_logs("unknown request");
}

/// Checks that nothing has arrived yet.
fn is_silent(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let read = stream.peek(&mut [0]);
    read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

fn waits<'a>(
    server: &'a RunningServer,
    slow: [Extension; 2],
    quick: [Extension; 2],
) -> Session<'a> {
    server.session(slow.into_iter().chain(quick))
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn a_server_that_is_silent_does_not_slow_its_neighbours() {
    let silent = vec![Fate::TimedOut; 16];
    let (slow, quick) = (web(silent.clone()), web(Vec::new()));
    let server = Server::new().start();
    let session = waits(
        &server,
        [
            Extension::scripted("slow", &stdio(&silent)),
            over_http("slowweb", &slow),
        ],
        [
            Extension::scripted("quick", &Script::new()),
            over_http("quickweb", &quick),
        ],
    );
    let waiting: Vec<_> = (0..silent.len())
        .flat_map(|n| [format!("slow__t{n}"), format!("slowweb__t{n}")])
        .map(|tool| session.begin_call(&tool, json!({})))
        .collect();
    slow.wait_for("call", |seen| seen.body.contains("\"t15\""));
    for _ in 0..100 {
        session.echoes("quick");
        session.echoes("quickweb");
    }
    assert!(waiting.iter().all(is_silent), "the slow ones were answered");
    // Nor do those of another session.
    let other = server.session([Extension::demo()]);
    let sum = other.call("demo__add", json!({"a": 1, "b": 2}));
    sum.is(200);
    assert!(waiting.iter().all(is_silent), "the slow ones were answered");
}
