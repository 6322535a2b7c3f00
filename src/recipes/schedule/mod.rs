//! Schedules: recipes that run at the times of cron lines, without a client.

pub mod cron;
mod due;
mod error;
pub mod local_time;
mod schedule_command;
mod schedule_endpoints;
mod schedule_file;
mod scheduler;

pub use error::Error;
pub use schedule_file::{Job, ScheduleFile, Status, cron_lines};
pub use scheduler::{Inspection, Listed, Scheduler, list};

use crate::agent::Registry;
use crate::command_line::Failure;
use crate::http::Router;
use gosling_core::part::{self, Part};
use std::sync::Arc;

/// What schedules add to gosling.
pub const PART: Part = Part {
    commands: &[schedule_command::COMMAND],
    service: Some(|registry: &Arc<Registry>| {
        Ok(Box::new(Service(Scheduler::new(registry.clone()))))
    }),
    ..Part::new("schedules")
};

/// The scheduler of a server.
struct Service(Arc<Scheduler>);

impl part::Service for Service {
    fn routes(&self, router: Router) -> Router {
        schedule_endpoints::routes(router, &self.0)
    }

    fn start(&self, _: &[String]) -> Result<(), Failure> {
        self.0.start_or_log();
        Ok(())
    }

    fn close(&self) {
        self.0.close();
    }
}

/// How many schedules may run at the same time in one process.
pub const MAX_RUNS: usize = 8;

/// How many schedules there may be.
pub const MAX_SCHEDULES: usize = 1_000;

/// The longest id of a new schedule.
pub const MAX_ID: usize = 100;
