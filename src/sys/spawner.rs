//! The thread that creates and reaps child processes. It lives as long as the process, because a parent-death
//! signal fires when the *thread* that created the child ends. A panic does not end it, either.
//!
//! It never waits for a child: it forks, and the caller waits until the child has run its program, which takes
//! long if a file system does not respond. It does not search for processes either; another thread does. Only
//! this thread reaps, and only after it has told the guardian, so the id of a group that the guardian knows is
//! never reused.

use super::guardian::Guardian;
use super::process::output::ExitWatch;
use super::process_mark::{ProcessMark, server_mark};
use super::start_limit::StartLimit;
use super::{lock, marked_processes, unix};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// How long the guardian stays when there is nothing to guard.
const GUARDIAN_IDLE: Duration = Duration::from_secs(1);
/// The longest interval at which the thread checks whether descendants of ended children still run.
const LONGEST_POLL_INTERVAL: Duration = Duration::from_secs(60);
/// The timeout of that search.
const SEARCH: Duration = Duration::from_secs(10);
/// How long an exited child is left to its owner, before the wait for orphans looks again.
const OWNER_PAUSE: Duration = Duration::from_millis(50);
/// How long a process without children does not look for orphans.
const CHILDLESS_PAUSE: Duration = Duration::from_secs(1);

enum Job {
    Fork {
        prepared: Box<unix::Prepared>,
        /// Dropped when the caller no longer waits.
        wanted: Weak<()>,
        reply: Sender<io::Result<NewChild>>,
    },
    /// A child has exited or was killed, and will not be signalled any more.
    Ended(i32),
    /// The guardian has ended: dismissed, or killed by another process.
    Unguarded,
    /// The search with this number has ended: whether a descendant still runs.
    Searched(u64, bool),
    /// A process has exited that the system made a child of this one, or one that has another owner here. The reply
    /// says whether it was reaped.
    Exited(i32, Sender<bool>),
    #[cfg(test)]
    Panic,
    #[cfg(test)]
    Guard(Guardian),
    /// Blocks the thread until the other end is dropped.
    #[cfg(test)]
    Hold(Receiver<()>),
}

/// A new child, until the caller takes it. It is killed if the caller does not.
struct NewChild {
    pid: i32,
    is_taken: bool,
    jobs: Sender<Job>,
}

impl NewChild {
    fn take(mut self) -> i32 {
        self.is_taken = true;
        self.pid
    }
}

impl Drop for NewChild {
    fn drop(&mut self) {
        if self.is_taken {
            return;
        }
        if !matches!(unix::state_of(self.pid), unix::State::NotOurs) {
            unix::signal_group(self.pid, unix::Signal::Kill);
            unix::kill_child(self.pid);
        }
        let _ = self.jobs.send(Job::Ended(self.pid));
    }
}

/// The channel to the thread.
#[derive(Clone)]
struct Spawner(Sender<Job>);

static SPAWNER: Mutex<Option<Spawner>> = Mutex::new(None);

/// Creates the child and returns its id. The child has its own process group, but may not have run its program
/// yet.
///
/// # Errors
/// When no thread, process or memory is available, the limit passes, or the start is cancelled.
pub(super) fn fork(prepared: unix::Prepared, limit: &StartLimit<'_>) -> io::Result<i32> {
    Spawner::get()?.fork(prepared, limit)
}

/// Reports that a child has exited or was killed and will not be signalled any more. It is reaped, now or
/// later.
pub(super) fn ended(pid: i32) {
    let told = Spawner::get().map(|spawner| spawner.0.send(Job::Ended(pid)));
    if !matches!(told, Ok(Ok(()))) {
        unix::reap(pid);
    }
}

impl Spawner {
    /// The one spawner of this process. If its thread could not be started, the next child tries again.
    fn get() -> io::Result<Spawner> {
        let mut spawner = lock(&SPAWNER);
        if let Some(spawner) = &*spawner {
            return Ok(spawner.clone());
        }
        Ok(spawner.insert(Spawner::start(is_any_left)?).clone())
    }

    fn start(is_any_left: fn() -> bool) -> io::Result<Spawner> {
        let (jobs, inbox) = unbounded();
        let own = jobs.clone();
        super::spawn("spawner".into(), Some(super::SMALL_STACK), move || {
            let mut thread = SpawnerThread::new(own, is_any_left);
            // The end of this thread would kill the children, and the guardian would take it for the end of the
            // process.
            while catch_unwind(AssertUnwindSafe(|| thread.run(&inbox))).is_err() {}
        })?;
        Ok(Spawner(jobs))
    }

    fn fork(&self, prepared: unix::Prepared, limit: &StartLimit<'_>) -> io::Result<i32> {
        let gone = || io::Error::other("the thread that starts processes has failed; try again");
        let (reply, answer) = bounded(1);
        let wanted = Arc::new(());
        let job = Job::Fork {
            prepared: Box::new(prepared),
            wanted: Arc::downgrade(&wanted),
            reply,
        };
        self.0.send(job).map_err(|_| gone())?;
        loop {
            match answer.recv_timeout(limit.poll_interval()) {
                Ok(child) => return child.map(NewChild::take),
                Err(RecvTimeoutError::Timeout) => limit.check()?,
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
    }
}

/// The state of the spawner thread. Only this thread uses the guardian: it starts it before the first child,
/// tells it of each group that begins and ends, replaces it if it is killed, and dismisses it when there has
/// been nothing to guard for a while: no child and no descendant of one.
struct SpawnerThread {
    children: Children,
    guardian: GuardianSlot,
    /// Whether a child may have left descendants. A group is forgotten when its leader has been reaped, as its
    /// id may be reused. Descendants are found by their mark: those of a command that exited, and those that
    /// escaped the search when a child was ended.
    left: bool,
    /// The number of the running search for them.
    search: Option<u64>,
    searches: u64,
    is_any_left: fn() -> bool,
    idle_since: Instant,
    pause: Duration,
    /// The channel to this thread itself.
    own: Sender<Job>,
}

impl SpawnerThread {
    fn new(own: Sender<Job>, is_any_left: fn() -> bool) -> Self {
        SpawnerThread {
            children: Children::default(),
            guardian: GuardianSlot {
                guardian: None,
                watched: true,
                own: own.clone(),
            },
            left: false,
            search: None,
            searches: 0,
            is_any_left,
            idle_since: Instant::now(),
            pause: GUARDIAN_IDLE,
            own,
        }
    }

    /// Handles jobs until the channel closes.
    fn run(&mut self, jobs: &Receiver<Job>) {
        loop {
            let job = if self.must_poll() {
                jobs.recv_deadline(self.idle_since + self.pause)
            } else {
                jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match job {
                Ok(job) => self.handle(job),
                Err(RecvTimeoutError::Timeout) => self.poll(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn must_poll(&self) -> bool {
        if self.children.groups.is_empty() {
            let is_watched = self.guardian.watched;
            let has_guardian = self.guardian.guardian.is_some();
            self.search.is_none() && (has_guardian || (self.left && !is_watched))
        } else {
            !self.guardian.watched || !self.children.ended.is_empty()
        }
    }

    fn poll(&mut self) {
        self.children.reap(&mut self.guardian);
        if !self.children.groups.is_empty() {
            self.stay();
        } else if !self.left {
            self.guardian.dismiss();
        } else if !self.begin_search() {
            self.stay();
        }
    }

    /// Keeps the guardian, and polls less often.
    fn stay(&mut self) {
        self.guardian.ensure(&self.children.groups);
        self.pause = LONGEST_POLL_INTERVAL.min(self.pause * 2);
        self.idle_since = Instant::now();
    }

    /// Searches for descendants in another thread, so that no start waits for it. False if the thread cannot be
    /// started.
    fn begin_search(&mut self) -> bool {
        self.searches += 1;
        let number = self.searches;
        let is_any_left = self.is_any_left;
        let own = self.own.clone();
        let search = super::spawn("leftovers".into(), Some(super::SMALL_STACK), move || {
            let _ = own.send(Job::Searched(number, is_any_left()));
        });
        self.search = search.is_ok().then_some(number);
        search.is_ok()
    }

    fn handle(&mut self, job: Job) {
        match job {
            Job::Ended(pid) => {
                self.left = true;
                // Its descendants may have appeared after the running search passed.
                self.search = None;
                (self.idle_since, self.pause) = (Instant::now(), GUARDIAN_IDLE);
                self.children.ended.push(pid);
                self.children.reap(&mut self.guardian);
            }
            Job::Unguarded => {
                if self.left || !self.children.groups.is_empty() {
                    self.guardian.ensure(&self.children.groups);
                    (self.idle_since, self.pause) = (Instant::now(), GUARDIAN_IDLE);
                }
            }
            Job::Searched(number, left) => {
                if self.search != Some(number) {
                    return;
                }
                self.search = None;
                self.left = left;
                if left {
                    self.stay();
                } else if self.children.groups.is_empty() {
                    self.guardian.dismiss();
                }
            }
            Job::Fork {
                prepared,
                wanted,
                reply,
            } => {
                if wanted.strong_count() == 0 {
                    return;
                }
                self.guardian.ensure(&self.children.groups);
                let child = prepared.fork().map(|pid| self.adopt(pid));
                // If the caller does not take the child, dropping it kills it.
                drop(reply.send(child));
            }
            Job::Exited(pid, reply) => {
                let is_guardian = self.guardian.guardian.as_ref().map(Guardian::pid) == Some(pid);
                let is_orphan = !is_guardian && !self.children.groups.contains(&pid);
                if is_orphan {
                    unix::reap(pid);
                }
                let _ = reply.send(is_orphan);
            }
            #[cfg(test)]
            Job::Panic => panic!("as the test wants it"),
            #[cfg(test)]
            Job::Guard(guardian) => self.guardian.guardian = Some(guardian),
            #[cfg(test)]
            Job::Hold(until) => drop(until.recv()),
        }
    }

    fn adopt(&mut self, pid: i32) -> NewChild {
        self.children.groups.push(pid);
        if let Some(guardian) = &mut self.guardian.guardian {
            guardian.learn(pid);
        }
        NewChild {
            pid,
            is_taken: false,
            jobs: self.own.clone(),
        }
    }
}

/// The children that are not reaped, each the leader of a group.
#[derive(Default)]
struct Children {
    groups: Vec<i32>,
    /// Those of them that have exited, or are about to.
    ended: Vec<i32>,
}

impl Children {
    /// Reaps exited children, after telling the guardian.
    fn reap(&mut self, slot: &mut GuardianSlot) {
        let groups = &mut self.groups;
        self.ended.retain(|pid| {
            if matches!(unix::state_of(*pid), unix::State::Runs) {
                return true;
            }
            groups.retain(|group| group != pid);
            if let Some(guardian) = &mut slot.guardian {
                guardian.forget(*pid);
            }
            unix::reap(*pid);
            false
        });
    }
}

/// Whether a descendant of any child of this process runs.
fn is_any_left() -> bool {
    server_mark()
        .is_ok_and(|mark| marked_processes::any_left(&ProcessMark::of_server(mark), SEARCH))
}

/// Has orphans reaped from now on: the first process of a container is the parent of all that lose theirs.
///
/// # Errors
/// No thread can be had.
pub(super) fn start_reaper() -> io::Result<()> {
    let thread = super::spawn("orphans".into(), Some(super::SMALL_STACK), || {
        // Nor does the spawner thread get a signal to end, if this one starts it. The first process would lose it.
        unix::block_signals();
        loop {
            thread::sleep(match unix::wait_any_exit() {
                None => CHILDLESS_PAUSE,
                Some(pid) if is_reaped(pid) => continue,
                // The owner of a child reaps it soon.
                Some(_) => OWNER_PAUSE,
            });
        }
    });
    thread.map(drop)
}

/// Has a process reaped if it is an orphan; whether it was. The spawner thread decides that: it alone knows its own
/// children, each from its creation on.
fn is_reaped(pid: i32) -> bool {
    let (reply, answer) = bounded(1);
    let asked = Spawner::get().map(|spawner| spawner.0.send(Job::Exited(pid, reply)));
    matches!(asked, Ok(Ok(()))) && answer.recv().unwrap_or_default()
}

/// The guardian, if there is one.
struct GuardianSlot {
    guardian: Option<Guardian>,
    /// Whether the end of the guardian will be reported, or no guardian is wanted. If not, it has to be polled:
    /// it could not be started, or not be watched.
    watched: bool,
    own: Sender<Job>,
}

impl GuardianSlot {
    /// Makes sure that a guardian runs, where this program can start one. A new guardian is told of all groups.
    fn ensure(&mut self, groups: &[i32]) {
        if self.guardian.as_mut().is_some_and(Guardian::is_alive) {
            return;
        }
        let started = server_mark().and_then(Guardian::start);
        self.watched = match &started {
            Ok(guardian) => guardian.as_ref().is_none_or(|new| watch(new, &self.own)),
            Err(e) => {
                log::warn!("no guardian: children may outlive a killed server reason={e}");
                false
            }
        };
        self.guardian = started.unwrap_or_default();
        if let Some(guardian) = &mut self.guardian {
            groups.iter().for_each(|group| guardian.learn(*group));
        }
    }

    /// Ends the guardian: there is nothing to guard.
    fn dismiss(&mut self) {
        self.watched = true;
        if let Some(guardian) = self.guardian.take() {
            guardian.dismiss();
        }
    }
}

/// Reports the end of the guardian to the spawner thread; false where that cannot be detected, or no thread can
/// be started.
fn watch(guardian: &Guardian, own: &Sender<Job>) -> bool {
    let Some(watch) = ExitWatch::open(guardian.pid()) else {
        return false;
    };
    let own = own.clone();
    let name = "guardian watch".into();
    let thread = super::spawn(name, Some(super::SMALL_STACK), move || {
        if watch.wait(None) {
            let _ = own.send(Job::Unguarded);
        }
    });
    thread.is_ok()
}

#[cfg(test)]
mod tests;
