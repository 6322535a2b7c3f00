//! A provider behind HTTP: carries the bytes of any protocol, tries again, and words what went wrong.
//!
//! The thread that asks writes and reads itself. Each exchange has a line of its own while it lasts, so
//! that cancelling one shuts down its connection and no other; afterwards the line waits for the next,
//! with its connection open. A look-up of a name or a TCP connect cannot be interrupted: it ends with
//! its own deadline.

use super::calls::reject_cut_off;
#[cfg(feature = "ollama")]
use super::ollama::{Ollama, OllamaOptions};
use super::openai::{OpenAi, OpenAiOptions};
use super::output_limit::{self, Limits};
use super::protocol::{Decoder, Outgoing, Protocol};
use super::{Answer, Ask, Class, Error, Listener, ModelConfig, Provider, failure, parts, retry};
use crate::outbound::said::shown;
use crate::outbound::{Addresses, Line, Place, Target, cause, is_broken, media_type, retry_after};
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
pub struct RemoteOptions {
    /// Its name in errors, for example `OpenAI`.
    pub title: String,
    /// How long it may say nothing.
    pub timeout: Duration,
    /// Refuse every host but this one.
    pub offline: bool,
    /// What to do when it does not accept the key, for example `set OPENAI_API_KEY`.
    pub key_hint: String,
}

impl RemoteOptions {
    /// Options with the defaults: online, ten minutes of silence, no hint.
    pub fn new(title: impl Into<String>) -> Self {
        RemoteOptions {
            title: title.into(),
            timeout: Duration::from_secs(600),
            offline: false,
            key_hint: String::new(),
        }
    }
}

/// A provider behind HTTP. Those who share it share its connections.
pub struct Remote {
    name: String,
    protocol: Box<dyn Protocol>,
    options: RemoteOptions,
    addresses: Addresses,
    /// Lines without an exchange, each with the origin that it leads to.
    idle: Mutex<Vec<(String, Line)>>,
    /// The limits on output that its models refused, as long as the process lives.
    limits: Mutex<Limits>,
}

/// Why one try failed.
struct Failure {
    error: Error,
    /// How long the provider wants to be left alone.
    after: Option<Duration>,
    /// Nothing speaks for a better end of another try, whatever the class.
    final_word: bool,
    /// What the provider says about the limit on output, if that is what it refuses.
    output: Option<output_limit::Said>,
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

impl Remote {
    /// A provider that speaks chat completions.
    pub fn openai(name: impl Into<String>, openai: OpenAiOptions, options: RemoteOptions) -> Self {
        Remote::new(name, OpenAi::new(openai), options)
    }

    /// A provider that speaks Ollama's own protocol.
    #[cfg(feature = "ollama")]
    pub fn ollama(name: impl Into<String>, ollama: OllamaOptions, options: RemoteOptions) -> Self {
        Remote::new(name, Ollama::new(ollama), options)
    }

    /// A provider that speaks this protocol.
    pub(super) fn new(
        name: impl Into<String>,
        protocol: impl Protocol + 'static,
        options: RemoteOptions,
    ) -> Self {
        Remote {
            name: name.into(),
            protocol: Box::new(protocol),
            options,
            addresses: Addresses::default(),
            idle: Mutex::default(),
            limits: Mutex::default(),
        }
    }

    /// The request for this question, with this limit on output in the place of the configured one.
    fn request(&self, ask: &Ask<'_>, max_tokens: Option<u64>) -> Result<Outgoing, Error> {
        let outgoing = if max_tokens == ask.model.max_tokens {
            self.protocol.request(ask)
        } else {
            let model = ModelConfig {
                max_tokens,
                ..ask.model.clone()
            };
            self.protocol.request(&Ask {
                model: &model,
                ..*ask
            })
        };
        outgoing.map_err(|error| self.titled(error))
    }

    fn target(&self, outgoing: &Outgoing) -> Result<Target, Error> {
        let place = Place {
            uri: &outgoing.url,
            headers: &outgoing.headers,
            offline: self.options.offline,
            connect_timeout: CONNECT,
            silence: Some(self.options.timeout),
            idle: IDLE,
        };
        Target::new(&place, self.addresses.clone()).map_err(|why| {
            let title = &self.options.title;
            let message = format!("The address of {title} cannot be used: {why}");
            Error::new(Class::Config, message)
        })
    }
}

impl Provider for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    fn ask(
        &self,
        ask: &Ask<'_>,
        cancel: &Cancel,
        listener: &mut dyn Listener,
    ) -> Result<Answer, Error> {
        let name = &ask.model.model_name;
        let mut max_tokens = lock(&self.limits).apply(name, ask.model.max_tokens);
        let mut outgoing = self.request(ask, max_tokens)?;
        let target = self.target(&outgoing)?;
        let mut listener = Heard {
            listener,
            heard: false,
        };
        let mut attempt = 0;
        // The limit that the provider refused, and what it said.
        let mut refused = None;
        loop {
            let outcome = Exchange::begin(self, &target, cancel)
                .and_then(|exchange| exchange.ask(ask, &outgoing, &mut listener));
            let failure = match outcome {
                Ok(answer) => {
                    if let Some((wanted, said)) = refused {
                        lock(&self.limits).learn(name, wanted, said);
                    }
                    return Ok(answer);
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
                outgoing = self.request(ask, max_tokens)?;
                continue;
            }
            attempt += 1;
            let wait = match listener.heard || failure.final_word {
                true => None,
                false => retry::wait(failure.error.class, failure.after, attempt, noise()),
            };
            let Some(wait) = wait else {
                return Err(failure.error);
            };
            listener.retry(attempt, wait, &failure.error);
            if cancel.wait_timeout(wait) {
                return Err(self.cancelled());
            }
        }
    }

    fn uses_input_size(&self) -> bool {
        self.protocol.uses_input_size()
    }

    fn models(&self, cancel: &Cancel) -> Result<Vec<String>, Error> {
        let outgoing = self.protocol.list_models();
        let target = self.target(&outgoing)?;
        let bytes = Exchange::begin(self, &target, cancel)
            .and_then(|mut exchange| {
                exchange.until = Some(Instant::now() + LISTING);
                exchange.fetch(&outgoing)
            })
            .map_err(|failure| failure.error)?;
        let names = self.protocol.read_models(&bytes);
        names.map_err(|error| self.worded(&target, error, None))
    }
}

/// One request and its answer, on a line of its own.
struct Exchange<'a> {
    remote: &'a Remote,
    target: &'a Target,
    line: Line,
    cancel: &'a Cancel,
    hook: Option<HookGuard>,
    /// What is asked, unless it is for the list of models.
    question: Option<&'a Ask<'a>>,
    /// When it has to be over; it may take its time if absent.
    until: Option<Instant>,
}

impl<'a> Exchange<'a> {
    fn begin(remote: &'a Remote, target: &'a Target, cancel: &'a Cancel) -> Result<Self, Failure> {
        if cancel.is_cancelled() {
            return Err(remote.cancelled().into());
        }
        let line = remote.line(target);
        let agent = line.agent.clone();
        Ok(Exchange {
            remote,
            target,
            line,
            cancel,
            hook: Some(cancel.on_cancel(move || agent.shutdown())),
            question: None,
            until: None,
        })
    }

    fn ask(
        mut self,
        ask: &'a Ask<'a>,
        outgoing: &Outgoing,
        listener: &mut dyn Listener,
    ) -> Result<Answer, Failure> {
        self.question = Some(ask);
        let mut decoder = self.remote.protocol.decoder(ask);
        let response = self.send(outgoing)?;
        let complete = self.read(response, &mut *decoder, listener);
        // What came may be a whole answer although the connection broke behind it.
        let mut answer = match (complete, decoder.finish()) {
            (Ok(()), Ok(answer)) => answer,
            (Err(failure), Ok(answer)) if is_silence(failure.error.class) => answer,
            (Err(failure), _) => return Err(failure),
            (Ok(()), Err(error)) => return Err(self.worded(error).into()),
        };
        self.checked()?;
        reject_cut_off(&mut answer);
        Ok(answer)
    }

    fn fetch(self, outgoing: &Outgoing) -> Result<Vec<u8>, Failure> {
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
    fn send(&self, outgoing: &Outgoing) -> Result<Response<Body>, Failure> {
        let Line { agent, wire } = &self.line;
        let mut first = true;
        let response = loop {
            self.checked()?;
            wire.begin();
            if let Some(until) = self.until {
                wire.read_until(until);
            }
            wire.allow(EXCHANGE);
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
                Err(error) if std::mem::take(&mut first) && is_broken(&error) && wire.stale() => {}
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
        listener: &mut dyn Listener,
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
                (decoder.push(&chunk[..read], listener)).map_err(|error| self.worded(error))?;
            listener.idle();
            if complete {
                self.drain(&mut reader, &mut chunk);
                return Ok(());
            }
        }
    }

    /// Reads what is left of a body, if that is little.
    fn drain(&self, reader: &mut BodyReader<'_>, chunk: &mut [u8]) {
        self.line.wire.read_until(Instant::now() + LEFTOVER);
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
            Err(Error::new(Class::Protocol, message).into())
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
                self.target.redirect(&head.headers)
            );
            return Error::new(Class::Config, message).into();
        }
        self.line.wire.read_until(Instant::now() + EXPLAINING);
        let mut bytes = Vec::new();
        // What came before a failure is all there is to show.
        let _ = (body.into_reader().take(EXPLANATION)).read_to_end(&mut bytes);
        if let Err(cancelled) = self.checked() {
            return cancelled;
        }
        let (mut class, words) = self.remote.protocol.failure(head.status.as_u16(), &bytes);
        let mut after = retry_after(&head.headers, SystemTime::now());
        if let Class::RateLimit { after: said } = &mut class {
            after = after.or(*said);
            *said = after;
        }
        let mut output = match class {
            Class::ContextExceeded | Class::Refused => output_limit::said(&words),
            _ => None,
        };
        if matches!(output, Some(output_limit::Said::Room(room)) if room < output_limit::LEAST) {
            // A summary makes room, a lower limit does not.
            class = Class::ContextExceeded;
            output = None;
        } else if output.is_none() && self.fails_over_image(head.status.as_u16(), class, &words) {
            class = Class::Image;
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
        let RemoteOptions { title, timeout, .. } = &self.remote.options;
        let (origin, way) = (&self.target.origin, &self.target.way);
        if let ureq::Error::Timeout(Timeout::PerRead) = error {
            let message = match self.until {
                Some(_) => {
                    let seconds = LISTING.as_secs();
                    format!("{title} at {origin}{way} did not answer within {seconds} seconds")
                }
                None => format!(
                    "{title} at {origin}{way} said nothing for {} seconds; try again, or allow it \
                     more time",
                    timeout.as_secs_f32()
                ),
            };
            return Error::new(Class::Timeout, message).into();
        }
        let cause = shown(&self.target.redact(&cause(error)));
        let message = match self.line.wire.written() {
            true => format!("The connection to {title} at {origin}{way} broke: {cause}"),
            false => format!("Cannot reach {title} at {origin}{way}: {cause}"),
        };
        Failure {
            final_word: is_absent(error),
            ..Error::new(Class::Transport, message).into()
        }
    }

    fn too_large(&self, limit: u64) -> Error {
        let title = &self.remote.options.title;
        let limit = limit >> 20;
        let message = format!("{title} answered with more than {limit} MiB, which is not read");
        Error::new(Class::Protocol, message)
    }

    fn worded(&self, mut error: Error) -> Error {
        if self.fails_over_image(0, error.class, &error.message) {
            error.class = Class::Image;
        }
        self.remote.worded(self.target, error, None)
    }

    /// Whether the provider refused an image that was sent. `status` is 0 in mid-stream.
    fn fails_over_image(&self, status: u16, class: Class, words: &str) -> bool {
        failure::is_over_image(status, class, words)
            && (self.question).is_some_and(|ask| parts::has_images(ask.messages))
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
    /// Returns the line for the next exchange, whatever became of this one: ureq itself drops a
    /// connection that is of no more use.
    fn drop(&mut self) {
        drop(self.hook.take());
        // Without the hook, and not cancelled up to now, it will not be shut down any more.
        if !self.cancel.is_cancelled() {
            self.remote.return_line(self.target, &self.line);
        }
    }
}

impl Remote {
    fn line(&self, target: &Target) -> Line {
        let mut idle = lock(&self.idle);
        let fits = (idle.iter()).rposition(|(origin, _)| *origin == target.origin);
        match fits {
            Some(at) => idle.swap_remove(at).1,
            None => target.line(),
        }
    }

    fn return_line(&self, target: &Target, line: &Line) {
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE_LINES {
            idle.push((target.origin.clone(), line.clone()));
        }
    }

    fn cancelled(&self) -> Error {
        let message = format!("The request to {} was cancelled", self.options.title);
        Error::new(Class::Cancelled, message)
    }

    fn titled(&self, error: Error) -> Error {
        let message = format!("{}: {}", self.options.title, error.message);
        Error::new(error.class, message)
    }

    /// The error in one sentence: whose, what, in which of the provider's words, and what to do.
    fn worded(&self, target: &Target, error: Error, status: Option<StatusCode>) -> Error {
        let RemoteOptions {
            title, key_hint, ..
        } = &self.options;
        let code = status.map_or(String::new(), |s| format!(" (HTTP {})", s.as_u16()));
        let said = shown(&target.redact(&error.message));
        let said = said.trim_end_matches('.');
        let what = match error.class {
            Class::Authentication => format!("{title} does not let this key in{code}"),
            Class::Credits => format!("The account with {title} is empty{code}"),
            Class::RateLimit { .. } => format!("{title} has had too many requests{code}"),
            Class::ContextExceeded => {
                format!("The conversation is longer than {title}'s model can read{code}")
            }
            Class::Refused | Class::Image => format!("{title} refused the request{code}"),
            Class::Server => format!("{title} failed{code}"),
            _ => format!("{title}{code}"),
        };
        let advice = match error.class {
            Class::Authentication => key_hint.clone(),
            Class::Credits => "add to it, or choose another provider".to_owned(),
            Class::RateLimit { after: Some(after) } => {
                format!("try again in {} s", after.as_secs().max(1))
            }
            Class::RateLimit { after: None } | Class::Server => "try again in a while".to_owned(),
            Class::ContextExceeded => "make it shorter, or choose another model".to_owned(),
            Class::Refused | Class::Image if status == Some(StatusCode::NOT_FOUND) => {
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
struct Heard<'a> {
    listener: &'a mut dyn Listener,
    heard: bool,
}

impl Listener for Heard<'_> {
    fn begin(&mut self, id: Option<&str>) {
        self.listener.begin(id);
    }

    fn text(&mut self, text: &str) {
        self.heard = true;
        self.listener.text(text);
    }

    fn reasoning(&mut self, text: &str) {
        self.heard = true;
        self.listener.reasoning(text);
    }

    fn idle(&mut self) {
        self.listener.idle();
    }

    fn retry(&mut self, attempt: u32, wait: Duration, reason: &Error) {
        self.listener.retry(attempt, wait, reason);
    }
}

/// Nothing more came, for whatever reason.
fn is_silence(class: Class) -> bool {
    matches!(class, Class::Transport | Class::Timeout)
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
