//! Connections of gosling to an MCP server with TLS (certified by a private authority) and through proxies.
//! No test needs a network.
#![cfg(feature = "streamable-http")]
// Some tests and their helpers need features that a build may leave out.
#![cfg_attr(not(feature = "tls"), allow(dead_code, unused_imports))]

#[allow(dead_code)] // Each test file uses its own part.
#[path = "support/http_peer.rs"]
mod http_peer;
#[path = "support/relay.rs"]
mod relay;
mod support;

use http_peer::{AfterReply, Peer, ReceivedRequest};
use relay::{Relay, authority};
use serde_json::json;
use std::net::TcpStream;
use support::server::{Extension, RunningServer, Server};

/// Answers like an MCP server.
fn answer_as_mcp_server(seen: &ReceivedRequest, stream: &mut TcpStream) -> AfterReply {
    http_peer::answer_as_mcp_server(seen, stream, None, "arrived")
}

fn at(uri: &str) -> Extension {
    Extension(json!({"type": "streamable_http", "name": "one", "uri": uri}))
}

/// Starts gosling with only these variables of this kind in its environment.
fn with(variables: &[(&str, &str)]) -> RunningServer {
    let mut server = Server::new();
    for name in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"] {
        server = server.env(name, "").env(&name.to_ascii_lowercase(), "");
    }
    server = server.env("SSL_CERT_FILE", "");
    for (name, value) in variables {
        server = server.env(name, value);
    }
    server.start()
}

#[track_caller]
fn works(server: &RunningServer, uri: &str) {
    let session = server.session([at(uri)]);
    let answer = session.call("one__echo", json!({}));
    assert_eq!(answer.is(200).content(), "arrived");
    session.stop();
}

#[cfg(feature = "tls")]
#[test]
fn an_authority_of_ones_own_is_believed_when_it_is_named() {
    let peer = Peer::new(answer_as_mcp_server);
    let tls = Relay::tls(&peer.url);
    let uri = format!("https://localhost:{}/mcp", tls.address.port());
    let why = with(&[]).refuses(at(&uri));
    assert!(
        why.contains("SSL_CERT_FILE") && why.contains("unknown authority"),
        "{why}"
    );
    assert_eq!(peer.seen().len(), 0);

    let server = with(&[("SSL_CERT_FILE", &authority())]);
    works(&server, &uri);
    works(&server, &format!("https://{}/", tls.address));
    // The certificate is valid for the name `localhost` but not for this address.
    let why = server.refuses(at(&format!("https://127.0.0.2:{}/", tls.address.port())));
    assert!(why.contains("cannot reach https://127.0.0.2"), "{why}");
}

#[cfg(feature = "tls")]
#[test]
fn a_file_of_authorities_that_cannot_be_used_is_an_error_that_names_it() {
    let peer = Peer::new(answer_as_mcp_server);
    for (file, expected) in [
        ("/nowhere/ca.pem", "cannot be read"),
        (
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            "holds no certificate",
        ),
    ] {
        let server = with(&[("SSL_CERT_FILE", file)]);
        let why = server.refuses(at("https://localhost:9/mcp"));
        assert!(why.contains(file) && why.contains(expected), "{why}");
        // Servers without TLS are not affected.
        works(&server, &peer.url);
    }
}

#[test]
fn a_proxy_leads_to_what_only_it_can_find() {
    let peer = Peer::new(answer_as_mcp_server);
    let proxy = Relay::proxy(&peer.url, None);
    let address = format!("http://{}", proxy.address);
    works(
        &with(&[("HTTP_PROXY", &address)]),
        "http://mcp.example.test:8080/mcp",
    );
    works(
        &with(&[("all_proxy", &address)]),
        "http://mcp.example.test/mcp?x=1",
    );
    let heads = proxy.heads.lock().unwrap().clone();
    for target in [
        "CONNECT mcp.example.test:8080 ",
        "CONNECT mcp.example.test:80 ",
    ] {
        assert!(
            heads.iter().any(|head| head.starts_with(target)),
            "{heads:?}"
        );
    }
    let host = peer.wait_for("request", |seen| seen.path == "/mcp");
    assert_eq!(host.header("host"), Some("mcp.example.test:8080"));
    assert_eq!(host.header("proxy-authorization"), None);

    // The variable is for the other scheme only, or there is an exception: then no proxy is used.
    for variables in [
        &[("HTTPS_PROXY", address.as_str())][..],
        &[
            ("HTTP_PROXY", &address),
            ("NO_PROXY", "x, .example.test:80"),
        ],
    ] {
        let before = proxy.heads.lock().unwrap().len();
        let why = with(variables).refuses(at("http://mcp.example.test/mcp"));
        assert!(
            why.contains("cannot reach http://mcp.example.test"),
            "{why}"
        );
        assert_eq!(proxy.heads.lock().unwrap().len(), before);
    }
}

#[cfg(feature = "tls")]
#[test]
fn a_proxy_with_a_password_leads_to_tls_and_the_password_stays_out_of_sight() {
    const PASSWORD: &str = "hunter2hunter2";
    // Base64 of user:hunter2hunter2.
    const ENCODED: &str = "dXNlcjpodW50ZXIyaHVudGVyMg==";
    let peer = Peer::new(answer_as_mcp_server);
    let tls = Relay::tls(&peer.url);
    let proxy = Relay::proxy(&tls.address.to_string(), Some(ENCODED));
    let port = proxy.address.port();
    let uri = "https://mcp.example.test/mcp";
    let right = format!("http://user:{PASSWORD}@127.0.0.1:{port}");
    let server = with(&[("ALL_PROXY", &right), ("SSL_CERT_FILE", &authority())]);
    works(&server, uri);
    let seen = peer.wait_for("request", |seen| seen.path == "/mcp");
    assert_eq!(seen.header("host"), Some("mcp.example.test"));
    // Loopback addresses use no proxy.
    let before = proxy.heads.lock().unwrap().len();
    works(&server, &peer.url);
    works(&server, &peer.url.replace("127.0.0.1", "localhost"));
    assert_eq!(proxy.heads.lock().unwrap().len(), before);
    for secret in [PASSWORD, ENCODED] {
        server.never_logs(secret);
    }

    let wrong = format!("http://user:{PASSWORD}x@127.0.0.1:{port}");
    let server = with(&[("HTTPS_PROXY", &wrong), ("SSL_CERT_FILE", &authority())]);
    let why = server.refuses(at(uri));
    let named = format!(
        "cannot reach {} through the proxy 127.0.0.1:{port}",
        "https://mcp.example.test"
    );
    assert!(
        why.contains(&named) && why.contains("a user name and a password"),
        "{why}"
    );
    assert!(!why.contains(PASSWORD), "{why}");
    server.never_logs(PASSWORD);

    // An address that refuses connections, and an invalid address.
    let why =
        with(&[("ALL_PROXY", &format!("http://user:{PASSWORD}@127.0.0.1:1"))]).refuses(at(uri));
    assert!(why.contains("through the proxy 127.0.0.1:1"), "{why}");
    assert!(!why.contains(PASSWORD), "{why}");
    let why = with(&[("ALL_PROXY", &format!("gopher://user:{PASSWORD}@x"))]).refuses(at(uri));
    assert!(
        why.contains("ALL_PROXY") && !why.contains(PASSWORD),
        "{why}"
    );
}

#[test]
fn a_proxy_that_hangs_up_has_not_passed_on_the_call() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // After it has received the request.
            let _ = std::io::Read::read(&mut stream.unwrap(), &mut [0; 4096]);
        }
    });
    let why = with(&[("ALL_PROXY", &address)]).refuses(at("http://mcp.example.test/mcp"));
    assert!(
        why.contains("cannot reach http://mcp.example.test"),
        "{why}"
    );
}

#[test]
fn credentials_in_an_address_are_refused_and_not_shown() {
    let server = with(&[]);
    for uri in [
        "http://user:hunter2hunter2@localhost:9/mcp",
        "https://hunter2hunter2@x.test/",
    ] {
        let why = server.refuses(at(uri));
        assert!(why.contains("Authorization header"), "{why}");
        assert!(!why.contains("hunter2hunter2"), "{why}");
    }
    let why = server.refuses(at("http://localhost:1/mcp?token=hunter2hunter2"));
    assert!(!why.contains("hunter2hunter2"), "{why}");
    server.never_logs("hunter2hunter2");
}
