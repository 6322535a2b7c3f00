//! `/config/prompts`: the prompts that the user can change.

use super::Route;
use crate::agent::Registry;
use crate::agent::prompt_templates::PromptError;
use crate::http::Method::{Delete, Get, Put};
use crate::http::{Error, Request, Response};
use gosling_core::api::json_body;
use serde_json::json;

const PROMPT: &str = "/config/prompts/{name}";

pub(super) const ROUTES: &[Route] = &[
    (Get, "/config/prompts", list),
    (Get, PROMPT, get),
    (Put, PROMPT, save),
    (Delete, PROMPT, reset),
];

fn list(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let prompts = registry.stores().prompts.list();
    Ok(Response::json(&json!({ "prompts": prompts })))
}

fn get(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let prompt = registry
        .stores()
        .prompts
        .get(request.param("name"))
        .map_err(failed)?;
    let content = prompt
        .user_content
        .as_ref()
        .unwrap_or(&prompt.default_content);
    Ok(Response::json(&json!({
        "name": prompt.name, "content": content, "default_content": prompt.default_content,
        "is_customized": prompt.is_customized,
    })))
}

fn save(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Save { content: String });
    let name = request.param("name");
    registry
        .stores()
        .prompts
        .save(name, &content)
        .map_err(failed)?;
    Ok(Response::json(&format!("Saved prompt: {name}")))
}

fn reset(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let name = request.param("name");
    registry.stores().prompts.reset(name).map_err(failed)?;
    Ok(Response::json(&format!("Reset prompt to default: {name}")))
}

fn failed(error: PromptError) -> Error {
    let message = error.to_string();
    match error {
        PromptError::Unknown { .. } => Error::not_found(message),
        PromptError::Invalid { .. } | PromptError::LeftOut => Error::bad_request(message),
        PromptError::Store(error) => error.into(),
    }
}
