use super::*;
use crate::http::response::header;
use crate::http::router::Access;
use crate::http::{Method, Stream};
use std::net::{TcpListener, TcpStream};

/// The status of a request with this key in the header; 200 if it is the server's.
fn status(of: &AccessControl, access: Access, key: Option<&str>, query: Option<&str>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let headers: Vec<_> = key
        .and_then(|key| header("X-Secret-Key", key))
        .into_iter()
        .collect();
    let credentials = Credentials {
        method: &Method::Get,
        path: "/",
        headers: &headers,
        peer: None,
        query,
        access,
        resource: None,
        connection: &Arc::new(Stream::new(socket)),
    };
    match of.authenticate(&credentials, None) {
        Ok(client) => {
            assert_eq!(client, Client::of_key(SERVER));
            200
        }
        Err(error) => error.status.0,
    }
}

#[test]
fn a_host_is_an_address_a_name_or_nothing() {
    for address in [
        "127.0.0.1",
        "127.0.0.1:3000",
        "[::1]",
        "[::1]:3000",
        "10.0.0.7:",
    ] {
        assert!(matches!(host(address), Some(Host::Address(_))), "{address}");
    }
    // Browsers normalize addresses, so other spellings count as names.
    for name in ["localhost", "a.b:80", "127.1", "0x7f000001", "2130706433"] {
        assert!(matches!(host(name), Some(Host::Name(_))), "{name}");
    }
    for nothing in [
        "", ":80", "a:b", "::1", "[::1", "[::1]80", "[x]", "a b", "u@h", "a/b", "a:1:2",
    ] {
        assert_eq!(host(nothing), None, "{nothing}");
    }
}

#[test]
fn the_secret_is_not_printed() {
    let access_control = AccessControl::new(Some("s3cr3t".into()), vec!["my-box".into()]);
    let printed = format!("{access_control:?}");
    assert!(
        printed.contains("my-box") && !printed.contains("s3cr3t"),
        "{printed}"
    );
}

#[test]
fn names_other_than_ours_are_refused() {
    let access_control = AccessControl::new(None, vec!["My-Box.Local.".into(), " ".into()]);
    for fine in [
        "localhost",
        "LOCALHOST:1",
        "localhost.",
        "my-box.local:80",
        "MY-BOX.LOCAL.",
    ] {
        assert!(access_control.check_host(fine).is_ok(), "{fine}");
    }
    for evil in ["evil.com", "localhost.evil.com", "127.0.0.1.nip.io", "."] {
        assert_eq!(
            access_control.check_host(evil).unwrap_err().status.0,
            403,
            "{evil}"
        );
    }
    assert_eq!(access_control.check_host("").unwrap_err().status.0, 400);
}

#[test]
fn pages_of_other_sites_are_refused_where_that_is_wanted() {
    let hosts = vec!["my-box".to_owned()];
    let access_control = AccessControl::new(None, hosts.clone());
    for fine in [
        "http://localhost:6274",
        "https://LOCALHOST",
        "http://127.0.0.1:1",
        "http://127.9.9.9",
        "http://[::1]:8080",
        "http://my-box",
    ] {
        assert!(access_control.check_origin(fine).is_ok(), "{fine}");
    }
    for evil in [
        "http://evil.com",
        "https://localhost.evil.com",
        "http://10.0.0.7",
        "http://localhost@evil.com",
        "http://localhost/..",
        "file://localhost",
        "localhost",
        "null",
        "",
    ] {
        let refused = access_control.check_origin(evil).map_err(|e| e.status.0);
        assert_eq!(refused, Err(403), "{evil}");
        assert!(
            AccessControl::new(None, hosts.clone())
                .any_origin()
                .check_origin(evil)
                .is_ok()
        );
    }
}

#[test]
fn pages_of_named_origins_may_call_from_elsewhere() {
    let named = ["https://App.example", "http://10.0.0.7:80", "null"];
    let access_control = AccessControl::default().origins(named);
    for fine in [
        "https://app.example",
        "http://10.0.0.7:80",
        "null",
        "http://localhost",
    ] {
        assert!(access_control.check_origin(fine).is_ok(), "{fine}");
    }
    for evil in [
        "http://app.example",
        "https://app.example:444",
        "http://10.0.0.7",
        "file://",
    ] {
        assert!(access_control.check_origin(evil).is_err(), "{evil}");
    }
    for wrong in [
        "app.example",
        "https://",
        "https://app.example/",
        " https://app.example",
        "://app.example",
        "*",
        "",
    ] {
        let named = std::panic::catch_unwind(|| AccessControl::default().origins([wrong]));
        assert!(named.is_err(), "{wrong}");
    }
}

#[test]
fn the_page_of_a_program_may_open_a_web_socket_if_it_has_the_secret() {
    let open = AccessControl::default();
    let keyed = AccessControl::new(Some(b"secret".to_vec()), Vec::new());
    for (origin, with_secret, without) in [
        ("http://localhost:5173", true, true),
        ("null", true, false),
        ("file://", true, false),
        ("file:///etc", false, false),
        ("https://evil.com", false, false),
    ] {
        assert_eq!(keyed.check_page_origin(origin).is_ok(), with_secret);
        assert_eq!(open.check_page_origin(origin).is_ok(), without);
    }
    for (key, query, is_right) in [
        (Some("secret"), None, true),
        (None, Some("token=secret"), true),
        (None, Some("a=b&token=s%65cret&token=x"), true),
        (Some("wrong"), Some("token=secret"), false),
        (None, Some("secret=secret"), false),
        (None, None, false),
    ] {
        let status = status(&keyed, Access::TokenKeyed, key, query);
        assert_eq!(status == 200, is_right);
    }
}

#[test]
fn only_the_secret_opens() {
    let access_control = AccessControl::new(Some(b"secret".to_vec()), Vec::new());
    let of_key = |access_control, key| status(access_control, Access::Keyed, key, None);
    assert_eq!(of_key(&access_control, Some("secret")), 200);
    for wrong in [
        None,
        Some(""),
        Some("secre"),
        Some("secrets"),
        Some("Secret"),
        // Differences that cancel each other out.
        Some("terces"),
        Some("rdcret"),
    ] {
        assert_eq!(of_key(&access_control, wrong), 401);
    }
    let empty = AccessControl::new(Some(Vec::new()), Vec::new());
    assert_eq!(of_key(&empty, Some("")), 401);
    assert_eq!(of_key(&AccessControl::default(), None), 200);
    assert!(
        !format!("{access_control:?}").contains("115")
            && !format!("{access_control:?}").contains("secret\"")
    );
}
