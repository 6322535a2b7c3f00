//! Errors of recipes, worded for the person who wrote or opened the recipe.

use super::library::{MAX_FILE, MAX_TEXT};
use crate::agent::{self, RecipeFault};
use crate::{http, store};
use std::fmt;
use std::path::PathBuf;

/// Why a recipe cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The recipe has neither `instructions` nor `prompt`.
    Empty,
    /// The link does not contain a recipe.
    Link,
    /// A field is missing or has another type: which, and how.
    Shape(String),
    /// Two parameters have this same key.
    Duplicate(String),
    /// The parameter with this key is of type `select` and has no options.
    NoOptions(String),
    /// The optional parameters with these keys have no default.
    NoDefault(Vec<String>),
    /// The file parameters with these keys have a default, so the recipe could read files that the user has not named.
    FileDefault(Vec<String>),
    /// Templates and parameters do not match.
    Mismatch {
        /// Variables without a parameter.
        undefined: Vec<String>,
        /// Parameters that no template uses.
        unused: Vec<String>,
    },
    /// The configuration of an extension is invalid, for this reason.
    Extension(String),
    /// The JSON schema of the response is not an object.
    Schema,
    /// A template is invalid or exceeds its limits, for this reason.
    Template(String),
    /// The parameters with these keys have no value.
    Missing(Vec<String>),
    /// A value does not fit its parameter.
    Value {
        /// The parameter's key.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// A file does not contain a recipe.
    File {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The recipe, or the rendered recipe, has too much text.
    TooLarge,
    /// A text from a client is longer than [`MAX_TEXT`].
    LongText,
    /// The recipe has characters that hide text from a person.
    HiddenText,
    /// The recipe cannot be written as YAML, for this reason.
    Yaml(String),
    /// No recipe file has this id.
    Unknown(String),
    /// The slash command is that of another recipe, or a builtin one.
    CommandTaken {
        /// The command.
        command: String,
        /// What has it.
        by: String,
    },
    /// This slash command has characters that a message cannot have there.
    Command(String),
    /// A file or folder cannot be read or written, for this reason.
    Store(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Empty => {
                f.write_str("Recipe must specify at least one of `instructions` or `prompt`.")
            }
            Error::HiddenText => f.write_str(
                "the recipe has characters that hide text from the person who reads it; remove them before \
                 you save it",
            ),
            Error::Link => f.write_str("Failed to decode recipe deeplink"),
            Error::Shape(reason) => write!(f, "the recipe is not valid: {reason}"),
            Error::Duplicate(key) => write!(
                f,
                "two parameters of the recipe have the key `{key}`; rename one"
            ),
            Error::NoOptions(key) => write!(
                f,
                "the parameter `{key}` is of type select; give it `options` to select from"
            ),
            Error::NoDefault(keys) => write!(
                f,
                "optional parameters need a `default`, which is missing for {}",
                quoted(keys)
            ),
            Error::FileDefault(keys) => write!(
                f,
                "file parameters must not have a `default`, lest a recipe read files unasked: \
                 remove it from {}",
                quoted(keys)
            ),
            Error::Mismatch { undefined, unused } => {
                if !undefined.is_empty() {
                    write!(
                        f,
                        "the recipe uses {} but has no such parameter; add it under `parameters`",
                        quoted(undefined)
                    )?;
                }
                if !undefined.is_empty() && !unused.is_empty() {
                    f.write_str("; ")?;
                }
                if !unused.is_empty() {
                    write!(
                        f,
                        "the recipe has a parameter {} and uses it nowhere; remove it",
                        quoted(unused)
                    )?;
                }
                Ok(())
            }
            Error::Extension(reason) => write!(f, "an extension of the recipe: {reason}"),
            Error::Schema => f.write_str("`response.json_schema` of the recipe must be an object"),
            Error::Template(reason) => write!(f, "a template of the recipe: {reason}"),
            Error::Missing(keys) => {
                write!(
                    f,
                    "the recipe needs values for its parameters {}",
                    quoted(keys)
                )
            }
            Error::Value { key, reason } => write!(f, "the parameter `{key}`: {reason}"),
            Error::File { path, reason } => {
                write!(f, "{} is not a recipe: {reason}", path.display())
            }
            Error::TooLarge => write!(
                f,
                "the recipe is too large; {} KiB of text are the most",
                MAX_FILE >> 10
            ),
            Error::LongText => write!(
                f,
                "the text of the recipe is too long; {} KiB are the most",
                MAX_TEXT >> 10
            ),
            Error::Yaml(reason) => {
                write!(f, "the recipe cannot be written as YAML: {reason}")
            }
            Error::Unknown(id) => write!(f, "Recipe not found: {id}"),
            Error::CommandTaken { command, by } => write!(
                f,
                "the command /{command} is taken by {by}; choose another one"
            ),
            Error::Command(command) => write!(
                f,
                "{command:?} cannot be a command: up to 64 letters, digits, `-`, `_` and `.`"
            ),
            Error::Store(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// What is wrong with the field or the template, where the reader knows which it is.
    pub(crate) fn into_reason(self) -> String {
        match self {
            Error::Shape(reason) | Error::Template(reason) => reason,
            error => error.to_string(),
        }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Error::Store(error.to_string())
    }
}

impl From<Error> for agent::Error {
    fn from(error: Error) -> Self {
        let reason = error.to_string();
        let fault = match error {
            Error::Unknown(_) => RecipeFault::Unknown,
            Error::Store(_) => RecipeFault::Files,
            _ => RecipeFault::Invalid,
        };
        agent::Error::Recipe { fault, reason }
    }
}

impl From<Error> for http::Error {
    fn from(error: Error) -> Self {
        agent::Error::from(error).into()
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
