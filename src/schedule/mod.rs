//! Schedules: recipes that run at the times of cron lines, without a client.

pub mod cron;
mod due;
mod error;
pub mod local_time;
mod run;
mod schedule_file;
mod scheduler;

pub use error::Error;
pub use schedule_file::{Job, ScheduleFile, Status, cron_lines};
pub use scheduler::{Inspection, Listed, Scheduler, list};

/// How many schedules may run at the same time in one process.
pub const MAX_RUNS: usize = 8;

/// How many schedules there may be.
pub const MAX_SCHEDULES: usize = 1_000;

/// The longest id of a new schedule.
pub const MAX_ID: usize = 100;
