//! The shell lines of the manual, which are run.

use super::support::server::GOSLING;
use super::support::{temp_dir, until};
use super::{blocks, pages};
use gosling::features::is_left_out;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long the commands of one page may take.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Ports that the pages name. Each test run has free ones in their place.
const PORTS: [&str; 2] = ["3000", "8123"];

/// Pages whose commands need a feature that a build may leave out.
const NEEDS: [(&str, &str); 19] = [
    ("README", "chat"),
    ("acp", "acp"),
    ("api", "demo"),
    ("backup", "backup"),
    ("hosts", "service"),
    ("service", "service"),
    ("scale", "service"),
    ("builtins", "memory"),
    ("chat", "chat"),
    ("check", "check"),
    ("console", "console"),
    ("deeplinks", "deeplinks"),
    ("info", "info"),
    ("logs", "chat"),
    ("policy", "policy"),
    ("sandbox", "chat"),
    ("sandbox", "policy"),
    ("schedules", "schedules"),
    ("scripted", "chat"),
];

#[test]
fn every_shell_line_of_the_manual_runs() {
    for program in ["bash", "curl"] {
        let found = Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        if found.is_err() {
            println!("skipped: {program} is not installed");
            return;
        }
    }
    let ran: Vec<String> = thread::scope(|scope| {
        let mut running = Vec::new();
        for (page, text) in pages() {
            let lines: Vec<(usize, String)> = blocks(text)
                .into_iter()
                .filter(|block| block.kind == "sh")
                .flat_map(|block| block.lines)
                .collect();
            let needs = |(of, feature): &(&str, &str)| *of == page && is_left_out(feature);
            if !lines.is_empty() && !NEEDS.iter().any(needs) {
                running.push(scope.spawn(move || {
                    run_page(&page, &lines);
                    page
                }));
            }
        }
        let joined = running.into_iter().map(|thread| thread.join());
        joined.map(|ran| ran.expect("a page that runs")).collect()
    });
    let needs = NEEDS.iter().filter(|(_, feature)| !is_left_out(feature));
    for (page, _) in needs {
        assert!(ran.contains(&(*page).to_owned()), "{page}: {ran:?}");
    }
}

/// Runs the lines with bash, in a folder that is empty, and ends what they leave in the background.
fn run_page(page: &str, lines: &[(usize, String)]) {
    let home = temp_dir();
    let ports = PORTS.map(|_| {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port().to_string()
    });
    // Each line has the number that it has in the page; the first one of a page is its title.
    let mut script =
        "set -Eeuo pipefail; trap 'echo \"line $LINENO: $BASH_COMMAND\" >&2' ERR".to_owned();
    let mut here = 1;
    for (number, line) in lines {
        script.push_str(&"\n".repeat(number - here));
        here = *number;
        // A reader is slower than the server, whose port the next one gets.
        let line = line.replace("kill $!", "kill $!; wait");
        script.push_str(&with_ports(&line, &ports));
    }
    let file = home.path().join("page.sh");
    fs::write(&file, script + "\n").unwrap();
    let output = home.path().join("output.txt");
    let sink = File::create(&output).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let own = Path::new(GOSLING).parent().unwrap().display();
    let mut bash = Command::new("bash")
        .arg(&file)
        .current_dir(home.path())
        .env_clear()
        .env("PATH", format!("{own}:{path}"))
        .env("HOME", home.path())
        .env("GOOSE_PATH_ROOT", home.path().join("root"))
        .env("GOOSE_PORT", &ports[0])
        .stdin(Stdio::null())
        .stdout(sink.try_clone().unwrap())
        .stderr(sink)
        .process_group(0)
        .spawn()
        .expect("the shell lines of the manual need bash");
    let status = end_with_children(&mut bash);
    let output = fs::read_to_string(output).unwrap_or_default();
    let end: Vec<&str> = output.lines().rev().take(20).collect();
    let end: Vec<&str> = end.into_iter().rev().collect();
    assert_eq!(status, Some(0), "{page}:\n{}", end.join("\n"));
}

/// The line with these ports instead of those of the manual. What was put in may look like one of the manual's.
fn with_ports(line: &str, ports: &[String; PORTS.len()]) -> String {
    let first = |rest: &str| {
        let places = PORTS.iter().zip(ports);
        let found = places.filter_map(|(name, port)| Some((rest.find(name)?, *name, port.clone())));
        found.min()
    };
    let (mut with, mut rest) = (String::new(), line);
    while let Some((at, name, port)) = first(rest) {
        with.push_str(&rest[..at]);
        with.push_str(&port);
        rest = &rest[at + name.len()..];
    }
    with + rest
}

#[test]
fn the_ports_of_the_manual_are_exchanged_at_once() {
    let ports = ["38123".to_owned(), "33000".to_owned()];
    let line = "curl localhost:3000 localhost:8123; echo 3000";
    let with = "curl localhost:38123 localhost:33000; echo 38123";
    assert_eq!(with_ports(line, &ports), with);
}

/// Waits for the process; then ends everything in its process group. None if the time was over.
fn end_with_children(process: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + TIMEOUT;
    let group = i32::try_from(process.id()).unwrap();
    while !has_ended(group) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    let in_time = has_ended(group);
    // The process is not reaped yet, so that its id cannot be that of another group.
    let send = |signal| unsafe { libc::kill(-group, signal) };
    send(if in_time {
        libc::SIGTERM
    } else {
        libc::SIGKILL
    });
    let status = process.wait().unwrap();
    until("the servers of a page end", || (send(0) != 0).then_some(()));
    if in_time { status.code() } else { None }
}

/// Whether the child has ended. It can still be waited for.
fn has_ended(pid: i32) -> bool {
    // SAFETY: an all-zero `siginfo_t` is valid, and `waitid` fills it in.
    let pid_there = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let id = libc::id_t::try_from(pid).unwrap();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        let done = libc::waitid(libc::P_PID, id, &mut info, options);
        (done, info.si_pid())
    };
    pid_there == (0, pid)
}
