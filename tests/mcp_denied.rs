//! Streamable HTTP servers that deny access to some or all clients, and the challenges that the client reads.

#[path = "support/http_client.rs"]
#[allow(dead_code)] // Each test file uses its own part.
mod http_client;
#[path = "support/http_peer.rs"]
#[allow(dead_code)]
mod http_peer;

use gosling::mcp::transport::TransportError;
use gosling::mcp::transport::http::HttpOptions;
use http_client::Client;
use http_peer::{Peer, answer};

#[test]
fn a_token_that_does_not_allow_enough_is_told_what_it_lacks() {
    let body = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no writing"}}"#;
    let peer = Peer::new(move |_, stream| {
        let head = "403 Forbidden\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                    WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"files:write\", \
                    resource_metadata=\"https://a.b/.well-known/oauth-protected-resource\"";
        answer(stream, head, body)
    });
    let client = Client::with(HttpOptions {
        headers: vec![("Authorization".into(), "Bearer hunter2hunter2".into())],
        ..HttpOptions::new("scope", &peer.url)
    });
    client.request(1, "tools/call");
    let error = client.log.failure(1);
    let text = error.to_string();
    for expected in [
        "needs the scope \"files:write\"",
        "error \"insufficient_scope\"",
        "no writing",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let TransportError::Denied(denied) = error else {
        panic!("{error:?}");
    };
    assert_eq!((denied.code, denied.authorized), (403, true));
    assert_eq!(denied.challenges.len(), 2);
    let challenge = denied.challenge().unwrap();
    assert_eq!(
        challenge.resource_metadata(),
        Some("https://a.b/.well-known/oauth-protected-resource")
    );
}
