//! What the variables and the command line say about TLS.

use super::announced;
use crate::command_line::Failure;
use crate::command_line::serve::variable;
use crate::part::OpenEncryption;
use crate::store::settings::{TLS, TLS_CERT_PATH, TLS_KEY_PATH};
use std::path::{Path, PathBuf};

/// What opens the encryption, if something wants it. Files do so, too, unless `GOOSE_TLS` is false.
///
/// # Errors
/// When only one file is named, `GOOSE_TLS` is neither true nor false, or a variable is not Unicode.
pub(super) fn wanted(by_option: bool) -> Result<Option<OpenEncryption>, Failure> {
    let files = files()?;
    let is_wanted = match variable(TLS.name)?.as_deref().map(str::trim) {
        Some("true" | "1") => true,
        Some("false" | "0") => false,
        None => files.is_some(),
        Some(other) => {
            let message = format!("{}: {other:?} is neither true nor false", TLS.name);
            return Err(Failure::Usage(message));
        }
    };
    let open = move |folder: &Path| announced(files.as_ref(), folder);
    Ok((is_wanted || by_option).then(|| Box::new(open) as OpenEncryption))
}

/// The files of the certificate and the key, if the user has some.
fn files() -> Result<Option<[PathBuf; 2]>, Failure> {
    let names = [TLS_CERT_PATH.name, TLS_KEY_PATH.name];
    let [given, other] = match (variable(names[0])?, variable(names[1])?) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => return Ok(Some([certificate.into(), key.into()])),
        (Some(_), None) => names,
        (None, Some(_)) => [names[1], names[0]],
    };
    let message = format!("{given} is set, but {other} is not: set both, or neither");
    Err(Failure::Usage(message))
}
