//! A client with TLS that accepts one certificate, and servers for it.

use crate::harness::{Client, Edge, TEST_TIMEOUT, edge_bound, limits};
use crate::support::{TempDir, temp_dir};
use gosling::http::{Encryption, Limits, Server};
use gosling::tls::Credentials;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error,
    SignatureScheme, StreamOwned, SupportedProtocolVersion,
};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub type Tls = StreamOwned<ClientConnection, TcpStream>;

/// Limits that tests can wait for.
pub fn short_limits() -> Limits {
    let short = Duration::from_millis(400);
    Limits {
        head_timeout: short,
        body_timeout: short,
        write_timeout: short,
        idle_timeout: 5 * short,
        ..limits()
    }
}

/// A server in this process with a self-signed certificate.
pub struct TlsEdge {
    pub edge: Edge,
    fingerprint: String,
    _folder: TempDir,
}

pub fn tls_edge(limits: Limits) -> TlsEdge {
    let folder = temp_dir();
    let credentials = Credentials::self_signed(&folder.path().join("tls")).unwrap();
    let fingerprint = credentials.fingerprint();
    let edge = edge_bound(limits, |router, guard, limits| {
        let encryption = Some(Arc::new(credentials) as Arc<dyn Encryption>);
        let mut server = Server::new(router, guard, limits, encryption);
        server.listen("127.0.0.1:0").map(|()| server)
    });
    TlsEdge {
        edge,
        fingerprint,
        _folder: folder,
    }
}

impl TlsEdge {
    pub fn address(&self) -> SocketAddr {
        self.edge.server.local_addr()
    }

    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    pub fn config(&self) -> Arc<ClientConfig> {
        pinned(&self.fingerprint)
    }

    /// A client after the handshake.
    pub fn connect(&self) -> Client<Tls> {
        client(self.address(), self.config())
    }

    /// A client that has sent `request`.
    pub fn says(&self, request: impl AsRef<[u8]>) -> Client<Tls> {
        let mut client = self.connect();
        client.send(request);
        client
    }

    /// A connection without a handshake.
    pub fn raw(&self) -> Client {
        Client::to(self.address())
    }

    pub fn is_alive(&self) {
        let reply = self.says("GET /status HTTP/1.1\r\nHost: a\r\n\r\n").reply();
        assert_eq!((reply.status, reply.text()), (200, "ok"));
    }
}

pub fn client(to: SocketAddr, config: Arc<ClientConfig>) -> Client<Tls> {
    Client {
        stream: std::io::BufReader::new(connect(to, config).expect("a handshake")),
    }
}

/// Performs a handshake.
pub fn connect(to: SocketAddr, config: Arc<ClientConfig>) -> std::io::Result<Tls> {
    let socket = TcpStream::connect(to).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(config, name).unwrap();
    let mut tls = StreamOwned::new(connection, socket);
    while tls.conn.is_handshaking() {
        tls.conn.complete_io(&mut tls.sock)?;
    }
    Ok(tls)
}

/// A client that accepts only the certificate with this fingerprint.
pub fn pinned(fingerprint: &str) -> Arc<ClientConfig> {
    pinned_with(fingerprint, rustls::ALL_VERSIONS)
}

pub fn pinned_with(
    fingerprint: &str,
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Pinned {
        fingerprint: fingerprint.to_owned(),
        provider: Arc::clone(&provider),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Arc::new(config)
}

/// The fingerprint of a certificate in DER, as the server prints it.
pub fn fingerprint(certificate: &[u8]) -> String {
    let digest = ::ring::digest::digest(&::ring::digest::SHA256, certificate);
    let bytes: Vec<String> = digest.as_ref().iter().map(|b| format!("{b:02X}")).collect();
    bytes.join(":")
}

/// The fingerprint of the first certificate in a file.
pub fn fingerprint_of(file: &Path) -> String {
    use rustls::pki_types::pem::PemObject;
    fingerprint(&CertificateDer::from_pem_file(file).expect("a certificate"))
}

#[derive(Debug)]
struct Pinned {
    fingerprint: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if fingerprint(certificate) == self.fingerprint {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
