use super::super::process_mark::MARK;
use super::*;
use std::fs;
use std::process::Command;

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

fn make_fifo(folder: &Path, pid: i32) {
    let folder = folder.join(pid.to_string());
    fs::create_dir_all(&folder).unwrap();
    let made = Command::new("mkfifo").arg(folder.join("environ")).status();
    assert!(made.unwrap().success());
}

fn search(folder: &'static Path, pids: &[i32], mark: &ProcessMark) -> Vec<i32> {
    marked_in(folder, pids.to_vec(), mark, Instant::now() + LIMIT).pids
}

#[test]
fn many_processes_that_are_stuck_together_take_no_longer_than_the_deadline() {
    const SEARCH: Duration = Duration::from_secs(1);
    let mark = ProcessMark::of_server(&crate::random_hex(16).unwrap()).of_child(1);
    let folder = std::env::temp_dir().join(format!("gosling-environs-{}", std::process::id()));
    let mut pids: Vec<i32> = (100..120).map(|n| i32::MAX - n).collect();
    pids.iter().for_each(|pid| make_fifo(&folder, *pid));
    let last = i32::MAX - 120;
    let text = format!("{MARK}={}\0", mark.variable(None));
    fs::create_dir(folder.join(last.to_string())).unwrap();
    fs::write(folder.join(last.to_string()).join("environ"), text).unwrap();
    pids.push(last);
    let folder: &'static Path = Box::leak(folder.into_boxed_path());
    let begin = Instant::now();
    // A later search finds what the first had no time for.
    loop {
        let search = Instant::now();
        let found = marked_in(folder, pids.clone(), &mark, search + SEARCH);
        let took = search.elapsed();
        assert!(took < SEARCH * 5, "the search took {took:?}");
        if found.pids == [last] {
            break;
        }
        assert!(!found.is_complete && begin.elapsed() < LIMIT);
    }
    // Ends the threads that read them.
    for pid in &pids[..20] {
        let fifo = folder.join(pid.to_string()).join("environ");
        let both = fs::File::options().read(true).write(true).open(fifo);
        drop(both.unwrap());
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_search_whose_deadline_has_passed_is_not_complete() {
    let mark = ProcessMark::of_server(&crate::random_hex(16).unwrap());
    let folder = Path::new("/does/not/exist");
    let found = marked_in(folder, vec![i32::MAX - 200], &mark, Instant::now());
    assert!(!found.is_complete);
    assert!(marked_in(folder, Vec::new(), &mark, Instant::now()).is_complete);
    let found = marked_in(folder, vec![i32::MAX - 200], &mark, Instant::now() + LIMIT);
    assert!(found.is_complete && found.pids.is_empty());
}

#[test]
fn a_process_whose_environment_cannot_be_read_holds_up_no_search() {
    let mark = ProcessMark::of_server(&crate::random_hex(16).unwrap()).of_child(1);
    let folder = std::env::temp_dir().join(format!("gosling-environ-{}", std::process::id()));
    // No process has such an id.
    let [first, stuck, last] = [i32::MAX - 2, i32::MAX - 1, i32::MAX];
    // Reading it blocks until there is a writer.
    make_fifo(&folder, stuck);
    for pid in [first, last] {
        let folder = folder.join(pid.to_string());
        fs::create_dir_all(&folder).unwrap();
        let text = format!("A=1\0{MARK}={}\0", mark.variable(None));
        fs::write(folder.join("environ"), text).unwrap();
    }
    let folder: &'static Path = Box::leak(folder.into_boxed_path());
    let all = vec![first, stuck, last];
    assert_eq!(search(folder, &all, &mark), [first, last]);
    let is_stuck = || {
        let stuck_ones = lock(&STUCK);
        stuck_ones
            .as_ref()
            .is_some_and(|all| all.contains_key(&stuck))
    };
    // The next search does not wait for it.
    assert!(is_stuck());
    assert_eq!(search(folder, &all, &mark), [first, last]);
    // It becomes readable, and is read like the others.
    let fifo = folder.join(stuck.to_string()).join("environ");
    let text = format!("{MARK}={}\0", mark.variable(None));
    fs::write(&fifo, &text).unwrap();
    let begin = Instant::now();
    while is_stuck() {
        assert!(begin.elapsed() < LIMIT);
        std::thread::yield_now();
    }
    fs::remove_file(&fifo).unwrap();
    fs::write(&fifo, &text).unwrap();
    assert_eq!(search(folder, &all, &mark), all);
    fs::remove_dir_all(folder).unwrap();
}
