//! The slash commands that the setting `slash_commands` assigns to recipes.

use super::{Error, Recipe, library};
use crate::agent::command_list::{is_builtin, normalized};
use crate::store::{Config, settings};
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
    let texts = [rendered.instructions, rendered.prompt];
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
        return Err(Error::Command { command });
    }
    if is_builtin(&command) {
        let by = "gosling".to_owned();
        return Err(Error::CommandTaken { command, by });
    }
    let mut taken = None;
    config.edit_setting(settings::SLASH_COMMANDS.name, |value| {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::command_list::{CommandType, list, recipe_of};
    use gosling_core::part;
    use std::fs;

    #[test]
    fn recipes_have_the_commands_that_the_setting_gives_them() {
        let folder = std::env::temp_dir().join(format!("gosling-slash-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let recipe = folder.join("standup.yaml");
        fs::write(
            &recipe,
            "title: Standup notes\ndescription: D\nprompt: go\n",
        )
        .unwrap();
        let path = recipe.display();
        let setting = format!(
            "slash_commands:\n- {{command: /Standup, recipe_path: {path}}}\n\
             - {{command: gone, recipe_path: /nowhere.yaml}}\n\
             - {{command: clear, recipe_path: {path}}}\n- nonsense\n- {{command: half}}\n"
        );
        fs::write(folder.join("config.yaml"), setting).unwrap();
        let config = Config::with_env(folder.join("config.yaml"), Box::new(|_| None));

        part::set(&[&crate::PART]);
        let listed = list(&config).unwrap();
        let names: Vec<_> = listed.iter().map(|it| it.command.as_str()).collect();
        assert_eq!(
            names,
            ["prompts", "prompt", "compact", "clear", "standup", "gone"]
        );
        assert_eq!(listed[4].help, "Standup notes");
        assert_eq!(listed[4].command_type, CommandType::Recipe);

        let found = |command: &str| recipe_of(&config, command).unwrap();
        assert_eq!(found("/STANDUP").as_ref(), Some(&recipe));
        assert_eq!(found("clear"), None);
        assert_eq!(found("unknown"), None);
        let gone = message(&found("gone").unwrap(), Vec::new(), &folder);
        assert!(matches!(gone, Err(Error::File { .. })));
        assert_eq!(message(&recipe, Vec::new(), &folder).as_deref(), Ok("go"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
