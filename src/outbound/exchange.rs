//! A request and its response on a [`Connection`]: what is the same for models and for MCP servers.

use super::{Connection, is_disconnect};
use std::io::Read;
use std::time::{Duration, Instant};
use ureq::http::header::{self, HeaderMap};
use ureq::http::{Request, Response};
use ureq::{AsSendBody, Body, Error};

/// How much memory a body of any length gets before it comes, in bytes.
const MAX_FIRST_CAPACITY: u64 = 16 << 10;

impl Connection {
    /// Sends the request that `prepare` makes, which fails if the caller has given up, and returns the head of the
    /// response, whatever its status. `limit` sets the limits on what may be read.
    ///
    /// If the server closed an idle connection just before it was reused, the request is sent once more on a new
    /// one, provided that it was not written completely or `is_repeatable`.
    ///
    /// # Errors
    /// That of `prepare`, and what `describe` makes of an error of ureq.
    pub fn send<B: AsSendBody, E>(
        &self,
        prepare: impl Fn() -> Result<Request<B>, E>,
        limit: impl Fn(),
        is_repeatable: impl Fn() -> bool,
        describe: impl Fn(&Error) -> E,
    ) -> Result<Response<Body>, E> {
        let Connection { agent, progress } = self;
        let mut is_first = true;
        loop {
            let request = prepare()?;
            progress.begin_request();
            limit();
            let error = match agent.run(request) {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            let is_stale = is_disconnect(&error) && progress.is_stale();
            let may_repeat = || !progress.is_written() || is_repeatable();
            if !(std::mem::take(&mut is_first) && is_stale && may_repeat()) {
                return Err(describe(&error));
            }
        }
    }

    /// The beginning of a body that explains an error or is not needed, of at most `max` bytes and within
    /// `timeout`. If the read fails, it is what came before.
    pub fn read_short_body(&self, body: Body, max: u64, timeout: Duration) -> Vec<u8> {
        self.end_reads_within(timeout);
        let mut bytes = Vec::new();
        let _ = body.into_reader().take(max).read_to_end(&mut bytes);
        bytes
    }

    /// Lets the rest of a response take no longer than this. Only a connection that is read to its end can be
    /// reused.
    pub fn end_reads_within(&self, timeout: Duration) {
        self.progress.set_read_deadline(Instant::now() + timeout);
    }
}

/// A whole body; `None` if it has more than `max` bytes.
///
/// # Errors
/// When the connection breaks, or a limit on time or bytes is met.
pub fn read_whole_body(body: Body, max: u64) -> Result<Option<Vec<u8>>, Error> {
    let length = body.content_length().unwrap_or_default();
    if length > max {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(length.min(MAX_FIRST_CAPACITY) as usize);
    body.into_reader().take(max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max).then_some(bytes))
}

/// Whether a body is compressed, which no request asks for.
pub fn is_compressed(headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(header::CONTENT_ENCODING).iter();
    all.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}
