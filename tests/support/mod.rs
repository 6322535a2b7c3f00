//! What several test files need: folders of their own, a real server with a client that asserts in
//! sentences, and MCP servers that misbehave by a script.
#![allow(dead_code)] // Each test file uses its own part.

pub mod client;
pub mod process;
pub mod scripted;
pub mod server;
pub mod turns;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine; only a test that fails waits for it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A folder of its own for one test, removed with everything in it when dropped.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn temp_dir() -> TempDir {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    loop {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("gosling-test-{}-{n}", std::process::id()));
        match std::fs::create_dir(&path) {
            // An earlier process of this id was killed and left it.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => {
                made.unwrap();
                return TempDir(path);
            }
        }
    }
}

/// Writes a script that can be run.
pub fn script(path: &Path, text: &str) {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Looks again and again until there is something to see.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
