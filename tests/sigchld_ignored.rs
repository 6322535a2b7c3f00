//! A program that embeds the library and ignores SIGCHLD: the system reaps its children, whose ids may then be
//! reused for other processes and groups. A file of its own, because all tests of one file share a process.
#![cfg(target_os = "linux")]

mod support;

use gosling::sys::cancel::Cancel;
use gosling::sys::process::{Command, Grace, Process};
use support::TEST_TIMEOUT;
use support::process::{running, signal, unique_sleep, with_argument};

fn shell(script: &str) -> Process {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let (process, _) = Process::spawn(command, Some(TEST_TIMEOUT), &Cancel::new()).unwrap();
    process
}

#[test]
fn a_group_is_not_signalled_once_its_leader_may_have_been_reaped() {
    // SAFETY: it is a valid disposition, and no other test runs in this process.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    // Both are in the group of a leader that has ended. Only that group shows that the first was started by it;
    // an unrelated process with a reused group id would look the same.
    let (stranger, own) = (unique_sleep(), unique_sleep());
    let quiet = "> /dev/null 2>&1 < /dev/null &";
    let process = shell(&format!(
        "env -i prlimit --locks=unlimited: sleep {stranger} {quiet} sleep {own} {quiet}"
    ));
    assert!(process.wait_exit(TEST_TIMEOUT));
    support::until("both sleep", || {
        let sleeps = |nap: &String| {
            with_argument(nap)
                .first()
                .is_some_and(|p| p.name() == "sleep")
        };
        [&stranger, &own].into_iter().all(sleeps).then_some(())
    });
    process.end(Grace::SHORT);
    running(&own, 0);
    let left = with_argument(&stranger);
    assert_eq!(left.len(), 1, "it was signalled");
    signal(left[0].pid, "KILL");
    assert_eq!(process.status(), None, "how it ended is not known");

    // While the leader runs, its id is not reused.
    let process = shell("trap '' TERM; sleep 300 & wait; sleep 300");
    process.end(Grace::SHORT);
    assert!(process.wait_exit(TEST_TIMEOUT));
    // A program that does not start has no effect.
    let error = Process::spawn(Command::new("/does/not/exist"), None, &Cancel::new());
    assert_eq!(error.err().unwrap().kind(), std::io::ErrorKind::NotFound);
    assert!(shell("exit 0").wait_exit(TEST_TIMEOUT));
}
