//! TLS root certificates: the bundled ones, or `SSL_CERT_FILE`.
//!
//! The file replaces the bundled certificates, as it does for OpenSSL, curl and Python. Without the Cargo
//! feature `tls` an `https` address is refused.

use ureq::config::ConfigBuilder;
use ureq::http::Uri;
use ureq::typestate::AgentScope;
use ureq::{Proxy, ProxyProtocol};

type Config = ConfigBuilder<AgentScope>;
type AddTls = fn(Config) -> Result<Config, String>;

/// What adds TLS to a connection, in a build that has it.
pub(super) const TLS: &[AddTls] = &[
    #[cfg(feature = "tls")]
    cert_file::configure,
];

/// The end of an error for what needs TLS in a build that has none.
const NO_TLS: &str = "; this gosling was built without it, `cargo build --features tls` adds it";

/// Adds the TLS configuration for a server at `uri`.
///
/// # Errors
/// A message that names the file of `SSL_CERT_FILE` if it has no certificates. Without TLS, a message for an
/// `https` address and for a proxy that is reached over TLS.
pub(super) fn configure(
    config: Config,
    uri: &Uri,
    proxy: Option<&Proxy>,
) -> Result<Config, String> {
    let is_https = uri.scheme_str() == Some("https");
    let is_https_proxy = || proxy.is_some_and(|proxy| proxy.protocol() == ProxyProtocol::Https);
    match TLS.first() {
        Some(configure) if is_https => configure(config),
        None if is_https => Err(format!("the `uri` needs TLS{NO_TLS}")),
        // The connection would be made without TLS, and the password of the proxy sent over it.
        None if is_https_proxy() => Err(format!("the proxy needs TLS{NO_TLS}")),
        _ => Ok(config),
    }
}

/// Replaces an error text of the TLS library by a sentence, if the user can do something about it.
pub(super) fn explain(text: String) -> String {
    if text.contains("UnknownIssuer") {
        "its certificate is signed by an unknown authority; if that is your own authority, name the \
         file with its certificate in the variable SSL_CERT_FILE"
            .to_owned()
    } else {
        text
    }
}

/// The certificates that `SSL_CERT_FILE` names.
#[cfg(feature = "tls")]
mod cert_file {
    use super::Config;
    use gosling_sys::fs::read_start;
    use std::path::Path;
    use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

    const CERT_FILE_VARIABLE: &str = "SSL_CERT_FILE";
    /// A bundle of all public authorities has a quarter of a megabyte.
    const MAX_FILE_BYTES: u64 = 16 << 20;

    /// Adds the TLS configuration.
    ///
    /// # Errors
    /// See [`roots`].
    pub(super) fn configure(config: Config) -> Result<Config, String> {
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
    mod tests {
        use super::*;

        const AUTHORITY: &str = include_str!("../../tests/support/tls/ca.pem");

        fn from(name: &str, text: &str) -> Result<usize, String> {
            let path =
                std::env::temp_dir().join(format!("gosling-trust-{}-{name}", std::process::id()));
            std::fs::write(&path, text).unwrap();
            let read = read(&path);
            let _ = std::fs::remove_file(&path);
            match read? {
                RootCerts::Specific(certificates) => Ok(certificates.len()),
                other => panic!("{other:?}"),
            }
        }

        #[test]
        fn all_certificates_of_a_file_count() {
            let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
            assert_eq!(from("one", AUTHORITY), Ok(1));
            let several = format!("# ours\n{AUTHORITY}{key}\n{AUTHORITY}");
            assert_eq!(from("several", &several), Ok(2));
        }

        #[test]
        fn a_file_of_no_use_is_an_error_that_names_it() {
            let broken = "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----\n";
            let other = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
            for (name, text, expected) in [
                ("empty", "", "no certificate"),
                ("words", "hello", "no certificate"),
                ("broken", broken, "not in PEM"),
                ("other", other, "no certificate"),
            ] {
                let why = from(name, text).unwrap_err();
                assert!(
                    why.contains(expected) && why.contains("gosling-trust"),
                    "{why}"
                );
            }
            let why = read(Path::new("/nowhere/ca.pem")).unwrap_err();
            assert!(
                why.contains("/nowhere/ca.pem") && why.contains("cannot be read"),
                "{why}"
            );
        }
    }
}
