//! The errors of the store, worded for the user.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The result of an operation of the store.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation of the store failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file that does not parse. It is left as it is, and writes to it are refused.
    Broken {
        /// The file.
        path: PathBuf,
        /// The line of the error, from 1; 0 if it concerns the whole file.
        line: usize,
        /// The column of the error, from 1; 0 if it concerns the whole line or file.
        column: usize,
        /// What is wrong. Contains no secret.
        reason: String,
    },
    /// The value of a setting is wrong, and what needs it cannot do without.
    Setting {
        /// One sentence. Contains no secret.
        reason: String,
    },
    /// The change does not fit what is stored; why.
    Refused(String),
    /// The policy forbids the change; why.
    Denied(String),
    /// The change cannot be recorded, which it must be; why.
    Unrecorded(String),
    /// The new content would not parse to the intended values, so it was not written.
    Unwritable {
        /// The file that was left as it is.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Another process did not release the lock in time.
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long the store waited.
        waited: Duration,
    },
    /// A turn of the session is under way.
    TurnInProgress {
        /// Which process runs it; `None` if it is this one.
        holder: Option<String>,
    },
    /// The file has YAML anchors, which a rewrite would replace by copies. It was left as it is.
    Anchors {
        /// The file.
        path: PathBuf,
    },
    /// Another program, for example an editor, kept changing the file while it was being rewritten.
    Changing {
        /// The file.
        path: PathBuf,
    },
    /// No session has this id.
    SessionNotFound {
        /// The requested id.
        id: String,
    },
    /// Neither the environment nor the system gives a home directory.
    NoHome,
    /// The operating system returned an error.
    Io {
        /// The action that failed, as in "cannot *write*".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`: adds the action and the path.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// An error that concerns the whole file.
    pub(super) fn broken(path: &Path, reason: impl Into<String>) -> Self {
        Self::broken_at(path, (0, 0), reason)
    }

    /// An error in this line and column of the file.
    pub fn broken_at(
        path: &Path,
        (line, column): (usize, usize),
        reason: impl Into<String>,
    ) -> Self {
        Self::Broken {
            path: path.to_owned(),
            line,
            column,
            reason: reason.into(),
        }
    }

    pub(super) fn not_found(id: &str) -> Self {
        Self::SessionNotFound { id: id.to_owned() }
    }

    /// The new content of the file would not read back, for this reason.
    pub fn unwritable(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unwritable {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken {
                path,
                line,
                column,
                reason,
            } => {
                write!(f, "{} is not usable", path.display())?;
                match (line, column) {
                    (0, _) => {}
                    (line, 0) => write!(f, " (line {line})")?,
                    (line, column) => write!(f, " (line {line}, column {column})")?,
                }
                write!(
                    f,
                    ": {reason}; it was left as it is, correct it or put a backup in its place"
                )
            }
            Self::Setting { reason }
            | Self::Refused(reason)
            | Self::Denied(reason)
            | Self::Unrecorded(reason) => f.write_str(reason),
            Self::Unwritable { path, reason } => write!(
                f,
                "{} was left as it is, because the new content would not read back: {reason}; \
                 store a simpler value",
                path.display()
            ),
            Self::Anchors { path } => write!(
                f,
                "{} was left as it is, because it has YAML anchors (`&name`), which would be replaced by copies; \
                 write their values out, or change the file with an editor",
                path.display()
            ),
            Self::Locked { path, waited } => write!(
                f,
                "another process held {} for more than {} s; end it or try again",
                path.display(),
                waited.as_secs()
            ),
            Self::TurnInProgress { holder: None } => f.write_str(
                "this session is still busy with the message before; wait for its end, or cancel it",
            ),
            Self::TurnInProgress {
                holder: Some(holder),
            } => write!(
                f,
                "this session is busy with a message in another process ({holder}); wait for its \
                 end, or cancel it there"
            ),
            Self::Changing { path } => write!(
                f,
                "{} was changed by another program while it was being rewritten; try again",
                path.display()
            ),
            Self::SessionNotFound { .. } => f.write_str("Session not found"),
            Self::NoHome => {
                f.write_str("there is no home directory; set HOME or GOOSE_PATH_ROOT to a folder")
            }
            Self::Io {
                action,
                path,
                source,
            } => {
                write!(f, "cannot {action} {}: {source}", path.display())?;
                match source.kind() {
                    io::ErrorKind::PermissionDenied => f.write_str("; check its owner and mode"),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        f.write_str("; make room on the disk")
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
