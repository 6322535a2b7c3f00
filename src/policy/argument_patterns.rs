//! Patterns of the arguments of tools, which come from models and clients and may be made to confuse. What cannot be
//! compared for sure is an error, which denies the call.

use crate::json;
use crate::patterns::Patterns;
use crate::text::is_invisible;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// Longer arguments are not compared, in bytes.
const MAX_SIZE: usize = 16 << 20;
/// Arguments with more brackets in each other are not compared.
const MAX_DEPTH: usize = 100;

/// How many of the values at the place of a pattern it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// None, or there are none.
    None,
    /// Some and not all: a list has others beside them.
    Some,
    /// All.
    All,
}

/// The patterns of a rule, each with the names of the members that lead to its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentPatterns(Vec<(Vec<String>, Patterns)>);

/// Reads the arguments of a call.
///
/// # Errors
/// Why they cannot be compared.
pub(crate) fn read(arguments: &[u8]) -> Result<Value, &'static str> {
    if arguments.len() > MAX_SIZE {
        return Err("they are larger than 16 MiB");
    }
    let text = std::str::from_utf8(arguments).map_err(|_| "they are not Unicode")?;
    let text = if text.is_empty() { "{}" } else { text };
    if json::is_deeper_than(MAX_DEPTH, text.as_bytes()) {
        return Err("they are nested too deep");
    }
    match json::from_str(text) {
        Ok(value @ Value::Object(_)) if json::repeats_a_name(text, &value) => {
            Err("they have two members of one name")
        }
        Ok(value @ Value::Object(_)) => Ok(value),
        _ => Err("they are not a JSON object"),
    }
}

impl ArgumentPatterns {
    /// How all patterns together fit the arguments.
    ///
    /// # Errors
    /// Why they cannot be compared.
    pub(crate) fn fit(&self, arguments: &Value) -> Result<Fit, String> {
        let mut all = Fit::All;
        for (path, patterns) in &self.0 {
            let mut values = Vec::new();
            find(arguments, path, &mut values);
            let mut fitting = 0;
            for value in &values {
                let is_fitting = value.map_or(Ok(false), |value| is_fitting(patterns, value));
                let name = || format!("`{}` ", path.join("."));
                fitting += usize::from(is_fitting.map_err(|why| name() + why)?);
            }
            match fitting {
                0 => return Ok(Fit::None),
                count if count < values.len() => all = Fit::Some,
                _ => {}
            }
        }
        Ok(all)
    }
}

/// The values at a path. A list stands for each of its items; `None` stands for an item that lacks the value.
fn find<'v>(value: &'v Value, path: &[String], found: &mut Vec<Option<&'v Value>>) {
    match (value, path) {
        (Value::Array(items), _) => items.iter().for_each(|item| find(item, path, found)),
        (value, []) => found.push(Some(value)),
        (Value::Object(members), [name, path @ ..]) => match members.get(name) {
            Some(value) => find(value, path, found),
            None => found.push(None),
        },
        _ => found.push(None),
    }
}

fn is_fitting(patterns: &Patterns, value: &Value) -> Result<bool, &'static str> {
    let number;
    let text = match value {
        Value::String(text) => text,
        Value::Object(_) | Value::Array(_) => return Err("is an object"),
        other => {
            number = other.to_string();
            &number
        }
    };
    if patterns.iter().any(|pattern| pattern == "*") {
        return Ok(true);
    }
    if text.contains(|c| is_invisible(c) && !matches!(c, '\n' | '\t' | '\r')) {
        return Err("has characters that cannot be seen");
    }
    let is_path = |pattern: &str| pattern.contains(['/', '\\']);
    if patterns.iter().any(is_path) && text.split(['/', '\\']).any(|part| part == "..") {
        return Err("is a path with `..`");
    }
    Ok(patterns.fit(text))
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = ArgumentPatterns;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("names of arguments with a pattern each")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<ArgumentPatterns, A::Error> {
        let mut all = Vec::new();
        while let Some((name, patterns)) = entries.next_entry::<String, Patterns>()? {
            let path: Vec<String> = name.split('.').map(str::to_owned).collect();
            if path.iter().any(String::is_empty) || name.contains(is_invisible) {
                return Err(A::Error::custom(format!("{name:?} is not a name")));
            }
            all.push((path, patterns));
        }
        if all.is_empty() {
            Err(A::Error::custom("no argument is named"))
        } else {
            Ok(ArgumentPatterns(all))
        }
    }
}

impl<'de> Deserialize<'de> for ArgumentPatterns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests;
