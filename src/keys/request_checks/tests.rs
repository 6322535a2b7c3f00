use super::{configures, sessions_in};
use serde_json::{Value, json};

#[test]
fn sessions_are_found_in_parameters_and_bodies() {
    let parameters = [("session_id", "a"), ("id", "b"), ("sessionId", "c")];
    let body = json!({"session_id": "d", "sessionId": 5, "id": "e", "more": {"session_id": "f"}});
    assert_eq!(sessions_in(&parameters, &body), ["a", "c", "d", "5"]);
    assert!(sessions_in(&[], &Value::Null).is_empty());
    assert!(sessions_in(&[], &json!({"session_id": null})).is_empty());
}

#[test]
fn only_configured_extensions_are_no_configuration() {
    let is_configured = |extension: &Value| extension["name"] == "known";
    let (known, other) = (json!({"name": "known"}), json!({"name": "other"}));
    for (operation, body, expected) in [
        ("POST /agent/start", json!({}), false),
        (
            "POST /agent/start",
            json!({"recipe_id": "x", "recipe": null, "extension_overrides": null}),
            false,
        ),
        (
            "POST /agent/start",
            json!({"extension_overrides": [known]}),
            false,
        ),
        (
            "POST /agent/start",
            json!({"extension_overrides": [known, other]}),
            true,
        ),
        (
            "POST /agent/start",
            json!({"extension_overrides": {}}),
            true,
        ),
        ("POST /agent/start", json!({"recipe": {}}), true),
        ("POST /agent/start", json!({"recipe_deeplink": ""}), true),
        ("POST /agent/add_extension", json!({"config": known}), false),
        ("POST /agent/add_extension", json!({"config": other}), true),
        ("POST /agent/add_extension", json!({}), true),
        (
            "acp session/new",
            json!({"cwd": "/", "mcpServers": []}),
            false,
        ),
        ("acp session/new", json!({"mcpServers": [known]}), true),
        ("acp session/load", json!({"mcpServers": [known]}), true),
        (
            "acp session/new",
            json!({"_meta": {"recipeDeeplink": "x"}}),
            true,
        ),
        (
            "acp session/new",
            json!({"_meta": {"enabledExtensions": [known]}}),
            false,
        ),
        (
            "acp session/new",
            json!({"_meta": {"enabledExtensions": [other]}}),
            true,
        ),
        ("POST /reply", json!({"mcpServers": [other]}), false),
    ] {
        assert_eq!(
            configures(operation, &body, is_configured),
            expected,
            "{operation} {body}"
        );
    }
}
