//! The fields of a recipe. `Recipe` of Goose's OpenAPI document.

use crate::store::settings::{Kind, MODE};
use crate::sys::TimeLimit;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;

/// The fields of a recipe that gosling knows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct RecipeFields {
    /// The title.
    pub title: String,
    /// The purpose.
    pub description: String,
    /// Instructions for the model, for the whole session.
    pub instructions: Option<String>,
    /// The first message, as if the user had written it.
    pub prompt: Option<String>,
    /// The configurations of the extensions to use; `None` for those of the configuration.
    pub extensions: Option<Vec<Value>>,
    /// The provider and model to use.
    pub settings: Option<Settings>,
    /// Suggestions that a client shows.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub activities: Vec<String>,
    /// The author.
    pub author: Option<Author>,
    /// The parameters.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub parameters: Vec<Parameter>,
    /// The form of the final answer.
    pub response: Option<ResponseForm>,
    /// Recipes that this one may run.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub sub_recipes: Vec<SubRecipe>,
    /// What to do when the recipe fails.
    pub retry: Option<Retry>,
}

impl RecipeFields {
    /// The JSON schema that the final answer must fit.
    pub fn output_schema(&self) -> Option<&Value> {
        self.response.as_ref()?.json_schema.as_ref()
    }
}

/// A parameter of a recipe.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Parameter {
    /// Its name in the templates.
    pub key: String,
    /// The type of its value.
    pub input_type: InputType,
    /// Whether it needs a value.
    pub requirement: Requirement,
    /// A description for the user.
    pub description: String,
    /// The value if none is given.
    #[serde(default, deserialize_with = "scalar")]
    pub default: Option<String>,
    /// The choices of a [`InputType::Select`].
    pub options: Option<Vec<String>>,
}

/// The type of the value of a [`Parameter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputType {
    /// Any text.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A date, such as 2026-11-22.
    Date,
    /// The path of a file. The template gets its content.
    File,
    /// One of the options.
    Select,
}

/// Whether a [`Parameter`] needs a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// It needs a value.
    Required,
    /// It has a default.
    Optional,
    /// It needs a value, for which the client asks the user.
    UserPrompt,
}

/// The provider and model to use.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Settings {
    /// The provider's name.
    pub goose_provider: Option<String>,
    /// The model's name.
    pub goose_model: Option<String>,
    /// When tools are called, if that is stricter than what the user has set: see [`MODE`].
    pub goose_mode: Option<String>,
    /// The sampling temperature.
    pub temperature: Option<f32>,
    /// How many requests to the model one turn may make.
    pub max_turns: Option<usize>,
}

impl Settings {
    /// What is wrong with them: the field, and the reason. A template is checked once it is rendered.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        let mode = self
            .goose_mode
            .as_deref()
            .filter(|mode| !mode.contains('{'))?;
        let Kind::Words(words) = MODE.kind else {
            return None;
        };
        let is_known = words
            .iter()
            .any(|word| word.eq_ignore_ascii_case(mode.trim()));
        let reason = || format!("it is not one of {}", words.join(", "));
        (!is_known).then(|| ("goose_mode", reason()))
    }
}

/// The author of the recipe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Author {
    /// How to reach them.
    pub contact: Option<String>,
    /// Anything else.
    pub metadata: Option<String>,
}

/// The form of the final answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ResponseForm {
    /// A JSON schema that the answer must fit.
    pub json_schema: Option<Value>,
}

/// A recipe that another one may run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SubRecipe {
    /// Its name.
    pub name: String,
    /// Where its file is.
    pub path: String,
    /// Values of its parameters.
    pub values: Option<Map<String, Value>>,
    /// Whether several runs of it are sequential.
    #[serde(default)]
    pub sequential_when_repeated: bool,
    /// A description for the model.
    pub description: Option<String>,
}

/// How many sub-recipes a recipe may have.
pub const MAX_SUB_RECIPES: usize = 32;

impl SubRecipe {
    /// The faults of a list of sub-recipes that show without their files: the index of each, its field, and the
    /// reason.
    pub(super) fn faults(list: &[(usize, SubRecipe)]) -> Vec<(usize, &'static str, String)> {
        let mut names = BTreeSet::new();
        let mut found = Vec::new();
        if let Some((index, _)) = list.get(MAX_SUB_RECIPES) {
            let reason = format!("there are more than {MAX_SUB_RECIPES} sub-recipes");
            found.push((*index, "name", reason));
        }
        for (index, sub) in list.iter().take(MAX_SUB_RECIPES) {
            for (field, text) in [("name", &sub.name), ("path", &sub.path)] {
                if text.trim().is_empty() {
                    found.push((*index, field, "it is empty".to_owned()));
                }
            }
            if !names.insert(&sub.name) {
                let reason = format!("another sub-recipe has the name `{}`", sub.name);
                found.push((*index, "name", reason));
            }
        }
        found
    }
}

/// What to do when the recipe fails.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Retry {
    /// How many times it is retried.
    pub max_retries: u32,
    /// The checks that decide about success.
    pub checks: Vec<SuccessCheck>,
    /// A shell command that cleans up.
    pub on_failure: Option<String>,
    /// How long a check may take, in seconds.
    pub timeout_seconds: Option<TimeLimit>,
    /// How long the clean-up may take, in seconds.
    pub on_failure_timeout_seconds: Option<TimeLimit>,
}

impl Retry {
    /// What makes it useless: the field of each fault, the index of the check, and the reason.
    pub(super) fn faults(&self) -> Vec<(&'static str, Option<usize>, &'static str)> {
        let mut found = Vec::new();
        if self.max_retries == 0 {
            found.push(("max_retries", None, "it is 0; write 1 or more"));
        }
        if self.checks.is_empty() {
            let reason = "there is none, so nothing decides about success";
            found.push(("checks", None, reason));
        }
        for (index, check) in self.checks.iter().enumerate() {
            if check.command.trim().is_empty() {
                found.push(("checks", Some(index), "it is empty"));
            }
        }
        for (field, limit) in [
            ("timeout_seconds", self.timeout_seconds),
            (
                "on_failure_timeout_seconds",
                self.on_failure_timeout_seconds,
            ),
        ] {
            if limit.is_some_and(|limit| limit.is_zero()) {
                found.push((field, None, "it is 0; write 1 or more"));
            }
        }
        found
    }
}

/// A check that decides about success.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename = "Check")]
pub struct SuccessCheck {
    #[serde(rename = "type")]
    kind: CheckType,
    /// A shell command that exits with 0.
    pub command: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
enum CheckType {
    #[serde(alias = "shell")]
    Shell,
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

/// A text. A number or a boolean, which YAML reads from text without quotes, becomes text again.
fn scalar<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(d)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        value @ (Value::Bool(_) | Value::Number(_)) => Ok(Some(value.to_string())),
        _ => Err(serde::de::Error::custom("`default` is not text")),
    }
}
