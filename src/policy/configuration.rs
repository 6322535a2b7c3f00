//! The operations that change what users and schedules find later. Settings are not among them: each change of one is
//! judged by itself, whichever operation it comes from.

/// Routes and methods, as [`ClientKeys`](gosling_core::http::ClientKeys) calls them.
const OPERATIONS: &[&str] = &[
    "POST /agent/import_app",
    "POST /config/custom-providers",
    "PUT /config/custom-providers/{id}",
    "DELETE /config/custom-providers/{id}",
    "POST /config/init",
    "POST /config/permissions",
    "PUT /config/prompts/{name}",
    "DELETE /config/prompts/{name}",
    "DELETE /config/provider-secrets/{id}",
    "POST /config/providers/{name}/cleanup",
    "POST /config/providers/{name}/oauth",
    "POST /config/recover",
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
    "acp _goose/unstable/apps/delete",
    "acp _goose/unstable/apps/import",
    "acp _goose/unstable/config/prompts/reset",
    "acp _goose/unstable/config/prompts/save",
    "acp _goose/unstable/providers/config/authenticate",
    "acp _goose/unstable/providers/config/delete",
    "acp _goose/unstable/providers/config/save",
    "acp _goose/unstable/providers/custom/create",
    "acp _goose/unstable/providers/custom/delete",
    "acp _goose/unstable/providers/custom/update",
    "acp _goose/unstable/providers/secrets/delete",
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
    "acp _goose/unstable/tools/permissions/set",
];

/// Whether this operation changes them.
pub(crate) fn changes(operation: &str) -> bool {
    OPERATIONS.contains(&operation)
}

/// The operations, for a test that they exist.
pub fn operations() -> &'static [&'static str] {
    OPERATIONS
}
