//! Why an extension does not work, worded for the person who configured it.

use crate::mcp;
use std::fmt;

/// In which part of an extension's life it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// What the user wrote cannot be carried out.
    Config,
    /// The command or the address could not be prepared.
    Setup,
    /// The server did not come up.
    Initialize,
    /// The connection to a server that had come up failed.
    Transport,
    /// The server broke the protocol.
    Protocol,
    /// The server refused a call.
    Tool,
    /// No answer in time.
    Timeout,
    /// Nobody waits any more.
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

/// Names the extension, the phase and the cause.
#[derive(Clone, Debug)]
pub struct Error {
    /// The extension's name as configured.
    pub extension: String,
    /// Where it failed.
    pub phase: Phase,
    /// The cause, and where there is one, the way out.
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

    /// For a tool of an extension that did not come up; `why` is the text of the error that said so.
    pub(crate) fn not_active(extension: &str, why: &str) -> Self {
        let own = format!("extension {:?}, ", crate::text::printable(extension, 100));
        let why = why.strip_prefix(&own).unwrap_or(why);
        let text = format!("it is not active, so its tools are not there: {why}");
        Self::new(extension, Phase::Config, text)
    }

    /// What an MCP client says, with the extension's name. `starting` while it is not up yet.
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
