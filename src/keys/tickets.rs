//! Tickets: what a page puts into a URL in place of a key. A ticket is for one path and a minute, and can do there what
//! the key can with which it was asked for. It is signed, not stored: its key is drawn at the start of the process.

use crate::activity::Caller;
use crate::http::{Error, Request, Response, SERVER};
use crate::key_text;
use crate::sys::clock::unix_seconds;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::json;

/// How a ticket begins.
const PREFIX: &str = "gosling_ticket_";

/// How long a ticket is valid, in seconds.
const LIFETIME: i64 = 60;

/// The longest path, in bytes.
const MAX_PATH: usize = 2_048;

/// The signer of this process.
pub(crate) struct Tickets(Option<hmac::Key>);

impl Tickets {
    /// A signer with a new key. Without random numbers it gives and knows no tickets.
    pub(crate) fn new() -> Self {
        let key = key_text::random().inspect_err(|error| log::error!("no tickets reason={error}"));
        Tickets(key.ok().map(|key| hmac::Key::new(hmac::HMAC_SHA256, &key)))
    }

    /// A ticket of the client `name`, whose key has this hash, for a path until then.
    pub(crate) fn give(&self, name: &str, hash: &str, path: &str, until: i64) -> Option<String> {
        let signature = hmac::sign(self.0.as_ref()?, &signed(name, hash, path, until));
        let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
        Some(format!("{PREFIX}{until}.{name}.{signature}"))
    }

    /// The name of the client that has got this ticket for this path, if it is valid at the moment `now`; `hash_of` says
    /// the hash of the key that a name has now.
    pub(crate) fn read<'a>(
        &self,
        ticket: &'a str,
        path: &str,
        now: i64,
        hash_of: impl FnOnce(&str) -> Option<String>,
    ) -> Option<(&'a str, String)> {
        let (until, rest) = ticket.strip_prefix(PREFIX)?.split_once('.')?;
        let (name, signature) = rest.rsplit_once('.')?;
        let until: i64 = until.parse().ok()?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let hash = hash_of(name)?;
        let signed = signed(name, &hash, path, until);
        hmac::verify(self.0.as_ref()?, &signed, &signature).ok()?;
        (now < until && until <= now + LIFETIME).then_some((name, hash))
    }

    /// `POST /ticket`: a ticket for the path in the body. `hash_of` as for [`read`](Self::read).
    pub(crate) fn answer(
        &self,
        request: &Request,
        hash_of: impl FnOnce(&str) -> Option<String>,
    ) -> Result<Response, Error> {
        gosling_core::json_body!(request => TicketRequest { path: String });
        if !path.starts_with('/') || path.len() > MAX_PATH || path.contains(['?', '#']) {
            let message = "`path` is not the path of a route without a query, such as `/acp`";
            return Err(Error::bad_request(message));
        }
        let caller = Caller::current();
        // The name of a client that a program knows by itself may be that of a key, too.
        if caller.rights.get().is_some() {
            return Err(Error::new(403, "Only clients with a key get tickets"));
        }
        let name = caller.key.get().map_or(SERVER, String::as_str);
        let until = unix_seconds() + LIFETIME;
        let ticket = hash_of(name).and_then(|hash| self.give(name, &hash, &path, until));
        let ticket =
            ticket.ok_or_else(|| Error::new(503, "There are no tickets now: try again later"))?;
        let response = Response::json(&json!({"ticket": ticket, "expires_in": LIFETIME}));
        Ok(response.header("Cache-Control", "no-store"))
    }
}

/// What a signature is about. None of the parts has a zero byte but the path, which is the last.
fn signed(name: &str, hash: &str, path: &str, until: i64) -> Vec<u8> {
    format!("{until}\0{name}\0{hash}\0{path}").into_bytes()
}

#[cfg(test)]
mod tests;
