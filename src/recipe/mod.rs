//! Recipes: what a session is to begin with. Here: what a recipe must say, and recipe links.

use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::fmt;

/// The longest link that is read, in bytes.
const MAX_LINK: usize = 256 << 10;

/// A recipe as it was given, known to have a title and a description.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe(Map<String, Value>);

/// Why a recipe cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Neither `instructions` nor `prompt`: there would be nothing to begin with.
    Empty,
    /// A link that holds no recipe.
    Link,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Empty => "Recipe must specify at least one of `instructions` or `prompt`.",
            Error::Link => "Failed to decode recipe deeplink",
        })
    }
}

impl std::error::Error for Error {}

impl Recipe {
    /// Reads what a recipe link holds: the recipe's JSON in URL-safe base64.
    ///
    /// # Errors
    /// [`Error::Link`] when it is anything else.
    pub fn from_link(link: &str) -> Result<Self, Error> {
        if link.len() > MAX_LINK {
            return Err(Error::Link);
        }
        let engine = if link.ends_with('=') {
            URL_SAFE
        } else {
            URL_SAFE_NO_PAD
        };
        let bytes = engine.decode(link).map_err(|_| Error::Link)?;
        serde_json::from_slice(&bytes).map_err(|_| Error::Link)
    }

    /// Whether a session can begin with it.
    ///
    /// # Errors
    /// [`Error::Empty`] when it cannot.
    pub fn check(&self) -> Result<(), Error> {
        let says = |field: &str| matches!(self.0.get(field), Some(Value::String(_)));
        match says("instructions") || says("prompt") {
            true => Ok(()),
            false => Err(Error::Empty),
        }
    }

    /// The configurations of the extensions that it asks for; `None` if it leaves that open.
    pub fn extensions(&self) -> Option<&[Value]> {
        self.0.get("extensions")?.as_array().map(Vec::as_slice)
    }

    /// The recipe as it was given.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

impl<'de> Deserialize<'de> for Recipe {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let map = Map::deserialize(d)?;
        for field in ["title", "description"] {
            match map.get(field) {
                Some(Value::String(_)) => {}
                Some(_) => return Err(D::Error::custom(format_args!("`{field}` is not a string"))),
                None => return Err(D::Error::missing_field(field)),
            }
        }
        Ok(Recipe(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_link_holds_a_recipe_with_or_without_padding() {
        let recipe = json!({"title": "T", "description": "D", "prompt": "go"});
        for engine in [URL_SAFE, URL_SAFE_NO_PAD] {
            let link = engine.encode(recipe.to_string());
            let read = Recipe::from_link(&link).unwrap();
            assert_eq!(read.check(), Ok(()));
            assert_eq!(read.into_value(), recipe);
        }
        for link in ["!!!", "", "e30", "bm90IGpzb24"] {
            assert_eq!(Recipe::from_link(link), Err(Error::Link), "{link}");
        }
    }

    #[test]
    fn a_recipe_must_have_something_to_begin_with() {
        let recipe: Recipe =
            serde_json::from_value(json!({"title": "T", "description": "D", "prompt": null}))
                .unwrap();
        assert_eq!(recipe.check(), Err(Error::Empty));
    }
}
