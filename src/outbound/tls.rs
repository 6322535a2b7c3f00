//! TLS. Its root certificates are the bundled ones, or those of `SSL_CERT_FILE`.
//!
//! The file replaces the bundled certificates, as it does for OpenSSL, curl and Python.

use crate::AgentConfig;
use gosling_sys::fs::read_start;
use std::path::Path;
use ureq::Proxy;
use ureq::http::Uri;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::transport::{Connector, RustlsConnector};

const CERT_FILE_VARIABLE: &str = "SSL_CERT_FILE";
/// A bundle of all public authorities has a quarter of a megabyte.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Adds TLS to connections of this kind.
pub(super) fn connector(connector: impl Connector) -> impl Connector {
    connector.chain(RustlsConnector::default())
}

/// Adds the TLS configuration for a server at `uri`.
///
/// # Errors
/// A message that names the file of `SSL_CERT_FILE`, if it has no certificates.
pub(super) fn configure(
    config: AgentConfig,
    uri: &Uri,
    _: Option<&Proxy>,
) -> Result<AgentConfig, String> {
    if uri.scheme_str() != Some("https") {
        return Ok(config);
    }
    let mut tls = TlsConfig::builder();
    if let Some(roots) = roots()? {
        tls = tls.root_certs(roots);
    }
    Ok(config.tls_config(tls.build()))
}

/// The certificates in the file; none if the variable is not set.
///
/// # Errors
/// A message that names the file, if it cannot be read or has no certificate.
fn roots() -> Result<Option<RootCerts>, String> {
    match std::env::var_os(CERT_FILE_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => read(Path::new(&path)).map(Some),
        None => Ok(None),
    }
}

fn read(path: &Path) -> Result<RootCerts, String> {
    let wrong = |what: &str| {
        format!(
            "{CERT_FILE_VARIABLE} is set to {path:?}, which {what}; set it to a file of certificates in PEM \
         format, or unset it"
        )
    };
    let pem = read_start(path, MAX_FILE_BYTES)
        .map_err(|error| wrong(&format!("cannot be read ({error})")))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        match item {
            Ok(PemItem::Certificate(certificate)) => certificates.push(certificate),
            // Keys, and kinds of items that the library does not know.
            Ok(_) => {}
            Err(_) => return Err(wrong("is not in PEM format")),
        }
    }
    // The library would silently ignore what is not an ASN.1 sequence.
    certificates.retain(|certificate| certificate.der().first() == Some(&0x30));
    if certificates.is_empty() {
        Err(wrong("holds no certificate"))
    } else {
        Ok(RootCerts::from(certificates))
    }
}

#[cfg(test)]
mod tests;
