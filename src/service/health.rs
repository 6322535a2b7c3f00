//! What probes are told: that the process lives, that it takes work, and to those with a key, what is wrong.

use crate::agent::Registry;
use crate::http::{Error, Response};
use crate::part::{self, Fact};
use crate::sys::fs::{open_regular_with, private};
use crate::sys::lock;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long the result of a check of the disk is used again, so that probes without a key cost little.
const CHECKED_FOR: Duration = Duration::from_secs(1);

/// How much must fit on the disk: a small turn.
const ROOM: [u8; 16 << 10] = [0; 16 << 10];

/// Why nothing more can be stored in this folder. The file that is written stays, empty: a change of the folder would
/// have all sessions read again.
fn room_fault(folder: &Path) -> Option<String> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let opened = open_regular_with(private(&mut options), &folder.join(".probe-room"));
    let written = opened.and_then(|mut file| {
        let written = file.write_all(&ROOM);
        file.set_len(0).and(written)
    });
    let error = written.err()?;
    let folder = folder.display();
    Some(format!("nothing can be stored in {folder}: {error}"))
}

/// Answers probes.
pub(crate) struct Health {
    registry: Arc<Registry>,
    started: Instant,
    /// When it was last checked whether sessions can be stored, and why not.
    storage: Mutex<Option<(Instant, Option<String>)>>,
}

impl Health {
    pub(crate) fn new(registry: Arc<Registry>) -> Self {
        Health {
            registry,
            started: Instant::now(),
            storage: Mutex::default(),
        }
    }

    /// `GET /health/live`: 200 as long as requests are answered.
    pub(crate) fn live(&self) -> Response {
        Response::json(&json!({"status": "ok"}))
    }

    /// `GET /health/ready`: 200 if it takes work.
    ///
    /// # Errors
    /// 503 while it stops, and if sessions cannot be stored. Without a key it is not told why.
    pub(crate) fn ready(&self) -> Result<Response, Error> {
        if self.is_stopping() {
            return Err(Error::new(503, "The server is stopping"));
        }
        match self.storage_fault() {
            None => Ok(Response::json(&json!({"status": "ok"}))),
            Some(_) => Err(Error::new(503, "The server is not ready")),
        }
    }

    /// `GET /health`: the version, seconds since the start, sessions and active extensions, and of each part that has
    /// something to say what is wrong. `status` is `ok`, `degraded` or `stopping`.
    pub(crate) fn report(&self) -> Response {
        let stores = self.registry.stores();
        let mut faults = Vec::new();
        faults.extend(self.storage_fault().map(|why| format!("storage: {why}")));
        for part in part::all() {
            let facts = part
                .info
                .map(|inform| inform(&stores.config, &stores.paths));
            for (_, fact) in facts.into_iter().flatten() {
                if let Fact::Fault(why) = fact {
                    faults.push(format!("{}: {why}", part.feature));
                }
            }
        }
        let status = match () {
            () if self.is_stopping() => "stopping",
            () if faults.is_empty() => "ok",
            () => "degraded",
        };
        let (sessions, extensions) = self.registry.live_counts();
        Response::json(&json!({
            "status": status,
            "version": env!("CARGO_PKG_VERSION"),
            "uptime_seconds": self.started.elapsed().as_secs(),
            "sessions": sessions,
            "extensions": extensions,
            "offline": self.registry.is_offline(),
            "faults": faults,
        }))
    }

    fn is_stopping(&self) -> bool {
        self.registry.is_draining() || self.registry.cancel().is_cancelled()
    }

    /// Why sessions cannot be stored, at most a second ago.
    fn storage_fault(&self) -> Option<String> {
        let mut checked = lock(&self.storage);
        if let Some((at, fault)) = &*checked
            && at.elapsed() < CHECKED_FOR
        {
            return fault.clone();
        }
        let fault = room_fault(&self.registry.stores().paths.data.join("sessions"));
        *checked = Some((Instant::now(), fault.clone()));
        fault
    }
}
