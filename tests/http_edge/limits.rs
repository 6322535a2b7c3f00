//! Sizes, deadlines, the limit on connections, and stopping the server.

use crate::harness::{Client, Edge, TEST_TIMEOUT, echo, edge, edge_with, get, limits};
use gosling::http::Limits;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_body_may_have_its_limit() {
    let edge = edge();
    let body = "x".repeat(1 << 20);
    let mut client = edge.says(echo("Content-Length: 1048576\r\n", &body));
    assert_eq!(client.reply().body.len(), 1 << 20);
    let (half, other) = body.split_at(1 << 19);
    client.send(echo(
        "Transfer-Encoding: chunked\r\n",
        &format!("80000\r\n{half}\r\n80000\r\n{other}\r\n0\r\n\r\n"),
    ));
    assert_eq!(client.reply().body.len(), 1 << 20);
}

#[test]
fn thirty_gigabytes_are_refused_unread_and_take_no_memory() {
    let edge = edge();
    let before = peak_memory();
    for expect in ["", "Expect: 100-continue\r\n"] {
        let fields = format!("Content-Length: 30000000000\r\n{expect}");
        let mut client = edge.says(echo(&fields, ""));
        assert_eq!(client.reply().status, 413);
    }
    // A client that keeps sending still gets the response.
    let mut client = edge.says(echo(
        "Content-Length: 30000000000\r\n",
        &"x".repeat(300_000),
    ));
    assert_eq!(client.reply().status, 413);
    assert!(peak_memory() - before < 200 << 20);
    edge.is_alive();
}

/// The peak memory of this process in bytes; 0 where the system does not report it.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

#[test]
fn a_slow_head_or_body_is_given_up_however_steadily_it_drips() {
    let short = Duration::from_millis(300);
    let edge = edge_with(Limits {
        head_timeout: short,
        body_timeout: short,
        ..limits()
    });
    for start in [
        "GET /status HTTP/1.1\r\nHost: a\r\nX-Slow: ".to_string(),
        echo("Content-Length: 1000000\r\n", ""),
        echo("Transfer-Encoding: chunked\r\n", "fffff\r\n"),
    ] {
        let mut client = edge.says(&start);
        let mut dripping = client.stream.get_ref().try_clone().unwrap();
        let (stop, stopped) = mpsc::channel::<()>();
        let drip = thread::spawn(move || {
            let pause = Duration::from_millis(20);
            while stopped.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = dripping.write_all(b"x");
            }
        });
        let reply = client.reply();
        assert_eq!(reply.status, 408, "{start}");
        assert_eq!(reply.header("connection"), Some("close"));
        drop(stop);
        drip.join().unwrap();
        assert!(client.is_closed());
    }
    // The deadlines start with a request: a connection may be idle for longer.
    let mut client = edge.connect();
    thread::sleep(2 * short);
    client.send(get("/empty"));
    assert_eq!(client.reply().status, 200);
}

#[test]
fn what_has_no_end_is_a_limit_too() {
    let longest = Duration::MAX;
    let edge = edge_with(Limits {
        max_headers: usize::MAX,
        slot_timeout: longest,
        head_timeout: longest,
        idle_timeout: longest,
        body_timeout: longest,
        write_timeout: longest,
        linger_timeout: longest,
        ..limits()
    });
    let mut client = edge.says(echo("Content-Length: 3\r\n", "abc"));
    assert_eq!(client.reply().status, 200);
    drop(client);
    edge.is_alive();
    assert_eq!(edge.server.stop(longest), 0);
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let edge = edge_with(Limits {
        idle_timeout: Duration::from_millis(200),
        ..limits()
    });
    assert!(edge.connect().is_closed());
    let mut client = edge.says(get("/empty"));
    assert_eq!(client.reply().status, 200);
    assert!(client.is_closed());
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    let edge = edge_with(Limits {
        write_timeout: Duration::from_millis(300),
        ..limits()
    });
    let mut client = edge.says(get("/big").repeat(4));
    thread::sleep(Duration::from_millis(900));
    let mut rest = Vec::new();
    let _ = client.stream.read_to_end(&mut rest);
    assert!(rest.len() < 32 << 20, "it was all sent: {}", rest.len());
    edge.is_alive();
}

#[test]
fn at_the_cap_the_connection_idle_longest_makes_room() {
    let mut edge = edge_with(Limits {
        max_connections: 3,
        ..limits()
    });
    let mut oldest = edge.says(get("/empty"));
    oldest.reply();
    let mut older = edge.says(get("/empty"));
    older.reply();
    // The oldest connection has now been idle for the shortest time.
    thread::sleep(Duration::from_millis(20));
    oldest.send(get("/empty"));
    oldest.reply();
    let busy = edge.says(get("/wait"));
    edge.until_waiting(1);

    let mut new = edge.says(get("/empty"));
    assert_eq!(new.reply().status, 200);
    assert!(older.is_closed());
    oldest.send(get("/empty"));
    assert_eq!(oldest.reply().status, 200);

    // With every connection busy, none is closed, and the new client gets 503.
    oldest.send(get("/wait"));
    new.send(get("/wait"));
    edge.until_waiting(3);
    let mut refused = edge.connect();
    let reply = refused.reply();
    assert_eq!(
        (reply.status, reply.header("retry-after")),
        (503, Some("1"))
    );
    assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
    assert!(!reply.message().is_empty());
    assert!(refused.is_closed());

    drop(edge.gate.take());
    for mut client in [busy, oldest, new] {
        assert_eq!(client.reply().text(), "waited");
    }
}

#[test]
fn a_route_without_a_key_takes_no_body() {
    let edge = edge();
    for (path, field) in [
        ("/status", "Content-Length: 50"),
        ("/status", "Transfer-Encoding: chunked"),
        ("/page", "Content-Length: 1\r\nExpect: 100-continue"),
    ] {
        // The body is not sent: the server refuses the request before it reads the body.
        let mut client = edge.says(format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n"
        ));
        let reply = client.reply();
        assert_eq!(
            (reply.status, reply.header("connection")),
            (413, Some("close"))
        );
        assert!(client.is_closed());
    }
    let mut client = edge.says("GET /status HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(client.reply().text(), "ok");
}

#[test]
fn connections_without_a_key_never_keep_out_those_with_one() {
    let edge = edge_with(Limits {
        max_connections: 6,
        ..limits()
    });
    let mut keyed = edge.says(get("/empty"));
    assert_eq!(keyed.reply().status, 200);
    // Idle, in the middle of a head, refused with much to discard, and not reading its responses.
    let hoard = |edge: &Edge| {
        let deaf = "GET /status HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20_000);
        let unread = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\n";
        let slow = "GET /status HTTP/1.1\r\nHost: a\r\nX-Slow: ";
        ["", slow, slow, unread, &deaf].map(|said| {
            let mut client = edge.connect();
            client.stream.get_ref().set_nonblocking(true).unwrap();
            client.send(said);
            client
        })
    };
    for _ in 0..5 {
        let _hoard = hoard(&edge);
        // The new connections, and the one that is idle between its requests.
        let mut new = edge.says(get("/empty"));
        assert_eq!(new.reply().status, 200);
        keyed.send(get("/empty"));
        assert_eq!(keyed.reply().status, 200);
    }
}

#[test]
fn at_the_cap_the_connection_longest_without_a_key_goes_first() {
    let edge = edge_with(Limits {
        max_connections: 4,
        ..limits()
    });
    let mut keyed = edge.says(get("/empty"));
    keyed.reply();
    // It was served in the meantime, but has been without a key for longest.
    let mut first = edge.connect();
    let mut second = edge.says("GET /sta");
    let mut third = edge.says("GET /status HTTP/1.1\r\nHost: a\r\n\r\n");
    third.reply();
    first.send("GET /status HTTP/1.1\r\nHost: a\r\n\r\n");
    first.reply();
    let mut fourth = edge.says(get("/empty"));
    assert_eq!(fourth.reply().status, 200);
    assert!(first.is_closed());
    let mut fifth = edge.says(get("/empty"));
    assert_eq!(fifth.reply().status, 200);
    assert!(second.is_closed());
    for client in [&mut third, &mut keyed, &mut fourth, &mut fifth] {
        client.send(get("/empty"));
        assert_eq!(client.reply().status, 200);
    }
}

#[test]
fn at_the_cap_who_has_just_come_has_time_to_show_the_key() {
    let edge = edge_with(Limits {
        max_connections: 3,
        slot_timeout: TEST_TIMEOUT,
        ..limits()
    });
    // More connections than the limit, all opened before any sends a request.
    let mut clients: Vec<Client> = (0..5).map(|_| edge.connect()).collect();
    thread::sleep(Duration::from_millis(100));
    for client in &mut clients {
        client.send(get("/empty"));
        assert_eq!(client.reply().status, 200);
    }
}

#[test]
fn at_the_cap_a_new_connection_waits_for_a_slot() {
    let mut edge = edge_with(Limits {
        max_connections: 2,
        slot_timeout: TEST_TIMEOUT,
        ..limits()
    });
    let busy = [edge.says(get("/wait")), edge.says(get("/wait"))];
    edge.until_waiting(2);
    let mut new = edge.says(get("/empty"));
    let stream = new.stream.get_ref();
    stream
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    assert!(new.try_reply(true).is_none(), "it was not asked to wait");
    new.stream
        .get_ref()
        .set_read_timeout(Some(TEST_TIMEOUT))
        .unwrap();
    drop(edge.gate.take());
    assert_eq!(new.reply().status, 200);
    for mut client in busy {
        assert_eq!(client.reply().text(), "waited");
    }
}

/// Connections that are reset in the middle of a request, as by a port scanner.
#[cfg(unix)]
#[test]
fn a_burst_of_resets_provokes_no_refusal() {
    use std::os::fd::AsRawFd;

    let edge = edge_with(Limits {
        max_connections: 16,
        ..limits()
    });
    let reset = |client: Client| {
        let linger = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        let size = libc::socklen_t::try_from(size_of::<libc::linger>()).unwrap();
        let socket = client.stream.get_ref().as_raw_fd();
        // SAFETY: the socket is open, and `linger` is as large as the call is told.
        let set = unsafe {
            libc::setsockopt(
                socket,
                libc::SOL_SOCKET,
                libc::SO_LINGER,
                (&raw const linger).cast(),
                size,
            )
        };
        assert_eq!(set, 0);
    };
    for _ in 0..30 {
        let burst: Vec<Client> = (0..100)
            .map(|_| edge.says("GET /status HTTP/1.1\r\n"))
            .collect();
        burst.into_iter().for_each(reset);
        let mut client = edge.says(get("/empty"));
        assert_eq!(client.reply().status, 200);
    }
}

#[test]
fn many_connections_that_come_and_go_leave_nothing() {
    let edge = edge();
    for _ in 0..20 {
        let clients: Vec<Client> = (0..50).map(|_| edge.connect()).collect();
        drop(clients);
    }
    edge.is_alive();
    assert_eq!(edge.server.stop(TEST_TIMEOUT), 0);
}

#[test]
fn stop_closes_the_idle_at_once_and_lets_the_busy_answer() {
    let mut edge = edge();
    let address = edge.server.local_addr();
    let mut fresh = edge.connect();
    let mut idle = edge.says(get("/empty"));
    idle.reply();
    let mut slow = edge.says("GET /emp");
    let mut busy = edge.says(get("/wait") + &get("/empty"));
    edge.until_waiting(1);

    let gate = edge.gate.take();
    thread::scope(|scope| {
        let stopping = scope.spawn(|| edge.server.stop(TEST_TIMEOUT));
        for client in [&mut fresh, &mut idle, &mut slow] {
            assert!(client.is_closed());
        }
        assert!(!stopping.is_finished());
        assert!(TcpStream::connect(address).is_err());
        drop(gate);
        let reply = busy.reply();
        assert_eq!(reply.text(), "waited");
        assert_eq!(reply.header("connection"), Some("close"));
        assert!(busy.is_closed());
        assert_eq!(stopping.join().unwrap(), 0);
    });
    assert_eq!(edge.server.stop(TEST_TIMEOUT), 0);
}

#[test]
#[cfg(feature = "demo")]
fn a_child_keeps_no_connection_open() {
    let edge = edge();
    let mut client = edge.says(get("/empty"));
    client.reply();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_gosling"));
    let piped = std::process::Stdio::piped;
    let child = child.args(["mcp", "demo"]).stdin(piped()).stdout(piped());
    let mut child = child.spawn().unwrap();
    assert_eq!(edge.server.stop(TEST_TIMEOUT), 0);
    let begun = Instant::now();
    while client.stream.get_mut().write_all(b"x").is_ok() {
        assert!(begun.elapsed() < TEST_TIMEOUT / 2);
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn stop_does_not_wait_longer_than_it_was_told() {
    let mut edge = edge();
    let mut busy = edge.says(get("/wait"));
    edge.until_waiting(1);
    let begun = Instant::now();
    assert_eq!(edge.server.stop(Duration::from_millis(50)), 1);
    assert!(begun.elapsed() < TEST_TIMEOUT / 2);
    assert!(busy.is_closed());
    drop(edge.gate.take());
}

/// The server of the next test, in a process with few descriptors.
#[test]
#[ignore = "only for out_of_descriptors_the_server_goes_on_accepting"]
fn serve_until_stdin_ends() {
    log::set_logger(&ToStderr).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    // More than there are descriptors, as where others have taken them.
    let edge = edge_with(Limits {
        max_connections: 512,
        ..limits()
    });
    println!("\nlistening on {}", edge.server.local_addr());
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    assert_eq!(edge.server.stop(TEST_TIMEOUT), 0);
    println!("\nstopped");
}

/// Writes the server's log to stderr for the parent process.
struct ToStderr;

impl log::Log for ToStderr {
    fn enabled(&self, _: &log::Metadata) -> bool {
        true
    }

    fn log(&self, record: &log::Record) {
        eprintln!("{}", record.args());
    }

    fn flush(&self) {}
}

#[cfg(unix)]
#[test]
fn out_of_descriptors_the_server_goes_on_accepting() {
    use std::io::{BufRead, BufReader};
    use std::net::SocketAddr;
    use std::process::{Command, Stdio};

    let mut child = Command::new("sh")
        .args(["-c", "ulimit -n 40 && exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([
            "limits::serve_until_stdin_ends",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address: SocketAddr = lines
        .find_map(|line| {
            Some(
                line.unwrap()
                    .strip_prefix("listening on ")?
                    .parse()
                    .unwrap(),
            )
        })
        .unwrap();

    let hoard: Vec<Client> = (0..100).map(|_| Client::to(address)).collect();
    // Idle connections are still evicted for new clients.
    let mut client = Client::to(address);
    client.send("GET /status HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.reply().status, 200);
    drop(hoard);
    for _ in 0..10 {
        let mut client = Client::to(address);
        client.send("GET /status HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.reply().status, 200);
    }

    drop(child.stdin.take());
    assert!(lines.any(|line| line.unwrap() == "stopped"));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let log = String::from_utf8_lossy(&output.stderr);
    assert_eq!(log.matches("connection not taken").count(), 1, "{log}");
}
