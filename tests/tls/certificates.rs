//! The certificate that the server has: its own, or that of files.

use crate::client::{client, connect, fingerprint_of, pinned};
use crate::support::server::{RunningServer, Server, gosling};
use crate::support::system::{has_mode, set_mode};
use crate::support::{TempDir, temp_dir, until};
use gosling::tls::Credentials;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const PREFIX: &str = "GOOSED_CERT_FINGERPRINT=";

fn authority_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/support/tls")
        .join(name)
}

fn own_file(root: &Path) -> PathBuf {
    root.join("state/tls/self-signed.pem")
}

fn serves(address: SocketAddr, fingerprint: &str) {
    let mut client = client(address, pinned(fingerprint));
    client.send("GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(client.reply().status, 200);
}

/// `gosling agent` with these variables, whose stdout is read.
fn agent(root: &TempDir, arguments: &[&str], variables: &[(&str, &Path)]) -> Command {
    let mut command = gosling();
    command
        .args(["agent", "--port", "0"])
        .args(arguments)
        .env("GOOSE_PATH_ROOT", root.path())
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Ends when it is dropped.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first line on stdout, which is there before the server listens, and the address.
fn fingerprint_and_address(command: &mut Command) -> (String, SocketAddr, Ends) {
    let mut server = Ends(command.spawn().unwrap());
    let mut line = String::new();
    let mut stdout = BufReader::new(server.0.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let fingerprint = line
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix('\n'));
    let fingerprint = fingerprint.unwrap_or_else(|| panic!("{line:?}")).to_owned();
    let mut stderr = BufReader::new(server.0.stderr.take().unwrap());
    let address = loop {
        let mut line = String::new();
        assert!(
            stderr.read_line(&mut line).unwrap() > 0,
            "it does not listen"
        );
        if let Some((_, address)) = line.split_once(" listens on https://") {
            break address.trim().parse().unwrap();
        }
    };
    // What it writes later is not waited for.
    thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
    (fingerprint, address, server)
}

/// What a server says that does not start.
#[track_caller]
fn refusal(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success());
    assert!(output.stdout.is_empty(), "{:?}", output.stdout);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        !text.contains("BEGIN") && !text.contains("listens"),
        "{text}"
    );
    text
}

fn with_tls() -> RunningServer {
    Server::new().start_as(&["agent", "--port", "0", "--tls"])
}

#[test]
fn its_fingerprint_is_printed_before_the_server_listens() {
    let root = temp_dir();
    let (printed, address, _server) = fingerprint_and_address(&mut agent(&root, &["--tls"], &[]));
    assert_eq!(printed.len(), 32 * 3 - 1);
    assert!(
        printed
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'A'..=b'F').contains(&b) || b == b':')
    );
    assert_eq!(printed, fingerprint_of(&own_file(root.path())));
    serves(address, &printed);
    let other = printed.replace(|c: char| c.is_ascii_digit(), "E");
    assert!(connect(address, pinned(&other)).is_err());
}

#[test]
fn the_variable_enables_it_too() {
    let root = temp_dir();
    for value in ["true", "1"] {
        let variables = [("GOOSE_TLS", Path::new(value))];
        let (printed, address, _server) =
            fingerprint_and_address(&mut agent(&root, &[], &variables));
        serves(address, &printed);
    }
    let said = refusal(&mut agent(&root, &[], &[("GOOSE_TLS", Path::new("maybe"))]));
    assert!(
        said.contains("GOOSE_TLS") && said.contains("true nor false"),
        "{said}"
    );
}

#[test]
fn without_it_nothing_is_printed_or_stored() {
    for value in ["", "false", "0"] {
        let server = Server::new().env("GOOSE_TLS", value).start();
        server.is_alive();
        assert!(!server.root().join("state/tls").exists());
    }
}

#[test]
fn it_is_private_and_survives_a_restart() {
    let server = with_tls();
    let file = own_file(server.root());
    assert!(has_mode(&file, 0o600));
    assert!(has_mode(file.parent().unwrap(), 0o700));
    let fingerprint = fingerprint_of(&file);
    serves(server.address(), &fingerprint);
    server.kill();
    set_mode(&file, 0o644);
    let text = fs::read_to_string(&file).unwrap();
    let again = Credentials::self_signed(file.parent().unwrap()).unwrap();
    assert_eq!(again.fingerprint(), fingerprint);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    assert!(has_mode(&file, 0o600));
}

#[test]
fn servers_that_start_at_once_agree() {
    let folder = temp_dir();
    let path = folder.path().join("tls");
    let found: Vec<String> = thread::scope(|scope| {
        let start = || scope.spawn(|| Credentials::self_signed(&path).unwrap().fingerprint());
        let threads: Vec<_> = (0..8).map(|_| start()).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
}

#[test]
fn one_that_is_damaged_or_not_valid_is_replaced() {
    let folder = temp_dir();
    let path = folder.path().join("self-signed.pem");
    let mut before = Credentials::self_signed(folder.path())
        .unwrap()
        .fingerprint();
    let whole = fs::read_to_string(&path).unwrap();
    let certificate = &whole[..whole.find("-----BEGIN PRIVATE KEY").unwrap()];
    // That of the test authority is a century old, that of the other folder has another key.
    let elsewhere = temp_dir();
    Credentials::self_signed(elsewhere.path()).unwrap();
    let other = fs::read_to_string(elsewhere.path().join("self-signed.pem")).unwrap();
    let other_key = &other[other.find("-----BEGIN PRIVATE KEY").unwrap()..];
    for text in [
        "",
        "damaged",
        certificate,
        &format!("{certificate}{other_key}"),
    ] {
        fs::write(&path, text).unwrap();
        let now = Credentials::self_signed(folder.path())
            .unwrap()
            .fingerprint();
        assert_ne!(now, before, "{text}");
        assert_eq!(fingerprint_of(&path), now);
        before = now;
    }
}

#[test]
fn files_do_not_enable_https_where_the_variable_says_no() {
    let [certificate, key] = ["server.pem", "server-key.pem"].map(authority_file);
    let server = Server::new()
        .env("GOOSE_TLS_CERT_PATH", certificate.to_str().unwrap())
        .env("GOOSE_TLS_KEY_PATH", key.to_str().unwrap())
        .env("GOOSE_TLS", "false")
        .start();
    server.get("/sessions").is(200);
}

#[test]
fn files_are_used_and_read_again_when_they_change() {
    let folder = temp_dir();
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| folder.path().join(name));
    fs::copy(authority_file("server.pem"), &certificate).unwrap();
    fs::copy(authority_file("server-key.pem"), &key).unwrap();
    let server = Server::new()
        .env("GOOSE_TLS_CERT_PATH", certificate.to_str().unwrap())
        .env("GOOSE_TLS_KEY_PATH", key.to_str().unwrap())
        .start();
    let first = fingerprint_of(&certificate);
    serves(server.address(), &first);
    assert!(!server.root().join("state/tls").exists());

    // While only one of two files is renewed, the server keeps what it has.
    let renewed = temp_dir();
    Credentials::self_signed(renewed.path()).unwrap();
    let new = renewed.path().join("self-signed.pem");
    fs::copy(&new, &certificate).unwrap();
    thread::sleep(Duration::from_millis(1_200));
    serves(server.address(), &first);
    server.logs("changed certificate not used");

    fs::copy(&new, &key).unwrap();
    let second = fingerprint_of(&certificate);
    assert_ne!(first, second);
    until("the new certificate", || {
        connect(server.address(), pinned(&second)).ok()
    });
    serves(server.address(), &second);
    server.logs(&second);
    server.never_logs("certificate not valid");
}

#[test]
fn files_that_are_no_use_refuse_the_start() {
    let root = temp_dir();
    let certificate = authority_file("server.pem");
    let key = authority_file("server-key.pem");
    let authority = authority_file("ca.pem");
    let text = root.path().join("text.pem");
    fs::write(&text, "hello").unwrap();
    let broken = root.path().join("broken.pem");
    fs::write(
        &broken,
        "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----\n",
    )
    .unwrap();
    let empty = root.path().join("empty.pem");
    fs::write(
        &empty,
        "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
    )
    .unwrap();
    let nowhere = root.path().join("nowhere.pem");
    for (certificate, key, named, why) in [
        (&nowhere, &key, &nowhere, "does not exist"),
        (&certificate, &nowhere, &nowhere, "does not exist"),
        (&text, &key, &text, "holds no certificate"),
        (&broken, &key, &broken, "not in PEM format"),
        (&empty, &key, &empty, "certificate that cannot be read"),
        (
            &certificate,
            &certificate,
            &certificate,
            "holds no private key",
        ),
        (&authority, &key, &key, "not the key of the certificate in"),
    ] {
        let variables = [
            ("GOOSE_TLS_CERT_PATH", certificate.as_path()),
            ("GOOSE_TLS_KEY_PATH", key.as_path()),
        ];
        let said = refusal(&mut agent(&root, &[], &variables));
        assert!(
            said.contains(named.to_str().unwrap()) && said.contains(why),
            "{said}"
        );
    }
    for name in ["GOOSE_TLS_CERT_PATH", "GOOSE_TLS_KEY_PATH"] {
        let said = refusal(&mut agent(&root, &["--tls"], &[(name, &certificate)]));
        assert!(
            said.contains(&format!("{name} is set")) && said.contains("set both"),
            "{said}"
        );
    }
}

#[test]
#[cfg(feature = "service")]
#[cfg(unix)] // Messages to systemd.
fn files_that_are_no_use_when_they_are_read_again_leave_the_old_ones() {
    use std::os::unix::net::UnixDatagram;

    let folder = temp_dir();
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| folder.path().join(name));
    fs::copy(authority_file("server.pem"), &certificate).unwrap();
    fs::copy(authority_file("server-key.pem"), &key).unwrap();
    let notify = folder.path().join("notify");
    let manager = UnixDatagram::bind(&notify).unwrap();
    let server = Server::new()
        .env("GOOSE_TLS_CERT_PATH", certificate.to_str().unwrap())
        .env("GOOSE_TLS_KEY_PATH", key.to_str().unwrap())
        .env("NOTIFY_SOCKET", notify.to_str().unwrap())
        .start();
    let first = fingerprint_of(&certificate);
    let mut open = client(server.address(), pinned(&first));
    fs::write(&certificate, "rubbish").unwrap();
    server.signal("HUP");
    server.logs("ERROR RELOAD FAILED certificate: refused, the earlier one is used:");
    serves(server.address(), &first);

    let renewed = temp_dir();
    Credentials::self_signed(renewed.path()).unwrap();
    let new = renewed.path().join("self-signed.pem");
    fs::copy(&new, &certificate).unwrap();
    fs::copy(&new, &key).unwrap();
    server.signal("HUP");
    server.logs(&fingerprint_of(&new));
    serves(server.address(), &fingerprint_of(&new));
    // A connection that was open before goes on with the certificate that it began with.
    open.send("GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(open.reply().status, 200);
    drop(manager);
}
