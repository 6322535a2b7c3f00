use super::*;

fn scan(text: &str, limits: &Limits) -> Result<Option<Range<usize>>, u16> {
    let whole = HeadScanner::default()
        .advance(text.as_bytes(), limits)
        .map_err(|error| error.status.0);
    let mut scan = HeadScanner::default();
    let mut pieces = Ok(None);
    for end in 1..=text.len() {
        pieces = scan
            .advance(&text.as_bytes()[..end], limits)
            .map_err(|error| error.status.0);
        if !matches!(pieces, Ok(None)) {
            break;
        }
    }
    assert_eq!(whole, pieces, "whole and byte by byte: {text:?}");
    whole
}

fn head(text: &str) -> Result<Head, u16> {
    let range = scan(text, &Limits::default())?.expect("a complete head");
    parse(&text.as_bytes()[range]).map_err(|error| error.status.0)
}

fn framed(fields: &str) -> Result<Framing, u16> {
    head(&format!("POST /a HTTP/1.1\r\nHost: h\r\n{fields}\r\n")).map(|head| head.framing)
}

#[test]
fn a_head_ends_at_its_empty_line() {
    let limits = Limits::default();
    assert_eq!(scan("GET / HTTP/1.1\r\nHost: h\r\n", &limits), Ok(None));
    assert_eq!(scan("GET / HTTP/1.1\r\n\r\nPOST", &limits), Ok(Some(0..18)));
    assert_eq!(scan("\r\n\r\nGET /\r\n\r\n", &limits), Ok(Some(4..13)));
    assert_eq!(scan("\r\n\r\n\r\n", &limits), Err(400));
    for bad in [
        "GET / HTTP/1.1\n",
        "GET /\rx",
        "\n",
        "\x16\x03\x01",
        "GET /\0",
        "a\x7f",
    ] {
        assert_eq!(scan(bad, &limits), Err(400), "{bad:?}");
    }
    let bare = HeadScanner::default().advance(b"GET / HTTP/1.1\n", &limits);
    assert_eq!(
        bare.unwrap_err().message,
        "Lines of the head must end with CR LF"
    );
}

#[test]
fn empty_lines_alone_are_forgotten_but_counted() {
    let limits = Limits::default();
    let mut scan = HeadScanner::default();
    for _ in 0..BLANK_LINES {
        assert!(scan.advance(b"\r\n", &limits).unwrap().is_none());
        assert!(scan.skip_blank(2));
    }
    assert!(!scan.skip_blank(0));
    assert!(scan.advance(b"\r\n", &limits).is_err());
}

#[test]
fn a_head_has_its_limits() {
    let limits = Limits {
        max_head_bytes: 60,
        max_headers: 2,
        ..Limits::default()
    };
    let long = "x".repeat(60);
    for before in ["", "\r\n\r\n"] {
        assert_eq!(scan(&format!("{before}{long}"), &limits), Ok(None));
        assert_eq!(scan(&format!("{before}{long}x"), &limits), Err(414));
    }
    assert_eq!(
        scan(&format!("GET / HTTP/1.1\r\nA: {long}"), &limits),
        Err(431)
    );
    let of = |fields: usize| format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(fields));
    assert_eq!(scan(&of(2), &limits), Ok(Some(0..30)));
    assert_eq!(scan(&of(3), &limits), Err(431));
}

#[test]
fn a_body_is_framed_one_way_or_not_at_all() {
    use Framing::*;
    let cases = [
        ("", Ok(Empty)),
        ("Content-Length: 0\r\n", Ok(Empty)),
        ("content-length:  12 \r\n", Ok(Sized(12))),
        ("Content-Length: 0000000000000000012\r\n", Ok(Sized(12))),
        (
            "Content-Length: 9999999999999999999\r\n",
            Ok(Sized(9_999_999_999_999_999_999)),
        ),
        ("Content-Length: 00000000000000000012\r\n", Err(400)),
        ("Content-Length: 99999999999999999999\r\n", Err(400)),
        ("Content-Length:\r\n", Err(400)),
        ("Content-Length: +1\r\n", Err(400)),
        ("Content-Length: -1\r\n", Err(400)),
        ("Content-Length: 0x1\r\n", Err(400)),
        ("Content-Length: 1 2\r\n", Err(400)),
        ("Content-Length: 1, 1\r\n", Err(400)),
        ("Content-Length: 1\r\nContent-Length: 1\r\n", Err(400)),
        ("Transfer-Encoding: chunked\r\n", Ok(Chunked)),
        ("transfer-encoding: CHUNKED\r\n", Ok(Chunked)),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
            Err(400),
        ),
        (
            "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
            Err(400),
        ),
        ("Transfer-Encoding: gzip, chunked\r\n", Err(501)),
        (
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
            Err(501),
        ),
        ("Transfer-Encoding: chunked, gzip\r\n", Err(400)),
        ("Transfer-Encoding: chunked, chunked\r\n", Err(400)),
        ("Transfer-Encoding: identity\r\n", Err(400)),
        ("Transfer-Encoding: xchunked\r\n", Err(400)),
        ("Transfer-Encoding: \"chunked\"\r\n", Err(400)),
        ("Transfer-Encoding: chunked;q=1\r\n", Err(400)),
        ("Transfer-Encoding:\r\n", Err(400)),
        ("Transfer-Encoding: \u{b}chunked\r\n", Err(400)),
    ];
    for (fields, expected) in cases {
        assert_eq!(framed(fields), expected, "{fields:?}");
    }
    let old = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(head(old).unwrap_err(), 400);
}

#[test]
fn what_is_no_head_is_refused() {
    let cases = [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nA(b): c\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /é HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1x\r\nHost: a\r\n\r\n", 400),
        ("GET / http/1.1\r\nHost: a\r\n\r\n", 400),
        ("G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("PRI * HTTP/2.0\r\n\r\n", 505),
    ];
    for (text, status) in cases {
        assert_eq!(head(text).map(|_| ()), Err(status), "{text:?}");
    }
}

#[test]
fn a_target_says_path_query_and_host() {
    let of = |line: &str| {
        let head = head(&format!("{line} HTTP/1.1\r\nHost: field\r\n\r\n")).unwrap();
        (head.path, head.query, head.authority.unwrap())
    };
    let some = |text: &str| Some(text.to_string());
    assert_eq!(
        of("GET /a/b?c=d?e"),
        ("/a/b".into(), some("c=d?e"), "field".into())
    );
    assert_eq!(
        of("GET http://h:1/a?b"),
        ("/a".into(), some("b"), "h:1".into())
    );
    assert_eq!(of("GET HTTP://h?b"), ("/".into(), some("b"), "h".into()));
    assert_eq!(of("GET https://h"), ("/".into(), None, "h".into()));
    assert_eq!(of("OPTIONS *"), ("*".into(), None, "field".into()));
    assert_eq!(of("CONNECT h:1"), ("".into(), None, "h:1".into()));
}

#[test]
fn connections_go_on_as_their_version_says() {
    let of = |version: &str, connection: &str| {
        let text = format!("GET / HTTP/{version}\r\nHost: h\r\nConnection: {connection}\r\n\r\n");
        head(&text).unwrap().keep_alive
    };
    assert!(of("1.1", "") && of("1.1", "upgrade") && of("1.0", "foo, Keep-Alive"));
    assert!(!of("1.0", "") && !of("1.1", "foo, CLOSE") && !of("1.0", "keep-alive, close"));
    assert!(head("GET / HTTP/1.0\r\n\r\n").unwrap().authority.is_none());
}

#[test]
fn opaque_fields_are_left_out_and_others_kept() {
    let head = head("GET / HTTP/1.1\r\nHost: h\r\nX-A: é\r\nX-B:\t b \t\r\n\r\n").unwrap();
    let names: Vec<_> = head.headers.iter().map(|h| h.to_string()).collect();
    assert_eq!(names, ["Host: h", "X-B: b"]);
}

#[test]
fn expectations_are_known_or_not() {
    let of = |version: &str, expect: &str| {
        let text = format!("GET / HTTP/{version}\r\nHost: h\r\nExpect: {expect}\r\n\r\n");
        head(&text).unwrap().expect
    };
    assert_eq!(of("1.1", "100-Continue"), Expect::Continue);
    assert_eq!(of("1.1", "tea"), Expect::Unknown);
    assert_eq!(of("1.1", "100-continue, tea"), Expect::Unknown);
    assert_eq!(of("1.0", "tea"), Expect::Nothing);
}

#[test]
fn memory_ratio_of_heads() {
    use gosling_testing::memory_ratio::{at_most, filled};

    let line = "GET / HTTP/1.1\r\nHost: h\r\n";
    let fields = "a:\r\n".repeat(99);
    let heads = [
        filled(64 << 10, line, "a: b\r\n", "\r\n"),
        filled(60 << 10, &format!("{line}x: "), "x", "\r\n\r\n"),
        filled(60 << 10, "GET /", "x", " HTTP/1.1\r\nHost: h\r\n\r\n"),
        format!("{line}{fields}\r\n").into_bytes(),
    ];
    at_most(25, "head", &heads, |text| {
        let range = HeadScanner::default().advance(text, &Limits::default());
        range.map(|range| range.map(|range| parse(&text[range]).is_ok()))
    });
}
