use super::*;
use serde_json::json;

fn round(value: Value) -> Value {
    ExtensionConfig::from_value(value).unwrap().to_value()
}

#[test]
fn every_type_comes_back_with_its_defaults_and_what_is_unknown() {
    for (sent, back) in [
        (
            json!({"x": [1], "name": "n", "cmd": "c", "type": "stdio"}),
            r#"{"type":"stdio","name":"n","description":"","cmd":"c","args":[],"envs":{},"env_keys":[],"timeout":null,"bundled":null,"available_tools":[],"x":[1]}"#,
        ),
        (
            json!({"type": "streamable_http", "name": "n", "uri": "u", "headers": {"b": "1", "a": "2"}}),
            r#"{"type":"streamable_http","name":"n","description":"","uri":"u","envs":{},"env_keys":[],"headers":{"b":"1","a":"2"},"timeout":null,"bundled":null,"available_tools":[]}"#,
        ),
        (
            json!({"type": "sse", "name": "n", "description": "d", "uri": "u", "old": true}),
            r#"{"type":"sse","name":"n","description":"d","uri":"u","old":true}"#,
        ),
        (
            json!({"type": "builtin", "name": "n", "available_tools": null}),
            r#"{"type":"builtin","name":"n","description":"","display_name":null,"timeout":null,"bundled":null,"available_tools":[]}"#,
        ),
        (
            json!({"type": "platform", "name": "n", "bundled": true}),
            r#"{"type":"platform","name":"n","description":"","display_name":null,"bundled":true,"available_tools":[]}"#,
        ),
        (
            json!({"type": "frontend", "name": "n", "tools": [{"name": "t", "z": 1}]}),
            r#"{"type":"frontend","name":"n","description":"","tools":[{"name":"t","z":1}],"instructions":null,"bundled":null,"available_tools":[]}"#,
        ),
        (
            json!({"type": "inline_python", "name": "n", "description": null, "code": "print(1)"}),
            r#"{"type":"inline_python","name":"n","description":"","code":"print(1)","timeout":null,"dependencies":null,"available_tools":[]}"#,
        ),
    ] {
        let once = round(sent);
        assert_eq!(once.to_string(), back);
        assert_eq!(round(once).to_string(), back);
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (sent, reason) in [
        (
            json!({"type": "nope", "name": "b"}),
            "unknown variant `nope`",
        ),
        (json!({"name": "b"}), "missing field `type`"),
        (json!({"type": "stdio", "name": "b"}), "missing field `cmd`"),
        (json!({"type": "stdio", "cmd": "b"}), "missing field `name`"),
        (
            json!({"type": "streamable_http", "name": "b", "url": "x"}),
            "not `url`",
        ),
        (
            json!({"type": "stdio", "name": "b", "cmd": "c", "timeout": -1}),
            "invalid value",
        ),
        (
            json!({"type": "stdio", "name": "b", "cmd": "c", "envs": {"A": 1}}),
            "`A`",
        ),
        (
            json!({"type": "inline_python", "name": " ", "code": "c"}),
            "`name` is empty",
        ),
        (
            json!({"type": "inline_python", "name": "n", "description": "", "code": "\n"}),
            "`code` is empty",
        ),
        (
            json!({"type": "inline_python", "name": "n", "description": ""}),
            "missing field `code`",
        ),
        (
            json!({"type": "inline_python", "name": "n", "description": "", "code": "c", "dependencies": "p"}),
            "dependencies: ",
        ),
        (
            json!({"type": "stdio", "name": "b", "cmd": "c", "envs": "open \"sesame"}),
            "envs: invalid type: string, expected",
        ),
        (
            json!({"type": "stdio", "name": "b", "cmd": "c", "args": "open sesame"}),
            "args: invalid type: string, expected",
        ),
        (json!([]), "an object"),
    ] {
        let error = ExtensionConfig::from_value(sent).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn a_key_has_only_safe_characters() {
    for (name, expected) in [
        ("Bench Tools", "benchtools"),
        ("a\tb\u{a0}c", "abc"),
        ("Ünï.Cöde/x", "_n__c_de_x"),
        ("keep_-9", "keep_-9"),
        ("", ""),
    ] {
        assert_eq!(key(name), expected);
    }
}
