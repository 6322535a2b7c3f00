use super::*;
use serde_json::json;

fn field(schema: Value, required: bool) -> Field {
    let required = if required { json!(["f"]) } else { json!([]) };
    let form = json!({"type": "object", "properties": {"f": schema}, "required": required});
    fields(&form.to_string()).remove(0)
}

#[test]
fn answers_become_what_the_schema_says() {
    let colours = json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]});
    let sizes = json!({"type": "string", "oneOf": [{"const": "s", "title": "Small"}]});
    for (schema, answer, value) in [
        (json!({"type": "string"}), " a b ", json!("a b")),
        (json!({"type": "integer"}), "5", json!(5)),
        (json!({"type": "number"}), "1.5", json!(1.5)),
        (json!({"type": "boolean"}), "Yes", json!(true)),
        (
            json!({"type": "boolean", "default": false}),
            "",
            json!(false),
        ),
        (colours.clone(), "green", json!("g")),
        (sizes, "s", json!("s")),
        (
            json!({"type": "array", "items": colours}),
            "r, Green,",
            json!(["r", "g"]),
        ),
        (json!({"type": "string"}), "", json!("")),
    ] {
        assert_eq!(
            field(schema, true).read(answer),
            Ok(Some(value)),
            "{answer}"
        );
    }
    assert_eq!(field(json!({"type": "integer"}), false).read(""), Ok(None));
}

#[test]
fn an_answer_that_does_not_fit_is_refused_with_a_reason() {
    for (schema, answer, reason) in [
        (json!({"type": "integer"}), "1.5", "whole"),
        (json!({"type": "integer", "maximum": 3}), "4", "more than 3"),
        (json!({"type": "number", "minimum": 1}), "0", "less than 1"),
        (json!({"type": "number"}), "NaN", "not a number"),
        (json!({"type": "boolean"}), "perhaps", "y or n"),
        (
            json!({"type": "string", "enum": ["a"]}),
            "b",
            "one of these",
        ),
        (json!({"type": "string", "minLength": 3}), "b", "short"),
        (json!({"type": "string", "minLength": 3}), "", "needed"),
        (json!({"type": "string", "maxLength": 1}), "bb", "long"),
        (json!({"type": "integer"}), "", "needed"),
    ] {
        let refused = field(schema, true).read(answer).unwrap_err();
        assert!(refused.contains(reason), "{answer}: {refused}");
    }
}

#[test]
fn a_question_says_what_fits_and_cannot_do_harm() {
    let schema = json!({"type": "string", "title": "T\x1b[2J", "description": "d",
        "enum": ["a", "b"], "default": "a"});
    assert_eq!(
        field(schema, false).question(),
        "T\\u{1b}[2J (d; a | b) [a]: "
    );
    assert_eq!(
        field(json!({}), false).question(),
        "f (may be left empty): "
    );
    assert!(fields("no schema").is_empty());
}
