//! Names that look like settings and are none: they have no effect, which the user should know.

use super::{ALL, Fault, MAX_SHOWN, find};
use crate::text::printable;
use std::path::Path;

/// Settings and variables of Goose, without the prefix, that gosling does not use; they are not misspelled.
const OF_GOOSE: &str = "ALLOWLIST_BYPASS BASE_DIR BIN BUNDLE_TYPE CLI_DARK_THEME CLI_LIGHT_THEME CLI_MIN_PRIORITY \
    CLI_NEWLINE_KEY CLI_SESSION_ID CLI_SHOW_COST CLI_SHOW_THINKING CLI_THEME CLI_TOOL_PARAMS_TRUNCATION_MAX_LENGTH \
    CONTEXT_STRATEGY DEBUG DEFAULT_EXTENSION_TIMEOUT DEFAULT_MODEL DEFAULT_PROVIDER DISABLE_KEYRING \
    DISABLE_SESSION_NAMING EDITOR_API_KEY EDITOR_HOST EDITOR_MODEL EMBEDDING_MODEL EMBEDDING_MODEL_PROVIDER \
    ENABLE_ROUTER EXTERNAL_BACKEND EXTERNAL_BACKEND_URL FAST_MODEL GITHUB_REPO INPUT_LIMIT LEAD_CONTEXT_LIMIT \
    LOCAL_ENABLE_THINKING MAX_ACTIVE_AGENTS MAX_BACKGROUND_TASKS MODEL_CONFIG MODEL_OVERRIDES MOIM_MESSAGE_FILE \
    MOIM_MESSAGE_TEXT OAUTH_CALLBACK_PORT OAUTH_CALLBACK_TIMEOUT_SECONDS PLANNER_CONTEXT_LIMIT PLANNER_MODEL \
    PLANNER_PROVIDER PREDEFINED_MODELS PROMPT_EDITOR PROVIDER__API_KEY PROVIDER__HOST PROVIDER__MODEL PROVIDER__TYPE \
    RANDOM_THINKING_MESSAGES RECIPE_GITHUB_REPO RECIPE_ON_FAILURE_TIMEOUT_SECONDS RECIPE_RETRY_TIMEOUT_SECONDS \
    ROUTER_TOOL_SELECTION_STRATEGY SCHEDULER_TYPE SEARCH_PATHS SERVER__HOST SERVER__MEMORY SERVER__PORT SHELL \
    STATUS_HOOK SUBAGENT_MAX_TURNS SUBAGENT_MODEL SUBAGENT_PROVIDER SYSTEM_PROMPT_FILE_PATH TELEMETRY_ENABLED \
    TELEMETRY_OFF TEMPORAL_BIN TERMINAL THINKING_EFFORT TOOLSHIM TOOLSHIM_MODEL TOOLSHIM_OLLAMA_MODEL TOOL_CALL_CUTOFF \
    VERSION WORKER_CONTEXT_LIMIT WORKING_DIR";
const PREFIX: &str = "GOOSE_";
/// How many names of a file are looked at.
const MAX_NAMES: usize = 1_000;

/// The faults of the names in the file `path`.
pub fn in_file<'a>(path: &Path, names: impl Iterator<Item = &'a str>) -> Vec<Fault> {
    let wrong = |name| match find(name) {
        Some(setting) if setting.environment_only => Some(Fault::warning(format!(
            "{name} in {} is not used: it counts in the environment only",
            path.display()
        ))),
        Some(_) => None,
        None => misspelled(name, Some(path)),
    };
    names.take(MAX_NAMES).filter_map(wrong).collect()
}

/// The fault of a name that is not a setting, but nearly.
pub fn misspelled(name: &str, file: Option<&Path>) -> Option<Fault> {
    let upper = name.to_ascii_uppercase();
    let rest = upper.strip_prefix(PREFIX)?;
    let mut of_goose = OF_GOOSE.split_whitespace();
    if find(name).is_some() || of_goose.any(|known| known == rest) {
        return None;
    }
    let known = ALL
        .iter()
        .filter_map(|setting| setting.name.strip_prefix(PREFIX));
    let near = known.map(|known| (distance(rest, known), known)).min()?;
    let place = file.map(|path| path.display().to_string());
    let place = place.unwrap_or_else(|| "the environment".to_owned());
    (near.0 <= (rest.len() / 3).clamp(1, 2)).then(|| {
        Fault::warning(format!(
            "{} in {place} is not a setting, so it has no effect; did you mean {PREFIX}{}?",
            printable(name, MAX_SHOWN),
            near.1
        ))
    })
}

/// How many characters must be inserted, removed, replaced or swapped with the next to get from one text to the
/// other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    if from.len().abs_diff(to.len()) > 2 {
        return usize::MAX;
    }
    let mut rows = [Vec::new(), Vec::new(), (0..=to.len()).collect::<Vec<_>>()];
    for i in 1..=from.len() {
        rows.rotate_left(1);
        let mut row = vec![i];
        for j in 1..=to.len() {
            let is_other = usize::from(from[i - 1] != to[j - 1]);
            let mut least = (rows[1][j - 1] + is_other)
                .min(rows[1][j] + 1)
                .min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[0][j - 2] + 1);
            }
            row.push(least);
        }
        rows[2] = row;
    }
    rows[2][to.len()]
}
