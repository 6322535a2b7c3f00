use super::*;
use serde_json::json;

fn config(value: Value) -> ExtensionConfig {
    ExtensionConfig::from_value(value).unwrap()
}

fn program(args: &[&str]) -> ExtensionConfig {
    config(json!({"type": "stdio", "name": "one", "cmd": "npx", "args": args}))
}

fn pins(tools: Value) -> Pins {
    let tools: Vec<Tool> = crate::json::from_str(&tools.to_string()).unwrap();
    Pins::of(&program(&["a"]), &tools, &["hunter2-secret".to_owned()]).unwrap()
}

fn tool() -> Value {
    json!({
        "name": "t", "title": "T", "description": "reads", "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}, "_meta": {"n": 1},
    })
}

#[test]
fn a_change_of_each_part_is_named() {
    let before = pins(json!([tool()]));
    assert_eq!(before.compare(&pins(json!([tool()]))).changes, []);
    for (field, value, expected) in [
        ("title", json!("U"), vec!["title"]),
        ("title", json!(null), vec!["title"]),
        ("description", json!("reads all"), vec!["description"]),
        (
            "inputSchema",
            json!({"type": "object", "required": []}),
            vec!["inputSchema"],
        ),
        ("outputSchema", json!(null), vec!["outputSchema"]),
        (
            "annotations",
            json!({"readOnlyHint": false}),
            vec!["annotations"],
        ),
        ("annotations", json!(null), vec!["annotations"]),
        ("_meta", json!({"n": 2}), vec!["_meta"]),
    ] {
        let mut other = tool();
        other[field] = value;
        let found = before.compare(&pins(json!([other])));
        assert_eq!(found.changes.len(), 1, "{field}");
        assert_eq!(found.changes[0].parts, expected);
        let is_description = field == "description";
        assert_eq!(found.changes[0].after.is_some(), is_description, "{field}");
    }
}

#[test]
fn pins_of_an_earlier_version_are_completed_once_where_all_else_is_the_same() {
    let [mut other, mut meta] = [tool(), tool()];
    other["name"] = json!("other");
    meta["_meta"] = json!({"n": 2});
    let now = pins(json!([tool(), other]));
    let mut before = now.clone();
    before.surroundings = None;
    for pin in before.tools.values_mut() {
        pin.hashes.pop();
    }
    before.tools.get_mut("other").unwrap().hashes[1] = "changed".to_owned();
    let found = before.compare(&now);
    assert!(!found.launch_changed);
    assert_eq!(found.changes.len(), 1);
    assert_eq!(found.changes[0].parts, ["description"]);
    let mut with_surroundings = before.clone();
    with_surroundings.surroundings.clone_from(&now.surroundings);
    for before in [&mut with_surroundings, &mut before] {
        assert!(before.complete(&now));
        assert!(!before.complete(&now));
    }
    assert_eq!(with_surroundings, before);
    assert_eq!(before.surroundings, now.surroundings);
    assert_eq!(before.tools["t"], now.tools["t"]);
    assert_eq!(before.tools["other"].hashes.len(), 5, "it differs");
    let found = before.compare(&pins(json!([meta])));
    assert_eq!(found.changes[0].parts, ["_meta"]);
}

#[test]
fn added_and_removed_tools_are_changes_and_the_order_is_none() {
    let named = |name: &str| json!({"name": name, "description": format!("does {name}")});
    let before = pins(json!([named("a"), named("b")]));
    let found = before.compare(&pins(json!([named("c"), named("b")])));
    let told: Vec<_> = found
        .changes
        .iter()
        .map(|it| (&*it.tool, it.change))
        .collect();
    assert_eq!(told, [("c", Difference::Added), ("a", Difference::Removed)]);
    assert_eq!(found.changes[0].after.as_deref(), Some("does c"));
    assert_eq!(found.changes[1].before.as_deref(), Some("does a"));
    let other_order = pins(json!([named("b"), named("a")]));
    assert_eq!(before.compare(&other_order).changes, []);
    assert!(before.has_hashes_of(&other_order));
    assert!(!before.has_hashes_of(&pins(json!([named("b")]))));
}

#[test]
fn the_launch_is_the_program_the_address_or_the_code_with_names_of_variables_and_the_place() {
    let http = |uri: &str| config(json!({"type": "streamable_http", "name": "x", "uri": uri}));
    let python = |code: &str| {
        config(json!({"type": "inline_python", "name": "x", "description": "", "code": code}))
    };
    let mut all = vec![
        launch(&program(&["a"])),
        launch(&program(&["a", "b"])),
        launch(&program(&["ab"])),
        launch(&http("https://h/a")),
        launch(&http("https://h/b")),
        launch(&python("1")),
        launch(&python("2")),
    ];
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 7);
    let more = |more: Value| {
        let mut value = json!({"type": "stdio", "name": "One", "cmd": "npx", "args": ["a"], "timeout": 5,
            "description": "d", "envs": {"A": "1"}, "env_keys": ["B"], "available_tools": ["t"]});
        value
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        Pins::without_tools(&config(value))
    };
    let some = more(json!({}));
    assert_eq!(some.launch, launch(&program(&["a"])));
    for same in [
        json!({"envs": {"A": "2", "B": ""}}),
        json!({"env_keys": ["B", "A"]}),
    ] {
        assert!(some.has_launch_of(&more(same)));
    }
    for other in [
        json!({"envs": {}}),
        json!({"env_keys": []}),
        json!({"cwd": "session"}),
        json!({"container": "box"}),
    ] {
        assert!(!some.has_launch_of(&more(other)));
    }
}

#[test]
fn the_canonical_form_loses_nothing_but_order_and_space() {
    for (json, expected) in [
        (
            r#"{"b":1, "a":{"d":":","c":2}}"#,
            r#"{"a":{"c":2,"d":":"},"b":1}"#,
        ),
        (r#"[ {"a" : "\"\u0041:"} ]"#, r#"[{"a":"\"A:"}]"#),
        // Models may read the first or the last.
        (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#),
        (r#"{"x":{"a":1,"a":1}}"#, r#"{"x":{"a":1,"a":1}}"#),
    ] {
        assert_eq!(canonical(json), expected);
    }
}

#[test]
fn any_other_value_in_a_schema_has_another_canonical_form() {
    fn replace(value: &mut Value, at: &mut usize) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| replace(item, at)),
            Value::Object(members) => members.values_mut().for_each(|item| replace(item, at)),
            leaf => {
                if *at == 0 {
                    *leaf = json!("\u{0}other");
                }
                *at = at.wrapping_sub(1);
            }
        }
    }
    gosling_testing::property_testing::check(|source| {
        let value =
            gosling_testing::property_testing::any_json(source, &["type", "a b", "\"", ":"], 4)?;
        let mut sorted = value.clone();
        sorted.sort_all_objects();
        assert_eq!(
            canonical(&value.to_string()),
            canonical(&sorted.to_string())
        );
        let mut other = value.clone();
        let mut at = source.int_in_range(0..=7)?;
        replace(&mut other, &mut at);
        let same = canonical(&other.to_string()) == canonical(&value.to_string());
        assert_eq!(same, other == value, "{value} {other}");
        Ok(())
    });
}

#[test]
fn a_pin_keeps_no_secret_and_little_text() {
    let text = format!("uses hunter2-secret {}", "x".repeat(5_000));
    let kept = pins(json!([{"name": "t", "description": text}])).tools["t"].clone();
    assert!(kept.text.starts_with("uses [secret] x"), "{}", kept.text);
    assert!(kept.text.chars().count() < 320);
    let many: Vec<Value> = (0..=MAX_TOOLS)
        .map(|n| json!({"name": n.to_string()}))
        .collect();
    let many: Vec<Tool> = crate::json::from_str(&json!(many).to_string()).unwrap();
    assert!(Pins::of(&program(&[]), &many, &[]).is_err());
    assert!(Pins::of(&program(&[]), &many[1..], &[]).is_ok());
}
