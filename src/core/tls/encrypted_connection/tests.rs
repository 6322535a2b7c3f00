use super::*;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// A session with its socket, as a stream of the server has them.
struct Served {
    socket: TcpStream,
    session: Session,
}

impl Served {
    fn hung_up(&self) -> bool {
        self.session.hung_up(&self.socket)
    }
}

impl Read for &Served {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.session.read(&self.socket, buffer)
    }
}

impl Write for &Served {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.session.write(&self.socket, &[IoSlice::new(bytes)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.session.flush(&self.socket)
    }
}

/// A session of the server and its client, after the handshake.
fn pair(name: &str) -> (Arc<Served>, StreamOwned<ClientConnection, TcpStream>) {
    let folder =
        std::env::temp_dir().join(format!("gosling-session-{}-{name}", std::process::id()));
    let credentials = Credentials::self_signed(&folder).unwrap();
    let certificate = CertificateDer::from_pem_file(folder.join("self-signed.pem")).unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let client = thread::spawn(move || {
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut client = StreamOwned::new(connection, socket);
        client.conn.complete_io(&mut client.sock).unwrap();
        client
    });
    let socket = listener.accept().unwrap().0;
    let deadline = Instant::now() + TEST_TIMEOUT;
    let session = Session::accept(&credentials, &socket, deadline, 64 << 10).expect("a handshake");
    socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    socket.set_write_timeout(Some(TEST_TIMEOUT)).unwrap();
    let served = Served { socket, session };
    (Arc::new(served), client.join().unwrap())
}

#[test]
fn a_write_that_waits_delays_neither_reads_nor_the_shutdown() {
    let (stream, mut client) = pair("stuck");
    let writing = Arc::clone(&stream);
    // More than the buffers of any socket; the client reads none of it.
    let writer = thread::spawn(move || (&*writing).write_all(&vec![b'x'; 64 << 20]).is_err());
    // It holds this lock while it waits.
    let outgoing = &stream.session.outgoing;
    let is_stuck = || {
        (0..20).all(|_| {
            thread::sleep(Duration::from_millis(10));
            outgoing.try_lock().is_err()
        })
    };
    while !is_stuck() {}
    let mut received = [0; 5];
    for _ in 0..3 {
        client.conn.writer().write_all(b"hello").unwrap();
        client.conn.write_tls(&mut client.sock).unwrap();
        (&*stream).read_exact(&mut received).unwrap();
        assert_eq!(received, *b"hello");
    }
    assert!(!stream.hung_up());
    stream.socket.shutdown(Shutdown::Both).unwrap();
    assert!(writer.join().unwrap());
}

#[test]
fn a_read_that_waits_delays_no_write() {
    let (stream, mut client) = pair("waiting");
    let reading = Arc::clone(&stream);
    let reader = thread::spawn(move || {
        let mut received = [0; 5];
        (&*reading).read_exact(&mut received).unwrap();
        received
    });
    thread::sleep(Duration::from_millis(50));
    let mut received = [0; 100_000];
    for _ in 0..10 {
        (&*stream).write_all(&[b'x'; 100_000]).unwrap();
        (&*stream).flush().unwrap();
        client.read_exact(&mut received).unwrap();
        assert!(!stream.hung_up());
    }
    client.write_all(b"hello").unwrap();
    client.flush().unwrap();
    assert_eq!(reader.join().unwrap(), *b"hello");
}

#[test]
fn both_directions_at_once_lose_nothing() {
    const BYTES: usize = 4 << 20;
    let (stream, mut client) = pair("both");
    let echoing = Arc::clone(&stream);
    let stopped = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&stopped);
    // The check for the client's end decrypts input, too.
    let prober = thread::spawn(move || {
        while !stop.load(Ordering::SeqCst) {
            let _ = echoing.hung_up();
        }
    });
    let (reading, writing) = (Arc::clone(&stream), Arc::clone(&stream));
    let writer = thread::spawn(move || {
        let bytes: Vec<u8> = (0..BYTES).map(|n| (n % 251) as u8).collect();
        for piece in bytes.chunks(70_001) {
            (&*writing).write_all(piece).unwrap();
        }
        (&*writing).flush().unwrap();
    });
    let reader = thread::spawn(move || {
        let mut bytes = vec![0; BYTES];
        (&*reading).read_exact(&mut bytes).unwrap();
        bytes
    });
    let mut received = vec![0; BYTES];
    let pieces: Vec<u8> = (0..BYTES).map(|n| (n % 241) as u8).collect();
    for (to_send, to_read) in pieces.chunks(10_007).zip(received.chunks_mut(10_007)) {
        client.write_all(to_send).unwrap();
        client.flush().unwrap();
        client.read_exact(to_read).unwrap();
    }
    assert!(reader.join().unwrap() == pieces);
    writer.join().unwrap();
    assert!(
        received
            .iter()
            .enumerate()
            .all(|(n, byte)| *byte == (n % 251) as u8)
    );
    stopped.store(true, Ordering::SeqCst);
    prober.join().unwrap();
}

#[test]
fn the_end_is_found_behind_unread_input() {
    let (stream, mut client) = pair("end");
    client.write_all(&[b'x'; 10_000]).unwrap();
    client.flush().unwrap();
    assert!(!stream.hung_up());
    client.conn.send_close_notify();
    client.flush().unwrap();
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !stream.hung_up() {
        assert!(Instant::now() < deadline);
    }
    let mut received = Vec::new();
    (&*stream).read_to_end(&mut received).unwrap();
    assert_eq!(received, [b'x'; 10_000]);
    stream
        .session
        .close(&stream.socket, Shutdown::Both)
        .unwrap();
    // The notice of the server.
    assert_eq!(client.read(&mut [0; 10]).unwrap(), 0);
}

#[test]
fn input_that_no_one_reads_is_bounded() {
    let (stream, mut client) = pair("flood");
    // Less than the buffers of the sockets, more than the session may hold.
    for _ in 0..60 {
        client.write_all(&[b'x'; 16_000]).unwrap();
        client.flush().unwrap();
        assert!(!stream.hung_up());
    }
    let tls = &stream.session;
    let held = lock(&tls.connection).process_new_packets().unwrap();
    let held = held.plaintext_bytes_to_read() + lock(&tls.incoming).len();
    assert!((1..64 << 10).contains(&held), "{held}");
}
