//! Everything that the server sends on one connection: finds the request of each response, answers the server's
//! own requests, and notes every message that breaks the rules of JSON-RPC or MCP.
//!
//! The transport's threads only pass messages on, because their stacks are too small for values that are nested
//! deeply. A thread of the inbox parses them.

use super::answer::RawAnswer;
use super::client_kind::ClientKind;
use super::server_messages::{self, AnsweredRequest};
use crate::declaration::{Check, declare_checks};
use crate::field_types::INTEGERS;
use crate::findings::CheckFindings;
use crate::mcp::transport::{MessageHandler, Stream, Transport, TransportError};
use crate::sys::lock;
use crossbeam_channel::{Receiver, Sender, bounded};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

declare_checks! {
    IDS_RETURNED = 9 "ids-returned" "3.1" Must Minimum [("3.1", 1)]
        requires: "A response has the `id` of its request, with the same type: strings stay strings and numbers stay numbers."
        why: "A client cannot find the request of a response with another `id` and waits until its timeout."
        fix: "Keep the `id` as it was received, and return it unchanged."
    ANSWERED_ONCE = 10 "answered-once" "3.1" Must Minimum [("3.1", 1)]
        requires: "Each request gets exactly one response, and no response comes without a request."
        why: "A second response may be taken for the response to another request."
        fix: "Send one response for each request, also when the request fails after it has begun."
    MESSAGE_SHAPE = 11 "message-shape" "3.1" Must Minimum [("3.1", 1)]
        requires: "Each message of the server is a JSON-RPC 2.0 message: `jsonrpc` is \"2.0\", and it is a request, a notification or a response with either `result` or `error`."
        why: "Strict clients drop or refuse other messages."
        fix: "Let a JSON-RPC library write the messages, or compare them with the specification of JSON-RPC 2.0."
    STDOUT_CLEAN = 20 "stdout-clean" "4.2" Must Minimum [("4.2", 3), ("12", 7)]
        requires: "Every line on stdout is a message of MCP."
        why: "Clients take every line for a message, and some disconnect at the first other line."
        fix: "Write logs, banners and progress bars to stderr; look for `print` and for libraries and wrappers that write to stdout."
    PROGRESS = 91 "progress" "5.4" Should Minimum [("5.4", 2)]
        requires: "Progress has the token of a running request, and its numbers increase."
        why: "Clients cannot find the call otherwise, and show progress that runs backwards."
        fix: "Return `_meta.progressToken` of the request unchanged; send none without it or after the response."
    VALID_JSON = 110 "valid-json" "7" Must Minimum [("7", 1)]
        requires: "Each message is valid JSON in UTF-8, without NaN, Infinity or single quotes."
        why: "A client loses the whole message."
        fix: "Use a JSON library in its strict mode (Python: `allow_nan=False`)."
    ERROR_SHAPE = 121 "error-shape" "8" Must Minimum [("8", 1)]
        requires: "An error has an integer `code` and a string `message`."
        why: "Clients cannot read other errors and wait until their timeout."
        fix: "Return `{\"code\": …, \"message\": …}`."
}

/// The most faults, responses without a request, and notifications that are kept of one connection.
const MAX_KEPT: usize = 100;
/// The text that is kept of a message, in bytes.
const MAX_TEXT: usize = 4 << 10;
/// The text that is kept about a fault, in characters.
const MAX_DETAIL: usize = 1_000;
/// The deepest nesting of a message, as for extensions.
const MAX_DEPTH: usize = 110;
/// How many messages may wait for the thread of the inbox. Beyond them, the transport waits.
const MAX_WAITING: usize = 1;
/// The memory that the values of a message may take, in bytes, and its increase for each byte of its text: enough
/// for long strings and for lists of an ordinary size.
const MEMORY: usize = 64 << 20;
const MEMORY_PER_BYTE: usize = 2;
/// The most requests of the server that are answered.
const MAX_SERVER_REQUESTS: usize = 1_000;

/// What came for a request.
pub(crate) enum Arrival {
    Message { answer: RawAnswer, text: String },
    Failed(TransportError),
    None,
}

/// Something wrong that the server did unasked: the check, what, and the message.
pub(crate) type MessageFault = (&'static Check, String, String);

/// Passes what the transport receives to the thread of the inbox.
struct Forwarder(Sender<TransportEvent>);

/// What a transport reports.
enum TransportEvent {
    Message(Vec<u8>),
    Failed(i64, TransportError),
    Closed(TransportError),
    End,
}

/// The thread of an inbox. Dropping it ends the thread, after everything that came before.
pub(crate) struct InboxThread {
    events: Sender<TransportEvent>,
    thread: Option<JoinHandle<()>>,
}

impl InboxThread {
    /// Ends the thread, after everything that came before.
    pub(crate) fn end(&mut self) {
        let _ = self.events.send(TransportEvent::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for InboxThread {
    fn drop(&mut self) {
        self.end();
    }
}

impl MessageHandler for Forwarder {
    fn message(&self, bytes: &[u8], _: Stream) {
        if !bytes.trim_ascii().is_empty() {
            let _ = self.0.send(TransportEvent::Message(bytes.to_vec()));
        }
    }

    fn failed(&self, request: i64, error: TransportError) {
        let _ = self.0.send(TransportEvent::Failed(request, error));
    }

    fn closed(&self, error: TransportError) {
        let _ = self.0.send(TransportEvent::Closed(error));
    }
}

/// See the module.
pub(crate) struct Inbox {
    client: ClientKind,
    is_stdio: bool,
    transport: OnceLock<Weak<dyn Transport>>,
    state: Mutex<InboxState>,
    changed: Condvar,
}

#[derive(Default)]
struct InboxState {
    /// The numbers of the requests without a response, by the JSON of their ids.
    waiting: HashMap<String, i64>,
    /// The ids of requests that got one.
    answered: HashSet<String>,
    responses: HashMap<i64, Arrival>,
    strays: Vec<String>,
    faults: Vec<MessageFault>,
    /// The last progress by token, `None` after the end of the request.
    progress: HashMap<String, Option<f64>>,
    capabilities: Value,
    server_requests: usize,
    questions: usize,
    closed: Option<TransportError>,
}

impl InboxState {
    fn fault(&mut self, check: &'static Check, detail: impl Into<String>, text: &str) {
        if self.faults.len() < MAX_KEPT {
            // It may contain names that the server chose.
            let detail = detail.into().chars().take(MAX_DETAIL).collect();
            self.faults.push((check, detail, text.to_owned()));
        }
    }

    fn stray(&mut self, text: &str) {
        if self.strays.len() < MAX_KEPT {
            self.strays.push(text.to_owned());
        }
    }
}

impl Inbox {
    pub(crate) fn new(client: ClientKind, is_stdio: bool) -> Self {
        Inbox {
            client,
            is_stdio,
            transport: OnceLock::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// An inbox with its thread, and the handler for its transport.
    ///
    /// # Errors
    /// There can be no more threads.
    pub(crate) fn start(
        client: ClientKind,
        is_stdio: bool,
    ) -> io::Result<(Arc<Inbox>, InboxThread, Arc<dyn MessageHandler>)> {
        let inbox = Arc::new(Inbox::new(client, is_stdio));
        let (sender, events) = bounded(MAX_WAITING);
        let of_thread = inbox.clone();
        let work = move || of_thread.handle_all(&events);
        let thread = InboxThread {
            events: sender.clone(),
            thread: Some(crate::sys::spawn("check inbox".to_owned(), None, work)?),
        };
        Ok((inbox, thread, Arc::new(Forwarder(sender))))
    }

    fn handle_all(&self, events: &Receiver<TransportEvent>) {
        for event in events {
            match event {
                TransportEvent::Message(bytes) => self.receive(&bytes),
                TransportEvent::Failed(request, error) => {
                    let mut state = lock(&self.state);
                    let failed = Arrival::Failed(error);
                    state.responses.entry(request).or_insert(failed);
                }
                TransportEvent::Closed(error) => {
                    lock(&self.state).closed.get_or_insert(error);
                }
                TransportEvent::End => return,
            }
            self.changed.notify_all();
        }
    }

    /// The transport for answers to the server's requests.
    pub(crate) fn set_transport(&self, transport: &Arc<dyn Transport>) {
        let _ = self.transport.set(Arc::downgrade(transport));
    }

    /// The server's capabilities, which its notifications have to fit.
    pub(crate) fn set_capabilities(&self, capabilities: &Value) {
        lock(&self.state).capabilities = capabilities.clone();
    }

    /// Expects a response with this id. Its request is called `number`.
    pub(crate) fn expect(&self, id: &Value, number: i64) {
        lock(&self.state).waiting.insert(id.to_string(), number);
    }

    /// Expects progress with this token.
    pub(crate) fn expect_progress(&self, token: &Value) {
        let none_yet = Some(f64::NEG_INFINITY);
        lock(&self.state)
            .progress
            .insert(token.to_string(), none_yet);
    }

    /// The request with this token has ended.
    pub(crate) fn end_progress(&self, token: &Value) {
        lock(&self.state).progress.insert(token.to_string(), None);
    }

    /// Waits for the response to a request.
    pub(crate) fn wait(&self, number: i64, deadline: Instant) -> Arrival {
        let mut state = lock(&self.state);
        loop {
            if let Some(response) = state.responses.remove(&number) {
                return response;
            }
            if let Some(error) = &state.closed {
                return Arrival::Failed(error.clone());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Arrival::None;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).closed.is_some()
    }

    /// The responses without a request so far.
    pub(crate) fn take_strays(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.state).strays)
    }

    /// What the server did wrong so far.
    pub(crate) fn take_faults(&self) -> Vec<MessageFault> {
        std::mem::take(&mut lock(&self.state).faults)
    }

    /// Takes what the server did wrong and is seen by `check`.
    pub(crate) fn take_faults_of(&self, checks: &[&'static Check]) -> Vec<MessageFault> {
        let mut state = lock(&self.state);
        let (taken, left) = std::mem::take(&mut state.faults)
            .into_iter()
            .partition(|fault: &MessageFault| checks.contains(&fault.0));
        state.faults = left;
        taken
    }

    /// How many requests for sampling and elicitation came.
    pub(crate) fn questions(&self) -> usize {
        lock(&self.state).questions
    }

    /// Whether progress with this token has come, and its request has not ended.
    pub(crate) fn has_progress(&self, token: &Value) -> bool {
        let state = lock(&self.state);
        let last = state.progress.get(&token.to_string());
        last.is_some_and(|last| last.is_some_and(f64::is_finite))
    }

    /// Handles one message or batch.
    pub(crate) fn receive(&self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_TEXT)]).into_owned();
        match self.read(bytes) {
            Ok(Value::Array(parts)) => parts.into_iter().for_each(|it| self.part(it, &text)),
            Ok(message) => self.part(message, &text),
            Err((check, detail)) => lock(&self.state).fault(check, detail, &text),
        }
    }

    /// The value of a message or batch.
    fn read(&self, bytes: &[u8]) -> Result<Value, (&'static Check, String)> {
        let Ok(whole) = std::str::from_utf8(bytes) else {
            return Err((VALID_JSON, "a message is not UTF-8".to_owned()));
        };
        if crate::text::json::is_deeper_than(MAX_DEPTH, bytes) {
            let detail = format!("a message is nested more than {MAX_DEPTH} levels deep");
            return Err((MESSAGE_SHAPE, detail));
        }
        let memory = MEMORY + MEMORY_PER_BYTE * bytes.len();
        crate::text::json::from_slice_within(bytes, memory).map_err(|error| {
            let is_json_like = whole.trim_start().starts_with(['{', '[']);
            if crate::text::json::is_too_much(&error) {
                let detail = "the values of a message take too much memory";
                (MESSAGE_SHAPE, detail.to_owned())
            } else if self.is_stdio && !is_json_like {
                let detail = "a line on stdout is not a message";
                (STDOUT_CLEAN, detail.to_owned())
            } else {
                (VALID_JSON, format!("a message is not JSON: {error}"))
            }
        })
    }

    /// Handles one message.
    fn part(&self, message: Value, text: &str) {
        let Value::Object(fields) = &message else {
            // A number or a text alone is more likely output of the program than a message.
            let check = if self.is_stdio {
                STDOUT_CLEAN
            } else {
                MESSAGE_SHAPE
            };
            return lock(&self.state).fault(check, "a message is not an object", text);
        };
        let wrong = |detail: &str| lock(&self.state).fault(MESSAGE_SHAPE, detail, text);
        if fields.get("jsonrpc").is_none_or(|version| version != "2.0") {
            wrong("`jsonrpc` is not \"2.0\"");
        }
        let has_outcome = fields.contains_key("result") || fields.contains_key("error");
        match fields.get("method") {
            Some(Value::String(method)) => {
                if has_outcome {
                    wrong("a message has `method` and `result` or `error`");
                }
                let params = fields.get("params");
                match fields.get("id") {
                    None => self.notification(method, params, text),
                    Some(id) if id.is_i64() || id.is_u64() || id.is_string() => {
                        self.server_request(id, method, params, text);
                    }
                    Some(_) => wrong("the `id` of a request is neither an integer nor a string"),
                }
            }
            Some(_) => wrong("`method` is not a string"),
            None if has_outcome => self.response(&message, text),
            None => wrong("a message has neither `method` nor `result` nor `error`"),
        }
    }

    fn response(&self, message: &Value, text: &str) {
        let mut state = lock(&self.state);
        if message.get("result").is_some() && message.get("error").is_some() {
            let detail = "a response has both `result` and `error`";
            state.fault(MESSAGE_SHAPE, detail, text);
        }
        let answer = match message.get("error") {
            Some(error) => read_error(error, text, &mut state),
            None => RawAnswer::Result(message["result"].clone()),
        };
        let id = message.get("id").unwrap_or(&Value::Null);
        let Some(number) = find_request(&mut state, id, text) else {
            if state.answered.contains(&id.to_string()) {
                let detail = "a request got a second response";
                state.fault(ANSWERED_ONCE, detail, text);
            } else {
                state.stray(text);
            }
            return;
        };
        let text = text.to_owned();
        state
            .responses
            .insert(number, Arrival::Message { answer, text });
    }

    fn notification(&self, method: &str, params: Option<&Value>, text: &str) {
        let mut state = lock(&self.state);
        let faults = server_messages::notification_faults(method, params, &state.capabilities);
        for (check, detail) in faults {
            state.fault(check, detail, text);
        }
        if method == "notifications/progress" {
            let params = params.unwrap_or(&Value::Null);
            self.progress(&mut state, params, text);
        }
    }

    fn progress(&self, state: &mut InboxState, params: &Value, text: &str) {
        let token = &params["progressToken"];
        let Some(now) = params["progress"].as_f64().filter(|_| !token.is_null()) else {
            return;
        };
        let fault = match state.progress.get_mut(&token.to_string()) {
            None => Some("progress has a token that no request has"),
            // Over HTTP it may come on another stream than the response, and later.
            Some(None) => self.is_stdio.then_some("progress came after the response"),
            Some(Some(before)) if now <= *before => Some("progress does not increase"),
            Some(Some(before)) => {
                *before = now;
                None
            }
        };
        if let Some(fault) = fault {
            state.fault(PROGRESS, fault, text);
        }
    }

    /// Answers a request of the server, if that is allowed.
    fn server_request(&self, id: &Value, method: &str, params: Option<&Value>, text: &str) {
        let answer = {
            let mut state = lock(&self.state);
            state.server_requests += 1;
            if matches!(method, "sampling/createMessage" | "elicitation/create") {
                state.questions += 1;
            }
            if state.server_requests > MAX_SERVER_REQUESTS {
                return;
            }
            let AnsweredRequest { answer, faults } =
                server_messages::answer(method, params, self.client == ClientKind::Full);
            for (check, detail) in faults {
                state.fault(check, detail, text);
            }
            answer
        };
        let response = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => json!({
                "jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message},
            }),
        };
        if let Some(transport) = self.transport.get().and_then(Weak::upgrade) {
            let _ = transport.send(response.to_string().into_bytes(), None);
        }
    }
}

/// The error of a response. What is wrong with it is noted.
fn read_error(error: &Value, text: &str, state: &mut InboxState) -> RawAnswer {
    let code = match &error["code"] {
        code if code.is_i64() => code.as_i64(),
        code => {
            let whole = code.as_f64().filter(|code| code.fract() == 0.0);
            if whole.is_some() {
                let detail = "an error code is written as a fraction";
                state.fault(INTEGERS, detail, text);
            }
            whole.map(|code| code as i64)
        }
    };
    if code.is_none() {
        let detail = "the `code` of an error is not an integer";
        state.fault(ERROR_SHAPE, detail, text);
    }
    if !error["message"].is_string() {
        let detail = "the `message` of an error is not a string";
        state.fault(ERROR_SHAPE, detail, text);
    }
    RawAnswer::Error {
        code: code.unwrap_or(0),
        message: error["message"].as_str().unwrap_or_default().to_owned(),
    }
}

/// The number of the request with this id, or with one that only differs in its type, which is noted.
fn find_request(state: &mut InboxState, id: &Value, text: &str) -> Option<i64> {
    let exact = id.to_string();
    if let Some(number) = state.waiting.remove(&exact) {
        state.answered.insert(exact);
        return Some(number);
    }
    let other = match id {
        Value::String(id) => id.parse::<i64>().ok().map(|id| id.to_string()),
        Value::Number(number) => {
            let whole = number.as_f64().filter(|id| id.fract() == 0.0);
            let whole = whole.map(|id| (id as i64).to_string());
            let as_text = Value::String(number.to_string()).to_string();
            whole
                .filter(|id| state.waiting.contains_key(id))
                .or(Some(as_text))
        }
        _ => None,
    }?;
    let number = state.waiting.remove(&other)?;
    state.answered.insert(other);
    let detail = "the `id` of a response has another type than that of the request";
    state.fault(IDS_RETURNED, detail, text);
    Some(number)
}

/// Passes what is only seen when it fails, after all messages of the run.
pub(crate) fn pass_what_was_not_seen(findings: &mut CheckFindings, is_stdio: bool) {
    for check in [ANSWERED_ONCE, MESSAGE_SHAPE, ERROR_SHAPE, VALID_JSON] {
        findings.pass(check, "in all messages");
    }
    if is_stdio {
        findings.pass(STDOUT_CLEAN, "in the whole run");
    } else {
        findings.not_applicable(STDOUT_CLEAN, "the transport is not stdio");
    }
    findings.pass(PROGRESS, "the server sent no progress that breaks it");
}
