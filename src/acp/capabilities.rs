//! `initialize` and `authenticate`: what client and agent can do.

use serde::Deserialize;
use serde_json::{Value, json};

/// The version of the protocol.
const VERSION: u64 = 1;
/// The first method of authentication, which needs nothing: clients that always authenticate use the first.
pub(super) const NO_AUTHENTICATION: &str = "none";
/// The method that says how to configure a model.
pub(super) const CONFIGURE_MODEL: &str = "configure-model";

/// The option of `gosling acp` that asks for the model in the terminal.
pub(super) const SETUP: &str = "--setup";

/// What the client can do, as far as it is used. A member of another type counts as absent.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientCapabilities {
    /// `fs/read_text_file`.
    pub(super) reads_files: bool,
    /// `fs/write_text_file`.
    pub(super) writes_files: bool,
    /// `terminal/*`.
    pub(super) terminal: bool,
    /// `elicitation/create` with a form.
    pub(super) elicitation_form: bool,
    /// The update `notice`.
    pub(super) notices: bool,
    /// The update `compaction_update`.
    pub(super) compaction: bool,
    /// Options that are on or off.
    pub(super) boolean_options: bool,
    /// The client runs the agent in a terminal for the user to set it up.
    pub(super) terminal_setup: bool,
    /// Output of commands in the `_meta` of updates, as Zed shows it.
    pub(super) terminal_output: bool,
    /// The client is one of Goose's, which reads more from `_meta`.
    pub(super) is_goose: bool,
    /// Goose's own notifications.
    pub(super) goose_updates: bool,
    /// Goose's own request for the values of a recipe's parameters.
    pub(super) recipe_parameters: bool,
    /// The client shows an error in place of the conversation, or hardly at all: a model's error is told as an answer.
    pub(super) hides_errors: bool,
}

/// The parameters of `initialize`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialize {
    protocol_version: Value,
    #[serde(default)]
    client_capabilities: Value,
    #[serde(default)]
    client_info: Value,
}

impl ClientCapabilities {
    /// Whether the output of commands goes into the `_meta` of updates: the client shows it, and runs no commands
    /// in its own terminals.
    pub(super) fn takes_output(&self) -> bool {
        self.terminal_output && !self.terminal
    }

    /// Whether builtin servers may use files or terminals of the client.
    pub(super) fn has_workspace(&self) -> bool {
        self.reads_files || self.writes_files || self.terminal
    }
}

impl Initialize {
    /// Whether the version is a number. Any number is answered with the version that this agent speaks.
    pub(super) fn has_version(&self) -> bool {
        self.protocol_version.is_u64()
    }

    pub(super) fn capabilities(&self) -> ClientCapabilities {
        let all = &self.client_capabilities;
        let is_true = |path: &str| all.pointer(path) == Some(&Value::Bool(true));
        let is_given = |path: &str| all.pointer(path).is_some_and(Value::is_object);
        ClientCapabilities {
            reads_files: is_true("/fs/readTextFile"),
            writes_files: is_true("/fs/writeTextFile"),
            terminal: is_true("/terminal"),
            elicitation_form: is_given("/elicitation/form"),
            notices: is_given("/session/notices"),
            compaction: is_given("/session/compaction"),
            boolean_options: is_given("/session/configOptions/boolean"),
            terminal_setup: is_true("/auth/terminal"),
            terminal_output: is_true("/_meta/terminal_output"),
            is_goose: is_given("/_meta/goose"),
            goose_updates: is_true("/_meta/goose/customNotifications"),
            recipe_parameters: is_true("/_meta/goose/recipeParameterRequests"),
            hides_errors: is_given("/_meta/goose") || self.client_info["name"] == "zed",
        }
    }
}

/// The result of `initialize`.
pub(super) fn initialize_result(client: &ClientCapabilities) -> Value {
    let mut result = json!({
        "protocolVersion": VERSION,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
            "mcpCapabilities": {"http": true},
            "sessionCapabilities": {
                "list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {},
            },
            "auth": {"logout": {}},
        },
        "authMethods": [
            {
                "id": NO_AUTHENTICATION,
                "name": "No sign-in",
                "description": "Use the model that is configured for gosling",
            },
            {
                "id": CONFIGURE_MODEL,
                "name": "Configure a model",
                "description": how_to_configure(),
            },
        ],
        "agentInfo": {"name": "gosling", "title": "gosling", "version": env!("CARGO_PKG_VERSION")},
    });
    if client.terminal_setup
        && let Some(methods) = result["authMethods"].as_array_mut()
    {
        methods.push(json!({
            "type": "terminal",
            "id": "setup",
            "name": "Choose a model in a terminal",
            "description": "Asks for the provider, its key and the model, and stores them",
            "args": [SETUP],
        }));
    }
    result
}

/// How the user configures a model.
pub(super) fn how_to_configure() -> &'static str {
    "Set GOOSE_PROVIDER, GOOSE_MODEL and the key of the provider in gosling's config.yaml, or as environment \
     variables of the agent in the settings of this editor; `gosling help models` lists them"
}

#[cfg(test)]
mod tests;
