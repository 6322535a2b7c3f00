use super::*;
use crate::clock;
use std::ffi::OsStr;
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("gosling-alarm-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn alarm(&self) -> Arc<Alarm> {
        Arc::new(Alarm::new(&self.0, OsStr::new("watched")).unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_wait_ends_at_its_moment_and_not_before() {
    let folder = Folder::new("moment");
    let alarm = folder.alarm();
    let moment = clock::unix_seconds() + 2;
    alarm.wait(Some(moment));
    assert!(clock::unix_seconds() >= moment);
    // Moments that have passed end the wait at once.
    alarm.wait(Some(moment));
    alarm.wait(Some(i64::MIN));
}

#[test]
fn another_thread_ends_the_wait() {
    let folder = Folder::new("notify");
    let alarm = folder.alarm();
    alarm.notify();
    alarm.wait(None);
    let other = alarm.clone();
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        other.notify();
    });
    // The moments that 32 bits cannot count to are not now.
    alarm.wait(Some(i64::MAX));
    thread.join().unwrap();
    let start = Instant::now();
    let other = alarm.clone();
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        other.notify();
    });
    alarm.wait(Some(i64::from(i32::MAX) + 1_000_000_000));
    assert!(start.elapsed() >= Duration::from_millis(50));
    thread.join().unwrap();
}

#[test]
fn the_watched_file_ends_the_wait_and_no_other() {
    let folder = Folder::new("file");
    let path = |name: &str| folder.0.join(name);
    let alarm = folder.alarm();
    let changes: [&dyn Fn(); 3] = [
        &|| {
            fs::write(path("other"), "new").unwrap();
            fs::rename(path("other"), path("watched")).unwrap();
        },
        &|| fs::write(path("watched"), "changed").unwrap(),
        &|| fs::remove_file(path("watched")).unwrap(),
    ];
    for change in changes {
        change();
        let start = Instant::now();
        alarm.wait(Some(clock::unix_seconds() + 100));
        assert!(start.elapsed() < Duration::from_secs(90));
    }
    fs::write(path("other"), "x").unwrap();
    let moment = clock::unix_seconds() + 2;
    alarm.wait(Some(moment));
    assert!(clock::unix_seconds() >= moment);
}
