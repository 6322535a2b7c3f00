//! Whether a command serves https, and with which certificate.

use super::serve::variable;
use super::{Failure, failed};
use crate::features;
use crate::http::Encryption;
use crate::store::Paths;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads the files of a certificate and its key, or those in a folder of gosling, and announces them.
type Open = fn(Option<&[PathBuf; 2]>, &Path) -> Result<Arc<dyn Encryption>, Box<dyn Error>>;

/// That of a build with TLS.
#[cfg(feature = "tls")]
const OPEN: Option<Open> = Some(crate::tls::announced);
#[cfg(not(feature = "tls"))]
const OPEN: Option<Open> = None;

const TLS: &str = "GOOSE_TLS";
const CERTIFICATE: &str = "GOOSE_TLS_CERT_PATH";
const KEY: &str = "GOOSE_TLS_KEY_PATH";

/// What the variables and the command line say.
pub struct Options {
    /// If TLS is enabled.
    open: Option<Open>,
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
        let enabled_by = match variable(TLS)?.as_deref().map(str::trim) {
            Some("true" | "1") => Some(TLS),
            Some("false" | "0") => None,
            None => files.as_ref().map(|_| CERTIFICATE),
            Some(other) => {
                let message = format!("{TLS}: {other:?} is neither true nor false");
                return Err(Failure::Usage(message));
            }
        };
        let mut options = Options { open: None, files };
        if let Some(from) = enabled_by {
            options.enable(from)?;
        }
        Ok(options)
    }

    /// Enables TLS, because of the option or variable `from`.
    ///
    /// # Errors
    /// When this build has no TLS.
    pub fn enable(&mut self, from: &str) -> Result<(), Failure> {
        if OPEN.is_none() {
            let hint = features::hint("tls");
            return Err(Failure::Usage(format!(
                "{from}: this build has no TLS{hint}"
            )));
        }
        self.open = OPEN;
        Ok(())
    }

    /// What encrypts the connections, if TLS is enabled.
    ///
    /// # Errors
    /// When a file cannot be used, or the self-signed certificate cannot be stored.
    pub fn encryption(&self, paths: &Paths) -> Result<Option<Arc<dyn Encryption>>, Failure> {
        let opened = self
            .open
            .map(|open| open(self.files.as_ref(), &paths.state.join("tls")));
        opened.transpose().map_err(failed("no certificate for TLS"))
    }
}

fn missing(given: &str, other: &str) -> Failure {
    Failure::Usage(format!(
        "{given} is set, but {other} is not: set both, or neither"
    ))
}
