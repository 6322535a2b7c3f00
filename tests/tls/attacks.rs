//! Clients that mean harm: before the handshake, during it and after it.

use crate::client::{
    TlsEdge, client, connect, fingerprint_of, pinned, pinned_with, short_limits, tls_edge,
};
use crate::harness::{Client, TEST_TIMEOUT, echo, get, limits};
use crate::support::server::Server;
use crate::support::until;
use gosling::http::Limits;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ProtocolVersion};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Everything that the server sends until it closes the connection.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    // A reset also ends it.
    let ended = stream.read_to_end(&mut rest);
    let timed_out = |error: &std::io::Error| {
        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
    };
    assert!(!ended.is_err_and(|error| timed_out(&error)), "not closed");
    rest
}

/// The first message of a handshake, as rustls sends it.
fn client_hello(edge: &TlsEdge) -> Vec<u8> {
    let name = ServerName::try_from("localhost").unwrap();
    let mut connection = ClientConnection::new(edge.config(), name).unwrap();
    let mut hello = Vec::new();
    connection.write_tls(&mut hello).unwrap();
    hello
}

/// A handshake message in a record, with `version` in both.
fn hello_of(version: u16, extensions: &[u8]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    body.extend_from_slice(&[7; 32]);
    // No session, ECDHE suites of TLS 1.0, no compression.
    body.extend_from_slice(&[0, 0, 4, 0xc0, 0x0a, 0xc0, 0x09, 1, 0]);
    body.extend_from_slice(&(extensions.len() as u16).to_be_bytes());
    body.extend_from_slice(extensions);
    let length = (body.len() as u32).to_be_bytes();
    let message = [&[1][..], &length[1..], &body].concat();
    let length = (message.len() as u16).to_be_bytes();
    [&[22, 3, 1][..], &length, &message].concat()
}

#[test]
fn a_request_without_tls_is_told_so() {
    let edge = tls_edge(short_limits());
    for request in [get("/status"), echo("Content-Length: 4\r\n", "body")] {
        let mut client = edge.raw();
        client.send(request);
        let reply = client.reply();
        assert_eq!(reply.status, 400);
        assert!(reply.message().contains("https://"), "{}", reply.message());
        assert_eq!(reply.header("connection"), Some("close"));
        assert!(client.is_closed());
    }
    edge.is_alive();
}

#[test]
fn an_old_version_gets_an_alert() {
    let edge = tls_edge(short_limits());
    // signature_algorithms: ecdsa_secp256r1_sha256; supported_groups: secp256r1; ec_point_formats.
    let extensions = [
        &[0, 13, 0, 4, 0, 2, 4, 3][..],
        &[0, 10, 0, 4, 0, 2, 0, 23],
        &[0, 11, 0, 2, 1, 0],
    ]
    .concat();
    for version in [0x0300, 0x0301, 0x0302] {
        let mut client = edge.raw();
        client.send(hello_of(version, &extensions));
        let answer = rest(client.stream.get_mut());
        // A fatal alert, protocol_version (RFC 8446 §6.2).
        assert_eq!(answer, [21, 3, 3, 0, 2, 2, 70], "{version:x}");
    }
    edge.is_alive();
}

#[test]
fn garbage_ends_the_connection() {
    let edge = tls_edge(short_limits());
    let hello = client_hello(&edge);
    let mut wrong_length = hello.clone();
    wrong_length[3..5].copy_from_slice(&[0xff, 0xff]);
    let mut cut = hello.clone();
    cut.truncate(hello.len() / 2);
    let mut twisted = hello.clone();
    let start = hello.len() / 3;
    twisted[start..].reverse();
    for bytes in [
        vec![0; 10_000],
        vec![0xff; 100],
        vec![22; 100_000],
        b"get / http/1.1\r\n\r\n".to_vec(),
        // Data before the handshake, and an alert.
        b"\x17\x03\x03\x00\x04abcd".to_vec(),
        b"\x15\x03\x03\x00\x02\x02\x28".to_vec(),
        // A handshake message of 16 MB, and one of 64 KiB that goes on without end.
        [&b"\x16\x03\x01\x40\x00\x01\xff\xff\xff"[..], &[0; 16_380]].concat(),
        [&b"\x16\x03\x01\x40\x00\x01\x00\xff\xff"[..], &[0; 16_380]]
            .concat()
            .repeat(8),
        // Empty records.
        b"\x16\x03\x01\x00\x00".repeat(20_000),
        b"\x14\x03\x03\x00\x01\x01".repeat(20_000),
        hello.repeat(2),
        wrong_length,
        cut,
        twisted,
    ] {
        let mut client = edge.raw();
        client.send(&bytes);
        let answer = rest(client.stream.get_mut());
        // Nothing, an alert, or the answer to the first of two hellos.
        assert!(answer.len() < 4_000, "{answer:?}");
    }
    edge.is_alive();
}

#[test]
fn every_byte_of_a_handshake_may_be_wrong() {
    let edge = tls_edge(Limits {
        head_timeout: Duration::from_millis(100),
        ..short_limits()
    });
    let hello = client_hello(&edge);
    let clients: Vec<Client> = (0..hello.len())
        .map(|at| {
            let mut changed = hello.clone();
            changed[at] ^= 0x55;
            let mut client = edge.raw();
            client.send(&changed);
            client
        })
        .collect();
    for mut client in clients {
        rest(client.stream.get_mut());
    }
    edge.is_alive();
}

#[test]
fn a_handshake_that_drips_ends_at_its_deadline() {
    let edge = tls_edge(short_limits());
    let hello = client_hello(&edge);
    let mut client = edge.raw();
    let start = Instant::now();
    let mut sent = 0;
    for byte in hello {
        if client.stream.get_mut().write_all(&[byte]).is_err() {
            break;
        }
        sent += 1;
        thread::sleep(Duration::from_millis(20));
        if start.elapsed() > TEST_TIMEOUT {
            break;
        }
    }
    assert!(sent < 150, "{sent} bytes were taken");
    rest(client.stream.get_mut());
    edge.is_alive();
}

#[test]
fn a_record_that_drips_ends_at_the_deadline_of_the_request() {
    let edge = tls_edge(short_limits());
    let mut client = edge.says("GET /status HT");
    // The server has begun to read the head; now a record of which each byte takes long.
    let tls = client.stream.get_mut();
    tls.conn.writer().write_all(&[b'x'; 1_000]).unwrap();
    let mut record = Vec::new();
    tls.conn.write_tls(&mut record).unwrap();
    let mut dripping = tls.sock.try_clone().unwrap();
    let drip = thread::spawn(move || {
        let taken = record.iter().take_while(|byte| {
            thread::sleep(Duration::from_millis(20));
            dripping.write_all(&[**byte]).is_ok()
        });
        taken.count()
    });
    assert_eq!(client.reply().status, 408);
    drop(client);
    assert!(drip.join().unwrap() < 200);
    edge.is_alive();
}

#[test]
fn a_client_that_leaves_during_the_handshake_leaves_nothing() {
    let edge = tls_edge(limits());
    let hello = client_hello(&edge);
    for length in (0..hello.len()).step_by(7) {
        let mut client = edge.raw();
        client.send(&hello[..length]);
    }
    for _ in 0..50 {
        // After the answer of the server.
        let mut client = edge.raw();
        client.send(&hello);
        let mut byte = [0];
        client.stream.read_exact(&mut byte).unwrap();
    }
    edge.is_alive();
    assert_eq!(edge.edge.server.stop(TEST_TIMEOUT), 0);
}

#[test]
fn a_truncated_body_is_an_error_with_and_without_a_word() {
    let edge = tls_edge(limits());
    for fields in ["Content-Length: 1000\r\n", "Transfer-Encoding: chunked\r\n"] {
        for goodbye in [true, false] {
            let mut client = edge.says(echo(fields, "3e8\r\nsome of it"));
            let tls = client.stream.get_mut();
            if goodbye {
                tls.conn.send_close_notify();
                tls.flush().unwrap();
            }
            tls.sock.shutdown(Shutdown::Write).unwrap();
            let reply = client.reply();
            assert_eq!(reply.status, 400);
            assert!(reply.message().contains("ended in the middle"));
        }
    }
    edge.is_alive();
}

#[test]
fn changed_records_are_not_read() {
    let edge = tls_edge(short_limits());
    let mut client = edge.connect();
    let tls = client.stream.get_mut();
    tls.conn
        .writer()
        .write_all(get("/status").as_bytes())
        .unwrap();
    let mut record = Vec::new();
    tls.conn.write_tls(&mut record).unwrap();
    *record.last_mut().unwrap() ^= 1;
    tls.sock.write_all(&record).unwrap();
    assert!(client.try_reply(true).is_none());
    edge.is_alive();
}

#[test]
fn a_client_that_reads_nothing_is_given_up() {
    let edge = tls_edge(short_limits());
    let mut client = edge.says(get("/big").repeat(4));
    thread::sleep(Duration::from_millis(1_200));
    let mut rest = Vec::new();
    // A notice of the end would tell the client that the response is complete.
    assert!(client.stream.read_to_end(&mut rest).is_err());
    assert!(rest.len() < 32 << 20, "it was all sent: {}", rest.len());
    edge.is_alive();
}

#[test]
fn a_client_that_reads_nothing_of_a_stream_is_given_up() {
    let edge = tls_edge(short_limits());
    let mut client = edge.says(get("/stream").repeat(64));
    thread::sleep(Duration::from_millis(1_200));
    let mut rest = Vec::new();
    assert!(client.stream.read_to_end(&mut rest).is_err());
    assert!(rest.len() < 64 << 20, "it was all sent: {}", rest.len());
    edge.is_alive();
}

#[test]
fn renewed_keys_without_end_are_no_harm() {
    let edge = tls_edge(short_limits());
    let config = pinned_with(edge.fingerprint(), &[&rustls::version::TLS13]);
    let mut tls = connect(edge.address(), config).unwrap();
    assert_eq!(tls.conn.protocol_version(), Some(ProtocolVersion::TLSv1_3));
    // The client reads none of the answers.
    for _ in 0..20_000 {
        if tls.conn.refresh_traffic_keys().is_err() || tls.flush().is_err() {
            break;
        }
    }
    edge.is_alive();
    drop(tls);
    assert_eq!(edge.edge.server.stop(TEST_TIMEOUT), 0);
}

#[test]
fn at_the_cap_a_new_connection_ends_at_once() {
    let mut edge = tls_edge(Limits {
        max_connections: 2,
        slot_timeout: Duration::from_millis(10),
        ..limits()
    });
    let mut busy = [edge.says(get("/wait")), edge.says(get("/wait"))];
    edge.edge.until_waiting(2);
    for _ in 0..3 {
        let mut refused = edge.raw();
        assert!(rest(refused.stream.get_mut()).is_empty());
    }
    drop(edge.edge.gate.take());
    for client in &mut busy {
        assert_eq!(client.reply().text(), "waited");
    }
}

#[test]
fn stopping_does_not_wait_for_handshakes() {
    let edge = tls_edge(limits());
    let hello = client_hello(&edge);
    let mut silent = edge.raw();
    let mut half = edge.raw();
    half.send(&hello[..100]);
    let mut whole = edge.raw();
    whole.send(&hello);
    let mut idle = edge.says(get("/empty"));
    idle.reply();
    let start = Instant::now();
    assert_eq!(edge.edge.server.stop(TEST_TIMEOUT), 0);
    assert!(start.elapsed() < Duration::from_secs(8));
    for client in [&mut silent, &mut half, &mut whole] {
        rest(client.stream.get_mut());
    }
}

#[test]
fn a_thousand_silent_connections_keep_nobody_out() {
    let server = Server::new().start_as(&["agent", "--port", "0", "--tls"]);
    let file = server.root().join("state/tls/self-signed.pem");
    let config = pinned(&fingerprint_of(&file));
    let ask = || {
        let mut client = client(server.address(), config.clone());
        client.send("GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(client.reply().status, 200);
    };
    ask();
    // Without the pages of the program, which come and go.
    let before = server.memory("RssAnon");
    let rest_threads = server.settled().threads;
    let silent: Vec<TcpStream> = (0..1_000)
        .map(|n| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            if n % 2 == 1 {
                // The beginning of a handshake.
                let _ = stream.write_all(b"\x16\x03\x01\x02\x00\x01\x00");
            }
            stream
        })
        .collect();
    for _ in 0..20 {
        ask();
    }
    assert!(server.census().threads < 530, "{:?}", server.census());
    let during = server.memory("RssAnon");
    assert!(during < before + (32 << 20), "{before} to {during}");
    // All are closed at the deadline, while their clients are still there.
    until("the handshakes are given up", || {
        (server.census().threads <= rest_threads + 1).then_some(())
    });
    for mut stream in silent {
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        assert!(rest(&mut stream).is_empty());
    }
    ask();
    let after = server.memory("RssAnon");
    assert!(after < before + (8 << 20), "{before} to {after}");
}
