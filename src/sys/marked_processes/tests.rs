use super::super::child_command;
use super::super::process_mark::MARK;
use super::*;
use std::io::Read;
use std::process::{Child, Command, Stdio};

/// Far more than a search takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn server() -> ProcessMark {
    ProcessMark::of_server(&crate::random_hex(16).unwrap())
}

/// A child that carries the mark in its limit only.
pub(crate) struct Limited(pub(crate) i32);

impl Limited {
    pub(crate) fn new(mark: &ProcessMark) -> Self {
        let mut command = child_command::Command::new("sleep");
        command.arg("300");
        let null = || fs::File::open("/dev/null").unwrap().into();
        let stdio = [null(), null(), null()];
        let child = unix::Prepared::child(&command, mark, stdio);
        let (prepared, mut progress) = child.unwrap();
        let pid = prepared.fork().unwrap();
        progress.wait(LIMIT).expect("it runs in time").unwrap();
        Limited(pid)
    }

    pub(crate) fn runs(&self) -> bool {
        matches!(unix::state_of(self.0), unix::State::Runs)
    }

    pub(crate) fn wait(&self) {
        assert!(unix::wait_exit(self.0, LIMIT));
        unix::reap(self.0);
    }
}

pub(crate) fn runs(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_none()
}

/// A shell that carries the mark and has set a trap.
pub(crate) fn trapped(mark: &ProcessMark, trap: &str) -> Child {
    let mut command = Command::new("sh");
    let script = format!("{trap} echo; while :; do sleep 0.02; done");
    command
        .args(["-c", &script])
        .env(MARK, mark.variable(None))
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdout = child.stdout.as_mut().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    child
}

#[test]
fn a_limit_is_enough_and_tells_children_apart() {
    let server = server();
    let one = server.of_child(1);
    let two = server.of_child(2);
    let first = Limited::new(&one);
    let second = Limited::new(&two);
    kill(&one, LIMIT);
    first.wait();
    assert!(second.runs());
    assert!(is_other_process(second.0, &one) && !is_other_process(second.0, &server));
    kill(&server, LIMIT);
    second.wait();
    assert!(!is_other_process(second.0, &one));
}

/// A child that carries the mark in its environment only.
fn with_environment(mark: &ProcessMark) -> Child {
    let mut command = Command::new("sleep");
    let child = command
        .arg("300")
        .env(MARK, mark.variable(Some("around.1.")))
        .spawn()
        .unwrap();
    // A program that is being loaded has no environment yet.
    let environment = format!("/proc/{}/environ", child.id());
    while fs::read(&environment).unwrap().is_empty() {
        thread::yield_now();
    }
    child
}

#[test]
fn what_began_during_a_search_is_found_by_the_next_one() {
    let mark = server().of_child(1);
    let limited = [Limited::new(&mark), Limited::new(&mark)];
    let mut marked = [with_environment(&mark), with_environment(&mark)];
    let gone = Limited::new(&server());
    unix::kill_child(gone.0);
    gone.wait();
    // What each search finds: one that has ended already, then one that the search before did not see.
    let pids = [
        gone.0,
        limited[0].0,
        limited[1].0,
        marked[0].id().cast_signed(),
    ];
    let last = marked[1].id().cast_signed();
    let mut searches = pids.into_iter().chain([last]);
    let searches = std::cell::RefCell::new(&mut searches);
    kill_listed(&mark, LIMIT, || {
        Ok(searches.borrow_mut().next().into_iter().collect())
    });
    limited.iter().for_each(Limited::wait);
    for child in &mut marked {
        child.wait().unwrap();
    }
}

/// What the system says when this process has too many open files.
pub(crate) fn exhausted() -> io::Error {
    io::Error::from_raw_os_error(libc::EMFILE)
}

#[test]
fn a_search_is_tried_again_while_descriptors_are_short_and_for_no_other_reason() {
    let mark = server().of_child(1);
    let searches = std::cell::Cell::new(0);
    kill_listed(&mark, LIMIT, || {
        searches.set(searches.get() + 1);
        Err(io::Error::from(io::ErrorKind::PermissionDenied))
    });
    assert_eq!(searches.get(), 1);
    let child = Limited::new(&mark);
    searches.set(0);
    kill_listed(&mark, LIMIT, || {
        searches.set(searches.get() + 1);
        match searches.get() {
            1 => Err(exhausted()),
            2 => Ok(vec![child.0]),
            _ => Ok(Vec::new()),
        }
    });
    child.wait();
}

#[test]
fn a_search_that_always_comes_too_late_ends() {
    let searches = std::cell::Cell::new(0_u32);
    kill_listed(&server(), LIMIT, || {
        searches.set(searches.get() + 1);
        // More than the largest id that there can be.
        let gone = (1 << 22) + 1 + searches.get().cast_signed();
        Ok((searches.get() <= 100)
            .then_some(gone)
            .into_iter()
            .collect())
    });
    assert_eq!(searches.get(), IN_VAIN + 1);
}

#[test]
fn any_that_lives_is_left_and_the_dead_are_not() {
    let mark = server().of_child(1);
    let mut marked = with_environment(&mark);
    let limited = Limited::new(&mark);
    let [by_environment, by_limit] = [marked.id().cast_signed(), limited.0];
    assert!(any_among(vec![by_environment], &mark, LIMIT));
    assert!(any_among(vec![by_limit], &mark, LIMIT));
    assert!(any_left(&mark, LIMIT));
    assert!(!any_among(vec![by_limit, by_environment], &server(), LIMIT));
    unix::kill_child(by_limit);
    assert!(unix::wait_exit(by_limit, LIMIT));
    assert!(!any_among(vec![by_limit], &mark, LIMIT));
    limited.wait();
    marked.kill().unwrap();
    marked.wait().unwrap();
}

#[test]
fn an_environment_is_enough() {
    let mark = server().of_child(1);
    let mut child = with_environment(&mark);
    kill(&server().of_child(1), LIMIT);
    assert!(runs(&mut child));
    kill(&mark, LIMIT);
    child.wait().unwrap();
}

#[test]
fn the_dead_hold_up_nobody() {
    let mark = server().of_child(1);
    let child = Limited::new(&mark);
    unix::kill_child(child.0);
    unix::wait_exit(child.0, LIMIT);
    let begin = Instant::now();
    kill(&mark, LIMIT);
    assert!(begin.elapsed() < LIMIT / 2, "{:?}", begin.elapsed());
    child.wait();
}

#[test]
fn a_mark_is_asked_for_again_before_the_kill() {
    let child = Limited::new(&server().of_child(1));
    let pid = child.0;
    assert_eq!(
        unix::signal_if(pid, Signal::Kill, || false),
        SignalOutcome::Gone
    );
    assert!(child.runs());
    assert_eq!(
        unix::signal_if(pid, Signal::Kill, || true),
        SignalOutcome::Signalled
    );
    child.wait();
    assert_eq!(
        unix::signal_if(pid, Signal::Kill, || true),
        SignalOutcome::Gone
    );
}
