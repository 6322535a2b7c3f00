//! `schedule.json`, in Goose's format: a list of objects. Keys that gosling does not know stay.
//!
//! gosling adds two keys to those of Goose. `handled_until` is the last moment at which the schedule was due and
//! a process claimed it; it is stored before the run, so that no second process runs it. `last_outcome` is how
//! the last run ended.
//!
//! A running schedule has a lock file in `scheduled_recipes/`, which the system releases when the process ends.
//! It is taken only while `schedule.json` is locked.

use super::{Error, MAX_ID, MAX_SCHEDULES};
use crate::recipe::library;
use crate::store::file_lock::FileLock;
use crate::store::{self, Paths, files};
use crate::sys::clock::Utc;
use crate::sys::fs::Stamp;
use crate::sys::paths::path_text::is_device;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The name of the file, in the folder for data.
pub const NAME: &str = "schedule.json";

/// Larger files are not read.
const MAX_SIZE: u64 = 4 << 20;

/// A schedule, as its object in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Job(Map<String, Value>);

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The turn ended by itself.
    Succeeded,
    /// The run could not begin, or the model could not do its task.
    Failed,
    /// It was killed, or the server stopped.
    Cancelled,
    /// The process ended during the run.
    Interrupted,
}

impl Job {
    /// A new schedule: no run is due before `now`.
    pub fn new(id: &str, source: &Path, cron: &str, now: i64) -> Self {
        let job = json!({
            "id": id, "source": source.to_string_lossy(), "cron": cron, "last_run": null,
            "currently_running": false, "paused": false, "current_session_id": null,
            "process_start_time": null, "handled_until": Utc::from_unix(now).to_string(),
        });
        match job {
            Value::Object(job) => Job(job),
            _ => Job(Map::new()),
        }
    }

    /// The id.
    pub fn id(&self) -> &str {
        self.text("id").unwrap_or_default()
    }

    /// The path of the recipe.
    pub fn source(&self) -> &Path {
        Path::new(self.text("source").unwrap_or_default())
    }

    /// The cron line.
    pub fn cron(&self) -> &str {
        self.text("cron").unwrap_or_default()
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.0.get("paused") == Some(&Value::Bool(true))
    }

    /// Whether a process has begun a run and not ended it; it may have been killed since.
    pub fn is_marked_running(&self) -> bool {
        self.0.get("currently_running") == Some(&Value::Bool(true))
    }

    /// No run is due up to this moment.
    pub fn handled_until(&self) -> Option<i64> {
        self.moment("handled_until")
    }

    /// When the current run began.
    pub fn started(&self) -> Option<i64> {
        self.moment("process_start_time")
    }

    /// The session of the current run.
    pub fn session(&self) -> Option<&str> {
        self.text("current_session_id")
    }

    /// How the last run ended: `status`, `session_id`, `reason` and `ended_at`.
    pub fn last_outcome(&self) -> Option<&Value> {
        self.0.get("last_outcome")
    }

    /// The values for the parameters of the recipe, as newer versions of Goose store them.
    pub fn parameters(&self) -> Map<String, Value> {
        let pairs = self.0.get("parameters").and_then(Value::as_array);
        let pairs = pairs.into_iter().flatten().filter_map(Value::as_array);
        let pairs = pairs.filter_map(|pair| match &pair[..] {
            [Value::String(key), value] => Some((key.clone(), value.clone())),
            _ => None,
        });
        pairs.collect()
    }

    /// The object.
    pub fn into_object(self) -> Map<String, Value> {
        self.0
    }

    pub(super) fn set_cron(&mut self, cron: &str) {
        self.set("cron", cron);
    }

    pub(super) fn set_paused(&mut self, paused: bool) {
        self.set("paused", paused);
    }

    pub(super) fn set_handled_until(&mut self, moment: i64) {
        self.set("handled_until", Utc::from_unix(moment).to_string());
    }

    pub(super) fn set_session(&mut self, id: &str) {
        self.set("current_session_id", id);
    }

    /// A run begins.
    pub(super) fn begin(&mut self, now: i64) {
        let now = Utc::from_unix(now).to_string();
        self.set("last_run", now.clone());
        self.set("currently_running", true);
        self.set("current_session_id", Value::Null);
        self.set("process_start_time", now);
    }

    /// The run has ended.
    pub(super) fn end(
        &mut self,
        status: Status,
        session: Option<&str>,
        reason: Option<&str>,
        now: i64,
    ) {
        self.set("currently_running", false);
        self.set("current_session_id", Value::Null);
        self.set("process_start_time", Value::Null);
        let outcome = json!({
            "status": status, "session_id": session, "reason": reason,
            "ended_at": Utc::from_unix(now).to_string(),
        });
        self.set("last_outcome", outcome);
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }

    fn moment(&self, key: &str) -> Option<i64> {
        Some(Utc::parse(self.text(key)?)?.unix_seconds())
    }

    fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }
}

/// Whether a schedule has this id, or one that differs only in case: on some systems their files would be the same.
pub(super) fn is_taken(jobs: &[Job], id: &str) -> bool {
    jobs.iter().any(|job| job.id().eq_ignore_ascii_case(id))
}

/// The schedule with this id.
pub(super) fn find<'a>(jobs: &'a mut [Job], id: &str) -> Result<&'a mut Job, Error> {
    let found = jobs.iter_mut().find(|job| job.id() == id);
    found.ok_or_else(|| Error::NotFound(id.to_owned()))
}

/// Checks the id of a new schedule, which becomes a part of the name of a file, and that of no device of Windows.
pub(super) fn check_id(id: &str) -> Result<(), Error> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_ ".contains(&byte);
    if !id.is_empty() && id.len() <= MAX_ID && id.bytes().all(allowed) && !is_device(id) {
        Ok(())
    } else {
        Err(Error::Id(id.to_owned()))
    }
}

/// The file, shared by threads and with other processes.
#[derive(Debug)]
pub struct ScheduleFile {
    path: PathBuf,
    recipes: PathBuf,
    cache: files::Cached<Vec<Job>>,
}

impl ScheduleFile {
    /// The file of `paths`. Does no I/O.
    pub fn new(paths: &Paths) -> Self {
        ScheduleFile {
            path: paths.data.join(NAME),
            recipes: paths.data.join("scheduled_recipes"),
            cache: files::Cached::default(),
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        files::parent(&self.path)
    }

    /// The folder with the recipes of schedules.
    pub fn recipes(&self) -> &Path {
        &self.recipes
    }

    /// The schedules. Costs one `stat` while the file is unchanged.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a list of schedules.
    pub fn load(&self) -> Result<Arc<Vec<Job>>, store::Error> {
        self.cache.load(&self.path, || self.read())
    }

    /// Reads, changes and rewrites the file under the lock between processes. Writes nothing if `change` fails
    /// or changes nothing.
    pub(super) fn edit<R>(
        &self,
        change: impl FnOnce(&mut Vec<Job>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        files::ensure_dir(self.folder())?;
        let target = files::follow_links(&self.path)?;
        let _lock = FileLock::beside(&target)?;
        let before = self.read()?.map(|(jobs, _)| jobs).unwrap_or_default();
        let mut jobs = before.clone();
        let result = change(&mut jobs)?;
        if jobs != before {
            let text =
                serde_json::to_vec_pretty(&jobs.iter().map(|job| &job.0).collect::<Vec<_>>());
            let text =
                text.map_err(|error| store::Error::unwritable(&self.path, error.to_string()))?;
            files::write_atomic(&target, &text)?;
        }
        Ok(result)
    }

    /// Takes the lock of a running schedule; `None` if a process holds it. The caller holds that of the file.
    pub(super) fn lock_run(&self, id: &str) -> Result<Option<FileLock>, store::Error> {
        files::ensure_dir(&self.recipes)?;
        // The ids of other programs may be any text.
        let name = format!(".{}.lock", library::id(Path::new(id)));
        match FileLock::acquire(&self.recipes.join(name), Duration::ZERO) {
            Ok(lock) => Ok(Some(lock)),
            Err(store::Error::Locked { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(&self) -> Result<Option<(Vec<Job>, Stamp)>, store::Error> {
        let Some((content, stamp)) = files::read_file(&self.path, MAX_SIZE)? else {
            return Ok(None);
        };
        if content.trim_ascii().is_empty() {
            return Ok(Some((Vec::new(), stamp)));
        }
        let broken = |place, reason| store::Error::broken_at(&self.path, place, reason);
        let list: Vec<Map<String, Value>> = crate::json::from_slice(&content)
            .map_err(|error| broken((error.line(), error.column()), error.to_string()))?;
        if list.len() > MAX_SCHEDULES {
            let reason = format!("it has more than {MAX_SCHEDULES} schedules");
            return Err(broken((0, 0), reason));
        }
        let jobs: Vec<Job> = list.into_iter().map(Job).collect();
        for (n, job) in jobs.iter().enumerate() {
            for key in ["id", "source", "cron"] {
                if job.text(key).is_none() {
                    let reason = format!("schedule {} of the list has no text `{key}`", n + 1);
                    return Err(broken((0, 0), reason));
                }
            }
        }
        Ok(Some((jobs, stamp)))
    }
}

/// The cron lines of the schedules, by the path of their recipe.
///
/// # Errors
/// As [`ScheduleFile::load`].
pub fn cron_lines(paths: &Paths) -> Result<Vec<(PathBuf, String)>, store::Error> {
    let jobs = ScheduleFile::new(paths).load()?;
    let lines = jobs.iter();
    Ok(lines
        .map(|job| (job.source().to_owned(), job.cron().to_owned()))
        .collect())
}
