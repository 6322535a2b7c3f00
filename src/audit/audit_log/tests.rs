use super::*;
use crate::draft::time_of;
use crate::log_lock::LOCK_TIMEOUT;
use crate::record::{HASH, sealed};
use crate::store::file_lock::LockFile;
use crate::verification::{Verified, verify};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// A folder for a log, which is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("gosling-audit-{}", sys::random_hex(8).unwrap());
        Folder(std::env::temp_dir().join(name))
    }

    fn log(&self) -> AuditLog {
        AuditLog::new(Options {
            folder: self.0.clone(),
            required: true,
            has_values: false,
            sync: Sync::None,
            keeps_lock: false,
            file_size: 1 << 20,
            keep: None,
        })
    }

    /// The log, of which each file has few records.
    fn log_of_small_files(&self, keep: Option<Duration>) -> AuditLog {
        let mut log = self.log();
        log.options.file_size = 1_500;
        log.options.keep = keep;
        log
    }

    /// The log of a server, which keeps the lock.
    fn log_of_server(&self) -> AuditLog {
        let mut log = self.log();
        log.options.keeps_lock = true;
        log
    }

    #[track_caller]
    fn is_whole(&self) -> Verified {
        let found = verify(&self.0).unwrap();
        assert_eq!(found.faults, [], "{found:?}");
        found
    }

    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.0.join("1.jsonl")).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn set_lines(&self, lines: &[String]) {
        fs::write(self.0.join("1.jsonl"), lines.join("\n") + "\n").unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn note_as(
    log: &AuditLog,
    kind: &'static str,
    subject: &str,
) -> std::result::Result<Option<u64>, String> {
    let entry = Entry {
        kind,
        subject,
        ..Entry::default()
    };
    log.record(&Caller::default(), &entry)
}

fn note(log: &AuditLog, subject: &str) -> u64 {
    note_as(log, "setting", subject).unwrap().unwrap()
}

/// Whether it holds the lock between records.
fn keeps_lock(log: &AuditLog) -> bool {
    log.shared.state.lock().unwrap().kept.due().is_some()
}

/// Appends records until it keeps the lock.
fn note_until_kept(log: &AuditLog) {
    while !keeps_lock(log) {
        note(log, "of many");
    }
}

fn append_on(log: &AuditLog, day: &str) {
    let draft = Draft::note(&format!("{day}T08:00:00.000Z"), "setting", &[]);
    let mut state = log.shared.state.lock().unwrap();
    log.append(&mut state, &draft, Instant::now()).unwrap();
}

#[test]
fn two_processes_append_to_one_chain() {
    let folder = Folder::new();
    let (one, two) = (folder.log(), folder.log());
    assert_eq!(
        [note(&one, "a"), note(&two, "b"), note(&one, "c")],
        [1, 2, 3]
    );
    thread::scope(|scope| {
        for log in [&one, &two] {
            for _ in 0..2 {
                scope.spawn(move || (0..250).map(|n| note(log, &n.to_string())).max());
            }
        }
    });
    let found = folder.is_whole();
    assert_eq!((found.records, found.files), (1_003, 1));
}

#[test]
fn a_new_file_goes_on_where_the_last_one_ended() {
    let folder = Folder::new();
    let (one, two) = (
        folder.log_of_small_files(None),
        folder.log_of_small_files(None),
    );
    for n in 0..40 {
        note(if n % 3 == 0 { &one } else { &two }, "x");
    }
    let found = folder.is_whole();
    assert!(found.files > 5, "{found:?}");
    assert_eq!(found.records, 40 + found.files as u64 - 1);
    // Without its first file the log is not whole.
    fs::remove_file(folder.0.join("1.jsonl")).unwrap();
    let found = verify(&folder.0).unwrap();
    assert_eq!((&*found.faults[0].0, found.faults[0].1), ("2.jsonl", 1));
}

#[test]
fn each_day_has_a_file_of_its_own() {
    let folder = Folder::new();
    let log = folder.log();
    note(&log, "a");
    let on = |day: &str| append_on(&log, day);
    on("2126-11-28");
    on("2126-11-28");
    assert_eq!(folder.is_whole().files, 2);
    // The clock has jumped back.
    on("2126-01-01");
    on("2125-06-01");
    assert_eq!(folder.is_whole().files, 2);
    note(&folder.log(), "b");
    on("2126-12-01");
    let found = folder.is_whole();
    assert_eq!((found.files, found.records), (3, 9));
}

#[test]
fn old_files_are_removed_and_the_log_says_so() {
    let folder = Folder::new();
    let log = folder.log_of_small_files(Some(Duration::from_secs(365 * 24 * 3600)));
    for day in ["2025-01-01", "2025-01-02", "2026-01-01", "2026-01-02"] {
        append_on(&log, day);
    }
    assert_eq!(folder.is_whole().files, 4);
    append_on(&log, "2026-01-08");
    let found = folder.is_whole();
    assert_eq!(
        (found.files, &*found.first),
        (3, "2026-01-01T08:00:00.000Z")
    );
    let text = fs::read_to_string(folder.0.join("5.jsonl")).unwrap();
    assert_eq!(text.matches(r#""kind":"removed""#).count(), 2, "{text}");
}

#[test]
fn a_clock_that_jumps_ahead_removes_no_file() {
    let folder = Folder::new();
    let log = folder.log_of_small_files(Some(Duration::from_secs(365 * 24 * 3600)));
    for day in ["2026-11-26", "2026-11-27", "2036-03-01", "2036-03-02"] {
        append_on(&log, day);
    }
    // Full files begin new ones, too.
    for _ in 0..40 {
        append_on(&log, "2036-03-07");
    }
    let files = folder.is_whole().files;
    assert!(files > 8, "{files}");
    // The clock is right again.
    for _ in 0..40 {
        append_on(&log, "2026-11-28");
    }
    assert!(folder.is_whole().files > files);
    assert!(folder.0.join("1.jsonl").exists());
}

#[test]
fn days_are_kept_even_if_they_are_few() {
    let folder = Folder::new();
    let log = folder.log_of_small_files(Some(Duration::from_secs(24 * 3600)));
    for day in ["2026-11-24", "2026-11-25", "2026-11-26", "2026-11-27"] {
        append_on(&log, day);
    }
    // That of the day before yesterday is more than a day old.
    let found = folder.is_whole();
    assert_eq!(
        (found.files, &*found.first),
        (2, "2026-11-26T08:00:00.000Z")
    );
}

#[test]
fn a_line_that_was_cut_off_by_the_end_of_its_process_breaks_nothing() {
    let folder = Folder::new();
    let log = folder.log();
    note(&log, "a");
    for part in [r#"{"seq":2,"time":"2026-11"#, "", "{"] {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).open(folder.0.join("1.jsonl")).unwrap();
        file.write_all(part.as_bytes()).unwrap();
        note(&folder.log(), "b");
    }
    note(&log, "c");
    let found = folder.is_whole();
    assert_eq!((found.records, found.cut), (5, 2));
}

#[test]
fn what_was_changed_is_found() {
    let folder = Folder::new();
    let log = folder.log();
    for n in 0..6 {
        note(&log, &format!("subject {n}"));
    }
    let lines = folder.lines();
    let faults = |change: &dyn Fn(&mut Vec<String>)| {
        let mut changed = lines.clone();
        change(&mut changed);
        folder.set_lines(&changed);
        let found = verify(&folder.0).unwrap();
        found
            .faults
            .into_iter()
            .map(|(_, line, _)| line)
            .collect::<Vec<_>>()
    };
    assert!(faults(&|_| {}).is_empty());
    assert_eq!(
        faults(&|lines| lines[2] = lines[2].replace("subject 2", "subject 9")),
        [3, 4]
    );
    assert_eq!(faults(&|lines| drop(lines.remove(2))), [3]);
    assert_eq!(faults(&|lines| drop(lines.remove(0))), [1]);
    assert_eq!(faults(&|lines| lines.swap(2, 3)), [3, 4, 5]);
    assert_eq!(faults(&|lines| lines.insert(3, lines[1].clone())), [4, 5]);
    // Half a line in the place of a record.
    assert_eq!(faults(&|lines| lines[2].truncate(20)), [4]);
    // A record with a right hash of its own.
    let forge = |lines: &mut Vec<String>| {
        let (begin, _) = lines[2].split_once(HASH).unwrap();
        let line = sealed(begin.replace("subject 2", "another").as_bytes());
        lines[2] = String::from_utf8(line).unwrap();
    };
    assert_eq!(faults(&forge), [4]);
}

#[test]
fn a_flood_of_refused_requests_is_counted() {
    let folder = Folder::new();
    let log = folder.log();
    let begin = Instant::now();
    for _ in 0..10_000 {
        note_as(&log, "refused", "GET /config").unwrap();
    }
    let seconds = begin.elapsed().as_secs() + 1;
    log.shared.state.lock().unwrap().refused.begin -= Duration::from_secs(1);
    note(&log, "after");
    let found = folder.is_whole();
    assert!(
        found.records <= seconds * (MAX_REFUSED + 1) + 1,
        "{found:?}"
    );
    let text = folder.lines().join("\n");
    assert!(text.contains("more requests were refused"), "{text}");
}

#[test]
fn a_record_without_the_end_of_its_line_is_the_last_one() {
    let folder = Folder::new();
    note(&folder.log(), "a");
    let path = folder.0.join("1.jsonl");
    let text = fs::read(&path).unwrap();
    fs::write(&path, text.trim_ascii_end()).unwrap();
    assert_eq!(folder.is_whole().records, 1);
    assert_eq!(note(&folder.log(), "b"), 2);
    assert_eq!(folder.is_whole().records, 2);
}

#[test]
fn what_is_no_record_is_found_and_hides_none() {
    let folder = Folder::new();
    let log = folder.log();
    note(&log, "a");
    let before = folder.lines();
    for line in ["rubbish".to_owned(), "x".repeat(log_files::MAX_LINE + 100)] {
        folder.set_lines(&[before.clone(), vec![line]].concat());
        note(&folder.log(), "b");
        let found = verify(&folder.0).unwrap();
        // The file with the long line is full.
        let records = 2 + found.files as u64 - 1;
        assert_eq!(
            (found.records, found.faults.len()),
            (records, 1),
            "{found:?}"
        );
        let _ = fs::remove_file(folder.0.join("2.jsonl"));
        assert_eq!(found.faults[0].1, 2);
    }
    // Names that no file of the log has.
    for name in [
        "18446744073709551615.jsonl",
        "01.jsonl",
        "x.jsonl",
        "2.json",
    ] {
        fs::write(folder.0.join(name), "{}").unwrap();
    }
    folder.set_lines(&before);
    note(&folder.log(), "c");
    folder.is_whole();
}

#[test]
fn a_process_does_not_forget_what_it_has_written() {
    let folder = Folder::new();
    let log = folder.log();
    for _ in 0..5 {
        note(&log, "a");
    }
    let lines = folder.lines();
    folder.set_lines(&lines[..2]);
    assert_eq!(note(&log, "b"), 6);
    let found = verify(&folder.0).unwrap();
    assert_eq!(found.faults[0].1, 3, "{found:?}");
    // A file that was moved away gets no more records.
    let moved = folder.0.join("moved");
    fs::rename(folder.0.join("1.jsonl"), &moved).unwrap();
    log.shared.state.lock().unwrap().looked = None;
    assert_eq!(note(&log, "c"), 7);
    assert_eq!(folder.lines().len(), 1);
    assert_eq!(verify(&folder.0).unwrap().faults.len(), 1);
}

#[test]
fn what_was_not_recorded_is_counted() {
    let folder = Folder::new();
    let mut log = folder.log();
    log.options.required = false;
    note(&log, "a");
    let path = folder.0.join("lock");
    let held = LockFile::open(&path).unwrap();
    let held = held.acquire(Duration::ZERO).unwrap();
    let begin = Instant::now();
    for _ in 0..50 {
        assert_eq!(note_as(&log, "tool_call", "shell"), Ok(None));
    }
    // Each of them would wait otherwise.
    assert!(begin.elapsed() < 10 * LOCK_TIMEOUT);
    drop(held);
    log.shared.state.lock().unwrap().blocked_until = None;
    note(&log, "b");
    assert_eq!(folder.is_whole().records, 3);
    assert!(folder.lines()[1].contains("50 entries could not be recorded"));
}

#[test]
fn what_cannot_be_recorded_is_refused_if_the_log_is_required() {
    let folder = Folder::new();
    fs::write(&folder.0, "a file").unwrap();
    let mut log = folder.log();
    let why = note_as(&log, "tool_call", "shell").unwrap_err();
    assert!(why.contains("audit log"), "{why}");
    log.options.required = false;
    assert_eq!(note_as(&log, "tool_call", "shell"), Ok(None));
    fs::remove_file(&folder.0).unwrap();
    // It goes on when it can, with the number of those that have no record.
    assert_eq!(note(&log, "a"), 2);
    folder.is_whole();
}

#[test]
fn a_server_gives_the_lock_that_it_keeps_to_another_process() {
    let folder = Folder::new();
    let (mut server, mut other) = (folder.log_of_server(), folder.log());
    for log in [&mut server, &mut other] {
        log.options.file_size = u64::MAX;
    }
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                note(&server, "of the server");
            }
        });
        for n in 0..20 {
            if n % 10 == 0 {
                // As if no other process had needed it for long.
                server.shared.state.lock().unwrap().kept = KeptLock::default();
                while !keeps_lock(&server) {
                    thread::yield_now();
                }
            }
            note(&other, "of another process");
        }
        is_done.store(true, Ordering::Relaxed);
    });
    folder.is_whole();
    let subjects = folder.lines();
    let others = subjects.iter().filter(|it| it.contains("another process"));
    assert_eq!(others.count(), 20);
}

#[test]
fn servers_and_other_processes_append_to_one_chain() {
    let folder = Folder::new();
    let logs = [folder.log_of_server(), folder.log_of_server(), folder.log()];
    thread::scope(|scope| {
        for log in &logs {
            for _ in 0..2 {
                scope.spawn(move || (0..300).map(|n| note(log, &n.to_string())).max());
            }
        }
    });
    let found = folder.is_whole();
    assert_eq!((found.records, found.files), (1_800, 1));
}

#[test]
fn files_end_while_the_lock_is_kept() {
    let folder = Folder::new();
    let log = folder.log_of_small_files(None);
    let (one, mut two) = (folder.log_of_small_files(None), log);
    two.options.keeps_lock = true;
    for n in 0..60 {
        note(&two, "x");
        if n % 20 == 0 {
            note(&one, "y");
        }
    }
    let found = folder.is_whole();
    assert!(found.files > 5, "{found:?}");
}

#[test]
fn a_lock_that_is_kept_is_released_when_nothing_is_recorded() {
    let folder = Folder::new();
    let log = folder.log_of_server();
    note_until_kept(&log);
    let lock = LockFile::open(&folder.0.join("lock")).unwrap();
    assert!(lock.acquire(Duration::ZERO).is_err());
    // No process has asked for it.
    drop(lock.acquire(Duration::from_secs(60)).unwrap());
    assert!(!keeps_lock(&log));
    // The end of a log releases it at once.
    note_until_kept(&log);
    drop(log);
    lock.acquire(Duration::ZERO).unwrap();
}

#[test]
fn single_records_do_not_keep_the_lock() {
    let folder = Folder::new();
    let log = folder.log_of_server();
    let mut now = Instant::now();
    for _ in 0..30 {
        now += Duration::from_millis(100);
        let mut state = log.shared.state.lock().unwrap();
        log.append(&mut state, &draft("setting"), now).unwrap();
        assert!(state.kept.due().is_none());
    }
    assert!(log.shared.state.lock().unwrap().thread.is_none());
}

#[test]
fn a_file_that_is_cut_off_while_the_lock_is_kept_is_found() {
    let folder = Folder::new();
    let log = folder.log_of_server();
    note_until_kept(&log);
    let lines = folder.lines();
    folder.set_lines(&lines[..2]);
    // It is looked at a moment later.
    let now = Instant::now() + Duration::from_millis(20);
    let mut state = log.shared.state.lock().unwrap();
    log.append(&mut state, &draft("setting"), now).unwrap();
    assert_eq!(verify(&folder.0).unwrap().faults[0].1, 3);
}

#[test]
fn records_are_synced_a_second_later_by_a_thread_that_waits_for_them() {
    let folder = Folder::new();
    let mut log = folder.log();
    log.options.sync = Sync::Second;
    note(&log, "a");
    let unsynced = || log.shared.state.lock().unwrap().unsynced.is_some();
    assert!(unsynced());
    while unsynced() {
        thread::sleep(Duration::from_millis(10));
    }
    note(&log, "b");
    assert!(unsynced());
}

#[test]
fn a_process_that_syncs_each_record_lets_others_record() {
    let folder = Folder::new();
    let (mut server, other) = (folder.log_of_server(), folder.log());
    server.options.sync = Sync::Each;
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    note(&server, "of the server");
                }
            });
        }
        for _ in 0..20 {
            note(&other, "of another process");
        }
        is_done.store(true, Ordering::Relaxed);
    });
    folder.is_whole();
}

/// Records the end of something.
fn note_end(log: &AuditLog) {
    let entry = Entry {
        of: Some(1),
        ..Entry::new("tool_call", "")
    };
    log.record(&Caller::default(), &entry).unwrap();
}

/// A record of this kind.
fn draft(kind: &str) -> Draft {
    Draft::note(&time_of(SystemTime::now()), kind, &[])
}

/// Appends so many records that ends may be deferred, if ever. The lock that they kept is not released before this.
fn note_until_busy(log: &AuditLog) -> MutexGuard<'_, State> {
    let (mut state, now) = (log.shared.state.lock().unwrap(), Instant::now());
    loop {
        log.append(&mut state, &draft("setting"), now).unwrap();
        if state.kept.is_busy() {
            return state;
        }
    }
}

#[test]
fn the_end_of_something_is_written_with_what_follows() {
    let folder = Folder::new();
    let mut log = folder.log_of_server();
    log.options.required = false;
    let mut state = note_until_busy(&log);
    let written = folder.lines().len();
    // Neither does it wait for who records something else.
    note_end(&log);
    assert_eq!(folder.lines().len(), written);
    let now = Instant::now();
    log.append(&mut state, &draft("setting"), now).unwrap();
    drop(state);
    let lines = folder.lines();
    assert_eq!(lines.len(), written + 2);
    assert!(lines[written].contains("\"of\":1,"), "{lines:?}");
    folder.is_whole();
}

#[test]
fn the_end_of_something_is_written_when_the_lock_is_released_and_when_the_log_is_closed() {
    let folder = Folder::new();
    let mut log = folder.log_of_server();
    log.options.required = false;
    let defer_one = || {
        let _state = note_until_busy(&log);
        let written = folder.lines().len();
        note_end(&log);
        assert_eq!(folder.lines().len(), written);
        written
    };
    let written = defer_one();
    let begin = Instant::now();
    while folder.lines().len() == written {
        assert!(begin.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(5));
    }
    let written = defer_one();
    drop(log);
    assert_eq!(folder.lines().len(), written + 1);
    folder.is_whole();
}

#[test]
fn what_is_required_or_durable_is_written_at_once() {
    for (required, sync) in [(true, Sync::None), (false, Sync::Each)] {
        let folder = Folder::new();
        let mut log = folder.log_of_server();
        (log.options.required, log.options.sync) = (required, sync);
        drop(note_until_busy(&log));
        let written = folder.lines().len();
        note_end(&log);
        assert_eq!(folder.lines().len(), written + 1);
    }
}

#[test]
fn a_day_that_begins_with_the_end_of_something_has_a_file_of_its_own() {
    let folder = Folder::new();
    let mut log = folder.log_of_server();
    log.options.required = false;
    append_on(&log, "2026-11-26");
    let end = Draft {
        is_end: true,
        ..Draft::note("2026-11-27T00:00:00.001Z", "tool_call", &[])
    };
    let mut deferred = log.shared.deferred.lock().unwrap();
    deferred.take(&mut Deferred::default(), true);
    assert!(deferred.push(&end));
    drop(deferred);
    append_on(&log, "2026-11-27");
    let names: Vec<_> = log_files::numbers(&folder.0).unwrap();
    assert_eq!(names, [1, 2]);
    folder.is_whole();
}

#[test]
fn an_end_that_cannot_be_written_later_is_counted() {
    let folder = Folder::new();
    let mut log = folder.log_of_server();
    log.options.required = false;
    {
        let mut state = note_until_busy(&log);
        // As with a disk that is full, nothing can be written.
        let unwritable = File::open(folder.0.join("1.jsonl")).unwrap();
        state.end.as_mut().unwrap().file = Arc::new(unwritable);
        for _ in 0..2 {
            note_end(&log);
        }
        state.end_deferral(&log.shared.deferred);
        assert_eq!(state.unrecorded, 2);
    }
    note(&log, "after it");
    let lines = folder.lines();
    let gap = &lines[lines.len() - 2];
    assert!(gap.contains("2 entries could not be recorded"), "{gap}");
    folder.is_whole();
}
