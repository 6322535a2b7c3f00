use super::*;

#[test]
fn a_400_about_the_session_is_told_from_others() {
    for (text, expected) in [
        ("Bad Request: No valid session ID provided", true),
        (r#"{"error":{"message":"Session not found"}}"#, true),
        ("Bad Request: Server not initialized", true),
        ("invalid session id", true),
        ("Bad Request: unsupported protocol version", false),
        ("invalid JSON", false),
        ("", false),
    ] {
        assert_eq!(reports_unknown_session(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn each_usual_refusal_has_an_advice_of_its_own() {
    let codes = [
        400, 404, 405, 406, 408, 410, 413, 415, 429, 500, 501, 502, 503, 504,
    ];
    let mut all: Vec<_> = codes
        .iter()
        .map(|code| advice(StatusCode::from_u16(*code).unwrap()))
        .collect();
    assert!(all.iter().all(|advice| !advice.is_empty()));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), codes.len());
    assert_eq!(advice(StatusCode::IM_A_TEAPOT), "");
}

#[test]
fn only_some_redirects_keep_a_message() {
    for (code, post, get) in [
        (301, false, true),
        (302, false, true),
        (303, false, true),
        (307, true, true),
        (308, true, true),
        (300, false, false),
        (304, false, false),
        (200, false, false),
    ] {
        let status = StatusCode::from_u16(code).unwrap();
        assert_eq!(may_follow(status, false), post, "{code}");
        assert_eq!(may_follow(status, true), get, "{code}");
    }
}

#[test]
fn nobody_waits_longer_than_a_day() {
    let seconds = |n| Some(Duration::from_secs(n));
    assert_eq!(clamp_retry_after(seconds(u64::MAX)), seconds(86_400));
    assert_eq!(clamp_retry_after(seconds(7)), seconds(7));
    assert_eq!(clamp_retry_after(None), None);
}
