//! Recipe links: a recipe's JSON in base64, and the forms that it takes on its way.

use super::{Error, Recipe};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// The longest link that is read, in bytes.
pub const MAX_LINK: usize = 512 << 10;

/// The link of a recipe: its compact JSON in URL-safe base64 without padding.
pub fn encode(recipe: &Recipe) -> String {
    URL_SAFE_NO_PAD.encode(recipe.to_string())
}

/// Reads a link. Mail programs and shells do things to links, so standard base64, padding, and
/// either of them percent-encoded are read too.
///
/// # Errors
/// [`Error::Link`] when it holds no recipe or is longer than [`MAX_LINK`].
pub fn decode(link: &str) -> Result<Recipe, Error> {
    if link.len() > MAX_LINK {
        return Err(Error::Link);
    }
    let link: Cow<str> = match link.contains('%') {
        true => percent_decode_str(link)
            .decode_utf8()
            .map_err(|_| Error::Link)?,
        false => link.into(),
    };
    let text = link.trim().trim_end_matches('=');
    let engine = match text.contains(['+', '/']) {
        true => STANDARD_NO_PAD,
        false => URL_SAFE_NO_PAD,
    };
    let bytes = engine.decode(text).map_err(|_| Error::Link)?;
    serde_json::from_slice(&bytes).map_err(|_| Error::Link)
}
