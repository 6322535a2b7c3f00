//! What all of AWS's services have: regions, keys that expire, and signed requests.

use super::aws_profile::Profile;
use super::sigv4::{AwsKey, Scope, SignedPart, sign};
use crate::credentials::Parameters;
use crate::credentials::tokens::Fetched;
use crate::sys::clock::{Utc, unix_seconds};
use crate::{Error, ErrorClass};
use std::time::Duration;
use ureq::http::Uri;

/// How long a key without an expiry is kept.
pub(super) const UNLIMITED: Duration = Duration::from_secs(3600);

/// The region of the settings or of the profile.
///
/// # Errors
/// [`ErrorClass::Config`] if there is none, or it cannot be a part of a host's name.
pub(super) fn region(parameters: &Parameters) -> Result<String, Error> {
    let set = ["AWS_REGION", "AWS_DEFAULT_REGION"].map(|name| parameters.get(name));
    let region = set.into_iter().flatten().next().map(str::to_owned);
    let region = region.or_else(|| Profile::read(parameters).get("region").map(str::to_owned));
    let region = region.ok_or_else(|| {
        config("it needs a region: set AWS_REGION, for example to us-east-1".to_owned())
    })?;
    if is_region(&region) {
        Ok(region)
    } else {
        let shown: String = region.escape_debug().take(60).collect();
        Err(config(format!("`{shown}` in AWS_REGION is not a region")))
    }
}

/// Whether a text can be a part of a host's name.
pub(super) fn is_region(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.bytes().all(is_plain)
}

/// The domain of the services of a region.
pub(super) fn domain(region: &str) -> &'static str {
    if region.starts_with("cn-") {
        "amazonaws.com.cn"
    } else {
        "amazonaws.com"
    }
}

/// The headers that sign a request, now, for a region and a service.
pub(super) fn signature(
    method: &str,
    url: &str,
    body: &[u8],
    (region, service): (&str, &str),
    key: &AwsKey,
) -> Result<Vec<(String, String)>, Error> {
    let uri: Uri =
        (url.parse()).map_err(|_| config("its address is not a valid URI".to_owned()))?;
    let part = SignedPart {
        method,
        authority: uri.authority().map_or("", |authority| authority.as_str()),
        path: uri.path(),
        query: uri.query().unwrap_or_default(),
        body,
    };
    let now = Utc::from_unix(unix_seconds()).to_string();
    let scope = Scope {
        region,
        service,
        time: &now.replace(['-', ':'], ""),
    };
    Ok(sign(&part, &scope, key))
}

/// A key that expires at a time in seconds since 1970, or never.
pub(super) fn fetched_key(token: AwsKey, expires: Option<i64>) -> Fetched<AwsKey> {
    let lifetime = expires.map_or(UNLIMITED, |expires| {
        let seconds = expires.saturating_sub(unix_seconds());
        Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
    });
    Fetched { token, lifetime }
}

pub(super) fn config(message: String) -> Error {
    Error::new(ErrorClass::Config, message)
}
