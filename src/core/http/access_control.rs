//! Access control: the secret key, and the checks of `Host` and `Origin` against requests from other sites'
//! pages.

use std::fmt;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Error;
use super::request::parse_query;

/// The server's secret key and the host names that it accepts.
#[derive(Default)]
pub struct AccessControl {
    secret: Option<Vec<u8>>,
    allowed_hosts: Vec<String>,
    local_origins_only: bool,
}

impl AccessControl {
    /// `secret` is what `X-Secret-Key` must contain. With `None` the server requires no key; an empty secret
    /// matches no key. `allowed_hosts` are the host names that a request may use besides `localhost` and IP
    /// addresses; case, a port and a trailing dot are ignored.
    pub fn new(secret: Option<Vec<u8>>, allowed_hosts: Vec<String>) -> AccessControl {
        let allowed_hosts = allowed_hosts
            .iter()
            .map(|name| name.trim().trim_end_matches('.').to_ascii_lowercase())
            .filter(|name| !name.is_empty())
            .collect();
        AccessControl {
            secret,
            allowed_hosts,
            local_origins_only: false,
        }
    }

    /// Refuses requests from pages of other sites even if their key is correct: an `Origin` must be `http` or
    /// `https` on this machine or on an allowed host.
    pub fn local_origins_only(mut self) -> AccessControl {
        self.local_origins_only = true;
        self
    }

    /// Fails with 401 unless `key`, the request's `X-Secret-Key`, is the secret.
    pub(super) fn check_key(&self, key: Option<&str>) -> Result<(), Error> {
        self.check(key, "Send the server's secret in the header `X-Secret-Key`")
    }

    /// Fails with 401 unless the first `secret` in the query is the secret.
    pub(super) fn check_query_key(&self, query: Option<&str>) -> Result<(), Error> {
        self.check(
            parameter(query, "secret").as_deref(),
            "Send the server's secret as `secret` in the query",
        )
    }

    /// Fails with 401 unless `key`, the request's `X-Secret-Key`, or the first `token` in the query is the
    /// secret.
    pub(super) fn check_key_or_token(
        &self,
        key: Option<&str>,
        query: Option<&str>,
    ) -> Result<(), Error> {
        self.check(
            key.or(parameter(query, "token").as_deref()),
            "Send the server's secret in the header `X-Secret-Key`, or as `token` in the query",
        )
    }

    fn check(&self, key: Option<&str>, hint: &str) -> Result<(), Error> {
        let Some(secret) = &self.secret else {
            return Ok(());
        };
        match key {
            Some(key) if !secret.is_empty() && same(key.as_bytes(), secret) => Ok(()),
            _ => Err(Error::new(401, hint)),
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

    /// Fails with 403 if `origin` belongs to another site and [`local_origins_only`](Self::local_origins_only)
    /// is set. Clients other than browsers send no `Origin` (MCP 2025-11-25, basic/transports, security
    /// warning).
    pub(super) fn check_origin(&self, origin: &str) -> Result<(), Error> {
        if self.local_origins_only {
            self.check_site(origin)
        } else {
            Ok(())
        }
    }

    /// Fails with 403 if `origin` belongs to another site. The page of a program has the origin `null` or
    /// `file://`; it needs a secret, because any page can get such an origin.
    pub(super) fn check_page_origin(&self, origin: &str) -> Result<(), Error> {
        if matches!(origin, "null" | "file://") && self.secret.is_some() {
            return Ok(());
        }
        self.check_site(origin)
    }

    fn check_site(&self, origin: &str) -> Result<(), Error> {
        let site = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        let is_ours = match site.and_then(host) {
            Some(Host::Address(address)) => address.is_loopback(),
            Some(Host::Name(name)) => self.is_ours(name),
            None => false,
        };
        if is_ours {
            Ok(())
        } else {
            Err(Error::new(
                403,
                "Pages of other sites may not call this server: open yours from `localhost`, or add \
                 its host to GOOSE_ALLOWED_HOSTS",
            ))
        }
    }

    fn is_ours(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        name == "localhost" || self.allowed_hosts.contains(&name)
    }
}

/// Shows whether there is a secret, never the secret.
impl fmt::Debug for AccessControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessControl")
            .field("secret", &self.secret.as_ref().map(|_| "…"))
            .field("allowed_hosts", &self.allowed_hosts)
            .field("local_origins_only", &self.local_origins_only)
            .finish()
    }
}

/// The first parameter `name` of a query.
fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let mut pairs = parse_query(query?).into_iter();
    pairs.find_map(|(found, value)| (found == name).then_some(value))
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
mod tests {
    use super::*;

    #[test]
    fn a_host_is_an_address_a_name_or_nothing() {
        for address in [
            "127.0.0.1",
            "127.0.0.1:3000",
            "[::1]",
            "[::1]:3000",
            "10.0.0.7:",
        ] {
            assert!(matches!(host(address), Some(Host::Address(_))), "{address}");
        }
        // Browsers normalize addresses, so other spellings count as names.
        for name in ["localhost", "a.b:80", "127.1", "0x7f000001", "2130706433"] {
            assert!(matches!(host(name), Some(Host::Name(_))), "{name}");
        }
        for nothing in [
            "", ":80", "a:b", "::1", "[::1", "[::1]80", "[x]", "a b", "u@h", "a/b", "a:1:2",
        ] {
            assert_eq!(host(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn the_secret_is_not_printed() {
        let access_control = AccessControl::new(Some("s3cr3t".into()), vec!["my-box".into()]);
        let printed = format!("{access_control:?}");
        assert!(
            printed.contains("my-box") && !printed.contains("s3cr3t"),
            "{printed}"
        );
    }

    #[test]
    fn names_other_than_ours_are_refused() {
        let access_control = AccessControl::new(None, vec!["My-Box.Local.".into(), " ".into()]);
        for fine in [
            "localhost",
            "LOCALHOST:1",
            "localhost.",
            "my-box.local:80",
            "MY-BOX.LOCAL.",
        ] {
            assert!(access_control.check_host(fine).is_ok(), "{fine}");
        }
        for evil in ["evil.com", "localhost.evil.com", "127.0.0.1.nip.io", "."] {
            assert_eq!(
                access_control.check_host(evil).unwrap_err().status.0,
                403,
                "{evil}"
            );
        }
        assert_eq!(access_control.check_host("").unwrap_err().status.0, 400);
    }

    #[test]
    fn pages_of_other_sites_are_refused_where_that_is_wanted() {
        let hosts = vec!["my-box".to_owned()];
        let access_control = AccessControl::new(None, hosts.clone()).local_origins_only();
        for fine in [
            "http://localhost:6274",
            "https://LOCALHOST",
            "http://127.0.0.1:1",
            "http://127.9.9.9",
            "http://[::1]:8080",
            "http://my-box",
        ] {
            assert!(access_control.check_origin(fine).is_ok(), "{fine}");
        }
        for evil in [
            "http://evil.com",
            "https://localhost.evil.com",
            "http://10.0.0.7",
            "http://localhost@evil.com",
            "http://localhost/..",
            "file://localhost",
            "localhost",
            "null",
            "",
        ] {
            let refused = access_control.check_origin(evil).map_err(|e| e.status.0);
            assert_eq!(refused, Err(403), "{evil}");
            assert!(
                AccessControl::new(None, hosts.clone())
                    .check_origin(evil)
                    .is_ok()
            );
        }
    }

    #[test]
    fn the_page_of_a_program_may_open_a_web_socket_if_it_has_the_secret() {
        let open = AccessControl::default();
        let keyed = AccessControl::new(Some(b"secret".to_vec()), Vec::new());
        for (origin, with_secret, without) in [
            ("http://localhost:5173", true, true),
            ("null", true, false),
            ("file://", true, false),
            ("file:///etc", false, false),
            ("https://evil.com", false, false),
        ] {
            assert_eq!(keyed.check_page_origin(origin).is_ok(), with_secret);
            assert_eq!(open.check_page_origin(origin).is_ok(), without);
        }
        for (key, query, is_right) in [
            (Some("secret"), None, true),
            (None, Some("token=secret"), true),
            (None, Some("a=b&token=s%65cret&token=x"), true),
            (Some("wrong"), Some("token=secret"), false),
            (None, Some("secret=secret"), false),
            (None, None, false),
        ] {
            assert_eq!(keyed.check_key_or_token(key, query).is_ok(), is_right);
        }
    }

    #[test]
    fn only_the_secret_opens() {
        let access_control = AccessControl::new(Some(b"secret".to_vec()), Vec::new());
        assert!(access_control.check_key(Some("secret")).is_ok());
        for wrong in [
            None,
            Some(""),
            Some("secre"),
            Some("secrets"),
            Some("Secret"),
            // Differences that cancel each other out.
            Some("terces"),
            Some("rdcret"),
        ] {
            assert_eq!(access_control.check_key(wrong).unwrap_err().status.0, 401);
        }
        let empty = AccessControl::new(Some(Vec::new()), Vec::new());
        assert!(empty.check_key(Some("")).is_err());
        assert!(AccessControl::default().check_key(None).is_ok());
        assert!(
            !format!("{access_control:?}").contains("115")
                && !format!("{access_control:?}").contains("secret\"")
        );
    }
}
