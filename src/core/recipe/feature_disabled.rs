//! Replaces the module in a build without the feature `recipes`: no recipe exists, and each attempt to use one
//! fails with [`Error::LeftOut`]. The items have the signatures of the full module.

pub mod slash_commands;

use crate::conversation::Session;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a recipe cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The build has no recipes.
    LeftOut,
    /// The file cannot be read.
    File {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::LeftOut => {
                let hint = crate::features::hint("recipes");
                write!(f, "recipes are not available{hint}")
            }
            Error::File { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

/// A recipe; no value of this type exists.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    fields: RecipeFields,
    never: Infallible,
}

/// The fields of a recipe that callers read.
#[derive(Clone, Debug, PartialEq)]
pub struct RecipeFields {
    /// The title.
    pub title: String,
    /// The parameters.
    pub parameters: Vec<Parameter>,
}

/// A parameter of a recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub key: String,
}

/// A recipe with its parameters filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// Instructions for the model.
    pub instructions: Option<String>,
    /// The first message.
    pub prompt: Option<String>,
}

impl Recipe {
    /// # Errors
    /// Always [`Error::LeftOut`].
    pub fn from_object(_: Map<String, Value>) -> Result<Self, Error> {
        Err(Error::LeftOut)
    }

    /// # Errors
    /// Always [`Error::LeftOut`].
    pub fn from_link(_: &str) -> Result<Self, Error> {
        Err(Error::LeftOut)
    }

    /// The fields.
    pub fn fields(&self) -> &RecipeFields {
        &self.fields
    }

    /// The extensions that the recipe asks for.
    pub fn extensions(&self) -> Option<&[Value]> {
        match self.never {}
    }

    /// Whether it matters where the recipe comes from.
    pub fn uses_origin(&self) -> bool {
        match self.never {}
    }

    /// # Errors
    /// Never; no recipe exists.
    pub fn check(&self) -> Result<(), Error> {
        match self.never {}
    }

    /// # Errors
    /// Never; no recipe exists.
    pub fn render(&self, _: &Map<String, Value>, _: &Path) -> Result<Rendered, Error> {
        match self.never {}
    }

    /// The recipe as it was given.
    pub fn into_value(self) -> Value {
        match self.never {}
    }
}

impl Serialize for Recipe {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        match self.never {}
    }
}

impl<'de> Deserialize<'de> for Recipe {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom(Error::LeftOut))
    }
}

/// The recipe of a session with its values filled in; `None` if the session has no recipe.
///
/// # Errors
/// [`Error::LeftOut`] if the session has a recipe.
pub fn of_session(session: &Session) -> Result<Option<Rendered>, Error> {
    match session.recipe {
        Some(_) => Err(Error::LeftOut),
        None => Ok(None),
    }
}

/// The recipe of a session as clients see it; `None` if the session has no recipe.
///
/// # Errors
/// [`Error::LeftOut`] if the session has a recipe.
pub fn apply(session: &Session) -> Result<Option<Value>, Error> {
    of_session(session).map(|_| None)
}

/// The folders of recipes.
#[derive(Clone, Copy, Debug)]
pub struct Library;

impl Library {
    /// The user's folders.
    pub fn of_user(_: &Path) -> Self {
        Library
    }

    /// The folder of a working directory.
    pub fn of_project(_: &Path) -> Self {
        Library
    }

    /// # Errors
    /// Always [`Error::LeftOut`].
    pub fn find_file(&self, _: &str) -> Result<Option<(PathBuf, Recipe)>, Error> {
        Err(Error::LeftOut)
    }
}

mod library {
    use super::{Error, Recipe};
    use std::path::Path;

    pub(super) fn read(_: &Path) -> Result<Recipe, Error> {
        Err(Error::LeftOut)
    }

    pub(super) fn load(path: &Path) -> Result<Recipe, Error> {
        read(path)
    }
}
