use super::*;
use serde_json::json;

/// The fields with faults of a list with this one entry.
fn faulty(entry: Value) -> Vec<String> {
    let found = check(json!([entry]).to_string().as_bytes()).unwrap();
    assert_eq!((found.entries, found.more), (1, 0));
    found.faults.into_iter().map(|fault| fault.field).collect()
}

fn stdio() -> Value {
    json!({"id": "i", "name": "n", "type": "stdio", "cmd": "c", "args": []})
}

#[test]
fn the_types_are_those_that_a_configuration_has() {
    for (kind, _) in TYPES.iter().filter_map(|row| row.split_once(' ')) {
        let entry = json!({
            "id": "i", "name": "n", "type": kind, "description": null, "cmd": "c", "args": [],
            "uri": "u", "tools": [], "code": "c", "enabled": true, "display_name": "N",
            "timeout": 300, "bundled": true, "env_keys": ["A"], "allow_configure": 1,
        });
        assert_eq!(faulty(entry.clone()), [""; 0], "{kind}");
        let config = crate::extension::ExtensionConfig::from_value(entry).unwrap();
        assert_eq!(config.kind(), kind);
    }
}

#[test]
fn every_fault_of_an_entry_is_found() {
    let all = json!({
        "id": 1, "enabled": null, "type": "stdio", "args": ["a", 2, null], "envs": {"A": 1, "B": "b"},
        "env_keys": null, "timeout": -1, "bundled": "yes", "available_tools": {},
    });
    let expected = [
        "id",
        "name",
        "enabled",
        "cmd",
        "args[1]",
        "args[2]",
        "envs.A",
        "env_keys",
        "timeout",
        "bundled",
        "available_tools",
    ];
    assert_eq!(faulty(all), expected);
}

#[test]
fn each_type_needs_its_fields() {
    let with = |name: &str, value: Value| {
        let mut entry = stdio();
        entry[name] = value;
        entry
    };
    for (entry, expected) in [
        (json!({"id": "i", "name": "n"}), &["type"][..]),
        (json!({"id": "i", "name": "n", "type": 1}), &["type"]),
        (json!({"id": "i", "name": "n", "type": "http"}), &["type"]),
        (
            json!({"id": "i", "name": "n", "type": "stdio"}),
            &["cmd", "args"],
        ),
        (
            json!({"id": "i", "name": "n", "type": "streamable_http", "url": "u"}),
            &["description", "uri"],
        ),
        (
            json!({"id": "i", "name": "n", "type": "inline_python", "description": ""}),
            &["code"],
        ),
        (
            json!({"id": "i", "name": "n", "type": "frontend", "description": "", "tools": [
                {"name": "t", "inputSchema": {}}, {"name": "t"}, 3,
            ]}),
            &["tools[1]", "tools[2]"],
        ),
        (json!("text"), &[""]),
        (with("timeout", json!(1.5)), &["timeout"]),
        (with("timeout", json!(0)), &[]),
        (with("timeout", Value::Null), &[]),
        (with("args", json!("a b")), &["args"]),
        (with("cmd", Value::Null), &["cmd"]),
    ] {
        assert_eq!(faulty(entry.clone()), expected, "{entry}");
    }
}

#[test]
fn what_is_no_list_is_refused() {
    for text in ["", "{}", "[1", "null", "[] []", &"[".repeat(100_000)] {
        assert!(check(text.as_bytes()).is_err(), "{text:.10}");
    }
    assert_eq!(check(b"\xef\xbb\xbf[]").unwrap().entries, 0);
    let many = format!("[{}]", vec!["1"; 1_000].join(","));
    let found = check(many.as_bytes()).unwrap();
    assert_eq!((found.faults.len(), found.more), (MAX_FAULTS, 900));
}
