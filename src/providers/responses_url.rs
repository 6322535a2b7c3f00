//! OpenAI's two protocols on one server: which of them a request goes over, and the URL of Responses.

use super::server_url::{CHAT, DEPLOYMENTS, RESPONSES, join, origin};

/// The hosts that offer OpenAI's own models over both protocols, with their subdomains.
const OPENAI_HOSTS: [&str; 7] = [
    "api.openai.com",
    "openai.azure.com",
    "openai.azure.us",
    "openai.azure.cn",
    "cognitiveservices.azure.com",
    "services.ai.azure.com",
    "githubcopilot.com",
];
/// The first version of Azure's dated API in which Responses has encrypted reasoning.
const AZURE_VERSION: &str = "2025-04-01-preview";

/// When requests go over Responses instead of chat completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseResponses {
    /// For a model of which the server says that it needs it.
    OnRefusal,
    /// Also for a model whose name says so, as on OpenAI's own server.
    ByModel,
    /// Always.
    Always,
}

/// When requests to this URL go over Responses.
pub(super) fn use_responses(url: &str) -> UseResponses {
    let path = url.split('?').next().unwrap_or_default();
    let host = origin(path).rsplit("//").next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let is_on = |known: &str| {
        let subdomain = host.strip_suffix(known);
        subdomain.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if path.rsplit('/').next() == Some(RESPONSES) {
        UseResponses::Always
    } else if OPENAI_HOSTS.into_iter().any(is_on) {
        UseResponses::ByModel
    } else {
        UseResponses::OnRefusal
    }
}

/// The URL of Responses, next to chat completions.
pub(super) fn responses_url(chat: &str) -> String {
    let (path, query) = chat.split_once('?').unwrap_or((chat, ""));
    if let Some((base, _)) = path.split_once(DEPLOYMENTS) {
        let version = (query.split('&')).find_map(|field| field.strip_prefix("api-version="));
        // Versions are dates.
        let version = version.unwrap_or_default().max(AZURE_VERSION);
        return format!("{base}/openai/{RESPONSES}?api-version={version}");
    }
    let url = match path.strip_suffix(CHAT) {
        Some(before) => format!("{before}{RESPONSES}"),
        None if path.ends_with(RESPONSES) => path.to_owned(),
        None => join(origin(path), "v1/responses"),
    };
    match query {
        "" => url,
        query => format!("{url}?{query}"),
    }
}

/// Whether the URL contains the name of a deployment on Azure.
pub(super) fn names_deployment(url: &str) -> bool {
    url.contains(DEPLOYMENTS)
}

#[cfg(test)]
mod tests;
