//! The recipes of sessions in this program, which has a part that reads them, or none.

use crate::agent::error::RecipeFault;
use crate::agent::recipes::{RecipeSource, Recipes, SessionRecipe, TurnRecipe};
use crate::agent::{Error, Registry};
use crate::conversation::Session;
use crate::features;
use crate::part;
use crate::store::{self, Config};
use serde_json::Value;
use std::path::Path;

/// A turn without a recipe.
struct NoRecipe;

impl TurnRecipe for NoRecipe {}

/// The recipes of this program; `None` if it has none.
pub(in crate::agent) fn find() -> Option<&'static dyn Recipes> {
    part::all().iter().find_map(|part| part.recipes)
}

/// The recipes of this program.
///
/// # Errors
/// [`Error::Recipe`] if it has none.
pub fn of_program() -> Result<&'static dyn Recipes, Error> {
    find().ok_or_else(|| Error::Recipe {
        fault: RecipeFault::Invalid,
        reason: not_available(),
    })
}

/// The recipe of this id, else that of this link; `None` if neither is given.
///
/// # Errors
/// When there is no such recipe, it cannot be read, or the program has no recipes.
pub fn named(
    id: Option<&str>,
    link: Option<&str>,
    config: &Config,
    working_dir: &Path,
) -> Result<Option<SessionRecipe>, Error> {
    Ok(match (id, link) {
        (Some(id), _) => {
            let folder = store::files::parent(config.path());
            Some(of_program()?.find(id, folder, working_dir)?)
        }
        (None, Some(link)) => {
            let recipe = of_program()?.read_link(link)?;
            Some(SessionRecipe::new(recipe, RecipeSource::Link))
        }
        (None, None) => None,
    })
}

/// Why a program without recipes does not use one.
fn not_available() -> String {
    format!("recipes are not available{}", features::hint("recipes"))
}

/// As [`Recipes::apply`].
///
/// # Errors
/// As there, and if the session has a recipe and the program has none.
pub fn apply(session: &Session) -> Result<Option<Value>, Error> {
    match session.recipe {
        Some(_) => of_program()?.apply(session),
        None => Ok(None),
    }
}

/// What the session's recipe adds to a turn.
pub(in crate::agent) fn for_turn<'r>(
    session: &Session,
    registry: &'r Registry,
) -> Result<Box<dyn TurnRecipe + 'r>, Error> {
    match find() {
        Some(recipes) if session.recipe.is_some() => return recipes.for_turn(session, registry),
        None if session.recipe.is_some() => {
            let id = &session.id;
            let reason = not_available();
            log::warn!("recipe not applied session={id} reason={reason}");
        }
        _ => {}
    }
    Ok(Box::new(NoRecipe))
}

/// The settings of the session's recipe.
pub(in crate::agent) fn settings(session: &Session) -> Value {
    match (find(), &session.recipe) {
        (_, None) => Value::Null,
        (Some(recipes), Some(_)) => recipes.settings(session),
        (None, Some(recipe)) => recipe["settings"].clone(),
    }
}

/// A setting of the session's recipe.
pub(in crate::agent) fn setting(session: &Session, key: &str) -> Option<String> {
    settings(session)[key].as_str().map(str::to_owned)
}
