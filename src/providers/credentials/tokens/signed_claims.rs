//! Signed tokens that assert claims (RFC 7515, RFC 7523).

use crate::{Error, ErrorClass};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RsaEncoding, RsaKeyPair};
use serde_json::Value;

/// A token that asserts the claims, signed with a key in PEM (PKCS #8) in the way that its header names. `key_title`
/// names the key in errors.
///
/// # Errors
/// [`ErrorClass::Config`] if the key cannot be read.
pub(crate) fn signed_claims(
    encoding: &'static dyn RsaEncoding,
    header: &Value,
    claims: &Value,
    pem: &str,
    key_title: &str,
) -> Result<String, Error> {
    let wrong = || Error::new(ErrorClass::Config, format!("{key_title} cannot be read"));
    let der = pem_block(pem, "PRIVATE KEY").ok_or_else(wrong)?;
    let key = RsaKeyPair::from_pkcs8(&der).map_err(|_| wrong())?;
    let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let text = format!("{}.{}", encode(header), encode(claims));
    let mut signature = vec![0; key.public().modulus_len()];
    let random = SystemRandom::new();
    key.sign(encoding, &random, text.as_bytes(), &mut signature)
        .map_err(|_| wrong())?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(&signature)))
}

/// The bytes of the first block with this label in a text in PEM (RFC 7468).
pub(crate) fn pem_block(text: &str, label: &str) -> Option<Vec<u8>> {
    let begin = format!("-----BEGIN {label}-----");
    let (_, rest) = text.split_once(&begin)?;
    let (block, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let base64: String = block.split_whitespace().collect();
    STANDARD.decode(base64).ok()
}
