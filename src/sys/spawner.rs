//! The thread that makes children and reaps them. It lives as long as the process, because a parent-death
//! signal fires when the *thread* that made the child ends.
//!
//! It never waits for a child: it forks, and whoever wants the child waits until that has come to run its
//! program, which takes long where a file system hangs. Only this thread reaps, and only after the guardian
//! was told, so no id of a group that the guardian knows comes to mean another.

use super::guardian::Guardian;
use super::mark::Mark;
use super::process::{ExitWatch, server_mark};
use super::{lock, sweep, unix};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the guardian stays when nothing is left to guard.
const GUARDIAN_LINGERS: Duration = Duration::from_secs(1);
/// How long it may be, in the end, until it is looked again whether what children left behind still lives.
const LONGEST_LOOK: Duration = Duration::from_secs(60);

/// How long the search for that may take.
const SEARCH: Duration = Duration::from_secs(10);

enum Job {
    Fork(Box<unix::Prepared>, Sender<io::Result<i32>>),
    /// A child has exited, or was killed, and will not be signalled any more.
    Ended(i32),
    /// The guardian is gone: dismissed, or killed by another process.
    Unguarded,
    #[cfg(test)]
    Panic,
}

struct Spawner {
    jobs: Sender<Job>,
    thread: JoinHandle<()>,
}

static SPAWNER: Mutex<Option<Arc<Spawner>>> = Mutex::new(None);

/// Makes the child and gives its id. It has a process group of its own, but may not have come to run its
/// program yet.
///
/// # Errors
/// When there is no thread, no process or no memory to be had.
pub(super) fn fork(prepared: unix::Prepared) -> io::Result<i32> {
    Spawner::get(&SPAWNER)?.fork(prepared)
}

/// A child has exited, or was killed, and will not be signalled any more: it is reaped, now or later.
pub(super) fn ended(pid: i32) {
    let told = Spawner::get(&SPAWNER).map(|spawner| spawner.jobs.send(Job::Ended(pid)));
    if !matches!(told, Ok(Ok(()))) {
        unix::reap(pid);
    }
}

impl Spawner {
    /// The one spawner. Where its thread could not be made, the next child tries again; one that has died
    /// is made anew.
    fn get(slot: &Mutex<Option<Arc<Spawner>>>) -> io::Result<Arc<Spawner>> {
        let mut spawner = lock(slot);
        if let Some(spawner) = &*spawner
            && !spawner.thread.is_finished()
        {
            return Ok(spawner.clone());
        }
        let (jobs, inbox) = unbounded();
        let thread = super::spawn("spawner".into(), Some(super::SMALL_STACK), {
            let jobs = jobs.clone();
            move || make_children(&inbox, &jobs)
        })?;
        Ok(spawner.insert(Arc::new(Spawner { jobs, thread })).clone())
    }

    fn fork(&self, prepared: unix::Prepared) -> io::Result<i32> {
        let gone =
            || io::Error::other("the thread that starts processes has just ended; try again");
        let (reply, answer) = bounded(1);
        let job = Job::Fork(Box::new(prepared), reply);
        self.jobs.send(job).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

/// The spawner's thread. It alone knows the guardian: started before the first child, told of each
/// group as it is made and as it ends, replaced if it is killed, let go when there has been nothing to
/// guard for a while: no child, and nothing that one has left behind. `own` leads back to `jobs`.
fn make_children(jobs: &Receiver<Job>, own: &Sender<Job>) {
    let mut post = Post {
        guardian: None,
        watched: true,
        own,
    };
    let mut children = Children::default();
    // A group is not kept when its leader has gone, as its id may come to mean another. What is left
    // behind is found by its mark: what a command left, and what one that was ended left too, if it was hidden
    // from the search of its own or came too fast for it.
    let mut left = false;
    let (mut idle_since, mut pause) = (Instant::now(), GUARDIAN_LINGERS);
    loop {
        let looks = match children.groups.is_empty() {
            true => post.guardian.is_some() || (left && !post.watched),
            false => !post.watched || !children.ended.is_empty(),
        };
        let job = match looks {
            true => match jobs.recv_deadline(idle_since + pause) {
                Ok(job) => Some(job),
                Err(e) if e.is_timeout() => None,
                Err(_) => return,
            },
            false => match jobs.recv() {
                Ok(job) => Some(job),
                Err(_) => return,
            },
        };
        match job {
            None => {
                children.reap(&mut post);
                left = left && (!children.groups.is_empty() || is_any_left());
                if left || !children.groups.is_empty() {
                    post.fill(&children.groups);
                    pause = LONGEST_LOOK.min(pause * 2);
                    idle_since = Instant::now();
                } else {
                    post.leave();
                }
            }
            Some(Job::Ended(pid)) => {
                left = true;
                (idle_since, pause) = (Instant::now(), GUARDIAN_LINGERS);
                children.ended.push(pid);
                children.reap(&mut post);
            }
            Some(Job::Unguarded) => {
                if left || !children.groups.is_empty() {
                    post.fill(&children.groups);
                    (idle_since, pause) = (Instant::now(), GUARDIAN_LINGERS);
                }
            }
            Some(Job::Fork(prepared, reply)) => {
                post.fill(&children.groups);
                let result = prepared.fork();
                if let Ok(pid) = result {
                    children.groups.push(pid);
                    if let Some(guardian) = &mut post.guardian {
                        guardian.learn(pid);
                    }
                }
                let _ = reply.send(result);
            }
            #[cfg(test)]
            Some(Job::Panic) => panic!("as the test wants it"),
        }
    }
}

/// The children that are not reaped, each the leader of a group.
#[derive(Default)]
struct Children {
    groups: Vec<i32>,
    /// Those of them that have exited, or will as soon as the system lets them.
    ended: Vec<i32>,
}

impl Children {
    /// Reaps those that have exited, after the guardian was told.
    fn reap(&mut self, post: &mut Post<'_>) {
        let groups = &mut self.groups;
        self.ended.retain(|pid| {
            if matches!(unix::state_of(*pid), unix::State::Runs) {
                return true;
            }
            groups.retain(|group| group != pid);
            if let Some(guardian) = &mut post.guardian {
                guardian.forget(*pid);
            }
            unix::reap(*pid);
            false
        });
    }
}

/// Whether anything lives that a child of this process has started.
fn is_any_left() -> bool {
    server_mark().is_ok_and(|mark| sweep::is_any_marked(&Mark::of_server(mark), SEARCH))
}

/// Where the guardian stands.
struct Post<'a> {
    guardian: Option<Guardian>,
    /// Its end will be told, or none is wanted. Else one has to look now and then: there was none to be
    /// had, or nothing to watch it with.
    watched: bool,
    own: &'a Sender<Job>,
}

impl Post<'_> {
    /// Sees to it that a guardian watches, where this program can start one; a new one learns what is
    /// there to guard.
    fn fill(&mut self, groups: &[i32]) {
        if self.guardian.as_mut().is_some_and(Guardian::is_alive) {
            return;
        }
        let started = server_mark().and_then(Guardian::start);
        self.watched = match &started {
            Ok(guardian) => guardian.as_ref().is_none_or(|new| watch(new, self.own)),
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

    /// There is nothing to guard.
    fn leave(&mut self) {
        self.watched = true;
        if let Some(guardian) = self.guardian.take() {
            guardian.dismiss();
        }
    }
}

/// Tells the spawner when the guardian is gone; false where it cannot be seen, or no thread is to be had.
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
mod tests {
    use super::super::command::Command;
    use super::*;
    use std::fs::File;

    /// Far more than anything here takes.
    const LIMIT: Duration = Duration::from_secs(60);

    fn sleeping() -> unix::Prepared {
        let mut command = Command::new("sleep");
        command.arg("300");
        let null = || File::open("/dev/null").unwrap().into();
        let mark = Mark::of_server(&crate::sys::random_hex(16).unwrap());
        let stdio = [null(), null(), null()];
        unix::Prepared::child(&command, &mark, stdio).unwrap().0
    }

    #[test]
    fn a_spawner_that_has_died_is_made_anew() {
        let slot = Mutex::new(None);
        let first = Spawner::get(&slot).unwrap();
        let lost = first.fork(sleeping()).unwrap();
        first.jobs.send(Job::Panic).unwrap();
        // With it go its children.
        if cfg!(target_os = "linux") {
            assert!(unix::wait_exit(lost, LIMIT));
        }
        let begin = Instant::now();
        while !first.thread.is_finished() && begin.elapsed() < LIMIT {
            std::thread::yield_now();
        }
        assert!(first.fork(sleeping()).is_err());
        let second = Spawner::get(&slot).unwrap();
        let child = second.fork(sleeping()).unwrap();
        assert!(matches!(unix::state_of(child), unix::State::Runs));
        unix::kill_child(child);
        assert!(unix::wait_exit(child, LIMIT));
        for pid in [lost, child] {
            second.jobs.send(Job::Ended(pid)).unwrap();
            while !matches!(unix::state_of(pid), unix::State::NotOurs) {
                assert!(begin.elapsed() < LIMIT, "it is not reaped");
                std::thread::yield_now();
            }
        }
    }
}
