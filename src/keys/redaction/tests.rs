use super::{redact, redact_response};
use crate::http::Response;
use serde_json::{Value, json};

#[test]
fn variables_header_fields_and_credentials_are_hidden_and_the_rest_stays() {
    let mut value = json!({"extensions": [
        {"name": "a", "envs": {"TOKEN": "t0p", "NUMBER": 7, "NONE": null}, "env_keys": ["KEY"]},
        {"headers": {"Authorization": "Bearer x"}, "uri": "https://me:pass@example.com/mcp"},
        {"env": [{"name": "TOKEN", "value": "t0p"}], "args": ["--key", "sk-0123456789012345678901"]},
        {"headers": ["t0p"], "cmd": "npx"},
    ]});
    redact(&mut value);
    let hidden = "[secret]";
    assert_eq!(
        value,
        json!({"extensions": [
            {"name": "a", "envs": {"TOKEN": hidden, "NUMBER": hidden, "NONE": null}, "env_keys": ["KEY"]},
            {"headers": {"Authorization": hidden}, "uri": "https://[secret]@example.com/mcp"},
            {"env": [{"name": "TOKEN", "value": hidden}], "args": ["--key", hidden]},
            {"headers": [hidden], "cmd": "npx"},
        ]})
    );
}

#[test]
fn an_export_is_redacted_inside_its_text() {
    let inner = json!({"extension_data": {"envs": {"TOKEN": "t0p"}}, "name": "x"}).to_string();
    let mut response = Response::json(&inner);
    redact_response(&mut response);
    let text: String = serde_json::from_slice(&response.body).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        value,
        json!({"extension_data": {"envs": {"TOKEN": "[secret]"}}, "name": "x"})
    );
}

#[test]
fn what_is_not_json_stays() {
    let mut response = Response::text(r#"{"envs": {"A": "b"}}"#);
    redact_response(&mut response);
    assert_eq!(response.body, br#"{"envs": {"A": "b"}}"#);
}
