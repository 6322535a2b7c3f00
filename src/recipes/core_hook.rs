//! What the core calls for the recipes of sessions.

use crate::agent::prompt_kind::PromptKind;
use crate::agent::recipes::{RecipeSource, Recipes, SessionRecipe, StartRecipe, TurnRecipe};
use crate::agent::{Error, Registry};
use crate::conversation::Session;
use crate::recipe::{self, Library, Recipe, library, slash_commands};
use crate::recipe_run::{self, turn_recipe::RecipeInTurn};
use crate::user_prompts;
use serde_json::{Map, Value};
use std::env;
use std::path::Path;

/// The recipes of this program.
pub(crate) struct Hook;

impl Recipes for Hook {
    fn read(&self, given: Map<String, Value>) -> Result<Box<dyn StartRecipe>, String> {
        match Recipe::from_object(given) {
            Ok(recipe) => Ok(Box::new(recipe)),
            Err(error) => Err(error.into_reason()),
        }
    }

    fn read_link(&self, link: &str) -> Result<Box<dyn StartRecipe>, Error> {
        Ok(Box::new(Recipe::from_link(link)?))
    }

    fn find(&self, id: &str, config: &Path, working_dir: &Path) -> Result<SessionRecipe, Error> {
        // The last folder is that of the list of recipes.
        let projects = [Some(working_dir.to_owned()), env::current_dir().ok()];
        let projects = projects.into_iter().flatten();
        let projects = projects.map(|it| (Library::of_project(&it), RecipeSource::Project));
        let users = (Library::of_user(config), RecipeSource::User);
        for (library, source) in std::iter::once(users).chain(projects) {
            if let Some((file, recipe)) = library.find(id)? {
                return Ok(SessionRecipe {
                    folder: file.parent().map(Path::to_owned),
                    ..SessionRecipe::new(Box::new(recipe), source)
                });
            }
        }
        Err(recipe::Error::Unknown(id.to_owned()).into())
    }

    fn check_imported(&self, given: &Value) -> Result<(), Error> {
        let given = given.as_object().cloned().unwrap_or_default();
        Ok(Recipe::from_object(given)?.check()?)
    }

    fn apply(&self, session: &Session) -> Result<Option<Value>, Error> {
        Ok(recipe::apply(session)?)
    }

    fn settings(&self, session: &Session) -> Value {
        recipe::settings_of(session)
    }

    fn for_turn<'r>(
        &self,
        session: &Session,
        registry: &'r Registry,
    ) -> Result<Box<dyn TurnRecipe + 'r>, Error> {
        Ok(Box::new(RecipeInTurn::of_reply(session, registry)?))
    }

    fn command_help(&self, file: &Path) -> Option<String> {
        let recipe = library::read(file).ok()?;
        Some(recipe.fields().title.clone())
    }

    fn command_message(
        &self,
        file: &Path,
        words: Vec<String>,
        working_dir: &Path,
    ) -> Result<String, Error> {
        Ok(slash_commands::message(file, words, working_dir)?)
    }

    fn own_prompt(
        &self,
        file: &Path,
        kind: &PromptKind,
        values: &dyn Fn() -> Value,
    ) -> Result<Option<String>, String> {
        user_prompts::own(file, kind, values)
    }
}

impl StartRecipe for Recipe {
    fn title(&self) -> &str {
        &self.fields().title
    }

    fn check_for_start(&self) -> Result<(), Error> {
        self.check()?;
        recipe_run::turn_recipe::check(self)
    }

    fn extensions(&self) -> Option<&[Value]> {
        self.fields().extensions.as_deref()
    }

    fn uses_origin(&self) -> bool {
        // It runs commands or names files.
        self.fields().retry.is_some() || !self.fields().sub_recipes.is_empty()
    }

    fn into_value(self: Box<Self>) -> Value {
        Recipe::into_value(*self)
    }
}
