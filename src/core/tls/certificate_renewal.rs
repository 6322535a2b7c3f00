//! The certificate in use: read from its files, again when they change, or made and made anew before it ends.

use super::{Error, self_signed};
use crate::store::file_lock::FileLock;
use crate::store::files;
use crate::sys::clock;
use crate::sys::fs::{self, Stamp};
use crate::sys::lock;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The file of the self-signed certificate and its key, both in PEM format.
const SELF_SIGNED: &str = "self-signed.pem";
/// The largest file of certificates or keys, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The number of characters of a line in PEM format.
const PEM_WIDTH: usize = 64;
/// The time that a self-signed certificate must still be valid at the start, in seconds: 30 days.
const RENEWAL: i64 = 30 * 86_400;
/// How often at most the server checks whether its files have changed.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A certificate with its private key.
pub struct Credentials {
    /// The files, if they are the user's; the server keeps its own certificate until it ends.
    files: Option<[PathBuf; 2]>,
    loaded: Mutex<Loaded>,
}

/// The current certificate and key, and the states of the files that were read last.
struct Loaded {
    config: Arc<ServerConfig>,
    fingerprint: String,
    /// The first and the last second in which the certificate is valid, if they can be read.
    validity: Option<(i64, i64)>,
    stamps: [Option<Stamp>; 2],
    checked: Instant,
}

impl Credentials {
    /// The certificates in the file `certificate`, that of the server first, and the key in the file `key`
    /// (PKCS#8, SEC 1 or PKCS#1), both in PEM format. They may be one file.
    ///
    /// # Errors
    /// When a file cannot be read, or the key is not that of the certificate. The message names the file.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Credentials, Error> {
        let files = [certificate.to_owned(), key.to_owned()];
        let loaded = load(&files)?;
        Ok(Credentials {
            files: Some(files),
            loaded: Mutex::new(loaded),
        })
    }

    /// The self-signed certificate in `folder`. Makes the folder and a new certificate if there is none, or if
    /// it cannot be used or ends within 30 days. Waits for other processes that do the same.
    ///
    /// # Errors
    /// When the folder or the file cannot be written.
    pub fn self_signed(folder: &Path) -> Result<Credentials, Error> {
        files::ensure_dir(folder)?;
        let path = folder.join(SELF_SIGNED);
        let _lock = FileLock::beside(&path)?;
        let files = [path.clone(), path];
        let now = clock::unix_seconds();
        let loaded = match load_if_valid(&files, now) {
            Ok(Some(loaded)) => {
                make_private(&files[0]);
                loaded
            }
            found => {
                if let Err(error) = found {
                    log::warn!("certificate replaced reason={:?}", error.to_string());
                }
                let made = self_signed::generate(now).map_err(|_| Error::Random)?;
                let text = pem("CERTIFICATE", &made.certificate) + &pem("PRIVATE KEY", &made.key);
                files::write_atomic(&files[0], text.as_bytes())?;
                load(&files)?
            }
        };
        Ok(Credentials {
            files: None,
            loaded: Mutex::new(loaded),
        })
    }

    /// The SHA-256 digest of the server's certificate in DER: upper-case hexadecimal bytes joined by `:`.
    pub fn fingerprint(&self) -> String {
        lock(&self.loaded).fingerprint.clone()
    }

    /// The configuration for the next connection. Reads the files again if they have changed, once a second at
    /// most. If they are not usable, the server keeps the certificate that it has, and logs why.
    pub(super) fn server_config(&self) -> Arc<ServerConfig> {
        if let Some(files) = &self.files {
            self.reload_if_changed(files);
        }
        Arc::clone(&lock(&self.loaded).config)
    }

    fn reload_if_changed(&self, files: &[PathBuf; 2]) {
        let before = {
            let mut loaded = lock(&self.loaded);
            if loaded.checked.elapsed() < CHECK_INTERVAL {
                return;
            }
            loaded.checked = Instant::now();
            loaded.stamps
        };
        // Without the lock: a slow file system must not delay the other handshakes.
        let stamps = [&files[0], &files[1]].map(|path| files::stamp(path).ok().flatten());
        if stamps == before {
            return;
        }
        if let Err(error) = self.take(files) {
            log::warn!(
                "changed certificate not used reason={:?}",
                error.to_string()
            );
            lock(&self.loaded).stamps = stamps;
        }
    }

    fn take(&self, files: &[PathBuf; 2]) -> Result<(), Error> {
        let new = load(files)?;
        log::info!("certificate changed fingerprint={}", new.fingerprint);
        *lock(&self.loaded) = new;
        Ok(())
    }

    /// Reads the files again, also if they look unchanged.
    ///
    /// # Errors
    /// Why they cannot be used; the earlier certificate stays.
    pub(super) fn reload(&self) -> Result<(), String> {
        let taken = self.files.as_ref().map(|files| self.take(files));
        taken
            .unwrap_or(Ok(()))
            .map_err(|error| format!("refused, the earlier one is used: {error}"))
    }
}

/// Shows the files, never the key.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// The certificate and key in `files`; `None` if the first does not exist or its validity ends soon.
fn load_if_valid(files: &[PathBuf; 2], now: i64) -> Result<Option<Loaded>, Error> {
    if files::stamp(&files[0])?.is_none() {
        return Ok(None);
    }
    let loaded = read_both(files)?;
    let is_valid = (loaded.validity).is_some_and(|it| covers(it, now, now + RENEWAL));
    Ok(is_valid.then_some(loaded))
}

/// The certificate and key in `files`, which may not be valid any more.
fn load(files: &[PathBuf; 2]) -> Result<Loaded, Error> {
    let loaded = read_both(files)?;
    let now = clock::unix_seconds();
    if (loaded.validity).is_some_and(|it| !covers(it, now, now)) {
        log::warn!("certificate not valid at this time file={:?}", files[0]);
    }
    Ok(loaded)
}

/// Whether what is valid from one moment to another is so from `first` to `last`, each included.
fn covers((from, to): (i64, i64), first: i64, last: i64) -> bool {
    from <= first && last <= to
}

/// Reads the certificates in the first file and the key in the second.
fn read_both(files: &[PathBuf; 2]) -> Result<Loaded, Error> {
    let [certificate, key] = files;
    let wrong = |path: &Path, reason: &str| Error::File {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let (text, certificate_stamp) = read(certificate)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(|_| wrong(certificate, "is not in PEM format"))?;
    let Some(first) = chain.first() else {
        return Err(wrong(certificate, "holds no certificate in PEM format"));
    };
    let digest = ring::digest::digest(&ring::digest::SHA256, first);
    let bytes: Vec<String> = digest.as_ref().iter().map(|b| format!("{b:02X}")).collect();
    let validity = self_signed::validity(first);
    let (text, key_stamp) = read(key)?;
    let no_key = "holds no private key in PEM format (PKCS#8, SEC 1 or PKCS#1, without passphrase)";
    let private = PrivateKeyDer::from_pem_slice(&text).map_err(|_| wrong(key, no_key))?;
    let config = server_config(chain, private).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            let certificate = certificate.display();
            let reason = format!("is not the key of the certificate in {certificate}");
            wrong(key, &reason)
        }
        rustls::Error::InvalidCertificate(_) => {
            wrong(certificate, "holds a certificate that cannot be read")
        }
        _ => wrong(key, "holds a private key of a kind that gosling cannot use"),
    })?;
    Ok(Loaded {
        config: Arc::new(config),
        fingerprint: bytes.join(":"),
        validity,
        stamps: [Some(certificate_stamp), Some(key_stamp)],
        checked: Instant::now(),
    })
}

/// Takes the access to the self-signed certificate's key from other users.
fn make_private(path: &Path) {
    let changed = match files::open(path) {
        Ok(Some(file)) => fs::make_private(&file),
        _ => Ok(false),
    };
    match changed {
        Ok(false) => {}
        Ok(true) => log::warn!(
            "other users could read the key of the certificate; delete it to get a new one file={path:?}"
        ),
        Err(error) => {
            log::warn!(
                "other users may read the key of the certificate file={path:?} reason={error}"
            );
        }
    }
}

fn read(path: &Path) -> Result<(Vec<u8>, Stamp), Error> {
    files::read_file(path, MAX_FILE_BYTES)?.ok_or_else(|| Error::File {
        path: path.to_owned(),
        reason: "does not exist".to_owned(),
    })
}

fn server_config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
}

/// DER in PEM format (RFC 7468).
fn pem(label: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in STANDARD.encode(der).as_bytes().chunks(PEM_WIDTH) {
        text.extend(line.iter().copied().map(char::from));
        text.push('\n');
    }
    text + "-----END " + label + "-----\n"
}

#[cfg(test)]
mod tests;
