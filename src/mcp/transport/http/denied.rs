//! Denied access, and how to sign in. RFC 6750 §3, RFC 9728 §5.1; MCP 2025-11-25, basic/authorization.

use gosling_text::{after_http_scheme, printable};
use std::fmt;

/// The most characters of one value that are kept, and that are shown unless it is an address.
pub(super) const VALUE: usize = 2_000;
const SHOWN: usize = 200;

/// One challenge: a way to sign in. Its content is untrusted; secrets of this client are redacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// The scheme as sent, for example `Bearer`.
    pub scheme: String,
    /// Names in lower case, values without quotes; the first of each name.
    pub parameters: Vec<(String, String)>,
}

/// Why a server denied access (HTTP 401 and 403).
///
/// A sign-in can start from it: the `resource_metadata` of a challenge says where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// 401 or 403.
    pub code: u16,
    /// The challenges.
    pub challenges: Vec<Challenge>,
    /// The request carried an `Authorization` header.
    pub authorized: bool,
    /// The server's explanation, shortened.
    pub detail: String,
}

impl Challenge {
    /// The value of a parameter, by its name in lower case.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The address of the server's metadata for signing in, if it is an http(s) address (RFC 9728).
    pub fn resource_metadata(&self) -> Option<&str> {
        let url = self.parameter("resource_metadata")?;
        after_http_scheme(url).map(|_| url)
    }
}

impl Denied {
    /// The most useful challenge: one with metadata, else a bearer's, else the first.
    pub fn challenge(&self) -> Option<&Challenge> {
        let all = &self.challenges;
        let bearer = |c: &&Challenge| c.scheme.eq_ignore_ascii_case("bearer");
        all.iter()
            .find(|c| c.resource_metadata().is_some())
            .or_else(|| all.iter().find(bearer))
            .or_else(|| all.first())
    }

    /// The scope that the token lacks, if the server says so.
    fn missing_scope(&self) -> Option<&str> {
        let lacks = |c: &&Challenge| c.parameter("error") == Some("insufficient_scope");
        let challenge = self.challenges.iter().find(lacks)?;
        Some(challenge.parameter("scope").unwrap_or_default())
    }

    fn advice(&self) -> (String, &'static str) {
        let set = "set a header such as `Authorization: Bearer …` in the extension's `headers`";
        let other = "set one that it accepts in the extension's `headers`";
        match (self.missing_scope(), self.authorized) {
            (Some(""), _) => (
                "the sign-in does not allow this request".to_owned(),
                "use a token that allows it in the extension's `headers`",
            ),
            (Some(scope), _) => (
                format!(
                    "the sign-in does not allow this request, which needs the scope {:?}",
                    printable(scope, SHOWN)
                ),
                "use a token with this scope in the extension's `headers`",
            ),
            (None, true) if self.code == 401 => (
                "the server needs a sign-in and refused the `Authorization` header".to_owned(),
                other,
            ),
            (None, true) => (
                "the server denies access to the user of the `Authorization` header".to_owned(),
                other,
            ),
            (None, false) if self.code == 401 => ("the server needs a sign-in".to_owned(), set),
            (None, false) => (
                "the server needs a sign-in, or denies access to this client".to_owned(),
                set,
            ),
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (why, advice) = self.advice();
        write!(f, "HTTP {}: {why}", self.code)?;
        if let Some(challenge) = self.challenge() {
            write!(f, " ({}", printable(&challenge.scheme, SHOWN))?;
            for name in ["error", "error_description", "scope"] {
                if let Some(value) = challenge.parameter(name) {
                    write!(f, ", {name} {:?}", printable(value, SHOWN))?;
                }
            }
            if let Some(url) = challenge.resource_metadata() {
                write!(f, ", resource_metadata {}", printable(url, VALUE))?;
            }
            f.write_str(")")?;
        }
        write!(f, "; {advice}; signing in by OAuth is not supported yet")?;
        match self.detail.as_str() {
            "" => Ok(()),
            detail => write!(f, "; it says: {detail}"),
        }
    }
}
