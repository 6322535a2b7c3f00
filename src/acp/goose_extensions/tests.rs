use super::*;

#[test]
fn an_extension_keeps_what_both_forms_have() {
    for config in [
        json!({"type": "builtin", "name": "developer", "description": "", "timeout": 300}),
        json!({"type": "platform", "name": "todo", "description": "A checklist"}),
        json!({"type": "stdio", "name": "files", "cmd": "npx", "args": ["-y", "files"], "timeout": 9,
            "envs": {"A": "b"}, "env_keys": ["KEY"], "available_tools": ["read"]}),
        json!({"type": "streamable_http", "name": "web", "uri": "http://localhost:1/mcp",
            "headers": {"X-Key": "$KEY"}, "env_keys": ["KEY"], "description": "Web"}),
    ] {
        let extension = ExtensionConfig::from_value(config).unwrap();
        let shown = to_goose(&extension).unwrap();
        assert_eq!(from_goose(shown).unwrap().to_value(), extension.to_value());
    }
    let other = json!({"type": "inline_python", "name": "x", "description": "", "code": "print()"});
    assert_eq!(to_goose(&ExtensionConfig::from_value(other).unwrap()), None);
}

#[test]
fn what_goose_s_form_does_not_have_stays() {
    let read = |config| ExtensionConfig::from_value(config).unwrap();
    let before = read(
        json!({"type": "stdio", "name": "x", "cmd": "old", "args": ["a"], "envs": {"A": "b"},
        "cwd": "/work", "container": {"image": "i"}}),
    );
    let sent = read(json!({"type": "stdio", "name": "x", "cmd": "new", "args": []}));
    let kept = with_fields_of(sent.clone(), &before).to_value();
    assert_eq!(
        (&kept["cmd"], &kept["args"]),
        (&json!("new"), &json!([])),
        "{kept}"
    );
    assert_eq!(kept["envs"], json!({"A": "b"}));
    assert_eq!(kept["cwd"], "/work");
    assert_eq!(kept["container"], before.to_value()["container"]);
    let other = read(json!({"type": "streamable_http", "name": "x", "uri": "http://h"}));
    assert_eq!(with_fields_of(other.clone(), &before), other);
}

#[test]
fn what_is_no_extension_is_refused() {
    for odd in [
        json!(1),
        json!({}),
        json!({"type": "mcp"}),
        json!({"type": "mcp", "server": {"name": "x"}}),
        json!({"type": "mcp", "server": {"name": "x", "type": "sse", "url": "http://h"}}),
        json!({"type": "mcp", "server": {"name": "x", "command": "y"}, "envKeys": 1}),
    ] {
        assert!(from_goose(odd.clone()).is_err(), "{odd}");
    }
}
