//! The certificate and the private key of the HTTP server: from files, or self-signed.
//!
//! [`Credentials`] holds what the server proves its identity with. Given files are read again when they change,
//! so that a renewed certificate needs no restart (`certificate_renewal`). Without files, the server has a self-signed certificate of
//! its own (`self_signed`, encoded by `der`), which it stores and keeps, because clients that have seen it once
//! accept no other: [`Credentials::fingerprint`] is what they compare.
//!
//! The protocol is that of rustls: TLS 1.2 and 1.3 with the cipher suites of its provider `ring`, without client
//! certificates and renegotiation. `session` gives it to [`http`](crate::http), as the credentials'
//! [`Encryption`].

mod certificate_renewal;
mod der;
mod encrypted_connection;
mod options;
mod self_signed;

pub use certificate_renewal::Credentials;

use crate::http::Encryption;
use crate::part::{Fact, Part, on_reload};
use crate::store;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What TLS adds to gosling.
pub const PART: Part = Part {
    encryption: Some(options::wanted),
    info: Some(|_, paths| vec![("folder", Fact::Private(paths.state.join("tls")))]),
    ..Part::new("tls")
};

/// What the line on stdout with the fingerprint begins with.
const FINGERPRINT: &str = "GOOSED_CERT_FINGERPRINT";

/// Why there are no credentials. Contains nothing of a key.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be used.
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A file cannot be read or written.
    Store(store::Error),
    /// The system has no random bytes for a key.
    Random,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::File { path, reason } => write!(f, "{} {reason}", path.display()),
            Error::Store(error) => error.fmt(f),
            Error::Random => f.write_str("the system has no random bytes for a key"),
        }
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Error {
        Error::Store(error)
    }
}

/// The credentials of a server: those in `files`, of the certificate and the key, or the self-signed ones in `folder`.
/// Prints their fingerprint to stdout, where Goose Desktop reads it from the server that it starts: it waits for this
/// line before it connects.
///
/// # Errors
/// When a file cannot be used, or the self-signed certificate cannot be stored.
pub fn announced(
    files: Option<&[PathBuf; 2]>,
    folder: &Path,
) -> Result<Arc<dyn Encryption>, Box<dyn std::error::Error>> {
    let credentials = match files {
        Some([certificate, key]) => Credentials::from_files(certificate, key),
        None => Credentials::self_signed(folder),
    }?;
    let line = format!("{FINGERPRINT}={}\n", credentials.fingerprint());
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(line.as_bytes())
        .and_then(|()| stdout.flush());
    if let Err(error) = written {
        log::warn!("fingerprint not printed reason={error}");
    }
    let credentials = Arc::new(credentials);
    let read = credentials.clone();
    on_reload("certificate", move || read.reload());
    Ok(credentials)
}
