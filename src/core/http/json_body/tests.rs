use super::*;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Add {
    name: String,
    enabled: bool,
    config: Config,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(dead_code)]
enum Config {
    Stdio { cmd: String, args: Vec<String> },
    Sse { uri: String },
}

fn refused(body: &str) -> (u16, String) {
    let error = decode::<Add>(Some("application/json"), body.as_bytes()).unwrap_err();
    (error.status.0, error.message)
}

const DATA: &str = "Failed to deserialize the JSON body into the target type: ";

#[test]
fn halves_of_surrogate_pairs_are_replaced() {
    let read = |body: &str| decode::<String>(Some("application/json"), body.as_bytes());
    for (body, text) in [
        (r#""a\ud83d b""#, "a\u{fffd} b"),
        (r#""\ude00\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\ud83d\ud83d\ude00\n""#, "\u{fffd}😀\n"),
        (r#""\\ud83d""#, "\\ud83d"),
    ] {
        assert_eq!(read(body).unwrap(), text, "{body}");
    }
    for body in [r#""\ud83"#, r#""\ud83d"#, "\"\\", r#""\u""#] {
        assert!(read(body).is_err(), "{body}");
    }
}

#[test]
fn values_that_take_too_much_memory_are_too_large() {
    let body = format!("[{}0]", "[[]],".repeat(200_000));
    let read = decode::<serde_json::Value>(Some("application/json"), body.as_bytes());
    assert_eq!(read.unwrap_err().status.0, 413);
}

#[test]
fn errors_read_as_recorded() {
    assert_eq!(
        refused("{nope"),
        (
            400,
            "Failed to parse the request body as JSON: key must be a string at line 1 column 2"
                .into()
        )
    );
    assert_eq!(
        refused(r#"{"name": "b", "enabled": true, "config": {"type": "nope", "name": "b"}}"#),
        (
            422,
            format!(
                "{DATA}config.type: unknown variant `nope`, expected `stdio` or `sse` at line 1 column 56"
            )
        )
    );
    assert_eq!(
        refused(r#"{"name": "b", "enabled": true, "config": {"type": "stdio", "args": []}}"#),
        (
            422,
            format!("{DATA}missing field `cmd` at line 1 column 71")
        )
    );
    assert_eq!(
        refused(r#"{"working": 1}"#),
        (
            422,
            format!("{DATA}missing field `name` at line 1 column 14")
        )
    );
}

#[test]
fn the_path_follows_lists_lines_and_escapes() {
    let json = br#"{"a\"b": [1, {"c": [true, "x,]}"]}],
  "d": {"e": null}, "f": 1}"#;
    let at = |needle: &str| {
        let text = std::str::from_utf8(json).unwrap();
        path_at(json, text.find(needle).unwrap() + needle.len())
    };
    assert_eq!(at("[1"), "a\"b[0]");
    assert_eq!(at("true"), "a\"b[1].c[0]");
    assert_eq!(at("]}\""), "a\"b[1].c[1]");
    assert_eq!(at("null"), "d.e");
    assert_eq!(at("null}"), "d");
    assert_eq!(path_at(json, json.len()), "");
}

#[test]
fn only_json_types_count_as_json() {
    for yes in [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/ld+json",
    ] {
        assert!(is_json(yes), "{yes}");
    }
    for no in ["text/plain", "application/jsonp", "text/json", "json", ""] {
        assert!(!is_json(no), "{no}");
    }
    assert_eq!(decode::<bool>(None, b"true").unwrap_err().status.0, 415);
}

#[test]
fn no_bytes_make_it_panic() {
    let seeds: [&[u8]; 5] = [
        b"",
        b"\"",
        b"{\"a\":[\"\\",
        b"}]},,::",
        b"{\"a\":1,\n\n\"b\":\xff",
    ];
    for seed in seeds {
        for end in 0..=seed.len() {
            path_at(seed, end);
            let _ = decode::<Add>(Some("application/json"), &seed[..end]);
        }
    }
}
