//! Without `/proc`, marks cannot be searched for, and only process groups are ended, also if gosling is killed.
#![cfg(feature = "developer")]
#![cfg(target_os = "linux")]

mod support;

use serde_json::json;
use std::process::Command;
use support::process::{running, unique_sleep};
use support::server::{Extension, RunningServer, Server};
use support::until;

/// The children of a process, also zombies.
fn children(of: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{of}/task"))
        .unwrap()
        .flatten();
    let lists =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split(' ').map(str::to_owned).collect::<Vec<_>>())
        .filter(|pid| !pid.is_empty())
        .collect()
}

/// A server that sees nothing in this folder; `None`, with the reason printed, where that cannot be set up.
fn without(folder: &str) -> Option<RunningServer> {
    let hide = format!("mount -t tmpfs none {folder}");
    let hidden = Command::new("unshare")
        .args(["-mr", "sh", "-c", &hide])
        .output();
    if !hidden.as_ref().is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: {folder} cannot be hidden here: {hidden:?}");
        return None;
    }
    let line = format!("{hide} && exec \"$0\" \"$@\"");
    Some(
        Server::new()
            .through("unshare", &["-mr", "sh", "-c", &line])
            .start(),
    )
}

#[test]
fn without_proc_background_jobs_go_with_their_session() {
    let Some(server) = without("/proc") else {
        return;
    };
    let session = server.session([Extension::builtin("developer")]);
    let (deaf, asked) = (unique_sleep(), unique_sleep());
    let jobs = format!("(trap '' TERM HUP; exec sleep {deaf}) & sleep {asked} > /dev/null 2>&1 &");
    session
        .call("developer__shell", json!({"command": jobs}))
        .is(200);
    running(&deaf, 1);
    running(&asked, 1);
    server.logs("/proc cannot be used");
    session.stop();
    for nap in [deaf, asked] {
        running(&nap, 0);
    }
    // Exited children are reaped by now, or soon.
    until("it has no children", || {
        children(server.pid()).is_empty().then_some(())
    });
    assert_eq!(server.log().matches("/proc cannot be used").count(), 1);
}

#[test]
fn the_guardian_needs_neither_proc_nor_devices() {
    for folder in ["/proc", "/dev"] {
        let Some(server) = without(folder) else {
            return;
        };
        let session = server.session([Extension::builtin("developer")]);
        let nap = unique_sleep();
        // A child of the shell, which the system does not end with gosling.
        let command = format!("sleep {nap}; true");
        let _answer = session.begin_call("developer__shell", json!({"command": command}));
        running(&nap, 1);
        server.never_logs("no guardian");
        server.kill();
        running(&nap, 0);
    }
}
