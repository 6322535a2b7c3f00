//! Rendering a recipe with values for its parameters.

use super::{Error, InputType, Parameter, Recipe, template};
use crate::conversation::Session;
use crate::sys::clock::Utc;
use crate::sys::fs::read_start;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// The largest file of a file parameter, and the limit of all values together, in bytes.
const MAX_VALUES: usize = 1 << 20;

/// The recipe of a session, rendered with the session's values; `None` if the session has no recipe, or values
/// are missing.
///
/// # Errors
/// As [`Recipe::render`], and when the stored recipe is invalid.
pub fn of_session(session: &Session) -> Result<Option<Recipe>, Error> {
    let Some(Value::Object(given)) = &session.recipe else {
        return Ok(None);
    };
    let recipe = Recipe::from_object(given.clone())?;
    let none = Map::new();
    let values = session.user_recipe_values.as_ref().unwrap_or(&none);
    let folder = session.extension_data.recipe_origin().folder;
    let folder = folder.as_deref().unwrap_or(&session.working_dir);
    match recipe.render_in(folder, values, &session.working_dir) {
        Ok(rendered) => Ok(Some(rendered)),
        Err(Error::Missing(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The session's recipe for clients: rendered, or unrendered if values are missing.
///
/// # Errors
/// As [`of_session`].
pub fn apply(session: &Session) -> Result<Option<Value>, Error> {
    match of_session(session)? {
        Some(rendered) => Ok(Some(rendered.into_value())),
        None => Ok(session.recipe.clone()),
    }
}

/// The settings of the session's recipe. They are rendered only if they contain a template, since that takes
/// the whole recipe.
pub fn settings_of(session: &Session) -> Value {
    let settings = |recipe: &Value| recipe["settings"].clone();
    let given = session.recipe.as_ref().map(settings).unwrap_or_default();
    let texts = given.as_object().into_iter().flatten();
    let is_template = |value: &Value| value.as_str().is_some_and(|text| text.contains('{'));
    if !texts.into_iter().any(|(_, value)| is_template(value)) {
        return given;
    }
    let rendered = apply(session).ok().flatten();
    rendered.as_ref().map_or(given, settings)
}

impl Recipe {
    /// Renders the recipe with `values`. Missing values take their defaults; values without a parameter are
    /// ignored. Relative paths of file parameters start at `base`, which is also the value of `recipe_dir`.
    ///
    /// # Errors
    /// [`Error::Missing`] with every parameter that has no value, [`Error::Value`] for one that does
    /// not fit, [`Error::Template`] and [`Error::TooLarge`] when a template is invalid or exceeds its limits.
    pub fn render(&self, values: &Map<String, Value>, base: &Path) -> Result<Recipe, Error> {
        self.render_in(base, values, base)
    }

    /// As [`render`](Self::render), where `recipe_dir` is `folder`, that of the recipe's file.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn render_in(
        &self,
        folder: &Path,
        values: &Map<String, Value>,
        base: &Path,
    ) -> Result<Recipe, Error> {
        let mut texts = texts(&self.fields.parameters, values, base)?;
        let recipe_dir = folder.to_string_lossy().into_owned();
        texts.insert(template::RECIPE_DIR.to_owned(), recipe_dir);
        let given = template::fill_in(&self.given, &texts)?;
        Recipe::from_object(given)
    }
}

/// The value of each parameter as text, as in Goose, so that a template that compares with `"true"` or `"3"`
/// works the same.
fn texts(
    parameters: &[Parameter],
    values: &Map<String, Value>,
    base: &Path,
) -> Result<BTreeMap<String, String>, Error> {
    let mut texts = BTreeMap::new();
    let mut missing = Vec::new();
    let mut size = 0;
    for parameter in parameters {
        let given = values.get(&parameter.key).filter(|it| !it.is_null());
        let text = match (given, &parameter.default) {
            (Some(value), _) => scalar(value).ok_or_else(|| wrong(parameter, "it is not text"))?,
            // A recipe must not read a file that the user has not named.
            (None, Some(default)) if parameter.input_type != InputType::File => default.clone(),
            (None, _) => {
                missing.push(parameter.key.clone());
                continue;
            }
        };
        let text = coerce(parameter, text, base)?;
        size += text.len();
        if size > MAX_VALUES {
            return Err(wrong(
                parameter,
                "the values are larger than 1 MiB together",
            ));
        }
        texts.insert(parameter.key.clone(), text);
    }
    if missing.is_empty() {
        Ok(texts)
    } else {
        Err(Error::Missing(missing))
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

pub(super) fn coerce(parameter: &Parameter, text: String, base: &Path) -> Result<String, Error> {
    let trimmed = text.trim();
    let refused = |reason: String| Err(wrong(parameter, &reason));
    match parameter.input_type {
        InputType::String => Ok(text),
        InputType::Number => match trimmed.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(trimmed.to_owned()),
            _ => refused(format!("{text:?} is not a number")),
        },
        InputType::Boolean => match trimmed.to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Ok("true".to_owned()),
            "false" | "no" | "0" => Ok("false".to_owned()),
            _ => refused(format!("{text:?} is neither true nor false")),
        },
        InputType::Date if is_date(trimmed) => Ok(trimmed.to_owned()),
        InputType::Date => refused(format!("{text:?} is not a day; write it as in 2026-11-22")),
        InputType::Select => {
            let options = parameter.options.as_deref().unwrap_or_default();
            if options.contains(&text) {
                Ok(text)
            } else {
                refused(format!("{text:?} is not one of {}", options.join(", ")))
            }
        }
        InputType::File => read(Path::new(trimmed), base).map_err(|e| wrong(parameter, &e)),
    }
}

fn wrong(parameter: &Parameter, reason: &str) -> Error {
    Error::Value {
        key: parameter.key.clone(),
        reason: reason.to_owned(),
    }
}

/// A day of the Gregorian calendar, as `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    text.len() == "2026-11-22".len() && Utc::parse(text).is_some()
}

fn read(path: &Path, base: &Path) -> Result<String, String> {
    let path = match path.strip_prefix("~") {
        Ok(rest) => std::env::home_dir()
            .map(|home| home.join(rest))
            .ok_or_else(|| "there is no home folder".to_owned())?,
        Err(_) => base.join(path),
    };
    read_text(&path)
}

fn read_text(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let content = read_start(path, MAX_VALUES as u64 + 1).map_err(failed)?;
    if content.len() > MAX_VALUES {
        return Err(format!("{} is larger than 1 MiB", path.display()));
    }
    String::from_utf8(content).map_err(|_| format!("{} is not text in UTF-8", path.display()))
}

#[cfg(test)]
mod tests;
