//! `/recipes`: the files with recipes, recipes as links and as text, and their slash commands.

use crate::agent::{self, Registry, command_list};
use crate::api::{cancel_of, with};
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use crate::recipe::{self, Library, Recipe, library, slash_commands};
use crate::store;
use crate::sys::clock;
use crate::{RecipeAuthor, create_recipe};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The routes with which clients use recipes. A build without recipes answers each as unknown.
pub(crate) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router
        .get("/recipes/list", Keyed, with(registry, list))
        .post("/recipes/create", Keyed, with(registry, create))
        .post("/recipes/save", Keyed, with(registry, save))
        .post("/recipes/delete", Keyed, with(registry, delete))
        .post("/recipes/parse", Keyed, with(registry, parse))
        .post("/recipes/to-yaml", Keyed, with(registry, to_yaml))
        .post("/recipes/encode", Keyed, with(registry, encode))
        .post("/recipes/decode", Keyed, with(registry, decode))
        .post("/recipes/scan", Keyed, with(registry, scan))
        .post(
            "/recipes/slash-command",
            Keyed,
            with(registry, slash_command),
        )
}

#[derive(Serialize, Deserialize)]
struct WithRecipe {
    recipe: Recipe,
}

#[derive(Serialize, Deserialize)]
struct WithLink {
    deeplink: String,
}

#[derive(Deserialize)]
struct WithId {
    id: String,
}

/// The folders of the server.
fn library_of(registry: &Registry) -> Library {
    Library::of_server(store::files::parent(registry.stores().config.path()))
}

fn list(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let mut entries = library_of(registry).list();
    entries.sort_by_key(|entry| Reverse(entry.modified));
    let commands = command_list::of_recipes(&registry.stores().config)?;
    let command = |path: &Path| {
        let mut own = commands.iter().filter(|(_, of)| of == path);
        own.next().map(|(command, _)| command.clone())
    };
    let crons = cron_lines(registry);
    let cron = |path: &Path| {
        let mut own = crons.iter().filter(|(of, _)| of == path);
        own.next().map(|(_, cron)| cron.clone())
    };
    let manifests = entries.into_iter().map(|entry| {
        json!({
            "id": entry.id,
            "slash_command": command(&entry.path),
            "file_path": entry.path.to_string_lossy(),
            "last_modified": clock::rfc3339_nanos(entry.modified),
            "schedule_cron": cron(&entry.path),
            "recipe": entry.recipe,
        })
    });
    let manifests: Vec<Value> = manifests.collect();
    Ok(Response::json(&json!({ "manifests": manifests })))
}

/// The files of the recipes that are scheduled, with their cron lines.
fn cron_lines(registry: &Registry) -> Vec<(PathBuf, String)> {
    let read = crate::CRON_LINES
        .iter()
        .map(|read| read(&registry.stores().paths));
    let lines = read.map(|lines| {
        lines.unwrap_or_else(|error| {
            log::warn!("schedules left out of the list of recipes: {error}");
            Vec::new()
        })
    });
    lines.flatten().collect()
}

/// A failure of the model is part of the answer, as in Goose: clients show it.
fn create(registry: &Registry, request: &Request) -> Result<Response, Error> {
    #[derive(Deserialize)]
    struct Create {
        session_id: String,
        author: Option<RecipeAuthor>,
    }
    let body: Create = request.json()?;
    let cancel = cancel_of(registry, request);
    let answer = match create_recipe(registry, &body.session_id, body.author, &cancel) {
        Ok(recipe) => json!({"recipe": recipe, "error": null}),
        Err(error @ (agent::Error::NoSession | agent::Error::Cancelled)) => {
            return Err(error.into());
        }
        Err(error) => json!({
            "recipe": null,
            "error": format!("Recipe creation failed: {error}"),
        }),
    };
    Ok(Response::json(&answer))
}

fn save(registry: &Registry, request: &Request) -> Result<Response, Error> {
    #[derive(Deserialize)]
    struct Save {
        recipe: Recipe,
        id: Option<String>,
    }
    let body: Save = request.json()?;
    body.recipe.check_visible()?;
    let id = library_of(registry).save(body.id.as_deref(), &body.recipe)?;
    Ok(Response::json(&json!({ "id": id })))
}

fn delete(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let body: WithId = request.json()?;
    let path = library_of(registry).delete(&body.id)?;
    // A command without a recipe would only fail.
    if let Err(error) = slash_commands::assign(&registry.stores().config, &path, None) {
        log::warn!("slash command of a deleted recipe not removed reason={error}");
    }
    Ok(Response::empty(204))
}

fn parse(_: &Registry, request: &Request) -> Result<Response, Error> {
    #[derive(Deserialize)]
    struct Parse {
        content: String,
    }
    let body: Parse = request.json()?;
    let recipe = library::parse(&body.content)?;
    recipe.check()?;
    Ok(Response::json(&WithRecipe { recipe }))
}

fn to_yaml(_: &Registry, request: &Request) -> Result<Response, Error> {
    let body: WithRecipe = request.json()?;
    let yaml = library::to_yaml(&body.recipe)?;
    Ok(Response::json(&json!({ "yaml": yaml })))
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
    recipe.check()?;
    Ok(Response::json(&WithRecipe { recipe }))
}

fn scan(_: &Registry, request: &Request) -> Result<Response, Error> {
    let body: WithRecipe = request.json()?;
    let answer = json!({"has_security_warnings": body.recipe.has_hidden_text()});
    Ok(Response::json(&answer))
}

fn slash_command(registry: &Registry, request: &Request) -> Result<Response, Error> {
    #[derive(Deserialize)]
    struct Assign {
        id: String,
        slash_command: Option<String>,
    }
    let body: Assign = request.json()?;
    let unknown = || recipe::Error::Unknown(body.id.clone());
    let path = library_of(registry).path(&body.id).ok_or_else(unknown)?;
    let command = body.slash_command.as_deref();
    slash_commands::assign(&registry.stores().config, &path, command)?;
    Ok(Response::empty(200))
}
