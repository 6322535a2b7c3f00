//! The keys of clients besides the server's own, for the part that has them.

use super::{Error, Response, Stream};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// The name of the server's own key, which may do everything.
pub const SERVER: &str = "server";

/// A client that has shown its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The name of its key.
    pub name: String,
    /// Tells the key from others that have or had the name.
    pub key: String,
}

/// The keys of clients, and what these may do. An operation is a route, as `GET /sessions/{session_id}`, or a method
/// of the Agent Client Protocol, as `acp session/new`.
pub trait ClientKeys: fmt::Debug + Send + Sync {
    /// The client whose key this is, if the key is valid now.
    fn find(&self, key: &str) -> Option<Client>;

    /// The client that has got this ticket for this percent-encoded path, if both are valid now.
    fn find_by_ticket(&self, ticket: &str, path: &str) -> Option<Client>;

    /// The connection serves this client from now on: breaks it when the key is valid no more.
    fn serves(&self, client: &Client, connection: &Arc<Stream>);

    /// An unknown key came from this address, or from a socket without one. Delays the answer, unless the connection
    /// ends.
    fn refused(&self, address: Option<IpAddr>, connection: &Stream);

    /// Fails with 403 unless the client of this name may use the operation.
    fn permit(&self, client: &str, operation: &str) -> Result<(), Error>;

    /// Fails with 403 or 404 unless it may use the operation with these parameters, which are not the body's, and this
    /// body.
    fn permit_request(
        &self,
        client: &str,
        operation: &str,
        parameters: &[(&str, &str)],
        body: &[u8],
    ) -> Result<(), Error>;

    /// Takes out of a response what the client may not see.
    fn redact(&self, client: &str, response: &mut Response);
}
