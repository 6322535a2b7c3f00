use super::*;
use serde_json::json;

fn config(value: &Value) -> ExtensionConfig {
    ExtensionConfig::from_value(value.clone()).unwrap()
}

#[test]
fn the_order_of_fields_and_what_is_for_people_make_no_difference() {
    let own = json!({"type": "stdio", "name": "My Tools", "cmd": "c", "args": ["a"],
        "envs": {"A": "1", "B": "2"}, "timeout": 9, "description": "mine"});
    let wanted = json!({"bundled": true, "envs": {"B": "2", "A": "1"}, "args": ["a"],
        "cmd": "c", "name": "mytools", "type": "stdio"});
    let imported = classify_imported(&[wanted], &[config(&own)]);
    assert_eq!(imported.active, [config(&own).to_value()]);
    assert!(imported.switched_off.is_empty() && imported.invalid.is_empty());
}

#[test]
fn tools_are_those_that_both_allow() {
    let with =
        |tools: Value| json!({"type": "builtin", "name": "developer", "available_tools": tools});
    for (own, wanted, active) in [
        (json!([]), json!([]), Some(json!([]))),
        (json!(["a", "b"]), json!([]), Some(json!(["a", "b"]))),
        (json!([]), json!(["a"]), Some(json!(["a"]))),
        (json!(["a", "b"]), json!(["b", "c"]), Some(json!(["b"]))),
        (json!(["a"]), json!(["b"]), None),
    ] {
        let imported = classify_imported(&[with(wanted)], &[config(&with(own))]);
        let tools = imported
            .active
            .first()
            .map(|it| it["available_tools"].clone());
        assert_eq!(tools, active);
        assert_eq!(imported.switched_off.len(), usize::from(active.is_none()));
    }
}

#[test]
fn the_effect_names_all_that_matters() {
    for (value, expected) in [
        (
            json!({"type": "stdio", "name": "x", "cmd": "sh", "args": ["-c", "a\u{202e}b"],
                "envs": {"A": "1", "B": "2"}, "env_keys": ["K"], "container": "c"}),
            "run `sh -c a\\u{202e}b` with the variables A, B with the secrets K in the \
             container \"c\"",
        ),
        (
            json!({"type": "streamable_http", "name": "x", "uri": "http://h/",
                "headers": {"X-Key": "$K"}, "env_keys": ["K"]}),
            "connect to http://h/ with the headers X-Key with the secrets K",
        ),
        (
            json!({"type": "sse", "name": "x", "uri": "u"}),
            "connect to u",
        ),
        (
            json!({"type": "builtin", "name": "developer"}),
            "start the builtin server \"developer\"",
        ),
        (
            json!({"type": "platform", "name": "tom"}),
            "start \"tom\", which is part of Goose's own agent",
        ),
        (
            json!({"type": "frontend", "name": "x", "tools": [{"name": "t"}]}),
            "offer tools of the client: t",
        ),
        (
            json!({"type": "inline_python", "name": "x", "description": "", "code": "a\nb", "dependencies": ["p"]}),
            "run a Python program of 2 lines with the packages p",
        ),
    ] {
        let imported = classify_imported(&[value], &[]);
        assert_eq!(imported.switched_off[0].effect, expected);
    }
    let imported = classify_imported(&[json!({"type": "stdio", "name": "x"}), json!(5)], &[]);
    assert!(imported.invalid[0].contains("\"x\": missing field `cmd`"));
    assert_eq!(imported.invalid.len(), 2);
}
