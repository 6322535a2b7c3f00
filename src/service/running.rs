//! The life of the service, as its manager hears of it.

use crate::agent::Registry;
use crate::command_line::Failure;
use crate::command_line::serve::variable;
use crate::handover::HANDOVER;
use crate::health::Health;
use crate::host::Host;
use crate::http::{Access, Router};
use crate::ingress::Entrance;
use crate::log_file;
use crate::notifier::{Notifier, watchdog_interval};
use crate::part::{self, Service};
use crate::shard;
use crate::store::settings;
use crate::sys::{self, lock};
use crate::text::printable;
use std::env;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The server as a service.
pub(crate) struct Running {
    registry: Arc<Registry>,
    entrance: Arc<Entrance>,
    health: Arc<Health>,
    notifier: Option<Arc<Notifier>>,
    /// The thread that feeds the watchdog, and what ends it.
    watchdog: Mutex<Option<(JoinHandle<()>, Sender<()>)>>,
    /// What could not be read again, for the status.
    faults: Arc<Mutex<String>>,
    host: Host,
    /// Whether SIGHUP means to read files again: not in a terminal, which sends it when it is closed.
    reloads: bool,
}

/// The longest time that turns have to end, in seconds.
const MAX_DRAIN: u64 = 24 * 3600;
/// How often it is looked how many still run.
const DRAIN_POLL: Duration = Duration::from_millis(20);
/// The longest list of faults in a status, in characters.
const MAX_FAULTS: usize = 500;

impl Running {
    /// # Errors
    /// A setting is wrong.
    pub(crate) fn new(registry: &Arc<Registry>) -> Result<Self, Failure> {
        let entrance = Entrance::from_variables(registry.stores())?;
        if let Some(text) = variable(settings::SHARD.name)? {
            let (remainder, divisor) = shard::parse(&text).map_err(Failure::Usage)?;
            registry.stores().sessions.number_with(remainder, divisor);
        }
        let notifier = Notifier::from_env().unwrap_or_else(|error| {
            log::warn!("the service manager cannot be told anything reason={error}");
            None
        });
        let has_manager = notifier.is_some();
        let host = Host::from_options().map_err(Failure::Failed)?;
        Ok(Running {
            registry: registry.clone(),
            entrance: Arc::new(entrance),
            health: Arc::new(Health::new(registry.clone())),
            notifier: notifier.map(Arc::new),
            watchdog: Mutex::default(),
            faults: Arc::default(),
            host,
            reloads: has_manager || !sys::has_terminal(),
        })
    }

    fn notify(&self, lines: &str) {
        if let Some(notifier) = &self.notifier
            && let Err(error) = notifier.send(lines)
        {
            log::warn!("the service manager was not told lines={lines:?} reason={error}");
        }
    }

    /// Feeds the watchdog in a thread of its own, each time after the table of agents could be read: a server that
    /// hangs there has to be ended.
    fn feed(&self, interval: Duration) {
        let Some(notifier) = self.notifier.clone() else {
            return;
        };
        let (registry, faults) = (self.registry.clone(), self.faults.clone());
        let (end, ended) = channel();
        let work = move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let (sessions, _) = registry.live_counts();
                let faults = lock(&faults).clone();
                let state = format!("WATCHDOG=1\nSTATUS={sessions} sessions are open{faults}");
                // The next one may be in time.
                let _ = notifier.send(&state);
            }
        };
        match sys::spawn("watchdog".to_owned(), Some(sys::SMALL_STACK), work) {
            Ok(thread) => *lock(&self.watchdog) = Some((thread, end)),
            Err(error) => log::error!("the watchdog is not fed reason={error}"),
        }
    }
}

impl Service for Running {
    fn routes(&self, router: Router) -> Router {
        let (live, ready, all) = (
            self.health.clone(),
            self.health.clone(),
            self.health.clone(),
        );
        router
            .with_ingress(self.entrance.clone())
            .get("/health/live", Access::Public, move |_| Ok(live.live()))
            .get("/health/ready", Access::Public, move |_| ready.ready())
            .get("/health", Access::Keyed, move |_| Ok(all.report()))
    }

    fn start(&self, places: &[String]) -> Result<(), Failure> {
        self.host.start(places).map_err(Failure::Failed)?;
        let pid = std::process::id();
        self.notify(&format!("READY=1\nMAINPID={pid}\nSTATUS=serving"));
        let (usec, of) = (
            env::var("WATCHDOG_USEC").ok(),
            env::var("WATCHDOG_PID").ok(),
        );
        if let Some(interval) = watchdog_interval(usec.as_deref(), of.as_deref()) {
            self.feed(interval);
        }
        Ok(())
    }

    fn hang_up(&self) -> bool {
        if !self.reloads {
            return false;
        }
        let now = sys::monotonic_micros();
        self.notify(&format!(
            "RELOADING=1\nMONOTONIC_USEC={now}\nSTATUS=reads its files again"
        ));
        log_file::reopen();
        let faults = part::reload();
        for fault in &faults {
            log::error!("RELOAD FAILED {}", printable(fault, 2_000));
        }
        let told = if faults.is_empty() {
            log::info!("files read again");
            String::new()
        } else {
            format!("; {}", printable(&faults.join("; "), MAX_FAULTS))
        };
        self.notify(&format!("READY=1\nSTATUS=serving{told}"));
        *lock(&self.faults) = told;
        true
    }

    fn drain(&self) {
        self.host.stopping();
        let config = &self.registry.stores().config;
        let seconds = settings::DRAIN_SECONDS.count(config).min(MAX_DRAIN);
        if seconds == 0 {
            return;
        }
        let limit = Duration::from_secs(seconds);
        let (begin, mut told) = (Instant::now(), None);
        HANDOVER.drain();
        loop {
            let turns = self.registry.drain(|| HANDOVER.wait());
            if turns == 0 || begin.elapsed() >= limit {
                log::info!("drained turns={turns}");
                HANDOVER.end();
                return;
            }
            if told != Some(turns) {
                let usec = (limit + Duration::from_secs(10)).as_micros();
                self.notify(&format!(
                    "STOPPING=1\nEXTEND_TIMEOUT_USEC={usec}\nSTATUS={turns} turns end"
                ));
                told = Some(turns);
            }
            thread::sleep(DRAIN_POLL);
        }
    }

    fn close(&self) {
        self.notify("STOPPING=1\nSTATUS=turns and extensions end");
        if let Some((thread, end)) = lock(&self.watchdog).take() {
            drop(end);
            let _ = thread.join();
        }
        self.host.close();
    }
}
