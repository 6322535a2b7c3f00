//! One run of a schedule: a session, one turn without a client, and the outcome in the file.

use super::super::schedule_file::{Job, Status, find};
use super::Scheduler;
use crate::agent::{Error, RecipeSource};
use crate::conversation::SessionType;
use crate::recipe_run::{self, NoEvents, RecipeRun, RunError, RunOptions};
use crate::store::file_lock::FileLock;
use crate::sys::cancel::Cancel;
use crate::sys::clock;
use crate::text::printable;
use std::path::PathBuf;
use std::sync::Arc;

/// The longest reason that is stored, in characters.
const MAX_REASON: usize = 1_000;

/// A claimed run. Its end is stored when it is dropped, also if it panics.
pub(super) struct Run {
    scheduler: Arc<Scheduler>,
    job: Job,
    /// Released after the end is stored.
    lock: Option<FileLock>,
    cancel: Cancel,
    session: Option<String>,
    status: Status,
    reason: Option<String>,
}

impl Run {
    pub(super) fn new(scheduler: Arc<Scheduler>, job: Job, lock: FileLock, cancel: Cancel) -> Self {
        Run {
            scheduler,
            job,
            lock: Some(lock),
            cancel,
            session: None,
            status: Status::Failed,
            reason: Some("it ended with an internal error".to_owned()),
        }
    }

    /// Creates the session, and stores that the run has it.
    pub(super) fn start(&mut self) -> Result<String, Error> {
        let session = self.create_session().inspect_err(|error| {
            self.reason = Some(error.to_string());
        })?;
        let id = self.job.id();
        self.session = Some(session.clone());
        let stored = self.scheduler.file.edit(|jobs| {
            find(jobs, id)?.set_session(&session);
            Ok(())
        });
        if let Err(error) = stored {
            // The run goes on; only other processes do not see its session.
            log::warn!(
                "session of a schedule not stored id={id:?} reason={:?}",
                error.to_string()
            );
        }
        // Clients see it once it is stored, so that what they saw survives a crash.
        self.scheduler.has_session(id, &session);
        log::info!("schedule runs id={id:?} session={session}");
        Ok(session)
    }

    fn create_session(&self) -> Result<String, Error> {
        let mut run = RecipeRun::from_file(self.job.source(), working_dir()?)?;
        let folder = self.job.source().parent();
        if folder.is_some_and(|folder| folder.ends_with(".goose/recipes")) {
            run.source = RecipeSource::Project;
        }
        run.values = self.job.parameters();
        run.session_type = SessionType::Scheduled;
        run.schedule_id = Some(self.job.id().to_owned());
        run.name = Some(format!("Scheduled job: {}", self.job.id()));
        Ok(run.start(&self.scheduler.registry)?.id)
    }

    /// Runs the turn.
    pub(super) fn finish(mut self) {
        let Some(session) = &self.session else {
            return;
        };
        let registry = &self.scheduler.registry;
        let options = RunOptions::default();
        let outcome = recipe_run::run(registry, session, options, &mut NoEvents, &self.cancel);
        (self.status, self.reason) = match outcome.result {
            Ok(_) => (Status::Succeeded, None),
            // What fails because the run is cancelled is not a failure.
            Err(error @ RunError::Cancelled) => (Status::Cancelled, Some(error.to_string())),
            Err(error) => (Status::Failed, Some(error.to_string())),
        };
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let id = self.job.id();
        let reason = self
            .reason
            .as_deref()
            .map(|reason| printable(reason, MAX_REASON));
        match (&self.status, &reason) {
            (Status::Failed, Some(reason)) => {
                log::error!("schedule failed id={id:?} reason={reason:?}")
            }
            (status, _) => log::info!("schedule ended id={id:?} status={status:?}"),
        }
        let now = clock::unix_seconds();
        let stored = self.scheduler.file.edit(|jobs| {
            // The schedule may have been deleted.
            if let Ok(job) = find(jobs, id) {
                job.end(self.status, self.session.as_deref(), reason.as_deref(), now);
            }
            Ok(())
        });
        if let Err(error) = stored {
            let reason = error.to_string();
            log::error!("end of a schedule not stored id={id:?} reason={reason:?}");
        }
        self.lock = None;
        self.scheduler.has_ended(id);
    }
}

/// The folder in which schedules run: that of the process, as in Goose.
///
/// # Errors
/// When it was deleted or cannot be read.
fn working_dir() -> Result<PathBuf, Error> {
    std::env::current_dir().map_err(|error| Error::Config {
        reason: format!(
            "the directory that the server was started in cannot be used: {error}; start it again in another one"
        ),
    })
}
