//! The login of a device: the user enters a code in a browser, and the program polls for the token.
//!
//! RFC 8628; <https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#device-flow>

use super::{editor_headers, host, is_token};
use crate::credentials::Parameters;
use crate::credentials::tokens::{TIMEOUT, TokenRequest};
use crate::sys::cancel::Cancel;
use crate::{Error, ErrorClass};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use ureq::http::Method;

/// The app of GitHub for editors with Copilot, as in Goose.
const CLIENT_ID: &str = "Iv1.b507a08c87ecfe98";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// How long the user may take at most, in seconds.
const MAX_SECONDS: u64 = 900;
/// The poll interval unless the server says another, and what `slow_down` adds, in seconds.
const INTERVAL: u64 = 5;
const MAX_INTERVAL: u64 = 60;
/// The longest code that is shown, in characters.
const MAX_CODE: usize = 32;

#[derive(Deserialize)]
struct Code {
    device_code: String,
    user_code: String,
    verification_uri: String,
    expires_in: Option<u64>,
    interval: Option<u64>,
}

#[derive(Deserialize)]
struct Poll {
    access_token: Option<String>,
    error: Option<String>,
    interval: Option<u64>,
}

/// Signs in; see [`Login`](crate::credentials::Login).
pub(super) fn login(
    parameters: &Parameters,
    offline: bool,
    cancel: &Cancel,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<(&'static str, String)>, Error> {
    let host = host(parameters);
    let body = json!({"client_id": CLIENT_ID, "scope": "read:user"});
    let code: Code = post(&format!("{host}/login/device/code"), &body, offline, cancel)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_shown = code.user_code.len() <= MAX_CODE && code.user_code.chars().all(is_plain);
    let path = code.verification_uri.strip_prefix(&host);
    let is_safe = |c: char| is_plain(c) || "/_.".contains(c);
    let is_there = path.is_some_and(|path| path.starts_with('/') && path.chars().all(is_safe));
    if !is_shown || !is_there || code.verification_uri.len() > 200 {
        return Err(wrong("a code that cannot be shown"));
    }
    progress(&format!(
        "open {} in a browser and enter the code {}",
        code.verification_uri, code.user_code
    ));
    let limit = code.expires_in.unwrap_or(MAX_SECONDS).min(MAX_SECONDS);
    let deadline = Instant::now() + Duration::from_secs(limit);
    let mut interval = code.interval.unwrap_or(INTERVAL);
    let body =
        json!({"client_id": CLIENT_ID, "device_code": code.device_code, "grant_type": GRANT});
    loop {
        interval = interval.clamp(1, MAX_INTERVAL);
        if cancel.wait_timeout(Duration::from_secs(interval)) {
            let message = "the login was cancelled";
            return Err(Error::new(ErrorClass::Cancelled, message));
        }
        if Instant::now() >= deadline {
            return Err(expired());
        }
        let url = format!("{host}/login/oauth/access_token");
        let poll: Poll = post(&url, &body, offline, cancel)?;
        match (poll.access_token, poll.error.as_deref()) {
            (Some(token), _) if is_token(&token) => {
                return Ok(vec![("GITHUB_COPILOT_TOKEN", token)]);
            }
            (Some(_), _) => return Err(wrong("a token that cannot be sent")),
            (None, Some("authorization_pending")) => {}
            (None, Some("slow_down")) => {
                interval = poll.interval.unwrap_or(interval.saturating_add(INTERVAL));
            }
            (None, Some("expired_token")) => return Err(expired()),
            (None, Some("access_denied")) => {
                let message = "the login was refused in the browser";
                return Err(Error::new(ErrorClass::Authentication, message));
            }
            (None, _) => return Err(wrong("something else than a token")),
        }
    }
}

fn post<T: DeserializeOwned>(
    url: &str,
    body: &Value,
    offline: bool,
    cancel: &Cancel,
) -> Result<T, Error> {
    let mut headers = editor_headers();
    for name in ["Accept", "Content-Type"] {
        headers.push((name.to_owned(), "application/json".to_owned()));
    }
    let request = TokenRequest {
        title: "the login of GitHub",
        method: Method::POST,
        url,
        headers: &headers,
        body: &body.to_string(),
        offline,
        timeout: TIMEOUT,
    };
    let body = request.run(cancel)?;
    crate::json::from_slice(&body).map_err(|_| wrong("something else than JSON"))
}

fn expired() -> Error {
    let message = "the code has expired before it was entered; sign in again";
    Error::new(ErrorClass::Timeout, message)
}

fn wrong(what: &str) -> Error {
    Error::protocol(format!("the login of GitHub answered with {what}"))
}
