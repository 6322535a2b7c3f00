//! Access control: who may send requests, and the checks of `Host` and `Origin` against those from other sites' pages.

use super::chunked::is_token;
use super::request::parse_query;
use super::{Authentication, Client, ClientKeys, Credentials, Error, SERVER};
use std::fmt;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Who may send requests, the host names that the server accepts, and the pages that may call it: unless it is told
/// otherwise, those of this machine and of its own hosts.
#[derive(Default)]
pub struct AccessControl {
    authentication: Option<Arc<dyn Authentication>>,
    /// Whether the keys of clients count, too.
    takes_keys: bool,
    allowed_hosts: Vec<String>,
    any_origin: bool,
    /// In lower case.
    origins: Vec<String>,
}

impl AccessControl {
    /// `secret` is what [`Credentials::key`] must be, with which a client may do everything. With `None` the server requires no key; an empty secret
    /// matches no key. `allowed_hosts` are the host names that a request may use besides `localhost` and IP
    /// addresses; case, a port and a trailing dot are ignored.
    pub fn new(secret: Option<Vec<u8>>, allowed_hosts: Vec<String>) -> AccessControl {
        let allowed_hosts = allowed_hosts
            .iter()
            .map(|name| name.trim().trim_end_matches('.').to_ascii_lowercase())
            .filter(|name| !name.is_empty())
            .collect();
        let secret = secret.map(SecretKey);
        AccessControl {
            authentication: secret.map(|it| Arc::new(it) as Arc<dyn Authentication>),
            takes_keys: true,
            allowed_hosts,
            ..AccessControl::default()
        }
    }

    /// Lets `own` say who sends a request. Neither the secret nor the keys of clients count then.
    pub fn with_authentication(mut self, own: impl Authentication + 'static) -> AccessControl {
        self.authentication = Some(Arc::new(own));
        self.takes_keys = false;
        self
    }

    /// Takes requests from the pages of all sites, for a server with a key that only its own pages know. Without it, an
    /// `Origin` must be `http` or `https` on this machine or on an allowed host, or one of [`origins`](Self::origins).
    pub fn any_origin(mut self) -> AccessControl {
        self.any_origin = true;
        self
    }

    /// Takes requests from the pages of these origins, too, such as `https://example.com` or `http://10.0.0.7:8080`.
    ///
    /// # Panics
    /// One of them is not an origin, so that no page could have it.
    pub fn origins<O: Into<String>>(mut self, origins: impl IntoIterator<Item = O>) -> Self {
        for origin in origins {
            let origin: String = origin.into().to_ascii_lowercase();
            let (scheme, authority) = origin.split_once("://").unwrap_or_default();
            let is_scheme = !scheme.is_empty() && scheme.bytes().all(is_token);
            let is_origin = origin == "null" || is_scheme && host(authority).is_some();
            assert!(is_origin, "{origin:?} is not SCHEME://HOST[:PORT]");
            self.origins.push(origin);
        }
        self
    }

    /// Who sends a request: the server if it needs no key.
    ///
    /// # Errors
    /// Those of the authentication.
    pub(super) fn authenticate(
        &self,
        credentials: &Credentials<'_>,
        keys: Option<&dyn ClientKeys>,
    ) -> Result<Client, Error> {
        let Some(first) = &self.authentication else {
            return Ok(Client::of_key(SERVER));
        };
        let found = first.authenticate(credentials);
        match keys.filter(|_| self.takes_keys) {
            Some(keys) => found.or_else(|_| keys.authenticate(credentials)),
            None => found,
        }
    }

    /// Fails with 403 if `authority`, the host that the client addressed, is a name that this server does not
    /// accept, and with 400 if it is not `host[:port]` (RFC 9110 §7.2).
    ///
    /// A page of another site can reach a local server only under a name whose owner made it resolve to this
    /// machine (DNS rebinding). So names are checked, and addresses are not.
    pub(super) fn check_host(&self, authority: &str) -> Result<(), Error> {
        match host(authority) {
            None => Err(Error::bad_request(
                "The `Host` of the request must be `name`, `name:port` or an IP address",
            )),
            Some(Host::Address(_)) => Ok(()),
            Some(Host::Name(name)) if self.is_ours(name) => Ok(()),
            Some(Host::Name(name)) => Err(Error::new(
                403,
                format!(
                    "This server does not answer for the host `{name}`: use its IP address or \
                     `localhost`, or add the name to GOOSE_ALLOWED_HOSTS"
                ),
            )),
        }
    }

    /// Fails with 403 if `origin` belongs to another site, unless [`any_origin`](Self::any_origin) is set. Clients
    /// other than browsers send no `Origin` (MCP 2025-11-25, basic/transports, security warning).
    pub(super) fn check_origin(&self, origin: &str) -> Result<(), Error> {
        if self.any_origin {
            return Ok(());
        }
        self.check_site(origin)
    }

    /// Fails with 403 if `origin` belongs to another site. The page of a program has the origin `null` or
    /// `file://`; it needs authentication, because any page can get such an origin.
    pub(super) fn check_page_origin(&self, origin: &str) -> Result<(), Error> {
        if matches!(origin, "null" | "file://") && self.authentication.is_some() {
            return Ok(());
        }
        self.check_site(origin)
    }

    fn check_site(&self, origin: &str) -> Result<(), Error> {
        let site = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        match site.and_then(host) {
            Some(Host::Address(address)) if address.is_loopback() => Ok(()),
            Some(Host::Name(name)) if self.is_ours(name) => Ok(()),
            _ if self.origins.contains(&origin.to_ascii_lowercase()) => Ok(()),
            _ => Err(Error::new(
                403,
                "Pages of other sites may not call this server: open yours from `localhost`, or add \
                 its host to GOOSE_ALLOWED_HOSTS",
            )),
        }
    }

    fn is_ours(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        name == "localhost" || self.allowed_hosts.contains(&name)
    }
}

/// Shows whether there is an authentication, never a secret.
impl fmt::Debug for AccessControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessControl")
            .field("authentication", &self.authentication.is_some())
            .field("allowed_hosts", &self.allowed_hosts)
            .field("any_origin", &self.any_origin)
            .field("origins", &self.origins)
            .finish()
    }
}

/// The first parameter `name` of a query.
pub(super) fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let mut pairs = parse_query(query?).into_iter();
    pairs.find_map(|(found, value)| (found == name).then_some(value))
}

/// The server's secret key.
struct SecretKey(Vec<u8>);

impl Authentication for SecretKey {
    fn authenticate(&self, credentials: &Credentials<'_>) -> Result<Client, Error> {
        let is_ours = |key: String| !self.0.is_empty() && same(key.as_bytes(), &self.0);
        if credentials.server_key().is_some_and(is_ours) {
            Ok(Client::of_key(SERVER))
        } else {
            Err(credentials.unknown())
        }
    }
}

/// Compares in a time that depends on the lengths only.
fn same(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b));
    a.len() == b.len() && black_box(differing) == 0
}

#[derive(Debug, PartialEq)]
enum Host<'a> {
    Address(IpAddr),
    Name(&'a str),
}

/// The host of `host[:port]` (RFC 3986 §3.2); `None` if `authority` does not have that form.
fn host(authority: &str) -> Option<Host<'_>> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(digits);
        let address: Ipv6Addr = address.parse().ok()?;
        return is_port.then_some(Host::Address(address.into()));
    }
    let name = match authority.split_once(':') {
        Some((name, port)) if digits(port) => name,
        Some(_) => return None,
        None => authority,
    };
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Some(Host::Address(address.into()));
    }
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&b));
    is_name.then_some(Host::Name(name))
}

fn digits(port: &str) -> bool {
    port.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests;
