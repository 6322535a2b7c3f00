//! Fuzz target of YAML: configuration, secrets, recipes.

use super::yaml_text;
use crate::extension::ExtensionConfig;
use serde_json::Value;

/// Every parsed mapping, and every JSON value, survives writing and parsing.
pub fn yaml(input: &[u8]) {
    let Ok(mapping) = yaml_text::parse(input) else {
        return;
    };
    // `render` refuses values that YAML cannot represent faithfully.
    if let Ok(text) = yaml_text::render(&mapping) {
        let again = yaml_text::parse(text.as_bytes());
        assert!(again.is_ok_and(|again| again == mapping), "{text:?}");
    }
    let object = yaml_text::to_json_object(&mapping);
    let Value::Object(object) = without_wide_numbers(Value::Object(object)) else {
        return;
    };
    let text = match yaml_text::from_json(&Value::Object(object.clone())) {
        yaml_serde::Value::Mapping(mapping) => yaml_text::render(&mapping),
        other => panic!("an object becomes {other:?}"),
    };
    let text =
        text.unwrap_or_else(|reason| panic!("JSON has no form in YAML: {reason}: {object:?}"));
    let again = yaml_text::parse(text.as_bytes()).expect("what is written can be read");
    assert_eq!(yaml_text::to_json_object(&again), object, "{text:?}");
    used(Value::Object(object));
}

/// Removes numbers beyond 64 bits, which are floats in JSON.
fn without_wide_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => Value::Null,
        Value::Array(items) => items.into_iter().map(without_wide_numbers).collect(),
        Value::Object(map) => (map.into_iter())
            .map(|(name, value)| (name, without_wide_numbers(value)))
            .collect(),
        other => other,
    }
}

/// Uses the object as an extension's configuration.
fn used(object: Value) {
    if let Ok(config) = ExtensionConfig::from_value(object) {
        let value = serde_json::to_value(&config).expect("a configuration can be written");
        let again = ExtensionConfig::from_value(value).expect("what is written can be read");
        assert_eq!(again, config);
    }
}
