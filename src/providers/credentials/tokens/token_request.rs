//! One short request to a server that issues credentials, and its whole response.

use crate::outbound::{AddressCache, Target, TargetOptions, error_cause, read_whole_body};
use crate::sys::cancel::Cancel;
use crate::{Error, ErrorClass};
use std::time::Duration;
use ureq::http::Method;

/// How long one request may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest response, in bytes.
const MAX_RESPONSE: u64 = 64 << 10;
/// The most bytes of a response, its head and framing included.
const MAX_BYTES: usize = 256 << 10;

/// A request to a server that issues credentials.
pub(crate) struct TokenRequest<'a> {
    /// What the server is, for errors: `the token endpoint of Google`.
    pub(crate) title: &'a str,
    pub(crate) method: Method,
    pub(crate) url: &'a str,
    /// Their values are secrets.
    pub(crate) headers: &'a [(String, String)],
    /// Empty unless the method has one.
    pub(crate) body: &'a str,
    /// Refuse every host but this machine.
    pub(crate) offline: bool,
    /// At most [`TIMEOUT`].
    pub(crate) timeout: Duration,
}

impl TokenRequest<'_> {
    /// The body of a response with the status 200. Redirects are not followed.
    ///
    /// # Errors
    /// One sentence without secrets, and without anything of the response's body, which may repeat them:
    /// [`ErrorClass::Config`] if the address is invalid or the server redirects,
    /// [`ErrorClass::Authentication`] for a status from 400 to 499,
    /// [`ErrorClass::Server`] for another, [`ErrorClass::Protocol`] for a response that is too long, and those of
    /// the network.
    pub(crate) fn run(&self, cancel: &Cancel) -> Result<Vec<u8>, Error> {
        let title = self.title;
        let timeout = self.timeout.min(TIMEOUT);
        let options = TargetOptions {
            uri: self.url,
            headers: self.headers,
            offline: self.offline,
            connect_timeout: timeout,
            read_timeout: Some(timeout),
            idle_timeout: timeout,
        };
        let target = Target::new(&options, AddressCache::default()).map_err(|why| {
            let message = format!("the address of {title} cannot be used: {why}");
            Error::new(ErrorClass::Config, message)
        })?;
        let connection = target.connection();
        let agent = connection.agent.clone();
        let _hook = cancel.on_cancel(move || agent.shutdown());
        let failed = |class, what: String| {
            let (origin, via_proxy) = (&target.origin, &target.via_proxy);
            Error::new(class, format!("{title} at {origin}{via_proxy} {what}"))
        };
        let of_ureq = |error: ureq::Error| {
            if cancel.is_cancelled() {
                return Error::new(ErrorClass::Cancelled, "the request was cancelled");
            }
            let class = match error {
                ureq::Error::Timeout(_) => ErrorClass::Timeout,
                _ => ErrorClass::Transport,
            };
            failed(class, format!("cannot be used: {}", error_cause(&error)))
        };
        connection.progress.begin_request();
        connection.progress.limit_bytes(MAX_BYTES);
        let agent = &connection.agent;
        let outcome = if self.body.is_empty() && self.method == Method::GET {
            let request = target.request(self.method.clone(), target.uri(), [], ());
            let request = agent.configure_request(request);
            agent.run(request.timeout_global(Some(timeout)).build())
        } else {
            let request = target.request(self.method.clone(), target.uri(), [], self.body);
            let request = agent.configure_request(request);
            agent.run(request.timeout_global(Some(timeout)).build())
        };
        let response = outcome.map_err(of_ureq)?;
        let status = response.status();
        if status.is_redirection() {
            let redirects = target.describe_redirect(response.headers());
            return Err(failed(ErrorClass::Config, redirects));
        }
        if status != 200 {
            let class = match status.as_u16() {
                400..=499 => ErrorClass::Authentication,
                _ => ErrorClass::Server,
            };
            return Err(failed(
                class,
                format!("answered with HTTP {}", status.as_u16()),
            ));
        }
        let bytes = read_whole_body(response.into_body(), MAX_RESPONSE).map_err(of_ureq)?;
        bytes.ok_or_else(|| {
            let what = format!("answered with more than {} KiB", MAX_RESPONSE >> 10);
            failed(ErrorClass::Protocol, what)
        })
    }
}
