//! Requests of MCP servers that a session answers: sampling (by its model) and elicitation (by its user).

use crate::mcp::client::RequestHandler;
use crate::mcp::jsonrpc::ErrorObject;
use crate::mcp::types::{CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult};
use crate::sys::cancel::Cancel;
use std::sync::Arc;

/// The origin of a server's request.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The key of the extension.
    pub extension: &'a str,
    /// The label of the call during which the request came: exact over HTTP, otherwise the oldest running
    /// call. `None` if no call is running or the call has no label.
    pub caller: Option<&'a str>,
}

/// Answers requests of the session's MCP servers. Each extension's MCP client calls it when its server sends
/// a request, in a new thread, for at most eight requests at a time. A request may take minutes: the
/// deadlines of running calls to that server are paused. The handler must return soon after `cancel` has
/// fired.
pub trait ServerRequestHandler: Send + Sync {
    /// Answers `sampling/createMessage` with the session's model.
    ///
    /// # Errors
    /// The JSON-RPC error for the server.
    fn sample(
        &self,
        from: Origin<'_>,
        params: CreateMessageParams,
        cancel: &Cancel,
    ) -> Result<CreateMessageResult, ErrorObject>;

    /// Answers `elicitation/create` with input of the session's user.
    ///
    /// # Errors
    /// The JSON-RPC error for the server.
    fn elicit(
        &self,
        from: Origin<'_>,
        params: ElicitParams,
        cancel: &Cancel,
    ) -> Result<ElicitResult, ErrorObject>;

    /// Handles `notifications/elicitation/complete`: the user has finished at the address of a URL
    /// elicitation. Must not block.
    fn elicitation_complete(&self, _extension: &str, _elicitation_id: &str) {}
}

/// Forwards requests of one extension's server to the session's [`ServerRequestHandler`].
pub(super) struct RequestForwarder {
    pub(super) extension: String,
    pub(super) handler: Arc<dyn ServerRequestHandler>,
}

impl RequestForwarder {
    fn origin<'a>(&'a self, caller: Option<&'a str>) -> Origin<'a> {
        Origin {
            extension: &self.extension,
            caller,
        }
    }
}

impl RequestHandler for RequestForwarder {
    fn sample(
        &self,
        caller: Option<&str>,
        params: CreateMessageParams,
        cancel: &Cancel,
    ) -> Result<CreateMessageResult, ErrorObject> {
        self.handler.sample(self.origin(caller), params, cancel)
    }

    fn elicit(
        &self,
        caller: Option<&str>,
        params: ElicitParams,
        cancel: &Cancel,
    ) -> Result<ElicitResult, ErrorObject> {
        self.handler.elicit(self.origin(caller), params, cancel)
    }

    fn elicitation_complete(&self, elicitation_id: &str) {
        self.handler
            .elicitation_complete(&self.extension, elicitation_id);
    }
}
