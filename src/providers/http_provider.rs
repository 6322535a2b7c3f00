//! A provider behind HTTP: sends the requests of any wire protocol, retries, and words errors.
//!
//! The calling thread writes and reads itself. Each exchange has a connection of its own while it lasts, so
//! that cancelling one does not affect another; afterwards the open connection is kept for the next one.
//! Name resolution and a TCP connect cannot be interrupted: they end with their own timeout.

mod details;
mod provider_exchange;

use super::credentials::Credentials;
use super::model_details::KnownDetails;
use super::model_facts::ModelFacts;
use super::openai::OpenAi;
use super::output_limit::{self, LearnedLimits};
use super::request_form::{self, LearnedForms, Refusal, RequestForm};
use super::tool_offer::ToolOffer;
use super::wire_protocol::{Endpoint, HttpRequest, Protocol};
use super::{
    Completion, CompletionRequest, DeltaSink, Error, ErrorClass, ModelConfig, Provider, Purpose,
    StopReason, request_retries, thinking_effort,
};
use crate::conversation::{Content, Message};
use crate::outbound::error_text::one_line;
use crate::outbound::{AddressCache, Connection, Target, TargetOptions};
use crate::sys::cancel::Cancel;
use crate::sys::{lock, random_byte};
use provider_exchange::Exchange;
use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use ureq::http::StatusCode;

/// How long a list of models may take: a user waits for it in front of a form.
const MODEL_LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long resolving the host's name may take, and then connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection that was idle for longer is not reused: a middlebox may have dropped it silently.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How many idle connections are kept.
const MAX_IDLE_CONNECTIONS: usize = 8;
pub(super) const MAX_ERROR_BODY: u64 = 64 << 10;

/// Options of a provider behind HTTP, for any wire protocol.
#[derive(Clone, Debug)]
pub struct HttpProviderOptions {
    /// The provider's name in errors, for example `OpenAI`.
    pub title: String,
    /// How long one read of a response may take.
    pub timeout: Duration,
    /// Refuse every host but this machine.
    pub offline: bool,
    /// What the user can do if the provider rejects the key, for example `set OPENAI_API_KEY`.
    pub key_hint: String,
}

impl HttpProviderOptions {
    /// Options with the defaults: online, a timeout of ten minutes, no hint.
    pub fn new(title: impl Into<String>) -> Self {
        HttpProviderOptions {
            title: title.into(),
            timeout: Duration::from_secs(600),
            offline: false,
            key_hint: String::new(),
        }
    }
}

/// A provider behind HTTP. It keeps idle connections for all its callers.
pub struct HttpProvider {
    name: String,
    protocol: Box<dyn Protocol>,
    /// What authorizes each attempt, beyond the headers of the protocol.
    credentials: Option<Arc<dyn Credentials>>,
    options: HttpProviderOptions,
    addresses: AddressCache,
    /// Connections without an exchange, each with its origin.
    idle: Mutex<Vec<(String, Connection)>>,
    /// The limits on output that its models refused, for the lifetime of the process.
    limits: Mutex<LearnedLimits>,
    /// The forms of requests that its models accepted after they had refused others, likewise.
    forms: Mutex<LearnedForms>,
    /// What the server has told of its models, likewise.
    details: Mutex<KnownDetails>,
    /// What the catalog knows of its models.
    facts: Option<Arc<dyn ModelFacts>>,
}

/// How many times a turn's request is repeated because the answer was empty, which Gemini's often is.
const EMPTY_ANSWER_RETRIES: u32 = 2;

/// Why one attempt failed.
struct Failure {
    error: Error,
    /// The wait that the provider asks for.
    after: Option<Duration>,
    /// A retry cannot succeed, whatever the class.
    is_final: bool,
    /// What the provider says about the limit on output, if it refuses that.
    limit_error: Option<output_limit::LimitError>,
    /// The status and the words of an error response, as the server wrote them.
    refusal: Option<(u16, String)>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let after = match error.class {
            ErrorClass::RateLimit { after } => after,
            _ => None,
        };
        Failure {
            error,
            after,
            is_final: false,
            limit_error: None,
            refusal: None,
        }
    }
}

impl HttpProvider {
    /// A provider with the protocol of OpenAI's chat completions.
    pub fn openai(
        name: impl Into<String>,
        endpoint: Endpoint,
        options: HttpProviderOptions,
    ) -> Self {
        HttpProvider::new(name, Box::new(OpenAi::new(endpoint)), options)
    }

    /// A provider with any wire protocol.
    pub(super) fn new(
        name: impl Into<String>,
        protocol: Box<dyn Protocol>,
        options: HttpProviderOptions,
    ) -> Self {
        HttpProvider {
            name: name.into(),
            protocol,
            credentials: None,
            options,
            addresses: AddressCache::default(),
            idle: Mutex::default(),
            limits: Mutex::default(),
            forms: Mutex::default(),
            details: Mutex::default(),
            facts: None,
        }
    }

    /// With what is known of its models.
    pub(super) fn with_facts(self, facts: Arc<dyn ModelFacts>) -> Self {
        HttpProvider {
            facts: Some(facts),
            ..self
        }
    }

    /// Asks these for the headers that authorize a request, before each attempt.
    pub(super) fn with_credentials(mut self, credentials: Arc<dyn Credentials>) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// The HTTP request in this form, with this limit on output instead of the configured one.
    fn http_request(
        &self,
        request: &CompletionRequest<'_>,
        form: &RequestForm,
        max_tokens: Option<u64>,
    ) -> Result<HttpRequest, Error> {
        let outgoing = if max_tokens == request.model.max_tokens {
            self.protocol.http_request(request, form)
        } else {
            let model = ModelConfig {
                max_tokens,
                ..request.model.clone()
            };
            let request = CompletionRequest {
                model: &model,
                ..*request
            };
            self.protocol.http_request(&request, form)
        };
        outgoing.map_err(|error| {
            let what = format!("the request cannot be written as JSON ({error})");
            self.with_title(Error::new(ErrorClass::Refused, what))
        })
    }

    /// The server of this request, with the headers that authorize the next attempt.
    fn target(&self, outgoing: &HttpRequest, cancel: &Cancel) -> Result<Target, Error> {
        let mut headers = Cow::Borrowed(&outgoing.headers);
        if let Some(credentials) = &self.credentials {
            let more = credentials.authorize(outgoing, cancel);
            let more = more.map_err(|error| self.with_title(error))?;
            headers.to_mut().extend(more);
        }
        let credentials = self.credentials.as_ref();
        let moved = credentials.and_then(|credentials| credentials.url(&outgoing.url));
        let options = TargetOptions {
            uri: moved.as_ref().unwrap_or(&outgoing.url),
            headers: &headers,
            offline: self.options.offline,
            connect_timeout: CONNECT_TIMEOUT,
            read_timeout: Some(self.options.timeout),
            idle_timeout: IDLE_TIMEOUT,
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
        let (params, url) = self.protocol.effort_params();
        let model = thinking_effort::applied(request.model, url, params);
        let request = &CompletionRequest {
            model: model.as_ref().unwrap_or(request.model),
            ..*request
        };
        let name = &request.model.model_name;
        let mut max_tokens = lock(&self.limits).apply(name, request.model.max_tokens);
        let mut form = lock(&self.forms).of(name);
        form.traits = self.facts.as_ref().map(|facts| facts.traits(name));
        form.details = self.details(name, cancel)?;
        if !request.tools.is_empty()
            && form.details.and_then(|it| it.calls_tools) == Some(false)
            && !std::mem::replace(&mut form.without_tools, true)
        {
            sink.notice(&format!(
                "The model {name} calls no tools, so it is asked without them"
            ));
            lock(&self.forms).learn(name, form.clone());
        }
        let rules = self.protocol.schema_rules();
        let mut offer = ToolOffer::new(request.tools, rules, &form);
        for (tool, why) in &offer.left_out {
            sink.left_out(tool, why);
        }
        let replayed = offer.replayed(request.messages);
        let messages: Option<Vec<&Message>> =
            (replayed.as_ref()).map(|messages| messages.iter().map(AsRef::as_ref).collect());
        let request = &CompletionRequest {
            messages: messages.as_deref().unwrap_or(request.messages),
            ..*request
        };
        let mut outgoing = self.http_request(&with_tools(request, &offer), &form, max_tokens)?;
        let mut changes = 0;
        let mut target = self.target(&outgoing, cancel)?;
        let mut sink = DeltaWatcher {
            sink,
            has_delta: false,
            held: String::new(),
        };
        let mut attempt = 0;
        let mut empty_answers = 0;
        let mut empty_answer = None;
        let mut is_reauthorized = false;
        // The limit that the provider refused, and its reason.
        let mut refused = None;
        let mut is_first = true;
        loop {
            let sent = with_tools(request, &offer);
            // A signature contains the time and the body, and a token may have expired.
            if self.credentials.is_some() && !std::mem::take(&mut is_first) {
                target = self.target(&outgoing, cancel)?;
            }
            let outcome = Exchange::begin(self, &target, cancel)
                .and_then(|exchange| exchange.complete(&sent, &form, &outgoing, &mut sink));
            let failure = match outcome {
                Ok(completion)
                    if empty_answers < EMPTY_ANSWER_RETRIES
                        && request.purpose == Purpose::Turn
                        && !sink.has_delta
                        && is_empty(&completion) =>
                {
                    empty_answers += 1;
                    empty_answer = Some(completion);
                    // Most come once, so the first is not waited for.
                    if empty_answers == 1 {
                        log::info!("empty answer asked for again provider={}", self.name);
                        continue;
                    }
                    let what = format!("{} answered with nothing", self.options.title);
                    Error::new(ErrorClass::Server, what).into()
                }
                Ok(mut completion) => {
                    offer.restore_arguments(&mut completion.content);
                    sink.pass_held();
                    if let Some((wanted, limit_error)) = refused {
                        lock(&self.limits).learn(name, wanted, limit_error);
                    }
                    if changes > 0 {
                        lock(&self.forms).learn(name, form);
                    }
                    return Ok(completion);
                }
                Err(failure) if failure.error.class != ErrorClass::Cancelled => {
                    // After an empty answer, which the turn reports, a failure of the retry says less.
                    if let Some(empty) = empty_answer {
                        return Ok(empty);
                    }
                    failure
                }
                Err(failure) => failure,
            };
            if failure.error.class == ErrorClass::Authentication
                && !std::mem::replace(&mut is_reauthorized, true)
                && (self.credentials.as_ref()).is_some_and(|credentials| credentials.forget())
            {
                log::info!("credentials fetched anew provider={}", self.name);
                continue;
            }
            if refused.is_none()
                && let Some(limit_error) = failure.limit_error
                && let Some(lower) = limit_error.lowered(max_tokens)
            {
                log::info!(
                    "limit on output lowered provider={} from={max_tokens:?} to={lower:?}",
                    self.name
                );
                refused = Some((max_tokens, limit_error));
                max_tokens = lower;
                outgoing = self.http_request(&sent, &form, max_tokens)?;
                continue;
            }
            let offered = form.offered();
            let before = form.left_out_tools.clone();
            if changes < request_form::MAX_CHANGES
                && let Some((status, words)) = &failure.refusal
                && let status = *status
                && let Some(how) =
                    (self.protocol).adapt(&mut form, Refusal { status, words }, &sent)
            {
                log::info!("request repeated provider={} {how}", self.name);
                changes += 1;
                if form.offered() != offered {
                    offer = ToolOffer::new(request.tools, rules, &form);
                    let why = failure.error.message.trim_end_matches('.');
                    let told = format!("The model is asked {how}: {why}");
                    match form.left_out_tools.difference(&before).next() {
                        Some(tool) => sink.left_out(tool, &told),
                        None => sink.notice(&told),
                    }
                }
                let sent = with_tools(request, &offer);
                outgoing = self.http_request(&sent, &form, max_tokens)?;
                target = self.target(&outgoing, cancel)?;
                continue;
            }
            attempt += 1;
            let wait = if sink.has_delta || failure.is_final {
                None
            } else {
                request_retries::backoff(failure.error.class, failure.after, attempt, random_byte())
            };
            let Some(wait) = wait else {
                return empty_answer.ok_or(failure.error);
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
        let bytes = self.fetch(&outgoing, cancel, MODEL_LIST_TIMEOUT)?;
        if let Some(facts) = &self.facts {
            facts.learn(&bytes);
        }
        let names = self.protocol.parse_models(&bytes);
        names.map_err(|error| {
            let target = self.target(&outgoing, cancel);
            target.map_or_else(|error| error, |target| self.describe(&target, error, None))
        })
    }
}

/// The request with the tools that the provider accepts.
fn with_tools<'a>(
    request: &CompletionRequest<'a>,
    offer: &'a ToolOffer<'_>,
) -> CompletionRequest<'a> {
    CompletionRequest {
        tools: &offer.tools,
        ..*request
    }
}

impl HttpProvider {
    /// The body of the response to a short request.
    fn fetch(
        &self,
        outgoing: &HttpRequest,
        cancel: &Cancel,
        limit: Duration,
    ) -> Result<Vec<u8>, Error> {
        let target = self.target(outgoing, cancel)?;
        Exchange::begin(self, &target, cancel)
            .and_then(|exchange| exchange.fetch(outgoing, limit))
            .map_err(|failure| failure.error)
    }

    fn take_connection(&self, target: &Target) -> Connection {
        let mut idle = lock(&self.idle);
        let found = (idle.iter()).rposition(|(origin, _)| *origin == target.origin);
        match found {
            Some(at) => idle.swap_remove(at).1,
            None => target.connection(),
        }
    }

    fn keep_connection(&self, target: &Target, connection: &Connection) {
        let mut idle = lock(&self.idle);
        if idle.len() < MAX_IDLE_CONNECTIONS {
            idle.push((target.origin.clone(), connection.clone()));
        }
    }

    fn cancelled(&self) -> Error {
        let message = format!("The request to {} was cancelled", self.options.title);
        Error::new(ErrorClass::Cancelled, message)
    }

    fn with_title(&self, error: Error) -> Error {
        let message = format!("{}: {}", self.options.title, error.message);
        Error::new(error.class, message)
    }

    /// The error as one sentence: the provider, what failed, the provider's message, what the user can do.
    fn describe(&self, target: &Target, error: Error, status: Option<StatusCode>) -> Error {
        let HttpProviderOptions {
            title, key_hint, ..
        } = &self.options;
        let code = status.map_or(String::new(), |s| format!(" (HTTP {})", s.as_u16()));
        let detail = one_line(&target.redact(&error.message));
        let detail = detail.trim_end_matches('.');
        let what = match error.class {
            ErrorClass::Authentication => format!("{title} rejected the key{code}"),
            ErrorClass::Credits => format!("The account at {title} has no credits{code}"),
            ErrorClass::RateLimit { .. } => format!("{title} received too many requests{code}"),
            ErrorClass::ContextExceeded => {
                format!("The conversation is longer than {title}'s model can read{code}")
            }
            ErrorClass::Refused | ErrorClass::Image => format!("{title} refused the request{code}"),
            ErrorClass::Server => format!("{title} failed{code}"),
            _ => format!("{title}{code}"),
        };
        let advice = match error.class {
            ErrorClass::Authentication => key_hint.clone(),
            ErrorClass::Credits => "add credits, or choose another provider".to_owned(),
            // Beyond that, the number is not the one that the provider sent.
            ErrorClass::RateLimit { after: Some(after) } if after < Duration::MAX => {
                format!("try again in {} s", after.as_secs().max(1))
            }
            ErrorClass::RateLimit { .. } | ErrorClass::Server => "try again in a while".to_owned(),
            ErrorClass::ContextExceeded => "make it shorter, or choose another model".to_owned(),
            ErrorClass::Refused | ErrorClass::Image if status == Some(StatusCode::NOT_FOUND) => {
                "check the name of the model, and the host and path of the provider".to_owned()
            }
            _ => String::new(),
        };
        let detail = match detail {
            "" => String::new(),
            detail => format!(": {detail}"),
        };
        let advice = match advice.as_str() {
            "" => advice,
            _ => format!("; {advice}"),
        };
        Error::new(error.class, format!("{what}{detail}{advice}"))
    }
}

/// Passes deltas on, and knows whether there was one: then the request must not be retried.
struct DeltaWatcher<'a> {
    sink: &'a mut dyn DeltaSink,
    has_delta: bool,
    /// White space at the start, which is held back until something follows it.
    held: String,
}

impl DeltaWatcher<'_> {
    fn pass_held(&mut self) {
        if !self.held.is_empty() {
            self.sink.text(&std::mem::take(&mut self.held));
        }
    }
}

/// Whether an answer that ended well has nothing in it but white space.
fn is_empty(completion: &Completion) -> bool {
    let is_blank = |part: &Content| match part {
        Content::Text(text) => text.text.trim().is_empty(),
        _ => false,
    };
    completion.stop == StopReason::Complete && completion.content.iter().all(is_blank)
}

impl DeltaSink for DeltaWatcher<'_> {
    fn begin(&mut self, id: Option<&str>) {
        self.held.clear();
        self.sink.begin(id);
    }

    fn text(&mut self, text: &str) {
        if !self.has_delta && text.trim().is_empty() {
            self.held.push_str(text);
            return;
        }
        self.has_delta = true;
        self.pass_held();
        self.sink.text(text);
    }

    fn reasoning(&mut self, text: &str) {
        self.has_delta = true;
        self.pass_held();
        self.sink.reasoning(text);
    }

    fn idle(&mut self) {
        self.sink.idle();
    }

    fn retry(&mut self, attempt: u32, wait: Duration, reason: &Error) {
        self.sink.retry(attempt, wait, reason);
    }

    fn notice(&mut self, text: &str) {
        self.sink.notice(text);
    }

    fn left_out(&mut self, tool: &str, why: &str) {
        self.sink.left_out(tool, why);
    }
}
