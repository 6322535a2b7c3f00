//! The outer limit of tests: a test that hangs ends its test process, and whatever ends a test process, the servers
//! that it has started end with it, and its folders are removed.

use super::system;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a test may have a temporary folder, in seconds, unless this variable says otherwise; the soak test may
/// have it for its own time longer.
const LIMIT: u64 = 600;
pub const LIMIT_VARIABLE: &str = "GOSLING_TEST_LIMIT";
const SOAK: &str = "GOSLING_SOAK_SECS";

/// The folders of running tests, the names of the tests, and when they began.
static RUNNING: Mutex<Vec<(PathBuf, String, Instant)>> = Mutex::new(Vec::new());

/// Watches the test of this thread until [`ended`]. The names of all folders of this process begin with `prefix`.
pub fn begun(folder: &Path, prefix: &Path) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| start(prefix));
    let test = thread::current().name().unwrap_or("of no name").to_owned();
    running(|all| all.push((folder.to_owned(), test, Instant::now())));
}

pub fn ended(folder: &Path) {
    running(|all| all.retain(|(path, ..)| path != folder));
}

fn running<R>(act: impl FnOnce(&mut Vec<(PathBuf, String, Instant)>) -> R) -> R {
    act(&mut RUNNING.lock().unwrap_or_else(PoisonError::into_inner))
}

fn start(prefix: &Path) {
    system::clean_up_at_end(prefix);
    let seconds = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let limit = seconds(LIMIT_VARIABLE).unwrap_or(LIMIT) + seconds(SOAK).unwrap_or(0);
    let limit = Duration::from_secs(limit);
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(1));
            let late = |all: &mut Vec<(PathBuf, String, Instant)>| {
                let late = all.iter().find(|(.., begin)| begin.elapsed() > limit);
                late.map(|(_, test, _)| test.clone())
            };
            if let Some(test) = running(late) {
                // Not `eprintln`, which a test may capture.
                let _ = writeln!(std::io::stderr(), "the test {test} hangs");
                std::process::exit(101);
            }
        }
    });
}
