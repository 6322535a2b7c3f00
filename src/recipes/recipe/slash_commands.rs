//! The slash commands that the setting `slash_commands` assigns to recipes.

use super::{Error, Recipe, library};
use crate::agent::command_list::{is_builtin, normalized};
use crate::store::{self, Config, settings, yaml_from_json, yaml_to_json};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The longest command that can be assigned, in characters.
const MAX_COMMAND: usize = 64;

/// The message for the model in place of a slash command that uses the recipe in the file `path`. The `words` after
/// the command are values `KEY=VALUE`; those without a key are the value of the first parameter that has none.
///
/// # Errors
/// As [`library::load`] and [`Recipe::render`].
pub fn message(path: &Path, words: Vec<String>, working_dir: &Path) -> Result<String, Error> {
    let recipe: Recipe = library::load(path)?;
    let mut values = Map::new();
    let mut unnamed = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some((key, value)) => {
                values.insert(key.to_owned(), Value::from(value));
            }
            None => unnamed.push(word),
        }
    }
    if !unnamed.is_empty() {
        let parameters = &recipe.fields().parameters;
        let first = parameters.iter().find(|p| !values.contains_key(&p.key));
        if let Some(parameter) = first {
            values.insert(parameter.key.clone(), Value::from(unnamed.join(" ")));
        }
    }
    let rendered = recipe.render(&values, working_dir)?;
    let fields = rendered.fields();
    let texts = [&fields.instructions, &fields.prompt].map(Option::as_deref);
    Ok(texts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
}

/// Assigns `command`, given with or without its slash, to the recipe in the file `path`, in place of its other
/// commands; removes its commands if `command` is absent or empty.
///
/// # Errors
/// [`Error::Command`], [`Error::CommandTaken`], [`Error::Store`]. The configuration is unchanged then.
pub fn assign(config: &Config, path: &Path, command: Option<&str>) -> Result<(), Error> {
    let command = command.map(normalized).unwrap_or_default();
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if command.chars().count() > MAX_COMMAND || !command.chars().all(fits) {
        return Err(Error::Command(command));
    }
    if is_builtin(&command) {
        let by = "gosling".to_owned();
        return Err(Error::CommandTaken { command, by });
    }
    let mut taken = None;
    edit_setting(config, settings::SLASH_COMMANDS.name, |value| {
        let mut entries = match &value {
            Some(Value::Array(entries)) => entries.clone(),
            _ => Vec::new(),
        };
        entries.retain(|entry| entry["recipe_path"].as_str().map(Path::new) != Some(path));
        let other = entries.iter().find(|entry| {
            let name = entry["command"].as_str();
            !command.is_empty() && name.is_some_and(|name| normalized(name) == command)
        });
        taken = other.map(|entry| entry["recipe_path"].as_str().unwrap_or("?").to_owned());
        if taken.is_some() {
            return value;
        }
        if !command.is_empty() {
            entries.push(json!({"command": command, "recipe_path": path.to_string_lossy()}));
        }
        (!entries.is_empty()).then_some(Value::Array(entries))
    })?;
    match taken {
        Some(by) => Err(Error::CommandTaken { command, by }),
        None => Ok(()),
    }
}

/// Changes the setting `key` with `change`, which gets its value and returns the new one; `None` stands for
/// no setting.
///
/// # Errors
/// As [`Config::edit`].
fn edit_setting(
    config: &Config,
    key: &str,
    mut change: impl FnMut(Option<Value>) -> Option<Value>,
) -> store::Result<()> {
    config.edit(|root| {
        let value = change(root.get(key).map(yaml_to_json));
        match value {
            Some(value) => drop(root.insert(key.into(), yaml_from_json(&value))),
            None => drop(root.shift_remove(key)),
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
