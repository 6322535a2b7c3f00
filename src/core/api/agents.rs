//! `/agent`: the life cycle of a session's agent, its extensions, tools and resources. CORE §7.2, §7.3.

use super::sessions::{SessionAnswer, with_warnings};
use super::{Route, cancel_of, json_body};
use crate::agent::recipes::{SessionRecipe, StartRecipe};
use crate::agent::{
    self, ExtensionResult, Mode, ModelChoice, RecipeSource, Registry, Start, session_recipes,
};
use crate::extension::sandbox::Level;
use crate::extension::{ExtensionConfig, ListedTool};
use crate::http::Method::{Get, Post};
use crate::http::{Error, Request, Response};
use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::{Content, ResourceContents};
use crate::store::PermissionLevel;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

pub(super) const ROUTES: &[Route] = &[
    (Post, "/agent/start", start),
    (Post, "/agent/resume", resume),
    (Post, "/agent/restart", restart),
    (Post, "/agent/stop", stop),
    (Post, "/agent/update_working_dir", update_working_dir),
    (Post, "/agent/update_session", update_session),
    (Post, "/agent/set_container", set_container),
    (Post, "/agent/add_extension", add_extension),
    (Post, "/agent/remove_extension", remove_extension),
    (Post, "/agent/update_provider", update_provider),
    (Post, "/agent/update_from_session", update_from_session),
    (Get, "/agent/extensions", extensions),
    (Get, "/agent/tools", tools),
    (Post, "/agent/call_tool", call_tool),
    (Post, "/agent/read_resource", read_resource),
];

/// A recipe in a request. A field of the wrong type is an error of the request's JSON.
struct GivenRecipe(Box<dyn StartRecipe>);

impl<'de> Deserialize<'de> for GivenRecipe {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let recipes = session_recipes::of_program().map_err(D::Error::custom)?;
        let recipe = recipes.read(Map::deserialize(d)?);
        recipe.map(GivenRecipe).map_err(D::Error::custom)
    }
}

#[derive(Serialize)]
struct ResumeResponse {
    session: SessionAnswer,
    #[serde(skip_serializing_if = "Option::is_none")]
    extension_results: Option<Vec<ExtensionResult>>,
}

/// Goose renamed two members in 1.28; the answer has both names.
#[derive(Serialize)]
struct CallToolResponse<'r> {
    content: Vec<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'r RawJson>,
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    renamed_structured_content: Option<&'r RawJson>,
    is_error: bool,
    #[serde(rename = "isError")]
    renamed_is_error: bool,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<RawJson>,
}

#[derive(Serialize)]
struct ReadResourceResponse {
    uri: String,
    #[serde(rename = "mimeType", skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    text: String,
    /// `base64` if `text` holds encoded bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<RawJson>,
}

#[derive(Serialize)]
struct ToolInfo {
    name: String,
    description: String,
    parameters: Vec<String>,
    /// The stored permission, if any.
    permission: Option<PermissionLevel>,
}

fn start(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => StartRequest {
        working_dir: PathBuf,
        recipe: Option<GivenRecipe>,
        recipe_id: Option<String>,
        recipe_deeplink: Option<String>,
        extension_overrides: Option<Vec<ExtensionConfig>>,
        sandbox: Option<Level>,
    });
    let (id, link) = (recipe_id.as_deref(), recipe_deeplink.as_deref());
    let recipe = match recipe {
        Some(GivenRecipe(recipe)) => Some(SessionRecipe::new(recipe, RecipeSource::User)),
        None => session_recipes::named(id, link, &registry.stores().config, &working_dir)?,
    };
    let session = registry.start(Start {
        working_dir,
        recipe,
        extension_overrides: extension_overrides
            .map(|all| all.iter().map(ExtensionConfig::to_value).collect()),
        sandbox: sandbox.unwrap_or_default(),
        ..Start::default()
    })?;
    Ok(with_warnings(&session))
}

fn resume(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => ResumeRequest { session_id: String, load_model_and_extensions: bool });
    let cancel = cancel_of(registry, request);
    let resumed = registry.resume(&session_id, load_model_and_extensions, &cancel);
    let (session, extension_results) =
        resumed.map_err(|e| prefixed("Failed to resume session", e))?;
    Ok(Response::json(&ResumeResponse {
        session: SessionAnswer::new(request, session),
        extension_results,
    }))
}

fn restart(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => SessionOnly { session_id: String });
    let results = registry
        .restart(&session_id, &cancel_of(registry, request))
        .map_err(|e| prefixed("Failed to get session", e))?;
    Ok(Response::json(&json!({ "extension_results": results })))
}

fn prefixed(what: &str, error: agent::Error) -> Error {
    let mut error = Error::from(error);
    error.message = format!("{what}: {}", error.message);
    error
}

fn stop(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => SessionOnly { session_id: String });
    registry.stop(&session_id);
    Ok(Response::empty(200))
}

fn update_working_dir(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => WorkingDirRequest { session_id: String, working_dir: String });
    let dir = working_dir.trim();
    if dir.is_empty() {
        return Err(Error::bad_request("Working directory cannot be empty"));
    }
    let cancel = cancel_of(registry, request);
    let updated = registry.update_working_dir(&session_id, Path::new(dir), &cancel);
    updated.map_err(|error| match error {
        agent::Error::WorkingDir { .. } => Error::bad_request("Invalid directory path"),
        error => error.into(),
    })?;
    Ok(Response::empty(200))
}

/// Part of Goose's API after 1.27.
fn update_session(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => SessionRequest { session_id: String, goose_mode: Option<String> });
    registry.files().session(&session_id)?;
    if let Some(name) = goose_mode {
        let mode = Mode::ALL.into_iter().find(|mode| mode.as_str() == name);
        let mode = mode.ok_or_else(|| {
            let known = Mode::ALL.map(Mode::as_str).join("`, `");
            Error::bad_request(format!("`goose_mode` is not one of `{known}`"))
        })?;
        registry.set_mode(&session_id, mode)?;
    }
    Ok(Response::empty(200))
}

/// Part of Goose's API after 1.24.
fn set_container(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => ContainerRequest { session_id: String, container_id: Option<String> });
    let cancel = cancel_of(registry, request);
    registry.set_container(&session_id, container_id.as_deref(), &cancel)?;
    Ok(Response::empty(200))
}

fn add_extension(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => AddExtensionRequest { session_id: String, config: ExtensionConfig });
    let added = registry.add_extension(&session_id, &config, &cancel_of(registry, request));
    added.map_err(|error| match error {
        error @ agent::Error::Extension(_) => prefixed("Failed to add extension", error),
        error => error.into(),
    })?;
    Ok(Response::empty(200))
}

fn remove_extension(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => RemoveExtensionRequest { session_id: String, name: String });
    registry.remove_extension(&session_id, &name)?;
    Ok(Response::empty(200))
}

fn update_provider(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => UpdateProviderRequest {
        session_id: String,
        provider: String,
        model: Option<String>,
        context_limit: Option<u64>,
        request_params: Option<Map<String, Value>>,
    });
    let choice = ModelChoice {
        provider,
        model,
        context_limit,
        request_params,
    };
    registry.models().choose(&session_id, choice)?;
    Ok(Response::empty(200))
}

/// Each turn reads the recipe of the session, so this only checks that the recipe can be used.
fn update_from_session(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => SessionOnly { session_id: String });
    registry.agent(&session_id)?;
    let session = registry.files().session(&session_id)?;
    session_recipes::apply(&session)?;
    Ok(Response::empty(200))
}

/// The status of the session's extensions. Not part of Goose's API.
fn extensions(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let extensions = registry.status(request.required_query("session_id")?)?;
    Ok(Response::json(&json!({ "extensions": extensions })))
}

fn tools(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let agent = registry.agent(request.required_query("session_id")?)?;
    let cancel = cancel_of(registry, request);
    let listed = agent.tools(request.query("extension_name"), &cancel)?;
    let permissions = registry.stores().permissions.all()?;
    let info = |listed: ListedTool| ToolInfo {
        permission: permissions.get(&listed.name).copied(),
        name: listed.name,
        parameters: listed.tool.parameters(),
        description: listed.tool.description.unwrap_or_default(),
    };
    let infos: Vec<ToolInfo> = listed.into_iter().map(info).collect();
    Ok(Response::json(&infos))
}

fn call_tool(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => CallToolRequest { session_id: String, name: String, arguments: RawJson });
    let arguments = object_of(arguments)?;
    let agent = registry.agent(&session_id)?;
    let result = agent.call(&name, &arguments, &cancel_of(registry, request))?;
    let is_error = result.is_error.unwrap_or(false);
    Ok(Response::json(&CallToolResponse {
        content: result.content,
        structured_content: result.structured_content.as_ref(),
        renamed_structured_content: result.structured_content.as_ref(),
        is_error,
        renamed_is_error: is_error,
        meta: result.meta,
    }))
}

/// The arguments as the client sent them; `null` means an empty object.
fn object_of(sent: RawJson) -> Result<RawJson, Error> {
    match sent.get().as_bytes().first() {
        Some(b'{') => Ok(sent),
        Some(b'n') => Ok(RawValue::from_string("{}".to_owned()).unwrap_or_default()),
        _ => Err(Error::unprocessable("`arguments` must be a JSON object")),
    }
}

fn read_resource(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => ReadResourceRequest {
        session_id: String,
        extension_name: String,
        uri: String,
    });
    let agent = registry.agent(&session_id)?;
    let result = agent.read_resource(&extension_name, &uri, &cancel_of(registry, request))?;
    let contents = result.contents.into_iter().next().ok_or_else(|| {
        Error::internal(format!(
            "extension {extension_name:?} gave no content for {uri:?}"
        ))
    })?;
    Ok(Response::json(&normalized(contents)))
}

/// Text stays as it is. Bytes become text if they are UTF-8, else base64, marked by `encoding`.
fn normalized(contents: ResourceContents) -> ReadResourceResponse {
    let (text, encoding) = text_of(contents.text, contents.blob);
    ReadResourceResponse {
        uri: contents.uri,
        mime_type: contents.mime_type,
        text,
        encoding,
        meta: contents.meta,
    }
}

/// The content of a resource as text, and how it is encoded.
pub fn text_of(text: Option<String>, blob: Option<String>) -> (String, Option<&'static str>) {
    match (text, blob) {
        (Some(text), _) => (text, None),
        (None, Some(blob)) => match STANDARD.decode(&blob).map(String::from_utf8) {
            Ok(Ok(text)) => (text, None),
            _ => (blob, Some("base64")),
        },
        (None, None) => (String::new(), None),
    }
}

#[cfg(test)]
mod tests;
