//! The slash commands, such as `/compact`: the builtin ones, and those that the setting `slash_commands` assigns to
//! recipes.

use crate::agent::session::session_recipes;
use crate::store::{self, Config, settings};
use serde::Serialize;
use std::path::PathBuf;

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
#[non_exhaustive]
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
    let help =
        |file: &PathBuf| session_recipes::find().and_then(|recipes| recipes.command_help(file));
    let recipes = of_recipes(config)?
        .into_iter()
        .map(|(command, file)| Command {
            help: help(&file).unwrap_or_else(|| file.display().to_string()),
            command,
            command_type: CommandType::Recipe,
        });
    Ok(builtin.chain(recipes).collect())
}

/// The command and the file of each recipe that has a command. A builtin command cannot be assigned to a recipe.
///
/// # Errors
/// When the configuration cannot be read.
pub fn of_recipes(config: &Config) -> store::Result<Vec<(String, PathBuf)>> {
    let commands = settings::SLASH_COMMANDS.pairs(config)?.into_iter();
    let commands = commands.map(|(command, file)| (normalized(&command), file.into()));
    let is_free = |(command, _): &(String, PathBuf)| !command.is_empty() && !is_builtin(command);
    Ok(commands.filter(is_free).collect())
}

/// The file of the recipe of `command`, given with or without its slash; `None` if the command has none.
///
/// # Errors
/// When the configuration cannot be read.
pub fn recipe_of(config: &Config, command: &str) -> store::Result<Option<PathBuf>> {
    let wanted = normalized(command);
    let mut commands = of_recipes(config)?.into_iter();
    Ok(commands.find_map(|(name, file)| (name == wanted).then_some(file)))
}

/// Whether gosling runs the command `command`, given without its slash, itself.
pub fn is_builtin(command: &str) -> bool {
    BUILTIN.iter().any(|(builtin, _)| *builtin == command)
}

/// The command without its slash, in lower case.
pub fn normalized(command: &str) -> String {
    command.trim().trim_start_matches('/').to_lowercase()
}
