use super::*;
use std::fs::{self, File};
use std::io::Write;

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(30);
/// Which signal is sent to the holder of a lease; the crate `libc` does not define it.
const F_SETSIG: i32 = 10;

fn prepared(program: &Path, stdin: PipeReader) -> (Prepared, Progress) {
    let null = || File::options().write(true).open("/dev/null").unwrap();
    let stdio = [stdin.into(), null().into(), null().into()];
    let mark = ProcessMark::of_server(&crate::random_hex(16).unwrap());
    Prepared::child(&Command::new(program), &mark, stdio).unwrap()
}

/// Several children wait in the spawner's queue, and each has descriptors in this process.
#[test]
fn a_child_that_hangs_before_it_runs_its_program_has_nothing_open_of_another() {
    let path = std::env::temp_dir().join(format!("gosling-held-{}", std::process::id()));
    fs::copy("/bin/cat", &path).unwrap();
    let lease = File::open(&path).unwrap();
    let begin = std::time::Instant::now();
    let fd = lease.as_raw_fd();
    // SAFETY: plain integers. The kernel tells with a signal that is ignored by default that another
    // process opens the file.
    unsafe { libc::fcntl(fd, F_SETSIG, libc::SIGURG) };
    // SAFETY: plain integers.
    while unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_WRLCK) } != 0 {
        // Processes that were forked while the file was written have it open until exec.
        assert!(begin.elapsed() < LIMIT);
        std::thread::yield_now();
    }
    let (first_stdin, _first) = io::pipe().unwrap();
    let (second_stdin, mut second) = io::pipe().unwrap();
    let (held, mut held_progress) = prepared(&path, first_stdin);
    let (other, mut progress) = prepared(Path::new("/bin/cat"), second_stdin);
    let held = held.fork().unwrap();
    // SAFETY: plain integers. A lease that is being broken shows what it is to become.
    while unsafe { libc::fcntl(fd, libc::F_GETLEASE) } == libc::F_WRLCK {
        assert!(begin.elapsed() < LIMIT);
        std::thread::yield_now();
    }
    let other = other.fork().unwrap();
    let ran = progress.wait(LIMIT);
    second.write_all(b"x").unwrap();
    drop(second);
    let ended = super::super::wait_exit(other, LIMIT);
    let is_held = held_progress.wait(Duration::ZERO).is_none();
    for pid in [held, other] {
        super::super::kill_child(pid);
        assert!(super::super::wait_exit(pid, LIMIT));
        super::super::reap(pid);
    }
    fs::remove_file(&path).unwrap();
    ran.expect("it is seen to run").unwrap();
    assert!(ended, "its input came to its end");
    assert!(is_held);
}
