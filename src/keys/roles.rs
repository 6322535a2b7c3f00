//! What each role may do: the table of all routes and methods.

use serde::Serialize;
use std::fmt;

/// What the client of a key may do; each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads the numbers for Prometheus.
    Metrics,
    /// Reads sessions, recipes and schedules, but no secrets and no settings that may have some.
    Read,
    /// Begins sessions, sends messages, answers questions, calls tools.
    Chat,
    /// Changes settings, extensions, recipes and schedules.
    Configure,
    /// Does everything.
    Admin,
}

use Role::{Admin, Chat, Configure, Metrics, Read};

impl Role {
    /// All roles, from the least on.
    pub const ALL: [Role; 5] = [Metrics, Read, Chat, Configure, Admin];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Metrics => "metrics",
            Read => "read",
            Chat => "chat",
            Configure => "configure",
            Admin => "admin",
        }
    }

    /// The role of this name.
    pub fn named(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The least role that may use an operation: a route, as `GET /sessions/{session_id}`, or a method, as `acp
/// session/new`. What is not in the table needs [`Role::Admin`].
pub fn role_of(operation: &str) -> Role {
    let mut rows = TABLE.iter();
    let row = rows.find(|(_, operations)| operations.contains(&operation));
    row.map_or(Admin, |(role, _)| *role)
}

/// The operations of the table, with the least roles that may use them.
pub fn operations() -> impl Iterator<Item = (&'static str, Role)> {
    let rows = TABLE.iter();
    rows.flat_map(|(role, operations)| operations.iter().map(|it| (*it, *role)))
}

/// The operations that need less than everything, by the least role that may use them. Those of extensions (`POST
/// /agent/start` and so on) depend on what is sent, too, see `request_checks`.
pub(crate) const TABLE: &[(Role, &[&str])] = &[
    (
        Metrics,
        &[
            "GET /metrics",
            // A ticket can do no more than the key that asks for it.
            "POST /ticket",
        ],
    ),
    (
        Read,
        &[
            "GET /acp",
            "GET /agent/extensions",
            "POST /config/canonical-model-info",
            "GET /config/prompts",
            "GET /config/prompts/{name}",
            "GET /config/provider-catalog",
            "GET /config/provider-catalog/{id}",
            "GET /config/providers",
            "GET /config/slash_commands",
            "GET /dictation/config",
            "GET /gateway/status",
            "GET /health",
            "GET /local-inference/models",
            "GET /mcp-app-proxy",
            "GET /mcp-ui-proxy",
            "GET /openapi.json",
            "GET /recipes/list",
            "GET /schedule/list",
            "GET /schedule/{id}/inspect",
            "GET /schedule/{id}/sessions",
            "GET /sessions",
            "GET /sessions/insights",
            "GET /sessions/search",
            "GET /sessions/{session_id}",
            "GET /sessions/{session_id}/events",
            "GET /sessions/{session_id}/export",
            "GET /sessions/{session_id}/extensions",
            "GET /system_info",
            "GET /tunnel/status",
            "acp authenticate",
            "acp logout",
            "acp session/list",
            "acp session/status",
            "acp _goose/unstable/agent-mentions/list",
            "acp _goose/unstable/config/prompts/get",
            "acp _goose/unstable/config/prompts/list",
            "acp _goose/unstable/defaults/read",
            "acp _goose/unstable/dictation/config",
            "acp _goose/unstable/onboarding/import/scan",
            "acp _goose/unstable/providers/canonical-model-info",
            "acp _goose/unstable/providers/catalog/list",
            "acp _goose/unstable/providers/catalog/template",
            "acp _goose/unstable/providers/config/status",
            "acp _goose/unstable/providers/list",
            "acp _goose/unstable/providers/setup/catalog/list",
            "acp _goose/unstable/recipes/list",
            "acp _goose/unstable/schedules/list",
            "acp _goose/unstable/schedules/running-job/inspect",
            "acp _goose/unstable/schedules/sessions/list",
            "acp _goose/unstable/session/export",
            "acp _goose/unstable/session/info",
            "acp _goose/unstable/slash-commands/list",
            "acp _goose/unstable/sources/list",
        ],
    ),
    (
        Chat,
        &[
            "POST /action-required/tool-confirmation",
            "POST /agent/add_extension",
            "POST /agent/call_tool",
            "POST /agent/extensions/restart",
            "GET /agent/export_app/{name}",
            "GET /agent/list_apps",
            "GET /agent/prompts",
            "POST /agent/read_resource",
            "POST /agent/remove_extension",
            "GET /agent/resources",
            "POST /agent/restart",
            "POST /agent/resume",
            "POST /agent/start",
            "POST /agent/stop",
            "GET /agent/tools",
            "GET /agent/tools/{name}",
            "POST /agent/update_from_session",
            "POST /agent/update_provider",
            "POST /agent/update_session",
            "POST /agent/update_working_dir",
            "GET /config/providers/{name}/models",
            "POST /config/providers/{name}/model-info",
            "POST /recipes/create",
            "POST /recipes/decode",
            "POST /recipes/encode",
            "POST /recipes/parse",
            "POST /recipes/scan",
            "POST /recipes/to-yaml",
            "POST /reply",
            "DELETE /sessions/{session_id}",
            "POST /sessions/{session_id}/cancel",
            "POST /sessions/{session_id}/fork",
            "PUT /sessions/{session_id}/name",
            "POST /sessions/{session_id}/reply",
            "POST /sessions/{session_id}/steer",
            "PUT /sessions/{session_id}/user_recipe_values",
            "POST /telemetry/event",
            "POST /tool_result",
            "acp session/archive",
            "acp session/cancel",
            "acp session/close",
            "acp session/delete",
            "acp session/fork",
            "acp session/load",
            "acp session/new",
            "acp session/prompt",
            "acp session/resume",
            "acp session/set_config_option",
            "acp session/set_mode",
            "acp session/set_model",
            "acp session/set_title",
            "acp session/unarchive",
            "acp _goose/unstable/apps/export",
            "acp _goose/unstable/apps/list",
            "acp _goose/unstable/extensions/available",
            "acp _goose/unstable/providers/supported-models/list",
            "acp _goose/unstable/recipes/decode",
            "acp _goose/unstable/recipes/encode",
            "acp _goose/unstable/recipes/parse",
            "acp _goose/unstable/recipes/scan",
            "acp _goose/unstable/recipes/to-yaml",
            "acp _goose/unstable/resources/read",
            "acp _goose/unstable/session/archive",
            "acp _goose/unstable/session/conversation/truncate",
            "acp _goose/unstable/session/extensions/remove",
            "acp _goose/unstable/session/project/update",
            "acp _goose/unstable/session/rename",
            "acp _goose/unstable/session/steer",
            "acp _goose/unstable/session/unarchive",
            "acp _goose/unstable/session/working-dir/update",
            "acp _goose/unstable/tools/call",
            "acp _goose/unstable/tools/list",
        ],
    ),
    (
        Configure,
        &[
            "POST /agent/check_extension",
            "POST /agent/extensions/accept",
            "GET /agent/extensions/{name}/log",
            "POST /agent/import_app",
            "GET /config",
            "POST /config/backup",
            "POST /config/check_provider",
            "POST /config/custom-providers",
            "GET /config/custom-providers/{id}",
            "PUT /config/custom-providers/{id}",
            "DELETE /config/custom-providers/{id}",
            "POST /config/detect-provider",
            "GET /config/extensions",
            "POST /config/extensions",
            "POST /config/extensions/deeplink",
            "DELETE /config/extensions/{name}",
            "POST /config/init",
            "POST /config/permissions",
            "PUT /config/prompts/{name}",
            "DELETE /config/prompts/{name}",
            "GET /config/provider-secrets",
            "DELETE /config/provider-secrets/{id}",
            "POST /config/providers/{name}/cleanup",
            "POST /config/providers/{name}/oauth",
            "POST /config/read",
            "POST /config/remove",
            "POST /config/set_provider",
            "POST /config/upsert",
            "GET /config/validate",
            "POST /handle_nanogpt",
            "POST /handle_openrouter",
            "POST /handle_tetrate",
            "POST /recipes/delete",
            "POST /recipes/save",
            "POST /recipes/schedule",
            "POST /recipes/slash-command",
            "POST /schedule/create",
            "DELETE /schedule/delete/{id}",
            "PUT /schedule/{id}",
            "POST /schedule/{id}/kill",
            "POST /schedule/{id}/pause",
            "POST /schedule/{id}/run_now",
            "POST /schedule/{id}/unpause",
            "POST /sessions/import",
            "POST /sessions/import/nostr",
            "POST /sessions/{session_id}/share/nostr",
            "POST /tunnel/start",
            "POST /tunnel/stop",
            "acp providers/disable",
            "acp providers/list",
            "acp providers/set",
            "acp _goose/unstable/apps/delete",
            "acp _goose/unstable/apps/import",
            "acp _goose/unstable/config/extensions/add",
            "acp _goose/unstable/config/extensions/list",
            "acp _goose/unstable/config/extensions/remove",
            "acp _goose/unstable/config/extensions/set-enabled",
            "acp _goose/unstable/config/prompts/reset",
            "acp _goose/unstable/config/prompts/save",
            "acp _goose/unstable/config/read",
            "acp _goose/unstable/config/read-all",
            "acp _goose/unstable/config/remove",
            "acp _goose/unstable/config/upsert",
            "acp _goose/unstable/defaults/clear",
            "acp _goose/unstable/defaults/save",
            "acp _goose/unstable/preferences/read",
            "acp _goose/unstable/preferences/remove",
            "acp _goose/unstable/preferences/save",
            "acp _goose/unstable/providers/config/authenticate",
            "acp _goose/unstable/providers/config/delete",
            "acp _goose/unstable/providers/config/read",
            "acp _goose/unstable/providers/config/save",
            "acp _goose/unstable/providers/custom/create",
            "acp _goose/unstable/providers/custom/delete",
            "acp _goose/unstable/providers/custom/read",
            "acp _goose/unstable/providers/custom/update",
            "acp _goose/unstable/providers/inventory/refresh",
            "acp _goose/unstable/providers/secrets/delete",
            "acp _goose/unstable/providers/secrets/list",
            "acp _goose/unstable/recipes/delete",
            "acp _goose/unstable/recipes/save",
            "acp _goose/unstable/recipes/schedule",
            "acp _goose/unstable/recipes/slash-command",
            "acp _goose/unstable/schedules/create",
            "acp _goose/unstable/schedules/delete",
            "acp _goose/unstable/schedules/pause",
            "acp _goose/unstable/schedules/run-now",
            "acp _goose/unstable/schedules/running-job/kill",
            "acp _goose/unstable/schedules/unpause",
            "acp _goose/unstable/schedules/update",
            "acp _goose/unstable/session/extensions/add",
            "acp _goose/unstable/session/extensions/list",
            "acp _goose/unstable/session/import",
            "acp _goose/unstable/session/share/nostr",
            "acp _goose/unstable/tools/permissions/set",
        ],
    ),
    (
        Admin,
        &[
            "POST /agent/set_container",
            "GET /audit/tail",
            "POST /config/recover",
            "GET /diagnostics/{session_id}",
            "GET /diagnostics/{session_id}/report",
            "acp _goose/unstable/diagnostics/get",
        ],
    ),
];

#[cfg(test)]
mod tests;
