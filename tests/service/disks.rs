//! A root that is read-only, as in a container, and a disk that is full.
#![cfg(target_os = "linux")]

use crate::support::server::{Extension, RunningServer, Server, gosling};
use crate::support::{temp_dir, until};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// The options of `unshare` for mounts of its own, and a line that mounts and then runs the program; `None`, with the
/// reason printed, where that cannot be done.
pub(crate) fn mounting(mounts: &str) -> Option<[String; 4]> {
    // Root needs no other user namespace, in which mounts are restricted.
    // SAFETY: a system call without arguments.
    let options = if unsafe { libc::geteuid() } == 0 {
        "-m"
    } else {
        "-mr"
    };
    let line = format!("{mounts} && exec \"$0\" \"$@\"");
    let arguments = [options, "sh", "-c", &line].map(str::to_owned);
    let tried = Command::new("unshare")
        .args(&arguments)
        .arg("true")
        .output();
    if !tried.as_ref().is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: nothing can be mounted here: {tried:?}");
        return None;
    }
    Some(arguments)
}

fn through(server: Server, arguments: &[String; 4]) -> Server {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    server.through("unshare", &arguments)
}

fn script(texts: &[&str]) -> Value {
    let steps: Vec<_> = texts
        .iter()
        .map(|text| json!({"steps": [{"text": text}]}))
        .collect();
    json!({"turns": steps})
}

#[test]
fn with_a_root_that_is_read_only_it_needs_its_folder_alone() {
    let server = Server::scripted(script(&["hello"]));
    let root = server.root().display().to_string();
    let mounts = format!("mount --bind {root} {root} && mount -o remount,ro,bind /");
    let Some(arguments) = mounting(&mounts) else {
        return;
    };
    let server = through(server, &arguments).env("TMPDIR", &root).start();
    let touch = "touch /gosling-was-here; exit 1";
    let failed = server.refuses(Extension::stdio("x", "sh", &["-c", touch]));
    assert!(failed.contains("Read-only file system"), "{failed}");
    let session = server.session([Extension::demo()]);
    session.say("go").says("hello").finishes();
    let ready = server.ask("GET", "/health/ready", None, None);
    assert_eq!(ready.status, 200, "{}", ready.text);
    server.get("/health").is(200).says("\"faults\":[]");
    session.stop();
    assert!(server.terminate().success());

    // Without a folder that can be written it does not start, and says what to do.
    let folder = temp_dir();
    let Some(arguments) = mounting("mount -o remount,ro,bind /") else {
        return;
    };
    let mut command = Command::new("unshare");
    command.args(arguments).arg(gosling().get_program());
    command
        .args(["agent", "--port", "0"])
        .env("GOOSE_PATH_ROOT", folder.path().join("new"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("GOOSE_PATH_ROOT sets another folder") && said.contains("Read-only"),
        "{said}"
    );
}

/// Fills the data folder of a server to the last byte, through its own view of the files.
fn fill(server: &RunningServer) -> std::path::PathBuf {
    let seen = format!(
        "/proc/{}/root{}/data/filler",
        server.pid(),
        server.root().display()
    );
    let mut file = fs::File::create(&seen).unwrap();
    for size in [1 << 16, 1 << 10, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    seen.into()
}

#[test]
fn on_a_full_disk_it_is_not_ready_and_goes_on_when_there_is_room() {
    let server = Server::scripted(script(&["first", "lost", "after"]));
    let data = server.root().join("data");
    fs::create_dir(&data).unwrap();
    let mounts = format!("mount -t tmpfs -o size=4m none {}", data.display());
    let Some(arguments) = mounting(&mounts) else {
        return;
    };
    let server = through(server, &arguments).start();
    let session = server.session([]);
    session.say("go").says("first").finishes();
    let probe = |path: &str| server.ask("GET", path, None, None).status;
    assert_eq!((probe("/health/live"), probe("/health/ready")), (200, 200));

    let filler = fill(&server);
    until("it is not ready", || {
        (probe("/health/ready") == 503).then_some(())
    });
    assert_eq!(probe("/health/live"), 200);
    let health = server.get("/health").is(200).body;
    assert_eq!(health["status"], "degraded", "{health}");
    let fault = health["faults"][0].as_str().unwrap();
    assert!(
        fault.starts_with("storage: ") && fault.contains("No space left on device"),
        "{fault}"
    );
    // What cannot be stored fails, and says why; what is stored can be read.
    session.say("go").fails("No space left on device");
    server
        .get(&format!("/sessions/{}", session.id))
        .is(200)
        .says("first");

    fs::remove_file(filler).unwrap();
    until("it is ready again", || {
        (probe("/health/ready") == 200).then_some(())
    });
    session.say("go").finishes();
    assert!(server.terminate().success());
}
