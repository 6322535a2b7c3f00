//! The Cargo features: what this build contains and what it leaves out.
//!
//! What each contains, the page `features` of the manual says (`src/manual/features.md`).
//!
//! All are on by default. Those of the builtin servers enable the feature `builtin`, which contains what all of
//! them need: the command `gosling mcp`, connections inside the process, and the side of MCP that offers tools.
//!
//! A request for something that the build leaves out fails like a request for something unknown, and the error
//! ends with [`hint`].

use crate::http::{Access, Error, Method, Request, Router};

/// A feature.
pub struct Feature {
    /// Its name.
    pub name: &'static str,
    /// Whether this build has it.
    pub is_built: bool,
    /// What the server says in place of its routes.
    without: &'static str,
    /// Its routes, by method.
    routes: &'static [(Method, &'static [&'static str])],
}

macro_rules! features {
    ($($name:literal, $without:literal, [$($method:ident $($path:literal)+),* $(,)?];)*) => {
        /// The features in alphabetical order.
        pub const FEATURES: &[Feature] = &[$(Feature {
            name: $name,
            is_built: cfg!(feature = $name),
            without: $without,
            routes: &[$((Method::$method, &[$($path),+])),*],
        }),*];
    };
}

features! {
    "acp", "the Agent Client Protocol is not spoken", [Get "/acp"];
    "analyze", "", [];
    "anthropic", "", [];
    "audit", "there is no audit log", [Get "/audit/tail"];
    "azure", "", [];
    "backup", "", [];
    "bedrock", "", [];
    "chat", "", [];
    "check", "no server is checked", [Post "/agent/check_extension"];
    "console", "there is no console", [
        Get "/agent/extensions/{name}/log" "/agent/tools/{name}" "/console" "/console/{file}",
        Post "/agent/extensions/restart",
    ];
    "containers", "", [];
    "copilot", "", [];
    "databricks", "", [];
    "deeplinks", "links are not read", [Post "/config/extensions/deeplink"];
    "demo", "", [];
    "desktop", "this is for the pages of Goose Desktop", [
        Get "/agent/export_app/{name}" "/agent/list_apps" "/config/custom-providers/{id}"
            "/config/provider-catalog"
            "/config/provider-catalog/{id}" "/config/provider-secrets"
            "/config/validate" "/diagnostics/{session_id}" "/diagnostics/{session_id}/report"
            "/dictation/config" "/gateway/status"
            "/local-inference/models" "/mcp-app-proxy" "/mcp-app-view" "/mcp-ui-proxy"
            "/system_info" "/tunnel/status",
        Post "/agent/import_app" "/config/backup" "/config/custom-providers"
            "/config/detect-provider" "/config/init"
            "/config/providers/{name}/cleanup" "/config/providers/{name}/oauth"
            "/config/recover" "/handle_nanogpt" "/handle_openrouter" "/handle_tetrate"
            "/sessions/import/nostr" "/sessions/{session_id}/share/nostr" "/telemetry/event"
            "/tunnel/start" "/tunnel/stop",
        Put "/config/custom-providers/{id}",
        Delete "/config/custom-providers/{id}" "/config/provider-secrets/{id}",
    ];
    "developer", "", [];
    "embedding", "", [];
    "google", "", [];
    "image", "", [];
    "info", "", [];
    "inline-python", "", [];
    "keys", "the server's key is the only one", [Post "/ticket"];
    "manual", "This server does not have its OpenAPI document", [Get "/openapi.json"];
    "memory", "", [];
    "metrics", "there are no metrics", [Get "/metrics"];
    "ollama", "", [];
    "openai", "", [];
    "pinning", "tools are not pinned", [Post "/agent/extensions/accept"];
    "policy", "", [];
    "recipes", "there are no recipes", [
        Get "/config/prompts" "/config/prompts/{name}" "/recipes/list",
        Post "/recipes/create" "/recipes/decode" "/recipes/delete" "/recipes/encode"
            "/recipes/parse" "/recipes/save" "/recipes/scan" "/recipes/slash-command"
            "/recipes/to-yaml",
        Put "/config/prompts/{name}",
        Delete "/config/prompts/{name}",
    ];
    "release", "", [];
    "sandbox", "", [];
    "schedules", "there are no schedules", [
        Get "/schedule/list" "/schedule/{id}/inspect" "/schedule/{id}/sessions",
        Post "/recipes/schedule" "/schedule/create" "/schedule/{id}/kill" "/schedule/{id}/pause"
            "/schedule/{id}/run_now" "/schedule/{id}/unpause",
        Put "/schedule/{id}",
        Delete "/schedule/delete/{id}",
    ];
    "screen", "", [];
    "screening", "", [];
    "scripted", "", [];
    "search", "sessions are not searched", [Get "/sessions/search"];
    "service", "nothing is told to probes", [Get "/health" "/health/live" "/health/ready"];
    "session-events", "a turn ends with its client here", [
        Get "/sessions/{session_id}/events",
        Post "/sessions/{session_id}/cancel" "/sessions/{session_id}/reply",
    ];
    "streamable-http", "", [];
    "tls", "", [];
    "todo", "", [];
    "vertex", "", [];
}

/// Adds the routes of the features that the build leaves out: each is answered as unknown, and says which feature it
/// needs.
pub(crate) fn routes(router: Router) -> Router {
    let left_out = FEATURES.iter().filter(|feature| !feature.is_built);
    let paths = left_out.flat_map(|feature| {
        let routes = feature.routes.iter();
        routes.flat_map(move |(method, paths)| paths.iter().map(move |it| (feature, method, it)))
    });
    paths.fold(router, |router, (feature, method, path)| {
        let answer = move |_: &Request| {
            let hint = hint(feature.name);
            Err(Error::not_found(format!("{}{hint}", feature.without)))
        };
        router.route(method.clone(), *path, Access::Keyed, answer)
    })
}

/// Whether `name` is a feature that this build leaves out.
pub fn is_left_out(name: &str) -> bool {
    FEATURES
        .iter()
        .any(|feature| feature.name == name && !feature.is_built)
}

/// The end of an error for something that the build leaves out with the feature `name`, from the semicolon
/// on; empty if the build has the feature or there is none of this name.
pub fn hint(name: &str) -> String {
    if is_left_out(name) {
        format!("; this gosling was built without it, `cargo build --features {name}` adds it")
    } else {
        String::new()
    }
}

/// The features of the builtin servers, which have their names.
pub const SERVERS: &[&str] = &["demo", "developer", "memory", "todo"];

/// The providers that a feature alone adds, with the feature.
const PROVIDERS: &[(&str, &str)] = &[
    ("anthropic", "anthropic"),
    ("aws_bedrock", "bedrock"),
    ("gcp_vertex_ai", "vertex"),
    ("google", "google"),
    ("ollama", "ollama"),
    ("openai", "openai"),
    ("scripted", "scripted"),
];

/// As [`hint`], for a provider that is not known: if a feature alone adds it, or the build leaves out all of those
/// behind HTTP.
pub fn hint_of_provider(name: &str) -> String {
    let found = PROVIDERS.iter().find(|(provider, _)| *provider == name);
    match found {
        Some((_, feature)) => hint(feature),
        None if is_left_out("openai") => {
            "; this gosling was built without providers behind HTTP, `cargo build --features openai` adds them".to_owned()
        }
        None => String::new(),
    }
}

/// As [`hint`], if `name` is one of `features`; empty for all other names.
pub fn hint_among(features: &[&str], name: &str) -> String {
    if features.contains(&name) {
        hint(name)
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests;
