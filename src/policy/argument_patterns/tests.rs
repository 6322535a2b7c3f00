use super::{ArgumentPatterns, Fit, read};

#[track_caller]
fn fit(patterns: &str, arguments: &str) -> Result<Fit, String> {
    let patterns: ArgumentPatterns = yaml_serde::from_str(patterns).unwrap();
    patterns.fit(&read(arguments.as_bytes())?)
}

#[test]
fn values_are_compared_by_the_names_that_lead_to_them() {
    let is = |patterns: &str, arguments: &str, expected| {
        assert_eq!(
            fit(patterns, arguments),
            Ok(expected),
            "{patterns} {arguments}"
        );
    };
    is(
        "{command: 'git *'}",
        r#"{"command": "git status"}"#,
        Fit::All,
    );
    is("{command: 'git *'}", r#"{"command": "rm"}"#, Fit::None);
    is("{command: 'git *'}", "{}", Fit::None);
    is("{command: '*'}", "{}", Fit::None);
    is("{a.b: x}", r#"{"a": {"b": "x"}}"#, Fit::All);
    is("{a.b: x}", r#"{"a.b": "x"}"#, Fit::None);
    is("{a.b: x}", r#"{"a": "x"}"#, Fit::None);
    is("{n: '5'}", r#"{"n": 5}"#, Fit::All);
    is("{n: 'true'}", r#"{"n": true}"#, Fit::All);
    is("{a: x, b: y}", r#"{"a": "x", "b": "y", "c": 1}"#, Fit::All);
    is("{a: x, b: y}", r#"{"a": "x", "b": "z"}"#, Fit::None);
    is("{a: [x, y]}", r#"{"a": "y"}"#, Fit::All);
    is("{a: x}", r#"{"a": "\u0078"}"#, Fit::All);
}

#[test]
fn a_list_stands_for_each_of_its_items() {
    let is = |arguments: &str, expected| {
        assert_eq!(fit("{a.b: 'x*'}", arguments), Ok(expected), "{arguments}");
    };
    is(r#"{"a": [{"b": "x1"}, {"b": "x2"}]}"#, Fit::All);
    is(r#"{"a": [{"b": ["x1", "x2"]}]}"#, Fit::All);
    is(r#"{"a": [{"b": "x1"}, {"b": "y"}]}"#, Fit::Some);
    is(r#"{"a": [{"b": "x1"}, {}]}"#, Fit::Some);
    is(r#"{"a": [{"b": "x1"}, 5]}"#, Fit::Some);
    is(r#"{"a": []}"#, Fit::None);
}

#[test]
fn what_may_be_read_in_two_ways_is_refused() {
    for arguments in [
        "",
        "nothing",
        "[]",
        "5",
        r#"{"a": "x", "a": "y"}"#,
        r#"{"a": "x", "\u0061": "y"}"#,
        r#"{"c": {"d": 1, "d": 2}, "a": "x"}"#,
        r#"{"a": {"b": 1}}"#,
        "{\"a\": \"r\u{200b}m\"}",
        r#"{"a": "r\u202em"}"#,
        r#"{"a": "\u0000"}"#,
        r#"{"a": "/srv/../etc"}"#,
        r#"{"a": "..\\x"}"#,
        r#"{"a": "x"} {"a": "y"}"#,
    ] {
        let refused = fit("{a: '/srv/*'}", arguments);
        assert!(
            refused.is_err() || arguments.is_empty(),
            "{arguments} {refused:?}"
        );
    }
    let deep = format!(
        r#"{{"b": {}{}, "a": "x"}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    fit("{a: x}", &deep).unwrap_err();
    let large = format!(r#"{{"a": "{}"}}"#, "x".repeat(17 << 20));
    fit("{a: x}", &large).unwrap_err();
    assert!(read(b"{\"a\": \"\xff\"}").is_err());
}

#[test]
fn a_pattern_that_fits_all_looks_at_nothing() {
    assert_eq!(fit("{a: '*'}", "{\"a\": \"r\u{200b}m\"}"), Ok(Fit::All));
}

#[test]
fn patterns_need_names() {
    for wrong in ["{}", "{'': x}", "{a..b: x}", "[a]", "{a: {b: c}}"] {
        assert!(
            yaml_serde::from_str::<ArgumentPatterns>(wrong).is_err(),
            "{wrong}"
        );
    }
}
