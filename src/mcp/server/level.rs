//! The level of log messages.

use serde::{Deserialize, Serialize};

/// The level of a log message, lowest first. MCP 2025-11-25, server/utilities/logging (the levels of RFC
/// 5424).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Details for debugging.
    Debug,
    /// Normal events. The default of the lowest level that is sent.
    Info,
    /// Normal but significant events.
    Notice,
    /// Warnings.
    Warning,
    /// Failures.
    Error,
    /// Failures of a component.
    Critical,
    /// Action is needed at once.
    Alert,
    /// The system is unusable.
    Emergency,
}
