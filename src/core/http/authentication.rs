//! Who sends a request, and what he may do.

use super::access_control::parameter;
use super::request::find_header;
use super::router::{Access, Resource};
use super::{Error, Header, Method, Response, Stream};
use crate::activity::Rights;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// The name of the server's own key, which may do everything.
pub const SERVER: &str = "server";

/// The longest name of a client, in bytes.
const MAX_NAME: usize = 200;

/// Says who sends a request, by what its head shows: the server's key ([`AccessControl::new`](super::AccessControl::new))
/// and the keys of clients do, and so may a type of the program's own
/// ([`AccessControl::with_authentication`](super::AccessControl::with_authentication)).
///
/// It is asked for every request but those of routes without a key, in the thread of the connection, before the body is
/// read. While it waits, nobody else does. If it panics, the request gets 500, and the log says why.
pub trait Authentication: Send + Sync {
    /// Who sends the request.
    ///
    /// # Errors
    /// What the client gets: 401 if it does not show who it is, 403 if it may not do this.
    fn authenticate(&self, credentials: &Credentials<'_>) -> Result<Client, Error>;
}

/// Who has sent a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    pub(super) name: String,
    /// If absent, those that [`ClientKeys`] know by the name.
    pub(super) rights: Option<Rights>,
}

impl Client {
    /// A client with a name for records, which owns the sessions that it begins, and a role as that of a key:
    /// `metrics`, `read`, `chat`, `configure` or `admin`. Routes that are not gosling's need `admin`; without the part
    /// `keys`, all do.
    ///
    /// # Panics
    /// The name is empty, longer than 200 bytes, has control characters, or is [`SERVER`].
    pub fn new(name: impl Into<String>, role: impl Into<String>) -> Client {
        let (name, role) = (name.into(), role.into());
        let is_name = !name.is_empty() && name.len() <= MAX_NAME && name != SERVER;
        let is_plain = !name.contains(char::is_control);
        assert!(is_name && is_plain, "{name:?} cannot be a client's name");
        let rights = Some(Rights {
            role,
            own_sessions: false,
        });
        Client { name, rights }
    }

    /// The same client, which sees and uses the sessions alone that it has begun.
    pub fn with_own_sessions(mut self) -> Client {
        self.rights.iter_mut().for_each(|it| it.own_sessions = true);
        self
    }

    /// The client with a key of this name, whose rights [`ClientKeys`] know.
    #[doc(hidden)]
    pub fn of_key(name: impl Into<String>) -> Client {
        Client {
            name: name.into(),
            rights: None,
        }
    }
}

/// What the head of a request shows.
#[non_exhaustive]
pub struct Credentials<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path as sent: percent-encoded, without the query.
    pub path: &'a str,
    /// The header fields.
    pub headers: &'a [Header],
    /// The client's address; none over a local socket.
    pub peer: Option<SocketAddr>,
    pub(super) query: Option<&'a str>,
    pub(super) access: Access,
    pub(super) resource: Option<&'a Resource>,
    pub(super) connection: &'a Arc<Stream>,
}

impl Credentials<'_> {
    /// The route's method and pattern, as `GET /sessions/{session_id}`; `None` if there is none.
    pub fn route(&self) -> Option<String> {
        let resource = self.resource?;
        Some(resource.operation(resource.route(self.method)?))
    }

    /// The value of the first header field `name`, case-insensitive.
    pub fn header(&self, name: &str) -> Option<&str> {
        find_header(self.headers, name)
    }

    /// The key in `X-Secret-Key`, or else `Authorization: Bearer` (RFC 6750 §2.1), if the route takes one there.
    pub fn key(&self) -> Option<&str> {
        let key = self.header("X-Secret-Key").or_else(|| {
            let (scheme, token) = self.header("Authorization")?.split_once(' ')?;
            scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim())
        });
        key.filter(|_| self.access != Access::QueryKeyed)
    }

    /// What the query has in place of a key: `secret` for pages in a frame, else `token`. URLs are stored in logs and
    /// histories.
    pub fn query_key(&self) -> Option<String> {
        let name = match self.access {
            Access::QueryKeyed => "secret",
            _ => "token",
        };
        parameter(self.query, name)
    }

    /// The key of the server, as far as the route takes one: that of the header comes first.
    pub(super) fn server_key(&self) -> Option<String> {
        let of_query = || self.query_key().filter(|_| self.access < Access::Keyed);
        self.key().map(str::to_owned).or_else(of_query)
    }

    /// The connection.
    pub fn connection(&self) -> &Arc<Stream> {
        self.connection
    }

    /// 401: the request has no key, or not the server's.
    pub fn unknown(&self) -> Error {
        let why = if self.server_key().is_some() {
            "The key is not the server's"
        } else {
            "The request has no key"
        };
        let place = match self.access {
            Access::QueryKeyed => "as `secret` in the query",
            Access::TokenKeyed => {
                "in the header `X-Secret-Key` or `Authorization: Bearer`, or as `token` in the query"
            }
            _ => "in the header `X-Secret-Key` or `Authorization: Bearer`",
        };
        let error = Error::new(401, format!("{why}. Send the server's secret {place}"));
        error.header("WWW-Authenticate", "Bearer realm=\"gosling\"")
    }
}

/// The keys of clients besides the server's own, and what these may do. An operation is a route, as
/// `GET /sessions/{session_id}`, or a method of the Agent Client Protocol, as `acp session/new`.
pub trait ClientKeys: Authentication + fmt::Debug {
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
