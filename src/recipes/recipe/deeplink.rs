//! Recipe links: a recipe's JSON in base64.

use super::{Error, Recipe};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// The longest link that is read, in bytes.
pub const MAX_LINK: usize = 512 << 10;

impl Recipe {
    /// The link of a recipe: its compact JSON in URL-safe base64 without padding.
    pub fn to_link(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.to_string())
    }

    /// Reads a link. Mail programs and shells change links, so this also accepts standard base64, padding, and
    /// percent-encoding.
    ///
    /// # Errors
    /// [`Error::Link`] when it does not contain a recipe or is longer than [`MAX_LINK`].
    pub fn from_link(link: &str) -> Result<Self, Error> {
        if link.len() > MAX_LINK {
            return Err(Error::Link);
        }
        let link: Cow<str> = if link.contains('%') {
            percent_decode_str(link)
                .decode_utf8()
                .map_err(|_| Error::Link)?
        } else {
            link.into()
        };
        let text = link.trim().trim_end_matches('=');
        let engine = if text.contains(['+', '/']) {
            STANDARD_NO_PAD
        } else {
            URL_SAFE_NO_PAD
        };
        let bytes = engine.decode(text).map_err(|_| Error::Link)?;
        crate::json::from_str(&crate::json::sanitize_bytes(&bytes)).map_err(|_| Error::Link)
    }
}

#[cfg(test)]
mod tests;
