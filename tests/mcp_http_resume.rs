//! Event streams that span several connections, against a scripted server: they are resumed where they ended,
//! and given up in time.

#[path = "support/http_client.rs"]
mod http_client;
#[allow(dead_code)] // Each test file uses its own part.
#[path = "support/http_peer.rs"]
mod http_peer;

use gosling::mcp::transport::{Transport, TransportError};
use http_client::{Client, answer_as_usual, event, result, threads, wait_until};
use http_peer::{
    AfterReply, Peer, ReceivedRequest, answer, begin_events, chunk, json, wait_for_hangup,
};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn the_servers_own_stream_is_opened_and_resumed_until_it_is_not_offered_any_more() {
    let peer = Peer::new(|seen, stream| {
        if seen.method != "GET" {
            return answer_as_usual(seen, stream);
        }
        match seen.header("last-event-id") {
            None => {
                begin_events(stream);
                chunk(stream, "id: 5\nretry: 120\ndata: {\"n\":1}\n\ndata: torn");
                chunk(stream, "")
            }
            Some("5") => {
                begin_events(stream);
                chunk(stream, "id: 6\ndata: {\"n\":2}\n\n");
                AfterReply::Close
            }
            Some(_) => answer(stream, "405 Method Not Allowed", ""),
        }
    });
    let client = Client::of(&peer, "events");
    client.initialize();
    client.log.message("\"n\":1");
    client.log.message("\"n\":2");
    peer.wait_for("last GET", |seen| seen.header("last-event-id") == Some("6"));
    wait_until("no thread left", || threads("mcp events") == 0);
    assert_eq!(client.log.messages().len(), 3);
    assert_eq!(client.log.failures(), 0);
}

#[test]
fn nothing_is_asked_before_the_servers_own_stream_is_there() {
    let open = Arc::new(AtomicBool::new(false));
    let opened = open.clone();
    let peer = Peer::new(move |seen, stream| match seen.method.as_str() {
        "GET" => {
            thread::sleep(Duration::from_millis(200));
            opened.store(true, Ordering::SeqCst);
            begin_events(stream);
            wait_for_hangup(stream)
        }
        "POST" if seen.id() == "1" && !opened.load(Ordering::SeqCst) => json(stream, "too early"),
        _ => answer_as_usual(seen, stream),
    });
    let client = Client::of(&peer, "early");
    client.initialize();
    assert_eq!(client.call(1, "ping"), result(1));
    assert!(open.load(Ordering::SeqCst));
}

#[test]
fn a_server_that_leaves_the_question_for_its_own_stream_unanswered_is_asked_the_rest_nevertheless()
{
    let peer = Peer::new(|seen, stream| match seen.method.as_str() {
        "GET" => wait_for_hangup(stream),
        _ => answer_as_usual(seen, stream),
    });
    let client = Client::of(&peer, "mute");
    client.initialize();
    let begin = Instant::now();
    assert_eq!(client.call(1, "ping"), result(1));
    let waited = begin.elapsed();
    assert!(waited > Duration::from_secs(1), "{waited:?}");
    // Once is enough.
    (2..20).for_each(|id| assert_eq!(client.call(id, "ping"), result(id)));
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn nothing_is_asked_while_the_servers_own_stream_is_between_two_connections() {
    for refusals in [0, 1] {
        let tries = AtomicUsize::new(0);
        let open = AtomicBool::new(false);
        let peer = Peer::new(move |seen, stream| match seen.method.as_str() {
            "GET" => match tries.fetch_add(1, Ordering::SeqCst) {
                0 => {
                    begin_events(stream);
                    chunk(stream, "data: {\"n\":1}\n\n");
                    chunk(stream, "")
                }
                refused if refused <= refusals => answer(stream, "503 Service Unavailable", ""),
                _ => {
                    thread::sleep(Duration::from_millis(200));
                    open.store(true, Ordering::SeqCst);
                    begin_events(stream);
                    wait_for_hangup(stream)
                }
            },
            _ if seen.id() == "1" && !open.load(Ordering::SeqCst) => json(stream, "too early"),
            _ => answer_as_usual(seen, stream),
        });
        let client = Client::of(&peer, "between");
        client.initialize();
        let asked = || peer.seen().iter().filter(|s| s.method == "GET").count();
        wait_until("the stream is over", || asked() > refusals);
        // The client knows this by then, and would have waited longer otherwise.
        thread::sleep(Duration::from_millis(500));
        assert_eq!(client.call(1, "ping"), result(1), "{refusals}");
    }
}

#[test]
fn a_server_that_learns_late_that_its_own_stream_broke_is_asked_again() {
    for status in ["409 Conflict", "400 Bad Request"] {
        let refused = AtomicUsize::new(0);
        let peer = Peer::new(move |seen, stream| match seen.method.as_str() {
            "GET" if seen.header("last-event-id").is_none() => {
                begin_events(stream);
                chunk(stream, "id: 5\nretry: 0\ndata: {\"n\":1}\n\n");
                AfterReply::Close
            }
            "GET" if refused.fetch_add(1, Ordering::SeqCst) < 3 => answer(stream, status, "held"),
            "GET" => {
                begin_events(stream);
                chunk(stream, "data: {\"n\":2}\n\n");
                wait_for_hangup(stream)
            }
            _ => answer_as_usual(seen, stream),
        });
        let client = Client::of(&peer, "held");
        client.initialize();
        client.log.message("\"n\":2");
        assert_eq!(client.log.failures(), 0);
    }
}

#[test]
fn a_server_that_does_not_offer_its_own_stream_is_not_asked_again() {
    for status in [
        "405 Method Not Allowed",
        "404 Not Found",
        "400 Bad Request",
        "501 No",
    ] {
        let peer = Peer::new(move |seen, stream| match seen.method.as_str() {
            "GET" => answer(stream, status, "no"),
            _ => answer_as_usual(seen, stream),
        });
        let client = Client::of(&peer, "notoffer");
        client.initialize();
        peer.wait_for("GET", |seen| seen.method == "GET");
        wait_until("no thread left", || threads("mcp notoffer") == 0);
        assert_eq!(client.call(1, "ping"), result(1));
        assert_eq!(client.log.failures(), 0);
    }
}

#[test]
fn the_servers_own_stream_is_taken_up_again_once_the_server_is_back() {
    let away = Arc::new(AtomicBool::new(false));
    let is_away = away.clone();
    let peer =
        Peer::new(
            move |seen, stream| match (seen.method.as_str(), seen.header("last-event-id")) {
                _ if is_away.load(Ordering::SeqCst) => AfterReply::Close,
                ("GET", None) => {
                    begin_events(stream);
                    chunk(stream, "id: 5\nretry: 0\ndata: {\"n\":1}\n\n");
                    is_away.store(true, Ordering::SeqCst);
                    AfterReply::Close
                }
                ("GET", Some("5")) => {
                    begin_events(stream);
                    chunk(stream, "data: {\"n\":2}\n\n");
                    wait_for_hangup(stream)
                }
                _ => answer_as_usual(seen, stream),
            },
        );
    let client = Client::of(&peer, "back");
    client.initialize();
    client.log.message("\"n\":1");
    wait_until("given up", || threads("mcp back") == 0);
    let tries = resumes(&peer).len();
    assert!((5..=10).contains(&tries), "{tries}");
    away.store(false, Ordering::SeqCst);
    assert_eq!(client.call(1, "ping"), result(1));
    client.log.message("\"n\":2");
    assert_eq!(client.call(2, "ping"), result(2));
    wait_until("one thread left", || threads("mcp back") == 1);
    assert_eq!(resumes(&peer).len(), tries + 1);
    assert_eq!(client.log.failures(), 0);
}

/// The beginning of a stream whose answer comes later.
const PRIMING: &str = "id: p-1\nretry: 300\ndata:\n\n";

/// A peer whose answer to tools/call is an event stream with this text, which then ends properly or breaks.
/// `resume` answers each GET except the one for the standalone stream.
fn torn(
    text: &'static str,
    then: fn() -> AfterReply,
    resume: impl Fn(&ReceivedRequest, &mut TcpStream) -> AfterReply + Send + Sync + 'static,
) -> Peer {
    Peer::new(move |seen, stream| match seen.method.as_str() {
        "POST" if seen.body.contains("tools/call") => {
            begin_events(stream);
            chunk(stream, text);
            match then() {
                AfterReply::Keep => chunk(stream, ""),
                AfterReply::Close => AfterReply::Close,
            }
        }
        "GET" if seen.header("last-event-id").is_some() => resume(seen, stream),
        _ => answer_as_usual(seen, stream),
    })
}

fn resumes(peer: &Peer) -> Vec<String> {
    let seen = peer.seen();
    let ids = seen.iter().filter_map(|seen| seen.header("last-event-id"));
    ids.map(str::to_owned).collect()
}

#[test]
fn an_answers_stream_that_ends_is_resumed_after_the_time_that_the_server_asks_for() {
    let peer = torn(
        PRIMING,
        || AfterReply::Keep,
        |_, stream| {
            begin_events(stream);
            chunk(stream, &event(&result(1)));
            chunk(stream, "")
        },
    );
    let client = Client::of(&peer, "resume");
    client.initialize();
    let begin = Instant::now();
    assert_eq!(client.call(1, "tools/call"), result(1));
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(280), "{took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(resumes(&peer), ["p-1"]);
    let get = peer.wait_for("resume", |seen| seen.header("last-event-id").is_some());
    assert_eq!(get.path, "/");
    assert_eq!(get.header("accept"), Some("text/event-stream"));
    assert_eq!(get.header("mcp-protocol-version"), Some("2025-11-25"));
    wait_until("no thread left", || threads("mcp resume") == 0);
    assert_eq!(client.log.failures(), 0);
    let posts = peer.seen().into_iter().filter(|s| s.id() == "1").count();
    assert_eq!(posts, 1);
    // A stream that ended properly leaves a connection that can be reused.
    assert!(peer.connections() <= 3, "{}", peer.connections());
}

#[test]
fn a_stream_that_breaks_in_mid_event_is_resumed_again_and_again() {
    let peer = torn(
        "id: a\nretry: 100\ndata: {\"n\":1}\n\nid: b\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"re",
        || AfterReply::Close,
        |seen, stream| {
            let text = match seen.header("last-event-id").unwrap() {
                "a" => "id: c\ndata: {\"n\":2}\n\ndata: {\"jsonrpc\"".to_owned(),
                "c" => "id: d\n\n".to_owned(),
                "d" if seen.nth < 3 => String::new(),
                _ => event(&result(1)),
            };
            begin_events(stream);
            chunk(stream, &text);
            AfterReply::Close
        },
    );
    let client = Client::of(&peer, "broken");
    client.request(1, "tools/call");
    wait_until("resumed thrice", || resumes(&peer).len() >= 4);
    assert_eq!(resumes(&peer)[..4], ["a", "c", "d", "d"]);
    client.transport.abandon(1);
    wait_until("no thread left", || threads("mcp broken") == 0);
    assert_eq!(client.log.messages(), ["{\"n\":1}", "{\"n\":2}"]);
    assert_eq!(client.log.failures(), 0);
}

#[test]
fn a_server_that_does_not_resume_is_told_of_and_not_asked_again() {
    for status in ["405 Method Not Allowed", "404 Not Found", "400 Bad Request"] {
        let peer = torn(
            PRIMING,
            || AfterReply::Keep,
            move |_, stream| answer(stream, status, "gone"),
        );
        let client = Client::of(&peer, "refused");
        client.request(1, "tools/call");
        let error = client.log.failure(1);
        // A status would mean that the server refused the request itself.
        assert!(
            matches!(error, TransportError::ResponseLost(_)),
            "{error:?}"
        );
        let error = error.to_string();
        let code = &status[..3];
        let reason = format!(
            "ended its event stream without an answer, and the stream cannot be resumed \
             (HTTP {code}): gone"
        );
        assert!(error.contains(&reason), "{error}");
        assert_eq!(resumes(&peer).len(), 1, "{status}");
        wait_until("no thread left", || threads("mcp refused") == 0);
    }
}

#[test]
fn a_server_that_is_busy_or_holds_the_broken_connection_for_open_is_asked_again_later() {
    for status in ["503 Service Unavailable", "409 Conflict"] {
        let asked = AtomicBool::new(false);
        let peer = torn(
            "id: p\nretry: 100\n\n",
            || AfterReply::Keep,
            move |_, stream| {
                if asked.swap(true, Ordering::SeqCst) {
                    begin_events(stream);
                    chunk(stream, &event(&result(1)));
                    chunk(stream, "")
                } else {
                    answer(stream, status, "")
                }
            },
        );
        let client = Client::of(&peer, "busy");
        assert_eq!(client.call(1, "tools/call"), result(1));
        assert_eq!(resumes(&peer), ["p", "p"]);
        assert_eq!(client.log.failures(), 0);
    }
}

#[test]
fn a_stream_that_is_resumed_in_vain_comes_to_an_end() {
    let peer = torn(
        "id: p\nretry: 0\n\n",
        || AfterReply::Keep,
        |_, stream| {
            begin_events(stream);
            chunk(stream, "")
        },
    );
    let client = Client::of(&peer, "vain");
    let begin = Instant::now();
    client.request(1, "tools/call");
    let error = client.log.failure(1).to_string();
    assert!(
        error.ends_with("ended its event stream without an answer"),
        "{error}"
    );
    let tries = resumes(&peer).len();
    assert!((5..=40).contains(&tries), "{tries}");
    // However short the delay that the server sets, the client keeps a minimum.
    assert!(begin.elapsed() >= Duration::from_millis(90) * tries as u32);
    wait_until("no thread left", || threads("mcp vain") == 0);
}

#[test]
fn a_stream_whose_last_id_was_taken_back_is_not_resumed() {
    let peer = torn(
        "id: p\n\nid\n\n",
        || AfterReply::Keep,
        |_, stream| answer(stream, "500 Oops", ""),
    );
    let client = Client::of(&peer, "noid");
    client.request(1, "tools/call");
    client.log.failure(1);
    assert_eq!(resumes(&peer).len(), 0);
}

#[test]
fn nobody_waits_to_resume_what_was_forgotten_or_closed() {
    let peer = torn(
        "id: p\nretry: 600000\n\n",
        || AfterReply::Keep,
        |_, stream| answer(stream, "500 Oops", ""),
    );
    let client = Client::of(&peer, "patient");
    for id in [1, 2] {
        client.request(id, "tools/call");
        peer.wait_for("call", |seen| seen.id() == id.to_string());
    }
    // Both are most likely waiting by then; the result must come soon in any case.
    thread::sleep(Duration::from_millis(100));
    assert_eq!(threads("mcp patient"), 2);
    client.transport.abandon(1);
    wait_until("one thread left", || threads("mcp patient") == 1);
    assert_eq!(client.log.failures(), 0);
    client.transport.close();
    wait_until("no thread left", || threads("mcp patient") == 0);
    assert_eq!(client.log.failure(2), TransportError::Closed);
    assert_eq!(resumes(&peer).len(), 0);
}

#[test]
fn an_answer_may_come_on_the_servers_own_stream() {
    let called = Arc::new(Barrier::new(2));
    let gate = called.clone();
    let peer = Peer::new(
        move |seen, stream| match (seen.method.as_str(), seen.id().as_str()) {
            ("POST", "1") => {
                begin_events(stream);
                chunk(stream, "id: p\nretry: 600000\n\n");
                gate.wait();
                chunk(stream, "")
            }
            ("POST", "2") => wait_for_hangup(stream),
            ("GET", _) => {
                begin_events(stream);
                gate.wait();
                chunk(stream, &event(&result(1)));
                chunk(stream, &event(&result(2)));
                wait_for_hangup(stream)
            }
            _ => answer_as_usual(seen, stream),
        },
    );
    let client = Client::of(&peer, "aside");
    client.initialize();
    client.request(2, "tools/call");
    peer.wait_for("call", |seen| seen.id() == "2");
    client.request(1, "tools/call");
    client.log.message("\"id\":1,");
    client.log.message("\"id\":2,");
    // Only the standalone stream is left.
    wait_until("no exchange left", || threads("mcp aside") == 1);
    assert_eq!(client.log.failures(), 0);
}
