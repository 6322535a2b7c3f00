//! Turns the flat JSON Schema of an elicitation into questions, one for each field. No I/O.

use crate::escaped_text::escape_invisible;
use serde_json::{Map, Number, Value};

/// One field of a form.
#[derive(Debug)]
pub(super) struct Field {
    name: String,
    schema: Value,
    required: bool,
}

/// The fields of the schema, in its order.
pub(super) fn fields(schema: &str) -> Vec<Field> {
    let schema: Value = crate::json::from_str(schema).unwrap_or_default();
    let required = |name: &str| {
        let names = schema["required"].as_array();
        names.is_some_and(|names| names.iter().any(|n| n == name))
    };
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let field = |(name, schema): (&String, &Value)| Field {
        name: name.clone(),
        schema: schema.clone(),
        required: required(name),
    };
    properties.iter().map(field).collect()
}

impl Field {
    /// The question for the user, on one line.
    pub(super) fn question(&self) -> String {
        let text = |key: &str| self.schema[key].as_str().map(escape_invisible);
        let mut question = text("title").unwrap_or_else(|| escape_invisible(&self.name));
        let choices = match &self.schema["items"] {
            Value::Object(_) => choices(&self.schema["items"]),
            _ => choices(&self.schema),
        };
        let mut notes: Vec<String> = text("description").into_iter().collect();
        if !choices.is_empty() {
            let shown: Vec<_> = choices.iter().map(|(_, shown)| shown.as_str()).collect();
            notes.push(escape_invisible(&shown.join(" | ")));
        } else if self.kind() == "boolean" {
            notes.push("y or n".to_owned());
        }
        if self.kind() == "array" {
            notes.push("commas between".to_owned());
        }
        if !self.required && self.default().is_none() {
            notes.push("may be left empty".to_owned());
        }
        if !notes.is_empty() {
            question += &format!(" ({})", notes.join("; "));
        }
        if let Some(default) = self.default() {
            let shown = default.as_str().map_or(default.to_string(), str::to_owned);
            question += &format!(" [{}]", escape_invisible(&shown));
        }
        question + ": "
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The value of an answer; `None` for an empty optional field.
    ///
    /// # Errors
    /// What is wrong with the answer.
    pub(super) fn read(&self, answer: &str) -> Result<Option<Value>, String> {
        let answer = answer.trim();
        if answer.is_empty() {
            return match (self.default(), self.required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, false) => Ok(None),
                (None, true) if self.kind() == "string" && self.may_be_empty() => {
                    Ok(Some("".into()))
                }
                (None, true) => Err("this is needed".to_owned()),
            };
        }
        let value = match self.kind() {
            "array" => {
                let items = answer.split(',').map(str::trim);
                let items = items.filter(|item| !item.is_empty());
                let items = items.map(|item| scalar(&self.schema["items"], item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            _ => scalar(&self.schema, answer)?,
        };
        Ok(Some(value))
    }

    fn kind(&self) -> &str {
        self.schema["type"].as_str().unwrap_or("string")
    }

    fn default(&self) -> Option<&Value> {
        self.schema.get("default").filter(|value| !value.is_null())
    }

    fn may_be_empty(&self) -> bool {
        choices(&self.schema).is_empty()
            && self.schema["format"].is_null()
            && self.schema["minLength"].as_u64().unwrap_or(0) == 0
    }
}

/// The allowed values, each with its label.
fn choices(schema: &Value) -> Vec<(String, String)> {
    if let Some(values) = schema["enum"].as_array() {
        let names = schema["enumNames"].as_array();
        let choice = |(n, value): (usize, &Value)| {
            let value = value.as_str()?.to_owned();
            let name = names.and_then(|names| names.get(n)?.as_str());
            Some((value.clone(), name.map_or(value, str::to_owned)))
        };
        return values.iter().enumerate().filter_map(choice).collect();
    }
    let listed = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    let choice = |choice: &Value| {
        let value = choice["const"].as_str()?.to_owned();
        let shown = choice["title"]
            .as_str()
            .map_or(value.clone(), str::to_owned);
        Some((value, shown))
    };
    listed.into_iter().flatten().filter_map(choice).collect()
}

fn scalar(schema: &Value, answer: &str) -> Result<Value, String> {
    let choices = choices(schema);
    if !choices.is_empty() {
        let same = |text: &str| text.eq_ignore_ascii_case(answer);
        let chosen = choices
            .into_iter()
            .find(|(v, shown)| same(v) || same(shown));
        return chosen
            .map(|(value, _)| value.into())
            .ok_or_else(|| "choose one of these".to_owned());
    }
    match schema["type"].as_str() {
        Some("boolean") => match answer.to_ascii_lowercase().as_str() {
            "y" | "yes" | "true" | "1" => Ok(true.into()),
            "n" | "no" | "false" | "0" => Ok(false.into()),
            _ => Err("say y or n".to_owned()),
        },
        Some("integer") => {
            let number: i64 = answer.parse().map_err(|_| "this is not a whole number")?;
            within(schema, number as f64)?;
            Ok(number.into())
        }
        Some("number") => {
            let number = answer.parse().ok().and_then(Number::from_f64);
            let number = number.ok_or("this is not a number")?;
            within(schema, number.as_f64().unwrap_or(f64::NAN))?;
            Ok(Value::Number(number))
        }
        _ => {
            let length = answer.chars().count() as u64;
            let bound = |key: &str| schema[key].as_u64();
            if bound("minLength").is_some_and(|least| length < least) {
                return Err("this is too short".to_owned());
            }
            if bound("maxLength").is_some_and(|most| length > most) {
                return Err("this is too long".to_owned());
            }
            Ok(answer.into())
        }
    }
}

fn within(schema: &Value, number: f64) -> Result<(), String> {
    match (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
        (Some(least), _) if number < least => Err(format!("this is less than {least}")),
        (_, Some(most)) if number > most => Err(format!("this is more than {most}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
