//! Whether a command serves https. What encrypts is a part of the program.

use super::Failure;
use super::serve::variable;
use crate::features;
use crate::part::{self, OpenEncryption};
use crate::store::settings::{TLS, TLS_CERT_PATH};

/// What opens the encryption, if the option `--tls` is given or variables want it.
///
/// # Errors
/// A variable is wrong, or this build has no TLS.
pub fn wanted(by_option: bool) -> Result<Option<OpenEncryption>, Failure> {
    if let Some(wanted) = part::all().iter().find_map(|part| part.encryption) {
        return wanted(by_option);
    }
    let from = match variable(TLS.name)?.as_deref().map(str::trim) {
        _ if by_option => "--tls",
        Some("false" | "0") => return Ok(None),
        None if variable(TLS_CERT_PATH.name)?.is_none() => return Ok(None),
        _ => TLS.name,
    };
    let why = format!("{from}: this build has no TLS{}", features::hint("tls"));
    Err(Failure::Usage(why))
}
