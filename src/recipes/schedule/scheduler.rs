//! The scheduler: a thread that sleeps until a schedule is due, and the runs that it starts.
//!
//! The thread waits for the next due moment on the wall clock, for a change of that clock or of the file, also
//! by another process, which may create it, and for the end of a run ([`Alarm`]).
//! It computes everything anew each time, from the file and from the moment up to which it has looked before, so
//! that it holds no plan that could become stale.
//!
//! Before a run the process stores its due moment in the file, under the lock between processes
//! ([`Job::handled_until`]). So each due moment has one run, whichever process is first, and none if that process
//! is killed. A moment that is more than [`LATEST_START`](super::due::LATEST_START) ago is missed, and is not made up for.

mod run;

use super::cron::Cron;
use super::due::due_since;
use super::error::Error;
use super::local_time::{Zone, next_run};
use super::schedule_file::{self, Job, ScheduleFile, Status, check_id, find, is_taken};
use super::{MAX_RUNS, MAX_SCHEDULES};
use crate::agent::Registry;
use crate::recipe::Recipe;
use crate::store::file_lock::FileLock;
use crate::store::{self, Paths, StoredSession, files};
use crate::sys::alarm::Alarm;
use crate::sys::cancel::Cancel;
use crate::sys::paths::path_text::is_device;
use crate::sys::threads::Threads;
use crate::sys::{self, clock, lock};
use gosling_core::activity::Caller;
use gosling_core::sorting::sort_by;
use run::Run;
use serde_json::Map;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// The schedules of one registry, and their runs.
pub struct Scheduler {
    registry: Arc<Registry>,
    file: ScheduleFile,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    closed: bool,
    /// The thread, and what ends its wait.
    thread: Option<(JoinHandle<()>, Arc<Alarm>)>,
    /// The runs of this process, by the ids of their schedules.
    running: HashMap<String, Running>,
    /// Their threads, and those of runs that have ended since these were joined.
    threads: Threads,
}

/// A run of this process.
#[derive(Clone)]
struct Running {
    cancel: Cancel,
    started: i64,
    session: Option<String>,
}

/// A schedule, and when it runs next.
pub struct Listed {
    /// The schedule.
    pub job: Job,
    /// When it is due, in local time with its offset; `None` if it is paused or its cron line is invalid.
    pub next_run: Option<String>,
}

/// The current run of a schedule, and how the last one ended.
#[derive(Default)]
pub struct Inspection {
    /// When the run began, in seconds since 1970-01-01T00:00:00Z.
    pub started: Option<i64>,
    /// Its session.
    pub session: Option<String>,
    /// How the last run ended.
    pub last_outcome: Option<serde_json::Value>,
}

impl Scheduler {
    /// The scheduler of a registry. Nothing is read or started yet.
    pub fn new(registry: Arc<Registry>) -> Arc<Self> {
        let file = ScheduleFile::new(&registry.stores().paths);
        Arc::new(Scheduler {
            registry,
            file,
            state: Mutex::default(),
        })
    }

    /// The registry in which the schedules run.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Starts the thread, if it does not run.
    ///
    /// # Errors
    /// When the thread cannot start.
    pub fn start(self: &Arc<Self>) -> Result<(), Error> {
        let mut state = lock(&self.state);
        if state.closed || state.thread.is_some() {
            return Ok(());
        }
        files::ensure_dir(self.file.folder())?;
        let alarm = Alarm::new(self.file.folder(), OsStr::new(schedule_file::NAME));
        let alarm = Arc::new(alarm.map_err(Error::Thread)?);
        let (scheduler, waiting) = (self.clone(), alarm.clone());
        let work = move || scheduler.work(&waiting);
        let thread = sys::spawn("scheduler".to_owned(), None, work).map_err(Error::Thread)?;
        state.thread = Some((thread, alarm));
        Ok(())
    }

    /// Cancels all runs, and ends the thread. No run begins afterwards.
    pub fn close(&self) {
        let (thread, running, threads) = {
            let mut state = lock(&self.state);
            state.closed = true;
            let running: Vec<Running> = state.running.values().cloned().collect();
            (
                state.thread.take(),
                running,
                std::mem::take(&mut state.threads),
            )
        };
        for run in running {
            run.cancel.cancel();
        }
        if let Some((thread, alarm)) = thread {
            alarm.notify();
            let _ = thread.join();
        }
        threads.join(true);
    }

    /// Creates a schedule for a recipe, which is stored with it.
    ///
    /// # Errors
    /// When the id, the cron line or the recipe is invalid, or the id is taken. Nothing is stored then.
    pub fn create(self: &Arc<Self>, id: &str, recipe: Recipe, cron: &str) -> Result<Listed, Error> {
        let id = id.trim();
        check_id(id)?;
        Cron::parse_new(cron)?;
        recipe.check()?;
        recipe.check_visible()?;
        // Nobody gives values when it runs.
        recipe.render(&Map::new(), self.file.recipes())?;
        let path = self.file.recipes().join(format!("{id}.yaml"));
        let text = match recipe.into_value() {
            serde_json::Value::Object(object) => gosling_shared::render_yaml_object(&object),
            _ => Ok(String::new()),
        };
        let text = text.map_err(|reason| store::Error::unwritable(&path, reason))?;
        let mut written = false;
        let result = self.file.edit(|jobs| {
            if is_taken(jobs, id) {
                return Err(Error::Exists(id.to_owned()));
            }
            files::ensure_dir(self.file.recipes())?;
            files::write_atomic(&path, text.as_bytes())?;
            written = true;
            add(jobs, id, &path, cron)
        });
        if written && result.is_err() {
            let _ = std::fs::remove_file(&path);
        }
        self.started(result)
    }

    /// Creates, changes or, without a cron line, deletes the schedule of the recipe in the file `path`.
    ///
    /// # Errors
    /// When the cron line is invalid or the schedule is running.
    pub fn schedule_recipe(self: &Arc<Self>, path: &Path, cron: Option<&str>) -> Result<(), Error> {
        let existing = self.file.load()?;
        let existing = existing.iter().find(|job| job.source() == path);
        match (existing, cron) {
            (Some(job), Some(cron)) => self.update(job.id(), cron).map(drop),
            (Some(job), None) => self.delete(job.id()),
            (None, None) => Ok(()),
            (None, Some(cron)) => {
                Cron::parse_new(cron)?;
                let result = self.file.edit(|jobs| {
                    let id = free_id(jobs, path);
                    add(jobs, &id, path, cron)
                });
                self.started(result).map(drop)
            }
        }
    }

    /// The schedules, in the order of the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn list(self: &Arc<Self>) -> Result<Vec<Listed>, Error> {
        self.current_jobs()?;
        Ok(list(&self.registry.stores().paths)?)
    }

    /// Changes the cron line of a schedule.
    ///
    /// # Errors
    /// When the line is invalid, or the schedule does not exist or is running.
    pub fn update(self: &Arc<Self>, id: &str, cron: &str) -> Result<Listed, Error> {
        Cron::parse_new(cron)?;
        self.change(id, Some("cannot be changed"), |job, now| {
            if job.cron() != cron {
                job.set_cron(cron);
                job.set_handled_until(now);
            }
        })
    }

    /// Pauses a schedule: it is not due until it is unpaused.
    ///
    /// # Errors
    /// When the schedule does not exist or is running.
    pub fn pause(self: &Arc<Self>, id: &str) -> Result<Listed, Error> {
        self.change(id, Some("cannot be paused"), |job, _| job.set_paused(true))
    }

    /// Ends the pause of a schedule.
    ///
    /// # Errors
    /// When the schedule does not exist.
    pub fn unpause(self: &Arc<Self>, id: &str) -> Result<Listed, Error> {
        self.change(id, None, |job, now| {
            if job.is_paused() {
                job.set_paused(false);
                job.set_handled_until(now);
            }
        })
    }

    /// Deletes a schedule with its recipe, if that is a copy of its own, and cancels its run.
    ///
    /// # Errors
    /// When the schedule does not exist.
    pub fn delete(&self, id: &str) -> Result<(), Error> {
        let source = self.file.edit(|jobs| {
            let source = find(jobs, id)?.source().to_owned();
            jobs.retain(|job| job.id() != id);
            Ok(source)
        })?;
        if let Some(run) = self.running(id) {
            run.cancel.cancel();
        }
        if source.parent() == Some(self.file.recipes()) {
            // If it cannot be removed, it does no harm.
            let _ = std::fs::remove_file(source);
        }
        Ok(())
    }

    /// Starts a run now; returns its session. Does not wait for the end of the run.
    ///
    /// # Errors
    /// When the schedule does not exist or is running, or its recipe cannot run.
    pub fn run_now(self: &Arc<Self>, id: &str) -> Result<String, Error> {
        let session = self.begin(id, None)?;
        session.ok_or_else(|| Error::Running {
            id: id.to_owned(),
            action: "cannot be started again",
        })
    }

    /// Cancels the current run.
    ///
    /// # Errors
    /// When the schedule does not exist, or this process does not run it.
    pub fn kill(&self, id: &str) -> Result<(), Error> {
        if let Some(run) = self.running(id) {
            run.cancel.cancel();
            return Ok(());
        }
        let job = self.job(id)?;
        Err(Error::NotRunning {
            id: id.to_owned(),
            elsewhere: job.is_marked_running(),
        })
    }

    /// The current run, in any process, and how the last one ended.
    ///
    /// # Errors
    /// When the schedule does not exist.
    pub fn inspect(&self, id: &str) -> Result<Inspection, Error> {
        let job = self.job(id)?;
        let last_outcome = job.last_outcome().cloned();
        let (started, session) = match self.running(id) {
            Some(run) => (Some(run.started), run.session),
            None if job.is_marked_running() => (job.started(), job.session().map(str::to_owned)),
            None => (None, None),
        };
        Ok(Inspection {
            started,
            session,
            last_outcome,
        })
    }

    /// The sessions of a schedule, also of a deleted one, the newest first.
    ///
    /// # Errors
    /// When the sessions cannot be listed.
    pub fn sessions(&self, id: &str, limit: usize) -> Result<Vec<Arc<StoredSession>>, Error> {
        let store = &self.registry.stores().sessions;
        let mut of_schedule = store.list()?;
        of_schedule.retain(|session| session.schedule_id.as_deref() == Some(id));
        let mut newest = Vec::new();
        let keep_newest = |newest: &mut Vec<Arc<StoredSession>>| {
            sort_by(newest, |a, b| {
                (&b.created_at, &b.id).cmp(&(&a.created_at, &a.id))
            });
            newest.truncate(limit);
        };
        // A schedule may have more sessions than there is memory.
        for session in store.read(of_schedule) {
            newest.push(session);
            if newest.len() / 2 > limit {
                keep_newest(&mut newest);
            }
        }
        keep_newest(&mut newest);
        Ok(newest)
    }

    fn running(&self, id: &str) -> Option<Running> {
        lock(&self.state).running.get(id).cloned()
    }

    fn job(&self, id: &str) -> Result<Job, Error> {
        let jobs = self.current_jobs()?;
        let job = jobs.iter().find(|job| job.id() == id).cloned();
        job.ok_or_else(|| Error::NotFound(id.to_owned()))
    }

    /// Changes a schedule, which must not be running if there is an `action` to refuse then.
    fn change(
        self: &Arc<Self>,
        id: &str,
        action: Option<&'static str>,
        change: impl FnOnce(&mut Job, i64),
    ) -> Result<Listed, Error> {
        self.current_jobs()?;
        let result = self.file.edit(|jobs| {
            let job = find(jobs, id)?;
            match action {
                Some(action) if job.is_marked_running() => Err(Error::Running {
                    id: id.to_owned(),
                    action,
                }),
                _ => {
                    change(job, clock::unix_seconds());
                    Ok(job.clone())
                }
            }
        });
        self.started(result)
    }

    /// What a change of the file resulted in; the thread runs then.
    fn started(self: &Arc<Self>, result: Result<Job, Error>) -> Result<Listed, Error> {
        let job = result?;
        self.start_or_log();
        Ok(listed_job(job, &Zone::system(), clock::unix_seconds()))
    }

    /// Starts the thread if that failed before.
    pub(super) fn start_or_log(self: &Arc<Self>) {
        if let Err(error) = self.start() {
            log::error!("scheduler not started reason={:?}", error.to_string());
        }
    }

    /// The schedules. Those that a process ran when it was killed are no longer marked as running.
    fn current_jobs(&self) -> Result<Arc<Vec<Job>>, Error> {
        let jobs = self.file.load()?;
        let ours: Vec<String> = lock(&self.state).running.keys().cloned().collect();
        let in_doubt = |job: &Job| job.is_marked_running() && !ours.iter().any(|id| id == job.id());
        if !jobs.iter().any(in_doubt) {
            return Ok(jobs);
        }
        self.file.edit(|jobs| {
            for job in jobs.iter_mut().filter(|job| in_doubt(job)) {
                // A process that runs it holds the lock.
                if self.file.lock_run(job.id())?.is_some() {
                    let session = job.session().map(str::to_owned);
                    let reason = "the process ended during the run";
                    log::warn!("schedule interrupted id={:?} reason={reason:?}", job.id());
                    let now = clock::unix_seconds();
                    job.end(Status::Interrupted, session.as_deref(), Some(reason), now);
                }
            }
            Ok(())
        })?;
        Ok(self.file.load()?)
    }

    /// What the thread does.
    fn work(self: &Arc<Self>, alarm: &Alarm) {
        let mut seen = clock::unix_seconds();
        let mut waiting = BTreeMap::new();
        loop {
            if lock(&self.state).closed {
                return;
            }
            let now = clock::unix_seconds();
            let next = match self.current_jobs() {
                Ok(jobs) => due_since(&jobs, &Zone::system(), seen, now, &mut waiting),
                Err(error) => {
                    log::error!("schedules cannot be read reason={:?}", error.to_string());
                    None
                }
            };
            seen = now;
            self.run_waiting(&mut waiting);
            alarm.wait(next);
        }
    }

    /// Starts the runs that wait, as many as may run at the same time.
    fn run_waiting(self: &Arc<Self>, waiting: &mut BTreeMap<String, i64>) {
        while lock(&self.state).running.len() < MAX_RUNS {
            let Some((id, due)) = waiting.pop_first() else {
                return;
            };
            let begun = self.begin(&id, Some(due)).map(drop);
            match begun {
                // The run has logged its end.
                Ok(()) | Err(Error::Run { .. } | Error::NotFound(_)) => {}
                Err(Error::Stopping) => log::warn!("schedule not run, the server stops id={id:?}"),
                Err(error) => {
                    let reason = error.to_string();
                    log::error!("schedule not run id={id:?} reason={reason:?}");
                }
            }
        }
    }

    /// Starts a run: of the moment `due`, or now. Returns its session; `None` if the schedule is running or, for
    /// a run that is due, if it was claimed before or is paused.
    fn begin(self: &Arc<Self>, id: &str, due: Option<i64>) -> Result<Option<String>, Error> {
        let cancel = self.registry.cancel().child();
        let is_ours = self.reserve(id, &cancel)?;
        match self.claim(id, due, is_ours) {
            Ok(Some((job, lock))) => self.run(job, lock, cancel).map(Some),
            other => {
                if is_ours {
                    self.has_ended(id);
                }
                other.map(|_| None)
            }
        }
    }

    /// Reserves a place among the runs of this process; false if it runs the schedule already.
    fn reserve(&self, id: &str, cancel: &Cancel) -> Result<bool, Error> {
        let mut state = lock(&self.state);
        if state.closed || self.registry.is_draining() {
            return Err(Error::Stopping);
        }
        if state.running.contains_key(id) {
            return Ok(false);
        }
        if state.running.len() >= MAX_RUNS {
            return Err(Error::Busy);
        }
        let running = Running {
            cancel: cancel.clone(),
            started: clock::unix_seconds(),
            session: None,
        };
        state.running.insert(id.to_owned(), running);
        Ok(true)
    }

    /// Marks a schedule as running and takes its lock, if its place `is_reserved`. `None` if it is running or,
    /// for a run that is due, if it was claimed before or is paused.
    fn claim(
        &self,
        id: &str,
        due: Option<i64>,
        is_reserved: bool,
    ) -> Result<Option<(Job, FileLock)>, Error> {
        self.file.edit(|jobs| {
            let job = find(jobs, id)?;
            let now = clock::unix_seconds();
            if let Some(due) = due {
                let handled = job.handled_until();
                // A later one is from before the clock was set back.
                let is_handled = handled.is_some_and(|it| it == due || (due < it && it <= now));
                if is_handled || job.is_paused() {
                    return Ok(None);
                }
                job.set_handled_until(due);
            }
            let lock = if is_reserved {
                self.file.lock_run(id)?
            } else {
                None
            };
            if lock.is_some() {
                job.begin(now);
            } else if due.is_some() {
                log::warn!("schedule skipped id={id:?} reason=\"it is still running\"");
            }
            Ok(lock.map(|lock| (job.clone(), lock)))
        })
    }

    /// Starts a claimed run; returns its session.
    fn run(self: &Arc<Self>, job: Job, lock: FileLock, cancel: Cancel) -> Result<String, Error> {
        let caller = Caller {
            front: "schedule",
            ..Caller::clone(&Caller::current())
        };
        caller.asks(|| self.start_run(job, lock, cancel))
    }

    /// Creates the session of a claimed run, and starts its thread.
    fn start_run(
        self: &Arc<Self>,
        job: Job,
        lock: FileLock,
        cancel: Cancel,
    ) -> Result<String, Error> {
        let id = job.id().to_owned();
        let mut run = Run::new(self.clone(), job, lock, cancel);
        let session = run.start().map_err(|error| Error::Run {
            id: id.clone(),
            error,
        })?;
        // If the thread cannot start, the run is dropped, which ends it.
        let work = move || run.finish();
        let thread = sys::spawn(format!("schedule {id}"), None, work).map_err(Error::Thread)?;
        let mut state = sys::lock(&self.state);
        if state.closed {
            // `close` has cancelled the run, but did not see its thread.
            drop(state);
            let _ = thread.join();
        } else {
            state.threads.add(thread);
        }
        Ok(session)
    }

    /// The session of a run of this process exists.
    fn has_session(&self, id: &str, session: &str) {
        if let Some(run) = lock(&self.state).running.get_mut(id) {
            run.session = Some(session.to_owned());
        }
    }

    /// A run of this process has ended, and its lock is released.
    fn has_ended(&self, id: &str) {
        let mut state = lock(&self.state);
        state.running.remove(id);
        if let Some((_, alarm)) = &state.thread {
            alarm.notify();
        }
    }
}

/// The schedules in the files of `paths`, in their order, without a scheduler.
///
/// # Errors
/// When the file cannot be read.
pub fn list(paths: &Paths) -> Result<Vec<Listed>, store::Error> {
    let jobs = ScheduleFile::new(paths).load()?;
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let (zone, now) = (Zone::system(), clock::unix_seconds());
    let listed = jobs.iter().cloned();
    Ok(listed.map(|job| listed_job(job, &zone, now)).collect())
}

fn listed_job(job: Job, zone: &Zone, now: i64) -> Listed {
    let cron = if job.is_paused() {
        None
    } else {
        Cron::parse(job.cron()).ok()
    };
    let next = cron.and_then(|cron| next_run(&cron, zone, now));
    Listed {
        next_run: next.map(|moment| zone.format(moment)),
        job,
    }
}

/// Adds a schedule to those of the file.
fn add(jobs: &mut Vec<Job>, id: &str, path: &Path, cron: &str) -> Result<Job, Error> {
    if jobs.len() >= MAX_SCHEDULES {
        return Err(Error::TooMany);
    }
    let job = Job::new(id, path, cron, clock::unix_seconds());
    jobs.push(job.clone());
    Ok(job)
}

/// An id for the schedule of this recipe file that no schedule has: the name of the file, with a number if
/// necessary.
fn free_id(jobs: &[Job], path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() || "-_ ".contains(c) {
            c
        } else {
            '-'
        }
    };
    let stem: String = stem.chars().take(super::MAX_ID - 5).map(allowed).collect();
    let numbered = (1..).map(|number| format!("{stem}_{number}"));
    let mut ids = std::iter::once(stem.clone()).chain(numbered);
    let is_free = |id: &String| !is_taken(jobs, id) && !is_device(id);
    ids.find(is_free).unwrap_or(stem)
}

#[cfg(test)]
mod tests;
