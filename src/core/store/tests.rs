use super::*;
use serde_json::json;

#[test]
fn environment_values_are_read_as_goose_reads_them() {
    for (text, value) in [
        ("gpt-4o", json!("gpt-4o")),
        ("\"quoted\"", json!("quoted")),
        ("true", json!(true)),
        ("TRUE", json!(true)),
        (" False ", json!(false)),
        ("42", json!(42)),
        (" 42 ", json!(42)),
        ("+5", json!(5)),
        ("007", json!(7)),
        ("-1.5", json!(-1.5)),
        (".5", json!(0.5)),
        ("[1,\"a\"]", json!([1, "a"])),
        ("{\"a\":null}", json!({"a": null})),
        ("{broken", json!("{broken")),
        ("nan", json!("nan")),
        ("", json!("")),
        (" padded text ", json!(" padded text ")),
    ] {
        assert_eq!(parse_env_value(text), value, "{text:?}");
    }
}

#[test]
fn the_exact_name_wins_over_the_upper_case_one() {
    let env: Env = Box::new(|name| match name {
        "key" => Some("exact".into()),
        "KEY" | "OTHER" => Some("upper".into()),
        _ => None,
    });
    assert_eq!(env_override(&env, "key").as_deref(), Some("exact"));
    assert_eq!(env_override(&env, "Key").as_deref(), Some("upper"));
    assert_eq!(env_override(&env, "other").as_deref(), Some("upper"));
    assert_eq!(env_override(&env, "a=b"), None);
    assert_eq!(env_override(&env, ""), None);
}
