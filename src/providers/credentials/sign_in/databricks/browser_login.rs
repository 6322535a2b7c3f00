//! The login in a browser: the authorization code grant with PKCE (RFC 6749 §4.1, RFC 7636), whose redirect comes to a
//! port of this machine (RFC 8252 §7.3).

use super::{CLIENT, HOST, REFRESH, TITLE, token_url};
use crate::credentials::Parameters;
use crate::credentials::tokens::oauth_token::fetch_issued;
use crate::outbound::is_loopback_url;
use crate::server_url::{base_url, origin};
use crate::sys::cancel::Cancel;
use crate::sys::random_hex;
use crate::{Error, ErrorClass};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The port that Databricks lets its app for command lines be redirected to.
const PORT: u16 = 8020;
/// How long the user may take.
const LIMIT: Duration = Duration::from_secs(900);
/// How often the port is looked at.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long one connection may take, and the most bytes of it that are read.
const READ_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_REQUEST: u64 = 16 << 10;

/// Signs in; see [`Login`](crate::credentials::Login).
pub(super) fn login(
    parameters: &Parameters,
    offline: bool,
    cancel: &Cancel,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<(&'static str, String)>, Error> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Error::new(ErrorClass::Config, format!("{what}: {error}"))
    };
    let Some(host) = parameters.get(HOST) else {
        let message = format!("it needs {HOST}, the URL of a workspace");
        return Err(Error::new(ErrorClass::Config, message));
    };
    let url = base_url(host);
    let workspace = origin(&url);
    if offline && !is_loopback_url(workspace) {
        let message = "it is on another machine, and gosling runs offline";
        return Err(Error::new(ErrorClass::Config, message));
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT));
    let listener = listener.map_err(|error| failed("the port 8020 cannot be used", &error))?;
    let set = listener.set_nonblocking(true);
    set.map_err(|error| failed("the port 8020 cannot be used", &error))?;
    let random = || random_hex(32).map_err(|error| failed("there are no random bytes", &error));
    let (verifier, state) = (random()?, random()?);
    let digest = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    let redirect = format!("http://localhost:{PORT}");
    let escaped = utf8_percent_encode(&redirect, NON_ALPHANUMERIC);
    progress(&format!(
        "open {workspace}/oidc/v1/authorize?client_id={CLIENT}&response_type=code\
         &redirect_uri={escaped}&scope=all-apis+offline_access&state={state}\
         &code_challenge={}&code_challenge_method=S256 in a browser of this machine",
        URL_SAFE_NO_PAD.encode(digest)
    ));
    let code = wait_for_code(&listener, &state, cancel)?;
    let form = [
        ("grant_type", "authorization_code".to_owned()),
        ("client_id", CLIENT.to_owned()),
        ("code", code),
        ("code_verifier", verifier),
        ("redirect_uri", redirect),
    ];
    let (_, refresh) = fetch_issued(TITLE, &token_url(host), &form, offline, cancel)?;
    let without = || Error::protocol(format!("{TITLE} answered without a refresh token"));
    let refresh = refresh.ok_or_else(without)?;
    Ok(vec![(REFRESH, refresh)])
}

/// The code of the redirect with this state.
fn wait_for_code(listener: &TcpListener, state: &str, cancel: &Cancel) -> Result<String, Error> {
    let deadline = Instant::now() + LIMIT;
    loop {
        match listener.accept() {
            // A browser asks for other things, too, and other programs may ask for anything.
            Ok((connection, _)) => {
                if let Some(answer) = serve(connection, state) {
                    return answer;
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if cancel.wait_timeout(INTERVAL) {
                    let message = "the login was cancelled";
                    return Err(Error::new(ErrorClass::Cancelled, message));
                }
            }
            Err(error) => {
                let message = format!("the port 8020 cannot be used: {error}");
                return Err(Error::new(ErrorClass::Config, message));
            }
        }
        if Instant::now() >= deadline {
            let message = "no login came from the browser in 15 minutes";
            return Err(Error::new(ErrorClass::Timeout, message));
        }
    }
}

/// Answers a request; the outcome if it is the redirect.
fn serve(mut connection: TcpStream, state: &str) -> Option<Result<String, Error>> {
    let line = request_line(&connection)?;
    let outcome = outcome_of(&line, state);
    let (status, text) = match &outcome {
        None => ("404 Not Found", "Not the end of this login."),
        Some(Ok(_)) => ("200 OK", "gosling is signed in. You can close this page."),
        Some(Err(_)) => ("200 OK", "The login was refused. You can close this page."),
    };
    // Whether the browser reads it does not matter.
    let _ = write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    outcome
}

/// The first line of a request whose head is complete.
fn request_line(connection: &TcpStream) -> Option<String> {
    connection.set_nonblocking(false).ok()?;
    connection.set_read_timeout(Some(READ_TIMEOUT)).ok()?;
    connection.set_write_timeout(Some(READ_TIMEOUT)).ok()?;
    let until = Instant::now() + READ_TIMEOUT;
    let (mut head, mut piece) = (Vec::new(), [0; 1024]);
    let mut limited = connection.take(MAX_REQUEST);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = match limited.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.ok().filter(|count| *count > 0)?,
        };
        head.extend_from_slice(&piece[..count]);
        if Instant::now() >= until {
            return None;
        }
    }
    let line = head.split(|byte| *byte == b'\r').next()?;
    String::from_utf8(line.to_vec()).ok()
}

/// What the redirect says; `None` if the request is another one.
fn outcome_of(line: &str, state: &str) -> Option<Result<String, Error>> {
    let target = line.strip_prefix("GET /?")?.split(' ').next()?;
    let find = |wanted: &str| {
        let mut pairs = target.split('&').filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.find(|(name, _)| *name == wanted)?;
        let value = percent_decode_str(value).decode_utf8().ok()?;
        Some(value.into_owned())
    };
    if find("state")? != state {
        return None;
    }
    match (find("code"), find("error")) {
        (Some(code), None) => Some(Ok(code)),
        (_, Some(_)) => {
            let message = "the login was refused in the browser";
            Some(Err(Error::new(ErrorClass::Authentication, message)))
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;
