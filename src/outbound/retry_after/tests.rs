use super::*;
use ureq::http::header::HeaderValue;

#[test]
fn a_response_says_when_in_any_of_three_ways() {
    let now = httpdate::parse_http_date("Sun, 22 Nov 2026 10:00:00 GMT").unwrap();
    for (name, value, millis) in [
        ("retry-after", "7", Some(7000)),
        ("retry-after", "0.5", Some(500)),
        ("retry-after-ms", "250.5", Some(250)),
        ("retry-after", "Sun, 22 Nov 2026 10:00:09 GMT", Some(9000)),
        ("retry-after", "Sun, 22 Nov 2026 09:00:00 GMT", Some(0)),
        ("retry-after", "-1", None),
        ("retry-after", "NaN", None),
        ("retry-after", "1e400", None),
        ("retry-after", "99999999", Some(99_999_999_000)),
        ("retry-after", "1e30", Some(Duration::MAX.as_millis())),
        (
            "retry-after",
            "Fri, 31 Dec 9999 23:59:59 GMT",
            Some(251_606_959_199_000),
        ),
        ("retry-after", "soon", None),
        ("x", "1", None),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        let after = retry_after(&headers, now);
        assert_eq!(after.map(|d| d.as_millis()), millis, "{name}: {value}");
    }
}
