//! The clients that a run plays, and what they say that they can do.

use serde_json::{Value, json};

/// The extension of MCP for user interfaces.
pub(crate) const UI_EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The MIME type of a page.
pub(crate) const MCP_APP_MIME_TYPE: &str = "text/html;profile=mcp-app";

/// What the client says that it can do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientKind {
    /// Everything that Goose Desktop does, user interfaces included.
    Full,
    /// Nothing.
    Bare,
}

impl ClientKind {
    fn capabilities(self) -> Value {
        match self {
            ClientKind::Bare => json!({}),
            ClientKind::Full => json!({
                "roots": {"listChanged": true},
                "sampling": {},
                "elicitation": {},
                "extensions": {
                    UI_EXTENSION: {"mimeTypes": [MCP_APP_MIME_TYPE]},
                },
            }),
        }
    }
}

/// The parameters of `initialize` for a version of MCP.
pub(crate) fn initialize_params(client: ClientKind, version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": client.capabilities(),
        "clientInfo": {"name": "gosling-check", "version": env!("CARGO_PKG_VERSION")},
    })
}

/// The details of the capability for user interfaces; null if it is not declared.
pub(crate) fn ui_capability(capabilities: &Value) -> &Value {
    match &capabilities["extensions"][UI_EXTENSION] {
        Value::Null => &capabilities["experimental"][UI_EXTENSION],
        details => details,
    }
}
