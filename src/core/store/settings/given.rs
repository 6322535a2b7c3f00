//! The values of settings as they stand in a file or in the environment, and their reading by type.

use super::MAX_SHOWN;
use crate::store::shared_yaml_file::{MAX_SIZE, YamlFile};
use crate::store::{Env, Result, env_override, files, parse_env_value, yaml_text};
use crate::text::printable;
use serde_json::{Number, Value};
use std::path::{Component, Path};

/// How many names of files one setting may hold.
const MAX_NAMES: usize = 16;

/// The value of a setting, and its place.
#[derive(Clone, Debug)]
pub struct Given<'a> {
    /// The file; `None` for the environment, whose values are text.
    pub(super) file: Option<&'a Path>,
    pub(super) value: Value,
}

impl<'a> Given<'a> {
    /// The value of a variable.
    pub fn of_variable(text: &str) -> Self {
        Given {
            file: None,
            value: text.into(),
        }
    }

    /// The value of the variable that overrides `key`, else of the file; `None` if there is none.
    pub(in crate::store) fn read(env: &Env, file: &'a YamlFile, key: &str) -> Result<Option<Self>> {
        if let Some(text) = env_override(env, key) {
            return Ok(Some(Self::of_variable(&text)));
        }
        let value = file.load()?.get(key).map(yaml_text::to_json);
        let value = value.filter(|value| !value.is_null());
        let file = Some(file.path());
        Ok(value.map(|value| Given { file, value }))
    }

    /// Whether it stands in a file.
    pub fn is_in_file(&self) -> bool {
        self.file.is_some()
    }

    /// Whether it is text without words, which counts as not set.
    pub fn is_blank(&self) -> bool {
        (self.value.as_str()).is_some_and(|text| text.trim().is_empty())
    }

    /// ` in the environment`, or ` in FILE, line 3,`.
    pub(super) fn place(&self, name: &str) -> String {
        match self.file {
            None => " in the environment".to_owned(),
            Some(path) => match line_of(path, name) {
                Some(line) => format!(" in {}, line {line},", path.display()),
                None => format!(" in {}", path.display()),
            },
        }
    }

    /// The value as text, if it is one. In a file, a whole number has the text of its digits; that of another
    /// number is lost, as 4.10 is 4.1.
    pub(super) fn text(&self) -> Option<String> {
        let text = match (&self.value, &self.file) {
            (Value::String(text), None) => match parse_env_value(text) {
                Value::String(text) => text,
                Value::Null => String::new(),
                Value::Number(_) | Value::Bool(_) => text.clone(),
                Value::Array(_) | Value::Object(_) => return None,
            },
            (Value::String(text), Some(_)) => text.clone(),
            (Value::Number(number), _) if !number.is_f64() => number.to_string(),
            _ => return None,
        };
        Some(text.trim().to_owned())
    }

    /// As [`text`](Self::text); a mapping, such as a key file, is its JSON.
    pub(super) fn secret(&self) -> Option<String> {
        match self.structure() {
            value @ Value::Object(_) => Some(value.to_string()),
            _ => self.text(),
        }
    }

    /// The value, where a variable may hold JSON.
    pub(super) fn structure(&self) -> Value {
        match (&self.value, &self.file) {
            (Value::String(text), None) => match crate::json::from_str(text) {
                Ok(value @ (Value::Array(_) | Value::Object(_))) => value,
                _ => self.value.clone(),
            },
            (value, _) => value.clone(),
        }
    }
}

/// What could be read, and what is wrong with the rest.
pub type Read<T> = (Option<T>, Option<String>);
/// A mapping of text.
pub type Pairs = Vec<(String, String)>;

/// The line of the file that begins with the name and a colon.
fn line_of(path: &Path, name: &str) -> Option<usize> {
    let (content, _) = files::read_file(path, MAX_SIZE).ok()??;
    let text = String::from_utf8(content).ok()?;
    let begins = |line: &str| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    text.lines().position(begins).map(|at| at + 1)
}

pub(super) fn whole_number(value: &Value) -> Option<u64> {
    if let Value::String(text) = value
        && let Ok(count) = text.trim().parse()
    {
        return Some(count);
    }
    // Beyond 2^53 a float is not a whole number that the user has written.
    const MAX: f64 = (1_u64 << 53) as f64;
    let whole = |number: f64| number.fract() == 0.0 && (0.0..=MAX).contains(&number);
    value.as_u64().or_else(|| {
        number(value)
            .filter(|&number| whole(number))
            .map(|it| it as u64)
    })
}

pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

pub(super) fn switch(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(on) => Some(*on),
        Value::Number(number) if *number == Number::from(0) => Some(false),
        Value::Number(number) if *number == Number::from(1) => Some(true),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(true),
            "0" | "false" | "no" | "off" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn word(value: &Value, words: &'static [&'static str]) -> Option<&'static str> {
    let text = match value {
        Value::String(text) => text.trim(),
        // Some readers of YAML take the plain word `off` for a boolean.
        Value::Bool(false) => "off",
        _ => return None,
    };
    let mut words = words.iter().copied();
    words.find(|word| word.eq_ignore_ascii_case(text))
}

pub(super) fn file_names(value: &Value) -> Read<Vec<String>> {
    let in_text: Vec<Value>;
    let items = match value {
        Value::Array(items) => items.as_slice(),
        Value::String(text) if text.contains(',') => {
            let names = text.split(',').map(str::trim);
            in_text = names
                .filter(|name| !name.is_empty())
                .map(Value::from)
                .collect();
            in_text.as_slice()
        }
        one => std::slice::from_ref(one),
    };
    let is_name = |item: &&Value| {
        let mut parts = Path::new(item.as_str().unwrap_or_default()).components();
        matches!(
            (parts.next(), parts.next()),
            (Some(Component::Normal(_)), None)
        )
    };
    let (names, others): (Vec<&Value>, Vec<&Value>) = items.iter().partition(is_name);
    let wrong = others.first().map(|other| match value {
        Value::Array(_) => format!("has the item {}", printable(&other.to_string(), MAX_SHOWN)),
        _ => format!("is {}", printable(&other.to_string(), MAX_SHOWN)),
    });
    if names.is_empty() && wrong.is_some() {
        return (None, wrong);
    }
    let is_long = names.len() > MAX_NAMES;
    let wrong = wrong.or(is_long.then(|| format!("has more than {MAX_NAMES} names")));
    let names = names.into_iter().filter_map(Value::as_str).take(MAX_NAMES);
    (Some(names.map(str::to_owned).collect()), wrong)
}

pub(super) fn commands(value: &Value) -> Read<Pairs> {
    let Value::Array(items) = value else {
        return (None, Some("is not a list".to_owned()));
    };
    let (mut pairs, mut wrong) = (Vec::new(), None);
    for (index, item) in items.iter().enumerate() {
        let text = |field: &str| item.get(field).and_then(Value::as_str).map(str::to_owned);
        match (text("command"), text("recipe_path")) {
            (Some(command), Some(path)) => pairs.push((command, path)),
            _ => {
                wrong.get_or_insert(format!("has an item {} without these texts", index + 1));
            }
        }
    }
    (Some(pairs), wrong)
}
