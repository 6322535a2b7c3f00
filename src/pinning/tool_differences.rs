//! How tools differ from the pinned ones, as users see it.

use crate::store;
use serde::Serialize;
use std::fmt;

/// How a tool differs from the pinned one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Difference {
    /// It is new.
    Added,
    /// Something of it is different.
    Changed,
    /// The server does not list it any more.
    Removed,
}

/// A tool that differs from the pinned one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Change {
    /// Its name within the server.
    pub(crate) tool: String,
    /// How it differs.
    pub(crate) change: Difference,
    /// What of a changed tool differs: `title`, `description`, `inputSchema`, `outputSchema`, `annotations`,
    /// `_meta`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<&'static str>,
    /// The beginning of the pinned description, if the description differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// The beginning of the present description, if the description differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

/// How the tools of an extension differ from the pinned ones, see
/// [`Reviewed::report`](crate::extension::pinning_check::Reviewed::report).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Report {
    /// Another program, address or code has this name now.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) launch_changed: bool,
    /// The tools that differ, at most 100, by name.
    pub(crate) changes: Vec<Change>,
    /// How many of the listed tools are not offered.
    pub(crate) withheld: usize,
    /// Why the tools could not be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// What is pinned of an extension.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Pinned {
    /// How many tools.
    pub(crate) tools: usize,
    /// Another program, address or code has this name now, and was not accepted.
    pub(crate) launch_changed: bool,
    /// How the tools differ that the extension listed last.
    pub(crate) changes: Vec<Change>,
}

/// Why pins could not be accepted.
#[derive(Debug)]
pub(crate) enum AcceptError {
    /// No extension of this key was started while pinning was on.
    Unknown,
    /// The file cannot be read or written.
    Store(store::Error),
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AcceptError::Unknown => f.write_str("no tools of an extension of this name are pinned"),
            AcceptError::Store(error) => error.fmt(f),
        }
    }
}

impl From<store::Error> for AcceptError {
    fn from(error: store::Error) -> Self {
        AcceptError::Store(error)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}
