//! `/agent/resources` and `/agent/prompts`: the resources and prompts of a session's MCP servers. Not part of
//! Goose's API.

use super::{Route, cancel_of};
use crate::agent::Registry;
use crate::extension::{self, ExtensionItem};
use crate::http::Method::Get;
use crate::http::{Error, Request, Response};
use crate::mcp::types::{Prompt, PromptArgument, Resource, ResourceTemplate};
use serde::Serialize;

pub(super) const ROUTES: &[Route] = &[
    (Get, "/agent/resources", resources),
    (Get, "/agent/prompts", prompts),
];

#[derive(Serialize)]
struct Resources {
    resources: Vec<Info>,
    templates: Vec<Info>,
    errors: Vec<Failure>,
}

#[derive(Serialize)]
struct Prompts {
    prompts: Vec<Info>,
    errors: Vec<Failure>,
}

/// A resource, a template of resources, or a prompt; each has some of the members.
#[derive(Default, Serialize)]
struct Info {
    extension_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_template: Option<String>,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Vec<PromptArgument>>,
}

/// An extension whose list could not be fetched.
#[derive(Serialize)]
struct Failure {
    extension_name: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<extension::Class>,
}

fn resources(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let cancel = cancel_of(registry, request);
    let agent = registry.agent(request.required_query("session_id")?)?;
    let extension = request.query("extension_name");
    let manager = agent.extensions(&cancel)?;
    let resources = manager.resources(extension, &cancel);
    let templates = manager.resource_templates(extension, &cancel);
    let mut errors = failures(resources.errors);
    for failure in failures(templates.errors) {
        let known = |known: &Failure| known.extension_name == failure.extension_name;
        if !errors.iter().any(known) {
            errors.push(failure);
        }
    }
    Ok(Response::json(&Resources {
        resources: resources.items.into_iter().map(resource).collect(),
        templates: templates.items.into_iter().map(template).collect(),
        errors,
    }))
}

fn prompts(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let cancel = cancel_of(registry, request);
    let agent = registry.agent(request.required_query("session_id")?)?;
    let manager = agent.extensions(&cancel)?;
    let prompts = manager.prompts(request.query("extension_name"), &cancel);
    Ok(Response::json(&Prompts {
        prompts: prompts.items.into_iter().map(prompt).collect(),
        errors: failures(prompts.errors),
    }))
}

fn resource(of: ExtensionItem<Resource>) -> Info {
    Info {
        extension_name: of.extension,
        uri: Some(of.item.uri),
        name: of.item.name,
        title: of.item.title,
        description: of.item.description,
        mime_type: of.item.mime_type,
        ..Info::default()
    }
}

fn template(of: ExtensionItem<ResourceTemplate>) -> Info {
    Info {
        extension_name: of.extension,
        uri_template: Some(of.item.uri_template),
        name: of.item.name,
        description: of.item.description,
        mime_type: of.item.mime_type,
        ..Info::default()
    }
}

fn prompt(of: ExtensionItem<Prompt>) -> Info {
    Info {
        extension_name: of.extension,
        name: of.item.name,
        title: of.item.title,
        description: of.item.description,
        arguments: of.item.arguments,
        ..Info::default()
    }
}

fn failures(errors: Vec<extension::Error>) -> Vec<Failure> {
    let failure = |error: extension::Error| Failure {
        message: error.to_string(),
        class: error.class,
        extension_name: error.extension,
    };
    errors.into_iter().map(failure).collect()
}
