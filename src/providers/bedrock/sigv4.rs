//! AWS Signature Version 4: the headers that sign a request.
//!
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html>. No I/O and no clock.

use crate::sys::to_hex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use ring::{digest, hmac};

/// The characters that a canonical request does not escape.
pub(super) const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// A key of an AWS account. It does not implement `Debug`.
#[derive(Clone, PartialEq)]
pub(super) struct AwsKey {
    pub(super) id: String,
    pub(super) secret: String,
    /// Of a key that expires.
    pub(super) session_token: Option<String>,
}

/// What a signature is valid for.
pub(super) struct Scope<'a> {
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    /// `YYYYMMDDTHHMMSSZ`.
    pub(super) time: &'a str,
}

/// A request, as far as it is signed.
pub(super) struct SignedPart<'a> {
    pub(super) method: &'a str,
    /// With the port, if the URL has one.
    pub(super) authority: &'a str,
    /// As it is sent: escaped once.
    pub(super) path: &'a str,
    /// As it is sent, without the question mark.
    pub(super) query: &'a str,
    pub(super) body: &'a [u8],
}

/// The headers that sign the request, the time and the session's token among them.
pub(super) fn sign(
    part: &SignedPart<'_>,
    scope: &Scope<'_>,
    key: &AwsKey,
) -> Vec<(String, String)> {
    let mut headers = vec![("x-amz-date".to_owned(), scope.time.to_owned())];
    if let Some(token) = &key.session_token {
        headers.push(("x-amz-security-token".to_owned(), token.clone()));
    }
    let mut signed = vec![("host", part.authority)];
    signed.extend(
        headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.trim())),
    );
    let names: Vec<&str> = signed.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let canonical = canonical_request(part, &signed, &names);
    let date = scope.time.get(..8).unwrap_or(scope.time);
    let credential_scope = format!("{date}/{}/{}/aws4_request", scope.region, scope.service);
    let to_sign = format!(
        "{ALGORITHM}\n{}\n{credential_scope}\n{}",
        scope.time,
        hash(canonical.as_bytes())
    );
    let parts = [date, scope.region, scope.service, "aws4_request"];
    let secret = format!("AWS4{}", key.secret).into_bytes();
    let signing_key = (parts.iter()).fold(secret, |key, part| mac(&key, part.as_bytes()));
    let signature = to_hex(&mac(&signing_key, to_sign.as_bytes()));
    let authorization = format!(
        "{ALGORITHM} Credential={}/{credential_scope}, SignedHeaders={names}, Signature={signature}",
        key.id
    );
    headers.push(("Authorization".to_owned(), authorization));
    headers
}

fn canonical_request(part: &SignedPart<'_>, headers: &[(&str, &str)], names: &str) -> String {
    let mut text = format!("{}\n", part.method);
    // Each segment is escaped a second time.
    let segments = part
        .path
        .split('/')
        .map(|it| utf8_percent_encode(it, UNRESERVED).to_string());
    text += &segments.collect::<Vec<_>>().join("/");
    text.push('\n');
    let mut pairs: Vec<(String, String)> = part
        .query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (canonical_value(name), canonical_value(value)))
        .collect();
    crate::sorting::sort_by(&mut pairs, Ord::cmp);
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
    text += &pairs.collect::<Vec<_>>().join("&");
    text.push('\n');
    for (name, value) in headers {
        text += &format!("{name}:{value}\n");
    }
    text += &format!("\n{names}\n{}", hash(part.body));
    text
}

/// A part of a query, escaped as it has to be, whatever else was escaped.
fn canonical_value(text: &str) -> String {
    let bytes: Vec<u8> = percent_decode_str(text).collect();
    percent_encoding::percent_encode(&bytes, UNRESERVED).to_string()
}

fn hash(bytes: &[u8]) -> String {
    to_hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn mac(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, bytes).as_ref().to_vec()
}

#[cfg(test)]
mod tests;
