//! What a service manager and probes are told, over real sockets, and the units for systemd.

use crate::support::server::{RunningServer, Server, gosling};
use crate::support::{temp_dir, until};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The socket of a service manager.
pub struct Manager(UnixDatagram);

impl Manager {
    pub fn at(socket: UnixDatagram) -> Self {
        socket
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        Manager(socket)
    }

    /// The next message. A process that was stopped or frozen goes on with `Interrupted`, not with what it waited for.
    #[track_caller]
    pub fn heard(&self) -> String {
        let mut buffer = [0; 4096];
        let length = loop {
            match self.0.recv(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                length => break length.expect("a message in time"),
            }
        };
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    /// Waits for a message with this line.
    #[track_caller]
    pub fn hears(&self, line: &str) -> String {
        for _ in 0..1000 {
            let heard = self.heard();
            if heard.lines().any(|it| it == line) {
                return heard;
            }
        }
        panic!("{line} was not heard");
    }
}

#[test]
fn a_manager_hears_that_the_server_is_ready_lives_and_stops() {
    let folder = temp_dir();
    let path = folder.path().join("notify");
    let manager = Manager::at(UnixDatagram::bind(&path).unwrap());
    let server = Server::new()
        .env("NOTIFY_SOCKET", path.to_str().unwrap())
        .env("WATCHDOG_USEC", "100000")
        .start();
    // The first message of all.
    let ready = manager.heard();
    assert!(ready.starts_with("READY=1\n"), "{ready}");
    assert!(
        ready.contains(&format!("MAINPID={}\n", server.pid())),
        "{ready}"
    );
    let session = server.session([]);
    let alive = until("the watchdog knows of the session", || {
        Some(manager.hears("WATCHDOG=1")).filter(|it| it.contains("STATUS=1 session"))
    });
    assert_eq!(alive.lines().count(), 2, "{alive}");
    session.stop();
    assert!(server.terminate().success());
    manager.hears("STOPPING=1");
}

#[test]
fn a_watchdog_of_another_process_is_not_fed() {
    let folder = temp_dir();
    let path = folder.path().join("notify");
    let manager = Manager::at(UnixDatagram::bind(&path).unwrap());
    let server = Server::new()
        .env("NOTIFY_SOCKET", path.to_str().unwrap())
        .env("WATCHDOG_USEC", "1000")
        .env("WATCHDOG_PID", "1")
        .start();
    assert!(manager.heard().starts_with("READY=1\n"));
    assert!(server.terminate().success());
    assert!(manager.heard().starts_with("STOPPING=1\n"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_socket_may_have_a_name_instead_of_a_path() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;

    let name = format!("gosling-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let manager = Manager::at(UnixDatagram::bind_addr(&address).unwrap());
    let server = Server::new()
        .env("NOTIFY_SOCKET", &format!("@{name}"))
        .start();
    manager.hears("READY=1");
    server.is_alive();
}

#[test]
fn a_manager_that_is_not_there_or_does_not_listen_stops_no_server() {
    for socket in ["relative", "@", "/nowhere/at/all"] {
        let server = Server::new().env("NOTIFY_SOCKET", socket).start();
        server.is_alive();
        server.logs("the service manager");
    }
    // Nor does one whose queue is full: nothing is read from it.
    let folder = temp_dir();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    let filler = UnixDatagram::unbound().unwrap();
    filler.set_nonblocking(true).unwrap();
    let full = loop {
        if let Err(error) = filler.send_to(b"X=1", &path) {
            break error;
        }
    };
    assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
    let server = Server::new()
        .env("NOTIFY_SOCKET", path.to_str().unwrap())
        .env("WATCHDOG_USEC", "20000")
        .start();
    server.is_alive();
    assert!(server.terminate().success());
    drop(manager);
}

/// The status of a probe without a key, and its body.
fn probe(server: &RunningServer, path: &str) -> (u16, String) {
    let answer = server.ask("GET", path, None, None);
    (answer.status, answer.text)
}

#[test]
fn probes_are_told_whether_it_lives_and_takes_work_and_no_more() {
    let server = Server::new().start();
    let ok = (200, r#"{"status":"ok"}"#.to_owned());
    assert_eq!(probe(&server, "/health/live"), ok);
    assert_eq!(probe(&server, "/health/ready"), ok);
    server.ask("GET", "/health", None, None).is(401);
    let health = server.get("/health").is(200).body;
    assert_eq!(health["status"], "ok", "{health}");
    assert_eq!(
        (&health["sessions"], &health["extensions"]),
        (&0.into(), &0.into())
    );

    // The disk cannot be written.
    let sessions = server.root().join("data/sessions");
    let aside = server.root().join("data/aside");
    fs::rename(&sessions, &aside).unwrap();
    fs::write(&sessions, "in the way").unwrap();
    let (_, text) = until("it is not ready", || {
        Some(probe(&server, "/health/ready")).filter(|(status, _)| *status == 503)
    });
    assert_eq!(text, r#"{"message":"The server is not ready"}"#);
    assert_eq!(probe(&server, "/health/live"), ok);
    let health = server.get("/health").is(200).body;
    assert_eq!(health["status"], "degraded");
    let fault = health["faults"][0].as_str().unwrap();
    assert!(fault.starts_with("storage: "), "{health}");

    fs::remove_file(&sessions).unwrap();
    fs::rename(&aside, &sessions).unwrap();
    until("it is ready again", || {
        Some(probe(&server, "/health/ready")).filter(|it| *it == ok)
    });
}

#[test]
fn the_unit_runs_this_program_and_exposes_little() {
    let printed = gosling().args(["service", "systemd"]).output().unwrap();
    assert!(printed.status.success(), "{printed:?}");
    let unit = String::from_utf8(printed.stdout).unwrap();
    let program = gosling().get_program().to_owned();
    let program = fs::canonicalize(program).unwrap();
    assert!(unit.contains(&format!("\nExecStart={} agent ", program.display())));
    for wrong in [
        &["service"][..],
        &["service", "x"],
        &["service", "systemd", "x"],
        &["service", "--socket"],
    ] {
        let output = gosling().args(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }

    let folder = temp_dir();
    let path = folder.path().join("gosling.service");
    fs::write(&path, &unit).unwrap();
    let security = ["security", "--offline=true", "--threshold=15"];
    if let Some(text) = analyze(&security, &path) {
        assert!(text.contains("Overall exposure level"), "{text}");
    }
    assert!(unit.contains("\nType=notify-reload\n"), "{unit}");
}

/// What systemd-analyze says of a unit; `None`, with the reason printed, without it.
#[track_caller]
fn analyze(arguments: &[&str], unit: &Path) -> Option<String> {
    let mut analyze = Command::new("systemd-analyze");
    match analyze.args(arguments).arg(unit).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            eprintln!("skipped: systemd-analyze is not installed");
            None
        }
        output => {
            let output = output.unwrap();
            assert!(output.status.success(), "{output:?}");
            let both = [output.stdout, output.stderr].concat();
            Some(String::from_utf8(both).unwrap())
        }
    }
}

#[test]
fn the_units_are_what_systemd_understands() {
    let folder = temp_dir();
    let mut paths = Vec::new();
    for (name, arguments) in [
        ("gosling.service", &["service", "systemd"][..]),
        ("gosling.socket", &["service", "systemd", "--socket"]),
    ] {
        let printed = gosling().args(arguments).output().unwrap();
        assert!(printed.status.success(), "{printed:?}");
        let path = folder.path().join(name);
        fs::write(&path, printed.stdout).unwrap();
        paths.push(path);
    }
    let verify = ["verify", "--man=no", paths[1].to_str().unwrap()];
    if let Some(text) = analyze(&verify, &paths[0]) {
        // Older ones do not know the type yet.
        let ours = |line: &&str| line.contains("gosling.") && !line.contains("notify-reload");
        assert_eq!(text.lines().find(ours), None, "{text}");
    }
}
