use super::*;
use serde_json::{Value, json};

/// The error of a recipe with these fields, a title and a description.
fn error_of(mut fields: Value) -> Option<String> {
    fields["title"] = json!("T");
    fields["description"] = json!("D");
    let recipe: Recipe = serde_json::from_value(fields).unwrap();
    recipe.check().err().map(|error| error.to_string())
}

fn parameter(key: &str, input_type: &str, requirement: &str) -> Value {
    json!({"key": key, "input_type": input_type, "requirement": requirement, "description": ""})
}

#[test]
fn there_must_be_something_to_begin_with() {
    let expected = "Recipe must specify at least one of `instructions` or `prompt`.";
    for nothing in [
        json!({}),
        json!({"prompt": null}),
        json!({"instructions": " \n"}),
    ] {
        assert_eq!(error_of(nothing).as_deref(), Some(expected));
    }
    assert_eq!(error_of(json!({"prompt": "go"})), None);
    assert_eq!(error_of(json!({"instructions": "be"})), None);
}

#[test]
fn parameters_must_make_sense() {
    let with = |parameters: Value| {
        error_of(json!({"prompt": "{{ a }}", "parameters": parameters})).unwrap_or_default()
    };
    assert_eq!(with(json!([parameter("a", "string", "required")])), "");
    let twice = [
        parameter("a", "string", "required"),
        parameter("a", "file", "required"),
    ];
    assert!(with(json!(twice)).contains("two parameters of the recipe have the key `a`"));
    let unset = json!([parameter("a", "number", "optional")]);
    assert!(with(unset).contains("a `default`, which is missing for `a`"));
    let choice = json!([parameter("a", "select", "required")]);
    assert!(with(choice).contains("give it `options`"));
    let mut file = parameter("a", "file", "optional");
    file["default"] = json!("/etc/passwd");
    assert!(with(json!([file])).contains("file parameters must not have a `default`"));
}

#[test]
fn templates_and_parameters_must_match() {
    let error = error_of(json!({
        "prompt": "{{ a }} {{ recipe_dir }}",
        "activities": ["{{ b }}"],
        "parameters": [parameter("a", "string", "required"), parameter("c", "string", "required")],
    }))
    .unwrap();
    assert!(
        error.contains("the recipe uses `b`") && error.contains("a parameter `c`"),
        "{error}"
    );
    let error = error_of(json!({"prompt": "{% include 'x' %}"})).unwrap();
    assert!(
        error.contains("a recipe that is not in a file includes none"),
        "{error}"
    );
}

#[test]
fn extensions_and_the_schema_of_the_answer_must_make_sense() {
    let error =
        error_of(json!({"prompt": "go", "extensions": [{"type": "stdio", "name": "x"}]})).unwrap();
    assert!(error.contains("cmd"), "{error}");
    let error = error_of(json!({"prompt": "go", "response": {"json_schema": []}})).unwrap();
    assert!(error.contains("must be an object"), "{error}");
    assert_eq!(
        error_of(json!({"prompt": "go", "response": {"json_schema": {"type": "object"}}})),
        None
    );
}
