//! Errors of extensions, for the user who configured them.

use super::screening_check::Decision;
use crate::mcp;
use serde::Serialize;
use std::fmt;

/// The phase of an extension's life in which it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// The configuration is invalid.
    Config,
    /// The command or the address could not be prepared.
    Setup,
    /// The server failed to start or to initialize.
    Initialize,
    /// The connection to an initialized server failed.
    Transport,
    /// The server violated the protocol.
    Protocol,
    /// The server refused a call.
    Tool,
    /// The server did not answer in time.
    Timeout,
    /// The caller cancelled.
    Cancelled,
}

/// What kind of failure it was, for programs: the field `class` beside the `message`. The names do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Class {
    /// The configuration is invalid.
    Config,
    /// The server could not be started: its program, a package or a file is missing.
    Setup,
    /// The server did not initialize.
    Initialize,
    /// An initialized server failed, or refused a request.
    Execution,
    /// The server did not answer in time.
    Timeout,
    /// A policy forbids the extension.
    Security,
}

impl Class {
    /// The name in the log, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Class::Config => "config",
            Class::Setup => "setup",
            Class::Initialize => "initialize",
            Class::Execution => "execution",
            Class::Timeout => "timeout",
            Class::Security => "security",
        }
    }
}

impl Phase {
    /// The name, and the class of a failure in this phase; a request that was cancelled has not failed.
    fn name_and_class(self) -> (&'static str, Option<Class>) {
        match self {
            Phase::Config => ("config", Some(Class::Config)),
            Phase::Setup => ("setup", Some(Class::Setup)),
            Phase::Initialize => ("initialize", Some(Class::Initialize)),
            Phase::Transport => ("transport", Some(Class::Execution)),
            Phase::Protocol => ("protocol", Some(Class::Execution)),
            Phase::Tool => ("tool", Some(Class::Execution)),
            Phase::Timeout => ("timeout", Some(Class::Timeout)),
            Phase::Cancelled => ("cancelled", None),
        }
    }
}

/// An error with the extension's name, the phase and the cause.
#[derive(Clone, Debug)]
pub struct Error {
    /// The extension's name as configured.
    pub extension: String,
    /// The phase in which it failed.
    pub phase: Phase,
    /// The kind of failure; `None` if the caller cancelled, or if it is unknown.
    pub class: Option<Class>,
    /// The cause, and the remedy if there is one.
    pub message: String,
    /// What the screening of its packages found, if that is the cause.
    pub screening: Option<Box<Decision>>,
}

impl Error {
    /// The error of this phase.
    pub fn new(extension: &str, phase: Phase, message: impl Into<String>) -> Self {
        Error {
            extension: crate::text::printable(extension, 100),
            phase,
            class: phase.name_and_class().1,
            message: message.into(),
            screening: None,
        }
    }

    /// The error for an extension that a policy forbids.
    pub fn forbidden(extension: &str, reason: impl Into<String>) -> Self {
        Error {
            class: Some(Class::Security),
            ..Self::new(extension, Phase::Config, reason)
        }
    }

    /// The error for an extension that the screening of its packages has refused.
    pub(super) fn screened(extension: &str, decision: Decision) -> Self {
        let reason = decision.reason();
        Error {
            screening: Some(Box::new(decision)),
            ..Self::forbidden(extension, reason)
        }
    }

    /// The name of the class.
    pub fn class_name(&self) -> Option<&'static str> {
        self.class.map(Class::name)
    }

    /// How a call ended with it, for the record.
    pub fn outcome(&self) -> &'static str {
        match self.phase {
            Phase::Tool => "jsonrpc",
            phase => phase.name_and_class().0,
        }
    }

    /// The error for a tool of an extension that failed to start; `why` and `class` are of that failure.
    pub(crate) fn not_active(extension: &str, why: &str, class: Option<Class>) -> Self {
        let own = format!("extension {:?}, ", crate::text::printable(extension, 100));
        let why = why.strip_prefix(&own).unwrap_or(why);
        let text = format!("it is not active, so its tools are not there: {why}");
        Error {
            class,
            ..Self::new(extension, Phase::Config, text)
        }
    }

    /// An error of the MCP client, with the extension's name. `starting`: the server is not initialized yet.
    pub(super) fn from_mcp(extension: &str, starting: bool, error: &mcp::Error) -> Self {
        let (phase, advice) = match error {
            mcp::Error::Cancelled { .. } => (Phase::Cancelled, ""),
            mcp::Error::TimedOut { .. } => (
                Phase::Timeout,
                "; raise the extension's `timeout` if it needs longer",
            ),
            mcp::Error::Version { .. } => (Phase::Initialize, "; install a newer release of it"),
            mcp::Error::Transport(_) | mcp::Error::Unsent(_) if starting => (Phase::Initialize, ""),
            mcp::Error::Transport(_) | mcp::Error::Unsent(_) => (Phase::Transport, ""),
            mcp::Error::Protocol { .. } => (Phase::Protocol, ""),
            mcp::Error::Rpc { .. } if starting => (Phase::Initialize, ""),
            // What the server has answered.
            _ => (Phase::Tool, ""),
        };
        let mut failed = Error::new(extension, phase, format!("{error}{advice}"));
        if starting && failed.class == Some(Class::Execution) {
            failed.class = Some(Class::Initialize);
        }
        failed
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (phase, _) = self.phase.name_and_class();
        write!(
            f,
            "extension {:?}, {phase}: {}",
            self.extension, self.message
        )
    }
}

impl std::error::Error for Error {}
