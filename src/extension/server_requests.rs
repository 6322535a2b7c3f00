//! What the servers of a session may ask of it: an answer of its model, or of its user.

use crate::mcp::client::RequestHandler;
use crate::mcp::jsonrpc::ErrorObject;
use crate::mcp::types::{CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult};
use crate::sys::cancel::Cancel;
use std::sync::Arc;

/// Where a request of a server comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The key of the extension.
    pub extension: &'a str,
    /// The label of the call that it came in: exact over HTTP, otherwise that of the call that has been
    /// running longest. None when no call is running, or it has no label.
    pub caller: Option<&'a str>,
}

/// Answers the requests of servers. Each call has a thread of its own, at most eight for each
/// extension, and may take minutes: no deadline of a running call to that server passes meanwhile. It
/// must return soon after `cancel` has fired.
pub trait ServerRequestHandler: Send + Sync {
    /// Asks the session's model: `sampling/createMessage`.
    ///
    /// # Errors
    /// What the server is told instead.
    fn sample(
        &self,
        from: Origin<'_>,
        params: CreateMessageParams,
        cancel: &Cancel,
    ) -> Result<CreateMessageResult, ErrorObject>;

    /// Asks the session's user: `elicitation/create`.
    ///
    /// # Errors
    /// What the server is told instead.
    fn elicit(
        &self,
        from: Origin<'_>,
        params: ElicitParams,
        cancel: &Cancel,
    ) -> Result<ElicitResult, ErrorObject>;

    /// The user is done at the address that an elicitation sent them to. Must not block.
    fn elicitation_complete(&self, _extension: &str, _elicitation_id: &str) {}
}

/// The callbacks as one extension's client knows them.
pub(super) struct SessionRequests {
    pub(super) extension: String,
    pub(super) callbacks: Arc<dyn ServerRequestHandler>,
}

impl SessionRequests {
    fn from<'a>(&'a self, caller: Option<&'a str>) -> Origin<'a> {
        Origin {
            extension: &self.extension,
            caller,
        }
    }
}

impl RequestHandler for SessionRequests {
    fn sample(
        &self,
        caller: Option<&str>,
        params: CreateMessageParams,
        cancel: &Cancel,
    ) -> Result<CreateMessageResult, ErrorObject> {
        self.callbacks.sample(self.from(caller), params, cancel)
    }

    fn elicit(
        &self,
        caller: Option<&str>,
        params: ElicitParams,
        cancel: &Cancel,
    ) -> Result<ElicitResult, ErrorObject> {
        self.callbacks.elicit(self.from(caller), params, cancel)
    }

    fn elicitation_complete(&self, elicitation_id: &str) {
        self.callbacks
            .elicitation_complete(&self.extension, elicitation_id);
    }
}
