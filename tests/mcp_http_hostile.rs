//! Hostile Streamable HTTP servers, which trickle, flood, never end, or make the client reconnect for ever.
//! Against a scripted server.

#[allow(dead_code)] // Each test file uses its own part.
#[path = "support/http_client.rs"]
mod http_client;
#[allow(dead_code)]
#[path = "support/http_peer.rs"]
mod http_peer;

use gosling::mcp::transport::http::HttpOptions;
use gosling::mcp::transport::{Transport, TransportError};
use http_client::{Client, answer_as_usual, event, result, threads, wait_until};
use http_peer::{
    AfterReply, Peer, TEST_TIMEOUT, answer, begin_events, chunk, send, wait_for_hangup,
};
use std::net::TcpStream;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

/// Repeats this text until the client hangs up.
fn trickle(stream: &mut TcpStream, text: &str) -> AfterReply {
    while let AfterReply::Keep = send(stream, text) {
        thread::sleep(Duration::from_millis(2));
    }
    AfterReply::Close
}

#[test]
fn whoever_trickles_is_left_as_soon_as_nobody_waits() {
    for (name, begin, piece) in [
        ("status", "HTTP/1.1 ", "2"),
        ("header", "HTTP/1.1 200 OK\r\n", "x"),
        ("interim", "", "HTTP/1.1 100 Continue\r\n\r\n"),
        (
            "json",
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{",
            " ",
        ),
        ("line", EVENTS, "d"),
        ("comments", EVENTS, ":\n"),
        ("events", EVENTS, "data:\n\n"),
        ("ids", EVENTS, "id: 1\n\n"),
    ] {
        let peer = Peer::new(move |seen, stream| match seen.id().as_str() {
            "1" => {
                send(stream, begin);
                trickle(stream, piece)
            }
            _ => answer_as_usual(seen, stream),
        });
        let client = Client::of(&peer, "trickle");
        client.request(1, "tools/call");
        peer.wait_for("call", |seen| seen.id() == "1");
        thread::sleep(Duration::from_millis(50));
        // Other requests are not delayed.
        assert_eq!(client.call(2, "ping"), result(2), "{name}");
        client.transport.abandon(1);
        wait_until(name, || threads("mcp trickle") == 0);
    }
}

#[test]
fn an_explanation_and_an_end_that_trickle_are_not_waited_for() {
    let peer = Peer::new(
        |seen, stream| match (seen.method.as_str(), seen.id().as_str()) {
            ("POST", "0") => {
                let head = "200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s";
                answer(stream, head, &result(0))
            }
            ("POST", "1") => {
                send(stream, "HTTP/1.1 500 Oops\r\n\r\nboom");
                trickle(stream, " ")
            }
            ("DELETE", _) => trickle(stream, "H"),
            ("POST", "null") if seen.body.contains("slow") => {
                send(stream, "HTTP/1.1 200 OK\r\n\r\n");
                trickle(stream, " ")
            }
            _ => answer_as_usual(seen, stream),
        },
    );
    let client = Client::of(&peer, "slow");
    client.initialize();
    let begin = Instant::now();
    client.request(1, "ping");
    assert!(client.log.failure(1).to_string().ends_with("boom"));
    client.notify("slow");
    client.notify("next");
    peer.wait_for("next", |seen| seen.body.contains("next"));
    client.transport.close();
    assert!(begin.elapsed() < TEST_TIMEOUT / 2, "{:?}", begin.elapsed());
}

#[test]
fn a_head_without_end_is_cut_off() {
    for piece in ["x-filler: 0123456789\r\n", "0123456789"] {
        let peer = Peer::new(move |_, stream| {
            send(stream, "HTTP/1.1 200 OK\r\nx: ");
            while let AfterReply::Keep = send(stream, &piece.repeat(100)) {}
            AfterReply::Close
        });
        let client = Client::of(&peer, "head");
        client.request(1, "ping");
        let error = client.log.failure(1);
        assert!(matches!(error, TransportError::Io(_)), "{error:?}");
    }
}

#[test]
fn interim_answers_are_passed_over_and_bounded() {
    for interim in [
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 102 Processing\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n",
    ] {
        let peer = Peer::new(move |seen, stream| {
            match seen.id().as_str() {
                "1" => send(stream, &interim.repeat(20)),
                _ => {
                    while let AfterReply::Keep = send(stream, &interim.repeat(100)) {}
                    return AfterReply::Close;
                }
            };
            answer_as_usual(seen, stream)
        });
        let client = Client::of(&peer, "interim");
        assert_eq!(client.call(1, "ping"), result(1), "{interim}");
        client.request(2, "ping");
        let error = client.log.failure(2).to_string();
        assert!(error.contains("sends without end"), "{error}");
    }
}

#[test]
fn a_hundred_thousand_events_of_nothing_do_not_hide_the_answer() {
    for piece in [
        "data:\n\n",
        ":\n\n",
        "\r\n",
        "id: 1\ndata\n\n",
        "event: x\ndata: y\n\n",
    ] {
        let peer = Peer::new(move |seen, stream| match seen.id().as_str() {
            "1" => {
                begin_events(stream);
                for _ in 0..100 {
                    chunk(stream, &piece.repeat(1000));
                }
                chunk(stream, &event(&result(1)));
                chunk(stream, "")
            }
            _ => answer_as_usual(seen, stream),
        });
        let client = Client::of(&peer, "many");
        assert_eq!(client.call(1, "tools/call"), result(1), "{piece:?}");
        assert_eq!(client.log.messages().len(), 1);
    }
}

#[test]
fn a_wait_of_three_thousand_years_ends_with_whoever_waits() {
    let peer = Peer::new(
        |seen, stream| match (seen.method.as_str(), seen.id().as_str()) {
            ("GET", _) => {
                begin_events(stream);
                chunk(stream, "id: 1\nretry: 99999999999999\ndata: {\"n\":1}\n\n");
                chunk(stream, "")
            }
            ("POST", "1") => {
                begin_events(stream);
                chunk(stream, "id: 1\nretry: 99999999999999\ndata: {\"n\":2}\n\n");
                chunk(stream, "")
            }
            _ => answer_as_usual(seen, stream),
        },
    );
    let client = Client::of(&peer, "eternal");
    client.initialize();
    client.request(1, "tools/call");
    client.log.message("\"n\":1");
    client.log.message("\"n\":2");
    assert_eq!(client.call(2, "ping"), result(2));
    client.transport.abandon(1);
    wait_until("one thread left", || threads("mcp eternal") == 1);
    client.transport.close();
    wait_until("no thread left", || threads("mcp eternal") == 0);
    assert_eq!(client.log.failures(), 0);
}

#[test]
fn a_stream_that_ends_whenever_it_is_resumed_is_resumed_at_a_walk() {
    // A new id each time, as if the stream had advanced.
    let times = std::sync::Arc::new(Mutex::new(Vec::new()));
    let seen_at = times.clone();
    let peer = Peer::new(move |seen, stream| match seen.method.as_str() {
        "POST" if seen.id() == "1" => {
            begin_events(stream);
            chunk(stream, "id: 0\nretry: 0\n\n");
            chunk(stream, "")
        }
        "GET" => {
            let mut times = seen_at.lock().unwrap();
            times.push(Instant::now());
            begin_events(stream);
            chunk(stream, &format!("id: {}\nretry: 0\n\n", times.len()));
            chunk(stream, "")
        }
        _ => answer_as_usual(seen, stream),
    });
    let client = Client::of(&peer, "walk");
    client.request(1, "tools/call");
    wait_until("some attempts", || times.lock().unwrap().len() >= 10);
    client.transport.abandon(1);
    wait_until("no thread left", || threads("mcp walk") == 0);
    let times = times.lock().unwrap();
    let took = times[9] - times[0];
    assert!(took >= Duration::from_millis(9 * 90), "{took:?}");
}

#[test]
fn an_id_that_no_header_can_carry_is_not_sent_back() {
    for (id, sent) in [
        ("a\u{1}b", false),
        ("a\u{7f}b", false),
        ("a\u{1b}[31m", false),
        ("a\tb", true),
        ("caf\u{e9}", true),
        // Such an id is invalid, so the previous one counts.
        ("a\0b", true),
        // This id tries to inject a header through the event's field.
        ("a\rX-Evil: 1", true),
    ] {
        let peer = Peer::new(move |seen, stream| match seen.method.as_str() {
            "POST" if seen.id() == "1" => {
                begin_events(stream);
                chunk(
                    stream,
                    &format!("retry: 0\nid: good\ndata:\n\nid: {id}\ndata:\n\n"),
                );
                chunk(stream, "")
            }
            "GET" => answer(stream, "400 Bad Request", ""),
            _ => answer_as_usual(seen, stream),
        });
        let client = Client::of(&peer, "ids");
        client.request(1, "tools/call");
        client.log.failure(1);
        let gets: Vec<_> = peer
            .seen()
            .into_iter()
            .filter(|seen| seen.method == "GET")
            .collect();
        assert_eq!(gets.len(), usize::from(sent), "{id:?}");
        for get in gets {
            let came = get.header("last-event-id").unwrap();
            let expected = match id {
                "a\0b" => "good",
                id => id.split('\r').next().unwrap(),
            };
            assert_eq!(came, expected, "{id:?}");
            assert_eq!(get.header("x-evil"), None);
        }
    }
}

#[test]
fn several_streams_at_once_do_not_mix() {
    let peer = Peer::new(|seen, stream| match seen.id().as_str() {
        "0" | "null" => answer_as_usual(seen, stream),
        id => {
            begin_events(stream);
            for n in 0..50 {
                let text = event(&format!(
                    r#"{{"jsonrpc":"2.0","method":"p","params":"{id}-{n}"}}"#
                ));
                // In small pieces, so that the streams are interleaved.
                for piece in text.as_bytes().chunks(7) {
                    chunk(stream, std::str::from_utf8(piece).unwrap());
                }
            }
            chunk(stream, &event(&result(id)));
            chunk(stream, "")
        }
    });
    let client = Client::of(&peer, "weave");
    for id in 1..=8 {
        client.request(id, "tools/call");
    }
    for id in 1..=8 {
        client.log.message(&format!("\"id\":{id},"));
    }
    let messages = client.log.messages();
    assert_eq!(messages.len(), 8 * 51);
    for id in 1..=8 {
        let of = |text: &&String| text.contains(&format!("\"{id}-"));
        let in_order: Vec<_> = messages.iter().filter(of).cloned().collect();
        let expected =
            (0..50).map(|n| format!(r#"{{"jsonrpc":"2.0","method":"p","params":"{id}-{n}"}}"#));
        assert_eq!(in_order, expected.collect::<Vec<_>>());
    }
}

#[test]
fn the_servers_own_stream_is_bounded_too() {
    let peer = Peer::new(|seen, stream| match seen.method.as_str() {
        "GET" => {
            send(stream, EVENTS);
            while let AfterReply::Keep = send(stream, &"data: x\n".repeat(100)) {}
            AfterReply::Close
        }
        _ if seen.id() == "1" => wait_for_hangup(stream),
        _ => answer_as_usual(seen, stream),
    });
    let client = Client::with(HttpOptions {
        max_message: 10_000,
        ..HttpOptions::new("endless", &peer.url)
    });
    client.initialize();
    peer.wait_for("GET", |seen| seen.method == "GET");
    wait_until("the stream is left", || threads("mcp endless") == 0);
    client.request(1, "tools/call");
    client.transport.abandon(1);
    assert_eq!(client.call(2, "ping"), result(2));
    let gets = peer.seen().into_iter().filter(|seen| seen.method == "GET");
    assert_eq!(gets.count(), 1);
}
