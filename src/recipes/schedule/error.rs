//! Errors of operations on schedules.

use super::cron;
use crate::{agent, recipe, store};
use std::fmt;

/// Why an operation on a schedule failed. The texts reach the client; `api` maps each to an HTTP status.
#[derive(Debug)]
pub enum Error {
    /// No schedule has this id.
    NotFound(String),
    /// A schedule with this id exists.
    Exists(String),
    /// The id is not allowed.
    Id(String),
    /// There are too many schedules.
    TooMany,
    /// The cron line is invalid.
    Cron(cron::Error),
    /// The recipe cannot run by itself.
    Recipe(recipe::Error),
    /// The schedule is running.
    Running {
        /// The id.
        id: String,
        /// What was to be done, as in `cannot be paused`.
        action: &'static str,
    },
    /// The schedule is not running, or another process runs it.
    NotRunning {
        /// The id.
        id: String,
        /// Whether another process runs it.
        elsewhere: bool,
    },
    /// Too many schedules are running.
    Busy,
    /// The run failed before it began.
    Run {
        /// The id.
        id: String,
        /// Why.
        error: agent::Error,
    },
    /// A file could not be read or written.
    Store(store::Error),
    /// The scheduler's thread could not start.
    Thread(std::io::Error),
    /// The server is stopping.
    Stopping,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotFound(id) => write!(f, "there is no schedule {id:?}"),
            Error::Exists(id) => write!(
                f,
                "there is a schedule {id:?} already; choose another id or delete that one"
            ),
            Error::Id(id) => write!(
                f,
                "{:?} cannot be the id of a schedule; use at most {} letters from a to z, digits, hyphens, \
                 underscores and spaces",
                crate::text::printable(id, 100),
                super::MAX_ID
            ),
            Error::TooMany => write!(
                f,
                "there are {} schedules already; delete one first",
                super::MAX_SCHEDULES
            ),
            Error::Cron(error) => error.fmt(f),
            Error::Recipe(error) => error.fmt(f),
            Error::Running { id, action } => {
                write!(
                    f,
                    "the schedule {id:?} {action} while it is running; wait or kill the run first"
                )
            }
            Error::NotRunning {
                id,
                elsewhere: false,
            } => {
                write!(f, "the schedule {id:?} is not running")
            }
            Error::NotRunning {
                id,
                elsewhere: true,
            } => write!(
                f,
                "the schedule {id:?} runs in another process; kill it there"
            ),
            Error::Busy => write!(
                f,
                "{} schedules are running already; wait for one of them",
                super::MAX_RUNS
            ),
            Error::Run { id, error } => write!(f, "the schedule {id:?} could not run: {error}"),
            Error::Store(error) => error.fmt(f),
            Error::Thread(error) => write!(f, "schedules cannot run: {error}"),
            Error::Stopping => f.write_str("the server is stopping"),
        }
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Error::Store(error)
    }
}

impl From<cron::Error> for Error {
    fn from(error: cron::Error) -> Self {
        Error::Cron(error)
    }
}

impl From<recipe::Error> for Error {
    fn from(error: recipe::Error) -> Self {
        Error::Recipe(error)
    }
}
