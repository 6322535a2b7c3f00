//! Recipes, which prepare a session: their fields and validation, links, templates, folders, and slash
//! commands.

pub mod deeplink;
mod error;
pub mod faults;
mod fields;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod hidden_text;
mod includes;
pub mod library;
pub(crate) mod prompt_template;
mod rendering;
pub mod slash_commands;
mod template;
mod validation;
mod value_position;

pub use error::Error;
pub use fields::{
    Author, InputType, MAX_SUB_RECIPES, Parameter, RecipeFields, Requirement, ResponseForm, Retry,
    Settings, SubRecipe, SuccessCheck,
};
pub use library::Library;
pub use rendering::{apply, of_session, settings_of};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// A recipe: its JSON as it was given, with field order and unknown fields, and its typed fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    given: Map<String, Value>,
    fields: RecipeFields,
}

impl Recipe {
    /// Reads the fields of a recipe. [`Recipe::check`] validates them.
    ///
    /// # Errors
    /// [`Error::Shape`] when `title` or `description` is missing or a field has another type.
    pub fn from_object(given: Map<String, Value>) -> Result<Self, Error> {
        let fields =
            crate::json::from_object(&given).map_err(|error| Error::Shape(error.to_string()))?;
        Ok(Recipe { given, fields })
    }

    /// The typed fields.
    pub fn fields(&self) -> &RecipeFields {
        &self.fields
    }

    /// The recipe as it was given.
    pub fn into_value(self) -> Value {
        Value::Object(self.given)
    }
}

/// The given JSON in compact form; on several lines with `{:#}`.
impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if f.alternate() {
            serde_json::to_string_pretty(&self.given)
        } else {
            serde_json::to_string(&self.given)
        };
        f.write_str(&text.map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Recipe {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.given.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Recipe {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let given = Map::deserialize(d)?;
        match crate::json::from_object(&given) {
            Ok(fields) => Ok(Recipe { given, fields }),
            Err(error) => Err(serde::de::Error::custom(error)),
        }
    }
}

#[cfg(test)]
mod tests;
