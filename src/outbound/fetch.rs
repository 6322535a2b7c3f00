//! One short request and its whole response, within a time limit.

use super::{AddressCache, Target, TargetOptions, error_cause, read_whole_body};
use gosling_sys::cancel::Cancel;
use std::time::Duration;
use ureq::http::header::{self, HeaderValue};
use ureq::http::{Method, StatusCode};

/// What to fetch.
pub struct Fetch<'a> {
    /// `http` or `https`.
    pub uri: &'a str,
    /// JSON to send with POST; GET if absent.
    pub body: Option<&'a str>,
    /// Refuse every host but this machine.
    pub offline: bool,
    /// How long all of it may take.
    pub timeout: Duration,
    /// The largest response, in bytes.
    pub max: u64,
}

impl Fetch<'_> {
    /// The body of the response. Redirects are not followed.
    ///
    /// # Errors
    /// One sentence without secrets: the address is invalid, there is no complete response in time, or its status
    /// is not 200.
    pub fn run(&self, cancel: &Cancel) -> Result<Vec<u8>, String> {
        let options = TargetOptions {
            uri: self.uri,
            headers: &[],
            offline: self.offline,
            connect_timeout: self.timeout,
            read_timeout: Some(self.timeout),
            idle_timeout: self.timeout,
        };
        let target = Target::new(&options, AddressCache::default())?;
        let connection = target.connection();
        let agent = connection.agent.clone();
        let _hook = cancel.on_cancel(move || agent.shutdown());
        let failed = |cause: String| format!("{}{}: {cause}", target.origin, target.via_proxy);
        let of_ureq = |error: ureq::Error| failed(target.redact(&error_cause(&error)));
        let length = usize::try_from(self.max).unwrap_or(usize::MAX);
        connection.progress.begin_request();
        // The head and the framing of the body are not more than the body may be, and a bit.
        connection
            .progress
            .limit_bytes(length.saturating_mul(2).saturating_add(64 << 10));
        let json = HeaderValue::from_static("application/json");
        let method = self.body.map_or(Method::GET, |_| Method::POST);
        let headers = self.body.map(|_| (header::CONTENT_TYPE, json));
        let agent = &connection.agent;
        let outcome = match self.body {
            Some(body) => {
                let request = target.request(method, target.uri(), headers, body);
                let request = agent.configure_request(request);
                agent.run(request.timeout_global(Some(self.timeout)).build())
            }
            None => {
                let request = target.request(method, target.uri(), headers, ());
                let request = agent.configure_request(request);
                agent.run(request.timeout_global(Some(self.timeout)).build())
            }
        };
        let response = outcome.map_err(of_ureq)?;
        let status = response.status();
        if status.is_redirection() {
            let redirects = target.describe_redirect(response.headers());
            return Err(failed(format!("it {redirects}")));
        }
        if status != StatusCode::OK {
            return Err(failed(format!("it answered with HTTP {}", status.as_u16())));
        }
        let bytes = read_whole_body(response.into_body(), self.max).map_err(of_ureq)?;
        if cancel.is_cancelled() {
            return Err(failed("the request was cancelled".to_owned()));
        }
        let max = self.max >> 10;
        bytes.ok_or_else(|| failed(format!("it answered with more than {max} KiB")))
    }
}
