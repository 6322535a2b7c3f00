//! What a service manager and probes are told, over real sockets, and the unit for systemd.
#![cfg(feature = "service")]

mod support;

use std::fs;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;
use support::server::{RunningServer, Server, gosling};
use support::{temp_dir, until};

/// The socket of a service manager.
struct Manager(UnixDatagram);

impl Manager {
    fn at(socket: UnixDatagram) -> Self {
        socket
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        Manager(socket)
    }

    /// The next message.
    #[track_caller]
    fn heard(&self) -> String {
        let mut buffer = [0; 4096];
        let length = self.0.recv(&mut buffer).expect("a message in time");
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    /// Waits for a message with this line.
    #[track_caller]
    fn hears(&self, line: &str) -> String {
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
    ] {
        let output = gosling().args(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }

    let folder = temp_dir();
    let path = folder.path().join("gosling.service");
    fs::write(&path, unit).unwrap();
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["security", "--offline=true", "--threshold=15"]);
    match analyze.arg(&path).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            eprintln!("skipped: systemd-analyze is not installed");
        }
        output => {
            let output = output.unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "more than 1.5: {text}");
            assert!(text.contains("Overall exposure level"), "{text}");
        }
    }
}
