//! Recipes: what a session is to begin with. Their model and validation, links, templates, the
//! folders they are kept in, and the commands that stand for them.

pub mod deeplink;
mod error;
mod fields;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
pub mod library;
mod rendering;
pub mod slash_commands;
mod template;
mod validation;

pub use error::Error;
pub use fields::{
    Author, InputType, Parameter, RecipeFields, Requirement, ResponseForm, Retry, Settings,
    SubRecipe, SuccessCheck,
};
pub use library::Library;
pub use rendering::{Rendered, apply, of_session};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::path::Path;

/// A recipe: exactly what was given, order and unknown fields included, and what it means.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    given: Map<String, Value>,
    fields: RecipeFields,
}

impl Recipe {
    /// Reads the fields of a recipe; whether it makes sense is what [`Recipe::check`] tells.
    ///
    /// # Errors
    /// [`Error::Shape`] when `title` or `description` is missing or a field has another type.
    pub fn from_object(given: Map<String, Value>) -> Result<Self, Error> {
        let fields = crate::json::from_object(&given).map_err(|error| Error::Shape {
            reason: error.to_string(),
        })?;
        Ok(Recipe { given, fields })
    }

    /// Reads what a recipe link holds; see [`deeplink::decode`].
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

    /// What it means.
    pub fn fields(&self) -> &RecipeFields {
        &self.fields
    }

    /// The configurations of the extensions that it asks for; `None` if it leaves that open.
    pub fn extensions(&self) -> Option<&[Value]> {
        self.fields.extensions.as_deref()
    }

    /// The provider, the model and the bounds that it asks for.
    pub fn settings(&self) -> Option<&Settings> {
        self.fields.settings.as_ref()
    }

    /// Whether a session can begin with it.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), Error> {
        validation::check(self)
    }

    /// Fills in `values`, where missing ones take their defaults and those it has no parameter for
    /// are left out. Relative paths of file parameters lead from `base`, which is also what
    /// `recipe_dir` stands for.
    ///
    /// # Errors
    /// [`Error::Missing`] with every parameter that has no value, [`Error::Value`] for one that does
    /// not fit, [`Error::Template`] and [`Error::TooLarge`] for what templates may not do.
    pub fn render(&self, values: &Map<String, Value>, base: &Path) -> Result<Rendered, Error> {
        rendering::render(self, values, base)
    }

    /// The recipe as it was given.
    pub fn into_value(self) -> Value {
        Value::Object(self.given)
    }
}

/// The compact JSON of what was given.
impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(&self.given).map_err(|_| fmt::Error)?)
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
mod tests {
    use super::*;

    #[test]
    fn what_was_given_comes_back_as_it_was() {
        let given = concat!(
            r#"{"prompt":"go","zebra":{"b":1,"a":null},"title":"T","description":"D","#,
            r#""parameters":[{"key":"k","input_type":"select","requirement":"optional","#,
            r#""description":"","default":3,"options":["3","4"],"hint":"ours"}],"#,
            r#""settings":{"goose_model":"m","temperature":0.5},"activities":null}"#
        );
        let recipe: Recipe = serde_json::from_str(given).unwrap();
        assert_eq!(recipe.to_string(), given);
        assert_eq!(serde_json::to_string(&recipe).unwrap(), given);
        assert_eq!(recipe.clone().into_value().to_string(), given);
        let model = recipe.fields();
        assert_eq!(model.parameters[0].input_type, InputType::Select);
        assert_eq!(model.parameters[0].default.as_deref(), Some("3"));
        let settings = recipe.settings().unwrap();
        assert_eq!(settings.goose_model.as_deref(), Some("m"));
        assert_eq!(settings.temperature, Some(0.5));
    }

    #[test]
    fn fields_of_another_type_are_refused_by_name() {
        for (given, said) in [
            (r#"{"description":"D"}"#, "missing field `title`"),
            (r#"{"title":"T"}"#, "missing field `description`"),
            (r#"{"title":1,"description":"D"}"#, "invalid type"),
            (
                r#"{"title":"T","description":"D","parameters":[{"key":"k","input_type":"colour","requirement":"required","description":""}]}"#,
                "unknown variant `colour`",
            ),
        ] {
            let error = serde_json::from_str::<Recipe>(given).unwrap_err();
            assert!(error.to_string().contains(said), "{given}: {error}");
        }
    }
}
