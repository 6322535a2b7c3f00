//! Relays in front of a scripted HTTP server: TLS with a certificate of a test authority (`tls/make.sh`), and
//! a proxy. Also one in front of a server with TLS, for a client without.

use super::http_peer::TEST_TIMEOUT;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const CERTIFICATE: &[u8] = include_bytes!("tls/server.pem");
const KEY: &[u8] = include_bytes!("tls/server-key.pem");
/// How long one side is read before the other.
const READ_TIMEOUT: Duration = Duration::from_millis(5);

/// The file with the authority's certificate.
pub fn authority() -> String {
    format!("{}/tests/support/tls/ca.pem", env!("CARGO_MANIFEST_DIR"))
}

/// A listener that forwards connections.
pub struct Relay {
    pub address: SocketAddr,
    /// The request heads that a proxy received.
    pub heads: Arc<Mutex<Vec<String>>>,
    stopped: Arc<AtomicBool>,
}

impl Relay {
    /// Accepts TLS connections and forwards them to a plain address.
    pub fn tls(to: &str) -> Relay {
        let to = to.trim_start_matches("http://").to_owned();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain = CertificateDer::pem_slice_iter(CERTIFICATE);
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                chain.collect::<Result<_, _>>().unwrap(),
                PrivateKeyDer::from_pem_slice(KEY).unwrap(),
            );
        let config = Arc::new(config.unwrap());
        Relay::listen(move |stream, _| {
            let connection = ServerConnection::new(config.clone()).unwrap();
            stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
            let mut client = StreamOwned::new(connection, stream);
            // A client that does not accept the certificate hangs up here.
            if client.conn.complete_io(&mut client.sock).is_err() {
                return;
            }
            let upstream = TcpStream::connect(&to).unwrap();
            client.sock.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
            upstream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
            forward(client, upstream);
        })
    }

    /// Accepts plain connections and forwards them to a server with TLS.
    #[allow(dead_code)] // Each test file uses its own part.
    pub fn to_tls(to: SocketAddr, config: Arc<ClientConfig>) -> Relay {
        Relay::listen(move |stream, _| {
            let name = ServerName::try_from("localhost").unwrap();
            let connection = ClientConnection::new(config.clone(), name).unwrap();
            let upstream = TcpStream::connect(to).unwrap();
            upstream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
            let mut server = StreamOwned::new(connection, upstream);
            if server.conn.complete_io(&mut server.sock).is_err() {
                return;
            }
            server.sock.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
            stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
            forward(server, stream);
        })
    }

    /// A proxy that requires `credentials`, in base64, if there are any. It forwards every name to the same
    /// address.
    pub fn proxy(to: &str, credentials: Option<&'static str>) -> Relay {
        let to = to.trim_start_matches("http://").to_owned();
        Relay::listen(move |mut stream, heads| {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read(&mut byte) {
                    Ok(1) => head.push(byte[0]),
                    _ => return,
                }
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let required = credentials.map(|c| format!("Proxy-Authorization: Basic {c}\r\n"));
            let allowed = required.is_none_or(|line| head.contains(&line));
            heads.lock().unwrap().push(head);
            if !allowed {
                let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
                let _ = stream.write_all(refusal.as_bytes());
                return;
            }
            let upstream = TcpStream::connect(&to).unwrap();
            let _ = stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
            stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
            upstream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
            forward(stream, upstream);
        })
    }

    fn listen(
        serve: impl Fn(TcpStream, &Mutex<Vec<String>>) + Clone + Send + Sync + 'static,
    ) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Relay {
            address: listener.local_addr().unwrap(),
            heads: Arc::default(),
            stopped: Arc::default(),
        };
        let heads = relay.heads.clone();
        let stopped = relay.stopped.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let serve = serve.clone();
                let heads = heads.clone();
                thread::spawn(move || serve(stream.unwrap(), &heads));
            }
        });
        relay
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

/// Forwards in both directions until one side ends.
fn forward(mut client: impl Read + Write, mut upstream: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    while forward_available(&mut client, &mut upstream, &mut buffer)
        && forward_available(&mut upstream, &mut client, &mut buffer)
    {}
    let _ = upstream.shutdown(Shutdown::Both);
}

/// Forwards what is available; false at the end.
fn forward_available(from: &mut impl Read, to: &mut impl Write, buffer: &mut [u8]) -> bool {
    match from.read(buffer) {
        Ok(0) => false,
        Ok(read) => to
            .write_all(&buffer[..read])
            .and_then(|()| to.flush())
            .is_ok(),
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}
