//! `goose://` links: what they ask for, whether it may be installed, and the configuration that this makes.
//!
//! [`Link::parse`] and [`classify`] are pure: they read no file and ask no server. [`Installer`] asks the user's
//! files what they know, and adds the extension to the configuration. CORE §9.

#![forbid(unsafe_code)]

use gosling_core::part::Part;
use gosling_core::{agent, api, command_line, extension, http, json, provider, store, sys, text};

mod deeplink_command;
mod deeplink_endpoint;
mod docker_run;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod install;
mod judgement;
mod link_variables;
mod query;
#[cfg(test)]
mod tests;

pub use install::{Installation, Installer};
pub use judgement::{Judged, Judgement, KnownSecret, classify};

use query::Query;
use serde::Serialize;
use std::fmt;

/// The longest link, in bytes. A recipe's link is as long as its recipe.
pub const MAX_LINK: usize = 640 << 10;

/// The longest value of a parameter other than `config`, in bytes.
const MAX_VALUE: usize = 8 << 10;

/// How often a parameter may occur.
const MAX_REPEATED: usize = 100;

/// The longest name of an extension, in bytes.
const MAX_NAME: usize = 200;

/// The longest timeout, in seconds: a day.
const MAX_TIMEOUT: u64 = 24 * 3600;

/// What a link asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Link {
    /// `goose://extension`: an extension to install.
    Extension(ExtensionLink),
    /// `goose://recipe` and `goose://bot`, its older name: a recipe to run.
    Recipe {
        /// The recipe link, as `config` has it; see [`Recipes::read_link`](crate::agent::recipes::Recipes::read_link).
        config: String,
        /// Values of its parameters.
        parameters: Vec<(String, String)>,
    },
    /// `goose://sessions/TOKEN`: a shared session.
    Session {
        /// Its token.
        token: String,
    },
}

/// An extension in a link.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtensionLink {
    /// The name for users.
    pub name: String,
    /// The description for users.
    pub description: String,
    /// What the user has to do after the installation.
    pub installation_notes: Option<String>,
    /// How long a request may take, in seconds.
    pub timeout: Option<u64>,
    /// Names of environment variables.
    pub env: Vec<String>,
    /// Names of environment variables for which the link has a value. It is never used.
    pub ignored_values: Vec<String>,
    /// How to reach the server.
    pub transport: LinkTransport,
}

/// The transport in a link.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkTransport {
    /// A child process.
    Stdio {
        /// The program.
        cmd: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// A server with Streamable HTTP.
    StreamableHttp {
        /// Its address.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
}

/// The class of an error, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ErrorClass {
    /// The scheme is not `goose`.
    #[serde(rename = "DEEPLINK_INVALID_SCHEME")]
    InvalidScheme,
    /// No route of this name.
    #[serde(rename = "DEEPLINK_UNSUPPORTED_ROUTE")]
    UnsupportedRoute,
    /// A parameter is missing, given twice, or has an invalid value.
    #[serde(rename = "DEEPLINK_INVALID_PAYLOAD")]
    InvalidPayload,
    /// The text is not a link.
    #[serde(rename = "DEEPLINK_PARSE_FAILED")]
    ParseFailed,
    /// The link asks for what is forbidden.
    #[serde(rename = "DEEPLINK_SECURITY_BLOCKED")]
    SecurityBlocked,
}

/// Why a link cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// The class.
    pub class: ErrorClass,
    /// The reason, with what to do.
    pub reason: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Error {}

fn error(class: ErrorClass, reason: impl Into<String>) -> Error {
    let reason = reason.into();
    Error { class, reason }
}

pub(crate) fn invalid(reason: impl Into<String>) -> Error {
    error(ErrorClass::InvalidPayload, reason)
}

impl Link {
    /// Reads a link. The scheme may have any letter case; white space around the link is not part of it.
    ///
    /// # Errors
    /// The link is longer than [`MAX_LINK`], or something in it is missing, repeated or invalid.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let failed = |reason: &str| error(ErrorClass::ParseFailed, reason);
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        if text.len() > MAX_LINK {
            let limit = MAX_LINK >> 10;
            return Err(failed(&format!("the link is longer than {limit} KiB")));
        }
        if text.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err(failed(
                "the link has white space or control characters; write them percent-encoded",
            ));
        }
        let is_scheme = |scheme: &&str| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && (scheme.chars()).all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        };
        let (scheme, rest) = text.split_once(':').unwrap_or_default();
        if !is_scheme(&scheme) {
            return Err(failed("this is not a link; one begins with goose://"));
        }
        if !scheme.eq_ignore_ascii_case("goose") {
            let reason = format!("the scheme of the link is {scheme}, not goose");
            return Err(error(ErrorClass::InvalidScheme, reason));
        }
        let rest = rest
            .strip_prefix("//")
            .ok_or_else(|| failed("the link does not begin with goose://"))?;
        let rest = rest.split('#').next().unwrap_or_default();
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (route, path) = place.split_once('/').unwrap_or((place, ""));
        match (route, path) {
            ("extension", "") => Query::read(query)?.extension().map(Link::Extension),
            ("recipe" | "bot", "") => Query::read(query)?.recipe(),
            ("sessions", token) if is_token(token) => {
                let token = token.to_owned();
                Ok(Link::Session { token })
            }
            ("sessions", _) => Err(invalid(
                "the token of the session is missing, or has characters other than letters, digits, `-`, `_`",
            )),
            _ => {
                let reason = format!(
                    "there is no route {place:?}; there are extension, recipe, bot and sessions/TOKEN"
                );
                Err(error(ErrorClass::UnsupportedRoute, reason))
            }
        }
    }
}

fn is_token(token: &str) -> bool {
    (1..=MAX_NAME).contains(&token.len())
        && (token.bytes()).all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

/// What links add to gosling.
pub const PART: Part = Part {
    commands: &[deeplink_command::COMMAND],
    routes: Some(deeplink_endpoint::routes),
    ..Part::new("deeplinks")
};
