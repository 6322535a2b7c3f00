//! `/mcp-ui-proxy` and `/mcp-app-proxy`: the page between a client's page and a UI of an MCP server. CORE §7.5,
//! SEP-1865.
//!
//! The page itself, `ui_proxy.html`, says how it isolates the UI. This module builds its Content Security
//! Policy, which is also that of the UI. `/mcp-app-view`, the document of an MCP App, contains nothing and takes an
//! app only from a page of this server, so it needs no key, which the app would find in its address.

use crate::http::Access::{Public, QueryKeyed};
use crate::http::{Error, Request, Response, Router};
use crate::json;
use serde::Deserialize;

const PAGE: &str = include_str!("ui_proxy.html");
const VIEW: &str = include_str!("ui_view.html");

/// What the sandbox of an app may allow at most, as `SANDBOX` in ui_proxy.html. It makes the origin opaque.
const VIEW_SANDBOX: &str = "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads \
     allow-pointer-lock allow-orientation-lock";

/// The policy for MCP-UI, whose resources do not declare what they load: everything but plugins and `<base>`.
const MCP_UI_POLICY: &str = "default-src http: https: ws: wss: data: blob: 'unsafe-inline' 'unsafe-eval'; \
     frame-src http: https:; object-src 'none'; base-uri 'none'";

/// The most sources of one list.
const MAX_SOURCES: usize = 64;

/// The longest source: a scheme, a name of 253 bytes, a port and a path.
const MAX_SOURCE_LENGTH: usize = 512;

pub(super) fn routes(router: Router) -> Router {
    router
        .get("/mcp-ui-proxy", QueryKeyed, |_| {
            Ok(page(PAGE, MCP_UI_POLICY))
        })
        .get("/mcp-app-proxy", QueryKeyed, app_page)
        .get("/mcp-app-view", Public, app_view)
}

fn page(content: &'static str, policy: &str) -> Response {
    Response::bytes("text/html; charset=utf-8", content)
        .header("Content-Security-Policy", policy)
        .header("Referrer-Policy", "no-referrer")
        .header("Cache-Control", "no-store")
        .header("X-Content-Type-Options", "nosniff")
}

fn app_page(request: &Request) -> Result<Response, Error> {
    // The page frames its view, which is on this server.
    let policy = Domains::of(request)?.policy("'self'");
    Ok(page(PAGE, &policy))
}

fn app_view(request: &Request) -> Result<Response, Error> {
    // Not `frame-ancestors`, which the client's page around the proxy page would have to match, too. The document
    // itself takes an app from a page of this server only, for browsers that do not send this.
    let site = request.header("Sec-Fetch-Site").unwrap_or("same-origin");
    if !matches!(site, "same-origin" | "none") {
        return Err(Error::new(
            403,
            "Only pages of this server may show this document",
        ));
    }
    let policy = Domains::of(request)?.policy("");
    Ok(page(VIEW, &format!("{policy}; {VIEW_SANDBOX}")))
}

/// The origins that an app may use (SEP-1865, `McpUiResourceCsp`). Nothing but these and its own text.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Domains {
    /// For requests and WebSockets.
    connect_domains: Vec<String>,
    /// For scripts, styles, images, fonts and media.
    resource_domains: Vec<String>,
    /// For scripts in addition; Goose Desktop from 1.26 on.
    script_domains: Vec<String>,
    /// For frames inside the app.
    frame_domains: Vec<String>,
    /// For `<base>`.
    base_uri_domains: Vec<String>,
}

impl Domains {
    /// The domains of the query: comma-separated lists, as Goose Desktop sends them, or all as JSON in `csp`,
    /// as `@mcp-ui/client` sends them. Fails with 400 if `csp` is not such an object.
    fn of(request: &Request) -> Result<Domains, Error> {
        let mut domains: Domains = match request.query("csp") {
            None => Domains::default(),
            Some(text) => json::from_str(text).map_err(|error| {
                Error::bad_request(format!("`csp` in the query is not a `ui.csp`: {error}"))
            })?,
        };
        for (name, list) in [
            ("connect_domains", &mut domains.connect_domains),
            ("resource_domains", &mut domains.resource_domains),
            ("script_domains", &mut domains.script_domains),
            ("frame_domains", &mut domains.frame_domains),
            ("base_uri_domains", &mut domains.base_uri_domains),
        ] {
            let sent = request.query(name).unwrap_or_default().split(',');
            list.extend(
                sent.map(str::trim)
                    .filter(|s| !s.is_empty())
                    .map(str::to_owned),
            );
            keep_sources(name, list);
        }
        Ok(domains)
    }

    /// The Content Security Policy with the most that an app may do, and `frames` as further sources of frames.
    /// There is no other `'self'`, which would be this server. Inline scripts are allowed, so `eval`, which apps
    /// need, adds nothing.
    fn policy(&self, frames: &str) -> String {
        let connect = self.connect_domains.join(" ");
        let resources = self.resource_domains.join(" ");
        let scripts = self.script_domains.join(" ");
        let or_none = |list: &[String], more: &str| {
            let sources = list.iter().map(String::as_str).chain([more]);
            let sources: Vec<&str> = sources.filter(|source| !source.is_empty()).collect();
            match sources.as_slice() {
                [] => "'none'".to_owned(),
                sources => sources.join(" "),
            }
        };
        format!(
            "default-src 'none'; \
             script-src 'unsafe-inline' 'unsafe-eval' blob: data: {resources} {scripts}; \
             style-src 'unsafe-inline' blob: data: {resources}; \
             img-src blob: data: {resources}; \
             font-src blob: data: {resources}; \
             media-src blob: data: {resources}; \
             connect-src blob: data: {connect}; \
             worker-src blob: data: {resources}; \
             frame-src {}; \
             base-uri {}; \
             form-action 'none'",
            or_none(&self.frame_domains, frames),
            or_none(&self.base_uri_domains, ""),
        )
    }
}

/// Drops what is not a source, so that a resource can ask for less than it declares, never for more.
fn keep_sources(name: &str, list: &mut Vec<String>) {
    let before = list.len();
    list.retain(|source| is_source(source));
    list.truncate(MAX_SOURCES);
    if list.len() < before {
        let dropped = before - list.len();
        log::warn!("domains of an MCP app not allowed list={name} dropped={dropped}");
    }
}

/// Whether `text` is a host source of a policy: a host with an optional scheme, port and path (CSP3 §2.3.1).
/// Keywords, schemes without a host and `*` are not; neither is anything that could begin another source or
/// directive. As `SOURCE` in ui_proxy.html.
fn is_source(text: &str) -> bool {
    let (authority, path) = match text.split_once("://") {
        Some((scheme, rest)) => {
            if !["http", "https", "ws", "wss"].contains(&scheme.to_ascii_lowercase().as_str()) {
                return false;
            }
            rest.split_once('/').unwrap_or((rest, ""))
        }
        None => text.split_once('/').unwrap_or((text, "")),
    };
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let is_port = |port: &str| {
        port == "*" || matches!(port.len(), 1..=5) && port.bytes().all(|b| b.is_ascii_digit())
    };
    text.len() <= MAX_SOURCE_LENGTH
        && host
            .strip_prefix("*.")
            .unwrap_or(host)
            .split('.')
            .all(is_label)
        && port.is_none_or(is_port)
        && path
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_.~%/@+-".contains(&b))
}

#[cfg(test)]
mod tests;
