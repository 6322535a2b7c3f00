//! One HTTP request of a provider and its response: sends, reads, classifies what fails.

use super::{Failure, HttpProvider, HttpProviderOptions, MAX_ERROR_BODY};
use crate::message_parts::has_images;
use crate::model_output::reject_truncated_call;
use crate::outbound::error_text::one_line;
use crate::outbound::{
    Connection, Target, error_cause, is_compressed, media_type, read_whole_body, retry_after,
};
use crate::output_limit;
use crate::request_form::RequestForm;
use crate::sys::cancel::{Cancel, HookGuard};
use crate::wire_protocol::{Decoder, HttpRequest};
use crate::{Completion, CompletionRequest, DeltaSink, Error, ErrorClass, classify_error};
use std::io::{self, Read};
use std::time::{Duration, Instant, SystemTime};
use ureq::http::header::{self, HeaderName, HeaderValue};
use ureq::http::{Method, Response};
use ureq::{AsSendBody, Body, BodyReader, Timeout};

/// How long the rest of a body may take after the completion in it is complete. Only a connection that is
/// read to its end can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(25);
/// How long the body of an error may take.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_MODEL_LIST: u64 = 4 << 20;
const MAX_BODY: u64 = 64 << 20;
/// The most bytes of one response, framing included: a body in small chunks has about as many bytes of
/// framing.
const MAX_RESPONSE: usize = 192 << 20;
const READ_BUFFER: usize = 16 << 10;

/// One HTTP request and its response, on a connection of its own.
pub(super) struct Exchange<'a> {
    provider: &'a HttpProvider,
    target: &'a Target,
    connection: Connection,
    cancel: &'a Cancel,
    hook: Option<HookGuard>,
    /// The completion request; none for the list of models.
    request: Option<&'a CompletionRequest<'a>>,
    /// When the exchange has to be over; unlimited if absent.
    deadline: Option<(Instant, Duration)>,
}

impl<'a> Exchange<'a> {
    pub(super) fn begin(
        provider: &'a HttpProvider,
        target: &'a Target,
        cancel: &'a Cancel,
    ) -> Result<Self, Failure> {
        if cancel.is_cancelled() {
            return Err(provider.cancelled().into());
        }
        let connection = provider.take_connection(target);
        let agent = connection.agent.clone();
        Ok(Exchange {
            provider,
            target,
            connection,
            cancel,
            hook: Some(cancel.on_cancel(move || agent.shutdown())),
            request: None,
            deadline: None,
        })
    }

    pub(super) fn complete(
        mut self,
        request: &'a CompletionRequest<'a>,
        form: &RequestForm,
        outgoing: &HttpRequest,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, Failure> {
        self.request = Some(request);
        let mut decoder = self.provider.protocol.decoder(request, form);
        let response = self.send(outgoing)?;
        let complete = self.read(response, &mut *decoder, sink);
        // The completion may be complete although the connection broke afterwards.
        let mut completion = match (complete, decoder.finish()) {
            (Ok(()), Ok(completion)) => completion,
            (Err(failure), Ok(completion)) if is_end_of_input(failure.error.class) => completion,
            (Err(failure), _) => return Err(failure),
            (Ok(()), Err(error)) => return Err(self.describe(error).into()),
        };
        self.check_cancelled()?;
        reject_truncated_call(&mut completion);
        Ok(completion)
    }

    /// Sends a request, for example for the list of models, and returns its body within `limit`.
    pub(super) fn fetch(
        mut self,
        outgoing: &HttpRequest,
        limit: Duration,
    ) -> Result<Vec<u8>, Failure> {
        self.deadline = Some((Instant::now() + limit, limit));
        let bytes = read_whole_body(self.send(outgoing)?.into_body(), MAX_MODEL_LIST)
            .map_err(|error| self.transport_failure(&error))?;
        self.check_cancelled()?;
        bytes.ok_or_else(|| self.too_large(MAX_MODEL_LIST).into())
    }

    /// Sends the request and returns a successful response.
    fn send(&self, outgoing: &HttpRequest) -> Result<Response<Body>, Failure> {
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        let accept = (header::ACCEPT, accept);
        let json = HeaderValue::from_static("application/json");
        let json = (header::CONTENT_TYPE, json);
        let response = match &outgoing.body {
            Some(body) => self.run(Method::POST, &[accept, json], &body[..]),
            None => self.run(Method::GET, &[accept], ()),
        }?;
        self.check_cancelled()?;
        if response.status().is_success() {
            return self.check_content(response);
        }
        Err(self.error_response(response))
    }

    fn run<B: AsSendBody + Copy>(
        &self,
        method: Method,
        headers: &[(HeaderName, HeaderValue)],
        body: B,
    ) -> Result<Response<Body>, Failure> {
        let prepare = || {
            self.check_cancelled()?;
            let (method, headers) = (method.clone(), headers.iter().cloned());
            let uri = self.target.uri();
            Ok(self.target.request(method, uri, headers, body))
        };
        let progress = &self.connection.progress;
        let limit = || {
            progress.limit_bytes(MAX_RESPONSE);
            if let Some((deadline, _)) = self.deadline {
                progress.set_read_deadline(deadline);
            }
        };
        let describe = |error: &ureq::Error| self.transport_failure(error);
        self.connection.send(prepare, limit, || true, describe)
    }

    /// Passes the body to the decoder until the completion is complete or the body ends.
    fn read(
        &self,
        response: Response<Body>,
        decoder: &mut dyn Decoder,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Failure> {
        let mut reader = response.into_body().into_reader();
        let mut chunk = vec![0; READ_BUFFER];
        let mut total = 0;
        loop {
            let read = match reader.read(&mut chunk) {
                // A body without a length also ends when the cancel hook shuts the connection down.
                Ok(0) => return self.check_cancelled(),
                Ok(read) => read,
                Err(error) => return Err(self.transport_failure(&error.into())),
            };
            self.check_cancelled()?;
            total += read as u64;
            if total > MAX_BODY {
                return Err(self.too_large(MAX_BODY).into());
            }
            let complete =
                (decoder.push(&chunk[..read], sink)).map_err(|error| self.describe(error))?;
            sink.idle();
            if complete {
                self.drain(&mut reader, &mut chunk);
                return Ok(());
            }
        }
    }

    /// Reads the rest of a body, if it is short.
    fn drain(&self, reader: &mut BodyReader<'_>, chunk: &mut [u8]) {
        self.connection.end_reads_within(DRAIN_TIMEOUT);
        for _ in 0..4 {
            if !matches!(reader.read(chunk), Ok(1..)) {
                return;
            }
        }
    }

    /// Rejects a response that no decoder can read.
    fn check_content(&self, response: Response<Body>) -> Result<Response<Body>, Failure> {
        let title = &self.provider.options.title;
        let wrong = |what: &str| {
            let origin = &self.target.origin;
            let message = format!("{title} at {origin} answered with {what}");
            Err(Error::new(ErrorClass::Protocol, message).into())
        };
        if is_compressed(response.headers()) {
            return wrong("compressed data, which was not asked for");
        }
        if media_type(response.headers()) == "text/html" {
            return wrong("a web page; check the host and the path that are configured for it");
        }
        Ok(response)
    }

    /// The failure for a response that is not successful.
    fn error_response(&self, response: Response<Body>) -> Failure {
        let (head, body) = response.into_parts();
        let title = &self.provider.options.title;
        if head.status.is_redirection() {
            let message = format!(
                "{title} at {} {}; configure the host where it is",
                self.target.origin,
                self.target.describe_redirect(&head.headers)
            );
            return Error::new(ErrorClass::Config, message).into();
        }
        let bytes = (self.connection).read_short_body(body, MAX_ERROR_BODY, ERROR_BODY_TIMEOUT);
        if let Err(cancelled) = self.check_cancelled() {
            return cancelled;
        }
        let (mut class, words) = self
            .provider
            .protocol
            .classify_failure(head.status.as_u16(), &bytes);
        let mut after = retry_after(&head.headers, SystemTime::now());
        if let ErrorClass::RateLimit { after: in_body } = &mut class {
            after = after.or(*in_body);
            *in_body = after;
        }
        let mut limit_error = match class {
            ErrorClass::ContextExceeded | ErrorClass::Refused => {
                output_limit::parse_limit_error(&words)
            }
            _ => None,
        };
        if matches!(limit_error, Some(output_limit::LimitError::Room(room)) if room < crate::MIN_OUTPUT)
        {
            // Only a shorter conversation helps, not a lower limit.
            class = ErrorClass::ContextExceeded;
            limit_error = None;
        } else if limit_error.is_none() && self.is_image_error(head.status.as_u16(), class, &words)
        {
            class = ErrorClass::Image;
        }
        let refusal = Some((head.status.as_u16(), words.clone()));
        let error = Error::new(class, words);
        let error = (self.provider).describe(self.target, error, Some(head.status));
        Failure {
            after,
            limit_error,
            refusal,
            ..error.into()
        }
    }

    /// The failure for an error of ureq.
    fn transport_failure(&self, error: &ureq::Error) -> Failure {
        if let Err(cancelled) = self.check_cancelled() {
            return cancelled;
        }
        let HttpProviderOptions { title, timeout, .. } = &self.provider.options;
        let (origin, via_proxy) = (&self.target.origin, &self.target.via_proxy);
        if let ureq::Error::Timeout(Timeout::PerRead) = error {
            let message = match self.deadline {
                Some((_, limit)) => {
                    let seconds = limit.as_secs_f32().ceil();
                    format!(
                        "{title} at {origin}{via_proxy} did not answer within {seconds} seconds"
                    )
                }
                None => format!(
                    "{title} at {origin}{via_proxy} sent nothing for {} seconds; try again, or raise its \
                     timeout",
                    timeout.as_secs_f32()
                ),
            };
            return Error::new(ErrorClass::Timeout, message).into();
        }
        let cause = one_line(&self.target.redact(&error_cause(error)));
        let message = if self.connection.progress.is_written() {
            format!("The connection to {title} at {origin}{via_proxy} broke: {cause}")
        } else {
            format!("Cannot reach {title} at {origin}{via_proxy}: {cause}")
        };
        Failure {
            is_final: is_unreachable(error),
            ..Error::new(ErrorClass::Transport, message).into()
        }
    }

    fn too_large(&self, limit: u64) -> Error {
        let title = &self.provider.options.title;
        let limit = limit >> 20;
        let message = format!("{title} answered with more than {limit} MiB, which is not read");
        Error::new(ErrorClass::Protocol, message)
    }

    fn describe(&self, mut error: Error) -> Error {
        if self.is_image_error(0, error.class, &error.message) {
            error.class = ErrorClass::Image;
        }
        self.provider.describe(self.target, error, None)
    }

    /// Whether the provider refused an image of the request. `status` is 0 for an error in the stream.
    fn is_image_error(&self, status: u16, class: ErrorClass, words: &str) -> bool {
        classify_error::is_image_error(status, class, words)
            && (self.request).is_some_and(|request| has_images(request.messages))
    }

    /// Fails if the caller has cancelled the request. Called after every wait.
    fn check_cancelled(&self) -> Result<(), Failure> {
        if self.cancel.is_cancelled() {
            return Err(self.provider.cancelled().into());
        }
        Ok(())
    }
}

impl Drop for Exchange<'_> {
    /// Keeps the connection for the next exchange, even after an error: ureq itself closes a connection that
    /// cannot be reused.
    fn drop(&mut self) {
        drop(self.hook.take());
        // The hook is gone: if it has not run by now, it will not shut the connection down any more.
        if !self.cancel.is_cancelled() {
            self.provider.keep_connection(self.target, &self.connection);
        }
    }
}

/// Whether the class means that no more bytes came.
fn is_end_of_input(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Transport | ErrorClass::Timeout)
}

/// Whether no server is there. A retry within seconds would fail too, so the user gets the error at once.
fn is_unreachable(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound => true,
        ureq::Error::Io(e) => e.kind() == io::ErrorKind::ConnectionRefused,
        _ => false,
    }
}
