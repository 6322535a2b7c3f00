//! The URLs of servers, as users write them.

use crate::outbound::is_loopback_url;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// The path of chat completions, after that of the version.
pub(super) const CHAT: &str = "chat/completions";

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
    match chat.strip_suffix(CHAT) {
        Some(before) => format!("{before}models"),
        None => join(origin(chat), "v1/models"),
    }
}

/// The URL of chat completions of a deployment on Azure.
pub(super) fn deployment_url(base: &str, name: &str, version: &str) -> String {
    let name = utf8_percent_encode(name, NON_ALPHANUMERIC).to_string();
    // These characters of deployment names need no escape.
    let name = name
        .replace("%2D", "-")
        .replace("%2E", ".")
        .replace("%5F", "_");
    format!("{base}/openai/deployments/{name}/{CHAT}?api-version={version}")
}

#[cfg(test)]
mod tests;
