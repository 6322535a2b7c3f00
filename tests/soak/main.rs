//! Eight sessions for a long time: extensions are added and removed, servers killed, connections cut, and
//! clients disconnect. Undisturbed parts keep working, and in the end no resource is left over.
//!
//! `GOSLING_SOAK_SECS` is the duration (6), `GOSLING_SOAK_SEED` the seed. Resources are measured when all
//! sessions have ended: after the first minute, or a third of the time, and at the end. Shown by `cargo test
//! --release --test soak -- --nocapture`.
#![cfg(target_os = "linux")]

mod life;
mod random;
mod remote;
#[path = "../support/mod.rs"]
mod support;

use life::{Life, Tally, model};
use remote::Remote;
use std::env;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use support::process::Census;
use support::server::{RunningServer, Server};

const SESSIONS: usize = 8;
/// The idle timeout in seconds after which a session's servers end, until the next request.
const IDLE: &str = "1";

/// A number from an environment variable.
fn setting(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")),
    )
}

/// The resources of the server when all sessions have ended.
struct Rest {
    census: Census,
    memory: usize,
}

/// Stops all threads when one has failed.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

struct Soak<'a> {
    server: &'a RunningServer,
    remote: &'a Remote,
    tally: &'a Tally,
    begin: Instant,
}

impl Soak<'_> {
    fn report(&self, what: &str) {
        let census = self.server.census();
        let now = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let tally = self.tally;
        eprintln!(
            "{:>5} s {what}: RSS {} KiB, {} fds, {} threads, {} processes; steps {}, calls {}, turns {}, \
             killed {}; failed: lost {}, dying {}, forgetting {}, late {}, refused {}, other {}",
            self.begin.elapsed().as_secs(),
            self.server.memory("VmRSS") >> 10,
            census.fds,
            census.threads,
            census.descendants,
            now(&tally.steps),
            now(&tally.calls),
            now(&tally.turns),
            now(&tally.killed),
            now(&tally.lost),
            now(&tally.dying),
            now(&tally.forgetting),
            now(&tally.late),
            now(&tally.refused),
            now(&tally.other),
        );
    }

    /// Runs all sessions for this long, and ends them.
    fn lives(&self, lives: &mut [Life<'_>], time: Duration) {
        let stop = AtomicBool::new(false);
        let end = Instant::now() + time;
        thread::scope(|scope| {
            for life in lives.iter_mut() {
                let stop = &stop;
                scope.spawn(move || {
                    let _alarm = Alarm(stop);
                    life.live(stop);
                    life.end();
                });
            }
            let mut minute = self.begin.elapsed().as_secs() / 60;
            while Instant::now() < end && !stop.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(50));
                if self.begin.elapsed().as_secs() / 60 > minute {
                    minute += 1;
                    self.report("under way");
                }
            }
            stop.store(true, Ordering::SeqCst);
        });
    }

    /// The resources when the server is idle.
    fn rest(&self) -> Rest {
        let census = self.server.without_descendants();
        // A session whose first response was lost cannot be ended: its id is unknown.
        let (left, begun) = self.remote.sessions();
        assert!(left <= 2 + begun / 100, "{left} of {begun} are not ended");
        // The server returns memory to the system a moment after the last session was in use. The pages of the
        // program do not count: they come and go.
        let memory = || {
            thread::sleep(Duration::from_millis(100));
            self.server.memory("RssAnon")
        };
        let memory = std::iter::repeat_with(memory).take(30).min();
        self.report("at rest");
        Rest {
            census,
            memory: memory.unwrap_or_default(),
        }
    }
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn nothing_is_left_over() {
    let time = Duration::from_secs(setting("GOSLING_SOAK_SECS").unwrap_or(6));
    let seed = setting("GOSLING_SOAK_SEED").unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        now.as_micros() as u64 % 1_000_000
    });
    eprintln!(
        "GOSLING_SOAK_SEED={seed} GOSLING_SOAK_SECS={}",
        time.as_secs()
    );
    let (remote, tally) = (Remote::start(), Tally::default());
    let server = Server::scripted(model())
        .env("GOOSE_SESSION_IDLE_SECS", IDLE)
        .start();
    let rest_before = server.at_rest();
    let soak = Soak {
        server: &server,
        remote: &remote,
        tally: &tally,
        begin: Instant::now(),
    };
    let mut lives: Vec<_> = (0..SESSIONS)
        .map(|number| Life::new(number, seed, &server, &remote, &tally))
        .collect();
    let first = Duration::from_secs(60).min(time / 3);
    soak.lives(&mut lives, first);
    let early = soak.rest();
    lives.iter_mut().for_each(Life::begin);
    soak.lives(&mut lives, time - first);
    let late = soak.rest();
    drop(lives);
    server.is_alive();
    eprintln!(
        "at first {rest_before:?}; early {:?} and {} bytes; late {:?} and {} bytes",
        early.census, early.memory, late.census, late.memory
    );
    server.returns_to(rest_before);
    // In a short run the allocator has not reached its steady state.
    let grown = match time.as_secs() {
        300.. => early.memory + early.memory / 10,
        _ => early.memory + early.memory / 2 + (2 << 20),
    };
    let (early, late) = (early.memory, late.memory);
    assert!(late <= grown, "{early} bytes of memory became {late}");
    assert!(server.terminate().success());
}
