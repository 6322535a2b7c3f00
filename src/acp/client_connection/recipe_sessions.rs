//! Sessions that start from a recipe: `session/new` with the recipe's id or link, and the values of its parameters, which
//! the user is asked for.

use super::ConnectionState;
use super::goose_params::Outcome;
use crate::agent::recipes::SessionRecipe;
use crate::agent::session_recipes;
use crate::conversation::Session;
use crate::error_objects::{error_object, invalid_params};
use crate::mcp::jsonrpc::{ErrorObject, INTERNAL_ERROR, INVALID_PARAMS};
use crate::sys::cancel::Cancel;
use crossbeam_channel::bounded;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

/// Goose's request for the values of parameters.
const REQUEST_PARAMETERS: &str = "_goose/unstable/session/recipe/request-params";
/// How long the user may take to enter them.
const TIMEOUT: Duration = Duration::from_secs(3600);

impl ConnectionState {
    /// The recipe that the `_meta` of `session/new` asks for.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub(crate) fn wanted_recipe(
        &self,
        meta: &Value,
        working_dir: &Path,
    ) -> Result<Option<SessionRecipe>, ErrorObject> {
        let (id, link) = (meta["recipeId"].as_str(), meta["recipeDeeplink"].as_str());
        let config = &self.registry.stores().config;
        session_recipes::named(id, link, config, working_dir).map_err(error_object)
    }

    /// Asks the client for the values of the parameters of a session's recipe, and stores them. Returns what Goose's
    /// clients read of the recipe in the result of `session/new`.
    ///
    /// # Errors
    /// When the user gives no values, they do not fit, or the client cannot ask.
    pub(crate) fn complete_recipe(&self, session: &Session, cancel: &Cancel) -> Outcome {
        let Some(recipe) = &session.recipe else {
            return Ok(json!({}));
        };
        let parameters = recipe["parameters"].as_array();
        let Some(parameters) = parameters.filter(|all| !all.is_empty()) else {
            let rendered = session_recipes::apply(session).map_err(error_object)?;
            return Ok(json!({ "recipe": rendered }));
        };
        if !self.client().recipe_parameters {
            let why = "the recipe has parameters, and this client cannot ask for their values";
            return Err(invalid_params("session/new", why));
        }
        let values = self.ask_for_values(&session.id, parameters, cancel)?;
        let files = self.registry.files();
        let rendered = files.set_recipe_values(&session.id, values.clone());
        let rendered = rendered.map_err(error_object)?;
        Ok(json!({"recipe": rendered, "userRecipeValues": values}))
    }

    fn ask_for_values(
        &self,
        session: &str,
        parameters: &[Value],
        cancel: &Cancel,
    ) -> Result<Map<String, Value>, ErrorObject> {
        let (sender, answers) = bounded(1);
        let params = json!({"sessionId": session, "parameters": parameters});
        let request = self
            .requests
            .send(REQUEST_PARAMETERS, &params, move |answer| {
                drop(sender.send(answer));
            });
        let answer = cancel.receive(&answers, TIMEOUT).map_err(|_| {
            self.requests.withdraw(request);
            ErrorObject::new(INTERNAL_ERROR, "The user gave no values for the recipe")
        })??;
        let answer: Value = crate::json::from_str(answer.get()).unwrap_or_default();
        if answer["action"] != *"submit" {
            let mut error = ErrorObject::new(INVALID_PARAMS, "The user cancelled the recipe");
            error.data =
                serde_json::value::to_raw_value(&json!({"reason": "recipe_params_cancelled"})).ok();
            return Err(error);
        }
        Ok(answer["values"].as_object().cloned().unwrap_or_default())
    }
}
