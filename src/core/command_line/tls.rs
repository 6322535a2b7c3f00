//! Whether a command serves https, and with which certificate.

use super::Failure;
use super::serve::variable;
use crate::features;
use crate::store::Paths;
use std::path::PathBuf;
#[cfg(feature = "tls")]
use {
    super::failed,
    std::io::{self, Write},
};

#[cfg(feature = "tls")]
pub use crate::tls::Credentials;

/// A build without the feature `tls` has none.
#[cfg(not(feature = "tls"))]
pub enum Credentials {}

const TLS: &str = "GOOSE_TLS";
const CERTIFICATE: &str = "GOOSE_TLS_CERT_PATH";
const KEY: &str = "GOOSE_TLS_KEY_PATH";
/// What the line on stdout with the fingerprint begins with.
#[cfg(feature = "tls")]
const FINGERPRINT: &str = "GOOSED_CERT_FINGERPRINT";

/// What the variables and the command line say.
pub struct Options {
    is_enabled: bool,
    /// The files of the certificate and the key.
    files: Option<[PathBuf; 2]>,
}

impl Options {
    /// Reads the variables. Files enable TLS, too, unless `GOOSE_TLS` is false.
    ///
    /// # Errors
    /// When only one file is named, `GOOSE_TLS` is neither true nor false, a variable is not Unicode, or this build has
    /// no TLS.
    pub fn from_variables() -> Result<Options, Failure> {
        let files = match (variable(CERTIFICATE)?, variable(KEY)?) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some([certificate.into(), key.into()]),
            (Some(_), None) => return Err(missing(CERTIFICATE, KEY)),
            (None, Some(_)) => return Err(missing(KEY, CERTIFICATE)),
        };
        let said = match variable(TLS)?.as_deref().map(str::trim) {
            Some("true" | "1") => Some(true),
            Some("false" | "0") => Some(false),
            None => None,
            Some(other) => {
                let message = format!("{TLS}: {other:?} is neither true nor false");
                return Err(Failure::Usage(message));
            }
        };
        let mut options = Options {
            is_enabled: false,
            files,
        };
        match said {
            Some(true) => options.enable_for(TLS)?,
            None if options.files.is_some() => options.enable_for(CERTIFICATE)?,
            Some(false) | None => {}
        }
        Ok(options)
    }

    /// For the option `--tls`.
    ///
    /// # Errors
    /// When this build has no TLS.
    pub fn enable(&mut self) -> Result<(), Failure> {
        self.enable_for("--tls")
    }

    fn enable_for(&mut self, from: &str) -> Result<(), Failure> {
        if features::is_left_out("tls") {
            let hint = features::hint("tls");
            return Err(Failure::Usage(format!(
                "{from}: this build has no TLS{hint}"
            )));
        }
        self.is_enabled = true;
        Ok(())
    }

    /// The certificate and key, if TLS is enabled. Prints their fingerprint to stdout, where Goose Desktop reads
    /// it from the server that it starts: it waits for this line before it connects.
    ///
    /// # Errors
    /// When a file cannot be used, or the self-signed certificate cannot be stored.
    #[cfg(feature = "tls")]
    pub fn credentials(&self, paths: &Paths) -> Result<Option<Credentials>, Failure> {
        if !self.is_enabled {
            return Ok(None);
        }
        let credentials = match &self.files {
            Some([certificate, key]) => Credentials::from_files(certificate, key),
            None => Credentials::self_signed(&paths.state.join("tls")),
        };
        let credentials = credentials.map_err(failed("no certificate for TLS"))?;
        let line = format!("{FINGERPRINT}={}\n", credentials.fingerprint());
        let mut stdout = io::stdout().lock();
        let written = stdout
            .write_all(line.as_bytes())
            .and_then(|()| stdout.flush());
        if let Err(error) = written {
            log::warn!("fingerprint not printed reason={error}");
        }
        Ok(Some(credentials))
    }

    /// None: this build has no TLS.
    #[cfg(not(feature = "tls"))]
    #[allow(clippy::unnecessary_wraps)] // As with the feature.
    pub fn credentials(&self, _: &Paths) -> Result<Option<Credentials>, Failure> {
        Ok(None)
    }
}

fn missing(given: &str, other: &str) -> Failure {
    Failure::Usage(format!(
        "{given} is set, but {other} is not: set both, or neither"
    ))
}
