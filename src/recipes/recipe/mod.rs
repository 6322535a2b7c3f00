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
pub use rendering::{Rendered, apply, of_session, settings_of};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::path::Path;

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

    /// Reads a recipe link; see [`deeplink::decode`].
    ///
    /// # Errors
    /// [`Error::Link`].
    pub fn from_link(text: &str) -> Result<Self, Error> {
        deeplink::decode(text)
    }

    /// The link that holds the recipe; see [`deeplink::encode`].
    pub fn to_link(&self) -> String {
        deeplink::encode(self)
    }

    /// The typed fields.
    pub fn fields(&self) -> &RecipeFields {
        &self.fields
    }

    /// The configurations of its extensions; `None` if it names none.
    pub fn extensions(&self) -> Option<&[Value]> {
        self.fields.extensions.as_deref()
    }

    /// The provider, the model and the limits that it sets.
    pub fn settings(&self) -> Option<&Settings> {
        self.fields.settings.as_ref()
    }

    /// Whether it matters where the recipe comes from, because it runs commands or names files.
    pub fn uses_origin(&self) -> bool {
        self.fields.retry.is_some() || !self.fields.sub_recipes.is_empty()
    }

    /// Validates the recipe.
    ///
    /// # Errors
    /// The first error that is found.
    pub fn check(&self) -> Result<(), Error> {
        validation::check(self)
    }

    /// Renders the recipe with `values`. Missing values take their defaults; values without a parameter are
    /// ignored. Relative paths of file parameters start at `base`, which is also the value of `recipe_dir`.
    ///
    /// # Errors
    /// [`Error::Missing`] with every parameter that has no value, [`Error::Value`] for one that does
    /// not fit, [`Error::Template`] and [`Error::TooLarge`] when a template is invalid or exceeds its limits.
    pub fn render(&self, values: &Map<String, Value>, base: &Path) -> Result<Rendered, Error> {
        rendering::render(self, base, values, base)
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
    ) -> Result<Rendered, Error> {
        rendering::render(self, folder, values, base)
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
