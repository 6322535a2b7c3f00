//! Errors of extensions, for the user who configured them.

use crate::mcp;
use std::fmt;

/// The phase of an extension's life in which it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Phase::Config => "config",
            Phase::Setup => "setup",
            Phase::Initialize => "initialize",
            Phase::Transport => "transport",
            Phase::Protocol => "protocol",
            Phase::Tool => "tool",
            Phase::Timeout => "timeout",
            Phase::Cancelled => "cancelled",
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
    /// The cause, and the remedy if there is one.
    pub message: String,
}

impl Error {
    pub(super) fn new(extension: &str, phase: Phase, message: impl Into<String>) -> Self {
        Error {
            extension: crate::text::printable(extension, 100),
            phase,
            message: message.into(),
        }
    }

    /// The error for a tool of an extension that failed to start; `why` is the text of that failure.
    pub(crate) fn not_active(extension: &str, why: &str) -> Self {
        let own = format!("extension {:?}, ", crate::text::printable(extension, 100));
        let why = why.strip_prefix(&own).unwrap_or(why);
        let text = format!("it is not active, so its tools are not there: {why}");
        Self::new(extension, Phase::Config, text)
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
            mcp::Error::Rpc { .. }
            | mcp::Error::UrlRequired { .. }
            | mcp::Error::NotDeclared { .. } => (Phase::Tool, ""),
        };
        Error::new(extension, phase, format!("{error}{advice}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error {
            extension,
            phase,
            message,
        } = self;
        write!(f, "extension {extension:?}, {}: {message}", phase.name())
    }
}

impl std::error::Error for Error {}
