//! A provider behind HTTP: carries the bytes of any protocol, tries again, and words what went wrong.
//!
//! The thread that asks writes and reads itself. Each exchange has a connection of its own while it lasts, so
//! that cancelling one shuts down its connection and no other; afterwards the connection waits for the next,
//! with its connection open. A look-up of a name or a TCP connect cannot be interrupted: it ends with
//! its own deadline.

#[cfg(feature = "ollama")]
use super::ollama::{Ollama, OllamaOptions};
use super::openai::{OpenAi, OpenAiOptions};
use super::output_limit::{self, LearnedLimits};
use super::protocol::{Decoder, HttpRequest, Protocol};
use super::tool_calls::reject_truncated_call;
use super::{
    Completion, CompletionRequest, DeltaSink, Error, ErrorClass, ModelConfig, Provider,
    classify_error, retry, tool_output,
};
use crate::outbound::error_text::one_line;
use crate::outbound::{
    AddressCache, Connection, Target, TargetOptions, error_cause, is_disconnect, media_type,
    retry_after,
};
use crate::sys::cancel::{Cancel, HookGuard};
use crate::sys::lock;
use std::io::{self, Read};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};
use ureq::http::header::{self, HeaderValue};
use ureq::http::{Method, Response, StatusCode};
use ureq::{Body, BodyReader, Timeout};

/// How long looking up the host's name may take, and then connecting.
const CONNECT: Duration = Duration::from_secs(10);
/// A connection idle for longer is not used again: what lies between may have forgotten it silently.
const IDLE: Duration = Duration::from_secs(30);
/// How many lines are kept for reuse.
const IDLE_LINES: usize = 8;
/// How long the end of a body may take once the answer in it is complete. A connection that is read to
/// its end can be used again.
const LEFTOVER: Duration = Duration::from_millis(25);
/// How long a list of models may take: whoever wants it looks at a form meanwhile.
const LISTING: Duration = Duration::from_secs(30);
/// How long the body of an error may take.
const EXPLAINING: Duration = Duration::from_secs(5);
pub(super) const EXPLANATION: u64 = 64 << 10;
const MODELS: u64 = 4 << 20;
const ANSWER: u64 = 64 << 20;
/// The most bytes of one exchange: an answer in small chunks has about as much around it.
const EXCHANGE: usize = 192 << 20;
const CHUNK: usize = 16 << 10;

/// How a provider is called and treated, whatever it speaks.
#[derive(Clone, Debug)]
pub struct HttpProviderOptions {
    /// Its name in errors, for example `OpenAI`.
    pub title: String,
    /// How long it may say nothing.
    pub timeout: Duration,
    /// Refuse every host but this one.
    pub offline: bool,
    /// What to do when it does not accept the key, for example `set OPENAI_API_KEY`.
    pub key_hint: String,
}

impl HttpProviderOptions {
    /// Options with the defaults: online, ten minutes of silence, no hint.
    pub fn new(title: impl Into<String>) -> Self {
        HttpProviderOptions {
            title: title.into(),
            timeout: Duration::from_secs(600),
            offline: false,
            key_hint: String::new(),
        }
    }
}

/// A provider behind HTTP. Those who share it share its connections.
pub struct HttpProvider {
    name: String,
    protocol: Box<dyn Protocol>,
    options: HttpProviderOptions,
    addresses: AddressCache,
    /// Lines without an exchange, each with the origin that it leads to.
    idle: Mutex<Vec<(String, Connection)>>,
    /// The limits on output that its models refused, as long as the process lives.
    limits: Mutex<LearnedLimits>,
}

/// Why one try failed.
struct Failure {
    error: Error,
    /// How long the provider wants to be left alone.
    after: Option<Duration>,
    /// Nothing speaks for a better end of another try, whatever the class.
    final_word: bool,
    /// What the provider says about the limit on output, if that is what it refuses.
    output: Option<output_limit::LimitError>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure {
            error,
            after: None,
            final_word: false,
            output: None,
        }
    }
}

impl HttpProvider {
    /// A provider that speaks chat completions.
    pub fn openai(
        name: impl Into<String>,
        openai: OpenAiOptions,
        options: HttpProviderOptions,
    ) -> Self {
        HttpProvider::new(name, OpenAi::new(openai), options)
    }

    /// A provider that speaks Ollama's own protocol.
    #[cfg(feature = "ollama")]
    pub fn ollama(
        name: impl Into<String>,
        ollama: OllamaOptions,
        options: HttpProviderOptions,
    ) -> Self {
        HttpProvider::new(name, Ollama::new(ollama), options)
    }

    /// A provider that speaks this protocol.
    pub(super) fn new(
        name: impl Into<String>,
        protocol: impl Protocol + 'static,
        options: HttpProviderOptions,
    ) -> Self {
        HttpProvider {
            name: name.into(),
            protocol: Box::new(protocol),
            options,
            addresses: AddressCache::default(),
            idle: Mutex::default(),
            limits: Mutex::default(),
        }
    }

    /// The request for this question, with this limit on output in the place of the configured one.
    fn http_request(
        &self,
        request: &CompletionRequest<'_>,
        max_tokens: Option<u64>,
    ) -> Result<HttpRequest, Error> {
        let outgoing = if max_tokens == request.model.max_tokens {
            self.protocol.http_request(request)
        } else {
            let model = ModelConfig {
                max_tokens,
                ..request.model.clone()
            };
            self.protocol.http_request(&CompletionRequest {
                model: &model,
                ..*request
            })
        };
        outgoing.map_err(|error| self.titled(error))
    }

    fn target(&self, outgoing: &HttpRequest) -> Result<Target, Error> {
        let options = TargetOptions {
            uri: &outgoing.url,
            headers: &outgoing.headers,
            offline: self.options.offline,
            connect_timeout: CONNECT,
            read_timeout: Some(self.options.timeout),
            idle_timeout: IDLE,
        };
        Target::new(&options, self.addresses.clone()).map_err(|why| {
            let title = &self.options.title;
            let message = format!("The address of {title} cannot be used: {why}");
            Error::new(ErrorClass::Config, message)
        })
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete(
        &self,
        request: &CompletionRequest<'_>,
        cancel: &Cancel,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, Error> {
        let name = &request.model.model_name;
        let mut max_tokens = lock(&self.limits).apply(name, request.model.max_tokens);
        let mut outgoing = self.http_request(request, max_tokens)?;
        let target = self.target(&outgoing)?;
        let mut sink = DeltaWatcher { sink, heard: false };
        let mut attempt = 0;
        // The limit that the provider refused, and what it said.
        let mut refused = None;
        loop {
            let outcome = Exchange::begin(self, &target, cancel)
                .and_then(|exchange| exchange.complete(request, &outgoing, &mut sink));
            let failure = match outcome {
                Ok(completion) => {
                    if let Some((wanted, said)) = refused {
                        lock(&self.limits).learn(name, wanted, said);
                    }
                    return Ok(completion);
                }
                Err(failure) => failure,
            };
            if refused.is_none()
                && let Some(said) = failure.output
                && let Some(lower) = said.lowered(max_tokens)
            {
                log::info!(
                    "limit on output lowered provider={} from={max_tokens:?} to={lower:?}",
                    self.name
                );
                refused = Some((max_tokens, said));
                max_tokens = lower;
                outgoing = self.http_request(request, max_tokens)?;
                continue;
            }
            attempt += 1;
            let wait = if sink.heard || failure.final_word {
                None
            } else {
                retry::wait(failure.error.class, failure.after, attempt, noise())
            };
            let Some(wait) = wait else {
                return Err(failure.error);
            };
            sink.retry(attempt, wait, &failure.error);
            if cancel.wait_timeout(wait) {
                return Err(self.cancelled());
            }
        }
    }

    fn uses_input_size(&self) -> bool {
        self.protocol.uses_input_size()
    }

    fn models(&self, cancel: &Cancel) -> Result<Vec<String>, Error> {
        let outgoing = self.protocol.models_request();
        let target = self.target(&outgoing)?;
        let bytes = Exchange::begin(self, &target, cancel)
            .and_then(|mut exchange| {
                exchange.until = Some(Instant::now() + LISTING);
                exchange.fetch(&outgoing)
            })
            .map_err(|failure| failure.error)?;
        let names = self.protocol.parse_models(&bytes);
        names.map_err(|error| self.worded(&target, error, None))
    }
}

/// One request and its answer, on a connection of its own.
struct Exchange<'a> {
    remote: &'a HttpProvider,
    target: &'a Target,
    connection: Connection,
    cancel: &'a Cancel,
    hook: Option<HookGuard>,
    /// What is asked, unless it is for the list of models.
    question: Option<&'a CompletionRequest<'a>>,
    /// When it has to be over; it may take its time if absent.
    until: Option<Instant>,
}

impl<'a> Exchange<'a> {
    fn begin(
        remote: &'a HttpProvider,
        target: &'a Target,
        cancel: &'a Cancel,
    ) -> Result<Self, Failure> {
        if cancel.is_cancelled() {
            return Err(remote.cancelled().into());
        }
        let connection = remote.take_connection(target);
        let agent = connection.agent.clone();
        Ok(Exchange {
            remote,
            target,
            connection,
            cancel,
            hook: Some(cancel.on_cancel(move || agent.shutdown())),
            question: None,
            until: None,
        })
    }

    fn complete(
        mut self,
        request: &'a CompletionRequest<'a>,
        outgoing: &HttpRequest,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, Failure> {
        self.question = Some(request);
        let mut decoder = self.remote.protocol.decoder(request);
        let response = self.send(outgoing)?;
        let complete = self.read(response, &mut *decoder, sink);
        // What came may be a whole answer although the connection broke behind it.
        let mut completion = match (complete, decoder.finish()) {
            (Ok(()), Ok(completion)) => completion,
            (Err(failure), Ok(completion)) if is_silence(failure.error.class) => completion,
            (Err(failure), _) => return Err(failure),
            (Ok(()), Err(error)) => return Err(self.worded(error).into()),
        };
        self.checked()?;
        reject_truncated_call(&mut completion);
        Ok(completion)
    }

    fn fetch(self, outgoing: &HttpRequest) -> Result<Vec<u8>, Failure> {
        let body = self.send(outgoing)?.into_body();
        let mut bytes = Vec::new();
        (body.into_reader().take(MODELS + 1).read_to_end(&mut bytes))
            .map_err(|error| self.broken(&error.into()))?;
        self.checked()?;
        if bytes.len() as u64 > MODELS {
            return Err(self.too_large(MODELS).into());
        }
        Ok(bytes)
    }

    /// Sends the request and returns the response, if it is a success. A connection that the provider
    /// closed for its age, just as it was to be used again, is replaced once.
    fn send(&self, outgoing: &HttpRequest) -> Result<Response<Body>, Failure> {
        let Connection { agent, progress } = &self.connection;
        let mut first = true;
        let response = loop {
            self.checked()?;
            progress.begin_request();
            if let Some(until) = self.until {
                progress.set_read_deadline(until);
            }
            progress.limit_bytes(EXCHANGE);
            let accept = (
                header::ACCEPT,
                HeaderValue::from_static("application/json, text/event-stream"),
            );
            let json = (
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            );
            let outcome = match &outgoing.body {
                Some(body) => agent.run((self.target).request(
                    Method::POST,
                    self.target.uri(),
                    [accept, json],
                    &body[..],
                )),
                None => {
                    agent.run(
                        self.target
                            .request(Method::GET, self.target.uri(), [accept], ()),
                    )
                }
            };
            match outcome {
                Ok(response) => break response,
                Err(error)
                    if std::mem::take(&mut first)
                        && is_disconnect(&error)
                        && progress.is_stale() => {}
                Err(error) => return Err(self.broken(&error)),
            }
        };
        self.checked()?;
        if response.status().is_success() {
            return self.readable(response);
        }
        Err(self.refused(response))
    }

    /// Hands the body to the decoder until either of them is at its end.
    fn read(
        &self,
        response: Response<Body>,
        decoder: &mut dyn Decoder,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Failure> {
        let mut reader = response.into_body().into_reader();
        let mut chunk = vec![0; CHUNK];
        let mut total = 0;
        loop {
            let read = match reader.read(&mut chunk) {
                // Shut down by the hook, a body without a length looks complete too.
                Ok(0) => return self.checked(),
                Ok(read) => read,
                Err(error) => return Err(self.broken(&error.into())),
            };
            self.checked()?;
            total += read as u64;
            if total > ANSWER {
                return Err(self.too_large(ANSWER).into());
            }
            let complete =
                (decoder.push(&chunk[..read], sink)).map_err(|error| self.worded(error))?;
            sink.idle();
            if complete {
                self.drain(&mut reader, &mut chunk);
                return Ok(());
            }
        }
    }

    /// Reads what is left of a body, if that is little.
    fn drain(&self, reader: &mut BodyReader<'_>, chunk: &mut [u8]) {
        self.connection
            .progress
            .set_read_deadline(Instant::now() + LEFTOVER);
        for _ in 0..4 {
            if !matches!(reader.read(chunk), Ok(1..)) {
                return;
            }
        }
    }

    fn readable(&self, response: Response<Body>) -> Result<Response<Body>, Failure> {
        let title = &self.remote.options.title;
        let wrong = |what: &str| {
            let origin = &self.target.origin;
            let message = format!("{title} at {origin} answered with {what}");
            Err(Error::new(ErrorClass::Protocol, message).into())
        };
        let encoding = response.headers().get(header::CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return wrong("compressed data, which was not asked for");
        }
        if media_type(response.headers()) == "text/html" {
            return wrong("a web page; check the host and the path that are configured for it");
        }
        Ok(response)
    }

    /// Makes an error of a response that is no success.
    fn refused(&self, response: Response<Body>) -> Failure {
        let (head, body) = response.into_parts();
        let title = &self.remote.options.title;
        if head.status.is_redirection() {
            let message = format!(
                "{title} at {} redirects to {}, which is not followed; configure the host where it is",
                self.target.origin,
                self.target.describe_redirect(&head.headers)
            );
            return Error::new(ErrorClass::Config, message).into();
        }
        self.connection
            .progress
            .set_read_deadline(Instant::now() + EXPLAINING);
        let mut bytes = Vec::new();
        // What came before a failure is all there is to show.
        let _ = (body.into_reader().take(EXPLANATION)).read_to_end(&mut bytes);
        if let Err(cancelled) = self.checked() {
            return cancelled;
        }
        let (mut class, words) = self
            .remote
            .protocol
            .classify_failure(head.status.as_u16(), &bytes);
        let mut after = retry_after(&head.headers, SystemTime::now());
        if let ErrorClass::RateLimit { after: said } = &mut class {
            after = after.or(*said);
            *said = after;
        }
        let mut output = match class {
            ErrorClass::ContextExceeded | ErrorClass::Refused => {
                output_limit::parse_limit_error(&words)
            }
            _ => None,
        };
        if matches!(output, Some(output_limit::LimitError::Room(room)) if room < output_limit::MIN_OUTPUT)
        {
            // A summary makes room, a lower limit does not.
            class = ErrorClass::ContextExceeded;
            output = None;
        } else if output.is_none() && self.fails_over_image(head.status.as_u16(), class, &words) {
            class = ErrorClass::Image;
        }
        let error = Error::new(class, words);
        Failure {
            error: self.remote.worded(self.target, error, Some(head.status)),
            after,
            final_word: false,
            output,
        }
    }

    /// Makes an error of what ureq reports.
    fn broken(&self, error: &ureq::Error) -> Failure {
        if let Err(cancelled) = self.checked() {
            return cancelled;
        }
        let HttpProviderOptions { title, timeout, .. } = &self.remote.options;
        let (origin, via_proxy) = (&self.target.origin, &self.target.via_proxy);
        if let ureq::Error::Timeout(Timeout::PerRead) = error {
            let message = match self.until {
                Some(_) => {
                    let seconds = LISTING.as_secs();
                    format!(
                        "{title} at {origin}{via_proxy} did not answer within {seconds} seconds"
                    )
                }
                None => format!(
                    "{title} at {origin}{via_proxy} said nothing for {} seconds; try again, or allow it \
                     more time",
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
            final_word: is_absent(error),
            ..Error::new(ErrorClass::Transport, message).into()
        }
    }

    fn too_large(&self, limit: u64) -> Error {
        let title = &self.remote.options.title;
        let limit = limit >> 20;
        let message = format!("{title} answered with more than {limit} MiB, which is not read");
        Error::new(ErrorClass::Protocol, message)
    }

    fn worded(&self, mut error: Error) -> Error {
        if self.fails_over_image(0, error.class, &error.message) {
            error.class = ErrorClass::Image;
        }
        self.remote.worded(self.target, error, None)
    }

    /// Whether the provider refused an image that was sent. `status` is 0 in mid-stream.
    fn fails_over_image(&self, status: u16, class: ErrorClass, words: &str) -> bool {
        classify_error::is_image_error(status, class, words)
            && (self.question).is_some_and(|request| tool_output::has_images(request.messages))
    }

    /// To be asked after everything that waits.
    fn checked(&self) -> Result<(), Failure> {
        if self.cancel.is_cancelled() {
            return Err(self.remote.cancelled().into());
        }
        Ok(())
    }
}

impl Drop for Exchange<'_> {
    /// Returns the connection for the next exchange, whatever became of this one: ureq itself drops a
    /// connection that is of no more use.
    fn drop(&mut self) {
        drop(self.hook.take());
        // Without the hook, and not cancelled up to now, it will not be shut down any more.
        if !self.cancel.is_cancelled() {
            self.remote.return_line(self.target, &self.connection);
        }
    }
}

impl HttpProvider {
    fn take_connection(&self, target: &Target) -> Connection {
        let mut idle = lock(&self.idle);
        let fits = (idle.iter()).rposition(|(origin, _)| *origin == target.origin);
        match fits {
            Some(at) => idle.swap_remove(at).1,
            None => target.connection(),
        }
    }

    fn return_line(&self, target: &Target, connection: &Connection) {
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE_LINES {
            idle.push((target.origin.clone(), connection.clone()));
        }
    }

    fn cancelled(&self) -> Error {
        let message = format!("The request to {} was cancelled", self.options.title);
        Error::new(ErrorClass::Cancelled, message)
    }

    fn titled(&self, error: Error) -> Error {
        let message = format!("{}: {}", self.options.title, error.message);
        Error::new(error.class, message)
    }

    /// The error in one sentence: whose, what, in which of the provider's words, and what to do.
    fn worded(&self, target: &Target, error: Error, status: Option<StatusCode>) -> Error {
        let HttpProviderOptions {
            title, key_hint, ..
        } = &self.options;
        let code = status.map_or(String::new(), |s| format!(" (HTTP {})", s.as_u16()));
        let said = one_line(&target.redact(&error.message));
        let said = said.trim_end_matches('.');
        let what = match error.class {
            ErrorClass::Authentication => format!("{title} does not let this key in{code}"),
            ErrorClass::Credits => format!("The account with {title} is empty{code}"),
            ErrorClass::RateLimit { .. } => format!("{title} has had too many requests{code}"),
            ErrorClass::ContextExceeded => {
                format!("The conversation is longer than {title}'s model can read{code}")
            }
            ErrorClass::Refused | ErrorClass::Image => format!("{title} refused the request{code}"),
            ErrorClass::Server => format!("{title} failed{code}"),
            _ => format!("{title}{code}"),
        };
        let advice = match error.class {
            ErrorClass::Authentication => key_hint.clone(),
            ErrorClass::Credits => "add to it, or choose another provider".to_owned(),
            ErrorClass::RateLimit { after: Some(after) } => {
                format!("try again in {} s", after.as_secs().max(1))
            }
            ErrorClass::RateLimit { after: None } | ErrorClass::Server => {
                "try again in a while".to_owned()
            }
            ErrorClass::ContextExceeded => "make it shorter, or choose another model".to_owned(),
            ErrorClass::Refused | ErrorClass::Image if status == Some(StatusCode::NOT_FOUND) => {
                "check the name of the model, and the host and path of the provider".to_owned()
            }
            _ => String::new(),
        };
        let said = match said {
            "" => String::new(),
            said => format!(": {said}"),
        };
        let advice = match advice.as_str() {
            "" => advice,
            _ => format!("; {advice}"),
        };
        Error::new(error.class, format!("{what}{said}{advice}"))
    }
}

/// Knows whether anything was said.
struct DeltaWatcher<'a> {
    sink: &'a mut dyn DeltaSink,
    heard: bool,
}

impl DeltaSink for DeltaWatcher<'_> {
    fn begin(&mut self, id: Option<&str>) {
        self.sink.begin(id);
    }

    fn text(&mut self, text: &str) {
        self.heard = true;
        self.sink.text(text);
    }

    fn reasoning(&mut self, text: &str) {
        self.heard = true;
        self.sink.reasoning(text);
    }

    fn idle(&mut self) {
        self.sink.idle();
    }

    fn retry(&mut self, attempt: u32, wait: Duration, reason: &Error) {
        self.sink.retry(attempt, wait, reason);
    }
}

/// Nothing more came, for whatever reason.
fn is_silence(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Transport | ErrorClass::Timeout)
}

/// Nobody is there: another try in a second finds nobody either, and whoever waits should know now.
fn is_absent(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound => true,
        ureq::Error::Io(e) => e.kind() == io::ErrorKind::ConnectionRefused,
        _ => false,
    }
}

fn noise() -> u8 {
    let mut byte = [128];
    // Without noise the wait is the plain one.
    let _ = getrandom::getrandom(&mut byte);
    byte[0]
}
