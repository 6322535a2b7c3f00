//! Child processes that never outlive their owner.
//!
//! Every child leads a process group of its own and carries a mark (`sys/mark.rs`), which
//! its descendants inherit. Ending a child closes its stdin, waits, asks the group with SIGTERM, waits,
//! kills the group, reaps the child, and kills whatever carries its mark, so that a descendant that
//! left the group (`setsid`) goes too. If this process is killed, the kernel kills the direct
//! children (Linux) and the [`guardian`](super::guardian) the rest.
//!
//! Children are made by one thread that lives as long as the process, because a parent-death
//! signal fires when the *thread* that made the child ends.
//!
//! # What can be promised
//!
//! **Linux**: nothing that a child started is left once it has ended, or once this process has,
//! SIGKILL included; also what forked twice, left its group and session, and changed its
//! environment. What forks without end is killed until nothing of it is met, for a second here and
//! half a minute by the guardian. The exceptions:
//!
//! - A descendant that both cleans its environment and sets the limit that carries the mark, in a
//!   session of its own, is not found. None does by chance; this keeps order, it is no sandbox.
//! - Where the hard limit on file locks is lower than the mark, or on 32-bit systems, children carry
//!   it in the environment alone.
//! - A program that is setuid or has file capabilities loses the parent-death signal, and its
//!   environment cannot be read, but the limit can. It is killed like others while its real user
//!   is ours; once it has become another user altogether (`sudo`), we may not.
//! - Where `/proc` is mounted with `hidepid`, nothing changes for programs of ours that may be
//!   debugged; others, setuid ones for example, are found only in their group. Where there is no
//!   `/proc`, or it is that of another pid namespace, groups are all there is, and a guardian may not
//!   start; the log says so.
//! - What somebody else starts at a child's request (a service manager, a container engine) is not
//!   its descendant.
//! - If the guardian is killed, another takes its place at once. If both are killed in the same moment,
//!   the kernel still kills the direct children; what those had started stays, unless it ends with its
//!   pipes.
//!
//! **macOS** has no parent-death signal and does not show the limits of others, nor the
//! environment of hardened programs; the guardian, which waits on its pipe, kills the groups. So
//! descendants that stay in their group go, in every case but that both processes are killed at
//! once, and those that call `setsid` or `setpgid` are missed. It has not been tried.
//!
//! **Windows** would put each child into a job object that kills what is in it when its last handle is
//! closed, which happens by itself when this process ends, so there would be no guardian; a child can
//! leave a job only if it may break away. This is not written yet: gosling does not build there.

use super::guardian::Guardian;
use super::mark::Mark;
use super::pipe::PipeReader;
use super::{lock, sweep, unix};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::io;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The environment variable that carries the mark.
pub const MARK: &str = "GOSLING_PROCESS_MARK";
/// A variable that no child inherits: who has the key may call us.
const HIDDEN: &str = "GOOSE_SERVER__SECRET_KEY";
/// How long the guardian stays when nothing is left to guard.
const GUARDIAN_LINGERS: Duration = Duration::from_secs(1);
/// How long it may be, in the end, until it is looked again whether what children left behind still lives.
const LONGEST_LOOK: Duration = Duration::from_secs(60);
/// How long a killed process may take to vanish.
const REAP: Duration = Duration::from_secs(1);
/// How long what is left of a family may take to end once it was asked.
const TERM: Duration = Duration::from_secs(1);
/// How long the search for what else a child has started may take.
const SWEEP: Duration = Duration::from_secs(1);

/// How long a child is given, step by step, before it is killed.
#[derive(Clone, Copy, Debug)]
pub struct Grace {
    /// After its stdin was closed: MCP's way to say goodbye.
    pub stdin: Duration,
    /// After SIGTERM to its group.
    pub term: Duration,
}

impl Grace {
    /// For a server that has worked: Python servers take about a second to leave.
    pub const NORMAL: Grace = Grace {
        stdin: Duration::from_millis(1500),
        term: Duration::from_millis(1000),
    };
    /// For one that never came up.
    pub const SHORT: Grace = Grace {
        stdin: Duration::from_millis(100),
        term: Duration::from_millis(300),
    };
}

/// A running child and its pipes. Dropping it ends it without much grace.
pub struct Process {
    pid: i32,
    mark: Mark,
    child: Mutex<Option<std::process::Child>>,
    status: OnceLock<ExitStatus>,
    /// It ended without being sent a signal.
    by_itself: OnceLock<bool>,
    ending: Mutex<()>,
    spawner: Arc<Spawner>,
}

/// The ends of a child's pipes that are ours.
pub struct Pipes {
    /// What the child reads. Closing it is the first step of ending the child.
    pub stdin: ChildStdin,
    /// What it writes.
    pub stdout: ChildStdout,
    /// What it complains about.
    pub stderr: ChildStderr,
}

/// Sees a child exit, also one that is reaped meanwhile. On Linux; elsewhere it sees nothing.
pub struct ExitWatch(Option<unix::PidFd>);

impl ExitWatch {
    /// Waits until the child has exited or `output` has something to read, its end included; true
    /// when the child has exited and there is nothing to read. False at once where nothing can be seen.
    pub fn wait(&self, output: Option<&PipeReader>) -> bool {
        let handle = self.0.as_ref();
        handle.is_some_and(|handle| handle.wait_or_readable(output.map(PipeReader::fd)))
    }
}

/// What a child has for its owner, see [`wait_output`].
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// There is something to read, or the end.
    pub stdout: bool,
    /// The same.
    pub stderr: bool,
    /// It has exited.
    pub exited: bool,
}

/// Waits until a child has written something or exited. What is `None` is not waited for. Where an exit
/// cannot be seen it is not reported.
pub fn wait_output(
    stdout: Option<&PipeReader>,
    stderr: Option<&PipeReader>,
    exit: Option<&ExitWatch>,
    limit: Duration,
) -> Ready {
    let fd = |pipe: Option<&PipeReader>| pipe.map_or(-1, PipeReader::fd);
    let exit = exit.and_then(|exit| exit.0.as_ref());
    let exit = exit.map_or(-1, unix::PidFd::fd);
    let [stdout, stderr, exited] = unix::wait_any([fd(stdout), fd(stderr), exit], limit);
    Ready {
        stdout,
        stderr,
        exited,
    }
}

/// Tells when a child that has exited has been read to the end, though something that it started may hold
/// its pipes open and go on writing.
#[derive(Debug, Default)]
pub struct Ending {
    /// How many looks there were since it was known that it has exited.
    looks: usize,
}

impl Ending {
    /// How long the next look may take, if it may take `limit` while the child runs.
    pub fn pause(&self, limit: Duration) -> Duration {
        match self.looks {
            0 => limit,
            _ => Duration::ZERO,
        }
    }

    /// Whether nothing of the child's own can come any more, after a look that found `ready`, and what
    /// was there was read; `exited` says whether the child has exited meanwhile. Gives up after `most`
    /// looks that found something.
    ///
    /// A look in which its exit is seen for the first time is not the last: what it wrote just before may
    /// have come into a pipe that was already found empty.
    pub fn is_over(&mut self, ready: Ready, exited: bool, most: usize) -> bool {
        let was_known = self.looks > 0;
        self.looks += usize::from(was_known || exited);
        was_known && (!(ready.stdout || ready.stderr) || self.looks > most)
    }
}

enum Job {
    Spawn(Box<Command>, Sender<io::Result<std::process::Child>>),
    Ended(i32),
    /// The guardian is gone: dismissed, or killed by somebody else.
    Unguarded,
}

struct Spawner {
    jobs: Sender<Job>,
}

/// What begins the mark of every child of this process: random, so that no other server's children
/// are ever taken for ours.
fn server_mark() -> io::Result<&'static str> {
    static SERVER: OnceLock<String> = OnceLock::new();
    if let Some(mark) = SERVER.get() {
        return Ok(mark);
    }
    let mark = super::random_hex(16)?;
    Ok(SERVER.get_or_init(|| mark))
}

/// The mark of one more child, or family, of this process.
fn next_mark() -> io::Result<Mark> {
    static CHILDREN: AtomicU64 = AtomicU64::new(1);
    let number = CHILDREN.fetch_add(1, Ordering::Relaxed);
    Ok(Mark::of_server(server_mark()?).of_child(number))
}

/// Processes that share a mark, so that all that is left of them can be ended together, whoever of them
/// has exited.
pub struct Family {
    mark: Mark,
    members: AtomicU64,
}

impl Family {
    /// One without members.
    ///
    /// # Errors
    /// When the system has no random bytes to give.
    pub fn new() -> io::Result<Self> {
        Ok(Family {
            mark: next_mark()?,
            members: AtomicU64::new(1),
        })
    }

    fn member(&self) -> Mark {
        let number = self.members.fetch_add(1, Ordering::Relaxed);
        self.mark.of_member(number)
    }

    /// Ends whatever is left: asks all of it with SIGTERM, gives it a second together, and kills what
    /// is there then. Where nothing is left it takes no time.
    pub fn end(&self) {
        if sweep::ask_marked(&self.mark, TERM) {
            sweep::kill_marked(&self.mark, SWEEP);
        }
    }
}

impl Process {
    /// Starts `command` with piped stdin, stdout and stderr, in a process group of its own.
    ///
    /// # Errors
    /// Whatever kept the program from starting: not found, not executable, a working directory that
    /// does not exist, no more processes.
    pub fn spawn(command: Command) -> io::Result<(Process, Pipes)> {
        Self::start(command, next_mark()?, false)
    }

    /// The same for one of a family, in a session of its own, so that it cannot open the terminal of this
    /// process.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub fn spawn_in(family: &Family, command: Command) -> io::Result<(Process, Pipes)> {
        Self::start(command, family.member(), true)
    }

    fn start(
        mut command: Command,
        mark: Mark,
        without_terminal: bool,
    ) -> io::Result<(Process, Pipes)> {
        let around = std::env::var(MARK).ok();
        if command.get_envs().all(|(name, _)| name != HIDDEN) {
            command.env_remove(HIDDEN);
        }
        command
            .env(MARK, mark.variable(around.as_deref()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        match without_terminal {
            true => unix::lead_a_session(&mut command),
            false => unix::lead_a_group(&mut command),
        }
        unix::hear_all_signals(&mut command);
        unix::carry_and_die_with_us(&mut command, &mark);
        let spawner = Spawner::get()?;
        let (reply, answer) = bounded(1);
        let gone = || io::Error::other("the thread that starts processes is gone");
        spawner
            .jobs
            .send(Job::Spawn(Box::new(command), reply))
            .map_err(|_| gone())?;
        let mut child = answer.recv().map_err(|_| gone())??;
        let pipes = match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(stdin), Some(stdout), Some(stderr)) => Pipes {
                stdin,
                stdout,
                stderr,
            },
            _ => return Err(io::Error::other("a pipe to the child is missing")),
        };
        let process = Process {
            pid: unix::pid_of(&child),
            mark,
            child: Mutex::new(Some(child)),
            status: OnceLock::new(),
            by_itself: OnceLock::new(),
            ending: Mutex::new(()),
            spawner,
        };
        Ok((process, pipes))
    }

    /// The child's process id, which is its group's too.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// A way to see it exit for who reads its output.
    pub fn watch(&self) -> ExitWatch {
        ExitWatch(unix::PidFd::open(self.pid))
    }

    /// How it ended, if it did so before it was sent a signal.
    pub fn own_status(&self) -> Option<ExitStatus> {
        match self.by_itself.get() {
            Some(true) => self.status(),
            _ => None,
        }
    }

    /// How it ended, if it was seen to.
    pub fn status(&self) -> Option<ExitStatus> {
        self.status.get().copied()
    }

    /// Waits until the child has exited by itself; false when it has not within the limit. The
    /// child is not reaped yet, so its id stays its own.
    pub fn wait_exit(&self, limit: Duration) -> bool {
        self.status.get().is_some() || unix::wait_exit(self.pid, limit)
    }

    /// Reaps the child, which has exited, and leaves alone what it started: its [`Family`] will see to
    /// that. Does nothing if it has not exited.
    pub fn leave(&self) {
        let _one_at_a_time = lock(&self.ending);
        if !self.wait_exit(Duration::ZERO) {
            return;
        }
        let Some(mut child) = lock(&self.child).take() else {
            return;
        };
        let _ = self.by_itself.set(true);
        if let Ok(Some(status)) = child.try_wait() {
            let _ = self.status.set(status);
        }
        let _ = self.spawner.jobs.send(Job::Ended(self.pid));
    }

    /// Ends the child and everything it started; returns when nothing of it is left or no more can
    /// be done, at the latest after the sum of the grace and about two seconds. The caller drops
    /// its end of stdin first. A second call waits for the first.
    pub fn end(&self, grace: Grace) {
        let _one_at_a_time = lock(&self.ending);
        let Some(mut child) = lock(&self.child).take() else {
            return;
        };
        let by_itself = self.wait_exit(grace.stdin);
        let _ = self.by_itself.set(by_itself);
        if !by_itself {
            unix::signal_group(self.pid, unix::Signal::Terminate);
            self.wait_exit(grace.term);
        }
        // The leader is at most a zombie here, so the group's id cannot have been given away.
        unix::signal_group(self.pid, unix::Signal::Kill);
        self.wait_exit(REAP);
        let _ = self.spawner.jobs.send(Job::Ended(self.pid));
        if let Ok(Some(status)) = child.try_wait() {
            let _ = self.status.set(status);
        }
        sweep::kill_marked(&self.mark, SWEEP);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end(Grace {
            stdin: Duration::ZERO,
            ..Grace::SHORT
        });
    }
}

impl Spawner {
    /// The one spawner; where its thread could not be made, the next child tries again.
    fn get() -> io::Result<Arc<Spawner>> {
        static SPAWNER: Mutex<Option<Arc<Spawner>>> = Mutex::new(None);
        let mut spawner = lock(&SPAWNER);
        if let Some(spawner) = &*spawner {
            return Ok(spawner.clone());
        }
        let (jobs, inbox) = unbounded();
        super::spawn("spawner".into(), Some(super::SMALL_STACK), {
            let jobs = jobs.clone();
            move || spawn_children(&inbox, &jobs)
        })?;
        Ok(spawner.insert(Arc::new(Spawner { jobs })).clone())
    }
}

/// The spawner's thread. It alone knows the guardian: started before the first child, told of each
/// group as it is made and as it ends, replaced if it is killed, let go when there has been nothing to
/// guard for a while: no child, and nothing that one has left behind. `own` leads back to `jobs`.
fn spawn_children(jobs: &Receiver<Job>, own: &Sender<Job>) {
    let mut post = Post {
        guardian: None,
        watched: true,
        own,
    };
    let mut groups: Vec<i32> = Vec::new();
    // A group is not kept when its leader has gone, as its id may come to mean another. What is left
    // behind is found by its mark: what a command left, and what one that was ended left too, if it was hidden
    // from the search of its own or came too fast for it.
    let mut left = false;
    let (mut idle_since, mut pause) = (Instant::now(), GUARDIAN_LINGERS);
    loop {
        let looks = match groups.is_empty() {
            true => post.guardian.is_some() || (left && !post.watched),
            false => !post.watched,
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
                left = left && (!groups.is_empty() || is_any_left());
                if left || !groups.is_empty() {
                    post.fill(&groups);
                    pause = LONGEST_LOOK.min(pause * 2);
                    idle_since = Instant::now();
                } else {
                    post.leave();
                }
            }
            Some(Job::Ended(group)) => {
                left = true;
                groups.retain(|g| *g != group);
                (idle_since, pause) = (Instant::now(), GUARDIAN_LINGERS);
                if let Some(guardian) = &mut post.guardian {
                    guardian.forget(group);
                }
            }
            Some(Job::Unguarded) => {
                if left || !groups.is_empty() {
                    post.fill(&groups);
                    (idle_since, pause) = (Instant::now(), GUARDIAN_LINGERS);
                }
            }
            Some(Job::Spawn(mut command, reply)) => {
                post.fill(&groups);
                let result = command.spawn();
                if let Ok(child) = &result {
                    let group = unix::pid_of(child);
                    groups.push(group);
                    if let Some(guardian) = &mut post.guardian {
                        guardian.learn(group);
                    }
                }
                let _ = reply.send(result);
            }
        }
    }
}

/// Whether anything lives that a child of this process has started.
fn is_any_left() -> bool {
    server_mark().is_ok_and(|mark| sweep::is_any_marked(&Mark::of_server(mark)))
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
    let Some(handle) = unix::PidFd::open(guardian.pid()) else {
        return false;
    };
    let (watch, own) = (ExitWatch(Some(handle)), own.clone());
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
    use super::*;

    #[test]
    fn what_comes_between_a_look_and_the_exit_is_not_missed() {
        const MOST: usize = 4;
        const LOOK: Duration = Duration::from_millis(100);
        let look = |something| Ready {
            stdout: something,
            stderr: false,
            exited: false,
        };
        let mut ending = Ending::default();
        assert!(!ending.is_over(look(true), false, MOST));
        assert!(!ending.is_over(look(false), false, MOST));
        assert_eq!(ending.pause(LOOK), LOOK);
        // The look was over when it wrote its last words and exited.
        assert!(!ending.is_over(look(false), true, MOST));
        assert_eq!(ending.pause(LOOK), Duration::ZERO);
        assert!(!ending.is_over(look(true), true, MOST));
        assert!(ending.is_over(look(false), true, MOST));
        // What it has started writes without end.
        let mut ending = Ending::default();
        let looks = (0..100).find(|_| ending.is_over(look(true), true, MOST));
        assert_eq!(looks, Some(MOST));
    }
}
