//! Forms of an elicitation: the defaults of their flat schema, and the validation of an answer. Pure. MCP
//! 2025-11-25, client/elicitation, requested schema.

use gosling_sys::clock::Utc;
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
            Some(number) => within(property, ["minimum", "maximum"], number, ["is", ""]),
            None => Err("is not a number".to_owned()),
        },
        Some("integer") => match value.as_f64() {
            Some(number) if number.fract() == 0.0 => {
                within(property, ["minimum", "maximum"], number, ["is", ""])
            }
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

/// Checks a measure against the limits of these names; the words stand around a limit.
fn within(
    property: &Value,
    [least, most]: [&str; 2],
    measure: f64,
    [begin, end]: [&str; 2],
) -> Result<(), String> {
    if let Some(least) = property[least].as_f64().filter(|least| measure < *least) {
        return Err(format!("{begin} less than {least}{end}"));
    }
    let most = property[most].as_f64().filter(|most| measure > *most);
    most.map_or(Ok(()), |most| Err(format!("{begin} more than {most}{end}")))
}

fn text_fits(property: &Value, text: &str) -> Result<(), String> {
    let limits = ["minLength", "maxLength"];
    let length = text.chars().count() as f64;
    within(property, limits, length, ["has", " characters"])?;
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

fn items_fit(property: &Value, items: &[Value]) -> Result<(), String> {
    let count = items.len() as f64;
    within(
        property,
        ["minItems", "maxItems"],
        count,
        ["has", " entries"],
    )?;
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
    text.len() == "2025-12-31".len() && Utc::parse(text).is_some()
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
mod tests;
