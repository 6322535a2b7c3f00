//! Whether a command serves https. What encrypts is a part of the program.

use super::Failure;
use super::serve::variable;
use crate::features;
use crate::part::{self, OpenEncryption};
use std::path::PathBuf;

const TLS: &str = "GOOSE_TLS";
const CERTIFICATE: &str = "GOOSE_TLS_CERT_PATH";
const KEY: &str = "GOOSE_TLS_KEY_PATH";

/// What the variables and the command line say.
pub struct Options {
    /// If TLS is enabled.
    pub open: Option<OpenEncryption>,
    /// The files of the certificate and the key, if the user has some.
    pub files: Option<[PathBuf; 2]>,
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
            (given, _) => {
                let [given, other] = match given {
                    Some(_) => [CERTIFICATE, KEY],
                    None => [KEY, CERTIFICATE],
                };
                let message = format!("{given} is set, but {other} is not: set both, or neither");
                return Err(Failure::Usage(message));
            }
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
        enabled_by.map_or(Ok(()), |from| options.enable(from))?;
        Ok(options)
    }

    /// Enables TLS, because of the option or variable `from`.
    ///
    /// # Errors
    /// When this build has no TLS.
    pub fn enable(&mut self, from: &str) -> Result<(), Failure> {
        self.open = part::all().iter().find_map(|part| part.encryption);
        let hint = features::hint("tls");
        let missing = || Failure::Usage(format!("{from}: this build has no TLS{hint}"));
        self.open.map(drop).ok_or_else(missing)
    }
}
