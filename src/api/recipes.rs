//! `/recipes`: recipes as links.

use super::with;
use crate::agent::{self, Registry};
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use crate::recipe::Recipe;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router
        .post("/recipes/encode", Keyed, with(registry, encode))
        .post("/recipes/decode", Keyed, with(registry, decode))
}

#[derive(Serialize, Deserialize)]
struct WithRecipe {
    recipe: Recipe,
}

#[derive(Serialize, Deserialize)]
struct WithLink {
    deeplink: String,
}

fn encode(_: &Registry, request: &Request) -> Result<Response, Error> {
    let body: WithRecipe = request.json()?;
    Ok(Response::json(&WithLink {
        deeplink: body.recipe.to_link(),
    }))
}

fn decode(_: &Registry, request: &Request) -> Result<Response, Error> {
    let body: WithLink = request.json()?;
    // goosed sends no body here; clients show a text of their own.
    let Ok(recipe) = Recipe::from_link(&body.deeplink) else {
        return Ok(Response::empty(400));
    };
    recipe.check().map_err(agent::Error::from)?;
    Ok(Response::json(&WithRecipe { recipe }))
}
