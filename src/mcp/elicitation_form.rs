//! Forms of an elicitation: the defaults of their flat schema, and the validation of an answer. Pure. MCP
//! 2025-11-25, client/elicitation, requested schema.

use gosling_text::printable;
use serde_json::{Map, Value};

/// The longest quotation of a name or value, in characters.
const QUOTED: usize = 80;

/// The default values in the schema.
pub fn defaults(schema: &Value) -> Map<String, Value> {
    let properties = schema["properties"].as_object();
    let properties = properties.into_iter().flatten();
    properties
        .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())))
        .collect()
}

/// The answer, completed with defaults. Members that the schema does not have are kept.
///
/// # Errors
/// The properties that do not match the schema, one sentence each.
pub fn complete(
    schema: &Value,
    mut answer: Map<String, Value>,
) -> Result<Map<String, Value>, Vec<String>> {
    for (name, default) in defaults(schema) {
        answer.entry(name).or_insert(default);
    }
    let mut wrong = Vec::new();
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !answer.contains_key(name) {
            wrong.push(format!("`{}` is missing", printable(name, QUOTED)));
        }
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (name, property) in properties {
        if let Some(value) = answer.get(name)
            && let Err(reason) = fits(property, value)
        {
            wrong.push(format!("`{}` {reason}", printable(name, QUOTED)));
        }
    }
    if wrong.is_empty() {
        Ok(answer)
    } else {
        Err(wrong)
    }
}

/// Checks one property: a string, a number, a boolean, or one or several values of a list.
fn fits(property: &Value, value: &Value) -> Result<(), String> {
    if let Some(choices) = choices(property) {
        return one_of(&choices, value);
    }
    match property["type"].as_str() {
        Some("string") => match value.as_str() {
            Some(text) => text_fits(property, text),
            None => Err("is not a text".to_owned()),
        },
        Some("number") => match value.as_f64() {
            Some(number) => number_fits(property, number),
            None => Err("is not a number".to_owned()),
        },
        Some("integer") => match value.as_f64() {
            Some(number) if number.fract() == 0.0 => number_fits(property, number),
            _ => Err("is not a whole number".to_owned()),
        },
        Some("boolean") => {
            if value.is_boolean() {
                Ok(())
            } else {
                Err("is neither true nor false".to_owned())
            }
        }
        Some("array") => match value.as_array() {
            Some(items) => items_fit(property, items),
            None => Err("is not a list".to_owned()),
        },
        // Other types are not part of MCP; the server checks them.
        _ => Ok(()),
    }
}

/// The values to choose from: a plain `enum`, or values with titles (`oneOf`, and `anyOf` for several, each
/// with a `const`).
fn choices(schema: &Value) -> Option<Vec<&Value>> {
    if let Some(values) = schema["enum"].as_array() {
        return Some(values.iter().collect());
    }
    let titled = schema["oneOf"].as_array().or(schema["anyOf"].as_array())?;
    titled.iter().map(|choice| choice.get("const")).collect()
}

fn one_of(choices: &[&Value], value: &Value) -> Result<(), String> {
    if choices.contains(&value) {
        return Ok(());
    }
    let mut all = String::new();
    for choice in choices {
        if !all.is_empty() {
            all.push_str(", ");
        }
        all.push_str(&choice.to_string());
        if all.len() > 4 * QUOTED {
            break;
        }
    }
    Err(format!("is none of {}", printable(&all, 4 * QUOTED)))
}

fn text_fits(property: &Value, text: &str) -> Result<(), String> {
    let length = text.chars().count() as u64;
    if let Some(least) = property["minLength"]
        .as_u64()
        .filter(|least| length < *least)
    {
        return Err(format!("has less than {least} characters"));
    }
    if let Some(most) = property["maxLength"].as_u64().filter(|most| length > *most) {
        return Err(format!("has more than {most} characters"));
    }
    match property["format"].as_str() {
        Some("email") if !is_email(text) => Err("is not an e-mail address".to_owned()),
        Some("uri") if !is_uri(text) => Err("is not a URI".to_owned()),
        Some("date") if !is_date(text) => Err("is not a date (2025-12-31)".to_owned()),
        Some("date-time") if !is_date_time(text) => {
            Err("is not a date with a time (2025-12-31T23:59:59Z)".to_owned())
        }
        _ => Ok(()),
    }
}

fn number_fits(property: &Value, number: f64) -> Result<(), String> {
    if let Some(least) = property["minimum"].as_f64().filter(|least| number < *least) {
        return Err(format!("is less than {least}"));
    }
    match property["maximum"].as_f64().filter(|most| number > *most) {
        Some(most) => Err(format!("is more than {most}")),
        None => Ok(()),
    }
}

fn items_fit(property: &Value, items: &[Value]) -> Result<(), String> {
    let count = items.len() as u64;
    if let Some(least) = property["minItems"].as_u64().filter(|least| count < *least) {
        return Err(format!("has less than {least} entries"));
    }
    if let Some(most) = property["maxItems"].as_u64().filter(|most| count > *most) {
        return Err(format!("has more than {most} entries"));
    }
    let entries = &property["items"];
    items.iter().try_for_each(|item| {
        fits(entries, item).map_err(|reason| format!("has an entry that {reason}"))
    })
}

/// Something, an `@`, something.
fn is_email(text: &str) -> bool {
    let parts = text.rsplit_once('@');
    !text.contains(char::is_whitespace)
        && parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
}

/// A scheme, a colon, something.
fn is_uri(text: &str) -> bool {
    let of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    !text.contains(char::is_whitespace)
        && text.split_once(':').is_some_and(|(scheme, rest)| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(of_scheme)
                && !rest.is_empty()
        })
}

fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut part = |digits, range: std::ops::RangeInclusive<u32>| {
        let part = parts.next().unwrap_or_default();
        part.len() == digits
            && part.bytes().all(|b| b.is_ascii_digit())
            && part.parse().is_ok_and(|number| range.contains(&number))
    };
    part(4, 0..=9999) && part(2, 1..=12) && part(2, 1..=31)
}

/// A date, `T`, hours and minutes, and the rest of a time.
fn is_date_time(text: &str) -> bool {
    let parts = text.split_once(['T', 't', ' ']);
    parts.is_some_and(|(date, time)| {
        let shape = time.bytes().take(5).enumerate();
        let of_time = |(n, b): (usize, u8)| match n {
            2 => b == b':',
            _ => b.is_ascii_digit(),
        };
        is_date(date) && time.len() >= 5 && shape.into_iter().all(of_time)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gosling_testing::arbitrary::Unstructured;
    use gosling_testing::property_testing::{any_json, any_text, check, vec_of};
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn says(property: Value, value: Value) -> String {
        let schema = json!({"type": "object", "properties": {"x": property}});
        match complete(&schema, map(json!({ "x": value }))) {
            Ok(_) => "fits".to_owned(),
            Err(reasons) => reasons.join("; "),
        }
    }

    #[test]
    fn what_is_left_out_is_filled_in_and_what_is_given_stays() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "default": "Ann"},
                "age": {"type": "integer", "default": 7},
                "free": {"type": "string"},
            },
            "required": ["name", "age"],
        });
        assert_eq!(defaults(&schema), map(json!({"name": "Ann", "age": 7})));
        let answer = complete(&schema, map(json!({"age": 8, "more": null}))).unwrap();
        assert_eq!(answer, map(json!({"age": 8, "more": null, "name": "Ann"})));
    }

    #[test]
    fn everything_that_does_not_fit_is_named() {
        let schema = json!({
            "properties": {"a": {"type": "number"}, "b": {"type": "boolean"}},
            "required": ["a", "b", "c"],
        });
        let wrong = complete(&schema, map(json!({"a": "1", "b": 0}))).unwrap_err();
        assert_eq!(
            wrong,
            [
                "`c` is missing",
                "`a` is not a number",
                "`b` is neither true nor false"
            ]
        );
    }

    #[test]
    fn texts_numbers_and_lists_have_their_bounds() {
        let text = json!({"type": "string", "minLength": 2, "maxLength": 3});
        assert_eq!(says(text.clone(), json!("äöü")), "fits");
        assert!(says(text.clone(), json!("a")).contains("less than 2"));
        assert!(says(text, json!("abcd")).contains("more than 3"));
        let number = json!({"type": "number", "minimum": -0.5, "maximum": 10});
        assert_eq!(says(number.clone(), json!(-0.5)), "fits");
        assert!(says(number.clone(), json!(-1)).contains("less than"));
        assert!(says(number, json!(10.1)).contains("more than 10"));
        let whole = json!({"type": "integer"});
        assert_eq!(says(whole.clone(), json!(3.0)), "fits");
        assert!(says(whole, json!(3.5)).contains("whole"));
    }

    #[test]
    fn choices_come_plain_titled_and_several_at_once() {
        let plain = json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]});
        let titled = json!({"type": "string", "oneOf": [
            {"const": "a", "title": "A"}, {"const": "b", "title": "B"}]});
        for one in [&plain, &titled] {
            assert_eq!(says(one.clone(), json!("b")), "fits");
            assert!(says(one.clone(), json!("A")).contains(r#"none of "a", "b""#));
        }
        for items in [
            json!({"type": "string", "enum": ["a", "b"]}),
            json!({"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}),
        ] {
            let several = json!({"type": "array", "minItems": 1, "maxItems": 2, "items": items});
            assert_eq!(says(several.clone(), json!(["b", "a"])), "fits");
            assert!(says(several.clone(), json!(["c"])).contains("an entry that is none of"));
            assert!(says(several.clone(), json!([])).contains("less than 1"));
            assert!(says(several.clone(), json!(["a", "b", "a"])).contains("more than 2"));
            assert!(says(several, json!("a")).contains("not a list"));
        }
    }

    #[test]
    fn formats_are_judged_loosely() {
        for (format, good, bad) in [
            ("email", "a@b", "a@"),
            ("uri", "urn:x", "x"),
            ("date", "2025-12-31", "2025-13-01"),
            ("date-time", "2025-12-31T23:59:59Z", "2025-12-31"),
            ("colour", "any", ""),
        ] {
            let property = json!({"type": "string", "format": format});
            assert_eq!(says(property.clone(), json!(good)), "fits", "{format}");
            assert_eq!(says(property, json!(bad)) == "fits", format == "colour");
        }
    }

    #[test]
    fn a_schema_of_any_shape_does_no_harm() {
        for schema in [
            json!(null),
            json!([]),
            json!({"properties": [], "required": 5}),
            json!({"properties": {"x": 5}, "required": [5]}),
            json!({"properties": {"x": {"type": "array", "items": 5, "enum": 1, "oneOf": [1]}}}),
        ] {
            assert!(complete(&schema, map(json!({"x": []}))).is_ok(), "{schema}");
        }
    }

    #[test]
    fn any_schema_and_answer_do_no_harm_and_what_fits_fits_again() {
        const WORDS: [&str; 20] = [
            "properties",
            "required",
            "default",
            "type",
            "string",
            "integer",
            "number",
            "boolean",
            "array",
            "items",
            "enum",
            "oneOf",
            "anyOf",
            "const",
            "format",
            "minLength",
            "maximum",
            "minItems",
            "date",
            "a@b",
        ];
        check(|u| {
            let of = |u: &mut Unstructured<'_>| any_json(u, &WORDS, 3);
            let mut schema = of(u)?;
            let answer = of(u)?;
            let Value::Object(answer) = answer else {
                return Ok(());
            };
            if u.ratio(1, 2)? {
                let mut names: Vec<String> = answer.keys().cloned().collect();
                names.extend(WORDS.map(str::to_owned));
                let properties = vec_of(u, 4, |u| {
                    let name = u.choose(&names)?.clone();
                    let mut property = any_json(u, &WORDS, 3)?;
                    if u.ratio(1, 2)? {
                        property = json!({"type": u.choose(&WORDS)?, "default": property});
                    }
                    Ok((name, property))
                })?;
                let properties: Map<String, Value> = properties.into_iter().collect();
                schema = json!({"properties": properties});
                if u.ratio(1, 4)? {
                    schema["required"] = json!([any_text(u)?]);
                }
            }
            match complete(&schema, answer.clone()) {
                Ok(whole) => {
                    assert!(answer.iter().all(|(name, value)| whole[name] == *value));
                    assert!(
                        defaults(&schema)
                            .keys()
                            .all(|name| whole.contains_key(name))
                    );
                    assert_eq!(complete(&schema, whole.clone()), Ok(whole));
                }
                Err(wrong) => {
                    assert!(!wrong.is_empty());
                    for reason in wrong {
                        assert_eq!(printable(&reason, 1000), reason);
                    }
                }
            }
            Ok(())
        });
    }
}
