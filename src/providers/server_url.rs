//! The URLs of servers, as users write them.

use crate::outbound::is_loopback_url;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// The path of chat completions, after that of the version.
pub(super) const CHAT: &str = "chat/completions";
/// The path of Responses, likewise.
pub(super) const RESPONSES: &str = "responses";
/// The path of Azure's deployments.
pub(super) const DEPLOYMENTS: &str = "/openai/deployments/";
/// The path of Azure's API without dated versions.
const AZURE_V1: &str = "/openai/v1";

/// A server's URL from the user's setting, which may lack the scheme or end with a slash.
pub(super) fn base_url(host: &str) -> String {
    with_scheme(host, is_loopback_url)
}

/// The URL of a host, which gets the scheme `http` or `https` if it has none: `http` if `is_plain` says so of that
/// URL.
pub(super) fn with_scheme(host: &str, is_plain: fn(&str) -> bool) -> String {
    let host = host.trim().trim_end_matches('/');
    if host.contains("://") {
        return host.to_owned();
    }
    let plain = format!("http://{host}");
    if is_plain(&plain) {
        plain
    } else {
        format!("https://{host}")
    }
}

/// Scheme, host and port.
pub(super) fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find('/').map_or(url.len(), |at| start + at);
    &url[..end]
}

/// Joins a path to a server's URL, without repeating the part of the path that the URL already ends with.
pub(super) fn join(base: &str, path: &str) -> String {
    let base = base.trim_end_matches('/');
    let path = path.trim_matches('/');
    let mut there: Vec<&str> = base[origin(base).len()..].split('/').skip(1).collect();
    let wanted: Vec<&str> = path.split('/').collect();
    let shared = (1..=wanted.len())
        .rev()
        .find(|&n| there.ends_with(&wanted[..n]));
    there.extend(&wanted[shared.unwrap_or(0)..]);
    format!("{}/{}", origin(base), there.join("/"))
}

/// The URL of the list of models, next to chat completions.
pub(super) fn models_url(chat: &str) -> String {
    let chat = chat.split('?').next().unwrap_or_default();
    match (chat.strip_suffix(CHAT)).or_else(|| chat.strip_suffix(RESPONSES)) {
        Some(before) => format!("{before}models"),
        None => join(origin(chat), "v1/models"),
    }
}

/// The URL of chat completions of a deployment on Azure. Azure's API without dated versions, which the base or
/// the version names, has the deployment in the body of requests.
pub(super) fn deployment_url(base: &str, name: &str, version: &str) -> String {
    let v1 = base.strip_suffix(AZURE_V1);
    if v1.is_some() || matches!(version, "v1" | "latest" | "preview") {
        let base = v1.unwrap_or(base);
        let query = if version == "preview" {
            "?api-version=preview"
        } else {
            ""
        };
        return format!("{base}{AZURE_V1}/{CHAT}{query}");
    }
    let name = utf8_percent_encode(name, NON_ALPHANUMERIC).to_string();
    // These characters of deployment names need no escape.
    let name = name
        .replace("%2D", "-")
        .replace("%2E", ".")
        .replace("%5F", "_");
    format!("{base}{DEPLOYMENTS}{name}/{CHAT}?api-version={version}")
}

#[cfg(test)]
mod tests;
