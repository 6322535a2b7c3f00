//! `/recipes`: the files with recipes, recipes as links and as text, and their slash commands.

use crate::agent::{self, Registry, command_list};
use crate::api::{Route, cancel_of, json_body, keyed};
use crate::http::Method::{Get, Post};
use crate::http::{Error, Request, Response, Router};
use crate::prompt_endpoints;
use crate::recipe::{self, Library, Recipe, library, slash_commands};
use crate::store;
use crate::sys::clock;
use crate::{RecipeAuthor, create_recipe};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The routes with which clients use recipes, and prompts of the user. A build without recipes answers each as unknown.
pub(crate) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    keyed(
        router,
        registry,
        &[ROUTES, prompt_endpoints::ROUTES].concat(),
    )
}

const ROUTES: &[Route] = &[
    (Get, "/recipes/list", list),
    (Post, "/recipes/create", create),
    (Post, "/recipes/save", save),
    (Post, "/recipes/delete", delete),
    (Post, "/recipes/parse", parse),
    (Post, "/recipes/to-yaml", to_yaml),
    (Post, "/recipes/encode", encode),
    (Post, "/recipes/decode", decode),
    (Post, "/recipes/scan", scan),
    (Post, "/recipes/slash-command", slash_command),
];

#[derive(Serialize)]
struct WithRecipe {
    recipe: Recipe,
}

/// The folders of the server.
fn library_of(registry: &Registry) -> Library {
    Library::of_server(store::files::parent(registry.stores().config.path()))
}

fn list(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let mut entries = library_of(registry).list();
    gosling_core::sorting::sort_by(&mut entries, |a, b| b.modified.cmp(&a.modified));
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
            "last_modified": rfc3339_nanos(entry.modified),
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
    json_body!(request => Create { session_id: String, author: Option<RecipeAuthor> });
    let cancel = cancel_of(registry, request);
    let answer = match create_recipe(registry, &session_id, author, &cancel) {
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
    json_body!(request => Save { recipe: Recipe, id: Option<String> });
    recipe.check_visible()?;
    let id = library_of(registry).save(id.as_deref(), &recipe)?;
    Ok(Response::json(&json!({ "id": id })))
}

fn delete(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => WithId { id: String });
    let path = library_of(registry).delete(&id)?;
    // A command without a recipe would only fail.
    if let Err(error) = slash_commands::assign(&registry.stores().config, &path, None) {
        log::warn!("slash command of a deleted recipe not removed reason={error}");
    }
    Ok(Response::empty(204))
}

fn parse(_: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Parse { content: String });
    let recipe = library::parse(&content)?;
    recipe.check()?;
    Ok(Response::json(&WithRecipe { recipe }))
}

fn to_yaml(_: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => WithRecipe { recipe: Recipe });
    let yaml = library::to_yaml(&recipe)?;
    Ok(Response::json(&json!({ "yaml": yaml })))
}

fn encode(_: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => WithRecipe { recipe: Recipe });
    Ok(Response::json(&json!({ "deeplink": recipe.to_link() })))
}

fn decode(_: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => WithLink { deeplink: String });
    // goosed sends no body here; clients show a text of their own.
    let Ok(recipe) = Recipe::from_link(&deeplink) else {
        return Ok(Response::empty(400));
    };
    recipe.check()?;
    Ok(Response::json(&WithRecipe { recipe }))
}

fn scan(_: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => WithRecipe { recipe: Recipe });
    let answer = json!({"has_security_warnings": recipe.has_hidden_text()});
    Ok(Response::json(&answer))
}

fn slash_command(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Assign { id: String, slash_command: Option<String> });
    let unknown = || recipe::Error::Unknown(id.clone());
    let path = library_of(registry).path(&id).ok_or_else(unknown)?;
    let command = slash_command.as_deref();
    slash_commands::assign(&registry.stores().config, &path, command)?;
    Ok(Response::empty(200))
}

/// A moment as RFC 3339 with nanoseconds, as Goose writes the times of files:
/// `2026-11-21T22:16:27.419288903+00:00`. A moment before 1970 is 1970.
fn rfc3339_nanos(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let text = clock::Utc::from_unix(seconds).to_string();
    let nanos = since.subsec_nanos();
    format!("{}.{nanos:09}+00:00", text.trim_end_matches('Z'))
}
