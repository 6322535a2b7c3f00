//! What a recipe says, in types. `Recipe` of Goose's OpenAPI document.

use crate::sys::TimeLimit;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::fmt;

/// The fields of a recipe that gosling knows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct RecipeFields {
    /// What it is called.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// What the model is told to be and do, for the whole session.
    #[serde(default)]
    pub instructions: Option<String>,
    /// The first message, as if the person had written it.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The extensions to use, as configurations; `None` leaves that open.
    #[serde(default)]
    pub extensions: Option<Vec<Value>>,
    /// The provider and model to use.
    #[serde(default)]
    pub settings: Option<Settings>,
    /// What a client offers to click on.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub activities: Vec<String>,
    /// Who wrote it.
    #[serde(default)]
    pub author: Option<Author>,
    /// What has to be filled in.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub parameters: Vec<Parameter>,
    /// The form of the final answer.
    #[serde(default)]
    pub response: Option<ResponseForm>,
    /// Recipes that this one may run.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub sub_recipes: Vec<SubRecipe>,
    /// What to do when it did not succeed.
    #[serde(default)]
    pub retry: Option<Retry>,
}

/// Something to fill in.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Parameter {
    /// Its name in the templates.
    pub key: String,
    /// What may be filled in.
    pub input_type: InputType,
    /// Whether it must be filled in.
    pub requirement: Requirement,
    /// For people.
    pub description: String,
    /// What it is when nothing was filled in.
    #[serde(default, deserialize_with = "scalar")]
    pub default: Option<String>,
    /// The choices of a [`InputType::Select`].
    #[serde(default)]
    pub options: Option<Vec<String>>,
}

/// What may be filled in for a [`Parameter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputType {
    /// Any text.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A day, as in 2026-11-22.
    Date,
    /// The path of a file, whose content is what the template sees.
    File,
    /// One of the options.
    Select,
}

/// Whether a [`Parameter`] must be filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// It must.
    Required,
    /// It has a default.
    Optional,
    /// It must, and the client asks for it.
    UserPrompt,
}

/// The provider and model to use.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Settings {
    /// The provider's name.
    #[serde(default)]
    pub goose_provider: Option<String>,
    /// The model's name.
    #[serde(default)]
    pub goose_model: Option<String>,
    /// How freely the model answers.
    #[serde(default)]
    pub temperature: Option<f32>,
    /// How often the model may be asked in one turn.
    #[serde(default)]
    pub max_turns: Option<usize>,
}

/// Who wrote the recipe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Author {
    /// How to reach them.
    #[serde(default)]
    pub contact: Option<String>,
    /// Anything else.
    #[serde(default)]
    pub metadata: Option<String>,
}

/// The form of the final answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ResponseForm {
    /// A JSON schema that the answer must fit.
    #[serde(default)]
    pub json_schema: Option<Value>,
}

/// A recipe that another one may run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SubRecipe {
    /// Its name.
    pub name: String,
    /// Where its file is.
    pub path: String,
    /// What is filled in already.
    #[serde(default)]
    pub values: Option<Map<String, Value>>,
    /// Whether several runs of it come one after another.
    #[serde(default)]
    pub sequential_when_repeated: bool,
    /// For the model.
    #[serde(default)]
    pub description: Option<String>,
}

/// What to do when the recipe did not succeed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Retry {
    /// How often it is tried again.
    pub max_retries: u32,
    /// What has to be so for a success.
    pub checks: Vec<SuccessCheck>,
    /// A shell command that cleans up.
    #[serde(default)]
    pub on_failure: Option<String>,
    /// How long a check may take, in seconds.
    #[serde(default)]
    pub timeout_seconds: Option<TimeLimit>,
    /// How long the clean-up may take, in seconds.
    #[serde(default)]
    pub on_failure_timeout_seconds: Option<TimeLimit>,
}

/// What has to be so for a success.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Check")]
pub enum SuccessCheck {
    /// A shell command that exits with 0.
    Shell {
        /// The command.
        command: String,
    },
}

/// A [`SuccessCheck`] as it is written.
#[derive(Deserialize)]
struct Check {
    #[serde(rename = "type")]
    kind: CheckType,
    command: String,
}

#[derive(Deserialize)]
enum CheckType {
    #[serde(alias = "shell")]
    Shell,
}

impl From<Check> for SuccessCheck {
    fn from(check: Check) -> Self {
        let CheckType::Shell = check.kind;
        SuccessCheck::Shell {
            command: check.command,
        }
    }
}

impl fmt::Display for InputType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InputType::String => "string",
            InputType::Number => "number",
            InputType::Boolean => "boolean",
            InputType::Date => "date",
            InputType::File => "file",
            InputType::Select => "select",
        })
    }
}

fn null_is_empty<'de, T: Deserialize<'de>, D: Deserializer<'de>>(d: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::<Vec<T>>::deserialize(d)?.unwrap_or_default())
}

/// Text, or what people write without quotes in YAML and mean as text.
fn scalar<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(d)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        value @ (Value::Bool(_) | Value::Number(_)) => Ok(Some(value.to_string())),
        _ => Err(serde::de::Error::custom("`default` is not text")),
    }
}
