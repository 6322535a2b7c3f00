//! The prompts of gosling: those that the user has changed, else the defaults.

use crate::agent::prompt::prompt_kind::PromptKind;
use crate::agent::prompt::system_prompt::{self, Parts, SYSTEM};
use crate::agent::session::session_recipes;
use crate::features;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The prompts. A file of the user in the folder `prompts` of the configuration takes the place of one, in a program
/// with recipes, whose templates these are.
#[derive(Debug)]
pub struct Prompts {
    folder: PathBuf,
}

impl Prompts {
    /// The folder `prompts` in the configuration folder `config`. Does no I/O.
    pub fn new(config: &Path) -> Self {
        Prompts {
            folder: config.join("prompts"),
        }
    }

    /// The folder with the files of the user, which may not exist.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The system prompt of a session.
    pub fn system(&self, parts: &Parts<'_>) -> String {
        let own = self.own(&SYSTEM, &|| system_prompt::values(parts));
        system_prompt::system(own, parts)
    }

    /// The prompt with these values: that of the user, if it can be used.
    pub fn text(&self, kind: &PromptKind, values: &Value) -> String {
        let own = self.own(kind, &|| values.clone());
        own.unwrap_or_else(kind.default_text)
    }

    /// The user's prompt with these values; `None` if there is none, or if it cannot be used, which is logged.
    fn own(&self, kind: &PromptKind, values: &dyn Fn() -> Value) -> Option<String> {
        let path = self.folder.join(kind.file);
        let made = match session_recipes::find() {
            Some(recipes) => recipes.own_prompt(&path, kind, values),
            None if path.exists() => Err(format!(
                "prompts cannot be changed{}",
                features::hint("recipes")
            )),
            None => return None,
        };
        let path = path.display();
        made.unwrap_or_else(|error| {
            log::warn!("prompt not used, but the default path={path} reason={error}");
            None
        })
    }
}
