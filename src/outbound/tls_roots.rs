//! Whom to believe who a server is. Those whom the web believes, which are compiled in, or instead of
//! them those in the file that `SSL_CERT_FILE` names, as with OpenSSL, curl and Python.

//!
//! Without the feature `tls` an `https` address is refused.

use ureq::config::ConfigBuilder;
use ureq::http::Uri;
use ureq::typestate::AgentScope;

/// Adds the TLS configuration for a server at `uri`.
///
/// # Errors
/// A sentence that names the file of `SSL_CERT_FILE` when it holds no certificates.
#[cfg(feature = "tls")]
pub(super) fn configure(
    config: ConfigBuilder<AgentScope>,
    uri: &Uri,
) -> Result<ConfigBuilder<AgentScope>, String> {
    if uri.scheme_str() != Some("https") {
        return Ok(config);
    }
    let mut tls = ureq::tls::TlsConfig::builder();
    if let Some(roots) = named::roots()? {
        tls = tls.root_certs(roots);
    }
    Ok(config.tls_config(tls.build()))
}

/// Refuses an `https` address, for which this build has no TLS.
///
/// # Errors
/// A sentence that says so.
#[cfg(not(feature = "tls"))]
pub(super) fn configure(
    config: ConfigBuilder<AgentScope>,
    uri: &Uri,
) -> Result<ConfigBuilder<AgentScope>, String> {
    if uri.scheme_str() == Some("https") {
        let hint = crate::features::hint("tls");
        return Err(format!("the `uri` needs TLS{hint}"));
    }
    Ok(config)
}

/// The certificates that `SSL_CERT_FILE` names.
#[cfg(feature = "tls")]
mod named {
    use std::fs::File;
    use std::io::Read;
    use std::path::Path;
    use ureq::tls::{PemItem, RootCerts, parse_pem};

    const CERT_FILE_VARIABLE: &str = "SSL_CERT_FILE";
    /// Bundles of all the web's authorities have a quarter of a megabyte.
    const MAX_FILE_BYTES: u64 = 16 << 20;

    /// The authorities that the user names instead of the web's; none if there is no such wish.
    ///
    /// # Errors
    /// A sentence that names the file, when nothing can be learned from it.
    pub(super) fn roots() -> Result<Option<RootCerts>, String> {
        match std::env::var_os(CERT_FILE_VARIABLE).filter(|path| !path.is_empty()) {
            Some(path) => read(Path::new(&path)).map(Some),
            None => Ok(None),
        }
    }

    fn read(path: &Path) -> Result<RootCerts, String> {
        let wrong = |what: &str| {
            format!(
                "{CERT_FILE_VARIABLE} is set to {path:?}, which {what}; let it name a file of certificates in PEM \
             format, or unset it"
            )
        };
        let mut pem = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut pem))
            .map_err(|error| wrong(&format!("cannot be read ({error})")))?;
        let mut certificates = Vec::new();
        for item in parse_pem(&pem) {
            match item {
                Ok(PemItem::Certificate(certificate)) => certificates.push(certificate),
                // Keys, and what is newer than this library.
                Ok(_) => {}
                Err(_) => return Err(wrong("is not in PEM format")),
            }
        }
        // What is not even an ASN.1 sequence would be passed over in silence.
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
