use super::*;

#[test]
fn a_location_is_read_from_where_it_was_said() {
    let base: Uri = "http://a.b:8080/x/mcp?key=1".parse().unwrap();
    for (location, expected) in [
        ("/mcp/", Some("http://a.b:8080/mcp/")),
        ("/mcp/?q=1#part", Some("http://a.b:8080/mcp/?q=1")),
        ("v2", Some("http://a.b:8080/x/v2")),
        ("../v2/./y", Some("http://a.b:8080/v2/y")),
        ("../../../..", Some("http://a.b:8080/")),
        ("mcp/", Some("http://a.b:8080/x/mcp/")),
        ("?key=2", Some("http://a.b:8080/x/mcp?key=2")),
        ("", Some("http://a.b:8080/x/mcp?key=1")),
        ("//c.d/e", Some("http://c.d/e")),
        ("HTTPS://c.d:1/e", Some("https://c.d:1/e")),
        ("ftp://c.d/", None),
        ("javascript:alert(1)", None),
        ("http://", None),
        ("/a b", None),
        ("\u{1}", None),
    ] {
        let uri = resolve(&base, location.as_bytes());
        let text = uri.map(|uri| uri.to_string());
        assert_eq!(text.as_deref(), expected, "{location:?}");
    }
    assert_eq!(resolve(&base, b"\xff\xfe"), None);
    let bare: Uri = "http://a.b".parse().unwrap();
    assert_eq!(resolve(&bare, b"c").unwrap().to_string(), "http://a.b/c");
}

#[test]
fn scheme_host_and_port_make_an_origin() {
    let here: Uri = "https://a.b/mcp".parse().unwrap();
    for (uri, expected) in [
        ("https://a.b/other?x", true),
        ("https://A.B:443/", true),
        ("https://a.b:8443/", false),
        ("http://a.b/", false),
        ("http://a.b:443/", false),
        ("https://a.b.c/", false),
        ("https://user@a.b/", false),
        ("https://a.b@c.d/", false),
    ] {
        assert_eq!(
            is_same_origin(&here, &uri.parse().unwrap()),
            expected,
            "{uri}"
        );
    }
}
