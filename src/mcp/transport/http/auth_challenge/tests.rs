use super::*;
use crate::transport::http::Denied;

fn read(header: &str) -> String {
    let shown = |c: &Challenge| {
        let parameters = c.parameters.iter().map(|(n, v)| format!(" {n}={v}"));
        c.scheme.clone() + &parameters.collect::<String>()
    };
    let all: Vec<String> = challenges(header).iter().map(shown).collect();
    all.join(" | ")
}

#[test]
fn challenges_are_read_as_the_grammar_has_them() {
    for (header, expected) in [
        ("Bearer", "Bearer"),
        (
            r#"Bearer realm="a, b", error=x"#,
            "Bearer realm=a, b error=x",
        ),
        (
            r#"Bearer resource_metadata="https://a.b/c?d=e""#,
            "Bearer resource_metadata=https://a.b/c?d=e",
        ),
        (
            "Bearer Resource_Metadata=https://a.b/c, scope=\"r w\"",
            "Bearer resource_metadata=https://a.b/c scope=r w",
        ),
        (
            r#"Basic realm="x", Bearer error = "e" ,scope="s""#,
            "Basic realm=x | Bearer error=e scope=s",
        ),
        (
            "Negotiate, NTLM abc+/==, Digest nonce=1",
            "Negotiate | NTLM | Digest nonce=1",
        ),
        (
            r#"Bearer a="say \"hi\\\"", b=2"#,
            r#"Bearer a=say "hi\" b=2"#,
        ),
        (r#"Bearer a="", a="later""#, "Bearer a="),
    ] {
        assert_eq!(read(header), expected, "{header}");
    }
}

#[test]
fn garbage_is_passed_over() {
    for (header, expected) in [
        ("", ""),
        (" ,, ,", ""),
        ("=", ""),
        ("a=b", ""),
        ("\"a, Bearer\", Basic realm=x", "Basic realm=x"),
        ("{}, Bearer error=e", "Bearer error=e"),
        (r#"Bearer a="open, b=1"#, "Bearer a=open, b=1"),
        (r#"Bearer a="open\"#, "Bearer a=open"),
        ("\u{fffd}é, Bearer", "Bearer"),
    ] {
        assert_eq!(read(header), expected, "{header}");
    }
}

#[test]
fn what_is_kept_is_bounded() {
    assert_eq!(challenges(&"a,".repeat(50_000)).len(), MAX_CHALLENGES);
    let many: String = (0..5_000).map(|n| format!("p{n}=1,")).collect();
    let read = challenges(&format!("Bearer {many}"));
    assert_eq!(read[0].parameters.len(), PARAMETERS);
    let long = challenges(&format!("Bearer a=\"{}\" ,b=c", "x".repeat(30_000)));
    assert_eq!(long[0].parameter("a").unwrap().len(), VALUE);
    assert_eq!(long[0].parameter("b"), Some("c"));
}

#[test]
fn only_an_address_on_the_web_is_where_to_sign_in() {
    for (url, is_one) in [
        ("HTTPS://a.b", true),
        ("http://127.0.0.1/x", true),
        ("javascript:alert(1)", false),
        ("file:///etc/passwd", false),
        ("httpé", false),
    ] {
        let read = challenges(&format!("Bearer resource_metadata=\"{url}\""));
        assert_eq!(read[0].resource_metadata().is_some(), is_one, "{url}");
    }
}

#[test]
fn the_error_shows_nothing_that_cannot_be_seen() {
    let header = "Bearer error=\"\u{1b}[31m\", resource_metadata=\"https://a\u{202e}b\"";
    let denied = Denied {
        code: 401,
        challenges: challenges(header),
        authorized: false,
        detail: String::new(),
    };
    let text = denied.to_string();
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    assert!(text.contains(r"https://a\u{202e}b"), "{text}");
}
