//! `/config/prompts`: the prompts that the user can change.

use crate::agent::Registry;
use crate::api::{Route, json_body};
use crate::http::Method::{Delete, Get, Put};
use crate::http::{Error, Request, Response};
use crate::user_prompts::{PromptError, UserPrompts};
use serde_json::json;

const PROMPT: &str = "/config/prompts/{name}";

pub(crate) const ROUTES: &[Route] = &[
    (Get, "/config/prompts", list),
    (Get, PROMPT, get),
    (Put, PROMPT, save),
    (Delete, PROMPT, reset),
];

fn prompts(registry: &Registry) -> UserPrompts<'_> {
    UserPrompts(registry.stores().prompts.folder())
}

fn list(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let prompts = prompts(registry).list();
    Ok(Response::json(&json!({ "prompts": prompts })))
}

fn get(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let prompt = prompts(registry).get(request.param("name"));
    let prompt = prompt.map_err(failed)?;
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
    prompts(registry).save(name, &content).map_err(failed)?;
    Ok(Response::json(&format!("Saved prompt: {name}")))
}

fn reset(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let name = request.param("name");
    prompts(registry).reset(name).map_err(failed)?;
    Ok(Response::json(&format!("Reset prompt to default: {name}")))
}

fn failed(error: PromptError) -> Error {
    let message = error.to_string();
    match error {
        PromptError::Unknown { .. } => Error::not_found(message),
        PromptError::Invalid { .. } => Error::bad_request(message),
        PromptError::Store(error) => error.into(),
    }
}
