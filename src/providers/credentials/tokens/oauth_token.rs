//! Access tokens of OAuth 2.0 (RFC 6749), asked for with a form.

use super::{Fetched, TIMEOUT, TokenRequest};
use crate::Error;
use crate::sys::cancel::Cancel;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use ureq::http::Method;

/// An access token, and what the next one can be fetched with.
pub(crate) type Issued = (Fetched<String>, Option<String>);

/// The access token that a token endpoint issues for this form. `title` names the endpoint in errors.
///
/// # Errors
/// Those of [`TokenRequest::run`], and [`Protocol`](crate::ErrorClass::Protocol) if the answer is no token.
pub(crate) fn fetch_token(
    title: &str,
    url: &str,
    form: &[(&str, String)],
    offline: bool,
    cancel: &Cancel,
) -> Result<Fetched<String>, Error> {
    fetch_issued(title, url, form, offline, cancel).map(|(access, _)| access)
}

/// As [`fetch_token`], with a token to refresh it, if one is issued.
///
/// # Errors
/// As [`fetch_token`].
pub(crate) fn fetch_issued(
    title: &str,
    url: &str,
    form: &[(&str, String)],
    offline: bool,
    cancel: &Cancel,
) -> Result<Issued, Error> {
    let escaped = |(name, value): &(&str, String)| {
        format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))
    };
    let body: Vec<String> = form.iter().map(escaped).collect();
    let content_type = "application/x-www-form-urlencoded".to_owned();
    let request = TokenRequest {
        title,
        method: Method::POST,
        url,
        headers: &[("Content-Type".to_owned(), content_type)],
        body: &body.join("&"),
        offline,
        timeout: TIMEOUT,
    };
    #[derive(Deserialize)]
    struct Refresh {
        refresh_token: Option<String>,
    }
    let body = request.run(cancel)?;
    let refresh = crate::json::from_slice::<Refresh>(&body).ok();
    let refresh = refresh.and_then(|it| it.refresh_token);
    Ok((parse_token(&body, title)?, refresh))
}

/// The token in a response, and how long it is valid. Some issuers write numbers as text.
///
/// # Errors
/// [`Protocol`](crate::ErrorClass::Protocol) if there is none.
pub(crate) fn parse_token(body: &[u8], title: &str) -> Result<Fetched<String>, Error> {
    #[derive(Deserialize)]
    struct Body {
        access_token: String,
        expires_in: Value,
    }
    let seconds = |value: &Value| match value {
        Value::String(text) => text.parse().ok(),
        number => number.as_u64(),
    };
    let body: Option<Body> = crate::json::from_slice(body).ok();
    let token = body.and_then(|body| {
        Some(Fetched {
            lifetime: Duration::from_secs(seconds(&body.expires_in)?),
            token: body.access_token,
        })
    });
    token.ok_or_else(|| {
        Error::protocol(format!("{title} answered with something else than a token"))
    })
}
