use super::*;

fn options<'a>(uri: &'a str, headers: &'a [(String, String)]) -> TargetOptions<'a> {
    TargetOptions {
        uri,
        headers,
        offline: false,
        connect_timeout: Duration::from_secs(1),
        read_timeout: None,
        idle_timeout: Duration::from_secs(1),
    }
}

fn made(options: &TargetOptions<'_>) -> Result<Target, String> {
    Target::new(options, AddressCache::default())
}

fn target(uri: &str) -> Result<Target, String> {
    made(&options(uri, &[]))
}

/// Whether the build refuses it for want of TLS.
fn needs_tls(uri: &str) -> bool {
    uri.contains("https") && target("https://localhost").is_err()
}

fn refusal(options: &TargetOptions<'_>) -> String {
    match made(options) {
        Err(why) => why,
        Ok(target) => panic!("{} was taken", target.origin),
    }
}

#[test]
fn uris_with_and_without_path_and_port_are_taken() {
    for (uri, origin) in [
        ("http://127.0.0.1:80", "http://127.0.0.1:80"),
        (" https://example.com/mcp?key=1 ", "https://example.com"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("HTTP://localhost", "http://localhost"),
    ] {
        let made = target(uri).map(|target| target.origin);
        if needs_tls(uri) {
            assert!(made.unwrap_err().contains("needs TLS"), "{uri}")
        } else {
            assert_eq!(made.as_deref(), Ok(origin))
        }
    }
}

#[test]
fn other_uris_are_refused_without_showing_what_may_be_secret() {
    for uri in [
        "",
        "/mcp",
        "example.com",
        "ftp://secret.example",
        "http://",
        "http://user:secret@example.com/",
        "https://secret@example.com/",
        "http://a:0/secret",
        "http://a:99999/secret",
        "http://a b/secret",
    ] {
        let why = refusal(&options(uri, &[]));
        assert!(!why.contains("secret"), "{why}");
    }
}

#[test]
fn offline_only_this_machine_is_reached() {
    fn offline(uri: &str) -> TargetOptions<'_> {
        TargetOptions {
            offline: true,
            ..options(uri, &[])
        }
    }
    for uri in [
        "http://localhost:1",
        "http://LOCALHOST",
        "http://127.9.9.9/",
        "https://[::1]/",
    ] {
        let is_refused = made(&offline(uri)).is_err();
        assert_eq!(is_refused, needs_tls(uri), "{uri}");
    }
    for uri in [
        "http://example.com",
        "http://10.0.0.1",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://[::2]",
        "http://0.0.0.0",
    ] {
        assert!(refusal(&offline(uri)).contains("offline"), "{uri}");
    }
}

#[test]
fn this_machine_is_never_reached_through_a_proxy() {
    for uri in ["http://localhost:1", "http://127.0.0.1", "http://[::1]"] {
        assert!(target(uri).unwrap().config.proxy().is_none(), "{uri}");
    }
}

#[test]
fn headers_are_checked_and_their_values_never_shown() {
    for (name, value) in [
        ("", "secret"),
        ("a b", "secret"),
        ("a:", "secret"),
        ("Content-Length", "secret"),
        ("transfer-encoding", "secret"),
        ("ok", "secret\r\nx: y"),
        ("ok", "secret\0"),
    ] {
        let headers = [(name.to_owned(), value.to_owned())];
        let why = refusal(&options("http://localhost", &headers));
        assert!(!why.contains("secret"), "{why}");
    }
}

#[test]
fn what_the_protocol_sends_wins_over_the_users_headers() {
    let headers = [("accept", "text/html"), ("x-a", "1"), ("X-A", "2")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let target = made(&options("http://localhost", &headers)).unwrap();
    let ours = [(header::ACCEPT, HeaderValue::from_static("a/b"))];
    let request = target.request(Method::POST, target.uri(), ours, ());
    assert_eq!(request.headers().get_all("accept").iter().count(), 1);
    assert_eq!(request.headers()["accept"], "a/b");
    assert_eq!(request.headers().get_all("x-a").iter().count(), 2);
}
