//! Slash commands, such as `/compact`: the builtin ones, and those that the setting `slash_commands` assigns to
//! recipes.

use super::{Error, Recipe, library};
use crate::store::settings;
use crate::store::{self, Config};
use serde::Serialize;
#[cfg(feature = "recipes")]
use serde_json::{Value, json};
#[cfg(feature = "recipes")]
use std::path::Path;
use std::path::PathBuf;

/// The longest command that can be assigned, in characters.
#[cfg(feature = "recipes")]
const MAX_COMMAND: usize = 64;

/// The builtin commands and their help texts.
const BUILTIN: [(&str, &str); 4] = [
    (
        "prompts",
        "List the prompts that extensions offer; name an extension to see only its own",
    ),
    (
        "prompt",
        "Use a prompt of an extension: NAME and KEY=VALUE for its arguments",
    ),
    (
        "compact",
        "Replace the conversation so far by a summary, to make room",
    ),
    ("clear", "Forget the conversation so far"),
];

/// A command, in the JSON shape of Goose's API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Command {
    /// Its name, without the slash.
    pub command: String,
    /// Its help text.
    pub help: String,
    /// What runs it.
    pub command_type: CommandType,
}

/// What runs a [`Command`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum CommandType {
    /// gosling.
    Builtin,
    /// A recipe.
    Recipe,
}

/// Every command: the builtin ones, then those of recipes.
///
/// # Errors
/// When the configuration cannot be read.
pub fn list(config: &Config) -> store::Result<Vec<Command>> {
    let builtin = BUILTIN.iter().map(|(command, help)| Command {
        command: (*command).to_owned(),
        help: (*help).to_owned(),
        command_type: CommandType::Builtin,
    });
    let configured = configured(config)?;
    let recipes = configured.into_iter().map(|(command, path)| Command {
        help: match library::read(&path) {
            Ok(recipe) => recipe.fields().title.clone(),
            Err(_) => path.display().to_string(),
        },
        command,
        command_type: CommandType::Recipe,
    });
    Ok(builtin.chain(recipes).collect())
}

/// The recipe of `command`, given with or without its slash; `None` if the command has none.
///
/// # Errors
/// [`Error::File`] when its file, or the configuration, cannot be read.
pub fn find(config: &Config, command: &str) -> Result<Option<Recipe>, Error> {
    let wanted = normalized(command);
    let configured = configured(config).map_err(|error| Error::File {
        path: config.path().to_owned(),
        reason: error.to_string(),
    })?;
    match configured.into_iter().find(|(name, _)| *name == wanted) {
        Some((_, path)) => library::load(&path).map(Some),
        None => Ok(None),
    }
}

/// Assigns `command`, given with or without its slash, to the recipe in the file `path`, in place of its other
/// commands; removes its commands if `command` is absent or empty.
///
/// # Errors
/// [`Error::Command`], [`Error::CommandTaken`], [`Error::Store`]. The configuration is unchanged then.
#[cfg(feature = "recipes")]
pub fn assign(config: &Config, path: &Path, command: Option<&str>) -> Result<(), Error> {
    let command = command.map(normalized).unwrap_or_default();
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if command.chars().count() > MAX_COMMAND || !command.chars().all(fits) {
        return Err(Error::Command { command });
    }
    if BUILTIN.iter().any(|(builtin, _)| *builtin == command) {
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

/// The command and the file of each recipe that has a command.
///
/// # Errors
/// When the configuration cannot be read.
#[cfg(feature = "recipes")]
pub fn of_recipes(config: &Config) -> store::Result<Vec<(String, PathBuf)>> {
    configured(config)
}

/// The commands of recipes. A builtin command cannot be assigned to a recipe.
fn configured(config: &Config) -> store::Result<Vec<(String, PathBuf)>> {
    let commands = settings::SLASH_COMMANDS.pairs(config)?.into_iter();
    let commands = commands.map(|(command, path)| (normalized(&command), path.into()));
    let is_free = |(command, _): &(String, PathBuf)| {
        !command.is_empty() && BUILTIN.iter().all(|(builtin, _)| builtin != command)
    };
    Ok(commands.filter(is_free).collect())
}

fn normalized(command: &str) -> String {
    command.trim().trim_start_matches('/').to_lowercase()
}

#[cfg(all(test, feature = "recipes"))]
mod tests {
    use super::*;
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

        let listed = list(&config).unwrap();
        let names: Vec<_> = listed.iter().map(|it| it.command.as_str()).collect();
        assert_eq!(
            names,
            ["prompts", "prompt", "compact", "clear", "standup", "gone"]
        );
        assert_eq!(listed[4].help, "Standup notes");
        assert_eq!(listed[4].command_type, CommandType::Recipe);

        let found = find(&config, "/STANDUP").unwrap().unwrap();
        assert_eq!(found.fields().title, "Standup notes");
        assert_eq!(find(&config, "clear"), Ok(None));
        assert_eq!(find(&config, "unknown"), Ok(None));
        assert!(matches!(find(&config, "gone"), Err(Error::File { .. })));
        fs::remove_dir_all(&folder).unwrap();
    }
}
