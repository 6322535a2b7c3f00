//! What an archive says about itself: in its first entry who has written it and in which format, in its last entry
//! what it has to contain.

use crate::json;
use crate::sys::to_hex;
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// The name of the first entry.
pub(crate) const FIRST: &str = "gosling-backup.json";
/// The name of the last entry.
pub(crate) const LAST: &str = "gosling-backup-files.json";

/// The only format so far.
const FORMAT: u64 = 1;
/// The longest first and last entry, in bytes.
pub(crate) const MAX_FIRST: u64 = 1 << 20;
pub(crate) const MAX_LAST: u64 = 256 << 20;

/// The first entry.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct First {
    /// The format of the archive.
    gosling_format: u64,
    /// The version of gosling that has written it.
    gosling: String,
    /// When, RFC 3339.
    pub(crate) time: String,
    /// What is not in it, and why.
    #[serde(default)]
    pub(crate) left_out: Vec<LeftOut>,
}

/// A file or folder that is not in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeftOut {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// The last entry.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Last {
    pub(crate) files: Vec<Listed>,
}

/// An entry of the archive; a folder has no hash.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) sha256: String,
}

/// What is read of the first entry before its format is known.
#[derive(Deserialize)]
struct Format {
    gosling_format: u64,
    #[serde(default)]
    gosling: String,
}

impl First {
    pub(crate) fn new(left_out: Vec<LeftOut>) -> Self {
        First {
            gosling_format: FORMAT,
            gosling: env!("CARGO_PKG_VERSION").to_owned(),
            time: crate::sys::clock::now_rfc3339(),
            left_out,
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// A newer version has written it, or no version at all.
    pub(crate) fn read(text: &[u8]) -> Result<First, String> {
        let unknown = |_| format!("its entry {FIRST} cannot be read");
        let format: Format = json::from_slice(text).map_err(unknown)?;
        if format.gosling_format > FORMAT {
            return Err(format!(
                "a newer gosling wrote it (version {}, format {}; this one knows format {FORMAT}); restore it with \
                 that one",
                crate::text::printable(&format.gosling, 40),
                format.gosling_format
            ));
        }
        json::from_slice(text).map_err(unknown)
    }
}

/// Copies exactly `size` bytes; returns their SHA-256 in hexadecimal digits.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] if there are not so many.
pub(crate) fn copy_hashed(
    from: &mut impl Read,
    mut size: u64,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<String> {
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 64 << 10];
    while size > 0 {
        let most = usize::try_from(size)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let count = from.read(&mut buffer[..most])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        context.update(&buffer[..count]);
        write(&buffer[..count])?;
        size -= count as u64;
    }
    Ok(to_hex(context.finish().as_ref()))
}

/// The JSON text of one of them, for people, too.
pub(crate) fn to_text(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.write_all(b"\n")?;
    Ok(text)
}
